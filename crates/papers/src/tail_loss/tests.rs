use super::*;
use crate::claims;
use crate::experiment::Effort;

#[test]
fn the_csv_has_a_column_per_trigger() {
    let header = "figure,ack,rtt_ms,lost,mechanism,fct_ms,fct_normalised,fct_established_ms,\
         fct_established_normalised,fast,early,rto,slow_start,tlp,pmtu,mtu_probe,syn,syn_ack,spurious";
    assert_eq!(columns("fig1").names().join(","), header);
}

#[test]
fn verdicts_are_as_expected() {
    for id in Id::ALL {
        let setup = setup_of(id.name());
        let figure = figure(id, &setup).unwrap();
        claims::assert_known(NAME, id.name(), Effort::Quick, &figure.claims);
    }
}

/// The setup of an experiment at the quick effort.
pub fn setup_of(name: &str) -> Setup {
    let experiment = EXPERIMENTS.iter().find(|one| one.name == name);
    Setup::new(experiment.expect("an experiment"), Effort::Quick).expect("its scenario")
}
