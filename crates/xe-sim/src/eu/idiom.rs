//! Recognises kernels that only move bytes: what the driver's own copies and fills are made of.
//!
//! A proof on the lowered instructions, not a list of known kernels: the addresses of all loads and stores are linear in
//! the group's number (by modular arithmetic, so a wrap changes nothing), what is loaded goes nowhere but to the store
//! that is its partner, and the one branch there may be is a bound check by order. So what a group does is what its
//! neighbour does, a constant distance further on, and a few groups tell of all, if at the bound check nothing wraps
//! (see `order`). Anything else is no idiom.

use super::cache::Code;
use super::flow::Flow;
use super::message::{Access, Kind, Message, Model, What};
use super::micro::{At, Body, Int, Micro, Source, Target};
use super::regs::{ACC, ADDR, FILE, FLAG, REG};
use crate::isa::{CondMod, Desc, SrcMod, Type};

/// What such a kernel does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Idiom {
    /// Every store has what one load brought.
    Copy,
    /// Every store has the same bytes in every group.
    Fill,
}

/// An idiom, as far as the instructions prove it.
pub(super) struct Proved {
    pub idiom: Idiom,
    /// Instructions that compare a value linear in the group's number with one that does not depend on it. They tell groups
    /// apart by their order only if no such value wraps from the first group to the last, which depends on the launch.
    pub compares: Vec<u32>,
}

/// Depends on the group's number, linearly modulo 2³².
const LINEAR: u8 = 1;
/// Came from memory at an address that depends on it.
const DATA: u8 = 2;
/// Depends on it in some other way, or on the hardware thread.
const OTHER: u8 = 4;

/// A load whose partner has not come yet.
struct Load {
    at: usize,
    bytes: usize,
    access: Access,
    /// Its registers still hold what it brought.
    whole: bool,
}

struct Proof {
    /// Of each byte of the register block.
    taint: Vec<u8>,
    /// `mul` into the accumulator by the low half of a linear value: the other factor, and where the value is.
    product: Option<(At, u32)>,
    loads: Vec<Load>,
    stored: usize,
    filled: usize,
    guard: Option<u32>,
    tail: bool,
    compares: Vec<u32>,
}

/// `None`: no idiom, or none that is known to be one.
pub(super) fn recognise(code: &Code) -> Option<Proved> {
    let mut proof = Proof::new();
    for (index, micro) in (0..).zip(&code.micros) {
        if proof.step(index, micro)? {
            return Some(Proved { idiom: proof.result()?, compares: proof.compares });
        }
    }
    None
}

impl Proof {
    fn new() -> Self {
        let mut taint = vec![0; FILE];
        // r0.1: the group's number; r0.5: the hardware thread; r0.6 and r0.7 are the other dimensions.
        taint.iter_mut().skip(4).take(4).for_each(|t| *t = LINEAR);
        taint.iter_mut().skip(20).take(12).for_each(|t| *t = OTHER);
        Self {
            taint,
            product: None,
            loads: Vec::new(),
            stored: 0,
            filled: 0,
            guard: None,
            tail: false,
            compares: Vec::new(),
        }
    }

    fn result(&self) -> Option<Idiom> {
        match (self.stored, self.filled) {
            (1.., 0) if self.stored == self.loads.len() => Some(Idiom::Copy),
            (0, 1..) if self.loads.is_empty() => Some(Idiom::Fill),
            _ => None,
        }
    }

    /// True at the thread's end; `None` where the proof fails.
    fn step(&mut self, index: u32, micro: &Micro) -> Option<bool> {
        if micro.reads_state {
            return None;
        }
        match &micro.body {
            Body::Nop => {}
            Body::Flow(flow) => self.flow(index, *flow)?,
            Body::Send(message) => return self.send(micro, message),
            _ => self.alu(index, micro)?,
        }
        Some(false)
    }

    /// The only branch: over the rest of the kernel, to the join before its end.
    fn flow(&mut self, index: u32, flow: Flow) -> Option<()> {
        match flow {
            Flow::Goto { jip, uip } if jip == uip && jip > index && self.guard.is_none() => {
                self.guard = Some(jip);
            }
            Flow::Join { jip } if self.guard == Some(index) && jip == index + 1 => self.tail = true,
            _ => return None,
        }
        Some(())
    }

    fn at(&self, offset: usize, len: usize) -> u8 {
        self.taint.iter().skip(offset).take(len).fold(0, |sum, t| sum | t)
    }

    fn set(&mut self, offset: usize, len: usize, taint: u8) {
        self.taint.iter_mut().skip(offset).take(len).for_each(|t| *t = taint);
        for load in self.loads.iter_mut().filter(|l| l.at < offset + len && offset < l.at + l.bytes) {
            load.whole = false;
        }
    }

    /// Taint of channel `lane` of a source.
    fn source(&self, source: &Source, lane: usize) -> Option<u8> {
        let size = usize::from(source.ty.size());
        Some(match source.at {
            At::Imm(_) | At::Vector(_) | At::Floats(_) => 0,
            At::Line { off, step } => self.at(off as usize + lane * usize::from(step), size),
            At::Grid { off, v, h, shift } => {
                let (row, column) = (lane >> shift, lane & ((1 << shift) - 1));
                self.at(off as usize + row * usize::from(v) + column * usize::from(h), size)
            }
            At::PerRow { .. } | At::Moving { .. } => return None,
        })
    }

    fn alu(&mut self, index: u32, micro: &Micro) -> Option<()> {
        if self.tail && !matches!(micro.body, Body::Copy(_)) {
            return None;
        }
        let lanes = usize::from(micro.lanes);
        let flag = FLAG + usize::from(micro.flag_bit) / 8;
        let flags = self.at(flag, lanes.div_ceil(8).max(1));
        if micro.pred.is_some() && flags != 0 {
            return None;
        }
        let mut results = vec![0u8; lanes];
        let mut any = 0;
        for (lane, result) in results.iter_mut().enumerate() {
            let mut taints = [0u8; 3];
            for (slot, source) in taints.iter_mut().zip(&micro.src) {
                *slot = source.as_ref().map_or(Some(0), |s| self.source(s, lane))?;
            }
            *result = self.combine(micro, taints)?;
            any |= *result;
        }
        // What an instruction does beside its destination must not depend on the group.
        let beside = micro.acc_write || micro.saturate || (micro.cond.is_some() && !is_compare(&micro.body));
        if any != 0 && (beside || micro.pred.is_some()) {
            return None;
        }
        if is_compare(&micro.body) {
            if any != 0 && !matches!(micro.dst, Target::Null) {
                return None;
            }
            if any != 0 {
                self.compares.push(index);
            }
            // Bits that turn once are good for the branch alone, not for a sum.
            let turns = if any == 0 { 0 } else { OTHER };
            self.set(flag, lanes.div_ceil(8).max(1), turns | flags);
        }
        self.product = match &micro.body {
            Body::MulAcc => self.product_of(micro),
            _ if micro.acc_write => None,
            _ => self.product.take(),
        };
        match micro.dst {
            Target::Null => {}
            Target::Line { off, step } => {
                let size = usize::from(micro.dst_ty.size());
                for (lane, taint) in results.into_iter().enumerate() {
                    self.set(off as usize + lane * usize::from(step), size, taint);
                }
            }
            Target::Moving { .. } => return None,
        }
        if micro.acc_write || matches!(micro.body, Body::Carry | Body::Borrow) {
            // Only what does not depend on the group got here.
            self.set(ACC, 8 * REG, 0);
        }
        Some(())
    }

    /// Taint of a result from those of its sources.
    fn combine(&self, micro: &Micro, taints: [u8; 3]) -> Option<u8> {
        let any = taints[0] | taints[1] | taints[2];
        // `mach` reads the accumulator beside its sources.
        let hidden = match micro.body {
            Body::MulLow | Body::MulHigh => self.at(ACC, 4 * usize::from(micro.lanes)),
            _ => 0,
        };
        if any | hidden == 0 {
            return Some(0);
        }
        if matches!(micro.body, Body::Copy(4)) && any & DATA == 0 {
            return Some(any);
        }
        if any != LINEAR {
            return None;
        }
        let words = |k: usize| match micro.src.get(k) {
            Some(Some(s)) => s.ty.size() == 4 && matches!(s.modifier, SrcMod::None | SrcMod::Neg),
            _ => true,
        };
        let linear = |k: usize| taints.get(k).is_some_and(|t| t & LINEAR != 0);
        let narrow = (0..3).any(|k| linear(k) && !words(k));
        let fits = micro.dst_ty.size() == 4 && !narrow;
        match micro.body {
            Body::Int32(Int::Mov | Int::Add | Int::Add3) if fits => Some(LINEAR),
            Body::Int32(Int::Mul) if fits && !(linear(0) && linear(1)) => Some(LINEAR),
            Body::Int32(Int::Mad) if fits && !(linear(1) && linear(2)) => Some(LINEAR),
            Body::Int32(Int::Shl) if fits && !linear(1) => Some(LINEAR),
            Body::Compare32(CondMod::Lt | CondMod::Le | CondMod::Gt | CondMod::Ge, _)
                if !(narrow || linear(0) && linear(1)) =>
            {
                Some(LINEAR)
            }
            // Good for nothing but the instruction that completes the product.
            Body::MulAcc if !linear(0) => Some(OTHER),
            Body::MulLow if fits && self.completes(micro) => Some(LINEAR),
            _ => None,
        }
    }

    fn product_of(&self, micro: &Micro) -> Option<(At, u32)> {
        match &micro.src {
            [
                Some(a),
                Some(Source { at: At::Line { off, .. }, ty: Type::Uw, modifier: SrcMod::None }),
                None,
            ] if a.modifier == SrcMod::None && off.is_multiple_of(4) => Some((a.at.clone(), *off)),
            _ => None,
        }
    }

    /// Whether a `mach` multiplies the very values that the `mul` before it did: then its result is their product.
    fn completes(&self, micro: &Micro) -> bool {
        let line = |at: &At| match *at {
            At::Line { off, step } => Some((off, step)),
            _ => None,
        };
        match (&self.product, &micro.src) {
            (Some((first, second)), [Some(a), Some(b), None]) => {
                line(first).is_some()
                    && micro.lanes == 1
                    && line(first).map(|l| l.0) == line(&a.at).map(|l| l.0)
                    && line(&b.at).is_some_and(|(off, _)| off == *second)
                    && (a.modifier, b.modifier) == (SrcMod::None, SrcMod::None)
                    && (a.ty.size(), b.ty.size()) == (4, 4)
            }
            _ => false,
        }
    }

    fn send(&mut self, micro: &Micro, message: &Message) -> Option<bool> {
        let kind = *message.kind.as_ref().ok()?;
        if kind == Kind::End {
            return (micro.pred.is_none() && (self.guard.is_none() || self.tail)).then_some(true);
        }
        if micro.pred.is_some() || self.tail {
            return None;
        }
        if let Desc::A0 { sub } = message.ex_desc
            && self.at(ADDR + usize::from(sub) * 4, 4) != 0
        {
            return None;
        }
        match kind {
            // The payload's own data: the same for every group.
            Kind::Block { write: false, bytes, .. } => {
                if self.at(message.src0 + 8, 4) != 0 {
                    return None;
                }
                self.set(message.dst?, bytes.into(), 0);
            }
            Kind::Access(access) => self.access(message, access)?,
            _ => return None,
        }
        Some(false)
    }

    fn access(&mut self, message: &Message, access: Access) -> Option<()> {
        let lanes = usize::from(access.lanes);
        let addresses = lanes * usize::from(access.addr);
        if access.transposed || access.model == Model::Slm || access.addr != 4 {
            return None;
        }
        if self.at(message.src0, addresses) != LINEAR {
            return None;
        }
        let stride = (lanes * usize::from(access.reg_size)).next_multiple_of(REG);
        let bytes = stride * usize::from(access.count);
        match access.what {
            What::Load => {
                let at = message.dst?;
                self.set(at, bytes, DATA);
                self.loads.push(Load { at, bytes, access, whole: true });
            }
            What::Store => {
                let at = message.src1.unwrap_or(message.src0 + addresses.next_multiple_of(REG));
                if self.at(at, bytes) == 0 {
                    self.filled += 1;
                    return Some(());
                }
                // Loads and stores come in the same order, each with its partner.
                let load = self.loads.get(self.stored)?;
                let same = Access { what: What::Store, model: access.model, ..load.access } == access;
                if !(load.whole && load.at == at && same) {
                    return None;
                }
                self.stored += 1;
            }
            What::Atomic(_) => return None,
        }
        Some(())
    }
}

fn is_compare(body: &Body) -> bool {
    matches!(body, Body::Compare32(..) | Body::CompareInt(_) | Body::CompareFloat(_))
}
