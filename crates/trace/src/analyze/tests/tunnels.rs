//! Connections in tunnels.

use super::*;
use crate::read::TunnelKind;

const GTP: [Tunnel; 3] = [
    Tunnel::new(TunnelKind::GtpU, 1, Tunnel::NONE),
    Tunnel::new(TunnelKind::GtpU, 2, Tunnel::NONE),
    Tunnel::new(TunnelKind::GtpU, 3, Tunnel::NONE),
];
const VXLAN: [Tunnel; 2] =
    [Tunnel::new(TunnelKind::Vxlan, 41, Tunnel::NONE), Tunnel::new(TunnelKind::Vxlan, 42, Tunnel::NONE)];

/// The packet, captured in a tunnel.
fn within(tunnel: Tunnel, packet: &CapturedPacket) -> CapturedPacket {
    CapturedPacket { tunnel, link: packet.link ^ tunnel.digest(), ..*packet }
}

/// The packets of both conversations in the order of time.
fn mixed(all: impl IntoIterator<Item = CapturedPacket>) -> Vec<CapturedPacket> {
    let mut all: Vec<_> = all.into_iter().collect();
    all.sort_by_key(|packet| packet.at);
    for (i, packet) in all.iter_mut().enumerate() {
        packet.frame = i as u64 + 1;
    }
    all
}

/// Another connection between the same ends, a little later.
fn another(packets: &[CapturedPacket]) -> Vec<CapturedPacket> {
    let moved = |number: SeqNumber, by: u32| SeqNumber(number.0.wrapping_add(by));
    let packets = packets.iter().map(|packet| {
        let mut packet = *packet;
        let (own, peer) =
            if packet.endpoints.src == SERVER.parse().unwrap() { (9 << 28, 5 << 28) } else { (5 << 28, 9 << 28) };
        packet.segment.seq = moved(packet.segment.seq, own);
        packet.segment.ack = moved(packet.segment.ack, peer);
        let blocks = packet.segment.options.sack.iter().map(|block| block.map(|number| moved(number, peer)));
        packet.segment.options.sack = blocks.collect();
        packet.at = packet.at.plus_nanos(3_000_000);
        packet
    });
    packets.collect()
}

/// Retransmissions and packets of a connection.
type Outline = (Vec<(String, Verdict, u16)>, u64);

fn outline(kept: &Kept) -> Vec<Outline> {
    let connections = kept.connections.iter().map(|connection| {
        let rows = kept.retransmissions.iter().filter(|row| row.connection_key() == connection.key());
        let rows = rows.map(|row| (row.triggers.to_string(), row.verdict, row.copy));
        (rows.collect(), connection.packets)
    });
    connections.collect()
}

fn names(kept: &Kept) -> Vec<String> {
    kept.connections.iter().map(|connection| connection.name()).collect()
}

#[test]
fn the_same_ends_in_two_networks_are_two_connections() {
    let packets = repaired().packets;
    let alone = outline(&repaired().analyzed());
    let twice = [alone.clone(), alone.clone()].concat();
    // Even with the same numbers, as after a clone of a machine.
    let delayed = packets.iter().map(|packet| CapturedPacket { at: packet.at.plus_nanos(3_000_000), ..*packet });
    for second in [another(&packets), delayed.collect(), packets.clone()] {
        let first = packets.iter().map(|packet| within(VXLAN[0], packet));
        let all = mixed(first.chain(second.iter().map(|packet| within(VXLAN[1], packet))));
        let kept = analyzed(&all, &Settings::default());
        assert_eq!(outline(&kept), twice);
        let ends = format!("{CLIENT} > {SERVER}");
        assert_eq!(names(&kept), [format!("{ends} (VXLAN 41)"), format!("{ends} (VXLAN 42)")]);
        assert!(kept.connections.iter().all(|connection| connection.capture_point.count == 1));
    }
    // And where the identifiers say less, by the numbers.
    for [one, other] in [[GTP[0], GTP[1]], [Tunnel::NONE, VXLAN[0]], [VXLAN[0], Tunnel::NONE]] {
        let first = packets.iter().map(|packet| within(one, packet));
        let second = another(&packets);
        let all = mixed(first.chain(second.iter().map(|packet| within(other, packet))));
        let kept = analyzed(&all, &Settings::default());
        assert_eq!(outline(&kept), twice, "{one} {other}");
        let named = kept.connections.iter().filter(|connection| connection.tunnel().is_some()).count();
        let tunnels = [one, other].iter().filter(|tunnel| !tunnel.is_none()).count();
        assert_eq!(named, tunnels, "{one} {other}");
    }
}

#[test]
fn a_connection_in_one_tunnel_is_as_one_outside() {
    let alone = repaired().analyzed();
    for tunnel in [VXLAN[0], GTP[0]] {
        let packets = repaired().packets;
        let kept = analyzed(&mixed(packets.iter().map(|packet| within(tunnel, packet))), &Settings::default());
        assert_eq!(kept.connections, alone.connections);
        assert_eq!(outline(&kept), outline(&alone));
    }
}

#[test]
fn each_direction_may_have_identifiers_of_its_own_which_change() {
    let alone = outline(&repaired().analyzed());
    for tunnels in [[GTP[0], GTP[1], GTP[2]], [VXLAN[0], VXLAN[1], VXLAN[1]], [GTP[0], GTP[1], Tunnel::NONE]] {
        let [up, down, moved] = tunnels;
        let packets = repaired().packets;
        let packets = packets.iter().enumerate().map(|(i, packet)| {
            let from_server = packet.endpoints.src == SERVER.parse().unwrap();
            let tunnel = match (from_server, i > 14) {
                (false, _) => up,
                (true, false) => down,
                (true, true) => moved,
            };
            within(tunnel, packet)
        });
        let kept = analyzed(&mixed(packets), &Settings::default());
        assert_eq!(outline(&kept), alone, "{tunnels:?}");
        assert_eq!(names(&kept), [format!("{CLIENT} > {SERVER}")]);
    }
}

#[test]
fn a_connection_captured_inside_and_outside_of_a_tunnel_is_one() {
    let alone = outline(&repaired().analyzed());
    let packets = repaired().packets;
    // On the interface to the network, and on that of the tunnel: which comes first depends on the direction.
    for tunnel in [VXLAN[0], GTP[0]] {
        for interface in [0, 1] {
            let both = packets.iter().flat_map(|packet| {
                let from_server = packet.endpoints.src == SERVER.parse().unwrap();
                let (tunnel_first, at) = (from_server, packet.at);
                let later = at.plus_nanos(4_000);
                let outer = within(tunnel, &CapturedPacket { at: if tunnel_first { at } else { later }, ..*packet });
                let inner = CapturedPacket { at: if tunnel_first { later } else { at }, interface, ..*packet };
                [outer, inner]
            });
            let kept = analyzed(&mixed(both), &Settings::default());
            assert_eq!(kept.connections.len(), 1, "{tunnel} {interface}");
            let [(rows, count)] = outline(&kept).try_into().unwrap();
            assert_eq!((&rows, count), (&alone[0].0, 2 * alone[0].1), "{tunnel} {interface}");
            let duplicates: u64 = kept.connections[0].directions.iter().map(|direction| direction.duplicates).sum();
            assert_eq!(duplicates, alone[0].1);
            assert_eq!(names(&kept), [format!("{CLIENT} > {SERVER}")]);
        }
    }
}

#[test]
fn copies_in_two_tunnels_of_a_path_are_two_capture_points() {
    // A tunnel without an identifier, and one with: the client's side and the server's, 25 ms apart.
    let packets = repaired().packets;
    let path = Tunnel::new(TunnelKind::IpInIp, 7, Tunnel::NONE);
    let at_server = packets.iter().map(|packet| within(VXLAN[0], packet));
    let at_client = packets.iter().map(|packet| {
        let from_server = packet.endpoints.src == SERVER.parse().unwrap();
        let nanos = packet.at.as_nanos();
        let at = if from_server { nanos + 25_000_000 } else { nanos - 25_000_000 };
        within(path, &CapturedPacket { at: Instant::from_nanos(at), ..*packet })
    });
    let kept = analyzed(&mixed(at_client.chain(at_server)), &Settings::default());
    assert_eq!(kept.connections.len(), 2);
    let points: Vec<_> = kept.connections.iter().map(|c| (c.capture_point.number, c.capture_point.count)).collect();
    assert_eq!(points, [(0, 2), (1, 2)]);
}

#[test]
fn many_networks_are_bounded() {
    let packets = Conversation::opened(0.0).packets;
    let all = (0..100).flat_map(|vni| {
        let tunnel = Tunnel::new(TunnelKind::Vxlan, vni, Tunnel::NONE);
        packets.iter().map(move |packet| within(tunnel, packet))
    });
    let kept = analyzed(&mixed(all), &Settings::default());
    assert!(kept.connections.len() >= 64, "{}", kept.connections.len());
}
