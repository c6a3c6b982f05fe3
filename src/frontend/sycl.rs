//! The SYCL front end: how an arm becomes the arguments of the program built from `repro-kernels/sycl/private.cpp`.

use std::ffi::OsString;
use std::path::Path;

use crate::model::arm::{Mapping, PageCache, Prot, Source, SourceKind, Variant, Workload};

/// The arguments that run one arm. `bundle` is the device code where the program does not hold it; `file` is where
/// the harness put the source file.
pub fn for_arm(
    variant: &Variant,
    source: &Source,
    workload: &Workload,
    bundle: Option<&Path>,
    file: Option<&Path>,
) -> Vec<OsString> {
    let mut args: Vec<OsString> = Vec::new();
    let mut put = |name: &str, value: OsString| args.extend([OsString::from(name), value]);
    if let Some(bundle) = bundle {
        put("--bundle", bundle.into());
    }
    put("--kernels", variant.kernels.to_string().into());
    put("--block-entries", variant.batch_size.to_string().into());
    put("--source", source.kind.word().into());
    if let (SourceKind::File, Some(file)) = (source.kind, file) {
        put("--file", file.into());
    }
    put("--prot", if source.prot == Prot::R { "r" } else { "rw" }.into());
    // Without a unit the program takes guards as MiB and ballast as GiB, as the report's reproducer does.
    for (name, value) in [("--guard", workload.guard), ("--ballast", workload.ballast)] {
        put(name, format!("{value}B").into());
    }
    for (name, value) in [
        ("--source-size", source.size),
        ("--repeat", workload.repeat.into()),
        ("--copies", workload.copies.into()),
        ("--chunk", workload.chunk),
        ("--elements", workload.elements.into()),
    ] {
        put(name, value.to_string().into());
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
