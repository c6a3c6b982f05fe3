//! Sync objects: binary and timeline, within one file (no export to descriptors).

use std::time::Instant;

use super::wait::{Condition, Wait, absolute_deadline};
use super::{Device, EINVAL, ENOENT, EOPNOTSUPP, Outcome, Served, fail, require};
use crate::client::{Caller, Errno, FileId};
use crate::uapi::ioc;
use crate::uapi::wire::{
    self, Argument, SyncobjArray, SyncobjHandle, SyncobjTimelineArray, SyncobjTimelineWait,
};

const CREATE_SIGNALED: u32 = 1;
const WAIT_ALL: u32 = 1;
const WAIT_FOR_SUBMIT: u32 = 2;
const MAX_HANDLES: u32 = 4096;

/// What a sync object stands at: a binary one counts as point 0 reached or not.
#[derive(Clone, Copy, Debug, Default)]
pub struct Syncobj {
    signaled: bool,
    point: u64,
}

/// Which state of a sync object is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Point {
    Binary,
    Timeline(u64),
}

/// A parked SYNCOBJ_WAIT or SYNCOBJ_TIMELINE_WAIT.
#[derive(Clone, Debug)]
pub(super) struct SyncobjWait {
    nr: u32,
    targets: Vec<(u32, Point)>,
    all: bool,
}

impl Syncobj {
    fn reached(self, point: Point) -> bool {
        match point {
            Point::Binary | Point::Timeline(0) => self.signaled,
            Point::Timeline(point) => self.point >= point,
        }
    }
}

impl Device {
    pub(super) fn syncobj_reached(&self, file: FileId, handle: u32, point: Point) -> bool {
        self.files.get(&file).and_then(|f| f.syncobjs.get(handle)).is_none_or(|s| s.reached(point))
    }

    pub(super) fn syncobj_signal(&mut self, file: FileId, handle: u32, point: Point) {
        if let Some(s) = self.files.get_mut(&file).and_then(|f| f.syncobjs.get_mut(handle)) {
            s.signaled = true;
            if let Point::Timeline(point) = point {
                s.point = s.point.max(point);
            }
        }
    }

    pub(super) fn syncobj(&mut self, caller: &Caller, nr: u32, a: &mut Argument, arg: u64) -> Served {
        match nr {
            ioc::SYNCOBJ_CREATE => {
                let mut c = SyncobjHandle::load(a);
                require(c.flags() & !CREATE_SIGNALED == 0)?;
                let signaled = c.flags() & CREATE_SIGNALED != 0;
                let handle = self.file_mut(caller)?.syncobjs.insert(Syncobj { signaled, point: 0 });
                c.set_handle(handle);
                c.store(a);
            }
            ioc::SYNCOBJ_DESTROY => {
                let d = SyncobjHandle::load(a);
                require(d.flags() == 0)?;
                self.file_mut(caller)?.syncobjs.remove(d.handle()).ok_or(EINVAL)?;
            }
            ioc::SYNCOBJ_RESET | ioc::SYNCOBJ_SIGNAL => {
                let s = SyncobjArray::load(a);
                require(s.pad() == 0 && s.count() != 0)?;
                for handle in self.read_u32s(caller, s.handles(), s.count())? {
                    let object = self.file_mut(caller)?.syncobjs.get_mut(handle).ok_or(ENOENT)?;
                    *object = Syncobj { signaled: nr == ioc::SYNCOBJ_SIGNAL, point: 0 };
                }
            }
            ioc::SYNCOBJ_TIMELINE_SIGNAL => {
                let s = SyncobjTimelineArray::load(a);
                require(s.flags() == 0 && s.count() != 0)?;
                let handles = self.read_u32s(caller, s.handles(), s.count())?;
                let points = self.read_u64s(caller, s.points(), s.count())?;
                for (handle, point) in handles.into_iter().zip(points) {
                    self.file(caller)?.syncobjs.get(handle).ok_or(ENOENT)?;
                    self.syncobj_signal(caller.file, handle, Point::Timeline(point));
                }
            }
            ioc::SYNCOBJ_QUERY => {
                let q = SyncobjTimelineArray::load(a);
                require(q.flags() & !1 == 0 && q.count() != 0)?;
                for (i, handle) in self.read_u32s(caller, q.handles(), q.count())?.into_iter().enumerate() {
                    let point = self.file(caller)?.syncobjs.get(handle).ok_or(ENOENT)?.point;
                    let at = q.points().wrapping_add(8 * i as u64);
                    self.mem.write(caller.process, at, &point.to_le_bytes())?;
                }
            }
            ioc::SYNCOBJ_WAIT | ioc::SYNCOBJ_TIMELINE_WAIT => return self.syncobj_wait(caller, nr, a, arg),
            _ => {
                return Err(self.unsupported(caller.file, nr, "sync objects beyond their file", EOPNOTSUPP));
            }
        }
        Ok(Outcome::Value(0))
    }

    fn read_u32s(&self, caller: &Caller, at: u64, count: u32) -> Result<Vec<u32>, Errno> {
        require(count <= MAX_HANDLES)?;
        let mut bytes = vec![0; count as usize * 4];
        self.mem.read(caller.process, at, &mut bytes)?;
        Ok(bytes.chunks_exact(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect())
    }

    fn read_u64s(&self, caller: &Caller, at: u64, count: u32) -> Result<Vec<u64>, Errno> {
        let words = self.read_u32s(caller, at, count.saturating_mul(2))?;
        Ok(words.chunks_exact(2).map(|w| u64::from(w[0]) | u64::from(w[1]) << 32).collect())
    }

    fn syncobj_wait(&mut self, caller: &Caller, nr: u32, a: &mut Argument, arg: u64) -> Served {
        let (handles, points, count, flags, timeout) = if nr == ioc::SYNCOBJ_WAIT {
            let w = wire::SyncobjWait::load(a);
            (w.handles(), None, w.count(), w.flags(), w.timeout())
        } else {
            let w = SyncobjTimelineWait::load(a);
            (w.handles(), Some(w.points()), w.count(), w.flags(), w.timeout())
        };
        require(count != 0 && flags & !(WAIT_ALL | WAIT_FOR_SUBMIT) == 0)?;
        let handles = self.read_u32s(caller, handles, count)?;
        let points = match points {
            Some(at) => self.read_u64s(caller, at, count)?.into_iter().map(Point::Timeline).collect(),
            None => vec![Point::Binary; handles.len()],
        };
        for handle in &handles {
            self.file(caller)?.syncobjs.get(*handle).ok_or(ENOENT)?;
        }
        let wait = SyncobjWait {
            nr,
            targets: handles.into_iter().zip(points).collect(),
            all: flags & WAIT_ALL != 0,
        };
        self.run_queues();
        if let Some(first) = self.syncobj_wait_met(caller.file, &wait) {
            let at = if nr == ioc::SYNCOBJ_WAIT { 24 } else { 32 };
            if let Some(place) = a.get_mut(at..at + 4) {
                place.copy_from_slice(&first.to_le_bytes());
            }
            return Ok(Outcome::Value(0));
        }
        // Timeouts of sync objects are absolute.
        let deadline = absolute_deadline(timeout);
        if timeout <= 0 || deadline <= Instant::now() {
            return Err(fail(libc::ETIME));
        }
        Ok(Outcome::Parked(self.park(caller, arg, Some(deadline), Condition::Syncobj(wait))))
    }

    /// The index of the first object that is signalled, once the wait's condition holds.
    pub(super) fn syncobj_wait_met(&self, file: FileId, wait: &SyncobjWait) -> Option<u32> {
        let mut met = wait.targets.iter().map(|(handle, point)| self.syncobj_reached(file, *handle, *point));
        if wait.all {
            return met.all(|m| m).then_some(0);
        }
        met.position(|m| m).and_then(|i| u32::try_from(i).ok())
    }

    pub(super) fn end_syncobj_wait(
        &mut self,
        wait: &Wait,
        condition: &SyncobjWait,
        result: Result<i64, Errno>,
    ) {
        match result {
            Ok(_) => {
                let first = self.syncobj_wait_met(wait.file, condition).unwrap_or(0);
                let at = if condition.nr == ioc::SYNCOBJ_WAIT { 24 } else { 32 };
                // The caller may be gone; then nobody reads it.
                let _ = self.mem.write(wait.process, wait.arg.wrapping_add(at), &first.to_le_bytes());
            }
            Err(errno) => self.count_failure(wait.file, condition.nr, errno),
        }
    }
}
