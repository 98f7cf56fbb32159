//! What is said of connections while they are open.

use recoup_captures::analysis::{connections, retransmissions};
use recoup_kernel::{KernelRetransmission, Reason};
use recoup_table::{Columns, Schema};
use recoup_trace::finding::{Cause, Connection, EpisodeCost, Evidence, Retransmission, Triggers, Vantage, Verdict};
use recoup_units::Instant;
use serde::Serialize;
use std::collections::BTreeMap;
use std::time::Duration;

/// The schema of the JSON lines.
pub const SCHEMA: Schema = Schema { name: "recoup.watch", version: 1 };

/// What is said. `decided`: the ACKs so far, or the connection's end, say as much of the verdict as they will.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// A retransmission that was not known before.
    Retransmission { row: Retransmission, decided: bool },
    /// A retransmission's trigger, verdict or evidence is decided, or changes.
    Verdict { row: Retransmission, decided: bool, was: Judgement },
    /// A packet turns out to be no retransmission.
    Withdrawn { was: Box<Retransmission>, judged: Judgement },
    /// An episode of recovery is over, or what is known of its cost changes. `row`: its first retransmission.
    Episode { row: Retransmission, cost: EpisodeCost, was: Option<EpisodeCost> },
    /// Why the kernel sent a retransmission, or whether its reason agrees with the trigger that was said last.
    KernelReason { row: Retransmission, reason: Reason, agrees: bool },
    /// The kernel retransmitted in this connection, and no finding is about it.
    KernelOnly { connection: u64, vantage: Vantage, report: KernelRetransmission },
    /// A connection has ended, or is followed no longer.
    Ended { connection: Box<Connection> },
    /// Something happened to the source.
    Note { text: String },
}

/// What was said of a retransmission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Judgement {
    pub triggers: Triggers,
    pub verdict: Verdict,
    pub evidence: Evidence,
    pub decided: bool,
}

impl Judgement {
    pub fn of(row: &Retransmission, decided: bool) -> Self {
        Self { triggers: row.triggers, verdict: row.verdict, evidence: row.evidence, decided }
    }
}

/// Tells a retransmission from all others of a run: connection, frame and sequence number.
pub fn id(row: &Retransmission) -> String {
    match row.capture_point {
        0 => format!("{}-{}-{}", row.connection, row.frame, row.seq.0),
        point => format!("{}-{}-{}-{point}", row.connection, row.frame, row.seq.0),
    }
}

/// Writes events as JSON lines.
pub struct JsonLines {
    retransmissions: Columns<Retransmission>,
    connections: Columns<Connection>,
}

#[derive(Serialize)]
struct Line<B: Serialize> {
    schema: &'static str,
    version: u32,
    event: &'static str,
    /// When it was said: seconds since 1970.
    said: f64,
    #[serde(flatten)]
    body: B,
}

#[derive(Serialize)]
struct Finding<R: Serialize> {
    id: String,
    decided: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    was: Option<Was>,
    #[serde(flatten)]
    row: R,
}

/// What was said before.
#[derive(Serialize)]
struct Was {
    trigger: String,
    verdict: &'static str,
    evidence: &'static str,
    decided: bool,
}

impl From<Judgement> for Was {
    fn from(judgement: Judgement) -> Self {
        Self {
            trigger: judgement.triggers.to_string(),
            verdict: judgement.verdict.name(),
            evidence: judgement.evidence.name(),
            decided: judgement.decided,
        }
    }
}

#[derive(Serialize)]
struct Episode {
    id: String,
    connection: u64,
    src: String,
    dst: String,
    #[serde(flatten)]
    cost: Cost,
    #[serde(skip_serializing_if = "Option::is_none")]
    was: Option<Cost>,
}

#[derive(Serialize)]
struct Cost {
    cause: &'static str,
    lost_ms: f64,
    recovering_ms: f64,
    retransmissions: u32,
}

impl From<EpisodeCost> for Cost {
    fn from(cost: EpisodeCost) -> Self {
        Self {
            cause: cost.cause.name(),
            lost_ms: ms(cost.lost),
            recovering_ms: ms(cost.recovering),
            retransmissions: cost.segments,
        }
    }
}

#[derive(Serialize)]
struct KernelReason {
    id: String,
    connection: u64,
    src: String,
    dst: String,
    seq: u32,
    trigger: String,
    kernel: &'static str,
    agrees: bool,
}

#[derive(Serialize)]
struct KernelOnly {
    connection: u64,
    src: String,
    dst: String,
    time: f64,
    seq: u32,
    end: u32,
    vantage: &'static str,
    kernel: &'static str,
}

#[derive(Serialize)]
struct Ended<C: Serialize> {
    lost_by_cause_ms: BTreeMap<&'static str, f64>,
    #[serde(flatten)]
    connection: C,
}

#[derive(Serialize)]
struct Note<'a> {
    note: &'a str,
}

impl JsonLines {
    pub fn new() -> Self {
        Self { retransmissions: retransmissions(), connections: connections() }
    }

    /// Appends an event, said `at` this time, as a line.
    ///
    /// # Errors
    /// None but a defect: a value is no JSON.
    pub fn append(&self, event: &Event, at: Instant, to: &mut Vec<u8>) -> serde_json::Result<()> {
        match event {
            Event::Retransmission { row, decided } => line("retransmission", at, self.finding(row, *decided, None), to),
            Event::Verdict { row, decided, was } => line("verdict", at, self.finding(row, *decided, Some(*was)), to),
            Event::Withdrawn { was, judged } => {
                line("withdrawn", at, self.finding(was, judged.decided, Some(*judged)), to)
            }
            Event::Episode { row, cost, was } => {
                let ends = row.endpoints;
                let body = Episode {
                    id: id(row),
                    connection: row.connection,
                    src: ends.src.to_string(),
                    dst: ends.dst.to_string(),
                    cost: Cost::from(*cost),
                    was: was.map(Cost::from),
                };
                line("episode", at, body, to)
            }
            Event::KernelReason { row, reason, agrees } => {
                let body = KernelReason {
                    id: id(row),
                    connection: row.connection,
                    src: row.endpoints.src.to_string(),
                    dst: row.endpoints.dst.to_string(),
                    seq: row.seq.0,
                    trigger: row.triggers.to_string(),
                    kernel: reason.name(),
                    agrees: *agrees,
                };
                line("kernel_reason", at, body, to)
            }
            Event::KernelOnly { connection, vantage, report } => {
                let body = KernelOnly {
                    connection: *connection,
                    src: report.endpoints.src.to_string(),
                    dst: report.endpoints.dst.to_string(),
                    time: report.at.as_nanos() as f64 / 1e9,
                    seq: report.seq.0,
                    end: report.end.0,
                    vantage: vantage.name(),
                    kernel: report.reason.name(),
                };
                line("kernel_only", at, body, to)
            }
            Event::Ended { connection } => {
                let lost = connection.lost();
                let by_cause = Cause::ALL.into_iter().map(|cause| (cause.name(), ms(lost.of(cause))));
                let body = Ended {
                    lost_by_cause_ms: by_cause.filter(|(_, lost)| *lost > 0.0).collect(),
                    connection: self.connections.row_to_json(connection),
                };
                line("connection", at, body, to)
            }
            Event::Note { text } => line("note", at, Note { note: text }, to),
        }
    }

    fn finding<'a>(&'a self, row: &'a Retransmission, decided: bool, was: Option<Judgement>) -> impl Serialize + 'a {
        Finding { id: id(row), decided, was: was.map(Was::from), row: self.retransmissions.row_to_json(row) }
    }
}

fn line(event: &'static str, at: Instant, body: impl Serialize, to: &mut Vec<u8>) -> serde_json::Result<()> {
    let said = at.as_nanos() as f64 / 1e9;
    serde_json::to_writer(&mut *to, &Line { schema: SCHEMA.name, version: SCHEMA.version, event, said, body })?;
    to.push(b'\n');
    Ok(())
}

/// A time in milliseconds, to the microsecond.
fn ms(time: Duration) -> f64 {
    (time.as_secs_f64() * 1e6).round() / 1e3
}
