//! SPIR-V: header, extensions and kernels, by a walk over its words (SPIR-V specification, sections 2.3 and 3).

use super::{Format, Image, Kernel, Place, Reader, Spirv, report};

const MAGIC: u32 = 0x0723_0203;
const OP_EXTENSION: u32 = 10;
const OP_ENTRY_POINT: u32 = 15;
/// Everything of interest stands before the first function.
const OP_FUNCTION: u32 = 54;
const MODEL_KERNEL: u32 = 6;

pub struct Module {
    pub header: Spirv,
    pub kernels: Vec<Kernel>,
}

pub fn read(reader: &mut Reader<'_>, bytes: &[u8], place: &Place) {
    match parse(bytes) {
        Ok(module) => {
            let mut image = Image::new(place, Format::Spirv, bytes.len());
            image.spirv = Some(module.header);
            image.kernels = Some(module.kernels);
            reader.image(image, bytes);
        }
        Err(what) => reader.problem(place, format!("SPIR-V: {what}")),
    }
}

pub fn parse(bytes: &[u8]) -> Result<Module, String> {
    if bytes.len() < 20 || !bytes.len().is_multiple_of(4) {
        return Err(format!("{} bytes are no whole module", bytes.len()));
    }
    let big = u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]) == MAGIC;
    let word = |index: usize| {
        let word = bytes.get(4 * index..)?.first_chunk()?;
        Some(if big { u32::from_be_bytes(*word) } else { u32::from_le_bytes(*word) })
    };
    let at = |index: usize| word(index).unwrap_or(0);
    if at(0) != MAGIC {
        return Err("no magic word".to_owned());
    }
    let (version, generator) = (at(1), at(2));
    let mut header = Spirv {
        version: format!("{}.{}", (version >> 16) & 0xff, (version >> 8) & 0xff),
        generator: (generator >> 16) as u16,
        generator_version: (generator & 0xffff) as u16,
        id_bound: at(3),
        extensions: Vec::new(),
    };
    let total = bytes.len() / 4;
    let text = |from: usize, to: usize| {
        let mut out = Vec::new();
        // Four characters a word, the first in the low byte, whatever the byte order of the file.
        'words: for index in from..to {
            for byte in at(index).to_le_bytes() {
                if byte == 0 {
                    break 'words;
                }
                out.push(byte);
            }
        }
        String::from_utf8_lossy(&out).into_owned()
    };
    let mut kernels: Vec<Kernel> = Vec::new();
    let mut index = 5;
    while index < total {
        let (opcode, count) = (at(index) & 0xffff, (at(index) >> 16) as usize);
        let end = index + count;
        if count == 0 || end > total {
            return Err(format!(
                "the instruction at word {index} says it has {count} words; {total} are there"
            ));
        }
        match opcode {
            OP_EXTENSION => header.extensions.push(text(index + 1, end)),
            OP_ENTRY_POINT if count > 3 && at(index + 1) == MODEL_KERNEL => {
                let name = text(index + 3, end);
                // A kernel may be an entry point twice, once for each way to call it.
                if !kernels.iter().any(|kernel| kernel.name == name) {
                    kernels.push(Kernel { demangled: report::demangle(&name), name, ..Kernel::default() });
                }
            }
            OP_FUNCTION => break,
            _ => {}
        }
        index = end;
    }
    Ok(Module { header, kernels })
}
