//! Who descends from whom, read from /proc. Everything here races with the processes it looks at: a process that
//! is gone is no error.

use std::collections::BTreeSet;
use std::fs;

use super::spec::Leftover;

/// Environment variable that marks every descendant of a run.
pub const RUN_TOKEN_ENV: &str = "REPRO_MATRIX_RUN";

/// Direct children of a process, over all its threads. `None` if the kernel has no `children` files.
fn children(pid: &str) -> Option<Vec<u32>> {
    let mut found = Vec::new();
    for task in fs::read_dir(format!("/proc/{pid}/task")).ok()?.flatten() {
        let text = fs::read_to_string(task.path().join("children")).ok()?;
        found.extend(text.split_ascii_whitespace().filter_map(|word| word.parse::<u32>().ok()));
    }
    Some(found)
}

/// `root` and everything below it, parents first.
pub fn with_descendants(root: u32) -> Vec<u32> {
    let mut seen = BTreeSet::from([root]);
    let mut order = vec![root];
    let mut next = 0;
    while let Some(pid) = order.get(next).copied() {
        next += 1;
        let below = children(&pid.to_string()).unwrap_or_else(|| children_by_scan(pid));
        order.extend(below.into_iter().filter(|child| seen.insert(*child)));
    }
    order
}

/// The child of a process that has exactly one.
pub fn only_child(pid: u32) -> Option<u32> {
    let below = children(&pid.to_string()).unwrap_or_else(|| children_by_scan(pid));
    match below[..] {
        [one] => Some(one),
        _ => None,
    }
}

fn children_by_scan(parent: u32) -> Vec<u32> {
    all_processes().filter(|pid| Stat::of(*pid).is_some_and(|s| s.parent == parent)).collect()
}

fn all_processes() -> impl Iterator<Item = u32> {
    fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| entry.file_name().to_str().and_then(|name| name.parse().ok()))
}

/// The few fields of /proc/PID/stat that matter here.
struct Stat {
    name: String,
    state: char,
    parent: u32,
    session: u32,
}

impl Stat {
    fn of(pid: u32) -> Option<Stat> {
        let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // The name is in parentheses and may itself hold parentheses and blanks: the last one ends it.
        let (head, tail) = text.rsplit_once(')')?;
        let (_, name) = head.split_once('(')?;
        let mut fields = tail.split_ascii_whitespace();
        let state = fields.next()?.chars().next()?;
        let parent = fields.next()?.parse().ok()?;
        let _group = fields.next()?;
        let session = fields.next()?.parse().ok()?;
        Some(Stat { name: name.to_owned(), state, parent, session })
    }
}

/// True while `pid` exists and is no zombie.
pub fn is_alive(pid: u32) -> bool {
    Stat::of(pid).is_some_and(|stat| stat.state != 'Z' && stat.state != 'X')
}

/// Processes of the run whose leader was `leader`, other than the leader itself: in its session, or (if they made
/// a session of their own) marked by the run's token. Needs this process to be a subreaper for the second kind.
pub fn leftovers(leader: u32, token: &str) -> Vec<Leftover> {
    let candidates = match children("self") {
        // Orphans of the run have become our children; what hangs below them belongs to them.
        Some(mine) => mine.into_iter().filter(|pid| *pid != leader).collect(),
        None => all_processes().filter(|pid| *pid != leader).collect::<Vec<_>>(),
    };
    let mut found: Vec<Leftover> = Vec::new();
    for pid in candidates {
        let Some(stat) = Stat::of(pid) else { continue };
        if stat.session != leader && !has_token(pid, token) {
            continue;
        }
        for below in with_descendants(pid) {
            if let Some(stat) = Stat::of(below)
                && found.iter().all(|other| other.pid != below)
            {
                found.push(Leftover { pid: below, name: stat.name });
            }
        }
    }
    found
}

fn has_token(pid: u32, token: &str) -> bool {
    let want = format!("{RUN_TOKEN_ENV}={token}");
    fs::read(format!("/proc/{pid}/environ"))
        .is_ok_and(|bytes| bytes.split(|b| *b == 0).any(|entry| entry == want.as_bytes()))
}
