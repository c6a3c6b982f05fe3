//! `repro-matrix verdict`: the callee of `git bisect run`.

use crate::bisect::Belief;
use crate::cli::verdict::VerdictArgs;
use crate::cmd::Failure;
use crate::cmd::prober::{Prober, prepare, stopped};
use crate::driver::{self, Addition};
use crate::exit::Exit;
use crate::probe::{Answer, Change, Probe, Stop};

/// Codes 1 to 127 are "bad" to git (but for 125), so whatever keeps the verdict from being found ends in a higher one.
pub fn verdict(args: &VerdictArgs) -> Result<Exit, Failure> {
    found(args).map_err(|failure| match failure.exit {
        Exit::Interrupted => failure,
        _ => Failure { exit: Exit::NoVerdict, ..failure },
    })
}

fn found(args: &VerdictArgs) -> Result<Exit, Failure> {
    let prepared = prepare(&args.matrix, &[], &args.search)?;
    let mut arm = prepared.one_arm(&args.arm)?;
    if let Some(library) = &args.driver_lib {
        // A library that does not load is nothing to compare: git is to skip it.
        let name = match added(&prepared.store, library, &args.base) {
            Ok(name) => name,
            Err(error) => {
                crate::cmd::bisect::print(&format!("untestable: {error}\n"));
                return Ok(Exit::Skip);
            }
        };
        arm = Change::Driver(name).apply(&arm).map_err(|why| Failure::new(Exit::Usage, why))?;
    }
    let question = serde_json::json!({
        "verb": "verdict", "arm": arm.id, "rate": args.rate, "error": args.error, "target": args.search.target(),
    });
    let arms = std::slice::from_ref(&arm);
    let mut prober = Prober::open(&prepared, arms, "verdict", &question, &args.search)?;
    let dir = prober.dir().to_owned();
    let (mut clean, mut untestable) = (0_u32, 0_u32);
    let belief = Belief::Known(args.rate);
    // Clean runs that it takes; one corrupt run ends it before.
    let wanted = (args.error.ln() / (1.0 - args.rate).ln()).ceil().max(1.0);
    let (mut next, mut made) = (0, 0);
    let answer = loop {
        let width = prober.width();
        let seen = match prober.probe(&arm, next..next + width) {
            Ok(seen) => seen,
            // Too few clean runs to say so.
            Err(Stop::Budget(why)) => {
                prober.say(&why);
                break Answer::Untestable;
            }
            Err(stop) => return Err(stopped(stop, &dir)),
        };
        next += width;
        for one in &seen {
            let reason = one.reason.as_deref().map(|reason| format!(" ({reason})")).unwrap_or_default();
            made += 1;
            prober.say(&format!(
                "run      {}: {}{reason}   ({made}; {wanted:.0} clean ones are enough)",
                arm.id, one.signature
            ));
            match one.answer {
                Answer::Corrupt => {}
                Answer::Clean => clean += 1,
                Answer::Untestable => untestable += 1,
            }
        }
        if seen.iter().any(|one| one.answer == Answer::Corrupt) {
            break Answer::Corrupt;
        }
        if clean == 0 && untestable >= 2 {
            break Answer::Untestable;
        }
        if belief.all_clean(0, 0, clean) <= args.error {
            break Answer::Clean;
        }
        if untestable >= 20 {
            break Answer::Untestable;
        }
    };
    crate::cmd::bisect::print(&format!(
        "{}   {} ({clean} clean, {untestable} without an answer)   {}\n",
        answer.word(),
        arm.id,
        dir.display()
    ));
    Ok(crate::cmd::bisect::git_code(answer))
}

/// The library in the store, under a name made of its content.
fn added(store: &driver::DriverStore, library: &std::path::Path, base: &str) -> Result<String, String> {
    let content = driver::sha256_file(library).map_err(|error| format!("{}: {error}", library.display()))?;
    let base_hash = store.resolve(base).map_err(|error| error.to_string())?.manifest.hash;
    let key = driver::sha256(format!("{content} {base_hash}").as_bytes());
    let name = format!("lib-{}", key.get(..12).unwrap_or("0"));
    if store.resolve(&name).is_ok() {
        return Ok(name);
    }
    store
        .add(&name, &Addition::Library(library.to_owned()), Some(base), &mut |_| {})
        .map_err(|error| error.to_string())?;
    Ok(name)
}
