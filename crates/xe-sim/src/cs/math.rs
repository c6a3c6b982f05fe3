//! MI_MATH: the streamer's ALU over its 16 general-purpose registers.

use super::context::Context;

#[derive(Default)]
struct Alu {
    a: u64,
    b: u64,
    accu: u64,
    zero: bool,
    carry: bool,
}

/// Executes ALU instructions (opcode 20..31, operand 1 10..19, operand 2 0..9). Errors name an instruction without a
/// model; nothing after it is executed.
pub(super) fn run(ctx: &mut Context, program: &[u32]) -> Result<(), String> {
    let mut alu = Alu::default();
    for instruction in program {
        let (op, first, second) = (instruction >> 20, (instruction >> 10) & 0x3ff, instruction & 0x3ff);
        match op {
            // NOOP, FENCE_RD, FENCE_WR
            0x000..=0x002 => {}
            0x080 => alu.load(first, source(ctx, &alu, second)?)?,
            0x480 => {
                let value = !source(ctx, &alu, second)?;
                alu.load(first, value)?;
            }
            0x081 => alu.load(first, 0)?,
            0x481 => alu.load(first, u64::MAX)?,
            0x100 => {
                let (sum, carry) = alu.a.overflowing_add(alu.b);
                alu.set(sum, carry);
            }
            0x101 => {
                let (difference, borrow) = alu.a.overflowing_sub(alu.b);
                alu.set(difference, borrow);
            }
            0x102 => alu.set(alu.a & alu.b, false),
            0x103 => alu.set(alu.a | alu.b, false),
            0x104 => alu.set(alu.a ^ alu.b, false),
            0x105 => alu.set(alu.a.checked_shl(alu.b as u32 & 0x3f).unwrap_or(0), false),
            0x106 => alu.set(alu.a.checked_shr(alu.b as u32 & 0x3f).unwrap_or(0), false),
            0x107 => alu.set(((alu.a as i64) >> (alu.b & 0x3f)) as u64, false),
            0x180 | 0x580 => {
                let value = source(ctx, &alu, second)?;
                let value = if op == 0x580 { !value } else { value };
                if first > 15 {
                    return Err(format!("MI_MATH stores to operand {first:#x}"));
                }
                ctx.set_gpr(first, value);
            }
            _ => return Err(format!("MI_MATH instruction {instruction:#010x} is not modelled")),
        }
    }
    Ok(())
}

fn source(ctx: &Context, alu: &Alu, operand: u32) -> Result<u64, String> {
    let flag = |set: bool| if set { u64::MAX } else { 0 };
    match operand {
        0..=15 => Ok(ctx.gpr(operand)),
        0x20 => Ok(alu.a),
        0x21 => Ok(alu.b),
        0x31 => Ok(alu.accu),
        0x32 => Ok(flag(alu.zero)),
        0x33 => Ok(flag(alu.carry)),
        _ => Err(format!("MI_MATH reads operand {operand:#x}")),
    }
}

impl Alu {
    fn load(&mut self, operand: u32, value: u64) -> Result<(), String> {
        match operand {
            0x20 => self.a = value,
            0x21 => self.b = value,
            _ => return Err(format!("MI_MATH loads operand {operand:#x}")),
        }
        Ok(())
    }

    fn set(&mut self, value: u64, carry: bool) {
        self.accu = value;
        self.zero = value == 0;
        self.carry = carry;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOAD: u32 = 0x080 << 20;
    const STORE: u32 = 0x180 << 20;

    #[test]
    fn math_subtracts_and_reports_borrow_and_zero() {
        let mut ctx = Context::new(0x2000);
        ctx.set_gpr(1, 5);
        ctx.set_gpr(2, 7);
        let program = [
            LOAD | 0x20 << 10 | 1,
            LOAD | 0x21 << 10 | 2,
            0x101 << 20,
            STORE | 3 << 10 | 0x31,
            STORE | 4 << 10 | 0x33,
            STORE | 5 << 10 | 0x32,
        ];
        run(&mut ctx, &program).expect("known instructions");
        assert_eq!((ctx.gpr(3), ctx.gpr(4), ctx.gpr(5)), (2u64.wrapping_neg(), u64::MAX, 0));
    }

    #[test]
    fn math_unknown_instruction_is_an_error() {
        assert!(run(&mut Context::new(0x2000), &[0x7ff << 20]).is_err());
    }
}
