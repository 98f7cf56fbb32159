//! The latest ACKs of a direction captured away from its sender.
//!
//! They may not have reached the sender yet, or may be lost on the way to it. A recording that
//! starts later therefore begins before them.

use recoup_recovery::Ack;
use recoup_units::{Instant, Offset, Span};
use recoup_wire::SeqNumber;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// ACKs that are always kept: the last ones of a flight may all be lost.
const LEAST_KEPT: usize = 8;

/// The most ACKs kept.
const MOST_KEPT: usize = 256;

/// An ACK that passed the capture point.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct RecentAck {
    pub at: Instant,
    pub cumulative: Offset,
    window: u32,
    pub echo: Option<u32>,
    /// Its own timestamp value and its sequence number.
    pub ts: Option<(u32, SeqNumber)>,
    carries_data: bool,
    /// Its SACK blocks; most ACKs have none.
    blocks: Option<Box<[Span]>>,
}

impl RecentAck {
    /// The ACK `ack`, which passed at `at`.
    pub fn new(at: Instant, ack: &Ack, echo: Option<u32>, ts: Option<(u32, SeqNumber)>) -> Self {
        Self {
            at,
            cumulative: ack.cumulative,
            window: u32::try_from(ack.window).unwrap_or(u32::MAX),
            echo,
            ts,
            carries_data: ack.carries_data,
            blocks: ack.has_blocks().then(|| ack.blocks().into()),
        }
    }

    fn heard(&self) -> HeardSoFar {
        HeardSoFar {
            una: self.cumulative,
            at: self.at,
            window_edge: self.cumulative + u64::from(self.window),
        }
    }

    /// The ACK as the engine takes it.
    pub fn ack(&self) -> Ack {
        let blocks = self.blocks.iter().flatten().copied();
        let mut ack = Ack::new(self.cumulative, self.window.into()).with_blocks(blocks);
        ack.carries_data = self.carries_data;
        ack
    }
}

/// What the sender had heard at a time.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct HeardSoFar {
    pub una: Offset,
    /// When the ACK of that passed the capture point.
    pub at: Instant,
    pub window_edge: Offset,
}

/// The latest ACKs.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct RecentAcks {
    acks: VecDeque<RecentAck>,
    /// What older ACKs acknowledged.
    before: Option<HeardSoFar>,
}

impl RecentAcks {
    /// Adds an ACK. Those that passed more than `way` ns ago are forgotten, except the last few.
    pub fn push(&mut self, ack: RecentAck, way: u64) {
        while self.acks.len() >= LEAST_KEPT
            && let Some(oldest) = self.acks.front()
            && (self.acks.len() >= MOST_KEPT || ack.at.nanos_since(oldest.at) > way)
        {
            let heard = oldest.heard();
            self.acks.pop_front();
            if self.before.is_none_or(|before| heard.una > before.una) {
                self.before = Some(heard);
            }
        }
        self.acks.push_back(ack);
    }

    /// What was acknowledged before the ACKs kept, or by the first of them.
    pub fn before(&self) -> Option<HeardSoFar> {
        let first = self.acks.front().map(RecentAck::heard);
        self.before.or(first)
    }

    /// The ACKs kept, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = &RecentAck> {
        self.acks.iter()
    }
}
