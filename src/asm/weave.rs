//! Source lines between the instructions of `ocloc disasm`, which prints none itself.

use std::path::Path;
use std::rc::Rc;

use super::lines::{Lines, Place};

/// Bytes of an instruction, and of one that ocloc marks `Compacted`.
const WHOLE: u64 = 16;
const COMPACTED: u64 = 8;

/// Bytes of paths and source text that are put into a listing: an image may name a long line at each instruction.
const MOST: usize = 64 << 20;

/// The listing with `// File: …` and `// Line N:  text` before the instructions that they are of: the form of IGC's own
/// listing. `source` gives the text of a line, where it can be had.
///
/// Addresses are counted from the instructions' sizes. Where the count does not come to the addresses of ocloc's labels
/// and to the size of the code, nothing is woven and the reason is given: a wrong line is worse than none.
pub fn weave(
    listing: &str,
    lines: &Lines,
    source: &mut dyn FnMut(&Path, u64) -> Option<String>,
) -> Result<String, String> {
    let mut text = String::with_capacity(listing.len() * 2);
    let mut address = 0;
    let mut now: Option<&Place> = None;
    let mut file: Option<&Rc<Path>> = None;
    for line in listing.lines() {
        if let Some(label) = label(line) {
            if label != address {
                return Err(format!("ocloc's label L{label} is at byte {address} by count"));
            }
        } else if !line.trim().is_empty() && !line.trim_start().starts_with("//") {
            let place = lines.at.range(..=address).next_back().and_then(|(_, place)| place.as_ref());
            if let Some(place) = place.filter(|place| Some(*place) != now) {
                if file != Some(&place.file) {
                    text.push_str(&format!("\n// File: {}\n", one_line(&place.file.to_string_lossy())));
                    file = Some(&place.file);
                }
                let code = source(&place.file, place.line).unwrap_or_default();
                text.push_str(format!("\n// Line {}:  {}", place.line, one_line(code.trim())).trim_end());
                text.push('\n');
            }
            if text.len() > listing.len() + MOST {
                return Err(format!("its source lines are above {MOST} bytes"));
            }
            now = place;
            address += if compacted(line) { COMPACTED } else { WHOLE };
        }
        text.push_str(line);
        text.push('\n');
    }
    // Less than an instruction is left of the padding behind the code: ocloc prints none of it.
    if lines.code.checked_sub(address).is_none_or(|rest| rest >= WHOLE) {
        return Err(format!("the listing is of {address} bytes, the code has {}", lines.code));
    }
    Ok(text)
}

/// Whether a listing has source lines already: IGC writes them into its own.
pub fn has_lines(listing: &str) -> bool {
    listing.lines().any(|line| line.starts_with("// Line "))
}

/// Paths come from the image and text from whatever file it names: neither adds a line, moves a cursor or fills a disk.
fn one_line(text: &str) -> String {
    const LONGEST: usize = 1000;
    text.chars().take(LONGEST).map(|c| if c.is_control() && c != '\t' { '\u{fffd}' } else { c }).collect()
}

/// `L384:` is a label at byte 384.
fn label(line: &str) -> Option<u64> {
    line.trim().strip_prefix('L')?.strip_suffix(':')?.parse().ok()
}

/// `{Compacted,I@1}`, before the comment.
fn compacted(line: &str) -> bool {
    let code = line.split("//").next().unwrap_or_default();
    code.rsplit_once('{').is_some_and(|(_, options)| options.contains("Compacted"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LISTING: &str =
        "L0:\n        mov (8|M0) r1 r2\n        add (8|M0) r1 r1 {Compacted,I@1}\nL24:\n        nop\n";

    fn lines(code: u64) -> Lines {
        let place = |line| Some(Place { file: Path::new("/a/k.cl").into(), line });
        Lines { at: [(0, place(3)), (16, place(4)), (24, None)].into(), code }
    }

    #[test]
    fn lines_stand_before_their_instructions() {
        let woven = weave(LISTING, &lines(40), &mut |_, line| (line == 4).then(|| "  x += 1;".to_owned()));
        assert_eq!(
            woven.unwrap(),
            "L0:\n\n// File: /a/k.cl\n\n// Line 3:\n        mov (8|M0) r1 r2\n\n// Line 4:  x += 1;\n        \
             add (8|M0) r1 r1 {Compacted,I@1}\nL24:\n        nop\n"
        );
    }

    #[test]
    fn a_count_that_does_not_fit_gives_no_lines() {
        assert!(weave(LISTING, &lines(48), &mut |_, _| None).is_ok(), "padding");
        for code in [32, 56] {
            assert!(weave(LISTING, &lines(code), &mut |_, _| None).unwrap_err().contains("40 bytes"));
        }
        let moved = LISTING.replace("L24", "L32");
        assert!(weave(&moved, &lines(40), &mut |_, _| None).unwrap_err().contains("L32"));
    }
    #[test]
    fn what_an_image_can_ask_for_has_an_end() {
        let listing = "        nop\n".repeat(70_000);
        let at = |n: u64| (n * WHOLE, Some(Place { file: Path::new("k.cl").into(), line: n + 1 }));
        let lines = Lines { at: (0..70_000).map(at).collect(), code: 70_000 * WHOLE };
        assert!(weave(&listing, &lines, &mut |_, _| Some("x".repeat(10))).is_ok());
        let long = weave(&listing, &lines, &mut |_, _| Some("x".repeat(2000)));
        assert_eq!(long, Err("its source lines are above 67108864 bytes".to_owned()));
    }
}
