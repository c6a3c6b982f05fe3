//! A matrix whose arms are mock reproducers, driven by the real dispatcher, process layer, judge and recorder.
//! For tests: kill -9 in the middle, resume, full disks, interleaving.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};

use crate::cmd::Failure;
use crate::cmd::conclude::{Identity, conclude, not_built};
use crate::cmd::drive::{Options, drive, work_root};
use crate::exit::Exit;
use crate::judge::Context;
use crate::model::arm::{
    Arm, CommandListKind, Compile, CopyEngine, Expectation, FrontEnd, KeySet, Mapping, Medium, ModuleFormat,
    PageCache, Prot, Source, SourceKind, Split, Variant, Workload,
};
use crate::model::facts::Facts;
use crate::model::outcome::{RESULTS_VERSION, RunRecord};
use crate::results::{Manifest, manifest::DriverIdentity};
use crate::run::dispatcher::Cell;
use crate::run::lab::{BuildFailure, Built, CannotKeep, Lab, Lane};
use crate::run::workdir::WorkDir;
use crate::run::{Cancel, Limits, RunSpec, env, execute, fresh_token};

use super::mock::Mode;

/// Arguments of the mock matrix.
#[derive(Clone, Debug, Args)]
pub struct MockRunArgs {
    /// `MODE` or `MODE=EXPECTED-VERDICT`; one arm each.
    #[arg(required = true)]
    pub arms: Vec<String>,
    #[arg(long, default_value = "results")]
    pub results: PathBuf,
    #[arg(long)]
    pub resume: Option<PathBuf>,
    #[arg(long, default_value_t = 1)]
    pub repeats: u32,
    #[arg(long, default_value_t = 1)]
    pub jobs: usize,
    #[arg(long, default_value_t = 0)]
    pub pause: u64,
    #[arg(long, default_value_t = 20_000)]
    pub timeout_ms: u64,
    #[arg(long)]
    pub inactivity_ms: Option<u64>,
    #[arg(long, default_value_t = 200)]
    pub grace_ms: u64,
    #[arg(long, default_value_t = 1 << 20)]
    pub output_cap: u64,
    #[arg(long)]
    pub notify: Option<String>,
    /// Stands for the driver's content hash.
    #[arg(long, default_value = "mock")]
    pub driver: String,
    #[command(flatten)]
    pub stop: crate::cli::run::StopArgs,
    /// Bars where stderr is a terminal.
    #[arg(long)]
    pub bars: bool,
    /// The build of the arms fails.
    #[arg(long)]
    pub break_build: bool,
}

/// Runs of each arm, as `run` plans them.
fn planned(args: &MockRunArgs) -> u32 {
    args.stop.rule().and_then(|rule| rule.max_runs).map_or(args.repeats, |most| most as u32)
}

pub fn main(args: &MockRunArgs) -> Result<Exit, Failure> {
    let arms = args.arms.iter().map(|text| arm(text, args)).collect::<Result<Vec<_>, _>>()?;
    let cells: Vec<Cell> =
        (0..planned(args)).flat_map(|repeat| (0..arms.len()).map(move |arm| Cell { arm, repeat })).collect();
    let manifest = Manifest {
        version: RESULTS_VERSION,
        tool: env!("CARGO_PKG_VERSION").into(),
        matrix: "mock".into(),
        matrix_sha256: "0".repeat(64),
        matrix_text: String::new(),
        seed: 0,
        started: humantime::format_rfc3339_seconds(std::time::SystemTime::now()).to_string(),
        device: "none".into(),
        drivers: BTreeMap::from([(
            "default".to_owned(),
            DriverIdentity {
                hash: args.driver.clone(),
                versions: "none".into(),
                manifest: serde_json::Value::Null,
            },
        )]),
        arms,
        excluded: Vec::new(),
        left_out: Vec::new(),
        shard: None,
        plan: Vec::new(),
        sources: BTreeMap::new(),
        runtimes: BTreeMap::new(),
        stop: args.stop.rule(),
        environment: serde_json::Value::Null,
    };
    let options = Options {
        results: args.results.clone(),
        resume: args.resume.clone(),
        jobs: args.jobs,
        build_jobs: 1,
        plain: !args.bars,
        keep_work: false,
        notify: args.notify.clone(),
    };
    let exe = std::env::current_exe().map_err(|e| Failure::new(Exit::Internal, e))?;
    drive(&manifest, &cells, &options, &["device   none (mock arms)".into()], |results| MockLab {
        args,
        exe,
        results: results.to_owned(),
    })
}

struct MockLab<'a> {
    args: &'a MockRunArgs,
    exe: PathBuf,
    results: PathBuf,
}

impl MockLab<'_> {
    fn identity(&self) -> Identity<'_> {
        Identity { device: "none", driver_hash: &self.args.driver }
    }

    fn spec(&self, arm: &Arm, work: &WorkDir) -> RunSpec {
        let limits = Limits {
            timeout: arm.timeout,
            inactivity: arm.inactivity,
            grace: Duration::from_millis(self.args.grace_ms),
            output_cap: self.args.output_cap,
            ..Limits::default()
        };
        let argv = [
            self.exe.clone().into_os_string(),
            "mock-repro".into(),
            "--pause".into(),
            self.args.pause.to_string().into(),
            "--copies".into(),
            arm.workload.copies.to_string().into(),
            mode_of(&arm.id).into(),
        ];
        RunSpec {
            argv: argv.into(),
            env: env::base(&work.cwd, &work.tmp).into_iter().collect(),
            cwd: work.cwd.clone(),
            io: work.io.clone(),
            limits,
            trace: None,
            strace: None,
            client_library: None,
            token: fresh_token(),
        }
    }
}

impl Lab for MockLab<'_> {
    type Built = ();

    fn build_key(&self, arm: &Arm) -> String {
        arm.variant.name.clone()
    }

    fn build(&self, _arm: &Arm) -> Result<Built<()>, BuildFailure> {
        if self.args.break_build {
            return Err(BuildFailure { what: "asked to fail".into() });
        }
        Ok(Built { value: (), cached: false, records: Vec::new() })
    }

    fn lane(&self, _arm: &Arm) -> Lane {
        Lane { name: "mock".into(), capacity: self.args.jobs }
    }

    fn run(&self, arm: &Arm, repeat: u32, (): &(), cancel: &Cancel) -> Result<RunRecord, CannotKeep> {
        let root = work_root(&self.results).join(crate::results::arm_path(&arm.id)).join(repeat.to_string());
        let work = match WorkDir::create(root) {
            Ok(work) => work,
            Err(e) => return Err(CannotKeep(format!("the working directory could not be made: {e}"))),
        };
        let spec = self.spec(arm, &work);
        let raw = execute(&spec, cancel);
        let context = Context {
            arm,
            simulated: false,
            hw_threads: None,
            predicted_per_dispatch: None,
            driver: None,
            broken: &[],
        };
        let record =
            conclude(&spec, &raw, repeat, Facts::default(), &context, &self.identity(), &self.results);
        // What stays behind costs room, not truth.
        let _ = work.remove();
        record
    }

    fn not_built(&self, arm: &Arm, repeat: u32, failure: &BuildFailure) -> RunRecord {
        not_built(arm, repeat, failure, &self.identity())
    }
}

/// `pass/2` and `pass` run the same mode.
fn mode_of(id: &str) -> &str {
    id.split('/').next().unwrap_or(id)
}

fn arm(text: &str, args: &MockRunArgs) -> Result<Arm, Failure> {
    let (id, expected) = text.split_once('=').map_or((text, None), |(id, e)| (id, Some(e)));
    if Mode::from_str(mode_of(id), false).is_err() {
        return Err(Failure::new(Exit::Usage, format!("no mock mode {id:?}")));
    }
    let expect = expected
        .map(|word| {
            serde_json::from_value(serde_json::json!({ "verdict": word }))
                .map_err(|e| Failure::new(Exit::Usage, format!("{text}: {e}")))
        })
        .transpose()?;
    Ok(arm_of(id, args, expect))
}

fn arm_of(id: &str, args: &MockRunArgs, expect: Option<Expectation>) -> Arm {
    Arm {
        id: id.to_owned(),
        variant: Variant {
            name: "mock".into(),
            command: None,
            front_end: FrontEnd::LevelZero,
            kernels: 1,
            plain_kernels: 0,
            batch_size: 64,
            simd: 16,
            padding: 0,
            split: Split::Off,
            compile: Compile::Parts,
            format: ModuleFormat::Native,
            options: Vec::new(),
        },
        source: Source {
            name: "file".into(),
            kind: SourceKind::File,
            mapping: Mapping::Private,
            prot: Prot::R,
            page_cache: PageCache::Warm,
            medium: Medium::Disk,
            size: 64 << 20,
        },
        workload: Workload {
            name: "mock".into(),
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
        device: "none".into(),
        observers: Vec::new(),
        not_observed: Vec::new(),
        repeats: planned(args),
        timeout: Duration::from_millis(args.timeout_ms),
        inactivity: args.inactivity_ms.map(Duration::from_millis),
        expect,
        positive_control: false,
        comparison: None,
        note: String::new(),
    }
}
