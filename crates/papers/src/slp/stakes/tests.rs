use super::*;
use crate::experiment::Effort;

#[test]
fn arms_with_the_same_draws_differ_by_nothing_without_losses() {
    let setup = crate::slp::setup(ID, Effort::Quick);
    let fast = "rate=20Mbit";
    let [one, other] = [WITHOUT, WITH].map(|name| times(&setup, name, fast, 20).unwrap());
    assert_eq!(one, other);
    // A round trip to connect, one for request and response, and the transmission times.
    assert!(one.iter().all(|ms| (80.0..82.0).contains(ms)), "{one:?}");
}
