//! One dispatch, executed: the walker's threads on the execution units ([`crate::eu`]), their accesses on the memory
//! of the queue's VM.
//!
//! Layers: `user` (client memory, in bulk) ← `view` (addresses → arena, client, nothing) ← `native` (kernels that are
//! proved to be copies or fills) ← this (threads of ours, what came of it).

mod native;
mod user;
mod view;

use std::sync::mpsc;
use std::sync::{Mutex, PoisonError};

use crate::cs::memory::GpuMemory;
use crate::eu::{self, Budget, Dispatch, ExecError, ExecStats, KernelCache};
use crate::trace::Unmapped;
pub(crate) use native::Native;
use user::{Fetch, UserPages, Want};
use view::{Space, Tally, View};

/// Instructions that a dispatch may execute: some minutes of the model's time. A kernel that needs more may as well
/// never end, and which of the two is not known.
const INSTRUCTIONS: u64 = 20_000_000_000;
/// Threads of a dispatch from which on it is worth to spread them over the host's cores.
const WORTH_SHARING: u64 = 64;

/// Whoever runs the device: a dispatch that is executed may take minutes, in which nothing else is done.
pub trait Attendant: Send + Sync {
    /// Whether nobody waits for the dispatch any more: then it is given up, and said to be.
    fn ended(&self) -> bool {
        false
    }

    /// A dispatch is executed from now on.
    fn begins(&self) {}

    /// It no longer is; what it writes at its end is not yet written.
    fn is_over(&self) {}
}

/// What a dispatch did, as far as it got.
pub(crate) struct Outcome {
    pub result: Result<ExecStats, ExecError>,
    /// Accesses with nothing behind them.
    pub unmapped: Vec<Unmapped>,
    /// Bytes that the client's memory did not take back.
    pub refused: u64,
    /// What was done at the host's speed.
    pub native: Native,
}

/// A request to the thread that may touch client memory, and the way back.
struct Errand {
    want: Want,
    reply: mpsc::SyncSender<Option<Vec<u8>>>,
}

struct Messenger(mpsc::Sender<Errand>);

impl Fetch for Messenger {
    fn fetch(&mut self, want: Want) -> Option<Vec<u8>> {
        let (reply, answer) = mpsc::sync_channel(1);
        self.0.send(Errand { want, reply }).ok()?;
        answer.recv().ok()?
    }
}

/// Executes a dispatch to its end, unless it is given up.
pub(crate) fn run(
    memory: &GpuMemory<'_>,
    kernels: &mut KernelCache,
    dispatch: &Dispatch<'_>,
    attendant: &dyn Attendant,
) -> Outcome {
    attendant.begins();
    let outcome = run_to_end(memory, kernels, dispatch, &|| attendant.ended());
    attendant.is_over();
    outcome
}

fn run_to_end(
    memory: &GpuMemory<'_>,
    kernels: &mut KernelCache,
    dispatch: &Dispatch<'_>,
    ended: &(dyn Fn() -> bool + Sync),
) -> Outcome {
    let budget = Budget { instructions: INSTRUCTIONS, ended };
    let space = Space {
        vm: memory.vm,
        arena: memory.arena,
        pages: UserPages::default(),
        tally: Mutex::new(Tally::default()),
    };
    let (result, native) = match execute(&space, memory, kernels, dispatch, budget) {
        Ok((stats, native)) => (Ok(stats), native),
        Err(error) => (Err(error), Native::default()),
    };
    let Space { pages, tally, .. } = space;
    let refused = pages.write_back(memory.client);
    let tally = tally.into_inner().unwrap_or_else(PoisonError::into_inner);
    let unmapped = tally
        .0
        .into_iter()
        .map(|((range_addr, range_len), missed)| Unmapped {
            range_addr,
            range_len,
            first: missed.first,
            read: missed.read,
            written: missed.written,
        })
        .collect();
    Outcome { result, unmapped, refused, native }
}

fn execute(
    space: &Space<'_>,
    memory: &GpuMemory<'_>,
    kernels: &mut KernelCache,
    dispatch: &Dispatch<'_>,
    budget: Budget<'_>,
) -> Result<(ExecStats, Native), ExecError> {
    let mut view = View::new(space, memory.client);
    let prepared = eu::prepare(dispatch, &mut view, kernels)?;
    if let Some(done) = native::run(memory, &mut view, &prepared, dispatch, budget)? {
        return Ok(done);
    }
    let modelled = |stats| (stats, Native::default());
    let workers = rayon::current_num_threads();
    let threads = dispatch.groups().saturating_mul(dispatch.threads_per_group.into());
    if workers < 2 || dispatch.groups() < 2 || threads < WORTH_SHARING {
        return prepared.run(&mut view, budget).map(modelled);
    }
    let (errands, inbox) = mpsc::channel::<Errand>();
    let views: Vec<_> = (0..workers).map(|_| View::new(space, Messenger(errands.clone()))).collect();
    // The inbox closes when the last view is gone.
    drop(errands);
    let client = memory.client;
    let result = prepared.run_parallel(views, budget, || {
        let mut client = client;
        for errand in inbox {
            // A view that does not wait any more has failed by itself.
            let _ = errand.reply.send(client.fetch(errand.want));
        }
    });
    result.map(modelled)
}
