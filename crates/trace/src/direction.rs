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
//! | were seen before | a retransmission; or doubled by the network or the capture, if it has the same IP identification and timestamp as the last copy, or comes sooner than anything can be sent again; or, where its timestamp is the older one, the original, late |
//! | were not | a retransmission of what was lost before the place of capture, or an original that was overtaken: timestamps tell, else IP identifications, else nobody |

mod acks;
mod doubled;
mod flights;
mod mss;

use crate::case::{Case, Cause, Closed, Known, Over};
use crate::finding;
use crate::read::Packet;
use crate::replay::Score;
use crate::rtts::Rtts;
use crate::shared::{Common, Context};
use crate::tape::Tape;
use crate::verdict::Copy;
use doubled::{AT_ONCE, Recent};
use flights::{Flight, Sending, later_than};
use mss::Mss;
use recoup_units::{Instant, Offset, Span};
use recoup_wire::{Flags, SeqNumber};
use std::cmp::Ordering;
use std::collections::VecDeque;
use std::mem::take;
use std::time::Duration;

/// Where a connection stands whose beginning was not captured: what was sent before has room below.
const MIDWAY: Offset = Offset(1 << 32);

/// The least silence before a keep-alive: TCP_KEEPIDLE and its likes count in seconds. A retransmission of
/// what was just acknowledged comes sooner.
const SILENCE: Duration = Duration::from_secs(1);

/// No ACK is in doubt, no byte probed with.
const NOTHING: Offset = Offset(u64::MAX);

/// Packets in flight of which none was ever acknowledged, that are replayed: more than first windows have.
const MOST_UNHEARD: usize = 256;

/// Sequence numbers further off than this are none of this connection's.
const FAR: u64 = 1 << 30;

/// The window of which the capture may not know, in bytes: what a window field says without a shift.
const UNKNOWN_WINDOW: u64 = 1 << 16;

/// IP identifications nearer to each other than this come from one counter.
const SAME_COUNTER: i16 = 2048;

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
    pub foreign: u64,
    pub fin: Option<Offset>,
    peer_closed_at: Option<Instant>,
    reset_at: Option<Instant>,
    /// An ACK above everything seen asked for this, and nothing said so since.
    doubtful: Offset,
    /// This byte went into a shut window, and is taken for sent only when acknowledged.
    probed: Offset,
    recent: Recent,
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
            foreign: 0,
            fin: None,
            peer_closed_at: None,
            reset_at: None,
            doubtful: NOTHING,
            probed: NOTHING,
            recent: Recent::default(),
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
        let rest = self.rtts.warm() ^ self.recent.warm();
        last ^ first ^ self.una.0 ^ self.segments ^ self.window ^ rest
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
        let start = segment.seq.unwrap(isn, self.nxt);
        let near = |at: &Offset| at.since(self.nxt) <= FAR && self.nxt.since(*at) <= FAR;
        let Some(start) = start.filter(near) else {
            self.foreign += 1;
            return;
        };
        let span = Span::at(start, len);
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
        self.rest(now, context);
    }

    /// Its case may have enough to explain, or nothing any more: also where nothing is ever acknowledged.
    #[inline]
    pub(super) fn rest(&mut self, now: Instant, context: &Context<'_>) {
        if !self.case.as_ref().is_some_and(|case| case.may_rest()) {
            return;
        }
        let common = self.common(context);
        if let Some(case) = &mut self.case {
            case.rest(&common, now);
        }
    }

    /// The first packet is one of an established connection. What is sent by it comes next.
    fn begin_midway(&mut self, seq: SeqNumber) -> SeqNumber {
        // MIDWAY is a multiple of 2^32, so that this number stands for it.
        self.isn = Some(seq);
        seq
    }

    /// Whether `ack` acknowledges the SYN of this direction, and no more than may have gone with it. Where
    /// that was not captured, the first number acknowledged stands for it.
    pub fn is_opened_by(&self, ack: SeqNumber) -> bool {
        let begins = |isn: SeqNumber| isn + u32::from(self.nxt < MIDWAY);
        let beyond = self.isn.map(|isn| ack.0.wrapping_sub(begins(isn).0));
        beyond.is_some_and(|beyond| u64::from(beyond) < UNKNOWN_WINDOW)
    }

    /// Where the number of a reset lies: before the receiver's window, within it or beyond. `None`: nothing
    /// is known of it.
    pub fn window_holds(&self, seq: SeqNumber) -> Option<Ordering> {
        let at = seq.unwrap(self.isn?, self.nxt);
        let end = self.window_edge.max(self.nxt) + UNKNOWN_WINDOW;
        Some(match at {
            Some(at) if self.una <= at && at <= end => Ordering::Equal,
            Some(at) if at < self.una && self.una.since(at) <= FAR => Ordering::Less,
            _ => Ordering::Greater,
        })
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
        if segment.payload_len == 1 && self.is_beyond_shut_window(span) {
            self.probes += 1;
            self.probed = span.start;
            return;
        }
        let sending = Sending {
            at: now,
            ts: segment.options.timestamps.map(|ts| ts.value),
            ip_id: packet.ip_id,
        };
        if span.start > self.nxt {
            self.missing += span.start.since(self.nxt);
            self.push(Flight::unseen(Span::new(self.nxt, span.start), sending));
        }
        self.push(Flight::first(span, sending));
        self.mss.on_payload(segment.payload_len);
        if let Some(case) = &mut self.case {
            case.on_new(now, Span::new(self.nxt, span.end));
        }
        self.nxt = span.end;
        if self.doubtful <= self.nxt {
            self.believe();
        }
    }

    /// A byte that the peer has no room for, sent to draw an answer (RFC 9293 §3.8.6.1); what it
    /// belongs to goes from that byte on, once there is room.
    #[cold]
    fn is_beyond_shut_window(&self, span: Span) -> bool {
        let shut = self.window == 0 && self.advanced_at > Instant::ZERO;
        shut && span.len() == 1 && span.start == self.una && self.window_edge <= self.una
    }

    /// Part of it at least was sent before.
    #[cold]
    fn on_old(&mut self, packet: &Packet, now: Instant, span: Span, context: &Context<'_>) {
        let common = self.common(context);
        let segment = &packet.segment;
        if self.is_probe(segment.payload_len, span, now) {
            self.probes += 1;
            return;
        }
        let ts = segment.options.timestamps.map(|ts| ts.value);
        let sending = Sending {
            at: now,
            ts,
            ip_id: packet.ip_id,
        };
        let first = self.flight_at(span.start);
        let earlier = first.map(|i| self.flights[i]);
        let unseen = earlier.is_some_and(|flight| !flight.seen && span.end <= flight.span.end);
        let cause = if unseen {
            Cause::Filled(earlier.and_then(|gap| later_than(sending, &gap)))
        } else if earlier.is_some_and(|flight| self.is_copy(&flight, sending, packet, context)) {
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
            lacking: span.end > self.nxt || first.is_some_and(|i| self.lacks(i, span)),
            copies: earlier.map(|flight| flight.copies),
            revealed_ts: earlier.filter(|_| unseen).and_then(|gap| gap.ts),
            rtt: self.rtts.average().map(|rtt| rtt + common.lag),
            flight: self.segments_outstanding(common.mss),
            nxt: self.nxt,
        };
        if cause != Cause::Late {
            self.fill(span, sending, cause != Cause::Filled(Some(false)));
        }
        if let Some(case) = &mut self.case {
            if let Some(ts) = ts {
                case.on_tick(now, ts);
            }
            case.on_old(packet, now, span, cause, &known);
        }
        if span.end > self.nxt {
            self.push(Flight::first(Span::new(self.nxt, span.end), sending));
            self.nxt = span.end;
        }
    }

    /// A byte that the peer has, or has no room for, to draw an answer.
    fn is_probe(&self, payload: u32, span: Span, now: Instant) -> bool {
        let one = payload == 1 && span.len() == 1 && span.start > Offset::SYN;
        let is_fin = self.fin == Some(span.end);
        let silent = self.una == self.nxt && now.since(self.advanced_at) >= SILENCE;
        let alive = span.end == self.una && silent;
        let shut = span.start == self.una && self.window_edge <= self.una;
        one && !is_fin && (alive || shut)
    }

    /// Whether some of `span`, of which the first byte is in the packet with this index, was not captured.
    fn lacks(&self, at: usize, span: Span) -> bool {
        let packets = self.flights.range(at..);
        let mut inside = packets.take_while(|flight| flight.span.start < span.end);
        inside.any(|flight| !flight.seen)
    }

    /// The timestamp of the last known copy of something that is no longer outstanding.
    fn last_ts_of(&self, span: Span) -> Option<u32> {
        self.case.as_ref()?.last_ts_of(span)
    }

    /// From here on steps are kept.
    fn open_case(&mut self, common: &Common<'_>) {
        if self.case.as_ref().is_some_and(|case| !case.is_asleep()) {
            return;
        }
        let tape = self.is_heard().then(|| self.tape(common));
        let case = self.case.get_or_insert_with(|| {
            let mut case = common.stock.cases.take().unwrap_or_default();
            case.begin(common);
            case
        });
        if let Some(tape) = tape {
            case.wake(tape);
        }
        if let Some(at) = self.peer_closed_at {
            case.on_close(at);
        }
        if let Some(at) = self.reset_at {
            case.on_reset(at);
        }
    }

    /// Whether its receiver may be in the capture. Where nothing was ever acknowledged of more than any
    /// handshake leaves unanswered, nothing tells why anything was sent.
    fn is_heard(&self) -> bool {
        let outstanding = self.flights.len() - self.settled;
        self.advanced_at > Instant::ZERO || outstanding <= MOST_UNHEARD
    }

    /// An empty tape that begins as things stand.
    fn tape(&self, common: &Common<'_>) -> Box<Tape> {
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
        tape
    }

    /// The connection is over, but for what comes late. Returns what each candidate explained.
    pub fn on_over(&mut self, context: &Context<'_>, now: Instant) -> Vec<Score> {
        // Most of what is followed is over, and lingers.
        self.flights.shrink_to_fit();
        self.rtts.shrink();
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
            if self.doubled * 4 >= self.segments {
                self.doubled += case.set_answers_doubled(AT_ONCE);
            }
            closed = case.close(&common, over, found);
            common.stock.cases.give(case);
        }
        let direction = finding::Direction {
            vantage: common.vantage,
            absent: false,
            segments: self.segments,
            bytes: self.bytes,
            retransmissions: closed.tally,
            doubled: self.doubled,
            probes: self.probes,
            missing: self.missing,
            foreign: self.foreign,
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
