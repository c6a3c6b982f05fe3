//! tracefs text of xe's tracepoints (drivers/gpu/drm/xe/xe_trace*.h in the kernel tree). Forms changed: the end of a range
//! was exclusive while its last field was called `ptr`, and is inclusive since it is called `userptr`; the device came later.

use crate::model::facts::{BindEvent, RangeHistory, XeTraceFacts};

use super::lines::{self, LineSink};

/// Ranges kept.
const MOST: usize = 1 << 16;

/// Facts of a trace. `device`: PCI address of the device under test; lines that name another one are counted apart,
/// lines that name none are taken.
pub fn parse(trace: &[u8], device: Option<&str>) -> XeTraceFacts {
    let mut parser = Parser::new(device);
    lines::feed_all(trace, &mut parser);
    parser.finish()
}

/// Takes the trace line by line.
#[derive(Debug)]
pub struct Parser<'a> {
    facts: XeTraceFacts,
    device: Option<&'a str>,
}

impl LineSink for Parser<'_> {
    fn line(&mut self, line: &[u8]) {
        let text = String::from_utf8_lossy(line);
        let text = text.trim();
        if let Some(header) = text.strip_prefix('#') {
            self.header(header);
            return;
        }
        // "task-pid [cpu] flags time: event: fields"
        let Some((head, rest)) = text.split_once(": xe_") else {
            if !text.is_empty() {
                self.facts.not_understood += 1;
            }
            return;
        };
        let Some((event, fields)) = rest.split_once(':').filter(|_| head.contains('[')) else {
            self.facts.not_understood += 1;
            return;
        };
        self.event(&format!("xe_{event}"), fields.trim());
    }

    fn cut(&mut self) {
        self.facts.not_understood += 1;
    }
}

impl<'a> Parser<'a> {
    pub fn new(device: Option<&'a str>) -> Self {
        Parser { facts: XeTraceFacts::default(), device }
    }

    pub fn finish(self) -> XeTraceFacts {
        self.facts
    }
}

impl Parser<'_> {
    /// "# entries-in-buffer/entries-written: 140/140   #P:8".
    fn header(&mut self, header: &str) {
        let Some(rest) = header.trim().strip_prefix("entries-in-buffer/entries-written:") else { return };
        let numbers = rest.split_whitespace().next().and_then(|pair| pair.split_once('/'));
        self.facts.entries =
            numbers.and_then(|(held, written)| Some((held.parse().ok()?, written.parse().ok()?)));
    }

    fn event(&mut self, event: &str, fields: &str) {
        let named = value(fields, "dev=").or_else(|| value(fields, "device_id:"));
        // The oldest form cut the address to 11 characters.
        if let (Some(device), Some(named)) = (self.device, named)
            && !device.starts_with(named)
        {
            self.facts.other_device += 1;
            return;
        }
        *self.facts.events.entry(event.to_owned()).or_default() += 1;
        match event {
            "xe_vma_bind" | "xe_vma_unbind" => self.range(event == "xe_vma_bind", fields),
            "xe_bo_move" => {
                let moved = fields.split_once("] from ").and_then(|(_, rest)| rest.split_once(" to "));
                match moved.and_then(|(from, rest)| Some((from, rest.split_whitespace().next()?))) {
                    Some((from, to)) => *self.facts.moves.entry(format!("{from} → {to}")).or_default() += 1,
                    None => self.facts.not_understood += 1,
                }
            }
            _ => {}
        }
    }

    fn range(&mut self, bind: bool, fields: &str) {
        let hex = |key: &str| u64::from_str_radix(value(fields, key)?.strip_prefix("0x")?, 16).ok();
        let (Some(asid), Some(start), Some(end)) = (hex("asid="), hex("start="), hex("end=")) else {
            self.facts.not_understood += 1;
            return;
        };
        let inclusive = fields.contains("userptr=");
        let size = end.saturating_sub(start).saturating_add(u64::from(inclusive));
        let vm = u32::try_from(asid).unwrap_or(u32::MAX);
        let event = BindEvent { bind, errno: 0, phase: None };
        let room = self.facts.ranges.len() < MOST;
        let known = self
            .facts
            .ranges
            .iter_mut()
            .find(|range| (range.vm, range.start, range.size) == (vm, start, size));
        match known {
            Some(range) => range.events.push(event),
            None if room => {
                self.facts.ranges.push(RangeHistory { vm, start, size, events: vec![event] });
            }
            None => self.facts.not_understood += 1,
        }
    }
}

/// What follows `key` up to a comma or a space.
fn value<'t>(fields: &'t str, key: &str) -> Option<&'t str> {
    // "start=" must not be found in "userstart=".
    let at = fields.match_indices(key).find(|(at, _)| {
        fields.get(..*at).and_then(|before| before.chars().next_back()).is_none_or(|c| c == ' ' || c == ',')
    })?;
    fields.get(at.0 + key.len()..)?.split([',', ' ']).next()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The 89 MiB private surface of seed 003 at its address: bound, unbound, never bound again.
    const TRACE: &str = "# tracer: nop\n#\n# entries-in-buffer/entries-written: 5/5   #P:8\n#\n\
        repro-4711 [003] ..... 22521.463365: xe_bo_create: dev=0000:09:00.0, bo=00000000a1, size=93323264\n\
        repro-4711 [003] ..... 22521.463400: xe_bo_move: move_lacks_source:yes, migrate object 00000000a1 [size 93323264] from system to vram0 device_id:0000:09:00.0\n\
        repro-4711 [003] ..... 22521.463500: xe_vma_bind: dev=0000:09:00.0, vma=00000000b1, vm=00000000c1, asid=0x00012, start=0xd556aaa00000, end=0xd556b02fffff, userptr=0x000000000000\n\
        repro-4711 [003] ..... 22522.000000: xe_vma_unbind: dev=0000:09:00.0, vma=00000000b1, vm=00000000c1, asid=0x00012, start=0xd556aaa00000, end=0xd556b02fffff, userptr=0x000000000000\n\
        Xorg-99 [001] ..... 22522.100000: xe_vma_bind: dev=0000:03:00.0, vma=00000000d1, vm=00000000e1, asid=0x00001, start=0x000000001000, end=0x000000001fff, userptr=0x000000000000\n";

    #[test]
    fn the_lost_surface_is_bound_once_and_unbound_once() {
        let facts = parse(TRACE.as_bytes(), Some("0000:09:00.0"));
        assert_eq!(facts.ranges.len(), 1);
        let range = &facts.ranges[0];
        assert_eq!((range.start, range.size), (0xd556_aaa0_0000, 93_323_264));
        assert_eq!(range.events.iter().map(|event| event.bind).collect::<Vec<_>>(), [true, false]);
        assert_eq!(facts.moves["system → vram0"], 1);
        assert_eq!((facts.other_device, facts.entries, facts.not_understood), (1, Some((5, 5)), 0));
        assert_eq!(facts.events["xe_bo_create"], 1);
    }

    #[test]
    fn the_older_form_has_an_exclusive_end_and_no_device() {
        let line = "x-1 [000] .. 1.0: xe_vma_bind: vma=0x0000000000000001, asid=0x00002, start=0x000000001000, end=0x000000003000, ptr=0x000000000000,\n";
        let facts = parse(line.as_bytes(), Some("0000:09:00.0"));
        assert_eq!(facts.ranges[0].size, 0x2000);
        let newer = line
            .replace("vma=0x0000000000000001", "vma=00000000b1")
            .replace(" ptr=", " userptr=")
            .replace("0x000000003000", "0x000000002fff");
        assert_eq!(parse(newer.as_bytes(), None).ranges[0].size, 0x2000);
    }

    #[test]
    fn what_is_no_trace_is_counted() {
        assert_eq!(parse(b"hello\nx-1 [0] . 1.0: xe_vma_bind: asid=q\n", None).not_understood, 2);
    }
}
