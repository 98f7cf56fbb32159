//! `recoup run`.

use crate::Failure;
use crate::output::{Format, print};
use clap::ValueEnum;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use recoup_lab::capture::{Capture, CapturePaths};
use recoup_lab::effect;
use recoup_lab::events::EventWriter;
use recoup_lab::output_file::{OutputFile, same_file};
use recoup_lab::report::{Report, View};
use recoup_lab::run::{ProfileResult, run as run_scenario, run_observed};
use recoup_lab::scenario::{Scenario, parse_profile};
use recoup_recovery::Profile;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

const HELP: &str = "\
FCT is the flow completion time: from the client's first SYN until the last byte of data has
been delivered to the client. \"FCT mean / first profile's\" (fct_normalised in JSON and CSV)
is a profile's mean over that of the first profile.";

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

pub fn run(args: &Args) -> Result<(), Failure> {
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
    for note in effect::notes(&scenario) {
        eprintln!("recoup: note: {note}");
    }
    let results = if args.pcap.is_some() || args.events.is_some() {
        run_with_outputs(&scenario, args)?
    } else {
        let bar = progress(&scenario);
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let results = run_scenario(&scenario, threads, |n| bar.inc(n))?;
        bar.finish_and_clear();
        results
    };
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
            print(&heading(&scenario)).and_then(|()| print(&report.to_table(view)))
        }
        Format::Json => print(&report.to_json()),
        Format::Csv => print(&report.to_csv()),
    }
}

/// Flow after flow on one core, so that files tell them in order. All files are begun before the
/// first flow runs and complete after the last, or not there at all.
fn run_with_outputs(scenario: &Scenario, args: &Args) -> Result<Vec<ProfileResult>, Failure> {
    let twice = |(i, p): &(usize, &Profile)| scenario.profiles[..*i].contains(p);
    if let Some((_, profile)) = scenario.profiles.iter().enumerate().find(twice) {
        let line = format!("profile {profile} is given twice: its files would have one name");
        return Err(Failure::Wrong(line));
    }
    let paths = |profile: &Profile| {
        let dir = args.pcap.as_deref();
        dir.map(|dir| CapturePaths::new(dir, profile.name()))
    };
    let captures = scenario.profiles.iter().filter_map(paths);
    let captures = captures.flat_map(|paths| [paths.server, paths.client]);
    for output in args.events.iter().cloned().chain(captures) {
        if let Some(input) = scenario.files().find(|input| same_file(input, &output)) {
            let (output, input) = (output.display(), input.display());
            let line = format!("cannot write `{output}`: it is `{input}`, which is read");
            return Err(Failure::Wrong(line));
        }
    }
    let mut events = args.events.as_deref().map(open_events).transpose()?;
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
    let bar = progress(scenario);
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
        match events.finish().and_then(EventFile::publish) {
            // As in `print`: a reader that has had enough is no error.
            Err(e) if path == Path::new("-") && e.kind() == ErrorKind::BrokenPipe => {}
            written => written
                .map_err(|e| Failure::Wrong(format!("cannot write `{}`: {e}", path.display())))?,
        }
    }
    Ok(results)
}

/// Where events go.
enum EventFile {
    StandardOutput(std::io::Stdout),
    File(OutputFile),
}

fn open_events(path: &Path) -> Result<EventWriter<EventFile>, Failure> {
    let file = match path == Path::new("-") {
        true => EventFile::StandardOutput(std::io::stdout()),
        false => EventFile::File(OutputFile::create(path)?),
    };
    Ok(EventWriter::new(file, ""))
}

impl EventFile {
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

/// What is run, with all that is in force and not at its usual value.
fn heading(scenario: &Scenario) -> String {
    let usual = recoup_lab::settings::Settings::default();
    let shown = ["rtt", "rate", "segments", "drop", "ack", "timers"];
    let settings: Vec<String> = effect::in_force(&scenario.settings)
        .into_iter()
        .filter(|(name, value)| shown.contains(name) || usual.get(name).as_ref() != Some(value))
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    format!(
        "{} seed={} {}\n\n",
        scenario.name,
        scenario.seed,
        settings.join(" ")
    )
}

/// A bar that appears when standard error is a terminal and the run is not over at once.
fn progress(scenario: &Scenario) -> ProgressBar {
    let flows = scenario
        .flows
        .saturating_mul(scenario.profiles.len() as u64);
    let bar = ProgressBar::with_draw_target(Some(flows), ProgressDrawTarget::stderr_with_hz(5));
    let style =
        ProgressStyle::with_template("{wide_bar} {human_pos}/{human_len} flows, {eta} left");
    if let Ok(style) = style {
        bar.set_style(style);
    }
    bar
}
