//! Several hosts with the same addresses, each with a queue of one device: what comes to the wrong one.
//!
//! A device with several queues gives the packets of a flow to the queue that sent some of it lately, or else chooses by a hash.
//! So a segment of an idle connection that this side began may come to another host than the connection's. A fragment or a
//! message of ICMP may, too. What none of a host's own connections and sockets takes is passed on to the next host, and only
//! the last one refuses it.
//!
//! No two hosts begin connections from the same port: each has the ports of its own number, modulo the number of hosts.

use std::collections::VecDeque;

use recoup_units::Instant;

use super::{Host, Sink};
use crate::VnetHeader;

/// Bytes of packets that may wait to be passed on, bookkeeping included. Beyond it they are lost, as on the way.
const MOST: usize = 256 << 10;

/// What a packet counts beside its bytes.
const OVERHEAD: usize = 64;

/// Which of several hosts this is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Its number, from 0 on.
    pub number: u16,
    /// How many hosts there are, at least one.
    pub of: u16,
}

impl Place {
    /// The only host.
    pub const ALONE: Self = Self { number: 0, of: 1 };

    /// Whether a connection from an ephemeral port may begin here.
    pub(super) const fn has_port(self, port: u16) -> bool {
        port % self.of == self.number % self.of
    }
}

/// A packet that nothing of one host takes.
#[derive(Clone, Debug)]
pub struct Stray {
    packet: Vec<u8>,
    /// Hosts that may be asked after the next one.
    left: u16,
}

impl Stray {
    const fn memory(&self) -> usize {
        self.packet.capacity() + OVERHEAD
    }
}

/// Stray packets in a bounded queue.
#[derive(Debug, Default)]
pub(crate) struct Strays {
    packets: VecDeque<Stray>,
    memory: usize,
}

impl Strays {
    /// Returns whether there was room.
    pub fn put(&mut self, stray: Stray) -> bool {
        let fits = self.memory + stray.memory() <= MOST;
        if fits {
            self.memory += stray.memory();
            self.packets.push_back(stray);
        }
        fits
    }

    pub fn take(&mut self) -> Option<Stray> {
        let stray = self.packets.pop_front()?;
        self.memory -= stray.memory();
        Some(stray)
    }

    pub fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }
}

/// What a host does with packets that nothing takes.
#[derive(Debug)]
pub(super) struct Neighbours {
    pub place: Place,
    /// Hosts that may be asked about the packet that is handled now.
    left: u16,
    strays: Strays,
}

impl Default for Neighbours {
    fn default() -> Self {
        Self { place: Place::ALONE, left: 0, strays: Strays::default() }
    }
}

impl Host {
    /// This is one of several hosts with the same addresses and the same [`Secret`](super::Secret). From now on, packets
    /// that nothing takes wait for [`next_stray`](Self::next_stray), and new connections begin at ports of this host's.
    pub fn set_place(&mut self, place: Place) {
        let place = Place { of: place.of.max(1), ..place };
        self.neighbours.place = place;
        self.neighbours.left = place.of - 1;
    }

    /// Takes out a packet that may be the next host's, which takes it in by [`on_stray`](Self::on_stray). The next host of
    /// the last one is the first.
    pub fn next_stray(&mut self) -> Option<Stray> {
        self.neighbours.strays.take()
    }

    /// Takes in a packet that another host does not take.
    pub fn on_stray(&mut self, now: Instant, stray: &Stray, sink: &mut dyn Sink) {
        let before = std::mem::replace(&mut self.neighbours.left, stray.left);
        self.on_whole(now, &VnetHeader::default(), &stray.packet, sink);
        self.neighbours.left = before;
    }

    /// Whether other hosts are to be asked about the present packet before it is refused.
    pub(super) const fn has_others_to_ask(&self) -> bool {
        self.neighbours.left > 0
    }

    /// Keeps a packet that nothing here takes if other hosts are to be asked about it. Returns whether that is so.
    pub(super) fn keep_stray(&mut self, header: &VnetHeader, packet: &[u8]) -> bool {
        let Some(left) = self.neighbours.left.checked_sub(1) else {
            return false;
        };
        let mut packet = packet.to_vec();
        header.complete(&mut packet);
        let kept = self.neighbours.strays.put(Stray { packet, left });
        self.stats.strays += u64::from(kept);
        self.stats.strays_dropped += u64::from(!kept);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Config,
        host::{Event, Read, Secret},
    };
    use recoup_tcp::Closed;
    use std::net::SocketAddr;

    fn host(address: &str, place: Place) -> Host {
        let mut host = Host::new(Config::new([address.parse().unwrap()]), 1500, Secret::from_key([7; 16]));
        host.set_place(place);
        host
    }

    /// A peer, and the hosts at one address, whose packets from the peer all come to the first one.
    struct Net {
        peer: Host,
        hosts: Vec<Host>,
    }

    impl Net {
        fn run(&mut self) {
            let now = Instant::from_millis(1);
            loop {
                let (mut ours, mut theirs) = (Vec::<Vec<u8>>::new(), Vec::<Vec<u8>>::new());
                self.peer.poll_transmit(now, &mut |packet: &[u8]| theirs.push(packet.to_vec()));
                for host in &mut self.hosts {
                    host.poll_transmit(now, &mut |packet: &[u8]| ours.push(packet.to_vec()));
                }
                if ours.is_empty() && theirs.is_empty() {
                    return;
                }
                for packet in theirs {
                    self.hosts[0].on_packet(now, &packet, &mut |packet: &[u8]| ours.push(packet.to_vec()));
                }
                for number in 0..self.hosts.len() {
                    while let Some(stray) = self.hosts[number].next_stray() {
                        let next = (number + 1) % self.hosts.len();
                        self.hosts[next].on_stray(now, &stray, &mut |packet: &[u8]| ours.push(packet.to_vec()));
                    }
                }
                for packet in ours {
                    self.peer.on_packet(now, &packet, &mut |_: &[u8]| {});
                }
            }
        }
    }

    fn net(of: u16) -> Net {
        let hosts = (0..of).map(|number| host("192.0.2.1", Place { number, of })).collect();
        Net { peer: host("192.0.2.2", Place::ALONE), hosts }
    }

    #[test]
    fn a_connection_gets_what_comes_to_another_host() {
        let now = Instant::from_millis(1);
        for of in 1..4 {
            let mut net = net(of);
            let at: SocketAddr = "192.0.2.2:80".parse().unwrap();
            let listener = net.peer.listen(at).unwrap();
            for number in 0..usize::from(of) {
                let ours = net.hosts[number].connect(now, at).unwrap();
                let port = net.hosts[number].path(ours).unwrap().src.port();
                assert_eq!(usize::from(port % of), number);
                net.run();
                let theirs = net.peer.accept(listener).expect("an open connection");
                net.peer.write(now, theirs, b"hello").unwrap();
                net.run();
                let mut into = [0; 9];
                assert_eq!(net.hosts[number].read(now, ours, &mut into).unwrap(), Read::Bytes(5), "{number} of {of}");
            }
        }
    }

    #[test]
    fn a_listener_of_any_host_takes_connections_and_the_last_host_refuses_others() {
        let now = Instant::from_millis(1);
        for of in 1..4 {
            let mut net = net(of);
            let last = usize::from(of) - 1;
            let listener = net.hosts[last].listen("192.0.2.1:80".parse().unwrap()).unwrap();
            net.peer.connect(now, "192.0.2.1:80".parse().unwrap()).unwrap();
            let refused = net.peer.connect(now, "192.0.2.1:81".parse().unwrap()).unwrap();
            net.run();
            assert!(net.hosts[last].accept(listener).is_some());
            let events: Vec<Event> = std::iter::from_fn(|| net.peer.next_event()).collect();
            let closed = events.iter().find(|event| event.connection == refused).unwrap().closed;
            assert_eq!(closed, Some(Closed::ByReset));
            let refusals: Vec<u64> = net.hosts.iter().map(|host| host.stats().refused).collect();
            assert_eq!((refusals.iter().sum::<u64>(), refusals[last]), (1, 1));
        }
    }

    #[test]
    fn strays_take_bounded_memory() {
        let mut host = host("192.0.2.1", Place { number: 0, of: 2 });
        let mut peer = self::host("192.0.2.2", Place::ALONE);
        let now = Instant::from_millis(1);
        let mut packets = Vec::new();
        for _ in 0..10_000 {
            peer.connect(now, "192.0.2.1:9".parse().unwrap()).unwrap();
            peer.poll_transmit(now, &mut |packet: &[u8]| packets.push(packet.to_vec()));
        }
        for packet in &packets {
            host.on_packet(now, packet, &mut |_: &[u8]| panic!("an answer"));
        }
        let stats = host.stats();
        assert_eq!(stats.strays + stats.strays_dropped, 10_000);
        assert!(stats.strays > 1000 && stats.strays_dropped > 0);
        assert!(host.neighbours.strays.memory <= MOST);
        assert_eq!(std::iter::from_fn(|| host.next_stray()).count() as u64, stats.strays);
        assert_eq!(host.neighbours.strays.memory, 0);
    }
}
