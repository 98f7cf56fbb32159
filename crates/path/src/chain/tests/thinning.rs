//! ACKs of a receiver that acknowledges every segment, made those of one that delays them.

use super::*;

const HOLD: u64 = 200;

/// Sends packets in at these times (ms), the first with number 0. Returns `(time in ms, number)` of those delivered, and
/// of those thinned out.
fn thin(packets: &[(u64, Option<TcpFacts>)]) -> [Vec<(u64, u64)>; 2] {
    thin_flows(packets.iter().map(|&(at, tcp)| (at, 0, tcp)))
}

fn thin_flows(packets: impl IntoIterator<Item = (u64, u64, Option<TcpFacts>)>) -> [Vec<(u64, u64)>; 2] {
    const MS: u64 = 1_000_000;
    let hold = Duration::from_millis(HOLD);
    let packets = (0..).zip(packets).map(|(id, (at, flow, tcp))| {
        let like = packet(id, 40);
        (at * MS, Numbered { flow, tcp, ..like })
    });
    let exits = run(&mut chain(&[HopSpec::ThinAcks { hold }], 1), packets);
    let thinned = dropped(&exits).into_iter().map(|(at, id, hop, cause)| {
        assert_eq!((hop, cause), (0, DropCause::Thinned));
        (at / MS, id)
    });
    let delivered = delivered(&exits).into_iter();
    [delivered.map(|(at, id)| (at / MS, id)).collect(), thinned.collect()]
}

fn ack(ack: u32) -> Option<TcpFacts> {
    Some(TcpFacts { ack: Some(ack), ..TcpFacts::default() })
}

fn with(ack: Option<TcpFacts>, change: impl FnOnce(&mut TcpFacts)) -> Option<TcpFacts> {
    ack.map(|mut tcp| {
        change(&mut tcp);
        tcp
    })
}

fn sack(number: u32) -> Option<TcpFacts> {
    with(ack(number), |tcp| tcp.sack = true)
}

#[test]
fn every_second_ack_passes_and_an_odd_last_one_is_held() {
    // The handshake's counts as none.
    let packets = [(0, ack(1)), (10, ack(11)), (11, ack(21)), (12, ack(31)), (13, ack(41)), (14, ack(51))];
    assert_eq!(thin(&packets), [vec![(0, 0), (11, 2), (13, 4), (214, 5)], vec![(11, 1), (13, 3)]]);
}

#[test]
fn after_a_hold_that_ran_out_the_next_is_odd_again() {
    let packets = [(0, ack(1)), (10, ack(11)), (211, ack(21)), (212, ack(31)), (500, ack(41)), (1000, ack(51))];
    assert_eq!(thin(&packets), [vec![(0, 0), (210, 1), (212, 3), (700, 4), (1200, 5)], vec![(212, 2)]]);
}

#[test]
fn what_passes_at_once_ends_the_held_one_if_it_acknowledges_as_much() {
    // (what follows the held ACK of 11, whether it ends that one)
    let syn = with(ack(0), |tcp| (tcp.syn, tcp.ack) = (true, None));
    let cases = [
        ("duplicate", ack(11), true),
        ("SACK", sack(11), true),
        ("SACK that advances", sack(21), true),
        ("data", with(ack(11), |tcp| tcp.payload_len = 5), true),
        ("data and more", with(ack(21), |tcp| tcp.payload_len = 5), true),
        ("FIN", with(ack(11), |tcp| tcp.fin = true), true),
        ("RST", with(ack(11), |tcp| tcp.rst = true), true),
        ("an old ACK", ack(1), false),
        ("old data", with(ack(1), |tcp| tcp.payload_len = 5), false),
        ("SYN", syn, false),
        ("none of TCP's", None, false),
    ];
    for (name, other, ends) in cases {
        let packets = [(0, ack(1)), (10, ack(11)), (12, other)];
        let expected =
            if ends { [vec![(0, 0), (12, 2)], vec![(12, 1)]] } else { [vec![(0, 0), (12, 2), (210, 1)], vec![]] };
        assert_eq!(thin(&packets), expected, "{name}");
    }
}

#[test]
fn the_segment_that_fills_a_gap_is_acknowledged_at_once() {
    // Segments 2 and 3 are lost and sent again; the ACKs count from odd afterwards.
    let packets =
        [(0, ack(1)), (10, ack(11)), (11, sack(11)), (20, sack(21)), (21, ack(41)), (22, ack(51)), (23, ack(61))];
    assert_eq!(thin(&packets), [vec![(0, 0), (11, 2), (20, 3), (21, 4), (23, 6)], vec![(11, 1), (23, 5)]]);
}

#[test]
fn the_count_starts_at_the_handshake_of_either_side() {
    let syn_ack = with(ack(1), |tcp| tcp.syn = true);
    for first in [ack(1), syn_ack] {
        assert_eq!(thin(&[(0, first), (10, ack(11)), (20, ack(21))]), [vec![(0, 0), (20, 2)], vec![(20, 1)]]);
    }
}

#[test]
fn acknowledgment_numbers_wrap() {
    let start = u32::MAX - 15;
    let at = |n: u32| ack(start.wrapping_add(10 * n));
    let packets = [(0, at(0)), (1, at(1)), (2, at(2)), (3, at(3)), (4, at(1))];
    assert_eq!(thin(&packets), [vec![(0, 0), (2, 2), (4, 4), (203, 3)], vec![(2, 1)]]);
}

#[test]
fn flows_are_thinned_each_by_itself() {
    // One flow's ACK is called off from between two others' that stay.
    let packets = [
        (0, 1, ack(1)),
        (0, 2, ack(1)),
        (0, 3, ack(1)),
        (10, 1, ack(11)),
        (11, 2, ack(11)),
        (12, 3, ack(11)),
        (20, 2, ack(21)),
        (30, 1, ack(21)),
    ];
    assert_eq!(thin_flows(packets), [vec![(0, 0), (0, 1), (0, 2), (20, 6), (30, 7), (212, 5)], vec![(20, 4), (30, 3)]]);
}

#[test]
fn a_reset_forgets_what_was_held() {
    let hold = Duration::from_millis(HOLD);
    let hops = [HopSpec::ThinAcks { hold }];
    let mut used = chain(&hops, 1);
    let numbered = |id, ack| Numbered { tcp: ack, ..packet(id, 40) };
    let packets = || [(0, numbered(0, ack(1))), (10, numbered(1, ack(11)))];
    let fresh = run(&mut chain(&hops, 1), packets());
    for (at, packet) in packets() {
        used.enter(Instant::from_nanos(at), packet);
    }
    used.reset(1);
    assert_eq!(used.next_event(), None);
    assert_eq!(run(&mut used, packets()), fresh);
}
