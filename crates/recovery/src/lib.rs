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
//!
//! | module | contents |
//! | --- | --- |
//! | `ack` | what an ACK says (`Ack`) and what it changed (`AckSummary`, computed once) |
//! | `scoreboard` | every outstanding segment: SACKed, lost, retransmitted; pipe, in segments or `bytes` |
//! | `… ring`, `storage`, `waiting` | the segments in memory that grows or that the host lends; which of them wait for their retransmission |
//! | `… abandon` | segments that are not repeated; numbered packets |
//! | `… above` | what is SACKed above the segments judged, so that each is judged once |
//! | `… acks` | what an ACK changes |
//! | `… order` | segments in flight in the order they were sent, for RACK |
//! | `… marking` | how each detector marks segments lost |
//! | `… split` | cuts segments after the path MTU fell |
//! | `rtt` | SRTT, RTTVAR and the RTO of Linux or RFC 6298, by segment or by flight, in ticks |
//! | `delivery` | the delivery rate, measured where copies may be sent, and for BBR |
//! | `peer_window`, `pacing` | the peer's window, held once; Linux's pacing rate, and when the next segment or burst may leave |
//! | `sender` | composes all of it: `parts` (its state), `send` (what goes next), `acks`, `states` (Open to Loss), `packet_time` (the same with RFC 9002's thresholds), `late` (segments that arrived late), `path_mtu` (segments too large for the path), `reduce` (reducing a window and undoing it), `copies`, `path_model` (feeds a congestion control that models the path), `timers`, `reason` (why a segment was sent, for replays), `resume` (taking over a connection), `established` (beginning without TCP's handshake), `packets` (numbered packets, tokens, what is not repeated), `given_up` (packets that may arrive after all); its `check()` is the test oracle |
//! | `parameters` | k, a, b, m, minimum RTO and dupthresh in place of a profile's |
//! | `profile` | `Mechanisms` (all settings), named profiles (`study`: the 2007 study's senders), `mechanism` (`base+mechanism` names), `describe` |
//! | `counters` | what a connection counts: the papers' columns, and a record of each recovery |
//! | `event` | the one vocabulary: triggers, states, timers, events |
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
pub use sender::{
    GivenUpPacket, MoreSent, MtuProbe, Packet, Reason, Refused, ResumeState, Sender, packet_number, packet_numbers,
};
