//! Searches and comparisons on the page: real ones, of stand-in builds whose answer is known.

use std::path::{Path, PathBuf};

use crate::html::{page, show};
use crate::standin::{Kind, Lab};
use crate::support::{patient, results_in, text};

/// Runs a verb on the smoke matrix; its results directory.
fn run(lab: &Lab, verb: &str, code: i32, args: &[&str]) -> PathBuf {
    let matrix = lab.path().join("smoke.toml");
    std::fs::write(&matrix, patient()).expect("matrix");
    let results = lab.path().join("results");
    let mut command = lab.tool();
    command.arg(verb).arg(&matrix).args(args).args(["--device", "sim:a770", "--results"]).arg(&results);
    let out = command.output().expect("the tool starts");
    assert_eq!(out.status.code(), Some(code), "{}{}", text(&out.stdout), text(&out.stderr));
    results_in(&results, &format!("smoke-{verb}"))
}

/// The cells of the row of `place` in the table of places.
fn row(dom: &str, place: &str) -> Vec<String> {
    let start =
        dom.find(&format!("<th scope=\"row\">{place}</th>")).unwrap_or_else(|| panic!("no row {place}"));
    let row = &dom[start..start + dom[start..].find("</tr>").expect("row")];
    row.split("<td>").skip(1).map(|cell| strip(cell).trim().to_owned()).collect()
}

fn strip(html: &str) -> String {
    html.split('<').map(|part| part.split_once('>').map_or(part, |(_, text)| text)).collect()
}

fn opened(page: &Path, lab: &Lab) -> String {
    let shown = show(page, "", &[]);
    assert_eq!(shown.console, "", "{}", lab.path().display());
    shown.dom
}

#[test]
fn the_path_of_a_real_bisection_is_on_the_page() {
    let lab = Lab::new();
    for (name, kind) in [
        ("neo-1", Kind::Cured),
        ("neo-2", Kind::Cured),
        ("neo-3", Kind::Dead),
        ("neo-4", Kind::Stock),
        ("neo-5", Kind::Stock),
    ] {
        lab.add(name, kind);
    }
    let args = ["--arm", "over/file-r", "--drivers", "neo-*", "--rate", "100"];
    // Ended by a budget: the page says how far it is, and what would be run next.
    let dir = run(&lab, "bisect", 12, &[&args[..], &["--max-runs", "2"]].concat());
    let html = page(&dir, lab.path(), &[]);
    let dom = opened(&html, &lab);
    assert!(dom.contains("No conclusion yet, after 2 runs."), "{dom}");
    assert_eq!(row(&dom, "neo-5")[..2], ["2 fails", "fails"]);
    let next = (1..=5).filter(|n| row(&dom, &format!("neo-{n}"))[3].contains("next: ")).count();
    assert_eq!(next, 1, "one place is to be run next");

    let resume = dir.display().to_string();
    run(&lab, "bisect", 0, &[&args[..], &["--resume", &resume]].concat());
    let dom = opened(&page(&dir, lab.path(), &[]), &lab);
    assert!(strip(&dom).contains("First that fails: neo-4, last good: neo-2"), "{}", strip(&dom));
    assert!(dom.contains("(what lies between cannot be run: neo-3)"), "{dom}");
    let [good, dead, bad] = ["neo-2", "neo-3", "neo-4"].map(|place| row(&dom, place));
    assert!(good[0].ends_with(" clean") && good[1] == "clean" && good[3] == "last good", "{good:?}");
    assert!(dead[0].ends_with(" untestable") && dead[1] == "untestable", "{dead:?}");
    assert!(bad[0].ends_with(" fails") && bad[1] == "fails" && bad[3] == "first that fails", "{bad:?}");
    // The steps are those that `bisect log` tells, each a line of the list.
    let log = lab.tool().args(["bisect", "log", "--json", &resume]).output().expect("the tool starts");
    let log: serde_json::Value = serde_json::from_slice(&log.stdout).expect("JSON");
    let steps: Vec<&str> =
        log["steps"].as_array().expect("steps").iter().filter_map(|s| s.as_str()).collect();
    assert!(steps.len() >= 4 && steps[0].starts_with("bad end  neo-5"), "{steps:?}");
    let list = dom.split_once("<ol class=\"path\">").expect("steps").1.split_once("</ol>").expect("steps").0;
    assert_eq!(list.matches("<li>").count(), steps.len());
    for step in steps {
        assert!(list.contains(step), "{step}");
    }

    // The other way round the words turn too.
    let other = lab.path().join("fixed");
    std::fs::create_dir(&other).expect("directory");
    let out = lab
        .tool()
        .args(["bisect", "matrices/smoke.toml", "--device", "sim:a770", "--timeout", "5m"])
        .args(["--arm", "over/file-r", "--drivers", "neo-4,neo-2", "--find", "fixed", "--rate", "100"])
        .args(["--reuse", &resume, "--results"])
        .arg(&other)
        .output()
        .expect("the tool starts");
    assert_eq!(out.status.code(), Some(0), "{}{}", text(&out.stdout), text(&out.stderr));
    let dom = opened(&page(&results_in(&other, "smoke-bisect"), &other, &[]), &lab);
    assert!(strip(&dom).contains("Fixed in neo-2, last bad: neo-4"), "{}", strip(&dom));
    assert!(row(&dom, "neo-4")[3].contains("known before"), "{:?}", row(&dom, "neo-4"));
}

#[test]
fn two_builds_that_were_compared_stand_side_by_side() {
    let lab = Lab::new();
    lab.add("stock", Kind::Stock);
    lab.add("patched", Kind::Cured);
    let dir = run(&lab, "compare", 10, &["--arm", "over/file-r", "stock", "patched", "--runs", "4"]);
    let dom = opened(&page(&dir, lab.path(), &[]), &lab);
    // 4 of 4 against 0 of 4: two of the 70 ways to share out four failures are as far apart.
    let compared =
        strip(dom.split_once("Compared").expect("the exact test").1.split_once("</dd>").expect("end").0);
    assert!(compared.contains("they differ") && compared.contains("0.0286"), "{compared}");
    let panel = dom.split_once("Side by side: one axis changed").expect("the A/B panel").1;
    let panel = strip(panel.split_once("</details>").expect("a pair").0);
    for piece in [
        "driver: stock → patched",
        "verdictcorruptfaulty runs4/4",
        "verdictcleanfaulty runs0/4",
        "bind unbind ─",
        "(unbind bind)×12",
    ] {
        assert!(panel.contains(piece), "{piece} not in\n{panel}");
    }
}
