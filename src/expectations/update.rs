//! Results → the baseline as it would have to be, as a change of the file that a person reviews.

use toml_edit::{ArrayOfTables, DocumentMut, Item, Table, value};

use crate::judge::state::State;
use crate::model::arm::ExpectedVerdict;

use super::file::VERSION;

/// What the runs of one arm say of its expectation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Observed {
    pub arm: String,
    pub verdict: ExpectedVerdict,
    pub state: State,
    /// Of the matrix alone, without the baseline.
    pub matrix_says: Option<ExpectedVerdict>,
}

/// What new rows are given.
#[derive(Clone, Debug)]
pub struct Words<'a> {
    pub matrix: &'a str,
    /// Driver range of new rows.
    pub drivers: &'a str,
    pub devices: &'a str,
    pub reason: &'a str,
    pub tracker: &'a str,
}

/// The file's new text; `old` may be empty. Comments and order stay.
pub fn updated(old: &str, observed: &[Observed], words: &Words<'_>) -> Result<String, toml_edit::TomlError> {
    let mut document: DocumentMut = old.parse()?;
    if old.trim().is_empty() {
        document["version"] = value(i64::from(VERSION));
        document["matrix"] = value(words.matrix);
    }
    for one in observed {
        match one.state {
            State::AsExpected | State::NoVerdict => continue,
            State::Improvement | State::Unexpected => {}
        }
        remove(&mut document, one, words);
        // What the matrix says already needs no row.
        if one.matrix_says != Some(one.verdict) {
            add(&mut document, one, words);
        }
    }
    drop_empty(&mut document);
    if old.trim().is_empty() && ranges(&mut document).is_none() {
        // Nothing to say needs no file.
        return Ok(old.to_owned());
    }
    Ok(document.to_string())
}

fn ranges(document: &mut DocumentMut) -> Option<&mut ArrayOfTables> {
    document.get_mut("range").and_then(Item::as_array_of_tables_mut)
}

fn text<'t>(table: &'t Table, key: &str) -> &'t str {
    table.get(key).and_then(Item::as_str).unwrap_or("")
}

/// Rows of ranges that hold other drivers too stay: this driver alone says nothing of them.
fn remove(document: &mut DocumentMut, one: &Observed, words: &Words<'_>) {
    for range in ranges(document).into_iter().flat_map(ArrayOfTables::iter_mut) {
        if text(range, "drivers") != words.drivers {
            continue;
        }
        if let Some(rows) = range.get_mut("arm").and_then(Item::as_array_of_tables_mut) {
            rows.retain(|row| text(row, "id") != one.arm);
        }
    }
}

fn add(document: &mut DocumentMut, one: &Observed, words: &Words<'_>) {
    let mut row = Table::new();
    row["id"] = value(&one.arm);
    row["verdict"] = value(one.verdict.word());
    row["reason"] = value(words.reason);
    row["tracker"] = value(words.tracker);
    if ranges(document).is_none() {
        document["range"] = Item::ArrayOfTables(ArrayOfTables::new());
    }
    let Some(all) = ranges(document) else { return };
    let same = |range: &&mut Table| {
        text(range, "drivers") == words.drivers
            && matches!(text(range, "devices"), device if device == words.devices || device.is_empty() && words.devices == "*")
    };
    if all.iter_mut().find(same).is_none() {
        let mut range = Table::new();
        range["drivers"] = value(words.drivers);
        range["devices"] = value(words.devices);
        all.push(range);
    }
    let Some(range) = all.iter_mut().find(same) else { return };
    if range.get("arm").and_then(Item::as_array_of_tables).is_none() {
        range["arm"] = Item::ArrayOfTables(ArrayOfTables::new());
    }
    if let Some(rows) = range.get_mut("arm").and_then(Item::as_array_of_tables_mut) {
        rows.push(row);
    }
}

fn drop_empty(document: &mut DocumentMut) {
    if let Some(all) = ranges(document) {
        all.retain(|range| {
            range.get("arm").and_then(Item::as_array_of_tables).is_some_and(|rows| !rows.is_empty())
        });
        if all.is_empty() {
            document.remove("range");
        }
    }
}

/// Lines that go (`-`) and come (`+`), with what stands around them.
pub fn difference(old: &str, new: &str) -> String {
    let (a, b): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let head = a.iter().zip(&b).take_while(|(x, y)| x == y).count();
    let tail = a.iter().rev().zip(b.iter().rev()).take_while(|(x, y)| x == y).count();
    let tail = tail.min(a.len() - head).min(b.len() - head);
    let (gone, come) = (middle(&a, head, tail), middle(&b, head, tail));
    if gone.is_empty() && come.is_empty() {
        return String::new();
    }
    let mut out = String::new();
    let around = |from: usize, to: usize| {
        a.get(from..to).unwrap_or_default().iter().map(|line| format!(" {line}\n")).collect::<String>()
    };
    out += &around(head.saturating_sub(3), head);
    out += &lines(&gone, &come);
    let after = a.len() - tail;
    out += &around(after, (after + 3).min(a.len()));
    out
}

/// What is between a common head and a common tail.
fn middle<'t>(lines: &[&'t str], head: usize, tail: usize) -> Vec<&'t str> {
    lines.get(head..lines.len().saturating_sub(tail)).map(<[&str]>::to_vec).unwrap_or_default()
}

/// Longest common subsequence: baselines have hundreds of lines, not millions.
fn lines(a: &[&str], b: &[&str]) -> String {
    let mut longest = vec![vec![0usize; b.len() + 1]; a.len() + 1];
    let at = |table: &[Vec<usize>], i: usize, j: usize| {
        table.get(i).and_then(|row| row.get(j)).copied().unwrap_or(0)
    };
    for (i, x) in a.iter().enumerate().rev() {
        for (j, y) in b.iter().enumerate().rev() {
            let best = if x == y {
                at(&longest, i + 1, j + 1) + 1
            } else {
                at(&longest, i + 1, j).max(at(&longest, i, j + 1))
            };
            if let Some(cell) = longest.get_mut(i).and_then(|row| row.get_mut(j)) {
                *cell = best;
            }
        }
    }
    let (mut i, mut j, mut out) = (0, 0, String::new());
    loop {
        match (a.get(i), b.get(j)) {
            (Some(x), Some(y)) if x == y => {
                out += &format!(" {x}\n");
                (i, j) = (i + 1, j + 1);
            }
            (Some(x), _) if j >= b.len() || at(&longest, i + 1, j) >= at(&longest, i, j + 1) => {
                out += &format!("-{x}\n");
                i += 1;
            }
            (_, Some(y)) => {
                out += &format!("+{y}\n");
                j += 1;
            }
            (_, None) => return out,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WORDS: Words<'_> =
        Words { matrix: "m", drivers: ">=26.18", devices: "*", reason: "r", tracker: "t" };

    fn observed(arm: &str, verdict: ExpectedVerdict, state: State) -> Observed {
        Observed { arm: arm.into(), verdict, state, matrix_says: None }
    }

    #[test]
    fn rows_come_and_go_and_comments_stay() {
        let new = updated("", &[observed("a", ExpectedVerdict::Corrupt, State::Unexpected)], &WORDS).unwrap();
        let read = super::super::file::parse("f", &new).unwrap();
        assert_eq!((read.rows[0].id.as_str(), read.rows[0].verdict), ("a", ExpectedVerdict::Corrupt));
        let commented = format!("# by hand\n{new}");
        let twice =
            updated(&commented, &[observed("b", ExpectedVerdict::Hang, State::Unexpected)], &WORDS).unwrap();
        assert!(twice.starts_with("# by hand\n"), "{twice}");
        assert_eq!(super::super::file::parse("f", &twice).unwrap().rows.len(), 2);
        // Nothing learnt: nothing changes.
        assert_eq!(
            updated(&twice, &[observed("a", ExpectedVerdict::Clean, State::NoVerdict)], &WORDS).unwrap(),
            twice
        );
        let met = [observed("a", ExpectedVerdict::Clean, State::AsExpected)];
        assert_eq!(updated("", &met, &WORDS).unwrap(), "", "no file is needed");
        // Clean now, and the matrix expects that anyway: the row goes.
        let fixed = Observed {
            matrix_says: Some(ExpectedVerdict::Clean),
            ..observed("a", ExpectedVerdict::Clean, State::Improvement)
        };
        let fewer = updated(&twice, &[fixed], &WORDS).unwrap();
        let rows = super::super::file::parse("f", &fewer).unwrap().rows;
        assert_eq!(rows.iter().map(|row| row.id.as_str()).collect::<Vec<_>>(), ["b"]);
    }

    #[test]
    fn the_difference_shows_what_changes_and_its_surroundings() {
        assert_eq!(difference("a\nb\nc\n", "a\nB\nc\n"), " a\n-b\n+B\n c\n");
        assert_eq!(difference("a\n", "a\n"), "");
        assert_eq!(difference("", "x\ny\n"), "+x\n+y\n");
        assert_eq!(difference("1\n2\n3\n4\n", "2\n3\n4\n5\n"), "-1\n 2\n 3\n 4\n+5\n");
    }
}
