//! §5.3: web servers in DC1 with rate halving, RFC 3517 and PRR. Tables 2, 3 and 5 to 9, figures 1 and 5.
//!
//! Given by the paper (§2, tables 1 and 3): 3.1 requests a connection, responses of 7.5 kB on average, 1.9 Mbit/s, SACK for
//! 96 % and timestamps for 12 % of the users, an initial window of ten segments. Fitted to the baseline: `fits/prr-web.toml`.
//!
//! Table 9 has two services of which the paper gives neither sizes nor paths. In their place we show the responses of
//! these users in two groups: those of at most the mean 7.5 kB, and the larger ones.

mod claims;
mod figures;

use super::compare::{Values, percent, quantile_differences, ratio, relative, total};
use super::connection::{Answer, Connection};
use super::rows::Rows;
use super::tables::{self, TABLE_8, Total, latency, responses};
use super::users::{Service, Users};
use super::{Cell, Evaluation};
use crate::prelude::*;
use recoup_path::Outages;
use recoup_recovery::Recovery;

/// The mean response, in bytes (table 1).
const MEAN_RESPONSE: f64 = 7500.0;

/// The fit of the users.
pub const FIT: &str = "prr-web";

/// The mean response of the connections with one-segment responses, in bytes.
const TINY: f64 = 500.0;

/// The users of DC1.
pub fn users(fit: &Parameters) -> Users {
    let (tiny, sigma) = (fit.get("tiny"), fit.get("sigma"));
    // The mean of all is the paper's. That of a lognormal quantity is the median times exp(sigma²/2).
    let others = (MEAN_RESPONSE - tiny * TINY) / (1.0 - tiny);
    let seconds = |name: &str| Duration::from_secs_f64(fit.get(name));
    Users {
        rtt: LogNormal { median: 100.0, sigma: 0.9, least: 5.0, most: 3000.0 },
        // The mean is 1.9 Mbit/s.
        rate: LogNormal { median: 1.1524, sigma: 1.0, least: 0.064, most: 50.0 },
        queue: LogNormal { median: fit.get("queue"), sigma: 0.9, least: 1.0, most: 1000.0 },
        loss: LogNormal { median: fit.get("loss"), sigma: 1.0, least: 0.0001, most: 0.3 },
        outages: Some(Outages {
            sigma: fit.get("outage_sigma"),
            ..Outages::new(seconds("outage_gap"), seconds("outage_length"))
        }),
        ack_loss: 0.5,
        overtaking: fit.get("overtaking"),
        sack: 0.96,
        timestamps: 0.12,
        service: Service::Web {
            requests: 3.1,
            tiny,
            tiny_response: LogNormal { median: TINY / 0.125_f64.exp(), sigma: 0.5, least: 100.0, most: 1400.0 },
            response: LogNormal { median: others / (sigma * sigma / 2.0).exp(), sigma, least: 100.0, most: 1e7 },
            think_time: LogNormal { median: 2000.0, sigma: 1.5, least: 50.0, most: 240_000.0 },
        },
    }
}

/// A group of responses, with its name.
type Group = (&'static str, fn(&Answer) -> bool);

/// The groups of responses of table 9, with the paper's services in their place.
const GROUPS: [Group; 3] = [
    ("up to 7.5 kB", |one| one.bytes as f64 <= MEAN_RESPONSE),
    ("over 7.5 kB", |one| one.bytes as f64 > MEAN_RESPONSE),
    ("all", |_| true),
];

/// Table 9's quantiles.
const TABLE_9: [f64; 4] = [0.25, 0.5, 0.9, 0.99];

/// Table 9 of the paper, search and page ads: Linux's quantiles and mean in ms, RFC 3517's differences and PRR's, in %.
const PAPERS_TABLE_9: [[[f64; 5]; 3]; 2] = [
    [[487.0, 852.0, 4338.0, 31581.0, 2410.0], [-8.0, -5.8, -2.4, -5.2, -3.7], [-7.0, -5.6, -2.0, -5.6, -3.5]],
    [[464.0, 1059.0, 4956.0, 24640.0, 2441.0], [-7.3, -7.8, -9.3, -10.0, -9.0], [-5.2, -9.4, -9.7, -11.7, -9.8]],
];

/// The percentiles of table 7, and its rows for Linux, RFC 3517 and PRR.
const TABLE_7: [f64; 7] = [0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99];
const PAPERS_TABLE_7: [[f64; 7]; 3] = [
    [1.0, 2.0, 3.0, 5.0, 9.0, 12.0, 19.0],
    [2.0, 3.0, 5.0, 8.0, 14.0, 19.0, 31.0],
    [2.0, 3.0, 6.0, 9.0, 15.0, 21.0, 35.0],
];

/// Tables, claims and pictures.
pub fn evaluate(population: &Users, cells: &[Cell], variants: &[Cell]) -> Evaluation {
    let mut rows = Rows::default();
    inputs(&mut rows, population, &cells[0]);
    tables::table2(&mut rows, &cells[0], [24.0, 43.0, 30.0, 2.0, 1.0, 10.0, 17.0]);
    tables::table3(&mut rows, &cells[0], [12.0, 3.8, 6.0, 1.9]);
    table5(&mut rows, cells);
    table6(&mut rows, cells);
    table7(&mut rows, cells);
    tables::totals(&mut rows, "Table 8", cells, TABLE_8.into_iter().chain([WITH_TIMEOUTS]));
    table9(&mut rows, cells);
    compare_variants(&mut rows, variants);
    figures::figure1(&mut rows, &cells[0]);
    figures::figure5(&mut rows, cells);
    Evaluation {
        rows: rows.0,
        claims: claims::all(cells),
        picture: figures::recovery_times(cells).into(),
        more: vec![
            ("fig1-latency", figures::latency_by_rtt(&cells[0]).into()),
            ("fig1-rtts", figures::latency_in_rtts(&cells[0]).into()),
        ],
    }
}

/// The paper's numbers of its users, and those that the baseline was fitted to (tables 1 and 3).
pub fn inputs(rows: &mut Rows, population: &Users, cell: &Cell) {
    let all = responses(|_| true);
    let users = cell.connections.len() as f64;
    let bytes = |connection: &Connection| connection.responses.iter().map(|one| one.bytes as f64).sum::<f64>() / 1e3;
    tables::met(rows, cell, "requests per connection", "", ratio(cell, &all, |_| 1.0), 3.1);
    tables::met(rows, cell, "mean response", "kB", ratio(cell, bytes, &all), 7.5);
    tables::met(rows, cell, "fitted: retransmission rate", "%", tables::retransmission_rate(cell), 2.5);
    let retransmitted = responses(|one| one.is_retransmitted);
    let share = percent(cell, retransmitted, &all);
    tables::met(rows, cell, "fitted: responses with retransmissions", "%", share, 6.1);
    tables::met(rows, cell, "fitted: fast retransmits per fast recovery", "", tables::per_recovery(cell), 3.15);
    for (quantity, unit, value, paper) in [
        ("users", "", users, NAN),
        ("mean rate", "Mbit/s", 1.9, 1.9),
        ("users with SACK", "%", population.sack * 100.0, 96.0),
        ("users with timestamps", "%", population.timestamps * 100.0, 12.0),
        ("RTT without queueing, median", "ms", population.rtt.median, NAN),
        ("last short segments that overtake others", "%", population.overtaking * 100.0, NAN),
    ] {
        tables::chosen(rows, cell, quantity, unit, value, paper);
    }
}

fn table5(rows: &mut Rows, cells: &[Cell]) {
    type Counts = fn(&Recovery) -> bool;
    let shares: [(&str, Counts, f64); 4] = [
        ("pipe < ssthresh at the start", |r| tables::pipe_above(r) < 0, 32.0),
        ("pipe == ssthresh at the start", |r| tables::pipe_above(r) == 0, 13.0),
        ("pipe > ssthresh at the start", |r| tables::pipe_above(r) > 0, 45.0),
        ("pipe < ssthresh - 10 at the start", |r| tables::pipe_above(r) < -10, 1.0),
    ];
    for (name, counts, paper) in shares {
        rows.each(("Table 5", format!("{name}, of all recoveries"), "%"), cells, &[NAN, NAN, paper], |cell| {
            tables::recoveries(cell, counts)
        });
    }
    for (share, name, paper) in
        [(0.0, "min", -338.0), (0.01, "1 %", -10.0), (0.5, "50 %", 1.0), (0.99, "99 %", 11.0), (1.0, "max", 144.0)]
    {
        rows.each(("Table 5", format!("pipe - ssthresh, {name}"), "segments"), cells, &[NAN, NAN, paper], |cell| {
            at(&of_recoveries(cell, |r| tables::pipe_above(r) as f64), share)
        });
    }
    rows.each(
        ("Table 5", "recoveries with more than ten segments on one ACK", "%"),
        cells,
        &[NAN, 1.0],
        bursts_above_ten,
    );
    rows.each(("Table 5", "most segments on one ACK", "segments"), cells, &[NAN, 338.0], |cell| {
        at(&largest_bursts(cell), 1.0)
    });
}

fn table6(rows: &mut Rows, cells: &[Cell]) {
    let exits = |r: &Recovery| f64::from(r.last_cwnd.0) - f64::from(r.ssthresh.0);
    let names = ["5 %", "10 %", "25 %", "50 %", "75 %", "90 %", "95 %", "99 %"];
    let shares = [0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99];
    let papers = [-8.0, -3.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0];
    for ((share, name), paper) in shares.into_iter().zip(names).zip(papers) {
        rows.each(
            ("Table 6", format!("cwnd - ssthresh before the exit, {name}"), "segments"),
            cells,
            &[NAN, NAN, paper],
            |cell| at(&of_recoveries(cell, exits), share),
        );
    }
}

fn table7(rows: &mut Rows, cells: &[Cell]) {
    for (i, share) in TABLE_7.into_iter().enumerate() {
        rows.each(
            ("Table 7", format!("cwnd after recovery, {:.0} %", share * 100.0), "segments"),
            cells,
            &PAPERS_TABLE_7.map(|row| row[i]),
            |cell| at(&of_recoveries(cell, cwnd_after), share),
        );
    }
}

/// Table 8's count of lost retransmissions with those that only timeouts showed, beside it.
const WITH_TIMEOUTS: Total = ("lost retransmissions, those of timeouts included", |c| c.lost_retransmissions, [NAN; 2]);

/// RFC 3517 and PRR as the paper's algorithms, and as Linux, take their base of the reduction.
fn compare_variants(rows: &mut Rows, variants: &[Cell]) {
    let without_papers = |(name, of, _): Total| (name, of, [NAN; 2]);
    tables::totals(rows, "Variants", variants, TABLE_8.into_iter().chain([WITH_TIMEOUTS]).map(without_papers));
    let header = ("Variants", "latency of responses with retransmissions, difference from Linux", "%");
    rows.differences(header, variants, &[], tables::latency_difference);
    let below: fn(&Recovery) -> bool = |r| tables::pipe_above(r) < 0;
    rows.each(("Variants", "pipe < ssthresh at the start, of all recoveries", "%"), variants, &[], |cell| {
        tables::recoveries(cell, below)
    });
}

fn table9(rows: &mut Rows, cells: &[Cell]) {
    for (group, (name, counts)) in GROUPS.into_iter().enumerate() {
        let papers = PAPERS_TABLE_9.get(group);
        let paper = |arm: usize, at: usize| papers.map_or(NAN, |paper| paper[arm][at]);
        let of = |one: &Answer| one.is_retransmitted && counts(one);
        let values: Vec<Values> = cells.iter().map(|cell| Values::new(cell, |c| latencies(c, of))).collect();
        let quantiles = values[0].at(&TABLE_9);
        let changes: Vec<Vec<Estimate>> =
            values[1..].iter().map(|arm| quantile_differences(&values[0], arm, &TABLE_9)).collect();
        let base = [cells[0].arm.name];
        for (i, share) in TABLE_9.into_iter().enumerate() {
            let what = format!("{name}, {:.0} %", share * 100.0);
            let ours = base.into_iter().zip([Estimate::exactly(quantiles[i])]);
            rows.add(("Table 9", format!("latency of responses {what}"), "ms"), ours, &[paper(0, i)]);
            let ours = cells[1..].iter().map(|cell| cell.arm.name).zip(changes.iter().map(|change| change[i]));
            let header = ("Table 9", format!("difference of responses {what}"), "%");
            rows.add(header, ours, &[paper(1, i), paper(2, i)]);
        }
        let mean = ratio(&cells[0], latency(of), responses(of));
        let header = ("Table 9", format!("latency of responses {name}, mean"), "ms");
        rows.add(header, base.into_iter().zip([mean]), &[paper(0, 4)]);
        rows.differences(
            ("Table 9", format!("difference of responses {name}, mean"), "%"),
            cells,
            &[paper(1, 4), paper(2, 4)],
            |base, arm| relative(base, arm, latency(of), responses(of)),
        );
    }
    rows.differences(
        ("Table 9", "difference of all responses, with and without losses, mean", "%"),
        cells,
        &[],
        |base, arm| total(base, arm, latency(|_| true)),
    );
}

/// The latencies of the responses that `counts`, in ms.
fn latencies(connection: &Connection, counts: impl Fn(&Answer) -> bool) -> Vec<f64> {
    connection.responses.iter().filter(|one| counts(one)).map(|one| one.latency_ms).collect()
}

/// A quantity of all recoveries, in ascending order.
pub fn of_recoveries(cell: &Cell, of: impl Fn(&Recovery) -> f64) -> Vec<f64> {
    let mut values: Vec<f64> = cell.connections.iter().flat_map(|one| one.recoveries()).map(of).collect();
    values.sort_by(f64::total_cmp);
    values
}

pub fn cwnd_after(recovery: &Recovery) -> f64 {
    recovery.cwnd.0.into()
}

fn at(values: &[f64], share: f64) -> Estimate {
    Estimate::exactly(quantile(values, share).unwrap_or(NAN))
}

/// The most segments sent on one ACK in each recovery, in ascending order.
fn largest_bursts(cell: &Cell) -> Vec<f64> {
    let mut bursts: Vec<f64> = cell
        .connections
        .iter()
        .filter_map(|c| c.disturbed.as_ref())
        .flat_map(|it| it.bursts.iter().map(|b| f64::from(*b)))
        .collect();
    bursts.sort_by(f64::total_cmp);
    bursts
}

/// The share of the recoveries in which more than ten segments were sent on one ACK, in percent.
fn bursts_above_ten(cell: &Cell) -> Estimate {
    let bursts = |connection: &Connection, least: u32| {
        connection.disturbed.as_ref().map_or(&[][..], |it| &it.bursts).iter().filter(|burst| **burst >= least).count()
            as f64
    };
    percent(cell, move |c| bursts(c, 11), move |c| bursts(c, 0))
}
