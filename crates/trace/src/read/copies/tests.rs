//! Packets beside copies of them.

use super::*;
use crate::read::Packet;
use recoup_units::Instant;
use recoup_wire::{Segment, Timestamps};

const NOW: u64 = 1_000_000;

/// Data of the server at this time in ms, with this clock of its timestamps; 0: none.
fn data(at: f64, seq: u32, len: u32, clock: u32) -> CapturedPacket {
    let mut packet = CapturedPacket::from(&Packet::default());
    packet.at = Instant::from_nanos((NOW * 1_000_000) + (at * 1e6) as u64);
    packet.endpoints = Endpoints { src: "192.0.2.1:80".parse().unwrap(), dst: "192.0.2.9:40000".parse().unwrap() };
    let mut segment = Segment { seq: SeqNumber(seq), payload_len: len, flags: Flags::ACK, ..Segment::default() };
    segment.options.timestamps = (clock > 0).then_some(Timestamps { value: clock, echo: 7 });
    (packet.segment, packet.hop_limit, packet.ip_id) = (segment, 64, Some(0));
    packet
}

fn sent(at: f64, seq: u32, len: u32) -> SentCopy {
    let CapturedPacket { at, endpoints, .. } = data(at, seq, len, 0);
    SentCopy { at, endpoints, seq: SeqNumber(seq), len, is_of_handshake: false, may_have_repaired: true }
}

/// Which of the packets are found to be copies.
fn found(copies: &[SentCopy], packets: &[CapturedPacket]) -> Vec<usize> {
    let mut finder = CopyFinder::new(copies);
    let mut is_copy = |mut packet: CapturedPacket| {
        finder.take(&mut packet);
        packet.message == Some(Message::Copy)
    };
    let all = packets.iter().map(|packet| is_copy(*packet));
    all.enumerate().filter(|(_, is_copy)| *is_copy).map(|(place, _)| place).collect()
}

#[test]
fn a_copy_repeats_a_packet_that_held_its_bytes() {
    let log = [sent(120.0, 2000, 500)];
    let (first, copy) = (data(0.0, 2000, 500, 9), data(120.1, 2000, 500, 9));
    assert_eq!(found(&log, &[first, copy]), [1]);
    // Without the first, it carries the data itself: the capture was taken where the first did not come.
    assert_eq!(found(&log, &[copy]), [0; 0]);
    // One copy in the log is one packet.
    assert_eq!(found(&log, &[first, copy, copy]), [1]);
    // The first was one of several segments in a packet.
    let long = data(0.0, 0, 2500, 9);
    assert_eq!(found(&log, &[long, copy]), [1]);
    assert_eq!(found(&log, &[data(0.0, 0, 2400, 9), copy]), [0; 0]);
}

#[test]
fn a_retransmission_has_other_timestamps() {
    let log = [sent(120.0, 2000, 500)];
    let (first, copy, again) = (data(0.0, 2000, 500, 9), data(120.1, 2000, 500, 9), data(120.05, 2000, 500, 129));
    assert_eq!(found(&log, &[first, again]), [0; 0]);
    // The copy repeats the packet that TCP sent last.
    assert_eq!(found(&log, &[first, again, data(120.1, 2000, 500, 129)]), [2]);
    assert_eq!(found(&log, &[first, copy, again]), [1]);
}

#[test]
fn a_capture_elsewhere_has_another_clock() {
    let (first, copy) = (data(40.0, 2000, 500, 9), data(160.1, 2000, 500, 9));
    for at in [-400_000.0, 120.0, 400_000.0] {
        assert_eq!(found(&[sent(at, 2000, 500)], &[first, copy]), [1], "{at}");
    }
}

#[test]
fn without_timestamps_and_identification_the_time_decides() {
    let (first, again) = (data(40.0, 2000, 500, 0), data(300.0, 2000, 500, 0));
    for (at, is_copy) in [(299.9, true), (300.5, true), (220.0, true), (150.0, false), (20.0, true), (400_000.0, true)]
    {
        let expected = if is_copy { vec![1] } else { vec![] };
        assert_eq!(found(&[sent(at, 2000, 500)], &[first, again]), expected, "{at}");
    }
    // An identification of its own is no repetition.
    let named = |packet: CapturedPacket, id| CapturedPacket { ip_id: Some(id), ..packet };
    assert_eq!(found(&[sent(299.9, 2000, 500)], &[named(first, 5), named(again, 6)]), [0; 0]);
    assert_eq!(found(&[sent(299.9, 2000, 500)], &[named(first, 5), named(again, 5)]), [1]);
}

#[test]
fn numbers_wrap() {
    let start = 0xffff_ff00;
    let log = [sent(120.0, 0x100, 0x100), sent(130.0, start, 0x100)];
    let packets = [data(0.0, start, 0x300, 9), data(120.1, 0x100, 0x100, 9), data(130.1, start, 0x100, 9)];
    assert_eq!(found(&log, &packets), [1, 2]);
}

#[test]
fn each_capture_point_shows_a_copy() {
    let far = |packet: CapturedPacket, at: f64| CapturedPacket { hop_limit: 60, ..data_at(packet, at) };
    fn data_at(packet: CapturedPacket, at: f64) -> CapturedPacket {
        CapturedPacket { at: data(at, 0, 0, 0).at, ..packet }
    }
    let first = data(0.0, 2000, 500, 9);
    let packets = [first, far(first, 20.0), data_at(first, 120.1), far(first, 140.1)];
    let log = [sent(120.0, 2000, 500)];
    assert_eq!(found(&log, &packets), [2, 3]);
    let mut finder = CopyFinder::new(&log);
    packets.iter().for_each(|packet| _ = finder.take(&mut packet.clone()));
    let copies = finder.copies();
    assert_eq!((copies.logged, copies.captured, copies.not_captured(), copies.packets.len()), (1, 1, 0, 2));
}

#[test]
fn live_packets_are_copies_by_their_time() {
    let mut finder = CopyFinder::live();
    let mut take = |packet: CapturedPacket, log: Option<SentCopy>| {
        log.iter().for_each(|copy| finder.add(copy));
        let mut packet = packet;
        finder.take(&mut packet);
        packet.message == Some(Message::Copy)
    };
    assert!(!take(data(0.0, 2000, 500, 9), None));
    assert!(take(data(120.1, 2000, 500, 9), Some(sent(120.0, 2000, 500))));
    assert!(!take(data(330.0, 2000, 500, 330), None));
    // Later than a copy can be.
    assert!(!take(data(630.0, 2000, 500, 330), Some(sent(420.0, 2000, 500))));
}

#[test]
fn a_report_is_taken_out_once_and_not_after_a_retransmission() {
    let ack = |ack: u32, blocks: &[[u32; 2]]| {
        let mut packet = data(0.0, 77, 0, 0);
        packet.endpoints = packet.endpoints.reverse();
        packet.segment.ack = SeqNumber(ack);
        for [left, right] in blocks {
            packet.segment.options.sack.push([SeqNumber(*left), SeqNumber(*right)]);
        }
        packet
    };
    let log = [sent(120.0, 2000, 500)];
    let begin = || {
        let mut finder = CopyFinder::new(&log);
        for mut packet in [data(0.0, 2000, 500, 9), data(120.1, 2000, 500, 9), ack(2500, &[])] {
            finder.take(&mut packet);
        }
        finder
    };
    let mut finder = begin();
    // Of another segment, and of data above.
    assert_eq!(finder.take(&mut ack(2500, &[[1000, 1500]])), Taken::AsItIs);
    assert_eq!(finder.take(&mut ack(2500, &[[3000, 3500]])), Taken::AsItIs);
    assert_eq!(finder.take(&mut ack(2500, &[[2000, 2500]])), Taken::LeftOut);
    assert_eq!(finder.take(&mut ack(2500, &[[2000, 2500]])), Taken::AsItIs);
    let mut with_another = ack(2500, &[[2000, 2500], [3000, 3500]]);
    assert_eq!(begin().take(&mut with_another), Taken::Changed);
    assert_eq!(with_another.segment.options.sack.as_slice(), [[SeqNumber(3000), SeqNumber(3500)]]);
    // An acknowledgement of more says something else, too.
    assert_eq!(begin().take(&mut ack(2600, &[[2000, 2500]])), Taken::Changed);
    let mut finder = begin();
    finder.take(&mut data(200.0, 2000, 500, 209));
    assert_eq!(finder.take(&mut ack(2500, &[[2000, 2500]])), Taken::AsItIs);
}
