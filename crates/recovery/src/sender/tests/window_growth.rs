//! Slow start, congestion avoidance, limited transmit.

use super::super::*;
use super::script::Script;

#[test]
fn the_initial_window_is_ten_segments() {
    let mut flow = Script::connected("linux-3.17", 80);
    flow.writes(40).sends("1-10").cwnd(10).pipe(10);
}

#[test]
fn slow_start_sends_two_segments_for_each_one_acknowledged() {
    let mut flow = Script::connected("linux-3.17", 80);
    flow.writes(60).sends("1-10");
    flow.at(160).ack(1).cwnd(11).sends("11-12");
    flow.at(161).ack(2).cwnd(12).sends("13-14");
    flow.at(163).ack(4).cwnd(14).sends("15-18");
    flow.at(180).ack(10).cwnd(20).sends("19-30").state(State::Open);
}

#[test]
fn a_window_that_is_not_used_does_not_grow() {
    let mut flow = Script::connected("linux-3.17", 80);
    // Linux: below twice what was outstanding it may grow in slow start, from there on not.
    flow.writes(5).sends("1-5");
    flow.at(160).ack(5).cwnd(10);
    flow.writes(6).sends("6-11");
    flow.at(240).ack(7).cwnd(12).at(241).ack(11).cwnd(12);
}

//= test: RFC 5681 §3.1
#[test]
fn above_ssthresh_reno_grows_by_one_segment_per_window() {
    let mut flow = Script::connected("linux-3.17+reno", 80);
    flow.writes(100).sends("1-10");
    flow.sender.congestion.ssthresh = Segments(10);
    flow.at(160).ack(9).cwnd(10).sends("11-19");
    flow.at(161).ack(10).cwnd(11).sends("20-21");
    flow.at(240).ack(20).cwnd(11).sends("22-31");
    flow.at(241).ack(21).cwnd(12).sends("32-33");
}

#[test]
fn each_sack_in_disorder_permits_one_new_segment() {
    // Limited transmit (RFC 3042) without its cap of two, as Linux.
    let mut flow = Script::connected("linux-3.17", 80);
    flow.writes(30).sends("1-10");
    flow.at(160).sack(0, &[2..=2]).state(State::Disorder).sends("11");
    flow.at(161).sack(0, &[2..=3]).state(State::Disorder).sends("12");
    flow.cwnd(10).pipe(10);
}

#[test]
fn a_duplicate_ack_without_new_sack_permits_no_data() {
    let mut flow = Script::connected("linux-3.17", 80);
    flow.writes(30).sends("1-10");
    flow.at(160).sack(0, &[2..=2]).sends("11");
    flow.at(161).sack(0, &[2..=2]).sends("nothing");
    flow.at(162).ack(0).sends("nothing").state(State::Disorder);
}

#[test]
fn the_fin_rides_on_the_last_segment_or_goes_alone() {
    let mut flow = Script::connected("linux-3.17", 80);
    flow.writes(2).closes().sends("1, 2+FIN");
    let mut flow = Script::connected("linux-3.17", 80);
    flow.writes(2).sends("1-2").closes().sends("FIN");
    flow.closes().writes(3).sends("nothing");
}
