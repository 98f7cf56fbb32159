//! The commands. Each module has the command's arguments, what it prints, and in `call` the command as a function:
//! values in, results out, progress through a trait. The command line and the Python package call the same functions.

pub mod analyze;
pub(crate) mod drill;
#[cfg(target_os = "linux")]
pub(crate) mod emulate;
pub mod explain;
pub(crate) mod generate;
pub(crate) mod paper;
pub mod plot;
pub(crate) mod profiles;
#[cfg(target_os = "linux")]
pub(crate) mod receive;
pub mod run;
pub mod scenario;
#[cfg(target_os = "linux")]
pub(crate) mod send;
pub mod tmix;
#[cfg(target_os = "linux")]
mod transfer;
pub mod whatif;
