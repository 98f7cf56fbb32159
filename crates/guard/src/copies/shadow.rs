//! The engine beside the kernel: one direction of a connection, followed from its packets.
//!
//! Two senders hear and see the same. The *kernel's* follows the rules that this host's kernel has. The *helper* has the mechanisms
//! that help besides: what it would send now and the kernel does not is what the guard sends. Both are told what the kernel sends,
//! and only the helper what the guard sends.
//!
//! The timers of the helper that help fire at their time. Every other timer fires when the kernel has retransmitted
//! ([`Sender::reason_for`]): its clock decides.

use recoup_recovery::slp::Carried;
use recoup_recovery::{Ack, Mechanisms, Sender, Timer, Transmission, Trigger};
use recoup_units::{Instant, Offset, Span};
use recoup_wire::{Flags, Segment, SeqNumber};
use std::time::Duration;

/// The largest payload of a segment if the peer names none (RFC 9293 §3.7.1; over IPv6, RFC 8200 §5 permits more, which is not used).
const USUAL_MSS: u32 = 536;

/// How much later than its deadline a timer of the kernel fires at most, besides an eighth of its length: Linux's timer wheel.
const LATE: Duration = Duration::from_millis(20);

/// A probe has to be sooner than the kernel's own by more than its clock is coarse: two ticks with HZ=250.
const SOONER: Duration = Duration::from_millis(8);

/// One end's SYN: what it offers.
#[derive(Clone, Copy, Debug)]
pub struct Offer {
    pub isn: SeqNumber,
    pub mss: Option<u16>,
    pub window_scale: Option<u8>,
    pub sack: bool,
    pub timestamps: bool,
}

impl Offer {
    pub fn of(syn: &Segment) -> Self {
        let options = &syn.options;
        Self {
            isn: syn.seq,
            mss: options.mss,
            window_scale: options.window_scale,
            sack: options.sack_permitted,
            timestamps: options.timestamps.is_some(),
        }
    }
}

/// What the guard would send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wish {
    /// A copy before any sign of loss (selective loss prevention).
    Copy(Span),
    /// A probe of the tail, sooner than the kernel's.
    Probe(Span),
}

impl Wish {
    pub fn span(self) -> Span {
        match self {
            Self::Copy(span) | Self::Probe(span) => span,
        }
    }
}

/// What a packet of this direction is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sent {
    /// Bytes sent for the first time: the last segment of them.
    New(Span),
    /// Bytes sent before.
    Again(Span),
    /// Nothing that is acknowledged.
    Nothing,
    /// It does not fit what was seen before.
    Unclear,
}

/// The segment that was sent last, as long as it may be worth a copy.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    at: Instant,
    span: Span,
    carried: Carried,
}

/// The engine beside one sending kernel.
#[derive(Clone, Debug)]
pub struct Shadow {
    kernel: Sender,
    helper: Sender,
    isn: SeqNumber,
    mss: u32,
    /// The shift of the peer's windows.
    scale: u8,
    candidate: Option<Candidate>,
}

impl Shadow {
    /// Begins as this host sends its SYN or SYN-ACK at `at`.
    pub fn new(
        at: Instant,
        own: &Offer,
        trigger: Trigger,
        kernel: &Mechanisms,
        helper: &Mechanisms,
        ip_len: u32,
    ) -> Self {
        let sender = |mechanisms| {
            let mut sender = Sender::new(mechanisms, USUAL_MSS, trigger, false);
            // How long the application waits is its own affair.
            sender.set_user_timeout(Duration::from_secs(1 << 30));
            sender.on_sent(at, Transmission::New(Span::new(Offset::SYN, Offset::DATA)));
            sender
        };
        let candidate =
            Candidate { at, span: Span::new(Offset::SYN, Offset::DATA), carried: Carried { ip_len, push: false } };
        Self {
            kernel: sender(kernel),
            helper: sender(helper),
            isn: own.isn,
            mss: USUAL_MSS,
            scale: 0,
            candidate: Some(candidate),
        }
    }

    /// Both ends have said what they offer.
    pub fn agree(&mut self, at: Instant, own: &Offer, peer: &Offer) {
        let offered = [own.mss, peer.mss].into_iter().flatten().map(u32::from).min();
        let timestamps = own.timestamps && peer.timestamps;
        // RFC 7323 appendix A: the option takes 12 bytes of each segment.
        self.mss = offered.unwrap_or(USUAL_MSS).saturating_sub(if timestamps { 12 } else { 0 }).max(1);
        let scaled = own.window_scale.is_some();
        self.scale = peer.window_scale.filter(|_| scaled).unwrap_or(0);
        for sender in [&mut self.kernel, &mut self.helper] {
            sender.set_sack(own.sack && peer.sack);
            sender.set_mss(at, self.mss);
        }
    }

    pub fn mss(&self) -> u32 {
        self.mss
    }

    pub fn isn(&self) -> SeqNumber {
        self.isn
    }

    pub fn una(&self) -> Offset {
        self.kernel.una()
    }

    pub fn nxt(&self) -> Offset {
        self.kernel.nxt()
    }

    pub fn srtt(&self) -> Option<Duration> {
        self.kernel.rtt().srtt()
    }

    pub fn min_rtt(&self) -> Option<Duration> {
        self.kernel.rtt().min()
    }

    /// When the kernel last sent the segment at the beginning of `span`.
    pub fn sent_at(&self, span: Span) -> Option<Instant> {
        self.kernel.board().segment_at(span.start).map(|segment| segment.sent_at)
    }

    /// Whether the peer has all of `span`.
    pub fn is_delivered(&self, span: Span) -> bool {
        let board = self.kernel.board();
        span.end <= board.una() || board.overlapping(span).all(|segment| segment.is_sacked())
    }

    /// The offset of a sequence number of this direction, near what was sent last.
    pub fn offset(&self, seq: SeqNumber) -> Option<Offset> {
        seq.unwrap(self.isn, self.nxt())
    }

    /// Whether this direction has ended, and the peer has all of it.
    pub fn has_ended(&self) -> bool {
        self.kernel.fin().is_some_and(|fin| self.una() > fin)
    }

    /// The duplicate that a segment of the peer's reports (RFC 2883).
    pub fn duplicate(&self, segment: &Segment) -> Option<Span> {
        self.ack_of(segment)?.dsack()
    }

    /// When the kernel would retransmit next, by its rules.
    pub fn kernel_acts_at(&self) -> Option<Instant> {
        let timers = self.kernel.retransmission_timers();
        timers.map(|(_, at)| at).min()
    }

    /// This host's kernel sent a segment.
    pub fn on_sent(&mut self, at: Instant, segment: &Segment, ip_len: u32) -> Sent {
        let syn = segment.flags.contains(Flags::SYN);
        let len = u64::from(segment.sequence_len());
        if len == 0 {
            return Sent::Nothing;
        }
        let Some(start) = self.offset(segment.seq) else { return Sent::Unclear };
        let (nxt, span) = (self.nxt(), Span::at(start, len));
        if syn && start != Offset::SYN {
            return Sent::Unclear;
        }
        if span.start > nxt {
            return Sent::Unclear;
        }
        let known = Span::new(span.start, span.end.min(nxt));
        if !known.is_empty() {
            if known.end > self.una() {
                self.on_again(at, known);
            }
            if span.end <= nxt {
                return Sent::Again(known);
            }
        }
        let fin = segment.flags.contains(Flags::FIN);
        let last = self.on_new(at, Span::new(nxt, span.end), fin);
        let carried = Carried { ip_len, push: segment.flags.contains(Flags::PSH) };
        self.candidate = Some(Candidate { at, span: last, carried });
        match known.is_empty() {
            true => Sent::New(last),
            false => Sent::Again(known),
        }
    }

    /// New bytes, and whether the last of them is a FIN. Returns the last segment.
    fn on_new(&mut self, at: Instant, span: Span, fin: bool) -> Span {
        let mut last = span;
        for sender in [&mut self.kernel, &mut self.helper] {
            let bytes = Span::new(span.start, if fin { Offset(span.end.0 - 1) } else { span.end });
            let mut start = span.start;
            while start < span.end {
                let full = start + u64::from(self.mss);
                // A FIN goes with the last data.
                let end = if full >= bytes.end { span.end } else { full };
                let piece = Span::new(start, end);
                let more = piece.end.min(bytes.end).since(sender.limit());
                if more > 0 {
                    sender.on_written(at, more);
                }
                if fin && end == span.end {
                    sender.close(at);
                }
                let what = sender.send_for_new(at, piece, |due| due <= at);
                sender.on_sent(at, what);
                (start, last) = (end, piece);
            }
        }
        last
    }

    fn on_again(&mut self, at: Instant, span: Span) {
        self.candidate = None;
        for sender in [&mut self.kernel, &mut self.helper] {
            let is_due = |_: Timer, due: Instant| due <= at + LATE + at.since(due) / 8;
            let reason = sender.reason_for(at, span, false, is_due).map(|reason| reason.trigger);
            let trigger = reason.or_else(|| sender.likely_trigger(at, span, true)).unwrap_or(Trigger::Fast);
            sender.on_sent(at, Transmission::Again(span, trigger));
        }
    }

    /// A segment of the peer's arrived. `false` if it acknowledges what was never sent.
    pub fn on_ack(&mut self, at: Instant, segment: &Segment) -> bool {
        let Some(ack) = self.ack_of(segment) else { return true };
        if ack.cumulative > self.nxt() {
            return false;
        }
        for sender in [&mut self.kernel, &mut self.helper] {
            sender.on_ack(at, &ack);
        }
        if self.candidate.is_some_and(|candidate| self.is_delivered(candidate.span)) {
            self.candidate = None;
        }
        true
    }

    fn ack_of(&self, segment: &Segment) -> Option<Ack> {
        let cumulative = segment.ack.unwrap(self.isn, self.una())?;
        let scale = if segment.flags.contains(Flags::SYN) { 0 } else { self.scale };
        let mut ack = Ack::new(cumulative, u64::from(segment.window) << scale);
        ack.carries_data = segment.sequence_len() > 0;
        let blocks = segment.options.sack.iter().filter_map(|edges| {
            let [start, end] = edges.map(|edge| edge.unwrap(self.isn, cumulative));
            start.zip(end).map(|(start, end)| Span::new(start, end))
        });
        Some(ack.with_blocks(blocks))
    }

    /// When the guard may wish something.
    pub fn next_time(&self) -> Option<Instant> {
        let gap = self.helper.copy_gap();
        let copy = self.candidate.zip(gap).map(|(candidate, gap)| candidate.at + gap);
        [copy, self.helper.deadline(Timer::Probe)].into_iter().flatten().min()
    }

    /// What the guard would send at `now`, once it is time. It is asked again until there is nothing.
    pub fn wish(&mut self, now: Instant) -> Option<Wish> {
        let gap = self.helper.copy_gap();
        if let Some((candidate, gap)) = self.candidate.zip(gap)
            && candidate.at + gap <= now
        {
            self.candidate = None;
            if self.copies(candidate, now) {
                return Some(Wish::Copy(candidate.span));
            }
        }
        if self.helper.deadline(Timer::Probe).is_some_and(|at| at <= now) {
            let is_sooner = self.kernel_acts_at().is_some_and(|at| at > now + SOONER);
            self.helper.on_timer(now, Timer::Probe);
            if let Some(Transmission::Again(span, Trigger::Tlp)) = self.helper.next_send(now)
                && is_sooner
            {
                return Some(Wish::Probe(span));
            }
        }
        None
    }

    /// Whether the engine sends a copy of what was the last segment when its gap was over.
    fn copies(&mut self, candidate: Candidate, now: Instant) -> bool {
        let Candidate { at, span, carried } = candidate;
        if !self.helper.offer_copy(at, span, carried) {
            return false;
        }
        self.helper.on_timer(now, Timer::Copy);
        self.helper.next_send(now) == Some(Transmission::Copy(span))
    }

    /// The guard sent it, or would have.
    pub fn on_helped(&mut self, now: Instant, wish: Wish) {
        let what = match wish {
            Wish::Copy(span) => Transmission::Copy(span),
            Wish::Probe(span) => Transmission::Again(span, Trigger::Tlp),
        };
        self.helper.on_sent(now, what);
    }
}
