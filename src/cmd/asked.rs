//! How the question of a search differs from the one that its directory was asked.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

/// What was asked otherwise, a line each, the long ones cut.
pub(super) fn differing(then: &Value, now: &Value) -> String {
    let none = Map::new();
    let fields = |value: &'_ Value| value.as_object().unwrap_or(&none).clone();
    let (then, now) = (fields(then), fields(now));
    let shown = |value: Option<&Value>| {
        let text = match value {
            Some(Value::Array(all)) => {
                let label = |one: &Value| one.get("label").unwrap_or(one).to_string();
                let labels: Vec<String> = all.iter().map(label).collect();
                format!("{} ({})", labels.len(), labels.join(", "))
            }
            Some(value) => value.to_string(),
            None => "not given".into(),
        };
        match text.char_indices().nth(100) {
            Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
            None => text,
        }
    };
    let keys: BTreeSet<&String> = then.keys().chain(now.keys()).collect();
    let mut out = String::new();
    for key in keys.into_iter().filter(|key| then.get(*key) != now.get(*key)) {
        let (was, is) = (shown(then.get(key)), shown(now.get(key)));
        let more = match (was == is, key.as_str()) {
            (false, _) => "",
            (true, "places") => "; their builds, arms, earlier runs or later names differ",
            (true, _) => "; they differ further on",
        };
        out.push_str(&format!("\n  {key}: was {was}, is {is}{more}"));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_what_differs_is_told_and_not_at_length() {
        let places = |n: u32, driver: &str| -> Vec<Value> {
            (0..n).map(|k| json!({ "label": format!("kernels={k}"), "driver": driver })).collect()
        };
        let ask = |n, driver: &str| json!({ "arm": "a", "places": places(n, driver) });
        let text = differing(&ask(40, "d"), &ask(2, "d"));
        assert!(text.starts_with("\n  places: was 40 (\"kernels=0\", "), "{text}");
        assert!(
            text.ends_with("…, is 2 (\"kernels=0\", \"kernels=1\")") && text.chars().count() < 200,
            "{text}"
        );
        let text = differing(&ask(2, "d"), &ask(2, "e"));
        assert!(text.ends_with("their builds, arms, earlier runs or later names differ"), "{text}");
        assert_eq!(differing(&json!({ "arm": "a" }), &json!({})), "\n  arm: was \"a\", is not given");
    }
}
