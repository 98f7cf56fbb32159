//! The command line of `recoup paper`: the program `recoup-papers`.

mod bar;
mod deliver;
mod document;
mod fit;
#[cfg(target_os = "linux")]
mod guarded;
mod list;
mod mutations;
mod pages;

use crate::experiment::{self, Effort, Experiment};
use crate::fit::{Change, used_by};
use crate::ledger;
use crate::run::{self, PaperError, Planned, Request};
use bar::ExperimentBar;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{CommandFactory, Parser, Subcommand};
use deliver::{ResultFolder, check_claims, deliver};
use pages::PageArgs;
use recoup::commands::run::{Stages, apply_settings};
use recoup::output::{Format, format_parser};
use recoup::program::{OutputArgs, parse};
use recoup::{Failure, console, interrupt};
use std::ffi::OsString;
use std::path::PathBuf;

/// The most users of a data center: more do not fit in the memory of a usual machine.
const MOST_USERS: i64 = 5_000_000;

/// The formats that figures can be printed in.
const FORMATS: &[Format] = &[Format::Table, Format::Json, Format::Csv, Format::Svg];

/// The formats that the ledger of all papers can be printed in.
const LEDGER_FORMATS: &[Format] = &[Format::Table, Format::Json];

const HELP: &str = "\
Exit status: 0 when every claim has the verdict of the committed ledger (docs/claims), 1 when one has
another (`FAILS (expected: holds)`), 2 wrong use. A claim that is known not to hold
(`FAILS (expected)`) has a note below the table that says why; it is no failure.

An interrupt (Ctrl-C) gives up the experiment under way; those that are finished are printed, and
written with --out. The exit status is then 130. With --on, it ends the program at once.";

const LIST_HELP: &str = "\
`recoup paper` alone lists every experiment with what its claims say and the time it takes, as `recoup paper list`.

`recoup paper all --out DIR` runs them all and writes DIR/report.html: every figure beside the claims of
the paper about it, and the ledger of all claims.

Exit status: 0 when every claim has the verdict of the committed ledger (docs/claims), 1 when one has
another, 2 wrong use.";

/// Repeat the experiments of papers: figures, and the verdicts on their claims
#[derive(Parser)]
#[command(name = "recoup paper", bin_name = "recoup paper", version, after_help = LIST_HELP)]
struct Args {
    #[command(subcommand)]
    paper: Option<Paper>,
    #[command(flatten)]
    output: OutputArgs,
}

#[derive(Subcommand)]
enum Paper {
    /// All experiments of the four papers and of our finding: report, figures and the ledger of claims
    All(All),
    /// Rajiullah et al. 2015, "An Evaluation of Tail Loss Recovery Mechanisms for TCP"
    TailLoss(TailLoss),
    /// Dukkipati et al. 2011, "Proportional Rate Reduction for TCP"
    Prr(Prr),
    /// "Selective Loss Prevention" (2021)
    Slp(Slp),
    /// Rewaskar et al. 2007, "A Performance Study of Loss Detection/Recovery in Real-world TCP
    /// Implementations", for simulated populations
    LossDetection(LossDetection),
    /// What Linux 6 leaves on the table, and the simplest change that takes most of it (ours, docs/finding.md)
    Finding(Finding),
    /// Show the populations that were fitted to a paper's baseline, measure them again, or search for better ones
    Fit(fit::Args),
    /// List papers, experiments and claims by name, and what each command takes
    List(list::Args),
    /// Break each experiment on purpose, and check that the claims notice
    Mutations(mutations::Args),
    /// Everything about experiments as one JSON document, for the Python package
    #[command(hide = true)]
    Document(document::Args),
}

#[derive(clap::Args)]
#[command(after_help = HELP)]
struct All {
    /// Take two minutes in place of fifteen: with fewer flows, which leave more claims undecided
    #[arg(long)]
    quick: bool,
    /// Write the report, the ledger and every figure into this folder
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    #[command(flatten)]
    update: Update,
    /// Format of the ledger
    #[arg(long, value_parser = format_parser(LEDGER_FORMATS), default_value = "table")]
    format: Format,
}

#[derive(clap::Args)]
#[command(after_help = HELP)]
struct TailLoss {
    /// Figures to regenerate [default: all]
    #[arg(value_parser = experiments("tail-loss"))]
    figures: Vec<&'static Experiment>,
    /// Change a setting of every cell, except rtt, drop and ack (see `recoup scenario list`); claims may
    /// then fail
    #[arg(long = "set", value_name = "KEY=VALUE")]
    settings: Vec<String>,
    /// Where to run the cells; real packets take minutes, and need root or user namespaces
    #[arg(long, value_name = "STAGE", value_enum, default_value_t = Stages::Sim)]
    on: Stages,
    /// Connection vectors of Tmix for the background of fig3, in both directions [default: a synthetic mix]
    #[arg(long, value_name = "FILE")]
    background: Option<PathBuf>,
    #[command(flatten)]
    pages: PageArgs,
    #[command(flatten)]
    common: Common,
}

#[derive(clap::Args)]
#[command(after_help = HELP)]
struct Prr {
    /// Figures to regenerate [default: all]
    #[arg(value_parser = experiments("prr"))]
    figures: Vec<&'static Experiment>,
    /// Change a setting of every cell, except drop, writes and ack, and in `properties` except segments,
    /// reorder and duplicate; in `web`, `video` and `early` settings of the hosts alone (see `recoup scenario list`);
    /// claims may then fail
    #[arg(long = "set", value_name = "KEY=VALUE")]
    settings: Vec<String>,
    /// Users of web, video and early, at least 2; with fewer than the default, claims may be undecided or fail [default:
    /// web 300000, video 3000, early 150000]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=MOST_USERS))]
    users: Option<u32>,
    #[command(flatten)]
    common: Common,
}

#[derive(clap::Args)]
#[command(after_help = HELP)]
struct Slp {
    /// Figures to regenerate [default: all]
    #[arg(value_parser = experiments("slp"))]
    figures: Vec<&'static Experiment>,
    /// Seed of everything random [default: the scenario's]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Fetch as in fig7 on this machine's kernel, without and with `recoup guard copies` at the client, and in the simulator. Needs
    /// root; without it, nothing is fetched
    #[cfg(target_os = "linux")]
    #[arg(long, conflicts_with_all = ["figures", "quick", "mutate", "parameters", "out", "update_ledger", "format"])]
    guarded: bool,
    #[command(flatten)]
    common: Common,
}

#[derive(clap::Args)]
#[command(after_help = HELP)]
struct LossDetection {
    /// Figures to regenerate [default: all]
    #[arg(value_parser = experiments("loss-detection"))]
    figures: Vec<&'static Experiment>,
    /// Seed of everything random; with another than the scenario's, claims may fail [default: the scenario's]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    #[command(flatten)]
    common: Common,
}

#[derive(clap::Args)]
#[command(after_help = HELP)]
struct Finding {
    /// Figures to regenerate [default: all]
    #[arg(value_parser = experiments("finding"))]
    figures: Vec<&'static Experiment>,
    #[command(flatten)]
    common: Common,
}

/// The arguments of every paper's figures.
#[derive(clap::Args)]
struct Common {
    /// Run a fraction of the flows: less time, and more claims that the data do not decide
    #[arg(long)]
    quick: bool,
    /// Break the experiment on purpose (see `recoup paper mutations`); needs the name of one figure
    #[arg(long, value_name = "NAME", conflicts_with = "update_ledger")]
    mutate: Option<String>,
    /// Change a parameter of the population (see `recoup paper fit --list`); claims may then fail. Can be repeated
    #[arg(long = "parameter", value_name = "NAME=VALUE", conflicts_with = "update_ledger")]
    parameters: Vec<Change>,
    /// Write each figure as .svg, .pdf, .png, .json and .csv into this folder, each panel of a time–sequence
    /// diagram as .xpl, and the claims as ledger.json
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    #[command(flatten)]
    update: Update,
    /// Format of the figures: a table with claims, JSON (one object per figure), CSV (data
    /// alone), or SVG
    #[arg(long, value_parser = format_parser(FORMATS), default_value = "table")]
    format: Format,
}

#[derive(clap::Args)]
struct Update {
    /// Record the results in the ledgers in this folder (in the source: crates/papers/ledger): they are expected from
    /// then on
    #[arg(long, value_name = "DIR", hide_short_help = true)]
    update_ledger: Option<PathBuf>,
}

/// The names of a paper's experiments, as values of an argument.
fn experiments(paper: &'static str) -> impl TypedValueParser<Value = &'static Experiment> {
    let of = move || experiment::all().filter(move |one| one.paper == paper);
    let names = of().map(|one| PossibleValue::new(one.name).help(one.about));
    let named = move |name: String| of().find(|one| one.name == name).ok_or("expected one of the possible values");
    PossibleValuesParser::new(names).try_map(named)
}

/// The experiments named, or all of the paper.
fn named_or_all(named: &[&'static Experiment], paper: &str) -> Vec<&'static Experiment> {
    if named.is_empty() { experiment::all().filter(|one| one.paper == paper).collect() } else { named.to_vec() }
}

const fn effort(quick: bool) -> Effort {
    if quick { Effort::Quick } else { Effort::Full }
}

/// Where the results go.
struct Output<'a> {
    effort: Effort,
    /// Whether the ledger is what is printed, and the report what is written: all papers.
    is_whole: bool,
    out: Option<&'a PathBuf>,
    /// The folder of ledgers that record the results.
    update: Option<&'a PathBuf>,
    format: Format,
}

impl Common {
    fn output(&self) -> Output<'_> {
        Output {
            effort: effort(self.quick),
            is_whole: false,
            out: self.out.as_ref(),
            update: self.update.update_ledger.as_ref(),
            format: self.format,
        }
    }

    /// The experiments with their setups: settings and seed as given, and broken as asked for.
    fn plan(
        &self,
        experiments: &[&'static Experiment],
        settings: &[String],
        seed: Option<u64>,
    ) -> Result<Vec<Planned>, Failure> {
        let is_changed = |key: &str| {
            let given = |setting: &String| setting.trim_start().starts_with(&format!("{key}="));
            settings.iter().any(given)
        };
        let planned = run::plan(experiments, effort(self.quick), is_changed, |base| {
            apply_settings(base, settings)?;
            base.seed = seed.unwrap_or(base.seed);
            Ok::<(), Failure>(())
        })?;
        let mut planned = match &self.mutate {
            Some(name) => mutations::break_one(planned, name)?,
            None => planned,
        };
        let fits: Vec<_> = experiments.iter().flat_map(|one| used_by(&one.title()).collect::<Vec<_>>()).collect();
        fit::check_names(&self.parameters, &fits)?;
        for Planned { setup, .. } in &mut planned {
            setup.changes.clone_from(&self.parameters);
        }
        Ok(planned)
    }
}

/// All commands with their options, for manual pages and completions.
pub fn command() -> clap::Command {
    Args::command()
}

/// Runs the command that `arguments` name, the program's name first, and returns the exit status. It handles signals,
/// so a process calls it once, from its main thread.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    let args: Args = match parse(arguments) {
        Ok(args) => args,
        Err(status) => return status,
    };
    args.output.apply();
    // User namespaces can be entered only while the process has one thread.
    #[cfg(target_os = "linux")]
    if !args.on().real().is_empty()
        && let Err(e) = recoup::testbeds::prepare()
    {
        return Failure::from(e).exit();
    }
    interrupt::watch();
    execute(&args).map_or_else(Failure::exit, |()| 0)
}

fn execute(args: &Args) -> Result<(), Failure> {
    let simulated = |planned, output: &Output<'_>| {
        let request = Request { planned, simulate: true, real: vec![] };
        run_and_deliver(&request, output)
    };
    match &args.paper {
        None => list::run_all(),
        Some(Paper::List(args)) => list::run(args),
        Some(Paper::All(args)) => {
            let experiments: Vec<&Experiment> = experiment::all().collect();
            let planned = run::plan(&experiments, effort(args.quick), |_| false, |_| Ok::<(), PaperError>(()))?;
            let output = Output {
                effort: effort(args.quick),
                is_whole: true,
                out: args.out.as_ref(),
                update: args.update.update_ledger.as_ref(),
                format: args.format,
            };
            simulated(planned, &output)
        }
        Some(Paper::TailLoss(args)) => {
            let figures = named_or_all(&args.figures, "tail-loss");
            let mut planned = args.common.plan(&figures, &args.settings, None)?;
            let pages = args.pages.read()?;
            for Planned { setup, .. } in &mut planned {
                setup.background.clone_from(&args.background);
                setup.pages = pages.clone();
            }
            let request = Request { planned, simulate: args.on.simulates(), real: args.on.real().to_vec() };
            run_and_deliver(&request, &args.common.output())
        }
        Some(Paper::Prr(args)) => {
            let figures = named_or_all(&args.figures, "prr");
            let mut planned = args.common.plan(&figures, &args.settings, None)?;
            for Planned { setup, .. } in &mut planned {
                setup.users = args.users;
            }
            simulated(planned, &args.common.output())
        }
        #[cfg(target_os = "linux")]
        Some(Paper::Slp(args)) if args.guarded => guarded::run(args.seed.unwrap_or(1)),
        Some(Paper::Slp(args)) => {
            let figures = named_or_all(&args.figures, "slp");
            let planned = args.common.plan(&figures, &[], args.seed)?;
            simulated(planned, &args.common.output())
        }
        Some(Paper::LossDetection(args)) => {
            let figures = named_or_all(&args.figures, "loss-detection");
            let planned = args.common.plan(&figures, &[], args.seed)?;
            simulated(planned, &args.common.output())
        }
        Some(Paper::Finding(args)) => {
            let figures = named_or_all(&args.figures, "finding");
            let planned = args.common.plan(&figures, &[], None)?;
            simulated(planned, &args.common.output())
        }
        Some(Paper::Fit(args)) => fit::run(args),
        Some(Paper::Mutations(args)) => mutations::run(args),
        Some(Paper::Document(args)) => document::run(args),
    }
}

impl Args {
    /// The stages asked for.
    fn on(&self) -> Stages {
        match &self.paper {
            Some(Paper::TailLoss(args)) => args.on,
            _ => Stages::Sim,
        }
    }
}

/// Runs experiments, prints and writes their results, and fails when a claim's verdict is not the expected one.
fn run_and_deliver(request: &Request, output: &Output<'_>) -> Result<(), Failure> {
    if output.format == Format::Svg && request.planned.len() != 1 {
        return Err(Failure::Wrong("--format svg: name the one figure to print, or use --out for all".into()));
    }
    let folder = output.out.map(|dir| ResultFolder::create(dir)).transpose()?;
    request.notes().iter().for_each(console::note);
    let bar = ExperimentBar::new(request, output.effort, output.is_whole);
    if !request.real.is_empty() {
        let finished = request.run(&bar)?;
        deliver(&finished, output)?;
        return check_claims(&finished.runs);
    }
    interrupt::defer();
    let outcome = request.run(&bar);
    let is_interrupted = interrupt::stop_deferring();
    let delivered = outcome.map_err(Failure::from).and_then(|finished| deliver(&finished, output).map(|()| finished));
    if is_interrupted {
        match &delivered {
            Ok(finished) => deliver::note_missing(&finished.missing),
            Err(failure) => failure.print(),
        }
        drop(folder);
        interrupt::exit();
    }
    let finished = delivered?;
    match output.update {
        Some(folder) => Ok(ledger::record(folder, output.effort, finished.sheets())?),
        None => check_claims(&finished.runs),
    }
}
