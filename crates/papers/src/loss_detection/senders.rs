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

use super::NAME;
use super::micro::{self, Bench, Fate, Measured, Run, ms};
use crate::experiment::{ExperimentError, Setup};
use crate::{Figure, Picture, Sheet};
use recoup_draw::chart::{LineChart, LinePanel};
use recoup_recovery::parameters::Parameters;
use recoup_recovery::rtt::{Factor, Sampling, Smoothing};
use recoup_recovery::{Mechanisms, Trigger};
use recoup_trace::study::published::System;
use recoup_units::{Direction, Instant, Segments};
use std::time::Duration;

/// The name on the command line.
pub const ID: &str = "senders";

/// Quantities of the four systems, in the order of [`System::ALL`].
type Values = [f64; 4];

/// RTT samples of the comparison with the formula.
const SAMPLES: u64 = 300;

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
    /// The RTO after the RTT has doubled, for (a, b) = (1/32, 1/8), (1/4, 1/8), (1, 1/8), in ms.
    by_a: [Values; 3],
    /// The SRTT after the RTT has doubled, for b = 1/32, 1/8, 1, in ms.
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
    System::ALL
        .each_ref()
        .map(|system| measure(sender(setup, system)))
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
        let factors = [
            (1_000_000, 2),
            (1_000_000, 4),
            (1_250_000, 4),
            (1_000_000, 8),
        ];
        let by_factors = factors.map(|(m, k)| {
            let with = with(Parameters {
                srtt_factor: Some(Factor(m)),
                rttvar_factor: Some(Factor::whole(k)),
                ..Parameters::default()
            });
            of_each(setup, |sender| mean_rto(&jittery(with(sender), 2000, 300)))
        });
        let by_a = [32, 4, 1].map(|a| {
            let with = with(Parameters {
                rttvar_weight: Some(Factor::one_over(a)),
                ..Parameters::default()
            });
            of_each(setup, |sender| after_a_step(with(sender))[2])
        });
        let by_b = [32, 8, 1].map(|b| {
            let with = with(Parameters {
                srtt_weight: Some(Factor::one_over(b)),
                ..Parameters::default()
            });
            of_each(setup, |sender| after_a_step(with(sender))[1])
        });
        let by_variability = [0, 600].map(|jitter| {
            [2, 4].map(|k| {
                let with = with(Parameters {
                    rttvar_factor: Some(Factor::whole(k)),
                    ..Parameters::default()
                });
                of_each(setup, |sender| {
                    let rtos = jittery(with(sender), 300, jitter);
                    let mean_rtt =
                        rtos.iter().map(|[rtt, ..]| rtt).sum::<f64>() / rtos.len() as f64;
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

/// From the first SYN-ACK to the second, if the first is lost, in ms.
fn initial_rto(sender: Mechanisms) -> f64 {
    let mut sent: Vec<Instant> = Vec::new();
    Bench::new(sender, 1).run(|packet| {
        if !packet.syn || packet.direction != Direction::Down {
            return Fate::Passes;
        }
        sent.push(packet.at);
        match packet.copy {
            1 => Fate::Lost,
            _ => Fate::Passes,
        }
    });
    match sent[..] {
        [first, second, ..] => ms(second.since(first)),
        _ => f64::NAN,
    }
}

/// The last of 40 segments is lost, at a steady RTT: from the last ACK to its retransmission, and the RTO at that time,
/// in ms.
fn tail_wait(sender: Mechanisms, rtt_ms: u64) -> [f64; 2] {
    let bench = Bench {
        rtt: Duration::from_millis(rtt_ms),
        ..Bench::new(sender, 40)
    };
    let run = bench.run(|packet| match (packet.segment, packet.copy) {
        (40, 1) => Fate::Lost,
        _ => Fate::Passes,
    });
    let Some((at, 40, Trigger::Rto)) = run.first_retransmission() else {
        return [f64::NAN; 2];
    };
    let acks = run.acks.iter().filter(|(arrived, _)| *arrived < at);
    // The ACK of the segment before may have arrived before the last segment was sent.
    let last = acks.map(|(arrived, _)| *arrived).max();
    let set = last.max(run.first_sent(40)).unwrap_or(at);
    let rto = run.rtos().last().map_or(f64::NAN, |[.., rto]| *rto);
    [ms(at.since(set)), rto]
}

/// Sample, SRTT and RTO (ms) over RTTs of `rtt_ms` and up to `most` ms more, one segment a flight.
fn jittery(sender: Mechanisms, rtt_ms: u64, most: u64) -> Vec<[f64; 3]> {
    one_by_one(sender, rtt_ms, |segment| match most {
        0 => 0,
        _ => segment * 7919 % most,
    })
    .rtos()
}

/// A transfer of one segment a flight: the RTT in ms, and what the data segments take longer.
fn one_by_one(sender: Mechanisms, rtt_ms: u64, extra_ms: impl Fn(u64) -> u64) -> Run {
    let bench = Bench {
        rtt: Duration::from_millis(rtt_ms),
        buffer: 1,
        ..Bench::new(sender, SAMPLES)
    };
    bench.run(|packet| match packet.segment {
        0 => Fate::Passes,
        segment => Fate::Late(Duration::from_millis(extra_ms(segment))),
    })
}

fn mean_rto(rtos: &[[f64; 3]]) -> f64 {
    rtos.iter().map(|[.., rto]| rto).sum::<f64>() / rtos.len() as f64
}

/// The largest of 1, 10, 100 and 1000 ms of which all RTOs are multiples; 0 if none.
fn tick(rtos: &[[f64; 3]]) -> f64 {
    let divides = |tick: &f64| {
        rtos.iter().all(|[.., rto]| {
            let ticks = rto / tick;
            (ticks - ticks.round()).abs() < 1e-6
        })
    };
    let ticks = [1000.0, 100.0, 10.0, 1.0];
    ticks.into_iter().find(divides).unwrap_or(0.0)
}

/// a, b, m and k from the RTOs after a steady RTT of 2 s, and after one sample of 4 s.
fn factors_of(sender: Mechanisms) -> [f64; 4] {
    let steady = one_by_one(sender, 2000, |_| 0).rtos();
    let step = one_by_one(sender, 2000, |segment| match segment {
        1 => 2000,
        _ => 0,
    });
    let step = step.rtos();
    let (Some(last), Some([first, second])) = (steady.last(), step.get(..2)) else {
        return [f64::NAN; 4];
    };
    let ([rtt, srtt, rto], [sample, srtt2, rto2]) = (*first, *second);
    let m = last[2] / last[0];
    let k = (rto - m * srtt) / (rtt / 2.0);
    let b = (srtt2 - srtt) / (sample - srtt);
    let rttvar = (rto2 - m * srtt2) / k;
    let deviation = (srtt - sample).abs();
    let a = (rttvar - rtt / 2.0) / (deviation - rtt / 2.0);
    [a, b, m, k]
}

/// Sample, SRTT and RTO after the RTT rose from 2 s to 5 s.
fn after_a_step(sender: Mechanisms) -> [f64; 3] {
    let run = one_by_one(sender, 2000, |segment| match segment {
        1 => 3000,
        _ => 0,
    });
    run.rtos().get(1).copied().unwrap_or([f64::NAN; 3])
}

/// The share of RTT samples below the RTO before them, in %.
fn covered(rtos: &[[f64; 3]]) -> f64 {
    let covered = rtos.windows(2).filter(|pair| pair[1][0] < pair[0][2]);
    100.0 * covered.count() as f64 / (rtos.len() - 1) as f64
}

/// The duplicate ACKs that had arrived when a lost segment was retransmitted. The segments arrive 1 ms apart.
fn dupthresh(mut sender: Mechanisms) -> f64 {
    sender.initial_window = Segments(20);
    let bench = Bench {
        spacing: Duration::from_millis(1),
        ..Bench::new(sender, 20)
    };
    let run = bench.run(|packet| match (packet.segment, packet.copy) {
        (5, 1) => Fate::Lost,
        _ => Fate::Passes,
    });
    let Some((at, 5, Trigger::Fast)) = run.first_retransmission() else {
        return f64::NAN;
    };
    let duplicates = run.duplicates(5);
    duplicates.iter().filter(|arrived| **arrived <= at).count() as f64
}

/// RTT samples per flight of ten segments, in 40 flights after the first ones.
fn samples_per_flight(mut sender: Mechanisms) -> f64 {
    sender.initial_window = Segments(10);
    let bench = Bench {
        buffer: 10,
        ..Bench::new(sender, 400)
    };
    let samples = bench.run(|_| Fate::Passes).rtos().len();
    (samples as f64 - 1.0) / 40.0
}

/// The share of the RTOs that are those of §II and Table I in whole ticks, and the largest distance to them, in %.
fn formula(sender: Mechanisms) -> [f64; 2] {
    let rules = sender.rto;
    let (m, min, tick) = (
        rules.srtt_factor.as_f64(),
        ms(rules.min),
        ms(rules.granularity),
    );
    let mut state: Option<(f64, f64)> = None;
    let rtos = jittery(sender, 300, 300);
    let (mut equal, mut most) = (0, 0.0_f64);
    for [rtt, _, rto] in &rtos {
        let (srtt, rttvar) = state.map_or((*rtt, rtt / 2.0), |(srtt, rttvar)| {
            let deviation = (srtt - rtt).abs();
            (0.875 * srtt + 0.125 * rtt, 0.75 * rttvar + 0.25 * deviation)
        });
        state = Some((srtt, rttvar));
        let exact = (m * srtt + 4.0 * rttvar).max(min);
        let above = rto - exact;
        if (-1e-3..tick + 1e-3).contains(&above) {
            equal += 1;
        }
        // Ticks are no difference.
        let off = if above < 0.0 {
            -above
        } else {
            (above - tick).max(0.0)
        };
        most = most.max(100.0 * off / exact);
    }
    [100.0 * f64::from(equal) / rtos.len() as f64, most]
}

/// The SYN-ACK takes 1 s, everything else 100 ms: RTTs from the first data until the RTO is at most one and a half times
/// its final value.
fn converges(mut sender: Mechanisms) -> f64 {
    sender.initial_window = Segments(10);
    sender.rto.min = Duration::ZERO;
    let bench = Bench {
        buffer: 10,
        ..Bench::new(sender, 2000)
    };
    let run = bench.run(|packet| match (packet.syn, packet.direction) {
        (true, Direction::Down) => Fate::Late(Duration::from_millis(900)),
        _ => Fate::Passes,
    });
    let samples: Vec<(Instant, f64)> = run
        .events
        .iter()
        .filter_map(|(at, event)| match event {
            recoup_recovery::Event::RttSample { rto, .. } => Some((*at, ms(*rto))),
            _ => None,
        })
        .collect();
    let (Some(begin), Some((_, last))) = (run.first_sent(1), samples.last()) else {
        return f64::NAN;
    };
    let slow = samples.iter().rposition(|(_, rto)| *rto > 1.5 * last);
    let converged = slow.map_or(samples.first(), |slow| samples.get(slow + 1));
    converged.map_or(f64::NAN, |(at, _)| ms(at.since(begin)) / 100.0)
}

/// Of 900 segments, the 30th and the 808th are overtaken by those after it: the number of fast retransmits. The segments
/// of a flight arrive 1 ms apart.
fn overtaken_twice(mut sender: Mechanisms) -> f64 {
    sender.initial_window = Segments(20);
    let bench = Bench {
        buffer: 20,
        spacing: Duration::from_millis(1),
        ..Bench::new(sender, 900)
    };
    let run = bench.run(|packet| match (packet.segment, packet.copy) {
        (30 | 808, 1) => Fate::Late(Duration::from_millis(40)),
        _ => Fate::Passes,
    });
    let fast = run
        .sent()
        .filter(|(.., again)| *again == Some(Trigger::Fast));
    let of_the_two = fast.filter(|(_, segment, _)| [30, 808].contains(segment));
    of_the_two.count() as f64
}

fn measured(senders: &Senders) -> Vec<Measured> {
    let mut rows = Vec::new();
    let mut add = |quantity: &str, study: [Option<f64>; 4], engine: Values| {
        for ((system, study), engine) in System::ALL.iter().zip(study).zip(engine) {
            rows.push(Measured {
                quantity: quantity.into(),
                case: system.name.into(),
                study,
                engine: Some(engine),
            });
        }
    };
    let some = |values: Values| values.map(Some);
    add(
        "timer granularity (ms)",
        some(claims::TICK_MS),
        senders.tick_ms,
    );
    add(
        "initial RTO (ms)",
        some(claims::INITIAL_MS),
        senders.initial_ms,
    );
    add("minimum RTO (ms)", some(claims::MIN_MS), senders.min_ms);
    add("a", some([0.25; 4]), senders.a);
    add("b", some([0.125; 4]), senders.b);
    add("m", some(claims::M), senders.m);
    add("k", some([4.0; 4]), senders.k);
    add("D (duplicate ACKs)", some(claims::D), senders.dupthresh);
    add(
        "RTT samples per flight of 10 segments",
        [None; 4],
        senders.samples_per_flight,
    );
    add(
        "RTOs by the formula of the study (%)",
        [None; 4],
        senders.by_formula,
    );
    add(
        "largest distance to the formula (%)",
        [None; 4],
        senders.off_formula,
    );
    add(
        "RTTs until the RTO has converged",
        [None; 4],
        senders.converges_rtts,
    );
    add(
        "RTO at a steady RTT of 50 ms (RTTs)",
        [None; 4],
        senders.steady_rtts,
    );
    add(
        "fast retransmits of two overtaken segments",
        [None; 4],
        senders.fast_when_overtaken_twice,
    );
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
            panels: vec![LinePanel {
                title: String::new(),
                lines: senders.traces.to_vec(),
            }],
            ..LineChart::default()
        }),
        cells: cells.clone(),
    };
    let text = columns.to_text(&cells, &["quantity", "case", "study", "engine"]);
    Ok(figure.into_sheet(&text, &columns))
}
