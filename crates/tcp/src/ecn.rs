//! Explicit congestion notification (RFC 3168 §6.1): negotiation, echoes and CWR.
//!
//! TCP segments carry two bits (ECE, CWR); the IP header carries the other two. The driver, which builds the
//! packets, calls [`Endpoint::is_ecn_capable`](crate::Endpoint::is_ecn_capable) before it sends, and
//! [`Endpoint::on_congestion_experienced`](crate::Endpoint::on_congestion_experienced) for a marked packet.
//!
//! As in Linux, the endpoint sends CWR after a reduction of any kind, and the peer's CWR ends the echo.

use recoup_recovery::State;
use recoup_wire::{Flags, Segment};

/// Whether to negotiate ECN.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ecn {
    /// Never.
    #[default]
    Off,
    /// Only if the peer requests it.
    Answer,
    /// Request it.
    Ask,
}

/// The ECN state of an endpoint.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct EcnState {
    wanted: Ecn,
    /// Whether the peer's SYN requested ECN, or its SYN-ACK accepted it.
    peer: bool,
    /// Whether a mark arrived that the peer has not yet answered with CWR.
    echo: bool,
    /// Whether the window was reduced and CWR was not sent yet.
    reduced: bool,
}

impl EcnState {
    pub fn new(wanted: Ecn) -> Self {
        Self { wanted, ..Self::default() }
    }

    /// Whether both sides agreed on ECN.
    pub fn is_agreed(&self) -> bool {
        self.peer
    }

    /// Processes the peer's SYN or SYN-ACK (§6.1.1).
    pub fn on_syn(&mut self, syn: &Segment) {
        let both = Flags::ECE | Flags::CWR;
        let (answers, wanted) = match syn.flags.contains(Flags::ACK) {
            true => (syn.flags.contains(Flags::ECE) && !syn.flags.contains(Flags::CWR), self.wanted == Ecn::Ask),
            false => (syn.flags.contains(both), self.wanted != Ecn::Off),
        };
        self.peer = answers && wanted;
    }

    /// A packet marked "congestion experienced" arrived (§6.1.3).
    pub fn on_mark(&mut self) {
        self.echo |= self.peer;
    }

    /// Processes a segment. Returns whether it echoes a mark on our packets.
    pub fn on_segment(&mut self, segment: &Segment) -> bool {
        if segment.flags.contains(Flags::CWR) {
            self.echo = false;
        }
        self.peer && segment.flags.contains(Flags::ECE)
    }

    /// The sender's state changed.
    pub fn on_state(&mut self, before: State, after: State) {
        let reduces = |state| matches!(state, State::Cwr | State::Recovery | State::Loss);
        self.reduced |= self.peer && reduces(after) && !reduces(before);
    }

    /// The ECN bits of a segment about to be sent. `new_data`: it carries data for the first time.
    pub fn flags(&mut self, segment: &Segment, new_data: bool) -> Flags {
        if segment.flags.contains(Flags::SYN) {
            return match (segment.flags.contains(Flags::ACK), self.wanted) {
                (true, _) if self.peer => Flags::ECE,
                (false, Ecn::Ask) => Flags::ECE | Flags::CWR,
                _ => Flags::NONE,
            };
        }
        let mut flags = Flags::NONE;
        if self.echo {
            flags |= Flags::ECE;
        }
        if new_data && self.reduced {
            self.reduced = false;
            flags |= Flags::CWR;
        }
        flags
    }
}

#[cfg(test)]
mod tests;
