//! The commands. Each module has the command's arguments and what it prints. The command as a function (values in, results
//! out, progress through a trait) is in `call`, or for captures in `recoup_captures`. The command line and the Python
//! package call the same functions.

pub mod analyze;
pub(crate) mod annotate;
pub(crate) mod anonymize;
pub mod captures;
pub(crate) mod compare;
pub(crate) mod drill;
#[cfg(target_os = "linux")]
pub(crate) mod emulate;
pub(crate) mod explain;
pub(crate) mod generate;
pub mod plot;
pub(crate) mod profiles;
#[cfg(target_os = "linux")]
pub(crate) mod receive;
pub mod run;
pub(crate) mod scenario;
#[cfg(target_os = "linux")]
pub(crate) mod send;
pub mod separate;
pub(crate) mod tmix;
#[cfg(target_os = "linux")]
mod transfer;
pub(crate) mod whatif;
