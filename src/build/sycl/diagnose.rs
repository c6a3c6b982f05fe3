//! What a SYCL build's output says of its failure, and what to try next. Texts of the tools are matched loosely; what
//! is not known stays "the compiler failed", with its log.

/// A known failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Diagnosis {
    pub what: &'static str,
    pub advice: &'static str,
}

/// (texts that must all be there, what it means, what to try). The first match counts.
const KNOWN: &[(&[&str], &str, &str)] = &[
    (
        &["ocloc tool could not be found"],
        "icpx found no ocloc, which ahead-of-time compilation needs (oneAPI for Linux does not ship it)",
        "install intel-ocloc, or put the driver tree's ocloc in PATH (`repro-matrix drivers show`); without \
         -fsycl-targets the driver compiles the kernels itself",
    ),
    (
        &["longjmp causes uninitialized stack frame"],
        "the graphics compiler (IGC) aborted in one kernel for one target",
        "build the source file for one target at a time (-Xs \"-device NAME\") to find the target, then rework the \
         kernel or try another driver build; the driver's own JIT would meet the same fault at run time",
    ),
    (
        &["-fsycl-targets", "unused during"],
        "-fsycl-targets had no effect at this step: the link decides which targets are built",
        "repeat the target flags on the link's command line, or compile with -fno-sycl-rdc; `repro-matrix inspect \
         --expect-targets` checks the result",
    ),
    (
        &["unknown argument"],
        "the compiler does not know an option",
        "take the option out of the variant's `options`, or choose another runtime",
    ),
    (
        &["unrecognized command-line option"],
        "the compiler does not know an option",
        "take the option out of the variant's `options`",
    ),
    (
        &["unsupported option"],
        "the compiler does not support an option here",
        "take the option out of the variant's `options`, or choose another runtime",
    ),
    (
        &["ZE_RESULT_ERROR_MODULE_BUILD_FAILURE"],
        "the driver's compiler refused the device code",
        "run the command by hand with the driver's log; try another driver build",
    ),
    (
        &["internal compiler error"],
        "the compiler met an internal error",
        "run the command by hand and report it with the source; try fewer kernels or another version",
    ),
    (
        &["No space left on device"],
        "no space left on the device",
        "free some space, or point TMPDIR elsewhere",
    ),
    (
        &["fatal error:", "sycl/sycl.hpp"],
        "the SYCL headers are not there",
        "fetch the runtime again: repro-matrix toolchains fetch sycl",
    ),
    (
        &["cannot find -lsycl"],
        "libsycl is not there",
        "fetch the runtime again: repro-matrix toolchains fetch sycl",
    ),
    (
        &["sycl::queue", "No device of requested type"],
        "the SYCL runtime found no Level Zero device",
        "look at the driver build (`repro-matrix doctor`); its loader and libze_intel_gpu must be in the tree",
    ),
];

/// The diagnosis of a log, if its text is known.
pub fn diagnose(log: &str) -> Option<Diagnosis> {
    let known = KNOWN.iter().find(|(texts, _, _)| texts.iter().all(|text| log.contains(text)));
    known.map(|(_, what, advice)| Diagnosis { what, advice })
}

#[cfg(test)]
mod tests {
    use super::diagnose;

    #[test]
    fn failures_of_the_reports_are_known() {
        // Lines as the tools print them.
        for (log, said) in [
            (
                "icpx: error: ocloc tool could not be found and is required for AOT compilation. See: …",
                "no ocloc",
            ),
            ("*** longjmp causes uninitialized stack frame ***: terminated\nAborted", "IGC) aborted"),
            (
                "icpx: warning: argument unused during compilation: '-fsycl-targets=spir64_gen' … unused during",
                "the link decides",
            ),
            ("error: unknown argument: '-fbogus'", "does not know"),
            ("g++: error: unrecognized command-line option '-fbogus'", "does not know"),
        ] {
            let found = diagnose(log);
            assert!(found.is_some_and(|d| d.what.contains(said)), "{log}: {found:?}");
        }
        assert_eq!(diagnose("something new"), None);
    }
}
