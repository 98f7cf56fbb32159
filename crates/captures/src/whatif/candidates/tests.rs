//! Connections that are rerun, and those that are refused.

use super::*;
use recoup_trace::finding::{CapturePoint, Closing, RttQuantiles};
use recoup_units::Instant;
use recoup_wire::Endpoints;
use std::time::Duration;

/// A candidate whose server, at this address, sends.
pub fn candidate(server: &str) -> Candidate {
    Candidate {
        sought: Sought {
            id: 0,
            endpoints: Endpoints { src: "198.51.100.7:40000".parse().unwrap(), dst: server.parse().unwrap() },
            frames: 1..=10,
            point: CapturePoint::default(),
            tunnels: Default::default(),
        },
        sender: Host::Server,
        identified: Vec::new(),
        least_rto: None,
        cause: None,
        retransmissions: Vec::new(),
        time: [Instant::ZERO, Instant::from_millis(900)],
    }
}

fn connection(down: Direction) -> Connection {
    let ends = candidate("192.0.2.1:80").sought.endpoints;
    Connection {
        id: 4,
        endpoints: ends,
        opening: Opening::Handshake,
        closing: Closing::Closed,
        frames: 1..=10,
        begun: Instant::ZERO,
        ended: Instant::from_millis(900),
        packets: 10,
        handshake_rtt: None,
        sack: Some(true),
        ecn: None,
        capture_point: CapturePoint::default(),
        tunnels: Default::default(),
        quic: None,
        directions: [Direction { bytes: 300, ..Direction::default() }, down],
    }
}

fn down(vantage: Vantage) -> Direction {
    Direction { vantage, bytes: 20_000, ..Direction::default() }
}

#[test]
fn connections_are_rerun_if_captured_at_or_near_their_sender() {
    let ms = Duration::from_millis;
    let near = |vantage, to_sender| Direction {
        to_sender: Some(ms(to_sender)),
        rtt: Some(RttQuantiles { p50: ms(100), ..RttQuantiles::default() }),
        ..down(vantage)
    };
    let absent = Direction { absent: true, ..down(Vantage::Sender) };
    let dataless = Direction { bytes: 0, ..down(Vantage::Sender) };
    for (direction, refused) in [
        (down(Vantage::Sender), None),
        (down(Vantage::Receiver), Some("captured_at_receiver")),
        (near(Vantage::Receiver, 1), Some("captured_at_receiver")),
        (near(Vantage::Between, 5), None),
        (near(Vantage::Between, 6), Some("captured_on_path")),
        (down(Vantage::Unknown), Some("capture_point_unknown")),
        (near(Vantage::Unknown, 1), None),
        (absent, Some("one_way")),
        (dataless, None),
    ] {
        let mut all = Candidates::default();
        let mut connection = connection(direction);
        if connection.directions[1].bytes == 0 {
            // The client's 300 bytes are all there is.
            connection.directions[0].vantage = Vantage::Sender;
        }
        all.connection(connection, &[]);
        let found = all.refused.by_count();
        let found = found.first().map(|reason| reason.name);
        assert_eq!(found, refused);
        assert_eq!(all.rows.len(), usize::from(refused.is_none()));
    }
    let mut all = Candidates::default();
    all.connection(Connection { opening: Opening::MidConnection, ..connection(down(Vantage::Sender)) }, &[]);
    assert_eq!(all.refused.by_count()[0].name, "no_handshake");
}

#[test]
fn the_cause_is_the_one_that_cost_most() {
    let mut lost = LostTime::default();
    assert_eq!(main_cause(&lost), None);
    // What cost nothing is no cause.
    lost.add(Cause::DelaySpike, Duration::ZERO);
    assert_eq!(main_cause(&lost), None);
    lost.add(Cause::LostSyn, Duration::from_millis(10));
    assert_eq!(main_cause(&lost), Some(Cause::LostSyn));
    lost.add(Cause::Burst, Duration::from_millis(30));
    lost.add(Cause::TailByTimeout, Duration::from_millis(20));
    assert_eq!(main_cause(&lost), Some(Cause::Burst));
}

#[test]
fn a_sample_is_the_same_for_any_order_of_connections() {
    let sample = Sample { most: 10, only_troubled: true, most_packets: 10 };
    let add = |all: &mut Candidates, id: u64| {
        let mut one = connection(down(Vantage::Sender));
        one.id = id;
        // Every second connection lost time, and every tenth is large.
        if id.is_multiple_of(2) {
            let lost = &mut one.directions[1].lost;
            lost.add(Cause::Burst, Duration::from_millis(5));
        }
        one.packets = if id % 10 == 4 { 11 } else { 10 };
        all.add(&one, &[]);
    };
    let ids = |all: &Candidates| all.rows.iter().map(|row| row.sought.id).collect::<Vec<_>>();
    let mut whole = Candidates::new(sample);
    (0..500).for_each(|id| add(&mut whole, id));
    whole.keep_sample();
    assert_eq!((ids(&whole).len(), whole.left_out()), (10, 240));
    assert!(ids(&whole).iter().all(|id| id % 2 == 0 && id % 10 != 4));
    let mut parts = [0, 1].map(|part| {
        let mut all = Candidates::new(sample);
        let own = (0..500).rev().filter(|id| id / 7 % 2 == part);
        own.for_each(|id| add(&mut all, id));
        all
    });
    let [first, second] = &mut parts;
    first.merge(std::mem::take(second));
    assert_eq!(ids(first), ids(&whole));
}
