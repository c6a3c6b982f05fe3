//! What compiles SYCL here: icpx, or the host's C++ compiler with a SYCL runtime.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::toolchain::Toolchain;

/// A front end, with what identifies it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SyclCompiler {
    Icpx {
        path: PathBuf,
        /// First line of `icpx --version`.
        version: String,
        /// Path and version together: the cache key's part.
        identity: String,
    },
    RunTime {
        toolchain: Toolchain,
        /// The host compiler.
        cxx: PathBuf,
        /// As it gives it: `g++ 12.2.0`.
        cxx_version: String,
        identity: String,
    },
}

/// Why there is none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FrontEndError {
    #[error("{0}")]
    NotThere(String),
    #[error("{program} does not say its version: {why}")]
    NoVersion { program: String, why: String },
}

impl SyclCompiler {
    /// icpx: the one named, else that of ONEAPI_ROOT, else that of PATH.
    pub fn icpx(named: Option<&Path>) -> Result<SyclCompiler, FrontEndError> {
        let path = match named {
            Some(path) => Some(path.to_owned()),
            None => std::env::var_os("ONEAPI_ROOT")
                .map(|root| PathBuf::from(root).join("compiler/latest/bin/icpx"))
                .filter(|path| path.is_file())
                .or_else(|| crate::driver::find_in_path(Path::new("icpx"))),
        };
        let Some(path) = path else {
            return Err(FrontEndError::NotThere(
                "no icpx: not under ONEAPI_ROOT, not in PATH, and --compiler names none".to_owned(),
            ));
        };
        let version = version_of(&path, "--version")?;
        let identity = format!("icpx {} {version}", path.display());
        Ok(SyclCompiler::Icpx { path, version, identity })
    }

    /// A runtime with the host's C++ compiler (`CXX`, else g++, else clang++).
    pub fn run_time(toolchain: Toolchain) -> Result<SyclCompiler, FrontEndError> {
        let named = std::env::var_os("CXX").filter(|value| !value.is_empty()).map(PathBuf::from);
        let cxx = match named {
            Some(named) => crate::driver::find_in_path(&named),
            None => ["g++", "clang++"].iter().find_map(|name| crate::driver::find_in_path(Path::new(name))),
        };
        let Some(cxx) = cxx else {
            return Err(FrontEndError::NotThere(
                "no C++ compiler for the host half: install g++ (or set CXX)".to_owned(),
            ));
        };
        let name = cxx.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        let cxx_version = format!("{name} {}", version_of(&cxx, "-dumpfullversion")?);
        let identity = format!("{} {cxx_version}", toolchain.manifest.hash);
        Ok(SyclCompiler::RunTime { toolchain, cxx, cxx_version, identity })
    }

    /// What reports call it: never icpx when it was not.
    pub fn describe(&self) -> String {
        match self {
            SyclCompiler::Icpx { version, .. } => format!("icpx: {version}"),
            SyclCompiler::RunTime { toolchain, cxx_version, .. } => {
                format!("DPC++ run-time compiler ({}) + {cxx_version}", toolchain.describe())
            }
        }
    }

    pub fn identity(&self) -> &str {
        match self {
            SyclCompiler::Icpx { identity, .. } | SyclCompiler::RunTime { identity, .. } => identity,
        }
    }

    /// The program to start for the program's own compilation.
    pub fn program(&self) -> &Path {
        match self {
            SyclCompiler::Icpx { path, .. } => path,
            SyclCompiler::RunTime { cxx, .. } => cxx,
        }
    }

    /// How messages call it.
    pub fn tool(&self) -> &'static str {
        match self {
            SyclCompiler::Icpx { .. } => "icpx",
            SyclCompiler::RunTime { .. } => "the host compiler",
        }
    }

    /// Directory of the runtime's libraries, which a run needs in its search path.
    pub fn library_dir(&self) -> Option<PathBuf> {
        match self {
            SyclCompiler::Icpx { path, .. } => {
                let lib = path.canonicalize().ok()?.parent()?.parent()?.join("lib");
                lib.join("libsycl.so").exists().then_some(lib)
            }
            SyclCompiler::RunTime { toolchain, .. } => Some(toolchain.lib()),
        }
    }

    /// Arguments that compile the program.
    pub fn program_args(&self, source: &str, output: &str, defines: &[String]) -> Vec<OsString> {
        let mut args: Vec<OsString> = Vec::new();
        match self {
            SyclCompiler::Icpx { .. } => {
                args.extend(["-fsycl", "-O2"].map(OsString::from));
                args.extend(defines.iter().map(OsString::from));
                args.extend([source, "-o", output].map(OsString::from));
            }
            SyclCompiler::RunTime { toolchain, .. } => {
                args.extend(
                    ["-std=c++17", "-O1", "-DSYCL_DISABLE_FSYCL_SYCLHPP_WARNING", "-isystem"]
                        .map(OsString::from),
                );
                args.push(toolchain.include().into());
                args.extend(defines.iter().map(OsString::from));
                args.push(source.into());
                let mut search = OsString::from("-L");
                search.push(toolchain.lib());
                args.push(search);
                args.extend(["-lsycl", "-ldl", "-pthread", "-o", output].map(OsString::from));
            }
        }
        args
    }

    /// Whether a program of this runtime can save the device code that it compiled: its headers say so.
    pub fn saves_device_code(&self) -> bool {
        match self {
            SyclCompiler::Icpx { .. } => false,
            SyclCompiler::RunTime { toolchain, .. } => {
                std::fs::read_to_string(toolchain.include().join("sycl/kernel_bundle.hpp"))
                    .is_ok_and(|header| header.contains("ext_oneapi_get_content"))
            }
        }
    }

    /// Options that the run-time compiler needs. 2025 releases call device libraries that their runtime lacks.
    pub fn device_options(&self) -> impl Iterator<Item = &'static str> {
        let old = match self {
            SyclCompiler::Icpx { .. } => false,
            SyclCompiler::RunTime { toolchain, .. } => toolchain.manifest.version.starts_with("2025."),
        };
        let options: &[&str] = match old {
            true => &["-fno-sycl-device-lib=all", "-fno-sycl-instrument-device-code"],
            false => &[],
        };
        options.iter().copied()
    }
}

fn version_of(program: &Path, flag: &str) -> Result<String, FrontEndError> {
    let no = |why: String| FrontEndError::NoVersion { program: program.display().to_string(), why };
    let output = Command::new(program)
        .arg(flag)
        .stdin(Stdio::null())
        .env("LC_ALL", "C")
        .output()
        .map_err(|error| no(error.to_string()))?;
    let text = String::from_utf8_lossy(&output.stdout);
    match text.lines().map(str::trim).find(|line| !line.is_empty()) {
        Some(line) if output.status.success() => Ok(line.to_owned()),
        _ => Err(no(format!("`{flag}` ended with {}", output.status))),
    }
}
