//! Stage: driver. Builds of Intel's compute driver, kept side by side and never installed.
//!
//! A build is a directory of the store: `NAME/manifest.json`, `NAME/root/` (the files) and `NAME/links/` (the same
//! libraries without the C library, for hosts whose own C library is newer). [`DriverStore::resolve`] turns a name
//! of a matrix into a [`DriverTree`], which knows how to start a program on it ([`DriverTree::launch`]) and which
//! libraries a run has to have loaded ([`DriverTree::expected_libraries`]).

mod add;
mod apt;
mod deb;
mod elf;
mod error;
mod fetch;
mod hash;
mod index;
mod inventory;
mod launch;
mod manifest;
mod release;
mod sources;
mod store;
mod system;
mod tree;

pub use add::Addition;
pub use elf::{Elf, GlibcVersion, inspect as inspect_elf};
pub use error::DriverError;
pub use fetch::{FetchRequest, Fetched};
pub use hash::{bytes as sha256, file as sha256_file};
pub use index::{Index, IndexRequest, Release};
pub use launch::{LaunchSpec, find_in_path, host_glibc};
pub use manifest::{BaseRef, Library, Manifest, Package, Provenance, Role, Versions};
pub use release::by_release;
pub use store::{DEFAULT, DriverStore, SYSTEM, data_dir, free_bytes};
pub use tree::{DriverTree, ExpectedLibrary};
