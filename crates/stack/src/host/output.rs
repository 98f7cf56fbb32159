//! Packets out.
//!
//! A connection has a turn of [`BURST`] segments, or fewer if many wait. Then the others have theirs, and what arrived meanwhile
//! is read. This keeps the ACK clock of bulk transfers running, and what is in flight in the processor's
//! caches. A turn that ends because the sink has no more room is the connection's next one, too: otherwise one that always
//! comes last would get less than the others.
//!
//! Consecutive segments are joined to one [`Train`], as by Linux's GSO. They differ only in their payload, all
//! but the last are full-sized, and PSH or FIN is in the last alone. New data and retransmissions do not
//! mix; copies and probes go alone. The endpoint still decides about each segment. A sink with offloads
//! (IFF_VNET_HDR) gets a train as one packet, whose payload is not copied. For another sink the train is cut
//! here, and its headers are written and summed once.

use recoup_tcp::{self as tcp, Flush, Transmit};
use recoup_units::Instant;
use recoup_wire::{Ecn, Endpoints, Segment};

use super::{
    Connection, Host, ListenerId, Secret, Stats,
    challenge::ChallengeBudget,
    egress::{Egress, MOST_WAITING},
    train::{Kind, Train},
};
use crate::{VnetHeader, device::Frame};
use std::collections::VecDeque;

/// Segments a connection sends before others have their turn.
const BURST: u32 = 64;

/// Trains after which a connection sends no more at once, and segments in them. The receiver's process, which the first
/// of them wakes, runs when all are written. So fewer trains cost more switches between the two; more are no longer in the
/// processor's caches when they are read.
const TRAINS: u32 = 3;
const TRAINS_BURST: u32 = 256;

// The last segment may begin a train more.
const _: () = assert!((TRAINS as usize) < MOST_WAITING);

/// With more connections than this that wait for a turn, each has a shorter one: when the device is the bottleneck, a round of
/// all takes as long as with so many.
const FULL_TURNS: usize = 16;

/// Segments of a turn at least, without and with offloads.
const LEAST_BURST: [u32; 2] = [4, 16];

/// Where packets go.
pub trait Sink {
    /// Takes an IP packet.
    fn send(&mut self, packet: &[u8]);

    /// Whether it takes what [`send_frame`](Self::send_frame) does.
    fn offloads(&self) -> bool {
        false
    }

    /// Packets for which there is room. Connections keep what they have to send beyond it.
    fn room(&self) -> usize {
        usize::MAX
    }

    /// Whether it takes packets in parts, by [`send_frame`](Self::send_frame). That spares a copy of the payload.
    fn takes_parts(&self) -> bool {
        self.offloads()
    }

    /// Takes an IP packet in parts, of which the header says what is left to be done: its checksum is to
    /// be completed, and it may stand for several. The header leaves nothing to be done unless the sink
    /// [`offloads`](Self::offloads). Called only if it [`takes_parts`](Self::takes_parts).
    fn send_frame(&mut self, header: &VnetHeader, packet: [&[u8]; 3]) {
        let _ = (header, packet);
    }

    /// As [`send_frame`](Self::send_frame), for packets that go one after the other.
    fn send_frames(&mut self, frames: &[Frame<'_>]) {
        for frame in frames {
            self.send_frame(&frame.header, frame.packet);
        }
    }
}

impl<F: FnMut(&[u8])> Sink for F {
    fn send(&mut self, packet: &[u8]) {
        self(packet);
    }
}

impl Host {
    /// Sends datagrams that wait, gives every connection that has something to transmit a turn, and says whether there is more.
    pub fn poll_transmit(&mut self, now: Instant, sink: &mut dyn Sink) -> bool {
        let waiting = self.send_waiting(sink);
        for _ in 0..self.dirty.len() {
            if sink.room() == 0 {
                break;
            }
            let Some(index) = self.dirty.pop_front() else {
                break;
            };
            if let Some(connection) = self.table.at_mut(index) {
                connection.dirty = false;
            }
            self.transmit(now, index, sink);
        }
        // Those without a turn for want of room may have something to read.
        for place in 0..self.dirty.len() {
            if sink.room() == 0
                && let Some(&index) = self.dirty.get(place)
            {
                self.announce(now, index);
            }
        }
        waiting || !self.dirty.is_empty()
    }

    /// A connection's turn.
    pub(super) fn transmit(&mut self, now: Instant, index: u32, sink: &mut dyn Sink) {
        match self.transmit_trains(now, index, sink) {
            More::No => {}
            More::NextTurn => self.mark_dirty(index),
            More::ThisTurn => self.resume_first(index),
        }
        self.settle(now, index);
    }

    /// A connection's turn goes on before the others have theirs.
    fn resume_first(&mut self, index: u32) {
        if let Some(connection) = self.table.at_mut(index)
            && !std::mem::replace(&mut connection.dirty, true)
        {
            self.dirty.push_front(index);
        }
    }

    /// Sends segments in trains; whether there may be more.
    fn transmit_trains(&mut self, now: Instant, index: u32, sink: &mut dyn Sink) -> More {
        self.limit_turn(index);
        let Some(connection) = self.table.at_mut(index) else {
            return More::No;
        };
        if connection.limited_until.is_some_and(|until| until <= now) {
            // The path may take more by now. If it does not, it says so again.
            connection.limited_until = None;
            connection.tcp.endpoint_mut().raise_path_mtu_limit(now, self.mtu);
        }
        let sent = self.way(index).map(|(mut way, tcp)| way.send_trains(now, tcp, Flush::All, sink));
        sent.unwrap_or(More::No)
    }

    /// The way of a connection's segments to the sink, and the connection.
    pub(super) fn way(&mut self, index: u32) -> Option<(Way<'_>, &mut tcp::Connection)> {
        let Self { table, egress, stats, challenges, secret, dirty, .. } = self;
        let connection = table.at_mut(index)?;
        let waiting = dirty.len();
        Some((Way { path: &connection.path, egress, stats, challenges, secret, waiting }, &mut connection.tcp))
    }
}

/// What a connection's turn leaves to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum More {
    No,
    /// There may be more, for its next turn.
    NextTurn,
    /// The sink had no room for all of this turn.
    ThisTurn,
}

/// The way of one connection's segments to the sink.
pub(super) struct Way<'a> {
    pub path: &'a Endpoints,
    pub egress: &'a mut Egress,
    pub stats: &'a mut Stats,
    pub challenges: &'a mut ChallengeBudget,
    pub secret: &'a Secret,
    /// Other connections that wait for a turn.
    pub waiting: usize,
}

impl Way<'_> {
    /// Sends segments in trains, of the present burst alone if `flush` says so; whether there may be more.
    pub fn send_trains(&mut self, now: Instant, tcp: &mut tcp::Connection, flush: Flush, sink: &mut dyn Sink) -> More {
        let path = self.path;
        let Some(version) = path.ip_version() else {
            return More::No;
        };
        let challenge = tcp.endpoint().owes_challenge_ack();
        if challenge && !self.challenges.spend(now, self.secret) {
            tcp.endpoint_mut().withhold_challenge_ack();
            self.stats.challenges_withheld += 1;
        }
        let (egress, stats) = (&mut *self.egress, &mut *self.stats);
        let offloads = sink.offloads();
        let room = u32::try_from(sink.room()).unwrap_or(u32::MAX);
        if room == 0 {
            return More::NextTurn;
        }
        let (mut left, mut most_trains) = if offloads { (TRAINS_BURST, TRAINS) } else { (BURST, u32::MAX) };
        if self.waiting > FULL_TURNS {
            let share = left as usize * FULL_TURNS / self.waiting;
            left = left.min((share as u32).max(LEAST_BURST[usize::from(offloads)]));
        }
        let place = if offloads { &mut most_trains } else { &mut left };
        let at_end = if room < *place { More::ThisTurn } else { More::NextTurn };
        *place = room.min(*place);
        let mut trains = 0;
        let mut go = |tcp: &tcp::Connection, train: &Train, egress: &mut Egress, sink: &mut dyn Sink| {
            if offloads {
                egress.put_train(path, version, train);
            } else {
                stats.packets_out += egress.send_cut(path, train, tcp.payload(train.payload), sink);
            }
            trains += 1;
            trains
        };
        // New data alone is ECN-capable. Retransmissions are not, as marks on them may be ignored (RFC 3168 §6.1.5), nor
        // SYNs, pure ACKs and window probes (§6.1.1, §6.1.4, §6.1.6).
        let capable = tcp.endpoint().is_ecn_capable();
        let ecn_of = |what: Transmit, segment: &Segment| {
            if capable && what.is_new() && segment.payload_len > 0 { Ecn::ECT0 } else { Ecn::NONE }
        };
        let mut segment = Segment::default();
        let mut train: Option<Train> = None;
        let mut more = at_end;
        let mut sent = 0;
        while left > 0 && sent < most_trains {
            let Some(what) = tcp.poll_transmit(now, &mut segment) else {
                more = More::No;
                break;
            };
            left -= 1;
            let (kind, payload) = (Kind::of(what), what.payload_span(&segment));
            let joins = |train: &mut Train| train.join(kind, &segment, payload);
            if !train.as_mut().is_some_and(joins)
                && let Some(done) = train.take()
            {
                // The segment that does not join begins one more, with which the loop ends.
                sent = go(tcp, &done, egress, sink);
            }
            let last = train.get_or_insert_with(|| Train {
                ecn: ecn_of(what, &segment),
                ..Train::new(kind, &segment, payload, version)
            });
            if kind == Kind::New && !last.full && flush == Flush::All {
                let room = last.room / last.size.max(1);
                let count = tcp.transmit_more(now, &segment, room.min(left)).segments;
                last.lengthen(count);
                left -= count;
            }
            if let Some(done) = train.take_if(|train| train.full) {
                sent = go(tcp, &done, egress, sink);
            }
            if flush == Flush::Burst && !tcp.endpoint().is_in_burst() {
                more = More::No;
                break;
            }
        }
        if let Some(last) = train {
            go(tcp, &last, egress, sink);
        }
        if offloads {
            stats.packets_out += egress.send_waiting(tcp, sink);
        }
        more
    }
}

impl Host {
    /// The handshake of a listener's connection has ended. If it is open, it waits to be accepted.
    fn make_ready(&mut self, index: u32, listener: ListenerId) {
        let id = self.table.id(index);
        let Some(connection) = self.table.at_mut(index).filter(|connection| connection.opened) else {
            return;
        };
        match self.listeners.get_mut(listener) {
            Some(listener) => listener.ready.push_back(id),
            None => {
                connection.released = true;
                connection.tcp.abort();
                self.mark_dirty(index);
            }
        }
    }

    /// Announces what has arrived before anything is sent: what applications write at once goes with the acknowledgments of
    /// what they read, in half as many packets where requests are short.
    pub fn announce_arrivals(&mut self, now: Instant) {
        for place in 0..self.dirty.len() {
            let index = self.dirty[place];
            match self.table.at(index) {
                Some(connection) if !connection.embryonic => self.announce(now, index),
                Some(connection) if connection.tcp.endpoint().is_open() => self.settle(now, index),
                _ => {}
            }
        }
    }

    /// Announces a connection's news before its turn, unless it first has to wait to be accepted.
    fn announce(&mut self, now: Instant, index: u32) {
        if let Some(connection) = self.table.at_mut(index).filter(|connection| !connection.embryonic) {
            Self::note_news(&mut self.events, now, index, connection);
        }
    }

    fn note_news(events: &mut VecDeque<u32>, now: Instant, index: u32, connection: &mut Connection) {
        if connection.note_news(now) && !std::mem::replace(&mut connection.announced, true) {
            events.push_back(index);
        }
    }

    /// After a connection's turn: announces its news, frees it if it is over, and sets its next timer.
    fn settle(&mut self, now: Instant, index: u32) {
        let Some(connection) = self.table.at_mut(index) else {
            return;
        };
        connection.tcp.give_back_unused_memory(connection.released);
        Self::note_news(&mut self.events, now, index, connection);
        let (closed, opened) = (connection.tcp.is_closed(), connection.opened);
        let listener = connection.origin.listener();
        let unknown = listener.is_some() && !opened;
        if unknown && !closed && self.keep_half(index) {
            return self.settle_memory(now, index);
        }
        let Some(connection) = self.table.at_mut(index) else {
            return;
        };
        let done = (opened || closed) && std::mem::replace(&mut connection.embryonic, false);
        let released = connection.released;
        if done && let Some(listener) = listener {
            self.listeners.give_place(listener);
            self.make_ready(index, listener);
        }
        let waits = released.then(|| self.table.time_wait(index)).flatten();
        if let Some((path, wait)) = waits {
            self.time_waits.insert(&path, wait, self.config.most_time_waits);
            self.table.free(index);
        } else if closed && (released || unknown) {
            self.table.free(index);
        } else {
            if closed {
                self.table.forget_path(index);
            }
            self.table.arm(index);
        }
        self.settle_memory(now, index);
    }
}
