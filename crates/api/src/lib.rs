//! What the commands do. Each command of the program is a function here that takes values and returns
//! values: the command line parses arguments and prints, and knows nothing else.
//!
//! This is where the laboratory, which knows scenarios, meets the testbed, which knows real packets.

#[cfg(target_os = "linux")]
pub mod testbeds;
