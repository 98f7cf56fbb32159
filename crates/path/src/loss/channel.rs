//! The state of a Gilbert–Elliott channel at each packet of each flow.
//!
//! The state at a packet is a pure function of the seed and the packet's ordinal, though the
//! channel is a Markov chain: the draw `u` of one step moves good to bad if `u < to_bad`, and keeps
//! bad if `u < 1 - to_good`. A step for which both or neither holds leads to the same state from either.
//! So the state at a packet follows from the last step of this kind, or from the flow's first packet
//! (the idea of Propp and Wilson's coupling from the past, 1996). Packets in order cost one draw each,
//! because the newest state is kept. A packet that was overtaken costs `1 / (to_bad + to_good)` draws on
//! average.

use crate::loss::GilbertElliott;
use crate::packet_rng::{PacketId, PacketRng, Purpose};
use crate::probability::unit;

/// One channel per flow, all alike.
#[derive(Debug)]
pub(crate) struct Channels {
    pub spec: GilbertElliott,
    /// By flow slot: the ordinal of the newest packet, and whether the channel was bad for it.
    newest: Vec<Option<(u64, bool)>>,
}

impl Channels {
    pub const fn new(spec: GilbertElliott) -> Self {
        Self { spec, newest: Vec::new() }
    }

    pub fn reset(&mut self) {
        self.newest.clear();
    }

    /// Whether the channel of the flow in `slot` loses this packet.
    pub fn lose(&mut self, rng: &PacketRng, slot: usize, id: PacketId) -> bool {
        let loss = if self.is_bad(rng, slot, id) { self.spec.loss_bad } else { self.spec.loss_good };
        loss.happens(|| rng.draw(id, Purpose::Occurrence))
    }

    fn is_bad(&mut self, rng: &PacketRng, slot: usize, id: PacketId) -> bool {
        if slot >= self.newest.len() {
            self.newest.resize(slot + 1, None);
        }
        let known = self.newest[slot];
        let bad = self.look_back(rng, id, known);
        if known.is_none_or(|(ordinal, _)| ordinal < id.ordinal) {
            self.newest[slot] = Some((id.ordinal, bad));
        }
        bad
    }

    fn look_back(&self, rng: &PacketRng, id: PacketId, known: Option<(u64, bool)>) -> bool {
        let mut swapped = false;
        let mut ordinal = id.ordinal;
        loop {
            if let Some((newest, bad)) = known
                && newest == ordinal
            {
                return bad != swapped;
            }
            // A packet and its copies meet the channel in the same state.
            let u = unit(rng.draw(PacketId { ordinal, copy: 0, ..id }, Purpose::ChannelStep));
            if ordinal == 0 {
                return (u < self.spec.share_bad()) != swapped;
            }
            let good_becomes_bad = u < self.spec.to_bad.get();
            let bad_stays_bad = u < 1.0 - self.spec.to_good.get();
            if good_becomes_bad == bad_stays_bad {
                return good_becomes_bad != swapped;
            }
            swapped ^= good_becomes_bad;
            ordinal -= 1;
        }
    }
}
