//! The call trace of the Level Zero loader's validation layer (loader 1.19 and later, with ZEL_ENABLE_LOADER_LOGGING):
//!
//! ```text
//! [2026-11-29 20:18:28.351] [thread-id: 139808893993408] [trace] zeKernelCreate(hModule, desc, phKernel)
//! [2026-11-29 20:18:28.351] [thread-id: 139808893993408] [trace] SUCCESS (ZE_RESULT_SUCCESS) in zeKernelCreate(hModule=0x…, …)
//! [ze-args] hKernel=0x… argIndex=1 argSize=4 bytes=00000100
//! ```
//!
//! The last form is the reproducers' own, from the loader's callbacks.

use std::collections::BTreeMap;

use sha2::{Digest, Sha256};

use crate::model::facts::{
    ARGUMENT_DIGITS, ARGUMENT_MARKER, ARGUMENT_SHOWN, ARGUMENT_VALUES, ArgumentValue, KernelSeen,
    NO_ARGUMENTS_MARKER, ZeApiFacts,
};

use super::lines::{self, LineSink};

/// Names kept: an API has some hundred entry points, a module some thousand kernels.
const MOST: usize = 4096;

/// The calls that launch the kernel `hKernel`. (`zeCommandListAppendLaunchMultipleKernelsIndirect` launches a list of which the
/// trace tells the address.)
const LAUNCHES: [&str; 5] = [
    "zeCommandListAppendLaunchKernel",
    "zeCommandListAppendLaunchKernelIndirect",
    "zeCommandListAppendLaunchKernelWithArguments",
    "zeCommandListAppendLaunchKernelWithParameters",
    "zeCommandListAppendLaunchCooperativeKernel",
];

/// Facts of a trace; other lines of the same stream are passed over.
pub fn parse(log: &[u8]) -> ZeApiFacts {
    let mut parser = Parser::default();
    lines::feed_all(log, &mut parser);
    parser.finish()
}

/// Takes the trace line by line.
#[derive(Debug, Default)]
pub struct Parser {
    facts: ZeApiFacts,
    /// (thread, entry point) → calls that have not returned.
    open: BTreeMap<(String, String), u64>,
    /// Handle → index in `kernels`.
    handles: BTreeMap<String, usize>,
    /// Lines that do not begin as the trace's do.
    foreign: u64,
}

impl LineSink for Parser {
    fn line(&mut self, line: &[u8]) {
        let text = String::from_utf8_lossy(line);
        if let Some(why) = text.strip_prefix(NO_ARGUMENTS_MARKER) {
            self.facts.no_bytes = Some(why.trim_end().to_owned());
            return;
        }
        if let Some(told) = text.strip_prefix(ARGUMENT_MARKER) {
            if self.argument(told.trim_end()).is_none() {
                self.facts.not_understood += 1;
            }
            return;
        }
        let Some((thread, message)) = head(&text) else {
            self.foreign += u64::from(!text.trim().is_empty());
            return;
        };
        if let Some((result, call)) = ended(message) {
            self.ended(thread, result, call);
        } else if let Some((name, _)) = message.split_once('(').filter(|(name, _)| is_entry_point(name)) {
            if self.open.len() < MOST {
                *self.open.entry((thread.to_owned(), name.to_owned())).or_default() += 1;
            }
        } else {
            self.facts.not_understood += 1;
        }
    }

    fn cut(&mut self) {
        self.facts.not_understood += 1;
    }
}

/// Thread and message of a trace line.
fn head(text: &str) -> Option<(&str, &str)> {
    let rest = text.strip_prefix('[')?.split_once("] [thread-id: ")?.1;
    let (thread, rest) = rest.split_once("] [trace] ")?;
    Some((thread, rest))
}

/// "SUCCESS (ZE_RESULT_SUCCESS) in zeInit(flags=1)" → result and call.
fn ended(message: &str) -> Option<(&str, &str)> {
    let (_, rest) = message.split_once(" (")?;
    let (result, call) = rest.split_once(") in ")?;
    (result.starts_with("ZE") && call.starts_with("ze")).then_some((result, call))
}

fn is_entry_point(name: &str) -> bool {
    name.starts_with("ze") && name.chars().all(|c| c.is_ascii_alphanumeric())
}

/// Value of the argument or field `key`, up to the next comma, bracket or brace.
fn value<'t>(call: &'t str, key: &str) -> Option<&'t str> {
    // "hKernel" is part of "phKernel" and of "…AppendLaunchKernel(" too.
    let starts = |at: usize| call.get(..at).is_some_and(|before| before.ends_with(['(', ' ', '{']));
    let rest = call
        .match_indices(key)
        .filter(|(at, _)| starts(*at))
        .find_map(|(at, _)| call.get(at + key.len()..)?.strip_prefix('='))?;
    rest.split([',', '}', ')']).next()
}

fn number(call: &str, key: &str) -> Option<u64> {
    value(call, key)?.parse().ok()
}

/// What an even number of hexadecimal digits stands for.
fn bytes(digits: &str) -> Option<Vec<u8>> {
    let digit = |digit: u8| char::from(digit).to_digit(16).map(|value| value as u8);
    let (pairs, rest) = digits.as_bytes().as_chunks::<2>();
    let all = pairs.iter().map(|[high, low]| Some(digit(*high)? << 4 | digit(*low)?));
    rest.is_empty().then(|| all.collect())?
}

/// The first `most` bytes as lower-case digits.
fn hex(bytes: &[u8], most: usize) -> String {
    bytes.iter().take(most).map(|byte| format!("{byte:02x}")).collect()
}

impl Parser {
    fn ended(&mut self, thread: &str, result: &str, call: &str) {
        let Some((name, _)) = call.split_once('(') else {
            self.facts.not_understood += 1;
            return;
        };
        let key = (thread.to_owned(), name.to_owned());
        if let Some(open) = self.open.get_mut(&key) {
            *open -= 1;
            if *open == 0 {
                self.open.remove(&key);
            }
        }
        if self.facts.calls.len() < MOST {
            *self.facts.calls.entry(name.to_owned()).or_default() += 1;
        }
        if result != "ZE_RESULT_SUCCESS" {
            *self.facts.errors.entry(name.to_owned()).or_default().entry(result.to_owned()).or_default() += 1;
            return;
        }
        match name {
            "zeKernelCreate" => {
                let kernel = value(call, "pKernelName").map(|name| name.trim_matches('"').to_owned());
                if let (Some(kernel), Some(handle)) = (kernel, value(call, "phKernel"))
                    && self.facts.kernels.len() < MOST
                {
                    // A handle may be given again after its kernel is gone.
                    self.handles.insert(handle.to_owned(), self.facts.kernels.len());
                    self.facts.kernels.push(KernelSeen { name: kernel, ..KernelSeen::default() });
                }
            }
            "zeKernelGetProperties" => {
                let (private, spill) = (number(call, "privateMemSize"), number(call, "spillMemSize"));
                let arguments = number(call, "numKernelArgs");
                if let Some(kernel) = self.kernel(call) {
                    (kernel.private, kernel.spill, kernel.arguments) = (private, spill, arguments);
                }
            }
            "zeKernelSetArgumentValue" => {
                let set = number(call, "argIndex").zip(number(call, "argSize"));
                if let (Some(kernel), Some((index, size))) = (self.kernel(call), set) {
                    kernel.set.insert(index, size);
                }
            }
            name if LAUNCHES.contains(&name) => {
                if let Some(kernel) = self.kernel(call) {
                    kernel.launches += 1;
                }
            }
            _ => {}
        }
    }

    /// "hKernel=0x… argIndex=1 argSize=4 bytes=00000100", or "none" instead of the last.
    fn argument(&mut self, told: &str) -> Option<()> {
        let mut words = told.split(' ');
        let mut word = |key: &str| words.next()?.strip_prefix(key)?.strip_prefix('=');
        let handle = *self.handles.get(word("hKernel")?)?;
        let index: u64 = word("argIndex")?.parse().ok()?;
        let size: u64 = word("argSize")?.parse().ok()?;
        let mut value = ArgumentValue { size, times: 1, ..ArgumentValue::default() };
        if !told.ends_with(" none") {
            let all = bytes(word("bytes")?)?;
            // A line that was cut or torn must not pass for another value.
            if all.len() as u64 != size {
                return None;
            }
            value.sha256 = hex(&Sha256::digest(&all), ARGUMENT_DIGITS / 2);
            value.first = hex(&all, ARGUMENT_SHOWN);
        }
        let kernel = self.facts.kernels.get_mut(handle)?;
        let values = kernel.values.entry(index).or_default();
        let known = values.iter().position(|known| (known.size, &known.sha256) == (size, &value.sha256));
        match known {
            Some(at) => values.get_mut(at)?.times += 1,
            None if values.len() < ARGUMENT_VALUES => values.push(value),
            None => kernel.values_left_out += 1,
        }
        Some(())
    }

    fn kernel(&mut self, call: &str) -> Option<&mut KernelSeen> {
        let index = *self.handles.get(value(call, "hKernel")?)?;
        self.facts.kernels.get_mut(index)
    }

    /// Lines so far that are not the trace's: the program's own, or those of another log.
    pub fn foreign(&self) -> u64 {
        self.foreign
    }

    pub fn finish(mut self) -> ZeApiFacts {
        for ((_, name), n) in self.open {
            *self.facts.unfinished.entry(name).or_default() += n;
        }
        self.facts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "[2026-11-29 20:18:28.351] [thread-id: 1398] [trace] ";

    fn trace(lines: &[&str]) -> ZeApiFacts {
        parse(lines.iter().map(|line| format!("{HEAD}{line}\n")).collect::<String>().as_bytes())
    }

    #[test]
    fn calls_kernels_and_arguments_are_counted() {
        // As loader 1.32 prints them.
        let facts = trace(&[
            "zeKernelCreate(hModule, desc, phKernel)",
            "SUCCESS (ZE_RESULT_SUCCESS) in zeKernelCreate(hModule=0x5555650921b8, desc={stype=0x7ffc8e4a5968, flags=0, pKernelName=\"priv0\"}, phKernel=0x555564ebdb48)",
            "SUCCESS (ZE_RESULT_SUCCESS) in zeKernelGetProperties(hKernel=0x555564ebdb48, pKernelProperties={stype=0x7ffc8e4a6698, numKernelArgs=3, localMemSize=0, privateMemSize=45568, spillMemSize=0, uuid={kid=0, mid=0}})",
            "SUCCESS (ZE_RESULT_SUCCESS) in zeKernelSetArgumentValue(hKernel=0x555564ebdb48, argIndex=1, argSize=1424, pArgValue=0x5555656a6930)",
            "SUCCESS (ZE_RESULT_SUCCESS) in zeCommandListAppendLaunchKernel(hCommandList=0x1, hKernel=0x555564ebdb48, pLaunchFuncArgs=0x2, hSignalEvent=nullptr, numWaitEvents=0, phWaitEvents=nullptr)",
            // The other calls have the handle in the same place.
            "SUCCESS (ZE_RESULT_SUCCESS) in zeCommandListAppendLaunchKernelWithArguments(hCommandList=0x1, hKernel=0x555564ebdb48, groupCounts=0x2)",
            "SUCCESS (ZE_RESULT_SUCCESS) in zeCommandListAppendLaunchKernelIndirect(hCommandList=0x1, hKernel=0x555564ebdb48, pLaunchArgumentsBuffer=0x2)",
        ]);
        assert_eq!(facts.calls["zeKernelCreate"], 1);
        let kernel = &facts.kernels[0];
        assert_eq!((kernel.name.as_str(), kernel.private, kernel.spill), ("priv0", Some(45568), Some(0)));
        assert_eq!((kernel.set[&1], kernel.launches, kernel.arguments), (1424, 3, Some(3)));
        assert!(facts.errors.is_empty() && facts.unfinished.is_empty() && facts.not_understood == 0);
    }

    #[test]
    fn errors_and_calls_that_never_return_are_told() {
        let facts = trace(&[
            "zeModuleCreate(hContext, hDevice, desc, phModule, phBuildLog)",
            "ERROR (ZE_RESULT_ERROR_MODULE_BUILD_FAILURE) in zeModuleCreate(hContext=0x1, hDevice=0x2, desc={stype=0x3, inputSize=1321}, phModule=0x4)",
            "zeCommandListHostSynchronize(hCommandList, timeout)",
            "something else",
        ]);
        assert_eq!(facts.errors["zeModuleCreate"]["ZE_RESULT_ERROR_MODULE_BUILD_FAILURE"], 1);
        assert_eq!(facts.unfinished["zeCommandListHostSynchronize"], 1);
        assert_eq!(facts.not_understood, 1);
    }

    #[test]
    fn argument_bytes_go_to_their_kernel_and_torn_lines_are_counted() {
        let create = |handle: &str, name: &str| {
            format!(
                "{HEAD}SUCCESS (ZE_RESULT_SUCCESS) in zeKernelCreate(hModule=0x1, desc={{stype=0x2, flags=0, pKernelName=\"{name}\"}}, phKernel={handle})\n"
            )
        };
        let set = |handle: &str, rest: &str| format!("[ze-args] hKernel={handle} argIndex=1 {rest}\n");
        let a = "argSize=3 bytes=616263";
        let log = [
            create("0x10", "one"),
            create("0x20", "two"),
            set("0x10", a),
            set("0x10", a),
            set("0x10", "argSize=3 bytes=616264"),
            set("0x20", "argSize=64 none"),
            // A handle that is used again is another kernel.
            create("0x10", "one"),
            set("0x10", a),
            // A kernel that nobody made; fewer bytes than the size; half a byte; no digits.
            set("0x30", a),
            set("0x10", "argSize=3 bytes=6162"),
            set("0x10", "argSize=3 bytes=61626"),
            set("0x10", "argSize=1 bytes=+3"),
        ];
        let facts = parse(log.concat().as_bytes());
        assert_eq!(facts.not_understood, 4);
        let of = |n: usize| -> Vec<(u64, &str, &str, u64)> {
            let values = facts.kernels[n].values[&1].iter();
            values.map(|v| (v.size, v.sha256.as_str(), v.first.as_str(), v.times)).collect()
        };
        // printf abc | sha256sum; printf abd | sha256sum
        let abc = |times| (3, "ba7816bf8f01cfea", "616263", times);
        assert_eq!(of(0), [abc(2), (3, "a52d159f262b2c6d", "616264", 1)]);
        assert_eq!(of(1), [(64, "", "", 1)]);
        assert_eq!(of(2), [abc(1)]);
    }

    #[test]
    fn values_beyond_the_cap_are_counted() {
        let mut log = format!(
            "{HEAD}SUCCESS (ZE_RESULT_SUCCESS) in zeKernelCreate(hModule=0x1, desc={{pKernelName=\"k\"}}, phKernel=0x10)\n"
        );
        for n in 0..20 {
            log += &format!("[ze-args] hKernel=0x10 argIndex=0 argSize=1 bytes={n:02x}\n");
        }
        let facts = parse(log.as_bytes());
        assert_eq!((facts.kernels[0].values[&0].len(), facts.kernels[0].values_left_out), (16, 4));
        let facts = parse(b"[ze-args] not traced: zelTracerCreate returned 0x78000001\n");
        assert_eq!(facts.no_bytes.as_deref(), Some("zelTracerCreate returned 0x78000001"));
    }

    #[test]
    fn other_lines_are_none_of_its_business() {
        let log = b"bind BO-1 to VM 1, result: 0\n[x\nzeInit(flags)\n";
        assert_eq!(parse(log), ZeApiFacts::default());
    }
}
