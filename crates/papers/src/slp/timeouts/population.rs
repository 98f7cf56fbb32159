//! The populations, captured at both ends, studied, and their flows with SYN loss run again.

use super::SENDER;
use crate::last::Last;
use crate::population::{FLOWS_PER_CAPTURE, LogNormal, Networks, Population, Receivers, Traffic};
use crate::prelude::*;
use Direction::{Down, Up};
use recoup_captures::study::slp::{Capture, Report, Sample, SynLoss, study_packets};
use recoup_recovery::slp::{Kind, Likelihoods, SlpRules};
use recoup_trace::analyze::Settings;
use recoup_units::Ppm;
use std::net::IpAddr;

/// Paths of a backbone: no link pauses, and both directions lose packets alike. The paper measured a mean
/// loss rate of 2 % in the CAIDA captures (§II-C1), and so the mean is 2 % here. The other numbers are our
/// choice.
const NETWORKS: Networks = Networks {
    rtt: LogNormal { median: 60.0, sigma: 0.7, least: 5.0, most: 500.0 },
    rate: LogNormal { median: 20.0, sigma: 1.0, least: 1.0, most: 1000.0 },
    queue: LogNormal { median: 100.0, sigma: 0.7, least: 20.0, most: 1000.0 },
    loss: LogNormal { median: 0.015, sigma: 0.8, least: 0.001, most: 0.1 },
    ack_loss: 1.0,
    pausing: 0.0,
    ..Networks::WIDE_AREA
};

/// Paths within a data center: below a millisecond, fast, and without reordering. As many packets are lost as on the
/// backbone, mostly in bursts: how likely a loss causes a timeout hardly depends on how many there are, and rare losses
/// would need more flows. All numbers are our choice.
const DATA_CENTER: Networks = Networks {
    rtt: LogNormal { median: 0.4, sigma: 0.6, least: 0.1, most: 5.0 },
    rate: LogNormal { median: 1000.0, sigma: 0.5, least: 100.0, most: 10_000.0 },
    queue: LogNormal { median: 1.0, sigma: 0.5, least: 0.1, most: 10.0 },
    bursty: 0.8,
    reordering: 0.0,
    ..NETWORKS
};

/// Short exchanges one soon after the other, in which clients send data too.
const DATA_CENTER_TRAFFIC: Traffic = Traffic {
    exchanges: 3.0,
    request: LogNormal { median: 2000.0, ..TRAFFIC.response },
    response: LogNormal { median: 4000.0, ..TRAFFIC.response },
    think_time: LogNormal { median: 10.0, sigma: 1.2, least: 1.0, most: 1000.0 },
};

/// Requests and responses of the web: few connections have more than 200 packets (§II-B3).
const TRAFFIC: Traffic = Traffic {
    exchanges: 2.0,
    request: Traffic::SHORT_REQUEST,
    response: LogNormal { median: 12_000.0, sigma: 1.5, least: 200.0, most: 2_000_000.0 },
    think_time: LogNormal { median: 500.0, sigma: 1.2, least: 10.0, most: 20_000.0 },
};

/// Hosts of the 2010s, most of which offer SACK.
const RECEIVERS: Receivers = Receivers { sack: 0.95, timestamps: 0.5, delayed_acks: 0.8, buffer: 1 << 20 };

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

    fn population(self, flows: u64, seed: u64) -> Population {
        let (networks, traffic) = match self {
            Self::DataCenter => (DATA_CENTER, DATA_CENTER_TRAFFIC),
            Self::Backbone => (NETWORKS, TRAFFIC),
        };
        Population { flows, seed, networks, traffic, receivers: RECEIVERS, users: None }
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
    let population = traces.population(flows, setup.seed());
    let parts = usize::try_from(flows.div_ceil(FLOWS_PER_CAPTURE)).unwrap_or(usize::MAX);
    // Data centers have no table of lost SYNs.
    let reruns = (traces == Traces::Backbone).then_some(!setup.is_mutated("no-duplicate"));
    let parts = in_parallel(parts, cores(), |i| {
        let first = i as u64 * FLOWS_PER_CAPTURE;
        let flows = first..(first + FLOWS_PER_CAPTURE).min(population.flows);
        part(&population, &sender, flows, reruns)
    })?;
    let Part { mut capture, far, reruns, sent_again } = parts.into_iter().fold(Part::default(), |mut all, one| {
        all.capture.merge(one.capture);
        all.far.extend(one.far);
        all.reruns.extend(one.reruns);
        all.sent_again += one.sent_again;
        all
    });
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

/// Deals the triggers to the retransmissions at random, so that no packet is special.
fn deal(samples: &mut [Sample], seed: u64) {
    let draw = |n: usize| Draws::new(seed, u64::from_le_bytes(*b"shuffled"), n as u64).uniform(0, 0);
    let mut order: Vec<usize> = (0..samples.len()).collect();
    order.sort_by(|a, b| draw(*a).total_cmp(&draw(*b)));
    let dealt: Vec<_> = order.iter().map(|from| samples[*from].trigger).collect();
    for (sample, trigger) in samples.iter_mut().zip(dealt) {
        sample.trigger = trigger;
    }
}

/// The results of one capture.
#[derive(Default)]
struct Part {
    capture: Capture,
    far: Vec<Sample>,
    reruns: Vec<RerunFlow>,
    sent_again: u64,
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
    Ok(Part { capture, far, reruns: again, sent_again: captures.retransmissions })
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
    let log = bench.run(number);
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
