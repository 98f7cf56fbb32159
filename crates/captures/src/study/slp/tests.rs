//! Whole connections, made by hand.

use super::*;
use recoup_trace::read::Packet;
use std::collections::BTreeMap;

const ACK: Flags = Flags::ACK;
const PSH: Flags = Flags::PSH.union(Flags::ACK);
const FIN: Flags = Flags::FIN.union(Flags::ACK);
const SYN_ACK: Flags = Flags::SYN.union(Flags::ACK);
const UP: Direction = Direction::Up;
const DOWN: Direction = Direction::Down;

/// A packet: direction, time in ms, flags, sequence number, payload bytes, ACK number.
type Line = (Direction, u64, Flags, u32, u32, u32);

fn packet(frame: u64, &(_, at, flags, seq, len, ack): &Line) -> CapturedPacket {
    let mut packet = CapturedPacket::from(&Packet::default());
    packet.frame = frame;
    packet.at = Instant::from_millis(at);
    packet.segment.flags = flags;
    packet.segment.seq = SeqNumber(seq);
    packet.segment.ack = SeqNumber(ack);
    packet.segment.payload_len = len;
    packet.segment.window = 500;
    packet
}

/// Follows a connection whose retransmissions are all listed, with these triggers by frame.
fn follow(lines: &[Line], is_one_way: bool, triggers: &[(u64, Trigger)]) -> Followed {
    let known = Known {
        connection: 3,
        is_one_way,
        counted: [true, true],
        triggers: triggers.iter().map(|(frame, trigger)| (*frame, Some(*trigger))).collect(),
    };
    let mut follower = Follower::default();
    for (frame, line) in (1..).zip(lines) {
        follower.packet(&known, line.0, &packet(frame, line));
    }
    follower.finish(&known, true)
}

/// A response of four segments: the second is lost and repeated after duplicate ACKs, the last after a
/// timeout. The SYN and the FIN of the server are lost too.
const LOSSY: [Line; 22] = [
    (UP, 0, Flags::SYN, 0, 0, 0),
    (UP, 1000, Flags::SYN, 0, 0, 0),
    (DOWN, 1001, SYN_ACK, 500, 0, 1),
    (UP, 1002, ACK, 1, 0, 501),
    (UP, 1003, PSH, 1, 100, 501),
    (DOWN, 1004, ACK, 501, 0, 101),
    (DOWN, 1005, ACK, 501, 100, 101),
    (DOWN, 1006, ACK, 601, 100, 101), // lost
    (DOWN, 1007, ACK, 701, 100, 101),
    (UP, 1015, ACK, 101, 0, 601),
    (UP, 1016, ACK, 101, 0, 601),
    (UP, 1017, ACK, 101, 0, 601),
    (DOWN, 1018, ACK, 601, 100, 101), // fast
    (UP, 1028, ACK, 101, 0, 801),
    (DOWN, 1029, PSH, 801, 50, 101), // lost
    (DOWN, 1329, PSH, 801, 50, 101), // timeout
    (UP, 1339, ACK, 101, 0, 851),
    (DOWN, 1340, FIN, 851, 0, 101), // lost
    (DOWN, 1640, FIN, 851, 0, 101), // timeout
    (UP, 1650, ACK, 101, 0, 852),
    (UP, 1651, FIN, 101, 0, 852),
    (DOWN, 1661, ACK, 852, 0, 102),
];

const TRIGGERS: [(u64, Trigger); 4] = [(2, Trigger::Syn), (13, Trigger::Fast), (16, Trigger::Rto), (19, Trigger::Rto)];

fn front(index: u32) -> Option<Position> {
    Some(Position { half: Half::Front, index })
}

fn back(index: u32) -> Option<Position> {
    Some(Position { half: Half::Back, index })
}

#[test]
fn retransmissions_have_interval_flags_position_and_class() {
    let followed = follow(&LOSSY, false, &TRIGGERS);
    let found: Vec<_> = followed
        .samples
        .iter()
        .map(|s| {
            let interval = s.interval.as_millis();
            (s.frame, interval, s.flags, s.position, s.by_wireshark)
        })
        .collect();
    // The server sends SYN-ACK, three segments, one more and FIN: six packets.
    let (timeout, fast) = (Some(Class::Timeout), Some(Class::Fast));
    assert_eq!(
        found,
        [
            (2, 1000, Flags::SYN, front(1), timeout),
            (13, 12, ACK, front(3), fast),
            (16, 300, PSH, back(2), timeout),
            (19, 300, FIN, back(1), timeout),
        ]
    );
    // With the server's two pure ACKs there are eight packets.
    let with_acks: Vec<_> = followed.samples[1..].iter().map(|s| s.position_with_acks).collect();
    assert_eq!(with_acks, [front(4), back(3), back(2)]);
    assert_eq!(followed.unseen, 0);
}

#[test]
fn kinds_are_those_of_the_first_transmission() {
    let followed = follow(&LOSSY, false, &TRIGGERS);
    let kinds = |sample: &Sample| -> Vec<&str> {
        let kinds = Kind::ALL.into_iter();
        let kinds = kinds.filter(|kind| sample.kinds.contains(*kind));
        kinds.map(Kind::name).collect()
    };
    let kinds: Vec<_> = followed.samples.iter().map(kinds).collect();
    assert_eq!(kinds, [vec!["syn"], vec!["other"], vec!["psh", "tail"], vec!["fin"]]);
}

#[test]
fn a_tail_is_the_last_data_before_the_other_end_sends_data() {
    let lines = [
        (DOWN, 0, ACK, 1, 100, 1),
        (DOWN, 300, ACK, 1, 100, 1), // before the answer
        (UP, 301, PSH, 1, 10, 101),
        (DOWN, 302, ACK, 1, 100, 11), // after the answer
        (DOWN, 303, ACK, 101, 100, 11),
        (DOWN, 304, ACK, 201, 100, 11),
        (DOWN, 600, ACK, 101, 100, 11), // more data followed
    ];
    let followed = follow(&lines, false, &[]);
    let tails = followed.samples.iter().map(|sample| sample.kinds.contains(Kind::Tail));
    assert_eq!(tails.collect::<Vec<_>>(), [true, true, false]);
    let first = followed.samples.iter();
    let first = first.map(|sample| sample.kinds.contains(Kind::First));
    assert_eq!(first.collect::<Vec<_>>(), [true, true, false]);
}

#[test]
fn one_direction_is_enough_for_positions_but_not_for_wireshark() {
    let down: Vec<Line> = LOSSY.into_iter().filter(|line| line.0 == DOWN).collect();
    let followed = follow(&down, true, &[]);
    let found: Vec<_> = followed.samples.iter().map(|s| (s.position, s.by_wireshark, s.trigger)).collect();
    assert_eq!(found, [(front(3), None, None), (back(2), None, None), (back(1), None, None),]);
}

#[test]
fn a_direction_without_its_first_or_last_packet_has_no_positions() {
    for lines in [&LOSSY[3..], &LOSSY[..17]] {
        let followed = follow(lines, false, &[]);
        let down = followed.samples.iter();
        let mut down = down.filter(|sample| sample.direction == DOWN);
        assert!(down.all(|sample| sample.position.is_none()));
    }
    // A reset ends both directions.
    let mut reset = LOSSY[..17].to_vec();
    reset.push((UP, 1700, Flags::RST, 101, 0, 0));
    let followed = follow(&reset, false, &[]);
    assert!(followed.samples.iter().all(|s| s.position.is_some()));
}

#[test]
fn keep_alives_and_unseen_packets_are_no_retransmissions() {
    let lines = [
        (DOWN, 0, ACK, 1001, 100, 1),
        (DOWN, 5000, ACK, 1100, 1, 1),  // keep-alive with a byte
        (DOWN, 9000, ACK, 1100, 0, 1),  // keep-alive without
        (DOWN, 9001, ACK, 901, 100, 1), // late, its first transmission is not here
        (DOWN, 9002, ACK, 901, 100, 1),
    ];
    let followed = follow(&lines, false, &[]);
    let frames: Vec<u64> = followed.samples.iter().map(|s| s.frame).collect();
    assert_eq!((frames, followed.unseen), (vec![5], 1));
}

#[test]
fn the_interval_begins_at_the_previous_transmission() {
    let lines = [
        (DOWN, 0, ACK, 1, 200, 1), // a super-segment
        (DOWN, 300, ACK, 1, 100, 1),
        (DOWN, 900, ACK, 1, 100, 1),
        (DOWN, 901, ACK, 101, 100, 1),
    ];
    let followed = follow(&lines, false, &[]);
    let intervals = followed.samples.iter().map(|s| s.interval.as_millis());
    assert_eq!(intervals.collect::<Vec<_>>(), [300, 600, 901]);
}

#[test]
fn a_lost_syn_costs_the_time_to_the_last_syn() {
    let followed = follow(&LOSSY, false, &[]);
    let loss = followed.syn_loss.expect("two SYNs");
    assert_eq!(loss.wait, Duration::from_secs(1));
    // To the client's FIN.
    assert_eq!(loss.completion, Some(Duration::from_millis(1651)));
    assert_eq!(follow(&LOSSY[1..], false, &[]).syn_loss, None);
}

fn report(lines: &[Line], is_one_way: bool, triggers: &[(u64, Trigger)]) -> Report {
    let mut packets = [BTreeMap::new(), BTreeMap::new()];
    for line in lines {
        *packets[line.0 as usize].entry(line.2.bits()).or_insert(0) += 1;
    }
    let followed = follow(lines, is_one_way, triggers);
    Report::new(&Capture {
        samples: followed.samples,
        packets,
        unseen: followed.unseen,
        syn_losses: followed.syn_loss.into_iter().collect(),
        flows: 1,
        connections: 1,
        one_way: is_one_way.into(),
    })
}

#[test]
fn classifiers_and_their_agreement_are_counted() {
    let report = report(&LOSSY, false, &TRIGGERS);
    let [pooled, log, apart, triggers, wireshark] = &report.classifications[..] else {
        panic!("{:?}", report.classifications);
    };
    // 0.012, 0.3, 0.3 and 1 s: the second of the SYN stands alone.
    assert_eq!((pooled.timeouts, pooled.classified), (1, 4));
    let threshold = pooled.threshold_s.expect("two groups");
    assert!((threshold - (0.612 / 3.0 + 1.0) / 2.0).abs() < 1e-9);
    assert_eq!(pooled.against_triggers.different, 2);
    assert_eq!(pooled.against_wireshark.different_percent, Some(50.0));
    for one in [log, apart, triggers, wireshark] {
        assert_eq!((one.timeouts, one.classified), (3, 4), "{one:?}");
        assert_eq!(one.against_triggers.different, 0, "{one:?}");
    }
}

#[test]
fn flags_have_their_share_of_packets() {
    let report = report(&LOSSY, false, &TRIGGERS);
    let [client, server] = &report.flags[..] else {
        panic!("{:?}", report.flags);
    };
    let row = |panel: &FlagPanel, flags: &str| {
        let found = panel.categories.iter().find(|row| row.flags == flags);
        found.cloned().unwrap_or_else(|| panic!("{flags}"))
    };
    let fin = row(server, "FIN ACK");
    assert_eq!((fin.packets, fin.shares.retransmissions), (2, 1));
    assert_eq!(fin.shares.timeouts_by_trigger_percent, Some(100.0));
    assert_eq!(fin.retransmissions_percent, Some(25.0));
    let push = row(server, "PSH ACK");
    assert_eq!(push.packets_percent, Some(100.0 * 2.0 / 22.0));
    assert_eq!(row(client, "SYN").shares.timeouts_percent, Some(100.0));
}

#[test]
fn one_way_captures_have_two_panels_of_positions_and_others_four() {
    assert_eq!(report(&LOSSY, false, &TRIGGERS).positions.len(), 4);
    let down: Vec<Line> = LOSSY.into_iter().filter(|line| line.0 == DOWN).collect();
    let report = report(&down, true, &[]);
    assert_eq!((report.positions.len(), report.flags.len()), (2, 1));
    assert!(report.positions.iter().all(|panel| panel.sender == "both"));
    let back = &report.positions[1].positions;
    assert_eq!(back.iter().map(|p| p.position).collect::<Vec<_>>(), [1, 2]);
}

#[test]
fn an_empty_capture_has_a_report_without_shares() {
    let report = Report::new(&Capture::default());
    assert!(report.statements.iter().all(|one| one.by_k_means.is_none()));
    assert!(report.kinds.iter().all(|kind| kind.q.is_none()));
}

#[test]
fn positions_count_from_both_ends() {
    let of = |before, all| {
        let Position { half, index } = Position::of(before, all);
        (half, index)
    };
    for (before, all, half, index) in [
        (0, 1, Half::Front, 1),
        (0, 2, Half::Front, 1),
        (1, 2, Half::Back, 1),
        (2, 5, Half::Front, 3),
        (3, 5, Half::Back, 2),
        (4, 5, Half::Back, 1),
    ] {
        assert_eq!(of(before, all), (half, index), "{before} of {all}");
    }
}
