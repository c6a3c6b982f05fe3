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

/// One kernel of the template.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kernel {
    Private(u32),
    Control,
    Plain(u32),
}

impl Kernel {
    /// As the module and the driver name it.
    pub fn name(self) -> String {
        match self {
            Kernel::Private(n) => format!("priv{n}"),
            Kernel::Control => CONTROL_KERNEL.to_owned(),
            Kernel::Plain(n) => format!("plain{n}"),
        }
    }

    fn line(self) -> String {
        match self {
            Kernel::Private(n) => format!("PRIVATE({n})"),
            Kernel::Control => "CONTROL".to_owned(),
            Kernel::Plain(n) => format!("PLAIN({n})"),
        }
    }
}

/// One module of a variant, however it is compiled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModuleKernels {
    /// File stem: `private`, `priv17`, `source3`…
    pub name: String,
    pub kernels: Vec<Kernel>,
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
pub fn modules(variant: &Variant) -> Result<Vec<ModuleKernels>, BadVariant> {
    check(variant)?;
    let privates: Vec<Kernel> = (0..variant.kernels).map(Kernel::Private).collect();
    let rest: Vec<Kernel> =
        std::iter::once(Kernel::Control).chain((0..variant.plain_kernels).map(Kernel::Plain)).collect();
    Ok(match variant.split {
        Split::Off => {
            let kernels = privates.into_iter().chain(rest).collect();
            vec![ModuleKernels { name: "private".to_owned(), kernels }]
        }
        Split::PerSource => {
            let chunks = privates.chunks(KERNELS_PER_SOURCE as usize).enumerate();
            let mut modules: Vec<ModuleKernels> = chunks
                .map(|(n, chunk)| ModuleKernels { name: format!("source{n}"), kernels: chunk.to_vec() })
                .collect();
            modules.push(ModuleKernels { name: "plain".to_owned(), kernels: rest });
            modules
        }
        Split::PerKernel => privates
            .into_iter()
            .chain(rest)
            .map(|kernel| ModuleKernels { name: kernel.name(), kernels: vec![kernel] })
            .collect(),
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

/// The text of one compilation. It depends on the variant's parameters, not on how many kernels the variant has.
pub fn text(variant: &Variant, kernels: &[Kernel]) -> String {
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
        let _ = writeln!(text, "{}", kernel.line());
    }
    text
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::model::arm::{Compile, FrontEnd, ModuleFormat};

    pub(crate) fn variant(kernels: u32, batch_size: u32) -> Variant {
        Variant {
            name: "test".to_owned(),
            command: None,
            front_end: FrontEnd::LevelZero,
            kernels,
            plain_kernels: 0,
            batch_size,
            simd: 16,
            padding: 0,
            split: Split::Off,
            compile: Compile::Parts,
            format: ModuleFormat::Native,
            options: Vec::new(),
        }
    }

    #[test]
    fn one_module_holds_all_kernels_and_the_control() {
        let variant = Variant { plain_kernels: 2, ..variant(3, 64) };
        let modules = modules(&variant).unwrap();
        let [only] = modules.as_slice() else { panic!("{} modules", modules.len()) };
        let text = text(&variant, &only.kernels);
        let lines: Vec<&str> = text.lines().rev().take(6).collect();
        assert_eq!(lines, ["PLAIN(1)", "PLAIN(0)", "CONTROL", "PRIVATE(2)", "PRIVATE(1)", "PRIVATE(0)"]);
        assert!(text.starts_with("#define BATCH 64\n#define SIMD 16\n#define PAD\n"));
    }

    #[test]
    fn no_kernel_is_lost_or_doubled_by_a_split() {
        for split in [Split::Off, Split::PerSource, Split::PerKernel] {
            let modules = modules(&Variant { split, plain_kernels: 5, ..variant(35, 16) }).unwrap();
            let mut found: Vec<Kernel> = modules.iter().flat_map(|module| module.kernels.clone()).collect();
            found.sort();
            let mut all: Vec<Kernel> = (0..35).map(Kernel::Private).collect();
            all.push(Kernel::Control);
            all.extend((0..5).map(Kernel::Plain));
            assert_eq!(found, all, "{split:?}");
            let names: std::collections::BTreeSet<&str> = modules.iter().map(|m| m.name.as_str()).collect();
            assert_eq!(names.len(), modules.len(), "module names are unique");
        }
    }

    #[test]
    fn padding_is_counted_in_instructions() {
        let steps = |padding| {
            let text = text(&Variant { padding, ..variant(1, 8) }, &[Kernel::Private(0)]);
            let line = text.lines().nth(2).unwrap().to_owned();
            line.split(' ').filter(|word| matches!(*word, "PAD_A" | "PAD_B" | "PAD_C")).count()
        };
        assert_eq!((steps(0), steps(1), steps(2), steps(7)), (0, 1, 1, 4));
    }

    #[test]
    fn impossible_variants_are_refused() {
        assert_eq!(modules(&variant(1, 12)), Err(BadVariant::BatchSize(12)));
        assert_eq!(modules(&variant(1, 0)), Err(BadVariant::BatchSize(0)));
        assert_eq!(modules(&Variant { simd: 64, ..variant(1, 8) }), Err(BadVariant::Simd(64)));
        assert!(modules(&variant(0, 8)).is_err());
        assert!(modules(&Variant { padding: u32::MAX, ..variant(1, 8) }).is_err());
    }
}
