//! Records xe's tracepoints during a run, in a tracefs instance of its own: root only, and on a card only.

use std::path::{Path, PathBuf};

const TRACEFS: &str = "/sys/kernel/tracing";
/// What seed 003 looked at.
const EVENTS: [&str; 7] = [
    "xe_bo_create",
    "xe_bo_move",
    "xe_vma_bind",
    "xe_vma_unbind",
    "xe_vma_evict",
    "xe_vma_invalidate",
    "xe_vma_fail",
];
/// Kilobytes a processor: 942 copies are some 10,000 events of 300 bytes.
const BUFFER_KB: &str = "8192";

/// A recording that is going on.
#[derive(Debug)]
pub struct XeTrace(Result<PathBuf, String>);

impl XeTrace {
    /// Never fails: why nothing can be recorded is part of the answer of [`XeTrace::stop`].
    pub fn start() -> Self {
        Self::start_in(Path::new(TRACEFS), &format!("repro-matrix-{}", std::process::id()))
    }

    fn start_in(tracefs: &Path, name: &str) -> Self {
        let instance = tracefs.join("instances").join(name);
        let begin = || -> std::io::Result<bool> {
            // Left behind by a killed run of the same number.
            if !instance.exists() {
                std::fs::create_dir(&instance)?;
            }
            let write = |file: &str, text: &str| std::fs::write(instance.join(file), text);
            write("buffer_size_kb", BUFFER_KB)?;
            // Kernels differ in which events they have; one of binds must be there.
            let known: Vec<bool> =
                EVENTS.iter().map(|event| write(&format!("events/xe/{event}/enable"), "1").is_ok()).collect();
            write("tracing_on", "1")?;
            Ok(known.iter().any(|known| *known))
        };
        XeTrace(match begin() {
            Ok(true) => Ok(instance),
            Ok(false) => {
                let _ = std::fs::remove_dir(&instance);
                Err("this kernel has no tracepoints of xe (is the module loaded?)".into())
            }
            Err(error) => Err(format!("{}: {error} (root is needed)", instance.display())),
        })
    }

    /// The trace as text.
    pub fn stop(self) -> Result<Vec<u8>, String> {
        let instance = self.0?;
        let read = || -> std::io::Result<Vec<u8>> {
            std::fs::write(instance.join("tracing_on"), "0")?;
            std::fs::read(instance.join("trace"))
        };
        let trace = read().map_err(|error| format!("{}: {error}", instance.display()));
        // An instance is removed as a directory, files and all.
        let _ = std::fs::remove_dir(&instance);
        trace
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_tracefs_it_says_why() {
        let dir = tempfile::tempdir().unwrap();
        let why = XeTrace::start_in(dir.path(), "x").stop().unwrap_err();
        assert!(why.contains("root is needed"), "{why}");
    }

    #[test]
    fn without_tracepoints_of_xe_it_says_so() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join("instances")).unwrap();
        let why = XeTrace::start_in(dir.path(), "x").stop().unwrap_err();
        assert!(why.contains("no tracepoints of xe"), "{why}");
    }

    #[test]
    fn events_are_turned_on_and_the_trace_is_read() {
        let dir = tempfile::tempdir().unwrap();
        // tracefs fills a new instance by itself.
        let instance = dir.path().join("instances/x");
        std::fs::create_dir_all(instance.join("events/xe/xe_vma_bind")).unwrap();
        std::fs::write(instance.join("trace"), "# tracer: nop\n").unwrap();
        let recording = XeTrace::start_in(dir.path(), "x");
        let enabled = std::fs::read_to_string(instance.join("events/xe/xe_vma_bind/enable")).unwrap();
        assert_eq!((enabled.as_str(), recording.stop().unwrap().as_slice()), ("1", &b"# tracer: nop\n"[..]));
        assert_eq!(std::fs::read_to_string(instance.join("tracing_on")).unwrap(), "0");
    }
}
