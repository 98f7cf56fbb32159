//! The properties of §4.3, checked in every recovery of thousands of flows. The networks have random
//! losses, bursts of losses, lost and delayed ACKs, reordering, duplicates, and an application that
//! stalls.
//!
//! Each flow is a flow of the scenario `prr` with the settings of its network. The seed and the flow's
//! number decide all random choices, so every scheme meets the same networks. We count the segments that
//! the server sends. Some properties fail in the paper's wording but hold in an exact one; we check both
//! and show a counterexample.

mod ack_view;
mod check;
mod claims;
mod columns;
mod watch;

pub use check::{Check, Moment, Property};
use columns::Counterexample;

use super::NAME;
use crate::experiment::{ExperimentError, Setup};
use crate::{Figure, Picture, Sheet};
use recoup_draw::chart::{BarChart, BarGroup, BarPanel};
use recoup_lab::run::simulation;
use recoup_recovery::rate::RecoverFs;
use recoup_support::threads::{cores, in_parallel};
use recoup_units::FlowId;
use std::path::Path;
use watch::Watch;

/// The name on the command line.
pub const ID: &str = "properties";

/// The settings that each cell sets itself.
pub const OWN_SETTINGS: [&str; 6] = ["segments", "writes", "drop", "ack", "reorder", "duplicate"];

/// Flows of each scheme on each network.
pub const FLOWS: u64 = 300;

/// The same with the quick effort.
const QUICK_FLOWS: u64 = 60;

/// A rate control.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// PRR with the slow-start reduction bound (algorithm 2).
    Prr,
    /// The same with CUBIC's ssthresh.
    PrrCubic,
    /// PRR with the conservative reduction bound.
    PrrConservative,
    /// PRR of RFC 9937.
    PrrSafe,
    /// PRR with the unlimited bound.
    PrrUnlimited,
    /// Linux's rate halving.
    Linux,
    /// The rate control of RFC 3517.
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

    /// The name of the profile.
    pub const fn profile(self) -> &'static str {
        match self {
            Self::Prr => "linux-2.6+sack+reno+prr",
            Self::PrrCubic => "linux-2.6+sack+cubic+prr",
            Self::PrrConservative => "linux-2.6+sack+reno+prrcrb",
            Self::PrrSafe => "linux-2.6+sack+reno+prrsafe",
            Self::PrrUnlimited => "linux-2.6+sack+reno+prrub",
            Self::Linux => "linux-2.6+sack+reno+halving",
            Self::Rfc3517 => "linux-2.6+sack+reno+std",
        }
    }

    /// PRR's RecoverFS. Other rate controls are compared with the paper's.
    const fn recover_fs(self) -> RecoverFs {
        match self {
            Self::PrrSafe => RecoverFs::Undelivered,
            _ => RecoverFs::FlightSize,
        }
    }
}

/// A network, or an application's behaviour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Network {
    /// Segments are lost independently of each other.
    Random,
    /// Segments are lost in bursts.
    Bursts,
    /// Segments are lost independently, ACKs in bursts, so that the next ACK covers many segments (a
    /// stretch ACK).
    AckLoss,
    /// Segments are lost in bursts, and the receiver delays ACKs while nothing is missing.
    DelayedAcks,
    /// Segments are lost, and segments and ACKs are reordered.
    Reordering,
    /// Segments are lost, and segments and ACKs are duplicated, so that some ACKs deliver nothing.
    Duplicates,
    /// Segments are lost, and the application pauses between writes.
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

    /// The settings that differ from `COMMON`.
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

/// The settings of all networks, unless a network has its own.
const COMMON: [(&str, &str); 6] = [
    ("writes", "none"),
    ("segments", "150"),
    ("drop", "none"),
    ("ack", "quick"),
    ("reorder", "none"),
    ("duplicate", "0"),
];

/// All settings of a network.
fn settings_of(network: Network) -> impl Iterator<Item = (&'static str, &'static str)> {
    let own = network.settings();
    COMMON.into_iter().map(|(key, value)| {
        let other = own.iter().find(|(other, _)| *other == key);
        (key, other.map_or(value, |(_, value)| value))
    })
}

/// All flows of a scheme on a network.
#[derive(Clone, Debug)]
pub struct PropertyCell {
    /// The network.
    pub network: Network,
    /// The rate control.
    pub scheme: Scheme,
    /// Its profile.
    pub profile: &'static str,
    /// Flows run.
    pub flows: u64,
    /// Recoveries begun.
    pub recoveries: u64,
    /// ACKs processed in recovery.
    pub acks: u64,
    /// The largest number of segments sent on one ACK of recovery.
    pub most_on_an_ack: i64,
    /// The largest number of segments sent on one write in recovery.
    pub most_with_a_write: i64,
    /// Recoveries ended by an ACK of the recovery point.
    pub complete: u64,
    /// Recoveries of [`complete`](Self::complete) with cwnd below ssthresh before that ACK.
    pub below_ssthresh: u64,
    /// The largest shortfall from PRR's proportional share after an ACK that leaves pipe above
    /// ssthresh, in segments.
    pub most_short: i64,
    /// Recoveries that break [`Property::ConvergesAsStated`] and whose last ACK was the first to report some of the
    /// segments delivered.
    pub not_yet_reported: u64,
    /// Recoveries of [`complete`](Self::complete) after which cwnd was ssthresh.
    pub at_ssthresh: u64,
    /// Recoveries with data to send in which only the first retransmission was sent.
    pub sent_one: u64,
    /// Recoveries that a timeout ended.
    pub timed_out: u64,
    /// The result of each property, in the order of [`Property::ALL`].
    pub checks: [Check; Property::ALL.len()],
}

impl PropertyCell {
    /// The result of a property.
    pub fn check(&self, property: Property) -> &Check {
        &self.checks[property as usize]
    }
}

/// Runs all flows and checks the claims.
///
/// # Errors
/// When settings contradict each other.
pub fn figure(setup: &Setup) -> Result<Figure<PropertyCell>, ExperimentError> {
    let cells = run_cells(setup)?;
    let claims = claims::all(&cells, &setup.base);
    let picture = Picture::Bars(chart(&cells));
    Ok(Figure {
        paper: NAME,
        figure: ID,
        title: format!(
            "Properties of recovery: {} flows of each rate control on each network",
            setup.effort.of(FLOWS, QUICK_FLOWS)
        ),
        cells,
        claims,
        picture,
    })
}

fn run_cells(setup: &Setup) -> Result<Vec<PropertyCell>, ExperimentError> {
    in_parallel(Network::ALL.len() * Scheme::ALL.len(), cores(), |i| {
        let (network, scheme) = (i / Scheme::ALL.len(), i % Scheme::ALL.len());
        run_cell(setup, Network::ALL[network], Scheme::ALL[scheme])
    })
}

fn run_cell(setup: &Setup, network: Network, scheme: Scheme) -> Result<PropertyCell, ExperimentError> {
    let mut settings = setup.base.settings.clone();
    for (key, value) in settings_of(network) {
        settings.set(key, value, Path::new(""))?;
    }
    let profile = setup.profile(scheme.profile());
    let mut simulation = simulation(&settings.path()?)?;
    let spec = settings.flow(&profile);
    let mut watch = Watch::new(settings.mss, scheme.recover_fs());
    if setup.is_mutated("one-block") {
        watch.blocks = 1;
    }
    let flows = setup.effort.of(FLOWS, QUICK_FLOWS);
    for flow in 0..flows {
        watch.begin(flow);
        simulation.run(&spec, setup.seed(), FlowId(flow), &mut watch);
    }
    Ok(PropertyCell {
        network,
        scheme,
        profile: scheme.profile(),
        flows,
        recoveries: watch.recoveries,
        acks: watch.acks,
        most_on_an_ack: watch.ack_bursts.max().unwrap_or(0),
        most_with_a_write: watch.write_bursts.max().unwrap_or(0),
        complete: watch.before_exit.count(),
        below_ssthresh: watch.before_exit.signs().below,
        most_short: watch.shortfall.max().unwrap_or(0).max(0),
        not_yet_reported: watch.not_yet_reported,
        at_ssthresh: watch.at_ssthresh,
        sent_one: watch.sent_one,
        timed_out: watch.timed_out,
        checks: watch.checks,
    })
}

fn chart(cells: &[PropertyCell]) -> BarChart {
    let group = |network: Network| {
        let here = cells.iter().filter(|cell| cell.network == network);
        BarGroup { label: network.name().into(), values: here.map(|cell| Some(cell.most_on_an_ack as f64)).collect() }
    };
    BarChart {
        title: "The largest burst on one ACK of recovery".into(),
        x_label: "what happens to the flows".into(),
        y_label: "segments".into(),
        series: Scheme::ALL.map(|scheme| scheme.name().into()).to_vec(),
        panels: vec![BarPanel { title: String::new(), groups: Network::ALL.map(group).to_vec() }],
    }
}

/// The properties as [`figure`] checks them, in every format.
///
/// # Errors
/// As [`figure`].
pub fn sheet(setup: &Setup) -> Result<Sheet, ExperimentError> {
    Ok(to_sheet(figure(setup)?))
}

fn to_sheet(figure: Figure<PropertyCell>) -> Sheet {
    let columns = columns::cells();
    let text = columns.to_text(&figure.cells, &columns::TEXT);
    let counterexamples = Counterexample::of(&figure.cells);
    let sheet = figure.into_sheet(&text, &columns);
    sheet.with_rows("counterexamples", &columns::counterexamples(), &counterexamples)
}

#[cfg(test)]
mod tests;
