//! Stage: build. Variant → source text → modules that the driver can load, with what the compiler says of them.
//!
//! A [`recipe`] says which compilations a variant takes; each goes through the content-addressed [`cache`], and modules
//! of many kernels are put together from them ([`join`]). A variant is reported as soon as its last module is there,
//! so that arms which are ready already run.

mod assemble;
pub mod cache;
pub mod compile;
mod elf_out;
pub mod error;
mod image;
pub mod join;
pub mod part;
mod pool;
pub mod recipe;
pub mod slots;
pub mod source;
pub mod sycl;
pub mod target;
mod tree;
pub mod ze_info;
pub mod ze_text;
pub mod zebin;

pub use compile::Compiler;
pub use error::{BuildError, Cause};
pub use pool::{BuildEvent, Builder, Request};
pub use slots::Slots;
pub use target::Target;
pub use tree::TreeCompiler;
pub use ze_info::{KernelInfo, PayloadArgument};

use std::path::PathBuf;

/// A variant that is ready to run.
#[derive(Clone, Debug, Default)]
pub struct BuiltVariant {
    /// In the order in which the front end loads them.
    pub modules: Vec<BuiltModule>,
    /// Seconds of compiler time, whether spent now or when the cache was filled.
    pub build_seconds: f64,
    /// Nothing had to be compiled.
    pub cached: bool,
    /// What a reader of the build should know: damaged cache entries that were rebuilt, parts that could not be put
    /// together.
    pub notes: Vec<String>,
}

/// One loadable image.
#[derive(Clone, Debug)]
pub struct BuiltModule {
    pub name: String,
    pub path: PathBuf,
    pub bytes: u64,
    pub sha256: String,
    /// The compiler's command; of every part.
    pub command: String,
    /// The compilations that the module was put together from; empty for the compiler's own module.
    pub parts: Vec<cache::PartUsed>,
    pub cached: bool,
    /// `None` for SPIR-V: the sizes are the driver's compiler's to decide.
    pub kernels: Option<Vec<KernelInfo>>,
}

impl BuiltVariant {
    /// Files for `--module`.
    pub fn paths(&self) -> Vec<PathBuf> {
        self.modules.iter().map(|module| module.path.clone()).collect()
    }

    pub fn image_bytes(&self) -> u64 {
        self.modules.iter().map(|module| module.bytes).sum()
    }

    /// All kernels, module by module; `None` when a module says nothing of its kernels.
    pub fn kernels(&self) -> Option<Vec<&KernelInfo>> {
        let lists: Option<Vec<&Vec<KernelInfo>>> =
            self.modules.iter().map(|module| module.kernels.as_ref()).collect();
        Some(lists?.into_iter().flatten().collect())
    }

    /// Σ of global private surfaces over all kernels, bytes for one hardware thread.
    pub fn private_total_per_thread(&self) -> Option<u64> {
        Some(self.kernels()?.iter().map(|kernel| kernel.private_surface).sum())
    }

    /// `modulePrivateMemorySize` of the module that needs most: its Σ of per-thread sizes × compute units. The
    /// driver compares it, module by module, with global memory.
    pub fn predicted_module_private(&self, compute_units: u64) -> Option<u64> {
        let sums: Option<Vec<u64>> = self
            .modules
            .iter()
            .map(|module| Some(module.kernels.as_ref()?.iter().map(|kernel| kernel.private_surface).sum()))
            .collect();
        sums?.into_iter().max().map(|sum: u64| sum.saturating_mul(compute_units))
    }

    /// Would the driver put a module of this variant on the per-dispatch path?
    pub fn predicted_per_dispatch(&self, compute_units: u64, global_memory: u64) -> Option<bool> {
        self.predicted_module_private(compute_units).map(|bytes| bytes > global_memory)
    }
}
