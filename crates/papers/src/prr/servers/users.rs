//! The users of a data center: their access links, their clients, and what their servers write.
//!
//! Each user has one persistent connection over an access link of his own. Every draw is a function of (seed, user,
//! purpose), so user n meets the same network and requests the same responses from every arm.

use crate::population::{Exchange, exchanges, losses, millis, probability, write};
use crate::prelude::*;
use recoup_path::{HopSpec, LossKind, LossSpec, Outages, Queue};
use recoup_recovery::detect::EarlyRetransmit;
use recoup_recovery::profile::ReductionBase;
use recoup_sim::TimerModel;
use recoup_sim::world::Topology;
use recoup_tcp::Config;
use recoup_tcp::flow::{Script, Workload};
use recoup_units::BitRate;

/// "prrusers" in ASCII: keeps these draws apart from all others of the same seed.
const DOMAIN: u64 = u64::from_le_bytes(*b"prrusers");

/// The bytes of a request.
const REQUEST: u64 = 500;

/// The fewest packets that a queue holds.
const SMALLEST_QUEUE: u32 = 1;

/// Segments with fewer bytes are short, also with timestamps.
const FULL_SEGMENT: u32 = 1430 - 12;

/// How far the last segment of a response may overtake others: those sent with it.
const AHEAD: Duration = Duration::from_millis(1);

/// How the users of a data center differ. Shares range from 0 to 1.
#[derive(Clone, Debug, PartialEq)]
pub struct Users {
    /// The round-trip propagation delay, in ms.
    pub rtt: LogNormal,
    /// The rate towards the user, in Mbit/s.
    pub rate: LogNormal,
    /// The packets that wait at most for the link.
    pub queue: LogNormal,
    /// The share of the packets to the user that the channel loses, outages apart.
    pub loss: LogNormal,
    /// When the link to the user loses all packets.
    pub outages: Option<Outages>,
    /// The share of the packets from the user that are lost, divided by `loss`.
    pub ack_loss: f64,
    /// The share of the short last segments of responses that overtake the segments sent with them (footnote 5).
    pub overtaking: f64,
    /// The share of the users who offer SACK.
    pub sack: f64,
    /// The share of the users who offer timestamps.
    pub timestamps: f64,
    /// The server's writes.
    pub service: Service,
}

/// The writes of a connection's server.
#[derive(Clone, Debug, PartialEq)]
pub enum Service {
    /// Responses to requests, one at a time.
    Web {
        /// The mean number of requests on a connection (geometrically distributed); at least 1.
        requests: f64,
        /// The share of the connections whose responses all fit into one segment.
        tiny: f64,
        /// The bytes of their responses.
        tiny_response: LogNormal,
        /// The bytes of the other connections' responses.
        response: LogNormal,
        /// The time from a response to the next request, in ms.
        think_time: LogNormal,
    },
    /// A video: a burst, then blocks at the encoding rate.
    Video {
        /// The bytes of the video.
        size: LogNormal,
        /// The encoding rate, in kbit/s.
        encoding: LogNormal,
        /// How many seconds of the video are written at once.
        burst: f64,
        /// The bytes of a block.
        block: u64,
    },
}

/// The purposes of draws.
#[derive(Clone, Copy)]
enum Purpose {
    Rtt,
    Rate,
    Queue,
    Loss,
    Sack,
    Timestamps,
    Requests,
    Tiny,
    Response,
    ThinkTime,
    VideoSize,
    Encoding,
}

/// One user.
#[derive(Clone, Debug, PartialEq)]
pub struct User {
    /// The network.
    pub network: UserNetwork,
    /// The writes of both applications.
    pub workload: Workload,
    /// Whether the client offers SACK.
    pub sack: bool,
    /// Whether the client offers timestamps.
    pub timestamps: bool,
}

/// The hops between a user and the server.
#[derive(Clone, Debug, PartialEq)]
pub struct UserNetwork {
    /// From the server to the bottleneck.
    pub before: Vec<HopSpec>,
    /// The bottleneck, with the outages of its link.
    pub bottleneck: Vec<HopSpec>,
    /// From the bottleneck to the user.
    pub after: Vec<HopSpec>,
    /// From the user to the server.
    pub up: Vec<HopSpec>,
}

impl UserNetwork {
    /// A route from the user to the server and back that nobody else uses.
    pub fn topology(&self) -> Topology {
        let mut topology = Topology::default();
        let up = topology.add_link("up", self.up.clone());
        let down = topology.add_link("down", [&self.before[..], &self.bottleneck, &self.after].concat());
        topology.add_route(&[up], &[down]);
        topology
    }
}

impl Users {
    /// User number `number`, from 0.
    pub fn user(&self, seed: u64, number: u64) -> User {
        let draws = Draws::new(seed, DOMAIN, number);
        User {
            network: self.network(&draws),
            workload: self.workload(&draws),
            sack: draws.happens(self.sack, Purpose::Sack as u64),
            timestamps: draws.happens(self.timestamps, Purpose::Timestamps as u64),
        }
    }

    fn network(&self, draws: &Draws) -> UserNetwork {
        let draw = |of: &LogNormal, purpose: Purpose| draws.lognormal(of, purpose as u64, 0);
        let half = HopSpec::Delay(millis(draw(&self.rtt, Purpose::Rtt) / 2.0));
        let loss = draw(&self.loss, Purpose::Loss);
        let rate = draw(&self.rate, Purpose::Rate);
        let queue = Queue::Packets((draw(&self.queue, Purpose::Queue) as u32).max(SMALLEST_QUEUE));
        let outages = self.outages.map(LossKind::Outages);
        let rate = BitRate::from_bits_per_second((rate * 1e6) as u64).map(|rate| HopSpec::Rate { rate, queue });
        let shortcut =
            HopSpec::Shortcut { probability: probability(self.overtaking), ahead: AHEAD, below: FULL_SEGMENT };
        UserNetwork {
            before: vec![shortcut, losses(loss, None)],
            bottleneck: outages
                .map(|kind| HopSpec::Loss(LossSpec { kind, transmission: None }))
                .into_iter()
                .chain(rate)
                .collect(),
            after: vec![half.clone()],
            up: vec![losses(loss * self.ack_loss, None), half],
        }
    }

    fn workload(&self, draws: &Draws) -> Workload {
        match &self.service {
            Service::Web { requests, tiny, tiny_response, response, think_time } => {
                let is_tiny = draws.happens(*tiny, Purpose::Tiny as u64);
                web(draws, *requests, if is_tiny { tiny_response } else { response }, think_time)
            }
            Service::Video { size, encoding, burst, block } => {
                let size = draws.lognormal(size, Purpose::VideoSize as u64, 0) as u64;
                let encoding = draws.lognormal(encoding, Purpose::Encoding as u64, 0);
                video(size, encoding, *burst, *block)
            }
        }
    }
}

/// A client that thinks after each response, and a server that answers at once.
fn web(draws: &Draws, requests: f64, response: &LogNormal, think_time: &LogNormal) -> Workload {
    exchanges(|n| Exchange {
        think_ms: draws.lognormal(think_time, Purpose::ThinkTime as u64, n),
        request: REQUEST,
        response: draws.lognormal(response, Purpose::Response as u64, n) as u64,
        // A geometric number: each request is followed by another one with the probability 1 − 1/mean.
        is_last: draws.uniform(Purpose::Requests as u64, n) >= 1.0 - 1.0 / requests,
    })
}

/// A server that writes the first `burst` seconds of a video at once, then blocks at the encoding rate in kbit/s.
fn video(size: u64, encoding: f64, burst: f64, block: u64) -> Workload {
    let first = ((encoding * 125.0 * burst) as u64).min(size);
    let interval = millis(block as f64 / encoding * 8.0);
    let mut server = vec![write(REQUEST, Duration::ZERO, first)];
    let mut written = first;
    while written < size {
        let bytes = block.min(size - written);
        server.push(write(REQUEST, interval, bytes));
        written += bytes;
    }
    Workload { client: Script::of(&[write(0, Duration::ZERO, REQUEST)]), server: Script::of(&server) }
}

/// The hosts of an arm, before the user's own options.
#[derive(Clone, Debug)]
pub struct Hosts {
    client: Config,
    server: Config,
    timers: TimerModel,
}

impl Hosts {
    /// Servers with these mechanisms; clients are the same in all arms.
    pub fn new(settings: &Settings, client: &Profile, server: &Profile) -> Self {
        let (client, server) = (settings.flow(client), settings.flow(server));
        Self { client: client.client, server: server.server, timers: client.timers }
    }

    /// The server's ssthresh after a loss follows from the flight size.
    pub const fn reduce_from_flight(&mut self) {
        self.server.mechanisms.reduction_base = ReductionBase::FlightSize;
    }

    /// Gives the server another early retransmit.
    pub const fn set_early_retransmit(&mut self, form: EarlyRetransmit) {
        self.server.mechanisms.early_retransmit = form;
    }

    /// The connection of a user.
    pub fn spec(&self, user: &User) -> FlowSpec {
        let less = if user.timestamps { Config::TIMESTAMPS_LEN } else { 0 };
        let host = |config: Config| Config { mss: config.mss - less, timestamps: user.timestamps, ..config };
        FlowSpec {
            client: Config { sack: user.sack, dsack: user.sack, ..host(self.client) },
            server: host(self.server),
            timers: self.timers,
            workload: user.workload.clone(),
        }
    }
}
