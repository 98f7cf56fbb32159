//! Where the time of a sender went: its states as the trace shows them, in the order of time.

use crate::finding::{SenderState, TimeByState};
use recoup_units::Instant;
use std::time::Duration;

/// Changes of state that are kept. Beyond, the time stays in the state that it is in.
const MOST_CHANGES: usize = 1 << 20;

/// The states of a sender over time, but for recovery.
#[derive(Clone, Debug, Default)]
pub(super) struct Division {
    changes: Vec<(Instant, SenderState)>,
}

/// The time by state, and the times in which flow control held everything back.
#[derive(Clone, Debug, Default)]
pub(super) struct Divided {
    pub time: TimeByState,
    pub stopped: Vec<Duration>,
}

impl Division {
    /// The sender is in this state from now on.
    pub fn set(&mut self, at: Instant, state: SenderState) {
        let has_room = self.changes.len() < MOST_CHANGES;
        match self.changes.last_mut() {
            Some((_, last)) if *last == state => {}
            // It was in that state for no time.
            Some((since, last)) if *since == at => *last = state,
            _ if has_room => self.changes.push((at, state)),
            _ => {}
        }
    }

    /// Divides the time until `end`. `recovering` has times of recovery in their order, which take precedence over all other
    /// states but the handshake.
    pub fn divide(&self, end: Instant, recovering: &[(Instant, Instant)]) -> Divided {
        let mut divided = Divided::default();
        let ends = self.changes.iter().skip(1).map(|(at, _)| *at).chain([end]);
        let mut recoveries = recovering;
        for (&(begin, state), end) in self.changes.iter().zip(ends) {
            while let [(_, over), rest @ ..] = recoveries
                && *over <= begin
            {
                recoveries = rest;
            }
            let all = end.nanos_since(begin);
            let overlaps = recoveries.iter().take_while(|(from, _)| *from < end);
            let recovered: u64 = overlaps.map(|(from, to)| end.min(*to).nanos_since(begin.max(*from))).sum();
            let recovered = if state == SenderState::Connecting { 0 } else { recovered.min(all) };
            divided.time.add(SenderState::Recovering, recovered);
            divided.time.add(state, all - recovered);
            if state == SenderState::ZeroWindow && all > recovered {
                divided.stopped.push(Duration::from_nanos(all - recovered));
            }
        }
        divided
    }
}
