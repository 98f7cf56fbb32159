//! Decoding and encoding: packets sent by Linux, round trips, cut and malformed packets.

use proptest::prelude::*;

use super::*;
use crate::{EncodeError, IpFields, Options, Payload, SackBlocks, Timestamps, encode, ip_len};

/// A SYN from 192.0.2.1 to 192.0.2.2, as Linux 6.18 sent it through a TUN device.
const LINUX_SYN: &str = "4500003c049e40004006b21ac0000201c0000202\
    b8120050f99681e800000000a002faf00c7e0000\
    020405b40402080aeec399e4000000000103030a";
/// Five bytes, "hello".
const LINUX_DATA: &str = "4500003904a040004006b21bc0000201c0000202\
    b8120050f99681e9fffffff18018003fee350000\
    0101080aeec399e4000003e868656c6c6f";
/// An ACK with three SACK blocks, the peer's ISN just below the wrap.
const LINUX_SACK: &str = "4500005004a340004006b201c0000201c0000202\
    b8120050f99681eefffffff1f010003facf60000\
    0101080aeec399e4000003e8\
    0101051a000003d90000043d00000249000002ad000000b90000011d";
/// A SYN over IPv6, its flow label 0x8c7cf.
const LINUX_SYN_V6: &str = "6008c7cf00280640\
    20010db800000000000000000000000120010db8000000000000000000000002\
    cd4c0050359298d600000000a002fd208ff60000\
    020405a00402080ab17c1203000000000103030a";
/// An ACK over the loopback interface, where no hardware completes the checksum.
const LINUX_LOOPBACK: &str = "45000034ce51400040066e707f0000017f000001\
    a80e8b15cab26d9b033204d080100040fe280000\
    0101080a0b808248a835f498";

fn bytes(hex: &str) -> Vec<u8> {
    hex.as_bytes()
        .as_chunks()
        .0
        .iter()
        .map(|&[high, low]| {
            let digit = |c: u8| char::from(c).to_digit(16).unwrap() as u8;
            digit(high) << 4 | digit(low)
        })
        .collect()
}

fn ts(value: u32, echo: u32) -> Option<Timestamps> {
    Some(Timestamps { value, echo })
}

/// The fields of each packet as tshark reads them.
fn linux_packets() -> [(&'static str, &'static str, u16, Segment); 4] {
    let syn = Segment {
        seq: SeqNumber(0xf996_81e8),
        flags: Flags::SYN,
        window: 64240,
        options: Options {
            mss: Some(1460),
            sack_permitted: true,
            timestamps: ts(0xeec3_99e4, 0),
            window_scale: Some(10),
            ..Options::NONE
        },
        ..Segment::default()
    };
    let data = Segment {
        seq: syn.seq + 1,
        ack: SeqNumber(0xffff_fff1),
        flags: Flags::PSH | Flags::ACK,
        window: 63,
        payload_len: 5,
        options: Options { timestamps: ts(0xeec3_99e4, 1000), ..Options::NONE },
    };
    let isn = SeqNumber(0xffff_fff0);
    let sack = Segment {
        seq: data.seq + 5,
        flags: Flags::ACK,
        payload_len: 0,
        options: Options {
            sack: [1001, 601, 201].map(|offset| [isn + offset, isn + offset + 100]).into_iter().collect(),
            ..data.options
        },
        ..data
    };
    let syn_v6 = Segment {
        seq: SeqNumber(0x3592_98d6),
        window: 64800,
        options: Options { mss: Some(1440), timestamps: ts(0xb17c_1203, 0), ..syn.options },
        ..syn
    };
    let v4 = "192.0.2.1:47122 > 192.0.2.2:80";
    [
        (LINUX_SYN, v4, 0x049e, syn),
        (LINUX_DATA, v4, 0x04a0, data),
        (LINUX_SACK, v4, 0x04a3, sack),
        (LINUX_SYN_V6, "[2001:db8::1]:52556 > [2001:db8::2]:80", 0, syn_v6),
    ]
}

#[test]
fn linux_packets_are_read_and_written_byte_for_byte() {
    for (hex, endpoints, ip_id, segment) in linux_packets() {
        let mut packet = bytes(hex);
        let decoded = decode(&packet).unwrap();
        assert_eq!(decoded.segment, segment);
        assert_eq!(decoded.endpoints.to_string(), endpoints);
        assert_eq!(decoded.tcp_checksum, Checksum::Correct);
        assert!(decoded.ip_checksum_ok && decoded.options_complete);
        let version = decoded.endpoints.ip_version().unwrap();
        assert_eq!(decoded.ip_id, (version == IpVersion::V4).then_some(ip_id));
        assert_eq!(ip_len(&segment, version) as usize, packet.len());

        if version == IpVersion::V6 {
            // We send flow label 0; no checksum covers it.
            packet[1..4].fill(0);
        }
        let mut ours = vec![0xee];
        let payload = Payload::Bytes(&packet[decoded.payload]);
        encode(&segment, &decoded.endpoints, ip_id, payload, &mut ours).unwrap();
        assert_eq!(ours[0], 0xee, "what was in the buffer is kept");
        assert_eq!(ours[1..], packet, "{segment}");
    }
}

#[test]
fn a_partial_checksum_is_distinguished_from_a_wrong_one() {
    let mut packet = bytes(LINUX_LOOPBACK);
    assert_eq!(decode(&packet).unwrap().tcp_checksum, Checksum::Offloaded);
    packet[37] ^= 1;
    assert_eq!(decode(&packet).unwrap().tcp_checksum, Checksum::Wrong);
}

#[test]
fn every_flipped_bit_is_detected() {
    for hex in [LINUX_DATA, LINUX_SYN_V6] {
        let packet = bytes(hex);
        // Behind the lengths and protocol of either IP header.
        for bit in 8 * 10..8 * packet.len() {
            let mut flipped = packet.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            let noticed = decode(&flipped)
                .is_ok_and(|decoded| decoded.tcp_checksum == Checksum::Wrong || !decoded.ip_checksum_ok);
            // A changed data offset may be impossible.
            let offset = matches!(decode(&flipped), Err(DecodeError::DataOffset { .. }));
            assert!(noticed || offset, "bit {bit} of {hex}");
        }
    }
}

#[test]
fn a_cut_packet_is_read_as_far_as_it_goes() {
    let whole = bytes(LINUX_DATA);
    let cases = [
        // (snap length, payload captured, options complete)
        (57, 5, true),
        (56, 4, true),
        (52, 0, true),
        (51, 0, false),
        (40, 0, false),
    ];
    for (snaplen, captured, options_complete) in cases {
        let decoded = decode(&whole[..snaplen]).unwrap();
        assert_eq!(decoded.segment.payload_len, 5, "snap length {snaplen}");
        assert_eq!(decoded.payload.len(), captured, "snap length {snaplen}");
        assert_eq!(decoded.options_complete, options_complete);
        assert_eq!(decoded.segment.options.timestamps.is_some(), options_complete);
        let checksum = match snaplen {
            57 => Checksum::Correct,
            _ => Checksum::Unverifiable,
        };
        assert_eq!(decoded.tcp_checksum, checksum);
    }
    assert_eq!(decode(&whole[..39]), Err(DecodeError::TcpCut(19)));
    assert_eq!(decode(&whole[..20]), Err(DecodeError::TcpCut(0)));
    for len in 0..20 {
        assert!(matches!(decode(&whole[..len]), Err(DecodeError::Ip(_))));
    }
}

#[test]
fn options_behind_a_malformed_one_are_unknown() {
    let mut packet = bytes(LINUX_SACK);
    // The length of the SACK option, one block too long.
    packet[55] += 8;
    let decoded = decode(&packet).unwrap();
    assert!(!decoded.options_complete);
    assert_eq!(decoded.segment.options.sack, SackBlocks::NONE);
    assert_eq!(decoded.segment.options.timestamps, ts(0xeec3_99e4, 1000));
    assert_eq!(decoded.tcp_checksum, Checksum::Wrong);
}

#[test]
fn wrong_lengths_in_captures_are_corrected() {
    // Ethernet pads short frames; the padding is not payload.
    let mut padded = bytes(LINUX_DATA);
    padded.extend([0; 3]);
    let decoded = decode(&padded).unwrap();
    assert_eq!((decoded.payload, decoded.segment.payload_len), (52..57, 5));
    assert_eq!(decoded.tcp_checksum, Checksum::Correct);
    // Segmentation offload leaves IPv4's length 0: the packet ends where the capture does.
    // So it does for any length shorter than the header.
    for len in [0, 19] {
        let mut offloaded = bytes(LINUX_DATA);
        offloaded[2..4].copy_from_slice(&[0, len]);
        let decoded = decode(&offloaded).unwrap();
        assert_eq!((decoded.payload, decoded.segment.payload_len), (52..57, 5));
    }
    // And for IPv6.
    let mut offloaded = bytes(LINUX_SYN_V6);
    offloaded[4..6].fill(0);
    let decoded = decode(&offloaded).unwrap();
    assert_eq!((decoded.payload, decoded.segment.payload_len), (80..80, 0));
    assert_eq!(decoded.tcp_checksum, Checksum::Correct);
}

#[test]
fn ipv6_extension_headers_are_skipped() {
    let mut packet = bytes(LINUX_SYN_V6);
    // Destination options of 8 bytes, all padding.
    packet.splice(40..40, [6, 0, 1, 4, 0, 0, 0, 0]);
    packet[5] += 8;
    packet[6] = 60;
    let decoded = decode(&packet).unwrap();
    assert_eq!(decoded.segment, linux_packets()[3].3);
    assert_eq!(decoded.payload, 88..88);
    assert_eq!(decoded.tcp_checksum, Checksum::Correct);
}

#[test]
fn packets_without_tcp_are_errors() {
    let edit = |hex, at: usize, value| {
        let mut packet = bytes(hex);
        packet[at] = value;
        decode(&packet).unwrap_err().to_string()
    };
    let cases = [
        (LINUX_DATA, 9, 17, "IP protocol 17: 6 (TCP) expected"),
        (LINUX_SYN_V6, 6, 58, "IP protocol 58: 6 (TCP) expected"),
        // The "more fragments" bit, and a fragment offset.
        (LINUX_DATA, 6, 0x20, "IP fragment: a whole packet expected"),
        (LINUX_DATA, 7, 0x01, "IP fragment: a whole packet expected"),
        (LINUX_DATA, 32, 0x40, "TCP data offset 4: 5 to 9 words expected"),
        (LINUX_DATA, 32, 0xa0, "TCP data offset 10: 5 to 9 words expected"),
        (LINUX_DATA, 3, 39, "TCP header: 19 bytes there, 20 expected"),
    ];
    for (hex, at, value, text) in cases {
        assert_eq!(edit(hex, at, value), text);
    }
    assert!(edit(LINUX_DATA, 0, 0x55).starts_with("IP header: "));
}

#[test]
fn packets_that_cannot_exist_are_refused() {
    let v4: [SocketAddr; 2] = ["192.0.2.1:1", "192.0.2.2:2"].map(|a| a.parse().unwrap());
    let v6: [SocketAddr; 2] = ["[2001:db8::1]:1", "[2001:db8::2]:2"].map(|a| a.parse().unwrap());
    let between = |src, dst| Endpoints { src, dst };
    let segment = |payload_len| Segment { payload_len, ..Segment::default() };
    let fill = Payload::Fill(0);
    let cases = [
        (between(v4[0], v4[1]), 65495, fill, None),
        (between(v4[0], v4[1]), 65496, fill, Some("packet of 65536 bytes: 65535 over V4 at most")),
        (between(v6[0], v6[1]), 65515, fill, None),
        (between(v6[0], v6[1]), 65516, fill, Some("packet of 65576 bytes: 65575 over V6 at most")),
        (between(v6[0], v6[1]), u32::MAX, fill, Some("packet of 4294967295 bytes: 65575 over V6 at most")),
        (between(v4[0], v4[1]), 4, Payload::Bytes(b"abc"), Some("payload of 3 bytes: the segment says 4")),
        (
            between(v4[0], v6[1]),
            0,
            fill,
            Some(
                "endpoints 192.0.2.1:1 > [2001:db8::2]:2: \
                 both addresses must be IPv4, or both IPv6",
            ),
        ),
    ];
    for (endpoints, payload_len, payload, text) in cases {
        let mut out = Vec::new();
        let result = encode(&segment(payload_len), &endpoints, 0, payload, &mut out);
        let error = result.err().map(|error: EncodeError| error.to_string());
        assert_eq!(error.as_deref(), text);
        assert_eq!(out.is_empty(), text.is_some());
    }
}

/// Options as one segment can carry them.
fn any_options() -> impl Strategy<Value = Options> {
    (
        any::<Option<(u32, u32)>>(),
        any::<Option<u16>>(),
        proptest::option::of(0..=Options::MAX_WINDOW_SCALE),
        any::<bool>(),
        proptest::collection::vec(any::<[u32; 2]>(), 0..=4),
    )
        .prop_map(|(timestamps, mss, window_scale, sack_permitted, blocks)| {
            let mut options = Options {
                timestamps: timestamps.map(|(value, echo)| Timestamps { value, echo }),
                sack: blocks.iter().map(|block| block.map(SeqNumber)).collect(),
                mss,
                window_scale,
                sack_permitted,
            };
            let fit = options.sack_blocks_that_fit();
            options.sack = options.sack.iter().take(fit).collect::<SackBlocks>();
            options
        })
}

fn any_endpoints() -> impl Strategy<Value = Endpoints> {
    let v4 = any::<[([u8; 4], u16); 2]>().prop_map(|ends| ends.map(SocketAddr::from));
    let v6 = any::<[([u8; 16], u16); 2]>().prop_map(|ends| ends.map(SocketAddr::from));
    prop_oneof![v4, v6].prop_map(|[src, dst]| Endpoints { src, dst })
}

proptest! {
    #[test]
    fn round_trip(
        (seq, ack, flags, window, ip_id) in any::<(u32, u32, u8, u16, u16)>(),
        ecn in 0..4_u8,
        options in any_options(),
        endpoints in any_endpoints(),
        payload in proptest::collection::vec(any::<u8>(), 0..100),
    ) {
        let segment = Segment {
            seq: SeqNumber(seq),
            ack: SeqNumber(ack),
            payload_len: payload.len() as u32,
            window,
            flags: Flags::from_bits(flags),
            options,
        };
        let version = endpoints.ip_version().unwrap();
        let mut packet = Vec::new();
        let ecn = Ecn::from_ip(ecn);
        let fields = IpFields::from(ip_id).with_ecn(ecn);
        encode(&segment, &endpoints, fields, Payload::Bytes(&payload), &mut packet).unwrap();
        prop_assert_eq!(packet.len(), ip_len(&segment, version) as usize);
        let decoded = decode(&packet).unwrap();
        prop_assert_eq!(&packet[decoded.payload.clone()], &payload[..]);
        let expected = Decoded {
            endpoints,
            segment,
            payload: packet.len() - payload.len()..packet.len(),
            tcp_checksum: Checksum::Correct,
            ip_checksum_ok: true,
            ip_id: (version == IpVersion::V4).then_some(ip_id),
            ecn,
            options_complete: true,
        };
        prop_assert_eq!(decoded, expected);
    }

    /// Random bytes rarely reach the TCP header, so most cases start like an IP header.
    #[test]
    fn no_bytes_panic(
        first in prop_oneof![any::<u8>(), 0x45..=0x4f_u8, Just(0x60)],
        protocol in prop_oneof![any::<u8>(), Just(6), Just(0), Just(43), Just(44), Just(51)],
        mut packet in proptest::collection::vec(any::<u8>(), 0..160),
        small_len: bool,
    ) {
        let at = if first >> 4 == 6 { 6 } else { 9 };
        for (at, value) in [(0, first), (at, protocol)] {
            if let Some(byte) = packet.get_mut(at) {
                *byte = value;
            }
        }
        if small_len && packet.len() > 8 {
            // A length close to the packet's own, and no fragment.
            packet[if at == 6 { 4 } else { 2 }] = 0;
            packet[if at == 6 { 7 } else { 6 }] = 0;
            packet[7] = 0;
        }
        if let Ok(decoded) = decode(&packet) {
            prop_assert!(decoded.payload.end <= packet.len());
            prop_assert!(decoded.payload.len() <= decoded.segment.payload_len as usize);
        }
    }

    /// Nearly valid packets: a few bytes of a valid packet are overwritten, and the packet is cut.
    #[test]
    fn no_broken_packet_panics(
        which in 0..4_usize,
        edits in proptest::collection::vec((0..100_usize, any::<u8>()), 0..6),
        cut in 0..100_usize,
    ) {
        let mut packet = bytes(linux_packets()[which].0);
        for (at, value) in edits {
            if let Some(byte) = packet.get_mut(at) {
                *byte = value;
            }
        }
        packet.truncate(packet.len().saturating_sub(cut).max(cut));
        if let Ok(decoded) = decode(&packet) {
            prop_assert!(decoded.payload.end <= packet.len());
            prop_assert!(decoded.payload.len() <= decoded.segment.payload_len as usize);
        }
    }
}
