//! The contents of an ACK ([`Ack`]), and its effects ([`AckSummary`]).
//!
//! The scoreboard computes the summary once per ACK. No other code counts deliveries.
//!
//! Source: RFC 2018 §3 (SACK blocks), RFC 2883 §4 (the first block may report a duplicate).

use crate::rtt::nanos;
use crate::scoreboard::{Sent, SentSegment};
use core::time::Duration;
use recoup_units::{Instant, Offset, Segments, Span};

/// The most SACK blocks an option can hold (RFC 2018 §3).
pub const MAX_SACK_BLOCKS: usize = 4;

/// The SACK blocks of one TCP segment, in the order of the option.
#[derive(Clone, Copy, Debug, Default)]
pub struct SackBlocks {
    blocks: [Span; MAX_SACK_BLOCKS],
    count: u8,
}

impl AsRef<[Span]> for SackBlocks {
    #[inline]
    fn as_ref(&self) -> &[Span] {
        &self.blocks[..usize::from(self.count)]
    }
}

/// An acknowledgment as the sender receives it, in 64-bit offsets of the sender's sequence space.
///
/// `B` holds its ranges above the cumulative acknowledgment: the [`SackBlocks`] of a TCP segment, or any number of
/// ranges ([`with_ranges`](Self::with_ranges)).
#[derive(Clone, Copy, Debug, Default)]
pub struct Ack<B = SackBlocks> {
    /// All data below this offset has arrived.
    pub cumulative: Offset,
    /// The receiver's window in bytes, already scaled: it takes this much from `cumulative` on.
    pub window: u64,
    /// With timestamps, the age of the echoed timestamp (RFC 7323 §4): the time since its segment was sent, as coarse as
    /// the timestamp clock.
    pub timestamp_rtt: Option<Duration>,
    /// With timestamps, the end of the echoed timestamp's tick: its segment was sent before this time (Eifel detection,
    /// RFC 3522 §3.2).
    pub echo_sent_before: Option<Instant>,
    /// The segment carries data, a SYN or a FIN. It is then no duplicate ACK (RFC 5681 §2).
    pub carries_data: bool,
    /// How long the receiver held back the ACK of the newest transmission: QUIC's ACK Delay (RFC 9000 §19.3). Zero if
    /// the receiver does not say. Only RFC 9002's RTT estimator uses it, and at most 25 ms of it.
    pub ack_delay: Duration,
    blocks: B,
}

impl Ack {
    /// An ACK of everything below `cumulative` with `window` bytes open after it.
    pub fn new(cumulative: Offset, window: u64) -> Self {
        Self { cumulative, window, ..Self::default() }
    }

    /// Adds a SACK block in the order of the option. An empty block, a reversed block and a fifth block are
    /// ignored.
    pub fn push_block(&mut self, block: Span) {
        let n = usize::from(self.blocks.count);
        if !block.is_empty() && n < MAX_SACK_BLOCKS {
            self.blocks.blocks[n] = block;
            self.blocks.count += 1;
        }
    }

    /// This ACK with `blocks`, at most four.
    pub fn with_blocks(mut self, blocks: impl IntoIterator<Item = Span>) -> Self {
        blocks.into_iter().for_each(|b| self.push_block(b));
        self
    }
}

impl<B> Ack<B> {
    /// This ACK with `blocks` for its own.
    #[inline]
    fn holding<Other>(&self, blocks: Other) -> Ack<Other> {
        Ack {
            cumulative: self.cumulative,
            window: self.window,
            timestamp_rtt: self.timestamp_rtt,
            echo_sent_before: self.echo_sent_before,
            carries_data: self.carries_data,
            ack_delay: self.ack_delay,
            blocks,
        }
    }

    /// This ACK with any number of `ranges` above the cumulative acknowledgment, in any order. As in TCP, a first
    /// range below it reports a duplicate instead (see [`dsack`](Self::dsack)). Empty and reversed ranges are ignored.
    pub fn with_ranges(self, ranges: &[Span]) -> Ack<&[Span]> {
        self.holding(ranges)
    }
}

impl Ack<&[Span]> {
    /// This ACK without its blocks.
    pub(crate) fn without_blocks(self) -> Self {
        Self { blocks: &[], ..self }
    }

    /// This ACK without its evidence of which transmission caused it.
    pub(crate) fn without_echo(self) -> Self {
        Self { echo_sent_before: None, ..self }
    }
}

impl<B: AsRef<[Span]>> Ack<B> {
    /// This ACK with borrowed blocks.
    #[inline]
    pub(crate) fn view(&self) -> Ack<&[Span]> {
        self.holding(self.blocks.as_ref())
    }

    /// Whether the ACK has blocks.
    pub fn has_blocks(&self) -> bool {
        !self.blocks().is_empty()
    }

    /// The duplicate that this ACK reports, if any: a first block below the cumulative ACK, or inside the second block
    /// (RFC 2883 §4).
    pub fn dsack(&self) -> Option<Span> {
        let blocks = self.blocks();
        let first = *blocks.first()?;
        let below = first.end <= self.cumulative;
        let inside = blocks.get(1).is_some_and(|second| second.covers(first));
        ((below || inside) && !first.is_empty()).then_some(first)
    }

    /// The blocks that report data above the cumulative ACK.
    pub fn sack_blocks(&self) -> &[Span] {
        &self.blocks()[usize::from(self.dsack().is_some())..]
    }

    /// All blocks, in the order of the option.
    pub fn blocks(&self) -> &[Span] {
        self.blocks.as_ref()
    }
}

/// The effects of one ACK.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AckSummary {
    /// Outstanding segments that the cumulative ACK now covers.
    pub newly_acked: Segments,
    /// Segments reported by SACK for the first time.
    pub newly_sacked: Segments,
    /// Segments that left the network: newly acknowledged ones that were not SACKed before, and newly SACKed ones
    /// (RFC 6937 §3, DeliveredData).
    //= RFC 9937 §6.2 step: "With SACK, DeliveredData can be computed precisely as the change in SND.UNA, plus the
    //=   signed change in quantity of data marked SACKed in the scoreboard."
    pub delivered: Segments,
    /// How far `snd_una` moved.
    pub una_advanced: u64,
    /// The peer's window moved or grew.
    pub window_changed: bool,
    /// The ACK covers at least one segment that was sent more than once.
    pub(crate) retransmission_acked: bool,
    /// The send time of the lowest never-retransmitted segment that the cumulative ACK newly covers and that was not
    /// SACKed before.
    pub(crate) first_original_acked: Option<Instant>,
    /// The send time of the lowest never-retransmitted segment newly SACKed, in whatever order the
    /// blocks came.
    pub(crate) first_original_sacked: Option<Instant>,
    /// A never-retransmitted segment arrived although later ones had been SACKed before: the path
    /// reorders, by at least this many segments (Linux's reordering metric). Zero if none arrived so.
    pub reordering: Segments,
    /// The most recently sent transmission that this ACK shows delivered. Retransmissions too young to have been
    /// answered do not count (RFC 8985 §6.2 step 2).
    pub(crate) newest_delivered: Option<Sent>,
    /// The number of that transmission.
    pub(crate) newest_number: u32,
    /// That transmission was the only one of its segment.
    pub(crate) newest_is_original: bool,
    /// The earliest transmission of a segment sent more than once that this ACK delivers;
    /// [`Instant::ZERO`] if it is not known which of its transmissions arrived.
    pub(crate) retransmission_sent: Option<Instant>,
    /// The delivered transmission that Linux examines last: the highest in the stream among those acknowledged
    /// cumulatively, or else among those SACKed. The same retransmissions do not count.
    pub(crate) last_delivered: Option<Sent>,
    /// The end of the lowest never-retransmitted segment delivered by this ACK (F-RTO's evidence,
    /// RFC 5682 §3.1 step 3b); zero if there is none.
    pub(crate) original_delivered: Offset,
    /// The duplicate that the ACK reports (RFC 2883), unless a copy caused it.
    pub dsack: Option<Span>,
    /// The ACK reports that a copy arrived besides its original (selective loss prevention).
    pub(crate) copy_reported: bool,
    /// The ACK delivers a never-retransmitted segment of which a copy was sent. It is unknown which of the two
    /// arrived.
    pub(crate) copied_delivered: bool,
    /// Numbered packets that were taken out as lost, and arrived after all.
    pub late: Segments,
}

impl AckSummary {
    /// `segment` was delivered. A retransmission sent after `plausible` is not what was answered.
    pub(crate) fn note_delivered(&mut self, segment: &SentSegment, plausible: Instant, cumulatively: bool) {
        let sent = Sent::of(segment);
        self.copied_delivered |= segment.copied;
        let is_original = segment.is_surely_original();
        if is_original {
            let end = segment.span.end;
            if self.original_delivered == Offset(0) || end < self.original_delivered {
                self.original_delivered = end;
            }
        } else {
            //= RFC 8985 §6.2 step 2 step: "The Timestamp Echo Reply field (TSecr) of the ACK's timestamp option
            //=   [RFC7323], if available, indicates the ACK was not acknowledging the last retransmission of the
            //=   segment."
            //= deviation: only the next condition is tested, as in Linux
            //= RFC 8985 §6.2 step 2 step: "The segment was last retransmitted less than RACK.min_rtt ago."
            let is_early = !segment.is_original() && sent.at > plausible;
            let at = if is_early { Instant::ZERO } else { sent.at };
            let earliest = self.retransmission_sent.get_or_insert(at);
            *earliest = at.min(*earliest);
            if is_early {
                return;
            }
        }
        if self.newest_delivered.is_none_or(|newest| newest < sent) {
            self.newest_delivered = Some(sent);
            self.newest_number = segment.number;
            self.newest_is_original = is_original;
        }
        if cumulatively || self.last_delivered.is_none_or(|last| last.end < sent.end) {
            self.last_delivered = Some(sent);
        }
    }

    /// An original segment sent at `sent_at` was SACKed; originals are sent in stream order.
    pub(crate) fn note_original_sacked(&mut self, sent_at: Instant) {
        let first = self.first_original_sacked.get_or_insert(sent_at);
        *first = sent_at.min(*first);
    }

    /// An original segment `index` places above `snd_una` arrived when the highest SACK was already
    /// `fack` places up.
    //= RFC 8985 §6.2 step 3 step: "If a never-retransmitted segment that's below RACK.fack is (selectively or
    //=   cumulatively) acknowledged, it has been delivered out of order."
    pub(crate) fn note_reordering(&mut self, fack: u32, index: u32) {
        if index < fack {
            self.reordering = self.reordering.max(Segments(fack - index));
        }
    }

    /// Whether the ACK only moved `snd_una`, over segments that were sent once and arrived in order.
    pub(crate) fn is_plain_progress(&self) -> bool {
        self.una_advanced > 0
            && self.newly_sacked == Segments::ZERO
            && self.dsack.is_none()
            && self.reordering == Segments::ZERO
            && !self.retransmission_acked
            && self.late == Segments::ZERO
    }

    /// Whether recovery counts this as a duplicate ACK: it does not advance, carries no data, moves no window (RFC 5681
    /// §2), and was not caused by a copy.
    pub(crate) fn is_duplicate<B>(&self, ack: &Ack<B>) -> bool {
        self.una_advanced == 0 && !ack.carries_data && !self.window_changed && !self.copy_reported
    }

    /// Whether the ACK reports the arrival of a copy, and nothing else.
    pub(crate) fn reports_copy_alone(&self) -> bool {
        self.copy_reported && self.una_advanced == 0 && self.newly_sacked == Segments::ZERO
    }

    /// The RTT sample of this ACK, which arrived at `now`. By Karn's rule it is from a never-retransmitted segment, if
    /// no retransmission is acknowledged with it (RFC 6298 §3). Otherwise it is from the timestamp, if new data was
    /// acknowledged (RFC 7323 §4.1).
    pub fn rtt_sample<B>(&self, now: Instant, ack: &Ack<B>) -> Option<Duration> {
        self.rtt_sample_nanos(now, ack).map(Duration::from_nanos)
    }

    /// RFC 9002's RTT sample of this ACK, which arrived at `now`: from the newest transmission delivered, if that was
    /// no retransmission (§5.1).
    pub fn newest_rtt_sample(&self, now: Instant) -> Option<Duration> {
        self.newest_delivered.filter(|_| self.newest_is_original).map(|newest| now.since(newest.at))
    }

    /// The sample of [`rtt_sample`](Self::rtt_sample) in nanoseconds.
    pub(crate) fn rtt_sample_nanos<B>(&self, now: Instant, ack: &Ack<B>) -> Option<u64> {
        self.first_original_acked
            //= RFC 6298 §3 MUST: "TCP MUST use Karn's algorithm [KP87] for taking RTT samples. That is, RTT samples
            //=   MUST NOT be made using segments that were retransmitted"
            .filter(|_| !self.retransmission_acked)
            .or(self.first_original_sacked)
            .map(|sent| now.nanos_since(sent))
            //= RFC 6298 §3 step: "The only case when TCP can safely take RTT samples from retransmitted segments is
            //=   when the TCP timestamp option [JBB92] is employed"
            .or_else(|| ack.timestamp_rtt.filter(|_| self.una_advanced > 0).map(nanos))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(a: u64, b: u64) -> Span {
        Span::new(Offset(a), Offset(b))
    }

    #[test]
    fn the_first_block_may_report_a_duplicate() {
        // (cumulative, blocks, dsack, sack blocks): the examples of RFC 2883 §4
        let cases: [(u64, &[Span], Option<Span>, usize); 5] = [
            (4000, &[span(3000, 3500)], Some(span(3000, 3500)), 0),
            (4000, &[span(3000, 3500), span(4500, 5000)], Some(span(3000, 3500)), 1),
            (3000, &[span(4500, 5000), span(4000, 5500)], Some(span(4500, 5000)), 1),
            (3000, &[span(4500, 5000), span(6000, 7000)], None, 2),
            (3000, &[], None, 0),
        ];
        for (cumulative, blocks, dsack, sacks) in cases {
            let ack = Ack::new(Offset(cumulative), 65535).with_blocks(blocks.iter().copied());
            assert_eq!(ack.dsack(), dsack, "{ack:?}");
            assert_eq!(ack.sack_blocks().len(), sacks, "{ack:?}");
        }
    }

    #[test]
    fn impossible_blocks_are_ignored() {
        let ack = Ack::new(Offset(1), 0).with_blocks([span(9, 9), span(9, 3), span(4, 6)]);
        assert_eq!(ack.sack_blocks(), [span(4, 6)]);
        let many = Ack::new(Offset(1), 0).with_blocks((1..9).map(|i| span(i * 10, i * 10 + 5)));
        assert_eq!(many.sack_blocks().len(), MAX_SACK_BLOCKS);
    }
}
