//! RFC 6675: IsLost, NextSeg, SetPipe, and how a recovery begins and ends.

use super::super::*;
use super::script::Script;
use crate::event::LossDetector;

/// Ten segments of 300 bytes are out, each sent by itself; a full segment has 1000 bytes.
fn small() -> Script {
    let mut flow = Script::small("rfc6675", 80, 300);
    flow.trickles(1, 10);
    flow
}

fn ten() -> Script {
    let mut flow = Script::connected("rfc6675", 80);
    flow.writes(10).sends("1-10");
    flow
}

fn by_threshold(segments: impl IntoIterator<Item = u64>) -> Vec<(u64, LossDetector)> {
    segments.into_iter().map(|n| (n, LossDetector::Threshold)).collect()
}

//= test: RFC 6675 §4 IsLost
#[test]
fn three_runs_sacked_above_make_a_segment_lost() {
    // §4 IsLost: DupThresh discontiguous sequences; 900 bytes alone would not do.
    let mut flow = small();
    flow.at(160).sack(0, &[7..=7, 5..=5, 3..=3]);
    flow.state(State::Recovery).ssthresh(5);
    assert_eq!(flow.marked(), by_threshold([1, 2]));
    // Pipe: 4, 6, 8, 9 and 10, and the retransmission.
    flow.pipe(5).sends("fast 1:300").pipe(6);
}

#[test]
fn two_stretches_sacked_above_do_not() {
    let mut flow = small();
    flow.at(160).sack(0, &[5..=5, 3..=3]).state(State::Disorder);
    flow.sends("nothing").pipe(8);
    assert_eq!(flow.marked(), []);
}

//= test: RFC 6675 §4 IsLost
#[test]
fn more_than_two_full_segments_sacked_above_make_a_segment_lost() {
    // §4 IsLost: more than (DupThresh − 1) · SMSS bytes.
    let mut flow = small();
    flow.at(160).sack(0, &[2..=7]).state(State::Disorder); // 1800 bytes
    flow.sends("nothing");
    assert_eq!(flow.marked(), []);
    flow.at(161).sack(0, &[2..=8]).state(State::Recovery); // 2100 bytes
    assert_eq!(flow.marked(), by_threshold([1]));
    flow.sends("fast 1:300");
}

#[test]
fn exactly_two_full_segments_sacked_above_do_not_make_a_segment_lost() {
    let mut flow = ten();
    flow.at(160).sack(0, &[2..=3]).state(State::Disorder);
    assert_eq!(flow.marked(), []);
    flow.at(161).sack(0, &[2..=4]).state(State::Recovery);
    assert_eq!(flow.marked(), by_threshold([1]));
    flow.sends("fast 1");
}

//= test: RFC 6675 §5 (1)
#[test]
fn the_third_duplicate_ack_begins_recovery_whatever_is_lost() {
    // §5 step (1): DupAcks >= DupThresh, with one stretch of 900 bytes SACKed.
    let mut flow = small();
    flow.at(160).sack(0, &[2..=2]).at(161).sack(0, &[2..=3]);
    flow.state(State::Disorder).sends("nothing");
    flow.at(162).sack(0, &[2..=4]).state(State::Recovery);
    flow.sends("fast 1:300");
}

//= test: RFC 6675 §2
#[test]
fn an_ack_that_advances_with_new_sacks_is_the_first_duplicate() {
    // §2 "duplicate acknowledgment", §5: a cumulative ACK resets DupAcks and, where it SACKs
    // something new, counts as a duplicate all the same.
    let mut flow = small();
    flow.at(160).sack(1, &[3..=3]).sends("nothing");
    flow.at(161).sack(1, &[3..=4]).state(State::Disorder).sends("nothing");
    flow.at(162).sack(1, &[3..=5]).state(State::Recovery).sends("fast 2:300");
}

#[test]
fn a_duplicate_ack_without_new_sack_information_does_not_count() {
    // §2: it must identify octets not SACKed before.
    let mut flow = small();
    flow.at(160).sack(0, &[2..=2]).at(161).sack(0, &[2..=2]);
    flow.at(162).sack(0, &[2..=2]).at(163).sack(0, &[2..=2]);
    flow.state(State::Disorder).sends("nothing");
}

//= test: RFC 6675 §5
#[test]
fn an_ack_that_advances_resets_the_count() {
    let mut flow = small();
    flow.at(160).sack(0, &[3..=3]).at(161).sack(0, &[3..=4]);
    flow.at(162).sack(1, &[3..=4]).at(163).sack(1, &[3..=5]);
    flow.at(164).sack(1, &[3..=6]).state(State::Disorder);
    flow.at(165).sack(1, &[3..=7]).state(State::Recovery);
    flow.sends("fast 2:300");
}

//= test: RFC 6675 §4 NextSeg (1)
//= test: RFC 6675 §4 NextSeg (2)
//= test: RFC 6675 §4 NextSeg (4)
#[test]
fn what_is_lost_goes_before_new_data_and_that_before_the_rescue() {
    // §4 NextSeg (1), (2), (4). Three SACKed make 1 to 4 lost: pipe 3 against a window of 5.
    let mut flow = Script::connected("rfc6675", 80);
    flow.writes(11).sends("1-10");
    flow.at(160).sack(0, &[5..=7]).cwnd(5).pipe(3).sends("fast 1-2");
    assert_eq!(flow.marked(), by_threshold(1..=4));
    flow.at(161).sack(0, &[5..=8]).sends("fast 3");
    flow.at(162).sack(0, &[5..=9]).sends("fast 4");
    flow.at(240).sack(1, &[5..=9]).sends("11");
    // Neither new data nor a hole is left: the highest segment not SACKed, once.
    flow.at(241).sack(2, &[5..=9]).sends("fast 11");
    flow.at(242).sack(3, &[5..=9]).sends("nothing");
    assert_eq!(flow.marked(), by_threshold(1..=4));
}

//= test: RFC 6675 §4 NextSeg (3)
#[test]
fn a_hole_not_marked_lost_is_sent_when_no_new_data_can_be() {
    // §4 NextSeg (3): 8 lies below the highest SACK, with a stretch of two segments above it.
    let mut flow = ten();
    flow.at(160).sack(0, &[5..=7]).sends("fast 1-2");
    flow.at(161).sack(0, &[9..=9, 5..=7]).sends("fast 3");
    flow.at(162).sack(0, &[9..=10, 5..=7]).sends("fast 4");
    flow.at(240).sack(1, &[9..=10, 5..=7]).sends("fast 8");
    assert_eq!(flow.marked(), by_threshold(1..=4));
}

#[test]
fn new_data_is_sent_before_a_hole_not_marked_lost() {
    // §4 NextSeg (2) before (3).
    let mut flow = Script::connected("rfc6675", 80);
    flow.writes(11).sends("1-10");
    flow.at(160).sack(0, &[5..=7]).sends("fast 1-2");
    flow.at(161).sack(0, &[9..=9, 5..=7]).sends("fast 3");
    flow.at(162).sack(0, &[9..=10, 5..=7]).sends("fast 4");
    flow.at(240).sack(1, &[9..=10, 5..=7]).sends("11");
    flow.at(241).sack(2, &[9..=10, 5..=7]).sends("fast 8");
}

//= test: RFC 6675 §4 SetPipe (b)
#[test]
fn a_retransmitted_hole_not_marked_lost_counts_twice_in_the_pipe() {
    // §4 SetPipe: once as not lost, once as at or below HighRxt.
    let mut flow = ten();
    flow.at(160).sack(0, &[5..=7]).sends("fast 1-2");
    flow.at(161).sack(0, &[9..=9, 5..=7]).sends("fast 3");
    flow.at(162).sack(0, &[9..=10, 5..=7]).sends("fast 4").pipe(5);
    // 2, 3 and 4 sent again, 8 in the network: four; sent again, 8 is two of five.
    flow.at(240).sack(1, &[9..=10, 5..=7]).pipe(4).sends("fast 8").pipe(5);
    // The rescue retransmission.
    flow.at(241).sack(7, &[9..=10]).pipe(2).sends("fast 8");
}

//= test: RFC 6675 §4 NextSeg (4)
//= test: RFC 6675 §5 (4.3)
#[test]
fn the_rescue_waits_until_the_first_retransmission_is_acknowledged() {
    // §5 (4.3) sets RescueRxt to the first retransmission's highest sequence "to prevent … a
    // premature rescue"; §4 NextSeg (4) needs HighACK above it. Segments 1 and 10 are lost.
    let mut flow = ten();
    flow.at(160).sack(0, &[2..=9]).cwnd(5).sends("fast 1").pipe(2);
    flow.at(161).sack(0, &[2..=9]).sends("nothing");
    flow.at(240).ack(9).state(State::Recovery).sends("fast 10");
}

//= test: RFC 6675 §4 NextSeg (4)
#[test]
fn one_segment_is_rescued_per_recovery() {
    let mut flow = ten();
    flow.at(160).sack(0, &[2..=8]).sends("fast 1");
    flow.at(240).ack(8).state(State::Recovery).sends("fast 10");
    // §4 NextSeg (4): RescueRxt is the recovery point now.
    flow.at(320).sack(8, &[10..=10]).state(State::Recovery).sends("fast 9");
    flow.at(400).ack(10).state(State::Open).cwnd(5);
}

#[test]
fn without_rescue_the_tail_waits_for_the_timer() {
    let mut flow = Script::connected("rfc6675+holes", 80);
    flow.writes(10).sends("1-10");
    flow.at(160).sack(0, &[2..=9]).sends("fast 1");
    flow.at(240).ack(9).state(State::Recovery).sends("nothing");
    flow.expires(Timer::Rto, 1240).sends("rto 10");
}

//= test: RFC 6675 §5 (A)
#[test]
fn recovery_ends_once_all_data_outstanding_at_its_start_is_acknowledged() {
    // §5 (A): HighACK at RecoveryPoint, which new data of the recovery does not move.
    let mut flow = Script::connected("rfc6675", 80);
    flow.writes(30).sends("1-10");
    flow.at(160).sack(0, &[2..=4]).ssthresh(5).sends("fast 1");
    flow.at(161).sack(0, &[2..=8]).pipe(3).sends("11-12");
    flow.at(240).ack(9).state(State::Recovery).sends("13-14");
    flow.at(241).ack(10).state(State::Open).cwnd(5).sends("15");
}

//= test: RFC 6675 §5 (3)
#[test]
fn limited_transmit_sends_as_the_pipe_has_room() {
    // §5 step (3).
    let mut flow = Script::connected("rfc6675", 80);
    flow.writes(30).sends("1-10");
    flow.at(160).sack(0, &[2..=2]).sends("11").cwnd(10);
    flow.at(161).sack(0, &[2..=3]).sends("12").cwnd(10);
    // Step (4.2) with RFC 5681 §3.1: the two do not count.
    flow.at(162).sack(0, &[2..=4]).ssthresh(5).sends("fast 1");
}

//= test: RFC 6675 §5.1
#[test]
fn sacks_after_a_timeout_begin_no_recovery_below_what_was_sent() {
    // §5.1: no new recovery until HighACK is at the recovery point.
    let mut flow = ten();
    flow.at(160).sack(0, &[5..=7]).sends("fast 1-2");
    flow.expires(Timer::Rto, 1160).state(State::Loss).sends("rto 1");
    flow.at(1240).sack(1, &[5..=7]).cwnd(2).sends("slow_start 2-3");
    flow.at(1320).sack(1, &[8..=10, 5..=7]).state(State::Loss);
    flow.sends("nothing");
    assert_eq!(flow.sender.counters().recoveries, 1);
}

#[test]
fn a_timeout_in_recovery_reduces_ssthresh_to_half_of_the_flight() {
    // RFC 5681 §3.1 equation 4: the timer did not send the segment before, so ssthresh is set to
    // max(FlightSize/2, 2·SMSS), here of 6 outstanding.
    let mut flow = ten();
    flow.at(160).sack(0, &[2..=4]).ssthresh(5).sends("fast 1");
    flow.at(240).ack(4).state(State::Recovery).sends("nothing");
    flow.expires(Timer::Rto, 1240).ssthresh(3).sends("rto 5");
}
