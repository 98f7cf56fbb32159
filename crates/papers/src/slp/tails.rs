//! SLP beside RTO restart and tail loss probes: who helps a flow that loses exactly its tail, its SYN
//! or its SYN-ACK, once (§II-C; the setting is that of "An Evaluation of Tail Loss Recovery Mechanisms
//! for TCP", 2015, §3.1).
//!
//! The paper duplicates no tail as such: its q is 1 for SYN and SYN-ACK and 10 % for PSH. So tails come
//! twice here: with q = 1 for what ends the application's data (`slp.q=tail:1`), where the window rule
//! alone decides, and with the paper's q and 10 Mbit/s, where the arbitrator does.
//!
//! ```text
//! window rule   next + 2·size < high_acked + cwnd    segment k of a flow's first window of W: k + 1 < W
//! arbitrator    p·q·RTO ≥ (1 − p)·size/bw            PSH, 1500 bytes: RTO ≥ 588 ms
//! ```

mod cell;
mod claims;

pub use cell::{Case, Cell, PROFILES};

use super::NAME;
use crate::tail_loss::Acks;
use crate::{Figure, Picture, Sheet};
use comfy_table::Table;
use recoup_draw::chart::{BarChart, BarGroup, BarPanel};
use recoup_lab::settings::SettingsError;
use recoup_table::{csv, millis, plain_table};

/// The name on the command line.
pub const ID: &str = "tails";

/// The RTTs, in ms.
pub const RTTS: [u64; 3] = [20, 80, 320];

const TITLE: &str = "Flows that lose their last segment, their SYN or their SYN-ACK, once";

/// Runs every case under every profile and checks the claims; `seed` gives initial sequence numbers,
/// nothing else is random.
///
/// # Errors
/// None that the settings here give.
pub fn figure(seed: u64) -> Result<Figure<Cell>, SettingsError> {
    let mut cells = Vec::new();
    for case in Case::ALL {
        for acks in case.receivers() {
            for profile in PROFILES {
                for rtt_ms in RTTS {
                    cells.push(cell::run(case, *acks, rtt_ms, profile, seed, &[])?);
                }
            }
        }
    }
    for i in 0..cells.len() {
        // Profiles follow each other, the RTTs of each side by side.
        let first = i - i % (PROFILES.len() * RTTS.len()) + i % RTTS.len();
        let first = cells[first].fct_ms;
        cells[i].fct_normalised = cells[i].fct_ms.zip(first).map(|(ours, first)| ours / first);
    }
    Ok(Figure {
        paper: NAME,
        figure: ID,
        title: TITLE.into(),
        claims: claims::all(&cells, seed)?,
        picture: Picture::Bars(chart(&cells)),
        cells,
    })
}

/// Quick ACKs; a panel a case.
fn chart(cells: &[Cell]) -> BarChart {
    let value = |case, profile, rtt_ms| {
        let mut cells = cells.iter();
        let is_it = |c: &&Cell| {
            (c.case, c.profile, c.rtt_ms, c.ack) == (case, profile, rtt_ms, Acks::Quick.name())
        };
        cells.find(is_it).and_then(|cell| cell.fct_normalised)
    };
    let panel = |case: Case| {
        let group = |rtt_ms| BarGroup {
            label: format!("{rtt_ms}"),
            values: PROFILES
                .map(|profile| value(case, profile, rtt_ms))
                .to_vec(),
        };
        BarPanel {
            title: case.title().into(),
            groups: RTTS.map(group).to_vec(),
        }
    };
    BarChart {
        title: format!("{TITLE}; quick ACKs"),
        x_label: "RTT (ms)".into(),
        y_label: "normalised FCT".into(),
        series: PROFILES.map(String::from).to_vec(),
        panels: Case::ALL.map(panel).to_vec(),
    }
}

/// The cells as [`figure`] gives them, in all forms.
///
/// # Errors
/// As [`figure`].
pub fn sheet(seed: u64) -> Result<Sheet, SettingsError> {
    let figure = figure(seed)?;
    let (table, csv) = (to_table(&figure), to_csv(&figure));
    Ok(figure.into_sheet(table, csv))
}

/// A table for each case and receiver with a row a profile, then the claims.
pub fn to_table(figure: &Figure<Cell>) -> String {
    let mut text = "Columns by RTT: FCT in ms and over the first profile's (norm.), copies both hosts sent and those they\n\
        withheld for want of room. Retransmissions and bytes are in CSV and JSON."
        .to_string();
    for cells in figure.cells.chunks(PROFILES.len() * RTTS.len()) {
        let Cell { case, ack, .. } = cells[0];
        let (lost, segments, q) = (case.name(), case.segments(), case.likelihoods());
        text += &format!(
            "\n\nLost: {lost} (segments={segments} slp.q={q} ack={ack})\n\n{}",
            profiles(cells)
        );
    }
    figure.with_table(&text)
}

/// A cell's number as it is printed.
type Shown = fn(&Cell) -> String;

/// The profiles of one case and receiver, each number by RTT: the first column of a number says which.
fn profiles(cells: &[Cell]) -> Table {
    const NUMBERS: [(&str, Shown); 4] = [
        ("FCT", |cell| millis(cell.fct_ms)),
        ("norm.", |cell| millis(cell.fct_normalised)),
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

/// The cells as CSV, a line each.
pub fn to_csv(figure: &Figure<Cell>) -> String {
    let number = |n: Option<f64>| n.map_or(String::new(), |n| n.to_string());
    let header = [
        "figure",
        "lost",
        "segments",
        "q",
        "ack",
        "rtt_ms",
        "profile",
        "fct_ms",
        "fct_normalised",
        "retransmissions",
        "copies",
        "copied_bytes",
        "withheld",
        "bytes",
    ];
    let row = |cell: &Cell| {
        [
            figure.figure.into(),
            cell.case.name().into(),
            cell.case.segments().to_string(),
            cell.case.likelihoods().into(),
            cell.ack.into(),
            cell.rtt_ms.to_string(),
            cell.profile.into(),
            number(cell.fct_ms),
            number(cell.fct_normalised),
            cell.retransmissions.to_string(),
            cell.copies.to_string(),
            cell.copied_bytes.to_string(),
            cell.withheld.to_string(),
            cell.bytes.to_string(),
        ]
    };
    csv(header, figure.cells.iter().map(row))
}

#[cfg(test)]
mod tests;
