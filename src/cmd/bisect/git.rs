//! Commits of a repository as places: each is built in a work tree of its own when it is first asked for, and the driver
//! library it leaves goes into the store under a name that says commit and command, so that nothing is built twice.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::axis::{Draft, Source};
use crate::cli::bisect::BisectArgs;
use crate::cmd::Failure;
use crate::driver::{self, Addition, DriverStore, DriverTree};
use crate::exit::Exit;
use crate::model::arm::Arm;
use crate::probe::Change;

/// Builds revisions.
#[derive(Clone, Debug)]
pub struct Workshop {
    repository: PathBuf,
    command: String,
    library: PathBuf,
    timeout: Duration,
    base: String,
    work: PathBuf,
}

/// The good commit, then its descendants to the bad one, first parents only.
pub(super) fn drafts(arm: &Arm, repository: &Path, args: &BisectArgs) -> Result<Vec<Draft>, Failure> {
    let (Some(good), Some(bad)) = (&args.good, &args.bad) else {
        return Err(Failure::new(Exit::Usage, "--git needs --good and --bad"));
    };
    let (older, newer) = match args.find {
        crate::cli::bisect::Find::Broken => (good, bad),
        crate::cli::bisect::Find::Fixed => (bad, good),
    };
    let older = git(repository, &["rev-parse", "--verify", &format!("{older}^{{commit}}")])?;
    let newer = git(repository, &["rev-parse", "--verify", &format!("{newer}^{{commit}}")])?;
    let (older, newer) = (older.trim(), newer.trim());
    let list = git(repository, &["rev-list", "--first-parent", "--reverse", &format!("{older}..{newer}")])?;
    let mut commits: Vec<String> = vec![older.to_owned()];
    commits.extend(list.lines().map(str::to_owned));
    if commits.len() < 2 || commits.last().map(String::as_str) != Some(newer) {
        return Err(Failure::new(
            Exit::Usage,
            format!("{newer} does not descend from {older} by first parents"),
        ));
    }
    let key = key(args);
    let draft = |hash: String| {
        let short: String = hash.chars().take(12).collect();
        let driver = format!("git-{short}-{key}");
        let change = Change::Driver(driver.clone());
        let source = match change.apply(arm) {
            Ok(changed) => Source::Commit { hash: hash.clone(), driver, arm: Box::new(changed) },
            Err(reason) => Source::Broken(reason),
        };
        Draft {
            label: short,
            identity: None,
            driver: String::new(),
            arm: format!("{}{change}", arm.id),
            source,
        }
    };
    Ok(commits.into_iter().map(draft).collect())
}

/// What a build depends on besides the commit.
fn key(args: &BisectArgs) -> String {
    let lib = args.axis.lib.as_deref().unwrap_or(Path::new("")).display().to_string();
    let build = args.axis.build.as_deref().unwrap_or_default();
    let hash = driver::sha256(format!("{build}\n{lib}\n{}", args.axis.base).as_bytes());
    hash.get(..8).unwrap_or_default().to_owned()
}

/// One line a commit, for reports.
pub fn subject(repository: &Path, hash: &str) -> Option<String> {
    git(repository, &["log", "-1", "--format=%h %s", hash]).ok().map(|line| line.trim().to_owned())
}

fn git(repository: &Path, arguments: &[&str]) -> Result<String, Failure> {
    let output = Command::new("git").arg("-C").arg(repository).args(arguments).stdin(Stdio::null()).output();
    let output = output.map_err(|error| {
        Failure::with_help(
            Exit::HostUnusable,
            format!("git could not be started: {error}"),
            "install the package git",
        )
    })?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(Failure::new(Exit::Usage, format!("git {}: {}", arguments.join(" "), said.trim())))
}

impl Workshop {
    pub fn new(args: &BisectArgs, repository: &Path, work: PathBuf) -> Result<Workshop, Failure> {
        let (Some(command), Some(library)) = (&args.axis.build, &args.axis.lib) else {
            return Err(Failure::new(Exit::Usage, "--git needs --build and --lib"));
        };
        Ok(Workshop {
            repository: crate::cmd::run::absolute(repository)?,
            command: command.clone(),
            library: library.clone(),
            timeout: args.axis.build_timeout,
            base: args.axis.base.clone(),
            work,
        })
    }

    /// The build of a commit, from the store or made now. The error says why the commit cannot be tested.
    pub fn build(&self, store: &DriverStore, hash: &str, name: &str) -> Result<DriverTree, String> {
        if let Ok(tree) = store.resolve(name) {
            return Ok(tree);
        }
        let tree = self.work.join(format!("git-{hash}"));
        let shown = tree.display().to_string();
        // What an interrupted build left there is of no use.
        let _ = git(&self.repository, &["worktree", "remove", "--force", &shown]);
        std::fs::create_dir_all(&self.work).map_err(|error| format!("{}: {error}", self.work.display()))?;
        git(&self.repository, &["worktree", "add", "--force", "--detach", &shown, hash])
            .map_err(|failure| failure.report.to_string())?;
        let built = self.make(&tree).and_then(|library| {
            let addition = Addition::Library(library);
            store.add(name, &addition, Some(&self.base), &mut |_| {}).map_err(|error| error.to_string())
        });
        let _ = git(&self.repository, &["worktree", "remove", "--force", &shown]);
        built
    }

    fn make(&self, tree: &Path) -> Result<PathBuf, String> {
        use std::os::unix::process::CommandExt;
        let log = self.work.join("build.log");
        let file = std::fs::File::create(&log).map_err(|error| format!("{}: {error}", log.display()))?;
        let errors = file.try_clone().map_err(|error| format!("{}: {error}", log.display()))?;
        let mut child = Command::new("sh")
            .args(["-c", &self.command])
            .current_dir(tree)
            .stdin(Stdio::null())
            .stdout(file)
            .stderr(errors)
            // A group of its own: a build that takes too long is ended with all that it started.
            .process_group(0)
            .spawn()
            .map_err(|error| format!("sh could not be started: {error}"))?;
        let clock = Instant::now();
        let status = loop {
            match child.try_wait() {
                Ok(Some(status)) => break status,
                Ok(None) if clock.elapsed() >= self.timeout => {
                    end_group(&mut child);
                    let limit = humantime::format_duration(self.timeout);
                    return Err(format!("the build took longer than {limit}:{}", last_lines(&log)));
                }
                Ok(None) => std::thread::sleep(Duration::from_millis(50)),
                Err(error) => return Err(format!("the build could not be waited for: {error}")),
            }
        };
        if !status.success() {
            return Err(format!("the build failed ({status}):{}", last_lines(&log)));
        }
        let library = tree.join(&self.library);
        if library.is_file() {
            Ok(library)
        } else {
            Err(format!("the build left no {}", self.library.display()))
        }
    }
}

fn end_group(child: &mut std::process::Child) {
    if let Ok(pid) = i32::try_from(child.id()) {
        let _ = nix::sys::signal::killpg(nix::unistd::Pid::from_raw(pid), nix::sys::signal::Signal::SIGKILL);
    }
    let _ = child.wait();
}

/// The end of what a build said, each line on a line of its own.
fn last_lines(log: &Path) -> String {
    const LINES: usize = 6;
    let text = std::fs::read(log).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let said: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    if said.is_empty() {
        return " it said nothing".to_owned();
    }
    let last = said.get(said.len().saturating_sub(LINES)..).unwrap_or_default();
    last.iter().map(|line| format!("\n  {}", line.chars().take(200).collect::<String>())).collect()
}
