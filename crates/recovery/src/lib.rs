//! The heart of Recoup: TCP loss recovery as a machine without I/O, clock or randomness.
//!
//! A [`Sender`] is told what was acknowledged ([`Ack`]), what was sent and what time it is; it is
//! asked what it would send now ([`Sender::next_send`]) and when it wants to be woken
//! ([`Sender::next_timer`]). Sending is an input too: asking changes nothing, and whoever drives the
//! sender (a simulator, a real connection, the replay of a capture) reports what really went out.
//!
//! Six questions are answered by small policies, each in its own module, and applied in one place,
//! [`sender`]: which segments are lost ([`detect`]), when to act without an ACK ([`rto`], [`tlp`]),
//! how much may be sent in recovery ([`rate`]), what is worth an extra copy ([`slp`]), was it for
//! nothing ([`undo`], [`frto`]), how the window grows ([`congestion`]). A [`Profile`] is a named choice
//! of policies.

pub mod ack;
pub mod congestion;
pub mod counters;
mod delivery;
pub mod detect;
pub mod event;
pub mod frto;
mod pacing;
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
pub use event::{Event, EventLog, LossDetector, Send, State, Timer, Trigger};
pub use peer_window::PeerWindow;
pub use profile::{Mechanisms, Profile};
pub use sender::Sender;
