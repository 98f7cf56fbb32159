//! Analyzes a capture and collects what one view of it shows.

use super::summary::Vantages;
use recoup_trace::analyze::{Findings, Settings, analyze};
use recoup_trace::finding::{Connection, Retransmission, Revision};
use recoup_trace::read::{Counts, Ending, PacketSource, ReadError, Reason};
use recoup_units::Instant;
use std::mem::take;
use thiserror::Error;

/// Collects the findings of an analysis. Each thread has its own collector.
pub trait Collector: Findings + Sized {
    /// Adds the findings of another thread.
    fn merge(&mut self, other: Self);

    /// Sorts the findings once all are collected.
    fn order(&mut self) {}

    /// The number of connections.
    fn connections(&self) -> u64;

    /// The capture points of the data.
    fn vantages(&self) -> &Vantages;
}

/// The connections of a capture.
#[derive(Debug, Default)]
pub struct AllConnections {
    /// Ordered by number.
    pub rows: Vec<Connection>,
    /// Applied to the rows in [`order`](Collector::order), as in [`AllRetransmissions`].
    revisions: Vec<Revision>,
    vantages: Vantages,
}

/// The retransmissions of a capture.
#[derive(Debug, Default)]
pub struct AllRetransmissions {
    /// Ordered by frame.
    pub rows: Vec<Retransmission>,
    /// The time of the first packet of any connection.
    pub begun: Option<Instant>,
    revisions: Vec<Revision>,
    connections: u64,
    vantages: Vantages,
}

/// One connection of a capture.
#[derive(Debug)]
pub struct OneConnection {
    /// The connection and its retransmissions, ordered by frame. `None` if the capture has no connection
    /// with this number.
    pub row: Option<(Connection, Vec<Retransmission>)>,
    number: u64,
    connections: u64,
    vantages: Vantages,
}

impl OneConnection {
    /// Collects the connection with this number, from 0.
    pub fn of(number: u64) -> Self {
        Self {
            row: None,
            number,
            connections: 0,
            vantages: Vantages::default(),
        }
    }
}

impl Findings for OneConnection {
    fn connection(&mut self, connection: Connection, retransmissions: &[Retransmission]) {
        self.connections += 1;
        self.vantages.add(&connection);
        if connection.id == self.number {
            self.row = Some((connection, retransmissions.to_vec()));
        }
    }

    fn revision(&mut self, revision: &Revision) {
        self.vantages.revised += 1;
        if let Some((connection, rows)) = &mut self.row
            && revision.retransmission.connection_key() == connection.key()
            && revision.apply(rows)
        {
            revision.recount(connection);
        }
    }
}

impl Collector for OneConnection {
    fn merge(&mut self, other: Self) {
        self.connections += other.connections;
        self.vantages.merge(&other.vantages);
        self.row = self.row.take().or(other.row);
    }

    fn connections(&self) -> u64 {
        self.connections
    }

    fn vantages(&self) -> &Vantages {
        &self.vantages
    }
}

impl Findings for AllConnections {
    fn connection(&mut self, connection: Connection, _: &[Retransmission]) {
        self.vantages.add(&connection);
        self.rows.push(connection);
    }

    fn revision(&mut self, revision: &Revision) {
        self.vantages.revised += 1;
        self.revisions.push(*revision);
    }
}

impl Collector for AllConnections {
    fn merge(&mut self, other: Self) {
        self.vantages.merge(&other.vantages);
        self.rows.extend(other.rows);
        self.revisions.extend(other.revisions);
    }

    fn order(&mut self) {
        self.rows.sort_unstable_by_key(Connection::key);
        for revision in take(&mut self.revisions) {
            let key = revision.retransmission.connection_key();
            if let Ok(row) = self.rows.binary_search_by_key(&key, Connection::key) {
                revision.recount(&mut self.rows[row]);
            }
        }
    }

    fn connections(&self) -> u64 {
        self.rows.len() as u64
    }

    fn vantages(&self) -> &Vantages {
        &self.vantages
    }
}

impl AllRetransmissions {
    fn begin(&mut self, at: Instant) {
        self.begun = Some(self.begun.map_or(at, |begun| begun.min(at)));
    }
}

impl Findings for AllRetransmissions {
    fn connection(&mut self, connection: Connection, retransmissions: &[Retransmission]) {
        self.connections += 1;
        self.begin(connection.begun);
        self.vantages.add(&connection);
        self.rows.extend_from_slice(retransmissions);
    }

    fn revision(&mut self, revision: &Revision) {
        self.vantages.revised += 1;
        self.revisions.push(*revision);
    }
}

impl Collector for AllRetransmissions {
    fn merge(&mut self, other: Self) {
        self.connections += other.connections;
        other.begun.into_iter().for_each(|at| self.begin(at));
        self.vantages.merge(&other.vantages);
        self.rows.extend(other.rows);
        self.revisions.extend(other.revisions);
    }

    fn order(&mut self) {
        // A super-segment is one frame and may hold several retransmissions.
        self.rows.sort_by_key(|r| (r.frame, r.seq.0));
        for revision in take(&mut self.revisions) {
            revision.apply(&mut self.rows);
        }
    }

    fn connections(&self) -> u64 {
        self.connections
    }

    fn vantages(&self) -> &Vantages {
        &self.vantages
    }
}

/// A capture and its findings.
#[derive(Debug)]
pub struct Analyzed<V> {
    /// The name the user gave: a path, or `-`.
    pub capture: String,
    /// Frames and packets read, and frames that could not be read.
    pub counts: Counts,
    /// Whether the user interrupted the reading.
    pub interrupted: bool,
    /// The findings.
    pub findings: V,
}

/// Why a capture cannot be analyzed. Each message is one line.
#[derive(Debug, Error)]
pub enum AnalysisError {
    /// The capture cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The file begins like a capture, but none of its frames is readable.
    #[error("{capture}: no readable frame: {reason}")]
    Unreadable {
        /// The capture.
        capture: String,
        /// Why the frames are unreadable.
        reason: String,
    },
}

/// Analyzes the capture that `source` reads. `capture` is the user's name for it, and `collector` makes
/// a collector for each thread. `watch` is called every few thousand packets, and ends the reading by
/// returning `false`.
///
/// # Errors
/// If no frame of the capture is readable.
pub fn run<V: Collector, S: PacketSource>(
    capture: &str,
    source: S,
    settings: &Settings,
    collector: impl Fn() -> V,
    mut watch: impl FnMut(&S) -> bool + Send,
) -> Result<Analyzed<V>, AnalysisError> {
    let mut interrupted = false;
    let watch = |source: &S| {
        let continues = watch(source);
        interrupted |= !continues;
        continues
    };
    let analysis = analyze(source, settings, &collector, watch)?;
    let counts = analysis.counts;
    if let Some(reason) = why_unreadable(&counts) {
        let capture = capture.into();
        return Err(AnalysisError::Unreadable { capture, reason });
    }
    let findings = analysis.findings.into_iter().reduce(|mut all, part| {
        all.merge(part);
        all
    });
    let mut findings = findings.unwrap_or_else(collector);
    findings.order();
    Ok(Analyzed {
        capture: capture.into(),
        counts,
        interrupted,
        findings,
    })
}

/// Why no frame is readable. `None` if a frame is readable, or if the capture is whole and empty.
fn why_unreadable(counts: &Counts) -> Option<String> {
    if counts.frames == 0 {
        return match &counts.ending {
            Ending::Whole => None,
            ending => Some(ending.to_string()),
        };
    }
    let reasons = Reason::ALL.into_iter().filter(|reason| reason.matters());
    let skipped = reasons.map(|reason| (counts.skipped(reason).count, reason));
    let worst = skipped.clone().max_by_key(|(count, _)| *count)?;
    let all: u64 = skipped.map(|(count, _)| count).sum();
    (all == counts.frames).then(|| match all {
        1 => format!("its only frame is {}", worst.1),
        _ => format!("{} of {all} frames: {}", worst.0, worst.1),
    })
}
