//! The statements about the best values: the most influential parameter (§V-B1), m (footnote 12), the values in use (abstract).

use super::claims::{halves, name, percent, shown, with_saved};
use super::{Id, Impact, LINUX, M, Replaced, Sender, replaced};
use crate::prelude::*;

/// Which parameter matters most, m, and whether the values in use are optimal.
pub fn of(impact: &Impact) -> Vec<Claim> {
    let tried = |system: usize| {
        let all = [Id::Fig4, Id::Fig5a, Id::Fig5b].into_iter().flat_map(replaced).map(|one| (system, one));
        with_saved(impact, &all.collect::<Vec<_>>())
    };
    let largest = |all: &[(usize, Replaced, Estimate)]| {
        let by_mean =
            |a: &&(usize, Replaced, Estimate), b: &&(usize, Replaced, Estimate)| a.2.mean.total_cmp(&b.2.mean);
        all.iter().max_by(by_mean).copied()
    };
    let (of_k, others): (Vec<_>, Vec<_>) =
        tried(LINUX).iter().copied().partition(|(_, one, _)| matches!(one, Replaced::K(_)));
    let ends: Vec<(usize, Replaced, Estimate)> = [largest(&of_k), largest(&others)].into_iter().flatten().collect();
    let most = match ends[..] {
        [k, other] => k.2.above(other.2),
        _ => ClaimVerdict::Undecided,
    };
    let m = with_saved(impact, &M.map(|m| (LINUX, Replaced::M(m))));
    let none_better = m.iter().map(|(_, one, saved)| match one {
        Replaced::M(100) => ClaimVerdict::Holds,
        _ => saved.below(0.0),
    });
    let gains: Vec<Share> = (0..System::ALL.len())
        .map(|system| {
            let best = |sender: &Sender| sender.saved.iter().copied().fold(0.0, f64::max);
            let senders = &impact.0[system].senders;
            let gain = senders.iter().filter(|sender| best(sender) >= 1.0).count();
            Share::of(gain as u64, senders.len() as u64)
        })
        .collect();
    let gains_shown: Vec<String> =
        gains.iter().enumerate().map(|(system, share)| format!("{} {share}", name(system))).collect();
    vec![
        claim("k-most-influential").shows(shown(&ends)).needs(most).interval(halves(&ends)),
        claim("m-1-is-best").shows(shown(&m)).needs_all(none_better).interval(halves(&m)),
        claim("settings-not-optimal")
            .shows(gains_shown.join(", "))
            .needs_all(gains.iter().map(|share| percent(share).above(10.0))),
    ]
}
