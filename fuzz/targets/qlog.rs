//! Reads any bytes as a trace of QUIC. Nothing panics, notes are one line, the times of each sender add up to the life of its
//! connection, and a part of the bytes never gives more events than the whole.

#![no_main]

use libfuzzer_sys::fuzz_target;
use recoup_trace::analyze::Kept;
use recoup_trace::read::{Counts, Ending, OpenedInput};

fuzz_target!(|bytes: &[u8]| {
    let Some((kept, counts)) = read(bytes) else {
        return;
    };
    assert!(counts.notes().iter().all(|note| !note.contains('\n')));
    for connection in &kept.connections {
        let quic = connection.quic.as_ref().expect("a connection of QUIC");
        let own = &connection.directions[quic.traced];
        assert_eq!(own.time.total(), connection.duration());
        assert!(own.lost.total() <= connection.duration());
    }
    // A damaged compressed trace may give less than its intact half.
    if matches!(counts.ending, Ending::Unreadable { .. }) {
        return;
    }
    if let Some((_, of_part)) = read(&bytes[..bytes.len() / 2]) {
        assert!(of_part.frames <= counts.frames + 1);
    }
});

fn read(bytes: &[u8]) -> Option<(Kept, Counts)> {
    let trace = OpenedInput::new("x", bytes).ok()?.into_qlog().ok()?;
    let mut kept = Kept::default();
    let (counts, is_whole) = trace.read(&mut kept, true, |_| true);
    assert!(is_whole);
    Some((kept, counts))
}
