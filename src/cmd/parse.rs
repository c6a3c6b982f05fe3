//! `repro-matrix parse`: a log file in, JSON facts out.

use std::io::{self, IsTerminal};

use serde::Serialize;

use crate::cli::parse::{LogFormat, LogStream, ParseArgs};
use crate::cmd::Failure;
use crate::exit::Exit;
use crate::logs::kmsg::{self, Span};
use crate::logs::lines::LineSink;
use crate::logs::neo::{self, Stream};
use crate::logs::{input, runtime, strace, xe_trace, ze_api};
use crate::model::facts::RuntimeFacts;
use crate::observe::sim;
use crate::report::words::plural;

pub fn parse(args: &ParseArgs) -> Result<Exit, Failure> {
    refuse_misplaced_options(args)?;
    match args.format {
        LogFormat::Neo => {
            let stream = match args.stream {
                Some(LogStream::Stdout) => Stream::Stdout,
                Some(LogStream::Stderr) => Stream::Stderr,
                None => Stream::Mixed,
            };
            let mut sink = neo::OneStream { parser: neo::Parser::default(), stream };
            let lines = read(args, &mut sink)?;
            let foreign = sink.parser.foreign();
            print(args, &sink.parser.finish(), lines, Some(foreign))
        }
        LogFormat::Strace => {
            let mut sink = strace::Parser::default();
            let lines = read(args, &mut sink)?;
            let facts = sink.finish();
            // A stack trace is one of calls.
            let nothing = facts.not_understood + facts.frames >= lines;
            print(args, &facts, lines, Some(if nothing { lines } else { facts.not_understood }))
        }
        LogFormat::Kmsg => {
            let monotonic = (args.from.is_some() || args.until.is_some())
                .then(|| Span { from: args.from.unwrap_or(0), until: args.until.unwrap_or(u64::MAX) });
            let options = kmsg::Options { monotonic, device: args.device.clone(), ..Default::default() };
            let mut sink = kmsg::Parser::new(options);
            let lines = read(args, &mut sink)?;
            let foreign = sink.foreign();
            print(args, &sink.finish(), lines, Some(foreign))
        }
        LogFormat::Runtime => {
            let mut sink = runtime::Parser::default();
            let lines = read(args, &mut sink)?;
            let facts = sink.finish();
            // It looks for a few messages in what a program prints, and takes no note of the rest.
            let nothing = facts == RuntimeFacts { lines: facts.lines, ..RuntimeFacts::default() };
            print(args, &facts, lines, nothing.then_some(lines))
        }
        LogFormat::ZeApi => {
            let mut sink = ze_api::Parser::default();
            let lines = read(args, &mut sink)?;
            let foreign = sink.foreign();
            print(args, &sink.finish(), lines, Some(foreign))
        }
        LogFormat::XeTrace => {
            let mut sink = xe_trace::Parser::new(args.device.as_deref());
            let lines = read(args, &mut sink)?;
            let facts = sink.finish();
            // Comments are understood, and stand in front of any text.
            let nothing = facts.events.is_empty() && facts.other_device == 0 && facts.entries.is_none();
            print(args, &facts, lines, Some(if nothing { lines } else { facts.not_understood }))
        }
        LogFormat::Sim => {
            let mut sink = sim::Parser::new(sim::Known::default());
            let lines = read(args, &mut sink)?;
            let facts = sink.finish().map_err(|error| {
                Failure::with_help(
                    Exit::IncompatibleRecording,
                    format_args!("{}: {error}", args.file.display()),
                    like(args.format),
                )
            })?;
            print(args, &facts, lines, None)
        }
    }
}

fn refuse_misplaced_options(args: &ParseArgs) -> Result<(), Failure> {
    let of_device = matches!(args.format, LogFormat::Kmsg | LogFormat::XeTrace);
    let misplaced = args.device.is_some() && !of_device
        || (args.from.is_some() || args.until.is_some()) && args.format != LogFormat::Kmsg;
    let wrong = if args.stream.is_some() && args.format != LogFormat::Neo {
        "--stream goes with `parse neo`"
    } else if misplaced {
        "--device, --from and --until go with `parse kmsg` (--device also with `parse xe-trace`)"
    } else {
        return match (args.from, args.until) {
            (Some(from), Some(until)) if from >= until => {
                Err(Failure::new(Exit::Usage, "--from is not before --until: no record can lie between them"))
            }
            _ => Ok(()),
        };
    };
    Err(Failure::new(Exit::Usage, wrong))
}

/// Counts the lines that are not blank on their way.
struct Counted<'a, S>(&'a mut S, u64);

impl<S: LineSink> LineSink for Counted<'_, S> {
    fn line(&mut self, line: &[u8]) {
        self.1 += u64::from(!line.trim_ascii().is_empty());
        self.0.line(line);
    }

    fn cut(&mut self) {
        self.0.cut();
    }
}

/// Gives the file to the sink, and how many of its lines are not blank.
fn read(args: &ParseArgs, sink: &mut impl LineSink) -> Result<u64, Failure> {
    let name = args.file.display();
    let source = input::open(&args.file)
        .map_err(|error| Failure::new(Exit::Usage, format_args!("cannot read {name}: {error}")))?;
    let mut counted = Counted(sink, 0);
    input::feed(source, &mut counted).map_err(|error| {
        Failure::new(Exit::IncompatibleRecording, format_args!("{name} is damaged: {error}"))
    })?;
    Ok(counted.1)
}

/// Prints the facts with the number of lines that are of no such log, where that is known. If all are, the facts say
/// nothing of what the log's writer did: no success.
fn print(
    args: &ParseArgs,
    facts: &impl Serialize,
    lines: u64,
    foreign: Option<u64>,
) -> Result<Exit, Failure> {
    let bad = |error| Failure::new(Exit::Internal, format_args!("facts to JSON: {error}"));
    let mut facts = serde_json::to_value(facts).map_err(bad)?;
    if let (Some(foreign), Some(fields)) = (foreign, facts.as_object_mut()) {
        fields.insert("foreign_lines".to_owned(), foreign.into());
    }
    let pretty = args.pretty || (!args.json && io::stdout().is_terminal());
    let json = if pretty { serde_json::to_string_pretty(&facts) } else { serde_json::to_string(&facts) };
    super::say::print(&format!("{}\n", json.map_err(bad)?))?;
    let name = args.file.display();
    if lines == 0 {
        // A log in which nothing happened, or one that was not written.
        super::say::note(format_args!("note: {name} has no line: the facts say nothing"));
    } else if foreign == Some(lines) {
        return Err(Failure::with_help(
            Exit::IncompatibleRecording,
            format_args!(
                "{name}: nothing was recognised: none of its {} is of such a log",
                plural(lines as usize, "line")
            ),
            like(args.format),
        ));
    }
    Ok(Exit::AsExpected)
}

/// What a line of such a log looks like, for who gave another one.
fn like(format: LogFormat) -> String {
    let line = match format {
        LogFormat::Neo => {
            "bind BO-15 to VM 1, vmHandleId = 0, range: ffffd556aaa00000 - ffffd556b0300000, size: 93323264, result: 0"
        }
        LogFormat::Strace => {
            "ioctl(3, DRM_IOCTL_XE_VM_BIND, 0x7ffc21a0) = -1 EPERM (Operation not permitted)"
        }
        LogFormat::Kmsg => "[ 7002.114300] xe 0000:03:00.0: [drm] GT0: Engine reset: engine_class=ccs",
        LogFormat::Runtime => "Native API failed. Native API returns: 20 (UR_RESULT_ERROR_DEVICE_LOST)",
        LogFormat::Sim => r#"{"seq":2,"t":12034,"ev":"open",…}, written by `repro-matrix sim --trace FILE`"#,
        LogFormat::ZeApi => "[2026-11-29 20:18:28.351] [thread-id: 1398] [trace] zeInit(flags)",
        LogFormat::XeTrace => {
            "app-4711 [003] ..... 41.000000: xe_vma_bind: dev=0000:09:00.0, vma=1, vm=2, asid=0x00012, \
             start=0xd556aaa00000, end=0xd556b02fffff, userptr=0x000000000000"
        }
    };
    format!("a line of such a log looks like this: {line}")
}
