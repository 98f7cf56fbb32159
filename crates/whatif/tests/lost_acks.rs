//! Captures of flows that lose ACKs, and no data.

mod capture;

use capture::{Captured, capture, flow_spec, path};
use recoup_path::{HopSpec, PathSpec};
use recoup_recovery::Profile;
use recoup_sim::FlowSpec;
use recoup_tcp::{
    AckPolicy, Config,
    flow::{Host, Workload},
};
use recoup_units::BitRate;
use recoup_whatif::{Mismatch, Recorded, Reproduced, Rerunner, record};
use std::{sync::Arc, time::Duration};

/// A path without data losses, at 100 Mbit/s.
fn lossy_acks(owd_ms: u64, drops: &str, segments: u64) -> PathSpec {
    let mut path = path(owd_ms, drops, segments);
    let rate = BitRate::from_bits_per_second(100_000_000).unwrap();
    path.down.push(HopSpec::Rate { rate, queue: "none".parse().unwrap() });
    path
}

fn flow(path: &PathSpec, sender: &str, acks: AckPolicy, segments: u64, number: u64) -> Captured {
    let profile: Profile = sender.parse().unwrap();
    let spec = FlowSpec {
        client: Config { acks, ..Config::new(*profile.mechanisms()) },
        workload: Workload::exchange(0, segments * 1448),
        ..flow_spec(&profile, profile.mechanisms(), segments)
    };
    capture(path, &profile, &spec, number)
}

fn rerun(captured: &Captured, sender: &str) -> (Recorded, Result<Reproduced, Mismatch>) {
    let profile: Profile = sender.parse().unwrap();
    let recorded = record(&captured.packets, Host::Server, &captured.rows).expect("a suitable capture");
    let reproduced = Rerunner::new().reproduce(&Arc::new(recorded.clone()), &[*profile.mechanisms()]);
    (recorded, reproduced)
}

/// A flow of ten segments that loses these ACKs is rerun, and its rerun delivers the data when the flow did.
fn is_as_captured(sender: &str, drops: &str) {
    let captured = flow(&lossy_acks(35, drops, 10), sender, AckPolicy::Quick, 10, 0);
    assert!(!captured.rows.is_empty(), "{drops}: the ACKs are needed");
    let (recorded, reproduced) = rerun(&captured, sender);
    assert!(!recorded.has_loss(), "{sender}, {drops}: {:?}", recorded.transmissions());
    let base = reproduced.unwrap_or_else(|apart| panic!("{sender}, {drops}: {apart}")).base;
    assert!(
        base.fct.unwrap().abs_diff(captured.record.fct.unwrap()) < Duration::from_millis(1),
        "{sender}, {drops}: {base:?}"
    );
    assert_eq!(base.retransmissions as usize, captured.rows.len());
}

#[test]
fn data_whose_ack_is_lost_at_the_end_was_not_lost() {
    for sender in ["linux-3.17", "linux-6"] {
        // The ACK of the last segment, and those of its retransmissions.
        is_as_captured(sender, "up:ack:11,up:ack:12");
        is_as_captured(sender, "up:ack:11,up:ack:12,up:ack:13");
    }
}

#[test]
fn data_whose_acks_are_lost_before_the_end_was_not_lost() {
    for sender in ["linux-3.17", "linux-6"] {
        // The ACKs of the last two segments, and that of a retransmission.
        is_as_captured(sender, "up:ack:10,up:ack:11,up:ack:12");
    }
}

#[test]
fn a_syn_whose_ack_is_lost_was_not_lost() {
    for sender in ["linux-3.17", "linux-6"] {
        is_as_captured(sender, "up:ack:1,up:ack:2");
    }
}

/// Flows that lose ACKs at random.
#[derive(Debug, Default)]
struct Shares {
    apart: u32,
    /// Those that are taken to have lost data.
    with_loss: u32,
    /// The sum of the captured durations, and that of the flows reported apart.
    time: Duration,
    time_apart: Duration,
    /// The sum of the flow completion times of the others, and by how much their reruns differ.
    fct: Duration,
    error: Duration,
}

fn shares(sender: &str, acks: AckPolicy, percent: u64) -> Shares {
    let mut shares = Shares::default();
    for number in 0..150 {
        let drops = format!("up:bernoulli:{percent}%");
        let segments = 10 + number * 37 % 60;
        let captured = flow(&lossy_acks(10 + number * 13 % 60, &drops, segments), sender, acks, segments, number);
        let (recorded, reproduced) = rerun(&captured, sender);
        shares.with_loss += u32::from(recorded.has_loss());
        shares.time += recorded.duration();
        match reproduced {
            Ok(reproduced) => {
                // The SYNs that were lost on their way to the capture are no part of it.
                let times = [captured.record.fct_established, reproduced.base.fct_established];
                let [fct, rerun] = times.map(|fct| fct.expect("a complete flow"));
                shares.fct += fct;
                shares.error += rerun.abs_diff(fct);
            }
            Err(_) => {
                shares.apart += 1;
                shares.time_apart += recorded.duration();
            }
        }
    }
    println!("{sender}, {acks:?}, {percent} % of the ACKs lost: {shares:?}");
    shares
}

/// Before lost ACKs were told from lost data, the flows reported apart held up to 61 % of the time.
#[test]
fn slow_flows_that_lose_acks_are_not_reported_apart() {
    let linux = AckPolicy::Linux { quick: AckPolicy::LINUX_QUICK };
    for sender in ["linux-3.17", "linux-6"] {
        for acks in [AckPolicy::Quick, linux, AckPolicy::Delayed(Duration::from_millis(200))] {
            for percent in [10, 25] {
                let shares = shares(sender, acks, percent);
                assert!(shares.time_apart * 50 <= shares.time, "{shares:?}");
                assert!(shares.error * 50 <= shares.fct, "{shares:?}");
                assert_eq!(shares.with_loss, 0);
            }
        }
    }
}
