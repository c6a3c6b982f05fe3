//! Each format says what the runs showed.

use std::path::Path;
use std::process::Command;

use crate::support::{TOOL, mock, said, smoke, text, tool};

fn report(dir: &Path, format: &str) -> String {
    said(dir, &["report", dir.to_str().expect("UTF-8"), "--format", format])
}

#[test]
fn markdown_has_every_arm_and_says_that_the_device_is_a_model() {
    let md = report(smoke(), "md");
    assert!(
        md.starts_with("**smoke on sim:a770 (a model): 3 arms, 2 clean, 1 corrupt; as expected**"),
        "{md}"
    );
    let row = |arm: &str| {
        md.lines().find(|line| line.starts_with(&format!("| `{arm}` |"))).unwrap_or_default().to_owned()
    };
    assert!(row("over/file-r").contains("| **corrupt** | 2/2 |"), "{md}");
    assert!(row("over/file-r").contains("| 1 | bind unbind ─ | 24 | yes |"), "{md}");
    assert!(row("under/file-r").contains("| clean | 0/2 |"), "{md}");
    assert!(md.contains("not a measurement on silicon"), "{md}");
}

#[test]
fn csv_has_one_line_a_run_and_the_axes() {
    let csv = report(smoke(), "csv");
    let mut reader = csv::Reader::from_reader(csv.as_bytes());
    let header = reader.headers().expect("header").clone();
    let column =
        |name: &str| header.iter().position(|h| h == name).unwrap_or_else(|| panic!("{name} in {header:?}"));
    let rows: Vec<csv::StringRecord> = reader.records().map(|r| r.expect("record")).collect();
    assert_eq!(rows.len(), 6);
    let corrupt: Vec<&csv::StringRecord> =
        rows.iter().filter(|r| &r[column("verdict")] == "corrupt").collect();
    assert_eq!(corrupt.len(), 2);
    for row in corrupt {
        assert_eq!(&row[column("axis:kernels")], "87");
        assert_eq!(&row[column("module_private")], "16238247936");
        assert_eq!(&row[column("hazards")], "1");
        assert_eq!((&row[column("device")], &row[column("model")]), ("sim:a770", "yes"));
    }
}

#[test]
fn json_is_what_its_schema_says() {
    let json: serde_json::Value = serde_json::from_str(&report(smoke(), "json")).expect("JSON");
    assert_eq!(json["version"], 1);
    let section = &json["sections"][0];
    assert_eq!(section["device"], "sim:a770");
    assert_eq!(section["arms"].as_array().map(Vec::len), Some(3));
    assert_eq!(section["arms"][0]["counts"]["corrupt"], 2);
    // 45,568 B × 4,096 threads × 87 kernels, by hand.
    let boundary = section["boundary"].as_array().expect("points");
    assert!(
        boundary.iter().any(|p| p["predicted"] == 16_238_247_936u64 && p["predicted_flag"] == true),
        "{boundary:?}"
    );
    // Every field that the schema requires is there, and none that it does not know.
    let schema: serde_json::Value =
        serde_json::from_str(&said(Path::new("."), &["schema", "--of", "report"])).expect("schema");
    let run = &section["arms"][0]["repeats"][0];
    assert_eq!(run["compared"][0]["instruments"], serde_json::json!(["data", "sim"]), "{run}");
    for (name, object) in [
        ("SectionJson", section),
        ("ArmJson", &section["arms"][0]),
        ("RunJson", run),
        ("PointJson", &boundary[0]),
    ] {
        let known = schema["$defs"][name]["properties"].as_object().unwrap_or_else(|| panic!("{name}"));
        let have: Vec<&String> = object.as_object().expect("object").keys().collect();
        assert!(have.iter().all(|key| known.contains_key(*key)), "{name}: {have:?}");
        assert_eq!(have.len(), known.len(), "{name}");
    }
}

#[test]
fn junit_fails_for_one_corrupt_run_among_clean_ones() {
    let dir = tempfile::tempdir().expect("tempdir");
    let results = mock(dir.path(), &["pass=clean", "corrupt=corrupt", "hang"], &["--timeout-ms", "300"]);
    // The second repeat of the first arm goes wrong.
    let runs = std::fs::read_to_string(results.join("runs.jsonl")).expect("runs");
    let first = runs.lines().find(|line| line.contains("\"pass\"")).expect("the run");
    let mut bad: serde_json::Value = serde_json::from_str(first).expect("JSON");
    bad["repeat"] = 1.into();
    bad["verdict"] = "corrupt".into();
    bad["as_expected"] = false.into();
    bad["unmet"] = serde_json::json!(["verdict clean expected, corrupt found"]);
    for field in ["wrong", "untouched", "control_wrong"] {
        bad[field] = serde_json::Value::Null;
    }
    std::fs::write(results.join("runs.jsonl"), format!("{runs}{bad}\n")).expect("write");
    let xml = report(&results, "junit");
    assert!(xml.contains("tests=\"3\" skipped=\"0\" failures=\"2\" errors=\"0\""), "{xml}");
    assert!(xml.contains("type=\"corrupt\"") && xml.contains("corrupt 1/2"), "{xml}");
    // The clean repeat is listed beside it.
    assert!(xml.contains("#0 clean") && xml.contains("#1 corrupt"), "{xml}");
    // A hang of which nobody said that it is known.
    assert!(xml.contains("type=\"hang\""), "{xml}");
}

#[test]
fn the_draft_has_every_field_of_the_form_in_its_order() {
    let draft = report(smoke(), "issue");
    let fields = [
        "Pre-submission Checklist",
        "GPU Hardware",
        "DRI Devices Information",
        "GPU Detailed Information (lspci output)",
        "Driver Version",
        "Installed GPU Driver Packages",
        "Driver Installation Details",
        "Linux Distribution",
        "Other Linux Distribution",
        "Kernel Version & Boot Parameters",
        "Actual Behavior",
        "Expected Behavior",
        "Reproduction Rate",
        "Steps to Reproduce",
        "Is this a regression?",
        "Last Known Working Driver Version",
        "First Known Failing Driver Version",
        "API Call Logs",
        "strace Logs",
        "System Logs / dmesg Output",
        "Backtrace (if crash or hang occurred)",
        "Source Code / Reproducer",
        "Command Line / Application Details",
        "oneAPI Version (if applicable)",
        "Screenshots / Video",
        "Additional Notes",
    ];
    let found: Vec<&str> = draft.lines().filter_map(|line| line.strip_prefix("### ")).collect();
    assert_eq!(found, fields);
    assert!(draft.contains("Not run on silicon"), "a prediction must be called one");
    // Two runs are no rate, and the draft says so: 0.025^(1/2) = 15.8 %.
    assert!(draft.contains("Not yet earned: Always reproduces - 100%"), "{draft}");
    assert!(draft.contains("faulty in 2 of 2 runs (95 % interval 15.8 % to 100 %)"), "{draft}");
    assert!(draft.contains("| 45,568 | 87 | 16,238,247,936 | 16,238,247,936 |"), "{draft}");
    // Two arms of one size that fared differently are told apart.
    assert!(draft.contains("| `over/file-r` | 45,568 | 87 |"), "{draft}");
    assert!(draft.contains("| `over/anon-rw` | 45,568 | 87 |"), "{draft}");
    // The directories of whoever ran it are not in it.
    let home = std::env::var("HOME").unwrap_or_default();
    assert!(home.len() < 2 || !draft.contains(&format!("{home}/.local")), "{draft}");
}

/// What the draft tells a stranger to type does what it says.
#[test]
fn the_steps_of_the_draft_work() {
    let draft = report(smoke(), "issue");
    let dir = tempfile::tempdir().expect("tempdir");
    let block = |after: &str, language: &str| {
        let rest = draft.split_once(after).expect("heading").1;
        let rest = rest.split_once(&format!("```{language}\n")).expect("block").1;
        rest.split_once("```").expect("end").0.to_owned()
    };
    std::fs::write(dir.path().join("smoke.toml"), block("### Source Code", "toml")).expect("matrix");
    let runs: Vec<String> = block("### Steps to Reproduce", "sh")
        .lines()
        .filter(|line| line.starts_with("repro-matrix run"))
        .map(str::to_owned)
        .collect();
    assert_eq!(runs.len(), 2, "{runs:?}");
    for (run, verdict) in runs.iter().zip(["CORRUPT", "clean"]) {
        let command = run.split(" #").next().unwrap_or_default();
        let args: Vec<&str> = command.split_whitespace().skip(1).collect();
        assert!(said(dir.path(), &args).contains(verdict), "{command}");
    }
    // The run by hand: the reproducer's own exit status is that of wrong elements or clean.
    let script = block("### Command Line", "sh");
    let tools = Path::new(TOOL).parent().expect("directory");
    let path = format!("{}:{}", tools.display(), std::env::var("PATH").unwrap_or_default());
    let out = Command::new("sh")
        .current_dir(dir.path())
        .env("PATH", path)
        .args(["-c", &script])
        .output()
        .expect("sh");
    assert!(text(&out.stdout).contains("after upload"), "{}\n{}", text(&out.stdout), text(&out.stderr));
    assert_eq!(out.status.code(), Some(1), "{}", text(&out.stderr));
    let trace = std::fs::read_to_string(dir.path().join("trace")).expect("the device's trace");
    assert!(trace.contains("\"ev\":\"hazard\""), "the fault is seen in the run by hand too");
}

#[test]
fn a_draft_without_a_fault_is_refused() {
    let dir = tempfile::tempdir().expect("tempdir");
    let results = mock(dir.path(), &["pass=clean"], &[]);
    let out = tool(dir.path(), &["report", results.to_str().expect("UTF-8"), "--format", "issue"]);
    assert_eq!(out.status.code(), Some(4));
    assert!(text(&out.stderr).contains("nothing to report"), "{}", text(&out.stderr));
}

#[test]
fn the_badge_is_one_line_of_json() {
    let badge: serde_json::Value = serde_json::from_str(report(smoke(), "badge").trim()).expect("JSON");
    assert_eq!(badge["schemaVersion"], 1);
    assert_eq!(badge["color"], "brightgreen");
    assert!(
        badge["message"]
            .as_str()
            .is_some_and(|m| m.contains("sim:a770 (a model)") && m.contains("1 corrupt"))
    );
}

/// What the workflows call.
#[test]
fn ci_makes_every_report_of_the_newest_results() {
    let dir = tempfile::tempdir().expect("tempdir");
    let results = smoke().parent().and_then(Path::parent).expect("results");
    let summary = dir.path().join("summary.md");
    let out = Command::new(Path::new(env!("CARGO_MANIFEST_DIR")).join("ci/reports"))
        .args([results, &dir.path().join("out")])
        .env("REPRO_MATRIX", TOOL)
        .env("GITHUB_STEP_SUMMARY", &summary)
        .output()
        .expect("ci/reports");
    assert!(out.status.success(), "{}", text(&out.stderr));
    assert_eq!(
        text(&out.stdout),
        "**smoke on sim:a770 (a model): 3 arms, 2 clean, 1 corrupt; as expected**\n"
    );
    for file in ["xml", "html", "md", "csv", "json", "badge.json", "issue.md"] {
        let path = dir.path().join(format!("out/smoke.{file}"));
        assert!(std::fs::metadata(&path).is_ok_and(|m| m.len() > 0), "{}", path.display());
    }
    assert!(std::fs::read_to_string(summary).is_ok_and(|text| text.contains("over/file-r")));
}
