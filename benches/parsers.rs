//! Speed of the log parsers, beside a bare count of lines in the same bytes and the same run.
//! `cargo bench --bench parsers`. The limit is 200 MB/s for each log; the exit code says whether it holds.

use std::hint::black_box;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use repro_matrix::logs::kmsg::{self, Options};
use repro_matrix::logs::neo::{self, Stream};
use repro_matrix::logs::strace;
use repro_matrix::observe::sim;

const SIZE: usize = 64 << 20;
const ROUNDS: usize = 5;
const LIMIT: f64 = 200.0;

fn main() -> ExitCode {
    let mut slow = false;
    println!("{:<34} {:>9} {:>12} {:>7}", "log", "MB/s", "count lines", "ratio");
    let mut row = |name: &str, log: Vec<u8>, parse: &dyn Fn(&[u8]) -> u64| {
        let count = |log: &[u8]| memchr::memchr_iter(b'\n', log).count() as u64;
        let (speed, bare) = (fastest(&log, parse), fastest(&log, &count));
        let verdict = if speed < LIMIT { "  below the limit" } else { "" };
        slow |= speed < LIMIT;
        println!("{name:<34} {speed:>9.0} {bare:>12.0} {:>7.4}{verdict}", speed / bare);
    };
    let neo = |log: &[u8]| neo::parse(log, Stream::Mixed).lines;
    row("neo: binds and failures", binds(), &neo);
    row("neo: a mix of all messages", corpus("-neo-"), &neo);
    row("neo: text of the program", program(), &neo);
    row("strace: full trace", requests(), &|log| strace::parse(log).lines);
    row("kmsg: xe among other drivers", kernel(), &|log| kmsg::parse(log, &Options::default()).entries);
    row("sim: trace, binds only", trace(false), &|log| {
        sim::facts(log, Default::default()).map_or(0, |f| f.not_understood)
    });
    row("sim: trace, mostly copies", trace(true), &|log| {
        sim::facts(log, Default::default()).map_or(0, |f| f.not_understood)
    });
    if slow { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

/// MB/s of the fastest round.
fn fastest(log: &[u8], parse: &dyn Fn(&[u8]) -> u64) -> f64 {
    let rounds = (0..ROUNDS).map(|_| {
        let begun = Instant::now();
        black_box(parse(black_box(log)));
        begun.elapsed()
    });
    let best = rounds.min().unwrap_or(Duration::MAX);
    log.len() as f64 / 1e6 / best.as_secs_f64()
}

/// Lines until the log is large enough.
fn filled(mut line: impl FnMut(u64) -> String) -> Vec<u8> {
    let mut log = Vec::with_capacity(SIZE + 4096);
    let mut i = 0;
    while log.len() < SIZE {
        log.extend_from_slice(line(i).as_bytes());
        i += 1;
    }
    log
}

/// What a run with PrintBOBindingResult prints: ranges come back, some binds fail.
fn binds() -> Vec<u8> {
    filled(|i| {
        let start = 0xffff_8001_0000_0000 + (i / 2 % 5000) * 0xb0_0000;
        let end = start + 0xb0_0000;
        let (verb, to) = if i % 2 == 0 { ("bind", "to") } else { ("unbind", "from") };
        let result = if i % 14 == 0 { "-1, errno: 1(Operation not permitted)" } else { "0" };
        format!(
            "{verb} BO-0 {to} VM 1, vmHandleId = 0, range: {start:x} - {end:x}, size: 11534336, result: {result}\n"
        )
    })
}

fn corpus(part: &str) -> Vec<u8> {
    let dir = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/corpus");
    let mut logs = Vec::new();
    let files = std::fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path());
    for path in files.filter(|p| p.extension().is_some_and(|e| e == "log")) {
        if path.to_string_lossy().contains(part) {
            let text = std::fs::read(&path).unwrap_or_default();
            logs.extend(text.split_inclusive(|&b| b == b'\n').skip(1).flatten().copied());
        }
    }
    assert!(!logs.is_empty(), "the corpus is there");
    logs.repeat(SIZE / logs.len())
}

fn program() -> Vec<u8> {
    filled(|i| {
        format!(
            "step {i}: loss 0.{:06} tokens/s 1234.5 (nothing of the driver's here)\n",
            i * 7919 % 1_000_000
        )
    })
}

fn requests() -> Vec<u8> {
    filled(|i| match i % 4 {
        0 => format!(
            "[pid {}] ioctl(3, _IOC(_IOC_WRITE, 0x64, 0x45, 0x88), 0x7ffe11a02a40) = 0\n",
            100 + i % 3
        ),
        1 => "ioctl(3, DRM_IOCTL_ETNAVIV_PM_QUERY_DOM, 0x7ffe11a02a40) = 0\n".to_owned(),
        2 => {
            "ioctl(3, DRM_IOCTL_XE_VM_BIND, 0x7ffe11a02a40) = -1 EPERM (Operation not permitted)\n".to_owned()
        }
        _ => "mmap(NULL, 16384, PROT_READ|PROT_WRITE, MAP_SHARED, 11, 0x103400000) = 0x7f0000000000\n"
            .to_owned(),
    })
}

fn kernel() -> Vec<u8> {
    filled(|i| {
        let (s, us) = (i / 1000, i % 1000 * 1000);
        if i % 20 == 0 {
            format!(
                "[{s:5}.{us:06}] xe 0000:c3:00.0: [drm] Tile0: GT0: Engine memory CAT error [18]: class=ccs, logical_mask: 0x1, guc_id=11\n"
            )
        } else {
            format!("[{s:5}.{us:06}] usb 1-2: new high-speed USB device number {} using xhci_hcd\n", i % 100)
        }
    })
}

fn trace(copies: bool) -> Vec<u8> {
    let start = r#""ev":"start","version":1,"device":"d","profile":"p","executes_kernels":false,"faults":[]"#;
    let copy = r#""ev":"copy","file":1,"queue":1,"vm":1,"command":"XY_BLOCK_COPY_BLT","bytes":65536,"src":140742588628992,"dst":234565343903744"#;
    filled(|i| {
        let bind = |op| {
            let addr = 0x8001_0000_0000 + i / 2 % 5000 * 0xb0_0000;
            format!(
                r#""ev":"bind","file":1,"vm":1,"op":"{op}","addr":{addr},"range":11534336,"bo":7,"offset":0,"flags":2,"errno":0"#
            )
        };
        let event = match i {
            0 => start.to_owned(),
            _ if copies && i % 50 != 0 => copy.to_owned(),
            _ if i % 2 == 0 => bind("map"),
            _ => bind("unmap"),
        };
        format!("{{\"seq\":{},\"t\":{},{event}}}\n", i + 1, 1_000_000 + i)
    })
}
