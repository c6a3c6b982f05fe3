//! The process layer against a child that ends in every way a reproducer can end.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use repro_matrix::model::verdict::RunEnd;
use repro_matrix::run::spec::RawRun;
use repro_matrix::run::workdir::WorkDir;
use repro_matrix::run::{Cancel, Limits, RunSpec, env, execute, fresh_token};

const TOOL: &str = env!("CARGO_BIN_EXE_repro-matrix");

struct Case {
    _dir: tempfile::TempDir,
    raw: RawRun,
}

impl Case {
    fn stdout(&self) -> String {
        fs::read_to_string(&self.raw.stdout.path).expect("captured stdout")
    }
}

fn limits() -> Limits {
    Limits { timeout: Duration::from_secs(20), grace: Duration::from_millis(200), ..Limits::default() }
}

fn spec(dir: &Path, args: &[&str], limits: Limits) -> RunSpec {
    let work = WorkDir::create(dir.join("run")).expect("work directory");
    let mut argv = vec![TOOL.into(), "mock-repro".into()];
    argv.extend(args.iter().map(Into::into));
    RunSpec {
        argv,
        env: env::base(&work.cwd, &work.tmp).into_iter().collect(),
        cwd: work.cwd.clone(),
        io: work.io.clone(),
        limits,
        trace: None,
        strace: None,
        client_library: None,
        token: fresh_token(),
    }
}

fn run_with(args: &[&str], limits: Limits, edit: impl FnOnce(&mut RunSpec)) -> Case {
    let dir = tempfile::tempdir().expect("temporary directory");
    let mut spec = spec(dir.path(), args, limits);
    edit(&mut spec);
    let raw = execute(&spec, &Cancel::new().expect("pipe"));
    Case { _dir: dir, raw }
}

fn run(mode: &str) -> Case {
    run_with(&[mode], limits(), |_| {})
}

fn alive(pid: u32) -> bool {
    fs::read_to_string(format!("/proc/{pid}/stat"))
        .is_ok_and(|stat| !stat.rsplit(") ").next().is_some_and(|rest| rest.starts_with('Z')))
}

#[test]
fn a_good_run_gives_status_output_result_and_usage() {
    let case = run("pass");
    assert_eq!(case.raw.end, RunEnd::Exited { code: 0 });
    assert!(case.stdout().starts_with("== repro-matrix phase set_up\n"), "{}", case.stdout());
    let stderr = fs::read_to_string(&case.raw.stderr.path).unwrap();
    assert_eq!(stderr.lines().count(), 5, "{stderr}");
    let result: serde_json::Value = serde_json::from_slice(&case.raw.result.bytes).expect("a JSON result");
    assert_eq!(result["copies"]["done"], 942);
    assert!(case.raw.usage.is_some_and(|u| u.max_rss_bytes > 0));
    assert!(case.raw.leaked.is_empty() && case.raw.survivors.is_empty());
    assert!(case.raw.ended_ns > case.raw.started_ns);
}

#[test]
fn exit_codes_and_signals_are_told_apart() {
    assert_eq!(run("corrupt").raw.end, RunEnd::Exited { code: 1 });
    assert_eq!(run("no-driver").raw.end, RunEnd::Exited { code: 2 });
    assert_eq!(run("crash").raw.end, RunEnd::Signaled { signal: libc::SIGSEGV, core_dumped: false });
}

#[test]
fn arrival_times_increase_and_follow_the_pauses() {
    let case = run_with(&["pass", "--pause", "30"], limits(), |_| {});
    let arrivals = &case.raw.stdout.arrivals;
    assert!(arrivals.len() >= 4, "{arrivals:?}");
    assert!(arrivals.is_sorted_by(|a, b| a.offset < b.offset && a.t_ns <= b.t_ns), "{arrivals:?}");
    let spread = arrivals.last().unwrap().t_ns - arrivals.first().unwrap().t_ns;
    assert!(spread > 60_000_000, "{spread} ns for at least three pauses of 30 ms");
    assert!(arrivals.iter().all(|a| a.t_ns >= case.raw.started_ns && a.t_ns <= case.raw.ended_ns));
}

#[test]
fn a_hang_ends_at_the_timeout_by_term() {
    let clock = Instant::now();
    let case = run_with(&["hang"], Limits { timeout: Duration::from_millis(400), ..limits() }, |_| {});
    assert!(matches!(case.raw.end, RunEnd::TimedOut { killed: false, .. }), "{:?}", case.raw.end);
    assert!(clock.elapsed() < Duration::from_secs(3), "{:?}", clock.elapsed());
    // What was written before the end is kept.
    assert!(case.stdout().contains("phase copies"));
}

#[test]
fn ignored_term_is_followed_by_kill() {
    let case = run_with(&["ignore-term"], Limits { timeout: Duration::from_millis(400), ..limits() }, |_| {});
    let RunEnd::TimedOut { after, killed: true } = case.raw.end else { panic!("{:?}", case.raw.end) };
    assert!(after >= Duration::from_millis(600), "timeout and grace: {after:?}");
}

/// The program under the device and strace ignores TERM: they outlive it long enough to write what they saw.
#[test]
fn a_killed_program_leaves_the_whole_trace_of_the_device_and_of_strace() {
    traces_are_whole(&[], libc::SIGKILL);
}

/// As above, and its parent dies of TERM: nothing is left between strace and the program.
#[test]
fn so_does_a_program_whose_parent_died_of_term() {
    traces_are_whole(&["sh", "-c", "\"$@\" & wait", "sh"], libc::SIGTERM);
}

/// `signal`: what the program dies of, or its parent.
fn traces_are_whole(parent: &[&str], signal: i32) {
    let short = Limits { timeout: Duration::from_millis(1500), ..limits() };
    let case = run_with(&["ignore-term"], short, |spec| {
        let (trace, strace) = (spec.io.join("trace"), spec.io.join("strace"));
        let program = std::mem::take(&mut spec.argv);
        spec.argv = [TOOL, "sim", "--quiet", "--trace"].map(Into::into).to_vec();
        spec.argv.extend([trace.clone().into(), "--".into(), "strace".into(), "-f".into(), "-o".into()]);
        spec.argv.extend([strace.clone().into(), "--".into()]);
        spec.argv.extend(parent.iter().map(Into::into));
        spec.argv.extend(program);
        (spec.trace, spec.strace) = (Some(trace), Some(strace));
    });
    assert!(matches!(case.raw.end, RunEnd::TimedOut { killed: true, .. }), "{:?}", case.raw.end);
    // A program without its parent is ours to reap.
    assert_eq!(case.raw.leaked.len(), usize::from(!parent.is_empty()), "{:?}", case.raw.leaked);
    assert!(case.raw.survivors.is_empty(), "{:?}", case.raw.survivors);
    let text =
        |path: &Option<std::path::PathBuf>| fs::read_to_string(path.as_ref().unwrap()).expect("written");
    let trace = text(&case.raw.trace);
    let last: serde_json::Value =
        serde_json::from_str(trace.lines().last().unwrap_or_default()).expect("JSON");
    assert_eq!((&last["ev"], &last["signal"]), (&"summary".into(), &signal.into()), "{last}");
    assert!(text(&case.raw.strace).contains("+++ killed by SIGKILL +++"));
}

#[test]
fn silence_ends_a_run_and_output_keeps_it_alive() {
    let short = Limits { inactivity: Some(Duration::from_millis(300)), ..limits() };
    let case = run_with(&["hang"], short.clone(), |_| {});
    assert!(matches!(case.raw.end, RunEnd::Inactive { .. }), "{:?}", case.raw.end);
    let busy = Limits { timeout: Duration::from_millis(1200), ..short };
    let case = run_with(&["chatter"], busy, |_| {});
    assert!(matches!(case.raw.end, RunEnd::TimedOut { .. }), "{:?}", case.raw.end);
}

#[test]
fn a_growing_trace_counts_as_activity() {
    let dir = tempfile::tempdir().unwrap();
    let trace = dir.path().join("trace");
    let writer = {
        let trace = trace.clone();
        std::thread::spawn(move || {
            for n in 0..12 {
                fs::write(&trace, vec![b'x'; n]).unwrap();
                std::thread::sleep(Duration::from_millis(100));
            }
        })
    };
    let limits = Limits { inactivity: Some(Duration::from_millis(400)), ..limits() };
    let clock = Instant::now();
    let case = run_with(&["hang"], limits, |spec| spec.trace = Some(trace));
    let took = clock.elapsed();
    writer.join().unwrap();
    assert!(matches!(case.raw.end, RunEnd::Inactive { .. }), "{:?}", case.raw.end);
    assert!(took > Duration::from_millis(1200), "ended {took:?} after the start, while the trace still grew");
}

#[test]
fn a_flood_is_cut_at_the_cap() {
    let case = run_with(&["flood"], Limits { output_cap: 1 << 20, ..limits() }, |_| {});
    let RunEnd::OutputFlood { bytes } = case.raw.end else { panic!("{:?}", case.raw.end) };
    // One turn of reads beyond the cap on each side, and what the pipe held.
    assert!((1 << 20..4 << 20).contains(&bytes), "{bytes}");
}

#[test]
fn a_child_that_holds_the_pipes_is_found_and_killed() {
    let clock = Instant::now();
    let case = run("leak-fd");
    assert_eq!(case.raw.end, RunEnd::Exited { code: 0 });
    let [leaked] = case.raw.leaked.as_slice() else { panic!("{:?}", case.raw.leaked) };
    assert!(!alive(leaked.pid));
    assert!(case.raw.survivors.is_empty());
    assert!(clock.elapsed() < Duration::from_secs(4), "{:?}", clock.elapsed());
}

#[test]
fn a_child_in_a_session_of_its_own_is_found_and_killed() {
    let case = run("fork");
    assert_eq!(case.raw.end, RunEnd::Exited { code: 0 });
    let [leaked] = case.raw.leaked.as_slice() else { panic!("{:?}", case.raw.leaked) };
    assert!(!alive(leaked.pid));
}

#[test]
fn a_program_that_is_not_there_is_a_spawn_failure() {
    let case = run_with(&[], limits(), |spec| spec.argv = vec!["/no/such/program".into()]);
    let RunEnd::SpawnFailed { errno, what } = &case.raw.end else { panic!("{:?}", case.raw.end) };
    assert_eq!(*errno, libc::ENOENT);
    assert!(what.contains("/no/such/program"), "{what}");
}

#[test]
fn missing_and_garbled_results_are_given_as_they_came() {
    assert!(run("no-result").raw.result.bytes.is_empty());
    let garbled = run("garbled-result").raw.result.bytes;
    assert!(serde_json::from_slice::<serde_json::Value>(&garbled).is_err() && !garbled.is_empty());
}

#[test]
fn nothing_of_our_environment_gets_in_and_the_directory_is_empty() {
    let case = run("show-environment");
    let text = case.stdout();
    let names: Vec<&str> =
        text.lines().filter_map(|l| l.strip_prefix("env ")?.split_once('=').map(|(k, _)| k)).collect();
    let expected = [
        "HOME",
        "LC_ALL",
        "NEO_CACHE_PERSISTENT",
        "ONEAPI_DEVICE_SELECTOR",
        "PATH",
        "REPRO_MATRIX_RESULT_FD",
        "REPRO_MATRIX_RUN",
        "SYCL_CACHE_PERSISTENT",
        "TMPDIR",
    ];
    assert_eq!(names, expected);
    assert!(text.lines().any(|l| l.starts_with("cwd ") && l.ends_with(" entries 0")), "{text}");
}

#[test]
fn a_run_leaves_no_core_and_no_larger_file_than_it_may() {
    let limits = Limits { file_size: Some(1 << 20), ..limits() };
    let case = run_with(&[], limits, |spec| {
        spec.argv = ["cat", "/proc/self/limits"].map(Into::into).to_vec();
    });
    let row = |name: &str| {
        let text = case.stdout();
        let line = text.lines().find(|line| line.starts_with(name)).unwrap_or_else(|| panic!("{text}"));
        line[name.len()..].split_whitespace().next().expect("a limit").to_owned()
    };
    assert_eq!((row("Max core file size").as_str(), row("Max file size").as_str()), ("0", "1048576"));
}

#[test]
fn maps_are_read_at_the_markers_and_before_a_stop() {
    let own = Path::new(TOOL).file_name().unwrap().to_str().unwrap();
    let case = run_with(&["pass", "--pause", "50"], limits(), |s| s.client_library = Some(own.into()));
    let when: Vec<&str> = case.raw.maps.iter().map(|m| m.when.as_str()).collect();
    assert_eq!(when, ["before", "copies", "after", "tear_down"], "{:?}", case.raw.maps_problem);
    assert!(case.raw.maps.iter().all(|m| m.text.contains(TOOL)));
    let hang = Limits { timeout: Duration::from_millis(400), ..limits() };
    let case = run_with(&["hang"], hang, |s| s.client_library = Some(own.into()));
    assert_eq!(case.raw.maps.last().map(|m| m.when.as_str()), Some("stop"));
    let case =
        run_with(&["pass", "--pause", "50"], limits(), |s| s.client_library = Some("no-such-lib".into()));
    assert!(case.raw.maps.is_empty() && case.raw.maps_problem.is_some());
}

#[test]
fn a_stop_request_ends_a_run_and_haste_kills_it() {
    for (mode, haste) in [("hang", false), ("ignore-term", true)] {
        let dir = tempfile::tempdir().unwrap();
        let spec = spec(dir.path(), &[mode], Limits { grace: Duration::from_secs(30), ..limits() });
        let cancel = Cancel::new().unwrap();
        let asker = {
            let cancel = cancel.clone();
            std::thread::spawn(move || {
                std::thread::sleep(Duration::from_millis(300));
                cancel.ask();
                if haste {
                    std::thread::sleep(Duration::from_millis(100));
                    cancel.ask();
                }
            })
        };
        let clock = Instant::now();
        let raw = execute(&spec, &cancel);
        asker.join().unwrap();
        assert_eq!(raw.end, RunEnd::Interrupted, "{mode}");
        assert!(clock.elapsed() < Duration::from_secs(5), "{mode}: {:?}", clock.elapsed());
    }
}
