use super::*;
use crate::experiment::Effort;
use recoup_lab::scenario::Scenario;
use std::sync::LazyLock;

/// Fewer runs than in the figure, to save time.
const COUNT: usize = 300;

/// Run once for all tests.
static FIGURE: LazyLock<Figure<FetchCell>> =
    LazyLock::new(|| figure(&crate::slp::setup(ID, Effort::Full), COUNT).unwrap());

#[test]
fn verdicts_are_as_expected() {
    let sheet = tables::to_sheet(FIGURE.clone());
    println!("{}", sheet.table);
    crate::assert_fits_a_terminal(&sheet.table);
    assert_eq!(sheet.csv.lines().next(), Some("figure,profile,seed,flow,fct_ms"));
    // Four profiles with one run of fifty fetches.
    assert_eq!(sheet.csv.lines().count(), 1 + 4 * 50);
    assert_eq!(sheet.json["cells"][1]["copies_syn"], 1.0);
    assert_eq!(sheet.json["over"][0]["runs"]["trials"], COUNT);
    assert_eq!(FIGURE.claims.len(), 6);
    crate::claims::assert_known(NAME, ID, crate::experiment::Effort::Full, &FIGURE.claims);
}

/// Shares of runs agree with the probabilities of lost SYNs within four standard errors.
#[test]
fn lost_syns_explain_long_fetches() {
    let loss = Scenario::load("fetch").unwrap().settings.get("drop");
    assert_eq!(loss.as_deref(), Some("up:bernoulli:0.02"));
    for cell in &FIGURE.cells {
        for over in &cell.over {
            let p = over.by_lost_syns;
            let error = (p * (1.0 - p) / COUNT as f64).sqrt();
            let off = (over.runs.share - p).abs();
            assert!(off < 4.0 * error, "{} {over:?}", cell.profile);
        }
    }
}

#[test]
fn probabilities_of_lost_syns() {
    let fifty = |a: f64| 1.0 - (1.0 - a).powi(50);
    for (limit, rto, slp, a) in [
        (500, 1, false, 0.02),
        (500, 1, true, 4e-4),
        (2000, 1, false, 4e-4),
        (2000, 1, true, 8e-6),
        (2000, 3, false, 0.02),
        (9500, 3, false, 8e-6),
    ] {
        let (limit, rto) = (Duration::from_millis(limit), Duration::from_secs(rto));
        let p = by_lost_syns(limit, rto, slp);
        assert!((p - fifty(a)).abs() < 1e-12, "{limit:?} {rto:?} {slp}: {p}");
    }
}

#[test]
fn a_run_is_the_scenario_with_its_seed() {
    let mut scenario = Scenario::load("fetch").unwrap();
    scenario.seed = 8;
    let mut setup = crate::slp::setup(ID, Effort::Full);
    setup.base.seed = 8;
    let shown = figure(&setup, 1).unwrap();
    for (cell, result) in shown.cells.iter().zip(recoup_lab::run::run(&scenario, 1, |_| ()).unwrap()) {
        assert_eq!(cell.profile, result.profile.to_string());
        let summary = result.cost.fct.summary().unwrap();
        let largest = cell.fct_ms.iter().flatten().copied().fold(0.0, f64::max);
        assert_eq!((cell.fct_ms.len(), largest), (50, summary.max));
        assert_eq!((cell.spent.bytes * 50.0).round() as u64, result.cost.bytes_sent);
        let copies: f64 = cell.spent.copies.values().sum();
        assert_eq!((copies * 50.0).round() as u64, result.cost.counters.copies);
    }
}

/// SLP copies the request and both packets of the handshake, but no retransmission.
#[test]
fn copies_are_counted_by_kind() {
    let copies: Vec<_> = FIGURE.cells[1].spent.copies.iter().collect();
    assert_eq!(copies, [(&"file", &0.0), (&"request", &1.0), (&"syn", &1.0), (&"syn_ack", &1.0)]);
    assert!(FIGURE.cells[0].spent.copies.values().all(|n| *n == 0.0));
}
