//! Figures 1 and 5.

use super::super::compare::{points, relative};
use super::super::connection::Connection;
use super::super::rows::Rows;
use super::super::tables::count;
use super::{Cell, at, of_recoveries};
use crate::distribution;
use crate::prelude::*;
use recoup_recovery::Recovery;

/// The width of a bucket of figure 1, in ms, and how many are shown.
const BUCKET: f64 = 200.0;
const BUCKETS: usize = 10;

/// A bucket needs this many responses with retransmissions.
const FEWEST: usize = 30;

/// A bucket of figure 1: mean latencies and mean minimum RTT, in ms, of responses of 4 to 8 kB.
#[derive(Clone, Copy, Debug)]
pub struct Bucket {
    /// Its middle, in ms.
    middle: f64,
    /// Of responses with retransmissions.
    pub with: f64,
    /// Of responses without.
    pub without: f64,
    /// The mean of the minimum RTTs.
    pub ideal: f64,
}

/// The buckets with enough responses.
pub fn buckets(cell: &Cell) -> Vec<Bucket> {
    let mut sums = [[(0_usize, 0.0); 3]; BUCKETS];
    let all = cell.connections.iter().flat_map(|c| &c.responses);
    for one in all.filter(|one| (4000..=8000).contains(&one.bytes)) {
        let Some(sums) = sums.get_mut((one.min_rtt_ms / BUCKET) as usize) else {
            continue;
        };
        let of = usize::from(!one.is_retransmitted);
        for (to, value) in [(of, one.latency_ms), (2, one.min_rtt_ms)] {
            sums[to].0 += 1;
            sums[to].1 += value;
        }
    }
    let mean = |(count, sum): (usize, f64)| sum / count as f64;
    sums.into_iter()
        .enumerate()
        .filter(|(_, sums)| sums[0].0 >= FEWEST && sums[1].0 > 0)
        .map(|(i, [with, without, ideal])| Bucket {
            middle: (i as f64 + 0.5) * BUCKET,
            with: mean(with),
            without: mean(without),
            ideal: mean(ideal),
        })
        .collect()
}

/// Latencies in minimum RTTs, in ascending order, of responses with or without retransmissions.
pub fn in_rtts(cell: &Cell, retransmitted: bool) -> Vec<f64> {
    let mut values: Vec<f64> = cell
        .connections
        .iter()
        .flat_map(|c| &c.responses)
        .filter(|one| one.is_retransmitted == retransmitted && one.min_rtt_ms > 0.0)
        .map(|one| one.latency_ms / one.min_rtt_ms)
        .collect();
    values.sort_by(f64::total_cmp);
    values
}

pub fn figure1(rows: &mut Rows, cell: &Cell) {
    let arm = cell.arm.name;
    for bucket in buckets(cell) {
        for (what, value) in [("with", bucket.with), ("without", bucket.without)] {
            let low = bucket.middle - BUCKET / 2.0;
            let quantity = format!("latency {what} retransmissions over ideal, RTT {low:.0} to {:.0} ms", low + BUCKET);
            rows.add(("Figure 1", quantity, ""), [(arm, Estimate::exactly(value / bucket.ideal))], &[]);
        }
    }
    for (what, retransmitted) in [("with", true), ("without", false)] {
        let values = in_rtts(cell, retransmitted);
        for share in [0.5, 0.99] {
            let quantity = format!("latency {what} retransmissions, {:.0} %", share * 100.0);
            rows.add(("Figure 1", quantity, "RTTs"), [(arm, at(&values, share))], &[]);
        }
    }
}

/// The times until the sender is Open again, in ms, in ascending order.
fn recovery_time(recovery: &Recovery) -> f64 {
    recovery.until_open.map_or(NAN, |time| time.as_secs_f64() * 1e3)
}

fn recovery_durations(cell: &Cell) -> Vec<f64> {
    let mut times = of_recoveries(cell, recovery_time);
    times.retain(|time| time.is_finite());
    times
}

/// The difference of the mean recovery times, in percent.
pub fn recovery_time_difference(base: &Cell, arm: &Cell) -> Estimate {
    let sum = |connection: &Connection| {
        connection.recoveries().iter().map(recovery_time).filter(|time| time.is_finite()).sum()
    };
    let number = |connection: &Connection| {
        connection.recoveries().iter().map(recovery_time).filter(|time| time.is_finite()).count() as f64
    };
    relative(base, arm, sum, number)
}

pub fn figure5(rows: &mut Rows, cells: &[Cell]) {
    for share in [0.25, 0.5, 0.75, 0.9, 0.99] {
        rows.each(("Figure 5", format!("recovery time, {:.0} %", share * 100.0), "ms"), cells, &[], |cell| {
            at(&recovery_durations(cell), share)
        });
    }
    rows.differences(
        ("Figure 5", "mean recovery time, difference from Linux", "%"),
        cells,
        &[],
        recovery_time_difference,
    );
    rows.differences(
        ("Figure 5", "recoveries that end in a timeout, difference from Linux", "% points"),
        cells,
        &[],
        |base, arm| points(base, arm, count(|c| c.timeouts_in(State::Recovery)), count(|c| c.recoveries)),
    );
}

pub fn recovery_times(cells: &[Cell]) -> LineChart {
    LineChart::new(
        "Figure 5: time from the start of a recovery until the sender is Open",
        "recovery time (ms)",
        "share of the recoveries",
        cells.iter().map(|cell| cell.arm.name),
    )
    .logarithmic()
    .up_to(1.0)
    .panel("", cells.iter().map(|cell| distribution::curve(&recovery_durations(cell))))
}

pub fn latency_by_rtt(cell: &Cell) -> LineChart {
    let buckets = buckets(cell);
    let line = |of: fn(&Bucket) -> f64| buckets.iter().map(move |b| (b.middle, of(b)));
    LineChart::new(
        "Figure 1, top: mean latency of responses of 4 to 8 kB by RTT (200 ms buckets)",
        "RTT (ms)",
        "TCP latency (ms)",
        ["with retransmissions", "without retransmissions", "ideal (minimum RTT)"],
    )
    .panel("", [line(|b| b.with), line(|b| b.without), line(|b| b.ideal)])
}

pub fn latency_in_rtts(cell: &Cell) -> LineChart {
    LineChart::new(
        "Figure 1, bottom: latency of all responses in RTTs",
        "latency (minimum RTTs)",
        "share of the responses",
        ["with retransmissions", "without retransmissions"],
    )
    .logarithmic()
    .up_to(1.0)
    .panel("", [true, false].map(|with| distribution::curve(&in_rtts(cell, with))))
}
