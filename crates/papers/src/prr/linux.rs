//! §3.2: what Linux does in fast recovery, in single flows of the scenario `prr`.
//!
//! Unless stated otherwise, 20 segments are sent at once, the receiver acknowledges every segment, and only the losses vary.
//! All profiles are Linux 2.6 with Reno, so that ssthresh is 10.
//!
//! Deviation: whether reordering turns FACK off is checked in flows with random losses and random reordering, because the
//! scenario cannot delay a segment of our choice.

mod claims;

use super::finding::{Finding, list, sheet as finding_sheet};
use super::trace::{Trace, flow};
use crate::prelude::*;
use recoup_recovery::LossDetector;

/// The name on the command line.
pub const ID: &str = "linux";

/// The settings that each flow sets itself.
pub const OWN_SETTINGS: [&str; 7] = ["drop", "writes", "ack", "segments", "reorder", "initial_window", "rate"];

/// Linux as §3.2 describes it.
const LINUX: &str = "linux-2.6+reno+fack+holes+halving";
/// Linux as §3.2 describes it, without FACK.
const COUNTING: &str = "linux-2.6+reno+nofack+holes+halving";
/// Linux as §3.2 describes it, with PRR.
const PRR: &str = "linux-2.6+reno+fack+holes+prr";

/// More data than recovery can send.
const PLENTY: &str = "300kB@0";

/// Segments of the first flight.
const FLIGHT: u64 = 20;

/// dupthresh.
const DUPTHRESH: u64 = 3;

/// Whether recovery begins on the first SACK, by the number of segments missing below it.
struct FirstSack {
    missing: u64,
    with_fack: bool,
    without: bool,
}

/// A second segment lost besides the first.
struct Hole {
    segment: u64,
    /// Whether it was marked lost by the time all other segments were SACKed.
    is_marked: bool,
    /// Whether it was retransmitted in recovery, and no timeout was needed.
    is_repaired: bool,
}

/// Recoveries that begin after reordering.
#[derive(Clone, Copy, Debug, Default)]
struct Entries {
    all: u64,
    /// Those that begin with fewer than dupthresh segments SACKed, which FACK alone permits.
    by_fack: u64,
}

/// Whether recoveries begin by FACK.
#[derive(Clone, Copy, Debug, Default)]
struct AfterReordering {
    /// No segment was late before.
    none: Entries,
    /// One was, but by dupthresh segments at most.
    small: Entries,
    /// One was late by more.
    large: Entries,
}

/// A flow that loses one segment, with nothing more to send in recovery.
struct Lonely {
    /// Segments of the flow.
    segments: u64,
    /// The segment lost.
    lost: u64,
    /// The window after recovery.
    cwnd: u32,
    ssthresh: u32,
    timeouts: usize,
}

/// Everything that the claims need.
struct Data {
    first_sack: Vec<FirstSack>,
    holes: Vec<Hole>,
    /// The retransmission lost as well: with FACK, without it, and neither lost.
    lost_again: [Trace; 3],
    reordering: AfterReordering,
    /// One segment lost, and plenty to send.
    one_lost: Trace,
    /// One segment lost and plenty to send, with CUBIC and a window of 100: Linux and PRR.
    cubic: [Trace; 2],
    /// CUBIC and a window of 100, but nothing more to send: Linux and PRR.
    idle: [Trace; 2],
    /// The first k segments lost and nothing more to send, by k from 1.
    heavy: Vec<Trace>,
    lonely: Vec<Lonely>,
    /// One of 20 segments lost, ten more written at 500 ms: Linux and PRR.
    next_write: [Trace; 2],
}

fn own(drop: &str, writes: &str) -> String {
    format!("drop={drop} writes={writes} ack=quick")
}

fn data(setup: &Setup) -> Result<Data> {
    let run = |profile, drop: &str, writes: &str| flow(setup, profile, &own(drop, writes));
    let cubic = |rate: &str, writes: &str| {
        let profile = format!("linux-2.6+cubic+fack+holes+{rate}");
        flow(setup, &profile, &format!("{} initial_window=100 rate=12Mbit", own("data:1", writes)))
    };
    let heavy = (1..=12).map(|lost| run(LINUX, &format!("data:1-{lost}"), "20kB@0"));
    let later = |profile| run(profile, "data:1", "20kB@0,10kB@500ms");
    Ok(Data {
        first_sack: first_sack(setup)?,
        holes: holes(setup)?,
        lost_again: [
            run(LINUX, "data:1,data:1@2", PLENTY)?,
            run(COUNTING, "data:1,data:1@2", PLENTY)?,
            run(LINUX, "data:1", PLENTY)?,
        ],
        reordering: reordering(setup)?,
        one_lost: run(LINUX, "data:1", PLENTY)?,
        cubic: [cubic("halving", PLENTY)?, cubic("prr", PLENTY)?],
        idle: [cubic("halving", "100kB@0")?, cubic("prr", "100kB@0")?],
        heavy: heavy.collect::<Result<_>>()?,
        lonely: lonely(setup)?,
        next_write: [later(LINUX)?, later(PRR)?],
    })
}

fn first_sack(setup: &Setup) -> Result<Vec<FirstSack>> {
    let enters = |profile, missing: u64| -> Result<bool> {
        let steps = flow(setup, profile, &own(&format!("data:1-{missing}"), PLENTY))?.steps;
        Ok(steps.iter().find(|step| step.sacked > 0).is_some_and(|step| step.state == State::Recovery))
    };
    let all = (1..=8).map(|missing| {
        Ok(FirstSack { missing, with_fack: enters(LINUX, missing)?, without: enters(COUNTING, missing)? })
    });
    all.collect()
}

fn holes(setup: &Setup) -> Result<Vec<Hole>> {
    let all = (2..FLIGHT).map(|segment| {
        let trace = flow(setup, LINUX, &own(&format!("data:1,data:{segment}"), "20kB@0"))?;
        let steps = &trace.steps;
        let all_sacked = steps.iter().position(|step| u64::from(step.sacked) == FLIGHT - 2);
        let until = &steps[..=all_sacked.unwrap_or(0)];
        let mut marked = until.iter().flat_map(|step| &step.marked);
        Ok(Hole {
            segment,
            is_marked: marked.any(|(number, _)| *number == segment),
            is_repaired: trace.timeouts() == 0 && trace.retransmissions().any(|(_, number, _)| number == segment),
        })
    });
    all.collect()
}

/// Flows with random losses and reordering.
fn reordering(setup: &Setup) -> Result<AfterReordering> {
    let settings = "writes=none segments=150 drop=bernoulli:0.03 reorder=0.01:25ms ack=quick";
    let mut flows = Bench::new(setup, LINUX, settings)?;
    let mut found = AfterReordering::default();
    for number in 0..setup.effort.of(1000, 300) {
        note_entries(&flows.trace(number), &mut found);
    }
    Ok(found)
}

fn note_entries(trace: &Trace, found: &mut AfterReordering) {
    let mut latest = 0;
    for pair in trace.steps.windows(2) {
        let [before, step] = pair else { continue };
        latest = latest.max(before.reordering);
        let begins = step.state == State::Recovery && before.state < State::Recovery;
        let counted = step.marked.iter().any(|(_, by)| *by == LossDetector::Threshold);
        if !begins || !counted || step.reordering > 0 {
            continue;
        }
        let entries = match latest {
            0 => &mut found.none,
            1..=3 => &mut found.small,
            _ => &mut found.large,
        };
        entries.all += 1;
        entries.by_fack += u64::from(u64::from(step.sacked) < DUPTHRESH);
    }
}

fn lonely(setup: &Setup) -> Result<Vec<Lonely>> {
    let mut all = vec![];
    for segments in [5, 10, 20] {
        for lost in 1..=segments - DUPTHRESH {
            let (drop, writes) = (format!("data:{lost}"), format!("{segments}kB@0"));
            let trace = flow(setup, LINUX, &own(&drop, &writes))?;
            let end = trace.recovery().and_then(|(_, end)| end);
            all.extend(end.map(|end| Lonely {
                segments,
                lost,
                cwnd: end.cwnd,
                ssthresh: end.ssthresh,
                timeouts: trace.timeouts(),
            }));
        }
    }
    Ok(all)
}

/// The experiment in every format.
///
/// # Errors
/// Settings that do not fit together.
pub fn sheet(setup: &Setup) -> Result<Sheet> {
    let data = data(setup)?;
    Ok(finding_sheet(
        ID,
        "What Linux does in fast recovery, in single flows",
        findings(setup, &data),
        claims::all(&data),
        windows(&data),
    ))
}

fn findings(setup: &Setup, data: &Data) -> Vec<Finding> {
    let linux = setup.profile_name(LINUX);
    let mut findings = vec![];
    for one in &data.first_sack {
        findings.push(Finding::new(
            "first SACK",
            linux.as_str(),
            format!("{} segments missing below it", one.missing),
            format!("begins recovery: {} with FACK, {} without", one.with_fack, one.without),
        ));
    }
    for hole in &data.holes {
        findings.push(Finding::new(
            "holes",
            linux.as_str(),
            format!("segments 1 and {} of 20 lost", hole.segment),
            format!("marked {}, repaired without a timeout {}", hole.is_marked, hole.is_repaired),
        ));
    }
    for (loss, trace) in (1..).zip(&data.heavy) {
        findings.push(Finding::new(
            "window and pipe",
            linux.as_str(),
            format!("first {loss} of 20 lost"),
            format!("segments sent per ACK of recovery: {}", list(trace.sent_per_ack())),
        ));
    }
    for one in &data.lonely {
        findings.push(Finding::new(
            "window after one loss",
            linux.as_str(),
            format!("segment {} of {} lost", one.lost, one.segments),
            format!("cwnd {}, ssthresh {}", one.cwnd, one.ssthresh),
        ));
    }
    findings
}

/// The window over the ACKs of recovery, without new data and with plenty.
fn windows(data: &Data) -> LineChart {
    let line = |trace: &Trace| -> Vec<(f64, f64)> {
        let cwnd = trace.recovery_acks().map(|step| f64::from(step.cwnd));
        cwnd.zip(1..).map(|(cwnd, n)| (f64::from(n), cwnd)).collect()
    };
    LineChart::new(
        "The congestion window in recovery: CUBIC, one of 100 segments lost",
        "ACKs since the beginning of recovery",
        "cwnd (segments)",
        ["Linux (rate halving)", "PRR"],
    )
    .steps()
    .panel("nothing more to send", data.idle.iter().map(line))
    .panel("plenty to send", data.cubic.iter().map(line))
}
