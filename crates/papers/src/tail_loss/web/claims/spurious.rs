//! Spurious retransmissions, and what they cost.

use super::{MECHANISMS, Mechanism, of_all_downloads};
use crate::prelude::*;
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
    let shown =
        MECHANISMS.iter().zip(shares(cells)).zip(PAPERS).map(|((mechanism, ours), papers)| {
            format!("{} {:.1e} (paper: {papers:.1e})", mechanism.name(), ours.share)
        });
    shown.joined(", ")
}

pub fn probes(cells: &[WebCell]) -> Claim {
    let [baseline, rtor, tlp, tlpr] = shares(cells).map(|share| share.share);
    claim("web-spurious-probes").shows(shown(cells)).holds(tlp.min(tlpr) > 10.0 * baseline.max(rtor))
}

pub fn order(cells: &[WebCell]) -> Claim {
    let [baseline, rtor, tlp, tlpr] = shares(cells).map(|share| share.share);
    claim("web-spurious-order").shows(shown(cells)).holds(tlpr > tlp && tlp > rtor && rtor > baseline)
}

/// The claims about the shares, in the order of the mechanisms.
const SHARES: [&str; 4] = ["web-spurious-baseline", "web-spurious-rtor", "web-spurious-tlp", "web-spurious-tlpr"];

pub fn shares_are_the_papers(cells: &[WebCell]) -> Vec<Claim> {
    let ours = SHARES.into_iter().zip(shares(cells)).zip(PAPERS);
    ours.map(|((id, share), papers)| {
        let interval = format!("[{:.1e}, {:.1e}]", share.low, share.high);
        claim!(id, "{:.1e}", share.share).needs(share.sized(papers)).interval(interval)
    })
    .collect()
}

/// All downloads, with and without losses.
pub fn costs_no_time(cells: &[WebCell]) -> Claim {
    let (mut shown, mut parts) = (vec![], vec![]);
    for group in cells.chunks_exact(MECHANISMS.len()) {
        for mechanism in [Mechanism::Rtor, Mechanism::Tlp, Mechanism::Tlpr] {
            let longer = of_all_downloads(&group[0], &group[mechanism as usize]);
            parts.push(longer.below(0.02));
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
    let ours = if shown.is_empty() {
        "shorter with every mechanism, on every page, at both RTTs".into()
    } else {
        format!("not clearly shorter: {}", shown.join("; "))
    };
    claim("web-spurious-costs-no-time").shows(ours).needs_all(parts)
}
