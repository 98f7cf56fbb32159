//! The facts of an explanation: sums over all connections, in memory that does not grow with the
//! capture, and the connections that lost most.

use super::advice::{self, Advice};
use super::groups::{Group, GroupBy, Groups};
use super::order::{SortBy, Worst};
use super::outage::{Outage, Stalls};
use super::queues::QueueFacts;
use super::quic::{Protocol, QuicFacts};
use crate::analysis::{Collector, Vantages, nearest_to_senders, view};
use crate::merge_fields;
use crate::study::Merge;
use crate::whatif::Candidates;
use crate::wording::{capture_name, longest_first};
use recoup_recovery::Trigger;
use recoup_support::stats::Durations;
use recoup_trace::analyze::Findings;
use recoup_trace::finding::{
    Cause, Closing, Connection, Direction, EcnCounts, HeldConnections, LostTime, Opening, Retransmission, Revision,
    SenderState, Tally, TimeByState, Vantage, Verdict, WhyUnknown,
};
use recoup_trace::timeline::Timeline;
use recoup_units::Instant;
use std::mem::take;
use std::net::IpAddr;
use std::time::Duration;

/// A state or cause that takes up less than this share of a connection is not counted for it.
const NOTICEABLE: f64 = 0.01;

/// Sums over a capture's connections.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// Connections.
    pub connections: u64,
    /// The times of the first and the last packet.
    pub span: Option<(Instant, Instant)>,
    /// Packets with payload, SYN or FIN.
    pub segments: u64,
    /// Payload bytes, retransmissions included.
    pub bytes: u64,
    /// Connections by the capture point of the data of their [main direction](main_direction).
    pub captured_at: [u64; CapturedAt::ALL.len()],
    /// From the capture point to the client and to the server and back, for connections captured on the path.
    pub distances: [Durations; 2],
    /// Needed retransmissions of packets that were lost between the capture point and the client, and between it and the
    /// server. Packets captured at their sender do not show where they were lost.
    pub losses_by_side: [u64; 2],
    /// Losses by a full queue, and others.
    pub queues: QueueFacts,
    /// Sums over connections of QUIC.
    pub quic: QuicFacts,
    /// Marks that stand for congestion.
    pub marks: Marks,
    /// Senders that a policer held to its rate.
    pub policed: Policed,
    /// The capture points of the data, and what the capture lacks.
    pub vantages: Vantages,
    /// The sum of the connections' durations.
    pub connection_time: Duration,
    /// The main directions' time, which adds up to [`connection_time`](Self::connection_time).
    pub time: TimeByState,
    /// Connections whose main direction spent a noticeable part of its time in each state.
    pub connections_in_state: [u64; SenderState::ALL.len()],
    /// The time that both directions lost.
    pub lost: LostTime,
    /// Connections that lost time.
    pub losers: u64,
    /// Connections that nobody opened.
    pub unopened: Unopened,
    /// FINs that nobody answered, and nobody waited for.
    pub unanswered_fins: u64,
    /// The longest episodes.
    stalls: Stalls,
    /// Facts about each cause.
    pub causes: [CauseFacts; Cause::ALL.len()],
    /// Time in recovery by the trigger and the verdict of each episode's first retransmission. The last
    /// trigger stands for unknown ones.
    pub recovering: [[EpisodeTime; Verdict::ALL.len()]; Trigger::ALL.len() + 1],
    /// All retransmissions.
    pub retransmissions: Tally,
    /// Fast recoveries with a loss, and the segments retransmitted in them.
    pub fast_recoveries: (u64, u64),
    /// The median round-trip time of each [main direction](main_direction) that was not captured at its receiver.
    pub rtt: Durations,
    /// The 99th percentile of each of those directions' round-trip times.
    pub long_rtt: Durations,
    /// Segments, goodput and RTTs over time. Without [`Settings::timeline`](recoup_trace::analyze::Settings) it
    /// has the retransmissions alone.
    pub timeline: Timeline,
    /// Sums over connections that have something in common.
    pub groups: Groups,
    /// The connections that come first by the order asked for.
    pub worst: Worst,
    /// The advice, once connections were run again.
    pub advice: Option<Advice>,
    /// The connections that an advice rests on, if there is to be one.
    candidates: Option<Candidates>,
    held: HeldConnections,
}

/// Senders that a policer held to its rate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Policed {
    /// How many.
    pub senders: u64,
    /// The least and the greatest rate, in bits of payload per second.
    pub rates: Option<(u64, u64)>,
    /// The least and the greatest burst that passed before the first loss, in bytes.
    pub bursts: Option<(u64, u64)>,
}

/// Connections whose SYN no SYN-ACK answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unopened {
    /// Those that nothing answered, though the SYN was repeated.
    pub connections: u64,
    /// Their SYNs.
    pub syns: u64,
    /// The longest of them.
    pub longest: Duration,
    /// The server of one of them.
    pub server: Option<IpAddr>,
    /// They had several servers.
    pub several_servers: bool,
    /// Connections that a reset refused.
    pub refused: u64,
}

impl Unopened {
    fn of(connection: &Connection) -> Self {
        let [there, back] = &connection.directions;
        let life = connection.duration();
        let never_opened = connection.opening == Opening::Handshake
            && back.segments == 0
            && there.bytes == 0
            && there.time.of(SenderState::Connecting) == life;
        let syns = there.segments.saturating_sub(there.duplicates);
        match (never_opened, back.absent) {
            (true, true) if syns > 1 => {
                let server = Some(connection.endpoints.dst.ip());
                Self { connections: 1, syns, longest: life, server, ..Self::default() }
            }
            (true, false) if connection.closing == Closing::Reset => Self { refused: 1, ..Self::default() },
            _ => Self::default(),
        }
    }
}

impl Merge for Unopened {
    fn merge(&mut self, other: &Self) {
        self.connections += other.connections;
        self.syns += other.syns;
        self.longest = self.longest.max(other.longest);
        let differs = self.server.zip(other.server).is_some_and(|(mine, theirs)| mine != theirs);
        self.several_servers |= other.several_servers || differs;
        self.server = self.server.or(other.server);
        self.refused += other.refused;
    }
}

/// Congestion that routers signalled by marks (ECN).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Marks {
    /// Connections with a mark, or a report of one.
    pub connections: u64,
    /// The marks on their packets.
    pub counts: EcnCounts,
}

/// Facts about the occurrences of a cause.
#[derive(Clone, Debug, Default)]
pub struct CauseFacts {
    /// Connections it occurred in.
    pub connections: u64,
    /// The time that each episode lost.
    pub each: Durations,
    /// From the first transmission of the lost data to its retransmission, for each episode.
    pub detection: Durations,
    /// The round-trip time at each episode.
    pub rtt: Durations,
    /// Segments retransmitted.
    pub segments: u64,
    /// Retransmission timeouts in its episodes.
    pub timeouts: u64,
}

/// Episodes, and their time in recovery.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EpisodeTime {
    /// Episodes.
    pub episodes: u64,
    /// Their time.
    pub time: Duration,
}

recoup_units::named! {
    /// Where a connection was captured.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum CapturedAt {
        /// At the end that accepted the connection.
        Server = "server",
        /// At the end that opened the connection.
        Client = "client",
        /// On the path.
        Between = "between",
        /// The capture does not show it.
        Unknown = "unknown",
    }
}

impl Marks {
    fn add(&mut self, directions: &[Direction; 2]) {
        let [up, down] = directions.each_ref().map(|direction| direction.ecn);
        let marked = [up, down].iter().any(|of| of.marked + of.reported > 0);
        self.connections += u64::from(marked);
        if marked {
            self.counts.merge(&up);
            self.counts.merge(&down);
        }
    }
}

impl Merge for Marks {
    fn merge(&mut self, other: &Self) {
        self.connections += other.connections;
        self.counts.merge(&other.counts);
    }
}

impl CapturedAt {
    pub(crate) fn of(connection: &Connection) -> Self {
        let main = main_direction(connection);
        match (connection.directions[main].vantage, main) {
            (Vantage::Sender, 0) | (Vantage::Receiver, 1) => Self::Client,
            (Vantage::Sender, _) | (Vantage::Receiver, _) => Self::Server,
            (Vantage::Between, _) => Self::Between,
            (Vantage::Unknown, _) => Self::Unknown,
        }
    }
}

/// The direction that carries more data: 0 for what `src` sends, 1 for what `dst` sends. Of a connection of QUIC, that of the end
/// that wrote the trace: of the other one it shows neither losses nor states.
pub fn main_direction(connection: &Connection) -> usize {
    if let Some(quic) = &connection.quic {
        return quic.traced;
    }
    let [there, back] = &connection.directions;
    usize::from(back.bytes > there.bytes)
}

/// The time that both directions of a connection lost.
pub fn lost_by(connection: &Connection) -> LostTime {
    connection.lost()
}

impl Facts {
    /// Keeps the first `most` connections by this order.
    pub fn new(order: SortBy, most: usize) -> Self {
        Self { worst: Worst::new(order, most), ..Self::default() }
    }

    /// Puts the connection of this number before all others.
    pub fn with_first(mut self, number: Option<u64>) -> Self {
        self.worst.asked_for = number;
        self
    }

    /// Groups the connections by these properties, too.
    pub fn with_groups(mut self, by: &[GroupBy]) -> Self {
        self.groups.ask(by);
        self
    }

    /// Leaves out when connections stood still: times of several captures have no common beginning.
    pub(super) fn forget_stalls(&mut self) {
        self.stalls = Stalls::default();
    }

    /// Puts all connections into the group of their capture.
    pub(super) fn group_by_capture(&mut self, name: &str) {
        let all = Group::of(self);
        self.groups.add_capture(capture_name(name), &all);
    }

    /// Collects the connections that an advice rests on.
    pub fn with_advice(mut self) -> Self {
        self.candidates = Some(advice::candidates());
        self
    }

    /// The connections that an advice rests on.
    pub(super) fn candidates(&self) -> Option<&Candidates> {
        self.candidates.as_ref()
    }

    /// The time between the first and the last packet.
    pub fn duration(&self) -> Duration {
        self.span.map_or(Duration::ZERO, |(begun, ended)| ended.since(begun))
    }

    /// The protocol of all connections; TCP if there are both.
    pub fn protocol(&self) -> Protocol {
        let is_quic = self.quic.connections > 0 && self.quic.connections == self.connections;
        if is_quic { Protocol::Quic } else { Protocol::Tcp }
    }

    /// The time in which most connections stood still, if many did.
    pub fn outage(&self) -> Option<Outage> {
        let open = self.connection_time.as_secs_f64() / self.duration().as_secs_f64();
        self.stalls.outage(open)
    }

    /// The reasons for unknown time, the longest first.
    pub fn unknown(&self) -> Vec<(WhyUnknown, Duration)> {
        longest_first(WhyUnknown::ALL, |why| self.time.unknown(why))
    }

    /// Adds a connection whose verdicts are final.
    fn add(&mut self, connection: Connection, rows: &[Retransmission]) {
        // What would have helped is found by reruns of TCP.
        if let Some(candidates) = &mut self.candidates
            && connection.quic.is_none()
        {
            candidates.add(&connection, rows);
        }
        let (connection, own) = nearest_to_senders(connection, rows);
        self.add_nearest(connection, &own);
    }

    fn add_nearest(&mut self, connection: Connection, rows: &[Retransmission]) {
        self.span.merge(&Some((connection.begun, connection.ended)));
        connection.directions.iter().for_each(|d| self.direction(d));
        self.round_trips(&connection.directions[main_direction(&connection)]);
        let [up, down] = connection.directions.each_ref().map(|direction| direction.losses);
        self.losses_by_side[0] += up.before + down.behind;
        self.losses_by_side[1] += up.behind + down.before;
        self.marks.add(&connection.directions);
        self.quic.add(&connection);
        rows.iter().for_each(|row| self.retransmission(row));
        self.timeouts(&connection, rows);
        self.groups.add(&connection);
        let lost = lost_by(&connection);
        self.lost.merge(&lost);
        self.losers += u64::from(!lost.total().is_zero());
        for cause in Cause::ALL {
            self.causes[cause as usize].connections += u64::from(lost.times(cause) > 0);
        }
        if connection.capture_point.number == 0 {
            let time = &connection.directions[main_direction(&connection)].time;
            self.connections += 1;
            self.unopened.merge(&Unopened::of(&connection));
            let captured_at = CapturedAt::of(&connection);
            self.captured_at[captured_at as usize] += 1;
            if captured_at == CapturedAt::Between {
                for (distance, direction) in self.distances.iter_mut().zip(&connection.directions) {
                    direction.to_sender.iter().for_each(|time| distance.add(*time));
                }
            }
            self.connection_time += time.total();
            self.time.merge(time);
            let noticeable = time.total().mul_f64(NOTICEABLE);
            for state in SenderState::ALL {
                let in_state = time.of(state);
                let counts = !in_state.is_zero() && in_state >= noticeable;
                self.connections_in_state[state as usize] += u64::from(counts);
            }
        }
        self.worst.add(connection, rows);
    }

    fn direction(&mut self, direction: &Direction) {
        self.segments += direction.segments;
        self.bytes += direction.bytes;
        self.queues.add(direction);
        if let Some(policer) = direction.policer {
            self.policed.merge(&Policed {
                senders: 1,
                rates: Some((policer.bits_per_second, policer.bits_per_second)),
                bursts: Some((policer.burst, policer.burst)),
            });
        }
        self.retransmissions.merge(&direction.retransmissions);
    }

    /// Requests are answered after other times than data is acknowledged: the main sender alone counts.
    fn round_trips(&mut self, main: &Direction) {
        if let Some(rtt) = main.rtt
            && main.vantage != Vantage::Receiver
        {
            self.rtt.add(rtt.p50);
            self.long_rtt.add(rtt.p99);
        }
    }

    /// Counts the retransmission timeouts of each episode that lost time.
    fn timeouts(&mut self, connection: &Connection, rows: &[Retransmission]) {
        let mut causes = [None; 2];
        for row in rows.iter().filter(|row| !row.syn) {
            let current = &mut causes[connection.sender_of(row)];
            if let Some(cost) = row.cost {
                *current = Some(cost.cause).filter(|_| !cost.lost.is_zero());
            }
            if let Some(cause) = current.filter(|_| row.triggers.first() == Some(Trigger::Rto)) {
                self.causes[cause as usize].timeouts += 1;
            }
        }
    }

    fn retransmission(&mut self, row: &Retransmission) {
        self.timeline.on_retransmission(row.at);
        let Some(cost) = &row.cost else {
            return;
        };
        let trigger = row.triggers.first();
        let facts = &mut self.causes[cost.cause as usize];
        // With the FIN or before it, it may hold the last words of TLS.
        let nobody_waited = cost.cause == Cause::Unanswered && cost.lost.is_zero();
        self.unanswered_fins += u64::from(nobody_waited);
        self.stalls.add(row, cost);
        if !cost.lost.is_zero() {
            facts.each.add(cost.lost);
            facts.segments += u64::from(cost.segments);
            cost.detection.iter().for_each(|detection| facts.detection.add(*detection));
            row.rtt.iter().for_each(|rtt| facts.rtt.add(*rtt));
        }
        let by_trigger = trigger.map_or(Trigger::ALL.len(), |trigger| trigger as usize);
        let recovering = &mut self.recovering[by_trigger][row.verdict as usize];
        recovering.episodes += 1;
        recovering.time += cost.recovering;
        if trigger == Some(Trigger::Fast) && row.verdict == Verdict::Needed {
            self.fast_recoveries.0 += 1;
            self.fast_recoveries.1 += u64::from(cost.segments);
        }
    }
}

impl Findings for Facts {
    fn connection(&mut self, connection: Connection, rows: &[Retransmission]) {
        self.vantages.add(&connection);
        let mut held = take(&mut self.held);
        held.add(connection, rows, |connection, rows| self.add(connection, rows));
        self.held = held;
    }

    fn revision(&mut self, revision: &Revision) {
        self.vantages.revised += u64::from(self.held.revise(revision));
    }

    fn timeline(&mut self, timeline: Timeline) {
        self.timeline.merge(timeline);
    }
}

view!(Facts: connections, vantages);

impl Collector for Facts {
    const READS_QLOG: bool = true;

    fn merge(&mut self, other: Self) {
        merge_fields!(self, other: connections, span, segments, bytes, captured_at, vantages, connection_time, time);
        merge_fields!(self, other: distances, losses_by_side, queues, marks, policed, unopened);
        merge_fields!(self, other: connections_in_state, lost, losers, unanswered_fins, stalls, causes, recovering, retransmissions);
        merge_fields!(self, other: fast_recoveries, rtt, long_rtt, quic);
        self.timeline.merge(other.timeline);
        self.groups.merge(other.groups);
        self.worst.merge(other.worst);
        if let (Some(mine), Some(theirs)) = (&mut self.candidates, other.candidates) {
            mine.merge(theirs);
        }
        self.held.merge(other.held);
    }

    fn order(&mut self) {
        let held = take(&mut self.held);
        held.release_all(|connection, rows| self.add(connection, rows));
        self.worst.sort();
        self.candidates.iter_mut().for_each(Collector::order);
    }
}

merge_fields!(CauseFacts: connections, each, detection, rtt, segments, timeouts);
merge_fields!(EpisodeTime: episodes, time);
merge_fields!(Policed: senders, rates, bursts);
