//! `--format issue`: a draft of the vendor's bug form, field by field in its order, for someone who never saw this tool.
//! It says what was seen and what not; what only the author can answer is marked with ✎.

mod behaviour;
mod reproducer;
mod system;

use crate::model::arm::Arm;
use crate::results::manifest::INJECTED;

use super::aggregate::ArmSummary;
use super::faulty::Faulty;
use super::regression::{self, Regression};
use super::section::{Report, Section};
use super::text;
use super::words::plural;
use crate::stats::rate::percent;

/// What the draft is about: the section and the arm that shows the fault best.
pub(super) struct Case<'a> {
    section: &'a Section,
    arm: &'a Arm,
    summary: &'a ArmSummary,
}

/// The draft. `Err`: there is nothing to report, and why.
pub fn render(report: &Report) -> Result<String, String> {
    let Some(case) = main_case(report) else {
        return Err("no arm has a fault (corrupt, wrong-before, crash, device-lost, hang): there is nothing to report".into());
    };
    let regressions = regression::regressions(report);
    let mut out = format!("<!-- Title: {} -->\n\n", title(&case));
    out += "<!-- A draft made by repro-matrix from recorded runs. ✎ marks what only you can answer. Read it, correct it, \
            then post it. -->\n\n";
    if case.section.simulated() {
        out += "> **Not run on silicon.** The real, unmodified driver ran on a simulated xe device. What follows is what \
                the driver did there: a prediction for a card until someone runs it on one.\n\n";
    }
    if let Some((_, rules)) = case.section.key.device.split_once(INJECTED) {
        out += &format!(
            "> **Faults were injected** ({rules}). What follows is what the driver made of them, not what it does by itself.\n\n"
        );
    }
    for problem in &report.problems {
        out += &format!("> ⚠ {problem}\n");
    }
    field(
        &mut out,
        "Pre-submission Checklist",
        &format!(
            "- [ ] I am using the latest GPU driver version (✎ this is {})\n- [ ] I have searched for similar issues and found none\n",
            case.section.driver_line()
        ),
    );
    system::fields(&mut out, &case);
    behaviour::fields(&mut out, &case, report);
    field(&mut out, "Reproduction Rate", &rate(&case));
    field(&mut out, "Steps to Reproduce", &steps(&case));
    regression_fields(&mut out, &regressions);
    behaviour::logs(&mut out, &case);
    reproducer::fields(&mut out, &case);
    field(&mut out, "Screenshots / Video", "None.\n");
    behaviour::notes(&mut out, &case);
    Ok(out)
}

/// One field of the form.
fn field(out: &mut String, heading: &str, body: &str) {
    out.push_str(&format!(
        "### {heading}\n\n{}\n",
        if body.ends_with('\n') { body.to_owned() } else { format!("{body}\n") }
    ));
}

/// The arm that speaks for the fault: the positive control if it shows it, else the one that shows it most often.
fn main_case(report: &Report) -> Option<Case<'_>> {
    let all = report.sections.iter().flat_map(|section| {
        section.arms.iter().zip(&section.summaries).map(move |(arm, summary)| Case { section, arm, summary })
    });
    // Silicon before a model, then silent faults before loud ones.
    all.filter(|case| severity(case.summary.verdict.word).is_some()).min_by_key(|case| {
        let rate = Faulty::of(case.summary);
        (
            case.section.simulated(),
            severity(case.summary.verdict.word),
            !case.arm.positive_control,
            std::cmp::Reverse((rate.hits * 1000 / rate.of.max(1), rate.of)),
        )
    })
}

/// Rank of a fault; `None` = no fault of the driver's.
fn severity(word: &str) -> Option<u8> {
    match word {
        "corrupt" => Some(0),
        "crash" => Some(1),
        "device-lost" => Some(2),
        "hang" => Some(3),
        "wrong-before" => Some(4),
        _ => None,
    }
}

fn title(case: &Case<'_>) -> String {
    let what = match case.summary.verdict.word {
        "corrupt" => "Silent wrong results",
        "wrong-before" => "Wrong results",
        "crash" => "Crash",
        "device-lost" => "Device lost",
        _ => "Hang",
    };
    let device = device_name(case.section);
    let keys = match case.arm.keys.keys.is_empty() {
        true => String::new(),
        false => format!(
            " with {}",
            case.arm.keys.keys.iter().map(|(k, v)| format!("{k}={v}")).collect::<Vec<_>>().join(" ")
        ),
    };
    format!("{what} on {device}{keys}: {} {}", case.arm.id, case.summary.verdict)
}

/// As the driver calls it.
pub(super) fn device_name(section: &Section) -> String {
    let named = section
        .records
        .iter()
        .filter_map(|r| r.repro.as_ref())
        .map(|r| &r.device_name)
        .find(|n| !n.is_empty());
    named.cloned().unwrap_or_else(|| section.key.device.clone())
}

fn rate(case: &Case<'_>) -> String {
    let rate = Faulty::of(case.summary);
    let runs = plural(rate.of, "run");
    let Some(interval) = rate.interval() else { return rate.bucket().to_string() };
    let observed = format!(
        "Observed: `{}` is faulty in {} of {runs} (95 % interval {} to {}).\n",
        case.arm.id,
        rate.hits,
        percent(interval.low),
        percent(interval.high)
    );
    if rate.earned() {
        return format!("{}\n\n{observed}", rate.bucket());
    }
    format!(
        "✎ Not yet earned: {}\n\n{observed}\nSo few runs fit other answers of the form as well: `--repeats 20` says more.\n",
        rate.bucket()
    )
}

/// A clean arm of the same experiment with the fewest axes different, for contrast.
pub(super) fn contrast<'a>(case: &Case<'a>) -> Option<&'a Arm> {
    let point = super::axes::point(case.arm);
    case.section
        .arms
        .iter()
        .zip(&case.section.summaries)
        .filter(|(_, summary)| summary.runs > 0 && summary.verdict.word == "clean")
        .min_by_key(|(arm, _)| super::axes::differing(&point, &super::axes::point(arm)).len())
        .map(|(arm, _)| arm)
}

fn steps(case: &Case<'_>) -> String {
    let file = format!("{}.toml", case.section.key.matrix);
    let mut script = String::new();
    let driver = case.section.drivers.get(&case.arm.driver);
    script += "# a driver build beside the system's, nothing is installed (or: drivers add NAME --lib libze_intel_gpu.so.1)\n";
    script += "repro-matrix drivers fetch debian\n";
    script += &reproducer::runtime(case.arm);
    script += &format!("# {file} is under \"Source Code / Reproducer\" below\n");
    for arm in std::iter::once(case.arm).chain(contrast(case)) {
        let word = case
            .section
            .summaries
            .iter()
            .find(|summary| summary.id == arm.id)
            .map_or_else(String::new, |summary| format!("   # {}", summary.verdict));
        script +=
            &format!("repro-matrix run {file} --device {} --arm {}{word}\n", case.section.key.device, arm.id);
    }
    let mut out = text::fence("sh", &script);
    if let Some(versions) = driver.map(|driver| driver.versions.as_str()) {
        out += &format!("\nThe runs reported here used {versions}.\n");
    }
    out + reproducer::steps(case.arm.variant.front_end)
}

fn regression_fields(out: &mut String, regressions: &[Regression]) {
    let Some(first) = regressions.first() else {
        field(
            out,
            "Is this a regression?",
            "- [ ] Yes, this is a regression - functionality that previously worked is now broken\n\n✎ One driver build was run: not known.\n",
        );
        field(out, "Last Known Working Driver Version", "Not known.\n");
        field(out, "First Known Failing Driver Version", "Not known.\n");
        return;
    };
    let tick = if first.last_good.is_some() { "x" } else { " " };
    let mut body = format!(
        "- [{tick}] Yes, this is a regression - functionality that previously worked is now broken\n\n"
    );
    for one in regressions {
        let good = one.last_good.as_deref().unwrap_or("none that was run");
        body += &format!("- `{}`: last good {good}, first bad {}", one.arm, one.first_bad);
        if !one.fixed.is_empty() {
            body += &format!(", clean again in {}", one.fixed.join(", "));
        }
        body += "\n";
    }
    body += "\nOf the builds that were run; releases between them were not.\n";
    field(out, "Is this a regression?", &body);
    field(
        out,
        "Last Known Working Driver Version",
        first.last_good.as_deref().unwrap_or("Not known: every build that was run fails."),
    );
    field(out, "First Known Failing Driver Version", &first.first_bad);
}
