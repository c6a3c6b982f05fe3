//! Which compilations a variant takes, and how its modules come out of them.
//!
//! IGC's time grows faster than a module's kernels do: 16 of these kernels take a second, 174 take 19, 595 take
//! minutes. So a big variant is compiled in parts of a fixed size, and its modules are put together from the parts
//! ([`super::join`]). The parts do not depend on how many kernels the variant has: 173 kernels, 174 kernels and the
//! same kernels in modules of their own come out of the same parts.

use crate::model::arm::{Compile, ModuleFormat, Variant};

use super::source::{self, BadVariant, Kernel};

/// Private-memory kernels in one part. Measured with IGC 2.40 at batch_size 64, seconds of processor time for 174
/// kernels by part size: 8 → 11, 16 → 10, 24 → 10.5, 32 → 10.5, 48 → 12, 174 → 19. A small part is ready sooner.
pub const PART: u32 = 16;
/// Padding instructions that weigh as much as a kernel: IGC's time is linear in the padding of one kernel (25,000 take
/// 2.1 s) and far from it in the kernels of a padded module (two take 6.4 s, sixteen a minute).
const PADDING_WEIGHT: u32 = 600;
/// Ordinary kernels are small.
pub const PLAIN_PART: u32 = 64;

/// One run of the compiler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compilation {
    pub text: String,
    pub kernels: Vec<Kernel>,
}

/// One module of the variant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModuleRecipe {
    pub name: String,
    pub how: How,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum How {
    /// The compiler's own module: what this compilation gives.
    Whole(usize),
    /// Kernels in the module's order, each from the compilation with this index.
    FromParts(Vec<(usize, Kernel)>),
}

/// Indices refer to `compilations`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recipe {
    pub compilations: Vec<Compilation>,
    pub modules: Vec<ModuleRecipe>,
}

impl Recipe {
    /// As the variant asks.
    pub fn of(variant: &Variant) -> Result<Self, BadVariant> {
        if in_parts(variant) { Self::parts(variant) } else { Self::whole(variant) }
    }

    /// One compilation a module.
    pub fn whole(variant: &Variant) -> Result<Self, BadVariant> {
        let mut recipe = Recipe { compilations: Vec::new(), modules: Vec::new() };
        for module in source::modules(variant)? {
            let how = How::Whole(recipe.compilations.len());
            recipe.modules.push(ModuleRecipe { name: module.name, how });
            let text = source::text(variant, &module.kernels);
            recipe.compilations.push(Compilation { text, kernels: module.kernels });
        }
        Ok(recipe)
    }

    fn parts(variant: &Variant) -> Result<Self, BadVariant> {
        let mut recipe = Recipe { compilations: Vec::new(), modules: Vec::new() };
        let mut known: Vec<Vec<Kernel>> = Vec::new();
        for module in source::modules(variant)? {
            let taken = module.kernels.into_iter().map(|kernel| {
                let part = part_of(kernel, part_size(variant));
                let index = known.iter().position(|other| *other == part).unwrap_or_else(|| {
                    let text = source::text(variant, &part);
                    recipe.compilations.push(Compilation { text, kernels: part.clone() });
                    known.push(part);
                    known.len() - 1
                });
                (index, kernel)
            });
            let how = How::FromParts(taken.collect());
            recipe.modules.push(ModuleRecipe { name: module.name, how });
        }
        Ok(recipe)
    }
}

fn part_size(variant: &Variant) -> u32 {
    (PART * PADDING_WEIGHT / PADDING_WEIGHT.saturating_add(variant.padding)).max(1)
}

/// Is it worth it, and can it be done? Debug information (`-g…`) describes a whole module and is not put together.
fn in_parts(variant: &Variant) -> bool {
    variant.compile == Compile::Parts
        && variant.format == ModuleFormat::Native
        && (variant.kernels > part_size(variant) || variant.plain_kernels > PLAIN_PART)
        && !variant.options.iter().any(|option| option.starts_with("-g"))
}

/// The whole part that a kernel is compiled in; the control kernel goes with the first.
fn part_of(kernel: Kernel, size: u32) -> Vec<Kernel> {
    match kernel {
        Kernel::Plain(n) => {
            let first = n - n % PLAIN_PART;
            (first..first + PLAIN_PART).map(Kernel::Plain).collect()
        }
        Kernel::Control => part_of(Kernel::Private(0), size),
        Kernel::Private(n) => {
            let first = n - n % size;
            let control = (first == 0).then_some(Kernel::Control);
            (first..first + size).map(Kernel::Private).chain(control).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build::source::tests::variant;
    use crate::model::arm::Split;
    use proptest::prelude::*;

    #[test]
    fn what_fits_in_one_part_and_what_is_asked_whole_is_the_compilers_own() {
        let asked = Variant { compile: Compile::Whole, ..variant(174, 64) };
        let spirv = Variant { format: ModuleFormat::Spirv, ..variant(174, 64) };
        let debug = Variant { options: vec!["-gline-tables-only".to_owned()], ..variant(174, 64) };
        for variant in [variant(PART, 64), asked, spirv, debug] {
            let recipe = Recipe::of(&variant).unwrap();
            assert_eq!(recipe.compilations.len(), 1);
            assert_eq!(recipe.modules[0].how, How::Whole(0));
        }
    }

    #[test]
    fn neighbours_share_every_part() {
        let of = |variant: &Variant| Recipe::of(variant).unwrap();
        let (over, under) = (of(&variant(174, 64)), of(&variant(173, 64)));
        assert_eq!(over.compilations, under.compilations);
        assert_eq!(over.compilations.len(), 11);
        let split = of(&Variant { split: Split::PerKernel, ..variant(174, 64) });
        assert_eq!((split.compilations, split.modules.len()), (over.compilations.clone(), 175));
        let few = of(&variant(128, 64));
        assert_eq!(few.compilations, over.compilations[..8]);
    }

    #[test]
    fn padded_kernels_go_into_smaller_parts() {
        let sizes = |padding| Recipe::of(&Variant { padding, ..variant(40, 64) }).unwrap().compilations.len();
        assert_eq!((sizes(0), sizes(600), sizes(25_000)), (3, 5, 40));
    }

    proptest! {
        #[test]
        fn every_kernel_comes_once_from_a_part_that_has_it(
            kernels in 1u32..80, plain_kernels in 0u32..150, padding in 0u32..2000,
            split in prop_oneof![Just(Split::Off), Just(Split::PerKernel), Just(Split::PerSource)],
        ) {
            let variant = Variant { plain_kernels, padding, split, ..variant(kernels, 8) };
            let recipe = Recipe::of(&variant).unwrap();
            let mut found: Vec<Vec<Kernel>> = Vec::new();
            for module in &recipe.modules {
                match &module.how {
                    How::Whole(index) => found.push(recipe.compilations[*index].kernels.clone()),
                    How::FromParts(taken) => {
                        for (index, kernel) in taken {
                            prop_assert!(recipe.compilations[*index].kernels.contains(kernel));
                        }
                        found.push(taken.iter().map(|(_, kernel)| *kernel).collect());
                    }
                }
            }
            let asked: Vec<Vec<Kernel>> =
                source::modules(&variant).unwrap().into_iter().map(|module| module.kernels).collect();
            prop_assert_eq!(found, asked);
        }
    }
}
