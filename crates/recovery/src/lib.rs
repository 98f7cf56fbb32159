#![doc = include_str!("../README.md")]
//! # Modules
//!
//! Each question has its own modules, with one policy for each mechanism. A policy returns a verdict, and the
//! [`Sender`] applies it.
//!
//! | question | modules |
//! | --- | --- |
//! | Which segments are lost? | [`detect`] |
//! | When does the sender act without an ACK? | [`rtt`], [`tlp`] |
//! | How much may the sender send in recovery? | [`rate`] |
//! | Is an extra copy worth its bytes? | [`slp`] |
//! | Was a retransmission unnecessary? | [`undo`] |
//! | How does the congestion window grow? | [`congestion`] |
#![cfg_attr(not(test), no_std)]
#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::float_arithmetic))]
#![cfg_attr(test, allow(clippy::disallowed_types))]

extern crate alloc;

mod ack;
pub mod congestion;
mod counters;
mod delivery;
pub mod detect;
mod event;
mod frto;
mod pacing;
pub mod parameters;
mod peer_window;
pub mod profile;
pub mod rate;
mod rto;
pub mod rtt;
mod scoreboard;
mod sender;
pub mod slp;
pub mod tlp;
pub mod undo;

pub use ack::{Ack, AckSummary, SackBlocks};
pub use counters::{Counters, Ended, Recovery, Retransmissions};
pub use event::{Event, LossDetector, State, Timer, Transmission, Trigger};
pub use peer_window::PeerWindow;
pub use profile::{Mechanisms, Profile};
pub use recoup_units::{BitRate, Instant, Offset, Ppm, Segments, Span};
pub use scoreboard::{Scoreboard, SentSegment, Storage};
pub use sender::{GivenUpPacket, Packet, Reason, Refused, ResumeState, Sender, packet_number, packet_numbers};
