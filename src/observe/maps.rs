//! `/proc/PID/maps` of the client → which driver libraries really ran.

use std::collections::BTreeSet;

use crate::model::facts::{LoadedDriver, LoadedLibrary};

/// File names (beginnings) of the libraries whose identity a verdict depends on.
const WATCHED: [&str; 9] = [
    "libze_intel_gpu",
    "libze_loader",
    "libigc.so",
    "libigdfcl",
    "libigdgmm",
    "libigdrcl",
    "libur_adapter",
    "libsycl.so",
    "libOpenCL",
];

/// What identifies a file's content.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Identity {
    pub build_id: Option<String>,
    pub sha256: Option<String>,
}

/// The watched libraries in all snapshots, each file once. `identify` reads a file: it is asked once a file.
pub fn loaded<'a>(
    snapshots: impl IntoIterator<Item = &'a str>,
    mut identify: impl FnMut(&str) -> Identity,
) -> LoadedDriver {
    let paths: BTreeSet<&str> = snapshots.into_iter().flat_map(str::lines).filter_map(watched_path).collect();
    let library = |path: &str| {
        let Identity { build_id, sha256 } = identify(path);
        LoadedLibrary { path: path.to_owned(), build_id, sha256 }
    };
    LoadedDriver { libraries: paths.into_iter().map(library).collect() }
}

/// `7f..-7f.. r-xp 00000000 fe:00 1234    /path/with blanks`: the sixth field, if it is a watched library. The mark of a
/// file that was deleted stays in the path: such a file cannot be identified by name any more.
fn watched_path(line: &str) -> Option<&str> {
    let path = line.find('/').and_then(|at| line.get(at..))?.trim_end();
    let name = path.rsplit('/').next()?;
    WATCHED.iter().any(|watched| name.starts_with(watched)).then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_watched_library_comes_once() {
        let first = "\
7f0000000000-7f0000001000 r--p 00000000 fe:00 11 /a b/libze_intel_gpu.so.1.15.39122
7f0000001000-7f0000002000 r-xp 00001000 fe:00 11 /a b/libze_intel_gpu.so.1.15.39122
7f0000003000-7f0000004000 rw-p 00000000 00:00 0 [heap]
7f0000005000-7f0000006000 r-xp 00000000 fe:00 12 /usr/lib/libc.so.6
";
        let second = "7f0000008000-7f0000009000 r-xp 00000000 fe:00 13 /x/libigc.so.2.40.14\n";
        let mut asked = Vec::new();
        let loaded = loaded([first, second, first], |path| {
            asked.push(path.to_owned());
            Identity { build_id: Some("b1".into()), sha256: None }
        });
        let paths: Vec<_> = loaded.libraries.iter().map(|l| l.path.as_str()).collect();
        assert_eq!(paths, ["/a b/libze_intel_gpu.so.1.15.39122", "/x/libigc.so.2.40.14"]);
        assert_eq!(asked.len(), 2);
    }

    #[test]
    fn text_that_is_no_map_gives_nothing() {
        assert_eq!(
            loaded(["", "\u{fffd}\n/", "libigc.so"], |_| Identity::default()),
            LoadedDriver::default()
        );
    }
}
