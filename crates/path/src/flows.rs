//! What a chain remembers of each flow.

use std::collections::HashMap;

use recoup_units::FlowId;

use crate::TcpFacts;
use crate::fate::Identity;
use crate::loss::{Positions, Rules, Sighting};

/// The flows seen so far; each has a slot, counted from 0 in order of appearance.
#[derive(Debug, Default)]
pub(crate) struct Flows {
    /// Of all flows but the newest, which may be missing.
    slots: HashMap<FlowId, usize>,
    /// The flow of the newest packet: most packets follow one of their own flow.
    newest: Option<(FlowId, usize)>,
    /// By slot. Those past `used` are left from before a reset, for their allocations.
    flows: Vec<Flow>,
    used: usize,
}

#[derive(Debug, Default)]
struct Flow {
    /// Packets that entered.
    entered: u64,
    positions: Positions,
}

impl Flows {
    pub fn reset(&mut self) {
        self.slots.clear();
        self.newest = None;
        self.used = 0;
    }

    /// Stamps a packet that enters: who it is, its flow's slot, and which rules name it.
    pub fn stamp(
        &mut self,
        flow: FlowId,
        rules: &Rules,
        tcp: impl FnOnce() -> Option<TcpFacts>,
    ) -> (Identity, usize, Sighting) {
        let slot = self.slot(flow);
        let state = &mut self.flows[slot];
        let who = Identity {
            flow,
            ordinal: state.entered,
            copy: 0,
        };
        state.entered += 1;
        let sighting = if rules.is_empty() {
            Sighting::NOTHING
        } else {
            tcp().map_or(Sighting::NOTHING, |tcp| state.positions.see(rules, tcp))
        };
        (who, slot, sighting)
    }

    #[inline]
    fn slot(&mut self, flow: FlowId) -> usize {
        match self.newest {
            Some((newest, slot)) if newest == flow => slot,
            _ => self.other_slot(flow),
        }
    }

    /// The slot of a flow that is not the newest packet's.
    #[cold]
    fn other_slot(&mut self, flow: FlowId) -> usize {
        // Only a flow that another takes turns with needs looking up.
        if let Some((newest, slot)) = self.newest {
            self.slots.insert(newest, slot);
        }
        let slot = self.slots.get(&flow).copied();
        let slot = slot.unwrap_or_else(|| self.begin());
        self.newest = Some((flow, slot));
        slot
    }

    /// A slot for a new flow.
    fn begin(&mut self) -> usize {
        match self.flows.get_mut(self.used) {
            Some(left) => {
                left.entered = 0;
                left.positions.clear();
            }
            None => self.flows.push(Flow::default()),
        }
        self.used += 1;
        self.used - 1
    }
}
