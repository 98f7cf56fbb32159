use super::*;

/// Fewer fetches than the figure has.
const SOME: Effort = Effort {
    bytes: 40_000_000,
    least: 20,
    most: 600,
};

#[test]
fn verdicts_are_the_known_ones() {
    let figure = figure(&Scenario::load("fetch").unwrap(), SOME).unwrap();
    let table = to_table(&figure);
    println!("{table}");
    crate::assert_fits_a_terminal(&table);
    crate::claims::assert_known(&figure.claims);
    let sizes: Vec<u64> = figure.cells.iter().map(|cell| cell.size).collect();
    assert_eq!((sizes[0], sizes[1], sizes[15]), (250, 500, 8_192_000));
    for cell in &figure.cells {
        for side in [&cell.without, &cell.with] {
            assert_eq!(
                side.completed, cell.fetches,
                "{} {}",
                cell.size, side.profile
            );
        }
        assert_eq!((cell.without.copies, cell.without.withheld), (0.0, 0.0));
    }
}

#[test]
fn long_files_are_fetched_less_often() {
    for (size, fetches) in [
        (250, 4000),
        (100_000, 4000),
        (500_000, 800),
        (8_192_000, 400),
    ] {
        assert_eq!(Effort::FULL.fetches(size), fetches, "{size}");
    }
}
