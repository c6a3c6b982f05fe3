//! Real Intel render nodes, from sysfs (`/sys/class/drm/renderD*`, Documentation/gpu in the kernel tree).

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

const INTEL: u16 = 0x8086;

/// One render node of an Intel device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RenderNode {
    /// `/dev/dri/renderD128`.
    pub node: PathBuf,
    /// `0000:09:00.0`.
    pub pci_address: String,
    /// PCI device id, e.g. 0x56a0 for an Arc A770.
    pub device_id: u16,
    /// Kernel driver bound to it: `xe`, `i915`…; `None` = none.
    pub driver: Option<String>,
}

impl RenderNode {
    /// A driver that NEO can use is bound.
    pub fn usable_driver(&self) -> bool {
        matches!(self.driver.as_deref(), Some("xe" | "i915"))
    }

    /// This user may open the node for reading and writing.
    pub fn accessible(&self) -> bool {
        use nix::unistd::{AccessFlags, access};
        access(&self.node, AccessFlags::R_OK | AccessFlags::W_OK).is_ok()
    }
}

/// The Intel render nodes of this machine, by PCI address.
pub fn devices() -> Vec<RenderNode> {
    devices_below(Path::new("/sys"))
}

/// The same from another sysfs: entries that cannot be read are no devices.
pub fn devices_below(sysfs: &Path) -> Vec<RenderNode> {
    let Ok(entries) = fs::read_dir(sysfs.join("class/drm")) else { return Vec::new() };
    let mut nodes: Vec<RenderNode> = entries
        .flatten()
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            let number = name.strip_prefix("renderD")?;
            number.parse::<u32>().ok()?;
            render_node(&name, &entry.path().join("device"))
        })
        .collect();
    nodes.sort_by(|a, b| a.pci_address.cmp(&b.pci_address));
    nodes
}

fn render_node(name: &str, device: &Path) -> Option<RenderNode> {
    let id = |file: &str| {
        let text = fs::read_to_string(device.join(file)).ok()?;
        u16::from_str_radix(text.trim().strip_prefix("0x")?, 16).ok()
    };
    if id("vendor")? != INTEL {
        return None;
    }
    let last = |path: PathBuf| Some(path.file_name()?.to_str()?.to_owned());
    Some(RenderNode {
        node: Path::new("/dev/dri").join(name),
        pci_address: last(device.canonicalize().ok()?)?,
        device_id: id("device")?,
        driver: fs::read_link(device.join("driver")).ok().and_then(last),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn plant(sysfs: &Path, node: &str, address: &str, vendor: &str, driver: Option<&str>) {
        let device = sysfs.join("devices/pci0000:00").join(address);
        fs::create_dir_all(&device).expect("device");
        fs::write(device.join("vendor"), format!("{vendor}\n")).expect("vendor");
        fs::write(device.join("device"), "0x56a0\n").expect("device");
        if let Some(driver) = driver {
            let bus = sysfs.join("bus/pci/drivers").join(driver);
            fs::create_dir_all(&bus).expect("bus");
            symlink(&bus, device.join("driver")).expect("driver");
        }
        let class = sysfs.join("class/drm").join(node);
        fs::create_dir_all(&class).expect("class");
        symlink(&device, class.join("device")).expect("link");
    }

    #[test]
    fn only_intel_render_nodes_count() {
        let sysfs = tempfile::tempdir().expect("tempdir");
        let root = sysfs.path();
        plant(root, "renderD129", "0000:09:00.0", "0x8086", Some("xe"));
        plant(root, "renderD128", "0000:0a:00.0", "0x8086", None);
        plant(root, "renderD130", "0000:01:00.0", "0x1002", Some("amdgpu"));
        plant(root, "card1", "0000:0b:00.0", "0x8086", Some("xe"));
        let found = devices_below(root);
        assert_eq!(found.len(), 2, "{found:?}");
        assert_eq!(found[0].pci_address, "0000:09:00.0");
        assert_eq!(found[0].node, Path::new("/dev/dri/renderD129"));
        assert_eq!(found[0].device_id, 0x56a0);
        assert!(found[0].usable_driver() && !found[1].usable_driver());
        assert!(devices_below(&root.join("nothing")).is_empty());
    }
}
