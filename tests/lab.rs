//! The real lab with stand-ins for the build, driver and observe stages: what it puts around a run.

use std::path::{Path, PathBuf};
use std::time::Duration;

use repro_matrix::cmd::lab::{DeviceChoice, Launch, Parts, RealLab};
use repro_matrix::cmd::source_file::SourceFiles;
use repro_matrix::judge::ExpectedDriver;
use repro_matrix::model::arm::{Arm, Observer};
use repro_matrix::model::facts::Facts;
use repro_matrix::model::outcome::RunRecord;
use repro_matrix::model::verdict::{RunEnd, Verdict};
use repro_matrix::observe::sim;
use repro_matrix::run::lab::{BuildFailure, Built, Lab};
use repro_matrix::run::{Cancel, RawRun};

const TOOL: &str = env!("CARGO_BIN_EXE_repro-matrix");

#[derive(Default)]
struct Stand {
    mode: &'static str,
    driver: Option<ExpectedDriver>,
    /// A trace that goes to a full device.
    full: Option<PathBuf>,
}

impl Parts for Stand {
    type Built = ();

    fn build_key(&self, arm: &Arm) -> String {
        arm.variant.name.clone()
    }

    fn build(&self, _arm: &Arm) -> Result<Built<()>, BuildFailure> {
        Ok(Built { value: (), cached: true, records: Vec::new() })
    }

    fn launch(&self, arm: &Arm, (): &(), file: Option<&Path>) -> Result<Launch, String> {
        assert!(file.is_some_and(|f| f.exists()), "a file source has its file");
        if let Some(trace) = &self.full {
            std::os::unix::fs::symlink("/dev/full", trace).map_err(|e| e.to_string())?;
        }
        let copies = arm.workload.copies.to_string();
        let mock = [TOOL, "mock-repro", self.mode, "--copies", &copies, "--pause", "20"];
        let argv: &[&str] = if self.mode == "exit-41" { &["sh", "-c", "exit 41"] } else { &mock };
        Ok(Launch {
            argv: argv.iter().map(Into::into).collect(),
            env: vec![("ZE_ENABLE_ALT_DRIVERS".into(), "/d/libze_intel_gpu.so.1".into())],
        })
    }

    fn predicted_per_dispatch(&self, _arm: &Arm, (): &()) -> Option<bool> {
        None
    }

    fn driver(&self, _arm: &Arm) -> Option<(ExpectedDriver, String)> {
        Some((self.driver.clone()?, "hash".into()))
    }

    fn observe(&self, _arm: &Arm, raw: &RawRun) -> (Facts, Vec<String>) {
        assert!(raw.stdout.path.exists());
        // A device that takes nothing gives zeros without end.
        let trace = raw.trace.as_ref().filter(|path| path.metadata().is_ok_and(|m| m.is_file()));
        let trace = trace.and_then(|path| std::fs::read(path).ok());
        let sim = trace.and_then(|trace| sim::facts(&trace, sim::Known::default()).ok());
        (Facts { sim, ..Facts::default() }, vec![])
    }
}

fn arm(json_edit: impl FnOnce(&mut serde_json::Value)) -> Arm {
    let mut value = serde_json::json!({
        "id": "over/file-r",
        "variant": {"name": "over", "front_end": "level-zero", "kernels": 1, "plain_kernels": 0, "batch_size": 64,
            "simd": 16, "padding": 0, "split": "off", "format": "native", "options": []},
        "source": {"name": "file-r", "kind": "file", "mapping": "private", "prot": "r", "page_cache": "warm",
            "medium": "disk", "size": 1 << 20},
        "workload": {"name": "w", "copies": 12, "chunk": 4096, "same_src": true, "one_alloc": true, "no_copy": false,
            "skip_upload": false, "repeat": 1, "guard": 0, "ballast": 0, "late_module": false,
            "command_list": "immediate", "copy_engine": "compute", "elements": 131072},
        "keys": {"name": "none", "keys": {}},
        "driver": "default", "device": "auto", "observers": [], "repeats": 1, "timeout": 20.0
    });
    json_edit(&mut value);
    serde_json::from_value(value).expect("an arm")
}

fn lab<P: Parts>(parts: P, device: &str, results: &Path, strace: Option<PathBuf>) -> RealLab<P> {
    let device = DeviceChoice { name: device.into(), hw_threads: None, faults: vec![] };
    RealLab {
        parts,
        devices: [("auto".to_owned(), device)].into(),
        tool: TOOL.into(),
        results: results.to_owned(),
        jobs: 1,
        grace: Duration::from_millis(200),
        keep_work: false,
        strace,
        sources: SourceFiles::new(results.join("sources")),
    }
}

fn run(arm: &Arm, stand: Stand, strace: Option<PathBuf>) -> (RunRecord, tempfile::TempDir) {
    let dir = tempfile::tempdir().unwrap();
    let lab = lab(stand, "pci:none", dir.path(), strace);
    let record = lab.run(arm, 0, &(), &Cancel::new().unwrap()).expect("the logs can be kept");
    (record, dir)
}

fn pass() -> Stand {
    Stand { mode: "pass", ..Stand::default() }
}

#[test]
fn environment_is_base_then_tree_then_keys() {
    let arm = arm(|a| {
        a["observers"] = serde_json::json!(["neo-log"]);
        a["keys"]["keys"] = serde_json::json!({"MakeEachAllocationResident": "2"});
    });
    let (record, _dir) = run(&arm, pass(), None);
    let value = |key: &str| record.environment.iter().find(|(k, _)| k == key).map(|(_, v)| v.as_str());
    for (key, want) in [
        ("LC_ALL", "C"),
        ("ZE_ENABLE_ALT_DRIVERS", "/d/libze_intel_gpu.so.1"),
        ("NEOReadDebugKeys", "1"),
        ("PrintDebugSettings", "1"),
        ("PrintBOBindingResult", "1"),
        ("MakeEachAllocationResident", "2"),
    ] {
        assert_eq!(value(key), Some(want), "{key}");
    }
    // The stand-in observed no echo of the key: nothing can be said.
    assert!(matches!(record.verdict, Verdict::Untestable { .. }), "{:?}", record.verdict);
}

#[test]
fn an_unproved_driver_is_untestable_although_all_elements_are_right() {
    let driver = ExpectedDriver {
        name: "debian".into(),
        library: "libze_intel_gpu".into(),
        path: "/d/libze_intel_gpu.so.1".into(),
        build_id: Some("ab".into()),
        sha256: None,
    };
    let (record, _dir) =
        run(&arm(|_| {}), Stand { mode: "pass", driver: Some(driver), ..Stand::default() }, None);
    assert!(matches!(record.verdict, Verdict::Untestable { .. }), "{:?}", record.verdict);
    assert_eq!(record.driver, "hash");
    let (record, _dir) = run(&arm(|_| {}), pass(), None);
    assert!(matches!(record.verdict, Verdict::Clean { .. }), "{:?}", record.verdict);
}

#[test]
fn strace_sees_the_program_and_its_file_is_kept() {
    let arm = arm(|a| a["observers"] = serde_json::json!([Observer::Strace]));
    let (record, _dir) = run(&arm, pass(), None);
    let Verdict::HarnessError { reason } = &record.verdict else { panic!("{:?}", record.verdict) };
    assert!(reason.contains("not installed"), "{reason}");
    let strace = ["/usr/bin/strace", "/bin/strace"].iter().map(PathBuf::from).find(|p| p.exists());
    let strace = strace.expect("strace is needed for this test: ci/install-deps installs it");
    let (record, dir) = run(&arm, pass(), Some(strace));
    assert!(matches!(record.verdict, Verdict::Clean { .. }), "{:?}", record.verdict);
    let kept = dir.path().join("logs/over/file-r/0/strace.gz");
    let mut text = String::new();
    let file = std::fs::File::open(kept).unwrap();
    std::io::Read::read_to_string(&mut flate2::read::GzDecoder::new(file), &mut text).unwrap();
    assert!(text.contains("+++ exited with 0 +++"), "{text}");
    assert!(record.logs.iter().any(|l| l.ends_with("strace.gz")));
}

#[test]
fn nothing_is_left_of_the_work_directory_and_the_kernel_log_is_answered_for() {
    let arm = arm(|a| a["observers"] = serde_json::json!(["kernel-log"]));
    let (record, dir) = run(&arm, Stand { mode: "corrupt", ..Stand::default() }, None);
    assert!(matches!(record.verdict, Verdict::Corrupt { wrong: Some(131_072), .. }), "{:?}", record.verdict);
    assert!(!dir.path().join("work/over/file-r/0").exists());
    assert!(!dir.path().join("sources").read_dir().is_ok_and(|mut d| d.next().is_some()));
}

#[test]
fn an_arm_whose_device_was_not_found_is_a_harness_error_that_names_it() {
    let arm = arm(|a| a["device"] = "sim:b580".into());
    let (record, _dir) = run(&arm, pass(), None);
    let Verdict::HarnessError { reason } = &record.verdict else { panic!("{:?}", record.verdict) };
    assert!(reason.contains("sim:b580"), "{reason}");
}

#[test]
fn a_run_whose_trace_does_not_fit_is_no_result() {
    let arm = arm(|_| {});
    let dir = tempfile::tempdir().unwrap();
    let full = Some(dir.path().join("work/over/file-r/0/io/trace"));
    let full = lab(Stand { full, ..pass() }, "sim:a770", dir.path(), None);
    let why = full.run(&arm, 0, &(), &Cancel::new().unwrap()).expect_err("nothing to record").0;
    assert!(why.contains("over/file-r #0") && why.contains("No space left on device"), "{why}");
    // The same exit code, of the program's own: its trace is whole.
    let whole = lab(Stand { mode: "exit-41", ..Stand::default() }, "sim:a770", dir.path(), None);
    let record = whole.run(&arm, 0, &(), &Cancel::new().unwrap()).expect("a record");
    assert_eq!(record.end, RunEnd::Exited { code: 41 });
}
