//! The statements of §V-B, of §I and of footnote 12, for simulated populations. Senders are independent, so that the
//! interval of a mean over senders is that of independent values.

use super::super::claims::{above, decided, exactly, times};
use super::{Id, Impact, LINUX, Replaced, SOLARIS, WINDOWS};
use crate::claims::{Claim, ClaimVerdict, claim};
use recoup_captures::parameters::ChangeKind;
use recoup_captures::study::published::System;
use recoup_support::stats::{Estimate, Share};

const FREEBSD: usize = 3;

/// The least best case that the figures show, in RTTs.
const SHOWN: f64 = 0.1;

/// The claims of a figure.
pub(super) fn of(id: Id, impact: &Impact) -> Vec<Claim> {
    match id {
        Id::Fig4 => [k(impact), systems(impact), super::optimal::of(impact)].concat(),
        Id::Fig5a => min_rto(impact),
        Id::Fig5b => weights(impact),
        Id::Tradeoff => super::tradeoff::of(impact),
    }
}

/// The mean reduction of the duration by a value, in RTTs.
pub(super) fn saved(impact: &Impact, system: usize, one: Replaced) -> Estimate {
    let number = impact.number(system, one);
    impact.mean(system, |sender| sender.saved[number])
}

fn best_case(impact: &Impact, system: usize) -> Estimate {
    impact.mean(system, |sender| sender.best_case)
}

pub(super) fn name(system: usize) -> &'static str {
    System::ALL[system].name
}

/// `Linux k = 2: +0.58 ± 0.1 RTTs`, for each.
pub(super) fn shown(all: &[(usize, Replaced, Estimate)]) -> String {
    let each = all.iter().map(|(system, one, saved)| format!("{} {}: {:+.2}", name(*system), one.text(), saved.mean));
    format!("{} RTTs", each.collect::<Vec<_>>().join(", "))
}

pub(super) fn halves(all: &[(usize, Replaced, Estimate)]) -> String {
    let each = all.iter().map(|(.., saved)| format!("±{:.2}", saved.half));
    each.collect::<Vec<_>>().join(", ")
}

pub(super) fn with_saved(impact: &Impact, all: &[(usize, Replaced)]) -> Vec<(usize, Replaced, Estimate)> {
    let each = all.iter();
    each.map(|(system, one)| (*system, *one, saved(impact, *system, *one))).collect()
}

/// The senders in the figure that a value makes shorter and longer.
fn signs(impact: &Impact, system: usize, one: Replaced) -> [Share; 2] {
    let in_figure = impact.saved(system, one).filter(|[best, _]| *best >= SHOWN);
    let saved: Vec<f64> = in_figure.map(|[_, saved]| saved).collect();
    let count = |holds: &dyn Fn(&f64) -> bool| saved.iter().filter(|one| holds(one)).count() as u64;
    let all = saved.len() as u64;
    [Share::of(count(&|saved| *saved > 0.0), all), Share::of(count(&|saved| *saved < 0.0), all)]
}

/// A share as an estimate in %.
pub(super) fn percent(share: &Share) -> Estimate {
    Estimate { mean: 50.0 * (share.high + share.low), half: 50.0 * (share.high - share.low) }
}

/// At most a tenth as many become shorter as longer, and the mean is longer.
fn lengthens(impact: &Impact, system: usize, one: Replaced) -> (String, ClaimVerdict) {
    let mean = saved(impact, system, one);
    let [shorter, longer] = signs(impact, system, one);
    let verdict =
        ClaimVerdict::all([above(exactly(0.0), mean), above(times(percent(&longer), 0.1), percent(&shorter))]);
    let text = format!("{} {}: {:+.2} RTTs; {shorter} shorter, {longer} longer", name(system), one.text(), mean.mean);
    (text, verdict)
}

/// §V-B1: k on Linux.
fn k(impact: &Impact) -> Vec<Claim> {
    let [two, three] = [2, 3].map(|k| saved(impact, LINUX, Replaced::K(k)));
    let best = best_case(impact, LINUX);
    let number = impact.number(LINUX, Replaced::K(2));
    let fifth = impact.mean(LINUX, |sender| sender.saved[number] - sender.best_case / 5.0);
    let [shorter2, longer2] = signs(impact, LINUX, Replaced::K(2));
    let [shorter3, longer3] = signs(impact, LINUX, Replaced::K(3));
    let (k6, k6_verdict) = lengthens(impact, LINUX, Replaced::K(6));
    let slower = impact.saved(LINUX, Replaced::K(2)).filter(|[_, saved]| *saved < 0.0);
    let slower: Vec<[f64; 2]> = slower.collect();
    let by = Estimate::of(slower.iter().map(|[_, saved]| -saved));
    let small = slower.iter().filter(|[best, _]| *best < 10.0).count();
    let small = Share::of(small as u64, slower.len() as u64);
    let all = impact.0[LINUX].senders.len() as u64;
    let few = Share::of(slower.len() as u64, all);
    let gains = impact.0[LINUX].senders.iter().map(|sender| sender.best_case);
    let mut gains: Vec<f64> = gains.filter(|best| *best > 0.0).collect();
    gains.sort_by(f64::total_cmp);
    let at = |q: f64| gains[((gains.len() - 1) as f64 * q) as usize];
    let (low, high) = match gains.is_empty() {
        true => (f64::NAN, f64::NAN),
        false => (at(0.01), at(0.99)),
    };
    vec![
        decided(
            "k-2-factor-5",
            "V-B1",
            "With k = 2, Linux's connections save on average a fifth of the best case or more",
            "mean reduction less a fifth of the mean best case, over senders: above 0",
            format!("best case {:.2} RTTs, saved {:.2}", best.mean, two.mean),
            above(fifth, exactly(0.0)),
        )
        .paper("within a factor of 5")
        .interval(format!("±{:.2} of the difference", fifth.half)),
        decided(
            "small-k-shortens",
            "V-B1",
            "k = 2 and k = 3 shorten connections, and more of them than they lengthen",
            "the mean reductions are above 0; of the senders in the figure more become shorter than longer",
            format!("k = 2: {shorter2} shorter, {longer2} longer; k = 3: {shorter3} and {longer3}"),
            ClaimVerdict::all([
                above(two, exactly(0.0)),
                above(three, exactly(0.0)),
                above(percent(&shorter2), percent(&longer2)),
                above(percent(&shorter3), percent(&longer3)),
            ]),
        ),
        decided(
            "small-k-shortens-most",
            "V-B1",
            "k = 2 and k = 3 shorten most connections",
            "more than half of the senders in the figure, which have a best case of 0.1 RTTs or more, become shorter",
            format!("k = 2: {shorter2}; k = 3: {shorter3}"),
            ClaimVerdict::all([&shorter2, &shorter3].map(|share| above(percent(share), exactly(50.0)))),
        ),
        decided(
            "k-6-lengthens",
            "V-B1",
            "k = 6 consistently lengthens Linux's connections",
            "the mean reduction is below 0, and at most a tenth as many become shorter as longer",
            k6,
            k6_verdict,
        ),
        decided(
            "small-k-costs-few",
            "V-B1",
            "With small k a small fraction of the connections takes slightly longer, by about 1 RTT",
            "with k = 2 less than a tenth of the senders get longer, on average by at most 2 RTTs",
            format!("{few}, by {:.2} RTTs", by.mean),
            ClaimVerdict::all([above(exactly(10.0), percent(&few)), above(exactly(2.0), by)]),
        )
        .paper("about 1 RTT (the print has lost the sign)")
        .interval(format!("±{:.2} RTTs", by.half)),
        decided(
            "small-k-costs-small-ones",
            "V-B1",
            "This is especially true of connections with a best case below 10 RTTs",
            "most of the senders that k = 2 makes longer have such a best case",
            format!("{small}"),
            above(percent(&small), exactly(50.0)),
        ),
        claim(
            "scope-orders",
            "V-B",
            "The best case differs by several orders of magnitude between connections",
            "the 99th percentile of the best cases above 0 is at least 100 times the first, on Linux",
            (format!("{low:.3} and {high:.1} RTTs"), high >= 100.0 * low),
        ),
    ]
}

/// §V-B1: k on the other systems; §I: the efficiency of Linux's estimator.
fn systems(impact: &Impact) -> Vec<Claim> {
    let all = [WINDOWS, LINUX, SOLARIS, FREEBSD];
    let twos = with_saved(impact, &all.map(|system| (system, Replaced::K(2))));
    let share = |system: usize| {
        let number = impact.number(system, Replaced::K(2));
        let mean = best_case(impact, system).mean;
        times(impact.mean(system, |sender| sender.saved[number]), 100.0 / mean)
    };
    let shares = all.map(share);
    let best = all.map(|system| best_case(impact, system));
    let spurious = all.map(|system| {
        let made = [ChangeKind::SpuriousTimeoutMade];
        let senders = impact.totals(system).senders.max(1);
        impact.events(system, Replaced::K(2), &made) as f64 / senders as f64
    });
    let list = |values: [f64; 4], unit: &str| {
        let each = all.map(|system| format!("{} {:.2}{unit}", name(system), values[system]));
        each.join(", ")
    };
    let others = [WINDOWS, SOLARIS, FREEBSD];
    vec![
        decided(
            "estimators-conservative",
            "I",
            "Most RTO estimators are conservative in RTT variability: with less of it connections become shorter",
            "k = 2 shortens the connections of each system on average",
            shown(&twos),
            ClaimVerdict::all(twos.iter().map(|(.., saved)| above(*saved, exactly(0.0)))),
        )
        .interval(halves(&twos)),
        decided(
            "k-others-less",
            "V-B1",
            "k = 2 helps the other systems as well, but less than Linux",
            "their mean reductions are above 0, and smaller shares of their best cases",
            list(shares.map(|share| share.mean), " %"),
            ClaimVerdict::all(others.into_iter().flat_map(|system| {
                [
                    above(twos[system].2, exactly(0.0)),
                    above(shares[LINUX], shares[system]),
                ]
            })),
        )
        .interval(shares.map(|share| format!("±{:.1}", share.half)).join(", ")),
        claim(
            "linux-robust",
            "V-B1",
            "Linux's RTO is robust even with a small k, because it tracks the RTT more finely",
            "k = 2 makes fewer spurious timeouts per sender on Linux than on each other system",
            (
                list(spurious, ""),
                others.iter().all(|system| spurious[LINUX] < spurious[*system]),
            ),
        )
        .note(
            "the ticks of Windows, 100 ms, lengthen its RTOs (causes: ticks-hide-small-k), and the minima of Solaris and FreeBSD, 400 \
             and 1200 ms, do so still more.",
        ),
        decided(
            "linux-most-efficient",
            "I",
            "The Linux RTO estimator is the most efficient",
            "Linux's mean best case, what ideal detection would still save, is below each other's",
            list(best.map(|best| best.mean), " RTTs"),
            ClaimVerdict::all(others.map(|system| above(best[system], best[LINUX]))),
        )
        .interval(best.map(|best| format!("±{:.2}", best.half)).join(", ")),
    ]
}

/// §V-B2.
fn min_rto(impact: &Impact) -> Vec<Claim> {
    let (larger, larger_verdict) = lengthens(impact, LINUX, Replaced::MinRto(400));
    let all =
        with_saved(impact, &[(SOLARIS, Replaced::MinRto(100)), (LINUX, Replaced::K(2)), (SOLARIS, Replaced::K(2))]);
    let [solaris, linux_k, _] = [all[0].2, all[1].2, all[2].2];
    let low = saved(impact, LINUX, Replaced::MinRto(100));
    let best = best_case(impact, LINUX);
    let [shorter, _] = signs(impact, LINUX, Replaced::MinRto(100));
    let large = [(WINDOWS, 1000), (LINUX, 1000), (SOLARIS, 1000), (LINUX, 800)];
    let large = with_saved(impact, &large.map(|(system, ms)| (system, Replaced::MinRto(ms))));
    vec![
        decided(
            "larger-min-rto",
            "V-B2",
            "A larger minimum RTO lengthens almost all connections that it changes",
            "Linux with 400 ms: at most a tenth as many become shorter as longer",
            larger,
            larger_verdict,
        ),
        decided(
            "large-min-rto",
            "V-B2",
            "A large minimum RTO lengthens connections significantly",
            "800 and 1000 ms lengthen the connections of Windows, Linux and Solaris by more than 1 RTT on average",
            shown(&large),
            ClaimVerdict::all(large.iter().map(|(.., saved)| above(exactly(-1.0), *saved))),
        )
        .interval(halves(&large)),
        decided(
            "solaris-100",
            "V-B2",
            "100 ms instead of 400 ms shortens Solaris's connections",
            "the mean reduction is above 0",
            shown(&all[..1]),
            above(solaris, exactly(0.0)),
        )
        .interval(halves(&all[..1])),
        decided(
            "solaris-100-less",
            "V-B2",
            "It shortens them less than small k does",
            "less than k = 2 on Linux",
            shown(&all),
            above(linux_k, solaris),
        )
        .interval(halves(&all))
        .note("most RTTs of these populations are far below Solaris's 400 ms, so that its minimum is its RTO."),
        decided(
            "linux-100",
            "V-B2",
            "100 ms instead of 200 ms changes next to nothing on Linux",
            "the mean reduction is less than 1 % of the best case",
            format!("{:+.2} of {:.2} RTTs", low.mean, best.mean),
            above(times(best, 0.01), low),
        )
        .interval(format!("±{:.2}", low.half))
        .note(
            "by §II the minimum applies to the RTO, which is 200 ms wherever the RTT is short. With the kernel's minimum of 4·RTTVAR the \
             RTO is at least SRTT + 200 ms, and a minimum RTO of 100 ms changes nothing.",
        ),
        decided(
            "linux-100-most",
            "V-B2",
            "For most connections of Linux it changes nothing",
            "less than half of the senders in the figure become shorter",
            format!("{shorter}"),
            above(exactly(50.0), percent(&shorter)),
        ),
    ]
}

/// §V-B3.
fn weights(impact: &Impact) -> Vec<Claim> {
    let larger = [Replaced::A(1), Replaced::A(2), Replaced::B(1), Replaced::B(2), Replaced::B(4)];
    let others = [WINDOWS, SOLARIS, FREEBSD];
    let pairs = others.map(|system| larger.map(|one| (system, one)));
    let pairs = pairs.concat();
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
        claim(
            "larger-weights",
            "V-B3",
            "A larger a or b helps more connections than it hurts on systems other than Linux",
            "for most of a = 1, 1/2 and b = 1, 1/2, 1/4 on three systems, as many become shorter as longer or more",
            (
                format!("{helped} of {} helped more", rows.len()),
                2 * helped > rows.len(),
            ),
        )
        .note(
            "the opposite holds in these populations. Their RTTs rise before a queue overflows; with a larger weight SRTT \
             and RTTVAR are large just then, and so is the RTO. The study's RTTs may have varied in other ways.",
        ),
        claim(
            "larger-weights-hurt-many",
            "V-B3",
            "A larger a or b also lengthens a significant fraction of the connections",
            "each of these values lengthens some, and one of them at least a twentieth of the senders in the figure",
            (
                format!("{hurt} of {} hurt some; at most {:.0} %", rows.len(), 100.0 * most_hurt),
                hurt == rows.len() && most_hurt >= 0.05,
            ),
        ),
        claim(
            "weights-less-deterministic",
            "V-B3",
            "a and b affect the systems other than Linux less deterministically",
            "the smaller of the shares of senders that become shorter and longer, in both together: larger on each other system than on Linux, over the larger weights",
            (
                (0..4)
                    .map(|system| format!("{} {:.2}", name(system), even[system]))
                    .collect::<Vec<_>>()
                    .join(", "),
                others.iter().all(|system| even[*system] > even[LINUX]),
            ),
        )
        .note("on Linux larger weights are mixed as well: RTTVAR rises with them, and falls faster"),
    ]
}
