//! A tape made ready for its replays: what is equal for all profiles is computed once.

use super::{
    replay::LATE,
    tape::{Step, Tape},
};
use recoup_recovery::Ack;
use recoup_units::Instant;

/// A tape, its ACKs as the engine takes them, and where it becomes uneventful.
pub(crate) struct Playback<'a> {
    pub tape: &'a Tape,
    /// One per [`Step::Heard`], in order.
    pub acks: Vec<Ack>,
    pub uneventful: Option<UneventfulEnd>,
    /// The recording ends with this tape, so the replays need no state after it.
    pub last: bool,
}

/// The end of a tape in which the sender sends new data and hears ACKs that advance, at short intervals.
///
/// Nothing there is to be explained, and no ACK reports a loss. A timer is missed only in an interval
/// longer than [`LATE`]. So a replay that wants to retransmit nothing when this end begins will not do so
/// later, and its score is final.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct UneventfulEnd {
    /// The first step.
    pub from: usize,
    /// When the last retransmission was sent.
    pub last_retransmission: Instant,
}

impl<'a> Playback<'a> {
    /// `last`: the recording ends with this tape.
    pub fn new(tape: &'a Tape, last: bool) -> Self {
        let mut acks = Vec::with_capacity(tape.steps().len());
        for step in tape.steps() {
            if let Step::Heard(heard) = step {
                acks.push(tape.ack(heard));
            }
        }
        Self { tape, acks, uneventful: last.then(|| UneventfulEnd::of(tape)).flatten(), last }
    }
}

impl UneventfulEnd {
    /// `None` if there is none, or if the tape holds no retransmission.
    fn of(tape: &Tape) -> Option<Self> {
        let mut last_retransmission = None;
        let mut from = 0;
        let mut before = None;
        let mut acknowledged = tape.beginning.una;
        for (i, step) in tape.steps().iter().enumerate() {
            let at = step.at();
            let is_late = before.is_none_or(|before| at.since(before) > LATE);
            before = Some(at);
            let is_plain = match step {
                Step::Sent { retransmission, .. } => {
                    if retransmission.is_some() {
                        last_retransmission = Some(at);
                    }
                    retransmission.is_none()
                }
                Step::Heard(ack) => {
                    let advances = ack.cumulative() > acknowledged;
                    acknowledged = acknowledged.max(ack.cumulative());
                    advances && !ack.has_blocks()
                }
                Step::PathMtu { .. } => false,
            };
            if is_late || !is_plain {
                from = i + 1;
            }
        }
        let is_empty = from >= tape.steps().len();
        last_retransmission.filter(|_| !is_empty).map(|last_retransmission| Self { from, last_retransmission })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use recoup_units::{Offset, Span};

    /// A tape of these steps, each given by its time in ms and what happens: 's' new data, 'r' a
    /// retransmission, 'a' an ACK that advances, 'd' a duplicate ACK, 'b' an ACK that advances with a
    /// SACK block, 'm' a path MTU message.
    fn tape(steps: &[(u64, char)]) -> Tape {
        let mut tape = Tape::default();
        let (mut sent, mut acked) = (Offset(1000), Offset(1));
        tape.beginning.una = acked;
        for &(ms, what) in steps {
            let at = Instant::from_millis(ms);
            match what {
                's' => {
                    tape.on_sent(at, Span::at(sent, 10), None);
                    sent = sent + 10;
                }
                'r' => tape.on_sent(at, Span::at(acked, 10), Some(0)),
                'm' => tape.on_path_mtu(at, 500),
                _ => {
                    acked = acked + if what == 'd' { 0 } else { 10 };
                    let blocks = (what == 'b').then(|| Span::at(acked + 10, 10));
                    let ack = Ack::new(acked, 5000).with_blocks(blocks);
                    tape.on_ack(at, &ack, None, None);
                }
            }
        }
        tape
    }

    #[test]
    fn the_end_begins_after_the_last_event_or_pause() {
        // (steps, the first step of the uneventful end)
        type Case = (&'static [(u64, char)], Option<usize>);
        let cases: [Case; 9] = [
            (&[(0, 'r'), (1, 'a'), (2, 's'), (3, 'a')], Some(1)),
            (&[(0, 's'), (1, 'r'), (2, 'd'), (3, 'a')], Some(3)),
            (&[(0, 'r'), (1, 'b'), (2, 'a')], Some(2)),
            (&[(0, 'r'), (1, 'm'), (2, 's')], Some(2)),
            // A pause may hide a timer that was due; LATE itself does not.
            (&[(0, 'r'), (1, 'a'), (21, 's'), (42, 'a'), (43, 'a')], Some(4)),
            (&[(0, 'r'), (1, 'a'), (21, 's'), (41, 'a')], Some(1)),
            // The tape ends with the retransmission.
            (&[(0, 'r'), (1, 'a'), (2, 'r')], None),
            (&[(0, 's'), (1, 'a')], None),
            (&[], None),
        ];
        for (steps, expected) in cases {
            let tape = tape(steps);
            let found = UneventfulEnd::of(&tape);
            assert_eq!(found.map(|end| end.from), expected, "{steps:?}");
            let retransmitted = steps.iter().rfind(|(_, what)| *what == 'r');
            let expected = found.and(retransmitted.map(|&(ms, _)| Instant::from_millis(ms)));
            assert_eq!(found.map(|end| end.last_retransmission), expected, "{steps:?}");
            assert!(Playback::new(&tape, false).uneventful.is_none());
            assert_eq!(Playback::new(&tape, true).uneventful, found);
        }
    }
}
