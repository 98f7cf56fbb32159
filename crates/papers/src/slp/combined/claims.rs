//! Claims on copies, alone and combined with other mechanisms.

mod comparisons;
mod gap;
mod networks;

use super::CombinedCell;
use super::grid::{Copied, GAP, Load, Network, Recovery, Setup};
use crate::experiment;
use crate::prelude::*;

/// The largest accepted distance of a share from its probability, in standard errors. One of 16,000
/// shares lies farther by chance, and we compare fewer than a hundred.
const ERRORS: f64 = 4.0;

/// The cells, found by their settings.
type Cells<'a> = Grid<'a, CombinedCell>;

impl<'a> Cells<'a> {
    fn get(&self, load: Load, network: Network, recovery: Recovery, copied: Copied) -> &'a CombinedCell {
        self.at(Setup { load, network, recovery, copied, gap: GAP })
    }
}

/// Checks the claims.
pub fn all(cells: &[CombinedCell], run: &experiment::Setup) -> Result<Vec<Claim>> {
    let c = Cells::new(cells);
    Ok(vec![
        networks::same_mean(&c, run)?,
        networks::both_lost(&c),
        comparisons::more_than_tlpr(&c),
        comparisons::on_top_of_tlpr(&c),
        comparisons::on_top_of_linux_6(&c),
        comparisons::handshake(&c),
        comparisons::tlpr_saves_more_per_byte(&c),
        comparisons::tails_withheld(&c),
        comparisons::tail_copies_save_least_per_byte(&c),
        networks::bursts(&c),
        gap::gap(&c),
        gap::between(&c),
        comparisons::important_packets(&c),
    ])
}

/// A number per load, as text.
fn by_load(number: impl Fn(Load) -> String) -> String {
    Load::ALL.map(|load| format!("{}: {}", load.name(), number(load))).join("; ")
}

/// A number per network, as text.
fn by_network(number: impl Fn(Network) -> String) -> String {
    Network::ALL.map(|network| format!("{} {}", network.name(), number(network))).join(", ")
}

/// Whether `hits` of `all` is a likely outcome if each has probability `p`.
fn likely(hits: u64, all: u64, p: f64) -> bool {
    let all = all as f64;
    let error = (all * p * (1.0 - p)).sqrt();
    // One more, because the normal approximation is poor for few hits.
    (hits as f64 - all * p).abs() <= ERRORS * error + 1.0
}
