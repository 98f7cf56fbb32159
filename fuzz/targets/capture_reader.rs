//! Any bytes as a capture, packed or not: nothing panics, errors and notes take one line, frames
//! rise, the counts add up, and of a part of it no more is read than of the whole.

#![no_main]

use libfuzzer_sys::fuzz_target;
use recoup_trace::read::{CapturedPacket, Counts, Ending, Reader, Reason};

fuzz_target!(|bytes: &[u8]| {
    let Some((packets, counts)) = read(bytes) else {
        return;
    };
    let skipped: u64 = Reason::ALL.iter().map(|r| counts.skipped(*r).count).sum();
    assert_eq!(counts.packets + skipped, counts.frames);
    assert!(packets.windows(2).all(|pair| pair[0].frame < pair[1].frame));
    assert!(
        packets
            .last()
            .is_none_or(|last| last.frame <= counts.frames)
    );
    assert!(counts.notes().iter().all(|note| !note.contains('\n')));
    for packet in &packets {
        let _ = format!("{} {}", packet.endpoints, packet.segment);
    }
    // What is packed and damaged may give less than its sound half.
    if matches!(counts.ending, Ending::Unreadable { .. }) {
        return;
    }
    if let Some((part, of_part)) = read(&bytes[..bytes.len() / 2]) {
        assert_eq!(part, packets[..part.len()]);
        assert!(of_part.frames <= counts.frames);
    }
});

fn read(bytes: &[u8]) -> Option<(Vec<CapturedPacket>, Counts)> {
    let told = |error: recoup_trace::read::ReadError| {
        assert!(!error.to_string().contains('\n'));
    };
    let mut reader = Reader::new("x", bytes).map_err(told).ok()?;
    let mut packets = Vec::new();
    while let Some(packet) = reader.next() {
        packets.push(*packet);
    }
    assert!(reader.next().is_none());
    let counts = reader.finish().map_err(told).ok()?;
    assert_eq!(counts.packets, packets.len() as u64);
    Some((packets, counts))
}
