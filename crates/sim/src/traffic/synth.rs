//! A synthetic mix of connections, as connection vectors.
//!
//! [`QUANTITIES`] says which distributions it has, and where they are from.

use crate::traffic::cvec::{ConnectionVector, DataUnit, Pattern, Wait};
use recoup_path::draws::{Draws, LogNormal};
use recoup_tcp::flow::Host;
use std::time::Duration;

/// What is drawn: the quantity, its distribution, and the source of this choice.
pub const QUANTITIES: [(&str, &str, &str); 9] = [
    (
        "starts",
        "Poisson, at the rate given",
        "Paxson and Floyd, \"Wide Area Traffic: The Failure of Poisson Modeling\", 1995: sessions that users begin are Poisson",
    ),
    (
        "requests of a connection",
        "geometric, mean 3.1",
        "Dukkipati et al., \"Proportional Rate Reduction for TCP\", 2011, section 2: mean of Google's web servers",
    ),
    ("request", "350 bytes", "our choice: a GET without cookies"),
    (
        "response",
        "lognormal, median 4 kB, sigma 1.8",
        "our choice; Barford and Crovella, \"Generating Representative Web Workloads\", 1998, section 3.2, found a lognormal body of the sizes of files",
    ),
    ("time before a further request", "lognormal, median 0.5 s, sigma 1.5, at most 60 s", "our choice"),
    ("round-trip time", "lognormal, median 60 ms, sigma 0.7, from 2 ms to 2 s", "our choice"),
    (
        "long transfers",
        "0.1 % of the connections, one response, lognormal, median 5 MB, sigma 1",
        "our choice: the heavy tail of the sizes of files",
    ),
    ("windows", "64 KiB", "usual when Tmix's traces were taken"),
    ("loss", "none but that of the world's queues", "our choice"),
];

/// The most connections that should be synthesized, on average. Each takes about 500 bytes.
pub const MOST: f64 = 1e6;

/// What to synthesize.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Synth {
    /// The seed of all draws.
    pub seed: u64,
    /// Connections that begin in a second, on average.
    pub rate: f64,
    /// The time in which they begin.
    pub duration: Duration,
}

impl Default for Synth {
    /// Ten minutes in which ten connections begin each second: about 5 Mbit/s.
    fn default() -> Self {
        Self { seed: 1, rate: 10.0, duration: Duration::from_secs(600) }
    }
}

/// What a draw decides.
#[derive(Clone, Copy)]
enum Purpose {
    Arrival,
    Rtt,
    IsLong,
    LongTransfer,
    AnotherRequest,
    Response,
    Think,
}

const REQUEST: u64 = 350;
const WINDOW: u64 = 65_535;
const LONG_SHARE: f64 = 0.001;
const MEAN_REQUESTS: f64 = 3.1;

/// In bytes.
const RESPONSE: LogNormal = LogNormal { median: 4_000.0, sigma: 1.8, least: 50.0, most: 1e9 };

/// In bytes.
const LONG_TRANSFER: LogNormal = LogNormal { median: 5e6, sigma: 1.0, least: 1e5, most: 1e9 };

/// In seconds.
const THINK: LogNormal = LogNormal { median: 0.5, sigma: 1.5, least: 0.001, most: 60.0 };

/// In seconds.
const RTT: LogNormal = LogNormal { median: 0.06, sigma: 0.7, least: 0.002, most: 2.0 };

impl Synth {
    /// The vectors, in the order of their start.
    pub fn vectors(&self) -> Vec<ConnectionVector> {
        // "synth" in ASCII.
        let draws = |connection| Draws::new(self.seed, 0x73_796e_7468, connection);
        let mut vectors = Vec::new();
        let mut start = 0.0;
        // A rate that is no positive number gives no connection.
        for id in (0..).take_while(|_| self.rate > 0.0) {
            let draws = draws(id);
            start += draws.exponential(1.0 / self.rate, Purpose::Arrival as u64, 0);
            if start >= self.duration.as_secs_f64() {
                break;
            }
            vectors.push(vector(&draws, id, Duration::from_secs_f64(start)));
        }
        vectors
    }
}

fn vector(draws: &Draws, id: u64, start: Duration) -> ConnectionVector {
    let lognormal = |of: &LogNormal, purpose: Purpose, n| draws.lognormal(of, purpose as u64, n);
    let is_long = draws.happens(LONG_SHARE, Purpose::IsLong as u64);
    let mut units = Vec::new();
    for request in 0.. {
        let think = match request {
            0 => Duration::ZERO,
            _ => Duration::from_secs_f64(lognormal(&THINK, Purpose::Think, request)),
        };
        let response = match is_long {
            true => lognormal(&LONG_TRANSFER, Purpose::LongTransfer, 0),
            false => lognormal(&RESPONSE, Purpose::Response, request),
        };
        units.push(DataUnit {
            from: Host::Client,
            wait: match request {
                0 => Wait::AfterSending(think),
                _ => Wait::AfterReceiving(think),
            },
            bytes: REQUEST,
        });
        units.push(DataUnit { from: Host::Server, wait: Wait::AfterReceiving(Duration::ZERO), bytes: response as u64 });
        let another = draws.uniform(Purpose::AnotherRequest as u64, request);
        if is_long || another >= 1.0 - 1.0 / MEAN_REQUESTS {
            break;
        }
    }
    ConnectionVector {
        start,
        id,
        pattern: Pattern::Sequential,
        windows: Some([WINDOW; 2]),
        segment_sizes: None,
        min_rtt: Some(Duration::from_secs_f64(lognormal(&RTT, Purpose::Rtt, 0))),
        loss: [0.0; 2],
        units,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mix_has_its_means() {
        let vectors = Synth::default().vectors();
        let count = vectors.len() as f64;
        assert!((count - 6000.0).abs() < 3.0 * 6000_f64.sqrt(), "{count}");
        let requests = vectors.iter().map(|vector| vector.units.len() / 2).sum::<usize>() as f64;
        assert!((requests / count - MEAN_REQUESTS).abs() < 0.1, "{}", requests / count);
        let responses = |most: u64| {
            let units = vectors.iter().flat_map(|vector| &vector.units);
            let responses = units.filter(|unit| unit.from == Host::Server);
            responses.filter(|unit| unit.bytes < most).count() as f64 / requests
        };
        assert!((responses(4_000) - 0.5).abs() < 0.015, "{}", responses(4_000));
        // One standard deviation above the median.
        assert!((responses(24_199) - 0.8413).abs() < 0.015, "{}", responses(24_199));
        let short = vectors.iter().filter(|vector| vector.min_rtt < Some(Duration::from_millis(60)));
        assert!((short.count() as f64 / count - 0.5).abs() < 0.02);
        let long = vectors.iter().filter(|vector| vector.bytes(Host::Server) > 2_000_000).count();
        assert!((2..40).contains(&long), "{long}");
    }

    #[test]
    fn the_seed_decides_everything() {
        let of_seed = |seed| Synth { seed, ..Synth::default() }.vectors();
        assert_eq!(of_seed(3), of_seed(3));
        assert_ne!(of_seed(3)[0], of_seed(4)[0]);
    }

    #[test]
    fn a_rate_that_is_no_rate_gives_nothing() {
        for rate in [0.0, -1.0, f64::NAN, f64::NEG_INFINITY] {
            let synth = Synth { rate, ..Synth::default() };
            assert!(synth.vectors().is_empty(), "{rate}");
        }
    }
}
