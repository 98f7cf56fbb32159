//! Rows that change from run to run.

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
fn run(given_out: &mut GivenOut<u64>, rows: &[(u64, &'static str, bool)]) -> Vec<(Change, u64, Option<&'static str>)> {
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

#[test]
fn a_withdrawn_episode_has_the_cells_of_its_key_only() {
    let columns = Episode::record_columns();
    let key = Episode::of(crate::analysis::tests::connection_that_waits(), &[])[0].key();
    let csv = columns.to_csv(&[Record::<Episode> { change: Withdrawn, key, row: None }]);
    let (header, row) = csv.trim_end().split_once('\n').unwrap();
    let cells: Vec<(&str, &str)> = header.split(',').zip(row.split(',')).filter(|(_, cell)| !cell.is_empty()).collect();
    let expected = [
        ("connection", "3"),
        ("capture_point", "0"),
        ("side", "src"),
        ("cause", "delay_spike"),
        ("frame", "40"),
        ("record", "withdrawn"),
    ];
    assert_eq!(cells, expected);
}
