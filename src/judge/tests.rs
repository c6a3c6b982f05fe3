//! The judge as a whole: one clean run, broken in one place at a time.

use std::time::Duration;

use proptest::prelude::*;

use crate::model::arm::{Arm, CommandSpec, FrontEnd, KeySet, PageCache};
use crate::model::extract::Rules;
use crate::model::facts::{CallCount, Facts, StraceFacts};
use crate::model::repro::{PageCacheState, Phase, ReproError, ReproResult};
use crate::model::verdict::{Basis, ComparedFact, RunEnd, Verdict};

use super::context::{Account, Context};
use super::fixture::{self, lose_surface};
use super::{Judgement, judge};

struct Run {
    end: RunEnd,
    account: Account,
    facts: Facts,
    arm: Arm,
    simulated: bool,
    broken: Vec<String>,
}

impl Run {
    fn clean() -> Run {
        Run {
            end: RunEnd::Exited { code: 0 },
            account: fixture::account(),
            facts: fixture::facts(),
            arm: fixture::arm(),
            simulated: true,
            broken: vec![],
        }
    }

    fn judge(&self) -> Judgement {
        let driver = fixture::driver();
        let context = Context {
            arm: &self.arm,
            simulated: self.simulated,
            hw_threads: Some(4096),
            predicted_per_dispatch: Some(true),
            driver: Some(&driver),
            broken: &self.broken,
        };
        judge(&self.end, &self.account, &self.facts, &context)
    }

    fn result(&mut self) -> &mut ReproResult {
        match &mut self.account {
            Account::Given(result) => result,
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn whole_run_is_clean_on_residency_and_instruments_agree() {
    let judged = Run::clean().judge();
    assert_eq!(judged.verdict, Verdict::Clean { basis: Basis::Residency }, "{judged:?}");
    assert_eq!(judged.disagreements, Vec::<String>::new());
    assert_eq!(judged.signature, "clean");
    assert!(judged.evidence.iter().any(|e| e.instrument == "sim" && e.says.contains("is bound")));
    assert!(judged.evidence.iter().any(|e| e.says.contains("not modelled")));
    // The elements were not compared: residency alone agrees with nothing.
    use ComparedFact::{FailedBinds, PerDispatch, PrivateSurface};
    assert_eq!(
        judged.compared.iter().map(|c| c.fact).collect::<Vec<_>>(),
        [PerDispatch, FailedBinds, PrivateSurface]
    );
    assert!(judged.compared.iter().all(|c| c.agree && c.instruments.len() == 2), "{judged:?}");
}

#[test]
fn a_fact_of_one_instrument_alone_is_not_compared() {
    let mut run = Run::clean();
    run.facts.neo = None;
    assert_eq!(run.judge().compared, vec![]);
}

#[test]
fn lost_surface_is_corrupt_on_residency_with_a_stable_signature() {
    let mut run = Run::clean();
    lose_surface(&mut run.facts);
    let judged = run.judge();
    let expected =
        Verdict::Corrupt { basis: Basis::Residency, wrong: None, untouched: None, control_wrong: None };
    assert_eq!(judged.verdict, expected);
    assert_eq!(judged.signature, "corrupt role=private-surface align=2M offset=0");
    assert_eq!(judged.disagreements, Vec::<String>::new());
}

#[test]
fn executing_device_gives_both_bases_and_the_counts() {
    let mut run = Run::clean();
    lose_surface(&mut run.facts);
    let sim = run.facts.sim.as_mut().unwrap();
    (sim.executes_kernels, sim.summary.executed) = (true, 1);
    run.end = RunEnd::Exited { code: 1 };
    let check = &mut run.result().checks[1];
    (check.wrong, check.untouched) = (131_072, 65_536);
    let judged = run.judge();
    assert_eq!(judged.verdict.word(), "harness-error", "one of two dispatches was not executed: {judged:?}");
    run.facts.sim.as_mut().unwrap().summary.executed = 2;
    let judged = run.judge();
    let expected = Verdict::Corrupt {
        basis: Basis::Both,
        wrong: Some(131_072),
        untouched: Some(65_536),
        control_wrong: Some(0),
    };
    assert_eq!(judged.verdict, expected);
    assert!(judged.signature.contains("wrong=131072 untouched=65536"), "{}", judged.signature);
}

#[test]
fn undersized_surface_is_wrong_before_the_copies() {
    let mut run = Run::clean();
    let neo = run.facts.neo.as_mut().unwrap();
    neo.compute_units = Some(2048);
    let sim = run.facts.sim.as_mut().unwrap();
    for dispatch in &mut sim.dispatches {
        dispatch.ranges[0].1 = 22_784 * 2048;
    }
    let judged = run.judge();
    assert_eq!(judged.verdict.word(), "wrong-before", "{judged:?}");
    // The driver's line alone, with a surface of full size on the device, is not enough.
    let mut run = Run::clean();
    run.facts.neo.as_mut().unwrap().compute_units = Some(2048);
    assert_eq!(run.judge().verdict.word(), "clean");
}

/// One change each; the verdict's word, and a word that the reason must name.
#[test]
fn one_thing_missing_and_it_is_not_clean() {
    type Break = fn(&mut Run);
    let cases: [(&str, Break, &str, &str); 28] = [
        ("no result", |r| r.account = Account::Missing, "harness-error", "no result"),
        ("garbled", |r| r.account = Account::Garbled("eof".into()), "harness-error", "eof"),
        ("no maps", |r| r.facts.loaded = None, "untestable", "not proved"),
        (
            "other build",
            |r| r.facts.loaded.as_mut().unwrap().libraries[0].build_id = Some("ff".into()),
            "untestable",
            "another driver",
        ),
        (
            "other path",
            |r| r.facts.loaded.as_mut().unwrap().libraries[0].path = "/usr/lib/libze_intel_gpu.so.1".into(),
            "untestable",
            "another driver",
        ),
        (
            "unidentified",
            |r| r.facts.loaded.as_mut().unwrap().libraries[0].build_id = None,
            "untestable",
            "could not be identified",
        ),
        (
            "opencl",
            |r| r.facts.loaded.as_mut().unwrap().libraries[0].path = "/d/libigdrcl.so".into(),
            "untestable",
            "OpenCL",
        ),
        (
            "pocl",
            |r| r.facts.loaded.as_mut().unwrap().libraries[0].path = "/usr/lib/libpocl.so.2.9".into(),
            "untestable",
            "OpenCL",
        ),
        (
            "opencl beside the driver",
            |r| r.result().opencl = Some("/usr/lib/libpocl.so.2.9".into()),
            "untestable",
            "libpocl.so.2.9 is mapped",
        ),
        ("no trace", |r| r.facts.sim = None, "harness-error", "no trace"),
        ("cut trace", |r| r.facts.sim.as_mut().unwrap().complete = false, "harness-error", "cut"),
        (
            "lost events",
            |r| r.facts.sim.as_mut().unwrap().summary.lost_events = 1,
            "harness-error",
            "could not write",
        ),
        (
            "odd lines",
            |r| r.facts.sim.as_mut().unwrap().not_understood = 2,
            "harness-error",
            "not understood",
        ),
        (
            "dispatch count",
            |r| r.facts.sim.as_mut().unwrap().summary.dispatches = 3,
            "harness-error",
            "2 of 3",
        ),
        ("hazard count", |r| r.facts.sim.as_mut().unwrap().summary.hazards = 1, "harness-error", "0 of 1"),
        (
            "no second dispatch",
            |r| {
                let sim = r.facts.sim.as_mut().unwrap();
                sim.dispatches.pop();
                sim.summary.dispatches = 1;
            },
            "harness-error",
            "no dispatch after",
        ),
        (
            "no first dispatch",
            |r| {
                let sim = r.facts.sim.as_mut().unwrap();
                sim.dispatches.remove(0);
                sim.summary.dispatches = 1;
            },
            "harness-error",
            "no dispatch before",
        ),
        (
            "no phases",
            |r| r.facts.sim.as_mut().unwrap().dispatches.iter_mut().for_each(|d| d.phase = None),
            "harness-error",
            "no dispatch before",
        ),
        (
            "unbound, no hazard",
            |r| r.facts.sim.as_mut().unwrap().dispatches[1].ranges[1].2 = false,
            "harness-error",
            "in no hazard",
        ),
        (
            "surface gone",
            |r| {
                r.facts.sim.as_mut().unwrap().dispatches[1].ranges.remove(0);
            },
            "harness-error",
            "by no dispatch after",
        ),
        (
            "unsupported",
            |r| {
                r.facts.sim.as_mut().unwrap().summary.unsupported_commands.insert("MI_X".into(), 1);
            },
            "harness-error",
            "MI_X",
        ),
        ("half the copies", |r| r.result().copies.done = 6, "harness-error", "6 of 12"),
        (
            "fewer asked",
            |r| {
                let c = &mut r.result().copies;
                (c.requested, c.done) = (6, 6);
            },
            "harness-error",
            "asks for 12",
        ),
        (
            "a check missing",
            |r| {
                r.result().checks.pop();
            },
            "harness-error",
            "incomplete",
        ),
        (
            "a warm page cache where a cold one was asked for",
            |r| {
                r.arm.source.page_cache = PageCache::Cold;
                r.result().page_cache = Some(PageCacheState { pages: 4, resident: 1 });
            },
            "harness-error",
            "1 of 4 pages",
        ),
        (
            "a page cache that nobody looked at",
            |r| r.arm.source.page_cache = PageCache::Cold,
            "harness-error",
            "nobody looked",
        ),
        ("dead observer", |r| r.broken.push("strace died".into()), "harness-error", "strace died"),
        ("exit code 3", |r| r.end = RunEnd::Exited { code: 3 }, "harness-error", "exit code 3"),
    ];
    for (name, change, word, reason) in cases {
        let mut run = Run::clean();
        change(&mut run);
        let judged = run.judge();
        assert_eq!(judged.verdict.word(), word, "{name}: {judged:?}");
        let text = format!("{:?}", judged.verdict);
        assert!(text.contains(reason), "{name}: {text}");
    }
}

#[test]
fn a_command_without_a_line_between_has_nothing_before() {
    let mut run = Run::clean();
    let result = run.result();
    result.one_check = true;
    result.checks.remove(0);
    result.copies = Default::default();
    let sim = run.facts.sim.as_mut().unwrap();
    sim.dispatches.remove(0);
    sim.summary.dispatches = 1;
    run.arm.variant.front_end = FrontEnd::Command;
    run.arm.variant.command = Some(CommandSpec { argv: vec!["x".into()], extract: Rules::default() });
    assert_eq!(run.judge().verdict.word(), "clean", "{:?}", run.judge());
    // Nothing at all is no run.
    let mut idle =
        Run { facts: run.facts.clone(), account: run.account.clone(), arm: run.arm.clone(), ..Run::clean() };
    let sim = idle.facts.sim.as_mut().unwrap();
    sim.dispatches.clear();
    sim.summary.dispatches = 0;
    assert_eq!(idle.judge().verdict.word(), "harness-error");
    // A line that should end what comes before: then there must be something before it.
    run.arm.variant.command.as_mut().unwrap().extract.after = Some("^uploaded".into());
    let judged = run.judge();
    assert!(format!("{:?}", judged.verdict).contains("no dispatch before"), "{judged:?}");
}

#[test]
fn a_cold_page_cache_that_was_seen_cold_is_told() {
    let mut run = Run::clean();
    run.arm.source.page_cache = PageCache::Cold;
    run.result().page_cache = Some(PageCacheState { pages: 4, resident: 0 });
    let judged = run.judge();
    assert_eq!(judged.verdict.word(), "clean", "{judged:?}");
    assert!(judged.evidence.iter().any(|e| e.says.contains("none of 4 pages")), "{judged:?}");
}

#[test]
fn keys_must_be_echoed_unless_the_row_is_about_unknown_ones() {
    let keys = |expect_unknown| KeySet {
        name: "k".into(),
        keys: [("MakeEachAllocationResident".to_owned(), "2".to_owned())].into(),
        expect_unknown,
    };
    let mut run = Run::clean();
    run.arm.keys = keys(false);
    assert_eq!(run.judge().verdict.word(), "untestable");
    let neo = run.facts.neo.as_mut().unwrap();
    neo.accepted_keys.insert("MakeEachAllocationResident".into(), "2".into());
    assert_eq!(run.judge().verdict.word(), "clean");
    // Echoed with another value: it is not what was asked.
    run.facts.neo.as_mut().unwrap().accepted_keys.insert("MakeEachAllocationResident".into(), "1".into());
    let judged = format!("{:?}", run.judge().verdict);
    assert!(
        judged.contains("Untestable") && judged.contains("MakeEachAllocationResident=2 as 1"),
        "{judged}"
    );
    // With a value that was not asked for it is no less known to the driver.
    for value in ["2", "1"] {
        let mut run = Run::clean();
        run.arm.keys = keys(true);
        assert_eq!(run.judge().verdict.word(), "clean");
        let neo = run.facts.neo.as_mut().unwrap();
        neo.accepted_keys.insert("MakeEachAllocationResident".into(), value.into());
        assert_eq!(run.judge().verdict.word(), "untestable", "{value}");
    }
    let mut run = Run::clean();
    run.arm.keys = keys(false);
    run.facts.neo = None;
    assert_eq!(run.judge().verdict.word(), "untestable");
}

#[test]
fn driver_errors_have_their_own_verdicts() {
    let cases = [
        ("zeInit", 0x7800_0001, Phase::SetUp, "untestable"),
        ("zeDeviceGet", 0x7800_0005, Phase::SetUp, "untestable"),
        ("zeModuleCreate", 0x7000_0004, Phase::SetUp, "build-failed"),
        ("zeCommandListHostSynchronize", 0x7000_0001, Phase::Copies, "device-lost"),
        ("zeMemAllocDevice", 0x7000_0003, Phase::Copies, "untestable"),
        ("mmap", 0, Phase::SetUp, "harness-error"),
    ];
    for (call, code, phase, word) in cases {
        let mut run = Run::clean();
        run.end = RunEnd::Exited { code: 2 };
        run.result().error = Some(ReproError { phase, call: call.into(), code, name: "E".into() });
        let judged = run.judge();
        assert_eq!(judged.verdict.word(), word, "{call}: {judged:?}");
        assert!(format!("{:?}", judged.verdict).contains(call), "{judged:?}");
    }
}

#[test]
fn a_hang_counts_only_under_a_proved_driver() {
    let mut run = Run::clean();
    run.end = RunEnd::TimedOut { after: Duration::from_secs(20), killed: false };
    run.account = Account::Missing;
    run.facts.sim = None;
    assert_eq!(run.judge().verdict, Verdict::Hang { after: Duration::from_secs(20) });
    run.facts.loaded = None;
    assert_eq!(run.judge().verdict.word(), "untestable");
}

#[test]
fn signals_are_crashes_unless_they_came_from_outside() {
    for (signal, word) in [(11, "crash"), (6, "crash"), (9, "harness-error"), (15, "harness-error")] {
        let mut run = Run::clean();
        run.account = Account::Missing;
        run.end = RunEnd::Signaled { signal, core_dumped: false };
        assert_eq!(run.judge().verdict.word(), word, "{signal}");
        // The simulated device's wrapper tells its client's signal by its exit code.
        run.end = RunEnd::Exited { code: 128 + signal };
        assert_eq!(run.judge().verdict.word(), word, "{signal} through the wrapper");
    }
}

#[test]
fn disagreements_name_both_instruments() {
    let mut run = Run::clean();
    run.facts.neo.as_mut().unwrap().per_dispatch[0].flag = false;
    run.facts.neo.as_mut().unwrap().ranges[0].events.truncate(1);
    run.facts.strace = Some(StraceFacts {
        ioctls: [(
            "DRM_IOCTL_XE_VM_BIND".to_owned(),
            CallCount { calls: 100, errors: [("EPERM".to_owned(), 23)].into() },
        )]
        .into(),
        ..StraceFacts::default()
    });
    let judged = run.judge();
    let text = judged.disagreements.join("\n");
    for part in ["per-dispatch", "sim counts 24", "strace 23", "bind unbind bind"] {
        assert!(text.contains(part), "{part} not in {text}");
    }
    assert!(judged.compared.iter().all(|c| !c.agree), "{judged:?}");
    assert!(judged.compared.iter().any(|c| c.instruments == ["sim", "strace", "neo-log"]), "{judged:?}");
}

#[test]
fn real_device_is_judged_by_its_data() {
    let mut run = Run::clean();
    run.simulated = false;
    run.facts.sim = None;
    assert_eq!(run.judge().verdict, Verdict::Clean { basis: Basis::Data });
    run.end = RunEnd::Exited { code: 1 };
    run.result().checks[1].wrong = 131_072;
    assert_eq!(run.judge().verdict.word(), "corrupt");
    run.result().checks[0].wrong = 1;
    assert_eq!(run.judge().verdict.word(), "wrong-before");
    let mut run = Run::clean();
    run.simulated = false;
    run.facts.sim = None;
    run.result().guard_disturbed = Some(3);
    run.end = RunEnd::Exited { code: 1 };
    assert_eq!(run.judge().verdict.word(), "corrupt");
}

proptest! {
    /// Whatever is missing or odd, clean is never said over a hazard, a loss, or an unproved driver.
    #[test]
    fn never_clean_unless_everything_holds(
        code in 0..4i32,
        complete: bool, lost in 0..2u64, hazard: bool, proved: bool, given: bool,
        done in 0..13u64, phases in prop::collection::vec(prop::option::of(0..3u8), 0..5),
        bound in prop::collection::vec(any::<bool>(), 5),
    ) {
        let mut run = Run::clean();
        run.end = RunEnd::Exited { code };
        if hazard { lose_surface(&mut run.facts); }
        let sim = run.facts.sim.as_mut().unwrap();
        sim.complete = complete;
        sim.summary.lost_events = lost;
        let template = sim.dispatches[0].clone();
        sim.dispatches = phases.iter().zip(&bound).enumerate().map(|(n, (phase, bound))| {
            let mut d = template.clone();
            d.n = n as u64 + 1;
            d.phase = phase.map(|p| [Phase::Before, Phase::Copies, Phase::After][p as usize]);
            d.ranges[0].2 = *bound;
            d
        }).collect();
        sim.summary.dispatches = sim.dispatches.len() as u64;
        if !proved { run.facts.loaded = None; }
        run.result().copies.done = done;
        if !given { run.account = Account::Missing; }
        let clean = run.judge().verdict.word() == "clean";
        let both = phases.contains(&Some(0)) && phases.contains(&Some(2));
        let last_bound = phases.iter().zip(&bound).all(|(p, b)| *p != Some(2) || *b);
        let should = code <= 1 && complete && lost == 0 && !hazard && proved && given && done == 12
            && both && last_bound;
        prop_assert_eq!(clean, should);
    }
}
