//! Text tables.

use super::*;

/// Fails if a row of the table is wider than 160 columns.
fn assert_fits_a_terminal(table: &str) {
    for row in table.lines().filter(|line| line.starts_with('|')) {
        assert!(row.chars().count() <= 160, "{row}");
    }
}

/// No table is wider than 120 columns.
#[test]
fn tables_name_quantities_and_units() {
    let summary: Analyzed<Summary> = analyzed(&ten());
    let tables = [
        summary_tables(&summary),
        study_tables(&summary.findings.study.report()),
        AllConnections::text(&analyzed::<AllConnections>(&ten())),
        AllRetransmissions::text(&analyzed::<AllRetransmissions>(&ten())),
        AllEpisodes::text(&analyzed::<AllEpisodes>(&[(connection_that_waits(), Vec::new())])),
    ];
    for (table, parts) in tables.iter().zip([
        &[
            "|   tlp ",
            "| SYN, SYN-ACK ",
            "captured at the sender (%)",
            "linux-3.17 or linux-6 ",
            "| handshakes ",
            "(ms)",
            "192.0.2.1:80 > 198.51.100.7:40000",
        ][..],
        &["Table IV", "(RTTs)", "Footnote 6"],
        &["| linux-3.17 or 6 ", "10 connections", "(ms)", "in segments"],
        &["| tlp|rto ", "| dsack ", " 300.125 |", "detection (ms)"],
        &["4 rows, which lost 500.000 ms", "| delay_spike ", " 30.000 |", "lost (ms)"],
    ]) {
        for part in parts {
            assert!(table.contains(part), "{part}\n{table}");
        }
        assert_fits_a_terminal(table);
        for line in table.lines() {
            assert!(line.chars().count() <= 120, "{line}\n{table}");
        }
    }
    let empty = summary_tables(&analyzed::<Summary>(&[]));
    assert!(empty.contains("| connections "), "{empty}");
}

/// The cells of the row of a table that begins with `name`.
fn cells<'a>(table: &'a str, name: &str) -> Vec<&'a str> {
    let rows = table.lines().map(|line| line.split('|').skip(1));
    let mut rows = rows.filter(|cells| cells.clone().next().map(str::trim_end) == Some(name));
    let row = rows.next().unwrap_or_else(|| panic!("{name}\n{table}"));
    row.map(str::trim).collect()
}

/// Data, SYN and FIN, each by trigger, add up to the total. The times of a trigger include all three.
#[test]
fn retransmissions_add_up() {
    let fin = Retransmission {
        len: 0,
        fin: true,
        triggers: Trigger::Rto.into(),
        verdict: Verdict::Needed,
        ..retransmission()
    };
    let data = Retransmission { triggers: Trigger::Rto.into(), detection: None, ..retransmission() };
    let all = vec![retransmission(), data, bare(), fin];
    let summary = analyzed(&[(connection(3, ms(500), &all), all)]);
    let text = summary_tables(&summary);
    for (name, expected) in [
        (" data", ["0", "2", "0", "2", "2.00"]),
        ("   tlp", ["0", "1", "0", "1", "1.00"]),
        (" SYN, SYN-ACK", ["0", "0", "1", "1", "1.00"]),
        (" FIN without data", ["1", "0", "0", "1", "1.00"]),
        (" total", ["1", "2", "1", "4", "4.00"]),
    ] {
        assert_eq!(cells(&text, name)[1..6], expected, "{name}\n{text}");
    }
    let (_, fins) = text.split_once("| FIN without data").unwrap();
    assert_eq!(cells(fins, "   rto")[1..5], ["1", "0", "0", "1"]);
    let (_, times) = text.split_once("Detection and recovery times").unwrap();
    let rto = cells(times, " rto");
    assert_eq!((rto[1], rto[5]), ("1", "2"), "{times}");
    // The share explained, and the number of connections that lost time.
    let sender = cells(&text, " linux-3.17 or linux-6");
    assert_eq!(sender[1], "Linux 3.5 to 3.9 or since 4.18");
    assert_eq!(sender[2..7], ["1", "4", "4", "3", "75.00"]);
    assert!(text.contains("| lost time: 1 of 1 connections "), "{text}");
}

/// Times count from the first packet of the capture.
#[test]
fn the_table_of_connections_shows_when_each_begins() {
    let mut second = one_connection();
    second[0].0.begun = Instant::from_nanos(BEGIN) + ms(1250);
    let [first, second] = [one_connection(), second].map(|[one]| one);
    let text = AllConnections::text(&analyzed::<AllConnections>(&[first, second]));
    let rows: Vec<&str> = text.lines().filter(|row| row.contains("| 192.")).collect();
    assert!(rows[0].contains("| 0.000000 | 2.000000 |"), "{text}");
    assert!(rows[1].contains("| 1.250000 | 0.750000 |"), "{text}");
}

/// A table of changes says what changed. Of a withdrawn row it has the key only.
#[test]
fn tables_of_changes_have_a_column_for_the_record() {
    let changes = |found: Analyzed<AllRetransmissions>| {
        let mut given_out = GivenOut::default();
        let first = found.findings.rows.iter().map(|row| (*row, true));
        given_out.records(first.chain([(bare(), true)]));
        let now = Retransmission { verdict: Verdict::Needed, ..retransmission() };
        let new = Retransmission { frame: 9, ..now };
        given_out.records([(now, true), (new, true)])
    };
    let findings = analyzed::<AllRetransmissions>(&ten());
    let records = changes(findings);
    let names: Vec<&str> = records.iter().map(|record| record.change.name()).collect();
    assert_eq!(names, ["withdrawn", "revised", "new"]);
    let table = Changes::<Retransmission>::text(&shown(records));
    for (frame, expected) in [("2", "withdrawn"), ("7", "revised"), ("9", "new")] {
        let line = table
            .lines()
            .find(|line| line.starts_with(&format!("| {frame:>5} |")))
            .unwrap_or_else(|| panic!("{frame}\n{table}"));
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        assert_eq!(cells[cells.len() - 2], expected, "{table}");
        assert_eq!(cells[2].is_empty(), expected == "withdrawn", "{table}");
    }
    assert!(table.starts_with("3 retransmissions\n"), "{table}");

    let mut given_out = GivenOut::default();
    let old = connection(1, ms(5), &[]);
    given_out.records([(old.clone(), true), (connection(2, ms(5), &[]), true)]);
    let records = given_out.records([(connection(1, ms(6), &[]), true)]);
    let table = Changes::<Connection>::text(&shown(records));
    assert_eq!(cells(&table, "   1").last_chunk::<2>(), Some(&["revised", ""]), "{table}");
    assert_eq!(cells(&table, "   2").last_chunk::<2>(), Some(&["withdrawn", ""]), "{table}");
    let none = Changes::<Connection>::text(&shown(Vec::new()));
    assert_eq!(none, "no new connections\n");
}

fn shown<R: Row>(records: Vec<Record<R>>) -> Analyzed<Changes<R>> {
    Analyzed { capture: "a.pcap".into(), counts: Counts::default(), interrupted: false, findings: Changes::of(records) }
}
