//! `ar` archives: static libraries, and `ocloc`'s fat binaries, whose members are named after what they are for
//! (`64.dg2`, `64.12.60.7`, `generic_ir`, `pad_0`).

use object::read::archive::ArchiveFile;

use super::{Format, Place, Reader};

/// Goes through the members. In a static library only members with device code matter; in a fat binary all do.
pub fn read(reader: &mut Reader<'_>, bytes: &[u8], place: &Place) {
    let archive = match ArchiveFile::parse(bytes) {
        Ok(archive) => archive,
        Err(error) => return reader.problem(place, format!("archive: {error}")),
    };
    if archive.is_thin() {
        return reader.problem(place, "a thin archive holds no members; name the object files themselves");
    }
    for member in archive.members() {
        let member = match member {
            Ok(member) => member,
            // The place of the next member is unknown after a damaged one.
            Err(error) => return reader.problem(place, format!("archive: {error}")),
        };
        let name = String::from_utf8_lossy(member.name()).into_owned();
        let inner = place.inside(format!("member {name}"));
        let data = match member.data(bytes) {
            Ok(data) => data,
            Err(error) => {
                reader.problem(&inner, format!("archive: {error}"));
                continue;
            }
        };
        // ocloc aligns members with `pad_N`; a library may hold anything beside objects.
        if name.starts_with("pad_") || Format::of(data) == Format::Unknown {
            continue;
        }
        reader.blob(data, &inner);
    }
}

/// The device that a member's name stands for: `64.dg2` is `dg2` with 64-bit pointers.
pub fn target_name(place: &Place) -> Option<String> {
    let name = place.path.last()?.strip_prefix("member ")?;
    let (bits, target) = name.split_once('.')?;
    matches!(bits, "32" | "64").then(|| target.to_owned())
}
