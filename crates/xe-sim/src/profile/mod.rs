//! Device profiles: everything about a card that is data, one table a card.
//!
//! A number that only a real card can give (VRAM left after the firmware's stolen memory, say) names its source
//! beside it. Where no dump of a real card was at hand the doc comment says "derived".

mod arc_b;
mod dg2;

use crate::eu::Geometry;
use crate::trace::EngineClass;

/// Which command layouts the card's streamer understands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// Gfx12.55, DG2 ("Alchemist").
    XeHpg,
    /// Gfx20, BMG ("Battlemage").
    Xe2Hpg,
}

/// A PCI base address register, as a line of sysfs `resource` shows it.
#[derive(Clone, Copy, Debug)]
pub struct Bar {
    /// Line in `resource`, from 0. 64-bit registers take two lines; the second is zero.
    pub index: u8,
    pub start: u64,
    pub bytes: u64,
    /// Third column of `resource` (`IORESOURCE_*`).
    pub flags: u64,
}

/// PCI identity and place. All ids as sysfs prints them.
#[derive(Clone, Copy, Debug)]
pub struct Pci {
    /// Address of the card, and of the bridges above it from the root down.
    pub address: &'static str,
    pub bridges: &'static [&'static str],
    pub vendor: u16,
    pub device: u16,
    pub revision: u8,
    pub subsystem_vendor: u16,
    pub subsystem_device: u16,
    /// Class code, 24 bits: 0x030000 = VGA controller.
    pub class: u32,
    pub bars: &'static [Bar],
    /// `current_link_speed`, `current_link_width` of the card's own port.
    pub link_speed: &'static str,
    pub link_width: u8,
}

#[derive(Clone, Copy, Debug)]
pub struct Engine {
    pub class: EngineClass,
    pub instance: u16,
    pub gt: u16,
}

/// `struct drm_xe_gt`, `type` 0 = main, 1 = media.
#[derive(Clone, Copy, Debug)]
pub struct Gt {
    pub kind: u16,
    pub tile: u16,
    pub id: u16,
    /// Hz.
    pub reference_clock: u32,
    /// Bit masks of memory region instances.
    pub near_regions: u64,
    pub far_regions: u64,
    /// Graphics IP version: major, minor, revision.
    pub ip: [u16; 3],
    /// MHz: lowest, efficient, highest (sysfs `tileT/gtG/freq0/{rpn,rpe,rp0}_freq`).
    pub freq_mhz: [u32; 3],
}

/// `struct drm_xe_query_topology_mask`.
#[derive(Clone, Copy, Debug)]
pub struct Topology {
    pub gt: u16,
    /// `DRM_XE_TOPO_*`.
    pub kind: u16,
    pub mask: &'static [u8],
}

/// One simulated card.
#[derive(Debug)]
pub struct Profile {
    /// What `--device sim:NAME` takes.
    pub name: &'static str,
    /// No kernel is executed though the instruction set has a model: dispatches change no memory, as on a card without a
    /// model. What they could reach is judged all the same, many times faster.
    pub residency_only: bool,
    pub product: &'static str,
    pub family: Family,
    pub pci: Pci,
    /// Minor numbers of /dev/dri/renderD128 and /dev/dri/card0 (major 226).
    pub render_minor: u32,
    pub card_minor: u32,
    /// Bytes of system memory that the GPU may use (region 0).
    pub sysmem_bytes: u64,
    /// Bytes of VRAM that MEM_REGIONS reports (region 1), all of it CPU visible (resizable BAR).
    pub vram_bytes: u64,
    /// `min_page_size` of VRAM.
    pub vram_page: u32,
    pub va_bits: u32,
    /// CONFIG flags, `DRM_XE_QUERY_CONFIG_FLAG_*`.
    pub config_flags: u64,
    pub engines: &'static [Engine],
    pub gts: &'static [Gt],
    /// HWCONFIG blob as (key, values).
    pub hwconfig: &'static [(u32, &'static [u32])],
    pub topology: &'static [Topology],
    /// GuC submission interface version: branch, major, minor, patch.
    pub guc: [u32; 4],
    /// Whether VMs in page-fault mode exist (xe: `has_usm`).
    pub fault_mode: bool,
    /// Every VM has a scratch page, asked for or not: the xe kernel's workaround 14016763929 (xe_wa_oob.rules: DG2 G10 and
    /// G12; xe_vm.c `xe_vm_create_ioctl`).
    pub always_scratch: bool,
    /// Valid PAT indices are 0..this (xe: `pat.n_entries`).
    pub pat_entries: u16,
}

impl Profile {
    /// Hardware threads that the driver sizes private memory for: dual subslices × EUs each × threads an EU of the
    /// HWCONFIG blob (keys 2, 3 and 15), fused-off ones included, as NEO's `computeUnitsUsedForScratch` counts them.
    pub fn hw_threads(&self) -> u64 {
        let value = |key: u32| {
            let found = self.hwconfig.iter().find(|(k, _)| *k == key).and_then(|(_, values)| values.first());
            u64::from(found.copied().unwrap_or(0))
        };
        value(2) * value(3) * value(15)
    }

    /// The name of the card that this is, whether it executes kernels or not.
    pub fn card(&self) -> &'static str {
        self.name.strip_suffix(RESIDENCY).unwrap_or(self.name)
    }

    /// The hardware threads there are, for executing kernels; `None` where none are executed.
    /// Dual subslices are numbered without gaps: the fused-off ones of these cards are the last.
    pub fn geometry(&self) -> Option<Geometry> {
        const DSS_COMPUTE: u16 = 2;
        match self.family {
            Family::XeHpg if !self.residency_only => {}
            Family::XeHpg | Family::Xe2Hpg => return None,
        }
        let value = |key: u32| {
            self.hwconfig.iter().find(|(k, _)| *k == key).and_then(|(_, values)| values.first()).copied()
        };
        let mask = self.topology.iter().find(|t| t.kind == DSS_COMPUTE)?.mask;
        let dss = mask.iter().map(|byte| byte.count_ones()).sum();
        Some(Geometry { dss, eus_per_dss: value(3)?, threads_per_eu: value(15)? })
    }

    /// The highest frequency of the main GT, MHz.
    pub fn max_freq_mhz(&self) -> u32 {
        self.gts.first().map_or(0, |gt| gt.freq_mhz[2])
    }
}

/// What the name of a card that executes no kernels ends in.
const RESIDENCY: &str = "-residency";

static CARDS: [&Profile; 4] = [&dg2::A770, &dg2::A750, &dg2::A380, &arc_b::B580];
static RESIDENCY_ONLY: [&Profile; 3] = [&dg2::A770_RESIDENCY, &dg2::A750_RESIDENCY, &dg2::A380_RESIDENCY];

/// Every card, the default first.
pub fn cards() -> &'static [&'static Profile] {
    &CARDS
}

/// Every profile: the cards, then those that do not execute kernels though there is a model.
pub fn all() -> impl Iterator<Item = &'static Profile> {
    CARDS.iter().chain(&RESIDENCY_ONLY).copied()
}

/// The profile with this name, if there is one.
pub fn by_name(name: &str) -> Option<&'static Profile> {
    all().find(|p| p.name == name)
}
