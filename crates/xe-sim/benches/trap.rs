//! What a trapped request costs: `cargo bench -p xe-sim --bench trap`.
//!
//! Prints the round trip of DRM_IOCTL_VERSION on the device (median and 99th percentile) beside the same client's
//! untrapped ioctl, the same two under `strace -f -c`, and what a driver does 942 times when a user pointer is refused:
//! an object of 11 MiB is made, mapped, filled from a read-only file mapping and closed. Beside it the same bytes copied
//! by a bare loop into fresh mappings of recycled memfd pages.
//!
//! Limits: the trapped median is at most 15 µs, the copies take at most 1.5 times as long as the bare loop; the exit status says so.

use std::ffi::OsString;
use std::os::fd::AsRawFd;
use std::sync::atomic::AtomicU32;
use std::time::{Duration, Instant};

use xe_sim::trap::{SimCommand, SimOptions};

#[path = "../tests/trap_support/drm.rs"]
#[allow(dead_code)]
mod drm;
#[path = "../tests/trap_support/sys.rs"]
#[allow(dead_code)]
mod sys;

pub static SIGNALS: AtomicU32 = AtomicU32::new(0);

const ROUNDS: usize = 100_000;
const LIMIT: Duration = Duration::from_micros(15);
const COPY_LIMIT: f64 = 1.5;
const ROLE: &str = "XE_SIM_BENCH_CLIENT";
const COPIES: usize = 942;
const COPY_BYTES: usize = 11 << 20;
const LARGE_PAGE: usize = 2 << 20;
const ANON: i32 = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;

fn main() -> std::process::ExitCode {
    match std::env::var(ROLE).as_deref() {
        Ok("trapped") => return client(|fd| drop(drm::version(fd).unwrap()), drm::open().as_raw_fd()),
        Ok("copies") => return copies(),
        Ok(_) => {
            let (pipe, _end) = std::io::pipe().unwrap();
            let ask = |fd| {
                let mut waiting = 0i32;
                sys::ioctl(fd, libc::FIONREAD as u32, (&raw mut waiting).cast()).unwrap();
            };
            return client(ask, pipe.as_raw_fd());
        }
        Err(_) => {}
    }
    let rounds = ROUNDS.to_string();
    println!("ioctl round trip, {rounds} calls      median        p99");
    let trapped = measure("on the device", "trapped", true, false);
    measure("no filter", "plain", false, false);
    measure("under the filter, not trapped", "plain", true, false);
    measure("on the device, strace -f -c", "trapped", true, true);
    measure("no filter, strace -f -c", "plain", false, true);
    let floor = copy_floor();
    println!("{COPIES} copies of 11 MiB                mean       slowest");
    println!("  {:32} {:8.2} µs", "bare loop", micros(floor) / COPIES as f64);
    let copies = measure("into objects of the device", "copies", true, false);
    let ratio = copies.map(|mean| (mean * COPIES as u32).as_secs_f64() / floor.as_secs_f64());
    let fast = trapped.is_some_and(|median| median <= LIMIT);
    println!("trapped median at most {LIMIT:?}: {}", if fast { "yes" } else { "NO" });
    let near = ratio.is_some_and(|ratio| ratio <= COPY_LIMIT);
    println!(
        "copies at most {COPY_LIMIT} × the bare loop: {}  (ratio {:.2})",
        if near { "yes" } else { "NO" },
        ratio.unwrap_or(f64::NAN)
    );
    if fast && near { std::process::ExitCode::SUCCESS } else { std::process::ExitCode::FAILURE }
}

/// Times single calls and prints the two figures in ns.
fn client(call: impl Fn(i32), fd: i32) -> std::process::ExitCode {
    let path = std::env::var_os("XE_SIM_BENCH_RESULT").unwrap();
    // Under strace each call costs a hundred times more.
    let rounds = if std::env::var_os("XE_SIM_BENCH_SLOW").is_some() { ROUNDS / 20 } else { ROUNDS };
    let mut times: Vec<u64> = Vec::with_capacity(rounds);
    for _ in 0..rounds {
        let began = Instant::now();
        call(fd);
        times.push(began.elapsed().as_nanos() as u64);
    }
    times.sort_unstable();
    let at = |part: f64| times[((rounds - 1) as f64 * part) as usize];
    std::fs::write(path, format!("{} {}", at(0.5), at(0.99))).unwrap();
    std::process::ExitCode::SUCCESS
}

/// Copies as a driver does whose user pointer was refused; writes mean and slowest in ns.
fn copies() -> std::process::ExitCode {
    let source = source();
    let fd = drm::open();
    let mut times: Vec<u64> = Vec::with_capacity(COPIES);
    for _ in 0..COPIES {
        let began = Instant::now();
        let handle = drm::create(&fd, COPY_BYTES as u64).unwrap();
        let room = sys::map(COPY_BYTES + LARGE_PAGE, libc::PROT_NONE, ANON, -1, 0);
        let to = room.map_addr(|at| at.next_multiple_of(LARGE_PAGE));
        drm::map_at(&fd, handle, to, COPY_BYTES);
        sys::copy(source, to, COPY_BYTES);
        sys::unmap(room, COPY_BYTES + LARGE_PAGE);
        drm::close(&fd, handle).unwrap();
        times.push(began.elapsed().as_nanos() as u64);
    }
    let mean = times.iter().sum::<u64>() / COPIES as u64;
    let slowest = times.iter().max().unwrap();
    std::fs::write(std::env::var_os("XE_SIM_BENCH_RESULT").unwrap(), format!("{mean} {slowest}")).unwrap();
    std::process::ExitCode::SUCCESS
}

fn measure(name: &str, role: &str, simulated: bool, strace: bool) -> Option<Duration> {
    let dir = tempfile::tempdir().unwrap();
    let result = dir.path().join("result");
    let mut argv: Vec<OsString> = Vec::new();
    if strace {
        argv.extend(["strace", "-f", "-c", "-e", "trace=ioctl", "-o", "/dev/null"].map(OsString::from));
    }
    argv.push(std::env::current_exe().unwrap().into_os_string());
    let mut env: Vec<(OsString, OsString)> = std::env::vars_os().collect();
    env.push((ROLE.into(), role.into()));
    env.push(("XE_SIM_BENCH_RESULT".into(), result.clone().into_os_string()));
    if strace {
        env.push(("XE_SIM_BENCH_SLOW".into(), "1".into()));
    }
    let code = if simulated {
        let profile = xe_sim::profile::by_name("a770").unwrap();
        let options = SimOptions { profile, trace: None, faults: Vec::new(), private_root: None };
        let outcome = xe_sim::trap::run(&SimCommand { argv, env: Some(env) }, options);
        outcome.map_err(|e| e.to_string()).map(|o| o.exit.code)
    } else {
        let status = std::process::Command::new(&argv[0]).args(&argv[1..]).envs(env).status();
        status.map_err(|e| e.to_string()).map(|s| s.code())
    };
    let text = std::fs::read_to_string(result).unwrap_or_default();
    let mut figures = text.split(' ').filter_map(|n| n.parse().ok()).map(Duration::from_nanos);
    match (code, figures.next(), figures.next()) {
        (Ok(Some(0)), Some(median), Some(p99)) => {
            println!("  {name:32} {:8.2} µs {:8.2} µs", micros(median), micros(p99));
            Some(median)
        }
        (code, ..) => {
            println!("  {name:32} not measured: {code:?}");
            None
        }
    }
}

fn micros(d: Duration) -> f64 {
    d.as_nanos() as f64 / 1000.0
}

/// A read-only mapping of a file in the page cache.
fn source() -> *mut u8 {
    let file = tempfile::tempfile().unwrap();
    std::io::Write::write_all(&mut &file, &vec![1u8; 2 * COPY_BYTES]).unwrap();
    sys::map(2 * COPY_BYTES, libc::PROT_READ, libc::MAP_PRIVATE, file.as_raw_fd(), 0)
}

/// The least that copying the 942-copy arm's bytes takes on this machine.
fn copy_floor() -> Duration {
    let source = source();
    let memfd = nix::sys::memfd::memfd_create(c"floor", nix::sys::memfd::MFdFlags::empty()).unwrap();
    nix::unistd::ftruncate(&memfd, 4 * COPY_BYTES as i64).unwrap();
    let copy = |n: usize| {
        let at = (n % 4 * COPY_BYTES) as u64;
        let prot = libc::PROT_READ | libc::PROT_WRITE;
        let to = sys::map(COPY_BYTES, prot, libc::MAP_SHARED, memfd.as_raw_fd(), at);
        sys::copy(source, to, COPY_BYTES);
        sys::unmap(to, COPY_BYTES);
    };
    // The pages are recycled ones from here on.
    (0..4).for_each(copy);
    let began = Instant::now();
    (0..COPIES).for_each(copy);
    began.elapsed()
}
