use super::captures::FIT;
use super::*;
use crate::claims::assert_known;
use crate::experiment::{self, Effort, Setup};

#[test]
fn verdicts_are_as_expected() {
    for experiment in experiment::all().filter(|one| one.paper == NAME) {
        let setup = Setup::new(experiment, Effort::Quick).unwrap();
        let sheet = experiment.run(&setup).unwrap();
        assert_known(NAME, experiment.name, Effort::Quick, &sheet.claims);
        crate::assert_fits_a_terminal(&sheet.table);
    }
}

#[test]
fn another_seed_has_other_flows_and_the_same_systems() {
    let setup = experiment::setup_of(NAME, "tables", Effort::Quick);
    let mut other = setup.clone();
    other.base.seed += 1;
    let [one, other, again] =
        [&setup, &other, &setup].map(|setup| Populations::simulate(setup, &setup.fitted(FIT), 300, 200).unwrap());
    assert_eq!(one.all.report, again.all.report);
    assert_ne!(one.all.report, other.all.report);
    let systems = |of: &Populations| -> Vec<String> {
        let senders = of.all.report.senders.iter();
        senders.map(|sender| sender.sender.clone()).collect()
    };
    assert_eq!(systems(&one), systems(&other));
    // Every system's lossy connections are there, and no client counts as a sender.
    let studied: u64 = one.lossy.iter().map(|counts| counts.connections).sum();
    assert_eq!(one.all.report.capture.connections, studied);
    assert!((2 * 300..=4 * 300).contains(&studied), "{studied}");
    assert_eq!(one.all.report.parameters.len(), 4);
    // Every capture has a line in Figure 1.
    assert_eq!(one.bytes.len(), 4);
}

#[test]
fn figures_are_also_points() {
    let setup = experiment::setup_of(NAME, "tables", Effort::Quick);
    let populations = Populations::simulate(&setup, &setup.fitted(FIT), 300, 200).unwrap();
    for (id, header) in [
        (Id::Tables, "figure,sender,senders,retransmissions,"),
        (Id::Fig1, "figure,system,panel,value,share"),
        (Id::Fig2, "figure,system,panel,value,share"),
        (Id::Fig3, "figure,system,panel,value,share"),
    ] {
        let sheet = sheet_of(id, &populations);
        assert!(sheet.csv.starts_with(header), "{}", sheet.csv);
        assert!(sheet.json["study"]["senders"].is_array());
        let points = sheet.json["points"].as_array().map_or(0, Vec::len);
        assert_eq!(points > 20, id != Id::Tables, "{id:?}: {points}");
    }
}
