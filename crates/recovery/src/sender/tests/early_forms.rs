//! The 2011 paper's forms of early retransmit (§6.1), and Linux 3.17's floor: off; naive; off once
//! reordering was seen (first mitigation); that and delayed by SRTT/4 within 25 to 500 ms (both).

use super::super::*;
use super::script::Script;

/// Three segments are sent at `rtt` ms, one RTT after the start. The third is SACKed one RTT later.
fn third_sacked(mechanism: &str, rtt: u64) -> Script {
    let mut flow = Script::connected(&format!("linux-3.17+{mechanism}"), rtt);
    flow.writes(3).sends("1-3").at(2 * rtt).sack(0, &[3..=3]);
    flow
}

/// The same after reordering by less than dupthresh: segment 1 of two arrived after segment 2.
fn third_sacked_after_reordering(mechanism: &str) -> Script {
    let mut flow = Script::connected(&format!("linux-3.17+{mechanism}"), 80);
    flow.sender.losses.threshold.on_reordering(Segments(1));
    flow.writes(3).sends("1-3").at(160).sack(0, &[3..=3]);
    flow
}

#[test]
fn off_leaves_the_tail_to_the_timer() {
    let mut flow = third_sacked("noer", 80);
    flow.state(State::Disorder)
        .no_timer(Timer::Early)
        .sends("nothing");
    flow.expires(Timer::Rto, 360).sends("rto 1");
}

#[test]
fn the_naive_form_acts_at_once() {
    let mut flow = third_sacked("ernaive", 80);
    // Pipe 0, one delivered: the slow-start bound lets two go.
    flow.state(State::Recovery)
        .ssthresh(7)
        .cwnd(2)
        .sends("early 1-2");
}

#[test]
fn the_naive_form_acts_on_a_path_that_reorders() {
    third_sacked_after_reordering("ernaive")
        .state(State::Recovery)
        .sends("early 1-2");
}

#[test]
fn the_first_mitigation_acts_at_once_where_nothing_was_reordered() {
    third_sacked("erfirst", 80)
        .state(State::Recovery)
        .sends("early 1-2");
}

#[test]
fn the_mitigations_leave_a_path_that_reorders_alone() {
    for mechanism in ["erfirst", "er", "erlinux"] {
        let mut flow = third_sacked_after_reordering(mechanism);
        flow.state(State::Disorder)
            .no_timer(Timer::Early)
            .sends("nothing");
    }
}

#[test]
fn the_second_mitigation_waits_a_quarter_of_the_rtt_but_a_least_time() {
    // (RTT, delay of the paper's form, delay of Linux's) in ms
    for (rtt, paper, linux) in [
        (4, 25, 2),
        (80, 25, 20),
        (100, 25, 25),
        (400, 100, 100),
        (900, 225, 225),
    ] {
        for (mechanism, delay) in [("er", paper), ("erlinux", linux)] {
            let mut flow = third_sacked(mechanism, rtt);
            flow.state(State::Disorder).sends("nothing");
            flow.expires(Timer::Early, 2 * rtt + delay)
                .sends("early 1-2");
        }
    }
}

#[test]
fn the_delay_lets_a_late_segment_cancel_it() {
    let mut flow = third_sacked("er", 80);
    flow.at(184)
        .ack(3)
        .no_timer(Timer::Early)
        .state(State::Open)
        .ssthresh(u32::MAX);
    assert_eq!(flow.sender.counters().recoveries, 0);
}

#[test]
fn what_it_sends_is_counted_as_early() {
    for (mechanism, early) in [("noer", 0), ("ernaive", 2)] {
        let mut flow = third_sacked(mechanism, 80);
        flow.sends(if early > 0 { "early 1-2" } else { "nothing" });
        let counters = flow.sender.counters();
        assert_eq!(counters.retransmissions.of(Trigger::Early), early);
        assert_eq!(counters.retransmissions.of(Trigger::Fast), 0);
    }
}

#[test]
fn without_sack_a_duplicate_ack_is_the_evidence() {
    // RFC 5827 §3.1; Linux tcp_time_to_recover counts duplicate ACKs in sacked_out.
    let mut flow = Script::without_sack("linux-3.17+ernaive", 80);
    flow.writes(3).sends("1-3");
    flow.at(160)
        .ack(0)
        .state(State::Recovery)
        .ssthresh(7)
        .sends("early 1");
    flow.at(240).ack(3).state(State::Open).cwnd(7);
}
