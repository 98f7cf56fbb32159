//! Each kind's positions on scripted packet sequences.

use super::*;

const ISN: u32 = 1000;

fn syn() -> TcpFacts {
    TcpFacts { seq: ISN, syn: true, ..TcpFacts::default() }
}

/// A pure ACK.
fn ack() -> TcpFacts {
    TcpFacts { seq: ISN + 1, ..TcpFacts::default() }
}

fn fin(offset: u32) -> TcpFacts {
    TcpFacts { seq: ISN + 1 + offset, fin: true, ..TcpFacts::default() }
}

/// Payload bytes `start..end`, counted from 0.
fn data(start: u32, end: u32) -> TcpFacts {
    TcpFacts { seq: ISN + 1 + start, payload_len: end - start, ..TcpFacts::default() }
}

/// Numbers (from 0) of the packets a rule names.
fn named(rule: &str, packets: &[TcpFacts]) -> Vec<usize> {
    let mut rules = Rules::default();
    rules.add(0, rule.parse().unwrap());
    let mut flow = Positions::default();
    let mut hits = vec![];
    for (index, &tcp) in packets.iter().enumerate() {
        if flow.see(&rules, tcp).dropped_by.is_some() {
            hits.push(index);
        }
    }
    hits
}

fn check(name: &str, packets: &[TcpFacts], cases: &[(&str, &[usize])]) {
    for &(rule, expected) in cases {
        assert_eq!(named(rule, packets), expected, "{name}: {rule}");
    }
}

#[test]
fn handshake_packets_and_pure_acks_count_apart() {
    let reset = TcpFacts { rst: true, ..ack() };
    let packets = [syn(), syn(), ack(), data(0, 100), ack(), fin(100), reset, ack(), data(100, 150)];
    check(
        "handshake",
        &packets,
        &[
            ("syn:1", &[0]),
            ("syn:2", &[1]),
            ("syn:3", &[]),
            ("ack:1", &[2]),
            ("ack:2", &[4]),
            ("ack:3", &[7]),
            ("data:1", &[3]),
            ("data:2", &[8]),
            ("none", &[]),
        ],
    );
}

#[test]
fn retransmissions_are_further_transmissions_of_the_same_segment() {
    let packets = [
        syn(),
        data(0, 100),   // 1: the first segment
        data(100, 200), // 2
        data(200, 300), // 3
        data(100, 200), // 4: the second one again
        data(300, 400), // 5
        data(100, 200), // 6: and again
        data(300, 400), // 7: a tail loss probe
    ];
    check(
        "retransmissions",
        &packets,
        &[
            ("data:1", &[1]),
            ("data:2", &[2]),
            ("data:2@1", &[2]),
            ("data:2@2", &[4]),
            ("data:2@3", &[6]),
            ("data:2@4", &[]),
            ("data:4", &[5]),
            ("data:4@2", &[7]),
            ("data:5", &[]),
            ("data:2-4", &[2, 3, 5]),
            ("data:1-4@2", &[4, 7]),
            ("offset:101-200", &[2]),
            ("offset:200-201", &[2, 3]),
            ("offset:200-200@2", &[4]),
            ("offset:151-151@3", &[6]),
            ("offset:1-10000@2", &[4, 7]),
            ("offset:401-10000", &[]),
        ],
    );
}

#[test]
fn split_retransmissions_count_where_the_first_byte_is() {
    let packets = [
        syn(),
        data(0, 100),
        data(100, 300), // 2: two segments' worth, sent as one
        data(300, 400),
        data(100, 200), // 4: its first half
        data(200, 300), // 5: its second half
    ];
    check(
        "split",
        &packets,
        &[
            ("data:2", &[2]),
            ("data:2@2", &[4]),
            ("data:2@3", &[]),
            ("data:3", &[3]),
            // The piece the rule names begins in the second half.
            ("offset:251-261@2", &[5]),
            ("offset:151-261@2", &[4]),
        ],
    );
}

#[test]
fn merged_retransmissions_count_for_each_segment_they_cover() {
    let packets = [
        syn(),
        data(0, 100),
        data(100, 200),
        data(200, 300),
        data(100, 300), // 4: the second and third as one
        data(200, 300), // 5
        data(250, 400), // 6: old data with new behind it: not a new segment
        data(400, 500), // 7: the fourth
    ];
    check(
        "merged",
        &packets,
        &[
            ("data:2@2", &[4]),
            ("data:3@2", &[4]),
            ("data:3@3", &[5]),
            ("data:2-3@2", &[4]),
            ("data:4", &[7]),
            ("data:5", &[]),
            // Byte 350 is new in it, byte 260 is not.
            ("offset:351-351", &[6]),
            ("offset:261-261", &[3]),
            ("offset:261-261@4", &[6]),
            ("offset:261-351@1", &[3, 6]),
        ],
    );
}

#[test]
fn a_hole_left_by_reordering_fills_without_a_number() {
    let packets = [syn(), data(0, 100), data(200, 300), data(100, 200), data(300, 400)];
    check("hole", &packets, &[("data:2", &[2]), ("data:3", &[4]), ("data:2@2", &[])]);
}

#[test]
fn data_on_the_syn_begins_at_offset_zero() {
    let fast_open = TcpFacts { payload_len: 50, ..syn() };
    let packets = [fast_open, data(50, 100), data(0, 50)];
    check(
        "fast open",
        &packets,
        &[("syn:1", &[0]), ("data:1", &[0]), ("data:2", &[1]), ("data:1@2", &[2]), ("offset:50-50", &[0])],
    );
}

#[test]
fn without_a_syn_the_first_packet_is_the_base() {
    let packets = [
        data(500, 600),
        data(600, 700),
        data(400, 500), // below the base: no data of this flow
        data(499, 501), // one byte of it is
        data(500, 600),
    ];
    check(
        "no SYN",
        &packets,
        &[
            ("data:1", &[0]),
            ("data:2", &[1]),
            ("data:3", &[]),
            ("offset:1-1", &[0]),
            ("data:1@2", &[3]),
            ("data:1@3", &[4]),
            ("offset:100-101", &[0, 1]),
        ],
    );
}

#[test]
fn sequence_numbers_wrap() {
    const CHUNK: u64 = 1 << 20;
    let isn = u32::MAX - 10;
    let at = |offset: u64| TcpFacts {
        seq: isn.wrapping_add(1).wrapping_add(offset as u32),
        payload_len: CHUNK as u32,
        ..TcpFacts::default()
    };
    let mut packets = vec![TcpFacts { seq: isn, syn: true, ..TcpFacts::default() }];
    packets.extend((0..5000).map(|k| at(k * CHUNK)));
    // 5000 MiB are beyond 4 GiB: the last one again, and one from before the wrap.
    packets.push(at(4999 * CHUNK));
    packets.push(at(4000 * CHUNK));
    let far = 4999 * CHUNK + 5;
    check(
        "wrap",
        &packets,
        &[
            ("data:1", &[1]),
            ("data:1@2", &[]),
            ("data:4097", &[4097]),
            ("data:5000", &[5000]),
            ("data:5000@2", &[5001]),
            ("data:4001@2", &[5002]),
            (&format!("offset:{far}-{far}"), &[5000]),
            ("data:5001", &[]),
        ],
    );
}

#[test]
fn random_rules_learn_which_transmission_a_packet_is() {
    let packets = [
        (syn(), 0),
        (data(0, 100), 1),
        (ack(), 0),
        (data(100, 200), 1),
        (data(200, 300), 1),
        (data(100, 200), 2),
        (data(150, 300), 3), // byte 150 goes out for the third time
        (data(200, 300), 3),
        (data(0, 100), 2),
        (data(100, 200), 3), // byte 100 for the third time
        (data(250, 400), 4),
        (data(300, 400), 2),
        (fin(400), 0),
    ];
    for (rule, told_apart) in [("bernoulli:0@2", u32::MAX), ("bernoulli:0@1", 2)] {
        let mut rules = Rules::default();
        rules.add(0, rule.parse().unwrap());
        let mut flow = Positions::default();
        for (index, (tcp, expected)) in packets.into_iter().enumerate() {
            let seen = flow.see(&rules, tcp).transmission;
            assert_eq!(seen, expected.min(told_apart), "{rule}: packet {index}");
        }
    }
}

#[test]
fn the_first_hop_that_names_a_packet_dooms_it_and_none_loses_count() {
    let mut rules = Rules::default();
    for (hop, rule) in [(2, "data:2-3"), (0, "data:3"), (5, "data:2@2")] {
        rules.add(hop, rule.parse().unwrap());
    }
    let mut flow = Positions::default();
    let packets = [data(0, 1), data(1, 2), data(2, 3), data(1, 2), data(1, 2)];
    let dropped_by = packets.map(|tcp| flow.see(&rules, tcp).dropped_by);
    assert_eq!(dropped_by, [None, Some(2), Some(0), Some(5), None]);
}

#[test]
fn memory_is_bounded_by_the_rule() {
    let mut rules = Rules::default();
    for rule in ["data:3", "data:3-4@2", "offset:1-10000", "offset:151-251@2", "bernoulli:0@2"] {
        rules.add(0, rule.parse().unwrap());
    }
    let mut flow = Positions::default();
    for k in 0..1000 {
        flow.see(&rules, data(k * 100, (k + 1) * 100));
    }
    let pieces: Vec<_> = flow.pieces.iter().map(Vec::len).collect();
    assert_eq!(pieces, [0, 2, 0, 2]);
}
