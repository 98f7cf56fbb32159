//! A packet with bytes below `snd_nxt`: what was known when it came, and what it turns out to be.

use super::super::{identify::MOST_CANDIDATES, reduction::Repair, replay::Explained};
use crate::{
    cost::{lost::causes::Clues, queue::RttBeside},
    finding::{Evidence, Triggers, Vantage, Verdict},
    hosts::ReportsDuplicates,
    verdict::{ConditionalVerdict, Transmission},
};
use recoup_units::{Instant, Offset, Span};
use recoup_wire::SeqNumber;
use serde::{Deserialize, Serialize};
use std::{cmp::Ordering, time::Duration};

/// Kind of a packet by the earlier transmissions of its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum PacketKind {
    /// They had been captured before.
    Repeated,
    /// They had not been captured, but higher bytes had. It was sent after those (`Some(true)`),
    /// before them (`Some(false)`), or nothing shows which (`None`).
    FilledGap(Option<bool>),
    /// They had been captured before, in a copy that was sent later.
    LateOriginal,
    /// The capture holds the packet twice.
    Duplicate,
}

/// Earlier transmissions of a packet's bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PriorTransmissions {
    /// The first transmission of the first byte, if it was captured.
    pub original: Option<Transmission>,
    /// Whether the packet was sent after the last one with its first byte, or before, as their IP identifications show.
    pub order_by_id: Option<Ordering>,
    /// Some of the bytes had not been captured before.
    pub has_new_bytes: bool,
    /// Retransmissions of the first byte, while it is outstanding.
    pub copies: Option<u16>,
    /// For a packet that fills a gap: the oldest timestamp seen above the gap.
    pub revealed_ts: Option<u32>,
    /// The moving average of the round-trip time.
    pub rtt: Option<Duration>,
    /// The round trip of the last segment acknowledged, in µs, if the packet was in flight with it.
    pub rtt_before: Option<u32>,
    /// Segments outstanding.
    pub flight: u32,
    /// Segments first sent within the shortest round-trip time before.
    pub sent_lately: u32,
    /// The largest flight so far, in segments.
    pub most_flight: u32,
    /// `snd_nxt` before the packet.
    pub nxt: Offset,
    /// When the packet would have come if nothing had held it up.
    pub sent_at: Instant,
    /// When the ACK of everything sent before it is due.
    pub all_due: Instant,
    /// The capture shows that the original was held up before the capture point.
    pub original_held_up: bool,
    /// It was in flight when the receiver closed its window.
    pub beyond_window: bool,
    /// Its first byte of data was last sent with a SYN, whose answer acknowledges the SYN alone.
    pub refused_with_syn: bool,
    /// The bytes were acknowledged already.
    pub acknowledged: bool,
    /// When the ACK of everything sent before it had passed, if it had.
    pub all_acknowledged_at: Option<Instant>,
    /// The highest cumulative ACK captured before it.
    pub acked: Offset,
    /// The last copy, if it was captured.
    pub last_copy: Option<Transmission>,
    /// The receiver is so near that the time of its answer shows no copy.
    pub near_receiver: bool,
    /// When the receiver usually answers that copy.
    pub answer_due: Option<Instant>,
    /// By how much the path may delay it or the answer.
    pub jitter: Duration,
    /// When the cumulative ACK advanced last; `None` before any ACK was captured.
    pub advanced_at: Option<Instant>,
}

/// The receiver's ACKs about the last copy that passed the capture point, before the next one did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Testimony {
    /// They say nothing.
    None,
    /// Nothing answered the copy in the usual time: a later ACK reports its bytes missing, or none came although the
    /// receiver delays no ACK for so long (RFC 9293 §3.8.6.3).
    Unanswered,
    /// An ACK reports its bytes missing that came after its answer was due, however the path delays it.
    Missing,
}

/// A packet with bytes below `snd_nxt`.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Row {
    pub frame: u64,
    pub captured_at: Instant,
    /// The time of capture, but never before the connection's previous packet.
    pub at: Instant,
    pub span: Span,
    pub seq: SeqNumber,
    pub len: u32,
    pub syn: bool,
    pub fin: bool,
    pub kind: PacketKind,
    pub copy: u16,
    pub ts: Option<u32>,
    pub detection: Option<Duration>,
    pub recovery: Option<Duration>,
    /// The time that its sender was recovering, if the recovery began with it.
    pub recovering: Option<Duration>,
    pub recovered_by: Offset,
    pub rtt: Option<Duration>,
    pub flight: u32,
    pub sent_lately: u32,
    pub most_flight: u32,
    pub triggers: Triggers,
    /// One per candidate profile.
    pub explained: [Explained; MOST_CANDIDATES],
    pub verdict: ConditionalVerdict,
    /// The verdict if captured at the receiver; `None` for an original that was overtaken.
    pub arrival: Option<(Verdict, Evidence)>,
    /// When the ACK of everything sent before it was due.
    pub all_due: Instant,
    /// When the ACK of everything sent before it had passed, if it passed before the packet.
    pub all_acknowledged_at: Option<Instant>,
    /// The round trip of a segment sent beside its original.
    pub rtt_beside: RttBeside,
    /// Its bytes were acknowledged before it was captured.
    pub acknowledged: bool,
    /// When the receiver usually answers the last copy before it, if that was captured.
    pub answer_due: Option<Instant>,
    /// What the receiver said of the earlier copies before it.
    pub testimony: Testimony,
    /// The receiver is so near that the time of its answer shows no copy.
    pub near_receiver: bool,
    pub clues: Clues,
}

impl Row {
    /// Whether it holds nothing but the FIN.
    pub fn is_lone_fin(&self) -> bool {
        self.fin && self.len == 0
    }

    /// As it bears on the sender's window, at the sender.
    pub fn repair(&self) -> Repair {
        let verdict = self.verdict_at(Vantage::Sender);
        let is_needed = |given| verdict.is_some_and(|v| v.given(given).0 == Verdict::Needed);
        Repair {
            at: self.at,
            until: self.recovery.map(|recovery| self.at + recovery),
            needed: is_needed(ReportsDuplicates::Yes) && is_needed(ReportsDuplicates::No),
            sent_lately: self.sent_lately,
            most_flight: self.most_flight,
        }
    }

    /// Why it was sent, under each candidate profile.
    pub fn triggers_by_profile(&self) -> [Triggers; MOST_CANDIDATES] {
        match self.triggers.first() {
            Some(_) => [self.triggers; MOST_CANDIDATES],
            // Neither a timer nor a report asks for it (RFC 7413 §4.1.2).
            None if self.clues.refused_with_syn => [Triggers::UNKNOWN; MOST_CANDIDATES],
            None => self.explained.map(|explained| explained.triggers),
        }
    }

    /// The verdict that the capture point permits; `None` if the packet is no retransmission.
    pub fn verdict_at(&self, vantage: Vantage) -> Option<ConditionalVerdict> {
        match self.kind {
            // Originals are sent in order, and retransmissions after everything seen before them.
            PacketKind::FilledGap(Some(false)) => None,
            PacketKind::Duplicate => None,
            _ if vantage == Vantage::Receiver => self.arrival.map(|seen| self.confirmed(seen)),
            PacketKind::LateOriginal => None,
            // No earlier copy holds all of its bytes.
            _ if vantage == Vantage::Sender && self.span.end > self.recovered_by => {
                Some((Verdict::Needed, Evidence::NoCopySeen).into())
            }
            PacketKind::Repeated if vantage == Vantage::Between => Some(self.witnessed()),
            PacketKind::FilledGap(Some(true)) if self.near_receiver => {
                Some(self.unless_too_early(Evidence::NoCopySeen))
            }
            PacketKind::Repeated | PacketKind::FilledGap(Some(true)) => Some(self.verdict),
            PacketKind::FilledGap(None) if vantage == Vantage::Sender => Some(self.verdict),
            PacketKind::FilledGap(None) => Some((Verdict::Unknowable, Evidence::LooksFirst).into()),
        }
    }
}

impl Row {
    /// The receiver turned out not to be here: of a copy that passed, and that nothing acknowledges, nothing is known.
    pub fn doubt_arrival(&mut self) {
        let ConditionalVerdict { if_reporting, if_silent } = self.verdict;
        let unheard = [if_reporting, if_silent].iter().any(|heard| heard.1 == Evidence::NotAcknowledged);
        if unheard && self.testimony == Testimony::None {
            self.testimony = Testimony::Unanswered;
        }
    }

    /// What the capture shows of the copies' arrival, unless the receiver says otherwise: a copy that passed the capture
    /// point has not arrived. Behind it a queue, a checksum or a full buffer may have dropped it.
    fn confirmed(&self, seen: (Verdict, Evidence)) -> ConditionalVerdict {
        if self.kind != PacketKind::Repeated || seen.0 != Verdict::Spurious || self.acknowledged {
            return seen.into();
        }
        let ConditionalVerdict { if_reporting, if_silent } = self.witnessed();
        let confirm = |heard: (Verdict, Evidence)| match heard.0 {
            Verdict::Needed => heard,
            Verdict::Unknowable if self.testimony != Testimony::None => heard,
            _ => seen,
        };
        ConditionalVerdict { if_reporting: confirm(if_reporting), if_silent: confirm(if_silent) }
    }

    /// The verdict by ACKs, needed with this evidence if it rests on an answer that came too early.
    fn unless_too_early(&self, needed: Evidence) -> ConditionalVerdict {
        let ConditionalVerdict { if_reporting, if_silent } = self.verdict;
        let with = |heard| match heard {
            (Verdict::Spurious, Evidence::AckTooEarly) => (Verdict::Needed, needed),
            _ => heard,
        };
        ConditionalVerdict { if_reporting: with(if_reporting), if_silent: with(if_silent) }
    }

    /// The verdict by the receiver's ACKs, away from the sender. What stays open is decided by the hole that they
    /// reported after the last copy should have arrived. Nothing fills it sooner than the retransmission, unless its ACK
    /// comes too early, and then the verdict is not open.
    fn witnessed(&self) -> ConditionalVerdict {
        let ConditionalVerdict { if_reporting, if_silent } = match self.testimony {
            Testimony::Missing if self.near_receiver => self.unless_too_early(Evidence::NoDuplicate),
            _ => self.verdict,
        };
        let with = |heard: (Verdict, Evidence), other: (Verdict, Evidence)| match (heard, other.0, self.testimony) {
            ((Verdict::Unknowable, _), Verdict::Spurious, _) | (_, _, Testimony::None) => heard,
            ((Verdict::Unknowable, _), Verdict::Needed, _) => other,
            ((Verdict::Unknowable, Evidence::NotAcknowledged), _, Testimony::Missing) => {
                (Verdict::Needed, Evidence::NoCopySeen)
            }
            ((Verdict::Unknowable, _), _, Testimony::Missing) => (Verdict::Needed, Evidence::NoDuplicate),
            _ => heard,
        };
        ConditionalVerdict { if_reporting: with(if_reporting, if_silent), if_silent: with(if_silent, if_reporting) }
    }
}

/// The time spent in recoveries. Overlapping recoveries count once.
#[derive(Debug, Default)]
pub(super) struct RecoveryTime {
    pub recoveries: u32,
    recovery_end: Option<Instant>,
    pub time: Duration,
    until: Option<Instant>,
}

impl RecoveryTime {
    /// Adds a retransmission: from the original to the ACK that ends the recovery.
    pub fn add(&mut self, row: &Row) {
        let end = row.at + row.recovery.unwrap_or_default();
        if self.recovery_end.is_none_or(|last| row.at > last) {
            self.recoveries += 1;
        }
        self.recovery_end = self.recovery_end.max(Some(end));
        let began = row.at - row.detection.unwrap_or_default();
        let from = self.until.map_or(began, |until| until.max(began));
        if end > from {
            self.time += end.since(from);
        }
        self.until = self.until.max(Some(end));
    }
}
