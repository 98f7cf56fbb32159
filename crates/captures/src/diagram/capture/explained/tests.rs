use super::super::tests::{CLIENT, SERVER, download, expected, packet_between, raw_pcap, unframed};
use super::*;
use recoup_draw::sequence::{Mark, MarkKind, Necessity};
use recoup_recovery::Trigger;
use recoup_trace::finding::{CapturePoint, Closing, Evidence, Explanation, Opening, Retransmission, Triggers, Vantage};
use recoup_trace::read::Reader;
use recoup_units::{Instant, Offset, Span};
use recoup_wire::{Endpoints, Flags, SeqNumber};

fn ends() -> Endpoints {
    Endpoints { src: CLIENT.parse().unwrap(), dst: SERVER.parse().unwrap() }
}

/// `ms` after the captures' time 0, which is 1,000,000 s after 1970.
fn at(ms: u64) -> Instant {
    Instant::from_millis(1_000_000_000 + ms)
}

/// A retransmission by the server, in this frame.
fn again(frame: u64, triggers: Triggers, verdict: Verdict) -> Retransmission {
    Retransmission {
        frame,
        at: at(25),
        connection: 3,
        endpoints: ends().reverse(),
        seq: SeqNumber(1),
        len: 1000,
        syn: false,
        fin: false,
        triggers,
        verdict,
        evidence: Evidence::NoDuplicate,
        copy: 1,
        detection: None,
        recovery: None,
        rtt: None,
        flight: 2,
        vantage: Vantage::Sender,
        provisional: false,
        capture_point: 0,
        cost: None,
    }
}

/// The download's connection, with these retransmissions by the server.
fn connection(down: &[Retransmission]) -> finding::Connection {
    let mut directions = [finding::Direction::default(), finding::Direction::default()];
    for row in down {
        directions[1].retransmissions.add(row.triggers, row.verdict);
    }
    finding::Connection {
        id: 3,
        endpoints: ends(),
        frames: 1..=8,
        opening: Opening::Handshake,
        closing: Closing::CaptureEnd,
        begun: at(5),
        ended: at(35),
        packets: 8,
        handshake_rtt: None,
        sack: Some(true),
        ecn: None,
        capture_point: CapturePoint::default(),
        tunnels: Default::default(),
        quic: None,
        directions,
    }
}

fn explained(packets: &[(u64, Vec<u8>)], connection: &finding::Connection, rows: &[Retransmission]) -> Source {
    explained_both(packets, connection, rows, Directions::Main)
}

fn explained_both(
    packets: &[(u64, Vec<u8>)],
    connection: &finding::Connection,
    rows: &[Retransmission],
    directions: Directions,
) -> Source {
    let file = raw_pcap(packets);
    let reader = Reader::new("x.pcap", &file[..]).unwrap();
    let row = [(connection.clone(), rows.to_vec())];
    let mut drawn = draw_connections(reader, &row, directions, usize::MAX, |_| true);
    assert_eq!(drawn.len(), 1);
    drawn.remove(0)
}

/// The marks of the download, with frame 7 drawn as `seventh`.
fn marks(seventh: MarkKind) -> Vec<Mark> {
    let again = |kind: &MarkKind| matches!(kind, MarkKind::Explained { .. });
    let replaced = |mark: Mark| match again(&mark.kind) {
        true => Mark { kind: seventh.clone(), ..mark },
        false => mark,
    };
    expected().into_iter().map(replaced).collect()
}

const REASON: &str = "it was acknowledged in time, and no duplicate was reported";
const SPAN: Span = Span::new(Offset(1), Offset(1001));

#[test]
fn a_retransmission_is_marked_with_its_trigger_and_verdict() {
    let row = again(7, Trigger::Fast.into(), Verdict::Needed);
    let source = explained(&download(), &connection(&[row]), &[row]);
    let judged =
        MarkKind::Explained { span: SPAN, trigger: "fast".into(), necessity: Necessity::Needed, reason: REASON };
    assert_eq!(source.panels[0].marks, marks(judged));
    let title = "Connection 3: 192.0.2.1:80 to 198.51.100.1:4000";
    assert_eq!((source.title.as_str(), source.notes.len()), (title, 0));
}

#[test]
fn a_segment_the_analysis_does_not_list_is_drawn_as_new_data() {
    let source = explained(&download(), &connection(&[]), &[]);
    assert_eq!(source.panels[0].marks, marks(MarkKind::Sent(SPAN)));
}

/// In a capture taken at the receiver, a retransmission may look like new data.
#[test]
fn data_seen_for_the_first_time_may_be_a_retransmission() {
    let mut packets = download();
    packets.remove(3);
    let row = again(6, Triggers::UNKNOWN, Verdict::Unknowable);
    let source = explained(&packets, &connection(&[row]), &[row]);
    let judged =
        MarkKind::Explained { span: SPAN, trigger: "unknown".into(), necessity: Necessity::Unknowable, reason: REASON };
    let kinds: Vec<&MarkKind> = source.panels[0].marks.iter().map(|mark| &mark.kind).collect();
    assert!(kinds.contains(&&judged), "{kinds:?}");
}

#[test]
fn other_connections_are_left_out() {
    let other = |client, ms| {
        let packet = packet_between(client, SERVER, true, Flags::ACK, 1, 1, 1000, &[]);
        (ms, packet)
    };
    let mut packets = download();
    // Before the connection: a packet of the same endpoints. During it: another client's packet. After
    // it: a packet of the same endpoints.
    packets.insert(0, other(CLIENT, 1));
    packets.insert(5, other("198.51.100.9:4000", 16));
    packets.push(other(CLIENT, 40));
    let row = again(9, Trigger::Rto.into(), Verdict::Spurious);
    let mut connection = connection(&[row]);
    connection.frames = 2..=10;
    let source = explained(&packets, &connection, &[row]);
    let judged =
        MarkKind::Explained { span: SPAN, trigger: "rto".into(), necessity: Necessity::Spurious, reason: REASON };
    let found = &source.panels[0].marks;
    assert_eq!(unframed(found), unframed(&marks(judged)));
    let frames: Vec<u64> = found.iter().filter_map(|mark| mark.frame).collect();
    assert_eq!(frames, [3, 3, 4, 4, 5, 7, 8, 8, 9, 10, 10]);
}

#[test]
fn the_panel_title_names_retransmissions_sender_and_capture_point() {
    let rows = [again(7, Trigger::Fast.into(), Verdict::Needed), again(8, Trigger::Rto.into(), Verdict::Spurious)];
    let explanation = |profile: &str| Explanation { profile: profile.into(), explained: 1, of: 2 };
    let both = vec![explanation("linux-6"), explanation("linux-3.17")];
    for (profile, sender) in [
        (Identification::Nothing, "not identified"),
        (Identification::Profile(explanation("linux-6")), "linux-6"),
        (Identification::Several(both), "linux-6 or linux-3.17"),
        (Identification::None(explanation("reno")), "no known profile"),
    ] {
        let mut connection = connection(&rows);
        connection.directions[1].profile = profile;
        connection.directions[1].vantage = Vantage::Sender;
        let source = explained(&download(), &connection, &rows);
        let expected = format!("retransmissions: 1 needed, 1 spurious; sender: {sender}; captured at: sender");
        assert_eq!(source.panels[0].title, expected);
    }
}

/// The other direction has more data.
#[test]
fn the_direction_with_more_retransmissions_is_drawn() {
    let mut other = connection(&[again(7, Trigger::Fast.into(), Verdict::Needed)]);
    let up = &mut other.directions[0].retransmissions;
    up.add(Trigger::Syn.into(), Verdict::Needed);
    up.add(Trigger::Rto.into(), Verdict::Needed);
    let source = explained(&download(), &other, &[]);
    assert_eq!(source.title, "Connection 3: 198.51.100.1:4000 to 192.0.2.1:80");
    assert_eq!(
        source.notes,
        ["the other direction, 192.0.2.1:80 to 198.51.100.1:4000, is not drawn; it has 1 retransmission"]
    );
}

#[test]
fn both_directions_are_drawn_if_both_have_data_or_retransmissions() {
    let mut both = connection(&[again(7, Trigger::Fast.into(), Verdict::Needed)]);
    let titles = |connection: &finding::Connection, directions: Directions| {
        let source = explained_both(&download(), connection, &[], directions);
        let titles = source.panels.iter().map(|panel| {
            let (ends, _) = panel.title.split_once(": retransmissions: ").unwrap_or_default();
            ends.to_owned()
        });
        (source.title, titles.collect::<Vec<_>>(), source.scale)
    };
    let (down, up) = ("192.0.2.1:80 to 198.51.100.1:4000", "198.51.100.1:4000 to 192.0.2.1:80");
    let (title, panels, scale) = titles(&both, Directions::All);
    assert_eq!(title, format!("Connection 3: {down}"));
    assert_eq!((panels.len(), scale), (1, SequenceScale::OnePerPanel));
    let (title, panels, _) = titles(&both, Directions::Both);
    let ends = "Connection 3: 198.51.100.1:4000 and 192.0.2.1:80";
    assert_eq!((title.as_str(), panels), (ends, vec![down.into(), up.into()]));
    both.directions[0].bytes = 10;
    let (_, panels, _) = titles(&both, Directions::All);
    assert_eq!(panels, [down, up]);
    let (title, ..) = titles(&both, Directions::Only(Direction::Up));
    assert_eq!(title, format!("Connection 3: {up}"));
}

/// Each connection gets its own packets, and no more than the limit.
#[test]
fn several_connections_are_drawn_in_one_reading() {
    let file = raw_pcap(&download());
    let row = again(7, Trigger::Fast.into(), Verdict::Needed);
    let whole = connection(&[row]);
    let mut half = connection(&[]);
    half.frames = 1..=4;
    let rows = [(whole, vec![row]), (half, vec![])];
    let drawn = |most: usize| {
        let reader = Reader::new("x.pcap", &file[..]).unwrap();
        draw_connections(reader, &rows, Directions::Main, most, |_| true)
    };
    let frames = |source: &Source| source.panels[0].marks.iter().filter_map(|m| m.frame).max();
    let found = drawn(usize::MAX);
    assert_eq!([&found[0], &found[1]].map(frames), [Some(8), Some(4)]);
    assert!(found.iter().all(|source| source.notes.is_empty()));
    let found = drawn(5);
    assert_eq!([&found[0], &found[1]].map(frames), [Some(5), Some(4)]);
    let note = "only the first 5 packets of connection 3 are drawn: 3 more are left out";
    assert_eq!((&found[0].notes[..], found[1].notes.len()), (&[note.to_owned()][..], 0));
}
