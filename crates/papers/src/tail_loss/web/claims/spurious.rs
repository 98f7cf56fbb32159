//! Spurious retransmissions, and what they cost.

use super::{Claim, ClaimVerdict, Estimate, MECHANISMS, Mechanism, Share, claim, of_all_downloads};
use crate::tail_loss::web::{WebCell, columns};

/// The paper's spurious retransmissions among all segments (§3.3), in the order of the mechanisms.
const PAPERS: [f64; 4] = [4.8e-5, 5.9e-5, 1.8e-3, 2.1e-3];

/// The share of spurious retransmissions of each mechanism.
fn shares(cells: &[WebCell]) -> [Share; MECHANISMS.len()] {
    MECHANISMS.map(|mechanism| {
        let (sent, of) = columns::spurious(cells, mechanism);
        Share::of(of, sent)
    })
}

fn shown(cells: &[WebCell]) -> String {
    let shares = MECHANISMS.iter().zip(shares(cells)).zip(PAPERS);
    let shown = shares
        .map(|((mechanism, ours), papers)| format!("{} {:.1e} (paper: {papers:.1e})", mechanism.name(), ours.share));
    shown.collect::<Vec<_>>().join(", ")
}

pub fn probes(cells: &[WebCell]) -> Claim {
    let [baseline, rtor, tlp, tlpr] = shares(cells).map(|share| share.share);
    claim(
        "web-spurious-probes",
        "3.3",
        "TLP and TLPR retransmit far more often without need than the baseline and RTOR (over 30 times in the paper)",
        "their shares of spurious retransmissions among all data segments at 10 ms and 160 ms are more than 10 times the \
         larger share of the other two",
        (shown(cells), tlp.min(tlpr) > 10.0 * baseline.max(rtor)),
    )
    .paper("over 30 times")
}

pub fn order(cells: &[WebCell]) -> Claim {
    let [baseline, rtor, tlp, tlpr] = shares(cells).map(|share| share.share);
    claim(
        "web-spurious-order",
        "3.3, 3.4",
        "TLPR has the most spurious retransmissions, then TLP, RTOR and the baseline",
        "the shares among all data segments are in this order",
        (shown(cells), tlpr > tlp && tlp > rtor && rtor > baseline),
    )
    .paper("baseline 4.8e-5, RTOR 5.9e-5, TLP 1.8e-3, TLPR 2.1e-3")
}

pub fn shares_are_the_papers(cells: &[WebCell]) -> Claim {
    let ours = shares(cells);
    let near = ours.iter().zip(PAPERS).all(|(share, papers)| {
        let ratio = share.share / papers;
        (0.5..=2.0).contains(&ratio)
    });
    let intervals = ours.map(|share| format!("[{:.1e}, {:.1e}]", share.low, share.high));
    claim(
        "web-spurious-shares",
        "3.3, 3.4",
        "The shares of spurious retransmissions among all segments; the largest of the paper is TLPR's here",
        "each mechanism's share is within a factor of two of the paper's",
        (shown(cells), near),
    )
    .paper("baseline 4.8e-5, RTOR 5.9e-5, TLP 1.8e-3, TLPR 2.1e-3 (0.21 %)")
    .interval(intervals.join(", "))
}

/// All downloads, with and without losses.
pub fn costs_no_time(cells: &[WebCell]) -> Claim {
    let (mut shown, mut parts) = (Vec::new(), Vec::new());
    for group in cells.chunks_exact(MECHANISMS.len()) {
        for mechanism in [Mechanism::Rtor, Mechanism::Tlp, Mechanism::Tlpr] {
            let longer = of_all_downloads(&group[0], &group[mechanism as usize]);
            parts.push(ClaimVerdict::on_positive(Estimate { mean: 0.02 - longer.mean, ..longer }));
            if longer.mean > -longer.half {
                shown.push(format!(
                    "{} {} ms {} {:+.1} ± {:.1} %",
                    group[0].site,
                    group[0].rtt_ms,
                    mechanism.name(),
                    100.0 * longer.mean,
                    100.0 * longer.half
                ));
            }
        }
    }
    let ours = match shown.is_empty() {
        true => "shorter with every mechanism, on every page, at both RTTs".into(),
        false => format!("not clearly shorter: {}", shown.join("; ")),
    };
    claim(
        "web-spurious-costs-no-time",
        "5",
        "Spurious retransmissions have no implications for performance",
        "all downloads, selected or not: no mechanism's geometric mean OCT exceeds the baseline's by 2 % or more",
        (ours, true),
    )
    .verdict(ClaimVerdict::all(parts))
}
