use super::*;
use crate::{SackBlocks, Timestamps};

#[test]
fn lengths_follow_from_payload_flags_and_options() {
    let timestamps = Options { timestamps: Some(Timestamps::default()), ..Options::NONE };
    let syn = Options { mss: Some(1460), sack_permitted: true, window_scale: Some(7), ..timestamps };
    let sack = Options { sack: SackBlocks::from_iter([[SeqNumber(1), SeqNumber(2)]; 3]), ..timestamps };
    let cases = [
        // (flags, payload, options, header, sequence space, pure ACK, IPv4 length)
        (Flags::SYN, 0, syn, 40, 1, false, 60),
        (Flags::ACK, 0, Options::NONE, 20, 0, true, 40),
        (Flags::ACK, 0, sack, 60, 0, true, 80),
        (Flags::ACK, 1448, timestamps, 32, 1448, false, 1500),
        (Flags::ACK | Flags::FIN, 10, timestamps, 32, 11, false, 62),
        (Flags::ACK | Flags::RST, 0, Options::NONE, 20, 0, false, 40),
        (Flags::RST, 0, Options::NONE, 20, 0, false, 40),
    ];
    for (flags, payload_len, options, header, sequence, pure_ack, ip) in cases {
        let segment = Segment { flags, payload_len, options, ..Segment::default() };
        assert_eq!(segment.header_len(), header, "{segment}");
        assert_eq!(segment.sequence_len(), sequence, "{segment}");
        assert_eq!(segment.is_pure_ack(), pure_ack, "{segment}");
        assert_eq!(ip_len(&segment, IpVersion::V4), ip, "{segment}");
        assert_eq!(ip_len(&segment, IpVersion::V6), ip + 20, "{segment}");
    }
}

#[test]
fn segments_print_like_in_tcpdump() {
    let data = Segment {
        seq: SeqNumber(1),
        ack: SeqNumber(7),
        payload_len: 1448,
        window: 229,
        flags: Flags::PSH | Flags::ACK,
        options: Options {
            timestamps: Some(Timestamps { value: 3, echo: 4 }),
            sack: SackBlocks::from_iter([[SeqNumber(9), SeqNumber(11)]]),
            ..Options::NONE
        },
    };
    assert_eq!(
        data.to_string(),
        "[P.], seq 1:1449, ack 7, win 229, \
         options [TS val 3 ecr 4,sack 1 {9:11}], length 1448"
    );
    let rst = Segment { seq: SeqNumber(5), flags: Flags::RST, ..Segment::default() };
    assert_eq!(rst.to_string(), "[R], seq 5, win 0, length 0");
}
