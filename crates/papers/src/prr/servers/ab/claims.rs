//! The claims of tables 8 and 9 where users share bottlenecks. Sizes as in the claims of web servers.

use super::super::compare::{relative, shown, total};
use super::super::connection::Answer;
use super::super::tables::{count, fast, latency, responses, retransmissions};
use super::Cell;
use crate::prelude::*;

/// All claims.
pub fn all(cells: &[Cell]) -> Vec<Claim> {
    let [linux, rfc, prr] = cells else {
        return vec![];
    };
    let of = |of: fn(&Counters) -> u64| [rfc, prr].map(|arm| total(linux, arm, count(of)));
    vec![
        sized("ab-total", of(retransmissions), [3.7, 2.5]),
        sized("ab-fast", of(fast), [17.0, 13.0]),
        sized("ab-lost", of(|c| c.detected_lost_retransmissions), [198.0, 117.0]),
        sized("ab-timeouts", of(|c| c.timeouts_in(State::Recovery)), [-2.5, -5.0]),
        mean_latency([rfc, prr].map(|arm| latency_change(linux, arm))),
    ]
}

/// A claim that the differences of RFC 3517 and PRR from Linux have the paper's sizes.
fn sized(id: &'static str, ours: [Estimate; 2], papers: [f64; 2]) -> Claim {
    let [rfc, prr] = ours.map(|one| shown(one, " %"));
    claim!(id, "RFC 3517 {rfc} (paper {}); PRR {prr} (paper {})", papers[0], papers[1])
        .needs_all(ours.into_iter().zip(papers).map(|(one, paper)| one.sized(paper)))
}

/// The mean latency of responses with retransmissions.
fn latency_change(linux: &Cell, arm: &Cell) -> Estimate {
    let of = |one: &Answer| one.is_retransmitted;
    relative(linux, arm, latency(of), responses(of))
}

fn mean_latency(changes: [Estimate; 2]) -> Claim {
    let [rfc, prr] = changes.map(|one| shown(one, " %"));
    claim!("ab-latency", "RFC 3517 {rfc}; PRR {prr}").needs_all(changes.map(|one| one.within(-10.0..-3.0)))
}
