//! Tail loss probe and its restart. With an RTT of 200 ms the RTO is 600 ms, equation 1 gives
//! 400 ms, equation 2 gives 500 ms.

use super::super::*;
use super::script::{MSS, Script, segments};
use crate::ack::Ack;

/// Ten segments left at 200 ms, the first `acked` are acknowledged at 400 ms.
fn tail(profile: &str, acked: u64) -> Script {
    let mut flow = Script::connected(profile, 200);
    flow.writes(10).sends("1-10").at(400).ack(acked);
    flow
}

#[test]
fn with_several_outstanding_equation_one_counts_from_the_last_send_or_ack() {
    let mut flow = Script::connected("linux-3.17+tlp", 200);
    flow.writes(5).sends("1-5").timer(Timer::Probe, 200 + 400);
    flow.at(210).writes(5).sends("6-10").timer(Timer::Probe, 210 + 400);
    flow.at(400).ack(5).timer(Timer::Probe, 400 + 400);
    flow.at(410).ack(8).timer(Timer::Probe, 410 + 400);
}

#[test]
fn with_one_outstanding_equation_two_allows_for_a_delayed_ack() {
    tail("linux-3.17+tlp", 9).timer(Timer::Probe, 400 + 500);
}

#[test]
fn on_short_paths_the_probe_waits_ten_milliseconds_at_least() {
    let mut flow = Script::connected("linux-3.17+tlp", 2);
    flow.writes(5).sends("1-5").timer(Timer::Probe, 2 + 10);
}

#[test]
fn the_probe_repeats_the_last_segment_and_the_rto_starts_in_full() {
    let mut flow = tail("linux-3.17+tlp", 7);
    flow.expires(Timer::Probe, 800).sends("tlp 10");
    flow.state(State::Open).cwnd(17).pipe(3).timer(Timer::Rto, 800 + 600).rto(600);
}

#[test]
fn a_probe_due_at_the_rto_replaces_the_timeout() {
    // RTT 80: equation 2 asks 320 ms, the RTO is 280 ms.
    let mut flow = Script::connected("linux-3.17+tlp", 80);
    flow.writes(10).sends("1-10").at(160).ack(9);
    flow.timer(Timer::Probe, 160 + 280).timer(Timer::Rto, 160 + 280);
    flow.expires(Timer::Probe, 440).sends("tlp 10").state(State::Open);
    flow.expires(Timer::Rto, 440 + 280).sends("rto 10").state(State::Loss);
}

//= test: RFC 8985 §7.3
#[test]
fn a_tail_is_probed_once() {
    let mut flow = tail("linux-3.17+tlp", 9);
    flow.expires(Timer::Probe, 900).sends("tlp 10").no_timer(Timer::Probe);
    flow.expires(Timer::Rto, 1500).sends("rto 10").no_timer(Timer::Probe);
}

#[test]
fn new_data_is_the_probe_even_if_the_window_is_full() {
    let mut flow = Script::connected("linux-3.17+tlp", 200);
    flow.writes(20).sends("1-10").pipe(10).cwnd(10);
    flow.expires(Timer::Probe, 600).sends("probe 11").pipe(11).state(State::Open);
    flow.timer(Timer::Rto, 600 + 600).no_timer(Timer::Probe);
}

#[test]
fn the_receive_window_binds_the_probe() {
    let mut flow = Script::connected_with("linux-3.17+tlp", 200, 10 * MSS);
    flow.writes(20).sends("1-10");
    flow.expires(Timer::Probe, 600).sends("tlp 10");
}

#[test]
fn a_bare_fin_is_probed() {
    let mut flow = Script::connected("linux-3.17+tlp", 200);
    flow.writes(5).sends("1-5").closes().sends("FIN").at(400).ack(5);
    flow.expires(Timer::Probe, 900).sends("tlp FIN");
}

#[test]
fn no_probe_in_disorder_or_recovery() {
    let mut flow = tail("linux-3.17+tlp", 4);
    flow.at(401).sack(4, &[6..=6]).state(State::Disorder).no_timer(Timer::Probe);
    flow.at(402).sack(4, &[6..=8]).state(State::Recovery).sends("fast 5").no_timer(Timer::Probe);
    flow.at(403).sack(4, &[6..=9]).no_timer(Timer::Probe);
}

#[test]
fn no_probe_after_a_timeout_until_recovery_from_it() {
    let mut flow = tail("linux-3.17+tlp", 7);
    flow.expires(Timer::Probe, 800).sends("tlp 10");
    flow.expires(Timer::Rto, 1400).sends("rto 8").no_timer(Timer::Probe);
    flow.at(1600).ack(8).sends("slow_start 9-10").no_timer(Timer::Probe);
    flow.at(1800).ack(10).writes(2).sends("11-12").state(State::Open);
    assert!(flow.sender.deadline(Timer::Probe).is_some());
}

#[test]
fn no_probe_while_the_window_has_room_and_data_waits() {
    // The peer's window holds the data back.
    let mut flow = Script::connected_with("linux-3.17+tlp", 200, 5 * MSS);
    flow.writes(20).sends("1-5").no_timer(Timer::Probe);
}

#[test]
fn no_probe_of_the_syn() {
    let mut flow = Script::new("linux-3.17+tlp");
    flow.sends("SYN").no_timer(Timer::Probe);
}

#[test]
fn the_probes_sack_starts_early_retransmit() {
    // Segments 9 and 10 are lost; the probe repairs 10 and shows the hole at 9.
    let mut flow = tail("linux-3.17+tlp", 8);
    flow.expires(Timer::Probe, 800).sends("tlp 10");
    flow.at(1000).sack(8, &[10..=10]).state(State::Disorder);
    flow.expires(Timer::Early, 1050).sends("early 9");
    flow.at(1250).ack(10).state(State::Open).cwnd(12).ssthresh(12); // ⌊18·0.7⌋
    // Recovery has answered the loss: the probe's episode asks for no second reduction.
    flow.writes(3).sends("11-13").at(1450).ack(13).ssthresh(12);
    assert_eq!(flow.count(Event::ProbeRepairedLoss), 0);
}

#[test]
fn the_probes_sack_starts_fack() {
    let mut flow = tail("linux-3.17+tlp", 6);
    flow.expires(Timer::Probe, 800).sends("tlp 10");
    flow.at(1000).sack(6, &[10..=10]).state(State::Recovery).sends("fast 7-8");
}

#[test]
fn a_probe_that_repaired_a_loss_costs_one_reduction() {
    let mut flow = tail("linux-3.17+tlp", 9);
    flow.expires(Timer::Probe, 900).sends("tlp 10");
    // The ACK of the probe leaves it open which copy arrived; the next one, beyond, decides.
    flow.at(1100).ack(10).cwnd(20).state(State::Open).writes(3).sends("11-13");
    assert_eq!(flow.count(Event::ProbeRepairedLoss), 0);
    flow.at(1300).ack(11).cwnd(14).ssthresh(14).state(State::Open);
    flow.at(1301).ack(12).at(1302).ack(13).cwnd(14);
    assert_eq!(flow.count(Event::ProbeRepairedLoss), 1);
}

#[test]
fn a_reported_duplicate_shows_the_probe_was_not_needed() {
    let mut flow = tail("linux-3.17+tlp", 9);
    flow.expires(Timer::Probe, 900).sends("tlp 10");
    flow.at(950).ack(10); // the original's, late
    flow.at(1100).sack(10, &[10..=10]).writes(3).sends("11-13");
    flow.at(1300).ack(13).cwnd(20);
    assert_eq!(flow.count(Event::ProbeRepairedLoss), 0);
}

#[test]
fn a_duplicate_ack_shows_the_probe_was_not_needed_without_dsack_too() {
    let mut flow = tail("linux-3.17+tlp", 9);
    flow.expires(Timer::Probe, 900).sends("tlp 10");
    flow.at(950).ack(10).at(1100).ack(10).writes(3).sends("11-13");
    flow.at(1300).ack(13).cwnd(20);
    assert_eq!(flow.count(Event::ProbeRepairedLoss), 0);
}

#[test]
fn a_duplicate_reported_with_the_ack_beyond_the_probe_avoids_a_reduction() {
    let mut flow = tail("linux-3.17+tlp", 9);
    flow.expires(Timer::Probe, 900).sends("tlp 10");
    flow.at(950).ack(10).writes(3).sends("11-13");
    flow.at(1150).sack(13, &[10..=10]).cwnd(20);
    assert_eq!(flow.count(Event::ProbeRepairedLoss), 0);
}

#[test]
fn a_window_update_is_no_duplicate_ack() {
    let mut flow = tail("linux-3.17+tlp", 9);
    flow.expires(Timer::Probe, 900).sends("tlp 10").at(1100).ack(10);
    flow.at(1101).window(1 << 21).ack(10).writes(3).sends("11-13");
    flow.at(1300).ack(13);
    assert_eq!(flow.count(Event::ProbeRepairedLoss), 1);
}

#[test]
fn a_data_segment_is_no_duplicate_ack() {
    let mut flow = tail("linux-3.17+tlp", 9);
    flow.expires(Timer::Probe, 900).sends("tlp 10").at(1100).ack(10);
    let mut data = Ack::new(segments(1, 10).end, 1 << 20);
    data.carries_data = true;
    flow.at(1101).takes(data).writes(3).sends("11-13").at(1300).ack(13);
    assert_eq!(flow.count(Event::ProbeRepairedLoss), 1);
}

#[test]
fn with_restart_the_probe_counts_from_the_last_transmission() {
    tail("linux-3.17+tlpr", 5).timer(Timer::Probe, 200 + 400);
    tail("linux-3.17+tlpr", 9).timer(Timer::Probe, 200 + 500);
    let mut flow = tail("linux-3.17+tlpr", 9);
    flow.expires(Timer::Probe, 700).sends("tlp 10").timer(Timer::Rto, 700 + 600);
}

#[test]
fn with_restart_the_rto_caps_the_probe_timeout_before_t_last_is_taken_off() {
    // RTT 80: min(320, 280) − 80 ms.
    let mut flow = Script::connected("linux-3.17+tlpr", 80);
    flow.writes(10).sends("1-10").at(160).ack(9).timer(Timer::Probe, 80 + 280);
}

#[test]
fn with_restart_a_probe_overdue_goes_at_once() {
    let mut flow = Script::connected("linux-3.17+tlpr", 200);
    flow.writes(10).sends("1-10");
    flow.at(400).sack(0, &[2..=2]).no_timer(Timer::Probe);
    // Late by 300 ms: SRTT is 237.5 ms, so the probe of what left at 200 ms was due at 675 ms.
    flow.at(700).ack(8).state(State::Open).expires(Timer::Probe, 700).sends("tlp 10");
}

#[test]
fn with_a_full_restart_a_probe_overdue_waits_for_a_full_probe_timeout() {
    let mut flow = Script::connected("linux-3.17+tlprfull", 200);
    flow.writes(10).sends("1-10");
    flow.at(400).sack(0, &[2..=2]).no_timer(Timer::Probe);
    // As above, the probe was due at 675 ms. Two segments are out: 2 * 237.5 ms from the ACK.
    flow.at(700).ack(8).state(State::Open).timer(Timer::Probe, 700 + 475);
}

#[test]
fn with_a_full_restart_a_probe_that_is_not_overdue_counts_from_the_last_transmission() {
    tail("linux-3.17+tlprfull", 5).timer(Timer::Probe, 200 + 400);
    tail("linux-3.17+tlprfull", 9).timer(Timer::Probe, 200 + 500);
}

#[test]
fn restart_of_both_timers_keeps_the_probe_first() {
    let mut flow = tail("linux-3.17+rtor+tlpr", 9);
    flow.timer(Timer::Rto, 200 + 600).expires(Timer::Probe, 700).sends("tlp 10");
}

#[test]
fn without_sack_there_is_no_probe() {
    let mut flow = Script::connected("linux-3.17+tlp", 80);
    flow.sender.mechanisms.sack = Sack::Refused;
    flow.writes(3).sends("1-3").no_timer(Timer::Probe);
}
