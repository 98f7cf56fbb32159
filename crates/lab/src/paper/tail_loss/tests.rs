use super::*;
use crate::claims;

#[test]
fn verdicts_are_the_known_ones() {
    let base = Scenario::load(NAME).unwrap();
    for id in Id::ALL {
        let figure = figure(id, &base).unwrap();
        println!("{}", claims::to_table(&figure.claims));
        for claim in &figure.claims {
            assert!(
                !claim.changed(),
                "{}: {} ({})",
                claim.id,
                claim.ours,
                claim.check
            );
        }
    }
}
