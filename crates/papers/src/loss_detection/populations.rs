//! The four systems' servers over the four populations of [`CAPTURES`], captured and analyzed.
//!
//! Each system serves the populations in which the study saw it, with as many lossy connections in each as Table III
//! has: Linux mostly web servers (ibi), Windows the campus (unc) and its wireless network (wls), Solaris the campus,
//! FreeBSD the campus and the trans-Pacific link (jap). As in the study, connections count on which data was lost, and
//! whose every retransmission the system's profile explains.
//!
//! Ten batches, each with a tenth of the connections, give the intervals: half of the interval of a quantity is 2.26
//! standard errors of its ten values (batch means, Student's t with nine degrees of freedom). The retransmissions of a
//! connection depend on each other, connections do not.

use super::captures::{CAPTURES, Capture, FIT, lossy_flows};
use super::published::seen_in;
use crate::last::Last;
use crate::population::Population;
use crate::prelude::*;
use recoup_captures::analysis::{Collector, Summary};
use recoup_captures::merge_fields;
use recoup_captures::study::{Cdf, Detector, Merge, Report, SenderReport, Study};
use recoup_trace::analyze::Findings;
use recoup_trace::finding::{Connection, Explanation, Identification, Retransmission, Revision, Tally, Verdict};

/// Batches, for intervals.
pub const BATCHES: usize = 10;

/// Student's t for 95 % and nine degrees of freedom.
const T: f64 = 2.262;

/// The lossy connections of each system.
fn lossy(effort: Effort) -> u64 {
    effort.of(6000, 600)
}

/// The connections of each capture, lossy or not, of which Figure 1 and Table III speak.
fn unselected(effort: Effort) -> u64 {
    effort.of(2560, 320)
}

/// The population of a capture with these values of the fitted parameters, or what a mutation makes of it.
pub fn population(setup: &Setup, capture: &Capture, fitted: &Parameters, flows: u64) -> Population {
    let mut population = capture.population(fitted, flows, setup.seed());
    let Some(mutation) = setup.mutation else {
        return population;
    };
    let Population { networks, traffic, receivers, .. } = &mut population;
    match mutation.name.as_str() {
        "steady-networks" => {
            networks.pausing = 0.0;
            networks.reordering = 0.0;
        }
        "idle-connections" => {
            traffic.exchanges *= 2.0;
            traffic.think_time.median = 15_000.0;
            traffic.think_time.most = 120_000.0;
        }
        "large-flights" => {
            traffic.exchanges = 1.0;
            traffic.response.sigma = 0.0;
            traffic.response.median = 1_000_000.0;
            networks.loss.median = 0.001;
            networks.bursty = 0.0;
            networks.ack_loss = 0.0;
            receivers.buffer = 1 << 18;
            receivers.sack = 1.0;
        }
        "reordering-networks" => {
            networks.pausing = 0.0;
            networks.reordering = 1.0;
            networks.reordered = 0.1;
            networks.reordering_delay.median = 60.0;
        }
        "long-bursts" => {
            networks.bursty = 1.0;
            networks.burst = 20.0;
            receivers.sack = 0.0;
        }
        "long-rtts" => {
            networks.rtt.median = 2000.0;
            networks.rtt.most = 5000.0;
            networks.pausing = 0.0;
        }
        "short-rtts" => networks.rtt.median = 8.0,
        "quick-acks" => receivers.delayed_acks = 0.0,
        "heavy-loss" => networks.loss.median = 0.15,
        "lossless" => {
            networks.loss.median = 0.0;
            networks.loss.least = 0.0;
            networks.queue.median = 5000.0;
            networks.queue.least = 5000.0;
        }
        "one-size" => {
            traffic.exchanges = 1.0;
            traffic.response.sigma = 0.0;
            traffic.response.median = 100_000.0;
            receivers.sack = 1.0;
        }
        "uniform" => {
            for quantity in [&mut networks.rtt, &mut networks.rate, &mut networks.queue] {
                quantity.sigma = 0.0;
            }
            networks.loss.sigma = 0.0;
            networks.loss.median = 0.002;
            networks.pausing = 0.0;
            networks.bursty = 0.0;
            traffic.exchanges = 1.0;
            traffic.response.sigma = 0.0;
            traffic.response.median = 60_000.0;
            receivers.sack = 1.0;
        }
        _ => {}
    }
    population
}

/// The results of some of the flows.
#[derive(Clone, Debug)]
pub struct Results {
    /// Of all systems together; its senders are in the order of their profiles' names.
    pub report: Report,
    /// Of the systems that use SACK together.
    pub with_sack: SenderReport,
    /// Counts that the analysis does not make, by system in the order of [`System::ALL`].
    counts: [Counts; System::ALL.len()],
}

/// The results of the four systems.
#[derive(Clone, Debug)]
pub struct Populations {
    /// Of all flows.
    pub all: Results,
    batches: Vec<Results>,
    /// The payload of each capture's connections, by title.
    pub bytes: Vec<(String, Cdf)>,
    /// The report of all connections of each capture, in the order of [`CAPTURES`].
    pub captures: Vec<Report>,
    /// Counts of the lossy connections of each capture, in the same order.
    pub lossy: [Counts; CAPTURES.len()],
}

impl Results {
    fn new(studies: &[Study], counts: [Counts; 4], sack: [bool; 4]) -> Self {
        let [mut all, mut with_sack] = [Study::default(), Study::default()];
        for (study, sack) in studies.iter().zip(sack) {
            all.merge(study);
            if sack {
                with_sack.merge(study);
            }
        }
        Self { report: all.report(), with_sack: with_sack.report().all, counts }
    }

    /// The results of a system's servers.
    pub fn system(&self, system: &System) -> Option<&SenderReport> {
        self.report.senders.iter().find(|sender| sender.sender == system.captured)
    }
}

impl Populations {
    /// Simulates and analyzes this many lossy connections of each system, and `unselected` ones of each capture.
    ///
    /// # Errors
    /// Never with these populations.
    pub fn simulate(setup: &Setup, fitted: &Parameters, lossy: u64, unselected: u64) -> Result<Self> {
        let mut by_batch: Vec<[Study; 4]> = (0..BATCHES).map(|_| Default::default()).collect();
        let mut counts = vec![[Counts::default(); 4]; BATCHES];
        let mut by_capture: [Counts; 4] = Default::default();
        let mut sack = [false; 4];
        for (place, system) in System::ALL.iter().enumerate() {
            let profile = setup.profile(system.captured);
            sack[place] = profile.mechanisms().sack;
            for ((capture, share), of_capture) in CAPTURES.iter().zip(seen_in(place)).zip(&mut by_capture) {
                let wanted = (lossy as f64 * share).round() as u64;
                let population = population(setup, capture, fitted, wanted);
                let flows = lossy_flows(&population, &profile, 0, wanted)?;
                // Every tenth connection is of the same batch.
                let of_batch = |batch: usize| flows.iter().copied().skip(batch).step_by(BATCHES).collect::<Vec<_>>();
                let parts = in_parallel(BATCHES, cores(), |batch| {
                    population.analyze_flows(&profile, &of_batch(batch), || Servers::new(&profile, system))
                })?;
                for (batch, mut part) in
                    parts.into_iter().enumerate().flat_map(|(i, all)| all.into_iter().map(move |one| (i, one)))
                {
                    part.summary.order();
                    let mut summary = Summary::default();
                    summary.merge(part.summary);
                    by_batch[batch][place].merge(&summary.study);
                    counts[batch][place].merge(&part.counts);
                    of_capture.merge(&part.counts);
                }
            }
        }
        let (mut studies, mut total): ([Study; 4], [Counts; 4]) = Default::default();
        by_batch.iter().for_each(|batch| studies.merge(batch));
        counts.iter().for_each(|batch| total.merge(batch));
        let batches = by_batch.iter().zip(counts);
        let captures = (0..CAPTURES.len()).map(|capture| whole(setup, fitted, capture, unselected));
        let captures = captures.collect::<Result<Vec<Report>>>()?;
        let bytes = |(capture, report): (&Capture, &Report)| (capture.title.into(), report.bytes.clone());
        Ok(Self {
            all: Results::new(&studies, total, sack),
            batches: batches.map(|(studies, counts)| Results::new(studies, counts, sack)).collect(),
            bytes: CAPTURES.iter().zip(&captures).map(bytes).collect(),
            captures,
            lossy: by_capture,
        })
    }

    /// The populations of a setup. The last result is kept, because every figure needs it.
    ///
    /// # Errors
    /// Never with these populations.
    pub fn of(setup: &Setup) -> Result<Arc<Self>> {
        static LAST: Last<Populations> = Last::new();
        let [lossy, unselected] = [lossy(setup.effort), unselected(setup.effort)];
        LAST.or_make(setup, &lossy.to_string(), || Self::simulate(setup, &setup.fitted(FIT), lossy, unselected))
    }

    /// The counts of a system, by its place in [`System::ALL`].
    pub fn counts(&self, system: usize) -> &Counts {
        &self.all.counts[system]
    }

    /// A quantity with its interval.
    pub fn estimate(&self, of: impl Fn(&Results) -> Option<f64>) -> Estimate {
        let values: Vec<f64> = self.batches.iter().filter_map(&of).collect();
        Estimate { mean: of(&self.all).unwrap_or(NAN), half: half_width(&values) }
    }

    /// A quantity of each system, in the order of [`System::ALL`].
    pub fn each(&self, of: impl Fn(&SenderReport) -> Option<f64>) -> [Estimate; 4] {
        std::array::from_fn(|i| self.estimate(|results| of(results.system(&System::ALL[i])?)))
    }

    /// The figure of a statement for each system.
    pub fn stated(&self, what: &str) -> [Estimate; 4] {
        self.each(|sender| sender.claims.iter().find(|claim| claim.what == what)?.here)
    }

    /// A share of counts of each system, in %.
    pub fn counted(&self, of: impl Fn(&Counts) -> [u64; 2]) -> [Estimate; 4] {
        std::array::from_fn(|i| {
            self.estimate(|results| {
                let [part, whole] = of(&results.counts[i]);
                (whole > 0).then(|| 100.0 * part as f64 / whole as f64)
            })
        })
    }
}

/// All connections of a capture, served by the system of which the study saw most there.
fn whole(setup: &Setup, fitted: &Parameters, capture: usize, flows: u64) -> Result<Report> {
    let share =
        |system: &usize| seen_in(*system)[capture] * System::ALL[*system].retransmissions.iter().sum::<u64>() as f64;
    let most = (0..System::ALL.len()).max_by(|a, b| share(a).total_cmp(&share(b))).unwrap_or_default();
    let profile = setup.profile(System::ALL[most].captured);
    let mut all = Summary::default();
    for mut part in population(setup, &CAPTURES[capture], fitted, flows).analyze(&profile, Summary::default)? {
        part.order();
        all.merge(part);
    }
    Ok(all.study.report())
}

/// Half of the interval of the mean of all from those of batches; infinite if some batches have none.
fn half_width(values: &[f64]) -> f64 {
    if values.len() < BATCHES {
        return f64::INFINITY;
    }
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    T * (squares / (n - 1.0) / n).sqrt()
}

/// Counts of a system's retransmissions that the analysis does not make.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    /// Connections on which data was lost, and whose every retransmission is explained.
    pub connections: u64,
    /// Their payload bytes.
    pub bytes: u64,
    /// The retransmissions of their servers by RTO and FR/R, whatever their verdict.
    pub retransmissions: u64,
    /// Lossy connections that were left out, because a retransmission is not explained.
    pub unexplained: u64,
    /// Needed timeouts: first retransmissions by the timer.
    pub timeouts: u64,
    /// Those with no more segments outstanding than the duplicate ACK threshold. The first of them is the lost
    /// one, so the others cause fewer duplicate ACKs.
    pub few_outstanding: u64,
    /// Detections by FR/R with a known duration.
    pub fast: u64,
    /// Those that took 0.5 to 2.5 RTTs: about one or two.
    pub fast_one_or_two: u64,
    /// Timeouts that took more than ten RTTs.
    pub long: u64,
    /// Those before the first twenty segments of the connection were acknowledged.
    pub long_early: u64,
    /// Timeouts that took no more.
    pub short: u64,
    /// Those before the first twenty segments of the connection were acknowledged.
    pub short_early: u64,
}

merge_fields!(
    Counts: connections, bytes, retransmissions, unexplained, timeouts, few_outstanding, fast, fast_one_or_two, long, long_early, short, short_early
);

/// Collects what the servers retransmitted. What the clients retransmit, requests and SYNs, was not captured
/// at its sender and is left out.
struct Servers {
    summary: Summary,
    profile: Profile,
    /// The name under which the servers are reported, whatever they run.
    name: &'static str,
    counts: Counts,
}

/// A timeout this soon after the beginning of its connection is early, in RTTs.
const EARLY: f64 = 20.0;

impl Servers {
    fn new(profile: &Profile, system: &System) -> Self {
        Self { summary: Summary::default(), profile: profile.clone(), name: system.captured, counts: Counts::default() }
    }

    /// Whether the study keeps a connection: data was lost, and each retransmission is explained.
    fn is_studied(&mut self, connection: &Connection) -> bool {
        let [_, server] = &connection.directions;
        let all = &server.retransmissions;
        let by_rto_or_fast = [Trigger::Rto, Trigger::SlowStart, Trigger::Fast, Trigger::Early];
        if by_rto_or_fast.iter().all(|trigger| all.count(Some(*trigger), Verdict::Needed) == 0) {
            return false;
        }
        let is_explained = server.profile.best().is_none_or(|best| best.explained == best.of);
        self.counts.unexplained += u64::from(!is_explained);
        is_explained
    }

    fn count(&mut self, connection: &Connection, row: &Retransmission) {
        let counts = &mut self.counts;
        counts.retransmissions += u64::from(Detector::of(row.triggers.first()).is_some());
        let rtts = row.detection_rtts();
        match row.triggers.first() {
            Some(Trigger::Fast | Trigger::Early) if !row.syn => {
                counts.fast += u64::from(rtts.is_some());
                let is_usual = rtts.is_some_and(|rtts| (0.5..2.5).contains(&rtts));
                counts.fast_one_or_two += u64::from(is_usual);
            }
            Some(Trigger::Rto) if row.copy == 1 => {
                if row.verdict == Verdict::Needed {
                    counts.timeouts += 1;
                    let threshold = self.profile.mechanisms().detection.dupthresh.0;
                    counts.few_outstanding += u64::from(row.flight <= threshold);
                }
                let Some((rtts, rtt)) = rtts.zip(row.rtt) else {
                    return;
                };
                let sent = row.at.since(connection.begun) - row.detection.unwrap_or_default();
                let is_early = sent.as_secs_f64() < EARLY * rtt.as_secs_f64();
                let (all, early) = if rtts > 10.0 {
                    (&mut counts.long, &mut counts.long_early)
                } else {
                    (&mut counts.short, &mut counts.short_early)
                };
                *all += 1;
                *early += u64::from(is_early);
            }
            _ => {}
        }
    }
}

impl Findings for Servers {
    fn connection(&mut self, mut connection: Connection, retransmissions: &[Retransmission]) {
        let [client, server] = &mut connection.directions;
        client.retransmissions = Tally::default();
        let best = server.profile.best();
        // The servers have this profile, however little of them it explains.
        server.profile = Identification::Profile(Explanation {
            profile: self.name.into(),
            explained: best.map_or(0, |best| best.explained),
            of: best.map_or(0, |best| best.of),
        });
        let own = |row: &&Retransmission| row.endpoints.src == connection.endpoints.dst;
        let own: Vec<Retransmission> = retransmissions.iter().filter(own).copied().collect();
        if !self.is_studied(&connection) {
            return;
        }
        self.counts.connections += 1;
        self.counts.bytes += connection.directions.iter().map(|direction| direction.bytes).sum::<u64>();
        own.iter().for_each(|row| self.count(&connection, row));
        self.summary.connection(connection, &own);
    }

    fn revision(&mut self, revision: &Revision) {
        self.summary.revision(revision);
    }
}
