use super::*;
use crate::experiment::Effort;

#[test]
fn verdicts_are_as_expected() {
    let sheet = sheet(&crate::slp::setup(ID, Effort::Full)).unwrap();
    crate::assert_fits_a_terminal(&sheet.table);
    crate::claims::assert_known(NAME, ID, Effort::Full, &sheet.claims);
}

/// Worked by hand, RTT 80 ms: a fast retransmission costs one RTT. The timer runs from the ACKs of the segments before,
/// an RTT after they were sent, for SRTT + 200 ms.
#[test]
fn costs_are_as_computed_by_hand() {
    let cells = Cells::run(&crate::slp::setup(ID, Effort::Full)).unwrap();
    for (least, lost, cost) in [(200, "first", 80.0), (200, "last", 80.0 + 280.0), (1000, "last", 80.0 + 1080.0)] {
        assert_eq!(cells.get(80, least, lost).cost_ms, cost, "{least} {lost}");
    }
}
