use super::*;
use crate::experiment::Effort;

fn cells() -> Cells {
    Cells::run(&crate::slp::setup(ID, Effort::Full)).unwrap()
}

#[test]
fn verdicts_are_as_expected() {
    let sheet = sheet(&crate::slp::setup(ID, Effort::Full)).unwrap();
    crate::assert_fits_a_terminal(&sheet.table);
    crate::claims::assert_known(NAME, ID, Effort::Full, &sheet.claims);
}

/// With a window of 5, the copy of segment 3 makes four outstanding, that of segment 4 would make five.
#[test]
fn the_rule_is_that_of_the_paper() {
    let cells = cells().rule;
    let at = |rwnd: Option<u64>, window: u64, segments: u64| {
        let is_it = |c: &&WindowCell| c.segments == segments && c.rwnd == rwnd && (rwnd.is_some() || c.cwnd == window);
        let cell = cells.iter().find(is_it).unwrap();
        (cell.permitted, cell.copies, cell.withheld)
    };
    assert_eq!(at(None, 5, 3), (true, 1, 0));
    assert_eq!(at(None, 5, 4), (false, 0, 1));
    assert_eq!(at(Some(5), 5, 4), (true, 1, 0));
    assert_eq!(at(Some(5), 5, 5), (false, 0, 1));
}

#[test]
fn a_copy_follows_after_an_eighth_of_the_round_trip() {
    assert_eq!(cells().gaps_ms, [10.0, 10.0]);
}
