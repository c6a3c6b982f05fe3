//! Source lines in the listings of `asm`: the debug information of a zebin, and the source files that are here.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use super::Failure;
use super::asm::cannot;
use crate::asm::{Lines, lines, weave};

/// What the debug information of one zebin says.
pub(super) struct SourceLines {
    /// What cannot be read of it is said beside the code, which is good without it.
    of: Result<BTreeMap<String, Lines>, String>,
    /// Where listings with lines go.
    place: PathBuf,
}

pub(super) enum Woven {
    /// The listing's file.
    With(PathBuf),
    NoneThere,
    Unusable(String),
}

impl SourceLines {
    pub fn of(zebin: &[u8], place: PathBuf) -> SourceLines {
        SourceLines { of: lines(zebin), place }
    }

    /// ocloc's listing of a kernel with its source lines.
    pub fn woven(&self, kernel: &str, listing: &Path) -> Result<Woven, Failure> {
        let lines = match &self.of {
            Ok(of) => of.get(kernel),
            Err(why) => return Ok(Woven::Unusable(why.clone())),
        };
        let Some(lines) = lines else { return Ok(Woven::NoneThere) };
        let text = fs::read(listing).map_err(|e| cannot(listing, &e))?;
        let mut sources = Sources::default();
        let woven = weave(&String::from_utf8_lossy(&text), lines, &mut |file, line| sources.line(file, line));
        let text = match woven {
            Ok(text) => text,
            Err(why) => return Ok(Woven::Unusable(why)),
        };
        fs::create_dir_all(&self.place).map_err(|e| cannot(&self.place, &e))?;
        let file = self.place.join(listing.file_name().unwrap_or_default());
        fs::write(&file, text).map_err(|e| cannot(&file, &e))?;
        Ok(Woven::With(file))
    }
}

/// Source files that were read, by path; those that are not here have no lines.
#[derive(Default)]
struct Sources {
    files: BTreeMap<PathBuf, Vec<String>>,
    bytes: u64,
}

impl Sources {
    /// The paths come from the image: nothing but plain files is read, and no more than this of all. Files of the kernel say
    /// that they are plain and of no length, and may have no end (`/proc/self/pagemap`, `/proc/kmsg`): nothing is read of them.
    const MOST: u64 = 64 << 20;

    fn line(&mut self, file: &Path, line: u64) -> Option<String> {
        if !self.files.contains_key(file) {
            let lines = self.read(file).unwrap_or_default();
            self.files.insert(file.to_owned(), lines);
        }
        self.files.get(file)?.get(usize::try_from(line).ok()?.checked_sub(1)?).cloned()
    }

    fn read(&mut self, file: &Path) -> Option<Vec<String>> {
        let meta = fs::metadata(file).ok().filter(fs::Metadata::is_file)?;
        self.bytes = self.bytes.checked_add(meta.len()).filter(|bytes| *bytes <= Self::MOST)?;
        let mut text = Vec::new();
        File::open(file).ok()?.take(meta.len()).read_to_end(&mut text).ok()?;
        Some(String::from_utf8_lossy(&text).lines().map(str::to_owned).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_without_an_end_are_not_read() {
        let mut sources = Sources::default();
        assert_eq!(sources.line(Path::new("/proc/self/status"), 1), None);
        let here = tempfile::NamedTempFile::new().unwrap();
        fs::write(here.path(), "one\ntwo").unwrap();
        assert_eq!(sources.line(here.path(), 2).as_deref(), Some("two"));
        assert_eq!(sources.line(here.path(), 3), None);
    }
}
