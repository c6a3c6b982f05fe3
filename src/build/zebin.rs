//! What a built module is: a zebin (ELF with `.ze_info`) or SPIR-V, checked before anyone loads it.

use object::{Object, ObjectSection};

use super::ze_info::{self, KernelInfo, ZeInfoError};
use crate::model::arm::ModuleFormat;

/// First word of a SPIR-V module in this machine's byte order (SPIR-V specification, section 3.1).
const SPIRV_MAGIC: u32 = 0x0723_0203;

/// Why a file is not the module that was asked for.
#[derive(Debug, thiserror::Error)]
pub enum ImageError {
    #[error("not an ELF file: {0}")]
    NotElf(String),
    #[error("an archive of several device binaries: build for one device")]
    Archive,
    #[error("no readable .ze_info section: {0}")]
    NoZeInfo(String),
    #[error(".ze_info: {0}")]
    ZeInfo(#[from] ZeInfoError),
    #[error("not whole SPIR-V ({0} bytes)")]
    NotSpirv(usize),
}

/// Checks the image and reads its kernels. SPIR-V says nothing of sizes, so it gives `None`.
pub fn inspect(image: &[u8], format: ModuleFormat) -> Result<Option<Vec<KernelInfo>>, ImageError> {
    match format {
        ModuleFormat::Native => kernels(image).map(Some),
        ModuleFormat::Spirv => {
            let magic = image.first_chunk::<4>().map(|word| u32::from_le_bytes(*word));
            // A header has five words.
            let whole = magic == Some(SPIRV_MAGIC) && image.len() >= 20 && image.len().is_multiple_of(4);
            if whole { Ok(None) } else { Err(ImageError::NotSpirv(image.len())) }
        }
    }
}

fn kernels(image: &[u8]) -> Result<Vec<KernelInfo>, ImageError> {
    if image.starts_with(b"!<arch>") {
        return Err(ImageError::Archive);
    }
    let elf = object::read::elf::ElfFile64::<object::Endianness>::parse(image)
        .map_err(|e| ImageError::NotElf(e.to_string()))?;
    let section =
        elf.section_by_name(".ze_info").ok_or_else(|| ImageError::NoZeInfo("there is none".to_owned()))?;
    let data = section.data().map_err(|e| ImageError::NoZeInfo(e.to_string()))?;
    let text = std::str::from_utf8(data).map_err(|e| ImageError::NoZeInfo(e.to_string()))?;
    // The section may be padded with zero bytes.
    Ok(ze_info::parse(text.trim_end_matches('\0'))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_files_are_named() {
        assert!(matches!(inspect(b"", ModuleFormat::Native), Err(ImageError::NotElf(_))));
        assert!(matches!(inspect(b"!<arch>\n....", ModuleFormat::Native), Err(ImageError::Archive)));
        assert!(matches!(
            inspect(&[0x7f, b'E', b'L', b'F', 2, 1], ModuleFormat::Native),
            Err(ImageError::NotElf(_))
        ));
        let mut spirv = SPIRV_MAGIC.to_le_bytes().to_vec();
        spirv.resize(20, 0);
        assert!(matches!(inspect(&spirv, ModuleFormat::Spirv), Ok(None)));
        spirv.push(0);
        assert!(matches!(inspect(&spirv, ModuleFormat::Spirv), Err(ImageError::NotSpirv(21))));
    }
}
