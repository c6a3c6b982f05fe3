//! Any bytes → the kernel's log, with and without a window: a window never adds a record.

#![no_main]

use libfuzzer_sys::fuzz_target;
use repro_matrix::logs::kmsg::{self, Options, Span};

fuzz_target!(|bytes: &[u8]| {
    let all = kmsg::parse(bytes, &Options::default());
    let span = Some(Span { from: 1 << 30, until: 1 << 42 });
    let options = Options { monotonic: span, wall: span, utc_offset: 3600, device: Some("0000:c3:00.0".into()) };
    assert!(kmsg::parse(bytes, &options).entries <= all.entries);
});
