//! One flow with one profile.

use crate::prelude::*;
use crate::slp::micro;
use crate::tail_loss::Acks;

/// The profiles. FCTs are normalised to the first one's.
pub const PROFILES: [&str; 6] =
    ["linux-3.17", "linux-3.17+rtor", "linux-3.17+tlp", "linux-3.17+tlpr", "linux-3.17+slp", "linux-3.17+tlpr+slp"];

/// The lost packet, the flow's length, and the q that decides on copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Case {
    /// The last of 8 segments; a window of 10 has room for its copy.
    Tail8,
    /// The last of 10 segments; a window of 10 has no room for its copy.
    Tail10,
    /// The last of 8 segments, with the paper's q.
    Default8,
    /// The last of 10 segments, with the paper's q.
    Default10,
    /// The first SYN.
    Syn,
    /// The first SYN-ACK.
    SynAck,
}

impl Case {
    /// In the order of reports.
    pub const ALL: [Self; 6] = [Self::Tail8, Self::Tail10, Self::Default8, Self::Default10, Self::Syn, Self::SynAck];

    /// The name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tail8 | Self::Default8 => "last of 8",
            Self::Tail10 | Self::Default10 => "last of 10",
            Self::Syn => "SYN",
            Self::SynAck => "SYN-ACK",
        }
    }

    /// The title of the case's panel.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Tail8 => "The last of 8 segments, q 1 for tails: the window has room for a copy",
            Self::Tail10 => "The last of 10 segments, q 1 for tails: the window has no room",
            Self::Default8 => "The last of 8 segments, the paper's q: worth a copy at RTT 320 ms",
            Self::Default10 => "The last of 10 segments, the paper's q: no room where it is worth one",
            Self::Syn => "The SYN",
            Self::SynAck => "The SYN-ACK",
        }
    }

    /// The flow's length in full segments.
    pub const fn segments(self) -> u64 {
        match self {
            Self::Tail8 | Self::Default8 => 8,
            Self::Tail10 | Self::Default10 | Self::Syn | Self::SynAck => 10,
        }
    }

    /// The value of the `slp.q` setting.
    pub const fn likelihoods(self) -> &'static str {
        match self {
            Self::Tail8 | Self::Tail10 => "tail:1",
            _ => "paper",
        }
    }

    /// The value of the `drop` setting.
    const fn drop(self) -> &'static str {
        match self {
            Self::Syn => "up:syn:1",
            Self::SynAck => "down:syn:1",
            _ => "tail:1",
        }
    }

    /// The receivers of the case. Delayed ACKs make no difference before there are data.
    pub const fn receivers(self) -> &'static [Acks] {
        match self {
            Self::Syn | Self::SynAck => &[Acks::Quick],
            _ => &Acks::ALL,
        }
    }
}

/// One flow.
#[derive(Clone, Debug, PartialEq)]
pub struct TailCell {
    /// The case.
    pub case: Case,
    /// The `ack` setting.
    pub ack: &'static str,
    /// The RTT in ms.
    pub rtt_ms: u64,
    /// The profile of both hosts.
    pub profile: &'static str,
    /// Flow completion time in ms; `None` if the flow did not complete.
    pub fct_ms: Option<f64>,
    /// FCT divided by the first profile's FCT.
    pub fct_normalised: Option<f64>,
    /// Retransmissions of both hosts, with SYNs and SYN-ACKs.
    pub retransmissions: u64,
    /// Copies sent by both hosts, with those of SYN and SYN-ACK.
    pub copies: u64,
    /// The sequence space of the copies, in bytes.
    pub copied_bytes: u64,
    /// Copies that the arbitrator favoured but the window had no room for.
    pub withheld: u64,
    /// IP bytes sent, both directions.
    pub bytes: u64,
}

impl Keyed for TailCell {
    type Key = (Case, &'static str, u64, &'static str);

    fn key(&self) -> Self::Key {
        (self.case, self.ack, self.rtt_ms, self.profile)
    }
}

impl TailCell {
    /// Whether a data segment was copied. A copy of a SYN or SYN-ACK is one byte of sequence space.
    pub fn copied_data(&self) -> bool {
        self.copied_bytes > self.copies
    }
}

/// Runs a flow of a case. `more` are settings in addition to the case's.
pub fn run(setup: &Setup, case: Case, acks: Acks, rtt_ms: u64, profile: &'static str, more: &str) -> Result<TailCell> {
    let drop = if setup.is_mutated("no-loss") { "none" } else { case.drop() };
    let (segments, acked, q) = (case.segments(), acks.name(), case.likelihoods());
    let own = format!("rtt={rtt_ms}ms segments={segments} drop={drop} ack={acked} slp.q={q}");
    let flow = micro::run(setup, profile, &format!("{own} {more}"))?.record;
    Ok(TailCell {
        case,
        ack: acked,
        rtt_ms,
        profile,
        fct_ms: flow.fct.map(ms),
        fct_normalised: None,
        retransmissions: flow.counters.retransmissions.total(),
        copies: flow.counters.copies,
        copied_bytes: flow.counters.copied_bytes,
        withheld: flow.counters.copies_withheld,
        bytes: flow.bytes_sent,
    })
}
