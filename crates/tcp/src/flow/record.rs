//! What a flow cost.

use recoup_recovery::Counters;
use std::time::Duration;

/// What one flow cost, both hosts and directions together unless said otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlowRecord {
    /// From the client's SYN to the delivery of the last data byte at its receiver, or to the end of
    /// the handshake where there is none; `None` for a flow that did not complete.
    pub fct: Option<Duration>,
    /// Segments with payload, retransmissions and probes included.
    pub segments_sent: u64,
    /// IP bytes sent.
    pub bytes_sent: u64,
    /// Packets dropped on the path, those a thinning hop made needless left out.
    pub packets_dropped: u64,
    /// Retransmissions of which an earlier copy delivers every byte, sooner or later.
    pub spurious: u64,
    /// Payload bytes that arrived though they had arrived before.
    pub unnecessary_bytes: u64,
    /// From the last ACK the first retransmitting sender took in to its first retransmission of
    /// data.
    pub last_ack_to_retransmission: Option<Duration>,
    /// What both hosts' senders counted.
    pub counters: Counters,
    /// Until nothing was left to happen.
    pub duration: Duration,
    /// Packets and timers handled.
    pub events: u64,
}

impl FlowRecord {
    /// Whether the last data byte was delivered.
    pub fn completed(&self) -> bool {
        self.fct.is_some()
    }
}
