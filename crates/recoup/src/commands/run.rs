//! `recoup run`.

pub mod call;
mod plot;
mod sweep;
mod world;

use crate::commands::run::call::{EventTarget, Outcome, Progress, Request, RunError};
use crate::output::{Format, format_parser, print};
use crate::{Failure, console, interrupt};
use clap::ValueEnum;
use indicatif::ProgressBar;
use plot::{Kind, PlotFile};
use recoup_lab::report::{Plot, Report, View};
use recoup_lab::scenario::{Experiment, Scenario};
use recoup_lab::stage::{self, Ends, Stage};
use recoup_recovery::Profile;
use recoup_support::profile::parse_profile;
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
printed. A second one ends the program at once. Captures, event files and
plots of an interrupted run are not written.

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
    /// Run this profile, such as linux-3.17+tlp, instead of the scenario's; repeat for several
    #[arg(long, value_name = "PROFILE")]
    profile: Vec<String>,
    /// Flows per profile [default: the scenario's]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    flows: Option<u64>,
    /// Seed of everything random [default: the scenario's]
    #[arg(long, value_name = "S")]
    seed: Option<u64>,
    /// Change a setting of the scenario; repeat for several (see `recoup scenario list`)
    #[arg(long = "set", value_name = "KEY=VALUE")]
    settings: Vec<String>,
    /// Run with each of these values of a setting; repeat for every combination with those of others
    #[arg(long = "sweep", value_name = "KEY=VALUE,…")]
    sweeps: Vec<String>,
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
    /// Draw the flow completion times of the profiles into this file, .svg, .png or .pdf
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

/// Applies `--set KEY=VALUE` arguments.
pub fn apply_settings(scenario: &mut Scenario, settings: &[String]) -> Result<(), Failure> {
    settings.iter().try_for_each(|setting| {
        let (key, value) = key_and_value(setting, "rtt=80ms")?;
        let set = scenario.set(key, value);
        set.map_err(|e| Failure::Wrong(format!("--set {e}")))
    })
}

/// The parts of a `--set` argument.
fn key_and_value<'a>(setting: &'a str, example: &str) -> Result<(&'a str, &'a str), Failure> {
    let wrong = || format!("--set {setting}: expected KEY=VALUE, such as {example}");
    let parts = setting.split_once('=');
    parts.ok_or_else(|| Failure::Wrong(wrong()))
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

    /// The scenario with the changes of the command line.
    fn changed(&self, mut scenario: Scenario) -> Result<Scenario, Failure> {
        apply_settings(&mut scenario, &self.settings)?;
        if let Some(profiles) = self.profiles()? {
            scenario.profiles = profiles;
        }
        scenario.flows = self.flows.unwrap_or(scenario.flows);
        scenario.seed = self.seed.unwrap_or(scenario.seed);
        scenario.check().map_err(Failure::Wrong)?;
        Ok(scenario)
    }

    /// The profiles of the command line, if it names any.
    fn profiles(&self) -> Result<Option<Vec<Profile>>, Failure> {
        let profiles = self.profile.iter().map(|text| {
            let several = match text.contains(',') {
                true => "; for several, repeat --profile",
                false => "",
            };
            parse_profile(text).map_err(|e| Failure::Wrong(format!("--profile {text}: {e}{several}")))
        });
        let profiles: Vec<Profile> = profiles.collect::<Result<_, _>>()?;
        Ok((!profiles.is_empty()).then_some(profiles))
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

    /// Where the event stream goes, if one is asked for.
    fn event_target(&self) -> Option<EventTarget> {
        let path = self.events.as_deref()?;
        Some(match self.prints_events() {
            true => EventTarget::Stream(Box::new(std::io::stdout())),
            false => EventTarget::File(path.into()),
        })
    }

    /// Whether events go to standard output, where results would go.
    fn prints_events(&self) -> bool {
        self.events.as_deref() == Some(Path::new("-"))
    }

    fn note_unused_profiles(&self, real: &[Ends]) {
        if self.on == Stages::Kernel && !self.profile.is_empty() && real.iter().any(|ends| !ends.has_profiles()) {
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
            scenario: self.changed(scenario)?,
            simulate: self.on.simulates(),
            real: self.all_ends()?,
            pcap: self.pcap.clone(),
            events: self.event_target(),
        })
    }
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    match (Experiment::load(&args.scenario)?, args.sweep()?) {
        (Experiment::Pair(scenario), None) => run_pair(args, *scenario),
        (Experiment::Pair(scenario), Some(over)) => sweep::run_pairs(args, *scenario, &over),
        (Experiment::World(world), None) => world::run(args, *world),
        (Experiment::World(world), Some(over)) => sweep::run_worlds(args, *world, &over),
    }
}

fn run_pair(args: &Args, scenario: Scenario) -> Result<(), Failure> {
    let request = args.request(scenario)?;
    let scenario = request.scenario.clone();
    request.check_files()?;
    let plot = PlotFile::create(args, || scenario.files())?;
    args.note_unused_profiles(&request.real);
    request.notes().iter().for_each(console::note);
    deferring_interrupts(
        || request.run(&FlowBar::default()),
        |outcome| {
            print_outcome(args, &scenario, &outcome)?;
            let results = &outcome.results;
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

fn print_outcome(args: &Args, scenario: &Scenario, outcome: &Outcome) -> Result<(), Failure> {
    outcome.notes.iter().for_each(console::note);
    if args.prints_events() || outcome.results.is_empty() {
        return Ok(());
    }
    let report = Report::new(scenario, &outcome.results);
    match args.format {
        Format::Json => print(&report.to_json()),
        Format::Csv => print(&report.to_csv()),
        _ => print(&report.to_table(args.view(), args.keep())),
    }
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
    fn stage_begins(&self, stage: Stage, flows: u64) {
        let bar = console::flows_bar(flows);
        if stage != Stage::Sim {
            bar.set_prefix(format!("{} ", stage.name()));
        }
        self.with(|shown| *shown = bar);
    }

    fn flows_finished(&self, flows: u64) {
        self.with(|bar| bar.inc(flows));
    }

    fn stage_ends(&self) {
        self.with(|bar| bar.finish_and_clear());
    }

    fn is_stopped(&self) -> bool {
        interrupt::is_interrupted()
    }
}
