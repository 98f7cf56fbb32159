//! The 2011 paper's forms of early retransmit (§6): off; naive; off once reordering was seen (first
//! mitigation); that and delayed by SRTT/4 within 25 to 500 ms (both). And Linux 3.17's form, which needs fewer
//! SACKs and has another floor.

use super::super::*;
use super::script::Script;

/// Three segments are sent at `rtt` ms, one RTT after the start.
fn three_sent(mechanism: &str, rtt: u64) -> Script {
    let mut flow = Script::connected(&format!("linux-3.17+{mechanism}"), rtt);
    flow.writes(3).sends("1-3").at(2 * rtt);
    flow
}

/// Three segments are sent, and all but the first are SACKed one RTT later.
fn all_but_one_sacked(mechanism: &str, rtt: u64) -> Script {
    let mut flow = three_sent(mechanism, rtt);
    flow.sack(0, &[2..=3]);
    flow
}

/// All but the first are SACKed after reordering by less than dupthresh: segment 1 of two arrived after segment 2.
fn all_but_one_sacked_after_reordering(mechanism: &str) -> Script {
    let mut flow = Script::connected(&format!("linux-3.17+{mechanism}"), 80);
    flow.sender.losses.threshold.on_reordering(Segments(1));
    flow.writes(3).sends("1-3").at(160).sack(0, &[2..=3]);
    flow
}

#[test]
fn one_sack_of_three_segments_starts_it_in_linux_alone() {
    // RFC 5827 §3.2 and the 2011 paper §6: dupthresh 2 with three segments outstanding. Linux 3.10: `>=`.
    for (mechanism, delay) in [("ernaive", 0), ("erfirst", 0), ("er", 25)] {
        let mut flow = three_sent(mechanism, 80);
        flow.sack(0, &[2..=2]).state(State::Disorder).no_timer(Timer::Early).sends("nothing");
        flow.at(161).sack(0, &[2..=3]);
        if delay > 0 {
            flow.sends("nothing").expires(Timer::Early, 161 + delay);
        }
        flow.state(State::Recovery).sends("early 1");
    }
    let mut flow = three_sent("erlinux", 80);
    flow.sack(0, &[2..=2]).expires(Timer::Early, 160 + 20);
    flow.state(State::Recovery).sends("early 1");
}

#[test]
fn one_sack_of_two_segments_is_all_but_one() {
    let mut flow = Script::connected("linux-3.17+ernaive", 80);
    flow.writes(2).sends("1-2").at(160).sack(0, &[2..=2]);
    flow.state(State::Recovery).sends("early 1");
}

#[test]
fn two_holes_are_left_to_the_timer_by_the_paper() {
    let mut flow = three_sent("ernaive", 80);
    flow.sack(0, &[3..=3]).sends("nothing");
    flow.expires(Timer::Rto, 360).sends("rto 1");
}

#[test]
fn off_leaves_the_tail_to_the_timer() {
    let mut flow = all_but_one_sacked("noer", 80);
    flow.state(State::Disorder).no_timer(Timer::Early).sends("nothing");
    flow.expires(Timer::Rto, 360).sends("rto 1");
}

#[test]
fn the_naive_form_acts_at_once() {
    let mut flow = all_but_one_sacked("ernaive", 80);
    flow.state(State::Recovery).ssthresh(7).sends("early 1");
}

#[test]
fn the_naive_form_acts_on_a_path_that_reorders() {
    all_but_one_sacked_after_reordering("ernaive").state(State::Recovery).sends("early 1");
}

#[test]
fn the_first_mitigation_acts_at_once_where_nothing_was_reordered() {
    all_but_one_sacked("erfirst", 80).state(State::Recovery).sends("early 1");
}

#[test]
fn the_mitigations_leave_a_path_that_reorders_alone() {
    for mechanism in ["erfirst", "er", "erlinux"] {
        let mut flow = all_but_one_sacked_after_reordering(mechanism);
        flow.state(State::Disorder).no_timer(Timer::Early).sends("nothing");
    }
}

#[test]
fn the_second_mitigation_waits_a_quarter_of_the_rtt_but_a_least_time() {
    // (RTT, delay of the paper's form, delay of Linux's) in ms
    for (rtt, paper, linux) in [(4, 25, 2), (80, 25, 20), (100, 25, 25), (400, 100, 100), (900, 225, 225)] {
        for (mechanism, delay) in [("er", paper), ("erlinux", linux)] {
            let mut flow = all_but_one_sacked(mechanism, rtt);
            flow.state(State::Disorder).sends("nothing");
            flow.expires(Timer::Early, 2 * rtt + delay).sends("early 1");
        }
    }
}

#[test]
fn the_delay_lets_a_late_segment_cancel_it() {
    let mut flow = all_but_one_sacked("er", 80);
    flow.at(184).ack(3).no_timer(Timer::Early).state(State::Open).ssthresh(u32::MAX);
    assert_eq!(flow.sender.counters().recoveries, 0);
}

#[test]
fn what_it_sends_is_counted_as_early() {
    for (mechanism, early) in [("noer", 0), ("ernaive", 1)] {
        let mut flow = all_but_one_sacked(mechanism, 80);
        flow.sends(if early > 0 { "early 1" } else { "nothing" });
        let counters = flow.sender.counters();
        assert_eq!(counters.retransmissions.of(Trigger::Early), early);
        assert_eq!(counters.retransmissions.of(Trigger::Fast), 0);
    }
}

#[test]
fn without_sack_duplicate_acks_are_the_evidence() {
    // RFC 5827 §3.2: ER_thresh = 2 with three outstanding; Linux counts duplicate ACKs in sacked_out.
    let mut flow = Script::without_sack("linux-3.17+ernaive", 80);
    flow.writes(3).sends("1-3");
    flow.at(160).ack(0).state(State::Disorder).sends("nothing");
    flow.at(161).ack(0).state(State::Recovery).ssthresh(7).sends("early 1");
    flow.at(240).ack(3).state(State::Open).cwnd(7);
}
