//! §4.3 (4): how errors of the pipe estimator change the amount of data that recovery sends.
//!
//! Flows of the scenario `prr` with 40 segments in flight and Reno, so that ssthresh is 20. The first segment is lost; others are held
//! back by 60 ms with some probability, so that later ones overtake them. FACK takes them for lost, and pipe falls. Their
//! originals arrive before the retransmissions. The link has 3 Mbit/s, the receiver acknowledges every segment, and there are
//! always more data to send.
//!
//! The error of a flow is the difference in segments sent in recovery from the same flow without reordering, when 30 of the 40
//! segments have arrived in recovery. The comparison is with the same rate control, so it shows what the errors of pipe change, and not how the
//! rate controls differ.

use super::NAME;
use super::trace::Trace;
use crate::prelude::*;

/// The name on the command line.
pub const ID: &str = "pipe";

/// The settings that each flow sets itself.
pub const OWN_SETTINGS: [&str; 6] = ["drop", "writes", "ack", "initial_window", "rate", "reorder"];

/// The rate controls.
const SCHEMES: [(&str, &str); 3] = [
    ("PRR", "linux-2.6+reno+fack+prr"),
    ("Linux", "linux-2.6+reno+fack+halving"),
    ("RFC 3517", "linux-2.6+reno+fack+std"),
];

/// The probabilities that a segment is held back.
const REORDERED: [&str; 4] = ["0.05", "0.1", "0.2", "0.3"];

/// The error is measured when this many segments have arrived in recovery.
const ARRIVED: u32 = 30;

/// All flows of a rate control with one probability.
#[derive(Clone, Debug)]
struct Cell {
    scheme: &'static str,
    reordered: &'static str,
    /// Flows with retransmissions that were not needed.
    misled: u64,
    /// Flows in which an ACK brought pipe below ssthresh by then.
    below: u64,
    /// Retransmissions that were not needed, and DSACKs that reported duplicates.
    spurious: u64,
    dsacks: u64,
    /// The absolute error of each flow, in segments; NaN where recovery ended before.
    errors: Vec<f64>,
    /// The error of each flow with its sign.
    signed: Vec<f64>,
}

impl Cell {
    fn mean(&self) -> Estimate {
        self.errors.iter().copied().filter(|e| e.is_finite()).collect()
    }

    fn bias(&self) -> Estimate {
        self.signed.iter().copied().filter(|e| e.is_finite()).collect()
    }

    /// How much larger its errors are than another rate control's in the same flows.
    fn above(&self, other: &Self) -> Estimate {
        self.errors.iter().zip(&other.errors).map(|(a, b)| a - b).filter(|d| d.is_finite()).collect()
    }
}

/// Segments sent in recovery when `ARRIVED` segments have arrived in it.
fn sent_by_then(trace: &Trace) -> Option<u32> {
    let (mut delivered, mut sent) = (0, 0);
    for ack in trace.recovery_acks() {
        delivered += ack.delivered;
        sent += ack.sent();
        if delivered >= ARRIVED {
            return Some(sent);
        }
    }
    None
}

/// Whether an ACK brings pipe below ssthresh before `ARRIVED` segments have arrived in recovery.
fn falls_below(trace: &Trace) -> bool {
    let mut delivered = 0;
    trace
        .recovery_acks()
        .take_while(|ack| {
            delivered += ack.delivered;
            delivered < ARRIVED
        })
        .any(|ack| ack.pipe_before_sending() < ack.ssthresh)
}

/// The experiment in every format.
///
/// # Errors
/// Settings that do not fit together.
pub fn sheet(setup: &Setup) -> Result<Sheet> {
    let count = SCHEMES.len() * REORDERED.len();
    let cells =
        in_parallel(count, cores(), |i| run(setup, SCHEMES[i / REORDERED.len()], REORDERED[i % REORDERED.len()]))?;
    let columns = columns();
    let shown = ["scheme", "reordered", "misled", "error", "error_half", "bias"];
    let figure = Figure::new(NAME, ID, "What errors of pipe change in recovery", claims(&cells), chart(&cells), cells);
    Ok(figure.sheet(|cells| columns.to_text(cells, &shown), &columns))
}

fn run(setup: &Setup, (scheme, profile): (&'static str, &'static str), reordered: &'static str) -> Result<Cell> {
    let reorder = format!("{reordered}:60ms");
    let flows = |reorder: &str| {
        Bench::new(
            setup,
            profile,
            &format!("drop=data:1 writes=300kB@0 ack=quick initial_window=40 rate=3Mbit reorder={reorder}"),
        )
    };
    let plain = flows("none")?.trace(0);
    let alone = sent_by_then(&plain).map_or(NAN, f64::from);
    let mut flows = flows(&reorder)?;
    let mut cell =
        Cell { scheme, reordered, misled: 0, below: 0, spurious: 0, dsacks: 0, errors: vec![], signed: vec![] };
    for number in 0..setup.effort.of(600, 150) {
        let trace = flows.trace(number);
        cell.misled += u64::from(trace.record.spurious_data > 0);
        cell.below += u64::from(falls_below(&trace));
        cell.spurious += trace.record.spurious_data;
        cell.dsacks += trace.record.counters.dsacks;
        let sent = sent_by_then(&trace).map_or(NAN, f64::from);
        cell.signed.push(sent - alone);
        cell.errors.push((sent - alone).abs());
    }
    Ok(cell)
}

fn columns() -> Columns<Cell> {
    columns!(columns_of_figure::<Cell>(ID), c;
        scheme, "", "the server's rate control";
        reordered, "", "probability that a segment is held back";
        misled, "", "flows with unneeded retransmissions", "flows misled";
        error, "segments", "mean absolute difference from the flow without reordering, in segments sent" => c.mean().mean;
        error_half, "", "half the width of its 95 % confidence interval", "±" => c.mean().half;
        bias, "segments", "mean difference, with its sign" => c.bias().mean;
    )
}

/// The cells of a rate control.
fn of<'a>(cells: &'a [Cell], scheme: &str) -> Vec<&'a Cell> {
    cells.iter().filter(|cell| cell.scheme == scheme).collect()
}

fn claims(cells: &[Cell]) -> Vec<Claim> {
    let [prr, linux, rfc] = ["PRR", "Linux", "RFC 3517"].map(|scheme| of(cells, scheme));
    vec![
        less_sensitive("prr-less-sensitive-than-rfc3517", "RFC 3517's", &prr, &rfc),
        less_sensitive("prr-less-sensitive-than-linux", "Linux's", &prr, &linux).note(below_note(&prr)),
        rfc_imprecise(&rfc),
        dsacks(cells),
    ]
}

/// Why PRR's error can exceed Linux's.
fn below_note(prr: &[&Cell]) -> String {
    let shares = prr.iter().map(|cell| {
        let share = 100.0 * cell.below as f64 / cell.errors.len().max(1) as f64;
        format!("{} ({share:.0} % of the flows)", cell.reordered)
    });
    format!(
        "PRR's error grows as segments taken for lost bring pipe below ssthresh: with the shares {}. Its slow-start \
         part then sends up to one segment more than each ACK delivers, where Linux never sends more than one per ACK",
        shares.joined(", ")
    )
}

fn less_sensitive(id: &'static str, whose: &str, prr: &[&Cell], other: &[&Cell]) -> Claim {
    let differences = prr.iter().zip(other).map(|(prr, other)| other.above(prr));
    let shown: Vec<String> = prr
        .iter()
        .zip(other)
        .map(|(prr, other)| format!("{}: {:.2} and {:.2}", prr.reordered, prr.mean().mean, other.mean().mean))
        .collect();
    claim!(id, "PRR's error and {whose}, by share: {}", shown.join("; "))
        .needs_all(differences.map(|more| more.above(0.0)))
}

fn rfc_imprecise(rfc: &[&Cell]) -> Claim {
    let most = rfc.last().map_or(Estimate { mean: 0.0, half: 0.0 }, |cell| cell.mean());
    claim!("rfc3517-imprecise-pipe", "{most} segments").needs(most.above(2.0))
}

fn dsacks(cells: &[Cell]) -> Claim {
    let above = cells.iter().filter(|cell| cell.dsacks > cell.spurious);
    let [reported, all] =
        [|cell: &Cell| cell.dsacks, |cell: &Cell| cell.spurious].map(|of| cells.iter().map(of).sum::<u64>());
    claim!("dsacks-lower-bound", "{reported} DSACKs, {all} spurious retransmissions")
        .holds(above.count() == 0 && reported > 0)
}

fn chart(cells: &[Cell]) -> LineChart {
    let point = |cell: &Cell| (100.0 * cell.reordered.parse().unwrap_or(NAN), cell.mean().mean);
    LineChart::new(
        "Error in the segments sent when reordered segments are taken for lost",
        "segments held back by 60 ms (%)",
        "mean error (segments)",
        SCHEMES.map(|(scheme, _)| scheme),
    )
    .panel("", SCHEMES.map(|(scheme, _)| of(cells, scheme).into_iter().map(point)))
}
