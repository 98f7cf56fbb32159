//! The rounds of a capture, planned from the times of its packets alone.
//!
//! Facts that a round shows about hosts are known to the next one, so the rounds decide what is known when. A plan lets
//! analyses of parts of the capture keep to the rounds of the whole ([`analyze_partition`](super::analyze_partition)).
//!
//! - **In**: the frame number and the timestamp of each packet, in the order of the capture.
//! - **Out**: where each round ends, and the time of each packet.

use super::{
    TimeWindow,
    feed::{PacketFeed, TakesRound},
    round::{RoundFacts, RoundOrder},
};
use crate::read::{Counts, Packet, PacketSource, ReadError};
use recoup_units::Instant;
use serde::{Deserialize, Serialize};
use siphasher::sip::SipHasher13;
use std::hash::{Hash, Hasher};

/// The rounds of a capture. It is small: 33 bytes a round, and more only where timestamps jump.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RoundPlan {
    pub(super) rounds: Vec<PlannedRound>,
    /// Facts about the empty round after the last packet.
    pub(super) last: RoundFacts,
    times: Vec<TimeRun>,
    /// Counts of the packets read, with the anomalies of the clock.
    pub(super) counts: Counts,
    /// The name of the capture.
    pub(super) name: String,
}

/// A round of the capture.
#[derive(Clone, Copy, Debug, Hash, Serialize, Deserialize)]
pub(super) struct PlannedRound {
    pub last_frame: u64,
    pub facts: RoundFacts,
}

/// Frames whose timestamps are corrected alike.
#[derive(Clone, Copy, Debug, Hash, Serialize, Deserialize)]
struct TimeRun {
    /// The first of them. They end where the next run begins.
    first_frame: u64,
    /// Correction added to their timestamps, in ns, without regard to overflow. `None`: they are not analyzed.
    correction: Option<u64>,
}

impl RoundPlan {
    /// Plans the rounds of a capture. Only the frame numbers and timestamps of its packets are read, and
    /// whether each is a segment. `ended` is called with the source after its last packet.
    ///
    /// # Errors
    /// Those of [`PacketSource::stop`].
    pub fn new<S: PacketSource>(
        mut source: S,
        window: TimeWindow,
        ended: impl FnOnce(&mut S),
    ) -> Result<Self, ReadError> {
        let mut feed = PacketFeed::new(window);
        let mut planner = Planner::default();
        let mut more_packets = true;
        let mut packets = |packet: &mut Packet| {
            more_packets = more_packets && source.next_into(packet);
            more_packets
        };
        // The analysis does not know that a round is the last one until it has asked for more packets.
        while feed.fill(&mut packets, &mut planner, false) {
            planner.end_round();
        }
        while feed.fill(&mut |_| false, &mut planner, true) {
            planner.end_round();
        }
        ended(&mut source);
        let name = source.name().to_owned();
        let mut counts = Counts::default();
        counts.append(source.stop()?);
        counts.clock = feed.clock;
        counts.left_out.outside_window = feed.outside_window;
        Ok(Self { rounds: planner.rounds, last: feed.facts(RoundOrder::Last), times: planner.times, counts, name })
    }

    /// Counts of the packets read, without the findings of the partitions.
    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    /// The name of the capture.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How many rounds there are.
    pub fn rounds(&self) -> usize {
        self.rounds.len()
    }

    /// Distinguishes this plan from others.
    pub(super) fn digest(&self) -> u64 {
        let mut hasher = SipHasher13::new();
        (&self.rounds, &self.last, &self.times).hash(&mut hasher);
        hasher.finish()
    }

    /// The times of packets whose frames only go up.
    pub(super) fn clock(&self) -> PlannedClock<'_> {
        PlannedClock { runs: &self.times, correction: None }
    }
}

/// Finds the times of packets in a plan.
#[derive(Clone, Debug)]
pub(super) struct PlannedClock<'a> {
    /// The runs that begin after the latest packet.
    runs: &'a [TimeRun],
    correction: Option<u64>,
}

impl PlannedClock<'_> {
    /// The time of a packet; `None` if it is not analyzed.
    #[inline]
    pub fn time(&mut self, packet: &Packet) -> Option<Instant> {
        while let [run, later @ ..] = self.runs
            && run.first_frame <= packet.frame
        {
            self.correction = run.correction;
            self.runs = later;
        }
        let at = packet.at.as_nanos();
        (self.correction).map(|correction| Instant::from_nanos(at.wrapping_add(correction)))
    }
}

/// Takes rounds, but not their packets.
#[derive(Debug, Default)]
struct Planner {
    rounds: Vec<PlannedRound>,
    times: Vec<TimeRun>,
    /// Packets of the round that is being dealt.
    count: usize,
    last_frame: u64,
    facts: RoundFacts,
}

impl Planner {
    fn end_round(&mut self) {
        self.rounds.push(PlannedRound { last_frame: self.last_frame, facts: self.facts });
        self.count = 0;
    }

    fn correct(&mut self, first_frame: u64, correction: Option<u64>) {
        let latest = self.times.last();
        if latest.is_none_or(|latest| latest.correction != correction) {
            self.times.push(TimeRun { first_frame, correction });
        }
    }
}

impl TakesRound for Planner {
    fn push(&mut self, packet: &Packet, time: Instant) {
        let correction = time.as_nanos().wrapping_sub(packet.at.as_nanos());
        self.correct(packet.frame, Some(correction));
        self.last_frame = packet.frame;
        self.count += 1;
    }

    fn leave_out(&mut self, packet: &Packet) {
        self.correct(packet.frame, None);
    }

    fn describe(&mut self, facts: RoundFacts) {
        self.facts = facts;
    }

    fn len(&self) -> usize {
        self.count
    }
}
