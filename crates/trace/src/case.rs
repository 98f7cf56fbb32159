//! What there is to explain in one direction, and its explanation.

mod row;
mod tries;

use crate::finding::{Evidence, Identification, Retransmission, Tally, Triggers, Vantage, Verdict};
use crate::read::Packet;
use crate::replay::Score;
use crate::shared::Common;
use crate::tape::Tape;
use crate::verdict::arrivals::{Arrivals, Seen};
use crate::verdict::{Copy, Facts, Judge};
use recoup_recovery::{Ack, Trigger};
use recoup_units::{Instant, Offset, Span};
use recoup_wire::{Endpoints, Flags};
use row::{Row, Stretches};
use std::collections::VecDeque;
use std::time::Duration;
use tries::{Try, drop_hopeless};

pub(crate) use row::{Cause, Known};

/// What is known when a connection is over.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Over {
    /// Its number.
    pub connection: u64,
    /// The direction's.
    pub endpoints: Endpoints,
    /// Until when it was watched.
    pub at: Instant,
}

/// What a case comes to.
#[derive(Debug, Default)]
pub(crate) struct Closed {
    pub tally: Tally,
    pub profile: Identification,
    /// By candidate, at the sender's vantage.
    pub scores: Vec<Score>,
    pub episodes: u32,
    pub recovering: Duration,
}

/// Steps without news after which a case sleeps: about what it costs to wake it.
const QUIET: u32 = 96;

/// Rows for which there is room where a case is begun with memory used before.
const USUAL_ROWS: usize = 16;

/// Rows looked at for copies of bytes no longer outstanding.
const NEAR: usize = 64;

/// Steps, rows and verdicts of one direction since there was something to explain.
#[derive(Debug, Default)]
pub(crate) struct Case {
    /// The stretch that is to be explained; `None`: there is nothing to explain now, it sleeps.
    tape: Option<Box<Tape>>,
    /// Steps since anything was sent again or reported out of order.
    quiet: u32,
    /// Retransmissions before this stretch.
    explained: usize,
    tries: Vec<Try>,
    rows: Vec<Row>,
    judge: Judge,
    /// Duplicate ACKs are all the receiver can say.
    without_sack: bool,
    arrivals: Arrivals,
    /// Rows whose recovery is under way.
    recovering: VecDeque<u32>,
}

impl Case {
    /// Begins again asleep with nothing to explain, keeping memory.
    pub fn begin(&mut self, common: &Common<'_>) {
        self.tape = None;
        self.quiet = 0;
        self.explained = 0;
        self.tries.clear();
        self.rows.clear();
        self.rows.shrink_to(USUAL_ROWS);
        self.judge.begin(facts(common));
        self.without_sack = !common.sack;
        self.arrivals.clear();
        self.recovering.clear();
    }

    /// Whether it sleeps: [`wake`](Self::wake) it before there is something to explain.
    pub fn is_asleep(&self) -> bool {
        self.tape.is_none()
    }

    /// A stretch begins that is to be explained. What was since the last one is of no account, but for
    /// the round-trip times.
    pub fn wake(&mut self, tape: Box<Tape>) {
        self.tape = Some(tape);
        self.quiet = 0;
        self.explained = self.rows.len();
    }

    /// Whether there is no room for more, or nothing has happened for a while and nothing is pending.
    #[inline]
    pub fn may_rest(&self) -> bool {
        let full = self.tape.as_ref().is_some_and(|tape| tape.is_full());
        full || self.is_quiet()
    }

    fn is_quiet(&self) -> bool {
        self.quiet >= QUIET && self.recovering.is_empty() && self.tape.is_some()
    }

    /// Explains what came together. Sleeps then, if it [may](Self::may_rest) for more than want of room,
    /// or in all that came nothing was sent again, or nothing heard.
    pub fn rest(&mut self, common: &Common<'_>, now: Instant) {
        let nothing = self.rows.len() == self.explained;
        let deaf = self.tape.as_ref().is_some_and(|tape| !tape.has_acks());
        self.examine(common, now);
        if self.is_quiet() || nothing || deaf {
            self.sleep(common);
        }
    }

    /// Both ends have closed, or one reset the connection: what may come still is a stretch of its own.
    /// Returns what each candidate explained.
    pub fn on_over(&mut self, common: &Common<'_>, now: Instant) -> Vec<Score> {
        if let Some(tape) = &mut self.tape {
            tape.end();
            self.examine(common, now);
            self.sleep(common);
        }
        match common.vantage {
            Vantage::Sender => self.scores(common),
            _ => Vec::new(),
        }
    }

    fn scores(&self, common: &Common<'_>) -> Vec<Score> {
        let mut scores = vec![Score::default(); common.candidates.len()];
        for one in &self.tries {
            scores[one.candidate] = one.score();
        }
        scores
    }

    fn sleep(&mut self, common: &Common<'_>) {
        for one in &mut self.tries {
            one.rest(common);
        }
        if let Some(mut tape) = self.tape.take() {
            tape.trim();
            common.stock.tapes.give(tape);
        }
    }

    /// The sender's timestamp clock showed `value`.
    #[inline]
    pub fn on_tick(&mut self, at: Instant, value: u32) {
        if let Some(tape) = &mut self.tape {
            tape.on_tick(at, value);
        }
    }

    /// Bytes never sent before.
    #[inline]
    pub fn on_new(&mut self, at: Instant, span: Span) {
        if let Some(tape) = &mut self.tape {
            self.quiet += 1;
            tape.on_sent(at, span, None);
        }
    }

    /// Bytes below the highest sent.
    pub fn on_old(
        &mut self,
        packet: &Packet,
        at: Instant,
        span: Span,
        cause: Cause,
        known: &Known,
    ) {
        let segment = &packet.segment;
        self.quiet = 0;
        let index = self.rows.len() as u32;
        let ts = segment.options.timestamps.map(|ts| ts.value);
        let copy = Copy { at, ts_value: ts };
        let seen = Seen {
            all: matches!(cause, Cause::Repeated | Cause::Late) && !known.lacking,
            // What was sent again since was told of.
            first: known.original.filter(|_| known.copies == Some(0)),
            higher: known.revealed_ts,
        };
        self.arrivals.on_arrival(index, span, copy, seen);
        let again = matches!(cause, Cause::Repeated | Cause::Filled(None | Some(true)));
        let syn = segment.flags.contains(Flags::SYN);
        let row = Row {
            frame: packet.frame,
            captured_at: packet.at,
            at,
            span,
            seq: segment.seq,
            len: segment.payload_len,
            syn,
            fin: segment.flags.contains(Flags::FIN),
            cause,
            copy: (known.copies.unwrap_or_else(|| self.copies_of(span.start))).saturating_add(1),
            ts,
            detection: known.original.map(|original| at.since(original.at)),
            recovery: None,
            recovered_by: known.nxt,
            rtt: known.rtt,
            flight: known.flight,
            triggers: match syn {
                true if segment.flags.contains(Flags::ACK) => Trigger::SynAck.into(),
                true => Trigger::Syn.into(),
                false => Triggers::UNKNOWN,
            },
            explained: Default::default(),
            verdict: (Verdict::Unknowable, Evidence::Ambiguous),
            arrival: None,
        };
        self.rows.push(row);
        if again {
            // Bytes never sent before have their first transmission here.
            let old = Span::new(span.start, span.end.min(known.nxt));
            self.judge
                .on_retransmission(index, old, copy, known.original);
            if let Some(tape) = &mut self.tape {
                tape.on_sent(at, span, Some(index));
            }
            self.recovering.push_back(index);
        }
    }

    /// The capture has most packets twice: so it has the SYN-ACKs that came within `at_once` of one like
    /// them. How many those are.
    #[cold]
    pub fn set_answers_doubled(&mut self, at_once: Duration) -> u64 {
        let mut doubled = 0_u64;
        let mut before = None;
        let answers = (self.rows.iter_mut()).filter(|row| row.triggers == Trigger::SynAck.into());
        for row in answers {
            let since = before.map_or(row.detection, |before| Some(row.at.since(before)));
            before = Some(row.at);
            row.copy = (row.copy).saturating_sub(u16::try_from(doubled).unwrap_or(u16::MAX));
            if since.is_some_and(|since| since < at_once) {
                row.cause = Cause::Doubled;
                doubled += 1;
            }
        }
        doubled
    }

    /// How often the byte at `offset` went again lately.
    fn copies_of(&self, offset: Offset) -> u16 {
        let near = self.rows.iter().rev().take(NEAR);
        near.filter(|row| row.span.contains(offset))
            .map(|row| row.copy)
            .max()
            .unwrap_or(0)
    }

    /// The timestamp of the last copy of `span`, if it went again lately.
    pub fn last_ts_of(&self, span: Span) -> Option<u32> {
        let near = self.rows.iter().rev().take(NEAR);
        let mut same = near.filter(|row| row.span.overlaps(span) && row.cause != Cause::Late);
        same.next()?.ts
    }

    /// An ACK from the receiver; `una` as it was before.
    pub fn on_ack(&mut self, at: Instant, una: Offset, ack: &Ack, echo: Option<u32>) {
        if let Some(tape) = &mut self.tape {
            let strange = ack.has_blocks() || ack.cumulative == una;
            self.quiet = if strange { 0 } else { self.quiet + 1 };
            tape.on_ack(at, ack, echo);
        }
        if !self.judge.is_idle() || ack.has_blocks() || self.without_sack {
            self.judge.on_ack(at, una, ack, echo);
        }
        while let Some(&index) = self.recovering.front() {
            let row = &mut self.rows[index as usize];
            if row.recovered_by > ack.cumulative {
                break;
            }
            row.recovery = Some(at.since(row.at));
            self.recovering.pop_front();
        }
    }

    /// The receiver has closed, and knows it heard: duplicates may go unreported.
    pub fn on_close(&mut self, now: Instant) {
        self.judge.on_close(now);
    }

    /// A reset passed, either way.
    pub fn on_reset(&mut self, now: Instant) {
        self.judge.on_reset(now);
    }

    /// Replays what was kept, and forgets it.
    fn examine(&mut self, common: &Common<'_>, now: Instant) {
        self.replay(common);
        let rows = &mut self.rows;
        self.judge.set_facts(facts(common));
        (self.judge).settle(now, common.min_rtt, |index, verdict, evidence| {
            rows[index as usize].verdict = (verdict, evidence);
        });
        self.arrivals.settle(now, |index, arrival| {
            rows[index as usize].arrival = arrival;
        });
    }

    /// Puts what is on the tape to every candidate; of a host of which is known what it may run, to
    /// those alone, if one of them leaves nothing unexplained; later, to those that were not left far
    /// behind. With nothing sent again there is nothing to be explained.
    fn replay(&mut self, common: &Common<'_>) {
        let Some(tape) = &mut self.tape else { return };
        let rows = &mut self.rows;
        // What the sender heard is not known where options were cut, so neither is why it sent.
        if rows.len() > self.explained && !common.cut {
            if self.tries.is_empty() {
                let contenders = match common.vantage {
                    Vantage::Sender => common.about_sender(|host| host.contenders().collect()),
                    _ => Vec::new(),
                };
                self.tries.extend(contenders.iter().map(|&i| Try::new(i)));
                (self.tries.iter_mut()).for_each(|one| one.run(tape, rows, common));
                if !self.tries.iter().any(|one| one.score().is_full()) {
                    let others = (0..common.candidates.len()).filter(|i| !contenders.contains(i));
                    for mut other in others.map(Try::new) {
                        other.run(tape, rows, common);
                        self.tries.push(other);
                    }
                }
            } else {
                drop_hopeless(&mut self.tries, common);
                (self.tries.iter_mut()).for_each(|one| one.run(tape, rows, common));
            }
        }
        tape.clear();
    }

    /// The connection is over. Each retransmission, in order, is `found`.
    pub fn close(
        &mut self,
        common: &Common<'_>,
        over: &Over,
        mut found: impl FnMut(Retransmission),
    ) -> Closed {
        if let Some(tape) = &mut self.tape {
            tape.end();
        }
        self.replay(common);
        self.sleep(common);
        let vantage = common.vantage;
        let rows = &mut self.rows;
        self.judge.set_facts(facts(common));
        (self.judge).finish(over.at, common.min_rtt, |index, verdict, evidence| {
            rows[index as usize].verdict = (verdict, evidence);
        });
        self.arrivals.finish(|index, arrival| {
            rows[index as usize].arrival = arrival;
        });
        let scores = self.scores(common);
        let best = common.about_sender(|host| common.candidates.best(&scores, host));
        let mut closed = Closed::default();
        if vantage == Vantage::Sender {
            closed.profile = common.candidates.judge(&scores, &best);
            closed.scores = scores;
        }
        let mut stretches = Stretches::default();
        for row in &self.rows {
            let triggers = match (row.triggers.first(), best.first()) {
                (None, Some(&best)) => row.explained[best].triggers,
                _ => row.triggers,
            };
            let Some((verdict, evidence)) = row.judged(vantage) else {
                continue;
            };
            closed.tally.add(triggers, verdict);
            stretches.add(row);
            found(Retransmission {
                frame: row.frame,
                at: row.captured_at,
                seq: row.seq,
                len: row.len,
                syn: row.syn,
                fin: row.fin,
                triggers,
                verdict,
                evidence,
                copy: row.copy,
                detection: row.detection,
                recovery: row.recovery,
                rtt: row.rtt,
                flight: row.flight,
                vantage,
                connection: over.connection,
                endpoints: over.endpoints,
            });
        }
        closed.episodes = stretches.episodes;
        closed.recovering = stretches.time;
        closed
    }
}

/// What the receiver can tell, as is known by now: a SYN sent again comes before the options agreed on.
fn facts(common: &Common<'_>) -> Facts {
    Facts {
        timestamps: common.timestamps,
        reports_duplicates: common.sack && !common.cut,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use recoup_wire::{Options, Segment, SeqNumber};

    #[test]
    fn copies_are_counted_as_far_as_numbers_go() {
        let end = "192.0.2.1:80".parse().unwrap();
        let packet = Packet {
            frame: 1,
            at: Instant::ZERO,
            endpoints: Endpoints { src: end, dst: end },
            segment: Segment {
                seq: SeqNumber(1),
                ack: SeqNumber(1),
                payload_len: 1000,
                window: 1000,
                flags: Flags::ACK,
                options: Options::NONE,
            },
            ip_id: None,
            hop_limit: 64,
            options_complete: true,
            overlong: false,
            outgoing: None,
            interface: 0,
        };
        let span = Span::at(Offset::DATA, 1000);
        for (before, copy) in [(0, 1), (u16::MAX, u16::MAX)] {
            let known = Known {
                original: None,
                lacking: false,
                copies: Some(before),
                revealed_ts: None,
                rtt: None,
                flight: 1,
                nxt: span.end,
            };
            let mut case = Case::default();
            case.on_old(&packet, Instant::ZERO, span, Cause::Repeated, &known);
            assert_eq!(case.copies_of(span.start), copy);
        }
    }
}
