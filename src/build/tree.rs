//! The offline compiler of a driver build in the store.

use std::ffi::OsString;
use std::process::Command;

use super::cache;
use super::compile::Compiler;
use crate::driver::{DriverError, DriverTree, Role};

/// `ocloc` as [`DriverTree::launch_ocloc`] starts it.
#[derive(Clone, Debug)]
pub struct TreeCompiler {
    argv: Vec<OsString>,
    env: Vec<(String, OsString)>,
    identity: String,
}

impl TreeCompiler {
    /// Fails when the build has no `ocloc`.
    pub fn new(tree: &DriverTree) -> Result<Self, DriverError> {
        let spec = tree.launch_ocloc(std::iter::empty::<OsString>())?;
        // What takes part in a compilation, and nothing else: two builds that differ in the driver alone (a patched
        // libze_intel_gpu on a base) compile alike and share cache entries.
        const ROLES: [Role; 5] = [Role::Ocloc, Role::Igc, Role::Igdfcl, Role::OpenclClang, Role::Iga];
        let mut hashes: Vec<String> = tree
            .chain()
            .flat_map(|tree| &tree.manifest.libraries)
            .filter(|library| ROLES.contains(&library.role))
            .map(|library| format!("{} {}", library.role.name(), library.sha256))
            .collect();
        hashes.sort();
        hashes.dedup();
        let identity = cache::key(hashes.iter().map(String::as_str));
        Ok(TreeCompiler { argv: spec.argv, env: spec.env, identity })
    }
}

impl Compiler for TreeCompiler {
    fn command(&self, args: &[OsString]) -> Command {
        let mut words = self.argv.iter();
        // `launch` puts a program first; an empty list would be caught as a failed start.
        let mut command = Command::new(words.next().cloned().unwrap_or_default());
        command.args(words).args(args).envs(self.env.iter().map(|(name, value)| (name, value)));
        command
    }

    fn identity(&self) -> String {
        self.identity.clone()
    }
}
