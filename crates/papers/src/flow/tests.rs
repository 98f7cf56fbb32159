use super::*;
use crate::experiment::{Effort, all};

#[test]
fn a_flow_has_the_settings_of_the_setup_and_its_own() {
    let experiment = all().next().expect("an experiment");
    let mut setup = Setup::new(experiment, Effort::Quick).expect("its scenario");
    setup.base.settings.set("rtt", "300ms", Path::new("")).expect("a setting");
    let log = run(&setup, "linux-3.17", "drop=none segments=3 ack=quick").expect("a flow");
    assert_eq!(log.fct_ms(), Some(150.0));
    assert_eq!(
        log.sent(Host::Server).filter(|(_, what)| what.span().is_some_and(|s| s.start >= Offset::DATA)).count(),
        3
    );
    assert!(log.acks().count() >= 3);
    let last = log.states(Host::Server).last().expect("a state");
    assert_eq!((last.una, last.nxt), (last.limit, last.limit));
    assert_eq!(log.number(Offset::DATA + 2 * log.mss), 3);
}

#[test]
fn batches_keep_the_order() {
    let numbers = in_batches(7, 3, |numbers| Ok::<_, ()>(numbers.collect()));
    assert_eq!(numbers, Ok((0..7).collect::<Vec<u64>>()));
}
