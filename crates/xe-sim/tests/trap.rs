//! The trap layer from outside: this test binary runs itself as client of a simulated device.
//!
//! Nothing is skipped: a machine whose sandbox refuses a seccomp listener fails these tests and says so.

mod trap_support;

use std::ffi::OsString;
use std::os::unix::process::CommandExt as _;
use std::time::{Duration, Instant};

use trap_support::{DONE, ROLE, alone, argv, clients, env, options, play, simulate};
use xe_sim::trace::Event;
use xe_sim::trap::{SimCommand, SimError};

/// Not a test: what the re-executed binary runs.
#[test]
#[ignore = "played inside the device by the other tests"]
fn client() {
    let role = std::env::var(ROLE).unwrap_or_default();
    let played = clients::play(&role);
    std::process::exit(if played { DONE } else { 99 });
}

#[test]
fn host_supports_simulation() {
    let _alone = alone();
    let support = xe_sim::trap::probe_host();
    assert_eq!(support.usable(), Ok(()), "{support:?}");
    // The kernel's own word for it is its version: 5.19 brought these waits.
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
    let mut numbers = release.split(['.', '-']).map_while(|n| n.parse::<u32>().ok());
    let version = (numbers.next().unwrap(), numbers.next().unwrap());
    assert_eq!(support.killable_waits, version >= (5, 19), "{release}");
}

#[test]
fn driver_name_is_xe() {
    let run = play("version");
    assert_eq!(run.outcome.summary.ioctls.get("VERSION"), Some(&2), "{:?}", run.outcome.summary.ioctls);
}

#[test]
fn opens_are_apart_and_duplicates_share() {
    let run = play("identity");
    let opens = run.trace.iter().filter(|r| matches!(r.event, Event::Open { .. })).count();
    let closes = run.trace.iter().filter(|r| matches!(r.event, Event::Close { .. })).count();
    assert_eq!((opens, closes), (3, 3));
}

#[test]
fn device_files_look_like_a_card() {
    play("files");
}

#[test]
fn other_descriptors_are_left_alone() {
    play("other_descriptors");
}

#[test]
fn bad_pointers_give_efault() {
    play("bad_pointers");
}

#[test]
fn eight_threads_are_served() {
    let run = play("threads");
    assert_eq!(run.outcome.summary.ioctls.get("VERSION"), Some(&8000));
}

#[test]
fn fork_and_exec_keep_the_file() {
    play("fork_and_exec");
}

#[test]
fn file_in_a_socket_stays_open() {
    play("socket");
}

#[test]
fn killed_clients_leave_the_device_working() {
    let run = play("killed_children");
    let count = |want: fn(&Event) -> bool| run.trace.iter().filter(|r| want(&r.event)).count();
    let opens = count(|e| matches!(e, Event::Open { .. }));
    assert!((1..=21).contains(&opens), "{opens}");
    assert_eq!(count(|e| matches!(e, Event::Close { .. })), opens);
}

#[test]
fn user_memory_follows_the_kernel_rule() {
    play("user_memory");
}

#[test]
fn objects_are_shared_memory() {
    play("mapping");
}

#[test]
fn memory_of_a_closed_object_is_kept_while_mapped() {
    play("closed_mapping");
}

#[test]
fn large_objects_come_back_as_zeros() {
    play("large_objects");
}

#[test]
fn fault_rule_tells_files_from_other_memory() {
    let run = play("file_fault");
    assert_eq!(run.outcome.summary.injected.get("vm_bind:ENOMEM@userptr-file"), Some(&1));
}

#[test]
fn device_memory_cannot_be_truncated() {
    play("truncation");
}

#[test]
fn listing_the_device_files_gives_no_complaint() {
    play("listing");
}

#[test]
fn close_is_noticed_without_further_calls() {
    let run = play("close_quietly");
    let open = run.time_of(|e| matches!(e, Event::Open { .. })).unwrap();
    let close = run.time_of(|e| matches!(e, Event::Close { .. })).unwrap();
    assert!(close - open < 1_200_000_000, "{} ms", (close - open) / 1_000_000);
}

#[test]
fn mapping_keeps_the_file_open() {
    let run = play("close_mapped");
    let open = run.time_of(|e| matches!(e, Event::Open { .. })).unwrap();
    let close = run.time_of(|e| matches!(e, Event::Close { .. })).unwrap();
    let end = run.time_of(|e| matches!(e, Event::Summary(_))).unwrap();
    assert!(close - open >= 800_000_000, "closed {} ms after the open", (close - open) / 1_000_000);
    assert!(end - close > 100_000_000, "closed only at the end");
}

#[test]
fn waits_end_by_value_and_by_time() {
    play("waits");
}

#[test]
fn wait_is_interrupted_by_a_signal() {
    play("interrupted_wait");
}

#[test]
fn client_starts_with_ordinary_signals() {
    play("signals_at_start");
}

#[test]
fn exit_status_is_the_clients() {
    let _alone = alone();
    let exit = simulate(argv(), "exit_7").outcome.exit;
    assert_eq!((exit.code, exit.signal), (Some(7), None));
    let run = simulate(argv(), "killed");
    assert_eq!((run.outcome.exit.code, run.outcome.exit.signal), (None, Some(libc::SIGKILL)));
    let Some(Event::Summary(last)) = run.trace.last().map(|r| &r.event) else { panic!("no summary") };
    assert_eq!(last.signal, Some(libc::SIGKILL));
    // And the guard of all these tests: a role that does not exist is not a success.
    assert_eq!(simulate(argv(), "no such role").outcome.exit.code, Some(99));
}

#[test]
fn sigterm_is_passed_on() {
    play("terminated_by_supervisor");
}

#[test]
fn child_left_behind_does_not_hold_the_device_for_long() {
    let began = Instant::now();
    let run = play("leaves_child");
    let took = began.elapsed();
    assert!((2..8).contains(&took.as_secs()), "{took:?}");
    assert_eq!(run.outcome.exit.code, Some(DONE));
}

#[test]
fn foreign_calls_are_refused() {
    play("foreign_abi");
}

#[test]
fn command_that_cannot_run_is_an_error() {
    let _alone = alone();
    let dir = tempfile::tempdir().unwrap();
    let run = |argv: &[&str]| {
        let argv = argv.iter().map(OsString::from).collect();
        let command = SimCommand { argv, env: None };
        xe_sim::trap::run(&command, options(dir.path(), &dir.path().join("trace"))).unwrap_err()
    };
    for (command, want) in
        [("/no/such/program", libc::ENOENT), ("no-such-program", libc::ENOENT), ("/etc/passwd", libc::EACCES)]
    {
        match run(&[command]) {
            SimError::CannotExecute { error, .. } => {
                assert_eq!(error.raw_os_error(), Some(want), "{command}")
            }
            other => panic!("{command}: {other:?}"),
        }
    }
    assert!(matches!(run(&[]), SimError::EmptyCommand));
    assert!(matches!(run(&["a\0b"]), SimError::NulInCommand | SimError::CannotExecute { .. }));
    let left: Vec<_> = std::fs::read_dir(dir.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(left, ["trace"], "no private tree is left");
}

#[test]
fn tree_of_a_killed_run_is_swept() {
    let _alone = alone();
    let dir = tempfile::tempdir().unwrap();
    let stale = dir.path().join("xe-sim-stale1");
    std::fs::create_dir_all(stale.join("sys")).unwrap();
    std::fs::write(stale.join(".lock"), "").unwrap();
    let command = SimCommand { argv: vec!["/bin/true".into()], env: None };
    let trace = dir.path().join("trace");
    xe_sim::trap::run(&command, options(dir.path(), &trace)).unwrap();
    assert!(!stale.exists());
}

#[test]
fn supervisor_death_kills_the_client() {
    let _alone = alone();
    // A supervisor in a process of its own, which is killed: its client must not go on without a device.
    let mut supervisor = std::process::Command::new(std::env::current_exe().unwrap());
    supervisor.args(["--exact", "supervisor", "--ignored", "--nocapture"]).process_group(0);
    let mut supervisor = supervisor.stdout(std::process::Stdio::piped()).spawn().unwrap();
    let mut lines = std::io::BufReader::new(supervisor.stdout.take().unwrap());
    let mut client = None;
    let mut line = String::new();
    use std::io::BufRead as _;
    while client.is_none() && lines.read_line(&mut line).unwrap() > 0 {
        client = line.trim().strip_prefix("client ").and_then(|pid| pid.parse::<u32>().ok());
        line.clear();
    }
    let client = client.expect("the client says its number");
    supervisor.kill().unwrap();
    supervisor.wait().unwrap();
    let began = Instant::now();
    let alive = || {
        let stat = std::fs::read_to_string(format!("/proc/{client}/stat")).unwrap_or_default();
        // A zombie that init has not reaped yet is dead.
        !stat.is_empty() && !stat.contains(") Z ")
    };
    while alive() {
        assert!(began.elapsed() < Duration::from_secs(5), "the client lives on");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Not a test: the supervisor that `supervisor_death_kills_the_client` kills.
#[test]
#[ignore = "run by supervisor_death_kills_the_client"]
fn supervisor() {
    let dir = tempfile::tempdir().unwrap();
    let script = "echo client $$; while :; do sleep 1; done";
    let argv = ["/bin/sh", "-c", script].iter().map(OsString::from).collect();
    let _ =
        xe_sim::trap::run(&SimCommand { argv, env: None }, options(dir.path(), &dir.path().join("trace")));
}

#[test]
fn strace_works_on_top() {
    let _alone = alone();
    let dir = tempfile::tempdir().unwrap();
    let log = dir.path().join("strace");
    let mut command: Vec<OsString> =
        ["strace", "-f", "-qq", "-e", "trace=ioctl", "-o"].map(OsString::from).into();
    command.push(log.clone().into_os_string());
    command.extend(argv());
    let run = simulate(command, "many_versions");
    assert_eq!(run.outcome.exit.code, Some(DONE), "strace is needed for this test");
    assert_eq!(run.outcome.summary.ioctls.get("VERSION"), Some(&500));
    let text = std::fs::read_to_string(log).unwrap();
    let seen = text.lines().filter(|l| l.contains("DRM_IOCTL_VERSION") && l.contains("= 0")).count();
    assert_eq!(seen, 500);
    let _ = env;
}
