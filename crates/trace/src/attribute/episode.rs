//! The retransmissions of one direction, with what explains them.
//!
//! An [`Episode`] begins with a direction's first retransmission or SACK block. While losses are
//! repaired it records every step on a [`Tape`]. When nothing has been lost for [`QUIET_STEPS`]
//! steps it stops recording, and records again from the next loss on. Each recording is replayed by
//! itself.

mod close;
mod evidence;
mod holes;
mod profile_replay;
mod replays;
mod reports;
mod result;
mod row;

use super::{
    context::EpisodeContext,
    identify::Replayed,
    provisional::ProvisionalRow,
    reduction,
    replay::MOST_REPLAYED,
    tape::{Departure, Retransmitted, Tape},
};
use crate::{
    cost::lost::{
        causes::Clues,
        delays::{DELAYED_ACK, LEAST_DELAY},
    },
    finding::{Evidence, Renumbering, Retransmission, Triggers, Vantage, Verdict},
    hosts::{HostFacts, ProbeEvidence},
    memory::{HeapSize, allocated},
    read::CapturedPacket,
    verdict::{
        ReceiverOptions, SentSegments, Transmission,
        acks::AckVerdicts,
        arrivals::{ArrivalVerdicts, SeenBytes},
    },
};
use holes::Holes;
use profile_replay::ProfileReplay;
use recoup_recovery::{Ack, Trigger};
use recoup_units::{Instant, Offset, Span};
use recoup_wire::{Flags, Segment};
use row::Row;
use serde::{Deserialize, Serialize};
use std::{collections::VecDeque, mem::take, time::Duration};

pub(crate) use reports::AckMarks;
use reports::{LONGEST_DELAY, ReportsAbove, Silence, answer};
pub(crate) use result::{ConnectionEnd, Learned};
use row::Testimony;
pub(crate) use row::{PacketKind, PriorTransmissions};

/// Steps without any sign of loss after which recording stops. Restarting it costs about as much.
const QUIET_STEPS: u32 = 96;

/// The limit for much outstanding data: one step for this many packets that a restart repeats.
const RESTARTED_PER_QUIET_STEP: u32 = 4;

/// The longest that a receiver delays an ACK (Linux: `TCP_DELACK_MAX`).
const LONGEST_DELAYED_ACK: Duration = Duration::from_millis(200);

/// Rows for which a reused episode keeps memory.
const USUAL_ROWS: usize = 4;

/// A segment that failed so often in copies of its size may be too large.
const FAILED_COPIES: u16 = 2;

/// Rows searched for earlier copies of bytes that are no longer outstanding.
const RECENT_ROWS: usize = 64;

/// The recording, the possible retransmissions and their verdicts of one direction.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Episode {
    /// `None` while nothing is recorded.
    tape: Option<Box<Tape>>,
    /// Steps since the last retransmission, SACK block or duplicate ACK.
    quiet_steps: u32,
    /// The capture may have cut SACK blocks from a recorded ACK, so the sender knew more than a replay.
    blocks_cut: bool,
    /// When the receiver last sent what may answer a segment, or packets of it were lost.
    answered_at: Instant,
    /// The receiver's last long silence.
    silence: Silence,
    /// Quiet steps after which recording stops.
    most_quiet_steps: u32,
    /// The work that recordings and replays have taken.
    work: u64,
    /// Some of the last tape was not replayed, because it would have cost too much.
    incomplete: bool,
    /// A replay of some tape cost too much, or a recording did not start for its cost.
    too_costly: bool,
    /// Rows before this recording.
    explained: usize,
    profile_replays: Vec<ProfileReplay>,
    rows: Vec<Row>,
    ack_verdicts: AckVerdicts,
    /// The receiver reports losses by duplicate ACKs alone.
    without_sack: bool,
    arrival_verdicts: ArrivalVerdicts,
    /// Rows that wait for the ACK that ends their recovery.
    recovering: VecDeque<u32>,
    /// When the last of them ended.
    recovered_at: Instant,
    /// The row that began this recovery, and its bytes, until they are acknowledged.
    unanswered: Option<(u32, Span)>,
    /// That row and the end of the data sent before it, until the receiver reports its last byte.
    unreported: Option<(u32, Offset)>,
    /// The end of what was retransmitted since that row.
    retransmitted_to: Offset,
    /// Reports above the receiver's cumulative ACKs.
    reports: ReportsAbove,
    /// The holes below them.
    holes: Holes,
    /// When its last ACK came.
    heard_at: Instant,
    /// New data that followed an ACK at once while steps were recorded, and that did not, in packets.
    clocked: [u32; 2],
}

impl Episode {
    /// Resets the episode without a recording, keeping its memory.
    pub fn begin(&mut self, context: &EpisodeContext<'_>) {
        let Self {
            mut profile_replays,
            mut rows,
            mut ack_verdicts,
            mut arrival_verdicts,
            mut recovering,
            mut holes,
            ..
        } = take(self);
        profile_replays.clear();
        rows.clear();
        rows.shrink_to(USUAL_ROWS);
        ack_verdicts.begin(receiver_options(context));
        arrival_verdicts.clear();
        recovering.clear();
        holes.clear();
        let without_sack = !context.sack;
        let kept = Self { profile_replays, rows, ack_verdicts, arrival_verdicts, recovering, holes, ..Self::default() };
        *self = Self { without_sack, ..kept };
    }

    /// Whether its parts refer to rows and profiles that are there.
    pub fn is_consistent(&self, profiles: usize) -> bool {
        let rows = self.rows.len();
        let replays = self.profile_replays.iter();
        self.explained <= rows
            && self.unanswered.is_none_or(|(row, _)| (row as usize) < rows)
            && self.unreported.is_none_or(|(row, _)| (row as usize) < rows)
            && self.recovering.iter().all(|&row| (row as usize) < rows)
            && replays.into_iter().all(|replay| replay.candidate < profiles)
            && self.tape.as_ref().is_none_or(|tape| tape.is_consistent(rows))
    }

    /// Gives its frames other numbers.
    pub fn renumber(&mut self, by: Renumbering) {
        for row in &mut self.rows {
            row.frame = row.frame.saturating_add(by.frames);
        }
    }

    /// Its memory, in bytes.
    pub fn memory(&self) -> usize {
        let replays = self.profile_replays.iter().map(ProfileReplay::memory);
        allocated(size_of::<Self>())
            + self.rows.heap_size()
            // When the connection closes, its rows become findings.
            + self.rows.len() * (size_of::<ProvisionalRow>() + size_of::<Retransmission>())
            + self.recovering.heap_size()
            + self.holes.heap_size()
            + self.ack_verdicts.memory()
            + self.arrival_verdicts.memory()
            + self.tape.as_ref().map_or(0, |tape| tape.memory())
            + replays.sum::<usize>()
    }

    /// Reads what a packet will change, to have it in the cache by then. The value has no meaning.
    #[inline]
    pub fn prefetch(&self) -> u64 {
        let tape = self.tape.as_ref().map_or(0, |tape| tape.prefetch());
        let recovering = self.recovering.front().map_or(0, |&row| u64::from(row));
        tape ^ recovering ^ self.ack_verdicts.prefetch()
    }

    /// Whether steps are recorded; if not, [`start_recording`](Self::start_recording) first.
    pub fn is_recording(&self) -> bool {
        self.tape.is_some()
    }

    /// Whether a recording may start that replays about `segments` outstanding segments. The packets of
    /// the direction pay for it.
    pub fn may_record(&mut self, segments: u64, context: &EpisodeContext<'_>) -> bool {
        let profiles = match self.profile_replays.len() {
            0 => context.candidates.len(),
            some => some,
        };
        let work = segments.saturating_mul(profiles as u64);
        let may = segments <= u64::from(MOST_REPLAYED.0) && self.work + work <= context.most_work;
        self.too_costly |= !may;
        may
    }

    /// Starts a recording. It knows nothing of earlier steps but the round-trip times.
    /// `blocks_cut`: the capture may have cut SACK blocks from ACKs that its beginning holds.
    pub fn start_recording(&mut self, tape: Box<Tape>, blocks_cut: bool) {
        let outstanding = tape.beginning.outstanding.len() as u32;
        self.work += u64::from(outstanding);
        self.most_quiet_steps = QUIET_STEPS.max(outstanding / RESTARTED_PER_QUIET_STEP);
        self.tape = Some(tape);
        self.quiet_steps = 0;
        self.explained = self.rows.len();
        self.blocks_cut = blocks_cut;
    }

    /// Whether the tape is full, or nothing was lost for a while and all recoveries are complete.
    #[inline]
    pub fn is_due(&self) -> bool {
        let full = self.tape.as_ref().is_some_and(|tape| tape.is_full());
        full || self.is_quiet()
    }

    fn is_quiet(&self) -> bool {
        let most = if self.blocks_cut { 0 } else { self.most_quiet_steps };
        self.quiet_steps >= most && self.recovering.is_empty() && self.tape.is_some()
    }

    /// Explains what is recorded. Stops recording if all is quiet, if nothing was retransmitted, or
    /// if no ACK came.
    pub fn explain_recorded(&mut self, context: &EpisodeContext<'_>, now: Instant) {
        let no_retransmission = self.rows.len() == self.explained;
        let no_acks = self.tape.as_ref().is_some_and(|tape| !tape.has_acks());
        let last = self.is_quiet() || no_retransmission || no_acks;
        self.replay_and_settle(context, now, last);
        let incomplete = take(&mut self.incomplete);
        if last || incomplete {
            self.stop_recording(context);
        }
    }

    /// The capture has cut SACK blocks from the next ACK: what is recorded ends before it, unless a recovery lasts.
    pub fn end_before_cut(&mut self, context: &EpisodeContext<'_>, now: Instant) {
        if self.tape.is_some() && self.recovering.is_empty() && !self.blocks_cut {
            self.replay_and_settle(context, now, true);
            self.stop_recording(context);
        }
    }

    /// The connection has ended. Segments that still come are recorded separately. Returns what
    /// it showed of the hosts.
    pub fn on_connection_over(&mut self, context: &EpisodeContext<'_>, now: Instant) -> Learned {
        if let Some(tape) = &mut self.tape {
            tape.deliver_rest();
            self.replay_and_settle(context, now, true);
            self.stop_recording(context);
        }
        self.shrink();
        Learned { sender: sender_facts(&self.replayed(context), context), receiver: self.receiver_facts() }
    }

    /// Frees spare memory: little will be added.
    fn shrink(&mut self) {
        self.rows.shrink_to_fit();
        self.recovering.shrink_to_fit();
        self.profile_replays.shrink_to_fit();
        self.ack_verdicts.shrink();
        self.arrival_verdicts.shrink();
    }

    /// Facts about the receiver since the last call.
    fn receiver_facts(&mut self) -> HostFacts {
        HostFacts { duplicates: self.ack_verdicts.take_reports(), ..HostFacts::default() }
    }

    fn stop_recording(&mut self, context: &EpisodeContext<'_>) {
        for replay in &mut self.profile_replays {
            replay.end_stretch(context);
        }
        if let Some(mut tape) = self.tape.take() {
            tape.trim();
            context.pools.tapes.give(tape);
        }
    }

    /// The sender sent `segment`, with or without data. `again`: the end of a retransmission.
    #[inline]
    pub fn on_segment(&mut self, sent: Departure, segment: &Segment, again: Option<Offset>) {
        if let Some(tape) = &mut self.tape {
            tape.on_segment(sent, segment, again);
        }
    }

    /// The segment holds only bytes above `snd_nxt`.
    #[inline]
    pub fn on_new(&mut self, at: Instant, span: Span) {
        if let Some(tape) = &mut self.tape {
            self.quiet_steps += 1;
            let paced = at.since(self.heard_at) > reduction::AT_ONCE;
            let count = &mut self.clocked[usize::from(paced)];
            *count = count.saturating_add(1);
            tape.on_sent(at, span, None);
        }
    }

    /// The sender learned that the path takes segments of at most `mss` bytes.
    pub fn on_path_mtu(&mut self, at: Instant, mss: u32) {
        if let Some(tape) = &mut self.tape {
            self.quiet_steps = 0;
            tape.on_path_mtu(at, mss);
        }
    }

    /// The segment holds bytes below `snd_nxt`.
    pub fn on_below_nxt(
        &mut self,
        packet: &CapturedPacket,
        at: Instant,
        span: Span,
        kind: PacketKind,
        prior: &PriorTransmissions,
    ) {
        let segment = &packet.segment;
        self.quiet_steps = 0;
        let index = self.rows.len() as u32;
        let ts = segment.options.timestamps.map(|ts| ts.value);
        let copy = Transmission { at, ts_value: ts };
        let seen = SeenBytes {
            all: matches!(kind, PacketKind::Repeated | PacketKind::LateOriginal) && !prior.has_new_bytes,
            // A retransmission since then has an entry of its own in `arrival_verdicts`.
            first: prior.original.filter(|_| prior.copies == Some(0)),
            order_to_first: prior.order_by_id,
            higher: prior.revealed_ts,
            // Before the capture began, another copy may have arrived.
            sent_after_higher: kind == PacketKind::FilledGap(Some(true)) && prior.copies.is_some(),
        };
        self.arrival_verdicts.on_arrival(index, span, copy, seen);
        self.answered_at = self.answered_at.max(prior.advanced_at.unwrap_or_default());
        let retransmitted = matches!(kind, PacketKind::Repeated | PacketKind::FilledGap(None | Some(true)));
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
            kind,
            copy: (prior.copies.unwrap_or_else(|| self.copies_of(span.start))).saturating_add(1),
            ts,
            detection: prior.original.map(|original| at.since(original.at)),
            recovery: None,
            recovering: None,
            recovered_by: prior.nxt,
            rtt: prior.rtt,
            flight: prior.flight,
            sent_lately: prior.sent_lately,
            most_flight: prior.most_flight,
            triggers: match syn {
                true if segment.flags.contains(Flags::ACK) => Trigger::SynAck.into(),
                true => Trigger::Syn.into(),
                false => Triggers::UNKNOWN,
            },
            explained: Default::default(),
            verdict: (Verdict::Unknowable, Evidence::Ambiguous).into(),
            arrival: None,
            // The report of the last byte would have been its ACK.
            acknowledged: prior.acknowledged,
            all_due: match self.reports.highest >= prior.nxt {
                true => due_by_report(prior.all_due, self.reports.at, prior.rtt, Duration::ZERO),
                false => prior.all_due,
            },
            testimony: self.testimony(at, span, prior),
            all_acknowledged_at: prior.all_acknowledged_at,
            rtt_beside: self.holes.rtt_beside(span.start, prior.rtt_before),
            near_receiver: prior.near_receiver,
            answer_due: prior.last_copy.and(prior.answer_due),
            clues: Clues {
                only_smaller_arrived: prior.copies >= Some(FAILED_COPIES)
                    && self.reports.is_above(span.start)
                    && self.reports.largest < span.len(),
                reported_above: self.reports.is_above(span.start),
                within_recovery: !self.recovering.is_empty(),
                is_last: span.end >= prior.nxt,
                original_held_up: prior.original_held_up,
                refused_with_syn: prior.refused_with_syn,
                beyond_window: prior.beyond_window,
                ..Clues::default()
            },
        };
        self.rows.push(row);
        if retransmitted {
            if self.recovering.is_empty() {
                self.unanswered = (!prior.acknowledged).then_some((index, span));
                self.unreported = (self.reports.highest < prior.nxt).then_some((index, prior.nxt));
            }
            self.retransmitted_to =
                if self.recovering.is_empty() { span.end } else { self.retransmitted_to.max(span.end) };
            // A report of this copy shows nothing of the original.
            self.unreported = self.unreported.filter(|(_, nxt)| span.end < *nxt);
            // Bytes above `snd_nxt` are sent for the first time here.
            let old = Span::new(span.start, span.end.min(prior.nxt));
            self.ack_verdicts.note_acknowledged(prior.acked);
            self.ack_verdicts.on_retransmission(index, old, copy, prior.original);
            if let Some(tape) = &mut self.tape {
                let sack_bytes = match segment.options.sack.as_slice().len() {
                    0 => 0,
                    // Kind, length and two bytes of padding (RFC 2018 §3).
                    blocks => 4 + 8 * blocks as u8,
                };
                tape.on_sent(prior.sent_at, span, Some(Retransmitted { row: index, sack_bytes }));
            }
            self.recovering.push_back(index);
        }
    }

    /// The receiver sent nothing for a long time: copies that it would have answered then did not arrive.
    #[cold]
    fn on_silence(&mut self, silence: Silence) {
        self.silence = silence;
        let recent = self.rows.iter_mut().rev().take(RECENT_ROWS).take_while(|row| row.at > silence.from);
        for row in recent {
            if row.answer_due.is_some_and(|due| silence.covers_answer(due)) {
                row.testimony = Testimony::Missing;
            }
        }
    }

    /// What the receiver has said of the last copy of `span`, captured again `at`. Without SACK an ACK reports only the
    /// bytes that it asks for.
    fn testimony(&self, at: Instant, span: Span, prior: &PriorTransmissions) -> Testimony {
        let (Some(copy), Some(due), Some(advanced_at)) = (prior.last_copy, prior.answer_due, prior.advanced_at) else {
            return Testimony::None;
        };
        if self.silence.covers_answer(due) {
            return Testimony::Missing;
        }
        let would_report = !self.without_sack || span.start == prior.acked;
        if prior.acknowledged || !would_report || self.ack_verdicts.may_have_arrived(span, &copy, due) {
            return Testimony::None;
        }
        let heard_at = self.heard_at.max(advanced_at);
        // What was sent later has arrived: no delay of the path explains that.
        let overtaken = self.reports.are_many(span, prior.acked);
        if heard_at >= due + prior.jitter || (heard_at >= due && overtaken) {
            Testimony::Missing
        } else if heard_at >= due || at >= due + LONGEST_DELAYED_ACK {
            Testimony::Unanswered
        } else {
            Testimony::None
        }
    }

    /// The capture holds most packets twice, so a SYN-ACK within `at_once` of an identical one is a
    /// duplicate too. Returns how many are.
    #[cold]
    pub fn mark_duplicate_syn_acks(&mut self, at_once: Duration) -> u64 {
        let mut duplicates = 0_u64;
        let mut before = None;
        let answers = (self.rows.iter_mut()).filter(|row| row.triggers == Trigger::SynAck.into());
        for row in answers {
            let since = before.map_or(row.detection, |before| Some(row.at.since(before)));
            before = Some(row.at);
            let earlier = u16::try_from(duplicates).unwrap_or(u16::MAX);
            // The count starts again where older rows are forgotten.
            row.copy = row.copy.saturating_sub(earlier).max(1);
            if since.is_some_and(|since| since < at_once) {
                row.kind = PacketKind::Duplicate;
                duplicates += 1;
            }
        }
        duplicates
    }

    /// How often the byte at `offset` was retransmitted, among recent rows.
    fn copies_of(&self, offset: Offset) -> u16 {
        let recent = self.rows.iter().rev().take(RECENT_ROWS);
        recent.filter(|row| row.span.contains(offset)).map(|row| row.copy).max().unwrap_or(0)
    }

    /// The index of the last row.
    pub fn last_row(&self) -> Option<u32> {
        u32::try_from(self.rows.len().checked_sub(1)?).ok()
    }

    /// The recovery that begins with this row took `nanos` ns.
    pub fn set_recovering(&mut self, row: u32, nanos: u64) {
        if let Some(row) = self.rows.get_mut(row as usize) {
            row.recovering = Some(Duration::from_nanos(nanos));
        }
    }

    /// Whether a recent row holds all of `span`.
    pub fn has_copy_of(&self, span: Span) -> bool {
        let mut recent = self.rows.iter().rev().take(RECENT_ROWS);
        recent.any(|row| row.span.covers(span))
    }

    /// The timestamp of the latest copy of `span`, among recent rows.
    pub fn latest_ts_of(&self, span: Span) -> Option<u32> {
        let recent = self.rows.iter().rev().take(RECENT_ROWS);
        let mut same = recent.filter(|row| row.span.overlaps(span) && row.kind != PacketKind::LateOriginal);
        same.next()?.ts
    }

    /// The sender has answered in `nanos`, the shortest time so far, seen from the capture point.
    pub fn on_lag(&mut self, nanos: u64) {
        if let Some(tape) = &mut self.tape {
            tape.on_lag(nanos);
        }
    }

    /// The receiver sent an ACK. `una` is the highest cumulative ACK captured before it. `sent` finds segments
    /// that it may cover.
    pub fn on_ack(&mut self, at: Instant, una: Offset, ack: &Ack, marks: AckMarks, sent: SentSegments<'_>) {
        let AckMarks { echo, ts, missing, blocks_cut } = marks;
        if missing != Some(0) {
            self.answered_at = at;
        } else if at.since(self.answered_at.min(at)) > LONGEST_DELAY {
            self.on_silence(Silence { from: self.answered_at, until: at });
        }
        // Data of the receiver that acknowledges nothing new answers nothing.
        if !ack.carries_data || ack.cumulative > una {
            self.answered_at = at;
        }
        self.heard_at = at;
        self.blocks_cut |= blocks_cut;
        if let Some(tape) = &mut self.tape {
            let shows_loss = ack.has_blocks() || ack.cumulative == una;
            self.quiet_steps = if shows_loss { 0 } else { self.quiet_steps + 1 };
            tape.on_ack(at, ack, echo, ts);
        }
        if !self.ack_verdicts.is_idle() || ack.has_blocks() || self.without_sack {
            self.ack_verdicts.on_ack(at, una, ack, echo, sent);
        }
        self.holes.on_ack(at, ack, sent);
        self.reports.on_ack(at, una, ack, self.without_sack);
        if let Some((index, end)) = self.unreported
            && (self.reports.highest >= end || ack.cumulative >= end)
        {
            self.unreported = None;
            let row = &mut self.rows[index as usize];
            // Once the hole is filled, nothing holds up an ACK that no report preceded.
            let in_time = row.clues.reported_above && una >= self.retransmitted_to;
            // A report comes at once, an ACK may be delayed (RFC 5681 §4.2).
            if self.reports.highest >= end {
                row.all_due = due_by_report(row.all_due, at, row.rtt, Duration::ZERO);
            } else if in_time {
                row.all_due = due_by_report(row.all_due, at, row.rtt, DELAYED_ACK);
            }
        }
        if let Some((index, span)) = self.unanswered
            && span.end <= ack.cumulative
        {
            self.unanswered = None;
            self.rows[index as usize].clues.answer = answer(ack, span, missing);
        }
        while let Some(&index) = self.recovering.front() {
            let row = &mut self.rows[index as usize];
            if row.recovered_by > ack.cumulative {
                break;
            }
            row.recovery = Some(at.since(row.at));
            self.recovering.pop_front();
            self.recovered_at = at;
        }
    }

    /// The receiver's SACK blocks turn out to report what was never sent.
    pub fn on_unusable_reports(&mut self) {
        self.without_sack = true;
    }

    /// Since when nothing has been recovered; `None` while something is.
    pub fn idle_since(&self) -> Option<Instant> {
        self.recovering.is_empty().then_some(self.recovered_at)
    }

    /// The receiver has closed and knows that its FIN arrived: it may no longer report duplicates.
    pub fn on_close(&mut self, now: Instant) {
        self.ack_verdicts.on_close(now);
    }

    /// Either end sent a reset.
    pub fn on_reset(&mut self, now: Instant) {
        self.ack_verdicts.on_reset(now);
    }

    /// Replays what is recorded, and settles the verdicts that are final. `last`: the recording ends.
    fn replay_and_settle(&mut self, context: &EpisodeContext<'_>, now: Instant, last: bool) {
        self.replay(context, last);
        self.take_verdicts(context, now, false);
    }

    /// Takes the verdicts that are settled at `now`, or all at the end of the connection.
    fn take_verdicts(&mut self, context: &EpisodeContext<'_>, now: Instant, all: bool) {
        let Self { rows, ack_verdicts, arrival_verdicts, .. } = self;
        ack_verdicts.set_receiver_options(receiver_options(context));
        let decided = |index: u32, verdict| {
            if let Some(row) = rows.get_mut(index as usize) {
                row.verdict = verdict;
            }
        };
        if all {
            ack_verdicts.finish(now, context.min_rtt, decided);
        } else {
            ack_verdicts.settle(now, context.min_rtt, decided);
        }
        let arrived = |index: u32, arrival| {
            if let Some(row) = rows.get_mut(index as usize) {
                row.arrival = arrival;
            }
        };
        if all {
            arrival_verdicts.finish(arrived);
        } else {
            arrival_verdicts.settle(now, arrived);
        }
    }
}

/// When the ACK of everything sent was due: when the receiver reported the last of it, unless that was later than round
/// trips differ; then what held the report up would have held the ACK up as well, and belongs to the episode.
/// `expected`: by the usual round trip `rtt`. `delay`: how long the receiver may have delayed it.
fn due_by_report(expected: Instant, reported: Instant, rtt: Option<Duration>, delay: Duration) -> Instant {
    let usual = rtt.unwrap_or_default().max(LEAST_DELAY) + delay;
    if reported > expected + usual { expected } else { reported }
}

/// Facts about the direction's sender from the replays. Away from the sender the scores are blurred, and
/// show no probes.
fn sender_facts(replayed: &Replayed, context: &EpisodeContext<'_>) -> HostFacts {
    match context.vantage {
        Vantage::Unknown => HostFacts::default(),
        Vantage::Sender => context.candidates.facts(&replayed.scores, replayed.probes),
        Vantage::Between | Vantage::Receiver => {
            let no_probes = ProbeEvidence::default();
            context.candidates.facts(&replayed.scores, no_probes)
        }
    }
}

/// Options of the receiver. They are known only after a retransmitted SYN.
fn receiver_options(context: &EpisodeContext<'_>) -> ReceiverOptions {
    let reports_duplicates = context.sack && context.reports_usable && context.blocks_cut_at == Instant::ZERO;
    ReceiverOptions { timestamps: context.timestamps, reports_duplicates }
}

#[cfg(test)]
mod tests;
