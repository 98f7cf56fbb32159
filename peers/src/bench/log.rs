//! Every packet of a run, and what became of it.

use recoup_tcp::flow::Host;
use recoup_units::{Direction, Instant};
use recoup_wire::pcap::Writer;
use std::{
    io::{self, Write},
    sync::Arc,
    time::Duration,
};

/// 2000-01-01 00:00:00 UTC, because some tools treat times near 1970 as missing.
const EPOCH: Duration = Duration::from_secs(946_684_800);

/// An acknowledgment is no longer: IP and TCP headers with all options, or a QUIC packet with a few ranges (bytes).
const LONGEST_ACK: usize = 200;

/// What a host was told when it sent a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cause {
    /// A packet arrived.
    Packet,
    /// Its application did something.
    Application,
    /// Its timer was due.
    Timer,
}

/// A packet that was sent.
#[derive(Clone, Debug)]
pub struct Sent {
    pub at: Instant,
    /// The index of its flow.
    pub flow: usize,
    pub direction: Direction,
    /// Its number among the packets of its flow and direction, from 0.
    pub ordinal: u64,
    pub cause: Cause,
    /// The IP packet.
    pub bytes: Arc<[u8]>,
    /// When it arrived undamaged for the first time; `None`: it never did.
    pub arrived: Option<Instant>,
}

impl Sent {
    pub const fn new(
        at: Instant,
        flow: usize,
        direction: Direction,
        ordinal: u64,
        cause: Cause,
        bytes: Arc<[u8]>,
    ) -> Self {
        Self { at, flow, direction, ordinal, cause, bytes, arrived: None }
    }

    /// Whether it is a packet of this flow and direction that never arrived.
    pub fn is_lost_by(&self, flow: usize, direction: Direction) -> bool {
        self.arrived.is_none() && self.flow == flow && self.direction == direction
    }

    /// Whether it is longer than an acknowledgment: the only difference that encryption leaves.
    pub fn is_long(&self) -> bool {
        self.bytes.len() > LONGEST_ACK
    }
}

/// The packets of a run.
#[derive(Debug, Default)]
pub struct Log {
    /// All that were sent, in order.
    pub packets: Vec<Sent>,
    /// All that arrived, in order.
    arrivals: Vec<Arrival>,
}

/// A packet that arrived.
#[derive(Debug)]
struct Arrival {
    at: Instant,
    /// Its number in the log.
    number: usize,
    bytes: Arc<[u8]>,
    /// How many packets had been sent before: a host answers a packet before the next one of the same instant arrives.
    sent_before: usize,
}

impl Log {
    /// Adds a packet, and returns its number.
    pub fn send(&mut self, packet: Sent) -> usize {
        self.packets.push(packet);
        self.packets.len() - 1
    }

    /// A packet arrives, damaged if there is `damage`. Returns the bytes that arrive.
    pub fn arrive(&mut self, number: usize, now: Instant, damage: Option<u64>) -> Arc<[u8]> {
        let sent = &mut self.packets[number];
        let bytes = match damage {
            None => {
                sent.arrived = sent.arrived.or(Some(now));
                Arc::clone(&sent.bytes)
            }
            Some(draw) => damaged(&sent.bytes, draw),
        };
        self.arrivals.push(Arrival { at: now, number, bytes: Arc::clone(&bytes), sent_before: self.packets.len() });
        bytes
    }

    /// Writes what a host of a flow sees: the packets it sends, and those that arrive. With `flow` `None`: those of all flows.
    ///
    /// # Errors
    /// When `out` fails.
    pub fn write_capture<W: Write>(&self, host: Host, flow: Option<usize>, out: W) -> io::Result<W> {
        let mut writer = Writer::new(out, EPOCH)?;
        for (at, _, bytes) in self.captured(host, flow) {
            writer.write(at, bytes)?;
        }
        writer.finish()
    }

    /// What a capture at a host of a flow holds: the time, the packet's number and its bytes.
    pub fn captured(&self, host: Host, flow: Option<usize>) -> Vec<(Instant, usize, &[u8])> {
        let is_of = |number: usize, direction| {
            let sent = &self.packets[number];
            sent.direction == direction && flow.is_none_or(|flow| sent.flow == flow)
        };
        let sent = (0..self.packets.len()).filter(|number| is_of(*number, host.sends()));
        let arrived = self.arrivals.iter().filter(|arrival| is_of(arrival.number, host.sends().reverse()));
        let sent = sent.map(|number| {
            let packet = &self.packets[number];
            ((number, true), (packet.at, number, &*packet.bytes))
        });
        let arrived =
            arrived.map(|Arrival { at, number, bytes, sent_before }| ((*sent_before, false), (*at, *number, &**bytes)));
        // What arrives precedes what is sent because of it, and follows what was sent before.
        let mut all: Vec<_> = arrived.chain(sent).collect();
        all.sort_by_key(|(order, (at, ..))| (*at, *order));
        all.into_iter().map(|(_, packet)| packet).collect()
    }
}

/// The packet with one bit of what follows its IPv4 header flipped.
fn damaged(bytes: &[u8], draw: u64) -> Arc<[u8]> {
    let mut bytes = bytes.to_vec();
    let header = bytes.first().map_or(0, |first| usize::from(first & 15) * 4);
    let bits = (bytes.len().saturating_sub(header) as u64) * 8;
    if bits > 0 {
        let bit = draw % bits;
        bytes[header + (bit / 8) as usize] ^= 1 << (bit % 8);
    }
    bytes.into()
}
