//! The results of analyzing captures, as tables, JSON, CSV and Parquet.
//!
//! ```text
//! read::Reader ─► run ─► Analyzed<AllRetransmissions | AllEpisodes | AllConnections | OneConnection | Summary>
//!                              ├─► Columns: CSV, Parquet, rows of JSON
//!                              └─► text tables, notes
//! ```

/// Implements [`View`] by the fields that hold the number of connections and the capture points.
macro_rules! view {
    ($view:ty: $($connections:ident).+, $($vantages:ident).+) => {
        impl $crate::analysis::View for $view {
            fn connections(&self) -> u64 {
                self.$($connections).+
            }

            fn vantages(&self) -> &$crate::analysis::Vantages {
                &self.$($vantages).+
            }
        }
    };
}
pub(crate) use view;

mod changes;
mod columns;
#[cfg(not(target_family = "wasm"))]
mod continuation;
mod continuity;
mod episodes;
mod everything;
mod findings;
mod given_out;
mod notes;
mod one_connection;
mod packed;
mod study_tables;
mod summary;
mod summary_columns;
mod summary_tables;
mod tables;
mod tabular;

pub use changes::{Changes, Continued, MergeSaved, SavedConnections, SavedEpisodes, SavedRetransmissions};
pub use columns::{changed_retransmissions_in, connections, retransmissions, retransmissions_in};
pub(crate) use columns::{ends, ms};
#[cfg(not(target_family = "wasm"))]
pub use continuation::{Continuation, ContinueError, FinishError};
pub use continuity::{analyze_all, analyze_each};
pub use episodes::{Episode, EpisodeKey, Occurrence, Recovery, episodes, packed_episodes};
pub use everything::{AllIntervals, Everything, Interval, intervals};
pub(crate) use findings::assemble;
pub(crate) use findings::run_qlog;
pub use findings::{AllConnections, AllEpisodes, AllRetransmissions, AnalysisError, Analyzed, Collector, View, run};
pub use given_out::{Change, GivenOut, Record, RetransmissionKey, Row};
pub(crate) use notes::copies_json;
pub use notes::copies_line;
pub use one_connection::{ConnectionRow, ListedConnection, OneConnection};
pub use packed::PackedConnections;
pub use study_tables::{StudyTable, study_tables};
pub(crate) use summary::nearest_to_senders;
pub use summary::{LossTimes, SlowConnection, Summary, Vantages};
pub use summary_columns::summaries;
pub use summary_tables::summary_tables;
pub use tabular::{Figure, Tabular, write_json};

#[cfg(test)]
pub(crate) mod tests;
