//! Early retransmit (RFC 5827 §3.2 with the delay of its appendix A.3, as Linux).

use super::super::*;
use super::script::Script;
use crate::event::LossDetector;

#[test]
fn the_hole_goes_again_a_quarter_of_the_rtt_after_the_sack() {
    let mut flow = Script::connected("linux-3.17", 80);
    flow.writes(2).sends("1-2");
    flow.at(160).sack(0, &[2..=2]).state(State::Disorder).sends("nothing");
    flow.expires(Timer::Early, 180).state(State::Recovery).sends("early 1");
    assert_eq!(flow.marked(), [(1, LossDetector::Early)]);
    flow.at(260).ack(2).state(State::Open).cwnd(7);
}

#[test]
fn all_holes_go_at_once_before_the_window_is_reduced() {
    let mut flow = Script::connected("linux-3.17", 80);
    flow.writes(3).sends("1-3");
    flow.at(160).sack(0, &[3..=3]).sends("nothing");
    flow.expires(Timer::Early, 180).cwnd(10).ssthresh(7).sends("early 1-2");
    flow.timer(Timer::Rto, 180 + 280);
    flow.at(260).sack(1, &[3..=3]).state(State::Recovery).sends("nothing");
    flow.at(261).ack(3).state(State::Open).cwnd(7);
}

#[test]
fn the_delay_is_two_milliseconds_at_least() {
    let mut flow = Script::connected("linux-3.17", 4);
    flow.writes(2).sends("1-2");
    flow.at(8).sack(0, &[2..=2]).timer(Timer::Early, 10);
}

#[test]
fn an_ack_that_advances_cancels_it() {
    let mut flow = Script::connected("linux-3.17", 80);
    flow.writes(3).sends("1-3");
    flow.at(160).sack(0, &[2..=2]).timer(Timer::Early, 180);
    flow.at(170).ack(2).no_timer(Timer::Early).state(State::Open).sends("nothing");
    flow.at(250).ack(3).cwnd(10);
    assert_eq!(flow.marked(), []);
}

#[test]
fn a_further_sack_restarts_the_delay() {
    let mut flow = Script::connected("linux-3.17", 80);
    flow.writes(2).sends("1-2").at(90).writes(1).sends("3");
    flow.at(160).sack(0, &[2..=2]).timer(Timer::Early, 180);
    flow.at(170).sack(0, &[2..=3]).timer(Timer::Early, 190);
    flow.expires(Timer::Early, 190).sends("early 1");
}

#[test]
fn new_data_cancels_the_delay() {
    let mut flow = Script::connected("linux-3.17", 80);
    flow.writes(3).sends("1-3");
    flow.at(160).sack(0, &[3..=3]).timer(Timer::Early, 180);
    flow.at(170).writes(1).sends("4").no_timer(Timer::Early);
    // Its SACK is the fourth place: FACK acts.
    flow.at(250).sack(0, &[3..=4]).state(State::Recovery).sends("fast 1-2");
}

#[test]
fn it_waits_where_new_data_can_be_sent() {
    let mut flow = Script::connected_with("linux-3.17", 80, 3000);
    flow.writes(10).sends("1-3");
    // The window opens with the SACK: new data goes instead.
    flow.window(8000).at(160).sack(0, &[3..=3]).no_timer(Timer::Early).sends("4-8");
}

#[test]
fn a_closed_peer_window_leaves_it_nothing_to_wait_for() {
    let mut flow = Script::connected_with("linux-3.17", 80, 3000);
    flow.writes(10).sends("1-3");
    flow.at(160).sack(0, &[3..=3]).expires(Timer::Early, 180).sends("early 1-2");
}

#[test]
fn it_does_not_act_with_four_outstanding() {
    let mut flow = Script::connected("linux-3.17", 80);
    flow.writes(4).sends("1-4");
    flow.at(160).sack(0, &[3..=3]).no_timer(Timer::Early);
    flow.expires(Timer::Rto, 360).sends("rto 1");
}

#[test]
fn it_acts_when_acks_bring_the_flight_below_four() {
    let mut flow = Script::connected("linux-3.17", 80);
    flow.writes(5).sends("1-5");
    flow.at(160).ack(1).at(161).sack(1, &[3..=3]).no_timer(Timer::Early);
    // Reordering would switch it off, so a SACK comes with the advance.
    let mut flow = Script::connected("linux-3.17", 80);
    flow.writes(5).sends("1-5");
    flow.at(160).sack(2, &[5..=5]).timer(Timer::Early, 180);
}

#[test]
fn it_is_off_once_reordering_was_seen() {
    let mut flow = Script::connected("linux-3.17", 80);
    flow.writes(2).sends("1-2");
    flow.at(160).sack(0, &[2..=2]).timer(Timer::Early, 180);
    flow.at(161).ack(2).writes(3).sends("3-5"); // 1 was late, not lost
    flow.at(241).sack(2, &[5..=5]).state(State::Disorder).no_timer(Timer::Early);
}

#[test]
fn it_is_immediate_where_the_retransmission_timer_would_go_first() {
    let mut flow = Script::connected("linux-3.17", 80);
    flow.writes(3).sends("1-3").timer(Timer::Rto, 360);
    // SRTT is 80 + 265/8 ms by now, a quarter of it some 26 ms; the window is reduced by this ACK.
    flow.at(345).sack(0, &[3..=3]).state(State::Recovery).ssthresh(7);
    flow.cwnd(2).sends("early 1-2").no_timer(Timer::Early);
}

#[test]
fn it_does_not_act_again_while_a_retransmission_is_out() {
    let mut flow = Script::connected("linux-3.17", 80);
    flow.writes(3).sends("1-3");
    flow.at(160).sack(0, &[2..=2]).expires(Timer::Early, 180).sends("early 1");
    flow.at(240).ack(2).no_timer(Timer::Early).state(State::Recovery).sends("nothing");
}
