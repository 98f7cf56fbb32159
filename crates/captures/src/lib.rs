//! Views of packet captures, each from an analysis by `recoup_trace`.
//!
//! | module | contents |
//! | --- | --- |
//! | [`capture`] | captures that can be opened again; those that a command reads; their progress |
//! | [`analysis`] | tables of connections, retransmissions and senders, and analyses that go on from run to run |
//! | [`explain`] | where the time of connections went: facts, sentences, text, document, page |
//! | [`whatif`] | reruns of connections with other settings or loss recovery, their statistics and forms; a scenario inferred from a capture |
//! | [`compare`] | what changed between two captures, beyond their own spread |
//! | [`levers`] | what an operator can change |
//! | [`parameters`] | other parameters of loss detection for the senders of a capture |
//! | [`study`] | the 2007 study's tables and figures, and the 2021 paper's analysis |
//! | [`diagram`] | time–sequence diagrams of connections and of event streams |
//! | [`partition`], [`state_file`] | a long capture in parts; what a paused analysis keeps |
//! | [`tmix`] | connection vectors of a capture |
//! | [`annotate`] | captures with comments on retransmissions and lost time |
//! | [`anonymize`] | captures that can be sent, without names and payload |
//! | [`pcapng`] | writes captures |
//! | [`guard_log`] | the log of `recoup guard copies`, whose copies are no retransmissions |
//! | [`filter`], [`time_window`] | pcap-filter's syntax; times in a capture |

pub mod analysis;
#[cfg(not(target_family = "wasm"))]
pub mod annotate;
#[cfg(not(target_family = "wasm"))]
pub mod anonymize;
pub mod capture;
pub mod compare;
pub mod diagram;
pub mod explain;
pub mod filter;
pub mod guard_log;
pub mod levers;
pub mod parameters;
#[cfg(feature = "parquet")]
pub mod partition;
#[cfg(not(target_family = "wasm"))]
pub mod pcapng;
mod reread;
#[cfg(not(target_family = "wasm"))]
pub mod state_file;
pub mod study;
mod text_table;
pub mod time_window;
pub mod tmix;
pub mod whatif;
pub mod wording;
