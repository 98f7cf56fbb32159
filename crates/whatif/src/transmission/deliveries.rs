//! Which transmission each ACK shows to have arrived.
//!
//! An ACK newly covers parts of the stream, cumulatively or by SACK (RFC 2018 §4), or reports a duplicate
//! (RFC 2883 §4). The packet that made the receiver send it is the one sent last among what it newly covers:
//! earlier ones arrived before, without an ACK of their own. Of several transmissions of the same data, the
//! analysis of the capture says which were needed: those before a needed one were lost. Without SACK, each
//! duplicate ACK stands for the next transmission in flight (RFC 5681 §3.2) whose ACK was due. Its window may
//! have changed, since Linux's receiver raises it meanwhile.
//!
//! The ACK of an arrival may be lost. Where the first ACK of some data reports a duplicate, the data had arrived before,
//! and that ACK was lost. Of its transmissions, the first one is the likeliest to have arrived, unless the analysis
//! knows better. Of a receiver that reports duplicates, an unneeded retransmission that is not reported
//! had a lost ACK as well, if anything sent later was acknowledged.

use super::{
    Fate, Transmission,
    arrivals::{Heard, complete},
};
use crate::record::{Record, Seen};
use recoup_trace::finding::{Retransmission, Verdict};
use recoup_units::{Instant, Offset, Span};
use std::{collections::HashMap, time::Duration};

/// Transmissions of a connection up to which it is rerun.
pub(crate) const MOST_TRANSMISSIONS: usize = 1 << 21;

/// A part of the stream that is sent as one segment.
#[derive(Clone, Debug)]
struct Piece {
    span: Span,
    /// Its transmissions, by index.
    copies: Vec<usize>,
}

/// An ACK that covers data.
#[derive(Clone, Copy)]
struct Coverage {
    at: Instant,
    /// The duplicate that made the receiver send it.
    duplicate: Option<Span>,
}

/// The transmissions of a connection.
pub(crate) struct Transmissions {
    /// In the order of sending.
    pub all: Vec<Transmission>,
    /// The longest time that a segment in order waited for an ACK that covered it with later ones.
    pub longest_wait: Duration,
}

/// All transmissions of the sender. `rows` are the retransmissions that the analysis found on the
/// connection.
pub(crate) fn transmissions(record: &Record, rows: &[Retransmission]) -> Transmissions {
    let verdicts: HashMap<u64, Verdict> = rows.iter().map(|row| (row.frame, row.verdict)).collect();
    let rtt = smallest_rtt(record);
    // A loss shows only later: a retransmission was needed.
    let mut sent = Deliveries::new(record, &verdicts, rtt, Vec::new());
    for packet in &record.packets {
        if packet.is_sent { sent.on_sent(packet) } else { sent.una = sent.una.max(packet.ack.unwrap_or_default()) }
    }
    let mut deliveries = Deliveries::new(record, &verdicts, rtt, sent.replaced());
    for packet in &record.packets {
        if packet.is_sent { deliveries.on_sent(packet) } else { deliveries.on_ack(packet) }
    }
    deliveries.find_lost_acks();
    complete(deliveries.all, deliveries.heard, rtt)
}

/// The shortest time from a transmission to an ACK of exactly its end, among data sent once.
fn smallest_rtt(record: &Record) -> Duration {
    let mut sent: HashMap<Offset, Option<Instant>> = HashMap::new();
    let mut highest = Offset::SYN;
    let mut least = Duration::MAX;
    for packet in &record.packets {
        if packet.is_sent {
            if packet.span.is_empty() {
                continue;
            }
            let is_new = packet.span.start >= highest;
            let at = is_new.then_some(packet.at);
            sent.entry(packet.span.end).and_modify(|at| *at = None).or_insert(at);
            highest = highest.max(packet.span.end);
        } else if let Some(ack) = packet.ack
            && let Some(Some(at)) = sent.get(&ack)
        {
            least = least.min(packet.at.since(*at));
        }
    }
    match least {
        Duration::MAX => Duration::ZERO,
        least => least,
    }
}

struct Deliveries<'a> {
    record: &'a Record,
    verdicts: &'a HashMap<u64, Verdict>,
    /// Transmissions that did not arrive, because a later one of the same data was needed; empty: unknown.
    replaced: Vec<bool>,
    all: Vec<Transmission>,
    /// The frame of each.
    frames: Vec<u64>,
    /// ACK of each transmission.
    heard: Vec<Option<Heard>>,
    pieces: Vec<Piece>,
    /// For each piece, one at or behind it before which all are delivered.
    open: Vec<usize>,
    /// The end of the highest piece delivered.
    delivered: Offset,
    nxt: Offset,
    una: Offset,
    rtt: Duration,
    /// Without SACK: the transmission that the next duplicate ACK stands for, at least.
    next_duplicate: usize,
    /// The receiver reported a duplicate (RFC 2883).
    reports_duplicates: bool,
}

impl<'a> Deliveries<'a> {
    fn new(record: &'a Record, verdicts: &'a HashMap<u64, Verdict>, rtt: Duration, replaced: Vec<bool>) -> Self {
        Self {
            record,
            verdicts,
            replaced,
            all: Vec::new(),
            frames: Vec::new(),
            heard: Vec::new(),
            pieces: Vec::new(),
            open: Vec::new(),
            delivered: Offset::SYN,
            nxt: Offset::SYN,
            una: Offset::SYN,
            rtt,
            next_duplicate: 0,
            reports_duplicates: false,
        }
    }

    /// For each transmission, whether a later one of the same data was needed.
    fn replaced(&self) -> Vec<bool> {
        let mut replaced = vec![false; self.all.len()];
        for piece in &self.pieces {
            let is_needed = |copy: &usize| self.verdicts.get(&self.frames[*copy]) == Some(&Verdict::Needed);
            let last_needed = piece.copies.iter().rposition(is_needed).unwrap_or(0);
            for &copy in &piece.copies[..last_needed] {
                // A segment of several parts may have delivered others of them.
                replaced[copy] |= self.all[copy].span.end <= piece.span.end;
            }
        }
        replaced
    }

    fn is_replaced(&self, index: usize) -> bool {
        self.replaced.get(index).copied().unwrap_or(false)
    }

    fn on_sent(&mut self, packet: &Seen) {
        let is_probe = packet.span.end <= self.una && packet.span.len() <= 1;
        if packet.span.is_empty() || is_probe || self.all.len() > MOST_TRANSMISSIONS {
            return;
        }
        let size = u64::from(self.record.agreed.segment_size);
        let header = packet.ip_len.saturating_sub(packet.payload_len);
        let mut start = packet.span.start;
        while start < packet.span.end {
            let mut end = packet.span.end.min(start + size);
            // A FIN goes with the last segment.
            if packet.has_fin() && end + 1 == packet.span.end {
                end = packet.span.end;
            }
            // Data sent before in parts is retransmitted in the same parts.
            if start < self.nxt && end > self.nxt {
                end = self.nxt;
            }
            let span = Span::new(start, end);
            self.transmit(packet, span, header + span.len() as u32);
            start = end;
        }
    }

    fn transmit(&mut self, packet: &Seen, span: Span, ip_len: u32) {
        let index = self.all.len();
        let mut copy = 1;
        if span.start >= self.nxt {
            self.open.push(self.pieces.len());
            self.pieces.push(Piece { span, copies: vec![index] });
            self.nxt = span.end;
        } else {
            let first = self.pieces.partition_point(|piece| piece.span.end <= span.start);
            for (i, piece) in self.pieces[first..].iter_mut().enumerate() {
                if piece.span.start >= span.end {
                    break;
                }
                piece.copies.push(index);
                if i == 0 {
                    copy = u16::try_from(piece.copies.len()).unwrap_or(u16::MAX);
                }
            }
        }
        self.all.push(Transmission { span, copy, sent: packet.at, ip_len, fate: Fate::Unknown });
        self.frames.push(packet.frame);
        self.heard.push(None);
    }

    fn on_ack(&mut self, packet: &Seen) {
        let Some(ack) = packet.ack.filter(|ack| *ack <= self.nxt) else {
            return;
        };
        let blocks = packet.sack.as_slice();
        let (duplicate, beyond) = split_duplicate(ack, blocks);
        let was_in_order = self.delivered <= self.una;
        let is_pure = packet.span.is_empty();
        // Linux's receiver may repeat a block that the ACK covers (`tcp_fin`). So a block reports a duplicate only
        // if a retransmission or the network can have made one.
        let reported = duplicate.or_else(|| self.duplicate_syn(ack, packet.at)).filter(|_| is_pure);
        let mut newly = Vec::new();
        let below = Span::new(self.una, ack.max(self.una));
        let by =
            Coverage { at: packet.at, duplicate: reported.filter(|block| self.is_retransmitted(*block, packet.at)) };
        for span in std::iter::once(below).chain(beyond.iter().copied()) {
            self.deliver(span, by, &mut newly);
        }
        let in_order = was_in_order && beyond.is_empty();
        let duplicate = reported.and_then(|block| self.duplicate_arrival(block, packet.at, &newly));
        let by_duplicate = duplicate.is_some();
        self.reports_duplicates |= by_duplicate && !blocks.is_empty();
        let by_network = !by_duplicate && reported.is_some_and(|block| self.count_duplicate(block, &newly));
        let trigger = match duplicate {
            Some(copy) => Some(copy),
            // The other arrivals had waited for the receiver's timer.
            None if by_network => None,
            None if newly.is_empty() => self.next_of_duplicate_acks(packet, ack),
            None => newly.iter().copied().max(),
        };
        for index in newly {
            let is_trigger = Some(index) == trigger && is_pure;
            self.heard[index] = Some(Heard {
                at: packet.at,
                is_trigger,
                is_lost: !is_trigger && (by_duplicate || !in_order),
                in_order,
            });
        }
        if let Some(index) = trigger.filter(|index| is_pure && self.heard[*index].is_none()) {
            self.heard[index] = Some(Heard { at: packet.at, is_trigger: true, is_lost: false, in_order: false });
            self.all[index].fate = self.arrived(index, packet.at);
        }
        self.una = self.una.max(ack);
        self.retract();
    }

    /// Without SACK, a duplicate ACK may have stood for another segment: the first one that a cumulative ACK
    /// does not cover had not arrived.
    fn retract(&mut self) {
        if self.record.agreed.sack {
            return;
        }
        let Some(first) = self.pieces.get(self.first_piece(self.una)) else {
            return;
        };
        let copies = first.copies.iter().copied();
        let heard = copies.filter(|copy| self.all[*copy].span.start == self.una);
        let Some((wrong, heard)) = heard.rev().find_map(|copy| Some((copy, self.heard[copy]?))) else {
            return;
        };
        self.heard[wrong] = None;
        self.all[wrong].fate = Fate::Unknown;
        let mut others =
            (wrong + 1..self.all.len()).take_while(|i| self.all[*i].sent + self.rtt.mul_f64(0.9) <= heard.at);
        let right = others.find(|i| self.heard[*i].is_none() && !self.is_replaced(*i));
        if let Some(right) = right {
            self.heard[right] = Some(heard);
            self.all[right].fate = self.arrived(right, heard.at);
        }
    }

    fn first_piece(&self, from: Offset) -> usize {
        self.pieces.partition_point(|piece| piece.span.end <= from)
    }

    /// An ACK covers `span`: adds the transmissions that it shows to have arrived.
    fn deliver(&mut self, span: Span, by: Coverage, newly: &mut Vec<usize>) {
        let mut next = self.first_piece(span.start);
        loop {
            let i = self.next_open(next);
            let Some(piece) = self.pieces.get(i) else {
                break;
            };
            if piece.span.start >= span.end {
                break;
            }
            next = i + 1;
            if !span.covers(piece.span) {
                continue;
            }
            let arrived = match by.duplicate {
                Some(block) => self.which_arrived_before(piece, block, by.at),
                None => self.which_arrived(&piece.copies, by.at),
            };
            for &copy in &piece.copies {
                if copy < arrived && self.heard[copy].is_none() {
                    self.all[copy].fate = Fate::Lost;
                }
            }
            self.open[i] = i + 1;
            self.delivered = self.delivered.max(piece.span.end);
            // Without SACK, a duplicate ACK may have shown it before.
            if self.heard[arrived].is_none() {
                self.all[arrived].fate = self.arrived(arrived, by.at);
                newly.push(arrived);
            }
        }
    }

    /// The sender's SYN, if its first ACK answers an unneeded retransmission of it.
    fn duplicate_syn(&self, ack: Offset, at: Instant) -> Option<Span> {
        let is_first = self.una == Offset::SYN && ack >= Offset::DATA;
        let syn = self.pieces.first().filter(|syn| is_first && syn.copies.len() > 1)?;
        let answered = syn.copies.iter().rfind(|copy| self.is_in_time(**copy, at))?;
        (self.verdicts.get(&self.frames[*answered]) == Some(&Verdict::Spurious)).then_some(syn.span)
    }

    /// An unneeded retransmission that a receiver did not report, although it reports duplicates: its ACK was lost, if
    /// anything sent later was acknowledged. It may as well have been lost itself. The sender cannot tell, and it
    /// brought nothing new.
    fn find_lost_acks(&mut self) {
        let mut later: Option<Instant> = None;
        for index in (0..self.all.len()).rev() {
            match (self.heard[index], later) {
                (Some(heard), _) if heard.is_trigger => later = Some(heard.at),
                (None, Some(at)) if self.is_unheard_duplicate(index) => {
                    self.all[index].fate = self.arrived(index, at);
                    self.heard[index] = Some(Heard { at, is_trigger: false, is_lost: true, in_order: false });
                }
                _ => {}
            }
        }
    }

    /// The first piece from `from` on that is not delivered, or the number of pieces. Links over delivered
    /// pieces are shortened on the way (Tarjan and van Leeuwen, 1984), so that no piece is passed often.
    fn next_open(&mut self, from: usize) -> usize {
        let mut at = from;
        while let Some(&link) = self.open.get(at).filter(|link| **link != at) {
            if let Some(&further) = self.open.get(link) {
                self.open[at] = further;
            }
            at = link;
        }
        at
    }

    fn arrived(&self, index: usize, at: Instant) -> Fate {
        Fate::Arrived(super::Arrival {
            echo: at.max(self.all[index].sent),
            ack: None,
            ack_lost: false,
            in_order: true,
            held: Duration::ZERO,
            duplicates: 0,
        })
    }

    fn is_unheard_duplicate(&self, index: usize) -> bool {
        let sent = &self.all[index];
        let is_answered = self.reports_duplicates || sent.span.end <= Offset::DATA;
        sent.fate == Fate::Unknown && sent.copy > 1 && is_answered
    }

    /// Which transmission of a piece delivered it, whose first ACK, heard `at`, was sent because of a duplicate. So it
    /// arrived before. If `p` is the probability that a packet is lost, and `q` that an ACK is, the first transmission
    /// arrived 1 + (1 − p) q / p times as likely as only the second one.
    fn which_arrived_before(&self, piece: &Piece, duplicate: Span, at: Instant) -> usize {
        let in_time = piece.copies.iter().filter(|copy| self.is_in_time(**copy, at)).count();
        let is_duplicate = duplicate.covers(piece.span);
        let before = &piece.copies[..in_time.saturating_sub(usize::from(is_duplicate)).max(1)];
        let is_needed = |copy: &&usize| self.verdicts.get(&self.frames[**copy]) == Some(&Verdict::Needed);
        before.iter().rfind(is_needed).copied().unwrap_or(before[0])
    }

    /// Whether the ACK of a transmission may have come by then.
    fn is_in_time(&self, copy: usize, at: Instant) -> bool {
        self.all[copy].sent + self.rtt.mul_f64(0.9) <= at
    }

    /// Whether a block that was reported `at` may be a duplicate because of a retransmission.
    fn is_retransmitted(&self, block: Span, at: Instant) -> bool {
        let piece = self.pieces.get(self.first_piece(block.start));
        piece.is_some_and(|piece| piece.copies.iter().skip(1).any(|copy| self.is_in_time(*copy, at)))
    }

    /// Which of several transmissions delivered the data that was first acknowledged `at`.
    fn which_arrived(&self, copies: &[usize], at: Instant) -> usize {
        let mut arrived = copies[0];
        for &copy in &copies[1..] {
            let is_needed = match self.verdicts.get(&self.frames[copy]) {
                Some(Verdict::Needed) => true,
                Some(Verdict::Spurious) => false,
                Some(Verdict::Unknowable) | None => self.is_in_time(copy, at),
            };
            if is_needed && self.all[copy].sent <= at {
                arrived = copy;
            }
        }
        arrived
    }

    /// The transmission whose arrival the receiver reports as a duplicate.
    /// `newly`: the ACK shows their first arrival.
    fn duplicate_arrival(&self, duplicate: Span, at: Instant, newly: &[usize]) -> Option<usize> {
        let piece = self.pieces.get(self.first_piece(duplicate.start))?;
        let mut unheard = piece
            .copies
            .iter()
            .copied()
            .filter(|copy| self.heard[*copy].is_none() && !newly.contains(copy) && self.is_in_time(*copy, at));
        unheard.next_back()
    }

    /// The receiver reports one more arrival of a segment than it was sent: the network duplicated it. Returns
    /// whether it did.
    fn count_duplicate(&mut self, block: Span, newly: &[usize]) -> bool {
        let Some(piece) = self.pieces.get(self.first_piece(block.start)) else {
            return false;
        };
        // An ACK that shows other arrivals was sent because of those.
        let arrived =
            |copy: &&usize| if newly.is_empty() { self.heard[**copy].is_some() } else { newly.contains(copy) };
        let arrived = piece.copies.iter().rev().find(arrived);
        if let Some(&copy) = arrived.filter(|_| piece.span.covers(block))
            && let Fate::Arrived(arrival) = &mut self.all[copy].fate
        {
            arrival.duplicates = arrival.duplicates.saturating_add(1);
            return true;
        }
        false
    }

    /// The transmission that a duplicate ACK without SACK stands for.
    fn next_of_duplicate_acks(&mut self, packet: &Seen, ack: Offset) -> Option<usize> {
        let is_duplicate = packet.span.is_empty() && ack == self.una && ack < self.nxt && !self.record.agreed.sack;
        if !is_duplicate {
            return None;
        }
        let hole = self.pieces.get(self.first_piece(self.una))?;
        let from = hole.copies.first()? + 1;
        let mut due = (from.max(self.next_duplicate)..self.all.len())
            .take_while(|i| self.all[*i].sent + self.rtt.mul_f64(0.9) <= packet.at);
        let index =
            due.find(|i| self.heard[*i].is_none() && !self.is_replaced(*i) && self.all[*i].span.start > self.una)?;
        self.next_duplicate = index + 1;
        Some(index)
    }
}

/// Separates a DSACK from the blocks beyond the cumulative ACK (RFC 2883 §4, RFC 6675 §2).
fn split_duplicate(ack: Offset, blocks: &[Span]) -> (Option<Span>, Vec<Span>) {
    let Some((first, rest)) = blocks.split_first() else {
        return (None, Vec::new());
    };
    let is_below = first.start < ack;
    let is_within = rest.first().is_some_and(|second| second.covers(*first));
    if is_below || is_within {
        (Some(*first), rest.iter().copied().filter(|block| block.start >= ack).collect())
    } else {
        (None, blocks.to_vec())
    }
}
