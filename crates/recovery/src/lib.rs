//! TCP loss recovery as a state machine without I/O, clock, randomness or threads.
//!
//! A [`Sender`] is one direction of a connection. Its driver reports each ACK ([`Sender::on_ack`]) and each
//! segment sent ([`Sender::on_sent`]), with the time. The driver asks what the sender would send now
//! ([`Sender::next_send`]) and when it must be woken ([`Sender::next_timer`]). Asking changes nothing.
//!
//! The driver may be a simulator, a real connection, or the replay of a capture. Since sending is an input,
//! a replay can report what the capture shows, and ask why it was sent ([`Sender::reason_for`]).
//!
//! Each question has its own module. A policy returns a verdict; [`sender`] alone applies verdicts.
//!
//! | question | modules |
//! | --- | --- |
//! | Which segments are lost? | [`detect`] |
//! | When does the sender act without an ACK? | [`rto`], [`tlp`] |
//! | How much may be sent in recovery? | [`rate`] |
//! | Which segments are worth an extra copy? | [`slp`] |
//! | Was a retransmission spurious? | [`undo`], [`frto`] |
//! | How does the congestion window grow? | [`congestion`] |
//!
//! A [`Profile`] is a named choice of policies, such as `linux-6` or `linux-3.17+rtor`.

#![cfg_attr(not(test), no_std)]
#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::float_arithmetic))]
#![cfg_attr(test, allow(clippy::disallowed_types))]

extern crate alloc;

pub mod ack;
pub mod congestion;
pub mod counters;
mod delivery;
pub mod detect;
pub mod event;
pub mod frto;
mod pacing;
pub mod parameters;
mod peer_window;
pub mod profile;
pub mod rate;
pub mod rto;
pub mod rtt;
pub mod scoreboard;
pub mod sender;
pub mod slp;
pub mod tlp;
pub mod undo;

pub use ack::{Ack, AckSummary};
pub use counters::{Counters, Recovery, Retransmissions};
pub use event::{Event, EventLog, LossDetector, State, Timer, Transmission, Trigger};
pub use peer_window::PeerWindow;
pub use profile::{Mechanisms, Profile};
pub use sender::{GivenUpPacket, Packet, Refused, Sender, packet_number, packet_numbers};
