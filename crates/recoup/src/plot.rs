//! `recoup plot`.

use crate::Failure;
use crate::output::print;
use clap::ValueEnum;
use recoup_draw::sequence::Diagram;
use recoup_lab::diagram::source::{Choice, Source, SourceError, read};
use recoup_lab::output_file::{OutputFile, same_file};
use recoup_lab::quantity::parse_duration;
use recoup_units::{Direction, Instant};
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
pub struct Args {
    /// Events (JSON lines of `recoup run --events`) or a capture (pcap, pcapng); - for standard
    /// input
    file: PathBuf,
    /// Write the drawing to this file, whose ending tells the format; - for standard output
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    output: PathBuf,
    /// What to draw [default: as the output's ending says, else svg]
    #[arg(long, value_enum)]
    format: Option<Format>,
    /// Of events: the profile to draw; all, a panel each, when there are several and none is named
    #[arg(long, value_name = "PROFILE")]
    profile: Option<String>,
    /// Of events: the flow to draw, from 0; needed when there are several
    #[arg(long, value_name = "N")]
    flow: Option<u64>,
    /// Of a capture: the connection to draw, from 0; needed when several carry data
    #[arg(long, value_name = "N")]
    connection: Option<usize>,
    /// Whose data to draw: up is from client to server [default: the direction with more]
    #[arg(long, value_enum)]
    direction: Option<Way>,
    /// Leave out what comes before, as in 80ms; time 0 is the flow's first packet
    #[arg(long, value_name = "TIME", value_parser = instant)]
    from: Option<Instant>,
    /// Leave out what comes after
    #[arg(long, value_name = "TIME", value_parser = instant)]
    to: Option<Instant>,
    /// What stands above the picture [default: what it shows]
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// A picture
    Svg,
    /// A file for xplot and xplot.org
    Xpl,
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
        eprintln!("recoup: note: {}: {note}", name(&args.file));
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
        (Format::Svg, _) => diagram.to_svg(),
        (Format::Xpl, 0 | 1) => diagram.to_xplot(0).unwrap_or_default(),
        (Format::Xpl, _) => {
            let names: Vec<&str> = diagram.panels.iter().map(|p| p.title.as_str()).collect();
            return Err(Failure::Wrong(format!(
                "an .xpl file holds one panel: choose one with --profile, of {}",
                names.join(", ")
            )));
        }
    };
    if args.output == Path::new("-") {
        return print(&text);
    }
    let mut file = OutputFile::create(&args.output)?;
    file.write_all(text.as_bytes())
        .map_err(|e| Failure::Wrong(format!("cannot write `{}`: {e}", args.output.display())))?;
    Ok(file.publish()?)
}

/// What a picture without data is refused with: the time that has some, or else whose data it is
/// that there is none of.
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

/// What `--format` says, or else the output's ending.
fn format(args: &Args) -> Result<Format, Failure> {
    let named = args.format.or_else(|| {
        let ending = args.output.extension()?.to_str()?;
        Format::from_str(ending, true).ok()
    });
    let default = (args.output == Path::new("-")).then_some(Format::Svg);
    named.or(default).ok_or_else(|| {
        Failure::Wrong(format!(
            "--output {}: expected a name that ends in .svg or .xpl, or --format",
            args.output.display()
        ))
    })
}

/// What messages call an input.
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
