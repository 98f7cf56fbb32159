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

pub use cell::{Case, PROFILES, TailCell};

use super::NAME;
use crate::experiment::{ExperimentError, Setup};
use crate::tail_loss::Acks;
use crate::{Figure, Picture, Sheet, columns_of_figure};
use comfy_table::Table;
use recoup_draw::chart::{BarChart, BarGroup, BarPanel};
use recoup_lab::settings::SettingsError;
use recoup_table::{Columns, millis, plain_table};

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
pub fn figure(setup: &Setup) -> Result<Figure<TailCell>, SettingsError> {
    let mut cells = Vec::new();
    for case in Case::ALL {
        for acks in case.receivers() {
            for profile in PROFILES {
                for rtt_ms in RTTS {
                    cells.push(cell::run(setup, case, *acks, rtt_ms, profile, &[])?);
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
    Ok(Figure {
        paper: NAME,
        figure: ID,
        title: TITLE.into(),
        claims: claims::all(&cells, setup)?,
        picture: Picture::Bars(chart(&cells)),
        cells,
    })
}

/// Draws the flows with quick ACKs, with a panel per case.
fn chart(cells: &[TailCell]) -> BarChart {
    let value = |case, profile, rtt_ms| {
        let mut cells = cells.iter();
        let is_it = |c: &&TailCell| (c.case, c.profile, c.rtt_ms, c.ack) == (case, profile, rtt_ms, Acks::Quick.name());
        cells.find(is_it).and_then(|cell| cell.fct_normalised)
    };
    let panel = |case: Case| {
        let group = |rtt_ms| BarGroup {
            label: format!("{rtt_ms}"),
            values: PROFILES.map(|profile| value(case, profile, rtt_ms)).to_vec(),
        };
        BarPanel { title: case.title().into(), groups: RTTS.map(group).to_vec() }
    };
    BarChart {
        title: format!("{TITLE}; quick ACKs"),
        x_label: "RTT (ms)".into(),
        y_label: "normalised FCT".into(),
        series: PROFILES.map(String::from).to_vec(),
        panels: Case::ALL.map(panel).to_vec(),
    }
}

/// The cells as [`figure`] computes them, in every format.
///
/// # Errors
/// As [`figure`].
pub fn sheet(setup: &Setup) -> Result<Sheet, ExperimentError> {
    Ok(to_sheet(figure(setup)?))
}

fn to_sheet(figure: Figure<TailCell>) -> Sheet {
    let text = text(&figure.cells);
    figure.into_sheet(&text, &columns())
}

fn columns() -> Columns<TailCell> {
    columns_of_figure::<TailCell>(ID)
        .text(("lost", "", "the packet that is lost"), |c| Some(c.case.name().into()))
        .integer(("segments", "segments", "length of the flow"), |c| Some(c.case.segments()))
        .text(("q", "", "the `slp.q` setting"), |c| Some(c.case.likelihoods().into()))
        .text(("ack", "", "the receiver's `ack` setting"), |c| Some(c.ack.into()))
        .integer(("rtt_ms", "ms", "round-trip time"), |c| Some(c.rtt_ms))
        .text(("profile", "", "profile of both hosts"), |c| Some(c.profile.into()))
        .real(("fct_ms", "ms", "flow completion time; unknown if the flow did not complete"), |c| c.fct_ms)
        .real(("fct_normalised", "", "FCT divided by the first profile's FCT"), |c| c.fct_normalised)
        .integer(("retransmissions", "segments", "retransmissions of both hosts, with SYNs and SYN-ACKs"), |c| {
            Some(c.retransmissions)
        })
        .integer(("copies", "segments", "copies sent by both hosts, with those of SYN and SYN-ACK"), |c| Some(c.copies))
        .integer(("copied_bytes", "bytes", "sequence space of the copies"), |c| Some(c.copied_bytes))
        .integer(("withheld", "segments", "copies withheld because the window had no room"), |c| Some(c.withheld))
        .integer(("bytes", "bytes", "IP bytes sent, both directions"), |c| Some(c.bytes))
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

/// Formats a number of a cell.
type ToText = fn(&TailCell) -> String;

/// The profiles of one case and receiver. Each number has a column per RTT; the first of them names it.
fn profiles(cells: &[TailCell]) -> Table {
    const NUMBERS: [(&str, ToText); 4] = [
        ("FCT", |cell| millis(cell.fct_ms)),
        ("ratio", |cell| millis(cell.fct_normalised)),
        ("copies", |cell| cell.copies.to_string()),
        ("withheld", |cell| cell.withheld.to_string()),
    ];
    let mut table = plain_table();
    let mut header = vec!["profile".to_string()];
    for (name, _) in NUMBERS {
        header.extend(RTTS.map(|rtt_ms| match rtt_ms == RTTS[0] {
            true => format!("{name}, {rtt_ms} ms"),
            false => format!("{rtt_ms} ms"),
        }));
    }
    table.set_header(header);
    for rtts in cells.chunks(RTTS.len()) {
        let mut row = vec![rtts[0].profile.to_string()];
        for (_, number) in NUMBERS {
            row.extend(rtts.iter().map(number));
        }
        table.add_row(row);
    }
    table
}

#[cfg(test)]
mod tests;
