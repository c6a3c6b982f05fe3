//! Which kernels a SYCL program launched, from Unified Runtime's trace (`SYCL_UR_TRACE=2`).

use std::collections::BTreeMap;

/// A kernel and how often it was launched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launched {
    pub name: String,
    pub times: u64,
}

/// Reads the trace: `urKernelCreate(… .pKernelName = 0x… (NAME) … .phKernel = 0x… (HANDLE)) -> UR_RESULT_SUCCESS` names
/// a handle, `urEnqueueKernelLaunch…(… .hKernel = HANDLE …)` launches it. In the order of first launch.
pub fn launched(trace: &str) -> Vec<Launched> {
    let mut names: BTreeMap<&str, &str> = BTreeMap::new();
    let mut order: Vec<Launched> = Vec::new();
    for line in trace.lines().filter(|line| line.contains("UR_RESULT_SUCCESS")) {
        if line.contains("urKernelCreate(") {
            let name = between(line, ".pKernelName = ", "(", ")");
            let handle = between(line, ".phKernel = ", "(", ")");
            if let (Some(name), Some(handle)) = (name, handle) {
                names.insert(handle, name);
            }
        } else if line.contains("urEnqueueKernelLaunch") {
            let Some(handle) =
                line.split_once(".hKernel = ").and_then(|(_, rest)| rest.split([',', ')']).next())
            else {
                continue;
            };
            let name = names.get(handle).copied().unwrap_or("a kernel of unknown name");
            match order.iter_mut().find(|known| known.name == name) {
                Some(known) => known.times += 1,
                None => order.push(Launched { name: name.to_owned(), times: 1 }),
            }
        }
    }
    order
}

fn between<'t>(line: &'t str, after: &str, open: &str, close: &str) -> Option<&'t str> {
    let rest = line.split_once(after)?.1;
    let inside = rest.split_once(open)?.1;
    Some(inside.split_once(close)?.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn launches_are_counted_by_name() {
        // The form that UR 0.12 prints, shortened.
        let trace = "   ---> urKernelCreate\n\
            <--- urKernelCreate(.hProgram = 0x5, .pKernelName = 0x6 (priv0), .phKernel = 0x7 (0x8)) -> UR_RESULT_SUCCESS;\n\
            <--- urKernelCreate(.hProgram = 0x5, .pKernelName = 0x6 (never), .phKernel = 0x7 (0x9)) -> UR_RESULT_SUCCESS;\n\
            <--- urEnqueueKernelLaunchWithArgsExp(.hQueue = 0x1, .hKernel = 0x8, .workDim = 2) -> UR_RESULT_SUCCESS;\n\
            <--- urEnqueueKernelLaunch(.hQueue = 0x1, .hKernel = 0x8, .workDim = 2) -> UR_RESULT_SUCCESS;\n\
            <--- urEnqueueKernelLaunch(.hQueue = 0x1, .hKernel = 0x9, .workDim = 2) -> UR_RESULT_ERROR_UNKNOWN;\n";
        assert_eq!(launched(trace), [Launched { name: "priv0".into(), times: 2 }]);
        assert!(launched("nothing of the kind").is_empty());
    }
}
