//! The same kernels compiled by the driver's compiler and run on the model.

use std::collections::BTreeMap;

use xe_sim::eu::{ExecError, ExecStats};

use super::kernel::{Case, Data};
use crate::eu_support::launch::{Arg, Launch};
use crate::eu_support::memory::Memory;
use crate::eu_support::zebin::Kernel;

/// Where the buffers are, one after the other.
const BUFFERS: u64 = 0x20_0000_0000;
const APART: u64 = 0x1_0000_0000;

/// Runs `case`. Nothing but its buffers is bound: an access beyond them is an error.
pub fn run(kernels: &BTreeMap<String, Kernel>, case: &Case) -> Result<(Data, ExecStats), ExecError> {
    let kernel = &kernels[&case.kernel];
    let mut data = case.data();
    let mut memory = Memory::new();
    memory.scratch = false;
    let mut args = Vec::new();
    for (i, bytes) in (0..).zip([&data.out, &data.input, &data.constant, &data.at, &data.at64]) {
        let addr = BUFFERS + i * APART;
        memory.map(addr, bytes.clone());
        args.push(Arg::Buffer(addr, bytes.len() as u64));
    }
    args.push(Arg::Local(case.group_items() as u32 * 8));
    for value in [&data.su[..], &data.sv, &data.sf, &data.sh] {
        args.push(Arg::Value(value.to_vec()));
    }
    let mut launch = Launch::new(kernel, &args, case.groups, case.local);
    launch.budget = 20_000_000;
    let stats = launch.try_run(&mut memory)?;
    for (i, bytes) in [(0, &mut data.out), (3, &mut data.at), (4, &mut data.at64)] {
        bytes.copy_from_slice(memory.bytes(BUFFERS + i * APART));
    }
    Ok((data, stats))
}
