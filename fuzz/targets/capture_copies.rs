//! Copies any bytes as a capture, anonymized or annotated. Nothing panics. What is written is whole and has as many frames. An
//! anonymized copy is read as the original but for names; frames of an annotated one are those of the original.

#![no_main]

use libfuzzer_sys::fuzz_target;
use recoup_captures::annotate::{Remarks, RemarksOf, annotate};
use recoup_captures::anonymize::{AddressMap, Key, PayloadMode, anonymize};
use recoup_captures::capture::{Capture, Unwatched};
use recoup_trace::analyze::Settings;
use recoup_trace::read::{CapturedPacket, CopyReader, Counts, Ending, PacketSource, RawReader, RawRecord, Reader};
use std::net::SocketAddr;

fuzz_target!(|bytes: &[u8]| {
    // The first byte chooses the copy.
    let Some((choice, file)) = bytes.split_first() else {
        return;
    };
    match choice & 2 {
        0 => anonymized(*choice, file),
        _ => annotated(*choice, file),
    }
});

fn annotated(choice: u8, file: &[u8]) {
    let Ok(reader) = Reader::new("x", file) else {
        return;
    };
    let settings = Settings { threads: 1, ..Settings::default() };
    let Ok(analyzed) = Capture::stream("x", reader).analyze(&settings, RemarksOf::default, &Unwatched) else {
        return;
    };
    let reader = CopyReader::new("x", file).expect("it was read before");
    let mut out = Vec::new();
    let only_slow = choice & 1 != 0;
    let Ok(found) = annotate(reader, &Remarks::new(analyzed.findings, None), only_slow, &mut out, &Unwatched) else {
        return;
    };
    let after = frames(&out);
    match only_slow {
        false => assert_eq!(after, frames(file)),
        true => assert!(after.len() as u64 <= found.frames),
    }
}

/// The time, the length on the wire and the bytes of each frame.
fn frames(file: &[u8]) -> Vec<(u64, usize, Vec<u8>)> {
    let mut frames = Vec::new();
    let reader = RawReader::new("x", file).expect("it was read before");
    let counts = reader.each(|record, _| {
        if let RawRecord::Frame(frame) = record {
            frames.push((frame.at.as_nanos(), frame.on_wire, frame.data.to_vec()));
        }
        Ok(())
    });
    counts.expect("it was read before");
    frames
}

fn anonymized(choice: u8, file: &[u8]) {
    let payload = if choice & 1 == 0 { PayloadMode::Cut } else { PayloadMode::Zero };
    let Ok(reader) = RawReader::new("x", file) else {
        return;
    };
    let mut map = AddressMap::new(&Key::of_secret(&[7; 16]).expect("long enough"));
    let mut out = Vec::new();
    let Ok(found) = anonymize(reader, &mut map, payload, &mut out, &Unwatched) else {
        return;
    };
    let ((before, counts), (after, counts_after)) = (read(file), read(&out));
    assert_eq!((counts_after.frames, &counts_after.ending), (counts.frames, &Ending::Whole));
    assert_eq!(after.len() as u64 + found.given_up, before.len() as u64);
    if found.given_up > 0 {
        return;
    }
    for (before, after) in before.iter().zip(&after) {
        let mut of = |end: SocketAddr| SocketAddr::new(map.ip(end.ip()), end.port());
        let ends = [of(before.endpoints.src), of(before.endpoints.dst)];
        assert_eq!([after.endpoints.src, after.endpoints.dst], ends);
        let facts = |p: &CapturedPacket| (p.frame, p.at, p.segment, p.ip_id, p.hop_limit, p.ecn, p.overlong, p.message);
        assert_eq!(facts(after), facts(before));
    }
}

fn read(file: &[u8]) -> (Vec<CapturedPacket>, Counts) {
    let mut reader = Reader::new("x", file).expect("it was read before");
    let mut packets = Vec::new();
    while let Some(packet) = reader.next_or_message() {
        packets.push(*packet);
    }
    (packets, reader.stop().expect("it was read before"))
}
