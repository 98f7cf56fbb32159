//! The rate controls side by side on the same losses: twenty segments in flight, Reno's ssthresh of
//! ten, three SACKed segments above make one lost; the settings of RFC 6937 §3.1's examples. (Those
//! count limited transmit into the flight, and so halve 22.)

use super::super::*;
use super::script::Script;

/// Twenty segments left at 100 ms.
fn twenty(mechanisms: &str) -> Script {
    let mut flow = Script::connected(&format!("linux-3.17+reno+nofack+{mechanisms}"), 100);
    flow.sender.congestion.cwnd = Segments(20);
    flow.writes(80).sends("1-20");
    flow
}

/// `N` where an ACK sends new data, `R` a retransmission, `.` nothing; several as they come.
fn letters(sent: &str) -> String {
    match sent {
        "" => ".".into(),
        _ => sent.split(", ").map(|s| if s.contains(' ') { 'R' } else { 'N' }).collect(),
    }
}

/// One ACK a millisecond, from 200 ms on, each SACKing one segment more of those from `first` to
/// `last`; what each sends, and how much is in flight before.
fn acks(flow: &mut Script, first: u64, last: u64) -> (Vec<String>, Vec<u32>) {
    (first..=last)
        .map(|n| {
            flow.at(200 + n - first).sack(0, &[first..=n]);
            let pipe = flow.sender.pipe().0;
            (letters(&flow.sent()), pipe)
        })
        .unzip()
}

/// Segment 1 is lost; what the ACKs of 2 to 20 send, and the pipe at each.
fn one_lost(mechanisms: &str) -> (String, Vec<u32>) {
    let (sent, pipe) = acks(&mut twenty(mechanisms), 2, 20);
    (sent.concat(), pipe)
}

/// Segments 1 to 15 are lost; what the ACKs of 16 to 20 send, and the pipe at each.
fn fifteen_lost(mechanisms: &str) -> (Vec<String>, Vec<u32>) {
    acks(&mut twenty(mechanisms), 16, 20)
}

//= test: RFC 6675 §5 (C)
#[test]
fn the_standard_is_silent_until_the_pipe_is_below_ssthresh() {
    // RFC 6937 §3.1, RFC 6675: nothing for half the ACKs, then one for one.
    let (sent, pipe) = one_lost("std");
    assert_eq!(sent, "NNR.........NNNNNNN");
    let falling = [19, 19, 18, 18, 17, 16, 15, 14, 13, 12, 11, 10];
    assert_eq!(pipe[..12], falling);
    assert_eq!(pipe[12..], [9; 7]);
}

#[test]
fn rate_halving_sends_on_every_second_ack() {
    // RFC 6937 §3.1, Rate-Halving (Linux).
    let (sent, pipe) = one_lost("halving");
    assert_eq!(sent, "NNR.N.N.N.N.N.N.N.N");
    let expected = [19, 19, 18, 18, 17, 17, 16, 16, 15, 15, 14, 14, 13, 13, 12, 12, 11, 11, 10];
    assert_eq!(pipe, expected);
}

#[test]
fn prr_spreads_the_sending_evenly() {
    // ⌈10·delivered/20⌉ − out while the pipe is above ten; the last ACK finds it there. Twenty is the window
    // (Linux), and what had not arrived before the third SACK (RFC 9937 §6.1).
    for bound in ["prrlinux3", "prrlinux", "prrsafe"] {
        let (sent, pipe) = one_lost(bound);
        assert_eq!(sent, "NNR.N.N.N.N.N.N.N..", "{bound}");
        let expected = [19, 19, 18, 18, 17, 17, 16, 16, 15, 15, 14, 14, 13, 13, 12, 12, 11, 11, 10];
        assert_eq!(pipe, expected, "{bound}");
    }
}

#[test]
fn prr_of_the_flight_size_counts_what_limited_transmit_sent() {
    // RFC 6937 §3: ⌈10·delivered/22⌉ − out. Two of the 22 had arrived before.
    for bound in ["prr", "prrcrb", "prrub"] {
        let (sent, pipe) = one_lost(bound);
        assert_eq!(sent, "NNR.N.N.N.N..N.N..N", "{bound}");
        let expected = [19, 19, 18, 18, 17, 17, 16, 16, 15, 15, 14, 14, 13, 12, 12, 11, 11, 10, 9];
        assert_eq!(pipe, expected, "{bound}");
    }
}

#[test]
fn prr_with_cubic_sends_seven_segments_per_ten_delivered() {
    // The 2011 paper §4: ssthresh 14 of 20, ⌈14·delivered/20⌉ − out.
    let mut flow = Script::connected("linux-3.17+nofack", 100);
    flow.sender.congestion.cwnd = Segments(20);
    flow.writes(80).sends("1-20");
    let (sent, _) = acks(&mut flow, 2, 13);
    flow.ssthresh(14);
    assert_eq!(sent.concat(), "NNRNN.NN.NN.");
}

#[test]
fn prr_sends_in_proportion_to_the_data_a_stretch_ack_delivers() {
    // The 2011 paper §4.3, property 4: ten delivered at once are worth five, whatever the ACKs.
    let mut flow = twenty("prr");
    flow.at(200).sack(0, &[2..=4]).pipe(16).sends("fast 1, 21");
    flow.at(201).sack(0, &[2..=7]).pipe(15).sends("22");
    flow.at(202).sack(0, &[2..=11]).pipe(12).sends("23-24"); // ⌈10·10/20⌉ − 3
    // Rate halving counts ACKs: one segment for two of them.
    let mut flow = twenty("halving");
    flow.at(200).sack(0, &[2..=4]).pipe(16).sends("fast 1");
    flow.at(201).sack(0, &[2..=7]).pipe(14).sends("21");
    flow.at(202).sack(0, &[2..=11]).pipe(11).sends("22");
}

#[test]
fn under_heavy_loss_the_standard_sends_a_burst() {
    // RFC 6937 §3.1: all that the pipe is short of ssthresh at once.
    let (sent, pipe) = fifteen_lost("std");
    assert_eq!(sent, ["N", "N", "RRRRRR", "R", "R"]);
    assert_eq!(pipe, [19, 19, 4, 9, 9]);
}

#[test]
fn under_heavy_loss_rate_halving_sends_one_an_ack() {
    // RFC 6937 §3.1: cwnd = pipe + 1.
    let (sent, pipe) = fifteen_lost("halving");
    assert_eq!(sent, ["N", "N", "R", "R", "R"]);
    assert_eq!(pipe, [19, 19, 4, 4, 4]);
}

#[test]
fn under_heavy_loss_the_conservative_bound_sends_one_an_ack() {
    let (sent, pipe) = fifteen_lost("prrcrb");
    assert_eq!(sent, ["N", "N", "R", "R", "R"]);
    assert_eq!(pipe, [19, 19, 4, 4, 4]);
}

#[test]
fn under_heavy_loss_the_slow_start_bound_sends_two_an_ack() {
    let (sent, pipe) = fifteen_lost("prr");
    assert_eq!(sent, ["N", "N", "RR", "RR", "RR"]);
    assert_eq!(pipe, [19, 19, 4, 5, 6]);
}

#[test]
fn under_heavy_loss_the_unlimited_bound_sends_as_the_standard_does() {
    let (sent, pipe) = fifteen_lost("prrub");
    assert_eq!(sent, ["N", "N", "RRRRRR", "R", "R"]);
    assert_eq!(pipe, [19, 19, 4, 9, 9]);
}

//= test: RFC 9937 §6.2
#[test]
fn safe_acks_turn_the_conservative_bound_into_slow_start() {
    // RFC 9937 §6.2, figure 2: these ACKs do not advance.
    let mut flow = twenty("prrsafe");
    let (sent, pipe) = acks(&mut flow, 16, 20);
    assert_eq!(sent, ["N", "N", "R", "R", "R"]);
    assert_eq!(pipe, [19, 19, 4, 4, 4]);
    flow.at(300).sack(0, &[16..=21]).sends("fast 4");
    flow.at(301).sack(0, &[16..=22]).sends("fast 5");
    // The retransmissions of 202 ms and later arrive: snd_una moves and nothing more is lost.
    flow.at(302).sack(1, &[16..=22]).pipe(4).sends("fast 6-7");
    flow.at(303).sack(2, &[16..=22]).pipe(5).sends("fast 8-9");
}

//= test: RFC 9937 §6.2
#[test]
fn an_ack_that_advances_and_reveals_a_further_loss_is_not_safe() {
    // RFC 9937 §3, SafeACK. By RACK: the retransmission of 1 arrives, and 5 to 10 left before it.
    let mut flow = Script::connected("linux-6+reno", 80);
    flow.writes(40).sends("1-10");
    flow.at(160).sack(0, &[2..=4]).ssthresh(5).pipe(6).sends("fast 1, 11"); // ⌈5·3/10⌉
    // 11 is in flight; banked 4 − 2, and none more.
    flow.at(240).ack(4).pipe(1).cwnd(3).sends("fast 5-6");
}

//= test: RFC 9937 §6.4
#[test]
fn the_window_after_recovery_is_ssthresh_but_for_rate_halving() {
    // Algorithm 2; RFC 6675 §5; Linux 2.6 tcp_complete_cwr keeps what the recovery wore away. The
    // application has nothing more to send.
    for (mechanisms, cwnd) in [("std", 5), ("prr", 5), ("prrcrb", 5), ("prrsafe", 5), ("halving", 2)] {
        let mut flow = Script::connected(&format!("linux-3.17+reno+{mechanisms}"), 80);
        flow.writes(10).sends("1-10");
        flow.at(160).sack(0, &[2..=4]).sends("fast 1");
        flow.at(161).sack(0, &[2..=10]).pipe(1).sends("nothing");
        flow.at(240).ack(10).state(State::Open).cwnd(cwnd);
    }
}

#[test]
fn prr_saves_deliveries_without_data_to_send() {
    // The 2011 paper §4.3, property 3, figure 4: at most three after a stall of six deliveries.
    let mut flow = Script::connected("linux-3.17+reno", 100);
    flow.sender.congestion.cwnd = Segments(20);
    flow.writes(20).sends("1-20");
    flow.at(200).sack(0, &[2..=4]).ssthresh(10).pipe(16).sends("fast 1");
    flow.at(201).sack(0, &[2..=8]).sends("nothing").pipe(13);
    // ⌈10·7/20⌉ − 1.
    flow.at(202).writes(10).sends("21-23");
    flow.at(203).sack(0, &[2..=9]).sends("nothing");
    flow.at(204).sack(0, &[2..=10]).sends("24"); // ⌈10·9/20⌉ − 4
}

#[test]
fn a_congestion_signal_reduces_by_the_same_rule() {
    // RFC 6937 §3 "other algorithms"; Linux tcp_cwnd_reduction in CWR. What the first ACKs send.
    for (mechanisms, sent) in [
        ("prr", "N.N.N.N.N.N."),
        ("prrcrb", "N.N.N.N.N.N."),
        ("prrsafe", "N.N.N.N.N.N."),
        ("halving", "N.N.N.N.N.N."),
        ("std", "..........NN"),
    ] {
        let mut flow = twenty(mechanisms);
        flow.at(200).congested().state(State::Cwr).ssthresh(10);
        let letters: String = (1..=12)
            .map(|n| {
                flow.at(200 + n).ack(n);
                letters(&flow.sent())
            })
            .collect();
        assert_eq!(letters, sent, "{mechanisms}");
        flow.state(State::Cwr);
    }
}

#[test]
fn a_cwr_reduction_ends_once_the_data_then_in_flight_is_acknowledged() {
    // tcp_fastretrans_alert: CWR ends with snd_una > high_seq, at ssthresh.
    let mut flow = twenty("prr");
    flow.at(200).congested();
    flow.at(201).ack(8).sends("21-24").state(State::Cwr); // ⌈10·8/20⌉ over a pipe of 12
    flow.at(202).ack(20).state(State::Cwr).pipe(4).sends("25-30"); // up to ssthresh
    flow.at(301).ack(21).state(State::Open).cwnd(10).ssthresh(10);
    flow.sends("31");
}

#[test]
fn congestion_reduces_the_window_once_per_round_trip() {
    let mut flow = twenty("prr");
    flow.at(200).congested().ssthresh(10).at(210).congested().ssthresh(10);
    flow.at(211).ack(1).sends("21").congested().ssthresh(10);
}

#[test]
fn a_loss_found_during_the_reduction_reduces_no_further() {
    // tcp_enter_recovery from CWR keeps ssthresh, the recovery point and PRR's counters.
    let mut flow = twenty("prr");
    flow.at(200).congested().ssthresh(10);
    flow.at(201).sack(0, &[2..=4]).state(State::Recovery).ssthresh(10);
    // ⌈10·3/20⌉ = 2 over a pipe of 16.
    flow.pipe(16).cwnd(18).sends("fast 1, 21");
}

#[test]
fn a_congestion_signal_holds_back_what_is_written_next() {
    // Linux 2.6 tcp_enter_cwr: cwnd = min(cwnd, in flight + 1) at once. RFC 3168 §6.1.2 with RFC
    // 5681: half. PRR moves the window with the next ACK. Five of twenty are in use.
    for (mechanisms, cwnd) in [("halving", 6), ("std", 10), ("prr", 20)] {
        let mut flow = Script::connected(&format!("linux-3.17+reno+{mechanisms}"), 100);
        flow.sender.congestion.cwnd = Segments(20);
        flow.writes(5).sends("1-5").at(110).congested().ssthresh(10).cwnd(cwnd);
    }
}

#[test]
fn the_first_segment_of_a_reduction_goes_even_where_none_is_due() {
    // RFC 9937 §6.2: while prr_out is 0 one is allowed, also without a recovery. RFC 6937 and Linux
    // 3.17 have no such rule outside of the fast retransmit. The pipe is ssthresh exactly.
    for (mechanisms, cwnd) in [("prrsafe", 11), ("prr", 10)] {
        let mut flow = Script::connected(&format!("linux-3.17+reno+{mechanisms}"), 100);
        flow.sender.congestion.cwnd = Segments(20);
        flow.writes(11).sends("1-11").at(150).congested();
        flow.at(200).ack(1).pipe(10).cwnd(cwnd);
    }
}
