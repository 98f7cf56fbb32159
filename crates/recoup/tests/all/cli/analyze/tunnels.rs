//! Captures of TCP in tunnels.

use super::{SENDER, captured};
use crate::cli::folder;
use recoup_testing::csv_rows;
use std::fs;

/// The records of a classic little-endian capture: time, captured bytes, length on the wire.
fn records(file: &[u8]) -> Vec<([u8; 8], &[u8], u32)> {
    let word = |at: usize| u32::from_le_bytes(file[at..at + 4].try_into().expect("four bytes"));
    let mut all = Vec::new();
    let mut at = 24;
    while at < file.len() {
        let end = at + 16 + word(at + 8) as usize;
        all.push((file[at..at + 8].try_into().expect("a time"), &file[at + 16..end], word(at + 12)));
        at = end;
    }
    all
}

fn record((time, data, on_wire): ([u8; 8], &[u8], u32)) -> Vec<u8> {
    [&time[..], &(data.len() as u32).to_le_bytes(), &on_wire.to_le_bytes(), data].concat()
}

/// An IPv4 packet of UDP, whose payload begins with `payload`.
fn udp(port: u16, payload: &[u8], on_wire: u32) -> Vec<u8> {
    let length = on_wire as u16 + 8;
    let mut packet = vec![0x45, 0, 0, 0, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
    packet[2..4].copy_from_slice(&(length + 20).to_be_bytes());
    packet.extend([50_000, port, length, 0].map(u16::to_be_bytes).concat());
    packet.extend(payload);
    packet
}

/// A packet of a capture in VXLAN. The capture has raw IP.
fn vxlan(vni: u8, (time, data, on_wire): ([u8; 8], &[u8], u32)) -> Vec<u8> {
    let head = [&[8, 0, 0, 0, 0, 0, vni, 0][..], &[2; 12], &[8, 0]].concat();
    let packet = udp(4789, &[&head, data].concat(), on_wire + 22);
    record((time, &packet, on_wire + 50))
}

#[test]
fn connections_with_the_same_ends_in_two_tunnels_are_analyzed_apart() {
    let (dir, retransmissions) = captured("1");
    let plain = fs::read(dir.path(SENDER)).expect("a capture");
    assert_eq!(plain[20..24], [101, 0, 0, 0], "raw IP");
    let packets = records(&plain);
    let one: Vec<u8> = packets.iter().flat_map(|packet| vxlan(41, *packet)).collect();
    let both: Vec<u8> = packets.iter().flat_map(|packet| [vxlan(41, *packet), vxlan(42, *packet)].concat()).collect();
    dir.write("one.pcap", [&plain[..24], &one].concat());
    dir.write("both.pcap", [&plain[..24], &both].concat());

    let csv = |file: &str, view: &str| dir.run(&["analyze", file, view, "--format", "csv"]).stdout;
    // In one tunnel, all is as without it.
    for view in ["--connections", "--retransmissions"] {
        assert_eq!(csv("one.pcap", view), csv(SENDER, view), "{view}");
    }
    let connections = csv("both.pcap", "--connections");
    let connections = csv_rows(&connections);
    let column = |name: &str| connections[0].iter().position(|title| *title == name).expect("a column");
    let names = connections[1..].iter().map(|row| row[column("tunnel")].to_owned());
    assert_eq!(names.collect::<Vec<_>>(), ["VXLAN 41", "VXLAN 42"]);
    assert_eq!(csv_rows(&csv("both.pcap", "--retransmissions")).len() as u64, 1 + 2 * retransmissions);
    let explained = dir.run(&["explain", "both.pcap", "--no-advice"]).stdout;
    assert!(explained.contains(":80 (VXLAN 42): "), "{explained}");
    let drawn = dir.run(&["explain", "both.pcap", "--connection", "1"]).stdout;
    assert!(drawn.starts_with("Connection 1, 198.51.100.1:32768 > 192.0.2.1:80 (VXLAN 42): "), "{drawn}");
}

#[test]
fn a_capture_without_tcp_says_what_it_has_instead() {
    let dir = folder();
    let header = [0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255, 0, 0, 101, 0, 0, 0];
    let data = [&[4, 0, 0, 0, 1, 2, 3, 4][..], &[0; 24]].concat();
    let wire_guard = udp(51_820, &data, 32);
    let packets = record(([1; 8], &wire_guard, wire_guard.len() as u32)).repeat(1200);
    dir.write("wg.pcap", [&header[..], &packets].concat());
    let what = "1,200 packets of WireGuard, encrypted";
    let analyzed = dir.run(&["analyze", "wg.pcap"]);
    assert_eq!(analyzed.status, Some(0));
    assert_eq!(analyzed.stderr, format!("recoup: note: wg.pcap: no TCP: {what}\n"));
    let explained = dir.run(&["explain", "wg.pcap"]);
    assert!(
        explained.stdout.contains(&format!("There is no TCP connection: the capture has {what}.")),
        "{explained:?}"
    );
    let refused = dir.run(&["plot", "wg.pcap"]);
    assert_eq!(refused.status, Some(2));
    let why = format!("recoup: wg.pcap: there is no TCP connection: the capture has {what}\n");
    assert!(refused.stderr.ends_with(&why), "{refused:?}");
}
