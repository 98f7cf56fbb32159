//! Many bulk transfers at once get equal shares: of a device that has no room for more, and of a bottleneck that drops packets.

use crate::{CLIENT, SERVER, at, config};
use recoup_stack::host::{ConnectionId, Host, Read, Secret, Sink};
use recoup_units::Instant;
use std::{collections::VecDeque, time::Duration};

const CONNECTIONS: usize = 1000;

/// One way of a path with a bottleneck: packets with the time at which each leaves it.
struct Way {
    packets: VecDeque<(Instant, Vec<u8>)>,
    /// The time for which it has packets already.
    busy_until: Instant,
    now: Instant,
    /// How long a full-sized packet takes; none for a way without a bottleneck.
    each: Duration,
    /// Packets that may wait.
    queue: u32,
    /// Whether the sender knows how many may wait, or else the others are dropped.
    says_room: bool,
    dropped: u64,
}

impl Way {
    fn new(each: Duration, queue: u32, says_room: bool) -> Self {
        let (packets, now) = (VecDeque::new(), Instant::ZERO);
        Self { packets, busy_until: now, now, each, queue, says_room, dropped: 0 }
    }

    /// Packets for which there is room.
    fn left(&self) -> u32 {
        let waiting = self.busy_until.since(self.now).as_nanos().checked_div(self.each.as_nanos()).unwrap_or(0);
        self.queue.saturating_sub(waiting as u32)
    }

    fn take(&mut self, delay: Duration) -> Option<Vec<u8>> {
        let due = self.packets.front().is_some_and(|(at, _)| *at + delay <= self.now);
        due.then(|| self.packets.pop_front())?.map(|(_, packet)| packet)
    }
}

impl Sink for Way {
    fn send(&mut self, packet: &[u8]) {
        if self.left() == 0 {
            self.dropped += 1;
            return;
        }
        let takes = self.each * packet.len() as u32 / 1500;
        self.busy_until = self.busy_until.max(self.now) + takes;
        self.packets.push_back((self.busy_until, packet.to_vec()));
    }

    fn room(&self) -> usize {
        if self.says_room { self.left() as usize } else { usize::MAX }
    }
}

/// The bytes that each connection brings in some seconds, from the end of the first two on, and the packets that were dropped.
fn shares(mut way: Way, delay: Duration, time: Duration) -> (Vec<u64>, u64) {
    const STEP: Duration = Duration::from_micros(100);
    let host = |address: &str, key| {
        let mut config = config(address);
        config.memory = 1 << 30;
        config.tcp.backlog = CONNECTIONS;
        Host::new(config, 1500, Secret::from_key([key; 16]))
    };
    let (mut client, mut server) = (host(CLIENT, 1), host(SERVER, 2));
    let listener = server.listen(at(80)).unwrap();
    let mut back = Way::new(Duration::ZERO, 1, false);
    let ours: Vec<ConnectionId> = (0..CONNECTIONS).map(|_| client.connect(Instant::ZERO, at(80)).unwrap()).collect();
    let mut theirs = Vec::new();
    let mut received = vec![0; CONNECTIONS];
    let (chunk, mut into) = (vec![7; 64 << 10], vec![0; 64 << 10]);
    let (begin, mut now) = (Instant::ZERO + Duration::from_secs(2), Instant::ZERO);
    while now < begin + time {
        now += STEP;
        (way.now, back.now) = (now, now);
        // As a driver does: first what is due, then what has arrived.
        client.on_timer(now);
        client.poll_transmit(now, &mut way);
        server.on_timer(now);
        server.poll_transmit(now, &mut back);
        while let Some(packet) = way.take(delay) {
            server.on_packet(now, &packet, &mut back);
        }
        while let Some(packet) = back.take(delay) {
            client.on_packet(now, &packet, &mut way);
        }
        theirs.extend(std::iter::from_fn(|| server.accept(listener)));
        while let Some(event) = server.next_event() {
            // Connections were accepted in this order, each under the number that its packets have.
            let Some(place) = theirs.iter().position(|id| *id == event.connection) else { continue };
            while let Read::Bytes(count) = server.read(now, event.connection, &mut into).unwrap() {
                received[place] += if now >= begin { count as u64 } else { 0 };
            }
        }
        while let Some(event) = client.next_event() {
            if event.opened || event.writable {
                while client.write(now, event.connection, &chunk).unwrap() == chunk.len() {}
            }
        }
    }
    assert_eq!((ours.len(), theirs.len()), (CONNECTIONS, CONNECTIONS));
    (received, way.dropped)
}

/// Jain's index of fairness: 1 if all shares are equal.
fn jain(shares: &[u64]) -> f64 {
    let sum: f64 = shares.iter().map(|share| *share as f64).sum();
    let squares: f64 = shares.iter().map(|share| (*share as f64).powi(2)).sum();
    sum * sum / (shares.len() as f64 * squares)
}

#[test]
fn a_device_without_room_is_shared_equally() {
    // 1 Gbit/s without delay, as a device that takes packets as it can.
    let way = Way::new(Duration::from_micros(12), 100, true);
    let (shares, dropped) = shares(way, Duration::from_micros(100), Duration::from_secs(2));
    let index = jain(&shares);
    println!("{index:.4}, {} bytes", shares.iter().sum::<u64>());
    assert_eq!(dropped, 0);
    assert!(index >= 0.95, "{index}");
}

#[test]
fn a_bottleneck_that_drops_packets_is_shared_equally() {
    // 4 Gbit/s and a round trip of 20 ms: seven packets a connection, and a queue of as many.
    let way = Way::new(Duration::from_micros(3), 7000, false);
    let (shares, dropped) = shares(way, Duration::from_millis(10), Duration::from_secs(6));
    let index = jain(&shares);
    println!("{index:.4}, {} bytes, {dropped} packets dropped", shares.iter().sum::<u64>());
    assert!(dropped > 1000);
    assert!(index >= 0.95, "{index}");
}
