//! Proportional rate reduction.
//!
//! ```text
//! on each ACK:  prr_delivered += delivered
//!   pipe > ssthresh:  sndcnt = ⌈prr_delivered · ssthresh / RecoverFS⌉ − prr_out
//!   otherwise:        sndcnt = min(ssthresh − pipe, limit)
//!     unlimited        (PRR-UB)    limit = ∞
//!     conservative     (PRR-CRB)   limit = prr_delivered − prr_out
//!     slow start       (PRR-SSRB)  limit = max(prr_delivered − prr_out, delivered) + 1
//!     safe ACK         (RFC 9937)  limit = max(prr_delivered − prr_out, delivered)
//!                                          + 1 if snd_una advanced and no further loss was found
//! the first retransmission of a recovery is sent even if sndcnt = 0
//! cwnd = pipe + sndcnt
//! ```
//! RecoverFS is one of three ([`RecoverFs`]), measured when the reduction begins:
//!
//! ```text
//!     flight size      snd_nxt − snd_una                        2011 paper, algorithm 2; RFC 6937 §3
//!     undelivered      snd_nxt − snd_una − SACKed + delivered   RFC 9937 §6.1
//!     window           cwnd                                     Linux tcp_init_cwnd_reduction
//! ```
//! SACKed counts the SACKed segments on the scoreboard after the ACK that begins the reduction, and delivered those
//! that this ACK delivered. The difference leaves out what had arrived before, because prr_delivered never counts it.
//! RFC 9937 §6.1 adds the bytes newly acknowledged cumulatively. We read this as DeliveredData does (RFC 9937 §3):
//! data that had been SACKed is not added again. Where DSACKs count as delivered (Linux 4.18), those of this ACK
//! count here, too. Without SACK no segment is SACKed, and only the segments that the ACK acknowledges cumulatively
//! are added.
//!
//! Sources: RFC 6937 §3; RFC 9937 §6.1, §6.2; the 2011 paper's algorithm 2; Linux `tcp_cwnd_reduction`. The
//! unlimited bound is from the draft that the paper cites (its reference 15); the RFC omits it.
//!
//! Deviations, beside those at the steps:
//!
//! - Data is counted in segments, as in Linux. Where windows count bytes, RecoverFS is in full segments, rounded
//!   up, like the pipe.
//! - A flight size or an undelivered flight below ssthresh counts as ssthresh. In recovery the pipe is then no larger
//!   than ssthresh, and RecoverFS is unused. After a signal other than a loss, the sender may first fill the window, so
//!   that the pipe exceeds ssthresh. Without this floor the proportional part would then send more than was delivered.
//!
//! Versions differ in two further points. Linux 3.17 forces the first retransmission on the ACK that begins
//! recovery; RFC 9937 and later Linux force it as long as prr_out is 0. With RFC 9937 and later Linux only, an ACK
//! that delivers nothing changes nothing, except that the ACK that begins recovery sends the first
//! retransmission here.

use super::AckProgress;
use recoup_units::Segments;

/// How fast the sender refills the pipe after losses took it below ssthresh.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum Bound {
    /// To ssthresh at once.
    Unlimited,
    /// By the segments delivered and not yet replaced by transmissions: strict packet conservation.
    Conservative,
    /// As in slow start: by one segment more than was delivered.
    SlowStart,
    /// As in slow start while ACKs advance without further loss, otherwise conservatively.
    SafeAck,
}

/// The definition of RecoverFS, the flight at the beginning of a reduction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum RecoverFs {
    /// All outstanding data, SACKed data included: snd_nxt − snd_una (2011 paper, algorithm 2; RFC 6937 §3).
    FlightSize,
    /// The outstanding data without what had arrived before the ACK that begins the reduction
    /// (RFC 9937 §6.1).
    Undelivered,
    /// The congestion window (Linux).
    Cwnd,
}

/// The state of one reduction.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Prr {
    bound: Bound,
    //= RFC 9937 §6.1 step: "Upon entering fast recovery, PRR initializes RecoverFS, and RecoverFS remains constant
    //=   during a given fast recovery episode."
    recover_flight: Segments,
    delivered: u32,
    out: u32,
}

impl Prr {
    /// Begins a reduction. `recover_flight`: RecoverFS.
    pub fn enter(bound: Bound, recover_flight: Segments) -> Self {
        //= RFC 9937 §6.1 step: "prr_delivered = 0 // Total bytes delivered in recovery prr_out = 0 // Total bytes sent
        //=   in recovery"
        Self { bound, recover_flight, delivered: 0, out: 0 }
    }

    /// Changes the bound, and keeps the history.
    #[cfg(test)]
    pub(super) fn set_bound(&mut self, bound: Bound) {
        self.bound = bound;
    }

    /// RecoverFS.
    #[cfg(test)]
    pub(crate) fn recover_flight(&self) -> Segments {
        self.recover_flight
    }

    /// A segment was sent.
    pub fn on_sent(&mut self) {
        //= RFC 9937 §6.3 step: "On any data transmission or retransmission, PRR executes the following: prr_out +=
        //=   (data sent)"
        self.out = self.out.saturating_add(1);
    }

    /// The congestion window after an ACK.
    pub fn on_ack(&mut self, progress: &AckProgress) -> Segments {
        let safe_ack = self.bound == Bound::SafeAck;
        //= RFC 9937 §6.2 step: "if (DeliveredData is 0) Return"
        //= deviation: the ACK that begins recovery sends the first retransmission even so
        if safe_ack && progress.delivered == Segments::ZERO && !progress.entering {
            return progress.cwnd;
        }
        //= RFC 9937 §6.2 step: "prr_delivered += DeliveredData"
        self.delivered = self.delivered.saturating_add(progress.delivered.0);
        let AckProgress { pipe, ssthresh, .. } = *progress;
        let allowed = if pipe > ssthresh {
            self.in_proportion(ssthresh)
        } else {
            let gap = u64::from((ssthresh - pipe).0);
            //= RFC 9937 §6.2 step: "// Attempt to catch up, as permitted SndCnt = MIN(ssthresh - inflight, SndCnt)"
            gap.min(self.limit(progress))
        };
        let forced = match safe_ack {
            //= RFC 9937 §6.2 step: "if (prr_out is 0 AND SndCnt is 0) { // Force a fast retransmit upon entering
            //=   recovery SndCnt = SMSS }"
            true => self.out == 0,
            false => progress.entering,
        };
        //= RFC 9937 §6.2 step: "cwnd = inflight + SndCnt"
        pipe + Segments(allowed.max(u64::from(forced)) as u32)
    }

    //= RFC 9937 §6.2 step: "out = DIV_ROUND_UP(prr_delivered * ssthresh, RecoverFS) SndCnt = out - prr_out"
    fn in_proportion(&self, ssthresh: Segments) -> u64 {
        let share = u64::from(self.delivered) * u64::from(ssthresh.0);
        share.div_ceil(u64::from(self.recover_flight.0.max(1))).saturating_sub(self.out.into())
    }

    fn limit(&self, progress: &AckProgress) -> u64 {
        let banked = u64::from(self.delivered.saturating_sub(self.out));
        //= RFC 9937 §6.2 step: "SndCnt = MAX(prr_delivered - prr_out, DeliveredData)"
        let clocked = banked.max(u64::from(progress.delivered.0));
        match self.bound {
            Bound::Unlimited => u64::MAX,
            Bound::Conservative => banked,
            Bound::SlowStart => clocked + 1,
            //= RFC 9937 §6.2 step: "if (SafeACK) { // PRR-SSRB when recovery is making good progress SndCnt += SMSS }"
            Bound::SafeAck => clocked + u64::from(progress.safe),
        }
    }
}

#[cfg(test)]
mod tests;
