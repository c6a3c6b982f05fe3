//! Would the driver put a module on the per-dispatch private-memory path? From the module's own numbers and a card's.
//!
//! NEO adds up the per-thread private sizes of a module's kernels, times the hardware threads that it sizes scratch
//! for, and compares with global memory, 95 % of VRAM (`ModuleImp::checkIfPrivateMemoryPerDispatchIsNeeded`).

use serde::Serialize;

use super::{Image, targets};

/// A card: what the comparison needs, and where the numbers are from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DeviceRow {
    pub name: String,
    /// Graphics IP version.
    pub ip: String,
    pub vram_bytes: u64,
    /// What the driver calls global memory.
    pub global_memory: u64,
    /// Hardware threads that private memory is sized for.
    pub threads: u64,
    pub source: &'static str,
}

/// The device table: the profiles of the simulator.
pub fn devices() -> Vec<DeviceRow> {
    xe_sim::profile::cards()
        .iter()
        .map(|profile| DeviceRow {
            name: profile.name.to_owned(),
            ip: profile.gts.first().map_or_else(String::new, |gt| {
                let [major, minor, revision] = gt.ip;
                format!("{major}.{minor}.{revision}")
            }),
            vram_bytes: profile.vram_bytes,
            global_memory: crate::host::Device::Simulated(profile).global_memory().unwrap_or(0),
            threads: profile.hw_threads(),
            source: source(profile.name),
        })
        .collect()
}

/// Where a row's VRAM and thread count are from; the profiles say it at length.
fn source(name: &str) -> &'static str {
    match name {
        "a770" => {
            "measured on a card: debug output and MEM_REGIONS of the per-dispatch report (4,096 threads, 95 % = 16,225,245,593 B)"
        }
        "b580" => {
            "VRAM derived from the 12,168,933,376 B that owners report as global memory; threads from hw_info_bmg"
        }
        _ => {
            "VRAM derived: board memory less flat CCS (1/256) and 32 MiB; threads from hw_info_dg2 (HWCONFIG maxima)"
        }
    }
}

/// What is to be expected of one image on one card.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Prediction {
    pub device: String,
    #[serde(flatten)]
    pub placement: Placement,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "placement")]
pub enum Placement {
    /// Private memory is bound with the dispatch: `needed` is more than the card's global memory. Bytes.
    PerDispatch { needed: u64 },
    /// Each kernel has its own surface for its lifetime. Bytes.
    PerKernel { needed: u64 },
    /// The code is for another device: this card compiles the module's SPIR-V instead, or fails.
    OtherDevice,
    /// The image says nothing of private memory: the driver's compiler decides it.
    NotCompiled,
}

/// The image on each card.
pub fn predict(image: &Image, devices: &[DeviceRow]) -> Vec<Prediction> {
    devices
        .iter()
        .map(|device| Prediction { device: device.name.clone(), placement: placement(image, device) })
        .collect()
}

/// The driver takes code of its own stepping; from Xe2 on also of an earlier one (`ocloc` names every BMG-G21 stepping
/// 20.1.0, cards report 20.1.4).
fn loads(code: targets::Ip, card: targets::Ip) -> bool {
    let same_product = (code.major, code.minor) == (card.major, card.minor);
    same_product && (code.revision == card.revision || code.major >= 20 && code.revision < card.revision)
}

fn placement(image: &Image, device: &DeviceRow) -> Placement {
    let Some(target) = &image.target else { return Placement::NotCompiled };
    let built_for = target.ip.as_deref().and_then(targets::Ip::parse);
    let runs_here = targets::Ip::parse(&device.ip);
    if !built_for.zip(runs_here).is_some_and(|(code, card)| loads(code, card)) {
        return Placement::OtherDevice;
    }
    match image.private_per_thread() {
        None => Placement::NotCompiled,
        Some(bytes) => {
            let needed = bytes.saturating_mul(device.threads);
            if needed > device.global_memory {
                Placement::PerDispatch { needed }
            } else {
                Placement::PerKernel { needed }
            }
        }
    }
}
