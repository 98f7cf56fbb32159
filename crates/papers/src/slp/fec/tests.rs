use super::*;
use crate::claims;
use crate::experiment::Effort;

#[test]
fn verdicts_are_as_expected() {
    let figure = figure(&crate::slp::setup(ID, Effort::Full)).unwrap();
    claims::assert_known(NAME, ID, Effort::Full, &figure.claims);
    let header = "figure,seed,groups,p,n,k,fails,paper,alone_exact,alone_simulated,alone_low,\
         alone_high,alone_agrees,with_arq_exact,with_arq_simulated,with_arq_low,\
         with_arq_high,with_arq_agrees";
    assert_eq!(columns().names().join(","), header);
    assert_eq!(figure.cells.len(), LOSSES.len() * CODES.len());
    assert!(figure.title.contains("seed 1;") && figure.title.contains("99.1 % for all 144"));
}

#[test]
fn small_percentages_keep_their_digits() {
    for (p, text) in
        [(0.0, "0"), (1.0, "100"), (0.02, "2"), (0.370_62, "37.062"), (0.000_01, "0.001"), (4.2e-11, "4.2e-9")]
    {
        assert_eq!(super::claims::percent(p), text);
    }
}
