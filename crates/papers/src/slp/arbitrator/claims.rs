//! What §II-C1 says of thresholds.

use super::{Cell, PACKETS, Packet};
use crate::claims::{Claim, Verdict, claim};
use std::time::Duration;

/// The RTO of the paper's two figures.
const RTO: Duration = Duration::from_secs(1);

/// What the paper prints, in Mbit/s.
const PRINTED_SYN: f64 = 3.35;
const PRINTED_PSH: f64 = 7.16;

/// The claims decided here.
pub fn all(cells: &[Cell]) -> Vec<Claim> {
    vec![as_the_formula(cells), syn(), psh()]
}

/// A packet of this length and q in percent, among those of the figure.
fn packet(size: u32, q_percent: u32) -> Packet {
    let is = |packet: &&Packet| (packet.size, packet.q_percent) == (size, q_percent);
    *PACKETS.iter().find(is).expect("a packet of the figure")
}

fn threshold(packet: Packet) -> f64 {
    packet.threshold(RTO).map_or(f64::INFINITY, |b| b as f64)
}

/// bit/s as KiB/s.
pub fn kibytes(bits: f64) -> f64 {
    bits / 8.0 / 1024.0
}

fn as_the_formula(cells: &[Cell]) -> Claim {
    let same = |cell: &&Cell| {
        let solved = cell.solved_bits_per_second;
        // Rates are whole bits per second; the formula is in floating point.
        let above = |bits: u64| bits as f64 - solved;
        cell.threshold_bits_per_second
            .is_some_and(|bits| (-1e-6 * solved..1.0 + 1e-6 * solved).contains(&above(bits)))
    };
    let agree = cells.iter().filter(same).count();
    claim(
        "arbitrator",
        "II-C1",
        "A packet is copied if and only if p·q·RTO ≥ (1 − p)·size/bw",
        "the smallest bandwidth at which the arbitrator favours a copy is the formula's, in every cell",
        (
            format!("in {agree} of {} cells", cells.len()),
            agree == cells.len(),
        ),
    )
}

fn syn() -> Claim {
    let ours = threshold(packet(70, 100));
    let mut claim = claim(
        "syn-threshold",
        "II-C1",
        "At an RTO of 1 s, a SYN of less than 70 bytes is copied above 3.35 Mbit/s",
        "the arbitrator's threshold for 70 bytes at q = 1, to the digits printed",
        (
            format!("{:.2} kbit/s", ours / 1e3),
            format!("{:.2}", ours / 1e6) == PRINTED_SYN.to_string(),
        ),
    );
    claim.known = Verdict::Fails;
    claim.note = Some(format!(
        "the formula gives 0.98 · 70 · 8/0.02 bit/s, which is {:.2} KiB/s: the printed number with another unit. A SYN is copied above 3.35 Mbit/s, but above 27.44 kbit/s already",
        kibytes(ours),
    ));
    claim
}

fn psh() -> Claim {
    let (ours, first) = (threshold(packet(1500, 10)), threshold(packet(70, 100)));
    let mut claim = claim(
        "psh-threshold",
        "II-C1",
        "At an RTO of 1 s, a PSH packet of less than 1,500 bytes is copied above 7.16 Mbit/s",
        "the arbitrator's threshold for 1,500 bytes at q = 0.1, to the digits printed",
        (
            format!("{:.2} Mbit/s", ours / 1e6),
            format!("{:.2}", ours / 1e6) == PRINTED_PSH.to_string(),
        ),
    );
    claim.known = Verdict::Fails;
    claim.note = Some(format!(
        "no reading of the formula gives it. In the first figure's unit this is {:.1} KiB/s, near 7.16 but for a factor of 100 and {:.1} %; the two printed are {:.2} apart, the two of the formula {:.1}. Without 1 − p it is 6.00 Mbit/s, and in MiB/s, at q = 1 %, 7.15; with the 1,460 bytes of payload 715.4 kB/s. As a bound 7.16 Mbit/s is true: a PSH packet is copied above it, but above 5.88 already",
        kibytes(ours),
        100.0 * (kibytes(ours) / 100.0 / PRINTED_PSH - 1.0),
        PRINTED_PSH / PRINTED_SYN,
        ours / first,
    ));
    claim
}
