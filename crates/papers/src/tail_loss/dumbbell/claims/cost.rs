//! Spurious retransmissions, and what they cost.

use super::*;
use crate::tail_loss::cell::MECHANISMS;

/// The paper's spurious retransmissions among all segments, in the order of the mechanisms.
const PAPERS: [f64; 4] = [2.18e-4, 3.67e-4, 3.49e-4, 3.48e-4];

pub fn claims(cells: &Cells<'_>) -> Vec<Claim> {
    let mut claims = vec![
        baseline_is_least_spurious(cells),
        spurious_is_small(cells),
        probes_are_no_more_spurious(cells),
        nothing_lost_nothing_gained(cells),
    ];
    claims.extend(shares_are_the_papers(cells));
    claims
}

/// Spurious fractions of the mechanisms: `baseline 8.7e-5, …`.
fn fractions(cells: &Cells<'_>) -> String {
    MECHANISMS.map(|m| format!("{} {:.2e}", m.name(), cells.spurious(m).share)).join(", ")
}

fn baseline_is_least_spurious(cells: &Cells<'_>) -> Claim {
    let baseline = cells.spurious(Mechanism::Baseline);
    let others = MECHANISMS.iter().skip(1).map(|m| cells.spurious(*m).above(baseline));
    claim("baseline-is-least-spurious").shows(fractions(cells)).needs_all(others)
}

fn spurious_is_small(cells: &Cells<'_>) -> Claim {
    let small = MECHANISMS.map(|m| cells.spurious(m).below(0.0021));
    claim("spurious-is-small").shows(fractions(cells)).needs_all(small)
}

fn probes_are_no_more_spurious(cells: &Cells<'_>) -> Claim {
    let restart = cells.spurious(Mechanism::Rtor);
    let probes = [Mechanism::Tlp, Mechanism::Tlpr].map(|m| restart.above(cells.spurious(m)));
    claim("probes-are-no-more-spurious").shows(fractions(cells)).needs_all(probes)
}

/// The claims about the shares, in the order of the mechanisms.
const SHARES: [&str; 4] = ["spurious-baseline", "spurious-rtor", "spurious-tlp", "spurious-tlpr"];

fn shares_are_the_papers(cells: &Cells<'_>) -> Vec<Claim> {
    let all = MECHANISMS.into_iter().zip(SHARES).zip(PAPERS);
    all.map(|((mechanism, id), paper)| {
        let share = cells.spurious(mechanism);
        let Share { low, high, .. } = share;
        claim!(id, "{:.2e}", share.share).needs(share.sized(paper)).interval(format!("[{low:.1e}, {high:.1e}]"))
    })
    .collect()
}

/// Flows that lose nothing can only suffer from spurious retransmissions.
fn nothing_lost_nothing_gained(cells: &Cells<'_>) -> Claim {
    claim("spurious-costs-no-time").each(
        ", ",
        PANELS.map(|(panel, _)| {
            let mean = |m| {
                let fcts = cells.get(panel, m).unharmed().filter_map(|flow| flow.fct_ms);
                Estimate::of(fcts.collect::<Vec<_>>().into_iter())
            };
            let baseline = mean(Mechanism::Baseline);
            let longest = MECHANISMS
                .iter()
                .skip(1)
                .map(|m| {
                    let over = ratio(mean(*m), baseline);
                    over - 1.0
                })
                .reduce(|one, other| if other.mean > one.mean { other } else { one })
                .expect("three mechanisms");
            (format!("{panel} {:+.1} ± {:.1} %", 100.0 * longest.mean, 100.0 * longest.half), longest.below(0.02))
        }),
    )
}
