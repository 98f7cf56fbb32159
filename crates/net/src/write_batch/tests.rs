use super::*;
use crate::netlink::Netlink;
use crate::{Namespace, NetError, VnetHeader};
use recoup_testing::skip;
use std::fs;

/// Bytes of the packets here.
const LEN: usize = 60;

/// An IPv4 header, as far as the device looks at it.
const PACKET: [u8; LEN] = {
    let mut packet = [0; LEN];
    packet[0] = 0x45;
    packet
};

/// Writes 151 packets, three of which the device refuses, in the calling thread's namespace. Returns how many the batch
/// says it refused, and how many the device counted.
fn write(with_ring: bool) -> Result<(u64, u64), NetError> {
    let tun = Tun::create("batch0")?;
    tun.bring_up(&mut Netlink::open()?, 1500)?;
    let mut batch = WriteBatch::new(LEN);
    if !with_ring {
        batch.ring = None;
    }
    let mut refused = 0;
    for number in 0..150 {
        let no_packet = [0; LEN];
        refused += match number {
            3 | 149 => batch.push(&tun, [&no_packet, &[], &[]]),
            70 => batch.push(&tun, [&[0; LEN + 1], &[], &[]]),
            // The same packet in one part and in three.
            100.. => batch.push(&tun, [&PACKET[..20], &PACKET[20..21], &PACKET[21..]]),
            _ => batch.push(&tun, [&PACKET, &[], &[]]),
        };
    }
    refused += batch.grow(&tun, LEN + 1);
    refused += batch.push(&tun, [&PACKET, &[0], &[]]);
    refused += batch.submit(&tun);
    assert_eq!(batch.submit(&tun), 0, "nothing is written twice");
    Ok((refused, count_received("batch0")?))
}

/// Packets that a device of the calling thread's namespace counted.
fn count_received(name: &str) -> Result<u64, NetError> {
    let devices = fs::read_to_string("/proc/thread-self/net/dev");
    let devices = devices.map_err(NetError::system("read the counters"))?;
    let line = devices.lines().find_map(|line| line.trim().strip_prefix(name)?.strip_prefix(':'));
    let received = line.and_then(|line| line.split_whitespace().nth(1)?.parse().ok());
    Ok(received.unwrap_or(0))
}

/// As [`write`], with 20 packets at once to a device with offloads, two of which it refuses.
fn write_super_packets(with_ring: bool) -> Result<(u64, u64), NetError> {
    let tun = Tun::create_with_offloads("super0")?;
    tun.bring_up(&mut Netlink::open()?, 1500)?;
    let mut super_packets = SuperPackets::new();
    if !with_ring {
        super_packets.ring = None;
    }
    let header = VnetHeader::default();
    let mut frames = [Frame { header, packet: [&PACKET[..20], &PACKET[20..21], &PACKET[21..]] }; 20];
    frames[1].packet = [&PACKET, &[], &[]];
    frames[2].packet = [&[0; LEN], &[], &[]];
    frames[19].packet = [&[], &[], &[0; LEN]];
    let refused = super_packets.write(&tun, &frames);
    Ok((refused, count_received("super0")?))
}

#[test]
fn every_super_packet_is_written_once_or_counted_as_refused() {
    for with_ring in [true, false] {
        let written = Namespace::new().and_then(|namespace| namespace.run(move || write_super_packets(with_ring))?);
        match written {
            Ok(counts) => assert_eq!(counts, (2, 18), "with a ring: {with_ring}"),
            Err(error) => return skip(error),
        }
    }
}

#[test]
fn every_packet_is_written_once_or_counted_as_refused() {
    for with_ring in [true, false] {
        let written = Namespace::new().and_then(|namespace| namespace.run(move || write(with_ring))?);
        match written {
            Ok(counts) => assert_eq!(counts, (3, 148), "with a ring: {with_ring}"),
            Err(error) => return skip(error),
        }
    }
}
