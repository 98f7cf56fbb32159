//! What the paper says of the arbitrator's estimates.

use super::{LOSS, Learned, StakeCell};
use crate::claims::{Claim, ClaimVerdict, claim};
use recoup_support::stats::Estimate;

/// The largest accepted error of an estimate, as a share of it.
const CLOSE: f64 = 0.15;

/// Checks the claims.
pub fn all(cells: &[StakeCell], learned: Learned) -> Vec<Claim> {
    let get = |row: &str| {
        let found = cells.iter().find(|cell| cell.row == row);
        found.expect("a row of the figure")
    };
    vec![t1(get("loss")), t2(get("copies"), get("busy")), above(get("above")), below(get("below")), parameters(learned)]
}

fn t1(cell: &StakeCell) -> Claim {
    let off = cell.longer_ms.mean / cell.predicted_ms - 1.0;
    claim(
        "timeout-costs-t1",
        "II-C1",
        "A packet that is not duplicated makes the connection p·q·RTO slower on average",
        "SYN (RTO 1 s) and request (RTO 240 ms), both with q 1: the mean completion time grows by the sum of p·q·RTO, give or take 15 %",
        (
            format!("{:.1} ms; the sum is {:.1} ms", cell.longer_ms.mean, cell.predicted_ms),
            off.abs() < CLOSE,
        ),
    )
    .interval(format!("± {:.1} ms", cell.longer_ms.half))
    .note(format!(
        "the formula leaves out that a retransmission may be lost too, after which the RTO doubles: with it, the sum grows by a factor of 1/(1 − 2p) = {:.3}",
        1.0 / (1.0 - 2.0 * LOSS),
    ))
}

fn t2(copies: &StakeCell, busy: &StakeCell) -> Claim {
    let off = copies.longer_ms.mean / copies.predicted_ms - 1.0;
    claim(
        "copy-costs-t2",
        "II-C1",
        "A duplicate whose original is not lost makes the connection slower by its transmission time",
        "SYN, SYN-ACK and request duplicated, nothing lost, 20 Mbit/s: the completion time grows by (1 − p)·size/bw of SYN and request, give or take 15 %",
        (
            format!("{:.3} ms; the sum is {:.3} ms", copies.longer_ms.mean, copies.predicted_ms),
            off.abs() < CLOSE,
        ),
    )
    .note(format!(
        "a duplicate delays only what waits behind it. Handshake and request leave the link idle for a round trip, so nothing does. A link that is busy to the end of the flow bears the paper out: with 100 segments at 1 Mbit/s, one duplicate of 1,500 bytes costs {:.2} ms, its transmission time is {:.2} ms",
        busy.longer_ms.mean, busy.predicted_ms,
    ))
}

fn shorter(cell: &StakeCell) -> Estimate {
    Estimate { mean: -cell.longer_ms.mean, ..cell.longer_ms }
}

fn above(cell: &StakeCell) -> Claim {
    let saved = shorter(cell);
    claim(
        "advantage-above",
        "II-C1",
        "Where t1 ≥ t2, it is advantageous to duplicate the packet",
        "2 % lost, 1 Mbit/s, far above the SYN's threshold: duplicated SYNs shorten the mean completion time with 95 % confidence",
        (format!("{saved} ms saved"), true),
    )
    .verdict(ClaimVerdict::on_positive(saved))
    .interval(format!("± {:.1} ms", saved.half))
}

fn below(cell: &StakeCell) -> Claim {
    let saved = shorter(cell);
    let harmful = cell.longer_ms;
    claim(
        "no-advantage-below",
        "II-C1",
        "Where t1 < t2, the packet should not be duplicated",
        "2 % lost, 16 kbit/s, below the SYN's threshold of 23.5 kbit/s: duplicated SYNs make the mean completion time longer with 95 % confidence",
        (format!("{saved} ms saved"), true),
    )
    .note("t2 counts the duplicate's transmission time as lost. The link is idle while the SYN is under way, so the duplicate delays nothing, and it saves the timeout as it does above the threshold")
    .verdict(ClaimVerdict::on_positive(harmful))
    .interval(format!("± {:.1} ms", saved.half))
}

fn parameters(learned: Learned) -> Claim {
    let Learned { lossless, lossy, syns, tails } = learned;
    claim(
        "parameters-are-learned",
        "II-C1",
        "The arbitrator can learn p and bw from the connection, or use configured values",
        "with a learned p fewer copies of thirty responses' tails than with 2 %, because nothing is lost, and more copies of 400 segments, of which a fifth is lost. The configured bw decides on the SYN, 10 Mbit/s for and 10 kbit/s against a copy; the measured one decides on a tail after 580 kB, for which 10 kbit/s would be too little",
        (
            format!(
                "copies with a learned p {} instead of {} without loss, {} instead of {} with loss; SYNs {} and {}, tails {tails}",
                lossless[1], lossless[0], lossy[1], lossy[0], syns[0], syns[1],
            ),
            lossless[1] < lossless[0] && lossy[1] > lossy[0] && syns == [1, 0] && tails > 0,
        ),
    )
}
