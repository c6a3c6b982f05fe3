//! JSON with its numbers as they were written, and with each field once: what a comparison needs and `serde_json::Value` loses.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{Deserializer, Error as _, MapAccess, Visitor};
use serde_json::value::RawValue;

/// As deep as serde_json itself reads values.
const DEEPEST: usize = 128;

#[derive(Clone, Debug, PartialEq)]
pub enum Tree<'a> {
    Object(BTreeMap<String, Tree<'a>>),
    Array(Vec<Tree<'a>>),
    /// Its text.
    Number(&'a str),
    /// The text of a string, a boolean or null; of strings, what their escapes stand for.
    Other(String),
}

impl<'a> Tree<'a> {
    /// # Errors
    /// No JSON, a field that an object has twice, or a depth above [`DEEPEST`]; with the place where there is one.
    pub fn read(bytes: &'a [u8]) -> Result<Tree<'a>, String> {
        let raw: &RawValue = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
        tree(raw.get(), DEEPEST)
    }
}

fn tree(text: &str, deeper: usize) -> Result<Tree<'_>, String> {
    let text = text.trim_ascii();
    let inner = deeper.checked_sub(1).ok_or_else(|| format!("nested deeper than {DEEPEST} levels"));
    let told = |error: serde_json::Error| error.to_string();
    Ok(match text.as_bytes().first() {
        Some(b'{') => {
            let inner = inner?;
            let Fields(fields) = serde_json::from_str(text).map_err(told)?;
            let read = fields.into_iter().map(|(name, raw)| Ok((name, tree(raw.get(), inner)?)));
            Tree::Object(read.collect::<Result<_, String>>()?)
        }
        Some(b'[') => {
            let inner = inner?;
            let elements: Vec<&RawValue> = serde_json::from_str(text).map_err(told)?;
            Tree::Array(elements.into_iter().map(|raw| tree(raw.get(), inner)).collect::<Result<_, _>>()?)
        }
        Some(b'"') => Tree::Other(format!("{:?}", serde_json::from_str::<String>(text).map_err(told)?)),
        Some(b't' | b'f' | b'n') => Tree::Other(text.to_owned()),
        _ => Tree::Number(text),
    })
}

/// An object's fields, each once.
struct Fields<'a>(BTreeMap<String, &'a RawValue>);

impl<'de> serde::Deserialize<'de> for Fields<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Each;
        impl<'de> Visitor<'de> for Each {
            type Value = Fields<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut fields = BTreeMap::new();
                while let Some((name, raw)) = map.next_entry::<String, &RawValue>()? {
                    if fields.contains_key(&name) {
                        return Err(A::Error::custom(format!("the field \"{name}\" is there twice")));
                    }
                    fields.insert(name, raw);
                }
                Ok(Fields(fields))
            }
        }
        deserializer.deserialize_map(Each)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_their_text_and_strings_their_meaning() {
        let tree =
            Tree::read(br#" {"a": [1, -0, 1e3, 18446744073709551617], "b": "\u0041", "c": null} "#).unwrap();
        let numbers = ["1", "-0", "1e3", "18446744073709551617"].map(Tree::Number).to_vec();
        let fields = [
            ("a".to_owned(), Tree::Array(numbers)),
            ("b".to_owned(), Tree::Other("\"A\"".into())),
            ("c".to_owned(), Tree::Other("null".into())),
        ];
        assert_eq!(tree, Tree::Object(fields.into()));
    }

    #[test]
    fn what_has_two_readings_is_refused() {
        let twice = Tree::read(br#"{"x": {"a": 1, "a": 2}}"#).unwrap_err();
        assert!(twice.contains("the field \"a\" is there twice"), "{twice}");
        for bad in ["", "{", "[1,]", "01", "{} {}", "\"\u{1}\""] {
            assert!(Tree::read(bad.as_bytes()).is_err(), "{bad}");
        }
        let deep = |levels: usize| "[".repeat(levels) + &"]".repeat(levels);
        assert!(Tree::read(deep(DEEPEST).as_bytes()).is_ok());
        assert!(Tree::read(deep(DEEPEST + 1).as_bytes()).is_err_and(|why| why.contains("128")));
        assert!(Tree::read(deep(1_000_000).as_bytes()).is_err(), "and the stack holds");
    }
}
