//! How large segments are: what ICMP messages say, and what a search finds.

use super::*;
use crate::endpoint::path_mtu::{BASE, PRECISION};
use recoup_recovery::{Profile, State as RecoveryState};
use recoup_units::SplitMix;

/// An ICMP message says that segments have at most `mss` bytes. Returns what goes then.
fn limit(lone: &mut Lone, mss: u16) -> Vec<String> {
    let now = lone.now;
    lone.endpoint.limit_mss(now, mss);
    lone.sent()
}

fn write(lone: &mut Lone, bytes: u64) -> Vec<String> {
    let now = lone.now;
    lone.endpoint.write(now, bytes);
    lone.sent()
}

#[test]
fn what_is_too_large_goes_again_at_once_without_a_timer_or_a_smaller_window() {
    let mut lone = Lone::open();
    write(&mut lone, 2500);
    let cwnd = lone.endpoint.sender().cwnd();
    lone.now = Instant::from_millis(20);
    let again = [". 1:601 ack 1", ". 601:1001 ack 1", ". 1001:1601 ack 1", ". 1601:2001 ack 1"];
    assert_eq!(limit(&mut lone, 600), again);
    assert_eq!(lone.endpoint.sender().cwnd(), cwnd);
    assert_eq!(lone.endpoint.sender().counters().timeouts.iter().sum::<u64>(), 0);
    assert_eq!((lone.endpoint.mss(), lone.endpoint.path_mtu()), (600, 640));
    assert_eq!(write(&mut lone, 700), [". 2501:3101 ack 1", "P. 3101:3201 ack 1"]);
    lone.now = Instant::from_millis(40);
    assert!(lone.answer(". 1 ack 3201").is_empty());
    assert_eq!(lone.endpoint.sender().state(), RecoveryState::Open);
    assert!(lone.endpoint.sender().cwnd() >= cwnd);
}

#[test]
fn no_segment_is_a_byte_too_long() {
    let mut lone = Lone::open();
    write(&mut lone, 1000);
    assert_eq!(limit(&mut lone, 999), [". 1:1000 ack 1", "P. 1000:1001 ack 1"]);
}

#[test]
fn a_fin_goes_with_the_last_data_and_does_not_count() {
    let mut lone = Lone::open();
    let now = lone.now;
    lone.endpoint.write(now, 2000);
    lone.endpoint.close(now);
    assert_eq!(lone.sent(), [". 1:1001 ack 1", "FP. 1001:2002 ack 1"]);
    assert!(limit(&mut lone, 1000).is_empty());
    let again = [". 1:501 ack 1", ". 501:1001 ack 1", ". 1001:1501 ack 1", "FP. 1501:2002 ack 1"];
    assert_eq!(limit(&mut lone, 500), again);
}

#[test]
fn a_message_that_limits_nothing_changes_nothing() {
    let mut lone = Lone::open();
    write(&mut lone, 1000);
    assert!(limit(&mut lone, 1000).is_empty());
    assert!(limit(&mut lone, 2000).is_empty());
    assert_eq!(lone.endpoint.mss(), 1000);
}

#[test]
fn no_message_makes_segments_tiny() {
    let mut lone = Lone::open();
    write(&mut lone, 100);
    assert_eq!(limit(&mut lone, 1), [". 1:49 ack 1", ". 49:97 ack 1", "P. 97:101 ack 1"]);
}

#[test]
fn a_limit_from_before_the_handshake_holds() {
    let mut lone = Lone::connecting(&config());
    lone.sent();
    lone.endpoint.limit_mss(Instant::ZERO, 700);
    lone.answer("S. 0:1 ack 1 mss 1000 sackOK wscale 0");
    assert_eq!(write(&mut lone, 800), [". 1:701 ack 1", "P. 701:801 ack 1"]);
}

#[test]
fn a_limit_can_be_raised_up_to_what_the_peer_takes() {
    let mut lone = Lone::open();
    limit(&mut lone, 500);
    let cwnd = lone.endpoint.sender().cwnd().0;
    lone.endpoint.raise_mss_limit(Instant::ZERO, 400);
    assert_eq!(lone.endpoint.mss(), 500);
    lone.endpoint.raise_mss_limit(Instant::ZERO, 5000);
    assert_eq!(lone.endpoint.mss(), 1000);
    assert_eq!(lone.endpoint.sender().cwnd().0, cwnd / 2, "the window keeps its bytes");
    assert_eq!(write(&mut lone, 1100), [". 1:1001 ack 1", "P. 1001:1101 ack 1"]);
}

fn searching(mode: MtuProbing) -> Config {
    Config { mss: 1400, mtu_probing: mode, ..Config { mechanisms: Mechanisms::LINUX_6, ..config() } }
}

/// A client that searches as `mode` says and a server, over a path that swallows more than `passes` bytes.
fn over_a_black_hole(mode: MtuProbing, passes: u32) -> Pair {
    let mut pair = Pair::open(&searching(mode), &searching(MtuProbing::Off));
    pair.passes = passes;
    pair
}

/// The payload of the largest segments that arrived lately.
fn largest_lately(pair: &Pair) -> u32 {
    let sent: Vec<u32> = pair.from(Client).map(|s| s.payload_len).filter(|len| *len <= pair.passes).collect();
    sent[sent.len().saturating_sub(20)..].iter().copied().max().unwrap()
}

fn timeouts(pair: &Pair) -> u64 {
    pair.ends[0].sender().counters().timeouts.iter().sum()
}

#[test]
fn a_transfer_through_a_black_hole_completes_with_the_largest_segments_that_pass() {
    for passes in [1300, 1100, 1000, 800, 300, 100] {
        let mut pair = over_a_black_hole(MtuProbing::OnBlackHole, passes);
        pair.write(Client, 600_000);
        pair.run_until(600_000);
        assert_eq!(pair.read[1], 600_000, "{passes}");
        let mss = u32::from(pair.ends[0].mss());
        assert!((passes - mss) < u32::from(PRECISION), "{passes}: {mss}");
        assert_eq!(largest_lately(&pair), mss, "{passes}");
        assert_eq!(pair.ends[0].sender().state(), RecoveryState::Open);
    }
}

#[test]
fn a_black_hole_is_found_by_the_fourth_timeout_in_a_row() {
    let mut pair = over_a_black_hole(MtuProbing::OnBlackHole, 1100);
    pair.write(Client, 20_000);
    pair.run_until(20_000);
    let retransmissions: Vec<_> = pair.trace().into_iter().filter(|line| line.contains("> . 1:")).collect();
    assert_eq!(
        retransmissions,
        // The RTO is 220 ms and doubles. It counts from the tail loss probe at 72 ms.
        [
            "30 > . 1:1401 ack 1",
            "292 > . 1:1401 ack 1",
            "732 > . 1:1401 ack 1",
            "1612 > . 1:1401 ack 1",
            "3372 > . 1:1025 ack 1",
        ]
    );
    assert_eq!((timeouts(&pair), pair.read[1]), (4, 20_000));
}

#[test]
fn failed_probes_neither_wait_for_a_timer_nor_reduce_the_window() {
    let mut pair = over_a_black_hole(MtuProbing::OnBlackHole, 1100);
    pair.write(Client, 20_000);
    pair.run_until(20_000);
    let before = timeouts(&pair);
    let (mut lowest, mut failed) = (u64::MAX, 0);
    for _ in 0..40 {
        pair.write(Client, 30_000);
        let until = pair.now.as_nanos() / 1_000_000 + 100;
        let first = pair.sent.len();
        pair.run_until(until);
        failed += pair.sent[first..].iter().filter(|(_, _, s)| s.payload_len > 1100).count();
        lowest = lowest.min(pair.ends[0].sender().cwnd_bytes());
    }
    assert!(failed >= 3, "{failed} probes failed");
    assert_eq!(timeouts(&pair), before);
    // Ten segments of 1024 bytes, less what is lost as the window is counted in larger ones.
    assert!(lowest > 9 * 1024, "cwnd fell to {lowest}");
    assert_eq!(pair.read[1], 20_000 + 40 * 30_000);
}

#[test]
fn a_path_that_takes_more_ten_minutes_later_is_used() {
    let mut pair = over_a_black_hole(MtuProbing::OnBlackHole, 1100);
    pair.write(Client, 300_000);
    pair.run_until(100_000);
    assert!(pair.ends[0].mss() <= 1100);
    pair.passes = u32::MAX;
    pair.write(Client, 300_000);
    pair.run_until(200_000);
    assert!(pair.ends[0].mss() <= 1100, "too early");
    pair.run_until(800_000);
    pair.write(Client, 300_000);
    pair.run_until(900_000);
    assert_eq!(pair.ends[0].mss(), 1400);
    assert_eq!(pair.read[1], 900_000);
}

#[test]
fn without_probing_a_black_hole_stops_the_transfer() {
    let mut pair = over_a_black_hole(MtuProbing::Off, 1100);
    pair.write(Client, 20_000);
    pair.run_until(100_000);
    assert_eq!((pair.read[1], pair.ends[0].mss()), (0, 1400));
}

#[test]
fn timeouts_of_small_segments_say_nothing_of_the_path() {
    let mut pair = over_a_black_hole(MtuProbing::OnBlackHole, 0);
    pair.write(Client, 250);
    pair.run_until(60_000);
    assert!(timeouts(&pair) > 4);
    assert_eq!(pair.ends[0].mss(), 1400);
}

#[test]
fn small_pieces_of_what_was_too_large_are_evidence_too() {
    // ICMP messages limit segments to 374 bytes, and that is not all of it.
    let mut pair = over_a_black_hole(MtuProbing::OnBlackHole, 326);
    pair.write(Client, 20_000);
    pair.run_until(700);
    let now = pair.now;
    pair.end(Client).limit_mss(now, 374);
    pair.end(Client).raise_mss_limit(now, 792);
    pair.run_until(60_000);
    assert_eq!(pair.read[1], 20_000);
}

#[test]
fn further_timeouts_halve_the_segments_and_small_ones_take_more() {
    let mut pair = over_a_black_hole(MtuProbing::OnBlackHole, 0);
    pair.write(Client, 10_000);
    let mut after = vec![];
    for until in (0..40_000).map(|tick| tick * 10) {
        pair.run_until(until);
        let mss = pair.ends[0].mss();
        if after.last().is_none_or(|(_, last)| *last != mss) {
            after.push((timeouts(&pair), mss));
        }
    }
    assert_eq!(after, [(0, 1400), (4, 1024), (5, 512), (6, 256), (8, 128), (10, 64)]);
}

#[test]
fn a_path_that_takes_other_large_segments_is_lossy() {
    // The first segment is lost with all its retransmissions; what follows it arrives.
    let mut pair = over_a_black_hole(MtuProbing::OnBlackHole, u32::MAX);
    pair.lost = [1, 11, 12, 13, 14, 15].map(|place| (Client, place)).to_vec();
    pair.write(Client, 14_000);
    pair.run_until(30_000);
    assert_eq!((timeouts(&pair), pair.read[1], pair.ends[0].mss()), (5, 14_000, 1400));
}

#[test]
fn over_ipv6_packets_keep_1280_bytes() {
    let config = Config { ip_version: IpVersion::V6, timestamps: true, ..searching(MtuProbing::OnBlackHole) };
    let mut pair = Pair::open(&config, &config);
    pair.passes = 0;
    pair.write(Client, 10_000);
    pair.run_until(1_000_000);
    assert_eq!((pair.ends[0].mss(), pair.ends[0].path_mtu()), (1208, 1280));
}

#[test]
fn a_search_from_the_handshake_on_begins_small_and_loses_nothing_on_an_open_path() {
    let mut pair = over_a_black_hole(MtuProbing::Always, u32::MAX);
    assert_eq!(pair.ends[0].mss(), BASE);
    pair.write(Client, 2_000_000);
    pair.run_until(60_000);
    assert_eq!((pair.read[1], pair.ends[0].mss()), (2_000_000, 1400));
    assert_eq!(pair.ends[0].sender().counters().retransmissions.total(), 0);
}

#[test]
fn a_probe_that_an_icmp_message_refuses_goes_again_at_once() {
    let mut pair = over_a_black_hole(MtuProbing::Always, 1100);
    pair.write(Client, 2_000_000);
    let probe = loop {
        let until = pair.now.as_nanos() / 1_000_000 + 1;
        pair.run_until(until);
        if let Some((_, _, probe)) = pair.sent.iter().find(|(_, _, s)| s.payload_len > 1100) {
            break *probe;
        }
        assert!(until < 10_000, "no probe");
    };
    let (now, first) = (pair.now, pair.sent.len());
    let cwnd = pair.ends[0].sender().cwnd().0;
    pair.ends[0].limit_mss(now, 1100);
    pair.flush();
    let again = &pair.sent[first].2;
    assert_eq!((again.seq, again.payload_len), (probe.seq, u32::from(BASE)));
    assert_eq!(pair.ends[0].sender().cwnd().0, cwnd + 1, "the window is what it was before the probe");
    pair.run_until(60_000);
    assert_eq!((pair.read[1], pair.ends[0].mss()), (2_000_000, 1100));
    assert_eq!(pair.from(Client).filter(|s| s.payload_len > 1100).count(), 1);
}

#[test]
fn whatever_is_lost_and_whatever_icmp_says_the_transfer_completes() {
    for seed in 0..200 {
        let mut random = SplitMix(seed);
        let mut draw = |below: u64| random.below(below);
        let mode = [MtuProbing::OnBlackHole, MtuProbing::Always][draw(2) as usize];
        let passes = 200 + draw(1300) as u32;
        let profile = ["linux-6", "linux-3.17", "rfc6675", "linux-6+bbr1"][draw(4) as usize];
        let mechanisms = *profile.parse::<Profile>().unwrap().mechanisms();
        let client = Config { mechanisms, sack: draw(4) > 0, ..searching(mode) };
        let mut pair = Pair::open(&client, &searching(MtuProbing::Off));
        pair.passes = passes;
        pair.lost = (0..draw(60)).map(|_| (Client, 1 + draw(400) as usize)).collect();
        pair.write(Client, 200_000);
        for step in 1..=80 {
            pair.run_until(step * 30);
            pair.ends[0].sender().check().unwrap_or_else(|e| panic!("{seed}: {e}"));
            let now = pair.now;
            match draw(20) {
                0 => pair.end(Client).limit_mss(now, passes.max(100) as u16 + draw(500) as u16),
                1 => pair.end(Client).raise_mss_limit(now, 100 + draw(1400) as u16),
                _ => {}
            }
        }
        pair.close(Client);
        pair.run_until(2_000_000);
        pair.ends[0].sender().check().unwrap_or_else(|e| panic!("{seed}: {e}"));
        assert_eq!(pair.read[1], 200_000, "seed {seed}");
        assert_eq!(pair.ends[0].state(), State::FinWait2, "seed {seed}");
    }
}
