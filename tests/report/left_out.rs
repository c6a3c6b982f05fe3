//! What was not run takes from what the rest shows: it is said, and a pass of the rest is no pass of the whole.

use crate::support::{patient, results_in, said, text, tool};

#[test]
fn an_arm_whose_driver_is_not_here_and_an_unselected_control_are_said() {
    let dir = tempfile::tempdir().expect("tempdir");
    let absent =
        "\n[[arm]]\nvariant = \"under\"\nsource = \"file-r\"\ndriver = \"absent\"\nexpect = \"clean\"\n";
    std::fs::write(dir.path().join("smoke.toml"), patient() + absent).expect("matrix");
    let out =
        tool(dir.path(), &["run", "smoke.toml", "--device", "sim:a770", "--arm", "under/file-r", "--plain"]);
    let screen = text(&out.stdout).split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(out.status.code(), Some(12), "{screen}\n{}", text(&out.stderr));
    assert!(screen.contains("the positive control over/file-r was left out and not run"), "{screen}");
    assert!(screen.contains("Not run here: 1 arm could not run here: under/file-r/absent (no driver build"));
    let results = results_in(&dir.path().join("results"), "smoke");
    let report = |format| said(dir.path(), &["report", results.to_str().expect("UTF-8"), "--format", format]);
    let xml = report("junit");
    // Of the arms that --arm left out, nothing.
    assert!(xml.contains("tests=\"2\" skipped=\"0\" failures=\"0\" errors=\"1\""), "{xml}");
    assert!(xml.contains("type=\"not-here\"") && xml.contains("no driver build"), "{xml}");
    let md = report("md");
    assert!(md.contains("1 arm, 1 clean, 1 more could not run here; inconclusive"), "{md}");
}

#[test]
fn a_fault_that_never_fired_is_said_and_proves_nothing() {
    let dir = tempfile::tempdir().expect("tempdir");
    std::fs::write(dir.path().join("smoke.toml"), patient()).expect("matrix");
    let run = |fault: &str| {
        let args = [
            "run",
            "smoke.toml",
            "--device",
            "sim:a770",
            "--arm",
            "under/file-r",
            "--plain",
            "--fault",
            fault,
        ];
        let out = tool(dir.path(), &args);
        (out.status.code(), text(&out.stdout).split_whitespace().collect::<Vec<_>>().join(" "))
    };
    // The driver makes some dozens of them.
    let (code, screen) = run("vm_bind:ENOMEM@100000");
    assert_eq!(code, Some(12), "{screen}");
    assert!(
        screen.contains("untestable: fault vm_bind:ENOMEM@100000 never fired: what the fault"),
        "{screen}"
    );
    assert!(screen.contains("Faults: vm_bind:ENOMEM@100000 never fired in 1 of 1 run"), "{screen}");
    let (_, screen) = run("vm_bind:EINTR@1");
    assert!(!screen.contains("never fired"), "{screen}");
}

#[test]
fn a_fault_that_never_fired_is_said_of_a_single_command_too() {
    let run = |more: &[&str]| {
        let args = [&["sim", "--fault", "exec:EIO@1"], more, &["--", "true"]].concat();
        let out = tool(std::path::Path::new("."), &args);
        (out.status.code(), text(&out.stderr))
    };
    let (code, err) = run(&[]);
    assert!(code == Some(0) && err.contains("fault exec:EIO@1 never fired"), "{code:?} {err}");
    assert_eq!(run(&["--quiet"]), (Some(0), String::new()));
}

#[test]
fn an_expectation_whose_instrument_is_off_is_not_measured() {
    let dir = tempfile::tempdir().expect("tempdir");
    let matrix = patient().replace("observers = [\"neo-log\", \"sim\", \"maps\"]", "observers = []");
    std::fs::write(dir.path().join("smoke.toml"), matrix).expect("matrix");
    let out = tool(dir.path(), &["run", "smoke.toml", "--device", "sim:a770", "--arm", "file-r", "--plain"]);
    let screen = text(&out.stdout).split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(out.status.code(), Some(12), "{screen}\n{}", text(&out.stderr));
    let under = "under/file-r (per-dispatch 0 expected, the arm has no observer neo-log)";
    assert!(screen.contains("Not measured: over/file-r (") && screen.contains(under), "{screen}");
    let results = results_in(&dir.path().join("results"), "smoke");
    let report = |format| said(dir.path(), &["report", results.to_str().expect("UTF-8"), "--format", format]);
    assert!(report("junit").contains("type=\"not-measured\""));
    assert!(report("md").contains("| not measured |"));
    let check = tool(dir.path(), &["check", "smoke.toml"]);
    assert_eq!(check.status.code(), Some(3));
    assert!(text(&check.stderr).contains("nothing measures the `per_dispatch` that over/file-r expects"));
}

#[test]
fn what_the_baseline_expects_of_a_driver_that_is_not_here_has_no_answer() {
    let dir = tempfile::tempdir().expect("tempdir");
    let absent =
        "\n[[product]]\nvariants = [\"under\"]\nsources = [\"file-r\"]\ndrivers = [\"absent\", \"gone\"]\n";
    std::fs::write(dir.path().join("smoke.toml"), patient() + absent).expect("matrix");
    let baseline = "version = 1\nmatrix = \"smoke\"\n[[range]]\ndrivers = \">=20\"\n[[range.arm]]\nid = \"*/absent\"\nverdict = \"clean\"\n\
                    reason = \"seen in the test\"\ntracker = \"https://example.org/1\"\n";
    std::fs::write(dir.path().join("smoke.expect.toml"), baseline).expect("baseline");
    let plan = said(dir.path(), &["plan", "smoke.toml", "--device", "sim:a770", "--json"]);
    let plan: serde_json::Value = serde_json::from_str(&plan).expect("JSON");
    let out = plan["plan"]["excluded"].as_array().expect("excluded").iter();
    let out: Vec<_> = out.map(|out| (out["id"].as_str().expect("id"), out["unanswered"].as_bool())).collect();
    assert_eq!(out, [("under/file-r/absent", Some(true)), ("under/file-r/gone", Some(false))]);
}
