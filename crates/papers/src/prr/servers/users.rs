//! The users of a data center: their access links, their clients, and what their servers write.
//!
//! Each user has one persistent connection over an access link of his own. Every draw is a function of (seed, user,
//! purpose), so user n meets the same network and requests the same responses from every arm.

use crate::population::{Exchange, exchanges, losses, millis, probability, write};
use crate::prelude::*;
use recoup_path::{HopSpec, Queue};
use recoup_recovery::detect::EarlyRetransmit;
use recoup_sim::TimerModel;
use recoup_sim::world::Topology;
use recoup_tcp::Config;
use recoup_tcp::flow::{Script, Workload};
use recoup_units::BitRate;

/// "prrusers" in ASCII: keeps these draws apart from all others of the same seed.
const DOMAIN: u64 = u64::from_le_bytes(*b"prrusers");

/// The bytes of a request.
const REQUEST: u64 = 500;

/// The IP bytes of a full packet.
const PACKET: f64 = 1500.0;

/// The fewest packets that a queue holds.
const SMALLEST_QUEUE: u32 = 5;

/// How the users of a data center differ. Shares range from 0 to 1.
#[derive(Clone, Debug, PartialEq)]
pub struct Users {
    /// The round-trip propagation delay, in ms.
    pub rtt: LogNormal,
    /// The rate towards the user, in Mbit/s.
    pub rate: LogNormal,
    /// How long the link takes to send a full queue, in ms.
    pub queue: LogNormal,
    /// The share of the packets to the user that the channel loses.
    pub loss: LogNormal,
    /// The mean length of a burst of losses, in packets; at least 1.
    pub burst: f64,
    /// The share of the packets from the user that are lost, divided by `loss`.
    pub ack_loss: f64,
    /// The share of the packets to the user that are delayed, so that later ones overtake them.
    pub reordered: f64,
    /// How long these packets are delayed, in ms.
    pub reordering_delay: LogNormal,
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
        /// The bytes of a response.
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
    ReorderingDelay,
    Sack,
    Timestamps,
    Requests,
    Response,
    ThinkTime,
    VideoSize,
    Encoding,
}

/// One user.
#[derive(Clone, Debug, PartialEq)]
pub struct User {
    /// The access link: a route from the client to the server and back.
    pub topology: Topology,
    /// The writes of both applications.
    pub workload: Workload,
    /// Whether the client offers SACK.
    pub sack: bool,
    /// Whether the client offers timestamps.
    pub timestamps: bool,
}

impl Users {
    /// User number `number`, from 0.
    pub fn user(&self, seed: u64, number: u64) -> User {
        let draws = Draws::new(seed, DOMAIN, number);
        User {
            topology: self.topology(&draws),
            workload: self.workload(&draws),
            sack: draws.happens(self.sack, Purpose::Sack as u64),
            timestamps: draws.happens(self.timestamps, Purpose::Timestamps as u64),
        }
    }

    fn topology(&self, draws: &Draws) -> Topology {
        let draw = |of: &LogNormal, purpose: Purpose| draws.lognormal(of, purpose as u64, 0);
        let half = HopSpec::Delay(millis(draw(&self.rtt, Purpose::Rtt) / 2.0));
        let loss = draw(&self.loss, Purpose::Loss);
        let rate = draw(&self.rate, Purpose::Rate);
        let full = draw(&self.queue, Purpose::Queue);
        let mut down = vec![losses(loss, Some(self.burst))];
        if let Some(bits) = BitRate::from_bits_per_second((rate * 1e6) as u64) {
            // One Mbit/s sends 125 bytes per ms.
            let packets = (full * rate * 125.0 / PACKET) as u32;
            down.push(HopSpec::Rate { rate: bits, queue: Queue::Packets(packets.max(SMALLEST_QUEUE)) });
        }
        down.push(half.clone());
        down.push(HopSpec::Reorder {
            probability: probability(self.reordered),
            extra: millis(draw(&self.reordering_delay, Purpose::ReorderingDelay)),
        });
        let up = vec![losses(loss * self.ack_loss, None), half];
        let mut topology = Topology::default();
        let up = topology.add_link("up", up);
        let down = topology.add_link("down", down);
        topology.add_route(&[up], &[down]);
        topology
    }

    fn workload(&self, draws: &Draws) -> Workload {
        match &self.service {
            Service::Web { requests, response, think_time } => web(draws, *requests, response, think_time),
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
