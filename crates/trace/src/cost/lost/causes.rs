//! Causes of the time lost by episodes.
//!
//! The first rule that holds names the cause. "Needed" and "spurious" are the verdicts on the episode's
//! retransmissions, "by" is their trigger.
//!
//! | rule | cause |
//! | --- | --- |
//! | one was needed because the path MTU fell, or a larger probe was lost | [`Cause::PathMtu`] |
//! | one failed three times, a smaller one arrived, and its bytes arrived in smaller ones or not at all |
//! [`Cause::MtuBlackHole`] |
//! | three or more, and nothing was heard of the receiver from the first one on | [`Cause::Unanswered`] |
//! | one was needed that was in flight when the receiver closed its window | [`Cause::ZeroWindow`] |
//! | data of the SYN was sent again: the SYN-ACK acknowledged the SYN alone | [`Cause::RefusedFastOpen`] |
//! | one was needed although its bytes had been retransmitted before | [`Cause::LostRetransmission`] |
//! | one was needed and sent by the RTO, or in the slow start after it; nothing sent later than the first such segment
//! was reported | [`Cause::TailByTimeout`] |
//! | the same, but something sent later was reported | [`Cause::LossByTimeout`] |
//! | one was needed and sent by a tail loss probe | [`Cause::TailByProbe`] |
//! | one was needed, its trigger is unknown | [`Cause::Unknown`] |
//! | one was needed, by ACKs; the verdict on one by a timer is unknown | as if that was needed |
//! | several segments sent before the episode were needed, by ACKs | [`Cause::Burst`] |
//! | one was needed, by ACKs | [`Cause::LostSegment`] |
//! | none was certainly needed, a verdict is unknown, and SACK is not in use | as if that was needed |
//! | none was certainly needed, a verdict or the first trigger is unknown | [`Cause::Unknown`] |
//! | all were spurious, the first by ACKs | [`Cause::Reordering`] |
//! | all were spurious, the first because of the path MTU | [`Cause::PathMtu`] |
//! | all were spurious, the first by a timer; ACKs are missing before the one that came | [`Cause::LostAcks`] |
//! | the same; no ACK is missing, or the original was held up | [`Cause::DelaySpike`] |
//! | the same; the capture does not show which | [`Cause::LateOrLostAcks`] |
//!
//! So the slowest way of detection names the episode: the RTO before the probe, the probe before ACKs.
//!
//! A receiver reports what arrived by SACK blocks (RFC 2018), or without SACK by duplicate ACKs (RFC 5681
//! §3.2). Whether ACKs are missing, their IP identifications show (RFC 6864 §4.1), but only at the data's
//! sender: there, all that are missing were lost. Where a capture has no identifications, an ACK that came
//! after a spurious retransmission of the last segment, and that does not report it as a duplicate (RFC 2883),
//! answers the original: that came late.

use crate::{
    attribute::provisional::{AlternativeVerdict, ProvisionalRow},
    finding::{Cause, Evidence, LostTime, Retransmission, Vantage, Verdict},
};
use recoup_recovery::Trigger;
use recoup_wire::SeqNumber;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Evidence about a retransmission besides its trigger and verdict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Clues {
    /// The receiver had reported something sent later.
    pub reported_above: bool,
    /// An earlier retransmission had not been repaired.
    pub within_recovery: bool,
    /// It was the last segment sent so far.
    pub is_last: bool,
    /// Its original was held up before the capture point.
    pub original_held_up: bool,
    /// It was in flight when the receiver closed its window.
    pub beyond_window: bool,
    /// It was first sent with the SYN, whose answer acknowledged the SYN alone.
    pub refused_with_syn: bool,
    /// It was first sent before the episode began.
    pub of_flight: bool,
    /// It holds more than one segment.
    pub several: bool,
    /// It had been retransmitted twice before, and what the receiver reported above it was smaller.
    pub only_smaller_arrived: bool,
    /// SACK is not in use, so that few verdicts are known.
    pub without_sack: bool,
    /// Nothing was heard of the receiver from it on, and it was never acknowledged.
    pub unanswered: bool,
    /// Its ACK, if it began an episode.
    pub answer: Answer,
}

/// The first ACK of a retransmission's bytes that came after it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Answer {
    /// None came, or nothing is known of the packets before it.
    #[default]
    Unknown,
    /// Packets of the receiver are missing before it.
    AfterMissing,
    /// No packet of the receiver is missing before it.
    InSequence,
    /// It does not report the retransmission as a duplicate. Nothing is known of the packets before it.
    NoDuplicate,
}

/// So many retransmissions without an answer show that none will come.
pub(crate) const ENOUGH_UNANSWERED: u32 = 3;

/// The retransmissions of an episode, under one assumption about the receiver.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    /// Retransmissions.
    all: u32,
    /// One whose size alone keeps it from arriving, and its length.
    too_large: Option<(SeqNumber, u32)>,
    /// Its bytes arrived in smaller segments, or not at all.
    stays_too_large: bool,
    path_mtu: bool,
    /// One needed was in flight when the receiver closed its window.
    beyond_window: bool,
    /// Data of the SYN was sent again: the SYN-ACK acknowledged the SYN alone.
    refused_fast_open: bool,
    lost_retransmission: bool,
    /// Cause found by the first needed one that the RTO sent.
    by_timeout: Option<Cause>,
    /// How long that, or else the first one by a probe, was outstanding.
    detection: Option<Duration>,
    by_probe: bool,
    by_unknown: bool,
    /// Segments that ACKs reported as lost.
    by_acks: u32,
    is_undecided: bool,
    /// The cause that the first undecided one by a timer would be.
    undecided_timer: Option<Cause>,
    /// The cause that the trigger of the first undecided one implies, without SACK.
    implied: Option<Cause>,
}

impl Counts {
    fn add(&mut self, row: &ProvisionalRow, verdict: Verdict) {
        let (retransmission, clues) = (&row.retransmission, row.clues);
        self.all += 1;
        if clues.refused_with_syn {
            self.refused_fast_open = true;
            return;
        }
        if clues.only_smaller_arrived {
            self.too_large = Some((retransmission.seq, retransmission.len));
        }
        if let Some((seq, len)) = self.too_large
            && retransmission.seq == seq
        {
            self.stays_too_large = retransmission.len < len || retransmission.recovery.is_none();
        }
        match verdict {
            Verdict::Spurious => return,
            Verdict::Unknowable => {
                self.is_undecided = true;
                let by_timer = cause_by_timer(row);
                self.undecided_timer = self.undecided_timer.or(by_timer);
                if clues.without_sack {
                    let by_acks = matches!(retransmission.triggers.first(), Some(Trigger::Fast | Trigger::Early));
                    self.implied = self.implied.or(by_timer).or(by_acks.then_some(Cause::LostSegment));
                }
                return;
            }
            Verdict::Needed => {}
        }
        self.beyond_window |= clues.beyond_window;
        self.lost_retransmission |= retransmission.copy > 1;
        match retransmission.triggers.first() {
            Some(Trigger::Pmtu | Trigger::MtuProbe) => self.path_mtu = true,
            Some(Trigger::Rto | Trigger::SlowStart) => {
                if self.by_timeout.is_none() {
                    self.detection = retransmission.detection;
                }
                self.by_timeout = self.by_timeout.or(cause_by_timer(row));
            }
            Some(Trigger::Tlp) => {
                if self.by_timeout.is_none() && !self.by_probe {
                    self.detection = retransmission.detection;
                }
                self.by_probe = true;
            }
            Some(Trigger::Fast | Trigger::Early) => {
                self.by_acks += u32::from(clues.of_flight || self.by_acks == 0);
                self.by_acks += u32::from(clues.of_flight && clues.several);
            }
            _ => self.by_unknown = true,
        }
    }

    /// `first` begins the episode.
    fn cause(&self, first: &ProvisionalRow) -> Cause {
        if self.path_mtu {
            return Cause::PathMtu;
        }
        if self.stays_too_large {
            return Cause::MtuBlackHole;
        }
        if first.clues.unanswered && self.all >= ENOUGH_UNANSWERED {
            return Cause::Unanswered;
        }
        if self.beyond_window {
            return Cause::ZeroWindow;
        }
        if self.refused_fast_open && !self.lost_retransmission {
            return Cause::RefusedFastOpen;
        }
        if self.lost_retransmission {
            return Cause::LostRetransmission;
        }
        if let Some(cause) = self.by_timeout {
            return cause;
        }
        if self.by_probe {
            return Cause::TailByProbe;
        }
        match (self.by_acks, self.undecided_timer) {
            _ if self.by_unknown => Cause::Unknown,
            (1.., Some(cause)) => cause,
            (2.., None) => Cause::Burst,
            (1, None) => Cause::LostSegment,
            (0, _) if self.is_undecided => self.implied.unwrap_or(Cause::Unknown),
            (0, _) => cause_of_spurious(first),
        }
    }
}

/// Cause found by a timer, if one sent the segment.
fn cause_by_timer(row: &ProvisionalRow) -> Option<Cause> {
    match row.retransmission.triggers.first()? {
        Trigger::Rto | Trigger::SlowStart if row.clues.reported_above => Some(Cause::LossByTimeout),
        Trigger::Rto | Trigger::SlowStart => Some(Cause::TailByTimeout),
        Trigger::Tlp => Some(Cause::TailByProbe),
        _ => None,
    }
}

/// Why a sender retransmitted what had arrived.
fn cause_of_spurious(first: &ProvisionalRow) -> Cause {
    match first.retransmission.triggers.first() {
        Some(Trigger::Fast | Trigger::Early) => Cause::Reordering,
        Some(Trigger::Pmtu | Trigger::MtuProbe) => Cause::PathMtu,
        Some(Trigger::Rto | Trigger::SlowStart | Trigger::Tlp) => late_ack(first),
        _ => Cause::Unknown,
    }
}

/// Why the ACK came after the timer.
fn late_ack(first: &ProvisionalRow) -> Cause {
    let Retransmission { vantage, evidence, .. } = first.retransmission;
    let at_sender = vantage == Vantage::Sender;
    match first.clues.answer {
        Answer::AfterMissing => Cause::LostAcks,
        _ if first.clues.original_held_up => Cause::DelaySpike,
        Answer::InSequence if at_sender => Cause::DelaySpike,
        Answer::NoDuplicate if at_sender && first.clues.is_last && evidence == Evidence::Dsack => Cause::DelaySpike,
        _ => Cause::LateOrLostAcks,
    }
}

/// An episode whose retransmissions are being counted.
struct Episode<'a> {
    first: &'a mut ProvisionalRow,
    counts: Counts,
    /// Counts if the receiver behaves otherwise than assumed.
    otherwise: Counts,
    /// The assumption about the receiver, if a verdict depends on it.
    conditional: Option<AlternativeVerdict>,
}

impl Episode<'_> {
    /// Names the cause of the episode, and moves its time there.
    fn name(self, lost: &mut LostTime) {
        let first = self.first;
        let cause = self.counts.cause(first);
        if let Some(cost) = &mut first.retransmission.cost {
            let by_timer = matches!(cause, Cause::TailByTimeout | Cause::LossByTimeout | Cause::TailByProbe);
            let named = self.counts.detection.filter(|_| by_timer);
            cost.detection = named.or(first.retransmission.detection);
            if cost.cause != cause {
                lost.change(cost.lost, cost.cause, cause);
                cost.cause = cause;
            }
        }
        let otherwise = self.otherwise.cause(first);
        if first.alternative.is_none() && otherwise != cause {
            let same = (first.retransmission.verdict, first.retransmission.evidence);
            first.alternative = self.conditional.map(|other| other.with_verdict(same));
            first.retransmission.provisional = first.alternative.is_some();
        }
        if let Some(alternative) = &mut first.alternative {
            alternative.cause = Some(otherwise);
        }
    }
}

/// Names the cause of each episode of a direction, by the triggers and verdicts of its retransmissions, in
/// order. Moves their time in `lost` there.
pub(crate) fn name_causes<'a>(rows: impl Iterator<Item = &'a mut ProvisionalRow>, lost: &mut LostTime) {
    let mut current: Option<Episode<'a>> = None;
    for row in rows.filter(|row| !row.retransmission.syn) {
        let verdict = row.retransmission.verdict;
        let conditional = row.alternative;
        let otherwise = conditional.map_or(verdict, |alternative| alternative.verdict());
        if row.retransmission.cost.is_none() {
            let Some(episode) = &mut current else {
                continue;
            };
            episode.counts.add(row, verdict);
            episode.otherwise.add(row, otherwise);
            episode.conditional = episode.conditional.or(conditional);
            continue;
        }
        let [mut counts, mut if_otherwise] = [Counts::default(); 2];
        counts.add(row, verdict);
        if_otherwise.add(row, otherwise);
        let begun = Episode { first: row, counts, otherwise: if_otherwise, conditional };
        if let Some(over) = current.replace(begun) {
            over.name(lost);
        }
    }
    if let Some(last) = current {
        last.name(lost);
    }
}

#[cfg(test)]
mod tests;
