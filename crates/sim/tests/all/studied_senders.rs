//! The senders of the 2007 loss detection study with a lost tail: how long after the last ACK each
//! retransmits it, by the study's Table I.

use std::time::Duration;

use recoup_path::HopSpec;
use recoup_path::PathSpec;
use recoup_recovery::Profile;
use recoup_sim::{FlowSpec, NoObserver, Simulation, TimerModel};
use recoup_tcp as tcp;
use recoup_tcp::flow::{FlowRecord, Workload};
use recoup_units::FlowId;

/// Payload of a full segment.
const MSS: u64 = 1448;

/// A response of ten segments with an RTT of `rtt` ms and an ACK per segment; the last is lost.
fn lost_tail(profile: &str, rtt: u64, timestamps: bool) -> FlowRecord {
    let profile: Profile = profile.parse().unwrap();
    let host = tcp::Config { timestamps, mss: MSS as u16, ..tcp::Config::new(*profile.mechanisms()) };
    let spec =
        FlowSpec { client: host, server: host, timers: TimerModel::Exact, workload: Workload::exchange(0, 10 * MSS) };
    let way = HopSpec::Delay(Duration::from_micros(500 * rtt));
    let path = PathSpec { up: vec![way.clone()], down: vec![HopSpec::Loss("data:10".parse().unwrap()), way] };
    let mut simulation = Simulation::new(&path).unwrap();
    simulation.run(&spec, 1, FlowId(0), &mut NoObserver)
}

#[test]
fn timeouts_are_those_of_the_table() {
    // Times in ms. The handshake's sample R gives 4·RTTVAR = 2·R, and each later sample reduces it to
    // three quarters. There are nine samples per segment (ACKs 1 to 9), three per flight from a window
    // of two (ACKs 1, 3, 7), and four per flight from a window of one (ACKs 1, 2, 4, 8).
    let cases = [
        // Minimum RTOs: 200, 200, 400 and 1200 ms, and SRTT + 200 ms in the kernel, in ticks of 10 and 100 ms.
        ("linux-2.4", 83, false, 210), // 83 + 124.5, see below
        ("linux-2.4+minrttvar", 83, false, 290),
        ("windows-xp", 83, false, 200),
        ("solaris-10", 83, false, 400),
        ("freebsd-5", 83, false, 1200),
        // 4·RTTVAR falls from 806 to 717.85 and 602.1, by a quarter of the distance to the flight's largest.
        ("linux-2.4", 403, false, 1010),
        ("windows-xp", 403, false, 800), // 403 + 340.0
        ("windows-xp", 403, true, 800),
        ("solaris-10", 403, false, 570),  // 503.75 + 60.5
        ("freebsd-5", 1003, false, 1640), // 1003 + 634.7
        ("freebsd-5", 1003, true, 1200),  // 1003 + 150.6 by timestamps
    ];
    for (profile, rtt, timestamps, expected) in cases {
        let record = lost_tail(profile, rtt, timestamps);
        let case = format!("{profile}, RTT {rtt} ms, timestamps {timestamps}");
        assert_eq!(record.last_ack_to_retransmission, Some(Duration::from_millis(expected)), "{case}");
        let again = record.counters.retransmissions;
        assert_eq!((again.total(), record.spurious), (1, 0), "{case}");
        assert!(record.completed(), "{case}");
    }
}

#[test]
fn an_added_probe_is_sent_before_the_timeout() {
    // PTO = max(2·SRTT, 1.5·SRTT + 200 ms) with one segment outstanding, at most the RTO.
    let record = lost_tail("windows-xp+tlp", 403, false);
    let pto = Duration::from_micros(403_000 * 3 / 2 + 200_000);
    assert_eq!(record.last_ack_to_retransmission, Some(pto.min(Duration::from_millis(800))));
}
