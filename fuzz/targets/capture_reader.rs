//! Reads any bytes as a capture, compressed or not. Nothing panics, errors and notes are one line, frame
//! numbers increase, the counts add up, and a part of the bytes never gives more packets than the whole.

#![no_main]

use libfuzzer_sys::fuzz_target;
use recoup_trace::read::{CapturedPacket, Counts, Ending, Reader, Reason};

fuzz_target!(|bytes: &[u8]| {
    let Some((packets, counts)) = read(bytes) else {
        return;
    };
    let skipped: u64 = Reason::ALL.iter().map(|r| counts.skipped(*r).count).sum();
    let messages = counts.path_mtu_messages.count;
    assert_eq!(counts.packets + messages + skipped, counts.frames);
    assert!(packets.windows(2).all(|pair| pair[0].frame < pair[1].frame));
    assert!(packets.last().is_none_or(|last| last.frame <= counts.frames));
    assert!(counts.notes().iter().all(|note| !note.contains('\n')));
    for packet in &packets {
        let _ = format!("{} {}", packet.endpoints, packet.segment);
    }
    // A damaged compressed capture may give less than its intact half.
    if matches!(counts.ending, Ending::Unreadable { .. }) {
        return;
    }
    if let Some((part, of_part)) = read(&bytes[..bytes.len() / 2]) {
        assert_eq!(part, packets[..part.len()]);
        assert!(of_part.frames <= counts.frames);
    }
});

fn read(bytes: &[u8]) -> Option<(Vec<CapturedPacket>, Counts)> {
    let check_error = |error: recoup_trace::read::ReadError| {
        assert!(!error.to_string().contains('\n'));
    };
    let mut reader = Reader::new("x", bytes).map_err(check_error).ok()?;
    let mut packets = Vec::new();
    while let Some(packet) = reader.next() {
        packets.push(*packet);
    }
    assert!(reader.next().is_none());
    let counts = reader.finish().map_err(check_error).ok()?;
    assert_eq!(counts.packets, packets.len() as u64);
    Some((packets, counts))
}
