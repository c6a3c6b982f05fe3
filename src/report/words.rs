//! Numbers as people read them.

/// Digits in groups of three.
pub fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(c);
    }
    out
}

/// "1 pair", "2 pairs".
pub fn plural(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

/// "a", "a and b", "a, b and c".
pub fn listed(names: &[String]) -> String {
    match names {
        [head @ .., last] if !head.is_empty() => format!("{} and {last}", head.join(", ")),
        _ => names.concat(),
    }
}

/// All bytes, and what they come to: "16,238,247,936 B (15.12 GiB)".
pub fn bytes(n: u64) -> String {
    match unit(n) {
        Some((unit, name)) => format!("{} B ({:.2} {name})", grouped(n), n as f64 / unit as f64),
        None => format!("{} B", grouped(n)),
    }
}

/// A size as a matrix file has it: "4 GiB" where that is all of it, else every byte.
pub fn size(n: u64) -> String {
    match unit(n) {
        Some((unit, name)) if n.is_multiple_of(unit) => format!("{} {name}", n / unit),
        Some(_) | None => format!("{} B", grouped(n)),
    }
}

/// The largest unit that is not larger than `n`.
fn unit(n: u64) -> Option<(u64, &'static str)> {
    [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")].into_iter().find(|(unit, _)| n >= *unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_told() {
        assert_eq!(grouped(16_238_247_936), "16,238,247,936");
        assert_eq!((grouped(0), grouped(999), grouped(1000)), ("0".into(), "999".into(), "1,000".into()));
        assert_eq!((plural(1, "arm"), plural(2, "arm")), ("1 arm".into(), "2 arms".into()));
        let names = |n: usize| listed(&["a", "b", "c"].map(str::to_owned)[..n]);
        assert_eq!([0, 1, 2, 3].map(names), ["", "a", "a and b", "a, b and c"]);
        assert_eq!(bytes(16_238_247_936), "16,238,247,936 B (15.12 GiB)");
        assert_eq!(bytes(93_323_264), "93,323,264 B (89.00 MiB)");
        assert_eq!(bytes(22), "22 B");
        let sizes = [4 << 30, 11 << 20, 1536, 22_784, 0].map(size);
        assert_eq!(sizes, ["4 GiB", "11 MiB", "1,536 B", "22,784 B", "0 B"]);
    }
}
