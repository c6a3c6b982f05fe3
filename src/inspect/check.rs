//! *Asked for N targets, the binary carries M: where did they go.*

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::targets::{self, Ip};
use super::{FileReport, Format, Image};

/// What `--expect-targets` asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expected {
    /// This many different native targets in every device image.
    Count(usize),
    /// These, each in every device image. `spir64` stands for SPIR-V beside them.
    Names(Vec<String>),
}

impl Expected {
    /// `13`, or `dg2-g10,bmg-g21,spir64`. Names that no table knows are an error: they would never be found.
    pub fn parse(text: &str) -> Result<Expected, String> {
        if let Ok(count) = text.trim().parse() {
            return Ok(Expected::Count(count));
        }
        let names: Vec<String> =
            text.split([',', ':', ' ']).map(str::trim).filter(|n| !n.is_empty()).map(str::to_owned).collect();
        if names.is_empty() {
            return Err("a number of targets, or their names (dg2-g10,bmg-g21,spir64)".to_owned());
        }
        for name in &names {
            if name != "spir64" && targets::find(name).is_none() {
                return Err(format!(
                    "`{name}` is no device name that ocloc knows, no IP version (12.55.8) and not spir64{}",
                    nearest(name)
                ));
            }
        }
        Ok(Expected::Names(names))
    }
}

fn nearest(name: &str) -> String {
    let all = targets::table().iter().flat_map(|(_, names)| names.iter());
    let best = all.max_by(|a, b| strsim::jaro(a, name).total_cmp(&strsim::jaro(b, name)));
    best.filter(|best| strsim::jaro(best, name) > 0.7).map_or_else(String::new, |b| format!("; nearest: {b}"))
}

/// What the file carries against what was asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Check {
    pub met: bool,
    /// Fat images and single native images: each is one module of the program, or of one source file.
    pub native_modules: usize,
    pub spirv_modules: usize,
    /// Different native targets over all images.
    pub carried: Vec<String>,
    pub findings: Vec<Finding>,
}

/// One thing that explains the numbers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// It is why the check fails; otherwise it only explains.
    pub fault: bool,
    pub text: String,
}

/// Compares.
pub fn check(report: &FileReport, expected: &Expected) -> Check {
    let modules = native_modules(report);
    let spirv_modules = report
        .images
        .iter()
        .filter(|image| image.format == Format::Spirv && !in_native(image, &modules))
        .count();
    let carried: BTreeSet<Id> = modules.values().flatten().cloned().collect();
    let mut findings = Vec::new();
    match expected {
        Expected::Count(count) => {
            for (group, targets) in &modules {
                if targets.len() != *count {
                    let text = format!(
                        "{}: {} targets, not {count} ({})",
                        place(report, *group),
                        targets.len(),
                        join(targets)
                    );
                    findings.push(Finding { fault: true, text });
                }
            }
            if modules.is_empty() && *count > 0 {
                findings
                    .push(Finding { fault: true, text: format!("asked for {count} targets, there is none") });
            }
        }
        Expected::Names(names) => named(report, names, &modules, spirv_modules, &mut findings),
    }
    let met = !findings.iter().any(|finding| finding.fault);
    let fewer = match expected {
        Expected::Count(count) => {
            modules.is_empty() || modules.values().any(|targets| targets.len() < *count)
        }
        Expected::Names(_) => findings.iter().any(|finding| finding.fault),
    };
    if !met && fewer {
        findings.extend(whereabouts(report, modules.is_empty()));
    } else if !met && let Expected::Count(count) = expected {
        findings.push(Finding { fault: false, text: surplus(*count) });
    }
    if !report.problems.is_empty() {
        let text = format!("{} parts of the file could not be read", report.problems.len());
        findings.push(Finding { fault: true, text });
    }
    let met = met && report.problems.is_empty();
    Check {
        met,
        native_modules: modules.len(),
        spirv_modules,
        carried: carried.iter().map(Id::to_string).collect(),
        findings,
    }
}

/// A native target: by IP version where there is one, else by the container's name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Id {
    Ip(Ip),
    Name(String),
}

impl std::fmt::Display for Id {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Id::Name(name) => f.write_str(name),
            Id::Ip(ip) => match targets::acronyms(*ip).first() {
                Some(name) => write!(f, "{name} ({ip})"),
                None => write!(f, "{ip}"),
            },
        }
    }
}

/// Targets of every module with native code, by the module's number.
fn native_modules(report: &FileReport) -> BTreeMap<usize, BTreeSet<Id>> {
    let mut modules: BTreeMap<usize, BTreeSet<Id>> = BTreeMap::new();
    for (index, image) in report.images.iter().enumerate() {
        let Some(target) = &image.target else { continue };
        let id = match target.ip.as_deref().and_then(Ip::parse) {
            Some(ip) => Id::Ip(ip),
            None => Id::Name(target.name.clone()),
        };
        modules.entry(image.group.unwrap_or(usize::MAX - index)).or_default().insert(id);
    }
    // Members of an archive that is no part of an ELF file are one module: `ocloc`'s own fat binary.
    let loose: Vec<usize> = modules.keys().copied().filter(|key| *key > usize::MAX / 2).collect();
    if report.format == Format::Archive && loose.len() > 1 {
        let all = loose.iter().filter_map(|key| modules.remove(key)).flatten().collect();
        modules.insert(usize::MAX, all);
    }
    modules
}

/// SPIR-V inside a fat native image is a fall-back of that image, not a module.
fn in_native(image: &Image, modules: &BTreeMap<usize, BTreeSet<Id>>) -> bool {
    image.group.is_some_and(|group| modules.contains_key(&group))
}

fn named(
    report: &FileReport,
    names: &[String],
    modules: &BTreeMap<usize, BTreeSet<Id>>,
    spirv_modules: usize,
    findings: &mut Vec<Finding>,
) {
    let mut by_ip: BTreeMap<Ip, Vec<&str>> = BTreeMap::new();
    for name in names {
        match targets::find(name) {
            Some(ip) => by_ip.entry(ip).or_default().push(name),
            None if spirv_modules == 0 => {
                let text = "spir64: no SPIR-V module is there: devices that are not listed cannot run this"
                    .to_owned();
                findings.push(Finding { fault: true, text });
            }
            None => {}
        }
    }
    let asked: usize = by_ip.values().map(Vec::len).sum();
    if asked > by_ip.len() {
        let same: Vec<String> =
            by_ip.values().filter(|names| names.len() > 1).map(|names| names.join(" = ")).collect();
        let text = format!(
            "{asked} names are {} targets: {} (one IP version, one image)",
            by_ip.len(),
            same.join(", ")
        );
        findings.push(Finding { fault: false, text });
    }
    for (ip, names) in &by_ip {
        let without: Vec<usize> = modules
            .iter()
            .filter(|(_, targets)| !targets.contains(&Id::Ip(*ip)))
            .map(|(group, _)| *group)
            .collect();
        let name = names.join(", ");
        if modules.is_empty() {
            findings.push(Finding { fault: true, text: format!("{name} ({ip}): no native image at all") });
        } else if let Some(first) = without.first() {
            let text = format!(
                "{name} ({ip}): missing in {} of {} modules, the first is {}",
                without.len(),
                modules.len(),
                place(report, *first)
            );
            findings.push(Finding { fault: true, text });
        }
    }
    let beyond: BTreeSet<&Id> =
        modules.values().flatten().filter(|id| !matches!(id, Id::Ip(ip) if by_ip.contains_key(ip))).collect();
    if !beyond.is_empty() {
        let list: Vec<String> = beyond.iter().map(|id| id.to_string()).collect();
        findings
            .push(Finding { fault: false, text: format!("not asked for but there: {}", list.join(", ")) });
    }
}

/// Where the targets went, as far as the file itself can tell.
fn whereabouts(report: &FileReport, no_native: bool) -> Option<Finding> {
    if !no_native {
        return Some(Finding {
            fault: false,
            text: "the device compiler builds each target by itself: look for its failure in the build's log (an IGC \
                   abort ends one target's compilation), or for another -device list on that source file"
                .to_owned(),
        });
    }
    let of = |format: Format, kind: &str| {
        report.images.iter().any(|image| {
            image.format == format
                && image.kind.as_deref().is_some_and(|k| k.trim_start_matches("sycl-").starts_with(kind))
        })
    };
    let text = if of(Format::Bitcode, "spir64_gen") {
        "the object holds bitcode for spir64_gen, not native code: with relocatable device code (icpx's default) the \
         link compiles it, for the targets that the link's own -fsycl-targets names. Repeat the target flags at the \
         link, or compile with -fno-sycl-rdc"
    } else if of(Format::Spirv, "spir64") || of(Format::Bitcode, "spir64") {
        "only JIT code (spir64) is there. If the compile step had -fsycl-targets=spir64_gen, the link dropped it: \
         with relocatable device code the link builds only the targets on its own command line. Give it the same \
         target flags, or compile with -fno-sycl-rdc"
    } else if report.images.is_empty() {
        "there is no device code at all: compiled without -fsycl, stripped of its offload sections, or the images are \
         in another library"
    } else {
        return None;
    };
    Some(Finding { fault: false, text: text.to_owned() })
}

/// Why there may be more targets than were asked for.
fn surplus(count: usize) -> String {
    format!(
        "the -device list of that source file names more than {count} (a family or a range stands for several targets: \
         `ocloc ids NAME` lists them), or the number asked for is out of date"
    )
}

fn place(report: &FileReport, group: usize) -> String {
    let same = |(index, image): (usize, &Image)| {
        (image.group == Some(group) || image.group.is_none() && usize::MAX - index == group)
            .then(|| image.place.clone())
    };
    let found = report.images.iter().enumerate().find_map(same);
    found.map_or_else(
        || "the archive".to_owned(),
        |place| place.split(" › member ").next().unwrap_or("").to_owned(),
    )
}

fn join(targets: &BTreeSet<Id>) -> String {
    targets.iter().map(Id::to_string).collect::<Vec<_>>().join(", ")
}
