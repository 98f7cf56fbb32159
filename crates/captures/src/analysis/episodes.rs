//! Lost time as rows: one for each episode of recovery, and for what was lost without a retransmission.
//!
//! The rows of a direction add up to its [`LostTime`](recoup_trace::finding::LostTime), cause by cause. Retransmissions
//! carry the cost of their episodes, and the late ACKs that lost most are kept one by one. What neither of them accounts for
//! is one row for each cause: the capture does not hold, or the analysis did not keep, when each occurrence was.

use super::columns::ms;
use super::packed::PackedConnections;
use super::summary::nearest_to_senders;
use recoup_table::Columns;
use recoup_trace::finding::{Cause, Connection, LateAckFound, Retransmission, Triggers, Verdict};
use recoup_units::Instant;
use recoup_wire::Endpoints;
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;
use std::ops::RangeInclusive;
use std::time::Duration;

/// Time that one end of a connection lost to one cause.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Episode {
    /// The number of the connection.
    pub connection: u64,
    /// The capture point: of several, the one nearest to the sender.
    pub capture_point: u32,
    /// The end that lost the time: 0 for the connection's `src`, 1 for its `dst`.
    pub side: usize,
    /// That end, and its peer.
    pub endpoints: Endpoints,
    /// The cause.
    pub cause: Cause,
    /// How often time was lost: 1 for an episode, 0 if it lost nothing.
    pub times: u32,
    /// The time lost.
    pub lost: Duration,
    /// The first and the last frame: of the episode's retransmissions, of the late ACK, or of the connection.
    pub frames: RangeInclusive<u64>,
    /// What lost it.
    pub occurrence: Occurrence,
}

/// What lost the time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Occurrence {
    /// An episode of recovery, or a handshake whose SYN or SYN-ACK was retransmitted.
    Recovery(Recovery),
    /// An ACK that came late without a retransmission, and was due at this time.
    LateAck(Instant),
    /// Several without a retransmission, which were not kept one by one.
    Several,
}

/// An episode of recovery.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Recovery {
    /// When its first retransmission was captured.
    pub at: Instant,
    /// The trigger of the first retransmission.
    pub triggers: Triggers,
    /// The verdict on the first retransmission.
    pub verdict: Verdict,
    /// Time spent recovering; 0 for a handshake.
    pub recovering: Duration,
    /// From the first transmission of the segment that names the cause to its retransmission.
    pub detection: Option<Duration>,
    /// Segments retransmitted.
    pub retransmissions: u32,
}

/// Distinguishes a row from all others. Keys are ordered by connection, then by frame, and at last as text, which whoever
/// puts tables together can do as well. Rows of several occurrences come last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EpisodeKey {
    /// The connection.
    pub connection: u64,
    /// The capture point.
    pub capture_point: u32,
    /// The frame, or more than any frame.
    place: u64,
    side: usize,
    /// The cause.
    pub cause: Cause,
}

impl Ord for EpisodeKey {
    fn cmp(&self, other: &Self) -> Ordering {
        let order = |key: &Self| (key.connection, key.capture_point, key.place, key.side(), key.cause.name());
        order(self).cmp(&order(other))
    }
}

impl PartialOrd for EpisodeKey {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl EpisodeKey {
    /// `src` or `dst`.
    pub fn side(&self) -> &'static str {
        side_name(self.side)
    }

    /// The frame of the first retransmission, or of the late ACK.
    pub fn frame(&self) -> Option<u64> {
        Some(self.place).filter(|place| *place != u64::MAX)
    }
}

fn side_name(side: usize) -> &'static str {
    ["src", "dst"][usize::from(side > 0)]
}

impl Episode {
    /// What both directions of a connection lost at the capture points nearest to their senders. `retransmissions`: those
    /// of the connection, ordered by frame.
    pub fn of(connection: Connection, retransmissions: &[Retransmission]) -> Vec<Self> {
        let (connection, own) = nearest_to_senders(connection, retransmissions);
        let is_src = |row: &&Retransmission| row.endpoints.src == connection.endpoints.src;
        let (there, back): (Vec<_>, Vec<_>) = own.iter().partition(is_src);
        let mut rows: Vec<Self> = Vec::new();
        for (side, sent) in [there, back].iter().enumerate() {
            let begun = rows.len();
            Recovery::of(sent).for_each(|found| rows.push(Self::new(&connection, side, found)));
            let late = late_acks(&connection, side, &rows[begun..]);
            rows.extend(late);
            let rest = rest(&connection, side, &rows[begun..]);
            rows.extend(rest);
        }
        rows.sort_by_key(Self::key);
        rows
    }

    fn new(connection: &Connection, side: usize, found: Found) -> Self {
        let Found { cause, times, lost, frames, occurrence } = found;
        Self {
            connection: connection.id,
            capture_point: connection.capture_point.number,
            side,
            endpoints: if side == 0 { connection.endpoints } else { connection.endpoints.reverse() },
            cause,
            times,
            lost,
            frames,
            occurrence,
        }
    }

    /// Its key.
    pub fn key(&self) -> EpisodeKey {
        EpisodeKey {
            connection: self.connection,
            capture_point: self.capture_point,
            place: self.frame().unwrap_or(u64::MAX),
            side: self.side,
            cause: self.cause,
        }
    }

    /// The frame of the first retransmission, or of the late ACK; `None` for several occurrences.
    pub fn frame(&self) -> Option<u64> {
        match self.occurrence {
            Occurrence::Several => None,
            _ => Some(*self.frames.start()),
        }
    }

    /// When its first retransmission was captured, or when the late ACK was due.
    pub fn begun(&self) -> Option<Instant> {
        match self.occurrence {
            Occurrence::Recovery(recovery) => Some(recovery.at),
            Occurrence::LateAck(due) => Some(due),
            Occurrence::Several => None,
        }
    }

    /// The episode, if something was retransmitted.
    pub fn recovery(&self) -> Option<&Recovery> {
        match &self.occurrence {
            Occurrence::Recovery(recovery) => Some(recovery),
            _ => None,
        }
    }
}

/// Lost time of a direction.
struct Found {
    cause: Cause,
    times: u32,
    lost: Duration,
    frames: RangeInclusive<u64>,
    occurrence: Occurrence,
}

impl Recovery {
    /// The episodes of one direction's retransmissions.
    fn of<'a>(sent: &'a [&'a Retransmission]) -> impl Iterator<Item = Found> + 'a {
        sent.iter().enumerate().filter_map(|(place, first)| {
            let cost = first.cost?;
            let later = sent[place + 1..].iter().take_while(|row| row.cost.is_none());
            let last = later.take(cost.segments.saturating_sub(1) as usize).last().unwrap_or(first);
            Some(Found {
                cause: cost.cause,
                times: (!cost.lost.is_zero()).into(),
                lost: cost.lost,
                frames: first.frame..=last.frame,
                occurrence: Occurrence::Recovery(Self {
                    at: first.at,
                    triggers: first.triggers,
                    verdict: first.verdict,
                    recovering: cost.recovering,
                    detection: cost.detection,
                    retransmissions: cost.segments,
                }),
            })
        })
    }
}

/// What a direction lost to a cause beyond these rows of it: how often, and how much.
fn beyond(connection: &Connection, side: usize, cause: Cause, rows: &[Episode]) -> (u32, Duration) {
    let lost = &connection.directions[side].lost;
    let listed = rows.iter().filter(|row| row.cause == cause);
    listed.fold((lost.times(cause), lost.of(cause)), |(times, left), row| {
        (times.saturating_sub(row.times), left.saturating_sub(row.lost))
    })
}

/// The late ACKs of a direction that were kept. Where the other direction lost the same time, they lost less than each of
/// them says, and then they are not listed one by one.
fn late_acks(connection: &Connection, side: usize, rows: &[Episode]) -> Vec<Episode> {
    let kept = &connection.directions[side].late_acks;
    let mut listed = Vec::new();
    for cause in [Cause::DelaySpike, Cause::LostAcks] {
        let own: Vec<&LateAckFound> = kept.iter().filter(|late| late.cause == cause).collect();
        let (times, lost) = beyond(connection, side, cause, rows);
        if own.len() as u64 > u64::from(times) || own.iter().map(|late| late.lost).sum::<Duration>() > lost {
            continue;
        }
        listed.extend(own.into_iter().map(|late| {
            let occurrence = Occurrence::LateAck(late.at - late.lost);
            let frames = late.frame..=late.frame;
            Episode::new(connection, side, Found { cause, times: 1, lost: late.lost, frames, occurrence })
        }));
    }
    listed
}

/// What a direction lost beyond the rows that are listed: a row for each cause.
fn rest(connection: &Connection, side: usize, rows: &[Episode]) -> Vec<Episode> {
    let of_cause = |cause| {
        let (times, lost) = beyond(connection, side, cause, rows);
        let frames = connection.frames.clone();
        let found = Found { cause, times, lost, frames, occurrence: Occurrence::Several };
        (times > 0 || !lost.is_zero()).then(|| Episode::new(connection, side, found))
    };
    Cause::ALL.into_iter().filter_map(of_cause).collect()
}

/// The time that packed connections lost, so many connections at a time. `retransmissions`: those of all of them.
///
/// Each item is an error only by a defect: see [`PackedConnections::rows`].
pub fn packed_episodes<'a>(
    connections: &'a PackedConnections,
    retransmissions: &'a [Retransmission],
    batch: usize,
) -> impl Iterator<Item = Result<Vec<Episode>, postcard::Error>> + 'a {
    let mut order: Vec<usize> = (0..retransmissions.len()).collect();
    // They are ordered by frame, and stay so within a connection.
    order.sort_by_key(|row| retransmissions[*row].connection_key());
    let of = move |connection: Connection| {
        let key = connection.key();
        let first = order.partition_point(|row| retransmissions[*row].connection_key() < key);
        let own = order[first..].iter().map(|row| retransmissions[*row]);
        let own: Vec<Retransmission> = own.take_while(|row| row.connection_key() == key).collect();
        Episode::of(connection, &own)
    };
    (0..connections.len()).step_by(batch.max(1)).map(move |begin| {
        let end = connections.len().min(begin + batch.max(1));
        let rows = connections.rows(begin..end)?;
        Ok(rows.into_iter().flat_map(&of).collect())
    })
}

/// The columns of lost time.
pub fn episodes() -> Columns<Episode> {
    let columns = Columns::<Episode>::new()
        .column("connection", "", "number of the connection, from 0, in the order of first packets", |e| e.connection)
        .column("capture_point", "", "capture point, from 0; of a merged file the one nearest to the sender", |e| {
            e.capture_point
        })
        .column("side", "", "src or dst: which end of the connection lost the time", |e| side_name(e.side))
        .column("host", "", "address of that end, which sent the data or the SYN", |e| e.endpoints.src.ip().to_string())
        .column("port", "", "its port", |e| e.endpoints.src.port())
        .column("peer_host", "", "address of the other end", |e| e.endpoints.dst.ip().to_string())
        .column("peer_port", "", "port of the other end", |e| e.endpoints.dst.port())
        .column("cause", "", "cause of the lost time, such as lost_segment (docs/explain.md)", |e| e.cause.name());
    recovery(columns)
}

fn recovery(columns: Columns<Episode>) -> Columns<Episode> {
    columns
        .column("trigger", "", "trigger of the first retransmission; empty without a retransmission", |e| {
            e.recovery().map(|of| of.triggers.to_string())
        })
        .column("verdict", "", "verdict on the first retransmission: needed, spurious or unknowable", |e| {
            e.recovery().map(|of| of.verdict.name())
        })
        .column("times", "", "how often time was lost: 1 for an episode, 0 if it lost nothing", |e| e.times)
        .column(
            "begun",
            "s",
            "when the first retransmission was captured, or when the late ACK was due: seconds since 1970",
            Episode::begun,
        )
        .column(
            "lost_ms",
            "ms",
            "how much later data was acknowledged, or a handshake complete, than without the cause",
            |e| ms(e.lost),
        )
        .column("recovering_ms", "ms", "time in which the sender was recovering", |e| {
            e.recovery().map(|of| ms(of.recovering))
        })
        .column("detection_ms", "ms", "from the first transmission of the lost segment to its retransmission", |e| {
            e.recovery().and_then(|of| of.detection).map(ms)
        })
        .column("retransmissions", "segments", "retransmissions of the episode", |e| {
            e.recovery().map_or(0, |of| of.retransmissions)
        })
        .column("frame", "", "frame of the first retransmission, or of the late ACK", Episode::frame)
        .column(
            "first_frame",
            "",
            "first frame: of the retransmissions or the late ACK; of several occurrences that of the connection",
            |e| *e.frames.start(),
        )
        .column("last_frame", "", "last frame of those", |e| *e.frames.end())
}
