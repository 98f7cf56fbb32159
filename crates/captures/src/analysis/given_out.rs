//! Changes of rows since they were last given out.
//!
//! An analysis that goes on in later captures gives its rows out run by run. A row of a connection that
//! is still open may read differently, or be missing, in a later run. [`GivenOut`] remembers the rows
//! that may still change and reports only what is new or different. Whoever keeps the latest [`Record`]
//! of every key has the rows of one analysis of all captures.

use super::episodes::{Episode, EpisodeKey};
use recoup_table::Columns;
use recoup_trace::finding::{Connection, ConnectionKey, Retransmission};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt::Debug;
use twox_hash::XxHash3_64;

recoup_units::named! {
    /// Effect of a [`Record`] on the row that was given out before with its key.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Change {
        /// There was none.
        New = "new",
        /// Replaces it.
        Revised = "revised",
        /// Removes it: there is no such row.
        Withdrawn = "withdrawn",
    }
}

/// A row that is given out run by run.
pub trait Row: Sized + Debug + 'static {
    /// Distinguishes the row from all others, in the order of the view.
    type Key: Ord + Copy + Debug;

    /// Its key.
    fn key(&self) -> Self::Key;

    /// The columns that are given out.
    fn columns() -> Columns<Self>;

    /// The columns of its records: as [`columns`](Self::columns), where those of the key have a value
    /// even if the row is withdrawn.
    fn record_columns() -> Columns<Record<Self>>;
}

/// A row that changed since the rows were last given out.
#[derive(Clone, Debug, PartialEq)]
pub struct Record<R: Row> {
    /// Its effect on the row given out before.
    pub change: Change,
    /// The row's key.
    pub key: R::Key,
    /// `None` if it is withdrawn.
    pub row: Option<R>,
}

impl<R: Row> Record<R> {
    /// The columns of the row, and the one that says what changed.
    fn columns() -> Columns<Self> {
        let about = "new: first given out; revised: replaces the row given out before with the same key; withdrawn: removes that row";
        Columns::new()
            .all_of(R::columns(), |record: &Self| record.row.as_ref())
            .column("record", "", about, |record| record.change.name())
    }
}

/// A frame and a sequence number: a super-segment is one frame and may hold several retransmissions.
pub type RetransmissionKey = (u64, u32);

impl Row for Retransmission {
    type Key = RetransmissionKey;

    fn key(&self) -> Self::Key {
        (self.frame, self.seq.0)
    }

    fn columns() -> Columns<Self> {
        super::retransmissions()
    }

    fn record_columns() -> Columns<Record<Self>> {
        Record::<Self>::columns().read_by("frame", |record| record.key.0).read_by("seq", |record| record.key.1)
    }
}

impl Row for Connection {
    type Key = ConnectionKey;

    fn key(&self) -> Self::Key {
        self.key()
    }

    fn columns() -> Columns<Self> {
        super::connections()
    }

    fn record_columns() -> Columns<Record<Self>> {
        Record::<Self>::columns()
            .read_by("connection", |record| record.key.0)
            .read_by("capture_point", |record| record.key.1)
    }
}

impl Row for Episode {
    type Key = EpisodeKey;

    fn key(&self) -> Self::Key {
        self.key()
    }

    fn columns() -> Columns<Self> {
        super::episodes()
    }

    fn record_columns() -> Columns<Record<Self>> {
        Record::<Self>::columns()
            .read_by("connection", |record| record.key.connection)
            .read_by("capture_point", |record| record.key.capture_point)
            .read_by("side", |record| record.key.side())
            .read_by("frame", |record| record.key.frame())
            .read_by("cause", |record| record.key.cause.name())
    }
}

/// The rows that were given out and may still change, by key, each with a digest of its cells.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct GivenOut<K: Ord>(BTreeMap<K, u64>);

impl<K: Ord> Default for GivenOut<K> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<K: Ord + Copy> GivenOut<K> {
    /// Gives out what is new or different, in the order of keys. `rows` are all rows that are not final
    /// since an earlier call, each with whether it may still change. Of the rows given out before that
    /// could change, those that are missing are withdrawn.
    pub fn records<R: Row<Key = K>>(&mut self, rows: impl IntoIterator<Item = (R, bool)>) -> Vec<Record<R>> {
        let mut before = std::mem::take(&mut self.0);
        let columns = R::columns();
        let cells = columns.cells();
        let mut bytes = Vec::new();
        let mut digest = |row: &R| {
            bytes.clear();
            cells(row, &mut bytes);
            XxHash3_64::oneshot(&bytes)
        };
        let mut records = Vec::new();
        for (row, may_change) in rows {
            let key = row.key();
            let earlier = before.remove(&key);
            let now = (may_change || earlier.is_some()).then(|| digest(&row));
            if may_change && let Some(now) = now {
                self.0.insert(key, now);
            }
            let change = match earlier {
                None => Change::New,
                Some(_) if earlier == now => continue,
                Some(_) => Change::Revised,
            };
            let row = Some(row);
            records.push(Record { change, key, row });
        }
        records.extend(before.into_keys().map(|key| Record { change: Change::Withdrawn, key, row: None }));
        records.sort_by_key(|record| record.key);
        records
    }

    /// How many rows may still change.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether no row may still change.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests;
