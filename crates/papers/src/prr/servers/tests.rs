//! Users and arms on a small scale.

use super::*;

fn setup(users: u32) -> Setup {
    Setup { users: Some(users), ..crate::experiment::setup_of(NAME, Id::Web.name(), Effort::Full) }
}

fn cells(id: Id, arms: &[Arm], users: u32, threads: usize) -> Vec<Cell> {
    run(&setup(users), &id.users(&setup(users)), arms, users, threads).expect("networks that can be built")
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
    let settings = settings(&setup(1).base).unwrap();
    let users = Id::Web.users(&setup(1));
    let mut undisturbed = 0;
    for number in 0..400 {
        let user = users.user(1, number);
        let connection = |arm: &Arm| Connection::run(&user, &arm.hosts(&setup(1), &settings), 1, number).unwrap();
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

/// The rows have all tables, and each table fits a terminal.
#[test]
fn all_tables_are_there() {
    for (id, users, tables) in [
        (
            Id::Web,
            2000,
            &[
                "inputs", "Table 2", "Table 3", "Table 5", "Table 6", "Table 7", "Table 8", "Table 9", "Figure 1",
                "Figure 5", "Variants",
            ][..],
        ),
        (Id::Video, 5, &["inputs", "Table 2", "Table 3", "Table 10"]),
        (Id::Early, 1000, &["inputs", "Section 6", "Table 11", "Timer of ER", "ER and PRR"]),
    ] {
        let sheet = sheet(id, &setup(users)).unwrap();
        crate::assert_fits_a_terminal(&sheet.table);
        for table in tables {
            assert!(sheet.table.contains(&format!("| {table} ")), "{table}");
            assert!(sheet.csv.contains(&format!(",{table},")), "{table}");
        }
    }
}

/// The hosts that serve one user of a link are the only difference between two runs.
#[test]
fn a_user_whom_the_baseline_serves_changes_nothing() {
    let setup = setup(1);
    let hosts = Arm::LINUX.hosts(&setup, &settings(&setup.base).unwrap());
    let link = ab::Link::new(&Id::Web.users(&setup), 1, 3);
    let all = link.run(&hosts, None).unwrap();
    assert!(all.iter().any(|one| one.disturbed.is_some()) && all.iter().all(|one| one.segments_sent > 0));
    assert_eq!(link.run(&hosts, Some((7, &hosts))).unwrap(), all);
}

#[test]
fn the_ab_test_has_its_tables() {
    let setup = Setup { users: Some(100), ..crate::experiment::setup_of(NAME, ab::ID, Effort::Quick) };
    let sheet = ab::sheet(&setup).unwrap();
    crate::assert_fits_a_terminal(&sheet.table);
    for table in ["inputs", "Table 8", "Table 9"] {
        assert!(sheet.table.contains(&format!("| {table} ")), "{table}");
    }
}
