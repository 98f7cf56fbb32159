//! Reruns of a capture's connections under other mechanisms, which show what would have helped.
//!
//! ```text
//! capture ─► analysis ─► Candidates ─► capture, once more ─► packets of each connection
//!                            │                                     │  whatif::record
//!                            │ which profiles                      ▼
//!                            └───────────────────────────► Rerunner::reproduce ─► base run, or apart
//!                                                                  │
//!                            Pools (loss processes by path) ─────► Rerunner::run, mechanism by mechanism,
//!                                                                  │              draw by draw
//!                                                                  ▼
//!                                 Rerun ─► Answer (statistics) ─► text, JSON, CSV, Parquet
//! ```
//!
//! | module | what it does |
//! | --- | --- |
//! | `alternatives` | what to try, by name: [levers](crate::levers), profiles, mechanisms |
//! | `candidates` | which connections are rerun, and at which end they were captured |
//! | `bases` | the profiles that a sender may have run, the most likely first; what its connections voted |
//! | `timers` | what to try, if it differs by the network of the peer |
//! | `after` | reruns of what a first view of all captures suggests |
//! | `votes` | connections of a listener vote for its base |
//! | `gather` | the packets of each connection, in bounded memory |
//! | `reruns` | a batch of connections, rerun in parallel |
//! | `prediction` | what a mechanism changes in one connection |
//! | `paths` | what the connections of a path share: its bottleneck, the delay of ACKs |
//! | `pools` | the loss processes of a path and of the capture |
//! | `interval` | the intervals of a mean change |
//! | `answer`, `changes` | the statistics |
//! | `profile_to_try` | the profile that a proxy before a server should try |
//! | `scenario` | the same inference, written as a scenario |
//! | `columns`, `document`, `text` | their forms |

mod after;
mod alternatives;
mod answer;
mod bases;
mod candidates;
mod changes;
mod columns;
mod document;
mod gather;
mod interval;
mod paths;
mod pools;
mod prediction;
mod profile_to_try;
mod read;
mod reasons;
mod reruns;
mod scenario;
mod text;
mod timers;
mod votes;

pub use after::{WithAnswer, what_if_after};
pub use alternatives::Alternative;
pub use answer::{Answer, CauseChange, MechanismResult, PredictionRow};
pub(crate) use bases::Bases;
pub use bases::SenderFact;
pub use candidates::{Candidates, Sample, captured_end};
pub(crate) use candidates::{
    Listener, MOST, REPAIRED, Reason, RepairedConnections, identified, is_at_sender, is_whole, listener, mixed, suits,
};
pub use changes::Changes;
pub use columns::{predictions, results};
pub use document::write_answers;
pub(crate) use gather::{Gathering, TOO_LARGE, Task};
pub(crate) use paths::share;
pub use profile_to_try::text::{server_table, why_none};
pub use profile_to_try::{AbTrial, Arm, PROFILES, ProfileToTry, ServerToTry};
pub use read::{Request, what_if, what_if_sampled};
pub(crate) use read::{rerun_along, rerun_candidates};
pub use reasons::{ReasonCount, Reasons};
pub use scenario::{InferenceError, InferredScenario, InferredSetting, infer_scenario};
pub use text::answer_text;
pub(crate) use text::benefit;
pub use timers::{Ends, PeerTimers, SenderTimers};
pub(crate) use votes::{Eligible, Voter, take_votes, voters};
