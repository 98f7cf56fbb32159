//! The senders of the four systems, measured from outside (Table I, §II, §V-A2a).
//!
//! Each quantity of Table I is read off what the engine does on the wire, not off its configuration: a lost SYN-ACK shows
//! the initial RTO, a lost tail the minimum RTO, the RTOs after chosen RTT samples show m, k, a, b and the ticks, and the
//! first retransmission after a loss shows D.
//!
//! ```text
//! samples R, R′:  RTO = m·R + k·R/2        SRTT′ = SRTT + b·(R′ − SRTT)
//!                 RTO′ = m·SRTT′ + k·(R/2 + a·(|SRTT − R′| − R/2))
//! steady:         RTO → m·R
//! ```
//! Deviations: RTTs of 2 s and 4 s, so that ticks and minima do not hide the factors. With ticks of 100 ms, a and k are
//! still uncertain by 0.03 and 0.1.

mod claims;
mod measure;

use super::columns::{of_systems, sheet_of_measured};
use super::impact::Replaced::{self, A, B, D, K, M, MinRto};
use super::micro::Measured;
use crate::prelude::*;
use measure::{
    after_a_step, converges, covered, dupthresh, factors_of, formula, initial_rto, jittery, mean_rto, overtaken_twice,
    samples_per_flight, tail_wait, tick,
};
use recoup_recovery::rtt::{Sampling, Smoothing};

/// The name on the command line.
pub const ID: &str = "senders";

/// Quantities of the four systems, in the order of [`System::ALL`].
type Values = [f64; 4];

/// All measurements.
struct Senders {
    initial_ms: Values,
    min_ms: Values,
    tick_ms: Values,
    a: Values,
    b: Values,
    m: Values,
    k: Values,
    dupthresh: Values,
    /// RTT samples per flight of ten segments.
    samples_per_flight: Values,
    /// The share of RTOs that are the formula's, in %.
    by_formula: Values,
    /// The largest distance of an RTO to the formula's, in %.
    off_formula: Values,
    /// RTTs until the RTO is within a half of its final value, after a first sample ten times as large as the others.
    converges_rtts: Values,
    /// The RTO in RTTs at a steady RTT of 50 ms.
    steady_rtts: Values,
    /// Fast retransmits when a segment is overtaken twice.
    fast_when_overtaken_twice: Values,
    /// The share of RTT samples below the RTO before them, in %.
    covered: Values,
    /// The mean RTO for each of (m, k) = (1, 2), (1, 4), (1.25, 4), (1, 8), in ms.
    by_factors: [Values; 4],
    /// The RTO in ms after the RTT has doubled, with b = 1/8: for a = 1/32, 1/4 and 1.
    by_a: [Values; 3],
    /// The SRTT in ms after the RTT has doubled: for b = 1/32, 1/8 and 1.
    by_b: [Values; 3],
    /// The mean RTO in mean RTTs at a steady RTT and at a variable one, with k = 2 and 4.
    by_variability: [[Values; 2]; 2],
    /// From the last ACK to the retransmission of a lost tail, less the RTO at that time, in ms.
    after_rto_ms: Values,
    /// RTO by RTT sample, for the figure.
    traces: [Vec<(f64, f64)>; 4],
}

/// The sender of a system, or what a mutation makes of it.
fn sender(setup: &Setup, system: &System) -> Mechanisms {
    let mut sender = *setup.profile(system.profile).mechanisms();
    if setup.is_mutated("other-values") {
        Replaced::all(&[K(2), A(8), B(4), M(150), MinRto(600), D(5)]).apply(&mut sender);
        sender.rto.initial = Duration::from_secs(1);
        sender.rto.granularity = Duration::from_millis(1);
    }
    if setup.is_mutated("eager-timer") {
        Replaced::all(&[M(50), K(0), MinRto(0)]).apply(&mut sender);
    }
    if setup.is_mutated("swapped-estimators") {
        match system.name {
            "Linux" => {
                sender.rto.smoothing = Smoothing::Standard;
                sender.rto.sampling = Sampling::Flight;
                sender.detection.max_dupthresh = sender.detection.dupthresh;
                sender.rto.min = Duration::from_millis(2000);
            }
            "Windows" => {
                sender.rto.smoothing = Smoothing::Linux;
                sender.rto.sampling = Sampling::Segment;
            }
            _ => sender.rto.min = Duration::from_millis(100),
        }
    }
    sender
}

/// A quantity of each system.
fn of_each(setup: &Setup, measure: impl Fn(Mechanisms) -> f64) -> Values {
    System::ALL.each_ref().map(|system| measure(sender(setup, system)))
}

impl Senders {
    fn measure(setup: &Setup) -> Self {
        let of_each = |measure: &dyn Fn(Mechanisms) -> f64| of_each(setup, measure);
        // Measures senders with other parameters, or with ones that do nothing.
        let with = |replaced: &[Replaced], measure: &dyn Fn(Mechanisms) -> f64| {
            of_each(&|mut sender| {
                if !setup.is_mutated("deaf-estimator") {
                    Replaced::all(replaced).apply(&mut sender);
                }
                measure(sender)
            })
        };
        let relative_rto = |sender, jitter| {
            let rtos = jittery(sender, 300, jitter);
            let mean_rtt = rtos.iter().map(|[rtt, ..]| rtt).sum::<f64>() / rtos.len() as f64;
            mean_rto(&rtos) / mean_rtt
        };
        Self {
            initial_ms: of_each(&initial_rto),
            min_ms: of_each(&|sender| tail_wait(sender, 10)[0]),
            tick_ms: of_each(&|sender| tick(&jittery(sender, 2000, 300))),
            a: of_each(&|sender| factors_of(sender)[0]),
            b: of_each(&|sender| factors_of(sender)[1]),
            m: of_each(&|sender| factors_of(sender)[2]),
            k: of_each(&|sender| factors_of(sender)[3]),
            dupthresh: of_each(&dupthresh),
            samples_per_flight: of_each(&samples_per_flight),
            by_formula: of_each(&|sender| formula(sender)[0]),
            off_formula: of_each(&|sender| formula(sender)[1]),
            converges_rtts: of_each(&converges),
            steady_rtts: of_each(&|sender| tail_wait(sender, 50)[0] / 50.0),
            fast_when_overtaken_twice: of_each(&overtaken_twice),
            covered: of_each(&|sender| covered(&jittery(sender, 300, 300))),
            by_factors: [(100, 2), (100, 4), (125, 4), (100, 8)]
                .map(|(m, k)| with(&[M(m), K(k)], &|sender| mean_rto(&jittery(sender, 2000, 300)))),
            by_a: [32, 4, 1].map(|a| with(&[A(a)], &|sender| after_a_step(sender)[2])),
            by_b: [32, 8, 1].map(|b| with(&[B(b)], &|sender| after_a_step(sender)[1])),
            by_variability: [0, 600]
                .map(|jitter| [2, 4].map(|k| with(&[K(k)], &|sender| relative_rto(sender, jitter)))),
            after_rto_ms: of_each(&|sender| {
                let [wait, rto] = tail_wait(sender, 300);
                wait - rto
            }),
            traces: System::ALL.each_ref().map(|system| {
                let rtos = jittery(sender(setup, system), 300, 300);
                let points = (1..).zip(rtos.iter().take(120));
                points.map(|(i, [.., rto])| (f64::from(i), *rto)).collect()
            }),
        }
    }
}

fn cells(senders: &Senders) -> Vec<Measured> {
    let in_study = [
        ("timer granularity (ms)", claims::TICK_MS, senders.tick_ms),
        ("initial RTO (ms)", claims::INITIAL_MS, senders.initial_ms),
        ("minimum RTO (ms)", claims::MIN_MS, senders.min_ms),
        ("a", [0.25; 4], senders.a),
        ("b", [0.125; 4], senders.b),
        ("m", claims::M, senders.m),
        ("k", [4.0; 4], senders.k),
        ("D (duplicate ACKs)", claims::D, senders.dupthresh),
    ];
    let ours = [
        ("RTT samples per flight of 10 segments", senders.samples_per_flight),
        ("RTOs by the formula of the study (%)", senders.by_formula),
        ("largest distance to the formula (%)", senders.off_formula),
        ("RTTs until the RTO has converged", senders.converges_rtts),
        ("RTO at a steady RTT of 50 ms (RTTs)", senders.steady_rtts),
        ("fast retransmits of two overtaken segments", senders.fast_when_overtaken_twice),
    ];
    in_study
        .into_iter()
        .flat_map(|(quantity, study, engine)| {
            of_systems(quantity, engine).zip(study).map(|(row, study)| Measured { study: Some(study), ..row })
        })
        .chain(ours.into_iter().flat_map(|(quantity, engine)| of_systems(quantity, engine)))
        .collect()
}

/// Measures the four senders.
///
/// # Errors
/// Never.
pub fn sheet(setup: &Setup) -> Result<Sheet> {
    let senders = Senders::measure(setup);
    let title = "Table I, measured, and the RTO of four senders over the same RTTs (300 to 600 ms)";
    let chart = LineChart::new(title, "RTT sample", "RTO (ms)", System::ALL.map(|system| system.name))
        .panel("", senders.traces.clone());
    let shown = ["quantity", "case", "study", "engine"];
    Ok(sheet_of_measured(ID, title, claims::of(&senders), chart, cells(&senders), &shown))
}
