//! Decodes frames into segments, and counts them.

use super::{
    Counts, Oddity, Reason,
    icmp::{self, ICMP_V4, ICMP_V6},
    link::{IpStart, Link, LinkHash},
    packet::Packet,
};
use recoup_units::Instant;
use recoup_wire::{DecodeError, Headers, Segment, decode_headers};

/// A frame of a capture.
#[derive(Clone, Copy)]
pub(super) struct Frame<'a> {
    /// `Err` with the nearest possible time if the frame's is impossible.
    pub at: Result<Instant, Instant>,
    pub link: Link,
    pub interface: u32,
    pub outgoing: Option<bool>,
    /// The captured bytes.
    pub data: &'a [u8],
    /// The frame's length on the wire.
    pub on_wire: usize,
}

/// Counts the frames of a capture.
#[derive(Debug, Default)]
pub(super) struct Frames {
    counts: Counts,
    /// The time of the first frame that is no segment.
    first_skipped_at: Option<Instant>,
    links: LinkHash,
}

impl Frames {
    /// The time of the first frame that is no segment.
    pub fn first_skipped_at(&self) -> Option<Instant> {
        self.first_skipped_at
    }

    /// Counts no frame up to this one.
    pub fn count_after(&mut self, frame: u64) {
        self.counts.counted_before = frame;
    }

    /// Forgets the segments counted so far but for the latest `count`, and what was dropped.
    pub fn forget_segments(&mut self, count: u64) {
        (self.counts.packets, self.counts.dropped) = (count, None);
    }

    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    pub fn into_counts(self) -> Counts {
        self.counts
    }

    /// Counts a frame that is not decoded.
    #[cold]
    pub fn skip(&mut self, reason: Reason) {
        self.counts.frames += 1;
        self.counts.skip(reason);
    }

    /// Counts a frame of an unsupported link type.
    #[cold]
    pub fn skip_link(&mut self, link: i32) {
        self.counts.unknown_link.get_or_insert(link);
        self.skip(Reason::LinkType);
    }

    /// The capturing host dropped `count` more packets.
    pub fn dropped(&mut self, count: u64) {
        let before = self.counts.dropped.unwrap_or(0);
        self.counts.dropped = Some(before.saturating_add(count));
    }

    /// Counts a frame; true if it is a segment or an ICMP message about one, which is then in `packet`.
    #[inline(always)]
    pub fn take(&mut self, frame: Frame<'_>, packet: &mut Packet) -> bool {
        self.counts.frames += 1;
        match self.read(frame, packet) {
            Ok(()) => true,
            Err(reason) => {
                self.skip_frame(frame.at, reason);
                false
            }
        }
    }

    #[cold]
    fn skip_frame(&mut self, at: Result<Instant, Instant>, reason: Reason) {
        let at = at.unwrap_or_else(|nearest| nearest);
        self.first_skipped_at.get_or_insert(at);
        self.counts.skip(reason);
    }

    #[inline(always)]
    fn read(&mut self, frame: Frame<'_>, packet: &mut Packet) -> Result<(), Reason> {
        let IpStart { start, outgoing } = frame.link.ip_packet(frame.data)?;
        let ip = frame.data.get(start..).ok_or(Reason::Cut)?;
        if ip.is_empty() {
            return Err(Reason::Cut);
        }
        let on_wire = frame.on_wire.saturating_sub(start);
        packet.at = frame.at.unwrap_or_else(|nearest| nearest);
        packet.interface = frame.interface;
        if let Err(error) = decode_headers(ip, on_wire, &mut packet.headers, &mut packet.rare) {
            return self.read_message(error, ip, packet);
        }
        self.counts.packets += 1;
        packet.path_mtu = None;
        packet.frame = self.counts.frames;
        packet.outgoing = outgoing.or(frame.outgoing);
        packet.link = self.links.of(frame.link, frame.data);
        if frame.at.is_err() || packet.headers.is_odd() {
            self.note_oddities(frame.at.is_err(), &packet.headers);
        }
        Ok(())
    }

    #[cold]
    fn note_oddities(&mut self, impossible_time: bool, headers: &Headers) {
        let oddities = [
            (Oddity::Time, impossible_time),
            (Oddity::Overlong, headers.overlong()),
            (Oddity::Options, !headers.options_complete()),
        ];
        let there = oddities.iter().filter(|(_, is_there)| *is_there);
        there.for_each(|(oddity, _)| self.counts.note(*oddity));
    }
}

impl Frames {
    /// Reads an IP packet that is no segment, as an ICMP message about one, to `packet`, which has its
    /// time and interface.
    #[cold]
    fn read_message(&mut self, error: DecodeError, ip: &[u8], packet: &mut Packet) -> Result<(), Reason> {
        let is_icmp = matches!(error, DecodeError::NotTcp(ICMP_V4 | ICMP_V6));
        let Some(found) = is_icmp.then(|| icmp::too_big(ip)).flatten() else {
            return Err(reason(&error, ip));
        };
        let segment = Segment { seq: found.seq, ..Segment::default() };
        let (headers, rare) = Headers::new(&found.endpoints, &segment);
        *packet = Packet {
            frame: self.counts.frames,
            headers,
            link: 0,
            outgoing: None,
            path_mtu: Some(found.mtu),
            rare,
            ..*packet
        };
        self.counts.on_path_mtu_message();
        Ok(())
    }
}

/// Why `ip` could not be read.
#[cold]
fn reason(error: &DecodeError, ip: &[u8]) -> Reason {
    match *error {
        // The version and length are valid, so the header is cut.
        DecodeError::Ip(_) if matches!(ip, [0x45..=0x4f | 0x60..=0x6f, ..]) => Reason::Cut,
        DecodeError::Ip(_) | DecodeError::TotalLength { .. } => Reason::IpHeader,
        // An extension header is cut before it names the next one (RFC 8200 §4.1).
        DecodeError::NotTcp(0 | 43 | 44 | 51 | 60) => Reason::Cut,
        DecodeError::NotTcp(_) => Reason::NotTcp,
        DecodeError::Fragment => Reason::Fragment,
        DecodeError::TcpCut(_) => Reason::Cut,
        DecodeError::DataOffset { .. } => Reason::TcpHeader,
    }
}
