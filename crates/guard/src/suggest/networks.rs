//! The networks that timers are suggested for: single addresses, and the networks around them.
//!
//! Every network is judged by all connections with it. One that says nothing else than the network around it is left out, and so
//! is a wide network that was seen through a few narrower ones alone: they say little about the others.

use super::rules::Suggestions;
use super::samples::{PathFacts, Sample};
use crate::plan::{Plan, smallest};
use recoup_kernel::{Network, SocketTimers};
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

/// The leading bits of networks, the widest first: all addresses, a large and a small site (RFC 6177), one address.
const BITS_V4: [u8; 4] = [0, 16, 24, 32];
const BITS_V6: [u8; 4] = [0, 48, 64, 128];

/// Narrower networks that a network has to be seen through.
const FEWEST_PARTS: usize = 5;

/// The networks of these widths have hosts with little in common.
const FIRST_NARROW: usize = 2;

/// What is suggested for a network.
#[derive(Clone, Debug)]
pub struct NetworkAdvice {
    pub network: Network,
    pub timers: SocketTimers,
    /// What its connections show: also those with narrower networks that have timers of their own.
    pub facts: PathFacts,
}

/// The networks, the widest first, that get timers of their own.
pub fn advise(samples: &[Sample]) -> Vec<NetworkAdvice> {
    let mut by_network: BTreeMap<(u8, Network), Vec<&Sample>> = BTreeMap::new();
    for sample in samples {
        for level in 0..BITS_V4.len() {
            let network = Network::around(sample.peer, bits(sample.peer, level));
            by_network.entry((level as u8, network)).or_default().push(sample);
        }
    }
    let mut advice: Vec<NetworkAdvice> = Vec::new();
    let mut timers = Plan::new();
    for ((level, network), samples) in by_network {
        if !is_known(level.into(), &samples) {
            continue;
        }
        let facts = PathFacts::of(samples.into_iter());
        let around = smallest(&timers, network.address()).map(|(_, timers)| *timers).unwrap_or_default();
        let own = Suggestions::of(&facts).within(&around);
        if own != around {
            timers.insert(network, own);
            advice.push(NetworkAdvice { network, timers: own, facts });
        }
    }
    advice
}

/// Whether a network was seen through enough of its parts.
fn is_known(level: usize, samples: &[&Sample]) -> bool {
    if level >= FIRST_NARROW {
        return true;
    }
    let part = |sample: &&Sample| Network::around(sample.peer, bits(sample.peer, level + 1));
    samples.iter().map(part).collect::<BTreeSet<_>>().len() >= FEWEST_PARTS
}

/// Whether a network has hosts with little in common.
pub fn is_wide(network: &Network) -> bool {
    network.bits() < bits(network.address(), FIRST_NARROW)
}

fn bits(address: IpAddr, level: usize) -> u8 {
    match address.to_canonical() {
        IpAddr::V4(_) => BITS_V4[level],
        IpAddr::V6(_) => BITS_V6[level],
    }
}

#[cfg(test)]
mod tests {
    use super::super::samples::Side;
    use super::*;
    use recoup_units::Instant;
    use std::time::Duration;

    fn samples(peer: &str, rtt: u64, count: usize) -> Vec<Sample> {
        let sample = Sample {
            at: Instant::ZERO,
            peer: peer.parse().unwrap(),
            side: Side::Client,
            handshake: Some(Duration::from_millis(rtt)),
            repeats: 0,
            waited: Duration::ZERO,
            answered: None,
            least_rtt: None,
            data: None,
            was_too_early: false,
            lost: Duration::ZERO,
            nagle: Duration::ZERO,
        };
        vec![sample; count]
    }

    fn advised(samples: &[Vec<Sample>]) -> Vec<String> {
        let found = advise(&samples.concat());
        let syn = |one: &NetworkAdvice| format!("{} {:?}", one.network, one.timers.syn.map(|syn| syn.as_millis()));
        found.iter().map(syn).collect()
    }

    #[test]
    fn few_handshakes_of_each_host_are_many_of_their_network() {
        let hosts: Vec<Vec<Sample>> = (1..=10).map(|i| samples(&format!("192.0.2.{i}"), 60, 2)).collect();
        assert_eq!(advised(&hosts), ["192.0.2.0/24 Some(92)"]);
        assert_eq!(advised(&hosts[..9]), [""; 0]);
    }

    #[test]
    fn a_host_has_its_own_timer_if_it_is_much_nearer_or_farther() {
        let near = samples("192.0.2.1", 30, 20);
        let far = samples("192.0.2.2", 200, 20);
        // 30 ms · 1.5 are 11.25 ticks.
        assert_eq!(advised(&[near, far]), ["192.0.2.0/24 Some(300)", "192.0.2.1 Some(48)"]);
    }

    #[test]
    fn a_host_whose_path_needs_a_second_keeps_it() {
        // Without enough of the large site, the small one is the widest network.
        let usual: Vec<Vec<Sample>> = (1..=60).map(|i| samples(&format!("192.0.2.{i}"), 60, 50)).collect();
        let mut all = vec![samples("192.0.2.200", 700, 2)];
        all.extend(usual);
        // Three of 3,002 round trips may be longer. The host's own are too few.
        assert_eq!(advised(&all), ["192.0.2.0/24 Some(92)"]);
        all.push(samples("192.0.2.201", 700, 20));
        // The small site says nothing now, so each host has its own.
        let hosts = advised(&all);
        assert!(hosts.len() == 60 && hosts.iter().all(|host| host.ends_with(" Some(92)")), "{hosts:?}");
    }

    #[test]
    fn a_round_trip_longer_than_a_second_takes_a_host_out_of_its_network() {
        let mut all: Vec<Vec<Sample>> = (1..=60).map(|i| samples(&format!("192.0.2.{i}"), 60, 50)).collect();
        let mut slow = samples("192.0.2.99", 60, 1);
        slow[0].handshake = None;
        (slow[0].repeats, slow[0].answered) = (1, Some([Duration::from_millis(500); 2]));
        all.push(slow.clone());
        // One of 3,001 handshakes, and too few of its own: it has the timer of its network.
        assert_eq!(advised(&all), ["192.0.2.0/24 Some(92)"]);
        all.push(samples("192.0.2.99", 60, 20));
        assert_eq!(advised(&all), ["192.0.2.0/24 Some(92)", "192.0.2.99 None"]);
    }

    #[test]
    fn a_wide_network_is_judged_only_if_it_was_seen_in_several_places() {
        let sites = |n: usize| (0..n).map(|i| samples(&format!("192.0.{i}.1"), 60, 5)).collect::<Vec<_>>();
        assert_eq!(advised(&sites(4)), [""; 0]);
        assert_eq!(advised(&sites(5)), ["192.0.0.0/16 Some(92)"]);
        let world: Vec<_> = (1..=5).map(|i| samples(&format!("2001:db{i}::1"), 60, 5)).collect();
        assert_eq!(advised(&world), ["::/0 Some(92)"]);
    }
}
