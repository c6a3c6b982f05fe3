//! The command table: name, opcode, length rule, effect.

use super::{Effect, Machine, atomic, blit, compute, mi};

pub(super) type Run = fn(&mut Machine<'_>, &[u32]) -> Effect;

/// One command. `run` is absent for those without an effect on anything the model has: `known` tells a state command
/// that is ignored on purpose from one that the model does not know.
#[derive(Clone, Copy)]
pub(super) struct Command {
    pub(super) name: &'static str,
    pub(super) known: bool,
    pub(super) run: Option<Run>,
}

const fn ignored(name: &'static str) -> Command {
    Command { name, known: true, run: None }
}

const fn active(name: &'static str, run: Run) -> Command {
    Command { name, known: true, run: Some(run) }
}

const fn unknown(name: &'static str) -> Command {
    Command { name, known: false, run: None }
}

/// The command with this first dword and its length in dwords; `None` when even the length rule is unknown.
pub(super) fn find(header: u32) -> Option<(Command, u32)> {
    let counted = (header & 0xff) + 2;
    match header >> 29 {
        0 => Some(find_mi(header)),
        2 => Some((find_blit((header >> 22) & 0x7f), counted)),
        3 => {
            // Subtype 1 holds the single-dword commands.
            let len = if (header >> 27) & 3 == 1 { 1 } else { counted };
            Some((find_gfx(header >> 16), len))
        }
        5 if (header >> 26) & 7 == 3 => Some((ignored("RESOURCE_BARRIER"), counted)),
        _ => None,
    }
}

pub(super) fn is_set_predicate(header: u32) -> bool {
    header >> 23 == 0x01
}

/// MI commands: opcode in 23..28; those below 0x10 have one dword.
fn find_mi(header: u32) -> (Command, u32) {
    let opcode = (header >> 23) & 0x3f;
    let len = match opcode {
        0..0x10 => 1,
        // The only one with ten bits of length.
        0x20 => (header & 0x3ff) + 2,
        0x26 => (header & 0x3f) + 2,
        _ => (header & 0xff) + 2,
    };
    let command = match opcode {
        0x00 => ignored("MI_NOOP"),
        0x01 => active("MI_SET_PREDICATE", mi::set_predicate),
        0x02 => ignored("MI_USER_INTERRUPT"),
        0x05 => ignored("MI_ARB_CHECK"),
        0x08 => ignored("MI_ARB_ON_OFF"),
        0x09 => ignored("MI_MEM_FENCE"),
        0x0a => active("MI_BATCH_BUFFER_END", mi::batch_end),
        0x0c => unknown("MI_PREDICATE"),
        0x1a => active("MI_MATH", mi::math),
        0x1b => unknown("MI_SEMAPHORE_SIGNAL"),
        0x1c => active("MI_SEMAPHORE_WAIT", mi::semaphore_wait),
        0x20 => active("MI_STORE_DATA_IMM", mi::store_data_imm),
        0x22 => active("MI_LOAD_REGISTER_IMM", mi::load_register_imm),
        0x24 => active("MI_STORE_REGISTER_MEM", mi::store_register_mem),
        0x26 => active("MI_FLUSH_DW", mi::flush_dw),
        0x28 => unknown("MI_REPORT_PERF_COUNT"),
        0x29 => active("MI_LOAD_REGISTER_MEM", mi::load_register_mem),
        0x2a => active("MI_LOAD_REGISTER_REG", mi::load_register_reg),
        0x2e => active("MI_COPY_MEM_MEM", mi::copy_mem_mem),
        0x2f => active("MI_ATOMIC", atomic::run),
        0x31 => active("MI_BATCH_BUFFER_START", mi::batch_start),
        0x36 => active("MI_CONDITIONAL_BATCH_BUFFER_END", mi::conditional_end),
        _ => unknown("MI command without a name here"),
    };
    (command, len)
}

/// Blitter commands: opcode in 22..28.
fn find_blit(opcode: u32) -> Command {
    match opcode {
        0x41 => active("XY_BLOCK_COPY_BLT", blit::block_copy),
        0x42 => active("XY_FAST_COPY_BLT", blit::fast_copy),
        0x44 => active("XY_FAST_COLOR_BLT", blit::fast_color),
        0x48 => unknown("XY_CTRL_SURF_COPY_BLT"),
        0x50 => unknown("XY_COLOR_BLT"),
        0x53 => unknown("XY_SRC_COPY_BLT"),
        0x5a => active("MEM_COPY", blit::mem_copy),
        0x5b => active("MEM_SET", blit::mem_set),
        _ => unknown("blitter command without a name here"),
    }
}

/// Render and compute pipe: type, subtype, opcode and sub-opcode, that is bits 16..31.
fn find_gfx(code: u32) -> Command {
    match code {
        0x6003 => ignored("STATE_PREFETCH"),
        0x6101 => active("STATE_BASE_ADDRESS", compute::state_base_address),
        0x6102 => ignored("STATE_SIP"),
        0x6105 => active("STATE_COMPUTE_MODE", compute::compute_mode),
        0x6106 => ignored("3DSTATE_BTD"),
        0x6109 => ignored("STATE_SYSTEM_MEM_FENCE_ADDRESS"),
        0x610b => ignored("STATE_CONTEXT_DATA_BASE_ADDRESS"),
        0x6904 => ignored("PIPELINE_SELECT"),
        0x7200 => active("CFE_STATE", compute::cfe_state),
        0x7208 => active("COMPUTE_WALKER", compute::walker),
        0x7919 => ignored("3DSTATE_BINDING_TABLE_POOL_ALLOC"),
        0x7a00 => active("PIPE_CONTROL", mi::pipe_control),
        // 3DSTATE_*: state of the 3D pipe, which a dispatch does not see.
        0x7800..=0x79ff => ignored("3DSTATE"),
        _ => unknown("pipe command without a name here"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Headers as the driver writes them (compute-runtime's `init()` values).
    #[test]
    fn table_names_and_lengths_of_known_headers() {
        for (header, name, len) in [
            (0x0000_0000u32, "MI_NOOP", 1),
            (0x0500_0000, "MI_BATCH_BUFFER_END", 1),
            (0x1880_0101, "MI_BATCH_BUFFER_START", 3),
            (0x1000_0002, "MI_STORE_DATA_IMM", 4),
            (0x1020_0003, "MI_STORE_DATA_IMM", 5),
            (0x0e00_8003, "MI_SEMAPHORE_WAIT", 5),
            (0x1100_0001, "MI_LOAD_REGISTER_IMM", 3),
            (0x5040_0014, "XY_BLOCK_COPY_BLT", 22),
            (0x6904_0312, "PIPELINE_SELECT", 1),
            (0x6101_0014, "STATE_BASE_ADDRESS", 22),
            (0x7200_0004, "CFE_STATE", 6),
            (0x7208_0025, "COMPUTE_WALKER", 39),
            (0x7a00_0004, "PIPE_CONTROL", 6),
            (0x1300_0003, "MI_FLUSH_DW", 5),
        ] {
            let (command, got) = find(header).expect(name);
            assert_eq!((command.name, got), (name, len), "{header:#010x}");
        }
    }

    #[test]
    fn table_unknown_type_has_no_length() {
        assert!(find(0x2000_0000).is_none());
        assert!(find(0xe000_0000).is_none());
    }
}
