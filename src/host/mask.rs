//! Takes out what says who ran something and where: reports are posted in public.

use std::borrow::Cow;

/// What is put in the place of what was taken out.
const MASKED: &str = "[masked]";

/// Masks `text`, line by line: home directories, this machine's host and user names where they stand as words, hardware
/// addresses, UUIDs, and values after words that introduce a serial number.
pub fn mask(text: &str) -> String {
    let (host, user) = names();
    mask_with(&own_homes(text, &home_directories()), host.as_deref(), user.as_deref())
}

/// Where this user's files are, wherever the system keeps homes: `$HOME` and what the user database says.
fn home_directories() -> Vec<String> {
    let named = nix::unistd::User::from_uid(nix::unistd::Uid::current()).ok().flatten().map(|user| user.dir);
    let set = std::env::var_os("HOME").map(std::path::PathBuf::from);
    [set, named]
        .into_iter()
        .flatten()
        .filter_map(|dir| Some(dir.to_str()?.trim_end_matches('/').to_owned()))
        .collect()
}

fn own_homes(text: &str, homes: &[String]) -> String {
    let mut text = text.to_owned();
    // A home of "/" (that of many service users) would take every path with it.
    for home in homes.iter().filter(|home| home.starts_with('/') && home.len() > 1) {
        let dir = format!("{home}/");
        let mut out = String::with_capacity(text.len());
        let mut rest = text.as_str();
        while let Some((head, tail)) = rest.split_once(&dir) {
            // "…/debian/root/usr" is not root's home.
            let inside = head.chars().next_back().is_some_and(|c| is_name(c) || c == '/' || c == '.');
            out.push_str(head);
            out.push_str(if inside { &dir } else { "$HOME/" });
            rest = tail;
        }
        out.push_str(rest);
        text = out;
    }
    text
}

/// Names shorter than this are words like any other ("pc", "me").
const SHORTEST_NAME: usize = 4;

/// [`mask`] with the names given.
pub fn mask_with(text: &str, host: Option<&str>, user: Option<&str>) -> String {
    let mut out = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let mut line = Cow::Borrowed(line);
        for (name, stand_in) in [(host, "HOST"), (user, "USER")] {
            // "root" is everyone's.
            if let Some(name) = name.filter(|name| name.len() >= SHORTEST_NAME && *name != "root") {
                line = replace_word(line, name, stand_in);
            }
        }
        out.push_str(&serials(&identifiers(&homes(&line))));
    }
    out
}

fn names() -> (Option<String>, Option<String>) {
    let host = nix::sys::utsname::uname().ok().and_then(|u| u.nodename().to_str().map(str::to_owned));
    let user = nix::unistd::User::from_uid(nix::unistd::Uid::current()).ok().flatten().map(|user| user.name);
    (host, user)
}

fn is_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '-'
}

fn replace_word<'a>(line: Cow<'a, str>, word: &str, stand_in: &str) -> Cow<'a, str> {
    if !line.contains(word) {
        return line;
    }
    let mut out = String::new();
    let mut rest = line.as_ref();
    let mut before = None;
    while let Some(at) = rest.find(word) {
        let (head, tail) = rest.split_at(at);
        let after = tail.get(word.len()..).unwrap_or("");
        let alone = !head.chars().next_back().or(before).is_some_and(is_name)
            && !after.chars().next().is_some_and(is_name);
        out.push_str(head);
        out.push_str(if alone { stand_in } else { word });
        before = word.chars().next_back();
        rest = after;
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// Home directories become `$HOME`: a shell still finds them.
fn homes(line: &str) -> String {
    let mut out = String::new();
    let mut rest = line;
    loop {
        let found = ["/home/", "/root/"].iter().filter_map(|p| Some((rest.find(p)?, *p))).min();
        let Some((at, prefix)) = found else { break };
        let (head, tail) = rest.split_at(at);
        out.push_str(head);
        let after = tail.get(prefix.len()..).unwrap_or("");
        // "…/rootfs/home/x" is no home directory of anyone.
        if head.chars().next_back().is_some_and(|c| is_name(c) || c == '/' || c == '.') {
            out.push_str(prefix);
            rest = after;
            continue;
        }
        let name = if prefix == "/root/" {
            0
        } else {
            after.find(|c: char| !is_name(c) && c != '.').unwrap_or(after.len())
        };
        let past = after.get(name..).unwrap_or("");
        out.push_str("$HOME");
        if prefix == "/root/" {
            out.push('/');
        }
        rest = past;
    }
    out.push_str(rest);
    out
}

/// UUIDs and hardware addresses, by their form.
fn identifiers(line: &str) -> String {
    let mut out = String::new();
    let mut token = String::new();
    for c in line.chars().chain(['\0']) {
        if c.is_ascii_hexdigit() || c == '-' || c == ':' {
            token.push(c);
            continue;
        }
        out.push_str(if is_uuid(&token) || is_mac(&token) { MASKED } else { &token });
        token.clear();
        if c != '\0' {
            out.push(c);
        }
    }
    out
}

fn groups(token: &str, separator: char, sizes: &[usize]) -> bool {
    let parts: Vec<&str> = token.split(separator).collect();
    parts.len() == sizes.len()
        && parts.iter().zip(sizes).all(|(p, n)| p.len() == *n && p.chars().all(|c| c.is_ascii_hexdigit()))
}

fn is_uuid(token: &str) -> bool {
    groups(token, '-', &[8, 4, 4, 4, 12])
}

/// Six pairs, or the eight of a PCI Express serial number.
fn is_mac(token: &str) -> bool {
    groups(token, ':', &[2; 6]) || groups(token, '-', &[2; 6]) || groups(token, '-', &[2; 8])
}

/// "Serial Number: X", "serial=X", "Asset Tag: X".
fn serials(line: &str) -> String {
    let lower = line.to_ascii_lowercase();
    let word = ["serial number", "serial no", "asset tag", "serialno", "serial="]
        .into_iter()
        .find_map(|w| Some((lower.find(w)?, w)));
    let Some((at, word)) = word else { return line.to_owned() };
    let from = at + word.len();
    let (head, tail) = line.split_at_checked(from).unwrap_or((line, ""));
    let value = tail.trim_start_matches([':', '=', ' ', '\t', '.']);
    if value.trim().is_empty() {
        return line.to_owned();
    }
    let gap = tail.get(..tail.len() - value.len()).unwrap_or("");
    let end = value.find(char::is_whitespace).map_or("", |end| value.get(end..).unwrap_or(""));
    format!("{head}{gap}{MASKED}{end}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn masked(text: &str) -> String {
        mask_with(text, Some("gandalf-pc"), Some("frodo"))
    }

    #[test]
    fn a_home_in_an_unusual_place_is_masked_and_the_root_directory_is_not_one() {
        let homes = ["/srv/people/jo".to_owned(), String::new(), "/".to_owned()];
        let text = "--module /srv/people/jo/.local/x /usr/lib/y /srv/people/john/z";
        assert_eq!(own_homes(text, &homes), "--module $HOME/.local/x /usr/lib/y /srv/people/john/z");
        let tree = "/srv/drivers/debian/boss/usr /boss/x";
        assert_eq!(own_homes(tree, &["/boss".to_owned()]), "/srv/drivers/debian/boss/usr $HOME/x");
    }

    #[test]
    fn homes_and_names_go_and_paths_still_work() {
        assert_eq!(masked("/home/frodo/.local/x"), "$HOME/.local/x");
        assert_eq!(masked("a /root/.local/x b"), "a $HOME/.local/x b");
        assert_eq!(masked("--file=/home/other.name/f"), "--file=$HOME/f");
        assert_eq!(masked("Linux gandalf-pc 6.18"), "Linux HOST 6.18");
        assert_eq!(masked("frodo@gandalf-pc"), "USER@HOST");
        assert_eq!(masked("frodos /srv/home/x"), "frodos /srv/home/x");
    }

    #[test]
    fn serial_numbers_go() {
        assert_eq!(masked("Serial Number: 4Z77 x"), "Serial Number: [masked] x");
        assert_eq!(
            masked("Capabilities: [148 v1] Device Serial Number 12-34-56-ff-ff-78-9a-bc"),
            "Capabilities: [148 v1] Device Serial Number [masked]"
        );
        assert_eq!(masked("root=UUID=0a1b2c3d-0000-4000-8000-0123456789ab ro"), "root=UUID=[masked] ro");
        assert_eq!(masked("link 00:1a:2B:3c:4d:5e up"), "link [masked] up");
    }

    #[test]
    fn addresses_of_devices_and_versions_stay() {
        for text in [
            "0000:09:00.0",
            "26.18.38308.1",
            "ffffd556aaa00000 - ffffd556b0300000",
            "build-id 6702634514182f9c",
            "2026-11-29T15:12:00Z",
        ] {
            assert_eq!(masked(text), text);
        }
    }
}
