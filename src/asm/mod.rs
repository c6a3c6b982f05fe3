//! ISA of kernels: what a run left behind (IGC's dumps, the driver's zebins, the runtime's trace), read as text.
//!
//! Pure: texts and images → names and lines. Running programs and `ocloc` is `cmd::asm`'s.

mod dwarf;
mod launched;
mod lines;
mod pick;
mod weave;

pub use launched::{Launched, launched};
pub use lines::{Lines, Place, lines};
pub use pick::{Pick, PickError};
pub use weave::{has_lines, weave};

/// The kernel that an `.asm` file of IGC is of: its first lines hold `//.kernel NAME`.
pub fn kernel_of(asm: &str) -> Option<&str> {
    let line = asm.lines().take(5).find_map(|line| line.strip_prefix("//.kernel "))?;
    Some(line.trim()).filter(|name| !name.is_empty())
}

/// The kernel that a file of `ocloc disasm` is of: `.text.NAME`, with or without `.asm`.
pub fn kernel_of_section(file: &str) -> Option<&str> {
    let name = file.strip_prefix(".text.")?;
    Some(name.strip_suffix(".asm").unwrap_or(name)).filter(|name| !name.is_empty())
}

/// The free-function kernels of DPC++ are `__sycl_kernel_NAME` in the module.
pub fn shown(name: &str) -> String {
    match crate::inspect::demangle(name) {
        Some(demangled) => demangled,
        None => name.strip_prefix("__sycl_kernel_").unwrap_or(name).to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_from_the_files() {
        assert_eq!(kernel_of("//.kernel _ZTS3Foo\n//.platform DG2\n"), Some("_ZTS3Foo"));
        assert_eq!(kernel_of("L0:\n mov"), None);
        assert_eq!(kernel_of_section(".text._ZTS3Foo.asm"), Some("_ZTS3Foo"));
        assert_eq!(kernel_of_section(".text.k"), Some("k"));
        assert_eq!(kernel_of_section("sections.txt"), None);
        assert_eq!(shown("_ZTSN3foo3BarE"), "foo::Bar");
        assert_eq!(shown("__sycl_kernel_priv0"), "priv0");
    }
}
