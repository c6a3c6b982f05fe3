//! The page in a real browser.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::support::{mock, said, smoke, text, tool};

fn browser() -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = ["chromium", "google-chrome"]
        .iter()
        .flat_map(|name| std::env::split_paths(&path).map(move |dir| dir.join(name)))
        .find(|program| program.exists());
    found.expect("chromium (ci/install-deps installs it): a page that no browser has shown is not tested")
}

pub struct Shown {
    pub dom: String,
    pub console: String,
}

/// Opens `page` and returns what it became. `more`: further options of the browser.
pub fn show(page: &Path, hash: &str, more: &[&str]) -> Shown {
    let profile = tempfile::tempdir().expect("tempdir");
    let out = Command::new(browser())
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--disable-dev-shm-usage",
            "--enable-logging=stderr",
            "--virtual-time-budget=2000",
            "--dump-dom",
        ])
        .arg(format!("--user-data-dir={}", profile.path().display()))
        .args(more)
        .arg(format!("file://{}{hash}", page.display()))
        .stdin(Stdio::null())
        .output()
        .expect("the browser starts");
    assert!(out.status.success(), "{}: {}", out.status, String::from_utf8_lossy(&out.stderr));
    let console: String = String::from_utf8_lossy(&out.stderr)
        .lines()
        .filter(|line| line.contains("CONSOLE"))
        .map(|line| format!("{line}\n"))
        .collect();
    Shown { dom: text(&out.stdout), console }
}

pub fn page(results: &Path, dir: &Path, more: &[&str]) -> PathBuf {
    let page = dir.join("report.html");
    let mut args = vec![
        "report",
        results.to_str().expect("UTF-8"),
        "--format",
        "html",
        "-o",
        page.to_str().expect("UTF-8"),
    ];
    args.extend(more);
    said(dir, &args);
    page
}

/// The page with a script of the test's at its end.
fn with_script(page: &Path, script: &str) -> PathBuf {
    let html = std::fs::read_to_string(page).expect("page");
    let path = page.with_file_name("scripted.html");
    std::fs::write(&path, html.replace("</body>", &format!("<script>{script}</script></body>")))
        .expect("write");
    path
}

#[test]
fn the_page_shows_everything_and_needs_no_network() {
    let dir = tempfile::tempdir().expect("tempdir");
    let page = page(smoke(), dir.path(), &[]);
    let html = std::fs::read_to_string(&page).expect("page");
    for outside in ["src=\"", "href=\"http", "@import", "url("] {
        assert!(!html.contains(outside), "{outside}: the page must stand alone");
    }
    let shown = show(&page, "", &[]);
    assert_eq!(shown.console, "");
    for piece in [
        "Compared: data and sim on the verdict (elements, and what was bound): agree",
        "smoke on sim:a770 (a model): 3 arms, 2 clean, 1 corrupt; as expected",
        "not a measurement on silicon",
        "Verdicts over two axes",
        "Boundary: predicted against measured",
        "Every arm is on the side that the sizes predict",
        "Side by side: one axis changed",
        // A/B: what was changed.
        "<strong>kernels</strong>: 87 → 86",
        // Evidence: the driver's own lines, with the file they are from.
        "logs/over/file-r/0/stdout.gz",
        "size: 186646528, result: 0",
        "Private Memory Per Dispatch 1",
        "errno: 1(Operation not permitted)",
    ] {
        assert!(shown.dom.contains(piece), "{piece}");
    }
    // The picture says what the table says: the last dispatch of the corrupt arm finds its surface unbound.
    assert!(shown.dom.contains("over/file-r: private surface of 186,646,528 bytes, bound in 1 stretches; 1 dispatches reach it bound, 1 unbound"), "{}", shown.dom.split("aria-label").filter(|p| p.contains("stretches")).collect::<String>());
    assert!(
        shown.dom.contains("under/file-r: private surface of 186,646,528 bytes, bound in 2 stretches; 2 dispatches reach it bound, 0 unbound")
    );
}

#[test]
fn a_link_opens_the_evidence_and_the_map_can_be_redrawn() {
    let dir = tempfile::tempdir().expect("tempdir");
    let page = page(smoke(), dir.path(), &[]);
    let shown = show(&page, "#s0-arm-over_file-r", &[]);
    assert!(shown.dom.contains("<details id=\"s0-arm-over_file-r\" open"), "the evidence opens");
    let script = "const s = document.querySelectorAll('[data-heat] select'); s[0].value = 'source kind'; s[1].value = 'kernels'; \
                  s[1].dispatchEvent(new Event('change')); \
                  document.title = [...document.querySelectorAll('table.heat tbody tr')].map(r => r.innerText).join('|');";
    let shown = show(&with_script(&page, script), "", &[]);
    assert_eq!(shown.console, "");
    let title =
        shown.dom.split_once("<title>").and_then(|(_, rest)| rest.split_once("</title>")).expect("title").0;
    let rows: Vec<Vec<&str>> = title.split('|').map(|row| row.split_whitespace().collect()).collect();
    assert_eq!(rows, [vec!["anon", "–", "clean", "1/1"], vec!["file", "clean", "1/1", "corrupt", "1/1"]]);
}

#[test]
fn the_page_fits_a_phone() {
    let dir = tempfile::tempdir().expect("tempdir");
    page(smoke(), dir.path(), &[]);
    // A frame as wide as a phone: a window of the browser cannot be made so narrow.
    let frame = dir.path().join("phone.html");
    std::fs::write(
        &frame,
        "<iframe id=f src=report.html width=360 height=700></iframe><script>f.onload = () => { try { \
         const d = f.contentDocument.documentElement; document.title = d.scrollWidth + ' of ' + d.clientWidth; } catch (e) { document.title = e; } }</script>",
    )
    .expect("write");
    let shown = show(&frame, "", &["--allow-file-access-from-files"]);
    let title =
        shown.dom.split_once("<title>").and_then(|(_, rest)| rest.split_once("</title>")).expect("title").0;
    let (wide, room) = title.split_once(" of ").unwrap_or_else(|| panic!("{title}"));
    let number = |text: &str| text.parse::<u32>().unwrap_or_else(|_| panic!("{title}"));
    assert!(number(room) > 300 && number(wide) <= number(room), "{title}");
}

#[test]
fn the_page_is_readable_in_dark_and_light_and_by_keyboard() {
    let dir = tempfile::tempdir().expect("tempdir");
    let page = page(smoke(), dir.path(), &[]);
    // Contrast of every text of the page with the colour behind it (WCAG 2: relative luminance), the least of all; and
    // everything that scrolls or opens and cannot be reached with the tab key.
    let script = "const rgb = c => c.match(/[\\d.]+/g).map(Number); \
        const lum = c => { const [r, g, b] = c.map(v => { v /= 255; return v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4; }); return .2126 * r + .7152 * g + .0722 * b; }; \
        const behind = e => { for (; e; e = e.parentElement) { const c = rgb(getComputedStyle(e).backgroundColor); if (c.length < 4 || c[3] > 0) return c; } return [255, 255, 255]; }; \
        let least = 99, where = ''; \
        for (const e of document.querySelectorAll('body *:not(script)')) { \
          if (e.closest('svg') || ![...e.childNodes].some(n => n.nodeType == 3 && n.data.trim())) continue; \
          const [x, y] = [lum(rgb(getComputedStyle(e).color)), lum(behind(e))]; \
          const ratio = (Math.max(x, y) + .05) / (Math.min(x, y) + .05); \
          if (ratio < least) { least = ratio; where = e.outerHTML.slice(0, 80); } } \
        const deaf = [...document.querySelectorAll('*')].filter(e => e.scrollWidth > e.clientWidth + 1 && /auto|scroll/.test(getComputedStyle(e).overflowX) && e.tabIndex < 0 && !e.closest('[tabindex=\"0\"]')); \
        document.title = [getComputedStyle(document.body).backgroundColor, least.toFixed(1), deaf.length, where, deaf.map(e => e.outerHTML.slice(0, 60)).join()].join('|');";
    let scripted = with_script(&page, script);
    let look = |scheme: &str| {
        let shown = show(&scripted, "", &[&format!("--blink-settings=preferredColorScheme={scheme}")]);
        assert_eq!(shown.console, "");
        let title = shown.dom.split_once("<title>").and_then(|(_, rest)| rest.split_once("</title>"));
        title.expect("title").0.split('|').map(str::to_owned).collect::<Vec<_>>()
    };
    // Blink's numbers: 0 dark, 1 light.
    let (dark, light) = (look("0"), look("1"));
    assert_eq!((dark[0].as_str(), light[0].as_str()), ("rgb(13, 17, 23)", "rgb(255, 255, 255)"));
    for seen in [dark, light] {
        let contrast: f64 = seen[1].parse().unwrap_or_else(|_| panic!("{seen:?}"));
        assert!((4.5..99.0).contains(&contrast), "{seen:?}");
        assert_eq!(seen[2], "0", "{seen:?}");
    }
}

#[test]
fn text_from_results_cannot_become_markup() {
    let dir = tempfile::tempdir().expect("tempdir");
    let results = mock(dir.path(), &["corrupt=corrupt"], &[]);
    let runs = std::fs::read_to_string(results.join("runs.jsonl")).expect("runs");
    let mut record: serde_json::Value = serde_json::from_str(runs.trim()).expect("JSON");
    record["evidence"] = serde_json::json!([{"instrument": "data", "says": "</script><script>document.title='broken'</script>"}]);
    std::fs::write(results.join("runs.jsonl"), format!("{record}\n")).expect("write");
    let manifest = std::fs::read_to_string(results.join("manifest.json")).expect("manifest");
    let manifest =
        manifest.replace("\"front_end\": \"level-zero\"", "\"front_end\": \"level-zero\", \"_\": 0");
    let mut manifest: serde_json::Value = serde_json::from_str(&manifest).expect("JSON");
    manifest["arms"][0]["driver"] = "</script><script>document.title='broken'</script>".into();
    std::fs::write(results.join("manifest.json"), manifest.to_string()).expect("write");
    let shown = show(&page(&results, dir.path(), &["--axes", "driver,kernels"]), "", &[]);
    assert!(!shown.dom.contains("<title>broken"), "{}", shown.dom);
}

#[test]
fn an_unknown_axis_is_answered_with_those_there_are() {
    let dir = tempfile::tempdir().expect("tempdir");
    let results = mock(dir.path(), &["pass=clean"], &[]);
    let args =
        ["report", results.to_str().expect("UTF-8"), "--format", "html", "--axes", "kernel,source kind"];
    let out = tool(dir.path(), &args);
    assert_eq!(out.status.code(), Some(2));
    let err = text(&out.stderr);
    assert!(err.contains("no arm has an axis \"kernel\"") && err.contains("kernels"), "{err}");
}
