//! §3.2, §4, §4.3: what lost ACKs do to the number of segments that recovery sends.
//!
//! Flows of the scenario `prr` with 100 segments in flight, of which the first four are lost, so that FACK begins recovery on
//! the first SACK. There are always more data to send. The
//! receiver acknowledges every segment, and one ACK of m arrives, so that it reports m segments at once, as a stretch ACK
//! does. The link has 12 Mbit/s, so that the flight takes no longer than an RTT.

use super::finding::{Finding, list, sheet as finding_sheet};
use super::trace::{Step, Trace, flow};
use crate::prelude::*;

/// The name on the command line.
pub const ID: &str = "acks";

/// The settings that each flow sets itself.
pub const OWN_SETTINGS: [&str; 5] = ["drop", "writes", "ack", "initial_window", "rate"];

/// Segments in flight when the loss is found.
const FLIGHT: u32 = 100;

/// Segments lost, the first ones.
const LOST: u32 = 4;

/// One ACK of this many arrives.
const PER_ACK: [u32; 5] = [1, 2, 4, 8, 16];

/// The rate controls with Reno, and with CUBIC.
const SCHEMES: [(&str, [&str; 2]); 3] = [
    ("PRR", ["linux-2.6+reno+fack+prr", "linux-2.6+cubic+fack+prr"]),
    ("Linux", ["linux-2.6+reno+fack+halving", "linux-2.6+cubic+fack+halving"]),
    ("RFC 3517", ["linux-2.6+reno+fack+std", "linux-2.6+cubic+fack+std"]),
];

/// The flows of a rate control, by the segments per ACK.
struct Cell {
    scheme: &'static str,
    profile: &'static str,
    /// Segments of RecoverFS that ssthresh leaves.
    ratio: f64,
    traces: Vec<Trace>,
}

/// The last state in recovery while segments of the first flight arrive.
fn in_first_round(trace: &Trace) -> (u32, u32) {
    let (mut delivered, mut sent) = (0, 0);
    for ack in trace.recovery_acks() {
        if delivered + ack.delivered + LOST > FLIGHT {
            break;
        }
        delivered += ack.delivered;
        sent += ack.sent();
    }
    (delivered, sent)
}

impl Cell {
    /// Segments sent in recovery while the first flight arrived.
    fn sent(&self) -> Vec<u32> {
        self.traces.iter().map(|t| in_first_round(t).1).collect()
    }
}

/// Runs a flow that loses its first segments, and all ACKs but one of `per_ack`. The first pure ACK is the handshake's.
fn run(setup: &Setup, profile: &str, lost: u32, per_ack: u32) -> Result<Trace> {
    let acks = (2..=2 * FLIGHT).filter(|ack| (ack - 1) % per_ack != 0);
    let acks: Vec<String> = acks.map(|ack| format!(",up:ack:{ack}")).collect();
    let drop = format!("data:1-{lost}{}", acks.concat());
    let own = format!("drop={drop} writes=1MB@0 ack=quick initial_window=100 rate=12Mbit");
    flow(setup, profile, &own)
}

/// Very heavy losses: the first of so many segments. Each segment that arrives is acknowledged.
const HEAVY: [u32; 5] = [90, 92, 94, 96, 98];

/// The end of PRR's recovery after very heavy losses.
struct Heavy {
    lost: u32,
    /// Segments in flight before the ACK that ends it, and ssthresh; `None` where a timeout ends it.
    end: Option<(u32, u32)>,
}

/// PRR's recoveries after very heavy losses.
fn heavy(setup: &Setup) -> Result<Vec<Heavy>> {
    let mut all = vec![];
    for lost in HEAVY {
        let trace = run(setup, SCHEMES[0].1[0], lost, 1)?;
        let end = trace.recovery().and_then(|(steps, end)| {
            let last = steps.last()?;
            end.filter(|end| !end.timeout).map(|_| (last.pipe, last.ssthresh))
        });
        all.push(Heavy { lost, end });
    }
    Ok(all)
}

/// The experiment in every format.
///
/// # Errors
/// Settings that do not fit together.
pub fn sheet(setup: &Setup) -> Result<Sheet> {
    let mut cells = vec![];
    for (scheme, profiles) in SCHEMES {
        for (profile, ratio) in profiles.into_iter().zip([0.5, 0.7]) {
            let traces = PER_ACK.map(|per_ack| run(setup, profile, LOST, per_ack));
            cells.push(Cell { scheme, profile, ratio, traces: traces.into_iter().collect::<Result<_>>()? });
        }
    }
    let heavy = heavy(setup)?;
    let mut findings: Vec<Finding> = cells.iter().flat_map(findings).collect();
    findings.extend(heavy.iter().map(|one| {
        Finding::new(
            "very heavy losses",
            SCHEMES[0].1[0],
            format!("{} of {FLIGHT} lost", one.lost),
            one.end.map_or("a timeout ends recovery".into(), |(pipe, ssthresh)| {
                format!("pipe {pipe} at the end of recovery, ssthresh {ssthresh}")
            }),
        )
    }));
    Ok(finding_sheet(
        ID,
        "Four of 100 segments lost, and one ACK per 1 to 16 segments",
        findings,
        claims(&cells, &heavy),
        chart(&cells),
    ))
}

fn findings(cell: &Cell) -> Vec<Finding> {
    let one = |(per_ack, trace): (&u32, &Trace)| {
        let (delivered, sent) = in_first_round(trace);
        Finding::new(
            "segments sent",
            cell.profile,
            format!("one ACK per {per_ack}"),
            format!("{sent} sent of {delivered} delivered"),
        )
    };
    PER_ACK.iter().zip(&cell.traces).map(one).collect()
}

fn claims(cells: &[Cell], heavy: &[Heavy]) -> Vec<Claim> {
    let get = |scheme: &str, ratio: f64| {
        cells.iter().find(|cell| cell.scheme == scheme && cell.ratio == ratio).expect("a cell of the grid")
    };
    vec![
        seven_for_ten(get("PRR", 0.7)),
        reaches_ssthresh([get("PRR", 0.5), get("PRR", 0.7)]),
        precise_with_stretch_acks([get("PRR", 0.5), get("PRR", 0.7)]),
        later_acks_deliver_more(get("PRR", 0.5)),
        less_than_half(get("Linux", 0.5)),
        very_heavy_losses(heavy),
    ]
}

/// PRR's variables after an ACK.
struct Progress {
    delivered: u32,
    sent: u32,
    ssthresh: u32,
    /// Whether pipe was above ssthresh, so that the proportional part applied.
    proportional: bool,
}

/// PRR's variables after each ACK of the first flight.
fn progress(trace: &Trace) -> Vec<Progress> {
    let (mut delivered, mut sent) = (0, 0);
    let acks = trace.recovery_acks().map(|ack: &Step| {
        delivered += ack.delivered;
        sent += ack.sent();
        Progress { delivered, sent, ssthresh: ack.ssthresh, proportional: ack.pipe_before_sending() > ack.ssthresh }
    });
    let in_flight = |one: &Progress| one.delivered + LOST <= FLIGHT;
    acks.take_while(in_flight).collect()
}

/// All ACKs of a rate control on which the proportional part applied.
fn proportional(cell: &Cell) -> impl Iterator<Item = Progress> {
    cell.traces.iter().flat_map(progress).filter(|one| one.proportional)
}

fn seven_for_ten(cell: &Cell) -> Claim {
    let tens: Vec<Progress> = proportional(cell).filter(|one| one.delivered % 10 == 0).collect();
    let exact = tens.iter().filter(|one| one.sent == one.delivered / 10 * 7).count();
    claim!("cubic-seven-for-ten", "{exact} of {}", tens.len()).holds(exact == tens.len() && exact >= 9)
}

fn reaches_ssthresh(cells: [&Cell; 2]) -> Claim {
    let ends = cells.map(|cell| {
        let all = progress(&cell.traces[0]);
        let half = all.iter().position(|one| 2 * one.delivered >= FLIGHT).map_or(0, |i| all[i].sent);
        (half, all.into_iter().next_back())
    });
    let reached = ends.iter().all(|(half, end)| {
        let is = |one: &Progress| {
            one.delivered + LOST == FLIGHT
                && one.sent.abs_diff(one.ssthresh) <= LOST
                && half.abs_diff(one.ssthresh / 2) <= LOST
        };
        end.as_ref().is_some_and(is)
    });
    let shown = ends.map(|(half, end)| {
        end.map_or("no recovery".into(), |one| {
            format!(
                "prr_out {half} half way, {} of {} at the end, prr_delivered {} of {FLIGHT}",
                one.sent, one.ssthresh, one.delivered
            )
        })
    });
    claim("prr-out-approaches-ssthresh").shows(shown.join("; ")).holds(reached)
}

fn precise_with_stretch_acks(cells: [&Cell; 2]) -> Claim {
    let off = cells.map(|cell| {
        let off = proportional(cell).filter(|one| {
            // The first retransmission is sent in any case.
            let due = (one.delivered * one.ssthresh).div_ceil(FLIGHT);
            one.sent != due.max(1)
        });
        (off.count(), proportional(cell).count())
    });
    let [(a, all_a), (b, all_b)] = off;
    claim!(
        "prr-precise-with-stretch-acks",
        "{} of {} ACKs; sent in all: {} (Reno), {} (CUBIC)",
        all_a + all_b - a - b,
        all_a + all_b,
        list(cells[0].sent()),
        list(cells[1].sent())
    )
    .holds(a + b == 0 && all_a > 0 && all_b > 0)
}

fn later_acks_deliver_more(cell: &Cell) -> Claim {
    let mean = |trace: &Trace| {
        let acks: Vec<u32> =
            trace.recovery_acks().map(|ack| ack.delivered).take_while(|delivered| *delivered > 0).collect();
        let first: Vec<&u32> = acks.iter().skip(1).take(4).collect();
        first.iter().map(|delivered| f64::from(**delivered)).sum::<f64>() / first.len() as f64
    };
    let means: Vec<f64> = cell.traces.iter().map(mean).collect();
    let equal = PER_ACK.iter().zip(&means).all(|(per_ack, mean)| f64::from(*per_ack) == *mean);
    claim("later-acks-deliver-more").shows(list(means)).holds(equal)
}

fn less_than_half(cell: &Cell) -> Claim {
    let sent = cell.sent();
    let half = FLIGHT / 2;
    let alone = sent.first().copied().unwrap_or(0);
    let falls = sent.windows(2).all(|pair| pair[1] < pair[0]);
    claim!("linux-lost-acks", "{} segments sent", list(&sent))
        .holds((45..=55).contains(&alone) && falls && sent.iter().skip(1).all(|sent| *sent < half))
}

fn very_heavy_losses(heavy: &[Heavy]) -> Claim {
    let ends = || heavy.iter().filter_map(|one| Some((one.lost, one.end?)));
    let shown = ends().map(|(lost, (pipe, ssthresh))| format!("{pipe} of {ssthresh} after {lost} losses"));
    let short = ends().filter(|(_, (pipe, ssthresh))| pipe < ssthresh).count();
    claim!("very-heavy-losses", "pipe {}", shown.joined(", ")).holds(short > 0)
}

fn chart(cells: &[Cell]) -> LineChart {
    let chart = LineChart::new(
        "Segments sent in recovery while 100 segments arrive, four of them lost",
        "segments per ACK",
        "segments sent",
        SCHEMES.map(|(scheme, _)| scheme),
    );
    [("Reno: ssthresh 50", 0.5), ("CUBIC: ssthresh 70", 0.7)].into_iter().fold(
        chart.up_to(80.0),
        |chart, (title, ratio)| {
            let of_control = cells.iter().filter(|cell| cell.ratio == ratio);
            chart.panel(
                title,
                of_control.map(|cell| PER_ACK.map(f64::from).into_iter().zip(cell.sent().into_iter().map(f64::from))),
            )
        },
    )
}
