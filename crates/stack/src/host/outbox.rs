//! Packets of datagrams on their way out: what is no segment of a connection.
//!
//! Senders append packets; [`Host::poll_transmit`] gives them to the sink, in fragments where the path takes less. The
//! memory is one buffer, which is used again.

use std::{collections::VecDeque, net::IpAddr};

use recoup_wire::cut_into_fragments;

use super::{Host, HostError, Sink};

/// Bytes that may wait, at most, and one packet beyond. Two hundred full-sized packets fit.
const MOST: usize = 256 << 10;

/// A packet that waits.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    len: u32,
    /// Bytes of a packet that the path takes. A longer one is cut.
    mtu: u16,
}

/// Packets that wait for the sink.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    packets: VecDeque<Waiting>,
    bytes: Vec<u8>,
    /// Bytes at the beginning that were sent already.
    sent: usize,
    /// A fragment is made here.
    room: Vec<u8>,
    /// Counts identifications (see [`next_id`](Self::next_id)).
    ids: u32,
}

impl Outbox {
    pub fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    /// Whether no packet more is taken in.
    fn is_full(&self) -> bool {
        self.bytes.len() - self.sent >= MOST
    }

    /// Takes in a packet that `make` appends, unless it fails. It is cut where the path takes only `mtu` bytes.
    pub fn put<E>(&mut self, mtu: u16, make: impl FnOnce(&mut Vec<u8>) -> Result<(), E>) -> Result<(), HostError>
    where
        HostError: From<E>,
    {
        if self.is_full() {
            return Err(HostError::Full);
        }
        if self.sent >= MOST {
            self.bytes.drain(..self.sent);
            self.sent = 0;
        }
        let before = self.bytes.len();
        make(&mut self.bytes)?;
        self.packets.push_back(Waiting { len: (self.bytes.len() - before) as u32, mtu });
        Ok(())
    }

    /// The next identification of a packet from `src` to `dst`, where `start` is what a secret hash says of the two:
    /// nobody else can guess it (RFC 7739 §5).
    pub fn next_id(&mut self, start: u32) -> u32 {
        self.ids = self.ids.wrapping_add(1);
        start.wrapping_add(self.ids)
    }

    fn done(&mut self, len: usize) {
        self.packets.pop_front();
        self.sent += len;
        if self.packets.is_empty() {
            self.bytes.clear();
            self.sent = 0;
        }
    }
}

impl Host {
    /// Whether a datagram that is sent now finds room.
    pub(crate) fn has_room_for_datagrams(&self) -> bool {
        !self.outbox.is_full()
    }

    /// Gives waiting packets to the sink while it has room. Says whether some are left.
    pub(super) fn send_waiting(&mut self, sink: &mut dyn Sink) -> bool {
        let mut begun = false;
        while let Some(&Waiting { len, mtu }) = self.outbox.packets.front() {
            // The link may take less than when the packet was made.
            let (len, mtu) = (len as usize, mtu.min(self.mtu));
            // At least as many packets as it will be.
            let pieces = if len > usize::from(mtu) { len / usize::from(mtu).saturating_sub(55).max(8) + 1 } else { 1 };
            let room = sink.room();
            // A sink may never have room for as many fragments. What it does not take is then lost.
            if room == 0 || begun && room < pieces {
                return true;
            }
            begun = true;
            let start = self.outbox.sent;
            let id = match pieces {
                1 => 0,
                _ => self.fragment_id(start),
            };
            let Outbox { bytes, room, .. } = &mut self.outbox;
            let packet = bytes.get(start..start + len).unwrap_or_default();
            // This fails only for a raw packet that a link no longer takes: it is lost, as on the way.
            let count = cut_into_fragments(packet, mtu.into(), id, room, &mut |packet| sink.send(packet));
            self.stats.packets_out += count.unwrap_or(0);
            self.outbox.done(len);
        }
        false
    }

    /// The identification for the fragments of the IPv6 packet that waits at `start`.
    fn fragment_id(&mut self, start: usize) -> u32 {
        let address = |at: usize| -> Option<IpAddr> {
            let octets: [u8; 16] = *self.outbox.bytes.get(start + at..)?.first_chunk()?;
            Some(octets.into())
        };
        match (address(8), address(24)) {
            (Some(src), Some(dst)) => self.next_ip_id(src, dst),
            _ => 0,
        }
    }

    /// The next identification of a packet from `src` to `dst`.
    pub(super) fn next_ip_id(&mut self, src: IpAddr, dst: IpAddr) -> u32 {
        self.outbox.next_id(self.secret.identification(src, dst))
    }
}
