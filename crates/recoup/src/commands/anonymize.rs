//! `recoup anonymize`.

use crate::commands::captures::{CaptureBar, display_name};
use crate::output::{OUTPUT, Output};
use crate::{Failure, console};
use clap::ValueEnum;
use recoup_captures::anonymize::{AddressMap, Anonymized, Key, Mapped, Packing, PayloadMode, anonymize};
use recoup_captures::capture::{Input, Progress};
use recoup_support::output_file::{Files, create_folder};
use recoup_trace::read::{Ending, RawReader, RewriteError};
use std::fs::File;
use std::io::{self, IsTerminal, Read};
use std::path::{Path, PathBuf};

const HELP: &str = "\
Examples:
  recoup anonymize server.pcap -o to-send.pcap
  recoup anonymize client.pcap server.pcap -o to-send/   # a folder: both map alike
  recoup anonymize after.pcap -o after.pcap.zst --key my.key

Other captures map alike only in the same run, or with the same key:
  head -c 32 /dev/urandom > my.key

Addresses are replaced so that two of one network remain so. Ports, times, sizes and TCP headers
remain, and the analysis of the capture is the same. docs/anonymize.md says what is replaced, what
is left out, and what can still be found out.

Exit status: 0 written; 2 wrong use, or a capture that cannot be read.";

#[derive(clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct Args {
    /// Captures (pcap, pcapng; plain, gzip or zstd), all mapped alike; - for standard input
    #[arg(required = true, value_name = "CAPTURE")]
    captures: Vec<PathBuf>,
    /// Write the capture to this file, compressed if it ends in .gz or .zst; - for standard output. Of
    /// several captures: write each to this folder, by its name
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Map addresses by the secret in this file: at least 16 bytes, best random ones [default: a random
    /// key, which is not kept]
    #[arg(long, value_name = "FILE")]
    key: Option<PathBuf>,
    /// What becomes of payload
    #[arg(long, value_enum, default_value_t = Payload::Cut)]
    payload: Payload,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Payload {
    /// Frames end with the TCP header; their length on the wire is recorded
    Cut,
    /// Zeros, as many as were captured
    Zero,
}

/// The longest secret that is read, in bytes.
const LONGEST_SECRET: u64 = 1 << 20;

/// What there was, and how many.
type Count = (u64, &'static str, &'static str);

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    // Checks the names before the first capture is read.
    Input::new(&args.captures, false)?;
    let files = Files::reading(args.captures.iter().chain(&args.key));
    let outputs = outputs(args)?;
    // The first output exists before the second is begun. So that none replaces another, all are compared before.
    let mut planned = files.clone();
    outputs.iter().try_for_each(|output| planned.write(OUTPUT, output))?;
    let key = match &args.key {
        Some(path) => secret(path)?,
        None => Key::random()?,
    };
    if is_folder(args) {
        create_folder(&args.output)?;
    }
    let mut map = AddressMap::new(&key);
    for (capture, output) in args.captures.iter().zip(&outputs) {
        one(args, capture, output, &mut map, &mut files.clone())?;
    }
    report(args, map.mapped());
    Ok(())
}

/// The key in a file.
fn secret(path: &Path) -> Result<Key, Failure> {
    let name = path.display();
    let mut secret = Vec::new();
    let read = File::open(path).and_then(|file| file.take(LONGEST_SECRET).read_to_end(&mut secret));
    read.map_err(|e| Failure::Wrong(format!("--key {name}: cannot read it: {e}")))?;
    Key::of_secret(&secret).map_err(|e| Failure::Wrong(format!("--key {name}: {e}")))
}

/// Whether the output is a folder.
fn is_folder(args: &Args) -> bool {
    let output = &args.output;
    args.captures.len() > 1 || output.is_dir() || output.as_os_str().to_string_lossy().ends_with('/')
}

/// The file for each capture.
fn outputs(args: &Args) -> Result<Vec<PathBuf>, Failure> {
    let output = &args.output;
    let name = output.display();
    if !is_folder(args) {
        let is_terminal = output == Path::new("-") && io::stdout().is_terminal();
        return match is_terminal {
            true => Err(Failure::Wrong("--output -: not for a terminal: expected a file, or a pipe".into())),
            false => Ok(vec![output.clone()]),
        };
    }
    if output == Path::new("-") {
        return Err(Failure::Wrong("--output -: expected a folder for several captures".into()));
    }
    let of_one = |capture: &PathBuf| match capture.file_name() {
        Some(file) if capture != Path::new("-") => Ok(output.join(file)),
        _ => Err(Failure::Wrong(format!("--output {name}: a folder: expected a file for standard input"))),
    };
    args.captures.iter().map(of_one).collect()
}

fn one(args: &Args, capture: &Path, path: &Path, map: &mut AddressMap, files: &mut Files) -> Result<(), Failure> {
    let reader = RawReader::open(capture)?;
    let mut output = Output::create(files, OUTPUT, path)?;
    let name = capture.to_string_lossy();
    let bar = CaptureBar::new(args.captures.len() > 1);
    bar.capture_begins(&name, reader.size());
    let payload = match args.payload {
        Payload::Cut => PayloadMode::Cut,
        Payload::Zero => PayloadMode::Zero,
    };
    let written = Packing::of(path).pack(&mut output, |out| anonymize(reader, map, payload, out, &bar));
    bar.capture_ends();
    let found = match written {
        Ok(found) => found,
        Err(RewriteError::Read(e)) => return Err(e.into()),
        Err(RewriteError::Write(e)) => return output.finish(Err(e)),
    };
    output.finish(Ok(()))?;
    let to = match path == Path::new("-") {
        true => "standard output".into(),
        false => path.display().to_string(),
    };
    console::status(format_args!("wrote {to}: {}", contents(&found)));
    for note in notes(&found) {
        console::note(format_args!("{}: {note}", display_name(&name)));
    }
    Ok(())
}

/// What was written, in words.
fn contents(found: &Anonymized) -> String {
    list(&[
        (found.segments, "TCP segment", "TCP segments"),
        (found.messages, "ICMP message about one", "ICMP messages about them"),
        (found.fragments, "IP fragment", "IP fragments"),
        (found.placeholders, "placeholder for another frame", "placeholders for other frames"),
    ])
}

fn notes(found: &Anonymized) -> Vec<String> {
    let mut notes = Vec::new();
    if found.ending != Ending::Whole {
        notes.push(format!("{}: what comes before is written", found.ending));
    }
    match found.given_up {
        0 => {}
        1 => notes.push("1 segment became a placeholder: written again, it would be read as another one".into()),
        count => {
            notes.push(format!("{count} segments became placeholders: written again, they would be read as other ones"))
        }
    }
    notes
}

/// Says what all captures have in common.
fn report(args: &Args, mapped: Mapped) {
    let more = if mapped.are_more { "more than " } else { "" };
    let addresses = list(&[
        (mapped.v4 as u64, "IPv4 address", "IPv4 addresses"),
        (mapped.v6 as u64, "IPv6 address", "IPv6 addresses"),
        (mapped.hardware as u64, "hardware address", "hardware addresses"),
    ]);
    let by = match &args.key {
        Some(path) => format!("by the key in {}: who has it can undo the map", path.display()),
        None => "by a random key, which is not kept: other captures map alike in one run, or with --key".into(),
    };
    console::status(format_args!("mapped {more}{addresses} {by}"));
    console::status("left out payload, names, comments, IP options, and cookies, keys and signatures of TCP options");
    console::status("kept ports, times, sizes, TCP headers, and identifiers of VLANs and tunnels");
}

/// A list of what there is.
fn list(counts: &[Count]) -> String {
    let there = counts.iter().filter(|(count, ..)| *count > 0);
    let there: Vec<String> =
        there.map(|(count, one, several)| format!("{count} {}", if *count == 1 { one } else { several })).collect();
    match there.split_last() {
        None => "nothing".into(),
        Some((last, [])) => last.clone(),
        Some((last, others)) => format!("{} and {last}", others.join(", ")),
    }
}
