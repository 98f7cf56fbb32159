//! A sender, an honest receiver, and a small network between them in virtual time.
//!
//! The one-way delay is 20 ms, and segments leave the bottleneck 1 ms apart. The k-th segment and the k-th
//! ACK meet the k-th of their fates. They pass once the fates are used up.

use super::super::*;
use super::script::MSS;
use crate::ack::{Ack, AckSummary};
use crate::profile::Profile;
use crate::slp::{Carried, Kind, Likelihoods, LossRate, SlpRules};
use alloc::collections::{BTreeMap, BTreeSet};
use core::cmp::Reverse;
use recoup_units::Ppm;

const ONE_WAY: Duration = Duration::from_millis(20);
const SPACING: Duration = Duration::from_millis(1);
/// How long a receiver that acknowledges every n-th segment delays its ACK.
const DELAYED_ACK: Duration = Duration::from_millis(40);
/// The tick of the timestamp clock.
const TICK: u64 = 1_000_000;

/// The fate of a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Fate {
    #[default]
    Passes,
    Lost,
    /// Delayed, so that later packets overtake it.
    Late(u64),
    Twice,
}

/// The receiver's data and its reports (RFC 2018 §4, RFC 2883 §4, RFC 7323 §4.3).
#[derive(Clone, Debug)]
pub(super) struct Receiver {
    /// Everything below has arrived.
    pub(super) next: Offset,
    /// Out-of-order runs, the latest changed first.
    held: Vec<Span>,
    duplicate: Option<Span>,
    /// When the segment with the echoed timestamp was sent.
    echo: Instant,
    acked: Offset,
    pub(super) sack: bool,
    pub(super) timestamps: bool,
}

impl Receiver {
    pub(super) fn new(sack: bool, timestamps: bool) -> Self {
        Self {
            next: Offset::SYN,
            held: Vec::new(),
            duplicate: None,
            echo: Instant::ZERO,
            acked: Offset::SYN,
            sack,
            timestamps,
        }
    }

    /// `span`, sent at `sent_at`, arrives.
    pub(super) fn take(&mut self, span: Span, sent_at: Instant) {
        if span.start <= self.acked {
            self.echo = self.echo.max(sent_at);
        }
        if span.end <= self.next || self.held.iter().any(|held| held.covers(span)) {
            self.duplicate = Some(span);
            if let Some(i) = self.held.iter().position(|held| held.covers(span)) {
                self.held[..=i].rotate_right(1);
            }
            return;
        }
        let touches = |held: &Span| held.start <= span.end && span.start <= held.end;
        let merged = self
            .held
            .iter()
            .filter(|h| touches(h))
            .fold(span, |a, b| Span::new(a.start.min(b.start), a.end.max(b.end)));
        self.held.retain(|held| !touches(held));
        if merged.start <= self.next {
            self.next = merged.end;
        } else {
            self.held.insert(0, merged);
        }
    }

    /// Reneges: drops all out-of-order data (RFC 2018 §8).
    pub(super) fn renege(&mut self) {
        self.held.clear();
    }

    /// The ACK it sends at `now`.
    pub(super) fn ack(&mut self, now: Instant, window: u64) -> Ack {
        self.acked = self.next;
        let mut ack = Ack::new(self.next, window);
        let duplicate = self.duplicate.take();
        if self.sack {
            ack = ack.with_blocks(duplicate.into_iter().chain(self.held.iter().copied()));
        }
        if self.timestamps {
            let stamp = self.echo.as_nanos() / TICK * TICK;
            ack.timestamp_rtt = Some(now.since(Instant::from_nanos(stamp)));
            ack.echo_sent_before = Some(Instant::from_nanos(stamp + TICK));
        }
        ack
    }
}

/// Rules that copy every segment of these kinds.
pub(super) fn copying(kinds: &[Kind]) -> SlpRules {
    let none = Likelihoods::default();
    let all = kinds.iter();
    SlpRules {
        loss: LossRate::Fixed(Ppm::ONE),
        likelihoods: all.fold(none, |q, &kind| q.with(kind, Ppm::ONE)),
        ..SlpRules::PAPER
    }
}

/// Checks from outside that copies stay within their window (§II-C2).
#[derive(Clone, Debug)]
pub(super) struct CopyWatch {
    /// The most recently copied segment.
    last: Span,
    copies: u64,
    /// Windows acknowledged: each ends where the stream did when the one before was.
    windows: u64,
    edge: Offset,
}

impl CopyWatch {
    pub(super) fn new() -> Self {
        Self { last: Span::default(), copies: 0, windows: 0, edge: Offset::DATA }
    }

    /// After anything that may have moved `snd_una`.
    pub(super) fn follow(&mut self, sender: &Sender) {
        if sender.una() > self.edge {
            self.windows += 1;
            self.edge = sender.nxt();
        }
    }

    /// Checks that `span`, which is about to be copied, may be.
    pub(super) fn judge(&mut self, sender: &Sender, span: Span) -> Result<(), String> {
        let (una, nxt) = (sender.una(), sender.nxt());
        let found = sender.board().iter().find(|s| s.span == span);
        let waited_for = found.is_some_and(|s| !s.sacked && !s.lost && s.transmissions == 1);
        let handshake = span.start == Offset::SYN;
        let bytes = nxt.since(una) + span.len();
        let segments = sender.pipe() + Segments::ONE;
        let cwnd = u64::from(sender.cwnd().0) * u64::from(sender.peer.mss);
        let last = core::mem::replace(&mut self.last, span);
        self.copies += u64::from(!handshake);
        let rules = [
            ("is not what the sender waits for", waited_for),
            ("is beyond the window, in bytes", handshake || bytes <= cwnd),
            ("is beyond the window", handshake || segments <= sender.cwnd()),
            ("comes while another is unacknowledged", last.end <= una),
            ("is one too many for the windows", self.copies <= self.windows + 1),
        ];
        match rules.iter().find(|(_, holds)| !holds) {
            Some((what, _)) => Err(format!("a copy of {span} {what}: {self:?} {sender:?}")),
            None => Ok(()),
        }
    }
}

/// `span` was just sent: the host offers it for a copy, with PSH at the end of the written data.
pub(super) fn offer(sender: &mut Sender, now: Instant, what: Transmission) {
    if let Some(span) = what.span().filter(|_| what.is_new()) {
        let carried =
            Carried { ip_len: span.len() as u32 + 40, push: span.start > Offset::SYN && span.end == sender.limit() };
        sender.offer_copy(now, span, carried);
    }
}

/// The input to which the sender responds.
#[derive(Clone, Copy, Debug)]
pub(super) enum Cause {
    /// An ACK that newly delivered this many segments.
    Acked(AckSummary, u32),
    /// A timer expired.
    Fired,
    Wrote,
    Congested,
}

/// The sender's events at one instant.
#[derive(Clone, Debug)]
pub(super) struct Step {
    pub(super) cause: Cause,
    /// The state before.
    pub(super) state: State,
    pub(super) pipe: Segments,
    pub(super) cwnd: Segments,
    /// The sender's events, and the segments it then sent.
    pub(super) events: Vec<Event>,
    pub(super) sent: Vec<Transmission>,
}

#[derive(Clone, Copy, Debug)]
enum Packet {
    Data(Span, Instant),
    Ack(Ack),
    Flush,
    Write(u64),
    Signal,
}

pub(super) struct Network {
    pub(super) sender: Sender,
    pub(super) receiver: Receiver,
    pub(super) now: Instant,
    data_fates: Vec<Fate>,
    ack_fates: Vec<Fate>,
    /// The receiver acknowledges every n-th segment.
    stretch: u32,
    /// The number of ACKs into which each ACK is divided (ACK division).
    pub(super) pieces: u64,
    /// The receive window.
    pub(super) window: u64,
    waiting: u32,
    sent: usize,
    acks: usize,
    bottleneck: Instant,
    queue: BTreeMap<(Instant, Reverse<u64>), Packet>,
    serial: u64,
    /// The ends of the segments reported to the sender.
    known: BTreeSet<Offset>,
    copies: CopyWatch,
}

impl Network {
    /// A network after the handshake, before any write. `data` and `acks` are the fates of segments and ACKs.
    /// With selective loss prevention, the end of every write is copied.
    pub(super) fn new(profile: &str, data: &[Fate], acks: &[Fate], stretch: u32) -> Self {
        let profile: Profile = profile.parse().unwrap();
        let mut mechanisms = *profile.mechanisms();
        mechanisms.slp = mechanisms.slp.map(|_| copying(&[Kind::Psh]));
        Self::of(&mechanisms, data, acks, stretch)
    }

    /// A network whose sender has these mechanisms.
    pub(super) fn of(mechanisms: &Mechanisms, data: &[Fate], acks: &[Fate], stretch: u32) -> Self {
        let mut network = Self {
            sender: Sender::new(mechanisms, MSS as u32, Trigger::SynAck, true),
            receiver: Receiver::new(mechanisms.sack, false),
            now: Instant::ZERO,
            data_fates: Vec::new(),
            ack_fates: Vec::new(),
            stretch: 1,
            pieces: 1,
            window: 1 << 30,
            waiting: 0,
            sent: 0,
            acks: 0,
            bottleneck: Instant::ZERO,
            queue: BTreeMap::new(),
            serial: 0,
            known: BTreeSet::new(),
            copies: CopyWatch::new(),
        };
        network.send();
        while network.sender.una() == Offset::SYN {
            network.step();
        }
        network.data_fates = data.to_vec();
        network.ack_fates = acks.to_vec();
        network.stretch = stretch;
        (network.sent, network.acks) = (0, 0);
        network
    }

    /// The application writes `segments` at `ms` after now.
    pub(super) fn write(&mut self, ms: u64, segments: u64) {
        let at = self.now + Duration::from_millis(ms);
        self.post(at, Packet::Write(segments * MSS));
    }

    /// Signals congestion to the sender at `ms` after now.
    pub(super) fn congest(&mut self, ms: u64) {
        self.post(self.now + Duration::from_millis(ms), Packet::Signal);
    }

    fn post(&mut self, at: Instant, packet: Packet) {
        self.serial += 1;
        self.queue.insert((at, Reverse(u64::MAX - self.serial)), packet);
    }

    /// Advances to the sender's next event; `None` if there is none.
    pub(super) fn step(&mut self) -> Option<Step> {
        loop {
            let timer = self.sender.next_timer();
            let next = self.queue.first_key_value().map(|(&(at, _), _)| at);
            match (timer, next) {
                (None, None) => return None,
                (Some((at, timer)), next) if next.is_none_or(|next| at < next) => {
                    self.now = self.now.max(at);
                    return Some(self.act(|network| {
                        network.sender.on_timer(network.now, timer);
                        Cause::Fired
                    }));
                }
                _ => {}
            }
            let ((at, _), packet) = self.queue.pop_first()?;
            self.now = self.now.max(at);
            match packet {
                Packet::Data(span, sent_at) => self.arrive(span, sent_at),
                Packet::Flush if self.waiting > 0 => self.acknowledge(),
                Packet::Flush => {}
                Packet::Ack(ack) => return Some(self.act(|network| network.answer(&ack))),
                Packet::Write(bytes) => {
                    return Some(self.act(|network| {
                        network.sender.on_written(network.now, bytes);
                        Cause::Wrote
                    }));
                }
                Packet::Signal => {
                    return Some(self.act(|network| {
                        network.sender.on_congestion_signal(network.now);
                        Cause::Congested
                    }));
                }
            }
        }
    }

    fn act(&mut self, act: impl FnOnce(&mut Self) -> Cause) -> Step {
        let (state, pipe, cwnd) = (self.sender.state(), self.sender.pipe(), self.sender.cwnd());
        let cause = act(self);
        self.copies.follow(&self.sender);
        let events = self.sender.drain_events().map(|(_, event)| event).collect();
        let sent = self.send();
        Step { cause, state, pipe, cwnd, events, sent }
    }

    fn answer(&mut self, ack: &Ack) -> Cause {
        let before = self.known.len();
        let board = self.sender.board();
        let reported =
            |end: &Offset| *end <= ack.cumulative || ack.sack_blocks().iter().any(|b| b.start < *end && *end <= b.end);
        self.known.extend(board.iter().map(|s| s.span.end).filter(reported));
        let fresh = self.known.len() - before;
        let summary = self.sender.on_ack(self.now, ack);
        Cause::Acked(summary, fresh as u32)
    }

    /// The sender sends all segments it may send.
    fn send(&mut self) -> Vec<Transmission> {
        let mut sent = Vec::new();
        while let Some(what) = self.sender.next_send(self.now) {
            if let Transmission::Copy(span) = what {
                self.copies.judge(&self.sender, span).unwrap();
            }
            self.sender.on_sent(self.now, what);
            offer(&mut self.sender, self.now, what);
            sent.push(what);
            assert!(sent.len() < 5000, "no end of sending");
            // A window probe carries nothing and draws an ACK.
            self.transmit(what.span().unwrap_or_default());
        }
        self.sender.drain_events().for_each(drop);
        sent
    }

    fn transmit(&mut self, span: Span) {
        let fate = self.data_fates.get(self.sent).copied().unwrap_or_default();
        self.sent += 1;
        self.bottleneck = (self.bottleneck + SPACING).max(self.now + ONE_WAY);
        let (at, packet) = (self.bottleneck, Packet::Data(span, self.now));
        self.deliver(at, packet, fate);
    }

    fn deliver(&mut self, at: Instant, packet: Packet, fate: Fate) {
        match fate {
            Fate::Lost => {}
            Fate::Passes => self.post(at, packet),
            Fate::Late(ms) => self.post(at + Duration::from_millis(ms), packet),
            Fate::Twice => {
                self.post(at, packet);
                self.post(at, packet);
            }
        }
    }

    fn arrive(&mut self, span: Span, sent_at: Instant) {
        self.receiver.take(span, sent_at);
        self.waiting += 1;
        if self.waiting >= self.stretch {
            self.acknowledge();
        } else if self.waiting == 1 {
            self.post(self.now + DELAYED_ACK, Packet::Flush);
        }
    }

    fn acknowledge(&mut self) {
        self.waiting = 0;
        let before = self.receiver.acked;
        let whole = self.receiver.ack(self.now, self.window);
        // Divided is what has just arrived; what was SACKed before goes with the last piece, and so
        // does the report of a duplicate.
        let new = whole.cumulative.since(before).min(MSS);
        for piece in (1..=self.pieces).rev() {
            let mut ack = whole;
            if piece > 1 {
                let part = before + new * (self.pieces + 1 - piece) / self.pieces;
                ack = Ack::new(part, self.window);
                ack.echo_sent_before = whole.echo_sent_before;
            }
            let fate = self.ack_fates.get(self.acks).copied().unwrap_or_default();
            self.acks += 1;
            self.deliver(self.now + ONE_WAY, Packet::Ack(ack), fate);
        }
    }

    /// Delivers `ack` to the sender now, genuine or forged.
    pub(super) fn inject(&mut self, ack: &Ack) -> Step {
        let ack = *ack;
        self.act(|network| network.answer(&ack))
    }

    /// Advances until `done`, for at most 20,000 steps. Returns whether `done` was reached.
    pub(super) fn until(&mut self, done: impl Fn(&Self) -> bool) -> bool {
        (0..20_000).any(|_| done(self) || self.step().is_none()) && done(self)
    }

    /// Whether all written data has arrived and is acknowledged.
    pub(super) fn is_done(&self) -> bool {
        let limit = self.sender.limit();
        self.sender.una() == limit && self.receiver.next == limit && self.queue.is_empty()
    }
}
