//! Any bytes → the driver's log, as one file and as two streams: no panic, and no line lost.

#![no_main]

use libfuzzer_sys::fuzz_target;
use repro_matrix::logs::neo::{self, Stream};
use repro_matrix::observe::neo_log::{self, Timed};

fuzz_target!(|bytes: &[u8]| {
    let lines = bytes.split_inclusive(|&b| b == b'\n').count() as u64;
    assert_eq!(neo::parse(bytes, Stream::Mixed).lines, lines);
    let (out, err) = bytes.split_at(bytes.len() / 2);
    let marks = [(0, 1), (out.len() as u64 / 2, 3)];
    neo_log::facts(Timed { bytes: out, marks: &marks }, Timed { bytes: err, marks: &[(0, 2)] });
    neo_log::facts(Timed { bytes: out, marks: &[] }, Timed { bytes: err, marks: &[] });
});
