//! Goodputs simulated on a lossy hop, with their intervals.

use super::Code;
use crate::prelude::*;
use recoup_path::{Chain, Exit, HopSpec, LossKind, LossSpec, Packet, Probability, TcpFacts};
use std::fmt;

/// Half the width of an interval, in standard errors.
const Z: f64 = 4.0;

/// The probability that a normal variable is further than [`Z`] standard deviations from its mean.
pub const OUTSIDE: f64 = 6.334_248e-5;

/// A goodput (unique data packets delivered divided by packets sent), computed and simulated.
#[derive(Clone, Copy, Debug)]
pub struct Goodput {
    /// By the closed form.
    pub exact: f64,
    /// The simulated value.
    pub simulated: f64,
    /// The lower end of the simulated interval.
    pub low: f64,
    /// The upper end.
    pub high: f64,
    /// Whether the closed form lies in the interval.
    pub agrees: bool,
}

/// The columns of a goodput. `how` says whether the sender retransmits.
pub fn columns(how: &str) -> Columns<Goodput> {
    const UNIT: &str = "unique packets/sent";
    type Part = (&'static str, &'static str, fn(&Goodput) -> f64);
    const PARTS: [Part; 4] = [
        ("exact", "closed form", |g| g.exact),
        ("simulated", "simulated", |g| g.simulated),
        ("low", "lower end of the simulated interval", |g| g.low),
        ("high", "upper end of the simulated interval", |g| g.high),
    ];
    let mut columns = Columns::new();
    for (name, about, part) in PARTS {
        let about = format!("goodput {how}: {about}");
        columns = columns.column(name, UNIT, about, part);
    }
    let about = "the closed form lies in the simulated interval";
    columns.column("agrees", "", about, |g| g.agrees)
}

impl fmt::Display for Goodput {
    /// The simulated value and its interval: `0.93614 [0.93486, 0.93673]`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.5} [{:.5}, {:.5}]", self.simulated, self.low, self.high)
    }
}

/// How many transmissions a packet needs until one arrives: the number of packets that need 1, 2, … of them.
///
/// # Errors
/// Never with a `p` below 1.
pub fn transmissions(p: f64, packets: u32, seed: u64) -> Result<Vec<u32>> {
    // A flow of its own.
    let mut network = Network::new(p, seed, FlowId(u64::MAX))?;
    let mut counts = vec![];
    for _ in 0..packets {
        let mut needed = 1;
        while network.lost_of(1) > 0 {
            needed += 1;
        }
        if counts.len() < needed {
            counts.resize(needed, 0);
        }
        counts[needed - 1] += 1;
    }
    Ok(counts)
}

/// Simulates a code without and with ARQ, over `groups` groups. The hop loses packets with probability `loses`, below 1;
/// the closed forms are those of `p`. `seed` and `flow` decide all random choices.
///
/// # Errors
/// Never with a `p` below 1.
pub fn run(code: Code, [p, loses]: [f64; 2], groups: u32, seed: u64, flow: FlowId) -> Result<[Goodput; 2]> {
    let mut network = Network::new(loses, seed, flow)?;
    let (mut alone, mut with_arq) = (Cycles::default(), Cycles::default());
    for _ in 0..groups {
        let data = network.lost_of(code.n);
        let lost = data + network.lost_of(code.k);
        // Each retransmission that arrives brings the group one packet nearer to n.
        let mut missing = lost.saturating_sub(code.k);
        alone.add(code.n - if missing > 0 { data } else { 0 }, code.packets());
        let mut sent = code.packets();
        while missing > 0 {
            sent += 1;
            missing -= 1 - network.lost_of(1);
        }
        with_arq.add(code.n, sent);
    }
    // A complete group, and one that just fails.
    let (n, packets) = (code.n, code.packets());
    let just = n - (code.k + 1).min(n);
    Ok([
        alone.goodput(code.alone(p), [(n, packets), (just, packets)]),
        with_arq.goodput(code.with_arq(p), [(n, packets), (n, packets + 1)]),
    ])
}

/// A path that loses packets of a flow at random.
struct Network {
    chain: Chain<Probe>,
    flow: FlowId,
}

impl Network {
    fn new(p: f64, seed: u64, flow: FlowId) -> Result<Self> {
        let loss = LossSpec { kind: LossKind::Bernoulli(Probability::new(p).unwrap_or_default()), transmission: None };
        let chain = Chain::new(&[HopSpec::Loss(loss)], Direction::Down, seed)
            .map_err(|e| SettingsError::Path(e.to_string()))?;
        Ok(Self { chain, flow })
    }

    /// Sends packets and returns how many are lost.
    fn lost_of(&mut self, packets: u32) -> u32 {
        let mut lost = 0;
        for _ in 0..packets {
            self.chain.enter(Instant::ZERO, Probe(self.flow));
            while let Some(exit) = self.chain.next_exit(Instant::ZERO) {
                lost += u32::from(matches!(exit, Exit::Dropped { .. }));
            }
        }
        lost
    }
}

/// A packet that only arrives or does not.
#[derive(Clone, Debug)]
struct Probe(FlowId);

impl Packet for Probe {
    fn flow(&self) -> FlowId {
        self.0
    }

    fn ip_len(&self) -> u32 {
        1500
    }

    fn tcp(&self) -> Option<TcpFacts> {
        None
    }

    fn corrupt(&mut self, _draw: u64) {}
}

/// Sums over independent groups: packets delivered and sent, their squares and products.
#[derive(Clone, Copy, Debug, Default)]
struct Cycles {
    delivered: f64,
    sent: f64,
    delivered_squared: f64,
    product: f64,
    sent_squared: f64,
}

impl Cycles {
    fn add(&mut self, delivered: u32, sent: u32) {
        self.add_times(delivered, sent, 1.0);
    }

    fn add_times(&mut self, delivered: u32, sent: u32, times: f64) {
        let (delivered, sent) = (f64::from(delivered), f64::from(sent));
        self.delivered += times * delivered;
        self.sent += times * sent;
        self.delivered_squared += times * delivered * delivered;
        self.product += times * delivered * sent;
        self.sent_squared += times * sent * sent;
    }

    /// The simulated goodput beside the closed form `exact`. `kinds` are packets delivered and sent in a
    /// complete group and in one that just fails.
    fn goodput(mut self, exact: f64, kinds: [(u32, u32); 2]) -> Goodput {
        let simulated = self.delivered / self.sent;
        for (delivered, sent) in kinds {
            self.add_times(delivered, sent, Z * Z / 2.0);
        }
        let ratio = self.delivered / self.sent;
        // The sum of squares of delivered − ratio · sent, whose mean is 0.
        let squares = self.delivered_squared - 2.0 * ratio * self.product + ratio * ratio * self.sent_squared;
        let half = Z * squares.max(0.0).sqrt() / self.sent;
        let (low, high) = ((ratio - half).max(0.0), (ratio + half).min(1.0));
        Goodput { exact, simulated, low, high, agrees: (low..=high).contains(&exact) }
    }
}

#[cfg(test)]
mod tests;
