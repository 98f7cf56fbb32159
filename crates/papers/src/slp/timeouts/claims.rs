//! What the paper says of timeouts and of lost SYNs (§I, §II-B, §III-A).
//!
//! k-means, the paper's classifier, decides what is a timeout, as in the paper. The shares by our triggers, which are right in a
//! capture at the sender, stand beside it. Whether both agree is a claim of its own.

use super::columns::ColumnCell;
use super::contrast::{Contrast, contrast, share_of};
use super::{RerunFlow, Studied, Traces};
use crate::prelude::*;
use recoup_captures::study::slp::{Class, Classification, Classifier, Classifiers, Half, Report, Sample};

/// A kind of lost packet.
type Kind = fn(&Sample) -> bool;

/// The claims of Figure 1 or 2, and those on all retransmissions.
pub fn positions(studied: &Studied) -> Vec<Claim> {
    let look = Look::at(studied);
    let mut claims = vec![
        k_means_threshold(studied),
        wireshark(&look),
        syn_timeouts(&look),
        syn_timeouts_by_k_means(&look),
        look.more("head-more", look.panels(), is_head, is_elsewhere),
        look.more("tail-more", look.panels(), is_tail, is_elsewhere),
        look.ten_times("syn-ten-times", is_syn),
        look.ten_times("tail-ten-times", is_tail),
    ];
    claims.push(match studied.traces {
        Traces::DataCenter => duplicate_numbers(studied),
        Traces::Backbone => cost_most(studied),
    });
    claims
}

/// The claims of Figure 3 or 4.
pub fn flags(studied: &Studied) -> Vec<Claim> {
    let look = Look::at(studied);
    vec![
        look.more("syn-more", look.together(), is_syn, is_plain),
        look.more("fin-more", look.together(), is_fin, is_plain),
        look.more("psh-more", look.together(), is_push, is_plain),
        look.ten_times("psh-ten-times", |sample| sample.flags.contains(Flags::PSH)),
    ]
}

/// Position 1 of the first half.
fn is_head(sample: &Sample) -> bool {
    sample.position.is_some_and(|place| place.half == Half::Front && place.index == 1)
}

/// Position 1 of the second half.
fn is_tail(sample: &Sample) -> bool {
    sample.position.is_some_and(|place| place.half == Half::Back && place.index == 1)
}

/// A known position that is neither the first nor the last.
fn is_elsewhere(sample: &Sample) -> bool {
    sample.position.is_some() && !is_head(sample) && !is_tail(sample)
}

fn is_syn(sample: &Sample) -> bool {
    sample.flags.contains(Flags::SYN)
}

fn is_fin(sample: &Sample) -> bool {
    sample.flags.contains(Flags::FIN)
}

/// A SYN or a FIN has its own reasons.
fn is_push(sample: &Sample) -> bool {
    sample.flags == Flags::PSH | Flags::ACK
}

/// "A regular data packet without any special TCP flag other than the ACK flag."
fn is_plain(sample: &Sample) -> bool {
    sample.flags == Flags::ACK
}

/// "Other types of TCP packets": neither SYN, nor tail, nor PSH.
fn is_other(sample: &Sample) -> bool {
    !is_syn(sample) && !is_tail(sample) && !sample.flags.contains(Flags::PSH)
}

/// The class by trigger, which is the truth here.
fn by_trigger(sample: &Sample) -> Option<Class> {
    sample.trigger.map(Class::of)
}

/// Compares kinds of losses.
struct Look<'a> {
    studied: &'a Studied,
    classifiers: Classifiers,
}

impl<'a> Look<'a> {
    fn at(studied: &'a Studied) -> Self {
        Self { studied, classifiers: Classifiers::new(&studied.samples) }
    }

    /// The panels: who sent the packets.
    fn panels(&self) -> Vec<(&'static str, Vec<Sample>)> {
        let samples = &self.studied.samples;
        let of = |direction| samples.iter().filter(move |one| one.direction == direction).copied().collect();
        match self.studied.traces {
            Traces::DataCenter => vec![("client", of(Direction::Up)), ("server", of(Direction::Down))],
            Traces::Backbone => vec![("both directions", samples.clone())],
        }
    }

    fn by_k_means(&self, sample: &Sample) -> Option<Class> {
        self.classifiers.class(Classifier::KMeans, sample)
    }

    /// The shares by k-means and by trigger as text.
    fn text(samples: &[Sample], found: &Contrast, one: Kind, other: Kind) -> String {
        let shown = |found: &Contrast| {
            let [share, of_others] = found.shares.map(|share| 100.0 * share);
            format!("{share:.1} % against {of_others:.1} %")
        };
        let by_trigger = contrast(samples, 1.0, by_trigger, one, other);
        let by_trigger = by_trigger.map_or(String::new(), |found| format!("; by trigger {}", shown(&found)));
        format!("{}{by_trigger}", shown(found))
    }

    /// The share that a classifier calls a timeout although Wireshark's rule does not, or the reverse, in percent of those that
    /// Wireshark classifies.
    fn different(&self, class: impl Fn(&Sample) -> Option<Class>, is_fast: impl Fn(&Sample) -> bool) -> f64 {
        let samples = self.studied.samples.iter().filter(|sample| sample.by_wireshark.is_some());
        let classes = samples.filter_map(|sample| Some((class(sample)?, is_fast(sample))));
        let (all, different) = classes.fold((0_u64, 0_u64), |(all, different), (class, is_fast)| {
            (all + 1, different + u64::from((class == Class::Fast) != is_fast))
        });
        100.0 * different as f64 / all as f64
    }

    /// All samples as one panel.
    fn together(&self) -> Vec<(&'static str, Vec<Sample>)> {
        vec![("all", self.studied.samples.clone())]
    }

    /// Whether one kind causes timeouts more often than the other, in each of these panels that has both.
    fn more(&self, id: &'static str, panels: Vec<(&'static str, Vec<Sample>)>, one: Kind, other: Kind) -> Claim {
        let (mut texts, mut intervals, mut verdicts) = (vec![], vec![], vec![]);
        for (name, samples) in panels {
            let class = |sample: &Sample| self.by_k_means(sample);
            let Some(found) = contrast(&samples, 1.0, class, one, other) else {
                continue;
            };
            texts.push(format!("{name}: {}", Self::text(&samples, &found, one, other)));
            intervals.push(points(found.difference));
            verdicts.push(found.difference.above(0.0));
        }
        let claim = claim(id).shows(texts.join("; "));
        if verdicts.is_empty() {
            claim.holds(false).note("too few such retransmissions")
        } else {
            claim.needs_all(verdicts).interval(intervals.join("; "))
        }
    }

    /// Whether one kind causes timeouts at least ten times as often as packets of no important kind.
    fn ten_times(&self, id: &'static str, one: Kind) -> Claim {
        let samples = &self.studied.samples;
        let found = contrast(samples, 10.0, |sample| self.by_k_means(sample), one, is_other);
        let text = found.map_or("too few".into(), |found| {
            let ratio = found.shares[0] / found.shares[1];
            let by_trigger =
                contrast(samples, 10.0, by_trigger, one, is_other).map_or(NAN, |by| by.shares[0] / by.shares[1]);
            let text = Self::text(samples, &found, one, is_other);
            format!("{ratio:.1} times, by trigger {by_trigger:.1} times: {text}")
        });
        let claim = claim(id).shows(text);
        let Some(found) = found else {
            return claim.holds(false);
        };
        let claim = claim.needs(found.difference.above(0.0)).interval(points(found.difference));
        match claim.verdict {
            ClaimVerdict::Holds => claim,
            _ => claim.noted("elsewhere"),
        }
    }
}

/// A difference of shares in percentage points.
fn points(difference: Estimate) -> String {
    format!("{:.1} ± {:.1} points", 100.0 * difference.mean, 100.0 * difference.half)
}

fn classification(report: &Report) -> Option<&Classification> {
    let mut classifications = report.classifications.iter();
    classifications.find(|one| one.classifier == Classifier::KMeans)
}

fn k_means_threshold(studied: &Studied) -> Claim {
    let k_means = classification(&studied.report);
    let different = k_means.and_then(|one| one.against_triggers.different_percent);
    let threshold = k_means.and_then(|one| one.threshold_s).unwrap_or(NAN);
    let mut others = studied.report.classifications.iter();
    let log = others
        .find(|one| one.classifier == Classifier::KMeansLog)
        .and_then(|one| one.against_triggers.different_percent);
    let text = different.map_or("unknown".into(), |percent| format!("{percent:.1} %, threshold {threshold:.3} s"));
    claim("k-means-threshold")
        .shows(text)
        .holds(different.is_some_and(|percent| percent < 5.0))
        .fill(&[&log.unwrap_or(NAN)])
}

/// Wireshark's classes: what it calls a fast retransmission or out of order is no timeout. Its other reading, beside it: only
/// a fast retransmission is none.
fn wireshark(look: &Look<'_>) -> Claim {
    let is_fast = |sample: &Sample| sample.by_wireshark == Some(Class::Fast);
    let is_either = |sample: &Sample| is_fast(sample) || sample.is_out_of_order;
    let by_k_means = |sample: &Sample| look.by_k_means(sample);
    let different = look.different(by_k_means, is_either);
    claim!("wireshark", "{different:.1} %")
        .holds((1.5..=6.0).contains(&different))
        .fill(&[&look.different(by_trigger, is_either), &look.different(by_k_means, is_fast)])
}

fn lost_syns(look: &Look<'_>, class: impl Fn(&Sample) -> Option<Class>) -> Option<Estimate> {
    let syns: Vec<Sample> = look.studied.samples.iter().filter(|one| is_syn(one)).copied().collect();
    share_of(&syns, |_| 1.0, |one| class(one) == Some(Class::Timeout))
}

fn syn_timeouts(look: &Look<'_>) -> Claim {
    let share = lost_syns(look, by_trigger).map_or(NAN, |share| share.mean);
    claim!("syn-timeouts", "{:.0} %", 100.0 * share).holds(share > 0.7)
}

fn syn_timeouts_by_k_means(look: &Look<'_>) -> Claim {
    let share =
        lost_syns(look, |sample| look.by_k_means(sample)).unwrap_or(Estimate { mean: 0.0, half: f64::INFINITY });
    claim!("syn-timeouts-by-k-means", "{:.1} %", 100.0 * share.mean)
        .needs(share.above(0.7))
        .interval(format!("± {:.1} points", 100.0 * share.half))
}

fn duplicate_numbers(studied: &Studied) -> Claim {
    let (seen, sent) = (studied.samples.len() as u64, studied.sent_again);
    let share = seen as f64 / sent.max(1) as f64;
    claim!("duplicate-numbers", "{seen} packets, {sent} retransmissions")
        .holds((0.99..=1.01).contains(&share))
        .fill(&[&studied.seen_far])
}

/// Seconds from the previous transmission.
fn waited(sample: &Sample) -> f64 {
    sample.interval.as_secs_f64()
}

fn cost_most(studied: &Studied) -> Claim {
    let known: Vec<Sample> = studied.samples.iter().filter(|one| one.trigger.is_some()).copied().collect();
    let share = share_of(&known, waited, |one| by_trigger(one) == Some(Class::Timeout))
        .unwrap_or(Estimate { mean: 0.0, half: f64::INFINITY });
    claim!("timeouts-cost-most", "{:.1} %", 100.0 * share.mean)
        .needs(share.above(0.5))
        .interval(format!("± {:.1} points", 100.0 * share.half))
}

/// The claims of Table I.
pub fn table(studied: &Studied, cells: &[ColumnCell]) -> Vec<Claim> {
    let differences = cells.iter().map(|cell| cell.computed.paper_without_slp_s - cell.computed.paper_with_slp_s);
    let [least, most] = ends(differences);
    let deviation = cells.iter().map(|cell| {
        let paper = &cell.computed;
        let reduction = 100.0 * (1.0 - paper.paper_with_slp_s / paper.paper_without_slp_s);
        (reduction - paper.paper_reduction_percent).abs()
    });
    let [_, deviation] = ends(deviation);
    let shorter = |of: fn(&RerunFlow) -> Option<f64>| {
        studied.reruns.iter().filter(|flow| of(flow).is_some_and(|s| s < flow.without_s)).count()
    };
    let all = studied.reruns.len();
    let (computed, rerun) = (shorter(|flow| Some(flow.computed_s)), shorter(|flow| flow.rerun_s));
    vec![
        claim!("arithmetic", "largest difference {deviation:.2} points").holds(deviation < 0.1),
        claim!("initial-rto", "they differ by {least:.2} to {most:.2} s").holds(least >= 1.0),
        claim("all-shorter-computed").every(computed, all, "flows"),
        claim("all-shorter-rerun").every(rerun, all, "flows"),
        short_flows(cells),
        reductions(studied, cells),
    ]
}

fn ends(values: impl Iterator<Item = f64>) -> [f64; 2] {
    values.fold([f64::INFINITY, f64::NEG_INFINITY], |[least, most], value| [least.min(value), most.max(value)])
}

fn short_flows(cells: &[ColumnCell]) -> Claim {
    let reductions: Vec<f64> = cells
        .iter()
        .map(|cell| {
            let without = cell.computed.without_slp_s;
            cell.rerun_s.map_or(NAN, |with| 100.0 * (1.0 - with / without))
        })
        .collect();
    let shown = reductions.iter().map(|percent| format!("{percent:.1} %"));
    let falls = match reductions[..] {
        [_, early, median, late, _] => early > median && median > late,
        _ => false,
    };
    claim("short-flows-gain-most").shows(shown.joined(", ")).holds(falls)
}

/// How often the flows are drawn anew for an interval (bootstrap).
const RESAMPLES: u64 = 400;

/// The reductions of the percentiles of Table I, computed as in the paper.
fn reductions(studied: &Studied, cells: &[ColumnCell]) -> Claim {
    let flows: Vec<[f64; 2]> = studied.reruns.iter().map(|flow| [flow.without_s, flow.computed_s]).collect();
    let resampled: Vec<[Vec<f64>; 2]> = (0..RESAMPLES)
        .map(|round| {
            let draws = Draws::new(studied.seed, u64::from_le_bytes(*b"resample"), round);
            let one = |n: usize| flows[(draws.uniform(0, n as u64) * flows.len() as f64) as usize];
            sorted(&(0..flows.len()).map(one).collect::<Vec<_>>())
        })
        .collect();
    let (mut texts, mut intervals, mut verdicts) = (vec![], vec![], vec![]);
    for cell in cells {
        let percentile = cell.computed.percentile;
        let mut drawn: Vec<f64> = resampled.iter().map(|times| reduction(times, percentile)).collect();
        drawn.sort_unstable_by(f64::total_cmp);
        let [low, high] = [0.025, 0.975].map(|q| quantile(&drawn, q).unwrap_or(NAN));
        texts.push(format!("{:.1}", reduction(&sorted(&flows), percentile)));
        intervals.push(format!("{low:.1} to {high:.1}"));
        let found = Estimate { mean: low.midpoint(high), half: (high - low) / 2.0 };
        verdicts.push(found.sized(cell.computed.paper_reduction_percent));
    }
    let claim = claim("reductions").shows(texts.join(", ") + " %").interval(intervals.join(", "));
    if verdicts.is_empty() { claim.holds(false) } else { claim.needs_all(verdicts) }
}

/// The completion times without SLP and with it, each in order.
fn sorted(flows: &[[f64; 2]]) -> [Vec<f64>; 2] {
    [0, 1].map(|of| {
        let mut times: Vec<f64> = flows.iter().map(|flow| flow[of]).collect();
        times.sort_unstable_by(f64::total_cmp);
        times
    })
}

/// The reduction of a percentile by nearest rank, in percent.
fn reduction([without, with]: &[Vec<f64>; 2], percentile: u32) -> f64 {
    let at = |times: &[f64]| quantile(times, f64::from(percentile) / 100.0).unwrap_or(NAN);
    100.0 * (1.0 - at(with) / at(without))
}
