//! Programs against the reader, which says what a frame is, and against the kernel.

use super::*;
use proptest::prelude::*;
use recoup_trace::analyze::ConnectionFilter;
use recoup_trace::read::{CapturedPacket, PacketSource, Reader};
use recoup_wire::bpf::{LONGEST, run};
use recoup_wire::{Endpoints, Flags, Payload, Segment, encode};
use std::net::SocketAddr;

const SNAP: u32 = 256;

fn filter(text: &str) -> Filter {
    text.parse().unwrap_or_else(|e| panic!("{text}: {e}"))
}

const ADDRESSES: [[&str; 4]; 2] = [
    ["10.0.0.1", "10.0.3.2", "192.0.2.1", "198.51.100.7"],
    ["2001:db8::1", "2001:db8:0:1::1", "2001:db9::1", "fe80::1:2:3"],
];
const PORTS: [u16; 4] = [80, 443, 8080, 40_000];

/// A filter whose terms match some of the packets below.
fn any_filter() -> impl Strategy<Value = String> {
    let side = prop::sample::select(vec!["", "src ", "dst ", "src and dst ", "src or dst "]);
    let test = prop_oneof![
        prop::sample::select(ADDRESSES.concat()).prop_map(|address| format!("host {address}")),
        prop::sample::select(vec![
            "net 10/8",
            "net 10.0.3.0 mask 255.0.255.0",
            "net 192.0.2.0/25",
            "net 0.0.0.0/0",
            "net 2001:db8::/32",
            "net 2001:db8::/64",
            "net 2001:db8::/50",
            "net ::/0",
            "portrange 80-443",
            "portrange 1-65535",
        ])
        .prop_map(String::from),
        prop::sample::select(PORTS.to_vec()).prop_map(|port| format!("port {port}")),
    ];
    let leaf = prop_oneof![
        6 => (side, test).prop_map(|(side, test)| format!("{side}{test}")),
        1 => prop::sample::select(vec!["tcp", "ip", "ip6"]).prop_map(String::from),
    ];
    let negated = (any::<bool>(), leaf).prop_map(|(negated, leaf)| if negated { format!("not {leaf}") } else { leaf });
    negated.prop_recursive(4, 24, 5, |inner| {
        let joint = prop::sample::select(vec![" and ", " or "]);
        let more = prop::collection::vec((joint, inner.clone()), 0..4);
        (any::<bool>(), inner, more).prop_map(|(negated, first, more)| {
            let rest: String = more.into_iter().flat_map(|(joint, term)| [joint.to_owned(), term]).collect();
            format!("{}({first}{rest})", if negated { "not " } else { "" })
        })
    })
}

/// An IP packet of one of these ends, with a segment.
fn any_tcp() -> impl Strategy<Value = (Endpoints, Vec<u8>)> {
    (0..2_usize, [0..4_usize, 0..4], [0..4_usize, 0..4], 0..1000_u32).prop_map(|(version, ips, ports, length)| {
        let [src, dst] = [0, 1].map(|end| {
            let ip = ADDRESSES[version][ips[end]].parse().unwrap();
            SocketAddr::new(ip, PORTS[ports[end]])
        });
        let ends = Endpoints { src, dst };
        let segment = Segment { flags: Flags::ACK, payload_len: length, ..Segment::default() };
        let mut packet = Vec::new();
        encode(&segment, &ends, 1, Payload::Fill(0), &mut packet).unwrap();
        (ends, packet)
    })
}

fn v4(protocol: u8, fragment: u16, payload: &[u8]) -> Vec<u8> {
    let [high, low] = ((20 + payload.len()) as u16).to_be_bytes();
    let [first, second] = fragment.to_be_bytes();
    let header = [0x45, 0, high, low, 0, 7, first, second, 60, protocol, 0, 0, 10, 9, 0, 1, 10, 9, 0, 2];
    [&header, payload].concat()
}

fn v6(next: u8, payload: &[u8]) -> Vec<u8> {
    let [high, low] = (payload.len() as u16).to_be_bytes();
    [&[0x60, 0, 0, 0, high, low, next, 60], &[9; 16][..], &[8; 16], payload].concat()
}

fn udp(from: u16, to: u16, payload: &[u8]) -> Vec<u8> {
    let words = [from, to, 8 + payload.len() as u16, 0];
    [&words.map(u16::to_be_bytes).concat(), payload].concat()
}

fn is_v4(packet: &[u8]) -> bool {
    packet[0] >> 4 == 4
}

/// Its own IP header with something before its payload: options, or extension headers.
fn with_more_headers(packet: &[u8], kind: u8) -> Vec<u8> {
    let mut packet = packet.to_vec();
    if is_v4(&packet) {
        // No operation.
        packet.splice(20..20, [1; 8]);
        packet[0] += 2;
    } else {
        let next = std::mem::replace(&mut packet[6], [0, 43, 44, 60][usize::from(kind) % 4]);
        packet.splice(40..40, [next, 0, 0, 0, 0, 0, 0, 0]);
    }
    let at = if is_v4(&packet) { 2 } else { 4 };
    let length = u16::from_be_bytes([packet[at], packet[at + 1]]) + 8;
    packet[at..at + 2].copy_from_slice(&length.to_be_bytes());
    packet
}

/// The packet as another one carries it, or something about it.
fn carried(packet: &[u8], how: u8) -> Vec<u8> {
    let ether_type = if is_v4(packet) { [8, 0] } else { [0x86, 0xdd] };
    let frame = ethernet(&ether_type, packet);
    let segment = packet.get(if is_v4(packet) { 20 } else { 40 }..).unwrap_or_default();
    let quoted = |head: &[u8]| [head, &packet[..packet.len().min(48)]].concat();
    let outer = |protocol, payload: &[u8]| if how % 2 == 0 { v4(protocol, 0, payload) } else { v6(protocol, payload) };
    match how / 2 % 16 {
        0 => outer(17, &udp(50_000, 4789, &[&[8, 0, 0, 0, 0, 0, 42, 0], &frame[..]].concat())),
        1 => outer(17, &udp(50_000, 8472, &[&[8, 0, 0, 0, 0, 0, 42, 0], &frame[..]].concat())),
        2 => outer(17, &udp(50_000, 6081, &[&[0, 0, 0x65, 0x58, 0, 0, 42, 0], &frame[..]].concat())),
        3 | 4 => {
            let head = [&[0x30, 0xff][..], &(packet.len() as u16).to_be_bytes(), &[0, 0, 0, 7]].concat();
            let ports = if how / 2 % 16 == 3 { [50_000, 2152] } else { [2152, 50_000] };
            outer(17, &udp(ports[0], ports[1], &[&head, packet].concat()))
        }
        5 => outer(17, &udp(50_000, 6635, &[&[0, 2, 1, 64], packet].concat())),
        6 => outer(17, &udp(50_000, 4754, &[&[0, 0], &ether_type[..], packet].concat())),
        7 => outer(47, &[&[0, 0], &ether_type[..], packet].concat()),
        8 => outer(if is_v4(packet) { 4 } else { 41 }, packet),
        9 => v4(1, 0, &quoted(&[3, 4, 0, 0, 0, 0, 5, 0])),
        10 => v6(58, &quoted(&[2, 0, 0, 0, 0, 0, 5, 0])),
        11 => outer(17, &udp(50_000, 53, packet)),
        12 => v4(1, 0, &quoted(&[3, 1, 0, 0, 0, 0, 0, 0])),
        13 => v4(6, 5, segment),
        14 => v4(17, 0x2000, &udp(50_000, 4789, &[&[8, 0, 0, 0, 0, 0, 42, 0], &frame[..]].concat())),
        // An authentication header.
        _ => v4(51, 0, &[&[6, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 2], segment].concat()),
    }
}

/// An Ethernet frame with `middle` between the addresses and the packet.
fn ethernet(middle: &[u8], packet: &[u8]) -> Vec<u8> {
    [&[2; 12], middle, packet].concat()
}

/// The bytes between the hardware addresses and the packet: tags, and another header.
fn middle(packet: &[u8], tags: usize, other: u8) -> Vec<u8> {
    let tags = [[0x81, 0, 0, 7], [0x88, 0xa8, 0x40, 9], [0x91, 0, 0, 8]].into_iter().cycle().take(tags);
    let ether_type: &[u8] = if is_v4(packet) { &[8, 0] } else { &[0x86, 0xdd] };
    let last = match other {
        1 => [&[0x88, 0x47, 0, 1, 1, 64][..]].concat(),
        2 => [&[0x88, 0x64, 0x11, 0, 0, 1, 0, 99, 0][..], if is_v4(packet) { &[0x21] } else { &[0x57] }].concat(),
        3 => [&[0x05, 0x00, 0xaa, 0xaa, 3, 0, 0, 0][..], ether_type].concat(),
        4 => [&[0x65, 0x58][..], &[4; 12], ether_type].concat(),
        _ => ether_type.to_vec(),
    };
    [tags.flatten().collect(), last].concat()
}

/// What the reader finds in a frame of a capture with this link type.
fn read(link_type: u32, frame: &[u8]) -> Option<CapturedPacket> {
    let length = frame.len() as u32;
    let header = [0xa1b2_c3d4, 0x0004_0002, 0, 0, 1 << 18, link_type, 1, 1, length, length].map(u32::to_le_bytes);
    let file = [&header.concat(), frame].concat();
    let mut reader = Reader::new("frame", &file[..]).unwrap();
    reader.next_or_message().copied()
}

/// What the kernel keeps of a frame, if it is sent to a socket with this filter. `None`: the frame was dropped.
#[cfg(target_os = "linux")]
fn kept_by_kernel(program: &[Instruction], frame: &[u8]) -> Option<usize> {
    let (sender, receiver) = std::os::unix::net::UnixDatagram::pair().unwrap();
    recoup_net::attach_filter(&receiver, program).unwrap();
    receiver.set_nonblocking(true).unwrap();
    sender.send(frame).unwrap();
    receiver.recv(&mut [0; 1 << 16]).ok()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn tcp_passes_exactly_if_it_is_selected(text in any_filter(), (ends, packet) in any_tcp(), tags in 0..3_usize) {
        let filter = filter(&text);
        let expected = if filter.selects(&ends) { SNAP } else { 0 };
        let frame = ethernet(&middle(&packet, tags, 0), &packet);
        let program = kernel_program(Some(&filter), Framing::Ethernet, SNAP);
        prop_assert_eq!(run(&program, &frame, 0), Ok(expected), "{} {}", text, ends);
        let cooked = kernel_program(Some(&filter), Framing::Network, SNAP);
        let ether_type = if ends.src.is_ipv4() { 0x0800 } else { 0x86dd };
        prop_assert_eq!(run(&cooked, &packet, ether_type), Ok(expected), "{} {}", text, ends);
        #[cfg(target_os = "linux")]
        {
            let kept = filter.selects(&ends).then(|| frame.len().min(SNAP as usize));
            prop_assert_eq!(kept_by_kernel(&program, &frame), kept);
            // Without an EtherType beside it, the frame is dropped; but the kernel takes the program.
            prop_assert_eq!(kept_by_kernel(&cooked, &packet), None);
        }
    }

    /// Frames of all kinds, some of them damaged.
    #[test]
    fn whatever_the_reader_selects_passes(
        text in prop_oneof![1 => Just(String::new()), 9 => any_filter()],
        (_, tcp) in any_tcp(),
        more: Option<u8>,
        how in prop::option::of(prop::collection::vec(any::<u8>(), 1..3)),
        (tags, other) in (0..4_usize, 0..9_u8),
        edits in prop::collection::vec((0..120_usize, any::<u8>()), 0..3),
    ) {
        let filter = (!text.is_empty()).then(|| filter(&text));
        let is_selected = |packet: CapturedPacket| filter.as_ref().is_none_or(|f| f.selects(&packet.endpoints));
        let packet = more.map_or(tcp.clone(), |kind| with_more_headers(&tcp, kind));
        let mut packet = how.unwrap_or_default().into_iter().fold(packet, |packet, how| carried(&packet, how));
        let mut frame = ethernet(&middle(&packet, tags, other), &packet);
        let ether_type = if is_v4(&packet) { 0x0800_u16 } else { 0x86dd };
        for (at, value) in edits {
            let (in_frame, in_packet) = (at % frame.len(), at % packet.len());
            frame[in_frame] = value;
            packet[in_packet] = value;
        }
        if read(1, &frame).is_some_and(is_selected) {
            let program = kernel_program(filter.as_ref(), Framing::Ethernet, SNAP);
            prop_assert_eq!(run(&program, &frame, 0), Ok(SNAP), "{}: {:?}", text, read(1, &frame));
            #[cfg(target_os = "linux")]
            prop_assert_eq!(kept_by_kernel(&program, &frame), Some(frame.len().min(SNAP as usize)));
        }
        // Linux cooked, version 1: a header of 16 bytes that ends with the EtherType.
        let cooked = [&[0, 0, 0, 1, 0, 6, 2, 2, 2, 2, 2, 2, 0, 0], &ether_type.to_be_bytes()[..], &packet].concat();
        if read(113, &cooked).is_some_and(is_selected) {
            let program = kernel_program(filter.as_ref(), Framing::Network, SNAP);
            prop_assert_eq!(run(&program, &packet, ether_type), Ok(SNAP), "{}: {:?}", text, read(113, &cooked));
        }
    }
}

/// A frame of each kind that the table of the module lists. Without a filter, too, other frames are dropped.
#[test]
fn frames_pass_as_listed() {
    let segment = Segment { flags: Flags::ACK, ..Segment::default() };
    let tcp = |src: &str, dst: &str| {
        let ends = Endpoints { src: src.parse().unwrap(), dst: dst.parse().unwrap() };
        let mut packet = Vec::new();
        encode(&segment, &ends, 1, Payload::Fill(0), &mut packet).unwrap();
        packet
    };
    let (selected, other) = (tcp("10.0.0.1:80", "10.0.0.2:9"), tcp("10.0.0.1:81", "10.0.0.2:9"));
    let (selected6, other6) = (tcp("[2001:db8::1]:80", "[2001:db8::2]:9"), tcp("[2001:db8::1]:81", "[2001:db8::2]:9"));
    let ip = |packet: &[u8], tags| ethernet(&middle(packet, tags, 0), packet);
    let udp_to = |from, to| v4(17, 0, &udp(from, to, &[0; 20]));
    for (what, frame, with_filter, without) in [
        ("TCP", ip(&selected, 0), true, true),
        ("other TCP", ip(&other, 0), false, true),
        ("TCP over IPv6", ip(&selected6, 0), true, true),
        ("other TCP over IPv6", ip(&other6, 0), false, true),
        ("TCP with two tags", ip(&selected, 2), true, true),
        ("other TCP with two tags", ip(&other, 2), false, true),
        ("other TCP with three tags", ip(&other, 3), true, true),
        ("other TCP with IPv4 options", ip(&with_more_headers(&other, 0), 0), false, true),
        ("a later fragment", ip(&v4(6, 5, &[0; 20]), 0), true, true),
        ("the first fragment of other TCP", ip(&v4(6, 0x2000, &other[20..]), 0), false, true),
        ("extension headers", ip(&with_more_headers(&other6, 0), 0), true, true),
        ("an authentication header", ip(&v4(51, 0, &[0; 20]), 0), true, true),
        ("too big", ip(&v4(1, 0, &[3, 4, 0, 0]), 0), true, true),
        ("unreachable", ip(&v4(1, 0, &[3, 3, 0, 0]), 0), false, false),
        ("too big, a later fragment", ip(&v4(1, 9, &[3, 4, 0, 0]), 0), false, false),
        ("too big over IPv6", ip(&v6(58, &[2, 0, 0, 0]), 0), true, true),
        ("a neighbour", ip(&v6(58, &[135, 0, 0, 0]), 0), false, false),
        ("IP in IP", ip(&v4(4, 0, &other), 0), true, true),
        ("IPv6 in IPv6", ip(&v6(41, &other6), 0), true, true),
        ("GRE", ip(&v4(47, 0, &[0; 20]), 0), true, true),
        ("VXLAN", ip(&udp_to(9, 4789), 0), true, true),
        ("VXLAN over IPv6", ip(&v6(17, &udp(9, 4789, &[0; 20])), 0), true, true),
        ("a later fragment of UDP", ip(&v4(17, 5, &udp(9, 4789, &[0; 20])), 0), false, false),
        ("from a tunnel's port", ip(&udp_to(4789, 9), 0), false, false),
        ("GTP-U, an answer", ip(&udp_to(2152, 9), 0), true, true),
        ("DNS", ip(&udp_to(53, 53), 0), false, false),
        ("DNS with a tag", ip(&udp_to(53, 53), 1), false, false),
        ("ESP", ip(&v4(50, 0, &[0; 20]), 0), false, false),
        ("OSPF", ip(&v4(89, 0, &[0; 20]), 0), false, false),
        ("MPLS", ethernet(&middle(&other, 0, 1), &other), true, true),
        ("PPPoE behind a tag", ethernet(&middle(&other, 1, 2), &other), true, true),
        ("PPPoE discovery", ethernet(&[0x88, 0x63], &[0; 40]), false, false),
        ("LLC with SNAP", ethernet(&middle(&other, 0, 3), &other), true, true),
        ("spanning tree", ethernet(&[0, 38, 0x42, 0x42, 3], &[0; 40]), false, false),
        ("Ethernet in Ethernet", ethernet(&middle(&other, 0, 4), &other), true, true),
        ("ARP", ethernet(&[8, 6], &[0; 28]), false, false),
        ("MACsec", ethernet(&[0x88, 0xe5], &[0; 40]), false, false),
        ("no IP", ethernet(&[8, 0], &[0x50; 40]), false, false),
        ("a frame without an EtherType", vec![2; 13], false, false),
        ("nothing", Vec::new(), false, false),
    ] {
        for (filter, expected) in [(Some(filter("port 80")), with_filter), (None, without)] {
            let program = kernel_program(filter.as_ref(), Framing::Ethernet, SNAP);
            let kept = run(&program, &frame, 0);
            assert_eq!(kept, Ok(if expected { SNAP } else { 0 }), "{what}, filter {filter:?}");
            // The EtherType is beside the frame.
            let program = kernel_program(filter.as_ref(), Framing::Network, SNAP);
            if let Some(([high, low], packet)) = frame.get(12..).and_then(|rest| rest.split_first_chunk()) {
                let is_tagged = matches!(high, 0x81 | 0x88) && matches!(low, 0 | 0xa8);
                let kept = run(&program, packet, u16::from_be_bytes([*high, *low]));
                assert_eq!(kept, Ok(if expected || is_tagged { SNAP } else { 0 }), "{what}, filter {filter:?}");
            }
        }
    }
}

#[test]
fn a_long_filter_is_compiled_or_lets_all_tcp_pass() {
    let (_, packets): (Vec<_>, Vec<_>) = (0..2)
        .map(|end| {
            let ends = Endpoints {
                src: SocketAddr::from(([10, 0, 0, 1], 1 + 9998 * end)),
                dst: SocketAddr::from(([10, 0, 0, 2], 40_000)),
            };
            let mut packet = Vec::new();
            encode(&Segment::default(), &ends, 1, Payload::Fill(0), &mut packet).unwrap();
            (ends, ethernet(&[8, 0], &packet))
        })
        .unzip();
    let keep = |ports: u16| {
        let text = (1..=ports).map(|port| format!("port {port}")).collect::<Vec<_>>().join(" or ");
        let program = kernel_program(Some(&filter(&text)), Framing::Ethernet, SNAP);
        assert!(program.len() <= LONGEST);
        #[cfg(target_os = "linux")]
        assert_eq!(kept_by_kernel(&program, &packets[0]), Some(packets[0].len()));
        (program.len(), packets.iter().map(|frame| run(&program, frame, 0).unwrap()).collect::<Vec<_>>())
    };
    let (length, kept) = keep(250);
    assert!(length > 2000 && kept == [SNAP, 0], "{length} {kept:?}");
    let (length, kept) = keep(5000);
    assert!(length < 200 && kept == [SNAP, SNAP], "{length} {kept:?}");
}
