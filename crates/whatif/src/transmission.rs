//! Every transmission of the sender, with its fate.
//!
//! The capture stands at the sender, so it holds every transmission, and every ACK that reached the sender.
//! Whether a transmission arrived, and when, follows from the ACKs.
//!
//! | module | what it does |
//! | --- | --- |
//! | `deliveries` | which transmission each ACK shows to have arrived |
//! | `arrivals` | when each arrived: delayed ACKs and held packets |

mod arrivals;
mod deliveries;

use recoup_units::{Instant, Span};
use std::time::Duration;

pub(crate) use arrivals::MOST_ACK_DELAY;
pub(crate) use deliveries::{MOST_TRANSMISSIONS, Transmissions, transmissions};

/// A transmission of a part of the sender's stream, at most one segment long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transmission {
    /// Offsets it carried: payload, and a SYN or a FIN as one offset.
    pub span: Span,
    /// 1 for the first transmission of its first offset, 2 for the second.
    pub copy: u16,
    /// When it was sent.
    pub sent: Instant,
    /// Its length with IP and TCP headers, in bytes.
    pub ip_len: u32,
    /// Fate of the transmission.
    pub fate: Fate,
}

/// Fate of a transmission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It arrived.
    Arrived(Arrival),
    /// The network lost it.
    Lost,
    /// The ACKs do not show it.
    Unknown,
}

/// The arrival of a transmission, as the sender could know of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// When an ACK that the receiver sends at once would reach the sender. The way back is thought of as
    /// constant, so that later than [`Transmission::sent`] by a round trip.
    pub echo: Instant,
    /// How long the receiver delayed the ACK that it sent for this arrival. `None`: it sent no ACK for it
    /// that reached the sender, but a later one covered it.
    pub ack: Option<Duration>,
    /// Without an ACK: the ACK was lost, or merged with a later one. Otherwise the receiver waited for
    /// more data.
    pub ack_lost: bool,
    /// Whether it was the next data expected, with nothing received beyond.
    pub in_order: bool,
    /// How much longer than its neighbours it took, because the network held it until later packets had
    /// overtaken it; zero for most.
    pub held: Duration,
    /// How many copies of it arrived besides: the network duplicated it.
    pub duplicates: u16,
}

impl Arrival {
    /// Whether the receiver acknowledged it at once, so that its echo is known, and the network did not hold
    /// it.
    pub fn is_exact(&self) -> bool {
        self.ack == Some(Duration::ZERO) && self.held.is_zero()
    }
}

impl Transmission {
    /// Its arrival, if it arrived.
    pub fn arrival(&self) -> Option<&Arrival> {
        match &self.fate {
            Fate::Arrived(arrival) => Some(arrival),
            Fate::Lost | Fate::Unknown => None,
        }
    }
}
