//! Flows over networks that lose, delay, repeat, reorder and damage packets: every byte comes
//! through, in order and once, every flow ends, and what is counted is true.

mod case;
mod watch;

use case::{Case, any_case};
use proptest::prelude::*;
use recoup_path::HopSpec;
use recoup_sim::{FlowRecord, Host, NoObserver, Simulation};
use recoup_tcp::{Closed, State};
use recoup_units::{FlowId, Offset};
use watch::Watch;

/// Runs a case in `simulation`, checking it after every event and its record at the end.
fn run(simulation: &mut Simulation, case: &Case) -> Result<(FlowRecord, Watch), TestCaseError> {
    let mut watch = Watch::default();
    let record = simulation.run(&case.spec(), case.seed, case.flow(), &mut watch);
    watch.verdict(&record).map_err(TestCaseError::fail)?;
    Ok((record, watch))
}

/// Both streams are complete, and both ends at rest.
fn check_delivered(simulation: &Simulation, case: &Case) -> Result<(), TestCaseError> {
    let streams = [
        (Host::Client, Host::Server, case.request),
        (Host::Server, Host::Client, case.response),
    ];
    for (from, to, bytes) in streams {
        let (sender, receiver) = (simulation.endpoint(from), simulation.endpoint(to));
        let end = Offset::DATA + bytes + u64::from(case.close);
        prop_assert_eq!(receiver.receiver().next(), end, "from {}", from.name());
        prop_assert_eq!(receiver.readable(), 0);
        prop_assert_eq!(receiver.receiver().finished(), case.close);
        prop_assert_eq!(sender.sender().nxt(), end, "from {}", from.name());
    }
    let states = [Host::Client, Host::Server].map(|host| simulation.endpoint(host).state());
    // A side whose last FIN is answered only after the other's TIME-WAIT is over gets a reset.
    let closed = |s: &State| matches!(s, State::Closed(Closed::Gracefully | Closed::ByReset));
    match case.close {
        true => prop_assert!(
            states.iter().all(closed) && states.contains(&State::Closed(Closed::Gracefully)),
            "{states:?}"
        ),
        false => prop_assert_eq!(states, [State::Established; 2]),
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn every_byte_comes_through_once_and_every_flow_ends(case in any_case()) {
        let mut alone = Simulation::new(&case.path()).expect("a path");
        let (record, watch) = run(&mut alone, &case)?;
        prop_assert!(record.completed(), "{record:?}");
        prop_assert!(record.fct <= Some(record.duration));
        check_delivered(&alone, &case)?;

        // The same again where it ran before, unobserved, and behind another flow.
        let again = alone.run(&case.spec(), case.seed, case.flow(), &mut NoObserver);
        prop_assert_eq!(again, record, "the second time");
        let mut other = case.clone();
        std::mem::swap(&mut other.client, &mut other.server);
        std::mem::swap(&mut other.request, &mut other.response);
        let buffers = (other.client.buffer, other.server.buffer);
        (other.client.buffer, other.server.buffer) = (buffers.1, buffers.0);
        alone.run(&other.spec(), case.seed ^ 1, FlowId(case.flow + 1), &mut NoObserver);
        let (after_another, watch_again) = run(&mut alone, &case)?;
        prop_assert_eq!(after_another, record, "after another flow");
        prop_assert!(watch_again == watch, "packets differ after another flow");
    }

    #[test]
    fn a_network_that_dies_ends_a_flow_by_the_user_timeout(
        case in any_case(),
        dies_after in 0..60u64,
        up: bool,
    ) {
        // From some packet of one direction on, nothing gets through.
        let mut case = case;
        let rule = if dies_after == 0 { "bernoulli:1".into() } else { format!("data:{dies_after}-1000000") };
        let rules = ["bernoulli:1@2".to_owned(), rule];
        let hops = if up { &mut case.up } else { &mut case.down };
        hops.splice(0..0, rules.map(|rule| HopSpec::Loss(rule.parse().expect("a rule"))));
        let mut simulation = Simulation::new(&case.path()).expect("a path");
        let (record, _) = run(&mut simulation, &case)?;
        if !record.completed() {
            let ends = [Host::Client, Host::Server].map(|host| simulation.endpoint(host).state());
            let gave_up = ends.contains(&State::Closed(Closed::ByTimeout));
            prop_assert!(gave_up, "{ends:?}");
        }
    }
}
