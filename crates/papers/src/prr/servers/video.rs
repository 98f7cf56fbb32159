//! §5.4: video servers in DC2 with rate halving, RFC 3517 and PRR. Tables 2, 3 and 10.
//!
//! Given by the paper: 2.3 MB a connection, the first 20 to 30 s of a video at once and then writes at the encoding rate,
//! little surplus above it. Fitted to the baseline: `fits/prr-video.toml`.
//!
//! The paper says that in fast recovery pipe drops below ssthresh in about 40 % of the events. It does not say that it is below at
//! the start. We count recoveries in which it is below at any time, before the server responds to an ACK.
//!
//! Blocks of 64 kB at the encoding rate are our choice: so YouTube's servers wrote then (Ghobadi et al., "Trickle: Rate Limiting
//! YouTube Video Streaming", 2012).

mod claims;

use super::compare::{Of, percent, points, ratio, total};
use super::connection::Connection;
use super::rows::Rows;
use super::tables::{self, count, fast, retransmissions, segments};
use super::users::{Service, Users};
use super::{Cell, Evaluation};
use crate::prelude::*;
use recoup_path::Outages;

/// The fit of the users.
pub const FIT: &str = "prr-video";

/// The users of DC2.
pub fn users(fit: &Parameters) -> Users {
    let seconds = |name: &str| Duration::from_secs_f64(fit.get(name));
    Users {
        rtt: LogNormal { median: fit.get("rtt"), sigma: 0.4, least: 50.0, most: 3000.0 },
        rate: LogNormal { median: fit.get("rate"), sigma: 0.1, least: 0.1, most: 1.0 },
        queue: LogNormal { median: fit.get("queue"), sigma: 0.3, least: 1.0, most: 1000.0 },
        loss: LogNormal { median: fit.get("loss"), sigma: 0.5, least: 0.0001, most: 0.3 },
        outages: Some(Outages {
            sigma: fit.get("outage_sigma"),
            ..Outages::new(seconds("outage_gap"), seconds("outage_length"))
        }),
        ack_loss: 0.2,
        overtaking: fit.get("overtaking"),
        sack: 0.96,
        timestamps: 0.12,
        service: Service::Video {
            // The mean is 2.3 MB.
            size: LogNormal { median: 1.921e6, sigma: 0.6, least: 1e5, most: 2e7 },
            encoding: LogNormal { median: 230.0, sigma: 0.2, least: 100.0, most: 600.0 },
            burst: 25.0,
            block: 65_536,
        },
    }
}

/// Table 10 of the paper: Linux, RFC 3517, PRR.
const TRANSMIT: [f64; 3] = [87.4, 83.3, 84.8];
const IN_RECOVERY: [f64; 3] = [42.7, 46.3, 44.9];
const RATE: [f64; 3] = [5.0, 6.6, 5.6];
const BYTES: [f64; 3] = [7.0, 12.0, 10.0];
const LOST: [f64; 3] = [2.4, 16.4, 4.8];
const SLOW_START: [f64; 3] = [56.0, 1.0, 0.0];

/// Tables, claims and pictures.
pub fn evaluate(population: &Users, cells: &[Cell]) -> Evaluation {
    let mut rows = Rows::default();
    inputs(&mut rows, population, &cells[0]);
    tables::table2(&mut rows, &cells[0], [54.0, 17.0, 8.0, 3.0, 2.0, 4.0, 29.0]);
    tables::table3(&mut rows, &cells[0], [4.0, 1.4, 9.0, 3.1]);
    table10(&mut rows, cells);
    Evaluation { rows: rows.0, claims: claims::all(cells), picture: chart(cells).into(), more: vec![] }
}

fn inputs(rows: &mut Rows, population: &Users, cell: &Cell) {
    for (quantity, unit, value, paper) in [
        ("users", "", cell.connections.len() as f64, NAN),
        ("mean video", "MB", 2.3, 2.3),
        ("written at once", "s", 25.0, NAN),
        ("encoding rate, median", "kbit/s", 230.0, NAN),
        ("last short segments that overtake others", "%", population.overtaking * 100.0, NAN),
    ] {
        tables::chosen(rows, cell, quantity, unit, value, paper);
    }
}

/// The network transmit time in s.
pub fn transmit(connection: &Connection) -> f64 {
    connection.busy_ms / 1e3
}

/// The network recovery time in s.
pub fn recovery(connection: &Connection) -> f64 {
    let time = |c: &Counters| c.in_recovery + c.in_loss;
    connection.disturbed.as_ref().map_or(0.0, |it| time(&it.counters).as_secs_f64())
}

/// Segments sent in fast recovery.
pub fn sent_in_recovery() -> impl Of {
    count(|c| c.sent_in_recovery)
}

fn table10(rows: &mut Rows, cells: &[Cell]) {
    rows.each(("Table 10", "network transmit time", "s"), cells, &TRANSMIT, |cell| ratio(cell, transmit, |_| 1.0));
    rows.differences(
        ("Table 10", "network transmit time, difference from Linux", "%"),
        cells,
        &[-4.7, -3.0],
        |base, arm| total(base, arm, transmit),
    );
    rows.each(("Table 10", "time in loss recovery", "%"), cells, &IN_RECOVERY, |cell| {
        percent(cell, recovery, transmit)
    });
    rows.each(("Table 10", "retransmission rate", "%"), cells, &RATE, tables::retransmission_rate);
    rows.each(("Table 10", "bytes sent in fast recovery", "%"), cells, &BYTES, |cell| {
        percent(cell, sent_in_recovery(), segments)
    });
    rows.differences(
        ("Table 10", "bytes sent in fast recovery, difference from Linux", "% points"),
        cells,
        &[5.0, 3.0],
        |base, arm| points(base, arm, sent_in_recovery(), segments),
    );
    rows.each(("Table 10", "fast retransmits lost", "%"), cells, &LOST, lost_fast);
    let header = ("Table 10", "recoveries in which pipe drops below ssthresh", "%");
    rows.each(header, cells, &[NAN, 40.0, NAN], below_ssthresh);
    rows.each(("Table 10", "slow start after fast recovery", "%"), cells, &SLOW_START, slow_start_after);
}

/// The share of the recoveries in which losses bring pipe below ssthresh, at their start or later.
fn below_ssthresh(cell: &Cell) -> Estimate {
    let below = |connection: &Connection| connection.disturbed.as_ref().map_or(0, |it| it.below_ssthresh) as f64;
    percent(cell, below, |connection| connection.recoveries().len() as f64)
}

pub fn lost_fast(cell: &Cell) -> Estimate {
    percent(cell, count(|c| c.detected_lost_retransmissions), count(fast))
}

pub fn slow_start_after(cell: &Cell) -> Estimate {
    percent(cell, count(|c| c.slow_starts_after_recovery), count(|c| c.recoveries))
}

fn chart(cells: &[Cell]) -> BarChart {
    type Quantity = (&'static str, fn(&Cell) -> Estimate, [f64; 3]);
    let quantities: [Quantity; 5] = [
        ("in recovery", |cell| percent(cell, recovery, transmit), IN_RECOVERY),
        ("retransmitted", |cell| percent(cell, count(retransmissions), segments), RATE),
        ("bytes sent in FR", |cell| percent(cell, sent_in_recovery(), segments), BYTES),
        ("FR lost", lost_fast, LOST),
        ("slow start after FR", slow_start_after, SLOW_START),
    ];
    let ours = |(label, of, _): Quantity| (label, cells.iter().map(move |cell| Some(of(cell).mean)));
    BarChart::new(
        "Table 10: video transfers",
        "FR: fast recovery, fast retransmits",
        "%",
        cells.iter().map(|cell| cell.arm.name),
    )
    .panel("simulated", quantities.map(ours))
    .panel("the paper's", quantities.map(|(label, _, papers)| (label, papers.map(Some))))
}
