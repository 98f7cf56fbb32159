use proptest::prelude::*;

use super::*;
use crate::complete_checksum;

/// DNS-like data from port 53 to 1000, the checksums added up apart from this crate (RFC 1071).
const BY_HAND: [u8; 31] = [
    0x45, 0, 0, 31, 0, 7, 0x40, 0, 64, 17, 0xb6, 0xc3, 192, 0, 2, 1, 192, 0, 2, 2, // IP
    0, 53, 3, 0xe8, 0, 11, 0xb3, 0x54, b'a', b'b', b'c',
];

fn ends(src: &str, dst: &str) -> Endpoints {
    Endpoints { src: src.parse().unwrap(), dst: dst.parse().unwrap() }
}

#[test]
fn a_packet_made_by_hand_is_read_and_written() {
    let decoded = decode_udp(&BY_HAND).unwrap();
    assert_eq!(decoded.endpoints, ends("192.0.2.1:53", "192.0.2.2:1000"));
    assert_eq!(&BY_HAND[decoded.payload.clone()], b"abc");
    assert!(decoded.is_sound(), "{decoded:?}");
    let mut ours = Vec::new();
    encode_udp(&decoded.endpoints, 7, b"abc", &mut ours).unwrap();
    assert_eq!(ours, BY_HAND);
}

#[test]
fn no_checksum_is_one_over_ipv4_alone() {
    let mut packet = BY_HAND;
    packet[26..28].fill(0);
    let decoded = decode_udp(&packet).unwrap();
    assert!(decoded.checksum.is_none() && decoded.is_sound());
    let mut v6 = Vec::new();
    encode_udp(&ends("[2001:db8::1]:53", "[2001:db8::2]:1000"), 0, b"abc", &mut v6).unwrap();
    assert!(decode_udp(&v6).unwrap().is_sound());
    v6[46..48].fill(0);
    let decoded = decode_udp(&v6).unwrap();
    assert!(decoded.checksum.is_none() && !decoded.is_sound());
}

#[test]
fn a_checksum_of_zero_is_sent_as_its_other_form() {
    // Two bytes that bring the sum to 0xffff.
    let ends = ends("192.0.2.1:53", "192.0.2.2:1000");
    let mut packet = Vec::new();
    encode_udp(&ends, 7, &[0, 0], &mut packet).unwrap();
    let rest = [packet[26], packet[27]];
    packet.clear();
    encode_udp(&ends, 7, &rest, &mut packet).unwrap();
    assert_eq!(packet[26..28], [0xff, 0xff]);
    assert!(decode_udp(&packet).unwrap().is_sound());
    let mut completed = Vec::new();
    encode_udp_headers(&ends, 7, 2, &mut completed).unwrap();
    completed.extend(rest);
    assert!(complete_checksum(&mut completed, 20, UDP_CHECKSUM_OFFSET.into()));
    assert_eq!(completed, packet);
}

#[test]
fn lengths_that_lie_are_errors_and_padding_is_ignored() {
    let with_len = |len: u16| {
        let mut packet = BY_HAND;
        packet[24..26].copy_from_slice(&len.to_be_bytes());
        packet[26..28].fill(0);
        decode_udp(&packet)
    };
    assert_eq!(with_len(7), Err(PacketError::Length { says: 7, available: 11 }));
    assert_eq!(with_len(12), Err(PacketError::Length { says: 12, available: 11 }));
    assert_eq!(with_len(9).unwrap().payload, 28..29);
    let cut = decode_udp(&BY_HAND[..30]).unwrap();
    assert!(cut.checksum == Some(Checksum::Unverifiable) && !cut.is_sound());
    assert_eq!(decode_udp(&BY_HAND[..27]), Err(PacketError::Cut(7)));
    let mut fragment = BY_HAND;
    fragment[6] = 0x20;
    assert_eq!(decode_udp(&fragment), Err(PacketError::Fragment));
    fragment[9] = 6;
    assert_eq!(decode_udp(&fragment), Err(PacketError::Protocol { found: 6, expected: 17 }));
}

#[test]
fn the_longest_datagram_is_the_longest() {
    let mut out = vec![7];
    let v4 = ends("192.0.2.1:53", "192.0.2.2:1000");
    let too_long = EncodeError::TooLong { len: 65_536, version: IpVersion::V4 };
    assert_eq!(encode_udp(&v4, 7, &[0; 65_508], &mut out), Err(too_long));
    let mixed = ends("192.0.2.1:53", "[2001:db8::2]:1000");
    assert_eq!(encode_udp(&mixed, 7, b"", &mut out), Err(EncodeError::MixedFamilies(mixed)));
    assert_eq!(out, [7]);
    out.clear();
    encode_udp(&v4, 7, &[0; 65_507], &mut out).unwrap();
    assert!(out.len() == 65_535 && decode_udp(&out).unwrap().is_sound());
}

proptest! {
    #[test]
    fn round_trip(
        v6: bool,
        (a, b, ports, id, may_fragment, ecn) in any::<([u8; 16], [u8; 16], [u16; 2], u16, bool, u8)>(),
        payload in proptest::collection::vec(any::<u8>(), 0..100),
        flip in any::<(usize, u8)>(),
    ) {
        let address = |bytes: [u8; 16]| match v6 {
            true => std::net::IpAddr::from(bytes),
            false => std::net::IpAddr::from(*bytes.first_chunk::<4>().unwrap()),
        };
        let endpoints = Endpoints {
            src: SocketAddr::new(address(a), ports[0]),
            dst: SocketAddr::new(address(b), ports[1]),
        };
        let ip = IpFields { id, dont_fragment: !may_fragment, ecn: Ecn::from_ip(ecn) };
        let mut packet = Vec::new();
        encode_udp(&endpoints, ip, &payload, &mut packet).unwrap();
        let decoded = decode_udp(&packet).unwrap();
        prop_assert!(decoded.is_sound());
        prop_assert_eq!(decoded.checksum, Some(Checksum::Correct));
        prop_assert_eq!((decoded.endpoints, decoded.ecn), (endpoints, ip.ecn));
        prop_assert_eq!(&packet[decoded.payload.clone()], &payload[..]);

        let header = if v6 { 40 } else { 20 };
        let mut completed = Vec::new();
        encode_udp_headers(&endpoints, ip, payload.len(), &mut completed).unwrap();
        completed.extend_from_slice(&payload);
        prop_assert_eq!(decode_udp(&completed).unwrap().checksum, Some(Checksum::Offloaded));
        complete_checksum(&mut completed, header, UDP_CHECKSUM_OFFSET.into());
        prop_assert_eq!(&completed, &packet);

        // A changed byte of what the checksum covers is found.
        let at = header + flip.0 % (packet.len() - header);
        packet[at] ^= flip.1 | 1;
        prop_assert!(!decode_udp(&packet).is_ok_and(|decoded| decoded.checksum == Some(Checksum::Correct)));
    }

    #[test]
    fn no_bytes_panic(
        first in prop_oneof![any::<u8>(), 0x45..=0x4f_u8, Just(0x60)],
        protocol in prop_oneof![any::<u8>(), Just(17), Just(0), Just(44), Just(51)],
        mut packet in proptest::collection::vec(any::<u8>(), 10..80),
    ) {
        packet[0] = first;
        packet[if first >> 4 == 6 { 6 } else { 9 }] = protocol;
        packet[4] = 0;
        packet[6..8].fill(0);
        if let Ok(decoded) = decode_udp(&packet) {
            prop_assert!(decoded.payload.end <= packet.len() && decoded.payload.len() <= decoded.payload_len);
        }
    }
}
