//! A TCP endpoint without I/O: segments and the time go in, segments and deadlines come out.
//!
//! [`Endpoint`] does what RFC 9293 asks of a connection (handshake, data both ways, flow control,
//! close, reset) and leaves everything about loss to [`recoup_recovery::Sender`]. It handles
//! offsets, not bytes: payload stays in buffers of whoever drives it, for which there is [`Buffer`].
//!
//! [`sysctl`] tells what Linux's settings mean to an endpoint.

mod acks;
mod buffer;
mod config;
mod ecn;
mod endpoint;
pub mod flow;
mod info;
mod push;
mod receiver;
pub mod sysctl;

pub use acks::AckPolicy;
pub use buffer::Buffer;
pub use config::{Config, WindowScaling};
pub use ecn::Ecn;
pub use endpoint::{Closed, Endpoint, State, Timer, Transmit};
pub use info::Info;
pub use push::Push;
pub use receiver::Receiver;
