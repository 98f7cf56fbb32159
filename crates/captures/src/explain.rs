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
//! | `groups` | sums over the connections of a server, client, network, port, path or capture |
//! | `report` | sentences: `causes` of lost time, `states` of senders and what held them up, `compared` with usual values |
//! | `queues` | losses by a full queue, and others |
//! | `total` | several captures together |
//! | `quic` | what traces of QUIC show besides, and the words that differ |
//! | `live` | a capture while it is written |
//! | `text`, `one`, `page`, `document` | the report as text, one connection as text, the HTML page of captures, JSON |
//! | `advice` | what would have helped, by reruns |

mod advice;
mod document;
mod facts;
mod groups;
mod live;
mod one;
mod order;
mod outage;
mod page;
mod queues;
mod quic;
mod read;
mod report;
mod text;
mod total;

pub use advice::{Advice, AdviceLine};
pub use document::{write_connection, write_explanations};
pub use facts::{CapturedAt, CauseFacts, EpisodeTime, Facts, lost_by, main_direction};
pub use groups::{Group, GroupBy, GroupKey, GroupRow, GroupTable, Groups, group_columns, group_rows};
pub use live::explain_live;
pub use one::{connection_text, sender_text};
pub use order::{DRAWN, Ranked, SortBy, Worst};
pub use page::{Drawn, page_without_diagrams};
pub use quic::{Protocol, QuicFacts};
pub use read::{
    ExplainError, ExplainedPage, MOST_CONNECTIONS, PageRequest, explain, explain_all, explain_as_page,
    explain_connection,
};
pub(crate) use report::GROUPS;
pub use report::{CauseLine, Comparison, ConnectionLine, Report, cause_title, episode, state_title};
pub(crate) use text::wrap;
pub use text::{TextShape, explanation_text, wrap_to};
pub use total::Total;

#[cfg(test)]
mod tests;
