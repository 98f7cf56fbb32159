//! A sender's counters: those of the 2011 paper's tables, and those that TCP_INFO reports.

use crate::event::{State, Trigger};
use crate::rtt::nanos;
use crate::undo::Proof;
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use core::ops::AddAssign;
use core::time::Duration;
use recoup_units::{Instant, Segments};

/// Retransmissions by trigger, each counted in an `N`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Retransmissions<N = u64>([N; Trigger::ALL.len()]);

impl<N: Copy + AddAssign<u64> + Into<u64>> Retransmissions<N> {
    /// Counts one retransmission.
    pub fn add(&mut self, trigger: Trigger) {
        self.0[trigger as usize] += 1;
    }

    /// The retransmissions with one trigger.
    pub fn of(&self, trigger: Trigger) -> u64 {
        self.0[trigger as usize].into()
    }

    /// All retransmissions.
    pub fn total(&self) -> u64 {
        self.0.iter().map(|&count| count.into()).sum()
    }
}

impl Retransmissions {
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
    /// Retransmissions found lost, those that a timeout marked lost included.
    pub lost_retransmissions: u64,
    /// Those of them that ACKs showed lost, without which they would have caused a timeout (`TCPLostRetransmit` of Linux 2.6,
    /// `tcp_mark_lost_retrans`).
    pub detected_lost_retransmissions: u64,
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
    /// ACKs that were ignored: of data never sent, or of packet numbers where positions count bytes.
    pub impossible_acks: u64,
    /// SACK blocks that were ignored: of data never sent, or across `snd_una`.
    pub impossible_blocks: u64,
    /// Transmissions that were ignored because they cannot have happened.
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
            (&mut self.failed_retransmissions, other.failed_retransmissions),
            (&mut self.recoveries, other.recoveries),
            (&mut self.recoveries_with_dsack, other.recoveries_with_dsack),
            (&mut self.lost_retransmissions, other.lost_retransmissions),
            (&mut self.detected_lost_retransmissions, other.detected_lost_retransmissions),
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
            (&mut self.slow_starts_after_recovery, other.slow_starts_after_recovery),
        ] {
            *to += from;
        }
        self.in_recovery += other.in_recovery;
        self.in_loss += other.in_loss;
        self.busy += other.busy;
    }
}

/// The counters of one sender, without those that its parts keep. They are smaller than [`Counters`], which may add
/// up many connections: a [`Count`] is of losses, or of events of which there are
/// few a round trip.
#[derive(Clone, Copy, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(crate) struct Counts {
    pub delivered: u64,
    pub segments_sent: u64,
    pub retransmitted_bytes: u64,
    pub in_recovery: Nanos,
    pub in_loss: Nanos,
    pub busy: Nanos,
    pub retransmissions: Retransmissions<Count>,
    pub timeouts: [Count; State::ALL.len()],
    pub undone: [Count; Proof::ALL.len()],
    pub probes: Count,
    pub dsacks: Count,
    pub sent_in_recovery: Count,
    pub failed_retransmissions: Count,
    pub recoveries: Count,
    pub recoveries_with_dsack: Count,
    pub impossible_acks: Count,
    pub impossible_sends: Count,
    pub reneged: Count,
    pub slow_starts_after_recovery: Count,
    /// Retransmissions since the last ACK of new data.
    pub unheard: u32,
}

impl Counts {
    /// These counts as [`Counters`], with 0 for those that other parts of the sender keep.
    pub fn public(&self) -> Counters {
        Counters {
            delivered: self.delivered,
            retransmissions: Retransmissions(self.retransmissions.0.map(u64::from)),
            retransmitted_bytes: self.retransmitted_bytes,
            probes: self.probes.into(),
            timeouts: self.timeouts.map(u64::from),
            failed_retransmissions: self.failed_retransmissions.into(),
            recoveries: self.recoveries.into(),
            recoveries_with_dsack: self.recoveries_with_dsack.into(),
            dsacks: self.dsacks.into(),
            undone: self.undone.map(u64::from),
            impossible_acks: self.impossible_acks.into(),
            impossible_sends: self.impossible_sends.into(),
            reneged: self.reneged.into(),
            in_recovery: self.in_recovery.into(),
            in_loss: self.in_loss.into(),
            busy: self.busy.into(),
            segments_sent: self.segments_sent,
            sent_in_recovery: self.sent_in_recovery.into(),
            slow_starts_after_recovery: self.slow_starts_after_recovery.into(),
            ..Counters::default()
        }
    }
}

/// A count that stays at 2³² − 1 once it is there: after 6 TB of retransmissions, or, at one event a round trip of
/// 100 µs, after five days.
#[derive(Clone, Copy, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(crate) struct Count(u32);

impl AddAssign<u64> for Count {
    fn add_assign(&mut self, more: u64) {
        let more = u32::try_from(more).unwrap_or(u32::MAX);
        self.0 = self.0.saturating_add(more);
    }
}

impl From<Count> for u64 {
    fn from(count: Count) -> Self {
        count.0.into()
    }
}

/// A sum of durations in ns, at most 584 years.
#[derive(Clone, Copy, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(crate) struct Nanos(u64);

impl AddAssign<Duration> for Nanos {
    fn add_assign(&mut self, more: Duration) {
        self.0 = self.0.saturating_add(nanos(more));
    }
}

impl From<Nanos> for Duration {
    fn from(sum: Nanos) -> Self {
        Self::from_nanos(sum.0)
    }
}

/// One fast recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Recovery {
    /// When it began.
    pub entered_at: Instant,
    /// How long the sender was in the state Recovery. A timeout ends it.
    pub duration: Duration,
    /// The time until the sender was Open again: the recovery time of the 2011 paper (§5). After a timeout it includes
    /// the timeout recovery. `None` if the sender has not been Open since.
    pub until_open: Option<Duration>,
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

/// How many are kept whatever the limit of memory.
const LEAST_KEPT: usize = 4;

/// The recoveries of a connection.
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Recoveries {
    /// `None` before the first one, as in most senders.
    finished: Option<Box<Finished>>,
    current: Option<Current>,
}

/// The finished recoveries.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(transparent))]
struct Finished {
    latest: VecDeque<Recovery>,
    /// How many are kept at present.
    #[cfg_attr(feature = "serde", serde(skip, default = "kept"))]
    most: usize,
}

const fn kept() -> usize {
    KEPT
}

impl Default for Finished {
    fn default() -> Self {
        Self { latest: VecDeque::new(), most: kept() }
    }
}

/// The current recovery.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(crate) struct Current {
    entered_at: Instant,
    pipe: Segments,
    ssthresh: Segments,
    /// Segments retransmitted so far.
    pub retransmissions: u32,
    /// Segments delivered so far.
    pub delivered: u32,
}

impl Recoveries {
    /// Forgets all recoveries and keeps the memory.
    pub fn clear(&mut self) {
        if let Some(finished) = &mut self.finished {
            finished.latest.clear();
        }
        self.current = None;
    }

    /// Forgets the finished recoveries, and frees the memory.
    pub fn forget_finished(&mut self) {
        self.finished = None;
    }

    /// The bytes they take on the heap.
    pub(crate) fn memory(&self) -> usize {
        let finished = self.finished.as_deref();
        finished.map_or(0, |finished| size_of_val(finished) + finished.latest.capacity() * size_of::<Recovery>())
    }

    /// Takes at most `more` bytes of memory in addition, until this is called again: where more recoveries do not fit, the
    /// oldest are forgotten. A few always fit.
    #[inline]
    pub(crate) fn limit_growth(&mut self, more: usize) {
        if let Some(finished) = &mut self.finished {
            let capacity = finished.latest.capacity().max(LEAST_KEPT);
            let times = 1 + more / (capacity * size_of::<Recovery>());
            finished.most = capacity.saturating_mul(1 << times.ilog2()).min(KEPT);
        }
    }

    /// A recovery begins.
    pub fn begin(&mut self, now: Instant, pipe: Segments, ssthresh: Segments) {
        self.current = Some(Current { entered_at: now, pipe, ssthresh, retransmissions: 0, delivered: 0 });
    }

    /// The current recovery.
    pub(crate) fn current(&mut self) -> Option<&mut Current> {
        self.current.as_mut()
    }

    /// The current recovery ends. Returns it.
    pub fn end(&mut self, now: Instant, last_cwnd: Segments, cwnd: Segments, ended: Ended) -> Option<Recovery> {
        let current = self.current.take()?;
        Some(Recovery {
            entered_at: current.entered_at,
            duration: now.since(current.entered_at),
            until_open: None,
            pipe: current.pipe,
            ssthresh: current.ssthresh,
            last_cwnd,
            cwnd,
            retransmissions: current.retransmissions,
            delivered: current.delivered,
            ended,
        })
    }

    /// The sender is Open again.
    pub fn note_open(&mut self, now: Instant) {
        let Some(finished) = &mut self.finished else {
            return;
        };
        let latest = finished.latest.iter_mut().rev();
        let waiting = latest.take_while(|recovery| recovery.until_open.is_none());
        waiting.for_each(|recovery| {
            recovery.until_open = Some(now.since(recovery.entered_at));
        });
    }

    /// Keeps a finished recovery.
    pub fn keep(&mut self, recovery: Recovery) {
        let finished = self.finished.get_or_insert_default();
        while finished.latest.len() >= finished.most {
            finished.latest.pop_front();
        }
        finished.latest.push_back(recovery);
    }

    /// The latest finished recoveries, oldest first; 1,024 at most, and fewer where memory is limited.
    pub fn finished(&self) -> impl ExactSizeIterator<Item = &Recovery> {
        const NONE: &VecDeque<Recovery> = &VecDeque::new();
        self.finished.as_deref().map_or(NONE, |finished| &finished.latest).iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recovery(number: u32) -> Option<Recovery> {
        let mut recoveries = Recoveries::default();
        recoveries.begin(Instant::from_millis(number.into()), Segments(10), Segments(5));
        recoveries.end(Instant::from_millis(2000), Segments(5), Segments(5), Ended::Complete)
    }

    #[test]
    fn kept_recoveries_take_no_more_memory_than_is_left() {
        let mut recoveries = Recoveries::default();
        let keep = |recoveries: &mut Recoveries, numbers: core::ops::Range<u32>| {
            numbers.filter_map(recovery).for_each(|one| recoveries.keep(one));
        };
        keep(&mut recoveries, 0..8);
        let memory = recoveries.memory();
        recoveries.limit_growth(100);
        keep(&mut recoveries, 8..100);
        assert_eq!(recoveries.memory(), memory);
        let latest = recoveries.finished().last().map(|one| one.entered_at);
        assert_eq!(latest, Some(Instant::from_millis(99)), "the newest stay");
        recoveries.limit_growth(usize::MAX);
        keep(&mut recoveries, 0..2000);
        assert_eq!(recoveries.finished().len(), KEPT);
    }
}
