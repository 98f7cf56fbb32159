use super::*;
use crate::read::Message;
use recoup_wire::{Endpoints, Flags, Options, SackBlocks, Segment, SeqNumber, Timestamps};

fn packet(frame: u64) -> CapturedPacket {
    CapturedPacket {
        frame,
        at: Instant::from_millis(frame),
        endpoints: Endpoints { src: "192.0.2.1:40000".parse().unwrap(), dst: "198.51.100.2:80".parse().unwrap() },
        segment: Segment {
            seq: SeqNumber(7),
            ack: SeqNumber(9),
            payload_len: 1448,
            window: 500,
            flags: Flags::ACK,
            options: Options { timestamps: Some(Timestamps { value: 1, echo: 2 }), ..Options::NONE },
        },
        ip_id: Some(5),
        hop_limit: 64,
        ecn: Default::default(),
        options_complete: true,
        overlong: false,
        outgoing: None,
        interface: 0,
        link: 17,
        message: None,
        tunnel: Tunnel::NONE,
    }
}

/// Usual packets, and one for each fact that is unusual.
fn all() -> Vec<CapturedPacket> {
    type Change = fn(&mut CapturedPacket);
    let changes: [Change; 15] = [
        |_| {},
        |p| p.tunnel = Tunnel::from_bits(42),
        |p| p.segment.options = Options::NONE,
        |p| {
            let block = [SeqNumber(1), SeqNumber(2)];
            p.segment.options.sack = SackBlocks::from_iter([block; 3]);
        },
        |p| {
            p.segment.options.mss = Some(1460);
            p.segment.options.window_scale = Some(7);
            p.segment.options.sack_permitted = true;
        },
        |p| {
            p.endpoints.src = "[2001:db8::1]:40000".parse().unwrap();
            p.endpoints.dst = "[2001:db8::2]:80".parse().unwrap();
        },
        |p| p.ip_id = None,
        |p| p.options_complete = false,
        |p| p.overlong = true,
        |p| p.outgoing = Some(true),
        |p| p.outgoing = Some(false),
        |p| p.interface = 1 << 20,
        |p| p.message = Some(Message::PathMtu(1280)),
        |p| p.at = Instant::from_millis(9_000),
        |p| p.frame += 1 << 40,
    ];
    let changed = (100..).zip(changes).flat_map(|(frame, change)| {
        let mut changed = packet(frame);
        change(&mut changed);
        [changed, packet(frame)]
    });
    changed.collect()
}

fn packed(packets: &[CapturedPacket]) -> PackedPackets {
    let mut packed = PackedPackets::default();
    for full in packets {
        packed.push(&Packet::from(full), Instant::from_millis(full.frame));
    }
    packed
}

#[test]
fn packets_are_unpacked_as_they_were() {
    assert_eq!(size_of::<PackedPacket>(), 64);
    let packets = all();
    let all = packed(&packets);
    assert_eq!(all.len(), packets.len());
    // One room for all: nothing is left of the packet before.
    let mut room = TimedPacket::default();
    for (index, full) in packets.iter().enumerate() {
        all.unpack(index, false, &mut room);
        assert_eq!(room.packet, *full);
        assert_eq!(room.time, Instant::from_millis(full.frame));
        assert_eq!(all.ends(index), ConnectionEnds::of(&full.endpoints));
    }
    let listed: Vec<_> = all.iter().map(|timed| timed.packet).collect();
    assert_eq!(listed, packets);
    let usual = packets.iter().filter(|full| **full == packet(full.frame));
    let rare = packed(&packets).rare.len();
    assert!(usual.count() + rare <= packets.len(), "usual packets have no rare facts");
}

#[test]
fn merged_packets_are_ordered_by_time() {
    let [early, late] = [1, 2].map(|first| [first, first + 2].map(packet));
    let mut merged = packed(&late);
    merged.merge(&packed(&early));
    merged.renumber(Renumbering { frames: 10, connections: 0 });
    let frames = |packets: &PackedPackets| {
        let frames = packets.iter().map(|timed| timed.packet.frame);
        frames.collect::<Vec<u64>>()
    };
    assert_eq!(frames(&merged), [11, 12, 13, 14]);
    let third = merged.iter().nth(2).unwrap().time;
    let last = merged.split_off_later(third);
    assert_eq!((frames(&merged), frames(&last)), (vec![11, 12, 13], vec![14]));
}
