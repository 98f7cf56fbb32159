//! Effect of other parameters of loss detection on a captured sender.
//!
//! Source: the 2007 study, §IV-C and §IV-D (which detections change, and what that saves), §V-B (the grid).
//!
//! The sender is followed with the engine. Every instance has an estimator of its own, which takes the
//! samples of the sender. RTTs, losses and windows are taken to be as captured, as in the study. t is the
//! time of the capture; the timer of the sender was set at t₀ and expired at t₀ + RTO; t_D is the D-th
//! duplicate ACK.
//!
//! ```text
//! needed timeout          t_D < t₀ + RTO′: fast retransmit       saves t − t_D + RF·RTT
//!                         otherwise:                             saves RTO − RTO′
//! needed fast retransmit  t₀ + RTO′ < t_D: timeout               saves t − (t₀ + RTO′) − RF·RTT
//!                         otherwise, with another D:             saves t − t_D
//! spurious timeout        the ACK comes before t₀ + RTO′         saves R·RTT
//! ACK of new data         it comes later than t₀ + RTO′          costs R·RTT
//! spurious fast           with another D, no D-th duplicate ACK  saves F·RTT
//!   retransmit
//! reordering              with another D, a D-th duplicate ACK   costs F·RTT
//! ```
//! F, R and RF are those of [`Model`](crate::detection_cost::Model), for the flight just before the detection and
//! the RTT at that time.
//!
//! The sender itself is the test of this: its own deadlines must be those at which the capture shows its
//! timeouts, as far as hosts round them. A sender whose timers are not reproduced is left out.
//!
//! # Deviations
//! - No cost in flight size exceeds what was left of the connection, as in the study of the best case.
//! - A spurious timeout whose ACK answers the retransmission cannot be avoided by waiting: the ACK of the
//!   original was lost. It moves with the RTO, as a needed one does. Timestamps show which transmission the ACK
//!   answers; without them, an ACK within the minimum RTT answers the original.
//! - A timeout in a recovery, or a repeated one, does not become a fast retransmit: duplicate ACKs do not
//!   show that a retransmission was lost.
//! - Where a probe is pending, the timeout does not come before it. Retransmissions by probes stay as they are.
//!
//! | module | what it does |
//! | --- | --- |
//! | `grid` | the values tried of each parameter |
//! | `follower` | follows the sender with the engine |
//! | `timers` | the timers of all instances |
//! | `duplicates` | the duplicate ACKs |
//! | `study` | what each instance changes |
//! | `change` | the kinds of changes, and their sums |

mod change;
mod duplicates;
mod follower;
mod grid;
mod study;
mod timers;

pub use change::{Change, ChangeKind, DetectionChange};
pub use grid::{Grid, Instances, Parameter};

use crate::{
    record::{ConnectionPackets, Record},
    unsuitable::Unsuitable,
};
use recoup_recovery::Profile;
use recoup_tcp::flow::Host;
use recoup_trace::finding::Retransmission;
use std::{fmt, time::Duration};

/// A sender to study.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// The packets of its connection, captured at the sender or near it.
    pub packets: &'a ConnectionPackets,
    /// The end that it is.
    pub sender: Host,
    /// Profile that it was identified as.
    pub profile: &'a Profile,
    /// Its retransmissions in the order of time. Their verdicts are final.
    pub retransmissions: &'a [Retransmission],
    /// Whether a spurious retransmission that the sender undoes costs less. The 2007 study charges each in full (§IV-C).
    pub counts_undo: bool,
    /// Whether every change is listed.
    pub lists_events: bool,
}

/// Changes by all instances for a sender.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StudiedSender {
    /// The mean of its RTT samples.
    pub mean_rtt: Duration,
    /// Timeouts that were studied.
    pub timeouts: u32,
    /// Fast retransmits that were studied.
    pub fast_retransmits: u32,
    /// Detections that the capture does not show well enough.
    pub unmeasured: u32,
    /// Changes by each instance, in the order of the instances.
    pub changes: Vec<Change>,
    /// Every change with the number of its instance, if they are listed.
    pub events: Vec<(u32, DetectionChange)>,
}

/// Why a sender is not studied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum LeftOut {
    /// Its packets cannot be read as one connection.
    Unsuitable(Unsuitable),
    /// It retransmitted by timeout when its own timer was not due.
    TimeoutNotReproduced,
    /// Its own timer was due long before an ACK, and it did not retransmit.
    TimeoutMissing,
}

impl LeftOut {
    /// The name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Unsuitable(why) => why.name(),
            Self::TimeoutNotReproduced => "timeout_not_reproduced",
            Self::TimeoutMissing => "timeout_missing",
        }
    }
}

impl fmt::Display for LeftOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unsuitable(why) => why.fmt(f),
            Self::TimeoutNotReproduced => f.write_str("a timeout came when its profile's timer was not due"),
            Self::TimeoutMissing => f.write_str("its profile's timer was due, and no timeout came"),
        }
    }
}

/// Studies a sender under all instances.
///
/// # Errors
/// Why it is left out.
pub fn study(subject: &Subject<'_>, instances: &Instances) -> Result<StudiedSender, LeftOut> {
    let record = Record::new(subject.packets, subject.sender).map_err(LeftOut::Unsuitable)?;
    study::study_sender(subject, &record, instances)
}
