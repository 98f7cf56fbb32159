//! `recoup tmix`.

use crate::commands::captures::{CaptureBar, OneCapture, end, until_interrupted, write_text};
use crate::output::{OUTPUT, Output};
use crate::{Failure, console};
use clap::{Subcommand, ValueEnum};
use recoup_captures::filter::Filter;
use recoup_captures::tmix;
use recoup_sim::traffic::cvec::{self, ConnectionVector};
use recoup_sim::traffic::synth::{self, QUANTITIES, Synth};
use recoup_support::output_file::Files;
use recoup_support::quantity::{format_duration, parse_duration};
use recoup_trace::analyze::ConnectionFilter;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

const HELP: &str = "\
A connection vector says what the applications of a connection wrote, and when: requests,
responses and think times, apart from the network they had. A world replays them elsewhere:

  recoup tmix extract server.pcap -o mine.cvec     # what the applications in a capture did
  recoup tmix synth --rate 20 -o synth.cvec        # or a synthetic mix
  recoup run mine.toml                             # a world with tmix = \"mine.cvec\" in a workload

docs/tmix.md describes the formats, how vectors are extracted, and the synthetic mix.

Exit status: 0 written; 2 wrong use, or a capture that cannot be read.";

#[derive(clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Make connection vectors from a capture
    Extract(Extract),
    /// Make a synthetic mix of connections
    Synth(SynthArgs),
}

#[derive(clap::Args)]
struct Extract {
    #[command(flatten)]
    capture: OneCapture,
    /// Take only these connections: an expression of tcpdump, such as 'net 10.0.0.0/8 and port 443'
    #[arg(long, value_name = "EXPRESSION", allow_hyphen_values = true)]
    filter: Option<Filter>,
    #[command(flatten)]
    written: Written,
}

#[derive(clap::Args)]
struct SynthArgs {
    /// Seed of everything random
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Connections that begin in a second, on average
    #[arg(long, value_name = "N", default_value = "10", value_parser = rate, allow_hyphen_values = true)]
    rate: f64,
    /// The time in which they begin
    #[arg(long, value_name = "TIME", default_value = "10min", value_parser = duration, allow_hyphen_values = true)]
    duration: Duration,
    #[command(flatten)]
    written: Written,
}

/// How vectors are written, and where.
#[derive(clap::Args)]
struct Written {
    /// Which of ns-2's formats: the older one (SEQ, CONC), or the newer one (S, C)
    #[arg(long, value_enum, default_value_t = Format::Alternate)]
    format: Format,
    /// Write the vectors to this file; - for standard output
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    output: PathBuf,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// SEQ and CONC
    Original,
    /// S and C, which say what each unit of data waits for
    Alternate,
}

const INTERRUPTED: &str = "interrupted: the vectors are those of the packets read so far";

fn rate(text: &str) -> Result<f64, String> {
    let rate = text.parse().ok().filter(|rate| (1e-3..=1e5).contains(rate));
    rate.ok_or_else(|| "expected a number of connections a second, from 0.001 to 100000".into())
}

fn duration(text: &str) -> Result<Duration, String> {
    let duration = parse_duration(text).map_err(|e| e.to_string())?;
    match duration.is_zero() {
        true => Err("expected a time above 0".into()),
        false => Ok(duration),
    }
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    match &args.command {
        Command::Extract(args) => extract(args),
        Command::Synth(args) => synthesize(args),
    }
}

fn extract(args: &Extract) -> Result<(), Failure> {
    let input = args.capture.input()?;
    let output = Output::create(&mut args.capture.files(&[]), OUTPUT, &args.written.output)?;
    let bar = CaptureBar::new(false);
    let filter = args.filter.as_ref().map(|filter| filter as &dyn ConnectionFilter);
    let (extraction, interrupted) =
        until_interrupted(|| input.first(&bar, |capture| tmix::extract(capture, filter, &bar)));
    let extraction = extraction?;
    if interrupted {
        console::note(INTERRUPTED);
    }
    let name = args.capture.display_name();
    for note in &extraction.notes {
        console::note(format_args!("{name}: {note}"));
    }
    for (count, one, several) in [
        (
            extraction.without_handshake,
            "1 connection is left out: its handshake is not in the capture",
            "connections are left out: their handshake is not in the capture",
        ),
        (
            extraction.open_at_end,
            "1 connection was still open: its vector ends with the capture",
            "connections were still open: their vectors end with the capture",
        ),
    ] {
        match count {
            0 => {}
            1 => console::note(format_args!("{name}: {one}")),
            _ => console::note(format_args!("{name}: {count} {several}")),
        }
    }
    let count = extraction.vectors.len();
    let mut about = format!("# {count} connections extracted from {name}\n");
    if interrupted {
        about += &format!("# {INTERRUPTED}\n");
    }
    write(about, &extraction.vectors, &args.written, output)?;
    end(interrupted, false)
}

fn synthesize(args: &SynthArgs) -> Result<(), Failure> {
    let &SynthArgs { seed, rate, duration, .. } = args;
    if rate * duration.as_secs_f64() > synth::MOST {
        let line = "--rate times --duration: expected at most 1,000,000 connections";
        return Err(Failure::Wrong(line.into()));
    }
    let output = Output::create(&mut Files::default(), OUTPUT, &args.written.output)?;
    let vectors = Synth { seed, rate, duration }.vectors();
    let mut about =
        format!("# {} connections, {rate} a second for {}, seed {seed}\n", vectors.len(), format_duration(duration));
    for (quantity, distribution, source) in QUANTITIES {
        // Writing to a string does not fail.
        let _ = writeln!(about, "# {quantity}: {distribution} ({source})");
    }
    write(about, &vectors, &args.written, output)
}

fn write(mut text: String, vectors: &[ConnectionVector], written: &Written, output: Output) -> Result<(), Failure> {
    let format = match written.format {
        Format::Original => cvec::Format::Original,
        Format::Alternate => cvec::Format::Alternate,
    };
    for vector in vectors {
        cvec::write(vector, format, &mut text);
    }
    write_text(output, &text)?;
    if written.output != Path::new("-") {
        console::status(format_args!("wrote {}", written.output.display()));
    }
    Ok(())
}
