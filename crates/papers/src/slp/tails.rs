//! SLP compared with RTO restart and tail loss probes, for flows that lose exactly their last segment,
//! their SYN or their SYN-ACK, once (§II-C). The setting is that of "An Evaluation of Tail Loss Recovery
//! Mechanisms for TCP", 2015, §3.1.
//!
//! The paper has q for SYN (1) and PSH (10 %), none for tails and SYN-ACKs. A SYN-ACK has q = 1 here, as in
//! the engine. We run tails in two ways. With q = 1 for the end of the application's data (`slp.q=tail:1`),
//! the window rule alone decides whether to copy. With the paper's q and 10 Mbit/s, the arbitrator decides.
//!
//! ```text
//! window rule   next + 2·size < high_acked + cwnd    segment k of a flow's first window of W: k + 1 < W
//! arbitrator    p·q·RTO ≥ (1 − p)·size/bw            PSH, 1500 bytes: RTO ≥ 588 ms
//! ```

mod cell;
mod claims;

use crate::prelude::*;
pub use cell::{Case, PROFILES, TailCell};

use super::NAME;

use crate::tail_loss::Acks;

/// The name on the command line.
pub const ID: &str = "tails";

/// The RTTs, in ms.
pub const RTTS: [u64; 3] = [20, 80, 320];

const TITLE: &str = "Flows that lose their last segment, their SYN or their SYN-ACK, once";

/// Runs every case with every profile and checks the claims. The seed decides initial sequence numbers;
/// nothing else is random.
///
/// # Errors
/// Never with the settings of the figure.
pub fn figure(setup: &Setup) -> Result<Figure<TailCell>> {
    let mut cells = vec![];
    for case in Case::ALL {
        for acks in case.receivers() {
            for profile in PROFILES {
                for rtt_ms in RTTS {
                    cells.push(cell::run(setup, case, *acks, rtt_ms, profile, "")?);
                }
            }
        }
    }
    for i in 0..cells.len() {
        // Each case and receiver has all profiles in order, and each profile all RTTs.
        let first = i - i % (PROFILES.len() * RTTS.len()) + i % RTTS.len();
        let first = cells[first].fct_ms;
        cells[i].fct_normalised = cells[i].fct_ms.zip(first).map(|(ours, first)| ours / first);
    }
    Ok(Figure::new(NAME, ID, TITLE, claims::all(&cells, setup)?, chart(&cells), cells))
}

/// Draws the flows with quick ACKs, with a panel per case.
fn chart(cells: &[TailCell]) -> BarChart {
    let grid = Grid::new(cells);
    let value = |case, profile, rtt_ms| grid.at((case, Acks::Quick.name(), rtt_ms, profile)).fct_normalised;
    let chart = BarChart::new(format!("{TITLE}; quick ACKs"), "RTT (ms)", "normalised FCT", PROFILES);
    Case::ALL.into_iter().fold(chart, |chart, case| {
        let group = |rtt_ms: u64| (rtt_ms.to_string(), PROFILES.map(|profile| value(case, profile, rtt_ms)));
        chart.panel(case.title(), RTTS.map(group))
    })
}

/// The cells as [`figure`] computes them, in every format.
///
/// # Errors
/// As [`figure`].
pub fn sheet(setup: &Setup) -> Result<Sheet> {
    Ok(figure(setup)?.sheet(text, &columns()))
}

fn columns() -> Columns<TailCell> {
    columns!(columns_of_figure::<TailCell>(ID), c;
        lost, "", "the packet that is lost" => c.case.name();
        segments, "segments", "length of the flow" => c.case.segments();
        q, "", "the `slp.q` setting" => c.case.likelihoods();
        ack, "", "the receiver's `ack` setting";
        rtt_ms, "ms", "round-trip time";
        profile, "", "profile of both hosts";
        fct_ms, "ms", "flow completion time; unknown if the flow did not complete";
        fct_normalised, "", "FCT divided by the first profile's FCT";
        retransmissions, "segments", "retransmissions of both hosts, with SYNs and SYN-ACKs";
        copies, "segments", "copies sent by both hosts, with those of SYN and SYN-ACK";
        copied_bytes, "bytes", "sequence space of the copies";
        withheld, "segments", "copies withheld because the window had no room";
        bytes, "bytes", "IP bytes sent, both directions";
    )
}

/// A table per case and receiver, with a row per profile.
fn text(cells: &[TailCell]) -> String {
    let mut text = "Columns by RTT: FCT (ms), FCT divided by the first profile's FCT (ratio), copies that both hosts \
                    sent,\nand copies that they withheld because the window had no room. CSV and JSON also have \
                    retransmissions\nand bytes."
        .to_string();
    for cells in cells.chunks(PROFILES.len() * RTTS.len()) {
        let TailCell { case, ack, .. } = cells[0];
        let (lost, segments, q) = (case.name(), case.segments(), case.likelihoods());
        text += &format!("\n\nLost: {lost} (segments={segments} slp.q={q} ack={ack})\n\n{}", profiles(cells));
    }
    text
}

/// Writes a number of a cell.
type Shown = fn(&TailCell) -> String;

/// The profiles of one case and receiver. Each number has a column per RTT; the first of them names it.
fn profiles(cells: &[TailCell]) -> String {
    const N: usize = RTTS.len();
    let numbers: [(&str, Shown); 4] = [
        ("FCT", |cell| millis(cell.fct_ms)),
        ("ratio", |cell| millis(cell.fct_normalised)),
        ("copies", |cell| cell.copies.to_string()),
        ("withheld", |cell| cell.withheld.to_string()),
    ];
    let mut columns = Columns::new().shown("profile", |rtts: &[TailCell; N]| rtts[0].profile);
    for (name, number) in numbers {
        for (i, rtt_ms) in RTTS.into_iter().enumerate() {
            let name = if i == 0 { format!("{name}, ") } else { String::new() };
            columns = columns.shown(format!("{name}{rtt_ms} ms"), move |rtts| number(&rtts[i]));
        }
    }
    columns.to_table(cells.as_chunks().0)
}

#[cfg(test)]
mod tests;
