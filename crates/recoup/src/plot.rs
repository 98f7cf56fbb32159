//! `recoup plot`.

use crate::output::{Format, Output, format_of_output, format_parser, unknown_ending};
use crate::{Failure, console};
use clap::ValueEnum;
use recoup_draw::sequence::Diagram;
use recoup_lab::diagram::source::{Choice, Source, SourceError, read};
use recoup_lab::output_file::same_file;
use recoup_lab::quantity::parse_duration;
use recoup_units::{Direction, Instant};
use std::fs::File;
use std::path::{Path, PathBuf};

/// The formats of drawings.
const FORMATS: &[Format] = &[Format::Svg, Format::Xpl];

#[derive(clap::Args)]
pub struct Args {
    /// Events (JSON lines of `recoup run --events`, each at most 1 MiB long) or a capture (pcap,
    /// pcapng); - for standard input
    file: PathBuf,
    /// Write the drawing to this file; - for standard output
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    output: PathBuf,
    /// Format of the drawing [default: by the ending of --output, .svg or .xpl; else svg]
    #[arg(long, value_parser = format_parser(FORMATS))]
    format: Option<Format>,
    /// Draw this profile of the events [default: all, one panel per profile]
    #[arg(long, value_name = "PROFILE")]
    profile: Option<String>,
    /// Draw this flow of the events, counted from 0 [default: the only one]
    #[arg(long, value_name = "N")]
    flow: Option<u64>,
    /// Draw this connection of the capture, counted from 0 [default: the only one with data]
    #[arg(long, value_name = "N")]
    connection: Option<usize>,
    /// Direction of the data to draw [default: the one with more data]
    #[arg(long, value_enum)]
    direction: Option<Way>,
    /// Start the drawing at this time, such as 80ms, counted from the flow's first packet
    #[arg(long, value_name = "TIME", value_parser = instant)]
    from: Option<Instant>,
    /// End the drawing at this time, such as 1.5s
    #[arg(long, value_name = "TIME", value_parser = instant)]
    to: Option<Instant>,
    /// Title of the drawing [default: what it shows]
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Way {
    /// From client to server
    Up,
    /// From server to client
    Down,
}

fn instant(text: &str) -> Result<Instant, String> {
    parse_duration(text).map(|after| Instant::ZERO + after)
}

pub fn run(args: &Args) -> Result<(), Failure> {
    let format = format(args)?;
    let input = match args.file == Path::new("-") {
        true => Path::new("/dev/stdin"),
        false => &args.file,
    };
    if args.output != Path::new("-") && same_file(input, &args.output) {
        let (output, input) = (args.output.display(), name(&args.file));
        return Err(Failure::Wrong(format!(
            "cannot write `{output}`: it is {input}, which is read"
        )));
    }
    if let (Some(from), Some(to)) = (args.from, args.to)
        && from >= to
    {
        return Err(Failure::Wrong("--from must be before --to".into()));
    }
    let Source {
        title,
        panels,
        notes,
    } = load(args)?;
    for note in notes {
        console::note(format_args!("{}: {note}", name(&args.file)));
    }
    let diagram = Diagram {
        title: args.title.clone().unwrap_or(title),
        panels,
        from: args.from,
        to: args.to,
    };
    if diagram.is_blank() {
        return Err(nothing_to_draw(args, diagram));
    }
    let text = match (format, diagram.panels.len()) {
        (Format::Xpl, 0 | 1) => diagram.to_xplot(0).unwrap_or_default(),
        (Format::Xpl, _) => {
            let names: Vec<&str> = diagram.panels.iter().map(|p| p.title.as_str()).collect();
            return Err(Failure::Wrong(format!(
                "an .xpl file holds one panel: choose one with --profile, of {}",
                names.join(", ")
            )));
        }
        _ => diagram.to_svg(),
    };
    Output::create(&args.output)?.write(|out| out.write_all(text.as_bytes()))
}

/// Why a drawing has no data: none in the time asked for, or none in the direction asked for.
fn nothing_to_draw(args: &Args, mut diagram: Diagram) -> Failure {
    (diagram.from, diagram.to) = (None, None);
    let file = name(&args.file);
    let why = match diagram.extent() {
        Some((first, last)) => format!(
            "there is data from {} to {}, none of it in the time given by --from and --to",
            milliseconds(first),
            milliseconds(last)
        ),
        None => match args.direction {
            Some(Way::Up) => "no data goes from client to server (--direction up)".into(),
            Some(Way::Down) => "no data goes from server to client (--direction down)".into(),
            None => "no data goes either way".into(),
        },
    };
    Failure::Wrong(format!("{file}: nothing to draw: {why}"))
}

/// A time as `--from` takes it.
fn milliseconds(at: Instant) -> String {
    let micros = at.as_nanos() / 1000;
    format!("{}.{:03}ms", micros / 1000, micros % 1000)
}

/// The format of `--format`, or else of the output file's ending.
fn format(args: &Args) -> Result<Format, Failure> {
    let has_ending = args.output == Path::new("-") || args.output.extension().is_some();
    match args.format {
        Some(format) => Ok(format),
        None if has_ending => format_of_output(&args.output, FORMATS, Format::Svg),
        None => Err(unknown_ending(&args.output, FORMATS)),
    }
}

/// The name of an input in messages.
fn name(file: &Path) -> String {
    match file == Path::new("-") {
        true => "<standard input>".into(),
        false => file.display().to_string(),
    }
}

fn load(args: &Args) -> Result<Source, Failure> {
    let choice = Choice {
        profile: args.profile.clone(),
        flow: args.flow,
        connection: args.connection,
        direction: args.direction.map(|way| match way {
            Way::Up => Direction::Up,
            Way::Down => Direction::Down,
        }),
    };
    let name = name(&args.file);
    let source = if args.file == Path::new("-") {
        read(&name, std::io::stdin(), &choice)
    } else {
        File::open(&args.file)
            .map_err(|source| SourceError::Unreadable {
                file: name.clone(),
                source,
            })
            .and_then(|file| read(&name, file, &choice))
    };
    source
        .inspect_err(|e| {
            if let SourceError::Choice { list, .. } = e {
                list.iter().for_each(|line| eprintln!("{line}"));
            }
        })
        .map_err(Failure::from)
}
