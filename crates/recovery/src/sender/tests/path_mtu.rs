//! Segments that are too large for the path.

use super::super::*;
use super::script::{MSS, Script};

/// Ten segments are outstanding, segment `n` from byte 1000 · n − 999 on, since 80 ms.
fn ten(profile: &str) -> Script {
    let mut flow = Script::connected(profile, 80);
    flow.writes(10).sends("1-10");
    flow
}

/// The next transmission: trigger, first and last byte of the data, counted from 1.
fn goes(flow: &Script, ms: u64) -> Option<(Trigger, u64, u64)> {
    match flow.sender.next_send(Instant::from_millis(ms))? {
        Transmission::Again(span, trigger) => Some((trigger, span.start.0, span.end.0 - 1)),
        other => panic!("{other:?}"),
    }
}

/// Sends what goes next, until nothing does. Returns the lengths.
fn send_all(flow: &mut Script, ms: u64) -> Vec<u64> {
    let now = Instant::from_millis(ms);
    let mut lens = Vec::new();
    while let Some(send) = flow.sender.next_send(now) {
        lens.push(send.span().unwrap().len());
        flow.sender.on_sent(now, send);
        flow.sender.check().unwrap();
    }
    lens
}

#[test]
fn what_is_larger_than_the_path_mtu_goes_again_at_once_and_the_window_stays() {
    for profile in ["linux-6", "linux-3.17"] {
        let mut flow = ten(profile);
        let cwnd = flow.sender.cwnd();
        flow.at(100);
        flow.sender.on_path_mtu(Instant::from_millis(100), 600);
        flow.sender.check().unwrap();
        assert_eq!(flow.sender.state(), State::Loss, "{profile}");
        assert_eq!(flow.sender.cwnd(), cwnd, "{profile}");
        assert_eq!(flow.sender.mss(), 600);
        assert_eq!(goes(&flow, 100), Some((Trigger::Pmtu, 1, 600)), "{profile}");
        // As many segments as the window holds, each of them 600 or 400 bytes.
        let lens = send_all(&mut flow, 100);
        assert_eq!(lens.len(), cwnd.0 as usize, "{profile}");
        assert_eq!(lens[..4], [600, 400, 600, 400], "{profile}");
    }
}

#[test]
fn segments_that_fit_and_sacked_segments_stay() {
    let mut flow = Script::connected("linux-6", 80);
    flow.writes(3).sends("1-3").at(160).sack(0, &[3..=3]);
    flow.sender.on_path_mtu(Instant::from_millis(161), 999);
    flow.sender.check().unwrap();
    assert_eq!(flow.sender.board().lost(), Segments(0), "one byte may be a FIN");
    flow.sender.on_path_mtu(Instant::from_millis(161), 500);
    flow.sender.check().unwrap();
    assert_eq!(flow.sender.board().lost(), Segments(4));
    assert_eq!(flow.sender.board().sacked(), Segments(1));
    assert_eq!(send_all(&mut flow, 161), [500; 4]);
}

#[test]
fn an_mtu_that_everything_fits_changes_nothing() {
    let mut flow = ten("linux-6");
    flow.sender.on_path_mtu(Instant::from_millis(100), MSS as u32);
    flow.state(State::Open).timer(Timer::Probe, 80 + 162);
}

#[test]
fn an_icmp_message_does_not_update_the_clock_of_linux_6() {
    // A retransmission at 100 ms counts as sent with the last segment at 80 ms. So the SACK of that segment
    // shows it lost again (RACK).
    let mut flow = ten("linux-6");
    flow.at(100);
    flow.sender.on_path_mtu(Instant::from_millis(100), 990);
    assert_eq!(send_all(&mut flow, 100).len(), 10);
    flow.sender.on_written(Instant::from_millis(100), 0);
    let sent = flow.sender.board().first().map(|first| first.sent_at);
    assert_eq!(sent, Some(Instant::from_millis(80)));
}

#[test]
fn a_failed_path_mtu_probe_leaves_the_window_as_it_was() {
    // RFC 4821 §7.6.2. Segment 1 is the probe; SACKs of 2 to 4 show that it is lost.
    let mut flow = ten("linux-6");
    let cwnd = flow.sender.cwnd();
    flow.at(160).sack(0, &[2..=4]).state(State::Recovery);
    assert!(flow.sender.may_fail_probe());
    flow.sender.on_mtu_probe_lost(Instant::from_millis(160), 600);
    flow.sender.check().unwrap();
    flow.state(State::Loss);
    assert_eq!(flow.sender.cwnd(), cwnd);
    assert_eq!(goes(&flow, 160), Some((Trigger::MtuProbe, 1, 600)));
    send_all(&mut flow, 160);
}

#[test]
fn a_probe_lost_in_a_recovery_of_another_segment_is_no_failed_probe() {
    let mut flow = ten("linux-6");
    flow.at(160).sack(0, &[3..=5]).sends("fast 1-2");
    assert!(flow.sender.may_fail_probe());
    flow.at(240).ack(1);
    assert!(!flow.sender.may_fail_probe());
    flow.sent();
}

#[test]
fn while_a_path_mtu_probe_is_outstanding_a_timeout_counts_as_genuine() {
    // Linux tcp_enter_loss. Originals SACKed after a timeout would otherwise prove it spurious (F-RTO).
    for (probing, state) in [(false, State::Open), (true, State::Loss)] {
        let mut flow = Script::connected("linux-6+notlp", 80);
        flow.writes(4).sends("1-4");
        if probing {
            let end = flow.sender.board().last().unwrap().span.end;
            flow.sender.note_mtu_probe(end);
        }
        let at = flow.fires(Timer::Rto);
        flow.sends("rto 1").at(at + 5).sack(0, &[2..=3]);
        assert_eq!(flow.sender.state() == State::Loss, state == State::Loss);
        flow.sent();
    }
}
