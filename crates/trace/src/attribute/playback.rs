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

/// The end of a tape in which the sender sends new data and hears ACKs that advance.
///
/// Nothing there is to be explained, and no ACK reports a loss. So a replay that wants to retransmit nothing when this
/// end begins will not do so later, and its score is final, unless a timer is missed. A timer is missed only in an
/// interval longer than [`LATE`], and only if it was due by then ([`Heads`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct UneventfulEnd {
    /// The first step from which on no interval is longer than [`LATE`].
    pub prompt_from: usize,
    /// The first step from which on `heads` holds.
    pub from: usize,
    /// When the last retransmission was sent.
    pub last_retransmission: Instant,
    pub heads: Heads,
}

/// The earliest outstanding segments in an uneventful end, each sent after the last retransmission.
///
/// The retransmission timer is due no sooner than an RTO after the head was sent, and a probe no sooner than twice the
/// SRTT after that. So no timer is missed if each head is acknowledged sooner. The SRTT does not fall below what it was
/// and below all samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Heads {
    /// The longest time, in ns, for which a segment was the head or waited to be.
    pub longest: u64,
    /// No sample of the round-trip time is shorter, in ns.
    pub least_rtt: u64,
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
        let steps = tape.steps();
        let mut last_retransmission = None;
        let (mut plain_from, mut prompt_from) = (0, 0);
        let mut before = None;
        let mut acknowledged = tape.beginning.una;
        for (i, step) in steps.iter().enumerate() {
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
            if !is_plain {
                plain_from = i + 1;
            }
            if is_late || !is_plain {
                prompt_from = i + 1;
            }
        }
        let last_retransmission = last_retransmission.filter(|_| plain_from < steps.len())?;
        let (from, heads) = Heads::of(tape, plain_from, last_retransmission);
        (from.min(prompt_from) < steps.len()).then_some(Self { prompt_from, from, last_retransmission, heads })
    }
}

impl Heads {
    /// The heads of the plain steps from `plain_from` on, and the first step from which on each was sent after the last
    /// retransmission.
    fn of(tape: &Tape, plain_from: usize, last_retransmission: Instant) -> (usize, Self) {
        let steps = tape.steps();
        let outstanding = &tape.beginning.outstanding;
        // New data is sent in order. What a retransmission repeats was sent before it.
        let sent = |(i, step): (usize, &Step)| match *step {
            Step::Sent { at, span, retransmission: None, .. } => Some((i, at, span)),
            _ => None,
        };
        let all = || {
            let before = outstanding.iter().map(|&(at, span)| (0, at, span));
            before.chain(steps.iter().enumerate().filter_map(sent))
        };
        let (mut heads, mut newest) = (all().peekable(), all().peekable());
        let mut newest_at = None;
        let mut acknowledged = tape.beginning.una;
        let mut from = steps.len();
        let mut found = Self { longest: 0, least_rtt: u64::MAX };
        for (i, step) in steps.iter().enumerate() {
            while heads.next_if(|(.., span)| span.end <= acknowledged).is_some() {}
            let head = heads.peek().filter(|(sent_in, ..)| *sent_in < i || i == 0).map(|&(_, at, _)| at);
            if i >= plain_from && head.is_none_or(|at| at > last_retransmission) {
                from = from.min(i);
            }
            if from < steps.len()
                && let Some(head) = head
            {
                found.longest = found.longest.max(step.at().nanos_since(head));
            }
            if let Step::Heard(ack) = step {
                acknowledged = acknowledged.max(ack.cumulative());
                while let Some((_, at, _)) =
                    newest.next_if(|(sent_in, _, span)| *sent_in <= i && span.start < acknowledged)
                {
                    newest_at = Some(at);
                }
                if from < steps.len() {
                    // A segment sent twice gives a sample from its last copy at the shortest.
                    let sent_at = newest_at.map_or(ack.at(), |at| at.max(last_retransmission));
                    let least = ack.at().nanos_since(sent_at).min(ack.echo_age().unwrap_or(u64::MAX));
                    found.least_rtt = found.least_rtt.min(least);
                }
            }
        }
        (from, found)
    }
}

#[cfg(test)]
mod tests;
