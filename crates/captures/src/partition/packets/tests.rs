//! Packets that are written and read again.

use super::*;
use recoup_trace::read::{Message, TunnelKind};
use recoup_wire::{Endpoints, Options, Segment};

fn packet(frame: u64) -> CapturedPacket {
    CapturedPacket {
        frame,
        at: Instant::from_nanos(u64::MAX - frame),
        endpoints: Endpoints { src: "192.0.2.1:40000".parse().unwrap(), dst: "198.51.100.2:80".parse().unwrap() },
        segment: Segment {
            seq: SeqNumber(u32::MAX),
            ack: SeqNumber(9),
            payload_len: 1 << 31,
            window: u16::MAX,
            flags: Flags::from_bits(0xff),
            options: Options::NONE,
        },
        ip_id: Some(u16::MAX),
        hop_limit: 255,
        ecn: Ecn::from_ip(3).with_accurate_flag().with_accurate_option(),
        options_complete: true,
        overlong: false,
        outgoing: None,
        interface: u32::MAX,
        link: 1 << 31,
        message: None,
        tunnel: Tunnel::new(TunnelKind::Vxlan, 42, Tunnel::NONE),
    }
}

/// Packets with every field that is unusual, and enough for two row groups.
fn all() -> Vec<CapturedPacket> {
    type Change = fn(&mut CapturedPacket);
    let changes: [Change; 10] = [
        |_| {},
        |p| {
            p.segment.options.timestamps = Some(Timestamps { value: u32::MAX, echo: 2 });
        },
        |p| {
            let block = [SeqNumber(u32::MAX), SeqNumber(2)];
            p.segment.options.sack = SackBlocks::from_iter([block; 3]);
        },
        |p| {
            p.segment.options.mss = Some(0);
            p.segment.options.window_scale = Some(14);
            p.segment.options.sack_permitted = true;
        },
        |p| {
            p.endpoints.src = "[2001:db8::1]:40000".parse().unwrap();
            p.endpoints.dst = "[::ffff:192.0.2.7]:80".parse().unwrap();
            p.ip_id = None;
        },
        |p| p.options_complete = false,
        |p| p.overlong = true,
        |p| p.outgoing = Some(true),
        |p| p.outgoing = Some(false),
        |p| p.message = Some(Message::PathMtu(1280)),
    ];
    let changed = changes.iter().cycle().take(GROUP + 10);
    let packets = changed.zip(1..).map(|(change, frame)| {
        let mut packet = packet(frame);
        change(&mut packet);
        packet
    });
    packets.collect()
}

#[test]
fn packets_are_read_as_they_were_written() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let mut writer = PacketWriter::new(file.as_file()).unwrap();
    let packets = all();
    for packet in &packets {
        writer.write(&Packet::from(packet)).unwrap();
    }
    writer.finish().unwrap();
    let mut reader = PacketReader::open(file.path()).unwrap();
    let mut packet = Packet::default();
    for written in &packets {
        assert!(reader.next_into(&mut packet).unwrap());
        assert_eq!(CapturedPacket::from(&packet), *written);
    }
    assert!(!reader.next_into(&mut packet).unwrap());
}

#[test]
fn damaged_files_are_errors() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("packets.parquet");
    let mut writer = PacketWriter::new(Vec::new()).unwrap();
    let packets = all();
    for packet in &packets {
        writer.write(&Packet::from(packet)).unwrap();
    }
    let whole = writer.finish().unwrap();
    std::fs::write(&path, &whole[..whole.len() - 9]).unwrap();
    assert!(PacketReader::open(&path).is_err());
    std::fs::write(&path, b"frame,time").unwrap();
    assert!(PacketReader::open(&path).is_err());
}
