//! What the paper says of the arbitrator's estimates.

use super::{LOSS, Learned, StakeCell};
use crate::prelude::*;

/// The largest accepted error of an estimate, as a share of it.
const CLOSE: f64 = 0.15;

/// Checks the claims.
pub fn all(cells: &[StakeCell], learned: Learned) -> Vec<Claim> {
    let get = |row: &str| cells.iter().find(|cell| cell.row == row).expect("a row of the figure");
    vec![t1(get("loss")), t2(get("copies"), get("busy")), above(get("above")), below(get("below")), parameters(learned)]
}

fn t1(cell: &StakeCell) -> Claim {
    let off = cell.longer_ms.mean / cell.predicted_ms - 1.0;
    claim!("timeout-costs-t1", "{:.1} ms; the sum is {:.1} ms", cell.longer_ms.mean, cell.predicted_ms)
        .holds(off.abs() < CLOSE)
        .interval(format!("± {:.1} ms", cell.longer_ms.half))
        .fill(&[&(1.0 / (1.0 - 2.0 * LOSS))])
}

fn t2(copies: &StakeCell, busy: &StakeCell) -> Claim {
    let off = copies.longer_ms.mean / copies.predicted_ms - 1.0;
    claim!("copy-costs-t2", "{:.3} ms; the sum is {:.3} ms", copies.longer_ms.mean, copies.predicted_ms)
        .holds(off.abs() < CLOSE)
        .fill(&[&busy.longer_ms.mean, &busy.predicted_ms])
}

fn shorter(cell: &StakeCell) -> Estimate {
    -cell.longer_ms
}

fn above(cell: &StakeCell) -> Claim {
    let saved = shorter(cell);
    claim!("advantage-above", "{saved} ms saved").needs(saved.above(0.0)).interval(format!("± {:.1} ms", saved.half))
}

fn below(cell: &StakeCell) -> Claim {
    let saved = shorter(cell);
    let harmful = cell.longer_ms;
    claim!("no-advantage-below", "{saved} ms saved")
        .needs(harmful.above(0.0))
        .interval(format!("± {:.1} ms", saved.half))
}

fn parameters(learned: Learned) -> Claim {
    let Learned { lossless, lossy, syns, tails } = learned;
    claim!(
        "parameters-are-learned",
        "copies with a learned p {} instead of {} without loss, {} instead of {} with loss; SYNs {} and {}, tails \
             {tails}",
        lossless[1],
        lossless[0],
        lossy[1],
        lossy[0],
        syns[0],
        syns[1]
    )
    .holds(lossless[1] < lossless[0] && lossy[1] > lossy[0] && syns == [1, 0] && tails > 0)
}
