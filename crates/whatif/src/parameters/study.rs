//! The detections of one sender under every instance, in one pass over its packets.

use super::change::{Change, ChangeKind, DetectionChange};
use super::duplicates::Duplicates;
use super::follower::Follower;
use super::grid::Instances;
use super::timers::{TimerRun, Timers};
use super::{LeftOut, StudiedSender, Subject};
use crate::detection_cost::Model;
use crate::detections::{Detector, LossDetection, detections};
use crate::record::{Record, Seen};
use recoup_recovery::{Mechanisms, State, Timer, Trigger, detect::LossRule};
use recoup_trace::finding::{Retransmission, Verdict};
use recoup_units::{Instant, Offset, Segments};
use std::time::Duration;

/// How long before its computed deadline a timer may fire: the sender's clock ticks, and it measures RTTs
/// elsewhere in the host.
const EARLY: Duration = Duration::from_millis(3);

/// How long after its deadline a timer may fire, besides an eighth of its length and a tick: Linux's timer
/// wheel rounds by as much.
const LATE: Duration = Duration::from_millis(20);
pub(super) fn study_sender(
    subject: &Subject<'_>,
    record: &Record,
    instances: &Instances,
) -> Result<StudiedSender, LeftOut> {
    let retransmissions: Vec<Retransmission> =
        subject.retransmissions.iter().map(|one| without_probe(*one, subject.profile.mechanisms())).collect();
    let subject = &Subject { retransmissions: &retransmissions, ..*subject };
    let mut study = Study::new(subject, record, instances);
    for (number, packet) in record.packets.iter().enumerate() {
        study.follower.write_ahead(packet.at);
        if packet.is_sent { study.on_sent(number, packet)? } else { study.on_heard(packet)? }
    }
    Ok(study.finish())
}

/// The analysis may have taken the sender for one that sends probes. Without probes, the retransmission timer expired.
fn without_probe(mut one: Retransmission, mechanisms: &Mechanisms) -> Retransmission {
    if mechanisms.probe.is_none() && one.triggers.first() == Some(Trigger::Tlp) {
        one.triggers = Trigger::Rto.into();
    }
    one
}

struct Study<'a> {
    record: &'a Record,
    follower: Follower<'a>,
    timers: Timers<'a>,
    retransmissions: ByFrame<Option<Trigger>>,
    detections: ByFrame<LossDetection<'a>>,
    /// The current run of the retransmission timer.
    run: Option<Run>,
    duplicates: Duplicates,
    initial_dupthresh: Segments,
    /// To how much reordering may raise D.
    max_dupthresh: Segments,
    /// D of each instance, as far as reordering raised it that its own D does not tolerate.
    raised: Vec<Segments>,
    undo: Undo,
    is_rack: bool,
    /// Something at `snd_una` was retransmitted since it last advanced.
    is_detected: bool,
    ended: Instant,
    samples: (u32, Duration),
    lists_events: bool,
    found: StudiedSender,
}

/// Values by the frame that they belong to.
struct ByFrame<T>(Vec<(u64, T)>);

impl<T: Copy> ByFrame<T> {
    fn get(&self, frame: u64) -> Option<T> {
        let place = self.0.binary_search_by_key(&frame, |(frame, _)| *frame);
        place.ok().map(|place| self.0[place].1)
    }
}

impl<T> FromIterator<(u64, T)> for ByFrame<T> {
    fn from_iter<I: IntoIterator<Item = (u64, T)>>(values: I) -> Self {
        let mut all: Vec<_> = values.into_iter().collect();
        all.sort_by_key(|(frame, _)| *frame);
        all.dedup_by_key(|(frame, _)| *frame);
        Self(all)
    }
}

#[derive(Clone, Copy)]
struct Run {
    timer: TimerRun,
    /// A detection in this run has been studied.
    is_studied: bool,
}

/// One detection, for all instances.
struct Detected<'a> {
    one: &'a Retransmission,
    frame: u64,
    /// When it was detected.
    at: Instant,
    run: TimerRun,
    costs: Costs,
}

/// What tells the sender that a retransmission was spurious, after which it restores its window.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Undo {
    /// It never restores it.
    Never,
    /// The echo of a timestamp, with the ACK of the original (RFC 3522).
    ByTimestamp,
    /// A DSACK, a round trip after the retransmission (RFC 3708).
    ByDsack,
}

impl Undo {
    fn new(mechanisms: &Mechanisms, record: &Record) -> Self {
        let rules = mechanisms.undo;
        if rules.timestamps && record.agreed.timestamps {
            Self::ByTimestamp
        } else if rules.dsack && mechanisms.sack {
            Self::ByDsack
        } else {
            Self::Never
        }
    }

    /// The cost, in RTTs, of a spurious timeout that costs `rtts` without an undo. The ACK that the sender waits for undoes
    /// it, or the DSACK a round trip later.
    fn timeout(self, rtts: f64) -> f64 {
        match self {
            Self::Never => rtts,
            Self::ByTimestamp => 0.0,
            Self::ByDsack => rtts.min(1.0),
        }
    }

    /// The same for a spurious fast retransmit. Until the DSACK comes, the sender sends half as much. How long it takes to the
    /// ACK of the original is [known later](Study::spurious_fast).
    fn fast_retransmit(self, rtts: f64) -> f64 {
        match self {
            Self::Never | Self::ByTimestamp => rtts,
            Self::ByDsack => rtts.min(0.5),
        }
    }
}

/// Costs of a detection at its flight size, in ns, by each model.
#[derive(Clone, Copy, Default)]
struct Costs {
    fast: [i64; 2],
    timeout: [i64; 2],
    fast_instead_of_timeout: [i64; 2],
}

impl<'a> Study<'a> {
    fn new(subject: &Subject<'a>, record: &'a Record, instances: &'a Instances) -> Self {
        let rows = subject.retransmissions;
        let mut mechanisms = *subject.profile.mechanisms();
        mechanisms.sack &= record.agreed.sack;
        let timers = Timers::new(instances, &mechanisms);
        Self {
            record,
            follower: Follower::new(record, &mechanisms),
            retransmissions: rows.iter().map(|one| (one.frame, one.triggers.first())).collect(),
            detections: detections(rows).map(|one| (one.retransmission.frame, one)).collect(),
            run: None,
            duplicates: Duplicates::new(&mechanisms, record),
            initial_dupthresh: mechanisms.detection.dupthresh,
            max_dupthresh: mechanisms.detection.max_dupthresh,
            raised: vec![Segments::ZERO; timers.len()],
            undo: if subject.counts_undo { Undo::new(&mechanisms, record) } else { Undo::Never },
            is_rack: matches!(mechanisms.detection.rule, LossRule::Rack(_)),
            is_detected: false,
            ended: record.packets.last().map_or(Instant::ZERO, |last| last.at),
            samples: (0, Duration::ZERO),
            lists_events: subject.lists_events,
            found: StudiedSender { changes: vec![Change::default(); timers.len()], ..StudiedSender::default() },
            timers,
        }
    }

    fn finish(mut self) -> StudiedSender {
        let (count, sum) = self.samples;
        self.found.mean_rtt = sum.checked_div(count).unwrap_or_default();
        self.found
    }

    fn on_sent(&mut self, number: usize, packet: &Seen) -> Result<(), LeftOut> {
        let trigger = self.retransmissions.get(packet.frame);
        if let Some(detection) = self.detections.get(packet.frame) {
            self.study_detection(number, packet, &detection)?;
        }
        if trigger.is_some() {
            self.is_detected = true;
        }
        self.follower.on_sent(packet, trigger.flatten());
        self.follow_timer();
        Ok(())
    }

    fn on_heard(&mut self, packet: &Seen) -> Result<(), LeftOut> {
        let una = self.follower.sender().una();
        let advances = packet.ack.is_some_and(|ack| ack > una);
        if advances {
            if una >= Offset::DATA {
                self.study_progress(packet)?;
            }
            self.is_detected = false;
        }
        self.duplicates.take(packet, una);
        let before = self.deadline();
        let heard = self.follower.on_heard(packet);
        if heard.distrusts_initial {
            self.timers.distrust_initial();
        }
        if let Some(sample) = heard.sample {
            self.samples.0 += 1;
            self.samples.1 += sample.rtt;
            self.timers.on_sample(sample, self.deadline() != before);
        }
        self.follow_timer();
        Ok(())
    }

    fn deadline(&self) -> Option<Instant> {
        self.follower.sender().deadline(Timer::Rto)
    }

    /// Notices that the retransmission timer was set.
    fn follow_timer(&mut self) {
        let deadline = self.deadline();
        if self.run.map(|run| run.timer.deadline) == deadline {
            return;
        }
        self.timers.on_set();
        let sender = self.follower.sender();
        let rto = sender.rto();
        self.run = deadline.map(|deadline| Run {
            timer: TimerRun {
                from: Instant::from_nanos(deadline.nanos_since(Instant::ZERO + rto)),
                deadline,
                backoff: sender.backoff(),
            },
            is_studied: false,
        });
    }

    /// An ACK of new data arrived. The timer of an instance may have expired before it.
    fn study_progress(&mut self, packet: &Seen) -> Result<(), LeftOut> {
        let sender = self.follower.sender();
        let Some(run) = self.run.filter(|run| !run.is_studied) else {
            return Ok(());
        };
        // The timeout waits for the probe.
        let probe = sender.deadline(Timer::Probe).unwrap_or_default();
        let late = packet.at.since(run.timer.deadline.max(probe));
        if late > self.patience(&run.timer) {
            return Err(LeftOut::TimeoutMissing);
        }
        let flight = sender.board().outstanding().0;
        let rtt = sender.rtt().srtt().unwrap_or_default();
        let dupthresh = sender.reordering();
        let recovers = matches!(sender.state(), State::Recovery | State::Loss);
        // The host let this much pass after the deadline, and would do so again.
        let before = Instant::from_nanos(packet.at.nanos_since(Instant::ZERO + late));
        if probe < before && self.timers.some_may_expire_before(before, &run.timer) {
            let costs = self.costs(flight, rtt, packet.at);
            for instance in 0..self.timers.len() {
                let expires = self.timers.deadline(instance, &run.timer).max(probe);
                if expires < before {
                    let cost = costs.timeout;
                    self.add(instance, packet.frame, ChangeKind::SpuriousTimeoutMade, negative(cost));
                }
            }
        }
        if !self.duplicates.is_empty() && !self.is_detected && !recovers {
            let costs = self.costs(flight, rtt, packet.at);
            for instance in 0..self.timers.len() {
                let other = self.dupthresh(instance);
                if other < dupthresh
                    && let Some(reached) = self.duplicates.reaches(other)
                {
                    let cost = self.spurious_fast(&costs, reached, packet.at);
                    self.add(instance, packet.frame, ChangeKind::SpuriousFastMade, negative(cost));
                    self.raise(instance);
                }
            }
        }
        Ok(())
    }

    /// D of an instance at present. A sender that saw reordering has raised its own, and would have raised this
    /// one as far.
    fn dupthresh(&self, instance: usize) -> Segments {
        let own = self.follower.sender().reordering();
        match self.timers.dupthresh(instance) {
            None => own,
            Some(other) if own > self.initial_dupthresh => other.max(own),
            Some(other) => other.max(self.raised[instance]),
        }
    }

    /// The segment for which duplicate ACKs came was only late. A sender that raises its D raises this one, too.
    fn raise(&mut self, instance: usize) {
        if self.max_dupthresh > self.initial_dupthresh {
            let late_by = Segments(self.duplicates.most().saturating_add(1));
            self.raised[instance] = self.raised[instance].max(late_by.min(self.max_dupthresh));
        }
    }

    /// How long after its deadline the timer may fire.
    fn patience(&self, run: &TimerRun) -> Duration {
        let length = run.deadline.since(run.from);
        LATE + length / 8 + self.follower.rules().granularity
    }

    fn study_detection(&mut self, number: usize, packet: &Seen, detection: &LossDetection<'a>) -> Result<(), LeftOut> {
        let one = detection.retransmission;
        let is_timeout = detection.detector == Detector::Timeout;
        let expired = one.triggers.first() == Some(Trigger::Rto);
        // Whatever can be said of it, the next ACK of new data answers no undisturbed timer.
        if let Some(run) = &mut self.run {
            run.is_studied = true;
        }
        let Some(run) = self.run.filter(|_| expired || !is_timeout) else {
            self.found.unmeasured += 1;
            return Ok(());
        };
        if one.verdict == Verdict::Unknowable {
            self.found.unmeasured += 1;
            return Ok(());
        }
        let rtt = one.rtt.filter(|rtt| !rtt.is_zero());
        let rtt = rtt.or(self.follower.sender().rtt().srtt()).unwrap_or_default();
        let detected = Detected {
            one,
            frame: packet.frame,
            at: packet.at,
            run: run.timer,
            costs: self.costs(one.flight, rtt, packet.at),
        };
        if !is_timeout {
            self.found.fast_retransmits += 1;
            self.study_fast_retransmit(number, &detected);
            return Ok(());
        }
        let is_early = packet.at + EARLY.max(run.timer.deadline.since(run.timer.from) / 32) < run.timer.deadline;
        let late = packet.at.since(run.timer.deadline);
        if is_early || late > self.patience(&run.timer) {
            return Err(LeftOut::TimeoutNotReproduced);
        }
        self.found.timeouts += 1;
        match one.verdict {
            Verdict::Spurious => self.study_spurious_timeout(number, &detected, detection.again),
            _ => self.study_needed_timeout(number, &detected, detection.again),
        }
        Ok(())
    }

    /// The loss would have been detected by the timer of the instance, or by duplicate ACKs before that.
    fn study_needed_timeout(&mut self, number: usize, detected: &Detected<'_>, again: bool) {
        let sender = self.follower.sender();
        let una = sender.una();
        let own = sender.reordering();
        // In a recovery, a retransmission was lost: duplicate ACKs do not show it.
        let recovers = matches!(sender.state(), State::Recovery | State::Loss);
        // A sender that let its own number of duplicate ACKs pass acts on no other number either (RFC 6582 §3.2
        // step 2: those of an earlier recovery).
        let ignores = self.duplicates.reaches(own).is_some();
        let arrivals = if again || recovers || ignores {
            Duplicates::default()
        } else {
            self.duplicates.with_later(self.record, number, una)
        };
        for instance in 0..self.timers.len() {
            let expires = self.timers.deadline(instance, &detected.run);
            let reached = arrivals.reaches(self.dupthresh(instance));
            if let Some(reached) = reached.filter(|at| *at < expires) {
                let earlier = difference(detected.at, reached);
                let saved = (detected.costs.fast_instead_of_timeout).map(|cost| cost.saturating_add(earlier));
                self.add(instance, detected.frame, ChangeKind::TimeoutBecomesFast, saved);
            } else {
                self.move_timeout(instance, detected, expires);
            }
        }
    }

    fn move_timeout(&mut self, instance: usize, detected: &Detected<'_>, expires: Instant) {
        let earlier = difference(detected.run.deadline, expires);
        if earlier != 0 {
            let kind = ChangeKind::TimeoutMoves;
            self.add(instance, detected.frame, kind, [earlier; 2]);
        }
    }

    /// The timeout would not have happened where the ACK comes before the timer of the instance expires.
    fn study_spurious_timeout(&mut self, number: usize, detected: &Detected<'_>, again: bool) {
        let una = self.follower.sender().una();
        let answer = self.answer(number, una);
        for instance in 0..self.timers.len() {
            let expires = self.timers.deadline(instance, &detected.run);
            match answer {
                Some(Answer::ToOriginal(at)) if expires > at => {
                    if !again {
                        let kind = ChangeKind::SpuriousTimeoutAvoided;
                        self.add(instance, detected.frame, kind, detected.costs.timeout);
                    }
                }
                Some(Answer::ToOriginal(_)) => {}
                // The ACK of the original was lost: the sender waits for the timeout.
                Some(Answer::ToRetransmission) | None => {
                    self.move_timeout(instance, detected, expires);
                }
            }
        }
    }

    /// The first ACK of new data after packet `number`.
    fn progress(&self, number: usize, una: Offset) -> Option<&'a Seen> {
        let later = self.record.packets.get(number + 1..)?.iter();
        let mut heard = later.filter(|packet| !packet.is_sent);
        heard.find(|packet| packet.ack.is_some_and(|ack| ack > una))
    }

    /// Which transmission the first ACK of new data after a retransmission answers.
    fn answer(&self, number: usize, una: Offset) -> Option<Answer> {
        let retransmission = self.record.packets.get(number)?;
        let ack = self.progress(number, una)?;
        let echoes = ack.timestamps.zip(retransmission.timestamps);
        let is_original = match echoes {
            Some(([_, echo], [value, _])) => echo.wrapping_sub(value).cast_signed() < 0,
            None => {
                let least = self.follower.sender().rtt().min().unwrap_or_default();
                ack.at.since(retransmission.at) < least
            }
        };
        Some(if is_original { Answer::ToOriginal(ack.at) } else { Answer::ToRetransmission })
    }

    /// The loss would have been detected by another duplicate ACK, or by the timer of the instance before that.
    fn study_fast_retransmit(&mut self, number: usize, detected: &Detected<'_>) {
        let una = self.follower.sender().una();
        let own = self.follower.sender().reordering();
        let arrivals = self.duplicates.with_later(self.record, number, una);
        let progress = self.progress(number, una).map(|ack| ack.at);
        for instance in 0..self.timers.len() {
            let expires = self.timers.deadline(instance, &detected.run);
            let reached = match self.dupthresh(instance) {
                same if same == own => Some(detected.at),
                other => {
                    let [by_count, at_latest] =
                        [arrivals.reaches(other), self.at_latest(&arrivals, other, detected.at)];
                    [by_count, at_latest].into_iter().flatten().min()
                }
            };
            let reached = reached.filter(|at| *at <= expires);
            match detected.one.verdict {
                Verdict::Spurious => {
                    self.change_spurious_fast(instance, detected, reached, expires, progress);
                }
                _ => self.change_needed_fast(instance, detected, reached, expires),
            }
        }
    }

    /// When a loss that was detected `at` is detected with this D at the latest, whatever duplicate ACKs come. A smaller D is
    /// no slower. Where the sender did not wait for its own D, another rule detected the loss: early retransmit, or the
    /// reordering window of RACK. RACK waits a quarter of the smallest RTT for any D (RFC 8985 §6.2 step 4).
    fn at_latest(&self, arrivals: &Duplicates, dupthresh: Segments, at: Instant) -> Option<Instant> {
        let sender = self.follower.sender();
        let own = sender.reordering();
        let by_count = arrivals.reaches(own).is_some_and(|reached| reached <= at);
        if dupthresh < own || !by_count {
            return Some(at);
        }
        let window = sender.rtt().min().unwrap_or_default() / 4;
        arrivals.first().filter(|_| self.is_rack).map(|first| at.max(first + window))
    }

    fn change_needed_fast(
        &mut self,
        instance: usize,
        detected: &Detected<'_>,
        reached: Option<Instant>,
        expires: Instant,
    ) {
        let Some(reached) = reached else {
            let earlier = difference(detected.at, expires);
            let saved = (detected.costs.fast_instead_of_timeout).map(|cost| earlier.saturating_sub(cost));
            return self.add(instance, detected.frame, ChangeKind::FastBecomesTimeout, saved);
        };
        let earlier = difference(detected.at, reached);
        if earlier != 0 {
            self.add(instance, detected.frame, ChangeKind::FastMoves, [earlier; 2]);
        }
    }

    /// Without its fast retransmit, the sender waits for an ACK, and perhaps its timer expires before that.
    fn change_spurious_fast(
        &mut self,
        instance: usize,
        detected: &Detected<'_>,
        reached: Option<Instant>,
        expires: Instant,
        progress: Option<Instant>,
    ) {
        if reached.is_some() {
            return;
        }
        let (frame, costs) = (detected.frame, detected.costs);
        let cost = self.spurious_fast(&costs, detected.at, progress.unwrap_or(self.ended));
        self.add(instance, frame, ChangeKind::SpuriousFastAvoided, cost);
        if progress.is_none_or(|at| expires < at) {
            let kind = ChangeKind::SpuriousTimeoutMade;
            self.add(instance, frame, kind, negative(costs.timeout));
        }
    }

    /// Costs of detections with `flight` segments outstanding; no more than the rest of the connection.
    fn costs(&self, flight: u32, rtt: Duration, at: Instant) -> Costs {
        let left = self.ended.since(at).as_nanos() as f64;
        let cost = |rtts: f64| (rtts * rtt.as_nanos() as f64).min(left).round() as i64;
        Costs {
            fast: Model::ALL.map(|model| cost(self.undo.fast_retransmit(model.fast_retransmit(flight)))),
            timeout: Model::ALL.map(|model| cost(self.undo.timeout(model.timeout(flight)))),
            fast_instead_of_timeout: Model::ALL.map(|model| cost(model.fast_instead_of_timeout(flight))),
        }
    }

    /// The cost of a spurious fast retransmit, if the ACK of the original comes at `answered`. A timestamp undoes it then, so
    /// that the sender loses no more than this time.
    fn spurious_fast(&self, costs: &Costs, at: Instant, answered: Instant) -> [i64; 2] {
        match self.undo {
            Undo::ByTimestamp => costs.fast.map(|cost| cost.min(difference(answered, at).max(0))),
            Undo::Never | Undo::ByDsack => costs.fast,
        }
    }

    fn add(&mut self, instance: usize, frame: u64, kind: ChangeKind, saved: [i64; 2]) {
        let change = DetectionChange { frame, kind, saved };
        self.found.changes[instance].add(&change);
        if self.lists_events {
            self.found.events.push((instance as u32, change));
        }
    }
}

/// The first ACK of new data after a spurious timeout.
#[derive(Clone, Copy)]
enum Answer {
    /// It answers the original, and would have come without the timeout.
    ToOriginal(Instant),
    /// It answers the retransmission.
    ToRetransmission,
}

fn negative(cost: [i64; 2]) -> [i64; 2] {
    cost.map(i64::saturating_neg)
}

/// From `earlier` to `later` in ns; negative if it is the other way round.
fn difference(later: Instant, earlier: Instant) -> i64 {
    let bounded = |nanos: u64| i64::try_from(nanos).unwrap_or(i64::MAX);
    bounded(later.nanos_since(earlier)) - bounded(earlier.nanos_since(later))
}
