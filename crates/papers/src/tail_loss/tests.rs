use super::*;
use crate::claims;
use crate::experiment::Effort;

#[test]
fn the_csv_has_a_column_per_trigger() {
    let header = "figure,ack,rtt_ms,lost,mechanism,fct_ms,fct_normalised,fct_established_ms,\
         fct_established_normalised,fast,early,rto,slow_start,tlp,pmtu,mtu_probe,syn,syn_ack,spurious";
    assert_eq!(columns("fig1").names().join(","), header);
}

#[test]
fn verdicts_are_as_expected() {
    for name in ["detection", "timers", "fig1", "fig2"] {
        let experiment = crate::experiment::named(NAME, name).expect("an experiment");
        let sheet = experiment.run(&setup_of(name)).unwrap();
        claims::assert_known(NAME, name, Effort::Quick, &sheet.claims);
    }
}

#[test]
fn a_lost_fin_is_repeated_by_the_probe_or_the_timeout() {
    use recoup_recovery::Timer;
    let setup = setup_of("timers");
    for (profile, timer) in [("linux-3.17", Timer::Rto), ("linux-3.17+tlp", Timer::Probe)] {
        let trace = single_flow::run_losing_fin(&setup, profile, "drop=none").unwrap();
        let fins: Vec<_> = trace.fins().collect();
        assert_eq!(fins.len(), 2, "{profile}");
        assert!(fins.iter().all(|fin| fin.segment.payload_len == 0));
        assert_eq!(trace.fired(timer), 1, "{profile}");
    }
}

#[test]
fn a_repair_has_the_times_of_its_sender() {
    // Ten segments leave at 120 ms. Nine are acknowledged at 200 ms, and the timer counts 280 ms from there.
    let own = "rtt=80ms drop=tail:1 ack=quick";
    let trace = crate::flow::run(&setup_of("timers"), "linux-3.17", own).unwrap();
    let repairs = trace.repairs();
    assert_eq!(repairs.len(), 1);
    let one = repairs[0];
    assert_eq!((one.trigger, one.outstanding, one.duplicate_acks), (Some(Trigger::Rto), 1, 0));
    for (found, expected) in [
        (one.since_last_ack_ms, 280.0),
        (one.since_earliest_ms, 360.0),
        (one.since_newest_ms, 360.0),
        (one.srtt_ms, 80.0),
        (one.rto_ms, 280.0),
        (one.pto_ms(), 280.0),
    ] {
        assert!(crate::same(found, expected), "{found} {expected}");
    }
}

#[test]
fn a_held_syn_moves_the_flow_against_the_ticks() {
    use std::time::Duration;
    let setup = setup_of("fig1");
    let ticks = "timers=granularity:4ms";
    let held = |chains| tampered::Tampered::new(chains, tampered::Tamper::HoldSyn(Duration::ZERO));
    let mut bench = cell::bench_over(&setup, Acks::Quick, 10, 1, Mechanism::Baseline, ticks, held).unwrap();
    let mut fct = |held| {
        let tamper = tampered::Tamper::HoldSyn(Duration::from_millis(held));
        bench.simulation.network_mut().change(tamper);
        bench.record(0).fct_established.map(|fct| fct.as_millis())
    };
    // The server is established at 15 ms, and its timeout is due at 235 ms, both plus the time for which the SYN was held.
    // The retransmission leaves at the next tick and takes 5 ms.
    let fcts = [0, 1, 2, 3, 4].map(&mut fct);
    assert_eq!(fcts, [226, 225, 228, 227, 226].map(Some));
}

/// The setup of an experiment at the quick effort.
pub fn setup_of(name: &str) -> Setup {
    crate::experiment::setup_of(NAME, name, Effort::Quick)
}
