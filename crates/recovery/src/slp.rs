//! Selective loss prevention: an extra copy of the few segments whose loss would cost a timeout.
//!
//! ```text
//! arbitrator:  copy if t1 ≥ t2, where
//!              t1 = p·q·RTO             what a timeout costs if the segment is lost
//!              t2 = (1 − p)·size/bw     what the copy costs if it is not
//! window:      win = min(cwnd − dup_bytes, rwnd)
//!              copy only if  next + 2·size < high_acked + cwnd  and
//!                            next + size   < high_acked + rwnd
//! ACK:         of n bytes of the copied segment: dup_bytes −= n, dup_seq += n; of all: both 0
//! pacing:      the copy follows its original by a gap, a fraction of SRTT
//! ```
//! p is the loss rate and q the probability that the loss of this segment causes a timeout. RTO is the
//! current retransmission timeout. bw is the measured delivery rate (`delivery`), or a configured one
//! before any measurement. In the arbitrator, `size` is the packet's IP length; in the window, it is the
//! segment's sequence space. `next` is `snd_nxt` before the original; `high_acked` is `snd_una`.
//!
//! Source: "Selective Loss Prevention" (2021), §II-C1 (arbitrator), §II-C2 (window), §II-C (pacing).
//!
//! Where the paper is silent or off by one:
//!
//! - **When.** The paper decides before a packet is sent. This module decides right after, at the same
//!   instant. It copies only new data, because the paper's `next` pointer excludes retransmissions.
//! - **Window.** Both inequalities are strict, as in the paper: a copy that would exactly fill a window is
//!   not sent. Windows count segments here, so each copy takes one full segment of the congestion window,
//!   whatever its length.
//! - **In flight.** `win` limits what is in flight. The paper's limits `next − high_acked`, which also holds what was SACKed:
//!   during a recovery with SACK its window is smaller.
//! - **Bandwidth.** Before the first measurement bw is the configured one, 10 Mbit/s by default. It alone decides whether a
//!   connection's SYN and first request are copied.
//! - **Off by one.** The paper writes `ack == dup_seq + n − 1` and `dup_seq += n − 1` for an ACK that
//!   covers n bytes. TCP's ACK number names the next byte expected, so both are n here.
//! - **Second check.** The window is checked again when the gap ends. The copy is dropped if it no longer
//!   fits, or if its original was acknowledged, SACKed or marked lost during the gap.
//! - **Accounting.** A copy counts against the window for new data until its segment is acknowledged (the
//!   paper) or marked lost. It does not count against retransmissions, because it could then cause the
//!   very timeout it should prevent. No other copy is sent until the segment is acknowledged ("one
//!   duplicate packet per sliding window").
//! - **SYN-ACK.** The paper sets q = 1 for SYN packets and 10 % for PSH packets (§II-C1), and gives
//!   no q for SYN-ACKs. Here a SYN-ACK has q = 1 too, because only a timeout repairs its loss as well.
//!   `slp.q=syn:1,psh:0.1` is the paper's letter.
//! - **Handshake.** A SYN or SYN-ACK is sent before the peer's window is known, when nothing is in flight.
//!   Its copy is not checked against either window.
//! - **DSACK.** The first DSACK for a copied segment reports the copy, not a spurious retransmission. The
//!   exception is a segment that an unanswered tail loss probe has repeated.
//! - **Duplicate ACKs.** Without SACK, the copy's own duplicate ACK is ignored: the first one that
//!   acknowledges nothing sent after the copy.
//! - **Ambiguity.** A copied segment that arrives late is no evidence of reordering. Neither its echoed
//!   timestamp nor its arrival after a timeout is evidence that a retransmission was spurious.
//! - **RTT.** With timestamps, the RTT of a copied segment is measured from the transmission nearer to the
//!   echoed timestamp. Without them, and in RACK, it is measured from the original, which is too long by
//!   the gap if the original was lost.
//! - **q = 0.** A segment with q = 0 is never copied, although the formula's 0 ≥ 0 holds at p = 1.
//! - **Learning.** A learned p uses the segments of this connection only.

mod copies;

pub(crate) use copies::Copies;

use core::fmt;
use core::time::Duration;
use recoup_units::{BitRate, Ppm};

/// The gap between original and copy before the first RTT sample.
pub(crate) const FIRST_GAP: Duration = Duration::from_millis(5);

/// The parameters of the arbitrator and of pacing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct SlpRules {
    /// p: the probability that a packet is lost.
    pub loss: LossRate,
    /// q: the probability that a loss causes a timeout.
    pub likelihoods: Likelihoods,
    /// bw until the connection has measured its delivery rate.
    pub bandwidth: BitRate,
    /// The gap between original and copy, as a share of SRTT.
    pub gap: Ppm,
}

impl SlpRules {
    /// The paper's p and q (§II-C1), and our q for SYN-ACKs. The paper specifies neither bw nor the gap.
    pub const PAPER: Self = Self {
        loss: LossRate::Fixed(Ppm::percent(2)),
        likelihoods: Likelihoods::PAPER,
        bandwidth: match BitRate::from_bits_per_second(10_000_000) {
            Some(rate) => rate,
            None => unreachable!(),
        },
        gap: Ppm::new(125_000),
    };
}

/// The source of p, the loss rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum LossRate {
    /// A configured value.
    Fixed(Ppm),
    /// Learned from this connection: `(1 + lost) / (50 + sent)`, which starts at 2 %.
    Learned,
}

impl fmt::Display for LossRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fixed(p) => p.fmt(f),
            Self::Learned => f.write_str("learned"),
        }
    }
}

impl LossRate {
    /// p after `sent` segments, of which `lost` had to be retransmitted.
    pub(crate) fn of(self, lost: u64, sent: u64) -> Ppm {
        match self {
            Self::Fixed(p) => p,
            Self::Learned => Ppm::ratio(lost.saturating_add(1), sent.saturating_add(50)),
        }
    }
}

/// The arbitrator's classes of segments. A segment can belong to several.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum Kind {
    /// A SYN without ACK.
    Syn,
    /// A SYN-ACK.
    SynAck,
    /// A segment with FIN.
    Fin,
    /// A segment with PSH.
    Psh,
    /// The last segment of the data the application has written so far.
    Tail,
    /// The connection's first data segment.
    First,
    /// A segment of no other kind.
    Other,
}

impl Kind {
    /// Every kind.
    pub const ALL: [Self; 7] = [Self::Syn, Self::SynAck, Self::Fin, Self::Psh, Self::Tail, Self::First, Self::Other];

    /// The name used in settings files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Syn => "syn",
            Self::SynAck => "syn_ack",
            Self::Fin => "fin",
            Self::Psh => "psh",
            Self::Tail => "tail",
            Self::First => "first",
            Self::Other => "other",
        }
    }
}

/// q for each kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Likelihoods([Ppm; Kind::ALL.len()]);

impl Likelihoods {
    /// 1 for SYN, 10 % for PSH, 0 otherwise (§II-C1); and 1 for SYN-ACK, our extension.
    pub const PAPER: Self = {
        let mut q = [Ppm::ZERO; Kind::ALL.len()];
        q[Kind::Syn as usize] = Ppm::ONE;
        q[Kind::SynAck as usize] = Ppm::ONE;
        q[Kind::Psh as usize] = Ppm::percent(10);
        Self(q)
    };

    /// q of one kind.
    pub fn of(&self, kind: Kind) -> Ppm {
        self.0[kind as usize]
    }

    /// These likelihoods, with `kind` changed to `q`.
    pub fn with(mut self, kind: Kind, q: Ppm) -> Self {
        self.0[kind as usize] = q;
        self
    }

    /// The largest q of the given kinds; with no kind given, that of [`Kind::Other`].
    pub(crate) fn of_all(&self, kinds: impl IntoIterator<Item = Kind>) -> Ppm {
        let largest = kinds.into_iter().map(|kind| self.of(kind)).max();
        largest.unwrap_or(self.of(Kind::Other))
    }
}

/// Properties of a sent segment that only the driver knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Carried {
    /// The packet's length, IP header included, in bytes.
    pub ip_len: u32,
    /// Whether the segment has PSH set.
    pub push: bool,
}

/// The terms of the arbitrator's decision on one segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stakes {
    /// The probability that the packet is lost.
    pub p: Ppm,
    /// The probability that its loss causes a timeout.
    pub q: Ppm,
    /// The current RTO, back-off included.
    pub rto: Duration,
    /// The packet's IP length, in bytes.
    pub ip_len: u32,
    /// The bandwidth that the copy consumes.
    pub bandwidth: BitRate,
}

impl Stakes {
    /// Whether p·q·RTO ≥ (1 − p)·size/bw (§II-C1), in exact integer arithmetic.
    pub fn favour_a_copy(&self) -> bool {
        let [p, q, rest] = [self.p, self.q, self.p.rest()].map(|s| u128::from(s.millionths()));
        let bits = u128::from(self.ip_len) * 8;
        let timeout =
            (p * q).saturating_mul(self.rto.as_nanos()).saturating_mul(self.bandwidth.bits_per_second().into());
        // Millionths twice on the left, once on the right; nanoseconds on the left.
        let copy = rest * bits * 1_000_000 * 1_000_000_000;
        timeout >= copy && q > 0
    }
}

#[cfg(test)]
mod tests;
