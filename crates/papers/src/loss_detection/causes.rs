//! Populations rerun with one thing changed: are the causes that the study names the causes here?
//!
//! The study could not rerun its connections: it assumes that RTTs and losses do not depend on loss detection (§IV-C). Here
//! the same flows run twice, with and without one change, and what really happened is counted
//! ([`watch`](super::watch)), without captures.
//!
//! | change | asked |
//! | --- | --- |
//! | networks without reordering | do spurious fast retransmits vanish? (§V-A1) |
//! | Solaris with m = 1, Solaris and FreeBSD with a minimum RTO of 200 ms | are they as quick as Windows and Linux? (§V-A2a) |
//! | D = 2 on Linux, Solaris and FreeBSD | does FR/R detect more losses? (§V-A2a) |
//! | k = 2 on Windows, with and without ticks of 10 ms | do ticks hide a small k? (§V-B1) |
//! | ticks of 10 ms on Windows, minimum RTO of 100 ms on Windows and Linux | do connections become shorter? (§I) |
//! | k = 2 and 8, minimum RTO of 1 s, a = b = 1, D = 2 on Linux | do recoveries, RTTs, losses change? (§IV-C, §V-A2b) |
//!
//! Differences are between the two runs of the same flow; their intervals are those of their mean over flows.

mod claims;

use super::captures::{CAPTURES, FIT};
use super::columns::{measured, sheet_of_measured};
use super::impact::Replaced::{self, A, B, D, K, M, MinRto};
use super::populations::population;
use super::published::seen_in;
use super::watch::Watch;
use crate::prelude::*;
use recoup_captures::study::Detector;
use recoup_recovery::parameters::Parameters;

/// The name on the command line.
pub const ID: &str = "causes";

/// Flows simulated in one piece of work.
const TOGETHER: u64 = 64;

/// One flow.
#[derive(Clone, Debug, Default)]
struct Outcome {
    /// The flow completion time in ms; NaN if it did not complete.
    duration_ms: f64,
    /// Its mean RTT in ms; NaN without samples.
    rtt_ms: f64,
    /// Data packets lost, and sent.
    lost: [f64; 2],
    /// Detections by FR/R and by timeout (first retransmissions): spurious, all.
    detections: [[u32; 2]; 2],
    /// Spurious detections by FR/R after the connection had timed out.
    fast_after_timeout: u32,
    /// The durations of the first retransmissions by timeout, in RTTs.
    timeouts: Vec<f64>,
    /// The lengths of its recoveries, in RTTs.
    recoveries: Vec<f64>,
}

/// All flows of a system under one change.
type Outcomes = Vec<Outcome>;

/// The difference to a usual run.
#[derive(Clone, Copy, Debug, Default)]
struct Changed {
    parameters: Parameters,
    granularity: Option<Duration>,
    no_reordering: bool,
}

impl Changed {
    fn of(replaced: &[Replaced]) -> Self {
        Self { parameters: Replaced::all(replaced), ..Self::default() }
    }

    fn sender(&self, setup: &Setup, system: &System) -> Mechanisms {
        let mut sender = *setup.profile(system.captured).mechanisms();
        if !setup.is_mutated("no-change") {
            self.parameters.apply(&mut sender);
            sender.rto.granularity = self.granularity.unwrap_or(sender.rto.granularity);
        }
        sender
    }
}

/// The flows of a system, in pieces: as many in each capture as the study saw there.
fn pieces(system: usize, flows: u64) -> impl Iterator<Item = (usize, Range<u64>)> {
    seen_in(system).into_iter().enumerate().flat_map(move |(capture, share)| {
        let flows = (flows as f64 * share).round() as u64;
        (0..flows).step_by(TOGETHER as usize).map(move |first| (capture, first..(first + TOGETHER).min(flows)))
    })
}

fn run(setup: &Setup, system: usize, changed: Changed) -> Result<Outcomes> {
    let sender = changed.sender(setup, &System::ALL[system]);
    let flows = setup.effort.of(12_800, 1280);
    let pieces: Vec<(usize, Range<u64>)> = pieces(system, flows).collect();
    let parts = in_parallel(pieces.len(), cores(), |part| {
        let (capture, numbers) = pieces[part].clone();
        let mut population = population(setup, &CAPTURES[capture], &setup.fitted(FIT), flows);
        let is_usual = changed.granularity.is_none() && changed.parameters == Parameters::default();
        if setup.is_mutated("other-networks") && !is_usual {
            // The changed runs are of paths with more losses and longer RTTs.
            population.networks.rtt.median *= 2.0;
            population.networks.loss.median *= 3.0;
            population.networks.bursty = 1.0;
            population.networks.burst = 8.0;
            population.receivers.sack = 0.0;
        }
        if changed.no_reordering && !setup.is_mutated("no-change") {
            population.networks.reordering = 0.0;
        }
        let each = numbers.map(|number| {
            let mut watch = Watch::default();
            let record = population.bench(number, |flow| flow.spec_with(sender))?.observe(number, &mut watch);
            Ok::<_, ExperimentError>(outcome(&watch, record.fct))
        });
        each.collect::<Result<Vec<_>>>()
    })?;
    Ok(parts.into_iter().flatten().collect())
}

fn outcome(watch: &Watch, duration: Option<Duration>) -> Outcome {
    let mut found = Outcome {
        duration_ms: duration.map_or(NAN, |time| time.as_secs_f64() * 1e3),
        rtt_ms: watch.samples.1 / watch.samples.0 as f64,
        lost: [watch.lost.0 as f64, watch.lost.1 as f64],
        recoveries: watch.recoveries.iter().map(|(_, rtts)| *rtts).collect(),
        ..Outcome::default()
    };
    let mut has_timed_out = false;
    for one in watch.repeated() {
        let Some(detector) = Detector::of(Some(one.trigger)) else {
            continue;
        };
        let counts = &mut found.detections[detector as usize];
        counts[0] += u32::from(one.spurious);
        counts[1] += 1;
        has_timed_out |= detector == Detector::Timeout;
        let is_fast = detector == Detector::FastRetransmit;
        found.fast_after_timeout += u32::from(is_fast && one.spurious && has_timed_out);
        if one.trigger == Trigger::Rto && one.copy == 1 {
            found.timeouts.extend(one.detection_rtts);
        }
    }
    found
}

/// The name of the runs of Linux with k = 2.
const K_2: &str = "k = 2";

/// All runs.
struct Runs {
    /// As they are, in the order of [`System::ALL`].
    usual: Vec<Outcomes>,
    /// On networks without reordering.
    in_order: Vec<Outcomes>,
    /// Solaris and FreeBSD with Linux's minimum and m.
    quick: [Outcomes; 2],
    /// Linux, Solaris and FreeBSD with D = 2.
    two: [Outcomes; 3],
    /// Windows with ticks of 10 ms.
    ticks: Outcomes,
    /// Windows with k = 2, and with ticks of 10 ms beside.
    small_k: [Outcomes; 2],
    /// Windows and Linux with a minimum RTO of 100 ms.
    low: [Outcomes; 2],
    /// Linux with other parameters of the RTO and D, with their names.
    other: Vec<(&'static str, Outcomes)>,
}

impl Runs {
    fn all(setup: &Setup) -> Result<Self> {
        let run = |system, changed| run(setup, system, changed);
        let in_order = Changed { no_reordering: true, ..Changed::default() };
        let quick = Changed::of(&[M(100), MinRto(200)]);
        let ticks = Changed { granularity: Some(Duration::from_millis(10)), ..Changed::default() };
        let [small_k, two, low] = [K(2), D(2), MinRto(100)].map(|one| Changed::of(&[one]));
        let other = [
            (K_2, small_k),
            ("k = 8", Changed::of(&[K(8)])),
            ("minRTO = 1 s", Changed::of(&[MinRto(1000)])),
            ("a = b = 1", Changed::of(&[A(1), B(1)])),
            ("D = 2", two),
        ];
        let all = |changed| (0..4).map(|system| run(system, changed)).collect::<Result<_>>();
        Ok(Self {
            usual: all(Changed::default())?,
            in_order: all(in_order)?,
            quick: [run(2, quick)?, run(3, quick)?],
            two: [run(1, two)?, run(2, two)?, run(3, two)?],
            ticks: run(0, ticks)?,
            small_k: [run(0, small_k)?, run(0, Changed { granularity: ticks.granularity, ..small_k })?],
            low: [run(0, low)?, run(1, low)?],
            other: other.into_iter().map(|(name, changed)| Ok((name, run(1, changed)?))).collect::<Result<_>>()?,
        })
    }
}

/// Reruns the populations.
///
/// # Errors
/// Never with these populations.
pub fn sheet(setup: &Setup) -> Result<Sheet> {
    let runs = Runs::all(setup)?;
    let usual =
        System::ALL.iter().zip(runs.usual.iter().zip(&runs.in_order)).flat_map(|(system, (usual, in_order))| {
            [(system.name.to_owned(), usual), (format!("{}, no reordering", system.name), in_order)]
        });
    let changed =
        ["Solaris", "FreeBSD"].map(|name| format!("{name}, m = 1, minRTO = 200 ms")).into_iter().zip(&runs.quick);
    let changed =
        changed.chain(["Linux", "Solaris", "FreeBSD"].map(|name| format!("{name}, D = 2")).into_iter().zip(&runs.two));
    let changed = changed.chain([("Windows, ticks of 10 ms".to_owned(), &runs.ticks)]);
    let changed =
        changed.chain(["Windows", "Linux"].map(|name| format!("{name}, minRTO = 100 ms")).into_iter().zip(&runs.low));
    let changed = changed.chain(runs.other.iter().map(|(name, outcomes)| (format!("Linux, {name}"), outcomes)));
    let cells = usual.chain(changed).flat_map(|(case, outcomes)| {
        [
            ("mean duration of completed flows (ms)", claims::mean_duration(outcomes)),
            ("median detection by timeout (RTTs)", claims::median_timeout(outcomes).mean),
            ("median recovery (RTTs)", claims::median_recovery(outcomes).mean),
            ("spurious FR/R (% of the retransmissions)", claims::spurious_share(outcomes, 0)),
            ("spurious timeouts (% of the retransmissions)", claims::spurious_share(outcomes, 1)),
        ]
        .map(|(quantity, value)| measured(quantity, case.clone(), value))
    });
    let title = "Median detection time by timeout, as the systems are and with Linux's minimum RTO and m";
    let median = |outcomes: &Outcomes| claims::median_timeout(outcomes).mean;
    let quick = [None, None, Some(&runs.quick[0]), Some(&runs.quick[1])];
    let groups = System::ALL
        .iter()
        .zip(&runs.usual)
        .zip(quick)
        .map(|((system, usual), quick)| (system.name, [Some(median(usual)), quick.map(median)]));
    let chart = BarChart::new(title, "system", "RTTs", ["as it is", "minimum RTO of 200 ms, m = 1"]).panel("", groups);
    let cells = cells.collect();
    Ok(sheet_of_measured(ID, title, claims::of(&runs), chart, cells, &["quantity", "case", "engine"]))
}
