//! `recoup-peers referee`: every stack on one bench.
//!
//! A [`Trial`] is one stack in one [`Case`] with one seed. All stacks meet the same path, losses, applications and seeds. What a
//! flow cost, which of its retransmissions were needless and what its timers did is read from the bench, which knows every
//! packet; nothing is asked of the stacks. Then our analyzer judges the same flows from the packets alone.
//!
//! ```text
//! referee ── case × stack × seed ──► trial ──► bench (path, two guests, log)
//!                                      ├────► truth   what each retransmission was
//!                                      └────► judge   what the analyzer says of it
//!         └► report   medians over seeds, intervals, agreement
//! ```

mod case;
mod judge;
mod real_time;
mod report;
mod stack;
mod trial;
mod truth;

use crate::{guests::GuestName, senders::Sender};
use case::Case;
use clap::{Args, ValueEnum, builder::PossibleValuesParser, builder::TypedValueParser};
use indicatif::{ProgressBar, ProgressStyle};
use recoup_support::{
    output_file::{OutputFile, create_folder},
    threads::{cores, in_parallel},
};
use recoup_tcp::flow::Host;
use report::{Cell, Report};
use stack::Stack;
use std::{
    io::Write,
    path::{Path, PathBuf},
};
use trial::{Finished, OURS, Trial};

#[derive(Args)]
pub struct RefereeArguments {
    /// Stacks; all without this
    #[arg(long = "guest", value_name = "NAME")]
    guests: Vec<GuestName>,
    /// A program that is a stack (docs/conformance.md), with its arguments; may be repeated
    #[arg(long = "stack", value_name = "COMMAND")]
    stacks: Vec<String>,
    /// Also a stack that reads the clock itself, such as the kernel's: in real time over the emulator (root); may be repeated
    #[arg(long = "real-time", value_name = "SENDER")]
    real_time: Vec<Sender>,
    /// Cases; all without this
    #[arg(long = "case", value_name = "CASE", value_parser = case_parser())]
    cases: Vec<Case>,
    /// Repetitions of the cases in which chance plays a part, each with a seed of its own
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..=10_000))]
    seeds: u64,
    /// The first seed
    #[arg(long, value_name = "SEED", default_value_t = 1)]
    seed: u64,
    /// Write a capture at the server of each cell's first flow into this folder
    #[arg(long, value_name = "DIR")]
    pcap: Option<PathBuf>,
    /// Put the tables into this file, between its lines `<!-- referee: begin -->` and `<!-- referee: end -->`
    #[arg(long, value_name = "FILE")]
    write: Option<PathBuf>,
    /// List each retransmission about which the analyzer is wrong
    #[arg(long)]
    misses: bool,
}

fn case_parser() -> impl TypedValueParser<Value = Case> {
    let names = Case::ALL.map(Case::name);
    PossibleValuesParser::new(names).map(|name| {
        let named = Case::ALL.into_iter().find(|case| case.name() == name);
        named.unwrap_or(Case::Tail1)
    })
}

/// The most repetitions in real time.
const MOST_IN_REAL_TIME: u64 = 6;

/// Runs every stack in every case, and prints the tables in Markdown.
///
/// # Errors
/// In one line: a stack that cannot run, or a file that cannot be written.
pub fn run(arguments: &RefereeArguments) -> Result<(), crate::senders::Failed> {
    let stacks = stacks(arguments)?;
    let cases = if arguments.cases.is_empty() { Case::ALL.to_vec() } else { arguments.cases.clone() };
    if let Some(folder) = &arguments.pcap {
        create_folder(folder)?;
    }
    let cells: Vec<_> = cases.iter().flat_map(|case| (0..stacks.len()).map(move |stack| (*case, stack))).collect();
    let progress = ProgressBar::new(cells.len() as u64);
    progress.set_style(ProgressStyle::with_template("{wide_bar} {pos}/{len} {msg}")?);
    let find = |(case, place): (Case, usize)| {
        let stack: &Stack = &stacks[place];
        progress.set_message(format!("{} {}", case.name(), stack.name()));
        let cell = cell(stack, place, case, arguments);
        progress.inc(1);
        cell
    };
    // What runs in real time has the machine for itself.
    let (alone, together): (Vec<_>, Vec<_>) =
        cells.into_iter().partition(|(_, place)| stacks[*place].real_time().is_some());
    let mut cells = in_parallel(together.len(), cores(), |index| find(together[index]))?;
    for cell in alone {
        cells.push(find(cell)?);
    }
    progress.finish_and_clear();
    let abouts = stacks.iter().map(|stack| (stack.name().to_owned(), stack.about().clone())).collect();
    let report = Report { stacks: abouts, cells, seed: arguments.seed };
    let tables = report.markdown(arguments.misses);
    match &arguments.write {
        None => print!("{tables}"),
        Some(page) => replace_between_marks(page, &tables)?,
    }
    Ok(())
}

/// The lines of a page between which the tables stand.
const MARKS: [&str; 2] = ["<!-- referee: begin -->\n", "<!-- referee: end -->\n"];

fn replace_between_marks(page: &Path, tables: &str) -> Result<(), String> {
    let failed = |error: &dyn std::fmt::Display| format!("{}: {error}", page.display());
    let text = std::fs::read_to_string(page).map_err(|error| failed(&error))?;
    let parts = text.split_once(MARKS[0]).and_then(|(head, rest)| Some((head, rest.split_once(MARKS[1])?.1)));
    let Some((head, tail)) = parts else {
        return Err(failed(&format_args!("expected a line `{}` and, below, `{}`", MARKS[0].trim(), MARKS[1].trim())));
    };
    let mut file = OutputFile::create(page).map_err(|error| failed(&error))?;
    let [begin, end] = MARKS;
    write!(file, "{head}{begin}\n{tables}\n{end}{tail}").map_err(|error| failed(&error))?;
    file.publish().map_err(|error| failed(&error))
}

/// The stacks to compare. Ours is first: the others are compared with it.
fn stacks(arguments: &RefereeArguments) -> Result<Vec<Stack>, String> {
    let mut names = match arguments.guests.is_empty() && arguments.stacks.is_empty() {
        true => GuestName::value_variants().to_vec(),
        false => arguments.guests.clone(),
    };
    names.retain(|name| *name != OURS);
    names.insert(0, OURS);
    names.dedup();
    let mut stacks = Vec::new();
    for name in names {
        match Stack::named(name) {
            Ok(stack) => stacks.push(stack),
            // Without Go there is no gVisor; the others can be compared all the same.
            Err(error) if arguments.guests.is_empty() => {
                eprintln!("recoup-peers: {} is left out: {error}", name.name())
            }
            Err(error) => return Err(format!("{}: {error}", name.name())),
        }
    }
    for command in &arguments.stacks {
        stacks.push(Stack::command(command)?);
    }
    for sender in &arguments.real_time {
        stacks.push(Stack::in_real_time(*sender)?);
    }
    Ok(stacks)
}

/// All repetitions of one stack in one case. A stack that fails is a result, too.
fn cell(stack: &Stack, place: usize, case: Case, arguments: &RefereeArguments) -> Result<Cell, String> {
    let mut cell = Cell { case, stack: place, trials: Vec::new(), failed: None };
    if case.is_for_tcp() && stack.about().transport != recoup_guest::Transport::Tcp {
        return Ok(cell);
    }
    if let Some(sender) = stack.real_time() {
        if case.is_shared() {
            return Ok(cell);
        }
        // Each takes as long as it takes.
        for seed in arguments.seed..arguments.seed.saturating_add(arguments.seeds.min(MOST_IN_REAL_TIME)) {
            let trial = real_time::run(sender, case, seed).map_err(|error| format!("{}: {error}", stack.name()))?;
            cell.trials.push((seed - arguments.seed, trial));
        }
        return Ok(cell);
    }
    let seeds = if case.is_random() { arguments.seeds } else { 1 };
    for seed in arguments.seed..arguments.seed.saturating_add(seeds) {
        for flow in 0..case.flows() {
            match Trial::run(stack, case, seed, flow) {
                Ok(Finished { trial, log }) => {
                    if let (Some(folder), true) = (&arguments.pcap, cell.trials.is_empty()) {
                        let name = format!("{}-{}.pcap", case.name(), stack.name().replace(['/', ' '], "_"));
                        write_capture(&folder.join(name), &log)?;
                    }
                    cell.trials.push((seed - arguments.seed, trial));
                }
                Err(error) => {
                    cell.failed = Some(format!("seed {seed}, flow {flow}: {error}"));
                    return Ok(cell);
                }
            }
        }
    }
    Ok(cell)
}

fn write_capture(path: &Path, log: &crate::bench::Log) -> Result<(), String> {
    let file = OutputFile::create(path).map_err(|error| error.to_string())?;
    let written =
        log.write_capture(Host::Server, None, file).map_err(|error| format!("{}: {error}", path.display()))?;
    written.publish().map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests;
