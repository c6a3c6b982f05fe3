//! A whole, clean run on the simulated device, for tests to break in one place at a time.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::model::arm::*;
use crate::model::facts::*;
use crate::model::repro::*;

use super::context::{Account, ExpectedDriver};

pub const SURFACE: u64 = 22_784 * 4096;
pub const ADDR: u64 = 0xd556_aaa0_0000;

pub fn arm() -> Arm {
    Arm {
        id: "over/file-r".into(),
        variant: Variant {
            name: "over".into(),
            command: None,
            front_end: FrontEnd::LevelZero,
            kernels: 174,
            plain_kernels: 0,
            batch_size: 64,
            simd: 16,
            padding: 0,
            split: Split::Off,
            compile: Compile::Parts,
            format: ModuleFormat::Native,
            options: vec![],
        },
        source: Source {
            name: "file-r".into(),
            kind: SourceKind::File,
            mapping: Mapping::Private,
            prot: Prot::R,
            page_cache: PageCache::Warm,
            medium: Medium::Disk,
            size: 64 << 20,
        },
        workload: Workload {
            name: "default".into(),
            copies: 12,
            chunk: 11 << 20,
            same_src: true,
            one_alloc: true,
            no_copy: false,
            skip_upload: false,
            repeat: 1,
            guard: 0,
            ballast: 0,
            late_module: false,
            command_list: CommandListKind::Immediate,
            copy_engine: CopyEngine::Compute,
            elements: 131_072,
        },
        keys: KeySet::default(),
        driver: "default".into(),
        runtime: None,
        faults: Vec::new(),
        device: "sim:a770".into(),
        not_observed: Vec::new(),
        observers: vec![Observer::NeoLog, Observer::Sim, Observer::Maps],
        repeats: 1,
        timeout: Duration::from_secs(60),
        inactivity: None,
        expect: None,
        positive_control: false,
        comparison: None,
        note: String::new(),
    }
}

pub fn driver() -> ExpectedDriver {
    ExpectedDriver {
        name: "debian".into(),
        library: "libze_intel_gpu".into(),
        path: "/d/libze_intel_gpu.so.1".into(),
        build_id: Some("32b1a1ca".into()),
        sha256: None,
    }
}

pub fn result() -> ReproResult {
    let check = |phase| Check {
        phase,
        module: "module".into(),
        total: 131_072,
        wrong: 0,
        untouched: 0,
        control_total: 131_072,
        control_wrong: 0,
        control_untouched: 0,
    };
    ReproResult {
        version: REPRO_RESULT_VERSION,
        front_end: "level-zero".into(),
        device_name: "A770".into(),
        device_id: 0x56a0,
        driver_version: "1.15".into(),
        global_memory: 16_225_243_136,
        modules: 1,
        kernel: KernelProperties {
            name: "priv1".into(),
            private_mem_size: 22_784,
            spill_mem_size: 0,
            simd: 16,
        },
        control: KernelProperties::default(),
        late_kernel: None,
        phases: vec![],
        checks: vec![check(Phase::Before), check(Phase::After)],
        copies: Copies { requested: 12, done: 12, bytes: 12 * (11 << 20), seconds: 0.1, allocations: 1 },
        guard_disturbed: None,
        page_cache: None,
        one_check: false,
        opencl: None,
        steps: Vec::new(),
        error: None,
    }
}

pub fn account() -> Account {
    Account::Given(Box::new(result()))
}

fn events(life: &[(bool, Phase)]) -> Vec<BindEvent> {
    life.iter().map(|(bind, phase)| BindEvent { bind: *bind, errno: 0, phase: Some(*phase) }).collect()
}

/// Clean: the surface is lost in the copies and bound again.
pub fn facts() -> Facts {
    let dispatch = |n, phase| DispatchFact {
        n,
        kernel: 0x1000,
        groups: [1, 1, 1],
        phase: Some(phase),
        ranges: vec![(ADDR, SURFACE, true), (0x10_0000, 65_536, true)],
    };
    let life = events(&[
        (true, Phase::Before),
        (false, Phase::Copies),
        (true, Phase::After),
        (false, Phase::TearDown),
    ]);
    let range = RangeHistory { vm: 1, start: ADDR, size: SURFACE, events: life };
    let neo = NeoFacts {
        per_dispatch: vec![PerDispatch {
            flag: true,
            module_private: 16_238_247_936,
            sub_devices: 1,
            global_memory: 16_225_245_593,
        }],
        ranges: vec![range.clone()],
        bind_failures: BTreeMap::from([(1, 24)]),
        compute_units: Some(4096),
        ..NeoFacts::default()
    };
    let sim = SimFacts {
        device: "a770".into(),
        dispatches: vec![dispatch(1, Phase::Before), dispatch(2, Phase::After)],
        ranges: vec![range],
        complete: true,
        summary: xe_sim::trace::Summary {
            dispatches: 2,
            failed: BTreeMap::from([("XE_VM_BIND EPERM".to_owned(), 24)]),
            exit_code: Some(0),
            ..Default::default()
        },
        ..SimFacts::default()
    };
    let loaded = LoadedDriver {
        libraries: vec![LoadedLibrary {
            path: "/d/libze_intel_gpu.so.1".into(),
            build_id: Some("32b1a1ca".into()),
            sha256: None,
        }],
    };
    Facts { neo: Some(neo), sim: Some(sim), loaded: Some(loaded), ..Facts::default() }
}

/// The fault of seed 003: never bound again, and the last dispatch reaches it.
pub fn lose_surface(facts: &mut Facts) {
    let life = events(&[(true, Phase::Before), (false, Phase::Copies)]);
    if let Some(neo) = &mut facts.neo {
        neo.ranges[0].events = life.clone();
    }
    if let Some(sim) = &mut facts.sim {
        sim.ranges[0].events = life;
        sim.dispatches[1].ranges[0].2 = false;
        sim.hazards.push(HazardFact {
            n: 2,
            phase: Some(Phase::After),
            vm: 1,
            pointer: ADDR,
            range_addr: ADDR,
            range_len: SURFACE,
            role: None,
        });
        sim.summary.hazards = 1;
    }
}
