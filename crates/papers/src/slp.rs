//! "Selective Loss Prevention" (2021): the paper's figures and what it computes.
//!
//! | figure     | place  | shows                                               |
//! |------------|--------|-----------------------------------------------------|
//! | fec        | §II-A  | goodput of ARQ and of FEC, computed and simulated   |
//! | arbitrator | §II-C1 | the bandwidth from which a packet is copied         |
//! | tails      | §II-C  | SLP beside RTO restart and tail loss probes         |
//! | fig7       | §III-B | completion times of fifty fetches, with and without |
//! | sizes      | §III-B | the same for files of 0.25 kB to 8 MB               |
//! | combined   |        | latency saved against bytes added, SLP and others   |

pub mod arbitrator;
pub mod combined;
pub mod fec;
pub mod fetch;
pub mod tails;

/// The paper's name on the command line.
pub const NAME: &str = "slp";
