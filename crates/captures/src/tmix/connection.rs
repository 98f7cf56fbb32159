//! Writes of the applications of one connection, from its packets at one point of the network.
//!
//! New data of a host belongs to its application data unit before, unless
//!
//! - data of the other host came in between: then it answers that data, or
//! - nothing was sent for [`QUIET`] while everything was acknowledged: then the application paused.
//!
//! Hernández-Campos, "Generation and Validation of Empirically-Derived TCP Application Workloads", 2006, chapter 3,
//! has the same rules. The connection is concurrent if a host sent new data before the other's last data had reached
//! it, as the acknowledgment numbers of both tell.
//!
//! A host's wait is what the capture shows less the round trip between capture and host. That is the least time in
//! which the host answered: with a SYN-ACK, the handshake's ACK, or an ACK of data.

use super::sent_bytes::{Data, SentBytes};
use recoup_sim::traffic::cvec::{ConnectionVector, DataUnit, Pattern, Wait};
use recoup_tcp::flow::Host;
use recoup_trace::read::CapturedPacket;
use recoup_units::Instant;
use recoup_wire::{Endpoints, Flags};
use std::net::SocketAddr;
use std::time::Duration;

/// A pause of an application is longer than this.
pub(crate) const QUIET: Duration = Duration::from_millis(500);

/// The bytes that timestamps take from a segment.
const TIMESTAMPS: u16 = 12;

/// A connection under way.
#[derive(Debug)]
pub(super) struct Connection {
    endpoints: Endpoints,
    began: Instant,
    /// The client, the server.
    ends: [End; 2],
    handshake: Handshake,
    sequential: Units,
    /// The units of both hosts, each apart, with the time since the handshake at which they began.
    concurrent: [Units; 2],
    is_concurrent: bool,
    /// When the connection was established.
    established: Instant,
    /// Who closed first, and after how long.
    closed: Option<(Host, Wait)>,
    pub last_at: Instant,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Handshake {
    Syn,
    SynAck,
    Done,
}

/// The data of one host.
#[derive(Clone, Debug, Default)]
struct End {
    bytes: SentBytes,
    /// Data segments, and those sent again.
    segments: u64,
    again: u64,
    mss: Option<u16>,
    window_scale: Option<u8>,
    timestamps: bool,
    largest_window: u64,
    /// When its data was last new.
    last_new: Option<Instant>,
    /// When a segment passed, and where its data ends, until that is acknowledged.
    timed: Option<(Instant, u64)>,
    /// The least time in which the other host answered what this one sent.
    far_rtt: Option<Duration>,
    /// Whether it sent its SYN again.
    repeats_syn: bool,
}

/// Units in the order of their beginning.
#[derive(Clone, Debug, Default)]
struct Units {
    units: Vec<DataUnit>,
    /// When the last unit's first bytes passed.
    began: Option<Instant>,
}

impl Connection {
    /// A connection that begins with this SYN.
    pub fn new(syn: &CapturedPacket) -> Self {
        let mut connection = Self {
            endpoints: syn.endpoints,
            began: syn.at,
            ends: [End::default(), End::default()],
            handshake: Handshake::Syn,
            sequential: Units::default(),
            concurrent: [Units::default(), Units::default()],
            is_concurrent: false,
            established: syn.at,
            closed: None,
            last_at: syn.at,
        };
        connection.ends[0].open(syn);
        connection
    }

    /// When its first SYN passed.
    pub const fn began(&self) -> Instant {
        self.began
    }

    /// Its ends, to order connections by.
    pub const fn ends_key(&self) -> (SocketAddr, SocketAddr) {
        (self.endpoints.src, self.endpoints.dst)
    }

    /// Whether its whole handshake was seen.
    pub fn is_established(&self) -> bool {
        self.handshake == Handshake::Done
    }

    /// Whether a host closed or reset it.
    pub const fn is_closed(&self) -> bool {
        self.closed.is_some()
    }

    /// Whether this SYN of the client begins another connection between the same ends.
    pub fn is_other(&self, syn: &CapturedPacket) -> bool {
        self.ends[0].bytes.isn() != Some(syn.segment.seq)
    }

    /// A further packet.
    pub fn packet(&mut self, from: Host, packet: &CapturedPacket) {
        self.last_at = packet.at;
        let segment = &packet.segment;
        let has = |flag| segment.flags.contains(flag);
        let us = from as usize;
        if has(Flags::RST) {
            let wait = self.wait_to_close(from, packet.at);
            self.closed.get_or_insert((from, wait));
            return;
        }
        if has(Flags::SYN) {
            return self.syn(from, packet);
        }
        if self.ends[us].bytes.isn().is_none() {
            return;
        }
        let scale = match self.ends.iter().all(|end| end.window_scale.is_some()) {
            true => self.ends[us].window_scale.unwrap_or(0),
            false => 0,
        };
        let window = u64::from(segment.window) << scale;
        self.ends[us].largest_window = self.ends[us].largest_window.max(window);
        if has(Flags::ACK) {
            self.acknowledgment(from, packet);
        }
        if segment.payload_len > 0 {
            self.data(from, packet);
        }
        if has(Flags::FIN) && self.closed.is_none() {
            let wait = self.wait_to_close(from, packet.at);
            self.closed = Some((from, wait));
        }
    }

    fn syn(&mut self, from: Host, packet: &CapturedPacket) {
        let us = from as usize;
        let known = self.ends[us].bytes.isn().is_some();
        self.ends[us].repeats_syn |= known;
        if known {
            return;
        }
        self.ends[us].open(packet);
        if from == Host::Server && self.handshake == Handshake::Syn {
            self.handshake = Handshake::SynAck;
            // A repeated SYN leaves open which one was answered.
            if !self.ends[0].repeats_syn {
                self.ends[0].far(packet.at.since(self.began));
            }
            self.established = packet.at;
        }
    }

    fn acknowledgment(&mut self, from: Host, packet: &CapturedPacket) {
        let other = from.peer() as usize;
        if self.handshake == Handshake::SynAck && from == Host::Client {
            self.handshake = Handshake::Done;
            if !self.ends[other].repeats_syn {
                self.ends[other].far(packet.at.since(self.established));
            }
            self.established = packet.at;
        }
        let end = &mut self.ends[other];
        let acked = end.bytes.acknowledge(packet.segment.ack);
        if let Some((at, byte)) = end.timed
            && acked >= byte
        {
            end.timed = None;
            end.far(packet.at.since(at));
        }
    }

    fn data(&mut self, from: Host, packet: &CapturedPacket) {
        let segment = &packet.segment;
        let at = packet.at;
        let established = self.established_at(from);
        let [client, server] = &mut self.ends;
        let (us, other) = match from {
            Host::Client => (client, server),
            Host::Server => (server, client),
        };
        let quiet_before = us.bytes.is_acknowledged();
        let mss = u64::from(us.segment_size(other));
        let segments = u64::from(segment.payload_len).div_ceil(mss.max(1));
        let new = match us.bytes.send(segment) {
            Data::Foreign | Data::Probe => return,
            Data::Again => {
                us.segments += segments;
                us.again += segments;
                // An ACK may now be of either transmission (Karn).
                us.timed = None;
                return;
            }
            Data::New(new) => new,
        };
        us.segments += segments;
        us.timed.get_or_insert((at, us.bytes.sent()));
        let last_new = us.last_new.replace(at);
        let paused = quiet_before && last_new.is_some_and(|last| at.since(last) > QUIET);

        let own = &mut self.concurrent[from as usize];
        match own.units.is_empty() || paused {
            true => {
                let since = own.began.unwrap_or(established);
                own.begin(from, Wait::AfterSending(at.since(since)), new, at);
            }
            false => own.add(new),
        }

        let both = &mut self.sequential;
        match both.units.last().map(|unit| unit.from) {
            Some(last) if last != from => {
                self.is_concurrent |= other.bytes.sent() > other.bytes.place_of(segment.ack);
                let heard = other.last_new.unwrap_or(self.established);
                let wait = at.since(heard).saturating_sub(other.far_rtt.unwrap_or_default());
                both.begin(from, Wait::AfterReceiving(wait), new, at);
            }
            Some(_) if !paused => both.add(new),
            last => {
                let since = both.began.filter(|_| last.is_some()).unwrap_or(established);
                both.begin(from, Wait::AfterSending(at.since(since)), new, at);
            }
        }
    }

    /// When what a host sends would pass, had it sent it as soon as it was established.
    fn established_at(&self, host: Host) -> Instant {
        match host {
            Host::Client => self.established,
            // The client's ACK has to reach it first.
            Host::Server => self.established + self.ends[0].far_rtt.unwrap_or_default(),
        }
    }

    /// How long a host waited before it closed.
    fn wait_to_close(&self, from: Host, at: Instant) -> Wait {
        let [ours, other] = [from, from.peer()].map(|host| &self.ends[host as usize]);
        match (ours.last_new, other.last_new) {
            (ours, Some(heard)) if ours.is_none_or(|ours| heard > ours) => {
                Wait::AfterReceiving(at.since(heard).saturating_sub(other.far_rtt.unwrap_or_default()))
            }
            (ours, _) => {
                let since = ours.unwrap_or_else(|| self.established_at(from));
                Wait::AfterSending(at.since(since))
            }
        }
    }

    /// The connection as a vector without a number, whose start counts from [`Instant::ZERO`]; `None` if its handshake is
    /// not in the capture.
    pub fn vector(&self) -> Option<ConnectionVector> {
        if self.handshake != Handshake::Done {
            return None;
        }
        let [client, server] = &self.ends;
        let (pattern, mut units) = match self.is_concurrent {
            false => (Pattern::Sequential, self.sequential.units.clone()),
            true => {
                let both = self.concurrent.iter().flat_map(|own| &own.units);
                (Pattern::Concurrent, both.copied().collect())
            }
        };
        if let Some((from, wait)) = self.closed {
            let bytes = 0;
            // In a concurrent vector a host waits for nobody.
            let wait = match pattern {
                Pattern::Sequential => wait,
                Pattern::Concurrent => Wait::AfterSending(wait.duration()),
            };
            units.push(DataUnit { from, wait, bytes });
        }
        let rtt = client.far_rtt.zip(server.far_rtt);
        let window = |end: &End| end.largest_window;
        Some(ConnectionVector {
            start: self.began.since(Instant::ZERO),
            id: 0,
            pattern,
            windows: Some([window(client), window(server)]),
            segment_sizes: Some([client.segment_size(server), server.segment_size(client)]),
            min_rtt: rtt.map(|(one, other)| one + other),
            loss: [client.loss(), server.loss()],
            units,
        })
    }
}

impl End {
    fn open(&mut self, syn: &CapturedPacket) {
        let segment = &syn.segment;
        self.bytes.open(segment.seq);
        self.mss = segment.options.mss;
        self.window_scale = segment.options.window_scale;
        self.timestamps = segment.options.timestamps.is_some();
        self.largest_window = u64::from(segment.window);
    }

    /// Takes a time in which the other host answered.
    fn far(&mut self, rtt: Duration) {
        self.far_rtt = Some(self.far_rtt.map_or(rtt, |known| known.min(rtt)));
    }

    /// The payload of a full segment that it sends to `other`.
    fn segment_size(&self, other: &Self) -> u16 {
        // RFC 9293 §3.7.1: 536 without the option.
        let mss = other.mss.unwrap_or(536).max(TIMESTAMPS + 1);
        match self.timestamps && other.timestamps {
            true => mss - TIMESTAMPS,
            false => mss,
        }
    }

    /// The share of its data segments that it sent again.
    fn loss(&self) -> f64 {
        self.again as f64 / self.segments.max(1) as f64
    }
}

impl Units {
    fn begin(&mut self, from: Host, wait: Wait, bytes: u64, at: Instant) {
        self.units.push(DataUnit { from, wait, bytes });
        self.began = Some(at);
    }

    fn add(&mut self, bytes: u64) {
        if let Some(last) = self.units.last_mut() {
            last.bytes += bytes;
        }
    }
}
