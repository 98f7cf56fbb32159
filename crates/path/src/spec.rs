//! Hops and paths as values that print, compare and clone.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use recoup_units::{BitRate, Direction, format_bytes, parse_bytes};
use thiserror::Error;

use crate::{CoDel, LinkTrace, LossSpec, LossTrace, Probability, Red};

/// The hops of a path, both ways.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PathSpec {
    /// From client to server.
    pub up: Vec<HopSpec>,
    /// From server to client.
    pub down: Vec<HopSpec>,
}

impl PathSpec {
    /// The hops of one direction.
    pub const fn hops_mut(&mut self, direction: Direction) -> &mut Vec<HopSpec> {
        match direction {
            Direction::Up => &mut self.up,
            Direction::Down => &mut self.down,
        }
    }

    /// Lets the loss rules of one direction name payload bytes where they name data segments, as
    /// [`LossSpec::with_byte_offsets`] does.
    pub fn use_byte_offsets(&mut self, direction: Direction, mss: u16) {
        for hop in self.hops_mut(direction) {
            if let HopSpec::Loss(loss) = hop {
                *loss = loss.with_byte_offsets(mss);
            }
        }
    }
}

/// One hop of a path, in one direction.
///
/// A path without a rate limit or without loss has no hop for it.
#[derive(Clone, Debug, PartialEq)]
pub enum HopSpec {
    /// Propagation delay: every packet leaves this much later (one way).
    Delay(Duration),
    /// A transmitter that serialises `ip_len` bytes at `rate`, one packet at a time, with a
    /// drop-tail `queue` in front of it. The time of a packet is rounded up to the nanosecond.
    Rate {
        /// The transmitter's speed.
        rate: BitRate,
        /// The queue in front of it.
        queue: Queue,
    },
    /// A link whose delivery opportunities were recorded, with a drop-tail `queue` in front of it.
    Link {
        /// When it could deliver packets.
        trace: LinkTrace,
        /// The queue in front of it.
        queue: Queue,
    },
    /// Drops the packets a loss rule chooses.
    Loss(LossSpec),
    /// Drops the packets that a recording says were lost. A flow counts all its packets of the direction.
    LossTrace(LossTrace),
    /// Holds a packet back so that later ones overtake it.
    Reorder {
        /// The probability that a packet is held.
        probability: Probability,
        /// For how long.
        extra: Duration,
    },
    /// Two routes of which the shorter one serves the ends of messages: a data segment with fewer than `below` payload
    /// bytes takes it with this probability, and overtakes what was sent up to `ahead` before it. All other packets take the
    /// longer route.
    Shortcut {
        /// The probability that a short segment takes the shorter route.
        probability: Probability,
        /// How much longer the other route takes.
        ahead: Duration,
        /// The payload bytes from which on a segment is not short.
        below: u32,
    },
    /// Sends a copy of a packet directly behind it.
    Duplicate {
        /// The probability that a packet is copied.
        probability: Probability,
    },
    /// Damages a packet ([`Packet::corrupt`](crate::Packet::corrupt)).
    Corrupt {
        /// The probability that a packet is damaged.
        probability: Probability,
    },
    /// Makes the ACKs of a receiver that acknowledges every segment look like those of one that delays
    /// them (RFC 5681 §4.2). Of the pure ACKs that acknowledge more data in order, every second passes
    /// at once. An odd one waits; a later ACK that passes meanwhile replaces it
    /// ([`DropCause::Thinned`](crate::DropCause::Thinned)). All other packets pass at once. The hop
    /// belongs first in the chain, where the ACKs are as the receiver sent them.
    ThinAcks {
        /// The longest time an odd ACK waits (Linux: 40 ms to 200 ms; RFC 5681: under 500 ms).
        hold: Duration,
    },
}

impl fmt::Display for HopSpec {
    /// For reading: `rate 10Mbit queue 100p`, `delay 20ms`, `loss data:3`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Delay(delay) => write!(f, "delay {delay:?}"),
            Self::Rate { rate, queue } => write!(f, "rate {rate} queue {queue}"),
            Self::Link { trace, queue } => write!(f, "link {trace} queue {queue}"),
            Self::Loss(spec) => write!(f, "loss {spec}"),
            Self::LossTrace(trace) => write!(f, "loss trace {trace}"),
            Self::Reorder { probability, extra } => write!(f, "reorder {probability} by {extra:?}"),
            Self::Shortcut { probability, ahead, below } => {
                write!(f, "shortcut {probability} by {ahead:?} below {below} B")
            }
            Self::Duplicate { probability } => write!(f, "duplicate {probability}"),
            Self::Corrupt { probability } => write!(f, "corrupt {probability}"),
            Self::ThinAcks { hold } => write!(f, "thin acks {hold:?}"),
        }
    }
}

/// A chain of hops in one line: `loss data:3 > rate 10Mbit queue 100p > delay 20ms`; `nothing`
/// when there is no hop.
pub fn one_line(hops: &[HopSpec]) -> String {
    if hops.is_empty() {
        return "nothing".into();
    }
    let hops: Vec<_> = hops.iter().map(ToString::to_string).collect();
    hops.join(" > ")
}

/// A queue: the limit of a drop-tail queue, at which an arriving packet that would exceed it is dropped, or a queue
/// that drops or marks packets before it is full.
///
/// A limit is for the packets that *wait*. The packet in service, whose first byte is already on the
/// wire, does not count. So a packet that finds a [`HopSpec::Rate`] idle is never dropped, while at a
/// [`HopSpec::Link`] every packet waits for an opportunity. At one instant, departures come before
/// arrivals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Queue {
    /// Nothing is ever dropped.
    #[default]
    Unlimited,
    /// At most this many packets wait.
    Packets(u32),
    /// At most this many bytes (IP headers included) wait.
    Bytes(u64),
    /// Random early detection, without a limit. Only in front of a rate.
    Red(Red),
    /// CoDel. Only in front of a rate.
    CoDel(CoDel),
}

impl Queue {
    /// Whether a packet of `len` bytes may join `packets` waiting packets of `bytes` bytes in all.
    pub fn admits(self, packets: usize, bytes: u64, len: u32) -> bool {
        match self {
            Self::Unlimited | Self::Red(_) => true,
            Self::CoDel(codel) => packets < codel.limit as usize,
            Self::Packets(limit) => packets < limit as usize,
            Self::Bytes(limit) => bytes.saturating_add(len.into()) <= limit,
        }
    }
}

/// Text that is not a queue limit.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "`{0}` is not a queue limit: expected packets (100 or 100p, at least 1), bytes (1500B, 64kB or 64KiB), none, codel, red:5-15 \
     (packets on average), or codel/ecn and red:5-15/ecn, which mark"
)]
pub struct QueueError(pub String);

impl FromStr for Queue {
    type Err = QueueError;

    /// `100` and `100p` are packets, `1500B`, `64kB` (64,000 bytes) and `64KiB` (65,536 bytes) are
    /// bytes, and `none` is unlimited. Zero is refused. `codel` is CoDel with its usual parameters, `red:5-15` RED between 5
    /// and 15 packets; `/ecn` marks where it can.
    fn from_str(text: &str) -> Result<Self, QueueError> {
        let error = || QueueError(text.to_owned());
        let trimmed = text.trim();
        if trimmed == "none" {
            return Ok(Self::Unlimited);
        }
        let (name, ecn) = match trimmed.strip_suffix("/ecn") {
            Some(name) => (name, true),
            None => (trimmed, false),
        };
        if name == "codel" {
            let usual = CoDel::default();
            return Ok(Self::CoDel(CoDel { ecn, ..usual }));
        }
        if let Some(bounds) = name.strip_prefix("red:") {
            let numbers = bounds.split_once('-');
            let bound = |text: &str| text.parse::<u32>().ok().filter(|bound| *bound > 0);
            let numbers = numbers.and_then(|(min, max)| bound(min).zip(bound(max)));
            let (min, max) = numbers.filter(|(min, max)| min < max).ok_or_else(error)?;
            return Ok(Self::Red(Red { min, max, ecn }));
        }
        let packets = trimmed.strip_suffix('p').unwrap_or(trimmed);
        let is_packets = packets.bytes().all(|b| b.is_ascii_digit());
        let queue = match is_packets {
            true => packets.parse().ok().map(Self::Packets),
            false => parse_bytes(trimmed).map(Self::Bytes),
        };
        queue.filter(|queue| !matches!(queue, Self::Packets(0) | Self::Bytes(0))).ok_or_else(error)
    }
}

impl fmt::Display for Queue {
    /// The text that [`FromStr`] reads, with bytes in the largest unit that divides them. Of CoDel it names ECN alone.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Unlimited => f.write_str("none"),
            Self::Packets(n) => write!(f, "{n}p"),
            Self::Bytes(n) => f.write_str(&format_bytes(n)),
            Self::Red(Red { min, max, ecn }) => {
                write!(f, "red:{min}-{max}{}", if ecn { "/ecn" } else { "" })
            }
            Self::CoDel(CoDel { ecn, .. }) => {
                write!(f, "codel{}", if ecn { "/ecn" } else { "" })
            }
        }
    }
}

#[cfg(test)]
mod tests;
