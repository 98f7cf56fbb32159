//! A frame without what names or tells anything.

use super::AddressMap;
use super::headers::Headers;
use recoup_trace::read::{CapturedPacket, FrameReader, Part, RawFrame, Reason, placeholder};
use recoup_units::Instant;
use std::net::SocketAddr;

/// What becomes of payload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PayloadMode {
    /// The frame ends with its TCP header. Its length on the wire is kept.
    #[default]
    Cut,
    /// As many zeros as were captured.
    Zero,
}

/// A frame to be written.
pub(super) struct Written {
    pub data: Vec<u8>,
    /// The frame's length on the wire.
    pub on_wire: usize,
    pub kind: Kind,
}

/// What a written frame is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Segment,
    /// An ICMP message about a segment.
    Message,
    /// A part of a fragmented IP packet.
    Fragment,
    /// It stands for another frame.
    Placeholder,
    /// It stands for a frame that cannot be rewritten so that it reads as before.
    GivenUp,
}

/// Rewrites frames.
pub(super) struct Rewriter<'m> {
    map: &'m mut AddressMap,
    payload: PayloadMode,
    reader: FrameReader,
}

/// Zeros of so many bytes may be read as padding of a short frame.
const MAYBE_PADDING: std::ops::RangeInclusive<u32> = 1..=6;

impl<'m> Rewriter<'m> {
    pub fn new(map: &'m mut AddressMap, payload: PayloadMode) -> Self {
        Self { map, payload, reader: FrameReader::default() }
    }

    /// The frame to write in place of this one.
    pub fn frame(&mut self, frame: &RawFrame<'_>) -> Written {
        let kind = match &frame.content {
            Ok(packet) if packet.message.is_some() => Kind::Message,
            Ok(_) => Kind::Segment,
            Err(Reason::Fragment) => Kind::Fragment,
            Err(reason) => return stand_in(frame, *reason, Kind::Placeholder),
        };
        let data = self.rewrite(frame).filter(|data| self.reads_as_before(frame, data));
        match data {
            Some(data) => Written { data, on_wire: frame.on_wire, kind },
            None => stand_in(frame, Reason::Cut, Kind::GivenUp),
        }
    }

    fn rewrite(&mut self, frame: &RawFrame<'_>) -> Option<Vec<u8>> {
        let mut headers = Headers::new(frame.data);
        let packets = frame.parts.iter().filter_map(|part| match part {
            Part::Ip(at, on_wire) => Some((*at, *on_wire)),
            _ => None,
        });
        let packets: Vec<(usize, usize)> = packets.collect();
        let (&(innermost, on_wire), around) = packets.split_last()?;
        for part in frame.parts {
            match part {
                // Behind the beginning of the innermost packet, a part was taken for another header.
                Part::Needed(bytes) if bytes.end <= innermost => headers.copy(bytes.clone()),
                Part::Hardware(at) if at + 6 <= innermost => headers.hardware(*at, self.map),
                _ => {}
            }
        }
        let carried = headers.ip(innermost, on_wire, self.map)?;
        let end = match &frame.content {
            Ok(packet) if packet.message.is_some() => headers.icmp(&carried, self.map)?,
            Ok(packet) => {
                let end = headers.tcp(&carried)?;
                let claimed = (carried.bytes.start + carried.on_wire).saturating_sub(end);
                let is_padding = claimed > 0 && packet.segment.payload_len == 0;
                // Padding is recognized by its zeros. As zeros, a few bytes of payload would look like it.
                match self.payload {
                    PayloadMode::Cut if is_padding => carried.bytes.end,
                    PayloadMode::Zero if is_padding || !MAYBE_PADDING.contains(&packet.segment.payload_len) => {
                        frame.data.len()
                    }
                    _ => end,
                }
            }
            Err(_) => carried.bytes.start,
        };
        // The checksum of an outer packet covers the inner ones.
        for &(at, on_wire) in around.iter().rev() {
            let carried = headers.ip(at, on_wire, self.map)?;
            headers.around_tunnel(&carried)?;
        }
        headers.out.truncate(end);
        Some(headers.out)
    }

    /// Whether the frame with these bytes is read as the original, but for the names.
    fn reads_as_before(&mut self, frame: &RawFrame<'_>, data: &[u8]) -> bool {
        match (&frame.content, self.reader.read(frame.link, data, frame.on_wire)) {
            (Ok(before), Ok(after)) => {
                let mut mapped = |end: SocketAddr| SocketAddr::new(self.map.ip(end.ip()), end.port());
                let mut expected = *before;
                expected.endpoints.src = mapped(expected.endpoints.src);
                expected.endpoints.dst = mapped(expected.endpoints.dst);
                let is_same_tunnel = before.tunnel.kind() == after.tunnel.kind();
                is_same_tunnel && without_place(expected) == without_place(after)
            }
            (Err(before), Err(after)) => *before == after,
            _ => false,
        }
    }
}

/// The packet without what its record says of it, and without digests of addresses.
fn without_place(packet: CapturedPacket) -> CapturedPacket {
    CapturedPacket {
        frame: 0,
        at: Instant::ZERO,
        outgoing: None,
        interface: 0,
        link: 0,
        tunnel: Default::default(),
        ..packet
    }
}

fn stand_in(frame: &RawFrame<'_>, reason: Reason, kind: Kind) -> Written {
    let data = placeholder(frame.link, reason);
    Written { on_wire: data.len(), data, kind }
}
