//! What files and environment variables say.

use std::collections::BTreeSet;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;
use std::process::{Command, Stdio};

use super::mask;

/// A small text file, trimmed; `None` if it is not there or empty.
pub(super) fn text(path: &Path) -> Option<String> {
    let text = std::fs::read_to_string(path).ok()?;
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

/// Lines of /proc/modules about the graphics drivers, "name size users".
pub(super) fn modules(path: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let of = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().take(3).collect();
        matches!(words.first(), Some(&("xe" | "i915"))).then(|| words.join(" "))
    };
    text.lines().filter_map(of).collect()
}

/// os-release: PRETTY_NAME, and BUILD_ID where it says more.
pub(super) fn distribution(root: &Path) -> Option<String> {
    let release = text(&root.join("etc/os-release")).or_else(|| text(&root.join("usr/lib/os-release")))?;
    let value = |key: &str| {
        let line = release.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('='))?;
        Some(line.trim_matches(['"', '\'']).to_owned())
    };
    let name = value("PRETTY_NAME").or_else(|| value("NAME"))?;
    match value("BUILD_ID").filter(|build| !name.contains(build.as_str())) {
        Some(build) => Some(format!("{name}, BUILD_ID={build}")),
        None => Some(name),
    }
}

/// Reading one line is cheaper than sysinfo's survey of every core.
pub(super) fn cpu_model(path: &Path) -> Option<String> {
    let text = std::fs::read_to_string(path).ok()?;
    let line = text.lines().find(|line| line.starts_with("model name"))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

/// Like `ls -l /dev/dri /dev/dri/by-path`, without owners and dates.
pub(super) fn dri(dir: &Path) -> Vec<String> {
    let mut lines = Vec::new();
    for (below, shown) in [("", "/dev/dri"), ("by-path", "/dev/dri/by-path")] {
        let entries = std::fs::read_dir(dir.join(below)).into_iter().flatten().flatten();
        let mut found: Vec<String> = entries
            .filter_map(|entry| {
                let name = entry.file_name().to_string_lossy().into_owned();
                let path = entry.path();
                let metadata = std::fs::symlink_metadata(&path).ok()?;
                if metadata.file_type().is_dir() {
                    return None;
                }
                if metadata.file_type().is_symlink() {
                    let to = std::fs::read_link(&path).ok()?;
                    return Some(format!("{shown}/{name} -> {}", to.display()));
                }
                let kind = if metadata.file_type().is_char_device() { 'c' } else { '-' };
                let device = metadata.rdev();
                let numbers = format!("{}, {}", nix::sys::stat::major(device), nix::sys::stat::minor(device));
                Some(format!("{kind}{:03o} {numbers} {shown}/{name}", metadata.mode() & 0o777))
            })
            .collect();
        found.sort();
        lines.extend(found);
    }
    lines
}

/// Variables that change what a driver or a runtime does.
pub(super) fn variables(all: impl Iterator<Item = (String, String)>) -> Vec<(String, String)> {
    const PREFIXES: [&str; 12] = [
        "ZE_",
        "ZET_",
        "ZES_",
        "ZEL_",
        "NEO",
        "IGC_",
        "SYCL_",
        "UR_",
        "ONEAPI_",
        "OCL_",
        "LD_LIBRARY_PATH",
        "LD_PRELOAD",
    ];
    // Debug keys are read by their bare names once NEOReadDebugKeys is set.
    const KEYS: [&str; 4] = ["Print", "Enable", "Disable", "Override"];
    let debug_key = |name: &str| {
        KEYS.iter().any(|key| {
            name.strip_prefix(key).is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_uppercase()))
        })
    };
    let mut found: Vec<(String, String)> = all
        .filter(|(name, _)| PREFIXES.iter().any(|prefix| name.starts_with(prefix)) || debug_key(name))
        .map(|(name, value)| (name, mask(&value)))
        .collect();
    found.sort();
    found
}

pub(super) fn compiler() -> Option<String> {
    let out =
        Command::new("icpx").arg("--version").stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
    String::from_utf8_lossy(&out.stdout)
        .lines()
        .next()
        .map(|line| line.trim().to_owned())
        .filter(|line| !line.is_empty())
}

/// Names that parts of the driver go by in distributions.
const PARTS: [&str; 10] = [
    "intel-compute-runtime",
    "intel-graphics-compiler",
    "intel-gmmlib",
    "level-zero",
    "libze1",
    "libze-intel-gpu1",
    "libigc2",
    "libigdfcl2",
    "libigdgmm12",
    "intel-ocloc",
];

/// Debian's status file; on NixOS, the store paths of the running system's drivers.
pub(super) fn packages(root: &Path) -> Vec<String> {
    let mut found = BTreeSet::new();
    let status = std::fs::read_to_string(root.join("var/lib/dpkg/status")).unwrap_or_default();
    for paragraph in status.split("\n\n") {
        let field =
            |name: &str| paragraph.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
        let installed = field("Status").is_some_and(|status| status.ends_with(" installed"));
        if let (true, Some(name), Some(version)) = (installed, field("Package"), field("Version"))
            && (PARTS.contains(&name) || name.starts_with("intel-opencl") || name.starts_with("libze-"))
        {
            found.insert(format!("{name} {version}"));
        }
    }
    // hardware.graphics puts links to the store here.
    let libraries = std::fs::read_dir(root.join("run/opengl-driver/lib")).into_iter().flatten().flatten();
    for link in libraries.filter_map(|entry| std::fs::read_link(entry.path()).ok()) {
        let text = link.to_string_lossy().into_owned();
        let Some(store) = text.strip_prefix("/nix/store/").and_then(|rest| rest.split('/').next()) else {
            continue;
        };
        // "HASH-intel-compute-runtime-26.18.38308.1": the hash says which build, the rest what it is.
        if PARTS.iter().any(|part| store.contains(part)) {
            found.insert(format!("/nix/store/{store}"));
        }
    }
    found.into_iter().collect()
}
