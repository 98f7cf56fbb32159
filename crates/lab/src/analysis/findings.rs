//! Captures in, what is shown of them out.

use super::summary::Vantages;
use recoup_trace::analyze::{Findings, Settings, analyze};
use recoup_trace::finding::{Connection, Retransmission};
use recoup_trace::read::{Counts, Ending, ReadError, Reader, Reason};
use recoup_units::Instant;
use thiserror::Error;

/// Takes in what an analysis finds, on several threads at once.
pub trait View: Findings + Sized {
    /// Takes in what another thread found.
    fn merge(&mut self, other: Self);

    /// Everything is in: puts it into order.
    fn order(&mut self) {}

    /// How many connections there were.
    fn connections(&self) -> u64;

    /// Where what they sent was captured.
    fn vantages(&self) -> &Vantages;
}

/// The connections of a capture.
#[derive(Debug, Default)]
pub struct AllConnections {
    /// In the order of their numbers.
    pub rows: Vec<Connection>,
    vantages: Vantages,
}

/// The retransmissions of a capture.
#[derive(Debug, Default)]
pub struct AllRetransmissions {
    /// In the order of their frames.
    pub rows: Vec<Retransmission>,
    /// The first packet of any connection.
    pub begun: Option<Instant>,
    connections: u64,
    vantages: Vantages,
}

/// One connection of a capture.
#[derive(Debug)]
pub struct OneConnection {
    /// It and its retransmissions, in the order of their frames; `None`: the capture has no such one.
    pub row: Option<(Connection, Vec<Retransmission>)>,
    number: u64,
    connections: u64,
    vantages: Vantages,
}

impl OneConnection {
    /// The one of this number, from 0.
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
}

impl View for OneConnection {
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
}

impl View for AllConnections {
    fn merge(&mut self, other: Self) {
        self.vantages.merge(&other.vantages);
        self.rows.extend(other.rows);
    }

    fn order(&mut self) {
        self.rows.sort_unstable_by_key(|connection| connection.id);
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
}

impl View for AllRetransmissions {
    fn merge(&mut self, other: Self) {
        self.connections += other.connections;
        other.begun.into_iter().for_each(|at| self.begin(at));
        self.vantages.merge(&other.vantages);
        self.rows.extend(other.rows);
    }

    fn order(&mut self) {
        // A super-segment is one frame, and may hold several.
        self.rows.sort_by_key(|r| (r.frame, r.seq.0));
    }

    fn connections(&self) -> u64 {
        self.connections
    }

    fn vantages(&self) -> &Vantages {
        &self.vantages
    }
}

/// A capture and what was found in it.
#[derive(Debug)]
pub struct Analyzed<V> {
    /// What the user calls it.
    pub capture: String,
    /// What it holds, and what of it could not be read.
    pub counts: Counts,
    /// Whether reading was ended early, on demand.
    pub interrupted: bool,
    /// What is shown of it.
    pub found: V,
}

/// Why there is nothing to tell of a capture: a line each.
#[derive(Debug, Error)]
pub enum AnalysisError {
    /// It cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// It begins as a capture does, and nothing sound follows.
    #[error("{capture}: nothing in it can be read: {why}")]
    Nothing {
        /// The capture.
        capture: String,
        /// What stands there instead.
        why: String,
    },
}

/// Analyzes what `reader` reads, which the user calls `capture`, into a `view` for each thread.
/// `watch` is called every few thousand packets; by returning `false` it ends the reading.
///
/// # Errors
/// When there is nothing sound in it.
pub fn run<V: View>(
    capture: &str,
    reader: Reader<'_>,
    settings: &Settings,
    view: impl Fn() -> V,
    mut watch: impl FnMut(&Reader<'_>) -> bool + Send,
) -> Result<Analyzed<V>, AnalysisError> {
    let mut interrupted = false;
    let watch = |reader: &Reader<'_>| {
        let go_on = watch(reader);
        interrupted |= !go_on;
        go_on
    };
    let (counts, parts) = analyze(reader, settings, &view, watch)?;
    if let Some(why) = nothing_sound(&counts) {
        let capture = capture.into();
        return Err(AnalysisError::Nothing { capture, why });
    }
    let found = parts.into_iter().reduce(|mut all, part| {
        all.merge(part);
        all
    });
    let mut found = found.unwrap_or_else(view);
    found.order();
    Ok(Analyzed {
        capture: capture.into(),
        counts,
        interrupted,
        found,
    })
}

/// What is wrong with a capture in which nothing is sound; `None` where something is, or nothing was
/// captured.
fn nothing_sound(counts: &Counts) -> Option<String> {
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
