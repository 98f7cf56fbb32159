//! Captures of several lanes as one.

use std::fs;
use std::path::{Path, PathBuf};

/// The length of a file's header, and of a packet's.
const FILE: usize = 24;
const PACKET: usize = 16;

/// The most bytes of a packet that are kept: its headers.
const KEPT: usize = 96;

/// Writes the packets of captures of one kind into `whole` in the order of time, and removes these captures.
pub fn merge(parts: &[PathBuf], whole: &Path) {
    let parts: Vec<Vec<u8>> = parts.iter().map(|part| take(part)).collect();
    let mut packets: Vec<_> = parts.iter().flat_map(|part| packets(&part[FILE..])).collect();
    packets.sort_by_key(|packet| (field(packet, 0), field(packet, 4)));
    let mut merged = parts[0][..FILE].to_vec();
    for packet in packets {
        let kept = packet.len().min(PACKET + KEPT);
        merged.extend_from_slice(&packet[..8]);
        merged.extend_from_slice(&((kept - PACKET) as u32).to_le_bytes());
        merged.extend_from_slice(&packet[12..kept]);
    }
    fs::write(whole, merged).expect("a capture");
}

fn take(part: &Path) -> Vec<u8> {
    let bytes = fs::read(part).expect("a capture");
    fs::remove_file(part).expect("a capture");
    bytes
}

/// The packets of a capture, each with its header.
fn packets(mut rest: &[u8]) -> Vec<&[u8]> {
    let mut packets = Vec::new();
    while !rest.is_empty() {
        let (packet, others) = rest.split_at(PACKET + field(rest, 8) as usize);
        packets.push(packet);
        rest = others;
    }
    packets
}

fn field(packet: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(*packet[at..].first_chunk().expect("a header"))
}
