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

use recoup_recovery::{Transmission, Trigger};
use recoup_tcp::{self as tcp, Flush, Transmit};
use recoup_units::{Instant, Span};
use recoup_wire::{
    CommonHeaders, Ecn, Endpoints, Flags, IpFields, IpVersion, Segment, TCP_CHECKSUM_OFFSET, encode_headers, ip_len,
};

use super::{Connection, Host, ListenerId, Secret, Stats, challenge::ChallengeBudget};
use crate::{LONGEST_SUPER_PACKET, VnetHeader};
use std::collections::VecDeque;

/// Segments a connection sends before others have their turn.
const BURST: u32 = 64;

/// Trains of which a connection sends no more at once, and segments in them.
const TRAINS: u32 = 2;
const TRAINS_BURST: u32 = 256;

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

    /// Takes an IP packet in parts, of which the header says what is left to be done: its checksum is to
    /// be completed, and it may stand for several. Called only if it [`offloads`](Self::offloads).
    fn send_frame(&mut self, header: &VnetHeader, packet: [&[u8]; 3]) {
        let _ = (header, packet);
    }
}

impl<F: FnMut(&[u8])> Sink for F {
    fn send(&mut self, packet: &[u8]) {
        self(packet);
    }
}

/// Which segments may go together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    New,
    Again(Trigger),
    /// Alone.
    Other,
}

impl Kind {
    const fn of(what: Transmit) -> Self {
        match what {
            Transmit::Stream(Transmission::New(_)) => Self::New,
            Transmit::Stream(Transmission::Again(_, trigger)) => Self::Again(trigger),
            Transmit::Stream(Transmission::NewProbe(_) | Transmission::Copy(_) | Transmission::WindowProbe)
            | Transmit::Control => Self::Other,
        }
    }
}

/// Consecutive segments of one connection that go together.
#[derive(Debug)]
struct Train {
    kind: Kind,
    /// All of them, as if they were one.
    segment: Segment,
    /// Where their payload stands in the stream.
    payload: Span,
    /// Payload bytes of each but the last.
    size: u32,
    /// Payload bytes for which there is room.
    room: u32,
    /// Nothing more can join it.
    full: bool,
    /// The ECN field of its packets.
    ecn: Ecn,
}

impl Train {
    /// Flags that end a train (PSH, FIN), or cannot be in one: the payload of a SYN does not begin where its
    /// sequence number says, CWR goes out once (RFC 3168 §6.1.2), a reset carries nothing.
    const ENDS: Flags = Flags::PSH.union(Flags::FIN).union(Flags::SYN).union(Flags::CWR).union(Flags::RST);

    fn new(kind: Kind, segment: &Segment, payload: Span, version: IpVersion) -> Self {
        let size = segment.payload_len;
        let room = (LONGEST_SUPER_PACKET as u32).saturating_sub(ip_len(segment, version));
        let alone = kind == Kind::Other || size == 0 || segment.flags.intersects(Self::ENDS);
        Self { kind, segment: *segment, payload, size, room, full: alone || room < size, ecn: Ecn::NONE }
    }

    /// Takes in a segment if it belongs to those here; whether it does.
    fn join(&mut self, kind: Kind, next: &Segment, payload: Span) -> bool {
        const LAST: Flags = Flags::PSH.union(Flags::FIN);
        let segment = &mut self.segment;
        let joins = !self.full
            && kind == self.kind
            && next.seq == segment.seq + segment.payload_len
            && (1..=self.size).contains(&next.payload_len)
            && next.ack == segment.ack
            && next.window == segment.window
            && next.flags.without(LAST) == segment.flags
            && next.options == segment.options;
        if joins {
            segment.payload_len += next.payload_len;
            segment.flags = next.flags;
            self.payload.end = payload.end;
            self.room -= next.payload_len;
            let last = next.payload_len < self.size || next.flags.intersects(LAST);
            self.full = last || self.room < self.size;
        }
        joins
    }

    /// Takes in `count` segments like the last one, for which there must be room.
    fn lengthen(&mut self, count: u32) {
        let len = count * self.size;
        self.segment.payload_len += len;
        self.payload.end = self.payload.end + u64::from(len);
        self.room -= len;
        self.full |= self.room < self.size;
    }
}

/// Makes packets of segments.
#[derive(Debug, Default)]
pub(crate) struct Egress {
    packet: Vec<u8>,
    headers: CommonHeaders,
    ip_id: u16,
}

impl Egress {
    /// Sends a segment without payload; says how many packets it became.
    pub fn send_bare(&mut self, path: &Endpoints, segment: &Segment, sink: &mut dyn Sink) -> u64 {
        let version = path.ip_version().unwrap_or(IpVersion::V4);
        let train = Train::new(Kind::Other, segment, Span::default(), version);
        self.send_cut(path, &train, [&[]; 2], sink)
    }

    /// Sends segments that go together, cut as they are; says how many packets they became.
    fn send_cut(&mut self, path: &Endpoints, train: &Train, payload: [&[u8]; 2], sink: &mut dyn Sink) -> u64 {
        let segment = &train.segment;
        // Neither this nor what follows can fail: both ends have one IP version, and the payload is as long
        // as the segment says, which is less than the MTU. Otherwise the segment would be as good as lost.
        if self.headers.set(segment, path, train.ecn).is_err() {
            return 0;
        }
        let size = train.size;
        let (mut seq, mut left, mut payload, mut sent) = (segment.seq, segment.payload_len, payload, 0);
        loop {
            let len = left.min(size);
            left -= len;
            let flags = match left {
                0 => segment.flags,
                // Flags that end the segment belong to its last piece.
                _ => segment.flags.without(Flags::FIN | Flags::PSH),
            };
            let piece = take_front(&mut payload, len as usize);
            self.packet.clear();
            self.ip_id = self.ip_id.wrapping_add(1);
            let (id, packet) = (self.ip_id, &mut self.packet);
            if self.headers.encode(seq, flags, id, piece, packet).is_ok() {
                sink.send(packet);
                sent += 1;
            }
            seq += len;
            if left == 0 {
                return sent;
            }
        }
    }

    /// Sends segments that go together, for the sink to cut and sum; says how many packets it was given.
    fn send_train(&mut self, path: &Endpoints, train: &Train, payload: [&[u8]; 2], sink: &mut dyn Sink) -> u64 {
        let segment = &train.segment;
        let Some(version) = path.ip_version() else {
            return 0;
        };
        self.packet.clear();
        self.ip_id = self.ip_id.wrapping_add(1);
        // As in `emit`; and what is cut into several takes an identification each (RFC 791 §3.1).
        if encode_headers(segment, path, IpFields::from(self.ip_id).with_ecn(train.ecn), &mut self.packet).is_err() {
            return 0;
        }
        let headers = self.packet.len() as u32;
        let size = train.size;
        let mut header = VnetHeader {
            flags: VnetHeader::NEEDS_CSUM,
            // All of them fit in 16 bits: the packet does.
            hdr_len: headers as u16,
            csum_start: version.header_len() as u16,
            csum_offset: TCP_CHECKSUM_OFFSET,
            ..VnetHeader::default()
        };
        if segment.payload_len > size {
            header.gso_size = size as u16;
            header.gso_type = match version {
                IpVersion::V4 => VnetHeader::GSO_TCPV4,
                IpVersion::V6 => VnetHeader::GSO_TCPV6,
            };
            let more = (segment.payload_len - 1) / size;
            self.ip_id = self.ip_id.wrapping_add(more as u16);
        }
        sink.send_frame(&header, [&self.packet, payload[0], payload[1]]);
        1
    }
}

/// Takes the first `len` bytes out of a payload in two parts, fewer if there are not as many.
fn take_front<'a>(payload: &mut [&'a [u8]; 2], len: usize) -> [&'a [u8]; 2] {
    payload.each_mut().map({
        let mut left = len;
        move |part| {
            let (taken, rest) = part.split_at(left.min(part.len()));
            left -= taken.len();
            *part = rest;
            taken
        }
    })
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
        let mut go = |tcp: &tcp::Connection, train: &Train| {
            let payload = tcp.payload(train.payload);
            stats.packets_out += if offloads {
                egress.send_train(path, train, payload, sink)
            } else {
                egress.send_cut(path, train, payload, sink)
            };
            trains += 1;
            trains == most_trains
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
        while left > 0 {
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
                go(tcp, &done);
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
            if let Some(done) = train.take_if(|train| train.full)
                && go(tcp, &done)
            {
                return at_end;
            }
            if flush == Flush::Burst && !tcp.endpoint().is_in_burst() {
                more = More::No;
                break;
            }
        }
        if let Some(last) = train {
            go(tcp, &last);
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
