//! `recoup plot`.

pub mod call;

use crate::commands::captures::{CaptureBar, end_with, until_interrupted};
use crate::commands::plot::call::{Drawing, PlotError, Request, draw};
use crate::output::{Format, OUTPUT, Output, check_terminal, format_of_output, format_parser, unknown_ending};
use crate::{Failure, console};
use clap::ValueEnum;
use recoup_captures::capture::Input;
use recoup_captures::diagram::source::{Choice, Directions, SourceError};
use recoup_captures::filter::Filter;
use recoup_draw::look::{Look, NoWidth, Theme, Width};
use recoup_draw::render::{to_pdf, to_png};
use recoup_draw::sequence::Diagram;
use recoup_support::output_file::Files;
use recoup_support::quantity::parse_duration;
use recoup_trace::analyze::{ConnectionFilter, Settings};
use recoup_units::{Direction, Instant};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The formats of drawings.
pub const FORMATS: &[Format] = &[Format::Svg, Format::Png, Format::Pdf, Format::Xpl];

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Events (JSON lines of `recoup run --events`, each at most 1 MiB long) or a capture (pcap, pcapng;
    /// plain, gzip or zstd); - for standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Draw a connection of several files that are one capture, as of `recoup analyze --join`
    #[arg(long)]
    join: bool,
    /// Write the drawing to this file; - for standard output
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    output: PathBuf,
    /// Format of the drawing [default: by the ending of --output, .svg, .png, .pdf or .xpl; else svg]
    #[arg(long, value_parser = format_parser(FORMATS))]
    format: Option<Format>,
    /// Draw this profile of the events [default: all, one panel per profile]
    #[arg(long, value_name = "PROFILE")]
    profile: Option<String>,
    /// Draw this flow of the events, counted from 0 [default: the only one]
    #[arg(long, value_name = "N")]
    flow: Option<u64>,
    /// Draw this connection of the capture, counted from 0 as `recoup analyze` does [default: the only
    /// one with data]
    #[arg(long, value_name = "N")]
    connection: Option<u64>,
    /// Look only at these connections of the capture: an expression of tcpdump, as of `recoup analyze
    /// --filter`. Connections keep their numbers
    #[arg(long, value_name = "EXPRESSION", allow_hyphen_values = true)]
    filter: Option<Filter>,
    /// Direction of the data to draw [default: each direction with data or retransmissions, a panel
    /// each; in an .xpl file and of several profiles, the one with more]
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
    /// Width of the drawing in px, mm, cm, in or pt. Text keeps its size (9 to 10 pt), whatever the width. A
    /// PNG has as many dots as px, or else 300 dots an inch
    #[arg(long, value_name = "WIDTH", default_value = "900px", value_parser = width)]
    width: Width,
    /// Colours of the drawing
    #[arg(long, value_enum, default_value = "light")]
    theme: Themes,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Themes {
    /// Dark on white
    Light,
    /// Light on near black
    Dark,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Way {
    /// From client to server
    Up,
    /// From server to client
    Down,
    /// Both, a panel each
    Both,
}

fn width(text: &str) -> Result<Width, NoWidth> {
    text.parse()
}

fn instant(text: &str) -> Result<Instant, String> {
    parse_duration(text).map(|after| Instant::ZERO + after)
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let format = format(args)?;
    if let (Some(from), Some(to)) = (args.from, args.to)
        && from >= to
    {
        return Err(Failure::Wrong("--from must be before --to".into()));
    }
    let filter = args.filter.clone();
    let settings =
        Settings { filter: filter.map(|filter| Arc::new(filter) as Arc<dyn ConnectionFilter>), ..Settings::default() };
    let request = Request {
        input: input(args)?,
        choice: Choice {
            profile: args.profile.clone(),
            flow: args.flow,
            connection: args.connection,
            directions: directions(args.direction, format),
        },
        settings: &settings,
        title: args.title.clone(),
        from: args.from,
        to: args.to,
    };
    let look = Look {
        width: args.width,
        theme: match args.theme {
            Themes::Light => Theme::Light,
            Themes::Dark => Theme::Dark,
        },
    };
    plot(&request, format, &look, &mut Files::reading(&args.files), &args.output)
}

fn input(args: &Args) -> Result<Input<'_>, Failure> {
    match args.files.as_slice() {
        files if args.join => Ok(Input::Joined(files)),
        file @ [_] => Ok(Input::Each(file)),
        _ => Err(Failure::Wrong("expected one file, or --join".into())),
    }
}

/// An .xpl file holds one panel.
fn directions(chosen: Option<Way>, format: Format) -> Directions {
    match (chosen, format) {
        (Some(Way::Up), _) => Directions::Only(Direction::Up),
        (Some(Way::Down), _) => Directions::Only(Direction::Down),
        (Some(Way::Both), _) => Directions::Both,
        (None, Format::Xpl) => Directions::Main,
        (None, _) => Directions::All,
    }
}

/// Draws what was asked for, as far as it was read before an interrupt, and writes it to `output`.
pub fn plot(
    request: &Request<'_>,
    format: Format,
    look: &Look,
    files: &mut Files,
    output: &Path,
) -> Result<(), Failure> {
    if output == Path::new("-") {
        check_terminal(format)?;
    }
    let output = Output::create(files, OUTPUT, output)?;
    let (drawing, interrupted) = until_interrupted(|| draw(request, &CaptureBar::new(false)));
    let written = match drawing {
        Ok(drawing) => write(drawing, format, look, output),
        Err(error) => {
            print_choices(&error);
            Err(error.into())
        }
    };
    end_with(written, interrupted)
}

fn write(drawing: Drawing, format: Format, look: &Look, output: Output) -> Result<(), Failure> {
    let Drawing { name, diagram, notes } = drawing;
    for note in notes {
        console::note(format_args!("{name}: {note}"));
    }
    let picture = picture(&diagram?, format, look)?;
    output.write(|out| out.write_all(&picture))
}

fn picture(diagram: &Diagram, format: Format, look: &Look) -> Result<Vec<u8>, Failure> {
    match (format, diagram.panels.len()) {
        (Format::Xpl, 0 | 1) => Ok(diagram.to_xplot(0).unwrap_or_default().into_bytes()),
        (Format::Xpl, _) => {
            let names: Vec<&str> = diagram.panels.iter().map(|p| p.title.as_str()).collect();
            Err(Failure::Wrong(format!(
                "an .xpl file holds one panel: choose one with --profile and --direction, of {}",
                names.join(", ")
            )))
        }
        (Format::Png, _) => Ok(to_png(&diagram.to_svg_as(look), look)?),
        (Format::Pdf, _) => Ok(to_pdf(&diagram.to_svg_as(look))?),
        _ => Ok(diagram.to_svg_as(look).into_bytes()),
    }
}

/// Prints what there is to choose from, before the error that asks for a choice.
fn print_choices(error: &PlotError) {
    if let PlotError::Source(SourceError::Choice { file, list, notes, .. }) = error {
        for note in notes {
            console::note(format_args!("{file}: {note}"));
        }
        list.iter().for_each(|line| console::plain(line));
    }
}

/// The format of `--format`, or else of the output file's ending.
fn format(args: &Args) -> Result<Format, Failure> {
    let has_ending = args.output == Path::new("-") || args.output.extension().is_some();
    match args.format {
        Some(format) => Ok(format),
        None if has_ending => format_of_output(&args.output, FORMATS, Format::Svg),
        None => Err(unknown_ending("--output", &args.output, FORMATS)),
    }
}
