//! Pieces that the text formats share: Markdown tables, cells, fences.

/// A Markdown table. Pipes and line ends in cells are escaped.
pub fn table<const N: usize>(header: [&str; N], rows: impl IntoIterator<Item = [String; N]>) -> String {
    let mut out = format!("| {} |\n|{}\n", header.join(" | "), " --- |".repeat(N));
    for row in rows {
        let cells: Vec<String> = row.iter().map(|cell| escape(cell)).collect();
        out.push_str(&format!("| {} |\n", cells.join(" | ")));
    }
    out
}

fn escape(cell: &str) -> String {
    cell.replace('|', "\\|").replace(['\n', '\r'], " ")
}

/// A fenced block whose fence is longer than any in `text`.
pub fn fence(language: &str, text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat((longest + 1).max(3));
    let end = if text.ends_with('\n') || text.is_empty() { "" } else { "\n" };
    format!("{fence}{language}\n{text}{end}{fence}\n")
}

/// A block that is folded away on a page that renders it.
pub fn folded(summary: &str, body: &str) -> String {
    format!("<details><summary>{summary}</summary>\n\n{body}\n</details>\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_cannot_break_the_table() {
        let text = table(["a", "b"], [["x|y".into(), "1\n2".into()]]);
        assert_eq!(text, "| a | b |\n| --- | --- |\n| x\\|y | 1 2 |\n");
    }

    #[test]
    fn a_fence_is_longer_than_what_it_holds() {
        assert_eq!(fence("sh", "ls"), "```sh\nls\n```\n");
        assert_eq!(fence("", "a ```` b\n"), "`````\na ```` b\n`````\n");
    }
}
