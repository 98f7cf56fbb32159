//! The totals of a capture, in memory that does not grow with it.

use super::columns::trigger_row;
use super::findings::Collector;
use crate::merge_fields;
use crate::study::{Merge, Study};
use recoup_recovery::Trigger;
use recoup_support::stats::Durations;
use recoup_trace::analyze::{Findings, NumbersConnections};
use recoup_trace::finding::{
    Closing, Connection, Direction, Evidence, HeldConnections, Opening, Renumbering, Retransmission, Revision, Tally,
    Vantage, Verdict,
};
use recoup_trace::read::Tunnel;
use recoup_units::Instant;
use recoup_wire::Endpoints;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::mem::take;
use std::time::Duration;

/// How many of the connections that lost most time are listed.
const SLOWEST: usize = 5;

/// The totals of a capture.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Summary {
    /// Connections.
    pub connections: u64,
    /// Connections that begin with a handshake, and connections that begin before the capture.
    pub openings: [u64; 2],
    /// Connections by [`Closing`].
    pub closings: [u64; Closing::ALL.len()],
    /// The times of the first and the last packet.
    pub span: Option<(Instant, Instant)>,
    /// Packets with payload, SYN or FIN.
    pub segments: u64,
    /// Payload bytes, retransmissions included.
    pub bytes: u64,
    /// Packets that the network or the capture duplicated.
    pub duplicates: u64,
    /// Keep-alive and zero window probes.
    pub probes: u64,
    /// Bytes sent but not captured.
    pub missing: u64,
    /// The capture points of the data.
    pub vantages: Vantages,
    /// Retransmissions with payload.
    pub data: Tally,
    /// Retransmissions with a SYN.
    pub syn: Tally,
    /// Retransmissions of a FIN without payload.
    pub fin: Tally,
    /// Retransmissions by evidence and verdict.
    pub evidence: [[u64; Verdict::ALL.len()]; Evidence::ALL.len()],
    /// Detection and recovery times by trigger; the last entry is for unknown triggers.
    pub loss_times: [LossTimes; Trigger::ALL.len() + 1],
    /// Round-trip times of the handshakes.
    pub handshake_rtt: Durations,
    /// The median round-trip time of each direction. Directions captured at the receiver are left out,
    /// because the capture does not show their round trip.
    pub rtt: Durations,
    /// The sum of all connections' durations, from first to last packet.
    pub duration: Duration,
    /// The part of `duration` that both directions lost.
    pub lost: Duration,
    /// Connections that lost time.
    pub connections_that_lost_time: u64,
    /// The connections that lost most time, the one that lost most first.
    pub slowest: Vec<SlowConnection>,
    /// Senders that retransmitted, and the tables and figures of the 2007 study.
    pub study: Study,
    /// Connections whose verdicts may still be revised. They are in none of the totals until
    /// [`order`](Collector::order).
    held: HeldConnections,
}

/// Data by capture point, and what the capture lacks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Vantages {
    /// Directions that carry data, by [`Vantage`].
    pub directions: [u64; Vantage::ALL.len()],
    /// Their payload bytes, by [`Vantage`].
    pub bytes: [u64; Vantage::ALL.len()],
    /// Connections with data in one direction and no packet of the other in the capture.
    pub one_way: u64,
    /// Packets that cannot belong to the connection between their endpoints.
    pub foreign: u64,
    /// Verdicts that changed when it became known whether their receivers report duplicates.
    pub revised: u64,
    /// Directions that would have cost too much time to explain in full.
    pub too_costly: u64,
    /// Connections closed for want of memory, or because too many were open.
    pub evicted: u64,
    /// The most capture points of a connection; more than 1 if the file is merged.
    pub capture_points: u32,
    /// Connections whose receiver discarded data that it had reported.
    pub reneging: u64,
    /// Connections whose SACK blocks report what was never sent.
    pub unusable_sack: u64,
    /// Connections with data towards a receiver whose window scale is unknown.
    pub unknown_window_scale: u64,
    /// Connections captured at several points, each counted once.
    pub merged: u64,
    /// The shortest and the longest delay between the first and the last capture point.
    pub apart: Option<(Duration, Duration)>,
}

/// Detection and recovery times of one trigger.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct LossTimes {
    /// From the first transmission to the retransmission.
    pub detection: Durations,
    /// From the retransmission to the ACK of everything sent before it.
    pub recovery: Durations,
}

/// A connection and the time it lost.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SlowConnection {
    /// The connection's number.
    pub connection: u64,
    /// Its endpoints.
    pub endpoints: Endpoints,
    /// The tunnel that tells it from connections between the same ends.
    pub tunnel: Option<Tunnel>,
    /// From the first packet to the last.
    pub duration: Duration,
    /// The time that both directions lost.
    pub lost: Duration,
    /// Retransmissions in both directions.
    pub retransmissions: u64,
    /// Spurious retransmissions in both directions.
    pub spurious: u64,
}

impl Vantages {
    /// Adds a connection.
    pub fn add(&mut self, connection: &Connection) {
        let point = &connection.capture_point;
        for (i, direction) in connection.directions.iter().enumerate() {
            if direction.bytes > 0 && point.is_nearest_to_sender(i) {
                self.directions[direction.vantage as usize] += 1;
                self.bytes[direction.vantage as usize] += direction.bytes;
            }
        }
        self.capture_points = self.capture_points.max(point.count);
        self.merged += u64::from(point.count > 1 && point.number == 0);
        self.apart.merge(&point.apart.map(|apart| (apart, apart)));
        let [there, back] = &connection.directions;
        let one_way = (there.absent && back.bytes > 0) || (back.absent && there.bytes > 0);
        self.one_way += u64::from(one_way);
        self.foreign += there.foreign + back.foreign;
        self.too_costly += u64::from(there.too_costly) + u64::from(back.too_costly);
        let any = |is: fn(&Direction) -> bool| u64::from(connection.directions.iter().any(is));
        self.reneging += any(|direction| direction.reneged > 0);
        self.unusable_sack += any(|direction| direction.unusable_sack);
        self.unknown_window_scale += any(|direction| direction.unknown_window_scale && direction.bytes > 0);
        self.evicted += u64::from(connection.closing == Closing::Evicted);
    }

    /// Adds the counts of another thread.
    pub fn merge(&mut self, other: &Self) {
        self.capture_points = self.capture_points.max(other.capture_points);
        merge_fields!(self, other: directions, bytes, one_way, foreign, revised, too_costly, evicted, merged, apart);
        merge_fields!(self, other: reneging, unusable_sack, unknown_window_scale);
    }
}

merge_fields!(LossTimes: detection, recovery);

impl Findings for Summary {
    fn connection(&mut self, connection: Connection, retransmissions: &[Retransmission]) {
        self.vantages.add(&connection);
        let mut held = take(&mut self.held);
        held.add(connection, retransmissions, |connection, rows| {
            self.add_nearest(connection, rows);
        });
        self.held = held;
    }

    fn revision(&mut self, revision: &Revision) {
        self.vantages.revised += u64::from(self.held.revise(revision));
    }
}

/// Leaves out what was captured at another point nearer to its sender, so that totals count nothing
/// twice.
pub(crate) fn nearest_to_senders(
    mut connection: Connection,
    retransmissions: &[Retransmission],
) -> (Connection, Cow<'_, [Retransmission]>) {
    if connection.capture_point.count < 2 {
        return (connection, retransmissions.into());
    }
    let nearest = [0, 1].map(|i| connection.capture_point.is_nearest_to_sender(i));
    let sent_by_src = |r: &Retransmission| r.endpoints == connection.endpoints;
    let own = retransmissions.iter().filter(|r| nearest[usize::from(!sent_by_src(r))]).copied().collect();
    for (direction, nearest) in connection.directions.iter_mut().zip(nearest) {
        if !nearest {
            // Its packets are in the file, but counted elsewhere.
            let absent = direction.absent;
            *direction = Direction { absent, ..Direction::default() };
        }
    }
    (connection, own)
}

impl Summary {
    /// Adds what a connection whose verdicts are final shows at the points nearest to the senders.
    fn add_nearest(&mut self, connection: Connection, retransmissions: &[Retransmission]) {
        let (connection, own) = nearest_to_senders(connection, retransmissions);
        self.add(&connection, &own);
    }

    fn add(&mut self, connection: &Connection, retransmissions: &[Retransmission]) {
        self.span.merge(&Some((connection.begun, connection.ended)));
        connection.directions.iter().for_each(|d| self.direction(d));
        retransmissions.iter().for_each(|r| self.retransmission(r));
        if connection.capture_point.number == 0 {
            self.connections += 1;
            self.openings[usize::from(connection.opening == Opening::MidConnection)] += 1;
            self.closings[connection.closing as usize] += 1;
            if let Some(rtt) = connection.handshake_rtt {
                self.handshake_rtt.add(rtt);
            }
            self.duration += connection.duration();
        }
        self.study.add(connection, retransmissions);
        let lost = connection.lost().total();
        if !lost.is_zero() {
            self.lost += lost;
            self.connections_that_lost_time += 1;
            self.slowest.push(SlowConnection::new(connection, lost));
            self.keep_slowest();
        }
    }

    /// Gives all connections and frames other numbers.
    pub(super) fn renumber(&mut self, by: Renumbering) {
        for slow in &mut self.slowest {
            slow.connection = slow.connection.saturating_add(by.connections);
        }
        self.held.renumber(by);
    }

    fn direction(&mut self, direction: &Direction) {
        self.segments += direction.segments;
        self.bytes += direction.bytes;
        self.duplicates += direction.duplicates;
        self.probes += direction.probes;
        self.missing += direction.missing;
        if let Some(rtt) = direction.rtt
            && direction.vantage != Vantage::Receiver
        {
            self.rtt.add(rtt.p50);
        }
    }

    fn retransmission(&mut self, r: &Retransmission) {
        let tally = match (r.syn, r.len) {
            (true, _) => &mut self.syn,
            (false, 0) => &mut self.fin,
            (false, _) => &mut self.data,
        };
        tally.add(r.triggers, r.verdict);
        self.evidence[r.evidence as usize][r.verdict as usize] += 1;
        let times = &mut self.loss_times[trigger_row(r.triggers.first())];
        if let Some(detection) = r.detection {
            times.detection.add(detection);
        }
        if let Some(recovery) = r.recovery {
            times.recovery.add(recovery);
        }
    }

    fn keep_slowest(&mut self) {
        let order = |slow: &SlowConnection| (std::cmp::Reverse(slow.lost), slow.connection);
        self.slowest.sort_unstable_by_key(order);
        self.slowest.truncate(SLOWEST);
    }
}

impl NumbersConnections for Summary {
    fn number_connections(&mut self, number: &dyn Fn(u64) -> u64) {
        for slow in &mut self.slowest {
            slow.connection = number(slow.connection);
        }
        self.held.number_connections(number);
    }
}

impl Collector for Summary {
    fn merge(&mut self, other: Self) {
        merge_fields!(self, other: connections, openings, closings, span, segments, bytes, duplicates, probes);
        merge_fields!(self, other: missing, vantages, data, syn, fin, evidence, loss_times, handshake_rtt, rtt);
        merge_fields!(self, other: duration, lost, connections_that_lost_time, study);
        self.slowest.extend(other.slowest);
        self.keep_slowest();
        self.held.merge(other.held);
    }

    fn order(&mut self) {
        let held = take(&mut self.held);
        held.release_all(|connection, rows| self.add_nearest(connection, rows));
    }
}

view!(Summary: connections, vantages);

impl SlowConnection {
    fn new(connection: &Connection, lost: Duration) -> Self {
        let [there, back] = &connection.directions;
        let mut all = there.retransmissions;
        all.merge(&back.retransmissions);
        Self {
            connection: connection.id,
            endpoints: connection.endpoints,
            tunnel: connection.tunnel(),
            duration: connection.duration(),
            lost,
            retransmissions: all.total(),
            spurious: all.of_verdict(Verdict::Spurious),
        }
    }
}
