//! What makes two failures the same failure: stable over runs, machines and address layouts.

use crate::model::facts::Facts;
use crate::model::verdict::Verdict;

use super::context::{Account, Context};
use super::surface::fits;

/// e.g. `corrupt wrong=131072 untouched=65536 control=0 role=private-surface align=64K offset=0`.
pub fn signature(verdict: &Verdict, account: &Account, facts: &Facts, context: &Context<'_>) -> String {
    let mut text = verdict.word().to_owned();
    let mut add = |key: &str, value: String| {
        text.push(' ');
        text.push_str(key);
        text.push('=');
        text.push_str(&value);
    };
    match verdict {
        Verdict::Corrupt { wrong, untouched, control_wrong, .. } => {
            for (key, count) in [("wrong", wrong), ("untouched", untouched), ("control", control_wrong)] {
                if let Some(count) = count {
                    add(key, count.to_string());
                }
            }
        }
        Verdict::WrongBefore { wrong, untouched, .. } => {
            for (key, count) in [("wrong", wrong), ("untouched", untouched)] {
                if let Some(count) = count {
                    add(key, count.to_string());
                }
            }
        }
        Verdict::Crash { signal, location } => {
            add("signal", signal.to_string());
            if let Some(location) = location {
                add("at", location.clone());
            }
        }
        Verdict::DeviceLost { what } | Verdict::BuildFailed { what } => add("what", first_words(what)),
        Verdict::Hang { .. } => {
            let phase = account.given().and_then(|r| r.phases.last()).map(|m| format!("{:?}", m.phase));
            add("phase", phase.unwrap_or_else(|| "unknown".into()));
        }
        Verdict::Clean { .. } | Verdict::Untestable { .. } | Verdict::HarnessError { .. } => return text,
    }
    let hazard = facts.sim.as_ref().and_then(|sim| sim.hazards.first());
    if let Some(hazard) = hazard {
        let surface = account.given().and_then(|r| context.surface_bytes(r));
        let is_surface = surface.is_some_and(|bytes| fits(hazard.range_len, bytes));
        let role = match &hazard.role {
            Some(role) => role.replace(' ', "-"),
            None if is_surface => "private-surface".into(),
            None => "unknown".into(),
        };
        add("role", role);
        add("align", page_class(hazard.range_addr).into());
        let offset = hazard.pointer.wrapping_sub(hazard.range_addr);
        add("offset", if offset == 0 { "0".into() } else { page_class(offset).into() });
    }
    text
}

/// The largest usual page size that divides `address`.
fn page_class(address: u64) -> &'static str {
    match address.trailing_zeros() {
        21.. => "2M",
        16..=20 => "64K",
        12..=15 => "4K",
        0..=11 => "unaligned",
    }
}

fn first_words(text: &str) -> String {
    text.split_whitespace().take(4).collect::<Vec<_>>().join("-")
}
