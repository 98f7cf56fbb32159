//! The sender learns from segments that were judged lost and arrived late: the detector waits longer, and needless
//! reductions are undone.

use super::*;
use crate::ack::AckSummary;
use crate::detect::{Evidence, Late};
use crate::tlp::MAX_ACK_DELAY;
use alloc::vec::Vec;

/// The sender remembers a segment that was judged lost for this many probe timeouts after its transmission.
const KEEP: u64 = 3;

impl<C: CongestionControl> Sender<C> {
    /// Processes an ACK that may show that segments judged lost were only late.
    #[inline(never)] // most senders never come here
    pub(super) fn learn_from(&mut self, now: Instant, ack: &Ack<&[Span]>, summary: &AckSummary) {
        let evidence = Evidence {
            now,
            newest_before: self.losses.packets.previous(),
            min_rtt: self.rtt.min_nanos().unwrap_or(0),
            echo_sent_before: ack.echo_sent_before.filter(|_| summary.una_advanced > 0),
            dsack: summary.dsack,
            keep: KEEP * self.rtt.probe_timeout_nanos(MAX_ACK_DELAY, 0),
        };
        let mut late = Vec::new();
        let suspects = &mut self.losses.suspects;
        suspects.on_ack(&self.board, &evidence, |segment| late.push(segment));
        for segment in late {
            self.on_late(now, segment);
        }
    }

    /// Whether the sender remembers segments judged lost. It remembers numbered packets only once they are taken out.
    pub(super) fn remembers_suspects(&self) -> bool {
        self.mechanisms.adaptive && !self.board.numbers_packets()
    }

    /// Whether all segments whose loss reduced the window are known to have been late.
    pub(super) fn all_were_late(&self) -> bool {
        let packets = &self.losses.packets;
        let of_episode = |number| packets.is_of_last_reduction(number);
        self.episode.undo.is_open() && self.losses.suspects.are_proven(of_episode)
    }

    /// Processes an ACK of packets that were taken out as lost.
    #[inline(never)] // most senders never come here
    pub(super) fn learn_from_packets(&mut self, now: Instant, summary: &AckSummary) {
        let Some(packet) = self.given_up.earliest_late() else {
            return;
        };
        let rtt = match self.goes_by_time() {
            true => self.rtt.min_nanos().unwrap_or(0),
            false => self.losses.packets.round_trip(self.rtt.srtt_nanos()),
        };
        let late = Late {
            delay: now.nanos_since(packet.sent_at),
            rtt,
            overtaken: self.losses.packets.previous().wrapping_sub(packet.number),
        };
        self.on_late(now, late);
        if self.losses.packets.is_of_last_reduction(packet.number) {
            self.episode.undo.explain(summary.late);
        }
    }

    /// A transmission judged lost was only late: from now on the detector waits longer.
    fn on_late(&mut self, now: Instant, late: Late) {
        if self.goes_by_packets() {
            self.losses.packets.on_late(late.delay, late.rtt);
            let needed = late.overtaken.saturating_add(1);
            if late.overtaken <= i32::MAX as u32 {
                self.note_reordering(now, Segments(needed));
            }
        } else if self.goes_by_time() {
            self.losses.rack.on_late(late.delay, late.rtt);
        }
    }
}
