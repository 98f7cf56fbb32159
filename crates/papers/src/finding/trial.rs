//! Flows of a family with one server, and what they cost beside `linux-6`.
//!
//! ```text
//! slowdown = (time − think times) / (the same for linux-6 on the path without losses, reordering and full queues)
//! excess   = mean slowdown − 1
//! gain     = the share of linux-6's excess that a server takes away
//! ```
//! A flow that does not complete counts with the time until nothing more happens.

use super::networks::{Family, acks, ideal};
use super::sender::{LINUX, Sender};
use crate::population::{Flow, Population};
use crate::prelude::*;

/// Flows that run one after another on a core.
const TOGETHER: u64 = 50;

/// What a flow would take without losses, and the SRTT that its server has then.
#[derive(Clone, Copy, Debug)]
pub struct Ideal {
    time: f64,
    srtt: Duration,
}

/// A flow with a server.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outcome {
    pub slowdown: f64,
    pub completed: bool,
    /// Retransmissions of data that earlier transmissions delivered.
    pub needless: u64,
    /// Segments of data sent.
    pub segments: u64,
    /// IP bytes sent.
    pub bytes: u64,
}

/// The flows of one family.
#[derive(Debug)]
pub struct Bed {
    population: Population,
    client: Mechanisms,
    ideals: Vec<Ideal>,
}

impl Bed {
    /// This many flows of a family, and what they would take without losses.
    ///
    /// # Errors
    /// Settings that do not fit together.
    pub fn new(setup: &Setup, family: Family, flows: u64, seed: u64) -> Result<Self> {
        let mut population = family.population(flows, seed);
        let lossless = ideal(population.clone());
        if setup.is_mutated("nothing-lost") {
            population = lossless.clone();
        }
        let client = *LINUX.parse::<Profile>().map_err(|e| e.to_string())?.mechanisms();
        let ideals = in_batches(flows, TOGETHER, |numbers| {
            numbers
                .map(|number| {
                    let mut srtt = LastSrtt(Duration::ZERO);
                    let record = run(&lossless, number, client, client, &mut srtt)?;
                    Ok::<_, ExperimentError>(Ideal { time: record.1, srtt: srtt.0 })
                })
                .collect()
        })?;
        Ok(Self { population, client, ideals })
    }

    /// Runs all flows with a server.
    ///
    /// # Errors
    /// Settings that do not exist.
    pub fn run(&self, setup: &Setup, sender: &Sender) -> Result<Vec<Outcome>> {
        let mechanisms = sender.mechanisms(setup)?;
        let remembers = sender.remembers.filter(|_| !setup.is_mutated("forgets"));
        in_batches(self.population.flows, TOGETHER, |numbers| {
            numbers
                .map(|number| {
                    let Ideal { time, srtt } = self.ideals[number as usize];
                    let mut server = mechanisms;
                    if let Some(least) = remembers {
                        server.rto.initial = (2 * srtt).max(Duration::from_millis(least));
                    }
                    let (record, taken) = run(&self.population, number, self.client, server, &mut NoObserver)?;
                    Ok(Outcome {
                        slowdown: taken / time,
                        completed: record.completed(),
                        needless: record.spurious_data,
                        segments: record.segments_sent,
                        bytes: record.bytes_sent,
                    })
                })
                .collect()
        })
    }
}

/// Runs a flow. Returns its record, and how long it took without think times, in ms.
fn run(
    population: &Population,
    number: u64,
    client: Mechanisms,
    server: Mechanisms,
    observer: &mut impl Observer,
) -> Result<(FlowRecord, f64)> {
    let mut thinks = Duration::ZERO;
    let spec = |flow: &Flow| {
        thinks = flow.workload.client.writes.iter().map(|write| write.when.after).sum();
        let spec = flow.spec_with(server);
        let acks = acks(population.seed, number);
        FlowSpec { client: recoup_tcp::Config { mechanisms: client, acks, ..spec.client }, ..spec }
    };
    let mut bench = population.bench(number, spec)?;
    let record = population.observe(&mut bench, number, observer);
    Ok((record, ms(record.fct.unwrap_or(record.duration).saturating_sub(thinks))))
}

/// The SRTT of the server when it was last settled.
struct LastSrtt(Duration);

impl Observer for LastSrtt {
    const WANTS_EVENTS: bool = false;

    fn on_settled(&mut self, _: Instant, host: Host, endpoint: &Endpoint) {
        if host == Host::Server {
            self.0 = endpoint.sender().rtt().srtt().unwrap_or(self.0);
        }
    }
}

/// A server beside `linux-6`, over the same flows.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// Flows.
    pub flows: u64,
    /// The mean slowdown, less 1.
    pub excess: Estimate,
    /// The share of the excess of `linux-6` that it takes away.
    pub gain: Estimate,
    /// Needless retransmissions of data more than `linux-6`, in percent of the segments of data.
    pub needless: f64,
    /// IP bytes more than `linux-6`, in percent.
    pub bytes: f64,
    /// Flows that do not complete, more than with `linux-6`.
    pub incomplete: i64,
    /// The 99th percentile of slowdowns.
    pub p99: f64,
}

/// The bounds of harm: percentage points of needless retransmissions, percent of bytes, flows that do not complete.
pub const MOST_NEEDLESS: f64 = 0.2;
pub const MOST_BYTES: f64 = 1.0;

impl Comparison {
    pub fn of(linux: &[Outcome], ours: &[Outcome]) -> Self {
        let sum = |flows: &[Outcome], of: fn(&Outcome) -> u64| flows.iter().map(of).sum::<u64>() as f64;
        let excess = |flows: &[Outcome]| {
            Estimate::of(flows.iter().map(|flow| flow.slowdown - 1.0).collect::<Vec<_>>().into_iter())
        };
        let (base, own) = (excess(linux), excess(ours));
        let saved = saved(linux, ours);
        let share = |flows| 100.0 * sum(flows, |flow| flow.needless) / sum(flows, |flow| flow.segments).max(1.0);
        let bytes = |flows| sum(flows, |flow| flow.bytes);
        let incomplete = |flows: &[Outcome]| flows.iter().filter(|flow| !flow.completed).count() as i64;
        let mut slowdowns: Vec<f64> = ours.iter().map(|flow| flow.slowdown).collect();
        slowdowns.sort_by(f64::total_cmp);
        Self {
            flows: ours.len() as u64,
            excess: own,
            gain: share_of_excess(saved, base.mean),
            needless: share(ours) - share(linux),
            bytes: 100.0 * (bytes(ours) / bytes(linux).max(1.0) - 1.0),
            incomplete: incomplete(ours) - incomplete(linux),
            p99: quantile(&slowdowns, 0.99).unwrap_or(NAN),
        }
    }

    /// Which bound of harm it exceeds.
    pub fn harm(&self) -> Option<&'static str> {
        if self.needless > MOST_NEEDLESS {
            Some("needless")
        } else if self.bytes > MOST_BYTES {
            Some("bytes")
        } else if self.incomplete > 0 {
            Some("incomplete")
        } else {
            None
        }
    }
}

/// A slowdown that was saved, as a share of an excess. Where nothing is in excess, nothing can be saved.
pub fn share_of_excess(saved: Estimate, excess: f64) -> Estimate {
    let excess = if excess > 1e-9 { excess } else { f64::INFINITY };
    Estimate { mean: saved.mean / excess, half: saved.half / excess }
}

/// Slowdown that one server saves beside another, over the same flows: the difference of their excesses.
pub fn saved(other: &[Outcome], ours: &[Outcome]) -> Estimate {
    let saved: Vec<f64> = other.iter().zip(ours).map(|(other, ours)| other.slowdown - ours.slowdown).collect();
    Estimate::of(saved.into_iter())
}

/// Columns of a comparison, which `of` finds in a row.
pub fn columns<R: 'static>(columns: Columns<R>, of: fn(&R) -> &Comparison) -> Columns<R> {
    columns!(columns, r;
        flows, "", "flows" => of(r).flows;
        excess, "", "mean slowdown less 1" => of(r).excess.mean;
        excess_half, "", "half the width of its 95 % confidence interval" => of(r).excess.half;
        gain_percent, "%", "share of the excess of linux-6 that it takes away" => 100.0 * of(r).gain.mean;
        gain_half_percent, "%", "half the width of its 95 % confidence interval" => 100.0 * of(r).gain.half;
        needless_percent, "%", "needless retransmissions more than linux-6, of all segments of data" => of(r).needless;
        bytes_percent, "%", "IP bytes more than linux-6" => of(r).bytes;
        incomplete, "", "flows that do not complete, more than with linux-6" => of(r).incomplete;
        p99, "", "99th percentile of slowdowns" => of(r).p99;
        harm, "", "the bound of harm that it exceeds" => of(r).harm().unwrap_or("");
    )
}
