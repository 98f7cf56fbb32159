//! The command line, the commands that send packets, and the accuracy of the analysis. One binary holds all
//! tests, because every binary links the whole program once more.

#[cfg(target_os = "linux")]
mod accuracy;
mod cli;
#[cfg(target_os = "linux")]
mod emulate;
#[cfg(target_os = "linux")]
mod real_packets;
#[cfg(target_os = "linux")]
mod stages;
#[cfg(target_os = "linux")]
mod transfer;
#[cfg(target_os = "linux")]
mod whatif;
