//! The typed trace: one JSON object a line, in the order in which the device did things.
//!
//! Times are CLOCK_MONOTONIC nanoseconds, so that they can be laid beside times taken by the client. GPU
//! addresses are 48-bit (not sign-extended). Sizes are bytes. `seq` counts events from 1.

mod read;
mod sink;
pub use sink::TraceSink;
pub(crate) use sink::{clock_ns, now_ns};

use serde::{Deserialize, Serialize};

/// Version of this format. A reader refuses a higher one.
pub const TRACE_VERSION: u32 = 2;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    pub seq: u64,
    /// CLOCK_MONOTONIC, ns.
    pub t: u64,
    #[serde(flatten)]
    pub event: Event,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "ev", rename_all = "snake_case")]
pub enum Event {
    /// First line.
    Start {
        version: u32,
        device: String,
        profile: String,
        executes_kernels: bool,
        faults: Vec<String>,
    },
    Open {
        file: u64,
        process: u32,
    },
    Close {
        file: u64,
    },
    /// Any request the model refuses for lack of support (not an error the real kernel would give for good input).
    UnsupportedIoctl {
        file: u64,
        nr: u32,
        name: String,
        detail: String,
        errno: i32,
    },
    /// A request that ended in an errno.
    IoctlFailed {
        file: u64,
        nr: u32,
        name: String,
        errno: i32,
    },
    GemCreate {
        file: u64,
        handle: u32,
        bo: u64,
        size: u64,
        placement: u32,
        vm: u32,
        caching: u16,
    },
    GemClose {
        file: u64,
        handle: u32,
        bo: u64,
        still_bound: bool,
    },
    VmCreate {
        file: u64,
        vm: u32,
        flags: u32,
        scratch: bool,
    },
    VmDestroy {
        file: u64,
        vm: u32,
    },
    /// One operation of a VM_BIND. `errno` 0 = done. `bo` for maps of objects, `cpu_addr` for user pointers.
    Bind {
        file: u64,
        vm: u32,
        op: BindOp,
        addr: u64,
        range: u64,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        bo: Option<u64>,
        offset: u64,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cpu_addr: Option<u64>,
        flags: u32,
        errno: i32,
    },
    QueueCreate {
        file: u64,
        queue: u32,
        vm: u32,
        engine: EngineClass,
    },
    QueueDestroy {
        file: u64,
        queue: u32,
    },
    QueueBanned {
        file: u64,
        queue: u32,
        reason: String,
    },
    Exec {
        file: u64,
        queue: u32,
        addr: u64,
        errno: i32,
    },
    /// A COMPUTE_WALKER reached the command streamer. `n` counts dispatches of the device from 1.
    Dispatch {
        n: u64,
        file: u64,
        queue: u32,
        vm: u32,
        /// Kernel start pointer, 48-bit GPU address.
        kernel: u64,
        groups: [u32; 3],
        /// Pointers found in inline data and indirect payload that fall in a range bound now or earlier.
        pointers: Vec<Pointer>,
        /// The device executes it: `Executed` or `QueueBanned` follows; neither if its text is not bound, since threads that
        /// fetch zeros never end.
        executed: bool,
    },
    /// Dispatch `n` ran to its end. Instructions, messages, bytes read and written are those of the groups that were
    /// executed: all but `native_groups`, and the sample of those.
    Executed {
        n: u64,
        groups: u64,
        threads: u64,
        /// SIMD instructions; of them, messages.
        instructions: u64,
        messages: u64,
        /// Bytes read and written outside shared local memory.
        read: u64,
        written: u64,
        /// Its accesses to addresses with nothing bound, by the range that was bound there before.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        unmapped: Vec<Unmapped>,
        /// Groups that were not executed: the kernel is proved to be a copy or a fill, and these bytes were moved at the
        /// host's speed after a sample of its groups had been executed and compared.
        #[serde(default)]
        native_groups: u64,
        #[serde(default)]
        native_bytes: u64,
        #[serde(default)]
        sampled_groups: u64,
        /// Time it took the model, ns.
        ns: u64,
    },
    /// A pointer of dispatch `n` that had been bound and no longer is.
    Hazard {
        n: u64,
        file: u64,
        queue: u32,
        vm: u32,
        pointer: u64,
        payload_offset: u32,
        role: PointerRole,
        range_addr: u64,
        range_len: u64,
        /// Sequence numbers of the binds and unbinds of that range, in order; the last is the unbind.
        history: Vec<HistoryEntry>,
    },
    /// Bytes moved by the blitter.
    Copy {
        file: u64,
        queue: u32,
        vm: u32,
        command: String,
        bytes: u64,
        src: u64,
        dst: u64,
    },
    /// Device access to an address with nothing bound there.
    UnmappedAccess {
        file: u64,
        vm: u32,
        queue: u32,
        addr: u64,
        write: bool,
        bytes: u64,
        by: String,
        scratch: bool,
    },
    /// A command the streamer does not know or does not model in full, with its first dword. Repeats of one
    /// command are counted in the summary only.
    UnsupportedCommand {
        file: u64,
        queue: u32,
        dword: u32,
        addr: u64,
        name: String,
    },
    WaitEnd {
        wait: u64,
        errno: i32,
        parked_ns: u64,
    },
    FaultInjected {
        rule: String,
        at: String,
        errno: i32,
    },
    /// Last line: everything counted.
    Summary(Summary),
}

/// Where a dispatch carries a pointer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PointerRole {
    /// Inline data or indirect (cross-thread) data.
    #[default]
    Payload,
    /// The kernel's first instruction.
    Kernel,
    /// The scratch surface state that the front end was given (CFE_STATE).
    ScratchState,
    /// The scratch memory that this surface state describes.
    Scratch,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BindOp {
    Map,
    Unmap,
    MapUserptr,
    UnmapAll,
    Prefetch,
    MapNull,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EngineClass {
    Render,
    Copy,
    VideoDecode,
    VideoEnhance,
    Compute,
    VmBind,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pointer {
    /// Byte offset in the payload; inline data first, then the indirect data.
    /// Zero where `role` is not [`PointerRole::Payload`].
    pub payload_offset: u32,
    pub role: PointerRole,
    pub value: u64,
    pub range_addr: u64,
    pub range_len: u64,
    pub bound: bool,
}

/// Bytes that a dispatch read (as zeros) and wrote (to nowhere) in a range that is not bound.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unmapped {
    /// The range as it was last bound; both zero where nothing ever was.
    pub range_addr: u64,
    pub range_len: u64,
    /// Lowest address of these accesses.
    pub first: u64,
    pub read: u64,
    pub written: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HistoryEntry {
    pub seq: u64,
    pub t: u64,
    pub bound: bool,
}

/// Totals of one device run. Maps go from a request's or command's name to a count.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Summary {
    pub ioctls: std::collections::BTreeMap<String, u64>,
    /// "XE_VM_BIND EPERM" → count.
    pub failed: std::collections::BTreeMap<String, u64>,
    pub unsupported_ioctls: std::collections::BTreeMap<String, u64>,
    pub unsupported_commands: std::collections::BTreeMap<String, u64>,
    pub injected: std::collections::BTreeMap<String, u64>,
    pub dispatches: u64,
    pub hazards: u64,
    pub unmapped_reads: u64,
    pub unmapped_writes: u64,
    pub copied_bytes: u64,
    /// Dispatches that ran to their end, with their SIMD instructions and the time they took the model.
    #[serde(default)]
    pub executed: u64,
    #[serde(default)]
    pub instructions: u64,
    #[serde(default)]
    pub executing_ns: u64,
    /// Of the executed dispatches, copies and fills at the host's speed: dispatches, bytes, groups executed and compared.
    #[serde(default)]
    pub native_dispatches: u64,
    #[serde(default)]
    pub native_bytes: u64,
    #[serde(default)]
    pub sampled_groups: u64,
    /// Bytes that dispatches read and wrote with nothing bound there.
    #[serde(default)]
    pub kernel_unmapped_read: u64,
    #[serde(default)]
    pub kernel_unmapped_written: u64,
    pub notifications: u64,
    /// Time spent in the supervisor's handlers, ns.
    pub handler_ns: u64,
    /// Events that could not be written (full disk): a trace with losses proves nothing.
    pub lost_events: u64,
    /// How the client ended: exit code, or 128 + signal; absent when the supervisor was stopped first.
    pub exit_code: Option<i32>,
    pub signal: Option<i32>,
}
