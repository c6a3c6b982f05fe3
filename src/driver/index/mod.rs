//! `drivers fetch --index`: releases of the vendor's packages from a list that a lab or a user keeps.

mod download;

use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::fetch::Fetched;
use super::manifest::Provenance;
use super::{Addition, DriverError, DriverStore, by_release};

/// Format of the index file.
const FORMAT: u32 = 1;

/// An index as it was read, with the place that relative addresses start from.
#[derive(Clone, Debug)]
pub struct Index {
    place: String,
    releases: Vec<Release>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    format: u32,
    #[serde(default)]
    release: Vec<Release>,
}

/// One release.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Release {
    pub version: String,
    /// For people.
    #[serde(default)]
    pub date: Option<String>,
    /// Versions of the parts, by name; for people.
    #[serde(default)]
    pub components: std::collections::BTreeMap<String, String>,
    pub packages: Vec<IndexedPackage>,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IndexedPackage {
    /// http, https, or a path; relative to the index.
    pub url: String,
    /// 64 hexadecimal digits.
    pub sha256: String,
    /// Bytes.
    pub size: u64,
}

/// One release to be fetched.
#[derive(Clone, Copy, Debug)]
pub struct IndexRequest<'a> {
    pub index: &'a Index,
    pub release: &'a Release,
    /// Whose libraries fill the gaps.
    pub base: Option<&'a str>,
}

fn is_address(text: &str) -> bool {
    text.starts_with("http://") || text.starts_with("https://")
}

impl Index {
    /// Reads an index from a file or an address.
    pub fn open(place: &str, store: &Path, say: &mut dyn FnMut(&str)) -> Result<Index, DriverError> {
        let text = if is_address(place) {
            download::text(place, store, say)?
        } else {
            let path = Path::new(place);
            std::fs::read_to_string(path).map_err(DriverError::io(path, "could not be read"))?
        };
        Index::parse(place, &text)
    }

    /// `place` is named in errors and starts relative addresses.
    pub fn parse(place: &str, text: &str) -> Result<Index, DriverError> {
        let bad = |at: Option<usize>, what: String| {
            let line = at.and_then(|at| text.get(..at)).map(|head| {
                let column = head.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
                format!(":{}:{column}", head.matches('\n').count() + 1)
            });
            DriverError::BadIndex { place: format!("{place}{}", line.unwrap_or_default()), what }
        };
        let file: File = toml::from_str(text)
            .map_err(|error| bad(error.span().map(|span| span.start), error.message().to_owned()))?;
        if file.format != FORMAT {
            return Err(bad(None, format!("format {}, this build reads {FORMAT}", file.format)));
        }
        let mut releases = file.release;
        for release in &releases {
            let of =
                |what: &str| bad(text.find(&release.version), format!("release {}: {what}", release.version));
            if release.packages.is_empty() {
                return Err(of("it has no packages"));
            }
            super::store::check_name(&store_name(release)).map_err(|error| of(&error.to_string()))?;
            for package in &release.packages {
                let hex = package.sha256.len() == 64 && package.sha256.bytes().all(|b| b.is_ascii_hexdigit());
                if !hex {
                    return Err(of(&format!("{}: sha256 is 64 hexadecimal digits", package.url)));
                }
            }
        }
        releases.sort_by(|a, b| by_release(&a.version, &b.version));
        if let Some([a, _]) =
            releases.windows(2).find(|pair| matches!(pair, [a, b] if a.version == b.version))
        {
            return Err(bad(text.find(&a.version), format!("release {} is there twice", a.version)));
        }
        Ok(Index { place: place.to_owned(), releases })
    }

    /// `A..B`, `A..`, `..B`, one version, or everything.
    pub fn within(&self, range: Option<&str>) -> Result<Vec<Release>, DriverError> {
        let Some(range) = range else { return Ok(self.releases.clone()) };
        let (from, to) = range.split_once("..").map_or((range, range), |(from, to)| (from, to));
        let inside = |release: &&Release| {
            (from.is_empty() || by_release(&release.version, from).is_ge())
                && (to.is_empty() || by_release(&release.version, to).is_le())
        };
        let found: Vec<Release> = self.releases.iter().filter(inside).cloned().collect();
        if found.is_empty() {
            let known = self.releases.iter().map(|release| release.version.clone()).collect();
            return Err(DriverError::NoRelease { place: self.place.clone(), range: range.to_owned(), known });
        }
        Ok(found)
    }

    /// The whole address, or the path, of a package.
    fn resolve(&self, url: &str) -> String {
        if is_address(url) {
            return url.to_owned();
        }
        let url = url.strip_prefix("file://").unwrap_or(url);
        if is_address(&self.place) {
            let root = self.place.rsplit_once('/').map_or(self.place.as_str(), |(root, _)| root);
            return format!("{root}/{}", url.trim_start_matches("./"));
        }
        Path::new(&self.place).parent().unwrap_or(Path::new("")).join(url).display().to_string()
    }
}

/// `neo-26.27.39122.14`.
fn store_name(release: &Release) -> String {
    format!("neo-{}", release.version)
}

impl DriverStore {
    /// Downloads and unpacks one release. What is in the store already is not downloaded; what was downloaded in part is
    /// gone on with.
    pub fn fetch_release(
        &self,
        request: &IndexRequest<'_>,
        say: &mut dyn FnMut(&str),
    ) -> Result<Fetched, DriverError> {
        let release = request.release;
        let name = store_name(release);
        let files: Vec<String> = release.packages.iter().map(file_name).collect();
        if let Ok(tree) = self.resolve(&name) {
            return match &tree.manifest.provenance {
                Provenance::Debs { files: there } if *there == files => Ok(Fetched { tree, new: false }),
                _ => Err(DriverError::NameTaken { name }),
            };
        }
        let directory = self.directory().join(".fetch").join("index");
        let mut debs = Vec::new();
        for (package, file) in release.packages.iter().zip(&files) {
            // By content: two releases that share a package share the download.
            let own = directory.join(package.sha256.get(..16).unwrap_or_default());
            std::fs::create_dir_all(&own).map_err(DriverError::io(&own, "could not be made"))?;
            let target = own.join(file);
            download::package(&request.index.resolve(&package.url), package, &target, say)?;
            debs.push(target);
        }
        let tree = self.add(&name, &Addition::Debs(debs.clone()), request.base, say)?;
        for deb in debs {
            // What stays behind costs room, not truth.
            let _ = std::fs::remove_file(&deb);
            let _ = deb.parent().map(std::fs::remove_dir);
        }
        Ok(Fetched { tree, new: true })
    }
}

/// The last part of the address, as a file name.
fn file_name(package: &IndexedPackage) -> String {
    let path = package.url.split(['?', '#']).next().unwrap_or_default();
    let last = path.rsplit('/').next().unwrap_or_default();
    let safe: String = last
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || "-_.+~".contains(c) { c } else { '_' })
        .collect();
    match PathBuf::from(&safe).file_name() {
        Some(_) if safe.ends_with(".deb") => safe,
        _ => format!("{}.deb", safe.trim_matches('.')),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(body: &str) -> String {
        format!("format = 1\n{body}")
    }

    fn release(version: &str) -> String {
        let sha = "0".repeat(64);
        format!(
            "[[release]]\nversion = \"{version}\"\ndate = \"2026-09-01\"\ncomponents = {{ igc = \"2.40\" }}\npackages = [{{ url = \"a/b.deb\", sha256 = \"{sha}\", size = 3 }}]\n"
        )
    }

    fn index(place: &str) -> Index {
        let body = ["26.18.1", "26.9.3", "25.48.2"].map(release).concat();
        Index::parse(place, &text(&body)).expect("valid")
    }

    #[test]
    fn ranges_are_by_release_number_and_inclusive() {
        let versions = |range| -> Vec<String> {
            index("x").within(range).expect("some").into_iter().map(|r| r.version).collect()
        };
        assert_eq!(versions(None), ["25.48.2", "26.9.3", "26.18.1"]);
        assert_eq!(versions(Some("26.9.3..26.18.1")), ["26.9.3", "26.18.1"]);
        assert_eq!(versions(Some("..26.9.3")), ["25.48.2", "26.9.3"]);
        assert_eq!(versions(Some("26.18.1")), ["26.18.1"]);
        assert!(matches!(index("x").within(Some("27..28")), Err(DriverError::NoRelease { .. })));
    }

    #[test]
    fn addresses_are_relative_to_the_index() {
        assert_eq!(index("http://lab/drivers/index.toml").resolve("a/b.deb"), "http://lab/drivers/a/b.deb");
        assert_eq!(index("/srv/index.toml").resolve("a/b.deb"), "/srv/a/b.deb");
        assert_eq!(index("/srv/index.toml").resolve("https://x/y.deb"), "https://x/y.deb");
    }

    #[test]
    fn errors_have_a_place_and_say_what_is_wanted() {
        for (body, wanted) in [
            ("[[release]]\nversion = \"1\"\npackages = []\n", "no packages"),
            (
                "[[release]]\nversion = \"1\"\npackages = [{ url = \"x\", sha256 = \"ab\", size = 1 }]\n",
                "64 hexadecimal",
            ),
            ("[[release]]\nversion = 1\npackages = []\n", "i.toml:3:"),
            ("[[relaese]]\n", "relaese"),
        ] {
            let error = Index::parse("i.toml", &text(body)).expect_err(body).to_string();
            assert!(error.contains(wanted), "{error}");
        }
        let twice = [release("1.2"), release("1.2")].concat();
        assert!(Index::parse("i.toml", &text(&twice)).expect_err("twice").to_string().contains("twice"));
        assert!(Index::parse("i.toml", "format = 2\n").expect_err("newer").to_string().contains("format 2"));
    }
}
