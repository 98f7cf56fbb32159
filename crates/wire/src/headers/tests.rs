//! Compares the fast and the slow path with each other, and with decoding whole packets.

use proptest::prelude::*;

use super::*;
use crate::{Flags, Options, Payload, SeqNumber, Timestamps, decode_unverified, encode};

fn segment() -> Segment {
    Segment {
        seq: SeqNumber(7),
        ack: SeqNumber(9),
        payload_len: 100,
        window: 500,
        flags: Flags::ACK,
        options: Options { timestamps: Some(Timestamps { value: 1, echo: 2 }), ..Options::NONE },
    }
}

fn packet(src: &str, dst: &str) -> Vec<u8> {
    let endpoints = Endpoints { src: src.parse().unwrap(), dst: dst.parse().unwrap() };
    let mut packet = Vec::new();
    encode(&segment(), &endpoints, 5, Payload::Fill(0), &mut packet).unwrap();
    packet
}

fn over_v4() -> Vec<u8> {
    packet("192.0.2.1:9", "192.0.2.2:80")
}

fn over_v6() -> Vec<u8> {
    packet("[2001:db8::1]:9", "[2001:db8::2]:80")
}

#[test]
fn options_behind_timestamps_are_read() {
    let others: [fn(&mut Options); 4] = [
        |options| options.sack = [[SeqNumber(20), SeqNumber(30)]; 3].into_iter().collect(),
        |options| options.mss = Some(1460),
        |options| options.window_scale = Some(7),
        |options| options.sack_permitted = true,
    ];
    for add in others {
        for timestamps in [None, segment().options.timestamps] {
            let mut sent = segment();
            sent.options.timestamps = timestamps;
            add(&mut sent.options);
            let mut packet = Vec::new();
            let endpoints = Endpoints { src: "192.0.2.1:9".parse().unwrap(), dst: "192.0.2.2:80".parse().unwrap() };
            encode(&sent, &endpoints, 5, Payload::Fill(0), &mut packet).unwrap();
            let read = read(&packet, packet.len()).unwrap();
            assert_eq!(read.segment, sent);
            assert!(read.headers.has_rare());
            let (headers, rare) = Headers::new(&endpoints, &sent);
            assert!(headers.has_rare() && rare.options == sent.options);
        }
    }
    assert!(!read(&over_v4(), 200).unwrap().headers.has_rare());
}

/// Everything that is decoded.
#[derive(Clone, Debug, PartialEq)]
struct All {
    endpoints: Endpoints,
    segment: Segment,
    headers: Headers,
}

fn all(read: impl FnOnce(&mut Headers, &mut RareHeaders) -> Result<(), DecodeError>) -> Result<All, DecodeError> {
    let (mut headers, mut rare) = (Headers::default(), RareHeaders::default());
    let result = read(&mut headers, &mut rare);
    assert!(result.is_ok() || headers == Headers::default());
    result.map(|()| All { endpoints: headers.endpoints(&rare), segment: headers.segment(&rare), headers })
}

fn read(packet: &[u8], on_wire: usize) -> Result<All, DecodeError> {
    all(|headers, rare| decode_headers(packet, on_wire, headers, rare))
}

/// Decodes by the slow path.
fn read_slowly(packet: &[u8], on_wire: usize) -> Result<All, DecodeError> {
    all(|headers, rare| by_etherparse(packet, on_wire, Destination { headers, rare }))
}

#[test]
fn headers_of_a_packet_are_decoded() {
    for (packet, id) in [(over_v4(), Some(5)), (over_v6(), None)] {
        let whole = read(&packet, packet.len()).unwrap();
        assert_eq!(whole.segment, segment());
        assert_eq!((whole.headers.ip_id(), whole.headers.hop_limit), (id, 64));
        assert!(whole.headers.options_complete() && !whole.headers.overlong());
        assert!(!whole.headers.is_odd());
        // The capture cuts the payload and half of the timestamps.
        let headers = packet.len() - 100;
        let cut = read(&packet[..headers], packet.len());
        assert_eq!(cut, Ok(whole.clone()));
        let short = read(&packet[..headers - 6], packet.len()).unwrap();
        assert!(!short.headers.options_complete() && short.headers.is_odd());
        assert_eq!(short.segment.options, Options::NONE);
        assert_eq!(short.segment.payload_len, 100);
        let error = read(&packet[..headers - 13], packet.len()).unwrap_err();
        assert_eq!(error, DecodeError::TcpCut(19));
        // Padding behind the packet does not count; a length beyond the packet is reported.
        let padded = [&packet[..], &[0; 6]].concat();
        assert_eq!(read(&padded, padded.len()), Ok(whole.clone()));
        let beyond = read(&packet, 0).unwrap();
        assert_eq!(beyond, whole);
        let beyond = read(&packet[..headers], headers).unwrap();
        assert!(beyond.headers.overlong() && beyond.headers.is_odd());
        assert_eq!(beyond.segment, segment());
    }
}

/// A packet with three SACK blocks behind timestamps.
fn with_blocks() -> (Segment, Vec<u8>) {
    let mut sent = segment();
    sent.options.sack = (1..=3).map(|i| [SeqNumber(10 * i), SeqNumber(10 * i + 5)]).collect();
    let endpoints = Endpoints { src: "[2001:db8::1]:9".parse().unwrap(), dst: "[2001:db8::2]:80".parse().unwrap() };
    let mut packet = Vec::new();
    encode(&sent, &endpoints, 5, Payload::Fill(0), &mut packet).unwrap();
    (sent, packet)
}

#[test]
fn the_blocks_that_a_capture_did_not_cut_are_read() {
    let (sent, packet) = with_blocks();
    let first = 40 + 20 + 12 + 4;
    for (cut, blocks) in [(first - 1, 0), (first + 7, 0), (first + 8, 1), (first + 23, 2), (first + 24, 3)] {
        let read = read(&packet[..cut], packet.len()).unwrap();
        assert_eq!(read.segment.options.sack.as_slice(), &sent.options.sack.as_slice()[..blocks], "{cut}");
        assert_eq!(read.headers.options_complete(), blocks == 3);
    }
    // A length beyond the header is malformed: no capture cut it.
    let mut malformed = packet;
    malformed[first - 1] = 40;
    let whole = malformed.len();
    let read = read(&malformed, whole).unwrap();
    assert!(read.segment.options.sack.is_empty() && !read.headers.options_complete());
}

#[test]
fn congestion_notification_is_read() {
    for (mut packet, v6) in [(over_v4(), false), (over_v6(), true)] {
        let len = packet.len();
        for bits in 0..4 {
            // A traffic class with other bits set.
            if v6 {
                packet[1] = bits << 4 | 0xcf;
            } else {
                packet[1] = 0xfc | bits;
            }
            let ecn = read(&packet, len).unwrap().headers.ecn();
            assert_eq!((ecn, ecn.is_capable(), ecn.is_marked()), (Ecn::from_ip(bits), bits != 0, bits == 3));
        }
        let tcp = if v6 { 40 } else { 20 };
        packet[tcp + 12] |= 1;
        assert!(read(&packet, len).unwrap().headers.ecn().accurate_flag());
        // Another option in the place of timestamps.
        packet[tcp + 22] = 172;
        let ecn = read(&packet, len).unwrap().headers.ecn();
        assert!(ecn.accurate_option() && ecn.accurate_flag() && ecn.is_marked());
        let mut headers = Headers::default();
        headers.set_ecn(ecn);
        assert_eq!(headers.ecn(), ecn);
    }
}

/// Segmentation offload, and packets beyond 64 KiB, set the length field to 0.
#[test]
fn a_length_of_0_means_the_length_on_the_wire() {
    for (mut packet, field) in [(over_v4(), 2), (over_v6(), 4)] {
        let headers = packet.len() - 100;
        packet[field..field + 2].fill(0);
        for more in [0, 5, 200_000] {
            let long = read(&packet[..headers], packet.len() + more).unwrap();
            assert_eq!(long.segment.payload_len, 100 + more as u32);
            assert!(!long.headers.overlong());
        }
    }
    let mut hops = over_v6();
    // Hop-by-hop options with the length of a jumbogram (RFC 2675 §2).
    hops.splice(40..40, [6, 0, 0xc2, 4, 0, 3, 0, 0]);
    hops[4..7].fill(0);
    let long = read(&hops[..80], 300_000).unwrap();
    assert_eq!(long.segment.payload_len, 300_000 - 80);
}

#[test]
fn malformed_packets_are_errors() {
    let edit = |mut packet: Vec<u8>, at: usize, value: u8| {
        packet[at] = value;
        let len = packet.len();
        read(&packet, len).unwrap_err().to_string()
    };
    for (at, value, text) in [
        (9, 17, "IP protocol 17: 6 (TCP) expected"),
        (6, 0x20, "IP fragment: a whole packet expected"),
        (7, 0x01, "IP fragment: a whole packet expected"),
        (3, 19, "IP total length 19: 0 or at least 20 expected"),
        (32, 0x40, "TCP data offset 4: 5 to 33 words expected"),
    ] {
        assert_eq!(edit(over_v4(), at, value), text);
    }
    assert_eq!(edit(over_v6(), 6, 58), "IP protocol 58: 6 (TCP) expected");
    let mut fragment = over_v6();
    fragment.splice(40..40, [6, 0, 0, 1, 0, 0, 0, 5]);
    let text = "IP fragment: a whole packet expected";
    assert_eq!(edit(fragment, 6, 44), text);
    for wrong in [0x44, 0x55] {
        assert!(edit(over_v4(), 0, wrong).starts_with("IP header: "));
    }
    assert!(read(&[], 0).is_err());
}

/// The kind of an error, without its text, which may differ.
fn outline(result: Result<All, DecodeError>) -> Result<All, String> {
    result.map_err(|error| match error {
        DecodeError::Ip(_) => "IP".into(),
        other => other.to_string(),
    })
}

proptest! {
    /// For nearly valid or random packets, cut anywhere, both paths agree.
    #[test]
    fn both_ways_agree(
        v6: bool,
        edits in proptest::collection::vec((0..80_usize, any::<u8>()), 0..5),
        splice in proptest::option::of(proptest::collection::vec(any::<u8>(), 8)),
        cut in 0..200_usize,
        more in 0..100_usize,
    ) {
        let mut packet = if v6 { over_v6() } else { over_v4() };
        if let Some(extension) = splice {
            let at = if v6 { 40 } else { 20 };
            packet.splice(at..at, extension);
        }
        for (at, value) in edits {
            packet[at] = value;
        }
        packet.truncate(cut);
        let on_wire = packet.len() + more;
        let short = read(&packet, on_wire);
        prop_assert_eq!(outline(short.clone()), outline(read_slowly(&packet, on_wire)));
        // Decoding whole packets differs only where it must guess the length.
        if let (Ok(short), Ok(decoded)) = (short, decode_unverified(&packet)) {
            prop_assert_eq!(short.endpoints, decoded.endpoints);
            prop_assert_eq!(short.headers.ip_id(), decoded.ip_id);
            let segment = Segment { payload_len: short.segment.payload_len, ..decoded.segment };
            prop_assert_eq!(short.segment, segment);
        }
    }
}
