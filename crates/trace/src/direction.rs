//! What one end of a connection sends, followed packet by packet.
//!
//! As long as nothing is sent again, reported out of order or acknowledged twice, only what is
//! outstanding is kept, and round-trip times. From then on there is a [`Case`]: every step is kept for the replay, and
//! every retransmission for its verdict.
//!
//! **What a packet below `snd_nxt` is** depends on what was seen of its bytes:
//!
//! | its bytes | it is |
//! | --- | --- |
//! | were seen before | a retransmission; or doubled by the network or the capture, if it has the same IP identification and timestamp; or, where its timestamp is the older one, the original, late |
//! | were not | a retransmission of what was lost before the place of capture, or an original that was overtaken: timestamps tell, else IP identifications, else nobody |

mod mss;

use crate::case::{Case, Cause, Closed, Known, Over};
use crate::finding;
use crate::read::Packet;
use crate::replay::Score;
use crate::rtts::Rtts;
use crate::shared::{Common, Context};
use crate::verdict::Copy;
use mss::Mss;
use recoup_recovery::Ack;
use recoup_units::{Instant, Offset, Span};
use recoup_wire::{Flags, SeqNumber};
use std::collections::VecDeque;
use std::mem::take;

/// Where a connection stands whose beginning was not captured: what was sent before has room below.
const MIDWAY: Offset = Offset(1 << 32);

/// Acknowledged packets still remembered, for copies of them that come late.
const REMEMBERED: usize = 4;

/// Sequence numbers further off than this are none of this connection's.
const FAR: u64 = 1 << 30;

/// IP identifications nearer to each other than this come from one counter.
const SAME_COUNTER: i16 = 2048;

/// A packet outstanding, or bytes outstanding that were not captured.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Flight {
    pub span: Span,
    /// When it was first sent; for what was not captured, the packet that revealed it.
    pub at: Instant,
    /// The timestamp of the last copy.
    pub ts: Option<u32>,
    pub ip_id: Option<u16>,
    /// Retransmissions of it.
    pub copies: u16,
    /// It was captured.
    pub seen: bool,
}

/// One direction.
#[derive(Debug)]
pub(crate) struct Direction {
    isn: Option<SeqNumber>,
    una: Offset,
    nxt: Offset,
    window_edge: Offset,
    window: u64,
    /// Shift of the window field in ACKs of this direction.
    pub window_scale: u8,
    pub mss: Mss,
    flights: VecDeque<Flight>,
    /// How many of the first are acknowledged, and only remembered.
    settled: usize,
    advanced_at: Instant,
    pub rtts: Rtts,
    pub segments: u64,
    pub bytes: u64,
    pub doubled: u64,
    pub probes: u64,
    pub missing: u64,
    pub fin: Option<Offset>,
    peer_closed_at: Option<Instant>,
    reset_at: Option<Instant>,
    pub case: Option<Box<Case>>,
}

impl Default for Direction {
    fn default() -> Self {
        Self {
            isn: None,
            una: MIDWAY,
            nxt: MIDWAY,
            window_edge: MIDWAY,
            window: 0,
            window_scale: 0,
            mss: Mss::default(),
            flights: VecDeque::new(),
            settled: 0,
            advanced_at: Instant::ZERO,
            rtts: Rtts::default(),
            segments: 0,
            bytes: 0,
            doubled: 0,
            probes: 0,
            missing: 0,
            fin: None,
            peer_closed_at: None,
            reset_at: None,
            case: None,
        }
    }
}

impl Direction {
    /// Begins again with nothing sent, keeping memory.
    pub fn clear(&mut self) {
        let (mut flights, mut rtts) = (take(&mut self.flights), take(&mut self.rtts));
        flights.clear();
        flights.shrink_to(USUAL_FLIGHTS);
        rtts.clear();
        *self = Self {
            flights,
            rtts,
            ..Self::default()
        };
    }

    /// Looks at what a packet changes. The value means nothing.
    #[inline]
    pub fn warm(&self) -> u64 {
        let last = self.flights.back().map_or(0, |flight| flight.span.end.0);
        let first = self.flights.get(self.settled);
        let first = first.map_or(0, |flight| flight.span.start.0);
        last ^ first ^ self.una.0 ^ self.segments ^ self.window ^ self.rtts.warm()
    }

    /// Its first SYN.
    pub fn begin(&mut self, isn: SeqNumber) {
        self.isn = Some(isn);
        self.una = Offset::SYN;
        self.nxt = Offset::SYN;
        self.window_edge = Offset::DATA;
    }

    /// Its initial sequence number, if its SYN was captured.
    pub fn syn(&self) -> Option<SeqNumber> {
        self.isn.filter(|_| self.nxt < MIDWAY)
    }

    #[cold]
    fn common<'a>(&self, context: &Context<'a>) -> Common<'a> {
        context.common(self.mss.bytes(), self.rtts.least())
    }

    /// Whether everything sent, a FIN included, was acknowledged.
    pub fn is_closed(&self) -> bool {
        self.fin.is_some_and(|end| self.una >= end)
    }

    /// A packet of this direction.
    #[inline]
    pub fn on_packet(&mut self, packet: &Packet, now: Instant, context: &Context<'_>) {
        let segment = &packet.segment;
        if let (Some(case), Some(ts)) = (&mut self.case, segment.options.timestamps) {
            case.on_tick(now, ts.value);
        }
        let len = u64::from(segment.sequence_len());
        let isn = match self.isn {
            Some(isn) => isn,
            None => self.begin_midway(segment.seq),
        };
        if len == 0 || segment.flags.contains(Flags::RST) {
            self.probes += u64::from(self.is_bare_probe(segment.seq, isn, segment.payload_len));
            return;
        }
        let Some(start) = segment.seq.unwrap(isn, self.nxt) else {
            return;
        };
        let span = Span::at(start, len);
        if start.since(self.nxt) > FAR || self.nxt.since(start) > FAR {
            return;
        }
        self.segments += 1;
        self.bytes += u64::from(segment.payload_len);
        if segment.flags.contains(Flags::FIN) {
            self.fin = Some(span.end);
        }
        if span.start >= self.nxt {
            self.on_new(packet, now, span);
        } else {
            self.on_old(packet, now, span, context);
        }
    }

    /// The first packet is one of an established connection. What is sent by it comes next.
    fn begin_midway(&mut self, seq: SeqNumber) -> SeqNumber {
        // MIDWAY is a multiple of 2^32, so that this number stands for it.
        self.isn = Some(seq);
        seq
    }

    /// Nothing, or one byte, just below what was acknowledged: is the peer alive, is its window open?
    fn is_bare_probe(&self, seq: SeqNumber, isn: SeqNumber, payload: u32) -> bool {
        payload == 0
            && self.una > Offset::DATA
            && seq
                .unwrap(isn, self.nxt)
                .is_some_and(|at| at + 1 == self.una)
    }

    fn on_new(&mut self, packet: &Packet, now: Instant, span: Span) {
        let segment = &packet.segment;
        let flight = Flight {
            span,
            at: now,
            ts: segment.options.timestamps.map(|ts| ts.value),
            ip_id: packet.ip_id,
            copies: 0,
            seen: true,
        };
        if span.start > self.nxt {
            self.missing += span.start.since(self.nxt);
            self.push(Flight {
                span: Span::new(self.nxt, span.start),
                seen: false,
                ..flight
            });
        }
        self.push(flight);
        self.mss.on_payload(segment.payload_len);
        if let Some(case) = &mut self.case {
            case.on_new(now, Span::new(self.nxt, span.end));
        }
        self.nxt = span.end;
    }

    fn push(&mut self, flight: Flight) {
        // A peer that never acknowledges must not cost memory without end.
        if self.flights.len() >= MOST_FLIGHTS {
            self.flights.pop_front();
            self.settled = self.settled.saturating_sub(1);
        }
        self.flights.push_back(flight);
    }

    /// Part of it at least was sent before.
    #[cold]
    fn on_old(&mut self, packet: &Packet, now: Instant, span: Span, context: &Context<'_>) {
        let common = self.common(context);
        let segment = &packet.segment;
        if self.is_probe(segment.payload_len, span) {
            self.probes += 1;
            return;
        }
        let ts = segment.options.timestamps.map(|ts| ts.value);
        let first = self.flight_at(span.start);
        let earlier = first.map(|i| self.flights[i]);
        let unseen = earlier.is_some_and(|flight| !flight.seen && span.end <= flight.span.end);
        let cause = if unseen {
            Cause::Filled(earlier.and_then(|gap| later_than(ts, packet.ip_id, &gap)))
        } else if earlier.is_some_and(|flight| self.is_doubled(&flight, packet, now, ts)) {
            self.doubled += 1;
            return;
        } else {
            let last = earlier.map_or_else(|| self.last_ts_of(span), |flight| flight.ts);
            let older = |(ts, last): (u32, u32)| ts.wrapping_sub(last).cast_signed() < 0;
            match ts.zip(last).is_some_and(older) {
                true => Cause::Late,
                false => Cause::Repeated,
            }
        };
        self.open_case(&common);
        let seen = earlier.filter(|flight| flight.seen);
        let known = Known {
            original: seen.map(|flight| Copy {
                at: flight.at,
                ts_value: flight.ts.filter(|_| flight.copies == 0),
            }),
            copies: earlier.map(|flight| flight.copies),
            revealed_ts: earlier.filter(|_| unseen).and_then(|gap| gap.ts),
            rtt: self.rtts.average().map(|rtt| rtt + common.lag),
            flight: (self.flights.len() - self.settled) as u32,
            nxt: self.nxt,
        };
        if unseen {
            self.missing = self.missing.saturating_sub(span.len());
        }
        if cause != Cause::Late {
            let again = cause != Cause::Filled(Some(false));
            self.fill(first, span, now, ts, packet.ip_id, again);
        }
        if let Some(case) = &mut self.case {
            if let Some(ts) = ts {
                case.on_tick(now, ts);
            }
            case.on_old(packet, now, span, cause, &known);
        }
        if span.end > self.nxt {
            self.push(Flight {
                span: Span::new(self.nxt, span.end),
                at: now,
                ts,
                ip_id: packet.ip_id,
                copies: 0,
                seen: true,
            });
            self.nxt = span.end;
        }
    }

    /// A byte that the peer has, or has no room for, to draw an answer.
    fn is_probe(&self, payload: u32, span: Span) -> bool {
        let one = payload <= 1 && span.len() <= 1 && span.start > Offset::SYN;
        let is_fin = self.fin == Some(span.end);
        let alive = span.end == self.una;
        let shut = span.start == self.una && self.window_edge <= self.una;
        one && !is_fin && payload == 1 && (alive || shut)
    }

    /// The index of the packet, acknowledged or not, that holds `offset`.
    fn flight_at(&self, offset: Offset) -> Option<usize> {
        let i = self.flights.partition_point(|f| f.span.end <= offset);
        (self.flights.get(i)?.span.start <= offset).then_some(i)
    }

    /// The timestamp of the last known copy of something that is no longer outstanding.
    fn last_ts_of(&self, span: Span) -> Option<u32> {
        self.case.as_ref()?.last_ts_of(span)
    }

    /// The very packet once more: retransmissions have an identification of their own, and cannot come
    /// before anything was heard.
    fn is_doubled(&self, before: &Flight, packet: &Packet, now: Instant, ts: Option<u32>) -> bool {
        if before.ts != ts || before.copies > 0 {
            return false;
        }
        match (before.ip_id, packet.ip_id) {
            (Some(before), Some(now)) if before != now => false,
            (Some(id), Some(_)) if id != 0 => true,
            _ => {
                let least = self.rtts.least().unwrap_or_default();
                now.since(before.at) < least / 2
            }
        }
    }

    /// `span` was seen, as its first copy or another.
    fn fill(
        &mut self,
        at: Option<usize>,
        span: Span,
        now: Instant,
        ts: Option<u32>,
        ip_id: Option<u16>,
        again: bool,
    ) {
        let Some(mut i) = at else { return };
        if !self.flights[i].seen {
            i = self.cut_out(i, span);
        }
        while let Some(flight) = self.flights.get_mut(i)
            && flight.span.overlaps(span)
        {
            flight.copies = flight.copies.saturating_add(u16::from(again));
            flight.ts = ts;
            flight.ip_id = ip_id;
            if !flight.seen {
                flight.seen = true;
                flight.at = now;
            }
            i += 1;
        }
    }

    /// Cuts `span` out of bytes not captured, and returns where it is.
    fn cut_out(&mut self, i: usize, span: Span) -> usize {
        let gap = self.flights[i];
        let middle = Span::new(span.start.max(gap.span.start), span.end.min(gap.span.end));
        let part = |span| Flight { span, ..gap };
        self.flights[i] = part(middle);
        if middle.end < gap.span.end {
            self.flights
                .insert(i + 1, part(Span::new(middle.end, gap.span.end)));
            self.settled += usize::from(i < self.settled);
        }
        if gap.span.start < middle.start {
            self.flights
                .insert(i, part(Span::new(gap.span.start, middle.start)));
            self.settled += usize::from(i < self.settled);
            return i + 1;
        }
        i
    }

    /// A packet from the other end acknowledges what this one sent. Returns how long that took, in ns,
    /// where something sent once is acknowledged.
    #[inline]
    pub fn on_ack(&mut self, packet: &Packet, now: Instant, context: &Context<'_>) -> Option<u64> {
        let segment = &packet.segment;
        let isn = match self.isn {
            Some(isn) => isn,
            None => self.begin_midway(segment.ack),
        };
        let cumulative = segment.ack.unwrap(isn, self.una)?;
        if cumulative.since(self.una) > FAR || self.una.since(cumulative) > FAR {
            return None;
        }
        if cumulative > self.nxt {
            self.on_missed(cumulative, now);
        }
        let syn = segment.flags.contains(Flags::SYN);
        let window = u64::from(segment.window) << if syn { 0 } else { self.window_scale };
        let carries_data = segment.sequence_len() > 0;
        let blocks = segment.options.sack.as_slice();
        let out_of_order = blocks.iter().any(|[left, _]| left.after(segment.ack));
        let repeated = !context.shared.sack
            && cumulative == self.una
            && !carries_data
            && window == self.window
            && self.flights.len() > self.settled;
        if out_of_order || repeated {
            self.open_case(&self.common(context));
        }
        self.window = window;
        if self.case.is_some() {
            self.tell_case(packet, now, isn, Ack::new(cumulative, window), context);
        }
        if cumulative > self.una {
            self.window_edge = cumulative + window;
            self.advanced_at = now;
            self.settle(cumulative, now)
        } else {
            if cumulative == self.una {
                self.window_edge = cumulative + window;
            }
            None
        }
    }

    /// An ACK, but for its blocks, goes to the case.
    #[inline(never)]
    fn tell_case(
        &mut self,
        packet: &Packet,
        now: Instant,
        isn: SeqNumber,
        mut ack: Ack,
        context: &Context<'_>,
    ) {
        let Some(case) = &mut self.case else { return };
        let segment = &packet.segment;
        ack.carries_data = segment.sequence_len() > 0;
        for [left, right] in segment.options.sack.as_slice() {
            // An old ACK may report as well: what it acknowledges is unwrapped as it stands.
            let near = |number: &SeqNumber| number.unwrap(isn, ack.cumulative);
            if let (Some(left), Some(right)) = (near(left), near(right))
                && right > left
            {
                ack.push_block(Span::new(left, right));
            }
        }
        let echo = segment.options.timestamps.map(|ts| ts.echo);
        case.on_ack(now, self.una, &ack, echo);
        if case.may_rest() {
            case.rest(&context.common(self.mss.bytes(), self.rtts.least()), now);
        }
    }

    /// An ACK of bytes that were not captured.
    fn on_missed(&mut self, cumulative: Offset, now: Instant) {
        let span = Span::new(self.nxt, cumulative);
        self.missing += span.len();
        if let Some(case) = &mut self.case {
            case.on_new(now, span);
        }
        self.push(Flight {
            span,
            at: now,
            ts: None,
            ip_id: None,
            copies: 0,
            seen: false,
        });
        self.nxt = cumulative;
    }

    /// Everything below `una` has arrived.
    fn settle(&mut self, una: Offset, now: Instant) -> Option<u64> {
        let mut first = None;
        let mut newest = None;
        let mut unsure = false;
        let mut i = self.settled;
        while let Some(flight) = self.flights.get(i)
            && flight.span.start < una
        {
            // Karn's rule; what was not captured has no time of its own.
            if flight.copies > 0 || !flight.seen {
                unsure = true;
            } else if flight.span.end <= una || flight.span.start >= self.una {
                first = first.or(Some(flight.at));
                newest = Some(flight.at);
            }
            if flight.span.end > una {
                break;
            }
            i += 1;
        }
        self.settled = i;
        self.una = una;
        while self.settled > REMEMBERED {
            self.flights.pop_front();
            self.settled -= 1;
        }
        if unsure {
            return None;
        }
        let (rtt, newest) = (now.nanos_since(first?), now.nanos_since(newest?));
        self.rtts.on_sample(rtt, newest, una, self.nxt);
        Some(newest)
    }

    /// From here on steps are kept.
    fn open_case(&mut self, common: &Common<'_>) {
        if self.case.as_ref().is_some_and(|case| !case.is_asleep()) {
            return;
        }
        let mut tape = common.stock.tapes.take().unwrap_or_default();
        tape.begin(common.lag);
        let beginning = &mut tape.beginning;
        beginning.una = self.una;
        beginning.window_edge = self.window_edge.max(self.una);
        beginning.advanced_at = self.advanced_at;
        self.rtts.copy_into(&mut beginning.rtts, common.lag);
        for flight in self.flights.range(self.settled..) {
            let left = Span::new(flight.span.start.max(self.una), flight.span.end);
            tape.beginning.outstanding.push((flight.at, left));
            if let Some(ts) = flight.ts {
                tape.on_tick(flight.at, ts);
            }
        }
        let case = self.case.get_or_insert_with(|| {
            let mut case = common.stock.cases.take().unwrap_or_default();
            case.begin(common);
            case
        });
        case.wake(tape);
        if let Some(at) = self.peer_closed_at {
            case.on_close(at);
        }
        if let Some(at) = self.reset_at {
            case.on_reset(at);
        }
    }

    /// The connection is over, but for what comes late. Returns what each candidate explained.
    pub fn on_over(&mut self, context: &Context<'_>, now: Instant) -> Vec<Score> {
        let common = self.common(context);
        (self.case.as_mut()).map_or_else(Vec::new, |case| case.on_over(&common, now))
    }

    /// This end has acknowledged the other's FIN, which need not report duplicates any more.
    pub fn on_close(&mut self, now: Instant) {
        let at = *self.peer_closed_at.get_or_insert(now);
        if let Some(case) = &mut self.case {
            case.on_close(at);
        }
    }

    /// A reset passed, either way.
    pub fn on_reset(&mut self, now: Instant) {
        let at = *self.reset_at.get_or_insert(now);
        if let Some(case) = &mut self.case {
            case.on_reset(at);
        }
    }

    /// The connection is over. Each retransmission of this direction, in order, is `found`.
    pub fn close(
        &mut self,
        context: &Context<'_>,
        over: &Over,
        found: impl FnMut(finding::Retransmission),
    ) -> (finding::Direction, Vec<Score>) {
        let common = self.common(context);
        let mut closed = Closed::default();
        if let Some(mut case) = self.case.take() {
            closed = case.close(&common, over, found);
            common.stock.cases.give(case);
        }
        let direction = finding::Direction {
            vantage: common.vantage,
            segments: self.segments,
            bytes: self.bytes,
            retransmissions: closed.tally,
            doubled: self.doubled,
            probes: self.probes,
            missing: self.missing,
            rtt: self.rtts.quantiles(),
            profile: closed.profile,
            episodes: closed.episodes,
            recovering: closed.recovering,
        };
        (direction, closed.scores)
    }
}

/// Packets for which there is room where a direction is begun with memory used before.
const USUAL_FLIGHTS: usize = 32;

/// Packets outstanding that are remembered.
const MOST_FLIGHTS: usize = 1 << 17;

/// Whether a packet that fills a gap was sent after the packet that revealed the gap, and so is a
/// retransmission: originals are sent in order. `None`: nothing tells.
fn later_than(ts: Option<u32>, ip_id: Option<u16>, gap: &Flight) -> Option<bool> {
    if let (Some(ts), Some(revealed)) = (ts, gap.ts) {
        return Some(ts.wrapping_sub(revealed).cast_signed() > 0);
    }
    let (id, revealed) = (ip_id?, gap.ip_id?);
    let distance = id.wrapping_sub(revealed).cast_signed();
    let one_counter = id != 0 && revealed != 0 && distance.unsigned_abs() < SAME_COUNTER as u16;
    one_counter.then_some(distance > 0)
}
