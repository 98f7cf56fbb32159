//! How the flows of a population differ, and one flow of it.

use super::Population;
use super::draw::{Draws, Purpose};
use crate::prelude::*;
use recoup_path::{GilbertElliott, HopSpec, LinkTrace, LossKind, LossSpec, Outages, PathSpec, Probability, Queue};
use recoup_sim::TimerModel;
use recoup_tcp::flow::{Script, When, Workload, Write};
use recoup_tcp::{AckPolicy, Config};
use recoup_units::BitRate;

/// The length of a full packet in bytes.
const PACKET: f64 = 1500.0;

/// How long the pauses of a path are drawn for, in ms; then they repeat.
const PAUSES_REPEAT: f64 = 60_000.0;

/// How paths differ. Shares and probabilities range from 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Networks {
    /// The round-trip propagation delay, in ms.
    pub rtt: LogNormal,
    /// The rate of the bottleneck towards the client, in Mbit/s.
    pub rate: LogNormal,
    /// How long the bottleneck takes to send a full queue, in ms. The queue holds at least 8 packets.
    pub queue: LogNormal,
    /// The share of the packets that the path loses on the way to the client.
    pub loss: LogNormal,
    /// The share of ACKs that the path loses, divided by `loss`.
    pub ack_loss: f64,
    /// The share of the paths that lose packets in bursts (Gilbert's channel).
    pub bursty: f64,
    /// The mean length of a burst, in packets; at least 1.
    pub burst: f64,
    /// The share of the paths that reorder packets.
    pub reordering: f64,
    /// The share of the packets that such a path delays, so that later ones overtake them.
    pub reordered: f64,
    /// How long it delays them, in ms.
    pub reordering_delay: LogNormal,
    /// The share of the paths that pause: nothing is lost, but nothing arrives either.
    pub pausing: f64,
    /// The mean time between two pauses of such a path, in ms.
    pub pause_interval: f64,
    /// The length of a pause, in ms.
    pub pause: LogNormal,
    /// The largest rate of a path that pauses, in Mbit/s.
    pub pausing_rate: f64,
    /// When a path loses all packets for a time, in each direction. `None`: never.
    pub outages: Option<Outages>,
}

impl Networks {
    /// Wide area paths of the early 2000s. The numbers are our choice: no study gives the distributions of
    /// its paths.
    pub const WIDE_AREA: Self = Self {
        rtt: LogNormal { median: 60.0, sigma: 0.8, least: 5.0, most: 1000.0 },
        rate: LogNormal { median: 4.0, sigma: 1.2, least: 0.128, most: 50.0 },
        queue: LogNormal { median: 150.0, sigma: 0.7, least: 20.0, most: 1000.0 },
        loss: LogNormal { median: 0.01, sigma: 1.0, least: 0.0005, most: 0.15 },
        ack_loss: 0.5,
        bursty: 0.5,
        burst: 1.7,
        reordering: 0.15,
        reordered: 0.01,
        reordering_delay: LogNormal { median: 8.0, sigma: 0.8, least: 1.0, most: 200.0 },
        pausing: 0.3,
        pause_interval: 8000.0,
        pause: LogNormal { median: 400.0, sigma: 0.9, least: 20.0, most: 10_000.0 },
        pausing_rate: 5.0,
        outages: None,
    };
}

/// The applications' writes: requests and responses.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Traffic {
    /// The mean number of requests on a connection (geometrically distributed); at least 1.
    pub exchanges: f64,
    /// The bytes of a request.
    pub request: LogNormal,
    /// The bytes of a response.
    pub response: LogNormal,
    /// The time from a response to the next request, in ms.
    pub think_time: LogNormal,
}

impl Traffic {
    /// Requests of 300 bytes.
    pub const SHORT_REQUEST: LogNormal = LogNormal { median: 300.0, sigma: 0.0, least: 300.0, most: 300.0 };

    /// Web pages on persistent connections. The numbers are our choice.
    pub const WEB: Self = Self {
        exchanges: 2.0,
        request: Self::SHORT_REQUEST,
        response: LogNormal { median: 8_000.0, sigma: 1.4, least: 200.0, most: 1_000_000.0 },
        think_time: LogNormal { median: 500.0, sigma: 1.2, least: 10.0, most: 20_000.0 },
    };
}

/// How receivers differ: shares from 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Receivers {
    /// The share that offers SACK, and then reports duplicates (DSACK). SACK is used if the sender permits it.
    pub sack: f64,
    /// The share that offers timestamps.
    pub timestamps: f64,
    /// The share that delays ACKs by up to 200 ms; the others acknowledge every segment.
    pub delayed_acks: f64,
    /// The size of the receive buffer in bytes, which limits the flight.
    pub buffer: u64,
}

impl Receivers {
    /// A mix of hosts of the early 2000s. The numbers are our choice.
    pub const MIXED: Self = Self { sack: 0.5, timestamps: 0.7, delayed_acks: 0.8, buffer: 32 << 10 };
}

/// One flow of a population.
#[derive(Clone, Debug, PartialEq)]
pub struct Flow {
    /// Its path.
    pub path: PathSpec,
    /// The writes of its applications.
    pub workload: Workload,
    /// Whether the client offers SACK.
    pub sack: bool,
    /// Whether the client offers timestamps.
    pub timestamps: bool,
    /// When the client acknowledges.
    pub acks: AckPolicy,
    /// The client's receive buffer in bytes.
    pub receive_buffer: u64,
}

impl Flow {
    pub fn draw(population: &Population, number: u64) -> Self {
        let draws = Draws::new(population.seed, number);
        let receivers = &population.receivers;
        Self {
            path: path(&population.networks, &draws),
            workload: match population.users {
                None => workload(&population.traffic, &draws),
                Some(_) => closing_at_the_end(workload(&population.traffic, &draws)),
            },
            sack: offers_sack(population, number),
            timestamps: draws.happens(receivers.timestamps, Purpose::Timestamps),
            acks: if draws.happens(receivers.delayed_acks, Purpose::DelayedAcks) {
                AckPolicy::Delayed(Duration::from_millis(200))
            } else {
                AckPolicy::Quick
            },
            receive_buffer: receivers.buffer,
        }
    }

    /// The flow with servers of this profile.
    pub fn spec(&self, sender: &Profile) -> FlowSpec {
        self.spec_with(*sender.mechanisms())
    }

    /// The flow with servers of these mechanisms.
    pub fn spec_with(&self, mechanisms: Mechanisms) -> FlowSpec {
        let server = Config { sack: mechanisms.sack, ..Config::new(mechanisms) };
        FlowSpec {
            client: Config {
                acks: self.acks,
                sack: self.sack,
                dsack: self.sack,
                timestamps: self.timestamps,
                receive_buffer: self.receive_buffer,
                ..server
            },
            server,
            timers: TimerModel::Exact,
            workload: self.workload.clone(),
        }
    }
}

/// Whether the client of a flow offers SACK.
pub fn offers_sack(population: &Population, number: u64) -> bool {
    Draws::new(population.seed, number).happens(population.receivers.sack, Purpose::Sack)
}

fn path(networks: &Networks, draws: &Draws) -> PathSpec {
    let rtt = draws.lognormal(&networks.rtt, Purpose::Rtt, 0);
    let loss = draws.lognormal(&networks.loss, Purpose::Loss, 0);
    let propagation = || HopSpec::Delay(millis(rtt / 2.0));
    let burst = draws.happens(networks.bursty, Purpose::Bursts).then_some(networks.burst);
    let mut down = vec![losses(loss, burst), bottleneck(networks, draws), propagation()];
    if draws.happens(networks.reordering, Purpose::Reordering) {
        let extra = draws.lognormal(&networks.reordering_delay, Purpose::ReorderingDelay, 0);
        down.push(HopSpec::Reorder { probability: probability(networks.reordered), extra: millis(extra) });
    }
    let mut up = vec![losses(loss * networks.ack_loss, None), propagation()];
    if let Some(outages) = networks.outages {
        let outages = || HopSpec::Loss(LossSpec { kind: LossKind::Outages(outages), transmission: None });
        up.insert(0, outages());
        down.insert(0, outages());
    }
    PathSpec { up, down }
}

/// A hop that loses this share of the packets: independently, or in bursts of this mean length.
pub fn losses(share: f64, burst: Option<f64>) -> HopSpec {
    let kind = match burst {
        None => LossKind::Bernoulli(probability(share)),
        // The share of time in the bad state is to_bad / (to_bad + to_good).
        Some(burst) => LossKind::GilbertElliott(GilbertElliott::new(
            probability(share / (1.0 - share) / burst),
            probability(1.0 / burst),
        )),
    };
    HopSpec::Loss(LossSpec { kind, transmission: None })
}

/// The bottleneck towards the client: a rate, or a link that pauses.
fn bottleneck(networks: &Networks, draws: &Draws) -> HopSpec {
    let rate = draws.lognormal(&networks.rate, Purpose::Rate, 0);
    let full = draws.lognormal(&networks.queue, Purpose::Queue, 0);
    let pauses = draws.happens(networks.pausing, Purpose::Pauses);
    let rate = if pauses { rate.min(networks.pausing_rate) } else { rate };
    // One Mbit/s sends 125 bytes per ms.
    let packets = (full * rate * 125.0 / PACKET).max(8.0);
    let queue = Queue::Packets(packets as u32);
    let trace = pauses.then(|| link(networks, rate, draws)).flatten();
    match (trace, BitRate::from_bits_per_second((rate * 1e6) as u64)) {
        (Some(trace), _) => HopSpec::Link { trace, queue },
        (None, Some(rate)) => HopSpec::Rate { rate, queue },
        // A rate of 0.
        (None, None) => HopSpec::Delay(Duration::ZERO),
    }
}

/// When a link of `rate` Mbit/s that pauses delivers packets.
fn link(networks: &Networks, rate: f64, draws: &Draws) -> Option<LinkTrace> {
    let interval = PACKET / (rate * 125.0);
    let mut opportunities = vec![];
    let mut now = 0.0;
    for n in 0.. {
        let pause = now + draws.exponential(networks.pause_interval, Purpose::PauseBegin, n);
        while now < pause.min(PAUSES_REPEAT) {
            opportunities.push(now as u64);
            now += interval;
        }
        if pause >= PAUSES_REPEAT {
            break;
        }
        now += draws.lognormal(&networks.pause, Purpose::PauseLength, n);
    }
    opportunities.push(now as u64);
    LinkTrace::from_millis(opportunities).ok()
}

fn workload(traffic: &Traffic, draws: &Draws) -> Workload {
    let exchange = |n| Exchange {
        think_ms: draws.lognormal(&traffic.think_time, Purpose::ThinkTime, n),
        request: draws.lognormal(&traffic.request, Purpose::RequestSize, n) as u64,
        response: draws.lognormal(&traffic.response, Purpose::ResponseSize, n) as u64,
        is_last: draws.uniform(Purpose::Exchanges, n) < 1.0 / traffic.exchanges,
    };
    exchanges(exchange).closing(true)
}

/// The workload whose client closes when it has everything, as a browser does.
fn closing_at_the_end(mut workload: Workload) -> Workload {
    workload.client.close = Some(When { received: workload.server.total(), ..When::default() });
    workload
}

/// A request and its response.
pub struct Exchange {
    /// The time from the response before to the request, in ms.
    pub think_ms: f64,
    /// The bytes of the request.
    pub request: u64,
    /// The bytes of the response.
    pub response: u64,
    /// Whether no other follows.
    pub is_last: bool,
}

/// Exchanges number 0 to the last. Each request but the first waits for the response before it and for the client's
/// think time; the server answers at once.
pub fn exchanges(exchange: impl Fn(u64) -> Exchange) -> Workload {
    let (mut requests, mut responses) = (vec![], vec![]);
    let (mut asked, mut answered) = (0, 0);
    for n in 0.. {
        let Exchange { think_ms, request, response, is_last } = exchange(n);
        let after = if n == 0 { Duration::ZERO } else { millis(think_ms) };
        requests.push(write(answered, after, request));
        asked += request;
        responses.push(write(asked, Duration::ZERO, response));
        answered += response;
        if is_last {
            break;
        }
    }
    Workload { client: Script::of(&requests), server: Script::of(&responses) }
}

/// A write this long after so many bytes have arrived.
pub fn write(received: u64, after: Duration, bytes: u64) -> Write {
    Write { when: When { received, after, ..When::default() }, bytes }
}

pub fn millis(ms: f64) -> Duration {
    Duration::from_nanos((ms * 1e6) as u64)
}

pub fn probability(p: f64) -> Probability {
    Probability::new(p.clamp(0.0, 1.0)).unwrap_or_default()
}
