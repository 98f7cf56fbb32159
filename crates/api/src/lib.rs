//! What the commands of `recoup` do, without arguments and printing: functions that take values, report
//! progress through a trait, and return results with notes. The command line and other front ends call
//! them.
//!
//! `recoup_lab` knows scenarios and `recoup_net` knows real packets; this crate joins them.

pub mod analyze;
pub mod explain;
pub mod infer;
pub mod paper;
pub mod parameters;
pub mod partition;
pub mod plot;
pub mod run;
#[cfg(target_os = "linux")]
pub mod testbeds;
pub mod tmix;
pub mod whatif;
