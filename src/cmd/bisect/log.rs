//! `bisect log` and `bisect replay`: a search from its record alone.

use std::collections::HashMap;
use std::path::Path;

use super::{exit_of, print};
use crate::bisect::record::{Conclusion, Question, Retraced, VERSION, retrace};
use crate::bisect::text;
use crate::cmd::Failure;
use crate::cmd::prober::question_of;
use crate::exit::Exit;
use crate::model::outcome::RunRecord;
use crate::probe::Seen;

const FOUND: &str = "found.json";

pub fn write(dir: &Path, conclusion: &Conclusion) -> Result<(), Failure> {
    let path = dir.join(FOUND);
    let partial = dir.join("found.json.partial");
    let write = || -> std::io::Result<()> {
        std::fs::write(&partial, serde_json::to_vec_pretty(conclusion)?)?;
        std::fs::rename(&partial, &path)
    };
    write().map_err(|e| Failure::new(Exit::CannotRecord, format!("{}: {e}", path.display())))
}

/// By (arm id, repeat).
type Records = HashMap<(String, u32), RunRecord>;

fn read(dir: &Path) -> Result<(Question, Records, Option<Conclusion>), Failure> {
    let broken =
        |what: String| Failure::new(Exit::IncompatibleRecording, format!("{}: {what}", dir.display()));
    let value = question_of(dir)?;
    let question: Question =
        serde_json::from_value(value).map_err(|e| broken(format!("search.json is of no bisection: {e}")))?;
    if question.version > VERSION {
        return Err(broken(format!(
            "search.json has format {}, this build reads {VERSION}",
            question.version
        )));
    }
    let loaded = crate::results::load(dir).map_err(|e| Failure::new(e.exit(), e))?;
    let records = loaded.records.into_iter().map(|r| ((r.arm.clone(), r.repeat), r)).collect();
    let found = match std::fs::read(dir.join(FOUND)) {
        Ok(text) => Some(serde_json::from_slice(&text).map_err(|e| broken(format!("{FOUND}: {e}")))?),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => None,
        Err(e) => return Err(broken(format!("{FOUND}: {e}"))),
    };
    Ok((question, records, found))
}

fn again(question: &Question, records: &Records) -> Result<Retraced, Failure> {
    let look_up = |arm: &str, repeat: u32| -> Option<Seen> {
        records.get(&(arm.to_owned(), repeat)).map(|record| question.target.see(record))
    };
    retrace(question, look_up).map_err(|stop| Failure::new(Exit::Internal, stop))
}

pub fn log(dir: &Path, json: bool) -> Result<Exit, Failure> {
    let (question, records, _) = read(dir)?;
    let again = again(&question, &records)?;
    let conclusion = again.conclusion();
    if json {
        let value =
            serde_json::json!({ "question": question, "conclusion": conclusion, "steps": again.said });
        let text = serde_json::to_string_pretty(&value).map_err(|e| Failure::new(Exit::Internal, e))?;
        print(&format!("{text}\n"));
    } else {
        for line in &again.said {
            print(&format!("{line}\n"));
        }
        print("\n");
        print(&text::text(&question, &again.search, &conclusion));
    }
    Ok(Exit::AsExpected)
}

pub fn replay(dir: &Path) -> Result<Exit, Failure> {
    let (question, records, recorded) = read(dir)?;
    let again = again(&question, &records)?;
    for line in &again.said {
        print(&format!("{line}\n"));
    }
    let Some(end) = &again.end else {
        print(&text::unfinished(&question, &again.search));
        return Err(Failure::with_help(
            Exit::Inconclusive,
            "the record ends before a conclusion",
            "repro-matrix bisect … --resume DIR goes on",
        ));
    };
    let conclusion = again.conclusion();
    print(&text::text(&question, &again.search, &conclusion));
    match recorded {
        Some(then) if !then.agrees_with(&conclusion) => Err(Failure::new(
            Exit::IncompatibleRecording,
            format!("{FOUND} says otherwise: the record was changed, or this build decides otherwise"),
        )),
        _ => Ok(exit_of(end)),
    }
}
