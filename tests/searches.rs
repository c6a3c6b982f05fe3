//! Searches end to end: the real driver, in stand-in builds whose answer is known, on the simulated A770.

#[path = "support/standin.rs"]
mod standin;

use std::path::{Path, PathBuf};
use std::process::Output;

use standin::{Kind, Lab};

fn all(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// The results directory of the only search of `verb`.
fn only(results: &Path, verb: &str) -> PathBuf {
    let dir = results.join(format!("smoke-{verb}"));
    let mut found: Vec<PathBuf> =
        std::fs::read_dir(&dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(found.len(), 1, "{found:?}");
    found.pop().unwrap()
}

fn bisect(lab: &Lab, results: &Path, args: &[&str]) -> Output {
    let mut command = lab.tool();
    command.args([
        "bisect",
        "matrices/smoke.toml",
        "--arm",
        "over/file-r",
        "--device",
        "sim:a770",
        "--plain",
    ]);
    command.arg("--results").arg(results).args(args).output().expect("the tool runs")
}

fn runs(dir: &Path) -> usize {
    std::fs::read_to_string(dir.join("runs.jsonl")).unwrap().lines().count()
}

#[test]
fn driver_releases_are_searched_logged_replayed_and_resumed() {
    let lab = Lab::new();
    for (name, kind) in [
        ("neo-1.9", Kind::Cured),
        ("neo-1.10", Kind::Cured),
        ("neo-1.11", Kind::Dead),
        ("neo-1.12", Kind::Cured),
        ("neo-1.13", Kind::Dead),
        ("neo-1.14", Kind::Stock),
        ("neo-1.15", Kind::Stock),
        ("neo-1.16", Kind::Stock),
    ] {
        lab.add(name, kind);
    }
    let results = lab.path().join("results");
    // A budget that is too small: stops, says so, and is taken up again.
    let out = bisect(&lab, &results, &["--drivers", "neo-1.*", "--max-runs", "6"]);
    assert_eq!(out.status.code(), Some(12), "{}", all(&out));
    let dir = only(&results, "bisect");
    assert_eq!(runs(&dir), 6);
    let resume = dir.display().to_string();
    let out = bisect(&lab, &results, &["--drivers", "neo-1.*", "--resume", &resume]);
    let said = all(&out);
    assert_eq!(out.status.code(), Some(0), "{said}");
    assert!(said.contains("first bad   neo-1.14"), "{said}");
    assert!(said.contains("last good   neo-1.12"), "{said}");
    assert!(said.contains("may be any of: neo-1.13"), "{said}");
    assert!(runs(&dir) < 50, "{} runs", runs(&dir));
    // The record alone comes to the same end, and another question is refused.
    let replay = lab.tool().args(["bisect", "replay", &resume]).output().unwrap();
    assert_eq!(replay.status.code(), Some(0), "{}", all(&replay));
    assert!(all(&replay).contains("first bad   neo-1.14"));
    let log = lab.tool().args(["bisect", "log", "--json", &resume]).output().unwrap();
    let log: serde_json::Value = serde_json::from_slice(&log.stdout).expect("JSON");
    assert_eq!(log["conclusion"]["found"]["certain"], true);
    let other = bisect(&lab, &results, &["--drivers", "neo-1.*", "--error", "5", "--resume", &resume]);
    assert_eq!(other.status.code(), Some(40), "{}", all(&other));

    // The other way round: what fixed it. The same eight builds from new to old, and what was measured is not run again.
    let order = "neo-1.16,neo-1.15,neo-1.14,neo-1.12,neo-1.10,neo-1.9";
    let results = lab.path().join("fixed");
    let out = bisect(&lab, &results, &["--drivers", order, "--find", "fixed", "--reuse", &resume]);
    let said = all(&out);
    assert_eq!(out.status.code(), Some(0), "{said}");
    assert!(said.contains("fixed in    neo-1.12") && said.contains("last bad    neo-1.14"), "{said}");
    assert!(runs(&only(&results, "bisect")) < 12, "{said}");
}

#[test]
fn a_failure_that_is_not_there_is_not_reproduced() {
    let lab = Lab::new();
    lab.add("neo-1", Kind::Cured);
    lab.add("neo-2", Kind::Dead);
    let results = lab.path().join("results");
    // A known rate of 100 %: the claim is refuted by the first clean run.
    let out = bisect(&lab, &results, &["--drivers", "neo-1,neo-2", "--rate", "100"]);
    assert_eq!(out.status.code(), Some(22), "an end that does not load\n{}", all(&out));
    assert!(all(&out).contains("cannot be tested"), "{}", all(&out));
}

#[test]
fn thresholds_of_three_sizes_are_where_they_are_predicted() {
    let lab = Lab::new();
    // batch_size 64, 32 and 16 at simd 32: twice the private memory of simd 16, so half of the kernels.
    for (size, kernels) in [(64, 87), (32, 165), (16, 298)] {
        let matrix = lab.path().join(format!("size{size}.toml"));
        let text = std::fs::read_to_string("matrices/smoke.toml").unwrap();
        std::fs::write(&matrix, text.replace("simd = 32", &format!("simd = 32\nbatch_size = {size}")))
            .unwrap();
        if size != 64 {
            continue;
        }
        let out = lab
            .tool()
            .arg("threshold")
            .arg(&matrix)
            .args([
                "--arm",
                "over/file-r",
                "--variant",
                "kernels=1..200",
                "--device",
                "sim:a770",
                "--results",
            ])
            .arg(lab.path().join("results"))
            .output()
            .unwrap();
        let said = all(&out);
        assert_eq!(out.status.code(), Some(0), "{said}");
        assert!(said.contains(&format!("from kernels={kernels} on")), "{said}");
        assert!(said.contains(&format!("predicted   kernels={kernels}: as measured")), "{said}");
        let runs = runs(&only(&lab.path().join("results"), "threshold"));
        assert!(runs <= 12, "{runs} probes\n{said}");
    }
}

#[test]
fn stock_and_patched_differ_and_a_build_does_not_differ_from_itself() {
    let lab = Lab::new();
    lab.add("stock", Kind::Stock);
    lab.add("patched", Kind::Cured);
    let compare = |args: &[&str]| {
        let mut command = lab.tool();
        command.args(["compare", "matrices/smoke.toml", "--device", "sim:a770", "--json"]).args(args);
        let out = command.arg("--results").arg(lab.path().join("results")).output().unwrap();
        let json: serde_json::Value =
            serde_json::from_slice(&out.stdout).unwrap_or_else(|e| panic!("{e}\n{}", all(&out)));
        (out.status.code(), json)
    };
    let (code, json) = compare(&["--arm", "over/file-r", "stock", "patched", "--runs", "5"]);
    assert_eq!((code, &json["differ"]), (Some(10), &true.into()), "{json}");
    assert_eq!((&json["pair"]["a"]["hits"], &json["pair"]["b"]["hits"]), (&5.into(), &0.into()));
    let (code, json) = compare(&["over/file-r", "over/file-r", "--runs", "3"]);
    assert_eq!((code, &json["differ"], &json["spurious"]), (Some(0), &false.into(), &0.0.into()), "{json}");
}

/// A project of stand-ins under git: six commits, of which one does not compile.
#[test]
fn git_is_searched_as_caller_and_served_as_callee() {
    let lab = Lab::new();
    let repo = lab.path().join("project");
    std::fs::create_dir_all(&repo).unwrap();
    let git = |args: &[&str]| {
        let out = std::process::Command::new("git")
            .arg("-C")
            .arg(&repo)
            .args(["-c", "user.name=t", "-c", "user.email=t@example.org"])
            .args(args)
            .output()
            .unwrap();
        assert!(out.status.success(), "git {args:?}: {}", all(&out));
        String::from_utf8_lossy(&out.stdout).trim().to_owned()
    };
    git(&["init", "-q"]);
    let mut commits = Vec::new();
    for (release, kind) in [
        ("1", Kind::Cured),
        ("2", Kind::Cured),
        ("3", Kind::Cured),
        ("4", Kind::Stock),
        ("5", Kind::Stock),
        ("6", Kind::Stock),
    ] {
        let source = if release == "2" { "this is no C\n".to_owned() } else { lab.source(release, kind) };
        std::fs::write(repo.join("driver.c"), source).unwrap();
        git(&["add", "."]);
        git(&["commit", "-q", "-m", &format!("release {release}")]);
        commits.push(git(&["rev-parse", "HEAD"]));
    }
    let build = format!("cc {} -o libze_intel_gpu.so.1 driver.c", lab.compile_args());
    let results = lab.path().join("results");
    let out = bisect(
        &lab,
        &results,
        &[
            "--git",
            repo.to_str().unwrap(),
            "--build",
            &build,
            "--lib",
            "libze_intel_gpu.so.1",
            "--good",
            &commits[0],
            "--bad",
            "HEAD",
        ],
    );
    let said = all(&out);
    assert_eq!(out.status.code(), Some(0), "{said}");
    assert!(said.contains(&format!("first bad   {}", &commits[3][..12])), "{said}");
    assert!(
        said.contains(&format!("may be any of: {}", &commits[2][..12])),
        "release 3 does not compile\n{said}"
    );
    assert!(said.contains("release 4"), "the commit is named\n{said}");
    assert!(git(&["worktree", "list"]).lines().count() == 1, "no work tree is left behind");

    // As callee: git itself searches, the commit that does not compile is skipped by the script.
    let tool = env!("CARGO_BIN_EXE_repro-matrix");
    let matrix = std::fs::canonicalize("matrices/smoke.toml").unwrap();
    let script = format!(
        "{build} || exit 125; REPRO_MATRIX_DATA={} {tool} verdict {} --arm over/file-r --device sim:a770 --results {} --driver-lib libze_intel_gpu.so.1",
        lab.path().join("data").display(),
        matrix.display(),
        results.display(),
    );
    git(&["bisect", "start", "HEAD", &commits[0]]);
    let said = git(&["bisect", "run", "sh", "-c", &script]);
    let named = |commit: &String| said.contains(commit.as_str());
    assert!(named(&commits[3]) && !named(&commits[4]), "{said}");
}

#[test]
fn verdict_codes_are_those_that_git_wants() {
    let lab = Lab::new();
    let verdict = |args: &[&str]| {
        let mut command = lab.tool();
        command.args(["verdict", "matrices/smoke.toml", "--device", "sim:a770"]).args(args);
        command.arg("--results").arg(lab.path().join("results")).output().unwrap()
    };
    let clean = verdict(&["--arm", "under/file-r"]);
    assert_eq!(clean.status.code(), Some(0), "{}", all(&clean));
    let corrupt = verdict(&["--arm", "over/file-r"]);
    assert_eq!(corrupt.status.code(), Some(1), "{}", all(&corrupt));
    let dead = lab.library(&lab.path().join("dead"), "x", Kind::Dead);
    let dead = verdict(&["--arm", "over/file-r", "--driver-lib", dead.to_str().unwrap()]);
    assert_eq!(dead.status.code(), Some(125), "{}", all(&dead));
    let none = verdict(&["--arm", "no-such-arm"]);
    assert_eq!(none.status.code(), Some(129), "git must stop, not call it bad\n{}", all(&none));
}
