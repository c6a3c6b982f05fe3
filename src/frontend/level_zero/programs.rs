//! Three small programs whose answers the host knows (`repro-kernels/programs`): does the device compute at all?

use std::path::PathBuf;
use std::rc::Rc;

use super::Ending;
use super::sys::{self, Buffer, Context, Module, Queue, ZeError};
use crate::cmd::Failure;
use crate::exit::Exit;

/// Runs vector add, a reduction in local memory and a matrix product on the device, and compares with the host.
#[derive(Debug, clap::Args)]
pub struct CheckArgs {
    /// The module with the programs, compiled for the device
    #[arg(long)]
    module: PathBuf,
    /// The Level Zero loader
    #[arg(long)]
    loader: Option<PathBuf>,
}

/// Words of a group.
const GROUP: u32 = 256;
const VECTOR: u32 = 100_000;
/// Rows and columns of the matrices.
const SIDE: u32 = 96;

/// Ends with 0 when every element of every program is right, with 1 when one is not.
pub fn main(args: &CheckArgs) -> Result<Exit, Failure> {
    match run(args) {
        Ok(true) => std::process::exit(0),
        Ok(false) => std::process::exit(1),
        Err(ending) => {
            let (code, text) = match ending {
                Ending::Usage(what) | Ending::Input(_, what) => (5, what),
                Ending::NoDriver(error) => (3, error.to_string()),
                Ending::Driver(error) => (4, error.to_string()),
            };
            eprintln!("level-zero-check: {text}");
            // The driver's own exit handlers may wait for a device that is gone.
            crate::frontend::sys::flush_c_streams();
            crate::frontend::sys::exit_now(code)
        }
    }
}

struct Bench {
    context: Rc<Context>,
    module: Rc<Module>,
    queue: Queue,
}

fn run(args: &CheckArgs) -> Result<bool, Ending> {
    let image = std::fs::read(&args.module).map_err(|error| super::input(&args.module, &error))?;
    let loader = args.loader.as_deref().unwrap_or(sys::default_loader());
    let context = Context::open(loader, None).map_err(Ending::NoDriver)?;
    let queue = context.queue(context.compute_group()?, true)?;
    let module = Rc::new(context.module(&image, false)?);
    let bench = Bench { context, module, queue };
    let right = [
        report("vector add", &bench.vector_add()?),
        report("reduction", &bench.reduction()?),
        report("matrix product", &bench.product()?),
    ];
    Ok(right.iter().all(|right| *right))
}

/// (element of the device, of the host), all of them.
type Pairs = Vec<(u32, u32)>;

fn report(name: &str, pairs: &Pairs) -> bool {
    let wrong = pairs.iter().filter(|(device, host)| device != host).count();
    println!("{name}: {wrong} of {} wrong", pairs.len());
    wrong == 0 && !pairs.is_empty()
}

/// Numbers without a pattern, the same in every run.
fn numbers(seed: u32, count: u32) -> Vec<u32> {
    (0..count)
        .map(|i| (i ^ seed).wrapping_mul(0x9e37_79b9).rotate_left(13).wrapping_mul(0x85eb_ca6b))
        .collect()
}

fn floats(seed: u32, count: u32) -> Vec<f32> {
    numbers(seed, count).into_iter().map(|n| (n >> 12) as f32 / 4096.0 - 100.0).collect()
}

fn bytes(words: impl IntoIterator<Item = u32>) -> Vec<u8> {
    words.into_iter().flat_map(u32::to_le_bytes).collect()
}

impl Bench {
    fn put(&self, words: &[u32]) -> Result<Buffer, ZeError> {
        let image = bytes(words.iter().copied());
        let buffer = self.context.allocate(image.len())?;
        self.queue.upload(&buffer, 0, &image)?;
        Ok(buffer)
    }

    fn get(&self, buffer: &Buffer) -> Result<Vec<u32>, ZeError> {
        let mut image = vec![0u8; buffer.bytes()];
        self.queue.download(&mut image, buffer, 0)?;
        Ok(image.chunks_exact(4).map(|c| c.first_chunk().map_or(0, |c| u32::from_le_bytes(*c))).collect())
    }

    /// Runs `kernel` with these buffers and a number on `groups` groups of 256.
    fn launch(&self, name: &str, buffers: &[&Buffer], n: u32, groups: u32) -> Result<(), ZeError> {
        let kernel = self.module.kernel(name)?;
        let kernel = kernel.ok_or_else(|| ZeError::other("zeKernelCreate", format!("no kernel {name}")))?;
        kernel.set_group_size(GROUP)?;
        for (index, buffer) in (0..).zip(buffers) {
            kernel.set_buffer(index, buffer)?;
        }
        let last = u32::try_from(buffers.len()).unwrap_or(u32::MAX);
        kernel.set_bytes(last, &n.to_le_bytes())?;
        self.queue.launch(&kernel, (groups, 1))
    }

    fn vector_add(&self) -> Result<Pairs, ZeError> {
        let (a, b) = (floats(1, VECTOR), floats(2, VECTOR));
        let bits = |v: &[f32]| v.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
        let (in_a, in_b) = (self.put(&bits(&a))?, self.put(&bits(&b))?);
        let out = self.put(&vec![u32::MAX; VECTOR as usize])?;
        self.launch("vector_add", &[&out, &in_a, &in_b], VECTOR, VECTOR.div_ceil(GROUP))?;
        let host = a.iter().zip(&b).map(|(a, b)| (a + b).to_bits());
        Ok(self.get(&out)?.into_iter().zip(host).collect())
    }

    fn reduction(&self) -> Result<Pairs, ZeError> {
        let words = numbers(3, VECTOR);
        let input = self.put(&words)?;
        let groups = VECTOR.div_ceil(GROUP);
        // One word more: the sum of all, by atomics.
        let out = self.put(&vec![0; groups as usize + 1])?;
        self.launch("reduce", &[&out, &input], VECTOR, groups)?;
        let sum = |words: &[u32]| words.iter().fold(0u32, |s, w| s.wrapping_add(*w));
        let host = words.chunks(GROUP as usize).map(sum).chain([sum(&words)]);
        Ok(self.get(&out)?.into_iter().zip(host).collect())
    }

    fn product(&self) -> Result<Pairs, ZeError> {
        let (a, b) = (floats(4, SIDE * SIDE), floats(5, SIDE * SIDE));
        let bits = |v: &[f32]| v.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
        let (in_a, in_b) = (self.put(&bits(&a))?, self.put(&bits(&b))?);
        let out = self.put(&vec![u32::MAX; (SIDE * SIDE) as usize])?;
        self.launch("matmul", &[&out, &in_a, &in_b], SIDE, (SIDE / 16) * (SIDE / 16))?;
        let side = SIDE as usize;
        let at =
            |m: &[f32], row: usize, column: usize| m.get(row * side + column).copied().unwrap_or(f32::NAN);
        let host = (0..side * side).map(|i| {
            let (row, column) = (i / side, i % side);
            // In the kernel's order: each step is one fused operation there too.
            (0..side).fold(0f32, |sum, k| at(&a, row, k).mul_add(at(&b, k, column), sum)).to_bits()
        });
        Ok(self.get(&out)?.into_iter().zip(host).collect())
    }
}
