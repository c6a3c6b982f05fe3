//! One hardware thread: its registers, its channels, and the loop that executes them.

use super::alu;
use super::cache::Code;
use super::flow::{Channels, Flow};
use super::lower::predicate;
use super::memory::GpuMemory;
use super::message::{self, Kind};
use super::micro::{Body, Micro};
use super::operand::OutOfRegisters;
use super::port::{Port, Trouble};
use super::regs::{CE, IP, REG, Regs, SR, TM};
use crate::isa::PredMode;

/// Why a thread stopped for now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pause {
    /// It sent its end-of-thread message.
    Ended,
    /// It waits for the rest of its group.
    Barrier,
    /// The dispatch has used up its budget.
    Budget,
}

/// Why a thread cannot go on.
#[derive(Debug)]
pub(super) enum Stop {
    Unsupported(Box<str>),
    Fault(super::memory::Fault),
}

impl From<OutOfRegisters> for Stop {
    fn from(error: OutOfRegisters) -> Self {
        Self::Unsupported(format!("register address {} is outside the register file", error.0).into())
    }
}

impl From<Trouble> for Stop {
    fn from(trouble: Trouble) -> Self {
        match trouble {
            Trouble::Fault(fault) => Self::Fault(fault),
            Trouble::Unsupported(reason) => Self::Unsupported(reason),
        }
    }
}

/// Identity of a hardware thread.
#[derive(Clone, Copy, Debug)]
pub(super) struct Identity {
    /// Number of the hardware thread in the device.
    pub thread: u32,
    pub sr0: u32,
}

pub(super) struct Thread {
    pub regs: Regs,
    pub channels: Channels,
    pub id: Identity,
    /// Index of the next instruction.
    pub ip: u32,
    /// Barriers it has signalled; it passes `sync.bar` once the group has completed as many.
    pub signalled: u32,
    dispatch_mask: u32,
}

/// What the threads of a group share beside memory.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Group {
    pub threads: u32,
    /// Threads that have signalled the barrier under way.
    pub arrived: u32,
    pub completed: u32,
}

/// Instructions and messages executed; `left` may still be.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Meter {
    pub instructions: u64,
    pub messages: u64,
    pub left: u64,
}

impl Thread {
    pub fn new() -> Self {
        Self {
            regs: Regs::new(),
            channels: Channels::new(0),
            id: Identity { thread: 0, sr0: 0 },
            ip: 0,
            signalled: 0,
            dispatch_mask: 0,
        }
    }

    /// Makes it a new thread with these channels. Registers are zeros until the payload is there.
    pub fn reset(&mut self, id: Identity, mask: u32) {
        self.regs.clear();
        self.channels = Channels::new(mask);
        (self.id, self.ip, self.signalled, self.dispatch_mask) = (id, 0, 0, mask);
    }

    /// Channels in which `micro` runs, from bit 0: the active ones or all, and the predicate.
    fn masks(&self, micro: &Micro) -> (u32, u32) {
        let full = micro.full();
        let active = if micro.no_mask { full } else { self.channels.active >> micro.mask_offset & full };
        let Some(pred) = micro.pred else { return (active, u32::MAX) };
        let flags = self.regs.flags();
        let bits = flags.wrapping_shr(micro.flag_bit.into()) as u32;
        let other = (flags >> 32).wrapping_shr(u32::from(micro.flag_bit) & 31) as u32;
        let both = matches!(pred.mode, PredMode::AnyV | PredMode::AllV);
        let bits = if both { bits & full } else { bits };
        (active, predicate(pred.mode, pred.inverted, bits, other, micro.lanes.into()))
    }

    fn refresh_state(&mut self, micro: &Micro, meter: &Meter) {
        self.regs.set(CE, self.channels.active);
        self.regs.set(IP, micro.offset);
        // sr0.2 and sr0.3: dispatch and vector masks.
        self.regs.set(SR, self.id.sr0);
        self.regs.set(SR + 8, self.dispatch_mask);
        self.regs.set(SR + 12, self.dispatch_mask);
        // Time passes by one tick an instruction.
        self.regs.set(TM, meter.instructions);
    }

    /// Executes until the thread ends or has to wait. `self.ip` stays at the instruction that failed.
    pub fn run<M: GpuMemory>(
        &mut self,
        code: &Code,
        port: &mut Port<'_, M>,
        group: &mut Group,
        meter: &mut Meter,
    ) -> Result<Pause, Stop> {
        loop {
            let Some(micro) = code.micros.get(self.ip as usize) else {
                return Err(Stop::Unsupported("execution ran into something that is no instruction".into()));
            };
            if meter.left == 0 {
                return Ok(Pause::Budget);
            }
            meter.left -= 1;
            meter.instructions += 1;
            match &micro.body {
                Body::Nop => self.ip += 1,
                Body::Flow(flow) => {
                    let (active, pred) = self.masks(micro);
                    self.ip = self.branch(micro, *flow, active, pred, code)?;
                }
                Body::Send(message) => {
                    let (active, pred) = self.masks(micro);
                    meter.messages += 1;
                    if let Some(pause) = self.send(micro, message, active & pred, port, group)? {
                        return Ok(pause);
                    }
                    self.ip += 1;
                }
                Body::Barrier => {
                    if self.signalled > group.completed {
                        // It will be executed again.
                        meter.instructions -= 1;
                        meter.left += 1;
                        return Ok(Pause::Barrier);
                    }
                    self.ip += 1;
                }
                Body::Unsupported(reason) => return Err(Stop::Unsupported(reason.clone())),
                body => {
                    let (active, pred) = self.masks(micro);
                    if micro.reads_state {
                        self.refresh_state(micro, meter);
                    }
                    // The predicate of `sel` chooses; all active channels are written.
                    let chooses = matches!(
                        body,
                        Body::Int32(super::micro::Int::Select)
                            | Body::Int64(super::micro::Int::Select)
                            | Body::Float(super::micro::Float::Select)
                    );
                    let exec = if chooses { active } else { active & pred };
                    if exec != 0 {
                        alu::execute(&mut self.regs, micro, exec, pred)?;
                    }
                    self.ip += 1;
                }
            }
        }
    }

    fn branch(
        &mut self,
        micro: &Micro,
        flow: Flow,
        active: u32,
        pred: u32,
        code: &Code,
    ) -> Result<u32, Stop> {
        let here = self.ip;
        let taken = (active & pred) << micro.mask_offset;
        Ok(match flow {
            Flow::Goto { jip, uip } => self.channels.goto(here, taken, jip, uip),
            Flow::GotoBack { uip } => self.channels.goto_back(here, taken, uip),
            Flow::Join { jip } => self.channels.join(here, jip),
            Flow::If { jip } => self.channels.enter_if(here, taken, jip),
            Flow::Else { jip } => self.channels.enter_else(here, jip),
            Flow::While { jip } => self.channels.end_while(here, taken, jip),
            Flow::Break { jip, uip } => match code.micros.get(uip as usize).map(|micro| &micro.body) {
                Some(Body::Flow(Flow::While { .. })) => self.channels.leave(here, taken, jip, uip),
                _ => return Err(Stop::Unsupported("break whose second target is no while".into())),
            },
            Flow::Jmpi { to } => {
                if pred & 1 != 0 {
                    to
                } else {
                    here + 1
                }
            }
            Flow::Call { to, dst } => match self.channels.call(taken) {
                Some(mask) => {
                    let next = code.micros.get(here as usize + 1).map_or(u32::MAX, |micro| micro.offset);
                    self.regs.set(dst as usize, next);
                    self.regs.set(dst as usize + 4, mask);
                    to
                }
                None => here + 1,
            },
            Flow::Ret { src } => {
                let (to, mask): (u32, u32) = (self.regs.get(src as usize), self.regs.get(src as usize + 4));
                let Some(to) = code.index.get(&to) else {
                    return Err(Stop::Unsupported(
                        format!("return to {to:#x}, where no instruction starts").into(),
                    ));
                };
                self.channels.ret(here, taken, *to, mask)
            }
        })
    }

    fn send<M: GpuMemory>(
        &mut self,
        micro: &Micro,
        message: &message::Message,
        exec: u32,
        port: &mut Port<'_, M>,
        group: &mut Group,
    ) -> Result<Option<Pause>, Stop> {
        let kind = match &message.kind {
            Ok(Kind::Late) => {
                let desc = Port::<M>::descriptor(&self.regs, message.desc);
                message::decode_for(message.sfid, message.eot, desc, micro.lanes)
                    .map_err(Stop::Unsupported)?
            }
            Ok(kind) => *kind,
            Err(reason) => return Err(Stop::Unsupported(reason.clone())),
        };
        let thread = self.id.thread;
        match kind {
            Kind::Access(access) => port.access(&mut self.regs, message, &access, exec, thread)?,
            Kind::Block { write, bytes, owords, model } if exec != 0 => {
                port.block(&mut self.regs, message, thread, (write, bytes.into(), owords, model))?;
            }
            Kind::Block { .. } => {}
            Kind::Spill { write, bytes, offset } => {
                port.spill(&mut self.regs, message, (thread, exec), (write, bytes.into(), offset))?;
            }
            Kind::Fence => {
                // Completion is a register with nothing in it.
                if let Some(dst) = message.dst {
                    self.regs.at_mut(dst, REG).fill(0);
                }
            }
            Kind::Barrier if exec != 0 => {
                self.signalled += 1;
                group.arrived += 1;
                if group.arrived >= group.threads {
                    group.arrived = 0;
                    group.completed += 1;
                }
            }
            Kind::Barrier => {}
            Kind::End => return Ok(Some(Pause::Ended)),
            Kind::Late => return Err(Stop::Unsupported("descriptor".into())),
        }
        Ok(None)
    }
}
