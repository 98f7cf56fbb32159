//! Writes of the applications, with their times.
//!
//! A capture shows when data was sent, not when it was written. The application is taken to write as late as
//! the data and the windows allow. Data that the sender sent as soon as its windows had room for it was there
//! before, as part of the write before. Data that it sent later, although it could have sent it, was written
//! when it was sent. (Siekkinen et al., CoNEXT 2005, §3, tell the two apart in the same way.) A first rerun, with
//! the profile of the sender, meets the ACKs of the capture and finds out when the sender could have sent.
//!
//! The sender's window may also have been smaller than the profile's. Data that was sent right after an ACK,
//! while other data was in flight, was probably released by that ACK: in a rerun it waits for the same
//! acknowledgment. So the sender's own timing is kept where the profile's congestion control is not its own.
//!
//! A write waits for the data of the peer that the application had received by then, and for time; so does
//! each write of the peer. In a rerun in which a response is complete earlier, the next request is
//! earlier, too.

use crate::{
    record::{Record, Seen},
    transmission::Transmission,
};
use recoup_sim::Application;
use recoup_tcp::{
    Endpoint,
    flow::{Action, Host, Script, ScriptProgress, When, Write},
};
use recoup_units::{Instant, Offset, Span};
use std::{collections::BTreeMap, time::Duration};

/// Data that the sender sends this soon after it can was waiting for it.
pub(crate) const AT_ONCE: Duration = Duration::from_millis(2);

/// Data that the sender sent for the first time, in one packet of the capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NewData {
    pub span: Span,
    pub sent: Instant,
    /// A FIN goes with it, or is all it is.
    pub has_fin: bool,
    /// Bytes of the peer's stream that had arrived before, and when the last of them did.
    pub received: u64,
    pub received_at: Instant,
    /// An ACK came just before, while data was in flight.
    pub clock: Option<AckClock>,
}

/// The ACK that released data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AckClock {
    /// Bytes of the sender's stream that were acknowledged, and when the last of them were.
    pub acknowledged: u64,
    pub acknowledged_at: Instant,
}

impl NewData {
    /// When it was written, if it was written when it was sent. `previous`: the write before.
    fn when(&self, previous: Instant) -> When {
        let met = previous.max(self.received_at);
        let (acknowledged, met) = match self.clock {
            Some(clock) => (clock.acknowledged, met.max(clock.acknowledged_at)),
            None => (0, met),
        };
        When { received: self.received, acknowledged, after: self.sent.since(met) }
    }

    /// The data below `end`, and a FIN.
    pub fn all(record: &Record, end: Offset) -> Vec<Self> {
        let (mut nxt, mut all) = (Offset::DATA, Vec::new());
        let mut fin_sent = false;
        let mut peer = Reassembly::default();
        let mut received_at = record.opened();
        let mut acks = AckClocks::default();
        for packet in &record.packets {
            let payload = packet.payload();
            if !packet.is_sent {
                acks.on_ack(packet, nxt);
                if peer.arrive(payload) > 0 {
                    received_at = packet.at;
                }
                continue;
            }
            let received = peer.next.since(Offset::DATA);
            let span = Span::new(payload.start.max(nxt), payload.end.min(end));
            let has_fin = packet.has_fin() && !fin_sent;
            fin_sent |= has_fin;
            if span.is_empty() && !has_fin {
                continue;
            }
            nxt = nxt.max(span.end);
            all.push(Self { span, sent: packet.at, has_fin, received, received_at, clock: acks.clock(packet.at) });
        }
        all
    }
}

/// The ACKs that the sender received.
#[derive(Clone, Copy, Debug, Default)]
struct AckClocks {
    una: Offset,
    una_at: Instant,
    /// The last ACK that came while data was in flight.
    last: Option<Instant>,
}

impl AckClocks {
    fn on_ack(&mut self, packet: &Seen, nxt: Offset) {
        let Some(ack) = packet.ack else {
            return;
        };
        self.last = (self.una < nxt).then_some(packet.at);
        if ack > self.una {
            (self.una, self.una_at) = (ack, packet.at);
        }
    }

    /// The ACK that released data which was sent `at`.
    fn clock(&self, at: Instant) -> Option<AckClock> {
        let last = self.last?;
        (at.since(last) <= AT_ONCE)
            .then(|| AckClock { acknowledged: self.una.since(Offset::DATA), acknowledged_at: self.una_at })
    }
}

/// Writes of the peer.
#[derive(Clone, Debug, Default)]
pub(crate) struct PeerData {
    pub script: Script,
}

impl PeerData {
    /// Each write of the peer, as it reached the sender. Its times are those of the sender, which change none of the
    /// delays in between.
    pub fn new(record: &Record, all: &[Transmission], rtt: Duration) -> Self {
        // The peer that accepts is open once it has the sender's ACK of its SYN.
        let opened = match record.sender {
            Host::Client => record.opened() + rtt,
            Host::Server => Instant::ZERO,
        };
        let received = ReceivedBy::new(all);
        // A FIN is no data that an application waits for.
        let data_end = record.data_end();
        let (mut writes, mut previous) = (Vec::new(), Instant::ZERO);
        let mut sent = Reassembly::default();
        let mut close = None;
        for packet in record.packets.iter().filter(|packet| !packet.is_sent) {
            let bytes = sent.arrive(packet.payload());
            let is_close = packet.has_fin() && close.is_none();
            if bytes == 0 && !is_close {
                continue;
            }
            let has = packet.ack.unwrap_or(Offset::DATA).min(data_end);
            let met = received.when(has).max(opened);
            let when =
                When { received: has.since(Offset::DATA), acknowledged: 0, after: packet.at.since(met.max(previous)) };
            previous = packet.at.max(previous);
            if bytes > 0 {
                writes.push(Write { when, bytes });
            }
            if is_close {
                close = Some(match bytes {
                    0 => when,
                    _ => When { after: Duration::ZERO, ..when },
                });
            }
        }
        let script = Script { writes: writes.into(), close };
        Self { script }
    }
}

/// A stream whose data may arrive out of order.
#[derive(Clone, Debug)]
struct Reassembly {
    /// All data before it has arrived.
    next: Offset,
    /// Data beyond: its ends by its starts.
    beyond: BTreeMap<Offset, Offset>,
}

impl Default for Reassembly {
    fn default() -> Self {
        Self { next: Offset::DATA, beyond: BTreeMap::new() }
    }
}

impl Reassembly {
    /// Data arrives. Returns how many bytes follow in order now.
    fn arrive(&mut self, data: Span) -> u64 {
        let before = self.next;
        if data.is_empty() || data.end <= self.next {
            return 0;
        }
        let end = self.beyond.entry(data.start).or_default();
        *end = data.end.max(*end);
        while let Some(first) = self.beyond.first_entry().filter(|first| *first.key() <= self.next) {
            self.next = self.next.max(first.remove());
        }
        self.next.since(before)
    }
}

/// When the receiver had all data before an offset, by the echo.
struct ReceivedBy {
    /// Ascending ends, and when everything before them had arrived.
    complete: Vec<(Offset, Instant)>,
}

impl ReceivedBy {
    fn new(all: &[Transmission]) -> Self {
        let arrived = all.iter().filter_map(|sent| Some((sent.span, sent.arrival()?.echo)));
        let mut arrived: Vec<_> = arrived.collect();
        arrived.sort_unstable_by_key(|(span, echo)| (span.start, *echo));
        let mut complete: Vec<(Offset, Instant)> = Vec::with_capacity(arrived.len());
        for (span, echo) in arrived {
            let (end, at) = complete.last().copied().unwrap_or((Offset::SYN, Instant::ZERO));
            if span.end > end {
                complete.push((span.end, at.max(echo)));
            }
        }
        Self { complete }
    }

    fn when(&self, offset: Offset) -> Instant {
        let at = self.complete.partition_point(|(end, _)| *end < offset);
        let at = at.min(self.complete.len().saturating_sub(1));
        self.complete.get(at).map_or(Instant::ZERO, |(_, at)| *at)
    }
}

/// The application of a host in a rerun.
#[derive(Clone, Debug)]
pub(crate) enum RerunApplication {
    Scripted(ScriptProgress),
    Capture(CapturedSender),
}

/// The sender's application, which writes the data of each packet of the capture when the sender can send it, but
/// not before it did so in the capture. It finds out which data had waited.
#[derive(Clone, Debug)]
pub(crate) struct CapturedSender {
    data: Vec<NewData>,
    segment_size: u64,
    /// The time of the rerun at the capture's first packet, in ns.
    offset: u64,
    next: usize,
    /// Since when the sender could have sent more than there was.
    able_since: Option<Instant>,
    /// When its pacing lets new data go, where nothing else held it back.
    paced_until: Option<Instant>,
    /// Data waits for room.
    is_blocked: bool,
    /// Right after pacing lets it go, where it waits for that.
    blocked_until: Option<Instant>,
    /// Whether the data of each packet was written when it was sent, not before.
    written_late: Vec<bool>,
    clocked: Clocked,
}

/// Packets of new data that an ACK released in the capture. A sender that runs the profile of the rerun could not have sent
/// them before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Clocked {
    pub all: u32,
    /// Those for which the rerun had room earlier.
    pub could_be_earlier: u32,
}

/// If more of them (1/n) could have been sent earlier, the sender's window was another one.
const MOST_EARLIER: u32 = 10;

impl Clocked {
    /// Whether the windows of the rerun are those of the capture.
    pub fn shows_own_window(self) -> bool {
        self.could_be_earlier <= self.all / MOST_EARLIER
    }
}

impl CapturedSender {
    pub fn new(data: &[NewData], segment_size: u16, offset: u64) -> Self {
        Self {
            data: data.to_vec(),
            segment_size: segment_size.into(),
            offset,
            next: 0,
            able_since: None,
            paced_until: None,
            is_blocked: false,
            blocked_until: None,
            written_late: Vec::with_capacity(data.len()),
            clocked: Clocked::default(),
        }
    }

    fn poll(&mut self, now: Instant, endpoint: &Endpoint) -> Option<Action> {
        let data = *self.data.get(self.next)?;
        let sender = endpoint.sender();
        self.is_blocked = sender.nxt() < sender.limit();
        if !endpoint.is_open() || self.is_blocked {
            self.is_blocked = true;
            self.able_since = None;
            let paced_until = sender.paced_until(now);
            // What pacing lets go now leaves after this.
            let is_second_look = self.blocked_until == Some(now);
            let waits = sender.paces() && (paced_until > now || !is_second_look);
            self.blocked_until = waits.then(|| paced_until.plus_nanos(1));
            return None;
        }
        let len = data.span.len().min(u64::from(sender.mss()));
        // Retransmissions take the room first.
        let has_room = sender.room().0 > 0
            && sender.peer_window().edge() >= sender.nxt() + len
            && !sender.wants_to_retransmit(now);
        let paced_until = sender.paced_until(now);
        let is_able = has_room && paced_until <= now;
        if is_able {
            let since = self.paced_until.take().map_or(now, |paced| paced.min(now));
            _ = self.able_since.get_or_insert(since);
        } else {
            self.able_since = None;
            self.paced_until = has_room.then_some(paced_until);
        }
        let sent = data.sent.plus_nanos(self.offset);
        let early = if is_able { AT_ONCE } else { Duration::ZERO };
        if sent > now + early {
            return None;
        }
        let able_for = self.able_since.map_or(Duration::ZERO, |since| now.since(since));
        let is_late = able_for > AT_ONCE;
        self.written_late.push(is_late);
        if data.clock.is_some() {
            self.clocked.all += 1;
            self.clocked.could_be_earlier += u32::from(is_late);
        }
        self.next += 1;
        match (data.span.len(), data.has_fin) {
            (0, _) => Some(Action::Close),
            (bytes, true) => Some(Action::WriteAndClose(bytes)),
            (bytes, false) => Some(Action::Write(bytes)),
        }
    }

    fn wake(&self) -> Option<Instant> {
        let data = self.data.get(self.next)?;
        if self.is_blocked {
            return self.blocked_until;
        }
        Some(data.sent.plus_nanos(self.offset))
    }

    fn total(&self) -> Option<u64> {
        Some(self.data.iter().map(|data| data.span.len()).sum())
    }

    /// What ACKs released.
    pub fn clocked(&self) -> Clocked {
        self.clocked
    }

    /// The writes of the application.
    pub fn script(&self) -> Script {
        let mut writes: Vec<Write> = Vec::new();
        let mut previous = Instant::ZERO;
        let mut close = None;
        for (i, data) in self.data.iter().enumerate() {
            let is_late = self.written_late.get(i).copied().unwrap_or(true);
            let bytes = data.span.len();
            let when = |previous: Instant| data.when(previous);
            if data.has_fin {
                // A FIN of its own was sent after the application had closed, because it would have gone with data
                // that waited (Linux `tcp_send_fin`).
                close = Some(match bytes {
                    0 => when(previous),
                    _ => When { received: data.received, ..When::default() },
                });
            }
            // A segment that is not full ends a write: the sender had no more (RFC 9293 §3.8.6.2.1).
            let ends_full = |last: &Write| last.bytes.is_multiple_of(self.segment_size);
            match writes.last_mut() {
                _ if bytes == 0 => {}
                Some(last) if !is_late && ends_full(last) => last.bytes += bytes,
                _ => {
                    writes.push(Write { when: when(previous), bytes });
                    previous = data.sent;
                }
            }
        }
        Script { writes: writes.into(), close }
    }
}

impl Application for RerunApplication {
    fn poll(&mut self, now: Instant, endpoint: &Endpoint) -> Option<Action> {
        match self {
            Self::Scripted(script) => Application::poll(script, now, endpoint),
            Self::Capture(sender) => sender.poll(now, endpoint),
        }
    }

    fn wake(&self) -> Option<Instant> {
        match self {
            Self::Scripted(script) => script.wake(),
            Self::Capture(sender) => sender.wake(),
        }
    }

    fn total(&self) -> Option<u64> {
        match self {
            Self::Scripted(script) => Application::total(script),
            Self::Capture(sender) => sender.total(),
        }
    }
}
