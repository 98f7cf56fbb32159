use super::{super::tests::made::*, *};
use crate::read::{Oddity, Reader, Reason};
use std::fs;
use tempfile::TempDir;

/// A record: when it was captured in ns since [`START`], and its frame.
type Captured = (u64, Vec<u8>);

const MILLI: u64 = 1_000_000;
const SECOND: u64 = 1_000 * MILLI;

/// Segments 10 ms apart. Some are a little out of order, and some frames are no segments.
fn capture(count: usize) -> Vec<Captured> {
    let captured = packets(count as u32).into_iter().enumerate();
    let captured = captured.map(|(i, packet)| {
        let at = i as u64 * 10 * MILLI;
        match i % 11 {
            4 => (at + 25 * MILLI, packet),
            6 => (at, vec![0x45; 3]),
            9 => (at, packet[..40].to_vec()),
            _ => (at, packet),
        }
    });
    captured.collect()
}

/// A file format.
#[derive(Clone, Copy, Debug)]
enum Format {
    Classic,
    Sections,
    Zipped,
    Zstd,
}

const FORMATS: [Format; 4] = [Format::Classic, Format::Sections, Format::Zipped, Format::Zstd];

fn file(format: Format, captured: &[Captured]) -> Vec<u8> {
    let at = |nanos: u64| START * SECOND + nanos;
    match format {
        Format::Classic => {
            let mut file = header(Little, NANOS, RAW);
            for (nanos, frame) in captured {
                file.extend(record(Little, at(*nanos), frame, frame.len()));
            }
            file
        }
        Format::Sections => {
            let nanos = option(Big, 9, &[9]);
            let mut file = [section(Big), interface(Big, RAW as u16, &[nanos])].concat();
            for (nanos, frame) in captured {
                file.extend(enhanced(Big, 0, at(*nanos), frame, &[]));
            }
            file
        }
        Format::Zipped => gzip(&file(Format::Sections, captured)),
        Format::Zstd => zstd(&file(Format::Classic, captured)),
    }
}

/// Files in a folder.
struct Files {
    folder: TempDir,
    paths: Vec<PathBuf>,
}

impl Files {
    fn new<'a>(parts: impl IntoIterator<Item = &'a [Captured]>) -> Self {
        let mut files = Self { folder: tempfile::tempdir().unwrap(), paths: Vec::new() };
        for (i, part) in parts.into_iter().enumerate() {
            files.add(&format!("{i}.pcap"), &file(FORMATS[i % 4], part));
        }
        files
    }

    fn add(&mut self, name: &str, bytes: &[u8]) {
        let path = self.folder.path().join(name);
        fs::write(&path, bytes).unwrap();
        if !self.paths.contains(&path) {
            self.paths.push(path);
        }
    }

    fn open(&self) -> Joined {
        Joined::open(&self.paths, &JoinedFiles::default())
    }

    fn read(&self) -> (Vec<CapturedPacket>, Counts) {
        drain(self.open())
    }

    /// Reads what `before` has not.
    fn read_on(&self, before: &mut Counts) -> Vec<CapturedPacket> {
        let mut joined = Joined::open(&self.paths, &before.files);
        assert!(joined.failures().is_empty());
        let (packets, counts) = drain(joined);
        before.append(counts);
        packets
    }

    /// Notes without the folder's name.
    fn notes(&self, counts: &Counts) -> Vec<String> {
        let folder = format!("{}/", self.folder.path().display());
        let notes = counts.files.notes().into_iter();
        notes.map(|note| note.replace(&folder, "")).collect()
    }
}

fn drain(mut source: impl PacketSource) -> (Vec<CapturedPacket>, Counts) {
    let mut packets = Vec::new();
    while let Some(packet) = source.next_or_message() {
        packets.push(*packet);
        assert_eq!(source.counts().frames, packets.last().unwrap().frame);
    }
    (packets, source.stop().unwrap())
}

/// Packets and counts of one file with all packets.
fn whole(captured: &[Captured]) -> (Vec<CapturedPacket>, Counts) {
    let file = file(Format::Classic, captured);
    // The reader's frames are counted while it reads.
    let mut reader = Reader::new("whole", &file[..]).unwrap();
    let mut packets = Vec::new();
    while let Some(packet) = reader.next_or_message() {
        packets.push(*packet);
    }
    (packets, reader.stop().unwrap())
}

/// Checks that joined files give what the whole capture gives, and that frames are found in their files.
fn check(parts: &[&[Captured]], files: &Files) {
    let all = parts.concat();
    let (expected, counts) = whole(&all);
    let (found, joined) = files.read();
    assert_eq!(found, expected);
    assert_eq!((joined.frames, joined.packets), (counts.frames, counts.packets));
    for reason in Reason::ALL {
        assert_eq!(joined.skipped(reason), counts.skipped(reason), "{reason}");
    }
    for oddity in Oddity::ALL {
        assert_eq!(joined.odd(oddity), counts.odd(oddity), "{oddity}");
    }
    let mut frame = 0;
    for (i, part) in parts.iter().enumerate() {
        for in_file in 1..=part.len() as u64 {
            frame += 1;
            let (file, found) = joined.files.locate(frame).unwrap();
            let name = format!("{i}.pcap");
            assert!(file.name.ends_with(&name), "{frame}: {} {name}", file.name);
            assert_eq!(found, in_file);
        }
    }
    assert_eq!(joined.files.locate(frame + 1), None);
    assert_eq!(files.notes(&joined), [""; 0]);
}

/// Cuts a capture into parts of these lengths, and one with the rest.
fn cut<'a>(captured: &'a [Captured], lengths: &[usize]) -> Vec<&'a [Captured]> {
    let mut rest = captured;
    let mut parts = Vec::new();
    for &length in lengths {
        let (part, others) = rest.split_at(length.min(rest.len()));
        parts.push(part);
        rest = others;
    }
    parts.push(rest);
    parts
}

#[test]
fn rotated_files_give_the_packets_and_counts_of_the_whole_capture() {
    let captured = capture(600);
    for lengths in [&[300][..], &[13, 200, 150], &[1, 599], &[7; 60], &[100, 41, 2, 3, 150]] {
        let parts = cut(&captured, lengths);
        let parts: Vec<_> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        let mut files = Files::new(parts.iter().copied());
        check(&parts, &files);
        files.paths.reverse();
        check(&parts, &files);
        let half = files.paths.len() / 2;
        files.paths.rotate_left(half);
        check(&parts, &files);
    }
}

#[test]
fn files_that_begin_at_the_same_time_are_in_the_order_of_their_numbers() {
    let captured: Vec<Captured> = packets(60).into_iter().map(|packet| (5, packet)).collect();
    let parts: Vec<_> = captured.chunks(5).collect();
    let mut files = Files::new(parts.iter().copied());
    files.paths.reverse();
    check(&parts, &files);
}

#[test]
fn a_file_that_holds_no_segment_has_its_place() {
    let mut captured = capture(90);
    for (_, frame) in &mut captured[30..60] {
        *frame = vec![0x45; 3];
    }
    let parts: Vec<_> = captured.chunks(30).collect();
    let mut files = Files::new(parts.iter().copied());
    files.paths.reverse();
    check(&parts, &files);
}

#[test]
fn a_wrong_timestamp_does_not_keep_a_file_open() {
    let mut captured = capture(300);
    captured[120].0 += 3600 * SECOND;
    captured[195].0 += 3600 * SECOND;
    captured[199].0 += 5 * SECOND;
    let parts = cut(&captured, &[100, 100]);
    let files = Files::new(parts.iter().copied());
    let (found, counts) = files.read();
    assert_eq!(found, whole(&captured).0);
    assert!(counts.files.iter().all(|file| file.overlap.is_zero()));
}

#[test]
fn files_with_more_than_a_second_in_common_are_merged_by_time() {
    let captured = capture(1000);
    // Every second packet from 2 s to 8 s is in the other file.
    let in_other = |i: usize| (200..800).contains(&i) && i % 2 == 1;
    let [mut a, mut b] = [Vec::new(), Vec::new()];
    for (i, one) in captured.iter().enumerate() {
        if in_other(i) { &mut b } else { &mut a }.push(one.clone());
    }
    // A wrong timestamp holds nothing back.
    let mut files = Files::new([&b[..], &a]);
    let (found, counts) = files.read();
    let mut expected = whole(&captured).0;
    expected.sort_by_key(|packet| packet.at);
    let outline = |packets: &[CapturedPacket]| -> Vec<_> {
        let mut outline: Vec<_> = packets.iter().map(|p| (p.at, p.segment.seq)).collect();
        outline.sort_by_key(|(at, seq)| (*at, seq.0));
        outline
    };
    assert_eq!(outline(&found), outline(&expected));
    assert!(found.is_sorted_by_key(|packet| packet.frame));
    let late = |pair: &[CapturedPacket]| pair[1].at.plus_nanos(50 * MILLI) < pair[0].at;
    assert!(!found.windows(2).any(late));
    assert_eq!(counts.frames, 1000);
    // Each frame is found in its file.
    let mut frames = [0, 0];
    for frame in 1..=1000 {
        let (file, in_file) = counts.files.locate(frame).unwrap();
        let own = &mut frames[usize::from(file.name.ends_with("0.pcap"))];
        *own += 1;
        assert_eq!(in_file, *own);
    }
    assert_eq!(frames, [700, 300]);
    assert_eq!(files.notes(&counts), ["0.pcap overlaps the file before it by 6.0 s: their packets are merged by time"]);
    b[41].0 += 3600 * SECOND;
    files.add("0.pcap", &file(Format::Classic, &b));
    let (found, _) = files.read();
    assert_eq!(found.len(), expected.len());
    let late = found.iter().filter(|packet| packet.at.as_nanos() > (START + 60) * SECOND);
    let place = found.iter().position(|packet| packet.at.as_nanos() > (START + 60) * SECOND);
    assert_eq!(late.count(), 1);
    assert!(place.unwrap() < 400, "{place:?}");
}

#[test]
fn packets_that_two_files_hold_count_once() {
    let captured = capture(1000);
    let parts = [&captured[..600], &captured[250..]];
    let files = Files::new(parts);
    let (found, counts) = files.read();
    let mut once = whole(&captured).0;
    assert_eq!(found.len(), once.len());
    for (found, once) in found.iter().zip(&mut once) {
        once.frame = found.frame;
        assert_eq!(found, once);
    }
    assert_eq!(counts.frames, 1350);
    let notes = files.notes(&counts);
    assert_eq!(notes.len(), 2, "{notes:?}");
    assert!(notes[1].ends_with("packets are in several files and count once: 1.pcap"));
}

#[test]
fn the_same_capture_is_read_once() {
    let captured = capture(300);
    let mut files = Files::new([&captured[..150], &captured[150..]]);
    files.add("copy.pcap.gz", &file(Format::Zipped, &captured[..150]));
    files.add("shorter.pcap", &file(Format::Sections, &captured[150..155]));
    let mut joined = files.open();
    let failures: Vec<String> = joined.failures().iter().map(ToString::to_string).collect();
    assert_eq!(failures.len(), 2);
    for (failure, [file, other]) in failures.iter().zip([["copy.pcap.gz", "0.pcap"], ["shorter.pcap", "1.pcap"]]) {
        assert!(failure.contains(&format!("{file}: the same packets as in ")), "{failure}");
        assert!(failure.contains(&format!("{other}: expected each capture once")), "{failure}");
    }
    assert_eq!(drain(joined).0, whole(&captured).0);
}

#[test]
fn a_long_silence_between_files_is_told() {
    let captured = capture(600);
    let parts = [&captured[..200], &captured[400..500], &captured[500..]];
    let files = Files::new(parts);
    let (found, counts) = files.read();
    assert_eq!(found.len(), whole(&parts.concat()).0.len());
    assert_eq!(
        files.notes(&counts),
        [
            "no packets for 2.0 s between 0.pcap and 1.pcap; within the files, the longest pause is 0.0 s: a file may be missing"
        ]
    );
}

#[test]
fn files_that_cannot_be_read_are_left_out() {
    let captured = capture(300);
    let parts = cut(&captured, &[100, 100]);
    let mut files = Files::new(parts.iter().copied());
    files.paths.insert(1, files.folder.path().join("none.pcap"));
    files.paths.push(files.folder.path().to_owned());
    files.add("text.pcap", b"not a capture, but some text that is long enough");
    files.add("empty.pcap", b"");
    files.add("begun.pcap", &header(Little, NANOS, RAW)[..10]);
    let mut joined = files.open();
    let failures: Vec<String> = joined.failures().iter().map(ToString::to_string).collect();
    assert_eq!(failures.len(), 3, "{failures:?}");
    assert!(failures[0].starts_with("cannot read ") && failures[0].contains("none.pcap"));
    assert!(failures[1].contains(": a directory"));
    assert!(failures[2].contains("text.pcap: not a capture"));
    let (found, counts) = drain(joined);
    assert_eq!(found, whole(&captured).0);
    let notes = files.notes(&counts);
    let early = ["begun.pcap: no packets yet", "empty.pcap: empty: no packets yet"];
    assert_eq!(notes[..2], early);
    assert!(notes[2].starts_with("packets are missing, because these files could not be read: none.pcap"));
}

#[test]
fn files_that_vanish_are_overwritten_or_end_early_are_told() {
    let captured = capture(400);
    let parts = cut(&captured, &[100, 100, 100]);
    let mut files = Files::new(parts.iter().copied());
    let bytes = file(Format::Classic, parts[0]);
    files.add("0.pcap", &bytes[..bytes.len() - 7]);
    let mut joined = files.open();
    assert!(joined.failures().is_empty());
    fs::remove_file(&files.paths[1]).unwrap();
    files.add("2.pcap", &file(Format::Classic, &capture(50)));
    let mut found = Vec::new();
    while let Some(packet) = joined.next_or_message() {
        found.push(*packet);
    }
    let counts = joined.stop().unwrap();
    let rest = [&parts[0][..99], parts[3]].concat();
    assert_eq!(found, whole(&rest).0);
    let notes = files.notes(&counts);
    assert!(notes[0].starts_with("0.pcap, after its frame 99, byte "), "{notes:?}");
    assert!(notes[0].ends_with(": it ends within a packet"));
    assert!(notes[1].starts_with("1.pcap is missing: cannot read 1.pcap: "), "{notes:?}");
    assert!(notes[2].starts_with("2.pcap is missing: 2.pcap: overwritten"), "{notes:?}");
}

#[test]
fn later_runs_read_what_is_new() {
    let captured = capture(500);
    let bytes = file(Format::Classic, &captured[200..400]);
    let (expected, whole_counts) = whole(&captured);
    // Where the second file ends at first: within a record, after one, in its header, before it.
    let frame = bytes.len() - 16 - captured[399].1.len();
    for end in [0, 10, 24, 25, 1000, 5000, frame - 1, frame, bytes.len()] {
        let mut counts = Counts::default();
        let mut files = Files::new([&captured[..200]]);
        files.add("b.pcap", &bytes[..end]);
        let mut found = files.read_on(&mut counts);
        let mut read_on = |files: &Files, counts: &mut Counts| {
            let before = counts.frames;
            let mut more = files.read_on(counts);
            more.iter_mut().for_each(|packet| packet.frame += before);
            found.append(&mut more);
        };
        files.add("b.pcap", &bytes);
        read_on(&files, &mut counts);
        // Nothing new.
        read_on(&files, &mut counts);
        // The first file was compressed and renamed, and another one begun.
        fs::remove_file(&files.paths[0]).unwrap();
        files.paths.remove(0);
        files.add("0.pcap.gz", &gzip(&file(Format::Classic, &captured[..200])));
        files.add("c.pcap", &file(Format::Sections, &captured[400..]));
        read_on(&files, &mut counts);
        assert_eq!(found, expected, "{end}");
        assert_eq!((counts.frames, counts.packets), (whole_counts.frames, whole_counts.packets));
        for reason in Reason::ALL {
            assert_eq!(counts.skipped(reason), whole_counts.skipped(reason), "{end} {reason}");
        }
        for (frame, place, in_file) in
            [(1, "0.pcap.gz", 1), (200, "0.pcap.gz", 200), (399, "b.pcap", 199), (401, "c.pcap", 1)]
        {
            let (file, found) = counts.files.locate(frame).unwrap();
            assert!(file.name.ends_with(place), "{end}: {} {place}", file.name);
            assert_eq!(found, in_file, "{end}");
        }
        assert_eq!(files.notes(&counts), [""; 0], "{end}");
    }
}

#[test]
fn a_ring_overwrites_its_files_and_later_runs_read_them() {
    let captured = capture(900);
    let parts: Vec<_> = captured.chunks(100).collect();
    let mut files = Files::new([parts[0], parts[1]]);
    let mut counts = Counts::default();
    let mut found = files.read_on(&mut counts);
    for (i, part) in parts.iter().enumerate().skip(2) {
        files.add(&format!("{}.pcap", i % 2), &file(Format::Classic, part));
        let before = counts.frames;
        let mut more = files.read_on(&mut counts);
        more.iter_mut().for_each(|packet| packet.frame += before);
        found.extend(more);
    }
    assert_eq!(found, whole(&captured).0);
    let (file, frame) = counts.files.locate(850).unwrap();
    assert!(file.name.ends_with("0.pcap"));
    assert_eq!(frame, 50);
}

#[test]
fn a_file_from_before_the_end_of_earlier_runs_is_refused() {
    let captured = capture(600);
    let mut files = Files::new([&captured[300..]]);
    let mut counts = Counts::default();
    files.read_on(&mut counts);
    files.add("early.pcap", &file(Format::Classic, &captured[..300]));
    let mut joined = Joined::open(&files.paths, &counts.files);
    let failures = joined.failures();
    let text = failures[0].to_string();
    assert_eq!((failures.len(), joined.files_to_read()), (1, 0));
    assert!(text.contains("early.pcap: begins 6.0 s before the end"), "{text}");
}

#[test]
fn many_files_need_few_descriptors() {
    let captured = capture(3000);
    let files = Files::new(captured.chunks(2));
    let mut joined = files.open();
    assert_eq!(joined.files_to_read(), 1500);
    let mut most = 0;
    let mut packets = 0;
    while joined.next_or_message().is_some() {
        packets += 1;
        most = most.max(joined.open.len());
    }
    assert!(most <= 2, "{most}");
    assert_eq!(packets, whole(&captured).0.len());
}

#[test]
fn too_many_overlapping_files_are_told() {
    let captured = capture(20_000);
    let parts: Vec<Vec<Captured>> = (0..70).map(|i| captured.iter().skip(i).step_by(70).cloned().collect()).collect();
    let files = Files::new(parts.iter().map(|part| &part[..]));
    let mut joined = files.open();
    while joined.next_or_message().is_some() {
        assert!(joined.open.len() <= MOST_OPEN);
    }
    let counts = joined.stop().unwrap();
    let left_out = counts.files.iter().filter(|file| file.frames == 0).count();
    assert_eq!(left_out, 6);
    assert!(files.notes(&counts).iter().any(|note| note.contains("it overlaps 64 other files")));
}
