//! The detections of loss among the retransmissions of a sender.
//!
//! A detection is the first retransmission of a recovery, which lasts to the ACK of everything sent before it. A
//! timeout within a fast recovery is a detection of its own. When the timer expires again in a recovery that
//! it began, it is another detection, but no flight was left to lose.

use recoup_recovery::Trigger;
use recoup_trace::finding::Retransmission;
use recoup_units::Instant;
use recoup_wire::SeqNumber;
use std::collections::HashMap;
use std::time::Duration;

/// How a loss is detected, in the study's two classes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detector {
    /// Duplicate ACKs and SACK: `fast`, `early`.
    FastRetransmit,
    /// The retransmission timer and go-back-N after it: `rto`, `slow_start`.
    Timeout,
}

impl Detector {
    /// The class of a trigger, if it has one.
    pub fn of(trigger: Option<Trigger>) -> Option<Self> {
        match trigger? {
            Trigger::Fast | Trigger::Early => Some(Self::FastRetransmit),
            Trigger::Rto | Trigger::SlowStart => Some(Self::Timeout),
            _ => None,
        }
    }
}

/// A sender took a segment for lost, whether it was or not.
#[derive(Clone, Copy, Debug)]
pub struct LossDetection<'a> {
    /// The retransmission that followed.
    pub retransmission: &'a Retransmission,
    /// How the loss was detected.
    pub detector: Detector,
    /// The timer expired again in a recovery that it began.
    pub again: bool,
    /// Since the latest transmission of the segment, if the capture holds it.
    pub waited: Option<Duration>,
}

/// The detections of one sender, whose retransmissions are ordered by time.
pub fn detections<'a>(
    retransmissions: impl IntoIterator<Item = &'a Retransmission>,
) -> impl Iterator<Item = LossDetection<'a>> {
    let mut account = Account::default();
    retransmissions.into_iter().filter_map(move |one| account.take(one))
}

/// A recovery under way.
#[derive(Clone, Copy, Debug)]
struct Recovery {
    detector: Detector,
    /// `None` if it does not end in the capture.
    until: Option<Instant>,
}

#[derive(Default)]
struct Account {
    open: Option<Recovery>,
    /// When the segment at each sequence number was last retransmitted.
    copies: HashMap<SeqNumber, Instant>,
}

impl Account {
    fn take<'a>(&mut self, one: &'a Retransmission) -> Option<LossDetection<'a>> {
        let before = self.copies.insert(one.seq, one.at);
        let detector = Detector::of(one.triggers.first())?;
        let over = |recovery: &Recovery| recovery.until.is_some_and(|until| until <= one.at);
        self.open = self.open.filter(|recovery| !over(recovery));
        let expired = one.triggers.first() == Some(Trigger::Rto);
        let again = match (self.open.map(|recovery| recovery.detector), detector) {
            (None, _) | (Some(Detector::FastRetransmit), Detector::Timeout) => false,
            (Some(Detector::Timeout), Detector::Timeout) if expired => true,
            _ => return None,
        };
        self.open = Some(Recovery { detector, until: one.recovery.map(|time| one.at + time) });
        Some(LossDetection {
            retransmission: one,
            detector,
            again,
            waited: before.map(|at| one.at.since(at)).or(one.detection),
        })
    }
}
