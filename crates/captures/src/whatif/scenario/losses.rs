//! The losses of a capture as rules of the setting `drop`.
//!
//! | rule | when |
//! | --- | --- |
//! | `tail:N`, `data:K` | every connection lost the same data segments, and nothing else |
//! | `gilbert-elliott` | packets after a lost one are lost more often: Gilbert's channel (1960), its maximum likelihood |
//! | `bernoulli` | otherwise |
//! | `policer` | beside one of these: the losses of at least half of the paths that lost packets are those of a policer |
//!
//! Gilbert's channel replaces Bernoulli's if twice the logarithm of the ratio of their likelihoods exceeds
//! the Bayesian information criterion (Schwarz, "Estimating the Dimension of a Model", 1978) and 10.8, which
//! chance exceeds once in a thousand. A scenario has one process for all connections. Connections that
//! differ in how much they lose therefore look like bursts.

use super::facts::Facts;
use super::text::{percent, probability};
use recoup_path::Policer;
use recoup_units::Offset;
use recoup_whatif::bottleneck::Bottleneck;
use recoup_whatif::policing;
use recoup_whatif::transmission::{Fate, Transmission};

/// This many connections distinguish losses by position from chance.
const FEW: usize = 5;

/// Losses that chance explains once in a thousand: χ² with one degree of freedom.
const SIGNIFICANT: f64 = 10.83;

/// Losses of ACKs below this share are not told from ACKs that receivers or hosts saved.
const LEAST_ACK_LOSS: f64 = 0.01;

/// A rule, and where it comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Rule {
    /// Without its direction.
    pub text: String,
    pub why: String,
}

/// Packets and losses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Count {
    sent: u64,
    lost: u64,
}

/// Packets by what became of the one before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Pairs {
    after_arrival: Count,
    after_loss: Count,
}

/// What became of a packet of the sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PacketFate {
    Arrived,
    Lost,
    /// A full queue or a policer dropped it, and does so again.
    Exceeded,
    Unknown,
}

/// What drops packets of a path again in the scenario, so that no other rule repeats these losses.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Limits<'a> {
    pub bottleneck: Option<&'a Bottleneck>,
    pub policer: Option<Policer>,
}

/// What became of the packets of a connection, in the order of sending.
fn fates(facts: &Facts, limits: Limits<'_>) -> Vec<PacketFate> {
    let passages = limits.bottleneck.map(|one| one.passages(&facts.transmissions));
    let policed = limits.policer.map(|policer| policing::dropped(policer, &facts.transmissions));
    let fates = facts.transmissions.iter().enumerate().map(|(i, sent)| {
        let passage = passages.as_ref().and_then(|all| all.passages.get(i));
        match sent.fate {
            _ if passage.is_some_and(|passage| passage.is_overflow) => PacketFate::Exceeded,
            _ if policed.as_ref().is_some_and(|policed| policed.get(i) == Some(&true)) => PacketFate::Exceeded,
            Fate::Arrived(_) => PacketFate::Arrived,
            Fate::Lost => PacketFate::Lost,
            Fate::Unknown => PacketFate::Unknown,
        }
    });
    fates.collect()
}

/// The packets of the sender as a loss trace, which the setting `drop` replays: a line for each connection, and in it 1
/// for each packet that was lost and 0 for each other one. Those of a full queue or a policer count as others, and packets whose
/// fate is unknown are left out.
pub(super) fn trace<'a>(all: &[&'a Facts], limits: impl Fn(&'a Facts) -> Limits<'a>) -> String {
    let mut text = String::new();
    for &facts in all {
        let before = text.len();
        text.extend(fates(facts, limits(facts)).into_iter().filter_map(|fate| match fate {
            PacketFate::Arrived | PacketFate::Exceeded => Some('0'),
            PacketFate::Lost => Some('1'),
            PacketFate::Unknown => None,
        }));
        if text.len() > before {
            text.push('\n');
        }
    }
    text
}

/// The losses of the sender's packets. Those of a full queue or a policer are left out.
pub(super) fn of_packets<'a>(all: &[&'a Facts], limits: impl Fn(&'a Facts) -> Limits<'a>) -> Option<Rule> {
    let mut pairs = Pairs::default();
    let mut exceeded = 0;
    for &facts in all {
        let fates = fates(facts, limits(facts));
        exceeded += fates.iter().filter(|fate| matches!(fate, PacketFate::Exceeded)).count();
        pairs.observe(fates.into_iter().map(|fate| match fate {
            PacketFate::Arrived => Some(false),
            PacketFate::Lost => Some(true),
            PacketFate::Exceeded | PacketFate::Unknown => None,
        }));
    }
    let left_out = match exceeded {
        0 => String::new(),
        n => format!(" {n} losses of a full queue or a policer are left out."),
    };
    if exceeded == 0
        && let Some(rule) = by_position(all)
    {
        return Some(rule);
    }
    let mut rule = pairs.rule()?;
    rule.why += &left_out;
    Some(rule)
}

/// The losses of the peer's ACKs, where receivers acknowledge mostly each segment.
///
/// A segment without an ACK of its own says little: its receiver may have waited for the next one. But then
/// it acknowledges the next one, and any segment out of order, at once (RFC 5681 §4.2). Among these, ACKs
/// are missing as often as among all if the network loses them, less often if receivers wait as well, and
/// more often if hosts merge segments or ACKs.
pub(super) fn of_acks(all: &[&Facts]) -> Option<Rule> {
    let (mut any, mut required) = (Count::default(), Count::default());
    for facts in all.iter().filter(|facts| !facts.habit.delays) {
        count_acks(facts, &mut any, &mut required);
    }
    let [among_all, among_required] = [any.share(), required.share()];
    let apart = (among_required - among_all).abs();
    let deviation = (among_all * (1.0 - among_all) / required.sent.max(1) as f64).sqrt();
    let (count, share) = match apart <= 2.0 * deviation {
        true => (any, among_all),
        false => (required, among_required),
    };
    let is_merged = among_required > among_all && apart > 2.0 * deviation;
    let is_shown = required.lost >= FEW as u64 && share >= LEAST_ACK_LOSS;
    (is_shown && !is_merged).then(|| Rule {
        text: format!("bernoulli:{}", probability(share)),
        why: format!("ACKs of the peer: {} of {} did not come ({}).", count.lost, count.sent, percent(share)),
    })
}

/// Counts the ACKs that a connection's data should have had, and those that it must have had.
fn count_acks(facts: &Facts, any: &mut Count, required: &mut Count) {
    let data = facts.transmissions.iter();
    let mut one_waits = false;
    for sent in data.filter(|sent| sent.span.start >= Offset::DATA) {
        // The ACK of the end of a response may go with data.
        let is_usual = !facts.replied_at.contains(&sent.span.end) && sent.span.len() >= u64::from(facts.segment_size);
        let Some(arrival) = sent.arrival().filter(|_| is_usual) else {
            one_waits = false;
            continue;
        };
        let is_missing = arrival.ack.is_none();
        if arrival.in_order {
            any.add(is_missing);
        }
        if one_waits || !arrival.in_order {
            required.add(is_missing);
        }
        one_waits = is_missing && arrival.in_order && !one_waits;
    }
}

/// A transmission by its place: the data segment, from 1, and its transmission, 1 for the original.
type Place = (usize, u16);

/// The rule by which every connection lost the same data segments, and nothing else.
fn by_position(all: &[&Facts]) -> Option<Rule> {
    let mut from_start: Option<Vec<Place>> = None;
    let mut from_end: Option<Vec<Place>> = None;
    let [mut same_start, mut same_end] = [all.len() >= FEW; 2];
    for facts in all {
        let segments = facts.originals();
        let start = lost_places(facts, &segments)?;
        if start.is_empty() || start.len() == segments.len() {
            return None;
        }
        let end: Vec<Place> = start.iter().rev().map(|(i, copy)| (segments.len() + 1 - i, *copy)).collect();
        same_start &= *from_start.get_or_insert_with(|| start.clone()) == start;
        same_end &= *from_end.get_or_insert_with(|| end.clone()) == end;
    }
    let n = all.len();
    let is_tail = |end: &Vec<Place>| end.iter().copied().eq((1..=end.len()).map(|i| (i, 1)));
    if let Some(end) = from_end.filter(|end| same_end && is_tail(end)) {
        return Some(Rule {
            text: format!("tail:{}", end.len()),
            why: format!("Each of the {n} connections lost exactly its last data segments."),
        });
    }
    let start = from_start.filter(|_| same_start)?;
    let rules = start.iter().map(|(segment, copy)| match copy {
        1 => format!("data:{segment}"),
        _ => format!("data:{segment}@{copy}"),
    });
    Some(Rule {
        text: rules.collect::<Vec<_>>().join(","),
        why: format!("Each of the {n} connections lost exactly these data segments."),
    })
}

/// The places of the transmissions that were lost, in order. `None` if one was no data segment.
fn lost_places(facts: &Facts, segments: &[&Transmission]) -> Option<Vec<Place>> {
    let lost = facts.transmissions.iter().filter(|sent| sent.fate == Fate::Lost);
    let place = |sent: &Transmission| {
        let found = segments.binary_search_by_key(&sent.span.start, |one| one.span.start);
        found.ok().map(|index| (index + 1, sent.copy))
    };
    let mut places = lost.map(place).collect::<Option<Vec<Place>>>()?;
    places.sort_unstable();
    Some(places)
}

impl Count {
    fn add(&mut self, lost: bool) {
        self.sent += 1;
        self.lost += u64::from(lost);
    }

    fn share(&self) -> f64 {
        match self.sent {
            0 => 0.0,
            sent => self.lost as f64 / sent as f64,
        }
    }

    /// The logarithm of the likelihood of its maximum.
    fn log_likelihood(&self) -> f64 {
        let part = |n: u64, p: f64| match n {
            0 => 0.0,
            n => n as f64 * p.ln(),
        };
        let p = self.share();
        part(self.lost, p) + part(self.sent - self.lost, 1.0 - p)
    }
}

impl Pairs {
    /// Adds the packets of a connection in the order of sending: whether each was lost, if that is known.
    pub fn observe(&mut self, fates: impl Iterator<Item = Option<bool>>) {
        let mut previous = Some(false);
        for lost in fates {
            if let (Some(previous), Some(lost)) = (previous, lost) {
                match previous {
                    true => self.after_loss.add(lost),
                    false => self.after_arrival.add(lost),
                }
            }
            previous = lost;
        }
    }

    fn all(&self) -> Count {
        Count {
            sent: self.after_arrival.sent + self.after_loss.sent,
            lost: self.after_arrival.lost + self.after_loss.lost,
        }
    }

    /// The process that explains them; `None` without a loss.
    pub fn rule(&self) -> Option<Rule> {
        let all = self.all();
        if all.lost == 0 {
            return None;
        }
        let share = all.share();
        let lost = format!("{} of {} packets were lost ({})", all.lost, all.sent, percent(share));
        let [begins, goes_on] = [self.after_arrival.share(), self.after_loss.share()];
        let split = self.after_arrival.log_likelihood() + self.after_loss.log_likelihood();
        let gain = 2.0 * (split - all.log_likelihood());
        let least = SIGNIFICANT.max((all.sent as f64).ln());
        if goes_on <= begins || gain <= least {
            let after = match self.after_loss.sent {
                0 => String::new(),
                n => format!("; of the {n} packets after a lost one {}, which is no burst", percent(goes_on)),
            };
            return Some(Rule { text: format!("bernoulli:{}", probability(share)), why: format!("{lost}{after}.") });
        }
        let ends = 1.0 - goes_on;
        Some(Rule {
            text: format!("gilbert-elliott:{},{}", probability(begins), probability(ends)),
            why: format!(
                "{lost}: {} after a packet that arrived, {} after a lost one. A burst has {:.1} packets in the mean.",
                percent(begins),
                percent(goes_on),
                1.0 / ends.max(1e-9)
            ),
        })
    }
}

#[cfg(test)]
mod tests;
