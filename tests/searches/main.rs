//! Searches end to end: the real driver, in stand-in builds whose answer is known, on the simulated A770.

mod comparisons;
mod histories;
mod resumed;
mod reused;
mod shards;
#[path = "../support/standin.rs"]
mod standin;
mod sweeps;

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
    // The very same files under another name are one place.
    let twin = lab.path().join("made/neo-1.16/libze_intel_gpu.so.1");
    let added = lab
        .tool()
        .args(["drivers", "add", "neo-1.17", "--base", "default", "--lib"])
        .arg(twin)
        .output()
        .unwrap();
    assert!(added.status.success(), "{}", all(&added));
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
    assert!(said.contains("(same build: neo-1.17)"), "{said}");
    assert!(runs(&dir) < 50, "{} runs", runs(&dir));
    // A place that needed no run is not missing from the results, nor in the way of going on.
    assert!(said.contains("needed no run"), "{said}");
    let headline = || {
        let out = lab.tool().args(["report", "--format", "badge", &resume]).output().unwrap();
        String::from_utf8_lossy(&out.stdout).into_owned()
    };
    assert!(
        headline().contains("; nothing was expected") && !headline().contains("not run"),
        "{}",
        headline()
    );
    let out = bisect(&lab, &results, &["--drivers", "neo-1.*", "--resume", &resume]);
    assert_eq!(out.status.code(), Some(0), "{}", all(&out));
    // The record alone comes to the same end, and another question is refused.
    let replay = lab.tool().args(["bisect", "replay", &resume]).output().unwrap();
    assert_eq!(replay.status.code(), Some(0), "{}", all(&replay));
    assert!(all(&replay).contains("first bad   neo-1.14"));
    let log = lab.tool().args(["bisect", "log", "--json", &resume]).output().unwrap();
    let log: serde_json::Value = serde_json::from_slice(&log.stdout).expect("JSON");
    assert_eq!(log["conclusion"]["found"]["certain"], true);
    let other = bisect(&lab, &results, &["--drivers", "neo-1.*", "--error", "5", "--resume", &resume]);
    assert_eq!(other.status.code(), Some(40), "{}", all(&other));
    let told = all(&other);
    assert!(told.contains("settings: was {\"error\":0.01,") && !told.contains("places:"), "{told}");

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
    let said = all(&out);
    let conclusion = said.split("no conclusion: ").nth(1).unwrap_or_else(|| panic!("{said}"));
    assert!(
        conclusion
            .contains("neo-2 is an end of the range and cannot be tested: another failure: crash signal=6"),
        "{said}"
    );
}

#[test]
fn thresholds_of_three_sizes_are_where_they_are_predicted() {
    let lab = Lab::new();
    // The report's three boundaries: private memory of 22,784, 12,032 and 6,656 B a thread.
    for (size, kernels) in [(64, 174), (32, 330), (16, 596)] {
        let matrix = lab.path().join(format!("size{size}.toml"));
        let text = std::fs::read_to_string("matrices/smoke.toml").unwrap();
        let text = text
            .replace("simd = 32", &format!("simd = 16\nbatch_size = {size}"))
            .replace("timeout = \"30s\"", "timeout = \"120s\"");
        std::fs::write(&matrix, text).unwrap();
        let results = lab.path().join(format!("results{size}"));
        let out = lab
            .tool()
            .arg("threshold")
            .arg(&matrix)
            .args([
                "--arm",
                "over/file-r",
                "--variant",
                "kernels=1..1024",
                "--device",
                "sim:a770",
                "--results",
            ])
            .arg(&results)
            .output()
            .unwrap();
        let said = all(&out);
        assert_eq!(out.status.code(), Some(0), "{said}");
        assert!(said.contains(&format!("from kernels={kernels} on")), "{said}");
        assert!(said.contains(&format!("predicted   kernels={kernels}: as measured")), "{said}");
        let runs = runs(&only(&results, "threshold"));
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
        command
            .args(["compare", "matrices/smoke.toml", "--device", "sim:a770", "--timeout", "2m", "--json"])
            .args(args);
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

/// A project of stand-ins under git: six commits, of which one does not compile and one takes too long.
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
        ("4", Kind::Cured),
        ("5", Kind::Stock),
        ("6", Kind::Stock),
    ] {
        let source = if release == "3" { "this is no C\n".to_owned() } else { lab.source(release, kind) };
        std::fs::write(repo.join("driver.c"), source).unwrap();
        std::fs::write(repo.join("seconds"), if release == "4" { "600" } else { "0" }).unwrap();
        git(&["add", "."]);
        git(&["commit", "-q", "-m", &format!("release {release}")]);
        commits.push(git(&["rev-parse", "HEAD"]));
    }
    let build = format!("cc {} -o libze_intel_gpu.so.1 driver.c", lab.compile_args());
    let slow = format!("sleep $(cat seconds) && {build}");
    let results = lab.path().join("results");
    let args = [
        "--git",
        repo.to_str().unwrap(),
        "--build",
        &slow,
        "--build-timeout",
        "20s",
        "--lib",
        "libze_intel_gpu.so.1",
        "--good",
        &commits[0],
        "--bad",
        "HEAD",
    ];
    let out = bisect(&lab, &results, &args);
    let said = all(&out);
    assert_eq!(out.status.code(), Some(0), "{said}");
    assert!(said.contains(&format!("first bad   {}", &commits[4][..12])), "{said}");
    assert!(said.contains(&format!("last good   {}", &commits[1][..12])), "{said}");
    let [no_c, slow] = [2, 3].map(|release: usize| &commits[release][..12]);
    assert!(
        said.contains(&format!("untestable between them, so it may be any of: {no_c}, {slow}")),
        "{said}"
    );
    assert!(said.contains("the build failed (exit status: 1)"), "{said}");
    assert!(said.contains("the build took longer than 20s"), "{said}");
    assert!(said.contains("release 5"), "the commit is named\n{said}");
    assert!(git(&["worktree", "list"]).lines().count() == 1, "no work tree is left behind");
    // What could not be built is on record: the search can be retraced without the repository.
    let replay = lab.tool().args(["bisect", "replay"]).arg(only(&results, "bisect")).output().unwrap();
    assert_eq!(replay.status.code(), Some(0), "{}", all(&replay));
    assert!(all(&replay).contains(&format!("first bad   {}", &commits[4][..12])), "{}", all(&replay));
    // Nothing is built twice.
    assert!(said.contains(&format!("build    {}", commits[5])), "{said}");
    let again = bisect(&lab, &lab.path().join("again"), &[&args[..], &["--max-runs", "1"]].concat());
    assert_eq!(again.status.code(), Some(12), "{}", all(&again));
    assert!(!all(&again).contains(&format!("build    {}", commits[5])), "{}", all(&again));

    // As callee: git itself searches, the commit that does not compile is skipped by the script.
    let tool = env!("CARGO_BIN_EXE_repro-matrix");
    let matrix = std::fs::canonicalize("matrices/smoke.toml").unwrap();
    let script = format!(
        "{build} || exit 125; REPRO_MATRIX_DATA={} {tool} verdict {} --arm over/file-r --device sim:a770 --timeout 2m --results {} --driver-lib libze_intel_gpu.so.1",
        lab.path().join("data").display(),
        matrix.display(),
        results.display(),
    );
    git(&["bisect", "start", "HEAD", &commits[0]]);
    let said = git(&["bisect", "run", "sh", "-c", &script]);
    assert!(said.contains(&format!("{} is the first bad commit", commits[4])), "{said}");
}

#[test]
fn verdict_codes_are_those_that_git_wants() {
    let lab = Lab::new();
    let verdict = |args: &[&str]| {
        let mut command = lab.tool();
        command
            .args(["verdict", "matrices/smoke.toml", "--device", "sim:a770", "--timeout", "2m"])
            .args(args);
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

/// The seed's untried question: does a real ENOMEM from a bind during the copies do to an anonymous, writable source what
/// the refused binds do to a read-only file?
#[test]
fn enomem_of_one_bind_corrupts_the_anonymous_arm_too() {
    let lab = Lab::new();
    let out = lab
        .tool()
        .args([
            "faults",
            "matrices/smoke.toml",
            "--arm",
            "over/anon-rw",
            "--device",
            "sim:a770",
            "--timeout",
            "2m",
            "--json",
        ])
        .args(["--points", "bind", "--errnos", "ENOMEM", "--results"])
        .arg(lab.path().join("results"))
        .output()
        .unwrap();
    let json: serde_json::Value =
        serde_json::from_slice(&out.stdout).unwrap_or_else(|e| panic!("{e}\n{}", all(&out)));
    assert_eq!(out.status.code(), Some(10), "some faults leave damage\n{json:#}");
    let groups = json["groups"].as_array().unwrap();
    let of = |verdict: &str| groups.iter().filter(|group| group["verdict"] == verdict).collect::<Vec<_>>();
    let corrupt = of("corrupt");
    assert!(!corrupt.is_empty() && corrupt.iter().all(|group| group["hazard"] == true), "{json:#}");
    let count: u64 = groups.iter().map(|group| group["faults"].as_u64().unwrap()).sum();
    assert_eq!(
        count + json["not_reached"].as_u64().unwrap(),
        json["planned"].as_u64().unwrap(),
        "no fault is lost"
    );
    // The trigger that is named does it again by hand.
    let smallest = &corrupt[0]["smallest"];
    let rule = format!("vm_bind:ENOMEM@{}", smallest["nth"]);
    let again = lab
        .tool()
        .args([
            "run",
            "matrices/smoke.toml",
            "--arm",
            "over/anon-rw",
            "--device",
            "sim:a770",
            "--fault",
            &rule,
            "--results",
        ])
        .arg(lab.path().join("again"))
        .output()
        .unwrap();
    assert!(all(&again).contains("CORRUPT"), "{rule}\n{}", all(&again));
}

#[test]
fn a_failing_arm_is_reduced_and_measured_again() {
    let lab = Lab::new();
    let matrix = lab.path().join("reduce.toml");
    // Superfluous: a key, guards, a round more; the kernels stay as they are, for the time that builds take.
    let text = std::fs::read_to_string("matrices/smoke.toml").unwrap();
    let text = text.replace("copies = 12", "copies = 12\nguard = \"1MiB\"\nrepeat = 2")
        + "\n[keys.more]\nEnableBOMmapCreate = 0\n[[arm]]\nid = \"big\"\nvariant = \"over\"\nsource = \"file-r\"\nkeys = \"more\"\n";
    std::fs::write(&matrix, text).unwrap();
    let out = lab
        .tool()
        .arg("reduce")
        .arg(&matrix)
        .args([
            "--arm",
            "big",
            "--device",
            "sim:a770",
            "--runs",
            "1",
            "--measure",
            "2",
            "--keep",
            "kernels,chunk",
            "--results",
        ])
        .arg(lab.path().join("results"))
        .output()
        .unwrap();
    let said = all(&out);
    assert_eq!(out.status.code(), Some(0), "{said}");
    for line in ["copies=1   (was 12)", "repeat=1   (was 2)", "guard=0   (was 1MiB)", "no-EnableBOMmapCreate"]
    {
        assert!(said.contains(line), "{line} not in\n{said}");
    }
    assert_eq!(said.matches("corrupt 2/2").count(), 2, "both rates are measured\n{said}");
}

#[test]
fn keys_are_sorted_into_cures_and_others() {
    let lab = Lab::new();
    let list = lab.path().join("keys.txt");
    std::fs::write(&list, "# dumped\nEnableBOMmapCreate = -1\nNoSuchKeyAtAll = 0\nSomethingElse = 1\n")
        .unwrap();
    let out = lab
        .tool()
        .args([
            "keys",
            "matrices/smoke.toml",
            "--arm",
            "over/file-r",
            "--device",
            "sim:a770",
            "--timeout",
            "2m",
        ])
        .args([
            "--keys",
            "MakeEachAllocationResident=2,MakeEachAllocationResident=2x,NoSuchKeyAtAll,ForcePreemptionMode=-1",
            "--pattern",
            "*MmapCreate",
            "--list",
        ])
        .arg(&list)
        .arg("--results")
        .arg(lab.path().join("results"))
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&out.stdout).into_owned();
    let under = |heading: &str| {
        let after = text.split(heading).nth(1).unwrap_or_else(|| panic!("{heading} not in\n{}", all(&out)));
        after.lines().skip(1).take_while(|line| line.starts_with("  ")).collect::<Vec<_>>().join("\n")
    };
    assert!(under("cured (").contains("MakeEachAllocationResident=2"), "{text}");
    assert!(under("unchanged (").contains("EnableBOMmapCreate"), "{text}");
    assert!(under("unknown to this driver (2)").contains("NoSuchKeyAtAll=1"), "{text}");
    // Not echoed either: -1 is the driver's default.
    let either = under("unknown to this driver, or its default value (1)");
    assert!(either.contains("ForcePreemptionMode=-1"), "{text}");
    // The driver reads the 2 of it.
    let not_taken = under("value not taken (1)");
    assert!(not_taken.contains("MakeEachAllocationResident=2x as 2"), "{text}");
    assert_eq!(out.status.code(), Some(0), "{}", all(&out));
}

#[test]
fn the_component_that_matters_is_named() {
    let lab = Lab::new();
    lab.add("old", Kind::Cured);
    // The same loader and compiler but for a byte behind the end, so that they are other files: nothing of the failure.
    let store = lab.path().join("data/drivers");
    for name in ["libze_loader", "libigdgmm"] {
        let base = std::fs::read_dir(&store)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .find(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("debian")))
            .unwrap();
        let library = find(&base.join("root"), name).expect(name);
        let mut bytes = std::fs::read(&library).unwrap();
        bytes.push(0);
        let prefix = lab.path().join("prefix");
        std::fs::create_dir_all(&prefix).unwrap();
        let short = library.file_name().unwrap().to_string_lossy().into_owned();
        let soname = if name == "libze_loader" { "libze_loader.so.1" } else { "libigdgmm.so.12" };
        std::fs::write(prefix.join(&short), bytes).unwrap();
        if short != soname {
            std::os::unix::fs::symlink(&short, prefix.join(soname)).unwrap();
        }
    }
    lab.library(&lab.path().join("prefix"), "new", Kind::Stock);
    let added = lab
        .tool()
        .args(["drivers", "add", "newer", "--base", "default", "--prefix"])
        .arg(lab.path().join("prefix"))
        .output()
        .unwrap();
    assert!(added.status.success(), "{}", all(&added));
    lab.add("mid", Kind::Cured);
    let out = bisect(&lab, &lab.path().join("results"), &["--drivers", "old,mid,newer", "--components"]);
    assert_eq!(out.status.code(), Some(0), "{}", all(&out));
    let said = all(&out);
    assert!(said.contains("what matters: NEO of newer"), "{said}");
    assert!(said.contains("mix      NEO of newer in old: corrupt"), "{said}");
    assert!(!said.contains("mix      IGC"), "both have the same compiler\n{said}");
    // Then its releases, in a build that is otherwise the old one.
    assert!(said.contains("first bad   NEO of newer") && said.contains("last good   NEO of mid"), "{said}");
}

fn find(dir: &Path, name: &str) -> Option<PathBuf> {
    std::fs::read_dir(dir).ok()?.flatten().map(|entry| entry.path()).find_map(|path| {
        let own = path.file_name()?.to_string_lossy().into_owned();
        match path.symlink_metadata().ok()?.is_dir() {
            true => find(&path, name),
            false => (own.starts_with(name) && !path.is_symlink()).then_some(path),
        }
    })
}

/// As on a card: strace refuses one ioctl a run, inside of the simulated device.
#[test]
fn strace_injects_where_a_device_cannot() {
    let lab = Lab::new();
    let results = lab.path().join("results");
    let out = lab
        .tool()
        .args([
            "faults",
            "matrices/smoke.toml",
            "--arm",
            "under/file-r",
            "--device",
            "sim:a770",
            "--inject",
            "strace",
        ])
        .args(["--errnos", "ENOMEM", "--max-runs", "5", "--results"])
        .arg(&results)
        .output()
        .unwrap();
    assert_eq!(out.status.code(), Some(12), "the budget is spent\n{}", all(&out));
    assert!(all(&out).contains("faults   4/"), "what has run is told, not what was to run\n{}", all(&out));
    let text = std::fs::read_to_string(only(&results, "faults").join("runs.jsonl")).unwrap();
    let injected: Vec<u64> = text
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap())
        .map(|record| record["facts"]["strace"]["injected"].as_u64().unwrap_or(0))
        .collect();
    assert_eq!(injected.len(), 5);
    assert_eq!((injected[0], injected[1..].iter().filter(|n| **n == 1).count()), (0, 4), "{injected:?}");
}
