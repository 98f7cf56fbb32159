//! Traces of QUIC (qlog): those of real stacks over a path whose losses are known (`tests/qlog/README.md`), and the forms and
//! names of other versions.

use proptest::prelude::*;
use recoup_trace::analyze::Findings;
use recoup_trace::finding::{Cause, Closing, Connection, QuicTrigger, Retransmission, Revision, SenderState, Verdict};
use recoup_trace::read::{Counts, Ending, OpenedInput, ReadError, Reader};
use std::path::Path;
use std::time::Duration;

use QuicTrigger::{PacketThreshold, Probe, TimeThreshold};
use Verdict::{Needed, Spurious, Unknowable};

/// The connections of a trace.
#[derive(Debug, Default)]
struct All(Vec<(Connection, Vec<Retransmission>)>);

impl Findings for All {
    fn connection(&mut self, connection: Connection, rows: &[Retransmission]) {
        self.0.push((connection, rows.to_vec()));
    }

    fn revision(&mut self, _: &Revision) {}
}

fn read(opened: OpenedInput<'_>) -> (Counts, All) {
    let mut all = All::default();
    let (counts, is_whole) = opened.into_qlog().expect("a trace of QUIC").read(&mut all, true, |_| true);
    assert!(is_whole);
    (counts, all)
}

/// Reads a trace of `tests/qlog`.
fn read_file(name: &str) -> (Counts, All) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/qlog").join(name);
    read(OpenedInput::open(&path).expect("a file"))
}

fn read_text(text: &str) -> (Counts, All) {
    read(OpenedInput::new("trace", text.as_bytes()).expect("a text"))
}

/// The only connection.
fn only(all: All) -> (Connection, Vec<Retransmission>) {
    let [one] = <[_; 1]>::try_from(all.0).expect("one connection");
    one
}

/// How often each rule found a loss, with which verdict.
fn found(connection: &Connection) -> Vec<(QuicTrigger, Verdict, u64)> {
    let quic = connection.quic.as_ref().expect("QUIC");
    let cells = QuicTrigger::ALL.into_iter().flat_map(|trigger| Verdict::ALL.map(|verdict| (trigger, verdict)));
    cells.map(|(trigger, verdict)| (trigger, verdict, quic.count(trigger, verdict))).filter(|(.., n)| *n > 0).collect()
}

fn own(connection: &Connection) -> &recoup_trace::finding::Direction {
    &connection.directions[connection.quic.as_ref().expect("QUIC").traced]
}

/// What the path did to a connection, as its sender's trace shows it: how losses were found, and the cause of lost time.
type Truth = (&'static str, &'static [(QuicTrigger, Verdict, u64)], Option<Cause>);

const TRUTHS: [Truth; 16] = [
    ("aioquic-single.qlog.gz", &[(TimeThreshold, Needed, 1)], Some(Cause::LostSegment)),
    ("aioquic-burst.qlog.gz", &[(PacketThreshold, Needed, 3), (TimeThreshold, Needed, 1)], Some(Cause::Burst)),
    ("aioquic-tail.qlog.gz", &[(TimeThreshold, Needed, 1), (Probe, Needed, 1)], Some(Cause::TailByProbe)),
    ("aioquic-reorder.qlog.gz", &[(TimeThreshold, Spurious, 2)], Some(Cause::Reordering)),
    ("aioquic-late-acks.qlog.gz", &[(Probe, Spurious, 1)], Some(Cause::LateOrLostAcks)),
    ("aioquic-lost-twice.qlog.gz", &[(TimeThreshold, Needed, 1), (Probe, Needed, 1)], Some(Cause::LostRetransmission)),
    (
        "aioquic-silence.qlog.gz",
        &[(PacketThreshold, Needed, 15), (TimeThreshold, Needed, 1), (Probe, Needed, 4)],
        Some(Cause::LostRetransmission),
    ),
    ("aioquic-handshake-client.qlog.gz", &[(Probe, Needed, 1)], Some(Cause::LostHandshakePacket)),
    // The client's packet arrived: its answer was lost.
    ("aioquic-handshake-server.qlog.gz", &[(Probe, Spurious, 1)], Some(Cause::LostHandshakePacket)),
    ("aioquic-flow-control.qlog.gz", &[], None),
    ("aioquic-idle.qlog.gz", &[], None),
    // quinn logs no ACKs, and names the packet threshold whatever the rule.
    ("quinn-single.sqlog.gz", &[(PacketThreshold, Unknowable, 1)], Some(Cause::LostSegment)),
    ("quinn-burst.sqlog.gz", &[(PacketThreshold, Unknowable, 5)], Some(Cause::Burst)),
    ("quinn-tail.sqlog", &[(PacketThreshold, Unknowable, 2), (Probe, Unknowable, 1)], Some(Cause::TailByProbe)),
    ("quinn-late-acks.sqlog", &[(Probe, Spurious, 1)], Some(Cause::LateOrLostAcks)),
    (
        "quinn-handshake-client.sqlog.gz",
        &[(PacketThreshold, Unknowable, 1), (Probe, Unknowable, 1)],
        Some(Cause::LostHandshakePacket),
    ),
];

#[test]
fn losses_rules_verdicts_and_causes_are_those_of_the_path() {
    for (name, expected, cause) in TRUTHS {
        let (counts, all) = read_file(name);
        assert_eq!(counts.ending, Ending::Whole, "{name}");
        let (connection, rows) = only(all);
        assert_eq!(found(&connection), expected, "{name}");
        let causes: Vec<Cause> = rows.iter().filter_map(|row| row.cost).map(|cost| cost.cause).collect();
        assert_eq!(causes, Vec::from_iter(cause), "{name}");
        let own = own(&connection);
        assert_eq!(own.time.total(), connection.duration(), "{name}");
        assert_eq!(own.lost.total(), rows.iter().filter_map(|row| row.cost).map(|cost| cost.lost).sum(), "{name}");
        let client = name.contains("handshake");
        assert_eq!(connection.quic.as_ref().map(|quic| quic.traced), Some(usize::from(!client)), "{name}");
    }
}

/// How much later the answer was complete than without what the path did, in ms.
const COMPLETED_LATER: [(&str, f64); 4] = [
    ("aioquic-tail.qlog.gz", 155.6),
    ("aioquic-handshake-client.qlog.gz", 200.0),
    ("aioquic-handshake-server.qlog.gz", 203.0),
    ("aioquic-silence.qlog.gz", 1802.1),
];

#[test]
fn what_lost_tails_and_handshakes_cost_is_what_they_delayed() {
    for (name, later) in COMPLETED_LATER {
        let (connection, _) = only(read_file(name).1);
        let lost = own(&connection).lost.total().as_secs_f64() * 1e3;
        assert!((lost - later).abs() < 0.05 * later, "{name}: {lost} ms, {later} ms later");
    }
}

#[test]
fn states_show_flow_control_and_idle_applications() {
    let time = |name: &str, state: SenderState| own(&only(read_file(name).1).0).time.of(state);
    // Twice, the credit was used up for most of a round trip.
    let held_up = time("aioquic-flow-control.qlog.gz", SenderState::ReceiverWindow);
    assert!((Duration::from_millis(60)..Duration::from_millis(140)).contains(&held_up), "{held_up:?}");
    assert_eq!(time("aioquic-single.qlog.gz", SenderState::ReceiverWindow), Duration::ZERO);
    let idle = time("aioquic-idle.qlog.gz", SenderState::Application);
    assert!((Duration::from_millis(800)..Duration::from_millis(950)).contains(&idle), "{idle:?}");
}

/// The events of a server that lost packet 1 of five, in the names of a version.
fn events([sent, received, lost]: [&str; 3]) -> Vec<String> {
    let event = |at: f64, name: &str, number: u64, rest: &str| {
        let header = format!(r#""header":{{"packet_type":"1RTT","packet_number":{number}}}"#);
        format!(r#"{{"time":{at},"name":"{name}","data":{{{header},{rest}}}}}"#)
    };
    let data = |part: u64| {
        let offset = 1000 * part;
        format!(
            r#""raw":{{"length":1050}},"frames":[{{"frame_type":"stream","stream_id":0,"offset":{offset},"length":1000}}]"#
        )
    };
    let ack = |ranges: &str| format!(r#""frames":[{{"frame_type":"ack","ack_delay":0,"acked_ranges":[{ranges}]}}]"#);
    let mut events = vec![event(0.0, received, 7, r#""frames":[{"frame_type":"stream","stream_id":0,"length":10}]"#)];
    events.extend((0..5).map(|n| event(1.0 + n as f64, sent, n, &data(n))));
    events.extend([
        event(51.0, received, 8, &ack("[0]")),
        event(55.0, received, 9, &ack("[2,4],[0,0]")),
        event(55.0, lost, 1, r#""trigger":"reordering_threshold""#),
        event(55.0, sent, 5, &data(1)),
        event(105.0, received, 10, &ack("[2,5],[0,0]")),
        event(160.0, received, 11, r#""frames":[{"frame_type":"ping"}]"#),
    ]);
    events
}

const CURRENT: [&str; 3] = ["quic:packet_sent", "quic:packet_received", "quic:packet_lost"];
const OLD: [&str; 3] = ["transport:packet_sent", "transport:packet_received", "recovery:packet_lost"];

/// The same trace in every form.
fn forms() -> Vec<(&'static str, String)> {
    let old = r#"{"qlog_version":"0.3","qlog_format":"JSON","traces":[{"common_fields":{"ODCID":"c1","time_format":"relative","reference_time":1700000000000},"events":["#;
    let current = r#"{"file_schema":"urn:ietf:params:qlog:file:contained","serialization_format":"application/qlog+json","traces":[{"vantage_point":{"type":"server"},"common_fields":{"group_id":"c1","reference_time":{"clock_type":"system","epoch":"2023-11-14T22:13:20Z"}},"event_schemas":["urn:ietf:params:qlog:events:quic-12"],"events":["#;
    let sequential = r#"{"file_schema":"urn:ietf:params:qlog:file:sequential","trace":{"vantage_point":{"type":"server"},"common_fields":{"group_id":"c1"},"event_schemas":["urn:ietf:params:qlog:events:quic"]}}"#;
    let records: Vec<String> = std::iter::once(sequential.to_owned()).chain(events(CURRENT)).collect();
    vec![
        ("0.3, one text", format!("{old}{}],\"vantage_point\":{{\"type\":\"server\"}}}}]}}", events(OLD).join(","))),
        ("current drafts, one text", format!("{current}{}]}}]}}", events(CURRENT).join(","))),
        ("a sequence", records.iter().map(|record| format!("\u{1e}{record}\n")).collect()),
        ("a JSON text a line", records.join("\n") + "\n"),
    ]
}

#[test]
fn every_form_and_version_shows_the_same_loss() {
    for (form, text) in forms() {
        let (counts, all) = read_text(&text);
        assert_eq!((counts.ending.clone(), counts.frames), (Ending::Whole, 12), "{form}: {text}");
        assert_eq!(counts.notes(), [""; 0], "{form}");
        let (connection, rows) = only(all);
        assert_eq!(connection.name(), "client > server (c1)", "{form}");
        assert_eq!(found(&connection), [(PacketThreshold, Needed, 1)], "{form}");
        let cost = rows[0].cost.expect("the first of an episode");
        assert_eq!((rows[0].frame, rows[0].seq.0, cost.cause), (9, 1, Cause::LostSegment), "{form}");
        // The last packet was due 50 ms after it was sent, at 55 ms, and all had arrived at 105 ms.
        assert_eq!(cost.lost, Duration::from_millis(50), "{form}");
        assert_eq!(own(&connection).bytes, 6_000, "{form}");
        let is_dated = counts.first_frame_at.expect("an event").as_nanos() > 1_600_000_000_000_000_000;
        assert_eq!(is_dated, form.ends_with("one text"), "{form}");
    }
}

#[test]
fn a_trace_that_is_cut_shows_what_it_holds() {
    for (form, text) in forms() {
        let at = text.rfind("packet_lost").expect("a loss") + 20;
        let (counts, all) = read_text(&text[..at]);
        assert!(matches!(counts.ending, Ending::Cut { .. }), "{form}: {:?}", counts.ending);
        assert_eq!(counts.frames, 8, "{form}");
        assert_eq!(counts.notes(), ["after event 8: the trace ends within an event"], "{form}");
        assert_eq!(only(all).0.packets, 8, "{form}");
    }
}

#[test]
fn a_record_that_is_no_json_is_left_out() {
    let (_, text) = forms().remove(2);
    let damaged = text.replacen("\"name\":\"quic:packet_received\"", "\"name\":", 1);
    let (counts, all) = read_text(&damaged);
    assert_eq!(counts.notes(), ["left out 1 event that cannot be read, the first after event 0"]);
    assert_eq!(found(&only(all).0), [(PacketThreshold, Needed, 1)]);
}

#[test]
fn events_may_be_lists_of_fields() {
    // As mvfst writes them: draft-00, times in µs as strings.
    let text = r#"{"qlog_version":"draft-00","traces":[{"common_fields":{"dcid":"ab","reference_time":"0"},
        "configuration":{"time_offset":0,"time_units":"us"},
        "event_fields":["relative_time","category","event","data"],
        "events":[
        ["1000","transport","packet_received",{"packet_type":"1RTT","header":{"packet_number":1,"packet_size":40},"frames":[]}],
        ["2000","transport","packet_sent",{"packet_type":"1RTT","header":{"packet_number":0,"packet_size":1252},
            "frames":[{"frame_type":"STREAM","stream_id":"0","offset":0,"length":1000}]}],
        ["52000","transport","packet_received",{"packet_type":"1RTT","header":{"packet_number":2,"packet_size":40},
            "frames":[{"frame_type":"ACK","acked_ranges":[["0","0"]]}]}]
        ],"vantage_point":{"type":"SERVER"}}]}"#;
    let (counts, all) = read_text(text);
    assert_eq!((counts.frames, counts.packets), (3, 3));
    let (connection, _) = only(all);
    assert_eq!(connection.duration(), Duration::from_millis(51));
    assert_eq!(own(&connection).rtt.expect("a sample").p50, Duration::from_millis(50));
}

#[test]
fn the_senders_own_marks_and_addresses_are_read() {
    // As quic-go writes them: `spurious_loss` is no event of the drafts.
    let text = concat!(
        "\u{1e}{\"qlog_format\":\"JSON-SEQ\",\"qlog_version\":\"0.3\",\"trace\":{\"vantage_point\":{\"type\":\"client\"}}}\n",
        "\u{1e}{\"time\":0,\"name\":\"transport:connection_started\",\"data\":{\"src_ip\":\"192.0.2.1\",\"src_port\":4000,\"dst_ip\":\"192.0.2.2\",\"dst_port\":443}}\n",
        "\u{1e}{\"time\":0,\"name\":\"transport:packet_sent\",\"data\":{\"header\":{\"packet_type\":\"1RTT\",\"packet_number\":4},\"frames\":[{\"frame_type\":\"ping\"}]}}\n",
        "\u{1e}{\"time\":30,\"name\":\"recovery:packet_lost\",\"data\":{\"header\":{\"packet_type\":\"1RTT\",\"packet_number\":4},\"trigger\":\"time_threshold\"}}\n",
        "\u{1e}{\"time\":40,\"name\":\"recovery:spurious_loss\",\"data\":{\"packet_number_space\":\"application_data\",\"packet_number\":4}}\n",
        "\u{1e}{\"time\":50,\"name\":\"transport:connection_closed\",\"data\":{\"trigger\":\"idle_timeout\"}}\n",
    );
    let (connection, _) = only(read_text(text).1);
    assert_eq!(connection.name(), "192.0.2.1:4000 > 192.0.2.2:443");
    assert_eq!(found(&connection), [(TimeThreshold, Spurious, 1)]);
    assert_eq!(connection.quic.as_ref().map(|quic| quic.marked_spurious), Some(1));
    assert_eq!(connection.closing, Closing::Idle);
}

#[test]
fn connections_of_one_trace_are_told_apart_and_delta_times_add_up() {
    let text = r#"{"qlog_version":"0.3","traces":[{"common_fields":{"time_format":"delta","reference_time":5},"events":[
        {"time":1,"name":"transport:packet_sent","group_id":"a","data":{"header":{"packet_type":"initial","packet_number":0}}},
        {"time":2,"name":"transport:packet_received","group_id":"b","data":{"header":{"packet_type":"initial","packet_number":0}}},
        {"time":3,"name":"http:frame_parsed","group_id":"b","data":{"anything":true}},
        {"time":4,"name":"transport:packet_sent","group_id":"b","data":{"header":{"packet_type":"initial","packet_number":0}}}]}]}"#;
    let (_, all) = read_text(text);
    let names: Vec<String> = all.0.iter().map(|(connection, _)| connection.name()).collect();
    assert_eq!(names, ["client > server (a)", "client > server (b)"]);
    let traced: Vec<_> = all.0.iter().map(|(connection, _)| connection.quic.as_ref().expect("QUIC").traced).collect();
    assert_eq!(traced, [0, 1]);
    assert_eq!(all.0[1].0.duration(), Duration::from_millis(7));
}

#[test]
fn captures_and_other_texts_are_no_traces() {
    let unknown = |text: &str| match OpenedInput::new("f", text.as_bytes()).expect("a text").into_qlog() {
        Ok(_) => panic!("{text}"),
        Err(opened) => Reader::of(opened).expect_err("no capture").to_string(),
    };
    let expected = "expected a pcap or pcapng capture, plain or compressed by gzip or zstd";
    assert_eq!(unknown("{\"a\":1}"), format!("f: a JSON text, but no qlog trace: {expected}"));
    assert_eq!(unknown("text"), format!("f: not a capture: {expected}"));
    let error = Reader::new("f", "{\"qlog_version\":\"0.3\"}".as_bytes()).expect_err("a trace");
    assert!(matches!(error, ReadError::Qlog { .. }));
    assert_eq!(
        error.to_string(),
        "f: a qlog trace of QUIC, which only `recoup explain` reads: expected a pcap or pcapng capture"
    );
}

/// Whether sums hold that hold for every trace.
fn check(all: &All) {
    for (connection, rows) in &all.0 {
        let own = own(connection);
        assert_eq!(own.time.total(), connection.duration());
        assert!(own.lost.total() <= connection.duration());
        assert_eq!(own.retransmissions.total(), rows.len() as u64);
        assert!(rows.iter().all(|row| row.at >= connection.begun && row.at <= connection.ended));
    }
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..400), sequence: bool) {
        let mut text: Vec<u8> = if sequence { b"\x1e{\"qlog_version\":\"0.3\"}\n\x1e".into() } else { b"{\"qlog_version\":".into() };
        text.extend(bytes);
        check(&read(OpenedInput::new("t", &text[..]).expect("bytes")).1);
    }

    #[test]
    fn a_damaged_trace_is_read(
        form in 0..4_usize,
        cut in 0..100_usize,
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0..3_u8), 0..12),
    ) {
        let mut text = forms().remove(form).1.into_bytes();
        for (at, byte, kind) in changes {
            // The first bytes show that it is a trace.
            let at = 40 + at.index(text.len() - 40);
            match kind {
                0 => text[at] = byte,
                1 => text.insert(at, b'0' + byte % 10),
                _ => text[at] = b"0123456789-.eE\"[]{},:"[usize::from(byte) % 21],
            }
        }
        text.truncate(text.len() - cut.min(text.len() - 200));
        check(&read(OpenedInput::new("t", &text[..]).expect("bytes")).1);
    }

    #[test]
    fn events_in_any_order_are_read(seed in any::<u64>()) {
        let (_, text) = forms().remove(3);
        let mut lines: Vec<&str> = text.lines().collect();
        let events = lines.split_off(1);
        // A permutation by a multiplier that has no factor in common with the number of events.
        let step = [1, 5, 7, 11][(seed % 4) as usize];
        lines.extend((0..events.len()).map(|i| events[(i * step + (seed >> 8) as usize % 12) % events.len()]));
        check(&read_text(&lines.join("\n")).1);
    }
}
