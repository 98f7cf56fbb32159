//! Packets of segments.

use super::{
    Sink,
    train::{Kind, Train},
};
use crate::{VnetHeader, device::Frame};
use recoup_tcp as tcp;
use recoup_units::Span;
use recoup_wire::{CommonHeaders, Endpoints, Flags, IpFields, IpVersion, Segment, TCP_CHECKSUM_OFFSET, encode_headers};

/// Trains that wait, at most.
pub(super) const MOST_WAITING: usize = 4;

/// The packet of a train.
#[derive(Debug, Default)]
struct WaitingTrain {
    /// What is left to the sink.
    left: VnetHeader,
    headers: Vec<u8>,
    payload: Span,
}

/// Makes packets of segments.
#[derive(Debug, Default)]
pub(in crate::host) struct Egress {
    packet: Vec<u8>,
    headers: CommonHeaders,
    ip_id: u16,
    /// Trains that wait to be sent together, in the first places.
    waiting: [WaitingTrain; MOST_WAITING],
    trains_waiting: usize,
}

impl Egress {
    /// Sends a segment without payload; says how many packets it became.
    pub fn send_bare(&mut self, path: &Endpoints, segment: &Segment, sink: &mut dyn Sink) -> u64 {
        let version = path.ip_version().unwrap_or(IpVersion::V4);
        let train = Train::new(Kind::Other, segment, Span::default(), version);
        self.send_cut(path, &train, [&[]; 2], sink)
    }

    /// Sends segments that go together, cut as they are; says how many packets they became.
    pub fn send_cut(&mut self, path: &Endpoints, train: &Train, payload: [&[u8]; 2], sink: &mut dyn Sink) -> u64 {
        let segment = &train.segment;
        // Neither this nor what follows can fail: both ends have one IP version, and the payload is as long
        // as the segment says, which is less than the MTU. Otherwise the segment would be as good as lost.
        if self.headers.set(segment, path, train.ecn).is_err() {
            return 0;
        }
        let (size, in_parts) = (train.size, sink.takes_parts());
        let (mut seq, mut left, mut payload, mut sent) = (segment.seq, segment.payload_len, payload, 0);
        loop {
            let len = left.min(size);
            left -= len;
            let flags = match left {
                0 => segment.flags,
                // Flags that end the segment belong to its last piece.
                _ => segment.flags.without(Flags::FIN | Flags::PSH),
            };
            let piece = take_front(&mut payload, len as usize);
            self.packet.clear();
            self.ip_id = self.ip_id.wrapping_add(1);
            let (id, packet) = (self.ip_id, &mut self.packet);
            let made = if in_parts {
                self.headers.encode_headers(seq, flags, id, piece, packet)
            } else {
                self.headers.encode(seq, flags, id, piece, packet)
            };
            if made.is_ok() {
                match in_parts {
                    true => sink.send_frame(&VnetHeader::default(), [packet, piece[0], piece[1]]),
                    false => sink.send(packet),
                }
                sent += 1;
            }
            seq += len;
            if left == 0 {
                return sent;
            }
        }
    }

    /// Has a train wait for [`send_waiting`](Self::send_waiting), as one packet, for the sink to cut and sum.
    pub fn put_train(&mut self, path: &Endpoints, version: IpVersion, train: &Train) {
        let segment = &train.segment;
        let Some(waiting) = self.waiting.get_mut(self.trains_waiting) else {
            return;
        };
        let headers = &mut waiting.headers;
        headers.clear();
        self.ip_id = self.ip_id.wrapping_add(1);
        // As in `send_cut`; and what is cut into several takes an identification each (RFC 791 §3.1).
        if encode_headers(segment, path, IpFields::from(self.ip_id).with_ecn(train.ecn), headers).is_err() {
            return;
        }
        let size = train.size;
        let mut left = VnetHeader {
            flags: VnetHeader::NEEDS_CSUM,
            // All of them fit in 16 bits: the packet does.
            hdr_len: headers.len() as u16,
            csum_start: version.header_len() as u16,
            csum_offset: TCP_CHECKSUM_OFFSET,
            ..VnetHeader::default()
        };
        if segment.payload_len > size {
            left.gso_size = size as u16;
            left.gso_type = match version {
                IpVersion::V4 => VnetHeader::GSO_TCPV4,
                IpVersion::V6 => VnetHeader::GSO_TCPV6,
            };
            let more = (segment.payload_len - 1) / size;
            self.ip_id = self.ip_id.wrapping_add(more as u16);
        }
        (waiting.left, waiting.payload) = (left, train.payload);
        self.trains_waiting += 1;
    }

    /// Sends the trains that wait; says how many packets the sink was given.
    pub fn send_waiting(&mut self, tcp: &tcp::Connection, sink: &mut dyn Sink) -> u64 {
        let mut frames = [Frame::default(); MOST_WAITING];
        let count = std::mem::take(&mut self.trains_waiting);
        for (frame, train) in frames.iter_mut().zip(&self.waiting[..count]) {
            let [front, back] = tcp.payload(train.payload);
            *frame = Frame { header: train.left, packet: [&train.headers, front, back] };
        }
        sink.send_frames(&frames[..count]);
        count as u64
    }
}

/// Takes the first `len` bytes out of a payload in two parts, fewer if there are not as many.
fn take_front<'a>(payload: &mut [&'a [u8]; 2], len: usize) -> [&'a [u8]; 2] {
    payload.each_mut().map({
        let mut left = len;
        move |part| {
            let (taken, rest) = part.split_at(left.min(part.len()));
            left -= taken.len();
            *part = rest;
            taken
        }
    })
}
