//! The duration model of §IV-D beside transfers of the engine.
//!
//! ```text
//! one loss in the initial window: congestion avoidance from there on
//! flight 2x ── one event ──► how many RTTs until the flight is 2x again?        T of the model
//!                            how much later does the transfer end than without? F, R, RF of equations (1) to (3)
//! ```
//! The sender is FreeBSD's, NewReno without SACK and undo. The events:
//!
//! | equation | event | without it |
//! | --- | --- | --- |
//! | F | a segment is overtaken: spurious fast retransmit | it is not overtaken |
//! | R | the ACKs of a flight are lost: spurious timeout | a minimum RTO that waits for a later flight's ACK |
//! | R, delayed | a flight and its ACKs are late: spurious timeout | the timer waits |
//! | RF | a segment is lost, and so are its duplicate ACKs: timeout | the duplicate ACKs arrive: fast retransmit |
//!
//! Deviations: a transfer ends with the segment that is sent when the flight is 2x again, as the model has it; a longer one
//! would lose more. x is half of the flight just before the event.

mod claims;

use super::columns::{measured, sheet_of_measured};
use super::micro::{self, Fate, Measured, Transfer, ms};
use crate::prelude::*;
use Direction::{Down, Up};
use Fate::{Late, Lost, Passes};
use recoup_captures::study::Model;

/// The name on the command line.
pub const ID: &str = "equations";

/// Half of the flight before the event, in segments. Not all are powers of two, whose log₂ is whole as round trips are.
const HALVES: [u32; 7] = [4, 6, 8, 12, 16, 24, 32];

/// Transfers of so many lengths, which end within the last flight, are averaged: flights are sent at once, so that one
/// transfer shows whole RTTs alone.
const ENDS: u64 = 8;

/// The RTT in ms.
const RTT: f64 = 100.0;

choices! {
    /// The kinds of events.
    enum Kind {
        /// A spurious fast retransmit.
        Fast = "F: spurious fast retransmit",
        /// A spurious timeout after the ACKs of a flight were lost.
        Timeout = "R: spurious timeout, ACKs lost",
        /// A spurious timeout while a flight is late.
        LateTimeout = "R: spurious timeout, ACKs late",
        /// A timeout in place of a fast retransmit.
        Instead = "RF: timeout instead of fast retransmit",
    }
}

impl Kind {
    /// The equation.
    fn form(self, model: Model, flight: u32) -> f64 {
        match self {
            Self::Fast => model.fast_retransmit(flight),
            Self::Timeout | Self::LateTimeout => model.timeout(flight),
            Self::Instead => model.fast_instead_of_timeout(flight),
        }
    }

    /// The RTTs in which the flight recovers: to 2x, for RF to x.
    fn recovers(self, x: f64) -> f64 {
        match self {
            Self::Fast => x + 1.0,
            Self::Timeout | Self::LateTimeout => x.log2() + x - 1.0,
            Self::Instead => x.log2() - 1.0,
        }
    }

    /// The flight that it recovers to.
    const fn goal(self, flight: u32) -> u32 {
        match self {
            Self::Instead => flight / 2,
            _ => flight,
        }
    }
}

/// The effect of one event.
#[derive(Clone, Copy, Debug)]
struct Outcome {
    kind: Kind,
    /// Segments in flight before the event.
    flight: u32,
    /// RTTs from the retransmission until the flight is as large again.
    recovered: f64,
    /// New segments acknowledged in this time.
    sent: f64,
    /// Duration that the event added to a transfer that ends then, in RTTs; for RF without the longer detection.
    cost: f64,
    /// The time to detect the loss, in RTTs; with RF that of the fast retransmit.
    detected: f64,
}

fn sender(setup: &Setup, x: u32) -> Mechanisms {
    let mut sender = *setup.profile("freebsd-5").mechanisms();
    // Half of it after the first loss, and three more by the third flight: 2x.
    sender.initial_window = Segments(4 * x - 6);
    if setup.is_mutated("deaf") {
        sender.detection.dupthresh = Segments(1000);
        sender.detection.max_dupthresh = Segments(1000);
    }
    sender
}

/// The segment with which the event begins: the first of a flight of about 2x in congestion avoidance.
fn first_of_a_flight(sender: Mechanisms, x: u32) -> u64 {
    let run = Transfer::new(sender, 60 * u64::from(x)).run(first_loss(|_| Passes));
    // The third flight after recovery.
    let from = run
        .events(Host::Server)
        .rev()
        .find_map(|(at, event)| match event {
            Event::StateChanged { to: State::Open, .. } => Some(at),
            _ => None,
        })
        .unwrap_or(Instant::ZERO)
        + Duration::from_millis(2 * RTT as u64 + 50);
    let mut new = run.transmissions().filter(|(at, _, again)| *at >= from && again.is_none());
    new.next().map_or(1, |(_, segment, _)| segment)
}

/// Segment 2 is lost once, which ends slow start; the fate of all others is another's.
fn first_loss(mut fate: impl FnMut(&micro::Entering) -> Fate) -> impl FnMut(&micro::Entering) -> Fate {
    move |packet| match (packet.segment, packet.copy) {
        (2, 1) => Lost,
        _ => fate(packet),
    }
}

/// The transfer of so many segments with the event, or without it.
fn transfer(kind: Kind, mut sender: Mechanisms, segments: u64, event: u64, happens: bool) -> Log {
    let bench = |sender| Transfer::new(sender, segments);
    match kind {
        Kind::Fast => bench(sender).run(first_loss(|packet| match (packet.segment, packet.copy) {
            (segment, 1) if segment == event && happens => Late(Duration::from_millis(25)),
            _ => Passes,
        })),
        Kind::Timeout | Kind::LateTimeout => {
            let wait = if happens { None } else { Some(Duration::from_secs(60)) };
            sender.rto.min = wait.unwrap_or(sender.rto.min);
            // Until the timer of the other sender has expired.
            let mut from: Option<Instant> = None;
            let pause = Duration::from_millis(1400);
            bench(sender).run(first_loss(move |packet| {
                if packet.segment == event && packet.direction == Down {
                    from.get_or_insert(packet.at);
                }
                let Some(from) = from else {
                    return Passes;
                };
                let over = from + pause;
                match (kind, packet.direction) {
                    // The ACKs of this flight, which arrive within an RTT.
                    (Kind::Timeout, Up) if packet.at < from + Duration::from_millis(90) => {
                        if happens {
                            Lost
                        } else {
                            Passes
                        }
                    }
                    (Kind::LateTimeout, Down) if packet.at < over => Late(over.since(packet.at)),
                    _ => Passes,
                }
            }))
        }
        Kind::Instead => {
            let (mut is_lost, mut is_repeated) = (false, false);
            bench(sender).run(first_loss(move |packet| {
                let is_it = packet.segment == event && packet.direction == Down;
                match (is_it, packet.copy) {
                    (true, 1) => {
                        is_lost = true;
                        return Lost;
                    }
                    (true, _) => is_repeated = true,
                    _ => {}
                }
                let is_up = packet.direction == Up;
                if is_up && is_lost && !is_repeated && happens { Lost } else { Passes }
            }))
        }
    }
}

/// The retransmission that the event causes: when, and how long after the first transmission.
fn retransmission(run: &Log, event: u64) -> Option<(Instant, Duration)> {
    let again = run
        .transmissions()
        .find(|(_, segment, again)| *segment >= event && matches!(again, Some(Trigger::Fast | Trigger::Rto)));
    let (at, segment, _) = again?;
    Some((at, at.since(run.first_sent(segment)?)))
}

/// When the window is as large as the flight again after the retransmission, and the segments acknowledged since.
fn recovery(run: &Log, from: Instant, goal: u32) -> Option<(Instant, u64)> {
    let mut acked = 0;
    let mut is_open = false;
    for (at, event) in run.events(Host::Server).filter(|(at, _)| *at >= from) {
        match event {
            Event::Acked { newly_acked, .. } => acked += u64::from(newly_acked.0),
            Event::StateChanged { to, .. } => is_open = matches!(to, State::Open | State::Loss),
            Event::Sent { cwnd, .. } if is_open && at > from && cwnd.0 >= goal => {
                return Some((at, acked));
            }
            _ => {}
        }
    }
    None
}

fn outcome(setup: &Setup, kind: Kind, x: u32) -> Option<Outcome> {
    let sender = sender(setup, x);
    let event = first_of_a_flight(sender, x);
    let long = transfer(kind, sender, 200 * u64::from(x), event, true);
    let (at, waited) = retransmission(&long, event)?;
    // The window before the event.
    let flight = long.events(Host::Server).rev().find_map(|(sent, event)| match event {
        Event::Sent { cwnd, .. } if sent < at => Some(cwnd.0),
        _ => None,
    })?;
    let (again, acked) = recovery(&long, at, kind.goal(flight))?;
    // It ends within the flight that is as large again.
    let end = long
        .transmissions()
        .filter(|(sent, _, new)| *sent <= again && new.is_none())
        .map(|(_, segment, _)| segment)
        .max()?;
    let ends = (0..ENDS).map(|part| end - part * u64::from(kind.goal(flight)) / ENDS);
    let of_end = |end| {
        let with = transfer(kind, sender, end, event, true);
        let without = transfer(kind, sender, end, event, false);
        let longer = with.duration_ms() - without.duration_ms();
        let sooner = match kind {
            Kind::Instead => ms(retransmission(&without, event)?.1),
            _ => 0.0,
        };
        // The wait is no part of R and RF.
        let wait = match kind {
            Kind::Timeout | Kind::Instead => ms(waited) - sooner,
            Kind::Fast | Kind::LateTimeout => 0.0,
        };
        Some(((longer - wait) / RTT, sooner / RTT))
    };
    let each: Vec<(f64, f64)> = ends.filter_map(of_end).collect();
    let cost = each.iter().map(|(cost, _)| cost).sum::<f64>() / each.len() as f64;
    let detected = match kind {
        Kind::Instead => each.first()?.1,
        _ => ms(waited) / RTT,
    };
    Some(Outcome { kind, flight, recovered: ms(again.since(at)) / RTT, sent: acked as f64, cost, detected })
}

fn outcomes(setup: &Setup) -> Vec<Outcome> {
    Kind::ALL
        .into_iter()
        .flat_map(|kind| HALVES.map(|x| (kind, x)))
        .filter_map(|(kind, x)| outcome(setup, kind, x))
        .collect()
}

fn cells(outcomes: &[Outcome]) -> Vec<Measured> {
    let of = |one: &Outcome| {
        let x = f64::from(one.flight) / 2.0;
        [
            ("RTTs until the flight has recovered", Some(one.kind.recovers(x)), one.recovered),
            ("cost in duration (RTTs)", Some(one.kind.form(Model::Forms, one.flight)), one.cost),
            ("segments acknowledged meanwhile", None, one.sent),
            ("detection (RTTs)", None, one.detected),
        ]
        .map(|(quantity, study, engine)| Measured {
            study,
            ..measured(quantity, format!("{}, x = {x}", one.kind.name()), engine)
        })
    };
    outcomes.iter().flat_map(of).collect()
}

fn chart(outcomes: &[Outcome], title: &str) -> LineChart {
    let lines: [fn(&Outcome) -> f64; 3] = [
        |one| one.kind.form(Model::Forms, one.flight),
        |one| one.kind.form(Model::Counted, one.flight),
        |one| one.cost,
    ];
    let chart = LineChart::new(
        title,
        "x, half of the flight before the event (segments)",
        "RTTs",
        ["the equation", "counted segment by segment", "the engine"],
    );
    Kind::ALL.into_iter().fold(chart.logarithmic(), |chart, kind| {
        let of = outcomes.iter().filter(move |one| one.kind == kind);
        let line =
            |value: fn(&Outcome) -> f64| of.clone().map(move |one| (f64::from(one.flight) / 2.0, value(one).max(0.0)));
        chart.panel(kind.name(), lines.map(line))
    })
}

/// Compares the model with transfers.
///
/// # Errors
/// Never.
pub fn sheet(setup: &Setup) -> Result<Sheet> {
    let outcomes = outcomes(setup);
    let title = "What a detection costs a connection: equations (1) to (3) beside transfers";
    let shown = ["quantity", "case", "study", "engine"];
    let chart = chart(&outcomes, title);
    Ok(sheet_of_measured(ID, title, claims::of(&outcomes), chart, cells(&outcomes), &shown))
}
