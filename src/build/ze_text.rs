//! `.ze_info` as text in blocks: which lines belong to which kernel. What the lines say is [`super::ze_info`]'s matter.
//!
//! The layout is IGC's: top-level keys in column 0, list items by `- ` with `name:` among their keys.

use std::collections::BTreeMap;

/// The text of one module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Blocks<'a> {
    /// `version: '1.73'`: every line of it.
    pub version: &'a str,
    /// Kernel name → the lines of its item in `kernels`.
    pub kernels: BTreeMap<&'a str, &'a str>,
    /// Kernel name → the lines of its item in `kernels_misc_info` (names of arguments; optional for the driver).
    pub misc: BTreeMap<&'a str, &'a str>,
}

/// Why a text cannot be taken apart.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BlocksError {
    #[error("the section `{0}`")]
    Section(String),
    #[error("a line outside of every section: `{0}`")]
    Stray(String),
    #[error("an item without a name in `{0}`")]
    Unnamed(&'static str),
    #[error("two items named `{0}`")]
    Twice(String),
}

/// Takes the text apart. Anything but a version and the two lists of kernels is an error: it may concern the whole
/// module.
pub fn blocks(text: &str) -> Result<Blocks<'_>, BlocksError> {
    let mut blocks = Blocks::default();
    for (key, body) in sections(text)? {
        match key {
            "version" => blocks.version = body,
            "kernels" => blocks.kernels = items(body, "kernels")?,
            "kernels_misc_info" => blocks.misc = items(body, "kernels_misc_info")?,
            other => return Err(BlocksError::Section(other.chars().take(40).collect())),
        }
    }
    Ok(blocks)
}

/// The text of a module with these kernels, in this order: the items as they are.
pub fn join<'a>(version: &str, kernels: impl Iterator<Item = (&'a str, Option<&'a str>)>) -> String {
    let mut text = format!("---\n{version}kernels:\n");
    let mut misc = String::new();
    for (kernel, more) in kernels {
        text.push_str(kernel);
        misc.push_str(more.unwrap_or_default());
    }
    if !misc.is_empty() {
        text.push_str("kernels_misc_info:\n");
        text.push_str(&misc);
    }
    text.push_str("...\n");
    text
}

/// (key, all its lines) of the top level; the body of a list starts after the key's own line.
fn sections(text: &str) -> Result<Vec<(&str, &str)>, BlocksError> {
    let mut found: Vec<(&str, usize, usize)> = Vec::new();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let start = at;
        at += line.len();
        let plain = line.trim_end();
        match plain.chars().next() {
            None => {}
            Some(' ') => match found.last_mut() {
                Some((_, _, end)) => *end = at,
                None => return Err(BlocksError::Stray(plain.chars().take(40).collect())),
            },
            Some(_) if plain == "---" || plain == "..." => {}
            Some(_) => {
                let (key, value) = plain
                    .split_once(':')
                    .ok_or_else(|| BlocksError::Stray(plain.chars().take(40).collect()))?;
                found.push((key, if value.trim().is_empty() { at } else { start }, at));
            }
        }
    }
    Ok(found.into_iter().map(|(key, start, end)| (key, text.get(start..end).unwrap_or_default())).collect())
}

fn items<'a>(body: &'a str, list: &'static str) -> Result<BTreeMap<&'a str, &'a str>, BlocksError> {
    // The first item's column is every item's.
    let column = body.len() - body.trim_start_matches(' ').len();
    let mut starts: Vec<usize> = Vec::new();
    let mut at = 0;
    for line in body.split_inclusive('\n') {
        let indent = line.len() - line.trim_start_matches(' ').len();
        if indent == column && line.get(indent..).is_some_and(|rest| rest.starts_with("- ")) {
            starts.push(at);
        }
        at += line.len();
    }
    let ends = starts.iter().skip(1).copied().chain([body.len()]);
    let mut found = BTreeMap::new();
    for (start, end) in starts.iter().copied().zip(ends) {
        let item = body.get(start..end).unwrap_or_default();
        let name = item
            .lines()
            .filter(|line| line.len() - line.trim_start_matches([' ', '-']).len() == column + 2)
            .find_map(|line| line.trim_start_matches([' ', '-']).strip_prefix("name:"))
            .map(|name| name.trim().trim_matches(['\'', '"']))
            .filter(|name| !name.is_empty())
            .ok_or(BlocksError::Unnamed(list))?;
        if found.insert(name, item).is_some() {
            return Err(BlocksError::Twice(name.chars().take(40).collect()));
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    // By hand, after the layout that IGC 2.40 gives.
    const TEXT: &str = "---
version:         '1.73'
kernels:
  - name:            a
    payload_arguments:
      - arg_type:        arg_bypointer
        name:            not_a_kernel
  - name:            'b'
    execution_env:
      simd_size:       16
kernels_misc_info:
  - name:            a
    args_info:
      - index:           0
        name:            out
  - name:            b
...
";

    #[test]
    fn a_text_comes_back_whole_from_its_blocks() {
        let blocks = blocks(TEXT).unwrap();
        assert_eq!(blocks.kernels.keys().copied().collect::<Vec<_>>(), ["a", "b"]);
        let items = ["a", "b"].map(|name| (blocks.kernels[name], blocks.misc.get(name).copied()));
        assert_eq!(join(blocks.version, items.into_iter()), TEXT);
    }

    #[test]
    fn order_and_choice_are_the_callers() {
        let blocks = blocks(TEXT).unwrap();
        let text = join(blocks.version, [(blocks.kernels["b"], None)].into_iter());
        let want = "---\nversion:         '1.73'\nkernels:\n  - name:            'b'\n    execution_env:\n      \
                    simd_size:       16\n...\n";
        assert_eq!(text, want);
    }

    #[test]
    fn what_concerns_a_whole_module_is_refused() {
        let functions = TEXT.replace("kernels_misc_info", "functions");
        assert_eq!(blocks(&functions), Err(BlocksError::Section("functions".to_owned())));
        assert_eq!(blocks("  - name: x\n"), Err(BlocksError::Stray("  - name: x".to_owned())));
        assert_eq!(blocks("kernels:\n  - nome: x\n"), Err(BlocksError::Unnamed("kernels")));
        let twice = TEXT.replace("'b'", "a");
        assert_eq!(blocks(&twice), Err(BlocksError::Twice("a".to_owned())));
    }

    proptest! {
        #[test]
        fn any_text_is_answered(text in "[ a-z:\\-\n0-9'é]{0,400}") {
            let _ = blocks(&text);
            let _ = blocks(&format!("kernels:\n{text}"));
        }
    }
}
