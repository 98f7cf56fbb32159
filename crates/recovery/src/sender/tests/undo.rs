//! Undo of reductions: DSACK (RFC 3708), timestamps (RFC 3522), and Linux's response
//! (`tcp_try_undo_*`, `tcp_undo_cwnd_reduction`).

use super::super::*;
use super::script::Script;
use crate::counters::Ended;

/// Ten segments are sent at 80 ms. The SACK of 2 to 4 at 160 ms causes a spurious retransmission of 1, which
/// was only late.
fn spurious(profile: &str) -> Script {
    let mut flow = Script::connected(profile, 80);
    flow.writes(10).sends("1-10");
    flow.at(160).sack(0, &[2..=4]).sends("fast 1");
    flow
}

/// Ten segments, and three spurious retransmissions: 1 at 160 ms, 2 and 3 at 161 ms.
fn spurious_three(profile: &str) -> Script {
    let mut flow = Script::connected(profile, 80);
    flow.writes(10).sends("1-10");
    flow.at(160).sack(0, &[6..=6]).ssthresh(7).sends("fast 1");
    flow.at(161).sack(0, &[6..=7]).sends("fast 2-3");
    flow
}

#[test]
fn a_dsack_in_recovery_ends_it_and_restores_the_window() {
    let mut flow = Script::connected("linux-3.17", 80);
    flow.writes(20).sends("1-10");
    flow.at(160).sack(0, &[2..=4]).ssthresh(7).sends("fast 1");
    flow.at(161).sack(0, &[2..=5]).sends("11");
    flow.at(170).ack(5).state(State::Recovery).sends("12");
    flow.at(240).sack(5, &[1..=1]).state(State::Open);
    flow.cwnd(10).ssthresh(u32::MAX).undone(1, 0, 0);
    flow.pipe(7).sends("13-15");
    assert_eq!(flow.last_recovery().ended, Ended::Undone);
}

#[test]
fn a_dsack_after_recovery_also_restores_the_window() {
    // tcp_try_undo_dsack in Open: undo_marker outlives the recovery.
    let mut flow = spurious("linux-3.17");
    flow.at(170).ack(10).state(State::Open).cwnd(7).ssthresh(7);
    flow.at(240).sack(10, &[1..=1]).cwnd(10).ssthresh(u32::MAX);
    flow.undone(1, 0, 0);
    assert_eq!(flow.last_recovery().ended, Ended::Complete);
}

#[test]
fn the_dsack_that_completes_the_proof_may_come_with_the_last_ack() {
    let mut flow = spurious("linux-3.17");
    flow.at(240).sack(10, &[1..=1]).state(State::Open);
    flow.cwnd(10).ssthresh(u32::MAX).undone(1, 0, 0);
}

#[test]
fn all_retransmissions_must_be_explained() {
    // RFC 3708 §3 (B.1). Three went again at first, then 4 and, as a hole, 5; one DSACK came.
    let mut flow = spurious_three("linux-3.17");
    flow.at(170).sack(1, &[6..=7]).sends("fast 4");
    flow.at(240).sack(1, &[1..=1, 6..=7]).state(State::Recovery).sends("nothing");
    flow.at(241).sack(3, &[6..=7]).sends("fast 5");
    flow.at(250).ack(10).state(State::Open).cwnd(7).ssthresh(7);
    flow.undone(0, 0, 0);
}

#[test]
fn the_last_of_several_dsacks_is_what_takes_it_back() {
    let mut flow = spurious_three("linux-3.17");
    flow.at(170).ack(10).state(State::Open).cwnd(7);
    flow.at(240).sack(10, &[1..=1]).cwnd(7).undone(0, 0, 0);
    flow.at(241).sack(10, &[2..=2]).cwnd(7).undone(0, 0, 0);
    flow.at(242).sack(10, &[3..=3]).cwnd(10).undone(1, 0, 0);
}

#[test]
fn one_dsack_may_explain_several_retransmissions() {
    // tcp_check_dsack: as many as it has segments.
    let mut flow = spurious_three("linux-6+fack+prr+notlp");
    flow.at(170).ack(10).ssthresh(7);
    flow.at(240).sack(10, &[1..=3]).ssthresh(u32::MAX).undone(1, 0, 0);
}

#[test]
fn dsacks_of_an_earlier_episode_do_not_count_for_this_one() {
    // undo_marker: they end at or below where this one began.
    let mut flow = spurious("linux-3.17");
    flow.at(170).ack(10).cwnd(7).writes(5).sends("11-15");
    flow.at(239).sack(10, &[12..=14]).state(State::Recovery).sends("fast 11");
    flow.at(240).sack(10, &[1..=1, 12..=14]).state(State::Recovery);
    flow.undone(0, 0, 0).ssthresh(4); // ⌊7·0.7⌋
}

#[test]
fn a_proof_is_used_once() {
    let mut flow = spurious("linux-3.17");
    flow.at(170).ack(10).at(240).sack(10, &[1..=1]).undone(1, 0, 0);
    flow.at(241).sack(10, &[1..=1]).undone(1, 0, 0).cwnd(10);
}

#[test]
fn more_dsacks_than_retransmissions_prove_nothing() {
    // Linux 6 tcp_dsack_seen: dsack_dups > total_retrans; the network duplicates (RFC 3708 §3 A.4).
    let mut flow = Script::connected("linux-6+notlp", 80);
    flow.writes(10).sends("1-10");
    flow.at(160).ack(4).at(161).sack(4, &[2..=2]).at(162).sack(4, &[3..=3]);
    flow.at(163).sack(4, &[6..=8]).state(State::Recovery).sends("fast 5");
    flow.at(243).sack(10, &[5..=5]).state(State::Open).undone(0, 0, 0);
}

#[test]
fn an_echo_of_the_original_undoes_a_whole_recovery() {
    // RFC 3522 §3.2; tcp_try_undo_recovery.
    let mut flow = spurious("linux-3.17");
    flow.at(170).echoing(80).ack(10).state(State::Open);
    flow.cwnd(10).ssthresh(u32::MAX).undone(0, 1, 0);
    assert_eq!(flow.last_recovery().ended, Ended::Undone);
}

#[test]
fn an_echo_of_the_retransmission_does_not_undo() {
    let mut flow = spurious("linux-3.17");
    flow.at(240).echoing(160).ack(10).state(State::Open);
    flow.cwnd(7).ssthresh(7).undone(0, 0, 0);
}

#[test]
fn an_echo_of_data_sent_after_the_retransmission_does_not_undo() {
    let mut flow = Script::connected("linux-3.17", 80);
    flow.writes(20).sends("1-10");
    flow.at(160).sack(0, &[2..=4]).sends("fast 1");
    flow.at(161).sack(0, &[2..=10]).sends("11-16");
    flow.at(241).echoing(161).ack(12).state(State::Open).undone(0, 0, 0).sends("17-19");
}

#[test]
fn an_ack_without_timestamps_proves_nothing() {
    let mut flow = spurious("linux-3.17");
    flow.at(170).ack(10).cwnd(7).ssthresh(7).undone(0, 0, 0);
}

#[test]
fn an_echo_of_the_original_on_a_partial_ack_undoes_the_rest() {
    // tcp_try_undo_partial with no retransmission out: marks and reduction are taken back.
    let mut flow = spurious("linux-3.17");
    flow.at(170).echoing(80).ack(4).state(State::Open);
    flow.cwnd(10).ssthresh(u32::MAX).pipe(6).undone(0, 1, 0);
    flow.sends("nothing");
}

#[test]
fn a_late_original_on_a_partial_ack_reveals_the_reordering_distance() {
    // tcp_try_undo_partial: by what is SACKed above it and what this ACK covers, here 4 segments
    // (3.17: fackets_out + acked; 6.12: highest SACK less the former snd_una).
    for profile in ["linux-3.17", "linux-6+notlp"] {
        let mut flow = spurious(profile);
        flow.at(170).echoing(80).ack(4).dupthresh(4);
    }
    // 6 to 9 SACKed above, one acknowledged.
    let mut flow = Script::connected("linux-3.17", 80);
    flow.writes(10).sends("1-10");
    flow.at(160).sack(0, &[2..=9]).sends("fast 1");
    flow.at(170).echoing(80).ack(9).dupthresh(9);
    assert!(!flow.sender.losses.threshold.uses_fack());
}

#[test]
fn while_a_retransmission_is_out_a_partial_ack_takes_nothing_back_yet() {
    // tcp_try_undo_partial: "clock out new packets but do not mark more packets lost or retransmit
    // more". 4 was marked lost, and is not sent.
    let mut flow = spurious_three("linux-3.17");
    flow.at(170).echoing(80).sack(1, &[6..=7]).state(State::Recovery);
    flow.undone(0, 0, 0).ssthresh(7).sends("nothing");
    // The next ACK proves nothing, and 4 and the hole at 5 go: banked 4 − 3, and one.
    flow.at(171).sack(1, &[6..=8]).pipe(5).sends("fast 4-5");
}

#[test]
fn without_outstanding_retransmissions_a_partial_ack_undoes_the_recovery() {
    let mut flow = spurious_three("linux-3.17");
    flow.at(170).echoing(80).sack(3, &[6..=7]).state(State::Disorder);
    flow.undone(0, 1, 0).cwnd(10).ssthresh(u32::MAX);
    // 4, 5, 8, 9 and 10: nothing is taken as lost any more.
    flow.pipe(5).sends("nothing");
}

#[test]
fn an_echo_of_the_original_undoes_a_timeout() {
    let mut flow = Script::connected("linux-3.17", 80);
    flow.writes(10).sends("1-10");
    flow.expires(Timer::Rto, 360).cwnd(1).ssthresh(7).sends("rto 1");
    flow.at(370).echoing(80).ack(1).state(State::Open);
    flow.cwnd(10).ssthresh(u32::MAX).pipe(9).undone(0, 1, 0);
    flow.sends("nothing");
}

#[test]
fn a_late_dsack_undoes_a_timeout() {
    // tcp_try_undo_dsack in Open, after the ACK of everything left Loss.
    let mut flow = Script::connected("linux-3.17", 80);
    flow.writes(1).sends("1");
    flow.expires(Timer::Rto, 360).ssthresh(7).sends("rto 1");
    flow.at(370).ack(1).state(State::Open).ssthresh(7);
    flow.at(440).sack(1, &[1..=1]).cwnd(10).ssthresh(u32::MAX);
    flow.undone(1, 0, 0);
}

#[test]
fn repeated_timeouts_need_one_dsack_each() {
    let mut flow = Script::connected("linux-3.17", 80);
    flow.writes(1).sends("1");
    flow.expires(Timer::Rto, 360).sends("rto 1");
    flow.expires(Timer::Rto, 920).sends("rto 1");
    flow.at(930).ack(1).state(State::Open);
    flow.at(940).sack(1, &[1..=1]).undone(0, 0, 0).ssthresh(7);
    flow.at(1000).sack(1, &[1..=1]).undone(1, 0, 0).cwnd(10);
}

#[test]
fn the_threshold_comes_back_as_three_quarters_of_the_window_at_least() {
    // tcp_current_ssthresh: max(ssthresh, cwnd/2 + cwnd/4). (congestion control, ssthresh before,
    // in recovery, after the undo)
    for (profile, before, reduced, after) in [
        ("linux-3.17", 10, 7, 10),
        ("linux-3.17", 6, 7, 7),
        ("linux-3.17+reno", 10, 5, 10),
        ("linux-3.17+reno", 6, 5, 7),
    ] {
        let mut flow = Script::connected(profile, 80);
        flow.sender.congestion.ssthresh = Segments(before);
        flow.writes(10).sends("1-10");
        flow.at(160).sack(0, &[2..=4]).ssthresh(reduced).sends("fast 1");
        flow.at(170).echoing(80).ack(10).cwnd(10).ssthresh(after);
    }
}

#[test]
fn a_window_reduced_earlier_for_congestion_is_not_restored() {
    // tcp_enter_recovery from CWR: prior_ssthresh = 0.
    let mut flow = Script::connected("linux-3.17", 80);
    flow.writes(10).sends("1-10");
    flow.at(150).congested().state(State::Cwr).ssthresh(7);
    flow.at(160).sack(0, &[2..=4]).state(State::Recovery).sends("fast 1");
    flow.at(170).echoing(80).ack(10).state(State::Open);
    flow.ssthresh(7).cwnd(7);
}

#[test]
fn a_late_dsack_does_not_undo_a_congestion_signal_in_open() {
    // tcp_enter_cwr: undo_marker = 0.
    let mut flow = spurious("linux-3.17");
    flow.at(170).ack(10).state(State::Open).cwnd(7);
    flow.at(180).congested().ssthresh(4);
    flow.at(240).sack(10, &[1..=1]).ssthresh(4).undone(0, 0, 0);
}

#[test]
fn each_kind_of_proof_can_be_enabled_alone() {
    // (mechanism, by DSACK, by timestamp)
    for (mechanism, dsack, timestamp) in
        [("undo", true, true), ("dsack", true, false), ("eifel", false, true), ("noundo", false, false)]
    {
        let mut flow = spurious(&format!("linux-3.17+{mechanism}"));
        flow.at(170).echoing(80).ack(10);
        flow.cwnd(if timestamp { 10 } else { 7 });
        let mut flow = spurious(&format!("linux-3.17+{mechanism}"));
        flow.at(170).ack(10).at(240).sack(10, &[1..=1]);
        flow.cwnd(if dsack { 10 } else { 7 });
    }
}

#[test]
fn without_sack_an_echo_takes_a_recovery_back() {
    let mut flow = Script::without_sack("linux-3.17", 80);
    flow.writes(10).sends("1-10");
    flow.at(160).ack(0).at(161).ack(0).at(162).ack(0).sends("fast 1");
    flow.at(170).echoing(80).ack(10).cwnd(10).ssthresh(u32::MAX);
    flow.undone(0, 1, 0);
}

#[test]
fn in_loss_a_dsack_undoes_the_timeout_without_an_advance() {
    // Linux 3.17 tcp_process_loss: tcp_try_undo_loss on every ACK. (6.12: only where una advances.)
    let mut flow = Script::connected("linux-3.17", 80);
    flow.writes(20).sends("1-10");
    flow.expires(Timer::Rto, 360).sends("rto 1");
    flow.at(400).ack(1).sends("11-12");
    flow.at(440).sack(1, &[1..=1]).state(State::Open);
    flow.undone(1, 0, 0).cwnd(10).ssthresh(u32::MAX);
}

#[test]
fn a_congestion_signal_in_recovery_prevents_the_undo() {
    // tcp_fastretrans_alert A: an ECN echo sets prior_ssthresh = 0 in any state; RFC 4015 §3.1 (9).
    let mut flow = spurious("linux-3.17");
    flow.at(165).congested().state(State::Recovery).ssthresh(7);
    flow.at(170).echoing(80).ack(10).state(State::Open);
    flow.ssthresh(7).cwnd(7);
}
