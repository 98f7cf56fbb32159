//! The time that ideal loss detection would have saved a connection (§IV-D, §V-A3).

use recoup_trace::finding::{Connection, Direction, Retransmission, Verdict};
use recoup_units::Instant;
use recoup_whatif::detection_cost::Model;
use recoup_whatif::detections::{Detector, LossDetection, detections};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Counts by verdict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Split {
    /// Needed.
    pub needed: u64,
    /// Spurious.
    pub spurious: u64,
    /// Unknowable.
    pub unknowable: u64,
}

impl Split {
    /// The sum.
    pub fn total(&self) -> u64 {
        self.needed + self.spurious + self.unknowable
    }

    pub(super) fn add(&mut self, verdict: Verdict) {
        *match verdict {
            Verdict::Needed => &mut self.needed,
            Verdict::Spurious => &mut self.spurious,
            Verdict::Unknowable => &mut self.unknowable,
        } += 1;
    }
}

merge_fields!(Split: needed, spurious, unknowable);

/// The time that ideal loss detection would have saved one sender.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Saving {
    /// Whole nanoseconds, so that the sum does not depend on the order.
    pub time: Duration,
    /// Detections by fast retransmit and by timeout.
    pub fast_retransmits: Split,
    pub timeouts: Split,
    /// Detections left out because the capture holds no RTT or no original transmission.
    pub unmeasured: u64,
}

impl Saving {
    /// The saving of a sender whose retransmissions are ordered by time.
    pub fn of<'a>(
        connection: &Connection,
        direction: &Direction,
        retransmissions: impl IntoIterator<Item = &'a Retransmission>,
    ) -> Self {
        let rtts = direction.rtt.map(|rtt| (rtt.mean, rtt.max));
        let mut saving = Self::default();
        for detection in detections(retransmissions) {
            saving.add(&detection, connection.ended, rtts);
        }
        saving
    }

    /// Adds what one detection would have saved. `rtts`: the mean and the maximum of the connection.
    fn add(&mut self, detection: &LossDetection<'_>, ended: Instant, rtts: Option<(Duration, Duration)>) {
        let one = detection.retransmission;
        match detection.detector {
            Detector::FastRetransmit => self.fast_retransmits.add(one.verdict),
            Detector::Timeout => self.timeouts.add(one.verdict),
        }
        let left = ended.since(one.at);
        let in_time = |flight_cost: f64| {
            let rtt = one.rtt.filter(|rtt| !rtt.is_zero());
            let rtt = rtt.or(rtts.map(|(mean, _)| mean))?;
            let saved = (flight_cost * rtt.as_nanos() as f64).round() as u64;
            Some(Duration::from_nanos(saved).min(left))
        };
        let model = Model::Forms;
        let saved = match (one.verdict, detection.detector) {
            (Verdict::Unknowable, _) | (Verdict::Needed, Detector::FastRetransmit) => return,
            (Verdict::Spurious, _) if detection.again => return,
            (Verdict::Spurious, Detector::FastRetransmit) => in_time(model.fast_retransmit(one.flight)),
            (Verdict::Spurious, Detector::Timeout) => in_time(model.timeout(one.flight)),
            (Verdict::Needed, Detector::Timeout) => {
                let longest = detection.waited.zip(rtts);
                longest.map(|(waited, (_, max))| waited.saturating_sub(max))
            }
        };
        match saved {
            Some(saved) => self.time = self.time.saturating_add(saved),
            None => self.unmeasured += 1,
        }
    }
}

merge_fields!(Saving: time, fast_retransmits, timeouts, unmeasured);

/// The best case: what ideal loss detection would have saved a sender, whose retransmissions are ordered by
/// time (§V-A3).
pub fn best_case<'a>(
    connection: &Connection,
    direction: &Direction,
    retransmissions: impl IntoIterator<Item = &'a Retransmission>,
) -> Duration {
    Saving::of(connection, direction, retransmissions).time
}
