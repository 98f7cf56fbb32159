//! §6: the users of `web` with forms of early retransmit (ER), and table 11.
//!
//! Four arms are the paper's: the baseline, naive ER, ER that reordering turns off (first mitigation), and ER that also waits
//! for SRTT/4 within 25 to 500 ms (both mitigations). All forms act when all but one of the outstanding segments are SACKed. No
//! history of reordering is kept between connections.
//!
//! For the insensitivity to the timer, four arms wait for SRTT/8 to SRTT; their bounds are 2 ms to 4 s, lest they hide
//! the part of SRTT. For the independence of ER and PRR, two arms have PRR, one of them with ER.
//!
//! Table 11 leaves out responses without losses and those of one segment, as the paper does. A response counts if the network
//! dropped one of its segments.

mod claims;

use super::compare::{Values, interaction, percent, quantile_differences, ratio, relative, total};
use super::connection::{Answer, Connection};
use super::rows::Rows;
use super::tables::{count, fast, latency, responses, retransmissions, timeouts, undone};
use super::users::Users;
use super::{Arm, Cell, Evaluation, web};
use crate::prelude::*;

const NAIVE: Arm = Arm::new("naive ER", "linux-2.6+moderate+halving+ernaive");
const FIRST: Arm = Arm::new("first mitigation", "linux-2.6+moderate+halving+erfirst");
const BOTH: Arm = Arm::new("both mitigations", "linux-2.6+moderate+halving+er");
const BOTH_AND_PRR: Arm = Arm::new("both and PRR", "linux-2.6+moderate+er+prr");

/// All arms.
pub const ARMS: [Arm; 10] = [
    Arm::LINUX,
    NAIVE,
    FIRST,
    BOTH,
    after("SRTT/8", 8),
    after("SRTT/4", 4),
    after("SRTT/2", 2),
    after("SRTT", 1),
    Arm::PRR,
    BOTH_AND_PRR,
];

/// ER after this part of SRTT.
const fn after(name: &'static str, srtt_divisor: u8) -> Arm {
    Arm { srtt_divisor: Some(srtt_divisor), ..Arm::new(name, BOTH.profile) }
}

/// Table 11: quantiles, Linux's latencies in ms, and the differences of ER with both mitigations in %.
const TABLE_11: [f64; 5] = [0.05, 0.1, 0.5, 0.9, 0.99];
const PAPERS_LINUX: [f64; 5] = [282.0, 319.0, 1084.0, 4223.0, 26027.0];
const PAPERS_ER: [f64; 5] = [-8.5, -5.6, -8.0, -3.3, -0.6];

/// The cells, by the paper's arms and ours.
#[derive(Clone, Copy)]
struct Arms<'a> {
    linux: &'a Cell,
    naive: &'a Cell,
    first: &'a Cell,
    both: &'a Cell,
    /// SRTT/8, /4, /2 and SRTT.
    timers: &'a [Cell],
    prr: &'a Cell,
    both_and_prr: &'a Cell,
}

impl<'a> Arms<'a> {
    fn of(cells: &'a [Cell]) -> Option<Self> {
        let [linux, naive, first, both, rest @ ..] = cells else {
            return None;
        };
        let [timers @ .., prr, both_and_prr] = rest else {
            return None;
        };
        Some(Self { linux, naive, first, both, timers, prr, both_and_prr })
    }
}

/// Tables, claims and pictures.
pub fn evaluate(population: &Users, cells: &[Cell]) -> Evaluation {
    let mut rows = Rows::default();
    web::inputs(&mut rows, population, &cells[0]);
    let changes = table11_changes(cells);
    if let Some(arms) = Arms::of(cells) {
        section6(&mut rows, &cells[..4]);
        table11(&mut rows, arms, &changes);
        timers(&mut rows, arms);
        independence(&mut rows, arms);
    }
    Evaluation {
        rows: rows.0,
        claims: Arms::of(cells).map_or_else(Vec::new, |arms| claims::all(arms, &changes)),
        picture: chart(&changes).into(),
        more: vec![],
    }
}

/// Timeouts in Disorder.
fn in_disorder(counters: &Counters) -> u64 {
    counters.timeouts_in(State::Disorder)
}

/// All timeouts.
fn all_timeouts(counters: &Counters) -> u64 {
    State::ALL.into_iter().map(|state| counters.timeouts_in(state)).sum()
}

/// The share of early retransmits that a DSACK reports, in percent.
fn spurious_early(cell: &Cell) -> Estimate {
    let early = |connection: &Connection| connection.disturbed.as_ref().map_or(0, |it| it.early) as f64;
    let reported = |connection: &Connection| connection.disturbed.as_ref().map_or(0, |it| it.early_reported) as f64;
    percent(cell, reported, early)
}

fn section6(rows: &mut Rows, cells: &[Cell]) {
    type Counted = fn(&Counters) -> u64;
    let none = NAN;
    let counted: [(&str, Counted, [f64; 3]); 5] = [
        ("fast retransmits", fast, [31.0, none, none]),
        ("timeouts", all_timeouts, [-2.0, none, none]),
        ("undo events", undone, [27.0, none, none]),
        ("timeouts in Disorder", in_disorder, [none, none, -34.0]),
        ("all retransmissions", retransmissions, [none, none, 1.0]),
    ];
    for (name, of, papers) in counted {
        rows.differences(("Section 6", format!("{name}, difference from Linux"), "%"), cells, &papers, |base, arm| {
            total(base, arm, count(of))
        });
    }
    rows.differences(("Section 6", "early retransmits reported by DSACK", "%"), cells, &[none, none, 6.0], |_, arm| {
        spurious_early(arm)
    });
    let few = percent(&cells[0], count(in_disorder), count(|c| c.timeouts_in(State::Open)));
    let ours = [(cells[0].arm.name, few)];
    rows.add(("Section 6", "timeouts in Disorder per timeout in Open", "%"), ours, &[6.7]);
    let share = percent(&cells[0], count(in_disorder), count(timeouts));
    let ours = [(cells[0].arm.name, share)];
    rows.add(("Section 6", "timeouts in Disorder of timeout retransmits", "%"), ours, &[4.7]);
}

/// The latencies of the responses of table 11, in ms.
fn of_table11(cell: &Cell) -> Values {
    Values::new(cell, |connection| {
        let latencies: Vec<f64> =
            connection.responses.iter().filter(|one| one.lost_one_of_several).map(|one| one.latency_ms).collect();
        latencies
    })
}

/// By how much ER with both mitigations changes the quantiles of table 11, in percent.
fn table11_changes(cells: &[Cell]) -> Vec<Estimate> {
    Arms::of(cells)
        .map_or_else(Vec::new, |arms| quantile_differences(&of_table11(arms.linux), &of_table11(arms.both), &TABLE_11))
}

fn table11(rows: &mut Rows, arms: Arms<'_>, changes: &[Estimate]) {
    let [base, er] = [arms.linux, arms.both].map(|cell| cell.arm.name);
    let quantiles = of_table11(arms.linux).at(&TABLE_11);
    for (i, share) in TABLE_11.into_iter().enumerate() {
        let what = format!("{:.0} %", share * 100.0);
        let ours = [(base, Estimate::exactly(quantiles[i]))];
        rows.add(("Table 11", format!("latency, {what}"), "ms"), ours, &[PAPERS_LINUX[i]]);
        let header = ("Table 11", format!("latency, {what}, difference from Linux"), "%");
        rows.add(header, [(er, changes[i])], &[PAPERS_ER[i]]);
    }
    let lossy = |one: &Answer| one.lost_one_of_several;
    let mean = ratio(arms.linux, latency(lossy), responses(lossy));
    rows.add(("Table 11", "latency, mean", "ms"), [(base, mean)], &[]);
    let difference = relative(arms.linux, arms.both, latency(lossy), responses(lossy));
    rows.add(("Table 11", "latency, mean, difference from Linux", "%"), [(er, difference)], &[]);
}

fn timers(rows: &mut Rows, arms: Arms<'_>) {
    let mut add = |quantity, of: &dyn Fn(&Cell) -> Estimate| {
        rows.each(("Timer of ER", quantity, "%"), arms.timers, &[], of);
    };
    let lossy = |one: &Answer| one.lost_one_of_several;
    add("timeouts in Disorder, difference from Linux", &|cell| total(arms.linux, cell, count(in_disorder)));
    add("fast retransmits, difference from Linux", &|cell| total(arms.linux, cell, count(fast)));
    add("early retransmits reported by DSACK", &spurious_early);
    let latencies = |cell: &Cell| relative(arms.linux, cell, latency(lossy), responses(lossy));
    add("mean latency as in table 11, difference from Linux", &latencies);
}

/// A count of the sender, with its name.
type Counted = (&'static str, fn(&Counters) -> u64);

/// The totals in which effects of ER and PRR are added up.
const ADDED: [Counted; 3] =
    [("fast retransmits", fast), ("timeouts in Disorder", in_disorder), ("all retransmissions", retransmissions)];

/// The effects together less the sum of the effects alone, in percent of Linux.
fn added(arms: Arms<'_>) -> Vec<(&'static str, Estimate)> {
    let three = [arms.both, arms.prr, arms.both_and_prr];
    let counts = ADDED.map(|(name, of)| (name, interaction(arms.linux, three, count(of))));
    let latencies = interaction(arms.linux, three, latency(|_| true));
    counts.into_iter().chain([("latency of all responses", latencies)]).collect()
}

fn independence(rows: &mut Rows, arms: Arms<'_>) {
    let effect = |cell: &Cell, of: fn(&Counters) -> u64| total(arms.linux, cell, count(of));
    let three = [arms.both, arms.prr, arms.both_and_prr];
    for (name, of) in ADDED {
        let ours = three.map(|cell| (cell.arm.name, effect(cell, of)));
        let header = ("ER and PRR", format!("{name}, difference from Linux"), "%");
        rows.add(header, ours, &[]);
    }
    let ours = three.map(|cell| (cell.arm.name, total(arms.linux, cell, latency(|_| true))));
    rows.add(("ER and PRR", "latency of all responses, difference from Linux", "%"), ours, &[]);
    for (name, ours) in added(arms) {
        let header = ("ER and PRR", format!("{name}, both less the sum of each alone"), "% of Linux");
        rows.add(header, [(BOTH_AND_PRR.name, ours)], &[]);
    }
}

fn chart(changes: &[Estimate]) -> BarChart {
    let quantiles = changes.iter().zip(TABLE_11).zip(PAPERS_ER);
    BarChart::new(
        "Table 11: reduction of latency by early retransmit with both mitigations",
        "quantile of the latency",
        "reduction (%)",
        ["simulated", "the paper's"],
    )
    .panel(
        "",
        quantiles.map(|((change, share), paper)| (format!("{:.0} %", share * 100.0), [-change.mean, -paper].map(Some))),
    )
}
