//! How the run ended, as the truth table takes it and in words.

use crate::model::facts::Facts;
use crate::model::verdict::RunEnd;

use super::context::Context;
use super::table::Ending;

pub(super) fn ending(end: &RunEnd, facts: &Facts, context: &Context<'_>) -> Ending {
    match end {
        RunEnd::Exited { code } => match (code, wrapper_signal(*code, facts, context)) {
            (_, Some(signal)) => by_signal(signal),
            (0, None) => Ending::Success,
            (1, None) => Ending::Found,
            (_, None) => Ending::OtherCode,
        },
        RunEnd::Signaled { signal, .. } => by_signal(*signal),
        RunEnd::TimedOut { .. } | RunEnd::Inactive { .. } => Ending::Hung,
        RunEnd::OutputFlood { .. } => Ending::Flood,
        RunEnd::SpawnFailed { .. } => Ending::NotStarted,
        RunEnd::Interrupted => Ending::Interrupted,
    }
}

/// The simulated device's wrapper ends with 128 + signal when its client died of one.
pub fn wrapper_signal(code: i32, facts: &Facts, context: &Context<'_>) -> Option<i32> {
    if !context.simulated {
        return None;
    }
    let told = facts.sim.as_ref().and_then(|sim| sim.summary.signal);
    told.or_else(|| (129..=192).contains(&code).then_some(code - 128))
}

fn by_signal(signal: i32) -> Ending {
    match signal {
        libc::SIGKILL | libc::SIGTERM | libc::SIGINT | libc::SIGHUP => Ending::OutsideKill,
        // SIGXFSZ is the harness's own limit on file sizes.
        libc::SIGXFSZ | libc::SIGXCPU => Ending::OutsideKill,
        _ => Ending::Signal,
    }
}

pub(super) fn describe_end(end: &RunEnd) -> String {
    match end {
        RunEnd::Exited { code } => format!("exit code {code}"),
        RunEnd::Signaled { signal, core_dumped } => {
            format!("ended by signal {signal}{}", if *core_dumped { ", core dumped" } else { "" })
        }
        RunEnd::TimedOut { after, killed } => {
            format!("stopped after {:.1} s (timeout{})", after.as_secs_f64(), kill_word(*killed))
        }
        RunEnd::Inactive { after, killed } => {
            format!(
                "stopped after {:.1} s (no output, no device activity{})",
                after.as_secs_f64(),
                kill_word(*killed)
            )
        }
        RunEnd::OutputFlood { bytes } => format!("stopped after {bytes} bytes of output"),
        RunEnd::SpawnFailed { errno, what } => format!("not started: {what} (errno {errno})"),
        RunEnd::Interrupted => "interrupted".into(),
    }
}

fn kill_word(killed: bool) -> &'static str {
    if killed { "; TERM was ignored, KILL was needed" } else { "" }
}
