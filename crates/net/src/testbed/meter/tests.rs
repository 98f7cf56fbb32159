//! Traces written by hand, whose costs can be counted in them.

mod simulated;

use super::*;
use crate::packet::Tcp;
use End::{At, Damaged, Lost, Refused, Thinned, Twice, Unfinished};
use recoup_wire::SackBlocks;
use std::time::Duration;

const UP: Direction = Direction::Up;
const DOWN: Direction = Direction::Down;

/// IP and TCP headers.
const HEADERS: u64 = 40;

/// How a packet ended, and when, in ms.
#[derive(Clone, Copy)]
enum End {
    /// It reached its receiver.
    At(u64),
    /// It did, and so did a copy the path made.
    Twice(u64, u64),
    /// The path dropped it.
    Lost(u64),
    /// A receiver with delayed ACKs would not have sent it.
    Thinned(u64),
    /// It reached its receiver damaged.
    Damaged(u64),
    /// The device did not take it.
    Refused(u64),
    /// It was in flight when the flow ended.
    Unfinished,
}

/// A packet: its direction, when it was sent in ms, its flags as tcpdump prints them with the range of its
/// payload if any, and its outcome.
type Row = (Direction, u64, &'static str, End);

const fn ms(ms: u64) -> Instant {
    Instant::from_nanos(ms * 1_000_000)
}

fn outcomes(end: End) -> Vec<(PacketOutcome, bool)> {
    let delivered = |at| PacketOutcome::Delivered {
        // The ideal path would have been faster.
        due: Instant::ZERO,
        departure: ms(at),
    };
    let dropped = |at, cause: DropCause| PacketOutcome::Dropped { due: ms(at), cause };
    match end {
        At(at) => vec![(delivered(at), false)],
        Twice(at, copy) => vec![(delivered(at), false), (delivered(copy), false)],
        Damaged(at) => vec![(delivered(at), true)],
        Lost(at) => vec![(dropped(at, DropCause::Loss), false)],
        Thinned(at) => vec![(dropped(at, DropCause::Thinned), false)],
        Refused(at) => vec![(PacketOutcome::Refused { due: ms(at) }, false)],
        Unfinished => vec![(PacketOutcome::Unfinished, false)],
    }
}

/// The segment written as `. 1:1001`, on a connection with this ISN.
fn tcp(text: &str, isn: u32) -> Tcp {
    let (letters, range) = text.split_once(' ').unwrap_or((text, ""));
    let flags = letters.chars().fold(Flags::NONE, |flags, letter| {
        flags
            | match letter {
                'S' => Flags::SYN,
                'F' => Flags::FIN,
                'R' => Flags::RST,
                '.' => Flags::ACK,
                _ => panic!("{text}"),
            }
    });
    let start = u32::from(!flags.contains(Flags::SYN));
    let (start, end) = match range.split_once(':') {
        Some((start, end)) => (start.parse().unwrap(), end.parse().unwrap()),
        None => (start, start),
    };
    Tcp { seq: isn.wrapping_add(start), ack: 0, payload_len: end - start, flags, sack: SackBlocks::NONE }
}

/// The records of a trace, in the order of ends, of flow 0 between ISNs.
fn records(rows: &[Row], isns: [u32; 2]) -> Vec<PacketRecord> {
    let mut numbers = [0; 2];
    let mut records = Vec::new();
    for &(direction, sent, text, end) in rows {
        let way = usize::from(direction == DOWN);
        numbers[way] += 1;
        let tcp = tcp(text, isns[way]);
        records.extend(outcomes(end).into_iter().map(|(outcome, damaged)| PacketRecord {
            direction,
            number: numbers[way],
            arrival: ms(sent),
            outcome,
            len: (HEADERS + u64::from(tcp.payload_len)) as usize,
            flow: FlowId(0),
            tcp: Some(tcp),
            damaged,
        }));
    }
    records.sort_by_key(|record| match record.outcome {
        PacketOutcome::Delivered { departure, .. } => departure,
        PacketOutcome::Dropped { due, .. } | PacketOutcome::Refused { due } => due,
        PacketOutcome::Unfinished => ms(1_000_000),
    });
    records
}

fn response(bytes: u64) -> Workload {
    Workload::exchange(0, bytes)
}

/// Costs of a response of `bytes` bytes.
fn cost(bytes: u64, rows: &[Row]) -> FlowRecord {
    measure(&records(rows, [7, 1000]), FlowId(0), &response(bytes))
}

fn after(ms: u64) -> Option<Duration> {
    Some(Duration::from_millis(ms))
}

/// A handshake at 20 ms one way; the server may send from 40 ms on.
const OPEN: [Row; 3] = [(UP, 0, "S", At(20)), (DOWN, 20, "S.", At(40)), (UP, 40, ".", At(60))];

fn opened(rest: &[Row]) -> Vec<Row> {
    [&OPEN, rest].concat()
}

#[test]
fn from_the_first_syn_to_the_last_byte() {
    let flow = cost(
        2000,
        &opened(&[
            (DOWN, 60, ". 1:1001", At(80)),
            (DOWN, 61, ". 1001:2001", At(81)),
            (UP, 80, ".", At(100)),
            (UP, 81, ".", At(101)),
        ]),
    );
    let expected = FlowRecord {
        fct: after(81),
        fct_established: after(21),
        segments_sent: 2,
        bytes_sent: 7 * HEADERS + 2000,
        duration: Duration::from_millis(101),
        events: 14,
        ..FlowRecord::default()
    };
    assert_eq!(flow, expected);
}

#[test]
fn the_flow_is_complete_when_the_last_gap_closes() {
    // The end is there first; what is missing comes in two parts.
    let flow = cost(
        3000,
        &opened(&[
            (DOWN, 60, ". 1:1001", At(150)),
            (DOWN, 61, ". 1001:2001", Lost(61)),
            (DOWN, 62, "F. 2001:3001", At(82)),
            (DOWN, 300, ". 1001:2001", At(320)),
            (DOWN, 400, ". 1:1001", At(420)),
        ]),
    );
    assert_eq!(flow.fct, after(320));
    // A byte short, it is not.
    let short = opened(&[(DOWN, 60, ". 1:1000", At(80))]);
    assert_eq!(cost(1000, &short).fct, None);
    assert_eq!(cost(999, &short).fct, after(80));
}

#[test]
fn a_lost_tail_and_the_retransmission_that_repairs_it() {
    let flow = cost(
        2000,
        &opened(&[
            (DOWN, 60, ". 1:1001", At(80)),
            (DOWN, 60, ". 1001:2001", Lost(60)),
            (UP, 80, ".", At(100)),
            (DOWN, 180, ". 1001:2001", At(200)),
            (UP, 200, ".", At(220)),
        ]),
    );
    assert_eq!((flow.fct, flow.duration), (after(200), ms(220).since(ms(0))));
    assert_eq!((flow.segments_sent, flow.packets_dropped), (3, 1));
    assert_eq!((flow.spurious, flow.unnecessary_bytes), (0, 0));
    assert_eq!(flow.last_ack_to_retransmission, after(80));
}

#[test]
fn spurious_is_what_earlier_copies_deliver() {
    let original = |end| (DOWN, 60, ". 1:1001", end);
    let again = |sent, end| (DOWN, sent, ". 1:1001", end);
    // (what is sent, spurious retransmissions, bytes that had arrived before)
    let cases: [(&[Row], u64, u64); 9] = [
        // Its ACK was lost.
        (&[original(At(80)), again(300, At(320))], 1, 1000),
        // It was only late: before the retransmission, or even after it.
        (&[original(At(310)), again(300, At(320))], 1, 1000),
        (&[original(At(900)), again(300, At(320))], 1, 1000),
        // The retransmission was lost, and not needed either.
        (&[original(At(900)), again(300, Lost(301))], 1, 0),
        // It was needed, and lost itself; the next was needed.
        (&[original(Lost(60)), again(300, Lost(300)), again(700, At(720))], 0, 0),
        // The second time for nothing.
        (&[original(Lost(60)), again(300, At(650)), again(600, At(620))], 1, 1000),
        // A damaged packet does not arrive.
        (&[original(Damaged(80)), again(300, At(320))], 0, 0),
        // A packet that the device refuses and one that never ends do not arrive either.
        (&[original(Refused(80)), again(300, At(320))], 0, 0),
        (&[original(Unfinished), again(300, At(320))], 0, 0),
    ];
    for (n, (rows, spurious, twice)) in cases.into_iter().enumerate() {
        let flow = cost(1000, &opened(rows));
        assert_eq!((flow.spurious, flow.unnecessary_bytes), (spurious, twice), "case {n}");
        assert_eq!(flow.segments_sent, rows.len() as u64, "case {n}");
    }
}

#[test]
fn a_retransmission_half_of_which_was_needed() {
    let flow = cost(
        3000,
        &opened(&[
            (DOWN, 60, ". 1:1001", Lost(60)),
            (DOWN, 60, ". 1001:2001", At(80)),
            // One segment again that was two, and then new data beside old.
            (DOWN, 300, ". 1:2001", At(320)),
            (DOWN, 400, ". 1501:3001", At(420)),
        ]),
    );
    assert_eq!((flow.spurious, flow.unnecessary_bytes), (1, 1500));
    assert_eq!((flow.segments_sent, flow.fct), (4, after(420)));
}

#[test]
fn the_path_s_copies_are_sent_once_and_arrive_twice() {
    let flow = cost(1000, &opened(&[(DOWN, 60, ". 1:1001", Twice(80, 81)), (UP, 80, ".", Twice(100, 100))]));
    assert_eq!((flow.segments_sent, flow.spurious), (1, 0));
    assert_eq!(flow.bytes_sent, 5 * HEADERS + 1000);
    assert_eq!(flow.unnecessary_bytes, 1000);
    assert_eq!(flow.last_ack_to_retransmission, None);
}

#[test]
fn thinned_acks_were_never_sent() {
    let with = |end| {
        cost(
            2000,
            &opened(&[
                (DOWN, 60, ". 1:1001", At(80)),
                (DOWN, 60, ". 1001:2001", At(80)),
                (UP, 80, ".", end),
                (UP, 80, ".", At(100)),
            ]),
        )
    };
    let (thinned, lost) = (with(Thinned(100)), with(Lost(100)));
    assert_eq!((thinned.packets_dropped, lost.packets_dropped), (0, 1));
    assert_eq!(thinned.bytes_sent + HEADERS, lost.bytes_sent);
    assert_eq!(thinned.segments_sent, 2);
}

#[test]
fn resets_and_packets_of_others_are_left_out() {
    let rows = opened(&[(DOWN, 60, ". 1:1001", At(80)), (UP, 80, ".", At(100))]);
    let expected = cost(1000, &rows);
    let reset = [&rows[..], &[(UP, 90, "R.", At(110)), (DOWN, 90, "R", Lost(90))]].concat();
    assert_eq!(cost(1000, &reset), expected);

    let mut with_others = records(&rows, [7, 1000]);
    let mut others = records(&rows, [7, 1000]);
    for (n, other) in others.iter_mut().enumerate() {
        other.number += 100;
        match n % 2 {
            0 => other.flow = FlowId(1),
            _ => other.tcp = None,
        }
    }
    with_others.splice(2..2, others);
    assert_eq!(measure(&with_others, FlowId(0), &response(1000)), expected);
    // Nothing at all is a flow, too.
    let nothing = measure(&[], FlowId(0), &response(1000));
    assert_eq!(nothing, FlowRecord::default());
}

#[test]
fn sequence_numbers_wrap() {
    let rows = opened(&[
        (DOWN, 60, ". 1:1001", At(80)),
        (DOWN, 60, ". 1001:2001", Lost(60)),
        (DOWN, 60, ". 2001:3001", At(80)),
        (DOWN, 300, ". 1:1001", At(320)),
        (DOWN, 400, ". 1001:2001", At(420)),
    ]);
    let expected = cost(3000, &rows);
    assert_eq!((expected.fct, expected.spurious), (after(420), 1));
    // The number wraps in the SYN, in the first segment, in the one that is lost, behind the last.
    for isn in [u32::MAX, u32::MAX - 500, u32::MAX - 1500, u32::MAX - 3000] {
        let wrapped = records(&rows, [isn, isn]);
        assert_eq!(measure(&wrapped, FlowId(0), &response(3000)), expected);
    }
}

#[test]
fn where_nothing_is_answered_the_request_ends_it() {
    let request = |bytes, rows: &[Row]| {
        let workload = Workload::exchange(bytes, 0);
        measure(&records(rows, [7, 1000]), FlowId(0), &workload)
    };
    let rows = opened(&[(UP, 40, ". 1:501", At(61)), (DOWN, 61, ".", At(81))]);
    let flow = request(500, &rows);
    assert_eq!((flow.fct, flow.segments_sent), (after(61), 1));
    // With an answer to come, it does not.
    let both = Workload::exchange(500, 1);
    assert_eq!(measure(&records(&rows, [7, 1000]), FlowId(0), &both).fct, None);
    // Without data the handshake is all: the server has to hear of its end.
    assert_eq!(request(0, &OPEN[..2]).fct, None);
    assert_eq!(request(0, &OPEN).fct, after(60));
    let lost = [OPEN[0], OPEN[1], (UP, 40, ".", Lost(40))];
    assert_eq!(request(0, &lost).fct, None);
}

#[test]
fn a_handshake_that_takes_several_attempts() {
    let flow = cost(
        1000,
        &[
            (UP, 0, "S", Lost(0)),
            (UP, 1000, "S", At(1020)),
            (DOWN, 1020, "S.", Lost(1020)),
            (DOWN, 2020, "S.", At(2040)),
            (UP, 2040, ".", At(2060)),
            (DOWN, 2060, ". 1:1001", At(2080)),
        ],
    );
    assert_eq!((flow.fct, flow.packets_dropped), (after(2080), 2));
    // The server is established at 2060 ms.
    assert_eq!(flow.fct_established, after(20));
    // Both were needed, and neither is a retransmission of data.
    assert_eq!((flow.spurious, flow.last_ack_to_retransmission), (0, None));
    assert_eq!(flow.segments_sent, 1);

    // A SYN sent again though the first arrived carries no data.
    let late = cost(
        1000,
        &[
            (UP, 0, "S", At(1030)),
            (UP, 1000, "S", At(1020)),
            (DOWN, 1020, "S.", At(1040)),
            (UP, 1040, ".", At(1060)),
            (DOWN, 1060, ". 1:1001", At(1080)),
        ],
    );
    assert_eq!((late.spurious, late.unnecessary_bytes), (1, 0));
    assert_eq!(late.spurious_data, 0);
}

#[test]
fn the_wait_before_the_first_retransmission_of_data() {
    let flow = cost(
        2000,
        &opened(&[
            (DOWN, 60, ". 1:1001", Lost(60)),
            (DOWN, 60, ". 1001:2001", At(80)),
            (UP, 80, ".", At(100)),
            // ACKs that do not arrive, whole and in time, are none.
            (UP, 81, ".", Lost(81)),
            (UP, 82, ".", Damaged(102)),
            (UP, 290, ".", At(310)),
            (DOWN, 300, ". 1:1001", Lost(300)),
            (DOWN, 700, ". 1:1001", At(720)),
        ]),
    );
    assert_eq!(flow.last_ack_to_retransmission, after(200));
}

#[test]
fn each_direction_has_its_own_stream() {
    let workload = Workload::exchange(1000, 1000);
    let rows =
        opened(&[(UP, 40, ". 1:1001", Lost(40)), (UP, 240, ". 1:1001", At(260)), (DOWN, 260, ". 1:1001", At(280))]);
    let flow = measure(&records(&rows, [7, 1000]), FlowId(0), &workload);
    assert_eq!((flow.fct, flow.segments_sent), (after(280), 3));
    // The client is established at 40 ms, the server at 60 ms.
    assert_eq!(flow.fct_established, after(240));
    assert_eq!((flow.spurious, flow.unnecessary_bytes), (0, 0));
    // Since the SYN-ACK.
    assert_eq!(flow.last_ack_to_retransmission, after(200));
}
