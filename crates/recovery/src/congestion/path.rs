//! The inputs and decisions of a congestion control that models the path.

use crate::delivery::RateSample;
use crate::event::State;
use core::time::Duration;
use recoup_units::{Instant, Segments};

/// The connection when its model begins or begins again.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Start {
    /// The time.
    pub now: Instant,
    /// The congestion window.
    pub cwnd: Segments,
    /// The smoothed RTT.
    pub srtt: Option<Duration>,
    /// The payload of a full segment, in bytes.
    pub mss: u32,
}

/// The segments of a connection delivered and lost since it began.
#[derive(Clone, Copy, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct PathTotals {
    /// Segments delivered.
    pub delivered: u64,
    /// Segments and retransmissions marked lost.
    pub lost: u64,
    /// When the last segment was delivered.
    pub at: Instant,
}

/// An ACK as a model of the path sees it.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct PathSample {
    /// When the ACK arrived.
    pub now: Instant,
    /// The sender's state after the ACK.
    pub state: State,
    /// Segments that the ACK delivered.
    pub delivered: Segments,
    /// The connection's totals, this ACK's included.
    pub totals: PathTotals,
    /// Segments marked lost because of the ACK.
    pub lost: Segments,
    /// Segments in flight before the ACK.
    pub prior_in_flight: Segments,
    /// Segments in flight after it.
    pub in_flight: Segments,
    /// The congestion window.
    pub cwnd: Segments,
    /// The RTT of the newest segment delivered, unless it was retransmitted.
    pub rtt: Option<Duration>,
    /// The receiver may have delayed the ACK: it covers one partial segment alone.
    pub may_be_delayed: bool,
    /// The smoothed RTT.
    pub srtt: Option<Duration>,
    /// The sample of the delivery rate, if the ACK gives one.
    pub rate: Option<RateSample>,
    /// How long pacing holds back the next segment.
    pub departs_in: Duration,
    /// The payload of a full segment, in bytes.
    pub mss: u32,
}

impl PathSample {
    /// The connection as the sample shows it.
    pub(crate) fn start(&self) -> Start {
        Start { now: self.now, cwnd: self.cwnd, srtt: self.srtt, mss: self.mss }
    }
}

/// The decision of the model after an ACK.
#[derive(Clone, Copy, Debug)]
pub struct PathVerdict {
    /// The congestion window. The sender uses at least one segment.
    pub cwnd: Segments,
    /// The slow-start threshold that the sender reports.
    pub ssthresh: Segments,
    /// Too little is in flight to sample the delivery rate: its samples count as limited by the application.
    pub discounts_flight: bool,
}

impl PathVerdict {
    /// The window stays as it is.
    pub const fn unchanged(cwnd: Segments) -> Self {
        Self { cwnd, ssthresh: Segments::MAX, discounts_flight: false }
    }
}
