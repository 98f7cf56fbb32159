//! The MSS of a direction.
//!
//! If both SYNs were captured, it is the smaller MSS option (RFC 9293 §3.7.1), less the room that
//! timestamps take if both ends use them (RFC 6691 §2). A sender's own option may be smaller than what it
//! sends, if the path MTU that it remembered has expired: a payload as long as the peer accepts shows that.
//!
//! Otherwise payloads decide. The longest payload may be several segments, because hosts leave
//! segmentation to their network card. A payload that fits a 1500-byte packet is one segment. A
//! longer one is one segment only if several in a row are as long as 9000-byte packets, the one
//! larger size in use.

use crate::attribute::replay::USUAL_MSS;
use serde::{Deserialize, Serialize};

/// The most payload of a 1500-byte packet (IPv4 and TCP without options), in bytes.
const ETHERNET_PAYLOAD: u32 = 1460;

/// Payloads of 9000-byte packets in bytes, from IPv6 with timestamps and a tunnel to IPv4 without
/// either.
const JUMBO_PAYLOADS: std::ops::RangeInclusive<u32> = 8868..=8960;

/// Payloads of one length in a row that are no coincidence.
const IN_A_ROW: u8 = 4;

/// The largest payload of a segment, in bytes.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Mss {
    bytes: u32,
    /// It comes from the handshake.
    agreed: bool,
    /// The longest payload that the peer's MSS option permits; 0 if unknown.
    accepted: u32,
    /// The last payload longer than a 1500-byte packet holds, and how many of that length came in a
    /// row.
    long: (u32, u8),
}

impl Mss {
    /// At least 1.
    #[inline]
    pub fn bytes(&self) -> u32 {
        self.bytes.max(1)
    }

    /// The MSS, or the usual one while nothing is known.
    pub fn bytes_or_usual(&self) -> u32 {
        match self.bytes {
            0 => USUAL_MSS,
            known => known,
        }
    }

    /// Takes the MSS options of the handshake: the sender's own, if it was captured, and the
    /// peer's.
    pub fn agree(&mut self, own: Option<u16>, peer: u16, timestamps: bool) {
        let options = if timestamps { 12 } else { 0 };
        let most = own.map_or(peer, |own| own.min(peer));
        self.bytes = u32::from(most).saturating_sub(options);
        self.accepted = u32::from(peer).saturating_sub(options);
        self.agreed = true;
    }

    /// A packet with this much payload was sent.
    #[inline]
    pub fn on_payload(&mut self, len: u32) {
        if len > self.bytes {
            if !self.agreed {
                self.guess(len);
            } else if len == self.accepted {
                self.bytes = len;
            }
        }
    }

    #[cold]
    fn guess(&mut self, len: u32) {
        if len <= ETHERNET_PAYLOAD {
            self.bytes = len;
            return;
        }
        let same = if len == self.long.0 { self.long.1 } else { 0 };
        self.long = (len, same.saturating_add(1));
        if JUMBO_PAYLOADS.contains(&len) && self.long.1 >= IN_A_ROW {
            self.bytes = len;
        } else if !len.is_multiple_of(self.bytes()) || self.bytes < LEAST_FULL_SEGMENT {
            self.bytes = self.bytes.max(USUAL_MSS);
        }
    }
}

/// Full segments are hardly ever shorter, in bytes (RFC 9293 §3.7.1: every IPv4 host accepts this).
pub(super) const LEAST_FULL_SEGMENT: u32 = 536;

#[cfg(test)]
mod tests;
