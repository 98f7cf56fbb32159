//! Families of random paths, applications and clients. All numbers are our choice (docs/finding.md).

use crate::population::{Networks, Population, Receivers, Traffic};
use crate::prelude::*;
use recoup_tcp::AckPolicy;

choices! {
    /// A family of paths.
    pub enum Family {
        /// Clients of a nearby server, by cable.
        Near = "near",
        /// Clients on other continents.
        Far = "far",
        /// Clients of mobile networks, whose links pause.
        Mobile = "mobile",
        /// Clients behind a geostationary satellite.
        Satellite = "satellite",
        /// Clients that lose many packets.
        Lossy = "lossy",
    }
}

impl Family {
    /// The families of the search. The judgement has all.
    pub const SEARCH: [Self; 3] = [Self::Near, Self::Far, Self::Mobile];

    /// This many flows of the family.
    pub fn population(self, flows: u64, seed: u64) -> Population {
        let log_normal = |median: f64, sigma: f64| LogNormal {
            median,
            sigma,
            least: median * (-3.0 * sigma).exp(),
            most: median * (3.0 * sigma).exp(),
        };
        let (rtt, rate, queue, loss, reordering) = match self {
            Self::Near => (log_normal(12.0, 0.6), log_normal(50.0, 1.0), log_normal(40.0, 0.7), (0.005, 1.0), 0.15),
            Self::Far => (log_normal(80.0, 0.7), log_normal(20.0, 1.0), log_normal(100.0, 0.7), (0.01, 1.0), 0.15),
            Self::Mobile => (log_normal(60.0, 0.6), log_normal(8.0, 0.8), log_normal(300.0, 0.7), (0.005, 1.0), 0.3),
            Self::Satellite => {
                (log_normal(600.0, 0.1), log_normal(20.0, 0.5), log_normal(300.0, 0.5), (0.01, 1.0), 0.05)
            }
            Self::Lossy => (log_normal(40.0, 0.8), log_normal(20.0, 1.0), log_normal(100.0, 0.7), (0.04, 0.5), 0.15),
        };
        let delay = if self == Self::Near { 2.0 } else { 8.0 };
        let pauses = self == Self::Mobile;
        let networks = Networks {
            rtt,
            rate,
            queue,
            loss: LogNormal { most: 0.3, ..log_normal(loss.0, loss.1) },
            reordering,
            reordering_delay: LogNormal { sigma: 0.8, ..log_normal(delay, 0.8) },
            pausing: if pauses { 1.0 } else { 0.0 },
            pause_interval: 4000.0,
            pause: log_normal(150.0, 0.8),
            pausing_rate: f64::INFINITY,
            ..Networks::WIDE_AREA
        };
        let traffic = Traffic {
            exchanges: 3.0,
            request: log_normal(500.0, 0.5),
            response: LogNormal { median: 8000.0, sigma: 1.6, least: 100.0, most: 1e6 },
            think_time: log_normal(300.0, 1.2),
        };
        let receivers = Receivers { sack: 0.95, timestamps: 0.7, delayed_acks: 0.9, buffer: 1 << 20 };
        Population { flows, seed, networks, traffic, receivers, users: None }
    }
}

/// The population over paths that lose and reorder nothing, with queues that take everything.
pub fn ideal(mut population: Population) -> Population {
    let none = LogNormal { median: 0.0, sigma: 0.0, least: 0.0, most: 0.0 };
    population.networks.loss = none;
    population.networks.reordering = 0.0;
    population.networks.queue = LogNormal { median: 1e6, sigma: 0.0, least: 1e6, most: 1e6 };
    population
}

/// When a client acknowledges: 60 % as Linux, 20 % within 40 ms, 10 % within 200 ms, 10 % at once.
pub fn acks(seed: u64, number: u64) -> AckPolicy {
    // "acks" in ASCII.
    match Draws::new(seed, 0x6163_6b73, number).uniform(0, 0) {
        draw if draw < 0.6 => AckPolicy::Linux { quick: AckPolicy::LINUX_QUICK },
        draw if draw < 0.8 => AckPolicy::Delayed(AckPolicy::LINUX_DELAY),
        draw if draw < 0.9 => AckPolicy::Delayed(Duration::from_millis(200)),
        _ => AckPolicy::Quick,
    }
}
