//! Captures for benchmarks, made by the encoder of `recoup-wire`.

use recoup_wire::{Endpoints, Flags, Options, Payload, SackBlocks, Segment, SeqNumber, Timestamps, encode};

/// The snap length.
pub const SNAPLEN: usize = 96;

/// Segments of a download: full ones with timestamps, an ACK for every second one, and sometimes
/// SACK blocks.
fn packets(count: u32, v6: bool) -> impl Iterator<Item = (u64, Vec<u8>)> {
    let ends = if v6 { ("[2001:db8::1]:80", "[2001:db8::2]:4000") } else { ("192.0.2.1:80", "198.51.100.1:4000") };
    let down = Endpoints { src: ends.0.parse().expect("an address"), dst: ends.1.parse().expect("an address") };
    (0..count).map(move |i| {
        let up = i % 3 == 2;
        let mut segment = Segment {
            seq: SeqNumber(i * 1448),
            ack: SeqNumber(i),
            payload_len: if up { 0 } else { 1448 },
            window: 500,
            flags: Flags::ACK,
            options: Options { timestamps: Some(Timestamps { value: i, echo: i }), ..Options::NONE },
        };
        if up && i % 33 == 2 {
            let block = [SeqNumber(i), SeqNumber(i + 1448)];
            segment.options.sack = SackBlocks::from_iter([block]);
        }
        let endpoints = if up { down.reverse() } else { down };
        let mut packet = Vec::new();
        encode(&segment, &endpoints, i as u16, Payload::Fill(0), &mut packet).expect("a packet that can exist");
        (u64::from(i) * 1000, packet)
    })
}

/// The Ethernet frame of a packet, cut to the snap length, and its whole length.
fn frame(packet: &[u8], v6: bool) -> (Vec<u8>, u32) {
    let ether_type: [u8; 2] = if v6 { [0x86, 0xdd] } else { [8, 0] };
    let mut frame = [&[2; 12][..], &ether_type, packet].concat();
    let length = frame.len() as u32;
    frame.truncate(SNAPLEN);
    (frame, length)
}

/// A classic capture in microseconds.
pub fn classic(count: u32, v6: bool) -> Vec<u8> {
    let mut file = Vec::new();
    for word in [0xa1b2_c3d4_u32, 0x0004_0002, 0, 0, SNAPLEN as u32, 1] {
        file.extend(word.to_le_bytes());
    }
    for (micros, packet) in packets(count, v6) {
        let (frame, length) = frame(&packet, v6);
        let (second, part) = (micros / 1_000_000, micros % 1_000_000);
        for word in [second as u32, part as u32, frame.len() as u32, length] {
            file.extend(word.to_le_bytes());
        }
        file.extend(frame);
    }
    file
}

/// A pcapng capture, as dumpcap writes it.
pub fn sections(count: u32) -> Vec<u8> {
    let mut file = Vec::new();
    let words = |file: &mut Vec<u8>, words: &[u32]| {
        for word in words {
            file.extend(word.to_le_bytes());
        }
    };
    words(&mut file, &[0x0a0d_0d0a, 28, 0x1a2b_3c4d, 1, !0, !0, 28]);
    words(&mut file, &[1, 20, 1, SNAPLEN as u32, 20]);
    for (micros, packet) in packets(count, false) {
        let (frame, length) = frame(&packet, false);
        let padded = frame.len().next_multiple_of(4);
        let total = padded as u32 + 32;
        let time = [(micros >> 32) as u32, micros as u32];
        let captured = frame.len() as u32;
        words(&mut file, &[6, total, 0, time[0], time[1], captured, length]);
        file.extend(&frame);
        file.resize(file.len() + padded - frame.len(), 0);
        words(&mut file, &[total]);
    }
    file
}
