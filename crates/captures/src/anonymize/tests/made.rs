//! Captures made by hand, full of what must not be sent.

use pcap_file::pcap::{PcapHeader, PcapPacket, PcapWriter};
use pcap_file::pcapng::blocks::enhanced_packet::{EnhancedPacketBlock, EnhancedPacketOption};
use pcap_file::pcapng::blocks::interface_description::{InterfaceDescriptionBlock, InterfaceDescriptionOption};
use pcap_file::pcapng::blocks::name_resolution::{NameResolutionBlock, Record};
use pcap_file::pcapng::blocks::section_header::{SectionHeaderBlock, SectionHeaderOption};
use pcap_file::pcapng::blocks::unknown::UnknownBlock;
use pcap_file::pcapng::{PcapNgBlock, PcapNgWriter};
use pcap_file::{DataLink, TsResolution};
use recoup_wire::{Endpoints, Flags, Options, Payload, Segment, SeqNumber, Sum, Timestamps, encode, pseudo_header};
use std::borrow::Cow;
use std::time::Duration;

/// What must not occur in a capture that is sent.
pub const SECRET: &[u8] = b"Authorization: Basic c2VjcmV0";
pub const NAME: &str = "payroll.example.com";
pub const V4: [&str; 2] = ["203.0.113.71:40000", "198.51.100.14:443"];
pub const V6: [&str; 2] = ["[2001:db8:7:8::71]:40000", "[2001:db8:9:a::14]:443"];
/// The ends of tunnels.
pub const OUTER: [[u8; 4]; 2] = [[192, 0, 2, 33], [192, 0, 2, 44]];
pub const MACS: [[u8; 6]; 2] = [[0x3c, 0x52, 0x82, 0x11, 0x22, 0x33], [0x00, 0x1b, 0x21, 0x44, 0x55, 0x66]];

fn endpoints(ends: [&str; 2]) -> Endpoints {
    let [src, dst] = ends.map(|end| end.parse().expect("an end"));
    Endpoints { src, dst }
}

/// A segment with payload, in an IP packet.
pub fn segment(ends: [&str; 2], i: u32) -> Vec<u8> {
    let segment = Segment {
        seq: SeqNumber(1000 + 29 * i),
        ack: SeqNumber(7),
        payload_len: SECRET.len() as u32,
        window: 500,
        flags: Flags::ACK | Flags::PSH,
        options: Options { timestamps: Some(Timestamps { value: 77 + i, echo: 3 }), ..Options::NONE },
    };
    let mut packet = Vec::new();
    encode(&segment, &endpoints(ends), i as u16 + 1, Payload::Bytes(SECRET), &mut packet).expect("it fits");
    packet
}

/// A SYN with a cookie of TCP Fast Open, and data.
pub fn fast_open() -> Vec<u8> {
    let mut packet = segment(V4, 0);
    // Over the timestamps: kind 34, 10 bytes.
    packet[40..52].copy_from_slice(&[34, 10, 0xc0, 0x0c, 0x1e, 0xc0, 0x0c, 0x1e, 0xc0, 0x0c, 1, 1]);
    packet[33] = Flags::SYN.bits();
    right_checksum(&mut packet);
    packet
}

/// Mends the TCP checksum of an IPv4 packet without options.
fn right_checksum(packet: &mut [u8]) {
    packet[36..38].fill(0);
    let [src, dst] = endpoints(V4).into_ips();
    let sum = pseudo_header(src, dst, packet.len() - 20, 6).plus(&packet[20..]).checksum();
    packet[36..38].copy_from_slice(&sum.to_be_bytes());
}

trait IntoIps {
    fn into_ips(self) -> [std::net::IpAddr; 2];
}

impl IntoIps for Endpoints {
    fn into_ips(self) -> [std::net::IpAddr; 2] {
        [self.src.ip(), self.dst.ip()]
    }
}

/// An IPv4 packet between the ends of tunnels.
fn v4(protocol: u8, payload: &[u8]) -> Vec<u8> {
    let length = (20 + payload.len()) as u16;
    let mut packet = vec![0x45, 0, 0, 0, 0, 7, 0, 0, 60, protocol, 0, 0];
    packet.extend(OUTER.as_flattened());
    packet[2..4].copy_from_slice(&length.to_be_bytes());
    let sum = Sum::default().plus(&packet).checksum();
    packet[10..12].copy_from_slice(&sum.to_be_bytes());
    packet.extend(payload);
    packet
}

pub fn udp(to: u16, payload: &[u8]) -> Vec<u8> {
    let mut udp = [50_000, to, 8 + payload.len() as u16, 0].map(u16::to_be_bytes).concat();
    udp.extend(payload);
    let [src, dst] = OUTER.map(std::net::IpAddr::from);
    let sum = pseudo_header(src, dst, udp.len(), 17).plus(&udp).checksum();
    udp[6..8].copy_from_slice(&sum.to_be_bytes());
    v4(17, &udp)
}

/// An Ethernet frame.
pub fn ethernet(middle: &[u8], packet: &[u8]) -> Vec<u8> {
    [MACS.as_flattened(), middle, packet].concat()
}

/// A message that this segment is too large for the path.
pub fn too_big(quoted: &[u8]) -> Vec<u8> {
    let mut message = vec![3, 4, 0, 0, 0, 0, 0x05, 0x14];
    message.extend(quoted);
    let sum = Sum::default().plus(&message).checksum();
    message[2..4].copy_from_slice(&sum.to_be_bytes());
    v4(1, &message)
}

pub fn dns() -> Vec<u8> {
    udp(53, &[&[0, 1, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 19][..], NAME.as_bytes()].concat())
}

fn arp() -> Vec<u8> {
    let ends = [&MACS[0][..], &OUTER[0], &MACS[1], &OUTER[1]].concat();
    ethernet(&[8, 6], &[&[0, 1, 8, 0, 6, 4, 0, 1][..], &ends].concat())
}

/// Frames of Ethernet: segments in all wrappings, and others.
pub fn frames() -> Vec<Vec<u8>> {
    let ip = [8, 0];
    let mut wrong = segment(V4, 5);
    wrong[36] ^= 0x55;
    let mut options = segment(V4, 6);
    options[40..42].copy_from_slice(&[253, 10]);
    right_checksum(&mut options);
    let mut fragment = v4(6, SECRET);
    fragment[6] = 0x20;
    let vxlan = |inner: &[u8]| udp(4789, &[&[8, 0, 0, 0, 0, 0, 42, 0][..], inner].concat());
    let geneve_options = [2, 0, 0x65, 0x58, 0, 0, 7, 0, 0xde, 0xad, 0xbe, 0xef, 0xca, 0xfe, 0xba, 0xbe];
    let geneve = |inner: &[u8]| udp(6081, &[&geneve_options[..], inner].concat());
    vec![
        ethernet(&ip, &fast_open()),
        ethernet(&ip, &segment(V4, 1)),
        ethernet(&[0x86, 0xdd], &segment(V6, 2)),
        ethernet(&[0x81, 0, 0, 77, 8, 0], &segment(V4, 3)),
        ethernet(&ip, &vxlan(&ethernet(&ip, &segment(V4, 4)))),
        ethernet(&ip, &geneve(&ethernet(&[0x86, 0xdd], &segment(V6, 4)))),
        ethernet(&ip, &v4(4, &segment(V4, 5))),
        ethernet(&ip, &v4(47, &[&[0x20, 0, 8, 0, 0, 0, 0, 9][..], &segment(V4, 5)].concat())),
        ethernet(&ip, &wrong),
        ethernet(&ip, &options),
        ethernet(&ip, &too_big(&segment(V4, 1))),
        ethernet(&ip, &too_big(&segment(V4, 1)[..28])),
        ethernet(&ip, &dns()),
        ethernet(&ip, &fragment),
        arp(),
        // LLDP with a name, and a frame cut within its IP header.
        ethernet(&[0x88, 0xcc], NAME.as_bytes()),
        ethernet(&ip, &segment(V4, 7)[..15]),
        ethernet(&ip, &segment(V4, 8)[..70]),
        // Padding behind a short packet, full of what was in memory before.
        ethernet(&ip, &[&segment(V4, 9)[..], SECRET].concat()),
    ]
}

pub fn time(i: usize) -> Duration {
    Duration::new(1_700_000_000 + i as u64, 123_456_789)
}

/// A classic capture.
pub fn classic(link: DataLink, frames: &[Vec<u8>]) -> Vec<u8> {
    let header = PcapHeader { datalink: link, ts_resolution: TsResolution::NanoSecond, ..PcapHeader::default() };
    let mut writer = PcapWriter::with_header(Vec::new(), header).expect("memory");
    for (i, frame) in frames.iter().enumerate() {
        let length = frame.len() as u32;
        writer.write_packet(&PcapPacket::new(time(i), length, frame)).expect("memory");
    }
    writer.into_writer()
}

/// A pcapng capture with names and comments wherever there may be some.
pub fn sections(frames: &[Vec<u8>]) -> Vec<u8> {
    let text = |what: &str| Cow::Owned(format!("{what} of {NAME}"));
    let header = SectionHeaderBlock {
        options: vec![
            SectionHeaderOption::Comment(text("comment")),
            SectionHeaderOption::Hardware(text("hardware")),
            SectionHeaderOption::OS(text("system")),
            SectionHeaderOption::UserApplication(text("program")),
        ],
        ..SectionHeaderBlock::default()
    };
    let mut writer = PcapNgWriter::with_section_header(Vec::new(), header).expect("memory");
    let mut add = |block: pcap_file::pcapng::Block<'_>| {
        writer.write_block(&block).expect("memory");
    };
    for (linktype, name) in [(DataLink::ETHERNET, "eth0"), (DataLink::USER0, "user0")] {
        add(InterfaceDescriptionBlock {
            linktype,
            snaplen: 0,
            options: vec![
                InterfaceDescriptionOption::Comment(text("comment")),
                InterfaceDescriptionOption::IfName(text(name)),
                InterfaceDescriptionOption::IfDescription(text("port")),
                InterfaceDescriptionOption::IfIpv4Addr(Cow::Owned([OUTER[0], [255; 4]].concat())),
                InterfaceDescriptionOption::IfMacAddr(Cow::Owned(MACS[0].to_vec())),
                InterfaceDescriptionOption::IfTsResol(9),
                InterfaceDescriptionOption::IfFilter(Cow::Owned([&[0][..], NAME.as_bytes()].concat())),
                InterfaceDescriptionOption::IfOs(text("system")),
                InterfaceDescriptionOption::IfHardware(text("card")),
            ],
        }
        .into_block());
    }
    for (i, frame) in frames.iter().enumerate() {
        add(EnhancedPacketBlock {
            interface_id: u32::from(i == 2),
            timestamp: time(i),
            original_len: frame.len() as u32 + 4,
            data: Cow::Borrowed(frame),
            options: vec![
                EnhancedPacketOption::Comment(text("comment")),
                EnhancedPacketOption::Flags(1 + u32::from(i % 2 == 1)),
                EnhancedPacketOption::Hash(Cow::Borrowed(SECRET)),
            ],
        }
        .into_block());
        if i == 1 {
            // Secrets of TLS, a custom block, and an entry of a journal.
            for kind in [0x0a, 0x0bad, 9] {
                let value = [&[0, 0, 0, 1][..], SECRET, NAME.as_bytes()].concat();
                add(UnknownBlock::new(kind, 0, &value).into_block());
            }
        }
    }
    let names = vec![Record::Ipv4(pcap_file::pcapng::blocks::name_resolution::Ipv4Record {
        ip_addr: Cow::Borrowed(&OUTER[0]),
        names: vec![text("host")],
    })];
    add(NameResolutionBlock { records: names, options: vec![] }.into_block());
    writer.into_inner()
}

/// One capture of each kind.
pub fn captures() -> Vec<Vec<u8>> {
    let raw = vec![segment(V4, 1), segment(V6, 2), fast_open(), too_big(&segment(V4, 1)), dns(), vec![0x45]];
    let joined = [classic(DataLink::RAW, &raw), sections(&frames()[..4])].concat();
    vec![classic(DataLink::ETHERNET, &frames()), sections(&frames()), classic(DataLink::RAW, &raw), joined]
}
