//! Expansion, selection and exclusion: no cell vanishes.

use std::collections::BTreeSet;

use proptest::prelude::*;
use repro_matrix::matrix::{self, expand};
use repro_matrix::model::arm::{FrontEnd, Observer};
use repro_matrix::plan::{self, ExcludedBy, HostFacts, Selection};

use crate::{SMALL, valid};

fn example() -> matrix::Matrix {
    valid(matrix::EXAMPLE)
}

fn plan_of(text: &str, selection: Selection, facts: HostFacts) -> plan::Plan {
    plan::plan(&valid(text), &selection, &facts)
}

#[test]
fn product_expands_excludes_and_applies_cases() {
    let plan = plan::plan(&example(), &Selection::default(), &HostFacts::default());
    let ids: Vec<&str> = plan.arms.iter().map(|arm| arm.id.as_str()).collect();
    assert_eq!(ids, ["over/file-r/short", "over/anon-rw/short", "under/file-r/short", "all-resident"]);
    assert_eq!(plan.excluded.len(), 1);
    assert_eq!(plan.excluded[0].id, "under/anon-rw/short");
    assert_eq!(plan.excluded[0].by, ExcludedBy::Matrix);
    assert_eq!(plan.excluded[0].reason, "known to be clean");
    let control: Vec<&str> =
        plan.arms.iter().filter(|arm| arm.positive_control).map(|arm| arm.id.as_str()).collect();
    assert_eq!(control, ["over/file-r/short"]);
    assert_eq!(plan.cells.len(), 12);
    assert_eq!(plan.variants().len(), 2);
}

#[test]
fn later_case_wins_field_by_field() {
    let text = format!(
        "{SMALL}[[product]]\nprefix = \"p\"\nvariants = \"over\"\nsources = \"file-r\"\nexpect = \"clean\"\nnote = \"all\"\n\
         [[product.case]]\nvariant = \"over\"\nexpect = \"corrupt\"\ntimeout = \"5s\"\n\
         [[product.case]]\nsource = \"file-r\"\nnote = \"last\"\nrepeats = 4\n"
    );
    let plan = plan_of(&text, Selection::default(), HostFacts::default());
    let arm = plan.arms.iter().find(|arm| arm.id == "p/over/file-r").expect("the product's arm");
    assert_eq!(
        arm.expect.as_ref().map(|e| e.verdict),
        Some(repro_matrix::model::arm::ExpectedVerdict::Corrupt)
    );
    assert_eq!((arm.timeout.as_secs(), arm.note.as_str(), arm.repeats), (5, "last", 4));
    assert_eq!(arm.comparison.as_deref(), Some("p"));
}

#[test]
fn id_names_only_what_differs_from_the_usual() {
    let text = format!(
        "{SMALL}[[arm]]\nvariant = \"over\"\nsource = \"file-r\"\n[[arm]]\nvariant = \"over\"\nsource = \"file-r\"\n\
         driver = \"patched\"\ndevice = \"sim:b580\"\n"
    );
    let plan = plan_of(&text, Selection::default(), HostFacts::default());
    let ids: Vec<&str> = plan.arms.iter().map(|arm| arm.id.as_str()).collect();
    assert_eq!(ids, ["over/file-r/resident2/short", "over/file-r", "over/file-r/patched/sim-b580"]);
}

#[test]
fn written_defaults_reach_the_arm() {
    let plan = plan_of(SMALL, Selection::default(), HostFacts::default());
    let arm = &plan.arms[0];
    // As docs/matrix.md states them.
    assert_eq!((arm.variant.batch_size, arm.variant.simd, arm.variant.plain_kernels), (64, 16, 0));
    assert_eq!((arm.workload.chunk, arm.workload.elements, arm.workload.copies), (11_534_336, 131_072, 3));
    assert!(arm.workload.same_src && arm.workload.one_alloc && !arm.workload.no_copy);
    assert_eq!((arm.source.size, arm.timeout.as_secs(), arm.inactivity), (67_108_864, 60, None));
    assert_eq!((arm.driver.as_str(), arm.device.as_str(), arm.repeats), ("default", "auto", 1));
    assert_eq!(arm.observers, [Observer::NeoLog, Observer::Sim, Observer::Maps]);
    assert_eq!(arm.keys.keys.get("MakeEachAllocationResident").map(String::as_str), Some("2"));
}

#[test]
fn selection_leaves_out_with_the_flag_named() {
    let selection =
        Selection { arms: vec!["over/*".into()], sources: vec!["file-?".into()], ..Selection::default() };
    let plan = plan::plan(&example(), &selection, &HostFacts::default());
    assert_eq!(plan.arms.len(), 1);
    let reason =
        |id: &str| plan.excluded.iter().find(|e| e.id == id).map(|e| e.reason.clone()).unwrap_or_default();
    assert_eq!(reason("all-resident"), "not selected by --arm over/*");
    assert_eq!(reason("over/anon-rw/short"), "not selected by --only-source file-?");
    // The matrix's own exclusion comes first.
    assert_eq!(reason("under/anon-rw/short"), "known to be clean");
}

#[test]
fn device_and_driver_stand_in_for_the_usual_only() {
    let text = format!(
        "{SMALL}[[arm]]\nid = \"other\"\nvariant = \"over\"\nsource = \"file-r\"\ndevice = \"sim:b580\"\ndriver = \"old\"\n"
    );
    let selection = Selection {
        device: Some("sim:a750".into()),
        driver: Some("patched".into()),
        repeats: Some(5),
        seed: Some(99),
        ..Selection::default()
    };
    let plan = plan_of(&text, selection, HostFacts::default());
    assert_eq!((plan.seed, plan.arms.len(), plan.cells.len()), (99, 1, 5));
    assert_eq!((plan.arms[0].device.as_str(), plan.arms[0].driver.as_str()), ("sim:a750", "patched"));
    assert!(plan.excluded[0].reason.contains("sim:b580"), "{:?}", plan.excluded);
}

#[test]
fn host_facts_exclude_with_a_reason() {
    let base = SMALL.to_owned();
    let gib = 1_u64 << 30;
    let cases: Vec<(String, HostFacts, &str)> = vec![
        (
            base.replace("prot = \"r\"", "prot = \"r\"\nmedium = \"tmpfs\""),
            HostFacts { tmpfs_room: Some(1 << 20), ..HostFacts::default() },
            "the tmpfs has 1 MiB free",
        ),
        (
            base.clone(),
            HostFacts { disk_room: Some(0), ..HostFacts::default() },
            "the disk for temporary files has 0 MiB",
        ),
        (
            base.replace("kind = \"file\"", "kind = \"anon\""),
            HostFacts { memory_available: Some(1), ..HostFacts::default() },
            "memory has 0 MiB free",
        ),
        (
            base.replace("copies = 3", "one_alloc = false"),
            HostFacts {
                auto_is_simulated: Some(true),
                memory_available: Some(4 * gib),
                ..HostFacts::default()
            },
            "it writes 10362 MiB of simulated device memory",
        ),
        (
            base.replace("copies = 3", "ballast = \"12GiB\""),
            HostFacts { device_memory: [("auto".to_owned(), 8 * gib)].into(), ..HostFacts::default() },
            "it holds 12299 MiB of device memory of 8192 MiB",
        ),
        (
            base.replace("copies = 3", "ballast = \"12GiB\"")
                .replace("expect = \"clean\"", "device = \"sim:a380\""),
            HostFacts {
                device_memory: [("auto".to_owned(), 16 * gib), ("sim:a380".to_owned(), 6 * gib)].into(),
                ..HostFacts::default()
            },
            "it holds 12299 MiB of device memory of 6144 MiB",
        ),
        (
            base.replace("expect = \"clean\"", "observers = [\"strace\"]"),
            HostFacts {
                missing_observers: [(Observer::Strace, "not in PATH".to_owned())].into(),
                ..HostFacts::default()
            },
            "it needs observer strace: not in PATH",
        ),
        (
            base.replace("kernels = 4", "kernels = 4\nfront_end = \"sycl\""),
            HostFacts {
                missing_front_ends: [(FrontEnd::Sycl, "no SYCL here".to_owned())].into(),
                ..HostFacts::default()
            },
            "no SYCL here",
        ),
        (
            base.replace("expect = \"clean\"", "driver = \"old\""),
            HostFacts { drivers: Some(["new".to_owned()].into()), ..HostFacts::default() },
            "no driver build \"old\"",
        ),
        (
            base.replace("expect = \"clean\"", "device = \"sim:a770\""),
            HostFacts { profiles: Some(["b580".to_owned()].into()), ..HostFacts::default() },
            "no simulated device \"a770\" (there are: b580)",
        ),
    ];
    for (text, facts, reason) in cases {
        let planned = plan_of(&text, Selection::default(), HostFacts::default());
        assert_eq!(planned.arms.len(), 1, "without facts nothing is left out: {reason}");
        let plan = plan_of(&text, Selection::default(), facts);
        assert!(plan.arms.is_empty() && plan.cells.is_empty(), "{reason}");
        assert_eq!(plan.excluded[0].by, ExcludedBy::Host);
        assert!(plan.excluded[0].reason.contains(reason), "{:?}", plan.excluded);
    }
}

#[test]
fn ballast_is_held_not_written() {
    let text = SMALL.replace("copies = 3", "ballast = \"8GiB\"");
    let facts =
        HostFacts { auto_is_simulated: Some(true), memory_available: Some(1 << 30), ..HostFacts::default() };
    assert_eq!(plan_of(&text, Selection::default(), facts).arms.len(), 1);
}

#[test]
fn the_simulated_trace_is_no_reason_to_leave_out_a_card() {
    let facts = HostFacts { auto_is_simulated: Some(false), ..HostFacts::default() };
    let plan = plan_of(SMALL, Selection::default(), facts);
    assert_eq!(plan.arms[0].observers, [Observer::NeoLog, Observer::Maps]);
    assert_eq!(plan.notes.len(), 1);
}

proptest! {
    /// Planned and excluded together are exactly the expanded cells, and every cell's runs are planned.
    #[test]
    fn no_cell_vanishes(
        arms in prop::collection::vec("[a-z*?/]{0,4}", 0..3),
        source in prop::option::of("[a-z*-]{0,4}"),
        room in prop::option::of(0_u64..200_000_000),
        simulated in any::<Option<bool>>(),
        strace in any::<bool>(),
    ) {
        let text = std::fs::read_to_string("matrices/dg2-private.toml").expect("readable");
        let matrix = valid(&text);
        let selection = Selection { arms, sources: source.into_iter().collect(), ..Selection::default() };
        let mut facts = HostFacts {
            auto_is_simulated: simulated,
            memory_available: room,
            tmpfs_room: room,
            ..HostFacts::default()
        };
        if strace {
            facts.missing_observers.insert(Observer::StraceSummary, "gone".into());
        }
        let plan = plan::plan(&matrix, &selection, &facts);
        let expanded: Vec<String> = expand::expand(&matrix).into_iter().map(|c| c.arm.id).collect();
        let mut found: Vec<String> = plan.arms.iter().map(|arm| arm.id.clone())
            .chain(plan.excluded.iter().map(|excluded| excluded.id.clone()))
            .collect();
        let mut all = expanded;
        all.sort();
        found.sort();
        prop_assert_eq!(&all, &found);
        prop_assert!(plan.excluded.iter().all(|excluded| !excluded.reason.is_empty()));
        let run: BTreeSet<usize> = plan.cells.iter().map(|cell| cell.arm).collect();
        prop_assert_eq!(run, (0..plan.arms.len()).collect());
    }
}

/// The reader's limits, which have a place in the file, are not wider than the generator's, which has none.
#[test]
fn what_the_reader_accepts_can_be_generated() {
    use repro_matrix::matrix::validate::limits;
    for (kernels, plain, padding) in
        [(limits::MOST_KERNELS, 0, 0), (1, limits::MOST_KERNELS, 0), (1, 0, limits::MOST_PADDING)]
    {
        let text = SMALL.replace(
            "kernels = 4",
            &format!("kernels = {kernels}\nplain_kernels = {plain}\npadding = {padding}\nbatch_size = 88"),
        );
        let plan = plan_of(&text, Selection::default(), HostFacts::default());
        let generated = repro_matrix::build::recipe::Recipe::of(&plan.arms[0].variant);
        assert!(generated.is_ok(), "{kernels} {plain} {padding}: {:?}", generated.err());
    }
}

#[test]
fn pattern_without_an_arm_is_told_though_another_has_one() {
    let ids = ["over/file-r", "over/anon-rw", "under/file-r"];
    let told = |arms: &[&str]| {
        let arms = arms.iter().map(|arm| (*arm).to_owned()).collect();
        Selection { arms, ..Selection::default() }.unmatched_arm(&ids)
    };
    assert_eq!(told(&["over/*", "under"]), None);
    assert_eq!(told(&[]), None);
    assert_eq!(
        told(&["under", "over/fle-r"]).as_deref(),
        Some("--arm over/fle-r fits no arm of the matrix; did you mean \"over/file-r\"?")
    );
    assert_eq!(
        told(&["ovre", "under"]).as_deref(),
        Some("--arm ovre fits no arm of the matrix; did you mean \"over\"?")
    );
    assert_eq!(told(&["under", "zzzz"]).as_deref(), Some("--arm zzzz fits no arm of the matrix"));
}

#[test]
fn an_expectation_has_no_answer_only_where_the_driver_is_not_here() {
    let drivers = |names: &[&str]| HostFacts {
        drivers: Some(names.iter().map(|name| (*name).to_owned()).collect()),
        memory_available: Some(0),
        ..HostFacts::default()
    };
    let anon =
        SMALL.replace("kind = \"file\"", "kind = \"anon\"").replace("[[arm]]", "[[arm]]\ndriver = \"old\"");
    let left_out = |text: &str, names| {
        let plan = plan_of(text, Selection::default(), drivers(names));
        let [out] = &plan.excluded[..] else { panic!("{:?}", plan.excluded) };
        (out.by, out.unanswered)
    };
    assert_eq!(left_out(&anon, &["new"]), (ExcludedBy::Host, true));
    assert_eq!(left_out(&anon, &["old"]), (ExcludedBy::Host, false), "no memory");
    assert_eq!(left_out(&anon.replace("expect = \"clean\"", ""), &["new"]), (ExcludedBy::Host, false));
    // Nor has one of a card that is elsewhere.
    let card = |at: &str| {
        let facts = HostFacts { cards: Some([format!("pci:{at}")].into()), ..HostFacts::default() };
        let text = SMALL.replace("[[arm]]", "[[arm]]\ndevice = \"pci:0000:09:00.0\"");
        plan_of(&text, Selection::default(), facts).excluded
    };
    assert_eq!(card("0000:09:00.0"), []);
    let [out] = &card("0000:03:00.0")[..] else { panic!("the card is not here") };
    assert!(out.unanswered && out.reason.contains("at pci:0000:09:00.0"), "{out:?}");
}
