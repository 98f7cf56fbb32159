//! Where the time of a capture's connections went, and what made them lose time.
//!
//! ```text
//! analysis::run ─► Analyzed<Facts> ─► Report (sentences) ─► text, page
//!                        ├──────────────────────────────────► JSON document
//!                        └─► whatif: reruns ─► Advice (what would have helped)
//! ```
//!
//! | module | contents |
//! | --- | --- |
//! | `read`, `facts`, `order` | sums over connections, and the connections that come first |
//! | `report` | sentences: `causes` of lost time, `states` of senders and what held them up, `compared` with usual values |
//! | `text`, `one`, `page`, `document` | the report as text, one connection as text, the HTML page, JSON |
//! | `advice` | what would have helped, by reruns |

mod advice;
mod document;
mod facts;
mod one;
mod order;
mod outage;
mod page;
mod read;
mod report;
mod text;

pub use advice::{Advice, AdviceLine};
pub use document::write_explanations;
pub use facts::{CapturedAt, CauseFacts, EpisodeTime, Facts, lost_by, main_direction};
pub use one::connection_text;
pub use order::{DRAWN, Ranked, SortBy, Worst};
pub use read::{ExplainError, PageRequest, explain, explain_as_page, explain_connection};
pub(crate) use report::cause_title;
pub use report::{CauseLine, Comparison, ConnectionLine, Report};
pub use text::{explanation_text, most_lines};

#[cfg(test)]
mod tests;
