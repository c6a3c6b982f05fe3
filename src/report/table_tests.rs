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

/// The longest ids of the shipped matrix, at every width that a terminal may have.
#[test]
fn a_row_is_one_line_at_80_columns_and_more() {
    let arms = [
        arm("over/file-r/direct-submission0", |_| {}),
        arm("under/file-r/unknown-switches", |a| a.variant.kernels = 173),
    ];
    let records = vec![record(&arms[0], 0, true), record(&arms[1], 0, false)];
    let summaries = summarise(&arms, &records);
    for width in 80..=200 {
        let text = render(&summaries, Style { width, colour: false });
        let rows: Vec<&str> = text.lines().filter(|line| !line.starts_with(" (")).collect();
        assert_eq!(rows.len(), 3, "{width} columns:\n{text}");
        for (row, arm) in rows.iter().skip(1).zip(&arms) {
            assert!(row.contains(&arm.id) && row.contains("bind unbind"), "{width} columns:\n{text}");
        }
        assert!(rows.iter().all(|line| line.chars().count() <= usize::from(width)), "{text}");
    }
    let narrow = render(&summaries, Style { width: 80, colour: false });
    assert!(narrow.contains("arms.csv") && !narrow.contains("0.2 s"), "what is left out is said\n{narrow}");
    assert!(!render(&summaries, Style { width: 140, colour: false }).contains("arms.csv"));
}

#[test]
fn a_row_that_fits_nowhere_wraps_and_loses_nothing() {
    let long = "over/file-r/a-key-set-with-a-very-long-name-indeed/and-a-workload-with-another-one/sim:a770";
    let arms = [arm(long, |_| {})];
    let summaries = summarise(&arms, &[record(&arms[0], 0, true)]);
    let text = render(&summaries, Style { width: 80, colour: false });
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    assert!(text.contains("CORRUPT"), "{text}");
}
