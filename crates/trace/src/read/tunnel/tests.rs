use super::*;
use crate::read::{
    CapturedPacket, Counts, Message, PacketSource, Reader,
    tests::made::{ETHERNET, Little, NANOS, RAW, classic, ethernet, header, ip, read, record, segment},
};

/// An IPv4 packet, with a checksum.
fn v4(protocol: u8, payload: &[u8]) -> Vec<u8> {
    let length = (20 + payload.len()) as u16;
    let mut packet = vec![0x45, 0, 0, 0, 0, 7, 0, 0, 60, protocol, 0, 0, 10, 9, 0, 1, 10, 9, 0, 2];
    packet[2..4].copy_from_slice(&length.to_be_bytes());
    let sum: u32 = packet.chunks(2).map(|word| u32::from(u16::from_be_bytes([word[0], word[1]]))).sum();
    let sum = !((sum & 0xffff) + (sum >> 16)) as u16;
    packet[10..12].copy_from_slice(&sum.to_be_bytes());
    packet.extend(payload);
    packet
}

/// An IPv6 packet.
fn v6(protocol: u8, payload: &[u8]) -> Vec<u8> {
    let mut packet = vec![0x60, 0, 0, 0, 0, 0, protocol, 60];
    packet[4..6].copy_from_slice(&(payload.len() as u16).to_be_bytes());
    packet.extend([9; 16]);
    packet.extend([8; 16]);
    packet.extend(payload);
    packet
}

fn udp(from: u16, to: u16, payload: &[u8]) -> Vec<u8> {
    let words = [from, to, 8 + payload.len() as u16, 0];
    [&words.map(u16::to_be_bytes).concat(), payload].concat()
}

fn vxlan(vni: u32, inner: &[u8]) -> Vec<u8> {
    let head = [0x0800_0000, vni << 8].map(u32::to_be_bytes).concat();
    udp(50_000, 4789, &[head, ethernet(&[8, 0], inner)].concat())
}

fn gtp(teid: u32, inner: &[u8]) -> Vec<u8> {
    let head = [&[0x30, 0xff][..], &(inner.len() as u16).to_be_bytes(), &teid.to_be_bytes()].concat();
    udp(2152, 2152, &[&head, inner].concat())
}

fn gre(head: &[u8], inner: &[u8]) -> Vec<u8> {
    [head, inner].concat()
}

/// The packet in all tunnels, and the innermost tunnel.
fn inside(packet: &[u8], on_wire: usize) -> Result<(Vec<u8>, Tunnel), Reason> {
    let inner = enter(packet, on_wire, Tunnel::NONE, &mut ())?;
    Ok((inner.packet.to_vec(), inner.tunnel))
}

/// Segments without their payload in several tunnels.
pub fn cut_segments() -> Vec<Vec<u8>> {
    let tcp = &tcp()[..52];
    let in_gre = gre(&[0x10, 0, 0x22, 0xeb, 0, 0, 0, 1, 0x20, 0, 0, 6, 0, 0, 0, 9, 0, 0, 8, 0], tcp);
    vec![v4(17, &vxlan(42, &v4(17, &gtp(7, tcp)))), v6(47, &in_gre)]
}

fn tcp() -> Vec<u8> {
    ip(&segment(0), false)
}

/// Each kind of tunnel: its name, the IP protocol, its payload, and what is displayed.
fn tunnels() -> Vec<(&'static str, u8, Vec<u8>, &'static str)> {
    let (tcp, tcp6) = (tcp(), ip(&segment(0), true));
    let frame = ethernet(&[8, 0], &tcp);
    let tagged = ethernet(&[0x81, 0, 0, 7, 8, 0], &tcp);
    let over_udp = |port: u16, head: &[u8], inner: &[u8]| udp(50_000, port, &[head, inner].concat());
    let vxlan = |head: [u8; 8], inner: &[u8]| over_udp(4789, &head, inner);
    let erspan_two = [0x10, 0, 0x88, 0xbe, 0, 0, 0, 1, 0x10, 0x64, 0x08, 5, 0, 0, 0, 9];
    let erspan_three =
        |kind: u8, last: u8| [0x10, 0, 0x22, 0xeb, 0, 0, 0, 1, 0x20, 0x64, 0x04, 6, 0, 0, 0, 9, 0, 0, kind << 2, last];
    vec![
        ("VXLAN", 17, vxlan([8, 0, 0, 0, 0, 1, 2, 0], &frame), "VXLAN 258"),
        ("VXLAN with a policy", 17, vxlan([0x88, 8, 0, 9, 0, 1, 2, 0], &frame), "VXLAN 258"),
        ("VXLAN, tagged", 17, vxlan([8, 0, 0, 0, 0, 0, 42, 0], &tagged), "VXLAN 42"),
        ("VXLAN, IPv6", 17, vxlan([8, 0, 0, 0, 0, 0, 42, 0], &ethernet(&[0x86, 0xdd], &tcp6)), "VXLAN 42"),
        ("VXLAN, old port", 17, over_udp(8472, &[8, 0, 0, 0, 0, 0, 42, 0], &frame), "VXLAN 42"),
        ("GENEVE", 17, over_udp(6081, &[0, 0, 0x65, 0x58, 0, 0, 42, 0], &frame), "GENEVE 42"),
        (
            "GENEVE with options",
            17,
            over_udp(6081, &[2, 0x40, 0x65, 0x58, 0, 0, 42, 0, 1, 8, 0x80, 1, 1, 2, 3, 4], &frame),
            "GENEVE 42",
        ),
        ("GENEVE, IPv4", 17, over_udp(6081, &[0, 0, 8, 0, 0, 0, 0, 0], &tcp), "GENEVE 0"),
        ("GTP-U", 17, gtp(0x1f2e, &tcp), "GTP-U TEID 0x1f2e"),
        (
            "GTP-U with extensions",
            17,
            {
                let options = [0, 5, 0, 0x85, 1, 0x10, 9, 0x20, 2, 0, 0, 0, 0, 0, 0, 0];
                let length = ((tcp.len() + options.len()) as u16).to_be_bytes();
                let head = [&[0x36, 0xff][..], &length, &[0, 0, 0, 7], &options].concat();
                over_udp(2152, &head, &tcp)
            },
            "GTP-U TEID 0x7",
        ),
        ("MPLS over UDP", 17, over_udp(6635, &[0, 1, 0, 64, 0, 2, 1, 64], &tcp), "MPLS label 32"),
        ("MPLS over UDP, Ethernet", 17, over_udp(6635, &[0, 2, 1, 64, 0, 0, 0, 0], &frame), "MPLS label 32"),
        ("IPv4", 4, tcp.clone(), "IP in IP, path 3405c536"),
        ("IPv6", 41, tcp6, "IP in IP, path 3405c536"),
        ("GRE", 47, gre(&[0, 0, 8, 0], &tcp), "GRE, path 3405c536"),
        ("GRE with all fields", 47, gre(&[0xb0, 0, 8, 0, 1, 2, 0, 0, 0, 0, 0, 99, 0, 0, 0, 5], &tcp), "GRE key 99"),
        ("GRE, Ethernet", 47, gre(&[0x20, 0, 0x65, 0x58, 0, 0, 1, 0], &tagged), "GRE key 256"),
        ("GRE, MPLS", 47, gre(&[0, 0, 0x88, 0x47, 0, 1, 1, 64], &tcp), "MPLS label 16"),
        ("ERSPAN I", 47, gre(&[0, 0, 0x88, 0xbe], &frame), "ERSPAN, path 3405c536"),
        ("ERSPAN II", 47, gre(&erspan_two, &tagged), "ERSPAN session 5"),
        ("ERSPAN III", 47, gre(&erspan_three(0, 0), &frame), "ERSPAN session 6"),
        (
            "ERSPAN III with a platform's header",
            47,
            [&erspan_three(0, 1)[..], &[7; 8], &frame].concat(),
            "ERSPAN session 6",
        ),
        ("ERSPAN III, IP", 47, gre(&erspan_three(2, 0), &tcp), "ERSPAN session 6"),
        ("GRE, WCCP", 47, gre(&[0, 0, 0x88, 0x3e, 0, 1, 2, 3], &tcp), "GRE, path 3405c536"),
        ("GRE over UDP", 17, over_udp(4754, &[0x20, 0, 8, 0, 0, 0, 0, 99], &tcp), "GRE key 99"),
        (
            "PPTP",
            47,
            gre(&[0x30, 0x81, 0x88, 0x0b, 0, 80, 0, 9, 0, 0, 0, 1, 0, 0, 0, 2, 0xff, 3, 0, 0x21], &tcp),
            "PPTP call 9",
        ),
    ]
}

#[test]
fn each_kind_of_tunnel_is_entered_and_can_be_cut_anywhere() {
    for (what, protocol, payload, name) in tunnels() {
        for (version, outer) in [(4, v4(protocol, &payload)), (6, v6(protocol, &payload))] {
            let inner = tcp();
            let inner = if payload.ends_with(&inner) { inner } else { ip(&segment(0), true) };
            let (packet, tunnel) = inside(&outer, outer.len()).unwrap_or_else(|reason| panic!("{what}: {reason}"));
            assert_eq!(packet, inner, "{what}");
            if version == 4 {
                assert_eq!(tunnel.to_string(), name, "{what}");
            }
            // Behind the header of UDP, what is cut is never taken for something else.
            let ip_header = if version == 4 { 20 } else { 40 };
            for end in 0..outer.len() {
                let cut = inside(&outer[..end], outer.len());
                match cut {
                    Ok((packet, found)) => {
                        assert_eq!(found, tunnel, "{what} cut at {end}");
                        assert!(inner.starts_with(&packet), "{what} cut at {end}");
                    }
                    Err(reason) if end < ip_header + 8 => {
                        assert!(
                            [Reason::Cut, Reason::Udp, Reason::IpHeader].contains(&reason),
                            "{what} cut at {end}: {reason}"
                        );
                    }
                    Err(reason) => assert_eq!(reason, Reason::Cut, "{what} cut at {end}"),
                }
            }
        }
    }
}

/// All packets and counts of a capture in Ethernet frames, which are cut to `captured` bytes.
fn read_frames(packets: &[Vec<u8>], captured: usize) -> (Vec<CapturedPacket>, Counts) {
    let mut file = header(Little, NANOS, ETHERNET);
    for packet in packets {
        let ether_type: &[u8] = if packet[0] >> 4 == 4 { &[8, 0] } else { &[0x86, 0xdd] };
        let frame = ethernet(&[&[0x81, 0, 0, 7], ether_type].concat(), packet);
        file.extend(record(Little, 5, &frame[..frame.len().min(captured)], frame.len()));
    }
    read(&file).unwrap()
}

#[test]
fn a_segment_in_a_tunnel_is_read_as_one_outside() {
    for (what, protocol, payload, _) in tunnels() {
        let is_v4 = payload.ends_with(&tcp());
        let (plain, _) = read_frames(&[ip(&segment(0), !is_v4)], usize::MAX);
        for outer in [v4(protocol, &payload), v6(protocol, &payload)] {
            let (found, counts) = read_frames(std::slice::from_ref(&outer), usize::MAX);
            let [packet] = found.as_slice() else { panic!("{what}") };
            assert!(!packet.tunnel.is_none() && packet.link != plain[0].link, "{what}");
            let expected = CapturedPacket { tunnel: packet.tunnel, link: packet.link, ..plain[0] };
            assert_eq!(*packet, expected, "{what}");
            let kind = packet.tunnel.kind().unwrap();
            assert_eq!(counts.in_tunnels(kind).count, 1);
            assert_eq!(counts.notes(), [format!("frame 1: analyzed in tunnels ({})", kind.title())], "{what}");
            // Without the payload, its length is still that on the wire.
            let (found, counts) = read_frames(std::slice::from_ref(&outer), 18 + outer.len() - 100);
            assert_eq!(found[0].segment.payload_len, 100, "{what}");
            assert!(found[0].options_complete && !found[0].overlong && counts.notes().len() == 1, "{what}");
            // Each cut is counted as such.
            for end in 0..18 + outer.len() - 100 {
                let (found, counts) = read_frames(std::slice::from_ref(&outer), end);
                assert_eq!(counts.frames, 1, "{what} cut at {end}");
                assert!(found.len() == 1 || Reason::ALL.iter().any(|reason| counts.skipped(*reason).count == 1));
            }
        }
    }
}

#[test]
fn tunnels_in_tunnels_are_entered_to_a_bound() {
    let mut packet = tcp();
    for depth in 1..=MOST_TUNNELS + 1 {
        packet = match depth % 3 {
            0 => v4(17, &vxlan(depth as u32, &packet)),
            1 => v4(4, &packet),
            _ => v6(47, &gre(&[0x20, 0, 8, 0, 0, 0, 0, depth as u8], &packet)),
        };
        let (found, counts) = read_frames(std::slice::from_ref(&packet), usize::MAX);
        if depth > MOST_TUNNELS {
            assert_eq!(counts.skipped(Reason::TooManyTunnels).count, 1);
            assert!(Reason::TooManyTunnels.name().contains(&format!("{MOST_TUNNELS} tunnels")));
            continue;
        }
        let tunnel = found[0].tunnel;
        assert_eq!(tunnel.kind(), Some(TunnelKind::IpInIp));
        assert_eq!(tunnel.to_string().contains("in tunnel"), depth > 1, "{tunnel}");
    }
}

#[test]
fn only_a_header_that_fits_makes_a_tunnel() {
    let tcp = tcp();
    let frame = ethernet(&[8, 0], &tcp);
    let over_udp = |port: u16, head: &[u8], inner: &[u8]| v4(17, &udp(50_000, port, &[head, inner].concat()));
    let vni = [8, 0, 0, 0, 0, 0, 42, 0];
    let changed = |at: usize, value: u8| {
        let mut packet = tcp.clone();
        packet[at] = value;
        packet
    };
    for (what, packet, expected) in [
        ("another port", over_udp(4788, &vni, &frame), Reason::Udp),
        ("VXLAN's port as the source", v4(17, &udp(4789, 9, &[&vni, &frame[..]].concat())), Reason::Udp),
        ("no network identifier", over_udp(4789, &[0, 0, 0, 0, 0, 0, 42, 0], &frame), Reason::Udp),
        ("a reserved byte", over_udp(4789, &[8, 0, 0, 0, 0, 0, 42, 1], &frame), Reason::Udp),
        ("a reserved flag", over_udp(4789, &[8, 1, 0, 0, 0, 0, 42, 0], &frame), Reason::Udp),
        ("an unknown EtherType", over_udp(4789, &vni, &ethernet(&[9, 9], &tcp)), Reason::Udp),
        ("ARP", over_udp(4789, &vni, &ethernet(&[8, 6], &[0; 28])), Reason::Arp),
        ("no frame", over_udp(4789, &vni, &[]), Reason::Udp),
        ("version 5", over_udp(4789, &vni, &ethernet(&[8, 0], &changed(0, 0x55))), Reason::Udp),
        ("an IP header of 16 bytes", over_udp(4789, &vni, &ethernet(&[8, 0], &changed(0, 0x44))), Reason::Udp),
        ("a longer packet, wrong checksum", over_udp(4789, &vni, &ethernet(&[8, 0], &changed(2, 9))), Reason::Udp),
        ("GENEVE of version 1", over_udp(6081, &[0x40, 0, 8, 0, 0, 0, 42, 0], &tcp), Reason::Udp),
        ("GENEVE with another protocol", over_udp(6081, &[0, 0, 9, 9, 0, 0, 42, 0], &tcp), Reason::Udp),
        ("GENEVE with options beyond it", over_udp(6081, &[63, 0, 8, 0, 0, 0, 42, 0], &tcp), Reason::Udp),
        ("GTP-U control", over_udp(2152, &[0x30, 1, 0, 0, 0, 0, 0, 9], &[]), Reason::Udp),
        ("GTP-U, longer", over_udp(2152, &[0x30, 0xff, 9, 0, 0, 0, 0, 9], &tcp), Reason::Udp),
        (
            "GTP-U, an extension of 0 bytes",
            over_udp(2152, &[0x34, 0xff, 0, 24, 0, 0, 0, 9, 0, 0, 0, 1], &[0; 20]),
            Reason::Udp,
        ),
        ("GRE with routing", v4(47, &gre(&[0x40, 0, 8, 0], &tcp)), Reason::UnknownTunnel),
        ("GRE of version 2", v4(47, &gre(&[0, 2, 8, 0], &tcp)), Reason::UnknownTunnel),
        ("GRE with another protocol", v4(47, &gre(&[0, 0, 0x20, 1], &tcp)), Reason::UnknownTunnel),
        (
            "ERSPAN II of version 5",
            v4(47, &[&[0x10, 0, 0x88, 0xbe, 0, 0, 0, 1, 0x50][..], &[0; 7], &frame].concat()),
            Reason::UnknownTunnel,
        ),
        (
            "PPTP, encrypted",
            v4(47, &[0x20, 1, 0x88, 0x0b, 0, 80, 0, 9, 0xff, 3, 0, 0xfd, 0x90, 0, 1, 2]),
            Reason::CompressedPpp,
        ),
        ("UDP in VXLAN", over_udp(4789, &vni, &ethernet(&[8, 0], &v4(17, &udp(1, 2, &[])))), Reason::Udp),
        ("nothing in IP", v4(4, &[]), Reason::UnknownTunnel),
    ] {
        let (found, counts) = read_frames(std::slice::from_ref(&packet), usize::MAX);
        let reasons: Vec<Reason> = Reason::ALL.into_iter().filter(|reason| counts.skipped(*reason).count > 0).collect();
        assert_eq!((found.len(), reasons.as_slice()), (0, &[expected][..]), "{what}");
    }
}

#[test]
fn a_mirror_may_cut_packets() {
    // Its header is all that is left of the segment, and its checksum is right.
    let tcp = tcp();
    for inner in [&v4(6, &tcp[20..])[..72], &ip(&segment(0), true)[..92]] {
        let ether_type: &[u8] = if inner[0] == 0x45 { &[8, 0] } else { &[0x86, 0xdd] };
        let frame = ethernet(ether_type, inner);
        let packet = v4(17, &udp(50_000, 4789, &[&[8, 0, 0, 0, 0, 0, 42, 0], &frame[..]].concat()));
        let (found, counts) = read_frames(&[packet], usize::MAX);
        assert_eq!((found[0].segment.payload_len, found[0].overlong), (100, false));
        assert_eq!(counts.packets, 1);
    }
}

#[test]
fn fragments_of_tunnels_are_counted() {
    let fragment = |mut packet: Vec<u8>, high: u8, low: u8| {
        packet[6..8].copy_from_slice(&[high, low]);
        packet
    };
    let (first, last) = ([0x20, 0], [0, 9]);
    let of = |packet: Vec<u8>, [high, low]: [u8; 2]| fragment(packet, high, low);
    let over_udp = v4(17, &vxlan(42, &tcp()));
    for (what, packet, expected) in [
        ("VXLAN, last", of(over_udp.clone(), last), Reason::Udp),
        ("GRE, last", of(v4(47, &gre(&[0, 0, 8, 0], &tcp())), last), Reason::TunnelFragment),
        ("IP, last", of(v4(4, &tcp()), last), Reason::TunnelFragment),
        ("in a tunnel", v4(4, &of(v4(4, &tcp()), last)), Reason::TunnelFragment),
        ("a segment in a tunnel", v4(4, &of(tcp(), first)), Reason::Fragment),
        ("UDP", of(v4(17, &udp(1, 2, &[0; 99])), first), Reason::Udp),
    ] {
        let (found, counts) = read_frames(&[packet], usize::MAX);
        assert_eq!((found.len(), counts.skipped(expected).count), (0, 1), "{what}");
    }
    // The first one has all headers: the segment's length is that on the wire.
    for whole in [over_udp, v4(47, &gre(&[0, 0, 8, 0], &tcp())), v4(4, &tcp())] {
        let mut cut = whole[..whole.len() - 60].to_vec();
        let length = (cut.len() as u16).to_be_bytes();
        cut[2..4].copy_from_slice(&length);
        let (found, counts) = read_frames(&[of(cut, first)], usize::MAX);
        assert_eq!((found[0].segment.payload_len, found[0].overlong, counts.packets), (100, false, 1));
    }
}

#[test]
fn closed_tunnels_and_other_traffic_are_named() {
    let message = |kind: u8, length: usize| {
        let mut message = vec![7; length];
        message[..4].copy_from_slice(&[kind, 0, 0, 0]);
        message[8..16].copy_from_slice(&[1, 0, 0, 0, 0, 0, 0, 0]);
        message
    };
    let over_udp = |from: u16, to: u16, payload: &[u8]| v4(17, &udp(from, to, payload));
    let long_header = |version: [u8; 4]| [&[0xc3][..], &version, &[8], &[5; 30]].concat();
    for (packet, expected) in [
        (over_udp(9, 51_820, &message(1, 148)), Reason::WireGuard),
        (over_udp(51_820, 9, &message(2, 92)), Reason::WireGuard),
        (over_udp(9, 10, &message(3, 64)), Reason::WireGuard),
        (over_udp(9, 10, &message(4, 32)), Reason::WireGuard),
        (over_udp(9, 10, &message(4, 112)), Reason::WireGuard),
        (over_udp(9, 10, &message(1, 147)), Reason::Udp),
        (over_udp(9, 10, &message(4, 33)), Reason::Udp),
        (over_udp(9, 10, &message(5, 64)), Reason::Udp),
        (v4(50, &[7; 60]), Reason::Esp),
        (v6(50, &[7; 60]), Reason::Esp),
        (over_udp(4500, 4500, &[7; 60]), Reason::Esp),
        (over_udp(4500, 4500, &[0xff]), Reason::Esp),
        // IKE.
        (over_udp(4500, 4500, &[0; 60]), Reason::Udp),
        (over_udp(9, 1194, &[0x38; 14]), Reason::OpenVpn),
        (over_udp(9, 1194, &[0; 14]), Reason::Udp),
        (over_udp(9, 10, &[&[22, 0xfe, 0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4][..], &[1; 4]].concat()), Reason::Dtls),
        (over_udp(9, 10, &[22, 0xfe, 0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 9, 4]), Reason::Udp),
        (over_udp(9, 10, &long_header([0, 0, 0, 1])), Reason::Quic),
        (over_udp(9, 10, &long_header([0x6b, 0x33, 0x43, 0xcf])), Reason::Quic),
        (over_udp(9, 443, &[0x41; 40]), Reason::Quic),
        (over_udp(443, 9, &[0x41; 40]), Reason::Quic),
        (over_udp(9, 444, &[0x41; 40]), Reason::Udp),
        (v4(1, &[8, 0, 0, 0, 0, 0, 0, 0]), Reason::Icmp),
        (v4(132, &[0; 20]), Reason::NotTcp),
        (over_udp(4500, 8472, &[7; 60]), Reason::Esp),
        // In a tunnel, too.
        (v4(17, &vxlan(42, &v4(50, &[7; 60]))), Reason::Esp),
    ] {
        let (found, counts) = read_frames(std::slice::from_ref(&packet), usize::MAX);
        assert_eq!((found.len(), counts.skipped(expected).count), (0, 1), "{expected}: {packet:?}");
        let of = if expected == Reason::Udp { "UDP" } else { expected.name() };
        assert_eq!(counts.instead_of_tcp(), Some(format!("1 packet of {of}")));
        // One line says it.
        assert_eq!(counts.notes(), [""; 0]);
        for end in 0..packet.len() {
            read_frames(std::slice::from_ref(&packet), 18 + end);
        }
    }
    let wire_guard = over_udp(9, 10, &message(4, 112));
    let both = [vec![wire_guard.clone(); 1200], vec![v4(1, &[8; 8]); 3]].concat();
    let (_, mut counts) = read_frames(&both, usize::MAX);
    assert_eq!(counts.instead_of_tcp().unwrap(), "1,200 packets of WireGuard, encrypted; 3 of ICMP");
    let later = read_frames(&[wire_guard, tcp()], usize::MAX).1;
    counts.append(later);
    assert_eq!(counts.instead_of_tcp(), None);
    assert_eq!(counts.notes(), ["left out 1201 frames, first frame 1: WireGuard, encrypted"]);
}

#[test]
fn icmp_in_a_tunnel_is_about_the_segment_there() {
    let tcp = tcp();
    let message = v4(1, &[&[3, 4, 0, 0, 0, 0, 5, 0][..], &tcp[..28]].concat());
    let file = classic(Little, NANOS, RAW, &[v4(17, &vxlan(42, &tcp)), v4(17, &vxlan(42, &message))]);
    let mut reader = Reader::new("x.pcap", &file[..]).unwrap();
    let segment = *reader.next_or_message().unwrap();
    let found = *reader.next_or_message().unwrap();
    assert_eq!(
        (found.message, found.endpoints, found.tunnel),
        (Some(Message::PathMtu(1280)), segment.endpoints, segment.tunnel)
    );
}

#[test]
fn both_directions_have_the_same_tunnel_unless_their_identifiers_differ() {
    let there = v4(4, &tcp());
    let mut back = there.clone();
    back[12..16].copy_from_slice(&there[16..20]);
    back[16..20].copy_from_slice(&there[12..16]);
    let of = |packet: &[u8]| inside(packet, packet.len()).unwrap().1;
    assert_eq!(of(&there), of(&back));
    back[19] = 9;
    assert_ne!(of(&there), of(&back));
}

#[test]
fn tunnels_exclude_each_other_if_their_identifiers_name_networks() {
    use TunnelKind::*;
    for kind in TunnelKind::ALL {
        let [one, other] = [1, 2].map(|id| Tunnel::new(kind, id, Tunnel::NONE));
        assert_eq!(one.kind(), Some(kind));
        assert_eq!((one.id(), Tunnel::from_bits(one.bits())), (1, one));
        assert_eq!(one.excludes(other), [Vxlan, Geneve, GreKey, Erspan].contains(&kind), "{kind:?}");
        assert!(!one.excludes(one) && !one.excludes(Tunnel::NONE) && !Tunnel::NONE.excludes(one));
        // Within different tunnels, identifiers say nothing.
        assert!(!one.excludes(Tunnel::new(kind, 2, other)));
        assert_ne!(one.digest(), other.digest());
    }
    assert_eq!((Tunnel::NONE.digest(), Tunnel::NONE.kind()), (0, None));
}

#[test]
fn random_bytes_are_read_without_a_panic() {
    // Bytes from a linear congruential generator, and tunnels with some of their bytes changed.
    let mut state = 1_u64;
    let mut next = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize
    };
    let tunnels = tunnels();
    for _ in 0..20_000 {
        let (_, protocol, payload, _) = &tunnels[next() % tunnels.len()];
        let mut payload = payload.clone();
        for _ in 0..1 + next() % 4 {
            let at = next() % payload.len().min(80);
            payload[at] = next() as u8;
        }
        let mut packet = if next() % 2 == 0 { v4(*protocol, &payload) } else { v6(*protocol, &payload) };
        packet.truncate(1 + next() % packet.len());
        let on_wire = packet.len() + next() % 2 * 1000;
        let mut around = Tunnel::NONE;
        let mut inner = packet.clone();
        while let Ok(found) = enter(&inner, on_wire, around, &mut ()) {
            around = found.tunnel;
            assert!(!found.packet.is_empty() && found.packet.len() < inner.len());
            inner = found.packet.to_vec();
        }
        let (_, counts) = read_frames(&[packet], usize::MAX);
        assert_eq!(counts.frames, 1);
    }
}
