//! The reasons that a replay finds for a retransmission in a capture.

use super::super::*;
use super::script::{Script, segments};

/// Why `flow` retransmits segment `n` at `ms`, while the timers of `due` count as due.
fn reason(flow: &Script, ms: u64, n: u64, prompted: bool, due: &[Timer]) -> Option<(Trigger, Option<Timer>)> {
    let mut sender = flow.sender.clone();
    let is_due = |timer, _| due.contains(&timer);
    let reason = sender.reason_for(Instant::from_millis(ms), segments(n, n), prompted, is_due)?;
    Some((reason.trigger, reason.timer.map(|(timer, _)| timer)))
}

#[test]
fn without_a_loss_or_a_timer_there_is_no_reason() {
    let mut flow = Script::connected("linux-6", 80);
    flow.writes(5).sends("1-5");
    for n in 1..=5 {
        assert_eq!(reason(&flow, 100, n, true, &[]), None);
    }
}

#[test]
fn a_lost_segments_trigger_is_its_loss_unless_only_the_timer_can_have_sent_it() {
    let mut flow = Script::connected("linux-3.17", 80);
    flow.writes(10).sends("1-10");
    flow.at(160).sack(0, &[4..=4]);
    let fast = Some((Trigger::Fast, None));
    let rto = Some((Trigger::Rto, Some(Timer::Rto)));
    assert_eq!(reason(&flow, 160, 1, true, &[Timer::Rto]), fast);
    assert_eq!(reason(&flow, 160, 1, false, &[]), fast);
    assert_eq!(reason(&flow, 160, 1, false, &[Timer::Rto]), rto);
    flow.sends("fast 1");
}

#[test]
fn the_probe_timer_sends_the_last_segment_and_comes_before_the_retransmission_timer() {
    let mut flow = Script::connected("linux-3.17+tlp", 80);
    flow.writes(5).sends("1-5").timer(Timer::Probe, 240);
    let due = [Timer::Probe, Timer::Rto];
    let tlp = Some((Trigger::Tlp, Some(Timer::Probe)));
    let rto = Some((Trigger::Rto, Some(Timer::Rto)));
    assert_eq!(reason(&flow, 240, 5, false, &due), tlp);
    assert_eq!(reason(&flow, 240, 1, false, &due), rto);
    assert_eq!(reason(&flow, 240, 3, false, &due), None);
}

#[test]
fn the_head_again_without_an_ack_since_a_timeout_is_another_timeout() {
    let mut flow = Script::connected("linux-3.17", 80);
    flow.writes(5).sends("1-5").expires(Timer::Rto, 360);
    flow.sends("rto 1");
    let rto = Some((Trigger::Rto, Some(Timer::Rto)));
    assert_eq!(reason(&flow, 400, 1, true, &[]), rto);
    assert_eq!(reason(&flow, 400, 2, true, &[]), Some((Trigger::SlowStart, None)));
    flow.at(440).ack(1).sends("slow_start 2-3");
    assert_eq!(reason(&flow, 450, 2, true, &[]), None);
}

#[test]
fn new_data_is_a_probe_if_only_the_window_limits_it() {
    let mut flow = Script::connected("linux-3.17+tlp", 80);
    flow.writes(11).sends("1-10");
    let now = Instant::from_millis(240);
    let span = segments(11, 11);
    for due in [false, true] {
        let mut sender = flow.sender.clone();
        let expected = match due {
            true => Transmission::NewProbe(span),
            false => Transmission::New(span),
        };
        assert_eq!(sender.send_for_new(now, span, |_| due), expected);
    }
}

#[test]
fn a_retransmission_that_the_engine_did_not_expect_begins_its_recovery() {
    let mut flow = Script::connected("linux-6", 80);
    flow.writes(5).sends("1-5");
    flow.at(160).sack(0, &[2..=2]).state(State::Disorder);
    let now = Instant::from_millis(161);
    let trigger = flow.sender.likely_trigger(now, segments(1, 1), false);
    assert_eq!(trigger, Some(Trigger::Fast));
    flow.state(State::Recovery).sends("fast 1");
}
