//! Which kernels are wanted: by a part of the mangled or demangled name, or by a regular expression.

use super::shown;

/// A choice of kernels; everything when nothing was said.
#[derive(Clone, Debug, Default)]
pub struct Pick {
    part: Option<String>,
    regex: Option<regex::Regex>,
}

#[derive(Debug, thiserror::Error)]
#[error("not a regular expression: {0}")]
pub struct PickError(#[from] regex::Error);

impl Pick {
    pub fn new(part: Option<&str>, regex: Option<&str>) -> Result<Pick, PickError> {
        let regex = regex.map(regex::Regex::new).transpose()?;
        Ok(Pick { part: part.map(str::to_owned), regex })
    }

    pub fn takes(&self, name: &str) -> bool {
        let shown = shown(name);
        self.part.as_ref().is_none_or(|part| name.contains(part) || shown.contains(part))
            && self.regex.as_ref().is_none_or(|regex| regex.is_match(name) || regex.is_match(&shown))
    }

    /// Everything is wanted.
    pub fn is_all(&self) -> bool {
        self.part.is_none() && self.regex.is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_names_count() {
        let by = |part, regex| Pick::new(part, regex).unwrap();
        assert!(by(Some("foo::Bar"), None).takes("_ZTSN3foo3BarE"));
        assert!(by(Some("3Bar"), None).takes("_ZTSN3foo3BarE"));
        assert!(by(None, Some("^foo::B.r$")).takes("_ZTSN3foo3BarE"));
        assert!(!by(Some("Baz"), None).takes("_ZTSN3foo3BarE"));
        assert!(by(None, None).is_all());
        assert!(Pick::new(None, Some("(")).is_err());
    }
}
