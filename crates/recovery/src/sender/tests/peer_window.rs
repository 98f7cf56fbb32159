//! The peer's window: its limit, probes of a closed window, and implausible ACKs.

use super::super::*;
use super::script::{MSS, Script, segments};
use crate::ack::Ack;

#[test]
fn nothing_is_sent_beyond_the_peers_window() {
    let mut flow = Script::connected_with("linux-3.17", 80, 4 * MSS + 300);
    flow.writes(20).sends("1-4");
    flow.at(160).ack(1).sends("5").at(161).ack(3).sends("6-7");
}

#[test]
fn an_older_ack_does_not_shrink_the_window() {
    let mut flow = Script::connected_with("linux-3.17", 80, 4 * MSS);
    flow.writes(3).sends("1-3").at(160).ack(2);
    flow.at(161).ack(1).writes(9).sends("4-6");
}

#[test]
fn an_older_ack_does_not_open_a_window_that_has_shrunk_since() {
    let mut flow = Script::connected_with("linux-3.17", 80, 8 * MSS);
    flow.writes(20).sends("1-8");
    flow.at(160).window(2 * MSS).ack(8).sends("9-10");
    flow.at(161).window(8 * MSS).ack(4).sends("nothing");
}

#[test]
fn a_closed_window_is_probed_at_doubling_intervals() {
    let mut flow = Script::connected_with("linux-3.17", 80, 2 * MSS);
    flow.writes(5).sends("1-2");
    flow.at(160).window(0).ack(2).sends("nothing").no_timer(Timer::Rto);
    flow.expires(Timer::Persist, 160 + 280).sends("window probe");
    flow.at(520).ack(2).sends("nothing");
    flow.expires(Timer::Persist, 440 + 560).sends("window probe");
    flow.expires(Timer::Persist, 1000 + 1120).sends("window probe");
    flow.expires(Timer::Persist, 2120 + 2240).sends("window probe");
}

#[test]
fn the_interval_between_window_probes_is_bounded() {
    let mut flow = Script::connected_with("linux-3.17", 80, 2 * MSS);
    flow.writes(5).sends("1-2").at(160).window(0).ack(2);
    let mut last = Instant::from_millis(160);
    for _ in 0..20 {
        let (at, timer) = flow.sender.next_timer().unwrap();
        assert_eq!(timer, Timer::Persist);
        assert!(at.since(last) <= Duration::from_secs(120));
        flow.at(at.as_nanos() / 1_000_000);
        flow.sender.on_timer(at, timer);
        flow.sends("window probe").ack(2);
        last = at;
    }
    assert!(!flow.sender.gave_up(), "a peer that answers may keep its window closed");
}

#[test]
fn an_opening_window_releases_data_and_ends_probing() {
    let mut flow = Script::connected_with("linux-3.17", 80, 2 * MSS);
    flow.writes(5).sends("1-2").at(160).window(0).ack(2);
    flow.expires(Timer::Persist, 440).sends("window probe");
    flow.at(520).window(10 * MSS).ack(2).sends("3-5");
    flow.no_timer(Timer::Persist).timer(Timer::Rto, 520 + 280).cwnd(10);
    // The next closure begins with a fresh interval.
    flow.at(600).window(0).ack(5).writes(1).timer(Timer::Persist, 600 + 280);
}

#[test]
fn only_the_probe_uses_a_very_small_window() {
    // Silly-window avoidance on the sender's side, and its override (RFC 9293 §3.8.6.2.1).
    let mut flow = Script::connected_with("linux-3.17", 80, 2 * MSS);
    flow.writes(5).sends("1-2").at(160).window(300).ack(2).sends("nothing");
    flow.expires(Timer::Persist, 440).sends("3:300");
}

#[test]
fn window_probes_that_nobody_answers_end_in_the_user_timeout() {
    let mut flow = Script::connected_with("linux-3.17", 80, 2 * MSS);
    flow.writes(5).sends("1-2").at(160).window(0).ack(2).timer(Timer::User, 300_160);
    flow.expires(Timer::Persist, 440).sends("window probe").timer(Timer::User, 300_160);
    flow.at(520).ack(2).timer(Timer::User, 300_520); // answered
}

#[test]
fn a_window_that_closes_on_outstanding_data_leaves_it_to_the_timeout() {
    let mut flow = Script::connected_with("linux-3.17", 80, 2 * MSS);
    flow.writes(5).sends("1-2").at(160).window(0).ack(1).no_timer(Timer::Persist);
    flow.expires(Timer::Rto, 440).sends("rto 2");
}

#[test]
fn an_ack_of_data_never_sent_is_ignored() {
    let mut flow = Script::connected("linux-3.17+tlp", 80);
    flow.writes(20).sends("1-10").timer(Timer::Rto, 360).timer(Timer::Probe, 240);
    flow.at(160).window(1 << 30).ack(11).sends("nothing").cwnd(10).pipe(10);
    flow.takes(Ack::new(Offset(u64::MAX), u64::MAX)).sends("nothing");
    flow.timer(Timer::Rto, 360).timer(Timer::Probe, 240).state(State::Open);
    assert_eq!(flow.sender.una(), segments(1, 1).start);
}

#[test]
fn an_old_ack_acknowledges_nothing() {
    let mut flow = Script::connected("linux-3.17", 80);
    flow.writes(10).sends("1-10").at(160).ack(5).timer(Timer::Rto, 440).cwnd(15);
    flow.at(170).ack(3).timer(Timer::Rto, 440).cwnd(15).state(State::Open).sends("nothing");
}

#[test]
fn a_peer_that_keeps_its_window_closed_but_answers_is_not_aborted() {
    let mut flow = Script::connected_with("linux-3.17", 80, 2 * MSS);
    flow.writes(2).sends("1-2");
    let user = |flow: &Script| flow.sender.deadline(Timer::User);
    assert_eq!(user(&flow), Some(Instant::from_millis(80 + 300_000)));
    // The window shut over what is outstanding; the retransmissions draw ACKs all the same.
    flow.at(100).window(0).ack(0);
    assert_eq!(user(&flow), Some(Instant::from_millis(100 + 300_000)));
    flow.at(110).window(2 * MSS).ack(0);
    assert_eq!(user(&flow), Some(Instant::from_millis(100 + 300_000)));
}
