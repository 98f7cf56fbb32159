//! Packets out.
//!
//! A connection has a turn of [`BURST`] segments, then others have theirs and what arrived meanwhile is
//! read: the ACK clock of bulk transfers runs, and what is in flight stays in the processor's caches.
//!
//! Every segment becomes bytes in one place, [`Egress::send`]. A device that cuts segments itself
//! (IFF_VNET_HDR) takes consecutive ones joined, with what is to be cut told beside the packet: that is
//! for `Egress` to collect and for [`Sink`] to be told.

use recoup_recovery::Send;
use recoup_tcp::Transmit;
use recoup_units::{Instant, Offset, Span};
use recoup_wire::{Endpoints, Flags, Payload, Segment, encode, ip_len};

use super::Host;

/// Segments a connection sends before others have their turn.
const BURST: u32 = 64;

/// Where packets go.
pub trait Sink {
    /// Takes an IP packet.
    fn send(&mut self, packet: &[u8]);
}

impl<F: FnMut(&[u8])> Sink for F {
    fn send(&mut self, packet: &[u8]) {
        self(packet);
    }
}

/// Makes packets of segments.
#[derive(Debug, Default)]
pub(crate) struct Egress {
    packet: Vec<u8>,
    /// A payload whose two parts are not beside each other.
    joined: Vec<u8>,
    ip_id: u16,
}

impl Egress {
    /// Sends a segment, cut into several if the path does not take it whole; says how many packets it
    /// became.
    pub fn send(
        &mut self,
        path: &Endpoints,
        segment: &Segment,
        payload: [&[u8]; 2],
        path_mtu: Option<u16>,
        sink: &mut dyn Sink,
    ) -> u64 {
        let whole = match payload {
            [whole, []] => whole,
            [front, back] => {
                self.joined.clear();
                self.joined.extend_from_slice(front);
                self.joined.extend_from_slice(back);
                &self.joined
            }
        };
        let len = path.ip_version().map_or(0, |v| ip_len(segment, v));
        let too_long = path_mtu
            .map(u32::from)
            .filter(|most| len > *most && segment.payload_len > 0);
        let Some(most) = too_long else {
            return emit(
                &mut self.packet,
                &mut self.ip_id,
                path,
                segment,
                whole,
                sink,
            );
        };
        let headers = len - segment.payload_len;
        let piece_len = most.saturating_sub(headers).max(1) as usize;
        let mut sent = 0;
        let mut piece = *segment;
        for bytes in whole.chunks(piece_len) {
            piece.payload_len = bytes.len() as u32;
            let end = piece.seq + piece.payload_len;
            let last = end == segment.seq + segment.payload_len;
            piece.flags = match last {
                true => segment.flags,
                // What ends the segment belongs to its last piece.
                false => segment.flags.without(Flags::FIN | Flags::PSH),
            };
            sent += emit(&mut self.packet, &mut self.ip_id, path, &piece, bytes, sink);
            piece.seq = end;
        }
        sent
    }

    /// Room to make a packet that is no segment's.
    pub fn room(&mut self) -> &mut Vec<u8> {
        self.packet.clear();
        &mut self.packet
    }
}

fn emit(
    packet: &mut Vec<u8>,
    ip_id: &mut u16,
    path: &Endpoints,
    segment: &Segment,
    payload: &[u8],
    sink: &mut dyn Sink,
) -> u64 {
    packet.clear();
    *ip_id = ip_id.wrapping_add(1);
    // It cannot fail: both ends have one IP version, the payload is as long as the segment says, which
    // is less than the MTU. Whatever else it were, it is as good as lost.
    if encode(segment, path, *ip_id, Payload::Bytes(payload), packet).is_err() {
        return 0;
    }
    sink.send(packet);
    1
}

impl Host {
    /// Gives every connection that has something to transmit a turn, and says whether there is more.
    pub fn flush(&mut self, now: Instant, sink: &mut dyn Sink) -> bool {
        for _ in 0..self.dirty.len() {
            let Some(index) = self.dirty.pop_front() else {
                break;
            };
            if let Some(connection) = self.table.at_mut(index) {
                connection.dirty = false;
            }
            self.transmit(now, index, sink);
        }
        !self.dirty.is_empty()
    }

    /// A connection's turn.
    pub(super) fn transmit(&mut self, now: Instant, index: u32, sink: &mut dyn Sink) {
        let Some(connection) = self.table.at_mut(index) else {
            return;
        };
        let mut segment = Segment::default();
        let mut sent = 0;
        let more = loop {
            if sent == BURST {
                break true;
            }
            let Some(what) = connection.endpoint.poll_transmit(now, &mut segment) else {
                break false;
            };
            sent += 1;
            let span = match what {
                Transmit::Stream(what) => Send::span(what),
                Transmit::Control => None,
            };
            let payload = span.map_or([&[][..]; 2], |span| {
                let start = span.start.max(Offset::DATA);
                let len = u64::from(segment.payload_len);
                connection.sent.parts(Span::at(start, len))
            });
            let (path, mtu) = (&connection.path, connection.path_mtu);
            self.stats.packets_out += self.egress.send(path, &segment, payload, mtu, sink);
        };
        if more {
            self.mark_dirty(index);
        }
        self.settle(now, index);
    }

    /// What follows from what a connection has become: news for its owner, its end, its next timer.
    fn settle(&mut self, now: Instant, index: u32) {
        let Some(connection) = self.table.at_mut(index) else {
            return;
        };
        let news = connection.note_news(now, &self.settings);
        if news && !std::mem::replace(&mut connection.announced, true) {
            self.events.push_back(index);
        }
        let closed = connection.is_closed();
        if connection.embryonic && (connection.opened || closed) {
            connection.embryonic = false;
            let listener = connection.listener.map(|id| id.0 as usize);
            if let Some(listener) = listener.and_then(|at| self.listeners.get_mut(at)) {
                listener.embryonic = listener.embryonic.saturating_sub(1);
            }
        }
        let unknown = connection.listener.is_some() && !connection.opened;
        if closed && (connection.released || unknown) {
            self.table.free(index);
        } else {
            if closed {
                self.table.forget_path(index);
            }
            self.table.arm(index);
        }
    }
}
