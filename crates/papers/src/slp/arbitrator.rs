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
use crate::prelude::*;
use recoup_recovery::slp::Stakes;
use recoup_units::{BitRate, Ppm};

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
    let title = format!("Threshold: the bandwidth from which SLP copies a packet, p = {LOSS} %");
    Figure::new(NAME, ID, title, claims::all(&cells, p), chart(), cells)
}

/// Draws the thresholds by RTO.
fn chart() -> LineChart {
    const POINTS: i32 = 60;
    let (from, to) = (RTOS[0] as f64, RTOS[RTOS.len() - 1] as f64);
    let line = |packet: CopiedPacket| {
        (0..=POINTS).map(move |i| {
            let ms = from * (to / from).powf(f64::from(i) / f64::from(POINTS));
            (ms, packet.solved(Duration::from_secs_f64(ms / 1e3)) / 1e6)
        })
    };
    LineChart::new(
        "A packet is copied where the bandwidth is above its line (p = 2 %)",
        "RTO (ms)",
        "bandwidth (Mbit/s)",
        PACKETS.map(|p| format!("{} bytes, q = {} %", p.size, p.q_percent)),
    )
    .logarithmic()
    .panel("", PACKETS.map(line))
}

/// The thresholds as [`figure`] computes them, in every format.
///
/// # Errors
/// Never.
pub fn sheet(setup: &Setup) -> Result<Sheet> {
    let p = if setup.is_mutated("rare-loss") { Ppm::new(100) } else { Ppm::percent(LOSS) };
    Ok(figure(p).sheet(text, &columns()))
}

fn columns() -> Columns<ThresholdCell> {
    columns!(columns_of_figure::<ThresholdCell>(ID), c;
        packet, "", "the packet" => c.packet.packet;
        size, "bytes", "length of the IP packet" => c.packet.size;
        q_percent, "%", "q: probability that the loss of the packet causes a timeout" => c.packet.q_percent;
        rto_ms, "ms", "the RTO";
        threshold_bits_per_second, "bit/s", "smallest bandwidth at which the arbitrator copies the packet; unknown if none";
        solved_bits_per_second, "bit/s", "the formula solved for the bandwidth";
    )
}

/// A table with a row per packet and a column per RTO.
fn text(cells: &[ThresholdCell]) -> String {
    const N: usize = RTOS.len();
    let packets = columns!(Columns::<[ThresholdCell; N]>::new(), row;
        "packet" => row[0].packet.packet;
        "IP length (bytes)" => row[0].packet.size;
        "q (%)" => row[0].packet.q_percent;
    );
    let kbits = |bits: u64| format!("{:.2}", bits as f64 / 1e3);
    RTOS.into_iter()
        .enumerate()
        .fold(packets, |columns, (i, rto)| {
            columns.shown(format!("kbit/s at RTO {rto} ms"), move |row| {
                row[i].threshold_bits_per_second.map_or("never".into(), kbits)
            })
        })
        .to_table(cells.as_chunks().0)
}

#[cfg(test)]
mod tests;
