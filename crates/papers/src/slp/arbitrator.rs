//! §II-C1: the bandwidth from which SLP copies a packet.
//!
//! ```text
//! copy if  p·q·RTO ≥ (1 − p)·size/bw,   that is if  bw ≥ (1 − p)·size/(p·q·RTO)
//! ```
//!
//! p is the loss rate, 2 %. q is the probability that the loss of the packet causes a timeout: 1 for SYN,
//! 10 % for PSH. We find the thresholds of the engine's arbitrator ([`Stakes`]) by bisection and compare
//! them with the formula solved for bw.
//!
//! The paper gives two thresholds for an RTO of 1 s: 3.35 Mbit/s for 70 bytes at q = 1, and 7.16 Mbit/s
//! for 1,500 bytes at q = 0.1.

mod claims;

use super::NAME;
use crate::experiment::{ExperimentError, Setup};
use crate::{Figure, Picture, Sheet, columns_of_figure};
use recoup_draw::chart::{Interpolation, LineChart, LinePanel, Scale};
use recoup_recovery::slp::Stakes;
use recoup_table::{Columns, plain_table};
use recoup_units::{BitRate, Ppm};
use std::time::Duration;

/// The name on the command line.
pub const ID: &str = "arbitrator";

/// p, in percent.
const LOSS: u32 = 2;

/// RTOs in ms: Linux's smallest, the one at an RTT of 40 ms, the initial RTO, and the initial RTO before
/// 2011.
pub const RTOS: [u64; 4] = [200, 240, 1000, 3000];

/// The packets, each with its IP length in bytes and q in percent.
pub const PACKETS: [CopiedPacket; 5] = [
    CopiedPacket::new("SYN (no options)", 40, 100),
    CopiedPacket::new("SYN (the paper's)", 70, 100),
    CopiedPacket::new("PSH (a request of 300 bytes)", 352, 10),
    CopiedPacket::new("PSH (the end of 34 kB)", 748, 10),
    CopiedPacket::new("PSH (full)", 1500, 10),
];

/// A kind of packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CopiedPacket {
    /// Its name in reports.
    pub packet: &'static str,
    /// Its IP length, in bytes.
    pub size: u32,
    /// q: the probability that its loss causes a timeout, in percent.
    pub q_percent: u32,
}

impl CopiedPacket {
    const fn new(packet: &'static str, size: u32, q_percent: u32) -> Self {
        Self { packet, size, q_percent }
    }

    /// Whether the arbitrator favours a copy at this bandwidth in bit/s.
    pub fn is_favoured(&self, p: Ppm, rto: Duration, bits: u64) -> bool {
        let bandwidth = BitRate::from_bits_per_second(bits);
        bandwidth.is_some_and(|bandwidth| {
            let stakes = Stakes { p, q: Ppm::percent(self.q_percent), rto, ip_len: self.size, bandwidth };
            stakes.favour_a_copy()
        })
    }

    /// The smallest bandwidth at which the arbitrator favours a copy, in bit/s; `None` if there is none.
    pub fn threshold(&self, p: Ppm, rto: Duration) -> Option<u64> {
        let favours = |bits| self.is_favoured(p, rto, bits);
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
#[derive(Clone, Debug)]
pub struct ThresholdCell {
    /// The packet.
    pub packet: CopiedPacket,
    /// The RTO, in ms.
    pub rto_ms: u64,
    /// The arbitrator's threshold, in bit/s.
    pub threshold_bits_per_second: Option<u64>,
    /// The formula's threshold, in bit/s.
    pub solved_bits_per_second: f64,
}

/// Finds all thresholds with this p and checks the claims.
pub fn figure(p: Ppm) -> Figure<ThresholdCell> {
    let cells = PACKETS.iter().flat_map(|packet| {
        RTOS.map(|rto_ms| {
            let rto = Duration::from_millis(rto_ms);
            ThresholdCell {
                packet: *packet,
                rto_ms,
                threshold_bits_per_second: packet.threshold(p, rto),
                solved_bits_per_second: packet.solved(rto),
            }
        })
    });
    let cells: Vec<ThresholdCell> = cells.collect();
    Figure {
        paper: NAME,
        figure: ID,
        title: format!("Threshold: the bandwidth from which SLP copies a packet, p = {LOSS} %"),
        claims: claims::all(&cells, p),
        cells,
        picture: Picture::Lines(chart()),
    }
}

/// Draws the thresholds by RTO.
fn chart() -> LineChart {
    const POINTS: i32 = 60;
    let (from, to) = (RTOS[0] as f64, RTOS[RTOS.len() - 1] as f64);
    let line = |packet: &CopiedPacket| {
        let rtos = (0..=POINTS).map(|i| from * (to / from).powf(f64::from(i) / f64::from(POINTS)));
        let point = |ms: f64| (ms, packet.solved(Duration::from_secs_f64(ms / 1e3)) / 1e6);
        rtos.map(point).collect()
    };
    LineChart {
        title: "A packet is copied where the bandwidth is above its line (p = 2 %)".into(),
        x_label: "RTO (ms)".into(),
        y_label: "bandwidth (Mbit/s)".into(),
        scale: Scale::Logarithmic,
        y_scale: Scale::Linear,
        largest: None,
        interpolation: Interpolation::Linear,
        series: PACKETS.map(|p| format!("{} bytes, q = {} %", p.size, p.q_percent)).to_vec(),
        panels: vec![LinePanel { title: String::new(), lines: PACKETS.iter().map(line).collect() }],
    }
}

/// The thresholds as [`figure`] computes them, in every format.
///
/// # Errors
/// Never.
pub fn sheet(setup: &Setup) -> Result<Sheet, ExperimentError> {
    let figure = figure(match setup.is_mutated("rare-loss") {
        true => Ppm::new(100),
        false => Ppm::percent(LOSS),
    });
    let text = text(&figure.cells);
    Ok(figure.into_sheet(&text, &columns()))
}

fn columns() -> Columns<ThresholdCell> {
    columns_of_figure::<ThresholdCell>(ID)
        .text(("packet", "", "the packet"), |c| Some(c.packet.packet.into()))
        .integer(("size", "bytes", "length of the IP packet"), |c| Some(c.packet.size.into()))
        .integer(("q_percent", "%", "q: probability that the loss of the packet causes a timeout"), |c| {
            Some(c.packet.q_percent.into())
        })
        .integer(("rto_ms", "ms", "the RTO"), |c| Some(c.rto_ms))
        .integer(
            (
                "threshold_bits_per_second",
                "bit/s",
                "smallest bandwidth at which the arbitrator copies the packet; unknown if none",
            ),
            |c| c.threshold_bits_per_second,
        )
        .real(("solved_bits_per_second", "bit/s", "the formula solved for the bandwidth"), |c| {
            Some(c.solved_bits_per_second)
        })
}

/// A table with a row per packet and a column per RTO.
fn text(cells: &[ThresholdCell]) -> String {
    let mut table = plain_table();
    let mut header = ["packet", "IP length (bytes)", "q (%)"].map(String::from).to_vec();
    header.extend(RTOS.map(|rto| format!("kbit/s at RTO {rto} ms")));
    table.set_header(header);
    for cells in cells.chunks(RTOS.len()) {
        let packet = cells[0].packet;
        let mut row = vec![packet.packet.into(), packet.size.to_string(), packet.q_percent.to_string()];
        let kbits = |bits: u64| format!("{:.2}", bits as f64 / 1e3);
        let thresholds = cells.iter().map(|cell| cell.threshold_bits_per_second);
        row.extend(thresholds.map(|bits| bits.map_or("never".into(), kbits)));
        table.add_row(row);
    }
    table.to_string()
}

#[cfg(test)]
mod tests;
