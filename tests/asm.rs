//! `repro-matrix asm`, `startup` and `compare-output` on the real driver, compiler and simulated card.

mod support;

use std::path::Path;
use std::process::{Command, Output};

use repro_matrix::build::Target;
use serde_json::Value;
use support::{Tree, builder, variant};

const TOOL: &str = env!("CARGO_BIN_EXE_repro-matrix");

fn tool(args: &[&str], directory: &Path) -> Output {
    Command::new(TOOL).args(args).current_dir(directory).output().unwrap_or_else(|e| panic!("{e}"))
}

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn module(dir: &Path, change: impl FnOnce(&mut repro_matrix::model::arm::Variant)) -> std::path::PathBuf {
    let tree = Tree::open();
    let mut variant = variant(1, 8);
    change(&mut variant);
    let built = builder(&tree, &dir.join("cache"))
        .build(&variant, &Target::named("dg2-g10"))
        .unwrap_or_else(|e| panic!("{e}"));
    built.modules[0].path.clone()
}

#[test]
fn a_program_that_is_not_there_is_said_to_be_so() {
    let dir = tempfile::tempdir().unwrap();
    for verb in [
        &["asm", "--device", "sim:a770", "-o", "out", "--", "no-such-program"][..],
        &[
            "startup",
            "--device",
            "sim:a770",
            "--build",
            "a=./no-such-program",
            "--build",
            "b=./no-such-program",
        ],
    ] {
        let output = tool(verb, dir.path());
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains("no-such-program could not be started"), "{said}");
    }
}

#[test]
fn isa_comes_by_the_way_that_fits_the_code() {
    let dir = tempfile::tempdir().unwrap();
    let native = module(dir.path(), |_| {});
    let spirv = module(dir.path(), |v| v.format = repro_matrix::model::arm::ModuleFormat::Spirv);
    let (native, spirv) = (native.to_str().unwrap(), spirv.to_str().unwrap());

    // From the file: no run at all.
    let output = tool(&["asm", native, "--kernel", "priv0", "-o", "file", "--print"], dir.path());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let text = stdout(&output);
    assert!(text.contains("from the file") && text.contains("send") && !text.contains("nopriv"), "{text}");
    assert!(dir.path().join("file/priv0.asm").is_file());
    let output = tool(&["asm", native, "--kernel", "conv2d", "-o", "file"], dir.path());
    assert_eq!(output.status.code(), Some(4));
    assert!(stderr(&output).contains("nopriv"), "it says what is there: {}", stderr(&output));
    let output = tool(&["asm", spirv, "-o", "file"], dir.path());
    assert_eq!(output.status.code(), Some(4));
    assert!(stderr(&output).contains("JIT"), "{}", stderr(&output));

    // From a run: ahead-of-time code by the driver's zebin, the driver's own by IGC's listing.
    for (module, out, route) in [(native, "aot", "ahead of time"), (spirv, "jit", "compiled in the run")] {
        let args = ["asm", "--device", "sim:a770", "--kernel", "priv0", "--print", "-o", out, "--"];
        let command = [TOOL, "level-zero", "--module", module, "--block-entries", "8", "--skip-upload"];
        let output = tool(&[&args[..], &command[..]].concat(), dir.path());
        let text = stdout(&output);
        assert_eq!(output.status.code(), Some(0), "{text}{}", stderr(&output));
        assert!(text.contains(route) && text.contains("send"), "{text}");
        assert!(!text.contains("nopriv\n"), "only what was asked for: {text}");
    }
    let left = std::fs::read_dir(dir.path()).unwrap().flatten();
    assert!(
        left.into_iter().all(|e| !e.file_name().to_string_lossy().starts_with("dumped_")),
        "dumps are moved"
    );
}

#[test]
fn two_runs_in_one_directory_take_their_own_dumps() {
    let dir = tempfile::tempdir().unwrap();
    let native = module(dir.path(), |_| {});
    let run = |out: &str| {
        let args =
            ["asm", "--device", "sim:a770", "-o", out, "--", TOOL, "level-zero", "--block-entries", "8"];
        let mut command = Command::new(TOOL);
        command.args(args).args(["--skip-upload", "--module"]).arg(&native).current_dir(dir.path());
        command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn().unwrap()
    };
    for child in [run("one"), run("two"), run("three")] {
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    }
}

#[test]
fn source_lines_stand_in_the_isa_that_a_run_compiled_or_loaded() {
    let dir = tempfile::tempdir().unwrap();
    let native = module(dir.path(), |v| v.options.push("-g".to_owned()));
    let spirv = module(dir.path(), |v| {
        v.options.push("-g".to_owned());
        v.format = repro_matrix::model::arm::ModuleFormat::Spirv;
    });
    for (module, out, route) in
        [(&native, "aot", "disassembled by ocloc"), (&spirv, "jit", "IGC's own listing")]
    {
        let args = ["asm", "--device", "sim:a770", "--kernel", "priv0", "-o", out, "--"];
        let command = [TOOL, "level-zero", "--block-entries", "8", "--skip-upload", "--module"];
        let output = tool(&[&args[..], &command[..], &[module.to_str().unwrap()]].concat(), dir.path());
        let text = stdout(&output);
        assert_eq!(output.status.code(), Some(0), "{text}{}", stderr(&output));
        assert!(text.contains(&format!("{route}, with source lines")), "{text}");
        let listing = std::fs::read_to_string(dir.path().join(out).join("priv0.asm")).unwrap();
        assert!(listing.contains("\n// Line "), "{listing}");
    }
}

#[test]
fn what_could_not_be_read_of_a_file_is_said_beside_what_could() {
    let dir = tempfile::tempdir().unwrap();
    let image = std::fs::read(module(dir.path(), |_| {})).unwrap();
    let mut archive = b"!<arch>\n".to_vec();
    for (name, bytes) in [("good/", &image[..]), ("cut/", &image[..image.len() / 2])] {
        archive
            .extend(format!("{name:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n", 0, 0, 0, 644, bytes.len()).bytes());
        archive.extend(bytes);
        archive.extend(vec![b'\n'; bytes.len() % 2]);
    }
    std::fs::write(dir.path().join("lib.a"), archive).unwrap();
    let output = tool(&["asm", "lib.a", "-o", "out"], dir.path());
    assert_eq!(output.status.code(), Some(40), "{}", stderr(&output));
    assert!(stdout(&output).contains("priv0"), "what could be read is there: {}", stdout(&output));
    let said = stderr(&output);
    assert!(said.contains("not read member cut") && said.contains("kernels may be missing"), "{said}");
}

#[test]
fn names_in_a_file_give_the_terminal_no_orders() {
    let dir = tempfile::tempdir().unwrap();
    let mut image = std::fs::read(module(dir.path(), |_| {})).unwrap();
    for at in 0..image.len() {
        if image[at..].starts_with(b"priv0") && !image[..at].ends_with(b"no") {
            image[at..at + 5].copy_from_slice(b"p\x1b[1m");
        }
    }
    std::fs::write(dir.path().join("image.bin"), image).unwrap();
    for args in [&["asm", "image.bin", "-o", "out"][..], &["inspect", "--kernels", "image.bin"]] {
        let said = stdout(&tool(args, dir.path()));
        assert!(said.contains("p\u{fffd}[1m") && !said.contains('\u{1b}'), "{said:?}");
    }
    let output = tool(&["asm", "/dev/null"], dir.path());
    assert!(stderr(&output).contains("/dev/null is not a regular file"), "{}", stderr(&output));
}

#[test]
fn starts_are_interleaved_and_a_failed_one_has_no_time() {
    let dir = tempfile::tempdir().unwrap();
    let (a, b) = (
        format!("a=sh -c 'echo a >> {0}'", dir.path().join("order").display()),
        format!("b=sh -c 'echo b >> {0}'", dir.path().join("order").display()),
    );
    let args = [
        "startup", "--device", "sim:a770", "--runs", "3", "--cache", "cold", "--json", "--build", &a,
        "--build", &b,
    ];
    let output = tool(&args, dir.path());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let order = std::fs::read_to_string(dir.path().join("order")).unwrap();
    assert_eq!(order.lines().collect::<String>(), "abbaab");
    let value: Value = serde_json::from_str(&stdout(&output)).unwrap();
    let rows = value["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 2);
    assert!(rows.iter().all(|row| row["seconds"].as_array().is_some_and(|s| s.len() == 3)));
    assert_eq!(rows[0]["ratio"]["median"], 1.0);
    assert_eq!(value["simulated"], true);
    let output =
        tool(&["startup", "--device", "sim:a770", "--build", "a=true", "--build", "b=false"], dir.path());
    assert_eq!(output.status.code(), Some(12), "{}", stderr(&output));
    assert_eq!(tool(&["startup", "--build", "a=true"], dir.path()).status.code(), Some(2));
}

#[test]
fn cold_starts_have_no_cache_and_warm_ones_find_what_a_start_before_left() {
    let dir = tempfile::tempdir().unwrap();
    // The shell's own commands only. What a compiler would keep is the file `x`.
    let build = |name: &str| {
        format!(
            "{name}=sh -c 'at=${{NEO_CACHE_DIR:-none}}; found=empty; [ -e $at/x ] && found=filled; \
             echo {name} $NEO_CACHE_PERSISTENT$SYCL_CACHE_PERSISTENT $found >> {}; \
             [ $at = none ] || [ $at != $SYCL_CACHE_DIR ] || : > $at/x'",
            dir.path().join("seen").display()
        )
    };
    let args = [
        "startup",
        "--device",
        "sim:a770",
        "--runs",
        "2",
        "--json",
        "--build",
        &build("a"),
        "--build",
        &build("b"),
    ];
    let output =
        Command::new(TOOL).args(args).env("NEO_CACHE_PERSISTENT", "1").current_dir(dir.path()).output();
    let output = output.unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let seen = std::fs::read_to_string(dir.path().join("seen")).unwrap();
    let cold = ["a 00 empty", "b 00 empty", "b 00 empty", "a 00 empty"];
    // Each build fills a cache of its own, unmeasured.
    let warm = ["a 11 empty", "b 11 empty", "a 11 filled", "b 11 filled", "b 11 filled", "a 11 filled"];
    assert_eq!(seen.lines().collect::<Vec<_>>(), [&cold[..], &warm[..]].concat());
    let value: Value = serde_json::from_str(&stdout(&output)).unwrap();
    let rows: Vec<_> = value["rows"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["seconds"].as_array().unwrap().len())
        .collect();
    assert_eq!(rows, [2, 2, 2, 2], "two builds, two kinds: what filled the caches is not among the times");

    // A build that keeps nothing has warm starts in name only.
    let args = ["startup", "--device", "sim:a770", "--runs", "1", "--cache", "warm", "--build", &build("a")];
    let output = tool(&[&args[..], &["--build", "none=true"]].concat(), dir.path());
    let said = stdout(&output);
    assert!(said.contains("none: no start filled its cache") && !said.contains("a: no start"), "{said}");
}

#[test]
fn outputs_are_compared_bit_by_bit_on_every_device() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("a.json"), r#"{"psnr": [31.25, 0.1], "fps": 10}"#).unwrap();
    std::fs::write(dir.path().join("b.json"), r#"{"psnr": [31.25, 0.1], "fps": 99}"#).unwrap();
    let code = |args: &[&str]| tool(&[&["compare-output"], args].concat(), dir.path()).status.code();
    assert_eq!(code(&["a.json", "b.json", "--ignore", "fps"]), Some(0));
    assert_eq!(code(&["a.json", "b.json"]), Some(10));
    std::fs::write(dir.path().join("empty.json"), "{}").unwrap();
    assert_eq!(code(&["empty.json", "empty.json"]), Some(12), "nothing compared is not equality");
    assert_eq!(code(&["a.json"]), Some(2));
    std::fs::create_dir(dir.path().join("none")).unwrap();
    assert_eq!(code(&["none", "none"]), Some(12), "nor are two directories without files");

    let builds = ["--build", "a=sh -c 'echo [1.5,2] > {out}'", "--build", "b=sh -c 'echo [1.5,3] > {out}'"];
    let devices = ["--device", "sim:a770", "--device", "sim:b580", "--kind", "json", "--json"];
    let output = tool(&[&["compare-output"], &builds[..], &devices[..]].concat(), dir.path());
    assert_eq!(output.status.code(), Some(10), "{}", stderr(&output));
    let value: Value = serde_json::from_str(&stdout(&output)).unwrap();
    let outputs = value["outputs"].as_array().unwrap();
    assert_eq!(outputs.len(), 2);
    assert!(outputs.iter().all(|o| o["values"] == 2 && o["different"] == 1), "{outputs:?}");
}

/// Two kernels in one module, as IGC's relocations name the first one only.
const SOURCE: &str = "kernel void first(global int *out, int n) {\n    out[get_global_id(0)] = n * 7;\n}\n\
                      kernel void second(global int *out, int n) {\n    int id = get_global_id(0);\n    \
                      if (id > n)\n        out[id] = n + 12345;\n}\n";

/// For each instruction that holds `word`: the source line that stands before it.
fn line_of(listing: &str, word: &str) -> Option<String> {
    let mut line = None;
    for text in listing.lines() {
        match text.strip_prefix("// Line ") {
            Some(place) => line = Some(place.to_owned()),
            None if text.contains(word) => return line,
            None => {}
        }
    }
    None
}

#[test]
fn source_lines_stand_in_the_isa_of_a_program_built_for_debugging() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("two.cl"), SOURCE).unwrap();
    let tree = Tree::open();
    for (options, file) in [("-g", "g"), ("-gline-tables-only", "tables"), ("", "none")] {
        let mut words = vec!["compile", "-file", "two.cl", "-device", "dg2-g10", "-out_dir", file];
        if !options.is_empty() {
            words.extend(["-options", options]);
        }
        let words: Vec<_> = words.iter().map(std::ffi::OsString::from).collect();
        let output = repro_matrix::build::Compiler::command(&tree, &words).current_dir(dir.path()).output();
        let output = output.unwrap();
        assert!(output.status.success(), "{}", stdout(&output));
        let image = format!("{file}/two_dg2.bin");
        let output = tool(&["asm", &image, "-o", "out"], dir.path());
        let said = stdout(&output);
        assert_eq!(output.status.code(), Some(0), "{said}{}", stderr(&output));
        let of =
            |kernel: &str| std::fs::read_to_string(dir.path().join(format!("out/{kernel}.asm"))).unwrap();
        let (first, second) = (of("first"), of("second"));
        if options.is_empty() {
            assert!(!said.contains("source lines") && !first.contains("// Line"), "{said}");
            continue;
        }
        assert_eq!(said.matches("from the file, with source lines").count(), 2, "{said}");
        // The instruction is known by its constant; its line by the source above.
        let number = |place: Option<String>| place.unwrap_or_default().split(':').next().unwrap().to_owned();
        assert_eq!(number(line_of(&first, "7:w")), "2", "{first}");
        assert_eq!(number(line_of(&second, "12345:")), "7", "{second}");
        if options == "-g" {
            damaged_debug_information_is_an_answer_too(&std::fs::read(dir.path().join(&image)).unwrap());
            let of = dir.path().canonicalize().unwrap().join("two.cl");
            assert!(second.contains(&format!("// File: {}", of.display())), "{second}");
            let text = line_of(&second, "12345:").unwrap();
            assert!(text.ends_with("out[id] = n + 12345;"), "the text where the file is here: {text}");
        }
    }
}

/// Any answer will do, with no more rows than the image has bytes.
fn damaged_debug_information_is_an_answer_too(image: &[u8]) {
    let read = |bytes: &[u8]| match repro_matrix::asm::lines(bytes) {
        Ok(lines) => {
            assert!(lines.values().map(|lines| lines.at.len()).sum::<usize>() <= bytes.len());
            false
        }
        Err(why) => !why.is_empty(),
    };
    let (mut whole, mut refused) = (image.to_vec(), 0);
    for (at, damage) in (0..image.len()).zip([1, 0x80, 0xff].into_iter().cycle()) {
        whole[at] ^= damage;
        refused += u32::from(read(&whole));
        whole[at] ^= damage;
        read(&image[..at]);
    }
    assert!(refused > 100, "the debug information itself was damaged: {refused}");
}
