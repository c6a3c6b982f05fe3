//! BMG cards (Gfx20, Xe2).
//!
//! Sources: PCI ids and limits from compute-runtime (`devices_base.inl`, `hw_info_bmg.cpp`), engine masks from the
//! xe kernel driver's platform descriptors. VRAM is derived: 12 GiB minus 72 MiB, of which the driver's 95 % is the
//! global memory size that B580 owners report (12,168,933,376 B).

use super::{Bar, Engine, Family, Gt, Pci, Profile, Topology};
use crate::trace::EngineClass::{Compute, Copy, Render, VideoDecode, VideoEnhance};

const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

/// The last copy engine is reserved by xe for page-fault handling and not shown.
static ENGINES: [Engine; 7] = [
    Engine { class: Render, instance: 0, gt: 0 },
    Engine { class: Copy, instance: 0, gt: 0 },
    Engine { class: Compute, instance: 0, gt: 0 },
    Engine { class: VideoDecode, instance: 0, gt: 1 },
    Engine { class: VideoDecode, instance: 1, gt: 1 },
    Engine { class: VideoEnhance, instance: 0, gt: 1 },
    Engine { class: VideoEnhance, instance: 1, gt: 1 },
];

static GTS: [Gt; 2] = [
    Gt {
        kind: 0,
        tile: 0,
        id: 0,
        reference_clock: 19_200_000,
        near_regions: 0b10,
        far_regions: 0b01,
        ip: [20, 1, 4],
        freq_mhz: [400, 1200, 2850],
    },
    Gt {
        kind: 1,
        tile: 0,
        id: 1,
        reference_clock: 19_200_000,
        near_regions: 0b10,
        far_regions: 0b01,
        ip: [13, 1, 0],
        freq_mhz: [400, 400, 1500],
    },
];

static BARS: [Bar; 2] = [
    Bar { index: 0, start: 0x6_1f00_0000, bytes: 16 * MIB, flags: 0x14_0204 },
    Bar { index: 2, start: 0x64_0000_0000, bytes: 16 * GIB, flags: 0x14_220c },
];

/// 5 slices × 4 subslices × 8 EUs × 8 threads.
pub static B580: Profile = Profile {
    name: "b580",
    residency_only: false,
    product: "Intel(R) Arc(TM) B580 Graphics",
    family: Family::Xe2Hpg,
    pci: Pci {
        address: "0000:09:00.0",
        bridges: &["0000:00:01.0", "0000:07:00.0", "0000:08:01.0"],
        vendor: 0x8086,
        device: 0xe20b,
        revision: 0x00,
        subsystem_vendor: 0x8086,
        subsystem_device: 0x1100,
        class: 0x03_0000,
        bars: &BARS,
        link_speed: "2.5 GT/s PCIe",
        link_width: 1,
    },
    render_minor: 128,
    card_minor: 0,
    sysmem_bytes: 32 * GIB,
    vram_bytes: 12216 * MIB,
    vram_page: 65536,
    va_bits: 48,
    // HAS_VRAM | HAS_LOW_LATENCY
    config_flags: 0b11,
    engines: &ENGINES,
    gts: &GTS,
    hwconfig: &[
        (1, &[5]),
        (2, &[20]),
        (3, &[8]),
        (11, &[4]),
        (15, &[8]),
        (23, &[1]),
        (24, &[1]),
        (64, &[1024]),
        (65, &[128]),
    ],
    topology: &[
        Topology { gt: 0, kind: 1, mask: &[0xff, 0xff, 0x0f, 0] },
        Topology { gt: 0, kind: 2, mask: &[0xff, 0xff, 0x0f, 0] },
        Topology { gt: 0, kind: 3, mask: &[0xff, 0xff, 0x03, 0] },
        Topology { gt: 0, kind: 5, mask: &[0xff, 0] },
    ],
    guc: [0, 1, 20, 0],
    fault_mode: true,
    always_scratch: false,
    pat_entries: 32,
};
