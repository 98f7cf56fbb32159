//! Analyzes almost realistic connections. Nothing panics, the findings are consistent with each other and
//! with the packets, and a second analysis gives the same.

#![no_main]

use libfuzzer_sys::{
    arbitrary::{self, Arbitrary},
    fuzz_target,
};
use recoup_fuzz::{
    capture::{Capture, Step},
    findings::{Checked, check_all},
};
use recoup_trace::{
    analyze::{Kept, Settings, follow},
    read::CapturedPacket,
};
use std::time::Duration;

const MOST_STEPS: usize = 400;

#[derive(Arbitrary, Debug)]
struct Input {
    /// The assumed profile of the senders.
    linux_6: bool,
    /// Seconds of silence that end a connection.
    idle: u16,
    /// The limit of connections open at once.
    most: u8,
    /// The clock's start in ms.
    begins: u32,
    /// The first sequence numbers.
    isns: [u32; 2],
    steps: Vec<Step>,
}

fuzz_target!(|input: Input| {
    let mut capture = Capture::new(input.begins, input.isns);
    for step in input.steps.iter().take(MOST_STEPS) {
        capture.take(step);
    }
    let packets = capture.into_packets();
    let settings = Settings {
        profile: input.linux_6.then(|| "linux-6".parse().expect("a profile")),
        idle: Duration::from_secs(input.idle.into()),
        most_connections: input.most.into(),
        ..Settings::default()
    };
    let once = found(&packets, &settings);
    check_all(&once, &packets);
    let again = found(&packets, &settings);
    assert_eq!(again.connections, once.connections);
    assert_eq!(again.retransmissions, once.retransmissions);
});

fn found(packets: &[CapturedPacket], settings: &Settings) -> Kept {
    let found = follow(packets.iter().copied(), settings, Checked::default);
    let mut kept = Kept::default();
    for Checked(part) in found {
        kept.connections.extend(part.connections);
        kept.retransmissions.extend(part.retransmissions);
    }
    kept.sort();
    kept
}
