use super::*;
use crate::experiment::Effort;
use std::sync::Arc;

/// A small population.
fn small(traces: Traces) -> Arc<Studied> {
    let setup = crate::slp::setup(TABLE, Effort::Quick);
    population::study(&setup, traces, 256).unwrap()
}

#[test]
fn each_flow_is_counted_once_and_losses_are_seen_at_their_sender() {
    let studied = small(Traces::Backbone);
    let report = &studied.report;
    assert_eq!((report.connections, report.syn_losses.flows), (256, 256));
    assert!(!report.sides_apart && report.unseen == 0);
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
    let setup = crate::slp::setup(TABLE, Effort::Quick);
    let one = table_of(&small(Traces::Backbone));
    // Another study in between: the first is made anew.
    population::study(&setup, Traces::Backbone, 64).unwrap();
    let other = table_of(&small(Traces::Backbone));
    assert_eq!(one.csv, other.csv);
    assert_eq!(one.table, other.table);
}

#[test]
fn data_centers_tell_clients_from_servers() {
    let studied = small(Traces::DataCenter);
    assert!(studied.report.sides_apart && studied.reruns.is_empty());
    let senders: Vec<_> = studied.report.flags.iter().map(|panel| panel.sender).collect();
    assert_eq!(senders, ["client", "server"]);
    let flows = studied.samples.iter().map(population::flow_of);
    assert!(flows.max().is_some_and(|flow| flow < 256));
}

/// Two flows: one loses a packet of each kind and waits for the timer, the other repairs both fast.
#[test]
fn a_contrast_compares_shares_and_knows_its_interval() {
    let studied = small(Traces::Backbone);
    let found = contrast::contrast(
        &studied.samples,
        1.0,
        |one| one.trigger.map(recoup_captures::study::slp::Class::of),
        |_| true,
        |_| true,
    );
    let found = found.unwrap();
    // A kind does not differ from itself.
    assert_eq!(found.difference.mean, 0.0);
    assert!(found.difference.half < 1e-12, "{found:?}");
    assert_eq!(found.shares[0], found.shares[1]);
}

#[test]
fn tables_fit_a_terminal() {
    let [center, backbone] = [Traces::DataCenter, Traces::Backbone].map(small);
    for sheet in [positions_of(&center), flags_of(&backbone), table_of(&backbone)] {
        crate::assert_fits_a_terminal(&sheet.table);
    }
}
