//! What is not repeated: packets, each with a number of its own, and data that the host abandons.
//!
//! ```text
//! QUIC and others number packets. What was in a lost packet goes in a new one, if the host still wants it
//! to (RFC 9002 §2, §3). The sequence space is then that of the packets, packet n at offset n + 1:
//!     on_packet_sent    one more packet, its bytes and a token of the host's
//!     on_packets_acked  ranges of numbers; each packet acknowledged is given to the host
//!     take_lost         the packets declared lost, once each; the sender knows them no longer
//! A packet acknowledged after it was taken out as lost was late: its loss was spurious.
//! ```
//! How long a packet may be late: three RTOs after it was taken out, and 1,024 packets (RFC 9000 §13.3 leaves the
//! time to the sender).

use super::*;
use crate::ack::AckSummary;
use crate::scoreboard::SentSegment;
use core::fmt;
use core::ops::RangeInclusive;

/// The sequence space of the packets with these numbers.
pub fn packet_numbers(numbers: RangeInclusive<u64>) -> Span {
    let (first, last) = numbers.into_inner();
    Span::new(Offset::DATA + first, Offset::DATA + last + 1)
}

/// The number of the packet that covers `span`.
pub fn packet_number(span: Span) -> u64 {
    span.start.since(Offset::DATA)
}

/// A packet that was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Packet {
    /// Its number, or its sequence space.
    pub span: Span,
    /// When it was sent.
    pub sent_at: Instant,
    /// Its bytes.
    pub size: u32,
    /// What the host gave with it.
    pub token: u64,
}

impl Packet {
    fn of(segment: &SentSegment) -> Self {
        Self {
            span: segment.span,
            sent_at: segment.sent_at,
            size: segment.size,
            token: segment.token,
        }
    }

    /// Its number, where packets are numbered.
    pub fn number(&self) -> u64 {
        packet_number(self.span)
    }
}

/// Why a transmission cannot have happened as reported. The sender is as before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refused {
    /// New data that does not begin where the last ended, or is empty, or is longer than 4 GiB.
    NotNext,
    /// New data, while as much is outstanding as the sender's memory holds.
    Full,
    /// A copy of data that is not outstanding, or a repetition of none.
    NotOutstanding,
    /// Repeated data, where packets are numbered: none is sent twice.
    Repeated,
    /// The connection was given up.
    GivenUp,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotNext => "new data must begin where the last ended",
            Self::Full => "the sender's memory is full",
            Self::NotOutstanding => "only outstanding data is copied or repeated",
            Self::Repeated => "a numbered packet is sent once",
            Self::GivenUp => "the connection was given up",
        })
    }
}

impl core::error::Error for Refused {}

impl<C: CongestionControl> Sender<C> {
    /// A packet was sent, or a segment of `size` bytes: what [`next_send`](Self::next_send) returned. `token`:
    /// anything by which the host knows it again. Returns its number, where packets are numbered.
    ///
    /// # Errors
    /// It cannot have been sent; the sender is as before.
    pub fn on_packet_sent(
        &mut self,
        now: Instant,
        what: Transmission,
        size: u32,
        token: u64,
    ) -> Result<u64, Refused> {
        if let Some(refused) = self.refusal(what) {
            return Err(refused);
        }
        self.on_sent(now, what);
        if what.is_new() {
            self.board.describe_last(size, token);
        }
        Ok(what.span().map_or(0, packet_number))
    }

    /// Remembers packets in `memory` after [`take_lost`](Self::take_lost), so that their late arrival is noticed: as many
    /// as it has room for, 1,024 at most. From then on the sender does not allocate for them. What it remembered
    /// until then is forgotten.
    pub fn remember_in(&mut self, memory: &'static mut [GivenUpPacket]) {
        self.given_up = GivenUp::stored_in(memory);
    }

    /// Why `what` cannot have been sent.
    pub(super) fn refusal(&self, what: Transmission) -> Option<Refused> {
        if self.timers.gave_up {
            return Some(Refused::GivenUp);
        }
        match what {
            Transmission::New(span) | Transmission::NewProbe(span) => {
                let fits = (1..=u64::from(u32::MAX)).contains(&span.len());
                let alone = !self.board.numbers_packets() || span.len() == 1;
                let next = span.start == self.board.nxt() && span.end.0 < u64::MAX;
                if self.board.is_full() {
                    return Some(Refused::Full);
                }
                (!(fits && alone && next)).then_some(Refused::NotNext)
            }
            Transmission::Again(..) | Transmission::Copy(_) if self.board.numbers_packets() => {
                Some(Refused::Repeated)
            }
            Transmission::Again(span, _) => {
                // A replay may show data repeated that was acknowledged meanwhile.
                let none = self.board.is_empty() || span.is_empty();
                none.then_some(Refused::NotOutstanding)
            }
            Transmission::Copy(span) => {
                let outstanding = Span::new(self.board.una(), self.board.nxt());
                (!outstanding.covers(span)).then_some(Refused::NotOutstanding)
            }
            Transmission::WindowProbe => None,
        }
    }

    /// Packets were acknowledged: those whose numbers are in `ranges` (see [`packet_numbers`]), in any order,
    /// reported before or not. `delay`: how long the receiver says that it kept the acknowledgment back. Calls
    /// `each` with every packet that this acknowledges first.
    pub fn on_packets_acked(
        &mut self,
        now: Instant,
        ranges: &[Span],
        delay: Duration,
        mut each: impl FnMut(&Packet),
    ) -> AckSummary {
        let mut summary = AckSummary::default();
        let mut ack = Ack::new(self.board.una(), u64::MAX).with_ranges(ranges);
        ack.ack_delay = delay;
        self.given_up.take_late(now, ranges, &mut summary);
        self.process_ack(now, &ack, &mut summary, &mut |s| each(&Packet::of(s)));
        summary
    }

    /// Takes out the first lost segment. The sender does not repeat it, and waits for it no longer. To be
    /// called after each ACK and timer until it returns `None`, where packets are numbered.
    pub fn take_lost(&mut self, now: Instant) -> Option<Packet> {
        let lost = self.board.give_up_lost()?;
        if self.board.numbers_packets() {
            let until = now + self.rto() * 3;
            self.given_up.remember(GivenUpPacket::of(&lost, until));
        }
        self.note_given_up(now, lost.span);
        self.settle_given_up(now);
        Some(Packet::of(&lost))
    }

    /// Retransmits none of the outstanding segments inside `span` from now on. The host tells the peer not to wait
    /// for their data. A segment in flight stays in the pipe until it is acknowledged or lost.
    pub fn abandon(&mut self, now: Instant, span: Span) {
        self.board.abandon(span);
        self.give_up_abandoned(now);
    }

    /// Gives up the lost segments that the host abandoned.
    pub(super) fn give_up_abandoned(&mut self, now: Instant) {
        let mut any = false;
        while self.board.next_lost().is_some_and(|s| s.abandoned) {
            if let Some(lost) = self.board.give_up_lost() {
                self.note_given_up(now, lost.span);
                any = true;
            }
        }
        if any {
            self.settle_given_up(now);
        }
    }

    /// A lost segment was given up. What was in it may go in another, so this counts as a retransmission. Without one,
    /// the next ACK would count as proof that nothing was lost.
    fn note_given_up(&mut self, now: Instant, span: Span) {
        self.episode.undo.on_retransmission(now);
        self.losses.suspects.on_given_up(span);
    }

    /// Segments were given up. Timers do not run for what is gone.
    fn settle_given_up(&mut self, now: Instant) {
        if self.board.is_empty() {
            self.timers.rto.stop();
            self.timers.reorder = None;
            self.timers.early = None;
            self.timers.probe.disarm();
            if let Some(since) = self.totals.busy_since.take() {
                self.totals.counters.busy += now.since(since);
            }
        }
        let una = self.board.una();
        if let Some(copying) = &mut self.copying {
            copying.copies.on_una(una);
        }
        self.review_copied();
        self.update_persist(now);
        self.log_changes(now);
    }
}
