use super::*;

fn packet(flags: Flags, seq: u32, payload_len: u32, options: Vec<TcpOption>) -> Packet {
    Packet { mark: None, flags, seq, payload_len, ack: Some(1), window: Some(100), options: Some(options) }
}

fn exactly(packet: Packet) -> Expected {
    Expected { packet, may_push: false }
}

#[test]
fn every_part_is_compared() {
    let data = packet(Flags::ACK, 1, 1000, vec![TcpOption::Nop]);
    let cases: [(Packet, &[&str]); 7] = [
        (data.clone(), &[]),
        (Packet { flags: Flags::ACK | Flags::PSH, ..data.clone() }, &["flags . instead of P."]),
        (Packet { payload_len: 999, ..data.clone() }, &["sequence 1:1001(1000) instead of 1:1000(999)"]),
        (Packet { ack: Some(2), window: Some(7), ..data.clone() }, &["ack 1 instead of 2", "win 100 instead of 7"]),
        (Packet { window: None, options: None, ..data.clone() }, &[]),
        (Packet { options: Some(vec![]), ..data.clone() }, &["options <nop> instead of none"]),
        (
            Packet { options: Some(vec![TcpOption::Nop, TcpOption::Nop]), ..data.clone() },
            &["options <nop> instead of <nop,nop>"],
        ),
    ];
    for (expected, found) in cases {
        let text = expected.to_string();
        let seen = differences(&exactly(expected), &data, &mut Clock::default(), Strictness::Exact);
        assert_eq!(seen, found, "{text}");
    }
}

#[test]
fn the_first_timestamp_sets_the_clock_for_all_others() {
    let stamped = |value| packet(Flags::ACK, 1, 0, vec![TcpOption::Timestamps(value, 5)]);
    let mut clock = Clock::default();
    let mut found =
        |expected, actual| differences(&exactly(stamped(expected)), &stamped(actual), &mut clock, Strictness::Exact);
    assert!(found(1000, 1).is_empty());
    assert!(found(1100, 101).is_empty());
    let found = found(1100, 102);
    assert_eq!(found, ["options <TS val 1101 ecr 5> instead of <TS val 1100 ecr 5>"]);
}

#[test]
fn a_long_packet_stands_for_its_segments() {
    let long = packet(Flags::ACK | Flags::PSH, 1, 2500, vec![]);
    let parts = segments(&long, 1000, false);
    let parts: Vec<String> = parts.iter().map(|part| part.packet.to_string()).collect();
    let expected =
        [". 1:1001(1000) ack 1 win 100", ". 1001:2001(1000) ack 1 win 100", "P. 2001:2501(500) ack 1 win 100"];
    assert_eq!(parts, expected);
    let empty = packet(Flags::ACK, 1, 0, vec![]);
    assert_eq!(segments(&empty, 1000, true).len(), 1);
}

#[test]
fn bursts_may_end_with_psh_within_a_packet_but_not_at_its_end() {
    let line = packet(Flags::ACK, 1, 2000, vec![]);
    // (bursts, [whether the first segment may have PSH, whether the second may])
    for (bursts, allowed) in [(false, [false, false]), (true, [true, false])] {
        let parts = segments(&line, 1000, bursts);
        let passes = |part: &Expected| {
            let pushed = Packet { flags: part.packet.flags | Flags::PSH, ..part.packet.clone() };
            let clock = &mut Clock::default();
            assert!(differences(part, &part.packet, clock, Strictness::Exact).is_empty());
            differences(part, &pushed, clock, Strictness::Exact).is_empty()
        };
        assert_eq!([passes(&parts[0]), passes(&parts[1])], allowed, "{bursts}");
    }
}
