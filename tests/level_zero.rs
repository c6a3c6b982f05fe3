//! The Level Zero reproducer with the real driver on a simulated device, and its ends without one.
//!
//! What the output holds is the device model's business, not this front end's: these tests look at what the front end does
//! and reports, never at the number of wrong elements alone (tests/classes.rs does).

mod support;

use std::ffi::OsString;
use std::io::{Read, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use repro_matrix::build::Target;
use repro_matrix::model::arm::{ModuleFormat, Split, Variant};
use repro_matrix::model::repro::{PHASE_MARKER, Phase, RESULT_FD_ENV, ReproResult};
use support::{Tree, builder, variant};

struct Run {
    code: Option<i32>,
    stdout: String,
    stderr: String,
    result: Option<ReproResult>,
}

impl Run {
    fn result(&self) -> &ReproResult {
        self.result
            .as_ref()
            .unwrap_or_else(|| panic!("no result: {:?}\n{}\n{}", self.code, self.stdout, self.stderr))
    }

    fn phases(&self) -> Vec<Phase> {
        self.result().phases.iter().map(|mark| mark.phase).collect()
    }
}

/// A pipe for the result, its write end inherited by children.
fn result_pipe() -> (OwnedFd, OwnedFd) {
    let (read, write) = nix::unistd::pipe2(nix::fcntl::OFlag::O_CLOEXEC).unwrap();
    // Inheritable: fcntl through the safe wrapper.
    nix::fcntl::fcntl(&write, nix::fcntl::FcntlArg::F_SETFD(nix::fcntl::FdFlag::empty())).unwrap();
    (read, write)
}

fn run(mut command: Command) -> Run {
    let (read, write) = result_pipe();
    command.env(RESULT_FD_ENV, write.as_raw_fd().to_string()).env("NEO_CACHE_PERSISTENT", "0");
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(write);
    finish(child, read)
}

fn finish(child: std::process::Child, read: OwnedFd) -> Run {
    let reader = std::thread::spawn(move || {
        let mut text = String::new();
        std::fs::File::from(read).read_to_string(&mut text).unwrap();
        text
    });
    let output = child.wait_with_output().unwrap();
    let text = reader.join().unwrap();
    assert!(text.lines().count() <= 1, "one object: {text}");
    Run {
        code: output.status.code(),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        result: if text.is_empty() { None } else { Some(serde_json::from_str(&text).unwrap()) },
    }
}

/// `repro-matrix level-zero ARGS`, without a driver.
fn bare(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_repro-matrix"));
    command.arg("level-zero").args(args);
    command
}

/// The same under a simulated device and the tree's driver.
fn simulated(tree: &Tree, args: &[OsString]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_repro-matrix"));
    command.args(["sim", "--quiet", "--device", "a770", "--"]);
    let program = Path::new(env!("CARGO_BIN_EXE_repro-matrix"));
    let words: Vec<OsString> = std::iter::once("level-zero".into()).chain(args.iter().cloned()).collect();
    let launch = tree.launch(program, &words);
    command.args(launch.argv).envs(launch.env);
    command
}

struct Bench {
    tree: Tree,
    dir: tempfile::TempDir,
    source: PathBuf,
}

impl Bench {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let source = dir.path().join("source.bin");
        std::fs::File::create(&source).unwrap().write_all(&vec![7; 22 << 20]).unwrap();
        Bench { tree: Tree::open(), dir, source }
    }

    fn build(&self, variant: &Variant) -> Vec<PathBuf> {
        let builder = builder(&self.tree, &self.dir.path().join("cache"));
        let built = builder.build(variant, &Target::for_profile("a770").unwrap());
        built.unwrap_or_else(|e| panic!("{}", e.explain())).paths()
    }

    /// 12 copies of 1 MiB, with further words.
    fn run(&self, modules: &[PathBuf], words: &[&str]) -> Run {
        let mut args: Vec<OsString> = Vec::new();
        for module in modules {
            args.extend(["--module".into(), module.into()]);
        }
        args.extend(["--copies", "12", "--chunk", "1MiB", "--file"].map(OsString::from));
        args.push(self.source.clone().into());
        args.extend(words.iter().map(OsString::from));
        run(simulated(&self.tree, &args))
    }
}

const SHORT: [Phase; 5] = [Phase::SetUp, Phase::Before, Phase::Copies, Phase::After, Phase::TearDown];

#[test]
fn a_small_module_goes_through_all_steps() {
    let bench = Bench::new();
    let modules = bench.build(&variant(3, 64));
    let run = bench.run(&modules, &["--same-src", "--one-alloc"]);
    let result = run.result();
    assert_eq!(result.error, None, "{}", run.stderr);
    assert_eq!(run.phases(), SHORT);
    assert!(result.phases.is_sorted_by_key(|mark| mark.start_ns));
    assert_eq!(result.device_id, 0x56a0);
    assert!(result.device_name.contains("A770"), "{}", result.device_name);
    assert!(result.global_memory > 15 << 30);
    assert_eq!((result.modules, result.kernel.name.as_str()), (1, "priv0"));
    let block = repro_matrix::build::source::block_bytes(64);
    assert_eq!((u64::from(result.kernel.private_mem_size), result.kernel.simd), (16 * block, 16));
    assert_eq!((result.control.private_mem_size, result.control.spill_mem_size), (0, 0));
    let copies = &result.copies;
    assert_eq!((copies.requested, copies.done, copies.allocations), (12, 12, 1));
    assert_eq!(copies.bytes, 12 << 20);
    assert!(copies.seconds > 0.0);
    let pages = result.page_cache.unwrap();
    assert_eq!(
        (pages.pages, pages.resident),
        (256, 256),
        "one chunk is read, and it was written just before"
    );
    let checks: Vec<_> =
        result.checks.iter().map(|check| (check.phase, check.total, check.control_total)).collect();
    assert_eq!(checks, [(Phase::Before, 131_072, 131_072), (Phase::After, 131_072, 131_072)]);

    // The exit status is what the checks say, whatever they say.
    let right = result.checks.iter().all(|check| check.wrong == 0 && check.control_wrong == 0);
    assert_eq!(run.code, Some(i32::from(!right)));
    for check in &result.checks {
        assert!(check.untouched <= check.wrong && check.wrong <= check.total);
        let words = if check.phase == Phase::Before { "before upload : " } else { "after upload  : " };
        let line = format!(
            "{words}wrong {}, untouched {}   (private=0 control: wrong {})",
            check.wrong, check.untouched, check.control_wrong
        );
        assert!(run.stdout.lines().any(|l| l == line), "{line} in {}", run.stdout);
    }
    assert!(run.stdout.contains("  0.01 GiB, 12 copies, 1 device allocations ("), "{}", run.stdout);
    assert!(run.stdout.contains("MB/s)  [warm cache]\n"), "{}", run.stdout);
}

#[test]
fn markers_cut_both_streams_where_the_driver_prints() {
    let bench = Bench::new();
    let modules = bench.build(&variant(3, 64));
    let args = |words: &[&str]| words.iter().map(OsString::from).collect::<Vec<_>>();
    let mut words = vec![OsString::from("--module"), modules[0].clone().into(), "--file".into()];
    words.push(bench.source.clone().into());
    words.extend(args(&["--copies", "3", "--chunk", "11MiB", "--same-src"]));
    let mut command = simulated(&bench.tree, &words);
    command.env("NEOReadDebugKeys", "1").env("PrintBOBindingResult", "1");
    let run = run(command);
    for stream in [&run.stdout, &run.stderr] {
        let marks: Vec<&str> = stream.lines().filter_map(|line| line.strip_prefix(PHASE_MARKER)).collect();
        assert_eq!(marks, ["set_up", "before", "copies", "after", "tear_down"]);
    }
    // What the driver's printf wrote while modules and buffers were made lies before the first kernel's marker.
    let (set_up, rest) = run.stdout.split_once("phase before").unwrap();
    assert!(set_up.contains("bind BO-"), "{}", run.stdout);
    let (_, after) = rest.split_once("phase tear_down").unwrap();
    assert!(after.contains("unbind BO-"), "{after}");
    // A read-only file's pages are refused (a copy of 1 MiB would not even ask): on stderr, among the copies only.
    let (before, copies) = run.stderr.split_once("phase copies").unwrap();
    let (copies, later) = copies.split_once("phase after").unwrap();
    let refused = |text: &str| text.matches("errno: 1(").count();
    assert!(refused(copies) > 0, "{}", run.stderr);
    assert_eq!((refused(before), refused(later)), (0, 0), "{}", run.stderr);
}

#[test]
fn every_source_and_flag_does_what_it_says() {
    let bench = Bench::new();
    let modules = bench.build(&variant(3, 64));
    for words in [
        &["--anon-mmap"][..],
        &["--source", "anon", "--prot", "r", "--same-src"],
        &["--host-src", "--prot", "r"],
        &["--shared", "--prot", "rw"],
        &["--list", "regular", "--one-alloc"],
        &["--engine", "copy"],
        &["--cold"],
    ] {
        let run = bench.run(&modules, words);
        let result = run.result();
        assert_eq!((&result.error, run.phases().len()), (&None, 5), "{words:?}: {}", run.stderr);
        assert_eq!((result.copies.requested, result.copies.done), (12, 12), "{words:?}");
        let one = words.contains(&"--one-alloc");
        assert_eq!(result.copies.allocations, if one { 1 } else { 12 }, "{words:?}");
    }
    let run = bench.run(&modules, &["--no-copy"]);
    let copies = &run.result().copies;
    assert_eq!((copies.requested, copies.done, copies.allocations), (0, 0, 12));
    let run = bench.run(&modules, &["--skip-upload"]);
    assert_eq!((run.result().copies.allocations, run.phases()), (0, SHORT.to_vec()));
    let run = bench.run(&modules, &["--repeat", "2", "--one-alloc", "--guard", "2MiB", "--ballast", "1GiB"]);
    assert_eq!((run.result().copies.done, run.result().error.clone()), (24, None));
    let disturbed = run.result().guard_disturbed.unwrap();
    assert!(
        run.stdout.contains(&format!("  guards: {disturbed} of 1048576 words disturbed")),
        "{}",
        run.stdout
    );
}

#[test]
fn a_late_module_is_created_after_the_copies() {
    let bench = Bench::new();
    let modules = bench.build(&variant(3, 64));
    let late = bench.build(&variant(2, 16));
    let late = late[0].to_string_lossy();
    let words = ["--same-src", "--one-alloc", "--late-module", &late, "--late-block-entries", "16"];
    let run = bench.run(&modules, &words);
    let result = run.result();
    assert_eq!(result.error, None, "{}", run.stderr);
    assert_eq!((result.modules, result.copies.done), (2, 24));
    let checks: Vec<_> = result.checks.iter().map(|check| (check.phase, check.module.as_str())).collect();
    let expected = [
        (Phase::Before, "module"),
        (Phase::After, "module"),
        (Phase::LateModule, "late-module"),
        (Phase::AfterAgain, "module"),
        (Phase::AfterAgain, "late-module"),
    ];
    assert_eq!(checks, expected);
}

#[test]
fn split_modules_and_spirv_load() {
    let bench = Bench::new();
    let split = bench.build(&Variant { split: Split::PerKernel, ..variant(2, 16) });
    let run = bench.run(&split, &["--block-entries", "16", "--kernel", "priv1"]);
    assert_eq!((run.result().modules, run.result().error.clone()), (3, None), "{}", run.stderr);
    assert_eq!(run.result().kernel.name, "priv1");
    let spirv = bench.build(&Variant { format: ModuleFormat::Spirv, ..variant(1, 16) });
    let run = bench.run(&spirv, &["--block-entries", "16"]);
    let block = repro_matrix::build::source::block_bytes(16);
    assert_eq!(run.result().error, None, "{}", run.stderr);
    assert_eq!(u64::from(run.result().kernel.private_mem_size), 16 * block, "compiled by the driver");
}

#[test]
fn driver_errors_are_in_the_result() {
    let bench = Bench::new();
    let modules = bench.build(&variant(1, 16));
    let run = bench.run(&modules, &["--block-entries", "16", "--kernel", "priv7"]);
    let error = run.result().error.clone().unwrap();
    assert_eq!((run.code, error.call.as_str()), (Some(4), "zeKernelCreate"));
    assert!(error.name.contains("priv7"), "{error:?}");

    let garbage = bench.dir.path().join("garbage.bin");
    std::fs::write(&garbage, [0x55; 4096]).unwrap();
    let run = bench.run(&[garbage], &[]);
    let error = run.result().error.clone().unwrap();
    assert_eq!((run.code, error.call.as_str()), (Some(4), "zeModuleCreate"));
    assert_ne!(error.code, 0);
}

#[test]
fn without_a_loader_the_result_says_so() {
    let run = run(bare(&["--module", "none.bin", "--source", "none", "--loader", "/nonexistent/libze.so"]));
    let error = run.result().error.clone().unwrap();
    assert_eq!((run.code, error.call.as_str(), error.phase), (Some(3), "dlopen", Phase::SetUp));
    assert!(error.name.contains("/nonexistent/libze.so"), "{error:?}");
    assert!(run.result().checks.is_empty());
}

#[test]
fn inputs_and_usage_have_codes_of_their_own() {
    let run_ = run(bare(&["--module", "m.bin", "--file", "/no/such/file"]));
    let error = run_.result().error.clone().unwrap();
    assert_eq!((run_.code, error.call.as_str()), (Some(5), "source"));
    assert!(error.name.contains("/no/such/file"));
    let run_ = run(bare(&["--module", "m.bin", "--kernel", "nopriv"]));
    assert_eq!((run_.code, run_.result().error.is_some()), (Some(2), true));
    let run_ = run(bare(&["--module", "m.bin", "--chunk", "many"]));
    assert_eq!((run_.code, run_.result.is_none()), (Some(2), true), "clap's own");

    let mut command = bare(&["--module", "m.bin"]);
    command.env(RESULT_FD_ENV, "777");
    assert_eq!(
        command.output().unwrap().status.code(),
        Some(2),
        "a descriptor that is not there is no silence"
    );
}

#[test]
fn sigterm_still_gives_a_result() {
    let bench = Bench::new();
    let modules = bench.build(&variant(1, 16));
    let mut args: Vec<OsString> = vec!["--module".into(), modules[0].clone().into()];
    args.extend(
        ["--block-entries", "16", "--copies", "4000000", "--chunk", "1MiB", "--same-src"].map(OsString::from),
    );
    args.extend(["--one-alloc", "--file"].map(OsString::from));
    args.push(bench.source.clone().into());
    let (read, write) = result_pipe();
    let mut command = simulated(&bench.tree, &args);
    command.env(RESULT_FD_ENV, write.as_raw_fd().to_string()).stdin(Stdio::null());
    let log = bench.dir.path().join("stdout");
    command.stdout(std::fs::File::create(&log).unwrap()).stderr(Stdio::null());
    let child = command.spawn().unwrap();
    drop(write);
    let start = Instant::now();
    let marker = format!("{PHASE_MARKER}copies");
    while !std::fs::read_to_string(&log).unwrap().contains(&marker) {
        assert!(start.elapsed() < Duration::from_secs(60), "the copies never began");
        std::thread::sleep(Duration::from_millis(20));
    }
    std::thread::sleep(Duration::from_millis(200));
    // The reproducer is a descendant of the simulator's command.
    let target = descendant(child.id()).expect("the reproducer runs");
    let pid = nix::unistd::Pid::from_raw(i32::try_from(target).unwrap());
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGTERM).unwrap();
    let run = finish(child, read);
    let error = run.result().error.clone().unwrap();
    assert_eq!((error.name.as_str(), error.phase), ("terminated", Phase::Copies));
    assert!(run.result().copies.done > 0 && run.result().copies.done < 4_000_000);
    assert_eq!(run.result().checks.len(), 1);
}

#[test]
fn several_clients_share_one_device_and_leave_it_clean() {
    use xe_sim::trace::{Event, Record};
    let bench = Bench::new();
    let modules = bench.build(&variant(3, 64));
    let mut args: Vec<OsString> = vec!["level-zero".into(), "--module".into(), modules[0].clone().into()];
    args.extend(["--chunk", "11MiB", "--same-src", "--one-alloc", "--file"].map(OsString::from));
    args.push(bench.source.clone().into());
    let launch = bench.tree.launch(Path::new(env!("CARGO_BIN_EXE_repro-matrix")), &args);
    // Two go to their end while a third is in the middle of its copies, and is killed there.
    let script = format!(
        r#"{RESULT_FD_ENV}=$0 "$@" --copies 1000000 & third=$!
        {RESULT_FD_ENV}=$A "$@" --copies 12 & first=$!
        {RESULT_FD_ENV}=$B "$@" --copies 12 & second=$!
        wait $first; wait $second
        kill -KILL $third; wait $third"#
    );
    let trace = bench.dir.path().join("trace");
    let pipes = [(); 3].map(|()| result_pipe());
    let number = |i: usize| pipes[i].1.as_raw_fd().to_string();
    let mut command = Command::new(env!("CARGO_BIN_EXE_repro-matrix"));
    command.args(["sim", "--quiet", "--device", "a770", "--trace"]).arg(&trace);
    command.args(["--", "/bin/sh", "-c", &script, &number(0)]).args(launch.argv).envs(launch.env);
    command.env("A", number(1)).env("B", number(2)).env("NEO_CACHE_PERSISTENT", "0");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let status = command.status().unwrap();
    let results = pipes.map(|(read, write)| {
        drop(write);
        let mut text = String::new();
        std::fs::File::from(read).read_to_string(&mut text).unwrap();
        text
    });
    assert_eq!(status.code(), Some(128 + 9), "the shell's last wait is for the killed one");
    assert_eq!(results[0], "", "killed before its end");
    for text in &results[1..] {
        let result: ReproResult = serde_json::from_str(text).unwrap();
        assert_eq!((result.error, result.copies.done), (None, 12));
    }
    let text = std::fs::read_to_string(&trace).unwrap();
    let records: Vec<Record> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let mut processes = std::collections::BTreeSet::new();
    let (mut open, mut objects) = (std::collections::BTreeSet::new(), 0);
    for record in &records {
        match &record.event {
            Event::Open { file, process } => {
                processes.insert(*process);
                open.insert(*file);
            }
            Event::Close { file } => assert!(open.remove(file), "file {file} is closed once"),
            Event::GemCreate { .. } => objects += 1,
            _ => {}
        }
    }
    assert_eq!(processes.len(), 3);
    assert!(open.is_empty() && objects > 100, "left open: {open:?}, objects: {objects}");
    let Some(Event::Summary(last)) = records.last().map(|r| &r.event) else { panic!("no summary") };
    assert_eq!((last.exit_code, last.lost_events), (Some(137), 0));
    assert_eq!(last.unsupported_ioctls.len(), 0, "{:?}", last.unsupported_ioctls);
}

/// The youngest descendant of `root` that has the driver's loader mapped.
fn descendant(root: u32) -> Option<u32> {
    let mut last = None;
    let mut queue = vec![root];
    while let Some(pid) = queue.pop() {
        let maps = std::fs::read_to_string(format!("/proc/{pid}/maps")).unwrap_or_default();
        if maps.contains("libze_loader.so") {
            last = Some(pid);
        }
        for task in std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten() {
            let children = std::fs::read_to_string(task.path().join("children")).unwrap_or_default();
            queue.extend(children.split_whitespace().filter_map(|child| child.parse::<u32>().ok()));
        }
    }
    last
}
