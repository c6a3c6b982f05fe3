//! Runs the groups of a dispatch.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use thiserror::Error;

use super::cache::{Code, KernelCache};
use super::dispatch::{Dispatch, Spawner};
use super::idiom::Idiom;
use super::memory::{Fault, GpuMemory};
use super::order;
use super::port::{Port, PortStats};
use super::thread::{Group, Meter, Pause, Stop, Thread};

/// How much a dispatch may execute.
#[derive(Clone, Copy)]
pub struct Budget<'a> {
    /// Instructions of all threads together.
    pub instructions: u64,
    /// Asked now and then; true: nobody waits for the dispatch's end any more.
    pub ended: &'a (dyn Fn() -> bool + Sync),
}

impl Budget<'_> {
    pub fn of(instructions: u64) -> Self {
        Self { instructions, ended: &|| false }
    }
}

impl Default for Budget<'_> {
    /// An hour or so of the model's time: for kernels that are known to end.
    fn default() -> Self {
        Self::of(100_000_000_000)
    }
}

/// Instructions between two questions whether the dispatch is still wanted: a tenth of a second or so.
const SLICE: u64 = 1_000_000;

/// What a dispatch executed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExecStats {
    pub groups: u64,
    pub threads: u64,
    /// SIMD instructions and, among them, messages.
    pub instructions: u64,
    pub messages: u64,
    pub memory: PortStats,
}

/// Why a dispatch did not end. Offsets are in bytes from the kernel's first instruction.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ExecError {
    #[error("not modelled: {reason}: `{text}` at {offset:#x} of the kernel at {kernel:#x}")]
    Unsupported { kernel: u64, offset: u32, text: String, reason: String },
    #[error(
        "the kernel at {kernel:#x} was stopped after {instructions} instructions, at {offset:#x} (`{text}`)"
    )]
    Budget { kernel: u64, offset: u32, text: String, instructions: u64 },
    #[error(
        "the run was ended while the kernel at {kernel:#x} was executed, {instructions} instructions on this core of the host, at \
         {offset:#x} (`{text}`): it needs more time, or never ends"
    )]
    Ended { kernel: u64, offset: u32, text: String, instructions: u64 },
    #[error(
        "memory fault: {} of {:#x}, by `{text}` at {offset:#x} of the kernel at {kernel:#x}",
        if fault.write { "write" } else { "read" }, fault.addr
    )]
    Fault { kernel: u64, offset: u32, text: String, fault: Fault },
    #[error("memory fault while fetching the kernel at {kernel:#x}")]
    KernelFault { kernel: u64, fault: Fault },
    #[error(
        "{waiting} of {threads} threads wait at a barrier that the others never reach, kernel at {kernel:#x}"
    )]
    BarrierDeadlock { kernel: u64, waiting: u32, threads: u32 },
    #[error("dispatch that no hardware accepts: {0}")]
    BadDispatch(&'static str),
}

/// Executes a dispatch to its end, its groups one after the other.
///
/// # Errors
/// The first thing that a thread could not do. Memory keeps what was written until then.
pub fn execute(
    dispatch: &Dispatch<'_>,
    memory: &mut impl GpuMemory,
    cache: &mut KernelCache,
    budget: Budget<'_>,
) -> Result<ExecStats, ExecError> {
    prepare(dispatch, memory, cache)?.run(memory, budget)
}

/// Checks a dispatch and decodes its kernel, unless `cache` has it.
///
/// # Errors
/// The dispatch makes no sense, or its kernel cannot be read.
pub fn prepare<'a>(
    dispatch: &'a Dispatch<'a>,
    memory: &mut impl GpuMemory,
    cache: &'a mut KernelCache,
) -> Result<Prepared<'a>, ExecError> {
    let kernel = dispatch.kernel_start;
    if !matches!(dispatch.simd, 8 | 16 | 32) {
        return Err(ExecError::BadDispatch("SIMD width"));
    }
    if dispatch.threads_per_group == 0 {
        return Err(ExecError::BadDispatch("threads of a group"));
    }
    if dispatch.threads_per_group > dispatch.geometry.threads_per_dss() {
        return Err(ExecError::BadDispatch("a group of more threads than a dual sub-slice has"));
    }
    if dispatch.slm_bytes > 128 << 10 {
        return Err(ExecError::BadDispatch("shared local memory"));
    }
    let code = cache.get(kernel, memory).map_err(|fault| ExecError::KernelFault { kernel, fault })?;
    Ok(Prepared { dispatch, code })
}

/// A dispatch ready to run.
pub struct Prepared<'a> {
    dispatch: &'a Dispatch<'a>,
    code: &'a Code,
}

impl Prepared<'_> {
    /// Set when the kernel does nothing but move bytes, the same in every group of a row.
    pub fn idiom(&self) -> Option<Idiom> {
        self.code.proved.as_ref().map(|proved| proved.idiom)
    }

    /// Whether each comparison that the idiom rests on turns at most once along a row of so many groups: then what it
    /// gives alike for the first and the last it gives for all. `memory` sees what the first two do before it.
    pub fn is_in_order(&self, memory: &mut impl GpuMemory, groups: u64) -> bool {
        let compares = self.code.proved.as_ref().map_or(&[][..], |proved| &proved.compares);
        compares.iter().all(|at| order::keeps(self.dispatch, self.code, memory, *at, groups))
    }

    /// Executes all groups, one after the other.
    ///
    /// # Errors
    /// As for [`execute`].
    pub fn run(&self, memory: &mut impl GpuMemory, budget: Budget<'_>) -> Result<ExecStats, ExecError> {
        self.share(memory, budget, (0, 1), &AtomicBool::new(false))
    }

    /// Executes all groups, on as many threads as there are `memories`, each of which must show the same memory, with
    /// accesses to it made in one step where [`GpuMemory`] asks for it. Groups of one dual sub-slice stay on one
    /// thread, since they take turns on its hardware threads and so on their private memory. The caller's thread runs
    /// `serve` meanwhile; it must come back once all memories are dropped.
    ///
    /// # Errors
    /// As for [`execute`]; of several errors, one.
    pub fn run_parallel<M: GpuMemory + Send>(
        &self,
        memories: Vec<M>,
        budget: Budget<'_>,
        serve: impl FnOnce(),
    ) -> Result<ExecStats, ExecError> {
        let count = memories.len().max(1) as u64;
        let each = Budget { instructions: budget.instructions / count, ..budget };
        let stop = AtomicBool::new(false);
        let results: Mutex<Vec<Result<ExecStats, ExecError>>> = Mutex::default();
        rayon::in_place_scope(|scope| {
            for (share, mut memory) in (0..).zip(memories) {
                let (stop, results) = (&stop, &results);
                scope.spawn(move |_| {
                    let result = self.share(&mut memory, each, (share, count), stop);
                    drop(memory);
                    if result.is_err() {
                        stop.store(true, Ordering::Relaxed);
                    }
                    results.lock().unwrap_or_else(PoisonError::into_inner).push(result);
                });
            }
            serve();
        });
        let mut total = ExecStats::default();
        for result in results.into_inner().unwrap_or_else(PoisonError::into_inner) {
            total.add(&result?);
        }
        Ok(total)
    }

    /// The groups on every `of`-th dual sub-slice from `share` on.
    fn share(
        &self,
        memory: &mut impl GpuMemory,
        budget: Budget<'_>,
        (share, of): (u64, u64),
        stop: &AtomicBool,
    ) -> Result<ExecStats, ExecError> {
        let slices = u64::from(self.dispatch.geometry.dss.max(1));
        let mine = |number: &u64| number % slices % of == share && !stop.load(Ordering::Relaxed);
        self.groups(memory, budget, (0..self.dispatch.groups()).filter(mine))
    }

    /// Executes these groups alone, in order; their numbers count x fastest.
    ///
    /// # Errors
    /// As for [`execute`].
    pub fn groups(
        &self,
        memory: &mut impl GpuMemory,
        budget: Budget<'_>,
        numbers: impl Iterator<Item = u64>,
    ) -> Result<ExecStats, ExecError> {
        let (dispatch, code) = (self.dispatch, self.code);
        let mut port = Port::new(memory, dispatch);
        let spawner = Spawner::new(dispatch.geometry);
        let mut meter = Meter::default();
        let mut reserve = Reserve { left: budget.instructions, ended: budget.ended };
        let count = dispatch.threads_per_group;
        let mut threads: Vec<Thread> = (0..count).map(|_| Thread::new()).collect();
        let mut ended = vec![false; threads.len()];
        let mut stats = ExecStats::default();
        for number in numbers {
            let id = dispatch.group_id(number);
            for ((index, thread), identity) in (0..).zip(threads.iter_mut()).zip(spawner.group(number, count))
            {
                dispatch.start(thread, identity, id, index);
            }
            port.slm.fill(0);
            ended.fill(false);
            run_group(code, &mut port, (&mut meter, &mut reserve), &mut threads, &mut ended)
                .map_err(|error| error.of(dispatch.kernel_start, code))?;
            stats.groups += 1;
            stats.threads += u64::from(count);
        }
        stats.instructions = meter.instructions;
        stats.messages = meter.messages;
        stats.memory = port.stats;
        Ok(stats)
    }
}

impl ExecStats {
    pub(crate) fn add(&mut self, other: &ExecStats) {
        self.groups += other.groups;
        self.threads += other.threads;
        self.instructions += other.instructions;
        self.messages += other.messages;
        self.memory.add(&other.memory);
    }
}

/// What a dispatch may execute beyond what its meter has.
struct Reserve<'a> {
    left: u64,
    ended: &'a (dyn Fn() -> bool + Sync),
}

impl Reserve<'_> {
    /// False: nothing is left.
    fn refill(&mut self, meter: &mut Meter) -> bool {
        meter.left = self.left.min(SLICE);
        self.left -= meter.left;
        meter.left > 0
    }
}

/// Why a group stopped, and where.
enum GroupError {
    Budget { at: u32, instructions: u64 },
    Ended { at: u32, instructions: u64 },
    Stopped { at: u32, why: Stop },
    Deadlock { waiting: u32, threads: u32 },
}

impl GroupError {
    fn of(self, kernel: u64, code: &Code) -> ExecError {
        let place = |at: u32| {
            let micro = code.micros.get(at as usize);
            (micro.map_or(u32::MAX, |micro| micro.offset), code.line(at))
        };
        match self {
            GroupError::Budget { at, instructions } => {
                let (offset, text) = place(at);
                ExecError::Budget { kernel, offset, text, instructions }
            }
            GroupError::Ended { at, instructions } => {
                let (offset, text) = place(at);
                ExecError::Ended { kernel, offset, text, instructions }
            }
            GroupError::Stopped { at, why: Stop::Fault(fault) } => {
                let (offset, text) = place(at);
                ExecError::Fault { kernel, offset, text, fault }
            }
            GroupError::Stopped { at, why: Stop::Unsupported(reason) } => {
                let (offset, text) = place(at);
                ExecError::Unsupported { kernel, offset, text, reason: reason.into() }
            }
            GroupError::Deadlock { waiting, threads } => {
                ExecError::BarrierDeadlock { kernel, waiting, threads }
            }
        }
    }
}

/// Runs a thread to its end, then true, or to a barrier.
fn turn<M: GpuMemory>(
    thread: &mut Thread,
    code: &Code,
    port: &mut Port<'_, M>,
    group: &mut Group,
    meter: &mut Meter,
    reserve: &mut Reserve<'_>,
) -> Result<bool, GroupError> {
    loop {
        match thread.run(code, port, group, meter) {
            Ok(Pause::Ended) => return Ok(true),
            Ok(Pause::Barrier) => return Ok(false),
            Ok(Pause::Budget) => {}
            Err(why) => return Err(GroupError::Stopped { at: thread.ip, why }),
        }
        let (at, instructions) = (thread.ip, meter.instructions);
        if (reserve.ended)() {
            return Err(GroupError::Ended { at, instructions });
        }
        if !reserve.refill(meter) {
            return Err(GroupError::Budget { at, instructions });
        }
    }
}

/// Runs a group's threads in turns, each to its end or to the next barrier.
fn run_group<M: GpuMemory>(
    code: &Code,
    port: &mut Port<'_, M>,
    (meter, reserve): (&mut Meter, &mut Reserve<'_>),
    threads: &mut [Thread],
    ended: &mut [bool],
) -> Result<(), GroupError> {
    let count = threads.len() as u32;
    let mut group = Group { threads: count, ..Group::default() };
    loop {
        let (mut running, before) = (0, (meter.instructions, group.completed));
        for (thread, ended) in threads.iter_mut().zip(ended.iter_mut()).filter(|(_, ended)| !**ended) {
            match turn(thread, code, port, &mut group, meter, reserve)? {
                true => *ended = true,
                false => running += 1,
            }
        }
        if running == 0 {
            return Ok(());
        }
        if before == (meter.instructions, group.completed) {
            return Err(GroupError::Deadlock { waiting: running, threads: count });
        }
    }
}
