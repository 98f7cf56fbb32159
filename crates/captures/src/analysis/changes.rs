//! Views that are saved with an analysis, and continued in later captures.
//!
//! The analysis is saved before the connections that are still open are closed. What is found after that is
//! tentative: a later capture may change it.

use super::episodes::{Episode, EpisodeKey};
use super::findings::{AllConnections, AllEpisodes, AllRetransmissions, Collector, Overview, View};
use super::given_out::{GivenOut, Record, RetransmissionKey, Row};
use super::summary::{Summary, Vantages};
use recoup_trace::finding::{Connection, ConnectionKey, HeldConnections, Renumbering, Retransmission};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::mem::take;

/// Connections, or retransmissions, whose verdicts may still be revised, that each thread's collector saves.
/// An analysis revises no more (`explain::provisional` in `recoup_trace`).
const MOST_PROVISIONAL: usize = 4096;

/// Adds what another state saved of a collector, renumbered.
pub type MergeSaved<S> = fn(&mut S, S, Renumbering);

/// A view that later captures continue.
pub trait Continued: Collector + Default + 'static {
    /// The argument that asks for it.
    const ARGUMENT: &'static str;

    /// The saved form of each thread's collector.
    type Saved: Serialize + DeserializeOwned;

    /// Digests of the rows given out.
    type GivenOut: Serialize + DeserializeOwned + Default;

    /// The view that a run shows.
    type Shown: View;

    /// `None` for rows: those that the other state's runs have given out would have other numbers than
    /// here.
    const MERGE: Option<MergeSaved<Self::Saved>> = None;

    /// Saves the findings so far. Those collected later are tentative.
    /// `is_provisional`: whether the verdict on a retransmission may still be revised.
    fn save(&mut self, is_provisional: &dyn Fn(&Retransmission) -> bool) -> Self::Saved;

    /// Goes on from what was saved.
    fn load(saved: Self::Saved) -> Self;

    /// Makes the view of this run from the findings of all threads.
    fn show(self, given_out: &mut Self::GivenOut) -> Self::Shown;
}

/// The rows that changed since they were last given out.
#[derive(Debug)]
pub struct Changes<R: Row> {
    /// Ordered by key.
    pub records: Vec<Record<R>>,
    pub(super) overview: Overview,
}

#[cfg(test)]
impl<R: Row> Changes<R> {
    pub(super) fn of(records: Vec<Record<R>>) -> Self {
        Self { records, overview: Overview::default() }
    }
}

impl<R: Row> View for Changes<R> {
    fn connections(&self) -> u64 {
        self.overview.connections
    }

    fn vantages(&self) -> &Vantages {
        &self.overview.vantages
    }
}

/// The totals of everything so far.
impl Continued for Summary {
    const ARGUMENT: &'static str = "--summary";
    type Saved = Self;
    type GivenOut = ();
    type Shown = Self;
    const MERGE: Option<MergeSaved<Self>> = Some(|mine, mut theirs, by| {
        theirs.renumber(by);
        mine.merge(theirs);
    });

    fn save(&mut self, _: &dyn Fn(&Retransmission) -> bool) -> Self {
        self.clone()
    }

    fn load(saved: Self) -> Self {
        saved
    }

    fn show(mut self, (): &mut ()) -> Self {
        self.order();
        self
    }
}

/// The saved form of [`AllRetransmissions`].
#[derive(Debug, Serialize, Deserialize)]
pub struct SavedRetransmissions {
    /// Those whose verdicts may be revised.
    provisional: Vec<Retransmission>,
    overview: Overview,
}

impl Continued for AllRetransmissions {
    const ARGUMENT: &'static str = "--retransmissions";
    type Saved = SavedRetransmissions;
    type GivenOut = GivenOut<RetransmissionKey>;
    type Shown = Changes<Retransmission>;

    fn save(&mut self, is_provisional: &dyn Fn(&Retransmission) -> bool) -> SavedRetransmissions {
        self.order();
        let rows = take(&mut self.rows).into_iter();
        (self.rows, self.settled) = rows.partition(|row| row.provisional && is_provisional(row));
        let oldest = self.rows.len().saturating_sub(MOST_PROVISIONAL);
        self.settled.extend(self.rows.drain(..oldest));
        SavedRetransmissions { provisional: self.rows.clone(), overview: self.overview }
    }

    fn load(saved: SavedRetransmissions) -> Self {
        Self { rows: saved.provisional, overview: saved.overview, ..Self::default() }
    }

    fn show(mut self, given_out: &mut Self::GivenOut) -> Self::Shown {
        self.order();
        Changes { records: given_out.records(with_outlook(self.settled, self.rows)), overview: self.overview }
    }
}

/// The saved form of [`AllConnections`].
#[derive(Debug, Serialize, Deserialize)]
pub struct SavedConnections {
    /// Those with verdicts that may be revised, and their retransmissions with these verdicts.
    provisional: Vec<(Connection, Vec<Retransmission>)>,
    overview: Overview,
}

impl Continued for AllConnections {
    const ARGUMENT: &'static str = "--connections";
    type Saved = SavedConnections;
    type GivenOut = GivenOut<ConnectionKey>;
    type Shown = Changes<Connection>;

    fn save(&mut self, is_provisional: &dyn Fn(&Retransmission) -> bool) -> SavedConnections {
        self.order();
        self.provisional.retain(|_, rows| {
            rows.retain(|row| row.provisional && is_provisional(row));
            !rows.is_empty()
        });
        while self.provisional.len() > MOST_PROVISIONAL {
            self.provisional.pop_first();
        }
        let rows = take(&mut self.rows).into_iter();
        (self.rows, self.settled) = rows.partition(|row| self.provisional.contains_key(&row.key()));
        let provisional = self.rows.iter().map(|connection| {
            let rows = self.provisional.get(&connection.key());
            (connection.clone(), rows.cloned().unwrap_or_default())
        });
        SavedConnections { provisional: provisional.collect(), overview: self.overview }
    }

    fn load(saved: SavedConnections) -> Self {
        let rows = saved.provisional.into_iter();
        let (rows, provisional) = rows.map(|(c, rows)| (c.clone(), (c.key(), rows))).unzip();
        Self { rows, provisional, overview: saved.overview, ..Self::default() }
    }

    fn show(mut self, given_out: &mut Self::GivenOut) -> Self::Shown {
        self.order();
        Changes { records: given_out.records(with_outlook(self.settled, self.rows)), overview: self.overview }
    }
}

/// The saved form of [`AllEpisodes`].
#[derive(Debug, Serialize, Deserialize)]
pub struct SavedEpisodes {
    /// Connections with verdicts that may be revised.
    held: HeldConnections,
    overview: Overview,
}

impl Continued for AllEpisodes {
    const ARGUMENT: &'static str = "--episodes";
    type Saved = SavedEpisodes;
    type GivenOut = GivenOut<EpisodeKey>;
    type Shown = Changes<Episode>;

    fn save(&mut self, is_provisional: &dyn Fn(&Retransmission) -> bool) -> SavedEpisodes {
        self.settled.append(&mut self.rows);
        let settled = &mut self.settled;
        self.held.release_final(
            |row| row.provisional && is_provisional(row),
            |connection, own| settled.extend(Episode::of(connection, own)),
        );
        SavedEpisodes { held: self.held.clone(), overview: self.overview }
    }

    fn load(saved: SavedEpisodes) -> Self {
        Self { held: saved.held, overview: saved.overview, ..Self::default() }
    }

    fn show(mut self, given_out: &mut Self::GivenOut) -> Self::Shown {
        self.order();
        Changes { records: given_out.records(with_outlook(self.settled, self.rows)), overview: self.overview }
    }
}

/// Rows with whether they may still change.
fn with_outlook<R>(settled: Vec<R>, open: Vec<R>) -> impl Iterator<Item = (R, bool)> {
    let settled = settled.into_iter().map(|row| (row, false));
    settled.chain(open.into_iter().map(|row| (row, true)))
}
