//! Packet captures, explained.
//!
//! [`read`] turns files into TCP segments with their times, whatever the container, the compression
//! and the link layer; what cannot be read is counted, by reason, and the rest goes on.

pub mod read;
