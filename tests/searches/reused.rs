//! Answers that earlier searches have: counted for the same arm on the same build and device, on every axis.

use std::path::{Path, PathBuf};

use crate::standin::{Kind, Lab};
use crate::{all, runs};

/// One search in a results directory of its own: its exit code, what it said, where it is.
fn bisect(lab: &Lab, place: &str, matrix: &str, args: &[&str]) -> (Option<i32>, String, PathBuf) {
    let results = lab.path().join(place);
    let mut command = lab.tool();
    command.args(["bisect", matrix, "--rate", "100", "--timeout", "2m", "--plain", "--jobs", "1"]);
    let out = command.args(args).arg("--results").arg(&results).output().expect("the tool runs");
    let mut dirs = std::fs::read_dir(&results).unwrap_or_else(|e| panic!("{e}\n{}", all(&out)));
    let dir = std::fs::read_dir(dirs.next().unwrap().unwrap().path()).unwrap().next().unwrap().unwrap();
    (out.status.code(), all(&out), dir.path())
}

/// Answers known from before, by place: (corrupt, clean).
fn known(dir: &Path) -> Vec<(u64, u64)> {
    let text = std::fs::read_to_string(dir.join("search.json")).expect("search.json");
    let question: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let of = |place: &serde_json::Value| {
        (place["reused"]["corrupt"].as_u64().unwrap(), place["reused"]["clean"].as_u64().unwrap())
    };
    question["places"].as_array().unwrap().iter().map(of).collect()
}

#[test]
fn values_that_ran_are_not_run_again_on_the_same_build() {
    let lab = Lab::new();
    lab.add("other", Kind::Stock);
    let args = ["--arm", "over/file-r", "--device", "sim:a770-residency", "--values", "kernels=86,87"];
    let (code, said, first) = bisect(&lab, "first", "matrices/smoke.toml", &args);
    assert_eq!(code, Some(0), "{said}");
    // Given twice, it counts once.
    let first_dir = first.to_str().unwrap();
    let reuse = ["--reuse", first_dir, "--reuse", first_dir];
    let (code, said, again) = bisect(&lab, "again", "matrices/smoke.toml", &[&args[..], &reuse].concat());
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains(&format!("{} answers known from before", runs(&first))), "{said}");
    assert_eq!(runs(&again), 0, "{said}");
    assert!(said.contains("first bad   kernels=87"), "{said}");
    // Nor of another machine, unless the user says so.
    let moved = first.join("manifest.json");
    let manifest = std::fs::read_to_string(&moved).unwrap();
    let mut elsewhere: serde_json::Value = serde_json::from_str(&manifest).unwrap();
    elsewhere["environment"]["machine"] = "elsewhere".into();
    std::fs::write(&moved, elsewhere.to_string()).unwrap();
    let one = [&args[..], &reuse, &["--max-runs", "1"]].concat();
    let (code, said, of_other) = bisect(&lab, "elsewhere", "matrices/smoke.toml", &one);
    assert_eq!((code, known(&of_other)), (Some(12), vec![(0, 0), (0, 0)]), "{said}");
    let not = format!("{} runs of another machine did not count: add --pool", runs(&first));
    assert!(said.contains(&not), "{said}");
    let pooled = [&args[..], &reuse, &["--pool"]].concat();
    let (code, said, pooled) = bisect(&lab, "pooled", "matrices/smoke.toml", &pooled);
    assert_eq!((code, runs(&pooled)), (Some(0), 0), "{said}");
    std::fs::write(&moved, manifest).unwrap();
    // A value that is there twice has one set of runs, which is not counted for two places.
    let mut twice = lab.tool();
    twice.args(["bisect", "matrices/smoke.toml", "--arm", "over/file-r", "--device", "sim:a770-residency"]);
    let twice = twice.args(["--values", "kernels=86,87,86"]).output().expect("the tool runs");
    assert_eq!(twice.status.code(), Some(2), "{}", all(&twice));
    assert!(all(&twice).contains("kernels=86 is on the axis more than once"), "{}", all(&twice));
    // Nothing of another build is known.
    let other = [&args[..], &reuse, &["--driver", "other", "--max-runs", "1"]].concat();
    let (code, said, other) = bisect(&lab, "other", "matrices/smoke.toml", &other);
    assert_eq!((code, known(&other)), (Some(12), vec![(0, 0), (0, 0)]), "{said}");
}

#[test]
fn arms_count_what_ran_on_their_own_device() {
    let lab = Lab::new();
    // 86 kernels need more memory than an A750 has, and less than an A770: one experiment, two answers.
    let on = |card: &str| {
        format!(
            "\n[[arm]]\nid = \"on/{card}\"\nvariant = \"under\"\nsource = \"file-r\"\ndevice = \"sim:{card}-residency\"\n"
        )
    };
    let text = std::fs::read_to_string("matrices/smoke.toml").unwrap() + &on("a770") + &on("a750");
    let matrix = lab.path().join("devices.toml");
    std::fs::write(&matrix, text).unwrap();
    let matrix = matrix.to_str().unwrap();
    let (code, said, first) = bisect(&lab, "first", matrix, &["--arms", "on/*"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("first bad   on/a750"), "{said}");
    let reuse = first.to_str().unwrap();
    let (code, said, again) = bisect(&lab, "again", matrix, &["--arms", "on/*", "--reuse", reuse]);
    assert_eq!(code, Some(0), "{said}");
    let known = known(&again);
    assert!(known[0].0 == 0 && known[0].1 > 0 && known[1].0 > 0 && known[1].1 == 0, "{known:?}");
    assert_eq!(runs(&again), 0, "{said}");
}

#[test]
fn commits_count_what_ran_of_the_build_that_is_here_and_a_build_that_fails_says_why() {
    let lab = Lab::new();
    let repo = lab.path().join("project");
    std::fs::create_dir_all(&repo).unwrap();
    let git = |args: &[&str]| {
        let mut command = std::process::Command::new("git");
        command.arg("-C").arg(&repo).args(["-c", "user.name=t", "-c", "user.email=t@example.org"]);
        let out = command.args(args).output().unwrap();
        assert!(out.status.success(), "git {args:?}: {}", all(&out));
        String::from_utf8_lossy(&out.stdout).trim().to_owned()
    };
    git(&["init", "-q"]);
    let commit = |source: &str| {
        std::fs::write(repo.join("driver.c"), source).unwrap();
        git(&["add", "."]);
        git(&["commit", "-q", "-m", "a release"]);
        git(&["rev-parse", "HEAD"])
    };
    let good = commit(&lab.source("1", Kind::Cured));
    let bad = commit(&lab.source("2", Kind::Stock));
    let broken = commit("#error first of two\n#error second of two\n");
    let build = format!("cc {} -o libze_intel_gpu.so.1 driver.c", lab.compile_args());
    let search = |place: &str, ends: [&str; 2], more: &[&str]| {
        let args =
            ["--arm", "over/file-r", "--device", "sim:a770-residency", "--git", repo.to_str().unwrap()];
        let how = ["--build", &build, "--lib", "libze_intel_gpu.so.1", "--good", ends[0], "--bad", ends[1]];
        bisect(&lab, place, "matrices/smoke.toml", &[&args[..], &how, more].concat())
    };
    let (code, said, first) = search("first", [&good, &bad], &[]);
    assert_eq!(code, Some(0), "{said}");
    let reuse = ["--reuse", first.to_str().unwrap()];
    let (code, said, again) = search("again", [&good, &bad], &reuse);
    assert_eq!((code, runs(&again)), (Some(0), 0), "{said}");
    assert!(said.contains(&format!("{} answers known from before", runs(&first))), "{said}");
    // A build that has to be made again need not be the one that ran: nothing of it counts, and that is said.
    let store = lab.path().join("data/drivers");
    let of_bad = |name: &str| name.starts_with(&format!("git-{}", &bad[..12]));
    let build = std::fs::read_dir(&store).unwrap().map(|entry| entry.unwrap().path());
    let build = build.into_iter().find(|path| of_bad(&path.file_name().unwrap().to_string_lossy())).unwrap();
    std::fs::remove_dir_all(build).unwrap();
    let (code, said, anew) = search("anew", [&good, &bad], &reuse);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("no build of 1 commit is here"), "{said}");
    assert!(known(&anew)[0].1 > 0 && known(&anew)[1] == (0, 0) && runs(&anew) > 0, "{said}");
    // Taken up again, with the build here that was not when it began: the same question.
    let resume = [&reuse[..], &["--resume", anew.to_str().unwrap()]].concat();
    let (code, said, _) = search("anew", [&good, &bad], &resume);
    assert_eq!(code, Some(0), "{said}");

    // An end that does not build: what the compiler said is in the conclusion, in the log and in the record.
    let (code, said, dir) = search("broken", [&good, &broken], &[]);
    assert_eq!(code, Some(22), "{said}");
    let conclusion = said.split("no conclusion: ").nth(1).unwrap_or_else(|| panic!("{said}"));
    assert!(conclusion.contains("first of two") && conclusion.contains("second of two"), "{said}");
    let out = lab.tool().args(["bisect", "log", "--json"]).arg(&dir).output().unwrap();
    let log: serde_json::Value = serde_json::from_slice(&out.stdout).unwrap_or_else(|e| panic!("{e}"));
    let reason = log["conclusion"]["contradiction"]["reason"].as_str().unwrap_or_default();
    assert!(reason.contains("second of two"), "{log:#}");
    let found = std::fs::read_to_string(dir.join("found.json")).unwrap();
    assert!(found.contains("second of two"), "{found}");
    let replay = lab.tool().args(["bisect", "replay"]).arg(&dir).output().unwrap();
    assert!(all(&replay).contains("second of two"), "{}", all(&replay));

    // The other way round, across the one that does not build: what fixed it, by its subject.
    let fixed = commit(&lab.source("4", Kind::Cured));
    let (code, said, _) = search("fixed", [&fixed, &bad], &["--find", "fixed"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains(&format!("fixed in    {}", &fixed[..12])), "{said}");
    assert!(said.contains(&format!("last bad    {}", &bad[..12])), "{said}");
    assert!(said.contains(&format!("may be any of: {}", &broken[..12])), "{said}");
    assert!(said.contains("commit      ") && said.contains("a release"), "{said}");
}

#[test]
fn runs_with_injected_faults_are_none_of_the_device_without_them() {
    let lab = Lab::new();
    let on = |verb: &str, results: &str, more: &[&str]| {
        let mut command = lab.tool();
        command.args([verb, "matrices/smoke.toml", "--device", "sim:a770-residency", "--timeout", "2m"]);
        command.args(more).arg("--results").arg(lab.path().join(results)).output().expect("the tool runs")
    };
    let out = on("run", "faulty", &["--arm", "over/file-r", "--fault", "vm_bind:EINTR@1"]);
    let dir = only_dir(&lab.path().join("faulty/smoke"), &all(&out));
    let log = lab.tool().args(["bisect", "log", &dir]).output().expect("the tool runs");
    assert_eq!(log.status.code(), Some(40), "{}", all(&log));
    assert!(
        all(&log).contains("search.json: there is none: the directory is not of a search"),
        "{}",
        all(&log)
    );
    let values = ["--arm", "over/file-r", "--values", "copies=12,13", "--reuse", &dir];
    let pair = ["over/file-r", "under/file-r", "--with", &dir];
    for out in [on("bisect", "after", &values), on("compare", "after", &pair)] {
        assert_eq!(out.status.code(), Some(2), "{}", all(&out));
        assert!(all(&out).contains("with injected faults vm_bind:EINTR@1"), "{}", all(&out));
        assert!(!lab.path().join("after").exists(), "before anything runs\n{}", all(&out));
    }
}

fn only_dir(root: &Path, said: &str) -> String {
    let mut dirs = std::fs::read_dir(root).unwrap_or_else(|e| panic!("{e}\n{said}"));
    dirs.next().unwrap().unwrap().path().display().to_string()
}
