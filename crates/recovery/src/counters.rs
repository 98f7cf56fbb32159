//! What a sender counts: the columns of the 2011 paper's tables, and what TCP_INFO reports.

use crate::event::{State, Trigger};
use crate::undo::Proof;
use recoup_units::{Instant, Segments};
use std::collections::VecDeque;
use std::time::Duration;

/// Retransmissions by trigger.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Retransmissions([u64; Trigger::ALL.len()]);

impl Retransmissions {
    /// Counts one.
    pub fn add(&mut self, trigger: Trigger) {
        self.0[trigger as usize] += 1;
    }

    /// Those of one trigger.
    pub fn of(&self, trigger: Trigger) -> u64 {
        self.0[trigger as usize]
    }

    /// All of them.
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }

    /// Adds another connection's.
    pub fn merge(&mut self, other: &Self) {
        self.0.iter_mut().zip(other.0).for_each(|(a, b)| *a += b);
    }
}

/// Counts since the connection began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Segments delivered, by cumulative ACK, SACK or DSACK.
    pub delivered: u64,
    /// Segments retransmitted.
    pub retransmissions: Retransmissions,
    /// Bytes of sequence space retransmitted.
    pub retransmitted_bytes: u64,
    /// Tail loss probes, those that carry new data included; the others are retransmissions too.
    pub probes: u64,
    /// Retransmission timeouts, by the state they found: those in Loss are exponential back-off
    /// (see [`timeouts_in`](Self::timeouts_in)).
    pub timeouts: [u64; State::ALL.len()],
    /// Segments retransmitted that nothing was heard of before the connection was given up.
    pub failed_retransmissions: u64,
    /// Fast recoveries entered.
    pub recoveries: u64,
    /// Fast recoveries of which a DSACK arrived, during them or later.
    pub recoveries_with_dsack: u64,
    /// Retransmissions found lost.
    pub lost_retransmissions: u64,
    /// DSACKs received, in segments, those of copies apart.
    pub dsacks: u64,
    /// Extra copies sent in advance of any loss.
    pub copies: u64,
    /// Bytes of sequence space in them.
    pub copied_bytes: u64,
    /// Copies that were worth their while and were not sent: the window had no room, or an earlier one
    /// was not acknowledged.
    pub copies_withheld: u64,
    /// Copies of data reported by DSACK to have arrived beside their originals.
    pub copies_reported: u64,
    /// Reductions taken back, by proof (see [`undone_by`](Self::undone_by)).
    pub undone: [u64; Proof::ALL.len()],
    /// How often the path was seen to reorder.
    pub reordering_seen: u64,
    /// ACKs of data never sent, ignored.
    pub impossible_acks: u64,
    /// SACK blocks of data never sent, or across `snd_una`, ignored.
    pub impossible_blocks: u64,
    /// Times the receiver took back what it had SACKed.
    pub reneged: u64,
    /// Time in Recovery.
    pub in_recovery: Duration,
    /// Time in Loss.
    pub in_loss: Duration,
    /// Time with data outstanding ("network transmit time").
    pub busy: Duration,
    /// Segments of data sent, retransmissions included, copies not.
    pub segments_sent: u64,
    /// … of them in Recovery.
    pub sent_in_recovery: u64,
    /// Recoveries that left a window below ssthresh, so that slow start follows.
    pub slow_starts_after_recovery: u64,
}

impl Counters {
    /// Timeouts that found the sender in `state`.
    pub fn timeouts_in(&self, state: State) -> u64 {
        self.timeouts[state as usize]
    }

    /// Reductions taken back by `proof`.
    pub fn undone_by(&self, proof: Proof) -> u64 {
        self.undone[proof as usize]
    }

    /// Adds another connection's.
    pub fn merge(&mut self, other: &Self) {
        fn add<const N: usize>(to: &mut [u64; N], from: &[u64; N]) {
            to.iter_mut().zip(from).for_each(|(a, b)| *a += b);
        }
        self.retransmissions.merge(&other.retransmissions);
        add(&mut self.timeouts, &other.timeouts);
        add(&mut self.undone, &other.undone);
        for (to, from) in [
            (&mut self.delivered, other.delivered),
            (&mut self.retransmitted_bytes, other.retransmitted_bytes),
            (
                &mut self.failed_retransmissions,
                other.failed_retransmissions,
            ),
            (&mut self.recoveries, other.recoveries),
            (&mut self.recoveries_with_dsack, other.recoveries_with_dsack),
            (&mut self.lost_retransmissions, other.lost_retransmissions),
            (&mut self.dsacks, other.dsacks),
            (&mut self.probes, other.probes),
            (&mut self.copies, other.copies),
            (&mut self.copied_bytes, other.copied_bytes),
            (&mut self.copies_withheld, other.copies_withheld),
            (&mut self.copies_reported, other.copies_reported),
            (&mut self.reordering_seen, other.reordering_seen),
            (&mut self.impossible_acks, other.impossible_acks),
            (&mut self.impossible_blocks, other.impossible_blocks),
            (&mut self.reneged, other.reneged),
            (&mut self.segments_sent, other.segments_sent),
            (&mut self.sent_in_recovery, other.sent_in_recovery),
            (
                &mut self.slow_starts_after_recovery,
                other.slow_starts_after_recovery,
            ),
        ] {
            *to += from;
        }
        self.in_recovery += other.in_recovery;
        self.in_loss += other.in_loss;
        self.busy += other.busy;
    }
}

/// One fast recovery, from entering to leaving it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recovery {
    /// When it was entered.
    pub entered_at: Instant,
    /// How long it took.
    pub duration: Duration,
    /// Segments in flight as it began, losses found until then taken off.
    pub pipe: Segments,
    /// The slow-start threshold it aimed at.
    pub ssthresh: Segments,
    /// The window just before it was left.
    pub last_cwnd: Segments,
    /// The window after it.
    pub cwnd: Segments,
    /// Segments it retransmitted.
    pub retransmissions: u32,
    /// Segments delivered meanwhile.
    pub delivered: u32,
    /// How it ended.
    pub ended: Ended,
}

/// How a recovery ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The recovery point was acknowledged.
    Complete,
    /// It was found needless.
    Undone,
    /// By a retransmission timeout.
    Timeout,
}

/// The most finished recoveries kept.
const KEPT: usize = 1024;

/// The recoveries of a connection.
#[derive(Clone, Debug, Default)]
pub struct Recoveries {
    finished: VecDeque<Recovery>,
    current: Option<Recovery>,
}

impl Recoveries {
    /// Forgets all, keeping memory.
    pub fn clear(&mut self) {
        self.finished.clear();
        self.current = None;
    }

    /// One begins.
    pub fn begin(&mut self, now: Instant, pipe: Segments, ssthresh: Segments) {
        self.current = Some(Recovery {
            entered_at: now,
            duration: Duration::ZERO,
            pipe,
            ssthresh,
            last_cwnd: Segments::ZERO,
            cwnd: Segments::ZERO,
            retransmissions: 0,
            delivered: 0,
            ended: Ended::Complete,
        });
    }

    /// The one under way.
    pub fn current(&mut self) -> Option<&mut Recovery> {
        self.current.as_mut()
    }

    /// The one under way ends.
    pub fn end(&mut self, now: Instant, last_cwnd: Segments, cwnd: Segments, ended: Ended) {
        if let Some(mut recovery) = self.current.take() {
            recovery.duration = now.since(recovery.entered_at);
            recovery.last_cwnd = last_cwnd;
            recovery.cwnd = cwnd;
            recovery.ended = ended;
            if self.finished.len() == KEPT {
                self.finished.pop_front();
            }
            self.finished.push_back(recovery);
        }
    }

    /// The latest finished ones, oldest first; 1,024 at most.
    pub fn finished(&self) -> impl ExactSizeIterator<Item = &Recovery> {
        self.finished.iter()
    }
}
