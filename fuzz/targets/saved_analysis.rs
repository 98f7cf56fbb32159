//! Pauses analyses of almost realistic connections. Saved as bytes and resumed, they find what they find
//! without pauses. A damaged state is read or refused, and can be merged with another one or not, but
//! nothing panics.

#![no_main]

use libfuzzer_sys::{
    arbitrary::{self, Arbitrary},
    fuzz_target,
};
use recoup_fuzz::capture::{Capture, Step};
use recoup_trace::{
    analyze::{Analyzer, Kept, SavedAnalysis, Settings},
    read::CapturedPacket,
};
use std::{cell::RefCell, mem::take};

const MOST_STEPS: usize = 200;

/// Packets that complete a round, so that more than packets is saved.
const ROUND: usize = 4096;

#[derive(Arbitrary, Debug)]
struct Input {
    /// The clock's start in ms.
    begins: u32,
    /// The first sequence numbers.
    isns: [u32; 2],
    steps: Vec<Step>,
    /// After which packets the analysis pauses, and whether a round ends there.
    pauses: [(u8, bool); 2],
    /// Bytes of the state that are replaced.
    damages: Vec<(u16, u8)>,
    /// Bytes of the state that are left.
    left: Option<u16>,
}

fuzz_target!(|input: Input| {
    let mut capture = Capture::new(input.begins, input.isns);
    for step in input.steps.iter().take(MOST_STEPS) {
        capture.take(step);
    }
    let packets = capture.into_packets();
    let parts = parts(&packets, input.pauses);
    let settings = Settings { threads: 0, ..Settings::default() };
    let mut whole = Analyzer::new(&settings, Kept::default);
    let mut paused = Analyzer::new(&settings, Kept::default);
    for part in &parts {
        whole.follow(part.iter().copied());
        paused.follow(part.iter().copied());
        let bytes = postcard::to_stdvec(paused.save()).expect("memory");
        damage(bytes.clone(), &input, &settings);
        let kept: Vec<Kept> = paused.findings_mut().map(take).collect();
        let kept = RefCell::new(kept.into_iter());
        let saved = postcard::from_bytes(&bytes).expect("what was saved");
        let findings = || kept.borrow_mut().next().expect("as many shards");
        paused = Analyzer::resume(saved, &settings, findings).expect("a sound state");
    }
    let (whole, paused) = (found(whole), found(paused));
    assert_eq!(paused.connections, whole.connections);
    assert_eq!(paused.retransmissions, whole.retransmissions);
});

/// The packets between the pauses, with frame numbers.
fn parts(packets: &[CapturedPacket], pauses: [(u8, bool); 2]) -> Vec<Vec<CapturedPacket>> {
    let mut parts = Vec::new();
    let (mut rest, mut frame) = (packets, 0);
    for (count, fills) in pauses {
        let (part, after) = rest.split_at(rest.len().min(count.into()));
        let mut part = part.to_vec();
        if let Some(last) = part.last().copied().filter(|_| fills) {
            part.extend(vec![last; ROUND]);
        }
        parts.push(part);
        rest = after;
    }
    parts.push(rest.to_vec());
    for packet in parts.iter_mut().flatten() {
        frame += 1;
        packet.frame = frame;
    }
    parts
}

/// Damages a state, and tries to use it.
fn damage(mut bytes: Vec<u8>, input: &Input, settings: &Settings) {
    let whole = bytes.clone();
    for &(at, value) in &input.damages {
        let at = usize::from(at) % bytes.len();
        bytes[at] = value;
    }
    bytes.truncate(input.left.map_or(bytes.len(), usize::from));
    let read = || postcard::from_bytes::<SavedAnalysis>(&bytes);
    if let Ok(saved) = read() {
        let _ = Analyzer::resume(saved, settings, Kept::default);
    }
    if let (Ok(mut one), Ok(other)) = (postcard::from_bytes::<SavedAnalysis>(&whole), read()) {
        let _ = one.merge(other);
    }
}

fn found(analyzer: Analyzer<Kept>) -> Kept {
    let mut all = Kept::default();
    let analysis = analyzer.finish();
    for part in analysis.into_iter().flat_map(|analysis| analysis.findings) {
        all.connections.extend(part.connections);
        all.retransmissions.extend(part.retransmissions);
    }
    all.sort();
    all
}
