//! A recorded run as a shell script that works on another machine: the tool, its data directory, the home directory and the
//! files of the run are named by variables, everything else is as it was.

use std::path::Path;

use crate::model::arm::{Arm, SourceKind};
use crate::model::outcome::RunRecord;

const TOOL: &str = "repro-matrix";
/// Stands in the script for the file that the copies read from.
const SOURCE_FILE: &str = "$PWD/src.bin";

/// The script, or `None` for a run that was never started.
pub fn script(arm: &Arm, record: &RunRecord) -> Option<String> {
    if record.command.is_empty() {
        return None;
    }
    let work = record
        .environment
        .iter()
        .find(|(name, _)| name == "HOME")
        .and_then(|(_, home)| Path::new(home).parent())
        .and_then(Path::to_str)
        .unwrap_or("\0");
    let places = Places { work, data: data_directory(record) };
    let mut out = String::new();
    if record.command.iter().any(|arg| is_tool(arg)) {
        out.push_str("tool=$(command -v repro-matrix)\n");
    }
    if places.data.is_some() {
        out.push_str("data=${REPRO_MATRIX_DATA:-${XDG_DATA_HOME:-$HOME/.local/share}/repro-matrix}\n");
    }
    if arm.source.kind == SourceKind::File {
        out.push_str(&format!("head -c {} /dev/urandom >src.bin\n", arm.source.size));
    }
    out.push_str("env -i");
    for (name, value) in &record.environment {
        out.push_str(&format!(" \\\n    {name}={}", places.word(value)));
    }
    let mut previous = "";
    for arg in &record.command {
        let text = match previous {
            "--file" => format!("\"{SOURCE_FILE}\""),
            _ => places.word(arg),
        };
        // Options begin a line, their values follow on it.
        let begins = arg.starts_with('-') || previous == "--" || previous.is_empty() || is_tool(arg);
        out.push_str(if begins { " \\\n    " } else { " " });
        out.push_str(&text);
        previous = arg;
    }
    out.push('\n');
    Some(out)
}

fn is_tool(arg: &str) -> bool {
    arg.starts_with('/') && Path::new(arg).file_name().is_some_and(|name| name == TOOL)
}

/// Where driver builds and compiled modules were: what is before `/drivers/` in the path of the driver that was loaded.
fn data_directory(record: &RunRecord) -> Option<&str> {
    let (_, library) = record.environment.iter().find(|(name, _)| name == "ZE_ENABLE_ALT_DRIVERS")?;
    let (data, _) = library.rsplit_once("/drivers/")?;
    (data.starts_with('/') && !data.contains(':')).then_some(data)
}

/// Directories of the machine on which the run was made.
struct Places<'a> {
    work: &'a str,
    data: Option<&'a str>,
}

impl Places<'_> {
    /// One word of the script, quoted for a shell.
    fn word(&self, text: &str) -> String {
        if is_tool(text) {
            return "\"$tool\"".into();
        }
        let below = text.strip_prefix(self.work).filter(|below| below.is_empty() || below.starts_with('/'));
        if let Some(below) = below {
            // `cwd` and `tmp` of the run were empty directories: here they are the current one.
            return match Path::new(below).file_name().and_then(|name| name.to_str()) {
                None | Some("cwd" | "tmp") => "\"$PWD\"".into(),
                Some(file) => format!("\"$PWD/{file}\""),
            };
        }
        let parts: Vec<String> = match self.data {
            Some(data) => text.split(&format!("{data}/")).map(crate::host::mask::mask).collect(),
            None => vec![crate::host::mask::mask(text)],
        };
        if parts.len() > 1 || parts.iter().any(|part| part.contains("$HOME")) {
            let escaped = parts.iter().map(|part| {
                part.replace('\\', "\\\\")
                    .replace('"', "\\\"")
                    .replace('`', "\\`")
                    .replace('$', "\\$")
                    .replace("\\$HOME", "$HOME")
            });
            return format!("\"{}\"", escaped.collect::<Vec<_>>().join("$data/"));
        }
        let masked = parts.concat();
        let plain = !masked.is_empty()
            && masked.chars().all(|c| c.is_ascii_alphanumeric() || "-_./=:,+@%".contains(c));
        if plain { masked } else { format!("'{}'", masked.replace('\'', "'\\''")) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::fixture;

    #[test]
    fn the_script_has_no_path_of_the_machine_it_was_made_on() {
        let arm = fixture::arm("over/file-r", |_| {});
        let mut record = fixture::record(&arm, 0, true);
        record.environment = vec![
            ("HOME".into(), "/home/me/r/work/a/0/cwd".into()),
            ("KEY".into(), "it's $x".into()),
            ("ZE_ENABLE_ALT_DRIVERS".into(), "/srv/data/drivers/d-1/root/libze.so".into()),
        ];
        record.command = [
            "/home/me/bin/repro-matrix",
            "sim",
            "--trace",
            "/home/me/r/work/a/0/io/trace",
            "--",
            "/home/me/d/ld.so",
            "--file",
            "/home/me/r/work/s.bin",
            "--library-path",
            "/srv/data/drivers/d-1/root:/srv/data/toolchains/s",
            "--module",
            "/srv/data/builds/70/$x/image",
        ]
        .map(String::from)
        .to_vec();
        let script = script(&arm, &record).unwrap();
        assert!(!script.contains("/home/") && !script.contains("/srv/"), "{script}");
        assert!(script.starts_with("tool="), "{script}");
        for piece in [
            "\"$tool\" sim",
            "--trace \"$PWD/trace\"",
            "\"$HOME/d/ld.so\"",
            "--file \"$PWD/src.bin\"",
            "HOME=\"$PWD\"",
            "KEY='it'\\''s $x'",
            "data=${REPRO_MATRIX_DATA:-${XDG_DATA_HOME:-$HOME/.local/share}/repro-matrix}\n",
            "ZE_ENABLE_ALT_DRIVERS=\"$data/drivers/d-1/root/libze.so\"",
            "--library-path \"$data/drivers/d-1/root:$data/toolchains/s\"",
            "--module \"$data/builds/70/\\$x/image\"",
        ] {
            assert!(script.contains(piece), "{piece} in {script}");
        }
    }
}
