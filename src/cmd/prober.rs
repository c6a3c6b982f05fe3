//! The one real [`Probe`]: every answer is a run of `run`'s own stages, recorded in a results directory before it counts.
//! A resumed search asks the same questions again and gets what is recorded without running it.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use signal_hook::consts::{SIGINT, SIGTERM};

use crate::build::Slots;
use crate::cli::search::SearchArgs;
use crate::cmd::Failure;
use crate::cmd::drive::work_root;
use crate::cmd::lab::RealLab;
use crate::cmd::memo::Memo;
use crate::cmd::observe::Observers;
use crate::cmd::parts::Stages;
use crate::cmd::plan::{facts, load_matrix};
use crate::cmd::run::{absolute, check_simulation, choice, devices_of, identity_of, lock_cards, manifest_of};
use crate::cmd::source_file::SourceFiles;
use crate::driver::{self, DriverStore, DriverTree};
use crate::exit::Exit;
use crate::host::{self, Device};
use crate::matrix::Matrix;
use crate::model::arm::Arm;
use crate::model::outcome::RunRecord;
use crate::plan::{self, Plan, Selection};
use crate::probe::{Probe, Seen, Stop, Target};
use crate::results::{Manifest, Recorder, ResultsError, builds};
use crate::run::Cancel;
use crate::run::dispatcher::{Cell, End, Schedule, dispatch};
use crate::run::event::Event;
use crate::run::health::{self, Health};
use crate::run::lab::{BuildFailure, Lab};
use crate::ui::Screen;

/// Name of the file that says what was asked, beside `manifest.json`.
pub const QUESTION: &str = "search.json";

/// A matrix, planned for a search, before anything runs.
pub struct Prepared {
    pub matrix: Matrix,
    pub planned: Plan,
    pub store: DriverStore,
    auto: Device,
    nodes: Vec<host::RenderNode>,
    asked: String,
}

/// Reads the matrix and plans the arms that `patterns` select.
pub fn prepare(matrix: &Path, patterns: &[String], args: &SearchArgs) -> Result<Prepared, Failure> {
    let matrix = load_matrix(matrix)?;
    let store = DriverStore::open().map_err(super::drivers::failure)?;
    let nodes = host::devices();
    let asked = args.device.clone().unwrap_or_else(|| "auto".to_owned());
    let auto = Device::find(&asked, &nodes).map_err(|error| Failure::new(Exit::HostUnusable, error))?;
    let selection = Selection {
        arms: patterns.to_vec(),
        device: args.device.clone().filter(|device| device != "auto"),
        driver: args.driver.clone(),
        ..Selection::default()
    };
    let mut planned = plan::plan(&matrix, &selection, &facts(&auto, Some(&store)));
    if let Some(timeout) = args.timeout {
        planned.arms.iter_mut().for_each(|arm| arm.timeout = timeout);
    }
    Ok(Prepared { matrix, planned, store, auto, nodes, asked })
}

impl Prepared {
    /// The one arm that `pattern` names: the arm with this very id, else the only match.
    pub fn one_arm(&self, pattern: &str) -> Result<Arm, Failure> {
        let arms = &self.planned.arms;
        let matches: Vec<&Arm> =
            arms.iter().filter(|arm| plan::select::id_matches(pattern, &arm.id)).collect();
        if let Some(arm) = arms.iter().find(|arm| arm.id == pattern) {
            return Ok(arm.clone());
        }
        match matches.as_slice() {
            [arm] => Ok((*arm).clone()),
            [] => {
                let out: Vec<String> = (self.planned.excluded.iter())
                    .filter(|out| plan::select::id_matches(pattern, &out.id))
                    .map(|out| format!("\n  {}: {}", out.id, out.reason))
                    .collect();
                Err(Failure::with_help(
                    Exit::NothingSelected,
                    format!("no arm of {} is called \"{pattern}\"{}", self.matrix.name, out.concat()),
                    "repro-matrix plan MATRIX lists the arms",
                ))
            }
            several => {
                let ids: Vec<&str> = several.iter().take(8).map(|arm| arm.id.as_str()).collect();
                Err(Failure::with_help(
                    Exit::Usage,
                    format!("\"{pattern}\" fits {} arms: {}", several.len(), ids.join(", ")),
                    "give the whole id of one of them",
                ))
            }
        }
    }

    /// What `default`, `debian`… stand for in this search.
    pub fn tree(&self, name: &str) -> Result<DriverTree, Failure> {
        self.store.resolve(name).map_err(super::drivers::failure)
    }

    /// Where private memory and its limit come from: hardware threads and global memory of the arm's device.
    pub fn device_of(&self, arm: &Arm) -> Result<Device, Failure> {
        if arm.device == "auto" {
            return Ok(self.auto.clone());
        }
        Device::find(&arm.device, &self.nodes).map_err(|error| Failure::new(Exit::HostUnusable, error))
    }
}

/// See the module.
pub struct Prober {
    lab: Memo<RealLab<Stages>>,
    recorder: Recorder,
    manifest: Manifest,
    known: HashMap<(String, u32), RunRecord>,
    target: Target,
    jobs: usize,
    build_jobs: usize,
    budget: Budget,
    cancel: Cancel,
    screen: Screen,
    health: Health,
    /// Held, not read.
    _locks: Vec<host::DeviceLock>,
    /// Runs made by this process, not read from a record.
    pub fresh: u32,
}

struct Budget {
    runs: Option<u32>,
    time: Option<Duration>,
    clock: Instant,
}

impl Prober {
    /// Opens a search over `arms` (more may come). `question` says what is asked: a directory is resumed only for the
    /// same question.
    pub fn open(
        prepared: &Prepared,
        arms: &[Arm],
        verb: &str,
        question: &serde_json::Value,
        args: &SearchArgs,
    ) -> Result<Prober, Failure> {
        let devices = devices_of(arms, &prepared.auto, &prepared.nodes)?;
        check_simulation(&devices)?;
        let locks = lock_cards(&devices)?;
        let mut drivers = BTreeMap::new();
        for arm in arms {
            if !drivers.contains_key(&arm.driver) {
                drivers.insert(arm.driver.clone(), prepared.tree(&arm.driver)?);
            }
        }
        let internal = |what: String| Failure::new(Exit::Internal, what);
        let cancel = Cancel::new().map_err(|e| internal(format!("pipe2: {e}")))?;
        cancel.on_signals().map_err(|e| internal(format!("signal handlers: {e}")))?;
        let stop = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM] {
            signal_hook::flag::register(signal, Arc::clone(&stop))
                .map_err(|e| internal(format!("signal handlers: {e}")))?;
        }
        let screen = Screen::new(true);
        for (name, device) in &devices {
            let asked = if name == "auto" { &prepared.asked } else { name };
            screen.line(&format!("device   {}", device.describe(asked)));
        }
        for tree in drivers.values() {
            screen.line(&format!("driver   {}", super::drivers::headline(tree)));
        }
        let planned = Plan { arms: arms.to_vec(), ..prepared.planned.clone() };
        let mut manifest = manifest_of(&prepared.matrix, &planned, &devices, &drivers);
        let sycl = super::sycl::compilers(arms, None);
        manifest.runtimes = super::sycl::identities(&sycl);
        // The matrix has them; the search did not ask for them.
        manifest.left_out.clear();
        manifest.excluded.clear();
        manifest.matrix = format!("{}-{verb}", prepared.matrix.name);
        let (recorder, records) = open_results(&mut manifest, question, args)?;
        let known: HashMap<_, _> =
            records.into_iter().map(|record| ((record.arm.clone(), record.repeat), record)).collect();
        if !known.is_empty() {
            screen.line(&format!("resume   {} runs are recorded and count", known.len()));
        }
        let data = driver::data_dir().map_err(super::drivers::failure)?;
        let tool = std::env::current_exe().map_err(|e| Failure::new(Exit::Internal, e))?;
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let jobs = args.jobs.map_or(cores, usize::from);
        let results = recorder.dir().to_owned();
        let lab = RealLab {
            devices: devices.iter().map(|(name, device)| (name.clone(), choice(device, &[]))).collect(),
            parts: Stages {
                drivers,
                devices,
                sycl,
                cache: data.join("builds"),
                tool: tool.clone(),
                observers: Observers::default(),
                slots: Slots::new(0),
                stop,
            },
            tool,
            sources: SourceFiles::new(results.join("work")),
            results,
            jobs,
            grace: Duration::from_secs(2),
            keep_work: false,
            strace: driver::find_in_path(Path::new("strace")),
        };
        Ok(Prober {
            lab: Memo::new(lab),
            recorder,
            manifest,
            known,
            target: args.target(),
            jobs,
            build_jobs: cores,
            budget: Budget { runs: args.max_runs, time: args.max_time, clock: Instant::now() },
            cancel,
            screen,
            health: Health::new(health::tainted()),
            _locks: locks,
            fresh: 0,
        })
    }

    /// The results directory.
    pub fn dir(&self) -> &Path {
        self.recorder.dir()
    }

    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// The search has its answer: arms that it did not need were not left undone, and are no part of the results. Where the
    /// search is to go on (a budget was spent), they are.
    pub fn conclude(&mut self) -> Result<(), Failure> {
        let ran: BTreeSet<&str> = self.known.keys().map(|(arm, _)| arm.as_str()).collect();
        self.manifest.arms.retain(|arm| ran.contains(arm.id.as_str()));
        self.manifest.write(self.recorder.dir()).map_err(|e| Failure::new(e.exit(), e))
    }

    pub fn target(&self) -> &Target {
        &self.target
    }

    /// Narrows what counts as the failure.
    pub fn set_target(&mut self, target: Target) {
        self.target = target;
    }

    /// Every record, in no order.
    pub fn records(&self) -> impl Iterator<Item = &RunRecord> {
        self.known.values()
    }

    pub fn record(&self, arm: &str, repeat: u32) -> Option<&RunRecord> {
        self.known.get(&(arm.to_owned(), repeat))
    }

    /// Makes a driver build known, so that arms may name it.
    pub fn add_driver(&mut self, name: &str, tree: DriverTree) -> Result<(), Stop> {
        self.manifest.drivers.insert(name.to_owned(), identity_of(&tree));
        self.lab.lab.parts.drivers.insert(name.to_owned(), tree);
        self.manifest.write(self.recorder.dir()).map_err(|e| Stop::Failed(e.to_string()))
    }

    /// Builds what `arm` needs and returns the private bytes that one hardware thread needs of one of its kernels, and
    /// whether the module is predicted to be on the per-dispatch path.
    pub fn build(&self, arm: &Arm) -> Result<Arc<super::parts::Reproducer>, String> {
        self.lab.build(arm).map(|built| built.value).map_err(|failure| failure.what)
    }

    /// Runs the cells that are not recorded yet: all of them, side by side where the lane allows it.
    pub fn run_cells(&mut self, arms: &[Arm], cells: &[Cell]) -> Result<(), Stop> {
        self.know_arms(arms)?;
        let missing: Vec<Cell> = cells
            .iter()
            .copied()
            .filter(|cell| {
                arms.get(cell.arm).is_some_and(|arm| !self.known.contains_key(&(arm.id.clone(), cell.repeat)))
            })
            .collect();
        if missing.is_empty() {
            return Ok(());
        }
        let missing = self.within_budget(missing)?;
        let Prober { lab, recorder, known, cancel, screen, health, jobs, build_jobs, fresh, .. } = self;
        let schedule = Schedule { arms, cells: &missing, jobs: *jobs, build_jobs: *build_jobs, until: None };
        let end = dispatch(schedule, lab, cancel, |event| {
            match event {
                Event::RunFinished { record } => {
                    recorder.append(record)?;
                    *fresh += 1;
                    known.insert((record.arm.clone(), record.repeat), (*record).clone());
                    health.watch(record, cancel);
                }
                Event::BuildFinished { name, seconds, cached, error: None, records } => {
                    builds::append(recorder.dir(), records)?;
                    if !cached {
                        screen.line(&format!("build    {name} {seconds:.1} s"));
                    }
                }
                Event::BuildFinished { name, error: Some(error), .. } => {
                    screen.line(&format!("build    {name} FAILED: {error}"));
                }
                _ => {}
            }
            Ok::<(), ResultsError>(())
        });
        if let Some(why) = self.health.poisoned() {
            return Err(Stop::Poisoned(why.to_owned()));
        }
        match end {
            // Budgets of time are kept between batches.
            End::Complete | End::OutOfTime => Ok(()),
            End::Interrupted { .. } => Err(Stop::Interrupted),
            End::SinkFailed { error, .. } => Err(Stop::Failed(error.to_string())),
            End::CannotKeep { what, .. } => Err(Stop::Failed(what.to_string())),
            End::Panicked { what } => Err(Stop::Failed(format!("a worker thread panicked: {what}"))),
        }
    }

    /// Records that these runs cannot be made, because what they need could not be built.
    pub fn not_built(&mut self, arm: &Arm, repeats: Range<u32>, what: &str) -> Result<Vec<Seen>, Stop> {
        self.know_arms(std::slice::from_ref(arm))?;
        let failure = BuildFailure { what: what.to_owned() };
        for repeat in
            repeats.clone().filter(|repeat| self.record(&arm.id, *repeat).is_none()).collect::<Vec<_>>()
        {
            let record = self.lab.not_built(arm, repeat, &failure);
            self.recorder.append(&record).map_err(|e| Stop::Failed(e.to_string()))?;
            self.known.insert((record.arm.clone(), repeat), record);
        }
        self.recorded(arm, repeats)
    }

    /// What is recorded of the runs: fewer than were asked for where a budget is spent, never none.
    fn recorded(&self, arm: &Arm, repeats: Range<u32>) -> Result<Vec<Seen>, Stop> {
        let seen: Vec<Seen> = repeats
            .filter_map(|repeat| self.record(&arm.id, repeat).map(|record| self.target.see(record)))
            .collect();
        if seen.is_empty() { Err(Stop::Budget("no run is left to make".into())) } else { Ok(seen) }
    }

    fn within_budget(&self, mut cells: Vec<Cell>) -> Result<Vec<Cell>, Stop> {
        if let Some(time) = self.budget.time
            && self.budget.clock.elapsed() >= time
        {
            return Err(Stop::Budget(format!("--max-time {} is spent", humantime::format_duration(time))));
        }
        if let Some(most) = self.budget.runs {
            let left = most.saturating_sub(self.fresh) as usize;
            if left == 0 {
                return Err(Stop::Budget(format!("--max-runs {most} is spent")));
            }
            cells.truncate(left);
        }
        Ok(cells)
    }

    /// A reader of the directory needs no matrix file: every arm that ran is in the manifest.
    fn know_arms(&mut self, arms: &[Arm]) -> Result<(), Stop> {
        let new: Vec<Arm> = arms
            .iter()
            .filter(|arm| !self.manifest.arms.iter().any(|known| known.id == arm.id))
            .cloned()
            .collect();
        if new.is_empty() {
            return Ok(());
        }
        self.manifest.arms.extend(new);
        self.manifest.write(self.recorder.dir()).map_err(|e| Stop::Failed(e.to_string()))
    }
}

impl Probe for Prober {
    fn probe(&mut self, arm: &Arm, repeats: Range<u32>) -> Result<Vec<Seen>, Stop> {
        let cells: Vec<Cell> = repeats.clone().map(|repeat| Cell { arm: 0, repeat }).collect();
        self.run_cells(std::slice::from_ref(arm), &cells)?;
        self.recorded(arm, repeats)
    }

    fn width(&self) -> u32 {
        let simulated = self.lab.lab.devices.values().all(|device| device.profile().is_some());
        if simulated { u32::try_from(self.jobs).unwrap_or(1).max(1) } else { 1 }
    }

    fn say(&mut self, line: &str) {
        self.screen.line(line);
    }
}

impl Drop for Prober {
    fn drop(&mut self) {
        // Only empty directories are left when all went well.
        let _ = std::fs::remove_dir_all(work_root(self.recorder.dir()));
    }
}

/// A fresh directory, or the one to go on with: only if it is of the same question.
fn open_results(
    manifest: &mut Manifest,
    question: &serde_json::Value,
    args: &SearchArgs,
) -> Result<(Recorder, Vec<RunRecord>), Failure> {
    let failed = |e: ResultsError| Failure::new(e.exit(), e);
    let Some(dir) = &args.resume else {
        let recorder = Recorder::create(&absolute(&args.results)?, manifest).map_err(failed)?;
        let text = serde_json::to_vec_pretty(question).map_err(|e| Failure::new(Exit::Internal, e))?;
        let path = recorder.dir().join(QUESTION);
        std::fs::write(&path, text)
            .map_err(|e| Failure::new(Exit::CannotRecord, format!("{}: {e}", path.display())))?;
        return Ok((recorder, Vec::new()));
    };
    let dir = absolute(dir)?;
    let then = question_of(&dir)?;
    if then != *question {
        return Err(Failure::with_help(
            Exit::IncompatibleRecording,
            format!("{} is of another search:{}", dir.display(), super::asked::differing(&then, question)),
            "give the same arguments, or leave out --resume",
        ));
    }
    let loaded = crate::results::load(&dir).map_err(failed)?;
    // What a search that was concluded did not need is out; arms and driver builds that came while it ran belong to it.
    manifest.arms.retain(|arm| loaded.manifest.arms.iter().any(|known| known.id == arm.id));
    for arm in &loaded.manifest.arms {
        if !manifest.arms.iter().any(|known| known.id == arm.id) {
            manifest.arms.push(arm.clone());
        }
    }
    manifest.arms.sort_by_key(|arm| loaded.manifest.arms.iter().position(|known| known.id == arm.id));
    for (name, identity) in &loaded.manifest.drivers {
        manifest.drivers.entry(name.clone()).or_insert_with(|| identity.clone());
    }
    let resumed = Recorder::resume(&dir, manifest).map_err(failed)?;
    Ok((resumed.recorder, resumed.records))
}

/// What a search's results directory was asked.
pub fn question_of(dir: &Path) -> Result<serde_json::Value, Failure> {
    let path: PathBuf = dir.join(QUESTION);
    let broken =
        |what: String| Failure::new(Exit::IncompatibleRecording, format!("{}: {what}", path.display()));
    let text = std::fs::read(&path).map_err(|e| match e.kind() {
        std::io::ErrorKind::NotFound => broken("there is none: the directory is not of a search".into()),
        _ => broken(e.to_string()),
    })?;
    serde_json::from_slice(&text).map_err(|e| broken(e.to_string()))
}

/// Seconds for people, whole and rounded up.
pub fn duration(seconds: f64) -> humantime::FormattedDuration {
    humantime::format_duration(Duration::try_from_secs_f64(seconds.ceil()).unwrap_or_default())
}

/// The exit of a search that stopped early, after its screen has said so.
pub fn stopped(stop: Stop, dir: &Path) -> Failure {
    let exit = match &stop {
        Stop::Interrupted => Exit::Interrupted,
        Stop::Budget(_) => Exit::Inconclusive,
        Stop::Poisoned(_) => Exit::HostUnusable,
        Stop::Failed(_) => Exit::CannotRecord,
    };
    let go_on = format!("--resume {} goes on", dir.display());
    Failure::with_help(exit, stop, go_on)
}
