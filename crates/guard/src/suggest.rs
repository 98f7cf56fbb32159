//! `recoup guard suggest`.
//!
//! | module | what it does |
//! | --- | --- |
//! | `samples` | what a capture shows of the path to each peer |
//! | `rules` | timers that a path bears, with the sources of the rules |
//! | `networks` | which networks get timers of their own |
//! | `effect` | what the timers change, and what reruns predict |
//! | `text`, `document` | the answer's forms, and the plan |

mod document;
mod effect;
mod networks;
mod rules;
mod samples;
mod text;

use crate::plan::Plan;
use effect::{Effect, Foresight, effects, foresight, peer_timers, plan_of, predictions};
use networks::{NetworkAdvice, advise};
use recoup::Failure;
use recoup::analysis_args::AnalysisArgs;
use recoup::commands::captures::{CaptureBar, end, report, until_interrupted};
use recoup::output::{Format, OUTPUT, Output, create_file, format_or_ending, format_parser};
use recoup_captures::analysis::Analyzed;
use recoup_captures::capture::Input;
use recoup_captures::whatif::{Alternative, Changes, Request, WithAnswer, what_if_after};
use recoup_kernel::Network;
use recoup_support::output_file::Files;
use samples::{PathFacts, Sample, Samples};
use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;

const HELP: &str = "\
Examples:
  recoup guard suggest server.pcap                        # what would the paths bear?
  recoup guard suggest monday.pcap tuesday.pcap --plan plan.toml
  recoup guard timers --plan plan.toml --cgroup /sys/fs/cgroup/system.slice

The captures are taken at the host whose timers would be set. Each network needs the round-trip times of 20
handshakes. docs/guard.md says how timers follow from them.

Exit status: 0 answered, also if nothing is suggested; 2 wrong use, or a capture in which nothing can be read.";

/// The formats of answers.
const FORMATS: &[Format] = &[Format::Table, Format::Json];

#[derive(clap::Args)]
#[command(after_help = HELP)]
pub struct Args {
    /// Captures (pcap, pcapng; plain, gzip or zstd) taken at this host; - for standard input, which gets no prediction
    #[arg(required = true, value_name = "CAPTURE")]
    captures: Vec<PathBuf>,
    #[command(flatten)]
    analysis: AnalysisArgs,
    /// Runs of each connection where fates have to be drawn
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(2..=1000))]
    draws: u32,
    /// Seed of the draws
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Write the suggested timers to this file, for `recoup guard timers`
    #[arg(long, value_name = "FILE")]
    plan: Option<PathBuf>,
    /// Format of the answer [default: by the ending of --output, .txt or .json; else table]
    #[arg(long, value_parser = format_parser(FORMATS))]
    format: Option<Format>,
    /// The same as --format json
    #[arg(long, conflicts_with = "format")]
    json: bool,
    /// Write the answer to this file; - for standard output
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    output: PathBuf,
}

impl Args {
    fn request(&self, plan: &Plan) -> Option<Request> {
        let alternatives = vec![Alternative::Timers(peer_timers(plan))];
        (!plan.is_empty()).then_some(Request { alternatives, draws: self.draws, seed: self.seed, names_profile: false })
    }
}

/// What captures suggest.
struct Answer {
    /// The captures.
    captures: Vec<String>,
    /// What all connections show.
    facts: PathFacts,
    /// Connections of the captures, of which some may not have been captured at this host from their beginning.
    connections: u64,
    advice: Vec<NetworkAdvice>,
    plan: Plan,
    effects: BTreeMap<Network, Effect>,
    foresight: Foresight,
    predictions: Vec<Prediction>,
}

/// What reruns of a capture's connections predict.
struct Prediction {
    capture: String,
    /// Without a second reading, there is none.
    networks: Option<BTreeMap<Network, [Changes; 2]>>,
    /// Connections that were run again, and those that were not.
    rerun: [u64; 2],
}

pub fn run(args: &Args) -> Result<(), Failure> {
    let json = args.json.then_some(Format::Json);
    let format = format_or_ending(json.or(args.format), &args.output, FORMATS, Format::Table)?;
    let settings = args.analysis.settings()?;
    let input = Input::new(&args.captures, false)?;
    let mut files = Files::reading(&args.captures);
    let plan_file = args.plan.as_ref().map(|path| create_file(&mut files, "--plan", path)).transpose()?;
    let output = Output::create(&mut files, OUTPUT, &args.output)?;
    let bar = CaptureBar::new(args.captures.len() > 1);
    let mut samples = Vec::new();
    let mut advice = Vec::new();
    let suggest = |views: &[&Samples]| {
        samples = views.iter().flat_map(|view| view.all.iter().copied()).collect::<Vec<Sample>>();
        samples.sort_by_key(|sample| (sample.at, sample.peer));
        advice = advise(&samples);
        args.request(&plan_of(&advice))
    };
    let (all, interrupted) = until_interrupted(|| what_if_after(input, &settings, &bar, Samples::default, suggest));
    report(&all, &args.captures, |_| &[]);
    if !all.analyzed.is_empty() {
        let answer = Answer::new(&all.analyzed, &samples, advice);
        output.write(|out| match format {
            Format::Json => document::write(&answer, out),
            _ => out.write_all(text::answer(&answer, args.plan.as_deref()).as_bytes()),
        })?;
        if let Some(mut file) = plan_file {
            file.write_all(text::plan(&answer).as_bytes())?;
            file.publish()?;
        }
    }
    end(interrupted, !all.failures.is_empty())
}

impl Answer {
    fn new(all: &[Analyzed<WithAnswer<Samples>>], samples: &[Sample], advice: Vec<NetworkAdvice>) -> Self {
        let plan = plan_of(&advice);
        let prediction = |one: &Analyzed<WithAnswer<Samples>>| {
            let answer = one.findings.answer.as_ref();
            Prediction {
                capture: one.capture.clone(),
                networks: answer.map(|answer| predictions(answer, &plan)),
                rerun: answer.map_or([0; 2], |answer| [answer.rerun, answer.connections - answer.rerun]),
            }
        };
        Self {
            captures: all.iter().map(|one| one.capture.clone()).collect(),
            facts: PathFacts::of(samples.iter()),
            connections: all.iter().map(|one| recoup_captures::analysis::View::connections(&one.findings)).sum(),
            effects: effects(samples, &plan),
            foresight: foresight(samples),
            predictions: all.iter().map(prediction).collect(),
            advice,
            plan,
        }
    }
}
