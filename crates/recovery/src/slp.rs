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
//! p is the loss rate, q the likelihood that a loss of this segment means a timeout, RTO the one in
//! force, bw the delivery rate (`delivery`) once it is known. In the arbitrator `size` is the
//! packet's IP length, in the window its sequence space; `next` is `snd_nxt` before the original,
//! `high_acked` is `snd_una`.
//!
//! Source: "Selective Loss Prevention" (2021), §II-C1 (arbitrator), §II-C2 (window), §II-C (pacing).
//!
//! Where the text is silent or off by one:
//!
//! - It decides before a packet is sent; here right after, which is the same moment. Only what is sent
//!   for the first time is considered: the pointer `next` of its rules has no place for retransmissions.
//! - Both of the window's inequalities are strict, as in the text, so that a copy which would just fill
//!   a window is not sent. Since windows count segments here, each copy also takes the room of one
//!   whole segment beside those in flight, whatever its length.
//! - It writes `ack == dup_seq + n − 1` and `dup_seq += n − 1` for an ACK that covers n bytes; with ACK
//!   numbers that name the next byte expected, as TCP's do, both are n.
//! - The room is checked again when the gap is over. A copy that does not fit any more is not sent, nor
//!   is one whose original was acknowledged, SACKed or marked lost meanwhile.
//! - A copy counts until its segment is acknowledged (the text) or marked lost, against the window of
//!   new data, which is what moves `next`: were retransmissions held to what it leaves, a copy could
//!   bring about the timeout it is to prevent. Until the segment is acknowledged no other copy is sent
//!   ("one duplicate packet per sliding window").
//! - SYN and SYN-ACK are sent before the peer's window is known, into an empty one; their copies are
//!   not held against either window.
//! - What is in doubt is never taken for good news. The DSACK of a copy is none of a retransmission: the
//!   first one reported for a copied segment is the copy's, unless a tail loss probe has repeated the
//!   segment and waits for its answer. Without SACK the copy's duplicate ACK does not count: it is the
//!   first one that acknowledges nothing sent after the copy. A copied segment that arrives late proves
//!   no reordering, and its echoed timestamp and its arrival after a timeout prove nothing spurious.
//! - The RTT of a copied segment is measured from whichever of the two the timestamp echoed is nearer to;
//!   without timestamps, and by RACK, from the original, so that it is too long by the gap if that was
//!   lost.
//! - Where nothing is ever to time out (q = 0) nothing is copied, though at p = 1 the formula's 0 ≥ 0
//!   would.
//! - p, where it is learned, is learned from this connection alone.

mod copies;

pub(crate) use copies::Copies;

use recoup_units::{BitRate, Ppm};
use std::time::Duration;

/// The gap before there is an SRTT.
pub(crate) const FIRST_GAP: Duration = Duration::from_millis(5);

/// What the arbitrator and the pacing go by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlpRules {
    /// p: how likely a packet is lost.
    pub loss: LossRate,
    /// q: how likely a loss means a timeout.
    pub likelihoods: Likelihoods,
    /// bw until the connection has measured its own.
    pub bandwidth: BitRate,
    /// The gap between original and copy, as a share of SRTT.
    pub gap: Ppm,
}

impl SlpRules {
    /// The paper's p and q (§II-C1). It gives neither bw nor the gap.
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

/// Where p comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LossRate {
    /// It is given.
    Fixed(Ppm),
    /// Learned from this connection: `(1 + lost) / (50 + sent)`, which is 2 % to begin with.
    Learned,
}

impl LossRate {
    /// p after `sent` segments, `lost` of which had to be retransmitted.
    pub fn of(self, lost: u64, sent: u64) -> Ppm {
        match self {
            Self::Fixed(p) => p,
            Self::Learned => Ppm::ratio(lost.saturating_add(1), sent.saturating_add(50)),
        }
    }
}

/// What a segment is to the arbitrator; one may be of several kinds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A SYN without ACK.
    Syn,
    /// A SYN-ACK.
    SynAck,
    /// It carries FIN.
    Fin,
    /// It carries PSH.
    Psh,
    /// It ends what the application has written so far.
    Tail,
    /// The connection's first data.
    First,
    /// None of these.
    Other,
}

impl Kind {
    /// Every kind.
    pub const ALL: [Self; 7] = [
        Self::Syn,
        Self::SynAck,
        Self::Fin,
        Self::Psh,
        Self::Tail,
        Self::First,
        Self::Other,
    ];

    /// The name in files.
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
pub struct Likelihoods([Ppm; Kind::ALL.len()]);

impl Likelihoods {
    /// 1 for SYN and SYN-ACK, 10 % for PSH, 0 otherwise (§II-C1).
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

    /// The same but for `kind`.
    pub fn with(mut self, kind: Kind, q: Ppm) -> Self {
        self.0[kind as usize] = q;
        self
    }

    /// q of a segment of these kinds: the largest; of none of them: that of [`Kind::Other`].
    pub fn of_all(&self, kinds: impl IntoIterator<Item = Kind>) -> Ppm {
        let largest = kinds.into_iter().map(|kind| self.of(kind)).max();
        largest.unwrap_or(self.of(Kind::Other))
    }
}

/// What the sender cannot know of a segment it let go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Carried {
    /// The packet's length, IP header included, in bytes.
    pub ip_len: u32,
    /// It carries PSH.
    pub push: bool,
}

/// What a copy would win and cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stakes {
    /// How likely the packet is lost.
    pub p: Ppm,
    /// How likely its loss means a timeout.
    pub q: Ppm,
    /// The RTO in force.
    pub rto: Duration,
    /// The packet's IP length, in bytes.
    pub ip_len: u32,
    /// The bandwidth the copy uses up.
    pub bandwidth: BitRate,
}

impl Stakes {
    /// Whether p·q·RTO ≥ (1 − p)·size/bw (§II-C1), exactly.
    pub fn favour_a_copy(&self) -> bool {
        let [p, q, rest] = [self.p, self.q, self.p.rest()].map(|s| u128::from(s.millionths()));
        let bits = u128::from(self.ip_len) * 8;
        let timeout = (p * q)
            .saturating_mul(self.rto.as_nanos())
            .saturating_mul(self.bandwidth.bits_per_second().into());
        // Millionths twice on the left, once on the right; nanoseconds on the left.
        let copy = rest * bits * 1_000_000 * 1_000_000_000;
        timeout >= copy && q > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stakes(p: Ppm, q: Ppm, ip_len: u32, bits: u64) -> Stakes {
        Stakes {
            p,
            q,
            rto: Duration::from_secs(1),
            ip_len,
            bandwidth: BitRate::from_bits_per_second(bits).unwrap(),
        }
    }

    #[test]
    fn the_thresholds_of_the_formula_at_an_rto_of_a_second() {
        // 0.98 · 70 · 8 / 0.02 and 0.98 · 1500 · 8 / 0.002 bit/s; the paper prints other figures.
        let p = Ppm::percent(2);
        for (q, ip_len, threshold) in [(Ppm::ONE, 70, 27_440), (Ppm::percent(10), 1500, 5_880_000)]
        {
            assert!(stakes(p, q, ip_len, threshold).favour_a_copy());
            assert!(!stakes(p, q, ip_len, threshold - 1).favour_a_copy());
        }
    }

    #[test]
    fn certain_loss_favours_and_no_loss_or_no_timeout_does_not() {
        let slowest = 1;
        assert!(stakes(Ppm::ONE, Ppm::new(1), 1500, slowest).favour_a_copy());
        assert!(!stakes(Ppm::ONE, Ppm::ZERO, 1500, u64::MAX).favour_a_copy());
        assert!(!stakes(Ppm::ZERO, Ppm::ONE, 1, u64::MAX).favour_a_copy());
        let forever = Stakes {
            rto: Duration::MAX,
            ..stakes(Ppm::ONE, Ppm::ONE, u32::MAX, u64::MAX)
        };
        assert!(forever.favour_a_copy());
    }

    #[test]
    fn a_segment_of_several_kinds_takes_the_largest_q() {
        let q = Likelihoods::PAPER
            .with(Kind::Tail, Ppm::percent(30))
            .with(Kind::Other, Ppm::percent(1));
        for (kinds, expected) in [
            (&[][..], 1),
            (&[Kind::First], 0),
            (&[Kind::Psh], 10),
            (&[Kind::Psh, Kind::Tail], 30),
            (&[Kind::Tail, Kind::Syn], 100),
        ] {
            let found = q.of_all(kinds.iter().copied());
            assert_eq!(found, Ppm::percent(expected), "{kinds:?}");
        }
    }

    #[test]
    fn p_is_learned_from_two_percent_on() {
        for (lost, sent, millionths) in [(0, 0, 20_000), (0, 950, 1000), (50, 50, 510_000)] {
            let p = LossRate::Learned.of(lost, sent);
            assert_eq!(p.millionths(), millionths);
        }
        let fixed = LossRate::Fixed(Ppm::percent(3));
        assert_eq!(fixed.of(50, 50), Ppm::percent(3));
    }
}
