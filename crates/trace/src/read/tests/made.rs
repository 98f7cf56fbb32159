//! Small captures, made byte by byte.

use super::super::{CapturedPacket, Counts, ReadError, Reader};
use recoup_wire::{Endpoints, Flags, Options, Payload, Segment, SeqNumber, Timestamps, encode};
use std::io::Write;

/// The byte order of a file.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Order {
    Little,
    Big,
}
pub use Order::{Big, Little};

impl Order {
    pub fn word(self, word: u32) -> [u8; 4] {
        match self {
            Little => word.to_le_bytes(),
            Big => word.to_be_bytes(),
        }
    }

    pub fn half(self, half: u16) -> [u8; 2] {
        match self {
            Little => half.to_le_bytes(),
            Big => half.to_be_bytes(),
        }
    }

    pub fn words(self, words: &[u32]) -> Vec<u8> {
        words.iter().flat_map(|word| self.word(*word)).collect()
    }
}

pub const MICROS: u32 = 0xa1b2_c3d4;
pub const NANOS: u32 = 0xa1b2_3c4d;
pub const MODIFIED: u32 = 0xa1b2_cd34;
pub const ETHERNET: u32 = 1;
pub const RAW: u32 = 101;
/// The second in which the first packet is sent.
pub const START: u64 = 1_000_000_000;

/// The `i`-th segment of a download: 100 bytes, or none.
pub fn segment(i: u32) -> Segment {
    Segment {
        seq: SeqNumber(u32::MAX - 150) + 100 * i,
        ack: SeqNumber(9),
        payload_len: if i % 3 == 2 { 0 } else { 100 },
        window: 500,
        flags: Flags::ACK,
        options: Options { timestamps: Some(Timestamps { value: i, echo: 2 }), ..Options::NONE },
    }
}

/// The IP packet of a segment.
pub fn ip(segment: &Segment, v6: bool) -> Vec<u8> {
    let (src, dst) = if v6 { ("[2001:db8::1]:9", "[2001:db8::2]:80") } else { ("192.0.2.1:9", "192.0.2.2:80") };
    let endpoints = Endpoints { src: src.parse().unwrap(), dst: dst.parse().unwrap() };
    let mut packet = Vec::new();
    encode(segment, &endpoints, 5, Payload::Fill(0), &mut packet).unwrap();
    packet
}

/// An Ethernet frame with `middle` between the addresses and the packet.
pub fn ethernet(middle: &[u8], packet: &[u8]) -> Vec<u8> {
    [&[2; 12], middle, packet].concat()
}

/// `count` packets, alternately over IPv6 and IPv4.
pub fn packets(count: u32) -> Vec<Vec<u8>> {
    (0..count).map(|i| ip(&segment(i), i % 2 == 1)).collect()
}

/// When the `i`-th packet is sent: nanoseconds since 1970.
pub fn time(i: usize) -> u64 {
    START * 1_000_000_000 + i as u64 * 250_000_000
}

/// The header of a classic capture.
pub fn header(order: Order, magic: u32, link: u32) -> Vec<u8> {
    let mut file = order.word(magic).to_vec();
    file.extend([order.half(2), order.half(4)].concat());
    file.extend(order.words(&[0, 0, 65_535, link]));
    file
}

/// A record of a classic capture in nanoseconds; the packet had `length` bytes on the wire.
pub fn record(order: Order, nanos: u64, data: &[u8], length: usize) -> Vec<u8> {
    let (second, part) = (nanos / 1_000_000_000, nanos % 1_000_000_000);
    let words = [second as u32, part as u32, data.len() as u32, length as u32];
    [&order.words(&words)[..], data].concat()
}

/// A classic capture.
pub fn classic(order: Order, magic: u32, link: u32, packets: &[Vec<u8>]) -> Vec<u8> {
    let mut file = header(order, magic, link);
    for (i, packet) in packets.iter().enumerate() {
        let (second, part) = (time(i) / 1_000_000_000, time(i) % 1_000_000_000);
        let part = if magic == NANOS { part } else { part / 1000 };
        let len = packet.len() as u32;
        file.extend(order.words(&[second as u32, part as u32, len, len]));
        if magic == MODIFIED {
            // Interface, protocol, kind of packet, padding.
            file.extend([7; 8]);
        }
        file.extend(packet);
    }
    file
}

/// A little-endian classic capture in nanoseconds.
pub fn plain(packets: &[Vec<u8>]) -> Vec<u8> {
    classic(Little, NANOS, RAW, packets)
}

/// A pcapng block.
pub fn block(order: Order, kind: u32, body: &[u8]) -> Vec<u8> {
    let padded = body.len().next_multiple_of(4);
    let len = order.word(padded as u32 + 12);
    let mut block = [order.word(kind), len].concat();
    block.extend(body);
    block.resize(8 + padded, 0);
    block.extend(len);
    block
}

/// A pcapng option.
pub fn option(order: Order, code: u16, value: &[u8]) -> Vec<u8> {
    let mut option = [order.half(code), order.half(value.len() as u16)].concat();
    option.extend(value);
    option.resize(option.len().next_multiple_of(4), 0);
    option
}

pub fn section(order: Order) -> Vec<u8> {
    let version = [order.half(1), order.half(0)].concat();
    let body = [&order.word(0x1a2b_3c4d)[..], &version, &[0xff; 8]].concat();
    block(order, 0x0a0d_0d0a, &body)
}

/// An interface description block.
pub fn interface(order: Order, link: u16, options: &[Vec<u8>]) -> Vec<u8> {
    let body = [order.half(link), order.half(0)].concat();
    let body = [&body[..], &order.word(0), &options.concat()].concat();
    block(order, 1, &body)
}

/// An enhanced packet block.
pub fn enhanced(order: Order, interface: u32, ticks: u64, data: &[u8], options: &[Vec<u8>]) -> Vec<u8> {
    let len = data.len() as u32;
    let mut body = order.words(&[interface, (ticks >> 32) as u32, ticks as u32, len, len]);
    body.extend(data);
    body.resize(body.len().next_multiple_of(4), 0);
    body.extend(options.concat());
    block(order, 6, &body)
}

/// A pcapng capture in microseconds.
pub fn sections(order: Order, link: u16, packets: &[Vec<u8>]) -> Vec<u8> {
    let mut file = [section(order), interface(order, link, &[])].concat();
    for (i, packet) in packets.iter().enumerate() {
        file.extend(enhanced(order, 0, time(i) / 1000, packet, &[]));
    }
    file
}

pub fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(bytes).unwrap();
    gzip.finish().unwrap()
}

pub fn zstd(bytes: &[u8]) -> Vec<u8> {
    zstd::encode_all(bytes, 1).unwrap()
}

/// All packets and the counts of a capture.
pub fn read(file: &[u8]) -> Result<(Vec<CapturedPacket>, Counts), ReadError> {
    read_from(file)
}

pub fn read_from(input: impl std::io::Read + Send) -> Result<(Vec<CapturedPacket>, Counts), ReadError> {
    drain(Reader::new("x", input)?)
}

pub fn drain(mut reader: Reader<'_>) -> Result<(Vec<CapturedPacket>, Counts), ReadError> {
    let mut packets = Vec::new();
    while let Some(packet) = reader.next() {
        packets.push(*packet);
    }
    assert!(reader.ending().is_some() && reader.next().is_none());
    let counts = reader.finish()?;
    assert_eq!(counts.packets, packets.len() as u64);
    Ok((packets, counts))
}

/// Checks that `found` are [`packets`] in order.
#[track_caller]
pub fn assert_download(found: &[CapturedPacket], count: u32) {
    assert_eq!(found.len(), count as usize);
    for (i, packet) in found.iter().enumerate() {
        assert_eq!(packet.frame, i as u64 + 1);
        assert_eq!(packet.at.as_nanos(), time(i));
        assert_eq!(packet.segment, segment(i as u32));
        assert_eq!(packet.endpoints.src.is_ipv6(), i % 2 == 1);
        assert!(packet.options_complete && !packet.overlong);
    }
}
