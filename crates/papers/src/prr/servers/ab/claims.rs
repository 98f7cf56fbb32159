//! The claims of tables 8 and 9 where users share bottlenecks. Sizes as in the claims of web servers.

use super::super::compare::shown;
use super::super::tables::{self, latency_difference, sized_total};
use super::Cell;
use crate::prelude::*;

/// All claims.
pub fn all(cells: &[Cell]) -> Vec<Claim> {
    let [linux, rfc, prr] = cells else {
        return vec![];
    };
    let arms = [rfc, prr];
    vec![
        sized_total("ab-total", linux, arms, tables::ALL),
        sized_total("ab-fast", linux, arms, tables::FAST),
        sized_total("ab-lost", linux, arms, tables::LOST),
        sized_total("ab-timeouts", linux, arms, tables::IN_RECOVERY),
        mean_latency(arms.map(|arm| latency_difference(linux, arm))),
    ]
}

/// The mean latency of responses with retransmissions.
fn mean_latency(changes: [Estimate; 2]) -> Claim {
    let [rfc, prr] = changes.map(|one| shown(one, " %"));
    claim!("ab-latency", "RFC 3517 {rfc}; PRR {prr}").needs_all(changes.map(|one| one.within(-10.0..-3.0)))
}
