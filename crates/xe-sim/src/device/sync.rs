//! The `drm_xe_sync` arrays of EXEC and VM_BIND.

use super::syncobj::Point as SyncPoint;
use super::{Device, EINVAL, ENOENT, EOPNOTSUPP, require};
use crate::client::{Caller, Errno};
use crate::uapi::ioc;
use crate::uapi::wire::Sync;

const MAX_SYNCS: u32 = 1024;
const FLAG_SIGNAL: u32 = 1;

/// What is signalled when the work is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// A user fence: `value` at `addr` (GPU address for EXEC, CPU address for VM_BIND).
    User {
        addr: u64,
        value: u64,
    },
    Syncobj {
        handle: u32,
        point: SyncPoint,
    },
}

/// A checked array.
#[derive(Clone, Debug, Default)]
pub struct Syncs {
    pub waits: Vec<(u32, SyncPoint)>,
    pub signals: Vec<Signal>,
}

impl Device {
    /// Reads and checks as `xe_sync_entry_parse`. `exec` tells EXEC from VM_BIND.
    pub(super) fn read_syncs(
        &self,
        caller: &Caller,
        at: u64,
        count: u32,
        exec: bool,
    ) -> Result<Syncs, Errno> {
        let mut syncs = Syncs::default();
        require(count <= MAX_SYNCS)?;
        let mut user_fences = 0;
        for i in 0..u64::from(count) {
            let mut s = Sync::zeroed();
            self.mem.read(caller.process, at.wrapping_add(i * Sync::SIZE as u64), &mut s.0)?;
            require(s.extensions() == 0 && s.reserved0() == 0 && s.reserved1() == 0)?;
            require(s.flags() & !FLAG_SIGNAL == 0)?;
            let signal = s.flags() & FLAG_SIGNAL != 0;
            match s.kind() {
                0 | 1 => {
                    let timeline = s.kind() == 1;
                    require(!timeline || s.value() != 0)?;
                    let point = if timeline { SyncPoint::Timeline(s.value()) } else { SyncPoint::Binary };
                    self.file(caller)?.syncobjs.get(s.handle()).ok_or(ENOENT)?;
                    if signal {
                        syncs.signals.push(Signal::Syncobj { handle: s.handle(), point });
                    } else {
                        syncs.waits.push((s.handle(), point));
                    }
                }
                2 => {
                    if !signal {
                        return Err(EOPNOTSUPP);
                    }
                    require(s.addr().is_multiple_of(8))?;
                    user_fences += 1;
                    require(user_fences <= 1)?;
                    if !exec {
                        // `access_ok` and the page: a fence that cannot be written is refused now.
                        self.mem.read(caller.process, s.addr(), &mut [0; 8])?;
                    }
                    syncs.signals.push(Signal::User { addr: s.addr(), value: s.value() });
                }
                _ => return Err(EINVAL),
            }
        }
        Ok(syncs)
    }

    /// Ends a VM_BIND: its operations are done, so its fences are signalled.
    pub(super) fn signal_bind(&mut self, caller: &Caller, syncs: &Syncs) -> Result<(), Errno> {
        let pending =
            syncs.waits.iter().any(|(handle, point)| !self.syncobj_reached(caller.file, *handle, *point));
        if pending {
            // The operations were carried out early; a client that looks could tell.
            let detail = "bind that waits for a syncobj was done at once";
            self.unsupported(caller.file, ioc::XE_VM_BIND, detail, Errno(0));
        }
        for signal in &syncs.signals {
            match *signal {
                Signal::User { addr, value } => self.mem.write(caller.process, addr, &value.to_le_bytes())?,
                Signal::Syncobj { handle, point } => self.syncobj_signal(caller.file, handle, point),
            }
        }
        Ok(())
    }
}
