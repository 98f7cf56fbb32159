//! §6: what the forms of early retransmit (ER) do in single flows.
//!
//! Flows of the scenario `prr` with an initial window of ten; the receiver acknowledges every segment. Where reordering matters,
//! segments are held back at random, and nothing is lost. How ER fares with a population of users is in `early`.

mod claims;

use super::finding::{Finding, sheet as finding_sheet};
use super::trace::{Trace, flow};
use crate::prelude::*;

/// The name on the command line.
pub const ID: &str = "er";

/// The settings that each flow sets itself.
pub const OWN_SETTINGS: [&str; 7] = ["drop", "writes", "ack", "initial_window", "reorder", "rtt", "rate"];

const BASELINE: &str = "linux-2.6+reno+noer";
const NAIVE: &str = "linux-2.6+reno+ernaive";
const FIRST: &str = "linux-2.6+reno+erfirst";
const BOTH: &str = "linux-2.6+reno+er";

/// Segments of the paper's mean response (7.5 kB).
const RESPONSE: u64 = 6;

/// When the next response is written, in ms: after the client has the first response and its request has arrived.
const NEXT: f64 = 165.0;

/// RTTs at which the delay is measured, in ms.
const RTTS: [u32; 6] = [40, 80, 200, 400, 1000, 2400];

/// Early retransmissions of all flows with reordering and without losses.
#[derive(Clone, Copy, Debug, Default)]
struct Count {
    flows: u64,
    early: u64,
    /// Those after reordering was detected on the connection.
    after_reordering: u64,
}

/// A flow in which naive ER begins a needless recovery.
#[derive(Clone, Copy, Debug)]
struct Needless {
    cwnd_before: u32,
    ssthresh: u32,
    /// How much longer the next response takes than with the baseline, in ms.
    slower_ms: f64,
}

/// Everything that the claims need.
struct Data {
    /// The first of n segments lost, n = 2 and 3: baseline and naive.
    thresholds: [[Trace; 2]; 2],
    /// Segment p of a response lost, by p: baseline and naive.
    positions: Vec<[Trace; 2]>,
    /// The only segment lost: baseline and both mitigations.
    single: [Trace; 2],
    needless: Vec<Needless>,
    /// With the baseline, for comparison.
    baseline: Count,
    /// Segments held back by 15 ms and by 60 ms: naive, and with both mitigations.
    held: [[Count; 2]; 2],
    /// Many short responses: naive, and with the first mitigation.
    many: [Count; 2],
    /// RTT and delay of early retransmit, in ms.
    delays: Vec<(f64, f64)>,
}

fn own(drop: &str, writes: &str, reorder: &str) -> String {
    format!("drop={drop} writes={writes} reorder={reorder} ack=quick initial_window=10")
}

fn data(setup: &Setup) -> Result<Data> {
    let lossy =
        |profile: &str, drop: &str, segments: u64| flow(setup, profile, &own(drop, &format!("{segments}kB@0"), "none"));
    let two = |segments| -> Result<[Trace; 2]> {
        Ok([lossy(BASELINE, "data:1", segments)?, lossy(NAIVE, "data:1", segments)?])
    };
    let positions = (1..=RESPONSE).map(|lost| {
        let drop = format!("data:{lost}");
        Ok([lossy(BASELINE, &drop, RESPONSE)?, lossy(NAIVE, &drop, RESPONSE)?])
    });
    let positions: Result<Vec<_>> = positions.collect();
    let held = |extra| -> Result<[Count; 2]> {
        let reorder = format!("0.15:{extra}ms");
        Ok([count(setup, NAIVE, "3kB@0", &reorder)?, count(setup, BOTH, "3kB@0", &reorder)?])
    };
    let responses: Vec<String> = (0..12).map(|n| format!("3kB@{}ms", n * 300)).collect();
    let responses = responses.join(",");
    let many = |profile| count(setup, profile, &responses, "0.2:60ms");
    Ok(Data {
        thresholds: [two(2)?, two(3)?],
        positions: positions?,
        single: [lossy(BASELINE, "data:1", 1)?, lossy(BOTH, "data:1", 1)?],
        needless: needless(setup)?,
        baseline: count(setup, BASELINE, "3kB@0", "0.15:15ms")?,
        held: [held(15)?, held(60)?],
        many: [many(NAIVE)?, many(FIRST)?],
        delays: delays(setup)?,
    })
}

/// Flows without losses.
fn count(setup: &Setup, profile: &str, writes: &str, reorder: &str) -> Result<Count> {
    let mut flows = Bench::new(setup, profile, &own("none", writes, reorder))?;
    let mut count = Count::default();
    for number in 0..setup.effort.of(1000, 300) {
        let trace = flows.trace(number);
        count.flows += 1;
        let mut is_reordered = false;
        for step in &trace.steps {
            let early = step.again.iter().filter(|(_, by)| *by == Trigger::Early).count() as u64;
            count.early += early;
            count.after_reordering += if is_reordered { early } else { 0 };
            is_reordered |= step.reordering > 0;
        }
    }
    Ok(count)
}

/// A response whose segments may be held back, and the next one.
fn needless(setup: &Setup) -> Result<Vec<Needless>> {
    let settings = own("none", &format!("3kB@0,10kB@{NEXT}ms"), "0.1:15ms");
    // Most clients have no timestamps (table 1), so that only DSACKs undo a reduction.
    let [naive, baseline] = [NAIVE, BASELINE].map(|profile| format!("{profile}+dsack"));
    let [mut naive, mut baseline] = [Bench::new(setup, &naive, &settings)?, Bench::new(setup, &baseline, &settings)?];
    let mut all = vec![];
    for number in 0..setup.effort.of(2000, 500) {
        let trace = naive.trace(number);
        let first = trace.retransmissions().next();
        // The first response alone.
        if !first.is_some_and(|(at, ..)| at < NEXT) {
            continue;
        }
        let Some((before, begin)) = trace.before_recovery().zip(trace.recovery()) else {
            continue;
        };
        let plain = baseline.trace(number);
        let [naive, plain] = [&trace, &plain].map(|one| one.acked_ms(13).unwrap_or(NAN));
        all.push(Needless { cwnd_before: before.cwnd, ssthresh: begin.0[0].ssthresh, slower_ms: naive - plain });
    }
    Ok(all)
}

/// The time from the first SACK to the early retransmission of the first of two segments.
fn delays(setup: &Setup) -> Result<Vec<(f64, f64)>> {
    let mut delays = vec![];
    for rtt in RTTS {
        let settings = own("data:1", "2kB@0", "none");
        let trace = flow(setup, BOTH, &format!("{settings} rtt={rtt}ms rate=none"))?;
        let sacked = trace.steps.iter().find(|step| step.sacked > 0);
        let mut early = trace.retransmissions();
        let early = early.find(|(.., by)| *by == Trigger::Early);
        let delay = sacked.zip(early).map(|(step, (at, ..))| at - step.at_ms);
        delays.push((f64::from(rtt), delay.unwrap_or(NAN)));
    }
    Ok(delays)
}

/// The experiment in every format.
///
/// # Errors
/// Settings that do not fit together.
pub fn sheet(setup: &Setup) -> Result<Sheet> {
    let data = data(setup)?;
    Ok(finding_sheet(ID, "Early retransmit in single flows", findings(&data), claims::all(&data), chart(&data)))
}

fn findings(data: &Data) -> Vec<Finding> {
    let mut findings = vec![];
    for (lost, traces) in (1..).zip(&data.positions) {
        for (profile, trace) in [BASELINE, NAIVE].into_iter().zip(traces) {
            findings.push(Finding::new(
                "position of the loss",
                profile,
                format!("segment {lost} of {RESPONSE} lost"),
                format!(
                    "{} timeouts, acknowledged after {:.0} ms",
                    trace.timeouts(),
                    trace.acked_ms(RESPONSE).unwrap_or(NAN)
                ),
            ));
        }
    }
    for (extra, counts) in [15, 60].into_iter().zip(&data.held) {
        for (profile, count) in [NAIVE, BOTH].into_iter().zip(counts) {
            findings.push(Finding::new(
                "reordering",
                profile,
                format!("15 % of the segments held back by {extra} ms"),
                format!("{} early retransmissions in {} flows", count.early, count.flows),
            ));
        }
    }
    for (rtt, delay) in &data.delays {
        findings.push(Finding::new("delay", BOTH, format!("RTT {rtt} ms"), format!("{delay:.1} ms")));
    }
    findings
}

fn chart(data: &Data) -> LineChart {
    let chart = LineChart::new(
        "The delay of early retransmit: SRTT/4 within 25 and 500 ms",
        "RTT (ms)",
        "delay (ms)",
        ["early retransmit with both mitigations"],
    )
    .logarithmic()
    .panel("", [data.delays.iter().copied()]);
    LineChart { y_scale: Scale::Logarithmic, ..chart }
}
