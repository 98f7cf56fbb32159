use super::*;
use crate::claims;

#[test]
fn verdicts_are_as_expected() {
    let base = Scenario::load(NAME).unwrap();
    for id in Id::ALL {
        let figure = figure(id, &base).unwrap();
        claims::assert_known(&figure.claims);
    }
}
