//! Users and arms on a small scale.

use super::*;
use crate::claims::ClaimVerdict;

fn base() -> Scenario {
    Scenario::load(NAME).expect("a built-in scenario")
}

fn cells(id: Id, arms: &[Arm], users: u32, threads: usize) -> Vec<Cell> {
    run(&base(), &id.users(), arms, users, threads).expect("networks that can be built")
}

/// The verdicts of the claims with these names.
fn verdicts<const N: usize>(id: Id, cells: &[Cell], names: [&str; N]) -> [ClaimVerdict; N] {
    let claims = shown(id, cells).claims;
    names.map(|name| {
        let claim = claims.iter().find(|claim| claim.id == name);
        claim.unwrap_or_else(|| panic!("no claim {name}")).verdict
    })
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let arms = [Arm::LINUX, Arm::PRR];
    for id in [Id::Web, Id::Video] {
        let users = if id == Id::Web { 300 } else { 6 };
        let [one, three] = [1, 3].map(|threads| cells(id, &arms, users, threads));
        for (a, b) in one.iter().zip(&three) {
            assert_eq!(a.connections, b.connections);
        }
    }
}

/// Connections that nothing disturbed are run with the baseline alone.
#[test]
fn undisturbed_connections_are_the_same_with_all_arms() {
    let settings = settings(&base()).unwrap();
    let users = Id::Web.users();
    let mut undisturbed = 0;
    for number in 0..400 {
        let user = users.user(1, number);
        let connection =
            |arm: &Arm| Connection::run(&user, &arm.hosts(&settings).unwrap(), 1, number).unwrap();
        let baseline = connection(&Arm::LINUX);
        if baseline.disturbed.is_none() {
            undisturbed += 1;
            for arm in Id::Web.arms().iter().chain(&Id::Early.arms()) {
                assert_eq!(connection(arm), baseline, "user {number}, {}", arm.name);
            }
        }
    }
    assert!(undisturbed > 100, "{undisturbed}");
}
