//! Helps connections of an unmodified kernel: by timers that their paths bear, and by copies of the segments whose loss costs most.
//!
//! | module | what it does |
//! | --- | --- |
//! | `program` | the command line |
//! | `plan` | timers by network, as a file that people edit |
//! | `schedule` | when the kernel sends a SYN or SYN-ACK again |
//! | `suggest` | timers for the destinations of a capture, and what they would have changed |
//! | `timers` | sets them for the sockets of a control group |
//! | [`compare`] | connections that were helped beside those that were left alone |
//! | `copies` | sends copies of SYNs, SYN-ACKs and tails |

#![cfg(target_os = "linux")]

pub mod compare;
mod copies;
mod plan;
pub mod program;
mod schedule;
mod suggest;
mod timers;
