//! Both readings of a capture for the 2021 paper's analysis, and the forms of its results.
//!
//! ```text
//! capture ─► analysis ─► connections, triggers by frame ─┐
//! capture, once more ─► packets of all connections ──────┴─► Report ─► text, JSON, CSV, Parquet, SVG, q
//! ```
//! The second reading counts the packets of all connections by their flags. It follows those that have
//! retransmissions.
//!
//! | module | what it does |
//! | --- | --- |
//! | `collect` | what the analysis finds of each connection |
//! | `run` | both readings |
//! | `columns`, `document`, `text` | a row for each retransmission; JSON; tables |
//! | `figures` | timeouts by position and by flags, as SVG |
//! | `likelihoods` | q by kind of packet, as the setting `slp.q` reads it |

mod collect;
mod columns;
mod document;
mod figures;
mod likelihoods;
mod run;
mod text;

pub use columns::{SampleRow, sample_columns, sample_rows};
pub use document::write_studies;
pub use figures::{figures, flag_chart, position_chart};
pub use likelihoods::{LEAST_RETRANSMISSIONS, likelihoods_file};
pub use run::{SlpStudy, study, study_packets};
pub use text::study_text;

#[cfg(test)]
mod tests;
