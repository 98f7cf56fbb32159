//! Quantities that several figures have: tables 2, 3 and 8, latencies of responses with retransmissions, and inputs.

use super::compare::{Of, percent, ratio, relative, shown, total};
use super::connection::{Answer, Connection};
use super::rows::Rows;
use super::{Cell, compare};
use crate::prelude::*;

/// A count of the server's sender, as a quantity of a connection.
pub fn count(of: impl Fn(&Counters) -> u64) -> impl Of {
    move |connection: &Connection| connection.count(&of)
}

/// All retransmissions.
pub fn retransmissions(counters: &Counters) -> u64 {
    counters.retransmissions.total()
}

/// Fast retransmits, early ones included: they begin a fast recovery, and Linux's counters do not tell them apart.
pub fn fast(counters: &Counters) -> u64 {
    let all = counters.retransmissions;
    all.of(Trigger::Fast) + all.of(Trigger::Early)
}

/// The first retransmissions upon a timeout.
pub fn timeouts(counters: &Counters) -> u64 {
    counters.retransmissions.of(Trigger::Rto)
}

/// Retransmissions in slow start after a timeout.
pub fn slow_start(counters: &Counters) -> u64 {
    counters.retransmissions.of(Trigger::SlowStart)
}

/// Reductions that were undone.
pub fn undone(counters: &Counters) -> u64 {
    counters.undone.iter().sum()
}

/// Data segments sent.
pub fn segments(connection: &Connection) -> f64 {
    connection.segments_sent as f64
}

/// The number of responses that `counts`.
pub fn responses(counts: impl Fn(&Answer) -> bool) -> impl Of {
    move |connection: &Connection| connection.responses.iter().filter(|one| counts(one)).count() as f64
}

/// The sum of the latencies of the responses that `counts`, in ms.
pub fn latency(counts: impl Fn(&Answer) -> bool) -> impl Of {
    move |connection: &Connection| connection.responses.iter().filter(|one| counts(one)).map(|one| one.latency_ms).sum()
}

/// Table 2: kinds of retransmissions, in percent of all. `paper`: its column for this data center.
pub fn table2(rows: &mut Rows, baseline: &Cell, paper: [f64; 7]) {
    type Kind = (&'static str, fn(&Counters) -> u64);
    let kinds: [Kind; 7] = [
        ("fast retransmits", fast),
        ("timeout retransmits", timeouts),
        ("timeouts in Open", |c| c.timeouts_in(State::Open)),
        ("timeouts in Disorder", |c| c.timeouts_in(State::Disorder)),
        ("timeouts in Recovery", |c| c.timeouts_in(State::Recovery)),
        ("timeouts in exponential back-off", |c| c.timeouts_in(State::Loss)),
        ("slow start retransmits", slow_start),
    ];
    for ((name, kind), paper) in kinds.into_iter().zip(paper) {
        let share = percent(baseline, count(kind), count(retransmissions));
        let header = ("Table 2", format!("{name} of all retransmissions"), "%");
        rows.add(header, [(baseline.arm.name, share)], &[paper]);
    }
}

/// Table 3: how well fast recovery performs. `paper`: its column for this data center, without the fitted first row.
pub fn table3(rows: &mut Rows, baseline: &Cell, paper: [f64; 4]) {
    type Part = (&'static str, fn(&Counters) -> u64, fn(&Counters) -> u64);
    let parts: [Part; 5] = [
        ("fast recoveries with DSACKs", |c| c.recoveries_with_dsack, |c| c.recoveries),
        ("DSACKs per fast retransmit", |c| c.dsacks, fast),
        ("lost fast retransmits per fast recovery", |c| c.detected_lost_retransmissions, |c| c.recoveries),
        ("lost fast retransmits per fast retransmit", |c| c.detected_lost_retransmissions, fast),
        ("the same, those of timeouts included", |c| c.lost_retransmissions, fast),
    ];
    for ((name, part, whole), paper) in parts.into_iter().zip(paper.into_iter().chain([NAN])) {
        let share = percent(baseline, count(part), count(whole));
        rows.add(("Table 3", name, "%"), [(baseline.arm.name, share)], &[paper]);
    }
}

/// An input that the baseline meets by our choice of parameters, with the value that was aimed at.
pub fn met(rows: &mut Rows, baseline: &Cell, quantity: &'static str, unit: &'static str, ours: Estimate, aim: f64) {
    rows.add(("inputs", quantity, unit), [(baseline.arm.name, ours)], &[aim]);
}

/// A parameter of the users, with the paper's value if it has one.
pub fn chosen(rows: &mut Rows, baseline: &Cell, quantity: &'static str, unit: &'static str, value: f64, paper: f64) {
    rows.add(("inputs", quantity, unit), [(baseline.arm.name, Estimate::exactly(value))], &[paper]);
}

/// Retransmissions of all segments, in percent.
pub fn retransmission_rate(cell: &Cell) -> Estimate {
    percent(cell, count(retransmissions), segments)
}

/// Fast retransmits per fast recovery.
pub fn per_recovery(cell: &Cell) -> Estimate {
    ratio(cell, count(fast), count(|c| c.recoveries))
}

/// The share of the recoveries that `counts`, in percent.
pub fn recoveries(cell: &Cell, counts: impl Fn(&recoup_recovery::Recovery) -> bool) -> Estimate {
    let found = move |connection: &Connection| connection.recoveries().iter().filter(|one| counts(one)).count() as f64;
    compare::percent(cell, found, |connection| connection.recoveries().len() as f64)
}

/// pipe − ssthresh at the start of a recovery, in segments.
pub fn pipe_above(recovery: &recoup_recovery::Recovery) -> i64 {
    i64::from(recovery.pipe.0) - i64::from(recovery.ssthresh.0)
}

/// A total of the servers' counts, with the paper's differences of RFC 3517 and PRR from Linux in percent.
pub type Total = (&'static str, fn(&Counters) -> u64, [f64; 2]);

/// The totals of table 8.
pub const ALL: Total = ("all retransmissions", retransmissions, [3.7, 2.5]);
/// See [`ALL`].
pub const FAST: Total = ("fast retransmissions", fast, [17.0, 13.0]);
/// See [`ALL`].
pub const IN_RECOVERY: Total = ("timeouts in recovery", |c| c.timeouts_in(State::Recovery), [-2.5, -5.0]);
/// See [`ALL`].
pub const LOST: Total = ("lost retransmissions that ACKs showed", |c| c.detected_lost_retransmissions, [198.0, 117.0]);

/// Table 8.
pub const TABLE_8: [Total; 4] = [ALL, FAST, IN_RECOVERY, LOST];

/// How each arm's totals differ from Linux's, as rows of this table.
pub fn totals(rows: &mut Rows, table: &'static str, cells: &[Cell], totals: impl IntoIterator<Item = Total>) {
    for (name, of, papers) in totals {
        rows.differences((table, format!("{name}, difference from Linux"), "%"), cells, &papers, |base, arm| {
            total(base, arm, count(of))
        });
    }
}

/// A claim that the totals of RFC 3517 and PRR differ from Linux's by the paper's sizes.
pub fn sized_total(id: &'static str, linux: &Cell, [rfc, prr]: [&Cell; 2], (_, of, papers): Total) -> Claim {
    let of = |arm| total(linux, arm, count(of));
    all_sized(id, &[("RFC 3517", of(rfc), papers[0]), ("PRR", of(prr), papers[1])])
}

/// A claim that several differences from a baseline have the paper's sizes.
pub fn all_sized(id: &'static str, differences: &[(&str, Estimate, f64)]) -> Claim {
    let ours = differences
        .iter()
        .map(|(arm, difference, paper)| format!("{arm} {} (paper {paper})", shown(*difference, " %")));
    let verdicts = differences.iter().map(|(_, difference, paper)| difference.sized(*paper));
    claim(id).shows(ours.joined("; ")).needs_all(verdicts)
}

/// How an arm's mean latency of responses with retransmissions differs from another's, in percent.
pub fn latency_difference(base: &Cell, arm: &Cell) -> Estimate {
    let of = |one: &Answer| one.is_retransmitted;
    relative(base, arm, latency(of), responses(of))
}
