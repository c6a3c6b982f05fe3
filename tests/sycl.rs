//! The SYCL front end on real parts: a SYCL runtime fetched by pip, the host's C++ compiler, the real driver, the
//! simulated card. icpx is absent in CI: its command lines are tested through a stand-in that records them.

mod support;

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use repro_matrix::build::cache::Cache;
use repro_matrix::build::sycl::{OnDevice, SyclBuilder, SyclCompiler};
use repro_matrix::model::arm::{FrontEnd, Split, Variant};
use repro_matrix::toolchain::{Request, ToolchainStore};
use serde_json::Value;
use support::variant;

static GO_ON: AtomicBool = AtomicBool::new(false);

fn tool(args: &[&str], directory: &Path) -> Output {
    let output = Command::new(env!("CARGO_BIN_EXE_repro-matrix")).args(args).current_dir(directory).output();
    output.unwrap_or_else(|e| panic!("{e}"))
}

/// The runtime of this user, fetched now if there is none; `false`, with the reason on stderr, where pip cannot.
fn runtime() -> bool {
    let store = ToolchainStore::open().unwrap_or_else(|e| panic!("{e}"));
    if store.find("default").is_ok() {
        return true;
    }
    match store.fetch(&Request::default(), &mut |line| eprintln!("{line}")) {
        Ok(_) => true,
        Err(error) => {
            eprintln!("skipped: no SYCL runtime can be had: {error}");
            false
        }
    }
}

/// Kernels few enough to compile in seconds; the debug key makes the driver count eight times the hardware threads,
/// so that 24 of them need more than global memory.
const MATRIX: &str = r#"
name = "sycl"
[defaults]
source = "file-r"
device = "sim:a770"
workload = "few"
timeout = "120s"
observers = ["neo-log", "sim", "maps", "ze-api"]
[variants.one]
front_end = "sycl"
kernels = 24
[variants.split]
front_end = "sycl"
kernels = 24
split = "per_kernel"
[variants.l0]
kernels = 24
[sources.file-r]
kind = "file"
prot = "r"
[sources.anon-rw]
kind = "anon"
prot = "rw"
[keys.threads]
OverrideNumComputeUnitsForScratch = 32768
[keys.selector]
ONEAPI_DEVICE_SELECTOR = "opencl:*"
[workloads.few]
copies = 12
[[product]]
prefix = "threads"
variants = ["one", "l0"]
keys = "threads"
expect = { verdict = "corrupt", per_dispatch = true, hazard = true }
[[arm]]
id = "split"
variant = "split"
keys = "threads"
expect = { verdict = "clean", per_dispatch = false, hazard = false }
[[arm]]
id = "anon"
variant = "one"
source = "anon-rw"
keys = "threads"
expect = { verdict = "clean", per_dispatch = true, hazard = false }
[[arm]]
id = "elsewhere"
variant = "one"
keys = "selector"
expect = "untestable"
[[arm]]
id = "plain"
variant = "one"
expect = { verdict = "clean", per_dispatch = false }
"#;

#[test]
fn sycl_arms_meet_the_same_driver_as_level_zero_ones() {
    if !runtime() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let matrix = dir.path().join("sycl.toml");
    std::fs::write(&matrix, MATRIX).unwrap();
    let output = tool(&["run", "sycl.toml", "--plain"], dir.path());
    let text =
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(0), "{text}");
    let runs = std::fs::read_dir(dir.path().join("results/sycl")).unwrap().flatten().next().unwrap().path();
    let manifest: Value =
        serde_json::from_str(&std::fs::read_to_string(runs.join("manifest.json")).unwrap()).unwrap();
    let runtime = manifest["runtimes"].as_object().unwrap().values().next().unwrap();
    let versions = runtime["versions"].as_str().unwrap();
    assert!(versions.contains("SYCL runtime ") && versions.contains("Unified Runtime "), "{runtime}");
    let files: Vec<&str> =
        runtime["libraries"].as_array().unwrap().iter().filter_map(|l| l["file"].as_str()).collect();
    assert!(files.iter().any(|file| file.starts_with("libur_adapter_level_zero.so")), "{files:?}");
    let lines = std::fs::read_to_string(runs.join("runs.jsonl")).unwrap();
    let records: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of =
        |arm: &str| records.iter().find(|record| record["arm"] == arm).unwrap_or_else(|| panic!("{arm}"));
    let (sycl, l0) = (of("threads/one/file-r/threads"), of("threads/l0/file-r/threads"));
    let flags = |record: &Value| {
        record["facts"]["neo"]["per_dispatch"]
            .as_array()
            .unwrap()
            .iter()
            .map(|l| l["flag"].clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(flags(sycl), flags(l0), "one module, one flag");
    let sizes = |record: &Value| record["facts"]["neo"]["per_dispatch"][0]["module_private"].clone();
    assert_eq!(sizes(sycl), sizes(l0), "the same private memory by both front ends");
    assert_eq!(sycl["repro"]["kernel"]["private_mem_size"], 22_784);
    // Named for what it is.
    let front_end = sycl["repro"]["front_end"].as_str().unwrap();
    assert!(
        front_end.starts_with("DPC++ run-time compiler (intel-sycl-rt ") && !front_end.contains("icpx"),
        "{front_end}"
    );
    kernels_were_told(&sycl["facts"]["ze_api"]);
    // Which library ran is proved, not assumed.
    let proved = sycl["evidence"].as_array().unwrap().iter().any(|e| {
        e["instrument"] == "maps"
            && e["says"].as_str().is_some_and(|s| s.contains("libze_intel_gpu") && s.contains("is loaded"))
    });
    assert!(proved, "{}", sycl["evidence"]);
    // A selector that leaves Level Zero out: the reproducer asks its queue, and takes no other backend.
    let reason = of("elsewhere")["reason"].as_str().unwrap();
    assert!(reason.contains("sycl::queue"), "{reason}");
    // One module a kernel: only those that are launched are loaded, none on the per-dispatch path.
    let split = flags(of("split"));
    assert!(split.len() > 1 && split.iter().all(|flag| flag == false), "{split:?}");
    let modules = |record: &Value| record["repro"]["modules"].as_u64().unwrap();
    assert_eq!((modules(sycl), modules(l0), modules(of("split"))), (1, 1, 25));
    // The kept device code says of itself what the driver found: 24 kernels of 22,784 bytes in one image.
    let command = sycl["command"].as_array().unwrap();
    let bundle =
        command.iter().position(|word| word == "--bundle").and_then(|at| command.get(at + 1)).unwrap();
    let output = tool(&["inspect", "--json", bundle.as_str().unwrap()], dir.path());
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["files"][0]["format"], "offload-binary");
    let images = report["files"][0]["images"].as_array().unwrap();
    let kernels = images[0]["kernels"].as_array().unwrap();
    let private: u64 = kernels.iter().map(|kernel| kernel["private_surface"].as_u64().unwrap()).sum();
    assert_eq!((images.len(), private), (1, 24 * 22_784));
}

/// The bytes of every argument that the runtime set.
fn kernels_were_told(facts: &Value) {
    let kernel = |name: &str| {
        let kernels = facts["kernels"].as_array().unwrap().iter();
        kernels
            .clone()
            .find(|k| k["name"].as_str().unwrap().ends_with(name))
            .unwrap_or_else(|| panic!("{facts}"))
    };
    let values = |name: &str, index: &str| kernel(name)["values"][index].as_array().unwrap().clone();
    // 65,536 words of each input: printf '\0\0\1\0' | sha256sum
    let words =
        serde_json::json!([{"size": 4, "sha256": "6b1e73a0094b7b81", "first": "00000100", "times": 2}]);
    assert_eq!(Value::from(values("priv0", "2")), words);
    assert_eq!(Value::from(values("nopriv", "3")), words);
    // The block begins with the addresses of the inputs, which the control kernel is given one by one.
    let address = |index: &str| values("nopriv", index)[0]["first"].as_str().unwrap().to_owned();
    let block = values("priv0", "1");
    assert_eq!((block.len(), &block[0]["size"]), (1, &Value::from(21 * 64 + 80)), "{facts}");
    assert!(block[0]["first"].as_str().unwrap().starts_with(&(address("1") + &address("2"))), "{facts}");
    // The loader's own trace counts the calls: none is missing.
    let seen =
        facts["kernels"].as_array().unwrap().iter().flat_map(|k| k["values"].as_object().unwrap().values());
    let seen: u64 = seen.flat_map(|v| v.as_array().unwrap()).map(|v| v["times"].as_u64().unwrap()).sum();
    assert_eq!(facts["calls"]["zeKernelSetArgumentValue"], seen, "{facts}");
}

/// A program that works on whatever device it gets: `PROGRAM SELECTOR [cpu]`.
const ANYWHERE: &str = r#"
#include <sycl/sycl.hpp>
#include <cstdio>
#include <cstdlib>
#include <vector>
int main(int argc, char **argv) {
    if (argc > 1)
        setenv("ONEAPI_DEVICE_SELECTOR", argv[1], 1);
    sycl::queue queue = argc > 2 ? sycl::queue{sycl::cpu_selector_v} : sycl::queue{};
    std::vector<unsigned> out(1024);
    {
        sycl::buffer<unsigned> buffer{sycl::range<1>(out.size())};
        queue.submit([&](sycl::handler &h) { h.fill(buffer.get_access<sycl::access::mode::write>(h), 7u); });
        queue.submit([&](sycl::handler &h) { h.copy(buffer.get_access<sycl::access::mode::read>(h), out.data()); });
        queue.wait();
    }
    std::size_t wrong = 0;
    for (unsigned value : out)
        wrong += value != 7;
    std::printf("on %s: wrong %zu of %zu\n", queue.get_device().get_info<sycl::info::device::name>().c_str(), wrong,
                out.size());
    return wrong != 0;
}
"#;

#[test]
fn what_fell_back_to_opencl_is_untestable_however_right_its_numbers() {
    // The last release whose wheels have the OpenCL adapter; the OpenCL device is PoCL's, the host's processor.
    let request: Request = "sycl=2026.0.0".parse().unwrap();
    let store = ToolchainStore::open().unwrap_or_else(|e| panic!("{e}"));
    let lib = match store.fetch(&request, &mut |line| eprintln!("{line}")) {
        Ok((toolchain, _)) => toolchain.lib(),
        Err(error) => return eprintln!("skipped: SYCL runtime 2026.0.0 cannot be had: {error}"),
    };
    if !Path::new("/etc/OpenCL/vendors/pocl.icd").exists() {
        return eprintln!("skipped: no PoCL (`ci/install-deps tests` gets it)");
    }
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("anywhere.cpp"), ANYWHERE).unwrap();
    let program = dir.path().join("anywhere");
    let compiled = Command::new("g++")
        .args(["-std=c++17", "-DSYCL_DISABLE_FSYCL_SYCLHPP_WARNING", "-isystem"])
        .arg(lib.parent().unwrap().join("include"))
        .arg(dir.path().join("anywhere.cpp"))
        .arg(format!("-L{}", lib.display()))
        .arg(format!("-Wl,-rpath,{}", lib.display()))
        .args(["-lsycl", "-o"])
        .arg(&program)
        .output()
        .unwrap();
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    // On the card; on OpenCL alone; on OpenCL with the card's driver loaded too.
    let arms = [("card", "[]"), ("opencl", "['opencl:*']"), ("both", "['*:*', 'cpu']")];
    let mut matrix =
        "name = 'fall'\n[defaults]\nsource = 'none'\ndevice = 'sim:a770'\n[sources.none]\nkind = 'none'\n"
            .to_owned();
    for (arm, words) in arms {
        let words = words.replacen('[', &format!("['{}', ", program.display()), 1);
        matrix += &format!(
            "[variants.{arm}]\nfront_end = 'command'\ncommand = {words}\n[variants.{arm}.extract]\nexit_wrong = [1]\n\
             wrong = 'wrong (\\d+) of'\n[[arm]]\nid = '{arm}'\nvariant = '{arm}'\n"
        );
    }
    // This runtime cannot save device code either: the reproducer itself compiles it in the run.
    matrix += "[variants.older]\nfront_end = 'sycl'\nkernels = 2\n[workloads.idle]\nskip_upload = true\n\
               [[arm]]\nid = 'older'\nvariant = 'older'\nworkload = 'idle'\n\
               runtime = '2026.0.0'\ntimeout = '300s'\n";
    std::fs::write(dir.path().join("fall.toml"), matrix).unwrap();
    let output = tool(&["run", "fall.toml", "--plain"], dir.path());
    let runs = std::fs::read_dir(dir.path().join("results/fall"));
    let runs =
        runs.unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr))).flatten().next();
    let lines = std::fs::read_to_string(runs.unwrap().path().join("runs.jsonl")).unwrap();
    let records: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of = |arm: &str| records.iter().find(|record| record["arm"] == arm).unwrap();
    // All three print the right numbers.
    for (arm, _) in arms {
        assert_eq!(of(arm)["repro"]["checks"][0]["wrong"], 0, "{}", of(arm));
    }
    assert_eq!(of("card")["verdict"], "clean", "{}", of("card")["evidence"]);
    let older = of("older");
    assert_eq!(older["verdict"], "clean", "{older}");
    assert!(older["repro"]["front_end"].as_str().unwrap().contains("intel-sycl-rt 2026.0.0"), "{older}");
    let words = older["command"].as_array().unwrap();
    assert!(
        words.iter().any(|word| word == "--device-source") && !words.iter().any(|word| word == "--bundle")
    );
    for arm in ["opencl", "both"] {
        let (verdict, reason) = (&of(arm)["verdict"], of(arm)["reason"].as_str().unwrap_or_default());
        assert!(verdict == "untestable" && reason.contains("libpocl"), "{arm}: {verdict}: {reason}");
    }
    // In the last one the driver was there, as a look at the mapped libraries alone would have it.
    let driver = of("both")["facts"]["loaded"]["libraries"].as_array().unwrap().iter();
    assert!(driver.filter_map(|l| l["path"].as_str()).any(|path| path.contains("libze_intel_gpu")));
}

/// Only a runtime that compiles its device code in the run (2026.0.0; see the test above) gives it the key's option, and
/// code that is not optimised needs twice the private memory: more than there is.
const OF_RUNTIMES: &str = r#"
name = "runtimes"
[defaults]
source = "file-r"
device = "sim:a770-residency"
timeout = "300s"
[variants.two]
front_end = "sycl"
kernels = 2
[sources.file-r]
kind = "file"
prot = "r"
[keys.unoptimised]
OverrideNumComputeUnitsForScratch = 340000
InjectApiBuildOptions = "-cl-opt-disable"
[workloads.few]
copies = 12
[[arm]]
id = "two"
variant = "two"
keys = "unoptimised"
workload = "few"
"#;

#[test]
fn the_runtime_that_brings_a_failure_is_found() {
    let store = ToolchainStore::open().unwrap_or_else(|e| panic!("{e}"));
    for version in ["2026.0.0", "2026.2.0"] {
        let request: Request = format!("sycl={version}").parse().unwrap();
        if store.find(version).is_err()
            && let Err(error) = store.fetch(&request, &mut |line| eprintln!("{line}"))
        {
            return eprintln!("skipped: SYCL runtime {version} cannot be had: {error}");
        }
    }
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("m.toml"), OF_RUNTIMES).unwrap();
    let bisect = |runtimes: &str, more: &[&str]| {
        let args = ["bisect", "m.toml", "--arm", "two", "--plain", "--rate", "100", "--runtimes", runtimes];
        let output = tool(&[&args[..], more].concat(), dir.path());
        let text =
            format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        (output.status.code(), text)
    };
    let (code, text) = bisect("2026.2.0,2026.0.0", &[]);
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("first bad   2026.0.0") && text.contains("last good   2026.2.0"), "{text}");
    // Each place ran on its own runtime.
    let runs = std::fs::read_dir(dir.path().join("results/runtimes-bisect")).unwrap().flatten().next();
    let runs = runs.unwrap().path();
    let lines = std::fs::read_to_string(runs.join("runs.jsonl")).unwrap();
    for record in lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()) {
        let version = record["arm"].as_str().unwrap().strip_prefix("two+runtime=").unwrap().to_owned();
        let front_end = record["repro"]["front_end"].as_str().unwrap();
        assert!(front_end.contains(&format!("intel-sycl-rt {version})")), "{version}: {front_end}");
    }
    // What ran is not run again: it was the same arm on the same build and runtime.
    let reuse = ["--reuse", runs.to_str().unwrap(), "--results", "again"];
    let (code, text) = bisect("2026.2.0,2026.0.0", &reuse);
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains(&format!("{} answers known from before", lines.lines().count())), "{text}");
    assert!(text.contains("first bad   2026.0.0"), "{text}");
    // One that is not here is an end that cannot be tested, and two names of one runtime are one place.
    let (code, text) = bisect("1999.1,2026.0.0", &[]);
    assert_eq!(code, Some(22), "{text}");
    let conclusion = text.split("no conclusion: ").nth(1).unwrap_or_else(|| panic!("{text}"));
    assert!(conclusion.contains("no SYCL runtime 1999.1"), "{text}");
    let (code, text) = bisect("2026.0.0,2026.0.0", &[]);
    assert!(code == Some(2) && text.contains("the very same build"), "{text}");
}

/// A stand-in for icpx: writes down its arguments and makes a program that is the arguments.
fn stand_in(dir: &Path, script: &str) -> PathBuf {
    let path = dir.join("icpx");
    std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path
}

struct NoDevice;

impl OnDevice for NoDevice {
    fn command(&self, _: &Path, _: &[std::ffi::OsString]) -> Result<Command, String> {
        Err("icpx needs no device".to_owned())
    }
    fn identity(&self) -> String {
        String::new()
    }
}

fn build(
    icpx: &Path,
    cache: &Path,
    variant: &Variant,
) -> Result<Vec<String>, repro_matrix::build::sycl::SyclError> {
    let compiler = SyclCompiler::icpx(Some(icpx)).unwrap();
    let builder = SyclBuilder {
        compiler: &compiler,
        cache: Cache::new(cache),
        timeout: Duration::from_secs(20),
        stop: &GO_ON,
    };
    builder.build(variant, &NoDevice).map(|built| {
        assert_eq!(built.front_end, "icpx: Intel(R) oneAPI DPC++/C++ Compiler 2026.1.0 (2026.1.0.20260617)");
        assert!(built.bundle.is_none() && built.images.is_none());
        std::fs::read_to_string(built.program).unwrap().lines().map(str::to_owned).collect()
    })
}

const VERSION: &str = "[ \"$1\" = --version ] && { echo 'Intel(R) oneAPI DPC++/C++ Compiler 2026.1.0 (2026.1.0.20260617)'; exit 0; }";

#[test]
fn icpx_gets_the_command_line_of_the_report() {
    let dir = tempfile::tempdir().unwrap();
    let script = format!("{VERSION}\nfor last; do :; done\nprintf '%s\\n' \"$@\" > \"$last\"");
    let icpx = stand_in(dir.path(), &script);
    let variant = Variant {
        front_end: FrontEnd::Sycl,
        split: Split::PerKernel,
        options: vec!["-fno-sycl-rdc".to_owned()],
        ..variant(174, 64)
    };
    let args =
        build(&icpx, &dir.path().join("cache"), &variant).unwrap_or_else(|e| panic!("{}", e.explain()));
    assert_eq!(
        args,
        [
            "-fsycl",
            "-O2",
            "-DBLOAT_N=174",
            "-DBATCH_SIZE=64",
            "-DSIMD=16",
            "-fsycl-device-code-split=per_kernel",
            "-fno-sycl-rdc",
            "private.cpp",
            "-o",
            "output"
        ]
    );
}

#[test]
fn failed_builds_are_explained() {
    let dir = tempfile::tempdir().unwrap();
    for (script, said, advice) in [
        (
            "echo 'icpx: error: ocloc tool could not be found and is required for AOT compilation' >&2; exit 1",
            "found no ocloc",
            "intel-ocloc",
        ),
        (
            "echo '*** longjmp causes uninitialized stack frame ***' >&2; kill -ABRT $$",
            "IGC) aborted",
            "one target",
        ),
        ("echo \"error: unknown argument: '-fbogus'\" >&2; exit 1", "does not know an option", "`options`"),
        ("exit 7", "icpx ended with status 7", "by hand"),
    ] {
        let icpx = stand_in(dir.path(), &format!("{VERSION}\n{script}"));
        let cache = tempfile::tempdir().unwrap();
        let error = build(&icpx, cache.path(), &Variant { front_end: FrontEnd::Sycl, ..variant(1, 8) });
        let text = error.unwrap_err().explain();
        assert!(text.contains(said) && text.contains(advice) && text.contains("command: "), "{text}");
    }
}

#[test]
fn what_sycl_cannot_do_is_refused_with_its_place() {
    let dir = tempfile::tempdir().unwrap();
    let text = MATRIX.replace("copies = 12", "copies = 12\ncommand_list = \"regular\"");
    std::fs::write(dir.path().join("m.toml"), text).unwrap();
    let output = tool(&["plan", "m.toml"], dir.path());
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(said.contains("has no command_list"), "{said}");
    // A runtime that is not here is a reason to leave an arm out, and says what to type.
    let text = MATRIX.replace("id = \"plain\"", "id = \"plain\"\nruntime = \"1999.0\"");
    std::fs::write(dir.path().join("m.toml"), text).unwrap();
    let output = tool(&["plan", "m.toml"], dir.path());
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(said.contains("toolchains fetch sycl=1999.0"), "{said}");
}

#[test]
fn a_damaged_toolchain_is_listed_as_one_and_not_as_none() {
    let data = tempfile::tempdir().expect("tempdir");
    std::fs::create_dir_all(data.path().join("toolchains/sycl-2026.1.2/root")).expect("directory");
    let list = |more: &[&str]| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_repro-matrix"));
        command.env("REPRO_MATRIX_DATA", data.path()).args(["toolchains", "list"]).args(more);
        String::from_utf8_lossy(&command.output().expect("the tool starts").stdout).into_owned()
    };
    let text = list(&[]);
    assert!(
        text.starts_with("! ") && text.contains("sycl-2026.1.2") && text.contains("manifest.json"),
        "{text}"
    );
    assert!(!text.contains("no SYCL runtime yet"), "{text}");
    let json: serde_json::Value = serde_json::from_str(&list(&["--json"])).expect("JSON");
    assert_eq!(json["damaged"].as_array().map(Vec::len), Some(1), "{json}");
}

#[test]
fn toolchains_that_are_not_there_are_named() {
    let dir = tempfile::tempdir().unwrap();
    for (args, said) in [
        (["toolchains", "fetch", "cuda"], "sycl=VERSION"),
        (["toolchains", "fetch", "sycl=../x"], "sycl=VERSION"),
        (["toolchains", "show", "1999.0"], "toolchains fetch"),
    ] {
        let output = tool(&args, dir.path());
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{text}");
        assert!(text.contains(said), "{text}");
    }
    // Wheels that are not what they should be: an error with pip's own words, and nothing is left behind.
    let data = dir.path().join("data");
    let output = Command::new(env!("CARGO_BIN_EXE_repro-matrix"))
        .args(["toolchains", "fetch", "sycl=2026.2.0", "--from", "."])
        .current_dir(dir.path())
        .env("REPRO_MATRIX_DATA", &data)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(21), "{}", String::from_utf8_lossy(&output.stderr));
    let left = std::fs::read_dir(data.join("toolchains")).unwrap().count();
    assert_eq!(left, 0);
}
