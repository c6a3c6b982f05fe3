//! Arms and records made up from a rule, for tests of the report.

use crate::judge::fixture;
use crate::model::arm::Arm;
use crate::model::facts::{Facts, PerDispatch};
use crate::model::outcome::RunRecord;
use crate::model::verdict::{Basis, RunEnd, Verdict};

pub fn arm(id: &str, edit: impl FnOnce(&mut Arm)) -> Arm {
    let mut arm = fixture::arm();
    arm.id = id.into();
    edit(&mut arm);
    arm
}

/// A run of `arm` that is corrupt or clean, with the facts that go with it.
pub fn record(arm: &Arm, repeat: u32, corrupt: bool) -> RunRecord {
    let mut facts = fixture::facts();
    if corrupt {
        fixture::lose_surface(&mut facts);
    }
    let module_private = u64::from(arm.variant.kernels) * fixture::SURFACE;
    if let Some(neo) = &mut facts.neo {
        neo.per_dispatch = vec![PerDispatch {
            flag: module_private > 16_225_245_593,
            module_private,
            sub_devices: 1,
            global_memory: 16_225_245_593,
        }];
    }
    let verdict = if corrupt {
        Verdict::Corrupt { basis: Basis::Residency, wrong: None, untouched: None, control_wrong: None }
    } else {
        Verdict::Clean { basis: Basis::Residency }
    };
    with(arm, repeat, verdict, facts)
}

pub fn with(arm: &Arm, repeat: u32, verdict: Verdict, facts: Facts) -> RunRecord {
    let comparison = crate::judge::expect::compare(arm.expect.as_ref(), &verdict, &facts);
    let as_expected = comparison.as_ref().and_then(crate::judge::expect::Comparison::met);
    let crate::judge::expect::Comparison { unmet, not_measured } = comparison.unwrap_or_default();
    RunRecord {
        version: 1,
        arm: arm.id.clone(),
        repeat,
        started: "2026-11-29T15:12:00.000Z".into(),
        wall_seconds: 0.2,
        device: "sim:a770".into(),
        driver: "h".into(),
        command: vec![],
        environment: vec![],
        end: RunEnd::Exited { code: 0 },
        verdict,
        evidence: vec![],
        compared: Some(vec![]),
        disagreements: vec![],
        signature: String::new(),
        as_expected,
        unmet,
        not_measured,
        repro: Some(fixture::result()),
        facts,
        source: None,
        logs: vec![],
    }
}
