//! The build stage with the real `ocloc` and IGC of a driver build.

mod support;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use repro_matrix::build::{BuildEvent, Builder, Cause, Compiler, Request, Target, source};
use repro_matrix::model::arm::{Compile, ModuleFormat, Split, Variant};
use support::{Tree, builder, variant};

fn a770() -> Target {
    Target::for_profile("a770").unwrap()
}

/// Stands in for a compiler: a shell command that does not look at its arguments.
struct Shell(&'static str);

impl Compiler for Shell {
    fn command(&self, args: &[OsString]) -> Command {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", self.0, "sh"]).args(args);
        command
    }

    fn identity(&self) -> String {
        self.0.to_owned()
    }
}

#[test]
fn private_memory_is_a_block_for_each_lane() {
    let tree = Tree::open();
    let dir = tempfile::tempdir().unwrap();
    for (batch_size, simd) in [(64, 16), (32, 16), (16, 16), (64, 32)] {
        let variant = Variant { simd, plain_kernels: 1, ..variant(3, batch_size) };
        let built =
            builder(&tree, dir.path()).build(&variant, &a770()).unwrap_or_else(|e| panic!("{}", e.explain()));
        let kernels = built.kernels().unwrap();
        let expected = u64::from(simd) * source::block_bytes(batch_size);
        for kernel in &kernels {
            let private = kernel.name.starts_with("priv");
            assert_eq!(kernel.simd_size, simd, "{}", kernel.name);
            assert_eq!(kernel.private_size, if private { expected } else { 0 }, "{}", kernel.name);
            assert_eq!(kernel.private_surface, kernel.private_size, "{}", kernel.name);
            assert_eq!(kernel.spill_size, 0, "{}", kernel.name);
            // The compiler may list one pointer twice, by stateless and by bindless address.
            let pointers = kernel.arguments.iter().filter(|a| a.arg_type == "arg_bypointer");
            let pointers: BTreeSet<_> = pointers.map(|a| a.arg_index).collect();
            assert_eq!(pointers.len(), if private { 1 } else { 3 }, "{}", kernel.name);
        }
        assert_eq!(kernels.len(), 5);
        assert_eq!(built.private_total_per_thread(), Some(3 * expected));
        assert_eq!(built.predicted_module_private(4096), Some(3 * expected * 4096));
        let boundary = 3 * expected * 4096;
        assert_eq!(built.predicted_per_dispatch(4096, boundary), Some(false), "equal is not over");
        assert_eq!(built.predicted_per_dispatch(4096, boundary - 1), Some(true));
    }
}

#[test]
fn padding_makes_the_image_bigger_and_takes_no_private_memory() {
    let tree = Tree::open();
    let dir = tempfile::tempdir().unwrap();
    let build =
        |padding| builder(&tree, dir.path()).build(&Variant { padding, ..variant(1, 8) }, &a770()).unwrap();
    let (small, big) = (build(0), build(600));
    // An uncompacted instruction has 16 bytes, a compacted one 8; each lane group of 16 needs one.
    assert!(
        big.image_bytes() > small.image_bytes() + 600 * 8,
        "{} {}",
        small.image_bytes(),
        big.image_bytes()
    );
    assert_eq!(big.private_total_per_thread(), small.private_total_per_thread());
}

#[test]
fn a_device_that_keeps_private_memory_in_scratch_has_no_surface() {
    let tree = Tree::open();
    let dir = tempfile::tempdir().unwrap();
    let target = Target::for_profile("b580").unwrap();
    let built = builder(&tree, dir.path()).build(&variant(1, 64), &target).unwrap();
    let kernels = built.kernels().unwrap();
    assert!(kernels[0].private_size > 0 && kernels[0].scratch_size >= kernels[0].private_size);
    assert_eq!(built.predicted_module_private(4096), Some(0));
}

#[test]
fn per_kernel_split_builds_one_module_a_kernel() {
    let tree = Tree::open();
    let dir = tempfile::tempdir().unwrap();
    let variant = Variant { split: Split::PerKernel, ..variant(3, 16) };
    let built = builder(&tree, dir.path()).build(&variant, &a770()).unwrap();
    let names: Vec<Vec<&str>> = built
        .modules
        .iter()
        .map(|module| module.kernels.iter().flatten().map(|kernel| kernel.name.as_str()).collect())
        .collect();
    assert_eq!(names, [vec!["priv0"], vec!["priv1"], vec!["priv2"], vec!["nopriv"]]);
    let one = 16 * source::block_bytes(16);
    assert_eq!(built.predicted_module_private(10), Some(one * 10), "the budget is for each module");
    assert_eq!(built.private_total_per_thread(), Some(3 * one));
}

#[test]
fn the_second_build_comes_from_the_cache_and_damage_is_rebuilt() {
    let tree = Tree::open();
    let dir = tempfile::tempdir().unwrap();
    let build = || builder(&tree, dir.path()).build(&variant(1, 8), &a770()).unwrap();
    let first = build();
    assert!(!first.cached && first.build_seconds > 0.0 && first.notes.is_empty());
    let second = build();
    assert!(second.cached);
    assert_eq!(second.paths(), first.paths());
    assert_eq!(second.build_seconds, first.build_seconds, "the cache remembers what the build took");

    let path = &first.paths()[0];
    let good = std::fs::read(path).unwrap();
    let mut bad = good.clone();
    bad[good.len() / 2] ^= 1;
    std::fs::write(path, &bad).unwrap();
    let third = build();
    assert!(!third.cached);
    assert_eq!(third.notes.len(), 1, "{:?}", third.notes);
    assert_eq!(std::fs::read(path).unwrap().len(), good.len());
    assert!(build().cached);

    let other =
        builder(&tree, dir.path()).build(&variant(1, 8), &Target::for_profile("a380").unwrap()).unwrap();
    assert!(!other.cached, "another device is another build");
}

#[test]
fn spirv_is_built_and_promises_no_sizes() {
    let tree = Tree::open();
    let dir = tempfile::tempdir().unwrap();
    let variant = Variant { format: ModuleFormat::Spirv, ..variant(2, 8) };
    let built = builder(&tree, dir.path()).build(&variant, &a770()).unwrap();
    assert!(std::fs::read(&built.paths()[0]).unwrap().starts_with(&[0x03, 0x02, 0x23, 0x07]));
    assert!(built.kernels().is_none());
    assert_eq!(built.predicted_per_dispatch(4096, 1), None);
}

#[test]
fn failures_are_diagnosed() {
    let tree = Tree::open();
    let dir = tempfile::tempdir().unwrap();
    let build =
        |variant: &Variant, target: &Target| builder(&tree, dir.path()).build(variant, target).unwrap_err();
    let bogus = Variant { options: vec!["-cl-no-such-option".to_owned()], ..variant(1, 8) };
    let error = build(&bogus, &a770());
    assert!(
        matches!(&error.cause, Cause::UnknownOption(option) if option.contains("-cl-no-such-option")),
        "{error:?}"
    );
    assert!(error.command.contains("-cl-no-such-option") && !error.log.is_empty());

    assert_eq!(build(&variant(1, 8), &Target::named("voodoo2")).cause, Cause::UnknownDevice);

    let broken = Variant { options: vec!["-Dblock=+".to_owned()], ..variant(1, 8) };
    let error = build(&broken, &a770());
    assert_eq!(error.cause, Cause::SourceError, "{}", error.explain());
    assert!(matches!(build(&variant(1, 9), &a770()).cause, Cause::BadVariant(_)));
}

#[test]
fn ends_of_the_compiler_are_told_apart() {
    let dir = tempfile::tempdir().unwrap();
    let cause =
        |script| builder(&Shell(script), dir.path()).build(&variant(1, 8), &a770()).unwrap_err().cause;
    assert_eq!(cause("kill -ABRT $$"), Cause::CompilerCrash { signal: 6, name: "SIGABRT".to_owned() });
    assert_eq!(cause("exit 3"), Cause::Failed(3));
    assert!(matches!(cause("exit 0"), Cause::BadImage(_)), "success without an output is no success");
    assert!(matches!(cause("echo nonsense > module.bin"), Cause::BadImage(_)));

    struct Missing;
    impl Compiler for Missing {
        fn command(&self, _: &[OsString]) -> Command {
            Command::new("/nonexistent/ocloc")
        }
        fn identity(&self) -> String {
            "missing".to_owned()
        }
    }
    let error = builder(&Missing, dir.path()).build(&variant(1, 8), &a770()).unwrap_err();
    assert!(
        matches!(&error.cause, Cause::Spawn { program, .. } if program == "/nonexistent/ocloc"),
        "{error:?}"
    );
}

#[test]
fn a_compiler_that_hangs_is_stopped_with_its_children() {
    let dir = tempfile::tempdir().unwrap();
    let pid_file = dir.path().join("pid");
    let script: &'static str = format!("sleep 600 & echo $! > {}; wait", pid_file.display()).leak();
    let shell = Shell(script);
    let start = Instant::now();
    let builder =
        Builder { timeout: Duration::from_millis(300), ..builder(&shell, &dir.path().join("cache")) };
    let error = builder.build(&variant(1, 8), &a770()).unwrap_err();
    assert_eq!(error.cause, Cause::Timeout(Duration::from_millis(300)));
    assert!(start.elapsed() < Duration::from_secs(5));
    let pid: i32 = std::fs::read_to_string(pid_file).unwrap().trim().parse().unwrap();
    // Reaping by init may take a moment; a zombie counts as stopped.
    let gone = (0..100).any(|_| {
        std::thread::sleep(Duration::from_millis(10));
        std::fs::read_to_string(format!("/proc/{pid}/stat")).map_or(true, |stat| stat.contains(") Z "))
    });
    assert!(gone, "the grandchild {pid} still runs");
}

#[test]
fn a_stop_request_ends_the_build() {
    let dir = tempfile::tempdir().unwrap();
    let stop = AtomicBool::new(false);
    let shell = Shell("sleep 600");
    let builder = Builder { stop: &stop, ..builder(&shell, dir.path()) };
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(200));
            stop.store(true, Ordering::Relaxed);
        });
        assert_eq!(builder.build(&variant(1, 8), &a770()).unwrap_err().cause, Cause::Interrupted);
    });
}

#[test]
fn variants_are_reported_as_they_become_ready() {
    let tree = Tree::open();
    let dir = tempfile::tempdir().unwrap();
    let requests = [
        Request { variant: Variant { compile: Compile::Whole, ..variant(24, 64) }, target: a770() },
        Request { variant: variant(1, 8), target: a770() },
        Request { variant: variant(1, 12), target: a770() },
    ];
    let finished = Mutex::new(Vec::new());
    let results = builder(&tree, dir.path()).build_all(&requests, &|event| {
        if let BuildEvent::Finished { request, result, .. } = event {
            finished.lock().unwrap().push((request, result.is_ok()));
        }
    });
    assert_eq!(results.iter().map(Result::is_ok).collect::<Vec<_>>(), [true, true, false]);
    // The impossible one needs no compiler, the small one is ready long before the big one.
    assert_eq!(*finished.lock().unwrap(), [(2, false), (1, true), (0, true)]);
}

#[test]
fn two_builders_of_one_module_compile_it_once() {
    let dir = tempfile::tempdir().unwrap();
    let count = dir.path().join("count");
    let tree = Tree::open();
    struct Counting<'a>(&'a Tree, std::path::PathBuf);
    impl Compiler for Counting<'_> {
        fn command(&self, args: &[OsString]) -> Command {
            let real = self.0.command(args);
            let mut command = Command::new("/bin/sh");
            command.args(["-c", "echo x >> \"$0\"; exec \"$@\""]).arg(&self.1).arg(real.get_program());
            command.args(real.get_args());
            command
        }
        fn identity(&self) -> String {
            "counting".to_owned()
        }
    }
    let counting = Counting(&tree, count.clone());
    let cache = dir.path().join("cache");
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| builder(&counting, &cache).build(&variant(1, 8), &a770()).unwrap());
        }
    });
    assert_eq!(std::fs::read_to_string(count).unwrap(), "x\n");
}

#[test]
fn a_full_disk_is_called_that() {
    // A file system of 64 KiB of its own, without privileges where user namespaces allow it.
    let tree = Tree::open();
    let dir = tempfile::tempdir().unwrap();
    let mount = dir.path().join("small");
    std::fs::create_dir(&mount).unwrap();
    let made = Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=96k", "tmpfs"])
        .arg(&mount)
        .status()
        .is_ok_and(|status| status.success());
    if !made {
        // Said, not silent: without the right to mount, this one case is not shown.
        eprintln!("NOT SHOWN: no right to mount a small tmpfs");
        return;
    }
    let result = builder(&tree, &mount).build(&variant(16, 64), &a770());
    Command::new("umount").arg(&mount).status().unwrap();
    assert_eq!(result.unwrap_err().cause, Cause::DiskFull);
}
