//! The real lab: prepares a run's directories, source file and wrappers, runs it, has it observed and judged.
//!
//! What it needs of the build, driver and observe stages comes through [`Parts`], so that this file knows nothing of
//! their insides.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::cmd::conclude::{Identity, conclude, not_built};
use crate::cmd::drive::work_root;
use crate::cmd::inputs::Inputs;
use crate::exit::Exit;
use crate::judge::{Context, ExpectedDriver};
use crate::model::arm::{Arm, Observer};
use crate::model::facts::Facts;
use crate::model::outcome::RunRecord;
use crate::model::verdict::{Evidence, RunEnd, Verdict};
use crate::run::kernel_log::KernelLog;
use crate::run::lab::{BuildFailure, Built, CannotKeep, Lab, Lane, tells_full_disk};
use crate::run::workdir::WorkDir;
use crate::run::wrap::{SimWrap, StraceWrap, Wrapped};
use crate::run::xe_trace::XeTrace;
use crate::run::{Cancel, Limits, RawRun, RunSpec, env, execute, fresh_token};

use super::source_file::SourceFiles;

/// What the other stages give for one arm.
pub trait Parts: Sync {
    type Built: Send + Sync;

    /// Arms with equal keys share one build.
    fn build_key(&self, arm: &Arm) -> String;
    fn build(&self, arm: &Arm) -> Result<Built<Self::Built>, BuildFailure>;
    /// The reproducer's command line, the driver tree's own loader in front where it needs one, and the variables
    /// that the tree asks for. `file` is the source file where the arm has one.
    fn launch(&self, arm: &Arm, built: &Self::Built, file: Option<&Path>) -> Result<Launch, String>;
    fn predicted_per_dispatch(&self, arm: &Arm, built: &Self::Built) -> Option<bool>;
    /// Library that must be proved to have run, and the driver manifest's hash.
    fn driver(&self, arm: &Arm) -> Option<(ExpectedDriver, String)>;
    /// Facts of a finished run; the texts are instruments of ours that did not work.
    fn observe(&self, arm: &Arm, raw: &RawRun) -> (Facts, Vec<String>);
}

/// Begins a fault that strace injects, not the simulated device: `strace:ENOMEM@17`.
const BY_STRACE: &str = "strace:";

fn by_strace(fault: &str) -> bool {
    fault.starts_with(BY_STRACE)
}

/// See [`Parts::launch`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Launch {
    pub argv: Vec<OsString>,
    pub env: Vec<(String, String)>,
}

/// One device of a matrix run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceChoice {
    /// `sim:a770` or `pci:0000:09:00.0`.
    pub name: String,
    /// Hardware threads that private memory is sized for.
    pub hw_threads: Option<u64>,
    pub faults: Vec<String>,
}

impl DeviceChoice {
    /// The simulated profile, if this is one.
    pub fn profile(&self) -> Option<&str> {
        self.name.strip_prefix("sim:")
    }
}

/// The lab of a matrix run.
pub struct RealLab<P> {
    pub parts: P,
    /// By the name that arms use (`auto`, `sim:a770`).
    pub devices: BTreeMap<String, DeviceChoice>,
    /// This program.
    pub tool: PathBuf,
    pub results: PathBuf,
    pub jobs: usize,
    pub grace: Duration,
    pub keep_work: bool,
    pub strace: Option<PathBuf>,
    pub sources: SourceFiles,
}

impl<P: Parts> RealLab<P> {
    fn device(&self, arm: &Arm) -> Result<&DeviceChoice, String> {
        self.devices.get(&arm.device).ok_or_else(|| format!("no device was found for \"{}\"", arm.device))
    }

    fn spec(&self, arm: &Arm, built: &P::Built, work: &WorkDir) -> Result<RunSpec, String> {
        let file = self
            .sources
            .for_arm(arm, &work.tmp)
            .map_err(|e| format!("the source file could not be made: {e}"))?;
        let launch = self.parts.launch(arm, built, file.as_deref())?;
        let device = self.device(arm)?;
        let sim = device.profile().map(|profile| SimWrap {
            tool: self.tool.clone(),
            profile: profile.to_owned(),
            trace: work.io.join("trace"),
            faults: device
                .faults
                .iter()
                .chain(arm.faults.iter().filter(|f| !by_strace(f)))
                .cloned()
                .collect(),
        });
        let strace = self.strace_of(arm, work)?;
        if sim.is_none() && arm.faults.iter().any(|fault| !by_strace(fault)) {
            return Err("the arm has faults of the simulated device, and runs on a card".into());
        }
        let trace = sim.as_ref().map(|sim| sim.trace.clone());
        let mut environment = env::base(&work.cwd, &work.tmp);
        environment.extend(launch.env);
        environment.extend(env::driver_keys(&arm.keys, &arm.observers));
        Ok(RunSpec {
            env: environment.into_iter().collect(),
            cwd: work.cwd.clone(),
            io: work.io.clone(),
            limits: Limits {
                timeout: arm.timeout,
                inactivity: arm.inactivity,
                grace: self.grace,
                ..Limits::default()
            },
            trace,
            strace: strace.as_ref().map(|s| s.output.clone()),
            client_library: self.parts.driver(arm).map(|(driver, _)| driver.library),
            token: fresh_token(),
            argv: Wrapped { sim, strace, inner: launch.argv }.argv(),
        })
    }

    fn strace_of(&self, arm: &Arm, work: &WorkDir) -> Result<Option<StraceWrap>, String> {
        let full = arm.observers.contains(&Observer::Strace);
        let summary = arm.observers.contains(&Observer::StraceSummary);
        let inject: Vec<String> =
            arm.faults.iter().filter_map(|fault| fault.strip_prefix(BY_STRACE)).map(str::to_owned).collect();
        if !full && !summary && inject.is_empty() {
            return Ok(None);
        }
        let program = self.strace.clone().ok_or("the arm asks for strace, which is not installed")?;
        // Counts can be had from a full trace, not the other way round.
        Ok(Some(StraceWrap {
            program,
            output: work.io.join("strace"),
            summary: !full && inject.is_empty(),
            inject,
        }))
    }

    fn identity<'a>(&'a self, arm: &'a Arm, hash: &'a str) -> Identity<'a> {
        let device = self.devices.get(&arm.device).map_or(arm.device.as_str(), |device| device.name.as_str());
        Identity { device, driver_hash: hash }
    }
}

/// What the simulated device said when it could not write its trace (disk full): a run without its evidence is no
/// result. A program's own exit code of that number comes with a whole trace.
fn trace_not_written(raw: &RawRun, facts: &Facts) -> Option<String> {
    let whole = facts.sim.as_ref().is_some_and(|sim| sim.complete && sim.summary.lost_events == 0);
    let cannot_record = RunEnd::Exited { code: Exit::CannotRecord as i32 };
    if raw.trace.is_none() || whole || raw.end != cannot_record {
        return None;
    }
    let stderr = std::fs::read(&raw.stderr.path).unwrap_or_default();
    let said = String::from_utf8_lossy(&stderr);
    let line = said.lines().rev().find_map(|line| line.strip_prefix("error: "));
    Some(line.unwrap_or("its trace could not be written").to_owned())
}

impl<P: Parts> Lab for RealLab<P> {
    type Built = P::Built;

    fn build_key(&self, arm: &Arm) -> String {
        self.parts.build_key(arm)
    }

    fn build(&self, arm: &Arm) -> Result<Built<P::Built>, BuildFailure> {
        self.parts.build(arm)
    }

    fn lane(&self, arm: &Arm) -> Lane {
        match self.devices.get(&arm.device) {
            // All simulated devices share the machine's cores.
            Some(device) if device.profile().is_some() => {
                Lane { name: "simulated".to_owned(), capacity: self.jobs }
            }
            // A card is one thing: what runs beside the measured run would change what it measures.
            Some(device) => Lane { name: device.name.clone(), capacity: 1 },
            None => Lane { name: arm.device.clone(), capacity: 1 },
        }
    }

    fn run(
        &self,
        arm: &Arm,
        repeat: u32,
        built: &P::Built,
        cancel: &Cancel,
    ) -> Result<RunRecord, CannotKeep> {
        let root = work_root(&self.results).join(crate::results::arm_path(&arm.id)).join(repeat.to_string());
        let work = WorkDir::create(root)
            .map_err(|e| CannotKeep(format!("the working directory of {} could not be made: {e}", arm.id)))?;
        let (driver, hash) = self.parts.driver(arm).map_or((None, String::new()), |(d, h)| (Some(d), h));
        let spec = self.spec(arm, built, &work).and_then(|spec| Ok((spec, self.device(arm)?)));
        let (spec, device) = match spec {
            Ok(found) => found,
            Err(reason) if tells_full_disk(&reason) => {
                return Err(CannotKeep(format!("{} #{repeat}: {reason}", arm.id)));
            }
            Err(reason) => {
                let verdict = Verdict::HarnessError { reason };
                return Ok(super::conclude::without_run(arm, repeat, verdict, &self.identity(arm, &hash)));
            }
        };
        let inputs = Inputs::before(&spec.argv);
        let kernel_log = arm.observers.contains(&Observer::KernelLog).then(KernelLog::mark);
        let xe_trace = arm.observers.contains(&Observer::XeTrace).then(XeTrace::start);
        let mut raw = execute(&spec, cancel);
        raw.kernel_log = kernel_log.map(KernelLog::since);
        raw.xe_trace = xe_trace.map(XeTrace::stop);
        let (facts, mut broken) = self.parts.observe(arm, &raw);
        if let Some(why) = trace_not_written(&raw, &facts) {
            return Err(CannotKeep(format!("the simulated device of {} #{repeat}: {why}", arm.id)));
        }
        if let Some(path) = &raw.strace
            && std::fs::metadata(path).map_or(true, |m| m.len() == 0)
        {
            broken.push("strace wrote nothing".into());
        }
        broken.extend(inputs.changed());
        let context = Context {
            arm,
            simulated: device.profile().is_some(),
            hw_threads: device.hw_threads,
            predicted_per_dispatch: self.parts.predicted_per_dispatch(arm, built),
            driver: driver.as_ref(),
            broken: &broken,
        };
        let mut record =
            conclude(&spec, &raw, repeat, facts, &context, &self.identity(arm, &hash), &self.results);
        if let Ok(RunRecord { verdict: Verdict::HarnessError { reason }, .. }) = &record
            && tells_full_disk(reason)
        {
            record = Err(CannotKeep(format!("{} #{repeat}: {reason}", arm.id)));
        }
        if let (Ok(record), Some(says)) = (&mut record, inputs.told())
            && broken.is_empty()
        {
            record.evidence.push(Evidence { instrument: "harness".into(), says });
        }
        if !self.keep_work {
            // What stays behind costs room, not truth.
            let _ = work.remove();
        }
        record
    }

    fn not_built(&self, arm: &Arm, repeat: u32, failure: &BuildFailure) -> RunRecord {
        let hash = self.parts.driver(arm).map(|(_, hash)| hash).unwrap_or_default();
        not_built(arm, repeat, failure, &self.identity(arm, &hash))
    }
}
