//! Analyses that are saved and resumed between two packets.

use super::{hosts::Visits, *};
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
    pub fn of<F: Findings + Into<Kept>>(analyzer: Analyzer<F>) -> Self {
        let (analysis, _) = analyzer.finish_all();
        let kept = merged_parts(analysis.findings.into_iter().map(Into::into).collect());
        Self {
            connections: kept.connections,
            retransmissions: kept.retransmissions,
            revisions: kept.revisions,
            hosts: analysis.hosts,
            counts: analysis.counts,
        }
    }
}

impl Outcome {
    /// Whether timestamps were corrected.
    pub fn has_clock_anomalies(&self) -> bool {
        self.counts.clock != Default::default()
    }
}

pub fn bytes(analyzer: &Analyzer<Kept>) -> Vec<u8> {
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
    // Both sizes take too long for all captures.
    let round = ROUNDS[packets.len() % 2];
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

/// A capture that leaves much open: verdicts that may be revised, and a recovery that goes on.
pub fn unfinished() -> Vec<CapturedPacket> {
    let mut visits = Visits::new(true);
    (0..3).for_each(|_| visits.doubtful());
    let mut packets = visits.conversation.packets;
    let begun = repaired().packets;
    packets.extend(begun.iter().map(|packet| CapturedPacket { at: packet.at + Duration::from_secs(60), ..*packet }));
    for (packet, frame) in packets.iter_mut().zip(1..) {
        packet.frame = frame;
    }
    packets
}

/// A state that an earlier program saved can be read as long as the version is the same. Refresh the
/// file by `RECOUP_UPDATE_STATE=1 cargo test -p recoup-trace layout`.
#[test]
fn a_change_of_the_layout_changes_the_version() {
    const ADVICE: &str =
        "the layout of SavedAnalysis has changed: raise its VERSION if a release has it, and refresh the file";
    let settings = Settings::default();
    let analyzer = |packets: &[CapturedPacket]| {
        let mut analyzer = Analyzer::new(&settings, Kept::default);
        analyzer.state.feed.round = 1;
        analyzer.follow(packets.iter().copied());
        analyzer
    };
    let packets = unfinished();
    let (before, after) = packets.split_at(packets.len() - 2);
    let name = format!("saved_analysis_{}.bin", SavedAnalysis::VERSION);
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(name);
    if std::env::var_os("RECOUP_UPDATE_STATE").is_some() {
        std::fs::write(&path, bytes(&analyzer(before))).unwrap();
    }
    let file = std::fs::read(&path).expect(ADVICE);
    let saved: SavedAnalysis = postcard::from_bytes(&file).expect(ADVICE);
    assert!(postcard::to_allocvec(&saved).unwrap() == file, "{ADVICE}");
    let mut resumed = Analyzer::resume(saved, &settings, Kept::default).expect(ADVICE);
    resumed.follow(after.iter().copied());
    let whole = Outcome::of(analyzer(&packets));
    let resumed = Outcome::of(resumed);
    let open = &whole.connections[resumed.connections[0].id as usize..];
    assert_eq!(resumed.connections, open, "{ADVICE}");
    assert_eq!(resumed.hosts, whole.hosts, "{ADVICE}");
    assert_eq!(resumed.retransmissions.last(), whole.retransmissions.last(), "{ADVICE}");
}
