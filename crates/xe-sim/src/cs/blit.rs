//! Copy-engine commands. Data really moves.
//!
//! Linear surfaces only: a tiled one is counted and traced as unsupported and nothing is written.

use super::memory::Touch;
use super::{Effect, Flow, Machine, qword, word};
use crate::device::vm::VA_MASK;
use crate::trace::Event;

/// Bytes a pixel by the colour depth field of XY_BLOCK_COPY_BLT and XY_FAST_COLOR_BLT.
fn depth_bytes(field: u32) -> Option<u64> {
    Some(match field & 7 {
        0 => 1,
        1 => 2,
        2 => 4,
        3 => 8,
        4 => 12,
        5 => 16,
        _ => return None,
    })
}

/// A rectangle of bytes in linear memory.
#[derive(Clone, Copy, Debug)]
struct Rows {
    start: u64,
    pitch: u64,
}

fn add_touch(sum: &mut Touch, part: Touch) {
    if sum.missed == 0 {
        sum.first = part.first;
    }
    sum.missed += part.missed;
}

impl Machine<'_> {
    fn copy_rows(&mut self, name: &'static str, src: Rows, dst: Rows, width: u64, height: u64) -> Effect {
        let (mut missed_src, mut missed_dst) = (Touch::default(), Touch::default());
        if src.pitch == width && dst.pitch == width {
            (missed_src, missed_dst) = self.memory.copy(src.start, dst.start, width * height);
        } else {
            for row in 0..height {
                let from = src.start.wrapping_add(row * src.pitch) & VA_MASK;
                let to = dst.start.wrapping_add(row * dst.pitch) & VA_MASK;
                let (s, d) = self.memory.copy(from, to, width);
                add_touch(&mut missed_src, s);
                add_touch(&mut missed_dst, d);
            }
        }
        self.counters.copied_bytes += width * height;
        self.trace.emit(Event::Copy {
            file: self.ids.file,
            queue: self.ids.queue,
            vm: self.ids.vm,
            command: name.to_owned(),
            bytes: width * height,
            src: src.start & VA_MASK,
            dst: dst.start & VA_MASK,
        });
        self.settle(missed_src, false, name)?;
        self.settle(missed_dst, true, name)?;
        Ok(Flow::Next)
    }

    fn fill_rows(
        &mut self,
        name: &'static str,
        dst: Rows,
        width: u64,
        height: u64,
        pattern: &[u8],
    ) -> Effect {
        let mut missed = Touch::default();
        if dst.pitch == width {
            missed = self.memory.fill(dst.start, width * height, pattern);
        } else {
            for row in 0..height {
                let to = dst.start.wrapping_add(row * dst.pitch) & VA_MASK;
                add_touch(&mut missed, self.memory.fill(to, width, pattern));
            }
        }
        self.settle(missed, true, name)?;
        Ok(Flow::Next)
    }
}

/// Left/top and right/bottom corners; `None` for an empty or inverted rectangle.
fn rectangle(from: u32, to: u32) -> Option<(u64, u64, u64, u64)> {
    let (x1, y1) = (u64::from(from & 0xffff), u64::from(from >> 16));
    let (x2, y2) = (u64::from(to & 0xffff), u64::from(to >> 16));
    (x2 > x1 && y2 > y1).then(|| (x1, y1, x2 - x1, y2 - y1))
}

pub(super) fn block_copy(m: &mut Machine<'_>, w: &[u32]) -> Effect {
    const NAME: &str = "XY_BLOCK_COPY_BLT";
    let header = word(w, 0);
    let Some(pixel) = depth_bytes(header >> 19) else {
        return Err("reserved colour depth".to_owned());
    };
    if word(w, 1) >> 30 != 0 || word(w, 8) >> 30 != 0 {
        m.unsupported("XY_BLOCK_COPY_BLT (tiled)", header, m.ctx.ip);
        return Ok(Flow::Next);
    }
    let Some((x, y, width, height)) = rectangle(word(w, 2), word(w, 3)) else { return Ok(Flow::Next) };
    let pitch = |dword: u32| u64::from(dword & 0x3_ffff) + 1;
    let offsets = |dword: u32| (u64::from(dword & 0x3fff), u64::from((dword >> 16) & 0x3fff));
    let place = |base: u64, pitch: u64, (ox, oy): (u64, u64), x: u64, y: u64| Rows {
        start: base.wrapping_add((y + oy) * pitch + (x + ox) * pixel),
        pitch,
    };
    let dst = place(qword(w, 4), pitch(word(w, 1)), offsets(word(w, 6)), x, y);
    let (sx, sy) = (u64::from(word(w, 7) & 0xffff), u64::from(word(w, 7) >> 16));
    let src = place(qword(w, 9), pitch(word(w, 8)), offsets(word(w, 11)), sx, sy);
    m.copy_rows(NAME, src, dst, width * pixel, height)
}

/// XY_FAST_COPY_BLT: 10 dwords, pitches in bytes as they are.
pub(super) fn fast_copy(m: &mut Machine<'_>, w: &[u32]) -> Effect {
    const NAME: &str = "XY_FAST_COPY_BLT";
    let header = word(w, 0);
    // Tiling: bits 13:14 of the header for the destination, 20:21 for the source.
    if (header >> 13) & 3 != 0 || (header >> 20) & 3 != 0 {
        m.unsupported("XY_FAST_COPY_BLT (tiled)", header, m.ctx.ip);
        return Ok(Flow::Next);
    }
    let pixel = match (word(w, 1) >> 24) & 7 {
        0 => 1,
        1 => 2,
        3 => 4,
        4 => 8,
        5 => 16,
        _ => return Err("reserved colour depth".to_owned()),
    };
    let Some((x, y, width, height)) = rectangle(word(w, 2), word(w, 3)) else { return Ok(Flow::Next) };
    let dst_pitch = u64::from(word(w, 1) & 0xffff);
    let src_pitch = u64::from(word(w, 7) & 0xffff);
    let (sx, sy) = (u64::from(word(w, 6) & 0xffff), u64::from(word(w, 6) >> 16));
    let dst = Rows { start: qword(w, 4).wrapping_add(y * dst_pitch + x * pixel), pitch: dst_pitch };
    let src = Rows { start: qword(w, 8).wrapping_add(sy * src_pitch + sx * pixel), pitch: src_pitch };
    m.copy_rows(NAME, src, dst, width * pixel, height)
}

pub(super) fn fast_color(m: &mut Machine<'_>, w: &[u32]) -> Effect {
    const NAME: &str = "XY_FAST_COLOR_BLT";
    let header = word(w, 0);
    let Some(pixel) = depth_bytes(header >> 19) else {
        return Err("reserved colour depth".to_owned());
    };
    if word(w, 1) >> 30 != 0 {
        m.unsupported("XY_FAST_COLOR_BLT (tiled)", header, m.ctx.ip);
        return Ok(Flow::Next);
    }
    let Some((x, y, width, height)) = rectangle(word(w, 2), word(w, 3)) else { return Ok(Flow::Next) };
    let pitch = u64::from(word(w, 1) & 0x3_ffff) + 1;
    let (ox, oy) = (u64::from(word(w, 6) & 0x3fff), u64::from((word(w, 6) >> 16) & 0x3fff));
    let color: Vec<u8> = (7..11).flat_map(|i| word(w, i).to_le_bytes()).take(pixel as usize).collect();
    let dst = Rows { start: qword(w, 4).wrapping_add((y + oy) * pitch + (x + ox) * pixel), pitch };
    m.fill_rows(NAME, dst, width * pixel, height, &color)
}

pub(super) fn mem_copy(m: &mut Machine<'_>, w: &[u32]) -> Effect {
    const NAME: &str = "MEM_COPY";
    let header = word(w, 0);
    // Copy type (17:18): 0 linear, 1 matrix. In linear mode the height is not used.
    let matrix = (header >> 17) & 3 == 1;
    // Mode bit 19: 0 = bytes, 1 = pages of 256 bytes.
    let unit = if header & (1 << 19) != 0 { 256 } else { 1 };
    let width = (u64::from(word(w, 1) & 0xff_ffff) + 1) * unit;
    let height = if matrix { u64::from(word(w, 2) & 0x3_ffff) + 1 } else { 1 };
    let pitch = |dword: u32| if matrix { u64::from(dword & 0x3_ffff) + 1 } else { width };
    let src = Rows { start: qword(w, 5), pitch: pitch(word(w, 3)) };
    let dst = Rows { start: qword(w, 7), pitch: pitch(word(w, 4)) };
    m.copy_rows(NAME, src, dst, width, height)
}

pub(super) fn mem_set(m: &mut Machine<'_>, w: &[u32]) -> Effect {
    const NAME: &str = "MEM_SET";
    let header = word(w, 0);
    let matrix = (header >> 17) & 3 == 1;
    if (header >> 19) & 3 != 0 {
        m.unsupported("MEM_SET (mode)", header, m.ctx.ip);
        return Ok(Flow::Next);
    }
    let width = u64::from(word(w, 1) & 0xff_ffff) + 1;
    let height = if matrix { u64::from(word(w, 2) & 0x3_ffff) + 1 } else { 1 };
    let pitch = if matrix { u64::from(word(w, 3) & 0x3_ffff) + 1 } else { width };
    let value = (word(w, 6) >> 24) as u8;
    m.fill_rows(NAME, Rows { start: qword(w, 4), pitch }, width, height, &[value])
}
