//! `recoup paper fit`: populations and the baseline numbers that they were fitted to.

use crate::Joined;
use crate::fit::{self, Change, FITS, Fit, Fitted};
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use recoup::output::print;
use recoup::{Failure, console};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

const HELP: &str = "\
A population stands in for a paper's own. Its parameters were fitted to what the paper prints of its baseline arm alone: no
other arm runs here. The experiments run all arms with another seed.

Without --search the baseline runs once with the committed parameters, and the table shows what it has beside the paper's
numbers. Exit status: 0 when these are the committed numbers, 1 when they are others, 2 wrong use.";

/// The most runs of a search.
const MOST_RUNS: i64 = 100_000;

#[derive(clap::Args)]
#[command(after_help = HELP)]
pub struct Args {
    /// Fits to measure [default: all]
    #[arg(value_parser = fits())]
    fits: Vec<&'static (Fitted, Fit)>,
    /// Search on from the committed parameters, with at most this many runs of the baseline
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=MOST_RUNS))]
    search: Option<u32>,
    /// How many users, flows, downloads or seconds are run: the table names the unit [default: as committed]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=5_000_000))]
    size: Option<u32>,
    /// Seed of everything random [default: as committed]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Run with another value of a parameter, fitted or given. Can be repeated
    #[arg(long = "parameter", value_name = "NAME=VALUE", conflicts_with = "update")]
    parameters: Vec<Change>,
    /// Print the committed tables, and run nothing
    #[arg(long, conflicts_with_all = ["search", "size", "seed", "parameters", "update"])]
    list: bool,
    /// Write the parameters and numbers into the fits in this folder (in the source: crates/papers/fits)
    #[arg(long, value_name = "DIR", hide_short_help = true)]
    update: Option<PathBuf>,
}

/// The names of fits, as values of an argument.
fn fits() -> impl TypedValueParser<Value = &'static (Fitted, Fit)> {
    let names = FITS.iter().map(|(fitted, fit)| PossibleValue::new(fitted.name).help(&*fit.about));
    let named =
        |name: String| FITS.iter().find(|(fitted, _)| fitted.name == name).ok_or("expected one of the possible values");
    PossibleValuesParser::new(names).try_map(named)
}

/// Measures fits, or searches for better ones.
pub fn run(args: &Args) -> Result<(), Failure> {
    let asked: Vec<&(Fitted, Fit)> = if args.fits.is_empty() { FITS.iter().collect() } else { args.fits.clone() };
    check_names(&args.parameters, &asked)?;
    let is_as_committed =
        args.search.is_none() && args.size.is_none() && args.seed.is_none() && args.parameters.is_empty();
    let mut changed = vec![];
    for (fitted, committed) in asked {
        if args.list {
            print(&(fit::text(fitted.name, committed) + "\n"))?;
            continue;
        }
        let mut begin = committed.clone();
        begin.size = args.size.unwrap_or(begin.size);
        begin.seed = args.seed.unwrap_or(begin.seed);
        args.parameters.iter().for_each(|change| begin.change(change));
        let found = fit::search(fitted, &begin, args.search.unwrap_or(1), |runs, best| {
            if args.search.is_some() {
                console::note(format_args!("{}: run {runs}, cost {:.4}", fitted.name, best.cost()));
            }
        })?;
        print(&(fit::text(fitted.name, &found) + "\n"))?;
        if let Some(folder) = &args.update {
            write(folder, fitted.name, &found)?;
        } else if is_as_committed && !found.agrees_with(committed) {
            changed.push(fitted.name);
        }
    }
    if changed.is_empty() {
        return Ok(());
    }
    console::note(format_args!("the baseline has other numbers than the committed ones: {}", changed.join(", ")));
    Err(Failure::CheckFailed)
}

/// Refuses a change of which none of these populations has the parameter.
pub fn check_names(changes: &[Change], fits: &[&(Fitted, Fit)]) -> Result<(), Failure> {
    let known: BTreeSet<&str> = fits.iter().flat_map(|(_, fit)| fit.names()).collect();
    let Some(Change { name, .. }) = changes.iter().find(|change| !known.contains(&*change.name)) else {
        return Ok(());
    };
    let known = known.joined(", ");
    let expected = if known.is_empty() { "nothing is fitted here".into() } else { format!("expected one of {known}") };
    Err(Failure::Wrong(format!("--parameter {name}: no parameter of the population: {expected}")))
}

fn write(folder: &Path, name: &str, fit: &Fit) -> Result<(), Failure> {
    let path = folder.join(format!("{name}.toml"));
    let text = toml::to_string_pretty(fit)?;
    std::fs::write(&path, text).map_err(|e| Failure::Wrong(format!("cannot write {}: {e}", path.display())))
}
