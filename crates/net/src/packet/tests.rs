use super::*;
use recoup_path::Packet as _;
use recoup_wire::{Endpoints, Payload, Segment, SeqNumber, encode};

fn segment(src: &str, dst: &str, seq: u32, flags: Flags, payload: &[u8]) -> Vec<u8> {
    let segment = Segment { seq: SeqNumber(seq), payload_len: payload.len() as u32, flags, ..Segment::default() };
    let endpoints = Endpoints { src: src.parse().unwrap(), dst: dst.parse().unwrap() };
    let mut bytes = Vec::new();
    encode(&segment, &endpoints, 1, Payload::Bytes(payload), &mut bytes).unwrap();
    bytes
}

fn packet(bytes: Vec<u8>) -> RelayedPacket {
    let (flow, tcp) = Connections::default().classify(&bytes);
    RelayedPacket {
        len: bytes.len(),
        header: VnetHeader::default(),
        buffer: bytes,
        number: 1,
        arrival: Instant::ZERO,
        flow,
        tcp,
        damaged: false,
    }
}

const UDP: [u8; 28] = {
    let mut bytes = [0; 28];
    [bytes[0], bytes[3], bytes[8], bytes[9]] = [0x45, 28, 64, 17];
    bytes
};

#[test]
fn connections_are_numbered_as_they_appear() {
    let (a, b, c) = ("100.64.0.2:1", "100.64.0.1:80", "[fd00::1]:1");
    let mut connections = Connections::default();
    let (syn, ack) = (Flags::SYN, Flags::ACK);
    let cases = [
        // (from, to, sequence number, flags, flow)
        (a, b, 7, syn, 0),
        (b, a, 100, syn | ack, 0),
        (a, b, 8, ack, 0),
        (c, "[fd00::2]:80", 7, syn, 1),
        // Again, lost on the way, and then another connection between the same ports.
        (a, b, 7, syn, 0),
        (a, b, 9, syn, 2),
        (b, a, 100, ack, 2),
        // One that was there before.
        ("100.64.0.2:2", b, 7, ack, 3),
        (b, "100.64.0.2:2", 7, ack, 3),
    ];
    for (src, dst, seq, flags, flow) in cases {
        let (found, tcp) = connections.classify(&segment(src, dst, seq, flags, b""));
        assert_eq!(found, FlowId(flow), "{src} > {dst} {seq} {flags}");
        assert_eq!(tcp.map(|tcp| tcp.flags), Some(flags));
    }
    for other in [&UDP[..], b"", b"\x45", &[0xff; 100]] {
        assert_eq!(connections.classify(other), (OTHERS, None));
    }
}

#[test]
fn late_packets_of_earlier_connections_take_no_number() {
    let (a, b) = ("100.64.0.2:1", "100.64.0.1:80");
    let mut connections = Connections::default();
    connections.count_from(FlowId(7));
    let (syn, ack, reset) = (Flags::SYN, Flags::ACK, Flags::RST);
    for (src, dst, seq, flags, flow) in [
        (b, "100.64.0.2:9", 4, reset, OTHERS),
        (b, "100.64.0.2:9", 4, syn | ack, OTHERS),
        (a, b, 7, syn, FlowId(7)),
        (b, a, 100, syn | ack, FlowId(7)),
        (b, "100.64.0.2:9", 5, ack, OTHERS),
        (a, b, 8, ack, FlowId(7)),
        ("100.64.0.2:9", b, 9, syn, FlowId(8)),
    ] {
        let (found, _) = connections.classify(&segment(src, dst, seq, flags, b""));
        assert_eq!(found, flow, "{src} > {dst} {seq} {flags}");
    }
}

#[test]
fn loss_rules_get_the_header_fields_they_count() {
    let data = packet(segment("1.1.1.1:1", "1.1.1.2:2", 9, Flags::ACK | Flags::FIN, b"abc"));
    let facts = data.tcp().unwrap();
    assert_eq!((facts.seq, facts.payload_len, facts.syn, facts.fin), (9, 3, false, true));
    assert!(packet(segment("1.1.1.1:1", "1.1.1.2:2", 9, Flags::ACK, b"")).tcp().is_some_and(TcpFacts::is_pure_ack));
    assert_eq!(packet(UDP.into()).tcp(), None);
}

#[test]
fn damage_is_one_bit_behind_the_ip_header() {
    for (src, dst, header) in [("1.1.1.1:1", "1.1.1.2:2", 20), ("[fd00::1]:1", "[fd00::2]:2", 40)] {
        let intact = segment(src, dst, 9, Flags::ACK, b"abc");
        for draw in [0, 1, 183, u64::MAX] {
            let mut damaged = packet(intact.clone());
            damaged.corrupt(draw);
            let flipped = intact.iter().zip(damaged.bytes()).map(|(a, b)| (a ^ b).count_ones());
            assert_eq!(flipped.sum::<u32>(), 1);
            assert_eq!(intact[..header], damaged.bytes()[..header]);
        }
    }
    let mut header_alone = packet(UDP[..20].into());
    header_alone.corrupt(3);
    assert_eq!(header_alone.bytes(), &UDP[..20]);
}

#[test]
fn link_local_packets_are_known_by_their_destination() {
    let mut v4 = UDP;
    assert!(!is_link_local(&v4));
    v4[16..20].copy_from_slice(&[224, 0, 0, 22]);
    assert!(is_link_local(&v4));
    let mut v6 = [0; 40];
    v6[0] = 0x60;
    for (destination, local) in [([0xff, 2], true), ([0xfe, 0x80], true), ([0xff, 5], false), ([0xfd, 0], false)] {
        v6[24..26].copy_from_slice(&destination);
        assert_eq!(is_link_local(&v6), local, "{destination:x?}");
    }
    assert!(!is_link_local(b"") && !is_link_local(&[0x60]));
}

#[test]
fn a_mark_keeps_the_checksum_right() {
    for service in 0..=255 {
        for (src, dst) in [("192.0.2.1:9", "192.0.2.2:80"), ("[fd00::1]:9", "[fd00::2]:80")] {
            let mut bytes = segment(src, dst, 7, Flags::ACK, b"data");
            if src.starts_with('[') {
                bytes[1] = service << 4 | bytes[1] & 0xf;
            } else {
                bytes[1] = service;
                bytes[10..12].fill(0);
                let sum =
                    bytes[..20].as_chunks::<2>().0.iter().map(|word| u32::from(u16::from_be_bytes(*word))).sum::<u32>();
                let sum = !((sum & 0xffff) + (sum >> 16)) as u16;
                bytes[10..12].copy_from_slice(&sum.to_be_bytes());
            }
            let mut packet = packet(bytes);
            assert_eq!(packet.is_ecn_capable(), service & 0b11 != 0);
            packet.mark();
            assert!(ecn(packet.bytes()).is_marked());
            assert!(recoup_wire::decode(packet.bytes()).is_ok(), "{service:#x}");
        }
    }
}
