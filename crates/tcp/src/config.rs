//! What an endpoint is told before it starts.

use crate::AckPolicy;
use recoup_recovery::Mechanisms;
use recoup_wire::SeqNumber;

/// The settings of one endpoint.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// How it recovers from loss.
    pub mechanisms: Mechanisms,
    /// When it acknowledges.
    pub acks: AckPolicy,
    /// Payload bytes of a full segment, options every segment carries already taken off. The MSS
    /// option announces this plus those options (RFC 6691 §2).
    pub mss: u16,
    /// Bytes the application's receive buffer holds; the window offered never exceeds it.
    pub receive_buffer: u64,
    /// The initial sequence number. Whoever faces an untrusted network draws it by RFC 6528.
    pub isn: SeqNumber,
    /// Offer timestamps (RFC 7323 §3).
    pub timestamps: bool,
    /// Offer SACK (RFC 2018 §2).
    pub sack: bool,
    /// Keep events.
    pub log: bool,
}

impl Config {
    /// Bytes of options on every segment once timestamps are agreed (RFC 7323 appendix A).
    pub const TIMESTAMPS_LEN: u16 = 12;

    /// Linux's usual: MSS 1448 beside timestamps, SACK, a window no test will fill.
    pub fn new(mechanisms: Mechanisms) -> Self {
        Self {
            mechanisms,
            acks: AckPolicy::Quick,
            mss: 1448,
            receive_buffer: 64 << 20,
            isn: SeqNumber(0),
            timestamps: true,
            sack: true,
            log: false,
        }
    }

    /// The shift by which this endpoint's window field is scaled (RFC 7323 §2.2).
    pub(crate) fn window_scale(&self) -> u8 {
        (0..14)
            .find(|&s| self.receive_buffer >> s <= 0xffff)
            .unwrap_or(14)
    }
}
