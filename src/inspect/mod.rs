//! What is inside a binary that carries device code: every image, what it was built for, and what its kernels ask of
//! the driver. Pure: bytes → [`FileReport`]; no process, no device.
//!
//! Each reader knows one container and hands what it finds inside back to [`Reader::blob`]: host ELF files
//! ([`host_elf`]), `ar` archives ([`archive`]), clang's offload bundles plain and compressed ([`bundle`]), LLVM's
//! offload binaries ([`offload`]), zstd frames ([`inflate`]). What has no more inside is an image: a zebin
//! ([`device_elf`]), SPIR-V ([`spirv`]) or LLVM bitcode.

mod archive;
mod bundle;
mod check;
mod device_elf;
mod host_elf;
mod inflate;
mod offload;
mod predict;
mod report;
mod spirv;
mod syclbin;
pub mod targets;

pub use check::{Check, Expected, Finding, check};
pub use device_elf::{Note, notes, product_config};
pub use predict::{DeviceRow, Placement, Prediction, devices, predict};
pub use report::{Argument, FileReport, Format, Image, Kernel, Problem, Spirv, Target, demangle};

/// Bounds of one inspection. The input is hostile until shown otherwise: lengths and counts in it are checked against
/// these before anything is allocated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes that one compressed image may unpack to.
    pub unpacked: u64,
    /// Bytes that all images together may unpack to. At most one is in memory at a time.
    pub unpacked_total: u64,
    /// Images of all kinds.
    pub images: usize,
    /// Containers in containers.
    pub depth: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { unpacked: 256 << 20, unpacked_total: 8 << 30, images: 1 << 16, depth: 8 }
    }
}

/// Reads one file's bytes. What is damaged is in [`FileReport::problems`] with its place; what is readable beside it
/// is reported all the same.
pub fn inspect(name: &str, bytes: &[u8], limits: Limits) -> FileReport {
    extract(name, bytes, limits, &mut |_, _| {})
}

/// The same, with the bytes of every image as it is listed.
pub fn extract(name: &str, bytes: &[u8], limits: Limits, take: &mut dyn FnMut(&Image, &[u8])) -> FileReport {
    let mut reader =
        Reader { limits, images: Vec::new(), problems: Vec::new(), unpacked: 0, format: None, take };
    reader.blob(bytes, &Place::default());
    let Reader { images, problems, format, .. } = reader;
    FileReport {
        file: name.to_owned(),
        bytes: bytes.len() as u64,
        format: format.unwrap_or(Format::Unknown),
        images,
        problems,
    }
}

/// Where an image was found, and what the containers around it say of it.
#[derive(Clone, Debug, Default)]
struct Place {
    /// Containers from the outside in: `member a.o`, `section …`.
    path: Vec<String>,
    kind: Option<String>,
    compile_options: Option<String>,
    link_options: Option<String>,
    /// Kernels that the host program registers for the image.
    entries: Vec<String>,
    /// Bytes in the file and the method, where it was compressed.
    stored: Option<(u64, &'static str)>,
    /// Number of the device image (an archive's parts share one).
    group: Option<usize>,
}

impl Place {
    fn inside(&self, what: impl Into<String>) -> Place {
        let mut place = self.clone();
        place.path.push(what.into());
        place
    }

    fn text(&self) -> String {
        if self.path.is_empty() { "file".to_owned() } else { self.path.join(" › ") }
    }
}

struct Reader<'t> {
    limits: Limits,
    images: Vec<Image>,
    problems: Vec<Problem>,
    unpacked: u64,
    /// Of the outermost container.
    format: Option<Format>,
    take: &'t mut dyn FnMut(&Image, &[u8]),
}

impl Reader<'_> {
    /// Finds out what `bytes` are and goes on inside.
    fn blob(&mut self, bytes: &[u8], place: &Place) {
        if place.path.len() > self.limits.depth {
            return self.problem(place, format!("more than {} containers in each other", self.limits.depth));
        }
        let format = Format::of(bytes);
        self.format.get_or_insert(format);
        match format {
            Format::HostElf => host_elf::read(self, bytes, place),
            Format::DeviceElf => device_elf::read(self, bytes, place),
            Format::Archive => archive::read(self, bytes, place),
            Format::Bundle => bundle::read(self, bytes, place),
            Format::CompressedBundle => bundle::read_compressed(self, bytes, place),
            Format::OffloadBinary => offload::read(self, bytes, place),
            Format::Zstd => self.zstd(bytes, place),
            Format::Syclbin => syclbin::read(self, bytes, place),
            Format::Spirv => spirv::read(self, bytes, place),
            Format::Bitcode => self.image(Image::new(place, Format::Bitcode, bytes.len()), bytes),
            Format::Unknown if bytes.is_empty() => {
                self.problem(place, "nothing is there (0 bytes)".to_owned())
            }
            Format::Unknown => {
                let start: Vec<String> = bytes.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
                let what = format!(
                    "not a format that is known here ({} bytes, from {}); known are ELF, ar archives, zebin, SPIR-V, \
                     LLVM bitcode, clang offload bundles (plain, CCOB), LLVM offload binaries, SYCLBIN, zstd frames",
                    bytes.len(),
                    start.join(" ")
                );
                self.problem(place, what);
            }
        }
    }

    fn zstd(&mut self, bytes: &[u8], place: &Place) {
        match inflate::zstd(bytes, self.budget()) {
            Ok(unpacked) => self.unpacked(&unpacked, bytes.len(), "zstd", place),
            Err(what) => self.problem(place, what),
        }
    }

    /// Goes on inside what was compressed.
    fn unpacked(&mut self, unpacked: &[u8], stored: usize, method: &'static str, place: &Place) {
        self.unpacked = self.unpacked.saturating_add(unpacked.len() as u64);
        let mut inner = place.inside(method);
        inner.stored = Some((stored as u64, method));
        self.blob(unpacked, &inner);
    }

    /// Bytes that the next image may unpack to.
    fn budget(&self) -> u64 {
        self.limits.unpacked.min(self.limits.unpacked_total.saturating_sub(self.unpacked))
    }

    fn image(&mut self, image: Image, bytes: &[u8]) {
        if self.images.len() < self.limits.images {
            (self.take)(&image, bytes);
            self.images.push(image);
        } else if self.problems.last().is_none_or(|problem| problem.place != "limits") {
            let what = format!("more than {} images; the rest is not listed", self.limits.images);
            self.problems.push(Problem { place: "limits".to_owned(), what });
        }
    }

    fn problem(&mut self, place: &Place, what: impl Into<String>) {
        // A damaged file of many parts would fill memory with one complaint for each.
        if self.problems.len() < 1000 {
            self.problems.push(Problem { place: place.text(), what: what.into() });
        }
    }
}

/// `bytes[start..start + length]`, if it is all there.
fn slice(bytes: &[u8], start: u64, length: u64) -> Option<&[u8]> {
    let start = usize::try_from(start).ok()?;
    let length = usize::try_from(length).ok()?;
    bytes.get(start..start.checked_add(length)?)
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().map(|word| u32::from_le_bytes(*word))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..)?.first_chunk().map(|word| u64::from_le_bytes(*word))
}

/// Text up to the first zero byte or the end.
fn c_string(bytes: &[u8]) -> String {
    let end = memchr::memchr(0, bytes).unwrap_or(bytes.len());
    String::from_utf8_lossy(bytes.get(..end).unwrap_or_default()).into_owned()
}

#[cfg(test)]
mod tests;
