//! Scenarios as data, runs of many flows, statistics, reports, and views of captures.

pub mod analysis;
pub mod capture;
pub mod diagram;
pub mod effect;
pub mod events;
pub mod explain;
pub mod filter;
pub mod input;
pub mod output_file;
pub mod parameters;
pub mod profile;
pub mod quantity;
pub mod report;
mod reread;
pub mod run;
pub mod scenario;
pub mod settings;
pub mod stage;
pub mod state_file;
pub mod stats;
pub mod study;
pub mod suggest;
pub mod sweep;
pub mod time_window;
pub mod tmix;
pub mod whatif;
pub mod world;
