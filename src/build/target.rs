//! Which `-device` argument of `ocloc` builds for which device: the one table.
//!
//! Source of the PCI ids: `shared/source/dll/devices/devices_base.inl` of compute-runtime; of the names: `ocloc
//! compile --help`.

/// (PCI device ids, profile names of the simulated devices, `ocloc -device`).
const TARGETS: &[(&[u32], &[&str], &str)] = &[
    // DG2-512, ACM-G10: A770, A750, A580, A770M, A730M, A550M.
    (&[0x56a0, 0x56a1, 0x56a2, 0x5690, 0x5691, 0x5692], &["a770", "a750", "a580"], "dg2-g10"),
    // DG2-128, ACM-G11: A380, A310, A370M, A350M.
    (&[0x56a5, 0x56a6, 0x5693, 0x5694, 0x5695], &["a380", "a310"], "dg2-g11"),
    // DG2-256, ACM-G12: A530M, A570M.
    (&[0x5696, 0x5697], &[], "dg2-g12"),
    // BMG-G21: B580, B570, by the version of their graphics. What `bmg-g21` stands for in ocloc 26.27 is 20.1.0, and the
    // driver does not load that on 20.1.4 ("Unhandled target device").
    (&[0xe20b, 0xe20c], &["b580", "b570"], "20.1.4"),
];

/// What a module is built for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Target {
    /// The `-device` argument.
    pub ocloc_device: String,
}

impl Target {
    /// Any `-device` argument, taken as it is.
    pub fn named(ocloc_device: impl Into<String>) -> Self {
        Target { ocloc_device: ocloc_device.into() }
    }

    /// For a simulated device's profile name (`a770`, without `sim:`); `None` when the table lacks it.
    pub fn for_profile(profile: &str) -> Option<Self> {
        let (_, _, name) = TARGETS.iter().find(|(_, profiles, _)| profiles.contains(&profile))?;
        Some(Target::named(*name))
    }

    /// For a PCI device id. `ocloc` itself maps ids that the table lacks.
    pub fn for_pci_id(device_id: u32) -> Self {
        match TARGETS.iter().find(|(ids, _, _)| ids.contains(&device_id)) {
            Some((_, _, name)) => Target::named(*name),
            None => Target::named(format!("0x{device_id:04x}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_and_profiles_agree() {
        assert_eq!(Target::for_profile("a770"), Some(Target::for_pci_id(0x56a0)));
        assert_eq!(Target::for_profile("a380"), Some(Target::for_pci_id(0x56a5)));
        assert_eq!(Target::for_profile("b580"), Some(Target::for_pci_id(0xe20b)));
        assert_eq!(Target::for_profile("voodoo2"), None);
        assert_eq!(Target::for_pci_id(0x46a6).ocloc_device, "0x46a6");
    }
}
