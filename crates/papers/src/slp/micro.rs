//! Single flows of SLP: what the engine does, step by step.
//!
//! Such a run is deterministic unless its `drop` setting is random. It decides sentences about a mechanism, where a
//! population would only blur the answer.

use crate::flow;
use crate::prelude::*;

/// The settings that every such flow begins with: no losses, no rate, an ACK per segment.
const PLAIN: &str = "rtt=80ms rate=none queue=none request=0 writes=none drop=none ack=quick";

impl Log {
    /// The copies of a host: the segment, and when it and its copy were sent.
    pub fn copies(&self, host: Host) -> Vec<(Span, Instant, Instant)> {
        let original = |span: Span| {
            let is_it = |what: Transmission| what.is_new() && what.span().is_some_and(|one| one.start == span.start);
            self.sent(host).find(|(_, what)| is_it(*what)).map(|(at, _)| at)
        };
        self.sent(host)
            .filter_map(|(at, what)| match what {
                Transmission::Copy(span) => Some((span, original(span)?, at)),
                _ => None,
            })
            .collect()
    }
}

/// The plain settings with these in their place.
pub fn plain(own: &str) -> String {
    format!("{PLAIN} {own}")
}

/// Runs one flow of `profile` with these settings in addition to the plain ones.
pub fn run(setup: &Setup, profile: &str, own: &str) -> Result<Log> {
    flow::run(setup, profile, &plain(own))
}

/// The completion time in ms; NaN if the flow did not complete.
pub fn fct_ms(record: &FlowRecord) -> f64 {
    record.fct.map_or(NAN, ms)
}
