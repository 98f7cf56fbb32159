//! Other parameters of loss detection for the senders of a capture (2007 study, §IV-C, §IV-D and §V-B).
//!
//! ```text
//! capture ─► analysis ─► Senders ─► capture, once more ─► packets of each connection
//!                                                               │  whatif::parameters::study
//!                                                               ▼
//!                              what each instance changes for a sender ─► rows, events
//!                                                               │
//!                                 Totals by profile ◄───────────┘
//!                                        └─► sentence, tables, JSON, CSV, Parquet, figures
//! ```
//!
//! | module | what it does |
//! | --- | --- |
//! | `values` | values of the parameters, read and written |
//! | `senders` | which senders are studied |
//! | `run` | reads a capture twice, and studies batches of senders in parallel |
//! | `totals`, `bins` | the sums of each instance, and the points of the figures |
//! | `rows` | a row for each sender and instance, and for each changed detection |
//! | `columns`, `document`, `text`, `figures` | their forms |
//!
//! # Deviations
//! - A sender is one end of a connection. Both ends may be studied.
//! - The best case is that of Figure 3 (`crate::study`), which takes the paper's equations. It waits no
//!   longer than the longest RTT. An instance may save more: its own RTO may be shorter than that.
//! - A lost SYN is no needed loss: no sender has an RTT sample by then, so that no parameter matters.

mod bins;
mod columns;
mod document;
mod figures;
mod read;
mod rows;
mod senders;
mod text;
mod totals;
mod values;

pub use bins::{Bin, Bins, FEW};
pub use columns::{changes, events, results};
pub use document::{CHANGES, EVENTS, write_studies};
pub use figures::{Figure, chart, figures, panel};
pub use read::{ParameterStudy, Request, TakesSenders, study_capture};
pub use recoup_whatif::parameters::{ChangeKind, Grid};
pub use rows::{ChangeRow, EventRow, InstanceValues, ResultRow, SenderIdentity, SenderRow};
pub use text::study_text;
pub use totals::{InstanceTotals, ProfileTotals, Totals};
pub use values::instance_text;
pub use values::{PROFILE, check_size, parse_list};
