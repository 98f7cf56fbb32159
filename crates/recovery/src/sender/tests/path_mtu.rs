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

/// `written` segments are written. Ten went, and the first three are acknowledged.
fn ready_to_probe(written: u64) -> Script {
    let mut flow = Script::connected("linux-6", 80);
    flow.sender.on_written(Instant::from_millis(80), 1000 * written);
    send_all(&mut flow, 80);
    flow.at(160).ack(3);
    flow
}

#[test]
fn a_probe_takes_the_place_of_a_full_segment_when_the_window_has_room_for_two() {
    let mut flow = ready_to_probe(40);
    let now = Instant::from_millis(160);
    let (cwnd, pipe, nxt) = (flow.sender.cwnd(), flow.sender.pipe(), flow.sender.nxt());
    assert_eq!(pipe + Segments(6), cwnd);
    let sent = flow.sender.send_mtu_probe(now, 1400);
    assert_eq!(sent, MtuProbe::Sent(Transmission::New(Span::at(nxt, 1400))));
    assert_eq!(flow.sender.cwnd(), Segments(cwnd.0 - 1));
    assert_eq!(flow.sender.send_mtu_probe(now, 1400), MtuProbe::No, "one at a time");
    let lens = send_all(&mut flow, 160);
    assert_eq!(lens, [1000; 4]);
    flow.sender.check().unwrap();
    flow.sent();
}

#[test]
fn a_probe_waits_for_room_and_is_not_sent_without_data_behind_it() {
    let now = Instant::from_millis(160);
    let mut flow = ready_to_probe(40);
    while flow.sender.pipe() + Segments::ONE < flow.sender.cwnd() {
        flow.sender.send_next(now).unwrap();
    }
    assert_eq!(flow.sender.send_mtu_probe(now, 1400), MtuProbe::Wait);
    flow.sender.send_next(now).unwrap();
    assert_eq!(flow.sender.send_mtu_probe(now, 1400), MtuProbe::No, "nothing may go");
    let mut flow = ready_to_probe(15);
    assert_eq!(flow.sender.send_mtu_probe(now, 1400), MtuProbe::No);
    assert_eq!(flow.sender.send_mtu_probe(now, 1000), MtuProbe::No, "no larger than a segment");
    send_all(&mut flow, 160);
}

#[test]
fn a_lost_probe_goes_again_in_usual_segments_with_the_window_of_before() {
    let mut flow = ready_to_probe(40);
    let now = Instant::from_millis(160);
    let (cwnd, nxt) = (flow.sender.cwnd(), flow.sender.nxt());
    flow.sender.send_mtu_probe(now, 1400);
    flow.sender.fail_mtu_probe(now);
    flow.sender.check().unwrap();
    assert_eq!(flow.sender.cwnd(), cwnd);
    let first = nxt.0;
    assert_eq!(goes(&flow, 160), Some((Trigger::MtuProbe, first, first + 999)));
    assert_eq!(send_all(&mut flow, 160)[..3], [1000, 400, 1000]);
}

#[test]
fn a_probe_of_which_nothing_is_known_becomes_usual_segments_in_flight() {
    let mut flow = ready_to_probe(40);
    let now = Instant::from_millis(160);
    let nxt = flow.sender.nxt();
    flow.sender.send_mtu_probe(now, 2500);
    let pipe = flow.sender.pipe();
    flow.sender.end_mtu_probe(Span::at(nxt, 2500));
    flow.sender.check().unwrap();
    assert_eq!(flow.sender.pipe(), pipe + Segments(2));
    let lens: Vec<u64> = flow.sender.board().iter().map(|segment| segment.span.len()).collect();
    assert_eq!(lens[lens.len() - 3..], [1000, 1000, 500]);
    send_all(&mut flow, 160);
}

#[test]
fn larger_segments_keep_the_bytes_of_the_window() {
    let mut flow = ready_to_probe(40);
    let now = Instant::from_millis(160);
    let (cwnd, bytes) = (flow.sender.cwnd(), flow.sender.cwnd_bytes());
    flow.sender.raise_mss(now, 900);
    assert_eq!((flow.sender.cwnd(), flow.sender.mss()), (cwnd, 1000));
    flow.sender.raise_mss(now, 1460);
    assert_eq!(flow.sender.mss(), 1460);
    assert!((bytes - 1459..=bytes).contains(&flow.sender.cwnd_bytes()));
    send_all(&mut flow, 160);
}

#[test]
fn what_is_limited_without_a_message_counts_as_sent_when_it_is() {
    let mut flow = ten("linux-6");
    flow.sender.limit_segments(Instant::from_millis(100), 999);
    send_all(&mut flow, 100);
    let first = flow.sender.board().first().map(|first| (first.span.len(), first.sent_at));
    assert_eq!(first, Some((999, Instant::from_millis(100))));
}

#[test]
fn what_was_sacked_when_the_path_mtu_fell_is_cut_once_the_receiver_reneged() {
    let mut flow = Script::connected("linux-6", 80);
    flow.writes(4).sends("1-4");
    flow.at(160).sack(0, &[2..=3]);
    flow.sender.limit_segments(Instant::from_millis(160), 500);
    send_all(&mut flow, 160);
    flow.at(240).ack(1);
    send_all(&mut flow, 240);
    let (at, timer) = flow.sender.next_timer().unwrap();
    flow.sender.on_timer(at, timer);
    let reneged = flow.sender.drain_events().any(|(_, event)| event == Event::Reneged);
    assert!(reneged);
    let sent = flow.sender.send_next_that_fits(at);
    assert!(sent.and_then(Transmission::span).is_some_and(|span| span.len() <= 501), "{sent:?}");
    flow.sender.check().unwrap();
    let largest = flow.sender.board().iter().map(|segment| segment.span.len()).max();
    assert!(largest <= Some(501), "{largest:?} bytes");
    send_all(&mut flow, 280);
}
