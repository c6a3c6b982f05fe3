//! The command front end: runs any command below the harness's instruments and tells, in a reproducer's words, what the
//! matrix's rules find in its output.
//!
//! The command's lines go through unchanged, so that the driver's log is read as ever. Its phases are the harness's: "before"
//! begins when the driver library is mapped (the harness then reads which one it is), "after" with the line that the
//! rules name, with the first step of a session, or at once.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::cmd::Failure;
use crate::exit::Exit;
use crate::extract::{Compiled, Found, Meaning, Reading, Rules};
use crate::frontend::telling::Telling;
use crate::model::facts;
use crate::model::repro::{Check, PHASE_MARKER, Phase, RESULT_FD_ENV};

/// How long between looks at what the command has mapped, until the driver library is.
const POLL: Duration = Duration::from_millis(5);
/// From then on only each of so many looks: reading the maps of a large process costs it time.
const SELDOM: u32 = 4;
/// Longer lines are cut for the rules (not for the log).
const LONGEST_LINE: usize = 64 << 10;
/// A JSON file that a rule reads.
const LARGEST_FILE: u64 = 64 << 20;

/// Runs a command and reads its output by rules.
#[derive(Debug, clap::Args)]
pub struct CommandArgs {
    /// The rules, as JSON.
    #[arg(long)]
    rules: String,
    /// Part of the name of the library whose mapping begins the phase "before".
    #[arg(long, default_value = "libze_intel_gpu")]
    library: String,
    #[arg(last = true, required = true)]
    command: Vec<std::ffi::OsString>,
}

pub fn main(args: &CommandArgs) -> Result<Exit, Failure> {
    let usage = |what: String| Failure::new(Exit::Usage, what);
    let rules: Rules =
        serde_json::from_str(&args.rules).map_err(|error| usage(format!("--rules: {error}")))?;
    let compiled = Compiled::new(&rules).map_err(|what| usage(format!("--rules: {what}")))?;
    let telling = Telling::start("command").map_err(|error| Failure::new(Exit::Usage, error))?;
    telling.phase(Phase::SetUp);
    let outcome = run(args, &rules, &compiled, &telling);
    let code = match &outcome {
        Ok(Ended::Found(found)) => {
            tell(&telling, found, &rules);
            i32::from(found.wrong > 0 || found.untouched > 0)
        }
        Ok(Ended::Signal(_)) => 0,
        Err(what) => {
            eprintln!("command: {what}");
            telling.error("command", 0, what);
            5
        }
    };
    if let Err(error) = telling.write() {
        eprintln!("command: the result could not be written: {error}");
        std::process::exit(5);
    }
    if let Ok(Ended::Signal(signal)) = outcome {
        die_of(signal);
    }
    std::process::exit(code)
}

enum Ended {
    Found(Found),
    Signal(i32),
}

fn run(args: &CommandArgs, rules: &Rules, compiled: &Compiled, telling: &Telling) -> Result<Ended, String> {
    let (program, words) = args.command.split_first().ok_or("no command")?;
    let mut child = Command::new(program)
        .args(words)
        .env_remove(RESULT_FD_ENV)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| format!("{} could not be started: {error}", program.to_string_lossy()))?;
    let reading = Arc::new(Mutex::new(Reading::new(compiled)));
    let course = Arc::new(Course {
        telling: telling.clone(),
        mapped: AtomicBool::new(false),
        after: AtomicBool::new(false),
        opencl: Mutex::new(None),
    });
    let mut readers = Vec::new();
    if let Some(stdout) = child.stdout.take() {
        readers.push(follow(stdout, std::io::stdout(), &reading, &course));
    }
    if let Some(stderr) = child.stderr.take() {
        readers.push(follow(stderr, std::io::stderr(), &reading, &course));
    }
    let waits = rules.after.is_some() || rules.steps.is_some();
    let status = watch(&mut child, &args.library, &course, waits)?;
    for reader in readers {
        // A reader that panicked has lost lines.
        reader.join().map_err(|_| "the command's output could not be read".to_owned())??;
    }
    if let Some(signal) = status.signal() {
        return Ok(Ended::Signal(signal));
    }
    let opencl = course.opencl.lock().unwrap_or_else(PoisonError::into_inner).take();
    telling.update(|result| result.opencl = opencl);
    // "After" must exist for what was found to be after something.
    course.enter_after();
    let reading =
        Arc::try_unwrap(reading).map_err(|_| "the command's output is still being read".to_owned())?;
    let reading = reading.into_inner().unwrap_or_else(PoisonError::into_inner);
    let found = reading.finish(status.code().unwrap_or(-1), read_file)?;
    telling.phase(Phase::TearDown);
    Ok(Ended::Found(found))
}

fn read_file(name: &str) -> Result<String, String> {
    let file = std::fs::File::open(name).map_err(|error| format!("{name}: {error}"))?;
    let mut text = String::new();
    file.take(LARGEST_FILE).read_to_string(&mut text).map_err(|error| format!("{name}: {error}"))?;
    Ok(text)
}

/// Where the run is.
struct Course {
    telling: Telling,
    mapped: AtomicBool,
    after: AtomicBool,
    /// An OpenCL implementation that a process had mapped.
    opencl: Mutex<Option<String>>,
}

impl Course {
    fn saw_opencl(&self, path: String) {
        self.opencl.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(path);
    }

    fn enter_before(&self) {
        if !self.mapped.swap(true, Ordering::AcqRel) {
            self.telling.phase(Phase::Before);
        }
    }

    fn enter_after(&self) {
        // Phases are in order: what is after a check came after the driver was there.
        if self.mapped.load(Ordering::Acquire) && !self.after.swap(true, Ordering::AcqRel) {
            self.telling.phase(Phase::After);
        }
    }
}

/// Passes a stream on, line by line, and reads it by the rules.
fn follow(
    from: impl Read + Send + 'static,
    mut to: impl Write + Send + 'static,
    reading: &Arc<Mutex<Reading>>,
    course: &Arc<Course>,
) -> std::thread::JoinHandle<Result<(), String>> {
    let (reading, course) = (Arc::clone(reading), Arc::clone(course));
    std::thread::spawn(move || {
        let mut from = BufReader::new(from);
        let mut line = Vec::new();
        loop {
            line.clear();
            let n = from
                .read_until(b'\n', &mut line)
                .map_err(|error| format!("the command's output: {error}"))?;
            if n == 0 {
                return Ok(());
            }
            // Markers of a reproducer inside the command are not this run's.
            if line.starts_with(PHASE_MARKER.as_bytes()) {
                continue;
            }
            // A closed stream is the reader's choice; the rules go on.
            let _ = to.write_all(&line).and_then(|()| to.flush());
            let end = line.len().min(LONGEST_LINE);
            let text = String::from_utf8_lossy(line.get(..end).unwrap_or_default());
            let meaning = reading.lock().unwrap_or_else(PoisonError::into_inner).line(text.trim_end());
            if meaning == Meaning::After {
                course.enter_after();
            }
        }
    })
}

/// Waits for the end; on the way, looks for the driver library in the command and its children, and for what else could
/// have done its work.
fn watch(
    child: &mut Child,
    library: &str,
    course: &Course,
    waits: bool,
) -> Result<std::process::ExitStatus, String> {
    let pid = i32::try_from(child.id()).map_err(|_| "a process id that is none".to_owned())?;
    let mut looks = 0_u32;
    loop {
        if let Some(status) = child.try_wait().map_err(|error| format!("wait: {error}"))? {
            return Ok(status);
        }
        let mapped = course.mapped.load(Ordering::Acquire);
        if !mapped || looks.is_multiple_of(SELDOM) {
            let seen = look(pid, library);
            if let Some(path) = seen.opencl {
                course.saw_opencl(path);
            }
            if let Some(holder) = seen.holder.filter(|_| !mapped) {
                // It stands still while the harness reads its maps: a short run would be over.
                let stopped = kill(Pid::from_raw(holder), Signal::SIGSTOP).is_ok();
                course.enter_before();
                if !waits {
                    course.enter_after();
                }
                if stopped {
                    let _ = kill(Pid::from_raw(holder), Signal::SIGCONT);
                }
            }
        }
        looks = looks.wrapping_add(1);
        std::thread::sleep(POLL);
    }
}

#[derive(Default)]
struct Seen {
    /// The process that has the driver library mapped.
    holder: Option<i32>,
    /// The path of an OpenCL implementation that one of them has mapped.
    opencl: Option<String>,
}

/// What the processes at and below `pid` have mapped.
fn look(pid: i32, library: &str) -> Seen {
    let mut found = Seen::default();
    let mut open = vec![pid];
    for _ in 0..1000 {
        let Some(pid) = open.pop() else { break };
        let maps = std::fs::read(format!("/proc/{pid}/maps")).unwrap_or_default();
        for path in String::from_utf8_lossy(&maps).lines().filter_map(|line| line.get(line.find('/')?..)) {
            let name = path.rsplit('/').next().unwrap_or_default();
            if name.contains(library) {
                found.holder.get_or_insert(pid);
            } else if facts::is_opencl(path) && found.opencl.is_none() {
                found.opencl = Some(path.to_owned());
            }
        }
        let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
        for task in tasks {
            let children = std::fs::read_to_string(task.path().join("children")).unwrap_or_default();
            open.extend(children.split_whitespace().filter_map(|child| child.parse::<i32>().ok()));
        }
    }
    found
}

fn tell(telling: &Telling, found: &Found, rules: &Rules) {
    let check = |phase, total, wrong, untouched| Check {
        phase,
        module: "command".to_owned(),
        total,
        wrong,
        untouched,
        control_total: 0,
        control_wrong: 0,
        control_untouched: 0,
    };
    telling.update(|result| {
        result.steps.clone_from(&found.steps);
        match (found.steps.split_first(), rules.steps.is_some()) {
            (Some((first, rest)), true) => {
                let bad = rest.iter().filter(|step| step.wrong).count() as u64;
                result.checks.push(check(Phase::Before, 1, u64::from(first.wrong), 0));
                result.checks.push(check(Phase::After, rest.len() as u64, bad, 0));
            }
            _ => {
                result.one_check = true;
                result.checks.push(check(Phase::After, found.total, found.wrong, found.untouched));
            }
        }
    });
    for step in &found.steps {
        let word = if step.wrong { "wrong" } else { "right" };
        telling.line(&format!(
            "step {}: {word}, score {}; the surface: {} binds, {} unbinds",
            step.number, step.score, step.binds, step.unbinds
        ));
    }
}

/// Ends as the command did, so that the harness sees a crash as one.
fn die_of(signal: i32) -> ! {
    if let Ok(signal) = Signal::try_from(signal) {
        let _ = nix::sys::signal::raise(signal);
    }
    std::process::exit(128 + signal)
}
