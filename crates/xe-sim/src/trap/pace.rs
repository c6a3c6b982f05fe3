//! How the supervisor waits for what a client writes without a trap: a ring's semaphore, a fence that a queue watches.
//!
//! With a processor to itself it looks without sleeping while the client runs on another one. Where there are fewer processors
//! than threads that run, that would keep the client from the very write it waits for: then both share one, by turns.

use std::time::{Duration, Instant};

use nix::sys::resource::{UsageWho, getrusage};

/// Memory is looked at without sleeping for this long after something happened: a driver needs some 70 µs from its last
/// request to the write of a ring's semaphore, and then spins on the answer. A virtual processor that sleeps in between may
/// take milliseconds to wake.
const SPIN: Duration = Duration::from_micros(300);
/// And for so long where processors are scarce.
const CROWDED_SPIN: Duration = Duration::from_micros(30);
/// First and longest sleep between looks after that.
const SHORTEST_SLEEP: Duration = Duration::from_micros(20);
const LONGEST_SLEEP: Duration = Duration::from_micros(500);
/// A processor that is given away comes back within this, unless others have work for it. Once may be the client, which is
/// woken elsewhere next time; so many times mean that there is no elsewhere…
const SLOW: Duration = Duration::from_millis(1);
const SLOW_OFFERS: u32 = 3;
/// …and so does this: of so many times that it is given away, others take it more than a quarter. (Two that both give it away
/// have it back at once, and keep their clients waiting elsewhere.)
const OFFERS: u32 = 64;
/// How long that is believed at first, and at most where it stays so: each look for a free processor costs both sides.
const FIRST_BELIEF: Duration = Duration::from_millis(100);
const LAST_BELIEF: Duration = Duration::from_secs(3);

pub(super) struct Pace {
    /// When something last happened: a call came or a queue went on.
    last_event: Instant,
    /// The next sleep.
    sleep: Duration,
    /// Until then processors are taken to be scarce.
    crowded_until: Option<Instant>,
    belief: Duration,
    /// Times that the processor was given away, and how often others had taken it before the first of them.
    offers: u32,
    taken: u64,
    /// How many of them were slow.
    slow: u32,
}

/// How often others have had this thread's processor before it was done with it, as the kernel counts.
fn taken() -> u64 {
    let usage = getrusage(UsageWho::RUSAGE_THREAD);
    usage.map_or(0, |usage| usage.involuntary_context_switches().unsigned_abs())
}

impl Pace {
    pub(super) fn new(now: Instant) -> Pace {
        Pace {
            last_event: now,
            sleep: SHORTEST_SLEEP,
            crowded_until: None,
            belief: FIRST_BELIEF,
            offers: 0,
            taken: 0,
            slow: 0,
        }
    }

    pub(super) fn happened(&mut self, now: Instant) {
        self.last_event = now;
    }

    /// Since something last happened.
    pub(super) fn idle(&self, now: Instant) -> Duration {
        now.saturating_duration_since(self.last_event)
    }

    pub(super) fn crowded(&self, now: Instant) -> bool {
        self.crowded_until.is_some_and(|until| now < until)
    }

    /// The sleep before the next look; none while it is worth looking without. `give_way` gives the processor away for once.
    pub(super) fn sleep(&mut self, now: Instant, give_way: impl FnOnce()) -> Duration {
        let crowded = self.crowded(now);
        if self.idle(now) >= if crowded { CROWDED_SPIN } else { SPIN } {
            let sleep = self.sleep;
            self.sleep = (sleep * 2).min(LONGEST_SLEEP);
            return sleep;
        }
        self.sleep = SHORTEST_SLEEP;
        if !crowded {
            self.offer(give_way);
        }
        Duration::ZERO
    }

    fn offer(&mut self, give_way: impl FnOnce()) {
        if self.offers == 0 {
            (self.taken, self.slow) = (taken(), 0);
        }
        let before = Instant::now();
        give_way();
        let now = Instant::now();
        self.offers += 1;
        self.slow += u32::from(now - before > SLOW);
        let mut crowded = self.slow == SLOW_OFFERS;
        if self.offers == OFFERS || crowded {
            crowded |= taken().saturating_sub(self.taken) > u64::from(OFFERS / 4);
            self.offers = 0;
        }
        self.gave_way(now, crowded);
    }

    fn gave_way(&mut self, now: Instant, crowded: bool) {
        let free_for = self.crowded_until.map(|until| now.saturating_duration_since(until));
        if crowded {
            self.crowded_until = Some(now + self.belief);
            self.belief = (self.belief * 2).min(LAST_BELIEF);
        } else if free_for.is_some_and(|free| free > FIRST_BELIEF) {
            (self.crowded_until, self.belief) = (None, FIRST_BELIEF);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn it_looks_without_sleeping_for_a_while_and_then_less_and_less_often() {
        let start = Instant::now();
        let mut pace = Pace::new(start);
        assert_eq!(pace.sleep(start + SPIN / 2, || ()), Duration::ZERO);
        let sleeps: Vec<u128> = (0..7).map(|_| pace.sleep(start + SPIN, || ()).as_micros()).collect();
        assert_eq!(sleeps, [20, 40, 80, 160, 320, 500, 500]);
        pace.happened(start + MS);
        assert_eq!(pace.sleep(start + MS, || ()), Duration::ZERO);
        assert_eq!(pace.sleep(start + MS + SPIN, || ()), SHORTEST_SLEEP, "from the beginning again");
    }

    #[test]
    fn where_a_given_processor_does_not_come_back_it_gives_way_sooner() {
        let start = Instant::now();
        let mut pace = Pace::new(start);
        let mut give = |slowly: Duration| pace.sleep(start, || std::thread::sleep(slowly));
        for _ in 0..SLOW_OFFERS {
            assert_eq!(give(2 * MS), Duration::ZERO);
        }
        assert!(pace.crowded(start + 6 * MS) && pace.crowded(start + FIRST_BELIEF));
        pace.happened(start + 7 * MS);
        assert_eq!(
            pace.sleep(start + 7 * MS + CROWDED_SPIN, || unreachable!("not worth another try")),
            SHORTEST_SLEEP
        );
    }

    #[test]
    fn what_is_true_again_and_again_is_believed_longer_until_it_no_longer_is() {
        let mut now = Instant::now();
        let mut pace = Pace::new(now);
        for belief in [100, 200, 400, 800, 1600, 3000, 3000] {
            pace.gave_way(now, true);
            now += belief * MS;
            assert!(pace.crowded(now - MS) && !pace.crowded(now), "{belief}");
        }
        pace.gave_way(now, false);
        now += 2 * FIRST_BELIEF;
        pace.gave_way(now, false);
        pace.gave_way(now, true);
        assert!(!pace.crowded(now + FIRST_BELIEF), "as at first");
    }
}
