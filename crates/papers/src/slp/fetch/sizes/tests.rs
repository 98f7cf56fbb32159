use super::*;
use crate::experiment;

/// Fewer fetches than in the figure, to save time.
const SOME: Effort = Effort { bytes: 40_000_000, least: 20, most: 600 };

#[test]
fn verdicts_are_as_expected() {
    let figure = figure(&crate::slp::setup(ID, experiment::Effort::Full), SOME).unwrap();
    let sheet = tables::to_sheet(figure.clone());
    println!("{}", sheet.table);
    crate::assert_fits_a_terminal(&sheet.table);
    assert_eq!(sheet.csv.lines().count(), 1 + 2 * figure.cells.len());
    let header = "figure,size,profile,fetches,completed,fct_ms_mean,fct_ms_p50,fct_ms_p99,\
         fct_ms_max,bytes,syn_timeouts,copies,withheld";
    assert_eq!(sheet.csv.lines().next(), Some(header));
    crate::claims::assert_known(NAME, ID, crate::experiment::Effort::Full, &figure.claims);
    let sizes: Vec<u64> = figure.cells.iter().map(|cell| cell.size).collect();
    assert_eq!((sizes[0], sizes[1], sizes[15]), (250, 500, 8_192_000));
    for cell in &figure.cells {
        for fetches in [&cell.without, &cell.with] {
            assert_eq!(fetches.completed, cell.fetches, "{} {}", cell.size, fetches.profile);
        }
        assert_eq!((cell.without.copies, cell.without.withheld), (0.0, 0.0));
    }
}

#[test]
fn longer_files_have_fewer_fetches() {
    for (size, fetches) in [(250, 4000), (100_000, 4000), (500_000, 800), (8_192_000, 400)] {
        assert_eq!(Effort::FULL.fetches(size), fetches, "{size}");
    }
}
