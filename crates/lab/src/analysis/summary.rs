//! What a capture held, in all, in memory that does not grow with it.

use super::findings::View;
use super::rows::trigger_row;
use crate::stats::Durations;
use recoup_recovery::Trigger;
use recoup_trace::analyze::Findings;
use recoup_trace::finding::{
    Closing, Connection, Direction, Evidence, Opening, Retransmission, Tally, Vantage, Verdict,
};
use recoup_trace::study::Study;
use recoup_units::Instant;
use recoup_wire::Endpoints;
use std::time::Duration;

/// The connections named for having been longest in recovery.
const SLOWEST: usize = 5;

/// A capture's connections, in all.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    /// How many there are.
    pub connections: u64,
    /// By their beginnings: with a handshake, later.
    pub openings: [u64; 2],
    /// By their ends, by [`Closing`].
    pub closings: [u64; Closing::ALL.len()],
    /// The first packet of any, and the last.
    pub span: Option<(Instant, Instant)>,
    /// Packets with payload, SYN or FIN.
    pub segments: u64,
    /// Payload bytes, retransmissions included.
    pub bytes: u64,
    /// Packets the network or the capture doubled.
    pub doubled: u64,
    /// Keep-alive and zero window probes.
    pub probes: u64,
    /// Bytes that were sent and never captured.
    pub missing: u64,
    /// Where what was sent was captured.
    pub vantages: Vantages,
    /// Retransmissions with payload.
    pub data: Tally,
    /// Retransmissions that carry the SYN.
    pub syn: Tally,
    /// Retransmissions of a FIN alone.
    pub fin: Tally,
    /// What verdicts rest on, by verdict.
    pub evidence: [[u64; Verdict::ALL.len()]; Evidence::ALL.len()],
    /// How long losses took, real or not, by trigger; last of unknown triggers.
    pub waits: [Waits; Trigger::ALL.len() + 1],
    /// Round-trip times of handshakes.
    pub handshake_rtt: Durations,
    /// The median round-trip time of each direction that has one and was not captured at its
    /// receiver, where there is no trip to see.
    pub rtt: Durations,
    /// First packets to last, of all connections together.
    pub duration: Duration,
    /// The part of it in which losses, real or not, were detected or recovered from: of each
    /// connection in the direction that was longer.
    pub recovering: Duration,
    /// Connections with such time.
    pub recovering_connections: u64,
    /// Those with most of it, the worst first.
    pub slowest: Vec<Slow>,
    /// Senders that sent something again, and the tables and figures of the 2007 study.
    pub study: Study,
}

/// Where data was captured, by [`Vantage`], and what is not in the capture or not of its connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Vantages {
    /// Directions that carry data.
    pub directions: [u64; Vantage::ALL.len()],
    /// Their payload bytes.
    pub bytes: [u64; Vantage::ALL.len()],
    /// Connections with data one way of which the other is not in the capture.
    pub one_way: u64,
    /// Packets that cannot be of the connections between their ends.
    pub foreign: u64,
}

/// How long the losses of a trigger took.
#[derive(Clone, Debug, Default)]
pub struct Waits {
    /// From the first transmission to the retransmission.
    pub detection: Durations,
    /// From there to the ACK of all that was sent before.
    pub recovery: Durations,
}

/// A connection and its time in recovery.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slow {
    /// Its number.
    pub connection: u64,
    /// Its ends.
    pub endpoints: Endpoints,
    /// First packet to last.
    pub duration: Duration,
    /// In recovery, in the direction that was longer: both may be at once.
    pub recovering: Duration,
    /// Retransmissions, both directions together.
    pub retransmissions: u64,
    /// Those that were spurious.
    pub spurious: u64,
}

impl Vantages {
    /// Takes in a connection.
    pub fn add(&mut self, connection: &Connection) {
        for direction in connection.directions.iter().filter(|d| d.bytes > 0) {
            self.directions[direction.vantage as usize] += 1;
            self.bytes[direction.vantage as usize] += direction.bytes;
        }
        let [there, back] = &connection.directions;
        let one_way = (there.absent && back.bytes > 0) || (back.absent && there.bytes > 0);
        self.one_way += u64::from(one_way);
        self.foreign += there.foreign + back.foreign;
    }

    /// Takes in others.
    pub fn merge(&mut self, other: &Self) {
        add_all(&mut self.directions, &other.directions);
        add_all(&mut self.bytes, &other.bytes);
        self.one_way += other.one_way;
        self.foreign += other.foreign;
    }
}

impl Findings for Summary {
    fn connection(&mut self, connection: Connection, retransmissions: &[Retransmission]) {
        self.connections += 1;
        self.openings[usize::from(connection.opening == Opening::MidConnection)] += 1;
        self.closings[connection.closing as usize] += 1;
        self.widen((connection.begun, connection.ended));
        self.vantages.add(&connection);
        connection.directions.iter().for_each(|d| self.direction(d));
        retransmissions.iter().for_each(|r| self.retransmission(r));
        if let Some(rtt) = connection.handshake_rtt {
            self.handshake_rtt.add(rtt);
        }
        self.duration += connection.duration();
        self.study.add(&connection, retransmissions);
        let slow = Slow::new(&connection);
        if !slow.recovering.is_zero() {
            self.recovering += slow.recovering;
            self.recovering_connections += 1;
            self.slowest.push(slow);
            self.keep_slowest();
        }
    }
}

impl Summary {
    fn widen(&mut self, (begun, ended): (Instant, Instant)) {
        let span = self.span.get_or_insert((begun, ended));
        *span = (span.0.min(begun), span.1.max(ended));
    }

    fn direction(&mut self, direction: &Direction) {
        self.segments += direction.segments;
        self.bytes += direction.bytes;
        self.doubled += direction.duplicates;
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
        let waits = &mut self.waits[trigger_row(r.triggers.first())];
        if let Some(detection) = r.detection {
            waits.detection.add(detection);
        }
        if let Some(recovery) = r.recovery {
            waits.recovery.add(recovery);
        }
    }

    fn keep_slowest(&mut self) {
        let order = |slow: &Slow| (std::cmp::Reverse(slow.recovering), slow.connection);
        self.slowest.sort_unstable_by_key(order);
        self.slowest.truncate(SLOWEST);
    }
}

impl View for Summary {
    fn merge(&mut self, other: Self) {
        self.connections += other.connections;
        add_all(&mut self.openings, &other.openings);
        add_all(&mut self.closings, &other.closings);
        if let Some(span) = other.span {
            self.widen(span);
        }
        self.segments += other.segments;
        self.bytes += other.bytes;
        self.doubled += other.doubled;
        self.probes += other.probes;
        self.missing += other.missing;
        self.vantages.merge(&other.vantages);
        self.data.merge(&other.data);
        self.syn.merge(&other.syn);
        self.fin.merge(&other.fin);
        for (mine, theirs) in self.evidence.iter_mut().zip(&other.evidence) {
            add_all(mine, theirs);
        }
        for (mine, theirs) in self.waits.iter_mut().zip(&other.waits) {
            mine.detection.merge(&theirs.detection);
            mine.recovery.merge(&theirs.recovery);
        }
        self.handshake_rtt.merge(&other.handshake_rtt);
        self.rtt.merge(&other.rtt);
        self.duration += other.duration;
        self.recovering += other.recovering;
        self.recovering_connections += other.recovering_connections;
        self.study.merge(&other.study);
        self.slowest.extend(other.slowest);
        self.keep_slowest();
    }

    fn connections(&self) -> u64 {
        self.connections
    }

    fn vantages(&self) -> &Vantages {
        &self.vantages
    }
}

impl Slow {
    fn new(connection: &Connection) -> Self {
        let [there, back] = &connection.directions;
        let mut all = there.retransmissions;
        all.merge(&back.retransmissions);
        Self {
            connection: connection.id,
            endpoints: connection.endpoints,
            duration: connection.duration(),
            recovering: there.recovering.max(back.recovering),
            retransmissions: all.total(),
            spurious: all.of_verdict(Verdict::Spurious),
        }
    }
}

fn add_all<const N: usize>(mine: &mut [u64; N], theirs: &[u64; N]) {
    for (mine, theirs) in mine.iter_mut().zip(theirs) {
        *mine += theirs;
    }
}
