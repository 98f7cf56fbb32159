//! How much may be sent in recovery? From the segments each ACK delivers, a rate control computes the
//! congestion window. The window falls from its size at the loss to the slow-start threshold that the
//! congestion control chose.
//!
//! A rate control also governs CWR, in which the window falls for another reason than a loss.

mod halving;
mod prr;
mod standard;

use halving::Halving;
pub(crate) use prr::Prr;
pub use prr::{Bound, RecoverFs};

use alloc::format;
use alloc::string::String;
use recoup_units::Segments;

/// A rate control for recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum RateControl {
    /// The window falls to ssthresh at once, and the sender fills it as the pipe shrinks (RFC 3517, RFC 6675
    /// §5; the 2011 paper's algorithm 1).
    Standard,
    /// Linux before 3.2: the window shrinks by one segment per two ACKs, and is at most pipe + 1.
    Halving,
    /// Proportional rate reduction.
    //= RFC 9937 §5 MAY: "PRR MAY be used in conjunction with any congestion control algorithm that intends to make a
    //=   multiplicative decrease in its sending rate over approximately the time scale of one round-trip time"
    //= RFC 9937 §5 MAY: "PRR MAY be used in conjunction with the loss detection algorithms specified or described in
    //=   the following documents: Reno [RFC5681], NewReno [RFC6582], SACK [RFC6675], Forward Acknowledgment (FACK)
    //=   [FACK], and Recent Acknowledgment Tail Loss Probe (RACK-TLP) [RFC8985]."
    Prr {
        /// How fast the pipe is refilled.
        bound: Bound,
        /// The flight at the beginning.
        recover_fs: RecoverFs,
    },
}

impl RateControl {
    /// Linux's from 3.2 to 3.17: PRR-SSRB, and RecoverFS is the congestion window.
    pub const LINUX_3_2: Self = Self::prr(Bound::SlowStart, RecoverFs::Cwnd);
    /// Linux 6's: SafeACK, and RecoverFS is the congestion window.
    pub const LINUX_6: Self = Self::prr(Bound::SafeAck, RecoverFs::Cwnd);

    /// Proportional rate reduction with `bound`.
    pub const fn prr(bound: Bound, recover_fs: RecoverFs) -> Self {
        Self::Prr { bound, recover_fs }
    }

    /// Describes the rate control in one line.
    pub(crate) fn about(self) -> String {
        let (bound, recover_fs) = match self {
            Self::Standard => {
                return "cwnd = ssthresh at once; cwnd − pipe segments may be sent".into();
            }
            Self::Halving => {
                return "rate halving: cwnd falls by one segment per two ACKs, cwnd at most pipe + 1".into();
            }
            Self::Prr { bound, recover_fs } => (bound, recover_fs),
        };
        let bound = match bound {
            Bound::Unlimited => "unlimited bound: up to ssthresh at once",
            Bound::Conservative => "conservative reduction bound",
            Bound::SlowStart => "slow-start reduction bound",
            Bound::SafeAck => "slow-start bound while ACKs advance and report no further loss, else conservative",
        };
        let flight = match recover_fs {
            RecoverFs::FlightSize => "the flight size",
            RecoverFs::Undelivered => "the flight size without what had arrived before",
            RecoverFs::Cwnd => "cwnd",
        };
        format!("PRR, {bound}; RecoverFS is {flight}")
    }

    /// The specification of the rate control.
    pub(crate) const fn source(self) -> &'static str {
        match self {
            Self::Standard => "RFC 6675 §5; 2011 paper, algorithm 1",
            Self::Halving => "Mathis et al. 1999; Linux 2.6 tcp_cwnd_down",
            Self::Prr { bound, recover_fs } => match (bound, recover_fs) {
                (Bound::SafeAck, RecoverFs::Cwnd) => "RFC 9937 §6.2; Linux 6 tcp_cwnd_reduction",
                (Bound::SafeAck, _) => "RFC 9937 §6.1, §6.2",
                (_, RecoverFs::Cwnd) => "RFC 6937 §3; Linux 3.17 tcp_cwnd_reduction",
                (Bound::Unlimited, _) => "draft-mathis-tcpm-proportional-rate-reduction",
                _ => "RFC 6937 §3; 2011 paper, algorithm 2",
            },
        }
    }
}

/// The progress an ACK makes in a reduction, and the sender's state before it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AckProgress {
    /// Segments the ACK delivered.
    pub delivered: Segments,
    /// Segments in flight after the ACK, without the losses it reveals.
    pub pipe: Segments,
    /// The window at the end of the reduction.
    pub ssthresh: Segments,
    /// The window before the ACK.
    pub cwnd: Segments,
    /// The smallest window that rate halving reaches (Linux `tcp_cwnd_min`).
    pub floor: Segments,
    /// Whether the ACK moved `snd_una`, reported new data, or is a duplicate ACK.
    pub clocks: bool,
    /// Whether `snd_una` moved and no further loss was found (RFC 9937 §3, SafeACK).
    pub safe: bool,
    /// Whether the ACK begins recovery, so that the first retransmission must be sent.
    pub entering: bool,
    /// Without SACK: whether it is a partial ACK, one for a part of the data outstanding when recovery began
    /// (RFC 6582 §3.2 step 3).
    pub partial: bool,
}

/// A window reduction in progress.
#[derive(Clone, Copy, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(crate) enum Reduction {
    /// The window fell at once.
    #[default]
    Standard,
    /// The window falls on every second ACK.
    Halving(Halving),
    /// The window falls in proportion to the data delivered.
    Prr(Prr),
}

impl Reduction {
    /// Begins a reduction. `recover_flight`: what PRR calls RecoverFS.
    pub fn enter(control: RateControl, recover_flight: Segments) -> Self {
        match control {
            RateControl::Standard => Self::Standard,
            RateControl::Halving => Self::Halving(Halving::default()),
            RateControl::Prr { bound, .. } => Self::Prr(Prr::enter(bound, recover_flight)),
        }
    }

    /// A segment was sent.
    pub fn on_sent(&mut self) {
        if let Self::Prr(prr) = self {
            prr.on_sent();
        }
    }

    /// The congestion window after an ACK.
    pub fn on_ack(&mut self, progress: &AckProgress) -> Segments {
        match self {
            //= RFC 5681 §4.3 MUST: "until all lost segments in the window of data in question are repaired, the number
            //=   of segments transmitted in each RTT MUST be no more than half the number of outstanding segments when
            //=   the loss was detected"
            //= RFC 6675 §5 (4.2) step: "ssthresh = cwnd = (FlightSize / 2)"
            Self::Standard => progress.ssthresh,
            Self::Halving(halving) => halving.on_ack(progress),
            Self::Prr(prr) => prr.on_ack(progress),
        }
    }

    /// Whether an ACK forces a retransmission, regardless of the window and the pipe.
    pub fn forces(&self, progress: &AckProgress) -> bool {
        matches!(self, Self::Standard) && standard::forces(progress)
    }

    /// The congestion window right after a congestion signal other than a loss. The standard reduces it at
    /// once (RFC 3168 §6.1.2). Linux 2.6 limits it to the data in flight (`tcp_enter_cwr`). PRR reduces it
    /// as ACKs arrive.
    pub fn at_signal(&self, cwnd: Segments, pipe: Segments, ssthresh: Segments) -> Segments {
        match self {
            Self::Standard => cwnd.min(ssthresh),
            Self::Halving(_) => cwnd.min(pipe + Segments::ONE),
            Self::Prr(_) => cwnd,
        }
    }

    /// The congestion window at the end of the reduction.
    pub fn at_end(&self, cwnd: Segments, ssthresh: Segments) -> Segments {
        match self {
            // Linux 2.6 tcp_complete_cwr: a window already below ssthresh stays there.
            Self::Halving(_) => cwnd.min(ssthresh),
            //= RFC 5681 §3.2 step 6 MUST: "When the next ACK arrives that acknowledges previously unacknowledged data,
            //=   a TCP MUST set cwnd to ssthresh (the value set in step 2)."
            //= RFC 9937 §6.4 step: "On the completion of a PRR episode, PRR executes the following: cwnd = ssthresh"
            Self::Standard | Self::Prr(_) => ssthresh,
        }
    }
}

#[cfg(test)]
mod properties;
