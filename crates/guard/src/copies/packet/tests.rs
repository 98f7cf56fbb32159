use super::*;
use recoup_wire::{Checksum, Options, Payload, SeqNumber, Timestamps, decode, encode};

const AT: Instant = Instant::from_millis(7);

fn endpoints(v6: bool) -> Endpoints {
    let [src, dst] = match v6 {
        true => ["[2001:db8::1]:80", "[2001:db8::2]:40000"],
        false => ["192.0.2.1:80", "192.0.2.2:40000"],
    };
    Endpoints { src: src.parse().unwrap(), dst: dst.parse().unwrap() }
}

/// A frame with an Ethernet header.
fn frame(segment: &Segment, v6: bool, bytes: &[u8]) -> Vec<u8> {
    let mut packet = Vec::new();
    encode(segment, &endpoints(v6), 77, Payload::Bytes(bytes), &mut packet).unwrap();
    let mut frame = vec![0xee; ETHERNET];
    frame.append(&mut packet);
    frame
}

fn data(len: u32) -> Segment {
    Segment {
        seq: SeqNumber(u32::MAX - 100),
        ack: SeqNumber(9),
        flags: Flags::ACK | Flags::PSH | Flags::FIN | Flags::CWR,
        window: 500,
        payload_len: len,
        options: Options { timestamps: Some(Timestamps { value: 3, echo: 4 }), ..Options::NONE },
    }
}

#[test]
fn a_segment_is_copied_byte_for_byte() {
    let bytes: Vec<u8> = (0..1000).map(|i| i as u8).collect();
    for v6 in [false, true] {
        let segment = Segment { flags: Flags::ACK | Flags::PSH, ..data(1000) };
        let frame = frame(&segment, v6, &bytes);
        let packet = Packet::read(AT, true, &frame, frame.len(), ETHERNET).unwrap();
        assert_eq!(packet.odd, None);
        let mut copy = Vec::new();
        assert!(packet.write_last(1448, &mut copy));
        assert_eq!(copy, frame);
        assert_eq!(packet.last_ip_len(1448) as usize, frame.len() - ETHERNET);
    }
}

#[test]
fn the_last_segment_of_a_long_packet_is_as_the_network_card_cuts_it() {
    let bytes: Vec<u8> = (0..3500_u32).map(|i| (i / 7) as u8).collect();
    for v6 in [false, true] {
        let mut frame = frame(&data(3500), v6, &bytes);
        frame[ETHERNET + 1] |= if v6 { 0x20 } else { 2 }; // ECT(0)
        let packet = Packet::read(AT, true, &frame, frame.len(), ETHERNET).unwrap();
        let mut copy = Vec::new();
        assert!(packet.write_last(1448, &mut copy));
        let decoded = decode(&copy[ETHERNET..]).unwrap();
        assert_eq!(decoded.tcp_checksum, Checksum::Correct);
        assert!(decoded.ip_checksum_ok);
        assert_eq!(decoded.ip_id, (!v6).then(|| packet.ip_id() + 2));
        assert_eq!(decoded.segment.seq, SeqNumber(u32::MAX - 100) + 2896);
        assert_eq!(decoded.segment.payload_len, 604);
        assert_eq!(&copy[ETHERNET..][decoded.payload], &bytes[2896..]);
        assert_eq!(decoded.segment.flags, Flags::ACK | Flags::PSH | Flags::FIN);
        assert_eq!(decoded.segment.options, data(0).options);
        assert_eq!(copy[ETHERNET + 1] & if v6 { 0x30 } else { 3 }, 0);
        // An exact multiple ends with a full segment.
        assert!(Packet::read(AT, true, &frame, frame.len(), ETHERNET).unwrap().write_last(1750, &mut copy));
        assert_eq!(decode(&copy[ETHERNET..]).unwrap().segment.payload_len, 1750);
    }
}

#[test]
fn a_wrong_checksum_of_an_offload_is_not_copied() {
    let mut frame = frame(&data(10), false, &[1; 10]);
    frame[ETHERNET + 20 + 16] ^= 0x55;
    let packet = Packet::read(AT, true, &frame, frame.len(), ETHERNET).unwrap();
    let mut copy = Vec::new();
    assert!(packet.write_last(1448, &mut copy));
    assert_eq!(decode(&copy[ETHERNET..]).unwrap().tcp_checksum, Checksum::Correct);
}

#[test]
fn a_frame_that_was_cut_is_not_copied() {
    let frame = frame(&data(1000), false, &[1; 1000]);
    let packet = Packet::read(AT, true, &frame[..500], frame.len(), ETHERNET).unwrap();
    let mut copy = vec![1];
    assert!(!packet.write_last(1448, &mut copy));
    assert!(copy.is_empty());
}

#[test]
fn what_makes_a_copy_unsafe_is_found() {
    let odd = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut frame = frame(&Segment { flags: Flags::SYN, ..data(0) }, false, &[]);
        change(&mut frame);
        Packet::read(AT, true, &frame, frame.len(), ETHERNET).unwrap().odd
    };
    let [ip, tcp] = [ETHERNET, ETHERNET + 20];
    assert_eq!(odd(&|_| ()), None);
    assert_eq!(odd(&|frame| frame[ip + 6] = 0), Some(Odd::Fragments));
    assert_eq!(odd(&|frame| frame[tcp + 13] |= Flags::URG.bits()), Some(Odd::Urgent));
    // The option of the SYN begins behind two NOPs.
    for (kind, expected) in [
        (option::MD5, Odd::Signed),
        (option::AO, Odd::Signed),
        (option::MPTCP, Odd::Multipath),
        (option::FAST_OPEN, Odd::FastOpen),
        (172, Odd::AccurateEcn),
    ] {
        assert_eq!(odd(&|frame| frame[tcp + 22] = kind), Some(expected), "{kind}");
    }
    assert_eq!(odd(&|frame| frame[tcp + 23] = 99), Some(Odd::Damaged));
    let asks = (Flags::ECE | Flags::CWR).bits();
    assert_eq!(odd(&|frame| frame[tcp + 13] |= asks), None); // RFC 3168
    let accurate = |frame: &mut Vec<u8>| {
        frame[tcp + 12] |= 1;
        frame[tcp + 13] |= asks;
    };
    assert_eq!(odd(&accurate), Some(Odd::AccurateEcn));
    let with_data = frame(&Segment { flags: Flags::SYN, ..data(1) }, false, &[1]);
    assert_eq!(Packet::read(AT, true, &with_data, with_data.len(), ETHERNET).unwrap().odd, Some(Odd::FastOpen));
}
