//! Runs the groups of a dispatch.

use thiserror::Error;

use super::cache::KernelCache;
use super::dispatch::{Dispatch, Spawner};
use super::memory::{Fault, GpuMemory};
use super::port::{Port, PortStats};
use super::thread::{Group, Meter, Pause, Stop, Thread};

/// How much a dispatch may execute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Instructions of all threads together.
    pub instructions: u64,
}

impl Default for Budget {
    /// An hour or so of the model's time: for kernels that are known to end.
    fn default() -> Self {
        Self { instructions: 100_000_000_000 }
    }
}

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

/// Executes a dispatch to its end. Groups run one after the other; the threads of a group take turns at barriers.
///
/// # Errors
/// The first thing that a thread could not do. Memory keeps what was written until then.
pub fn execute(
    dispatch: &Dispatch<'_>,
    memory: &mut impl GpuMemory,
    cache: &mut KernelCache,
    budget: Budget,
) -> Result<ExecStats, ExecError> {
    let kernel = dispatch.kernel_start;
    if !matches!(dispatch.simd, 8 | 16 | 32) {
        return Err(ExecError::BadDispatch("SIMD width"));
    }
    if dispatch.threads_per_group == 0 || dispatch.threads_per_group > 1024 {
        return Err(ExecError::BadDispatch("threads of a group"));
    }
    if dispatch.slm_bytes > 128 << 10 {
        return Err(ExecError::BadDispatch("shared local memory"));
    }
    let code = cache.get(kernel, memory).map_err(|fault| ExecError::KernelFault { kernel, fault })?;
    let mut port = Port::new(memory, dispatch);
    let mut spawner = Spawner::new(dispatch.geometry);
    let mut meter = Meter { left: budget.instructions, ..Meter::default() };
    let count = dispatch.threads_per_group;
    let mut threads: Vec<Thread> = (0..count).map(|_| Thread::new()).collect();
    let mut ended = vec![false; threads.len()];
    let counts = dispatch.counts();
    let mut stats = ExecStats::default();
    for number in 0..dispatch.groups() {
        let id = group_id(dispatch.group_start, counts, number);
        for ((index, thread), identity) in (0..).zip(threads.iter_mut()).zip(spawner.group(count)) {
            dispatch.start(thread, identity, id, index);
        }
        port.slm.fill(0);
        ended.fill(false);
        let mut group = Group { threads: count, ..Group::default() };
        loop {
            let (mut running, before) = (0, (meter.instructions, group.completed));
            for (thread, ended) in threads.iter_mut().zip(&mut ended).filter(|(_, ended)| !**ended) {
                let result = thread.run(code, &mut port, &mut group, &mut meter);
                let (offset, text) = match &result {
                    Ok(Pause::Ended | Pause::Barrier) => (0, String::new()),
                    _ => {
                        let micro = code.micros.get(thread.ip as usize);
                        (micro.map_or(u32::MAX, |micro| micro.offset), code.line(thread.ip))
                    }
                };
                match result {
                    Ok(Pause::Ended) => *ended = true,
                    Ok(Pause::Barrier) => running += 1,
                    Ok(Pause::Budget) => {
                        let instructions = meter.instructions;
                        return Err(ExecError::Budget { kernel, offset, text, instructions });
                    }
                    Err(Stop::Fault(fault)) => {
                        return Err(ExecError::Fault { kernel, offset, text, fault });
                    }
                    Err(Stop::Unsupported(reason)) => {
                        return Err(ExecError::Unsupported { kernel, offset, text, reason: reason.into() });
                    }
                }
            }
            if running == 0 {
                break;
            }
            if before == (meter.instructions, group.completed) {
                return Err(ExecError::BarrierDeadlock { kernel, waiting: running, threads: count });
            }
        }
        stats.groups += 1;
        stats.threads += u64::from(count);
    }
    stats.instructions = meter.instructions;
    stats.messages = meter.messages;
    stats.memory = port.stats;
    Ok(stats)
}

/// Ids of the `number`-th group, x fastest.
fn group_id(start: [u32; 3], counts: [u32; 3], number: u64) -> [u32; 3] {
    let mut rest = number;
    std::array::from_fn(|d| {
        let count = u64::from(counts.get(d).copied().unwrap_or(1).max(1));
        let at = (rest % count) as u32;
        rest /= count;
        start.get(d).copied().unwrap_or(0).wrapping_add(at)
    })
}
