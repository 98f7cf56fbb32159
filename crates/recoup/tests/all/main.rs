//! The program as its users meet it, and how accurate its analysis is. All tests are one binary,
//! because the compiler needs seconds for each.

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
