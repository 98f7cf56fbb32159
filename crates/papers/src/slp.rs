//! "Selective Loss Prevention" (2021): the paper's figures and formulas.
//!
//! | figure     | section | shows                                                       |
//! |------------|---------|-------------------------------------------------------------|
//! | fec        | II-A    | goodput of ARQ and of FEC, computed and simulated           |
//! | timers     | I, II-B4 | what a timeout costs, and which losses cause one, in single flows |
//! | duplication | I, IV  | all packets duplicated, beside SLP                          |
//! | fig1, fig2 | II-B3   | timeouts by position of the lost packet, in simulated data centers and on a backbone |
//! | fig3, fig4 | II-B4   | timeouts by flags of the lost packet, in the same           |
//! | arbitrator | II-C1   | bandwidth from which SLP copies a packet                    |
//! | stakes     | II-C1   | what losses and copies cost on average                      |
//! | window     | II-C2   | the window rule, the one copy per window and the gap, in single flows |
//! | tails      | II-C    | SLP compared with RTO restart and tail loss probes          |
//! | table1     | III-A   | completion times of flows with SYN loss, computed and rerun |
//! | fig7       | III-B   | completion times of fifty fetches, with and without SLP     |
//! | sizes      | III-B   | the same for files of 0.25 kB to 8 MB                       |
//! | overhead   | III-B   | memory, and a bound of the CPU time                         |
//! | combined   | ours    | latency saved against bytes added, for SLP and other mechanisms |

pub mod arbitrator;
pub mod combined;
pub mod congestion;
pub mod duplication;
mod experiments;
pub mod fec;
pub mod fetch;
mod micro;
pub mod overhead;
pub mod stakes;
pub mod tails;
pub mod timeouts;
pub mod timers;
pub mod window;

use crate::prelude::*;
pub use experiments::RUNS;

/// The paper's name on the command line.
pub const NAME: &str = "slp";

/// Its populations that are fitted to a baseline.
pub const FITS: &[Fitted] = &timeouts::FITS;

/// Runs this many flows on all cores, and reads something off the record of each, in order.
fn records<T: Clone + Send>(
    setup: &Setup,
    profile: &str,
    own: &str,
    flows: u64,
    of: impl Fn(&FlowRecord) -> T + Sync,
) -> Result<Vec<T>> {
    in_batches(flows, 25, |numbers| {
        let mut bench = Bench::new(setup, profile, own)?;
        Ok(numbers.map(|number| of(&bench.record(number))).collect())
    })
}

/// The setup of an experiment as the paper has it.
#[cfg(test)]
fn setup(name: &str, effort: crate::experiment::Effort) -> crate::experiment::Setup {
    crate::experiment::setup_of(NAME, name, effort)
}
