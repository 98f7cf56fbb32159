//! Spurious retransmissions, and what they cost.

use super::*;
use crate::claims::noted;
use crate::tail_loss::cell::MECHANISMS;

/// The paper's spurious retransmissions among all segments, in the order of the mechanisms.
const PAPERS: [f64; 4] = [2.18e-4, 3.67e-4, 3.49e-4, 3.48e-4];

pub fn claims(cells: &Cells<'_>) -> Vec<Claim> {
    vec![
        baseline_is_least_spurious(cells),
        spurious_is_small(cells),
        probes_are_no_more_spurious(cells),
        shares_are_the_papers(cells),
        nothing_lost_nothing_gained(cells),
    ]
}

/// Spurious fractions of the mechanisms: `baseline 8.7e-5, …`.
fn fractions(cells: &Cells<'_>) -> String {
    let shown = MECHANISMS.map(|m| format!("{} {:.2e}", m.name(), cells.spurious(m).share));
    shown.join(", ")
}

fn baseline_is_least_spurious(cells: &Cells<'_>) -> Claim {
    let baseline = cells.spurious(Mechanism::Baseline);
    let others = MECHANISMS.iter().skip(1).map(|m| larger(cells.spurious(*m), baseline));
    judged(
        "baseline-is-least-spurious",
        "3.2",
        "All three mechanisms retransmit more spuriously than the baseline (2.18e-4)",
        "spurious retransmissions of data, of all data segments of the foreground",
        (fractions(cells), ClaimVerdict::all(others)),
    )
}

fn spurious_is_small(cells: &Cells<'_>) -> Claim {
    let needed = MECHANISMS.map(|m| {
        let Share { hits, trials, .. } = cells.spurious(m);
        above(Share::of(trials - hits, trials), 1.0 - 0.0021)
    });
    judged(
        "spurious-is-small",
        "3.4",
        "Few retransmissions are spurious: at most 0.21 % of all segments in all the paper's experiments",
        "spurious retransmissions of data, of all data segments of the foreground",
        (fractions(cells), ClaimVerdict::all(needed)),
    )
    .paper("at most 0.21 %")
}

fn probes_are_no_more_spurious(cells: &Cells<'_>) -> Claim {
    let restart = cells.spurious(Mechanism::Rtor);
    let probes = [Mechanism::Tlp, Mechanism::Tlpr].map(|m| larger(restart, cells.spurious(m)));
    noted(
        "At 5 ms one way a probe is due after two smoothed RTTs, some 20 to 40 ms. The queue adds up to 35 ms within one flow, so \
         that some ACKs come later than that. Nearly all spurious probes are in the cells with 5 ms; the paper's shares of flows \
         by delay are not known.",
        judged(
            "probes-are-no-more-spurious",
            "3.2",
            "TLP (3.49e-4) and TLPR (3.48e-4) retransmit less spuriously than RTOR (3.67e-4)",
            "spurious retransmissions of data, of all data segments of the foreground",
            (fractions(cells), ClaimVerdict::all(probes)),
        ),
    )
    .paper("TLP 3.49e-4, TLPR 3.48e-4, RTOR 3.67e-4")
}

fn shares_are_the_papers(cells: &Cells<'_>) -> Claim {
    let near = MECHANISMS.iter().zip(PAPERS).map(|(m, paper)| {
        let share = cells.spurious(*m);
        let far = share.low > 2.0 * paper || share.high < paper / 2.0;
        let near = share.low > paper / 2.0 && share.high < 2.0 * paper;
        match (near, far) {
            (true, _) => ClaimVerdict::Holds,
            (_, true) => ClaimVerdict::Fails,
            _ => ClaimVerdict::Undecided,
        }
    });
    let intervals = MECHANISMS.map(|m| {
        let Share { low, high, .. } = cells.spurious(m);
        format!("[{low:.1e}, {high:.1e}]")
    });
    judged(
        "spurious-shares",
        "3.2",
        "The shares of spurious retransmissions among all segments",
        "each mechanism's share is within a factor of two of the paper's",
        (fractions(cells), ClaimVerdict::all(near)),
    )
    .paper("baseline 2.18e-4, RTOR 3.67e-4, TLP 3.49e-4, TLPR 3.48e-4")
    .interval(intervals.join(", "))
    .note(
        "the shares depend on how often a queue of 35 ms delays an ACK beyond the timers, on the numbers of flows of each size and delay, and on \
         lost ACKs, which the paper counts. It gives neither the numbers nor the loss of ACKs",
    )
}

/// Flows that lose nothing can only suffer from spurious retransmissions.
fn nothing_lost_nothing_gained(cells: &Cells<'_>) -> Claim {
    let (mut shown, mut parts) = (Vec::new(), Vec::new());
    for (panel, _) in PANELS {
        let mean = |m| {
            let fcts = cells.get(panel, m).unharmed().filter_map(|flow| flow.fct_ms);
            Estimate::of(fcts.collect::<Vec<_>>().into_iter())
        };
        let baseline = mean(Mechanism::Baseline);
        let longer = MECHANISMS.iter().skip(1).map(|m| less(ratio(mean(*m), baseline), 1.0));
        let longest = longer.reduce(|one, other| match other.mean > one.mean {
            true => other,
            false => one,
        });
        let longest = longest.expect("three mechanisms");
        parts.push(ClaimVerdict::on_positive(below(0.02, longest)));
        shown.push(format!("{panel} {:+.1} ± {:.1} %", 100.0 * longest.mean, 100.0 * longest.half));
    }
    judged(
        "spurious-costs-no-time",
        "5",
        "Spurious retransmissions have no implications for performance",
        "flows that lose nothing, all panels: no mechanism's mean FCT exceeds the baseline's by 2 % or more",
        (shown.join(", "), ClaimVerdict::all(parts)),
    )
}
