//! Damaged and cut captures, and files that are none.

use super::{
    super::{CapturedPacket, Ending, LARGEST_RECORD, Oddity, Reason},
    made::*,
};
use proptest::prelude::*;

#[test]
fn each_error_is_one_line() {
    let kinds = "expected a pcap or pcapng capture, plain or compressed by gzip or zstd";
    let start = plain(&[]);
    for (file, text) in [
        (vec![], format!("x: empty: {kinds}")),
        (b"once upon a time".to_vec(), format!("x: not a capture: {kinds}")),
        (b"\xfd7zXZ\0".to_vec(), format!("x: compressed by xz: {kinds}")),
        (b"BZh9".to_vec(), format!("x: compressed by bzip2: {kinds}")),
        (gzip(b"once"), format!("x: not a capture: {kinds}")),
        (gzip(&gzip(&start)), format!("x: compressed twice: {kinds}")),
        (zstd(b""), format!("x: empty: {kinds}")),
        (Big.word(MODIFIED).to_vec(), format!("x: a modified pcap capture in big-endian order: {kinds}")),
        (start[..23].to_vec(), "x: the capture ends within its header".into()),
        (section(Big)[..27].to_vec(), "x: the capture ends within its header".into()),
        (section(Little)[..9].to_vec(), "x: the capture ends within its header".into()),
        (gzip(&start)[..12].to_vec(), "x: the capture ends within its header".into()),
        (Big.word(0x0a0d_0d0a).repeat(8), "x: not a pcapng section header".into()),
    ] {
        assert_eq!(read(&file).unwrap_err().to_string(), text);
    }
    let mut version = section(Little);
    version[12] = 2;
    let error = read(&version).unwrap_err().to_string();
    assert_eq!(error, "x: pcapng version 2: expected 1");
    let mut length = section(Little);
    length[4] = 30;
    let error = read(&length).unwrap_err().to_string();
    assert_eq!(error, "x: a block of 30 bytes: expected a multiple of 4, at least 12");
    // Compressed by an interrupted program, or damaged at the very beginning.
    let mut damaged = gzip(&start);
    damaged[10] = 0xff;
    let error = read(&damaged).unwrap_err().to_string();
    assert!(error.starts_with("cannot read x: "), "{error}");
}

#[test]
fn without_a_supported_link_type_a_capture_is_an_error() {
    let packets = packets(2);
    for file in [classic(Little, NANOS, 105, &packets), sections(Big, 105, &packets)] {
        let error = read(&file).unwrap_err().to_string();
        assert!(error.starts_with("x: link type 105: expected Ethernet (1), raw IP (101, "), "{error}");
        let (found, counts) = read(&[&plain(&packets)[..], &file].concat()).unwrap();
        assert_download(&found, 2);
        assert_eq!(counts.skipped(Reason::LinkType).count, 2);
    }
    // A capture without packets is valid.
    let (found, counts) = read(&plain(&[])).unwrap();
    assert!(found.is_empty() && counts.notes().is_empty());
}

#[test]
fn the_ending_says_what_follows_a_valid_start() {
    let packets = packets(3);
    let good = [plain(&packets), sections(Little, RAW as u16, &packets)];
    let huge = LARGEST_RECORD as u32 + 1;
    let record = Little.words(&[5, 5, huge, huge]);
    let block = |length: u32| Little.words(&[6, length, 0, 0]);
    for (file, garbage, note) in [
        (&good[0], vec![0xee; 50], "a packet of 4008636142 bytes: expected 262144 at most"),
        (&good[0], record, "a packet of 262145 bytes: expected 262144 at most"),
        (&good[1], vec![0xee; 50], "a block of 4008636142 bytes: expected a multiple of 4, at least 12"),
        (&good[1], block(8), "a block of 8 bytes: expected a multiple of 4, at least 12"),
        (&good[1], block(1 << 25), "a block of 33554432 bytes: expected 16777216 at most"),
        (&good[1], [block(16), vec![1; 4]].concat(), "a block with two different lengths"),
        (&good[1], Little.words(&[77, 16, 0, 15]), "a block with two different lengths"),
        (&good[1], section(Big)[..27].to_vec(), ""),
        (&good[1], Little.words(&[6, 1 << 24, 0, 0]), ""),
        (&good[0], Little.words(&[5, 5, 100, 100, 0]), ""),
        (&good[0], plain(&[])[..20].to_vec(), ""),
    ] {
        let (found, counts) = read(&[&file[..], &garbage].concat()).unwrap();
        assert_download(&found, 3);
        let offset = file.len() as u64;
        let expected = match note {
            "" => Ending::Cut { offset },
            what => Ending::Damaged { offset, what: what.into() },
        };
        assert_eq!(counts.ending, expected);
        assert_eq!(counts.notes().len(), 1);
    }
    // Bytes after the compressed data, or damage within it.
    let trailing = [&gzip(&good[0])[..], b"rubbish, not a member of it"].concat();
    let (found, counts) = read(&trailing).unwrap();
    assert_download(&found, 3);
    assert!(matches!(counts.ending, Ending::Unreadable { .. }), "{:?}", counts.ending);
}

/// If compressed data is damaged in the middle, most of what comes before is read.
#[test]
fn damaged_compressed_data_is_read_up_to_the_damage() {
    let file = plain(&packets(3000));
    for mut packed in [gzip(&file), zstd(&file)] {
        let middle = packed.len() / 2;
        packed[middle..middle + 40].fill(0xff);
        let (found, counts) = read(&packed).unwrap();
        assert_download(&found[..500], 500);
        assert!(!counts.notes().is_empty());
    }
}

/// A block that contradicts itself is left out, and the blocks after it are read.
#[test]
fn a_packet_longer_than_its_block_is_left_out() {
    let packet = ip(&segment(0), false);
    for order in [Little, Big] {
        let mut wrong = enhanced(order, 0, 1, &packet, &[]);
        wrong[20..24].copy_from_slice(&order.word(5000));
        let old = block(order, 2, &[&[0; 12][..], &order.words(&[900, 900]), &packet].concat());
        let short = block(order, 6, &[0; 8]);
        let right = enhanced(order, 0, 1, &packet, &[]);
        let start = [section(order), interface(order, 101, &[])].concat();
        let (found, counts) = read(&[start, wrong, old, short, right].concat()).unwrap();
        assert_eq!(found.iter().map(|p| p.frame).collect::<Vec<_>>(), [4]);
        let tally = counts.skipped(Reason::Record);
        assert_eq!((tally.count, tally.first_frame), (3, 1));
        assert_eq!(counts.ending, Ending::Whole);
    }
}

#[test]
fn impossible_times_are_moved_and_counted() {
    let packet = ip(&segment(0), false);
    let mut file = header(Little, MICROS, RAW);
    for (second, micros) in [(5, 999_999), (5, 1_000_000), (4, u32::MAX)] {
        let len = packet.len() as u32;
        file.extend(Little.words(&[second, micros, len, len]));
        file.extend(&packet);
    }
    let before_1970 = option(Little, 14, &(-9i64).to_le_bytes());
    file.extend([section(Little), interface(Little, 101, &[before_1970])].concat());
    file.extend(enhanced(Little, 0, 1, &packet, &[]));
    let (found, counts) = read(&file).unwrap();
    let times: Vec<u64> = found.iter().map(|p| p.at.as_nanos()).collect();
    assert_eq!(times, [5_999_999_000, 5_999_999_999, 4_999_999_999, 0]);
    let tally = counts.odd(Oddity::Time);
    assert_eq!((tally.count, tally.first_frame), (3, 2));
}

#[test]
fn empty_records_are_frames() {
    let mut file = header(Little, NANOS, ETHERNET);
    file.extend(record(Little, 0, &[], 0));
    file.extend(record(Little, 0, &[], 1500));
    file.extend(record(Little, 0, &ethernet(&[8, 0], &ip(&segment(0), false)), 0));
    let (found, counts) = read(&file).unwrap();
    assert_eq!((found.len(), found[0].frame), (1, 3));
    assert_eq!(counts.skipped(Reason::Cut).count, 2);
    assert_eq!(counts.notes(), ["left out 2 frames, first frame 1: cut before the end of the TCP header"]);
}

/// One capture of each kind, to be damaged.
fn good() -> Vec<Vec<u8>> {
    let packets = packets(6);
    let mixed: Vec<Vec<u8>> = packets.iter().map(|p| ethernet(&[0x81, 0, 0, 7, 8, 0], p)).collect();
    let plain = [
        classic(Big, MICROS, ETHERNET, &mixed),
        classic(Little, MODIFIED, RAW, &packets),
        [sections(Little, RAW as u16, &packets), block(Little, 5, &[0; 12]), sections(Big, 1, &mixed)].concat(),
        [classic(Little, NANOS, RAW, &packets), sections(Big, RAW as u16, &packets)].concat(),
    ];
    let packed = [gzip(&plain[0]), zstd(&plain[2]), [gzip(&plain[1]), gzip(&plain[2])].concat()];
    plain.into_iter().chain(packed).collect()
}

/// A prefix of a capture holds a prefix of its packets and ends cleanly or within a packet. Without
/// a header it is no capture.
#[test]
fn a_cut_capture_is_read_up_to_the_cut() {
    for file in good() {
        let (all, _) = read(&file).unwrap();
        let mut most = 0;
        for end in 0..=file.len() {
            let Ok((found, counts)) = read(&file[..end]) else {
                assert_eq!(most, 0, "unreadable at {end}");
                continue;
            };
            assert!(found[..] == all[..found.len()], "cut at {end}");
            assert!(found.len() >= most, "cut at {end}");
            assert!(matches!(counts.ending, Ending::Whole | Ending::Cut { .. }), "cut at {end}: {:?}", counts.ending);
            most = found.len();
        }
        assert_eq!(most, all.len());
    }
}

proptest! {
    /// Changes, removes and inserts bytes: nothing panics, frame numbers increase, and the counts
    /// add up.
    #[test]
    fn damage_never_panics_and_the_counts_add_up(
        which in 0..7_usize,
        edits in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0..3_u8), 1..8),
    ) {
        let mut file = good().swap_remove(which);
        for (at, value, how) in edits {
            let at = at.index(file.len());
            match how {
                0 => file[at] = value,
                1 => file.insert(at, value),
                _ => drop(file.remove(at)),
            }
        }
        if let Ok((found, counts)) = read(&file) {
            let rising = |pair: &[CapturedPacket]| pair[0].frame < pair[1].frame;
            prop_assert!(found.windows(2).all(rising));
            prop_assert!(found.last().is_none_or(|last| last.frame <= counts.frames));
            let skipped: u64 = Reason::ALL.iter().map(|r| counts.skipped(*r).count).sum();
            let messages = counts.path_mtu_messages.count;
            prop_assert_eq!(counts.packets + messages + skipped, counts.frames);
            prop_assert!(counts.notes().iter().all(|note| !note.contains('\n')));
        }
    }
}
