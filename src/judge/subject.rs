//! Was it the driver that was asked for, with the debug keys that were asked for?

use crate::model::facts::{Facts, LoadedLibrary, is_opencl};

use super::context::{Account, Context, ExpectedDriver};
use super::table::{Identity, KeysSay};

/// What is said of keys that the driver did not echo.
pub const NOT_ECHOED: &str = "not echoed (unknown to this driver, or set to its default)";
/// The driver knows the key and not the value: a number that is none is 0 to it.
pub const READ_OTHERWISE: &str = "read by the driver as another value";

/// Is the library that ran the one that was asked for? Judged by build-id or SHA-256, and the path.
pub(super) fn identity(
    account: &Account,
    facts: &Facts,
    context: &Context<'_>,
) -> (Identity, Option<String>) {
    let Some(expected) = context.driver else { return (Identity::Proved, None) };
    // Only commands tell of it: the other reproducers ask their own queue which backend it is of.
    if let Some(path) = account.given().and_then(|result| result.opencl.as_ref()) {
        let why = format!(
            "{path} is mapped: the work may have been OpenCL's. Keep it out (ONEAPI_DEVICE_SELECTOR=level_zero:gpu, \
             OCL_ICD_VENDORS=/nonexistent)"
        );
        return (Identity::Unproved, Some(why));
    }
    let Some(loaded) = &facts.loaded else {
        return (Identity::Unproved, Some("the client's maps were not read".into()));
    };
    let file_name = |library: &LoadedLibrary| library.path.rsplit('/').next().unwrap_or("").to_owned();
    let candidates: Vec<_> =
        loaded.libraries.iter().filter(|l| file_name(l).contains(&expected.library)).collect();
    if candidates.is_empty() {
        let other = loaded.libraries.iter().find(|library| is_opencl(&library.path));
        return match other {
            Some(other) => {
                (Identity::Other, Some(format!("OpenCL backend instead: {} is mapped", other.path)))
            }
            None => (Identity::Unproved, Some(format!("{} is not mapped", expected.library))),
        };
    }
    for library in candidates {
        match same(library, expected) {
            Some(true) => {}
            Some(false) => {
                return (Identity::Other, Some(format!("{} is loaded, not {}", library.path, expected.path)));
            }
            None => return (Identity::Unproved, Some(format!("{} could not be identified", library.path))),
        }
    }
    let by = expected.build_id.as_deref().map(|id| format!(", build-id {id}")).unwrap_or_default();
    (Identity::Proved, Some(format!("{} is loaded{by}", expected.path)))
}

/// `None`: nothing to compare by.
fn same(library: &LoadedLibrary, expected: &ExpectedDriver) -> Option<bool> {
    let content = [(&library.build_id, &expected.build_id), (&library.sha256, &expected.sha256)]
        .into_iter()
        .filter_map(|(a, b)| Some(a.as_ref()?.eq_ignore_ascii_case(b.as_ref()?)))
        .collect::<Vec<_>>();
    let path = library.path == expected.path;
    match content.as_slice() {
        [] => None,
        answers => Some(path && answers.iter().all(|same| *same)),
    }
}

/// Did the driver echo the keys as they were set?
pub(super) fn keys(facts: &Facts, context: &Context<'_>) -> (KeysSay, Option<String>) {
    let asked = &context.arm.keys;
    if asked.keys.is_empty() {
        return (KeysSay::AsAsked, None);
    }
    let Some(neo) = &facts.neo else {
        return (
            KeysSay::NotObservable,
            Some("debug keys were set and the driver's output was not read".into()),
        );
    };
    let (known, unknown): (Vec<_>, Vec<_>) =
        asked.keys.iter().partition(|(key, _)| neo.accepted_keys.contains_key(*key));
    let names =
        |list: &[(&String, &String)]| list.iter().map(|(k, _)| k.as_str()).collect::<Vec<_>>().join(", ");
    let otherwise: Vec<String> = (known.iter())
        .filter_map(|(key, value)| Some((key, value, neo.accepted_keys.get(*key)?)))
        .filter(|(_, value, echoed)| !same_value(echoed, value))
        .map(|(key, value, echoed)| format!("{key}={value} as {echoed}"))
        .collect();
    let mut wrong = Vec::new();
    if !unknown.is_empty() {
        wrong.push(format!("{NOT_ECHOED}: {}", names(&unknown)));
    }
    if !otherwise.is_empty() {
        wrong.push(format!("{READ_OTHERWISE}: {}", otherwise.join(", ")));
    }
    match (asked.expect_unknown, wrong.is_empty(), known.is_empty()) {
        (false, true, _) => (KeysSay::AsAsked, Some(format!("the driver accepted {}", names(&known)))),
        (false, false, _) => (KeysSay::Unknown, Some(wrong.join("; "))),
        (true, _, true) => {
            (KeysSay::AsAsked, Some(format!("unknown to this driver, as expected: {}", names(&unknown))))
        }
        // The row exists to show that the key has no effect because it does not exist: it does exist here.
        (true, _, false) => (
            KeysSay::Unknown,
            Some(format!("expected to be unknown, but this driver knows {}", names(&known))),
        ),
    }
}

/// The driver echoes numbers in decimal; a matrix may say 0x2000.
fn same_value(echoed: &str, asked: &str) -> bool {
    fn number(text: &str) -> Option<i128> {
        let (sign, digits) = text.strip_prefix('-').map_or((1, text), |rest| (-1, rest));
        let value = match digits.strip_prefix("0x") {
            Some(hex) => i128::from_str_radix(hex, 16).ok()?,
            None => digits.parse().ok()?,
        };
        Some(sign * value)
    }
    echoed == asked || number(echoed).is_some_and(|n| Some(n) == number(asked))
}
