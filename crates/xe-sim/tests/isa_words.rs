//! The decoder without a driver tree: recorded words, and totality over any bytes.

use std::collections::BTreeSet;

use proptest::prelude::*;
use xe_sim::isa::{self, DecodeError, Op, Reason, Src, Type, XE_HPG};

/// Lines of "bytes in hexadecimal, then IGA's text".
const WORDS: &str = include_str!("isa_corpus/words.txt");

fn words() -> impl Iterator<Item = (Vec<u8>, &'static str)> {
    WORDS.lines().filter(|line| !line.starts_with('#') && !line.is_empty()).map(|line| {
        let (hex, text) = line.split_once(' ').expect("bytes and text");
        let bytes = (0..hex.len())
            .step_by(2)
            .map(|at| u8::from_str_radix(&hex[at..at + 2], 16).expect("hexadecimal"))
            .collect();
        (bytes, text)
    })
}

#[test]
fn recorded_words_print_as_iga_printed_them() {
    let mut ops = BTreeSet::new();
    for (bytes, text) in words() {
        let inst = isa::decode(&bytes, &XE_HPG).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(inst.to_string(), text);
        assert_eq!(inst.size(), bytes.len(), "{text}");
        ops.insert(inst.op);
    }
    assert_eq!(ops, XE_HPG.ops().map(|(_, op)| op).collect(), "every operation has a recorded word");
}

#[test]
fn a_kernel_is_the_sequence_of_its_instructions_and_labels_their_targets() {
    let text: Vec<u8> = words().flat_map(|(bytes, _)| bytes).chain([0; 8]).collect();
    let kernel = isa::kernel(&text, &XE_HPG).expect("recorded words");
    let expected: Vec<_> = words().map(|(_, text)| text).collect();
    assert_eq!(kernel.instructions.len(), expected.len());
    let mut at = 0;
    for ((offset, inst), text) in kernel.instructions.iter().zip(expected) {
        assert_eq!(*offset, at, "{text}");
        assert_eq!(kernel.index_of(at).map(|index| kernel.instructions[index].1.op), Some(inst.op));
        at += inst.size();
        if let Some(jip) = inst.branch().and_then(|branch| branch.jip) {
            let base = if inst.op == Op::Calla { 0 } else { *offset as i64 };
            let target = base + i64::from(jip);
            assert!(kernel.labels.contains(&target), "{text}: {target}");
            assert!(inst.at(*offset).to_string().contains(&format!("L{target}")), "{text}");
        }
    }
}

#[test]
fn the_place_of_an_error_is_told() {
    let nop = words().find(|(_, text)| *text == "nop").expect("a nop").0;
    let mut text = nop.repeat(3);
    text.extend([0x7f; 16]);
    let error = isa::kernel(&text, &XE_HPG).expect_err("0x7f is no opcode");
    assert_eq!(error.offset, nop.len() * 3);
    let short = isa::decode(&[0x61, 0, 0, 0, 0, 0, 0, 0], &XE_HPG);
    assert_eq!(short, Err(DecodeError { offset: 0, reason: Reason::Truncated { have: 8, want: 16 } }));
    assert!(matches!(isa::decode(&[], &XE_HPG), Err(DecodeError { reason: Reason::Truncated { .. }, .. })));
    let half = isa::kernel(&[nop.as_slice(), &[1; 4]].concat(), &XE_HPG);
    assert_eq!(half.map_err(|error| error.offset), Err(nop.len()), "a cut instruction is not padding");
}

#[test]
fn regions_walk_as_the_manual_says() {
    use isa::Region;
    let offsets = |region: Region| (0..8).map(|lane| region.offset(lane)).collect::<Option<Vec<_>>>();
    assert_eq!(offsets(Region::Vwh { v: 8, w: 8, h: 1 }), Some(vec![0, 1, 2, 3, 4, 5, 6, 7]));
    assert_eq!(offsets(Region::Vwh { v: 0, w: 1, h: 0 }), Some(vec![0; 8]));
    assert_eq!(offsets(Region::Vwh { v: 8, w: 4, h: 2 }), Some(vec![0, 2, 4, 6, 8, 10, 12, 14]));
    assert_eq!(offsets(Region::Vwh { v: 4, w: 2, h: 0 }), Some(vec![0, 0, 4, 4, 8, 8, 12, 12]));
    assert_eq!(offsets(Region::Vh { v: 1, h: 0 }), Some(vec![0, 1, 2, 3, 4, 5, 6, 7]));
    assert_eq!(offsets(Region::Vh { v: 8, h: 4 }), Some(vec![0, 4, 8, 12, 16, 20, 24, 28]));
    assert_eq!(offsets(Region::H { h: 2 }), Some(vec![0, 2, 4, 6, 8, 10, 12, 14]));
    assert_eq!(Region::Vxh { w: 1, h: 0 }.offset(3), None);
}

#[test]
fn immediates_keep_their_bits() {
    let of = |text: &str| {
        let (bytes, _) = words().find(|(_, known)| *known == text).expect("recorded");
        isa::decode(&bytes, &XE_HPG).expect("recorded").src[0]
    };
    assert_eq!(
        of("mov (1|M0) r10.0<1>:df -0.1:df"),
        Some(Src::Imm { bits: (-0.1f64).to_bits(), ty: Type::Df })
    );
    assert_eq!(of("mov (8|M0) r10.0<1>:q -5:q"), Some(Src::Imm { bits: (-5i64) as u64, ty: Type::Q }));
    assert_eq!(of("mov (8|M0) r10.0<1>:hf 65504.0:hf"), Some(Src::Imm { bits: 0x7bff, ty: Type::Hf }));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20_000))]

    /// Any bytes give an instruction or an error; what comes after an instruction does not matter.
    #[test]
    fn decoding_is_total(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
        match isa::decode(&bytes, &XE_HPG) {
            Ok(inst) => {
                prop_assert!(inst.size() <= bytes.len());
                prop_assert!(!inst.to_string().is_empty());
                prop_assert!(!inst.at(usize::MAX / 2).to_string().is_empty());
                prop_assert_eq!(isa::decode(&bytes[..inst.size()], &XE_HPG), Ok(inst));
            }
            Err(error) => prop_assert_eq!(error.offset, 0),
        }
    }

    /// The same with an opcode that exists, so that the fields are reached.
    #[test]
    fn decoding_known_opcodes_is_total(mut bytes in any::<[u8; 16]>(), at in any::<prop::sample::Index>()) {
        let codes: Vec<u8> = XE_HPG.ops().map(|(code, _)| code).collect();
        bytes[0] = codes[at.index(codes.len())];
        if let Ok(inst) = isa::decode(&bytes, &XE_HPG) {
            prop_assert!(!inst.to_string().is_empty());
        }
    }

    /// A kernel of any bytes: offsets rise by each instruction's size and stay inside.
    #[test]
    fn decoding_kernels_is_total(
        picks in prop::collection::vec((any::<prop::sample::Index>(), any::<u128>()), 0..20),
    ) {
        let known: Vec<_> = words().map(|(bytes, _)| bytes).collect();
        let text: Vec<u8> = picks.iter().flat_map(|(at, flips)| {
            // At most a few bits of a known word, so that most kernels decode for a while.
            let mask = flips & flips.rotate_left(17) & flips.rotate_left(43) & flips.rotate_left(71);
            let word = &known[at.index(known.len())];
            word.iter().zip(mask.to_le_bytes()).map(|(byte, flip)| byte ^ flip).collect::<Vec<_>>()
        }).collect();
        match isa::kernel(&text, &XE_HPG) {
            Ok(kernel) => {
                let mut next = 0;
                for (offset, inst) in &kernel.instructions {
                    prop_assert_eq!(*offset, next);
                    next += inst.size();
                }
                prop_assert!(next <= text.len());
                prop_assert!(kernel.to_string().lines().count() >= kernel.instructions.len());
            }
            Err(error) => prop_assert!(error.offset < text.len()),
        }
    }
}
