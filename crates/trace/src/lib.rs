//! Packet captures, explained.
//!
//! [`read`] turns files into TCP segments with their times, whatever the container, the compression
//! and the link layer; [`analyze`] follows their connections, replays each sender whose segments were
//! sent again, and tells what it finds ([`finding`]).

pub mod analyze;
mod case;
mod connection;
mod connections;
mod direction;
pub mod finding;
mod identify;
pub mod read;
mod replay;
mod rtts;
mod shared;
mod stock;
pub mod study;
mod tape;
mod vantage;
mod verdict;
