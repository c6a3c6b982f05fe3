//! The steps of the reproducer on an open device.

use std::path::Path;
use std::rc::Rc;
use std::time::Instant;

use super::args::{EngineArg, LevelZeroArgs, ListArg};
use super::data::{self, Data, Difference, SENTINEL};
use super::sys::{Buffer, Context, Kernel, Module, Queue, ZeError};
use super::{Ending, input};
use crate::build::source::CONTROL_KERNEL;
use crate::frontend::source::{HostSource, SourceSpec};
use crate::frontend::telling::Telling;
use crate::model::repro::{Check, KernelProperties, Phase};

/// Work items of a group; a multiple of every sub-group size.
const GROUP: u32 = 256;
/// Largest single allocation for ballast, and largest piece of guard memory moved at once.
const BALLAST_PIECE: u64 = 1 << 30;
const GUARD_PIECE: usize = 1 << 20;
/// First word of a SPIR-V file.
const SPIRV_MAGIC: [u8; 4] = [0x03, 0x02, 0x23, 0x07];

/// The two kernels that are checked, ready to run, with the memory they use.
struct Pair {
    /// As in [`Check::module`].
    label: &'static str,
    private: Kernel,
    control: Kernel,
    addend: u32,
    out: Buffer,
    control_out: Buffer,
    _inputs: Rc<[Buffer; 2]>,
}

/// Runs all steps; `Ok(true)` if every element of every check was right.
pub fn run(args: &LevelZeroArgs, telling: &Telling) -> Result<bool, Ending> {
    addend(args)?;
    let source = open_source(args)?;
    let loader = args.loader.clone().or_else(|| std::env::var_os("REPRO_MATRIX_ZE_LOADER").map(Into::into));
    let loader = loader.unwrap_or_else(|| super::sys::default_loader().to_owned());
    let context = Context::open(&loader, args.pci.as_deref()).map_err(Ending::NoDriver)?;
    telling.update(|result| {
        context.facts.name.clone_into(&mut result.device_name);
        result.device_id = context.facts.device_id;
        context.facts.driver_version.clone_into(&mut result.driver_version);
        result.global_memory = context.facts.global_memory;
        result.page_cache = source.as_ref().and_then(|source| source.page_cache);
    });
    let immediate = args.list == ListArg::Immediate;
    let compute = context.queue(context.compute_group()?, immediate)?;
    let copy = match args.engine {
        EngineArg::Compute => None,
        EngineArg::Copy => Some(context.queue(context.copy_group()?, immediate)?),
    };

    let modules = args.modules.iter().map(|path| load(&context, path)).collect::<Result<Vec<_>, _>>()?;
    telling.update(|result| result.modules = u32::try_from(modules.len()).unwrap_or(u32::MAX));
    let data = Data::new(args.elements);
    let inputs = Rc::new(upload_inputs(&context, &compute, &data)?);
    let pair = Pair::new(&context, &modules, (args, args.block_entries), "module", &data, &inputs)?;
    let (kernel, control) = pair.properties(&args.kernel)?;
    telling.update(|result| (result.kernel, result.control) = (kernel, control));
    let _ballast = ballast(&context, args.ballast)?;

    let mut all_right = true;
    let mut check = |pair: &Pair, phase: Phase, words: &str| -> Result<(), Ending> {
        let found = pair.check(&compute, &data, phase)?;
        telling.line(&format!(
            "{words}: wrong {}, untouched {}   (private=0 control: wrong {})",
            found.wrong, found.untouched, found.control_wrong
        ));
        all_right &= found.wrong == 0 && found.control_wrong == 0;
        telling.update(|result| result.checks.push(found));
        Ok(())
    };

    telling.phase(Phase::Before);
    check(&pair, Phase::Before, "before upload ")?;

    telling.phase(Phase::Copies);
    let upload =
        Upload { args, context: &context, queue: copy.as_ref().unwrap_or(&compute), source, telling };
    if !args.skip_upload {
        upload.round(&compute)?;
    }

    telling.phase(Phase::After);
    check(&pair, Phase::After, "after upload  ")?;

    if let Some(path) = &args.late_module {
        telling.phase(Phase::LateModule);
        let late = [load(&context, path)?];
        let entries = args.late_block_entries.unwrap_or(args.block_entries);
        telling.update(|result| result.modules = result.modules.saturating_add(1));
        let late = Pair::new(&context, &late, (args, entries), "late-module", &data, &inputs)?;
        let (late_kernel, _) = late.properties(&args.kernel)?;
        telling.update(|result| result.late_kernel = Some(late_kernel));
        check(&late, Phase::LateModule, "late module   ")?;

        telling.phase(Phase::CopiesAgain);
        if !args.skip_upload {
            upload.round(&compute)?;
        }

        telling.phase(Phase::AfterAgain);
        check(&pair, Phase::AfterAgain, "after again   ")?;
        check(&late, Phase::AfterAgain, "late again    ")?;
    }

    telling.phase(Phase::TearDown);
    Ok(all_right)
}

fn addend(args: &LevelZeroArgs) -> Result<u32, Ending> {
    data::addend(&args.kernel)
        .ok_or_else(|| Ending::usage(format!("--kernel {}: not `priv` and a number", args.kernel)))
}

fn open_source(args: &LevelZeroArgs) -> Result<Option<HostSource>, Ending> {
    // What is not read is not prepared.
    if args.skip_upload || args.no_copy {
        return Ok(None);
    }
    let spec = SourceSpec {
        kind: args.source_kind(),
        path: args.file.clone(),
        prot: args.protection(),
        shared: args.shared,
        cold: args.cold,
        drop_caches: args.drop_caches,
        chunk: args.chunk,
        distinct: if args.same_src { 1 } else { total_copies(args) },
        size: args.source_size.unwrap_or(args.chunk.saturating_mul(2)),
    };
    HostSource::open(&spec).map_err(|error| Ending::Input("source".to_owned(), error.to_string()))
}

fn total_copies(args: &LevelZeroArgs) -> u64 {
    u64::from(args.copies) * u64::from(args.repeat)
}

fn load(context: &Rc<Context>, path: &Path) -> Result<Rc<Module>, Ending> {
    let image = std::fs::read(path).map_err(|error| input(path, &error))?;
    Ok(Rc::new(context.module(&image, image.starts_with(&SPIRV_MAGIC))?))
}

fn upload_inputs(context: &Rc<Context>, queue: &Queue, data: &Data) -> Result<[Buffer; 2], Ending> {
    let make = |which| -> Result<Buffer, Ending> {
        let bytes = data.input_bytes(which);
        let buffer = context.allocate(bytes.len())?;
        queue.upload(&buffer, 0, &bytes)?;
        Ok(buffer)
    };
    Ok([make(0)?, make(1)?])
}

/// Device memory that is held and not touched, in pieces that every driver allows.
fn ballast(context: &Rc<Context>, bytes: u64) -> Result<Vec<Buffer>, Ending> {
    let mut pieces = Vec::new();
    let mut left = bytes;
    while left > 0 {
        let piece = left.min(BALLAST_PIECE);
        pieces.push(context.allocate(usize::try_from(piece).unwrap_or(usize::MAX))?);
        left -= piece;
    }
    Ok(pieces)
}

impl Pair {
    fn new(
        context: &Rc<Context>,
        modules: &[Rc<Module>],
        (args, entries): (&LevelZeroArgs, u32),
        label: &'static str,
        data: &Data,
        inputs: &Rc<[Buffer; 2]>,
    ) -> Result<Self, Ending> {
        let addend = addend(args)?;
        let private = find(modules, &args.kernel)?;
        let control = find(modules, CONTROL_KERNEL)?;
        let half = u32::try_from(data.half()).unwrap_or(u32::MAX);
        let bytes = data.half() * 8;
        let (out, control_out) = (context.allocate(bytes)?, context.allocate(bytes)?);
        let addresses = [inputs[0].address(), inputs[1].address()];
        let block = data::block(entries as usize, addresses, u64::from(half));
        private.set_group_size(GROUP)?;
        private.set_buffer(0, &out)?;
        private.set_bytes(1, &block)?;
        private.set_bytes(2, &half.to_le_bytes())?;
        control.set_group_size(GROUP)?;
        control.set_buffer(0, &control_out)?;
        control.set_buffer(1, &inputs[0])?;
        control.set_buffer(2, &inputs[1])?;
        control.set_bytes(3, &half.to_le_bytes())?;
        Ok(Pair { label, private, control, addend, out, control_out, _inputs: inputs.clone() })
    }

    fn properties(&self, name: &str) -> Result<(KernelProperties, KernelProperties), Ending> {
        let of = |kernel: &Kernel, name: &str| {
            kernel.sizes().map(|sizes| KernelProperties {
                name: name.to_owned(),
                private_mem_size: sizes.private,
                spill_mem_size: sizes.spill,
                simd: sizes.simd,
            })
        };
        Ok((of(&self.private, name)?, of(&self.control, CONTROL_KERNEL)?))
    }

    /// Both kernels once, each into sentinel-filled memory, and the comparison with the host's values.
    fn check(&self, queue: &Queue, data: &Data, phase: Phase) -> Result<Check, Ending> {
        let private = once(queue, &self.private, &self.out, data, self.addend)?;
        let control = once(queue, &self.control, &self.control_out, data, 0)?;
        Ok(Check {
            phase,
            module: self.label.to_owned(),
            total: private.total,
            wrong: private.wrong,
            untouched: private.untouched,
            control_total: control.total,
            control_wrong: control.wrong,
            control_untouched: control.untouched,
        })
    }
}

fn once(
    queue: &Queue,
    kernel: &Kernel,
    out: &Buffer,
    data: &Data,
    addend: u32,
) -> Result<Difference, Ending> {
    // From ordinary heap memory: it is writable, so this copy is not one of those under test.
    let mut bytes = SENTINEL.to_le_bytes().repeat(out.bytes() / 4);
    queue.upload(out, 0, &bytes)?;
    let groups = u32::try_from(data.half().div_ceil(GROUP as usize)).unwrap_or(u32::MAX);
    queue.launch(kernel, (groups, 2))?;
    // If the read-back did nothing, that must not look like a right output, nor like an untouched one.
    bytes.fill(0);
    queue.download(&mut bytes, out, 0)?;
    Ok(data.compare(&bytes, addend))
}

fn find(modules: &[Rc<Module>], name: &str) -> Result<Kernel, Ending> {
    for module in modules {
        if let Some(kernel) = module.kernel(name)? {
            return Ok(kernel);
        }
    }
    Err(ZeError::other("zeKernelCreate", format!("no module has a kernel `{name}`")).into())
}

/// The trigger: what lies between the kernel runs.
struct Upload<'a> {
    args: &'a LevelZeroArgs,
    context: &'a Rc<Context>,
    queue: &'a Queue,
    /// `None`: nothing is copied.
    source: Option<HostSource>,
    telling: &'a Telling,
}

impl Upload<'_> {
    /// One round. Guards are made, filled and looked at through `compute`, outside the measured time.
    fn round(&self, compute: &Queue) -> Result<(), Ending> {
        let chunk = usize::try_from(self.args.chunk).map_err(|e| ZeError::other("--chunk", e.to_string()))?;
        let total = total_copies(self.args);
        let guard = |place| self.guard(compute, place);
        let before = guard("before")?;
        let mut destinations: Vec<Buffer> = Vec::new();
        if self.args.one_alloc {
            destinations.push(self.context.allocate(chunk)?);
        }
        // The guard behind one allocation must be made after it and before the copies.
        let mut after = if self.args.one_alloc { guard("after")? } else { None };
        let copying = self.source.is_some();
        self.telling.update(|result| result.copies.requested += if copying { total } else { 0 });
        let start = Instant::now();
        for n in 0..total {
            if !self.args.one_alloc {
                destinations.push(self.context.allocate(chunk)?);
            }
            if let (Some(source), Some(to)) = (&self.source, destinations.last()) {
                let place = if self.args.same_src { 0 } else { n };
                let done = self.queue.upload(to, 0, source.chunk(place));
                let seconds = start.elapsed().as_secs_f64();
                done?;
                self.telling.update(|result| {
                    result.copies.done += 1;
                    result.copies.bytes += chunk as u64;
                    // Of the last round, so that a run that is stopped has its time too.
                    result.copies.seconds = seconds;
                });
            }
        }
        let seconds = start.elapsed().as_secs_f64();
        if after.is_none() {
            after = guard("after")?;
        }
        let allocations = destinations.len() as u64;
        self.telling.update(|result| result.copies.allocations += allocations);
        self.telling.line(&self.summary(if copying { total } else { 0 }, allocations, seconds));
        if self.args.guard > 0 {
            let mut disturbed = 0;
            for buffer in before.iter().chain(&after) {
                disturbed += disturbed_words(compute, buffer)?;
            }
            let words = 2 * self.args.guard / 4;
            self.telling.line(&format!("  guards: {disturbed} of {words} words disturbed"));
            self.telling.update(|result| *result.guard_disturbed.get_or_insert(0) += disturbed);
        }
        Ok(())
    }

    fn guard(&self, queue: &Queue, place: &'static str) -> Result<Option<Buffer>, Ending> {
        if self.args.guard == 0 {
            return Ok(None);
        }
        let bytes = usize::try_from(self.args.guard)
            .map_err(|e| ZeError::other("--guard", format!("{place}: {e}")))?;
        let buffer = self.context.allocate(bytes)?;
        let piece = SENTINEL.to_le_bytes().repeat(GUARD_PIECE.min(bytes.next_multiple_of(4)) / 4);
        for offset in (0..bytes).step_by(GUARD_PIECE) {
            let length = piece.len().min(bytes - offset);
            queue.upload(&buffer, offset, piece.get(..length).unwrap_or(&piece))?;
        }
        Ok(Some(buffer))
    }

    /// The seed's line: `  10.12 GiB, 942 copies, 1 device allocations (4 s, 2481 MB/s)  [warm cache]`.
    fn summary(&self, copies: u64, allocations: u64, seconds: f64) -> String {
        let bytes = (copies * self.args.chunk) as f64;
        let time = if seconds >= 1.0 { format!("{seconds:.0}") } else { format!("{seconds:.2}") };
        let rate = if seconds > 0.0 { bytes / 1e6 / seconds } else { 0.0 };
        let cache = match self.source.as_ref().and_then(|source| source.page_cache) {
            None => String::new(),
            Some(state) if state.resident == 0 => "  [cold cache]".to_owned(),
            Some(state) if state.resident == state.pages => "  [warm cache]".to_owned(),
            Some(state) => format!("  [{} of {} pages in the cache]", state.resident, state.pages),
        };
        let gib = bytes / f64::from(1u32 << 30);
        format!(
            "  {gib:.2} GiB, {copies} copies, {allocations} device allocations ({time} s, {rate:.0} MB/s){cache}"
        )
    }
}

fn disturbed_words(queue: &Queue, buffer: &Buffer) -> Result<u64, Ending> {
    let mut disturbed = 0;
    for offset in (0..buffer.bytes()).step_by(GUARD_PIECE) {
        // Zeros, so that a read-back that did nothing counts as disturbed.
        let mut bytes = vec![0; GUARD_PIECE.min(buffer.bytes() - offset)];
        queue.download(&mut bytes, buffer, offset)?;
        disturbed += bytes.chunks_exact(4).filter(|word| **word != SENTINEL.to_le_bytes()).count() as u64;
    }
    Ok(disturbed)
}
