//! The JSON schema describes what the loader reads: the matrices fit it, spoiled ones do not, and the keys are the same.

use std::path::Path;

use repro_matrix::matrix::{self, schema};
use serde_json::Value;

use crate::SMALL;

/// The part of JSON schema that the generated schema uses. An unknown keyword fails the test instead of passing it.
fn check(root: &Value, schema: &Value, value: &Value, at: &str, wrong: &mut Vec<String>) {
    let Value::Object(rules) = schema else {
        assert!(schema == &Value::Bool(true), "schema {schema} at {at}");
        return;
    };
    for (rule, with) in rules {
        match rule.as_str() {
            "description" | "title" | "$schema" | "$defs" | "format" | "default" => {}
            "$ref" => {
                let name =
                    with.as_str().and_then(|path| path.strip_prefix("#/$defs/")).expect("a local reference");
                check(root, &root["$defs"][name], value, at, wrong);
            }
            "anyOf" | "oneOf" => {
                let fits = |schema: &Value| {
                    let mut inner = Vec::new();
                    check(root, schema, value, at, &mut inner);
                    inner.is_empty()
                };
                if !with.as_array().expect("a list").iter().any(fits) {
                    wrong.push(format!("{at}: fits none of {with}"));
                }
            }
            "type" => {
                let types: Vec<&str> = with
                    .as_str()
                    .into_iter()
                    .chain(with.as_array().into_iter().flatten().filter_map(Value::as_str))
                    .collect();
                let is = |kind: &&str| match *kind {
                    "object" => value.is_object(),
                    "array" => value.is_array(),
                    "string" => value.is_string(),
                    "integer" => value.is_i64() || value.is_u64(),
                    "boolean" => value.is_boolean(),
                    "null" => value.is_null(),
                    other => panic!("type {other} is not checked"),
                };
                if !types.iter().any(is) {
                    wrong.push(format!("{at}: {value} is no {with}"));
                }
            }
            "const" => {
                if value != with {
                    wrong.push(format!("{at}: {value} is not {with}"));
                }
            }
            "enum" => {
                if !with.as_array().expect("a list").contains(value) {
                    wrong.push(format!("{at}: {value} is not among {with}"));
                }
            }
            "minimum" | "maximum" => {
                if let (Some(value), Some(limit)) = (value.as_i64(), with.as_i64())
                    && (rule == "minimum" && value < limit || rule == "maximum" && value > limit)
                {
                    wrong.push(format!("{at}: {value} beyond {rule} {limit}"));
                }
            }
            "required" => {
                for key in with.as_array().expect("a list").iter().filter_map(Value::as_str) {
                    if value.is_object() && value.get(key).is_none() {
                        wrong.push(format!("{at}: no {key}"));
                    }
                }
            }
            "items" => {
                for (i, item) in value.as_array().into_iter().flatten().enumerate() {
                    check(root, with, item, &format!("{at}[{i}]"), wrong);
                }
            }
            // Both are looked at with `additionalProperties`, which every object of this schema has.
            "properties" | "patternProperties" => {
                assert!(rules.contains_key("additionalProperties"), "open object at {at}");
            }
            "additionalProperties" => {
                for (key, inner) in value.as_object().into_iter().flatten() {
                    let own = rules.get("properties").and_then(|properties| properties.get(key));
                    // The one pattern of the schema: names that begin with a capital.
                    let patterns = rules.get("patternProperties").and_then(Value::as_object);
                    let by_pattern = patterns.filter(|_| key.starts_with(|c: char| c.is_ascii_uppercase()));
                    let inner_schema =
                        own.or_else(|| by_pattern.and_then(|patterns| patterns.values().next()));
                    match (inner_schema, with) {
                        (Some(schema), _) => check(root, schema, inner, &format!("{at}.{key}"), wrong),
                        (None, Value::Bool(false)) => wrong.push(format!("{at}: unknown {key}")),
                        (None, schema) => check(root, schema, inner, &format!("{at}.{key}"), wrong),
                    }
                }
            }
            // Checked only for what it must refuse, in `size_and_time_patterns`.
            "pattern" => {}
            other => panic!("keyword {other} at {at} is not checked"),
        }
    }
}

fn mistakes(text: &str) -> Vec<String> {
    let value: toml::Table = text.parse().expect("TOML");
    let value = serde_json::to_value(value).expect("JSON");
    let schema = schema::json_schema();
    let mut wrong = Vec::new();
    check(&schema, &schema, &value, "matrix", &mut wrong);
    wrong
}

#[test]
fn every_matrix_fits_the_schema() {
    let mut seen = 0;
    for entry in std::fs::read_dir("matrices").expect("the folder") {
        let path = entry.expect("an entry").path();
        if path.extension().is_some_and(|ext| ext == "toml") {
            let text = std::fs::read_to_string(&path).expect("readable");
            assert_eq!(mistakes(&text), Vec::<String>::new(), "{}", path.display());
            matrix::load(Path::new(&path)).unwrap_or_else(|error| panic!("{:#?}", error.problems()));
            seen += 1;
        }
    }
    assert!(seen >= 2, "{seen} matrices");
    assert_eq!(mistakes(matrix::EXAMPLE), Vec::<String>::new());
    assert_eq!(mistakes(SMALL), Vec::<String>::new());
}

#[test]
fn schema_refuses_what_the_loader_refuses() {
    for (from, to) in [
        ("kernels = 4", "kernals = 4"),
        ("kernels = 4", "kernels = \"four\""),
        ("kernels = 4", "kernels = -4"),
        ("kind = \"file\"", "kind = \"fiel\""),
        ("MakeEachAllocationResident = 2", "makeEach = 2"),
        ("MakeEachAllocationResident = 2", "MakeEach = [2]"),
        ("expect = \"clean\"", "expect = \"claen\""),
        ("expect = \"clean\"", "expect = { wrong = 3 }"),
        ("expect = \"clean\"", "timeout = 20"),
        ("name = \"small\"", "nmae = \"small\""),
        ("[[arm]]", "[arm]"),
    ] {
        let text = SMALL.replacen(from, to, 1);
        assert!(matrix::parse("x", text.as_bytes()).is_err(), "the loader accepts {to}");
        assert!(!mistakes(&text).is_empty(), "the schema accepts {to}");
    }
}

/// The whole-file type exists for the schema only, so its keys are compared with those that the loader knows: what the
/// loader lists as known when it meets an unknown one.
#[test]
fn top_level_keys_are_those_of_the_loader() {
    let text = format!("qqqqqqqqqqqqqqqqqqqq = 1\n{SMALL}");
    let problems = crate::problems(&text);
    let help = problems[0].help.clone().expect("the known keys");
    let mut known: Vec<&str> = help.strip_prefix("known keys: ").expect("a list").split(", ").collect();
    let schema = schema::json_schema();
    let mut described: Vec<&str> =
        schema["properties"].as_object().expect("properties").keys().map(String::as_str).collect();
    known.sort_unstable();
    described.sort_unstable();
    assert_eq!(known, described);
}

#[test]
fn every_key_of_the_schema_is_in_the_manual() {
    let manual = std::fs::read_to_string("docs/matrix.md").expect("docs/matrix.md");
    let schema = schema::json_schema();
    let tables = schema["$defs"].as_object().expect("definitions").values().chain([&schema]);
    let mut keys = 0;
    for key in tables.filter_map(|table| table["properties"].as_object()).flat_map(|table| table.keys()) {
        assert!(manual.contains(&format!("`{key}`")), "docs/matrix.md does not mention `{key}`");
        keys += 1;
    }
    assert!(keys > 80, "{keys}");
}
