//! `repro-matrix diff A B`: what changed between two sets of results over all arms they share, and whether the runs
//! suffice to say so.

use std::collections::BTreeMap;

use crate::exit::Exit;
use crate::model::verdict::Basis;
use crate::stats::exact::{self, Group};
use crate::stats::sequence;

use super::aggregate::ArmSummary;
use super::faulty::Faulty;
use super::section::Section;
use super::text;
use super::words::grouped;
use super::words::plural;

/// Chance of calling one arm changed that did not change, over all arms together.
const LEVEL: f64 = 0.05;

/// What happened to one arm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Change {
    /// Faulty more often, beyond chance.
    Worse,
    /// Another fault than before.
    Other,
    /// Faulty less often, beyond chance.
    Better,
    /// The verdicts differ, and the runs are too few to say that it is not chance.
    Unclear,
    /// No verdict on one side or both.
    NoVerdict,
    Same,
}

impl Change {
    pub fn word(self) -> &'static str {
        match self {
            Change::Worse => "WORSE",
            Change::Other => "another fault",
            Change::Better => "better",
            Change::Unclear => "unclear",
            Change::NoVerdict => "no verdict",
            Change::Same => "same",
        }
    }
}

/// One arm on both sides.
#[derive(Clone, Debug)]
pub struct Row {
    pub arm: String,
    pub change: Change,
    pub a: (String, Faulty),
    pub b: (String, Faulty),
    /// Fisher's exact test, adjusted for the number of arms (Holm).
    pub p: Option<f64>,
    /// What else differs: "per dispatch 1 → 0".
    pub also: Vec<String>,
}

#[derive(Clone, Debug)]
pub struct Diff {
    pub rows: Vec<Row>,
    pub only_a: Vec<String>,
    pub only_b: Vec<String>,
    /// "arm: why" of the arms that were asked for and could not run.
    pub not_run_a: Vec<String>,
    pub not_run_b: Vec<String>,
    /// What the two sides are, and what differs between them beside the driver.
    pub a: String,
    pub b: String,
    pub cautions: Vec<String>,
}

/// Compares two sections arm by arm, by id.
pub fn diff(a: &Section, b: &Section) -> Diff {
    let of = |section: &Section| -> BTreeMap<String, ArmSummary> {
        section.summaries.iter().filter(|s| s.runs > 0).map(|s| (s.id.clone(), s.clone())).collect()
    };
    let (left, right) = (of(a), of(b));
    let mut rows: Vec<Row> = left.iter().filter_map(|(id, x)| Some(row(x, right.get(id)?))).collect();
    adjust(&mut rows);
    for row in &mut rows {
        row.change = change(row, left.get(&row.arm), right.get(&row.arm));
    }
    rows.sort_by(|x, y| (x.change, &x.arm).cmp(&(y.change, &y.arm)));
    let missing = |from: &BTreeMap<String, ArmSummary>, other: &BTreeMap<String, ArmSummary>| {
        from.keys().filter(|id| !other.contains_key(*id)).cloned().collect()
    };
    let not_run = |section: &Section| -> Vec<String> {
        section.not_here().iter().map(|out| format!("{}: {}", out.arm, out.reason)).collect()
    };
    let mut cautions = cautions(a, b);
    cautions.extend(one_without_data("A", "B", &left, &right));
    cautions.extend(one_without_data("B", "A", &right, &left));
    Diff {
        only_a: missing(&left, &right),
        only_b: missing(&right, &left),
        not_run_a: not_run(a),
        not_run_b: not_run(b),
        a: side(a),
        b: side(b),
        cautions,
        rows,
    }
}

/// A device that executes nothing compares no data: its clean says less than one of a device that does.
fn one_without_data(
    side: &str,
    other: &str,
    of_side: &BTreeMap<String, ArmSummary>,
    of_other: &BTreeMap<String, ArmSummary>,
) -> Option<String> {
    let by_data = |summary: &ArmSummary| summary.basis.is_some_and(|basis| basis != Basis::Residency);
    let alone = |(id, summary): (&String, &ArmSummary)| {
        summary.basis == Some(Basis::Residency) && of_other.get(id).is_some_and(by_data)
    };
    let arms = of_side.iter().filter(|pair| alone(*pair)).count();
    (arms > 0).then(|| {
        format!(
            "in {} {side} compared no data and {other} did: there {side} says what was resident, not what was right",
            plural(arms, "arm")
        )
    })
}

fn side(section: &Section) -> String {
    format!(
        "{} on {}, {}, {}",
        section.key.matrix,
        section.key.device,
        section.driver_line(),
        section.started
    )
}

fn cautions(a: &Section, b: &Section) -> Vec<String> {
    let mut out = Vec::new();
    let mut differ = |what: &str, x: &str, y: &str| {
        if x != y {
            out.push(format!("{what} differs ({x}, {y}): a change may come from that"));
        }
    };
    differ("the matrix", &a.key.matrix, &b.key.matrix);
    let short = |hash: &str| hash.get(..8).unwrap_or(hash).to_owned();
    differ("the matrix file", &short(&a.key.matrix_sha256), &short(&b.key.matrix_sha256));
    differ("the device", &a.key.device, &b.key.device);
    differ("the machine", &a.key.machine, &b.key.machine);
    let kernel = |s: &Section| {
        s.environment.get("kernel").and_then(serde_json::Value::as_str).unwrap_or("?").to_owned()
    };
    differ("the kernel", &kernel(a), &kernel(b));
    out
}

fn row(a: &ArmSummary, b: &ArmSummary) -> Row {
    let (x, y) = (Faulty::of(a), Faulty::of(b));
    let group = |f: Faulty| Group { hits: f.hits as u64, runs: f.of as u64 };
    let mut also = Vec::new();
    let mut differ = |what: &str, x: Option<String>, y: Option<String>| {
        if let (Some(x), Some(y)) = (x, y)
            && x != y
        {
            also.push(format!("{what} {x} → {y}"));
        }
    };
    let flag = |s: &ArmSummary| s.per_dispatch.map(|line| u8::from(line.flag).to_string());
    differ("Per Dispatch", flag(a), flag(b));
    differ("private surface", a.history.clone(), b.history.clone());
    differ("EPERM", a.eperm.map(grouped), b.eperm.map(grouped));
    differ("wrong", a.wrong.map(grouped), b.wrong.map(grouped));
    Row {
        arm: a.id.clone(),
        change: Change::Same,
        p: (x.of > 0 && y.of > 0).then(|| exact::fisher(group(x), group(y))),
        a: (a.verdict.to_string(), x),
        b: (b.verdict.to_string(), y),
        also,
    }
}

/// Holm's step-down: the smallest of m values counts m-fold, the next (m−1)-fold…
fn adjust(rows: &mut [Row]) {
    let mut order: Vec<usize> =
        (0..rows.len()).filter(|&i| rows.get(i).is_some_and(|row| row.p.is_some())).collect();
    order.sort_by(|&i, &j| {
        let p = |i: usize| rows.get(i).and_then(|row| row.p).unwrap_or(1.0);
        p(i).total_cmp(&p(j))
    });
    let mut least = 0.0f64;
    for (rank, index) in order.iter().enumerate() {
        if let Some(row) = rows.get_mut(*index)
            && let Some(p) = row.p
        {
            least = (p * (order.len() - rank) as f64).min(1.0).max(least);
            row.p = Some(least);
        }
    }
}

/// Where a rule looked at the runs of a side, the test's p is too small: the intervals that allow it must be apart too.
fn beyond_chance(row: &Row) -> bool {
    let (x, y) = (row.a.1, row.b.1);
    let anytime = |f: Faulty| sequence::interval(f.hits as u64, f.of as u64, 1.0 - LEVEL / 2.0);
    let apart = || {
        let (x, y) = (anytime(x), anytime(y));
        x.high < y.low || y.high < x.low
    };
    row.p.is_some_and(|p| p < LEVEL) && (!(x.stopped || y.stopped) || apart())
}

fn change(row: &Row, a: Option<&ArmSummary>, b: Option<&ArmSummary>) -> Change {
    let (Some(a), Some(b)) = (a, b) else { return Change::NoVerdict };
    let (x, y) = (row.a.1, row.b.1);
    if x.of == 0 || y.of == 0 {
        return Change::NoVerdict;
    }
    let rate = |f: Faulty| f.hits as f64 / f.of as f64;
    if beyond_chance(row) {
        return if rate(y) > rate(x) { Change::Worse } else { Change::Better };
    }
    if x.hits > 0 && y.hits > 0 && a.verdict.word != b.verdict.word {
        return Change::Other;
    }
    if rate(x) != rate(y) { Change::Unclear } else { Change::Same }
}

impl Diff {
    pub fn count(&self, change: Change) -> usize {
        self.rows.iter().filter(|row| row.change == change).count()
    }

    /// Arms are on one side alone: nothing says whether those changed.
    fn uneven(&self) -> bool {
        !self.only_a.is_empty() || !self.only_b.is_empty()
    }

    pub fn exit(&self) -> Exit {
        if self.count(Change::Worse) + self.count(Change::Other) > 0 {
            return Exit::Unexpected;
        }
        if self.count(Change::Unclear) + self.count(Change::NoVerdict) > 0
            || self.rows.is_empty()
            || self.uneven()
        {
            return Exit::Inconclusive;
        }
        if self.count(Change::Better) > 0 { Exit::OnlyImprovements } else { Exit::AsExpected }
    }

    /// As Markdown.
    pub fn text(&self) -> String {
        let mut out = format!("A: {}\nB: {}\n\n", self.a, self.b);
        for caution in &self.cautions {
            out += &format!("- caution: {caution}\n");
        }
        if !self.cautions.is_empty() {
            out.push('\n');
        }
        let all =
            [Change::Worse, Change::Other, Change::Better, Change::Unclear, Change::NoVerdict, Change::Same];
        let counts: Vec<String> = all
            .iter()
            .filter(|change| self.count(**change) > 0)
            .map(|change| format!("{} {}", self.count(*change), change.word()))
            .collect();
        out += &format!("{}: {}\n\n", plural(self.rows.len(), "arm"), counts.join(", "));
        let changed: Vec<&Row> =
            self.rows.iter().filter(|row| row.change != Change::Same || !row.also.is_empty()).collect();
        if !changed.is_empty() {
            out += &text::table(
                ["arm", "change", "A", "B", "p", "also"],
                changed.iter().map(|row| {
                    [
                        format!("`{}`", row.arm),
                        row.change.word().to_owned(),
                        format!("{} ({})", row.a.0, row.a.1),
                        format!("{} ({})", row.b.0, row.b.1),
                        row.p.map_or("–".into(), |p| format!("{p:.3}")),
                        row.also.join("; "),
                    ]
                }),
            );
            out += "\nIn brackets: faulty runs of those with a verdict. p: Fisher's exact test, adjusted for the number of arms (Holm).\n";
            if self.rows.iter().any(|row| row.a.1.stopped || row.b.1.stopped) {
                out += "A rule looked at the runs: a change also needs intervals apart that hold whenever runs stop.\n";
            }
        }
        if self.count(Change::Unclear) > 0 {
            out +=
                "Unclear: the rates differ, but so few runs may do that by chance. More repeats decide it.\n";
        }
        for (what, ids) in [("A", &self.only_a), ("B", &self.only_b)] {
            if !ids.is_empty() {
                out += &format!("\nOnly in {what}: {}\n", ids.join(", "));
            }
        }
        for (what, arms) in [("A", &self.not_run_a), ("B", &self.not_run_b)] {
            if !arms.is_empty() {
                out += &format!("\nCould not run in {what}:\n\n- {}\n", arms.join("\n- "));
            }
        }
        if self.uneven() {
            out += "\nArms with runs on one side only are not compared: this does not say that nothing changed.\n";
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row_of(p: f64) -> Row {
        let none = Faulty { hits: 0, of: 1, stopped: false };
        Row {
            arm: String::new(),
            change: Change::Same,
            a: (String::new(), none),
            b: (String::new(), none),
            p: Some(p),
            also: vec![],
        }
    }

    #[test]
    fn runs_that_a_rule_looked_at_need_more_to_be_called_changed() {
        // 2 of 2 against 0 of 8: Fisher's p is 1/45.
        let row = |stopped, few: usize, many: usize| {
            let of = |hits, of| (String::new(), Faulty { hits, of, stopped });
            Row { a: of(few, few), b: of(0, many), ..row_of(0.022) }
        };
        assert!(beyond_chance(&row(false, 2, 8)));
        assert!(!beyond_chance(&row(true, 2, 8)));
        assert!(beyond_chance(&row(true, 40, 40)));
        assert!(!beyond_chance(&Row { p: Some(0.06), ..row(true, 40, 40) }));
    }

    #[test]
    fn arms_of_one_side_are_no_sign_that_nothing_changed() {
        let mut diff = Diff {
            rows: vec![row_of(1.0)],
            only_a: vec![],
            only_b: vec![],
            not_run_a: vec![],
            not_run_b: vec![],
            a: String::new(),
            b: String::new(),
            cautions: vec![],
        };
        assert_eq!(diff.exit(), Exit::AsExpected);
        diff.only_b.push("new".into());
        assert_eq!(diff.exit(), Exit::Inconclusive);
        assert!(diff.text().contains("does not say that nothing changed"), "{}", diff.text());
        diff.rows[0].change = Change::Worse;
        assert_eq!(diff.exit(), Exit::Unexpected);
    }

    #[test]
    fn holm_counts_the_smallest_most_and_never_turns_the_order() {
        let mut rows = [row_of(0.01), row_of(0.04), row_of(0.03)];
        adjust(&mut rows);
        let p: Vec<f64> = rows.iter().map(|row| (row.p.unwrap() * 1000.0).round() / 1000.0).collect();
        // 0.01×3, then 0.03×2, then max(0.04×1, 0.06).
        assert_eq!(p, [0.03, 0.06, 0.06]);
    }
}
