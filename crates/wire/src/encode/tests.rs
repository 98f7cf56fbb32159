use super::*;
use crate::{Checksum, Flags, Options, Timestamps, complete_checksum, decode};

#[test]
fn separate_headers_with_the_payload_are_the_packet() {
    let payload: Vec<u8> = (0..60_001_u32).map(|i| (i * i % 251) as u8).collect();
    let timestamps = Some(Timestamps { value: 3, echo: 4 });
    for (src, dst, tcp_at) in [("192.0.2.1:9", "192.0.2.2:80", 20), ("[2001:db8::1]:9", "[2001:db8::2]:80", 40)] {
        let endpoints = Endpoints { src: src.parse().unwrap(), dst: dst.parse().unwrap() };
        for len in [0, 1, 2, 1448, payload.len()] {
            let segment = Segment {
                payload_len: len as u32,
                flags: Flags::ACK,
                options: Options { timestamps, ..Options::NONE },
                ..Segment::default()
            };
            let (mut whole, mut joined) = (Vec::new(), Vec::new());
            let bytes = Payload::Bytes(&payload[..len]);
            encode(&segment, &endpoints, 5, bytes, &mut whole).unwrap();
            encode_headers(&segment, &endpoints, 5, &mut joined).unwrap();
            joined.extend_from_slice(&payload[..len]);
            let checksum = decode(&joined).unwrap().tcp_checksum;
            assert_eq!(checksum, Checksum::Offloaded, "{src}, {len} bytes");
            assert!(complete_checksum(&mut joined, tcp_at, 16));
            assert!(joined == whole, "{src}, {len} bytes");
        }
    }
}

#[test]
fn common_headers_give_the_same_packets_as_encode() {
    let payload: Vec<u8> = (0..3001_u32).map(|i| (i * i % 251) as u8).collect();
    let mut common = CommonHeaders::default();
    for (src, dst, ecn) in [
        ("192.0.2.1:9", "192.0.2.2:80", Ecn::ECT0),
        ("[2001:db8::1]:9", "[2001:db8::2]:80", Ecn::ECT0),
        ("192.0.2.1:9", "192.0.2.2:80", Ecn::NONE),
        ("[2001:db8::1]:9", "[2001:db8::2]:80", Ecn::NONE),
    ] {
        let endpoints = Endpoints { src: src.parse().unwrap(), dst: dst.parse().unwrap() };
        let mut segment = Segment {
            seq: SeqNumber(0xffff_fc00),
            ack: SeqNumber(0x1234_5678),
            window: 0xfedc,
            flags: Flags::ACK,
            ..Segment::default()
        };
        segment.options.timestamps = Some(Timestamps { value: 3, echo: 4 });
        common.set(&segment, &endpoints, ecn).unwrap();
        for (id, len) in [(1, 0), (2, 1), (0xffff, 1448), (4, 1449), (5, 3001)] {
            segment.payload_len = len as u32;
            let (mut whole, mut same) = (Vec::new(), vec![1, 2, 3]);
            let bytes = &payload[..len];
            let fields = IpFields::from(id).with_ecn(ecn);
            encode(&segment, &endpoints, fields, Payload::Bytes(bytes), &mut whole).unwrap();
            assert_eq!(decode(&whole).unwrap().ecn, ecn);
            let (front, back) = bytes.split_at(len / 3);
            let (seq, flags) = (segment.seq, segment.flags);
            let done = common.encode(seq, flags, id, [front, back], &mut same);
            assert_eq!(done, Ok(()));
            assert!(same[3..] == whole, "{src}, {len} bytes");
            segment.seq += len as u32;
            segment.flags = Flags::ACK | Flags::PSH;
        }
        let mut out = vec![7];
        let long = [&[0; 65_536][..], &[]];
        let done = common.encode(segment.seq, segment.flags, 1, long, &mut out);
        assert!(matches!(done, Err(EncodeError::TooLong { .. })), "{done:?}");
        assert_eq!(out, [7]);
    }
}

#[test]
fn headers_of_impossible_packets_are_errors() {
    let endpoints = |dst: &str| Endpoints { src: "192.0.2.1:9".parse().unwrap(), dst: dst.parse().unwrap() };
    let segment = |payload_len| Segment { payload_len, ..Segment::default() };
    let cases = [
        (segment(0), endpoints("[2001:db8::1]:9")),
        (segment(65_496), endpoints("192.0.2.2:9")),
        (segment(u32::MAX), endpoints("192.0.2.2:9")),
    ];
    for (segment, endpoints) in cases {
        let mut out = vec![7];
        assert!(encode_headers(&segment, &endpoints, 1, &mut out).is_err());
        assert_eq!(out, [7], "{segment}");
    }
}
