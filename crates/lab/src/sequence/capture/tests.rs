use super::super::source::{Choice, SourceError, read};
use super::super::{Mark, What};
use super::Clock;
use recoup_units::{Instant, Offset, Span};
use recoup_wire::{Endpoints, Flags, Options, Payload, SackBlocks, Segment, SeqNumber, encode};

const CLIENT: &str = "198.51.100.1:4000";
const SERVER: &str = "192.0.2.1:80";
const ISN: u32 = u32::MAX - 500;

/// An IP packet of the server (`down`) or the client.
fn packet(down: bool, flags: Flags, seq: u32, ack: u32, len: u32, sack: &[[u32; 2]]) -> Vec<u8> {
    packet_between(CLIENT, SERVER, down, flags, seq, ack, len, sack)
}

#[allow(clippy::too_many_arguments)]
fn packet_between(
    client: &str,
    server: &str,
    down: bool,
    flags: Flags,
    seq: u32,
    ack: u32,
    len: u32,
    sack: &[[u32; 2]],
) -> Vec<u8> {
    let up = Endpoints {
        src: client.parse().unwrap(),
        dst: server.parse().unwrap(),
    };
    let endpoints = if down { up.reverse() } else { up };
    // The server's sequence numbers wrap soon.
    let (seq, ack) = match down {
        true => (SeqNumber(ISN) + seq, SeqNumber(ack)),
        false => (SeqNumber(seq), SeqNumber(ISN) + ack),
    };
    let blocks = sack
        .iter()
        .map(|block| block.map(|end| SeqNumber(ISN) + end));
    let segment = Segment {
        seq,
        ack,
        flags,
        payload_len: len,
        window: 1000,
        options: Options {
            sack: SackBlocks::from_iter(blocks),
            ..Options::NONE
        },
    };
    let mut bytes = Vec::new();
    let payload = vec![0; len as usize];
    encode(
        &segment,
        &endpoints,
        1,
        Payload::Bytes(&payload),
        &mut bytes,
    )
    .unwrap();
    bytes
}

/// A download of two segments of which the first is lost: (ms, packet).
fn download() -> Vec<(u64, Vec<u8>)> {
    let ack = Flags::ACK;
    vec![
        (5, packet(false, Flags::SYN, 0, 0, 0, &[])),
        (5, packet(true, Flags::SYN | ack, 0, 1, 0, &[])),
        (15, packet(false, ack, 1, 1, 0, &[])),
        (15, packet(true, ack, 1, 1, 1000, &[])),
        (15, packet(true, ack, 1001, 1, 1000, &[])),
        (25, packet(false, ack, 1, 1, 0, &[[1001, 2001]])),
        (25, packet(true, ack, 1, 1, 1000, &[])),
        (35, packet(false, ack, 1, 2001, 0, &[])),
    ]
}

fn expected() -> Vec<Mark> {
    let span = |a, b| Span::new(Offset(a), Offset(b));
    let marks = [
        (0, What::Sent(span(0, 1))),
        (10, What::Acked(Offset(1))),
        (10, What::Window(Offset(1001))),
        (10, What::Sent(span(1, 1001))),
        (10, What::Sent(span(1001, 2001))),
        (20, What::Sacked(span(1001, 2001))),
        (20, What::Duplicate(Offset(1))),
        (20, What::Again(span(1, 1001), None)),
        (30, What::Acked(Offset(2001))),
        (30, What::Window(Offset(3001))),
    ];
    let mark = |(ms, what)| Mark {
        at: Instant::from_millis(ms),
        what,
    };
    marks.map(mark).to_vec()
}

/// How numbers stand in a file.
#[derive(Clone, Copy)]
enum Order {
    Little,
    Big,
}

impl Order {
    fn word(self, word: u32) -> [u8; 4] {
        match self {
            Self::Little => word.to_le_bytes(),
            Self::Big => word.to_be_bytes(),
        }
    }

    fn half(self, half: u16) -> [u8; 2] {
        match self {
            Self::Little => half.to_le_bytes(),
            Self::Big => half.to_be_bytes(),
        }
    }
}

/// A classic capture; `ticks` a second are in its name.
fn pcap(order: Order, magic: u32, ticks: u64, link: u32, packets: &[(u64, Vec<u8>)]) -> Vec<u8> {
    let mut file = Vec::new();
    file.extend(order.word(magic));
    file.extend(order.half(2));
    file.extend(order.half(4));
    for word in [0, 0, 65_535, link] {
        file.extend(order.word(word));
    }
    for (ms, packet) in packets {
        let (second, part) = (1_000_000 + ms / 1000, ms % 1000 * (ticks / 1000));
        let len = packet.len() as u32;
        for word in [second as u32, part as u32, len, len] {
            file.extend(order.word(word));
        }
        file.extend(packet);
    }
    file
}

fn raw_pcap(packets: &[(u64, Vec<u8>)]) -> Vec<u8> {
    pcap(Order::Little, 0xa1b2_3c4d, 1_000_000_000, 101, packets)
}

/// A capture as pcapng with one interface whose clock has this `if_tsresol`.
fn pcapng(order: Order, resolution: Option<(u8, u64)>, packets: &[(u64, Vec<u8>)]) -> Vec<u8> {
    let block = |kind: u32, body: &[u8]| {
        let padded = body.len().next_multiple_of(4);
        let len = order.word(padded as u32 + 12);
        let mut block = [order.word(kind), len].concat();
        block.extend(body);
        block.resize(8 + padded, 0);
        block.extend(len);
        block
    };
    let mut section = order.word(0x1a2b_3c4d).to_vec();
    section.extend(order.half(1));
    section.extend(order.half(0));
    section.extend([0xff; 8]);
    let mut interface = [order.half(101), order.half(0)].concat();
    interface.extend(order.word(0));
    if let Some((resolution, _)) = resolution {
        interface.extend([order.half(9), order.half(1)].concat());
        interface.extend([resolution, 0, 0, 0, 0, 0, 0, 0]);
    }
    let mut file = [block(0x0a0d_0d0a, &section), block(1, &interface)].concat();
    let ticks = resolution.map_or(1_000_000, |(_, ticks)| ticks);
    for (ms, packet) in packets {
        // Halfway into the tick, lest rounding down loses a millisecond.
        let time = (1_000_000_000 + ms) * ticks / 1000 + u64::from(ticks < 1_000_000);
        let len = packet.len() as u32;
        let words = [0, (time >> 32) as u32, time as u32, len, len];
        let mut body: Vec<u8> = words.into_iter().flat_map(|w| order.word(w)).collect();
        body.extend(packet);
        file.extend(block(6, &body));
    }
    file
}

fn marks(file: &[u8]) -> Vec<Mark> {
    let source = read("x.pcap", file, &Choice::default()).unwrap();
    assert_eq!(source.title, "192.0.2.1:80 to 198.51.100.1:4000");
    assert_eq!((source.panels.len(), source.notes.len()), (1, 0));
    source.panels[0].marks.clone()
}

#[test]
fn every_kind_of_capture_file_is_read() {
    let packets = download();
    for order in [Order::Little, Order::Big] {
        let kinds = [(0xa1b2_c3d4, 1_000_000), (0xa1b2_3c4d, 1_000_000_000)];
        for (magic, ticks) in kinds {
            assert_eq!(marks(&pcap(order, magic, ticks, 101, &packets)), expected());
        }
        for resolution in [
            None,
            Some((6, 1_000_000)),
            Some((9, 1_000_000_000)),
            Some((3, 1000)),
        ] {
            assert_eq!(marks(&pcapng(order, resolution, &packets)), expected());
        }
    }
}

#[test]
fn clocks_have_powers_of_ten_or_two() {
    for (resolution, offset, ticks, nanos) in [
        (6, 0, 1_500_000, Some(1_500_000_000)),
        (9, 1, 5, Some(1_000_000_005)),
        (0x80 | 10, 0, 1536, Some(1_500_000_000)),
        (6, -1, 1_500_000, Some(500_000_000)),
        (6, -9, 1_500_000, Some(0)),
        (20, 0, 1, None),
        (0x80 | 64, 0, 1, None),
    ] {
        let clock = Clock::of_interface(resolution, offset);
        let instant = clock.map(|clock| clock.instant(ticks).as_nanos());
        assert_eq!(instant, nanos, "{resolution}");
    }
}

#[test]
fn cut_packets_and_ethernet_will_do() {
    let frames = |cut: usize, padding: usize| {
        let frame = |(ms, packet): (u64, Vec<u8>)| {
            let mut frame = [&[2; 12][..], &[8, 0]].concat();
            // The IP header, the TCP header, and 12 bytes of options on the ACK with a block.
            frame.extend(&packet[..packet.len().min(cut)]);
            frame.resize(frame.len() + padding, 0);
            (ms, frame)
        };
        download().into_iter().map(frame).collect::<Vec<_>>()
    };
    for (cut, padding) in [(52, 0), (2000, 0), (2000, 6)] {
        let file = pcap(
            Order::Little,
            0xa1b2_3c4d,
            1_000_000_000,
            1,
            &frames(cut, padding),
        );
        assert_eq!(
            marks(&file),
            expected(),
            "cut at {cut}, {padding} bytes of padding"
        );
    }
}

#[test]
fn a_capture_without_the_handshake_begins_where_it_begins() {
    let found = marks_of_any(&raw_pcap(&download()[3..]));
    let span = |a, b| Span::new(Offset(a), Offset(b));
    assert_eq!(found[0].what, What::Sent(span(1, 1001)));
    assert_eq!(found[0].at, Instant::ZERO);
    // The window's scale is not known, so no window is told.
    assert!(
        found.iter().all(|m| !matches!(m.what, What::Window(_))),
        "{found:?}"
    );
    assert_eq!(
        found.last().map(|m| &m.what),
        Some(&What::Acked(Offset(2001)))
    );
}

fn marks_of_any(file: &[u8]) -> Vec<Mark> {
    let source = read("x.pcap", file, &Choice::default()).unwrap();
    source.panels[0].marks.clone()
}

#[test]
fn the_direction_can_be_chosen() {
    use recoup_units::Direction;
    let file = raw_pcap(&download());
    for (direction, title, sent) in [
        (None, "192.0.2.1:80 to 198.51.100.1:4000", 4),
        (
            Some(Direction::Down),
            "192.0.2.1:80 to 198.51.100.1:4000",
            4,
        ),
        (Some(Direction::Up), "198.51.100.1:4000 to 192.0.2.1:80", 1),
    ] {
        let choice = Choice {
            direction,
            ..Choice::default()
        };
        let source = read("x.pcap", &file[..], &choice).unwrap();
        assert_eq!(source.title, title);
        let left = |m: &&Mark| matches!(m.what, What::Sent(_) | What::Again(..));
        assert_eq!(source.panels[0].marks.iter().filter(left).count(), sent);
    }
}

/// Two downloads at once, a third on the ports of the first, and a lone SYN.
fn several() -> Vec<(u64, Vec<u8>)> {
    let other = |down, flags, seq, ack, len| {
        packet_between("198.51.100.1:4001", SERVER, down, flags, seq, ack, len, &[])
    };
    let mut packets = download();
    packets.insert(1, (5, other(false, Flags::SYN, 0, 0, 0)));
    packets.push((40, other(true, Flags::ACK, 1, 1, 500)));
    packets.push((50, packet(false, Flags::SYN, 7_000_000, 0, 0, &[])));
    packets.push((60, packet(true, Flags::ACK, 1, 7_000_001, 100, &[])));
    let lone = packet_between(
        "[2001:db8::1]:9",
        "[2001:db8::2]:80",
        false,
        Flags::SYN,
        0,
        0,
        0,
        &[],
    );
    packets.push((70, lone));
    packets
}

#[test]
fn one_connection_of_several_is_chosen_by_number() {
    let file = raw_pcap(&several());
    let Err(SourceError::Choice { why, list, .. }) = read("x.pcap", &file[..], &Choice::default())
    else {
        panic!("chosen without a choice");
    };
    assert_eq!(why, "there are 4 connections: choose one with --connection");
    assert_eq!(
        list,
        [
            "0: 198.51.100.1:4000 to 192.0.2.1:80: 0 data segments up (0 bytes), 3 down (3000 bytes)",
            "1: 198.51.100.1:4001 to 192.0.2.1:80: 0 data segments up (0 bytes), 1 down (500 bytes)",
            "2: 198.51.100.1:4000 to 192.0.2.1:80: 0 data segments up (0 bytes), 1 down (100 bytes)",
            "3: [2001:db8::1]:9 to [2001:db8::2]:80: 0 data segments up (0 bytes), 0 down (0 bytes)",
        ]
    );
    let choose = |connection| {
        let choice = Choice {
            connection: Some(connection),
            ..Choice::default()
        };
        read("x.pcap", &file[..], &choice)
    };
    assert_eq!(choose(0).unwrap().panels[0].marks, expected());
    assert_eq!(choose(2).unwrap().panels[0].marks.len(), 1);
    assert_eq!(choose(3).unwrap().panels[0].marks.len(), 0);
    let error = choose(4).unwrap_err().to_string();
    assert_eq!(error, "x.pcap: no connection 4: expected one from 0 to 3");
}

#[test]
fn only_one_with_data_needs_no_choice() {
    let mut packets = download();
    let lone = packet_between(
        "[2001:db8::1]:9",
        "[2001:db8::2]:80",
        false,
        Flags::SYN,
        0,
        0,
        0,
        &[],
    );
    packets.push((70, lone));
    assert_eq!(marks_of_any(&raw_pcap(&packets)), expected());
}

#[test]
fn what_cannot_be_read_is_said() {
    let whole = raw_pcap(&download());
    let mut unread = download();
    unread.insert(2, (6, vec![0x45, 0, 0]));
    unread.insert(3, (6, vec![0x45; 60]));
    unread.insert(4, (7, [&download()[0].1[..], &[]].concat()[..30].to_vec()));
    for (file, note) in [
        (
            whole[..whole.len() - 1].to_vec(),
            "the capture ends within a packet",
        ),
        (
            whole[..whole.len() - 40].to_vec(),
            "the capture ends within a packet",
        ),
        (raw_pcap(&unread), "left out packet 3: "),
    ] {
        let source = read("x.pcap", &file[..], &Choice::default()).unwrap();
        assert_eq!(source.notes.len(), 1, "{:?}", source.notes);
        assert!(source.notes[0].starts_with(note), "{:?}", source.notes);
    }
    let error = |file: &[u8]| {
        let error = read("x.pcap", file, &Choice::default()).unwrap_err();
        error.to_string()
    };
    assert_eq!(
        error(&whole[..20]),
        "x.pcap: the capture ends within its header"
    );
    assert_eq!(error(&whole[..24]), "x.pcap: there is no TCP connection");
    let wireless = pcap(Order::Little, 0xa1b2_3c4d, 1_000_000_000, 105, &download());
    assert!(error(&wireless).starts_with("x.pcap: link type 105: expected Ethernet (1)"));
    let mut damaged = pcapng(Order::Little, None, &download());
    let at = damaged.len() - 4;
    damaged[at] ^= 1;
    assert!(error(&damaged).contains("damaged"), "{}", error(&damaged));
}

#[test]
fn cut_anywhere_or_with_a_byte_changed_nothing_panics() {
    for whole in [
        raw_pcap(&download()),
        pcapng(Order::Big, Some((9, 1_000_000_000)), &download()),
    ] {
        for end in 0..whole.len() {
            let _ = read("x", &whole[..end], &Choice::default());
        }
        for at in 0..whole.len() {
            for bits in [0xff, 0x80, 0x01] {
                let mut changed = whole.clone();
                changed[at] ^= bits;
                let _ = read("x", &changed[..], &Choice::default());
            }
        }
    }
}
