//! The driver store against the real packages: fetched once from this machine's mirror, then used in every way.
//!
//! Needs the network (76 MB). Without it these tests fail and say so; they do not pass by doing nothing.

#[path = "support/http.rs"]
mod http;

use std::ffi::OsStr;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;

use repro_matrix::driver::{DriverError, DriverStore, Role};
use serde_json::Value;

/// One fetched store and its packages, for all tests of this file.
struct Fixture {
    data: PathBuf,
    debs: Vec<PathBuf>,
    log: String,
}

fn fixture() -> &'static Fixture {
    static FIXTURE: OnceLock<Fixture> = OnceLock::new();
    FIXTURE.get_or_init(|| {
        // Not a temporary directory: nobody would drop it, and 400 MB would stay after every run.
        let home = Path::new(env!("CARGO_TARGET_TMPDIR")).join("drivers");
        let _ = fs::remove_dir_all(&home);
        let data = home.join("data");
        let kept = home.join("debs");
        let output =
            tool(&data, &[OsStr::new("drivers"), "fetch".as_ref(), "--keep-debs".as_ref(), kept.as_ref()]);
        let log = stderr(&output);
        assert!(output.status.success(), "the mirror could not be reached, or the fetch is broken:\n{log}");
        let mut debs: Vec<PathBuf> =
            fs::read_dir(kept).expect("kept packages").map(|entry| entry.expect("entry").path()).collect();
        debs.sort();
        Fixture { data, debs, log }
    })
}

fn command(data: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_repro-matrix"));
    command.env("REPRO_MATRIX_DATA", data).stdin(Stdio::null());
    command
}

fn tool<S: AsRef<OsStr>>(data: &Path, arguments: &[S]) -> Output {
    command(data).args(arguments).output().expect("repro-matrix starts")
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn manifest(data: &Path, name: &str) -> Value {
    let output = tool(data, &["drivers", "show", name, "--json"]);
    assert!(output.status.success(), "{}", stderr(&output));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

fn add(data: &Path, name: &str, arguments: &[&OsStr]) -> Output {
    command(data).args(["drivers", "add", name]).args(arguments).output().expect("repro-matrix starts")
}

fn store() -> DriverStore {
    DriverStore::at(fixture().data.join("drivers"))
}

fn sha_of(manifest: &Value, role: &str) -> Value {
    let libraries = manifest["libraries"].as_array().expect("libraries");
    libraries.iter().find(|library| library["role"] == role).expect(role)["sha256"].clone()
}

#[test]
fn fetched_build_is_whole_and_its_hash_holds() {
    let fixture = fixture();
    assert!(fixture.log.contains("fetch ") && fixture.log.contains("ready "), "{}", fixture.log);
    let manifest = manifest(&fixture.data, "debian");
    let package = |name: &str| {
        let packages = manifest["packages"].as_array().expect("packages");
        packages.iter().find(|package| package["name"] == name).map(|package| package["version"].to_string())
    };
    let neo = manifest["versions"]["neo"].as_str().expect("NEO's version");
    assert!(package("libze-intel-gpu1").expect("the driver's package").contains(neo));
    assert_eq!(manifest["name"], format!("debian-{neo}"));
    assert!(package("libc6").is_some() && package("libze1").is_some() && package("intel-ocloc").is_some());
    for role in ["neo", "igc", "igdfcl", "gmmlib", "loader", "ocloc", "libc", "ld-so"] {
        sha_of(&manifest, role);
    }
    // An independent witness: coreutils.
    let driver = store().resolve("default").expect("a build").driver_path().expect("a driver");
    let output = Command::new("sha256sum").arg(&driver).output().expect("sha256sum");
    let sum = String::from_utf8_lossy(&output.stdout);
    assert_eq!(sum.split_whitespace().next(), sha_of(&manifest, "neo").as_str());

    let verified = tool(&fixture.data, &["drivers", "show", "debian", "--verify"]);
    assert!(verified.status.success(), "{}", stderr(&verified));
}

#[test]
fn a_repeated_fetch_downloads_nothing() {
    let fixture = fixture();
    let before = manifest(&fixture.data, "debian:forky");
    let output = tool(&fixture.data, &["drivers", "fetch", "debian"]);
    assert!(output.status.success() && stderr(&output).contains("have it"), "{}", stderr(&output));
    assert!(!stderr(&output).contains("unpack"), "{}", stderr(&output));
    assert_eq!(before, manifest(&fixture.data, "debian"));
}

#[test]
fn the_same_packages_added_by_hand_are_the_same_build() {
    let fixture = fixture();
    let data = tempfile::tempdir().expect("tempdir");
    let mut arguments: Vec<&OsStr> = vec!["--deb".as_ref()];
    arguments.extend(fixture.debs.iter().map(|deb| deb.as_os_str()));
    // Killed in the middle of unpacking: no build by that name, and the next try is not disturbed.
    let mut child = command(data.path())
        .args(["drivers", "add", "mine"])
        .args(&arguments)
        .stderr(Stdio::piped())
        .spawn()
        .expect("repro-matrix starts");
    let mut lines = BufReader::new(child.stderr.take().expect("stderr")).lines();
    lines
        .find(|line| line.as_ref().is_ok_and(|line| line.contains("unpack   libigc")))
        .expect("unpacking")
        .expect("line");
    child.kill().expect("kill");
    child.wait().expect("wait");
    assert!(data.path().join("drivers/mine.partial").is_dir());
    let list = tool(data.path(), &["drivers", "list", "--json"]);
    let list: Value = serde_json::from_slice(&list.stdout).expect("JSON");
    assert!(list["builds"]["mine"].is_null() && list["broken"]["mine"].is_null(), "{list}");

    let output = add(data.path(), "mine", &arguments);
    assert!(output.status.success(), "{}", stderr(&output));
    let mine = manifest(data.path(), "mine");
    assert_eq!(mine["hash"], manifest(&fixture.data, "debian")["hash"]);
    assert_eq!(mine["provenance"]["kind"], "debs");

    let again = add(data.path(), "mine", &arguments);
    assert_eq!(again.status.code(), Some(22));
    assert!(stderr(&again).contains("already is") && stderr(&again).contains("drivers remove mine"));
    assert!(tool(data.path(), &["drivers", "remove", "mine"]).status.success());
    assert!(!data.path().join("drivers/mine").exists());
}

#[test]
fn programs_of_the_build_run_here_whatever_the_glibc() {
    let tree = store().resolve("debian").expect("a build");
    let directory = tempfile::tempdir().expect("tempdir");
    fs::write(directory.path().join("k.cl"), "kernel void k(global int *p) { p[get_global_id(0)] = 7; }\n")
        .expect("source");
    // Through the front end and the code generator: every library of the compiler is loaded.
    let spec =
        tree.launch_ocloc(["compile", "-q", "-file", "k.cl", "-device", "dg2"]).expect("a launch line");
    let output = spec.command().current_dir(directory.path()).output().expect("ocloc starts");
    assert!(
        output.status.success(),
        "{spec:?}: {}{}",
        String::from_utf8_lossy(&output.stdout),
        stderr(&output)
    );
    let made = fs::read_dir(directory.path()).expect("directory").flatten();
    let binary = made.map(|entry| entry.path()).find(|path| path.extension().is_some_and(|e| e == "bin"));
    let bytes = fs::read(binary.expect("a device binary")).expect("read");
    assert!(bytes.starts_with(b"\x7fELF"), "a zebin is an ELF file");

    let alt = spec.env.iter().find(|(key, _)| key == "ZE_ENABLE_ALT_DRIVERS").expect("the driver is named");
    assert!(Path::new(&alt.1).is_absolute() && Path::new(&alt.1).is_file());
    let newer = tree.manifest.versions.glibc.as_deref().is_some_and(|version| {
        let parse = |text: &str| text.split('.').map(|n| n.parse::<u32>().unwrap_or(0)).collect::<Vec<_>>();
        repro_matrix::driver::host_glibc().is_none_or(|host| parse(version) > parse(&host.to_string()))
    });
    assert_eq!(spec.through_ld_so, newer);
}

/// The libraries that a program mapped are the ones that the tree names: asked of the kernel, of a live process.
#[test]
fn a_launched_program_maps_the_builds_libraries() {
    let tree = store().resolve("debian").expect("a build");
    // This machine's own `cat`, linked against its own glibc, waits for input.
    let spec = tree.launch(Path::new("cat"), [""; 0]).expect("a launch line");
    let mut command = spec.command();
    let preload = tree.loader_path().expect("a loader");
    let mut child = command.env("LD_PRELOAD", &preload).stdin(Stdio::piped()).spawn().expect("cat starts");
    let loader =
        tree.expected_libraries().into_iter().find(|library| library.role == Role::Loader).expect("loader");
    let wanted = loader.path.display().to_string();
    let found = (0..500).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(10));
        fs::read_to_string(format!("/proc/{}/maps", child.id())).is_ok_and(|maps| maps.contains(&wanted))
    });
    drop(child.stdin.take());
    let status = child.wait().expect("wait");
    assert!(found, "{wanted} was not mapped");
    assert!(status.success());
}

#[test]
fn a_prefix_gives_the_same_driver() {
    let fixture = fixture();
    let data = tempfile::tempdir().expect("tempdir");
    let root = store().resolve("debian").expect("a build").root;
    let output = add(data.path(), "prefix", &["--prefix".as_ref(), root.as_os_str()]);
    assert!(output.status.success(), "{}", stderr(&output));
    let (prefix, fetched) = (manifest(data.path(), "prefix"), manifest(&fixture.data, "debian"));
    for role in ["neo", "igc", "gmmlib", "loader"] {
        assert_eq!(sha_of(&prefix, role), sha_of(&fetched, role), "{role}");
    }
    let tree = DriverStore::at(data.path().join("drivers")).resolve("prefix").expect("a build");
    let spec = tree.launch_ocloc(["query", "OCL_DRIVER_VERSION"]).expect("a launch line");
    let output = spec.command().current_dir(data.path()).output().expect("ocloc starts");
    assert!(output.status.success(), "{}", stderr(&output));

    let empty = tempfile::tempdir().expect("tempdir");
    let output = add(data.path(), "nothing", &["--prefix".as_ref(), empty.path().as_os_str()]);
    assert_eq!(output.status.code(), Some(22));
    assert!(stderr(&output).contains("no libze_intel_gpu"), "{}", stderr(&output));
}

#[test]
fn a_lone_library_takes_the_rest_from_its_base() {
    let store = store();
    let base = store.resolve("debian").expect("a build");
    let data = tempfile::tempdir().expect("tempdir");
    let patched = data.path().join("driver-patched.so");
    let mut bytes = fs::read(base.driver_path().expect("driver")).expect("read");
    bytes.extend_from_slice(b"patched"); // After the last section: another file, still a whole one.
    fs::write(&patched, bytes).expect("write");
    let data = &fixture().data;
    let output =
        add(data, "patched", &["--lib".as_ref(), patched.as_os_str(), "--base".as_ref(), "debian".as_ref()]);
    assert!(output.status.success(), "{}", stderr(&output));

    let tree = store.resolve("patched").expect("a build");
    let expected = tree.expected_libraries();
    let path = |role: Role| &expected.iter().find(|library| library.role == role).expect("a library").path;
    assert!(path(Role::Neo).starts_with(&tree.root), "{expected:?}");
    assert!(path(Role::Igc).starts_with(&base.root), "{expected:?}");
    assert!(tree.summary().contains("IGC"), "{}", tree.summary());
    let spec = tree.launch_ocloc(["query", "OCL_DRIVER_VERSION"]).expect("a launch line");
    assert!(spec.env.iter().any(|(_, value)| Path::new(value).starts_with(&tree.root)), "{spec:?}");
    assert!(spec.command().current_dir(std::env::temp_dir()).output().expect("ocloc").status.success());

    // The base is held, and `debian` still is the fetched one.
    let refused = tool(data, &["drivers", "remove", &base.manifest.name]);
    assert!(
        !refused.status.success() && stderr(&refused).contains("base of patched"),
        "{}",
        stderr(&refused)
    );
    assert_eq!(store.resolve("default").expect("a build").manifest.hash, base.manifest.hash);

    damage(&store, &tree.root, path(Role::Neo));
    assert!(tool(data, &["drivers", "remove", "patched"]).status.success());
    assert!(matches!(store.resolve("patched"), Err(DriverError::Unknown { .. })));
}

/// What resolve and verify notice of a changed library.
fn damage(store: &DriverStore, root: &Path, library: &Path) {
    assert!(library.starts_with(root));
    let file = fs::File::options().read(true).write(true).open(library).expect("open");
    let time = file.metadata().and_then(|metadata| metadata.modified()).expect("time");
    // Touched only: the hash decides, and it holds.
    file.set_modified(time + std::time::Duration::from_secs(5)).expect("touch");
    store.resolve("patched").expect("only touched");
    // One byte, with its old time: the cheap check cannot see it, the whole one must.
    use std::os::unix::fs::FileExt;
    let mut byte = [0_u8];
    file.read_exact_at(&mut byte, 1 << 20).expect("read");
    file.write_all_at(&[!byte[0]], 1 << 20).expect("write");
    file.set_modified(time).expect("time");
    let tree = store.resolve("patched").expect("the cheap check");
    assert!(matches!(tree.verify(), Err(DriverError::Damaged { .. })));
    // One byte more.
    file.set_len(file.metadata().expect("length").len() + 1).expect("length");
    let error = store.resolve("patched").expect_err("another size").to_string();
    assert!(error.contains("damaged") && error.contains("bytes instead of"), "{error}");
}

#[test]
fn broken_inputs_are_refused_in_words() {
    let fixture = fixture();
    let data = tempfile::tempdir().expect("tempdir");
    let text = data.path().join("text.deb");
    fs::write(&text, "this is no package\n").expect("write");
    let cut_deb = data.path().join("cut.deb");
    let big = fixture.debs.iter().find(|deb| deb.to_string_lossy().contains("libigc2")).expect("libigc2");
    fs::write(&cut_deb, fs::read(big).expect("read").get(..1 << 20).expect("long")).expect("write");
    let cut_lib = data.path().join("libze_intel_gpu.so.1");
    let driver = store().resolve("debian").expect("a build").driver_path().expect("driver");
    fs::write(&cut_lib, fs::read(&driver).expect("read").get(..5 << 20).expect("long")).expect("write");
    let loader = store().resolve("debian").expect("a build").loader_path().expect("loader");
    let igc_only: Vec<&OsStr> = vec!["--deb".as_ref(), big.as_os_str()];
    let neo =
        fixture.debs.iter().find(|deb| deb.to_string_lossy().contains("libze-intel-gpu1")).expect("driver");
    let cases: [(&str, Vec<&OsStr>, i32, &str); 10] = [
        ("x", vec!["--deb".as_ref(), text.as_os_str()], 22, "text.deb"),
        ("x", vec!["--deb".as_ref(), cut_deb.as_os_str()], 22, "cut.deb"),
        ("x", vec!["--deb".as_ref(), "/nonexistent.deb".as_ref()], 22, "no such file"),
        ("x", igc_only, 22, "no libze_intel_gpu"),
        ("x", vec!["--deb".as_ref(), neo.as_os_str()], 22, "libigc.so."),
        ("x", vec!["--lib".as_ref(), cut_lib.as_os_str()], 22, "cut short"),
        ("x", vec!["--lib".as_ref(), text.as_os_str()], 22, "not an ELF file"),
        ("x", vec!["--lib".as_ref(), loader.as_os_str()], 22, "no Level Zero driver"),
        ("a/b", vec!["--lib".as_ref(), driver.as_os_str()], 2, "cannot be a name"),
        ("x", vec![], 2, "required"),
    ];
    for (name, arguments, code, words) in cases {
        if words == "libigc.so." && Path::new("/usr/lib/x86_64-linux-gnu/libigc.so.2").exists() {
            continue; // This machine would supply it.
        }
        let output = add(data.path(), name, &arguments);
        let log = stderr(&output);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {log}");
        assert!(log.contains(words), "{arguments:?}: {log}");
    }
    let left: Vec<_> = fs::read_dir(data.path().join("drivers")).expect("store").flatten().collect();
    assert!(left.iter().all(|entry| entry.file_name() == ".lock"), "{left:?}");

    let unknown = tool(&fixture.data, &["drivers", "show", "debain"]);
    assert_eq!(unknown.status.code(), Some(22));
    assert!(stderr(&unknown).contains("drivers list"), "{}", stderr(&unknown));
    assert_eq!(tool(&fixture.data, &["drivers", "fetch", "ubuntu"]).status.code(), Some(2));
    let suite = tool(data.path(), &["drivers", "fetch", "debian:nosuchsuite"]);
    assert_eq!(suite.status.code(), Some(22));
    assert!(stderr(&suite).contains("nosuchsuite"), "{}", stderr(&suite));
}

#[test]
fn of_two_at_once_one_wins() {
    let fixture = fixture();
    let data = tempfile::tempdir().expect("tempdir");
    let mut arguments: Vec<&OsStr> = vec!["--deb".as_ref()];
    arguments.extend(fixture.debs.iter().map(|deb| deb.as_os_str()));
    let results: Vec<bool> = std::thread::scope(|scope| {
        let run = || add(data.path(), "one", &arguments).status.success();
        let workers = [scope.spawn(run), scope.spawn(run)];
        workers.into_iter().map(|worker| worker.join().expect("thread")).collect()
    });
    assert_eq!(results.iter().filter(|won| **won).count(), 1, "{results:?}");
    assert!(tool(data.path(), &["drivers", "show", "one", "--verify"]).status.success());
}

#[test]
fn a_full_disk_is_named_and_leaves_nothing() {
    let fixture = fixture();
    let place = tempfile::tempdir().expect("tempdir");
    let debs: Vec<String> = fixture.debs.iter().map(|deb| format!("'{}'", deb.display())).collect();
    // A small file system of our own, in a mount namespace that ends with the shell.
    let script = format!(
        "mount -t tmpfs -o size=24m tmpfs '{0}' || exit 99; REPRO_MATRIX_DATA='{0}' '{1}' drivers add x --deb {2}; \
         code=$?; ls '{0}/drivers'; exit $code",
        place.path().display(),
        env!("CARGO_BIN_EXE_repro-matrix"),
        debs.join(" ")
    );
    let output =
        Command::new("unshare").args(["--user", "--map-root-user", "--mount", "sh", "-c", &script]).output();
    let mut output = output.expect("unshare starts");
    if !matches!(output.status.code(), Some(22 | 41)) {
        // No user namespaces: as root a mount namespace is enough.
        output =
            Command::new("unshare").args(["--mount", "sh", "-c", &script]).output().expect("unshare starts");
    }
    let log = stderr(&output);
    if output.status.code() == Some(99) || log.contains("unshare failed") {
        eprintln!("not tested: this machine allows no file system of our own: {log}");
        return;
    }
    assert_eq!(output.status.code(), Some(41), "{log}");
    assert!(log.contains("no room left") && log.contains("REPRO_MATRIX_DATA"), "{log}");
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "", "nothing is left behind");
}

#[test]
fn doctor_is_content_with_a_fetched_build_where_a_device_can_be() {
    let output = tool(&fixture().data, &["doctor", "--json"]);
    let value: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let state = |feature: &str| {
        let checks = value["checks"].as_array().expect("checks");
        checks.iter().find(|check| check["feature"] == feature).expect(feature)["state"].clone()
    };
    assert_eq!((state("driver build"), state("ocloc")), ("ok".into(), "ok".into()));
    let simulated =
        ["seccomp notify", "process_vm_readv", "kcmp"].iter().all(|feature| state(feature) == "ok");
    let possible = state("Intel render node") == "ok" || simulated;
    assert_eq!(value["usable"], possible);
    assert_eq!(output.status.code(), Some(if possible { 0 } else { 20 }));
}

/// Two releases as a lab keeps them: the fetched driver package, and the same with another version.
fn two_releases(root: &Path) -> Vec<String> {
    let is_driver = |path: &&PathBuf| {
        path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("libze-intel-gpu1"))
    };
    let driver = fixture().debs.iter().find(is_driver).expect("the driver's package");
    let old = root.join("a");
    fs::create_dir_all(&old).expect("directory");
    fs::copy(driver, old.join("driver.deb")).expect("copy");
    let (unpacked, new) = (root.join("work"), root.join("b"));
    fs::create_dir_all(&new).expect("directory");
    let run = |program: &str, args: &[&OsStr]| {
        let out = Command::new(program).args(args).output().expect(program);
        assert!(out.status.success(), "{program}: {}", stderr(&out));
        String::from_utf8_lossy(&out.stdout).into_owned()
    };
    run("dpkg-deb", &["-R".as_ref(), driver.as_ref(), unpacked.as_ref()]);
    let control = unpacked.join("DEBIAN/control");
    let text = fs::read_to_string(&control).expect("control");
    let changed: Vec<String> = text
        .lines()
        .map(
            |line| {
                if line.starts_with("Version: ") { "Version: 99.1.2-1".to_owned() } else { line.to_owned() }
            },
        )
        .collect();
    fs::write(&control, changed.join("\n") + "\n").expect("control");
    run("dpkg-deb", &["-Znone".as_ref(), "-b".as_ref(), unpacked.as_ref(), new.join("driver.deb").as_ref()]);
    fs::remove_dir_all(&unpacked).expect("clean up");
    let index = run("ci/driver-index", &[root.as_ref()]);
    fs::write(root.join("index.toml"), &index).expect("index");
    let versions = index.lines().filter_map(|line| line.strip_prefix("version = "));
    versions.map(|version| version.trim_matches('"').to_owned()).collect()
}

#[test]
fn releases_of_an_index_are_fetched_by_range_resumed_and_checked() {
    let tmp = tempfile::tempdir().expect("tempdir");
    let root = tmp.path().join("lab");
    let versions = two_releases(&root);
    assert_eq!((versions.len(), versions[1].as_str()), (2, "99.1.2"));
    let server = http::Server::start(&root);
    let index = format!("{}/index.toml", server.address);
    // A store of its own, with the fetched build as the base that fills the gaps.
    let data = tmp.path().join("data");
    fs::create_dir_all(data.join("drivers")).expect("store");
    let base = store().resolve("debian").expect("base").manifest.name;
    std::os::unix::fs::symlink(fixture().data.join("drivers").join(&base), data.join("drivers").join(&base))
        .expect("link");
    let fetch = |more: &[&str]| {
        let out = command(&data)
            .args(["drivers", "fetch", "--index", &index, "--base", &base])
            .args(more)
            .output()
            .expect("the tool runs");
        (out.status.code(), stderr(&out))
    };
    // The connection breaks in the middle; the next call goes on from there.
    server.break_once("b/driver.deb");
    let (code, log) = fetch(&["--range", "99.."]);
    assert_eq!(code, Some(22), "{log}");
    assert!(log.contains("curl"), "{log}");
    let (code, log) = fetch(&["--range", "99.."]);
    assert_eq!(code, Some(0), "{log}");
    assert!(log.contains("go on") && log.contains("ready    neo-99.1.2"), "{log}");
    let seen = server.seen.lock().expect("no panic").clone();
    let resumed = |line: &String| line.starts_with("GET /b/driver.deb from ") && !line.ends_with(" from 0");
    assert!(seen.iter().any(resumed), "the second call asked for the rest only: {seen:?}");
    assert!(!seen.iter().any(|line| line.contains("/a/")), "outside of the range: {seen:?}");
    // Everything: what is there is not downloaded again, and both are builds side by side.
    let (code, log) = fetch(&[]);
    assert_eq!(code, Some(0), "{log}");
    assert!(
        log.contains("have it  neo-99.1.2") && log.contains(&format!("ready    neo-{}", versions[0])),
        "{log}"
    );
    let shown = manifest(&data, "neo-99.1.2");
    assert_eq!(shown["packages"][0]["version"], "99.1.2-1");
    // A file that is not the one of the index is not used.
    let text = fs::read_to_string(root.join("index.toml")).expect("index");
    let at = text.rfind("sha256 = \"").expect("a hash") + "sha256 = \"".len();
    let wrong = format!("{}{}{}", &text[..at], "0".repeat(64), &text[at + 64..]).replace("99.1.2", "99.9.9");
    fs::write(root.join("index.toml"), wrong).expect("index");
    let (code, log) = fetch(&["--range", "99.9.9"]);
    assert_eq!(code, Some(22), "{log}");
    assert!(log.contains("SHA-256") && !data.join("drivers/neo-99.9.9").exists(), "{log}");
}
