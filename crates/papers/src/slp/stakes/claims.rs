//! What the paper says of the arbitrator's estimates.

use super::{LOSS, Learned, StakeCell};
use crate::claims::{Claim, Compare, claim};
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
    claim("timeout-costs-t1")
        .shows(format!("{:.1} ms; the sum is {:.1} ms", cell.longer_ms.mean, cell.predicted_ms))
        .holds(off.abs() < CLOSE)
        .interval(format!("± {:.1} ms", cell.longer_ms.half))
        .note(format!(
            "the formula leaves out that a retransmission may be lost too, after which the RTO doubles: with it, the \
             sum grows by a factor of 1/(1 − 2p) = {:.3}",
            1.0 / (1.0 - 2.0 * LOSS),
        ))
}

fn t2(copies: &StakeCell, busy: &StakeCell) -> Claim {
    let off = copies.longer_ms.mean / copies.predicted_ms - 1.0;
    claim("copy-costs-t2")
        .shows(format!("{:.3} ms; the sum is {:.3} ms", copies.longer_ms.mean, copies.predicted_ms))
        .holds(off.abs() < CLOSE)
        .note(format!(
            "a duplicate delays only what waits behind it. Handshake and request leave the link idle for a round \
             trip, so nothing does. A link that is busy to the end of the flow bears the paper out: with 100 segments \
             at 1 Mbit/s, one duplicate of 1,500 bytes costs {:.2} ms, its transmission time is {:.2} ms",
            busy.longer_ms.mean, busy.predicted_ms,
        ))
}

fn shorter(cell: &StakeCell) -> Estimate {
    Estimate { mean: -cell.longer_ms.mean, ..cell.longer_ms }
}

fn above(cell: &StakeCell) -> Claim {
    let saved = shorter(cell);
    claim("advantage-above")
        .shows(format!("{saved} ms saved"))
        .needs(saved.above(0.0))
        .interval(format!("± {:.1} ms", saved.half))
}

fn below(cell: &StakeCell) -> Claim {
    let saved = shorter(cell);
    let harmful = cell.longer_ms;
    claim("no-advantage-below")
        .shows(format!("{saved} ms saved"))
        .needs(harmful.above(0.0))
        .interval(format!("± {:.1} ms", saved.half))
}

fn parameters(learned: Learned) -> Claim {
    let Learned { lossless, lossy, syns, tails } = learned;
    claim("parameters-are-learned")
        .shows(format!(
            "copies with a learned p {} instead of {} without loss, {} instead of {} with loss; SYNs {} and {}, tails \
             {tails}",
            lossless[1], lossless[0], lossy[1], lossy[0], syns[0], syns[1],
        ))
        .holds(lossless[1] < lossless[0] && lossy[1] > lossy[0] && syns == [1, 0] && tails > 0)
}
