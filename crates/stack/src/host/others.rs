//! Packets that are not segments of TCP: where they go, and what becomes of those that nothing takes.

use recoup_units::Instant;
use recoup_wire::{DecodeError, IpFragment, Unreachable, ip_ends};

use super::{Host, Sink};
use crate::VnetHeader;

/// Protocol numbers.
const ICMP: u8 = 1;
const UDP: u8 = 17;
const ICMP_V6: u8 = 58;

/// What became of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// It was for this host, and did what it does.
    Taken,
    /// It is whole, but nothing of this host asked for it.
    NotTaken,
    /// It is damaged, or makes no sense.
    Ignored,
}

impl Host {
    /// A packet that is no segment of TCP, for the reason given. `None`: it was a fragment, about which all is done.
    pub(super) fn on_other(
        &mut self,
        now: Instant,
        reason: &DecodeError,
        header: &VnetHeader,
        packet: &[u8],
        sink: &mut dyn Sink,
    ) -> Option<Outcome> {
        if matches!(reason, DecodeError::NotTcp(_) | DecodeError::Fragment)
            && let Some(fragment) = IpFragment::read(packet)
        {
            self.on_fragment(now, fragment, packet, sink);
            return None;
        }
        Some(match *reason {
            DecodeError::NotTcp(UDP) => self.on_udp(now, header.vouches_for_checksum(), packet),
            DecodeError::NotTcp(ICMP | ICMP_V6) => self.on_icmp(now, packet),
            DecodeError::NotTcp(_) => self.on_unknown(now, packet),
            DecodeError::Ip(_) if !is_ip(packet) => Outcome::NotTaken,
            _ => Outcome::Ignored,
        })
    }

    /// A packet of a protocol that this host does not have: refused, unless the application takes it.
    fn on_unknown(&mut self, now: Instant, packet: &[u8]) -> Outcome {
        let Some((src, dst)) = ip_ends(packet) else {
            return Outcome::Ignored;
        };
        if self.raw.is_none() && self.is_own(dst) && !self.has_others_to_ask() {
            self.send_unreachable(now, Unreachable::Protocol, packet, dst, src);
        }
        Outcome::NotTaken
    }

    /// A fragment: what it completes is handled as the packet that it is. One for other hosts is not put together.
    fn on_fragment(&mut self, now: Instant, fragment: IpFragment, packet: &[u8], sink: &mut dyn Sink) {
        self.expire_fragments(now);
        let ours = self.is_own(fragment.dst) || self.datagrams.takes_any();
        if !ours || !self.is_from_peer(fragment.src) {
            return self.pass_on(Outcome::NotTaken, &VnetHeader::default(), packet);
        }
        let whole = self.reassembly.add(now, fragment, packet);
        if let Some(whole) = whole {
            match IpFragment::read(&whole) {
                // A fragment of a fragment: nobody sends that.
                Some(_) => self.stats.ignored += 1,
                None => self.on_whole(now, &VnetHeader::default(), &whole, sink),
            }
        }
    }

    /// Ends with a packet: what was not taken goes to the application, if it wants it.
    pub(super) fn pass_on(&mut self, outcome: Outcome, header: &VnetHeader, packet: &[u8]) {
        if outcome == Outcome::NotTaken && self.keep_stray(header, packet) {
            return;
        }
        match (outcome, &mut self.raw) {
            (Outcome::Taken, _) => {}
            (Outcome::NotTaken, Some(raw)) => self.stats.raw_dropped += u64::from(!raw.put(header, packet)),
            (Outcome::NotTaken, None) | (Outcome::Ignored, _) => self.stats.ignored += 1,
        }
    }
}

/// Whether the bytes say that they are IP.
fn is_ip(packet: &[u8]) -> bool {
    packet.first().is_none_or(|first| matches!(first >> 4, 4 | 6))
}
