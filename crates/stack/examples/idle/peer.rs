//! Peers that have no memory: what they send follows from the packet that they answer. So all that is allocated is the stack's.

use recoup_stack::{
    VnetHeader,
    device::{Batch, Device, Properties},
};
use recoup_wire::{Decoded, Endpoints, Flags, Options, Payload, Segment, SeqNumber, Timestamps, decode, encode};
use std::{
    collections::VecDeque,
    io,
    net::{Ipv4Addr, SocketAddr},
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    task::{Context, Poll},
};

/// Bytes of a request, and of its answer.
pub const REQUEST: u32 = 100;
pub const ANSWER: u32 = 200;

/// The stack's own end of the connections that come to it.
pub const SERVER: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1)), 80);

/// A peer's end: 50,000 connections an address.
pub fn peer(number: u32) -> SocketAddr {
    (Ipv4Addr::from(0x0a01_0000 + number / 50_000), 10_000 + (number % 50_000) as u16).into()
}

/// All peers.
#[derive(Default)]
pub struct Peers {
    /// Peers that have yet to connect, by number.
    pub next: u32,
    pub until: Arc<AtomicU32>,
    /// Whether peers that connect send a request.
    pub asks: bool,
    /// Packets for the stack.
    pub packets: VecDeque<Vec<u8>>,
}

fn options(echo: Option<Timestamps>, syn: bool) -> Options {
    let timestamps = Some(Timestamps { value: 1, echo: echo.map_or(0, |theirs| theirs.value) });
    match syn {
        true => Options { mss: Some(1460), window_scale: Some(7), sack_permitted: true, timestamps, ..Options::NONE },
        false => Options { timestamps, ..Options::NONE },
    }
}

impl Peers {
    fn put(&mut self, path: &Endpoints, segment: &Segment) {
        let mut packet = Vec::new();
        // It is short, and its ends have one IP version.
        if encode(segment, path, 0, Payload::Fill(7), &mut packet).is_ok() {
            self.packets.push_back(packet);
        }
    }

    /// A packet for the stack: an answer, or else the SYN of the next peer.
    pub fn take(&mut self) -> Option<Vec<u8>> {
        if self.packets.is_empty() && self.next < self.until.load(Ordering::Relaxed) {
            let path = Endpoints { src: peer(self.next), dst: SERVER };
            let (seq, flags) = (SeqNumber(self.next), Flags::SYN);
            self.put(
                &path,
                &Segment { seq, flags, window: 65_535, options: options(None, true), ..Segment::default() },
            );
            self.next += 1;
        }
        self.packets.pop_front()
    }

    /// Answers a packet of the stack's.
    pub fn answer(&mut self, packet: &[u8]) {
        let Ok(Decoded { segment: theirs, endpoints, .. }) = decode(packet) else {
            return;
        };
        let (syn, acks) = (theirs.flags.contains(Flags::SYN), theirs.flags.contains(Flags::ACK));
        let payload_len = match (syn, acks) {
            (true, true) if self.asks => REQUEST,
            // A request is answered.
            (false, true) if theirs.payload_len == REQUEST => ANSWER,
            (false, true) if theirs.payload_len == 0 => return,
            _ => 0,
        };
        let (seq, flags) = match syn && !acks {
            true => (SeqNumber(7), Flags::SYN | Flags::ACK),
            false => (theirs.ack, Flags::ACK),
        };
        let ours = Segment {
            seq,
            ack: theirs.seq + theirs.payload_len + u32::from(syn),
            flags,
            payload_len,
            window: 60_000,
            options: options(theirs.options.timestamps, flags.contains(Flags::SYN)),
        };
        self.put(&endpoints.reverse(), &ours);
    }
}

impl Device for Peers {
    fn properties(&mut self) -> Properties {
        Properties { mtu: 1500, offloads: false }
    }

    fn receive(&mut self, batch: &mut Batch) -> io::Result<()> {
        while !batch.is_full()
            && let Some(packet) = self.take()
        {
            batch.push(VnetHeader::default(), &packet);
        }
        Ok(())
    }

    fn send(&mut self, _: &VnetHeader, packet: [&[u8]; 3]) -> u64 {
        self.answer(&packet.concat());
        0
    }

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<()> {
        if self.packets.is_empty() && self.next >= self.until.load(Ordering::Relaxed) {
            Poll::Pending
        } else {
            Poll::Ready(())
        }
    }
}
