use super::super::source::{Choice, Directions, SourceError, read};
use recoup_draw::sequence::{Control, Mark, MarkKind, Necessity};
use recoup_units::{Instant, Offset, Span};
use recoup_wire::{Endpoints, Flags, Options, Payload, SackBlocks, Segment, SeqNumber, encode};

pub(super) const CLIENT: &str = "198.51.100.1:4000";
pub(super) const SERVER: &str = "192.0.2.1:80";
const ISN: u32 = u32::MAX - 500;

/// An IP packet from the server (`down`) or from the client.
fn packet(down: bool, flags: Flags, seq: u32, ack: u32, len: u32, sack: &[[u32; 2]]) -> Vec<u8> {
    packet_between(CLIENT, SERVER, down, flags, seq, ack, len, sack)
}

#[allow(clippy::too_many_arguments)]
pub(super) fn packet_between(
    client: &str,
    server: &str,
    down: bool,
    flags: Flags,
    seq: u32,
    ack: u32,
    len: u32,
    sack: &[[u32; 2]],
) -> Vec<u8> {
    let up = Endpoints { src: client.parse().unwrap(), dst: server.parse().unwrap() };
    let endpoints = if down { up.reverse() } else { up };
    // The server's sequence numbers wrap within the download.
    let (seq, ack) = match down {
        true => (SeqNumber(ISN) + seq, SeqNumber(ack)),
        false => (SeqNumber(seq), SeqNumber(ISN) + ack),
    };
    let blocks = sack.iter().map(|block| block.map(|end| SeqNumber(ISN) + end));
    let segment = Segment {
        seq,
        ack,
        flags,
        payload_len: len,
        window: 1000,
        options: Options { sack: SackBlocks::from_iter(blocks), ..Options::NONE },
    };
    let mut bytes = Vec::new();
    let payload = vec![0; len as usize];
    encode(&segment, &endpoints, 1, Payload::Bytes(&payload), &mut bytes).unwrap();
    bytes
}

/// A download of two segments, the first of which is lost: (ms, packet).
pub(super) fn download() -> Vec<(u64, Vec<u8>)> {
    let ack = Flags::ACK;
    let mut packets = vec![
        (5, packet(false, Flags::SYN, 0, 0, 0, &[])),
        (5, packet(true, Flags::SYN | ack, 0, 1, 0, &[])),
        (15, packet(false, ack, 1, 1, 0, &[])),
        (15, packet(true, ack, 1, 1, 1000, &[])),
        (15, packet(true, ack, 1001, 1, 1000, &[])),
        (25, packet(false, ack, 1, 1, 0, &[[1001, 2001]])),
        (25, packet(true, ack, 1, 1, 1000, &[])),
        (35, packet(false, ack, 1, 2001, 0, &[])),
    ];
    identify(&mut packets);
    packets
}

/// Numbers the IPv4 identifications. Two equal packets are one that the network duplicated.
fn identify(packets: &mut [(u64, Vec<u8>)]) {
    for (number, (_, packet)) in packets.iter_mut().enumerate() {
        packet[4..6].copy_from_slice(&(number as u16 + 1).to_be_bytes());
    }
}

/// The retransmission, as the analysis explains it.
fn early(span: Span) -> MarkKind {
    MarkKind::Explained {
        span,
        trigger: "early".into(),
        necessity: Necessity::Needed,
        reason: "it was acknowledged in time, and no duplicate was reported",
    }
}

pub(super) fn expected() -> Vec<Mark> {
    let span = |a, b| Span::new(Offset(a), Offset(b));
    let marks = [
        (2, 0, MarkKind::Control(Control::Syn, Offset(0))),
        (2, 0, MarkKind::Sent(span(0, 1))),
        (3, 10, MarkKind::Acked(Offset(1))),
        (3, 10, MarkKind::ReceiveWindow(Offset(1001))),
        (4, 10, MarkKind::Sent(span(1, 1001))),
        (5, 10, MarkKind::Sent(span(1001, 2001))),
        (6, 20, MarkKind::Sacked(span(1001, 2001))),
        (6, 20, MarkKind::DuplicateAck(Offset(1))),
        (7, 20, early(span(1, 1001))),
        (8, 30, MarkKind::Acked(Offset(2001))),
        (8, 30, MarkKind::ReceiveWindow(Offset(3001))),
    ];
    let mark = |(frame, ms, kind)| Mark { at: Instant::from_millis(ms), kind, frame: Some(frame) };
    marks.map(mark).to_vec()
}

/// The marks without their frame numbers.
pub(super) fn unframed(marks: &[Mark]) -> Vec<Mark> {
    let unframed = |mark: &Mark| Mark::new(mark.at, mark.kind.clone());
    marks.iter().map(unframed).collect()
}

/// The byte order of a file.
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

/// A classic capture whose `magic` means `ticks` per second.
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

pub(super) fn raw_pcap(packets: &[(u64, Vec<u8>)]) -> Vec<u8> {
    pcap(Order::Little, 0xa1b2_3c4d, 1_000_000_000, 101, packets)
}

/// A pcapng capture with one interface; `resolution` is its `if_tsresol` and the ticks per second.
fn pcapng(order: Order, resolution: Option<(u8, u64)>, packets: &[(u64, Vec<u8>)]) -> Vec<u8> {
    pcapng_with(&[], order, resolution, packets)
}

/// A comment option. A block may have several (draft-ietf-opsawg-pcapng §3.5).
fn comment(order: Order, length: u16) -> Vec<u8> {
    let mut option = [order.half(1), order.half(length)].concat();
    option.resize(4 + usize::from(length).next_multiple_of(4), b'x');
    option
}

/// A pcapng capture with `options` in its section header.
fn pcapng_with(
    options: &[Vec<u8>],
    order: Order,
    resolution: Option<(u8, u64)>,
    packets: &[(u64, Vec<u8>)],
) -> Vec<u8> {
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
    section.extend(options.concat());
    section.extend(if options.is_empty() { &[][..] } else { &[0; 4] });
    let mut interface = [order.half(101), order.half(0)].concat();
    interface.extend(order.word(0));
    if let Some((resolution, _)) = resolution {
        interface.extend([order.half(9), order.half(1)].concat());
        interface.extend([resolution, 0, 0, 0, 0, 0, 0, 0]);
    }
    let mut file = [block(0x0a0d_0d0a, &section), block(1, &interface)].concat();
    let ticks = resolution.map_or(1_000_000, |(_, ticks)| ticks);
    for (ms, packet) in packets {
        // Half a tick later, so that rounding down does not lose a millisecond.
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
    assert_eq!(source.title, "Connection 0: 192.0.2.1:80 to 198.51.100.1:4000");
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
        for resolution in [None, Some((6, 1_000_000)), Some((9, 1_000_000_000)), Some((3, 1000))] {
            assert_eq!(marks(&pcapng(order, resolution, &packets)), expected());
        }
    }
}

/// Input that arrives in small pieces, as through a pipe.
struct Pieces<'a>(&'a [u8]);

impl std::io::Read for Pieces<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let size = buffer.len().min(7);
        self.0.read(&mut buffer[..size])
    }
}

#[test]
fn section_headers_may_be_long() {
    let packets = download();
    for order in [Order::Little, Order::Big] {
        // One to four comments, up to more bytes than the reader buffers at first.
        for lengths in [&[1u16][..], &[9], &[40], &[500, 3], &[65_000; 4]] {
            let comments: Vec<Vec<u8>> = lengths.iter().map(|l| comment(order, *l)).collect();
            let file = pcapng_with(&comments, order, None, &packets);
            assert_eq!(marks(&file), expected(), "{lengths:?}");
            let source = read("x.pcap", Pieces(&file), &Choice::default()).unwrap();
            assert_eq!(source.panels[0].marks, expected(), "{lengths:?}");
            // A section may follow another.
            let twice = [&pcapng_with(&comments, order, None, &[]), &file[..]].concat();
            assert_eq!(marks(&twice), expected(), "{lengths:?}");
            let cut = read("x.pcap", &file[..39], &Choice::default()).unwrap_err();
            assert_eq!(cut.to_string(), "x.pcap: the capture ends within its header");
        }
    }
    let classic = read("x.pcap", Pieces(&raw_pcap(&packets)), &Choice::default()).unwrap();
    assert_eq!(classic.panels[0].marks, expected());
}

#[test]
fn cut_packets_and_ethernet_frames_are_read() {
    let frames = |cut: usize, padding: usize| {
        let frame = |(ms, packet): (u64, Vec<u8>)| {
            let mut frame = [&[2; 12][..], &[8, 0]].concat();
            // A cut of 52 bytes keeps the IP header, the TCP header and 12 bytes of options, which
            // the ACK with a SACK block needs.
            frame.extend(&packet[..packet.len().min(cut)]);
            frame.resize(frame.len() + padding, 0);
            (ms, frame)
        };
        download().into_iter().map(frame).collect::<Vec<_>>()
    };
    for (cut, padding) in [(52, 0), (2000, 0), (2000, 6)] {
        let file = pcap(Order::Little, 0xa1b2_3c4d, 1_000_000_000, 1, &frames(cut, padding));
        assert_eq!(marks_of_any(&file), expected(), "cut at {cut}, {padding} bytes of padding");
    }
}

#[test]
fn without_the_handshake_offsets_start_at_the_first_segment() {
    let source = read("x.pcap", &raw_pcap(&download()[3..])[..], &Choice::default()).unwrap();
    let found = &source.panels[0].marks;
    let span = |a, b| Span::new(Offset(a), Offset(b));
    assert_eq!(found[0].kind, MarkKind::Sent(span(1, 1001)));
    assert_eq!(found[0].at, Instant::ZERO);
    // The window scale is unknown, so no window is drawn.
    assert!(found.iter().all(|m| !matches!(m.kind, MarkKind::ReceiveWindow(_))), "{found:?}");
    assert_eq!(found.last().map(|m| &m.kind), Some(&MarkKind::Acked(Offset(2001))));
    let note = source.notes.last().unwrap();
    assert!(note.starts_with("the connection's beginning is not in the capture: "));
    assert!(note.ends_with("count from the lowest seen"), "{note}");
}

/// The capture begins during a recovery. The retransmission lies below the first data seen, and
/// offsets count from an acknowledgment number.
#[test]
fn data_sent_before_the_capture_began_is_taken_into_account() {
    let ack = Flags::ACK;
    let packets = [
        (0, packet(false, ack, 1, 501, 0, &[[2001, 4001]])),
        (1, packet(true, ack, 4001, 1, 1000, &[])),
        (2, packet(false, ack, 1, 501, 0, &[[2001, 5001]])),
        (3, packet(true, ack, 501, 1, 1500, &[])),
        (4, packet(false, ack, 1, 5001, 0, &[])),
    ];
    let span = |a, b| Span::new(Offset(a), Offset(b));
    let kinds = |packets: &[(u64, Vec<u8>)]| -> Vec<MarkKind> {
        let marks = marks_of_any(&raw_pcap(packets));
        marks.into_iter().map(|mark| mark.kind).collect()
    };
    let expected = [
        MarkKind::Sacked(span(1501, 3501)),
        MarkKind::Acked(Offset(1)),
        MarkKind::Sent(span(3501, 4501)),
        MarkKind::Sacked(span(1501, 4501)),
        MarkKind::DuplicateAck(Offset(1)),
        MarkKind::Explained {
            span: span(1, 1501),
            trigger: "fast".into(),
            necessity: Necessity::Unknowable,
            reason: "it looks like a first transmission",
        },
        MarkKind::Acked(Offset(4501)),
    ];
    assert_eq!(kinds(&packets), expected);
    // Here the lowest number is that of data. Sequence numbers wrap at 501.
    assert_eq!(kinds(&packets[1..2]), [MarkKind::Sent(span(1, 1001))]);
    let late = [packets[1].clone(), packets[3].clone()];
    let expected = [
        MarkKind::Sent(span(3501, 4501)),
        MarkKind::Explained {
            span: span(1, 1501),
            trigger: "unknown".into(),
            necessity: Necessity::Unknowable,
            reason: "it looks like a first transmission",
        },
    ];
    assert_eq!(kinds(&late), expected);
    // Before any data, SACK blocks show that an ACK is a duplicate.
    let two = [packets[0].clone(), packets[2].clone(), packets[3].clone()];
    assert_eq!(kinds(&two)[3], MarkKind::DuplicateAck(Offset(1)));
    // The numbers of RST segments are ignored.
    let mut reset = packets.to_vec();
    reset.push((5, packet(false, Flags::RST, 1, 0, 0, &[])));
    reset.push((5, packet(true, Flags::RST, 0, 0, 0, &[])));
    assert_eq!(kinds(&reset), kinds(&packets));
}

#[test]
fn a_window_update_with_unknown_scale_is_not_a_duplicate_ack() {
    let ack = Flags::ACK;
    let mut update = packet(false, ack, 1, 1, 0, &[]);
    update[34..36].copy_from_slice(&5u16.to_be_bytes());
    let same = packet(false, ack, 1, 1, 0, &[]);
    let packets =
        [(0, packet(true, ack, 1, 1, 1000, &[])), (1, same.clone()), (2, same.clone()), (3, update), (4, same)];
    let marks = marks_of_any(&raw_pcap(&packets));
    let duplicates: Vec<Instant> =
        marks.iter().filter(|mark| matches!(mark.kind, MarkKind::DuplicateAck(_))).map(|mark| mark.at).collect();
    assert_eq!(duplicates, [Instant::from_millis(2)]);
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
        (Some(Direction::Down), "192.0.2.1:80 to 198.51.100.1:4000", 4),
        (Some(Direction::Up), "198.51.100.1:4000 to 192.0.2.1:80", 1),
    ] {
        let choice = Choice { directions: direction.map_or(Directions::All, Directions::Only), ..Choice::default() };
        let source = read("x.pcap", &file[..], &choice).unwrap();
        assert_eq!(source.title, format!("Connection 0: {title}"));
        let left = |m: &&Mark| matches!(m.kind, MarkKind::Sent(_) | MarkKind::Explained { .. });
        assert_eq!(source.panels[0].marks.iter().filter(left).count(), sent);
    }
}

/// Two concurrent downloads, a third that reuses the ports of the first, and a single SYN.
fn several() -> Vec<(u64, Vec<u8>)> {
    let other =
        |down, flags, seq, ack, len| packet_between("198.51.100.1:4001", SERVER, down, flags, seq, ack, len, &[]);
    let mut packets = download();
    packets.insert(1, (5, other(false, Flags::SYN, 0, 0, 0)));
    packets.push((40, other(true, Flags::ACK, 1, 1, 500)));
    packets.push((50, packet(false, Flags::SYN, 7_000_000, 0, 0, &[])));
    packets.push((60, packet(true, Flags::ACK, 1, 7_000_001, 100, &[])));
    let lone = packet_between("[2001:db8::1]:9", "[2001:db8::2]:80", false, Flags::SYN, 0, 0, 0, &[]);
    packets.push((70, lone));
    packets
}

#[test]
fn a_connection_is_chosen_by_number() {
    let file = raw_pcap(&several());
    let Err(SourceError::Choice { why, list, .. }) = read("x.pcap", &file[..], &Choice::default()) else {
        panic!("chosen without a choice");
    };
    assert_eq!(why, "there are 4 connections: choose one with --connection");
    assert_eq!(
        words(&list),
        [
            "connection client server up: segments bytes retransmissions down: segments bytes retransmissions",
            "0 198.51.100.1:4000 192.0.2.1:80 1 0 0 4 3000 1",
            "1 198.51.100.1:4001 192.0.2.1:80 1 0 0 1 500 0",
            "2 198.51.100.1:4000 192.0.2.1:80 1 0 0 1 100 0",
            "3 [2001:db8::1]:9 [2001:db8::2]:80 1 0 0 0 0 0",
        ]
    );
    let choose = |connection| {
        let choice = Choice { connection: Some(connection), ..Choice::default() };
        read("x.pcap", &file[..], &choice)
    };
    let first = choose(0).unwrap();
    assert_eq!(unframed(&first.panels[0].marks), unframed(&expected()));
    assert_eq!(choose(2).unwrap().panels[0].marks.len(), 1);
    assert_eq!(choose(3).unwrap().panels[0].marks.len(), 0);
    let error = choose(4).unwrap_err().to_string();
    assert_eq!(error, "x.pcap: no connection 4: there are 4, from 0 to 3");
}

/// The lines, with each run of spaces replaced by one.
fn words(list: &[String]) -> Vec<String> {
    let plain = |line: &String| line.split_whitespace().collect::<Vec<_>>().join(" ");
    list.iter().map(plain).collect()
}

#[test]
fn the_list_has_the_connections_with_the_most_data() {
    let port = |n: u32| format!("198.51.100.1:{}", 4000 + n);
    let packets: Vec<(u64, Vec<u8>)> = (0..50)
        .map(|n| {
            let len = 100 + 7 * n % 50;
            let ack = Flags::ACK;
            (5, packet_between(&port(n), SERVER, true, ack, 1, 1, len, &[]))
        })
        .collect();
    let Err(SourceError::Choice { list, .. }) = read("x.pcap", &raw_pcap(&packets)[..], &Choice::default()) else {
        panic!("chosen without a choice");
    };
    let list = words(&list);
    assert_eq!(list.len(), 22, "{list:?}");
    // Without a handshake, the sender of the first packet counts as the client.
    assert_eq!(list[1], "7 192.0.2.1:80 198.51.100.1:4007 1 149 0 0 0 0");
    assert_eq!(list[2], "14 192.0.2.1:80 198.51.100.1:4014 1 148 0 0 0 0");
    assert_eq!(list[21], "and 30 more, of 129 bytes of data or less");
}

#[test]
fn the_only_connection_with_data_needs_no_choice() {
    let mut packets = download();
    let lone = packet_between("[2001:db8::1]:9", "[2001:db8::2]:80", false, Flags::SYN, 0, 0, 0, &[]);
    packets.push((70, lone));
    assert_eq!(marks_of_any(&raw_pcap(&packets)), expected());
}

#[test]
fn unreadable_parts_are_reported() {
    let whole = raw_pcap(&download());
    let mut unread = download();
    unread.insert(2, (6, vec![0x45, 0, 0]));
    unread.insert(3, (6, vec![0x45; 60]));
    unread.insert(4, (7, [&download()[0].1[..], &[]].concat()[..30].to_vec()));
    for (file, note) in [
        (whole[..whole.len() - 1].to_vec(), "after frame 7: the capture ends within a packet"),
        (whole[..whole.len() - 40].to_vec(), "after frame 7: the capture ends within a packet"),
        (raw_pcap(&unread), "left out 2 frames, first frame 3: cut "),
    ] {
        let source = read("x.pcap", &file[..], &Choice::default()).unwrap();
        assert_eq!(source.notes.len(), 1, "{:?}", source.notes);
        assert!(source.notes[0].starts_with(note), "{:?}", source.notes);
    }
    let error = |file: &[u8]| {
        let error = read("x.pcap", file, &Choice::default()).unwrap_err();
        error.to_string()
    };
    assert_eq!(error(&whole[..20]), "x.pcap: the capture ends within its header");
    assert_eq!(error(&whole[..24]), "x.pcap: there is no TCP connection");
    let wireless = pcap(Order::Little, 0xa1b2_3c4d, 1_000_000_000, 105, &download());
    assert!(error(&wireless).starts_with("x.pcap: link type 105: expected Ethernet (1)"));
    let mut damaged = pcapng(Order::Little, None, &download());
    let at = damaged.len() - 4;
    damaged[at] ^= 1;
    let source = read("x.pcap", &damaged[..], &Choice::default()).unwrap();
    assert!(source.notes[0].starts_with("after frame 7: damaged at byte "));
}

#[test]
fn cut_or_damaged_captures_do_not_panic() {
    for whole in [raw_pcap(&download()), pcapng(Order::Big, Some((9, 1_000_000_000)), &download())] {
        for end in 0..whole.len() {
            let _ = read("x", &whole[..end], &Choice::default());
        }
        for at in 0..whole.len() {
            let mut changed = whole.clone();
            changed[at] ^= [0xff, 0x80, 0x01][at % 3];
            let _ = read("x", &changed[..], &Choice::default());
        }
    }
}
