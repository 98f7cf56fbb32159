//! The way between a distant sender and the capture point.
//!
//! | module | what it tells |
//! | --- | --- |
//! | [`send_clock`](super::send_clock) | when a segment was sent |
//! | [`id_counter`](super::id_counter) | how many packets were lost before it |
//! | [`recent_acks`](super::recent_acks) | the ACKs that may not have reached the sender |
//! | [`unseen_original`](super::unseen_original) | what was sent and lost without a gap |

use super::{DirectionState, recent_acks::RecentAcks, send_clock::SendClock, unseen_original::SenderShown};
use crate::{
    attribute::tape::Departure,
    cost::{division::Heard, lost::delays::LEAST_DELAY},
    follow::{fields::TcpFields, shared::DirectionContext},
    memory::allocated,
};
use recoup_units::Instant;
use serde::{Deserialize, Serialize};

/// A delay that is longer by less is no spike, in ns.
const LEAST_SPIKE: u64 = LEAST_DELAY.as_nanos() as u64;

/// The state of a direction captured away from its sender.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct AwayState {
    /// When the latest packet left.
    departed: Departure,
    /// Packets lost since the last one with data, if known.
    unseen: Option<u32>,
    pub clock: SendClock,
    /// How long the latest packet was held up before the capture point, but for a delay spike, in ns.
    held_up: u64,
    /// When the spike ended that held up the latest packet, if one did.
    spike_since: Option<Instant>,
    pub recent_acks: RecentAcks,
    /// State of the sender as of its latest packet.
    shown: Option<SenderShown>,
    /// State as of the packet before it, if packets are missing between the two.
    shown_before: Option<SenderShown>,
    /// When the packet left that was captured before the first one missing, since the last new data.
    lost_since: Option<Instant>,
    /// ACKs that the sender has heard, as far as its time is divided.
    pub heard: Option<Heard>,
}

impl AwayState {
    /// Its memory, in bytes.
    pub fn memory(&self) -> usize {
        allocated(size_of::<Self>()) + self.recent_acks.memory()
    }

    /// Reads what the next packet needs, to have it in the cache by then. The value has no meaning.
    #[inline]
    pub fn prefetch(&self) -> u64 {
        let shown = self.shown.map_or(0, |shown| u64::from(shown.lost_since));
        self.departed.at.as_nanos() ^ self.recent_acks.prefetch() ^ shown
    }

    /// A packet was captured at `now`, of which `lost` before it were not. Returns whether packets are
    /// missing before it.
    #[inline]
    fn on_packet(&mut self, fields: &TcpFields, carries_data: bool, now: Instant, lost: Option<u16>, way: u64) -> bool {
        let mut departure = match fields.timestamps {
            Some(ts) => {
                let departure = self.clock.on_segment(ts.value, now);
                self.note_delay(self.clock.held_up(Some(ts.value), now), now, way.max(LEAST_SPIKE));
                departure
            }
            None => Departure::unknown(now),
        };
        let lost = lost.map(u32::from);
        let unseen = (self.unseen.zip(lost)).map(|(before, more)| before.saturating_add(more));
        self.unseen = if carries_data { Some(0) } else { unseen };
        let lost = lost.unwrap_or(0);
        if lost > 0 {
            self.on_lost(lost);
        }
        departure.unseen = unseen;
        self.departed = departure;
        self.shown = SenderShown::by(fields, now);
        lost > 0
    }

    /// A packet was held up for `held_up` ns. A queue grows step by step, a spike is a jump by more than `step`, and all that it
    /// held up passes together. What stays longer is a longer queue or way.
    #[inline]
    fn note_delay(&mut self, held_up: u64, now: Instant, step: u64) {
        let jumped = held_up > self.held_up.saturating_add(step);
        if jumped && now.nanos_since(*self.spike_since.get_or_insert(now)) <= step {
            return;
        }
        self.held_up = held_up;
        self.spike_since = None;
    }

    /// So many packets are missing after the latest one.
    #[cold]
    fn on_lost(&mut self, lost: u32) {
        self.lost_since.get_or_insert(self.departed.at);
        self.shown_before = self.shown.map(|shown| shown.before(lost));
    }

    /// State of the sender as of the packet before the latest one, if packets are missing between the two.
    pub fn shown_before(&self) -> Option<SenderShown> {
        self.shown_before
    }

    /// New data was captured, which accounts for the packets missing before it.
    pub fn on_new(&mut self) {
        self.lost_since = None;
    }

    /// When the packet left before the first one missing. New data that was lost was sent since then.
    pub fn lost_since(&self) -> Option<Instant> {
        self.lost_since
    }

    /// When the latest packet left.
    pub fn departed_at(&self) -> Instant {
        self.departed.at
    }

    /// Data was sent in one of the packets missing.
    pub fn on_unseen_data(&mut self) {
        self.unseen = self.unseen.map(|unseen| unseen.saturating_sub(1));
    }

    /// The latest packet is a retransmission. Its original was one of the `lost` packets missing before it.
    pub fn on_unseen_original(&mut self, lost: u32) {
        self.departed.unseen = Some(lost.saturating_sub(1));
    }
}

impl DirectionState {
    /// How long its sender, `way` ns away, usually waits for an ACK, and by how much that varies, in ns.
    #[inline]
    pub fn usual_wait(&self, way: u64) -> Option<(u64, u64)> {
        let (average, variation) = self.rtts.usual()?;
        Some((average.saturating_add(way), variation))
    }

    /// When a packet with this timestamp, which passed at `at`, would have passed without a delay spike before the capture point.
    /// `way`: the part of the round trip that lies before the capture point, in ns.
    #[inline]
    pub fn without_spike(&self, ts: Option<u32>, at: Instant, way: u64) -> Instant {
        let Some(away) = &self.away else {
            return at;
        };
        let beyond = away.clock.held_up(ts, at).saturating_sub(away.held_up);
        at.minus_nanos(if beyond > way.max(LEAST_SPIKE) { beyond } else { 0 })
    }

    /// Learns the way of a packet captured `now`. Returns whether packets of its sender are missing before
    /// it.
    #[inline]
    pub fn on_arrival(
        &mut self,
        fields: &TcpFields,
        carries_data: bool,
        now: Instant,
        context: DirectionContext<'_>,
    ) -> bool {
        let lost = self.ids.on_packet(fields.ip_id, self.segments_in(fields.payload_len));
        if !context.shared.is_away(context.side) {
            return false;
        }
        let away = self.away.get_or_insert_default();
        away.on_packet(fields, carries_data, now, lost, context.shared.response_time(context.side))
    }

    /// Into how many packets a network card cuts one with this payload.
    #[inline]
    pub(super) fn segments_in(&self, payload: u32) -> u16 {
        if payload <= 1 || payload <= self.mss.bytes() {
            1
        } else {
            u16::try_from(payload.div_ceil(self.mss.bytes())).unwrap_or(1)
        }
    }

    /// When the latest packet left, which was captured `now`.
    pub fn departure(&self, now: Instant, context: DirectionContext<'_>) -> Departure {
        match &self.away {
            Some(away) if context.shared.is_away(context.side) => away.departed,
            _ => Departure::exact(now),
        }
    }
}
