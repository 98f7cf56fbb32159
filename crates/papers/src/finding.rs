//! What Linux 6 leaves on the table, and the simplest change that takes most of it. No paper asks this; docs/finding.md has the
//! method, which was fixed before anything ran.
//!
//! | module | contents |
//! | --- | --- |
//! | `networks` | families of random paths and applications |
//! | `sender` | the server that is tried: a profile with settings, and what it remembers of a path |
//! | `trial` | flows of a family with one server: slowdown, needless retransmissions, bytes |
//! | `search` | the greedy search over the knobs |
//! | `judge` | the finding beside what exists, once, on other networks |

mod judge;
mod networks;
mod search;
mod sender;
mod trial;

use crate::experiment::{Run, run};

/// The name on the command line.
pub const NAME: &str = "finding";

/// The experiments, in the order of the command line.
pub const RUNS: &[Run] = &[run(search::ID, &[], search::sheet), run(judge::ID, &[], judge::sheet)];
