use super::*;
use crate::report::aggregate::summarise;
use crate::report::fixture::{arm, record};

#[test]
fn table_fits_and_says_what_the_runs_said() {
    let arms = [
        arm("over/file-r/with-a-rather-long-name", |_| {}),
        arm("under/file-r", |a| a.variant.kernels = 173),
    ];
    let records = vec![record(&arms[0], 0, true), record(&arms[1], 0, false)];
    let summaries = summarise(&arms, &records);
    for width in [80, 100, 120] {
        let text = render(&summaries, Style { width, colour: false });
        assert!(text.lines().all(|line| line.chars().count() <= usize::from(width)), "{text}");
        assert!(!text.contains('\u{1b}'), "no colour was asked for");
    }
    let text = render(&summaries, Style { width: 120, colour: false });
    for part in [
        "CORRUPT",
        "not modelled",
        "16.24 > 16.23 GB",
        "16.14 ≤ 16.23 GB",
        "bind unbind ─",
        "bind unbind bind",
        "24",
    ] {
        assert!(text.contains(part), "{part} not in\n{text}");
    }
    assert!(!text.contains("runs"), "one run an arm needs no such column\n{text}");
    let colour = render(&summaries, Style { width: 120, colour: true });
    assert!(
        colour.contains("\u{1b}[1;31mCORRUPT\u{1b}[0m") && colour.contains("\u{1b}[32mclean\u{1b}[0m"),
        "{colour}"
    );
    let plain = colour.replace("\u{1b}[1;31m", "").replace("\u{1b}[32m", "").replace("\u{1b}[0m", "");
    assert_eq!(plain, text, "colour adds nothing to the layout");
}
