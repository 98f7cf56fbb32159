use super::*;

/// A short world: who copies, who does not, and what is compared.
#[test]
fn only_the_groups_that_should_copy_do() {
    let setup = crate::slp::setup(ID, experiment::Effort::Full);
    let mut world = world(&setup).unwrap();
    world.set("duration", "4s").unwrap();
    world.set("runs", "2").unwrap();
    let figure = figure_of(&setup, &world).unwrap();
    assert_eq!(figure.cells.len(), 2 * 3 * 3);
    for cell in &figure.cells {
        let copies = [0, 1].map(|group: usize| cell.groups[group].copies > 0);
        let expected = match cell.setup.copying {
            Copying::None => [false, false],
            Copying::Half => [true, false],
            Copying::All => [true, true],
        };
        assert_eq!(copies, expected, "{:?}", cell.setup);
        assert!(cell.groups.iter().all(|group| group.fct_ms.iter().all(|fct| *fct > 80.0)));
    }
    // The load decides what the queue loses.
    let loss = |think: &str| {
        let cell = figure.cells.iter().find(|cell| cell.setup.think == think);
        mean(&cell.unwrap().loss).mean
    };
    assert!(loss(THINK_TIMES[0]) < loss(THINK_TIMES[2]));
    let rows = columns::rows(&figure.cells);
    assert_eq!(rows.len(), 2 * figure.cells.len());
    crate::assert_fits_a_terminal(&columns::text(&rows));
}

#[test]
fn fairness_is_jains_index_of_both_groups() {
    let group = |goodput| Group { goodput_mbps: vec![goodput], ..Group::default() };
    let cell = |one, other| CongestionCell {
        setup: Setup::all().next().unwrap(),
        groups: [group(one), group(other)],
        loss: vec![],
    };
    assert_eq!(cell(3.0, 3.0).fairness(), 1.0);
    assert_eq!(cell(3.0, 0.0).fairness(), 0.5);
    assert_eq!(cell(1.0, 3.0).fairness(), 0.8);
}
