//! Fault injection: rules such as `vm_bind:ENOMEM@17`.
//!
//! Grammar: `POINT:EFFECT[@SELECTOR[,SELECTOR…]]`
//! - POINT: `vm_bind` (each operation of a VM_BIND), `exec`, `wait`, `gem_create`, `mmap_offset`, `vm_create`,
//!   `queue_create`.
//! - EFFECT: an errno name; for `wait` also `never` (the fence's value is not looked at: only a timeout ends it).
//! - SELECTOR: what kind of bind (`map`, `unmap`, `userptr`, `userptr-file`: its first page belongs to a file
//!   mapping), and when: `N` (the N-th match, from 1) or `every=N`. Without a "when", every match fails.

use crate::client::Errno;

/// A rule that could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("fault rule `{rule}`, column {column}: expected {expected}")]
pub struct FaultParseError {
    pub rule: String,
    /// 1-based, in characters.
    pub column: usize,
    pub expected: &'static str,
}

/// Where a fault can be injected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Point {
    VmBind,
    Exec,
    Wait,
    GemCreate,
    MmapOffset,
    VmCreate,
    QueueCreate,
}

/// What a VM_BIND operation is, for selectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BindKind {
    Map,
    Unmap,
    Userptr,
    UserptrFile,
    Other,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    Fail(Errno),
    /// Only at [`Point::Wait`].
    Never,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum When {
    Always,
    Nth(u64),
    Every(u64),
}

#[derive(Clone, Debug)]
struct Rule {
    text: String,
    point: Point,
    effect: Effect,
    kind: Option<BindKind>,
    when: When,
    matched: u64,
}

/// The rules of one run with their counters.
#[derive(Clone, Debug, Default)]
pub struct FaultPlan {
    rules: Vec<Rule>,
}

impl FaultPlan {
    pub fn parse(rules: &[String]) -> Result<FaultPlan, FaultParseError> {
        let rules = rules.iter().map(|r| parse_rule(r)).collect::<Result<_, _>>()?;
        Ok(FaultPlan { rules })
    }

    /// The rules as given.
    pub fn texts(&self) -> Vec<String> {
        self.rules.iter().map(|r| r.text.clone()).collect()
    }

    /// Whether some rule tells user pointers of files from others: the question costs a look at the client.
    pub(crate) fn asks_for_files(&self) -> bool {
        self.rules.iter().any(|r| r.kind == Some(BindKind::UserptrFile))
    }

    /// Counts one event at `point` and returns the effect of the first rule that fires, with its text. Every
    /// matching rule counts the event, whether or not an earlier one fired.
    pub(crate) fn hit(&mut self, point: Point, kind: BindKind) -> Option<(Effect, &str)> {
        let mut fired = None;
        for (i, rule) in self.rules.iter_mut().enumerate() {
            if rule.point != point || !kind_matches(rule.kind, kind) {
                continue;
            }
            rule.matched += 1;
            let now = match rule.when {
                When::Always => true,
                When::Nth(n) => rule.matched == n,
                When::Every(n) => rule.matched % n == 0,
            };
            if now && fired.is_none() {
                fired = Some(i);
            }
        }
        let rule = self.rules.get(fired?)?;
        Some((rule.effect, &rule.text))
    }
}

fn kind_matches(want: Option<BindKind>, is: BindKind) -> bool {
    match want {
        None => true,
        Some(BindKind::Userptr) => matches!(is, BindKind::Userptr | BindKind::UserptrFile),
        Some(want) => want == is,
    }
}

fn parse_rule(text: &str) -> Result<Rule, FaultParseError> {
    let error = |byte: usize, expected| FaultParseError {
        rule: text.to_owned(),
        column: text.get(..byte).map_or(1, |head| head.chars().count() + 1),
        expected,
    };
    let (point, rest) = text.split_once(':').ok_or_else(|| error(text.len(), "`:` and an effect"))?;
    let point_value = match point {
        "vm_bind" => Point::VmBind,
        "exec" => Point::Exec,
        "wait" => Point::Wait,
        "gem_create" => Point::GemCreate,
        "mmap_offset" => Point::MmapOffset,
        "vm_create" => Point::VmCreate,
        "queue_create" => Point::QueueCreate,
        _ => {
            return Err(error(0, "vm_bind, exec, wait, gem_create, mmap_offset, vm_create or queue_create"));
        }
    };
    let (effect, selectors) = match rest.split_once('@') {
        Some((effect, selectors)) => (effect, Some(selectors)),
        None => (rest, None),
    };
    let effect_at = point.len() + 1;
    let effect_value = match effect {
        "never" if point_value == Point::Wait => Effect::Never,
        name => {
            Effect::Fail(errno_by_name(name).ok_or_else(|| error(effect_at, "an errno name such as EPERM"))?)
        }
    };
    let mut rule = Rule {
        text: text.to_owned(),
        point: point_value,
        effect: effect_value,
        kind: None,
        when: When::Always,
        matched: 0,
    };
    let mut at = effect_at + effect.len() + 1;
    for selector in selectors.map(|s| s.split(',')).into_iter().flatten() {
        let kind = match selector {
            "map" => Some(BindKind::Map),
            "unmap" => Some(BindKind::Unmap),
            "userptr" => Some(BindKind::Userptr),
            "userptr-file" => Some(BindKind::UserptrFile),
            _ => None,
        };
        if let Some(kind) = kind {
            if point_value != Point::VmBind {
                return Err(error(at, "a count: only vm_bind has kinds"));
            }
            if rule.kind.replace(kind).is_some() {
                return Err(error(at, "one kind a rule"));
            }
        } else {
            let (number, every) = match selector.strip_prefix("every=") {
                Some(number) => (number, true),
                None => (selector, false),
            };
            let n =
                number.parse::<u64>().ok().filter(|n| *n > 0).ok_or_else(|| {
                    error(at, "map, unmap, userptr, userptr-file, a count from 1, or every=N")
                })?;
            if rule.when != When::Always {
                return Err(error(at, "one count a rule"));
            }
            rule.when = if every { When::Every(n) } else { When::Nth(n) };
        }
        at += selector.len() + 1;
    }
    Ok(rule)
}

fn errno_by_name(name: &str) -> Option<Errno> {
    // Linux numbers its common errnos below 134.
    (1..134).find(|n| crate::uapi::ioc::errno_name(*n) == name).map(Errno)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(rules: &[&str]) -> FaultPlan {
        let rules: Vec<String> = rules.iter().map(|r| (*r).to_owned()).collect();
        FaultPlan::parse(&rules).expect("valid rules")
    }

    #[test]
    fn fault_nth_fires_once() {
        let mut p = plan(&["vm_bind:ENOMEM@3"]);
        let fired: Vec<bool> = (0..6).map(|_| p.hit(Point::VmBind, BindKind::Map).is_some()).collect();
        assert_eq!(fired, [false, false, true, false, false, false]);
    }

    #[test]
    fn fault_every_counts_only_its_kind() {
        let mut p = plan(&["vm_bind:EPERM@userptr,every=2"]);
        assert!(p.hit(Point::VmBind, BindKind::Userptr).is_none());
        assert!(p.hit(Point::VmBind, BindKind::Map).is_none());
        let (effect, _) = p.hit(Point::VmBind, BindKind::UserptrFile).expect("second user pointer");
        assert_eq!(effect, Effect::Fail(Errno(libc::EPERM)));
    }

    #[test]
    fn fault_userptr_file_leaves_anonymous_memory_alone() {
        let mut p = plan(&["vm_bind:EPERM@userptr-file"]);
        assert!(p.hit(Point::VmBind, BindKind::Userptr).is_none());
        assert!(p.hit(Point::VmBind, BindKind::UserptrFile).is_some());
    }

    #[test]
    fn fault_errors_name_the_column() {
        for (rule, column) in [
            ("vm_bind", 8),
            ("vm_bynd:EIO", 1),
            ("exec:EBOGUS@3", 6),
            ("exec:EIO@0", 10),
            ("exec:EIO@map", 10),
            ("wait:EIO@1,2", 12),
            ("exec:never", 6),
        ] {
            let e = FaultPlan::parse(&[rule.to_owned()]).expect_err(rule);
            assert_eq!(e.column, column, "{rule}: {e}");
        }
    }
}
