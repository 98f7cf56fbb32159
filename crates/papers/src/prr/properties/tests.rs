use super::*;
use std::sync::LazyLock;

/// Run once for all tests.
static FIGURE: LazyLock<Figure<PropertyCell>> = LazyLock::new(|| figure(&setup()).unwrap());

fn setup() -> Setup {
    crate::experiment::setup_of(NAME, ID, crate::experiment::Effort::Full)
}

#[test]
fn verdicts_are_as_expected() {
    let figure = &*FIGURE;
    println!("{}", to_sheet(figure.clone()).table);
    crate::claims::assert_known(NAME, "properties", crate::experiment::Effort::Full, &figure.claims);
}

/// With RecoverFS = FlightSize, only lost ACKs keep the paper's PRR from its convergence, and pipe is then too large.
#[test]
fn only_lost_acks_break_the_convergence_as_stated() {
    for cell in &FIGURE.cells {
        let check = cell.check(Property::ConvergesAsStated);
        if matches!(cell.scheme, Scheme::Prr | Scheme::PrrCubic) {
            let breaks = cell.network == Network::AckLoss;
            assert_eq!(check.broken > 0, breaks, "{cell:?}");
            let above = |m: Moment| m.pipe > m.ssthresh;
            assert!(check.worst.is_none_or(above), "{cell:?}");
        }
    }
}

/// Every cell has hundreds of recoveries, and cases of every property.
#[test]
fn no_property_holds_for_lack_of_cases() {
    for cell in &FIGURE.cells {
        let name = format!("{} {}", cell.network.name(), cell.scheme.name());
        assert!(cell.recoveries >= 200 && cell.acks > 5000, "{name}: {cell:?}");
        for property in Property::ALL {
            let writes = matches!(property, Property::Banks | Property::BanksAsStated);
            let is_checked = !writes || cell.network == Network::Stalls;
            let check = cell.check(property);
            assert_eq!(check.cases > 0, is_checked, "{name} {}", property.name());
            assert_eq!(check.broken > 0, check.worst.is_some(), "{name}");
        }
    }
}

#[test]
fn every_property_fails_for_some_scheme() {
    let cells = &FIGURE.cells;
    // With SACK no scheme breaks these; the mutation `no-sack` does.
    let of_sack = [Property::Progress, Property::Observed];
    let properties = Property::ALL.into_iter();
    for property in properties.filter(|property| !of_sack.contains(property)) {
        let broken = cells.iter().any(|cell| cell.check(property).broken > 0);
        assert!(broken, "{}", property.name());
    }
}

#[test]
fn every_cell_has_a_line_in_the_csv_and_an_object_in_the_json() {
    let figure = &*FIGURE;
    let sheet = to_sheet(figure.clone());
    let csv = &sheet.csv;
    let cells = Network::ALL.len() * Scheme::ALL.len();
    assert_eq!(csv.lines().count(), 1 + cells, "{csv}");
    assert!(csv.lines().all(|line| line.split(',').count() == 15 + 2 * 19));
    let header = "figure,network,scheme,profile,flows,recoveries,acks,most_on_an_ack,\
         most_with_a_write,complete,below_ssthresh,most_short,at_ssthresh,sent_one,timed_out,clocked_cases,\
         clocked_broken,paced_cases,paced_broken,converges_cases,converges_broken,\
         converges_as_stated_cases,converges_as_stated_broken,refills_cases,\
         refills_broken,banks_cases,banks_broken,banks_as_stated_cases,\
         banks_as_stated_broken,precise_cases,precise_broken,twice_cases,twice_broken,\
         twice_if_delivering_cases,twice_if_delivering_broken,delivered_and_acks_cases,\
         delivered_and_acks_broken,delivered_and_one_cases,delivered_and_one_broken,\
         delivered_and_safe_cases,delivered_and_safe_broken,slow_starts_cases,slow_starts_broken,\
         inhibits_cases,inhibits_broken,progress_cases,progress_broken,observed_cases,observed_broken,\
         observed_anywhere_cases,observed_anywhere_broken,shrinks_cases,shrinks_broken";
    assert_eq!(csv.lines().next(), Some(header));
    let json = &sheet.json;
    assert_eq!(json["cells"].as_array().map(Vec::len), Some(cells));
    let twice = &json["cells"][5 * Scheme::ALL.len()]["twice"];
    assert!(twice["broken"].as_u64() > Some(0), "{twice}");
    let counterexamples = json["counterexamples"].as_array().expect("a list");
    let is_it = |row: &&serde_json::Value| {
        (&row["network"], &row["scheme"], &row["property"]) == (&"duplicates".into(), &"PRR".into(), &"twice".into())
    };
    let row = counterexamples.iter().find(is_it).expect("of each broken");
    assert!(row["flow"].is_u64(), "{row}");
}
