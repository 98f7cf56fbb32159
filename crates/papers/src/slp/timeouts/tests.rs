use super::*;
use crate::claims::assert_known;

/// A small population. Its claims that hold by a wide margin are checked.
fn small() -> Studied {
    population::study(256, 1).unwrap()
}

#[test]
fn each_flow_is_counted_once_and_losses_are_seen_at_their_sender() {
    let studied = small();
    let report = &studied.report;
    assert_eq!((report.connections, report.syn_losses.flows), (256, 256));
    assert!(report.sides_apart && report.unseen == 0);
    let lost = report.syn_losses.with_syn_loss as usize;
    assert!(lost > 0 && studied.reruns.len() <= lost);
    for flow in &studied.reruns {
        // Another SYN leaves an initial RTO after the first.
        assert!(flow.without_s - flow.computed_s >= 0.999, "{flow:?}");
        assert!(flow.rerun_s.is_some_and(|rerun| rerun > 0.0), "{flow:?}");
    }
}

#[test]
fn the_same_seed_gives_the_same_figures() {
    let [one, other] = [small(), small()].map(|studied| table_of(&studied));
    assert_eq!(one.csv, other.csv);
    assert_eq!(one.table, other.table);
}

#[test]
fn claims_by_arithmetic_or_construction_are_as_known() {
    let studied = small();
    let claims = claims::table(&studied, &columns::table_cells(&studied));
    let by_construction = claims
        .into_iter()
        .filter(|claim| claim.id != "all-shorter-rerun");
    assert_known(
        NAME,
        "table1",
        crate::experiment::Effort::Full,
        &by_construction.collect::<Vec<_>>(),
    );
}

/// The claims that compare shares, which have wide margins.
#[test]
fn comparisons_are_as_known() {
    let report = small().report;
    let of = |id: &str| id.ends_with("-more") || id == "syn-timeouts";
    for (experiment, claims, count) in [
        (POSITIONS, claims::positions(&report), 3),
        (FLAGS, claims::flags(&report), 3),
    ] {
        let claims: Vec<_> = claims.into_iter().filter(|claim| of(claim.id)).collect();
        assert_eq!(claims.len(), count);
        assert_known(NAME, experiment, crate::experiment::Effort::Full, &claims);
    }
}

#[test]
fn tables_fit_a_terminal() {
    let studied = small();
    for sheet in [
        positions_of(&studied),
        flags_of(&studied),
        table_of(&studied),
    ] {
        crate::assert_fits_a_terminal(&sheet.table);
    }
}
