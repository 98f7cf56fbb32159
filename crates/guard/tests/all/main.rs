//! `recoup guard`: the program `recoup-guard`, on captures of simulated flows, and in namespaces of its own.

#![cfg(target_os = "linux")]

mod cgroup;
mod copies;
mod suggest;
mod timers;

/// The program.
const PROGRAM: &str = env!("CARGO_BIN_EXE_recoup-guard");
