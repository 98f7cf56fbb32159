//! Windows: shut, reopened, tiny.

use super::*;

/// A client that sends to a server whose buffer is `buffer` and whose application does not read.
fn to_a_full_server(buffer: u64, bytes: u64) -> Pair {
    let server = Config { receive_buffer: buffer, ..config() };
    let mut pair = Pair::open(&config(), &server);
    pair.reads = [true, false];
    pair.write(Client, bytes);
    pair
}

#[test]
fn a_closed_window_is_probed_at_doubled_intervals() {
    let mut pair = to_a_full_server(2000, 5000);
    pair.run_until(4000);
    // The RTO is 220 ms: SRTT 20 ms and the floor of 200 ms.
    assert_eq!(
        pair.trace(),
        [
            "30 > . 1:1001 ack 1",
            "30 > . 1001:2001 ack 1",
            "40 < . 1 ack 1001",
            "40 < . 1 ack 2001",
            "270 > . 2000 ack 1",
            "280 < . 1 ack 2001",
            "710 > . 2000 ack 1",
            "720 < . 1 ack 2001",
            "1590 > . 2000 ack 1",
            "1600 < . 1 ack 2001",
            "3350 > . 2000 ack 1",
            "3360 < . 1 ack 2001",
        ]
    );
    assert!(pair.from(Server).skip(1).all(|s| s.window == 0));
}

#[test]
fn a_window_update_reopens_a_closed_window() {
    let mut pair = to_a_full_server(2000, 3500);
    pair.run_until(100);
    pair.sent.clear();
    pair.read(Server);
    pair.run_until(200);
    assert_eq!(
        pair.trace(),
        [
            "100 < . 1 ack 2001",
            "110 > . 2001:3001 ack 1",
            "110 > P. 3001:3501 ack 1",
            "120 < . 1 ack 3001",
            "120 < . 1 ack 3501",
        ]
    );
    pair.read(Server);
    assert_eq!(pair.read[1], 3500);
}

#[test]
fn a_probe_finds_the_window_open_when_the_update_was_lost() {
    let mut pair = to_a_full_server(2000, 3500);
    pair.run_until(100);
    pair.sent.clear();
    pair.lost = vec![(Server, 1)];
    pair.read(Server);
    pair.run_until(400);
    assert_eq!(
        pair.trace(),
        [
            "100 < . 1 ack 2001",
            "270 > . 2000 ack 1",
            "280 < . 1 ack 2001",
            "290 > . 2001:3001 ack 1",
            "290 > P. 3001:3501 ack 1",
            "300 < . 1 ack 3001",
            "300 < . 1 ack 3501",
        ]
    );
}

#[test]
fn a_closed_window_may_stay_closed_forever() {
    // RFC 9293 §3.8.6.1: while the peer answers probes the connection stays.
    let mut pair = to_a_full_server(2000, 5000);
    pair.run_until(100_000_000);
    assert_eq!(pair.states(), [State::Established; 2]);
    // Probes are 120 s apart in the end: the RTO's ceiling.
    let probes: Vec<_> = pair.sent.iter().filter(|(_, side, _)| *side == Client).collect();
    let [.., (before, ..), (last, ..)] = probes[..] else {
        panic!("no probes");
    };
    assert_eq!(last.since(*before), Duration::from_secs(120));
    pair.read(Server);
    pair.run_until(100_001_000);
    pair.read(Server);
    pair.run_until(100_002_000);
    pair.read(Server);
    assert_eq!(pair.read[1], 5000);
}

#[test]
fn unanswered_probes_end_with_the_user_timeout() {
    let mut lone = Lone::connected(&config(), "S. 0:1 ack 1 mss 1000 win 1000");
    lone.endpoint.write(lone.now, 2000);
    assert_eq!(lone.sent(), [". 1:1001 ack 1"]);
    lone.recv(". 1 ack 1001 win 0");
    let timeout = config().mechanisms.user_timeout;
    let probes = lone.pass(timeout - ms(1));
    assert!(probes.iter().all(|p| p.ends_with(" . 1000 ack 1")), "{probes:?}");
    assert!(probes.len() > 5);
    assert_eq!(lone.state(), State::Established);
    lone.pass(ms(1));
    assert_eq!(lone.state(), State::Closed(Closed::ByTimeout));
}

#[test]
fn the_applications_user_timeout_ends_a_wait_for_a_window_that_stays_closed() {
    // tcp(7), TCP_USER_TIMEOUT: "buffered data may remain untransmitted (due to zero window size)" for so long.
    let mut lone = Lone::connected(&config(), "S. 0:1 ack 1 mss 1000 win 1000");
    let timeout = Duration::from_secs(20);
    lone.endpoint.set_user_timeout(timeout);
    lone.endpoint.write(lone.now, 2000);
    lone.sent();
    lone.recv(". 1 ack 1001 win 0");
    let closed = lone.now;
    while lone.state() == State::Established && lone.now.since(closed) < 2 * timeout {
        lone.pass(ms(100));
        lone.recv(". 1 ack 1001 win 0");
    }
    assert_eq!(lone.state(), State::Closed(Closed::ByTimeout));
    assert!(lone.now.since(closed) <= timeout + ms(100), "{:?}", lone.now.since(closed));
}

#[test]
fn a_window_that_shrinks_to_zero_is_probed() {
    // RFC 9293 §3.8.6, though nothing new is acknowledged.
    let mut lone = Lone::connected(&config(), "S. 0:1 ack 1 mss 1000 win 5000");
    lone.recv(". 1 ack 1 win 0");
    lone.endpoint.write(lone.now, 2000);
    assert_eq!(lone.sent(), [""; 0]);
    let probes = lone.pass(Duration::from_secs(10));
    assert!(probes.len() > 2 && probes.iter().all(|p| p.ends_with(" . 0 ack 1")), "{probes:?}");
    // And with data on the way, which alone is sent again.
    lone.recv(". 1 ack 1 win 5000");
    assert_eq!(lone.sent().len(), 2);
    lone.recv(". 1 ack 1 win 0");
    lone.endpoint.write(lone.now, 2000);
    let again = lone.pass(Duration::from_secs(10));
    assert!(
        !again.is_empty() && again.iter().all(|p| p.contains(" 1:1001 ") || p.contains(" 1001:2001 ")),
        "{again:?}"
    );
    lone.recv(". 1 ack 2001 win 5000");
    assert_eq!(lone.sent().len(), 2);
}

#[test]
fn a_small_window_is_used_when_the_timer_expires() {
    // RFC 9293 §3.8.6.2.1: less than half the largest window waits for the override timer.
    let mut lone = Lone::connected(&config(), "S. 0:1 ack 1 mss 1000 win 1000");
    lone.endpoint.write(lone.now, 2000);
    lone.sent();
    lone.recv(". 1 ack 1001 win 499");
    assert_eq!(lone.sent(), [""; 0]);
    assert_eq!(lone.pass(ms(199)), [""; 0]);
    let sent = lone.pass(ms(2));
    assert!(sent.len() == 1 && sent[0].ends_with(" . 1001:1500 ack 1"));
    // Half of it may go at once.
    lone.recv(". 1 ack 1500 win 500");
    assert_eq!(lone.sent(), [". 1500:2000 ack 1"]);
}

#[test]
fn the_peers_window_is_never_overrun() {
    let mut lone = Lone::connected(&config(), "S. 0:1 ack 1 mss 1000 win 2500");
    lone.endpoint.write(lone.now, 10_000);
    assert_eq!(lone.sent(), [". 1:1001 ack 1", ". 1001:2001 ack 1"]);
    // An older ACK takes nothing back, a newer one may move the edge little.
    lone.recv(". 1 ack 1 win 0");
    assert_eq!(lone.sent(), [""; 0]);
    lone.recv(". 1 ack 1001 win 2000");
    assert_eq!(lone.sent(), [". 2001:3001 ack 1"]);
    lone.recv(". 1 ack 3001 win 1");
    assert_eq!(lone.sent(), [""; 0]);
}

#[test]
fn tiny_buffers_deliver_everything() {
    // (buffer, bytes): smaller than the MSS of 1000, odd, and a single byte
    for (buffer, bytes) in [(999, 20_000), (300, 5000), (2, 50), (1, 20)] {
        for acks in [AckPolicy::Quick, AckPolicy::Delayed(ms(200))] {
            let server = Config { receive_buffer: buffer, acks, ..config() };
            let mut pair = Pair::open(&config(), &server);
            pair.write(Client, bytes);
            pair.close(Client);
            pair.close(Server);
            pair.run();
            assert_eq!(pair.read[1], bytes, "buffer {buffer}, {acks:?}");
            let largest = pair.from(Client).map(|s| s.payload_len).max();
            assert_eq!(largest, Some(buffer as u32));
            let gone = State::Closed(Closed::Gracefully);
            assert_eq!(pair.states(), [gone; 2], "buffer {buffer}, {acks:?}");
        }
    }
}

#[test]
fn a_slow_reader_is_not_sent_silly_segments() {
    // The application reads 100 bytes at a time: the window opens by segments (RFC 9293
    // §3.8.6.2.2), so all but the last are full.
    let mut pair = to_a_full_server(4000, 20_500);
    let mut at = 100;
    while pair.read[1] < 20_500 {
        pair.run_until(at);
        let now = pair.now;
        let read = pair.end(Server).readable().min(100);
        pair.end(Server).read(now, read);
        pair.read[1] += read;
        at += 5;
    }
    let small = pair.from(Client).filter(|s| (1..1000).contains(&s.payload_len));
    assert_eq!(small.count(), 1);
}

#[test]
fn the_edge_on_the_wire_moves_back_by_rounding_at_most() {
    // RFC 7323 §2.4: with a shift of s the offered edge may fall back by less than 2^s. What was
    // ever offered is still taken.
    let server = Config {
        receive_buffer: 1_000_000, // a shift of 4
        ..config()
    };
    let mut pair = Pair::open(&config(), &server);
    pair.reads = [true, false];
    for i in 0..300 {
        pair.write(Client, 1 + i * 7 % 1900);
        pair.run_until(100 + i * 30);
    }
    let mut highest = 0;
    for s in pair.from(Server) {
        let edge = s.ack.since(OWN_ISN) + (u32::from(s.window) << 4);
        assert!(edge + 16 > highest, "{s}");
        highest = highest.max(edge);
    }
    assert!(highest <= 1 + 1_000_000);
}

#[test]
fn data_beyond_the_window_is_answered_and_dropped() {
    let small = Config { receive_buffer: 1000, ..config() };
    let mut lone = Lone::connected(&small, "S. 0:1 ack 1 mss 1000 sackOK");
    // (segment, answer, readable)
    let cases = [
        (". 1001:2001 ack 1", ". 1 ack 1", 0),
        (". 501:2001 ack 1", ". 1 ack 1 sack 501:1001", 0), // cut off
        (". 1:501 ack 1", ". 1 ack 1001", 1000),
        (". 1001:1002 ack 1", ". 1 ack 1001", 1000), // the window is shut
        ("F. 1001:1002 ack 1", ". 1 ack 1001", 1000),
    ];
    for (segment, answer, readable) in cases {
        assert_eq!(lone.answer(segment), [answer], "{segment}");
        assert_eq!(lone.endpoint.readable(), readable, "{segment}");
    }
    assert_eq!(lone.state(), State::Established);
}
