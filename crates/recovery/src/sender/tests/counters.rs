//! The counters: the columns of the 2011 paper's tables.

use super::super::*;
use super::script::{MSS, Script, segments};
use crate::ack::Ack;
use crate::counters::Ended;

/// Retransmissions by trigger: fast, early, RTO, slow start, probe.
fn by_kind(flow: &Script) -> [u64; 5] {
    [Trigger::Fast, Trigger::Early, Trigger::Rto, Trigger::SlowStart, Trigger::Tlp]
        .map(|trigger| flow.sender.counters().retransmissions.of(trigger))
}

/// Timeouts by the state they found.
fn timeouts(flow: &Script) -> [u64; 5] {
    State::ALL.map(|state| flow.sender.counters().timeouts_in(state))
}

/// Segment 1 of ten is lost and repaired; ssthresh 7.
fn repaired(profile: &str, written: u64) -> Script {
    let mut flow = Script::connected(profile, 80);
    flow.writes(written).sends("1-10");
    flow.at(160).sack(0, &[2..=4]);
    flow
}

#[test]
fn retransmissions_are_counted_by_trigger() {
    // Table 2.
    let mut flow = repaired("linux-3.17", 10);
    flow.sends("fast 1").at(240).ack(10);
    flow.writes(3).sends("11-13").at(320).sack(10, &[13..=13]);
    flow.expires(Timer::Early, 340).sends("early 11-12").at(420).ack(13);
    assert_eq!(by_kind(&flow), [1, 2, 0, 0, 0]);
    let mut flow = Script::connected("linux-3.17+tlp", 80);
    flow.writes(5).sends("1-5");
    flow.expires(Timer::Probe, 240).sends("tlp 5");
    flow.expires(Timer::Rto, 520).sends("rto 1");
    flow.at(600).ack(1).sends("slow_start 2-3");
    flow.at(680).ack(3).sends("slow_start 4-5").at(760).ack(5);
    assert_eq!(by_kind(&flow), [0, 0, 1, 4, 1]);
    let counters = flow.sender.counters();
    assert_eq!(counters.retransmissions.total(), 6);
    assert_eq!(counters.retransmitted_bytes, 6 * MSS);
}

#[test]
fn timeouts_are_counted_by_the_state_they_found() {
    // Table 2: Open, Disorder, Recovery; in Loss it is exponential back-off.
    let mut open = Script::connected("linux-3.17", 80);
    open.writes(10).sends("1-10").expires(Timer::Rto, 360).sends("rto 1");
    assert_eq!(timeouts(&open), [1, 0, 0, 0, 0]);
    open.expires(Timer::Rto, 920).sends("rto 1");
    open.expires(Timer::Rto, 2040).sends("rto 1");
    assert_eq!(timeouts(&open), [1, 0, 0, 0, 2]);
    let mut disorder = Script::connected("linux-3.17", 80);
    disorder.writes(10).sends("1-10").at(160).sack(0, &[2..=2]);
    disorder.expires(Timer::Rto, 360).sends("rto 1");
    assert_eq!(timeouts(&disorder), [0, 1, 0, 0, 0]);
    let mut cwr = Script::connected("linux-3.17", 80);
    cwr.writes(10).sends("1-10").at(160).congested();
    cwr.expires(Timer::Rto, 360).sends("rto 1");
    assert_eq!(timeouts(&cwr), [0, 0, 1, 0, 0]);
    let mut recovery = repaired("linux-3.17", 10);
    recovery.sends("fast 1").expires(Timer::Rto, 440).sends("rto 1");
    assert_eq!(timeouts(&recovery), [0, 0, 0, 1, 0]);
    assert_eq!(recovery.last_recovery().ended, Ended::Timeout);
}

#[test]
fn a_retransmitted_syn_is_no_timeout_of_the_transfer() {
    let mut flow = Script::new("linux-3.17");
    flow.sends("SYN");
    flow.fires(Timer::Rto);
    flow.sends("syn SYN");
    assert_eq!(timeouts(&flow), [0; 5]);
}

#[test]
fn retransmissions_never_acknowledged_count_as_failed() {
    // The 2011 paper §2.2: TCP made no forward progress and gave up. Ten timeouts fit into 300 s:
    // at 0.36 s, then after 0.56 s and twice that each time, at most 120 s.
    let mut flow = Script::connected("linux-3.17", 80);
    flow.writes(3).sends("1-3");
    let first_after = [360, 920, 2040, 4280, 8760, 17_720, 35_640, 71_480, 143_160, 263_160];
    for at in first_after {
        flow.expires(Timer::Rto, at).sends("rto 1");
    }
    assert_eq!(flow.sender.counters().failed_retransmissions, 0);
    flow.expires(Timer::User, 300_080);
    assert_eq!(flow.sender.counters().failed_retransmissions, 10);
    assert_eq!(timeouts(&flow), [1, 0, 0, 0, 9]);
}

#[test]
fn retransmissions_before_the_last_progress_do_not_count_as_failed() {
    let mut flow = Script::connected("linux-3.17", 80);
    flow.writes(3).sends("1-3");
    flow.expires(Timer::Rto, 360).sends("rto 1");
    flow.at(440).ack(1).sends("slow_start 2-3");
    let mut last = 0;
    while last < 300_440 {
        let (_, timer) = flow.sender.next_timer().expect("a timer");
        last = flow.fires(timer);
        flow.sent();
    }
    // 560 ms after the ACK and doubling: 1.0, 2.12, 4.36, 8.84, 17.8, 35.72, 71.56, 143.24 and
    // 263.24 s.
    assert_eq!(flow.sender.counters().failed_retransmissions, 2 + 9);
}

#[test]
fn a_recovery_is_recorded_from_its_first_moment_to_its_last() {
    // Tables 3, 5, 6, 7; figure 5. Three delivered: 6 in flight as it begins, 3 ACKs 80 ms long.
    let mut flow = repaired("linux-3.17", 20);
    flow.sends("fast 1");
    flow.at(161).sack(0, &[2..=10]).cwnd(7).sends("11-16");
    flow.at(240).ack(10).state(State::Open).cwnd(7).sends("17");
    let record = flow.last_recovery();
    assert_eq!(record.entered_at, Instant::from_millis(160));
    assert_eq!(record.duration, Duration::from_millis(80));
    assert_eq!(record.until_open, Some(record.duration));
    assert_eq!((record.pipe, record.ssthresh), (Segments(6), Segments(7)));
    assert_eq!((record.last_cwnd, record.cwnd), (Segments(7), Segments(7)));
    assert_eq!(record.retransmissions, 1);
    assert_eq!(record.delivered, 9); // prr_delivered, the last ACK apart
    assert_eq!(record.ended, Ended::Complete);
    assert_eq!(flow.sender.counters().recoveries, 1);
}

#[test]
fn a_recovery_may_end_with_the_window_below_ssthresh() {
    // Table 6's negative quantiles: heavy losses, too few ACKs to fill the pipe again. 7 of 10 are
    // lost, and SACKs of the three last come one by one.
    let mut flow = Script::connected("linux-3.17+nofack+prrcrb", 80);
    flow.writes(10).sends("1-10");
    flow.at(160).sack(0, &[8..=8]).at(161).sack(0, &[8..=9]);
    flow.at(162).sack(0, &[8..=10]).pipe(0).cwnd(1).sends("fast 1");
    for n in 1..=6 {
        flow.at(162 + 80 * n).sack(n, &[8..=10]).cwnd(1);
        flow.sends(&format!("fast {}", n + 1));
    }
    flow.at(722).ack(10).cwnd(7);
    let record = flow.last_recovery();
    assert_eq!((record.last_cwnd, record.cwnd), (Segments(1), Segments(7)));
    assert_eq!((record.ssthresh, record.pipe), (Segments(7), Segments(0)));
    assert_eq!((record.retransmissions, record.delivered), (7, 7));
    assert_eq!(record.duration, Duration::from_millis(560));
}

#[test]
fn the_timers_recovery_is_recorded_too() {
    let mut flow = Script::connected("linux-6", 80);
    flow.writes(10).sends("1-10").at(160).sack(0, &[2..=2]);
    flow.expires(Timer::Reorder, 182).sends("fast 1");
    flow.at(262).ack(10).state(State::Open);
    let record = flow.last_recovery();
    assert_eq!((record.pipe, record.ssthresh), (Segments(8), Segments(7)));
    assert_eq!(record.duration, Duration::from_millis(80));
    assert_eq!(record.retransmissions, 1);
}

#[test]
fn a_recovery_that_leaves_too_small_a_window_is_followed_by_slow_start() {
    // Table 10, "slow-start after FR".
    for (rate, slow_starts) in [("halving", 1), ("prr", 0), ("std", 0)] {
        let mut flow = repaired(&format!("linux-3.17+{rate}"), 10);
        flow.sends("fast 1").at(161).sack(0, &[2..=10]).at(240).ack(10);
        let counters = flow.sender.counters();
        assert_eq!(counters.slow_starts_after_recovery, slow_starts, "{rate}");
    }
}

#[test]
fn an_undone_recovery_is_recorded_with_the_restored_window() {
    let mut flow = repaired("linux-3.17", 10);
    flow.sends("fast 1").at(170).echoing(80).ack(10).cwnd(10);
    let record = flow.last_recovery();
    assert_eq!((record.last_cwnd, record.cwnd), (Segments(7), Segments(10)));
    assert_eq!(record.ended, Ended::Undone);
    assert_eq!(record.duration, Duration::from_millis(10));
}

#[test]
fn a_recovery_that_times_out_goes_on_until_the_sender_is_open() {
    // The 2011 paper §5: "from when a connection enters recovery to when it re-enters Open state".
    let mut flow = repaired("linux-3.17", 10);
    flow.sends("fast 1");
    flow.expires(Timer::Rto, 440).sends("rto 1");
    let record = flow.last_recovery();
    assert_eq!(record.duration, Duration::from_millis(280));
    assert_eq!(record.until_open, None);
    flow.expires(Timer::Rto, 1000).sends("rto 1");
    assert_eq!(flow.last_recovery().until_open, None);
    flow.at(1080).ack(10).state(State::Open);
    let record = flow.last_recovery();
    assert_eq!(record.ended, Ended::Timeout);
    assert_eq!(record.duration, Duration::from_millis(280));
    assert_eq!(record.until_open, Some(Duration::from_millis(920)));
}

#[test]
fn dsacks_and_their_recoveries_are_counted() {
    // Table 3: DSACKs/FR, DSACKs/retransmit. In the first recovery one comes, in the second none.
    let mut flow = repaired("linux-3.17+noundo", 20);
    flow.sends("fast 1").at(161).sack(0, &[2..=5]).sends("11");
    flow.at(170).ack(5).sends("12").at(240).sack(5, &[1..=1]).sends("nothing");
    flow.at(241).ack(12).state(State::Open).sends("13-19");
    flow.at(321).sack(12, &[14..=16]).state(State::Recovery).sends("fast 13");
    flow.at(401).ack(19).sends("20");
    let counters = flow.sender.counters();
    assert_eq!((counters.dsacks, counters.recoveries), (1, 2));
    assert_eq!(counters.recoveries_with_dsack, 1);
    assert_eq!(counters.retransmissions.of(Trigger::Fast), 2);
}

#[test]
fn a_dsack_after_the_recovery_counts_for_the_recovery() {
    // §2.3: "fast-recoveries causing DSACKs". The copy's arrives a round trip after the original's
    // ACK has ended the recovery.
    let mut flow = repaired("linux-3.17", 10);
    flow.sends("fast 1").at(170).ack(10).state(State::Open);
    flow.at(240).sack(10, &[1..=1]);
    let counters = flow.sender.counters();
    assert_eq!((counters.dsacks, counters.recoveries_with_dsack), (1, 1));
}

#[test]
fn a_dsack_of_a_timeouts_retransmission_does_not_count_for_a_recovery() {
    let mut flow = Script::connected("linux-3.17", 80);
    flow.writes(1).sends("1").expires(Timer::Rto, 360).sends("rto 1");
    flow.at(370).ack(1).at(440).sack(1, &[1..=1]);
    let counters = flow.sender.counters();
    assert_eq!((counters.dsacks, counters.recoveries_with_dsack), (1, 0));
}

#[test]
fn undo_events_are_counted_by_their_proof() {
    // §6.1's "undo" events.
    let mut flow = repaired("linux-3.17", 10);
    flow.sends("fast 1").at(170).ack(10).at(240).sack(10, &[1..=1]).undone(1, 0, 0);
    let mut flow = repaired("linux-3.17", 10);
    flow.sends("fast 1").at(170).echoing(80).ack(10).undone(0, 1, 0);
    let mut flow = Script::connected("linux-3.17", 80);
    flow.writes(20).sends("1-10").expires(Timer::Rto, 360).sends("rto 1");
    flow.at(400).ack(3).undone(0, 0, 1).sends("11-13");
}

#[test]
fn time_in_recovery_and_in_loss_is_added_up() {
    // Table 10, "% time in loss recovery": both.
    let mut flow = repaired("linux-3.17", 10);
    flow.sends("fast 1").at(240).ack(10).writes(10).sends("11-17");
    flow.at(320).ack(17).sends("18-20").at(400).ack(20);
    let counters = flow.sender.counters();
    assert_eq!(counters.in_recovery, Duration::from_millis(80));
    assert_eq!(counters.in_loss, Duration::ZERO);
    let mut flow = repaired("linux-3.17", 10);
    flow.sends("fast 1").expires(Timer::Rto, 440).sends("rto 1").at(520).ack(10);
    let counters = flow.sender.counters();
    assert_eq!(counters.in_recovery, Duration::from_millis(280));
    assert_eq!(counters.in_loss, Duration::from_millis(80));
}

#[test]
fn transmit_time_is_that_with_data_unacknowledged() {
    // Table 10, "network transmit time": data, so that the handshake does not count.
    let mut flow = Script::connected("linux-3.17", 80);
    flow.at(100).writes(3).sends("1-3").at(180).ack(3);
    flow.at(500).writes(3).sends("4-6").at(570).ack(4).at(590).ack(6);
    assert_eq!(flow.sender.counters().busy, Duration::from_millis(80 + 90));
}

#[test]
fn data_segments_are_counted_and_those_sent_in_recovery() {
    // Table 10, "% bytes sent in FR". Ten, the retransmission, and seven more; the SYN is no data.
    let mut flow = repaired("linux-3.17", 20);
    flow.sends("fast 1").at(161).sack(0, &[2..=10]).sends("11-16");
    flow.at(240).ack(10).sends("17");
    let counters = flow.sender.counters();
    assert_eq!((counters.segments_sent, counters.sent_in_recovery), (18, 7));
}

#[test]
fn what_cannot_be_is_counted_and_ignored() {
    let mut flow = Script::connected("linux-3.17", 80);
    flow.writes(5).sends("1-5");
    // An ACK of data never sent; then SACKs of data never sent, and across snd_una.
    flow.at(160).ack(6).state(State::Open).pipe(5);
    assert_eq!(flow.sender.counters().impossible_acks, 1);
    flow.at(161).sack(0, &[5..=6]).state(State::Open).pipe(5);
    let across = Span::new(Offset(1 + MSS), Offset(1 + 4 * MSS));
    flow.at(162).takes(Ack::new(segments(1, 2).end, 1 << 20).with_blocks([across]));
    assert_eq!(flow.sender.counters().impossible_blocks, 2);
    flow.pipe(3);
}

#[test]
fn deliveries_count_once_however_they_are_reported() {
    let mut flow = Script::connected("linux-3.17", 80);
    flow.writes(10).sends("1-10");
    let before = flow.sender.counters().delivered;
    flow.at(160).sack(0, &[3..=3]).at(161).sack(3, &[5..=6]);
    flow.at(162).sack(6, &[9..=9]).at(163).ack(10);
    assert_eq!(flow.sender.counters().delivered - before, 10);
}

#[test]
fn the_counters_of_two_connections_add_up() {
    let mut one = repaired("linux-3.17", 10);
    one.sends("fast 1").at(240).ack(10);
    let mut other = Script::connected("linux-3.17", 80);
    other.writes(3).sends("1-3").expires(Timer::Rto, 360).sends("rto 1");
    let (a, b) = (one.sender.counters(), other.sender.counters());
    let mut sum = a;
    sum.merge(&b);
    assert_eq!(sum.retransmissions.of(Trigger::Fast), 1);
    assert_eq!(sum.retransmissions.of(Trigger::Rto), 1);
    assert_eq!(sum.timeouts_in(State::Open), 1);
    assert_eq!(sum.recoveries, 1);
    assert_eq!(sum.delivered, a.delivered + b.delivered);
    assert_eq!(sum.segments_sent, a.segments_sent + b.segments_sent);
    assert_eq!(sum.busy, a.busy + b.busy);
    assert_eq!(sum.in_recovery, a.in_recovery + b.in_recovery);
}
