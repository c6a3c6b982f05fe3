//! DG2 cards (Gfx12.55).
//!
//! Sources: PCI ids and topology limits from compute-runtime (`devices_base.inl`, `hw_info_dg2*`); engine masks and
//! page sizes from the xe kernel driver's platform descriptors; VRAM of the A770 from the report of seed 003
//! (17,079,205,888 B on silicon). The VRAM of the A750 and A380 is derived: board memory minus the flat CCS (1/256)
//! minus 32 MiB, the rule that gives the A770's figure.

use super::{Bar, Engine, Family, Gt, Pci, Profile, Topology};
use crate::trace::EngineClass::{Compute, Copy, Render, VideoDecode, VideoEnhance};

const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

/// xe shows one compute engine unless `ccs_mode` is changed; the media engines belong to the same GT.
static ENGINES: [Engine; 7] = [
    Engine { class: Render, instance: 0, gt: 0 },
    Engine { class: Copy, instance: 0, gt: 0 },
    Engine { class: VideoDecode, instance: 0, gt: 0 },
    Engine { class: VideoDecode, instance: 1, gt: 0 },
    Engine { class: VideoEnhance, instance: 0, gt: 0 },
    Engine { class: VideoEnhance, instance: 1, gt: 0 },
    Engine { class: Compute, instance: 0, gt: 0 },
];

const fn gt(ip_rel: u16, ip_rev: u16, max_mhz: u32) -> Gt {
    Gt {
        kind: 0,
        tile: 0,
        id: 0,
        reference_clock: 19_200_000,
        near_regions: 0b10,
        far_regions: 0b01,
        ip: [12, ip_rel, ip_rev],
        freq_mhz: [300, 600, max_mhz],
    }
}

const fn pci(device: u16, revision: u8, subsystem_device: u16, bars: &'static [Bar]) -> Pci {
    Pci {
        address: "0000:09:00.0",
        bridges: &["0000:00:01.0", "0000:07:00.0", "0000:08:01.0"],
        vendor: 0x8086,
        device,
        revision,
        subsystem_vendor: 0x8086,
        subsystem_device,
        class: 0x03_0000,
        bars,
        link_speed: "2.5 GT/s PCIe",
        link_width: 1,
    }
}

const MMIO: Bar = Bar { index: 0, start: 0x6_2000_0000 - 0x100_0000, bytes: 16 * MIB, flags: 0x14_0204 };
static BARS_16G: [Bar; 2] =
    [MMIO, Bar { index: 2, start: 0x64_0000_0000, bytes: 16 * GIB, flags: 0x14_220c }];
static BARS_8G: [Bar; 2] = [MMIO, Bar { index: 2, start: 0x64_0000_0000, bytes: 8 * GIB, flags: 0x14_220c }];

const fn dg2(
    name: &'static str,
    product: &'static str,
    pci: Pci,
    vram_bytes: u64,
    gts: &'static [Gt],
    hwconfig: &'static [(u32, &'static [u32])],
    topology: &'static [Topology],
) -> Profile {
    Profile {
        name,
        residency_only: false,
        product,
        family: Family::XeHpg,
        pci,
        render_minor: 128,
        card_minor: 0,
        sysmem_bytes: 32 * GIB,
        vram_bytes,
        vram_page: 65536,
        va_bits: 48,
        // HAS_VRAM; xe sets no LOW_LATENCY before GuC submission version 1.1 (70.36), and no NO_COMPRESSION hint
        // below graphics version 20.
        config_flags: 1,
        engines: &ENGINES,
        gts,
        hwconfig,
        topology,
        guc: [0, 1, 19, 0],
        fault_mode: false,
        // G10 and G12; G11 is graphics version 12.56.
        always_scratch: gts[0].ip[1] != 56,
        pat_entries: 4,
    }
}

/// 8 slices × 4 dual subslices × 16 EUs × 8 threads = 4,096 hardware threads.
pub static A770: Profile = dg2(
    "a770",
    "Intel(R) Arc(TM) A770 Graphics",
    pci(0x56a0, 0x08, 0x1020, &BARS_16G),
    17_079_205_888,
    &[gt(55, 8, 2400)],
    &[
        (1, &[8]),
        (2, &[32]),
        (3, &[16]),
        (11, &[4]),
        (15, &[8]),
        (23, &[1]),
        (24, &[4]),
        (64, &[1024]),
        (65, &[128]),
    ],
    &[
        Topology { gt: 0, kind: 1, mask: &[0xff, 0xff, 0xff, 0xff] },
        Topology { gt: 0, kind: 2, mask: &[0xff, 0xff, 0xff, 0xff] },
        Topology { gt: 0, kind: 3, mask: &[0xff, 0xff, 0, 0] },
        Topology { gt: 0, kind: 4, mask: &[0xff, 0xff] },
    ],
);
pub static A770_RESIDENCY: Profile = Profile { name: "a770-residency", residency_only: true, ..A770 };

/// The A770's die with 28 of 32 dual subslices.
pub static A750: Profile = dg2(
    "a750",
    "Intel(R) Arc(TM) A750 Graphics",
    pci(0x56a1, 0x08, 0x1021, &BARS_8G),
    8128 * MIB,
    &[gt(55, 8, 2400)],
    &[
        (1, &[8]),
        (2, &[32]),
        (3, &[16]),
        (11, &[4]),
        (15, &[8]),
        (23, &[1]),
        (24, &[4]),
        (64, &[1024]),
        (65, &[128]),
    ],
    &[
        Topology { gt: 0, kind: 1, mask: &[0xff, 0xff, 0xff, 0x0f] },
        Topology { gt: 0, kind: 2, mask: &[0xff, 0xff, 0xff, 0x0f] },
        Topology { gt: 0, kind: 3, mask: &[0xff, 0xff, 0, 0] },
        Topology { gt: 0, kind: 4, mask: &[0xff, 0xff] },
    ],
);
pub static A750_RESIDENCY: Profile = Profile { name: "a750-residency", residency_only: true, ..A750 };

/// The small die (G11): 2 slices × 4 dual subslices.
pub static A380: Profile = dg2(
    "a380",
    "Intel(R) Arc(TM) A380 Graphics",
    pci(0x56a5, 0x05, 0x1022, &BARS_8G),
    6088 * MIB,
    &[gt(56, 5, 2450)],
    &[
        (1, &[2]),
        (2, &[8]),
        (3, &[16]),
        (11, &[4]),
        (15, &[8]),
        (23, &[1]),
        (24, &[2]),
        (64, &[512]),
        (65, &[128]),
    ],
    &[
        Topology { gt: 0, kind: 1, mask: &[0xff, 0, 0, 0] },
        Topology { gt: 0, kind: 2, mask: &[0xff, 0, 0, 0] },
        Topology { gt: 0, kind: 3, mask: &[0xff, 0, 0, 0] },
        Topology { gt: 0, kind: 4, mask: &[0xff, 0xff] },
    ],
);
pub static A380_RESIDENCY: Profile = Profile { name: "a380-residency", residency_only: true, ..A380 };
