//! The neighbour cache: which link address an IP address has, and the packets that wait until that is known.
//!
//! It does no I/O and reads no clock. It learns from ARP and neighbour discovery alone, never from other packets.
//!
//! An entry is fresh for 30 s after its neighbour has confirmed it. When it is used later, the neighbour is asked again
//! at its known address, while packets go on (RFC 1122 §2.3.2.1 (3); RFC 4861 §7.3). Without an answer the entry is
//! dropped, and the next packet asks everybody on the link. If nobody answers, the stack gets an ICMP error for each packet
//! that waited (RFC 4861 §7.2.2).
//!
//! Bounds, because anybody on the link may ask, and anybody at all may make the stack answer:
//! - Questions to which no answer has come, each with the packets that wait for it.
//! - Entries. A question of our own drops the entry that was not used for the longest time, which is never that of a
//!   gateway. A question of a neighbour adds one only while there is room.
//!
//! Deviations from RFC 4861: no DELAY state and no hints from TCP, so that a neighbour in use is asked once in 30 s;
//! the time is not randomised.

use super::messages::{self, Arp, BROADCAST, Discovery, Mac, Unreachable, advertisement, solicitation, unreachable};
use crate::VnetHeader;
use std::{
    collections::{HashMap, VecDeque},
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    time::{Duration, Instant},
};

/// How long a confirmation holds (RFC 4861 §10, REACHABLE_TIME).
const FRESH: Duration = Duration::from_secs(30);

/// How often and how many times a neighbour is asked (RFC 4861 §10: RETRANS_TIMER, MAX_MULTICAST_SOLICIT and
/// MAX_UNICAST_SOLICIT; RFC 1122 §2.3.2.1: at most once a second).
const RETRY: Duration = Duration::from_secs(1);
const MOST_QUESTIONS: u8 = 3;

/// Neighbours that are asked at the same time.
const MOST_ASKED: usize = 64;

/// Entries.
const MOST_ENTRIES: usize = 1024;

/// Packets and bytes that wait for one neighbour. The newest replace the oldest (RFC 4861 §7.2.2).
const MOST_WAITING: usize = 32;
const MOST_WAITING_BYTES: usize = 128 << 10;

/// Errors for the stack about packets that go nowhere.
const MOST_ERRORS: usize = 64;

/// An address, and how many of its bits the hosts of its link share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Prefix {
    address: IpAddr,
    len: u8,
}

impl Prefix {
    fn contains(self, other: IpAddr) -> bool {
        match (self.address, other) {
            (IpAddr::V4(a), IpAddr::V4(b)) => {
                (a.to_bits() ^ b.to_bits()).leading_zeros() >= u32::from(self.len.min(32))
            }
            (IpAddr::V6(a), IpAddr::V6(b)) => {
                (a.to_bits() ^ b.to_bits()).leading_zeros() >= u32::from(self.len.min(128))
            }
            _ => false,
        }
    }

    /// Its address with the bits behind the prefix cleared.
    fn network(self) -> Self {
        let address = match self.address {
            IpAddr::V4(ip) => {
                let mask = u32::MAX.checked_shl(32 - u32::from(self.len.min(32))).unwrap_or(0);
                Ipv4Addr::from_bits(ip.to_bits() & mask).into()
            }
            IpAddr::V6(ip) => {
                let mask = u128::MAX.checked_shl(128 - u32::from(self.len.min(128))).unwrap_or(0);
                Ipv6Addr::from_bits(ip.to_bits() & mask).into()
            }
        };
        Self { address, ..self }
    }

    /// Its broadcast address (RFC 1122 §3.2.1.3 (d)).
    fn broadcast(self) -> Option<IpAddr> {
        let IpAddr::V4(ip) = self.address else { return None };
        let hosts = u32::MAX.checked_shr(self.len.into()).unwrap_or(0);
        (self.len < 31).then(|| Ipv4Addr::from_bits(ip.to_bits() | hosts).into())
    }
}

/// A packet that waits.
pub type Waiting = (VnetHeader, Vec<u8>);

/// What is known of a neighbour.
#[derive(Debug)]
struct Neighbor {
    mac: Option<Mac>,
    /// Until when `mac` needs no confirmation.
    fresh_until: Instant,
    used_at: Instant,
    /// Questions since the last answer.
    questions: u8,
    ask_at: Instant,
    /// Our address that asks.
    source: IpAddr,
    waiting: VecDeque<Waiting>,
    waiting_bytes: usize,
}

/// Where a packet goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextHop {
    /// To this link address.
    Known(Mac),
    /// To this neighbour, whose link address is not known.
    Unknown(IpAddr),
    /// Nowhere: it is not on the link, and there is no gateway.
    None,
}

/// What is to be sent.
#[derive(Debug)]
pub enum Outgoing {
    /// A whole frame.
    Frame(Vec<u8>),
    /// A packet that has waited, to a link address.
    Packet(Mac, Waiting),
}

/// The neighbours of an interface.
#[derive(Debug)]
pub struct Neighbors {
    mac: Mac,
    own: Vec<IpAddr>,
    networks: Vec<Prefix>,
    gateways: Vec<IpAddr>,
    entries: HashMap<IpAddr, Neighbor>,
    /// Those that are asked.
    asked: Vec<IpAddr>,
    outgoing: VecDeque<Outgoing>,
    /// Errors for the stack about packets that waited in vain, as packets.
    errors: VecDeque<Vec<u8>>,
    lost: u64,
}

impl Neighbors {
    /// For an interface with this link address, own addresses with the lengths of their prefixes, and gateways.
    pub fn new(mac: Mac, addresses: &[(IpAddr, u8)], gateways: &[IpAddr]) -> Self {
        let mut networks: Vec<Prefix> = Vec::new();
        let link_local = (Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 0).into(), 10);
        for (address, len) in addresses.iter().copied().chain([link_local]) {
            let network = Prefix { address, len }.network();
            if !networks.contains(&network) {
                networks.push(network);
            }
        }
        Self {
            mac,
            own: addresses.iter().map(|(address, _)| *address).collect(),
            networks,
            gateways: gateways.to_vec(),
            entries: HashMap::new(),
            asked: Vec::new(),
            outgoing: VecDeque::new(),
            errors: VecDeque::new(),
            lost: 0,
        }
    }

    /// Whether an address is that of a neighbour.
    pub fn is_on_link(&self, address: IpAddr) -> bool {
        self.networks.iter().any(|network| network.contains(address))
    }

    /// Where a packet to `destination` goes.
    pub fn next_hop(&mut self, now: Instant, destination: IpAddr) -> NextHop {
        if destination.is_multicast() {
            return NextHop::Known(messages::group(destination));
        }
        if destination == IpAddr::V4(Ipv4Addr::BROADCAST) {
            return NextHop::Known(BROADCAST);
        }
        let hop = match self.is_on_link(destination) {
            true => Some(destination),
            false => self.gateways.iter().copied().find(|gateway| gateway.is_ipv4() == destination.is_ipv4()),
        };
        let Some(hop) = hop else {
            return NextHop::None;
        };
        let Some(entry) = self.entries.get_mut(&hop) else {
            let is_broadcast = self.networks.iter().any(|network| network.broadcast() == Some(hop));
            return if is_broadcast { NextHop::Known(BROADCAST) } else { NextHop::Unknown(hop) };
        };
        entry.used_at = now;
        let Some(mac) = entry.mac else {
            return NextHop::Unknown(hop);
        };
        if now >= entry.fresh_until && entry.questions == 0 && self.asked.len() < MOST_ASKED {
            self.asked.push(hop);
            self.ask(now, hop);
        }
        NextHop::Known(mac)
    }

    /// Keeps a packet from `source` until the link address of `hop` is known.
    pub fn hold(&mut self, now: Instant, source: IpAddr, hop: IpAddr, packet: Waiting) {
        if !self.entries.contains_key(&hop) {
            if self.asked.len() >= MOST_ASKED || source.is_ipv4() != hop.is_ipv4() {
                self.lost += 1;
                return;
            }
            self.make_room();
            self.entries.insert(hop, Neighbor::new(now, source));
            self.asked.push(hop);
            self.ask(now, hop);
        }
        let Some(entry) = self.entries.get_mut(&hop) else { return };
        entry.waiting_bytes += packet.1.len();
        entry.waiting.push_back(packet);
        while entry.waiting.len() > MOST_WAITING || entry.waiting_bytes > MOST_WAITING_BYTES && entry.waiting.len() > 1
        {
            let oldest = entry.waiting.pop_front();
            entry.waiting_bytes -= oldest.map_or(0, |(_, packet)| packet.len());
            self.lost += 1;
        }
    }

    /// Drops the entry that was not used for the longest time, if there are as many as there may be.
    fn make_room(&mut self) {
        if self.entries.len() < MOST_ENTRIES {
            return;
        }
        let idle = self.entries.iter().filter(|(ip, entry)| entry.questions == 0 && !self.gateways.contains(ip));
        let oldest = idle.min_by_key(|(_, entry)| entry.used_at).map(|(ip, _)| *ip);
        if let Some(oldest) = oldest {
            self.entries.remove(&oldest);
        }
    }

    /// Asks for the link address of `hop`, which has an entry and is among those asked.
    fn ask(&mut self, now: Instant, hop: IpAddr) {
        let Some(entry) = self.entries.get_mut(&hop) else { return };
        entry.questions += 1;
        entry.ask_at = now + RETRY;
        let frame = match (entry.source, hop) {
            (IpAddr::V4(sender), IpAddr::V4(target)) => {
                let (mac, target_mac) = (self.mac, entry.mac.unwrap_or_default());
                let request = Arp { is_request: true, sender_mac: mac, sender, target_mac, target };
                request.frame(entry.mac.unwrap_or(BROADCAST))
            }
            (IpAddr::V6(source), IpAddr::V6(target)) => solicitation(self.mac, source, target, entry.mac),
            _ => return,
        };
        self.outgoing.push_back(Outgoing::Frame(frame));
    }

    /// When [`on_timer`](Self::on_timer) is due.
    pub fn next_timer(&self) -> Option<Instant> {
        self.asked.iter().filter_map(|ip| self.entries.get(ip)).map(|entry| entry.ask_at).min()
    }

    /// Asks neighbours again that have not answered, or gives them up.
    pub fn on_timer(&mut self, now: Instant) {
        let mut place = 0;
        while let Some(&hop) = self.asked.get(place) {
            match self.entries.get(&hop) {
                Some(entry) if entry.ask_at > now => place += 1,
                Some(entry) if entry.questions < MOST_QUESTIONS => {
                    self.ask(now, hop);
                    place += 1;
                }
                _ => {
                    self.asked.swap_remove(place);
                    let gone = self.entries.remove(&hop);
                    let waited = gone.map_or_else(VecDeque::new, |entry| entry.waiting);
                    self.lost += waited.len() as u64;
                    self.errors
                        .extend(waited.iter().filter_map(|(_, packet)| unreachable(packet, Unreachable::NoAnswer)));
                }
            }
        }
    }

    /// A neighbour's link address is known. Packets that waited for it go out.
    fn learn(&mut self, ip: IpAddr, mac: Mac, fresh_until: Instant) {
        let Some(entry) = self.entries.get_mut(&ip) else { return };
        entry.mac = Some(mac);
        entry.fresh_until = fresh_until;
        entry.questions = 0;
        entry.waiting_bytes = 0;
        self.outgoing.extend(entry.waiting.drain(..).map(|packet| Outgoing::Packet(mac, packet)));
        self.asked.retain(|asked| *asked != ip);
    }

    /// A neighbour has asked, and said where it is. That it gets our answers is not known.
    fn learn_from_question(&mut self, now: Instant, ip: IpAddr, mac: Mac, own: IpAddr) {
        match self.entries.get(&ip) {
            Some(entry) if entry.mac == Some(mac) => {}
            Some(_) => self.learn(ip, mac, now),
            None if self.entries.len() < MOST_ENTRIES && self.is_on_link(ip) => {
                self.entries.insert(ip, Neighbor::new(now, own));
                self.learn(ip, mac, now);
            }
            None => {}
        }
    }

    /// An ARP message arrived (RFC 826, "Packet Reception").
    pub fn on_arp(&mut self, now: Instant, arp: &Arp) {
        let (sender, target) = (IpAddr::from(arp.sender), IpAddr::from(arp.target));
        let is_for_us = self.own.contains(&target);
        // Who has no address yet asks from 0.0.0.0 (RFC 5227 §1.1).
        if !arp.sender.is_unspecified() && !self.own.contains(&sender) {
            match self.entries.get(&sender) {
                Some(_) if is_for_us && !arp.is_request => self.learn(sender, arp.sender_mac, now + FRESH),
                Some(entry) if entry.mac != Some(arp.sender_mac) => self.learn(sender, arp.sender_mac, now),
                None if is_for_us && arp.is_request => self.learn_from_question(now, sender, arp.sender_mac, target),
                _ => {}
            }
        }
        if is_for_us && arp.is_request {
            let answer = Arp {
                is_request: false,
                sender_mac: self.mac,
                sender: arp.target,
                target_mac: arp.sender_mac,
                target: arp.sender,
            };
            self.outgoing.push_back(Outgoing::Frame(answer.frame(arp.sender_mac)));
        }
    }

    /// A message of neighbour discovery arrived (RFC 4861 §7.2.3 to §7.2.5).
    pub fn on_discovery(&mut self, now: Instant, message: &Discovery) {
        match *message {
            Discovery::Solicitation { source, target, mac } => {
                if !self.own.contains(&target.into()) || self.own.contains(&source.into()) {
                    return;
                }
                if let Some(mac) = mac {
                    self.learn_from_question(now, source.into(), mac, target.into());
                }
                let packet = (VnetHeader::default(), advertisement(self.mac, target, source));
                let destination = match source.is_unspecified() {
                    true => NextHop::Known(messages::group(Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1).into())),
                    // It says where it is, though there may be no room to remember it.
                    false => mac.map_or_else(|| self.next_hop(now, source.into()), NextHop::Known),
                };
                match destination {
                    NextHop::Known(mac) => self.outgoing.push_back(Outgoing::Packet(mac, packet)),
                    NextHop::Unknown(hop) => self.hold(now, target.into(), hop, packet),
                    NextHop::None => {}
                }
            }
            Discovery::Advertisement { target, mac, solicited, overrides } => {
                let Some(entry) = self.entries.get_mut(&target.into()) else { return };
                let fresh_until = if solicited { now + FRESH } else { now };
                match (entry.mac, mac.or(entry.mac)) {
                    // It does not say what was asked.
                    (_, None) => {}
                    (Some(known), Some(new)) if known != new && !overrides => {
                        entry.fresh_until = entry.fresh_until.min(now);
                    }
                    (Some(known), Some(new)) if known == new && !solicited => {}
                    (_, Some(new)) => self.learn(target.into(), new, fresh_until),
                }
            }
        }
    }

    /// Takes out what is to be sent.
    pub fn next_outgoing(&mut self) -> Option<Outgoing> {
        self.outgoing.pop_front()
    }

    /// A packet goes nowhere.
    pub fn refuse(&mut self, packet: &[u8]) {
        self.lost += 1;
        if self.errors.len() < MOST_ERRORS {
            self.errors.extend(unreachable(packet, Unreachable::NoRoute));
        }
    }

    /// Takes out an ICMP error for the stack.
    pub fn next_error(&mut self) -> Option<Vec<u8>> {
        self.errors.pop_front()
    }

    /// Takes out the number of packets that were lost.
    pub fn take_lost(&mut self) -> u64 {
        std::mem::take(&mut self.lost)
    }
}

impl Neighbor {
    fn new(now: Instant, source: IpAddr) -> Self {
        Self {
            mac: None,
            fresh_until: now,
            used_at: now,
            questions: 0,
            ask_at: now,
            source,
            waiting: VecDeque::new(),
            waiting_bytes: 0,
        }
    }
}

#[cfg(test)]
mod tests;
