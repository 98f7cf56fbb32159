//! Timers that differ by the network of the peer, as a program in the kernel sets them.

use crate::levers::set_least_rto;
use recoup_recovery::Mechanisms;
use recoup_tcp::flow::Host;
use recoup_whatif::Trial;
use std::net::IpAddr;
use std::time::Duration;

/// Timers of a sender. `None`: as they are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SenderTimers {
    /// The first timeout of the SYN, if the sender opens the connection.
    pub syn: Option<Duration>,
    /// The first timeout of the SYN-ACK, if the sender accepts it.
    pub syn_ack: Option<Duration>,
    /// The least RTO; on Linux, the least of the term that is added to SRTT.
    pub least_rto: Option<Duration>,
}

/// Timers by the network of the peer. The smallest network that an address is in counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerTimers {
    name: String,
    /// The smallest first.
    networks: Vec<(IpAddr, u8, SenderTimers)>,
}

/// The ends of a connection, as far as timers depend on them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ends {
    /// The end whose loss recovery is replaced.
    pub sender: Host,
    /// The address of the other end.
    pub peer: IpAddr,
}

impl PeerTimers {
    /// Timers for these networks, each an address and the number of its leading bits that count. `name` stands for them in tables.
    pub fn new(name: &str, networks: impl IntoIterator<Item = (IpAddr, u8, SenderTimers)>) -> Self {
        let mut networks: Vec<_> = networks.into_iter().collect();
        networks.sort_by_key(|(_, bits, _)| std::cmp::Reverse(*bits));
        Self { name: name.into(), networks }
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// The timers towards this address.
    fn towards(&self, peer: IpAddr) -> SenderTimers {
        let found = self.networks.iter().find(|(address, bits, _)| has_prefix(peer, *address, *bits));
        found.map_or_else(SenderTimers::default, |(_, _, timers)| *timers)
    }

    /// What is tried at a sender that has the mechanisms of `base` today.
    pub(super) fn on(&self, base: &Mechanisms, ends: Ends) -> Trial {
        let timers = self.towards(ends.peer);
        let initial = match ends.sender {
            Host::Client => timers.syn,
            Host::Server => timers.syn_ack,
        };
        Trial::of(base.with(|m| {
            if let Some(initial) = initial {
                m.rto.initial = initial;
            }
            if let Some(least) = timers.least_rto {
                set_least_rto(m, least);
            }
        }))
    }
}

/// Whether the leading bits are the same. An IPv4-mapped IPv6 address is the IPv4 address.
fn has_prefix(address: IpAddr, network: IpAddr, bits: u8) -> bool {
    let (differing, width) = match (address.to_canonical(), network.to_canonical()) {
        (IpAddr::V4(one), IpAddr::V4(other)) => (u128::from(u32::from(one) ^ u32::from(other)), 32),
        (IpAddr::V6(one), IpAddr::V6(other)) => (u128::from(one) ^ u128::from(other), 128_u32),
        _ => return false,
    };
    // Shifting by all bits is no shift.
    differing.checked_shr(width.saturating_sub(bits.into())).unwrap_or(0) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn the_smallest_network_of_a_peer_counts() {
        let ms = Duration::from_millis;
        let syn = |millis| SenderTimers { syn: Some(ms(millis)), ..SenderTimers::default() };
        let all = PeerTimers::new(
            "timers",
            [
                (ip("0.0.0.0"), 0, syn(400)),
                (ip("192.0.2.7"), 32, syn(100)),
                (ip("192.0.2.0"), 24, SenderTimers::default()),
                (ip("2001:db8::"), 32, syn(300)),
            ],
        );
        for (peer, expected) in [
            ("192.0.2.7", Some(100)),
            ("::ffff:192.0.2.7", Some(100)),
            ("192.0.2.8", None),
            ("198.51.100.1", Some(400)),
            ("2001:db8:1::1", Some(300)),
            ("2001:db9::1", None),
        ] {
            assert_eq!(all.towards(ip(peer)).syn, expected.map(ms), "{peer}");
        }
    }

    #[test]
    fn a_sender_has_the_timer_of_its_side_of_the_handshake() {
        let [syn, syn_ack, least] = [100, 200, 50].map(Duration::from_millis);
        let timers = SenderTimers { syn: Some(syn), syn_ack: Some(syn_ack), least_rto: Some(least) };
        let all = PeerTimers::new("timers", [(ip("192.0.2.0"), 24, timers)]);
        for (sender, initial) in [(Host::Client, syn), (Host::Server, syn_ack)] {
            let tried = all.on(&Mechanisms::LINUX_6, Ends { sender, peer: ip("192.0.2.1") }).mechanisms;
            assert_eq!((tried.rto.initial, tried.rto.min_variance), (initial, least));
            let other = all.on(&Mechanisms::LINUX_6, Ends { sender, peer: ip("198.51.100.1") });
            assert_eq!(other, Trial::of(Mechanisms::LINUX_6));
        }
    }
}
