use super::*;
use std::sync::LazyLock;

/// Run once for all tests.
static FIGURE: LazyLock<Figure<Cell>> =
    LazyLock::new(|| figure(&Scenario::load(NAME).unwrap()).unwrap());

#[test]
fn verdicts_are_the_known_ones() {
    let figure = &*FIGURE;
    println!("{}", to_table(figure));
    crate::claims::assert_known(&figure.claims);
}

/// Every property is put to the test, in recoveries by the hundred on each network.
#[test]
fn nothing_holds_for_want_of_cases() {
    for cell in &FIGURE.cells {
        let name = format!("{} {}", cell.network.name(), cell.scheme.name());
        assert!(
            cell.recoveries >= 200 && cell.acks > 5000,
            "{name}: {cell:?}"
        );
        for property in Property::ALL {
            let writes = matches!(property, Property::Banks | Property::BanksAsStated);
            let asked = !writes || cell.network == Network::Stalls;
            let check = cell.check(property);
            assert_eq!(check.cases > 0, asked, "{name} {}", property.name());
            assert_eq!(check.broken > 0, check.worst.is_some(), "{name}");
        }
    }
}

/// The statements can fail: each is broken by some scheme.
#[test]
fn each_property_is_broken_by_a_scheme_it_is_not_of() {
    let cells = &FIGURE.cells;
    for property in Property::ALL {
        let broken = cells.iter().any(|cell| cell.check(property).broken > 0);
        assert!(broken, "{}", property.name());
    }
}

#[test]
fn every_cell_has_a_line_in_the_csv_and_an_object_in_the_json() {
    let figure = &*FIGURE;
    let csv = to_csv(figure);
    let cells = Network::ALL.len() * Scheme::ALL.len();
    assert_eq!(csv.lines().count(), 1 + cells, "{csv}");
    assert!(
        csv.lines()
            .all(|line| line.split(',').count() == 12 + 2 * 13)
    );
    let json = serde_json::to_value(figure).unwrap();
    assert_eq!(json["cells"].as_array().map(Vec::len), Some(cells));
    let twice = &json["cells"][5 * Scheme::ALL.len()]["checks"]["twice"];
    assert!(twice["broken"].as_u64() > Some(0), "{twice}");
    assert!(twice["worst"]["flow"].is_u64(), "{twice}");
}
