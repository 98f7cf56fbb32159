//! Analyzes any bytes as a capture. Nothing panics, the findings are consistent with each other and with
//! the packets, and are the same on two threads.

#![no_main]

use libfuzzer_sys::fuzz_target;
use recoup_fuzz::findings::{Checked, check_all};
use recoup_trace::{
    analyze::{Kept, Settings, analyze},
    read::Reader,
};

fuzz_target!(|bytes: &[u8]| {
    let Some(alone) = found(bytes, 0) else {
        return;
    };
    let mut packets = Vec::new();
    let mut reader = Reader::new("x", bytes).expect("as before");
    while let Some(packet) = reader.next() {
        packets.push(*packet);
    }
    check_all(&alone, &packets);
    // For so few packets, starting threads takes longer than the analysis.
    if bytes.last().is_some_and(|last| last % 16 == 0) {
        let together = found(bytes, 1).expect("as before");
        assert_eq!(together.connections, alone.connections);
        assert_eq!(together.retransmissions, alone.retransmissions);
    }
});

fn found(bytes: &[u8], threads: usize) -> Option<Kept> {
    let settings = Settings { threads, ..Settings::default() };
    let reader = Reader::new("x", bytes).ok()?;
    let analysis = analyze(reader, &settings, Checked::default, |_| true).ok()?;
    let mut all = Kept::default();
    for Checked(part) in analysis.findings {
        all.connections.extend(part.connections);
        all.retransmissions.extend(part.retransmissions);
    }
    all.sort();
    Some(all)
}
