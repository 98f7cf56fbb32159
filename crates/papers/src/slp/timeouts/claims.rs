//! What the paper says of timeouts and of lost SYNs (§I, §II-B, §III-A).
//!
//! Our triggers decide what caused a retransmission, because they are right in a capture at the sender. The shares by
//! k-means, the paper's classifier, stand beside them. Whether k-means agrees is a claim of its own.

use super::columns::ColumnCell;
use super::contrast::{Contrast, contrast, share_of};
use super::{RerunFlow, Studied, Traces};
use crate::claims::{Claim, ClaimVerdict, claim};
use recoup_captures::study::slp::{Class, Classification, Classifier, Classifiers, Half, Report, Sample};
use recoup_support::stats::Estimate;
use recoup_units::Direction;
use recoup_wire::Flags;

/// Why a ratio of ten is out of reach.
const ELSEWHERE: &str = "nearly every such loss causes a timeout, so ten times as likely would mean that at most one in ten of the other losses does. Short flights, bursts and lost retransmissions leave too few duplicate ACKs after more of them than that";

/// A kind of lost packet.
type Kind = fn(&Sample) -> bool;

/// The claims of Figure 1 or 2, and those on all retransmissions.
pub fn positions(studied: &Studied) -> Vec<Claim> {
    let look = Look::at(studied);
    let mut claims = vec![
        k_means_threshold(studied),
        wireshark(studied),
        syn_timeouts(&look),
        syn_timeouts_by_k_means(&look),
        look.more(
            "head-more",
            "II-B3",
            "The loss of the first packet causes a timeout more often than losses at other positions",
            "share of timeouts after the loss of the first packet, less that after losses of neither the first nor the last: above 0 with 95 % confidence, in each panel",
            is_head,
            is_elsewhere,
        ),
        look.more(
            "tail-more",
            "II-B3, V",
            "The loss of the last packet causes a timeout more often than losses at other positions",
            "the same for the last packet",
            is_tail,
            is_elsewhere,
        ),
        look.ten_times(
            "syn-ten-times",
            "The loss of a SYN is at least ten times more likely to cause a timeout than that of other types of packets",
            is_syn,
        ),
        look.ten_times(
            "tail-ten-times",
            "The loss of a tail is at least ten times more likely to cause a timeout than that of other types of packets",
            is_tail,
        ),
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
        look.more(
            "syn-more",
            "Abstract, II-B4",
            "The loss of a SYN causes a timeout more often than that of a regular data packet",
            "share of timeouts after the loss of a SYN, less that after the loss of a packet with ACK alone: above 0 with 95 % confidence",
            is_syn,
            is_plain,
        ),
        look.more(
            "fin-more",
            "II-B4",
            "The loss of a packet with FIN causes a timeout more often than that of a regular data packet",
            "the same for packets with FIN",
            is_fin,
            is_plain,
        ),
        look.more(
            "psh-more",
            "Abstract, II-B4, V",
            "The loss of a packet with PSH causes a timeout significantly more often than that of a regular data packet",
            "the same for packets with PSH and ACK alone",
            is_push,
            is_plain,
        ),
        look.ten_times(
            "psh-ten-times",
            "The loss of a packet with PSH is at least ten times more likely to cause a timeout than that of other types of packets",
            |sample| sample.flags.contains(Flags::PSH),
        ),
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
        let of = |direction| {
            let own = samples.iter().filter(move |one| one.direction == direction);
            own.copied().collect()
        };
        match self.studied.traces {
            Traces::DataCenter => vec![("client", of(Direction::Up)), ("server", of(Direction::Down))],
            Traces::Backbone => vec![("both directions", samples.clone())],
        }
    }

    fn by_k_means(&self, sample: &Sample) -> Option<Class> {
        self.classifiers.class(Classifier::KMeans, sample)
    }

    /// The shares by trigger and by k-means as text.
    fn text(&self, samples: &[Sample], found: &Contrast, one: Kind, other: Kind) -> String {
        let [share, of_others] = found.shares.map(|share| 100.0 * share);
        let k_means = contrast(samples, 1.0, |sample| self.by_k_means(sample), one, other);
        let k_means = k_means.map_or(String::new(), |found| {
            let [share, of_others] = found.shares.map(|share| 100.0 * share);
            format!("; by k-means {share:.1} % against {of_others:.1} %")
        });
        format!("{share:.1} % against {of_others:.1} %{k_means}")
    }

    /// Whether one kind causes timeouts more often than the other, in each panel that has both.
    fn more(
        &self,
        id: &'static str,
        section: &'static str,
        statement: &'static str,
        check: &'static str,
        one: Kind,
        other: Kind,
    ) -> Claim {
        let (mut texts, mut intervals, mut verdicts) = (vec![], vec![], vec![]);
        let panels = match check.contains("panel") || id == "tail-more" {
            true => self.panels(),
            false => vec![("all", self.studied.samples.clone())],
        };
        for (name, samples) in panels {
            let Some(found) = contrast(&samples, 1.0, by_trigger, one, other) else {
                continue;
            };
            texts.push(format!("{name}: {}", self.text(&samples, &found, one, other)));
            intervals.push(points(found.difference));
            verdicts.push(ClaimVerdict::on_positive(found.difference));
        }
        let none = verdicts.is_empty();
        let claim = claim(id, section, statement, check, (texts.join("; "), !none));
        match none {
            true => claim.note("too few such retransmissions"),
            false => claim.verdict(ClaimVerdict::all(verdicts)).interval(intervals.join("; ")),
        }
    }

    /// Whether one kind causes timeouts at least ten times as often as packets of no important kind.
    fn ten_times(&self, id: &'static str, statement: &'static str, one: Kind) -> Claim {
        let samples = &self.studied.samples;
        let found = contrast(samples, 10.0, by_trigger, one, is_other);
        let text = found.map_or("too few".into(), |found| {
            let ratio = found.shares[0] / found.shares[1];
            format!("{ratio:.1} times: {}", self.text(samples, &found, one, is_other))
        });
        let claim = claim(
            id,
            "I",
            statement,
            "share of timeouts after such losses, less ten times that after losses of packets that are neither SYN nor tail nor PSH: above 0 with 95 % confidence",
            (text, false),
        )
        .paper("at least 10 times");
        match found {
            None => claim,
            Some(found) => {
                let verdict = ClaimVerdict::on_positive(found.difference);
                let claim = claim.verdict(verdict).interval(points(found.difference));
                match verdict {
                    ClaimVerdict::Holds => claim,
                    _ => claim.note(ELSEWHERE),
                }
            }
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
    let threshold = k_means.and_then(|one| one.threshold_s).unwrap_or(f64::NAN);
    let mut others = studied.report.classifications.iter();
    let log = others.find(|one| one.classifier == Classifier::KMeansLog);
    let log = log.and_then(|one| one.against_triggers.different_percent);
    let text = different.map_or("unknown".into(), |percent| format!("{percent:.1} %, threshold {threshold:.3} s"));
    claim(
        "k-means-threshold",
        "II-B2",
        "k-means infers a threshold that separates timeouts from fast retransmissions",
        "less than 5 % of its classes differ from our triggers",
        (text, different.is_some_and(|percent| percent < 5.0)),
    )
    .note(format!(
        "the few longest intervals, of timers that backed off, pull the threshold up to where most timeouts, of the smallest RTO of 200 ms, fall below it. Of k-means on logarithms of the intervals, {:.1} % differ",
        log.unwrap_or(f64::NAN),
    ))
}

fn wireshark(studied: &Studied) -> Claim {
    let k_means = classification(&studied.report);
    let different = k_means.and_then(|one| one.against_wireshark.different_percent);
    let text = different.map_or("unknown".into(), |percent| format!("{percent:.1} %"));
    claim(
        "wireshark",
        "II-B2",
        "k-means and Wireshark classify about 3 % of retransmissions differently",
        "less than 6 % differ from Wireshark's rule for fast retransmissions",
        (text, different.is_some_and(|percent| percent < 6.0)),
    )
    .paper("about 3 %")
    .note("Wireshark calls a retransmission fast only within 20 ms of two duplicate ACKs that ask for it, and so misses all but the first of a recovery with SACK")
}

fn lost_syns(look: &Look<'_>, class: impl Fn(&Sample) -> Option<Class>) -> Option<Estimate> {
    let samples = look.studied.samples.iter();
    let syns: Vec<Sample> = samples.filter(|one| is_syn(one)).copied().collect();
    share_of(&syns, |_| 1.0, |one| class(one) == Some(Class::Timeout))
}

fn syn_timeouts(look: &Look<'_>) -> Claim {
    let share = lost_syns(look, by_trigger).map_or(f64::NAN, |share| share.mean);
    claim(
        "syn-timeouts",
        "II-B3",
        "More than 70 % of lost SYNs cause a timeout",
        "share of SYNs and SYN-ACKs that a timer retransmitted, above 70 %",
        (format!("{:.0} %", 100.0 * share), share > 0.7),
    )
    .paper("more than 70 %")
    .by_construction()
    .note("nothing but a timer retransmits a SYN")
}

fn syn_timeouts_by_k_means(look: &Look<'_>) -> Claim {
    let found = lost_syns(look, |sample| look.by_k_means(sample));
    let share = found.unwrap_or(Estimate { mean: 0.0, half: f64::INFINITY });
    let above = Estimate { mean: share.mean - 0.7, ..share };
    claim(
        "syn-timeouts-by-k-means",
        "II-B3",
        "k-means finds that more than 70 % of lost SYNs cause a timeout",
        "share of retransmitted SYNs and SYN-ACKs in the class with the longer intervals, less 70 %: above 0 with 95 % confidence",
        (format!("{:.1} %", 100.0 * share.mean), false),
    )
    .paper("more than 70 %")
    .verdict(ClaimVerdict::on_positive(above))
    .interval(format!("± {:.1} points", 100.0 * share.half))
    .note("the first timeout of a SYN takes the initial RTO of 1 s. Whether that is above the threshold of k-means depends on how many timers backed off to longer intervals")
}

fn duplicate_numbers(studied: &Studied) -> Claim {
    let (seen, sent) = (studied.samples.len() as u64, studied.sent_again);
    let share = seen as f64 / sent.max(1) as f64;
    claim(
        "duplicate-numbers",
        "II-B2",
        "Retransmissions show up as packets with duplicate sequence numbers",
        "in captures at the senders, 99 to 101 packets repeat a number for each 100 retransmissions",
        (
            format!("{seen} packets, {sent} retransmissions"),
            (0.99..=1.01).contains(&share),
        ),
    )
    .note(format!(
        "in captures at the receivers {} packets do: an original that was lost before the capture is not seen, and its retransmission repeats nothing. A capture in the middle of the path, as on a backbone, lies between",
        studied.seen_far,
    ))
}

/// Seconds from the previous transmission.
fn waited(sample: &Sample) -> f64 {
    sample.interval.as_secs_f64()
}

fn cost_most(studied: &Studied) -> Claim {
    let samples = studied.samples.iter();
    let known: Vec<Sample> = samples.filter(|one| one.trigger.is_some()).copied().collect();
    let share = share_of(&known, waited, |one| by_trigger(one) == Some(Class::Timeout));
    let share = share.unwrap_or(Estimate { mean: 0.0, half: f64::INFINITY });
    let above = Estimate { mean: share.mean - 0.5, ..share };
    claim(
        "timeouts-cost-most",
        "I",
        "Timeouts are a main factor that increases TCP latency",
        "of the time from the previous transmission to the retransmission, summed over all retransmissions, more than half is that of timeouts, with 95 % confidence",
        (format!("{:.1} %", 100.0 * share.mean), false),
    )
    .verdict(ClaimVerdict::on_positive(above))
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
        let flows = studied.reruns.iter();
        let shorter = flows.filter(|flow| of(flow).is_some_and(|s| s < flow.without_s));
        shorter.count()
    };
    let all = studied.reruns.len();
    let (computed, rerun) = (shorter(|flow| Some(flow.computed_s)), shorter(|flow| flow.rerun_s));
    vec![
        claim(
            "arithmetic",
            "III-A",
            "Table I: the reductions are those of its two rows",
            "each differs by less than 0.1 percentage points",
            (
                format!("largest difference {deviation:.2} points"),
                deviation < 0.1,
            ),
        )
        .by_construction(),
        claim(
            "initial-rto",
            "III-A",
            "Table I: with SLP, flows are shorter by the time that lost SYNs waited",
            "the rows of the table differ by at least 1 s, the initial RTO",
            (
                format!("they differ by {least:.2} to {most:.2} s"),
                least >= 1.0,
            ),
        )
        .note("an initial RTO of 1 s or 3 s shortens each flow by 1, 3, 7 … s; the paper's rows differ by nearly the same 0.7 s everywhere, as if one mean had been subtracted from all"),
        claim(
            "all-shorter-computed",
            "III-A",
            "SLP shortens all flows with SYN loss, if duplicates are not lost",
            "completion time less the wait, below that without SLP",
            (
                format!("{computed} of {all} flows"),
                computed == all && all > 0,
            ),
        )
        .by_construction(),
        claim(
            "all-shorter-rerun",
            "I, III-A, V",
            "SLP shortens all flows with SYN loss",
            "the flows run again with duplicated SYNs are all shorter",
            (format!("{rerun} of {all} flows"), rerun == all && all > 0),
        )
        .note("a path that loses the SYN may lose its duplicate too, or the SYN-ACK, which is not duplicated"),
        short_flows(cells),
    ]
}

fn ends(values: impl Iterator<Item = f64>) -> [f64; 2] {
    values.fold([f64::INFINITY, f64::NEG_INFINITY], |[least, most], value| [least.min(value), most.max(value)])
}

fn short_flows(cells: &[ColumnCell]) -> Claim {
    let reductions = cells.iter().map(|cell| {
        let without = cell.computed.without_slp_s;
        cell.rerun_s.map_or(f64::NAN, |with| 100.0 * (1.0 - with / without))
    });
    let reductions: Vec<f64> = reductions.collect();
    let shown: Vec<String> = reductions.iter().map(|percent| format!("{percent:.1} %")).collect();
    let falls = match reductions[..] {
        [_, early, median, late, _] => early > median && median > late,
        _ => false,
    };
    claim(
        "short-flows-gain-most",
        "III-A",
        "Table I: the shorter the flow, the larger the part of its completion time that SLP saves",
        "percentiles of the flows run again with duplicated SYNs, compared with those without: the reduction at the tenth exceeds that at the median, which exceeds that at the 90th",
        (shown.join(", "), falls),
    )
    .paper("87.7, 82.6, 50.4, 7.5, 3.4 %")
}
