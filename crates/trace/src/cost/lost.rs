//! The time that a direction lost, by cause.
//!
//! - **In**: the retransmissions of a direction with their triggers and verdicts, its handshake, and the
//!   ACKs that came late without a retransmission.
//! - **Out**: [`EpisodeCost`](crate::finding::EpisodeCost) and [`LostTime`](crate::finding::LostTime).
//!
//! | module | what it does |
//! | --- | --- |
//! | [`episodes`] | divides the retransmissions into episodes, and measures what each cost |
//! | [`causes`] | names the cause of each episode |
//! | [`handshake`] | measures what a handshake lost beyond one round trip |
//! | [`delays`] | measures late ACKs that no episode claims |
//! | [`nagle`] | measures small segments that waited for a delayed ACK |
//! | [`overlaps`] | counts the time once that both directions lost |

pub(crate) mod causes;
pub(crate) mod delays;
pub(crate) mod episodes;
pub(crate) mod handshake;
pub(crate) mod nagle;
pub(crate) mod overlaps;
