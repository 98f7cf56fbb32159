//! Counts the server's segments and ACKs in each recovery and checks the properties.

use super::ack_view::AckView;
use super::check::{Check, Moment, Property};
use crate::prelude::*;
use recoup_recovery::Sender;
use recoup_recovery::rate::RecoverFs;
use recoup_support::stats::Integers;

/// Observations of the recoveries of many flows.
#[derive(Debug)]
pub struct Watch {
    mss: u64,
    recover_fs: RecoverFs,
    flow: u64,
    /// Recoveries begun.
    pub recoveries: u64,
    /// ACKs processed in recovery.
    pub acks: u64,
    /// Segments sent on one ACK of recovery.
    pub ack_bursts: Integers,
    /// Segments sent on one write in recovery.
    pub write_bursts: Integers,
    /// cwnd − ssthresh before the ACK that ended a recovery, in segments.
    pub before_exit: Integers,
    /// ⌈D · s / F⌉ − out after ACKs that leave pipe > s, in segments (symbols as in [`Property`]).
    pub shortfall: Integers,
    /// Recoveries that break [`Property::ConvergesAsStated`] and whose last ACK was the first to report some of the
    /// segments delivered.
    pub not_yet_reported: u64,
    /// The result of each property.
    pub checks: [Check; Property::ALL.len()],
    /// Completed recoveries after which cwnd was ssthresh, and those after which only the first retransmission was sent.
    pub at_ssthresh: u64,
    pub sent_one: u64,
    /// Recoveries that a timeout ended.
    pub timed_out: u64,
    /// How many SACK blocks of an ACK the observers read.
    pub blocks: usize,
    /// The ACKs that arrive at the server, and those that the client sends.
    arriving: AckView,
    sent_acks: AckView,
    /// By the ordinal of the client's packets: the bytes that `sent_acks` had seen delivered.
    by_ordinal: Vec<u64>,
    /// The latest ordinal that arrived.
    newest: u64,
    recovery: Option<Recovery>,
    step: Step,
    last: Snapshot,
}

/// A recovery under way.
#[derive(Clone, Copy, Debug)]
struct Recovery {
    /// snd_nxt − snd_una at the beginning, in segments.
    flight: u64,
    /// The part of `flight` that had not arrived before the ACK that began recovery, plus the segments that this ACK
    /// acknowledged cumulatively.
    undelivered: u64,
    delivered: u64,
    /// Segments acknowledged in sequence or SACKed before the ACK that began recovery.
    reached: u64,
    /// Segments delivered by the last ACK.
    just_delivered: u64,
    sent: u64,
    acks: u64,
    safe: u64,
    marked: u64,
    each_delivers: bool,
    /// Whether there were always data to send.
    unlimited: bool,
    /// Whether a duplicate was reported.
    duplicates: bool,
}

/// Events since the sender last settled.
#[derive(Debug, Default)]
struct Step {
    ack: bool,
    sent: u32,
    marked: u64,
    /// Bytes that the ACK delivers, by what an observer of the ACKs knows.
    observed: u64,
    dsack: bool,
    undone: bool,
    /// State changes: from and to.
    changes: Vec<(State, State)>,
}

/// The sender when it last settled.
#[derive(Clone, Copy, Debug, Default)]
struct Snapshot {
    delivered: u64,
    una: Offset,
    nxt: Offset,
    sacked: u32,
    pipe: u32,
    cwnd: u32,
    ssthresh: u32,
}

impl Watch {
    /// Observes flows with segments of `mss` bytes. `recover_fs`: what PRR takes its proportion of.
    pub fn new(mss: u16, recover_fs: RecoverFs) -> Self {
        Self {
            mss: mss.into(),
            recover_fs,
            flow: 0,
            recoveries: 0,
            acks: 0,
            ack_bursts: Integers::default(),
            write_bursts: Integers::default(),
            before_exit: Integers::default(),
            shortfall: Integers::default(),
            not_yet_reported: 0,
            at_ssthresh: 0,
            sent_one: 0,
            timed_out: 0,
            blocks: 4,
            arriving: AckView::default(),
            sent_acks: AckView::default(),
            by_ordinal: vec![],
            newest: 0,
            checks: Default::default(),
            recovery: None,
            step: Step::default(),
            last: Snapshot::default(),
        }
    }

    /// Begins the next flow.
    pub fn begin(&mut self, flow: u64) {
        self.flow = flow;
        self.recovery = None;
        self.step = Step::default();
        self.last = Snapshot::default();
        self.by_ordinal.clear();
        self.newest = 0;
    }

    /// Adds a case of a property that bounds `value` by `most`.
    fn at_most(&mut self, property: Property, value: u64, most: u64, moment: &Moment) {
        self.checks[property as usize].add(value.saturating_sub(most), moment);
    }

    /// Adds a case of a property that is true or not.
    fn is_true(&mut self, property: Property, holds: bool, moment: &Moment) {
        self.checks[property as usize].add(u64::from(!holds), moment);
    }

    fn settle(&mut self, now: Instant, sender: &Sender) {
        let mut changes = std::mem::take(&mut self.step.changes);
        for (from, to) in changes.drain(..) {
            if from == State::Recovery {
                self.end(now, to, sender);
            }
            if to == State::Recovery {
                self.enter(sender);
            }
        }
        if self.recovery.is_some() {
            self.continue_recovery(now, sender);
        }
        self.last = Snapshot {
            delivered: sender.counters().delivered,
            una: sender.una(),
            nxt: sender.nxt(),
            sacked: sender.board().sacked().0,
            pipe: sender.pipe().0,
            cwnd: sender.cwnd().0,
            ssthresh: sender.ssthresh().0,
        };
        self.step = Step { changes, ..Step::default() };
    }

    fn enter(&mut self, sender: &Sender) {
        self.recoveries += 1;
        let flight = self.last.nxt.since(sender.una()).div_ceil(self.mss);
        let arrived = sender.counters().delivered - self.last.delivered;
        let sacked = u64::from(sender.board().sacked().0);
        self.recovery = Some(Recovery {
            flight,
            undelivered: (flight + arrived).saturating_sub(sacked),
            delivered: 0,
            reached: self.reached(self.last.una, self.last.sacked),
            just_delivered: 0,
            sent: 0,
            acks: 0,
            safe: 0,
            marked: 0,
            each_delivers: true,
            unlimited: true,
            duplicates: false,
        });
    }

    /// An ACK, a write or a timer in recovery, from the ACK that begins it.
    fn continue_recovery(&mut self, now: Instant, sender: &Sender) {
        let Some(mut recovery) = self.recovery else {
            return;
        };
        let step = &self.step;
        let delivered = sender.counters().delivered - self.last.delivered;
        let (before, burst) = (recovery.sent, step.sent);
        recovery.sent += u64::from(burst);
        recovery.marked += step.marked;
        recovery.duplicates |= step.dsack;
        recovery.unlimited &= sender.limit() > sender.nxt();
        if step.ack {
            recovery.acks += 1;
            recovery.delivered += delivered;
            recovery.just_delivered = delivered;
            recovery.each_delivers &= delivered > 0;
            let advanced = sender.una() > self.last.una;
            recovery.safe += u64::from(advanced && step.marked == 0);
        }
        let ack = step.ack;
        self.recovery = Some(recovery);
        let moment = self.moment(now, &recovery, sender, burst);
        if ack {
            self.acks += 1;
            self.after_ack(&recovery, before, &moment);
            self.slow_start_part(&recovery, before, &moment);
            self.deliveries(&recovery, sender, &moment);
        } else if burst == 0 {
            return;
        } else {
            self.write_bursts.add(burst.into());
            let most = recovery.delivered.saturating_sub(before).max(recovery.just_delivered) + 1;
            self.at_most(Property::Banks, burst.into(), most, &moment);
            let stated = (recovery.delivered + 1).saturating_sub(before);
            self.at_most(Property::BanksAsStated, burst.into(), stated, &moment);
        }
        self.in_proportion_to_deliveries(&recovery, &moment);
    }

    /// Segments acknowledged in sequence or SACKed.
    fn reached(&self, una: Offset, sacked: u32) -> u64 {
        una.since(Offset::DATA) / self.mss + u64::from(sacked)
    }

    /// PRR's RecoverFS; for other rate controls, the one of algorithm 2.
    fn recover_fs(&self, recovery: &Recovery) -> u64 {
        match self.recover_fs {
            RecoverFs::Undelivered => recovery.undelivered,
            _ => recovery.flight,
        }
    }

    fn after_ack(&mut self, recovery: &Recovery, before: u64, moment: &Moment) {
        let burst = u64::from(moment.burst);
        self.ack_bursts.add(moment.burst.into());
        let most = recovery.delivered.saturating_sub(before).max(recovery.just_delivered) + 1;
        self.at_most(Property::Clocked, burst, most, moment);
        self.at_most(Property::Paced, burst, recovery.just_delivered + 1, moment);
        // Segments in flight when the sender set cwnd.
        let pipe = moment.pipe - moment.burst.min(moment.pipe);
        if recovery.unlimited && pipe > moment.ssthresh {
            let share = recovery.delivered * u64::from(moment.ssthresh);
            let due = share.div_ceil(self.recover_fs(recovery).max(1));
            let forced = u64::from(recovery.acks == 1);
            let precise = recovery.sent == due.max(forced).max(before);
            self.is_true(Property::Precise, precise, moment);
            self.shortfall.add(due as i64 - recovery.sent as i64);
        }
    }

    /// The second part of algorithm 2.
    fn slow_start_part(&mut self, recovery: &Recovery, before: u64, moment: &Moment) {
        let pipe = moment.pipe - moment.burst.min(moment.pipe);
        if recovery.acks > 1 {
            let shrinks = moment.pipe <= self.last.pipe;
            self.is_true(Property::Shrinks, shrinks, moment);
        }
        if !recovery.unlimited || pipe > moment.ssthresh {
            return;
        }
        let limit = recovery.delivered.saturating_sub(before).max(recovery.just_delivered) + 1;
        let due = u64::from(moment.ssthresh - pipe).min(limit);
        let forced = u64::from(recovery.acks == 1);
        let exact = u64::from(moment.burst) == due.max(forced);
        self.is_true(Property::SlowStarts, exact, moment);
        if self.step.marked == 0 && recovery.acks > 1 {
            let least = self.last.pipe.min(moment.ssthresh);
            self.is_true(Property::Inhibits, moment.pipe >= least, moment);
        }
    }

    /// DeliveredData (§4.2).
    fn deliveries(&mut self, recovery: &Recovery, sender: &Sender, moment: &Moment) {
        let sacked = sender.board().sacked().0;
        let progress = self.reached(sender.una(), sacked).saturating_sub(recovery.reached);
        self.is_true(Property::Progress, recovery.delivered == progress, moment);
        let observed = self.step.observed / self.mss;
        self.is_true(Property::Observed, recovery.just_delivered == observed, moment);
        let known = self.by_ordinal.get(self.newest as usize).copied();
        let anywhere = known == Some(self.arriving.delivered());
        self.is_true(Property::ObservedAnywhere, anywhere, moment);
    }

    fn in_proportion_to_deliveries(&mut self, recovery: &Recovery, moment: &Moment) {
        let Recovery { delivered, sent, .. } = *recovery;
        self.at_most(Property::Twice, sent, 2 * delivered, moment);
        if recovery.each_delivers {
            self.at_most(Property::TwiceIfDelivering, sent, 2 * delivered, moment);
        }
        for (property, most) in [
            (Property::DeliveredAndAcks, delivered + recovery.acks),
            (Property::DeliveredAndOne, delivered + 1),
            (Property::DeliveredAndSafe, delivered + recovery.safe + 1),
        ] {
            self.at_most(property, sent, most, moment);
        }
    }

    /// Recovery ends with a change to `to`. `self.last` is the sender before the last ACK.
    fn end(&mut self, now: Instant, to: State, sender: &Sender) {
        let Some(recovery) = self.recovery.take() else {
            return;
        };
        self.sent_one += u64::from(recovery.sent == 1 && recovery.unlimited);
        self.timed_out += u64::from(to == State::Loss);
        if to == State::Loss || self.step.undone {
            return;
        }
        let ended = sender.recoveries().last();
        // HyStart may have lowered ssthresh in recovery, as in Linux.
        let at_ssthresh = ended.is_some_and(|one| one.cwnd == one.ssthresh || one.cwnd.0 == self.last.ssthresh);
        self.at_ssthresh += u64::from(at_ssthresh);
        let Snapshot { pipe, cwnd, ssthresh, .. } = self.last;
        self.before_exit.add(i64::from(cwnd) - i64::from(ssthresh));
        let moment = Moment { pipe, ssthresh, ..self.moment(now, &recovery, sender, 0) };
        if !recovery.unlimited {
            return;
        }
        self.is_true(Property::Refills, pipe >= ssthresh, &moment);
        let converged = (pipe, cwnd) == (ssthresh, ssthresh);
        let reported = recovery.delivered + recovery.marked >= recovery.undelivered;
        let least = recovery.marked + u64::from(ssthresh);
        if least <= recovery.flight {
            self.is_true(Property::ConvergesAsStated, converged, &moment);
            self.not_yet_reported += u64::from(!converged && !reported);
        }
        let few = least <= recovery.undelivered;
        let counted = recovery.undelivered <= self.recover_fs(&recovery);
        if few && counted && reported && !recovery.duplicates {
            self.is_true(Property::Converges, converged, &moment);
        }
    }

    fn moment(&self, now: Instant, recovery: &Recovery, sender: &Sender, burst: u32) -> Moment {
        Moment {
            flow: self.flow,
            at_ms: now.as_millis_f64(),
            delivered: recovery.delivered,
            sent: recovery.sent,
            acks: recovery.acks,
            burst,
            pipe: sender.pipe().0,
            ssthresh: sender.ssthresh().0,
        }
    }
}

impl Observer for Watch {
    const WANTS_EVENTS: bool = true;

    fn on_packet(&mut self, _: Instant, point: Point, direction: Direction, packet: &Packet) {
        let segment = &packet.segment;
        match (point, direction) {
            (Point::Sent, Direction::Down) if segment.flags.contains(Flags::SYN) => {
                self.arriving = AckView::new(segment.seq, self.blocks);
                self.sent_acks = AckView::new(segment.seq, self.blocks);
            }
            (Point::Sent, Direction::Up) if segment.flags.contains(Flags::ACK) => {
                self.sent_acks.on_ack(segment);
                let ordinal = packet.ordinal as usize;
                self.by_ordinal.resize(ordinal + 1, 0);
                self.by_ordinal[ordinal] = self.sent_acks.delivered();
            }
            (Point::Arrived, Direction::Up) => {
                self.step.ack = true;
                if segment.flags.contains(Flags::ACK) {
                    self.step.observed += self.arriving.on_ack(segment);
                    self.newest = self.newest.max(packet.ordinal);
                }
            }
            _ => {}
        }
    }

    fn on_event(&mut self, _: Instant, _: FlowId, host: Host, event: &Event) {
        if host != Host::Server {
            return;
        }
        let step = &mut self.step;
        match *event {
            Event::Sent { what, .. } => {
                step.sent += u32::from(!matches!(what, Transmission::WindowProbe));
            }
            Event::Acked { dsack, copy_reported, .. } => {
                step.dsack |= dsack.is_some() && !copy_reported;
            }
            Event::MarkedLost { .. } => step.marked += 1,
            Event::Undone { .. } => step.undone = true,
            Event::StateChanged { from, to, .. } => step.changes.push((from, to)),
            _ => {}
        }
    }

    fn on_settled(&mut self, now: Instant, host: Host, endpoint: &Endpoint) {
        if host == Host::Server {
            self.settle(now, endpoint.sender());
        }
    }
}
