//! The statements of §V-B, of §I and of footnote 12, for simulated populations. Senders are independent, so that the
//! interval of a mean over senders is that of independent values.

use super::{Id, Impact, LINUX, Replaced, SOLARIS, WINDOWS};
use crate::loss_detection::claims::FREEBSD;
use crate::prelude::*;
use Replaced::{A, B, K, MinRto};
use recoup_captures::parameters::ChangeKind;

/// The least best case that the figures show, in RTTs.
const SHOWN: f64 = 0.1;

/// The claims of a figure.
pub fn of(id: Id, impact: &Impact) -> Vec<Claim> {
    match id {
        Id::Fig4 => [k(impact), systems(impact), super::optimal::of(impact)].concat(),
        Id::Fig5a => min_rto(impact),
        Id::Fig5b => weights(impact),
        Id::Tradeoff => super::tradeoff::of(impact),
    }
}

/// The mean reduction of the duration by a value, in RTTs.
pub fn saved(impact: &Impact, system: usize, one: Replaced) -> Estimate {
    let number = impact.number(system, one);
    impact.mean(system, |sender| sender.saved[number])
}

fn best_case(impact: &Impact, system: usize) -> Estimate {
    impact.mean(system, |sender| sender.best_case)
}

pub fn name(system: usize) -> &'static str {
    System::ALL[system].name
}

/// `Linux k = 2: +0.58 ± 0.1 RTTs`, for each.
pub fn shown(all: &[(usize, Replaced, Estimate)]) -> String {
    let each = all.iter().map(|(system, one, saved)| format!("{} {}: {:+.2}", name(*system), one.text(), saved.mean));
    format!("{} RTTs", each.joined(", "))
}

pub fn halves(all: &[(usize, Replaced, Estimate)]) -> String {
    let each = all.iter().map(|(.., saved)| format!("±{:.2}", saved.half));
    each.joined(", ")
}

pub fn with_saved(impact: &Impact, all: &[(usize, Replaced)]) -> Vec<(usize, Replaced, Estimate)> {
    all.iter().map(|(system, one)| (*system, *one, saved(impact, *system, *one))).collect()
}

/// The senders in the figure that a value makes shorter and longer.
fn signs(impact: &Impact, system: usize, one: Replaced) -> [Share; 2] {
    let saved: Vec<f64> =
        impact.saved(system, one).filter(|[best, _]| *best >= SHOWN).map(|[_, saved]| saved).collect();
    let count = |holds: &dyn Fn(&f64) -> bool| saved.iter().filter(|one| holds(one)).count() as u64;
    let all = saved.len() as u64;
    [Share::of(count(&|saved| *saved > 0.0), all), Share::of(count(&|saved| *saved < 0.0), all)]
}

/// A share as an estimate in %.
pub fn percent(share: &Share) -> Estimate {
    Estimate { mean: 50.0 * (share.high + share.low), half: 50.0 * (share.high - share.low) }
}

/// At most a tenth as many become shorter as longer, and the mean is longer.
fn lengthens(impact: &Impact, system: usize, one: Replaced) -> (String, ClaimVerdict) {
    let mean = saved(impact, system, one);
    let [shorter, longer] = signs(impact, system, one);
    let verdict = ClaimVerdict::all([mean.below(0.0), (percent(&longer) * 0.1).above(percent(&shorter))]);
    let text = format!("{} {}: {:+.2} RTTs; {shorter} shorter, {longer} longer", name(system), one.text(), mean.mean);
    (text, verdict)
}

/// §V-B1: k on Linux.
fn k(impact: &Impact) -> Vec<Claim> {
    let [two, three] = [2, 3].map(|k| saved(impact, LINUX, K(k)));
    let best = best_case(impact, LINUX);
    let number = impact.number(LINUX, K(2));
    let fifth = impact.mean(LINUX, |sender| sender.saved[number] - sender.best_case / 5.0);
    let [shorter2, longer2] = signs(impact, LINUX, K(2));
    let [shorter3, longer3] = signs(impact, LINUX, K(3));
    let (k6, k6_verdict) = lengthens(impact, LINUX, K(6));
    let slower = impact.saved(LINUX, K(2)).filter(|[_, saved]| *saved < 0.0);
    let slower: Vec<[f64; 2]> = slower.collect();
    let by = Estimate::of(slower.iter().map(|[_, saved]| -saved));
    let small = slower.iter().filter(|[best, _]| *best < 10.0).count();
    let small = Share::of(small as u64, slower.len() as u64);
    let all = impact.0[LINUX].senders.len() as u64;
    let few = Share::of(slower.len() as u64, all);
    let mut gains: Vec<f64> =
        impact.0[LINUX].senders.iter().map(|sender| sender.best_case).filter(|best| *best > 0.0).collect();
    gains.sort_by(f64::total_cmp);
    let at = |q: f64| gains[((gains.len() - 1) as f64 * q) as usize];
    let (low, high) = if gains.is_empty() { (NAN, NAN) } else { (at(0.01), at(0.99)) };
    vec![
        claim!("k-2-factor-5", "best case {:.2} RTTs, saved {:.2}", best.mean, two.mean)
            .needs(fifth.above(0.0))
            .interval(format!("±{:.2} of the difference", fifth.half)),
        claim!("small-k-shortens", "k = 2: {shorter2} shorter, {longer2} longer; k = 3: {shorter3} and {longer3}")
            .needs(two.above(0.0))
            .needs(three.above(0.0))
            .needs(percent(&shorter2).above(percent(&longer2)))
            .needs(percent(&shorter3).above(percent(&longer3))),
        claim!("small-k-shortens-most", "k = 2: {shorter2}; k = 3: {shorter3}")
            .needs_all([&shorter2, &shorter3].map(|share| percent(share).above(50.0))),
        claim("k-6-lengthens").shows(k6).needs(k6_verdict),
        claim!("small-k-costs-few", "{few}, by {:.2} RTTs", by.mean)
            .needs(percent(&few).below(10.0))
            .needs(by.below(2.0))
            .interval(format!("±{:.2} RTTs", by.half)),
        claim!("small-k-costs-small-ones", "{small}").needs(percent(&small).above(50.0)),
        claim!("scope-orders", "{low:.3} and {high:.1} RTTs").holds(high >= 100.0 * low),
    ]
}

/// §V-B1: k on the other systems; §I: the efficiency of Linux's estimator.
fn systems(impact: &Impact) -> Vec<Claim> {
    let all = [WINDOWS, LINUX, SOLARIS, FREEBSD];
    let twos = with_saved(impact, &all.map(|system| (system, K(2))));
    let share = |system: usize| {
        let number = impact.number(system, K(2));
        let mean = best_case(impact, system).mean;
        impact.mean(system, |sender| sender.saved[number]) * (100.0 / mean)
    };
    let shares = all.map(share);
    let best = all.map(|system| best_case(impact, system));
    let spurious = all.map(|system| {
        let made = [ChangeKind::SpuriousTimeoutMade];
        let senders = impact.totals(system).senders.max(1);
        impact.events(system, K(2), &made) as f64 / senders as f64
    });
    let list = |values: [f64; 4], unit: &str| {
        all.map(|system| format!("{} {:.2}{unit}", name(system), values[system])).join(", ")
    };
    let others = [WINDOWS, SOLARIS, FREEBSD];
    vec![
        claim("estimators-conservative")
            .shows(shown(&twos))
            .needs_all(twos.iter().map(|(.., saved)| saved.above(0.0)))
            .interval(halves(&twos)),
        claim("k-others-less")
            .shows(list(shares.map(|share| share.mean), " %"))
            .needs_all(
                others.into_iter().flat_map(|system| [twos[system].2.above(0.0), shares[LINUX].above(shares[system])]),
            )
            .interval(shares.map(|share| format!("±{:.1}", share.half)).join(", ")),
        claim("linux-robust")
            .shows(list(spurious, ""))
            .holds(others.iter().all(|system| spurious[LINUX] < spurious[*system])),
        claim("linux-most-efficient")
            .shows(list(best.map(|best| best.mean), " RTTs"))
            .needs_all(others.map(|system| best[system].above(best[LINUX])))
            .interval(best.map(|best| format!("±{:.2}", best.half)).join(", ")),
    ]
}

/// §V-B2.
fn min_rto(impact: &Impact) -> Vec<Claim> {
    let (larger, larger_verdict) = lengthens(impact, LINUX, MinRto(400));
    let all = with_saved(impact, &[(SOLARIS, MinRto(100)), (LINUX, K(2)), (SOLARIS, K(2))]);
    let [solaris, linux_k, _] = [all[0].2, all[1].2, all[2].2];
    let low = saved(impact, LINUX, MinRto(100));
    let best = best_case(impact, LINUX);
    let [shorter, _] = signs(impact, LINUX, MinRto(100));
    let large = [(WINDOWS, 1000), (LINUX, 1000), (SOLARIS, 1000), (LINUX, 800)];
    let large = with_saved(impact, &large.map(|(system, ms)| (system, MinRto(ms))));
    vec![
        claim("larger-min-rto").shows(larger).needs(larger_verdict),
        claim("large-min-rto")
            .shows(shown(&large))
            .needs_all(large.iter().map(|(.., saved)| saved.below(-1.0)))
            .interval(halves(&large)),
        claim("solaris-100").shows(shown(&all[..1])).needs(solaris.above(0.0)).interval(halves(&all[..1])),
        claim("solaris-100-less").shows(shown(&all)).needs(linux_k.above(solaris)).interval(halves(&all)),
        claim!("linux-100", "{:+.2} of {:.2} RTTs", low.mean, best.mean)
            .needs((best * 0.01).above(low))
            .interval(format!("±{:.2}", low.half)),
        claim!("linux-100-most", "{shorter}").needs(percent(&shorter).below(50.0)),
    ]
}

/// §V-B3.
fn weights(impact: &Impact) -> Vec<Claim> {
    let larger = [A(1), A(2), B(1), B(2), B(4)];
    let others = [WINDOWS, SOLARIS, FREEBSD];
    let pairs = others.map(|system| larger.map(|one| (system, one))).concat();
    let rows: Vec<[Share; 2]> = pairs.iter().map(|(system, one)| signs(impact, *system, *one)).collect();
    let helped = rows.iter().filter(|[shorter, longer]| shorter.hits >= longer.hits).count();
    let hurt = rows.iter().filter(|[_, longer]| longer.hits > 0).count();
    // How evenly a value helps and hurts: 0, all the same way; 1, as many one way as the other.
    let evenness = |system: usize| {
        let each = larger.map(|one| {
            let [shorter, longer] = signs(impact, system, one);
            let both = (shorter.hits + longer.hits).max(1) as f64;
            shorter.hits.min(longer.hits) as f64 / both * 2.0
        });
        each.iter().sum::<f64>() / each.len() as f64
    };
    let even = [WINDOWS, LINUX, SOLARIS, FREEBSD].map(evenness);
    let most_hurt = rows.iter().map(|[_, longer]| longer.share).fold(0.0, f64::max);
    vec![
        claim!("larger-weights", "{helped} of {} helped more", rows.len()).holds(2 * helped > rows.len()),
        claim!("larger-weights-hurt-many", "{hurt} of {} hurt some; at most {:.0} %", rows.len(), 100.0 * most_hurt)
            .holds(hurt == rows.len() && most_hurt >= 0.05),
        claim("weights-less-deterministic")
            .shows((0..4).map(|system| format!("{} {:.2}", name(system), even[system])).joined(", "))
            .holds(others.iter().all(|system| even[*system] > even[LINUX])),
    ]
}
