//! A sender's counters: those of the 2011 paper's tables, and those that TCP_INFO reports.

use crate::event::{State, Trigger};
use crate::undo::Proof;
use alloc::collections::VecDeque;
use core::time::Duration;
use recoup_units::{Instant, Segments};

/// Retransmissions by trigger.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Retransmissions([u64; Trigger::ALL.len()]);

impl Retransmissions {
    /// Counts one retransmission.
    pub fn add(&mut self, trigger: Trigger) {
        self.0[trigger as usize] += 1;
    }

    /// The retransmissions with one trigger.
    pub fn of(&self, trigger: Trigger) -> u64 {
        self.0[trigger as usize]
    }

    /// All retransmissions.
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }

    /// Adds another connection's counts.
    pub fn merge(&mut self, other: &Self) {
        self.0.iter_mut().zip(other.0).for_each(|(a, b)| *a += b);
    }
}

/// Counts since the start of the connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Counters {
    /// Segments delivered, by cumulative ACK, SACK or DSACK.
    pub delivered: u64,
    /// Segments retransmitted.
    pub retransmissions: Retransmissions,
    /// Bytes of sequence space retransmitted.
    pub retransmitted_bytes: u64,
    /// Tail loss probes. Those without new data also count as retransmissions.
    pub probes: u64,
    /// Retransmission timeouts by the state in which they occurred; those in Loss are exponential back-off
    /// (see [`timeouts_in`](Self::timeouts_in)).
    pub timeouts: [u64; State::ALL.len()],
    /// Retransmitted segments still unacknowledged when the connection was aborted.
    pub failed_retransmissions: u64,
    /// Fast recoveries entered.
    pub recoveries: u64,
    /// Fast recoveries for which a DSACK arrived, during the recovery or later.
    pub recoveries_with_dsack: u64,
    /// Retransmissions found lost.
    pub lost_retransmissions: u64,
    /// DSACKs received (segments), without those for copies.
    pub dsacks: u64,
    /// Copies sent by selective loss prevention.
    pub copies: u64,
    /// Bytes of sequence space in `copies`.
    pub copied_bytes: u64,
    /// Copies that the arbitrator favoured but that were not sent, because the window was full or an earlier
    /// copy was unacknowledged.
    pub copies_withheld: u64,
    /// Copies of data that a DSACK reported as duplicates of their originals.
    pub copies_reported: u64,
    /// Undone window reductions by proof (see [`undone_by`](Self::undone_by)).
    pub undone: [u64; Proof::ALL.len()],
    /// How often reordering was detected.
    pub reordering_seen: u64,
    /// ACKs of data never sent, ignored.
    pub impossible_acks: u64,
    /// SACK blocks of data never sent, or across `snd_una`, ignored.
    pub impossible_blocks: u64,
    /// Transmissions that cannot have happened, ignored.
    pub impossible_sends: u64,
    /// Times the receiver reneged on its SACKs.
    pub reneged: u64,
    /// Time in Recovery.
    pub in_recovery: Duration,
    /// Time in Loss.
    pub in_loss: Duration,
    /// Time with data outstanding ("network transmit time").
    pub busy: Duration,
    /// Segments of data sent, retransmissions included, copies not.
    pub segments_sent: u64,
    /// Segments of data sent in Recovery.
    pub sent_in_recovery: u64,
    /// Recoveries that ended with a window below ssthresh, so that slow start followed.
    pub slow_starts_after_recovery: u64,
}

impl Counters {
    /// Retransmission timeouts in `state`.
    pub fn timeouts_in(&self, state: State) -> u64 {
        self.timeouts[state as usize]
    }

    /// Window reductions undone by `proof`.
    pub fn undone_by(&self, proof: Proof) -> u64 {
        self.undone[proof as usize]
    }

    /// Adds another connection's counts.
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
            (&mut self.impossible_sends, other.impossible_sends),
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

/// One fast recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Recovery {
    /// When it began.
    pub entered_at: Instant,
    /// How long it lasted.
    pub duration: Duration,
    /// Segments in flight at its start, without those already marked lost.
    pub pipe: Segments,
    /// The slow-start threshold it reduced the window to.
    pub ssthresh: Segments,
    /// The window just before its end.
    pub last_cwnd: Segments,
    /// The window after its end.
    pub cwnd: Segments,
    /// Segments it retransmitted.
    pub retransmissions: u32,
    /// Segments delivered during it.
    pub delivered: u32,
    /// How it ended.
    pub ended: Ended,
}

/// How a recovery ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Ended {
    /// The recovery point was acknowledged.
    Complete,
    /// The reduction was undone.
    Undone,
    /// A retransmission timeout interrupted it.
    Timeout,
}

/// How many finished recoveries are kept.
const KEPT: usize = 1024;

/// The recoveries of a connection.
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Recoveries {
    finished: VecDeque<Recovery>,
    current: Option<Recovery>,
}

impl Recoveries {
    /// Forgets all recoveries and keeps the memory.
    pub fn clear(&mut self) {
        self.finished.clear();
        self.current = None;
    }

    /// A recovery begins.
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

    /// The current recovery.
    pub fn current(&mut self) -> Option<&mut Recovery> {
        self.current.as_mut()
    }

    /// The current recovery ends.
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

    /// The latest finished recoveries, oldest first; 1,024 at most.
    pub fn finished(&self) -> impl ExactSizeIterator<Item = &Recovery> {
        self.finished.iter()
    }
}
