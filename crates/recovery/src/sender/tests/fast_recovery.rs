//! FACK, proportional rate reduction, the order of transmissions in recovery, and its end.

use super::super::*;
use super::script::Script;
use crate::event::LossDetector;

#[test]
fn fack_recovers_when_the_highest_sack_is_four_up() {
    let mut flow = Script::connected("linux-3.17", 80);
    flow.writes(10).sends("1-10");
    flow.at(160).sack(0, &[4..=4]).state(State::Recovery).sends("fast 1");
    assert_eq!(flow.marked(), [(1, LossDetector::Threshold)]);
}

#[test]
fn fack_does_not_recover_when_the_highest_sack_is_three_up() {
    let mut flow = Script::connected("linux-3.17", 80);
    flow.writes(10).sends("1-10");
    flow.at(160).sack(0, &[3..=3]).state(State::Disorder).sends("nothing");
    flow.at(161).sack(0, &[2..=3]).state(State::Disorder).sends("nothing");
    assert_eq!(flow.marked(), []);
    flow.at(162).sack(0, &[2..=4]).state(State::Recovery).sends("fast 1");
}

#[test]
fn fack_marks_all_but_the_top_three_below_the_highest_sack_lost() {
    let mut flow = Script::connected("linux-3.17", 80);
    flow.writes(10).sends("1-10");
    flow.at(160).sack(0, &[9..=9]);
    let lost: Vec<_> = (1..=6).map(|n| (n, LossDetector::Threshold)).collect();
    assert_eq!(flow.marked(), lost);
    // 10 out, 6 lost, 1 SACKed: pipe 3, one delivered: at most two go (slow-start bound).
    flow.ssthresh(7).cwnd(5).sends("fast 1-2");
}

#[test]
fn one_loss_is_repaired_and_the_window_reduced_in_proportion() {
    let mut flow = Script::connected("linux-3.17", 80);
    flow.writes(20).sends("1-10");
    flow.at(160).ack(1).sends("11-12").cwnd(11);
    // Segment 2 was lost. Limited transmit until the fourth place above it is SACKed.
    flow.at(161).sack(1, &[3..=3]).sends("13");
    flow.at(162).sack(1, &[3..=4]).sends("14").state(State::Disorder);
    // ssthresh = ⌊11·0.7⌋; sndcnt = ⌈7·delivered/11⌉ − out while the pipe is above it.
    flow.at(163).sack(1, &[3..=5]).state(State::Recovery).ssthresh(7);
    flow.cwnd(10).sends("fast 2");
    flow.at(164).sack(1, &[3..=6]).sends("15");
    flow.at(165).sack(1, &[3..=7]).sends("nothing").cwnd(9);
    flow.at(166).sack(1, &[3..=8]).sends("16");
    flow.at(167).sack(1, &[3..=9]).sends("17");
    flow.at(168).sack(1, &[3..=10]).sends("nothing");
    // The pipe has come down to ssthresh; then one for one.
    flow.at(240).sack(1, &[3..=11]).sends("nothing").cwnd(7).pipe(7);
    flow.at(241).sack(1, &[3..=12]).sends("18");
    flow.at(242).sack(1, &[3..=13]).sends("19");
    // The retransmission's ACK covers all that was out on entering.
    flow.at(243).ack(14).state(State::Open).cwnd(7).pipe(5).sends("20");
}

#[test]
fn several_losses_in_a_window_go_as_fack_finds_them_and_prr_permits() {
    let mut flow = Script::connected("linux-3.17", 80);
    flow.writes(100).sends("1-10");
    flow.at(160).ack(10).sends("11-30").cwnd(20);
    // 11, 13 and 15 are lost.
    flow.at(240).sack(10, &[12..=12]).sends("31").state(State::Disorder);
    flow.at(241).sack(10, &[14..=14, 12..=12]).state(State::Recovery).ssthresh(14);
    flow.cwnd(19).sends("fast 11");
    flow.at(242).sack(10, &[16..=16, 14..=14, 12..=12]).cwnd(18).sends("fast 13");
    // (last SACKed, what goes, pipe afterwards): ⌈14·delivered/20⌉ − out, then one for one.
    let acks = [
        (17, "32", 18),
        (18, "nothing", 16), // marks 15 lost
        (19, "fast 15", 16),
        (20, "33", 16),
        (21, "nothing", 15),
        (22, "nothing", 14),
        (23, "34", 14),
        (24, "35", 14),
        (25, "36", 14),
    ];
    for (i, (last, what, pipe)) in acks.into_iter().enumerate() {
        flow.at(243 + i as u64).sack(10, &[16..=last, 14..=14, 12..=12]);
        flow.sends(what).pipe(pipe);
    }
    // A partial ACK keeps recovery going, the last one through 31 ends it.
    flow.at(321).sack(12, &[16..=30, 14..=14]).state(State::Recovery).sends("37-42");
    flow.at(322).sack(14, &[16..=31]).state(State::Recovery).sends("43-44");
    flow.at(323).ack(31).state(State::Open).cwnd(14).ssthresh(14).pipe(13).sends("45");
}

#[test]
fn recovery_lasts_until_all_that_was_sent_before_it_is_acknowledged() {
    let mut flow = Script::connected("linux-3.17", 80);
    flow.writes(20).sends("1-10");
    flow.at(160).sack(0, &[2..=5]).state(State::Recovery).sends("fast 1, 11");
    flow.at(240).ack(9).state(State::Recovery).sends("12-16").cwnd(7);
    flow.at(241).ack(10).state(State::Open).cwnd(7).sends("17");
}

#[test]
fn a_second_loss_in_one_flight_reduces_the_window_once() {
    let mut flow = Script::connected("linux-3.17", 80);
    flow.writes(10).sends("1-10");
    flow.at(160).sack(0, &[4..=4]).sends("fast 1").ssthresh(7);
    flow.at(161).sack(0, &[10..=10, 4..=4]).ssthresh(7).sends("fast 2-3");
    flow.at(240).sack(1, &[10..=10, 4..=4]).ssthresh(7).state(State::Recovery).sends("fast 5-6");
}

#[test]
fn without_new_data_holes_below_the_highest_sack_go_again() {
    let mut flow = Script::connected("linux-3.17", 80);
    flow.writes(10).sends("1-10");
    flow.at(160).sack(0, &[2..=4]).sends("fast 1");
    flow.at(161).sack(0, &[2..=8]).sends("nothing");
    // Segment 9 is but one below the highest SACK: not lost, yet a hole.
    flow.at(162).sack(0, &[10..=10, 2..=8]).sends("fast 9");
    assert_eq!(flow.marked(), [(1, LossDetector::Threshold)]);
}

#[test]
fn new_data_is_sent_before_holes_not_yet_lost() {
    let mut flow = Script::connected("linux-3.17", 80);
    flow.writes(20).sends("1-10");
    flow.at(160).sack(0, &[2..=4]).sends("fast 1");
    flow.at(161).sack(0, &[2..=8]).sends("11-14");
    flow.at(162).sack(0, &[10..=10, 2..=8]).sends("15");
    // 11 SACKed: 9 is but two below.
    flow.at(241).sack(8, &[10..=11]).sends("16, 17");
    // 12 SACKed: 9 is three below, lost, and goes before new data.
    flow.at(242).sack(8, &[10..=12]).sends("fast 9, 18");
}

#[test]
fn holes_are_not_sent_while_the_evidence_is_inconclusive() {
    // Disorder: no retransmission at all, whatever room there is.
    let mut flow = Script::connected("linux-3.17", 80);
    flow.writes(6).sends("1-6");
    flow.at(160).sack(0, &[3..=3]).state(State::Disorder).sends("nothing");
    flow.no_timer(Timer::Early).timer(Timer::Rto, 360);
}

#[test]
fn the_head_sent_again_restarts_the_retransmission_timer() {
    let mut flow = Script::connected("linux-3.17", 80);
    flow.writes(10).sends("1-10").timer(Timer::Rto, 360);
    flow.at(160).sack(0, &[4..=4]).sends("fast 1").timer(Timer::Rto, 440);
    flow.at(170).sack(0, &[4..=9]).sends("fast 2-3").timer(Timer::Rto, 440);
}

#[test]
fn losses_after_the_recovery_point_begin_a_new_recovery() {
    let mut flow = Script::connected("linux-3.17", 80);
    flow.writes(30).sends("1-10");
    flow.at(160).sack(0, &[2..=4]).sends("fast 1").ssthresh(7);
    flow.at(161).sack(0, &[2..=10]).sends("11-16");
    flow.at(240).ack(10).state(State::Open).cwnd(7).sends("17");
    // 11 is lost too: a second flight, a second reduction, ⌊7·0.7⌋.
    flow.at(241).sack(10, &[14..=14]).state(State::Recovery).ssthresh(4).sends("fast 11");
}
