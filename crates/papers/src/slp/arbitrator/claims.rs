//! The claims of §II-C1 on thresholds.

use super::{CopiedPacket, PACKETS, ThresholdCell};
use crate::prelude::*;
use recoup_units::Ppm;

/// The RTO of the paper's two thresholds.
const RTO: Duration = Duration::from_secs(1);

/// The thresholds that the paper prints, in Mbit/s.
const PRINTED_SYN: f64 = 3.35;
const PRINTED_PSH: f64 = 7.16;

/// Checks the claims.
pub fn all(cells: &[ThresholdCell], p: Ppm) -> Vec<Claim> {
    vec![as_the_formula(cells), selected_above_syn(p), selected_above_psh(p), syn(p), psh(p)]
}

/// The figure's packet with this length and q (in percent).
fn packet(size: u32, q_percent: u32) -> CopiedPacket {
    let is = |packet: &&CopiedPacket| (packet.size, packet.q_percent) == (size, q_percent);
    *PACKETS.iter().find(is).expect("a packet of the figure")
}

fn threshold(packet: CopiedPacket, p: Ppm) -> f64 {
    packet.threshold(p, RTO).map_or(f64::INFINITY, |b| b as f64)
}

/// Converts bit/s to KiB/s.
pub fn kibytes(bits: f64) -> f64 {
    bits / 8.0 / 1024.0
}

fn as_the_formula(cells: &[ThresholdCell]) -> Claim {
    let same = |cell: &&ThresholdCell| {
        let solved = cell.solved_bits_per_second;
        // Rates are whole bits per second; the formula is in floating point.
        let above = |bits: u64| bits as f64 - solved;
        cell.threshold_bits_per_second.is_some_and(|bits| (-1e-6 * solved..1.0 + 1e-6 * solved).contains(&above(bits)))
    };
    let agree = cells.iter().filter(same).count();
    claim!("arbitrator", "in {agree} of {} cells", cells.len()).holds(agree == cells.len())
}

/// Packets below a length that are favoured at all bandwidths tried, of all tried.
fn favoured_above(q_percent: u32, below: u32, mbps: f64, p: Ppm) -> (usize, usize) {
    // Just above the threshold, twice and ten times as much, and 100 Gbit/s.
    let from = (mbps * 1e6) as u64 + 1;
    let rates = [from, 2 * from, 10 * from, 100_000_000_000];
    let cases = (40..below).flat_map(|size| rates.map(|bits| (size, bits)));
    let favoured =
        cases.clone().filter(|(size, bits)| CopiedPacket::new("", *size, q_percent).is_favoured(p, RTO, *bits));
    (favoured.count(), cases.count())
}

fn selected_above_syn(p: Ppm) -> Claim {
    let (favoured, all) = favoured_above(100, 70, PRINTED_SYN, p);
    claim("syn-selected-above").every(favoured, all, "cases")
}

fn selected_above_psh(p: Ppm) -> Claim {
    let (favoured, all) = favoured_above(10, 1500, PRINTED_PSH, p);
    claim("psh-selected-above").every(favoured, all, "cases")
}

fn syn(p: Ppm) -> Claim {
    let ours = threshold(packet(70, 100), p);

    claim!("syn-threshold", "{:.2} kbit/s", ours / 1e3)
        .holds(format!("{:.2}", ours / 1e6) == PRINTED_SYN.to_string())
        .fill(&[&kibytes(ours)])
}

fn psh(p: Ppm) -> Claim {
    let (ours, first) = (threshold(packet(1500, 10), p), threshold(packet(70, 100), p));

    claim!("psh-threshold", "{:.2} Mbit/s", ours / 1e6)
        .holds(format!("{:.2}", ours / 1e6) == PRINTED_PSH.to_string())
        .fill(&[
            &kibytes(ours),
            &(100.0 * (kibytes(ours) / 100.0 / PRINTED_PSH - 1.0)),
            &(PRINTED_PSH / PRINTED_SYN),
            &(ours / first),
        ])
}
