//! `inspect --compile`: what the driver's compiler makes of SPIR-V modules, for each card of the device table.

use std::ffi::OsString;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use serde::Serialize;

use crate::build::{TreeCompiler, compile};
use crate::cmd::Failure;
use crate::driver::DriverStore;
use crate::exit::Exit;
use crate::inspect::{DeviceRow, Format, Image, Limits, Placement, inspect, predict, targets};

static GO_ON: AtomicBool = AtomicBool::new(false);
/// One compilation.
const TIMEOUT: Duration = Duration::from_secs(600);

/// One module compiled for one card.
#[derive(Serialize)]
pub struct Compiled {
    /// Number of the SPIR-V image among the file's images.
    pub image: usize,
    pub device: String,
    /// Over its kernels, the sum of bytes for one hardware thread in a global private surface.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub private_per_thread: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prediction: Option<Placement>,
    /// Why there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// A SPIR-V module with what is needed to compile it.
pub struct Module {
    pub image: usize,
    pub bytes: Vec<u8>,
    pub options: Option<String>,
}

/// SPIR-V with a kernel that is asked for.
pub fn wanted(image: &Image, pattern: Option<&str>) -> bool {
    image.format == Format::Spirv
        && image.kernels.iter().flatten().any(|kernel| {
            pattern.is_none_or(|text| {
                kernel.name.contains(text)
                    || kernel.demangled.as_ref().is_some_and(|name| name.contains(text))
            })
        })
}

/// Compiles each module for each card.
pub fn all(driver: &str, modules: &[Module], rows: &[DeviceRow]) -> Result<Vec<Compiled>, Failure> {
    let store = DriverStore::open().map_err(super::drivers::failure)?;
    let tree = store.resolve(driver).map_err(super::drivers::failure)?;
    let compiler = TreeCompiler::new(&tree).map_err(super::drivers::failure)?;
    let work = tempfile::Builder::new()
        .prefix("repro-matrix-inspect-")
        .tempdir()
        .map_err(|error| Failure::new(Exit::CannotRecord, error))?;
    let mut out = Vec::new();
    for module in modules {
        let input = work.path().join("module.spv");
        std::fs::write(&input, &module.bytes).map_err(|error| Failure::new(Exit::CannotRecord, error))?;
        for row in rows {
            let (private_per_thread, prediction, error) = match one(&compiler, module, row, work.path()) {
                Ok((private, prediction)) => (private, prediction, None),
                Err(error) => (None, None, Some(error)),
            };
            let device = row.name.clone();
            out.push(Compiled { image: module.image, device, private_per_thread, prediction, error });
        }
    }
    Ok(out)
}

fn one(
    compiler: &TreeCompiler,
    module: &Module,
    row: &DeviceRow,
    work: &Path,
) -> Result<(Option<u64>, Option<Placement>), String> {
    let ip = targets::Ip::parse(&row.ip).ok_or("a card without an IP version")?;
    // A card may report a later stepping than the ones that ocloc names.
    let same = |known: &&(targets::Ip, &[&str])| (known.0.major, known.0.minor) == (ip.major, ip.minor);
    let exact = targets::acronyms(ip).first().copied();
    let nearest = || targets::table().iter().rfind(same).and_then(|(_, names)| names.first().copied());
    let name = exact.or_else(nearest).ok_or_else(|| format!("no ocloc name is known for {ip}"))?;
    let output = work.join("module.bin");
    let _ = std::fs::remove_file(&output);
    let mut args = vec!["compile", "-spirv_input", "-file", "module.spv", "-device", name];
    args.extend(["-exclude_ir", "-o", "module.bin"]);
    if let Some(options) = &module.options {
        args.extend(["-options", options]);
    }
    let args: Vec<OsString> = args.into_iter().map(OsString::from).collect();
    compile::run(compiler, &args, work, TIMEOUT, &GO_ON).map_err(|error| error.to_string())?;
    let bytes = std::fs::read(&output).map_err(|error| format!("module.bin: {error}"))?;
    let report = inspect("module.bin", &bytes, Limits::default());
    let image = report.images.iter().find(|image| image.is_native()).ok_or("ocloc made no native image")?;
    let prediction = predict(image, std::slice::from_ref(row)).pop().map(|found| found.placement);
    Ok((image.private_per_thread(), prediction))
}

/// The results as lines of text.
pub fn text(compiled: &[Compiled]) -> String {
    let mut text = String::from("SPIR-V modules, compiled\n");
    for each in compiled {
        let private = each.private_per_thread.map_or("?".to_owned(), |bytes| bytes.to_string());
        let path = match &each.prediction {
            Some(Placement::PerDispatch { needed }) => format!(": PER-DISPATCH path ({needed} bytes)"),
            Some(Placement::PerKernel { needed }) => {
                format!(": not on the per-dispatch path ({needed} bytes)")
            }
            Some(Placement::OtherDevice | Placement::NotCompiled) | None => String::new(),
        };
        let what = match &each.error {
            Some(error) => format!("not compiled: {error}"),
            None => format!("Σ private/thread {private}{path}"),
        };
        text.push_str(&format!("  image {} on {}: {what}\n", each.image, each.device));
    }
    text.push('\n');
    text
}
