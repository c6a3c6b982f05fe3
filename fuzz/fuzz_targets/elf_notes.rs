//! Any bytes → ELF notes: no panic, and no note longer than its section.

#![no_main]

use libfuzzer_sys::fuzz_target;
use repro_matrix::inspect::{notes, product_config};

fuzz_target!(|bytes: &[u8]| {
    if let Ok(notes) = notes(bytes) {
        assert!(notes.iter().all(|note| note.data.len() + note.owner.len() <= bytes.len()));
    }
    let _ = product_config(bytes);
});
