//! What ideal loss detection would have saved a connection (§IV-D, §V-A3).

use crate::finding::{Connection, Direction, Retransmission, Verdict};
use recoup_recovery::Trigger;
use recoup_units::Instant;
use recoup_wire::SeqNumber;
use serde::Serialize;
use std::collections::HashMap;
use std::time::Duration;

/// How the study tells losses to be detected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Detector {
    /// Duplicate ACKs, SACKs and their like: `fast`, `early`.
    FastRetransmit,
    /// The retransmission timer and the go-back after it: `rto`, `slow_start`.
    Timeout,
}

impl Detector {
    /// Which of the two a trigger is of, if either.
    pub fn of(trigger: Option<Trigger>) -> Option<Self> {
        match trigger? {
            Trigger::Fast | Trigger::Early => Some(Self::FastRetransmit),
            Trigger::Rto | Trigger::SlowStart => Some(Self::Timeout),
            Trigger::Tlp | Trigger::Syn | Trigger::SynAck => None,
        }
    }
}

/// Retransmissions, or whatever else has a verdict, by it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Split {
    /// Necessary.
    pub needed: u64,
    /// For nothing.
    pub spurious: u64,
    /// The capture does not tell.
    pub unknowable: u64,
}

impl Split {
    /// All of them.
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

/// Equation (1): RTTs saved where a spurious fast retransmit is avoided, `flight` segments being
/// outstanding.
pub fn spurious_fast_retransmit(flight: u32) -> f64 {
    if flight == 0 {
        return 0.0;
    }
    let x = f64::from(flight) / 2.0;
    let time = x + 1.0;
    time - goodput_time(1.5 * x * x, x, time)
}

/// Equation (2): RTTs saved where a spurious timeout is avoided, `flight` segments being outstanding.
pub fn spurious_timeout(flight: u32) -> f64 {
    let x = f64::from(flight) / 2.0;
    if x < 1.0 {
        return 0.0;
    }
    let time = x + x.log2() - 1.0;
    let slow_start = (x - 2.0).max(0.0);
    (time - goodput_time(1.5 * x * x + slow_start, x, time)).max(0.0)
}

/// How long `segments` take a sender, in RTTs, whose flight is 2x and grows by one segment an RTT, at
/// its mean flight over `time` RTTs.
fn goodput_time(segments: f64, x: f64, time: f64) -> f64 {
    segments / (2.0 * x + time / 2.0)
}

/// What one sender of a connection could have been spared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Saving {
    /// Whole nanoseconds, lest their sum depend on its order.
    pub time: Duration,
    /// Loss detections by fast retransmit, and by timeout.
    pub fast_retransmits: Split,
    pub timeouts: Split,
    /// Detections that would count, were there an RTT or an original transmission in the capture.
    pub unmeasured: u64,
}

impl Saving {
    /// Of a sender, whose retransmissions come in the order of time.
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

/// A loss recovery that is going on.
#[derive(Clone, Copy, Debug)]
struct Recovery {
    detector: Detector,
    /// `None`: not before the capture ends.
    until: Option<Instant>,
}

/// Goes through the retransmissions of a sender.
struct SavingAccount {
    ended: Instant,
    mean_rtt: Option<Duration>,
    max_rtt: Option<Duration>,
    saving: Saving,
    open: Option<Recovery>,
    /// When what begins with a number was last sent again.
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
            // The timer again: there is no flight left to lose, but there was another wait.
            (Some(Detector::Timeout), Detector::Timeout) if expired => true,
            _ => return,
        };
        self.open = Some(Recovery {
            detector,
            until: one.recovery.map(|time| one.at + time),
        });
        self.detected(one, detector, before, again);
    }

    /// A loss was detected, real or not.
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
