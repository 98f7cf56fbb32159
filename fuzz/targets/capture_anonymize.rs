//! Anonymizes any bytes as a capture. Nothing panics. What is written is whole, has as many frames, and is read as the
//! original but for names.

#![no_main]

use libfuzzer_sys::fuzz_target;
use recoup_captures::anonymize::{AddressMap, Key, PayloadMode, anonymize};
use recoup_captures::capture::Unwatched;
use recoup_trace::read::{CapturedPacket, Counts, Ending, PacketSource, RawReader, Reader};
use std::net::SocketAddr;

fuzz_target!(|bytes: &[u8]| {
    // The first byte chooses what becomes of payload.
    let Some((choice, file)) = bytes.split_first() else {
        return;
    };
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
        let facts =
            |p: &CapturedPacket| (p.frame, p.at, p.segment, p.ip_id, p.hop_limit, p.ecn, p.overlong, p.path_mtu);
        assert_eq!(facts(after), facts(before));
    }
});

fn read(file: &[u8]) -> (Vec<CapturedPacket>, Counts) {
    let mut reader = Reader::new("x", file).expect("it was read before");
    let mut packets = Vec::new();
    while let Some(packet) = reader.next_or_message() {
        packets.push(*packet);
    }
    (packets, reader.stop().expect("it was read before"))
}
