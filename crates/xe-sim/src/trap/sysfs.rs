//! What the device's files say, from the profile. Formats: `Documentation/ABI/testing/sysfs-bus-pci`,
//! `sysfs-driver-intel-xe-*`, and what libdrm and compute-runtime read.
//!
//! Left out, so that reading them gives ENOENT: hwmon, PMT telemetry, RAS counters, EU stall and OA (perf) files.

use std::fmt::Write as _;

use crate::profile::{Pci, Profile};

pub(super) enum What {
    File(Vec<u8>),
    /// Target of a symbolic link.
    Link(String),
}

pub(super) struct Entry {
    /// Absolute, as the client sees it.
    pub path: String,
    pub what: What,
}

/// Everything in the tree; directories follow from the paths.
pub(super) fn entries(profile: &Profile) -> Vec<Entry> {
    let mut out = Out { entries: Vec::new() };
    let pci = profile.pci;
    let render = format!("renderD{}", profile.render_minor);
    let card = format!("card{}", profile.card_minor);
    let device = device_dir(&pci);
    nodes(&mut out, &pci, &render, &card);
    out.file(&device, "config", config_space(&pci));
    for (name, text) in pci_attributes(&pci) {
        out.file(&device, name, text);
    }
    out.link_to(&format!("{device}/driver"), "/sys/bus/pci/drivers/xe");
    out.link_to(&format!("{device}/subsystem"), "/sys/bus/pci");
    out.link_to(&format!("/sys/bus/pci/devices/{}", pci.address), &device);
    out.link_to(&format!("/sys/bus/pci/drivers/xe/{}", pci.address), &device);
    for (minor, name) in [(profile.render_minor, &render), (profile.card_minor, &card)] {
        let dir = format!("{device}/drm/{name}");
        out.file(&dir, "dev", format!("226:{minor}\n"));
        let text = format!("MAJOR=226\nMINOR={minor}\nDEVNAME=dri/{name}\nDEVTYPE=drm_minor\n");
        out.file(&dir, "uevent", text);
        out.link(&format!("{dir}/device"), format!("../../../{}", pci.address));
        out.link_to(&format!("{dir}/subsystem"), "/sys/class/drm");
        out.link_to(&format!("/sys/class/drm/{name}"), &dir);
        out.link_to(&format!("/sys/dev/char/226:{minor}"), &dir);
    }
    out.file("/sys/class/drm", "version", "drm 1.1.0 20060810\n");
    bridges(&mut out, profile);
    gts(&mut out, profile, &device);
    out.entries
}

struct Out {
    entries: Vec<Entry>,
}

impl Out {
    fn file(&mut self, dir: &str, name: &str, bytes: impl Into<Vec<u8>>) {
        self.entries.push(Entry { path: format!("{dir}/{name}"), what: What::File(bytes.into()) });
    }

    fn link(&mut self, path: &str, to: String) {
        self.entries.push(Entry { path: path.to_owned(), what: What::Link(to) });
    }

    /// A relative link from `path` to the absolute `target`, as sysfs makes them.
    fn link_to(&mut self, path: &str, target: &str) {
        let shared = "/sys/";
        let ups = path.trim_start_matches(shared).matches('/').count();
        let to = "../".repeat(ups) + target.trim_start_matches(shared);
        self.link(path, to);
    }
}

/// `/sys/devices/pci0000:00/…/0000:09:00.0`.
fn device_dir(pci: &Pci) -> String {
    let mut dir = "/sys/devices/pci0000:00".to_owned();
    for part in pci.bridges.iter().chain([&pci.address]) {
        dir.push('/');
        dir.push_str(part);
    }
    dir
}

fn nodes(out: &mut Out, pci: &Pci, render: &str, card: &str) {
    // Empty files stand for the nodes: opens and stats of them never reach the client as such.
    out.file("/dev/dri", render, "");
    out.file("/dev/dri", card, "");
    out.link(&format!("/dev/dri/by-path/pci-{}-render", pci.address), format!("../{render}"));
    out.link(&format!("/dev/dri/by-path/pci-{}-card", pci.address), format!("../{card}"));
}

fn pci_attributes(pci: &Pci) -> Vec<(&'static str, String)> {
    let modalias = format!(
        "pci:v{:08X}d{:08X}sv{:08X}sd{:08X}bc{:02X}sc{:02X}i{:02X}",
        pci.vendor,
        pci.device,
        pci.subsystem_vendor,
        pci.subsystem_device,
        pci.class >> 16,
        (pci.class >> 8) & 0xff,
        pci.class & 0xff
    );
    let uevent = format!(
        "DRIVER=xe\nPCI_CLASS={:X}\nPCI_ID={:04X}:{:04X}\nPCI_SUBSYS_ID={:04X}:{:04X}\nPCI_SLOT_NAME={}\n\
         MODALIAS={modalias}\n",
        pci.class, pci.vendor, pci.device, pci.subsystem_vendor, pci.subsystem_device, pci.address
    );
    vec![
        ("vendor", format!("0x{:04x}\n", pci.vendor)),
        ("device", format!("0x{:04x}\n", pci.device)),
        ("revision", format!("0x{:02x}\n", pci.revision)),
        ("subsystem_vendor", format!("0x{:04x}\n", pci.subsystem_vendor)),
        ("subsystem_device", format!("0x{:04x}\n", pci.subsystem_device)),
        ("class", format!("0x{:06x}\n", pci.class)),
        ("resource", resource(pci)),
        ("numa_node", "-1\n".to_owned()),
        ("enable", "1\n".to_owned()),
        ("boot_vga", "0\n".to_owned()),
        ("modalias", modalias.clone() + "\n"),
        ("uevent", uevent),
        ("current_link_speed", format!("{}\n", pci.link_speed)),
        ("max_link_speed", format!("{}\n", pci.link_speed)),
        ("current_link_width", format!("{}\n", pci.link_width)),
        ("max_link_width", format!("{}\n", pci.link_width)),
    ]
}

/// 13 lines: six registers, the ROM and six bridge windows; start, end and flags in hex.
fn resource(pci: &Pci) -> String {
    let mut text = String::new();
    for line in 0..13u8 {
        let (start, end, flags) = match pci.bars.iter().find(|b| b.index == line) {
            Some(bar) => (bar.start, bar.start + bar.bytes - 1, bar.flags),
            None => (0, 0, 0),
        };
        let _ = writeln!(text, "0x{start:016x} 0x{end:016x} 0x{flags:016x}");
    }
    text
}

/// The first 64 bytes of configuration space: header type 0 (PCI Local Bus 3.0, section 6.1).
fn config_space(pci: &Pci) -> Vec<u8> {
    let mut space = vec![0u8; 64];
    let mut put = |at: usize, bytes: &[u8]| {
        if let Some(room) = space.get_mut(at..at + bytes.len()) {
            room.copy_from_slice(bytes);
        }
    };
    put(0x00, &pci.vendor.to_le_bytes());
    put(0x02, &pci.device.to_le_bytes());
    // Memory space and bus master on; capabilities list present in the status word on a card, none is modelled.
    put(0x04, &0x0006u16.to_le_bytes());
    put(0x08, &[pci.revision]);
    put(0x09, &pci.class.to_le_bytes()[..3]);
    for bar in pci.bars {
        // Low flags of the register: 64-bit, prefetchable (bit 13 of IORESOURCE_* is IORESOURCE_PREFETCH).
        let low = (bar.start as u32 & !0xf) | 0x4 | if bar.flags & 0x2000 != 0 { 0x8 } else { 0 };
        put(0x10 + 4 * usize::from(bar.index), &low.to_le_bytes());
        put(0x14 + 4 * usize::from(bar.index), &((bar.start >> 32) as u32).to_le_bytes());
    }
    put(0x2c, &pci.subsystem_vendor.to_le_bytes());
    put(0x2e, &pci.subsystem_device.to_le_bytes());
    space
}

/// The card's own switch: the driver takes the link's speed from its upstream port, two levels above the card.
fn bridges(out: &mut Out, profile: &Profile) {
    // Lanes of the slot connector, from the cards' product pages: 16 on the A770 and A750, 8 on the others.
    let width = if matches!(profile.card(), "a770" | "a750") { 16 } else { 8 };
    let mut dir = "/sys/devices/pci0000:00".to_owned();
    for bridge in profile.pci.bridges {
        dir = format!("{dir}/{bridge}");
        out.file(&dir, "vendor", "0x8086\n");
        out.file(&dir, "class", "0x060400\n");
        out.file(&dir, "uevent", format!("DRIVER=pcieport\nPCI_CLASS=60400\nPCI_SLOT_NAME={bridge}\n"));
        for name in ["current_link_speed", "max_link_speed"] {
            out.file(&dir, name, "16.0 GT/s PCIe\n");
        }
        for name in ["current_link_width", "max_link_width"] {
            out.file(&dir, name, format!("{width}\n"));
        }
        out.link_to(&format!("{dir}/subsystem"), "/sys/bus/pci");
        out.link_to(&format!("/sys/bus/pci/devices/{bridge}"), &dir.clone());
    }
}

fn gts(out: &mut Out, profile: &Profile, device: &str) {
    for gt in profile.gts {
        let dir = format!("{device}/tile{}/gt{}", gt.tile, gt.id);
        let [rpn, rpe, rp0] = gt.freq_mhz;
        let freq = format!("{dir}/freq0");
        for (name, mhz) in [
            ("rpn_freq", rpn),
            ("rpe_freq", rpe),
            ("rp0_freq", rp0),
            ("min_freq", rpn),
            ("max_freq", rp0),
            ("cur_freq", rpn),
            ("act_freq", rpn),
        ] {
            out.file(&freq, name, format!("{mhz}\n"));
        }
        out.file(&format!("{freq}/throttle"), "status", "0\n");
        out.file(&format!("{dir}/gtidle"), "idle_status", "gt-c0\n");
        out.file(&format!("{dir}/gtidle"), "idle_residency_ms", "0\n");
    }
}
