//! The populations, captured at both ends, studied, and their flows with SYN loss run again.

use super::{SENDER, world};
use crate::last::Last;
use crate::population::{EndCaptures, FLOWS_PER_CAPTURE, Population};
use crate::prelude::*;
use Direction::{Down, Up};
use recoup_captures::study::slp::{Capture, Report, Sample, SynLoss, study_packets};
use recoup_recovery::slp::{Kind, Likelihoods, SlpRules};
use recoup_trace::analyze::Settings;
use recoup_units::Ppm;
use std::net::IpAddr;

/// The traces that the population stands in for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Traces {
    /// Data centers: clients and servers are told apart.
    DataCenter,
    /// A backbone link, whose two directions cannot be paired.
    Backbone,
}

impl Traces {
    /// The name in titles.
    pub const fn name(self) -> &'static str {
        match self {
            Self::DataCenter => "data center",
            Self::Backbone => "backbone",
        }
    }

    /// The name of its fit.
    pub const fn fit(self) -> &'static str {
        match self {
            Self::DataCenter => "slp-data-center",
            Self::Backbone => "slp-backbone",
        }
    }
}

/// The population and what its captures show.
#[derive(Clone, Debug)]
pub struct Studied {
    /// The paper's traces that it replaces.
    pub traces: Traces,
    /// Flows simulated.
    pub flows: u64,
    /// The seed of everything random.
    pub seed: u64,
    /// The paper's analysis.
    pub report: Report,
    /// All retransmissions.
    pub samples: Vec<Sample>,
    /// Retransmissions that the senders sent.
    pub sent_again: u64,
    /// Retransmissions that a capture at the receivers shows by their numbers.
    pub seen_far: u64,
    /// The flows with SYN loss, in order.
    pub reruns: Vec<RerunFlow>,
}

/// A flow with SYN loss. Times last from its first SYN to the last packet with data or FIN, in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RerunFlow {
    /// Its number in the population.
    pub flow: u64,
    /// Without SLP.
    pub without_s: f64,
    /// With SLP, as the paper computes it.
    pub computed_s: f64,
    /// Run again with duplicated SYNs; `None` if nothing was exchanged.
    pub rerun_s: Option<f64>,
}

/// The number of the flow of a retransmission: its client has an address of its own.
pub fn flow_of(sample: &Sample) -> u64 {
    let client = match sample.direction {
        Up => sample.endpoints.src,
        Down => sample.endpoints.dst,
    };
    match client.ip() {
        IpAddr::V4(ip) => u64::from(u32::from(ip) & 0xff_ffff),
        IpAddr::V6(_) => 0,
    }
}

/// Simulates, captures and studies so many flows. The last study is kept, because several figures show it.
///
/// # Errors
/// If a path cannot be built. Those of these populations can.
pub fn study(setup: &Setup, traces: Traces, flows: u64) -> Result<Arc<Studied>> {
    static LAST: Last<Studied> = Last::new();
    LAST.or_make(setup, &format!("{traces:?} {flows}"), || study_anew(setup, traces, flows))
}

fn study_anew(setup: &Setup, traces: Traces, flows: u64) -> Result<Studied> {
    let sender = setup.profile(SENDER);
    let population = world::population(traces, &setup.fitted(traces.fit()), flows, setup.seed());
    // Data centers have no table of lost SYNs.
    let reruns = (traces == Traces::Backbone).then_some(!setup.is_mutated("no-duplicate"));
    let Part { mut capture, far, reruns, sent_again, .. } = all(&population, &sender, reruns)?;
    let seen_far = far.len() as u64;
    if setup.is_mutated("far-end") {
        capture.samples = far;
    }
    if setup.is_mutated("dealt") {
        deal(&mut capture.samples, setup.seed());
    }
    if traces == Traces::Backbone {
        // As if only one direction of each connection had been captured.
        capture.one_way = capture.connections;
    }
    let report = Report::new(&capture);
    Ok(Studied { traces, flows, seed: setup.seed(), report, samples: capture.samples, sent_again, seen_far, reruns })
}

/// Deals the triggers and the intervals to the retransmissions at random, so that no packet is special.
fn deal(samples: &mut [Sample], seed: u64) {
    let order = |purpose| {
        let draws = |n: usize| Draws::new(seed, u64::from_le_bytes(*b"shuffled"), n as u64).uniform(purpose, 0);
        let mut order: Vec<usize> = (0..samples.len()).collect();
        order.sort_by(|a, b| draws(*a).total_cmp(&draws(*b)));
        order
    };
    let triggers: Vec<_> = order(0).iter().map(|from| samples[*from].trigger).collect();
    let intervals: Vec<_> = order(1).iter().map(|from| samples[*from].interval).collect();
    for (sample, (trigger, interval)) in samples.iter_mut().zip(triggers.into_iter().zip(intervals)) {
        (sample.trigger, sample.interval) = (trigger, interval);
    }
}

/// What captures at the senders show.
#[derive(Default)]
pub struct Part {
    /// The retransmissions, each captured at its sender.
    pub capture: Capture,
    far: Vec<Sample>,
    reruns: Vec<RerunFlow>,
    sent_again: u64,
    /// Packets with payload, SYN or FIN.
    pub numbered: u64,
    /// Flows with more than 200 packets with payload, SYN or FIN in a direction.
    pub long: u64,
}

/// Simulates, captures and studies all flows. `reruns`: run those with SYN loss again, with duplicated SYNs or without.
///
/// # Errors
/// If a path cannot be built.
pub fn all(population: &Population, sender: &Profile, reruns: Option<bool>) -> Result<Part> {
    let parts = usize::try_from(population.flows.div_ceil(FLOWS_PER_CAPTURE)).unwrap_or(usize::MAX);
    let parts = in_parallel(parts, cores(), |i| {
        let first = i as u64 * FLOWS_PER_CAPTURE;
        let flows = first..(first + FLOWS_PER_CAPTURE).min(population.flows);
        part(population, sender, flows, reruns)
    })?;
    Ok(parts.into_iter().fold(Part::default(), |mut all, one| {
        all.capture.merge(one.capture);
        all.far.extend(one.far);
        all.reruns.extend(one.reruns);
        all.sent_again += one.sent_again;
        all.numbered += one.numbered;
        all.long += one.long;
        all
    }))
}

/// A connection with more packets than this in a direction is long (§II-B3).
const LONG: u64 = 200;

/// How many packets with payload, SYN or FIN were sent, and how many flows sent many of them in a direction.
fn numbered(captures: &EndCaptures) -> (u64, u64) {
    let mut counts: BTreeMap<(IpAddr, IpAddr), u64> = BTreeMap::new();
    for packets in [&captures.at_clients, &captures.at_servers] {
        let sent = packets.iter().filter(|one| one.outgoing == Some(true) && one.segment.sequence_len() > 0);
        for packet in sent {
            *counts.entry((packet.endpoints.src.ip(), packet.endpoints.dst.ip())).or_default() += 1;
        }
    }
    let long = counts.iter().filter(|(_, count)| **count > LONG);
    // Of a flow with two long directions only one counts.
    let once = long.filter(|((src, dst), _)| src < dst || counts.get(&(*dst, *src)).is_none_or(|other| *other <= LONG));
    (counts.values().sum(), once.count() as u64)
}

fn part(population: &Population, sender: &Profile, flows: Range<u64>, reruns: Option<bool>) -> Result<Part> {
    let settings = Settings { profile: Some(sender.clone()), threads: 0, ..Settings::default() };
    let captures = population.capture_both_ends(sender, flows.clone())?;
    let mut capture = study_packets(&captures.at_clients, &settings);
    let at_servers = study_packets(&captures.at_servers, &settings);
    let sent = |capture: &Capture, direction: Direction| {
        capture.samples.iter().filter(|sample| sample.direction == direction).copied().collect::<Vec<_>>()
    };
    let (up, down) = (Up, Down);
    let far = [sent(&at_servers, up), sent(&capture, down)].concat();
    capture.samples = [sent(&capture, up), sent(&at_servers, down)].concat();
    let [_, packets_down] = at_servers.packets;
    capture.packets[down as usize] = packets_down;
    capture.unseen = 0;
    let mut again = vec![];
    if let Some(duplicate) = reruns {
        for loss in &capture.syn_losses {
            again.extend(rerun(population, sender, flows.start, loss, duplicate)?);
        }
    }
    let (numbered, long) = numbered(&captures);
    Ok(Part { capture, far, reruns: again, sent_again: captures.retransmissions, numbered, long })
}

/// Runs a flow with SYN loss again. Connections have the order of their flows, because each flow begins
/// after the one before.
fn rerun(
    population: &Population,
    sender: &Profile,
    first: u64,
    loss: &SynLoss,
    duplicate: bool,
) -> Result<Option<RerunFlow>> {
    let Some(without) = loss.completion else {
        return Ok(None);
    };
    let number = first + loss.connection;
    let mut bench = population.bench(number, |flow| flow.spec(sender))?;
    let mut rules = SlpRules::PAPER;
    rules.likelihoods = Likelihoods::default().with(Kind::Syn, Ppm::ONE);
    bench.spec.client.mechanisms.slp = duplicate.then_some(rules);
    let mut log = Log::new(&bench.spec);
    log.record = population.observe(&mut bench, number, &mut log);
    // The packets that pass the client.
    let mut packets = log.packets().filter(|seen| match seen.direction {
        Up => seen.point == Point::Sent,
        Down => seen.point == Point::Arrived,
    });
    let begun = packets.clone().next().map(|seen| seen.at);
    let has_data = |seen: &&Seen| seen.segment.payload_len > 0 || seen.segment.flags.contains(Flags::FIN);
    let ended = begun.zip(packets.rfind(has_data).map(|seen| seen.at));
    Ok(Some(RerunFlow {
        flow: number,
        without_s: without.as_secs_f64(),
        computed_s: without.saturating_sub(loss.wait).as_secs_f64(),
        rerun_s: ended.map(|(begun, end)| end.since(begun).as_secs_f64()),
    }))
}
