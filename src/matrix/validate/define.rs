//! The named tables on their own: variants, sources, key sets, workloads.

use std::collections::BTreeMap;
use std::ops::Range;

use super::super::Problem;
use super::super::load::{Named, shorten};
use super::super::problem::Problems;
use super::super::schema::{KeyTable, SourceTable, VariantTable, WorkloadTable};
use super::super::units::At;
use super::{DEFAULT, good_name};
use crate::model::arm::{
    CommandListKind, CopyEngine, FrontEnd, KeySet, Mapping, Medium, ModuleFormat, PageCache, Prot, Source,
    SourceKind, Split, Variant, Workload,
};

/// The argument block has 21·B+80 bytes; NEO's limit on kernel parameters is 2,048 (device_caps.cpp,
/// `maxParameterSize`), and B is a multiple of 8.
pub const LARGEST_BATCH: u32 = 88;
/// The limits of `build::source`, said here with a place in the file; `tests/plan` compares the two.
pub const MOST_KERNELS: u32 = 8_192;
pub const MOST_PADDING: u32 = 100_000;
/// Copies of one round, and rounds: 2^32 copies would never end.
const MOST_COPIES: u32 = 10_000_000;
const PAGE: u64 = 4096;
const MIB: u64 = 1 << 20;
/// Nothing here is larger than a terabyte.
const LARGEST_SIZE: u64 = 1 << 40;

/// The value, or the default; out of range is a problem.
fn number(
    value: Option<&At<u32>>,
    default: u32,
    range: std::ops::RangeInclusive<u32>,
    what: &str,
    problems: &mut Problems<'_>,
) -> u32 {
    let Some(value) = value else { return default };
    if !range.contains(value.get()) {
        let message = format!("{what} is {} to {}, not {}", range.start(), range.end(), value.get());
        problems.push(Problem::new(value.span(), message));
    }
    *value.get()
}

pub fn variants(tables: &Named<VariantTable>, problems: &mut Problems<'_>) -> BTreeMap<String, Variant> {
    let mut defined = BTreeMap::new();
    for (name, (at, table)) in tables {
        good_name(name, at.clone(), "the name of a variant", problems);
        let front_end = table.front_end.unwrap_or(FrontEnd::LevelZero);
        if table.kernels.is_none() && front_end != FrontEnd::Command {
            problems.push(
                Problem::new(at.clone(), format!("[variants.{}] needs `kernels`", shorten(name)))
                    .help("kernels = N: private-memory kernels in the module"),
            );
        }
        let kernels = number(table.kernels.as_ref(), 0, 1..=MOST_KERNELS, "kernels", problems);
        let batch_size = number(table.batch_size.as_ref(), 64, 8..=LARGEST_BATCH, "batch_size", problems);
        if let Some(batch) = &table.batch_size
            && !batch_size.is_multiple_of(8)
            && batch_size <= LARGEST_BATCH
        {
            let (below, above) = (batch_size / 8 * 8, batch_size / 8 * 8 + 8);
            let problem =
                Problem::new(batch.span(), format!("batch_size is a multiple of 8, not {batch_size}"));
            let near = if below == 0 { format!("{above}") } else { format!("{below} or {above}") };
            problems.push(problem.label(near));
        }
        let simd = table.simd.as_ref().map_or(16, |simd| *simd.get());
        if let Some(at) = &table.simd
            && !matches!(simd, 16 | 32)
        {
            problems.push(Problem::new(at.span(), format!("simd is 16 or 32, not {simd}")));
        }
        let mut options = Vec::new();
        for option in table.options.iter().flatten() {
            if option.get().is_empty() || option.get().chars().any(char::is_control) {
                problems.push(Problem::new(option.span(), "not a compiler option"));
            }
            options.push(option.get().clone());
        }
        let variant = Variant {
            name: name.clone(),
            front_end,
            command: super::command::command(name, at, table, front_end, problems),
            kernels,
            plain_kernels: number(
                table.plain_kernels.as_ref(),
                0,
                0..=MOST_KERNELS,
                "plain_kernels",
                problems,
            ),
            batch_size,
            simd,
            padding: number(table.padding.as_ref(), 0, 0..=MOST_PADDING, "padding", problems),
            split: table.split.unwrap_or(Split::Off),
            compile: table.compile.unwrap_or_default(),
            format: table.format.unwrap_or(ModuleFormat::Native),
            options,
        };
        defined.insert(name.clone(), variant);
    }
    defined
}

pub fn sources(tables: &Named<SourceTable>, problems: &mut Problems<'_>) -> BTreeMap<String, Source> {
    let mut defined = BTreeMap::new();
    for (name, (at, table)) in tables {
        good_name(name, at.clone(), "the name of a source", problems);
        let kind = *table.kind.get();
        let word = kind.word();
        // A field that would change nothing is a misunderstanding: the arm would not be what its author thinks.
        let mut no_meaning = |span: Option<Range<usize>>, field: &str, why: &str| {
            if let Some(span) = span {
                problems.push(Problem::new(
                    span,
                    format!("`{field}` has no meaning for kind = \"{word}\": {why}"),
                ));
            }
        };
        let mapped = matches!(kind, SourceKind::File | SourceKind::Anon);
        if !mapped {
            no_meaning(table.mapping.as_ref().map(At::span), "mapping", "nothing is mapped");
        }
        if kind != SourceKind::File {
            no_meaning(table.page_cache.as_ref().map(At::span), "page_cache", "there is no file");
            no_meaning(table.medium.as_ref().map(At::span), "medium", "there is no file");
        }
        if kind == SourceKind::None {
            no_meaning(table.prot.as_ref().map(At::span), "prot", "nothing is read");
            no_meaning(table.size.as_ref().map(At::span), "size", "nothing is read");
        }
        let prot =
            match (kind, &table.prot) {
                (SourceKind::File | SourceKind::Anon, None) => {
                    let problem = Problem::new(
                        table.kind.span(),
                        format!("source \"{}\" must say its protection", shorten(name)),
                    );
                    problems.push(problem.label("add prot = \"r\" or prot = \"rw\"").help(
                        "a userptr bind fails on a read-only mapping, so this decides what the copies do",
                    ));
                    Prot::R
                }
                (SourceKind::Host, Some(prot)) if *prot.get() == Prot::R => {
                    problems.push(Problem::new(prot.span(), "malloc'd memory is writable: prot is \"rw\""));
                    Prot::Rw
                }
                (_, Some(prot)) => *prot.get(),
                (SourceKind::Host | SourceKind::None, None) => Prot::Rw,
            };
        let page_cache = table.page_cache.as_ref().map_or(PageCache::Warm, |cache| *cache.get());
        let medium = table.medium.as_ref().map_or(Medium::Disk, |medium| *medium.get());
        if let Some(cache) = &table.page_cache
            && page_cache == PageCache::Cold
            && medium == Medium::Tmpfs
        {
            problems.push(Problem::new(
                cache.span(),
                "a file on tmpfs cannot be cold: the page cache is where it lives",
            ));
        }
        let size = table.size.as_ref().map_or(64 * MIB, |size| size.get().0);
        if let Some(at) = &table.size
            && !(PAGE..=LARGEST_SIZE).contains(&size)
        {
            problems.push(Problem::new(at.span(), "size is one page (4KiB) to 1TiB (1024GiB)"));
        }
        let mapping = table.mapping.as_ref().map_or(Mapping::Private, |mapping| *mapping.get());
        let size = if kind == SourceKind::None { 0 } else { size };
        defined.insert(
            name.clone(),
            Source { name: name.clone(), kind, mapping, prot, page_cache, medium, size },
        );
    }
    defined
}

pub fn keys(tables: &Named<KeyTable>, problems: &mut Problems<'_>) -> BTreeMap<String, KeySet> {
    let mut defined = BTreeMap::from([(DEFAULT.to_owned(), empty_keys())]);
    for (name, (at, table)) in tables {
        good_name(name, at.clone(), "the name of a debug-key set", problems);
        if table.expect_unknown && table.keys.is_empty() {
            problems
                .push(Problem::new(at.clone(), "expect_unknown without a debug key: nothing is looked for"));
        }
        let mut keys = BTreeMap::new();
        for (key, value) in &table.keys {
            debug_key(key, value.get().0.as_str(), value.span(), problems);
            keys.insert(key.clone(), value.get().0.clone());
        }
        let set = KeySet { name: name.clone(), keys, expect_unknown: table.expect_unknown };
        defined.insert(name.clone(), set);
    }
    defined
}

fn empty_keys() -> KeySet {
    KeySet { name: DEFAULT.to_owned(), keys: BTreeMap::new(), expect_unknown: false }
}

fn debug_key(key: &str, value: &str, at: Range<usize>, problems: &mut Problems<'_>) {
    let shaped = key.starts_with(|c: char| c.is_ascii_uppercase())
        && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if !shaped {
        let problem = Problem::new(at, format!("\"{}\" is not a debug key", shorten(key)));
        problems.push(problem.help(
            "debug keys are spelt as the driver spells them, capital first: MakeEachAllocationResident; \
             the set's own setting is expect_unknown",
        ));
        return;
    }
    if key == "NEOReadDebugKeys" {
        problems.push(Problem::new(at, "NEOReadDebugKeys is set for every run; without it no key is read"));
        return;
    }
    let hex = value.strip_prefix("0x").or_else(|| value.strip_prefix("0X"));
    if hex.is_some_and(|digits| !digits.is_empty() && digits.chars().all(|c| c.is_ascii_hexdigit())) {
        let problem =
            Problem::new(at, format!("the driver reads {key} = \"{value}\" from the environment as 0"));
        problems.push(problem.help("environment values are decimal only; write the number without quotes"));
    } else if value.chars().any(char::is_control) {
        problems.push(Problem::new(at, format!("the value of {key} has a control character")));
    }
}

pub fn workloads(tables: &Named<WorkloadTable>, problems: &mut Problems<'_>) -> BTreeMap<String, Workload> {
    let usual = workload(DEFAULT, &WorkloadTable::default(), problems);
    let mut defined = BTreeMap::from([(DEFAULT.to_owned(), usual)]);
    for (name, (at, table)) in tables {
        good_name(name, at.clone(), "the name of a workload", problems);
        let workload = workload(name, table, problems);
        if workload.skip_upload {
            // `skip_upload` means that nothing happens between the kernel runs, so the rest would not be done.
            let idle = [
                ("no_copy", table.no_copy.as_ref().filter(|at| *at.get()).map(At::span)),
                ("late_module", table.late_module.as_ref().filter(|at| *at.get()).map(At::span)),
                ("copies", table.copies.as_ref().map(At::span)),
                ("repeat", table.repeat.as_ref().map(At::span)),
            ];
            for (field, span) in idle {
                if let Some(span) = span {
                    problems
                        .push(Problem::new(span, format!("`{field}` has no effect with skip_upload = true")));
                }
            }
        } else if workload.no_copy
            && let Some(late) = &table.late_module
            && *late.get()
        {
            problems.push(Problem::new(late.span(), "late_module needs copies, and no_copy makes none"));
        }
        defined.insert(name.clone(), workload);
    }
    defined
}

fn workload(name: &str, table: &WorkloadTable, problems: &mut Problems<'_>) -> Workload {
    let flag = |value: &Option<At<bool>>, default: bool| value.as_ref().map_or(default, |value| *value.get());
    let chunk = table.chunk.as_ref().map_or(11 * MIB, |chunk| chunk.get().0);
    if let Some(at) = &table.chunk
        && (chunk == 0 || chunk > LARGEST_SIZE || !chunk.is_multiple_of(4))
    {
        problems.push(Problem::new(
            at.span(),
            "chunk is a multiple of 4 bytes, more than nothing, at most 1024GiB",
        ));
    }
    let mut memory = |value: &Option<At<super::super::units::Size>>, what: &str| {
        let Some(size) = value else { return 0 };
        let bytes = size.get().0;
        if bytes > LARGEST_SIZE || !bytes.is_multiple_of(PAGE) {
            problems
                .push(Problem::new(size.span(), format!("{what} is whole pages of 4KiB, at most 1024GiB")));
        }
        bytes
    };
    let (guard, ballast) = (memory(&table.guard, "guard"), memory(&table.ballast, "ballast"));
    let elements = table.elements.as_ref().map_or(131_072, |elements| *elements.get());
    if let Some(at) = &table.elements
        && (elements == 0 || !elements.is_multiple_of(2) || elements > 1 << 28)
    {
        problems
            .push(Problem::new(at.span(), "elements is even (half per input), more than 0, at most 2^28"));
    }
    Workload {
        name: name.to_owned(),
        copies: number(table.copies.as_ref(), 942, 1..=MOST_COPIES, "copies", problems),
        chunk,
        same_src: flag(&table.same_src, true),
        one_alloc: flag(&table.one_alloc, true),
        no_copy: flag(&table.no_copy, false),
        skip_upload: flag(&table.skip_upload, false),
        repeat: number(table.repeat.as_ref(), 1, 1..=100_000, "repeat", problems),
        guard,
        ballast,
        late_module: flag(&table.late_module, false),
        command_list: table.command_list.unwrap_or(CommandListKind::Immediate),
        copy_engine: table.copy_engine.unwrap_or(CopyEngine::Compute),
        elements,
    }
}
