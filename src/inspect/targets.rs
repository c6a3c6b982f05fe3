//! Names of devices ↔ graphics IP versions: the one table.
//!
//! Source: `ocloc ids NAME` of compute-runtime 26.27 for every name that `ocloc compile --help` lists. Names on one
//! line are one target: `ocloc` builds the same image for each of them.

use std::fmt;

/// A graphics IP version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Ip {
    pub major: u16,
    pub minor: u8,
    pub revision: u8,
}

/// `12.55.8` and its names, the shortest well-known one first.
static TABLE: &[(Ip, &[&str])] = &[
    (ip(12, 0, 0), &["tgllp", "tgl"]),
    (ip(12, 1, 0), &["rkl"]),
    (ip(12, 2, 0), &["adl-s", "rpl-s"]),
    (ip(12, 3, 0), &["adl-p", "rpl-p"]),
    (ip(12, 4, 0), &["adl-n"]),
    (ip(12, 10, 0), &["dg1"]),
    (ip(12, 55, 0), &["dg2-g10-a0"]),
    (ip(12, 55, 1), &["dg2-g10-a1"]),
    (ip(12, 55, 4), &["dg2-g10-b0"]),
    (ip(12, 55, 8), &["dg2-g10", "acm-g10", "ats-m150", "dg2", "dg2-g10-c0"]),
    (ip(12, 56, 0), &["dg2-g11-a0"]),
    (ip(12, 56, 4), &["dg2-g11-b0"]),
    (ip(12, 56, 5), &["dg2-g11", "acm-g11", "ats-m75", "dg2-g11-b1"]),
    (ip(12, 57, 0), &["dg2-g12", "acm-g12", "dg2-g12-a0"]),
    (ip(12, 60, 0), &["pvc-xl-a0"]),
    (ip(12, 60, 1), &["pvc-sdv", "pvc-xl-a0p"]),
    (ip(12, 60, 3), &["pvc-xt-a0"]),
    (ip(12, 60, 5), &["pvc-xt-b0"]),
    (ip(12, 60, 6), &["pvc-xt-b1"]),
    (ip(12, 60, 7), &["pvc", "pvc-xt-c0"]),
    (ip(12, 61, 7), &["pvc-vg", "pvc-xt-c0-vg"]),
    (ip(12, 70, 0), &["mtl-u-a0"]),
    (ip(12, 70, 4), &["mtl-u", "mtl", "mtl-m", "mtl-s", "arl-u", "arl-s", "mtl-u-b0"]),
    (ip(12, 71, 0), &["mtl-h-a0"]),
    (ip(12, 71, 4), &["mtl-h", "mtl-p", "mtl-h-b0"]),
    (ip(12, 74, 0), &["arl-h-a0"]),
    (ip(12, 74, 4), &["arl-h", "arl", "arl-h-b0"]),
    (ip(20, 1, 0), &["bmg-g21", "bmg", "bmg-g21-a0", "bmg-g21-a1", "bmg-g21-b0"]),
    (ip(20, 2, 0), &["bmg-g31", "bmg-g31-a0"]),
    (ip(20, 4, 0), &["lnl-a0"]),
    (ip(20, 4, 1), &["lnl-a1"]),
    (ip(20, 4, 4), &["lnl-m", "lnl", "lnl-b0"]),
    (ip(30, 0, 0), &["ptl-h-a0"]),
    (ip(30, 0, 4), &["ptl-h", "ptl", "ptl-h-b0"]),
    (ip(30, 1, 0), &["ptl-u", "ptl-u-a0"]),
    (ip(30, 3, 0), &["wcl-a0"]),
    (ip(30, 3, 1), &["wcl", "wcl-a1"]),
    (ip(30, 4, 0), &["nvl-s-a0"]),
    (ip(30, 4, 4), &["nvl-s", "nvl-hx", "nvl-ul", "nvl-s-b0"]),
    (ip(30, 5, 0), &["nvl-u-a0"]),
    (ip(30, 5, 1), &["nvl-u-a1"]),
    (ip(30, 5, 4), &["nvl-u", "nvl-h", "nvl-u-b0"]),
    (ip(35, 10, 0), &["nvl-p-a0"]),
    (ip(35, 10, 4), &["nvl-p", "nvl-p-b0"]),
    (ip(35, 11, 0), &["cri", "cri-a0"]),
];

const fn ip(major: u16, minor: u8, revision: u8) -> Ip {
    Ip { major, minor, revision }
}

impl Ip {
    /// From the word that drivers and zebins use: major from bit 22 on, minor from bit 14 on, revision in bits 0 to 5.
    pub fn from_word(word: u32) -> Ip {
        Ip { major: (word >> 22) as u16, minor: (word >> 14) as u8, revision: (word & 0x3f) as u8 }
    }

    /// From `12.55.8`.
    pub fn parse(text: &str) -> Option<Ip> {
        let mut parts = text.split('.');
        let ip = Ip {
            major: parts.next()?.parse().ok()?,
            minor: parts.next()?.parse().ok()?,
            revision: parts.next()?.parse().ok()?,
        };
        parts.next().is_none().then_some(ip)
    }
}

impl fmt::Display for Ip {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.revision)
    }
}

/// All lines of the table.
pub fn table() -> &'static [(Ip, &'static [&'static str])] {
    TABLE
}

/// Every name of an IP version; empty when it is none of the table's.
pub fn acronyms(ip: Ip) -> &'static [&'static str] {
    TABLE.iter().find(|(known, _)| *known == ip).map_or(&[], |(_, names)| names)
}

/// The IP version that a name stands for: an acronym, `12.55.8`, or clang's `intel_gpu_dg2_g10`.
pub fn find(name: &str) -> Option<Ip> {
    let name = name.to_ascii_lowercase();
    let name = name.strip_prefix("intel_gpu_").map_or_else(|| name.clone(), |rest| rest.replace('_', "-"));
    let named = TABLE.iter().find(|(_, names)| names.contains(&name.as_str())).map(|(ip, _)| *ip);
    named.or_else(|| Ip::parse(&name))
}
