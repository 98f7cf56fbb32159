use super::*;
use recoup_path::PathSpec;
use recoup_path::{DropCause, HopSpec};
use recoup_recovery::{LossDetector, Profile, State, Timer, Trigger};
use recoup_sim::{FlowSpec, Simulation, TimerModel};
use recoup_tcp as tcp;
use recoup_tcp::flow::Workload;
use recoup_units::Span;
use recoup_wire::{Options, SackBlocks};
use serde_json::{Value, json};
use std::time::Duration;

const COMMON: [&str; 5] = ["time_ms", "profile", "flow", "host", "event"];

fn span(start: u64, end: u64) -> Span {
    Span::new(Offset(start), Offset(end))
}

/// The lines of a writer, as text and as JSON.
fn lines(writer: EventWriter<Vec<u8>>) -> Vec<(String, Value)> {
    let text = String::from_utf8(writer.finish().unwrap()).unwrap();
    assert!(text.ends_with('\n'));
    let parse = |line: &str| (line.to_string(), serde_json::from_str(line).expect(line));
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some(SCHEMA.header().trim_end()));
    lines.map(parse).collect()
}

/// The fields of a line without the common ones, which must be there.
fn own_keys(line: &Value) -> Value {
    let mut object = line.as_object().unwrap().clone();
    for key in COMMON {
        assert!(object.remove(key).is_some(), "{key} in {line}");
    }
    Value::Object(object)
}

#[test]
fn every_event_is_a_line_with_its_keys() {
    let sent = |what| Event::Sent { what, pipe: Segments(3), cwnd: Segments(10) };
    let acked = |dsack| Event::Acked {
        una: Offset(1449),
        newly_acked: Segments(1),
        newly_sacked: Segments(2),
        dsack,
        copy_reported: false,
    };
    let changed = |ssthresh| Event::StateChanged {
        from: State::Open,
        to: State::Recovery,
        cwnd: Segments(7),
        ssthresh,
        pipe: Segments(4),
    };
    let micros = Duration::from_micros;
    let timer = Timer::Probe;
    let cases = [
        (
            sent(Transmission::New(span(1, 1449))),
            "sent",
            json!({"what": "new", "start": 1, "end": 1449, "trigger": null, "pipe": 3, "cwnd": 10}),
        ),
        (
            sent(Transmission::NewProbe(span(1, 2))),
            "sent",
            json!({"what": "new_probe", "start": 1, "end": 2, "trigger": null, "pipe": 3, "cwnd": 10}),
        ),
        (
            sent(Transmission::Again(span(1, 2), Trigger::SlowStart)),
            "sent",
            json!({"what": "again", "start": 1, "end": 2, "trigger": "slow_start", "pipe": 3, "cwnd": 10}),
        ),
        (
            sent(Transmission::Copy(span(1, 2))),
            "sent",
            json!({"what": "copy", "start": 1, "end": 2, "trigger": null, "pipe": 3, "cwnd": 10}),
        ),
        (
            Event::CopyWithheld { span: span(1, 2), another_out: true },
            "copy_withheld",
            json!({"start": 1, "end": 2, "by": "another_out"}),
        ),
        (
            sent(Transmission::WindowProbe),
            "sent",
            json!({"what": "window_probe", "start": null, "end": null, "trigger": null, "pipe": 3, "cwnd": 10}),
        ),
        (
            acked(None),
            "acked",
            json!({"una": 1449, "newly_acked": 1, "newly_sacked": 2, "dsack": null, "copy_reported": false}),
        ),
        (
            acked(Some(span(5, 9))),
            "acked",
            json!({"una": 1449, "newly_acked": 1, "newly_sacked": 2, "dsack": [5, 9], "copy_reported": false}),
        ),
        (
            Event::RttSample { rtt: micros(80_000), srtt: micros(80_125), rto: micros(280_125) },
            "rtt_sample",
            json!({"rtt_ms": 80.0, "srtt_ms": 80.125, "rto_ms": 280.125}),
        ),
        (
            Event::MarkedLost { span: span(7, 8), by: LossDetector::Threshold },
            "marked_lost",
            json!({"start": 7, "end": 8, "by": "threshold"}),
        ),
        (
            Event::TimerSet { timer, at: Some(Instant::from_millis(7)) },
            "timer_set",
            json!({"timer": "probe", "at_ms": 7.0}),
        ),
        (Event::TimerSet { timer, at: None }, "timer_set", json!({"timer": "probe", "at_ms": null})),
        (Event::TimerFired { timer: Timer::Rto }, "timer_fired", json!({"timer": "rto"})),
        (
            changed(Segments(7)),
            "state_changed",
            json!({"from": "open", "to": "recovery", "cwnd": 7, "ssthresh": 7, "pipe": 4}),
        ),
        (
            changed(Segments::MAX),
            "state_changed",
            json!({"from": "open", "to": "recovery", "cwnd": 7, "ssthresh": null, "pipe": 4}),
        ),
        (Event::ProbeRepairedLoss, "probe_repaired_loss", json!({})),
        (Event::Reneged, "reneged", json!({})),
        (Event::GaveUp, "gave_up", json!({})),
    ];
    for (event, name, keys) in cases {
        let mut writer = EventWriter::new(Vec::new(), "linux-3.17");
        let at = Instant::from_nanos(1_234_000_001);
        writer.on_event(at, FlowId(5), Host::Server, &event);
        let lines = lines(writer);
        let [(text, line)] = lines.as_slice() else {
            panic!("one line: {lines:?}");
        };
        assert!(text.starts_with("{\"time_ms\":1234.000001,"), "{text}");
        assert_eq!(line["profile"], "linux-3.17");
        assert_eq!(line["flow"], 5);
        assert_eq!(line["host"], "server");
        assert_eq!(line["event"], name);
        assert_eq!(own_keys(line), keys, "{text}");
        // The documentation names the event and its keys.
        let documentation = include_str!("../../../../docs/events.md");
        for key in keys.as_object().unwrap().keys() {
            assert!(documentation.contains(&format!("`{key}`")), "{key}");
        }
        assert!(documentation.contains(&format!("| `{name}`")), "{name}");
    }
}

fn packet(seq: u32, ack: Option<u32>, flags: Flags, len: u32, ordinal: u64) -> Packet {
    let segment = Segment {
        seq: SeqNumber(seq),
        ack: SeqNumber(ack.unwrap_or(0)),
        flags,
        payload_len: len,
        ..Segment::default()
    };
    Packet::new(FlowId(0), ordinal, segment)
}

#[test]
fn packet_lines_have_offsets() {
    // The client's ISN is just below the wrap, the server's 1000.
    let isn = u32::MAX;
    let mut data = packet(1001, Some(0), Flags::PSH | Flags::ACK, 500, 1);
    let mut ack = packet(0, Some(1001), Flags::ACK, 0, 2);
    let block = |a, b| [SeqNumber(a), SeqNumber(b)];
    ack.segment.options =
        Options { sack: SackBlocks::from_iter([block(1101, 1201), block(1301, 1501)]), ..Options::NONE };
    let syn_ack = packet(1000, Some(0), Flags::SYN | Flags::ACK, 0, 0);
    let (up, down) = (Direction::Up, Direction::Down);
    let mut writer = EventWriter::new(Vec::new(), "p");
    let at = Instant::ZERO;
    writer.on_packet(at, Point::Sent, up, &packet(isn, None, Flags::SYN, 0, 0));
    writer.on_packet(at, Point::Sent, down, &syn_ack);
    writer.on_packet(at, Point::Sent, down, &data);
    writer.on_packet(at, Point::Dropped(DropCause::QueueFull), down, &data);
    data.damage = Some(7);
    writer.on_packet(at, Point::Arrived, down, &data);
    writer.on_packet(at, Point::Sent, up, &ack);

    let expected = [
        (
            "client",
            "packet_sent",
            json!({"direction": "up", "packet": 0, "seq": 0, "ack": null,
            "len": 0, "flags": "S", "sack": [], "damaged": false}),
        ),
        (
            "server",
            "packet_sent",
            json!({"direction": "down", "packet": 0, "seq": 0, "ack": 1,
            "len": 0, "flags": "S.", "sack": [], "damaged": false}),
        ),
        (
            "server",
            "packet_sent",
            json!({"direction": "down", "packet": 1, "seq": 1, "ack": 1,
            "len": 500, "flags": "P.", "sack": [], "damaged": false}),
        ),
        (
            "",
            "packet_dropped",
            json!({"direction": "down", "packet": 1, "seq": 1, "ack": 1,
            "len": 500, "flags": "P.", "sack": [], "damaged": false, "cause": "queue full"}),
        ),
        (
            "client",
            "packet_arrived",
            json!({"direction": "down", "packet": 1, "seq": 1, "ack": 1,
            "len": 500, "flags": "P.", "sack": [], "damaged": true}),
        ),
        (
            "client",
            "packet_sent",
            json!({"direction": "up", "packet": 2, "seq": 1, "ack": 1,
            "len": 0, "flags": ".", "sack": [[101, 201], [301, 501]], "damaged": false}),
        ),
    ];
    let lines = lines(writer);
    assert_eq!(lines.len(), expected.len());
    for ((text, line), (host, event, keys)) in lines.iter().zip(expected) {
        assert_eq!(line["host"].as_str().unwrap_or(""), host, "{text}");
        assert_eq!(line["event"], event, "{text}");
        assert_eq!(own_keys(line), keys, "{text}");
    }
}

#[test]
fn offsets_continue_when_sequence_numbers_wrap() {
    const STEP: u64 = 1 << 30;
    let mut writer = EventWriter::new(Vec::new(), "p");
    let syn = packet(7, None, Flags::SYN, 0, 0);
    writer.on_packet(Instant::ZERO, Point::Sent, Direction::Up, &syn);
    for i in 0..9 {
        let seq = SeqNumber(7).at(Offset(1 + i * STEP));
        let data = packet(seq.0, None, Flags::ACK, STEP as u32, i + 1);
        writer.on_packet(Instant::ZERO, Point::Sent, Direction::Up, &data);
    }
    let lines = lines(writer);
    let offsets = lines.iter().skip(1).map(|(_, line)| line["seq"].as_u64());
    let expected = (0..9).map(|i| Some(1 + i * STEP));
    assert!(offsets.eq(expected), "{lines:?}");
}

/// Flows of three segments over an RTT of 80 ms; the last segment is lost.
fn tail_loss(flows: u64, observer: &mut impl Observer) {
    let profile: Profile = "linux-3.17".parse().unwrap();
    let config = tcp::Config::new(*profile.mechanisms());
    let spec = FlowSpec {
        client: config,
        server: config,
        timers: TimerModel::Exact,
        workload: Workload::exchange(0, 3 * 1448),
    };
    let owd = HopSpec::Delay(Duration::from_millis(40));
    let mut simulation =
        Simulation::new(&PathSpec { up: vec![owd.clone()], down: vec![HopSpec::Loss("data:3".parse().unwrap()), owd] })
            .unwrap();
    for flow in 0..flows {
        simulation.run(&spec, 1, FlowId(flow), observer);
    }
}

/// A line's time, event and main field.
fn brief(line: &Value) -> String {
    let about = ["start", "seq", "una", "timer", "to", "trigger", "cause"].map(|key| &line[key]);
    let about = about.into_iter().filter(|value| !value.is_null());
    let words = [&line["time_ms"], &line["event"]].into_iter().chain(about);
    let words: Vec<_> = words.map(|word| word.to_string().replace('"', "")).collect();
    words.join(" ")
}

#[test]
fn the_events_of_a_tail_loss_are_in_order() {
    let mut writer = EventWriter::new(Vec::new(), "linux-3.17");
    tail_loss(1, &mut writer);
    let lines = lines(writer);
    let times = lines.iter().map(|(_, line)| line["time_ms"].as_f64().unwrap());
    assert!(times.is_sorted());
    // The server's lines from its first data on, without timers set and RTT samples.
    let wanted = |line: &&Value| {
        let skipped = line["event"] == "timer_set" || line["event"] == "rtt_sample";
        line["host"] != "client" && !skipped
    };
    let found: Vec<_> =
        lines.iter().map(|(_, line)| line).filter(wanted).skip_while(|line| line["start"] != 1).map(brief).collect();
    let expected = [
        "120.0 sent 1",
        "120.0 sent 1449",
        "120.0 sent 2897",
        "120.0 packet_sent 1",
        "120.0 packet_sent 1449",
        "120.0 packet_sent 2897",
        "120.0 packet_dropped 2897 loss",
        "200.0 packet_arrived 1",
        "200.0 acked 1449",
        "200.0 packet_arrived 1",
        "200.0 acked 2897",
        "480.0 timer_fired rto",
        "480.0 marked_lost 2897",
        "480.0 state_changed loss",
        "480.0 sent 2897 rto",
        "480.0 packet_sent 2897",
        "560.0 packet_arrived 1",
        "560.0 acked 4345",
        "560.0 state_changed open",
    ];
    assert_eq!(found, expected);
}

#[test]
fn lines_name_their_flow_and_profile() {
    let mut writer = EventWriter::new(Vec::new(), "a");
    tail_loss(2, &mut writer);
    writer.set_profile("\"b\"\n");
    tail_loss(1, &mut writer);
    let lines = lines(writer);
    let mut runs: Vec<_> = lines.iter().map(|(_, l)| (l["profile"].clone(), l["flow"].clone())).collect();
    runs.dedup();
    let expected = [("a", 0), ("a", 1), ("\"b\"\n", 0)];
    assert_eq!(runs, expected.map(|(p, f)| (Value::from(p), Value::from(f))));
    // Every flow's SYN is at offset 0, whatever its ISN.
    let syns: Vec<_> = lines.iter().filter(|(_, l)| l["flags"] == "S").collect();
    assert_eq!(syns.len(), 6);
    assert!(syns.iter().all(|(_, l)| l["seq"] == 0), "{syns:?}");
}

/// A disk with room for this many bytes.
#[derive(Debug)]
struct Full(usize);

impl Write for Full {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 = self.0.checked_sub(bytes.len()).ok_or(io::ErrorKind::StorageFull)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_full_disk_is_reported_at_the_end() {
    for (room, full) in [(0, true), (10_000, true), (1_000_000, false)] {
        let mut writer = EventWriter::new(Full(room), "p");
        tail_loss(2, &mut writer);
        let result = writer.finish().map_err(|error| error.kind());
        assert_eq!(result.err(), full.then_some(io::ErrorKind::StorageFull), "{room}");
    }
}
