//! The senders of the 2007 loss detection study (its Table I).

use super::super::*;
use super::script::Script;

const SENDERS: [&str; 4] = ["linux-2.4", "windows-xp", "solaris-10", "freebsd-5"];

#[test]
fn a_lost_syn_waits_for_the_initial_rto_and_then_twice() {
    for (profile, initial) in SENDERS.into_iter().zip([3000, 3000, 3375, 3000]) {
        let mut flow = Script::new(profile);
        flow.sends("SYN").rto(initial);
        flow.expires(Timer::Rto, initial).sends("syn SYN");
        flow.timer(Timer::Rto, 3 * initial);
    }
}

#[test]
fn a_lost_tail_waits_for_the_rto_of_the_table_and_then_twice() {
    // After the handshake's 123 ms: 123 + 2·123 = 369, on Solaris 1.25·123 + 2·123 = 399.75.
    for (profile, rto) in SENDERS.into_iter().zip([370, 400, 400, 1200]) {
        let mut flow = Script::connected(profile, 123);
        flow.writes(1).sends("1").rto(rto);
        flow.expires(Timer::Rto, 123 + rto).sends("rto 1");
        flow.rto(2 * rto).timer(Timer::Rto, 123 + 3 * rto);
    }
}

/// A window of four, the first of which is lost; segments 6 to 9 are out since 240 ms.
fn four_out(flow: &mut Script) {
    flow.writes(20).sends("1-2");
    flow.at(160).ack(2).cwnd(3).sends("3-5");
    flow.at(240).ack(5).cwnd(4).sends("6-9");
}

#[test]
fn two_duplicate_acks_suffice_for_windows() {
    let mut flow = Script::connected("windows-xp", 80);
    four_out(&mut flow);
    flow.at(320).sack(5, &[7..=7]).state(State::Disorder);
    flow.sends("nothing"); // no limited transmit
    flow.at(321).sack(5, &[7..=8]).state(State::Recovery);
    flow.ssthresh(2).sends("fast 6");
}

#[test]
fn they_do_without_sack() {
    let mut flow = Script::without_sack("windows-xp", 80);
    four_out(&mut flow);
    flow.at(320).ack(5).sends("nothing");
    flow.at(321).ack(5).state(State::Recovery).sends("fast 6");
}

#[test]
fn it_takes_three_for_the_others() {
    // FreeBSD 5.2 begins with one segment, and without SACK or limited transmit.
    let mut flow = Script::connected("freebsd-5", 80);
    flow.writes(20).sends("1").at(160).ack(1).sends("2-3");
    flow.at(240).ack(3).sends("4-6");
    flow.at(320).ack(6).sends("7-10");
    for at in [400, 401] {
        flow.at(at).ack(6).state(State::Disorder).sends("nothing");
    }
    // ssthresh 2 and three for the duplicates, with four out (RFC 5681 §3.2 steps 3 and 5).
    flow.at(402).ack(6).state(State::Recovery);
    flow.ssthresh(2).sends("fast 7, 11");

    // Solaris sends a new segment on each of the first two.
    let mut flow = Script::connected("solaris-10", 80);
    flow.writes(20).sends("1-3");
    flow.at(160).ack(3).sends("4-7");
    flow.at(240).sack(3, &[5..=5]).sends("8");
    flow.at(241).sack(3, &[5..=6]).sends("9");
    flow.at(242).sack(3, &[5..=7]).state(State::Recovery);
    flow.ssthresh(2).sends("fast 4");

    // So does Linux, where three are enough once the highest lies more than three up (FACK).
    let mut flow = Script::connected("linux-2.4", 80);
    four_out(&mut flow);
    flow.at(320).sack(5, &[7..=7]).sends("10");
    flow.at(321).sack(5, &[7..=8]).sends("11");
    flow.at(322).sack(5, &[7..=9]).state(State::Recovery);
    flow.sends("fast 6");
}

#[test]
fn windows_takes_one_sample_a_flight() {
    let mut flow = Script::connected("windows-xp", 80);
    flow.rto(300); // 80 + 160
    flow.writes(20).sends("1-2");
    flow.at(160).ack(1).rto(200).sends("3-4"); // 80 + 120
    // Segment 2 took 220 ms, which nobody measured.
    flow.at(300).ack(2).rto(200).sends("5-6");
    // Segment 3 did 180: SRTT 92.5, 4·RTTVAR 90 + 100.
    flow.at(340).ack(3).rto(300).sends("7-8");
}

#[test]
fn freebsd_takes_one_rtt_sample_per_flight_without_timestamps() {
    let mut flow = Script::connected("freebsd-5", 1000);
    flow.rto(3000).writes(20).sends("1");
    flow.at(2000).ack(1).rto(2500).sends("2-3");
    flow.at(3000).ack(2).rto(2130).sends("4-5"); // 2125
    flow.at(3001).ack(3).rto(2130).sends("6-7");

    let mut flow = Script::connected("freebsd-5", 1000);
    flow.rto(3000).writes(20).sends("1");
    flow.at(2000).echoing(1000).ack(1).rto(2500).sends("2-3");
    flow.at(3000).echoing(2000).ack(2).rto(2130).sends("4-5");
    // A second sample of the flight: 4·RTTVAR is 843.75 ms and a little.
    flow.at(3001).echoing(2000).ack(3).rto(1850).sends("6-7");
}

#[test]
fn solaris_and_linux_take_one_a_segment() {
    // 4·RTTVAR 2000, 1500, 1125, 843.75 ms; 1.25·SRTT 1250.
    let mut flow = Script::connected("solaris-10", 1000);
    flow.rto(3250).writes(20).sends("1-3");
    flow.at(2000).ack(1).rto(2750).ack(2).rto(2380);
    flow.ack(3).rto(2100).sends("4-9");

    // A segment that took longer than its flight's first counts at once.
    let mut flow = Script::connected("linux-2.4", 80);
    flow.rto(240).writes(20).sends("1-2");
    flow.at(160).ack(1).rto(240).sends("3-4");
    flow.at(300).ack(2).sends("5-6").rto(330); // SRTT 97.5, 4·mdev 90 + 140
}

#[test]
fn a_timeout_is_forgotten_when_new_data_was_timed() {
    // Karn's rule: ACKs of what was sent again measure nothing, and the RTO stays doubled.
    for profile in ["windows-xp", "windows-xp+nosack"] {
        let mut flow = Script::connected(profile, 80);
        flow.writes(3).sends("1-2");
        flow.expires(Timer::Rto, 380).sends("rto 1").rto(600);
        flow.at(460).ack(2).rto(600).sends("3");
        flow.timer(Timer::Rto, 460 + 600);
        flow.at(540).ack(3).rto(200);
    }
}

#[test]
fn mechanisms_are_added_to_a_profile() {
    let mut flow = Script::connected("windows-xp+tlp", 80);
    flow.writes(2).sends("1-2").timer(Timer::Probe, 80 + 160);
    flow.expires(Timer::Probe, 240).sends("tlp 2");

    // RTO restart counts from the earliest segment.
    let mut flow = Script::connected("windows-xp+rtor", 80);
    flow.writes(2).sends("1-2");
    flow.at(160).ack(1).timer(Timer::Rto, 80 + 200);
}
