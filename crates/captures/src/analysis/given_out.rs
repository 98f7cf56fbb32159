//! What changed since rows were last given out.
//!
//! An analysis that goes on in later captures gives its rows out run by run. A row of a connection that
//! is still open may read differently, or be missing, in a later run. [`GivenOut`] remembers the rows
//! that may still change and reports only what is new or different. Whoever keeps the latest [`Record`]
//! of every key has the rows of one analysis of all captures.

use recoup_table::Columns;
use recoup_trace::finding::{Connection, ConnectionKey, Retransmission};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt::Debug;
use twox_hash::XxHash3_64;

/// What a [`Record`] does to the row that was given out before with its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// There was none.
    New,
    /// Replaces it.
    Revised,
    /// Removes it: there is no such row.
    Withdrawn,
}

impl Change {
    /// The name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Revised => "revised",
            Self::Withdrawn => "withdrawn",
        }
    }
}

/// A row that is given out run by run.
pub trait Row: Sized + Debug + 'static {
    /// Distinguishes the row from all others, in the order of the view.
    type Key: Ord + Copy + Debug;

    /// Its key.
    fn key(&self) -> Self::Key;

    /// What is given out of it.
    fn columns() -> Columns<Self>;

    /// The columns of its records: as [`columns`](Self::columns), where those of the key have a value
    /// even if the row is withdrawn.
    fn record_columns() -> Columns<Record<Self>>;
}

/// A row that changed since the rows were last given out.
#[derive(Clone, Debug, PartialEq)]
pub struct Record<R: Row> {
    /// What changed.
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
        Record::<Self>::columns()
            .integer_from("frame", |record| Some(record.key.0))
            .integer_from("seq", |record| Some(record.key.1.into()))
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
            .integer_from("connection", |record| Some(record.key.0))
            .integer_from("capture_point", |record| Some(record.key.1.into()))
    }
}

/// The rows that were given out and may still change, by key, each with a digest of its cells.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct GivenOut<K: Ord>(BTreeMap<K, u64>);

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
mod tests {
    use super::*;
    use Change::{New, Revised, Withdrawn};

    /// A key, and what is shown of the row.
    #[derive(Clone, Debug, PartialEq)]
    struct Plain(u64, &'static str);

    impl Row for Plain {
        type Key = u64;

        fn key(&self) -> u64 {
            self.0
        }

        fn columns() -> Columns<Self> {
            Columns::new().column("text", "", "what it says", |row: &Self| row.1)
        }

        fn record_columns() -> Columns<Record<Self>> {
            Record::<Self>::columns()
        }
    }

    const FINAL: bool = false;
    const OPEN: bool = true;

    /// One run: each row's key and text, and whether it may still change.
    fn run(
        given_out: &mut GivenOut<u64>,
        rows: &[(u64, &'static str, bool)],
    ) -> Vec<(Change, u64, Option<&'static str>)> {
        let rows = rows.iter().map(|&(key, text, open)| (Plain(key, text), open));
        let records = given_out.records(rows);
        let plain = |r: Record<Plain>| (r.change, r.key, r.row.map(|row| row.1));
        records.into_iter().map(plain).collect()
    }

    #[test]
    fn a_row_is_given_out_again_only_if_it_reads_differently() {
        let mut given_out = GivenOut::default();
        let first = run(&mut given_out, &[(1, "a", FINAL), (2, "b", OPEN), (3, "c", OPEN)]);
        assert_eq!(first, [(New, 1, Some("a")), (New, 2, Some("b")), (New, 3, Some("c"))]);
        assert_eq!(given_out.len(), 2);
        // 2 stays as it was, and 3 changes; both are final now. 4 is new.
        let second = run(&mut given_out, &[(2, "b", FINAL), (3, "C", FINAL), (4, "d", OPEN)]);
        assert_eq!(second, [(Revised, 3, Some("C")), (New, 4, Some("d"))]);
        let third = run(&mut given_out, &[(4, "d", OPEN)]);
        assert_eq!(third, []);
        assert_eq!(run(&mut given_out, &[(4, "D", FINAL)]), [(Revised, 4, Some("D"))]);
        assert!(given_out.is_empty());
    }

    #[test]
    fn a_row_that_is_no_longer_there_is_withdrawn_at_its_place() {
        let mut given_out = GivenOut::default();
        run(&mut given_out, &[(2, "b", OPEN), (5, "e", OPEN), (7, "g", FINAL)]);
        let second = run(&mut given_out, &[(1, "a", OPEN), (5, "E", OPEN)]);
        assert_eq!(second, [(New, 1, Some("a")), (Withdrawn, 2, None), (Revised, 5, Some("E"))]);
        // It may come back.
        let third = run(&mut given_out, &[(1, "a", FINAL), (2, "b", FINAL), (5, "E", FINAL)]);
        assert_eq!(third, [(New, 2, Some("b"))]);
    }

    #[test]
    fn the_latest_records_are_the_rows_of_the_last_run() {
        // Every row of three runs is missing, or one of two texts; it is final in the last run only.
        let texts = [None, Some("x"), Some("y")];
        for (a, b, c) in (0..27).map(|n| (texts[n % 3], texts[n / 3 % 3], texts[n / 9])) {
            let mut given_out = GivenOut::default();
            let mut latest = None;
            for (text, open) in [(a, OPEN), (b, OPEN), (c, FINAL)] {
                let rows: Vec<_> = text.map(|text| (8, text, open)).into_iter().collect();
                let records = run(&mut given_out, &rows);
                assert!(records.len() < 2, "{records:?}");
                for (change, _, row) in records {
                    let known = match change {
                        New => latest.is_none(),
                        Revised => latest.is_some() && row != latest,
                        Withdrawn => latest.is_some() && row.is_none(),
                    };
                    assert!(known, "{change:?} {row:?} after {latest:?}");
                    latest = row;
                }
            }
            assert_eq!(latest, c, "{a:?} {b:?} {c:?}");
            assert!(given_out.is_empty());
        }
    }

    #[test]
    fn a_withdrawn_row_has_the_cells_of_its_key_only() {
        let record = |key| Record::<Retransmission> { change: Withdrawn, key, row: None };
        let csv = Retransmission::record_columns().to_csv(&[record((12, 4_000_000_000))]);
        let (header, row) = csv.trim_end().split_once('\n').unwrap();
        assert!(header.starts_with("frame,time,src,dst,seq,len,") && header.ends_with(",record"), "{header}");
        assert!(row.starts_with("12,,,,4000000000,,"), "{row}");
        assert!(row.ends_with(",withdrawn"), "{row}");
        let record = Record::<Connection> { change: Withdrawn, key: (3, 1), row: None };
        let csv = Connection::record_columns().to_csv(&[record]);
        let row = csv.lines().nth(1).unwrap();
        assert!(row.starts_with("3,,"), "{row}");
        assert_eq!(row.matches(|c: char| c.is_ascii_digit()).count(), 2, "{row}");
    }
}
