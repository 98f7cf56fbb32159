//! All views of a capture, from one reading of it.

use super::columns::ms;
use super::findings::{AllRetransmissions, Analyzed, Collector, Overview, View};
use super::packed::PackedConnections;
use super::summary::{Summary, Vantages};
use recoup_table::Columns;
use recoup_trace::analyze::Findings;
use recoup_trace::finding::{Connection, Retransmission, Revision};
use recoup_trace::timeline::Timeline;
use recoup_units::Instant;
use std::mem::take;
use std::time::Duration;

/// Collects connections, retransmissions and totals, and the traffic over time if it is asked for.
#[derive(Debug, Default)]
pub struct Everything {
    /// The connections.
    pub connections: PackedConnections,
    /// The retransmissions.
    pub retransmissions: AllRetransmissions,
    /// The totals.
    pub summary: Summary,
    /// The traffic over time; `None` if it was not asked for.
    pub intervals: Option<AllIntervals>,
}

/// Collects the traffic of a capture's connections over time. It needs
/// [`Settings::timeline`](recoup_trace::analyze::Settings).
#[derive(Debug, Default)]
pub struct AllIntervals {
    timeline: Timeline,
    overview: Overview,
}

/// Traffic of a capture's connections in an interval of time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// When it begins.
    pub begun: Instant,
    /// How long it is.
    pub width: Duration,
    /// Segments with payload, SYN or FIN, retransmissions included.
    pub segments: u64,
    /// Retransmissions.
    pub retransmissions: u64,
    /// Bytes acknowledged for the first time.
    pub acknowledged: u64,
    /// The mean round-trip time; `None` without samples.
    pub rtt: Option<Duration>,
}

impl AllIntervals {
    /// The intervals of the capture, in order, without gaps. They are equally long, and at most 2,048.
    pub fn intervals(&self) -> Vec<Interval> {
        let width = self.timeline.width();
        let intervals = self.timeline.bins().map(|(begun, bin)| Interval {
            begun,
            width,
            segments: bin.segments,
            retransmissions: bin.retransmissions,
            acknowledged: bin.acknowledged,
            rtt: bin.mean_rtt(),
        });
        intervals.collect()
    }
}

impl Everything {
    /// Collects the traffic over time, too.
    pub fn with_intervals() -> Self {
        Self { intervals: Some(AllIntervals::default()), ..Self::default() }
    }
}

/// The columns of intervals.
pub fn intervals() -> Columns<Interval> {
    let second = |interval: &Interval| interval.width.as_secs_f64();
    Columns::<Interval>::new()
        .column("time", "s", "when the interval begins: seconds since 1970", |i| i.begun)
        .column("width_ms", "ms", "how long the interval is", |i| ms(i.width))
        .column("segments", "segments", "segments with payload, SYN or FIN, retransmissions included", |i| i.segments)
        .column("retransmissions", "segments", "retransmitted segments", |i| i.retransmissions)
        .column("acknowledged_bytes", "bytes", "bytes acknowledged for the first time", |i| i.acknowledged)
        .column("goodput_mbps", "Mbit/s", "bytes acknowledged for the first time, per second", move |i| {
            i.acknowledged as f64 * 8e-6 / second(i)
        })
        .column("rtt_mean_ms", "ms", "mean round-trip time; missing without a sample", |i| i.rtt.map(ms))
}

impl Analyzed<Everything> {
    /// The connections and retransmissions, the totals alone, and the intervals if they were collected.
    pub fn divide(mut self) -> (PackedConnections, AllRetransmissions, Analyzed<Summary>, Option<Vec<Interval>>) {
        let intervals = self.findings.intervals.as_ref().map(AllIntervals::intervals);
        let connections = take(&mut self.findings.connections);
        let retransmissions = take(&mut self.findings.retransmissions);
        let summary = self.map(|all| all.summary);
        (connections, retransmissions, summary, intervals)
    }
}

impl Findings for Everything {
    fn connection(&mut self, connection: Connection, retransmissions: &[Retransmission]) {
        if let Some(intervals) = &mut self.intervals {
            intervals.add(&connection, retransmissions);
        }
        self.retransmissions.add(&connection, retransmissions);
        self.connections.push(&connection);
        self.summary.connection(connection, retransmissions);
    }

    fn revision(&mut self, revision: &Revision) {
        self.retransmissions.revision(revision);
        self.summary.revision(revision);
        self.connections.revise(revision);
    }

    fn timeline(&mut self, timeline: Timeline) {
        if let Some(intervals) = &mut self.intervals {
            intervals.timeline(timeline);
        }
    }
}

impl View for Everything {
    fn connections(&self) -> u64 {
        self.summary.connections()
    }

    fn vantages(&self) -> &Vantages {
        self.summary.vantages()
    }
}

impl Collector for Everything {
    fn merge(&mut self, other: Self) {
        self.connections.merge(other.connections);
        self.retransmissions.merge(other.retransmissions);
        self.summary.merge(other.summary);
        if let (Some(mine), Some(theirs)) = (&mut self.intervals, other.intervals) {
            mine.merge(theirs);
        }
    }

    fn order(&mut self) {
        self.connections.order();
        self.retransmissions.order();
        self.summary.order();
    }
}

impl AllIntervals {
    fn add(&mut self, connection: &Connection, retransmissions: &[Retransmission]) {
        self.overview.add(connection);
        retransmissions.iter().for_each(|row| self.timeline.on_retransmission(row.at));
    }
}

impl Findings for AllIntervals {
    fn connection(&mut self, connection: Connection, retransmissions: &[Retransmission]) {
        self.add(&connection, retransmissions);
    }

    fn revision(&mut self, _: &Revision) {}

    fn timeline(&mut self, timeline: Timeline) {
        self.timeline.merge(timeline);
    }
}

view!(AllIntervals: overview.connections, overview.vantages);

impl Collector for AllIntervals {
    fn merge(&mut self, other: Self) {
        self.overview.merge(&other.overview);
        self.timeline.merge(other.timeline);
    }
}
