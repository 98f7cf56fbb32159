//! F-RTO: was the timeout spurious? (RFC 5682; Linux `tcp_process_loss`). RTT 80 ms, RTO 280 ms:
//! what left at 80 ms times out at 360 ms.

use super::super::*;
use super::script::{MSS, Script};

/// Ten of `written` segments left at 80 ms, and 1 again at 360 ms.
fn timed_out(profile: &str, written: u64) -> Script {
    let mut flow = Script::connected(profile, 80);
    flow.writes(written).sends("1-10");
    flow.expires(Timer::Rto, 360).state(State::Loss).ssthresh(7);
    flow.cwnd(1).sends("rto 1");
    flow
}

fn timed_out_without_sack(written: u64) -> Script {
    let mut flow = Script::without_sack("linux-3.17", 80);
    flow.writes(written).sends("1-10");
    flow.expires(Timer::Rto, 360).cwnd(1).sends("rto 1");
    flow
}

//= test: RFC 5682 §3.1 step 2b
#[test]
fn the_first_ack_that_advances_sends_new_data_instead_of_retransmissions() {
    // RFC 5682 §3.1 step 2b.
    let mut flow = timed_out("linux-3.17", 20);
    flow.at(400).ack(1).state(State::Loss).cwnd(2).sends("11-12");
}

#[test]
fn an_ack_of_data_not_retransmitted_proves_the_timeout_spurious() {
    // Step 3b, by cumulative ACK.
    let mut flow = timed_out("linux-3.17", 20);
    flow.at(400).ack(1).sends("11-12");
    flow.at(401).ack(2).state(State::Open).undone(0, 0, 1);
    flow.cwnd(10).ssthresh(u32::MAX).pipe(10).sends("nothing");
    flow.at(402).ack(3).cwnd(11).sends("13-14");
}

//= test: RFC 5682 §3.1 step 3b
#[test]
fn a_sack_of_data_not_retransmitted_also_proves_the_timeout_spurious() {
    // Step 3b, by SACK: 2 may be lost, yet the timeout was not needed.
    let mut flow = timed_out("linux-3.17", 20);
    flow.at(400).ack(1).sends("11-12");
    flow.at(401).sack(1, &[3..=3]).state(State::Disorder).undone(0, 0, 1);
    flow.cwnd(10).ssthresh(u32::MAX).pipe(10);
}

#[test]
fn an_ack_beyond_the_retransmission_proves_the_timeout_spurious_at_once() {
    // Linux: FLAG_ORIG_SACK_ACKED needs no step 2.
    let mut flow = timed_out("linux-3.17", 20);
    flow.at(400).ack(3).state(State::Open).undone(0, 0, 1).cwnd(10).sends("11-13");
}

//= test: RFC 5682 §3.1 step 3a
#[test]
fn a_sack_of_only_the_new_data_proves_a_genuine_loss() {
    // Step 3a: it covers more than the recovery point. Linux keeps the window of slow start, two.
    let mut flow = timed_out("linux-3.17", 20);
    flow.at(440).ack(1).sends("11-12");
    flow.at(520).sack(1, &[11..=11]).state(State::Loss).undone(0, 0, 0);
    flow.cwnd(2).sends("slow_start 2");
    flow.at(521).sack(1, &[11..=12]).sends("slow_start 3");
}

#[test]
fn a_late_ack_of_an_original_does_not_undo_a_genuine_loss() {
    let mut flow = timed_out("linux-3.17", 20);
    flow.at(440).ack(1).sends("11-12");
    flow.at(520).sack(1, &[11..=11]).sends("slow_start 2");
    flow.at(530).sack(1, &[11..=11, 5..=5]).state(State::Loss);
    flow.undone(0, 0, 0);
}

//= test: RFC 5682 §3.1 step 2a
#[test]
fn a_timeout_acknowledged_in_full_is_left_without_a_verdict() {
    // Step 2a: the ACK covers the recovery point, but only segment 1 was out.
    let mut flow = Script::connected("linux-3.17", 80);
    flow.writes(1).sends("1");
    flow.expires(Timer::Rto, 360).sends("rto 1");
    flow.at(440).ack(1).state(State::Open).ssthresh(7).undone(0, 0, 0);
}

#[test]
fn without_new_data_the_retransmissions_go_on() {
    // Step 2b: where nothing new can be sent, the conventional recovery.
    let mut flow = timed_out("linux-3.17", 10);
    flow.at(440).ack(1).sends("slow_start 2-3");
    // A late original proves nothing any more: its copy went again.
    flow.at(441).ack(2).undone(0, 0, 0).state(State::Loss).sends("slow_start 4-5");
}

#[test]
fn a_peer_window_too_small_for_new_data_counts_as_closed() {
    let mut flow = timed_out("linux-3.17", 20);
    flow.window(9 * MSS).at(440).ack(1).sends("slow_start 2-3");
}

#[test]
fn f_rto_runs_again_on_a_repeated_timeout_without_progress() {
    // RFC 5682 §2.1: start again at step 1; Linux: icsk_retransmits > 0.
    let mut flow = timed_out("linux-3.17", 20);
    flow.expires(Timer::Rto, 920).sends("rto 1");
    flow.at(1000).ack(1).sends("11-12");
    flow.at(1001).ack(2).undone(0, 0, 1).cwnd(10).ssthresh(u32::MAX);
}

#[test]
fn a_timeout_after_progress_in_loss_counts_as_genuine() {
    // Nothing is heard of 11 and 12. tcp_enter_loss: new_recovery is false in Loss, and
    // icsk_retransmits 0 since snd_una moved.
    let mut flow = timed_out("linux-6+notlp", 20);
    flow.at(440).ack(1).sends("11-12").timer(Timer::Rto, 440 + 560);
    flow.expires(Timer::Rto, 1000).sends("rto 2");
    flow.at(1080).ack(2).state(State::Loss).sends("slow_start 3-4");
}

//= test: RFC 5682 §3.1
#[test]
fn a_timeout_in_fast_recovery_counts_as_genuine() {
    // RFC 5682 §3.1: not when already in loss recovery; Linux: new_recovery is false.
    let mut flow = Script::connected("linux-3.17", 80);
    flow.writes(20).sends("1-10");
    flow.at(160).sack(0, &[4..=4]).sends("fast 1");
    flow.expires(Timer::Rto, 440).sends("rto 1");
    flow.at(520).sack(1, &[4..=4]).sends("slow_start 2-3");
}

#[test]
fn switched_off_it_leaves_the_retransmissions_to_go_at_once() {
    let mut flow = timed_out("linux-3.17+nofrto", 20);
    flow.at(400).ack(1).sends("slow_start 2-3");
    flow.at(401).ack(2).undone(0, 0, 0).state(State::Loss).sends("slow_start 4-5");
}

//= test: RFC 5682 §2.1 step 3b
#[test]
fn without_sack_two_acks_that_advance_prove_it_spurious() {
    // RFC 5682 §2.1 steps 2b and 3b.
    let mut flow = timed_out_without_sack(20);
    flow.at(400).ack(1).sends("11-12");
    flow.at(401).ack(2).state(State::Open).undone(0, 0, 1);
    flow.cwnd(10).ssthresh(u32::MAX).pipe(10);
}

#[test]
fn without_sack_the_ack_of_the_retransmission_proves_nothing_by_itself() {
    // Step 2b even if it covers originals besides (Linux drops FLAG_ORIG_SACK_ACKED). The window of
    // slow start is what it acknowledges and one.
    let mut flow = timed_out_without_sack(20);
    flow.at(400).ack(3).state(State::Loss).cwnd(4).undone(0, 0, 0);
    flow.sends("11-14");
}

//= test: RFC 5682 §2.1 step 3a
#[test]
fn without_sack_a_duplicate_ack_after_new_data_proves_the_loss_real() {
    // Step 3a. It says that one of the new segments arrived.
    let mut flow = timed_out_without_sack(20);
    flow.at(440).ack(1).sends("11-12");
    flow.at(520).ack(1).state(State::Loss).sends("slow_start 2");
    flow.undone(0, 0, 0);
}

#[test]
fn after_a_spurious_timeout_the_losses_it_hid_are_found_by_sacks() {
    let mut flow = timed_out("linux-3.17", 20);
    flow.at(400).ack(1).sends("11-12");
    flow.at(401).sack(1, &[3..=3]).state(State::Disorder);
    flow.sends("nothing");
    // FACK: 5 is the fourth place up; this is a loss of its own, and the window falls again.
    flow.at(402).sack(1, &[3..=5]).state(State::Recovery).ssthresh(7);
    flow.sends("fast 2");
}
