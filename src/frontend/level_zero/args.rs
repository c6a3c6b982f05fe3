//! Arguments of the Level Zero reproducer, and how an arm becomes them.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::model::arm::{
    CommandListKind, CopyEngine, Mapping, PageCache, Prot, Source, SourceKind, Variant, Workload,
};

/// The Level Zero reproducer: two runs of a private-memory kernel with host-to-device copies between them.
///
/// Exit status: 0 every element as computed on the host; 1 some are not; 2 wrong usage; 3 no usable driver or device;
/// 4 a driver call failed; 5 an input could not be read or the result not be written; 143 ended by SIGTERM.
#[derive(Debug, clap::Args)]
pub struct LevelZeroArgs {
    /// Module to load, zebin or SPIR-V; several in the order given. The first that has the kernel is used.
    #[arg(long = "module", required = true, value_name = "FILE")]
    pub modules: Vec<PathBuf>,
    /// Private-memory kernel that is run and checked: `priv` and a number.
    #[arg(long, default_value = "priv0")]
    pub kernel: String,
    /// Entries of the kernel's argument block (BATCH_SIZE of the build).
    #[arg(long, value_name = "B", default_value_t = 64)]
    pub block_entries: u32,
    /// Where the copied bytes come from.
    #[arg(long, value_enum, default_value = "file")]
    pub source: SourceArg,
    /// File to map for `--source file`; its contents are never used.
    #[arg(long, value_name = "PATH")]
    pub file: Option<PathBuf>,
    /// Protection of the memory that is copied from [default: r for a file, rw for others].
    #[arg(long, value_enum)]
    pub prot: Option<ProtArg>,
    /// MAP_SHARED instead of MAP_PRIVATE.
    #[arg(long)]
    pub shared: bool,
    /// Every copy reads the same region.
    #[arg(long)]
    pub same_src: bool,
    /// One device allocation instead of one for each copy.
    #[arg(long)]
    pub one_alloc: bool,
    /// Allocate but never copy.
    #[arg(long)]
    pub no_copy: bool,
    /// Short for `--source host`: copy from malloc'd memory.
    #[arg(long, conflicts_with = "anon_mmap")]
    pub host_src: bool,
    /// Short for `--source anon`: copy from an anonymous mapping.
    #[arg(long)]
    pub anon_mmap: bool,
    /// Nothing at all between the two kernel runs.
    #[arg(long)]
    pub skip_upload: bool,
    /// Leave the page cache warm (it is, unless --cold is given).
    #[arg(long, conflicts_with = "cold")]
    pub no_drop_cache: bool,
    /// Drop the file's pages from the page cache first (fdatasync and posix_fadvise; no privilege needed).
    #[arg(long)]
    pub cold: bool,
    /// With --cold: drop all caches of the machine too (root).
    #[arg(long, requires = "cold")]
    pub drop_caches: bool,
    /// Times the copy volume.
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub repeat: u32,
    /// Sentinel-filled device memory on either side of the destination (`8MiB`).
    #[arg(long, default_value = "0", value_name = "SIZE", value_parser = size)]
    pub guard: u64,
    /// Device memory held for the whole run (`4GiB`).
    #[arg(long, default_value = "0", value_name = "SIZE", value_parser = size)]
    pub ballast: u64,
    /// Copies in one round.
    #[arg(long, default_value_t = 942, value_name = "N")]
    pub copies: u32,
    /// Bytes of one copy.
    #[arg(long, default_value = "11MiB", value_name = "SIZE", value_parser = size)]
    pub chunk: u64,
    /// Bytes of an anonymous or malloc'd source [default: two chunks].
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub source_size: Option<u64>,
    /// Module created after the copies and checked, before a second round of copies and a check of both.
    #[arg(long, value_name = "FILE")]
    pub late_module: Option<PathBuf>,
    /// BATCH_SIZE of the late module [default: as --block-entries]. The driver uses a private surface again for every
    /// kernel of the same size, so only a module of another size has a surface of its own.
    #[arg(long, value_name = "B", requires = "late_module")]
    pub late_block_entries: Option<u32>,
    /// Kind of command list.
    #[arg(long, value_enum, default_value = "immediate")]
    pub list: ListArg,
    /// Engine of the copies between the kernel runs.
    #[arg(long, value_enum, default_value = "compute")]
    pub engine: EngineArg,
    /// Elements of the checked output, half of them for each of two inputs.
    #[arg(long, default_value_t = 131_072, value_name = "N", value_parser = elements)]
    pub elements: u32,
    /// Level Zero loader to open [default: $REPRO_MATRIX_ZE_LOADER, else libze_loader.so.1].
    #[arg(long, value_name = "FILE")]
    pub loader: Option<PathBuf>,
    /// PCI address of the device (`0000:09:00.0`) [default: the first GPU].
    #[arg(long, value_name = "ADDRESS")]
    pub pci: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum SourceArg {
    File,
    Anon,
    Host,
    None,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum ProtArg {
    R,
    Rw,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum ListArg {
    Immediate,
    Regular,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum EngineArg {
    Compute,
    Copy,
}

impl LevelZeroArgs {
    pub fn source_kind(&self) -> SourceKind {
        match (self.host_src, self.anon_mmap, self.source) {
            (true, _, _) => SourceKind::Host,
            (_, true, _) => SourceKind::Anon,
            (_, _, SourceArg::File) => SourceKind::File,
            (_, _, SourceArg::Anon) => SourceKind::Anon,
            (_, _, SourceArg::Host) => SourceKind::Host,
            (_, _, SourceArg::None) => SourceKind::None,
        }
    }

    /// The seed's reproducer maps files read-only and has all other memory writable.
    pub fn protection(&self) -> Prot {
        match (self.prot, self.source_kind()) {
            (Some(ProtArg::R), _) | (None, SourceKind::File) => Prot::R,
            (Some(ProtArg::Rw), _) | (None, _) => Prot::Rw,
        }
    }
}

/// The module for the second half of a late-module arm.
#[derive(Clone, Copy, Debug)]
pub struct LateModule<'a> {
    pub path: &'a Path,
    pub batch_size: u32,
}

/// The arguments (after `repro-matrix level-zero`) that run one arm. `file` is where the harness put the source file.
/// An arm with `late_module` needs one: without it the flag is left out, and the arm is not what it says.
pub fn for_arm(
    variant: &Variant,
    source: &Source,
    workload: &Workload,
    modules: &[PathBuf],
    file: Option<&Path>,
    late_module: Option<LateModule<'_>>,
) -> Vec<OsString> {
    let mut args: Vec<OsString> = Vec::new();
    let mut put = |name: &str, value: OsString| args.extend([OsString::from(name), value]);
    for module in modules {
        put("--module", module.into());
    }
    put("--block-entries", variant.batch_size.to_string().into());
    put("--source", source.kind.word().into());
    if let (SourceKind::File, Some(file)) = (source.kind, file) {
        put("--file", file.into());
    }
    put("--prot", if source.prot == Prot::R { "r" } else { "rw" }.into());
    put("--source-size", source.size.to_string().into());
    put("--repeat", workload.repeat.to_string().into());
    put("--guard", workload.guard.to_string().into());
    put("--ballast", workload.ballast.to_string().into());
    put("--copies", workload.copies.to_string().into());
    put("--chunk", workload.chunk.to_string().into());
    put("--elements", workload.elements.to_string().into());
    let list = match workload.command_list {
        CommandListKind::Immediate => "immediate",
        CommandListKind::Regular => "regular",
    };
    put("--list", list.into());
    let engine = match workload.copy_engine {
        CopyEngine::Compute => "compute",
        CopyEngine::Copy => "copy",
    };
    put("--engine", engine.into());
    if let (true, Some(late)) = (workload.late_module, late_module) {
        put("--late-module", late.path.into());
        put("--late-block-entries", late.batch_size.to_string().into());
    }
    let flags = [
        ("--shared", source.mapping == Mapping::Shared),
        ("--cold", source.kind == SourceKind::File && source.page_cache == PageCache::Cold),
        ("--same-src", workload.same_src),
        ("--one-alloc", workload.one_alloc),
        ("--no-copy", workload.no_copy),
        ("--skip-upload", workload.skip_upload),
    ];
    args.extend(flags.into_iter().filter(|(_, on)| *on).map(|(name, _)| OsString::from(name)));
    args
}

/// Bytes, with an optional binary unit: `4096`, `11MiB`, `4GiB`.
pub fn size(text: &str) -> Result<u64, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match &text[digits.len()..] {
        "" | "B" => 1,
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1u64 << 30,
        other => return Err(format!("unknown unit `{other}`: B, KiB, MiB or GiB")),
    };
    let number: u64 = digits.trim().parse().map_err(|_| format!("`{digits}` is not a whole number"))?;
    number.checked_mul(unit).ok_or_else(|| "too big".to_owned())
}

fn elements(text: &str) -> Result<u32, String> {
    match text.parse::<u32>() {
        Ok(n) if n >= 2 && n % 2 == 0 && n <= 1 << 26 => Ok(n),
        _ => Err("an even number from 2 to 67108864".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build::source::tests::variant;
    use crate::model::arm::Medium;
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        args: LevelZeroArgs,
    }

    fn parse(words: &[&str]) -> LevelZeroArgs {
        let line = ["x", "--module", "m.bin"].iter().chain(words);
        Line::try_parse_from(line).unwrap_or_else(|e| panic!("{e}")).args
    }

    #[test]
    fn the_seeds_command_line_is_taken() {
        let args = parse(&["--file", "/tmp/src.bin", "--same-src", "--one-alloc", "--no-drop-cache"]);
        assert_eq!((args.copies, args.chunk, args.elements, args.repeat), (942, 11 << 20, 131_072, 1));
        assert_eq!((args.source_kind(), args.protection()), (SourceKind::File, Prot::R));
        assert!(!args.cold && args.same_src && args.one_alloc);
        let anon = parse(&["--anon-mmap"]);
        assert_eq!((anon.source_kind(), anon.protection()), (SourceKind::Anon, Prot::Rw));
        assert_eq!(parse(&["--host-src"]).source_kind(), SourceKind::Host);
        assert_eq!(parse(&["--ballast", "4GiB", "--guard", "8MiB"]).ballast, 4 << 30);
    }

    #[test]
    fn contradictions_and_nonsense_are_refused() {
        for words in [
            &["--no-drop-cache", "--cold"][..],
            &["--host-src", "--anon-mmap"],
            &["--drop-caches"],
            &["--elements", "3"],
            &["--chunk", "11MB"],
            &["--chunk", "99999999999GiB"],
            &["--repeat", "0"],
        ] {
            let line = ["x", "--module", "m.bin"].iter().chain(words);
            assert!(Line::try_parse_from(line).is_err(), "{words:?}");
        }
        assert!(Line::try_parse_from(["x"]).is_err(), "a module is needed");
    }

    #[test]
    fn an_arm_comes_back_from_its_arguments() {
        let source = Source {
            name: "s".into(),
            kind: SourceKind::File,
            mapping: Mapping::Shared,
            prot: Prot::Rw,
            page_cache: PageCache::Cold,
            medium: Medium::Disk,
            size: 1 << 30,
        };
        let workload = Workload {
            name: "w".into(),
            copies: 12,
            chunk: 1 << 20,
            same_src: true,
            one_alloc: false,
            no_copy: true,
            skip_upload: false,
            repeat: 3,
            guard: 8 << 20,
            ballast: 4 << 30,
            late_module: true,
            command_list: CommandListKind::Regular,
            copy_engine: CopyEngine::Copy,
            elements: 4096,
        };
        let modules = [PathBuf::from("a.bin"), PathBuf::from("b.bin")];
        let words = for_arm(
            &variant(1, 32),
            &source,
            &workload,
            &modules,
            Some(Path::new("/f")),
            Some(LateModule { path: Path::new("late"), batch_size: 16 }),
        );
        let line = std::iter::once(OsString::from("x")).chain(words);
        let args = Line::try_parse_from(line).unwrap_or_else(|e| panic!("{e}")).args;
        assert_eq!(args.modules, modules);
        assert_eq!((args.block_entries, args.copies, args.chunk, args.repeat), (32, 12, 1 << 20, 3));
        assert_eq!((args.guard, args.ballast, args.elements), (8 << 20, 4 << 30, 4096));
        assert_eq!(
            (args.source_kind(), args.protection(), args.shared, args.cold),
            (SourceKind::File, Prot::Rw, true, true)
        );
        assert_eq!(
            (args.same_src, args.one_alloc, args.no_copy, args.skip_upload),
            (true, false, true, false)
        );
        assert_eq!((args.list, args.engine), (ListArg::Regular, EngineArg::Copy));
        assert_eq!(args.file.as_deref(), Some(Path::new("/f")));
        assert_eq!(
            (args.late_module.as_deref(), args.late_block_entries),
            (Some(Path::new("late")), Some(16))
        );
    }
}
