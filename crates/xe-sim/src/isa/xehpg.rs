//! Xe-HPG (Gfx12.5; DG2: Arc A770, A750, A380).
//!
//! Sources: Intel's public PRM for DG2/ACM, volume "EU ISA" (field positions, opcodes); the graphics compiler's
//! public IGA and GED models of Xe-HPG (type codes, function codes, shared-function numbers).

use super::bits::{Field, Move};
use super::compact::NativeHints;
use super::ir::{MathFn, Op, PredMode, Sfid, SyncFn};
use super::operand::{RegFile, Type};
use super::platform::{
    Arf, DstFields, Encoding, Format, Has, OpInfo, Platform, SendFields, SrcFields, TernaryFields,
    TernarySrcFields,
};
use super::swsb::SwsbEncoding;
use super::xehpg_compact::COMPACTION;

const fn f(lo: u8, len: u8) -> Field {
    Field::new(lo, len)
}

const NOTHING: Has =
    Has { pred: false, cond: false, saturate: false, src_mods: false, branch_ctrl: false, bf: false };
const PRED: Has = Has { pred: true, ..NOTHING };
const PRED_COND: Has = Has { cond: true, ..PRED };
const PRED_MODS: Has = Has { src_mods: true, ..PRED };
const PRED_COND_MODS: Has = Has { src_mods: true, ..PRED_COND };
const PRED_SAT_MODS: Has = Has { saturate: true, ..PRED_MODS };
const PRED_COND_SAT: Has = Has { saturate: true, ..PRED_COND };
const ALL: Has = Has { saturate: true, ..PRED_COND_MODS };
const ALL_BF: Has = Has { bf: true, ..ALL };
const BF: Has = Has { bf: true, ..NOTHING };
const PRED_COND_MODS_BF: Has = Has { bf: true, ..PRED_COND_MODS };
const COND_SAT_MODS: Has = Has { pred: false, ..ALL };
const BRANCH_CTRL: Has = Has { branch_ctrl: true, ..NOTHING };
const PRED_BRANCH_CTRL: Has = Has { branch_ctrl: true, ..PRED };

const fn op(code: u8, op: Op, format: Format, has: Has) -> OpInfo {
    OpInfo { code, op, format, has }
}

const OPS: &[OpInfo] = &[
    op(0x00, Op::Illegal, Format::Illegal, NOTHING),
    op(0x01, Op::Sync, Format::Sync, NOTHING),
    op(0x20, Op::Jmpi, Format::Branch1, PRED),
    op(0x21, Op::Brd, Format::Branch1, PRED),
    op(0x22, Op::If, Format::Branch2, PRED_BRANCH_CTRL),
    op(0x23, Op::Brc, Format::Branch2, PRED),
    op(0x24, Op::Else, Format::Branch2, BRANCH_CTRL),
    op(0x25, Op::Endif, Format::Branch1, NOTHING),
    op(0x27, Op::While, Format::Branch1, PRED),
    op(0x28, Op::Break, Format::Branch2, PRED),
    op(0x29, Op::Cont, Format::Branch2, PRED),
    op(0x2a, Op::Halt, Format::Branch2, PRED),
    op(0x2b, Op::Calla, Format::BranchCall, PRED),
    op(0x2c, Op::Call, Format::BranchCall, PRED),
    op(0x2d, Op::Ret, Format::Branch1, PRED),
    op(0x2e, Op::Goto, Format::Branch2, PRED_BRANCH_CTRL),
    op(0x2f, Op::Join, Format::Branch1, PRED),
    op(0x31, Op::Send, Format::Send, PRED),
    op(0x32, Op::Sendc, Format::Send, PRED),
    op(0x38, Op::Math, Format::Math, PRED_SAT_MODS),
    op(0x40, Op::Add, Format::Binary, ALL_BF),
    op(0x41, Op::Mul, Format::Binary, ALL_BF),
    op(0x42, Op::Avg, Format::Binary, ALL),
    op(0x43, Op::Frc, Format::Unary, PRED_COND_MODS),
    op(0x44, Op::Rndu, Format::Unary, ALL),
    op(0x45, Op::Rndd, Format::Unary, ALL),
    op(0x46, Op::Rnde, Format::Unary, ALL),
    op(0x47, Op::Rndz, Format::Unary, ALL),
    op(0x48, Op::Mac, Format::Binary, ALL_BF),
    op(0x49, Op::Mach, Format::Binary, PRED_MODS),
    op(0x4a, Op::Lzd, Format::Unary, PRED_COND_MODS),
    op(0x4b, Op::Fbh, Format::Unary, PRED),
    op(0x4c, Op::Fbl, Format::Unary, PRED),
    op(0x4d, Op::Cbit, Format::Unary, PRED),
    op(0x4e, Op::Addc, Format::Binary, PRED_COND),
    op(0x4f, Op::Subb, Format::Binary, PRED_COND_SAT),
    op(0x52, Op::Add3, Format::Ternary, ALL),
    op(0x58, Op::Dp4a, Format::Ternary, PRED_COND_SAT),
    op(0x59, Op::Dpas, Format::Dpas, BF),
    op(0x5a, Op::Dpasw, Format::Dpas, BF),
    op(0x5b, Op::Mad, Format::Ternary, ALL_BF),
    op(0x5d, Op::Madm, Format::TernaryMacro, PRED_MODS),
    op(0x60, Op::Nop, Format::Nop, NOTHING),
    op(0x61, Op::Mov, Format::Unary, ALL_BF),
    op(0x62, Op::Sel, Format::Binary, ALL_BF),
    op(0x63, Op::Movi, Format::Binary, PRED_SAT_MODS),
    op(0x64, Op::Not, Format::Unary, PRED_COND_MODS),
    op(0x65, Op::And, Format::Binary, PRED_COND_MODS),
    op(0x66, Op::Or, Format::Binary, PRED_COND_MODS),
    op(0x67, Op::Xor, Format::Binary, PRED_COND_MODS),
    op(0x68, Op::Shr, Format::Binary, ALL),
    op(0x69, Op::Shl, Format::Binary, ALL),
    op(0x6b, Op::Bfn, Format::Ternary, PRED_COND),
    op(0x6c, Op::Asr, Format::Binary, ALL),
    op(0x6e, Op::Ror, Format::Binary, PRED_COND),
    op(0x6f, Op::Rol, Format::Binary, PRED_COND),
    op(0x70, Op::Cmp, Format::Binary, PRED_COND_MODS_BF),
    op(0x71, Op::Cmpn, Format::Binary, PRED_COND_MODS),
    op(0x72, Op::Csel, Format::Ternary, COND_SAT_MODS),
    op(0x77, Op::Bfrev, Format::Unary, PRED),
    op(0x78, Op::Bfe, Format::Ternary, PRED),
    op(0x79, Op::Bfi1, Format::Binary, PRED),
    op(0x7a, Op::Bfi2, Format::Ternary, PRED),
];

const ENCODING: Encoding = Encoding {
    opcode: f(0, 7),
    compact: f(29, 1),
    swsb: f(8, 8),
    exec_size: f(16, 3),
    mask_offset: f(19, 3),
    flag_sub: f(22, 1),
    flag_reg: f(23, 1),
    pred: f(24, 4),
    pred_inv: f(28, 1),
    breakpoint: f(30, 1),
    no_mask: f(31, 1),
    atomic: f(32, 1),
    acc_wr: f(33, 1),
    branch_ctrl: f(33, 1),
    saturate: f(34, 1),
    cond: f(92, 4),
    function: f(92, 4),
    imm32: f(96, 32),
    imm64_high: f(64, 32),
    jip: f(96, 32),
    uip: f(64, 32),
    dst: DstFields {
        indirect: f(35, 1),
        ty: f(36, 4),
        hstride: f(48, 2),
        file: f(50, 1),
        sub: f(51, 5),
        mme: f(51, 4),
        reg: f(56, 8),
        addr: f(60, 4),
        offset: f(50, 10),
    },
    src: [
        SrcFields {
            is_imm: f(46, 1),
            ty: f(40, 4),
            modifier: f(44, 2),
            file: f(66, 1),
            sub: f(67, 5),
            mme: f(67, 4),
            reg: f(72, 8),
            hstride: f(64, 2),
            width: f(81, 3),
            vstride: f(84, 4),
            indirect: f(80, 1),
            addr: f(76, 4),
            offset: f(66, 10),
        },
        SrcFields {
            is_imm: f(47, 1),
            ty: f(88, 4),
            modifier: f(120, 2),
            file: f(98, 1),
            sub: f(99, 5),
            mme: f(99, 4),
            reg: f(104, 8),
            hstride: f(96, 2),
            width: f(113, 3),
            vstride: f(116, 4),
            indirect: f(112, 1),
            addr: f(108, 4),
            offset: f(98, 10),
        },
    ],
    ternary: TernaryFields {
        is_float: f(39, 1),
        dst_ty: f(36, 3),
        dst_hstride: f(48, 1),
        src: [
            TernarySrcFields {
                is_imm: Some(f(46, 1)),
                imm: f(64, 16),
                ty: f(40, 3),
                precision: None,
                modifier: f(44, 2),
                file: f(66, 1),
                sub: f(67, 5),
                mme: f(67, 4),
                reg: f(72, 8),
                hstride: f(64, 2),
                vstride: Some([f(35, 1), f(43, 1)]),
            },
            TernarySrcFields {
                is_imm: None,
                imm: f(96, 16),
                ty: f(88, 3),
                precision: Some(f(86, 2)),
                modifier: f(86, 2),
                file: f(98, 1),
                sub: f(99, 5),
                mme: f(99, 4),
                reg: f(104, 8),
                hstride: f(96, 2),
                vstride: Some([f(83, 1), f(91, 1)]),
            },
            TernarySrcFields {
                is_imm: Some(f(47, 1)),
                imm: f(112, 16),
                ty: f(80, 3),
                precision: Some(f(84, 2)),
                modifier: f(84, 2),
                file: f(114, 1),
                sub: f(115, 5),
                mme: f(115, 4),
                reg: f(120, 8),
                hstride: f(112, 2),
                vstride: None,
            },
        ],
        bfn_low: f(84, 4),
        bfn_high: f(92, 4),
        bfn_cond: f(44, 2),
        dpas_depth: f(48, 2),
        dpas_repeat: f(43, 3),
    },
    send: SendFields {
        serialize: f(33, 1),
        eot: f(34, 1),
        sfid: f(92, 4),
        desc_is_reg: f(48, 1),
        desc: &[
            Move::new(81, 11, 0),
            Move::new(113, 9, 11),
            Move::new(51, 5, 20),
            Move::new(67, 5, 25),
            Move::new(122, 2, 30),
        ],
        ex_desc_is_reg: f(49, 1),
        // Bits 10:6, the length of source 1 on earlier platforms, have a field of their own.
        ex_desc: &[Move::new(35, 13, 11), Move::new(64, 2, 24), Move::new(96, 2, 26), Move::new(124, 4, 28)],
        ex_desc_sub: f(40, 3),
        ex_bso: f(39, 1),
        cps: f(35, 1),
        src1_len: f(99, 5),
    },
};

const REG_TYPES: [Option<Type>; 16] = [
    Some(Type::Ub),
    Some(Type::Uw),
    Some(Type::Ud),
    Some(Type::Uq),
    Some(Type::B),
    Some(Type::W),
    Some(Type::D),
    Some(Type::Q),
    None,
    Some(Type::Hf),
    Some(Type::F),
    Some(Type::Df),
    None,
    Some(Type::Bf),
    None,
    None,
];

const IMM_TYPES: [Option<Type>; 16] = [
    Some(Type::Uv),
    Some(Type::Uw),
    Some(Type::Ud),
    Some(Type::Uq),
    Some(Type::V),
    Some(Type::W),
    Some(Type::D),
    Some(Type::Q),
    Some(Type::Vf),
    Some(Type::Hf),
    Some(Type::F),
    Some(Type::Df),
    None,
    None,
    None,
    None,
];

const PRED_MODES: [Option<PredMode>; 16] = [
    None,
    Some(PredMode::Sequential),
    Some(PredMode::AnyV),
    Some(PredMode::AllV),
    Some(PredMode::Any2H),
    Some(PredMode::All2H),
    Some(PredMode::Any4H),
    Some(PredMode::All4H),
    Some(PredMode::Any8H),
    Some(PredMode::All8H),
    Some(PredMode::Any16H),
    Some(PredMode::All16H),
    Some(PredMode::Any32H),
    Some(PredMode::All32H),
    None,
    None,
];

const MATH: [Option<MathFn>; 16] = [
    None,
    Some(MathFn::Inv),
    Some(MathFn::Log),
    Some(MathFn::Exp),
    Some(MathFn::Sqt),
    Some(MathFn::Rsqt),
    Some(MathFn::Sin),
    Some(MathFn::Cos),
    // Division, power and the integer functions of earlier platforms are gone.
    None,
    None,
    None,
    None,
    None,
    None,
    Some(MathFn::Invm),
    Some(MathFn::Rsqtm),
];

const SYNC: [Option<SyncFn>; 16] = {
    let mut sync = [None; 16];
    sync[0] = Some(SyncFn::Nop);
    sync[2] = Some(SyncFn::Allrd);
    sync[3] = Some(SyncFn::Allwr);
    sync[14] = Some(SyncFn::Bar);
    sync[15] = Some(SyncFn::Host);
    sync
};

const SFIDS: [Option<Sfid>; 16] = [
    Some(Sfid::Null),
    Some(Sfid::Ugml),
    Some(Sfid::Smpl),
    Some(Sfid::Gtwy),
    Some(Sfid::Dc2),
    Some(Sfid::Rc),
    Some(Sfid::Urb),
    Some(Sfid::Btd),
    Some(Sfid::Rta),
    Some(Sfid::Dcro),
    Some(Sfid::Dc0),
    Some(Sfid::Pixi),
    Some(Sfid::Dc1),
    Some(Sfid::Tgm),
    Some(Sfid::Slm),
    Some(Sfid::Ugm),
];

const fn arf(code: u8, base: u8, file: RegFile, count: u8) -> Arf {
    Arf { code, base, file, count }
}

const ARFS: &[Arf] = &[
    arf(0x0, 0, RegFile::Null, 1),
    arf(0x1, 0, RegFile::Addr, 1),
    arf(0x2, 0, RegFile::Acc, 8),
    arf(0x2, 8, RegFile::Mme, 8),
    arf(0x3, 0, RegFile::Flag, 2),
    arf(0x4, 0, RegFile::Ce, 1),
    arf(0x5, 0, RegFile::Msg, 8),
    arf(0x7, 0, RegFile::Sr, 1),
    arf(0x8, 0, RegFile::Cr, 1),
    arf(0x9, 0, RegFile::N, 1),
    arf(0xa, 0, RegFile::Ip, 1),
    arf(0xb, 0, RegFile::Tdr, 1),
    arf(0xc, 0, RegFile::Tm, 1),
    arf(0xd, 0, RegFile::Fc, 4),
    arf(0xf, 0, RegFile::Dbg, 1),
];

/// Gfx12.5 as in DG2.
pub static XE_HPG: Platform = Platform {
    name: "Xe-HPG",
    grf_bytes: 32,
    ops: OPS,
    encoding: ENCODING,
    compaction: COMPACTION,
    hints: NativeHints {
        src0_is_imm: ENCODING.src[0].is_imm,
        src1_is_imm: ENCODING.src[1].is_imm,
        src0_ty: ENCODING.src[0].ty,
        src1_ty: ENCODING.src[1].ty,
    },
    swsb: SwsbEncoding::ThreePipes,
    reg_types: REG_TYPES,
    imm_types: IMM_TYPES,
    pred_modes: PRED_MODES,
    arfs: ARFS,
    math: MATH,
    sync: SYNC,
    sfids: SFIDS,
    depths: [1, 2, 4, 8],
};
