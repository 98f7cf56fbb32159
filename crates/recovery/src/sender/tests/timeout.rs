//! The retransmission timeout, RTO restart, giving up.

use super::super::*;
use super::script::{MSS, Script, segments};
use crate::ack::Ack;
use crate::event::LossDetector;

//= test: RFC 6298 §5.5
#[test]
fn each_timeout_doubles_the_rto() {
    let mut flow = Script::connected("linux-3.17", 80);
    flow.writes(3).sends("1-3").rto(280);
    for (expiry, next) in [(360, 560), (920, 1120), (2040, 2240), (4280, 4480)] {
        flow.expires(Timer::Rto, expiry).sends("rto 1");
        flow.rto(next).timer(Timer::Rto, expiry + next);
    }
}

/// RFC 6069 §4, Linux `tcp_ld_RTO_revert`.
#[test]
fn an_unreachable_path_takes_back_a_doubling() {
    let mut flow = Script::connected("linux-3.17", 80);
    let undo = |flow: &mut Script, ms| flow.sender.undo_backoff(Instant::from_millis(ms));
    flow.writes(3).sends("1-3").rto(280);
    undo(&mut flow, 80); // there was no timeout
    flow.rto(280).timer(Timer::Rto, 360);
    flow.expires(Timer::Rto, 360).sends("rto 1").rto(560).timer(Timer::Rto, 920);
    undo(&mut flow, 400);
    flow.rto(280).timer(Timer::Rto, 640);
    undo(&mut flow, 410); // nothing is left to take back
    flow.rto(280).timer(Timer::Rto, 640);
    flow.expires(Timer::Rto, 640).sends("rto 1").rto(560).timer(Timer::Rto, 1200);
    // The shorter timeout has passed: it is due at once, and doubles the RTO again.
    undo(&mut flow, 1000);
    flow.expires(Timer::Rto, 1000).sends("rto 1").rto(560);
    // New data is acknowledged: the next timeouts are others.
    flow.at(1010).ack(1).sent();
    undo(&mut flow, 1020);
    assert_eq!(flow.sender.timeouts(), 0);
}

//= test: RFC 6298 §5.4
//= test: RFC 5681 §3.1
//= test: RFC 6675 §5.1
#[test]
fn the_window_falls_to_one_segment_and_everything_not_sacked_is_lost() {
    let mut flow = Script::connected("linux-3.17", 80);
    flow.writes(6).sends("1-6");
    flow.at(160).sack(0, &[3..=3]);
    flow.expires(Timer::Rto, 360).state(State::Loss).cwnd(1).ssthresh(7).pipe(0);
    assert_eq!(flow.marked(), [1, 2, 4, 5, 6].map(|n| (n, LossDetector::Timeout)));
    flow.sends("rto 1").pipe(1);
    flow.at(440).sack(1, &[3..=3]).sends("slow_start 2, slow_start 4");
    flow.at(520).ack(4).sends("slow_start 5-6").state(State::Loss);
    flow.at(600).ack(6).state(State::Open).no_timer(Timer::Rto);
}

#[test]
fn only_the_segment_the_timer_sends_is_called_rto() {
    let mut flow = Script::connected("linux-3.17", 80);
    flow.writes(10).sends("1-10");
    flow.expires(Timer::Rto, 360).sends("rto 1");
    flow.at(440).ack(1).cwnd(2).sends("slow_start 2-3");
    flow.at(520).ack(3).cwnd(4).sends("slow_start 4-7");
    // Slow start ends at ssthresh.
    flow.at(600).ack(7).cwnd(7).sends("slow_start 8-10").state(State::Loss);
    flow.at(680).ack(10).cwnd(7).state(State::Open);
}

#[test]
fn new_data_follows_the_last_retransmission() {
    let mut flow = Script::connected("linux-3.17+nofrto", 80);
    flow.writes(20).sends("1-10");
    flow.expires(Timer::Rto, 360).sends("rto 1");
    flow.at(440).ack(10).state(State::Open).sends("11-17").cwnd(7);
}

//= test: RFC 5681 §3.1
#[test]
fn repeated_timeouts_of_one_segment_reduce_ssthresh_once() {
    // RFC 5681 §3.1: held constant when the same segment times out again.
    let mut flow = Script::connected("linux-3.17", 80);
    flow.writes(10).sends("1-10");
    flow.expires(Timer::Rto, 360).ssthresh(7).sends("rto 1");
    flow.expires(Timer::Rto, 920).ssthresh(7).sends("rto 1");
    flow.expires(Timer::Rto, 2040).ssthresh(7).sends("rto 1");
    // After progress the next timeout tells of another loss.
    flow.at(2120).ack(1).cwnd(2).sends("slow_start 2-3");
    flow.expires(Timer::Rto, 2120 + 2240).ssthresh(2).sends("rto 2");
}

#[test]
fn a_timeout_in_recovery_reduces_ssthresh_no_further() {
    let mut flow = Script::connected("linux-3.17", 80);
    flow.writes(10).sends("1-10");
    flow.at(160).sack(0, &[4..=4]).sends("fast 1").ssthresh(7);
    flow.expires(Timer::Rto, 440).ssthresh(7).cwnd(1).sends("rto 1");
}

//= test: RFC 6298 §3
#[test]
fn an_ack_of_a_retransmission_measures_nothing() {
    // Karn's rule: the backed-off RTO stays until a segment sent once is acknowledged.
    let mut flow = Script::connected("linux-3.17", 80);
    flow.writes(3).sends("1-3").expires(Timer::Rto, 360).sends("rto 1");
    flow.at(440).ack(1).rto(560).timer(Timer::Rto, 440 + 560).sends("slow_start 2-3");
    flow.at(520).ack(3).rto(560).writes(1).sends("4").timer(Timer::Rto, 520 + 560);
    flow.at(600).ack(4).rto(280);
}

//= test: RFC 6298 §3
#[test]
fn a_timestamp_measures_what_karn_cannot() {
    let mut flow = Script::connected("linux-3.17", 80);
    flow.writes(3).sends("1-3").expires(Timer::Rto, 360).sends("rto 1");
    let mut stamped = Ack::new(segments(1, 1).end, 1 << 20);
    stamped.timestamp_rtt = Some(Duration::from_millis(80));
    flow.at(440).takes(stamped).rto(280).timer(Timer::Rto, 440 + 280).sends("slow_start 2-3");
}

//= test: RFC 6298 §5.3
#[test]
fn an_ack_of_new_data_restarts_the_timer_and_a_duplicate_does_not() {
    let mut flow = Script::connected("linux-3.17", 80);
    flow.writes(10).sends("1-10").timer(Timer::Rto, 360);
    flow.at(160).ack(1).timer(Timer::Rto, 440);
    flow.at(170).ack(1).timer(Timer::Rto, 440);
    flow.at(171).sack(1, &[3..=3]).timer(Timer::Rto, 440);
    flow.at(172).ack(10).no_timer(Timer::Rto);
}

#[test]
fn rto_restart_counts_from_the_transmission_of_the_earliest_segment() {
    let mut flow = Script::connected("linux-3.17+rtor", 80);
    flow.writes(10).sends("1-10");
    flow.at(160).ack(6).timer(Timer::Rto, 160 + 280); // four are out
    flow.at(160).ack(7).timer(Timer::Rto, 80 + 280); // three
    flow.at(160).ack(9).timer(Timer::Rto, 80 + 280);
    flow.expires(Timer::Rto, 360).sends("rto 10");
}

#[test]
fn rto_restart_counts_unsent_data_as_rfc_7765_alone_does() {
    // The paper counts outstanding segments (§2.1), the RFC unsent ones too (§4).
    for (mechanism, with_two_unsent) in [("rtor", 80 + 280), ("rtorrfc", 160 + 280)] {
        let mut flow = Script::connected_with(&format!("linux-3.17+{mechanism}"), 80, 10 * MSS);
        flow.writes(12).sends("1-10");
        // The peer's window stays where it was: 2 outstanding and 2 unsent, then 1 and 2.
        flow.at(160).window(2 * MSS).ack(8).timer(Timer::Rto, with_two_unsent);
        flow.at(160).window(MSS).ack(9).timer(Timer::Rto, 80 + 280);
    }
}

#[test]
fn rto_restart_uses_the_full_rto_if_none_of_it_is_left() {
    let mut flow = Script::connected("linux-3.17+rtor", 80);
    flow.writes(3).sends("1-3");
    flow.at(160).sack(0, &[2..=2]).expires(Timer::Early, 180).sends("early 1");
    // Segment 3 left 320 ms before: RTO − T_earliest is negative (RFC 7765 §4 (3b)).
    flow.at(400).ack(2).timer(Timer::Rto, 400 + 280);
}

#[test]
fn rto_restart_counts_from_a_retransmission_if_there_was_one() {
    let mut flow = Script::connected("linux-3.17+rtor", 80);
    flow.writes(3).sends("1-3");
    flow.at(160).sack(0, &[3..=3]).expires(Timer::Early, 180).sends("early 1-2");
    flow.at(260).sack(1, &[3..=3]).timer(Timer::Rto, 180 + 280);
}

#[test]
fn reneging_is_handled_like_a_timeout() {
    let mut flow = Script::connected("linux-3.17", 80);
    flow.writes(10).sends("1-10");
    flow.at(160).sack(0, &[2..=3]).state(State::Disorder);
    // The ACK that stops at what was SACKed: the timer decides after SRTT/2.
    flow.ack(1).state(State::Disorder).sends("nothing");
    flow.expires(Timer::Rto, 160 + 40).state(State::Loss).cwnd(1).pipe(0).sends("rto 2");
    assert_eq!(flow.count(Event::Reneged), 1);
    assert_eq!(flow.marked(), (2..=10).map(|n| (n, LossDetector::Timeout)).collect::<Vec<_>>());
    flow.at(280).ack(10).state(State::Open);
}

#[test]
fn in_linux_6_the_timer_that_decides_about_reneging_takes_the_place_of_the_reordering_timer() {
    // tcp_check_sack_reneging clears FLAG_SET_XMIT_TIMER.
    let mut flow = Script::connected("linux-6", 80);
    flow.writes(10).sends("1-10");
    flow.at(160).sack(0, &[2..=3]).timer(Timer::Reorder, 182);
    flow.ack(1).no_timer(Timer::Reorder);
    flow.expires(Timer::Rto, 160 + 40).state(State::Loss).sends("rto 2");
    assert_eq!(flow.count(Event::Reneged), 1);
}

#[test]
fn a_stopped_timer_does_nothing() {
    let mut flow = Script::connected("linux-3.17+tlp", 80);
    flow.writes(3).sends("1-3").at(160).ack(3);
    for timer in Timer::ALL {
        flow.sender.on_timer(Instant::from_millis(200), timer);
    }
    flow.at(200).state(State::Open).cwnd(10).sends("nothing");
    assert!(!flow.sender.gave_up());
}

/// Fires timers, sending what they ask for, until the sender gives up; when it did, in ms.
fn gives_up_at(flow: &mut Script) -> f64 {
    while let Some((at, timer)) = flow.sender.next_timer() {
        flow.sender.on_timer(at, timer);
        while let Some(what) = flow.sender.next_send(at) {
            flow.sender.on_sent(at, what);
        }
        flow.sender.check().unwrap();
        if flow.sender.gave_up() {
            return at.as_millis_f64();
        }
    }
    panic!("no timer left");
}

#[test]
fn data_unacknowledged_for_the_user_timeout_ends_it() {
    let mut flow = Script::connected("linux-3.17", 80);
    flow.writes(3).sends("1-3").at(160).ack(1);
    assert_eq!(gives_up_at(&mut flow), 300_160.0);
    assert_eq!(flow.sender.next_send(Instant::from_millis(400_000)), None);
    assert_eq!(flow.sender.next_timer(), None);
}

#[test]
fn the_user_timeout_counts_from_the_first_data_after_silence() {
    let mut flow = Script::connected("linux-3.17", 80);
    flow.writes(1).sends("1").at(160).ack(1).no_timer(Timer::User);
    flow.at(1_000_000).writes(1).sends("2").timer(Timer::User, 1_300_000);
}

#[test]
fn the_user_timeout_is_rounded_up_to_a_millisecond_and_may_be_infinite() {
    let mut flow = Script::connected("linux-3.17", 80);
    flow.sender.set_user_timeout(Duration::from_nanos(1));
    flow.at(1000).writes(1).sends("1").timer(Timer::User, 1001);
    flow.sender.set_user_timeout(Duration::MAX);
    flow.no_timer(Timer::User);
}

#[test]
fn a_fin_that_rides_on_the_last_data_is_no_segment_of_its_own() {
    // Two outstanding, one unsent with the FIN on it: three, and the restart is active.
    let mut flow = Script::connected_with("linux-3.17+rtorrfc", 80, 3 * MSS);
    flow.writes(4).closes().sends("1-3");
    flow.at(160).window(2 * MSS).ack(1).timer(Timer::Rto, 80 + 280);
}
