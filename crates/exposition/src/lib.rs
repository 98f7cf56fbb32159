//! Metrics for Prometheus: their text, and a server of it. A program of its own describes its metrics and writes their
//! samples.
//!
//! | module | what it does |
//! | --- | --- |
//! | `text` | metrics as text |
//! | `histogram` | how many of the measured times are no longer than each of some bounds |
//! | `server` | serves the text by HTTP |

mod histogram;
mod server;
mod text;

pub use histogram::Histogram;
pub use server::{listening_address, serve};
pub use text::{Format, Kind, Metric, Page};
