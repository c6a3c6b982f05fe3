//! Values with a unit or a place: `"20s"`, `"11MiB"`, and a value that remembers where it was written.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;
use std::time::Duration;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserialize, Deserializer, Error, SeqAccess, Unexpected, Visitor};

/// A value and the bytes of the file that say it.
#[derive(Clone, Debug)]
pub struct At<T>(toml::Spanned<T>);

impl<T> At<T> {
    pub fn get(&self) -> &T {
        self.0.get_ref()
    }

    pub fn span(&self) -> Range<usize> {
        self.0.span()
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for At<T> {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        toml::Spanned::deserialize(d).map(At)
    }
}

impl<T: JsonSchema> JsonSchema for At<T> {
    fn inline_schema() -> bool {
        T::inline_schema()
    }
    fn schema_name() -> Cow<'static, str> {
        T::schema_name()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        T::json_schema(generator)
    }
}

/// A name or a list of names.
#[derive(Clone, Debug, Default)]
pub struct OneOrMany(pub Vec<At<String>>);

impl<'de> Deserialize<'de> for OneOrMany {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        // The place of a single string is known only to `Spanned`, so it is asked for first, whatever the value is.
        let either = toml::Spanned::<Either>::deserialize(d)?;
        let span = either.span();
        Ok(match either.into_inner() {
            Either::One(name) => OneOrMany(vec![At(toml::Spanned::new(span, name))]),
            Either::Many(names) => OneOrMany(names),
        })
    }
}

enum Either {
    One(String),
    Many(Vec<At<String>>),
}

impl<'de> Deserialize<'de> for Either {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        struct Names;
        impl<'de> Visitor<'de> for Names {
            type Value = Either;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a name or a list of names")
            }
            fn visit_str<E: Error>(self, name: &str) -> Result<Either, E> {
                Ok(Either::One(name.to_owned()))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Either, A::Error> {
                let mut names = Vec::new();
                while let Some(name) = seq.next_element()? {
                    names.push(name);
                }
                Ok(Either::Many(names))
            }
        }
        d.deserialize_any(Names)
    }
}

impl JsonSchema for OneOrMany {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "OneOrMany".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "anyOf": [{ "type": "string" }, { "type": "array", "items": { "type": "string" } }]
        })
    }
}

/// A number of bytes: `"11MiB"` (B, KiB, MiB, GiB; kB, MB, GB are powers of ten) or a plain integer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size(pub u64);

const SIZE_FORM: &str = "a size such as \"11MiB\" (B, KiB, MiB, GiB, kB, MB, GB) or a number of bytes";

impl Size {
    pub fn parse(text: &str) -> Option<Size> {
        let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let (number, unit) = text.split_at_checked(digits)?;
        let unit: u64 = match unit.trim_start() {
            "B" => 1,
            "kB" | "KB" => 1_000,
            "MB" => 1_000_000,
            "GB" => 1_000_000_000,
            "KiB" => 1 << 10,
            "MiB" => 1 << 20,
            "GiB" => 1 << 30,
            _ => return None,
        };
        number.parse::<u64>().ok()?.checked_mul(unit).map(Size)
    }

    /// The shortest exact binary form.
    pub fn show(bytes: u64) -> String {
        for (shift, unit) in [(30, "GiB"), (20, "MiB"), (10, "KiB")] {
            if bytes != 0 && bytes.trailing_zeros() >= shift {
                return format!("{}{unit}", bytes >> shift);
            }
        }
        format!("{bytes}B")
    }
}

impl<'de> Deserialize<'de> for Size {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        struct Bytes;
        impl Visitor<'_> for Bytes {
            type Value = Size;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(SIZE_FORM)
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Size, E> {
                Size::parse(text).ok_or_else(|| E::invalid_value(Unexpected::Str(text), &self))
            }
            fn visit_i64<E: Error>(self, bytes: i64) -> Result<Size, E> {
                u64::try_from(bytes).map(Size).map_err(|_| E::invalid_value(Unexpected::Signed(bytes), &self))
            }
            fn visit_u64<E: Error>(self, bytes: u64) -> Result<Size, E> {
                Ok(Size(bytes))
            }
        }
        d.deserialize_any(Bytes)
    }
}

impl JsonSchema for Size {
    fn schema_name() -> Cow<'static, str> {
        "Size".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "Bytes: \"11MiB\" (B, KiB, MiB, GiB; kB, MB, GB are powers of ten) or a plain integer.",
            "anyOf": [
                { "type": "string", "pattern": "^[0-9]+ *(B|kB|KB|MB|GB|KiB|MiB|GiB)$" },
                { "type": "integer", "minimum": 0 }
            ]
        })
    }
}

/// A length of time: `"20s"`, `"1m 30s"`, `"250ms"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Period(pub Duration);

impl<'de> Deserialize<'de> for Period {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        struct Time;
        impl Visitor<'_> for Time {
            type Value = Period;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a length of time such as \"20s\" or \"1m 30s\"")
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Period, E> {
                humantime::parse_duration(text)
                    .map(Period)
                    .map_err(|_| E::invalid_value(Unexpected::Str(text), &self))
            }
            fn visit_i64<E: Error>(self, number: i64) -> Result<Period, E> {
                // A bare number is refused on purpose: seconds or milliseconds?
                Err(E::custom(format_args!("{number} has no unit: write \"{number}s\" or \"{number}ms\"")))
            }
        }
        d.deserialize_any(Time)
    }
}

impl JsonSchema for Period {
    fn schema_name() -> Cow<'static, str> {
        "Period".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A length of time with its unit: \"20s\", \"1m 30s\", \"250ms\".",
            "type": "string",
            "pattern": "^ *[0-9]+ *[a-zµ]+( *[0-9]+ *[a-zµ]+)* *$"
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn size_parse_units_and_overflow() {
        assert_eq!(Size::parse("11MiB"), Some(Size(11_534_336)));
        assert_eq!(Size::parse("4 GiB"), Some(Size(4_294_967_296)));
        assert_eq!(Size::parse("1kB"), Some(Size(1000)));
        for bad in
            ["", "MiB", "11", "11mib", "1.5GiB", "-1MiB", "99999999999999999999B", "18446744073GiB", "é"]
        {
            assert_eq!(Size::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn size_show_is_exact() {
        for bytes in [0, 1, 1023, 1024, 11_534_336, 4 << 30, u64::MAX] {
            assert_eq!(Size::parse(&Size::show(bytes)), Some(Size(bytes)));
        }
    }
}
