//! The matrices that come with the project: valid, and complete against the report they are made from.

use std::path::Path;

use repro_matrix::matrix::{self, expand};
use repro_matrix::model::arm::{
    Arm, CommandListKind, CopyEngine, ExpectedVerdict, Mapping, Medium, PageCache, Prot, SourceKind, Split,
};

fn arms(file: &str) -> Vec<Arm> {
    let matrix = matrix::load(Path::new(file)).unwrap_or_else(|error| panic!("{:#?}", error.problems()));
    let kept = |candidate: &expand::Candidate| candidate.excluded.is_none();
    expand::expand(&matrix).into_iter().filter(kept).map(|candidate| candidate.arm).collect()
}

fn verdict(arm: &Arm) -> Option<ExpectedVerdict> {
    arm.expect.as_ref().map(|expect| expect.verdict)
}

/// Bytes a hardware thread, as IGC gives them on DG2 (report, table of section 1); simd 32 doubles them.
fn private_size(arm: &Arm) -> u64 {
    let size = match arm.variant.batch_size {
        64 => 22_784,
        32 => 12_032,
        16 => 6_656,
        other => panic!("no private size known for batch_size {other}"),
    };
    size * u64::from(arm.variant.simd) / 16
}

/// Hardware threads of an A770, and 95 % of its memory.
const THREADS: u64 = 4_096;
const GLOBAL_MEMORY: u64 = 16_225_245_593;

/// The expectations of every arm agree with the arithmetic of the threshold and with the kernel's rule for userptr
/// binds: two facts that the file does not spell out.
#[test]
fn expectations_follow_threshold_and_protection() {
    for file in ["matrices/dg2-private.toml", "matrices/smoke.toml"] {
        for arm in arms(file) {
            let Some(expect) = &arm.expect else { continue };
            let unit = |key: &str| arm.keys.keys.get(key).map(String::as_str);
            let threads = unit("OverrideNumComputeUnitsForScratch")
                .map_or(THREADS, |units| units.parse().expect("a number of threads"));
            let kernels =
                if arm.variant.split == Split::PerKernel { 1 } else { u64::from(arm.variant.kernels) };
            let over = kernels * private_size(&arm) * threads > GLOBAL_MEMORY;
            if let Some(per_dispatch) = expect.per_dispatch {
                assert_eq!(per_dispatch, over, "{}: per_dispatch", arm.id);
            }
            let copies = !arm.workload.no_copy && !arm.workload.skip_upload;
            let refused = copies
                && arm.source.prot == Prot::R
                && matches!(arm.source.kind, SourceKind::File | SourceKind::Anon);
            let corrupt = over
                && refused
                && unit("MakeEachAllocationResident").is_none()
                && arm.workload.command_list == CommandListKind::Immediate;
            assert_eq!(expect.verdict == ExpectedVerdict::Corrupt, corrupt, "{}: verdict", arm.id);
            if let Some(hazard) = expect.hazard {
                assert_eq!(hazard, corrupt, "{}: hazard", arm.id);
            }
        }
    }
}

/// Each row of the report's tables and of the issue's list, as a condition that some arm must meet.
#[test]
fn every_row_of_the_report_is_an_arm() {
    use ExpectedVerdict::{Clean, Corrupt, Hang, WrongBefore};
    let arms = arms("matrices/dg2-private.toml");
    let row = |what: &str, want: Option<ExpectedVerdict>, fits: &dyn Fn(&Arm) -> bool| {
        let found: Vec<&Arm> = arms.iter().filter(|arm| fits(arm)).collect();
        assert!(!found.is_empty(), "no arm for: {what}");
        if want.is_some() {
            for arm in found {
                assert_eq!(verdict(arm), want, "{what}: {}", arm.id);
            }
        }
    };
    let over = |arm: &Arm| arm.variant.name == "over" && arm.keys.keys.is_empty();
    let plain =
        |arm: &Arm| arm.keys.keys.is_empty() && arm.workload.name == "default" && arm.source.name == "file-r";
    for (kernels, batch, want) in [
        (173, 64, Clean),
        (174, 64, Corrupt),
        (329, 32, Clean),
        (330, 32, Corrupt),
        (595, 16, Clean),
        (596, 16, Corrupt),
    ] {
        row(&format!("boundary {kernels}"), Some(want), &|arm| {
            let variant = &arm.variant;
            plain(arm)
                && variant.kernels == kernels
                && variant.batch_size == batch
                && variant.split == Split::Off
        });
    }
    row("per_kernel", Some(Clean), &|arm| {
        arm.variant.kernels == 174 && arm.variant.split == Split::PerKernel
    });
    row("16-kernel big image", Some(Clean), &|arm| arm.variant.kernels == 16 && arm.variant.padding > 0);
    row("255 + 1", Some(Clean), &|arm| arm.variant.kernels == 1 && arm.variant.plain_kernels == 255);
    row("128 kernels", Some(Clean), &|arm| arm.variant.kernels == 128 && plain(arm));
    for (gib, variant, want) in
        [(4_u64, "over", Corrupt), (8, "over", Corrupt), (4, "under", Clean), (8, "under", Clean)]
    {
        row("ballast", Some(want), &|arm| arm.workload.ballast == gib << 30 && arm.variant.name == variant);
    }
    for (kind, mapping, prot, want) in [
        (SourceKind::File, Mapping::Private, Prot::R, Corrupt),
        (SourceKind::File, Mapping::Private, Prot::Rw, Clean),
        (SourceKind::Anon, Mapping::Private, Prot::R, Corrupt),
        (SourceKind::Anon, Mapping::Private, Prot::Rw, Clean),
        (SourceKind::File, Mapping::Shared, Prot::R, Corrupt),
        (SourceKind::File, Mapping::Shared, Prot::Rw, Clean),
        (SourceKind::Host, Mapping::Private, Prot::Rw, Clean),
    ] {
        row(&format!("{kind:?} {mapping:?} {prot:?}"), Some(want), &|arm| {
            let source = &arm.source;
            over(arm)
                && arm.workload.name == "default"
                && (source.kind, source.mapping, source.prot) == (kind, mapping, prot)
        });
    }
    row("tmpfs", Some(Corrupt), &|arm| arm.source.medium == Medium::Tmpfs);
    row("cold cache", Some(Corrupt), &|arm| arm.source.page_cache == PageCache::Cold);
    row("942 allocations", Some(Corrupt), &|arm| !arm.workload.one_alloc && !arm.workload.no_copy);
    row("942 allocations, no copies", Some(Clean), &|arm| !arm.workload.one_alloc && arm.workload.no_copy);
    row("nothing between", Some(Clean), &|arm| arm.workload.skip_upload);
    row("12 × anonymous", Some(Clean), &|arm| {
        arm.workload.copies * arm.workload.repeat == 11_304 && arm.source.kind == SourceKind::Anon
    });
    row("guard", Some(Corrupt), &|arm| arm.workload.guard == 8 << 20);
    row("late module", Some(Corrupt), &|arm| arm.workload.late_module);
    row("regular list", Some(Clean), &|arm| arm.workload.command_list == CommandListKind::Regular);
    row("copy engine", None, &|arm| arm.workload.copy_engine == CopyEngine::Copy);
    for (key, value, kernels, want) in [
        ("MakeEachAllocationResident", "2", 174, Clean),
        ("MakeEachAllocationResident", "1", 174, Hang),
        ("OverrideNumComputeUnitsForScratch", "8192", 128, Corrupt),
        ("OverrideNumComputeUnitsForScratch", "2048", 174, WrongBefore),
        ("DisableScratchPages", "1", 174, Corrupt),
        ("EnableCopyWithStagingBuffers", "0", 174, Corrupt),
        ("EnableCopyWithStagingBuffers", "1", 174, Clean),
        ("TreatNonUsmForTransfersAsSharedSystem", "0", 174, Corrupt),
        ("TreatNonUsmForTransfersAsSharedSystem", "1", 174, Corrupt),
        ("EnableBOMmapCreate", "0", 174, Corrupt),
        ("EnableDeviceUsmAllocationPool", "0", 174, Corrupt),
        ("EnableUsmAllocationPoolManager", "0", 174, Corrupt),
        ("EnableDirectSubmission", "0", 174, Corrupt),
    ] {
        row(&format!("{key}={value}"), Some(want), &|arm| {
            arm.variant.kernels == kernels && arm.keys.keys.get(key).is_some_and(|found| found == value)
        });
    }
    for key in [
        "ForcePerDispatchPrivateMemorySize",
        "AllocatePrivateMemoryPerDispatch",
        "ForceAllocatePrivateMemoryPerDispatch",
        "DisablePrivateMemoryPerDispatch",
        "EnablePrivateMemoryPerDispatch",
        "ForcePrivateMemoryPerDispatch",
        "PrivateMemoryPerDispatch",
    ] {
        row(key, Some(Corrupt), &|arm| arm.keys.expect_unknown && arm.keys.keys.contains_key(key));
    }
}

#[test]
fn the_reference_workload_is_the_report_s() {
    let arms = arms("matrices/dg2-private.toml");
    let reference = arms.iter().find(|arm| arm.positive_control).expect("a positive control");
    assert_eq!(reference.id, "over/file-r");
    // 10.04 GiB in the report, whose copies were a little smaller than 11 MiB.
    let bytes = u64::from(reference.workload.copies) * reference.workload.chunk;
    assert_eq!((reference.workload.copies, bytes), (942, 10_865_344_512));
    assert!(arms.iter().all(|arm| !arm.note.is_empty()), "every arm says which row it is");
}

#[test]
fn smoke_has_its_three_arms() {
    let ids: Vec<String> = arms("matrices/smoke.toml").into_iter().map(|arm| arm.id).collect();
    assert_eq!(ids, ["over/file-r", "under/file-r", "over/anon-rw"]);
}
