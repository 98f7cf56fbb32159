//! What the programs make of single packets (BPF_PROG_TEST_RUN). They come from and go to the loopback interface, which
//! forwards nothing.

use super::*;
use aya::programs::{TestRun as _, TestRunOptions};
use recoup_wire::{Endpoints, Flags, Options, Payload, Segment, SeqNumber, encode};

// linux/bpf.h: TCX_NEXT is -1, TCX_DROP 2, TCX_REDIRECT 7.
const PASSES: u32 = u32::MAX;
const DROPPED: u32 = 2;
const REDIRECTED: u32 = 7;

/// The stack's initial sequence number.
const ISN: u32 = 9000;

/// A client's connection, as its packets arrive.
fn v4() -> Endpoints {
    Endpoints { src: "198.51.100.2:4000".parse().unwrap(), dst: "192.0.2.1:80".parse().unwrap() }
}

fn v6() -> Endpoints {
    Endpoints { src: "[2001:db8::2]:4000".parse().unwrap(), dst: "[2001:db8::1]:80".parse().unwrap() }
}

fn from_port(ends: Endpoints, port: u16) -> Endpoints {
    Endpoints { src: SocketAddr::new(ends.src.ip(), port), ..ends }
}

fn segment(flags: Flags, seq: u32, ack: u32) -> Segment {
    Segment { seq: SeqNumber(seq), ack: SeqNumber(ack), payload_len: 0, window: 500, flags, options: Options::NONE }
}

/// A frame to the hardware address of the loopback interface.
fn frame(ends: Endpoints, segment: &Segment) -> Vec<u8> {
    let ether_type: [u8; 2] = if ends.src.is_ipv4() { [0x08, 0x00] } else { [0x86, 0xdd] };
    let mut frame = [&[0; 12], &ether_type[..]].concat();
    encode(segment, &ends, 9, Payload::Fill(7), &mut frame).unwrap();
    frame
}

/// A port redirect, its connections, and what happens at it.
struct Case(PortRedirect, ConnectionTable);

impl Case {
    /// With port 80 of both hosts.
    fn new() -> Option<Self> {
        let (redirect, table) = permitted(PortRedirect::load(1))?;
        let mut case = Self(redirect, table);
        for ends in [v4(), v6()] {
            case.0.take(ends.dst).unwrap();
        }
        Some(case)
    }

    fn run(&mut self, program: &str, frame: &[u8]) -> u32 {
        let options = TestRunOptions { data_in: Some(frame), ..TestRunOptions::new() };
        self.0.program(program).unwrap().test_run(options).unwrap().return_value
    }

    fn arrives(&mut self, frame: &[u8]) -> u32 {
        self.run(TO_STACK, frame)
    }

    fn receive(&mut self, ends: Endpoints, flags: Flags, ack: u32) -> u32 {
        self.arrives(&frame(ends, &segment(flags, 1, ack)))
    }

    /// The stack sends this.
    fn send(&mut self, ends: Endpoints, flags: Flags, seq: u32) -> u32 {
        self.run(FROM_STACK, &frame(ends.reverse(), &segment(flags, seq, 2)))
    }

    /// A client connects.
    fn connect(&mut self, ends: Endpoints) {
        assert_eq!(self.receive(ends, Flags::SYN, 0), REDIRECTED);
        assert_eq!(self.send(ends, Flags::SYN | Flags::ACK, ISN), REDIRECTED);
        assert_eq!(self.receive(ends, Flags::ACK, ISN + 1), REDIRECTED);
    }

    /// Handshakes, connections, and those that are over.
    fn entries(&self) -> [usize; 3] {
        let map = |name| self.0.object.map(name).unwrap();
        let begun = HashMap::<_, ConnectionKey, [u8; 16]>::try_from(map("half_open")).unwrap().keys().count();
        let over = HashMap::<_, ConnectionKey, [u8; 8]>::try_from(map("closed")).unwrap().keys().count();
        [begun, self.1.count(), over]
    }
}

#[test]
fn a_connection_belongs_to_the_stack_from_its_syn_to_its_end() {
    let Some(mut case) = Case::new() else { return };
    for ends in [v4(), v6()] {
        assert_eq!(case.receive(ends, Flags::ACK, 77), PASSES);
        case.connect(ends);
        assert_eq!(case.entries(), [0, 1, 0]);
        assert_eq!(case.receive(ends, Flags::ACK, 77), REDIRECTED);
        assert_eq!(case.receive(ends, Flags::ACK | Flags::FIN, ISN + 1), REDIRECTED);
        assert_eq!(case.send(ends, Flags::ACK | Flags::FIN, ISN + 1), REDIRECTED);
        assert_eq!(case.entries(), [0, 0, 1]);
        assert_eq!(case.receive(ends, Flags::ACK | Flags::FIN, ISN + 2), REDIRECTED);
        assert_eq!(case.send(ends, Flags::RST, ISN + 2), REDIRECTED);
        assert_eq!(case.receive(ends, Flags::ACK, ISN + 2), PASSES);
        assert_eq!(case.entries(), [0, 0, 0]);
    }
    let counts = case.0.counts();
    assert_eq!((counts.to_stack, counts.from_stack, counts.without_route, counts.crowded), (10, 6, 0, 0));
}

#[test]
fn other_ports_addresses_and_ends_are_the_kernels() {
    let Some(mut case) = Case::new() else { return };
    let other_port = Endpoints { dst: "192.0.2.1:81".parse().unwrap(), ..v4() };
    let other_address = Endpoints { dst: "192.0.2.3:80".parse().unwrap(), ..v4() };
    for ends in [other_port, other_address, v4().reverse()] {
        assert_eq!(case.receive(ends, Flags::SYN, 0), PASSES);
        assert_eq!(case.send(ends, Flags::SYN | Flags::ACK, ISN), DROPPED);
    }
    case.connect(v4());
    for port in [4001, 3999] {
        assert_eq!(case.receive(from_port(v4(), port), Flags::ACK, ISN + 1), PASSES);
    }
    assert_eq!(case.0.counts().not_taken, 3);
}

#[test]
fn a_forged_syn_does_not_take_a_connection_of_another_process() {
    let Some(mut case) = Case::new() else { return };
    assert_eq!(case.receive(v4(), Flags::SYN, 0), REDIRECTED);
    // Before and after the stack answers, segments of the other process's connection go on.
    assert_eq!(case.receive(v4(), Flags::ACK, 123_456), PASSES);
    assert_eq!(case.send(v4(), Flags::SYN | Flags::ACK, ISN), REDIRECTED);
    assert_eq!(case.receive(v4(), Flags::ACK, 123_456), PASSES);
    assert_eq!(case.receive(v4(), Flags::ACK | Flags::FIN, 123_456), PASSES);
    // The sender of the SYN may still connect, with the first or the second of two cookies.
    assert_eq!(case.send(v4(), Flags::SYN | Flags::ACK, 2 * ISN), REDIRECTED);
    assert_eq!(case.receive(v4(), Flags::ACK, ISN + 1), REDIRECTED);
    assert_eq!(case.entries(), [0, 1, 0]);
}

#[test]
fn a_reset_ends_a_connection_and_a_forged_one_does_not() {
    let Some(mut case) = Case::new() else { return };
    case.connect(v4());
    assert_eq!(case.receive(v4(), Flags::RST, 0), REDIRECTED);
    assert_eq!(case.entries(), [0, 0, 1]);
    assert_eq!(case.receive(v4(), Flags::RST, 0), REDIRECTED);
    assert_eq!(case.entries(), [0, 0, 1]);
    assert_eq!(case.receive(v4(), Flags::ACK, 55), REDIRECTED);
    assert_eq!(case.entries(), [0, 1, 0]);
    // A handshake that is reset.
    let other = from_port(v4(), 4001);
    assert_eq!(case.receive(other, Flags::SYN, 0), REDIRECTED);
    assert_eq!(case.receive(other, Flags::RST, 0), REDIRECTED);
    assert_eq!(case.send(other, Flags::RST | Flags::ACK, 0), REDIRECTED);
    assert_eq!(case.receive(other, Flags::RST, 0), PASSES);
}

#[test]
fn a_port_that_is_drained_keeps_its_connections_and_handshakes_alone() {
    let Some(mut case) = Case::new() else { return };
    case.connect(v4());
    let [begun, over, new] = [4001, 4002, 4003].map(|port| from_port(v4(), port));
    assert_eq!(case.receive(begun, Flags::SYN, 0), REDIRECTED);
    case.connect(over);
    case.receive(over, Flags::RST, 0);
    case.0.drain(v4().dst).unwrap();
    assert_eq!(case.receive(v4(), Flags::ACK, 5), REDIRECTED);
    assert_eq!(case.receive(v4(), Flags::SYN, 0), REDIRECTED);
    assert_eq!(case.receive(begun, Flags::SYN, 0), REDIRECTED);
    assert_eq!(case.send(begun, Flags::SYN | Flags::ACK, ISN), REDIRECTED);
    assert_eq!(case.receive(begun, Flags::ACK, ISN + 1), REDIRECTED);
    assert_eq!(case.receive(new, Flags::SYN, 0), PASSES);
    // The client uses the port of a connection that is over for one to the next process.
    assert_eq!(case.receive(over, Flags::SYN, 0), PASSES);
    assert_eq!(case.receive(over, Flags::ACK, 1), PASSES);
    // The other port is not concerned.
    assert_eq!(case.receive(v6(), Flags::SYN, 0), REDIRECTED);
    case.0.take(v4().dst).unwrap();
    assert_eq!(case.receive(new, Flags::SYN, 0), REDIRECTED);
    case.0.release(v4().dst).unwrap();
    case.0.release(v4().dst).unwrap();
    assert_eq!(case.receive(v4(), Flags::ACK, 5), PASSES);
    assert_eq!(case.send(v4(), Flags::ACK, 5), DROPPED);
}

#[test]
fn connections_that_the_stack_begins_are_its_own() {
    let Some(mut case) = Case::new() else { return };
    for ends in [v4(), v6()] {
        assert_eq!(case.receive(ends, Flags::SYN | Flags::ACK, ISN + 1), PASSES);
        // No interface is known, and loopback does not forward.
        assert_eq!(case.send(ends, Flags::SYN, ISN), DROPPED);
        assert_eq!(case.receive(ends, Flags::SYN | Flags::ACK, ISN + 1), REDIRECTED);
        assert_eq!(case.send(ends, Flags::ACK, ISN + 1), REDIRECTED);
    }
    assert_eq!(case.0.counts().without_route, 2);
}

/// An ICMP error of a router, about what the stack sent.
fn icmp_error(ends: Endpoints, kind: u8, code: u8) -> Vec<u8> {
    let sent = frame(ends.reverse(), &segment(Flags::ACK, 1, 1))[14..].to_vec();
    let message = [&[kind, code, 0, 0, 0, 0, 5, 0][..], &sent].concat();
    let mut frame = frame(ends, &segment(Flags::ACK, 1, 1));
    let header = if ends.src.is_ipv4() { 34 } else { 54 };
    frame.truncate(header);
    frame[if ends.src.is_ipv4() { 23 } else { 20 }] = if ends.src.is_ipv4() { 1 } else { 58 };
    // The router's address.
    frame[if ends.src.is_ipv4() { 26 } else { 22 }] ^= 1;
    frame.extend(message);
    frame
}

#[test]
fn icmp_errors_follow_the_connection_that_they_quote() {
    let Some(mut case) = Case::new() else { return };
    for (ends, kinds, others) in [(v4(), &[3][..], [0, 8, 11, 5]), (v6(), &[1, 2][..], [3, 128, 135, 136])] {
        for kind in kinds {
            assert_eq!(case.arrives(&icmp_error(ends, *kind, 4)), PASSES);
        }
        case.connect(ends);
        for kind in kinds {
            assert_eq!(case.arrives(&icmp_error(ends, *kind, 4)), REDIRECTED);
            assert_eq!(case.arrives(&icmp_error(from_port(ends, 4001), *kind, 4)), PASSES);
            // To another address than that of the packet.
            let mut other = icmp_error(ends, *kind, 4);
            other[if ends.src.is_ipv4() { 33 } else { 53 }] ^= 1;
            assert_eq!(case.arrives(&other), PASSES);
        }
        for kind in others {
            assert_eq!(case.arrives(&icmp_error(ends, kind, 0)), PASSES);
        }
    }
}

/// The fragments of a segment of 100 bytes, the second at 64 bytes of the payload.
fn fragments(ends: Endpoints, id: u8) -> [Vec<u8>; 2] {
    let whole = frame(ends, &Segment { payload_len: 100, ..segment(Flags::ACK, 1, 1) });
    if ends.src.is_ipv4() {
        let header = |flags: [u8; 2]| {
            let mut header = whole[..34].to_vec();
            header[18..20].copy_from_slice(&[0, id]);
            header[20..22].copy_from_slice(&flags);
            header
        };
        [[&header([0x20, 0])[..], &whole[34..98]].concat(), [&header([0, 8])[..], &whole[98..]].concat()]
    } else {
        let mut header = whole[..54].to_vec();
        header[20] = 44;
        let more = [6, 0, 0, 1, 0, 0, 0, id];
        let last = [6, 0, 0, 64, 0, 0, 0, id];
        [[&header[..], &more, &whole[54..118]].concat(), [&header[..], &last, &whole[118..]].concat()]
    }
}

#[test]
fn fragments_follow_the_first_of_their_packet() {
    let Some(mut case) = Case::new() else { return };
    for ends in [v4(), v6()] {
        let [first, second] = fragments(ends, 1);
        assert_eq!((case.arrives(&first), case.arrives(&second)), (PASSES, PASSES));
        case.connect(ends);
        assert_eq!(case.arrives(&second), PASSES);
        assert_eq!((case.arrives(&first), case.arrives(&second)), (REDIRECTED, REDIRECTED));
        let [_, other] = fragments(ends, 2);
        assert_eq!(case.arrives(&other), PASSES);
    }
}

#[test]
fn other_frames_are_the_kernels() {
    let Some(mut case) = Case::new() else { return };
    for ends in [v4(), v6()] {
        case.connect(ends);
        let whole = frame(ends, &segment(Flags::ACK, 1, 1));
        let with = |at: usize, byte: u8| {
            let mut frame = whole.clone();
            frame[at] = byte;
            frame
        };
        let protocol = if ends.src.is_ipv4() { 23 } else { 20 };
        // With a VLAN tag; to another host; UDP; another version; a cut header.
        let vlan = [&whole[..12], &[0x81, 0, 0, 5], &whole[12..]].concat();
        let mut others = vec![vlan, with(0, 2), with(protocol, 17), with(14, 0x15)];
        others.push(whole[..whole.len() - 1].to_vec());
        for other in others {
            assert_eq!(case.arrives(&other), PASSES);
        }
        assert_eq!(case.arrives(&whole), REDIRECTED);
    }
    // Destination options before TCP (RFC 8200 §4.6).
    let whole = frame(v6(), &segment(Flags::ACK, 1, 1));
    let mut extended = [&whole[..54], &[6, 0, 1, 4, 0, 0, 0, 0], &whole[54..]].concat();
    extended[20] = 60;
    assert_eq!(case.arrives(&extended), PASSES);
}

#[test]
fn a_flood_of_syns_leaves_connections_and_new_handshakes_alone() {
    const FLOOD: u32 = 200_000;
    let Some(mut case) = Case::new() else { return };
    case.connect(v4());
    let mut syn = frame(v4(), &segment(Flags::SYN, 1, 0));
    for number in 0..FLOOD {
        // A source of its own.
        syn[26..30].copy_from_slice(&(0x0b00_0000 + number).to_be_bytes());
        assert_eq!(case.arrives(&syn), REDIRECTED);
        if number % 1000 == 0 {
            case.connect(from_port(v4(), 5000 + (number / 1000) as u16));
        }
    }
    assert_eq!(case.receive(v4(), Flags::ACK, 5), REDIRECTED);
    let [begun, connections, _] = case.entries();
    assert!(connections == 201 && (100_000..=1 << 17).contains(&begun), "{connections} {begun}");
    assert_eq!(case.0.counts().crowded, 0);
    // The answer to a SYN whose entry is gone makes an entry.
    let first = Endpoints { src: "11.0.0.0:4000".parse().unwrap(), ..v4() };
    case.send(first, Flags::SYN | Flags::ACK, ISN);
    assert_eq!(case.receive(first, Flags::ACK, ISN + 1), REDIRECTED);
}

#[test]
fn connections_without_a_packet_for_long_are_forgotten_when_asked() {
    let Some(mut case) = Case::new() else { return };
    case.connect(v4());
    assert_eq!(case.1.forget_idle(Duration::from_secs(60)).unwrap(), 0);
    assert_eq!(case.1.count(), 1);
    std::thread::sleep(Duration::from_millis(60));
    assert_eq!(case.1.forget_idle(Duration::from_millis(20)).unwrap(), 1);
    assert_eq!(case.1.count(), 0);
    assert_eq!(case.receive(v4(), Flags::ACK, 5), PASSES);
}

#[test]
fn a_connection_beyond_the_table_is_served_among_the_handshakes() {
    let Some(mut case) = Case::new() else { return };
    let mut key = [0; 40];
    // Seen when the host started.
    for number in 0..1_u32 << 20 {
        key[..4].copy_from_slice(&number.to_ne_bytes());
        case.1.connections.insert(key, [0; 16], 0).unwrap();
    }
    case.connect(v4());
    assert_eq!((case.0.counts().crowded, case.entries()), (1, [1, 1 << 20, 0]));
    for ack in [ISN + 1, ISN + 2, 7] {
        assert_eq!(case.receive(v4(), Flags::ACK, ack), REDIRECTED);
    }
    // One that the stack begins has no answer but by its entry.
    case.send(v6(), Flags::SYN, ISN);
    assert_eq!(case.receive(v6(), Flags::SYN | Flags::ACK, ISN + 1), REDIRECTED);
    assert_eq!(case.1.forget_idle(Duration::from_secs(1)).unwrap(), 1 << 20);
    case.connect(from_port(v4(), 4001));
    assert_eq!((case.0.counts().crowded, case.1.count()), (2, 1));
}

/// What a packet costs.
#[test]
#[ignore = "a measurement"]
fn cost() {
    let Some(mut case) = Case::new() else { return };
    case.connect(v4());
    case.connect(v6());
    let other = Endpoints { dst: "192.0.2.1:81".parse().unwrap(), ..v4() };
    let ack = segment(Flags::ACK, 1, 1);
    let mut cases = [
        ("to another port", TO_STACK, frame(other, &ack)),
        ("of a connection of the kernel", TO_STACK, frame(from_port(v4(), 4001), &ack)),
        ("of a connection, IPv4", TO_STACK, frame(v4(), &ack)),
        ("of a connection, IPv6", TO_STACK, frame(v6(), &ack)),
        ("from the stack, IPv4", FROM_STACK, frame(v4().reverse(), &ack)),
        ("from the stack, IPv6", FROM_STACK, frame(v6().reverse(), &ack)),
    ];
    for (what, program, frame) in &mut cases {
        let is_repeatable = *program == TO_STACK;
        let program = case.0.program(program).unwrap();
        let run = |repeat| {
            let options = TestRunOptions { data_in: Some(frame), repeat, ..TestRunOptions::new() };
            program.test_run(options).unwrap().duration
        };
        // `from_stack` makes room for a header each time. The clock is read in each single run, too.
        let time =
            if is_repeatable { run(1_000_000) } else { (0..100_000).map(|_| run(1)).sum::<Duration>() / 100_000 };
        println!("{what}: {time:?}");
    }
    let mut syn = frame(v4(), &segment(Flags::SYN, 1, 0));
    let mut total = Duration::ZERO;
    for number in 0..400_000_u32 {
        syn[26..30].copy_from_slice(&(0x0b00_0000 + number).to_be_bytes());
        let options = TestRunOptions { data_in: Some(&syn), ..TestRunOptions::new() };
        total += case.0.program(TO_STACK).unwrap().test_run(options).unwrap().duration;
    }
    println!("of a flood of SYNs: {:?}", total / 400_000);
}
