//! The states of a connection, and how it ends.

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

/// What ICMP's "destination unreachable" says (RFC 792; RFC 1122 §3.2.2.1; RFC 1812 §5.2.7.1; RFC 4443 §3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Unreachable {
    /// No route to the network: IPv4 codes 0, 6, 8 and 11; IPv6 code 0.
    Net,
    /// The host does not answer, or is not known: IPv4 codes 1, 5, 7 and 12; IPv6 codes 2 and 3.
    Host,
    /// The host has no TCP: IPv4 code 2; IPv6 "parameter problem" code 1.
    Protocol,
    /// Nobody listens at the port: IPv4 code 3; IPv6 code 4.
    Port,
    /// A firewall or a policy forbids it: IPv4 codes 9, 10 and 13 to 15; IPv6 codes 1, 5 and 6.
    Prohibited,
}

impl Unreachable {
    /// Whether the path may be at fault, and not the peer or a policy: such a path may come back at any moment.
    pub(super) const fn is_of_path(self) -> bool {
        matches!(self, Self::Net | Self::Host)
    }
}
