//! TCP without I/O: segments and the time go in, segments and deadlines come out.
//!
//! [`Endpoint`] does what RFC 9293 asks of a connection: handshake, data both ways, flow control, close and
//! reset. It leaves everything about loss to [`recoup_recovery::Sender`]. It handles offsets, not bytes.
//!
//! [`Connection`] is an endpoint with the bytes of both streams and with what the application is notified
//! of. A simulator needs no bytes and uses endpoints; a host uses connections.
//!
//! [`sysctl`] translates Linux's settings into an endpoint's configuration.
//!
//! | module | contents |
//! | --- | --- |
//! | `endpoint` (`input`, `output`, `state`) | the protocol without I/O: handshake, close, reset, timestamps, challenge ACKs |
//! | `endpoint` (`half_open`, `time_wait`) | what is left of a connection in SYN-RECEIVED, and in TIME-WAIT |
//! | `endpoint` (`liveness`) | keep-alive probes and ICMP errors |
//! | `endpoint` (`path_mtu`, `tuning`) | how large segments and buffers may be |
//! | `connection` (`held`) | an endpoint with the bytes of both streams, data held back by cork or MSG_MORE, and the application's notices: used by `stack` |
//! | `flow` | a flow between two hosts: the scripts of their applications, what it cost, which retransmissions were spurious, when its responses were sent and acknowledged |
//! | `receiver`, `acks`, `ecn`, `push` | reassembly, SACK and DSACK; when to acknowledge; marks and their echo; where PSH goes |
//! | `info`, `sysctl` | TCP_INFO's view of a connection; Linux's settings as configuration |

mod acks;
mod buffer;
mod config;
pub mod connection;
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
pub use connection::{Connection, Flush, Notices, Read, SendLimits, Wake, WriteError, WriteMode};
pub use ecn::Ecn;
pub use endpoint::{
    Closed, Endpoint, HalfOpen, KeepAlive, MtuProbing, State, TIME_WAIT, TimeWait, TimeWaitAnswer, Timer, Transmit,
    Unreachable,
};
pub use info::Info;
pub use push::Push;
pub use receiver::Receiver;
