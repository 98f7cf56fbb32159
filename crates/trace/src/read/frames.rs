//! Decodes frames into segments, those in tunnels too, and counts them.

use super::{
    Counts, Ending, Oddity, Reason,
    icmp::{self, ICMP_V4, ICMP_V6, TooBig},
    link::{IpStart, Link, LinkHash},
    marks::Marks,
    message::Message,
    packet::Packet,
    records::RecordSink,
    tunnel::{self, Inner, MOST_TUNNELS, Tunnel},
};
use recoup_units::Instant;
use recoup_wire::{DecodeError, Flags, Headers, IpVersion, Segment, decode_headers};
use std::ops::Range;

/// The least payload of an Ethernet frame, in bytes (IEEE 802.3).
const LEAST_IN_FRAME: usize = 46;

/// So many bytes fill a TCP packet without options up to that. A single byte is rather a probe.
const PADDING: Range<u32> = 2..7;

/// A frame of a capture.
#[derive(Clone, Copy)]
pub(super) struct Frame<'a> {
    /// `Err` with the nearest possible time if the frame's is impossible.
    pub at: Result<Instant, Instant>,
    /// `Err` with the number of an unknown link type.
    pub link: Result<Link, i32>,
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

impl RecordSink for Frames {
    #[inline(always)]
    fn frame(&mut self, frame: Frame<'_>, packet: &mut Packet) -> bool {
        self.read(frame, packet, &mut ()).is_ok()
    }

    #[cold]
    fn skip(&mut self, reason: Reason) {
        self.counts.frames += 1;
        self.counts.skip(reason);
    }

    fn dropped(&mut self, _: u32, count: u64) {
        let before = self.counts.dropped.unwrap_or(0);
        self.counts.dropped = Some(before.saturating_add(count));
    }
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

    /// The counts of a capture that ended so; `None`: reading stopped before.
    pub fn into_counts(mut self, ending: Option<Ending>) -> Counts {
        self.counts.ending = ending.unwrap_or(Ending::Whole);
        self.counts
    }

    /// Counts a frame of an unsupported link type.
    #[cold]
    fn skip_link(&mut self, link: i32) {
        self.counts.unknown_link.get_or_insert(link);
        RecordSink::skip(self, Reason::LinkType);
    }

    /// Counts a frame. If it is a segment or an ICMP message about one, that is then in `packet`.
    ///
    /// # Errors
    /// If it is another frame.
    #[inline(always)]
    pub fn read(&mut self, frame: Frame<'_>, packet: &mut Packet, marks: &mut impl Marks) -> Result<(), Reason> {
        let link = match frame.link {
            Ok(link) => link,
            Err(number) => {
                self.skip_link(number);
                return Err(Reason::LinkType);
            }
        };
        self.counts.frames += 1;
        if self.counts.first_frame_at.is_none() {
            self.counts.first_frame_at = frame.at.ok();
        }
        let read = self.read_as(link, frame, packet, marks);
        if let Err(reason) = read {
            self.skip_frame(frame.at, reason);
        }
        read
    }

    #[cold]
    fn skip_frame(&mut self, at: Result<Instant, Instant>, reason: Reason) {
        let at = at.unwrap_or_else(|nearest| nearest);
        self.first_skipped_at.get_or_insert(at);
        self.counts.skip(reason);
    }

    #[inline(always)]
    fn read_as(
        &mut self,
        link: Link,
        frame: Frame<'_>,
        packet: &mut Packet,
        marks: &mut impl Marks,
    ) -> Result<(), Reason> {
        let IpStart { start, outgoing } = link.ip_packet(frame.data, marks)?;
        let ip = frame.data.get(start..).ok_or(Reason::Cut)?;
        if ip.is_empty() {
            return Err(Reason::Cut);
        }
        let on_wire = frame.on_wire.saturating_sub(start);
        packet.at = frame.at.unwrap_or_else(|nearest| nearest);
        packet.interface = frame.interface;
        marks.ip(start, on_wire);
        match decode_headers(ip, on_wire, &mut packet.headers, &mut packet.rare) {
            Ok(()) => self.complete(frame, outgoing, Tunnel::NONE, ip, packet),
            Err(error) => {
                let marks = &mut marks.behind(start);
                self.read_other(frame, outgoing, error, (ip, on_wire), packet, marks)?;
            }
        }
        Ok(())
    }

    /// Completes a packet whose headers were read.
    #[inline(always)]
    fn complete(&mut self, frame: Frame<'_>, outgoing: Option<bool>, tunnel: Tunnel, ip: &[u8], packet: &mut Packet) {
        self.counts.packets += 1;
        packet.message = None;
        packet.frame = self.counts.frames;
        packet.outgoing = outgoing.or(frame.outgoing);
        packet.link = frame.link.map_or(0, |link| self.links.of(link, frame.data));
        packet.tunnel = tunnel;
        if PADDING.contains(&packet.headers.payload_len) {
            self.leave_out_padding(ip, &mut packet.headers);
        }
        if frame.at.is_err() || packet.headers.is_odd() {
            self.note_oddities(frame.at.is_err(), &packet.headers);
        }
    }

    /// Some devices pad short packets to the least length of an Ethernet frame, and count that in the IP header: an ACK
    /// seems to carry a few zero bytes. Data that fills no segment carries PSH (RFC 9293 §3.9.1.2).
    #[cold]
    fn leave_out_padding(&mut self, ip: &[u8], headers: &mut Headers) {
        let payload = headers.payload_len as usize;
        let [_, _, high, low, ..] = *ip else {
            return;
        };
        let len = usize::from(u16::from_be_bytes([high, low]));
        let zeros = len.checked_sub(payload).and_then(|start| ip.get(start..len));
        let is_padding = headers.ip_version() == IpVersion::V4
            && !headers.flags.contains(Flags::PSH)
            && len <= LEAST_IN_FRAME
            && zeros.is_some_and(|bytes| bytes.iter().all(|byte| *byte == 0));
        if is_padding {
            headers.payload_len = 0;
            self.counts.note(Oddity::Padding);
        }
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
    /// Reads an IP packet of `on_wire` bytes that is no segment: as a segment in tunnels, or an ICMP message about
    /// one. `packet` has its time and interface.
    #[cold]
    #[inline(never)]
    fn read_other<'a>(
        &mut self,
        frame: Frame<'a>,
        outgoing: Option<bool>,
        mut error: DecodeError,
        (mut ip, mut on_wire): (&'a [u8], usize),
        packet: &mut Packet,
        marks: &mut impl Marks,
    ) -> Result<(), Reason> {
        let mut around = Tunnel::NONE;
        let mut at = 0;
        for depth in 0..=MOST_TUNNELS {
            let DecodeError::NotTcp(protocol) = error else {
                return Err(reason(&error, ip));
            };
            if is_cut_extension(protocol) {
                return Err(Reason::Cut);
            }
            if let ICMP_V4 | ICMP_V6 = protocol
                && let Some(found) = icmp::too_big(ip)
            {
                self.take_message(found, around, packet);
                return Ok(());
            }
            let inner: Inner<'a> = tunnel::enter(ip, on_wire, around, &mut marks.behind(at))?;
            if depth == MOST_TUNNELS {
                break;
            }
            at += inner.at;
            Inner { packet: ip, on_wire, tunnel: around, .. } = inner;
            marks.ip(at, on_wire);
            match decode_headers(ip, on_wire, &mut packet.headers, &mut packet.rare) {
                Ok(()) => {
                    self.complete(frame, outgoing, around, ip, packet);
                    packet.link ^= around.digest();
                    self.counts.on_segment_in_tunnel(around);
                    return Ok(());
                }
                Err(inner) => error = inner,
            }
        }
        Err(Reason::TooManyTunnels)
    }

    /// Takes an ICMP message about a segment.
    fn take_message(&mut self, found: TooBig, tunnel: Tunnel, packet: &mut Packet) {
        let segment = Segment { seq: found.seq, ..Segment::default() };
        let (headers, rare) = Headers::new(&found.endpoints, &segment);
        *packet = Packet {
            frame: self.counts.frames,
            headers,
            link: 0,
            outgoing: None,
            message: Some(Message::PathMtu(found.mtu)),
            tunnel,
            rare,
            ..*packet
        };
        self.counts.on_path_mtu_message();
    }
}

/// Whether a packet ends with this extension header, which is cut before it names the next one (RFC 8200 §4.1).
const fn is_cut_extension(protocol: u8) -> bool {
    matches!(protocol, 0 | 43 | 44 | 51 | 60)
}

/// Why `ip` could not be read.
#[cold]
fn reason(error: &DecodeError, ip: &[u8]) -> Reason {
    match *error {
        // The version and length are valid, so the header is cut.
        DecodeError::Ip(_) if matches!(ip, [0x45..=0x4f | 0x60..=0x6f, ..]) => Reason::Cut,
        DecodeError::Ip(_) | DecodeError::TotalLength { .. } => Reason::IpHeader,
        DecodeError::NotTcp(_) => Reason::NotTcp,
        DecodeError::Fragment => Reason::Fragment,
        DecodeError::TcpCut(_) => Reason::Cut,
        DecodeError::DataOffset { .. } => Reason::TcpHeader,
    }
}
