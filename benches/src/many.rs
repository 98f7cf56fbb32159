//! A server with many connections, and one request after another over them in turn.

use recoup_stack::{
    Config,
    host::{ConnectionId, Host, Read, Secret},
};
use recoup_units::Instant;
use recoup_wire::{Endpoints, Flags, Options, Payload, Segment, SeqNumber, Timestamps, decode, encode};
use std::{net::SocketAddr, time::Duration};

/// Bytes of a request, and of its answer.
const REQUEST: u32 = 100;
const ANSWER: u32 = 200;

/// Between two requests, so that timers go off meanwhile.
const PAUSE: Duration = Duration::from_micros(100);

/// A server, and the packets of exchanges to come.
pub struct Many {
    now: Instant,
    server: Host,
    accepted: Vec<ConnectionId>,
    /// Of each exchange: the connection, the request, and the ACK of its answer.
    exchanges: Vec<(usize, [Vec<u8>; 2])>,
    /// The server's initial sequence numbers.
    isns: Vec<u32>,
}

impl Many {
    /// A server with so many connections, each of which has had a request and an answer. `exchanges` further ones are
    /// prepared.
    pub fn new(connections: usize, exchanges: usize) -> Self {
        let at = server();
        let mut config = Config::new([at.ip()]);
        config.most_connections = connections;
        config.memory = 1 << 30;
        config.tcp.backlog = connections;
        let mut server = Host::new(config, 1500, Secret::from_key([7; 16]));
        let listener = server.listen(at).expect("a free port");
        let mut many =
            Self { now: Instant::ZERO, server, accepted: Vec::new(), exchanges: Vec::new(), isns: Vec::new() };
        for client in 0..connections {
            let mut isn = 0;
            many.send(&packet(client, Flags::SYN, [0, 0], 0), |answer| {
                isn = decode(answer).expect("a SYN-ACK").segment.seq.0;
            });
            many.isns.push(isn);
            many.send(&packet(client, Flags::ACK, [1, isn.wrapping_add(1)], 0), |_| {});
            many.accepted.push(many.server.accept(listener).expect("an open connection"));
        }
        let mut done = vec![0; connections];
        // A prime number, so that neighbours in memory do not follow each other.
        let mut clients = (0..).map(|turn: usize| turn * 7919 % connections);
        let mut prepare = |client: usize| (client, many.packets(client, &mut done));
        let first: Vec<_> = (0..connections).map(&mut prepare).collect();
        let next: Vec<_> = clients.by_ref().take(exchanges).map(prepare).collect();
        many.exchanges = first;
        many.run();
        many.now += Duration::from_secs(60);
        many.server.on_timer(many.now);
        many.exchanges = next;
        many
    }

    /// The packets of a client's next exchange, after so many that it has `done`.
    fn packets(&self, client: usize, done: &mut [u32]) -> [Vec<u8>; 2] {
        let isn = self.isns[client];
        let at = |exchanges: u32| [1 + exchanges * REQUEST, isn.wrapping_add(1 + exchanges * ANSWER)];
        let before = at(done[client]);
        done[client] += 1;
        [packet(client, Flags::ACK | Flags::PSH, before, REQUEST), packet(client, Flags::ACK, at(done[client]), 0)]
    }

    fn send(&mut self, packet: &[u8], mut take: impl FnMut(&[u8])) {
        self.server.on_packet(self.now, packet, &mut take);
        while self.server.poll_transmit(self.now, &mut take) {}
    }

    /// Runs the exchanges that are prepared. Returns the number of packets.
    pub fn run(&mut self) -> u64 {
        let packets = |server: &Host| server.stats().packets_in + server.stats().packets_out;
        let before = packets(&self.server);
        let mut into = [0; REQUEST as usize];
        for (client, [request, ack]) in std::mem::take(&mut self.exchanges) {
            self.now += PAUSE;
            self.server.on_timer(self.now);
            self.send(&request, |_| {});
            while self.server.next_event().is_some() {}
            let id = self.accepted[client];
            let read = self.server.read(self.now, id, &mut into).expect("an open connection");
            assert_eq!(read, Read::Bytes(into.len()));
            let written = self.server.write(self.now, id, &[7; ANSWER as usize]).expect("an open connection");
            assert_eq!(written, ANSWER as usize);
            while self.server.poll_transmit(self.now, &mut |_: &[u8]| {}) {}
            self.send(&ack, |_| {});
        }
        packets(&self.server) - before
    }
}

fn server() -> SocketAddr {
    ([192, 0, 2, 1], 80).into()
}

/// A client's packet, with the sequence and acknowledgment number.
fn packet(client: usize, flags: Flags, [seq, ack]: [u32; 2], payload_len: u32) -> Vec<u8> {
    let syn = flags.contains(Flags::SYN);
    let options = Options {
        timestamps: Some(Timestamps { value: 1, echo: u32::from(!syn) }),
        mss: syn.then_some(1460),
        window_scale: syn.then_some(7),
        sack_permitted: syn,
        ..Options::NONE
    };
    let segment = Segment { seq: SeqNumber(seq), ack: SeqNumber(ack), flags, window: 60_000, payload_len, options };
    let client = client as u32;
    // Four connections an address.
    let [_, high, middle, low] = (client / 4).to_be_bytes();
    let address = [10, high, middle, low];
    let path = Endpoints { src: (address, 10_000 + (client % 4) as u16).into(), dst: server() };
    let mut packet = Vec::new();
    encode(&segment, &path, 1, Payload::Fill(7), &mut packet).expect("a packet");
    packet
}
