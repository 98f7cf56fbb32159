//! Time–sequence diagrams of a simulation ([`Watch`]), of an event stream or a packet capture
//! ([`source`]), and of a capture's connection with the findings of its analysis ([`explain`]).

mod capture;
mod event_stream;
pub mod source;
mod watch;

pub use capture::explain;
pub use watch::Watch;

#[cfg(test)]
mod tests;
