//! Made-up findings in every output format.

mod episodes;
mod tables;

use super::findings::Analyzed;
use super::*;
use crate::study::{Explained, Sender};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;
use recoup_recovery::Trigger;
use recoup_table::{Columns, Part};
use recoup_trace::analyze::{Findings, Settings};
use recoup_trace::finding::{
    CapturePoint, Cause, Closing, Connection, Direction, Evidence, Explanation, Identification, LateAckFound, Opening,
    Retransmission, Revision, RttQuantiles, SenderState, Triggers, Vantage, Verdict,
};
use recoup_trace::hosts::ReportsDuplicates;
use recoup_trace::read::{Counts, Reader};
use recoup_units::Instant;
use recoup_wire::{Endpoints, SeqNumber};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::io::{self, Seek, Write};
use std::time::Duration;

/// Shortly after 2023-11-14, 22:13:20 UTC, in ns.
const BEGIN: u64 = 1_700_000_000_123_456_789;

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn endpoints(src: &str, dst: &str) -> Endpoints {
    Endpoints { src: src.parse().unwrap(), dst: dst.parse().unwrap() }
}

/// A spurious retransmission by a timer, with every field known.
fn retransmission() -> Retransmission {
    Retransmission {
        frame: 7,
        at: Instant::from_nanos(BEGIN),
        connection: 3,
        endpoints: endpoints("192.0.2.1:80", "198.51.100.7:40000"),
        seq: SeqNumber(4_000_000_000),
        len: 1448,
        syn: false,
        fin: false,
        triggers: Triggers::either(Trigger::Tlp, Trigger::Rto),
        verdict: Verdict::Spurious,
        evidence: Evidence::Dsack,
        copy: 2,
        detection: Some(Duration::from_micros(300_125)),
        recovery: Some(ms(40)),
        rtt: Some(ms(30)),
        flight: 9,
        vantage: Vantage::Sender,
        provisional: false,
        capture_point: 0,
        cost: None,
    }
}

/// A retransmitted SYN over IPv6, with every optional field unknown.
fn bare() -> Retransmission {
    Retransmission {
        frame: 2,
        endpoints: endpoints("[2001:db8::1]:5000", "[2001:db8::2]:443"),
        len: 0,
        syn: true,
        triggers: Triggers::UNKNOWN,
        verdict: Verdict::Unknowable,
        evidence: Evidence::LooksFirst,
        copy: 1,
        detection: None,
        recovery: None,
        rtt: None,
        flight: 0,
        vantage: Vantage::Receiver,
        ..retransmission()
    }
}

/// A connection whose client sent `retransmissions` and lost `lost`.
fn connection(id: u64, lost: Duration, retransmissions: &[Retransmission]) -> Connection {
    let mut there = Direction {
        vantage: Vantage::Sender,
        segments: 100,
        bytes: 144_800,
        rtt: Some(RttQuantiles {
            samples: 50,
            min: ms(20),
            p50: ms(30),
            p90: ms(40),
            p99: ms(50),
            max: ms(60),
            mean: ms(31),
        }),
        profile: Identification::Several(["linux-3.17", "linux-6"].map(explanation).into()),
        episodes: 1,
        detecting_and_recovering: lost * 2,
        ..Direction::default()
    };
    for (state, millis) in [(SenderState::Recovering, 300), (SenderState::Application, 1700)] {
        there.time.add(state, millis * 1_000_000);
    }
    there.lost.add(Cause::LostSegment, lost);
    for r in retransmissions {
        there.retransmissions.add(r.triggers, r.verdict);
    }
    Connection {
        id,
        endpoints: endpoints("192.0.2.1:80", "198.51.100.7:40000"),
        frames: 1..=1,
        opening: Opening::Handshake,
        closing: Closing::Closed,
        begun: Instant::from_nanos(BEGIN),
        ended: Instant::from_nanos(BEGIN) + ms(2000),
        packets: 150,
        handshake_rtt: Some(ms(25)),
        sack: Some(true),
        ecn: None,
        capture_point: CapturePoint::default(),
        tunnels: Default::default(),
        quic: None,
        directions: [there, Direction::default()],
    }
}

fn explanation(profile: &str) -> Explanation {
    Explanation { profile: profile.into(), explained: 3, of: 4 }
}

/// A connection whose client waited for late ACKs, one of which was kept, and for a zero window, and whose server
/// waited for a delayed ACK: 500 ms in 4 rows.
pub fn connection_that_waits() -> Connection {
    let mut connection = connection(3, ms(0), &[]);
    let [there, back] = &mut connection.directions;
    there.lost.add_several(Cause::DelaySpike, 5, ms(100));
    there.lost.add_several(Cause::ZeroWindow, 2, ms(360));
    back.lost.add(Cause::NagleDelayedAck, ms(40));
    let late = |frame, lost| LateAckFound {
        frame,
        at: Instant::from_nanos(BEGIN) + ms(1000),
        lost: ms(lost),
        cause: Cause::DelaySpike,
    };
    there.late_acks = vec![late(40, 30)];
    connection
}

/// The findings in a capture with these connections and no notes.
fn analyzed<V: Collector + Default>(findings: &[(Connection, Vec<Retransmission>)]) -> Analyzed<V> {
    let mut found = V::default();
    for (connection, retransmissions) in findings {
        found.connection(connection.clone(), retransmissions);
    }
    found.order();
    let mut counts = Counts::default();
    (counts.frames, counts.packets) = (1000, 900);
    Analyzed { capture: "a.pcap".into(), counts, interrupted: false, findings: found }
}

fn one_connection() -> [(Connection, Vec<Retransmission>); 1] {
    let all = vec![retransmission(), bare()];
    [(connection(3, ms(500), &all), all)]
}

fn csv<R: 'static>(columns: &Columns<R>, captures: &[Part<'_, R>]) -> String {
    let mut out = Vec::new();
    columns.write_csv(captures, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn json<V: Tabular>(captures: &[Analyzed<V>]) -> (String, Value) {
    let mut out = Vec::new();
    write_json(captures, &mut out).unwrap();
    let text = String::from_utf8(out).unwrap();
    let value = serde_json::from_str(&text).unwrap();
    (text, value)
}

#[test]
fn csv_has_one_line_per_retransmission_in_the_order_of_frames() {
    let found = analyzed::<AllRetransmissions>(&one_connection());
    let rows = Part { name: &found.capture, rows: &found.findings.rows };
    assert_eq!(
        csv(&retransmissions(), &[rows]),
        "frame,time,src,dst,seq,len,trigger,verdict,evidence,copy,detection_ms,recovery_ms,\
         detection_rtts,recovery_rtts,vantage,connection,syn,fin,flight,capture_point,\
         src_host,src_port,dst_host,dst_port\n\
         2,1700000000.123456789,[2001:db8::1]:5000,[2001:db8::2]:443,4000000000,0,unknown,unknowable,\
         looks_first,1,,,,,receiver,3,true,false,0,0,2001:db8::1,5000,2001:db8::2,443\n\
         7,1700000000.123456789,192.0.2.1:80,198.51.100.7:40000,4000000000,1448,tlp|rto,spurious,\
         dsack,2,300.125,40,10.004167,1.333333,sender,3,false,false,9,0,192.0.2.1,80,198.51.100.7,40000\n"
    );
}

#[test]
fn with_several_captures_each_row_names_its_capture() {
    let found = analyzed::<AllRetransmissions>(&one_connection());
    let rows = |capture| Part { name: capture, rows: &found.findings.rows };
    let text = csv(&retransmissions(), &[rows("a.pcap"), rows("-")]);
    let last: Vec<&str> = text.lines().filter_map(|l| l.rsplit(',').next()).collect();
    assert_eq!(last, ["capture", "a.pcap", "a.pcap", "-", "-"]);
}

#[test]
fn json_keys_are_the_columns_and_times_keep_every_digit() {
    let found = analyzed::<AllRetransmissions>(&one_connection());
    let (text, value) = json(&[found]);
    assert!(text.contains("\"time\":1700000000.123456789,"), "{text}");
    let capture = &value["captures"][0];
    assert_eq!(capture["capture"], "a.pcap");
    let rows = capture["retransmissions"].as_array().unwrap();
    let keys: Vec<&String> = rows[0].as_object().unwrap().keys().collect();
    let names = retransmissions().names();
    assert_eq!(keys, names.iter().collect::<Vec<_>>());
    assert_eq!(rows[0]["detection_ms"], Value::Null);
    assert_eq!(rows[1]["seq"], json!(4_000_000_000_u32));
    assert_eq!(rows[1]["trigger"], "tlp|rto");
    assert_eq!(text.lines().count(), 4, "one row per line: {text}");
}

#[test]
fn a_connection_is_one_row_with_both_senders() {
    let found = analyzed::<AllConnections>(&one_connection());
    let (_, value) = json(&[found]);
    let row = &value["captures"][0]["connections"][0];
    for (key, expected) in [
        ("connection", json!(3)),
        ("src", json!("192.0.2.1:80")),
        ("opening", json!("handshake")),
        ("closing", json!("closed")),
        ("duration_ms", json!(2000.0)),
        ("handshake_rtt_ms", json!(25.0)),
        ("src_vantage", json!("sender")),
        ("src_rtt_p90_ms", json!(40.0)),
        ("src_retransmissions", json!(2)),
        ("src_spurious", json!(1)),
        ("src_tlp", json!(1)),
        ("src_tlp_spurious", json!(1)),
        ("src_unknown_unknowable", json!(1)),
        ("src_identification", json!("several")),
        ("src_profile", json!("linux-3.17|linux-6")),
        ("src_explained", json!(3)),
        ("src_detecting_and_recovering_ms", json!(1000.0)),
        ("src_recovering_ms", json!(300.0)),
        ("src_application_ms", json!(1700.0)),
        ("src_zero_window_ms", json!(0.0)),
        ("dst_vantage", json!("unknown")),
        ("dst_retransmissions", json!(0)),
        ("dst_rtt_p50_ms", Value::Null),
        ("dst_profile", Value::Null),
    ] {
        assert_eq!(row.get(key), Some(&expected), "{key}");
    }
}

#[test]
fn column_names_are_distinct() {
    let all = [retransmissions().names(), super::episodes().names(), connections().names(), summaries().names()];
    for names in all {
        let distinct: BTreeSet<&String> = names.iter().collect();
        assert_eq!(distinct.len(), names.len(), "{names:?}");
    }
}

/// The rows of a Parquet file, as names and values.
fn parquet_rows(write: impl FnOnce(&mut std::fs::File)) -> Vec<Vec<(String, Field)>> {
    let mut file = tempfile::tempfile().unwrap();
    write(&mut file);
    file.rewind().unwrap();
    let reader = SerializedFileReader::new(file).unwrap();
    let rows = reader.get_row_iter(None).unwrap();
    rows.map(|row| {
        let row = row.unwrap();
        row.get_column_iter().map(|(name, field)| (name.clone(), field.clone())).collect()
    })
    .collect()
}

#[test]
fn parquet_has_the_rows_of_csv() {
    let found = analyzed::<AllRetransmissions>(&one_connection());
    let rows = |capture| Part { name: capture, rows: &found.findings.rows };
    let read = parquet_rows(|file| {
        let captures = [rows("a.pcap"), rows("b.pcap")];
        retransmissions().write_parquet(&captures, file).unwrap();
    });
    assert_eq!(read.len(), 4);
    let names: Vec<&str> = read[0].iter().map(|(name, _)| &**name).collect();
    let columns = retransmissions();
    assert_eq!(names, [columns.names(), vec!["capture".into()]].concat());
    let get = |row: usize, name: &str| {
        let mut of_row = read[row].iter();
        of_row.find(|(column, _)| column == name).unwrap().1.clone()
    };
    assert_eq!(get(0, "detection_ms"), Field::Null);
    assert_eq!(get(0, "syn"), Field::Bool(true));
    assert_eq!(get(1, "detection_ms"), Field::Double(300.125));
    assert_eq!(get(1, "seq"), Field::Long(4_000_000_000));
    assert_eq!(get(1, "time"), Field::Long(BEGIN as i64));
    assert_eq!(get(1, "trigger"), Field::Str("tlp|rto".into()));
    assert_eq!(get(3, "capture"), Field::Str("b.pcap".into()));
}

#[test]
fn parquet_without_rows_has_all_columns() {
    let none: Analyzed<AllConnections> = analyzed(&[]);
    let mut file = tempfile::tempfile().unwrap();
    let rows = Part { name: "a", rows: &none.findings.rows };
    connections().write_parquet(&[rows], &mut file).unwrap();
    file.rewind().unwrap();
    let reader = SerializedFileReader::new(file).unwrap();
    let metadata = reader.metadata().file_metadata();
    assert_eq!(metadata.num_rows(), 0);
    assert_eq!(metadata.schema_descr().num_columns(), connections().names().len());
}

/// A pipe that its reader closes after this many bytes.
struct Closed(usize);

impl Write for Closed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = bytes.len().min(self.0);
        self.0 -= count;
        match count {
            0 => Err(io::ErrorKind::BrokenPipe.into()),
            _ => Ok(count),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The caller recognizes a closed pipe by the error's kind, in every format and at any position.
#[test]
fn a_closed_pipe_is_reported_as_a_broken_pipe() {
    let mut found = analyzed::<AllRetransmissions>(&one_connection());
    found.findings.rows = vec![retransmission(); 10_000];
    let rows = [Part { name: "a.pcap", rows: &found.findings.rows }];
    for taken in [0, 100, 3000] {
        let written = [
            retransmissions().write_csv(&rows, Closed(taken)),
            retransmissions().write_parquet(&rows, Closed(taken)),
            write_json(std::slice::from_ref(&found), Closed(taken)),
        ];
        for result in written {
            let kind = result.unwrap_err().kind();
            assert_eq!(kind, io::ErrorKind::BrokenPipe, "after {taken} bytes");
        }
    }
}

/// Ten connections with one retransmission each. Connection `n` lost `n` times 100 ms.
fn ten() -> Vec<(Connection, Vec<Retransmission>)> {
    let one = |n: u64| {
        let all = match n % 2 {
            0 => vec![retransmission()],
            _ => vec![bare()],
        };
        (connection(n, ms(100 * n), &all), all)
    };
    (0..10).map(one).collect()
}

#[test]
fn a_summary_does_not_depend_on_the_split_into_threads() {
    let whole: Analyzed<Summary> = analyzed(&ten());
    let s = &whole.findings;
    assert_eq!((s.connections, s.bytes, s.segments), (10, 1_448_000, 1000));
    assert_eq!(s.data.count(Some(Trigger::Tlp), Verdict::Spurious), 5);
    assert_eq!(s.syn.count(None, Verdict::Unknowable), 5);
    assert_eq!((s.data.total(), s.fin.total()), (5, 0));
    assert_eq!(s.evidence[Evidence::Dsack as usize], [0, 5, 0]);
    assert_eq!(s.lost, ms(4500));
    assert_eq!(s.connections_that_lost_time, 9);
    let slowest: Vec<u64> = s.slowest.iter().map(|slow| slow.connection).collect();
    assert_eq!(slowest, [9, 8, 7, 6, 5]);
    let several = Sender::Several("linux-3.17|linux-6".into());
    let of = |(sender, explained): (&Sender, &Explained)| (*sender == several).then_some(*explained);
    let explained: Explained = s.study.senders().find_map(of).unwrap();
    assert_eq!((explained.senders, explained.explained, explained.of), (10, 30, 40));

    let mut parts: [Analyzed<Summary>; 2] = [analyzed(&ten()[5..]), analyzed(&ten()[..5])];
    let part = std::mem::take(&mut parts[0].findings);
    parts[1].findings.merge(part);
    assert_eq!(json(&parts[1..]).0, json(&[whole]).0);
}

#[test]
fn a_summary_is_one_row_of_csv_and_json_has_the_same_values() {
    let summary: Analyzed<Summary> = analyzed(&ten());
    let columns = summaries();
    let rows = Part { name: "a.pcap", rows: std::slice::from_ref(&summary) };
    let text = csv(&columns, &[rows]);
    let (header, row) = text.trim_end().split_once('\n').unwrap();
    let (_, value) = json(std::slice::from_ref(&summary));
    let capture = &value["captures"][0];
    for (name, cell) in header.split(',').zip(row.split(',')) {
        let expected = match &capture["summary"][name] {
            Value::Null => String::new(),
            other => other.to_string(),
        };
        if !["begun", "ended"].contains(&name) {
            let (cell, expected) = (cell.trim_end_matches(".0"), expected.trim_end_matches(".0"));
            assert_eq!(cell, expected, "{name}");
        }
    }
    assert_eq!(capture["summary"]["tlp_detection_p50_ms"], json!(300.125));
    assert_eq!(capture["summary"]["data_tlp_spurious"], json!(5));
    assert_eq!(capture["slowest"][0]["connection"], json!(9));
    assert_eq!(capture["senders"][0]["identification"], "several");
    assert!(capture["study"]["connections"].is_object());
}

/// The connection is found with its own retransmissions on any thread. The notes cover all
/// connections.
#[test]
fn one_connection_is_selected_from_all() {
    let pick = |number: Option<u64>, findings: &[ConnectionRow]| {
        let mut one = OneConnection::of(number);
        for (connection, retransmissions) in findings {
            one.connection(connection.clone(), retransmissions);
        }
        one
    };
    let all = ten();
    for number in [0, 4, 9] {
        let mut one = pick(Some(number), &all[5..]);
        one.merge(pick(Some(number), &all[..5]));
        assert_eq!((one.connections(), one.vantages().bytes.len()), (10, 4));
        let expected = all.iter().find(|(c, _)| c.id == number);
        assert_eq!((one.row(), one.numbers()), (expected, 10));
    }
    assert!(pick(Some(10), &all).row().is_none());
    // Without a number, the only connection with data is taken, or else the only connection.
    let mut found = all.clone();
    let clear = |row: &mut ConnectionRow| row.0.directions.iter_mut().for_each(|d| d.bytes = 0);
    found[..9].iter_mut().for_each(clear);
    let mut one = pick(None, &found[3..]);
    one.merge(pick(None, &found[..3]));
    assert_eq!(one.row(), Some(&found[9]));
    clear(&mut found[9]);
    assert!(pick(None, &found).row().is_none());
    assert_eq!(pick(None, &found[9..]).row(), Some(&found[9]));
    assert!(pick(None, &all).row().is_none());
    assert!(pick(None, &[]).row().is_none());
}

/// A merged file has a connection for each capture point. The nearest to the sender of most data is
/// drawn.
#[test]
fn of_several_capture_points_the_nearest_to_the_sender_is_selected() {
    let (mut connection, rows) = ten().swap_remove(0);
    connection.capture_point.count = 2;
    for (bytes, nearest) in [([900, 100], 0), ([100, 900], 1)] {
        for order in [[0, 1], [1, 0]] {
            let mut one = OneConnection::of(None);
            for number in order {
                connection.capture_point.number = number;
                for (direction, bytes) in connection.directions.iter_mut().zip(bytes) {
                    direction.bytes = bytes;
                }
                one.connection(connection.clone(), &rows);
            }
            let (chosen, _) = one.row().expect("a connection");
            assert_eq!(chosen.capture_point.number, nearest, "{bytes:?}, {order:?}");
            assert_eq!((one.numbers(), one.connections()), (1, 2));
        }
    }
}

#[test]
fn notes_name_the_limits_of_a_capture() {
    let mut at_receiver = one_connection();
    at_receiver[0].0.directions[0].vantage = Vantage::Receiver;
    let mut found: Analyzed<AllRetransmissions> = analyzed(&at_receiver);
    let notes = found.notes();
    assert_eq!(notes.len(), 1, "{notes:?}");
    assert!(notes[0].starts_with("100 % of the data was captured at the receiver"));
    found.interrupted = true;
    found.counts.dropped = Some(4);
    let notes = found.notes();
    assert!(notes[0].starts_with("interrupted: only the first 1000 frames"));
    assert!(notes[1].contains("dropped 4 packets"), "{notes:?}");

    let at_sender: Analyzed<Summary> = analyzed(&one_connection());
    assert_eq!(at_sender.notes(), [""; 0]);
    let mut no_tcp: Analyzed<Summary> = analyzed(&[]);
    no_tcp.counts.packets = 0;
    assert_eq!(no_tcp.notes(), ["the capture contains no TCP segments"]);
}

#[test]
fn a_note_recommends_a_snaplen() {
    // TCP, from port 80 to 9, with 12 bytes of options on the wire, of which 4 were captured.
    let mut cut = vec![0x45, 0, 0, 52, 0, 0, 0, 0, 64, 6, 0, 0];
    cut.extend([10, 0, 0, 1, 10, 0, 0, 2]);
    cut.extend([0, 80, 0, 9, 0, 0, 0, 1, 0, 0, 0, 1, 0x80, 0x10, 1, 0, 0, 0, 0, 0]);
    cut.extend([1, 1, 5, 10]);
    let notes = summarized(&capture(&[&cut])).unwrap().notes();
    let recommends = |note: &String| note.contains("at least 128 bytes of each packet");
    assert!(notes.iter().any(recommends), "{notes:?}");
}

/// A pcap file of raw IP packets.
fn capture(packets: &[&[u8]]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let words = [0xa1b2_c3d4_u32, 0x0004_0002, 0, 0, 65535, 101];
    bytes.extend(words.iter().flat_map(|word| word.to_le_bytes()));
    for packet in packets {
        let len = packet.len() as u32;
        let words = [0, 0, len, len];
        bytes.extend(words.iter().flat_map(|word| word.to_le_bytes()));
        bytes.extend_from_slice(packet);
    }
    bytes
}

fn summarized(bytes: &[u8]) -> Result<Analyzed<Summary>, AnalysisError> {
    let reader = Reader::new("x", bytes).unwrap();
    let settings = Settings { threads: 0, ..Settings::default() };
    super::run("x", reader, &settings, Summary::default, |_| true)
}

#[test]
fn a_capture_without_a_readable_frame_is_an_error() {
    let run = summarized;
    let cut: &[u8] = &[0x45, 0, 0, 40];
    let error = |bytes: &[u8]| run(bytes).unwrap_err().to_string();
    assert_eq!(error(&capture(&[cut])), "x: no readable frame: its only frame is cut before the end of the TCP header");
    assert_eq!(
        error(&capture(&[cut, cut])),
        "x: no readable frame: 2 of 2 frames: cut before the end of the TCP header"
    );
    let mut damaged = capture(&[]);
    damaged.extend_from_slice(&[0xff; 100]);
    let message = error(&damaged);
    assert!(message.starts_with("x: no readable frame: damaged at byte 24"), "{message}");
    // An empty capture is no error, and neither is other traffic.
    assert_eq!(run(&capture(&[])).unwrap().notes(), ["the capture contains no packets"]);
    let udp = [&[0x45, 0, 0, 28, 0, 0, 0, 0, 64, 17][..], &[0; 18]].concat();
    assert_eq!(run(&capture(&[&udp, cut])).unwrap().counts.frames, 2);
}

/// A merged file holds a download at the client, where the first packet of a retransmission is the
/// only one, and at the server.
#[test]
fn totals_of_a_merged_file_count_each_direction_at_its_sender() {
    let at = |number: u32, id: u64, segments: u64| {
        let mut rows = Vec::new();
        let mut connection = connection(id, ms(500), &[]);
        connection.capture_point.number = number;
        connection.capture_point.count = 2;
        connection.capture_point.apart = Some(ms(25));
        connection.directions[1] = Direction { segments, bytes: segments * 1000, ..Direction::default() };
        if segments == 50 {
            let row = Retransmission {
                connection: id,
                endpoints: connection.endpoints.reverse(),
                capture_point: number,
                ..retransmission()
            };
            connection.directions[1].retransmissions.add(row.triggers, row.verdict);
            rows.push(row);
        }
        (connection, rows)
    };
    let mut merged = Summary::default();
    for (connection, rows) in [at(0, 0, 49), at(1, 1, 50)] {
        merged.connection(connection, &rows);
    }
    assert_eq!(merged.connections, 1);
    assert_eq!((merged.segments, merged.bytes), (150, 144_800 + 50_000));
    assert_eq!(merged.data.total(), 1);
    assert_eq!((merged.vantages.capture_points, merged.vantages.merged), (2, 1));

    let mut found = analyzed::<AllRetransmissions>(&[at(0, 0, 49), at(1, 1, 50)]);
    let notes = found.notes();
    let note = "the capture holds 1 connection at 2 capture points, 25.0 ms apart";
    assert!(notes.iter().any(|line| line.starts_with(note)), "{notes:?}");
    assert!(AllRetransmissions::text(&found).contains("| point |"));
    found.findings = AllRetransmissions::default();
    assert!(!AllRetransmissions::text(&found).contains("point"));
}

#[test]
fn packed_connections_are_those_of_the_view_of_connections() {
    let mut findings = ten();
    // This connection needs a block of its own.
    let names = vec![explanation("linux-6"); 50_000];
    findings[3].0.directions[0].profile = Identification::Several(names);
    findings.rotate_left(4);
    let plain: Analyzed<AllConnections> = analyzed(&findings);
    let mut packed: Analyzed<Everything> = analyzed(&findings[..5]);
    (packed.findings).merge(analyzed::<Everything>(&findings[5..]).findings);
    packed.findings.order();
    let packed = packed.findings.connections;
    assert_eq!(packed.rows(0..packed.len()).unwrap(), plain.findings.rows);
    assert_eq!(packed.rows(2..4).unwrap(), plain.findings.rows[2..4]);
}

#[test]
fn packed_connections_show_revised_verdicts() {
    let (connection, rows) = ten().swap_remove(4);
    let retransmission = Retransmission { connection: connection.id, verdict: Verdict::Needed, ..rows[0] };
    let revision = Revision {
        retransmission,
        before: (rows[0].verdict, rows[0].evidence),
        cause_before: None,
        host: retransmission.endpoints.dst.ip(),
        fact: ReportsDuplicates::No,
    };
    let mut plain = AllConnections::default();
    let mut packed = Everything::default();
    for (connection, rows) in ten() {
        plain.connection(connection.clone(), &rows);
        packed.connection(connection, &rows);
    }
    let before = plain.rows[4].clone();
    plain.revision(&revision);
    packed.revision(&revision);
    plain.order();
    packed.order();
    assert_ne!(plain.rows[4], before);
    assert_eq!(packed.connections.rows(0..10).unwrap(), plain.rows);
}
