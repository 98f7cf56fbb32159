//! NewReno: recovery without SACK (RFC 6582, RFC 5681 §3.2, RFC 3042).

use super::super::*;
use super::script::Script;

/// `n` duplicate ACKs of everything through segment `acked`, a millisecond apart, each of which
/// releases nothing.
fn duplicates(flow: &mut Script, from: u64, n: u64, acked: u64) {
    for i in 0..n {
        flow.at(from + i).ack(acked).sends("nothing");
    }
}

//= test: RFC 5681 §3.2
//= test: RFC 5681 §3.2 step 3
#[test]
fn the_third_duplicate_ack_sends_the_first_segment_again() {
    // RFC 5681 §3.2 steps 1 and 2: ssthresh = FlightSize/2.
    let mut flow = Script::connected("reno", 80);
    flow.writes(10).sends("1-10");
    flow.at(160).ack(0).state(State::Disorder).sends("nothing");
    flow.at(161).ack(0).cwnd(10).sends("nothing");
    flow.at(162).ack(0).state(State::Recovery).ssthresh(5);
    flow.sends("fast 1");
}

//= test: RFC 5681 §3.2 step 2
#[test]
fn limited_transmit_segments_do_not_count_for_ssthresh() {
    // RFC 5681 §3.2 step 2: what limited transmit sent must not be counted in FlightSize.
    let mut flow = Script::connected("reno", 80);
    flow.writes(20).sends("1-10");
    flow.at(160).ack(0).sends("11");
    flow.at(161).ack(0).sends("12");
    flow.at(162).ack(0).ssthresh(5).sends("fast 1");
}

//= test: RFC 5681 §3.2 step 4
#[test]
fn duplicate_acks_inflate_the_window_by_a_segment_each() {
    // RFC 5681 §3.2 steps 3 and 4: cwnd = 5 + 3 at the third duplicate with 12 outstanding, so that
    // five more bring it to 13 and release one, and one each from then on.
    let mut flow = Script::connected("reno", 80);
    flow.writes(20).sends("1-10");
    flow.at(160).ack(0).sends("11").at(161).ack(0).sends("12");
    flow.at(162).ack(0).sends("fast 1");
    duplicates(&mut flow, 163, 4, 0);
    flow.at(167).ack(0).sends("13");
    flow.at(168).ack(0).sends("14");
    flow.at(240).ack(0).sends("15");
    flow.at(241).ack(0).sends("16");
    // A full ACK (RFC 6582 §3.2 step 3) deflates it to ssthresh: four outstanding, one goes.
    flow.at(242).ack(12).state(State::Open).cwnd(5).sends("17");
}

//= test: RFC 5681 §3.2 step 6
#[test]
fn a_partial_ack_sends_the_next_hole_and_deflates_the_window() {
    // RFC 6582 §3.2 step 3. Segments 1 and 5 are lost. The window is 13 with 13 outstanding when the
    // partial ACK takes off the four it acknowledges and adds one back: 10, with 9 outstanding.
    let mut flow = Script::connected("reno+nolt", 80);
    flow.writes(30).sends("1-10");
    duplicates(&mut flow, 160, 2, 0);
    flow.at(162).ack(0).sends("fast 1");
    duplicates(&mut flow, 163, 2, 0);
    flow.at(165).ack(0).sends("11");
    flow.at(166).ack(0).sends("12");
    flow.at(167).ack(0).sends("13");
    flow.at(242).ack(4).state(State::Recovery).ssthresh(5);
    flow.sends("fast 5, 14");
    flow.at(245).ack(4).sends("15");
    flow.at(246).ack(4).sends("16");
    flow.at(247).ack(4).sends("17");
    // Everything up to the recovery point (10) and what arrived above it.
    flow.at(322).ack(13).state(State::Open).cwnd(5).sends("18");
}

#[test]
fn each_partial_ack_repairs_one_loss() {
    // RFC 6582 §3.2: one retransmission a round trip. Segments 1, 3 and 5 of ten are lost.
    let mut flow = Script::connected("reno", 80);
    flow.writes(10).sends("1-10");
    duplicates(&mut flow, 160, 2, 0);
    flow.at(162).ack(0).sends("fast 1");
    duplicates(&mut flow, 163, 4, 0);
    flow.at(242).ack(2).sends("fast 3").state(State::Recovery);
    flow.at(322).ack(4).sends("fast 5").state(State::Recovery);
    flow.at(402).ack(10).state(State::Open).cwnd(5).ssthresh(5);
}

#[test]
fn a_partial_ack_restarts_the_retransmission_timer() {
    // RFC 6582 §3.2 step 3, RFC 6298 §5.3; at every partial ACK: the slow-but-steady variant of
    // RFC 6582 §4.
    let mut flow = Script::connected("reno", 80);
    flow.writes(10).sends("1-10").timer(Timer::Rto, 1080);
    duplicates(&mut flow, 160, 2, 0);
    flow.at(162).ack(0).sends("fast 1");
    duplicates(&mut flow, 163, 4, 0);
    flow.at(242).ack(2).sends("fast 3").timer(Timer::Rto, 1242);
    flow.at(322).ack(4).sends("fast 5").timer(Timer::Rto, 1322);
}

/// A recovery of segment 1 in a flight of ten, left by an ACK of exactly the recovery point, and
/// five segments more.
fn left_at_the_recovery_point(profile: &str) -> Script {
    let mut flow = Script::without_sack(profile, 80);
    flow.writes(10).sends("1-10");
    duplicates(&mut flow, 160, 2, 0);
    flow.at(162).ack(0).sends("fast 1");
    duplicates(&mut flow, 163, 6, 0);
    flow.at(242).ack(10).writes(5).sends("11-15");
    flow
}

#[test]
fn duplicate_acks_of_the_recovery_point_begin_no_recovery() {
    // RFC 6582 §3.2 step 2: only if the ACK covers more than recover. Linux 3.17
    // tcp_try_undo_recovery: without SACK the state is held until an ACK above high_seq.
    for profile in ["reno", "linux-3.17+reno", "linux-6+reno+notlp"] {
        let mut flow = left_at_the_recovery_point(profile);
        duplicates(&mut flow, 322, 4, 10);
        flow.ssthresh(5);
        assert_eq!(flow.sender.counters().recoveries, 1, "{profile}");
    }
}

#[test]
fn duplicate_acks_beyond_the_recovery_point_begin_another() {
    let mut flow = left_at_the_recovery_point("reno");
    flow.at(322).ack(11).sends("nothing");
    duplicates(&mut flow, 323, 2, 11);
    flow.at(325).ack(11).state(State::Recovery).sends("fast 12");
}

#[test]
fn duplicate_acks_after_a_timeout_begin_no_recovery_below_what_was_sent() {
    // RFC 6582 §3.2 step 4: recover = the highest sequence sent; they may be of the copies.
    let mut flow = Script::connected("reno", 80);
    flow.writes(14).sends("1-10");
    flow.expires(Timer::Rto, 1080).ssthresh(5).sends("rto 1");
    flow.at(1160).ack(1).sends("slow_start 2-3");
    flow.at(1240).ack(2).sends("slow_start 4-5");
    flow.at(1320).ack(3).sends("slow_start 6-7");
    flow.at(1400).ack(10).state(State::Open).sends("11-14");
    duplicates(&mut flow, 1480, 3, 10);
    assert_eq!(flow.sender.counters().recoveries, 0);
}

#[test]
fn duplicate_acks_in_loss_begin_no_recovery() {
    let mut flow = Script::connected("reno", 80);
    flow.writes(10).sends("1-10");
    flow.expires(Timer::Rto, 1080).sends("rto 1");
    flow.at(1160).ack(1).cwnd(2).sends("slow_start 2-3");
    for i in 0..5 {
        flow.at(1161 + i).ack(1).state(State::Loss).sends("nothing");
    }
}

#[test]
fn a_late_segment_after_two_duplicate_acks_is_no_loss() {
    // RFC 3042 §2, and Linux tcp_remove_reno_sacks: of three segments acknowledged the two
    // duplicates reported two, so that the window grows by one.
    let mut flow = Script::without_sack("linux-6+notlp", 80);
    flow.writes(15).sends("1-10");
    flow.at(160).ack(0).sends("11").at(161).ack(0).sends("12");
    flow.at(162).ack(3).state(State::Open).cwnd(11).sends("13-14");
}

//= test: RFC 9937 §6.2
#[test]
fn prr_counts_duplicate_acks_as_deliveries() {
    // Linux 6.12 tcp_add_reno_sack, RFC 9937 §6.2. ssthresh = ⌊10·0.7⌋ and
    // sndcnt = ⌈7·delivered/10⌉ − out while more than seven are in flight.
    let mut flow = Script::without_sack("linux-6+notlp", 80);
    flow.writes(30).sends("1-10");
    flow.at(160).ack(0).sends("11").at(161).ack(0).sends("12");
    flow.at(162).ack(0).ssthresh(7).pipe(8).cwnd(9).sends("fast 1");
    flow.at(163).ack(0).sends("13"); // ⌈1.4⌉ − 1
    flow.at(164).ack(0).sends("14"); // ⌈2.1⌉ − 2
    flow.at(165).ack(0).sends("nothing").pipe(8); // ⌈2.8⌉ − 3
    flow.at(166).ack(0).sends("nothing").pipe(7); // the pipe is ssthresh
    flow.at(167).ack(0).sends("15").pipe(7);
}
