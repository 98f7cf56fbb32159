//! Analyzes one long capture in parts, on any number of machines: functions over paths and values.
//!
//! ```text
//! split (per file) ─► plan ─► analyze_partition (per partition) ─► settle ─► final, or again with facts
//! ```
//!
//! Workers exchange [`SplitFile`], [`CapturePlan`], [`ForeignFacts`] and [`PartitionAnalysis`] as bytes
//! ([`to_bytes`], [`from_bytes`]), and the files of the folder that [`split`] writes to. The types and their rules
//! are those of [`recoup_captures::partition`].
//!
//! ```no_run
//! use crate::partition::{Decision, analyze_partition, plan, settle, split};
//! use recoup_captures::analysis::AllRetransmissions;
//! use recoup_trace::analyze::Settings;
//! use std::sync::Arc;
//!
//! let settings = Settings::default();
//! let captures = ["day.pcap0", "day.pcap1"];
//! // On any worker, one call per file.
//! let files = captures.map(|file| split(file.as_ref(), "parts".as_ref(), 4, &settings));
//! let files = files.into_iter().collect::<Result<Vec<_>, _>>()?;
//! let plan = plan(&files, &settings)?;
//! let mut again: Vec<usize> = (0..plan.partitions).collect();
//! let (mut analyses, mut facts) = (Vec::new(), Arc::default());
//! loop {
//!     // On any worker, one call per partition.
//!     for number in again {
//!         analyses.push(analyze_partition::<AllRetransmissions>(&plan, number, &facts, &settings)?);
//!     }
//!     match settle(&plan, analyses)? {
//!         Decision::Final(found) => break println!("{}", found.analyzed.findings.rows.len()),
//!         Decision::Again { kept, partitions, facts: now } => {
//!             (analyses, again, facts) = (kept, partitions, Arc::new(now));
//!         }
//!     }
//! }
//! # Ok::<(), crate::partition::PartitioningError>(())
//! ```

pub use recoup_captures::partition::{
    CapturePlan, Decision, FinalAnalysis, PartitionView, PartitioningError, SplitFile, ValueError, analyze_all,
    analyze_partition, from_bytes, plan, settle, split, to_bytes,
};
pub use recoup_trace::analyze::{ForeignFacts, PartitionAnalysis};
