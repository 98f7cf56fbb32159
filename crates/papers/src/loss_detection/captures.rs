//! Four populations in place of the study's four traces (§III, Table II).
//!
//! | trace | the study | here: RTT, rate, loss (medians) | mean payload of a connection |
//! | --- | --- | --- | --- |
//! | jap | a link from Japan to the United States | 180 ms, 1 Mbit/s, 2 % | 12 kB |
//! | unc | the link of a campus to the Internet | 60 ms, 4 Mbit/s, 1 % | 9 kB |
//! | ibi | the servers of a popular site | 80 ms, 4 Mbit/s, 1 % | 180 kB |
//! | wls | 600 wireless access points of a campus | 40 ms, 2 Mbit/s, 1 %; most paths pause | 5 kB |
//!
//! The mean payload is that of Table II: bytes divided by connections. The rest is our choice: the study gives no RTTs,
//! rates or losses. Shares of lossy connections are larger here than in Table III, which takes connections as they are,
//! because only lossy ones tell something.

use crate::population::{LogNormal, Networks, Population, Receivers, Traffic};

/// A population in place of a trace.
#[derive(Clone, Copy, Debug)]
pub struct Capture {
    /// The study's name of the trace.
    pub trace: &'static str,
    /// Its name in legends.
    pub title: &'static str,
    networks: Networks,
    traffic: Traffic,
}

const fn lognormal(median: f64, sigma: f64, least: f64, most: f64) -> LogNormal {
    LogNormal { median, sigma, least, most }
}

const fn traffic(exchanges: f64, median: f64, sigma: f64) -> Traffic {
    Traffic {
        exchanges,
        request: Traffic::SHORT_REQUEST,
        response: lognormal(median, sigma, 200.0, 5_000_000.0),
        think_time: Traffic::WEB.think_time,
    }
}

/// In the order of Table II.
pub const CAPTURES: [Capture; 4] = [
    Capture {
        trace: "jap",
        title: "jap: trans-Pacific",
        networks: Networks {
            rtt: lognormal(180.0, 0.4, 100.0, 1000.0),
            rate: lognormal(1.0, 1.0, 0.128, 20.0),
            loss: lognormal(0.02, 0.8, 0.0005, 0.15),
            ..Networks::WIDE_AREA
        },
        traffic: traffic(1.5, 2800.0, 1.4),
    },
    Capture { trace: "unc", title: "unc: campus", networks: Networks::WIDE_AREA, traffic: traffic(2.0, 860.0, 1.8) },
    Capture {
        trace: "ibi",
        title: "ibi: web servers",
        networks: Networks { rtt: lognormal(80.0, 0.7, 5.0, 1000.0), ..Networks::WIDE_AREA },
        traffic: traffic(1.3, 19_000.0, 2.0),
    },
    Capture {
        trace: "wls",
        title: "wls: wireless",
        networks: Networks {
            rtt: lognormal(40.0, 0.9, 5.0, 1000.0),
            rate: lognormal(2.0, 0.7, 0.128, 20.0),
            pausing: 0.7,
            pause_interval: 4000.0,
            ..Networks::WIDE_AREA
        },
        traffic: traffic(1.5, 600.0, 1.8),
    },
];

impl Capture {
    /// So many flows of it. The populations have different seeds, so that no flow is in two of them.
    pub fn population(&self, flows: u64, seed: u64) -> Population {
        let place = CAPTURES.iter().position(|one| one.trace == self.trace);
        Population {
            flows,
            seed: seed.wrapping_add(1_000_003 * place.unwrap_or_default() as u64),
            networks: self.networks,
            traffic: self.traffic,
            receivers: Receivers::MIXED,
            users: None,
        }
    }
}
