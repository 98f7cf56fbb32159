//! Analyses that are saved and resumed between two packets.

use super::*;
use std::cell::RefCell;

/// Packets per round in these tests, so that small captures take many rounds.
const ROUNDS: [usize; 2] = [1, 7];

/// All that an analysis returns.
#[derive(Debug, PartialEq)]
pub struct Outcome {
    pub connections: Vec<Connection>,
    pub retransmissions: Vec<Retransmission>,
    revisions: u64,
    hosts: Hosts,
    counts: Counts,
}

impl Outcome {
    pub fn of(analyzer: Analyzer<Kept>) -> Self {
        let (analysis, _) = analyzer.finish_all();
        let kept = merged_parts(analysis.findings);
        Self {
            connections: kept.connections,
            retransmissions: kept.retransmissions,
            revisions: kept.revisions,
            hosts: analysis.hosts,
            counts: analysis.counts,
        }
    }
}

fn bytes(analyzer: &Analyzer<Kept>) -> Vec<u8> {
    postcard::to_allocvec(analyzer.save()).unwrap()
}

/// Goes on with the saved bytes, and with the findings so far.
pub fn resumed(mut before: Analyzer<Kept>, settings: &Settings) -> Analyzer<Kept> {
    let bytes = bytes(&before);
    let kept: Vec<Kept> = before.findings_mut().map(std::mem::take).collect();
    drop(before);
    let kept = RefCell::new(kept.into_iter());
    let saved = postcard::from_bytes(&bytes).unwrap();
    Analyzer::resume(saved, settings, || kept.borrow_mut().next().unwrap()).unwrap()
}

/// Checks that pauses change nothing. At the memory bound they may: memory that was reserved for
/// growth is not saved.
pub fn check(packets: &[CapturedPacket], settings: &Settings) {
    if settings.most_memory < Settings::default().most_memory {
        return;
    }
    let middle = packets.len().div_ceil(2).max(1);
    let every = match packets.len() {
        0..300 => vec![1, middle],
        _ => vec![middle],
    };
    for round in ROUNDS {
        let mut whole = Analyzer::new(settings, Kept::default);
        whole.state.feed.round = round;
        whole.follow(packets.iter().copied());
        let whole = Outcome::of(whole);
        for &every in &every {
            let mut analyzer = Analyzer::new(settings, Kept::default);
            analyzer.state.feed.round = round;
            for part in packets.chunks(every) {
                analyzer.follow(part.iter().copied());
                analyzer = resumed(analyzer, settings);
            }
            let paused = Outcome::of(analyzer);
            assert_eq!(paused, whole, "rounds of {round}, paused every {every}");
        }
    }
}
