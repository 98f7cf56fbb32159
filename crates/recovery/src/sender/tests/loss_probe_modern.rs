//! Tail loss probes of RFC 8985 §7 and of Linux 6. With an RTT of 200 ms the RTO is 600 ms.

use super::super::*;
use super::script::{MSS, Script};
use crate::event::LossDetector;
use crate::tlp::{AckDelay, ProbeRules};

/// Ten segments are sent at 200 ms; the first `acked` are acknowledged at 400 ms.
fn tail(profile: &str, acked: u64) -> Script {
    let mut flow = Script::connected(profile, 200);
    flow.writes(10).sends("1-10").at(400).ack(acked);
    flow
}

//= test: RFC 8985 §7.2
#[test]
fn with_several_outstanding_it_waits_for_two_round_trips() {
    // RFC 8985 §7.2: 2·SRTT. Linux tcp_schedule_loss_probe: 2 ms more.
    for (profile, pto) in [("linux-3.17+tlprfc", 400), ("linux-6", 402)] {
        tail(profile, 5).timer(Timer::Probe, 400 + pto);
    }
}

//= test: RFC 8985 §7.2
#[test]
fn with_one_outstanding_it_allows_for_a_delayed_ack() {
    // 2·SRTT + 200 ms; the RTO of a first sample is 3·SRTT.
    for profile in ["linux-3.17+tlprfc", "linux-6"] {
        let mut flow = Script::connected(profile, 300);
        flow.writes(1).sends("1").timer(Timer::Probe, 300 + 800);
        flow.timer(Timer::Rto, 300 + 900);
    }
}

//= test: RFC 8985 §7.2
#[test]
fn it_waits_no_longer_than_the_retransmission_timer() {
    // RFC 8985 §7.2: TLP_calc_PTO's last rule. RTT 80: 360 ms against an RTO of 280 ms.
    for profile in ["linux-3.17+tlprfc", "linux-6"] {
        let mut flow = Script::connected(profile, 80);
        flow.writes(1).sends("1").timer(Timer::Probe, 80 + 280);
        flow.expires(Timer::Probe, 360).sends("tlp 1").state(State::Open);
        flow.timer(Timer::Rto, 360 + 280);
    }
}

#[test]
fn new_data_sent_and_new_data_acknowledged_restart_it() {
    let mut flow = Script::connected("linux-6", 200);
    flow.writes(5).sends("1-5").timer(Timer::Probe, 200 + 402);
    flow.at(210).writes(2).sends("6-7").timer(Timer::Probe, 210 + 402);
    flow.at(400).ack(3).timer(Timer::Probe, 400 + 402);
}

#[test]
fn a_duplicate_ack_does_not_restart_it() {
    // Linux: only ACKs of new data do (tcp_set_xmit_timer); the draft's is set by every ACK.
    for (profile, at) in [("linux-6", 802), ("linux-3.17+tlp", 810)] {
        let mut flow = tail(profile, 5);
        flow.at(410).ack(5).timer(Timer::Probe, at);
    }
}

#[test]
fn it_stands_through_a_sack_that_covers_no_whole_segment() {
    let mut flow = tail("linux-6", 6);
    let mut ack = crate::ack::Ack::new(Offset(1 + 6 * MSS), 1 << 20);
    ack.push_block(Span::new(Offset(10 * MSS), Offset(1 + 10 * MSS)));
    flow.at(410).takes(ack).timer(Timer::Probe, 802);
}

#[test]
fn a_sack_stops_the_probe_timer_if_racks_timer_replaces_it() {
    // RFC 8985 §7.2: no probe while a segment is SACKed; §8: one timer at a time.
    for profile in ["linux-3.17+rack+tlprfc+noer", "linux-6"] {
        let mut flow = tail(profile, 5);
        flow.at(410).sack(5, &[7..=7]).no_timer(Timer::Probe);
        assert!(flow.sender.deadline(Timer::Reorder).is_some());
    }
}

#[test]
fn it_probes_while_the_window_has_room_and_data_waits() {
    // Linux 6 has no condition on cwnd; the draft's had. The peer's window holds the data back, so
    // that the last segment goes again.
    let mut flow = Script::connected_with("linux-6", 200, 5 * MSS);
    flow.writes(20).sends("1-5");
    flow.expires(Timer::Probe, 602).sends("tlp 5");
}

//= test: RFC 8985 §7.3
#[test]
fn new_data_is_the_probe_whatever_the_window() {
    // RFC 8985 §7.3: cwnd may be exceeded by one segment.
    let mut flow = Script::connected("linux-6", 200);
    flow.writes(20).sends("1-10");
    flow.expires(Timer::Probe, 602).sends("probe 11").pipe(11).cwnd(10);
    flow.timer(Timer::Rto, 602 + 600).no_timer(Timer::Probe).state(State::Open);
}

#[test]
fn a_probe_of_new_data_counts_as_outstanding() {
    // RFC 8985 §7.3: TLP.end_seq is set for new data as well; one probe at a time.
    let mut flow = Script::connected("linux-6+tlprfc", 200);
    flow.writes(11).sends("1-10");
    flow.expires(Timer::Probe, 600).sends("probe 11");
    flow.at(650).ack(8).no_timer(Timer::Probe);
    // Acknowledged, it costs nothing (§7.4.2), and the next may come.
    flow.at(802).ack(11).writes(3).sends("12-14").ssthresh(u32::MAX);
    assert!(flow.sender.deadline(Timer::Probe).is_some());
    flow.at(1002).ack(14).ssthresh(u32::MAX);
    assert_eq!(flow.count(Event::ProbeRepairedLoss), 0);
}

#[test]
fn linux_arms_the_timer_while_a_probe_is_unanswered_and_sends_nothing() {
    // tcp_schedule_loss_probe does not ask for it, tcp_send_loss_probe does.
    let mut flow = Script::connected("linux-6", 200);
    flow.writes(11).sends("1-10");
    flow.expires(Timer::Probe, 602).sends("probe 11");
    flow.at(650).ack(8);
    let at = flow.sender.deadline(Timer::Probe).unwrap();
    flow.sender.on_timer(at, Timer::Probe);
    assert_eq!(flow.sender.next_send(at), None);
}

#[test]
fn the_drafts_probe_of_new_data_does_not() {
    // draft-01 §3: TLPRtxOut counts retransmissions.
    let mut flow = Script::connected("linux-3.17+tlp", 200);
    flow.writes(11).sends("1-10");
    flow.expires(Timer::Probe, 600).sends("probe 11");
    flow.at(650).ack(8);
    assert!(flow.sender.deadline(Timer::Probe).is_some());
}

//= test: RFC 8985 §7.4.2
#[test]
fn a_repeated_probe_that_repaired_a_loss_costs_a_reduction() {
    // §7.4.2 case 3: an ACK beyond TLP.end_seq. Linux: cwnd = ssthresh at once.
    let mut flow = tail("linux-6", 9);
    flow.expires(Timer::Probe, 1000).sends("tlp 10");
    flow.at(1200).ack(10).state(State::Open).cwnd(20).writes(3).sends("11-13");
    flow.at(1400).ack(11).state(State::Open).cwnd(14).ssthresh(14);
    assert_eq!(flow.count(Event::ProbeRepairedLoss), 1);
}

#[test]
fn a_dsack_of_the_probe_proves_that_both_arrived() {
    // §7.4.2 case 2.
    let mut flow = tail("linux-6", 9);
    flow.expires(Timer::Probe, 1000).sends("tlp 10");
    flow.at(1050).ack(10).at(1200).sack(10, &[10..=10]);
    flow.writes(3).sends("11-13").at(1400).ack(13).ssthresh(u32::MAX);
    assert_eq!(flow.count(Event::ProbeRepairedLoss), 0);
}

#[test]
fn a_dsack_of_another_segment_does_not_answer_the_probe() {
    // Linux FLAG_DSACK_TLP: the block must end where the probe did. The draft takes any.
    for (profile, pto, reductions) in [("linux-6", 600, 1), ("linux-3.17+tlp", 500, 0)] {
        let mut flow = tail(profile, 9);
        flow.expires(Timer::Probe, 400 + pto).sends("tlp 10");
        flow.at(1200).ack(10).writes(3).sends("11-13");
        flow.at(1400).sack(13, &[5..=5]);
        assert_eq!(flow.count(Event::ProbeRepairedLoss), reductions, "{profile}");
    }
}

#[test]
fn a_duplicate_ack_without_sack_proves_that_both_arrived() {
    // §7.4.2 case 4: the receiver does not send DSACKs.
    let mut flow = tail("linux-6", 9);
    flow.expires(Timer::Probe, 1000).sends("tlp 10");
    flow.at(1050).ack(10).at(1200).ack(10).writes(3).sends("11-13");
    flow.at(1400).ack(13).ssthresh(u32::MAX);
    assert_eq!(flow.count(Event::ProbeRepairedLoss), 0);
}

#[test]
fn the_probes_dsack_widens_no_reordering_window() {
    // Linux tcp_dsack_seen: not the DSACK of a probe.
    let mut flow = Script::connected("linux-6", 80);
    flow.writes(3).sends("1-3").at(160).sack(0, &[2..=2]).at(161).ack(3);
    assert!(flow.sender.losses.threshold.reordering_seen());
    flow.at(200).writes(2).sends("4-5");
    let ms = flow.fires(Timer::Probe);
    flow.sends("tlp 5");
    flow.at(ms + 1).ack(5).at(ms + 80).sack(5, &[5..=5]);
    flow.at(600).writes(3).sends("6-8");
    flow.at(680).sack(5, &[7..=7]).timer(Timer::Reorder, 600 + 80 + 20 + 2);
}

//= test: RFC 8985 §7.4.1
#[test]
fn the_tail_is_repaired_as_the_rfcs_figure_has_it() {
    // RFC 8985 §3.4, figure 1: of 1 to 4 the last three are lost; the probe repairs 4, its SACK
    // shows 2 and 3 lost.
    let mut flow = Script::connected("linux-6", 200);
    flow.writes(4).sends("1-4").at(400).ack(1);
    flow.expires(Timer::Probe, 802).sends("tlp 4");
    flow.at(1002).sack(1, &[4..=4]).state(State::Recovery).ssthresh(7);
    assert_eq!(flow.marked(), [(2, LossDetector::Rack), (3, LossDetector::Rack)]);
    flow.pipe(0).cwnd(1).sends("fast 2");
    // SafeACK: max(2 − 1, 1) + 1.
    flow.at(1202).sack(2, &[4..=4]).cwnd(2).sends("fast 3");
    flow.at(1402).ack(4).state(State::Open).cwnd(7);
    // The recovery has paid for it (§7.1 resets the episode).
    flow.writes(3).sends("5-7").at(1602).ack(7).ssthresh(7);
    assert_eq!(flow.count(Event::ProbeRepairedLoss), 0);
}

#[test]
fn it_probes_in_cwr_too() {
    // Linux 6: Open or CWR; the draft: Open.
    for (profile, at) in [("linux-6", Some(802)), ("linux-3.17+tlp", None)] {
        let mut flow = Script::connected(profile, 200);
        flow.writes(10).sends("1-10").at(400).congested().ack(5);
        flow.state(State::Cwr).sends("nothing");
        match at {
            Some(at) => flow.timer(Timer::Probe, at),
            None => flow.no_timer(Timer::Probe),
        };
    }
}

//= test: RFC 8985 §7.2
#[test]
fn there_is_none_in_recovery_and_in_loss() {
    let mut flow = tail("linux-6", 4);
    flow.at(401).sack(4, &[6..=8]).state(State::Recovery).sends("fast 5");
    flow.no_timer(Timer::Probe).at(410).sack(4, &[6..=9]).no_timer(Timer::Probe);
    let mut flow = tail("linux-6", 7);
    flow.expires(Timer::Probe, 802).sends("tlp 10");
    flow.expires(Timer::Rto, 1402).state(State::Loss).sends("rto 8").no_timer(Timer::Probe);
    flow.at(1602).ack(8).sends("slow_start 9-10").no_timer(Timer::Probe);
}

//= test: RFC 8985 §7.3
#[test]
fn a_tail_is_probed_once() {
    for profile in ["linux-3.17+tlprfc", "linux-6"] {
        let mut flow = tail(profile, 9);
        flow.expires(Timer::Probe, 1000).sends("tlp 10").no_timer(Timer::Probe);
        flow.at(1010).ack(9).no_timer(Timer::Probe);
        flow.expires(Timer::Rto, 1600).sends("rto 10").no_timer(Timer::Probe);
    }
}

#[test]
fn a_probe_in_flight_is_one_more_retransmission_to_explain() {
    // Linux tcp_init_undo: undo_retrans counts it. Nothing was lost, the ACKs were late.
    let mut flow = tail("linux-6", 6);
    flow.expires(Timer::Probe, 802).sends("tlp 10");
    flow.at(810).sack(6, &[8..=10]).state(State::Recovery).sends("fast 7");
    flow.at(820).ack(10).state(State::Open).ssthresh(11); // ⌊16·0.7⌋
    flow.at(1010).sack(10, &[7..=7]).undone(0, 0, 0).ssthresh(11);
    flow.at(1011).sack(10, &[10..=10]).undone(1, 0, 0).ssthresh(u32::MAX);
}

/// A sender whose allowance for delayed ACKs is measured, at an RTT of 200 ms. It sends a segment each second.
fn measuring() -> Script {
    let mut flow = Script::connected("linux-6", 200);
    flow.sender.mechanisms.probe = Some(ProbeRules { ack_delay: AckDelay::Measured, ..ProbeRules::LINUX_6 });
    flow
}

/// Segment `n` is sent and acknowledged `after` ms later. Returns how far beyond twice SRTT its probe was due, in ms, and
/// whether that was the time of the RTO.
fn exchange(flow: &mut Script, n: u64, after: u64) -> (u64, bool) {
    let now = n * 1000;
    flow.at(now).writes(1).sends(&n.to_string());
    let srtt = flow.sender.rtt().srtt().unwrap();
    let due = flow.sender.deadline(Timer::Probe).unwrap();
    let waits = due.since(Instant::from_millis(now));
    let by_rto = Some(due) == flow.sender.deadline(Timer::Rto);
    flow.at(now + after).ack(n);
    ((waits - 2 * srtt).as_millis() as u64, by_rto)
}

#[test]
fn the_allowance_for_a_delayed_ack_follows_the_receiver() {
    let mut flow = measuring();
    let allowances: Vec<_> = (1..=6).map(|n| exchange(&mut flow, n, 240)).collect();
    // Until three ACKs came it is 200 ms, or what the RTO leaves of it; then what 240 ms exceed SRTT by.
    let expected = [(200, true), (195, true), (163, true), (26, false), (23, false), (20, false)];
    assert_eq!(allowances, expected);
}

#[test]
fn a_needless_probe_brings_the_usual_allowance_back() {
    let mut flow = measuring();
    assert_eq!([1, 2, 3, 4].map(|n| exchange(&mut flow, n, 210).1), [true, true, true, false]);
    flow.at(5000).writes(1).sends("5");
    let due = flow.fires(Timer::Probe);
    flow.sends("tlp 5");
    // The receiver had the original, and says so.
    flow.at(due + 10).ack(5).sack(5, &[5..=5]);
    assert_eq!([6, 7, 8, 9].map(|n| exchange(&mut flow, n, 210).1), [true, true, true, false]);
}
