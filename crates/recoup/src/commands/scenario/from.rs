//! `recoup scenario from`.

use crate::analysis_args::AnalysisArgs;
use crate::commands::captures::{CaptureBar, OneCapture, until_interrupted, write_text};
use crate::output::{OUTPUT, Output};
use crate::{Failure, console, interrupt};
use recoup_captures::whatif::infer_scenario;
use recoup_units::visible;
use std::path::PathBuf;

const HELP: &str = "\
Examples:
  recoup scenario from server.pcap -o mine.toml    # infer a scenario from a capture at the server
  recoup run mine.toml                             # simulate it
  recoup run mine.toml --profile linux-6 --profile linux-6+tlpr --set rtt=120ms
  recoup scenario from server.pcap -o mine.toml --loss-trace mine.loss
  recoup run mine.toml --set drop=trace:mine.loss  # the recorded losses in place of a loss model
  recoup scenario from server.pcap --filter 'host 198.51.100.7' | recoup run -

The connections have to be captured at (or near) the end that sends most data. A scenario has one value
of each setting for all its flows, so each is the typical one. Comments in the file say where each value
comes from, and how far the connections spread. docs/scenarios.md says how it is inferred.

Exit status: 0 inferred; 2 wrong use, a capture that cannot be read, or nothing to infer.";

#[derive(clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct Args {
    #[command(flatten)]
    capture: OneCapture,
    #[command(flatten)]
    analysis: AnalysisArgs,
    /// Write the scenario to this file; - for standard output
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    output: PathBuf,
    /// Write which of the sender's packets were lost to this file, for `recoup run mine.toml --set drop=trace:FILE`
    #[arg(long, value_name = "FILE")]
    loss_trace: Option<PathBuf>,
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let input = args.capture.input()?;
    let settings = args.analysis.settings()?;
    let mut files = args.capture.files(&args.analysis.guard_log);
    let output = Output::create(&mut files, OUTPUT, &args.output)?;
    let trace = args.loss_trace.as_deref().map(|path| Output::create(&mut files, "--loss-trace", path)).transpose()?;
    let bar = CaptureBar::new(false);
    let (inferred, interrupted) =
        until_interrupted(|| input.first(&bar, |capture| infer_scenario(capture, &settings, &bar)));
    if interrupted {
        interrupt::exit();
    }
    let inferred = inferred?;
    let name = args.capture.display_name();
    for note in &inferred.notes {
        console::note(format_args!("{name}: {note}"));
    }
    write_text(output, &inferred.to_toml())?;
    let Some(trace) = trace else {
        return Ok(());
    };
    let about =
        "the packets of the sender, a line for each connection: 1 lost, 0 not lost, or by a queue in the scenario";
    write_text(trace, &format!("# {}: {about}\n{}", visible(&name), inferred.loss_trace))
}
