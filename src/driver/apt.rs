//! apt with a state of its own: it reads the machine's mirror and keys and writes below one directory only.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::DriverError;
use super::sources::{self, Source};

/// A private apt: package lists, cache and an empty package status below `directory`.
pub struct Apt {
    directory: PathBuf,
    pub suite: String,
}

/// One package that has to be downloaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Planned {
    pub file: String,
    pub name: String,
    /// With its epoch, as in a manifest.
    pub version: String,
    /// Bytes.
    pub size: u64,
}

impl Apt {
    /// Sets up the private state and reads the suite's package list from the first mirror that has it.
    pub fn open(directory: &Path, suite: &str, say: &mut dyn FnMut(&str)) -> Result<Apt, DriverError> {
        for part in ["lists/partial", "cache/archives/partial", "empty.d"] {
            let path = directory.join(part);
            fs::create_dir_all(&path).map_err(DriverError::io(&path, "could not be made"))?;
        }
        let apt = Apt { directory: directory.to_owned(), suite: suite.to_owned() };
        let machine = MachineApt::read()?;
        let mirrors = sources::debian_mirrors(&machine.sources);
        if mirrors.is_empty() {
            let seen = match machine.sources.len() {
                0 => String::new(),
                n => format!(" ({n} other source(s))"),
            };
            return Err(DriverError::NoMirror { seen });
        }
        apt.write("status", "")?;
        apt.write("apt.conf", &apt.configuration(&machine.acquire))?;
        let mut log = String::new();
        for mirror in &mirrors {
            apt.write("mirror.sources", &mirror.stanza_for(suite))?;
            say(&format!("mirror   {} {suite}", mirror.uri));
            // Warnings count too: apt calls a list that it could not get a warning if an old one is there.
            match apt.run("apt-get", &["-o", "APT::Update::Error-Mode=any", "update"], &mut |_| {}) {
                Ok(()) => return Ok(apt),
                Err(DriverError::Tool { log: why, .. }) => log.push_str(&why),
                Err(error) => return Err(error),
            }
        }
        Err(DriverError::NoSuite { suite: suite.to_owned(), log })
    }

    fn write(&self, name: &str, text: &str) -> Result<(), DriverError> {
        let path = self.directory.join(name);
        fs::write(&path, text).map_err(DriverError::io(&path, "could not be written"))
    }

    /// APT_CONFIG is read before everything else and can name what else is read: here, nothing. How the machine
    /// reaches its mirrors (proxies, time limits) is taken over, hooks that act on the system are not.
    fn configuration(&self, acquire: &str) -> String {
        let directory = self.directory.display();
        format!(
            "{acquire}\
             Dir::State \"{directory}\";\nDir::State::lists \"{directory}/lists/\";\n\
             Dir::State::status \"{directory}/status\";\nDir::Cache \"{directory}/cache\";\n\
             Dir::Etc::main \"/dev/null\";\nDir::Etc::parts \"{directory}/empty.d\";\n\
             Dir::Etc::sourcelist \"{directory}/mirror.sources\";\nDir::Etc::sourceparts \"{directory}/empty.d\";\n\
             Dir::Etc::preferences \"/dev/null\";\nDir::Etc::preferencesparts \"{directory}/empty.d\";\n\
             APT::Architecture \"amd64\";\nAPT::Architectures {{ \"amd64\"; }};\n\
             APT::Install-Recommends \"false\";\nAPT::Install-Suggests \"false\";\n\
             APT::Sandbox::User \"root\";\nAPT::Keep-Downloaded-Packages \"true\";\n\
             Acquire::Languages \"none\";\nAcquire::Retries \"3\";\nAcquire::http::Timeout \"60\";\n"
        )
    }

    /// Does the suite have a package of this name?
    pub fn has(&self, package: &str) -> Result<bool, DriverError> {
        let mut found = false;
        match self.run("apt-cache", &["show", "--no-all-versions", package], &mut |line| {
            found |= line.starts_with("Filename:");
        }) {
            Ok(()) => Ok(found),
            Err(DriverError::Tool { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// The package `STEM<number>` with the highest number: sonames move from release to release.
    pub fn newest_numbered(&self, stem: &str) -> Result<Option<String>, DriverError> {
        let mut numbers: Vec<u32> = Vec::new();
        self.run("apt-cache", &["pkgnames", stem], &mut |line| {
            numbers.extend(line.trim().strip_prefix(stem).and_then(|number| number.parse::<u32>().ok()));
        })?;
        numbers.sort_unstable();
        for number in numbers.into_iter().rev() {
            let name = format!("{stem}{number}");
            if self.has(&name)? {
                return Ok(Some(name));
            }
        }
        Ok(None)
    }

    /// What apt would download to install these on an empty system.
    pub fn plan(&self, packages: &[String]) -> Result<Vec<Planned>, DriverError> {
        let mut planned = Vec::new();
        let mut arguments = vec!["-qq", "--yes", "--print-uris", "install"];
        arguments.extend(packages.iter().map(String::as_str));
        // Files that are in the cache already would be left out.
        let archives = self.archives();
        let elsewhere = format!("Dir::Cache::archives={}", self.directory.join("none").display());
        let none = self.directory.join("none/partial");
        fs::create_dir_all(&none).map_err(DriverError::io(&none, "could not be made"))?;
        arguments.splice(0..0, ["-o", elsewhere.as_str()]);
        self.run("apt-get", &arguments, &mut |line| planned.extend(planned_line(line)))?;
        if planned.is_empty() {
            return Err(DriverError::Tool {
                tool: "apt-get",
                status: "no packages planned".to_owned(),
                log: format!("for {}", archives.display()),
            });
        }
        Ok(planned)
    }

    /// Downloads them. `progress` gets `(name, version)` as each one starts.
    pub fn download(
        &self,
        packages: &[String],
        progress: &mut dyn FnMut(&str, &str),
    ) -> Result<(), DriverError> {
        let mut arguments = vec!["--yes", "--download-only", "install"];
        arguments.extend(packages.iter().map(String::as_str));
        self.run("apt-get", &arguments, &mut |line| {
            // Get:3 http://… forky/main amd64 libigc2 amd64 2.40.14-1 [30.1 MB]
            let words: Vec<&str> = line.split_whitespace().collect();
            if let [get, _, _, _, name, _, version, ..] = words.as_slice()
                && get.starts_with("Get:")
            {
                progress(name, version);
            }
        })
    }

    /// Where downloaded packages are.
    pub fn archives(&self) -> PathBuf {
        self.directory.join("cache/archives")
    }

    /// Runs one of apt's programs on the private state; its stdout goes to `line`, its stderr into the error.
    fn run(
        &self,
        tool: &'static str,
        arguments: &[&str],
        line: &mut dyn FnMut(&str),
    ) -> Result<(), DriverError> {
        let started = Command::new(tool)
            .args(arguments)
            .env("APT_CONFIG", self.directory.join("apt.conf"))
            .env("LC_ALL", "C")
            .env("DEBIAN_FRONTEND", "noninteractive")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn();
        let mut child = started.map_err(|error| not_started(tool, error))?;
        let stderr = child.stderr.take();
        let errors = std::thread::spawn(move || {
            let mut text = Vec::new();
            if let Some(stderr) = stderr {
                // Cut, not unbounded: a broken mirror may send a lot.
                let _ = stderr.take(64 << 10).read_to_end(&mut text);
            }
            String::from_utf8_lossy(&text).into_owned()
        });
        if let Some(stdout) = child.stdout.take() {
            for bytes in BufReader::new(stdout).split(b'\n') {
                let bytes = bytes.map_err(DriverError::io(Path::new(tool), "could not be read"))?;
                line(&String::from_utf8_lossy(&bytes));
            }
        }
        let status = child.wait().map_err(DriverError::io(Path::new(tool), "could not be waited for"))?;
        let log = errors.join().unwrap_or_default();
        if status.success() {
            return Ok(());
        }
        if log.contains("No space left on device") {
            let free_mb = super::store::free_bytes(&self.directory).unwrap_or(0) >> 20;
            return Err(DriverError::DiskFull { path: self.directory.clone(), need_mb: 110, free_mb });
        }
        Err(DriverError::Tool { tool, status: status.to_string(), log })
    }
}

fn not_started(tool: &'static str, error: std::io::Error) -> DriverError {
    match error.kind() {
        std::io::ErrorKind::NotFound => DriverError::NoTool { tool, package: "apt" },
        _ => DriverError::Io { path: tool.into(), what: "could not be started", source: error },
    }
}

/// `'URI' NAME_VERSION_ARCH.deb SIZE HASH` of `--print-uris`. The file name has the epoch's colon as %3a.
fn planned_line(line: &str) -> Option<Planned> {
    let mut words = line.strip_prefix('\'')?.split_whitespace().skip(1);
    let file = words.next()?.to_owned();
    let size = words.next()?.parse().ok()?;
    let mut parts = file.strip_suffix(".deb")?.split('_');
    let name = parts.next()?.to_owned();
    let version = parts.next()?.replace("%3a", ":");
    Some(Planned { file, name, version, size })
}

/// What the machine's own apt is told.
struct MachineApt {
    sources: Vec<Source>,
    /// `Acquire::…` lines of its configuration: proxies and the like.
    acquire: String,
}

impl MachineApt {
    fn read() -> Result<MachineApt, DriverError> {
        let output = |arguments: &[&str]| -> Result<String, DriverError> {
            let output = Command::new("apt-config").args(arguments).stdin(Stdio::null()).output();
            let output = output.map_err(|error| not_started("apt-config", error))?;
            Ok(String::from_utf8_lossy(&output.stdout).into_owned())
        };
        let places =
            output(&["shell", "LIST", "Dir::Etc::sourcelist/f", "PARTS", "Dir::Etc::sourceparts/d"])?;
        let place = |key: &str| {
            let value = places.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('='));
            value.map(|value| PathBuf::from(value.trim_matches('\'')))
        };
        let mut sources = Vec::new();
        sources.extend(place("LIST").map(|file| read_sources(&file)).unwrap_or_default());
        if let Some(entries) = place("PARTS").and_then(|directory| fs::read_dir(directory).ok()) {
            let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
            files.sort();
            for file in files {
                if file.extension().is_some_and(|extension| extension == "list" || extension == "sources") {
                    sources.extend(read_sources(&file));
                }
            }
        }
        const LEFT_OUT: [&str; 4] =
            ["Acquire::IndexTargets", "Acquire::Languages", "Acquire::Changelogs", "Acquire::cdrom"];
        let dump = output(&["dump", "--no-empty"])?;
        let acquire = dump
            .lines()
            .filter(|line| line.starts_with("Acquire::") && !LEFT_OUT.iter().any(|key| line.starts_with(key)))
            .flat_map(|line| [line, "\n"])
            .collect();
        Ok(MachineApt { sources, acquire })
    }
}

fn read_sources(file: &Path) -> Vec<Source> {
    // A file that only root may read holds passwords, and nothing for us.
    let text = fs::read_to_string(file).unwrap_or_default();
    if file.extension().is_some_and(|extension| extension == "sources") {
        sources::parse_deb822(&text)
    } else {
        sources::parse_one_line(&text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn print_uris_lines() {
        let line =
            "'http://m.example/pool/zlib1g_1.3-3_amd64.deb' zlib1g_1%3a1.3.dfsg-3_amd64.deb 90120 MD5Sum:00";
        let planned = planned_line(line).expect("a plan");
        assert_eq!(planned.name, "zlib1g");
        assert_eq!(planned.version, "1:1.3.dfsg-3");
        assert_eq!(planned.size, 90_120);
        for other in ["Reading package lists...", "'x' y.deb", "", "'u' noversion.deb 1 h"] {
            assert_eq!(planned_line(other), None, "{other}");
        }
    }
}
