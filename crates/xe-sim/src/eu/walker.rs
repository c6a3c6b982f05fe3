//! From a COMPUTE_WALKER command to a [`Dispatch`]. Source: NEO's `hw_cmds_generated_xe_hpg_core.inl`.

use thiserror::Error;

use super::dispatch::{Dispatch, Geometry, LocalIds};

/// Dwords of the command.
const LENGTH: usize = 39;

/// State that commands before the walker have set, as GPU addresses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Heaps {
    pub general: u64,
    pub surface: u64,
    pub instruction: u64,
    pub bindless_surface: u64,
    /// Dword 1 of CFE_STATE: bits 31:10 name the scratch surface state.
    pub cfe_scratch: u32,
}

/// A walker that is not modelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum WalkerError {
    #[error("COMPUTE_WALKER of {0} dwords")]
    Short(usize),
    #[error("COMPUTE_WALKER: {0} is not modelled")]
    Unsupported(&'static str),
}

/// Decodes the command `words`. `groups`: the counts to use in place of its own (indirect dispatch). `inline` holds
/// the command's inline data afterwards.
///
/// # Errors
/// The command is cut off or uses something that is not modelled.
pub fn dispatch_from_walker<'a>(
    words: &[u32],
    heaps: &Heaps,
    groups: Option<[u32; 3]>,
    geometry: Geometry,
    inline: &'a mut [u8; 32],
) -> Result<Dispatch<'a>, WalkerError> {
    let Some(w) = words.first_chunk::<LENGTH>() else { return Err(WalkerError::Short(words.len())) };
    let field = |dword: usize, low: u32, bits: u32| {
        w.get(dword).map_or(0, |word| word >> low & (u32::MAX >> (32 - bits)))
    };
    let simd = match field(4, 30, 2) {
        0 => 8,
        1 => 16,
        2 => 32,
        _ => return Err(WalkerError::Unsupported("SIMD width 3")),
    };
    if field(2, 30, 2) != 0 && field(0, 9, 1) != 0 {
        return Err(WalkerError::Unsupported("partitioned dispatch"));
    }
    let generate = field(4, 29, 1) != 0;
    if generate && field(4, 19, 3) != 0 {
        return Err(WalkerError::Unsupported("tiled local ids"));
    }
    let order = match field(4, 22, 3) {
        0 => [0, 1, 2],
        1 => [0, 2, 1],
        2 => [1, 0, 2],
        3 => [1, 2, 0],
        4 => [2, 0, 1],
        5 => [2, 1, 0],
        _ => return Err(WalkerError::Unsupported("walk order")),
    };
    let emit = match field(4, 26, 3) {
        0 => 0,
        1 => 1,
        3 => 2,
        7 => 3,
        _ => return Err(WalkerError::Unsupported("local ids of some dimensions")),
    };
    // The interface descriptor takes dwords 18 to 25. Kernels set their modes themselves, in cr0.
    if field(18 + 2, 16, 1) != 0 || field(18 + 2, 18, 1) != 0 {
        return Err(WalkerError::Unsupported("alternate floating point or single program flow"));
    }
    if field(18 + 5, 22, 2) != 0 {
        return Err(WalkerError::Unsupported("rounding mode at the start"));
    }
    let slm_bytes = match field(18 + 5, 16, 5) {
        0 => 0,
        n @ 1..=7 => 1024 << (n - 1),
        8 => 24 << 10,
        9 => 48 << 10,
        10 => 96 << 10,
        11 => 128 << 10,
        _ => return Err(WalkerError::Unsupported("size of shared local memory")),
    };
    for (slot, word) in inline.chunks_exact_mut(4).zip(w.iter().skip(31)) {
        slot.copy_from_slice(&word.to_le_bytes());
    }
    Ok(Dispatch {
        kernel_start: heaps.instruction.wrapping_add((field(18, 0, 32) & !0x3f).into()) & ((1 << 48) - 1),
        simd,
        group_start: [field(10, 0, 32), field(11, 0, 32), field(12, 0, 32)],
        group_end: groups.unwrap_or([field(7, 0, 32), field(8, 0, 32), field(9, 0, 32)]),
        local_size: [field(6, 0, 10) + 1, field(6, 10, 10) + 1, field(6, 20, 10) + 1],
        threads_per_group: field(18 + 5, 0, 10),
        last_thread_mask: field(5, 0, 32),
        local_ids: generate.then_some(LocalIds { emit, order }),
        inline_data: (field(4, 25, 1) != 0).then_some(inline.as_slice()),
        indirect_start: field(3, 0, 32) & !0x3f,
        general_base: heaps.general,
        surface_base: heaps.surface,
        bindless_surface_base: heaps.bindless_surface,
        binding_table: field(18 + 4, 0, 21) & !0x1f,
        sampler_state: field(18 + 3, 0, 32) & !0x1f,
        scratch_field: heaps.cfe_scratch & !0x3ff,
        scratch_per_thread: 0,
        slm_bytes,
        geometry,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const A770: Geometry = Geometry { dss: 32, eus_per_dss: 16, threads_per_eu: 8 };

    fn decode(change: (usize, u32)) -> Result<[u32; 3], WalkerError> {
        let mut words = [0u32; LENGTH];
        (words[7], words[8], words[9]) = (5, 6, 7);
        words[change.0] |= change.1;
        let mut inline = [0; 32];
        dispatch_from_walker(&words, &Heaps::default(), None, A770, &mut inline).map(|d| d.group_end)
    }

    #[test]
    fn what_is_not_modelled_is_named() {
        assert_eq!(decode((0, 0)), Ok([5, 6, 7]));
        for (change, why) in [
            ((4, 3 << 30), "SIMD width 3"),
            ((4, 1 << 29 | 1 << 19), "tiled local ids"),
            ((4, 6 << 22), "walk order"),
            ((4, 2 << 26), "local ids of some dimensions"),
            ((18 + 2, 1 << 16), "alternate floating point or single program flow"),
            ((18 + 2, 1 << 18), "alternate floating point or single program flow"),
            ((18 + 5, 12 << 16), "size of shared local memory"),
            ((18 + 5, 1 << 22), "rounding mode at the start"),
        ] {
            assert_eq!(decode(change), Err(WalkerError::Unsupported(why)));
        }
        // The denormal mode is the kernel's own.
        assert_eq!(decode((18 + 2, 1 << 19)), Ok([5, 6, 7]));
        assert_eq!(
            dispatch_from_walker(&[0; LENGTH - 1], &Heaps::default(), None, A770, &mut [0; 32]).err(),
            Some(WalkerError::Short(LENGTH - 1))
        );
    }
}
