//! Transmissions that are never repeated: numbered packets, and data that the host abandons.
//!
//! ```text
//! QUIC numbers its packets. If the host still wants to send the contents of a lost packet, it puts them into a
//! new packet (RFC 9002 §2, §3). Offsets then count packets: packet n is at offset n + 1.
//!     on_packet_sent    the host sent a packet: its size, and a token of the host
//!     on_packets_acked  the peer acknowledged ranges of numbers; the host gets each packet back
//!     take_lost         the packets declared lost, once each; the sender forgets them
//! A packet acknowledged after it was taken out as lost was late: its loss was spurious.
//! ```
//! The sender notices that a packet was late for three RTOs after it was taken out, and for the last 1,024 packets
//! (RFC 9000 §13.3 leaves the time to the sender).

use super::*;
use crate::ack::AckSummary;
use crate::scoreboard::SentSegment;
use core::fmt;
use core::ops::RangeInclusive;

/// The offsets of the packets with these numbers.
pub fn packet_numbers(numbers: RangeInclusive<u64>) -> Span {
    let (first, last) = numbers.into_inner();
    Span::new(Offset::DATA + first, Offset::DATA + last + 1)
}

/// The number of the first packet in `span`.
pub fn packet_number(span: Span) -> u64 {
    span.start.since(Offset::DATA)
}

/// A packet that was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Packet {
    /// Its offsets; [`number`](Self::number) converts them.
    pub span: Span,
    /// When it was last sent.
    pub sent_at: Instant,
    /// Its bytes, as the host reported them.
    pub size: u32,
    /// The host's token for it.
    pub token: u64,
}

impl Packet {
    fn of(segment: &SentSegment) -> Self {
        Self { span: segment.span, sent_at: segment.sent_at, size: segment.size, token: segment.token }
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
    /// New data that does not begin where the last ended, or is empty, or is longer than 4 GiB or one packet.
    NotNext,
    /// New data, while as much is outstanding as the sender's memory holds.
    Full,
    /// A copy of data that is not outstanding. A retransmission of no data, of data never sent, or while nothing is
    /// outstanding.
    NotOutstanding,
    /// A retransmission or a copy, where packets are numbered: each packet is sent once.
    Repeated,
    /// Any transmission after the connection was given up.
    GivenUp,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotNext => "new data must begin where the last ended, and have 1 byte to 4 GiB, or one packet",
            Self::Full => "the sender's memory is full of outstanding segments",
            Self::NotOutstanding => "only outstanding data is copied or retransmitted",
            Self::Repeated => "a numbered packet is sent once",
            Self::GivenUp => "the connection was given up",
        })
    }
}

impl core::error::Error for Refused {}

impl<C: CongestionControl> Sender<C> {
    /// The host sent `what`, which is what [`next_send`](Self::next_send) returned. `size`: its bytes. `token`: any
    /// number by which the host recognizes its contents; [`Packet`] returns it. Where positions count bytes, this is
    /// [`on_sent`](Self::on_sent) with an error value. New data beyond the data written counts as written.
    ///
    /// Returns the number of the packet, or the position of the segment in the stream, from 0.
    ///
    /// # Errors
    /// `what` cannot have been sent. The sender is as before.
    pub fn on_packet_sent(&mut self, now: Instant, what: Transmission, size: u32, token: u64) -> Result<u64, Refused> {
        if let Some(refused) = self.refusal(what) {
            return Err(refused);
        }
        self.commit(now, what, size);
        if what.is_new() {
            self.board.describe_last(size, token);
        }
        Ok(what.span().map_or(0, packet_number))
    }

    /// Remembers in `memory` the packets that [`take_lost`](Self::take_lost) takes out, so that the sender notices
    /// their late arrival. It remembers as many as `memory` has room for, at most 1,024, and no longer allocates for
    /// them. It forgets those that it remembered before.
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
            Transmission::Again(..) | Transmission::Copy(_) if self.board.numbers_packets() => Some(Refused::Repeated),
            Transmission::Again(span, _) => {
                // A replay may show a retransmission of data that was acknowledged meanwhile.
                let none = self.board.is_empty() || span.is_empty();
                let unsent = span.start >= self.board.nxt();
                (none || unsent).then_some(Refused::NotOutstanding)
            }
            Transmission::Copy(span) => {
                let outstanding = Span::new(self.board.una(), self.board.nxt());
                (!outstanding.covers(span)).then_some(Refused::NotOutstanding)
            }
            Transmission::WindowProbe => None,
        }
    }

    /// An acknowledgment of numbered packets arrived. `ranges`: the packets that it reports
    /// ([`packet_numbers`] converts numbers), in any order; they may repeat earlier reports. `delay`: how long the
    /// receiver held the acknowledgment back, or zero if it does not say.
    ///
    /// Calls `each` with every outstanding packet that this acknowledges, in no particular order. Packets that
    /// [`take_lost`](Self::take_lost) took out are not outstanding: [`AckSummary::late`] counts them. A range with a
    /// packet that was never sent is ignored and counted
    /// ([`Counters::impossible_blocks`](crate::Counters::impossible_blocks)). Where positions count bytes, the call is
    /// ignored and counted ([`impossible_acks`](crate::Counters::impossible_acks)).
    pub fn on_packets_acked(
        &mut self,
        now: Instant,
        ranges: &[Span],
        delay: Duration,
        mut each: impl FnMut(&Packet),
    ) -> AckSummary {
        let mut summary = AckSummary::default();
        if !self.board.numbers_packets() {
            self.totals.counters.impossible_acks += 1;
            return summary;
        }
        let mut ack = Ack::new(self.board.una(), u64::MAX).with_ranges(ranges);
        ack.ack_delay = delay;
        self.given_up.take_late(now, ranges, &mut summary);
        self.process_ack(now, &ack, &mut summary, &mut |s| each(&Packet::of(s)));
        summary
    }

    /// Takes out the lowest lost segment. The sender neither retransmits it nor waits for it any longer.
    ///
    /// Where packets are numbered, the host calls this after each ACK and each timer until it returns `None`. To send
    /// the contents of a lost packet again, it calls [`on_written`](Self::on_written) with one packet for each.
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
    /// for their data. A segment in flight stays in the pipe until it is acknowledged or lost. When all segments below
    /// it are settled, [`una`](Self::una) passes an abandoned segment that is lost. Changes nothing where packets are
    /// numbered, because no packet is retransmitted.
    pub fn abandon(&mut self, now: Instant, span: Span) {
        if !self.board.numbers_packets() {
            self.board.abandon(span);
            self.give_up_abandoned(now);
        }
    }

    /// Gives up the lost segments that the host abandoned.
    #[inline]
    pub(super) fn give_up_abandoned(&mut self, now: Instant) {
        if self.board.gives_up() {
            self.give_up_lost_and_abandoned(now);
        }
    }

    fn give_up_lost_and_abandoned(&mut self, now: Instant) {
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
            self.note_nothing_outstanding(now);
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
