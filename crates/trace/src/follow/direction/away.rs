//! What a capture away from the sender shows of the way between them.
//!
//! | module | what it tells |
//! | --- | --- |
//! | [`send_clock`](super::send_clock) | when a segment was sent |
//! | [`id_counter`](super::id_counter) | how many packets were lost before it |
//! | [`recent_acks`](super::recent_acks) | the ACKs that may not have reached the sender |
//! | [`unseen_original`](super::unseen_original) | what was sent and lost without a gap |

use super::DirectionState;
use super::recent_acks::RecentAcks;
use super::send_clock::SendClock;
use super::unseen_original::SenderShown;
use crate::explain::tape::Departure;
use crate::follow::shared::DirectionContext;
use crate::memory::allocated;
use crate::read::CapturedPacket;
use recoup_units::Instant;
use serde::{Deserialize, Serialize};
use std::mem::replace;

/// The state of a direction captured away from its sender.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct AwayState {
    pub clock: SendClock,
    pub recent_acks: RecentAcks,
    /// Packets lost since the last one with data, if known.
    unseen: Option<u32>,
    /// When the packet left that was captured before the first one missing, since the last new data.
    lost_since: Option<Instant>,
    /// When the latest packet left.
    departed_at: Instant,
    /// What the latest packet showed of its sender.
    shown: Option<SenderShown>,
}

/// What is known of a packet's way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrival {
    pub departure: Departure,
    /// What the packet before it showed, if packets are missing between the two.
    pub before: Option<SenderShown>,
}

impl AwayState {
    /// Its memory, in bytes.
    pub fn memory(&self) -> usize {
        allocated(size_of::<Self>()) + self.recent_acks.memory()
    }

    /// Reads what the next packet needs, to have it in the cache by then. The value has no meaning.
    #[inline]
    pub fn prefetch(&self) -> u64 {
        self.departed_at.as_nanos() ^ self.recent_acks.prefetch()
    }

    /// A packet was captured at `now`, of which `lost` before it were not.
    fn on_packet(&mut self, packet: &CapturedPacket, now: Instant, lost: Option<u16>) -> Arrival {
        let segment = &packet.segment;
        let ts = segment.options.timestamps.map(|ts| ts.value);
        if let Some(value) = ts {
            self.clock.on_segment(value, now);
        }
        let lost = lost.map(u32::from);
        let unseen = (self.unseen.zip(lost)).map(|(before, more)| before.saturating_add(more));
        self.unseen = match segment.sequence_len() {
            0 => unseen,
            _ => Some(0),
        };
        let departure = Departure {
            unseen,
            ..self.clock.unhindered(ts, now)
        };
        let departed_at = replace(&mut self.departed_at, departure.at);
        let shown = replace(&mut self.shown, SenderShown::by(packet, now));
        let lost = lost.unwrap_or(0);
        if lost > 0 {
            self.lost_since.get_or_insert(departed_at);
        }
        Arrival {
            departure,
            before: shown.filter(|_| lost > 0).map(|shown| shown.before(lost)),
        }
    }

    /// New data was captured, which accounts for the packets missing before it.
    pub fn on_new(&mut self) {
        self.lost_since = None;
    }

    /// When the packet left before the first one missing. New data that was lost was sent since then.
    pub fn lost_since(&self) -> Option<Instant> {
        self.lost_since
    }

    /// Data was sent in one of the packets missing.
    pub fn on_unseen_data(&mut self) {
        self.unseen = self.unseen.map(|unseen| unseen.saturating_sub(1));
    }
}

impl DirectionState {
    /// What is known of the way of a packet captured `now`.
    pub(super) fn on_arrival(
        &mut self,
        packet: &CapturedPacket,
        now: Instant,
        context: &DirectionContext<'_>,
    ) -> Arrival {
        let segments = packet.segment.payload_len.div_ceil(self.mss.bytes());
        let lost = self.ids.on_packet(packet.ip_id, segments);
        if !context.shared.is_away(context.side) {
            return Arrival {
                departure: Departure::exact(now),
                before: None,
            };
        }
        let away = self.away.get_or_insert_default();
        away.on_packet(packet, now, lost)
    }
}
