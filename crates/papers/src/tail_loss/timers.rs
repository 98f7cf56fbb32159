//! §2 and §3.4: what the timers of TCP, RTO restart, TLP and TLPR do, on single flows.
//!
//! ```text
//! standard timer:   retransmission RTO after the last ACK
//! RTO restart:      retransmission RTO after the earliest outstanding segment was sent, below four outstanding
//! TLP:              probe min(PTO, RTO) after the last ACK
//! TLPR:             probe min(PTO, RTO) after the last segment was sent
//! PTO:              max(2·SRTT, 10 ms), or max(2·SRTT, 1.5·SRTT + 200 ms) with one segment outstanding
//! ```
//! Flows have ten segments (one initial window) and lose their last n, unless a claim says otherwise. The figure shows
//! when each mechanism retransmits first, after the lost segments were sent, by the number outstanding: the RTT is
//! 80 ms.
//!
//! Deviations from the paper: its §2 states these rules and measures nothing; the flows are ours. Delays that are
//! merely long (module `delay`) come from a path that holds packets back at random.

mod delay;
mod probe;
mod restart;

use super::cell::{Acks, MECHANISMS, Mechanism};
use super::single_flow::Repair;
use super::{NAME, RTTS};
use crate::flow::run;
use crate::prelude::*;

/// The experiment's name.
pub const ID: &str = "timers";

/// The settings that the flows set themselves.
pub const OWN_SETTINGS: [&str; 9] =
    ["rtt", "rate", "drop", "ack", "segments", "reorder", "receive_buffer", "close", "writes"];

/// The numbers of segments lost at the tail.
pub const LOST: [u64; 6] = [1, 2, 3, 4, 5, 6];

/// A flow that lost its tail, and its first retransmission or probe.
#[derive(Clone, Debug)]
pub struct TimerCell {
    /// The receiver.
    pub acks: Acks,
    /// The RTT in ms.
    pub rtt_ms: u64,
    /// Segments lost at the tail.
    pub lost: u64,
    /// The mechanism.
    pub mechanism: Mechanism,
    /// The flow completion time from establishment, in ms.
    pub fct_ms: Option<f64>,
    /// The first retransmission or probe.
    pub first: Option<Repair>,
    /// How many probes were sent.
    pub probes: u64,
    /// When the first ACK with a SACK arrived, in ms after the first repair; `None` without one.
    pub sack_after_ms: Option<f64>,
}

/// The cells, found by what was set.
struct Cells<'a>(&'a [TimerCell]);

impl Cells<'_> {
    /// All cells of a mechanism, with these numbers of segments lost.
    fn of(&self, mechanism: Mechanism, lost: &'static [u64]) -> Vec<&TimerCell> {
        let is_it = |cell: &&TimerCell| cell.mechanism == mechanism && lost.contains(&cell.lost);
        self.0.iter().filter(is_it).collect()
    }

    /// How many cells of a mechanism satisfy `f`, as text, and whether all do.
    fn in_every(
        &self,
        mechanism: Mechanism,
        lost: &'static [u64],
        f: impl Fn(&TimerCell, &Repair) -> bool,
    ) -> (String, bool) {
        let cells = self.of(mechanism, lost);
        let holds = |cell: &&&TimerCell| cell.first.as_ref().is_some_and(|first| f(cell, first));
        let count = cells.iter().filter(holds).count();
        (format!("{count} of {} flows", cells.len()), count == cells.len())
    }
}

fn cell(setup: &Setup, acks: Acks, rtt_ms: u64, lost: u64, mechanism: Mechanism) -> Result<TimerCell> {
    let trace = run(setup, mechanism.profile(), &format!("rtt={rtt_ms}ms drop=tail:{lost} ack={}", acks.name()))?;
    let first = trace.first_repair();
    Ok(TimerCell {
        acks,
        rtt_ms,
        lost,
        mechanism,
        fct_ms: trace.fct_ms(),
        first,
        probes: trace.record.counters.probes,
        sack_after_ms: first.and_then(|first| first_sack(&trace, &first)),
    })
}

/// When the client sent its first ACK with a SACK, after the first repair was sent, in ms; negative if before.
fn first_sack(trace: &Log, first: &Repair) -> Option<f64> {
    let sack = trace.acks().find(|ack| !ack.segment.options.sack.is_empty());
    let ms = |at: recoup_units::Instant| at.as_nanos() as f64 / 1e6;
    sack.map(|sack| ms(sack.at) - ms(first.at))
}

/// Runs all flows and checks the claims.
///
/// # Errors
/// When settings contradict each other.
pub fn figure(setup: &Setup) -> Result<Figure<TimerCell>> {
    let mut cells = vec![];
    for acks in Acks::ALL {
        for rtt_ms in RTTS {
            for lost in LOST {
                for mechanism in MECHANISMS {
                    cells.push(cell(setup, acks, rtt_ms, lost, mechanism)?);
                }
            }
        }
    }
    let title = format!("First retransmission of a lost tail, RTT {SHOWN_RTT} ms");
    Ok(Figure::new(NAME, ID, title, claims(setup, &cells)?, chart(&cells), cells))
}

fn claims(setup: &Setup, cells: &[TimerCell]) -> Result<Vec<Claim>> {
    let cells = Cells(cells);
    let mut claims = restart::claims(setup, &cells)?;
    claims.extend(probe::claims(setup, &cells)?);
    claims.extend(delay::claims(setup)?);
    Ok(claims)
}

/// The experiment in every format.
///
/// # Errors
/// As [`figure`].
pub fn sheet(setup: &Setup) -> Result<Sheet> {
    Ok(figure(setup)?.sheet(text, &columns()))
}

/// The RTT that the picture shows, in ms.
const SHOWN_RTT: u64 = 80;

fn chart(cells: &[TimerCell]) -> BarChart {
    let chart = BarChart::new(
        format!("First retransmission after the loss, RTT {SHOWN_RTT} ms"),
        "segments lost at the tail",
        "time after the transmission (ms)",
        MECHANISMS.map(Mechanism::name),
    );
    Acks::ALL.into_iter().fold(chart, |chart, acks| {
        let here = |cell: &&TimerCell| cell.acks == acks && cell.rtt_ms == SHOWN_RTT;
        let here: Vec<&TimerCell> = cells.iter().filter(here).collect();
        let since = |cell: &&TimerCell| Some(cell.first?.since_earliest_ms);
        let bars = here.chunks(MECHANISMS.len()).map(|bars| (bars[0].lost.to_string(), bars.iter().map(since)));
        chart.panel(acks.title(), bars)
    })
}

/// A row per flow.
fn columns() -> Columns<TimerCell> {
    let columns = columns!(columns_of_figure::<TimerCell>(ID), c;
        ack, "", "the receiver's `ack` setting" => c.acks.name();
        rtt_ms, "ms", "round-trip time";
        lost, "segments", "segments lost at the tail";
        mechanism, "", "the sender's mechanism" => c.mechanism.name();
        fct_ms, "ms", "flow completion time from establishment";
        probes, "", "probes sent";
        trigger, "", "the first retransmission's trigger" => c.first?.trigger.map(|trigger| trigger.name());
        outstanding, "segments", "segments outstanding at the first retransmission" => Some(c.first?.outstanding);
    );
    type Time = (&'static str, &'static str, fn(Repair) -> f64);
    const TIMES: [Time; 5] = [
        ("since_last_ack_ms", "the first retransmission, after the last ACK", |first| first.since_last_ack_ms),
        ("since_earliest_ms", "the first retransmission, after the earliest outstanding segment was sent", |first| {
            first.since_earliest_ms
        }),
        ("since_newest_ms", "the first retransmission, after the last segment was sent", |first| first.since_newest_ms),
        ("srtt_ms", "the smoothed RTT at that moment", |first| first.srtt_ms),
        ("rto_ms", "the RTO at that moment", |first| first.rto_ms),
    ];
    TIMES
        .into_iter()
        .fold(columns, |columns, (name, about, of)| columns.column(name, "ms", about, move |c| c.first.map(of)))
}

/// A row per receiver and number of lost segments at the RTT shown.
fn text(cells: &[TimerCell]) -> String {
    let shown: Vec<&TimerCell> = cells.iter().filter(|c| c.rtt_ms == SHOWN_RTT).collect();
    let table = pivot(
        &shown,
        &[("ack", &|c| c.acks.name().into()), ("segments lost", &|c| c.lost.to_string())],
        &MECHANISMS.map(Mechanism::name),
        &[(" (ms)", &|c| millis(c.first.map(|first| first.since_earliest_ms)))],
    );
    format!(
        "The first retransmission or probe, in ms after the lost segments were sent. RTT {SHOWN_RTT} ms; the other RTTs are in the JSON.\n\n{table}"
    )
}
