//! Reader of `.ze_info`, the YAML text in a zebin that says what the driver must set up for each kernel.
//!
//! Only the subset of YAML that IGC writes: block mappings and block lists by indentation, one scalar a line. Unknown
//! keys and sections are passed over, as the driver does. Format: `shared/source/device_binary_format/zebin/
//! zeinfo.h` in compute-runtime; the values there are what the driver reads.

/// What one kernel asks of the driver.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KernelInfo {
    pub name: String,
    pub simd_size: u32,
    /// `execution_env.private_size`: bytes for one hardware thread, wherever they are placed.
    pub private_size: u64,
    /// Bytes for one hardware thread in a *global* private surface (`per_thread_memory_buffers`, type global, usage
    /// private_space): what counts against global memory. 0 where the compiler put private memory into scratch.
    pub private_surface: u64,
    /// Bytes for one hardware thread in scratch (spills, and private memory on devices that keep it there).
    pub scratch_size: u64,
    pub spill_size: u64,
    pub slm_size: u64,
    /// Registers for one hardware thread; `None` where the compiler does not say.
    pub grf_count: Option<u32>,
    pub arguments: Vec<PayloadArgument>,
}

/// An item of `payload_arguments`: where a value goes in the kernel's payload.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PayloadArgument {
    pub arg_type: String,
    /// Bytes from the start of the cross-thread data.
    pub offset: u64,
    pub size: u64,
    pub arg_index: Option<u32>,
    /// Bytes into a by-value argument.
    pub source_offset: Option<u64>,
    pub addrmode: Option<String>,
}

/// Why a text is not `.ze_info`. Lines count from 1.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ZeInfoError {
    #[error("no `kernels:` list")]
    NoKernels,
    #[error("line {line}: `{key}` is not a number: `{value}`")]
    NotANumber { line: usize, key: String, value: String },
    #[error("line {line}: a kernel without a name")]
    Unnamed { line: usize },
}

/// One item of `per_thread_memory_buffers`.
#[derive(Default)]
struct Buffer {
    kind: String,
    usage: String,
    size: u64,
    per_lane: bool,
}

/// Reads the kernels in their order.
pub fn parse(text: &str) -> Result<Vec<KernelInfo>, ZeInfoError> {
    let mut reader = Reader::default();
    let mut seen = false;
    for (index, raw) in text.lines().enumerate() {
        let Some(line) = Line::split(raw) else { continue };
        if line.indent == 0 && !line.item {
            reader.finish_kernel(index)?;
            reader.in_kernels = line.key == "kernels";
            seen |= reader.in_kernels;
        } else if reader.in_kernels {
            reader.take(index + 1, &line)?;
        }
    }
    reader.finish_kernel(text.lines().count())?;
    if seen { Ok(reader.kernels) } else { Err(ZeInfoError::NoKernels) }
}

/// A line of the form `key: value`, perhaps the first of a list item.
struct Line<'a> {
    /// Column of the key, after `- `.
    indent: usize,
    item: bool,
    key: &'a str,
    value: &'a str,
}

impl<'a> Line<'a> {
    fn split(raw: &'a str) -> Option<Self> {
        let body = raw.trim_start_matches(' ');
        if body.is_empty() || body.starts_with('#') || body.starts_with("---") || body.starts_with("...") {
            return None;
        }
        let mut indent = raw.len() - body.len();
        let (item, body) = match body.strip_prefix("- ") {
            Some(rest) => {
                let trimmed = rest.trim_start_matches(' ');
                indent += 2 + rest.len() - trimmed.len();
                (true, trimmed)
            }
            None => (false, body),
        };
        let (key, value) = body.split_once(':')?;
        Some(Line { indent, item, key: key.trim(), value: value.trim().trim_matches(['\'', '"']) })
    }

    fn number(&self, line: usize) -> Result<u64, ZeInfoError> {
        let parsed = match self.value.strip_prefix("0x") {
            Some(hex) => u64::from_str_radix(hex, 16),
            None => self.value.parse(),
        };
        parsed.map_err(|_| ZeInfoError::NotANumber {
            line,
            key: self.key.to_owned(),
            value: self.value.chars().take(40).collect(),
        })
    }
}

#[derive(Default)]
struct Reader {
    in_kernels: bool,
    /// Column of a kernel's keys, from its first item.
    column: Option<usize>,
    section: String,
    current: Option<KernelInfo>,
    buffers: Vec<Buffer>,
    kernels: Vec<KernelInfo>,
}

impl Reader {
    fn take(&mut self, number: usize, line: &Line<'_>) -> Result<(), ZeInfoError> {
        let column = *self.column.get_or_insert(line.indent);
        if line.indent <= column {
            if line.item {
                self.finish_kernel(number)?;
                self.current = Some(KernelInfo::default());
            }
            line.key.clone_into(&mut self.section);
        }
        let Some(kernel) = self.current.as_mut() else { return Ok(()) };
        if line.indent <= column {
            if line.key == "name" {
                line.value.clone_into(&mut kernel.name);
            }
            return Ok(());
        }
        match self.section.as_str() {
            "execution_env" => match line.key {
                "simd_size" => kernel.simd_size = u32::try_from(line.number(number)?).unwrap_or(u32::MAX),
                "private_size" => kernel.private_size = line.number(number)?,
                "grf_count" => kernel.grf_count = u32::try_from(line.number(number)?).ok(),
                "spill_size" => kernel.spill_size = line.number(number)?,
                "slm_size" => kernel.slm_size = line.number(number)?,
                _ => {}
            },
            "payload_arguments" => {
                if line.item {
                    kernel.arguments.push(PayloadArgument::default());
                }
                let Some(argument) = kernel.arguments.last_mut() else { return Ok(()) };
                match line.key {
                    "arg_type" => line.value.clone_into(&mut argument.arg_type),
                    "offset" => argument.offset = line.number(number)?,
                    "size" => argument.size = line.number(number)?,
                    // -1 stands for an argument that the compiler made: no index.
                    "arg_index" => argument.arg_index = line.value.parse().ok(),
                    "source_offset" => argument.source_offset = Some(line.number(number)?),
                    "addrmode" => argument.addrmode = Some(line.value.to_owned()),
                    _ => {}
                }
            }
            "per_thread_memory_buffers" => {
                if line.item {
                    self.buffers.push(Buffer::default());
                }
                let Some(buffer) = self.buffers.last_mut() else { return Ok(()) };
                match line.key {
                    "type" => line.value.clone_into(&mut buffer.kind),
                    "usage" => line.value.clone_into(&mut buffer.usage),
                    "size" => buffer.size = line.number(number)?,
                    "is_simt_thread" => buffer.per_lane = line.value == "true",
                    _ => {}
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn finish_kernel(&mut self, line: usize) -> Result<(), ZeInfoError> {
        let buffers = std::mem::take(&mut self.buffers);
        self.section.clear();
        let Some(mut kernel) = self.current.take() else { return Ok(()) };
        if kernel.name.is_empty() {
            return Err(ZeInfoError::Unnamed { line });
        }
        for buffer in buffers {
            let lanes = if buffer.per_lane { u64::from(kernel.simd_size) } else { 1 };
            let bytes = buffer.size.saturating_mul(lanes);
            match (buffer.kind.as_str(), buffer.usage.as_str()) {
                ("global", "private_space") => kernel.private_surface += bytes,
                ("scratch", _) => kernel.scratch_size += bytes,
                _ => {}
            }
        }
        self.kernels.push(kernel);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    // Written by hand after the layout that IGC 2.40 gives; sizes are this test's own.
    const TEXT: &str = "---
version:         '1.73'
kernels:
  - name:            first
    execution_env:
      grf_count:       128
      simd_size:       32
      private_size:    640
      new_key:         yes
    payload_arguments:
      - arg_type:        arg_bypointer
        offset:          24
        size:            8
        arg_index:       0
        addrmode:        stateless
      - arg_type:        arg_byvalue
        offset:          40
        size:            8
        arg_index:       1
        source_offset:   16
    per_thread_memory_buffers:
      - type:            global
        usage:           private_space
        size:            20
        is_simt_thread:  true
      - type:            scratch
        usage:           spill_fill_space
        size:            64
  - name:            'second'
    execution_env:
      simd_size:       16
kernels_misc_info:
  - name:            first
    args_info:
      - index:           0
        name:            out
...
";

    #[test]
    fn kernels_are_read_and_the_misc_section_makes_none() {
        let kernels = parse(TEXT).unwrap();
        assert_eq!(kernels.iter().map(|k| k.name.as_str()).collect::<Vec<_>>(), ["first", "second"]);
        let first = &kernels[0];
        assert_eq!((first.simd_size, first.private_size, first.private_surface), (32, 640, 640));
        assert_eq!((first.scratch_size, first.grf_count), (64, Some(128)));
        assert_eq!(first.arguments.len(), 2);
        assert_eq!(first.arguments[0].addrmode.as_deref(), Some("stateless"));
        assert_eq!((first.arguments[1].arg_index, first.arguments[1].source_offset), (Some(1), Some(16)));
        assert_eq!(kernels[1], KernelInfo { name: "second".into(), simd_size: 16, ..KernelInfo::default() });
    }

    #[test]
    fn private_memory_in_scratch_takes_no_surface() {
        let text = TEXT.replace("type:            global", "type:            scratch");
        let kernels = parse(&text).unwrap();
        assert_eq!((kernels[0].private_size, kernels[0].private_surface), (640, 0));
    }

    #[test]
    fn errors_name_the_line() {
        let text = TEXT.replace("private_size:    640", "private_size:    many");
        let want = ZeInfoError::NotANumber { line: 8, key: "private_size".into(), value: "many".into() };
        assert_eq!(parse(&text), Err(want));
        assert_eq!(parse("version: '1.73'\n"), Err(ZeInfoError::NoKernels));
    }

    proptest! {
        #[test]
        fn any_text_is_answered(text in "[ a-z:\\-\n0-9']{0,400}") {
            let _ = parse(&text);
            let _ = parse(&format!("kernels:\n{text}"));
        }
    }
}
