//! `recoup paper`.

mod pages;

use crate::output::{Format, format_parser, print};
use crate::run::{Stages, apply_settings, progress};
use crate::{Failure, console, interrupt};
use clap::{Subcommand, ValueEnum};
use indicatif::{ProgressBar, ProgressStyle};
use pages::PageArgs;
use recoup_api::paper::{self, Figure, Progress, Request};
use recoup_lab::output_file::{OutputFile, create_folder};
use recoup_lab::stage::Stage;
use recoup_papers::Sheet;
use recoup_papers::tail_loss::web::Pages;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// The most users of a data center: more do not fit in the memory of a usual machine.
const MOST_USERS: i64 = 5_000_000;

/// The formats that figures can be printed in.
const FORMATS: &[Format] = &[Format::Table, Format::Json, Format::Csv, Format::Svg];

const HELP: &str = "\
Exit status: 0 when every claim has its expected verdict, 1 when one has another
(`FAILS (expected: holds)`), 2 wrong use. A claim that is known not to hold
(`FAILS (expected)`) has a note below the table that says why; it is no failure.

An interrupt (Ctrl-C) gives up the figure under way; those that are finished are printed, and
written with --out. The exit status is then 130. With --on, it ends the program at once.";

#[derive(clap::Args)]
#[command(after_help = HELP)]
pub struct Args {
    #[command(subcommand)]
    paper: Paper,
}

#[derive(Subcommand)]
enum Paper {
    /// Rajiullah et al. 2015, "An Evaluation of Tail Loss Recovery Mechanisms for TCP", section 3.1
    TailLoss(TailLoss),
    /// Dukkipati et al. 2011, "Proportional Rate Reduction for TCP", sections 4.1, 4.3, 5 and 6
    Prr(Prr),
    /// "Selective Loss Prevention" (2021), sections II and III
    Slp(Slp),
    /// Rewaskar et al. 2007, "A Performance Study of Loss Detection/Recovery in Real-world TCP
    /// Implementations", section V-A, for simulated populations
    LossDetection(LossDetection),
}

#[derive(clap::Args)]
#[command(after_help = HELP)]
struct TailLoss {
    /// Figures to regenerate [default: all]
    #[arg(value_enum)]
    figures: Vec<TailLossFigure>,
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
    output: Output,
}

#[derive(clap::Args)]
#[command(after_help = HELP)]
struct Prr {
    /// Figures to regenerate [default: all]
    #[arg(value_enum)]
    figures: Vec<PrrFigure>,
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
    output: Output,
}

#[derive(clap::Args)]
#[command(after_help = HELP)]
struct Slp {
    /// Figures to regenerate [default: all]
    #[arg(value_enum)]
    figures: Vec<SlpFigure>,
    /// Seed of everything random [default: the scenario's]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    #[command(flatten)]
    output: Output,
}

#[derive(clap::Args)]
#[command(after_help = HELP)]
struct LossDetection {
    /// Figures to regenerate [default: all]
    #[arg(value_enum)]
    figures: Vec<LossDetectionFigure>,
    /// Seed of everything random; with another than the scenario's, claims may fail [default: the scenario's]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    #[command(flatten)]
    output: Output,
}

/// Where the figures go.
#[derive(clap::Args)]
struct Output {
    /// Write each figure as .svg, .json and .csv into this folder, and each panel of a time–sequence
    /// diagram as .xpl
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Format of the figures: a table with claims, JSON (one object per figure), CSV (data
    /// alone), or SVG
    #[arg(long, value_parser = format_parser(FORMATS), default_value = "table")]
    format: Format,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum TailLossFigure {
    /// One segment lost, RTT 10 to 640 ms
    Fig1,
    /// One to five segments lost, RTT 80 ms
    Fig2,
    /// Flows of 4 to 100 segments beside Tmix traffic on a congested bottleneck
    Fig3,
    /// Web pages over six persistent connections per subdomain
    Fig4,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum PrrFigure {
    /// PRR, Linux's rate halving and RFC 3517: segments 1 to 4 of 20 lost
    Fig2,
    /// PRR under heavy loss: segments 1 to 4 and 11 to 16 of 20
    Fig3,
    /// PRR saves up transmissions while the application has no data
    Fig4,
    /// Section 4.3's properties, checked in every recovery of thousands of flows
    Properties,
    /// Section 5.3: web servers with PRR, RFC 3517 and rate halving (tables 2, 3 and 5 to 9, figures 1 and 5)
    Web,
    /// Section 5.4: video servers with the same three (tables 2, 3 and 10)
    Video,
    /// Section 6: early retransmit, naive and mitigated (table 11)
    Early,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum SlpFigure {
    /// Goodput of ARQ and of FEC for all packets: computed and simulated
    Fec,
    /// Timeouts by position of the lost packet, in a simulated population
    Fig1,
    /// Timeouts by flags of the lost packet, in the same population
    Fig3,
    /// The bandwidth above which a packet is copied
    Arbitrator,
    /// Completion times of flows with SYN loss: computed as in the paper, and run again
    Table1,
    /// Completion times of fifty fetches of 34 kB, and how likely fifty fetches show them
    Fig7,
    /// Fetches of 0.25 kB to 8 MB
    Sizes,
    /// SLP beside RTO restart and tail loss probes: a tail, a SYN or a SYN-ACK lost
    Tails,
    /// Latency saved against bytes added, with and without SLP, random and bursty losses
    Combined,
    /// SLP on a shared bottleneck: what copies save and what they cost others, by load
    Congestion,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum LossDetectionFigure {
    /// Tables I, III and IV, and how long recoveries take by the number of segments lost
    Tables,
    /// Bytes per connection
    Fig1,
    /// How long FR/R and timeouts took to detect losses
    Fig2,
    /// How much ideal loss detection would shorten connections
    Fig3,
    /// What other k (and m) would save
    Fig4,
    /// What another minimum RTO would save
    Fig5a,
    /// What other a and b would save
    Fig5b,
}

/// What is asked of the figures of a paper, besides their names.
struct Asked<'a> {
    settings: &'a [String],
    seed: Option<u64>,
    on: Stages,
    background: Option<&'a Path>,
    pages: Pages,
    users: Option<u32>,
    output: &'a Output,
}

impl<'a> Asked<'a> {
    /// Simulated figures as the paper has them.
    fn new(output: &'a Output) -> Self {
        Self {
            settings: &[],
            seed: None,
            on: Stages::Sim,
            background: None,
            pages: Pages::default(),
            users: None,
            output,
        }
    }
}

pub fn run(args: &Args) -> Result<(), Failure> {
    match &args.paper {
        Paper::TailLoss(args) => {
            let asked = Asked {
                settings: &args.settings,
                on: args.on,
                background: args.background.as_deref(),
                pages: args.pages.read()?,
                ..Asked::new(&args.output)
            };
            regenerate(&named_or_all(&args.figures), &asked)
        }
        Paper::Prr(args) => {
            let asked = Asked {
                settings: &args.settings,
                users: args.users,
                ..Asked::new(&args.output)
            };
            regenerate(&named_or_all(&args.figures), &asked)
        }
        Paper::Slp(args) => {
            let asked = Asked {
                seed: args.seed,
                ..Asked::new(&args.output)
            };
            regenerate(&named_or_all(&args.figures), &asked)
        }
        Paper::LossDetection(args) => {
            let asked = Asked {
                seed: args.seed,
                ..Asked::new(&args.output)
            };
            regenerate(&named_or_all(&args.figures), &asked)
        }
    }
}

impl Args {
    /// The stages asked for.
    pub fn on(&self) -> Stages {
        match &self.paper {
            Paper::TailLoss(args) => args.on,
            Paper::Prr(_) | Paper::Slp(_) | Paper::LossDetection(_) => Stages::Sim,
        }
    }
}

/// A figure's name on the command line.
trait Named: ValueEnum + 'static {
    fn figure(&self) -> Figure;
}

impl Named for TailLossFigure {
    fn figure(&self) -> Figure {
        match self {
            Self::Fig1 => Figure::TailLossFig1,
            Self::Fig2 => Figure::TailLossFig2,
            Self::Fig3 => Figure::TailLossFig3,
            Self::Fig4 => Figure::TailLossFig4,
        }
    }
}

impl Named for PrrFigure {
    fn figure(&self) -> Figure {
        match self {
            Self::Fig2 => Figure::PrrFig2,
            Self::Fig3 => Figure::PrrFig3,
            Self::Fig4 => Figure::PrrFig4,
            Self::Properties => Figure::PrrProperties,
            Self::Web => Figure::PrrWeb,
            Self::Video => Figure::PrrVideo,
            Self::Early => Figure::PrrEarly,
        }
    }
}

impl Named for SlpFigure {
    fn figure(&self) -> Figure {
        match self {
            Self::Fec => Figure::SlpFec,
            Self::Fig1 => Figure::SlpFig1,
            Self::Fig3 => Figure::SlpFig3,
            Self::Arbitrator => Figure::SlpArbitrator,
            Self::Table1 => Figure::SlpTable1,
            Self::Fig7 => Figure::SlpFig7,
            Self::Sizes => Figure::SlpSizes,
            Self::Tails => Figure::SlpTails,
            Self::Combined => Figure::SlpCombined,
            Self::Congestion => Figure::SlpCongestion,
        }
    }
}

impl Named for LossDetectionFigure {
    fn figure(&self) -> Figure {
        match self {
            Self::Tables => Figure::LossDetectionTables,
            Self::Fig1 => Figure::LossDetectionFig1,
            Self::Fig2 => Figure::LossDetectionFig2,
            Self::Fig3 => Figure::LossDetectionFig3,
            Self::Fig4 => Figure::LossDetectionFig4,
            Self::Fig5a => Figure::LossDetectionFig5a,
            Self::Fig5b => Figure::LossDetectionFig5b,
        }
    }
}

/// The figures named, or all of the paper, each with its name.
fn named_or_all<Id: Named>(named: &[Id]) -> Vec<(Figure, String)> {
    let figures = match named.is_empty() {
        true => Id::value_variants(),
        false => named,
    };
    let name = |id: &Id| id.to_possible_value().map(|value| value.get_name().into());
    let figures = figures.iter();
    figures
        .map(|id| (id.figure(), name(id).unwrap_or_default()))
        .collect()
}

/// Regenerates figures, prints and writes them, and fails when a claim's verdict is not the expected
/// one.
fn regenerate(named: &[(Figure, String)], asked: &Asked<'_>) -> Result<(), Failure> {
    let &Asked {
        settings,
        seed,
        on,
        background,
        ref pages,
        users,
        output,
    } = asked;
    let figures: Vec<Figure> = named.iter().map(|(figure, _)| *figure).collect();
    let is_changed = |key: &str| {
        let given = |setting: &String| setting.trim_start().starts_with(&format!("{key}="));
        settings.iter().any(given)
    };
    let mut base = paper::base(&figures, is_changed, |base| apply_settings(base, settings))?;
    base.seed = seed.unwrap_or(base.seed);
    if output.format == Format::Svg && figures.len() != 1 {
        return Err(Failure::Wrong(
            "--format svg: name the one figure to print, or use --out for all".into(),
        ));
    }
    let request = Request {
        figures,
        base,
        simulate: on.simulates(),
        real: on.real().to_vec(),
        background: background.map(Path::to_path_buf),
        pages: pages.clone(),
        users,
    };
    request.notes().iter().for_each(console::note);
    let bar = FigureBar::new(named);
    if !request.real.is_empty() {
        let finished = request.run(&bar)?;
        deliver(&finished.sheets, output)?;
        return check_claims(&finished.sheets);
    }
    interrupt::defer();
    let outcome = request.run(&bar);
    let is_interrupted = interrupt::stop_deferring();
    let delivered = outcome
        .map_err(Failure::from)
        .and_then(|finished| deliver(&finished.sheets, output).map(|()| finished));
    if is_interrupted {
        match &delivered {
            Ok(finished) => bar.note_interrupted(finished.interrupted),
            Err(failure) => failure.print(),
        }
        interrupt::exit();
    }
    check_claims(&delivered?.sheets)
}

/// Writes and prints finished figures.
fn deliver(sheets: &[Sheet], output: &Output) -> Result<(), Failure> {
    if sheets.is_empty() {
        return Ok(());
    }
    let text = match output.format {
        Format::Json => Sheet::to_json(sheets),
        Format::Csv => Sheet::to_csv(sheets).ok_or_else(|| {
            let line = "--format csv: the figures have different columns: name those to print, or use --out for a file each";
            Failure::Wrong(line.into())
        })?,
        Format::Svg => sheets.iter().map(|sheet| sheet.picture.to_svg()).collect(),
        _ => sheets.iter().map(|sheet| sheet.table.as_str()).collect(),
    };
    if let Some(dir) = &output.out {
        write_files(dir, sheets)?;
    }
    print(&text)
}

/// Shows a spinner for a simulated figure, and a bar for a measured one, when standard error is a
/// terminal.
struct FigureBar<'a> {
    names: &'a [(Figure, String)],
    bar: Mutex<ProgressBar>,
}

impl<'a> FigureBar<'a> {
    fn new(names: &'a [(Figure, String)]) -> Self {
        Self {
            names,
            bar: Mutex::new(ProgressBar::hidden()),
        }
    }

    /// The paper and the figure: `slp combined`.
    fn name(&self, figure: Figure) -> String {
        let name = self.names.iter().find(|(named, _)| *named == figure);
        let name = name.map_or("", |(_, name)| name);
        format!("{} {name}", figure.paper())
    }

    fn with(&self, act: impl FnOnce(&mut ProgressBar)) {
        act(&mut self.bar.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Says which figure an interrupt gave up, and that the ones after it did not begin.
    fn note_interrupted(&self, interrupted: Option<Figure>) {
        let Some(figure) = interrupted else {
            return;
        };
        let place = self.names.iter().position(|(named, _)| *named == figure);
        let left = self.names.len() - place.map_or(0, |place| place + 1);
        let name = self.name(figure);
        match left {
            0 => console::note(format_args!("interrupted: {name} is not finished")),
            1 => console::note(format_args!(
                "interrupted: {name} is not finished; one more figure did not begin"
            )),
            _ => console::note(format_args!(
                "interrupted: {name} is not finished; {left} more figures did not begin"
            )),
        }
    }

    /// Which figure of how many it is: `slp combined (6 of 6)`.
    fn count(&self, figure: Figure, number: usize, figures: usize) -> String {
        format!("{} ({number} of {figures})", self.name(figure))
    }
}

impl Progress for FigureBar<'_> {
    fn figure_begins(&self, figure: Figure, number: usize, figures: usize) {
        let spinner = ProgressBar::with_draw_target(None, console::progress_target());
        if let Ok(style) = ProgressStyle::with_template("{spinner} {msg}, {elapsed}") {
            spinner.set_style(style);
        }
        spinner.set_message(self.count(figure, number, figures));
        if !spinner.is_hidden() {
            spinner.enable_steady_tick(Duration::from_millis(200));
        }
        self.with(|bar| *bar = spinner);
    }

    fn measurement_begins(&self, figure: Figure, stage: Stage, flows: u64) {
        let flows = progress(flows);
        flows.set_prefix(format!("{} {} ", self.name(figure), stage.name()));
        self.with(|bar| *bar = flows);
    }

    fn flows_finished(&self, flows: u64) {
        self.with(|bar| bar.inc(flows));
    }

    fn figure_ends(&self) {
        self.with(|bar| bar.finish_and_clear());
    }

    fn is_stopped(&self) -> bool {
        interrupt::is_interrupted()
    }
}

/// Writes the files of all figures. Each is whole before the first gets its name.
fn write_files(dir: &Path, sheets: &[Sheet]) -> Result<(), Failure> {
    let failed = |path: &Path, e| Failure::Wrong(format!("cannot write `{}`: {e}", path.display()));
    create_folder(dir)?;
    let mut files = Vec::new();
    for sheet in sheets {
        let mut texts = vec![
            (".svg".into(), sheet.picture.to_svg()),
            (".json".into(), Sheet::to_json(std::slice::from_ref(sheet))),
            (".csv".into(), sheet.csv.clone()),
        ];
        let further = sheet.further.iter();
        texts.extend(further.map(|(name, picture)| (format!("-{name}.svg"), picture.to_svg())));
        let panels = sheet.picture.to_xplot().into_iter();
        texts.extend(panels.map(|(panel, text)| (format!("-{}.xpl", file_name(&panel)), text)));
        for (ending, text) in texts {
            let path = dir.join(format!("{}-{}{ending}", sheet.paper, sheet.figure));
            let mut file = OutputFile::create(&path)?;
            file.write_all(text.as_bytes())
                .map_err(|e| failed(&path, e))?;
            files.push(file);
        }
    }
    for file in files {
        let path = file.target().to_path_buf();
        file.publish()?;
        console::status(format_args!("wrote {}", path.display()));
    }
    Ok(())
}

/// A panel's name as part of a file name.
fn file_name(panel: &str) -> String {
    let plain = |c: char| match c {
        c if c.is_ascii_alphanumeric() => c.to_ascii_lowercase(),
        _ => '-',
    };
    panel.chars().map(plain).collect()
}

fn check_claims(sheets: &[Sheet]) -> Result<(), Failure> {
    let claims = sheets.iter().flat_map(|sheet| &sheet.claims);
    let changed: Vec<&str> = claims.filter(|c| c.changed()).map(|c| c.id).collect();
    if changed.is_empty() {
        return Ok(());
    }
    let changed = changed.join(", ");
    console::error(&format!(
        "claims with another verdict than the expected one: {changed}"
    ));
    Err(Failure::CheckFailed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_says_which_figure_of_how_many() {
        let names = named_or_all::<SlpFigure>(&[]);
        let bar = FigureBar::new(&names);
        assert_eq!(
            bar.count(Figure::SlpFig7, 3, names.len()),
            "slp fig7 (3 of 10)"
        );
        let names = named_or_all(&[PrrFigure::Properties]);
        let bar = FigureBar::new(&names);
        assert_eq!(
            bar.count(Figure::PrrProperties, 1, 1),
            "prr properties (1 of 1)"
        );
    }
}
