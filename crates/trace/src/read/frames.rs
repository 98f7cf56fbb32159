//! Frames to segments, and the count of both.

use super::link::{Inside, Link};
use super::{Counts, Oddity, Packet, Reason};
use recoup_units::Instant;
use recoup_wire::{DecodeError, Endpoints, Segment, decode_headers};
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};

/// A frame as a container has it.
pub(super) struct Frame<'a> {
    /// `Err` with the nearest there is, when there is no such time.
    pub at: Result<Instant, Instant>,
    pub link: Link,
    pub interface: u32,
    pub outgoing: Option<bool>,
    /// What was captured.
    pub data: &'a [u8],
    /// How long it was.
    pub on_wire: usize,
}

/// The frames of a capture as they go by.
#[derive(Debug)]
pub(super) struct Frames {
    packet: Packet,
    counts: Counts,
}

impl Frames {
    pub fn new() -> Self {
        let nobody = SocketAddr::V4(SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, 0));
        let packet = Packet {
            frame: 0,
            at: Instant::ZERO,
            endpoints: Endpoints {
                src: nobody,
                dst: nobody,
            },
            segment: Segment::default(),
            ip_id: None,
            hop_limit: 0,
            options_complete: true,
            overlong: false,
            outgoing: None,
            interface: 0,
        };
        Self {
            packet,
            counts: Counts::default(),
        }
    }

    /// The segment found last.
    #[inline]
    pub fn packet(&self) -> &Packet {
        &self.packet
    }

    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    pub fn into_counts(self) -> Counts {
        self.counts
    }

    /// Counts a frame that is none of a known kind.
    #[cold]
    pub fn pass(&mut self, reason: Reason) {
        self.counts.frames += 1;
        self.counts.skip(reason);
    }

    /// Counts a frame of a link type that is not known.
    #[cold]
    pub fn pass_link(&mut self, link: i32) {
        self.counts.unknown_link.get_or_insert(link);
        self.pass(Reason::LinkType);
    }

    /// Packets the capturing host dropped, beside those it told of before.
    pub fn dropped(&mut self, count: u64) {
        let before = self.counts.dropped.unwrap_or(0);
        self.counts.dropped = Some(before.saturating_add(count));
    }

    /// Counts a frame; true when it is a segment, which [`packet`](Self::packet) then has.
    #[inline(always)]
    pub fn take(&mut self, frame: &Frame<'_>) -> bool {
        self.counts.frames += 1;
        match self.read(frame) {
            Ok(()) => {
                self.counts.packets += 1;
                true
            }
            Err(reason) => {
                self.counts.skip(reason);
                false
            }
        }
    }

    #[inline(always)]
    fn read(&mut self, frame: &Frame<'_>) -> Result<(), Reason> {
        let Inside { start, outgoing } = frame.link.ip_packet(frame.data)?;
        let ip = frame.data.get(start..).ok_or(Reason::Cut)?;
        if ip.is_empty() {
            return Err(Reason::Cut);
        }
        let on_wire = frame.on_wire.saturating_sub(start);
        let packet = &mut self.packet;
        let headers = decode_headers(ip, on_wire, &mut packet.endpoints, &mut packet.segment)
            .map_err(|e| reason(&e, ip))?;
        packet.frame = self.counts.frames;
        packet.ip_id = headers.ip_id;
        packet.hop_limit = headers.hop_limit;
        packet.options_complete = headers.options_complete;
        packet.overlong = headers.overlong;
        packet.outgoing = outgoing.or(frame.outgoing);
        packet.interface = frame.interface;
        packet.at = frame.at.unwrap_or_else(|nearest| {
            self.counts.note(Oddity::Time);
            nearest
        });
        if headers.overlong {
            self.counts.note(Oddity::Overlong);
        }
        if !headers.options_complete {
            self.counts.note(Oddity::Options);
        }
        Ok(())
    }
}

/// Why `ip` could not be read.
#[cold]
fn reason(error: &DecodeError, ip: &[u8]) -> Reason {
    match *error {
        // A header that does not say it is none is short of bytes.
        DecodeError::Ip(_) if matches!(ip, [0x45..=0x4f | 0x60..=0x6f, ..]) => Reason::Cut,
        DecodeError::Ip(_) | DecodeError::TotalLength { .. } => Reason::IpHeader,
        // Extension headers that end before they name what follows (RFC 8200 §4.1).
        DecodeError::NotTcp(0 | 43 | 44 | 51 | 60) => Reason::Cut,
        DecodeError::NotTcp(_) => Reason::NotTcp,
        DecodeError::Fragment => Reason::Fragment,
        DecodeError::TcpCut(_) => Reason::Cut,
        DecodeError::DataOffset { .. } => Reason::TcpHeader,
    }
}
