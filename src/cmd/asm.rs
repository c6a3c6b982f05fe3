//! `repro-matrix asm`.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::AtomicBool;

use crate::asm::{Launched, Pick, has_lines, kernel_of, kernel_of_section, launched, shown};
use crate::build::TreeCompiler;
use crate::build::compile;
use crate::cli::asm::AsmArgs;
use crate::cmd::Failure;
use crate::cmd::asm_dumps::Dumps;
use crate::cmd::asm_lines::{SourceLines, Woven};
use crate::cmd::on_device::Stand;
use crate::cmd::say::harmless;
use crate::driver::DriverStore;
use crate::exit::Exit;
use crate::inspect::{self, FileReport, Limits, targets};
use crate::report::words::plural;

static GO_ON: AtomicBool = AtomicBool::new(false);

/// ISA that was found: kernel's name in the module, how it was had, the text's file.
struct Isa {
    name: String,
    route: String,
    file: PathBuf,
}

pub fn asm(args: &AsmArgs) -> Result<Exit, Failure> {
    let pick = Pick::new(args.kernel.as_deref(), args.regex.as_deref())
        .map_err(|error| Failure::new(Exit::Usage, error))?;
    fs::create_dir_all(&args.out).map_err(|e| cannot(&args.out, &e))?;
    let out = args.out.canonicalize().map_err(|e| cannot(&args.out, &e))?;
    match &args.file {
        Some(file) => from_file(args, file, &pick, &out),
        None => from_run(args, &pick, &out),
    }
}

pub(super) fn cannot(path: &Path, error: &std::io::Error) -> Failure {
    Failure::new(Exit::CannotRecord, format_args!("{}: {error}", path.display()))
}

fn from_file(args: &AsmArgs, file: &Path, pick: &Pick, out: &Path) -> Result<Exit, Failure> {
    let wanted = match args.target.as_deref() {
        None => None,
        Some(name) => Some(targets::find(name).ok_or_else(|| {
            Failure::new(
                Exit::Usage,
                format_args!("--target {name} is no device name or IP version that is known"),
            )
        })?),
    };
    let mut zebins: Vec<(String, Vec<u8>)> = Vec::new();
    let report = super::inspect::read(file, Limits::default(), &mut |image, bytes| {
        let Some(target) = &image.target else { return };
        let ip = target.ip.as_deref().and_then(targets::Ip::parse);
        let kernels = image.kernels.iter().flatten().any(|kernel| pick.takes(&kernel.name));
        if kernels && wanted.is_none_or(|wanted| ip == Some(wanted)) {
            let device =
                target.acronyms.first().map_or_else(|| target.name.clone(), |name| (*name).to_owned());
            zebins.push((device, bytes.to_vec()));
        }
    })?;
    let compiler = compiler(&args.driver)?;
    let mut found = Vec::new();
    for (index, (device, bytes)) in zebins.iter().enumerate() {
        let place = out.join(format!("image{index}-{device}"));
        found.extend(disassemble(&compiler, bytes, device, &place, "from the file")?);
    }
    let exit = finish(args, pick, found, &[], &why_not_in_file(&report, args), out)?;
    if report.problems.is_empty() {
        return Ok(exit);
    }
    // Kernels may have been in what was lost.
    for problem in report.problems.iter().take(5) {
        super::say::note(format_args!("not read {}: {}", harmless(&problem.place), harmless(&problem.what)));
    }
    let all = plural(report.problems.len(), "part");
    super::say::note(format_args!(
        "warning: {all} of {} could not be read: kernels may be missing",
        file.display()
    ));
    Ok(Exit::IncompatibleRecording)
}

fn why_not_in_file(report: &FileReport, args: &AsmArgs) -> String {
    if let Some(problem) = report.problems.first() {
        return format!("{}: {}", problem.place, problem.what);
    }
    let native: Vec<&str> =
        report.images.iter().filter_map(|image| Some(image.target.as_ref()?.name.as_str())).collect();
    if report.images.is_empty() {
        "the file holds no device code".to_owned()
    } else if native.is_empty() {
        "the file holds no native code, only what the driver compiles (JIT): run the program with \
         `repro-matrix asm … -- COMMAND`"
            .to_owned()
    } else {
        let names: Vec<String> = report
            .images
            .iter()
            .flat_map(|image| image.kernels.iter().flatten())
            .take(10)
            .map(|kernel| shown(&kernel.name))
            .collect();
        let target = args.target.as_deref().map_or_else(String::new, |t| format!(" for --target {t}"));
        format!(
            "no kernel{target} has that name; images are for {}; kernels: {}",
            native.join(", "),
            names.join(", ")
        )
    }
}

/// Runs `ocloc disasm` on one zebin; gives every kernel's file.
fn disassemble(
    compiler: &TreeCompiler,
    zebin: &[u8],
    device: &str,
    place: &Path,
    route: &str,
) -> Result<Vec<Isa>, Failure> {
    let _ = fs::remove_dir_all(place);
    fs::create_dir_all(place).map_err(|e| cannot(place, &e))?;
    let input = place.join("module.elf");
    fs::write(&input, zebin).map_err(|e| cannot(&input, &e))?;
    let words = ["disasm", "-file", "module.elf", "-dump", "sections", "-device", device];
    let words: Vec<OsString> = words.iter().map(OsString::from).collect();
    compile::run(compiler, &words, place, std::time::Duration::from_secs(300), &GO_ON)
        .map_err(|error| Failure::new(Exit::BuildFailed, error.explain()))?;
    let sections = place.join("sections");
    let source = SourceLines::of(zebin, place.join("lines"));
    let mut found = Vec::new();
    for entry in fs::read_dir(&sections).map_err(|e| cannot(&sections, &e))?.flatten() {
        let file = entry.file_name().to_string_lossy().into_owned();
        if let Some(name) = kernel_of_section(&file) {
            let (route, file) = match source.woven(name, &entry.path())? {
                Woven::With(file) => (format!("{route}, with source lines"), file),
                Woven::NoneThere => (route.to_owned(), entry.path()),
                Woven::Unusable(why) => (format!("{route}; without source lines: {why}"), entry.path()),
            };
            found.push(Isa { name: name.to_owned(), route, file });
        }
    }
    Ok(found)
}

fn compiler(driver: &str) -> Result<TreeCompiler, Failure> {
    let store = DriverStore::open().map_err(super::drivers::failure)?;
    let tree = store.resolve(driver).map_err(super::drivers::failure)?;
    TreeCompiler::new(&tree).map_err(super::drivers::failure)
}

fn from_run(args: &AsmArgs, pick: &Pick, out: &Path) -> Result<Exit, Failure> {
    let stand = Stand::new(&args.driver, &args.device, args.runtime.as_deref())?;
    let compiler = TreeCompiler::new(&stand.tree).map_err(super::drivers::failure)?;
    let igc = out.join("igc");
    let _ = fs::remove_dir_all(&igc);
    fs::create_dir_all(&igc).map_err(|e| cannot(&igc, &e))?;
    let log = out.join("run.log");
    let file = fs::File::create(&log).map_err(|e| cannot(&log, &e))?;
    let other = file.try_clone().map_err(|e| cannot(&log, &e))?;
    let dumps = Dumps::watch()?;
    let mut command = stand.command(&args.command)?;
    command.env("NEOReadDebugKeys", "1").env("DumpZEBin", "1").env("SYCL_UR_TRACE", "2");
    command.env("IGC_ShaderDumpEnable", "1").env("IGC_DumpToCustomDir", &igc);
    command.stdin(Stdio::null()).stdout(file).stderr(other);
    let end = super::timed::run(command, args.timeout)?;
    super::say::note(format_args!("run      {} (its output: {})", end.describe(), log.display()));
    let zebins = out.join("zebins");
    let _ = fs::remove_dir_all(&zebins);
    fs::create_dir_all(&zebins).map_err(|e| cannot(&zebins, &e))?;
    let dumps = dumps.take()?;
    let mut found = jit(&igc)?;
    let by_igc: Vec<String> = found.iter().map(|isa| isa.name.clone()).collect();
    let mut of_driver: BTreeMap<String, Isa> = BTreeMap::new();
    let device_name = stand.device.profile().map_or("dg2", |profile| profile.card());
    for (index, bytes) in dumps.iter().enumerate() {
        let report = inspect::inspect("dump", bytes, Limits::default());
        let target = report.images.iter().find_map(|image| image.target.as_ref());
        let device = target.and_then(|target| target.acronyms.first().copied()).unwrap_or(device_name);
        let names = report.images.iter().flat_map(|image| image.kernels.iter().flatten());
        // Only modules with a kernel that is wanted and that IGC did not print itself.
        if names.clone().any(|kernel| pick.takes(&kernel.name) && !by_igc.contains(&kernel.name)) {
            let place = zebins.join(index.to_string());
            let route = "ahead of time: the driver's zebin, disassembled by ocloc";
            for isa in disassemble(&compiler, bytes, device, &place, route)? {
                of_driver.entry(isa.name.clone()).or_insert(isa);
            }
        }
    }
    found.extend(of_driver.into_values().filter(|isa| !by_igc.contains(&isa.name)));
    let text = fs::read(&log).map_err(|e| cannot(&log, &e))?;
    let launches = launched(&String::from_utf8_lossy(&text));
    let why = if dumps.is_empty() {
        "the driver loaded no module: did the program reach this driver and create a kernel? See run.log"
            .to_owned()
    } else {
        let names: Vec<String> = found.iter().map(|isa| shown(&isa.name)).collect();
        format!(
            "the modules that were loaded hold: {}",
            if names.is_empty() { "no kernel of that name".to_owned() } else { names.join(", ") }
        )
    };
    finish(args, pick, found, &launches, &why, out)
}

/// What IGC printed: the driver compiled these kernels during the run.
fn jit(igc: &Path) -> Result<Vec<Isa>, Failure> {
    let mut found = Vec::new();
    for entry in fs::read_dir(igc).map_err(|e| cannot(igc, &e))?.flatten() {
        let path = entry.path();
        if path.extension().is_none_or(|extension| extension != "asm") {
            continue;
        }
        let text = fs::read(&path).map_err(|e| cannot(&path, &e))?;
        let text = String::from_utf8_lossy(&text);
        if let Some(name) = kernel_of(&text) {
            let lines = if has_lines(&text) { ", with source lines" } else { "" };
            let route = format!("compiled in the run: IGC's own listing{lines}");
            found.push(Isa { name: name.to_owned(), route, file: path });
        }
    }
    found.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(found)
}

/// Copies what was picked to `OUT/KERNEL.asm`, lists it, and says why nothing matched.
fn finish(
    args: &AsmArgs,
    pick: &Pick,
    found: Vec<Isa>,
    launches: &[Launched],
    why_not: &str,
    out: &Path,
) -> Result<Exit, Failure> {
    let times = |name: &str| {
        let launch = launches.iter().find(|launch| launch.name == name || shown(&launch.name) == shown(name));
        launch.map_or(0, |launch| launch.times)
    };
    let mut text = String::new();
    if !launches.is_empty() {
        text.push_str("launched:\n");
        for launch in launches {
            text.push_str(&format!("  {} × {}\n", launch.times, shown(&launch.name)));
        }
    }
    let picked: Vec<Isa> = found.into_iter().filter(|isa| pick.takes(&isa.name)).collect();
    let mut used: BTreeMap<String, usize> = BTreeMap::new();
    for isa in &picked {
        let content = fs::read(&isa.file).map_err(|e| cannot(&isa.file, &e))?;
        let stem = file_stem(&isa.name);
        let count = used.entry(stem.clone()).or_insert(0);
        *count += 1;
        let name = if *count == 1 { format!("{stem}.asm") } else { format!("{stem}.{count}.asm") };
        let path = out.join(name);
        fs::write(&path, &content).map_err(|e| cannot(&path, &e))?;
        let launched = if launches.is_empty() {
            String::new()
        } else {
            format!(", launched {} times", times(&isa.name))
        };
        text.push_str(&format!("{}\n  {}{launched}\n  {}\n", shown(&isa.name), isa.route, path.display()));
        if args.print {
            text.push_str(&String::from_utf8_lossy(&content));
            text.push('\n');
        }
    }
    super::say::print(&harmless(&text))?;
    if picked.is_empty() {
        let why_not = harmless(why_not);
        return Err(Failure::new(Exit::NothingSelected, format_args!("no kernel matched: {why_not}")));
    }
    Ok(Exit::AsExpected)
}

/// Mangled names can be longer than a file name may be.
fn file_stem(name: &str) -> String {
    let plain: String =
        name.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' }).collect();
    match plain.get(..150) {
        Some(start) => format!("{start}-{}", crate::driver::sha256(name.as_bytes()).get(..8).unwrap_or("")),
        None => plain,
    }
}
