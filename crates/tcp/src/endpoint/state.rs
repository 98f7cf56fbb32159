//! The states of a connection, and how it ends.

use recoup_wire::Unreachable;

/// A connection's state (RFC 9293 §3.3.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum State {
    /// Waiting for a SYN.
    Listen,
    /// Our SYN is out.
    SynSent,
    /// Our SYN-ACK is out.
    SynReceived,
    /// The handshake is done.
    Established,
    /// We closed; our FIN is not acknowledged.
    FinWait1,
    /// We closed and that is acknowledged; the peer has not closed.
    FinWait2,
    /// The peer closed.
    CloseWait,
    /// Both closed at once; our FIN is not acknowledged.
    Closing,
    /// The peer closed, then we; our FIN is not acknowledged.
    LastAck,
    /// Both closed, and both FINs are acknowledged. Late segments are still answered. A host can keep a
    /// [`TimeWait`](super::TimeWait) in place of the endpoint.
    TimeWait,
    /// The connection is over.
    Closed(Closed),
}

/// How a connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Closed {
    /// Both FINs were acknowledged.
    Gracefully,
    /// The peer reset it, or refused it.
    ByReset,
    /// The peer did not answer: the user timeout passed, or keep-alive probes stayed unanswered.
    ByTimeout,
    /// This side aborted it.
    ByAbort,
    /// ICMP reported that packets do not reach the peer. In the handshake, the report ends the connection. Later, a
    /// connection ends like this by a timeout after which nothing was heard but this report.
    Unreachable(Unreachable),
}
