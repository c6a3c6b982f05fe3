//! Which device an arm runs on: `auto`, `sim:PROFILE` or `pci:ADDRESS`.

use xe_sim::profile::{self, Profile};

use super::devices::RenderNode;

/// The device that `auto` stands for where no Intel render node is.
pub const DEFAULT_PROFILE: &str = "a770";

/// A device that exists: a profile of the simulator or a render node of this machine.
#[derive(Clone, Debug)]
pub enum Device {
    Simulated(&'static Profile),
    Real(RenderNode),
}

/// Why a name is no device here.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoDevice {
    #[error("no simulated device \"{name}\"; there are {}", known.join(", "))]
    NoProfile { name: String, known: Vec<String> },
    #[error("no Intel render node at {address}; {}", if there.is_empty() { "this machine has none (use sim:a770)".to_owned() } else { format!("there are {}", there.join(", ")) })]
    NoNode { address: String, there: Vec<String> },
    #[error("{address} is bound to {driver}, not to xe or i915")]
    NotUsable { address: String, driver: String },
    #[error("\"{0}\" is no device: auto, sim:PROFILE or pci:ADDRESS (pci:0000:09:00.0)")]
    Form(String),
}

impl Device {
    /// Finds the device that `text` names among the render nodes of this machine and the simulator's profiles.
    pub fn find(text: &str, nodes: &[RenderNode]) -> Result<Device, NoDevice> {
        if text == "auto" {
            let usable = nodes.iter().find(|node| node.usable_driver() && node.accessible());
            return match usable {
                Some(node) => Ok(Device::Real(node.clone())),
                None => Device::simulated(DEFAULT_PROFILE),
            };
        }
        if let Some(name) = text.strip_prefix("sim:") {
            return Device::simulated(name);
        }
        let Some(address) = text.strip_prefix("pci:") else { return Err(NoDevice::Form(text.to_owned())) };
        let Some(node) = nodes.iter().find(|node| node.pci_address == address) else {
            let there = nodes.iter().map(|node| format!("pci:{}", node.pci_address)).collect();
            return Err(NoDevice::NoNode { address: address.to_owned(), there });
        };
        if !node.usable_driver() {
            let driver = node.driver.clone().unwrap_or_else(|| "no driver".to_owned());
            return Err(NoDevice::NotUsable { address: address.to_owned(), driver });
        }
        Ok(Device::Real(node.clone()))
    }

    fn simulated(name: &str) -> Result<Device, NoDevice> {
        profile::by_name(name).map(Device::Simulated).ok_or_else(|| NoDevice::NoProfile {
            name: name.to_owned(),
            known: profile::all().map(|p| format!("sim:{}", p.name)).collect(),
        })
    }

    /// `sim:a770` or `pci:0000:09:00.0`.
    pub fn name(&self) -> String {
        match self {
            Device::Simulated(profile) => format!("sim:{}", profile.name),
            Device::Real(node) => format!("pci:{}", node.pci_address),
        }
    }

    /// The profile with this card's numbers: its own, or the one with a real card's PCI id.
    pub fn profile(&self) -> Option<&'static Profile> {
        match self {
            Device::Simulated(profile) => Some(profile),
            Device::Real(node) => profile::cards().iter().copied().find(|p| p.pci.device == node.device_id),
        }
    }

    /// Bytes that the driver calls global memory: 95 % of the VRAM (NEO `getGlobalMemorySize`, 19 of 20 parts).
    pub fn global_memory(&self) -> Option<u64> {
        self.profile().map(|profile| (u128::from(profile.vram_bytes) * 95 / 100) as u64)
    }

    /// One line for people. `asked` is what the user or the matrix wrote.
    pub fn describe(&self, asked: &str) -> String {
        let why =
            if asked == "auto" { ", no Intel render node here; --device pci:… for a card" } else { "" };
        match self {
            Device::Simulated(profile) => {
                format!("{}   {}, simulated xe (a model{why})", self.name(), profile.product)
            }
            Device::Real(node) => format!(
                "{}   Intel {:04x}, {} ({})",
                self.name(),
                node.device_id,
                node.driver.as_deref().unwrap_or("no driver"),
                node.node.display()
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(driver: Option<&str>) -> RenderNode {
        RenderNode {
            node: "/dev/null".into(),
            pci_address: "0000:09:00.0".into(),
            device_id: 0x56a0,
            driver: driver.map(str::to_owned),
        }
    }

    #[test]
    fn auto_takes_a_card_where_there_is_one() {
        let found = |nodes: &[RenderNode]| Device::find("auto", nodes).map(|device| device.name());
        assert_eq!(found(&[]), Ok("sim:a770".into()));
        assert_eq!(found(&[node(Some("xe"))]), Ok("pci:0000:09:00.0".into()));
        assert_eq!(found(&[node(Some("vfio-pci"))]), Ok("sim:a770".into()));
    }

    #[test]
    fn wrong_names_say_what_there_is() {
        let error = |text: &str| Device::find(text, &[node(None)]).map(|_| ()).unwrap_err().to_string();
        assert!(error("sim:a7770").contains("sim:a770"));
        assert!(error("pci:0000:01:00.0").contains("pci:0000:09:00.0"));
        assert!(error("pci:0000:09:00.0").contains("no driver"));
        assert!(error("gpu").contains("auto, sim:PROFILE or pci:ADDRESS"));
    }

    #[test]
    fn the_a770_has_the_reports_numbers() {
        // Seed 003: computeUnitsUsedForScratch 4096, globalMemorySize 16225245593.
        let device = Device::find("sim:a770", &[]).expect("a profile");
        assert_eq!(device.profile().map(Profile::hw_threads), Some(4096));
        assert_eq!(device.global_memory(), Some(16_225_245_593));
        // A real card finds the same numbers by its PCI id.
        assert_eq!(Device::Real(node(Some("xe"))).global_memory(), Some(16_225_245_593));
    }
}
