//! What the paper says of duplicating all packets.

use super::{Arm, DuplicationCell, FILES};
use crate::prelude::*;

/// A gain below this share of the mean completion time is not significant, as in `sizes`.
const SIGNIFICANT: f64 = 0.05;

/// Checks the claims.
pub fn all(cells: &[DuplicationCell]) -> Vec<Claim> {
    let cells = Cells::new(cells);
    vec![not_faster(&cells), overhead(&cells), goodput(&cells), tradeoff(&cells)]
}

type Cells<'a> = Grid<'a, DuplicationCell>;

impl Cells<'_> {
    fn get(&self, file: u64, arm: Arm) -> &DuplicationCell {
        self.at((file, arm))
    }

    /// The share of the mean completion time that an arm saves.
    fn saved(&self, file: u64, arm: Arm) -> Estimate {
        let (plain, ours) = (self.get(file, Arm::Arq).mean_ms(), self.get(file, arm).mean_ms());
        (plain - ours) / plain.mean
    }
}

fn percent(share: Estimate) -> String {
    format!("{:.1} ± {:.1} %", 100.0 * share.mean, 100.0 * share.half)
}

fn kilobytes(file: u64) -> u64 {
    file / 1000
}

fn not_faster(cells: &Cells<'_>) -> Claim {
    let saved = FILES.map(|(file, _)| (file, cells.saved(file, Arm::All)));
    let shown = saved.map(|(file, saved)| format!("{} kB: {}", kilobytes(file), percent(saved)));
    let less = saved.map(|(_, saved)| saved.below(SIGNIFICANT));
    let p99 = |arm| cells.get(FILES[0].0, arm).quantile_ms(0.99);
    claim("fec-not-faster").shows(shown.join(", ")).needs_all(less).fill(&[
        &kilobytes(FILES[0].0),
        &p99(Arm::Arq),
        &p99(Arm::All),
    ])
}

fn overhead(cells: &Cells<'_>) -> Claim {
    let added = |arm| {
        let [plain, ours] = [Arm::Arq, arm].map(|arm| cells.get(FILES[0].0, arm).bytes);
        100.0 * (ours / plain - 1.0)
    };
    claim!("fec-overhead-is-high", "{:.0} % more; SLP {:.1} %", added(Arm::All), added(Arm::Slp))
        .holds(added(Arm::All) >= 50.0)
}

fn goodput(cells: &Cells<'_>) -> Claim {
    let shown = FILES.map(|(file, _)| {
        let [plain, ours] = [Arm::Arq, Arm::All].map(|arm| 100.0 * cells.get(file, arm).goodput());
        format!("{} kB: {ours:.1} % instead of {plain:.1} %", kilobytes(file))
    });
    let less = FILES.map(|(file, _)| cells.get(file, Arm::All).goodput() < cells.get(file, Arm::Arq).goodput());
    claim("duplication-reduces-goodput").shows(shown.join(", ")).holds(less.iter().all(|less| *less))
}

fn tradeoff(cells: &Cells<'_>) -> Claim {
    let file = FILES[0].0;
    let per_kb = |arm| {
        let (plain, ours) = (cells.get(file, Arm::Arq), cells.get(file, arm));
        let added = ours.bytes - plain.bytes;
        let saved = plain.mean_ms() - ours.mean_ms();
        Estimate { mean: 1e3 * saved.mean / added, half: 1e3 * saved.half / added.abs() }
    };
    let (slp, all) = (per_kb(Arm::Slp), per_kb(Arm::All));
    let better = if slp.mean.is_finite() { slp.above(all) } else { ClaimVerdict::Fails };
    let [goodput, of_all] = [Arm::Slp, Arm::All].map(|arm| 100.0 * cells.get(file, arm).goodput());
    claim!("slp-better-tradeoff", "{slp} instead of {all} ms per kB; goodput {goodput:.1} instead of {of_all:.1} %")
        .needs(better)
        .holds(goodput > of_all)
        .fill(&[&percent(cells.saved(file, Arm::All)), &percent(cells.saved(file, Arm::Slp))])
}
