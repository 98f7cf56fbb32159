//! A guest as the machine under test: a script's packets become IP packets, and the guest's become a script's.
//!
//! A guest chooses its initial sequence number. Its numbers are shifted here, so that its SYN has the script's. It starts
//! with its first call, when its options are known. Where a script calls nothing before the first packet arrives, the guest
//! listens at another port than the one that the packets go to.

use super::host::Stopped;
use recoup_guest::{About, Guest, Input, Setup, Status};
use recoup_tcp::Config;
use recoup_units::Instant;
use recoup_wire::{Checksum, Endpoints, Flags, Options, Payload, Segment, SeqNumber, decode, encode};
use std::{
    collections::BTreeMap,
    net::{IpAddr, Ipv4Addr, SocketAddr},
};

/// Makes a guest.
pub type MakeGuest<'a> = dyn FnMut(&Setup) -> Result<Box<dyn Guest>, recoup_guest::Failed> + 'a;

const LOCAL: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1)), 8080);
const PEER: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(192, 0, 2, 2)), 40_000);

/// The headers of IPv4 and TCP without options, in bytes.
const HEADERS: u16 = 40;

/// The MSS of a peer that does not announce one (RFC 9293 §3.7.1).
const DEFAULT_MSS: u32 = 536;

pub(crate) struct GuestHost<'a> {
    make: &'a mut MakeGuest<'a>,
    guest: Option<Box<dyn Guest>>,
    setup: Setup,
    pub status: Status,
    /// What is written when there is room.
    pub unwritten: u64,
    /// Whether the application has closed its side.
    pub closed: bool,
    /// Its own end; the port of a client is known with its first packet.
    local: Option<SocketAddr>,
    /// The script's initial sequence number for it.
    isn: SeqNumber,
    /// How far its sequence numbers are ahead of the script's, once it has sent a SYN.
    ahead: Option<u32>,
    /// Whether the peer's SYN and its own have timestamps.
    timestamps: [bool; 2],
    /// The MSS that the peer announced.
    peer_mss: Option<u32>,
    /// Packets of the last step, before they are decoded.
    packets: Vec<Vec<u8>>,
}

impl std::fmt::Debug for GuestHost<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("GuestHost").field("status", &self.status).field("ahead", &self.ahead).finish_non_exhaustive()
    }
}

impl<'a> GuestHost<'a> {
    pub fn new(make: &'a mut MakeGuest<'a>, seed: u64, mss: Option<u16>, isn: SeqNumber) -> Self {
        let mtu = mss.map_or(1500, |mss| mss.saturating_add(HEADERS));
        Self {
            make,
            guest: None,
            setup: Setup { seed, mtu, local: LOCAL, peer: PEER, options: BTreeMap::new() },
            status: Status::default(),
            unwritten: 0,
            closed: false,
            local: None,
            isn,
            ahead: None,
            timestamps: [false; 2],
            peer_mss: None,
            packets: Vec::new(),
        }
    }

    pub fn about(&self) -> Option<&About> {
        self.guest.as_ref().map(|guest| guest.about())
    }

    pub fn has_begun(&self) -> bool {
        self.guest.is_some()
    }

    /// Asks for an option before it begins.
    pub fn option(&mut self, name: &str, value: impl ToString) {
        self.setup.options.insert(name.into(), value.to_string());
    }

    /// The payload of its full segments.
    pub fn mss(&self) -> u32 {
        let mss = self.peer_mss.unwrap_or(DEFAULT_MSS).min(u32::from(self.setup.mtu.saturating_sub(HEADERS)));
        let timestamps = self.timestamps == [true; 2];
        mss.saturating_sub(if timestamps { u32::from(Config::TIMESTAMPS_LEN) } else { 0 })
    }

    pub fn begin(&mut self, now: Instant, how: Input<'_>) -> Result<(), Stopped> {
        if how == Input::Listen {
            self.local = Some(LOCAL);
        }
        self.guest = Some((self.make)(&self.setup).map_err(|failed| match self.setup.options.is_empty() {
            true => Stopped::Guest(failed.0),
            false => Stopped::Lacks(failed.0),
        })?);
        self.step(now, how)
    }

    /// A step, and writing what waits for room.
    pub fn step(&mut self, now: Instant, input: Input<'_>) -> Result<(), Stopped> {
        let Some(guest) = &mut self.guest else { return Ok(()) };
        let broken = |failed: recoup_guest::Failed| Stopped::Guest(failed.0);
        self.status = guest.step(now, input, &mut self.packets).map_err(broken)?;
        let taken = self.status.taken;
        while self.unwritten > 0 && self.status.open && self.status.writable > 0 {
            self.status = guest.step(now, Input::Write(self.unwritten), &mut self.packets).map_err(broken)?;
            if self.status.taken == 0 {
                break;
            }
            self.unwritten = self.unwritten.saturating_sub(self.status.taken);
        }
        self.status.taken = taken;
        Ok(())
    }

    /// A segment of the script arrives.
    pub fn receive(&mut self, now: Instant, mut segment: Segment) -> Result<(), Stopped> {
        if !self.has_begun() {
            self.begin(now, Input::Listen)?;
            self.local = Some(SocketAddr::new(LOCAL.ip(), LOCAL.port() + 1));
        }
        if segment.flags.contains(Flags::SYN) {
            self.timestamps[0] = segment.options.timestamps.is_some();
            self.peer_mss = segment.options.mss.map(u32::from).or(self.peer_mss);
        }
        let ahead = self.ahead.unwrap_or(0);
        if segment.flags.contains(Flags::ACK) {
            segment.ack += ahead;
        }
        let blocks: Vec<_> = segment.options.sack.iter().collect();
        segment.options.sack.clear();
        for [left, right] in blocks {
            segment.options.sack.push([left + ahead, right + ahead]);
        }
        let path = Endpoints { src: PEER, dst: self.local.unwrap_or(LOCAL) };
        let mut packet = Vec::new();
        let made = encode(&segment, &path, 0, Payload::Fill(0), &mut packet);
        made.map_err(|error| Stopped::Guest(error.to_string()))?;
        self.step(now, Input::Packet(&packet))
    }

    /// Takes out the segments that it has sent, with the script's sequence numbers.
    pub fn sent(&mut self) -> Result<Vec<Segment>, Stopped> {
        let packets = std::mem::take(&mut self.packets);
        let mut segments = Vec::new();
        for packet in &packets {
            segments.extend(self.segment(packet)?);
        }
        Ok(segments)
    }

    /// The segment in a packet; `None` of another protocol.
    fn segment(&mut self, packet: &[u8]) -> Result<Option<Segment>, Stopped> {
        const OTHERS: [u8; 4] = [1, 2, 17, 58];
        let decoded = match decode(packet) {
            Ok(decoded) => decoded,
            Err(recoup_wire::DecodeError::NotTcp(protocol)) if OTHERS.contains(&protocol) => return Ok(None),
            Err(error) => return Err(Stopped::Sends(format!("what is no packet: {error}"))),
        };
        if !decoded.ip_checksum_ok || decoded.tcp_checksum != Checksum::Correct {
            return Err(Stopped::Sends("a packet with a wrong checksum".into()));
        }
        let Endpoints { src, dst } = decoded.endpoints;
        let local = *self.local.get_or_insert(src);
        if (src, dst) != (local, PEER) {
            return Err(Stopped::Sends(format!("a packet from {src} to {dst}, expected from {local} to {PEER}")));
        }
        if packet.len() > usize::from(self.setup.mtu) {
            let (len, mtu) = (packet.len(), self.setup.mtu);
            return Err(Stopped::Sends(format!("a packet of {len} bytes, expected at most {mtu}, its MTU")));
        }
        let mut segment = decoded.segment;
        if segment.flags.contains(Flags::SYN) {
            self.timestamps[1] = segment.options.timestamps.is_some();
            self.ahead.get_or_insert(segment.seq.0.wrapping_sub(self.isn.0));
        }
        segment.seq = segment.seq - self.ahead.unwrap_or(0);
        Ok(Some(segment))
    }
}

/// The options of a SYN that a script may need.
pub(super) fn offers(options: &Options, need: crate::script::Need) -> bool {
    use crate::script::Need;
    match need {
        Need::Mss => options.mss.is_some(),
        Need::Sack => options.sack_permitted,
        Need::Timestamps => options.timestamps.is_some(),
        Need::WindowScale => options.window_scale.is_some(),
    }
}
