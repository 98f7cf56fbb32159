//! Explains connections while they are open: each retransmission as it leaves, its verdict when the ACK comes that decides it,
//! what its episode cost, and where the connections' time goes.
//!
//! ```text
//! source: interfaces ─► packets ─► Analyzer (recoup_trace) ─► look ─► said: what is new ─► events ─┬► outlet: lines, JSON lines
//!                                                              │                                   └► totals, screen
//!                                                              └► recent: the last minute, as `recoup explain` says it
//! ```
//!
//! | module | what it does |
//! | --- | --- |
//! | `program` | the command line |
//! | `source`, `files` | packets of interfaces, or of files that another program writes, as a source of the analysis |
//! | `guarded` | leaves out the copies that `recoup guard copies` sends |
//! | `watcher` | reads, analyzes and looks, again and again |
//! | `said` | what was said of open connections, and so what is new |
//! | `event` | what is said: findings, revisions, costs, ends, notes |
//! | `outlet` | where events go: lines for people, JSON lines for programs |
//! | `totals` | counts since the start, which only go up |
//! | `recent` | sums of the last minute |
//! | `kernel_reasons` | the kernel's own reason for each retransmission, and how often it agrees |
//! | `kept` | the latest frames, to be saved or looked at |
//! | `saver` | saves the packets around findings |
//! | `screen` | the terminal view |
//! | `shared` | what the watcher shares with those that show it |
//! | `metrics` | the metrics of what is shared, for Prometheus |

#![cfg(target_os = "linux")]

mod event;
mod files;
mod guarded;
mod kept;
mod kernel_reasons;
mod metrics;
mod outlet;
pub mod program;
mod recent;
mod said;
mod saver;
mod screen;
mod shared;
mod source;
#[cfg(test)]
mod testing;
mod totals;
mod watcher;
