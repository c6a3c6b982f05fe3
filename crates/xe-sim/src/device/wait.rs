//! WAIT_USER_FENCE: compare, park, time out. Also parked syncobj waits.

use std::time::{Duration, Instant};

use super::objects::QueueKey;
use super::syncobj::SyncobjWait;
use super::{Device, Next, Outcome, Served, fail, require};
use crate::client::{Caller, Errno, FileId, ProcessId, WaitId};
use crate::fault::{BindKind, Point};
use crate::trace::Event;
use crate::uapi::ioc;
use crate::uapi::wire::{Argument, WaitUserFence};

const FLAG_ABSTIME: u16 = 1;
const OP_LAST: u16 = 5;

/// What a parked caller waits for.
pub(super) enum Condition {
    User {
        /// The request, to write its timeout back.
        request: WaitUserFence,
        queue: Option<QueueKey>,
        /// Injected: the fence is never looked at.
        never: bool,
    },
    Syncobj(SyncobjWait),
}

pub(super) struct Wait {
    pub(super) id: WaitId,
    pub(super) file: FileId,
    pub(super) process: ProcessId,
    /// Address of the argument in the client.
    pub(super) arg: u64,
    pub(super) since: Instant,
    pub(super) deadline: Option<Instant>,
    pub(super) condition: Condition,
}

/// A wait that ended, with the ioctl's result.
pub type Finished = (WaitId, Result<i64, Errno>);

/// `DRM_XE_UFENCE_WAIT_OP_*` on masked values.
pub(super) fn compare(op: u16, have: u64, want: u64) -> bool {
    match op {
        0 => have == want,
        1 => have != want,
        2 => have > want,
        3 => have >= want,
        4 => have < want,
        _ => have <= want,
    }
}

/// The end of an absolute CLOCK_MONOTONIC time in ns; `now` when it is past.
pub(super) fn absolute_deadline(ns: i64) -> Instant {
    let now_ns = crate::trace::now_ns();
    let left = u64::try_from(ns).unwrap_or(0).saturating_sub(now_ns);
    deadline_in(left).unwrap_or_else(Instant::now)
}

/// `None` for a time that no clock reaches.
fn deadline_in(ns: u64) -> Option<Instant> {
    Instant::now().checked_add(Duration::from_nanos(ns))
}

impl Device {
    pub(super) fn wait_user_fence(&mut self, caller: &Caller, a: &mut Argument, arg: u64) -> Served {
        let mut w = WaitUserFence::load(a);
        require(
            w.extensions() == 0 && w.pad() == 0 && w.pad2() == 0 && w.reserved0() == 0 && w.reserved1() == 0,
        )?;
        require(w.flags() & !FLAG_ABSTIME == 0 && w.op() <= OP_LAST && w.addr().is_multiple_of(8))?;
        let queue = match w.exec_queue_id() {
            0 => None,
            id => Some(self.queue_key(caller, id)?),
        };
        let never = self.inject(Point::Wait, BindKind::Other)?;
        // What the caller waits for may be one step away.
        if !never && self.user_fence_met(caller.process, &w)? {
            return Ok(Outcome::Value(0));
        }
        self.run_queues();
        if !never && self.user_fence_met(caller.process, &w)? {
            return Ok(Outcome::Value(0));
        }
        if queue.is_some_and(|q| self.queues.get(&q).is_none_or(|q| q.banned)) {
            return Err(fail(libc::EIO));
        }
        let timeout = w.timeout();
        let deadline = if w.flags() & FLAG_ABSTIME != 0 {
            Some(absolute_deadline(timeout))
        } else if timeout < 0 {
            None
        } else {
            deadline_in(timeout as u64)
        };
        if deadline.is_some_and(|d| d <= Instant::now()) {
            if w.flags() & FLAG_ABSTIME == 0 {
                w.set_timeout(0);
                w.store(a);
            }
            return Err(fail(libc::ETIME));
        }
        let condition = Condition::User { request: w, queue, never };
        Ok(Outcome::Parked(self.park(caller, arg, deadline, condition)))
    }

    pub(super) fn park(
        &mut self,
        caller: &Caller,
        arg: u64,
        deadline: Option<Instant>,
        condition: Condition,
    ) -> WaitId {
        let id = WaitId(self.key());
        self.waits.push(Wait {
            id,
            file: caller.file,
            process: caller.process,
            arg,
            since: Instant::now(),
            deadline,
            condition,
        });
        id
    }

    fn user_fence_met(&self, process: ProcessId, w: &WaitUserFence) -> Result<bool, Errno> {
        let mut have = [0; 8];
        self.mem.read(process, w.addr(), &mut have)?;
        Ok(compare(w.op(), u64::from_le_bytes(have) & w.mask(), w.value() & w.mask()))
    }

    /// `Some` when the wait is over, with the ioctl's result.
    fn wait_result(&self, wait: &Wait) -> Option<Result<i64, Errno>> {
        match &wait.condition {
            Condition::User { request, queue, never } => {
                if !never {
                    match self.user_fence_met(wait.process, request) {
                        Ok(true) => return Some(Ok(0)),
                        Ok(false) => {}
                        Err(errno) => return Some(Err(errno)),
                    }
                }
                if queue.is_some_and(|q| self.queues.get(&q).is_none_or(|q| q.banned)) {
                    return Some(Err(fail(libc::EIO)));
                }
            }
            Condition::Syncobj(condition) => {
                if self.syncobj_wait_met(wait.file, condition).is_some() {
                    return Some(Ok(0));
                }
            }
        }
        wait.deadline.is_some_and(|d| d <= Instant::now()).then_some(Err(fail(libc::ETIME)))
    }

    /// Ends the waits that can end. Returns them and when to look again.
    pub(super) fn check_waits(&mut self, now: Instant) -> (Vec<Finished>, Next) {
        if self.waits.is_empty() {
            return (Vec::new(), Next::Idle);
        }
        let mut finished = Vec::new();
        for wait in std::mem::take(&mut self.waits) {
            match self.wait_result(&wait) {
                None => self.waits.push(wait),
                Some(result) => {
                    self.end_wait(&wait, result, now);
                    finished.push((wait.id, result));
                }
            }
        }
        let only_time = |w: &Wait| matches!(w.condition, Condition::User { never: true, .. });
        let next = if self.waits.iter().any(|w| !only_time(w)) {
            Next::Poll
        } else {
            self.waits.iter().filter_map(|w| w.deadline).min().map_or(Next::Idle, Next::At)
        };
        (finished, next)
    }

    fn end_wait(&mut self, wait: &Wait, result: Result<i64, Errno>, now: Instant) {
        let parked = now.saturating_duration_since(wait.since);
        match &wait.condition {
            Condition::User { request, .. } => {
                // xe returns what is left of a relative timeout; "for ever" stays so.
                if request.flags() & FLAG_ABSTIME == 0 && request.timeout() >= 0 {
                    let spent = i64::try_from(parked.as_nanos()).unwrap_or(i64::MAX);
                    let mut written = *request;
                    written.set_timeout(request.timeout().saturating_sub(spent).max(0));
                    // The caller may be gone; then nobody reads it.
                    let _ = self.mem.write(wait.process, wait.arg, &written.0);
                }
                if let Err(errno) = result {
                    self.count_failure(wait.file, ioc::XE_WAIT_USER_FENCE, errno);
                }
            }
            Condition::Syncobj(condition) => self.end_syncobj_wait(wait, condition, result),
        }
        self.trace.emit(Event::WaitEnd {
            wait: wait.id.0,
            errno: result.err().map_or(0, |e| e.0),
            parked_ns: u64::try_from(parked.as_nanos()).unwrap_or(u64::MAX),
        });
    }
}
