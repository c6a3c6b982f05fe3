//! apt's own list of sources, in both of its formats: which of them serves Debian.

/// One place that packages come from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Source {
    pub uri: String,
    pub suites: Vec<String>,
    pub components: Vec<String>,
    /// As written: a path, a fingerprint or a whole key over several lines.
    pub signed_by: Option<String>,
    pub trusted: Option<String>,
}

/// sources.list: `deb [option=value …] URI SUITE COMPONENT…`, one a line.
pub fn parse_one_line(text: &str) -> Vec<Source> {
    text.lines().filter_map(one_line).collect()
}

fn one_line(line: &str) -> Option<Source> {
    let line = line.split('#').next().unwrap_or("").trim();
    let mut rest = line.strip_prefix("deb")?;
    if !rest.starts_with(char::is_whitespace) {
        return None; // deb-src
    }
    rest = rest.trim_start();
    let mut source = Source::default();
    if let Some(inside) = rest.strip_prefix('[') {
        let (options, after) = inside.split_once(']')?;
        for option in options.split_whitespace() {
            let (key, value) = option.split_once('=')?;
            match key.trim_end_matches(['+', '-']) {
                "arch" if !value.split(',').any(|arch| arch == "amd64") => return None,
                "signed-by" => source.signed_by = Some(value.to_owned()),
                "trusted" => source.trusted = Some(value.to_owned()),
                _ => {}
            }
        }
        rest = after;
    }
    let mut words = rest.split_whitespace().map(str::to_owned);
    source.uri = words.next()?;
    source.suites.push(words.next()?);
    source.components.extend(words);
    Some(source)
}

/// *.sources: stanzas of `Field: value`, continued on lines that start with a space.
pub fn parse_deb822(text: &str) -> Vec<Source> {
    let mut sources = Vec::new();
    let mut fields: Vec<(String, String)> = Vec::new();
    for line in text.lines().chain([""]) {
        if line.starts_with('#') {
            continue;
        }
        if line.trim().is_empty() {
            sources.extend(stanza(&std::mem::take(&mut fields)));
        } else if line.starts_with(char::is_whitespace) {
            if let Some((_, value)) = fields.last_mut() {
                value.push('\n');
                value.push_str(line);
            }
        } else if let Some((key, value)) = line.split_once(':') {
            fields.push((key.trim().to_ascii_lowercase(), value.trim().to_owned()));
        }
    }
    sources
}

fn stanza(fields: &[(String, String)]) -> Vec<Source> {
    let field = |name: &str| fields.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str());
    let words = |name: &str| -> Vec<String> {
        field(name).unwrap_or("").split_whitespace().map(str::to_owned).collect()
    };
    let no =
        |value: &str| matches!(value.to_ascii_lowercase().as_str(), "no" | "false" | "0" | "off" | "disable");
    if field("enabled").is_some_and(no) || !words("types").iter().any(|kind| kind == "deb") {
        return Vec::new();
    }
    let architectures = words("architectures");
    if !architectures.is_empty() && !architectures.iter().any(|architecture| architecture == "amd64") {
        return Vec::new();
    }
    words("uris")
        .into_iter()
        .map(|uri| Source {
            uri,
            suites: words("suites"),
            components: words("components"),
            signed_by: field("signed-by").map(str::to_owned),
            trusted: field("trusted").map(str::to_owned),
        })
        .collect()
}

impl Source {
    /// How much this looks like Debian's main archive; 0 = not at all.
    fn likeness(&self) -> u32 {
        const SUITES: [&str; 12] = [
            "stable",
            "testing",
            "unstable",
            "sid",
            "experimental",
            "oldstable",
            "bullseye",
            "bookworm",
            "trixie",
            "forky",
            "duke",
            "rc-buggy",
        ];
        let path = self.uri.trim_end_matches('/');
        if !self.components.iter().any(|component| component == "main") || path.ends_with("security") {
            return 0;
        }
        let known_suite =
            self.suites.iter().any(|suite| SUITES.iter().any(|known| suite.strip_prefix(known) == Some("")));
        let by_path = 2 * u32::from(path.ends_with("/debian"));
        let by_key = u32::from(self.signed_by.as_ref().is_some_and(|key| key.contains("debian-archive")));
        by_path + by_key + 2 * u32::from(known_suite)
    }

    /// The stanza that makes apt read one suite from here. Only package lists: no translations, no icons.
    pub fn stanza_for(&self, suite: &str) -> String {
        let mut text = format!(
            "Types: deb\nURIs: {}\nSuites: {suite}\nComponents: main\nArchitectures: amd64\nTargets: Packages\n",
            self.uri
        );
        for (field, value) in [("Signed-By", &self.signed_by), ("Trusted", &self.trusted)] {
            if let Some(value) = value {
                text.push_str(&format!("{field}: {value}\n"));
            }
        }
        text
    }
}

/// The sources that may serve Debian's main archive, the likeliest first, each address once.
pub fn debian_mirrors(sources: &[Source]) -> Vec<Source> {
    let mut ranked: Vec<&Source> = sources.iter().filter(|source| source.likeness() > 0).collect();
    ranked.sort_by_key(|source| std::cmp::Reverse(source.likeness()));
    let mut mirrors: Vec<Source> = Vec::new();
    for source in ranked {
        if mirrors.iter().all(|known| known.uri.trim_end_matches('/') != source.uri.trim_end_matches('/')) {
            mirrors.push(source.clone());
        }
    }
    mirrors
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_format() {
        let text = "# a comment\ndeb http://mirror.example/debian bookworm main contrib # why\n\
                    deb-src http://mirror.example/debian bookworm main\n\
                    deb [arch=amd64 signed-by=/k.gpg trusted=yes] http://other.example/debian/ sid main\n\
                    deb [arch=arm64] http://arm.example/debian sid main\ndeb\ndeb [broken http://x y z\n";
        let sources = parse_one_line(text);
        assert_eq!(sources.len(), 2, "{sources:?}");
        assert_eq!(sources[0].components, ["main", "contrib"]);
        assert_eq!(sources[1].signed_by.as_deref(), Some("/k.gpg"));
        assert_eq!(sources[1].trusted.as_deref(), Some("yes"));
    }

    #[test]
    fn deb822_format_with_a_key_inside() {
        let text = "Types: deb deb-src\n# note\nURIs: http://a.example/debian http://b.example/debian\n\
                    Suites: bookworm bookworm-updates\nComponents: main\nSigned-By:\n -----BEGIN-----\n .\n abc\n\n\n\
                    Enabled: no\nTypes: deb\nURIs: http://off.example/debian\nSuites: sid\nComponents: main\n";
        let sources = parse_deb822(text);
        assert_eq!(sources.len(), 2);
        assert_eq!(sources[1].uri, "http://b.example/debian");
        let stanza = sources[0].stanza_for("forky");
        assert!(
            stanza.contains("Suites: forky\n") && stanza.contains("\n -----BEGIN-----\n .\n abc\n"),
            "{stanza}"
        );
    }

    #[test]
    fn the_archive_is_told_from_its_neighbours() {
        let sources = parse_one_line(
            "deb http://h.example/debian-security bookworm-security main\n\
             deb http://tools.example/apt cloud-bookworm main\n\
             deb http://node.example/node nodistro main\n\
             deb http://u.example/ubuntu noble main\n\
             deb http://h.example/debian bookworm-updates main\n\
             deb http://h.example/debian/ bookworm main\n\
             deb http://snapshot.example/archive/20260101 bookworm main\n",
        );
        let uris: Vec<String> = debian_mirrors(&sources).into_iter().map(|source| source.uri).collect();
        assert_eq!(uris, ["http://h.example/debian/", "http://snapshot.example/archive/20260101"]);
    }
}
