//! Finds copies of segments that another program of the sender's host sent beside its TCP, as that program's log names them.
//!
//! ```text
//! log: copies ─► CopyFinder ◄─ packets of a capture
//!                   └─► a copy becomes a message (Message::Copy); reports of it, which TCP did not get, are taken out
//! ```
//!
//! A copy repeats a segment byte for byte: its timestamps, its acknowledgement, its window, and over IPv4 its identification. A
//! retransmission by TCP has others. So a packet is a copy if
//!
//! 1. it has exactly the bytes of a copy in the log,
//! 2. another packet had these bytes before at the same capture point (it may have held more: segmentation offload), and
//! 3. it repeats that packet.
//!
//! Where nothing tells a repetition from a retransmission (no timestamps, and IPv6 or a SYN-ACK), its time decides: it is a copy
//! if it passed within [`SOON`] of the time in the log, or if the capture has another clock than the log. Each copy of the log is
//! one packet at each capture point.
//!
//! **Live packets** come before the log says that a copy of them was sent, so nothing is known of the packet that a copy repeats.
//! The first packet with its bytes within [`SOON`] is the copy: both have the same clock.
//!
//! **Reports of copies** (DSACK, RFC 2883) are hidden from TCP by the program that sends the copies, except those of a SYN or
//! SYN-ACK. They are taken out here in the same way: once for each copy, if the block lies within it and TCP itself did not
//! retransmit it meanwhile; and an ACK that says nothing else is left out.
//!
//! Deviations: a report of a copy that was not captured stays. In a capture of several points, a report is taken out at the first
//! point that shows it.
//!
//! | module | what it does |
//! | --- | --- |
//! | `flow` | the copies of one direction of a connection |
//! | `source` | a source of packets, without copies |

mod flow;
mod source;

use super::{CapturedPacket, Message};
use flow::{Answer, Flow};
use recoup_units::Instant;
use recoup_wire::{Endpoints, Flags, SeqNumber};
pub use source::WithoutCopies;
use std::{
    collections::{HashMap, VecDeque},
    time::Duration,
};

/// A packet socket of the same host captures a copy this soon after the time in the log. Usual are 10 µs to a few ms.
pub const SOON: Duration = Duration::from_millis(100);

/// Copies whose packets may still come, of a capture that does not end.
const MOST_LIVE: usize = 1 << 16;

/// A copy that another program sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SentCopy {
    /// Just before it was sent: since 1970, by the clock of that host.
    pub at: Instant,
    /// Its addresses and ports.
    pub endpoints: Endpoints,
    /// The number of its first byte, or of its SYN.
    pub seq: SeqNumber,
    /// The numbers that it takes up: bytes, and one for a SYN and for a FIN.
    pub len: u32,
    /// Whether it is a copy of a SYN or a SYN-ACK.
    pub is_of_handshake: bool,
    /// Whether the segment may have been lost and the copy have taken its place.
    pub may_have_repaired: bool,
}

/// A copy that was found in a capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CapturedCopy {
    /// Its frame.
    pub frame: u64,
    /// Its addresses and ports.
    pub endpoints: Endpoints,
    /// As [`SentCopy::may_have_repaired`].
    pub may_have_repaired: bool,
}

/// Copies in a log and in a capture.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CapturedCopies {
    /// Copies that the log names.
    pub logged: u64,
    /// Those of them that the capture holds, each counted once.
    pub captured: u64,
    /// Where, by frame. Empty for live packets.
    pub packets: Vec<CapturedCopy>,
}

impl CapturedCopies {
    /// Copies that the log names and the capture does not hold.
    pub fn not_captured(&self) -> u64 {
        self.logged - self.captured
    }

    /// Adds those of a later part of the capture. `place` gives the number of one of its frames here.
    pub(super) fn append(&mut self, later: &Self, place: impl Fn(u64) -> u64) {
        self.logged += later.logged;
        self.captured += later.captured;
        let packets = later.packets.iter();
        self.packets.extend(packets.map(|packet| CapturedCopy { frame: place(packet.frame), ..*packet }));
    }
}

/// What became of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken {
    /// It is as it was.
    AsItIs,
    /// It is a message now, or lacks a report.
    Changed,
    /// TCP did not get it.
    LeftOut,
}

/// Finds the copies among the packets of a capture, in their order.
#[derive(Debug)]
pub struct CopyFinder {
    flows: HashMap<Endpoints, Flow>,
    /// Whether a copy has these ports, by [`ports_of`]. Most packets need no lookup then.
    ports: Vec<bool>,
    /// For packets as they come: the copies, the oldest first.
    live: Option<VecDeque<(Endpoints, SeqNumber)>>,
    copies: CapturedCopies,
}

/// Two ports as one number, the same in both directions.
fn ports_of([src, dst]: [u16; 2]) -> usize {
    usize::from(src ^ dst)
}

impl CopyFinder {
    /// Finds these copies in a capture.
    pub fn new(copies: &[SentCopy]) -> Self {
        let mut finder = Self::with(None);
        copies.iter().for_each(|copy| finder.add(copy));
        finder
    }

    /// Finds copies that are [added](Self::add) as packets come.
    pub fn live() -> Self {
        Self::with(Some(VecDeque::new()))
    }

    fn with(live: Option<VecDeque<(Endpoints, SeqNumber)>>) -> Self {
        Self { flows: HashMap::new(), ports: vec![false; 1 << 16], live, copies: CapturedCopies::default() }
    }

    /// Another copy was sent. Of those whose packets did not come, the latest 65,536 are looked for among live packets.
    pub fn add(&mut self, copy: &SentCopy) {
        let ends = copy.endpoints;
        self.copies.logged += 1;
        self.ports[ports_of([ends.src.port(), ends.dst.port()])] = true;
        self.flows.entry(ends).or_default().add(copy);
        if let Some(live) = &mut self.live {
            live.push_back((ends, copy.seq));
            if live.len() > MOST_LIVE
                && let Some((ends, seq)) = live.pop_front()
                && let Some(flow) = self.flows.get_mut(&ends)
            {
                flow.forget(seq);
                if flow.is_empty() {
                    self.flows.remove(&ends);
                }
            }
        }
    }

    /// What was found so far.
    pub fn copies(&self) -> &CapturedCopies {
        &self.copies
    }

    /// Whether a packet between these ports may be of interest.
    #[inline]
    pub(crate) fn concerns(&self, ports: [u16; 2]) -> bool {
        self.ports[ports_of(ports)]
    }

    /// Takes the next packet, and changes it if it is a copy or reports one.
    pub fn take(&mut self, packet: &mut CapturedPacket) -> Taken {
        let ends = packet.endpoints;
        if packet.message.is_some() || !self.concerns([ends.src.port(), ends.dst.port()]) {
            return Taken::AsItIs;
        }
        let mut taken = Taken::AsItIs;
        if packet.segment.flags.contains(Flags::ACK)
            && let Some(flow) = self.flows.get_mut(&ends.reverse())
        {
            match flow.on_answer(&mut packet.segment) {
                Answer::AsItIs => {}
                Answer::WithoutReport => taken = Taken::Changed,
                Answer::Nothing => return Taken::LeftOut,
            }
        }
        let is_live = self.live.is_some();
        if packet.segment.sequence_len() > 0
            && let Some(flow) = self.flows.get_mut(&ends)
            && let Some(found) = flow.on_segment(packet, is_live)
        {
            packet.message = Some(Message::Copy);
            taken = Taken::Changed;
            self.copies.captured += u64::from(found.is_first);
            if !is_live {
                let may_have_repaired = found.may_have_repaired;
                self.copies.packets.push(CapturedCopy { frame: packet.frame, endpoints: ends, may_have_repaired });
            }
        }
        taken
    }
}

#[cfg(test)]
mod tests;
