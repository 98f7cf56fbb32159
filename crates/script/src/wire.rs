//! Converts between the script's packets and the endpoint's segments.
//!
//! A script's sequence numbers are relative to the initial sequence number of their side. Those of SYN
//! segments are absolute.

use crate::{
    packet::{Mark, Packet, TcpOption},
    script::TimestampClock,
};
use recoup_wire::{Endpoints, Flags, Options, Payload, Segment, SeqNumber, TCP_HEADER_LEN, Timestamps, encode};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

/// The initial sequence numbers of both sides.
#[derive(Clone, Debug, Default)]
pub(crate) struct Numbers {
    /// The initial sequence number of the endpoint.
    pub local: SeqNumber,
    /// The initial sequence number of the peer, once its SYN is known.
    pub remote: Option<SeqNumber>,
    pub clock: Clock,
}

/// Converts between the script's timestamps and ours.
#[derive(Clone, Debug, Default)]
pub(crate) struct Clock {
    kind: TimestampClock,
    /// How far the script's clock is ahead of ours, once it is known.
    ahead: Option<u32>,
    /// Pairs of the script's value and ours.
    names: Vec<(u32, u32)>,
}

impl Clock {
    pub fn new(kind: TimestampClock) -> Self {
        Self { kind, ..Self::default() }
    }

    /// Our value on the script's clock.
    pub fn to_script(&self, ours: u32) -> u32 {
        ours.wrapping_add(self.ahead.unwrap_or(0))
    }

    /// The endpoint's value for the script's value `theirs`.
    fn to_ours(&self, theirs: u32) -> u32 {
        let named = self.names.iter().rev().find(|(name, _)| *name == theirs);
        match named {
            _ if theirs == 0 => 0,
            Some((_, ours)) if self.kind == TimestampClock::Names => *ours,
            _ => theirs.wrapping_sub(self.ahead.unwrap_or(0)),
        }
    }

    /// Whether the script's values are placeholders rather than times.
    pub fn has_names(&self) -> bool {
        self.kind == TimestampClock::Names
    }

    /// An outgoing packet has the value `theirs` in the script, and `ours` from the endpoint.
    pub fn learn(&mut self, theirs: u32, ours: u32) {
        self.ahead.get_or_insert(theirs.wrapping_sub(ours));
        if self.kind == TimestampClock::Names {
            self.names.push((theirs, ours));
        }
    }
}

impl Numbers {
    /// The segment that the endpoint receives for a packet of the script.
    pub fn segment(&self, packet: &Packet) -> Segment {
        let syn = packet.flags.contains(Flags::SYN);
        let remote = self.remote.unwrap_or_default();
        let absolute = |n: u32, isn: SeqNumber| if syn { SeqNumber(n) } else { isn + n };
        Segment {
            seq: absolute(packet.seq, remote),
            ack: packet.ack.map_or(SeqNumber(0), |ack| absolute(ack, self.local)),
            payload_len: packet.payload_len,
            window: packet.window.unwrap_or(0),
            flags: packet.flags,
            options: self.options(packet.options.as_deref().unwrap_or_default()),
        }
    }

    fn options(&self, list: &[TcpOption]) -> Options {
        let mut options = Options::NONE;
        for option in list {
            match option {
                TcpOption::Nop | TcpOption::Other(_) => {}
                TcpOption::EndOfList => break,
                TcpOption::Mss(mss) => options.mss = Some(*mss),
                TcpOption::WindowScale(shift) => {
                    options.window_scale = Some((*shift).min(Options::MAX_WINDOW_SCALE));
                }
                TcpOption::SackPermitted => options.sack_permitted = true,
                TcpOption::Timestamps(value, echo) => {
                    let echo = self.clock.to_ours(*echo);
                    options.timestamps = Some(Timestamps { value: *value, echo });
                }
                TcpOption::Sack(blocks) => {
                    for (left, right) in blocks {
                        options.sack.push([self.local + *left, self.local + *right]);
                    }
                }
            }
        }
        options
    }

    /// A segment that the endpoint sent, with the script's numbers except for its timestamp.
    pub fn packet(&self, segment: &Segment, mark: Mark) -> Packet {
        let syn = segment.flags.contains(Flags::SYN);
        let remote = self.remote.unwrap_or_default();
        let relative = |n: SeqNumber, isn: SeqNumber| if syn { n.0 } else { n.since(isn) };
        let acks = segment.flags.contains(Flags::ACK);
        Packet {
            mark: Some(mark),
            flags: segment.flags,
            seq: relative(segment.seq, self.local),
            payload_len: segment.payload_len,
            ack: acks.then(|| relative(segment.ack, remote)),
            window: Some(segment.window),
            options: Some(options_in_order(segment, remote)),
        }
    }
}

/// The options in the order of the header, with padding.
fn options_in_order(segment: &Segment, remote: SeqNumber) -> Vec<TcpOption> {
    let address = |last| SocketAddr::from((IpAddr::V4(Ipv4Addr::new(192, 0, 2, last)), 0));
    let endpoints = Endpoints { src: address(1), dst: address(2) };
    let header = Segment { payload_len: 0, ..*segment };
    let mut bytes = Vec::new();
    if segment.options == Options::NONE || encode(&header, &endpoints, 0, Payload::Fill(0), &mut bytes).is_err() {
        return Vec::new();
    }
    let tcp = bytes.len() - header.header_len() as usize;
    let mut rest = bytes.get(tcp + TCP_HEADER_LEN as usize..).unwrap_or_default();
    let mut list = Vec::new();
    while let Some((&kind, after)) = rest.split_first() {
        let len = match kind {
            0 | 1 => 1,
            _ => usize::from(after.first().copied().unwrap_or(2)).max(2),
        };
        let (option, behind) = rest.split_at(len.min(rest.len()));
        list.push(option_of(kind, option.get(2..).unwrap_or_default(), remote));
        rest = behind;
    }
    list
}

fn option_of(kind: u8, value: &[u8], remote: SeqNumber) -> TcpOption {
    let words: Vec<u32> = value.chunks_exact(4).map(|w| u32::from_be_bytes([w[0], w[1], w[2], w[3]])).collect();
    match (kind, value) {
        (0, _) => TcpOption::EndOfList,
        (1, _) => TcpOption::Nop,
        (2, [a, b]) => TcpOption::Mss(u16::from_be_bytes([*a, *b])),
        (3, [shift]) => TcpOption::WindowScale(*shift),
        (4, []) => TcpOption::SackPermitted,
        (5, _) => TcpOption::Sack(
            words
                .chunks_exact(2)
                .map(|edges| (SeqNumber(edges[0]).since(remote), SeqNumber(edges[1]).since(remote)))
                .collect(),
        ),
        (8, _) if words.len() == 2 => TcpOption::Timestamps(words[0], words[1]),
        _ => TcpOption::Other(kind),
    }
}
