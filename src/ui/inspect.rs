//! The report of `inspect` as text.

use std::collections::BTreeMap;
use std::fmt::Write;

use comfy_table::{CellAlignment, ContentArrangement, Table, presets};

use crate::inspect::{Check, DeviceRow, FileReport, Image, Kernel, Placement, Prediction};

/// Images and kernels that a table shows unless all are asked for.
const IMAGES: usize = 100;
const KERNELS: usize = 8;

/// What is shown of a report.
pub struct View<'a> {
    pub kernels: bool,
    pub pattern: Option<&'a str>,
    pub all: bool,
    pub width: u16,
}

/// The device table with its sources.
pub fn devices(rows: &[DeviceRow]) -> String {
    let mut table = new_table(&["device", "IP", "VRAM", "global memory", "threads"], &[2, 3, 4]);
    for row in rows {
        table.add_row([
            row.name.clone(),
            row.ip.clone(),
            row.vram_bytes.to_string(),
            row.global_memory.to_string(),
            row.threads.to_string(),
        ]);
    }
    let mut out = format!("{table}\n");
    for row in rows {
        let _ = writeln!(out, "  {}: {}", row.name, row.source);
    }
    out.push('\n');
    out
}

impl View<'_> {
    /// One file: heading, images, predictions, kernels, problems, check.
    pub fn file(
        &self,
        report: &FileReport,
        predictions: &[Vec<Prediction>],
        check: Option<&Check>,
    ) -> String {
        let mut out = format!(
            "{}: {}, {} bytes, {}\n",
            report.file,
            report.format.name(),
            report.bytes,
            totals(report)
        );
        if !report.images.is_empty() {
            let _ = writeln!(out, "\n{}", self.images(report));
            out.push_str(&self.left_out(report.images.len()));
            out.push_str(&predicted(report, predictions));
            out.push_str(&self.kernel_list(report));
        }
        for problem in &report.problems {
            let _ = writeln!(out, "\nproblem at {}: {}", problem.place, problem.what);
        }
        if let Some(check) = check {
            let _ = writeln!(
                out,
                "\ntargets: {}; {} native and {} SPIR-V modules; native targets: {}",
                if check.met { "as expected" } else { "NOT AS EXPECTED" },
                check.native_modules,
                check.spirv_modules,
                if check.carried.is_empty() { "none".to_owned() } else { check.carried.join(", ") }
            );
            for finding in &check.findings {
                let _ = writeln!(out, "  {} {}", if finding.fault { "✗" } else { "·" }, finding.text);
            }
        }
        out.push('\n');
        out
    }

    fn images(&self, report: &FileReport) -> Table {
        let header = ["image", "kind", "format", "target", "bytes", "stored", "kernels", "Σ private/thread"];
        let mut table = new_table(&header, &[4, 5, 6, 7]);
        table.set_width(self.width.clamp(80, 160)).set_content_arrangement(ContentArrangement::Dynamic);
        let shown = if self.all { usize::MAX } else { IMAGES };
        let mut last = None;
        for (index, image) in report.images.iter().enumerate().take(shown) {
            // The compressed size belongs to the fat image; it is shown once.
            let first = image.group.is_none() || image.group != last;
            last = image.group;
            let stored = match (image.stored_bytes, image.compression) {
                (Some(bytes), Some(method)) if first => format!("{bytes} ({method})"),
                (Some(_), _) => "″".to_owned(),
                _ => "–".to_owned(),
            };
            table.add_row([
                index.to_string(),
                image.kind.clone().unwrap_or_else(|| "–".to_owned()),
                format_of(image),
                image.target.as_ref().map_or("–".to_owned(), |target| match &target.ip {
                    Some(ip) if *ip != target.name => format!("{} ({ip})", target.name),
                    _ => target.name.clone(),
                }),
                image.bytes.to_string(),
                stored,
                image.kernels.as_ref().map_or("?".to_owned(), |kernels| kernels.len().to_string()),
                image.private_per_thread().map_or("?".to_owned(), |bytes| bytes.to_string()),
            ]);
        }
        table
    }

    fn left_out(&self, images: usize) -> String {
        match images.checked_sub(IMAGES) {
            Some(more @ 1..) if !self.all => format!("… {more} more; --all or --json shows them\n"),
            _ => String::new(),
        }
    }

    fn kernel_list(&self, report: &FileReport) -> String {
        let named = |kernel: &Kernel| {
            self.pattern.is_none_or(|text| {
                kernel.name.contains(text)
                    || kernel.demangled.as_ref().is_some_and(|name| name.contains(text))
            })
        };
        let mut all: Vec<(usize, &Kernel)> = report
            .images
            .iter()
            .enumerate()
            .flat_map(|(index, image)| image.kernels.iter().flatten().map(move |kernel| (index, kernel)))
            .filter(|(_, kernel)| named(kernel))
            .collect();
        if all.is_empty() {
            return match self.pattern {
                Some(text) => format!("\nno kernel's name holds \"{text}\"\n"),
                None => String::new(),
            };
        }
        let total = all.len();
        let shown = if self.kernels || self.pattern.is_some() { total } else { KERNELS };
        if shown < total {
            // Stable: equal sizes stay in the file's order.
            all.sort_by_key(|(_, kernel)| std::cmp::Reverse(kernel.private_surface));
        }
        let mut out = match shown < total {
            true => {
                format!("\nkernels with the most private memory ({shown} of {total}; --kernels lists all)\n")
            }
            false => "\nkernels\n".to_owned(),
        };
        let header = ["image", "SIMD", "GRF", "private", "spill", "SLM", "args", "kernel"];
        let mut table = new_table(&header, &[0, 1, 2, 3, 4, 5, 6]);
        table.set_width(self.width.clamp(80, 160)).set_content_arrangement(ContentArrangement::Dynamic);
        for (index, kernel) in all.into_iter().take(shown) {
            let number = |value: Option<u64>| value.map_or("?".to_owned(), |value| value.to_string());
            table.add_row([
                index.to_string(),
                number(kernel.simd_size.map(u64::from)),
                number(kernel.grf_count.map(u64::from)),
                number(kernel.private_size),
                number(kernel.spill_size),
                number(kernel.slm_size),
                if kernel.simd_size.is_some() { kernel.arguments.len().to_string() } else { "?".to_owned() },
                kernel.demangled.clone().unwrap_or_else(|| kernel.name.clone()),
            ]);
        }
        let _ = writeln!(out, "{table}");
        out
    }
}

fn format_of(image: &Image) -> String {
    match &image.spirv {
        Some(spirv) => format!("SPIR-V {}", spirv.version),
        None => image.format.name().to_owned(),
    }
}

fn totals(report: &FileReport) -> String {
    if report.images.is_empty() {
        return "no device image".to_owned();
    }
    let mut kinds: BTreeMap<&str, usize> = BTreeMap::new();
    for image in &report.images {
        *kinds.entry(image.format.name()).or_default() += 1;
    }
    let kinds: Vec<String> = kinds.into_iter().map(|(name, count)| format!("{count} {name}")).collect();
    format!("{} device images ({})", report.images.len(), kinds.join(", "))
}

/// One line for each card: how many of its modules the driver would put on the per-dispatch path.
fn predicted(report: &FileReport, predictions: &[Vec<Prediction>]) -> String {
    let mut cards: BTreeMap<&str, Vec<(usize, &Placement)>> = BTreeMap::new();
    for (index, list) in predictions.iter().enumerate() {
        for each in list {
            cards.entry(&each.device).or_default().push((index, &each.placement));
        }
    }
    let mut out = String::new();
    for (card, placements) in cards {
        let over: Vec<String> = placements
            .iter()
            .filter_map(|(index, placement)| match placement {
                Placement::PerDispatch { needed } => Some(format!("image {index} ({needed} bytes)")),
                _ => None,
            })
            .collect();
        let under = placements
            .iter()
            .filter(|(_, placement)| matches!(placement, Placement::PerKernel { .. }))
            .count();
        let text = match (over.len(), under) {
            (0, 0) if report.images.iter().any(|image| image.spirv.is_some()) => {
                "no native code for it: the driver compiles the SPIR-V, and private memory shows only then"
                    .to_owned()
            }
            (0, 0) => "no native code for it".to_owned(),
            (0, under) => format!("none of {under} native modules goes on the per-dispatch path"),
            (many, _) => {
                let first: Vec<&str> = over.iter().take(5).map(String::as_str).collect();
                let more = if many > 5 { format!(" and {} more", many - 5) } else { String::new() };
                format!("PER-DISPATCH path for {}{more}", first.join(", "))
            }
        };
        let _ = writeln!(out, "  {card}: {text}");
    }
    if out.is_empty() { out } else { format!("\nprivate memory, predicted\n{out}") }
}

fn new_table(header: &[&str], right: &[usize]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(header.to_vec());
    for column in right {
        if let Some(column) = table.column_mut(*column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}
