//! Analyzes a capture and collects what one view of it shows.

use super::episodes::Episode;
use super::summary::Vantages;
use crate::capture::Progress;
use recoup_trace::analyze::{Findings, NumbersConnections, Settings, TimeWindow, analyze};
use recoup_trace::finding::{Connection, ConnectionKey, HeldConnections, Retransmission, Revision};
use recoup_trace::read::{Counts, Ending, PacketSource, QlogTrace, ReadError, Reason};
use recoup_units::Instant;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::mem::take;
use thiserror::Error;

/// Facts that every view has.
pub trait View {
    /// The number of connections.
    fn connections(&self) -> u64;

    /// The capture points of the data.
    fn vantages(&self) -> &Vantages;
}

/// Collects the findings of an analysis. Each thread has its own collector.
pub trait Collector: Findings + View + Sized {
    /// Whether the view can show connections of QUIC, as traces (qlog) hold them.
    const READS_QLOG: bool = false;

    /// Adds the findings of another thread.
    fn merge(&mut self, other: Self);

    /// Sorts the findings once all are collected.
    fn order(&mut self) {}
}

/// The connections of a capture.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct AllConnections {
    /// Ordered by number.
    pub rows: Vec<Connection>,
    /// Those that were final when the analysis was saved, as it never is for a single capture. The others
    /// are in `rows`.
    pub(super) settled: Vec<Connection>,
    /// The retransmissions of each connection whose verdicts may be revised.
    pub(super) provisional: BTreeMap<ConnectionKey, Vec<Retransmission>>,
    /// Applied to the rows in [`order`](Collector::order), as in [`AllRetransmissions`].
    pub(super) revisions: Vec<Revision>,
    pub(super) overview: Overview,
}

/// The retransmissions of a capture.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct AllRetransmissions {
    /// Ordered by frame.
    pub rows: Vec<Retransmission>,
    /// As in [`AllConnections`].
    pub(super) settled: Vec<Retransmission>,
    pub(super) revisions: Vec<Revision>,
    pub(super) overview: Overview,
}

/// The time that the connections of a capture lost.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct AllEpisodes {
    /// Ordered by connection, then by time.
    pub rows: Vec<Episode>,
    /// As in [`AllConnections`].
    pub(super) settled: Vec<Episode>,
    /// Connections whose verdicts, and so causes, may still be revised: as in an explanation.
    pub(super) held: HeldConnections,
    pub(super) overview: Overview,
}

/// Facts of a view besides its rows.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct Overview {
    pub connections: u64,
    /// The time of the first packet of any connection.
    pub begun: Option<Instant>,
    pub vantages: Vantages,
}

impl Overview {
    pub fn add(&mut self, connection: &Connection) {
        self.connections += 1;
        self.begin(connection.begun);
        self.vantages.add(connection);
    }

    fn begin(&mut self, at: Instant) {
        self.begun = Some(self.begun.map_or(at, |begun| begun.min(at)));
    }

    pub fn merge(&mut self, other: &Self) {
        self.connections += other.connections;
        other.begun.into_iter().for_each(|at| self.begin(at));
        self.vantages.merge(&other.vantages);
    }
}

impl Findings for AllConnections {
    fn connection(&mut self, connection: Connection, retransmissions: &[Retransmission]) {
        self.overview.add(&connection);
        let provisional: Vec<Retransmission> = retransmissions.iter().filter(|row| row.provisional).copied().collect();
        if !provisional.is_empty() {
            self.provisional.insert(connection.key(), provisional);
        }
        self.rows.push(connection);
    }

    fn revision(&mut self, revision: &Revision) {
        self.overview.vantages.revised += 1;
        self.revisions.push(*revision);
    }
}

view!(AllConnections: overview.connections, overview.vantages);

impl NumbersConnections for AllConnections {
    fn number_connections(&mut self, number: &dyn Fn(u64) -> u64) {
        for row in self.rows.iter_mut().chain(&mut self.settled) {
            row.id = number(row.id);
        }
        let provisional = take(&mut self.provisional).into_iter();
        self.provisional = provisional
            .map(|((id, point), mut rows): (ConnectionKey, Vec<Retransmission>)| {
                for row in &mut rows {
                    row.connection = number(row.connection);
                }
                ((number(id), point), rows)
            })
            .collect();
        for revision in &mut self.revisions {
            let row = &mut revision.retransmission;
            row.connection = number(row.connection);
        }
    }
}

impl Collector for AllConnections {
    fn merge(&mut self, other: Self) {
        self.overview.merge(&other.overview);
        self.rows.extend(other.rows);
        self.settled.extend(other.settled);
        self.provisional.extend(other.provisional);
        self.revisions.extend(other.revisions);
    }

    fn order(&mut self) {
        self.rows.sort_unstable_by_key(Connection::key);
        for revision in take(&mut self.revisions) {
            let key = revision.retransmission.connection_key();
            if let Ok(row) = self.rows.binary_search_by_key(&key, Connection::key) {
                revision.recount(&mut self.rows[row]);
            }
            if let Some(rows) = self.provisional.get_mut(&key) {
                revision.apply(rows);
            }
        }
    }
}

impl AllRetransmissions {
    /// When the first packet of any connection was captured.
    pub fn begun(&self) -> Option<Instant> {
        self.overview.begun
    }

    /// Adds the retransmissions of a connection.
    pub(super) fn add(&mut self, connection: &Connection, retransmissions: &[Retransmission]) {
        self.overview.add(connection);
        self.rows.extend_from_slice(retransmissions);
    }
}

impl Findings for AllRetransmissions {
    fn connection(&mut self, connection: Connection, retransmissions: &[Retransmission]) {
        self.add(&connection, retransmissions);
    }

    fn revision(&mut self, revision: &Revision) {
        self.overview.vantages.revised += 1;
        self.revisions.push(*revision);
    }
}

view!(AllRetransmissions: overview.connections, overview.vantages);

impl NumbersConnections for AllRetransmissions {
    fn number_connections(&mut self, number: &dyn Fn(u64) -> u64) {
        let revised = self.revisions.iter_mut().map(|revision| &mut revision.retransmission);
        for row in (self.rows.iter_mut()).chain(&mut self.settled).chain(revised) {
            row.connection = number(row.connection);
        }
    }
}

impl Collector for AllRetransmissions {
    fn merge(&mut self, other: Self) {
        self.overview.merge(&other.overview);
        self.rows.extend(other.rows);
        self.settled.extend(other.settled);
        self.revisions.extend(other.revisions);
    }

    fn order(&mut self) {
        // A super-segment is one frame and may hold several retransmissions.
        self.rows.sort_by_key(|r| (r.frame, r.seq.0));
        for revision in take(&mut self.revisions) {
            revision.apply(&mut self.rows);
        }
    }
}

impl Findings for AllEpisodes {
    fn connection(&mut self, connection: Connection, retransmissions: &[Retransmission]) {
        self.overview.add(&connection);
        let rows = &mut self.rows;
        self.held.add(connection, retransmissions, |connection, own| rows.extend(Episode::of(connection, own)));
    }

    fn revision(&mut self, revision: &Revision) {
        self.overview.vantages.revised += u64::from(self.held.revise(revision));
    }
}

view!(AllEpisodes: overview.connections, overview.vantages);

impl NumbersConnections for AllEpisodes {
    fn number_connections(&mut self, number: &dyn Fn(u64) -> u64) {
        for row in self.rows.iter_mut().chain(&mut self.settled) {
            row.connection = number(row.connection);
        }
        self.held.number_connections(number);
    }
}

impl Collector for AllEpisodes {
    fn merge(&mut self, other: Self) {
        self.overview.merge(&other.overview);
        self.rows.extend(other.rows);
        self.settled.extend(other.settled);
        self.held.merge(other.held);
    }

    fn order(&mut self) {
        let rows = &mut self.rows;
        take(&mut self.held).release_all(|connection, own| rows.extend(Episode::of(connection, own)));
        rows.sort_unstable_by_key(Episode::key);
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

impl<V> Analyzed<V> {
    /// The capture with other findings.
    pub fn map<W>(self, of: impl FnOnce(V) -> W) -> Analyzed<W> {
        let Self { capture, counts, interrupted, findings } = self;
        Analyzed { capture, counts, interrupted, findings: of(findings) }
    }
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
    /// A part of a trace of QUIC is asked for.
    #[error("{capture}: a qlog trace of QUIC is explained as a whole: {options} select packets of captures")]
    QlogPart {
        /// The trace.
        capture: String,
        /// The options.
        options: &'static str,
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
    assemble(capture, analysis.counts, interrupted, analysis.findings, collector)
}

/// Explains a trace of QUIC.
///
/// # Errors
/// If the view cannot show it, if only a part of it is asked for, or if it has no event.
pub(crate) fn run_qlog<V: Collector>(
    capture: &str,
    trace: QlogTrace<'_>,
    settings: &Settings,
    collector: impl Fn() -> V,
    progress: &dyn Progress,
) -> Result<Analyzed<V>, AnalysisError> {
    if !V::READS_QLOG {
        return Err(trace.refused().into());
    }
    let part = |options| AnalysisError::QlogPart { capture: capture.into(), options };
    match settings {
        Settings { filter: Some(_), .. } => return Err(part("--filter and --guard-log")),
        Settings { copies: Some(_), .. } => return Err(part("--filter and --guard-log")),
        Settings { window, .. } if *window != TimeWindow::default() => return Err(part("--from and --to")),
        _ => {}
    }
    let mut findings = collector();
    let (counts, is_whole) = trace.read(&mut findings, settings.timeline, |taken| progress.reads(taken));
    assemble(capture, counts, !is_whole, vec![findings], collector)
}

/// Puts the findings of all threads together.
pub(crate) fn assemble<V: Collector>(
    capture: &str,
    counts: Counts,
    interrupted: bool,
    findings: Vec<V>,
    collector: impl Fn() -> V,
) -> Result<Analyzed<V>, AnalysisError> {
    check_readable(capture, &counts)?;
    let findings = findings.into_iter().reduce(|mut all, part| {
        all.merge(part);
        all
    });
    let mut findings = findings.unwrap_or_else(collector);
    findings.order();
    Ok(Analyzed { capture: capture.into(), counts, interrupted, findings })
}

/// Whether a frame is readable, or the capture is whole and has none.
///
/// # Errors
/// Why no frame is readable.
pub(super) fn check_readable(capture: &str, counts: &Counts) -> Result<(), AnalysisError> {
    if counts.ending == Ending::Empty && counts.frames == 0 {
        return Err(ReadError::empty(capture).into());
    }
    let unreadable = |reason| AnalysisError::Unreadable { capture: capture.into(), reason };
    why_unreadable(counts).map_or(Ok(()), |reason| Err(unreadable(reason)))
}

fn why_unreadable(counts: &Counts) -> Option<String> {
    if counts.frames == 0 && counts.qlog.is_some() {
        return (counts.ending != Ending::Whole).then(|| "the trace ends before its first event".into());
    }
    if counts.frames == 0 {
        return (counts.ending != Ending::Whole).then(|| counts.ending.to_string());
    }
    // A capture of closed tunnels is readable: it has no TCP that anyone could see.
    let is_unreadable = |reason: &Reason| reason.matters() && !reason.is_closed_tunnel();
    let reasons = Reason::ALL.into_iter().filter(is_unreadable);
    let skipped = reasons.map(|reason| (counts.skipped(reason).count, reason));
    let worst = skipped.clone().max_by_key(|(count, _)| *count)?;
    let all: u64 = skipped.map(|(count, _)| count).sum();
    (all == counts.frames).then(|| match all {
        1 => format!("its only frame is {}", worst.1),
        _ => format!("{} of {all} frames: {}", worst.0, worst.1),
    })
}
