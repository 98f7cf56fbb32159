//! The packets of a round as they wait for their shard. Most take up one cache line.

use super::{
    TimedPacket,
    direction::fingerprint_of,
    ends::ConnectionEnds,
    fields::{PlainPacket, are_plain, fields_of},
    points::Mark,
};
use crate::{
    finding::Renumbering,
    read::{CapturedPacket, Message, Packet, Tunnel},
};
use recoup_units::Instant;
use recoup_wire::{Headers, IpVersion, RareHeaders};
use serde::{Deserialize, Serialize};

/// Packets in the order they were read.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct PackedPackets {
    packets: Vec<PackedPacket>,
    rare: Vec<RareFacts>,
    /// The frame of the first packet.
    first_frame: u64,
}

/// A packet in 64 bytes.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[repr(align(64))]
struct PackedPacket {
    time: Instant,
    headers: Headers,
    link: u32,
    /// From the first packet's frame to this one's.
    frames_after: u32,
    /// The index of its [`RareFacts`], or [`NONE`].
    rare: u32,
    outgoing: Option<bool>,
}

const _: () = assert!(size_of::<PackedPacket>() == 64);

/// Stands for "no rare facts".
const NONE: u32 = u32::MAX;

/// Facts of packets that are unusual in one of them.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct RareFacts {
    /// By its timestamp in the capture, if that is not its time.
    at: Instant,
    frame: u64,
    interface: u32,
    message: Option<Message>,
    tunnel: Tunnel,
    headers: RareHeaders,
}

impl PackedPackets {
    /// Removes all packets.
    pub fn clear(&mut self) {
        self.packets.clear();
        self.rare.clear();
    }

    /// The number of packets.
    pub fn len(&self) -> usize {
        self.packets.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    /// Adds a packet.
    #[inline]
    pub fn push(&mut self, packet: &Packet, time: Instant) {
        if self.packets.is_empty() {
            self.first_frame = packet.frame;
        }
        let frames_after = packet.frame.wrapping_sub(self.first_frame);
        let usual = !packet.headers.has_rare()
            && packet.at == time
            && packet.interface == 0
            && packet.message.is_none()
            && packet.tunnel.is_none()
            && frames_after <= u64::from(u32::MAX);
        let rare = if usual { NONE } else { self.push_rare(packet) };
        self.packets.push(PackedPacket {
            time,
            headers: packet.headers,
            link: packet.link,
            frames_after: frames_after as u32,
            rare,
            outgoing: packet.outgoing,
        });
    }

    fn push_rare(&mut self, packet: &Packet) -> u32 {
        self.rare.push(RareFacts {
            at: packet.at,
            frame: packet.frame,
            interface: packet.interface,
            message: packet.message,
            tunnel: packet.tunnel,
            headers: packet.rare,
        });
        (self.rare.len() - 1) as u32
    }

    /// Gives all frames other numbers.
    pub fn renumber(&mut self, by: Renumbering) {
        self.first_frame = self.first_frame.saturating_add(by.frames);
        for rare in &mut self.rare {
            rare.frame = rare.frame.saturating_add(by.frames);
        }
    }

    /// Adds the packets of `other`, and orders all by time.
    pub fn merge(&mut self, other: &Self) {
        self.extend_from(other, 0);
        self.packets.sort_by_key(|packet| packet.time);
    }

    /// Removes the packets captured later than `until`, and returns them. All are ordered by time.
    pub fn split_off_later(&mut self, until: Instant) -> Self {
        let count = self.packets.partition_point(|packet| packet.time <= until);
        let mut rest = Self::default();
        rest.extend_from(self, count);
        self.packets.truncate(count);
        rest
    }

    /// Adds the packets of `other` from this index on.
    fn extend_from(&mut self, other: &Self, first: usize) {
        for packed in other.packets.iter().skip(first) {
            self.push(&other.packet(packed), packed.time);
        }
    }

    /// All packets, in full.
    pub fn iter(&self) -> impl Iterator<Item = TimedPacket> {
        self.packets.iter().map(|packed| TimedPacket {
            time: packed.time,
            packet: CapturedPacket::from(&self.packet(packed)),
            network: 0,
        })
    }

    fn frame(&self, packed: &PackedPacket) -> u64 {
        self.first_frame.saturating_add(packed.frames_after.into())
    }

    fn packet(&self, packed: &PackedPacket) -> Packet {
        let rare = self.rare.get(packed.rare as usize);
        Packet {
            frame: rare.map_or_else(|| self.frame(packed), |rare| rare.frame),
            at: rare.map_or(packed.time, |rare| rare.at),
            headers: packed.headers,
            link: packed.link,
            interface: rare.map_or(0, |rare| rare.interface),
            outgoing: packed.outgoing,
            message: rare.and_then(|rare| rare.message),
            tunnel: rare.map_or(Tunnel::NONE, |rare| rare.tunnel),
            rare: rare.map_or(RareHeaders::NONE, |rare| rare.headers),
        }
    }

    /// The connection of a packet, and whether its upper end sent the packet.
    #[inline]
    pub fn ends(&self, index: usize) -> (ConnectionEnds, bool) {
        let packed = &self.packets[index];
        let headers = &packed.headers;
        match headers.ip_version() {
            IpVersion::V4 => ConnectionEnds::of_v4(headers.addresses, headers.ports),
            IpVersion::V6 => {
                let rare = self.rare.get(packed.rare as usize);
                let addresses = rare.map_or(RareHeaders::NONE.addresses, |r| r.headers.addresses);
                ConnectionEnds::of_v6(addresses, headers.ports)
            }
        }
    }

    /// The packet, if it is plain.
    #[inline(always)]
    pub fn plain(&self, index: usize) -> Option<PlainPacket> {
        let packed = &self.packets[index];
        let headers = &packed.headers;
        if !are_plain(headers) {
            return None;
        }
        let mut frame = self.frame(packed);
        if let Some(rare) = self.rare.get(packed.rare as usize) {
            if !rare.is_plain(packed) {
                return None;
            }
            frame = rare.frame;
        }
        Some(PlainPacket {
            time: packed.time,
            frame,
            // Of the numbers as they stand in memory, where two are read at once.
            fingerprint: fingerprint_of(&fields_of(headers), &[]),
            fields: fields_of(headers),
            mark: Mark::on_first_interface(packed.link, headers.hop_limit, packed.outgoing),
        })
    }

    /// Writes a packet in full to `full`, which may hold another one. `same_ends`: it holds one with the same endpoints.
    #[inline]
    pub fn unpack(&self, index: usize, same_ends: bool, full: &mut TimedPacket) {
        let packed = &self.packets[index];
        let TimedPacket { time, packet, network } = full;
        let headers = &packed.headers;
        (*time, *network) = (packed.time, 0);
        packet.frame = self.frame(packed);
        packet.at = packed.time;
        if !same_ends {
            headers.write_usual_endpoints(&mut packet.endpoints);
        }
        headers.write_usual_segment(&mut packet.segment);
        packet.ip_id = headers.ip_id();
        packet.hop_limit = headers.hop_limit;
        packet.ecn = headers.ecn();
        packet.options_complete = headers.options_complete();
        packet.overlong = headers.overlong();
        packet.outgoing = packed.outgoing;
        packet.interface = 0;
        packet.link = packed.link;
        packet.message = None;
        packet.tunnel = Tunnel::NONE;
        if let Some(rare) = self.rare.get(packed.rare as usize) {
            rare.unpack(headers, packet);
        }
    }
}

impl RareFacts {
    /// Whether nothing is rare about this packet but its addresses.
    #[inline]
    fn is_plain(&self, packed: &PackedPacket) -> bool {
        packed.headers.has_rare_addresses_only()
            && self.at == packed.time
            && self.interface == 0
            && self.message.is_none()
            && self.tunnel.is_none()
    }

    /// Writes the facts of the packet with these headers.
    fn unpack(&self, headers: &Headers, packet: &mut CapturedPacket) {
        packet.frame = self.frame;
        packet.at = self.at;
        packet.interface = self.interface;
        packet.message = self.message;
        packet.tunnel = self.tunnel;
        headers.write_rare(&self.headers, &mut packet.endpoints, &mut packet.segment);
    }
}

#[cfg(test)]
mod tests;
