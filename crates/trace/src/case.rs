//! What there is to explain in one direction, and its explanation.

use crate::direction::Common;
use crate::finding::{Evidence, Identification, Retransmission, Tally, Triggers, Vantage, Verdict};
use crate::read::Packet;
use crate::replay::{Explained, Replay, Score};
use crate::rtts::{Rtts, Samples};
use crate::tape::{Beginning, Tape};
use crate::verdict::arrivals::{Arrivals, Seen};
use crate::verdict::{Copy, Facts, Judge};
use recoup_recovery::{Ack, Trigger};
use recoup_units::{Instant, Offset, Span};
use recoup_wire::{Endpoints, Flags, SeqNumber};
use std::collections::VecDeque;
use std::time::Duration;

/// Why a packet is looked at: what was known of its bytes when it came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    /// They had been seen.
    Repeated,
    /// They had not, but higher ones; it was sent after those: `Some(true)`, before them:
    /// `Some(false)`, nobody knows: `None`.
    Filled(Option<bool>),
    /// They had been seen in a copy that was sent later.
    Late,
}

/// What the direction knows of the bytes sent again.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Known {
    /// Their first transmission, where it was captured.
    pub original: Option<Copy>,
    /// How often they had been sent again before, while they were outstanding.
    pub copies: Option<u16>,
    /// The least timestamp seen above them, where they fill a gap.
    pub revealed_ts: Option<u32>,
    /// The moving average of the round-trip time.
    pub rtt: Option<Duration>,
    /// Packets outstanding.
    pub flight: u32,
    /// The highest byte sent before.
    pub nxt: Offset,
}

/// A packet with bytes below the highest sent.
#[derive(Clone, Copy, Debug)]
struct Row {
    frame: u64,
    captured_at: Instant,
    /// The same, but never before what came before it in the connection.
    at: Instant,
    span: Span,
    seq: SeqNumber,
    len: u32,
    syn: bool,
    fin: bool,
    cause: Cause,
    copy: u16,
    ts: Option<u32>,
    detection: Option<Duration>,
    recovery: Option<Duration>,
    recovered_by: Offset,
    rtt: Option<Duration>,
    flight: u32,
    triggers: Triggers,
    verdict: (Verdict, Evidence),
    /// At the receiver: `None`, an original that was overtaken.
    arrival: Option<(Verdict, Evidence)>,
}

/// What is known when a connection is over.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Over {
    /// Its number.
    pub connection: u64,
    /// The direction's.
    pub endpoints: Endpoints,
    /// Until when it was watched.
    pub at: Instant,
    /// Largest payload of a segment, in bytes.
    pub mss: u32,
    /// The least round-trip time between the place of capture and the receiver.
    pub min_rtt: Option<Duration>,
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

/// Retransmissions after which a profile far behind the best is no longer tried.
const DECIDED: u32 = 16;

/// So far, in shares of what is explained.
const BEHIND: f64 = 0.25;

/// Rows looked at for copies of bytes no longer outstanding.
const NEAR: usize = 64;

/// Steps, rows and verdicts of one direction since there was something to explain.
#[derive(Debug)]
pub(crate) struct Case {
    tape: Tape,
    /// The round-trip times as the tape begins.
    rtts: Samples,
    tries: Vec<Try>,
    rows: Vec<Row>,
    judge: Judge,
    /// Duplicate ACKs are all the receiver can say.
    without_sack: bool,
    arrivals: Arrivals,
    /// Rows whose recovery is under way.
    recovering: VecDeque<u32>,
    /// Steps since anything was sent again or reported out of order.
    quiet: u32,
    /// Nothing is put on the tape until there is something to explain again.
    asleep: bool,
}

impl Case {
    /// Opens where `beginning` says, with the round-trip times so far.
    pub fn new(beginning: Beginning, common: &Common<'_>, rtts: &Rtts) -> Self {
        let lag = common.lag();
        Self {
            tape: Tape::new(beginning, lag),
            rtts: rtts.samples(lag),
            tries: Vec::new(),
            rows: Vec::new(),
            judge: Judge::new(facts(common)),
            without_sack: !common.sack,
            arrivals: Arrivals::default(),
            recovering: VecDeque::new(),
            quiet: 0,
            asleep: false,
        }
    }

    /// Whether it sleeps: [`wake`](Self::wake) it before there is something to explain.
    pub fn is_asleep(&self) -> bool {
        self.asleep
    }

    /// Goes on from another beginning: what was between them is of no account, but for the round-trip
    /// times.
    pub fn wake(&mut self, beginning: Beginning, common: &Common<'_>, mss: u32, rtts: &Rtts) {
        let lag = common.lag();
        self.tape = Tape::new(beginning, lag);
        self.rtts = rtts.samples(lag);
        self.asleep = false;
        self.quiet = 0;
        for one in &mut self.tries {
            let mechanisms = common.candidates.mechanisms(one.candidate);
            let rtt = self.rtts.estimator(mechanisms.rto, common.timestamps);
            let beginning = &self.tape.beginning;
            one.replay
                .go_on(mechanisms, mss, common.sack, beginning, rtt);
        }
    }

    /// Nothing has happened for a while, and nothing is pending: sleeps.
    pub fn rest(&mut self, common: &Common<'_>, mss: u32, now: Instant, min_rtt: Option<Duration>) {
        if self.asleep || self.quiet < QUIET || !self.recovering.is_empty() {
            return;
        }
        self.examine(common, mss, now, min_rtt);
        self.asleep = true;
    }

    /// The sender's timestamp clock showed `value`.
    #[inline]
    pub fn on_tick(&mut self, at: Instant, value: u32) {
        if !self.asleep {
            self.tape.on_tick(at, value);
        }
    }

    /// Bytes never sent before.
    #[inline]
    pub fn on_new(&mut self, at: Instant, span: Span) {
        if !self.asleep {
            self.quiet += 1;
            self.tape.on_sent(at, span, None);
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
            all: matches!(cause, Cause::Repeated | Cause::Late),
            first: known.original,
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
            copy: 1 + known.copies.unwrap_or_else(|| self.copies_of(span.start)),
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
            verdict: (Verdict::Unknowable, Evidence::Ambiguous),
            arrival: None,
        };
        self.rows.push(row);
        if again {
            self.judge
                .on_retransmission(index, span, copy, known.original);
            self.tape.on_sent(at, span, Some(index));
            self.recovering.push_back(index);
        }
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
        if !self.asleep {
            let strange = ack.has_blocks() || ack.cumulative == una;
            self.quiet = if strange { 0 } else { self.quiet + 1 };
            self.tape.on_ack(at, ack, echo);
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

    /// Whether it should be examined now.
    pub fn is_full(&self) -> bool {
        self.tape.is_full()
    }

    /// Replays what was kept, and forgets it. `min_rtt`: the least so far.
    pub fn examine(
        &mut self,
        common: &Common<'_>,
        mss: u32,
        now: Instant,
        min_rtt: Option<Duration>,
    ) {
        self.replay(common, mss);
        let rows = &mut self.rows;
        self.judge.set_facts(facts(common));
        self.judge.settle(now, min_rtt, |index, verdict, evidence| {
            rows[index as usize].verdict = (verdict, evidence);
        });
        self.arrivals.settle(now, |index, arrival| {
            rows[index as usize].arrival = arrival;
        });
    }

    /// Puts what is on the tape to every candidate; of a host of which is known what it runs, to that
    /// one alone, if it leaves nothing unexplained; later, to those that were not left far behind. With
    /// nothing sent again there is nothing to be explained.
    fn replay(&mut self, common: &Common<'_>, mss: u32) {
        if !self.tries.is_empty() {
            self.drop_hopeless();
            for one in &mut self.tries {
                one.run(&self.tape, self.rows.len());
            }
        } else if !self.rows.is_empty() {
            let known = (common.known()).filter(|_| common.vantage() == Vantage::Sender);
            if let Some(known) = known {
                self.try_one(known, common, mss);
            }
            if !self.tries.iter().any(|one| one.replay.score().is_full()) {
                for other in (0..common.candidates.len()).filter(|&other| Some(other) != known) {
                    self.try_one(other, common, mss);
                }
            }
        }
        self.tape.clear();
    }

    fn drop_hopeless(&mut self) {
        let share = |one: &Try| one.replay.score().share();
        let best = self.tries.iter().map(share).fold(0.0, f64::max);
        let hopeless = |one: &Try| one.replay.score().of >= DECIDED && share(one) < best - BEHIND;
        if best > 0.0 {
            self.tries.retain(|one| !hopeless(one));
        }
    }

    fn try_one(&mut self, candidate: usize, common: &Common<'_>, mss: u32) {
        let mechanisms = common.candidates.mechanisms(candidate);
        let rtt = self.rtts.estimator(mechanisms.rto, common.timestamps);
        let beginning = &self.tape.beginning;
        let mut one = Try {
            candidate,
            replay: Replay::new(mechanisms, mss, common.sack, beginning, rtt),
            explained: Vec::new(),
        };
        one.run(&self.tape, self.rows.len());
        self.tries.push(one);
    }

    /// The connection is over. Each retransmission, in order, is `found`.
    pub fn close(
        mut self,
        common: &Common<'_>,
        over: &Over,
        mut found: impl FnMut(Retransmission),
    ) -> Closed {
        self.tape.end();
        let vantage = common.vantage();
        if !self.asleep {
            self.replay(common, over.mss);
        }
        let rows = &mut self.rows;
        let mut judge = self.judge;
        judge.set_facts(facts(common));
        judge.finish(over.at, over.min_rtt, |index, verdict, evidence| {
            rows[index as usize].verdict = (verdict, evidence);
        });
        self.arrivals.finish(|index, arrival| {
            rows[index as usize].arrival = arrival;
        });
        let mut scores = vec![Score::default(); common.candidates.len()];
        for one in &self.tries {
            scores[one.candidate] = one.replay.score();
        }
        let best = common
            .candidates
            .best(&scores, common.hosts.of(common.sender));
        let explained = (best.first())
            .and_then(|best| self.tries.iter().find(|one| one.candidate == *best))
            .map_or(&[] as &[Explained], |one| &one.explained);
        let mut closed = Closed::default();
        if vantage == Vantage::Sender {
            closed.profile = common.candidates.judge(&scores, &best);
            closed.scores = scores;
        }
        let mut stretches = Stretches::default();
        for (i, row) in self.rows.iter().enumerate() {
            let triggers = match row.triggers.first() {
                Some(_) => row.triggers,
                None => explained.get(i).map_or(Triggers::UNKNOWN, |e| e.triggers),
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

/// What one candidate makes of it.
#[derive(Debug)]
struct Try {
    candidate: usize,
    replay: Replay,
    /// By row.
    explained: Vec<Explained>,
}

impl Try {
    fn run(&mut self, tape: &Tape, rows: usize) {
        let explained = &mut self.explained;
        explained.resize(rows, Explained::default());
        self.replay
            .run(tape, |index, what| explained[index as usize] = what);
    }
}

/// What the receiver can tell, as is known by now: a SYN sent again comes before the options agreed on.
fn facts(common: &Common<'_>) -> Facts {
    Facts {
        timestamps: common.timestamps,
        reports_duplicates: common.sack,
    }
}

impl Row {
    /// The verdict, as the vantage lets it be known; `None` for what is no retransmission.
    fn judged(&self, vantage: Vantage) -> Option<(Verdict, Evidence)> {
        match self.cause {
            // Originals are sent in order, retransmissions after all that was seen before them.
            Cause::Filled(Some(false)) => None,
            _ if vantage == Vantage::Receiver => self.arrival,
            Cause::Late => None,
            Cause::Repeated | Cause::Filled(Some(true)) => Some(self.verdict),
            Cause::Filled(None) if vantage == Vantage::Sender => Some(self.verdict),
            Cause::Filled(None) => Some((Verdict::Unknowable, Evidence::LooksFirst)),
        }
    }
}

/// Adds up stretches of time that overlap.
#[derive(Debug, Default)]
struct Stretches {
    episodes: u32,
    episode_end: Option<Instant>,
    time: Duration,
    until: Option<Instant>,
}

impl Stretches {
    /// A retransmission: from the original to the ACK that ends the recovery.
    fn add(&mut self, row: &Row) {
        let end = row.at + row.recovery.unwrap_or_default();
        if self.episode_end.is_none_or(|last| row.at > last) {
            self.episodes += 1;
        }
        self.episode_end = self.episode_end.max(Some(end));
        let began = row.at - row.detection.unwrap_or_default();
        let from = self.until.map_or(began, |until| until.max(began));
        if end > from {
            self.time += end.since(from);
        }
        self.until = self.until.max(Some(end));
    }
}
