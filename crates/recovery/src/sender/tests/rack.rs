//! RACK: loss detection by time (RFC 8985 §6; Linux 6.12 `tcp_recovery.c`). By default, the RTT is 80 ms and
//! ten segments are sent at 80 ms.

use super::super::*;
use super::script::{Script, segments};
use crate::event::LossDetector;

fn ten(profile: &str, written: u64) -> Script {
    let mut flow = Script::connected(profile, 80);
    flow.writes(written).sends("1-10");
    flow
}

/// Segment 1 arrived 1 ms after segment 2: the path reorders. All ten are acknowledged.
fn reorders(profile: &str) -> Script {
    let mut flow = ten(profile, 10);
    flow.at(160).sack(0, &[2..=2]).at(161).ack(2).at(162).ack(10);
    flow.state(State::Open);
    assert!(flow.sender.losses.threshold.reordering_seen());
    flow
}

fn by_rack(segments: impl IntoIterator<Item = u64>) -> Vec<(u64, LossDetector)> {
    segments.into_iter().map(|n| (n, LossDetector::Rack)).collect()
}

//= test: RFC 8985 §6.2 step 4
//= test: RFC 8985 §6.2 step 5
#[test]
fn a_late_segment_has_a_quarter_of_the_minimum_rtt_to_arrive() {
    // §6.2 step 4, step 5; Linux adds 2 ms to the timer.
    for (profile, timer) in [("linux-6", 182), ("linux-3.17+rack+noer", 180)] {
        let mut flow = ten(profile, 10);
        flow.at(160).sack(0, &[2..=2]).state(State::Disorder);
        flow.sends("nothing").no_timer(Timer::Probe);
        flow.expires(Timer::Reorder, timer).state(State::Recovery);
        flow.sends("fast 1");
        assert_eq!(flow.marked(), by_rack([1]));
    }
}

#[test]
fn the_timer_enters_recovery_as_an_ack_of_one_segment_would() {
    // tcp_rack_reo_timeout: tcp_cwnd_reduction(1, lost, 0). ⌈7·1/10⌉ over a pipe of 8.
    let mut flow = ten("linux-6", 10);
    flow.at(160).sack(0, &[2..=2]).expires(Timer::Reorder, 182);
    flow.ssthresh(7).pipe(8).cwnd(9).sends("fast 1").no_timer(Timer::Reorder);
}

#[test]
fn the_late_segment_stops_the_timer() {
    let mut flow = ten("linux-6", 10);
    flow.at(160).sack(0, &[2..=2]).timer(Timer::Reorder, 182);
    flow.at(170).ack(2).state(State::Open).no_timer(Timer::Reorder);
    assert_eq!(flow.marked(), []);
}

//= test: RFC 8985 §6.2 step 4
#[test]
fn three_segments_sacked_end_the_wait_where_nothing_was_reordered() {
    // §6.2 step 4: RACK.segs_sacked >= DupThresh.
    let mut flow = ten("linux-6", 10);
    flow.at(160).sack(0, &[2..=3]).timer(Timer::Reorder, 182);
    flow.at(161).sack(0, &[2..=4]).state(State::Recovery);
    flow.sends("fast 1").no_timer(Timer::Reorder);
}

//= test: RFC 8985 §6.2 step 4
#[test]
fn where_the_path_reorders_three_segments_sacked_do_not_end_it() {
    let mut flow = reorders("linux-6");
    flow.at(200).writes(6).sends("11-16");
    flow.at(280).sack(10, &[12..=14]).state(State::Disorder).sends("nothing");
    flow.expires(Timer::Reorder, 200 + 80 + 20 + 2).sends("fast 11");
}

#[test]
fn in_recovery_losses_are_marked_without_a_wait() {
    // §6.2 step 4. 5 is lost as soon as 6 arrives: two may go (banked 4 − 1, gap 7 − 5).
    let mut flow = ten("linux-6", 10);
    flow.at(160).sack(0, &[2..=4]).cwnd(7).sends("fast 1");
    flow.at(161).sack(0, &[6..=6, 2..=4]).pipe(5).cwnd(7).sends("fast 5");
    flow.no_timer(Timer::Reorder);
    assert_eq!(flow.marked(), by_rack([1, 5]));
}

#[test]
fn in_recovery_on_a_path_that_reorders_the_window_stays() {
    let mut flow = reorders("linux-6");
    flow.at(200).writes(6).sends("11-16");
    flow.at(280).sack(10, &[12..=12]).expires(Timer::Reorder, 302).sends("fast 11");
    // 14 took 103 ms, and so may 13, 20 ms more allowed.
    flow.at(303).sack(10, &[14..=14, 12..=12]).state(State::Recovery);
    flow.timer(Timer::Reorder, 200 + 103 + 20 + 2);
    assert_eq!(flow.marked(), by_rack([11]));
    // In Recovery the timer marks and no more: what goes is what the window leaves.
    flow.expires(Timer::Reorder, 325).pipe(3).cwnd(5).sends("fast 13");
    assert_eq!(flow.sender.counters().recoveries, 1);
}

//= test: RFC 8985 §6.2 step 5
#[test]
fn the_timer_waits_for_the_newest_of_those_in_doubt() {
    // §6.2 step 5: timeout = max(remaining). 1 left at 85, 2 at 90, 3 at 95 ms, and 3 came first.
    let mut flow = Script::connected("linux-6", 80);
    for (n, at) in [("1", 85), ("2", 90), ("3", 95)] {
        flow.at(at).writes(1).sends(n);
    }
    flow.at(175).sack(0, &[3..=3]).timer(Timer::Reorder, 90 + 80 + 20 + 2);
    flow.expires(Timer::Reorder, 192);
    assert_eq!(flow.marked(), by_rack([1, 2]));
    flow.pipe(0).cwnd(1).sends("fast 1");
}

#[test]
fn what_was_sent_after_the_newest_delivered_is_not_judged() {
    let mut flow = ten("linux-6", 20);
    flow.at(160).sack(0, &[2..=4]).sends("fast 1");
    // 5 to 10 left with 2 to 4, and lie above them.
    assert_eq!(flow.marked(), by_rack([1]));
}

#[test]
fn a_retransmission_is_lost_once_something_sent_after_it_is_sacked() {
    // 1 went again at 160 ms, 11 left at 161 ms and arrives first.
    let mut flow = ten("linux-6", 20);
    flow.at(160).sack(0, &[2..=4]).sends("fast 1");
    flow.at(161).sack(0, &[2..=5]).sends("11");
    flow.at(162).sack(0, &[2..=10]).pipe(2).sends("12-16");
    // Banked 10 − 7, gap 7 − 5.
    flow.at(241).sack(0, &[2..=11]).pipe(5).ssthresh(7).sends("fast 1, 17");
    assert_eq!(flow.marked(), by_rack([1, 1]));
    assert_eq!(flow.sender.counters().lost_retransmissions, 1);
}

#[test]
fn a_retransmission_lost_is_found_by_another_sent_later() {
    // RFC 8985 §3.4, figure 1's last step: retransmissions alone do.
    let mut flow = ten("linux-6", 10);
    flow.at(160).sack(0, &[5..=7]).state(State::Recovery);
    assert_eq!(flow.marked(), by_rack(1..=4));
    flow.sends("fast 1-3"); // gap 7 − 3, delivered 3
    flow.at(161).sack(0, &[5..=8]).sends("fast 4");
    // Of those sent again at 160 ms the second arrives, the first does not; 9 and 10 left long
    // before.
    flow.at(240).sack(0, &[5..=8, 2..=2]);
    assert_eq!(flow.marked(), by_rack([1, 2, 3, 4, 9, 10, 1]));
    flow.sends("fast 1");
}

//= test: RFC 8985 §6.2 step 2
#[test]
fn an_ack_sooner_than_the_minimum_rtt_is_for_the_original() {
    // §6.2 step 2: else RACK.xmit_ts would be 160 ms and 5 to 10, sent at 80 ms, all lost.
    let mut flow = ten("linux-6", 10);
    flow.at(160).sack(0, &[2..=4]).sends("fast 1");
    flow.at(165).ack(4).pipe(6).sends("nothing");
    assert_eq!(flow.marked(), by_rack([1]));
}

#[test]
fn an_ack_after_the_minimum_rtt_is_for_the_retransmission() {
    // 5 to 10 left before it and are lost. Further losses: no SafeACK, so banked 4 − 1 go.
    let mut flow = ten("linux-6", 10);
    flow.at(160).sack(0, &[2..=4]).sends("fast 1");
    flow.at(240).ack(4).pipe(0).cwnd(3).sends("fast 5-7");
    assert_eq!(flow.marked(), by_rack([1, 5, 6, 7, 8, 9, 10]));
}

/// On a path that reorders, the timer retransmits segment 11 of 11 to 16, whose original arrives anyway.
fn widened(profile: &str) -> Script {
    let mut flow = reorders(profile);
    flow.at(200).writes(6).sends("11-16");
    flow.at(280).sack(10, &[12..=14]).expires(Timer::Reorder, 302).sends("fast 11");
    flow.at(303).ack(14).at(304).ack(16).state(State::Open);
    flow.at(382).sack(16, &[11..=11]).undone(1, 0, 0);
    flow
}

#[test]
fn a_dsack_widens_the_window_by_a_quarter_of_the_minimum_rtt() {
    // §6.2 step 4: reo_wnd_mult = 2.
    let mut flow = widened("linux-6");
    flow.at(400).writes(6).sends("17-22");
    flow.at(480).sack(16, &[18..=18]).timer(Timer::Reorder, 400 + 80 + 40 + 2);
}

#[test]
fn a_dsack_without_detected_reordering_does_not_widen_the_window() {
    // Linux tcp_dsack_seen: only with reord_seen.
    let mut flow = ten("linux-6", 10);
    flow.at(160).sack(0, &[2..=4]).sends("fast 1");
    flow.at(170).ack(10).at(240).sack(10, &[1..=1]).undone(1, 0, 0);
    flow.at(300).writes(6).sends("11-16");
    flow.at(380).sack(10, &[12..=12]).timer(Timer::Reorder, 300 + 80 + 20 + 2);
}

#[test]
fn dsacks_widen_the_window_once_per_round_trip() {
    // §6.2 step 4: dsack_round. Both 11 and 12 were sent again in vain.
    let mut flow = reorders("linux-6");
    flow.at(200).writes(6).sends("11-16");
    flow.at(280).sack(10, &[13..=14]).expires(Timer::Reorder, 302).sends("fast 11");
    flow.at(303).sack(10, &[13..=15]).sends("fast 12");
    flow.at(304).ack(16).writes(6).sends("17-22");
    flow.at(382).sack(16, &[11..=11]).at(383).sack(16, &[12..=12]);
    flow.at(385).sack(16, &[18..=18]);
    flow.timer(Timer::Reorder, 304 + 81 + 40 + 2);
}

#[test]
fn the_window_is_no_wider_than_the_smoothed_rtt() {
    let mut flow = widened("linux-6");
    for _ in 0..9 {
        let nxt = flow.sender.nxt();
        flow.sender.losses.rack.on_dsack(nxt, nxt);
    }
    let srtt = flow.sender.rtt().srtt().unwrap();
    flow.at(400).writes(6).sends("17-22");
    flow.at(480).sack(16, &[18..=18]);
    // RACK.rtt is 80 ms; the SACK's sample has moved SRTT meanwhile.
    let srtt_now = flow.sender.rtt().srtt().unwrap();
    assert!(srtt_now <= srtt && srtt_now >= Duration::from_millis(80));
    let expected = Instant::from_millis(400 + 80 + 2) + srtt_now;
    assert_eq!(flow.sender.deadline(Timer::Reorder), Some(expected));
}

//= test: RFC 8985 §6.3
#[test]
fn a_timeout_does_not_mark_segments_sent_less_than_an_rtt_ago() {
    // §6.3; Linux tcp_timeout_mark_lost: cwnd is what stays in flight and one.
    let mut flow = Script::connected("linux-6+notlp", 80);
    flow.writes(5).sends("1-5").at(340).writes(3).sends("6-8");
    flow.expires(Timer::Rto, 360).state(State::Loss).pipe(3).cwnd(4);
    assert_eq!(flow.marked(), [1, 2, 3, 4, 5].map(|n| (n, LossDetector::Timeout)));
    flow.sends("rto 1").pipe(4);
}

#[test]
fn a_timeout_marks_all_segments_lost_if_losses_are_counted() {
    let mut flow = Script::connected("linux-6+fack+notlp", 80);
    flow.writes(5).sends("1-5").at(340).writes(3).sends("6-8");
    flow.expires(Timer::Rto, 360).pipe(0).cwnd(1).sends("rto 1");
    assert_eq!(flow.marked().len(), 8);
}

#[test]
fn what_a_timeout_spared_is_found_lost_by_a_later_ack() {
    // The head's retransmission left at 360 ms and arrived: 6 to 8 left before it. Nothing new is
    // there to send, so F-RTO stands back.
    let mut flow = Script::connected("linux-6+notlp", 80);
    flow.writes(5).sends("1-5").at(340).writes(3).sends("6-8");
    flow.expires(Timer::Rto, 360).sends("rto 1");
    flow.at(440).ack(1).state(State::Loss);
    let lost = flow.marked();
    assert_eq!(lost[5..], by_rack([6, 7, 8]));
    // One delivered: the window of 4 grows to 5.
    flow.pipe(0).cwnd(5).sends("slow_start 2-6");
}

#[test]
fn a_retransmission_lost_in_loss_begins_a_recovery() {
    // tcp_fastretrans_alert, Loss with FLAG_LOST_RETRANS: a further reduction, ⌊2·0.7⌋ but two.
    let mut flow = ten("linux-6+notlp", 10);
    flow.expires(Timer::Rto, 360).ssthresh(7).sends("rto 1");
    flow.at(440).ack(1).cwnd(2).sends("slow_start 2-3");
    flow.at(520).sack(1, &[3..=3]).state(State::Recovery).ssthresh(2);
    flow.pipe(0).cwnd(1).sends("fast 2");
}

#[test]
fn an_original_lost_in_loss_begins_no_recovery() {
    // Linux: only FLAG_LOST_RETRANS leaves Loss that way.
    let mut flow = Script::connected("linux-6+notlp", 80);
    flow.writes(5).sends("1-5").at(340).writes(3).sends("6-8");
    flow.expires(Timer::Rto, 360).sends("rto 1");
    flow.at(440).ack(1).state(State::Loss).ssthresh(7).sends("slow_start 2-6");
}

#[test]
fn the_timer_leaves_loss_for_a_recovery_that_repairs_first() {
    // tcp_rack_reo_timeout: enters Recovery from Loss too, and sends what is lost; F-RTO's wish for
    // new data ended with Loss.
    let mut flow = Script::connected("linux-6+notlp", 80);
    flow.writes(2).sends("1-2").at(160).sack(0, &[2..=2]).at(161).ack(2); // it reorders
    flow.at(200).writes(5).sends("3-7");
    let Some((at, Timer::Rto)) = flow.sender.next_timer() else {
        panic!("the retransmission timer is the next");
    };
    // Two more leave just before it goes off.
    let late = at.since(Instant::ZERO).as_millis() as u64 - 5;
    flow.at(late).writes(2).sends("8-9");
    let rto = flow.fires(Timer::Rto);
    flow.state(State::Loss).pipe(2).sends("rto 3").writes(8);
    // 8 and 9 left 5 ms before the retransmission that is answered now: 20 ms are not over.
    flow.writes(8);
    flow.at(rto + 80).ack(3).state(State::Loss).cwnd(4).sends("10-11");
    flow.fires(Timer::Reorder);
    // Seven lost, two in flight.
    flow.state(State::Recovery).pipe(2).sends("fast 4");
}

#[test]
fn undoing_looks_at_the_segments_again() {
    // Linux tcp_undo_cwnd_reduction: rack.advanced = 1. Marks are taken back by the echo of 1, and
    // 5, which is overdue all the same, is marked anew.
    let mut flow = ten("linux-3.17+rack+noer", 10);
    flow.at(160).sack(0, &[6..=8]).sends("fast 1-4");
    flow.at(170).echoing(80).sack(4, &[6..=8]).undone(0, 1, 0);
    assert_eq!(flow.marked(), by_rack([1, 2, 3, 4, 5]));
    // The window waits again (80 + 20 − 90 ms left): the path was seen to reorder.
    flow.state(State::Disorder).timer(Timer::Reorder, 80 + 80 + 20);
}

#[test]
fn linux_6_forgets_a_segment_whose_lost_mark_was_undone_until_the_timeout() {
    // tcp_rack_detect_loss takes 4 and 5 from the list that RACK walks, and no undo puts them back. The echo
    // of 1 undoes; from then on, the timeout alone retransmits 4 and 5.
    let mut flow = ten("linux-6", 10);
    flow.at(160).sack(0, &[6..=8]).sends("fast 1-3");
    flow.at(170).echoing(80).sack(3, &[6..=8]).undone(0, 1, 0);
    flow.state(State::Disorder).no_timer(Timer::Reorder);
    flow.at(240).sack(3, &[6..=10]).state(State::Disorder);
    assert_eq!(flow.marked(), by_rack([1, 2, 3, 4, 5]));
    flow.fires(Timer::Rto);
    flow.state(State::Loss).sends("rto 4");
}

#[test]
fn linux_6_counts_the_timeout_from_the_head_after_a_reordering_timer() {
    // tcp_rearm_rto: 1 left at 80 ms, and the reordering timer takes the place of the timeout, which goes on
    // from there. Other profiles have two timers.
    for (profile, from) in [("linux-6", 80), ("linux-3.17+rack+noer", 150)] {
        let mut flow = ten(profile, 10);
        flow.at(150).ack(1).at(151).sack(1, &[3..=3]);
        assert_eq!(timeout_counts_from(&flow), from, "{profile}");
    }
}

/// The time from which the retransmission timeout counts, ms.
fn timeout_counts_from(flow: &Script) -> u128 {
    let deadline = flow.sender.deadline(Timer::Rto).unwrap();
    (deadline - flow.sender.rto()).since(Instant::ZERO).as_millis()
}

#[test]
fn in_linux_6_an_ack_of_new_data_replaces_the_reordering_timer() {
    // tcp_set_xmit_timer, where RACK has nothing new: 1, a retransmission, is acknowledged sooner than the
    // shortest round trip, so that RACK does not advance. 4 waits for the timeout.
    let mut flow = reorders("linux-6");
    flow.at(240).ack(10).at(300).writes(6).sends("11-16");
    flow.at(380).sack(10, &[12..=12]);
    flow.expires(Timer::Reorder, 380 + 20 + 2).sends("fast 11");
    flow.at(410).sack(10, &[12..=12, 14..=14]);
    assert!(flow.sender.deadline(Timer::Reorder).is_some());
    flow.at(420).sack(12, &[14..=14]);
    flow.no_timer(Timer::Reorder);
    assert_eq!(timeout_counts_from(&flow), 300);
}

#[test]
fn in_linux_6_new_data_brings_back_the_timeout_of_the_head_where_no_probe_may_follow() {
    // tcp_event_new_data_sent with ICSK_TIME_LOSS_PROBE pending.
    let mut flow = Script::connected("linux-6", 80);
    flow.writes(3).sends("1-3");
    flow.fires(Timer::Probe);
    flow.sends("tlp 3");
    flow.at(250).writes(1).sends("4");
    // Too soon for the probe: RACK does not advance.
    flow.at(290).sack(0, &[3..=3]).state(State::Disorder);
    flow.writes(1).sends("5").no_timer(Timer::Probe);
    assert_eq!(timeout_counts_from(&flow), 80);
}

//= test: RFC 8985 §6.2 step 2
#[test]
fn the_rtt_is_that_of_the_latest_delivered_not_of_the_latest_sent() {
    // RFC 8985 §6.2 step 2 sets RACK.rtt before it asks whether the segment was sent after
    // RACK.segment (§5.3: "of the most recently delivered segment"); so does Linux. 4 took 80 ms,
    // then 2 takes 100 ms, and 3, which left at 95 ms, may take that and 20 ms more.
    for (profile, slack) in [("linux-6", 2), ("linux-3.17+rack+noer", 0)] {
        let mut flow = Script::connected(profile, 80);
        for (n, at) in (1..).zip([85, 90, 95, 100]) {
            flow.at(at).trickles(n, n);
        }
        flow.at(180).sack(0, &[4..=4]);
        flow.timer(Timer::Reorder, 95 + 80 + 20 + slack);
        flow.at(190).sack(0, &[2..=2, 4..=4]);
        flow.timer(Timer::Reorder, 95 + 100 + 20 + slack);
        assert_eq!(flow.marked(), []);
    }
}

#[test]
fn in_the_rfc_a_dsack_widens_the_window_even_without_reordering() {
    // §6.2 step 4: only the two cases that make it zero ask for reordering.
    let mut flow = ten("linux-3.17+rack+noer", 10);
    flow.at(160).sack(0, &[2..=4]).sends("fast 1");
    flow.at(170).ack(10).at(240).sack(10, &[1..=1]).undone(1, 0, 0);
    flow.at(300).writes(6).sends("11-16");
    flow.at(380).sack(10, &[12..=12]).timer(Timer::Reorder, 300 + 80 + 40);
}

//= test: RFC 8985 §6.2 step 4
#[test]
fn the_wider_window_lasts_for_sixteen_recoveries() {
    // §6.2 step 4, RACK.reo_wnd_persist. Every 300 ms a flight of six, its first segment lost.
    let mut flow = widened("linux-6");
    for i in 0..17 {
        let (at, first) = (1000 + 300 * i, 17 + 6 * i);
        let window = if i < 16 { 40 } else { 20 };
        flow.sender.congestion.cwnd = Segments(10); // else the recoveries would leave too little of it
        flow.at(at).writes(6).sent();
        flow.at(at + 80).sack(first - 1, &[first + 1..=first + 1]);
        flow.expires(Timer::Reorder, at + 80 + window + 2);
        flow.state(State::Recovery).sends(&format!("fast {first}"));
        flow.at(at + 200).ack(first + 5).state(State::Open);
    }
}

#[test]
fn no_transmission_is_older_than_the_one_before() {
    // The host's clock goes back by 1 ms after the first nine. Otherwise the tenth would be the oldest, and its timer would fire for
    // ever.
    let mut flow = Script::connected("linux-6", 80);
    flow.writes(10);
    for n in 1..=10 {
        let span = segments(n, n);
        flow.sender.on_sent(Instant::from_millis(if n == 10 { 79 } else { 80 }), Transmission::New(span));
    }
    assert_eq!(flow.sender.board().last().unwrap().sent_at, Instant::from_millis(80));
    assert_eq!(flow.sender.check(), Ok(()));
}
