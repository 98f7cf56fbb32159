//! `recoup paper`.

use crate::Failure;
use crate::output::print;
use crate::run::apply_settings;
use clap::{Subcommand, ValueEnum};
use recoup_lab::output_file::OutputFile;
use recoup_lab::paper::{Figure, tail_loss};
use recoup_lab::scenario::Scenario;
use std::io::Write;
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    paper: Paper,
}

#[derive(Subcommand)]
enum Paper {
    /// Rajiullah et al. 2015, "An Evaluation of Tail Loss Recovery Mechanisms for TCP", section 3.1
    TailLoss(TailLoss),
}

#[derive(clap::Args)]
struct TailLoss {
    /// Figures to regenerate; all when none is named
    #[arg(value_enum)]
    figures: Vec<TailLossFigure>,
    /// Write each figure's .svg, .json and .csv into this folder
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Change a setting of every cell but rtt, drop and ack (see `recoup scenario list`); claims may
    /// then not hold
    #[arg(long = "set", value_name = "KEY=VALUE")]
    settings: Vec<String>,
    /// How to print the figure
    #[arg(long, value_enum, default_value_t = Format::Table)]
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
enum Format {
    /// Table and claims, for reading
    Table,
    /// Data and claims, for programs
    Json,
    /// Data, for spreadsheets
    Csv,
    /// The picture
    Svg,
}

pub fn run(args: &Args) -> Result<(), Failure> {
    let Paper::TailLoss(args) = &args.paper;
    let mut base = Scenario::load(tail_loss::NAME)?;
    for key in tail_loss::OWN_SETTINGS {
        if args
            .settings
            .iter()
            .any(|s| s.trim_start().starts_with(&format!("{key}=")))
        {
            let line = format!(
                "--set {key}: the cells of the figures set it; use `recoup run` for one of your own"
            );
            return Err(Failure::Wrong(line));
        }
    }
    apply_settings(&mut base, &args.settings)?;
    base.check().map_err(Failure::Wrong)?;
    if args.format == Format::Svg && args.figures.len() != 1 {
        return Err(Failure::Wrong(
            "--format svg: name the one figure to print, or use --out for all".into(),
        ));
    }
    let figures: Vec<tail_loss::Id> = match args.figures.as_slice() {
        [] => tail_loss::Id::ALL.to_vec(),
        named => named.iter().map(|f| f.id()).collect(),
    };
    let figures = figures
        .into_iter()
        .map(|id| tail_loss::figure(id, &base))
        .collect::<Result<Vec<_>, _>>()?;
    if let Some(dir) = &args.out {
        write_files(dir, &figures)?;
    }
    match args.format {
        Format::Json => print(&Figure::all_to_json(&figures))?,
        Format::Csv => print(&tail_loss::to_csv(&figures))?,
        format => {
            for figure in &figures {
                print(&match format {
                    Format::Svg => figure.chart.to_svg(),
                    _ => tail_loss::to_table(figure),
                })?;
            }
        }
    }
    let changed = figures
        .iter()
        .flat_map(|f| &f.claims)
        .filter(|c| c.changed());
    let changed: Vec<&str> = changed.map(|c| c.id).collect();
    if changed.is_empty() {
        return Ok(());
    }
    eprintln!(
        "recoup: claims with another verdict than the known one: {}",
        changed.join(", ")
    );
    Err(Failure::CheckFailed)
}

impl TailLossFigure {
    fn id(self) -> tail_loss::Id {
        match self {
            Self::Fig1 => tail_loss::Id::Fig1,
            Self::Fig2 => tail_loss::Id::Fig2,
        }
    }
}

/// All files are written whole before the first has its name.
fn write_files(dir: &Path, figures: &[Figure<tail_loss::Cell>]) -> Result<(), Failure> {
    let failed = |e| Failure::Wrong(format!("cannot write `{}`: {e}", dir.display()));
    std::fs::create_dir_all(dir).map_err(failed)?;
    let mut files = Vec::new();
    for figure in figures {
        for (ending, text) in [
            ("svg", figure.chart.to_svg()),
            ("json", figure.to_json()),
            ("csv", tail_loss::to_csv(std::slice::from_ref(figure))),
        ] {
            let path = dir.join(format!("{}-{}.{ending}", figure.paper, figure.figure));
            let mut file = OutputFile::create(&path)?;
            let written = file.write_all(text.as_bytes());
            written
                .map_err(|e| Failure::Wrong(format!("cannot write `{}`: {e}", path.display())))?;
            files.push(file);
        }
    }
    for file in files {
        let path = file.target().to_path_buf();
        file.publish()?;
        eprintln!("wrote {}", path.display());
    }
    Ok(())
}
