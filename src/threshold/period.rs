//! Axes that repeat.

/// The smallest period ≥ 2 with which `answers` (value, corrupt) of consecutive values repeat, in units of `step`; at least two
/// whole periods must be there, and both answers.
pub fn period(answers: &[(u64, bool)], step: u64) -> Option<u64> {
    let count = answers.len() as u64;
    let both = answers.iter().any(|(_, corrupt)| *corrupt) && answers.iter().any(|(_, corrupt)| !*corrupt);
    if !both || step == 0 {
        return None;
    }
    (2..=count / 2).find(|length| {
        let class = |value: u64| (value / step) % length;
        (0..*length).all(|class_of| {
            let mut seen = answers.iter().filter(|(value, _)| class(*value) == class_of).map(|(_, c)| *c);
            let first = seen.next();
            seen.all(|corrupt| Some(corrupt) == first)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::period;

    #[test]
    fn repeats_are_seen_and_steps_are_not() {
        let of = |n: u64, f: fn(u64) -> bool| (100..100 + n).map(|v| (v, f(v))).collect::<Vec<_>>();
        assert_eq!(period(&of(16, |v| v % 4 == 0), 1), Some(4));
        assert_eq!(period(&of(16, |v| v % 8 < 2), 1), Some(8));
        assert_eq!(period(&of(16, |v| v >= 108), 1), None);
        assert_eq!(period(&of(16, |_| true), 1), None);
    }
}
