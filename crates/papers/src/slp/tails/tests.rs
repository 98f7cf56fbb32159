use super::*;
use std::sync::LazyLock;

fn setup(seed: u64) -> Setup {
    let mut setup = crate::slp::setup(ID, crate::experiment::Effort::Full);
    setup.base.seed = seed;
    setup
}

/// Run once for all tests.
static FIGURE: LazyLock<Figure<TailCell>> = LazyLock::new(|| figure(&setup(1)).unwrap());

#[test]
fn verdicts_are_as_expected() {
    println!("{}", FIGURE.clone().sheet(text, &columns()).table);
    crate::claims::assert_known(NAME, "tails", crate::experiment::Effort::Full, &FIGURE.claims);
}

/// The seed decides only initial sequence numbers.
#[test]
fn the_seed_changes_nothing() {
    assert_eq!(figure(&setup(2)).unwrap().cells, FIGURE.cells);
}

/// FCTs computed by hand: last of 8 segments, quick ACKs, RTT 80 ms.
#[test]
fn completion_times_are_as_computed_by_hand() {
    for (profile, fct_ms) in [
        // Handshake, first window, its ACKs, an RTO of 280 ms after them, the retransmission.
        ("linux-3.17", 80.0 + 80.0 + 80.0 + 280.0),
        // RTOR counts the RTO from the transmission, one RTT earlier.
        ("linux-3.17+rtor", 80.0 + 80.0 + 280.0),
        // The copy follows the original after SRTT/8.
        ("linux-3.17+slp", 80.0 + 80.0 + 10.0),
    ] {
        let cells = FIGURE.cells.iter();
        let is_it = |c: &&TailCell| (c.case, c.ack, c.rtt_ms, c.profile) == (Case::Tail8, "quick", 80, profile);
        let cell = cells.clone().find(is_it).unwrap();
        assert_eq!(cell.fct_ms, Some(fct_ms), "{profile}");
    }
}

#[test]
fn every_cell_is_in_csv_and_json_and_every_case_in_the_picture() {
    let receivers: usize = Case::ALL.iter().map(|case| case.receivers().len()).sum();
    let cells = receivers * PROFILES.len() * RTTS.len();
    assert_eq!(FIGURE.cells.len(), cells);
    assert!(FIGURE.cells.iter().all(|cell| cell.fct_ms.is_some()));
    let sheet = FIGURE.clone().sheet(text, &columns());
    let csv = &sheet.csv;
    assert_eq!(csv.lines().count(), 1 + cells);
    assert!(csv.lines().all(|line| line.split(',').count() == 14), "{csv}");
    let header = "figure,lost,segments,q,ack,rtt_ms,profile,fct_ms,fct_normalised,retransmissions,\
         copies,copied_bytes,withheld,bytes";
    assert_eq!(csv.lines().next(), Some(header));
    let json = &sheet.json;
    assert_eq!(json["cells"].as_array().map(Vec::len), Some(cells));
    assert_eq!(json["cells"][0]["q"], "tail:1");
    let Picture::Bars(chart) = &FIGURE.picture else {
        panic!("bars");
    };
    assert_eq!(chart.panels.len(), Case::ALL.len());
    let values = chart.panels.iter().flat_map(|panel| &panel.groups);
    assert!(values.clone().all(|group| group.values.iter().all(Option::is_some)));
}
