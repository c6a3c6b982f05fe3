//! The order of releases by the numbers in their names.

use std::cmp::Ordering;

/// 26.9 is before 26.18, whatever stands around the numbers.
pub fn by_release(a: &str, b: &str) -> Ordering {
    let (mut a, mut b) = (a, b);
    loop {
        let (x, rest_a) = token(a);
        let (y, rest_b) = token(b);
        let order = match (x.parse::<u64>(), y.parse::<u64>()) {
            (Ok(x), Ok(y)) => x.cmp(&y),
            _ => x.cmp(y),
        };
        if order != Ordering::Equal || (x.is_empty() && y.is_empty()) {
            return order;
        }
        (a, b) = (rest_a, rest_b);
    }
}

/// The leading digits, or what stands before the next digit.
fn token(text: &str) -> (&str, &str) {
    let digits = text.starts_with(|c: char| c.is_ascii_digit());
    let end = text.find(|c: char| c.is_ascii_digit() != digits).unwrap_or(text.len());
    text.split_at_checked(end).unwrap_or((text, ""))
}

#[cfg(test)]
mod tests {
    use super::by_release;

    #[test]
    fn releases_are_ordered_by_number() {
        let mut names = ["neo-26.18.1", "neo-26.9.40", "neo-25.48", "neo-26.9.5", "neo-26.18"];
        names.sort_by(|a, b| by_release(a, b));
        assert_eq!(names, ["neo-25.48", "neo-26.9.5", "neo-26.9.40", "neo-26.18", "neo-26.18.1"]);
    }
}
