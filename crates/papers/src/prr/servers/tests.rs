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

/// Web servers on which PRR does what rate halving does: what the paper says of PRR then fails.
#[test]
fn claims_about_prr_on_web_servers_fail_where_it_is_rate_halving() {
    use ClaimVerdict::{Fails, Holds};
    let names = ["table8-total", "table9-mean"];
    let mut cells = cells(Id::Web, &Id::Web.arms(), 10_000, 2);
    assert_eq!(verdicts(Id::Web, &cells, names), [Holds; 2]);
    cells[2].connections = cells[0].connections.clone();
    assert_eq!(verdicts(Id::Web, &cells, names), [Fails; 2]);
    let windows = ["table7-similar"];
    assert_eq!(verdicts(Id::Web, &cells, windows), [Fails]);
}

/// The same of RFC 3517 on video servers.
#[test]
fn claims_about_rfc_3517_on_video_servers_fail_where_it_is_rate_halving() {
    use ClaimVerdict::{Fails, Holds};
    let names = ["table10-transmit-rfc", "table10-slow-start-none"];
    let mut cells = cells(Id::Video, &Id::Video.arms(), 100, 2);
    assert_eq!(verdicts(Id::Video, &cells, names), [Holds; 2]);
    cells[1].connections = cells[0].connections.clone();
    assert_eq!(verdicts(Id::Video, &cells, names), [Fails; 2]);
}

/// Without early retransmit nothing of section 6 is left.
#[test]
fn claims_about_early_retransmit_fail_without_it() {
    use ClaimVerdict::{Fails, Holds};
    let names = [
        "er-naive-spurious",
        "er-timer",
        "table11-short-most",
        "er-first-hardly-helps",
    ];
    let mut cells = cells(Id::Early, &Id::Early.arms(), 10_000, 2);
    assert_eq!(verdicts(Id::Early, &cells, names), [Holds; 4]);
    let baseline = cells[0].connections.clone();
    for cell in &mut cells[1..8] {
        cell.connections = baseline.clone();
    }
    let [spurious, others @ ..] = verdicts(Id::Early, &cells, names);
    assert_ne!(spurious, Holds);
    assert_eq!(others, [Fails; 3]);
}

/// The rows have all tables, and each table fits a terminal.
#[test]
fn all_tables_are_there() {
    for (id, users, tables) in [
        (
            Id::Web,
            2000,
            &[
                "inputs", "Table 2", "Table 3", "Table 5", "Table 6", "Table 7", "Table 8",
                "Table 9", "Figure 1", "Figure 5",
            ][..],
        ),
        (Id::Video, 5, &["inputs", "Table 2", "Table 3", "Table 10"]),
        (
            Id::Early,
            1000,
            &[
                "inputs",
                "Section 6",
                "Table 11",
                "Timer of ER",
                "ER and PRR",
            ],
        ),
    ] {
        let sheet = sheet(id, &base(), Some(users)).unwrap();
        crate::assert_fits_a_terminal(&sheet.table);
        for table in tables {
            assert!(sheet.table.contains(&format!("| {table} ")), "{table}");
            assert!(sheet.csv.contains(&format!(",{table},")), "{table}");
        }
    }
}
