//! `recoup paper`.

use crate::output::{Format, print};
#[cfg(target_os = "linux")]
use crate::run::progress;
use crate::run::{Stages, apply_settings};
use crate::{Failure, console};
use clap::{Subcommand, ValueEnum};
use indicatif::{ProgressBar, ProgressFinish, ProgressStyle};
#[cfg(target_os = "linux")]
use recoup_api::testbeds::Testbeds;
use recoup_lab::output_file::{OutputFile, create_folder};
use recoup_lab::scenario::Scenario;
use recoup_lab::settings::SettingsError;
use recoup_lab::stage::{self, Ends, Stage};
use recoup_papers::{Sheet, prr, slp, tail_loss};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The formats that figures can be printed in.
const FORMATS: &[Format] = &[Format::Table, Format::Json, Format::Csv, Format::Svg];

const HELP: &str = "\
Exit status: 0 when every claim has its expected verdict, 1 when one has another
(`FAILS (expected: holds)`), 2 wrong use. A claim that is known not to hold
(`FAILS (expected)`) has a note below the table that says why; it is no failure.";

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
    /// Dukkipati et al. 2011, "Proportional Rate Reduction for TCP", sections 4.1 and 4.3
    Prr(Prr),
    /// "Selective Loss Prevention" (2021), sections II-A, II-C and III-B
    Slp(Slp),
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
    /// reorder and duplicate (see `recoup scenario list`); claims may then fail
    #[arg(long = "set", value_name = "KEY=VALUE")]
    settings: Vec<String>,
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

/// Where the figures go.
#[derive(clap::Args)]
struct Output {
    /// Write each figure as .svg, .json and .csv into this folder, and each panel of a time–sequence
    /// diagram as .xpl
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Format of the figures: a table with claims, JSON (an array, one object per figure), CSV (data
    /// alone), or SVG
    #[arg(long, value_parser = Format::parser(FORMATS), default_value = "table")]
    format: Format,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum TailLossFigure {
    /// One segment lost, RTT 10 to 640 ms
    Fig1,
    /// One to five segments lost, RTT 80 ms
    Fig2,
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
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum SlpFigure {
    /// Goodput of ARQ and of FEC for all packets: computed and simulated
    Fec,
    /// The bandwidth above which a packet is copied
    Arbitrator,
    /// Completion times of fifty fetches of 34 kB, and how likely fifty fetches show them
    Fig7,
    /// Fetches of 0.25 kB to 8 MB
    Sizes,
    /// SLP beside RTO restart and tail loss probes: a tail, a SYN or a SYN-ACK lost
    Tails,
    /// Latency saved against bytes added, with and without SLP, random and bursty losses
    Combined,
}

/// A paper's figures, and how each is regenerated.
struct Figures<Id: 'static> {
    /// The paper's name.
    name: &'static str,
    /// The paper's scenario.
    scenario: &'static str,
    all: &'static [Id],
    /// Settings a figure's cells set for themselves.
    own: fn(Id) -> &'static [&'static str],
    sheet: fn(Id, &Scenario) -> Result<Sheet, SettingsError>,
    /// A figure measured over real packets, where there is such a thing.
    real_sheet: fn(Id, &Scenario, Stage) -> Result<Option<Sheet>, Failure>,
}

const TAIL_LOSS: Figures<TailLossFigure> = Figures {
    name: tail_loss::NAME,
    scenario: tail_loss::NAME,
    all: &[TailLossFigure::Fig1, TailLossFigure::Fig2],
    own: |_| &tail_loss::OWN_SETTINGS,
    sheet: TailLossFigure::sheet,
    real_sheet: TailLossFigure::real_sheet,
};

const PRR: Figures<PrrFigure> = Figures {
    name: prr::NAME,
    scenario: prr::NAME,
    all: &[
        PrrFigure::Fig2,
        PrrFigure::Fig3,
        PrrFigure::Fig4,
        PrrFigure::Properties,
    ],
    own: PrrFigure::own,
    sheet: PrrFigure::sheet,
    real_sheet: |_, _, _| Ok(None),
};

const SLP: Figures<SlpFigure> = Figures {
    name: slp::NAME,
    scenario: "fetch",
    all: &[
        SlpFigure::Fec,
        SlpFigure::Arbitrator,
        SlpFigure::Fig7,
        SlpFigure::Sizes,
        SlpFigure::Tails,
        SlpFigure::Combined,
    ],
    own: |_| &[],
    sheet: SlpFigure::sheet,
    real_sheet: |_, _, _| Ok(None),
};

pub fn run(args: &Args) -> Result<(), Failure> {
    match &args.paper {
        Paper::TailLoss(args) => {
            TAIL_LOSS.run(&args.figures, &args.settings, None, args.on, &args.output)
        }
        Paper::Prr(args) => PRR.run(
            &args.figures,
            &args.settings,
            None,
            Stages::Sim,
            &args.output,
        ),
        Paper::Slp(args) => SLP.run(&args.figures, &[], args.seed, Stages::Sim, &args.output),
    }
}

impl Args {
    /// The stages asked for.
    pub fn on(&self) -> Stages {
        match &self.paper {
            Paper::TailLoss(args) => args.on,
            Paper::Prr(_) | Paper::Slp(_) => Stages::Sim,
        }
    }
}

impl TailLossFigure {
    const fn id(self) -> tail_loss::Id {
        match self {
            Self::Fig1 => tail_loss::Id::Fig1,
            Self::Fig2 => tail_loss::Id::Fig2,
        }
    }

    fn sheet(self, base: &Scenario) -> Result<Sheet, SettingsError> {
        tail_loss::sheet(self.id(), base)
    }

    #[cfg(target_os = "linux")]
    fn real_sheet(self, base: &Scenario, stage: Stage) -> Result<Option<Sheet>, Failure> {
        let (id, name) = (self.id(), stage.name());
        let bar = progress(tail_loss::stages::flows(id, stage));
        bar.set_prefix(format!("{} {} {name} ", tail_loss::NAME, id.name()));
        let sheet =
            tail_loss::stages::sheet(id, base, stage, &Testbeds::default(), &|n| bar.inc(n))?;
        bar.finish_and_clear();
        Ok(sheet)
    }

    #[cfg(not(target_os = "linux"))]
    fn real_sheet(self, _: &Scenario, stage: Stage) -> Result<Option<Sheet>, Failure> {
        let line = format!("--on {}: real packets need Linux", stage.name());
        Err(Failure::Wrong(line))
    }
}

impl PrrFigure {
    fn own(self) -> &'static [&'static str] {
        match self {
            Self::Fig2 | Self::Fig3 | Self::Fig4 => &prr::OWN_SETTINGS,
            Self::Properties => &prr::properties::OWN_SETTINGS,
        }
    }

    fn sheet(self, base: &Scenario) -> Result<Sheet, SettingsError> {
        match self {
            Self::Fig2 => prr::sheet(prr::Id::Fig2, base),
            Self::Fig3 => prr::sheet(prr::Id::Fig3, base),
            Self::Fig4 => prr::sheet(prr::Id::Fig4, base),
            Self::Properties => prr::properties::sheet(base),
        }
    }
}

impl SlpFigure {
    fn sheet(self, base: &Scenario) -> Result<Sheet, SettingsError> {
        match self {
            Self::Fec => slp::fec::sheet(base.seed),
            Self::Arbitrator => Ok(slp::arbitrator::sheet()),
            Self::Fig7 => slp::fetch::fig7::sheet(base),
            Self::Sizes => slp::fetch::sizes::sheet(base),
            Self::Tails => slp::tails::sheet(base.seed),
            Self::Combined => slp::combined::sheet(base),
        }
    }
}

impl<Id: Copy + ValueEnum> Figures<Id> {
    /// Regenerates the figures named, or all; prints and writes them; fails when a claim's verdict
    /// is not the expected one.
    fn run(
        &self,
        named: &[Id],
        settings: &[String],
        seed: Option<u64>,
        on: Stages,
        output: &Output,
    ) -> Result<(), Failure> {
        let wanted = if named.is_empty() { self.all } else { named };
        let mut base = self.base(wanted, settings)?;
        base.seed = seed.unwrap_or(base.seed);
        if output.format == Format::Svg && named.len() != 1 {
            return Err(Failure::Wrong(
                "--format svg: name the one figure to print, or use --out for all".into(),
            ));
        }
        let mut sheets = match on.simulates() {
            true => self.sheets(wanted, &base)?,
            false => vec![],
        };
        let all_ends = on
            .real()
            .iter()
            .filter_map(|stage| Ends::new(*stage, None, None));
        if on != Stages::Sim {
            let all_ends: Vec<_> = all_ends.collect();
            for note in stage::notes(&base, on.simulates(), &all_ends) {
                console::note(note);
            }
        }
        for (id, stage) in wanted
            .iter()
            .flat_map(|id| on.real().iter().map(move |s| (id, s)))
        {
            sheets.extend((self.real_sheet)(*id, &base, *stage)?);
        }
        let text = match output.format {
            Format::Json => Sheet::to_json(&sheets),
            Format::Csv => Sheet::to_csv(&sheets).ok_or_else(|| {
                let line = "--format csv: not all have the same columns: name those to print, or use --out for a file each";
                Failure::Wrong(line.into())
            })?,
            Format::Svg => sheets.iter().map(|sheet| sheet.picture.to_svg()).collect(),
            _ => sheets.iter().map(|sheet| sheet.table.as_str()).collect(),
        };
        if let Some(dir) = &output.out {
            write_files(dir, &sheets)?;
        }
        print(&text)?;
        check_claims(&sheets)
    }

    /// The figures one after the other, with a spinner meanwhile when standard error is a terminal.
    fn sheets(&self, wanted: &[Id], base: &Scenario) -> Result<Vec<Sheet>, SettingsError> {
        let target = console::progress_target();
        let spinner =
            ProgressBar::with_draw_target(None, target).with_finish(ProgressFinish::AndClear);
        if let Ok(style) = ProgressStyle::with_template("{spinner} {msg}, {elapsed}") {
            spinner.set_style(style);
        }
        let sheet = |(i, id): (usize, &Id)| {
            spinner.set_message(under_way(self.name, *id, i + 1, wanted.len()));
            if !spinner.is_hidden() {
                spinner.enable_steady_tick(Duration::from_millis(200));
            }
            (self.sheet)(*id, base)
        };
        wanted.iter().enumerate().map(sheet).collect()
    }

    /// The paper's scenario with the settings of the command line.
    fn base(&self, wanted: &[Id], settings: &[String]) -> Result<Scenario, Failure> {
        let mut base = Scenario::load(self.scenario)?;
        for key in wanted.iter().flat_map(|id| (self.own)(*id)) {
            let given = |setting: &String| setting.trim_start().starts_with(&format!("{key}="));
            if settings.iter().any(given) {
                let line = format!(
                    "--set {key}: the cells of the figures set it; use `recoup run` for one of your own"
                );
                return Err(Failure::Wrong(line));
            }
        }
        apply_settings(&mut base, settings)?;
        base.check().map_err(Failure::Wrong)?;
        Ok(base)
    }
}

/// Which figure of how many it is: `slp combined (6 of 6)`.
fn under_way<Id: ValueEnum>(paper: &str, id: Id, i: usize, of: usize) -> String {
    let value = id.to_possible_value();
    let figure = value.as_ref().map_or("", |value| value.get_name());
    format!("{paper} {figure} ({i} of {of})")
}

/// All files are written whole before the first has its name.
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

/// A panel's name as part of a file's.
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
        let fig7 = under_way(SLP.name, SlpFigure::Fig7, 3, SLP.all.len());
        assert_eq!(fig7, "slp fig7 (3 of 6)");
        let properties = under_way(PRR.name, PrrFigure::Properties, 1, 1);
        assert_eq!(properties, "prr properties (1 of 1)");
    }
}
