//! Input that nobody should get a wrong answer from: arbitrary bytes, torn lines, floods.

use std::time::{Duration, Instant};

use proptest::prelude::*;
use repro_matrix::logs::kmsg::{self, Span};
use repro_matrix::logs::lines::MAX_LINE;
use repro_matrix::logs::neo::{self, Stream};
use repro_matrix::logs::{runtime, strace};
use repro_matrix::observe::neo_log::{self, Timed};
use repro_matrix::observe::sim;

const BIND: &str = "bind BO-1 to VM 1, vmHandleId = 0, range: 1000 - 2000, size: 4096, result: 0";

fn all(bytes: &[u8]) {
    let options = kmsg::Options {
        monotonic: Some(Span { from: 1, until: 1 << 40 }),
        wall: Some(Span { from: 1, until: u64::MAX }),
        utc_offset: -3600,
        device: Some("0000:c3:00.0".to_owned()),
    };
    let (head, tail) = bytes.split_at(bytes.len() / 2);
    let marks = [(0, 5), (bytes.len() as u64 / 4, 3), (7, u64::MAX)];
    neo_log::facts(Timed { bytes: head, marks: &marks }, Timed { bytes: tail, marks: &marks });
    neo::parse(bytes, Stream::Mixed);
    strace::parse(bytes);
    kmsg::parse(bytes, &options);
    runtime::parse(bytes);
    _ = sim::facts(bytes, sim::Known::default());
}

/// Pieces of real messages, so that random text gets past their first words.
fn pieces() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop::sample::select(vec![
        "bind BO-",
        "unbind BO-0 from VM ",
        ", range: ",
        " - ",
        ", size: ",
        ", result: ",
        ", errno: ",
        "ffff8005",
        "\n",
        "18446744073709551616",
        "-9223372036854775809",
        "(",
        ")",
        " vm=",
        " obj=0x",
        "Performing GEM_CREATE_EXT with {",
        "== repro-matrix phase ",
        "copies",
        "ThreadID: ",
        " Type: ",
        " GPU VA: 0x",
        "--- Ioctls statistics ---\n",
        "%",
        "ioctl(3, ",
        "_IOC(_IOC_READ, 0x64, 0x41, 0x38)",
        "<unfinished ...>",
        "<... ioctl resumed>",
        ") = -1 E",
        "[pid ",
        "------ ----- ---\n",
        "% time calls syscall\n",
        "[ 5121.400112] ",
        "xe 0000:c3:00.0: [drm] ",
        "Tile0: GT0: \n",
        "\tFaulted Address: 0x",
        "2026-02-31T25:00:00",
        "+99:99 ",
        "6,1,18446744073709551615,-;",
        "\\x0a",
        "\0",
        "\r\n",
        "Native API returns: ",
        "[level_zero:gpu]",
        "{\"seq\":1,\"t\":1,\"ev\":\"bind\"",
        "}",
        "Abort was called at ",
    ]);
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat().into_bytes())
}

proptest! {
    #[test]
    fn arbitrary_bytes(bytes in prop::collection::vec(any::<u8>(), 0..2000)) {
        all(&bytes);
    }

    #[test]
    fn arbitrary_order_of_real_pieces(bytes in pieces()) {
        all(&bytes);
    }
}

#[test]
fn a_torn_line_is_counted_and_its_neighbour_kept() {
    let torn = format!("{}{BIND}", &BIND[..30]);
    let facts = neo::parse(torn.as_bytes(), Stream::Mixed);
    assert_eq!((facts.not_understood, facts.ranges.len(), facts.ranges[0].events.len()), (1, 1, 1));
    let facts = neo::parse(b"unbind BO-1 from VM 1, vmHandle", Stream::Mixed);
    assert_eq!((facts.not_understood, facts.ranges.len()), (1, 0), "one torn line is one");
}

#[test]
fn contradicting_numbers_are_no_bind() {
    let facts = neo::parse(BIND.replace("4096", "8192").as_bytes(), Stream::Mixed);
    assert_eq!((facts.not_understood, facts.ranges.len()), (1, 0));
}

#[test]
fn numbers_beyond_64_bits_are_counted() {
    for (from, to) in [
        ("4096", "99999999999999999999"),
        ("1000 -", "11111111111111111 -"),
        ("BO-1", "BO-99999999999999999999"),
    ] {
        let facts = neo::parse(BIND.replace(from, to).as_bytes(), Stream::Mixed);
        assert_eq!((facts.not_understood, facts.ranges.len()), (1, 0), "{to}");
    }
}

#[test]
fn glued_prefixes_and_an_abort_without_its_file() {
    let log = "[PID: 1] Performing DRM_IOCTL_XE_GEM_CREATE with {vmid=0x0 size=0x1 flags=0x4 placement=0x2 caching=2 }\
               [PID: 1] DRM_IOCTL_XE_GEM_CREATE has returned: 0 BO-52 with size: 1\n\
               Abort was called at 39 line in file:\nbind BO-1 to VM 1, vmHandleId = 0, range: 1000 - 2000, size: 4096, result: 0\n\
               Abort was called at 40 line in file:";
    let facts = neo::parse(log.as_bytes(), Stream::Mixed);
    assert_eq!(facts.objects.created, 1);
    assert_eq!(facts.aborts, ["?:39", "?:40"]);
    assert_eq!((facts.ranges.len(), facts.not_understood), (1, 0));
}

#[test]
fn a_long_line_is_read_up_to_the_limit() {
    let mut log = vec![b'x'; 10 << 20];
    log.splice(5000..5000, BIND.bytes());
    log.extend_from_slice(format!("\n{BIND}\n").as_bytes());
    let facts = neo::parse(&log, Stream::Mixed);
    assert!(log.len() > MAX_LINE);
    assert_eq!((facts.long_lines, facts.lines, facts.ranges[0].events.len()), (1, 2, 2));
}

/// Lines made of many starts of messages cost no more than their length.
#[test]
fn no_line_is_quadratic() {
    let starts = [
        "bind BO-",
        "unbind BO-",
        " vm=1 obj=0x",
        "Performing DRM_IOCTL_XE_GEM_CREATE with {",
        "== repro-matrix phase ",
        "Segmentation fault from GPU at 0x",
        "[PID: 1] ",
        "IOCTL a returns 0",
        "ioctl(",
        "<unfinished ...>",
        " = ",
        "Native API returns: ",
        "[1.1]",
        "xe 0:0:0.0: GT0: ",
        "\\x0a",
        "ThreadID: 1 Type: ",
        "    ",
    ];
    for start in starts {
        let line = start.repeat((2 << 20) / start.len());
        let begun = Instant::now();
        all(line.as_bytes());
        // A quadratic search of a megabyte takes minutes.
        let took = begun.elapsed();
        assert!(took < Duration::from_secs(20), "{start:?} took {took:?}");
    }
}

/// More distinct values than any run has: memory is bounded and the loss is told.
#[test]
fn floods_are_bounded_and_told() {
    let mut log = String::new();
    for i in 0..300_000u64 {
        let (a, b) = (i << 12, (i + 1) << 12);
        log += &format!("bind BO-1 to VM 1, vmHandleId = 0, range: {a:x} - {b:x}, size: 4096, result: 0\n");
    }
    let facts = neo::parse(log.as_bytes(), Stream::Mixed);
    assert_eq!(facts.ranges.len() as u64 + facts.dropped, 300_000);
    assert!(facts.dropped > 0);

    let mut log = String::new();
    for i in 0..10_000 {
        log += &format!("ioctl(3, DRM_IOCTL_MADE_UP_{i}, 0x1) = 0\n[pid {i}] read(3 <unfinished ...>\n");
    }
    let facts = strace::parse(log.as_bytes());
    assert_eq!(facts.ioctls.len() as u64 + facts.dropped, 10_000);
    assert_eq!(facts.unfinished, 10_000);

    let line = "[ 1.0] xe 0000:c3:00.0: [drm] GT0: Engine reset: guc_id=1\n".repeat(5000);
    let facts = kmsg::parse(line.as_bytes(), &kmsg::Options::default());
    assert_eq!((facts.engine_resets, facts.lines.len() as u64 + facts.dropped), (5000, 5000));
}
