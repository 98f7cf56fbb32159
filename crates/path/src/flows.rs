//! The state of a chain for each flow.

use std::collections::HashMap;

use recoup_units::FlowId;

use crate::TcpFacts;
use crate::loss::{Positions, RuleMatch, Rules};
use crate::packet_rng::PacketId;

/// The flows seen so far. Each has a slot, numbered from 0 in the order of their first packets.
#[derive(Debug, Default)]
pub(crate) struct Flows {
    /// The slot of every flow; that of the newest may be missing.
    slots: HashMap<FlowId, usize>,
    /// The flow of the newest packet. Most packets follow one of their own flow, and need no look-up.
    newest: Option<(FlowId, usize)>,
    /// By slot. A reset keeps those past `used` for their allocations.
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

    /// Numbers a packet that enters: its identity, its flow's slot, and the rules that match it.
    pub fn stamp(
        &mut self,
        flow: FlowId,
        rules: &Rules,
        tcp: impl FnOnce() -> Option<TcpFacts>,
    ) -> (PacketId, usize, RuleMatch) {
        let slot = self.slot(flow);
        let state = &mut self.flows[slot];
        let id = PacketId { flow, ordinal: state.entered, copy: 0 };
        state.entered += 1;
        let matched = if rules.is_empty() {
            RuleMatch::NONE
        } else {
            tcp().map_or(RuleMatch::NONE, |tcp| state.positions.see(rules, tcp))
        };
        (id, slot, matched)
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
        // Flows are looked up only when another flow's packet came in between.
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
