//! The build cache: content-addressed, safe for builders side by side, and distrustful of what it finds.
//!
//! `<dir>/<first two digits>/<key>/` holds `image` and `entry.json`. A whole entry appears by one rename; nothing is
//! changed after that. The key covers everything that decides the image: source text, arguments, device, compiler.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

const IMAGE: &str = "image";
const ENTRY: &str = "entry.json";

/// Where entries live.
#[derive(Clone, Debug)]
pub struct Cache {
    dir: PathBuf,
}

/// `entry.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    pub sha256: String,
    pub bytes: u64,
    #[serde(flatten)]
    pub origin: Origin,
}

/// How an image came to be.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Origin {
    /// Seconds that the compiler took, over all parts.
    pub seconds: f64,
    /// The compiler's command, as a shell takes it; of every part.
    pub command: String,
    /// Empty for the compiler's own image, else what it was put together from.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<PartUsed>,
}

/// A compilation that kernels were taken from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PartUsed {
    /// Its key in this cache.
    pub key: String,
    pub seconds: f64,
    /// Kernels that were taken, in the module's order.
    pub kernels: Vec<String>,
}

/// A verified image in the cache.
#[derive(Clone, Debug)]
pub struct Hit {
    pub path: PathBuf,
    pub image: Vec<u8>,
    pub entry: Entry,
}

/// What a look-up found.
#[derive(Debug)]
pub enum Lookup {
    Hit(Box<Hit>),
    Miss,
    /// The entry was there and wrong; it has been moved away. Says what was wrong.
    Damaged(String),
}

impl Cache {
    /// `dir` need not exist.
    pub fn new(dir: impl Into<PathBuf>) -> Self {
        Cache { dir: dir.into() }
    }

    pub fn dir(&self) -> &Path {
        &self.dir
    }

    fn place(&self, key: &str) -> PathBuf {
        self.dir.join(key.get(..2).unwrap_or("xx")).join(key)
    }

    /// The lock of one key: whoever holds it may build. Made beside the entry and left there.
    pub fn lock_path(&self, key: &str) -> PathBuf {
        self.place(key).with_extension("lock")
    }

    /// Reads and verifies. Damage is never used and never silently kept.
    pub fn get(&self, key: &str) -> std::io::Result<Lookup> {
        let place = self.place(key);
        match read(&place) {
            Ok(hit) => Ok(Lookup::Hit(Box::new(hit))),
            Err(_) if !place.exists() => Ok(Lookup::Miss),
            Err(why) => {
                let aside = tempfile::Builder::new().prefix("damaged-").tempdir_in(self.parent(key)?)?;
                match fs::rename(&place, aside.path().join("entry")) {
                    // Another builder was faster.
                    Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                    other => other?,
                }
                Ok(Lookup::Damaged(why))
            }
        }
    }

    /// A directory on the cache's file system to build in; removed when dropped, unless it became an entry.
    pub fn workspace(&self, key: &str) -> std::io::Result<tempfile::TempDir> {
        tempfile::Builder::new().prefix("build-").tempdir_in(self.parent(key)?)
    }

    fn parent(&self, key: &str) -> std::io::Result<PathBuf> {
        let place = self.place(key);
        let parent = place.parent().unwrap_or(&self.dir).to_owned();
        fs::create_dir_all(&parent)?;
        Ok(parent)
    }

    /// Stores an image that was built; the returned hit has been read back.
    pub fn put(&self, key: &str, image: &[u8], origin: &Origin) -> std::io::Result<Hit> {
        let staging = self.workspace(key)?;
        let entry =
            Entry { sha256: hex(&Sha256::digest(image)), bytes: image.len() as u64, origin: origin.clone() };
        write_synced(&staging.path().join(IMAGE), image)?;
        write_synced(&staging.path().join(ENTRY), &serde_json::to_vec_pretty(&entry)?)?;
        let place = self.place(key);
        let stored = fs::rename(staging.path(), &place);
        if let Err(error) = stored {
            // An equal entry of another builder is as good as ours; anything else is an error.
            return read(&place).map_err(|why| std::io::Error::new(error.kind(), format!("{error}; {why}")));
        }
        read(&place).map_err(std::io::Error::other)
    }
}

fn read(place: &Path) -> Result<Hit, String> {
    let path = place.join(IMAGE);
    let entry = fs::read(place.join(ENTRY)).map_err(|e| format!("{ENTRY}: {e}"))?;
    let entry: Entry = serde_json::from_slice(&entry).map_err(|e| format!("{ENTRY}: {e}"))?;
    let image = fs::read(&path).map_err(|e| format!("{IMAGE}: {e}"))?;
    if image.len() as u64 != entry.bytes {
        return Err(format!("{IMAGE} has {} bytes, not {}", image.len(), entry.bytes));
    }
    if hex(&Sha256::digest(&image)) != entry.sha256 {
        return Err(format!("{IMAGE} does not have the hash of its entry"));
    }
    Ok(Hit { path, image, entry })
}

fn write_synced(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let mut file = fs::File::create(path)?;
    file.write_all(bytes)?;
    // Without it a crash of the machine could leave a renamed directory with empty files.
    file.sync_data()
}

/// SHA-256 over length-prefixed parts, so that no two lists of parts run into each other.
pub fn key<'a>(parts: impl IntoIterator<Item = &'a str>) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part.as_bytes());
    }
    hex(&hash.finalize())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_do_not_run_together() {
        assert_ne!(key(["ab", "c"]), key(["a", "bc"]));
        // sha256 of eight zero bytes (the length of one empty part), by sha256sum.
        assert_eq!(key([""]), "af5570f5a1810b7af78caf4bc70a660f0df51e42baf91d4de5b2328de0e83dfc");
    }

    #[test]
    fn an_entry_comes_back_and_a_damaged_one_does_not() {
        let dir = tempfile::tempdir().unwrap();
        let cache = Cache::new(dir.path().join("not/there/yet"));
        let key = key(["k"]);
        assert!(matches!(cache.get(&key).unwrap(), Lookup::Miss));
        let origin = Origin { seconds: 1.5, command: "ocloc".to_owned(), parts: Vec::new() };
        cache.put(&key, b"image", &origin).unwrap();
        let Lookup::Hit(hit) = cache.get(&key).unwrap() else { panic!("no hit") };
        assert_eq!((hit.image.as_slice(), &hit.entry.origin), (&b"image"[..], &origin));

        for damage in [&b"imagf"[..], b"imag", b""] {
            fs::write(&hit.path, damage).unwrap();
            assert!(matches!(cache.get(&key).unwrap(), Lookup::Damaged(_)), "{damage:?}");
            assert!(matches!(cache.get(&key).unwrap(), Lookup::Miss), "the damaged entry is gone");
            cache.put(&key, b"image", &origin).unwrap();
        }
        fs::write(hit.path.with_file_name(ENTRY), "{").unwrap();
        assert!(matches!(cache.get(&key).unwrap(), Lookup::Damaged(_)));
    }

    #[test]
    fn a_second_builder_of_the_same_key_is_served_the_first_ones_entry() {
        let dir = tempfile::tempdir().unwrap();
        let cache = Cache::new(dir.path());
        let key = key(["k"]);
        let of = |command: &str| Origin { command: command.to_owned(), ..Origin::default() };
        let first = cache.put(&key, b"image", &of("a")).unwrap();
        let second = cache.put(&key, b"image", &of("b")).unwrap();
        assert_eq!(first.entry, second.entry);
        let left: Vec<_> = fs::read_dir(dir.path().join(&key[..2])).unwrap().collect();
        assert_eq!(left.len(), 1, "no staging directories stay: {left:?}");
    }
}
