//! Flow control: every channel that is not active waits at an instruction.
//!
//! `goto` sends channels to wait at its second target and goes to the first, the next `join`, once none is left;
//! `join` takes in those that wait for it. Whatever lies between is not executed, `(W)` or not. `if`, `else`, `endif`, `while`
//! and `break` are the same in blocks: `endif` is a `join`, and the other places take in who waits there when they are gone
//! to. Source: PRM, "EU ISA", instructions goto, join, if, else, endif, while, break, call, ret, jmpi.

use super::regs::LANES;

/// Places are indices into the lowered kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flow {
    Goto {
        jip: u32,
        uip: u32,
    },
    /// `goto.b`: to the start of a loop. Channels that leave wait right behind it.
    GotoBack {
        uip: u32,
    },
    /// `endif` too.
    Join {
        jip: u32,
    },
    /// To behind the `else`, or to the `endif` if there is none, where the predicate is false.
    If {
        jip: u32,
    },
    /// To the `endif`.
    Else {
        jip: u32,
    },
    While {
        jip: u32,
    },
    /// `uip`: the `while` of the loop that is left.
    Break {
        jip: u32,
        uip: u32,
    },
    Jmpi {
        to: u32,
    },
    /// `dst`: register offset of the return address and the channel mask.
    Call {
        to: u32,
        dst: u32,
    },
    Ret {
        src: u32,
    },
}

/// No place: the channel does not run.
pub(super) const NOWHERE: u32 = u32::MAX;

/// Which channels run, and where the others wait.
#[derive(Clone, Debug)]
pub(super) struct Channels {
    pub active: u32,
    waiting: [u32; LANES],
}

impl Channels {
    pub fn new(active: u32) -> Self {
        Self { active, waiting: [NOWHERE; LANES] }
    }

    fn park(&mut self, channels: u32, at: u32) {
        self.active &= !channels;
        for (i, place) in self.waiting.iter_mut().enumerate() {
            if channels >> i & 1 != 0 {
                *place = at;
            }
        }
    }

    fn take_in(&mut self, at: u32) {
        for (i, place) in self.waiting.iter_mut().enumerate() {
            if *place == at {
                *place = NOWHERE;
                self.active |= 1 << i;
            }
        }
    }

    /// `taken`: active channels with a true predicate. Returns where to go on, as do the following.
    pub fn goto(&mut self, here: u32, taken: u32, jip: u32, uip: u32) -> u32 {
        self.park(taken, uip);
        if self.active == 0 { jip } else { here + 1 }
    }

    pub fn goto_back(&mut self, here: u32, taken: u32, uip: u32) -> u32 {
        if taken == 0 {
            return here + 1;
        }
        self.park(self.active & !taken, here + 1);
        uip
    }

    pub fn join(&mut self, here: u32, jip: u32) -> u32 {
        self.take_in(here);
        if self.active == 0 { jip } else { here + 1 }
    }

    /// `taken`: those that enter the block.
    pub fn enter_if(&mut self, here: u32, taken: u32, jip: u32) -> u32 {
        self.park(self.active & !taken, jip);
        if self.active == 0 { self.arrive(jip) } else { here + 1 }
    }

    pub fn enter_else(&mut self, here: u32, jip: u32) -> u32 {
        self.park(self.active, jip);
        self.take_in(here + 1);
        if self.active == 0 { self.arrive(jip) } else { here + 1 }
    }

    /// `taken`: those that go round again. The others wait behind until all have left.
    pub fn end_while(&mut self, here: u32, taken: u32, jip: u32) -> u32 {
        if taken == 0 {
            return self.arrive(here + 1);
        }
        self.park(self.active & !taken, here + 1);
        jip
    }

    /// `taken` wait behind the `while` at `uip`, with those that leave there.
    pub fn leave(&mut self, here: u32, taken: u32, jip: u32, uip: u32) -> u32 {
        self.park(taken, uip + 1);
        if self.active == 0 { jip } else { here + 1 }
    }

    /// Goes to `at`, which need not be a `join`.
    fn arrive(&mut self, at: u32) -> u32 {
        self.take_in(at);
        at
    }

    /// Returns the mask to keep for [`Self::ret`], if the call is made.
    pub fn call(&mut self, taken: u32) -> Option<u32> {
        if taken == 0 {
            return None;
        }
        let before = self.active;
        self.active = taken;
        Some(before)
    }

    /// `to`: where to return to, `mask`: what [`Self::call`] kept.
    pub fn ret(&mut self, here: u32, taken: u32, to: u32, mask: u32) -> u32 {
        self.park(taken, to);
        if self.active != 0 {
            return here + 1;
        }
        self.take_in(to);
        self.active |= mask;
        to
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_if_without_else() {
        let mut channels = Channels::new(0xff);
        assert_eq!(channels.goto(3, 0x0f, 9, 9), 4);
        assert_eq!(channels.active, 0xf0);
        assert_eq!(channels.join(9, 12), 10);
        assert_eq!(channels.active, 0xff);
    }

    #[test]
    fn a_block_that_no_channel_enters_is_skipped() {
        let mut channels = Channels::new(0xff);
        assert_eq!(channels.goto(3, 0xff, 9, 20), 9);
        assert_eq!(channels.join(9, 12), 12, "nobody waits at 9");
        assert_eq!(channels.join(20, 21), 21);
        assert_eq!(channels.active, 0xff);
    }

    #[test]
    fn a_loop_that_channels_leave_one_after_the_other() {
        let mut channels = Channels::new(0x7);
        assert_eq!(channels.goto_back(5, 0x6, 2), 2);
        assert_eq!(channels.active, 0x6);
        assert_eq!(channels.goto_back(5, 0x4, 2), 2);
        assert_eq!(channels.goto_back(5, 0, 2), 6);
        assert_eq!(channels.join(6, 7), 7);
        assert_eq!(channels.active, 0x7);
    }

    #[test]
    fn an_if_with_else_gives_each_channel_its_block() {
        // 3: if (else at 6, endif at 9).
        let mut channels = Channels::new(0xff);
        assert_eq!(channels.enter_if(3, 0x0f, 7), 4);
        assert_eq!(channels.active, 0x0f);
        assert_eq!(channels.enter_else(6, 9), 7);
        assert_eq!(channels.active, 0xf0);
        assert_eq!(channels.join(9, 10), 10);
        assert_eq!(channels.active, 0xff);
    }

    #[test]
    fn blocks_of_an_if_that_no_channel_enters_are_skipped() {
        let mut channels = Channels::new(0xff);
        assert_eq!(channels.enter_if(3, 0, 7), 7, "none enters: behind the else");
        assert_eq!(channels.active, 0xff);
        assert_eq!(channels.join(9, 10), 10);
        assert_eq!(channels.enter_if(13, 0xff, 17), 14);
        assert_eq!(channels.enter_else(16, 19), 19, "nobody waits for the else");
        assert_eq!(channels.active, 0xff);
    }

    #[test]
    fn a_while_that_channels_leave_one_after_the_other() {
        let mut channels = Channels::new(0x7);
        assert_eq!(channels.end_while(5, 0x6, 2), 2);
        assert_eq!(channels.end_while(5, 0x4, 2), 2);
        assert_eq!(channels.active, 0x4);
        assert_eq!(channels.end_while(5, 0, 2), 6);
        assert_eq!(channels.active, 0x7);
    }

    #[test]
    fn channels_that_break_wait_for_the_last_to_leave() {
        // 2: the loop, 4: break, 8: while.
        let mut channels = Channels::new(0x7);
        assert_eq!(channels.leave(4, 0x1, 8, 8), 5);
        assert_eq!(channels.end_while(8, 0x6, 2), 2);
        assert_eq!(channels.active, 0x6, "who broke does not go round again");
        assert_eq!(channels.leave(4, 0x6, 8, 8), 8, "nobody is left");
        assert_eq!(channels.end_while(8, 0, 2), 9);
        assert_eq!(channels.active, 0x7);
    }

    #[test]
    fn a_predicated_call_restores_all_channels() {
        let mut channels = Channels::new(0xf);
        let mask = channels.call(0x3).expect("a call");
        assert_eq!((channels.active, mask), (0x3, 0xf));
        assert_eq!(channels.ret(50, 0x1, 4, mask), 51, "channel 1 goes on");
        assert_eq!(channels.ret(60, 0x2, 4, mask), 4);
        assert_eq!(channels.active, 0xf);
        assert_eq!(channels.call(0), None);
    }
}
