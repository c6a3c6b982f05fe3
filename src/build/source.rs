//! The OpenCL C text of a variant: the template of `repro-kernels/level-zero` with its parameters and one line for
//! each kernel.

use std::fmt::Write;

use crate::model::arm::{Split, Variant};

/// Part of every cache key. Raise it when the text made from one variant changes in a way that the text itself does
/// not show (it rarely does: the text is hashed too).
pub const GENERATOR_VERSION: u32 = 1;

/// `repro-kernels/level-zero/private.cl`.
const TEMPLATE: &str = include_str!("../../repro-kernels/level-zero/private.cl");

/// Private-memory kernels in one source file under [`Split::PerSource`].
pub const KERNELS_PER_SOURCE: u32 = 16;

/// Name of the kernel with private size 0 that stands beside the private-memory kernels.
pub const CONTROL_KERNEL: &str = "nopriv";

/// Limits of sanity, far above any measured use: beyond them one compilation would take hours.
const MAX_KERNELS: u32 = 8192;
const MAX_PADDING: u32 = 100_000;

/// One module to compile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModuleSource {
    /// File stem: `private`, `priv17`, `source3`…
    pub name: String,
    pub text: String,
    /// Kernels of all kinds.
    pub kernels: u32,
}

/// Why a variant has no source text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadVariant {
    #[error("batch_size {0} is not a multiple of 8 from 8 on")]
    BatchSize(u32),
    #[error("simd {0} is not 8, 16 or 32")]
    Simd(u32),
    #[error("{what} = {value} is out of range (at most {max}, and at least one private-memory kernel)")]
    Range { what: &'static str, value: u32, max: u32 },
}

/// Bytes of the by-value argument block for `batch_size` entries: two 64-bit words and 5 bytes an entry, and 80 more.
pub fn block_bytes(batch_size: u32) -> u64 {
    21 * u64::from(batch_size) + 80
}

/// The modules of a variant, in the order in which they are handed to the driver.
pub fn generate(variant: &Variant) -> Result<Vec<ModuleSource>, BadVariant> {
    check(variant)?;
    let privates: Vec<String> = (0..variant.kernels).map(|n| format!("PRIVATE({n})")).collect();
    let plains = (0..variant.plain_kernels).map(|n| format!("PLAIN({n})"));
    let control = std::iter::once("CONTROL".to_owned());
    let module = |name: String, kernels: &[String]| ModuleSource {
        text: text(variant, kernels),
        kernels: u32::try_from(kernels.len()).unwrap_or(u32::MAX),
        name,
    };
    Ok(match variant.split {
        Split::Off => {
            let all: Vec<String> = privates.into_iter().chain(control).chain(plains).collect();
            vec![module("private".to_owned(), &all)]
        }
        Split::PerSource => {
            let mut modules: Vec<ModuleSource> = privates
                .chunks(KERNELS_PER_SOURCE as usize)
                .enumerate()
                .map(|(n, chunk)| module(format!("source{n}"), chunk))
                .collect();
            let rest: Vec<String> = control.chain(plains).collect();
            modules.push(module("plain".to_owned(), &rest));
            modules
        }
        Split::PerKernel => {
            let named = |(n, line): (usize, &String), stem: &str| {
                module(format!("{stem}{n}"), std::slice::from_ref(line))
            };
            let plains: Vec<String> = plains.collect();
            let mut modules: Vec<ModuleSource> =
                privates.iter().enumerate().map(|each| named(each, "priv")).collect();
            modules.push(module(CONTROL_KERNEL.to_owned(), &["CONTROL".to_owned()]));
            modules.extend(plains.iter().enumerate().map(|each| named(each, "plain")));
            modules
        }
    })
}

fn check(variant: &Variant) -> Result<(), BadVariant> {
    if variant.batch_size == 0 || !variant.batch_size.is_multiple_of(8) {
        return Err(BadVariant::BatchSize(variant.batch_size));
    }
    if !matches!(variant.simd, 8 | 16 | 32) {
        return Err(BadVariant::Simd(variant.simd));
    }
    if variant.kernels == 0 || variant.kernels > MAX_KERNELS {
        return Err(BadVariant::Range { what: "kernels", value: variant.kernels, max: MAX_KERNELS });
    }
    if variant.plain_kernels > MAX_KERNELS {
        let value = variant.plain_kernels;
        return Err(BadVariant::Range { what: "plain_kernels", value, max: MAX_KERNELS });
    }
    if variant.padding > MAX_PADDING {
        return Err(BadVariant::Range { what: "padding", value: variant.padding, max: MAX_PADDING });
    }
    Ok(())
}

fn text(variant: &Variant, kernels: &[String]) -> String {
    let mut text =
        format!("#define BATCH {}\n#define SIMD {}\n#define PAD", variant.batch_size, variant.simd);
    if variant.padding > 0 {
        text.push_str(" PAD_BEGIN");
        // A step is two instructions.
        for step in 0..variant.padding.div_ceil(2) {
            text.push_str(match step % 3 {
                0 => " PAD_A",
                1 => " PAD_B",
                _ => " PAD_C",
            });
        }
        text.push_str(" PAD_END");
    }
    text.push('\n');
    text.push_str(TEMPLATE);
    for kernel in kernels {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{kernel}");
    }
    text
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::model::arm::{FrontEnd, ModuleFormat};

    pub(crate) fn variant(kernels: u32, batch_size: u32) -> Variant {
        Variant {
            name: "test".to_owned(),
            front_end: FrontEnd::LevelZero,
            kernels,
            plain_kernels: 0,
            batch_size,
            simd: 16,
            padding: 0,
            split: Split::Off,
            format: ModuleFormat::Native,
            options: Vec::new(),
        }
    }

    #[test]
    fn one_module_holds_all_kernels_and_the_control() {
        let modules = generate(&Variant { plain_kernels: 2, ..variant(3, 64) }).unwrap();
        let [only] = modules.as_slice() else { panic!("{} modules", modules.len()) };
        assert_eq!(only.kernels, 6);
        let lines: Vec<&str> = only.text.lines().rev().take(6).collect();
        assert_eq!(lines, ["PLAIN(1)", "PLAIN(0)", "CONTROL", "PRIVATE(2)", "PRIVATE(1)", "PRIVATE(0)"]);
        assert!(only.text.starts_with("#define BATCH 64\n#define SIMD 16\n#define PAD\n"));
    }

    #[test]
    fn no_kernel_is_lost_or_doubled_by_a_split() {
        for split in [Split::Off, Split::PerSource, Split::PerKernel] {
            let modules = generate(&Variant { split, plain_kernels: 5, ..variant(35, 16) }).unwrap();
            let mut found: Vec<String> = modules
                .iter()
                .flat_map(|module| module.text.lines().rev().take(module.kernels as usize))
                .map(str::to_owned)
                .collect();
            found.sort();
            let mut all: Vec<String> = (0..35).map(|n| format!("PRIVATE({n})")).collect();
            all.extend((0..5).map(|n| format!("PLAIN({n})")));
            all.push("CONTROL".to_owned());
            all.sort();
            assert_eq!(found, all, "{split:?}");
            let names: std::collections::BTreeSet<&str> = modules.iter().map(|m| m.name.as_str()).collect();
            assert_eq!(names.len(), modules.len(), "module names are unique");
        }
    }

    #[test]
    fn padding_is_counted_in_instructions() {
        let steps = |padding| {
            let modules = generate(&Variant { padding, ..variant(1, 8) }).unwrap();
            let line = modules[0].text.lines().nth(2).unwrap().to_owned();
            line.split(' ').filter(|word| matches!(*word, "PAD_A" | "PAD_B" | "PAD_C")).count()
        };
        assert_eq!((steps(0), steps(1), steps(2), steps(7)), (0, 1, 1, 4));
    }

    #[test]
    fn impossible_variants_are_refused() {
        assert_eq!(generate(&variant(1, 12)), Err(BadVariant::BatchSize(12)));
        assert_eq!(generate(&variant(1, 0)), Err(BadVariant::BatchSize(0)));
        assert_eq!(generate(&Variant { simd: 64, ..variant(1, 8) }), Err(BadVariant::Simd(64)));
        assert!(generate(&variant(0, 8)).is_err());
        assert!(generate(&Variant { padding: u32::MAX, ..variant(1, 8) }).is_err());
    }
}
