//! `repro-matrix parse`: a log file in, JSON facts out.

use std::io::{self, IsTerminal, Write};

use serde::Serialize;

use crate::cli::parse::{LogFormat, LogStream, ParseArgs};
use crate::cmd::Failure;
use crate::exit::Exit;
use crate::logs::kmsg::{self, Span};
use crate::logs::lines::LineSink;
use crate::logs::neo::{self, Stream};
use crate::logs::{input, runtime, strace, xe_trace, ze_api};
use crate::observe::sim;

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
            read(args, &mut sink)?;
            print(args, &sink.parser.finish())
        }
        LogFormat::Strace => {
            let mut sink = strace::Parser::default();
            read(args, &mut sink)?;
            print(args, &sink.finish())
        }
        LogFormat::Kmsg => {
            let monotonic = (args.from.is_some() || args.until.is_some())
                .then(|| Span { from: args.from.unwrap_or(0), until: args.until.unwrap_or(u64::MAX) });
            let options = kmsg::Options { monotonic, device: args.device.clone(), ..Default::default() };
            let mut sink = kmsg::Parser::new(options);
            read(args, &mut sink)?;
            print(args, &sink.finish())
        }
        LogFormat::Runtime => {
            let mut sink = runtime::Parser::default();
            read(args, &mut sink)?;
            print(args, &sink.finish())
        }
        LogFormat::ZeApi => {
            let mut sink = ze_api::Parser::default();
            read(args, &mut sink)?;
            print(args, &sink.finish())
        }
        LogFormat::XeTrace => {
            let mut sink = xe_trace::Parser::new(args.device.as_deref());
            read(args, &mut sink)?;
            print(args, &sink.finish())
        }
        LogFormat::Sim => {
            let mut sink = sim::Parser::new(sim::Known::default());
            read(args, &mut sink)?;
            let facts = sink.finish().map_err(|error| {
                Failure::new(Exit::IncompatibleRecording, format_args!("{}: {error}", args.file.display()))
            })?;
            print(args, &facts)
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
        return Ok(());
    };
    Err(Failure::new(Exit::Usage, wrong))
}

fn read(args: &ParseArgs, sink: &mut impl LineSink) -> Result<(), Failure> {
    let name = args.file.display();
    let source = input::open(&args.file)
        .map_err(|error| Failure::new(Exit::Usage, format_args!("cannot read {name}: {error}")))?;
    input::feed(source, sink).map_err(|error| {
        Failure::new(Exit::IncompatibleRecording, format_args!("{name} is damaged: {error}"))
    })
}

fn print(args: &ParseArgs, facts: &impl Serialize) -> Result<Exit, Failure> {
    let mut out = io::stdout().lock();
    let pretty = args.pretty || (!args.json && out.is_terminal());
    let json = if pretty { serde_json::to_string_pretty(facts) } else { serde_json::to_string(facts) };
    let json = json.map_err(|error| Failure::new(Exit::Internal, format_args!("facts to JSON: {error}")))?;
    match writeln!(out, "{json}").and_then(|()| out.flush()) {
        // The reader has seen enough.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(Exit::AsExpected),
        Err(error) => Err(Failure::new(Exit::CannotRecord, format_args!("cannot write the facts: {error}"))),
        Ok(()) => Ok(Exit::AsExpected),
    }
}
