//! What the paper says of SLP's overhead.

use super::OverheadCell;
use crate::prelude::*;

/// Changes below this are not noticeable, in percentage points.
const NOTICEABLE: f64 = 0.1;

/// Connections at a time.
const CONNECTIONS: f64 = 1000.0;

/// Checks the claims. `machine`: its memory in bytes.
pub fn all(cells: &[OverheadCell], machine: f64) -> Vec<Claim> {
    let [without, with] = cells else {
        return vec![];
    };
    vec![cpu(without, with), memory(without, with, machine)]
}

fn cpu(without: &OverheadCell, with: &OverheadCell) -> Claim {
    let utilization = |cell: &OverheadCell| 1e5 * cell.cpu.as_secs_f64() / cell.median_ms;
    let more = utilization(with) - utilization(without);
    // Only bounds: the time depends on the machine.
    let is_small = more < NOTICEABLE;
    let bound = if is_small { "less than" } else { "at least" };
    claim!("cpu-unchanged", "{bound} {NOTICEABLE} percentage points more").holds(is_small).fill(&[
        &with.steps,
        &without.steps,
        &(100.0 * (with.steps / without.steps - 1.0)),
    ])
}

fn memory(without: &OverheadCell, with: &OverheadCell, machine: f64) -> Claim {
    let more = with.memory as f64 - without.memory as f64;
    let points = 100.0 * more * CONNECTIONS / machine;
    claim!("memory-unchanged", "{points:.4} points: {more:.0} bytes more per connection")
        .holds(points < NOTICEABLE)
        .fill(&[&(100.0 * more / without.memory as f64), &with.memory, &without.memory])
}
