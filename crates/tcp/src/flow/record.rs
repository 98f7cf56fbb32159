//! The record of one flow.

use recoup_recovery::Counters;
use std::time::Duration;

/// The record of one flow. Counts are the sums over both hosts and directions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlowRecord {
    /// The flow completion time: from the client's SYN to the delivery of the last data byte of both streams,
    /// or to the end of the handshake for a flow without data. `None` if the flow did not complete.
    pub fct: Option<Duration>,
    /// The flow completion time from establishment. It begins when the host that sends the data is established
    /// (RFC 9293 §3.3.2): the client on the SYN-ACK if it has data to send, and otherwise the server on the ACK of
    /// its SYN-ACK. Tail loss recovery 2015 §3.1 measures "from connection establishment to the
    /// successful reception of the last data segment". 0 for a flow without data; `None` if the flow did not
    /// complete.
    pub fct_established: Option<Duration>,
    /// Segments with payload, retransmissions and probes included.
    pub segments_sent: u64,
    /// IP bytes sent.
    pub bytes_sent: u64,
    /// Packets dropped on the path, without the ACKs that an ACK-thinning hop removed.
    pub packets_dropped: u64,
    /// Spurious retransmissions: earlier transmissions deliver every byte of them, sooner or later.
    pub spurious: u64,
    /// Spurious retransmissions with payload: those among `segments_sent`, without SYNs, SYN-ACKs and FINs alone.
    pub spurious_data: u64,
    /// Payload bytes that arrived more than once.
    pub unnecessary_bytes: u64,
    /// At the host that retransmitted data first: the time from the last ACK it processed to that
    /// retransmission.
    pub last_ack_to_retransmission: Option<Duration>,
    /// The counters of both hosts' senders.
    pub counters: Counters,
    /// The time until no event was left.
    pub duration: Duration,
    /// Packets and timers processed.
    pub events: u64,
}

impl FlowRecord {
    /// Whether the last data byte was delivered.
    pub fn completed(&self) -> bool {
        self.fct.is_some()
    }
}
