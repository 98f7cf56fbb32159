//! The properties of §4.3, put to the test in every recovery of thousands of flows: random losses,
//! bursts of them, lost and delayed ACKs, reordering, duplicates, and an application that stalls.
//!
//! Each flow is one of the scenario `prr` with the settings of its network, all of them by chance
//! from the seed and the flow's number, so that every scheme meets the same flows. What is counted is
//! what the server really sent. A property in the paper's words may be broken where the exact one
//! beside it holds: then the ledger tells how.

mod check;
mod claims;
mod watch;

pub use check::{Check, Moment, Property};

use super::NAME;
use crate::{Figure, Picture, Sheet};
use recoup_draw::chart::{BarChart, BarGroup, BarPanel};
use recoup_lab::run::{cores, in_parallel, simulation};
use recoup_lab::scenario::Scenario;
use recoup_lab::settings::SettingsError;
use recoup_recovery::Profile;
use recoup_table::{csv, plain_table};
use recoup_units::FlowId;
use serde::{Serialize, Serializer, ser::SerializeMap};
use std::path::Path;
use watch::Watch;

/// The name on the command line.
pub const ID: &str = "properties";

/// The settings each cell sets for itself.
pub const OWN_SETTINGS: [&str; 6] = ["segments", "writes", "drop", "ack", "reorder", "duplicate"];

/// Flows of each scheme on each network.
pub const FLOWS: u64 = 300;

/// A rate control under test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// Algorithm 2: the slow-start reduction bound.
    Prr,
    /// The same with CUBIC's ssthresh.
    PrrCubic,
    /// The conservative reduction bound.
    PrrConservative,
    /// RFC 9937.
    PrrSafe,
    /// The unlimited bound.
    PrrUnlimited,
    /// Linux's rate halving.
    Linux,
    /// RFC 3517's.
    Rfc3517,
}

impl Scheme {
    /// In the order of reports.
    pub const ALL: [Self; 7] = [
        Self::Prr,
        Self::PrrCubic,
        Self::PrrConservative,
        Self::PrrSafe,
        Self::PrrUnlimited,
        Self::Linux,
        Self::Rfc3517,
    ];

    /// The name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Prr => "PRR",
            Self::PrrCubic => "PRR with CUBIC",
            Self::PrrConservative => "PRR-CRB",
            Self::PrrSafe => "RFC 9937",
            Self::PrrUnlimited => "PRR-UB",
            Self::Linux => "Linux",
            Self::Rfc3517 => "RFC 3517",
        }
    }

    /// As a profile, by its name.
    pub const fn profile(self) -> &'static str {
        match self {
            Self::Prr => "linux-2.6+reno+prr",
            Self::PrrCubic => "linux-2.6+cubic+prr",
            Self::PrrConservative => "linux-2.6+reno+prrcrb",
            Self::PrrSafe => "linux-2.6+reno+prrsafe",
            Self::PrrUnlimited => "linux-2.6+reno+prrub",
            Self::Linux => "linux-2.6+reno",
            Self::Rfc3517 => "linux-2.6+reno+std",
        }
    }
}

/// What happens to the flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Network {
    /// Segments are lost one by one.
    Random,
    /// … in bursts.
    Bursts,
    /// … and so are ACKs, in bursts: those left stand for many (stretch ACKs).
    AckLoss,
    /// The receiver delays ACKs while nothing is missing.
    DelayedAcks,
    /// Segments and ACKs overtake each other.
    Reordering,
    /// Segments and ACKs are doubled, so that ACKs come that deliver nothing.
    Duplicates,
    /// The application writes now and then.
    Stalls,
}

impl Network {
    /// In the order of reports.
    pub const ALL: [Self; 7] = [
        Self::Random,
        Self::Bursts,
        Self::AckLoss,
        Self::DelayedAcks,
        Self::Reordering,
        Self::Duplicates,
        Self::Stalls,
    ];

    /// The name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Random => "random losses",
            Self::Bursts => "bursts of losses",
            Self::AckLoss => "ACK loss",
            Self::DelayedAcks => "delayed ACKs",
            Self::Reordering => "reordering",
            Self::Duplicates => "duplicates",
            Self::Stalls => "application stalls",
        }
    }

    /// Its settings, in place of the scenario's.
    pub const fn settings(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Random => &[("drop", "bernoulli:0.03")],
            Self::Bursts => &[("drop", "gilbert-elliott:0.01,0.2")],
            Self::AckLoss => &[("drop", "bernoulli:0.03,up:gilbert-elliott:0.1,0.3")],
            Self::DelayedAcks => &[("drop", "gilbert-elliott:0.01,0.3"), ("ack", "delayed")],
            Self::Reordering => &[("drop", "bernoulli:0.02"), ("reorder", "0.03:25ms")],
            Self::Duplicates => &[("drop", "bernoulli:0.03"), ("duplicate", "0.1")],
            Self::Stalls => &[
                ("drop", "bernoulli:0.04"),
                (
                    "writes",
                    "30kB@0,9kB@150ms,4kB@210ms,15kB@290ms,6kB@400ms,12kB@470ms,30kB@800ms,8kB@950ms,5kB@1010ms,20kB@1090ms",
                ),
            ],
        }
    }
}

/// What all networks have that do not say otherwise.
const COMMON: [(&str, &str); 6] = [
    ("writes", "none"),
    ("segments", "150"),
    ("drop", "none"),
    ("ack", "quick"),
    ("reorder", "none"),
    ("duplicate", "0"),
];

/// All settings of a network's own.
fn settings_of(network: Network) -> impl Iterator<Item = (&'static str, &'static str)> {
    let own = network.settings();
    COMMON.into_iter().map(|(key, value)| {
        let other = own.iter().find(|(other, _)| *other == key);
        (key, other.map_or(value, |(_, value)| value))
    })
}

/// A scheme on a network: all its flows.
#[derive(Clone, Debug, Serialize)]
pub struct Cell {
    /// The network.
    #[serde(serialize_with = "network_name")]
    pub network: Network,
    /// The rate control.
    #[serde(serialize_with = "scheme_name")]
    pub scheme: Scheme,
    /// Its profile.
    pub profile: &'static str,
    /// Flows run.
    pub flows: u64,
    /// Recoveries begun.
    pub recoveries: u64,
    /// ACKs processed in them.
    pub acks: u64,
    /// The most segments sent on one ACK.
    pub most_on_an_ack: i64,
    /// The most segments sent with one write.
    pub most_with_a_write: i64,
    /// Recoveries that left by an ACK of the recovery point …
    pub complete: u64,
    /// … with a window below ssthresh before it.
    pub below_ssthresh: u64,
    /// The most segments an ACK that leaves pipe above ssthresh was short of the share due.
    pub most_short: i64,
    /// The properties.
    #[serde(serialize_with = "by_name")]
    pub checks: [Check; Property::ALL.len()],
}

fn network_name<S: Serializer>(network: &Network, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(network.name())
}

fn scheme_name<S: Serializer>(scheme: &Scheme, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(scheme.name())
}

fn by_name<S: Serializer>(checks: &[Check; Property::ALL.len()], to: S) -> Result<S::Ok, S::Error> {
    let mut map = to.serialize_map(Some(checks.len()))?;
    for property in Property::ALL {
        map.serialize_entry(property.name(), &checks[property as usize])?;
    }
    map.end()
}

impl Cell {
    /// How a property fared.
    pub fn check(&self, property: Property) -> &Check {
        &self.checks[property as usize]
    }
}

/// Runs all flows and checks the claims; `base` is the scenario each cell varies.
///
/// # Errors
/// Settings that do not fit together.
pub fn figure(base: &Scenario) -> Result<Figure<Cell>, SettingsError> {
    let cells = run_cells(base)?;
    let claims = claims::all(&cells, base);
    let picture = Picture::Bars(chart(&cells));
    Ok(Figure {
        paper: NAME,
        figure: ID,
        title: format!(
            "What holds in every recovery: {FLOWS} flows of each rate control on each network"
        ),
        cells,
        claims,
        picture,
    })
}

fn run_cells(base: &Scenario) -> Result<Vec<Cell>, SettingsError> {
    in_parallel(Network::ALL.len() * Scheme::ALL.len(), cores(), |i| {
        let (network, scheme) = (i / Scheme::ALL.len(), i % Scheme::ALL.len());
        run_cell(base, Network::ALL[network], Scheme::ALL[scheme])
    })
}

fn run_cell(base: &Scenario, network: Network, scheme: Scheme) -> Result<Cell, SettingsError> {
    let mut settings = base.settings.clone();
    for (key, value) in settings_of(network) {
        settings.set(key, value, Path::new(""))?;
    }
    let profile: Profile = scheme.profile().parse().expect("a profile that exists");
    let mut simulation = simulation(&settings.path()?)?;
    let spec = settings.flow(&profile);
    let mut watch = Watch::new(settings.mss);
    for flow in 0..FLOWS {
        watch.begin(flow);
        simulation.run(&spec, base.seed, FlowId(flow), &mut watch);
    }
    Ok(Cell {
        network,
        scheme,
        profile: scheme.profile(),
        flows: FLOWS,
        recoveries: watch.recoveries,
        acks: watch.acks,
        most_on_an_ack: watch.ack_bursts.max().unwrap_or(0),
        most_with_a_write: watch.write_bursts.max().unwrap_or(0),
        complete: watch.before_exit.count(),
        below_ssthresh: watch.before_exit.signs().below,
        most_short: watch.shortfall.max().unwrap_or(0).max(0),
        checks: watch.checks,
    })
}

fn chart(cells: &[Cell]) -> BarChart {
    let group = |network: Network| {
        let here = cells.iter().filter(|cell| cell.network == network);
        BarGroup {
            label: network.name().into(),
            values: here.map(|cell| Some(cell.most_on_an_ack as f64)).collect(),
        }
    };
    BarChart {
        title: "The largest burst on one ACK of recovery".into(),
        x_label: "what happens to the flows".into(),
        y_label: "segments".into(),
        series: Scheme::ALL.map(|scheme| scheme.name().into()).to_vec(),
        panels: vec![BarPanel {
            title: String::new(),
            groups: Network::ALL.map(group).to_vec(),
        }],
    }
}

/// The properties as [`figure`] checks them, in all forms.
///
/// # Errors
/// As [`figure`].
pub fn sheet(base: &Scenario) -> Result<Sheet, SettingsError> {
    let figure = figure(base)?;
    let (table, csv) = (to_table(&figure), to_csv(&figure));
    Ok(figure.into_sheet(table, csv))
}

/// The cells as a table with a row each, then the claims.
pub fn to_table(figure: &Figure<Cell>) -> String {
    let mut table = plain_table();
    table.set_header([
        "network",
        "scheme",
        "recoveries",
        "ACKs",
        "most on an ACK (segments)",
        "most with a write (segments)",
        "most short of the share due (segments)",
        "cwnd below ssthresh before exit (recoveries)",
    ]);
    for cell in &figure.cells {
        table.add_row([
            cell.network.name().into(),
            cell.scheme.name().into(),
            cell.recoveries.to_string(),
            cell.acks.to_string(),
            cell.most_on_an_ack.to_string(),
            cell.most_with_a_write.to_string(),
            cell.most_short.to_string(),
            format!("{} of {}", cell.below_ssthresh, cell.complete),
        ]);
    }
    figure.with_table(&table)
}

/// The cells as CSV, a line each: of each property, cases and how many broke it.
pub fn to_csv(figure: &Figure<Cell>) -> String {
    let columns = [
        "figure",
        "network",
        "scheme",
        "profile",
        "flows",
        "recoveries",
        "acks",
        "most_on_an_ack",
        "most_with_a_write",
        "complete",
        "below_ssthresh",
        "most_short",
    ];
    let mut header = columns.map(String::from).to_vec();
    for name in Property::ALL.map(Property::name) {
        header.extend([format!("{name}_cases"), format!("{name}_broken")]);
    }
    let row = |cell: &Cell| {
        let mut row = vec![
            figure.figure.into(),
            cell.network.name().into(),
            cell.scheme.name().into(),
            cell.profile.into(),
        ];
        row.extend(
            [cell.flows, cell.recoveries, cell.acks]
                .iter()
                .map(u64::to_string),
        );
        row.extend([cell.most_on_an_ack, cell.most_with_a_write].map(|n| n.to_string()));
        row.extend([cell.complete, cell.below_ssthresh].map(|n| n.to_string()));
        row.push(cell.most_short.to_string());
        for check in &cell.checks {
            row.extend([check.cases, check.broken].map(|n| n.to_string()));
        }
        row
    };
    csv(header, figure.cells.iter().map(row))
}

#[cfg(test)]
mod tests;
