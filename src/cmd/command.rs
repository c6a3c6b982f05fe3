//! The command line of a command arm: placeholders filled in, the driver build around it, the rules in front.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::cmd::lab::Launch;
use crate::driver::DriverTree;
use crate::model::arm::Arm;

/// The whole command line, without the simulated device around it.
pub fn launch(
    arm: &Arm,
    tree: &DriverTree,
    tool: &Path,
    modules: &[PathBuf],
    file: Option<&Path>,
) -> Result<Launch, String> {
    let spec = arm.variant.command.as_ref().ok_or("the variant has no command")?;
    let words = fill(&spec.argv, tool, modules, file)?;
    let (program, rest) = words.split_first().ok_or("the command has no program")?;
    let inner = tree.launch(Path::new(program), rest.to_vec()).map_err(|error| error.to_string())?;
    let rules = serde_json::to_string(&spec.extract).map_err(|error| format!("the rules: {error}"))?;
    let mut argv: Vec<OsString> =
        vec![tool.into(), "command-repro".into(), "--rules".into(), rules.into(), "--".into()];
    argv.extend(inner.argv);
    let text = |value: OsString| {
        value.into_string().map_err(|value| format!("{} is not UTF-8", value.to_string_lossy()))
    };
    let env = inner.env.into_iter().map(|(name, value)| Ok((name, text(value)?)));
    Ok(Launch { argv, env: env.collect::<Result<_, String>>()? })
}

fn fill(
    words: &[String],
    tool: &Path,
    modules: &[PathBuf],
    file: Option<&Path>,
) -> Result<Vec<OsString>, String> {
    let mut out: Vec<OsString> = Vec::new();
    for word in words {
        if word == "{modules}" {
            out.extend(modules.iter().map(|path| path.clone().into_os_string()));
            continue;
        }
        let mut word = word.clone();
        for (name, path) in
            [("{tool}", Some(tool)), ("{file}", file), ("{module}", modules.first().map(PathBuf::as_path))]
        {
            if word.contains(name) {
                let path =
                    path.ok_or_else(|| format!("there is nothing for {name}: no file source, no module"))?;
                word = word.replace(name, &path.to_string_lossy());
            }
        }
        out.push(word.into());
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::fill;
    use std::path::{Path, PathBuf};

    #[test]
    fn placeholders_are_filled_or_missed_aloud() {
        let words = |list: &[&str]| list.iter().map(|w| (*w).to_owned()).collect::<Vec<_>>();
        let modules = [PathBuf::from("/m/a"), PathBuf::from("/m/b")];
        let filled = fill(
            &words(&["{tool}", "--file={file}", "{modules}", "{}", "{module}"]),
            Path::new("/t"),
            &modules,
            Some(Path::new("/f")),
        );
        assert_eq!(filled.unwrap(), ["/t", "--file=/f", "/m/a", "/m/b", "{}", "/m/a"]);
        assert!(fill(&words(&["{file}"]), Path::new("/t"), &modules, None).unwrap_err().contains("{file}"));
    }
}
