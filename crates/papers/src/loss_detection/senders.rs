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

use super::NAME;
use super::micro::{self, Measured};
use crate::experiment::{ExperimentError, Setup};
use crate::{Figure, Picture, Sheet};
use measure::{
    after_a_step, converges, covered, dupthresh, factors_of, formula, initial_rto, jittery, mean_rto, overtaken_twice,
    samples_per_flight, tail_wait, tick,
};
use recoup_captures::study::published::System;
use recoup_draw::chart::{LineChart, LinePanel};
use recoup_recovery::Mechanisms;
use recoup_recovery::parameters::Parameters;
use recoup_recovery::rtt::{Factor, Sampling, Smoothing};
use recoup_units::Segments;
use std::time::Duration;

/// The name on the command line.
pub const ID: &str = "senders";

/// Quantities of the four systems, in the order of [`System::ALL`].
type Values = [f64; 4];

/// What was measured of each sender.
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
        let other = Parameters {
            rttvar_factor: Some(Factor::whole(2)),
            rttvar_weight: Some(Factor::one_over(8)),
            srtt_weight: Some(Factor::one_over(4)),
            srtt_factor: Some(Factor(1_500_000)),
            min_rto: Some(Duration::from_millis(600)),
            dupthresh: Some(Segments(5)),
            ..Parameters::default()
        };
        other.apply(&mut sender);
        sender.rto.initial = Duration::from_secs(1);
        sender.rto.granularity = Duration::from_millis(1);
    }
    if setup.is_mutated("eager-timer") {
        let eager = Parameters {
            srtt_factor: Some(Factor(500_000)),
            rttvar_factor: Some(Factor(0)),
            min_rto: Some(Duration::ZERO),
            ..Parameters::default()
        };
        eager.apply(&mut sender);
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
        let ignores = setup.is_mutated("deaf-estimator");
        let with = |parameters: Parameters| {
            move |mut sender: Mechanisms| {
                // A sender whose parameters do nothing.
                if !ignores {
                    parameters.apply(&mut sender);
                }
                sender
            }
        };
        let factors = [(1_000_000, 2), (1_000_000, 4), (1_250_000, 4), (1_000_000, 8)];
        let by_factors = factors.map(|(m, k)| {
            let with = with(Parameters {
                srtt_factor: Some(Factor(m)),
                rttvar_factor: Some(Factor::whole(k)),
                ..Parameters::default()
            });
            of_each(setup, |sender| mean_rto(&jittery(with(sender), 2000, 300)))
        });
        let by_a = [32, 4, 1].map(|a| {
            let with = with(Parameters { rttvar_weight: Some(Factor::one_over(a)), ..Parameters::default() });
            of_each(setup, |sender| after_a_step(with(sender))[2])
        });
        let by_b = [32, 8, 1].map(|b| {
            let with = with(Parameters { srtt_weight: Some(Factor::one_over(b)), ..Parameters::default() });
            of_each(setup, |sender| after_a_step(with(sender))[1])
        });
        let by_variability = [0, 600].map(|jitter| {
            [2, 4].map(|k| {
                let with = with(Parameters { rttvar_factor: Some(Factor::whole(k)), ..Parameters::default() });
                of_each(setup, |sender| {
                    let rtos = jittery(with(sender), 300, jitter);
                    let mean_rtt = rtos.iter().map(|[rtt, ..]| rtt).sum::<f64>() / rtos.len() as f64;
                    mean_rto(&rtos) / mean_rtt
                })
            })
        });
        Self {
            initial_ms: of_each(setup, initial_rto),
            min_ms: of_each(setup, |sender| tail_wait(sender, 10)[0]),
            tick_ms: of_each(setup, |sender| tick(&jittery(sender, 2000, 300))),
            a: of_each(setup, |sender| factors_of(sender)[0]),
            b: of_each(setup, |sender| factors_of(sender)[1]),
            m: of_each(setup, |sender| factors_of(sender)[2]),
            k: of_each(setup, |sender| factors_of(sender)[3]),
            dupthresh: of_each(setup, dupthresh),
            samples_per_flight: of_each(setup, samples_per_flight),
            by_formula: of_each(setup, |sender| formula(sender)[0]),
            off_formula: of_each(setup, |sender| formula(sender)[1]),
            converges_rtts: of_each(setup, converges),
            steady_rtts: of_each(setup, |sender| tail_wait(sender, 50)[0] / 50.0),
            fast_when_overtaken_twice: of_each(setup, overtaken_twice),
            covered: of_each(setup, |sender| covered(&jittery(sender, 300, 300))),
            by_factors,
            by_a,
            by_b,
            by_variability,
            after_rto_ms: of_each(setup, |sender| {
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

fn measured(senders: &Senders) -> Vec<Measured> {
    let mut rows = Vec::new();
    let mut add = |quantity: &str, study: [Option<f64>; 4], engine: Values| {
        for ((system, study), engine) in System::ALL.iter().zip(study).zip(engine) {
            rows.push(Measured { quantity: quantity.into(), case: system.name.into(), study, engine: Some(engine) });
        }
    };
    let some = |values: Values| values.map(Some);
    add("timer granularity (ms)", some(claims::TICK_MS), senders.tick_ms);
    add("initial RTO (ms)", some(claims::INITIAL_MS), senders.initial_ms);
    add("minimum RTO (ms)", some(claims::MIN_MS), senders.min_ms);
    add("a", some([0.25; 4]), senders.a);
    add("b", some([0.125; 4]), senders.b);
    add("m", some(claims::M), senders.m);
    add("k", some([4.0; 4]), senders.k);
    add("D (duplicate ACKs)", some(claims::D), senders.dupthresh);
    add("RTT samples per flight of 10 segments", [None; 4], senders.samples_per_flight);
    add("RTOs by the formula of the study (%)", [None; 4], senders.by_formula);
    add("largest distance to the formula (%)", [None; 4], senders.off_formula);
    add("RTTs until the RTO has converged", [None; 4], senders.converges_rtts);
    add("RTO at a steady RTT of 50 ms (RTTs)", [None; 4], senders.steady_rtts);
    add("fast retransmits of two overtaken segments", [None; 4], senders.fast_when_overtaken_twice);
    rows
}

/// Measures the four senders.
///
/// # Errors
/// Never.
pub fn sheet(setup: &Setup) -> Result<Sheet, ExperimentError> {
    let senders = Senders::measure(setup);
    let title = "Table I, measured, and the RTO of four senders over the same RTTs (300 to 600 ms)";
    let cells = measured(&senders);
    let columns = micro::columns(ID);
    let figure = Figure {
        paper: NAME,
        figure: ID,
        title: title.into(),
        claims: claims::of(&senders),
        picture: Picture::Lines(LineChart {
            title: title.into(),
            x_label: "RTT sample".into(),
            y_label: "RTO (ms)".into(),
            series: System::ALL.map(|system| system.name.into()).to_vec(),
            panels: vec![LinePanel { title: String::new(), lines: senders.traces.to_vec() }],
            ..LineChart::default()
        }),
        cells: cells.clone(),
    };
    let text = columns.to_text(&cells, &["quantity", "case", "study", "engine"]);
    Ok(figure.into_sheet(&text, &columns))
}
