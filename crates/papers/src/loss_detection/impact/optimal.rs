//! The statements about the best values: the most influential parameter (§V-B1), m (footnote 12), the values in use (abstract).

use super::claims::{halves, name, percent, shown, with_saved};
use super::{Id, Impact, LINUX, M, Replaced, Sender, replaced};
use crate::prelude::*;

/// The values of k in the study's grid.
const K_GRID: [u32; 4] = [2, 4, 6, 8];

/// The weights of the study's grid.
fn weights(of: fn(u32) -> Replaced) -> Vec<Replaced> {
    (0..=5).map(|n| of(1 << n)).collect()
}

/// How much a parameter changes Linux's durations over these values: from the value that costs most to the one that saves
/// most, with their names, in RTTs.
fn effect(impact: &Impact, values: &[Replaced]) -> (String, Estimate) {
    let mut by_mean = with_saved(impact, &values.iter().map(|one| (LINUX, *one)).collect::<Vec<_>>());
    by_mean.sort_by(|a, b| a.2.mean.total_cmp(&b.2.mean));
    let (Some((_, worst, _)), Some((_, best, _))) = (by_mean.first(), by_mean.last()) else {
        return (String::new(), Estimate::exactly(NAN));
    };
    let [from, to] = [*worst, *best].map(|one| impact.number(LINUX, one));
    let range = format!("{} to {}", worst.text(), best.text());
    (range, impact.mean(LINUX, |sender| sender.saved[to] - sender.saved[from]))
}

/// Which parameter matters most, m, and whether the values in use are optimal.
pub fn of(impact: &Impact) -> Vec<Claim> {
    let effects = [K_GRID.map(Replaced::K).to_vec(), replaced(Id::Fig5a), weights(Replaced::A), weights(Replaced::B)];
    let effects: Vec<(String, Estimate)> = effects.iter().map(|values| effect(impact, values)).collect();
    let of_k = effects[0].1;
    let others = effects[1..].iter().map(|(_, effect)| of_k.above(*effect));
    let effects_shown = effects.iter().map(|(range, effect)| format!("{range}: {:.2}", effect.mean)).joined(", ");
    let effect_halves = effects.iter().map(|(_, effect)| format!("±{:.2}", effect.half)).joined(", ");
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
        claim!("k-most-influential", "{effects_shown} RTTs").needs_all(others).interval(effect_halves),
        claim("m-1-is-best").shows(shown(&m)).needs_all(none_better).interval(halves(&m)),
        claim("settings-not-optimal")
            .shows(gains_shown.join(", "))
            .needs_all(gains.iter().map(|share| percent(share).above(10.0))),
    ]
}
