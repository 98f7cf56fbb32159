//! Data in both directions, loss, acknowledgment policies, timestamps.

use super::*;

#[test]
fn data_both_ways_at_once() {
    let mut pair = Pair::open(&config(), &config());
    pair.write(Client, 2500);
    pair.write(Server, 1200);
    pair.run();
    assert_eq!(
        pair.trace(),
        [
            "30 > . 1:1001 ack 1",
            "30 > . 1001:2001 ack 1",
            "30 > P. 2001:2501 ack 1",
            "30 < . 1:1001 ack 1",
            "30 < P. 1001:1201 ack 1",
            "40 < . 1201 ack 1001",
            "40 < . 1201 ack 2001",
            "40 < . 1201 ack 2501",
            "40 > . 2501 ack 1001",
            "40 > . 2501 ack 1201",
        ]
    );
    assert_eq!(pair.read, [1200, 2500]);
}

#[test]
fn a_response_carries_the_ack() {
    let delayed = Config { acks: AckPolicy::Delayed(ms(200)), ..config() };
    let mut pair = Pair::open(&config(), &delayed);
    pair.write(Client, 100);
    pair.run_until(60);
    pair.write(Server, 100);
    pair.run();
    assert_eq!(pair.trace(), ["30 > P. 1:101 ack 1", "60 < P. 1:101 ack 101", "70 > . 101 ack 101"]);
}

#[test]
fn a_hole_is_reported_and_repaired() {
    let mut pair = Pair::open(&config(), &config());
    pair.lost = vec![(Client, 2)];
    pair.write(Client, 6000);
    pair.run();
    assert_eq!(
        pair.trace()[6..],
        [
            "40 < . 1 ack 1001",
            "40 < . 1 ack 1001 sack 2001:3001",
            "40 < . 1 ack 1001 sack 2001:4001",
            "40 < . 1 ack 1001 sack 2001:5001",
            "40 < . 1 ack 1001 sack 2001:6001",
            "50 > . 1001:2001 ack 1",
            "60 < . 1 ack 6001",
        ]
    );
}

#[test]
fn a_retransmission_that_was_not_needed_is_reported() {
    // The only ACK is lost; the timer repeats the segment, and the answer says that it came twice.
    let mut pair = Pair::open(&config(), &config());
    pair.lost = vec![(Server, 1)];
    pair.write(Client, 500);
    pair.run();
    assert_eq!(
        pair.trace(),
        ["30 > P. 1:501 ack 1", "40 < . 1 ack 501", "250 > P. 1:501 ack 1", "260 < . 1 ack 501 sack 1:501",]
    );
}

#[test]
fn duplicates_are_reported_unless_that_is_switched_off() {
    for (dsack, answer) in [(true, ". 1 ack 101 sack 1:101"), (false, ". 1 ack 101")] {
        let config = Config { dsack, ..config() };
        for again in [false, true] {
            let mut lone = Lone::connected(&config, "S. 0:1 ack 1 mss 1000 sackOK");
            if again {
                lone.endpoint.reset(&config, true);
                lone.sent();
                lone.answer("S. 0:1 ack 1 mss 1000 sackOK");
            }
            assert_eq!(lone.answer("P. 1:101 ack 1"), [". 1 ack 101"]);
            assert_eq!(lone.answer("P. 1:101 ack 1"), [answer]);
        }
    }
}

#[test]
fn sequence_numbers_wrap() {
    // The trace does not depend on either ISN, losses included.
    let trace = |isn| {
        let config = Config { isn: SeqNumber(isn), ..with_timestamps() };
        let mut pair = Pair::new(&config, &with_timestamps());
        pair.lost = vec![(Client, 3), (Client, 9)];
        pair.run_until(30);
        pair.write(Client, 20_000);
        pair.close(Client);
        pair.close(Server);
        pair.run();
        assert_eq!(pair.read[1], 20_000, "{isn}");
        pair.trace()
    };
    let expected = trace(0);
    for isn in [u32::MAX, u32::MAX - 1, u32::MAX - 1000, u32::MAX - 10_500, 1 << 31, (1 << 31) - 7000] {
        assert_eq!(trace(isn), expected, "{isn}");
    }
}

#[test]
fn no_segment_is_larger_than_agreed_however_much_there_is_to_report() {
    for (timestamps, most) in [(true, 1000 + 12), (false, 1000)] {
        let config = Config { timestamps, ..config() };
        let mut pair = Pair::open(&config, &config);
        // Both lose every other segment while both send.
        pair.lost = [Client, Server].into_iter().flat_map(|side| (1..10).map(move |i| (side, 2 * i))).collect();
        pair.write(Client, 20_000);
        pair.write(Server, 20_000);
        pair.run();
        assert_eq!(pair.read, [20_000; 2]);
        for (_, _, segment) in &pair.sent {
            let options = segment.header_len() - 20;
            let data = segment.payload_len > 0;
            assert!(!data || options + segment.payload_len <= most, "{segment}");
        }
        // A pure ACK carries the blocks that did not fit.
        let reports = pair.sent.iter().filter(|(_, _, s)| !s.options.sack.is_empty());
        assert!(reports.filter(|(_, _, s)| s.is_pure_ack()).count() > 5);
    }
}

#[test]
fn full_segments_leave_the_report_to_a_pure_ack() {
    let mut lone = Lone::open();
    lone.endpoint.write(lone.now, 1500);
    lone.recv("P. 101:201 ack 1");
    assert_eq!(
        lone.sent(),
        [
            ". 1:1001 ack 1",
            "P. 1001:1501 ack 1 sack 101:201", // there is room here
        ]
    );
    lone.endpoint.write(lone.now, 1000);
    lone.recv("P. 301:401 ack 1");
    assert_eq!(lone.sent(), ["P. 1501:2501 ack 1", ". 2501 ack 1 sack 301:401 101:201"]);
    // Nothing new to report: the data says all there is to say.
    lone.endpoint.write(lone.now, 1000);
    assert_eq!(lone.sent(), ["P. 2501:3501 ack 1"]);
}

#[test]
fn how_many_blocks_fit() {
    // (timestamps agreed, blocks)
    for (options, fit) in [("", 4), ("ts 9/1", 3)] {
        let config = with_timestamps();
        let mut lone = Lone::connected(&config, &format!("S. 0:1 ack 1 mss 1000 sackOK {options}"));
        for i in 1..=6 {
            lone.recv(&format!(". {}:{} ack 1 {options}", i * 100, i * 100 + 50));
        }
        assert_eq!(lone.transmits()[0].options.sack.len(), fit);
    }
}

/// Delays of the ACKs of segments that arrive 1 ms apart, at milliseconds 0, 1, … of the test; the
/// segments are given by the first byte's number, 100 bytes each unless `full`.
fn acks(policy: AckPolicy, segments: &[u64], len: u64) -> Vec<String> {
    let config = Config { acks: policy, ..config() };
    let mut lone = Lone::connected(&config, "S. 0:1 ack 1 mss 1000 sackOK");
    let mut sent = vec![];
    for start in segments {
        lone.recv(&format!(". {start}:{} ack 1", start + len));
        let at = lone.now.as_millis_f64();
        let at_once = lone.sent();
        sent.extend(at_once.iter().map(|line| format!("{at} {line}")));
        sent.extend(lone.pass(ms(1)));
    }
    sent.extend(lone.pass(ms(1000)));
    sent
}

#[test]
fn delayed_acks() {
    // RFC 5681 §4.2: every second full-size segment, and the odd one after the delay.
    let delayed = AckPolicy::Delayed(ms(200));
    assert_eq!(
        acks(delayed, &[1, 1001, 2001, 3001, 4001], 1000),
        ["1 . 1 ack 2001", "3 . 1 ack 4001", "204 . 1 ack 5001"]
    );
    // Small segments wait, from the first of them on.
    assert_eq!(acks(delayed, &[1, 101, 201], 100), ["200 . 1 ack 301"]);
    // Out of order, duplicate, filling a hole in part and in whole: at once.
    assert_eq!(
        acks(delayed, &[1001, 3001, 1, 1, 2001, 4001], 1000),
        [
            "0 . 1 ack 1 sack 1001:2001",
            "1 . 1 ack 1 sack 3001:4001 1001:2001",
            "2 . 1 ack 2001 sack 3001:4001",
            "3 . 1 ack 2001 sack 1:1001 3001:4001",
            "4 . 1 ack 4001",
            "205 . 1 ack 5001",
        ]
    );
    // A held ACK goes with one that is due at once, and its timer with it.
    assert_eq!(acks(delayed, &[1, 2001], 1000), ["1 . 1 ack 1001 sack 2001:3001"]);
}

#[test]
fn quick_acks() {
    assert_eq!(acks(AckPolicy::Quick, &[1, 101, 201], 100), ["0 . 1 ack 101", "1 . 1 ack 201", "2 . 1 ack 301"]);
    // Linux's budget begins with the first data: the handshake's ACK takes none of it.
    assert_eq!(
        acks(AckPolicy::Linux { quick: 3 }, &[1, 1001, 2001, 3001, 4001, 5001], 1000),
        ["0 . 1 ack 1001", "1 . 1 ack 2001", "2 . 1 ack 3001", "4 . 1 ack 5001", "45 . 1 ack 6001",]
    );
    // A duplicate refills it; the ACK that reports it is the first of the new budget.
    assert_eq!(
        acks(AckPolicy::Linux { quick: 2 }, &[1, 1001, 1, 2001, 3001], 1000),
        ["0 . 1 ack 1001", "1 . 1 ack 2001", "2 . 1 ack 2001 sack 1:1001", "3 . 1 ack 3001", "44 . 1 ack 4001",]
    );
}

#[test]
fn a_fin_is_acknowledged_at_once() {
    let config = Config { acks: AckPolicy::Delayed(ms(200)), ..config() };
    let mut lone = Lone::connected(&config, "S. 0:1 ack 1 mss 1000");
    assert_eq!(lone.answer("FP. 1:102 ack 1"), [". 1 ack 102"]);
}

/// The timestamps echoed for segments that arrive as lines.
fn echoes(policy: AckPolicy, segments: &[&str]) -> Vec<String> {
    let config = Config { acks: policy, ..with_timestamps() };
    let mut lone = Lone::connected(&config, "S. 0:1 ack 1 mss 1000 sackOK ts 100/1");
    let mut echoes = vec![];
    for text in segments {
        lone.recv(text);
        for s in lone.transmits() {
            let echo = s.options.timestamps.unwrap().echo;
            echoes.push(format!("ack {} echo {echo}", s.ack.since(PEER_ISN)));
        }
    }
    echoes
}

#[test]
fn the_echo_is_of_the_earliest_unacknowledged_segment() {
    // RFC 7323 §4.3, case A: a delayed ACK echoes the first segment it acknowledges.
    assert_eq!(
        echoes(
            AckPolicy::Delayed(ms(200)),
            &[
                ". 1:1001 ack 1 ts 101/1",
                ". 1001:2001 ack 1 ts 102/1",
                ". 2001:3001 ack 1 ts 103/1",
                ". 3001:4001 ack 1 ts 104/1",
            ]
        ),
        ["ack 2001 echo 101", "ack 4001 echo 103"]
    );
    // Case B: segments beyond a hole do not count, the one that fills it does.
    assert_eq!(
        echoes(
            AckPolicy::Quick,
            &[
                ". 1:1001 ack 1 ts 101/1",    // A
                ". 2001:3001 ack 1 ts 103/1", // C
                ". 1001:2001 ack 1 ts 102/1", // B
                ". 4001:5001 ack 1 ts 105/1", // E
                ". 3001:4001 ack 1 ts 104/1", // D
            ]
        ),
        ["ack 1001 echo 101", "ack 1001 echo 101", "ack 3001 echo 102", "ack 3001 echo 102", "ack 5001 echo 104",]
    );
    // Case C: a retransmission that fills the hole is the earliest, however late it was sent.
    assert_eq!(
        echoes(
            AckPolicy::Quick,
            &[". 1:1001 ack 1 ts 101/1", ". 2001:3001 ack 1 ts 103/1", ". 1001:2001 ack 1 ts 150/1",]
        )[2],
        "ack 3001 echo 150"
    );
}

#[test]
fn a_round_trip_is_measured_by_the_echo_after_a_retransmission() {
    // Karn's rule voids the sample of what was sent twice, the timestamp does not (RFC 7323 §4.1).
    for (options, srtt) in [("", 0), ("ts 9/{}", 1)] {
        let config = with_timestamps();
        let mut lone =
            Lone::connected(&config, &format!("S. 0:1 ack 1 mss 1000 sackOK {}", options.replace("{}", "1")));
        lone.endpoint.write(lone.now, 100);
        lone.sent();
        lone.pass(ms(1500)); // retransmitted at 200, 600 and 1400 ms
        let echo = 1 + 1400;
        lone.recv(&format!(". 1 ack 101 {}", options.replace("{}", &echo.to_string())));
        let measured = lone.endpoint.sender().rtt().srtt().unwrap();
        // 1/8 of the 100 ms from the last transmission, or nothing.
        assert_eq!(measured.as_millis() as u64, srtt * 100 / 8, "{options}");
    }
}

#[test]
fn an_echo_of_the_future_is_no_measurement() {
    let config = with_timestamps();
    let mut lone = Lone::connected(&config, "S. 0:1 ack 1 mss 1000 sackOK ts 9/1");
    lone.endpoint.write(lone.now, 100);
    lone.sent();
    lone.pass(ms(250)); // sent twice, so that only the echo could measure
    let before = lone.endpoint.sender().rtt().srtt();
    lone.recv(". 1 ack 101 ts 10/1000000");
    assert_eq!(lone.endpoint.sender().rtt().srtt(), before);
}

#[test]
fn a_peer_without_sack_is_repaired_on_its_third_duplicate_ack() {
    let plain = Config { sack: false, ..config() };
    let mut pair = Pair::open(&plain, &config());
    pair.lost = vec![(Client, 2)];
    pair.write(Client, 6000);
    pair.run();
    assert!(pair.sent.iter().all(|(_, _, s)| s.options.sack.is_empty()));
    // Five ACKs of 1001, of which the fourth is the third to say nothing new.
    assert_eq!(pair.trace()[10..13], ["40 < . 1 ack 1001", "50 > . 1001:2001 ack 1", "60 < . 1 ack 6001"]);
    assert_eq!(pair.read[1], 6000);
}

#[test]
fn sack_blocks_of_a_peer_that_did_not_agree_to_them_are_ignored() {
    let plain = Config { sack: false, ..config() };
    let mut lone = Lone::connected(&plain, "S. 0:1 ack 1 mss 1000 sackOK");
    lone.endpoint.write(lone.now, 6000);
    lone.sent();
    lone.recv(". 1 ack 1 sack 3001:6001");
    assert_eq!(lone.sent(), [""; 0]);
    // As a duplicate ACK it stands for one segment, whatever its blocks say.
    assert_eq!(lone.endpoint.sender().board().sacked().0, 1);
}

#[test]
fn push_marks_the_end_of_what_was_written() {
    let mut lone = Lone::open();
    lone.endpoint.write(lone.now, 1500);
    lone.endpoint.write(lone.now, 500);
    assert_eq!(lone.sent(), [". 1:1001 ack 1", "P. 1001:2001 ack 1"]);
    lone.endpoint.write(lone.now, 1);
    assert_eq!(lone.sent(), ["P. 2001:2002 ack 1"]);
    lone.endpoint.write(lone.now, 0);
    assert_eq!(lone.sent(), [""; 0]);
}
