//! PoCL in a child process: this test program again. A crash or a fault of the reference is then a message.

use std::env;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::kernel::{Case, Data};
use super::sys::{Arg, OpenCl, Program};

/// Names the directory with the request; the child puts its answer there.
const DIRECTORY: &str = "EU_DIFF_REFERENCE";
/// How to get what is missing.
const HINT: &str =
    "the reference needs the packages pocl-opencl-icd and ocl-icd-libopencl1 (ci/install-deps)";

#[derive(Serialize, Deserialize)]
struct Request {
    source: String,
    options: String,
    cases: Vec<Case>,
}

/// What the kernels of `source` write by the reference.
///
/// # Errors
/// It does not build or does not run.
pub fn run(source: &str, options: &str, cases: &[Case]) -> Result<Vec<Data>, String> {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let request = Request { source: source.into(), options: options.into(), cases: cases.to_vec() };
    fs::write(dir.path().join("request"), serde_json::to_vec(&request).expect("JSON")).expect("the request");
    let output = Command::new(env::current_exe().expect("this program"))
        .args(["--exact", "reference_child", "--ignored", "--nocapture"])
        .env(DIRECTORY, dir.path())
        // Its cache of compiled kernels would outgrow the tests, and must not be the user's.
        .env("POCL_CACHE_DIR", dir.path().join("cache"))
        .env("RUST_BACKTRACE", "0")
        .env("POCL_DEVICES", "pthread")
        .env("POCL_MAX_PTHREAD_COUNT", "1")
        .stdin(Stdio::null())
        .output()
        .expect("the reference's process starts");
    if !output.status.success() {
        let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
        return Err(format!("{}: {text}", output.status));
    }
    let mut answer = &*fs::read(dir.path().join("answer")).expect("the reference's answer");
    let mut take = |n: usize| {
        let (head, rest) = answer.split_at(n);
        answer = rest;
        head.to_vec()
    };
    let results = cases.iter().map(|case| {
        let mut data = case.data();
        data.out = take(data.out.len());
        data.at = take(data.at.len());
        data.at64 = take(data.at64.len());
        data
    });
    Ok(results.collect())
}

/// The child's side. False: there is no request.
pub fn serve() -> bool {
    let Some(dir) = env::var_os(DIRECTORY) else { return false };
    let dir = Path::new(&dir);
    let request: Request =
        serde_json::from_slice(&fs::read(dir.join("request")).expect("the request")).expect("JSON");
    let cl = OpenCl::open().unwrap_or_else(|error| panic!("{error}: {HINT}"));
    let program = cl.build(&request.source, &request.options).unwrap_or_else(|error| panic!("{error}"));
    let mut answer = Vec::new();
    for case in &request.cases {
        let mut data = case.data();
        launch(&cl, &program, case, &mut data).unwrap_or_else(|error| panic!("{}: {error}", case.kernel));
        for part in [&data.out, &data.at, &data.at64] {
            answer.extend_from_slice(part);
        }
    }
    fs::write(dir.join("answer"), answer).expect("the answer");
    true
}

/// Runs `case` on its `data`; the time that took.
pub fn launch(cl: &OpenCl, program: &Program, case: &Case, data: &mut Data) -> Result<Duration, String> {
    let mut args = [
        Arg::Buffer(&mut data.out),
        Arg::Buffer(&mut data.input),
        Arg::Buffer(&mut data.constant),
        Arg::Buffer(&mut data.at),
        Arg::Buffer(&mut data.at64),
        Arg::Local(case.group_items() * 8),
        Arg::Value(&data.su),
        Arg::Value(&data.sv),
        Arg::Value(&data.sf),
        Arg::Value(&data.sh),
    ];
    cl.run(program, &case.kernel, &mut args, case.groups, case.local)
}
