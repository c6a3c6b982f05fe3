//! PCI details of a device, from sysfs and, where it is installed, lspci.

use std::path::Path;
use std::process::{Command, Stdio};

use serde::{Deserialize, Serialize};

use super::RenderNode;
use super::files::text;

/// What sysfs says of a device beside its ids.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PciDetail {
    pub pci_address: String,
    /// "0x08".
    pub revision: Option<String>,
    /// "8086:1020".
    pub subsystem: Option<String>,
    /// Bytes of BAR 2, through which the processor sees video memory.
    pub bar2_bytes: Option<u64>,
    /// Largest size that BAR 2 can have, bytes; absent where the device or the kernel has no resizable BAR.
    pub bar2_largest: Option<u64>,
    /// "16.0 GT/s PCIe".
    pub link_speed: Option<String>,
    pub link_width: Option<String>,
}

impl PciDetail {
    /// "enabled (16 GiB)", "NOT enabled (256 MiB of 16 GiB)".
    pub fn resizable_bar(&self) -> Option<String> {
        let now = self.bar2_bytes?;
        Some(match self.bar2_largest {
            Some(largest) if now >= largest => format!("enabled ({})", size(now)),
            Some(largest) => format!("NOT enabled ({} of {})", size(now), size(largest)),
            None => format!("not known (BAR 2: {})", size(now)),
        })
    }
}

fn size(bytes: u64) -> String {
    if bytes >= 1 << 30 { format!("{} GiB", bytes >> 30) } else { format!("{} MiB", bytes >> 20) }
}

pub(super) fn detail(sysfs: &Path, address: &str) -> PciDetail {
    let dir = sysfs.join("bus/pci/devices").join(address);
    let hex = |file: &str| text(&dir.join(file)).map(|t| t.trim_start_matches("0x").to_owned());
    PciDetail {
        pci_address: address.to_owned(),
        revision: text(&dir.join("revision")),
        subsystem: hex("subsystem_vendor").zip(hex("subsystem_device")).map(|(v, d)| format!("{v}:{d}")),
        bar2_bytes: text(&dir.join("resource")).and_then(|lines| bar(&lines, 2)),
        bar2_largest: hex("resource2_resize").and_then(|mask| largest(&mask)),
        link_speed: text(&dir.join("current_link_speed")),
        link_width: text(&dir.join("current_link_width")),
    }
}

/// Size of a BAR from `resource`: a line "start end flags" for each.
fn bar(resource: &str, index: usize) -> Option<u64> {
    let mut numbers = resource
        .lines()
        .nth(index)?
        .split_whitespace()
        .map(|number| u64::from_str_radix(number.trim_start_matches("0x"), 16));
    let (start, end) = (numbers.next()?.ok()?, numbers.next()?.ok()?);
    (end > start).then(|| (end - start).saturating_add(1))
}

/// `resourceN_resize`: bit n = 2^(n+20) bytes are possible (Documentation/ABI/testing/sysfs-bus-pci).
fn largest(mask: &str) -> Option<u64> {
    let mask = u64::from_str_radix(mask, 16).ok().filter(|mask| *mask != 0)?;
    1u64.checked_shl(63 - mask.leading_zeros() + 20)
}

/// `lspci -vvv -k` of `devices`, by the program of that name or another.
pub(super) fn lspci(program: &Path, devices: &[RenderNode]) -> Option<String> {
    let mut all = String::new();
    for device in devices {
        let out = Command::new(program)
            .args(["-vvv", "-k", "-s", &device.pci_address])
            .env("LC_ALL", "C")
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .output()
            .ok()
            .filter(|out| out.status.success())?;
        all.push_str(&String::from_utf8_lossy(&out.stdout));
    }
    (!all.trim().is_empty()).then_some(all)
}
