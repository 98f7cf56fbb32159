//! Random tapes: the steps that a replay leaves out would not have changed its result.

use crate::{
    attribute::{
        context::{EpisodeContext, ReplayContext},
        identify::Candidates,
        replay::*,
        rtt_samples::{Estimators, RttSample},
        tape::{Retransmitted, Tape},
    },
    finding::Vantage,
};
use proptest::{collection::vec, prelude::*, strategy::ValueTree, test_runner::TestRunner};
use recoup_recovery::Ack;
use recoup_units::Offset;
use std::net::{IpAddr, Ipv4Addr};

const MSS: u64 = 1000;

#[derive(Clone, Copy, Debug)]
enum Op {
    New,
    /// The outstanding segment of this number, or the last one, is retransmitted.
    Again(u64),
    /// An ACK advances by this many segments.
    Ack(u64),
    /// An ACK stays and reports the segment that is this many above.
    Sack(u64),
    Duplicate,
}

/// Steps, each with the time since the one before, in µs.
fn steps() -> impl Strategy<Value = Vec<(u64, Op)>> {
    let pause = prop_oneof![20 => 0..4000_u64, 1 => 15_000..25_000_u64, 1 => 50_000..900_000_u64];
    let eventful = prop_oneof![
        4 => Just(Op::New),
        2 => prop_oneof![0..6_u64, Just(99)].prop_map(Op::Again),
        4 => (1..4_u64).prop_map(Op::Ack),
        3 => (1..9_u64).prop_map(Op::Sack),
        1 => Just(Op::Duplicate),
    ];
    let plain = prop_oneof![1 => Just(Op::New), 1 => (1..3_u64).prop_map(Op::Ack)];
    let first = vec((pause.clone(), eventful), 1..30);
    (first, vec((pause, plain), 0..40)).prop_map(|(mut steps, rest)| {
        steps.extend(rest);
        steps
    })
}

/// A tape of `steps`, after twelve segments were sent, and its number of retransmissions.
fn tape(steps: &[(u64, Op)]) -> (Tape, u32) {
    let mut tape = Tape::default();
    let (mut una, mut nxt) = (Offset::DATA, Offset::DATA);
    let mut at = Instant::from_millis(100);
    for _ in 0..12 {
        let span = Span::at(nxt, MSS);
        tape.beginning.outstanding.push((at, span));
        nxt = span.end;
    }
    let sample = |rtt| RttSample { rtt, held_up: 0, una: 1, outstanding: 0 };
    tape.beginning.rtts.latest = [30_000, 31_000].map(sample).to_vec();
    tape.beginning.una = una;
    tape.beginning.window_edge = una + 1_000_000;
    tape.beginning.advanced_at = at;
    let mut rows = 0;
    for &(pause, op) in steps {
        at = at.plus_nanos(pause * 1000);
        let outstanding = nxt.since(una) / MSS;
        let blocks = match op {
            Op::Sack(above) if above < outstanding => Some(Span::at(una + above * MSS, MSS)),
            _ => None,
        };
        match op {
            Op::New => {
                tape.on_sent(at, Span::at(nxt, MSS), None);
                nxt = nxt + MSS;
                continue;
            }
            Op::Again(number) if outstanding > 0 => {
                let number = number.min(outstanding - 1);
                tape.on_sent(at, Span::at(una + number * MSS, MSS), Some(Retransmitted { row: rows, sack_bytes: 0 }));
                rows += 1;
                continue;
            }
            Op::Again(_) => continue,
            Op::Ack(segments) => una = una + segments.min(outstanding) * MSS,
            Op::Sack(_) | Op::Duplicate => {}
        }
        let ack = Ack::new(una, 1_000_000).with_blocks(blocks);
        tape.on_ack(at, &ack, None, None);
    }
    (tape, rows)
}

/// Result of a replay.
#[derive(Clone, Debug, PartialEq)]
struct Report {
    explained: Vec<(u32, Triggers, bool)>,
    score: Score,
    work: u64,
    skipped: bool,
    same_without_probes: bool,
}

fn replay(tape: &Tape, candidate: usize, last: bool) -> Report {
    let shared = ReplayContext { candidates: Candidates::known(), ..ReplayContext::default() };
    let host = IpAddr::from(Ipv4Addr::LOCALHOST);
    let context = EpisodeContext {
        candidates: &shared.candidates,
        hosts: &shared.hosts,
        pools: &shared.pools,
        sender: host,
        receiver: host,
        sack: true,
        may_sack: true,
        timestamps: false,
        reports_usable: true,
        blocks_cut_at: Instant::ZERO,
        mss: MSS as u32,
        min_rtt: None,
        vantage: Vantage::Sender,
        lag: Duration::ZERO,
        most_work: u64::MAX,
    };
    let mechanisms = shared.candidates.mechanisms(candidate);
    let rtt = Estimators::new(&tape.beginning.rtts, false).with(mechanisms.rto);
    let mut replay = Replay::new(mechanisms);
    replay.begin(mechanisms, &context, &tape.beginning, rtt);
    let mut explained = Vec::new();
    let playback = Playback::new(tape, last);
    let complete = replay.run(&playback, u64::MAX, |row, found| {
        explained.push((row, found.triggers, found.fits));
    });
    assert!(complete);
    Report {
        explained,
        score: replay.score(),
        work: replay.work(),
        skipped: replay.skipped > 0,
        same_without_probes: replay.is_same_without_probes(),
    }
}

/// Calls `check` with random tapes until it has found `enough`, and fails if that takes too many.
fn until(enough: u32, mut check: impl FnMut(&Tape) -> u32) {
    let mut runner = TestRunner::deterministic();
    let mut found = 0;
    for _ in 0..3000 {
        let Ok(steps) = steps().new_tree(&mut runner) else {
            continue;
        };
        let (tape, rows) = tape(&steps.current());
        if rows > 0 {
            found += check(&tape);
        }
        if found >= enough {
            return;
        }
    }
    panic!("{found} found");
}

#[test]
fn skipped_steps_change_nothing() {
    let profiles = Candidates::known().len();
    until(500, |tape| {
        let skips = |candidate| {
            let whole = replay(tape, candidate, false);
            let report = replay(tape, candidate, true);
            let skipped = report.skipped;
            let expected = Report { skipped, same_without_probes: report.same_without_probes, ..whole };
            assert_eq!(report, expected, "{candidate}: {:?}", tape.steps());
            skipped
        };
        (0..profiles).filter(|&candidate| skips(candidate)).count() as u32
    });
}

#[test]
fn probes_that_made_no_difference_change_nothing() {
    let candidates = Candidates::known();
    let pair = |without| Some((candidates.with_draft_probes(without)?, without));
    let (with, without) = (0..candidates.len()).find_map(pair).unwrap();
    let mut different = 0;
    until(300, |tape| {
        let with = replay(tape, with, true);
        let without = replay(tape, without, true);
        if with.same_without_probes {
            // Without probes, more is skipped.
            let expected = Report { skipped: with.skipped, ..without.clone() };
            assert_eq!(with, expected, "{:?}", tape.steps());
        }
        different += u32::from((with.explained, with.score) != (without.explained, without.score));
        u32::from(with.same_without_probes)
    });
    assert!(different > 0, "no tape shows the probes");
}
