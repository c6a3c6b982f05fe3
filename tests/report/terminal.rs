//! What a run shows on a terminal of 80 columns.

use std::io::Read;
use std::process::{Command, Stdio};

use nix::pty::{Winsize, openpty};

use crate::support::TOOL;

const COLUMNS: usize = 80;

/// Everything that the tool writes to a terminal of that width.
fn shown(dir: &std::path::Path, args: &[&str]) -> String {
    let size = Winsize { ws_row: 24, ws_col: COLUMNS as u16, ws_xpixel: 0, ws_ypixel: 0 };
    let pty = openpty(&size, None).expect("a terminal");
    let out = pty.slave.try_clone().expect("a descriptor");
    let mut command = Command::new(TOOL);
    command.current_dir(dir).args(args).env("TERM", "xterm").stdin(Stdio::null()).env_remove("COLUMNS");
    let mut child = command.stdout(out).stderr(pty.slave).spawn().expect("the tool starts");
    // The slave's last copies here: without them the reader ends with the child.
    drop(command);
    let mut master = std::fs::File::from(pty.master);
    let (mut all, mut buffer) = (Vec::new(), [0; 4096]);
    // A terminal without a writer is EIO.
    while let Ok(n @ 1..) = master.read(&mut buffer) {
        all.extend_from_slice(&buffer[..n]);
    }
    child.wait().expect("it ended");
    String::from_utf8(all).expect("UTF-8")
}

/// The stream as (text since the cursor was at column 0, control sequence that ended it). A line that fills the terminal
/// needs no line feed: there the code is "full".
fn pieces(stream: &str) -> Vec<(String, String)> {
    let mut out = Vec::new();
    let mut text = String::new();
    let mut chars = stream.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\r' | '\n' => out.push((std::mem::take(&mut text), c.to_string())),
            '\u{1b}' => {
                let mut code = String::new();
                for c in chars.by_ref() {
                    code.push(c);
                    if code.len() > 1 && ('@'..='~').contains(&c) || (code.len() == 1 && c != '[') {
                        break;
                    }
                }
                // Colours do not move the cursor.
                if !code.ends_with('m') {
                    out.push((text.clone(), code));
                }
            }
            c => {
                if text.chars().count() == COLUMNS {
                    out.push((std::mem::take(&mut text), "full".to_owned()));
                }
                text.push(c);
            }
        }
    }
    out.push((text, String::new()));
    out
}

#[test]
fn four_lines_are_redrawn_in_place_and_no_line_is_wider_than_the_terminal() {
    let dir = tempfile::tempdir().expect("tempdir");
    let args =
        "mock-run pass=clean corrupt=clean crash=crash --repeats 3 --pause 400 --bars --results results";
    let stream = shown(dir.path(), &args.split(' ').collect::<Vec<_>>());
    let pieces = pieces(&stream);
    let bars = ["build    ", "run      ", "so far   ", "found    "];
    for (n, (text, code)) in pieces.iter().enumerate() {
        // Only a bar, which is filled up with blanks, may end at the edge: then the next one begins. Of a line that is too
        // long, the middle would.
        if code == "full" {
            let next = &pieces[n + 1].0;
            assert!(bars.iter().any(|bar| next.starts_with(bar)), "{text}\n{next}");
        }
        // Cursor up and down, start of line, erase the line, erase what is below, hide and show the cursor: nothing that clears the
        // screen or moves to its corner.
        let small = ["A", "B", "K", "J", "?25l", "?25h", "G"].iter().any(|end| code.ends_with(end));
        let below = !code.ends_with('J') || code == "[J" || code == "[0J";
        let plain = ["\r", "\n", "", "full"].contains(&code.as_str());
        assert!(plain || (small && below), "{code:?}");
    }
    let last = |start: &str| {
        let mut lines = pieces.iter().map(|(text, _)| text.trim_end()).filter(|text| text.starts_with(start));
        lines.next_back().unwrap_or_else(|| panic!("no line {start} in\n{stream}")).to_owned()
    };
    // Runs and arms done, what is left, which run of which arm; verdicts; the last finding.
    let run = pieces.iter().map(|(text, _)| text).find(|text| text.contains("8/9")).expect("8 of 9 runs");
    assert!(run.starts_with("run      ") && run.contains("2/3 arms") && run.contains(" left"), "{run}");
    assert!(run.contains("crash 3/3"), "{run}");
    // Whether the last run of all is drawn before the bars go is a matter of time.
    let so_far = last("so far   ");
    assert!(so_far.contains("clean 3 · corrupt 3 · crash ") && so_far.ends_with("unexpected 3"), "{so_far}");
    let found: Vec<&String> =
        pieces.iter().map(|(text, _)| text).filter(|text| text.starts_with("found    ")).collect();
    assert!(found[0].starts_with("found    nothing yet"), "{found:?}");
    assert!(
        found.iter().any(|text| text.starts_with("found    corrupt #0: corrupt, UNEXPECTED; ")),
        "{found:?}"
    );
    let newest = last("found    ");
    assert!(
        newest.starts_with("found    crash #") && newest.contains(": crash, as expected; signal "),
        "{newest}"
    );
}
