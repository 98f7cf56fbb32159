//! Flows over networks that drop, delay, duplicate, reorder and damage packets. Every byte is delivered
//! once and in order, every flow ends, and the record's counts are correct.

mod case;
mod text;
mod watch;

use case::{Case, any_case, any_hopeless_case};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use recoup_recovery::Retransmissions;
use recoup_recovery::Trigger;
use recoup_sim::{NoObserver, Simulation};
use recoup_tcp::flow::{FlowRecord, Host};
use recoup_tcp::{Closed, State};
use recoup_units::{FlowId, Offset};
use watch::Watch;

/// Runs a case in `simulation`. Checks it after every event, and its record at the end.
fn run(simulation: &mut Simulation, case: &Case) -> Result<(FlowRecord, Watch), TestCaseError> {
    let mut watch = Watch::default();
    let record = simulation.run(&case.spec(), case.seed, case.flow(), &mut watch);
    watch.verdict(&record, case.request > 0).map_err(TestCaseError::fail)?;
    Ok((record, watch))
}

/// Checks that both streams are complete and both endpoints idle.
fn check_delivered(simulation: &Simulation, case: &Case) -> Result<(), TestCaseError> {
    let streams = [(Host::Client, Host::Server, case.request), (Host::Server, Host::Client, case.response)];
    for (from, to, bytes) in streams {
        let (sender, receiver) = (simulation.endpoint(from), simulation.endpoint(to));
        let end = Offset::DATA + bytes + u64::from(case.close);
        prop_assert_eq!(receiver.receiver().next(), end, "from {}", from.name());
        prop_assert_eq!(receiver.readable(), 0);
        prop_assert_eq!(receiver.receiver().finished(), case.close);
        prop_assert_eq!(sender.sender().nxt(), end, "from {}", from.name());
    }
    let states = [Host::Client, Host::Server].map(|host| simulation.endpoint(host).state());
    // A host that retransmits its FIN after the other's TIME-WAIT is reset.
    let closed = |s: &State| matches!(s, State::Closed(Closed::Gracefully | Closed::ByReset));
    match case.close {
        true => {
            prop_assert!(states.iter().all(closed) && states.contains(&State::Closed(Closed::Gracefully)), "{states:?}")
        }
        false => prop_assert_eq!(states, [State::Established; 2]),
    }
    Ok(())
}

/// Checks that both streams are complete or a host gave up, and that no host waits for an ACK.
fn check_given_up(simulation: &Simulation, record: &FlowRecord) -> Result<(), TestCaseError> {
    let ends = [Host::Client, Host::Server].map(|host| simulation.endpoint(host));
    let states = ends.map(|end| end.state());
    let gave_up = states.contains(&State::Closed(Closed::ByTimeout));
    prop_assert!(record.completed() || gave_up, "{states:?}");
    for end in ends {
        let done = end.sender().una() == end.sender().limit();
        let closed = matches!(end.state(), State::Closed(_) | State::Listen);
        prop_assert!(done || closed, "{states:?}");
    }
    Ok(())
}

/// Checks all properties of a case.
fn check(case: &Case) -> Result<(), TestCaseError> {
    let mut simulation = Simulation::new(&case.path()).expect("a path");
    let (record, watch) = run(&mut simulation, case)?;
    if case.is_hopeless() {
        check_given_up(&simulation, &record)?;
    } else {
        prop_assert!(record.completed(), "{record:?}");
        prop_assert!(record.fct <= Some(record.duration));
        prop_assert!(record.fct_established < record.fct);
        check_delivered(&simulation, case)?;
    }

    // The case has the same result again, without an observer, and after another flow.
    let again = simulation.run(&case.spec(), case.seed, case.flow(), &mut NoObserver);
    prop_assert_eq!(again, record, "the second time");
    let mut other = case.clone();
    std::mem::swap(&mut other.client, &mut other.server);
    std::mem::swap(&mut other.request, &mut other.response);
    let buffers = (other.client.buffer, other.server.buffer);
    (other.client.buffer, other.server.buffer) = (buffers.1, buffers.0);
    let next = FlowId(case.flow + 1);
    simulation.run(&other.spec(), case.seed ^ 1, next, &mut NoObserver);
    let (after_another, watch_again) = run(&mut simulation, case)?;
    prop_assert_eq!(after_another, record, "after another flow");
    prop_assert!(watch_again == watch, "packets differ after another flow");
    Ok(())
}

/// A failing case prints the command that runs it again, so no file of failing seeds is needed.
fn config() -> ProptestConfig {
    ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(32 * ProptestConfig::default().cases) }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn every_byte_is_delivered_once_and_every_flow_ends(case in any_case()) {
        check(&case)?;
    }

    #[test]
    fn senders_give_up_on_a_hopeless_network(case in any_hopeless_case()) {
        check(&case)?;
    }

    #[test]
    fn a_printed_case_parses_to_the_same_case(case in prop_oneof![any_case(), any_hopeless_case()]) {
        prop_assert_eq!(case.to_string().parse(), Ok(case));
    }
}

/// Runs the case in `RECOUP_CASE`, as a failure prints it.
#[test]
fn a_case_given_by_hand() {
    let Ok(text) = std::env::var(text::VARIABLE) else {
        return;
    };
    let case = text.parse::<Case>();
    let case = case.unwrap_or_else(|error| panic!("{}: {error}", text::VARIABLE));
    check(&case).unwrap_or_else(|error| panic!("{error}\n{case:?}"));
}

/// Together the cases have every kind of retransmission, and enough losses, damage and duplicates.
#[test]
fn the_cases_cover_all_triggers_and_impairments() {
    let mut runner = TestRunner::deterministic();
    let (mut seen, mut sum) = (Retransmissions::default(), FlowRecord::default());
    for _ in 0..1000 {
        let case = any_case().new_tree(&mut runner).expect("a case").current();
        let mut simulation = Simulation::new(&case.path()).expect("a path");
        let record = simulation.run(&case.spec(), case.seed, case.flow(), &mut NoObserver);
        seen.merge(&record.counters.retransmissions);
        sum.spurious += record.spurious;
        sum.packets_dropped += record.packets_dropped;
        sum.unnecessary_bytes += record.unnecessary_bytes;
        sum.segments_sent += record.segments_sent;
        sum.counters.copies += record.counters.copies;
    }
    // Simulated paths take segments of every size.
    let of_path_mtu = |trigger: &Trigger| matches!(trigger, Trigger::Pmtu | Trigger::MtuProbe);
    for trigger in Trigger::ALL.into_iter().filter(|t| !of_path_mtu(t)) {
        let count = seen.of(trigger);
        assert!(count >= 20, "{}: {count} in all", trigger.name());
    }
    assert!(sum.spurious > 1000 && sum.packets_dropped > 5000, "{sum:?}");
    assert!(sum.counters.copies > 1000, "{sum:?}");
}
