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
mod tests;
