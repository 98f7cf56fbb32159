use super::*;
use crate::{
    Config,
    host::{Read, Secret},
};
use recoup_wire::{Endpoints, Flags, Payload, encode};
use std::net::SocketAddr;

const CLIENT: &str = "192.0.2.1";
const SERVER: &str = "192.0.2.2";

/// A client and a server that many connections join, with a delay of 1 ms between them.
struct Many {
    now: Instant,
    client: Host,
    server: Host,
    connections: Vec<(ConnectionId, ConnectionId)>,
    /// The most memory that the server's connections took.
    most: usize,
    /// The largest packets that the path to the client takes.
    takes: usize,
    /// Packets to the server, and to the client.
    under_way: [Vec<Vec<u8>>; 2],
}

impl Many {
    fn new(connections: usize, memory: usize) -> Self {
        let host = |address: &str, memory| {
            let config = Config { memory, ..Config::new([address.parse().unwrap()]) };
            Host::new(config, 1500, Secret::from_key([1; 16]))
        };
        let (client, server) = (host(CLIENT, 1 << 30), host(SERVER, memory));
        let mut many = Self {
            now: Instant::ZERO,
            client,
            server,
            connections: Vec::new(),
            most: 0,
            takes: 1500,
            under_way: Default::default(),
        };
        let at: SocketAddr = SocketAddr::new(SERVER.parse().unwrap(), 80);
        let listener = many.server.listen(at).unwrap();
        for _ in 0..connections {
            let ours = many.client.connect(many.now, at).unwrap();
            many.run(5);
            let theirs = many.server.accept(listener).expect("an open connection");
            many.connections.push((ours, theirs));
        }
        many
    }

    fn run(&mut self, millis: u64) {
        for _ in 0..millis {
            let [mut to_server, mut to_client] = std::mem::take(&mut self.under_way);
            while self.client.poll_transmit(self.now, &mut |packet: &[u8]| to_server.push(packet.to_vec())) {}
            while self.server.poll_transmit(self.now, &mut |packet: &[u8]| to_client.push(packet.to_vec())) {}
            self.now += Duration::from_millis(1);
            self.client.on_timer(self.now);
            self.server.on_timer(self.now);
            // Some packets are answered at once.
            let [later_to_server, later_to_client] = &mut self.under_way;
            for packet in to_server {
                let mut sink = |packet: &[u8]| later_to_client.push(packet.to_vec());
                self.server.on_packet(self.now, &packet, &mut sink);
                self.most = self.most.max(self.server.memory());
            }
            for packet in to_client.iter().filter(|packet| packet.len() <= self.takes) {
                let mut sink = |packet: &[u8]| later_to_server.push(packet.to_vec());
                self.client.on_packet(self.now, packet, &mut sink);
            }
        }
    }
}

#[test]
fn readers_that_never_read_stay_within_the_bound_and_lock_nobody_out() {
    const MEMORY: usize = 8 << 20;
    let mut many = Many::new(300, MEMORY);
    let bytes = vec![7; 100_000];
    let connections = many.connections.clone();
    for _ in 0..20 {
        for (ours, _) in &connections[1..] {
            many.client.write(many.now, *ours, &bytes).unwrap();
        }
        many.run(20);
    }
    assert!(many.most > MEMORY / 2, "{} bytes", many.most);
    assert!(many.most <= MEMORY, "{} bytes", many.most);
    // One that reads goes on.
    let (ours, theirs) = connections[0];
    let (mut written, mut received, mut into) = (0, 0, vec![0; 10_000]);
    for _ in 0..2000 {
        written += many.client.write(many.now, ours, &bytes[written..]).unwrap();
        many.run(1);
        while let Read::Bytes(count) = many.server.read(many.now, theirs, &mut into).unwrap() {
            received += count;
        }
    }
    assert_eq!(received, bytes.len());
    assert!(many.most <= MEMORY, "{} bytes", many.most);
}

#[test]
fn writers_wait_for_memory_and_are_told_when_there_is_some() {
    const MEMORY: usize = 4 << 20;
    let mut many = Many::new(200, MEMORY);
    while many.server.next_event().is_some() {}
    let bytes = vec![7; 200_000];
    let connections = many.connections.clone();
    let mut written = vec![0; connections.len()];
    for _ in 0..20 {
        for ((_, theirs), written) in connections.iter().zip(&mut written) {
            *written += many.server.write(many.now, *theirs, &bytes).unwrap();
        }
        many.most = many.most.max(many.server.memory());
        many.run(1);
    }
    assert!(many.most > MEMORY / 2 && many.most <= MEMORY, "{} bytes", many.most);
    // All who got less than they wanted hear of it once the client reads.
    let mut told = vec![false; connections.len()];
    let mut into = vec![0; 100_000];
    for _ in 0..3000 {
        for (ours, _) in &connections {
            while let Read::Bytes(_) = many.client.read(many.now, *ours, &mut into).unwrap() {}
        }
        many.run(1);
        while let Some(event) = many.server.next_event() {
            let place = connections.iter().position(|(_, theirs)| *theirs == event.connection).unwrap();
            told[place] |= event.writable;
        }
    }
    assert_eq!(told.iter().filter(|told| !**told).count(), 0);
    assert!(many.server.memory() <= MEMORY / 2, "{} bytes are held for nothing", many.server.memory());
}

#[test]
fn what_a_path_takes_in_tiny_segments_alone_arrives_within_the_bound() {
    const MEMORY: usize = 512 << 10;
    const TAKES: u16 = 100;
    let mut many = Many::new(8, MEMORY);
    let bytes = vec![7; 100_000];
    let connections = many.connections.clone();
    let mut written = vec![0; connections.len()];
    let mut received = vec![0; connections.len()];
    let mut into = vec![0; 100_000];
    let mut most = 0;
    for step in 0..60_000 {
        if step == 20 {
            // Everything outstanding is lost, in segments of twenty times the size.
            many.takes = TAKES.into();
            for (_, theirs) in &connections {
                assert!(many.server.limit_mtu(many.now, theirs.index() as u32, TAKES));
                most = most.max(many.server.memory());
            }
        }
        for (place, (ours, theirs)) in connections.iter().enumerate() {
            written[place] += many.server.write(many.now, *theirs, &bytes[written[place]..]).unwrap();
            most = most.max(many.server.memory());
            while step > 20
                && let Read::Bytes(count) = many.client.read(many.now, *ours, &mut into).unwrap()
            {
                received[place] += count;
            }
        }
        many.run(1);
        most = most.max(many.most);
        if received.iter().all(|count| *count == bytes.len()) {
            break;
        }
    }
    assert_eq!(received, vec![bytes.len(); connections.len()]);
    assert!(most > MEMORY / 2 && most <= MEMORY, "{most} bytes");
}

#[test]
fn a_receive_buffer_grows_with_what_is_read_and_not_beyond_the_share() {
    for (memory, grown) in [(64 << 20, 1 << 20), (1 << 20, 64 << 10)] {
        let mut many = Many::new(1, memory);
        let (ours, theirs) = many.connections[0];
        let bytes = vec![7; 400_000];
        let mut into = vec![0; 100_000];
        let mut largest = 0;
        for _ in 0..400 {
            many.client.write(many.now, ours, &bytes).unwrap();
            many.run(1);
            while let Read::Bytes(_) = many.server.read(many.now, theirs, &mut into).unwrap() {}
            largest = largest.max(many.server.table.promised());
        }
        assert!(largest >= grown, "{largest} bytes of {memory}");
        assert!(largest <= memory as u64 / 2, "{largest} bytes of {memory}");
    }
}

#[test]
fn a_writer_goes_on_although_others_hold_memory_for_good() {
    const MEMORY: usize = 8 << 20;
    let mut many = Many::new(300, MEMORY);
    let connections = many.connections.clone();
    let bytes = vec![7; 100_000];
    for _ in 0..20 {
        for (ours, _) in &connections[1..] {
            many.client.write(many.now, *ours, &bytes).unwrap();
        }
        many.run(20);
    }
    assert!(many.server.memory() > MEMORY / 8 * 5, "{} bytes", many.server.memory());
    while many.server.next_event().is_some() {}
    // Its writes wait for events, as those of sockets do.
    let (ours, theirs) = connections[0];
    let (mut written, mut received, mut into, mut may_write) = (0, 0, vec![0; 100_000], true);
    for _ in 0..5000 {
        if may_write && written < bytes.len() {
            let count = many.server.write(many.now, theirs, &bytes[written..]).unwrap();
            written += count;
            may_write = count > 0;
        }
        many.run(1);
        while let Read::Bytes(count) = many.client.read(many.now, ours, &mut into).unwrap() {
            received += count;
        }
        while let Some(event) = many.server.next_event() {
            may_write |= event.connection == theirs && event.writable;
        }
    }
    assert_eq!(received, bytes.len());
}

#[test]
fn a_syn_with_data_does_not_need_memory() {
    const MEMORY: usize = 4 << 20;
    let mut many = Many::new(300, MEMORY);
    let bytes = vec![7; 100_000];
    for _ in 0..20 {
        for (ours, _) in &many.connections.clone() {
            many.client.write(many.now, *ours, &bytes).unwrap();
        }
        many.run(20);
    }
    let before = many.server.connections();
    let ends = Endpoints { src: "192.0.2.3:5".parse().unwrap(), dst: SocketAddr::new(SERVER.parse().unwrap(), 80) };
    let segment = Segment { flags: Flags::SYN, window: 500, payload_len: 1400, ..Segment::default() };
    let mut syn = Vec::new();
    encode(&segment, &ends, 1, Payload::Bytes(&[7; 1400]), &mut syn).unwrap();
    let mut answers = 0;
    many.server.on_packet(many.now, &syn, &mut |_: &[u8]| answers += 1);
    while many.server.poll_transmit(many.now, &mut |_: &[u8]| answers += 1) {}
    assert!(answers > 0, "a SYN without an answer");
    many.run(100_000);
    assert!(many.server.connections() <= before, "nobody ends it");
}

#[test]
fn connections_open_as_long_as_there_is_memory_for_their_state() {
    const MEMORY: usize = 100_000;
    let config = Config { memory: MEMORY, ..Config::new([CLIENT.parse().unwrap()]) };
    let mut client = Host::new(config, 1500, Secret::from_key([1; 16]));
    let at: SocketAddr = SocketAddr::new(SERVER.parse().unwrap(), 80);
    let opened = (0..1000).take_while(|_| client.connect(Instant::ZERO, at).is_ok()).count();
    assert!((10..1000).contains(&opened), "{opened} connections");
    assert!(client.memory() <= MEMORY / 8 * 7, "{} bytes", client.memory());
    assert_eq!(client.connect(Instant::ZERO, at), Err(HostError::Exhausted(at)));
}

#[test]
fn an_ack_that_ends_a_handshake_and_whose_data_finds_no_memory_leaves_a_connection_that_can_end() {
    // Five connections leave each a share of less than a segment, and room for a sixth.
    let config = Config { memory: 7 * (Table::STATE + BOARD), ..Config::new([SERVER.parse().unwrap()]) };
    let mut server = Host::new(config, 1500, Secret::from_key([1; 16]));
    let at: SocketAddr = SocketAddr::new(SERVER.parse().unwrap(), 80);
    let listener = server.listen(at).unwrap();
    let now = Instant::ZERO;
    let meet = |server: &mut Host, port: u16, segment: Segment| {
        let ends = Endpoints { src: SocketAddr::new(CLIENT.parse().unwrap(), port), dst: at };
        let (mut packet, mut answer) = (Vec::new(), None);
        encode(&segment, &ends, 1, Payload::Fill(7), &mut packet).unwrap();
        let mut sink = |packet: &[u8]| answer = Some(recoup_wire::decode(packet).unwrap().segment);
        server.on_packet(now, &packet, &mut sink);
        while server.poll_transmit(now, &mut sink) {}
        answer
    };
    let syn = Segment { flags: Flags::SYN, window: 1000, ..Segment::default() };
    for port in 1..=5 {
        let answer = meet(&mut server, port, syn).unwrap();
        let ack = Segment { seq: syn.seq + 1, ack: answer.seq + 1, flags: Flags::ACK, ..syn };
        meet(&mut server, port, ack);
        server.accept(listener).expect("an open connection");
    }
    let answer = meet(&mut server, 6, syn).unwrap();
    let ack = Segment { seq: syn.seq + 1, ack: answer.seq + 1, flags: Flags::ACK, ..syn };
    meet(&mut server, 6, Segment { payload_len: 1400, ..ack });
    assert!(server.stats().segments_without_memory > 0);
    assert_eq!((server.connections(), server.half_open()), (5, 1), "it waits for the ACK");
    meet(&mut server, 6, ack);
    assert!(server.accept(listener).is_some());
}
