//! Modules that the crates around the engine share.
//!
//! | module | contents |
//! | --- | --- |
//! | [`stats`] | distributions in bounded memory, shares and means with their intervals, the bootstrap |
//! | [`merge`] | results of parts as one result, field by field |
//! | [`threads`] | work on several threads, with results that do not depend on their number |
//! | [`quantity`] | durations, rates, sizes and parameters as people write them |
//! | [`rounded`] | numbers as text, rounded once |
//! | [`exchange`] | requests, responses and the times between them, as text |
//! | [`profile`], [`suggest`] | profiles by name, and near matches for unknown words |
//! | [`input`], [`output_file`] | texts of bounded length; files that appear complete or not at all |
//! | [`event_stream`] | the schema of a run's events |

pub mod event_stream;
pub mod exchange;
pub mod input;
pub mod merge;
#[cfg(not(target_family = "wasm"))]
pub mod output_file;
pub mod profile;
pub mod quantity;
pub mod rounded;
pub mod stats;
pub mod suggest;
pub mod threads;
