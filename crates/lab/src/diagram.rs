//! Time–sequence diagrams of what the laboratory has: a simulation ([`Watch`]), an event stream or a
//! packet capture ([`source`]), and a capture's connection with the findings of its analysis
//! ([`explain`]).

mod capture;
mod lines;
pub mod source;
mod watch;

pub use capture::explain;
pub use watch::Watch;

#[cfg(test)]
mod tests;
