//! The laboratory: scenarios as data, runs over many flows, statistics, reports, and the claims of
//! papers with their verdicts.

pub mod analysis;
pub mod capture;
pub mod chart;
pub mod claims;
pub mod effect;
pub mod events;
pub mod output_file;
pub mod paper;
pub mod quantity;
pub mod report;
pub mod run;
pub mod scenario;
pub mod sequence;
pub mod settings;
pub mod stage;
pub mod stats;
pub mod study;
pub mod suggest;
