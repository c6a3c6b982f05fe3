//! The environment as text, in the order of the vendor's form.

use std::fmt::Write;

use super::Environment;

/// One heading and what stands under it.
fn part(out: &mut String, heading: &str, lines: &[String], none: &str) {
    let _ = writeln!(out, "{heading}");
    if lines.is_empty() {
        let _ = writeln!(out, "  {none}");
    }
    for line in lines.iter().flat_map(|text| text.lines()) {
        let _ = writeln!(out, "  {line}");
    }
    out.push('\n');
}

/// `drivers`, `runtimes`: a block of lines for each driver build and each SYCL runtime that is there.
pub fn text(env: &Environment, drivers: &[String], runtimes: &[String]) -> String {
    let mut out = String::new();
    let devices: Vec<String> = env.devices.iter().map(|node| device(env, node)).collect();
    part(&mut out, "GPU hardware", &devices, "no Intel render node (the simulated device needs none)");
    part(&mut out, "DRI devices", &env.dri, "/dev/dri is not there");
    let lspci: Vec<String> = env.lspci.iter().cloned().collect();
    let none = if env.devices.is_empty() { "no device" } else { "lspci is not installed (pciutils)" };
    part(&mut out, "GPU details (lspci -vvv -k)", &lspci, none);
    part(&mut out, "Driver builds of the store", drivers, "none (repro-matrix drivers fetch debian)");
    part(&mut out, "Installed driver packages", &env.packages, "none found");
    part(
        &mut out,
        "SYCL runtimes and Unified Runtime",
        runtimes,
        "none (repro-matrix toolchains fetch sycl)",
    );
    part(
        &mut out,
        "oneAPI compiler",
        &env.compiler.iter().cloned().collect::<Vec<_>>(),
        "no icpx on the PATH or below ONEAPI_ROOT",
    );
    let system = vec![
        format!(
            "{}, glibc {}",
            env.distribution.as_deref().unwrap_or("not known"),
            env.glibc.as_deref().unwrap_or("not known")
        ),
        format!("{}, {} cores", env.cpu.as_deref().unwrap_or(&env.architecture), env.cores),
        format!("{:.1} GiB memory, {:.1} GiB free", gib(env.memory_total), gib(env.memory_available)),
        format!("machine {} (a hash, not a name)", env.machine),
    ];
    part(&mut out, "System", &system, "");
    let mut kernel = vec![format!("uname -r: {}", env.kernel.as_deref().unwrap_or("not known"))];
    kernel.extend(env.cmdline.iter().map(|cmdline| format!("cmdline: {cmdline}")));
    match env.modules.is_empty() {
        true => kernel.push("modules: neither xe nor i915 is loaded".into()),
        false => kernel.extend(env.modules.iter().map(|module| format!("module: {module}"))),
    }
    kernel.push(match env.tainted {
        Some(0) => "not tainted".into(),
        Some(mask) => format!("TAINTED: {mask}"),
        None => "taint: not known".into(),
    });
    part(&mut out, "Kernel", &kernel, "");
    let variables: Vec<String> =
        env.variables.iter().map(|(name, value)| format!("{name}={value}")).collect();
    part(&mut out, "Variables that reach a driver (a run inherits none)", &variables, "none");
    out.truncate(out.trim_end().len());
    out.push('\n');
    out
}

fn gib(bytes: u64) -> f64 {
    bytes as f64 / (1u64 << 30) as f64
}

fn device(env: &Environment, node: &crate::host::RenderNode) -> String {
    let mut line = format!(
        "{} 8086:{:04x}, driver {}, {}",
        node.pci_address,
        node.device_id,
        node.driver.as_deref().unwrap_or("none"),
        node.node.display()
    );
    if let Some(detail) = env.pci.iter().find(|detail| detail.pci_address == node.pci_address) {
        for (what, value) in [
            ("revision", detail.revision.clone()),
            ("subsystem", detail.subsystem.clone()),
            ("resizable BAR", detail.resizable_bar()),
            (
                "link",
                detail
                    .link_speed
                    .clone()
                    .zip(detail.link_width.clone())
                    .map(|(speed, width)| format!("{speed} x{width}")),
            ),
        ] {
            if let Some(value) = value {
                let _ = write!(line, "\n  {what} {value}");
            }
        }
    }
    line
}
