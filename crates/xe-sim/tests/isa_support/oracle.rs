//! The oracle in a child process: this test program again, but run by the tree's loader, so that `libiga64` finds
//! the C library it was built for.

use std::env;
use std::fs;
use std::path::Path;

use super::sys::{Iga, XE_HPG};
use super::tree::Tree;

const REQUEST: &str = "ISA_ORACLE_REQUEST";
const RESPONSE: &str = "ISA_ORACLE_RESPONSE";

/// What the disassembler made of some bytes.
pub struct Verdict {
    /// It found no fault.
    pub valid: bool,
    /// Its lines, comments and surplus spaces taken off.
    pub lines: Vec<String>,
}

/// Asks about each of `questions` (`labels`: branch targets as labels).
pub fn ask(tree: &Tree, questions: &[&[u8]], labels: bool) -> Vec<Verdict> {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let (request, response) = (dir.path().join("request"), dir.path().join("response"));
    let mut content = vec![u8::from(labels)];
    for question in questions {
        content.extend(u32::try_from(question.len()).expect("a short text").to_le_bytes());
        content.extend(*question);
    }
    fs::write(&request, content).expect("the request");
    let output = tree
        .command(&env::current_exe().expect("this program"))
        .args(["--exact", "oracle_child", "--ignored", "--nocapture"])
        .env(REQUEST, &request)
        .env(RESPONSE, &response)
        .output()
        .expect("the oracle runs");
    assert!(
        output.status.success(),
        "the oracle failed: {}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    let verdicts = parse(&fs::read(&response).expect("the oracle's answer"));
    assert_eq!(verdicts.len(), questions.len(), "an answer to each question");
    verdicts
}

/// The child's side. False: the environment holds no request.
pub fn serve() -> bool {
    let (Some(request), Some(response)) = (env::var_os(REQUEST), env::var_os(RESPONSE)) else { return false };
    let iga = Iga::open(XE_HPG).expect("libiga64");
    let request = fs::read(Path::new(&request)).expect("the request");
    let (labels, mut rest) = request.split_first().expect("a mode");
    let mut answer = Vec::new();
    while let Some((length, tail)) = rest.split_first_chunk::<4>() {
        let (question, tail) = tail.split_at(u32::from_le_bytes(*length) as usize);
        let (valid, text) = iga.disassemble(question, *labels != 0).expect("an answer");
        answer.push(u8::from(valid));
        answer.extend(u32::try_from(text.len()).expect("a short answer").to_le_bytes());
        answer.extend(text.as_bytes());
        rest = tail;
    }
    fs::write(Path::new(&response), answer).expect("the response");
    true
}

fn parse(mut rest: &[u8]) -> Vec<Verdict> {
    let mut verdicts = Vec::new();
    while let Some((valid, tail)) = rest.split_first() {
        let (length, tail) = tail.split_first_chunk::<4>().expect("a length");
        let (text, tail) = tail.split_at(u32::from_le_bytes(*length) as usize);
        let text = String::from_utf8_lossy(text);
        let lines = text.lines().map(normalise).filter(|line| !line.is_empty()).collect();
        verdicts.push(Verdict { valid: *valid != 0, lines });
        rest = tail;
    }
    verdicts
}

fn normalise(line: &str) -> String {
    let code = line.split("//").next().unwrap_or_default();
    code.split_whitespace().collect::<Vec<_>>().join(" ")
}
