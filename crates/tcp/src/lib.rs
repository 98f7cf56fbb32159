//! A TCP endpoint without I/O: segments and the time go in, segments and deadlines come out.
//!
//! [`Endpoint`] does what RFC 9293 asks of a connection (handshake, data both ways, flow control,
//! close, reset) and leaves everything about loss to [`recoup_recovery::Sender`]. It handles
//! offsets, not bytes: payload stays in buffers of whoever drives it.

mod acks;
mod config;
mod endpoint;
mod receiver;

pub use acks::AckPolicy;
pub use config::Config;
pub use endpoint::{Closed, Endpoint, State, Timer, Transmit};
pub use receiver::Receiver;
