//! The state of a Gilbert–Elliott channel at each packet of each flow.
//!
//! The state at a packet is a pure function of the seed and the packet's ordinal, though the
//! channel is a Markov chain: the draw `u` of one step moves good to bad if `u < to_bad`, and keeps
//! bad if `u < 1 - to_good`. Most steps that change anything send both states to the same one, so
//! looking back from a packet to the last such step (or to the flow's first packet) tells its state
//! (the idea of Propp and Wilson's coupling from the past, 1996). In order, that is one draw a
//! packet, for the newest state is remembered; a packet overtaken before it came here costs
//! `1 / (to_bad + to_good)` draws on average.

use crate::fate::{Fate, Identity, Purpose};
use crate::loss::GilbertElliott;
use crate::probability::unit;

/// One channel per flow, all alike.
#[derive(Debug)]
pub(crate) struct Channels {
    pub spec: GilbertElliott,
    /// By flow slot: the newest packet judged, and whether the channel was bad at it.
    newest: Vec<Option<(u64, bool)>>,
}

impl Channels {
    pub const fn new(spec: GilbertElliott) -> Self {
        Self {
            spec,
            newest: Vec::new(),
        }
    }

    pub fn reset(&mut self) {
        self.newest.clear();
    }

    /// Whether the channel of the flow in `slot` loses this packet.
    pub fn lose(&mut self, fate: &Fate, slot: usize, who: Identity) -> bool {
        let loss = if self.is_bad(fate, slot, who) {
            self.spec.loss_bad
        } else {
            self.spec.loss_good
        };
        loss.happens(|| fate.draw(who, Purpose::Strike))
    }

    fn is_bad(&mut self, fate: &Fate, slot: usize, who: Identity) -> bool {
        if slot >= self.newest.len() {
            self.newest.resize(slot + 1, None);
        }
        let known = self.newest[slot];
        let bad = self.look_back(fate, who, known);
        if known.is_none_or(|(ordinal, _)| ordinal < who.ordinal) {
            self.newest[slot] = Some((who.ordinal, bad));
        }
        bad
    }

    fn look_back(&self, fate: &Fate, who: Identity, known: Option<(u64, bool)>) -> bool {
        let mut swapped = false;
        let mut ordinal = who.ordinal;
        loop {
            if let Some((newest, bad)) = known
                && newest == ordinal
            {
                return bad != swapped;
            }
            // Copies of a packet meet the channel in the same state.
            let u = unit(fate.draw(
                Identity {
                    ordinal,
                    copy: 0,
                    ..who
                },
                Purpose::Step,
            ));
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
