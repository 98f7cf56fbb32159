//! FACK, and the effect of reordering on it (Linux 3.17 `tcp_update_scoreboard`,
//! `tcp_mark_lost_retrans`, `tcp_update_reordering`, `tcp_time_to_recover`).

use super::super::*;
use super::script::Script;
use crate::event::LossDetector;

/// Segment 1 of ten is lost. It is retransmitted at 160 ms, when `snd_nxt` is after segment 10. The nine
/// others are SACKed, and 11 to 16 are sent.
fn repaired_once(profile: &str) -> Script {
    let mut flow = Script::connected(profile, 80);
    flow.writes(40).sends("1-10");
    flow.at(160).sack(0, &[2..=4]).sends("fast 1").pipe(7);
    for (i, last) in (5..=10).enumerate() {
        let i = i as u64;
        flow.at(161 + i).sack(0, &[2..=last]);
        flow.sends(&(11 + i).to_string()).pipe(7);
    }
    flow
}

#[test]
fn a_retransmission_is_lost_once_data_first_sent_after_it_is_sacked() {
    let mut flow = repaired_once("linux-3.17");
    assert_eq!(flow.marked(), [(1, LossDetector::Threshold)]);
    // 5 in flight, ssthresh 7, banked 10 − 7: the gap of two goes.
    flow.at(241).sack(0, &[2..=11]).pipe(5).ssthresh(7);
    flow.sends("fast 1, 17");
    let lost = [(1, LossDetector::Threshold), (1, LossDetector::LostRetransmission)];
    assert_eq!(flow.marked(), lost);
    assert_eq!(flow.sender.counters().lost_retransmissions, 1);
}

#[test]
fn a_retransmission_lost_twice_is_found_twice() {
    let mut flow = repaired_once("linux-3.17");
    flow.at(241).sack(0, &[2..=11]).sends("fast 1, 17");
    // Up to 16 everything was sent before the second retransmission.
    flow.at(246).sack(0, &[2..=16]).sends("18-22");
    flow.at(321).sack(0, &[2..=17]).sends("fast 1, 23");
    let counters = flow.sender.counters();
    assert_eq!((counters.lost_retransmissions, counters.detected_lost_retransmissions), (2, 2));
}

#[test]
fn without_fack_a_lost_retransmission_is_left_to_the_timer() {
    let mut flow = repaired_once("linux-3.17+nofack");
    flow.at(241).sack(0, &[2..=11]).sends("17");
    assert_eq!(flow.sender.counters().lost_retransmissions, 0);
    flow.expires(Timer::Rto, 160 + 280).sends("rto 1");
}

#[test]
fn reordering_beyond_dupthresh_ends_the_search_for_lost_retransmissions() {
    // tcp_update_reordering: metric > reordering disables FACK, and with it tcp_mark_lost_retrans.
    let mut flow = Script::connected("linux-3.17", 80);
    flow.writes(40).sends("1-10");
    flow.at(160).sack(0, &[7..=7]).sends("fast 1-2"); // takes 1 to 4 as lost
    // Segment 3 arrives: two lie below it, 7 − 2.
    flow.at(161).sack(0, &[7..=7, 3..=3]).dupthresh(5).sends("nothing");
    flow.at(162).sack(0, &[7..=10, 3..=3]).sends("fast 4, 11-12");
    flow.at(242).sack(0, &[7..=12, 3..=3]).sends("fast 5, fast 6, 13"); // 1 and 2 do not go again
    assert_eq!(flow.sender.counters().lost_retransmissions, 0);
}

#[test]
fn reordering_of_dupthresh_leaves_fack_on() {
    let mut flow = Script::connected("linux-3.17", 80);
    flow.writes(40).sends("1-10");
    flow.at(160).sack(0, &[4..=4]).sends("fast 1");
    // 4 − 1 = 3 places late.
    flow.at(161).sack(0, &[4..=4, 2..=2]).dupthresh(3).sends("11");
    assert!(flow.sender.losses.threshold.uses_fack());
    assert!(flow.sender.losses.threshold.reordering_seen());
}

#[test]
fn dupthresh_does_not_rise_beyond_127() {
    // TCP_MAX_REORDERING.
    let mut flow = Script::connected("linux-3.17", 80);
    flow.sender.congestion.cwnd = Segments(200);
    flow.writes(200).sends("1-200");
    flow.at(160).sack(0, &[200..=200]);
    flow.sends("fast 1-2");
    flow.at(161).sack(0, &[200..=200, 3..=3]).dupthresh(127).sends("fast 4-5");
}

#[test]
fn a_cumulative_ack_of_a_late_original_also_reveals_reordering() {
    // tcp_clean_rtx_queue: an original not SACKed below what was, fackets_out − its place.
    let mut flow = Script::connected("linux-3.17", 80);
    flow.writes(3).sends("1-3");
    flow.at(160).sack(0, &[3..=3]).at(161).ack(3).dupthresh(3);
    assert_eq!(flow.sender.counters().reordering_seen, 1);
    assert_eq!(flow.count(Event::Reordering { distance: Segments(3), dupthresh: Segments(3) }), 1);
}

#[test]
fn a_raised_dupthresh_does_not_apply_with_few_segments_outstanding() {
    // tcp_time_to_recover: packets_out <= reordering, max(packets_out/2, 3) SACKed, nothing to
    // send. The head alone is marked; the other hole goes as a forward retransmission.
    let mut flow = Script::connected("linux-3.17", 80);
    flow.sender.losses.threshold.on_reordering(Segments(5));
    flow.writes(5).sends("1-5");
    flow.at(160).sack(0, &[3..=4]).state(State::Disorder).sends("nothing");
    flow.at(161).sack(0, &[3..=5]).state(State::Recovery).ssthresh(7);
    flow.cwnd(3).sends("fast 1-2");
    assert_eq!(flow.marked(), [(1, LossDetector::Threshold)]);
}

#[test]
fn the_few_segments_rule_waits_where_new_data_can_be_sent() {
    let mut flow = Script::connected_with("linux-3.17", 80, 5000);
    flow.sender.losses.threshold.on_reordering(Segments(5));
    flow.writes(6).sends("1-5");
    flow.window(6000).at(160).sack(0, &[3..=5]).state(State::Disorder);
    flow.sends("6");
}

#[test]
fn the_few_segments_rule_needs_no_more_out_than_dupthresh() {
    let mut flow = Script::connected("linux-3.17", 80);
    flow.sender.losses.threshold.on_reordering(Segments(5));
    flow.writes(6).sends("1-6");
    flow.at(160).sack(0, &[3..=6]).state(State::Disorder).sends("nothing");
}

#[test]
fn a_timeout_after_many_sacks_lowers_dupthresh() {
    // tcp_enter_loss: three SACKed in Disorder, and yet a timeout.
    for (sacked, dupthresh) in [(2, 5), (3, 3)] {
        let mut flow = Script::connected("linux-3.17", 80);
        flow.sender.losses.threshold.on_reordering(Segments(5));
        flow.writes(10).sends("1-10");
        flow.at(160).sack(0, &[2..=1 + sacked]).state(State::Disorder);
        flow.expires(Timer::Rto, 360).dupthresh(dupthresh).sends("rto 1");
        assert!(!flow.sender.losses.threshold.uses_fack(), "off for good");
    }
}

#[test]
fn in_recovery_a_duplicate_ack_marks_the_head_lost() {
    // tcp_update_scoreboard, run on each duplicate ACK in Recovery: max(fackets_out − reordering, 1)
    // segments. Segments 1 and 7 are lost, and the SACK of 10 does not come.
    let mut flow = Script::connected("linux-3.17", 80);
    flow.writes(40).sends("1-10");
    flow.at(160).sack(0, &[2..=4]).sends("fast 1");
    flow.at(161).sack(0, &[2..=5]).sends("11");
    flow.at(162).sack(0, &[2..=6]).sends("12");
    flow.at(163).sack(0, &[8..=8, 2..=6]).sends("13");
    // The partial ACK takes nothing as lost: 8 is but one above the head.
    flow.at(240).sack(6, &[8..=8]).state(State::Recovery).sends("14");
    flow.at(241).sack(6, &[8..=9]).pipe(5).sends("fast 7, 15");
}

#[test]
fn a_dsack_of_an_outstanding_segment_reveals_reordering() {
    // tcp_sacktag_one: sent again, SACKed, and reported as a duplicate now: it had only been late.
    let mut flow = Script::connected("linux-3.17", 80);
    flow.writes(10).sends("1-10");
    flow.at(160).sack(0, &[6..=6]).sends("fast 1");
    flow.at(161).sack(0, &[6..=7]).sends("fast 2-3");
    // The ACK may be for either transmission of 2.
    flow.at(170).sack(0, &[2..=2, 6..=7]).dupthresh(3).sends("fast 4");
    // 7 − 1 places late.
    flow.at(241).sack(0, &[2..=2, 2..=2, 6..=7]).dupthresh(6);
}
