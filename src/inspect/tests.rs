//! Malformed and made-up input. Real files are read by `tests/inspect.rs`.

use proptest::prelude::*;

use super::*;

/// A SPIR-V module with one kernel, written after the specification: header, OpEntryPoint Kernel.
fn spirv(name: &str) -> Vec<u8> {
    let mut text = name.as_bytes().to_vec();
    text.resize(name.len() / 4 * 4 + 4, 0);
    let length = 3 + text.len() / 4;
    let mut words = vec![0x0723_0203, 0x0001_0400, 0x0006_000e, 9, 0, ((length as u32) << 16) | 15, 6, 4];
    words.extend(text.chunks(4).map(|four| u32::from_le_bytes([four[0], four[1], four[2], four[3]])));
    words.iter().flat_map(|word: &u32| word.to_le_bytes()).collect()
}

/// An uncompressed bundle after clang's documentation.
fn bundle(entries: &[(&str, &[u8])]) -> Vec<u8> {
    let mut out = b"__CLANG_OFFLOAD_BUNDLE__".to_vec();
    out.extend((entries.len() as u64).to_le_bytes());
    let header = out.len() + entries.iter().map(|(name, _)| 24 + name.len()).sum::<usize>();
    let mut at = header as u64;
    for (name, data) in entries {
        for word in [at, data.len() as u64, name.len() as u64] {
            out.extend(word.to_le_bytes());
        }
        out.extend(name.as_bytes());
        at += data.len() as u64;
    }
    entries.iter().for_each(|(_, data)| out.extend(*data));
    out
}

fn ccob(version: u16, method: u16, unpacked: u64, body: &[u8]) -> Vec<u8> {
    let mut out = b"CCOB".to_vec();
    out.extend(version.to_le_bytes());
    out.extend(method.to_le_bytes());
    let header: u64 = [0, 20, 24, 32][usize::from(version)];
    let size = header + body.len() as u64;
    match version {
        1 => out.extend((unpacked as u32).to_le_bytes()),
        2 => [size as u32, unpacked as u32].iter().for_each(|word| out.extend(word.to_le_bytes())),
        _ => [size, unpacked].iter().for_each(|word| out.extend(word.to_le_bytes())),
    }
    out.extend(0u64.to_le_bytes());
    out.extend(body);
    out
}

fn zstd_of(bytes: &[u8]) -> Vec<u8> {
    zstd::bulk::compress(bytes, 3).unwrap()
}

fn read(bytes: &[u8]) -> FileReport {
    inspect("test", bytes, Limits::default())
}

#[test]
fn spirv_says_version_and_kernels() {
    let report = read(&spirv("_ZTSN3foo3BarE"));
    let [image] = report.images.as_slice() else { panic!("{report:?}") };
    assert_eq!(image.spirv.as_ref().map(|s| s.version.as_str()), Some("1.4"));
    let kernels = image.kernels.as_ref().unwrap();
    assert_eq!(kernels[0].name, "_ZTSN3foo3BarE");
    assert_eq!(kernels[0].demangled.as_deref(), Some("foo::Bar"));
    assert_eq!(image.private_per_thread(), None, "only the driver's compiler knows");
}

#[test]
fn every_kind_of_bundle_gives_the_same_image() {
    let module = spirv("k");
    let plain =
        bundle(&[("host-x86_64-unknown-linux-gnu-", b"xx"), ("sycl-spir64-unknown-unknown", &module)]);
    let all = plain.len() as u64;
    let zlib = {
        use std::io::Write;
        let mut writer = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
        writer.write_all(&plain).unwrap();
        writer.finish().unwrap()
    };
    let zstd = zstd_of(&plain);
    let forms = [
        (plain.clone(), None),
        (zstd.clone(), Some("zstd")),
        (ccob(1, 0, all, &zlib), Some("CCOB zlib")),
        (ccob(2, 1, all, &zstd), Some("CCOB zstd")),
        (ccob(3, 1, all, &zstd), Some("CCOB zstd")),
    ];
    for (bytes, method) in forms {
        let report = read(&bytes);
        assert_eq!(report.problems, [], "{method:?}");
        let [image] = report.images.as_slice() else { panic!("{report:?}") };
        assert_eq!(image.kind.as_deref(), Some("sycl-spir64-unknown-unknown"));
        assert_eq!((image.bytes, image.compression), (module.len() as u64, method));
    }
}

#[test]
fn llvms_offload_binary_is_read() {
    let module = spirv("k");
    // Header 32, entry 40, two string pairs 16 each, the strings, the image.
    let strings = b"triple\0spir64_gen-unknown-unknown\0";
    let (text, image) = (32 + 40 + 16, 32 + 40 + 16 + strings.len() as u64);
    let size = image + module.len() as u64;
    let mut out = vec![0x10, 0xff, 0x10, 0xad];
    out.extend(1u32.to_le_bytes());
    [size, 32, 40].iter().for_each(|word| out.extend(word.to_le_bytes()));
    [0u32, 0].iter().for_each(|word| out.extend(word.to_le_bytes()));
    let words = [72u64, 1, image, module.len() as u64, text, text + 7];
    words.iter().for_each(|word| out.extend(word.to_le_bytes()));
    out.extend(strings);
    out.extend(&module);
    let report = read(&out);
    assert_eq!((report.problems.as_slice(), report.images.len()), (&[][..], 1), "{report:?}");
    assert_eq!(report.images[0].kind.as_deref(), Some("spir64_gen-unknown-unknown"));
}

#[test]
fn what_unpacks_too_far_is_refused_with_bounded_memory() {
    let bomb = zstd_of(&vec![0u8; 8 << 20]);
    assert!(bomb.len() < 4096);
    let limits = Limits { unpacked: 1 << 20, ..Limits::default() };
    for bytes in [bomb.clone(), ccob(3, 1, 8 << 20, &bomb), ccob(3, 1, u64::MAX, &bomb)] {
        let report = inspect("bomb", &bytes, limits);
        assert!(report.images.is_empty());
        assert!(report.problems[0].what.contains("--max-unpacked"), "{:?}", report.problems);
    }
    // A lie in the other direction is found too.
    let report = read(&ccob(3, 1, 9 << 20, &bomb));
    assert!(report.problems[0].what.contains("says 9437184"), "{:?}", report.problems);
    // All images together are bounded as well.
    let one = zstd_of(&spirv("k"));
    let many: Vec<(&str, &[u8])> = (0..20).map(|_| ("sycl-spir64", one.as_slice())).collect();
    let limits = Limits { unpacked_total: 10 * spirv("k").len() as u64, ..Limits::default() };
    let report = inspect("many", &bundle(&many), limits);
    assert_eq!((report.images.len(), report.problems.len()), (10, 10));
}

#[test]
fn containers_in_containers_end() {
    let mut bytes = spirv("k");
    for _ in 0..12 {
        bytes = bundle(&[("sycl-spir64", &bytes)]);
    }
    let report = read(&bytes);
    assert!(report.images.is_empty());
    assert!(report.problems[0].what.contains("in each other"), "{:?}", report.problems);
}

#[test]
fn numbers_that_lie_are_errors_with_a_place() {
    let mut many = b"__CLANG_OFFLOAD_BUNDLE__".to_vec();
    many.extend(u64::MAX.to_le_bytes());
    let mut outside = bundle(&[("sycl-spir64", b"12345678")]);
    outside[40] = 0xff;
    for (bytes, said) in [
        (&b"hello"[..], "not a format"),
        (b"", "0 bytes"),
        (&many, "entries"),
        (&outside, "lies outside"),
        (b"CCOB\x07\0\x01\0", "version 7"),
        (b"\x7fELF\x02\x01\x01", "ELF"),
        (&spirv("k")[..22], "22 bytes"),
        (&[0x28, 0xb5, 0x2f, 0xfd, 0, 0], "zstd"),
        (b"!<arch>\nshort", "archive"),
    ] {
        let report = read(bytes);
        assert!(report.images.is_empty());
        assert_eq!(report.problems.len(), 1, "{report:?}");
        assert!(report.problems[0].what.contains(said), "{:?}", report.problems[0]);
    }
    let mut endless = spirv("k");
    endless[22] = 0;
    assert!(read(&endless).problems[0].what.contains("0 words"));
}

#[test]
fn notes_carry_the_ip_version() {
    let note = |kind: u32, data: &[u8]| {
        let mut out = Vec::new();
        [8, data.len() as u32, kind].iter().for_each(|word| out.extend(word.to_le_bytes()));
        out.extend(b"IntelGT\0");
        out.extend(data);
        out.resize(out.len().next_multiple_of(4), 0);
        out
    };
    let mut section = note(1, &[0xf6, 4, 0, 0]);
    section.extend(note(5, b"1.70\0"));
    section.extend(note(6, &[8, 0xc0, 0x0d, 3]));
    let ip = device_elf::product_config(&section).unwrap().unwrap();
    assert_eq!(ip.to_string(), "12.55.8");
    assert_eq!(targets::find("acm-g10"), Some(ip));
    assert_eq!(targets::find("intel_gpu_dg2_g10"), Some(ip));
    for cut in [4, section.len() - 1, section.len() - 5] {
        let _ = device_elf::product_config(&section[..cut]);
    }
    let lie =
        note(6, &[0; 4]).iter().enumerate().map(|(n, b)| if n == 4 { 0xff } else { *b }).collect::<Vec<_>>();
    assert!(device_elf::product_config(&lie).is_err());
}

#[test]
fn expected_targets_are_counted_as_images() {
    assert!(Expected::parse("dg2-g10,acm_g10").unwrap_err().contains("nearest"));
    assert!(Expected::parse("").is_err());
    assert_eq!(Expected::parse("13"), Ok(Expected::Count(13)));
    let report = read(&spirv("k"));
    assert!(check(&report, &Expected::Names(vec!["spir64".into()])).met);
    let gone = check(&report, &Expected::Names(vec!["dg2".into(), "acm-g10".into()]));
    assert!(!gone.met);
    assert!(
        gone.findings.iter().any(|f| f.text.contains("2 names are 1 targets: dg2 = acm-g10")),
        "{gone:?}"
    );
    assert!(!check(&report, &Expected::Count(1)).met);
    assert!(check(&report, &Expected::Count(0)).met);
    // Too many targets are no lost compilation.
    let mut native = read(&spirv("k"));
    native.images[0].target = Some(Target::new(None, targets::find("dg2-g10")));
    let hint = |count| {
        let found = check(&native, &Expected::Count(count));
        assert!(!found.met, "{found:?}");
        found.findings.last().map_or_else(String::new, |finding| finding.text.clone())
    };
    assert!(hint(0).contains("names more than 0") && !hint(0).contains("failure"), "{}", hint(0));
    assert!(hint(2).contains("look for its failure"), "{}", hint(2));
}

#[test]
fn the_reports_module_is_on_the_per_dispatch_path_and_one_kernel_fewer_is_not() {
    use predict::{Placement, predict};
    let image = |target: &str, kernels: usize| {
        let mut image = read(&spirv("k")).images.remove(0);
        image.target = Some(Target::new(None, targets::find(target)));
        let kernel = Kernel { private_surface: Some(22_784), ..Kernel::default() };
        image.kernels = Some(vec![kernel; kernels]);
        image
    };
    let on = |image: &Image, card: &str| {
        let all = predict(image, &predict::devices());
        all.into_iter().find(|one| one.device == card).unwrap().placement
    };
    // Seed 003: 22,784 B for each of 4,096 threads against 16,225,245,593 B.
    assert_eq!(on(&image("dg2-g10", 174), "a770"), Placement::PerDispatch { needed: 174 * 22_784 * 4096 });
    assert_eq!(on(&image("dg2-g10", 173), "a770"), Placement::PerKernel { needed: 173 * 22_784 * 4096 });
    // Half the memory: half the kernels.
    assert!(matches!(on(&image("dg2-g10", 87), "a750"), Placement::PerDispatch { .. }));
    assert!(matches!(on(&image("dg2-g10", 86), "a750"), Placement::PerKernel { .. }));
    assert_eq!(on(&image("dg2-g11", 174), "a770"), Placement::OtherDevice);
    assert_eq!(on(&image("bmg", 174), "b580"), Placement::PerKernel { needed: 174 * 22_784 * 1280 });
    // One kernel of unknown size: no sum.
    let mut part = image("dg2-g10", 174);
    part.kernels.as_mut().unwrap()[3].private_surface = None;
    assert_eq!(on(&part, "a770"), Placement::NotCompiled);
}

proptest! {
    #[test]
    fn any_bytes_are_answered(bytes in prop::collection::vec(any::<u8>(), 0..200), head in 0usize..8) {
        let heads: [&[u8]; 8] = [
            b"", b"\x7fELF\x02\x01\x01\0", b"!<arch>\n", b"__CLANG_OFFLOAD_BUNDLE__", b"CCOB\x02\0\x01\0",
            &[0x10, 0xff, 0x10, 0xad, 1, 0, 0, 0], &[0x28, 0xb5, 0x2f, 0xfd], &[3, 2, 0x23, 7],
        ];
        let input = [heads[head], &bytes].concat();
        let report = read(&input);
        prop_assert!(!report.images.is_empty() || !report.problems.is_empty() || report.format != Format::Unknown);
    }
}
