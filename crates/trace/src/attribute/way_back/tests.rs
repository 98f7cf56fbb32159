use super::*;
use crate::attribute::tape::{Step, Tape};
use recoup_recovery::Ack;
use recoup_wire::{Flags, Options, Timestamps};

const LAG: u64 = 50;

fn segment(echo: Option<u32>) -> Segment {
    let mut options = Options::NONE;
    options.timestamps = echo.map(|echo| Timestamps { value: 1, echo });
    Segment { seq: SeqNumber(1), ack: SeqNumber(1), payload_len: 0, window: 1000, flags: Flags::ACK, options }
}

/// ACKs that a sender 50 ms away has heard, among those of 100, 200 and 300, which pass after 10, 11
/// and 12 ms with these times as their timestamps. The segments are given by when they would
/// have passed, their echo, and the end of a retransmission. The result: what is acknowledged
/// after each segment, and since when.
fn heard(segments: &[(u64, Option<u32>, Option<u64>)]) -> Vec<(u64, u64)> {
    let mut tape = Tape::default();
    tape.begin(Duration::from_millis(LAG));
    for (at, cumulative) in [(10, 100), (11, 200), (12, 300)] {
        let ts = Some((at as u32, SeqNumber(1)));
        let ack = Ack::new(Offset(cumulative), 1000);
        tape.on_ack(Instant::from_millis(at), &ack, None, ts);
    }
    let mut results = Vec::new();
    for &(at, echo, again) in segments {
        let departure = Departure::exact(Instant::from_millis(at));
        tape.on_segment(departure, &segment(echo), again.map(Offset));
        let latest = tape.steps().iter().rev().find_map(|step| match step {
            Step::Heard(ack) => Some((ack.cumulative().0, ack.at().as_nanos() / 1_000_000)),
            Step::Sent { .. } | Step::PathMtu { .. } => None,
        });
        results.push(latest.unwrap_or_default());
    }
    results
}

#[test]
fn the_echo_shows_which_acks_had_arrived() {
    // In time.
    assert_eq!(heard(&[(61, Some(11), None)]), [(200, 61)]);
    // Before the time that the shortest way takes.
    assert_eq!(heard(&[(58, Some(11), None)]), [(200, 58)]);
    // The later ACKs were held up until after the first segment.
    let late = [(90, Some(10), None), (95, Some(12), None)];
    assert_eq!(heard(&late), [(100, 60), (300, 90)]);
    // The first segment overtook the second.
    let overtaken = [(62, Some(12), None), (60, Some(10), None)];
    assert_eq!(heard(&overtaken), [(300, 62), (300, 62)]);
}

#[test]
fn without_timestamps_the_time_shows_it() {
    let segments = [(59, None, None), (61, None, None), (90, None, None)];
    assert_eq!(heard(&segments), [(0, 0), (200, 61), (300, 62)]);
}

#[test]
fn what_is_retransmitted_was_not_known_to_have_arrived() {
    for echo in [None, Some(12)] {
        let segments = [(90, echo, Some(200)), (95, echo, None)];
        assert_eq!(heard(&segments)[0].0, 100, "{echo:?}");
        assert_eq!(heard(&segments)[1].0, 300, "{echo:?}");
        // ACKs counted as heard before turn out to be lost.
        let segments = [(90, echo, None), (95, echo, Some(200))];
        let heard = heard(&segments);
        assert_eq!((heard[0].0, heard[1].0), (300, 100), "{echo:?}");
    }
}
