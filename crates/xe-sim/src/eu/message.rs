//! Message descriptors. Source: PRM, "Shared Functions"; field places as in the graphics compiler's IGA decoders.
//!
//! The legacy data ports' messages are reduced to the same [`Access`] as those of the load/store cache.

use crate::isa::{Desc, Instruction, Place, RegFile, Send, Sfid, Src};

use super::regs::REG;

/// Register numbers and the descriptor of a `send`.
#[derive(Clone, Debug)]
pub(super) struct Message {
    pub sfid: Sfid,
    pub desc: Desc,
    pub ex_desc: Desc,
    pub ex_bso: bool,
    pub eot: bool,
    /// Channels of the instruction.
    pub lanes: u8,
    /// Byte offsets of the payloads and of the destination.
    pub src0: usize,
    pub src1: Option<usize>,
    pub dst: Option<usize>,
    /// Of the immediate descriptor, decoded once.
    pub kind: Result<Kind, Box<str>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Access(Access),
    /// Block of bytes at an offset in the header's third dword.
    Block {
        write: bool,
        bytes: u16,
        /// The offset counts units of 16 bytes.
        owords: bool,
        model: Model,
    },
    /// Registers spilled to the thread's scratch memory, at this offset in bytes.
    Spill {
        write: bool,
        bytes: u16,
        offset: u32,
    },
    /// Completes at once: the model executes memory accesses in order.
    Fence,
    Barrier,
    End,
    /// The descriptor is in an address register.
    Late,
}

/// How addresses become virtual addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Model {
    /// As they are.
    Flat,
    /// Offsets from the general state base.
    Stateless,
    /// Offsets into the shared local memory.
    Slm,
    /// Surface through an entry of the binding table.
    Bti(u8),
    /// Surface state at an offset of the bindless heap, or of the surface heap: in the extended descriptor.
    Bindless,
    Surface,
    /// Binding-table entry in the extended descriptor.
    ExBti,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    Load,
    Store,
    Atomic(Atomic),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Atomic {
    Inc,
    Dec,
    Load,
    Store,
    Add,
    Sub,
    SignedMin,
    SignedMax,
    Min,
    Max,
    CompareExchange,
    FloatAdd,
    FloatSub,
    FloatMin,
    FloatMax,
    FloatCompareExchange,
    And,
    Or,
    Xor,
}

impl Atomic {
    /// Values that each channel brings along.
    pub fn operands(self) -> usize {
        match self {
            Self::Inc | Self::Dec | Self::Load => 0,
            Self::CompareExchange | Self::FloatCompareExchange => 2,
            _ => 1,
        }
    }
}

/// A gather or scatter of `lanes` channels, or one block (`transposed`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Access {
    pub what: What,
    pub model: Model,
    /// Bytes of an address: 2, 4 or 8.
    pub addr: u8,
    /// Bytes of an element in memory and in registers.
    pub size: u8,
    pub reg_size: u8,
    /// Elements from each address.
    pub count: u8,
    pub lanes: u8,
    pub transposed: bool,
}

type Decoded = Result<Kind, Box<str>>;

pub(super) fn lower(inst: &Instruction) -> Result<Message, Box<str>> {
    let Some(send) = inst.send() else { return Err("send without a descriptor".into()) };
    let register = |place: Place| match place {
        Place::Direct { file: RegFile::Grf, reg, .. } => Some(usize::from(reg) * REG),
        _ => None,
    };
    let source = |k: usize| match inst.src.get(k) {
        Some(Some(Src::Reg { place, .. })) => register(*place),
        _ => None,
    };
    let lanes = inst.exec_size.lanes();
    let kind = match send.desc {
        Desc::Imm(desc) => decode(send, desc, lanes),
        Desc::A0 { .. } => Ok(Kind::Late),
    };
    Ok(Message {
        sfid: send.sfid,
        desc: send.desc,
        ex_desc: send.ex_desc,
        ex_bso: send.ex_bso,
        eot: send.eot,
        lanes,
        src0: source(0).ok_or("message without a payload")?,
        src1: source(1),
        dst: inst.dst.as_ref().and_then(|dst| register(dst.place)),
        kind,
    })
}

pub(super) fn decode(send: &Send, desc: u32, lanes: u8) -> Decoded {
    decode_for(send.sfid, send.eot, desc, lanes)
}

pub(super) fn decode_for(sfid: Sfid, eot: bool, desc: u32, lanes: u8) -> Decoded {
    match sfid {
        Sfid::Gtwy if eot => Ok(Kind::End),
        Sfid::Ts if eot => Ok(Kind::End),
        Sfid::Gtwy if desc & 7 == 4 => Ok(Kind::Barrier),
        Sfid::Ugm | Sfid::Slm => lsc(sfid, desc, lanes),
        Sfid::Tgm if desc & 0x3f == 0x1f => Ok(Kind::Fence),
        Sfid::Dc0 => dc0(desc),
        Sfid::Dc1 => dc1(desc),
        other => Err(format!("message {desc:#x} to {other:?}").into()),
    }
}

fn lsc(sfid: Sfid, desc: u32, lanes: u8) -> Decoded {
    let field = |low: u32, bits: u32| desc >> low & ((1 << bits) - 1);
    let opcode = field(0, 6);
    if opcode == 0x1f {
        return Ok(Kind::Fence);
    }
    let addr = match field(7, 2) {
        1 => 2,
        2 => 4,
        3 => 8,
        _ => return Err("address size".into()),
    };
    let (size, reg_size) = match field(9, 3) {
        0 => (1, 1),
        1 => (2, 2),
        2 => (4, 4),
        3 => (8, 8),
        4 => (1, 4),
        5 => (2, 4),
        _ => return Err("data size".into()),
    };
    let model = match (sfid, field(29, 2)) {
        (Sfid::Slm, 0) => Model::Slm,
        (Sfid::Ugm, 0) => Model::Flat,
        (Sfid::Ugm, 1) => Model::Bindless,
        (Sfid::Ugm, 2) => Model::Surface,
        (Sfid::Ugm, 3) => Model::ExBti,
        _ => return Err("address model".into()),
    };
    let quad = matches!(opcode, 2 | 6);
    let transposed = !quad && field(15, 1) != 0;
    let count = if quad {
        contiguous(field(12, 4))?
    } else {
        match field(12, 3) {
            n @ 0..=2 => n as u8 + 1,
            n => 4 << (n - 3),
        }
    };
    let atomic = |op| Ok(What::Atomic(op));
    let what: Result<What, Box<str>> = match opcode {
        0 | 2 => Ok(What::Load),
        4 | 6 => Ok(What::Store),
        0x08 => atomic(Atomic::Inc),
        0x09 => atomic(Atomic::Dec),
        0x0a => atomic(Atomic::Load),
        0x0b => atomic(Atomic::Store),
        0x0c => atomic(Atomic::Add),
        0x0d => atomic(Atomic::Sub),
        0x0e => atomic(Atomic::SignedMin),
        0x0f => atomic(Atomic::SignedMax),
        0x10 => atomic(Atomic::Min),
        0x11 => atomic(Atomic::Max),
        0x12 => atomic(Atomic::CompareExchange),
        0x13 => atomic(Atomic::FloatAdd),
        0x14 => atomic(Atomic::FloatSub),
        0x15 => atomic(Atomic::FloatMin),
        0x16 => atomic(Atomic::FloatMax),
        0x17 => atomic(Atomic::FloatCompareExchange),
        0x18 => atomic(Atomic::And),
        0x19 => atomic(Atomic::Or),
        0x1a => atomic(Atomic::Xor),
        op => Err(format!("load/store operation {op:#x}").into()),
    };
    let what = what?;
    if matches!(what, What::Atomic(_)) && (transposed || count != 1) {
        return Err("atomic on vectors".into());
    }
    if transposed && lanes != 1 {
        return Err("block for several channels".into());
    }
    if !transposed && count > 8 {
        return Err("vectors of more than eight elements".into());
    }
    Ok(Kind::Access(Access { what, model, addr, size, reg_size, count, lanes, transposed }))
}

/// Number of the lowest channels that a mask has; the hardware's own users never leave one out.
fn contiguous(mask: u32) -> Result<u8, Box<str>> {
    let count = mask.trailing_ones();
    if mask == 0 || mask >> count != 0 {
        return Err("channel mask with a gap".into());
    }
    Ok(count as u8)
}

/// Of the legacy data ports. Blocks need one; the model takes gathers and scatters without.
fn has_header(desc: u32) -> bool {
    desc >> 19 & 1 != 0
}

fn legacy_model(desc: u32) -> Model {
    match desc as u8 {
        0xff | 0xfd => Model::Stateless,
        0xfe => Model::Slm,
        0xfc => Model::Bindless,
        bti => Model::Bti(bti),
    }
}

fn dc0(desc: u32) -> Decoded {
    let field = |low: u32, bits: u32| desc >> low & ((1 << bits) - 1);
    let model = legacy_model(desc);
    if field(18, 1) != 0 {
        // Scratch block: units of 32 bytes; bit 16 is set where the execution mask counts for each dword.
        let write = field(17, 1) != 0;
        if write && field(16, 1) == 0 {
            return Err("scratch block write in owords".into());
        }
        return Ok(Kind::Spill { write, bytes: 32 << field(12, 2), offset: field(0, 12) * 32 });
    }
    match field(14, 5) {
        0 | 1 | 8 if !has_header(desc) => Err("block without a header".into()),
        4 | 0xc if has_header(desc) => Err("header of a gather or scatter".into()),
        kind @ (0 | 1 | 8) => {
            let unit = if kind == 1 && field(13, 1) != 0 { 32 } else { 16 };
            let count = match (unit, field(8, 3)) {
                (16, 0) => 1,
                (16, n @ 2..=5) => 1 << (n - 1),
                (32, n @ 0..=3) => 1 << n,
                _ => return Err("block size".into()),
            };
            Ok(Kind::Block { write: kind == 8, bytes: count * unit, owords: kind != 1, model })
        }
        kind @ (4 | 0xc) => {
            let size = 1 << field(10, 2);
            if size > 4 {
                return Err("data size".into());
            }
            let lanes = if field(8, 1) != 0 { 16 } else { 8 };
            let what = if kind == 4 { What::Load } else { What::Store };
            Ok(Kind::Access(Access {
                what,
                model,
                addr: 4,
                size,
                reg_size: 4,
                count: 1,
                lanes,
                transposed: false,
            }))
        }
        7 => Ok(Kind::Fence),
        kind => Err(format!("data port 0 message type {kind:#x}").into()),
    }
}

fn dc1(desc: u32) -> Decoded {
    let field = |low: u32, bits: u32| desc >> low & ((1 << bits) - 1);
    let kind = field(14, 5);
    let model = legacy_model(desc);
    if has_header(desc) {
        return Err("header of a gather or scatter".into());
    }
    match kind {
        1 | 9 | 0x11 | 0x19 => {
            let lanes = match field(12, 2) {
                1 => 16,
                2 => 8,
                _ => return Err("SIMD mode".into()),
            };
            let (model, addr) = if kind >= 0x10 { (Model::Flat, 8) } else { (model, 4) };
            let what = if matches!(kind, 1 | 0x11) { What::Load } else { What::Store };
            // A set bit switches a channel off.
            let count = contiguous(!field(8, 4) & 15)?;
            Ok(Kind::Access(Access {
                what,
                model,
                addr,
                size: 4,
                reg_size: 4,
                count,
                lanes,
                transposed: false,
            }))
        }
        0x10 | 0x1a => {
            let lanes = if field(12, 1) != 0 { 16 } else { 8 };
            let elements = 1u8 << field(10, 2);
            // Bytes from one address lie side by side in a dword.
            let (size, reg_size, count) = match (field(8, 2), elements) {
                (0, 1 | 2 | 4) => (elements, 4, 1),
                (1, n) => (4, 4, n),
                (2, n) => (8, 8, n),
                _ => return Err("data size".into()),
            };
            let what = if kind == 0x10 { What::Load } else { What::Store };
            let model = Model::Flat;
            Ok(Kind::Access(Access { what, model, addr: 8, size, reg_size, count, lanes, transposed: false }))
        }
        2 | 0x12 | 0x1b | 0x1d => {
            let operation = if kind < 0x1b { legacy_atomic } else { legacy_float_atomic };
            let what = What::Atomic(operation(field(8, 4))?);
            // Bit 12: the channels of a surface's address, the data size of a flat one, which has 8.
            let (model, addr, size, lanes) = match (kind, field(12, 1)) {
                (2 | 0x1b, 0) => (model, 4, 4, 16),
                (2 | 0x1b, _) => (model, 4, 4, 8),
                (_, 0) => (Model::Flat, 8, 4, 8),
                (0x12, _) => (Model::Flat, 8, 8, 8),
                (_, _) => return Err("data size of a float atomic".into()),
            };
            Ok(Kind::Access(Access {
                what,
                model,
                addr,
                size,
                reg_size: size,
                count: 1,
                lanes,
                transposed: false,
            }))
        }
        kind => Err(format!("data port 1 message type {kind:#x}").into()),
    }
}

/// Of integers, by the descriptor's operation code (PRM, "Atomic Integer Binary Message").
fn legacy_atomic(code: u32) -> Result<Atomic, Box<str>> {
    Ok(match code {
        1 => Atomic::And,
        2 => Atomic::Or,
        3 => Atomic::Xor,
        4 => Atomic::Store,
        5 => Atomic::Inc,
        6 => Atomic::Dec,
        7 => Atomic::Add,
        8 => Atomic::Sub,
        0xa => Atomic::SignedMax,
        0xb => Atomic::SignedMin,
        0xc => Atomic::Max,
        0xd => Atomic::Min,
        0xe => Atomic::CompareExchange,
        // 9 subtracts the other way round, 15 returns what it leaves.
        code => return Err(format!("atomic operation {code:#x} of a legacy data port").into()),
    })
}

/// Of floats (PRM, "Atomic Float Binary Message").
fn legacy_float_atomic(code: u32) -> Result<Atomic, Box<str>> {
    Ok(match code {
        1 => Atomic::FloatMax,
        2 => Atomic::FloatMin,
        4 => Atomic::FloatAdd,
        code => return Err(format!("float atomic operation {code:#x} of a legacy data port").into()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn access(sfid: Sfid, desc: u32, lanes: u8) -> Access {
        match decode_for(sfid, false, desc, lanes) {
            Ok(Kind::Access(access)) => access,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn messages_as_the_compiler_makes_them() {
        // IGA: load.ugm.d32.a32.ca.ca.bss, store_..d32x64t.a64, atomic_umin.slm.d32.a32.
        let load = access(Sfid::Ugm, 0x2428_0500, 16);
        assert_eq!(
            (load.what, load.model, load.addr, load.size, load.count),
            (What::Load, Model::Bindless, 4, 4, 1)
        );
        let store = access(Sfid::Ugm, 0x020e_f584, 1);
        assert_eq!((store.what, store.addr, store.count, store.transposed), (What::Store, 8, 64, true));
        assert_eq!(access(Sfid::Dc1, 0x0206_5cff | 0x10 << 14, 8).model, Model::Flat);
    }

    #[test]
    fn payload_loads() {
        let block = |bytes| Kind::Block { write: false, bytes, owords: false, model: Model::Stateless };
        assert_eq!(decode_for(Sfid::Dc0, false, 0x0228_43fd, 8), Ok(block(64)));
        assert_eq!(decode_for(Sfid::Dc0, false, 0x0218_42fd, 8), Ok(block(32)));
        assert_eq!(decode_for(Sfid::Dc0, false, 0x0248_44fd, 8), Ok(block(128)));
    }

    #[test]
    fn spills() {
        // IGA: hword scratch block write x2, read x4.
        let spill = |write, bytes, offset| Kind::Spill { write, bytes, offset };
        assert_eq!(decode_for(Sfid::Dc0, false, 0x020f_1004, 16), Ok(spill(true, 64, 128)));
        assert_eq!(decode_for(Sfid::Dc0, false, 0x024c_200a, 16), Ok(spill(false, 128, 320)));
    }

    #[test]
    fn headers_are_where_the_model_takes_them() {
        // Byte gather, untyped read, A64 byte gather; then a block.
        for (sfid, desc) in
            [(Sfid::Dc0, 4 << 14 | 0xff), (Sfid::Dc1, 0x0206_5cff), (Sfid::Dc1, 0x10 << 14 | 0xff)]
        {
            assert!(decode_for(sfid, false, desc, 8).is_ok());
            assert!(decode_for(sfid, false, desc | 1 << 19, 8).is_err(), "{desc:#x}");
        }
        assert!(decode_for(Sfid::Dc0, false, 0x0228_43fd & !(1 << 19), 8).is_err());
    }

    #[test]
    fn long_vectors_are_blocks_of_one_channel() {
        // d32x8 and d32x16 of many channels, d32x64 transposed.
        let vector = |size: u32| 2 << 9 | 2 << 7 | size << 12;
        assert_eq!(access(Sfid::Ugm, vector(4), 16).count, 8);
        assert!(decode_for(Sfid::Ugm, false, vector(5), 16).is_err());
        assert!(access(Sfid::Ugm, vector(7) | 1 << 15, 1).transposed);
        assert!(decode_for(Sfid::Ugm, false, vector(7) | 1 << 15, 16).is_err());
    }

    #[test]
    fn legacy_atomics() {
        // IGA: untyped a64 atomic int32 integer add; untyped atomic int32 integer increment, of 16 and of 8.
        let add = access(Sfid::Dc1, 0x0404_87ff, 8);
        assert_eq!((add.what, add.model), (What::Atomic(Atomic::Add), Model::Flat));
        assert_eq!((add.addr, add.size, add.lanes), (8, 4, 8));
        let inc = access(Sfid::Dc1, 0x0400_85fe, 16);
        assert_eq!((inc.what, inc.model, inc.lanes), (What::Atomic(Atomic::Inc), Model::Slm, 16));
        assert_eq!(access(Sfid::Dc1, 0x0200_97fe, 1).lanes, 8);
        assert!(decode_for(Sfid::Dc1, false, 0x0404_8fff, 8).is_err(), "pre-decrement");
        // IGA: a64 float atomic add (32b) with return; float atomic max (32b) with return.
        let add = access(Sfid::Dc1, 0x0417_64ff, 8);
        assert_eq!((add.what, add.model), (What::Atomic(Atomic::FloatAdd), Model::Flat));
        let max = access(Sfid::Dc1, 0x0426_e1fe, 16);
        assert_eq!((max.what, max.model, max.lanes), (What::Atomic(Atomic::FloatMax), Model::Slm, 16));
        assert!(decode_for(Sfid::Dc1, false, 0x0417_74ff, 8).is_err(), "of another size");
    }

    #[test]
    fn gateway() {
        assert_eq!(decode_for(Sfid::Gtwy, false, 0x0200_0004, 1), Ok(Kind::Barrier));
        assert_eq!(decode_for(Sfid::Gtwy, true, 0x0200_0010, 1), Ok(Kind::End));
        assert!(decode_for(Sfid::Smpl, false, 0x0425_a000, 16).is_err());
    }
}
