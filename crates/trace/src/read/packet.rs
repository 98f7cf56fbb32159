//! Packets between the reader and the analysis: compact, and cheap to pass on.

use super::{CapturedPacket, Message, Tunnel};
use recoup_units::Instant;
use recoup_wire::{Headers, RareHeaders};
use serde::{Deserialize, Serialize};

/// A TCP segment of a capture, or an ICMP message about one, as it is read. It says the same as a
/// [`CapturedPacket`].
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Packet {
    /// The number of its record in the capture, from 1.
    pub frame: u64,
    /// When it was captured: nanoseconds since 1970.
    pub at: Instant,
    pub(crate) headers: Headers,
    /// As [`CapturedPacket::link`].
    pub(crate) link: u32,
    /// As [`CapturedPacket::interface`].
    pub(crate) interface: u32,
    /// As [`CapturedPacket::outgoing`].
    pub(crate) outgoing: Option<bool>,
    /// As [`CapturedPacket::message`].
    pub(crate) message: Option<Message>,
    /// As [`CapturedPacket::tunnel`].
    pub(crate) tunnel: Tunnel,
    /// Left over from an earlier packet, unless `headers` refers to it.
    pub(crate) rare: RareHeaders,
}

impl From<&CapturedPacket> for Packet {
    fn from(packet: &CapturedPacket) -> Self {
        let (mut headers, rare) = Headers::new(&packet.endpoints, &packet.segment);
        headers.hop_limit = packet.hop_limit;
        headers.set_ip_id(packet.ip_id);
        headers.set_ecn(packet.ecn);
        headers.set_options_complete(packet.options_complete);
        headers.set_overlong(packet.overlong);
        Self {
            frame: packet.frame,
            at: packet.at,
            headers,
            link: packet.link,
            interface: packet.interface,
            outgoing: packet.outgoing,
            message: packet.message,
            tunnel: packet.tunnel,
            rare,
        }
    }
}

impl From<&Packet> for CapturedPacket {
    #[inline]
    fn from(packet: &Packet) -> Self {
        let Packet { headers, rare, .. } = packet;
        Self {
            frame: packet.frame,
            at: packet.at,
            endpoints: headers.endpoints(rare),
            segment: headers.segment(rare),
            ip_id: headers.ip_id(),
            hop_limit: headers.hop_limit,
            ecn: headers.ecn(),
            options_complete: headers.options_complete(),
            overlong: headers.overlong(),
            outgoing: packet.outgoing,
            interface: packet.interface,
            link: packet.link,
            message: packet.message,
            tunnel: packet.tunnel,
        }
    }
}
