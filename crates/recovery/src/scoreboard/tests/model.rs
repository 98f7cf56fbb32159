//! The scoreboard without counters, cursors and shortcuts: everything is recomputed from plain flags,
//! by the definitions of RFC 6675 §4, RFC 8985 §6.2 and (without SACK) Linux
//! `tcp_limit_reno_sacked`.

use super::super::*;
use crate::ack::{Ack, AckSummary};

/// A segment of the model.
#[derive(Clone, Debug)]
pub(super) struct Plain {
    pub(super) span: Span,
    pub(super) sent_at: Instant,
    nxt_when_sent: Offset,
    number: u32,
    transmissions: u16,
    sacked: bool,
    copied: bool,
    lost: bool,
    retransmitted: bool,
    /// A counting detector has passed it. Those judged are the first ones.
    judged: bool,
}

impl Plain {
    fn sent(&self) -> Sent {
        Sent { at: self.sent_at, end: self.span.end }
    }

    fn in_flight(&self) -> bool {
        !self.sacked && (!self.lost || self.retransmitted)
    }

    fn is_hole(&self) -> bool {
        !self.sacked && !self.retransmitted
    }
}

#[derive(Clone, Debug)]
pub(super) struct Model {
    pub(super) all: Vec<Plain>,
    pub(super) una: Offset,
    pub(super) nxt: Offset,
    /// Duplicate ACKs that count as segments SACKed, without SACK.
    duplicates: u32,
    /// Holes below this index were retransmitted as holes (RFC 6675's HighRxt).
    holes_from: usize,
    lost_retransmissions: u64,
    impossible_blocks: u64,
    pub(super) next_number: u32,
}

impl Model {
    pub(super) fn new(start: Offset) -> Self {
        Self {
            all: Vec::new(),
            una: start,
            nxt: start,
            duplicates: 0,
            holes_from: 0,
            lost_retransmissions: 0,
            impossible_blocks: 0,
            next_number: 0,
        }
    }

    fn fack(&self) -> usize {
        self.all.iter().rposition(|s| s.sacked).map_or(0, |i| i + 1)
    }

    fn count(&self, holds: impl Fn(&Plain) -> bool) -> u32 {
        self.all.iter().filter(|s| holds(s)).count() as u32
    }

    fn pipe(&self) -> u32 {
        let flying = self.count(|s| !s.sacked && !s.lost) + self.count(|s| s.retransmitted);
        flying.saturating_sub(self.duplicates)
    }

    /// The SACKed segments from index `i` on.
    fn above(&self, i: usize) -> Above {
        let rest = &self.all[i..];
        let begins = |&k: &usize| rest[k].sacked && (k == 0 || !rest[k - 1].sacked);
        Above {
            segments: rest.iter().filter(|s| s.sacked).count() as u32,
            bytes: rest.iter().filter(|s| s.sacked).map(|s| s.span.len()).sum(),
            runs: (0..rest.len()).filter(begins).count() as u32,
        }
    }

    pub(super) fn push(&mut self, now: Instant, span: Span) {
        self.nxt = span.end;
        self.all.push(Plain {
            span,
            sent_at: now,
            nxt_when_sent: span.end,
            number: self.next_number,
            transmissions: 1,
            sacked: false,
            copied: false,
            lost: false,
            retransmitted: false,
            judged: false,
        });
        self.next_number += 1;
    }

    pub(super) fn resend(&mut self, now: Instant, span: Span, in_pipe: bool) {
        let (nxt, number) = (self.nxt, self.next_number);
        self.next_number += 1;
        for s in self.all.iter_mut().filter(|s| s.span.overlaps(span)) {
            s.sent_at = now;
            s.nxt_when_sent = nxt;
            s.number = number;
            s.transmissions += 1;
            s.retransmitted |= in_pipe && !s.sacked;
        }
        self.settle();
    }

    pub(super) fn note_copied(&mut self, span: Span) {
        let copied = self.all.iter_mut().find(|s| s.span.overlaps(span));
        copied.into_iter().for_each(|s| s.copied = true);
    }

    /// Holes are passed as they are sent again or SACKed.
    fn settle(&mut self) {
        while self.holes_from < self.fack() && !self.all[self.holes_from].is_hole() {
            self.holes_from += 1;
        }
    }

    pub(super) fn restart_holes(&mut self) {
        self.holes_from = 0;
        self.settle();
    }

    /// The segment at index `i` is lost, its retransmission too if there was one.
    fn mark(&mut self, i: usize) {
        let s = &mut self.all[i];
        self.lost_retransmissions += u64::from(s.retransmitted);
        s.retransmitted = false;
        s.lost = true;
    }

    /// Marks as detection by counting does: the first transmission is lost, a retransmission may still arrive.
    fn judge(&mut self, i: usize, marked: &mut Vec<Span>) {
        let s = &mut self.all[i];
        s.judged = true;
        if !s.sacked && !s.lost {
            s.lost = true;
            marked.push(s.span);
        }
    }

    pub(super) fn mark_first(&mut self, count: usize) -> Vec<Span> {
        let mut marked = Vec::new();
        for i in 0..count.min(self.all.len()) {
            if !self.all[i].judged {
                self.judge(i, &mut marked);
            }
        }
        self.settle();
        marked
    }

    pub(super) fn mark_below(&mut self, enough: impl Fn(Above) -> bool) -> Vec<Span> {
        let mut marked = Vec::new();
        for i in 0..self.fack() {
            if self.all[i].judged {
                continue;
            }
            if !self.all[i].sacked && !enough(self.above(i + 1)) {
                break;
            }
            self.judge(i, &mut marked);
        }
        self.settle();
        marked
    }

    pub(super) fn mark_overdue(&mut self, before: Sent, overdue: Option<Instant>) -> (Vec<Span>, Option<Instant>) {
        let mut marked = Vec::new();
        for i in self.in_order_of_sending() {
            let s = &self.all[i];
            if s.sent() < before && overdue.is_some_and(|overdue| s.sent_at <= overdue) {
                marked.push(s.span);
                self.mark(i);
            }
        }
        self.settle();
        let earlier = self.all.iter().filter(|s| s.in_flight() && s.sent() < before);
        (marked, earlier.map(|s| s.sent_at).max())
    }

    /// RFC 9002 §6.1: by how many transmissions, or by time.
    pub(super) fn mark_overtaken(
        &mut self,
        newest: u32,
        packets: u32,
        overdue: Option<Instant>,
    ) -> (Vec<Span>, Option<Instant>) {
        let mut marked = Vec::new();
        for i in self.in_order_of_sending() {
            let s = &self.all[i];
            let late = overdue.is_some_and(|overdue| s.sent_at <= overdue);
            if s.number < newest && (late || s.number + packets <= newest) {
                marked.push(s.span);
                self.mark(i);
            }
        }
        self.settle();
        let earlier = self.all.iter();
        let earlier = earlier.filter(|s| s.in_flight() && s.number < newest);
        (marked, earlier.map(|s| s.sent_at).min())
    }

    /// The indices of the segments in flight by their last transmission.
    fn in_order_of_sending(&self) -> Vec<usize> {
        let mut flying: Vec<usize> = (0..self.all.len()).filter(|&i| self.all[i].in_flight()).collect();
        flying.sort_by_key(|&i| (self.all[i].number, i));
        flying
    }

    pub(super) fn mark_lost_retransmissions(&mut self) -> Vec<Span> {
        let mut marked = Vec::new();
        let Some(highest) = self.fack().checked_sub(1) else {
            return marked;
        };
        let highest = self.all[highest].span.end;
        for i in self.in_order_of_sending() {
            let s = &self.all[i];
            if s.retransmitted && s.nxt_when_sent < highest {
                marked.push(s.span);
                self.mark(i);
            }
        }
        self.settle();
        marked
    }

    pub(super) fn mark_head(&mut self) -> Vec<Span> {
        match self.all.first() {
            Some(head) if !head.sacked && !head.lost => {
                let span = head.span;
                self.all[0].lost = true; // what repeats it may still arrive
                self.settle();
                vec![span]
            }
            _ => Vec::new(),
        }
    }

    pub(super) fn mark_for_timeout(&mut self, overdue: Option<Instant>) -> Vec<Span> {
        let mut marked = Vec::new();
        for i in 0..self.all.len() {
            let s = &self.all[i];
            let recent = overdue.is_some_and(|overdue| s.sent_at > overdue);
            if s.sacked || (i > 0 && recent) {
                continue;
            }
            if !s.lost {
                marked.push(s.span);
            }
            self.mark(i);
        }
        if overdue.is_none() {
            self.all.iter_mut().for_each(|s| s.judged = true);
        }
        self.duplicates = 0;
        self.restart_holes();
        marked
    }

    pub(super) fn unmark_lost(&mut self) {
        for s in &mut self.all {
            s.lost = false;
            s.judged = false;
        }
    }

    pub(super) fn forget_sacks(&mut self) {
        self.all.iter_mut().for_each(|s| s.sacked = false);
        self.holes_from = 0;
    }

    /// The most segments duplicate ACKs can stand for: all but the first and those lost.
    fn most_duplicates(&self) -> u32 {
        let lost = self.count(|s| s.lost).max(1);
        (self.all.len() as u32).saturating_sub(lost)
    }

    pub(super) fn on_duplicate(&mut self) -> bool {
        let room = self.duplicates < self.most_duplicates();
        self.duplicates += u32::from(room);
        room
    }

    pub(super) fn explain_duplicates(&mut self, acked: Segments) -> Segments {
        let explained = self.duplicates.min(acked.0.saturating_sub(1));
        self.duplicates = (self.duplicates - explained).min(self.most_duplicates());
        Segments(acked.0 - explained)
    }

    pub(super) fn forget_duplicates(&mut self) {
        self.duplicates = 0;
    }

    pub(super) fn on_ack(&mut self, ack: &Ack, plausible: Instant) -> AckSummary {
        let before = self.clone();
        let fack = self.fack();
        let dsack = ack.dsack().filter(|d| d.end <= self.nxt);
        self.impossible_blocks += u64::from(dsack != ack.dsack());
        let una = self.una.max(ack.cumulative);
        for block in ack.sack_blocks() {
            if block.end > self.nxt || (block.start <= una && block.end > una) {
                self.impossible_blocks += 1;
                continue;
            }
            for s in self.all.iter_mut().filter(|s| block.covers(s.span)) {
                (s.sacked, s.lost, s.retransmitted) = (true, false, false);
            }
        }
        let below = |s: &&Plain| s.span.end <= ack.cumulative;
        let acked = self.all.iter().filter(below).count();
        let original = |i: &usize| before.all[*i].transmissions == 1;
        // Of a copied segment nobody knows whether it was the original that arrived.
        let surely = |i: &usize| original(i) && !before.all[*i].copied;
        let sent_at = |i: &usize| before.all[*i].sent_at;
        let newly_sacked: Vec<usize> =
            (0..self.all.len()).filter(|&i| self.all[i].sacked && !before.all[i].sacked).collect();
        let filled: Vec<usize> = (0..acked).filter(|&i| !self.all[i].sacked).collect();
        let delivered: Vec<usize> = newly_sacked.iter().chain(&filled).copied().collect();
        let credible = |i: &&usize| original(i) || before.all[**i].sent_at <= plausible;
        let newest = delivered.iter().copied().filter(|i| credible(&i));
        let newest = newest.max_by_key(|&i| before.all[i].sent());
        let summary = AckSummary {
            newly_acked: Segments(acked as u32),
            newly_sacked: Segments(newly_sacked.len() as u32),
            delivered: Segments(delivered.len() as u32),
            una_advanced: una.since(self.una),
            window_changed: false,
            retransmission_acked: !(0..acked).all(|i| original(&i)),
            first_original_acked: filled.iter().find(|i| original(i)).map(sent_at),
            first_original_sacked: newly_sacked.iter().filter(|i| original(i)).map(sent_at).min(),
            reordering: delivered
                .iter()
                .copied()
                .filter(&surely)
                .chain(before.duplicate(ack))
                .filter(|i| *i < fack)
                .map(|i| Segments((fack - i) as u32))
                .max()
                .unwrap_or_default(),
            newest_delivered: newest.map(|i| before.all[i].sent()),
            newest_number: newest.map_or(0, |i| before.all[i].number),
            newest_is_original: newest.is_some_and(|i| surely(&i)),
            retransmission_sent: delivered
                .iter()
                .filter(|i| !surely(i))
                .map(|i| match credible(&i) {
                    true => sent_at(i),
                    false => Instant::ZERO,
                })
                .min(),
            last_delivered: filled
                .iter()
                .rev()
                .find(credible)
                .or_else(|| newly_sacked.iter().rev().find(credible))
                .map(|&i| before.all[i].sent()),
            original_delivered: delivered
                .iter()
                .filter(|i| surely(i))
                .map(|&i| before.all[i].span.end)
                .min()
                .unwrap_or_default(),
            dsack,
            copy_reported: false,
            copied_delivered: delivered.iter().any(|&i| before.all[i].copied),
            ..AckSummary::default()
        };
        self.all.drain(..acked);
        self.una = una;
        self.holes_from = self.holes_from.saturating_sub(acked);
        if let Some(first) = self.all.first_mut() {
            first.span.start = una;
        }
        self.settle();
        summary
    }

    /// The index of the outstanding segment, sent again and SACKed, that `ack` reports as a
    /// duplicate; of a copied one the copy may be what came twice.
    fn duplicate(&self, ack: &Ack) -> Option<usize> {
        let dsack = ack.dsack().filter(|d| d.end > self.una && d.end <= self.nxt)?;
        let at = self.all.iter().position(|s| s.span.end > dsack.start)?;
        let found = &self.all[at];
        (found.sacked && found.transmissions > 1 && !found.copied).then_some(at)
    }

    /// The expected answers of the scoreboard to every question, as text.
    pub(super) fn answers(&self) -> Vec<(&'static str, String)> {
        let span = |s: Option<&Plain>| format!("{:?}", s.map(|s| s.span));
        let judged = self.all.iter().take_while(|s| s.judged).count();
        let wants = |s: &&Plain| s.lost && s.is_hole();
        let holes = &self.all[self.holes_from.min(self.fack())..self.fack()];
        let highest = self.all[..self.fack()].last().map_or(self.una, |s| s.span.end);
        let again = |s: &Plain| s.retransmitted;
        let any = self.all.iter().any(again) || self.all.first().is_some_and(|s| s.transmissions > 1);
        vec![
            ("una", self.una.to_string()),
            ("nxt", self.nxt.to_string()),
            ("outstanding", self.all.len().to_string()),
            ("sacked", (self.count(|s| s.sacked) + self.duplicates).to_string()),
            ("lost", self.count(|s| s.lost).to_string()),
            ("retransmitted", self.count(again).to_string()),
            ("fack", self.fack().to_string()),
            ("above", format!("{:?}", self.above(judged))),
            ("highest_sacked", highest.to_string()),
            ("pipe", self.pipe().to_string()),
            ("reneged", self.all.first().is_some_and(|s| s.sacked).to_string()),
            ("next_lost", span(self.all.iter().find(wants))),
            ("next_hole", span(holes.iter().find(|s| s.is_hole()))),
            ("last_unsacked", span(self.all.iter().rev().find(|s| !s.sacked))),
            ("any_retransmission", any.to_string()),
            ("lost_retransmissions", self.lost_retransmissions.to_string()),
            ("impossible_blocks", self.impossible_blocks.to_string()),
            ("segments", format!("{:?}", self.all.iter().map(Self::facts).collect::<Vec<_>>())),
        ]
    }

    fn facts(s: &Plain) -> (Span, Instant, Offset, u16, [bool; 4]) {
        let flags = [s.sacked, s.copied, s.lost, s.retransmitted];
        (s.span, s.sent_at, s.nxt_when_sent, s.transmissions, flags)
    }
}

/// The answers of the scoreboard.
pub(super) fn answers(board: &Scoreboard) -> Vec<(&'static str, String)> {
    let span = |s: Option<&SentSegment>| format!("{:?}", s.map(|s| s.span));
    let facts = |s: &SentSegment| {
        let flags = [s.sacked, s.copied, s.lost, s.retransmitted];
        (s.span, s.sent_at, s.nxt_when_sent(), s.transmissions, flags)
    };
    vec![
        ("una", board.una().to_string()),
        ("nxt", board.nxt().to_string()),
        ("outstanding", board.outstanding().to_string()),
        ("sacked", board.sacked().to_string()),
        ("lost", board.lost().to_string()),
        ("retransmitted", board.retransmitted().to_string()),
        ("fack", board.fack().to_string()),
        ("above", format!("{:?}", board.above())),
        ("highest_sacked", board.highest_sacked().to_string()),
        ("pipe", board.pipe().to_string()),
        ("reneged", board.reneged().to_string()),
        ("next_lost", span(board.next_lost())),
        ("next_hole", span(board.next_hole())),
        ("last_unsacked", span(board.last_unsacked())),
        ("any_retransmission", board.any_retransmission().to_string()),
        ("lost_retransmissions", board.lost_retransmissions().to_string()),
        ("impossible_blocks", board.impossible_blocks().to_string()),
        ("segments", format!("{:?}", board.iter().map(facts).collect::<Vec<_>>())),
    ]
}
