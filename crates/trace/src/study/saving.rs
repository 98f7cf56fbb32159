//! What ideal loss detection would have saved a connection (§IV-D, §V-A3).

use crate::finding::{Connection, Direction, Retransmission, Verdict};
use recoup_recovery::Trigger;
use recoup_units::Instant;
use recoup_wire::SeqNumber;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::time::Duration;

/// How a loss is detected, in the study's two classes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Detector {
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
            Trigger::Tlp | Trigger::Pmtu | Trigger::MtuProbe | Trigger::Syn | Trigger::SynAck => {
                None
            }
        }
    }
}

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

    pub(super) fn merge(&mut self, other: &Self) {
        self.needed += other.needed;
        self.spurious += other.spurious;
        self.unknowable += other.unknowable;
    }
}

/// Equation (1): RTTs saved by avoiding a spurious fast retransmit with `flight` segments
/// outstanding.
pub fn spurious_fast_retransmit(flight: u32) -> f64 {
    if flight == 0 {
        return 0.0;
    }
    let x = f64::from(flight) / 2.0;
    let time = x + 1.0;
    time - goodput_time(1.5 * x * x, x, time)
}

/// Equation (2): RTTs saved by avoiding a spurious timeout with `flight` segments outstanding.
pub fn spurious_timeout(flight: u32) -> f64 {
    let x = f64::from(flight) / 2.0;
    if x < 1.0 {
        return 0.0;
    }
    let time = x + x.log2() - 1.0;
    let slow_start = (x - 2.0).max(0.0);
    (time - goodput_time(1.5 * x * x + slow_start, x, time)).max(0.0)
}

/// RTTs in which a sender sends `segments`, whose flight begins at 2x and grows by one segment per
/// RTT, at its mean flight over `time` RTTs.
fn goodput_time(segments: f64, x: f64, time: f64) -> f64 {
    segments / (2.0 * x + time / 2.0)
}

/// What ideal loss detection would have saved one sender.
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
        let mut account = SavingAccount {
            ended: connection.ended,
            mean_rtt: direction.rtt.map(|rtt| rtt.mean),
            max_rtt: direction.rtt.map(|rtt| rtt.max),
            saving: Self::default(),
            open: None,
            copies: HashMap::new(),
        };
        for one in retransmissions {
            account.take(one);
        }
        account.saving
    }

    pub fn merge(&mut self, other: &Self) {
        self.time = self.time.saturating_add(other.time);
        self.fast_retransmits.merge(&other.fast_retransmits);
        self.timeouts.merge(&other.timeouts);
        self.unmeasured += other.unmeasured;
    }
}

/// A recovery under way.
#[derive(Clone, Copy, Debug)]
struct Recovery {
    detector: Detector,
    /// `None` if it does not end in the capture.
    until: Option<Instant>,
}

/// Adds up the savings of one sender.
struct SavingAccount {
    ended: Instant,
    mean_rtt: Option<Duration>,
    max_rtt: Option<Duration>,
    saving: Saving,
    open: Option<Recovery>,
    /// When the segment at each sequence number was last retransmitted.
    copies: HashMap<SeqNumber, Instant>,
}

impl SavingAccount {
    fn take(&mut self, one: &Retransmission) {
        let before = self.copies.insert(one.seq, one.at);
        let Some(detector) = Detector::of(one.triggers.first()) else {
            return;
        };
        let over = |episode: &Recovery| episode.until.is_some_and(|until| until <= one.at);
        self.open = self.open.filter(|episode| !over(episode));
        let expired = one.triggers.first() == Some(Trigger::Rto);
        let again = match (self.open.map(|episode| episode.detector), detector) {
            (None, _) | (Some(Detector::FastRetransmit), Detector::Timeout) => false,
            // When the timer expires again, no flight is left to lose, but there was another wait.
            (Some(Detector::Timeout), Detector::Timeout) if expired => true,
            _ => return,
        };
        self.open = Some(Recovery {
            detector,
            until: one.recovery.map(|time| one.at + time),
        });
        self.detected(one, detector, before, again);
    }

    /// A loss was detected, whether it was one or not.
    fn detected(
        &mut self,
        one: &Retransmission,
        detector: Detector,
        before: Option<Instant>,
        again: bool,
    ) {
        let saving = &mut self.saving;
        match detector {
            Detector::FastRetransmit => saving.fast_retransmits.add(one.verdict),
            Detector::Timeout => saving.timeouts.add(one.verdict),
        }
        let left = self.ended.since(one.at);
        let in_time = |rtts: f64| {
            let rtt = one.rtt.filter(|rtt| !rtt.is_zero()).or(self.mean_rtt)?;
            let saved = (rtts * rtt.as_nanos() as f64).round() as u64;
            Some(Duration::from_nanos(saved).min(left))
        };
        let saved = match (one.verdict, detector) {
            (Verdict::Unknowable, _) | (Verdict::Needed, Detector::FastRetransmit) => return,
            (Verdict::Spurious, _) if again => return,
            (Verdict::Spurious, Detector::FastRetransmit) => {
                in_time(spurious_fast_retransmit(one.flight))
            }
            (Verdict::Spurious, Detector::Timeout) => in_time(spurious_timeout(one.flight)),
            (Verdict::Needed, Detector::Timeout) => {
                let waited = before.map(|at| one.at.since(at)).or(one.detection);
                let longest = waited.zip(self.max_rtt);
                longest.map(|(waited, rtt)| waited.saturating_sub(rtt))
            }
        };
        match saved {
            Some(saved) => saving.time = saving.time.saturating_add(saved),
            None => saving.unmeasured += 1,
        }
    }
}
