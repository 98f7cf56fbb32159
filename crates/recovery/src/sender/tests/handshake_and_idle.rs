//! The SYN, the effect of its loss on the data, and the restart after idle time.

use super::super::*;
use super::script::Script;

//= test: RFC 6298 §2.1
//= test: RFC 6298 §5.5
#[test]
fn the_syn_goes_again_after_one_second_and_then_at_doubling_intervals() {
    let mut flow = Script::new("linux-3.17");
    flow.sends("SYN").state(State::Open);
    flow.expires(Timer::Rto, 1000).sends("syn SYN");
    flow.expires(Timer::Rto, 3000).sends("syn SYN");
    flow.expires(Timer::Rto, 7000).sends("syn SYN").state(State::Open);
}

#[test]
fn no_data_is_sent_before_the_syn_ack() {
    let mut flow = Script::new("linux-3.17");
    flow.writes(5).sends("SYN").at(80).ack(0).sends("1-5");
}

#[test]
fn one_lost_syn_leaves_the_initial_window() {
    let mut flow = Script::new("linux-3.17");
    flow.sends("SYN").expires(Timer::Rto, 1000).sends("syn SYN");
    flow.at(1080).ack(0).cwnd(10).writes(20).sends("1-10");
}

//= test: RFC 5681 §3.1
#[test]
fn two_lost_syns_leave_a_window_of_one_segment() {
    let mut flow = Script::new("linux-3.17");
    flow.sends("SYN").expires(Timer::Rto, 1000).sends("syn SYN");
    flow.expires(Timer::Rto, 3000).sends("syn SYN");
    flow.at(3080).ack(0).cwnd(1).writes(20).sends("1");
}

//= test: RFC 6298 §5.7
#[test]
fn after_a_lost_syn_data_begins_with_an_rto_of_three_seconds() {
    // RFC 6298 §5.7: Karn's rule forbids a sample of the SYN.
    let mut flow = Script::new("linux-3.17");
    flow.sends("SYN").expires(Timer::Rto, 1000).sends("syn SYN");
    flow.at(1080).ack(0).writes(3).sends("1-3").timer(Timer::Rto, 1080 + 3000);
    flow.at(1160).ack(1).rto(280);
}

#[test]
fn a_syn_answered_at_once_gives_the_first_sample() {
    let mut flow = Script::connected("linux-3.17", 80);
    flow.rto(280).writes(1).sends("1").timer(Timer::Rto, 80 + 280);
}

#[test]
fn the_first_loss_after_a_lost_syn_is_an_ordinary_one() {
    let mut flow = Script::new("linux-3.17");
    flow.sends("SYN").expires(Timer::Rto, 1000).sends("syn SYN");
    flow.at(1080).ack(0).writes(10).sends("1-10");
    flow.at(1160).sack(0, &[4..=4]).sends("fast 1").timer(Timer::Rto, 1160 + 280);
}

#[test]
fn a_syn_answered_before_its_retransmission_is_not_retransmitted() {
    let mut flow = Script::new("linux-3.17");
    flow.sends("SYN").expires(Timer::Rto, 1000).ack(0);
    flow.writes(10).sends("1-10").rto(3000); // the SYN took 1 s: 1 + 2·1 s
    flow.at(2000).sack(0, &[4..=4]).sends("fast 1").timer(Timer::Rto, 2000 + 3000);
}

/// A flow with a window of 20 segments, all acknowledged, whose last transmission was at 160 ms.
fn quiet() -> Script {
    let mut flow = Script::connected("linux-3.17", 80);
    flow.writes(20).sends("1-10").at(160).ack(10).sends("11-20");
    flow.at(240).ack(20).cwnd(20).rto(280);
    flow
}

#[test]
fn within_an_rto_of_silence_the_window_stays() {
    quiet().at(440).writes(40).sends("21-40").cwnd(20);
}

//= test: RFC 5681 §4.1
#[test]
fn a_window_idle_for_longer_is_halved_for_each_rto_down_to_the_initial_one() {
    quiet().at(441).writes(40).sends("21-30").cwnd(10);
    quiet().at(60_000).writes(40).sends("21-30").cwnd(10);
    let mut flow = quiet();
    flow.sender.congestion.cwnd = Segments(64);
    flow.at(160 + 600).writes(90).sends("21-36").cwnd(16);
}

#[test]
fn ssthresh_remembers_three_quarters_of_the_window_idleness_took() {
    let mut flow = quiet();
    flow.sender.congestion.cwnd = Segments(64);
    flow.sender.congestion.ssthresh = Segments(30);
    flow.at(600).writes(90).sends("21-52").cwnd(32).ssthresh(48);
    flow.at(680).ack(32).cwnd(44).sends("53-76"); // slow start again
}

#[test]
fn a_query_after_idle_time_changes_nothing() {
    let mut flow = quiet();
    flow.at(10_000).writes(1);
    assert!(flow.sender.next_send(Instant::from_millis(10_000)).is_some());
    flow.cwnd(20).sends("21").cwnd(10);
}
