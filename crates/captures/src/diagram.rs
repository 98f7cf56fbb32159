//! Time–sequence diagrams of an event stream ([`source`]), and of the connections of a packet capture with the findings
//! of their analysis ([`draw`], [`draw_connections`]).

mod capture;
mod event_stream;
pub mod source;

pub(crate) use capture::{DRAWN, draw_again};
pub use capture::{draw, draw_connections};

#[cfg(test)]
mod tests;
