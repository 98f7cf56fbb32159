use proptest::prelude::*;

use super::*;
use crate::encode_udp;

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

fn udp_packet(src: &str, dst: &str, len: usize) -> Vec<u8> {
    let mut packet = Vec::new();
    let ends = Endpoints { src: src.parse().unwrap(), dst: dst.parse().unwrap() };
    encode_udp(&ends, 7, &vec![9; len], &mut packet).unwrap();
    packet
}

#[test]
fn an_echo_request_made_by_hand_is_read_and_written() {
    // RFC 792: type 8, code 0, identifier 7, sequence number 1; the checksums added up apart from this crate (RFC 1071).
    let by_hand = [
        0x45, 0, 0, 32, 0, 1, 0x40, 0, 64, 1, 0xb6, 0xd8, 192, 0, 2, 1, 192, 0, 2, 2, //
        8, 0, 0x19, 0x27, 0, 7, 0, 1, b'p', b'i', b'n', b'g',
    ];
    let decoded = decode_icmp(&by_hand).unwrap();
    assert_eq!(decoded.message, IcmpMessage::EchoRequest { identifier: 7, sequence: 1 });
    assert_eq!((decoded.checksum, decoded.ip_checksum_ok), (Checksum::Correct, true));
    assert_eq!(&by_hand[decoded.data.clone()], b"ping");
    assert_eq!(decoded.quoted(&by_hand), None);
    let mut ours = Vec::new();
    encode_icmp(decoded.src, decoded.dst, 1, decoded.message, b"ping", &mut ours).unwrap();
    assert_eq!(ours, by_hand);
}

#[test]
fn too_big_quotes_the_segment() {
    // RFC 1191 §4: the MTU stands in the low half of the second word.
    let quoted = [
        0x45, 0, 5, 220, 0, 1, 0x40, 0, 64, 6, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2, // 1500 bytes of TCP
        0x9c, 0x40, 0, 80, 0, 0, 1, 0,
    ];
    let mut packet = Vec::new();
    encode_icmp(ip("192.0.2.9"), ip("192.0.2.1"), 1, IcmpMessage::TooBig { mtu: 600 }, &quoted, &mut packet).unwrap();
    assert_eq!(packet[20..22], [3, 4]);
    assert_eq!(packet[24..28], [0, 0, 2, 88]);
    let decoded = decode_icmp(&packet).unwrap();
    let endpoints = Endpoints { src: "192.0.2.1:40000".parse().unwrap(), dst: "192.0.2.2:80".parse().unwrap() };
    let carried = QuotedHeader::Tcp { endpoints, seq: SeqNumber(256) };
    assert_eq!(decoded.quoted(&packet), Some(Quoted { src: endpoints.src.ip(), dst: endpoints.dst.ip(), carried }));
    // A byte less than RFC 792 has quoted does not name the segment.
    let short = decode_icmp(&packet[..packet.len() - 1]).unwrap();
    let carried = short.quoted(&packet[..packet.len() - 1]).unwrap().carried;
    assert_eq!(carried, QuotedHeader::Other { protocol: 6 });

    // RFC 4443 §3.2, with hop-by-hop options in the quoted packet.
    let mut quoted = vec![0x60, 0, 0, 0, 5, 0xa0, 0, 64];
    quoted.extend([ip("2001:db8::1"), ip("2001:db8::2")].iter().flat_map(|ip| match ip {
        IpAddr::V6(ip) => ip.octets(),
        IpAddr::V4(_) => [0; 16],
    }));
    quoted.extend([17, 0, 1, 4, 0, 0, 0, 0, 0, 53, 0, 99, 5, 0x98, 1, 2]);
    let mut packet = Vec::new();
    let big = IcmpMessage::TooBig { mtu: 1280 };
    encode_icmp(ip("2001:db8::9"), ip("2001:db8::1"), 1, big, &quoted, &mut packet).unwrap();
    assert_eq!(packet[40..42], [2, 0]);
    let decoded = decode_icmp(&packet).unwrap();
    assert_eq!((decoded.message, decoded.checksum), (big, Checksum::Correct));
    let endpoints = Endpoints { src: "[2001:db8::1]:53".parse().unwrap(), dst: "[2001:db8::2]:99".parse().unwrap() };
    assert_eq!(decoded.quoted(&packet).unwrap().carried, QuotedHeader::Udp(endpoints));
}

#[test]
fn a_length_of_rfc_4884_ends_the_quoted_packet() {
    let quoted = udp_packet("192.0.2.1:9", "192.0.2.2:53", 200);
    let mut data = quoted[..128].to_vec();
    // An extension behind 128 bytes, 32 words.
    data.extend([0x20, 0, 0, 0, 0, 8, 1, 1, 0, 0, 16, 1]);
    let mut packet = Vec::new();
    let message = IcmpMessage::TimeExceeded { code: 0 };
    encode_icmp(ip("192.0.2.9"), ip("192.0.2.1"), 1, message, &data, &mut packet).unwrap();
    for (words, end) in [(0, 140), (32, 128), (200, 140)] {
        packet[25] = words;
        let decoded = decode_icmp(&packet).unwrap();
        assert_eq!((decoded.message, decoded.data.clone()), (message, 28..28 + end));
        assert!(matches!(decoded.quoted(&packet).unwrap().carried, QuotedHeader::Udp(_)));
    }
}

#[test]
fn errors_quote_what_fits() {
    let v4 = udp_packet("192.0.2.1:9", "192.0.2.2:53", 1400);
    let v6 = udp_packet("[2001:db8::1]:9", "[2001:db8::2]:53", 1400);
    for (packet, src, dst, longest) in [(v4, "192.0.2.2", "192.0.2.1", 576), (v6, "2001:db8::2", "2001:db8::1", 1280)] {
        let mut error = Vec::new();
        let message = Unreachable::Port.message(if longest == 576 { IpVersion::V4 } else { IpVersion::V6 });
        encode_icmp(ip(src), ip(dst), 1, message, quotable(&packet), &mut error).unwrap();
        assert_eq!(error.len(), longest);
        let decoded = decode_icmp(&error).unwrap();
        let IcmpMessage::Unreachable { code } = decoded.message else { panic!("{decoded:?}") };
        assert_eq!(Unreachable::of_code(decoded.version(), code), Some(Unreachable::Port));
        assert!(matches!(decoded.quoted(&error).unwrap().carried, QuotedHeader::Udp(_)));
    }
}

#[test]
fn errors_are_told_from_other_messages() {
    let other = |kind| IcmpMessage::Other { kind, code: 0, rest: [0; 4] };
    // Redirect, timestamp; redirect, neighbour solicitation, an unknown error.
    for (version, kind, is_error) in [
        (IpVersion::V4, 5, true),
        (IpVersion::V4, 13, false),
        (IpVersion::V6, 137, true),
        (IpVersion::V6, 135, false),
        (IpVersion::V6, 100, true),
    ] {
        assert_eq!(other(kind).is_error(version), is_error, "{version:?} {kind}");
    }
    assert!(!IcmpMessage::EchoReply { identifier: 0, sequence: 0 }.is_error(IpVersion::V4));
    assert!(IcmpMessage::TooBig { mtu: 0 }.is_error(IpVersion::V6));
}

#[test]
fn what_is_unreachable_is_said_and_understood() {
    use Unreachable::*;
    for version in [IpVersion::V4, IpVersion::V6] {
        for why in [Net, Host, Protocol, Port, Prohibited] {
            match why.message(version) {
                IcmpMessage::Unreachable { code } => assert_eq!(Unreachable::of_code(version, code), Some(why)),
                message => assert_eq!(
                    (version, why, message),
                    (IpVersion::V6, Protocol, IcmpMessage::ParameterProblem { code: 1, pointer: 6 })
                ),
            }
        }
        assert_eq!(Unreachable::of_code(version, 200), None);
    }
}

fn any_message() -> impl Strategy<Value = IcmpMessage> {
    let echo = any::<(u16, u16)>();
    prop_oneof![
        echo.prop_map(|(identifier, sequence)| IcmpMessage::EchoRequest { identifier, sequence }),
        any::<(u16, u16)>().prop_map(|(identifier, sequence)| IcmpMessage::EchoReply { identifier, sequence }),
        // 4 is "fragmentation needed" over IPv4.
        any::<u8>().prop_filter("too big", |code| *code != 4).prop_map(|code| IcmpMessage::Unreachable { code }),
        any::<u16>().prop_map(|mtu| IcmpMessage::TooBig { mtu: mtu.into() }),
        any::<u8>().prop_map(|code| IcmpMessage::TimeExceeded { code }),
        any::<(u8, u8)>().prop_map(|(code, at)| IcmpMessage::ParameterProblem { code, pointer: at.into() }),
        any::<(u8, [u8; 4])>().prop_map(|(code, rest)| IcmpMessage::Other { kind: 200, code, rest }),
    ]
}

proptest! {
    #[test]
    fn round_trip(
        v6: bool,
        (a, b, id) in any::<([u8; 16], [u8; 16], u16)>(),
        message in any_message(),
        data in proptest::collection::vec(any::<u8>(), 0..100),
        flip in any::<(usize, u8)>(),
    ) {
        let address = |bytes: [u8; 16]| match v6 {
            true => IpAddr::from(bytes),
            false => IpAddr::from(*bytes.first_chunk::<4>().unwrap()),
        };
        let mut packet = Vec::new();
        encode_icmp(address(a), address(b), id, message, &data, &mut packet).unwrap();
        let decoded = decode_icmp(&packet).unwrap();
        prop_assert_eq!((decoded.src, decoded.dst, decoded.message), (address(a), address(b), message));
        prop_assert_eq!((decoded.checksum, decoded.ip_checksum_ok), (Checksum::Correct, true));
        prop_assert_eq!(&packet[decoded.data.clone()], &data[..]);
        let _ = decoded.quoted(&packet);
        let header = if v6 { 40 } else { 20 };
        let at = header + flip.0 % (packet.len() - header);
        packet[at] ^= flip.1 | 1;
        prop_assert!(decode_icmp(&packet).unwrap().checksum != Checksum::Correct);
    }

    #[test]
    fn no_bytes_panic(
        v6: bool,
        kind in prop_oneof![Just(1_u8), Just(2), Just(3), Just(11), Just(12), any::<u8>()],
        inner in prop_oneof![0x45..=0x4f_u8, Just(0x60), any::<u8>()],
        protocol in prop_oneof![Just(1_u8), Just(6), Just(17), Just(58), Just(0), Just(44), any::<u8>()],
        mut data in proptest::collection::vec(any::<u8>(), 0..100),
        cut in 0..150_usize,
    ) {
        for (at, byte) in [(0, inner), (if inner >> 4 == 6 { 6 } else { 9 }, protocol)] {
            if let Some(place) = data.get_mut(at) {
                *place = byte;
            }
        }
        let mut packet = Vec::new();
        let (src, dst) = if v6 { ("2001:db8::1", "2001:db8::2") } else { ("192.0.2.1", "192.0.2.2") };
        let message = IcmpMessage::Other { kind, code: 0, rest: [5; 4] };
        encode_icmp(ip(src), ip(dst), 1, message, &data, &mut packet).unwrap();
        let shown = &packet[..packet.len().min(cut)];
        if let Ok(decoded) = decode_icmp(shown) {
            prop_assert!(decoded.data.end <= shown.len());
            let _ = decoded.quoted(shown);
        }
    }
}
