use super::*;
use crate::capture::{Capture, Unwatched};
use pcap_file::pcapng::blocks::enhanced_packet::{EnhancedPacketBlock, EnhancedPacketOption};
use pcap_file::pcapng::blocks::interface_description::InterfaceDescriptionBlock;
use pcap_file::pcapng::blocks::name_resolution::{Ipv4Record, NameResolutionBlock, Record};
use pcap_file::pcapng::blocks::section_header::SectionHeaderBlock;
use pcap_file::pcapng::{Block, PcapNgReader, PcapNgWriter};
use pcap_file::{DataLink, Endianness};
use recoup_trace::analyze::Settings;
use recoup_trace::read::{RawReader, RawRecord, Reader};
use std::borrow::Cow;
use std::time::Duration;

const DEMO: &[u8] = include_bytes!("../capture/demo.pcap.zst");

fn remarks(file: &[u8]) -> Remarks {
    let reader = Reader::new("x", file).expect("a capture");
    let capture = Capture::stream("x", reader);
    let analyzed = capture.analyze(&Settings::default(), RemarksOf::default, &Unwatched).expect("an analysis");
    Remarks::new(analyzed.findings, None)
}

fn annotated(file: &[u8], only_slow: bool) -> (Vec<u8>, Annotated) {
    let reader = CopyReader::new("x", file).expect("a capture");
    let mut out = Vec::new();
    let found = annotate(reader, &remarks(file), only_slow, &mut out, &Unwatched).expect("a copy");
    (out, found)
}

/// The time, the length on the wire and the bytes of each frame.
fn frames(file: &[u8]) -> Vec<(u64, usize, Vec<u8>)> {
    let mut frames = Vec::new();
    let reader = RawReader::new("x", file).expect("a capture");
    let counts = reader.each(|record, _| {
        if let RawRecord::Frame(frame) = record {
            frames.push((frame.at.as_nanos(), frame.on_wire, frame.data.to_vec()));
        }
        Ok(())
    });
    counts.expect("a known link type");
    frames
}

/// The comments on each frame of a pcapng capture, as another library reads them.
fn comments(file: &[u8]) -> Vec<Vec<String>> {
    let mut reader = PcapNgReader::new(file).expect("pcapng");
    let mut all = Vec::new();
    while let Some(block) = reader.next_block() {
        let Block::EnhancedPacket(packet) = block.expect("a block") else {
            continue;
        };
        let comments = packet.options.iter().filter_map(|option| match option {
            EnhancedPacketOption::Comment(comment) => Some(comment.to_string()),
            _ => None,
        });
        all.push(comments.collect());
    }
    all
}

/// The demo as pcapng in this byte order, with a comment and flags on every third frame, and a name.
fn as_sections(endianness: Endianness) -> Vec<u8> {
    let header = SectionHeaderBlock { endianness, section_length: 12, ..SectionHeaderBlock::default() };
    let mut writer = PcapNgWriter::with_section_header(Vec::new(), header).expect("a header");
    let interface = InterfaceDescriptionBlock { linktype: DataLink::RAW, snaplen: 0, options: Vec::new() };
    writer.write_pcapng_block(interface).expect("an interface");
    let name = Ipv4Record { ip_addr: Cow::Owned(vec![192, 0, 2, 1]), names: vec!["web".into()] };
    let names = NameResolutionBlock { records: vec![Record::Ipv4(name)], options: Vec::new() };
    writer.write_pcapng_block(names).expect("a name");
    for (number, (at, on_wire, data)) in frames(DEMO).into_iter().enumerate() {
        let noted = [EnhancedPacketOption::Comment("mine".into()), EnhancedPacketOption::Flags(2)];
        let block = EnhancedPacketBlock {
            interface_id: 0,
            // In microseconds, the usual resolution: the library writes this number as it is.
            timestamp: Duration::from_nanos(at / 1000),
            original_len: on_wire as u32,
            data: Cow::Owned(data),
            options: if number % 3 == 0 { noted.into() } else { Vec::new() },
        };
        writer.write_pcapng_block(block).expect("a frame");
    }
    writer.into_inner()
}

#[test]
fn frames_stay_as_they_are_and_retransmissions_say_why_they_were_sent() {
    let (out, found) = annotated(DEMO, false);
    assert_eq!(frames(&out), frames(DEMO));
    let comments = comments(&out);
    assert_eq!(comments.iter().map(Vec::len).sum::<usize>() as u64, found.comments);
    assert_eq!((comments.len() as u64, found.left_out), (found.frames, 0));
    let said: Vec<&String> = comments.iter().flatten().collect();
    let of = |part: &str| said.iter().filter(|comment| comment.contains(part)).count();
    let rows = remarks(DEMO).all().filter(|remark| matches!(remark, remarks::Remark::Retransmission(..))).count();
    assert!(rows > 60, "{rows}");
    assert_eq!(of("Recoup: retransmission; trigger="), rows);
    assert!(of("; original=") * 10 > rows * 9, "{said:#?}");
    assert!(of("lost time begins; cause=lost_segment; cost_ms=") > 10 && of("lost time ends; ") > 5, "{said:#?}");
    // An original carries the first byte of its retransmission.
    let all = frames(&out);
    let seq = |frame: u64| {
        let data = &all[frame as usize - 1].2;
        let tcp = usize::from(data[0] & 15) * 4;
        u32::from_be_bytes(data[tcp + 4..tcp + 8].try_into().expect("four bytes"))
    };
    for (number, comment) in comments.iter().enumerate().flat_map(|(n, all)| all.iter().map(move |c| (n as u64 + 1, c)))
    {
        if let Some((_, rest)) = comment.split_once("; original=") {
            let original: u64 = rest.split(';').next().unwrap_or(rest).parse().expect("a number");
            assert!(original < number, "{comment}");
            assert!(seq(number).wrapping_sub(seq(original)) < 2000, "{number}: {comment}");
        }
    }
}

#[test]
fn blocks_of_pcapng_stay_as_they_are_in_both_byte_orders() {
    for endianness in [Endianness::Little, Endianness::Big] {
        let file = as_sections(endianness);
        let (out, found) = annotated(&file, false);
        assert_eq!(frames(&out), frames(&file));
        let (before, after) = (comments(&file), comments(&out));
        for (before, after) in before.iter().zip(&after) {
            assert!(after.ends_with(before), "{after:?}");
        }
        let count = |all: &[Vec<String>]| all.iter().map(Vec::len).sum::<usize>() as u64;
        assert_eq!(count(&after), count(&before) + found.comments);
        assert!(found.comments > 100, "{found:?}");
        // All other bytes are there in the same order: names, interfaces, flags.
        let names = |file: &[u8]| file.windows(3).filter(|bytes| bytes == b"web").count();
        assert_eq!(names(&out), 1);
        assert_eq!(out.len() as u64 - added(&after, &before), file.len() as u64);
        // A capture that is annotated twice has both.
        assert_eq!(count(&comments(&annotated(&out, false).0)), count(&after) + found.comments);
    }
}

/// The bytes that these comments add.
fn added(after: &[Vec<String>], before: &[Vec<String>]) -> u64 {
    let of = |(after, before): (&Vec<String>, &Vec<String>)| {
        let new = &after[..after.len() - before.len()];
        let options = new.iter().map(|comment| 4 + comment.len().next_multiple_of(4)).sum::<usize>();
        // The end of options comes with the first one.
        options + if before.is_empty() && !new.is_empty() { 4 } else { 0 }
    };
    after.iter().zip(before).map(of).sum::<usize>() as u64
}

#[test]
fn connections_that_lost_nothing_can_be_left_out() {
    for file in [DEMO.to_vec(), as_sections(Endianness::Big)] {
        let (out, found) = annotated(&file, true);
        let kept = frames(&out);
        assert_eq!(kept.len() as u64, found.frames);
        assert_eq!(found.frames + found.left_out, frames(&file).len() as u64);
        assert!(found.left_out > 100 && found.frames > 1000, "{found:?}");
        let (whole, part) = (remarks(&file), remarks(&out));
        assert_eq!(part.slow_connections(), whole.slow_connections());
        // The frames that comments name are those of the copy.
        for comment in comments(&out).into_iter().flatten() {
            if let Some((_, frame)) = comment.split_once("; began=") {
                assert!(frame.parse::<u64>().expect("a number") < found.frames, "{comment}");
            }
        }
    }
}

#[test]
fn a_full_disk_ends_the_copy() {
    struct Full;
    impl Write for Full {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(std::io::Error::other("full"))
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    for file in [DEMO.to_vec(), as_sections(Endianness::Little)] {
        let reader = CopyReader::new("x", &file[..]).expect("a capture");
        let result = annotate(reader, &Remarks::default(), false, &mut Full, &Unwatched);
        assert_eq!(result.expect_err("no room").to_string(), "full");
    }
}
