//! "Selective Loss Prevention" (2021): the paper's figures and formulas.
//!
//! | figure     | section | shows                                                       |
//! |------------|---------|-------------------------------------------------------------|
//! | fec        | II-A    | goodput of ARQ and of FEC, computed and simulated           |
//! | fig1       | II-B    | timeouts by position of the lost packet, in a simulated population |
//! | fig3       | II-B    | timeouts by flags of the lost packet, in the same               |
//! | arbitrator | II-C1   | bandwidth from which SLP copies a packet                    |
//! | tails      | II-C    | SLP compared with RTO restart and tail loss probes          |
//! | table1     | III-A   | completion times of flows with SYN loss, computed and rerun |
//! | fig7       | III-B   | completion times of fifty fetches, with and without SLP     |
//! | sizes      | III-B   | the same for files of 0.25 kB to 8 MB                       |
//! | combined   | ours    | latency saved against bytes added, for SLP and other mechanisms |

pub mod arbitrator;
pub mod combined;
pub mod congestion;
mod experiments;
pub mod fec;
pub mod fetch;
pub mod tails;
pub mod timeouts;

pub use experiments::EXPERIMENTS;

/// The paper's name on the command line.
pub const NAME: &str = "slp";
