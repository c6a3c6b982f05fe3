//! The `maps` observer: which libraries a process has mapped.

use std::collections::BTreeMap;
use std::path::Path;

use crate::model::facts::{LoadedDriver, LoadedLibrary};

/// What a file is, as far as it could be read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Identity {
    pub build_id: Option<String>,
    pub sha256: Option<String>,
}

/// Libraries whose exact build decides what was tested. The rest is listed by path only.
const OF_INTEREST: [&str; 16] = [
    "libze_intel_gpu",
    "libze_loader",
    "libze_tracing_layer",
    "libze_validation_layer",
    "libigdrcl",
    "libigc.",
    "libiga64",
    "libigdfcl",
    "libopencl-clang",
    "libigdgmm",
    "libOpenCL",
    "libsycl",
    "libur_",
    "libpi_",
    "libumf",
    "libocloc",
];

/// Whether a library's build is part of what a run tests.
pub fn is_of_interest(path: &str) -> bool {
    let base = path.rsplit('/').next().unwrap_or(path);
    OF_INTEREST.iter().any(|start| base.starts_with(start))
}

/// Libraries named in the text of `/proc/PID/maps`, sorted by path, each once. `identify` is asked for those of
/// interest; a file that was replaced while mapped ends in " (deleted)" and is not asked for: its path now holds
/// another file.
pub fn loaded(maps: &[u8], identify: &mut dyn FnMut(&Path) -> Identity) -> LoadedDriver {
    let mut paths = BTreeMap::new();
    for line in maps.split(|&b| b == b'\n') {
        if let Some(path) = path_of(line) {
            paths.entry(String::from_utf8_lossy(path).into_owned()).or_insert(());
        }
    }
    let libraries = paths.into_keys().map(|path| {
        let known = is_of_interest(&path) && !path.ends_with(" (deleted)");
        let identity = if known { identify(Path::new(&path)) } else { Identity::default() };
        LoadedLibrary { path, build_id: identity.build_id, sha256: identity.sha256 }
    });
    LoadedDriver { libraries: libraries.collect() }
}

/// The sixth field: an absolute path of a shared object. It may hold blanks; a newline is escaped as `\012`.
fn path_of(line: &[u8]) -> Option<&[u8]> {
    let mut rest = line;
    for _ in 0..5 {
        let at = memchr::memchr(b' ', rest)?;
        rest = rest.get(at..)?.trim_ascii_start();
    }
    let base = rest.rsplit(|&b| b == b'/').next()?;
    let is_library = memchr::memmem::find(base, b".so").is_some_and(|at| {
        // "libx.so", "libx.so.1", not "x.source".
        matches!(base.get(at + 3), None | Some(b'.' | b' '))
    });
    (rest.starts_with(b"/") && is_library).then_some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_once_with_identity_where_it_matters() {
        let maps = b"\
7f0000000000-7f0000001000 r--p 00000000 08:01 11   /opt/drv a/libze_intel_gpu.so.1.15.1\n\
7f0000001000-7f0000002000 r-xp 00001000 08:01 11   /opt/drv a/libze_intel_gpu.so.1.15.1\n\
7f0000003000-7f0000004000 r-xp 00000000 08:01 12   /usr/lib/libc.so.6\n\
7f0000005000-7f0000006000 rw-s 00000000 00:01 13   /memfd:bo.source (deleted)\n\
7f0000007000-7f0000008000 r-xp 00000000 08:01 14   /opt/libigc.so.2 (deleted)\n\
7ffd00000000-7ffd00021000 rw-p 00000000 00:00 0    [stack]\n\
7f0000009000-7f000000a000 rw-p 00000000 00:00 0 \n\
garbage\n\xff\xfe";
        let mut asked = Vec::new();
        let loaded = loaded(maps, &mut |path| {
            asked.push(path.to_owned());
            Identity { build_id: Some("b1".to_owned()), sha256: None }
        });
        assert_eq!(asked, [Path::new("/opt/drv a/libze_intel_gpu.so.1.15.1")]);
        let paths: Vec<_> =
            loaded.libraries.iter().map(|l| (l.path.as_str(), l.build_id.as_deref())).collect();
        assert_eq!(
            paths,
            [
                ("/opt/drv a/libze_intel_gpu.so.1.15.1", Some("b1")),
                ("/opt/libigc.so.2 (deleted)", None),
                ("/usr/lib/libc.so.6", None),
            ]
        );
    }
}
