//! §II-C1: from which bandwidth on a packet is copied.
//!
//! ```text
//! copy if  p·q·RTO ≥ (1 − p)·size/bw,   so if  bw ≥ (1 − p)·size/(p·q·RTO)
//! ```
//! p, the loss rate, is 2 %; q, the likelihood that a loss means a timeout, is 1 for SYN and SYN-ACK and
//! 10 % for PSH. The thresholds are those of the engine's own arbitrator ([`Stakes`]), found by
//! bisection, and stand beside the formula solved for bw.
//!
//! The paper gives two, at an RTO of 1 s: 3.35 Mbit/s for 70 bytes at q = 1, and 7.16 Mbit/s for 1,500
//! bytes at q = 0.1.

mod claims;

use super::NAME;
use crate::{Figure, Picture, Sheet};
use recoup_draw::chart::{Interpolation, LineChart, LinePanel, Scale};
use recoup_recovery::slp::Stakes;
use recoup_table::{csv, plain_table};
use recoup_units::{BitRate, Ppm};
use serde::Serialize;
use std::time::Duration;

/// The name on the command line.
pub const ID: &str = "arbitrator";

/// p, in percent.
const LOSS: u32 = 2;

/// RTOs, in ms: the least Linux has, that of 40 ms round trips, the initial one, the initial one before
/// 2011.
pub const RTOS: [u64; 4] = [200, 240, 1000, 3000];

/// The packets: what each is, its IP length in bytes, and q in percent.
pub const PACKETS: [Packet; 5] = [
    Packet::new("SYN (no options)", 40, 100),
    Packet::new("SYN (the paper's)", 70, 100),
    Packet::new("PSH (a request of 300 bytes)", 352, 10),
    Packet::new("PSH (the end of 34 kB)", 748, 10),
    Packet::new("PSH (full)", 1500, 10),
];

/// A packet to be copied or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Packet {
    /// What it is.
    pub packet: &'static str,
    /// Its IP length, in bytes.
    pub size: u32,
    /// How likely its loss means a timeout, in percent.
    pub q_percent: u32,
}

impl Packet {
    const fn new(packet: &'static str, size: u32, q_percent: u32) -> Self {
        Self {
            packet,
            size,
            q_percent,
        }
    }

    /// The smallest bandwidth, in bit/s, at which the arbitrator favours a copy; `None` if at none.
    pub fn threshold(&self, rto: Duration) -> Option<u64> {
        let favours = |bits| {
            let bandwidth = BitRate::from_bits_per_second(bits);
            bandwidth.is_some_and(|bandwidth| {
                let stakes = Stakes {
                    p: Ppm::percent(LOSS),
                    q: Ppm::percent(self.q_percent),
                    rto,
                    ip_len: self.size,
                    bandwidth,
                };
                stakes.favour_a_copy()
            })
        };
        let (mut without, mut with) = (0, u64::MAX);
        if !favours(with) {
            return None;
        }
        while with - without > 1 {
            let middle = without + (with - without) / 2;
            if favours(middle) {
                with = middle;
            } else {
                without = middle;
            }
        }
        Some(with)
    }

    /// The formula solved for bw, in bit/s.
    pub fn solved(&self, rto: Duration) -> f64 {
        let [p, q] = [LOSS, self.q_percent].map(|percent| f64::from(percent) / 100.0);
        (1.0 - p) * f64::from(self.size) * 8.0 / (p * q * rto.as_secs_f64())
    }
}

/// A packet at an RTO.
#[derive(Clone, Debug, Serialize)]
pub struct Cell {
    /// What is copied, or not.
    #[serde(flatten)]
    pub packet: Packet,
    /// The RTO, in ms.
    pub rto_ms: u64,
    /// The arbitrator's threshold, in bit/s.
    pub threshold_bits_per_second: Option<u64>,
    /// The formula's.
    pub solved_bits_per_second: f64,
}

/// Finds all thresholds and checks the claims.
pub fn figure() -> Figure<Cell> {
    let cells = PACKETS.iter().flat_map(|packet| {
        RTOS.map(|rto_ms| {
            let rto = Duration::from_millis(rto_ms);
            Cell {
                packet: *packet,
                rto_ms,
                threshold_bits_per_second: packet.threshold(rto),
                solved_bits_per_second: packet.solved(rto),
            }
        })
    });
    let cells: Vec<Cell> = cells.collect();
    Figure {
        paper: NAME,
        figure: ID,
        title: format!("The bandwidth from which a packet is copied (threshold), p = {LOSS} %"),
        claims: claims::all(&cells),
        cells,
        picture: Picture::Lines(chart()),
    }
}

/// Thresholds over the RTO.
fn chart() -> LineChart {
    const POINTS: i32 = 60;
    let (from, to) = (RTOS[0] as f64, RTOS[RTOS.len() - 1] as f64);
    let line = |packet: &Packet| {
        let rtos = (0..=POINTS).map(|i| from * (to / from).powf(f64::from(i) / f64::from(POINTS)));
        let point = |ms: f64| (ms, packet.solved(Duration::from_secs_f64(ms / 1e3)) / 1e6);
        rtos.map(point).collect()
    };
    LineChart {
        title: "A packet is copied where the bandwidth is above its line (p = 2 %)".into(),
        x_label: "RTO (ms)".into(),
        y_label: "bandwidth (Mbit/s)".into(),
        scale: Scale::Logarithmic,
        largest: None,
        interpolation: Interpolation::Linear,
        series: PACKETS
            .map(|p| format!("{} bytes, q = {} %", p.size, p.q_percent))
            .to_vec(),
        panels: vec![LinePanel {
            title: String::new(),
            lines: PACKETS.iter().map(line).collect(),
        }],
    }
}

/// The thresholds as [`figure`] gives them, in all forms.
pub fn sheet() -> Sheet {
    let figure = figure();
    let (table, csv) = (to_table(&figure), to_csv(&figure));
    figure.into_sheet(table, csv)
}

/// A table with a row a packet and a column an RTO, then the claims.
pub fn to_table(figure: &Figure<Cell>) -> String {
    let mut table = plain_table();
    let mut header = ["packet", "IP length (bytes)", "q (%)"]
        .map(String::from)
        .to_vec();
    header.extend(RTOS.map(|rto| format!("kbit/s at RTO {rto} ms")));
    table.set_header(header);
    for cells in figure.cells.chunks(RTOS.len()) {
        let packet = cells[0].packet;
        let mut row = vec![
            packet.packet.into(),
            packet.size.to_string(),
            packet.q_percent.to_string(),
        ];
        let kbits = |bits: u64| format!("{:.2}", bits as f64 / 1e3);
        let thresholds = cells.iter().map(|cell| cell.threshold_bits_per_second);
        row.extend(thresholds.map(|bits| bits.map_or("never".into(), kbits)));
        table.add_row(row);
    }
    figure.with_table(&table)
}

/// The thresholds as CSV, a line each.
pub fn to_csv(figure: &Figure<Cell>) -> String {
    let header = [
        "figure",
        "packet",
        "size",
        "q_percent",
        "rto_ms",
        "threshold_bits_per_second",
        "solved_bits_per_second",
    ];
    let row = |cell: &Cell| {
        let threshold = cell.threshold_bits_per_second;
        [
            figure.figure.into(),
            cell.packet.packet.into(),
            cell.packet.size.to_string(),
            cell.packet.q_percent.to_string(),
            cell.rto_ms.to_string(),
            threshold.map_or(String::new(), |bits| bits.to_string()),
            cell.solved_bits_per_second.to_string(),
        ]
    };
    csv(header, figure.cells.iter().map(row))
}

#[cfg(test)]
mod tests;
