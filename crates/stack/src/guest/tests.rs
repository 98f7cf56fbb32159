use super::*;
use std::collections::BTreeMap;

fn setup(seed: u64, options: &[(&str, &str)]) -> Setup {
    let options = options.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    Setup {
        seed,
        mtu: 1500,
        local: "192.0.2.1:5001".parse().unwrap(),
        peer: "192.0.2.2:80".parse().unwrap(),
        options: options.collect(),
    }
}

/// Both ends of a connection without delay, until nothing is under way.
struct Pair {
    hosts: [OneConnection; 2],
    status: [Status; 2],
    now: Instant,
    packets: usize,
}

impl Pair {
    fn new(seed: u64) -> Self {
        let client = setup(seed, &[]);
        let server = Setup { local: client.peer, peer: client.local, ..client.clone() };
        let hosts = [OneConnection::new(&client).unwrap(), OneConnection::new(&server).unwrap()];
        let mut pair = Self { hosts, status: [Status::default(); 2], now: Instant::ZERO, packets: 0 };
        pair.step(1, Input::Listen);
        pair.step(0, Input::Connect);
        pair
    }

    fn step(&mut self, host: usize, input: Input<'_>) -> u64 {
        let mut packets = Vec::new();
        self.status[host] = self.hosts[host].step(self.now, input, &mut packets).unwrap();
        let taken = self.status[host].taken;
        self.packets += packets.len();
        for packet in packets {
            self.step(1 - host, Input::Packet(&packet));
        }
        taken
    }
}

#[test]
fn data_crosses_and_both_sides_close() {
    let mut pair = Pair::new(1);
    assert!(pair.status[0].open && pair.status[1].open);
    assert_eq!(pair.step(0, Input::Write(10_000)), 10_000);
    assert_eq!((pair.status[1].readable, pair.status[1].finished), (10_000, false));
    pair.step(0, Input::Close);
    assert_eq!(pair.step(1, Input::Read(20_000)), 10_000);
    assert!(pair.status[1].finished);
    pair.step(1, Input::Close);
    assert_eq!(pair.status[1].ended, Some(Ended::Closed));
    assert_eq!(pair.status[0].ended, None, "in TIME-WAIT");
    while let Some(wake) = pair.status[0].wake {
        pair.now = wake;
        pair.step(0, Input::Wake);
    }
    assert_eq!(pair.status[0].ended, Some(Ended::Closed));
}

#[test]
fn a_reset_ends_both() {
    let mut pair = Pair::new(1);
    pair.step(1, Input::Reset);
    assert_eq!(pair.status.map(|status| status.ended), [Some(Ended::Reset); 2]);
    assert_eq!(pair.step(0, Input::Write(1)), 0);
}

#[test]
fn the_same_seed_makes_the_same_packets() {
    let syn = |seed| {
        let mut packets = Vec::new();
        OneConnection::new(&setup(seed, &[])).unwrap().step(Instant::ZERO, Input::Connect, &mut packets).unwrap();
        packets
    };
    assert_eq!(syn(7), syn(7));
    assert_ne!(syn(7), syn(8), "another initial sequence number");
}

#[test]
fn options_are_checked() {
    let error = |name, value| OneConnection::new(&setup(1, &[(name, value)])).unwrap_err().0;
    assert_eq!(error("profil", "x"), "unknown option `profil`; did you mean `profile`?");
    assert_eq!(error("no-delay", "1"), "option `no-delay`: expected `true` or `false`, found `1`");
    assert!(error("profile", "linux-7").contains("linux-7"));
    assert!(error("congestion", "vegas2").contains("reno"));
    let options: BTreeMap<_, _> = [("congestion", "reno"), ("max-segment", "1000"), ("no-delay", "true")].into();
    let options: Vec<_> = options.into_iter().collect();
    assert!(OneConnection::new(&setup(1, &options)).unwrap().about.configuration.ends_with("reno"));
}
