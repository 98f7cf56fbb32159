//! RecoverFS, the flight that PRR takes its proportion of, by the 2011 paper's algorithm 2 (`prr`), by RFC 9937
//! §6.1 (`prrsafe`) and by Linux (`prrlinux`, `prrlinux3`).

use super::super::*;
use super::script::{MSS, Script};

/// The mechanisms, in the order of the tables below.
const NAMES: [&str; 4] = ["prr", "prrsafe", "prrlinux", "prrlinux3"];

/// A sender with a window of `cwnd`, after `run`, for each mechanism. `base` is its profile without the mechanism.
fn each(base: &str, cwnd: u32, run: impl Fn(&mut Script)) -> [Script; 4] {
    NAMES.map(|name| {
        let mut flow = Script::connected(&format!("{base}+{name}"), 100);
        flow.sender.congestion.cwnd = Segments(cwnd);
        run(&mut flow);
        flow
    })
}

/// RecoverFS and ssthresh of each.
fn flights(mut flows: [Script; 4]) -> [(u32, u32); 4] {
    flows.each_mut().map(|flow| {
        flow.sent();
        let Reduction::Prr(prr) = flow.sender.congestion.reduction else {
            panic!("no PRR");
        };
        let ssthresh = flow.sender.ssthresh();
        (prr.recover_flight().0, ssthresh.0)
    })
}

/// The segments sent on each ACK. One arrives per segment from `first` to `last`, and SACKs from `from` on.
fn counts(flow: &mut Script, at: u64, from: u64, first: u64, last: u64) -> String {
    let sent = |n| {
        flow.at(at + n - first).sack(0, &[from..=n]);
        let sent = flow.sent();
        sent.split(", ").filter(|s| !s.is_empty()).count()
    };
    (first..=last).map(sent).map(|n| n.to_string()).collect()
}

#[test]
fn the_kernels_keep_the_window() {
    for (base, name) in [("linux-3.17", "prrlinux3"), ("linux-6", "prrlinux")] {
        let named = Mechanisms::of_profile(&format!("{base}+{name}"));
        assert_eq!(Mechanisms::of_profile(base), named);
        assert_ne!(Mechanisms::of_profile(&format!("{base}+prr")), named);
        assert_ne!(Mechanisms::of_profile(&format!("{base}+prrsafe")), named);
    }
}

#[test]
fn the_three_differ_where_the_window_is_not_full_and_data_had_arrived() {
    // A window of 30, 24 of them in flight, nothing else to send. 2 and 3 arrive before recovery.
    let flows = each("rfc6675", 30, |flow| {
        flow.writes(24).sends("1-24");
        flow.at(200).sack(0, &[2..=2]).at(201).sack(0, &[2..=3]);
        flow.at(202).sack(0, &[2..=4]).sends("fast 1").writes(60);
    });
    assert_eq!(flights(flows), [(24, 12), (22, 12), (30, 12), (30, 12)]);
}

#[test]
fn each_sends_its_share_of_the_flight() {
    // ⌈12·delivered/F⌉ − out. The third SACK delivered one, and released the retransmission.
    let flows = each("rfc6675", 30, |flow| {
        flow.writes(24).sends("1-24");
        flow.at(200).sack(0, &[2..=2]).at(201).sack(0, &[2..=3]);
        flow.at(202).sack(0, &[2..=4]).sends("fast 1").writes(60);
    });
    let sent = flows.map(|mut flow| counts(&mut flow, 203, 2, 5, 12));
    // F is 24, 22 and 30: one for two, six for eleven, and two for five.
    assert_eq!(sent, ["01010101", "10101010", "01001010", "01001010"]);
}

#[test]
fn half_of_the_window_in_flight_is_halved_and_not_quartered() {
    // One of twenty is lost, and the window of forty was not in use: ssthresh is half the flight
    // (RFC 5681 §3.1), so every second ACK releases a segment.
    let flows = each("rfc6675", 40, |flow| {
        flow.writes(20).sends("1-20");
        flow.at(200).sack(0, &[2..=4]).writes(60).ssthresh(10);
        assert_eq!(flow.sent().split(',').next(), Some("fast 1"));
    });
    let sent = flows.map(|mut flow| counts(&mut flow, 201, 2, 5, 12));
    assert_eq!(sent, ["01010101", "01010101", "01000100", "01000100"]);
}

//= test: RFC 9937 §6.1
#[test]
fn what_limited_transmit_sent_counts_and_what_it_was_sent_for_does_not_in_rfc_9937() {
    let flows = each("linux-3.17+reno+nofack", 20, |flow| {
        flow.writes(80).sends("1-20");
        flow.at(200).sack(0, &[2..=2]).sends("21");
        flow.at(201).sack(0, &[2..=3]).sends("22");
        flow.at(202).sack(0, &[2..=4]).sends("fast 1");
    });
    assert_eq!(flights(flows), [(22, 10), (20, 10), (20, 10), (20, 10)]);
}

//= test: RFC 9937 §6.1
#[test]
fn the_ack_that_begins_recovery_counts_for_rfc_9937_with_all_it_delivers() {
    // It acknowledges 1 to 5, of which 3 and 4 had arrived, and SACKs 7 to 10: 15 outstanding, 3 newly acknowledged.
    let flows = each("linux-3.17+reno+nofack", 20, |flow| {
        flow.writes(20).sends("1-20");
        flow.at(200).sack(0, &[3..=4]);
        flow.at(201).sack(5, &[7..=10]).state(State::Recovery);
    });
    // In slow start, the window grew by five first.
    assert_eq!(flights(flows), [(15, 12), (18, 12), (25, 12), (25, 12)]);
}

#[test]
fn a_recovery_begun_by_a_timer_counts_no_ack() {
    // 2 and 3 arrived; RACK's timer finds 1 lost.
    let flows = each("linux-6+reno+notlp", 20, |flow| {
        flow.writes(20).sends("1-20");
        flow.at(200).sack(0, &[2..=3]).state(State::Disorder);
        let (at, timer) = flow.sender.next_timer().unwrap();
        assert_eq!(timer, Timer::Reorder);
        flow.sender.on_timer(at, timer);
        assert_eq!(flow.sender.state(), State::Recovery);
    });
    assert_eq!(flights(flows), [(20, 10), (18, 10), (20, 10), (20, 10)]);
}

#[test]
fn a_congestion_signal_counts_the_flight_of_its_moment() {
    // Sixteen of thirty in flight, 3 of them arrived. ssthresh is half the flight.
    let flows = each("rfc6675", 30, |flow| {
        flow.writes(16).sends("1-16");
        flow.at(200).sack(0, &[2..=2]).congested();
    });
    assert_eq!(flights(flows), [(16, 8), (15, 8), (30, 8), (30, 8)]);
}

#[test]
fn a_flight_below_ssthresh_counts_as_ssthresh() {
    // Five of twenty in flight at the signal; then the window fills. Without the floor, ⌈10·n/5⌉ would send two
    // segments for each delivered.
    let flows = each("linux-3.17+reno", 20, |flow| {
        flow.writes(5).sends("1-5");
        flow.at(110).congested().ssthresh(10);
        flow.writes(40).sends("6-20");
        flow.at(200).ack(9).sends("nothing").pipe(11);
    });
    assert_eq!(flights(flows), [(10, 10), (10, 10), (20, 10), (20, 10)]);
}

#[test]
fn without_sack_duplicate_acks_do_not_shrink_the_flight() {
    let flows = each("linux-3.17+reno", 20, |flow| {
        flow.sender.set_sack(false);
        flow.writes(20).sends("1-20");
        (0..3).for_each(|n| {
            flow.at(200 + n).ack(0);
        });
        flow.state(State::Recovery);
    });
    assert_eq!(flights(flows), [(20, 10); 4]);
}

#[test]
fn where_windows_count_bytes_the_flight_does_too() {
    // Forty segments of half the size are twenty full ones. 2 to 5 arrive before recovery, 6 and 7 begin it.
    let half = MSS / 2;
    let flows = each("rfc6675", 30, |flow| {
        flow.sender.count_bytes(true);
        flow.unit(half);
        (0..40).for_each(|_| {
            flow.writes(1).sent();
        });
        flow.at(200).sack(0, &[2..=3]).state(State::Disorder);
        flow.at(201).sack(0, &[2..=7]).state(State::Recovery);
    });
    assert_eq!(flights(flows), [(20, 10), (19, 10), (30, 10), (30, 10)]);
}
