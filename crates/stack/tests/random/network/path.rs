//! The path between hosts: a router that loses, delays, reorders, copies, damages and marks packets, and links
//! that take only short ones.

use super::choices::{Choices, Draws};
use super::packets;
use recoup_units::Instant;
use recoup_wire::{Ecn, IcmpMessage, IpFields, cut_into_fragments, encode_icmp, quotable};
use std::{
    cmp::Reverse,
    collections::{BinaryHeap, VecDeque},
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    time::Duration,
};

/// Hosts at most.
pub const HOSTS: usize = 3;
/// The number of the router among addresses.
const ROUTER: usize = 253;
/// Packets seen lately, for those who forge.
const SEEN: usize = 32;

/// The addresses of a host.
pub fn addresses(host: usize) -> [IpAddr; 2] {
    let number = host as u8 + 1;
    [Ipv4Addr::new(10, 0, 0, number).into(), Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, number.into()).into()]
}

/// Whose address a packet is to.
fn destination(packet: &[u8]) -> Option<usize> {
    let (octets, prefix): (&[u8], &[u8]) = match packet.first()? >> 4 {
        4 => (packet.get(16..20)?, &[10, 0, 0]),
        6 => (packet.get(24..40)?, &[0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]),
        _ => return None,
    };
    let (last, first) = octets.split_last()?;
    (first == prefix && (1..=HOSTS as u8).contains(last)).then(|| usize::from(*last) - 1)
}

/// What the path does to packets. Probabilities are of 256.
#[derive(Clone, Copy, Debug)]
pub struct Weather {
    loss: u16,
    copies: u16,
    damage: u16,
    late: u16,
    mark: u16,
    delay: Duration,
    jitter: Duration,
    /// Packets that are too long vanish without a word.
    pub black_hole: bool,
}

impl Weather {
    /// A path without faults.
    pub const CALM: Self = Self {
        loss: 0,
        copies: 0,
        damage: 0,
        late: 0,
        mark: 0,
        delay: Duration::from_millis(5),
        jitter: Duration::ZERO,
        black_hole: false,
    };

    /// Without faults. A link that swallows what is too long may stay one.
    pub const fn calmed(self) -> Self {
        Self { black_hole: self.black_hole, ..Self::CALM }
    }

    /// Any; calm at the end of the choices.
    pub fn any(choices: &mut Choices<'_>) -> Self {
        let delay = Duration::from_micros(choices.one(&[5_000, 1, 100, 1_000, 20_000, 100_000, 300_000]));
        Self {
            loss: choices.one(&[0, 0, 3, 8, 13, 26, 80, 128]),
            copies: choices.one(&[0, 0, 5, 30]),
            damage: choices.one(&[0, 0, 3, 20]),
            late: choices.one(&[0, 0, 10, 60]),
            mark: choices.one(&[0, 0, 20, 200]),
            delay,
            jitter: delay * choices.one(&[0, 1, 3, 20]),
            black_hole: choices.chance(20),
        }
    }
}

/// A packet in flight.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Packet {
    /// When it arrives, and its number among those that arrive then.
    at: Instant,
    number: u64,
    /// The host that it arrives at.
    pub to: usize,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

/// What became of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It arrives as it is.
    Arrives,
    /// It does not arrive, or damaged.
    Lost,
}

/// The path between all hosts.
#[derive(Debug)]
pub struct Path {
    /// What it does.
    pub weather: Weather,
    /// Bytes of a packet that each host's link takes.
    pub mtus: [u16; HOSTS],
    /// Packets forwarded lately.
    pub seen: VecDeque<Vec<u8>>,
    flying: BinaryHeap<Reverse<Packet>>,
    number: u64,
    draws: Draws,
    spare: Vec<Vec<u8>>,
}

impl Path {
    /// One without faults.
    pub fn new(draws: Draws) -> Self {
        Self {
            weather: Weather::CALM,
            mtus: [u16::MAX; HOSTS],
            seen: VecDeque::new(),
            flying: BinaryHeap::new(),
            number: 0,
            draws,
            spare: Vec::new(),
        }
    }

    /// When the next packet arrives.
    pub fn next(&self) -> Option<Instant> {
        self.flying.peek().map(|packet| packet.0.at)
    }

    /// Takes out a packet that arrives by `now`.
    pub fn take(&mut self, now: Instant) -> Option<Packet> {
        self.next().filter(|at| *at <= now)?;
        self.flying.pop().map(|packet| packet.0)
    }

    /// Takes back the memory of a packet.
    pub fn reuse(&mut self, bytes: Vec<u8>) {
        if self.spare.len() < 1000 {
            self.spare.push(bytes);
        }
    }

    /// Puts a packet into the network as it is, to arrive after the usual delay.
    pub fn put(&mut self, now: Instant, to: usize, packet: &[u8]) {
        let mut bytes = self.spare.pop().unwrap_or_default();
        bytes.clear();
        bytes.extend_from_slice(packet);
        let Weather { delay, jitter, late, .. } = self.weather;
        let mut extra = self.draws.below(jitter.as_nanos() as u64 + 1);
        if self.draws.chance(late) {
            extra += self.draws.below(20 * delay.as_nanos() as u64);
        }
        self.number += 1;
        let at = now + delay + Duration::from_nanos(extra);
        self.flying.push(Reverse(Packet { at, number: self.number, to, bytes }));
    }

    /// Forwards a packet that a host sent.
    pub fn forward(&mut self, now: Instant, from: usize, packet: &[u8]) -> Fate {
        let Some(to) = destination(packet) else {
            return Fate::Arrives; // It leaves the network.
        };
        if self.draws.chance(8) {
            if self.seen.len() == SEEN {
                self.seen.pop_front();
            }
            self.seen.push_back(packet.to_vec());
        }
        let weather = self.weather;
        if self.draws.chance(weather.loss) {
            return Fate::Lost;
        }
        // IPv6 needs links that take 1280 bytes (RFC 8200 §5).
        let v6 = packet.first().is_some_and(|first| first >> 4 == 6);
        let mtu = self.mtus[from].min(self.mtus[to]).max(if v6 { 1280 } else { 0 });
        if packet.len() > usize::from(mtu) {
            return self.too_long(now, from, to, mtu, packet);
        }
        if self.draws.chance(weather.damage) {
            let mut damaged = packet.to_vec();
            let bit = self.draws.below(8 * damaged.len() as u64) as usize;
            damaged[bit / 8] ^= 1 << (bit % 8);
            self.put(now, to, &damaged);
            return Fate::Lost;
        }
        if self.draws.chance(weather.copies) {
            self.put(now, to, packet);
        }
        if self.draws.chance(weather.mark) && packets::ecn(packet).is_capable() {
            let mut marked = packet.to_vec();
            packets::set_ecn(&mut marked, Ecn::from_ip(0b11));
            self.put(now, to, &marked);
        } else {
            self.put(now, to, packet);
        }
        Fate::Arrives
    }

    /// A packet that a link does not take: it is cut, or its sender notified (RFC 791 §3.2, RFC 1191 §4, RFC 4443 §3.2).
    fn too_long(&mut self, now: Instant, from: usize, to: usize, mtu: u16, packet: &[u8]) -> Fate {
        if packets::may_be_cut(packet) {
            let mut pieces = Vec::new();
            let cut = cut_into_fragments(packet, mtu.into(), 0, &mut Vec::new(), &mut |piece| {
                pieces.push(piece.to_vec());
            });
            for piece in &pieces {
                self.put(now, to, piece);
            }
            return if cut.is_ok() { Fate::Arrives } else { Fate::Lost };
        }
        if !self.weather.black_hole {
            let v6 = packet.first().is_some_and(|first| first >> 4 == 6);
            let (router, sender) = (addresses(ROUTER)[usize::from(v6)], addresses(from)[usize::from(v6)]);
            let mut notice = Vec::new();
            let message = IcmpMessage::TooBig { mtu: mtu.into() };
            let fields = IpFields::from(0);
            if encode_icmp(router, sender, fields, message, quotable(packet), &mut notice).is_ok() {
                self.put(now, from, &notice);
            }
        }
        Fate::Lost
    }
}
