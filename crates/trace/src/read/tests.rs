mod hostile;
pub(super) mod made;

use super::{CapturedPacket, Counts, Ending, Message, Oddity, PacketSource, Reader, Reason};
use made::*;
use recoup_wire::Flags;

#[test]
fn classic_captures_of_every_kind() {
    let packets = packets(5);
    for (order, magic) in [(Little, MICROS), (Little, NANOS), (Little, MODIFIED), (Big, MICROS), (Big, NANOS)] {
        let file = classic(order, magic, RAW, &packets);
        let (found, counts) = read(&file).unwrap();
        assert_download(&found, 5);
        assert_eq!((counts.frames, &counts.ending), (5, &Ending::Whole));
        assert_eq!(counts.notes(), [""; 0], "{order:?} {magic:x}");
        assert_eq!((found[0].ip_id, found[0].hop_limit), (Some(5), 64));
        assert_eq!((found[1].ip_id, found[1].outgoing), (None, None));
    }
    // The upper bits of the link type field give the length of the frame check sequence, here 4
    // bytes.
    let file = classic(Little, NANOS, 0x4400_0000 | RAW, &packets);
    assert_download(&read(&file).unwrap().0, 5);
}

#[test]
fn icmp_messages_about_segments_are_counted_and_no_segments() {
    let segment = ip(&segment(0), false);
    // Type 3, code 4, an MTU of 1280 bytes, and the first 28 bytes of the segment's packet.
    let mut message = segment[..20].to_vec();
    message[3] = 56;
    message[9] = 1;
    message.extend([3, 4, 0, 0, 0, 0, 5, 0]);
    message.extend(&segment[..28]);
    let file = classic(Little, MICROS, RAW, &[segment, message]);
    let mut reader = Reader::new("x.pcap", &file[..]).unwrap();
    reader.next_or_message().unwrap();
    let found = *reader.next_or_message().unwrap();
    assert_eq!((found.frame, found.message), (2, Some(Message::PathMtu(1280))));
    assert_eq!(found.endpoints.src.to_string(), "192.0.2.1:9");
    assert_eq!(found.segment.seq.0, u32::MAX - 150);

    let (found, counts) = read(&file).unwrap();
    assert_eq!((found.len(), counts.frames, counts.packets), (1, 2, 1));
    assert_eq!(counts.path_mtu_messages.count, 1);
    assert_eq!(counts.notes(), ["frame 2: ICMP: segments too large for their path"]);
}

#[test]
fn sections_in_both_orders() {
    let packets = packets(5);
    for order in [Little, Big] {
        let file = sections(order, RAW as u16, &packets);
        let (found, counts) = read(&file).unwrap();
        assert_download(&found, 5);
        assert_eq!((counts.frames, &counts.ending), (5, &Ending::Whole));
        assert_eq!((counts.notes().len(), counts.dropped), (0, None));
    }
}

/// A file of sections in both byte orders, whose interfaces have their own link type and clock.
#[test]
fn sections_have_interfaces_of_their_own() {
    let packet = ip(&segment(0), false);
    let frame = ethernet(&[8, 0], &packet);
    for order in [Little, Big] {
        let other = if order == Big { Little } else { Big };
        let nanos = option(order, 9, &[9]);
        let second = option(order, 9, &[0]);
        let offset = match order {
            Big => option(order, 14, &2i64.to_be_bytes()),
            Little => option(order, 14, &2i64.to_le_bytes()),
        };
        let file = [
            section(order),
            interface(order, 101, &[nanos]),
            interface(order, 1, &[second, offset]),
            enhanced(order, 1, 7, &frame, &[]),
            enhanced(order, 0, 7, &packet, &[]),
            section(other),
            interface(other, 1, &[]),
            enhanced(other, 0, 7, &frame, &[]),
            enhanced(other, 1, 7, &frame, &[]),
        ]
        .concat();
        let (found, counts) = read(&file).unwrap();
        let outline = |p: &CapturedPacket| (p.frame, p.at.as_nanos(), p.interface);
        let found: Vec<_> = found.iter().map(outline).collect();
        assert_eq!(found, [(1, 9_000_000_000, 1), (2, 7, 0), (3, 7000, 0)]);
        assert_eq!(counts.skipped(Reason::NoInterface).first_frame, 4);
    }
}

#[test]
fn every_block_that_wireshark_numbers_is_a_frame() {
    let packet = ip(&segment(0), false);
    for order in [Little, Big] {
        let len = packet.len() as u32;
        let simple = [&order.word(len)[..], &packet].concat();
        let old = [&order.half(0)[..], &order.half(3), &order.words(&[0, 5, len, len]), &packet];
        let dropped = |count: u64| match order {
            Big => option(order, 5, &count.to_be_bytes()),
            Little => option(order, 5, &count.to_le_bytes()),
        };
        let statistics = |count| {
            let body = [order.words(&[0, 0, 0]), dropped(count)].concat();
            block(order, 5, &body)
        };
        let flags = |flags| vec![option(order, 1, b"comment"), option(order, 2, &order.word(flags))];
        let file = [
            section(order),
            interface(order, 101, &[]),
            interface(order, 105, &[]),
            interface(order, 101, &[option(order, 9, &[20])]),
            enhanced(order, 0, 1, &packet, &flags(2)),
            block(order, 3, &simple),
            block(order, 2, &old.concat()),
            statistics(4),
            block(order, 9, b"__REALTIME_TIMESTAMP=1\n"),
            block(order, 0xbad, &[0; 8]),
            block(order, 0x4000_0bad, &[0; 8]),
            block(order, 4, &[0; 8]),
            block(order, 0x7777, &[0; 600_000]),
            enhanced(order, 1, 1, &packet, &[]),
            enhanced(order, 2, 1, &packet, &[]),
            enhanced(order, 0, 1, &packet, &flags(1)),
            statistics(6),
        ]
        .concat();
        let (found, counts) = read(&file).unwrap();
        let outline = |p: &CapturedPacket| (p.frame, p.outgoing, p.at.as_nanos());
        let found: Vec<_> = found.iter().map(outline).collect();
        let expected = [(1, Some(true), 1000), (3, None, 5000), (9, Some(false), 1000)];
        assert_eq!(found, expected, "{order:?}");
        assert_eq!((counts.frames, counts.dropped), (9, Some(6)));
        for (reason, count, first_frame) in
            [(Reason::NoTime, 1, 2), (Reason::NotPacket, 3, 4), (Reason::LinkType, 1, 7), (Reason::NoClock, 1, 8)]
        {
            let tally = counts.skipped(reason);
            assert_eq!((tally.count, tally.first_frame), (count, first_frame));
        }
    }
}

#[test]
fn captures_may_be_compressed_and_joined() {
    let packets = packets(7);
    let kinds = [
        plain(&packets),
        classic(Big, MICROS, RAW, &packets),
        sections(Little, RAW as u16, &packets),
        sections(Big, RAW as u16, &packets),
    ];
    let as_it_is = |file: &[u8]| file.to_vec();
    for first in &kinds {
        for pack in [as_it_is, gzip, zstd] {
            let packed = pack(first);
            assert_download(&read(&packed).unwrap().0, 7);
            // Two members, cut anywhere.
            let (a, b) = first.split_at(100);
            let (found, counts) = read(&[pack(a), pack(b)].concat()).unwrap();
            assert_download(&found, 7);
            assert_eq!(counts.ending, Ending::Whole);
        }
        for second in &kinds {
            for pack in [as_it_is, gzip, zstd] {
                let (found, counts) = read(&[pack(first), pack(second)].concat()).unwrap();
                assert_download(&found[..7], 7);
                assert_eq!((found.len(), counts.frames), (14, 14));
                assert_eq!(found[13].frame, 14);
                assert_eq!(found[13].segment, segment(6));
                assert_eq!(counts.ending, Ending::Whole);
            }
        }
    }
    // A skippable frame first, as some zstd writers leave one.
    let skippable = [&[0x5f, 0x2a, 0x4d, 0x18, 2, 0, 0, 0, 1, 2][..], &zstd(&kinds[0])].concat();
    assert_download(&read(&skippable).unwrap().0, 7);
}

/// Input that comes in small pieces, as from a pipe.
struct Pieces<'a>(&'a [u8]);

impl std::io::Read for Pieces<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let size = buffer.len().min(7);
        self.0.read(&mut buffer[..size])
    }
}

#[test]
fn input_may_come_in_pieces() {
    // More than the window holds.
    let many = packets(3000);
    for file in [plain(&many), sections(Big, RAW as u16, &many)] {
        assert_download(&read_from(Pieces(&file)).unwrap().0, 3000);
        assert_download(&read(&file).unwrap().0, 3000);
        assert_download(&read(&gzip(&file)).unwrap().0, 3000);
    }
}

#[test]
fn files_are_read_and_decompressed_ahead() {
    let folder = tempfile::tempdir().unwrap();
    let file = plain(&packets(3000));
    for (name, bytes) in [("a", file.clone()), ("b.gz", gzip(&file)), ("c", zstd(&file))] {
        let path = folder.path().join(name);
        std::fs::write(&path, &bytes).unwrap();
        let mut reader = Reader::open(&path).unwrap();
        assert_eq!(reader.size(), Some(bytes.len() as u64));
        assert!(reader.next().is_some() && reader.taken() > 0);
        while reader.next().is_some() {}
        assert_eq!(reader.taken(), bytes.len() as u64);
        assert_download(&drain(Reader::open(&path).unwrap()).unwrap().0, 3000);
        // The thread ends soon after the reader is dropped.
        drop(Reader::open(&path).unwrap());
        // Packets decompressed before the early end count.
        std::fs::write(&path, &bytes[..bytes.len() - 9]).unwrap();
        let (found, counts) = drain(Reader::open(&path).unwrap()).unwrap();
        assert!(!found.is_empty() && found.len() <= 3000);
        assert!(matches!(counts.ending, Ending::Cut { .. }), "{:?}", counts.ending);
    }
    let text = |path: &std::path::Path| Reader::open(path).unwrap_err().to_string();
    let a_directory = text(folder.path());
    assert!(a_directory.ends_with(": a directory: expected a capture file"));
    assert!(text(&folder.path().join("none")).starts_with("cannot read "));
}

/// Frames with all kinds of headers, some of them cut.
#[test]
fn frames_of_all_kinds() {
    let data = segment(0);
    let syn = recoup_wire::Segment { flags: Flags::SYN, payload_len: 0, ..data };
    let v4 = ip(&data, false);
    let v6 = ip(&data, true);
    let mut extended = v6.clone();
    // Hop-by-hop options, then destination options: 8 bytes each, all padding.
    extended.splice(40..40, [60, 0, 1, 4, 0, 0, 0, 0, 6, 0, 1, 4, 0, 0, 0, 0]);
    (extended[5], extended[6]) = (v6[5] + 16, 0);
    let mut options = v4.clone();
    options.splice(20..20, [1; 8]);
    (options[0], options[3]) = (0x47, v4[3] + 8);
    let tags = [0x88, 0xa8, 0, 7, 0x81, 0, 0, 8, 8, 0];
    let edit = |at: usize, value: u8| {
        let mut packet = v4.clone();
        packet[at] = value;
        ethernet(&[8, 0], &packet)
    };
    let whole = ethernet(&[8, 0], &v4);
    let cut = |len: usize| whole[..len].to_vec();
    let all = Ok((100, true, false));
    for (what, frame, expected) in [
        ("v4", whole.clone(), all),
        ("v6", ethernet(&[0x86, 0xdd], &v6), all),
        ("IP options", ethernet(&[8, 0], &options), all),
        ("extension headers", ethernet(&[0x86, 0xdd], &extended), all),
        ("two tags", ethernet(&tags, &v4), all),
        ("padding", ethernet(&[8, 0], &[&ip(&syn, false)[..], &[0; 20]].concat()), Ok((0, true, false))),
        ("cut in the payload", cut(80), all),
        ("cut after the options", cut(66), all),
        ("cut in the options", cut(60), Ok((100, false, false))),
        ("cut after the ports", cut(54), Ok((100, false, false))),
        ("cut in the header", cut(53), Err(Reason::Cut)),
        ("cut in the IP header", cut(33), Err(Reason::Cut)),
        ("cut in the Ethernet header", cut(13), Err(Reason::Cut)),
        ("nothing captured", cut(0), Err(Reason::Cut)),
        (
            "offload",
            {
                let mut f = edit(2, 0);
                f[17] = 0;
                f
            },
            all,
        ),
        ("IP length exceeds the frame", edit(2, 1), Ok((356, true, true))),
        ("IP length below that of its headers", edit(3, 10), Err(Reason::IpHeader)),
        ("a header of 4 words", edit(0, 0x44), Err(Reason::IpHeader)),
        ("version 7", edit(0, 0x75), Err(Reason::IpHeader)),
        ("UDP", edit(9, 17), Err(Reason::Udp)),
        ("the first fragment", edit(6, 0x20), Err(Reason::Fragment)),
        ("a later fragment", edit(7, 9), Err(Reason::Fragment)),
        ("a TCP header of 4 words", edit(32, 0x40), Err(Reason::TcpHeader)),
        (
            "a TCP header beyond the packet",
            {
                let mut f = edit(3, 44);
                f[46] = 0xf0;
                f
            },
            Err(Reason::TcpHeader),
        ),
        ("an option of 0 bytes", edit(43, 0), Ok((100, false, false))),
        ("ARP", ethernet(&[8, 6], &[0; 28]), Err(Reason::Arp)),
    ] {
        // The wire carried all of it.
        let length = frame.len().max(whole.len());
        let mut file = header(Little, NANOS, ETHERNET);
        file.extend(record(Little, 5, &frame, length));
        let (found, counts) = read(&file).unwrap();
        let outline = |p: &CapturedPacket| (p.segment.payload_len, p.options_complete, p.overlong);
        let reason = Reason::ALL.into_iter().find(|r| counts.skipped(*r).count > 0);
        let found = found.first().map(outline).ok_or_else(|| reason.unwrap());
        assert_eq!(found, expected, "{what}");
        let odd = |oddity| counts.odd(oddity).count == 1;
        assert_eq!(odd(Oddity::Overlong), expected.is_ok_and(|(_, _, overlong)| overlong));
        assert_eq!(odd(Oddity::Options), expected.is_ok_and(|(_, complete, _)| !complete));
        assert_eq!(counts.frames, 1);
    }
}

#[test]
fn the_first_frame_counts_whatever_it_holds() {
    let arp = ethernet(&[8, 6], &[0; 28]);
    let data = ethernet(&[8, 0], &ip(&segment(0), false));
    let mut file = header(Little, NANOS, ETHERNET);
    for (nanos, frame) in [(2000, &arp), (9000, &data), (1000, &data)] {
        file.extend(record(Little, nanos, frame, frame.len()));
    }
    let (found, counts) = read(&file).unwrap();
    let first = counts.first_frame_at.unwrap();
    assert_eq!(found[0].at.since(first), std::time::Duration::from_micros(7));
    // Of two files, the earlier one.
    let mut both = counts.clone();
    let mut earlier = Counts::default();
    earlier.first_frame_at = Some(found[1].at);
    both.append(earlier);
    assert_eq!(both.first_frame_at, Some(found[1].at));
    both.append(Counts::default());
    assert_eq!(both.first_frame_at, Some(found[1].at));
}

/// The fuzzer's seeds are made by [`made`]; `RECOUP_WRITE_SEEDS=1` writes them again.
#[test]
fn the_seeds_of_the_fuzzer_are_these() {
    let packets = packets(3);
    let frames = |middle: &[u8], v6: bool| {
        let packet = |i| ethernet(middle, &ip(&segment(i), v6)[..52]);
        (0..2).map(packet).collect::<Vec<_>>()
    };
    let tagged = frames(&[0x88, 0xa8, 0, 7, 0x81, 0, 0, 8, 8, 0], false);
    let both = [plain(&packets[..1]), sections(Big, RAW as u16, &packets[..1])].concat();
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds/capture_reader");
    for (name, file) in [
        ("micros-ethernet-cut", classic(Little, MICROS, ETHERNET, &tagged)),
        ("nanos-big-raw", classic(Big, NANOS, RAW, &packets[..2])),
        ("modified", classic(Little, MODIFIED, RAW, &packets[..1])),
        ("sections", sections(Little, RAW as u16, &packets[..2])),
        ("sections-big-ethernet", sections(Big, 1, &frames(&[8, 0], false))),
        ("joined", both.clone()),
        ("tunnels", classic(Little, NANOS, RAW, &super::tunnel::tests::cut_segments())),
        ("gzip", gzip(&both)),
        ("zstd", zstd(&both)),
    ] {
        let path = folder.join(name);
        if std::env::var_os("RECOUP_WRITE_SEEDS").is_some() {
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(&path, &file).unwrap();
        }
        let committed = std::fs::read(&path).unwrap();
        // Another version of a library may compress differently.
        let unpacked = |bytes: &[u8]| read(bytes).unwrap();
        assert!(unpacked(&committed) == unpacked(&file), "{name}");
        assert!(committed.len() < 600, "{name}: {} bytes", committed.len());
    }
}

#[test]
fn padding_that_the_ip_header_counts_is_no_payload() {
    use recoup_wire::{Endpoints, Payload, Segment, encode};
    let endpoints = Endpoints { src: "192.0.2.1:9".parse().unwrap(), dst: "192.0.2.2:80".parse().unwrap() };
    let packet = |flags: Flags, fill: u8, len: u32| {
        let segment = Segment { flags, payload_len: len, ..Segment::default() };
        let mut packet = Vec::new();
        encode(&segment, &endpoints, 5, Payload::Fill(fill), &mut packet).unwrap();
        packet
    };
    for (packet, expected) in [
        (packet(Flags::ACK, 0, 6), 0),
        (packet(Flags::ACK, 0, 2), 0),
        (packet(Flags::SYN | Flags::ACK, 0, 2), 0),
        // A window probe, data, and what no device pads.
        (packet(Flags::ACK, 0, 1), 1),
        (packet(Flags::ACK, 7, 6), 6),
        (packet(Flags::ACK | Flags::PSH, 0, 6), 6),
        (packet(Flags::ACK, 0, 7), 7),
    ] {
        let len = packet.len();
        let mut file = header(Little, NANOS, RAW);
        file.extend(record(Little, 5, &packet, len));
        let (found, counts) = read(&file).unwrap();
        assert_eq!(found[0].segment.payload_len, expected, "{len}");
        assert_eq!(counts.odd(Oddity::Padding).count, u64::from(expected == 0));
    }
}
