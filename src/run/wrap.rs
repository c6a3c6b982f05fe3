//! The order of wrappers: simulated device outside, strace inside it, the driver tree's own loader inside that.
//!
//! strace must be inside: it is then a client of the simulated kernel like the program, and sees what a strace on
//! a real kernel would see.

use std::ffi::OsString;
use std::path::PathBuf;

/// The simulated device, as an outermost wrapper.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SimWrap {
    /// This program's own binary.
    pub tool: PathBuf,
    /// Profile: `a770`.
    pub profile: String,
    pub trace: PathBuf,
    /// Fault-injection rules.
    pub faults: Vec<String>,
}

/// strace below the device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StraceWrap {
    pub program: PathBuf,
    pub output: PathBuf,
    /// `-c`: counts only.
    pub summary: bool,
    /// Requests that strace lets fail: `ENOMEM@17` is the 17th ioctl.
    pub inject: Vec<String>,
}

/// All wrappers of a run; `inner` is the program with the driver tree's loader in front of it where it needs one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wrapped {
    pub sim: Option<SimWrap>,
    pub strace: Option<StraceWrap>,
    pub inner: Vec<OsString>,
}

impl Wrapped {
    /// The whole command line.
    pub fn argv(&self) -> Vec<OsString> {
        let mut argv: Vec<OsString> = Vec::new();
        if let Some(sim) = &self.sim {
            argv.extend([sim.tool.clone().into(), "sim".into(), "--quiet".into()]);
            argv.extend(["--device".into(), OsString::from(&sim.profile)]);
            argv.extend(["--trace".into(), sim.trace.clone().into()]);
            for fault in &sim.faults {
                argv.extend(["--fault".into(), OsString::from(fault)]);
            }
            argv.push("--".into());
        }
        if let Some(strace) = &self.strace {
            argv.extend([strace.program.clone().into(), "-f".into()]);
            argv.extend(["-e".into(), "trace=ioctl".into(), "-o".into(), strace.output.clone().into()]);
            for fault in &strace.inject {
                let (errno, nth) = fault.split_once('@').unwrap_or((fault, "1"));
                argv.extend(["-e".into(), format!("inject=ioctl:error={errno}:when={nth}").into()]);
            }
            if strace.summary {
                argv.push("-c".into());
            }
            argv.push("--".into());
        }
        argv.extend(self.inner.iter().cloned());
        argv
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_is_sim_then_strace_then_program() {
        let wrapped = Wrapped {
            sim: Some(SimWrap {
                tool: "rm".into(),
                profile: "a770".into(),
                trace: "t".into(),
                faults: vec!["exec:EIO@3".into()],
            }),
            strace: Some(StraceWrap {
                program: "strace".into(),
                output: "s".into(),
                summary: true,
                inject: vec!["EIO@3".into()],
            }),
            inner: vec!["ld.so".into(), "prog".into()],
        };
        let text: Vec<_> = wrapped.argv().iter().map(|a| a.to_string_lossy().into_owned()).collect();
        assert_eq!(
            text.join(" "),
            "rm sim --quiet --device a770 --trace t --fault exec:EIO@3 -- strace -f -e trace=ioctl -o s -e inject=ioctl:error=EIO:when=3 -c -- ld.so prog"
        );
    }
}
