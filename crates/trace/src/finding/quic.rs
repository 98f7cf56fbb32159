//! What a trace of QUIC shows of a connection besides what a capture of TCP shows.

use super::Verdict;

recoup_units::named! {
    /// How a QUIC sender found a loss, or why it probed for one (RFC 9002 §6).
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum QuicTrigger {
        /// A packet that was sent three or more packets later was acknowledged (§6.1.1).
        PacketThreshold = "packet_threshold",
        /// A later packet was acknowledged, and enough time had passed (§6.1.2).
        TimeThreshold = "time_threshold",
        /// The probe timeout expired (§6.2).
        Probe = "pto",
        /// The trace does not show it.
        Unknown = "unknown_rule",
    }
}

/// A connection of QUIC, traced at one end (qlog).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QuicConnection {
    /// The end that wrote the trace: 0 for the client, 1 for the server.
    pub traced: usize,
    /// What the trace calls it: usually the client's first connection ID for the server. May be empty.
    pub name: String,
    /// The trace has the addresses of both ends.
    pub has_addresses: bool,
    /// The trace shows which packets were acknowledged.
    pub has_acks: bool,
    /// The trace shows the frames of packets.
    pub has_frames: bool,
    /// Loss declarations and probes, by [`QuicTrigger`] and [`Verdict`].
    pub repairs: [[u64; Verdict::ALL.len()]; QuicTrigger::ALL.len()],
    /// Losses that the sender itself found to be spurious.
    pub marked_spurious: u64,
    /// How often the sender detected persistent congestion (RFC 9002 §7.6).
    pub persistent_congestion: u64,
    /// Loss declarations and probes that are not kept, because there were too many.
    pub left_out: u64,
}

impl QuicConnection {
    /// Loss declarations and probes by this rule, with this verdict.
    pub fn count(&self, trigger: QuicTrigger, verdict: Verdict) -> u64 {
        self.repairs.get(trigger as usize).and_then(|of| of.get(verdict as usize)).copied().unwrap_or_default()
    }

    /// Counts one.
    pub(crate) fn add(&mut self, trigger: QuicTrigger, verdict: Verdict) {
        if let Some(count) = self.repairs.get_mut(trigger as usize).and_then(|of| of.get_mut(verdict as usize)) {
            *count += 1;
        }
    }

    /// The name of an end: 0 for the client, 1 for the server.
    pub const fn end(side: usize) -> &'static str {
        match side {
            0 => "client",
            _ => "server",
        }
    }
}
