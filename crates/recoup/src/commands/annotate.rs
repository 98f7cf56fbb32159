//! `recoup annotate`.

use crate::analysis_args::AnalysisArgs;
use crate::commands::captures::{CaptureBar, end, print_notes, until_interrupted};
use crate::output::{OUTPUT, Output};
use crate::{Failure, console};
use recoup_captures::annotate::{Annotated, Remarks, RemarksOf, annotate};
use recoup_captures::anonymize::Packing;
use recoup_captures::capture::{Input, Progress};
use recoup_support::output_file::Files;
use recoup_trace::read::{CopyReader, Ending, RewriteError};
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::slice;
use tempfile::NamedTempFile;

const HELP: &str = "\
Examples:
  recoup annotate server.pcap -o annotated.pcapng
  recoup annotate server.pcap -o slow.pcapng --only        # the connections that lost time alone
  ssh web1 tcpdump -w - tcp | recoup annotate - -o web1.pcapng
  tshark -r annotated.pcapng -Y 'frame.comment contains \"verdict=spurious\"'

The output is pcapng. Frames, existing comments, names and interfaces stay as they are. A comment
says of a retransmission why it was sent, whether it was needed, by which evidence, which frame it
repeats and after how long; and of the first and last frame of an episode what it cost and why.
docs/wireshark.md shows them as columns and filters of Wireshark.

Exit status: 0 written; 2 wrong use, or a capture that cannot be read.";

#[derive(clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct Args {
    /// Capture (pcap, pcapng; plain, gzip or zstd); - for standard input, which is kept in a temporary file
    #[arg(value_name = "CAPTURE")]
    capture: PathBuf,
    /// Write the annotated capture to this file, compressed if it ends in .gz or .zst; - for standard
    /// output
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Leave out frames of connections that lost no time, and other frames
    #[arg(long)]
    only: bool,
    #[command(flatten)]
    analysis: AnalysisArgs,
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    // Checks the name before anything is read.
    Input::new(slice::from_ref(&args.capture), false)?;
    let settings = args.analysis.settings()?;
    if args.output == Path::new("-") && io::stdout().is_terminal() {
        return Err(Failure::Wrong("--output -: not for a terminal: expected a file, or a pipe".into()));
    }
    let mut files = Files::reading([&args.capture].into_iter().chain(&args.analysis.guard_log));
    let mut output = Output::create(&mut files, OUTPUT, &args.output)?;
    let kept = (args.capture == Path::new("-")).then(keep_stream).transpose()?;
    let path = kept.as_ref().map_or(&*args.capture, |kept| kept.path());
    let bar = CaptureBar::new(false);
    let input = [path.to_owned()];
    let (analyzed, interrupted) = until_interrupted(|| {
        Input::new(&input, false)
            .map_err(Failure::from)?
            .first(&bar, |capture| capture.analyze(&settings, RemarksOf::default, &bar).map_err(Failure::from))
    });
    let mut analyzed = analyzed?;
    if kept.is_some() {
        analyzed.capture = "-".into();
    }
    print_notes(&analyzed, &[]);
    let remarks = Remarks::new(analyzed.findings, analyzed.counts.copies.as_ref());
    let reader = CopyReader::open(path)?;
    bar.capture_begins(&args.capture.to_string_lossy(), reader.size());
    let packing = Packing::of(&args.output);
    let written = packing.pack(&mut output, |out| annotate(reader, &remarks, args.only, out, &bar));
    bar.capture_ends();
    let found = match written {
        Ok(found) => found,
        Err(RewriteError::Read(e)) => return Err(e.into()),
        Err(RewriteError::Write(e)) => return output.finish(Err(e)),
    };
    output.finish(Ok(()))?;
    report(args, &remarks, &found);
    end(interrupted, false)
}

/// Keeps standard input, which is read twice, in a file that vanishes with the program.
fn keep_stream() -> Result<NamedTempFile, Failure> {
    let keep = || {
        let mut file = NamedTempFile::new()?;
        io::copy(&mut io::stdin().lock(), file.as_file_mut())?;
        file.flush()?;
        Ok::<_, io::Error>(file)
    };
    keep().map_err(|e| Failure::Wrong(format!("standard input: cannot keep it in a temporary file: {e}")))
}

/// Says what was written.
fn report(args: &Args, remarks: &Remarks, found: &Annotated) {
    let to = match args.output == Path::new("-") {
        true => "standard output".into(),
        false => args.output.display().to_string(),
    };
    let frames = found.frames;
    let mut text = format!("wrote {to}: {frames} frames, {} comments", found.comments);
    if args.only {
        let slow = remarks.slow_connections();
        text += &format!(", {slow} connections that lost time; left out {} frames", found.left_out);
    }
    console::status(text);
    if remarks.is_empty() {
        console::note("nothing was retransmitted, and no time was lost: there is nothing to say");
    }
    if found.ending != Ending::Whole {
        console::note(format_args!("{}: {}: what comes before is written", args.capture.display(), found.ending));
    }
}
