//! The native images of a SYCLBIN file, with what they ask of the driver.

use crate::inspect::{Image, Limits, extract};

/// One native image: one module of the driver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyclImage {
    pub bytes: u64,
    pub sha256: String,
    pub kernels: Vec<String>,
    /// Σ over the kernels of bytes for one hardware thread in a global private surface.
    private: u64,
}

impl SyclImage {
    pub fn private_per_thread(&self) -> u64 {
        self.private
    }
}

/// Reads a SYCLBIN. No image, or one that does not say what its kernels need, is an error: predictions rest on it.
pub fn images(bytes: &[u8]) -> Result<Vec<SyclImage>, String> {
    let mut images = Vec::new();
    let report = extract("syclbin", bytes, Limits::default(), &mut |image, bytes| {
        if image.is_native() {
            images.push(one(image, bytes));
        }
    });
    if let Some(problem) = report.problems.first() {
        return Err(format!("{}: {}", problem.place, problem.what));
    }
    let images: Option<Vec<SyclImage>> = images.into_iter().collect();
    match images {
        Some(images) if !images.is_empty() => Ok(images),
        Some(_) => Err("it holds no native image".to_owned()),
        None => Err("an image does not list its kernels".to_owned()),
    }
}

fn one(image: &Image, bytes: &[u8]) -> Option<SyclImage> {
    let kernels = image.kernels.as_ref()?.iter().map(|kernel| kernel.name.clone()).collect();
    let sha256 = crate::driver::sha256(bytes);
    Some(SyclImage { bytes: image.bytes, sha256, kernels, private: image.private_per_thread()? })
}
