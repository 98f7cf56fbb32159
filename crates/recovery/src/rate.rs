//! How much may be sent in recovery? A rate control turns what each ACK delivers into a window, from
//! the window at the loss down to the slow-start threshold the congestion control chose.
//!
//! It answers for CWR as well, where the window falls for another reason than a loss.

mod halving;
mod prr;
mod standard;

pub use halving::Halving;
pub use prr::{Bound, Prr};

use recoup_units::Segments;

/// Which rate control.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RateControl {
    /// The window falls to ssthresh at once and the pipe fills it (RFC 3517, RFC 6675 §5; the 2011
    /// paper's algorithm 1).
    Standard,
    /// Linux before 3.2: one segment for every two ACKs, at most one more than is in flight.
    Halving,
    /// Proportional rate reduction.
    Prr(Bound),
}

impl RateControl {
    /// Every one.
    pub const ALL: [Self; 6] = [
        Self::Standard,
        Self::Halving,
        Self::Prr(Bound::Unlimited),
        Self::Prr(Bound::Conservative),
        Self::Prr(Bound::SlowStart),
        Self::Prr(Bound::SafeAck),
    ];

    /// What it does, in a line.
    pub const fn about(self) -> &'static str {
        match self {
            Self::Standard => "cwnd = ssthresh at once; cwnd − pipe may go",
            Self::Halving => {
                "rate halving: one segment less for every two ACKs, cwnd at most pipe + 1"
            }
            Self::Prr(Bound::Unlimited) => "PRR, unlimited bound: up to ssthresh at once",
            Self::Prr(Bound::Conservative) => "PRR, conservative reduction bound",
            Self::Prr(Bound::SlowStart) => "PRR, slow-start reduction bound",
            Self::Prr(Bound::SafeAck) => {
                "PRR, slow-start bound while ACKs advance and report no further loss, else conservative"
            }
        }
    }

    /// Where it is specified.
    pub const fn source(self) -> &'static str {
        match self {
            Self::Standard => "RFC 6675 §5; 2011 paper, algorithm 1",
            Self::Halving => "Mathis et al. 1999; Linux 2.6 tcp_cwnd_down",
            Self::Prr(Bound::SafeAck) => "RFC 9937 §6.2",
            Self::Prr(Bound::Unlimited) => "draft-mathis-tcpm-proportional-rate-reduction",
            Self::Prr(_) => "RFC 6937 §3; 2011 paper, algorithm 2",
        }
    }
}

/// What an ACK in a reduction means for the window; also the state it starts from.
#[derive(Clone, Copy, Debug)]
pub struct AckProgress {
    /// Segments it delivered.
    pub delivered: Segments,
    /// Segments in flight after it, losses it reveals taken off.
    pub pipe: Segments,
    /// The window to end with.
    pub ssthresh: Segments,
    /// The window before it.
    pub cwnd: Segments,
    /// The least window rate halving goes down to (Linux `tcp_cwnd_min`).
    pub floor: Segments,
    /// It moved `snd_una`, reported something new, or is a duplicate ACK.
    pub clocks: bool,
    /// `snd_una` moved and no further loss was found (RFC 9937 §3, SafeACK).
    pub safe: bool,
    /// It begins recovery, so that the first retransmission must go.
    pub entering: bool,
    /// Without SACK: it acknowledges some of what was out as the recovery began (RFC 6582 §3.2 step
    /// 3).
    pub partial: bool,
}

/// A window reduction under way.
#[derive(Clone, Copy, Debug, Default)]
pub enum Reduction {
    /// At once.
    #[default]
    Standard,
    /// By alternate ACKs.
    Halving(Halving),
    /// In proportion to deliveries.
    Prr(Prr),
}

impl Reduction {
    /// Begins a reduction from `cwnd`.
    pub fn enter(control: RateControl, cwnd: Segments) -> Self {
        match control {
            RateControl::Standard => Self::Standard,
            RateControl::Halving => Self::Halving(Halving::default()),
            RateControl::Prr(bound) => Self::Prr(Prr::enter(bound, cwnd)),
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
            Self::Standard => progress.ssthresh,
            Self::Halving(halving) => halving.on_ack(progress),
            Self::Prr(prr) => prr.on_ack(progress),
        }
    }

    /// Whether, after an ACK, a retransmission goes whatever the window and the pipe.
    pub fn forces(&self, progress: &AckProgress) -> bool {
        matches!(self, Self::Standard) && standard::forces(progress)
    }

    /// The congestion window as soon as congestion is signalled by other means than a loss: at once
    /// by the standard (RFC 3168 §6.1.2), no more than is out by Linux 2.6 (`tcp_enter_cwr`), as ACKs
    /// come by PRR.
    pub fn at_signal(&self, cwnd: Segments, pipe: Segments, ssthresh: Segments) -> Segments {
        match self {
            Self::Standard => cwnd.min(ssthresh),
            Self::Halving(_) => cwnd.min(pipe + Segments::ONE),
            Self::Prr(_) => cwnd,
        }
    }

    /// The congestion window as the reduction ends.
    pub fn at_end(&self, cwnd: Segments, ssthresh: Segments) -> Segments {
        match self {
            // Linux 2.6 tcp_complete_cwr: what the recovery wore away stays lost.
            Self::Halving(_) => cwnd.min(ssthresh),
            Self::Standard | Self::Prr(_) => ssthresh,
        }
    }
}

#[cfg(test)]
mod properties;
