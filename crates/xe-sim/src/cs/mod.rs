//! The command streamer: fetches commands through a VM and carries out their effects.
//!
//! Knows of address spaces, memory and the trace; nothing of requests, files or handles. Layouts are those of the
//! Bspec as compute-runtime's `hw_cmds_generated_*` states them.

mod atomic;
mod blit;
mod compute;
mod context;
mod math;
pub mod memory;
mod mi;
mod table;

pub use context::{Context, Heaps};

use crate::device::vm::VA_MASK;
use crate::eu::{Geometry, KernelCache};
use crate::launch::Attendant;
use crate::profile::Family;
use crate::trace::{Event, TraceSink};
use memory::{GpuMemory, Touch};

/// Commands one call of [`Machine::run`] executes at most, so that one queue cannot hold up the others.
const BUDGET: u32 = 200_000;

/// Why the streamer stopped.
#[derive(Debug, PartialEq, Eq)]
pub enum Stop {
    /// The batch ended.
    Done,
    /// It waits on a semaphore; try again when memory may have changed.
    Parked,
    /// It used up its share; go on at once.
    Budget,
    /// It did something the hardware cannot survive; the queue is to be banned.
    Fault(String),
}

/// What one command does to the flow.
pub(crate) enum Flow {
    Next,
    Jump(u64),
    /// Stop before this command and try it again later.
    Park,
    End,
}

pub(crate) type Effect = Result<Flow, String>;

/// Counters the streamer adds to.
#[derive(Clone, Debug, Default)]
pub struct Counters {
    pub dispatches: u64,
    pub hazards: u64,
    pub unmapped_reads: u64,
    pub unmapped_writes: u64,
    pub copied_bytes: u64,
    pub executed: u64,
    pub instructions: u64,
    pub executing_ns: u64,
    pub native_dispatches: u64,
    pub native_bytes: u64,
    pub sampled_groups: u64,
    pub kernel_unmapped_read: u64,
    pub kernel_unmapped_written: u64,
    /// Unsupported commands by name.
    pub unsupported: std::collections::BTreeMap<String, u64>,
}

/// Who runs: ids for the trace.
#[derive(Clone, Copy, Debug)]
pub struct Ids {
    pub file: u64,
    pub queue: u32,
    pub vm: u32,
}

/// One exec queue's streamer at work.
pub struct Machine<'a> {
    pub ids: Ids,
    pub family: Family,
    pub memory: GpuMemory<'a>,
    pub ctx: &'a mut Context,
    pub trace: &'a mut TraceSink,
    pub counters: &'a mut Counters,
    pub kernels: &'a mut KernelCache,
    /// Hardware threads of the card; `None`: its instruction set has no model, and dispatches change no memory.
    pub geometry: Option<Geometry>,
    pub attendant: &'a dyn Attendant,
}

impl Machine<'_> {
    /// Executes from the context's instruction pointer until something stops it. Returns whether any command was
    /// completed, and why it stopped.
    pub fn run(&mut self) -> (bool, Stop) {
        let mut words: Vec<u32> = Vec::with_capacity(64);
        for done in 0..BUDGET {
            let progressed = done > 0;
            let at = self.ctx.ip;
            words.clear();
            if self.ctx.adrift {
                return (progressed, Stop::Parked);
            }
            if let Err(stop) = self.fetch(at, 0, 1, &mut words) {
                return (progressed, stop);
            }
            let header = words.first().copied().unwrap_or(0);
            let Some((command, len)) = table::find(header) else {
                self.unsupported("unknown command of unknown length", header, at);
                return (progressed, Stop::Fault(format!("unknown command {header:#010x} at {at:#x}")));
            };
            if let Err(stop) = self.fetch(at, 1, len, &mut words) {
                return (progressed, stop);
            }
            let next = at.wrapping_add(u64::from(len) * 4) & VA_MASK;
            if self.ctx.skips(header) {
                self.ctx.ip = next;
                continue;
            }
            self.ctx.next = next;
            let effect = match command.run {
                Some(run) => run(self, &words),
                None => {
                    if !command.known {
                        self.unsupported(command.name, header, at);
                    }
                    Ok(Flow::Next)
                }
            };
            match effect {
                Ok(Flow::Next) => self.ctx.ip = next,
                Ok(Flow::Jump(to)) => self.ctx.ip = to & VA_MASK,
                Ok(Flow::Park) => return (progressed, Stop::Parked),
                Ok(Flow::End) => return (true, Stop::Done),
                Err(why) => return (progressed, Stop::Fault(format!("{} at {at:#x}: {why}", command.name))),
            }
        }
        (true, Stop::Budget)
    }

    /// Appends command words `[from, to)` of the command at `at`.
    ///
    /// An unbound command address in a VM with a scratch page sets the queue adrift: the hardware executes the scratch
    /// page's zeros (MI_NOOP) for ever. In long-running mode the kernel never ends that; elsewhere the job times out.
    fn fetch(&mut self, at: u64, from: u32, to: u32, words: &mut Vec<u32>) -> Result<(), Stop> {
        let mut bytes = [0u8; 256];
        let mut word = from;
        while word < to {
            let n = (to - word).min(64);
            let Some(chunk) = bytes.get_mut(..n as usize * 4) else { return Ok(()) };
            let addr = at.wrapping_add(u64::from(word) * 4) & VA_MASK;
            let touch = self.memory.read(addr, chunk);
            if touch.missed > 0 {
                self.missed(touch, false, "command fetch");
                if self.memory.vm.scratch {
                    self.ctx.adrift = true;
                    return Err(Stop::Parked);
                }
                return Err(Stop::Fault(format!("command fetch from unbound {:#x}", touch.first)));
            }
            words.extend(chunk.chunks_exact(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]])));
            word += n;
        }
        Ok(())
    }

    /// Counts and traces a command that has no (full) model; the first of each kind is traced.
    pub(crate) fn unsupported(&mut self, name: &str, dword: u32, addr: u64) {
        let count = self.counters.unsupported.entry(name.to_owned()).or_default();
        *count += 1;
        if *count == 1 {
            self.trace.emit(Event::UnsupportedCommand {
                file: self.ids.file,
                queue: self.ids.queue,
                dword,
                addr,
                name: name.to_owned(),
            });
        }
    }

    /// Counts and traces an access that found nothing bound.
    pub(crate) fn missed(&mut self, touch: Touch, write: bool, by: &str) {
        let counter =
            if write { &mut self.counters.unmapped_writes } else { &mut self.counters.unmapped_reads };
        *counter += 1;
        self.trace.emit(Event::UnmappedAccess {
            file: self.ids.file,
            vm: self.ids.vm,
            queue: self.ids.queue,
            addr: touch.first,
            write,
            bytes: touch.missed,
            by: by.to_owned(),
            scratch: self.memory.vm.scratch,
        });
    }

    /// Applies the VM's rule to an access: with a scratch page a miss is counted and forgotten, without it is a fault.
    pub(crate) fn settle(&mut self, touch: Touch, write: bool, by: &str) -> Result<(), String> {
        if touch.missed == 0 {
            return Ok(());
        }
        self.missed(touch, write, by);
        if self.memory.vm.scratch {
            return Ok(());
        }
        let what = if write { "write to" } else { "read from" };
        Err(format!("page fault: {what} unbound {:#x}", touch.first))
    }

    pub(crate) fn read_u32(&mut self, addr: u64, by: &str) -> Result<u32, String> {
        let mut bytes = [0; 4];
        let touch = self.memory.read(addr, &mut bytes);
        self.settle(touch, false, by)?;
        Ok(u32::from_le_bytes(bytes))
    }

    pub(crate) fn read_u64(&mut self, addr: u64, by: &str) -> Result<u64, String> {
        let mut bytes = [0; 8];
        let touch = self.memory.read(addr, &mut bytes);
        self.settle(touch, false, by)?;
        Ok(u64::from_le_bytes(bytes))
    }

    pub(crate) fn write(&mut self, addr: u64, bytes: &[u8], by: &str) -> Result<(), String> {
        let touch = self.memory.write(addr, bytes);
        self.settle(touch, true, by)
    }
}

/// Word `i` of a command, zero past its end: a command shorter than its layout has zeros there.
pub(crate) fn word(words: &[u32], i: usize) -> u32 {
    words.get(i).copied().unwrap_or(0)
}

/// Words `i` and `i + 1` as one value.
pub(crate) fn qword(words: &[u32], i: usize) -> u64 {
    u64::from(word(words, i)) | u64::from(word(words, i + 1)) << 32
}

/// GPU ticks: 19.2 MHz, from CLOCK_MONOTONIC_RAW as ENGINE_CYCLES reports them.
pub fn gpu_ticks() -> u64 {
    let ns = crate::trace::clock_ns(nix::time::ClockId::CLOCK_MONOTONIC_RAW).unwrap_or(0);
    ticks_of_ns(ns)
}

pub fn ticks_of_ns(ns: u64) -> u64 {
    (u128::from(ns) * 192 / 10_000) as u64
}
