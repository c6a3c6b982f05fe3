//! The memory that the copies read from: a file's mapping, an anonymous one, or malloc's memory; read-only or
//! writable; with the page cache in the state that was asked for, and looked at.

use std::fs::File;
use std::io::{Error, ErrorKind, Read, Result, Seek};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

use super::sys::{ReadOnly, Region};
use crate::model::arm::{Prot, SourceKind};
use crate::model::repro::PageCacheState;

/// What is asked for.
#[derive(Clone, Debug)]
pub struct SourceSpec {
    pub kind: SourceKind,
    pub path: Option<PathBuf>,
    pub prot: Prot,
    pub shared: bool,
    pub cold: bool,
    /// Also write to /proc/sys/vm/drop_caches (needs root).
    pub drop_caches: bool,
    /// Bytes of one copy.
    pub chunk: u64,
    /// Copies that read different places.
    pub distinct: u64,
    /// Bytes of an anonymous or allocated source; a file has its own size.
    pub size: u64,
}

/// Source memory, ready to be copied from.
#[derive(Debug)]
pub struct HostSource {
    memory: Memory,
    chunk: usize,
    /// Chunks that fit.
    places: usize,
    pub page_cache: Option<PageCacheState>,
}

#[derive(Debug)]
enum Memory {
    Writable(Region),
    ReadOnly(ReadOnly),
}

impl HostSource {
    /// `None` for [`SourceKind::None`].
    pub fn open(spec: &SourceSpec) -> Result<Option<Self>> {
        let chunk = to_usize(spec.chunk)?;
        if chunk == 0 {
            return Err(Error::new(ErrorKind::InvalidInput, "a copy of no bytes"));
        }
        let (memory, page_cache) = match spec.kind {
            SourceKind::None => return Ok(None),
            SourceKind::File => {
                let (memory, state) = open_file(spec, chunk)?;
                (memory, Some(state))
            }
            SourceKind::Anon => {
                let region = Region::map_anonymous(to_usize(spec.size.max(spec.chunk))?, spec.shared)?;
                (protect(filled(region, spec, chunk), spec.prot)?, None)
            }
            SourceKind::Host => {
                let region = Region::allocate(to_usize(spec.size.max(spec.chunk))?)?;
                (protect(filled(region, spec, chunk), spec.prot)?, None)
            }
        };
        let length = match &memory {
            Memory::Writable(region) => region.len(),
            Memory::ReadOnly(region) => region.region().len(),
        };
        Ok(Some(HostSource { memory, chunk, places: (length / chunk).max(1), page_cache }))
    }

    /// The bytes of the `n`th copy: the places follow each other and begin again.
    pub fn chunk(&self, n: u64) -> &[u8] {
        let bytes = match &self.memory {
            Memory::Writable(region) => region.bytes(),
            Memory::ReadOnly(region) => region.region().bytes(),
        };
        let place = usize::try_from(n % self.places as u64).unwrap_or(0);
        bytes.get(place * self.chunk..).and_then(|rest| rest.get(..self.chunk)).unwrap_or(bytes)
    }
}

/// Touches only what the copies will read: a gigabyte of untouched anonymous memory costs nothing.
fn filled(mut region: Region, spec: &SourceSpec, chunk: usize) -> Region {
    let used = usize::try_from(spec.distinct).unwrap_or(usize::MAX).saturating_mul(chunk);
    region.fill(0x5a, used);
    region
}

fn protect(region: Region, prot: Prot) -> Result<Memory> {
    Ok(match prot {
        Prot::Rw => Memory::Writable(region),
        Prot::R => Memory::ReadOnly(region.make_read_only()?),
    })
}

fn open_file(spec: &SourceSpec, chunk: usize) -> Result<(Memory, PageCacheState)> {
    let path = spec
        .path
        .as_deref()
        .ok_or_else(|| Error::new(ErrorKind::InvalidInput, "--source file needs --file"))?;
    let writable = spec.prot == Prot::Rw;
    let name = |error: Error| Error::new(error.kind(), format!("{}: {error}", path.display()));
    // Only a shared mapping writes to the file; a private one copies on write and needs no right to.
    let mut file = File::options().read(true).write(writable && spec.shared).open(path).map_err(name)?;
    let length = to_usize(file.metadata().map_err(name)?.len())?;
    if length < chunk {
        let what = format!("{}: {length} bytes, shorter than one copy of {chunk}", path.display());
        return Err(Error::new(ErrorKind::InvalidInput, what));
    }
    let distinct = usize::try_from(spec.distinct).unwrap_or(usize::MAX);
    let used = distinct.saturating_mul(chunk).min(length / chunk * chunk);
    if spec.cold {
        drop_pages(&file, path, spec.drop_caches)?;
    } else {
        warm(&mut file, used).map_err(name)?;
    }
    let region = Region::map_file(&file, length, spec.shared, writable).map_err(name)?;
    let (pages, resident) = region.resident(used)?;
    let memory = match spec.prot {
        Prot::Rw => Memory::Writable(region),
        Prot::R => Memory::ReadOnly(region.make_read_only()?),
    };
    Ok((memory, PageCacheState { pages, resident }))
}

/// Dirty pages cannot be dropped: they are written out first. Whether it worked is for mincore to say.
fn drop_pages(file: &File, path: &Path, drop_caches: bool) -> Result<()> {
    file.sync_data()?;
    nix::fcntl::posix_fadvise(file, 0, 0, nix::fcntl::PosixFadviseAdvice::POSIX_FADV_DONTNEED).map_err(
        |errno| Error::other(format!("{}: posix_fadvise: {errno} (fd {})", path.display(), file.as_raw_fd())),
    )?;
    if drop_caches {
        std::fs::write("/proc/sys/vm/drop_caches", "3")
            .map_err(|error| Error::new(error.kind(), format!("/proc/sys/vm/drop_caches: {error}")))?;
    }
    Ok(())
}

/// Reads what the copies will read, so that "warm" is so.
fn warm(file: &mut File, used: usize) -> Result<()> {
    let mut buffer = vec![0; 1 << 20];
    let mut left = used;
    while left > 0 {
        let want = left.min(buffer.len());
        match file.read(&mut buffer[..want])? {
            0 => break,
            got => left -= got,
        }
    }
    file.rewind()
}

fn to_usize(value: u64) -> Result<usize> {
    usize::try_from(value)
        .map_err(|_| Error::new(ErrorKind::InvalidInput, format!("{value} bytes do not fit")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn spec(kind: SourceKind, prot: Prot) -> SourceSpec {
        SourceSpec {
            kind,
            path: None,
            prot,
            shared: false,
            cold: false,
            drop_caches: false,
            chunk: 8192,
            distinct: 2,
            size: 3 * 8192,
        }
    }

    #[test]
    fn memory_sources_are_filled_where_they_are_read() {
        for kind in [SourceKind::Anon, SourceKind::Host] {
            for prot in [Prot::R, Prot::Rw] {
                let source = HostSource::open(&spec(kind, prot)).unwrap().unwrap();
                assert_eq!(source.chunk(0), [0x5a; 8192]);
                assert_eq!(source.chunk(1), [0x5a; 8192]);
                assert_eq!(source.chunk(2)[0], 0, "not among the two places that are read");
                assert_eq!(source.chunk(3).as_ptr(), source.chunk(0).as_ptr());
                assert_eq!(source.page_cache, None);
            }
        }
        assert!(HostSource::open(&spec(SourceKind::None, Prot::R)).unwrap().is_none());
    }

    #[test]
    fn a_cold_file_is_seen_cold_and_a_warm_one_warm() {
        // In the build directory: the system's temporary directory may be a tmpfs, whose pages cannot be dropped.
        let mut file = tempfile::NamedTempFile::new_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        file.write_all(&vec![9; 4 * 8192]).unwrap();
        let mut asked = spec(SourceKind::File, Prot::R);
        asked.path = Some(file.path().to_owned());
        let warm = HostSource::open(&asked).unwrap().unwrap();
        assert_eq!(warm.page_cache, Some(PageCacheState { pages: 4, resident: 4 }));
        assert_eq!(warm.chunk(1)[0], 9);
        drop(warm);
        asked.cold = true;
        let cold = HostSource::open(&asked).unwrap().unwrap();
        assert_eq!(cold.page_cache, Some(PageCacheState { pages: 4, resident: 0 }));
    }

    #[test]
    fn unusable_files_are_named() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let mut asked = spec(SourceKind::File, Prot::R);
        assert!(HostSource::open(&asked).unwrap_err().to_string().contains("--file"));
        asked.path = Some(file.path().to_owned());
        let short = HostSource::open(&asked).unwrap_err().to_string();
        assert!(short.contains("shorter") && short.contains(&file.path().display().to_string()), "{short}");
        asked.path = Some("/no/such/file".into());
        assert!(HostSource::open(&asked).unwrap_err().to_string().contains("/no/such/file"));
    }
}
