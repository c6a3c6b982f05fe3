//! Is the machine still one whose results mean something? Only cards are watched: a simulated device poisons nothing.

use crate::model::outcome::RunRecord;
use crate::model::verdict::Verdict;

use super::cancel::Cancel;

/// As many runs in a row with a reset or a lost device make a loop: one is a finding, a row of them is a broken machine.
const IN_A_ROW: u32 = 3;

/// What is known so far.
#[derive(Debug)]
pub struct Health {
    /// The kernel's taint mask at the start; bits that were set before say nothing of these runs.
    tainted: Option<u64>,
    bad_in_a_row: u32,
    poisoned: Option<String>,
}

impl Health {
    /// `tainted`: the mask now (/proc/sys/kernel/tainted), if it can be read.
    pub fn new(tainted: Option<u64>) -> Self {
        Health { tainted, bad_in_a_row: 0, poisoned: None }
    }

    /// Looks at a finished run, and asks for the end where nothing more should be run.
    pub fn watch(&mut self, record: &RunRecord, cancel: &Cancel) {
        if self.poisoned.is_none() {
            self.poisoned = self.after(record, tainted());
            if self.poisoned.is_some() {
                cancel.ask();
            }
        }
    }

    /// Why nothing more should be run.
    pub fn poisoned(&self) -> Option<&str> {
        self.poisoned.as_deref()
    }

    /// Looks at a finished run; `tainted` is the mask after it. `Some`: why nothing more should be run.
    fn after(&mut self, record: &RunRecord, tainted: Option<u64>) -> Option<String> {
        if record.device.starts_with("sim:") {
            return None;
        }
        if let (Some(before), Some(now)) = (self.tainted, tainted)
            && now & !before != 0
        {
            return Some(format!(
                "the kernel is tainted since {} #{} (mask {before} → {now})",
                record.arm, record.repeat
            ));
        }
        let log = record.facts.kernel_log.as_ref();
        if log.is_some_and(|log| log.failed_resets > 0) {
            return Some(format!(
                "a reset of the device failed in {} #{}: it is wedged",
                record.arm, record.repeat
            ));
        }
        let lost = matches!(record.verdict, Verdict::DeviceLost { .. });
        let reset = log
            .is_some_and(|log| log.engine_resets + log.chip_resets + log.gpu_hangs + log.timed_out_jobs > 0);
        self.bad_in_a_row = if lost || reset { self.bad_in_a_row + 1 } else { 0 };
        (self.bad_in_a_row >= IN_A_ROW)
            .then(|| format!("{IN_A_ROW} runs in a row ended with a reset or a lost device"))
    }
}

/// The kernel's taint mask.
pub fn tainted() -> Option<u64> {
    std::fs::read_to_string("/proc/sys/kernel/tainted").ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::fixture;
    use crate::model::facts::KernelLogFacts;
    use crate::model::outcome::RunRecord;

    fn record(device: &str, verdict: Verdict, log: KernelLogFacts) -> RunRecord {
        let arm = fixture::arm();
        let mut record = crate::report::fixture::with(&arm, 0, verdict, fixture::facts());
        record.device = device.into();
        record.facts.kernel_log = Some(log);
        record
    }

    fn lost() -> Verdict {
        Verdict::DeviceLost { what: "x".into() }
    }

    fn clean() -> Verdict {
        Verdict::Clean { basis: crate::model::verdict::Basis::Data }
    }

    #[test]
    fn a_row_of_resets_stops_and_a_good_run_breaks_the_row() {
        let mut health = Health::new(Some(0));
        let mut after =
            |verdict| health.after(&record("pci:0000:09:00.0", verdict, KernelLogFacts::default()), Some(0));
        assert_eq!((after(lost()), after(lost()), after(clean())), (None, None, None));
        assert_eq!((after(lost()), after(lost())), (None, None));
        assert!(after(lost()).is_some_and(|why| why.contains("3 runs in a row")));
    }

    #[test]
    fn new_taint_and_failed_resets_stop_at_once_but_old_taint_does_not() {
        let mut health = Health::new(Some(4096));
        let fine = record("pci:0000:09:00.0", clean(), KernelLogFacts::default());
        assert_eq!(health.after(&fine, Some(4096)), None);
        assert!(health.after(&fine, Some(4096 | 512)).is_some_and(|why| why.contains("4096 → 4608")));
        let wedged = KernelLogFacts { failed_resets: 1, ..KernelLogFacts::default() };
        assert!(Health::new(None).after(&record("pci:0000:09:00.0", clean(), wedged), None).is_some());
    }

    #[test]
    fn a_simulated_device_poisons_nothing() {
        let mut health = Health::new(Some(0));
        let lost =
            record("sim:a770", lost(), KernelLogFacts { failed_resets: 9, ..KernelLogFacts::default() });
        assert!((0..9).all(|_| health.after(&lost, Some(1)).is_none()));
    }
}
