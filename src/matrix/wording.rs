//! serde's words for a value of the wrong kind, in the words of a matrix file.

use super::load::shorten;

/// "expected a whole number from 0 to 4294967295, found \"four\"" of "invalid type: string \"four\", expected u32". `None`:
/// serde says something else.
pub fn plain(message: &str) -> Option<String> {
    if message == "wanted string or table" {
        return Some("expected a word in quotes".to_owned());
    }
    let rest = message.strip_prefix("invalid type: ").or_else(|| message.strip_prefix("invalid value: "))?;
    // The value found comes from the file and may hold anything; what was expected is ours or serde's.
    let (found, expected) = rest.rsplit_once(", expected ")?;
    Some(format!("expected {}, found {}", wanted(expected), value(found)))
}

fn wanted(expected: &str) -> String {
    let from = |low: i64, high: u64| format!("a whole number from {low} to {high}");
    match expected {
        "u8" => from(0, u8::MAX.into()),
        "u16" => from(0, u16::MAX.into()),
        "u32" => from(0, u32::MAX.into()),
        "u64" | "usize" => "a whole number, 0 or more".to_owned(),
        "i8" => from(i8::MIN.into(), i8::MAX as u64),
        "i16" => from(i16::MIN.into(), i16::MAX as u64),
        "i32" => from(i32::MIN.into(), i32::MAX as u64),
        "i64" | "i128" | "u128" | "isize" => "a whole number".to_owned(),
        "f32" | "f64" => "a number".to_owned(),
        "a boolean" => "true or false".to_owned(),
        "a string" | "string" | "str" => "text in quotes".to_owned(),
        "a sequence" => "a list".to_owned(),
        "a map" => "a table".to_owned(),
        name if name.starts_with("struct ") => "a table".to_owned(),
        ours => ours.to_owned(),
    }
}

fn value(found: &str) -> String {
    let quoted = |kind: &str| {
        let rest = found.strip_prefix(kind)?.strip_prefix(" `")?;
        rest.split_once('`').map(|(value, _)| shorten(value))
    };
    match found {
        "sequence" => "a list".to_owned(),
        "map" => "a table".to_owned(),
        _ => ["integer", "floating point", "boolean"]
            .into_iter()
            .find_map(quoted)
            .unwrap_or_else(|| shorten(found.strip_prefix("string ").unwrap_or(found))),
    }
}

#[cfg(test)]
mod tests {
    use super::plain;

    #[test]
    fn no_name_of_a_type_is_left() {
        for (serde, told) in [
            (
                "invalid type: string \"four\", expected u32",
                "expected a whole number from 0 to 4294967295, found \"four\"",
            ),
            ("invalid value: integer `-1`, expected u64", "expected a whole number, 0 or more, found -1"),
            (
                "invalid type: integer `999999999999999999999` as i128, expected i32",
                "expected a whole number from -2147483648 to 2147483647, found 999999999999999999999",
            ),
            ("invalid type: sequence, expected struct Rules", "expected a table, found a list"),
            (
                "invalid type: string \"a, expected u32\", expected a boolean",
                "expected true or false, found \"a, expected u32\"",
            ),
            ("wanted string or table", "expected a word in quotes"),
        ] {
            assert_eq!(plain(serde).as_deref(), Some(told));
        }
        assert_eq!(plain("duplicate key"), None);
    }
}
