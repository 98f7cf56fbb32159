//! All measurements, round by round.

use crate::{
    case::{Case, Table, tables},
    machine,
    measure::{Times, measure},
    network::Network,
    process::SenderProcess,
    report::{self, Rounds},
    senders::{self, Failed, Options, Sender},
};
use clap::{Args, ValueEnum};
use indicatif::{ProgressBar, ProgressStyle};
use std::time::Duration;

/// Cases to measure, and for how long.
#[derive(Args, Debug)]
pub struct Plan {
    /// How often each measurement is repeated
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// How long a stream without delay is measured; a stream with delay takes four times as long
    #[arg(long, value_name = "SECONDS", default_value_t = 1.0, value_parser = seconds)]
    time: f64,
    /// Measure these senders and Linux alone
    #[arg(long, value_name = "SENDER", value_delimiter = ',')]
    only: Vec<Sender>,
    /// Print the tables alone whose titles contain this text
    #[arg(long, value_name = "TEXT")]
    table: Option<String>,
    /// Measure the columns alone whose names contain this text
    #[arg(long, value_name = "TEXT")]
    column: Option<String>,
}

/// Reads a duration of a measurement.
fn seconds(text: &str) -> Result<f64, String> {
    let range = 0.1..=600.0;
    match text.parse() {
        Ok(seconds) if range.contains(&seconds) => Ok(seconds),
        _ => Err("expected 0.1 to 600".into()),
    }
}

/// Measures, and prints the tables.
pub fn run(plan: &Plan) -> Result<(), Failed> {
    let tables = plan.tables()?;
    let (senders, mut notes) = plan.senders();
    if senders.is_empty() {
        notes.iter().for_each(|note| eprintln!("{note}"));
        return Err("there is no sender to measure: expected root, and a system with TUN devices".into());
    }
    let (tables, left_out) = possible(tables);
    notes.extend(left_out);
    let cases = tables.iter().flat_map(|table| &table.columns);
    let cases: Vec<Case> = cases.map(|(case, _)| *case).collect();
    let times = Times { direct: Duration::from_secs_f64(plan.time), delayed: Duration::from_secs_f64(4.0 * plan.time) };
    let mut all: Vec<Rounds> = Vec::new();
    for &case in &cases {
        let takes_part = senders.iter().filter(|sender| sender.takes_part(case));
        all.extend(takes_part.map(|&sender| Rounds { sender, case, results: Vec::new() }));
    }
    let bar = ProgressBar::new(all.len() as u64 * u64::from(plan.rounds));
    let style = ProgressStyle::with_template("{pos}/{len} measurements, {eta} left: {wide_msg}")?;
    bar.set_style(style);
    // Senders of one case follow each other, so that they meet the same load.
    for _ in 0..plan.rounds {
        for rounds in &mut all {
            bar.set_message(format!("{}, {}", rounds.sender.title(), rounds.case));
            let result = measure(rounds.sender, rounds.case, times);
            rounds.results.push(result.map_err(|e| e.to_string()));
            bar.inc(1);
        }
    }
    bar.finish_and_clear();
    print(plan, &tables, &senders, &all, &notes);
    Ok(())
}

impl Plan {
    /// The tables to print.
    fn tables(&self) -> Result<Vec<Table>, Failed> {
        let mut all = tables();
        if let Some(text) = &self.column {
            all.iter_mut().for_each(|table| table.columns.retain(|(_, name)| name.contains(text)));
            all.retain(|table| !table.columns.is_empty());
        }
        let Some(text) = &self.table else {
            return Ok(all);
        };
        let titles: Vec<String> = all.iter().map(|table| table.title.clone()).collect();
        let chosen = all.into_iter();
        let chosen: Vec<Table> = chosen.filter(|table| table.title.contains(text)).collect();
        if chosen.is_empty() {
            Err(format!("--table {text}: no title contains it; the titles are: {}", titles.join("; ")).into())
        } else {
            Ok(chosen)
        }
    }

    /// The senders that run on this machine, and a line for each that does not.
    fn senders(&self) -> (Vec<Sender>, Vec<String>) {
        let chosen = |sender: &&Sender| self.only.is_empty() || **sender == Sender::Linux || self.only.contains(sender);
        let mut notes = Vec::new();
        let mut runs = Vec::new();
        for &sender in Sender::value_variants().iter().filter(chosen) {
            match try_sender(sender) {
                Ok(()) => runs.push(sender),
                Err(reason) => notes.push(format!("- left out: {}: {reason}", sender.title())),
            }
        }
        (runs, notes)
    }
}

/// Starts a sender once.
fn try_sender(sender: Sender) -> Result<(), Failed> {
    sender.prepare()?;
    let network = Network::direct(sender, Options::PLAIN)?;
    SenderProcess::start(&network, sender, Options::PLAIN).map(drop)
}

/// The tables that can be measured on this machine, and a line for why others cannot.
fn possible(tables: Vec<Table>) -> (Vec<Table>, Vec<String>) {
    let loses = Network::direct(Sender::Recoup, Options::PLAIN).and_then(|network| network.lose(1.0, 0.0));
    let Err(reason) = loses else {
        return (tables, Vec::new());
    };
    let lossless = |table: &Table| !table.columns.iter().any(|(case, _)| case.is_lossy());
    let tables = tables.into_iter().filter(lossless).collect();
    (tables, vec![format!("- left out: random loss: {reason}")])
}

fn print(plan: &Plan, chosen: &[Table], senders: &[Sender], all: &[Rounds], notes: &[String]) {
    println!("{}. {}.", machine::describe(), senders::versions());
    println!(
        "A cell has the median of {} rounds (their range), and the ratio to Linux with cubic in the same round (×).\n",
        plan.rounds
    );
    for table in chosen {
        if let Some(text) = report::table(table, senders, all) {
            println!("{text}");
        }
    }
    for line in notes.iter().chain(&report::failures(all)) {
        println!("{line}");
    }
}
