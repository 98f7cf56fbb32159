//! Adaptive thresholds: segments that were judged lost and arrived late. By default, the RTT is 80 ms and ten
//! segments are sent at 80 ms.

use super::super::*;
use super::script::Script;
use crate::event::LossDetector::{PacketThreshold, TimeThreshold};

fn ten(profile: &str) -> Script {
    let mut flow = Script::connected(profile, 80);
    flow.writes(30).sends("1-10");
    flow
}

/// 1 is judged lost at 160 ms, when 2 to 4 are SACKed, and arrives at 162 ms after 2 to 6.
fn overtaken_by_five(profile: &str) -> Script {
    let mut flow = ten(profile);
    flow.at(160).sack(0, &[2..=4]).state(State::Recovery).cwnd(5);
    flow.sends("fast 1").dupthresh(3);
    flow.at(161).sack(0, &[2..=6]).sends("nothing");
    flow.at(162).ack(6).sent();
    flow
}

#[test]
fn a_late_segment_that_three_transmissions_overtook_raises_the_packet_threshold() {
    // The retransmission is 2 ms old, so the ACK is for the original. 6 is five transmissions later.
    let mut flow = overtaken_by_five("rfc9002+adaptive");
    flow.dupthresh(6);
    // Nothing else was judged lost: the window returns at once.
    flow.undone(0, 1, 0).ssthresh(u32::MAX).state(State::Open);
    assert!(flow.sender.cwnd() >= Segments(10));
    flow.sent();
}

#[test]
fn the_thresholds_of_rfc_9002_are_fixed_without_it() {
    let mut flow = overtaken_by_five("rfc9002");
    flow.dupthresh(3);
    flow.at(240).sack(6, &[1..=1]).undone(0, 0, 0).cwnd(5);
    assert_eq!(flow.marked(), [(1, PacketThreshold)]);
}

#[test]
fn a_raised_packet_threshold_does_not_apply() {
    // Only time finds losses, after 9/8 of 80 ms.
    let mut flow = overtaken_by_five("rfc9002+adaptive");
    flow.at(163).ack(10).sent();
    flow.at(240).sack(10, &[1..=1]).sent();
    flow.at(242).sack(10, &[12..=15]);
    assert_eq!(flow.marked(), [(1, PacketThreshold)]);
    flow.sent();
    assert_eq!(flow.fires(Timer::Reorder), 253);
    assert_eq!(flow.marked()[1..], [(11, TimeThreshold)]);
    flow.sent();
}

/// 1 is judged lost at 170 ms, by time, and arrives at 190 ms.
fn late_by_twenty(profile: &str) -> Script {
    let mut flow = ten(profile);
    flow.at(160).sack(0, &[2..=3]).sends("11-14");
    flow.expires(Timer::Reorder, 170).sends("fast 1");
    flow.at(190).ack(3).sent();
    assert_eq!(flow.marked(), [(1, TimeThreshold)]);
    flow
}

#[test]
fn a_late_segment_raises_the_time_threshold() {
    // It took 110 ms: x = 110 / 80 − 1 + 1/16, and the loss delay is 115 ms.
    let mut flow = late_by_twenty("rfc9002+adaptive");
    let delay = |flow: &Script| flow.sender.losses.packets.loss_delay(Some(80_000_000));
    assert_eq!(delay(&flow), 115_000_000);
    flow.dupthresh(3);
    let fixed = late_by_twenty("rfc9002");
    assert_eq!(delay(&fixed), 90_000_000);
}

#[test]
fn by_timestamp_the_original_is_known_although_the_retransmission_is_old_enough() {
    // 1 took 175 ms; the ACK comes 85 ms after its retransmission. x is at most 1.
    let late = |echo| {
        let mut flow = ten("rfc9002+adaptive");
        flow.at(160).sack(0, &[2..=3]).sends("11-14");
        flow.expires(Timer::Reorder, 170).sends("fast 1");
        flow.at(255).echoing(echo).ack(3);
        flow.sent();
        flow.sender.losses.packets.loss_delay(Some(80_000_000)) / 1_000_000
    };
    assert_eq!(late(80), 160);
    assert_eq!(late(170), 90);
}

#[test]
fn an_episode_with_a_real_loss_is_not_undone() {
    // 1 was late, 5 is lost. Linux would undo it when 1 arrives.
    let mut flow = ten("rfc9002+adaptive");
    flow.at(160).sack(0, &[2..=4]).cwnd(5).sends("fast 1");
    flow.at(161).sack(0, &[2..=4, 6..=8]);
    flow.sent();
    flow.at(163).sack(4, &[6..=8]);
    flow.sent();
    flow.at(240).sack(4, &[1..=1, 6..=8]).undone(0, 0, 0);
    flow.sent();
    flow.at(241).ack(8).undone(0, 0, 0);
    flow.sent();
    assert!(flow.sender.cwnd() < Segments(10));
}

#[test]
fn only_the_needless_one_of_two_reductions_is_undone() {
    // 1 is lost, and 11, in the next round trip, is late.
    let mut flow = ten("rfc9002+adaptive");
    flow.at(160).sack(0, &[2..=4]).cwnd(5).sends("fast 1");
    flow.at(161).sack(0, &[2..=10]).sends("11-14");
    flow.at(240).ack(10).undone(0, 0, 0).sent();
    let before = flow.sender.cwnd();
    assert!((Segments(5)..Segments(10)).contains(&before));
    flow.at(241).sack(10, &[12..=14]).state(State::Recovery);
    assert!(flow.sender.cwnd() < before);
    flow.sent();
    flow.at(242).ack(14).undone(0, 1, 0).state(State::Open);
    assert!((before..Segments(10)).contains(&flow.sender.cwnd()));
    flow.sent();
}

/// With RACK, 1 is judged lost at 182 ms and arrives at 200 ms.
fn late_with_rack(profile: &str) -> Script {
    let mut flow = ten(profile);
    flow.at(160).sack(0, &[2..=2]).sends("11");
    assert!([180, 182].contains(&flow.fires(Timer::Reorder)));
    flow.state(State::Recovery).sends("fast 1");
    flow.at(200).ack(2);
    flow.sent();
    flow.at(262).sack(2, &[1..=1]);
    flow.sent();
    flow
}

#[test]
fn racks_window_is_the_delay_of_a_late_segment() {
    // 120 ms less the minimum RTT = 80 ms, and 5 ms more. Without, a DSACK is a step of 20 ms, in Linux 6 only
    // after reordering was seen.
    let window = |flow: &Script| {
        let context = crate::detect::RackContext {
            recovering: true,
            reordering_seen: true,
            dupthresh: Segments(3),
            min_rtt: Duration::from_millis(80),
            srtt: Duration::from_millis(90),
        };
        let window = flow.sender.losses.rack;
        window.reordering_window(flow.sender.board(), &context).as_millis()
    };
    assert_eq!(window(&late_with_rack("linux-6+adaptive")), 45);
    assert_eq!(window(&late_with_rack("linux-6")), 20);
    assert_eq!(window(&late_with_rack("linux-6+rack")), 40);
}

/// Ten numbered packets are sent at 0 ms, when the RTT is 80 ms.
fn packets(profile: &str) -> Sender {
    let profile: crate::Profile = profile.parse().unwrap();
    let mut sender = Sender::of_packets(Instant::ZERO, profile.mechanisms(), 1200);
    sender.seed_rtt(Duration::from_millis(80));
    sender.on_written(Instant::ZERO, 10);
    while let Some(what) = sender.next_send(Instant::ZERO) {
        sender.on_packet_sent(Instant::ZERO, what, 1200, 0).unwrap();
    }
    sender
}

/// An ACK of packets `numbers` at `ms`. Returns the packets taken out as lost.
fn hear(sender: &mut Sender, ms: u64, numbers: core::ops::RangeInclusive<u64>) -> Vec<u64> {
    let now = Instant::from_millis(ms);
    let range = crate::sender::packet_numbers(numbers);
    sender.on_packets_acked(now, &[range], Duration::ZERO, |_| ());
    sender.check().unwrap();
    let lost = core::iter::from_fn(|| sender.take_lost(now));
    let lost = lost.map(|packet| packet.number()).collect();
    sender.check().unwrap();
    lost
}

#[test]
fn the_acknowledgment_of_a_packet_taken_out_as_lost_raises_the_thresholds_and_undoes_the_reduction() {
    // Packets 0 and 1 were overtaken by 5, and came after 97 ms at the latest: x = 97 / 80 − 1 + 1/16.
    for (profile, adapts) in [("rfc9002", false), ("rfc9002+adaptive", true)] {
        let mut sender = packets(profile);
        assert_eq!(hear(&mut sender, 80, 2..=5), [0, 1]);
        assert_eq!(sender.cwnd(), Segments(5));
        assert_eq!(hear(&mut sender, 96, 0..=0), []);
        assert_eq!(sender.cwnd(), Segments(5), "one of the two may be lost");
        assert_eq!(hear(&mut sender, 97, 1..=1), []);
        assert_eq!(sender.reordering(), Segments(if adapts { 6 } else { 3 }));
        let delay = sender.losses.packets.loss_delay(Some(80_000_000));
        assert_eq!(delay, if adapts { 101_875_000 } else { 90_000_000 });
        let undone = sender.counters().undone_by(crate::undo::Proof::Dsack);
        assert_eq!((undone, sender.cwnd() >= Segments(10)), (u64::from(adapts), adapts));
    }
}

#[test]
fn a_packet_that_stays_lost_keeps_the_reduction() {
    let mut sender = packets("rfc9002+adaptive");
    assert_eq!(hear(&mut sender, 80, 2..=5), [0, 1]);
    assert_eq!(hear(&mut sender, 96, 1..=1), []);
    assert_eq!(sender.counters().undone_by(crate::undo::Proof::Dsack), 0);
    assert_eq!(sender.cwnd(), Segments(5));
}
