//! The form's fields about the machine.

use serde_json::Value;

use crate::host::env::PciDetail;
use crate::report::text;

use super::{Case, device_name, field};

pub(super) fn fields(out: &mut String, case: &Case<'_>) {
    let env = &case.section.environment;
    let simulated = case.section.simulated();
    let model =
        if simulated { format!(" ({}: a simulated device)", case.section.key.device) } else { String::new() };
    field(out, "GPU Hardware", &format!("{}{model}\n", device_name(case.section)));
    let none = "No card was used: the device is simulated.\n";
    let or_none =
        |found: String| if simulated && found.is_empty() { none.to_owned() } else { or_missing(found) };
    field(out, "DRI Devices Information", &or_none(dri(env)));
    field(out, "GPU Detailed Information (lspci output)", &or_none(pci(env)));
    let neo = case
        .section
        .drivers
        .get(&case.arm.driver)
        .and_then(|d| crate::report::regression::neo_version(&d.versions));
    field(out, "Driver Version", neo.unwrap_or("Not known: the driver build says no version."));
    field(out, "Installed GPU Driver Packages", &packages(case));
    field(
        out,
        "Driver Installation Details",
        "The driver build is unpacked beside the system's and loaded by `ZE_ENABLE_ALT_DRIVERS`; which library was loaded is proved from `/proc/PID/maps` of each run.\n",
    );
    let distribution = text_of(env, "distribution").unwrap_or_else(|| "Not known.".into());
    field(out, "Linux Distribution", "Other (please specify below)\n");
    field(out, "Other Linux Distribution", &distribution);
    field(out, "Kernel Version & Boot Parameters", &kernel(env));
}

fn or_missing(found: String) -> String {
    if found.is_empty() { "✎ Not recorded with the results.\n".into() } else { found }
}

fn text_of(env: &Value, key: &str) -> Option<String> {
    env.get(key).and_then(Value::as_str).map(str::to_owned)
}

fn lines_of(env: &Value, key: &str) -> Option<String> {
    let lines: Vec<&str> = env.get(key)?.as_array()?.iter().filter_map(Value::as_str).collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

fn dri(env: &Value) -> String {
    lines_of(env, "dri").map(|listing| text::fence("", &listing)).unwrap_or_default()
}

/// `lspci` where it was there, else what sysfs says.
fn pci(env: &Value) -> String {
    if let Some(listing) = text_of(env, "lspci") {
        return text::fence("", &listing);
    }
    let devices = env.get("devices").and_then(Value::as_array).cloned().unwrap_or_default();
    let lines: Vec<String> = devices.iter().map(|one| device(one, env)).collect();
    if lines.is_empty() { String::new() } else { text::fence("", &lines.join("\n")) }
}

fn device(device: &Value, env: &Value) -> String {
    let of = |key: &str| device.get(key).and_then(Value::as_str).unwrap_or("?").to_owned();
    let id = device.get("device_id").and_then(Value::as_u64).map_or("?".into(), |id| format!("{id:04x}"));
    let details = env.get("pci").and_then(Value::as_array).cloned().unwrap_or_default();
    let bar = details
        .into_iter()
        .filter_map(|detail| serde_json::from_value::<PciDetail>(detail).ok())
        .find(|detail| detail.pci_address == of("pci_address"))
        .and_then(|detail| detail.resizable_bar())
        .map(|bar| format!(", resizable BAR {bar}"))
        .unwrap_or_default();
    format!("{} 8086:{id}, driver {}{bar}", of("pci_address"), of("driver"))
}

/// The libraries of the build that was used, and the packages it came from.
fn packages(case: &Case<'_>) -> String {
    let Some(driver) = case.section.drivers.get(&case.arm.driver) else { return "Not known.\n".into() };
    let mut lines = Vec::new();
    let list = |key: &str| driver.manifest.get(key).and_then(Value::as_array).cloned().unwrap_or_default();
    for package in list("packages") {
        let of = |key: &str| package.get(key).and_then(Value::as_str).unwrap_or("?").to_owned();
        lines.push(format!("{} {}", of("name"), of("version")));
    }
    for library in list("libraries") {
        let of = |key: &str| library.get(key).and_then(Value::as_str).unwrap_or("-").to_owned();
        // The C library's parts say nothing of a GPU driver.
        if matches!(of("role").as_str(), "libc" | "libc-part" | "ld-so" | "-") {
            continue;
        }
        lines.push(format!("{}  {}  build-id {}", of("role"), of("path"), of("build_id")));
    }
    let runtime = runtime(case);
    lines.extend(runtime.iter().flat_map(|(_, lines)| lines.iter().cloned()));
    let versions = runtime.map_or(String::new(), |(versions, _)| format!(" · {versions}"));
    format!("{}{versions}\n\n{}", driver.versions, text::fence("", &lines.join("\n")))
}

/// Versions of the arm's SYCL runtime, and its packages and libraries.
fn runtime<'a>(case: &'a Case<'_>) -> Option<(&'a str, Vec<String>)> {
    let runtime = case.section.runtimes.get(case.arm.runtime.as_ref()?)?;
    let libraries = runtime.libraries.iter().map(ToString::to_string);
    Some((&runtime.versions, runtime.packages.iter().cloned().chain(libraries).collect()))
}

fn kernel(env: &Value) -> String {
    let mut lines = Vec::new();
    let mut add = |command: &str, said: Option<String>| {
        if let Some(said) = said {
            lines.push(format!("$ {command}\n{said}"));
        }
    };
    add("uname -r", text_of(env, "kernel"));
    add("cat /proc/cmdline", text_of(env, "cmdline"));
    add(
        "lsmod | grep -E 'i915|xe'",
        lines_of(env, "modules").or_else(|| env.get("modules").map(|_| "(none)".into())),
    );
    if lines.is_empty() { or_missing(String::new()) } else { text::fence("", &lines.join("\n\n")) }
}
