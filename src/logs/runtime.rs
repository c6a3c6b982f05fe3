//! Level Zero loader, Unified Runtime, its predecessor (PI) and `sycl-ls`: errors by name and number, which libraries
//! were loaded, which devices are listed, which driver build that is.
//!
//! Sources: Level Zero ze_api.h and loader, Unified Runtime ur_api.h, wordings of the SYCL runtime 2022 to 2025.

use crate::model::facts::{ListedDevice, RuntimeError, RuntimeFacts};

use super::lines::{self, LineSink};
use super::scan::Cursor;
use super::text;

const MAX_KEPT: usize = 1024;

/// ze_result_t, by the header: names in messages are often wrong, the numbers are not.
const ZE: [(i64, &str); 14] = [
    (0x7000_0001, "ZE_RESULT_ERROR_DEVICE_LOST"),
    (0x7000_0002, "ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY"),
    (0x7000_0003, "ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY"),
    (0x7000_0004, "ZE_RESULT_ERROR_MODULE_BUILD_FAILURE"),
    (0x7000_0005, "ZE_RESULT_ERROR_MODULE_LINK_FAILURE"),
    (0x7000_0006, "ZE_RESULT_ERROR_DEVICE_REQUIRES_RESET"),
    (0x7001_0000, "ZE_RESULT_ERROR_INSUFFICIENT_PERMISSIONS"),
    (0x7002_0000, "ZE_RESULT_ERROR_DEPENDENCY_UNAVAILABLE"),
    (0x7800_0001, "ZE_RESULT_ERROR_UNINITIALIZED"),
    (0x7800_0003, "ZE_RESULT_ERROR_UNSUPPORTED_FEATURE"),
    (0x7800_0004, "ZE_RESULT_ERROR_INVALID_ARGUMENT"),
    (0x7800_000f, "ZE_RESULT_ERROR_INVALID_NATIVE_BINARY"),
    (0x7800_0011, "ZE_RESULT_ERROR_INVALID_KERNEL_NAME"),
    (0x7fff_fffe, "ZE_RESULT_ERROR_UNKNOWN"),
];

/// Name of a ze_result_t.
pub fn ze_result_name(code: i64) -> Option<&'static str> {
    ZE.iter().find(|(known, _)| *known == code).map(|(_, name)| *name)
}

#[derive(Debug, Default)]
pub struct Parser {
    facts: RuntimeFacts,
}

impl Parser {
    pub fn finish(self) -> RuntimeFacts {
        self.facts
    }

    fn error(&mut self, error: RuntimeError) {
        if self.facts.errors.len() < MAX_KEPT {
            self.facts.errors.push(error);
        }
    }

    fn sycl_error(&mut self, line: &[u8]) -> bool {
        let Some(mut c) = after(line, b"Native API returns: ")
            .or_else(|| after(line, b" failed with error: "))
            .or_else(|| after(line, b"No device of requested type available. "))
        else {
            return false;
        };
        let Some(code) = c.i64() else { return false };
        let Some(name) = c.literal(b" (").and_then(|()| c.until(b")")) else { return false };
        let layer = if name.starts_with(b"UR_") {
            "ur"
        } else if name.starts_with(b"CL_") {
            "cl"
        } else {
            // "Native backend failed", "Unknown PI error" carry no prefix.
            "pi"
        };
        self.error(RuntimeError { layer: layer.to_owned(), code: Some(code), name: text(name), call: None });
        true
    }

    /// `… -> UR_RESULT_…;`: arguments hold brackets and arrows of their own, so the ends are looked at.
    fn traced_call(&mut self, line: &[u8]) -> bool {
        let line = line.trim_ascii();
        let arrow = line.starts_with(b"--->") || line.starts_with(b"<---");
        let Some(mut name) = line.get(5..).filter(|_| arrow).map(Cursor::new) else { return false };
        let call = name.take_while(|b| b.is_ascii_alphanumeric() || b == b'_');
        let Some(at) = memchr::memmem::rfind(line, b"-> ") else { return true };
        let result = line.get(at + 3..).unwrap_or_default();
        let result = result.strip_suffix(b";").unwrap_or(result);
        if result.starts_with(b"UR_RESULT_ERROR") {
            let (name, call) = (text(result), Some(text(call)));
            self.error(RuntimeError { layer: "ur".to_owned(), code: None, name, call });
        }
        true
    }

    fn ze_error(&mut self, line: &[u8]) {
        let (code, call) = if let Some(mut c) = after(line, b"Non-successful return code ") {
            let code = c.i64();
            let call = after(line, b") for ").map(|mut c| c.take_while(|b| b.is_ascii_alphanumeric()));
            (code, call)
        } else if let Some(mut c) = after(line, b"Unknown ze_result_t value: ") {
            (c.i64(), None)
        } else if let Some(mut c) = after(line, b" with code ") {
            let before = after(line, b"Warning: ").map(|mut c| c.take_while(|b| b.is_ascii_alphanumeric()));
            (c.i64(), before)
        } else if let Some(mut c) = after(line, b" returning ZE_RESULT_ERROR") {
            let rest = c.take_while(|b| b.is_ascii_uppercase() || b == b'_');
            let name = format!("ZE_RESULT_ERROR{}", text(rest));
            let code = ZE.iter().find(|(_, known)| *known == name).map(|(code, _)| *code);
            let call = memchr::memmem::find(line, b" zeInit").map(|_| "zeInit".to_owned());
            return self.error(RuntimeError { layer: "ze".to_owned(), code, name, call });
        } else {
            return;
        };
        let Some((code, name)) = code.and_then(|code| Some((code, ze_result_name(code)?))) else { return };
        self.error(RuntimeError {
            layer: "ze".to_owned(),
            code: Some(code),
            name: name.to_owned(),
            call: call.map(text),
        });
    }

    fn loading(&mut self, line: &[u8]) {
        let facts = &mut self.facts;
        if let Some(c) = after(line, b" succeeded from: ")
            && memchr::memmem::find(line, b"Loading Driver ").is_some()
        {
            push_once(&mut facts.drivers_loaded, text(c.rest()));
        } else if let Some(mut c) = after(line, b"Load Library of ") {
            if let Some(name) = c.until(b" failed with ") {
                not_loaded(facts, name, c.rest());
            }
        } else if let Some(mut c) = after(line, b"failed to load adapter '") {
            if let Some(name) = c.until(b"' with error: ") {
                not_loaded(facts, name, c.rest());
            }
        } else if let Some(mut c) = after(line, b"loaded adapter ") {
            if let Some(name) = c.until(b" (").and_then(|_| c.until(b")")) {
                push_once(&mut facts.adapters_loaded, text(name));
            }
        } else if let Some(mut c) = after(line, b"Loader Version ") {
            let version = c.take_while(|b| b.is_ascii_digit() || b == b'.');
            facts.loader_version = Some(text(version));
        } else if let Some(at) = memchr::memmem::find(line, b" Drivers Discovered") {
            let number = line.get(..at).and_then(|head| head.rsplit(|b| !b.is_ascii_digit()).next());
            facts.drivers_discovered = number.and_then(|n| Cursor::new(n).u64());
        }
    }

    /// `[level_zero:gpu][level_zero:0] Name [version]` or, up to 2024, `[ext_oneapi_level_zero:gpu:0] …`.
    fn listed(&mut self, line: &[u8]) -> bool {
        let mut c = Cursor::new(line);
        if c.literal(b"[").is_none() {
            return false;
        }
        let Some(backend) = c.until(b"]") else { return false };
        let form =
            backend.iter().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'_' | b':'));
        if !form || !backend.contains(&b':') {
            return false;
        }
        if c.maybe(b"[") {
            c.until(b"]");
        }
        c.spaces();
        let whole = c.rest().trim_ascii();
        let open = memchr::memrchr(b'[', whole).filter(|_| whole.ends_with(b"]"));
        let version = open.and_then(|at| whole.get(at + 1..whole.len() - 1)).map(text);
        let name = open.and_then(|at| whole.get(..at)).unwrap_or(whole);
        if backend.windows(3).any(|w| w == b"gpu")
            && let Some(version) = &version
        {
            self.build(version.as_bytes());
        }
        if self.facts.devices.len() < MAX_KEPT {
            self.facts.devices.push(ListedDevice { backend: text(backend), text: text(name), version });
        }
        true
    }

    /// The five-digit build in "1.15.38308+1", "26.18.38308.1", "23.43.027642".
    fn build(&mut self, version: &[u8]) {
        let parts = version
            .split(|b| !b.is_ascii_digit())
            .filter_map(|part| (part.len() >= 5).then(|| Cursor::new(part).u32()).flatten());
        for build in parts.filter(|build| (10_000..100_000).contains(build)).take(1) {
            if self.facts.driver_builds.len() < MAX_KEPT {
                self.facts.driver_builds.insert(build);
            }
        }
    }
}

fn after<'a>(line: &'a [u8], literal: &[u8]) -> Option<Cursor<'a>> {
    let at = memchr::memmem::find(line, literal)?;
    line.get(at + literal.len()..).map(Cursor::new)
}

fn push_once(list: &mut Vec<String>, value: String) {
    if list.len() < MAX_KEPT && !list.contains(&value) {
        list.push(value);
    }
}

fn not_loaded(facts: &mut RuntimeFacts, name: &[u8], why: &[u8]) {
    if facts.not_loaded.len() < MAX_KEPT {
        facts.not_loaded.insert(text(name), text(why));
    }
}

impl LineSink for Parser {
    fn line(&mut self, line: &[u8]) {
        self.facts.lines += 1;
        // No message of a runtime is longer than this.
        let line = line.get(..8192).unwrap_or(line);
        if self.listed(line) || self.traced_call(line) || self.sycl_error(line) {
            return;
        }
        self.ze_error(line);
        self.loading(line);
        let lower = line.to_ascii_lowercase();
        let version = [&b"driver version"[..], b"driver_version=", b"driver : ", b"intel-opencl-icd"]
            .iter()
            .find_map(|key| Some(memchr::memmem::find(&lower, key)? + key.len()));
        if let Some(rest) = version.and_then(|at| line.get(at..)) {
            self.build(rest);
        }
    }

    fn cut(&mut self) {}
}

/// Facts of one log in memory.
pub fn parse(bytes: &[u8]) -> RuntimeFacts {
    let mut parser = Parser::default();
    lines::feed_all(bytes, &mut parser);
    parser.finish()
}
