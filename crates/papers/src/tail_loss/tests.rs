use super::*;
use crate::claims;

#[test]
fn the_csv_has_a_column_per_trigger() {
    let header = "figure,ack,rtt_ms,lost,mechanism,fct_ms,fct_normalised,fct_established_ms,\
         fct_established_normalised,fast,early,rto,slow_start,tlp,pmtu,mtu_probe,syn,syn_ack,spurious";
    assert_eq!(columns("fig1").names().join(","), header);
}

#[test]
fn verdicts_are_as_expected() {
    let base = Scenario::load(NAME).unwrap();
    for id in Id::ALL {
        let figure = figure(id, &base).unwrap();
        claims::assert_known(
            NAME,
            id.name(),
            crate::experiment::Effort::Full,
            &figure.claims,
        );
    }
}
