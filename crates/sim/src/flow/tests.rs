use super::*;
use crate::NoObserver;
use recoup_recovery::Profile;
use recoup_tcp::AckPolicy;
use std::time::Duration;

fn tail_loss(profile: &str, rtt_ms: u64, lost: u64, acks: AckPolicy) -> FlowRecord {
    let profile: Profile = profile.parse().unwrap();
    let config = tcp::Config {
        acks,
        ..tcp::Config::new(*profile.mechanisms())
    };
    let spec = FlowSpec {
        client: config,
        server: config,
        timers: TimerModel::Exact,
        workload: Workload {
            request: 0,
            response: 14_480,
            close: false,
        },
    };
    let owd = HopSpec::Delay(Duration::from_micros(rtt_ms * 500));
    let mut down = vec![owd.clone()];
    if lost > 0 {
        down.insert(
            0,
            HopSpec::Loss(format!("data:{}-10", 11 - lost).parse().unwrap()),
        );
    }
    let mut sim = Simulation::new(&PathSpec {
        up: vec![owd],
        down,
    })
    .unwrap();
    sim.run(&spec, 1, FlowId(0), &mut NoObserver)
}

#[test]
fn each_mechanism_saves_what_it_should_on_a_single_tail_loss() {
    // (profile, FCT in ms with quick ACKs at 80 ms): RTO 280 ms after the last ACK at 200 ms, or
    // after the transmission at 120 ms, and 40 ms back.
    for (profile, fct) in [
        ("linux-3.17", 520),
        ("linux-3.17+rtor", 440),
        ("linux-3.17+tlp", 520),
        ("linux-3.17+tlpr", 440),
    ] {
        let record = tail_loss(profile, 80, 1, AckPolicy::Quick);
        assert_eq!(record.fct, Some(Duration::from_millis(fct)), "{profile}");
        assert_eq!(
            (record.retransmissions.total(), record.spurious),
            (1, 0),
            "{profile}"
        );
    }
}

#[test]
fn a_probe_beats_a_held_ack() {
    let record = tail_loss(
        "linux-3.17+tlp",
        80,
        1,
        AckPolicy::Delayed(Duration::from_millis(200)),
    );
    assert_eq!(record.fct, Some(Duration::from_millis(400)));
    assert_eq!(record.retransmissions.of(Trigger::Tlp), 1);
}
