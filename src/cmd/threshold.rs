//! `repro-matrix threshold`.

use std::fmt::Write as _;

use crate::cli::threshold::ThresholdArgs;
use crate::cmd::Failure;
use crate::cmd::bisect::print;
use crate::cmd::prober::{Prepared, Prober, duration, prepare, stopped};
use crate::exit::Exit;
use crate::matrix::units::Size;
use crate::model::arm::Arm;
use crate::probe::{Answer, Change, Field, Probe, Seen, Stop};
use crate::report::words::grouped;
use crate::threshold::{Outcome, Range, Search, Shape, Step};

/// Where the driver is expected to change its path, and why.
struct Prediction {
    first: u64,
    why: String,
}

impl Prediction {
    /// Whether the measured flip is the predicted one: of a coarse axis the first value that is not below it, and clean before.
    fn met(&self, shape: &Shape) -> bool {
        matches!(shape, Shape::Flip { last, first, below: Answer::Clean }
            if *last < self.first && self.first <= *first)
    }
}

pub fn threshold(args: &ThresholdArgs) -> Result<Exit, Failure> {
    let usage = |what: String| Failure::new(Exit::Usage, what);
    let (field, range) = axis(&args.axis, args.step).map_err(|why| usage(format!("{}: {why}", args.axis)))?;
    let prepared = prepare(&args.matrix, &[], &args.search)?;
    let arm = match &args.arm {
        Some(arm) => prepared.one_arm(arm)?,
        None => (prepared.planned.arms.iter().find(|arm| arm.positive_control).cloned())
            .ok_or_else(|| usage("the matrix has no positive control: which --arm?".to_owned()))?,
    };
    let question = serde_json::json!({
        "verb": "threshold", "arm": arm.id, "axis": field, "range": range, "error": args.error,
        "predict": !args.no_prediction, "target": args.search.target(),
    });
    let mut prober =
        Prober::open(&prepared, std::slice::from_ref(&arm), "threshold", &question, &args.search)?;
    let dir = prober.dir().to_owned();
    let prediction = match args.no_prediction {
        true => None,
        false => predict(&prober, &prepared, &arm, field, range)?,
    };
    match &prediction {
        Some(p) => prober.say(&format!("predict  {}={}: {}", field.name(), field.show(p.first), p.why)),
        None => prober.say("predict  nothing: no rule of the driver is known for this number"),
    }
    let mut search = Search::new(range, prediction.as_ref().map(|p| p.first), args.error);
    let outcome = match hunt(&mut search, &mut prober, &arm, field) {
        Ok(outcome) => outcome,
        Err(stop) => {
            print(&table(&search, field));
            return Err(stopped(stop, &dir));
        }
    };
    prober.conclude()?;
    print(&table(&search, field));
    print(&conclusion(&outcome, prediction.as_ref(), field));
    print(&format!("{}\n", dir.display()));
    Ok(match (&outcome.shape, &prediction) {
        (shape @ Shape::Flip { .. }, Some(prediction)) if !prediction.met(shape) => Exit::Unexpected,
        (Shape::Flip { .. }, _) => Exit::AsExpected,
        (Shape::Flat { .. }, _) => Exit::NotReproduced,
        (Shape::NotMonotone { .. } | Shape::Hidden { .. } | Shape::Untestable, _) => Exit::Inconclusive,
    })
}

/// "kernels=1..1024".
fn axis(text: &str, step: Option<u64>) -> Result<(Field, Range), String> {
    let (name, range) = text.split_once('=').ok_or("NAME=LOW..HIGH is wanted")?;
    let known = || Field::ALL.map(|(name, _)| name).join(", ");
    let field = Field::by_name(name).ok_or_else(|| format!("\"{name}\" is none of {}", known()))?;
    let (low, high) = range.split_once("..").ok_or("LOW..HIGH is wanted")?;
    let number = |text: &str| match text.trim().parse::<u64>() {
        Ok(number) => Ok(number),
        Err(_) => Size::parse(text.trim()).map(|size| size.0).ok_or(format!("\"{text}\" is no number")),
    };
    let (low, high) = (number(low)?, number(high.trim_start_matches('='))?);
    let step = step.unwrap_or(field.step());
    if !step.is_multiple_of(field.step()) || !low.is_multiple_of(field.step()) {
        return Err(format!("{} is a multiple of {}", field.name(), field.step()));
    }
    let (least, most) = field.limits();
    if low < least || high > most || high.saturating_sub(low) < step {
        return Err(format!("from {} to {}, and at least two values", field.show(least), field.show(most)));
    }
    Ok((field, Range { low, high, step }))
}

fn hunt(search: &mut Search, prober: &mut Prober, arm: &Arm, field: Field) -> Result<Outcome, Stop> {
    let mut seconds = 0.0;
    loop {
        let (value, why) = match search.next() {
            Step::Run { value, why } => (value, why),
            Step::Done(outcome) => return Ok(outcome),
        };
        let made = search.answers().get(&value).map_or(0, |t| t.testable().saturating_add(t.untestable));
        // One at a time: a second run of the same value is asked for only where it tells something.
        let seen: Vec<Seen> = match Change::Set(field, value).apply(arm) {
            Ok(changed) => prober.probe(&changed, made..made + 1)?,
            Err(reason) => return Err(Stop::Failed(reason)),
        };
        for one in &seen {
            let reason = one.reason.as_deref().and_then(|reason| reason.lines().next());
            search.record(value, one.answer);
            seconds += one.seconds;
            let left = search.runs_left();
            let time = duration(seconds / f64::from(search.runs().max(1)) * f64::from(left));
            prober.say(&format!(
                "probe    {}={}: {}{}   ({}; about {left} more, {time})",
                field.name(),
                field.show(value),
                one.answer.word(),
                reason.map(|reason| format!(" ({reason})")).unwrap_or_default(),
                why.told(),
            ));
        }
    }
}

/// The driver puts a module on the per-dispatch path if its private memory, Σ private size × hardware threads, is above its
/// global memory. Known where the device is, for numbers that change what is built.
fn predict(
    prober: &Prober,
    prepared: &Prepared,
    arm: &Arm,
    field: Field,
    range: Range,
) -> Result<Option<Prediction>, Failure> {
    if !matches!(field, Field::Kernels | Field::BatchSize) {
        return Ok(None);
    }
    let device = prepared.device_of(arm)?;
    let (Some(threads), Some(memory)) = (device.profile().map(|p| p.hw_threads()), device.global_memory())
    else {
        return Ok(None);
    };
    let of_key = arm.keys.keys.get("OverrideNumComputeUnitsForScratch").and_then(|n| n.parse().ok());
    let threads = of_key.unwrap_or(threads);
    // Private bytes of the module, of one hardware thread, with the number at `value`.
    let private = |value: u64| -> Option<u64> {
        let changed = Change::Set(field, value).apply(arm).ok()?;
        prober.build(&changed).ok()?.private_per_thread()
    };
    let text = |per_thread: u64| {
        format!(
            "{} × {} threads = {} {} {} of global memory",
            grouped(per_thread),
            threads,
            grouped(per_thread.saturating_mul(threads)),
            if per_thread.saturating_mul(threads) > memory { ">" } else { "≤" },
            grouped(memory)
        )
    };
    if field == Field::Kernels {
        // Every private-memory kernel of the module has the same size: two builds that are small give it.
        let (low, more) = (range.low, range.low + 1);
        let (Some(a), Some(b)) = (private(low), private(more)) else { return Ok(None) };
        let (Some(each), rest) = (b.checked_sub(a).filter(|each| *each > 0), a) else { return Ok(None) };
        let Some(room) = (memory / threads).checked_sub(rest) else { return Ok(None) };
        let first = low + room / each + 1;
        let total = rest + (first - low) * each;
        return Ok(Some(Prediction {
            first,
            why: format!("{} B of private memory a kernel and thread; {}", grouped(each), text(total)),
        }));
    }
    // The private size is whatever the compiler makes of the number: halve, by builds alone.
    let over = |value: u64| private(value).map(|per_thread| per_thread.saturating_mul(threads) > memory);
    let (mut below, mut above) = (0, (range.high - range.low) / range.step);
    if over(range.low) != Some(false) || over(range.low + above * range.step) != Some(true) {
        return Ok(None);
    }
    while above - below > 1 {
        let middle = below + (above - below) / 2;
        match over(range.low + middle * range.step) {
            Some(true) => above = middle,
            Some(false) => below = middle,
            None => return Ok(None),
        }
    }
    let first = range.low + above * range.step;
    Ok(private(first).map(|per_thread| Prediction { first, why: text(per_thread) }))
}

fn table(search: &Search, field: Field) -> String {
    let mut out = String::new();
    for (value, tally) in search.answers() {
        let without =
            if tally.untestable > 0 { format!(", {} untestable", tally.untestable) } else { String::new() };
        // Writing to a String cannot fail.
        let _ = writeln!(
            out,
            "  {}={:<10} corrupt {}/{}{without}",
            field.name(),
            field.show(*value),
            tally.corrupt,
            tally.testable()
        );
    }
    out
}

fn conclusion(outcome: &Outcome, prediction: Option<&Prediction>, field: Field) -> String {
    let show = |value: u64| format!("{}={}", field.name(), field.show(value));
    let mut out = match &outcome.shape {
        Shape::Flip { last, first, below } => format!(
            "measured    {} up to {}, the other way from {} on ({} runs)\n",
            below.word(),
            show(*last),
            show(*first),
            outcome.runs
        ),
        Shape::Hidden { last, first, below } => format!(
            "measured    {} at {}, the other way at {}; nothing between can be tested ({} runs)\n",
            below.word(),
            show(*last),
            show(*first),
            outcome.runs
        ),
        Shape::Flat { answer } => {
            format!("no flip: {} at every value that was run ({} runs)\n", answer.word(), outcome.runs)
        }
        Shape::NotMonotone { period } => {
            let repeats = period.map_or("no period fits the values that were run".to_owned(), |period| {
                format!("it repeats with a period of {}", field.show(period))
            });
            format!("not monotone: the verdict flips more than once; {repeats} ({} runs)\n", outcome.runs)
        }
        Shape::Untestable => format!("no value could be tested ({} runs)\n", outcome.runs),
    };
    if let Some(prediction) = prediction {
        let fits = match &outcome.shape {
            shape if prediction.met(shape) => ": as measured",
            Shape::Flip { .. } => ": NOT as measured",
            _ => "",
        };
        let _ = writeln!(out, "predicted   {}{fits}   ({})", show(prediction.first), prediction.why);
    }
    out
}
