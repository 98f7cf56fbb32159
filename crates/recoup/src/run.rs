//! `recoup run`.

use crate::Failure;
use crate::output::{Format, print};
use clap::ValueEnum;
use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
#[cfg(target_os = "linux")]
use recoup_api::testbeds::Testbeds;
use recoup_lab::capture::{Capture, CapturePaths};
use recoup_lab::effect;
use recoup_lab::events::EventWriter;
use recoup_lab::output_file::{OutputFile, same_file};
use recoup_lab::report::{Report, View};
use recoup_lab::run::{ProfileResult, run as run_scenario, run_observed};
use recoup_lab::scenario::{Scenario, parse_profile};
#[cfg(target_os = "linux")]
use recoup_lab::stage::RealStage;
use recoup_lab::stage::{self, Ends, Stage};
use recoup_recovery::Profile;
use recoup_table::Keep;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

const HELP: &str = "\
FCT is the flow completion time: from the client's first SYN until the last byte of data has
been delivered to the client. \"FCT mean / first profile's\" (fct_normalised in JSON and CSV)
is a profile's mean over that of the first profile on the same stage.";

#[derive(clap::Args)]
#[command(after_help = HELP)]
pub struct Args {
    /// A built-in scenario (see `recoup scenario list`), a .toml file, or - for standard input
    scenario: String,
    /// Profile to run, such as linux-3.17+tlp; repeat for several; replaces the scenario's
    #[arg(long, value_name = "PROFILE")]
    profile: Vec<String>,
    /// Flows per profile
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    flows: Option<u64>,
    /// Everything random comes from this number
    #[arg(long, value_name = "S")]
    seed: Option<u64>,
    /// Change a setting of the scenario; repeat for several (see `recoup scenario list`)
    #[arg(long = "set", value_name = "KEY=VALUE")]
    settings: Vec<String>,
    /// Where to run it: in the simulator, by Recoup over real packets, by this machine's Linux over the
    /// same, or on all of these, compared (real packets need root or user namespaces)
    #[arg(long, value_name = "STAGE", value_enum, default_value_t = On::Sim)]
    on: On,
    /// With real packets: whose TCP the client's is, if not the stage's
    #[arg(long, value_name = "STACK", value_enum)]
    client: Option<Stack>,
    /// With real packets: whose TCP the server's is, if not the stage's; it sends the data
    #[arg(long, value_name = "STACK", value_enum)]
    server: Option<Stack>,
    /// Write what crossed the wire, at sender and at receiver, as packet captures into this folder
    #[arg(long, value_name = "DIR")]
    pcap: Option<PathBuf>,
    /// Write the event stream as JSON lines to this file (- for standard output, without results)
    #[arg(long, value_name = "FILE")]
    events: Option<PathBuf>,
    /// How to print the results
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
    /// Which figures the table shows (usually cost); JSON and CSV have them all
    #[arg(long, value_enum)]
    report: Option<Shown>,
    /// Show every row of the table, also those that are zero or the same for all profiles
    #[arg(long)]
    all_rows: bool,
}

/// The stages to run on.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum On {
    /// Virtual time
    Sim,
    /// Recoup's endpoints, real packets
    Net,
    /// Linux at both ends, real packets
    Kernel,
    /// All three, side by side
    All,
}

/// Whose TCP is at an end.
#[derive(Clone, Copy, ValueEnum)]
enum Stack {
    /// Recoup's, with the profile
    Recoup,
    /// This machine's Linux
    Kernel,
}

impl On {
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

/// The tables.
#[derive(Clone, Copy, ValueEnum)]
enum Shown {
    /// Flow completion times, what was sent, what was wasted
    Cost,
    /// Retransmissions by kind, and what became of them: the rows of Tables 2, 3, 8 and 10 of
    /// Dukkipati et al. 2011
    Retransmissions,
    /// Windows and time in fast recovery: their Tables 5, 6 and 7
    Recovery,
}

impl Shown {
    fn view(self) -> View {
        match self {
            Self::Cost => View::Cost,
            Self::Retransmissions => View::Retransmissions,
            Self::Recovery => View::Recovery,
        }
    }
}

/// Applies `--set KEY=VALUE` arguments.
pub fn apply_settings(scenario: &mut Scenario, settings: &[String]) -> Result<(), Failure> {
    for setting in settings {
        let (key, value) = setting.split_once('=').ok_or_else(|| {
            Failure::Wrong(format!(
                "--set {setting}: expected KEY=VALUE, such as rtt=80ms"
            ))
        })?;
        let set = scenario.set(key, value);
        set.map_err(|e| Failure::Wrong(format!("--set {e}")))?;
    }
    Ok(())
}

impl Args {
    fn keep(&self) -> Keep {
        match self.all_rows {
            true => Keep::All,
            false => Keep::Telling,
        }
    }

    /// Whether it takes rights to make namespaces and devices.
    pub fn on(&self) -> On {
        self.on
    }

    /// Who plays on the stages with real packets.
    fn all_ends(&self) -> Result<Vec<Ends>, Failure> {
        let [client, server] = [self.client, self.server].map(|stack| stack.map(Into::into));
        let mixed = client.is_some() || server.is_some();
        if mixed && self.on.real().len() != 1 {
            let line = "--client, --server: expected beside --on net or --on kernel";
            return Err(Failure::Wrong(line.into()));
        }
        if self.on == On::All && self.events.is_some() {
            let line = "--events: expected beside one stage: --on sim, net or kernel";
            return Err(Failure::Wrong(line.into()));
        }
        let stages = self.on.real().iter();
        Ok(stages
            .filter_map(|stage| Ends::new(*stage, client, server))
            .collect())
    }
}

pub fn run(args: &Args) -> Result<(), Failure> {
    if args.all_rows && args.format != Format::Table {
        let line = "--all-rows: of the table; --format json and csv have all figures";
        return Err(Failure::Wrong(line.into()));
    }
    if args.report.is_some() && args.format != Format::Table {
        let line = "--report: chooses the table; --format json and csv have all figures";
        return Err(Failure::Wrong(line.into()));
    }
    let mut scenario = Scenario::load(&args.scenario)?;
    apply_settings(&mut scenario, &args.settings)?;
    if !args.profile.is_empty() {
        let profiles = args.profile.iter().map(|text| {
            let several = match text.contains(',') {
                true => "; for several, repeat --profile",
                false => "",
            };
            parse_profile(text)
                .map_err(|e| Failure::Wrong(format!("--profile {text}: {e}{several}")))
        });
        scenario.profiles = profiles.collect::<Result<_, _>>()?;
    }
    scenario.flows = args.flows.unwrap_or(scenario.flows);
    scenario.seed = args.seed.unwrap_or(scenario.seed);
    scenario.check().map_err(Failure::Wrong)?;
    let all_ends = args.all_ends()?;
    let mut notes = effect::notes_on_no_effect(&scenario);
    if all_ends.iter().any(|ends| !ends.has_profiles())
        && !args.profile.is_empty()
        && args.on == On::Kernel
    {
        notes.push("--profile has no effect: the kernel is at both ends".into());
    }
    notes.extend(stage::notes(&scenario, args.on.simulates(), &all_ends));
    if args.events.is_some() {
        notes.extend(all_ends.iter().filter_map(|ends| ends.events_note()));
    }
    for note in notes {
        eprintln!("recoup: note: {note}");
    }
    check_outputs(&scenario, args, &all_ends)?;
    let mut results = if !args.on.simulates() {
        vec![]
    } else if args.pcap.is_some() || args.events.is_some() {
        run_with_outputs(&scenario, args)?
    } else {
        let bar = progress(simulated(&scenario));
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let results = run_scenario(&scenario, threads, |n| bar.inc(n))?;
        bar.finish_and_clear();
        results
    };
    for ends in all_ends {
        results.extend(run_for_real(&scenario, ends, args)?);
    }
    let dropped: u64 = results.iter().map(|r| r.cost.packets_dropped).sum();
    if dropped == 0
        && scenario
            .settings
            .get("drop")
            .is_some_and(|drop| drop != "none")
    {
        let drop = scenario.settings.get("drop").unwrap_or_default();
        let why = match drop.contains("up:") {
            true => "",
            false => "; without up: it is of what the server sends",
        };
        eprintln!("recoup: note: drop={drop} met no packet{why}");
    }
    if args.events.as_deref() == Some(Path::new("-")) {
        return Ok(());
    }
    let report = Report::new(&scenario, &results);
    match args.format {
        Format::Table => {
            let view = args.report.map_or(View::default(), Shown::view);
            print(&report.to_table(view, args.keep()))
        }
        Format::Json => print(&report.to_json()),
        Format::Csv => print(&report.to_csv()),
    }
}

/// The flows on a stage with real packets.
#[cfg(target_os = "linux")]
fn run_for_real(
    scenario: &Scenario,
    ends: Ends,
    args: &Args,
) -> Result<Vec<ProfileResult>, Failure> {
    let profiles = if ends.has_profiles() {
        scenario.profiles.len() as u64
    } else {
        1
    };
    let flows = scenario.flows.saturating_mul(profiles);
    let bar = progress(flows);
    bar.set_prefix(format!("{} ", ends.stage.name()));
    let lanes = stage::lanes(&scenario.settings, flows);
    let mut file = args.events.as_deref().map(EventFile::open).transpose()?;
    let target = file.as_mut().map(|file| file as &mut (dyn Write + Send));
    let mut events = target.map(|target| EventWriter::new(target, ""));
    let outputs = stage::Outputs {
        pcap: args.pcap.as_deref(),
        events: events.as_mut(),
    };
    let results = Testbeds.run(scenario, ends, lanes, outputs, &|n| bar.inc(n))?;
    bar.finish_and_clear();
    let written = events.map_or(Ok(()), |events| events.finish().map(drop));
    if let (Some(file), Some(path)) = (file, args.events.as_deref()) {
        complete_events(written.and_then(|()| file.publish()), path)?;
    }
    Ok(results)
}

/// Where there are no TUN devices and network namespaces.
#[cfg(not(target_os = "linux"))]
fn run_for_real(_: &Scenario, ends: Ends, _: &Args) -> Result<Vec<ProfileResult>, Failure> {
    let stage = ends.stage.name();
    Err(Failure::Wrong(format!(
        "--on {stage}: real packets need Linux"
    )))
}

/// Checks that every file to be written has a name of its own, which is no input's.
fn check_outputs(scenario: &Scenario, args: &Args, all_ends: &[Ends]) -> Result<(), Failure> {
    if args.pcap.is_none() && args.events.is_none() {
        return Ok(());
    }
    let twice = |(i, p): &(usize, &Profile)| scenario.profiles[..*i].contains(p);
    if let Some((_, profile)) = scenario.profiles.iter().enumerate().find(twice) {
        let line = format!("profile {profile} is given twice: its files would have one name");
        return Err(Failure::Wrong(line));
    }
    let captures = args.pcap.iter().flat_map(|dir| {
        let profiles = scenario.profiles.iter().filter(|_| args.on.simulates());
        let simulated = profiles.map(|profile| CapturePaths::new(dir, profile.name()));
        let real = all_ends
            .iter()
            .flat_map(|ends| real_captures(scenario, *ends, dir));
        simulated.chain(real)
    });
    let captures = captures.flat_map(|paths| [paths.server, paths.client]);
    for output in args.events.iter().cloned().chain(captures) {
        if let Some(input) = scenario.files().find(|input| same_file(input, &output)) {
            let (output, input) = (output.display(), input.display());
            let line = format!("cannot write `{output}`: it is `{input}`, which is read");
            return Err(Failure::Wrong(line));
        }
    }
    Ok(())
}

#[cfg(target_os = "linux")]
fn real_captures(scenario: &Scenario, ends: Ends, dir: &Path) -> Vec<CapturePaths> {
    recoup_api::testbeds::capture_paths(scenario, ends, dir)
}

#[cfg(not(target_os = "linux"))]
fn real_captures(_: &Scenario, _: Ends, _: &Path) -> Vec<CapturePaths> {
    vec![]
}

/// Flow after flow on one core, so that files tell them in order. All files are begun before the
/// first flow runs and complete after the last, or not there at all.
fn run_with_outputs(scenario: &Scenario, args: &Args) -> Result<Vec<ProfileResult>, Failure> {
    let paths = |profile: &Profile| {
        let dir = args.pcap.as_deref();
        dir.map(|dir| CapturePaths::new(dir, profile.name()))
    };
    let events = args.events.as_deref().map(EventFile::open).transpose()?;
    let mut events = events.map(|file| EventWriter::new(file, ""));
    let capture = |profile: &Profile| {
        paths(profile)
            .map(|paths| Capture::create(&paths))
            .transpose()
    };
    let mut captures = scenario
        .profiles
        .iter()
        .map(capture)
        .collect::<Result<Vec<_>, _>>()?;
    let bar = progress(simulated(scenario));
    let mut results = Vec::new();
    for (profile, capture) in scenario.profiles.iter().zip(&mut captures) {
        if let Some(events) = &mut events {
            events.set_profile(profile.name());
        }
        let mut observer = (capture.as_mut(), events.as_mut());
        results.push(run_observed(scenario, profile, &mut observer, |n| {
            bar.inc(n)
        })?);
    }
    bar.finish_and_clear();
    captures
        .into_iter()
        .flatten()
        .try_for_each(Capture::finish)?;
    if let (Some(events), Some(path)) = (events, args.events.as_deref()) {
        complete_events(events.finish().and_then(EventFile::publish), path)?;
    }
    Ok(results)
}

/// What to make of events written to `path`, or not.
fn complete_events(written: std::io::Result<()>, path: &Path) -> Result<(), Failure> {
    match written {
        // As in `print`: a reader that has had enough is no error.
        Err(e) if path == Path::new("-") && e.kind() == ErrorKind::BrokenPipe => Ok(()),
        written => {
            written.map_err(|e| Failure::Wrong(format!("cannot write `{}`: {e}", path.display())))
        }
    }
}

/// Where events go.
enum EventFile {
    StandardOutput(std::io::Stdout),
    File(OutputFile),
}

impl EventFile {
    fn open(path: &Path) -> Result<Self, Failure> {
        Ok(match path == Path::new("-") {
            true => Self::StandardOutput(std::io::stdout()),
            false => Self::File(OutputFile::create(path)?),
        })
    }

    fn publish(self) -> std::io::Result<()> {
        match self {
            Self::StandardOutput(_) => Ok(()),
            Self::File(file) => file.publish().map_err(|e| e.source),
        }
    }
}

impl Write for EventFile {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        match self {
            Self::StandardOutput(out) => out.write(bytes),
            Self::File(file) => file.write(bytes),
        }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        match self {
            Self::StandardOutput(out) => out.flush(),
            Self::File(file) => file.flush(),
        }
    }
}

/// Flows the simulator runs.
fn simulated(scenario: &Scenario) -> u64 {
    let profiles = scenario.profiles.len() as u64;
    scenario.flows.saturating_mul(profiles)
}

/// A bar that appears when standard error is a terminal and the run is not over at once.
pub fn progress(flows: u64) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(flows), ProgressDrawTarget::stderr_with_hz(5));
    let style =
        ProgressStyle::with_template("{prefix}{wide_bar} {human_pos}/{human_len} flows{left}");
    // Before the first flow is through nobody knows how long the others take.
    let left = |state: &ProgressState, to: &mut dyn std::fmt::Write| {
        let known = state.pos() > 0;
        let _ = known.then(|| write!(to, ", {:#} left", HumanDuration(state.eta())));
    };
    if let Ok(style) = style {
        bar.set_style(style.with_key("left", left));
    }
    bar
}
