//! RFC 9002 in TCP: packet and time threshold (§6.1), probe timeout (§6.2), NewReno (§7), persistent
//! congestion (§7.6). By default, the RTT is 80 ms and ten segments are sent at 80 ms.
//!
//! After the handshake and one more sample SRTT is 80 ms and RTTVAR 30 ms, so the loss delay is 90 ms and the
//! probe timeout 80 + 4·30 + 25 = 225 ms.

use super::super::*;
use super::script::Script;
use crate::event::LossDetector::{PacketThreshold, TimeThreshold};

fn ten(written: u64) -> Script {
    let mut flow = Script::connected("rfc9002", 80);
    flow.writes(written).sends("1-10");
    flow
}

//= test: RFC 9002 §6.1.1
#[test]
fn the_third_transmission_after_it_that_is_delivered_makes_a_segment_lost() {
    // §6.1.1: kPacketThreshold = 3.
    let mut flow = ten(10);
    flow.at(160).sack(0, &[2..=3]).state(State::Disorder);
    flow.sends("nothing");
    flow.at(161).sack(0, &[2..=4]).state(State::Recovery);
    flow.sends("fast 1");
    assert_eq!(flow.marked(), [(1, PacketThreshold)]);
}

//= test: RFC 9002 §6.1.2
#[test]
fn a_segment_is_lost_nine_eighths_of_a_round_trip_after_its_transmission() {
    // §6.1.2; the timer stands at the earliest of several.
    let mut flow = ten(10);
    flow.at(160).sack(0, &[3..=3]);
    flow.timer(Timer::Reorder, 170).no_timer(Timer::Probe);
    flow.expires(Timer::Reorder, 170).state(State::Recovery);
    flow.sends("fast 1").no_timer(Timer::Reorder);
    assert_eq!(flow.marked(), [(1, TimeThreshold), (2, TimeThreshold)]);
}

#[test]
fn the_larger_of_srtt_and_the_latest_sample_counts() {
    // §6.1.2: 9/8 · 160 ms, while SRTT is 90 ms.
    let mut flow = ten(10);
    flow.at(240).sack(0, &[3..=3]).timer(Timer::Reorder, 260);
    flow.at(250).ack(10).no_timer(Timer::Reorder);
    assert_eq!(flow.marked(), []);
}

#[test]
fn the_last_segments_are_not_lost_by_time() {
    // §6.1: only what was sent before a segment delivered. The probe timeout finds them.
    let mut flow = ten(10);
    flow.at(160).ack(8).no_timer(Timer::Reorder);
    flow.timer(Timer::Probe, 80 + 225);
    flow.expires(Timer::Probe, 305).sends("tlp 9, tlp 10");
    assert_eq!(flow.marked(), []);
}

#[test]
fn a_lost_retransmission_is_found_by_its_own_number() {
    // §6.1 in the order of transmission: the retransmission of 1 is number 11 of the data, then 11 to 14 go.
    let mut flow = ten(20);
    flow.at(160).sack(0, &[2..=4]).cwnd(5).state(State::Recovery);
    flow.sends("fast 1");
    // Everything but the retransmission arrives.
    flow.at(161).sack(0, &[2..=10]).sends("11-14");
    flow.at(240).sack(0, &[2..=11]).sends("15");
    flow.at(241).sack(0, &[2..=12]).sends("16");
    flow.at(242).sack(0, &[2..=13]);
    // It was sent after the first recovery began, and so begins a second one.
    assert_eq!(flow.marked(), [(1, PacketThreshold), (1, PacketThreshold)]);
    flow.sends("fast 1");
    assert_eq!(flow.sender.counters().recoveries, 2);
    assert_eq!(flow.sender.counters().lost_retransmissions, 1);
}

#[test]
fn losses_are_taken_before_the_window_grows() {
    // A.7: OnPacketsLost before OnPacketsAcked; §7.3.2: what arrives in recovery does not grow the window.
    let mut flow = ten(20);
    flow.at(160).sack(0, &[2..=4]).cwnd(5).ssthresh(5);
    flow.sends("fast 1");
    flow.at(161).sack(0, &[2..=5]).cwnd(5).sends("nothing");
}

//= test: RFC 9002 §7.3.2
#[test]
fn one_segment_may_go_beyond_the_window_as_recovery_begins() {
    // §7.3.2: 1 lost, 3 delivered, 6 in flight, and the window is 5.
    let mut flow = ten(20);
    flow.at(160).sack(0, &[2..=4]).pipe(6).cwnd(5);
    flow.sends("fast 1").pipe(7);
}

//= test: RFC 9002 §7.3.2
#[test]
fn recovery_ends_when_what_was_sent_in_it_arrives() {
    // §7.3.2: although segments sent before are still missing.
    let mut flow = ten(20);
    flow.at(160).sack(0, &[2..=4]).sends("fast 1");
    flow.at(161).sack(0, &[2..=7]).sends("11");
    flow.at(162).sack(0, &[2..=7, 9..=9]).sends("12");
    assert_eq!(flow.fires(Timer::Reorder), 173);
    flow.state(State::Recovery).cwnd(5).sends("fast 8");
    flow.at(240).sack(7, &[9..=9]).state(State::Disorder).cwnd(5);
    flow.sends("fast 10, 13"); // 10 was sent 160 ms ago
    assert_eq!(flow.sender.counters().recoveries, 1);
    assert_eq!(flow.last_recovery().cwnd, Segments(5));
}

#[test]
fn what_was_sent_before_recovery_began_does_not_reduce_the_window_again() {
    // §7.3.2, B.6: one reduction for all losses of a round trip.
    let mut flow = ten(10);
    flow.at(160).sack(0, &[2..=4]).cwnd(5).sends("fast 1");
    flow.at(161).sack(0, &[2..=4, 8..=8]).cwnd(5).sends("nothing");
    assert_eq!(flow.fires(Timer::Reorder), 172);
    flow.cwnd(5).sends("fast 5-6");
    let lost = [(1, PacketThreshold), (5, PacketThreshold), (6, TimeThreshold), (7, TimeThreshold)];
    assert_eq!(flow.marked(), lost);
    assert_eq!(flow.sender.counters().recoveries, 1);
}

#[test]
fn the_window_falls_to_half_but_not_below_two() {
    // §7.2, §7.3.2. The application has one segment a round trip, so the window does not grow.
    let mut flow = Script::connected("rfc9002", 80);
    for (round, cwnd) in [(1, 5), (2, 2), (3, 2)] {
        flow.congested().cwnd(cwnd);
        flow.writes(1).sends(&round.to_string());
        flow.at(80 + 80 * round).ack(round).state(State::Open);
    }
}

//= test: RFC 9002 §6.2
#[test]
fn a_probe_timeout_marks_nothing_lost_and_reduces_nothing() {
    // §6.2.1, §6.2.4: the timeout doubles, and counts from the probes.
    let mut flow = ten(10);
    // Before the second sample RTTVAR is 40 ms: 80 + 160 + 25 ms.
    flow.timer(Timer::Probe, 80 + 265).no_timer(Timer::Rto);
    flow.expires(Timer::Probe, 345).state(State::Open).cwnd(10);
    flow.pipe(10).sends("tlp 1-2").pipe(12);
    flow.expires(Timer::Probe, 345 + 2 * 265).sends("tlp 3-4");
    flow.expires(Timer::Probe, 875 + 4 * 265).sends("tlp 5-6");
    flow.no_timer(Timer::Rto).cwnd(10);
    assert_eq!(flow.marked(), []);
}

//= test: RFC 9002 §6.2.4
#[test]
fn new_data_is_the_first_choice_of_a_probe() {
    // §6.2.4: whatever the window.
    let mut flow = ten(11);
    flow.expires(Timer::Probe, 345).sends("probe 11, tlp 1");
}

//= test: RFC 9002 §6.2.1
#[test]
fn an_ack_ends_the_back_off() {
    // §6.2.1; 1 was sent twice, so no sample is taken from it: 80 + 160 + 25 ms after the probes.
    let mut flow = ten(10);
    flow.expires(Timer::Probe, 345).sends("tlp 1-2");
    assert_eq!(flow.sender.backoff(), 1);
    flow.at(430).ack(1).timer(Timer::Probe, 345 + 265);
    assert_eq!(flow.sender.backoff(), 0);
    flow.sends("fast 3-5"); // 2 and its probe are in flight
}

//= test: RFC 9002 §6.2.1
#[test]
fn the_probe_timeout_counts_from_the_last_transmission() {
    // §6.2.1: time_of_last_ack_eliciting_packet.
    let mut flow = Script::connected("rfc9002", 80);
    flow.writes(1).sends("1").timer(Timer::Probe, 80 + 265);
    flow.at(100).writes(1).sends("2").timer(Timer::Probe, 100 + 265);
    flow.at(160).ack(1).timer(Timer::Probe, 100 + 225);
    flow.at(180).ack(2).no_timer(Timer::Probe);
}

#[test]
fn a_probe_that_arrives_shows_the_rest_lost() {
    // §6.1: sent before the probe and long ago.
    let mut flow = ten(10);
    flow.expires(Timer::Probe, 345).sends("tlp 1-2");
    flow.at(425).ack(1).state(State::Recovery).cwnd(5);
    let lost = |n| match n {
        3..=8 => (n, PacketThreshold),
        _ => (n, TimeThreshold),
    };
    assert_eq!(flow.marked(), [3, 4, 5, 6, 7, 8, 9, 10].map(lost));
    flow.sends("fast 3-5"); // 2 and its probe are in flight
}

//= test: RFC 9002 §5.1
#[test]
fn samples_come_from_the_newest_segment_delivered() {
    // §5.1: 3 is the largest acknowledged, and no longer when 1 and 2 arrive.
    let mut flow = ten(10);
    flow.at(160).sack(0, &[3..=3]);
    let samples = |flow: &Script| flow.sender.rtt().rttvar();
    let before = samples(&flow);
    flow.at(165).ack(3);
    assert_eq!(samples(&flow), before);
    flow.at(168).ack(4);
    assert_ne!(samples(&flow), before);
}

//= test: RFC 9002 §5.3
#[test]
fn the_acks_delay_is_subtracted_up_to_25_ms_and_not_below_the_minimum() {
    // §5.3; min_rtt is 80 ms.
    let sampled = |at, delay| {
        let mut flow = ten(10);
        let mut ack = Ack::new(Offset::DATA + 10_000, 1 << 20);
        ack.ack_delay = Duration::from_millis(delay);
        flow.at(at).takes(ack);
        flow.sender.rtt().srtt().unwrap()
    };
    // SRTT = 80 + (sample − 80)/8 ms.
    for (rtt, delay, adjusted) in [(104, 16, 88), (104, 24, 80), (104, 25, 104), (128, 90, 103)] {
        let srtt = Duration::from_micros(80_000 + (adjusted - 80) * 125);
        assert_eq!(sampled(80 + rtt, delay), srtt, "{rtt} {delay}");
    }
}

//= test: RFC 9002 §7.2
#[test]
fn the_initial_window_is_at_most_14720_bytes_or_two_segments() {
    // §7.2
    for (mss, segments) in [(536, 10), (1000, 10), (1472, 10), (1840, 8), (9000, 2)] {
        let profile: crate::Profile = "rfc9002".parse().unwrap();
        let mut sender = Sender::new(profile.mechanisms(), mss, Trigger::Syn, false);
        let syn = sender.next_send(Instant::ZERO).unwrap();
        sender.on_sent(Instant::ZERO, syn);
        sender.on_ack(Instant::from_millis(80), &Ack::new(Offset::DATA, 1 << 20));
        assert_eq!(sender.cwnd(), Segments(segments), "{mss}");
    }
}

//= test: RFC 9002 §7.6.1
//= test: RFC 9002 §7.6.2
#[test]
fn persistent_congestion_collapses_the_window_and_slow_start_follows() {
    // §7.6.1: 3 · 265 ms. 1-10 were sent at 80 ms, and the probes at 345 and 875 ms; 5 arrives.
    let mut flow = ten(20);
    flow.expires(Timer::Probe, 345).sends("probe 11, probe 12");
    flow.expires(Timer::Probe, 875).sends("probe 13, probe 14");
    flow.expires(Timer::Probe, 1935).sends("probe 15, probe 16");
    flow.at(2015).sack(0, &[15..=15]);
    flow.cwnd(3).ssthresh(5).state(State::Disorder);
    flow.sends("fast 1-2");
    flow.at(2095).sack(2, &[15..=15]);
    flow.cwnd(5);
    flow.sends("fast 3-6");
}

//= test: RFC 9002 §7.6.2
#[test]
fn a_segment_that_arrived_in_between_denies_persistent_congestion() {
    // §7.6.2: none of the packets sent between the two may be acknowledged.
    let mut flow = ten(20);
    flow.expires(Timer::Probe, 345).sends("probe 11, probe 12");
    flow.expires(Timer::Probe, 875).sends("probe 13, probe 14");
    flow.expires(Timer::Probe, 1935).sends("probe 15, probe 16");
    flow.at(2015).sack(0, &[15..=15, 11..=11]);
    flow.cwnd(5).state(State::Recovery);
    flow.sends("fast 1-4");
}

//= test: RFC 9002 §7.1
#[test]
fn an_ecn_echo_and_losses_of_the_same_round_trip_reduce_the_window_once() {
    // §7.3.2, B.6
    let mut flow = ten(10);
    flow.at(150).congested().cwnd(5).state(State::Cwr);
    flow.at(160).sack(0, &[2..=4]).cwnd(5).sends("nothing");
    flow.at(161).sack(0, &[2..=6]).cwnd(5).sends("fast 1");
    flow.state(State::Cwr);
    flow.at(240).ack(10).cwnd(6).state(State::Open);
}

#[test]
fn without_sack_it_is_newreno_with_a_retransmission_timeout() {
    let mut flow = Script::without_sack("rfc9002", 80);
    flow.writes(10).sends("1-10").no_timer(Timer::Probe);
    flow.expires(Timer::Rto, 80 + 240).state(State::Loss);
    flow.sends("rto 1");
}
