//! Decodes frames one by one, as a device gives them.

use super::{
    Counts, Packet, Reason,
    frames::{Frame, Frames},
    link::{Link, ether_type},
    records::RecordSink,
};
use recoup_units::Instant;

/// A frame that a device gives.
#[derive(Clone, Copy, Debug)]
pub struct DeviceFrame<'a> {
    /// When it passed: nanoseconds since 1970.
    pub at: Instant,
    /// The EtherType of the packet that its bytes begin with; `None` if they begin with an Ethernet header.
    pub network: Option<u16>,
    /// The index of its interface.
    pub interface: u32,
    /// Whether this host sent it (`true`) or received it, if known.
    pub outgoing: Option<bool>,
    /// Its first bytes.
    pub data: &'a [u8],
    /// Its length on the wire, from where `data` begins.
    pub on_wire: usize,
}

/// Decodes frames, and numbers and counts them as those of a capture.
#[derive(Debug, Default)]
pub struct FrameDecoder(Frames);

impl FrameDecoder {
    /// Counts a frame. Returns whether it is a segment or an ICMP message about one, which is then in `packet`.
    #[inline]
    pub fn decode(&mut self, frame: &DeviceFrame<'_>, packet: &mut Packet) -> bool {
        let link = match frame.network {
            None => Link::Ethernet,
            Some(ether_type::IPV4 | ether_type::IPV6) => Link::Raw,
            Some(other) => {
                let reason = if other == ether_type::ARP { Reason::Arp } else { Reason::NotIp };
                self.0.skip(reason);
                return false;
            }
        };
        let &DeviceFrame { at, interface, outgoing, data, on_wire, .. } = frame;
        let frame = Frame { at: Ok(at), link: Ok(link), interface, outgoing, data, on_wire };
        self.0.read(frame, packet, &mut ()).is_ok()
    }

    /// The device dropped frames.
    pub fn on_dropped(&mut self, count: u64) {
        self.0.dropped(0, count);
    }

    /// The counts so far.
    pub fn counts(&self) -> &Counts {
        self.0.counts()
    }
}
