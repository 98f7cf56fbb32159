//! `recoup run`.

pub mod call;
mod flows;
mod plot;
mod sweep;
mod world;

pub use call::changes::{Changes, apply_settings};

use crate::commands::run::call::{Progress, Request, RunError, Work};
use crate::output::{Format, format_parser, print};
use crate::{Failure, console, interrupt};
use clap::ValueEnum;
use flows::FlowsFile;
use indicatif::ProgressBar;
use plot::{Kind, PlotFile};
use recoup_lab::report::{Plot, Report, View};
use recoup_lab::scenario::{Experiment, Scenario};
use recoup_lab::stage::{self, Ends, Stage};
use recoup_support::output_file::Files;
use recoup_table::Keep;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

const HELP: &str = "\
FCT is the flow completion time: from the client's first SYN until the last byte of data has
been delivered. \"FCT mean / first profile's\" (fct_normalised in JSON and CSV) is a profile's
mean over that of the first profile on the same stage. FCT from establishment leaves out the
handshake: it begins when the host that sends the data is established. The table shows it with
--all-rows, or if a SYN or SYN-ACK was retransmitted; JSON and CSV always have it.

Values in brackets are 95 % bootstrap intervals, over flows and in a world over runs. Differences
from the first profile are paired. \"undecided\" stands where the interval contains 0, or where few
flows differ.

An interrupt (Ctrl-C) ends the run after the flows that are under way; the results so far are
printed. A second one ends the program at once. Captures, event files, files of flows
and plots of an interrupted run are not written.

A scenario with links and workloads is a world: many flows share its links for a fixed time. It
runs in the simulator. --set takes its keys, such as links.bottleneck.queue=50 or duration=10s. The
results are a table for each workload, and one of the links; CSV has the workloads.

--sweep runs every combination of the values that it names, at most 1000, and prints one table:
--sweep rtt=20ms,80ms --sweep drop=none,tail:1. Semicolons separate values that contain commas:
--sweep 'drop=tail:1;tail:1,up:ack:2'. All combinations have the same seed. After an
interrupt, those that are finished are printed.

A scenario file may have up to 1 MiB, a recorded link up to 64 MiB.";

/// The formats that results can be printed in.
const FORMATS: &[Format] = &[Format::Table, Format::Json, Format::Csv];

#[derive(clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct Args {
    /// A built-in scenario (see `recoup scenario list`), a .toml file, or - for standard input
    scenario: String,
    #[command(flatten)]
    changes: Changes,
    /// Where to run the scenario (real packets need root or user namespaces)
    #[arg(long, value_name = "STAGE", value_enum, default_value_t = Stages::Sim)]
    on: Stages,
    /// With real packets: the client's TCP [default: the stage's]
    #[arg(long, value_name = "STACK", value_enum)]
    client: Option<Stack>,
    /// With real packets: the TCP of the server, which sends the data [default: the stage's]
    #[arg(long, value_name = "STACK", value_enum)]
    server: Option<Stack>,
    /// Write packet captures, taken at sender and receiver, into this folder
    #[arg(long, value_name = "DIR")]
    pcap: Option<PathBuf>,
    /// Write the event stream as JSON lines to this file (- for standard output, without results)
    #[arg(long, value_name = "FILE")]
    events: Option<PathBuf>,
    /// In a world: write packets and events of these flows only: fetches, fetches:0, fetches:0-9;
    /// repeat for several
    #[arg(long, value_name = "WORKLOAD[:N-M]")]
    watch: Vec<String>,
    /// In a world: first scale the load of all workloads with tmix until the queue of a link drops this
    /// share of its packets: bottleneck=1.5% (up), bottleneck:down=1.5%
    #[arg(long, value_name = "LINK=SHARE")]
    calibrate: Option<String>,
    /// Write a row for each flow to this file, .jsonl, .csv or .parquet: profile, size, FCT, retransmissions, timeouts
    #[arg(long, value_name = "FILE")]
    flows_out: Option<PathBuf>,
    /// Draw the flow completion times of the profiles into this file, .svg, .png or .pdf; with --sweep their means with
    /// intervals
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
    /// What --plot draws [default: cdf]
    #[arg(long, value_name = "KIND", value_enum)]
    plot_kind: Option<Kind>,
    /// Format of the results
    #[arg(long, value_parser = format_parser(FORMATS), default_value = "table")]
    format: Format,
    /// Figures in the table [default: cost]; JSON and CSV have all of them
    #[arg(long, value_enum)]
    report: Option<Tables>,
    /// Show every row of the table, also those that are zero or the same for all profiles
    #[arg(long)]
    all_rows: bool,
}

/// The stages to run on.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Stages {
    /// The simulator, in virtual time
    Sim,
    /// Recoup's TCP at both ends, real packets
    Net,
    /// This machine's Linux at both ends, real packets
    Kernel,
    /// All three, side by side
    All,
}

/// The TCP at an end.
#[derive(Clone, Copy, ValueEnum)]
enum Stack {
    /// Recoup's, with the profile
    Recoup,
    /// This machine's Linux
    Kernel,
}

impl Stages {
    /// Whether the simulator is among them.
    pub fn simulates(self) -> bool {
        matches!(self, Self::Sim | Self::All)
    }

    /// The stages with real packets among them.
    pub fn real(self) -> &'static [Stage] {
        match self {
            Self::Sim => &[],
            Self::Net => &[Stage::Net],
            Self::Kernel => &[Stage::Kernel],
            Self::All => &[Stage::Net, Stage::Kernel],
        }
    }
}

impl From<Stack> for stage::Stack {
    fn from(stack: Stack) -> Self {
        match stack {
            Stack::Recoup => Self::Recoup,
            Stack::Kernel => Self::Kernel,
        }
    }
}

/// The tables of a report.
#[derive(Clone, Copy, ValueEnum)]
enum Tables {
    /// Flow completion times, what was sent, what was wasted
    Cost,
    /// Retransmissions by trigger and their outcome: the rows of Tables 2, 3, 8 and 10 of
    /// Dukkipati et al. 2011
    Retransmissions,
    /// Windows and time in fast recovery: the rows of Tables 5, 6 and 7 of Dukkipati et al. 2011
    Recovery,
    /// TCP latency of responses: the rows of Tables 9 and 11 of Dukkipati et al. 2011
    Latency,
}

impl Tables {
    fn view(self) -> View {
        match self {
            Self::Cost => View::Cost,
            Self::Retransmissions => View::Retransmissions,
            Self::Recovery => View::Recovery,
            Self::Latency => View::Latency,
        }
    }
}

impl Args {
    fn keep(&self) -> Keep {
        match self.all_rows {
            true => Keep::All,
            false => Keep::Telling,
        }
    }

    fn view(&self) -> View {
        self.report.map_or(View::default(), Tables::view)
    }

    /// The stages asked for.
    pub fn on(&self) -> Stages {
        self.on
    }

    /// The ends of each stage with real packets.
    fn all_ends(&self) -> Result<Vec<Ends>, Failure> {
        let [client, server] = [self.client, self.server].map(|stack| stack.map(Into::into));
        let mixed = client.is_some() || server.is_some();
        if mixed && self.on.real().len() != 1 {
            let line = "--client, --server: expected beside --on net or --on kernel";
            return Err(Failure::Wrong(line.into()));
        }
        if self.on == Stages::All && self.events.is_some() {
            let line = "--events: expected beside one stage: --on sim, net or kernel";
            return Err(Failure::Wrong(line.into()));
        }
        let stages = self.on.real().iter();
        Ok(stages.filter_map(|stage| Ends::new(*stage, client, server)).collect())
    }

    /// Checks that the options for tables stand beside a table.
    fn check_format(&self) -> Result<(), Failure> {
        let figures = "--format json and csv have all figures";
        let wrong = match self.format {
            Format::Table => return Ok(()),
            _ if self.report.is_some() => format!("--report: chooses the table; {figures}"),
            _ if self.all_rows => format!("--all-rows: changes the table; {figures}"),
            _ => return Ok(()),
        };
        Err(Failure::Wrong(wrong))
    }

    /// Whether events go to standard output, where results would go.
    fn prints_events(&self) -> bool {
        self.events.as_deref() == Some(Path::new("-"))
    }

    fn note_unused_profiles(&self, real: &[Ends]) {
        if self.on == Stages::Kernel && !self.changes.profile.is_empty() && real.iter().any(|ends| !ends.has_profiles())
        {
            console::note("--profile has no effect: the kernel is at both ends");
        }
    }

    fn request(&self, scenario: Scenario) -> Result<Request, Failure> {
        for (option, is_given) in [("--watch", !self.watch.is_empty()), ("--calibrate", self.calibrate.is_some())] {
            if is_given {
                let line = format!("{option}: expected beside a scenario with links and workloads");
                return Err(Failure::Wrong(line));
            }
        }
        self.check_format()?;
        Ok(Request {
            scenario: self.changes.scenario(scenario)?,
            simulate: self.on.simulates(),
            real: self.all_ends()?,
            pcap: self.pcap.clone(),
            events: self.events.clone(),
            flows: None,
        })
    }

    /// The command's other files, which no further output may replace.
    fn files<'a>(&self, inputs: impl Iterator<Item = &'a Path>) -> Result<Files, Failure> {
        let mut files = Files::reading(inputs);
        self.events.as_deref().map_or(Ok(()), |events| files.write("--events", events))?;
        Ok(files)
    }
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    match (Experiment::load(&args.scenario)?, sweep::of(args)?) {
        (Experiment::Pair(scenario), None) => run_pair(args, *scenario),
        (Experiment::Pair(scenario), Some(over)) => sweep::run_pairs(args, *scenario, &over),
        (Experiment::World(world), None) => world::run(args, *world),
        (Experiment::World(world), Some(over)) => sweep::run_worlds(args, *world, &over),
    }
}

fn run_pair(args: &Args, scenario: Scenario) -> Result<(), Failure> {
    let mut request = args.request(scenario)?;
    let scenario = request.scenario.clone();
    request.check_files()?;
    let mut files = args.files(scenario.files())?;
    let plot = PlotFile::create(args, &mut files)?;
    let flows = FlowsFile::create(args, &mut files, [])?;
    request.flows = flows.sink();
    args.note_unused_profiles(&request.real);
    request.notes().iter().for_each(console::note);
    deferring_interrupts(
        || request.run(&FlowBar::default()),
        |outcome| {
            outcome.notes.iter().for_each(console::note);
            let results = &outcome.results;
            if !args.prints_events() && !results.is_empty() {
                let report = Report::new(&scenario, results).interrupted(interrupt::is_interrupted());
                let table = || report.to_table(args.view(), args.keep());
                print_results(args, || report.to_json(), || report.to_csv(), table)?;
            }
            flows.finish()?;
            plot.map_or(Ok(()), |file| file.write(&Plot::of_pair(&scenario, results)))
        },
    )
}

/// Runs something that ends early after an interrupt, and prints what it found. Ends the program if it was
/// interrupted.
fn deferring_interrupts<T>(
    run: impl FnOnce() -> Result<T, RunError>,
    print: impl FnOnce(T) -> Result<(), Failure>,
) -> Result<(), Failure> {
    interrupt::defer();
    let outcome = run();
    let interrupted = interrupt::stop_deferring();
    let printed = outcome.map_err(Failure::from).and_then(print);
    if interrupted {
        if let Err(failure) = &printed {
            failure.print();
        }
        interrupt::exit();
    }
    printed
}

/// Prints results in the format of the arguments.
fn print_results(
    args: &Args,
    json: impl FnOnce() -> String,
    csv: impl FnOnce() -> String,
    table: impl FnOnce() -> String,
) -> Result<(), Failure> {
    print(&match args.format {
        Format::Json => json(),
        Format::Csv => csv(),
        _ => table(),
    })
}

/// Shows the progress of a run, and ends it after an interrupt.
struct FlowBar(Mutex<ProgressBar>);

impl Default for FlowBar {
    fn default() -> Self {
        Self(Mutex::new(ProgressBar::hidden()))
    }
}

impl FlowBar {
    fn with(&self, act: impl FnOnce(&mut ProgressBar)) {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

impl Progress for FlowBar {
    fn begins(&self, work: Work, size: u64) {
        let bar = match work {
            Work::Flows(Stage::Sim) => console::flows_bar(size),
            Work::Flows(stage) => console::flows_bar(size).with_prefix(format!("{} ", stage.name())),
            Work::SimulatedTime => console::bar(Some(size), "{wide_bar} {percent} % of the simulated time"),
        };
        self.with(|shown| *shown = bar);
    }

    fn advanced(&self, by: u64) {
        self.with(|bar| bar.inc(by));
    }

    fn ends(&self) {
        self.with(|bar| bar.finish_and_clear());
    }

    fn is_stopped(&self) -> bool {
        interrupt::is_interrupted()
    }
}
