//! Two hosts in virtual time, and what strangers send them.

mod datagrams;
mod ecn;
mod mtu;
mod offload;
mod others;
mod places;
mod writing;

use super::*;
use std::{cell::Cell, rc::Rc};

use recoup_tcp::Closed;
use recoup_wire::{Flags, Options, Payload, Segment, SeqNumber, decode, encode};

const CLIENT: &str = "192.0.2.1";
const SERVER: &str = "192.0.2.2";

fn host(address: &str) -> Host {
    let mut config = Config::new([address.parse().unwrap()]);
    config.tcp.send_buffer = 100_000;
    config.tcp.tune_buffers = false;
    let key = address.bytes().last().unwrap_or_default();
    Host::new(config, 1500, Secret::from_key([key; 16]))
}

/// Whether a packet is lost; the flag says whether it goes to the server.
type Loss = Box<dyn FnMut(bool, &[u8]) -> bool>;

/// A client, a server that listens at port 80, and 10 ms between them.
struct Pair {
    now: Instant,
    client: Host,
    server: Host,
    /// Packets in flight: arrival time, whether to the server, and bytes.
    flying: VecDeque<(Instant, bool, Vec<u8>)>,
    lost: Loss,
}

impl Pair {
    fn new() -> Self {
        let mut server = host(SERVER);
        server.listen("192.0.2.2:80".parse().unwrap()).unwrap();
        Self { now: Instant::ZERO, client: host(CLIENT), server, flying: VecDeque::new(), lost: Box::new(|_, _| false) }
    }

    /// A connection both sides know of.
    fn open(&mut self) -> (ConnectionId, ConnectionId) {
        let remote = "192.0.2.2:80".parse().unwrap();
        let ours = self.client.connect(self.now, remote).unwrap();
        self.run(100);
        let opened = |host: &mut Host| {
            let event = host.next_event().expect("an event");
            assert!(event.opened, "{event:?}");
            event.connection
        };
        assert_eq!(opened(&mut self.client), ours);
        (ours, opened(&mut self.server))
    }

    /// Lets `millis` milliseconds pass.
    fn run(&mut self, millis: u64) {
        let end = self.now + Duration::from_millis(millis);
        loop {
            self.flush();
            let deadlines = [self.client.next_timer(), self.server.next_timer()];
            let arrival = self.flying.front().map(|(at, ..)| *at);
            let next = deadlines.into_iter().flatten().chain(arrival).min();
            let Some(next) = next.filter(|at| *at <= end) else {
                self.now = end;
                return;
            };
            self.now = self.now.max(next);
            self.client.on_timer(self.now);
            self.server.on_timer(self.now);
            while self.flying.front().is_some_and(|(at, ..)| *at <= self.now) {
                let (_, to_server, packet) = self.flying.pop_front().unwrap();
                self.hand_in(to_server, &packet);
            }
        }
    }

    fn hand_in(&mut self, to_server: bool, packet: &[u8]) {
        let (now, flying, lost) = (self.now, &mut self.flying, &mut self.lost);
        let mut sink = |packet: &[u8]| put(now, flying, lost, !to_server, packet);
        if to_server {
            self.server.on_packet(now, packet, &mut sink)
        } else {
            self.client.on_packet(now, packet, &mut sink)
        }
    }

    fn flush(&mut self) {
        let (now, flying, lost) = (self.now, &mut self.flying, &mut self.lost);
        for to_server in [true, false] {
            let host = if to_server { &mut self.client } else { &mut self.server };
            while host.poll_transmit(now, &mut |p: &[u8]| put(now, flying, lost, to_server, p)) {}
        }
    }

    /// All the server reads from a connection while the client sends `bytes` on it.
    fn transfer(&mut self, from: ConnectionId, to: ConnectionId, bytes: &[u8]) -> Vec<u8> {
        let (mut written, mut received, mut into) = (0, Vec::new(), [0; 5000]);
        for _ in 0..5000 {
            written += self.client.write(self.now, from, &bytes[written..]).unwrap();
            self.run(10);
            while let Read::Bytes(n) = self.server.read(self.now, to, &mut into).unwrap() {
                received.extend_from_slice(&into[..n]);
            }
            if received.len() == bytes.len() {
                break;
            }
        }
        received
    }
}

fn put(now: Instant, flying: &mut VecDeque<(Instant, bool, Vec<u8>)>, lost: &mut Loss, to_server: bool, packet: &[u8]) {
    if !lost(to_server, packet) {
        let at = now + Duration::from_millis(10);
        flying.push_back((at, to_server, packet.to_vec()));
    }
}

fn stream(len: usize) -> Vec<u8> {
    (0..len as u64).map(|i| (i * i / 7 % 253) as u8).collect()
}

/// A segment to the server from a port of the client's.
fn segment(port: u16, seq: u32, ack: u32, flags: Flags, payload: &[u8]) -> Vec<u8> {
    let segment = Segment {
        seq: SeqNumber(seq),
        ack: SeqNumber(ack),
        flags,
        window: 500,
        payload_len: payload.len() as u32,
        ..Segment::default()
    };
    let ends = Endpoints {
        src: SocketAddr::new(CLIENT.parse().unwrap(), port),
        dst: SocketAddr::new(SERVER.parse().unwrap(), 80),
    };
    let mut packet = Vec::new();
    encode(&segment, &ends, 1, Payload::Bytes(payload), &mut packet).unwrap();
    packet
}

/// The server's answers to one packet.
fn answers(server: &mut Host, now: Instant, packet: &[u8]) -> Vec<Segment> {
    let mut out = Vec::new();
    let mut sink = |packet: &[u8]| out.push(decode(packet).unwrap().segment);
    server.on_packet(now, packet, &mut sink);
    server.poll_transmit(now, &mut sink);
    out
}

#[test]
fn a_stream_arrives_whole_and_both_sides_forget() {
    let mut pair = Pair::new();
    let (ours, theirs) = pair.open();
    let bytes = stream(1_000_000);
    assert!(pair.transfer(ours, theirs, &bytes) == bytes);
    pair.server.release(pair.now, theirs).unwrap();
    pair.client.release(pair.now, ours).unwrap();
    assert_eq!(pair.client.write(pair.now, ours, b"x"), Err(HostError::Unknown));
    pair.run(61_000); // the longer TIME-WAIT
    assert_eq!((pair.client.connections(), pair.server.connections()), (0, 0));
    assert_eq!(pair.client.next_timer(), None);
}

#[test]
fn every_tenth_packet_lost_is_no_matter() {
    let mut pair = Pair::new();
    let mut count = 0;
    pair.lost = Box::new(move |_, _| {
        count += 1;
        count % 10 == 9
    });
    let (ours, theirs) = pair.open();
    let bytes = stream(300_000);
    assert!(pair.transfer(ours, theirs, &bytes) == bytes);
    let counters = pair.client.counters(ours).unwrap();
    assert!(counters.retransmissions.total() > 0);
}

#[test]
fn what_acks_gave_leave_for_is_out_before_a_loss_is_found() {
    // Ten segments of 1000 bytes are out, of which the ninth is lost. Two ACKs come at one instant: of
    // the first eight, and of the tenth.
    let now = Instant::from_millis(5);
    let mut client = host(CLIENT);
    let id = client.connect(Instant::ZERO, "192.0.2.2:80".parse().unwrap()).unwrap();
    let mut syn = Vec::new();
    client.poll_transmit(Instant::ZERO, &mut |p: &[u8]| syn = p.to_vec());
    let syn = decode(&syn).unwrap();
    let isn = syn.segment.seq + 1;
    let hand_in = |client: &mut Host, now, flags, ack: u32, block: Option<[u32; 2]>| {
        let open = flags == Flags::ACK;
        let options = Options {
            sack: block.iter().map(|b| b.map(|offset| isn + offset)).collect(),
            mss: (!open).then_some(1000),
            sack_permitted: !open,
            ..Options::NONE
        };
        let segment = Segment {
            seq: SeqNumber(u32::from(open)),
            ack: isn + ack,
            flags,
            window: 60_000,
            options,
            ..Segment::default()
        };
        let ends = syn.endpoints.reverse();
        let (mut packet, mut sent) = (Vec::new(), Vec::new());
        encode(&segment, &ends, 1, Payload::Bytes(&[]), &mut packet).unwrap();
        client.on_packet(now, &packet, &mut |p: &[u8]| {
            sent.push((decode(p).unwrap().segment.seq.0).wrapping_sub(isn.0) / 1000);
        });
        sent
    };
    hand_in(&mut client, now, Flags::SYN | Flags::ACK, 0, None);
    client.write(now, id, &stream(40_000)).unwrap();
    client.poll_transmit(now, &mut |_: &[u8]| {});
    assert!(hand_in(&mut client, now, Flags::ACK, 8000, None).is_empty());
    // First the data that the first ACK permits, then the segments that the second shows lost.
    let sent = hand_in(&mut client, now, Flags::ACK, 8000, Some([9000, 10_000]));
    assert_eq!(sent[..2], [10, 11]);
    let again = sent.iter().position(|&n| n == 8);
    assert!(again.is_some_and(|at| at > 10), "{sent:?}");
    // That all new data arrived, which went before the retransmission, does not tell that that is lost.
    let later = now + Duration::from_millis(5);
    let end = 1000 * (sent.iter().max().unwrap() + 1);
    hand_in(&mut client, later, Flags::ACK, 8000, Some([9000, end]));
    let counters = client.counters(id).unwrap();
    assert_eq!(counters.retransmissions.total(), 1);
    assert_eq!(counters.lost_retransmissions, 0);
}

#[test]
fn the_end_of_a_stream_is_told_and_a_reset_too() {
    let mut pair = Pair::new();
    let (ours, theirs) = pair.open();
    pair.client.write(pair.now, ours, b"last words").unwrap();
    pair.client.close(pair.now, ours).unwrap();
    assert_eq!(pair.client.write(pair.now, ours, b"more"), Err(HostError::NotWritable));
    pair.run(50);
    assert!(pair.server.next_event().unwrap().readable);
    let mut into = [0; 100];
    let mut read = |pair: &mut Pair| pair.server.read(pair.now, theirs, &mut into);
    assert_eq!(read(&mut pair), Ok(Read::Bytes(10)));
    assert_eq!(read(&mut pair), Ok(Read::End));

    let (ours, theirs) = pair.open();
    pair.client.abort(ours).unwrap();
    pair.run(50);
    let event = pair.server.next_event().unwrap();
    assert_eq!((event.connection, event.closed), (theirs, Some(Closed::ByReset)));
    assert_eq!(pair.server.read(pair.now, theirs, &mut into), Err(HostError::Ended(Closed::ByReset)));
}

#[test]
fn an_outage_is_survived_and_a_peer_gone_for_good_given_up() {
    let mut pair = Pair::new();
    let (ours, theirs) = pair.open();
    let cut = Rc::new(Cell::new(false));
    let is_cut = Rc::clone(&cut);
    pair.lost = Box::new(move |_, _| is_cut.get());
    let bytes = stream(90_000);
    pair.client.write(pair.now, ours, &bytes).unwrap();
    pair.run(15);
    cut.set(true);
    pair.run(3_000);
    cut.set(false);
    pair.run(7_000);
    let (mut received, mut into) = (Vec::new(), [0; 5000]);
    while let Read::Bytes(n) = pair.server.read(pair.now, theirs, &mut into).unwrap() {
        received.extend_from_slice(&into[..n]);
    }
    assert!(received == bytes, "{} bytes", received.len());

    cut.set(true);
    while pair.client.next_event().is_some() {}
    pair.client.write(pair.now, ours, b"anybody?").unwrap();
    pair.run(20 * 60_000);
    let event = pair.client.next_event().expect("an event");
    assert_eq!(event.closed, Some(Closed::ByTimeout));
    pair.client.release(pair.now, ours).unwrap();
    pair.run(10);
    assert_eq!(pair.client.connections(), 0);
}

#[test]
fn nobody_answers_with_a_reset() {
    let mut server = Pair::new().server;
    let cases = [
        // (segment, the answer's flags)
        (segment(9, 5, 7, Flags::ACK, b""), Some(Flags::RST)),
        (segment(9, 5, 7, Flags::ACK | Flags::RST, b""), None),
        // A listener ignores what neither opens nor acknowledges.
        (segment(9, 5, 0, Flags::FIN, b""), None),
    ];
    for (packet, expected) in cases {
        let answers = answers(&mut server, Instant::ZERO, &packet);
        let flags: Vec<Flags> = answers.iter().map(|s| s.flags).collect();
        assert_eq!(flags, Vec::from_iter(expected));
    }
    assert_eq!(server.connections(), 0);
}

#[test]
fn embryonic_connections_are_bounded_and_do_not_last() {
    let mut server = host(SERVER);
    server.config.tcp.backlog = 10;
    server.config.tcp.syn_cookies = false;
    server.listen("192.0.2.2:80".parse().unwrap()).unwrap();
    for port in 1..=25 {
        let syn = segment(port, 5, 0, Flags::SYN, b"");
        answers(&mut server, Instant::ZERO, &syn);
    }
    assert_eq!((server.connections(), server.half_open()), (0, 10));
    assert_eq!(server.stats().syns_dropped, 15);
    let mut now = Instant::ZERO;
    while let Some(at) = server.next_timer() {
        now = at;
        server.on_timer(now);
        server.poll_transmit(now, &mut |_: &[u8]| {});
    }
    assert_eq!((server.connections(), server.half_open(), server.has_events()), (0, 0, false));
    assert!(now <= Instant::from_millis(64_000), "{now}");
    // There is room again.
    let syn = segment(99, 5, 0, Flags::SYN, b"");
    assert_eq!(answers(&mut server, now, &syn).len(), 1);
}

#[test]
fn challenge_acks_are_limited() {
    let mut server = Pair::new().server;
    let syn = segment(9, 5, 0, Flags::SYN, b"");
    let isn = answers(&mut server, Instant::ZERO, &syn)[0].seq.0;
    let ack = segment(9, 6, isn + 1, Flags::ACK, b"");
    answers(&mut server, Instant::ZERO, &ack);
    // A reset outside the window draws nothing, and leaves the budget alone.
    let outside = segment(9, 5, 0, Flags::RST, b"");
    let drawn: usize = (0..5000).map(|_| answers(&mut server, Instant::ZERO, &outside).len()).sum();
    assert_eq!((drawn, server.stats().challenges_withheld), (0, 0));
    let blind = segment(9, 6 + 1000, 0, Flags::RST, b"");
    let drawn: usize = (0..5000).map(|_| answers(&mut server, Instant::ZERO, &blind).len()).sum();
    assert!((500..1500).contains(&drawn), "{drawn}");
    assert_eq!(server.stats().challenges_withheld, 5000 - drawn as u64);
    // One that is exact is obeyed all the same.
    let exact = segment(9, 6, 0, Flags::RST, b"");
    answers(&mut server, Instant::ZERO, &exact);
    let closed = std::iter::from_fn(|| server.next_event()).find_map(|event| event.closed);
    assert_eq!(closed, Some(Closed::ByReset));
}

#[test]
fn what_arrived_stays_as_it_was() {
    let mut pair = Pair::new();
    let (_, theirs) = pair.open();
    // Another client without timestamps, so that all depends on sequence numbers.
    let now = pair.now;
    let syn = segment(9, 0, 0, Flags::SYN, b"");
    let isn = answers(&mut pair.server, now, &syn)[0].seq.0;
    let mut give = |seq, ack: u32, payload: &[u8]| {
        let packet = segment(9, seq, isn.wrapping_add(ack), Flags::ACK, payload);
        answers(&mut pair.server, now, &packet);
    };
    give(1, 1, b"");
    give(4, 1, b"def");
    give(4, 1, b"DEF"); // again, and otherwise
    give(7, 90, b"xyz"); // acknowledges what was never sent: not taken
    give(1, 1, b"abcDEFghi");
    let event = std::iter::from_fn(|| pair.server.next_event());
    let id = event.map(|e| e.connection).find(|id| *id != theirs);
    let mut into = [0; 100];
    let read = pair.server.read(now, id.unwrap(), &mut into);
    assert_eq!(read, Ok(Read::Bytes(9)));
    assert_eq!(&into[..9], b"abcdefghi");
}

#[test]
fn out_of_order_data_of_all_connections_is_bounded_at_the_expense_of_the_greediest() {
    let mut server = Pair::new().server;
    server.config.most_out_of_order = 20_000;
    let now = Instant::ZERO;
    let isns: Vec<u32> = (0..20)
        .map(|port| {
            let isn = answers(&mut server, now, &segment(port + 1, 0, 0, Flags::SYN, b""))[0].seq.0;
            answers(&mut server, now, &segment(port + 1, 1, isn.wrapping_add(1), Flags::ACK, b""));
            isn
        })
        .collect();
    // Returns the acknowledgment number.
    let give = |server: &mut Host, port: u16, seq, payload: &[u8]| {
        let ack = isns[usize::from(port) - 1].wrapping_add(1);
        let answers = answers(server, now, &segment(port, seq, ack, Flags::ACK, payload));
        answers.last().map_or(0, |segment| segment.ack.0)
    };
    give(&mut server, 1, 4, b"def");
    for i in 0..2000 {
        give(&mut server, 2 + (i % 19) as u16, 10 + 2 * i, b"x");
        assert!(server.table.out_of_order() <= 20_000);
    }
    assert!(server.stats().out_of_order_discarded >= 10);
    // The most modest connection has kept its data, and the greediest take theirs again.
    assert_eq!(give(&mut server, 1, 1, b"abc"), 7);
    assert_eq!(give(&mut server, 2, 1, &[0; 9]), 10);
    let next = give(&mut server, 2, 10, &[0; 100]);
    assert!(next >= 110, "{next}");
    for port in 1..=20 {
        give(&mut server, port, 1, &[0; 5000]);
    }
    assert_eq!(server.table.out_of_order(), 0);
}

#[test]
fn a_syn_in_time_wait_opens_anew() {
    let mut pair = Pair::new();
    let now = Instant::ZERO;
    let server = &mut pair.server;
    let syn = segment(9, 100, 0, Flags::SYN, b"");
    let isn = answers(server, now, &syn)[0].seq.0;
    answers(server, now, &segment(9, 101, isn.wrapping_add(1), Flags::ACK, b""));
    let id = server.next_event().unwrap().connection;
    server.release(now, id).unwrap();
    server.poll_transmit(now, &mut |_: &[u8]| {});
    let fin = segment(9, 101, isn.wrapping_add(2), Flags::ACK | Flags::FIN, b"");
    answers(server, now, &fin);
    assert_eq!((server.connections(), server.time_waits()), (0, 1));
    let old = answers(server, now, &segment(9, 50, 0, Flags::SYN, b""));
    assert_eq!(old[0].flags, Flags::ACK, "an old SYN is challenged");
    let new = answers(server, now, &segment(9, 200, 0, Flags::SYN, b""));
    assert_eq!(new[0].flags, Flags::SYN | Flags::ACK);
    // The clock of sequence numbers stands still here: without more, the new ones would be the old ones.
    assert_eq!(new[0].seq.since(SeqNumber(isn)), 2 + 65_537);
    assert_eq!((server.connections(), server.half_open()), (0, 1));
}

#[test]
fn segments_fit_a_path_that_says_it_takes_less() {
    const TAKES: usize = 600;
    let mut pair = Pair::new();
    let (ours, theirs) = pair.open();
    // The path loses what is too long and says so once a packet.
    let (too_long, told) = std::sync::mpsc::channel();
    pair.lost = Box::new(move |to_server, packet| {
        let lost = to_server && packet.len() > TAKES;
        if lost {
            let _ = too_long.send(packet[..28].to_vec());
        }
        lost
    });
    let bytes = stream(200_000);
    let mut written = pair.client.write(pair.now, ours, &bytes).unwrap();
    pair.run(10);
    let quoted = told.recv().unwrap();
    let message = too_big(&quoted, TAKES as u16);
    pair.hand_in(false, &message);
    let (mut received, mut into) = (Vec::new(), [0; 5000]);
    while received.len() < bytes.len() && pair.now < Instant::from_millis(60_000) {
        pair.run(10);
        written += pair.client.write(pair.now, ours, &bytes[written..]).unwrap();
        while let Read::Bytes(n) = pair.server.read(pair.now, theirs, &mut into).unwrap() {
            received.extend_from_slice(&into[..n]);
        }
    }
    assert!(received == bytes, "{} bytes", received.len());
    // Ten were out before the path said anything; probes and timeouts are cut.
    assert!(told.try_iter().count() <= 10);
}

/// "Fragmentation needed" about a packet that began like this.
fn too_big(quoted: &[u8], mtu: u16) -> Vec<u8> {
    let sum = |bytes: &[u8]| {
        let words = bytes.chunks(2).map(|w| u32::from(w[0]) << 8 | u32::from(w[1]));
        let sum: u32 = words.sum();
        !(((sum & 0xffff) + (sum >> 16)) as u16)
    };
    let mut packet = vec![0x45, 0, 0, 56, 0, 1, 0x40, 0, 64, 1, 0, 0, 192, 0, 2, 9];
    packet.extend([192, 0, 2, 1, 3, 4, 0, 0, 0, 0]);
    packet.extend(mtu.to_be_bytes());
    packet.extend_from_slice(quoted);
    let header = sum(&packet[..20]);
    packet[10..12].copy_from_slice(&header.to_be_bytes());
    let message = sum(&packet[20..]);
    packet[22..24].copy_from_slice(&message.to_be_bytes());
    packet
}

/// Sets the checksum of an IPv4 header anew.
fn repair(packet: &mut [u8]) {
    packet[10..12].fill(0);
    let sum = recoup_wire::Sum::default().plus(&packet[..20]).checksum();
    packet[10..12].copy_from_slice(&sum.to_be_bytes());
}

#[test]
fn packets_of_any_kind_do_no_harm() {
    let mut pair = Pair::new();
    let (ours, theirs) = pair.open();
    let mut model = segment(9, 5, 7, Flags::ACK, b"payload");
    let mut state = 1_u64;
    let mut draw = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    for round in 0..50_000 {
        let mut packet = model.clone();
        match round % 4 {
            0 => packet.truncate(draw(model.len())),
            1 => packet.fill_with(|| draw(256) as u8),
            2 => packet[0] = [0x45, 0x46, 0x60, 0x4f][draw(4)],
            _ => {
                let at = draw(packet.len());
                packet[at] = draw(256) as u8;
            }
        }
        let to_server = draw(2) == 0;
        pair.hand_in(to_server, &packet);
        if round % 1000 == 0 {
            let ports = [9, 80, 40_000];
            model = segment(ports[draw(3)], draw(1 << 30) as u32, 7, Flags::SYN, b"data");
        }
    }
    pair.flying.clear();
    let bytes = stream(50_000);
    assert!(pair.transfer(ours, theirs, &bytes) == bytes);
}
