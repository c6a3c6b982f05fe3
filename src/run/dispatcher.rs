//! Orders builds and runs. Builders and executors are threads that only send messages; this loop alone holds the
//! state and emits the events.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::model::arm::Arm;
use crate::model::outcome::RunRecord;
use crate::model::verdict::RunEnd;
pub use crate::plan::Cell;

use super::cancel::Cancel;
use super::event::Event;
use super::lab::{BuildFailure, Built, CannotKeep, Lab, Lane, tells_full_disk};

/// What is to be done, in order.
#[derive(Clone, Copy, Debug)]
pub struct Schedule<'a> {
    pub arms: &'a [Arm],
    pub cells: &'a [Cell],
    /// Runs side by side at most; each lane has its own limit besides.
    pub jobs: usize,
    pub build_jobs: usize,
    /// From then on nothing more is started.
    pub until: Option<Instant>,
}

impl Schedule<'_> {
    fn time_is_over(&self) -> bool {
        self.until.is_some_and(|until| Instant::now() >= until)
    }
}

/// How the dispatch ended.
#[derive(Debug)]
pub enum End<E> {
    /// Every cell has a record.
    Complete,
    /// The time was over before every cell was started; those that were have a record.
    OutOfTime,
    /// Stopped on request; `missing` cells have no record.
    Interrupted { missing: usize },
    /// A reader of the events failed (results cannot be written).
    SinkFailed { error: E, missing: usize },
    /// A run's evidence could not be stored.
    CannotKeep { what: CannotKeep, missing: usize },
    /// A fault of this program in a worker thread.
    Panicked { what: String },
}

/// A cell with what it runs.
type Job<L> = (Cell, Arc<<L as Lab>::Built>);

enum Message<B> {
    BuildStarted(usize),
    BuildDone(usize, f64, Result<Built<B>, BuildFailure>),
    RunDone(Cell, Box<RunRecord>),
    CannotKeep(Cell, CannotKeep),
    Panicked(String),
}

enum BuildState<B> {
    Waiting,
    Ready(Arc<B>),
    Failed(BuildFailure),
}

/// Runs the schedule to its end. `sink` gets every event in order; its first error stops everything.
pub fn dispatch<L: Lab, E>(
    schedule: Schedule<'_>,
    lab: &L,
    cancel: &Cancel,
    mut sink: impl FnMut(&Event<'_>) -> Result<(), E>,
) -> End<E> {
    let builds = BuildList::of(schedule, lab);
    let mut arms: BTreeMap<&str, usize> = BTreeMap::new();
    for arm in schedule.cells.iter().filter_map(|cell| schedule.arms.get(cell.arm)) {
        *arms.entry(&arm.id).or_default() += 1;
    }
    let planned = Event::Planned { arms, runs: schedule.cells.len(), builds: builds.names.len() };
    if let Err(error) = sink(&planned) {
        return End::SinkFailed { error, missing: schedule.cells.len() };
    }
    let (to_us, inbox) = channel::<Message<L::Built>>();
    let (jobs, job_queue) = channel::<Job<L>>();
    let job_queue = Mutex::new(job_queue);
    let build_queue = Mutex::new((0..builds.names.len()).collect::<VecDeque<usize>>());
    std::thread::scope(|scope| {
        for _ in 0..schedule.build_jobs.clamp(1, builds.names.len().max(1)) {
            let (to_us, queue, builds) = (to_us.clone(), &build_queue, &builds);
            scope.spawn(move || builder(schedule, lab, builds, queue, cancel, &to_us));
        }
        for _ in 0..schedule.jobs.max(1) {
            let (to_us, queue) = (to_us.clone(), &job_queue);
            scope.spawn(move || executor(schedule, lab, queue, cancel, &to_us));
        }
        drop(to_us);
        let state = State::new(schedule, lab, &builds);
        // `jobs` is dropped with the loop: idle executors end, the scope joins them.
        state.run(&inbox, jobs, cancel, &mut sink)
    })
}

/// Distinct builds in the order in which the cells need them.
struct BuildList {
    names: Vec<String>,
    /// An arm that needs the build.
    example: Vec<usize>,
    /// Arm index → build index; arms with no cell need none.
    of_arm: HashMap<usize, usize>,
}

impl BuildList {
    fn of<L: Lab>(schedule: Schedule<'_>, lab: &L) -> Self {
        let mut by_key: BTreeMap<String, usize> = BTreeMap::new();
        let mut list = BuildList { names: Vec::new(), example: Vec::new(), of_arm: HashMap::new() };
        for cell in schedule.cells {
            let Some(arm) = schedule.arms.get(cell.arm) else { continue };
            let index = *by_key.entry(lab.build_key(arm)).or_insert_with(|| {
                list.names.push(arm.variant.name.clone());
                list.example.push(cell.arm);
                list.names.len() - 1
            });
            list.of_arm.insert(cell.arm, index);
        }
        list
    }
}

fn builder<L: Lab>(
    schedule: Schedule<'_>,
    lab: &L,
    builds: &BuildList,
    queue: &Mutex<VecDeque<usize>>,
    cancel: &Cancel,
    to: &Sender<Message<L::Built>>,
) {
    while !cancel.asked() && !schedule.time_is_over() {
        let next = queue.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
        let Some(index) = next else { return };
        let Some(arm) = builds.example.get(index).and_then(|arm| schedule.arms.get(*arm)) else { continue };
        let _ = to.send(Message::BuildStarted(index));
        let clock = Instant::now();
        let message = match catch_unwind(AssertUnwindSafe(|| lab.build(arm))) {
            Ok(result) => Message::BuildDone(index, clock.elapsed().as_secs_f64(), result),
            Err(panic) => Message::Panicked(panic_text(panic.as_ref())),
        };
        let _ = to.send(message);
    }
}

fn executor<L: Lab>(
    schedule: Schedule<'_>,
    lab: &L,
    queue: &Mutex<Receiver<Job<L>>>,
    cancel: &Cancel,
    to: &Sender<Message<L::Built>>,
) {
    loop {
        let job = queue.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok((cell, built)) = job else { return };
        let Some(arm) = schedule.arms.get(cell.arm) else { continue };
        let message = match catch_unwind(AssertUnwindSafe(|| lab.run(arm, cell.repeat, &built, cancel))) {
            Ok(Ok(record)) => Message::RunDone(cell, Box::new(record)),
            Ok(Err(what)) => Message::CannotKeep(cell, what),
            Err(panic) => Message::Panicked(panic_text(panic.as_ref())),
        };
        let _ = to.send(message);
    }
}

fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    if let Some(text) = panic.downcast_ref::<&str>() {
        (*text).to_owned()
    } else if let Some(text) = panic.downcast_ref::<String>() {
        text.clone()
    } else {
        "a worker thread panicked".to_owned()
    }
}

struct State<'a, L: Lab> {
    schedule: Schedule<'a>,
    lab: &'a L,
    builds: &'a BuildList,
    built: Vec<BuildState<L::Built>>,
    pending: VecDeque<Cell>,
    running: Vec<(Cell, Lane)>,
    recorded: usize,
    /// Cells that the end of the time kept from being started.
    too_late: usize,
    stopping: bool,
    cannot_keep: Option<CannotKeep>,
}

impl<'a, L: Lab> State<'a, L> {
    fn new(schedule: Schedule<'a>, lab: &'a L, builds: &'a BuildList) -> Self {
        State {
            schedule,
            lab,
            builds,
            built: builds.names.iter().map(|_| BuildState::Waiting).collect(),
            pending: schedule.cells.iter().copied().filter(|c| c.arm < schedule.arms.len()).collect(),
            running: Vec::new(),
            recorded: 0,
            too_late: 0,
            stopping: false,
            cannot_keep: None,
        }
    }

    fn run<E>(
        mut self,
        inbox: &Receiver<Message<L::Built>>,
        jobs: Sender<Job<L>>,
        cancel: &Cancel,
        sink: &mut impl FnMut(&Event<'_>) -> Result<(), E>,
    ) -> End<E> {
        let mut failed: Option<E> = None;
        let mut emit = |event: &Event<'_>, cancel: &Cancel| {
            if failed.is_none()
                && let Err(error) = sink(event)
            {
                // What cannot be recorded need not be run.
                failed = Some(error);
                cancel.ask();
            }
            failed.is_none()
        };
        loop {
            if cancel.asked() && !self.stopping {
                self.stopping = true;
                emit(&Event::Stopping, cancel);
            }
            if !self.stopping {
                self.start_what_can(&jobs, cancel, &mut emit);
            }
            let idle = self.running.is_empty();
            if idle && (self.pending.is_empty() || self.stopping) {
                break;
            }
            // The time-out is for the stop request while every thread is busy building.
            match inbox.recv_timeout(Duration::from_millis(200)) {
                Ok(Message::Panicked(what)) => {
                    cancel.ask();
                    return End::Panicked { what };
                }
                Ok(Message::RunDone(cell, record)) => {
                    self.running.retain(|(other, _)| *other != cell);
                    // The next run starts before this one is stored: the wait for the disk is then nobody's. A
                    // kill in between costs no more, since the line is written before it is synced.
                    if !cancel.asked() {
                        self.start_what_can(&jobs, cancel, &mut emit);
                    }
                    self.recorded_or_stopped(cell, &record, cancel, &mut emit);
                }
                Ok(message) => self.take(message, cancel, &mut emit),
                Err(std::sync::mpsc::RecvTimeoutError::Timeout) => {}
                Err(std::sync::mpsc::RecvTimeoutError::Disconnected) => break,
            }
        }
        let missing = self.schedule.cells.len().saturating_sub(self.recorded + self.too_late);
        match (failed, self.cannot_keep) {
            (Some(error), _) => End::SinkFailed { error, missing },
            (None, Some(what)) => End::CannotKeep { what, missing },
            (None, None) if missing > 0 => End::Interrupted { missing },
            (None, None) if self.too_late > 0 => End::OutOfTime,
            (None, None) => End::Complete,
        }
    }

    fn take(
        &mut self,
        message: Message<L::Built>,
        cancel: &Cancel,
        emit: &mut impl FnMut(&Event<'_>, &Cancel) -> bool,
    ) {
        match message {
            Message::BuildStarted(index) => {
                emit(&Event::BuildStarted { name: self.build_name(index) }, cancel);
            }
            Message::BuildDone(index, seconds, result) => {
                let (cached, error, records) = match &result {
                    Ok(built) => (built.cached, None, built.records.as_slice()),
                    Err(failure) => (false, Some(failure.what.as_str()), &[][..]),
                };
                let name = self.build_name(index);
                // A build that was cut short by the stop request is not a failure.
                if !(error.is_some() && cancel.asked()) {
                    emit(&Event::BuildFinished { name, seconds, cached, error, records }, cancel);
                }
                if let Some(slot) = self.built.get_mut(index) {
                    *slot = match result {
                        Ok(built) => BuildState::Ready(Arc::new(built.value)),
                        Err(failure) => {
                            if tells_full_disk(&failure.what) {
                                self.cannot_keep.get_or_insert(CannotKeep(failure.what.clone()));
                                cancel.ask();
                            }
                            BuildState::Failed(failure)
                        }
                    };
                }
            }
            Message::CannotKeep(cell, what) => {
                self.running.retain(|(other, _)| *other != cell);
                self.cannot_keep.get_or_insert(what);
                cancel.ask();
            }
            // Handled by the loop.
            Message::RunDone(..) | Message::Panicked(_) => {}
        }
    }

    fn recorded_or_stopped(
        &mut self,
        cell: Cell,
        record: &RunRecord,
        cancel: &Cancel,
        emit: &mut impl FnMut(&Event<'_>, &Cancel) -> bool,
    ) {
        if matches!(record.end, RunEnd::Interrupted) {
            emit(&Event::RunStopped { arm: &record.arm, repeat: cell.repeat }, cancel);
        } else if emit(&Event::RunFinished { record }, cancel) {
            self.recorded += 1;
        }
    }

    fn build_name(&self, index: usize) -> &'a str {
        self.builds.names.get(index).map_or("", String::as_str)
    }

    /// Starts cells in the planned order, passing over those that must wait, but never letting a cell overtake an
    /// earlier one of its own comparison.
    fn start_what_can(
        &mut self,
        jobs: &Sender<Job<L>>,
        cancel: &Cancel,
        emit: &mut impl FnMut(&Event<'_>, &Cancel) -> bool,
    ) {
        if self.schedule.time_is_over() {
            self.too_late += std::mem::take(&mut self.pending).len();
        }
        let mut held: BTreeSet<&'a str> = BTreeSet::new();
        let mut waiting = VecDeque::with_capacity(self.pending.len());
        while let Some(cell) = self.pending.pop_front() {
            let Some(arm) = self.schedule.arms.get(cell.arm) else { continue };
            let comparison = arm.comparison.as_deref();
            let state = self.builds.of_arm.get(&cell.arm).and_then(|index| self.built.get(*index));
            if cancel.asked() || comparison.is_some_and(|c| held.contains(c)) {
                waiting.push_back(cell);
                continue;
            }
            match state {
                Some(BuildState::Ready(built)) => {
                    let lane = self.lab.lane(arm);
                    let in_lane = self.running.iter().filter(|(_, other)| other.name == lane.name).count();
                    let room =
                        self.running.len() < self.schedule.jobs.max(1) && in_lane < lane.capacity.max(1);
                    if room && jobs.send((cell, built.clone())).is_ok() {
                        emit(&Event::RunStarted { arm: &arm.id, repeat: cell.repeat }, cancel);
                        self.running.push((cell, lane));
                        continue;
                    }
                }
                Some(BuildState::Failed(failure)) => {
                    let record = self.lab.not_built(arm, cell.repeat, failure);
                    self.recorded_or_stopped(cell, &record, cancel, emit);
                    continue;
                }
                Some(BuildState::Waiting) | None => {}
            }
            held.extend(comparison);
            waiting.push_back(cell);
        }
        self.pending = waiting;
    }
}

#[cfg(test)]
#[path = "dispatcher_tests.rs"]
mod tests;
