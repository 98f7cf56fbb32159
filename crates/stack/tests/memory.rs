//! A thousand connections in 32 MB, as on a phone: all of the memory that the process allocates counts. Their peers send
//! more than that, or single bytes far from each other.

use cap::Cap;
use recoup_stack::{
    Config, TcpOptions,
    host::{ConnectionId, Host, Read, Secret},
};
use recoup_units::Instant;
use recoup_wire::{Endpoints, Flags, Options, Payload, Segment, SeqNumber, decode, encode};
use std::{
    alloc::System,
    net::SocketAddr,
    sync::{Mutex, PoisonError},
    time::Duration,
};

#[global_allocator]
static ALLOCATED: Cap<System> = Cap::new(System, usize::MAX);

/// Held by the test that runs, as the others allocate, too.
static ALONE: Mutex<()> = Mutex::new(());

const CONNECTIONS: usize = 1000;
const MEMORY: usize = 32_000_000;
/// Bytes that every connection brings.
const LENGTH: u32 = 50_000;
const MSS: u32 = 1460;

/// A client that is little more than its numbers, so that what is allocated is the server's.
#[derive(Clone, Copy)]
struct Client {
    /// The next byte to send, and the first that is not acknowledged.
    next: u32,
    una: u32,
    window: u32,
    /// The number of the server's next byte.
    ack: u32,
}

struct Test {
    now: Instant,
    server: Host,
    clients: Vec<Client>,
    packet: Vec<u8>,
    most: usize,
}

impl Test {
    /// A server with a thousand open connections, and their ids.
    fn open() -> (Self, Vec<ConnectionId>) {
        let mut config = Config::new(["192.0.2.2".parse().unwrap()]);
        // Maps and queues are beside the memory of connections.
        config.memory = MEMORY / 16 * 15;
        // Windows that promise twice the memory: tuned ones would begin with a few kB each.
        config.tcp = TcpOptions { tune_buffers: false, ..TcpOptions::default() };
        config.tcp.endpoint.receive_buffer = 64_000;
        let server = Host::new(config, 1500, Secret::from_key([7; 16]));
        let none = Client { next: 0, una: 0, window: 0, ack: 0 };
        let mut test =
            Self { now: Instant::ZERO, server, clients: vec![none; CONNECTIONS], packet: Vec::new(), most: 0 };
        let listener = test.server.listen("192.0.2.2:80".parse().unwrap()).unwrap();
        let mut accepted = Vec::new();
        for client in 0..CONNECTIONS {
            test.send(client, Flags::SYN, 0, 0);
            test.send(client, Flags::ACK, 1, 0);
            accepted.push(test.server.accept(listener).unwrap());
        }
        (test, accepted)
    }

    fn path(client: usize) -> Endpoints {
        let from: SocketAddr = format!("192.0.2.1:{}", 1000 + client).parse().unwrap();
        Endpoints { src: from, dst: "192.0.2.2:80".parse().unwrap() }
    }

    /// Sends a segment of a client, and takes in what the server answers.
    fn send(&mut self, client: usize, flags: Flags, seq: u32, payload_len: u32) {
        let options = if flags.contains(Flags::SYN) {
            Options { mss: Some(MSS as u16), window_scale: Some(0), ..Options::NONE }
        } else {
            Options::NONE
        };
        let segment = Segment {
            seq: SeqNumber(seq),
            ack: SeqNumber(self.clients[client].ack),
            flags,
            window: 60_000,
            payload_len,
            options,
        };
        self.packet.clear();
        encode(&segment, &Self::path(client), 1, Payload::Fill(7), &mut self.packet).unwrap();
        let (clients, now) = (&mut self.clients, self.now);
        let mut answers = |packet: &[u8]| take_in(clients, packet);
        self.server.on_packet(now, &self.packet, &mut answers);
        while self.server.poll_transmit(now, &mut answers) {}
        self.most = self.most.max(ALLOCATED.allocated());
    }

    /// Each client sends what its window permits, from the first byte that is not acknowledged.
    fn round(&mut self) {
        self.now += Duration::from_millis(10);
        self.server.on_timer(self.now);
        for client in 0..CONNECTIONS {
            self.clients[client].next = self.clients[client].una;
            loop {
                let Client { next, una, window, .. } = self.clients[client];
                // What filled a gap was acknowledged together with what arrived behind it.
                let next = next.max(una);
                let most = (LENGTH + 1 - next).min((una + window).saturating_sub(next)).min(MSS);
                if most == 0 || next - una > 20 * MSS {
                    break;
                }
                self.clients[client].next = next + most;
                self.send(client, Flags::ACK, next, most);
            }
        }
    }
}

fn take_in(clients: &mut [Client], packet: &[u8]) {
    let decoded = decode(packet).unwrap();
    let client = &mut clients[usize::from(decoded.endpoints.dst.port()) - 1000];
    let segment = &decoded.segment;
    if segment.flags.contains(Flags::SYN) {
        *client = Client { next: 1, una: 1, window: segment.window.into(), ack: segment.seq.0.wrapping_add(1) };
    } else if segment.ack.0 >= client.una {
        client.una = segment.ack.0;
        // The server's windows have a scale of 0 here.
        client.window = segment.window.into();
    }
}

#[test]
fn a_thousand_connections_take_no_more_than_they_may() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let before = ALLOCATED.allocated();
    let (mut test, accepted) = Test::open();
    for _ in 0..100 {
        test.round();
    }
    let most = test.most - before;
    assert!(most > MEMORY / 2, "{most} bytes: the connections hold little");
    assert!(most <= MEMORY, "{most} bytes");
    // Once the applications read, every byte arrives.
    let mut received = vec![0; CONNECTIONS];
    let mut into = vec![0; 8000];
    for _ in 0..2000 {
        for (id, received) in accepted.iter().zip(&mut received) {
            while let Read::Bytes(count) = test.server.read(test.now, *id, &mut into).unwrap() {
                *received += count as u32;
            }
        }
        if received.iter().all(|count| *count == LENGTH) {
            break;
        }
        test.round();
    }
    let late = received.iter().filter(|count| **count < LENGTH).count();
    assert_eq!(late, 0, "connections without their bytes");
    let most = test.most - before;
    assert!(most <= MEMORY, "{most} bytes");
    println!("{most} bytes at most");
}

/// Bytes that one byte far out of order may cost.
const ISLAND: usize = 1024;

#[test]
fn bytes_far_from_each_other_take_no_more_than_they_may() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let start = ALLOCATED.allocated();
    let (mut test, accepted) = Test::open();
    let before = ALLOCATED.allocated();
    // One for each connection, at the end of its window.
    for client in 0..CONNECTIONS {
        test.send(client, Flags::ACK, 60_000, 1);
    }
    let each = (ALLOCATED.allocated() - before) / CONNECTIONS;
    assert!(each <= ISLAND, "{each} bytes for a byte out of order");
    // And as many as a window has room for, from its end on: more than the bound in all.
    for place in (1..30_000).rev().step_by(50) {
        for client in 0..CONNECTIONS {
            test.send(client, Flags::ACK, 2 * place, 1);
        }
    }
    let (most, counted) = (test.most - start, test.server.memory());
    assert!(counted > MEMORY / 4, "{counted} bytes: the connections hold little");
    assert!(most <= MEMORY, "{most} bytes");
    assert!(test.server.stats().out_of_order_discarded > 0, "{:?}", test.server.stats());
    // Nothing of it is in the way of what is in order.
    test.clients.iter_mut().for_each(|client| client.next = 1);
    let mut into = vec![0; 8000];
    for (client, id) in accepted.iter().enumerate() {
        test.send(client, Flags::ACK, 1, 1000);
        let read = test.server.read(test.now, *id, &mut into).unwrap();
        assert!(matches!(read, Read::Bytes(1000..)), "{read:?}");
    }
    println!("{each} bytes for a byte, {most} bytes at most");
}
