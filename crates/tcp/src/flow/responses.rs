//! The responses of a flow, and the TCP latency of each.
//!
//! Source: Dukkipati et al., "Proportional Rate Reduction for TCP", 2011, §1: "The TCP latency of a HTTP response is
//! measured from when the server sends the first byte until it receives the acknowledgment (ACK) for the last byte."
//!
//! A response is one write of the server. An ACK, a write or a transmission costs two comparisons. Only retransmissions and
//! losses look for the responses they belong to.
//!
//! Deviations:
//!
//! - A write that answers no request, such as a later part of a rate-limited transfer, is a response too.
//! - Where the path duplicates packets, a lost copy of a first transmission counts as the loss of a segment.

use recoup_recovery::Sender;
use recoup_units::{Instant, Offset, Span};
use std::time::Duration;

/// A response: one write of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Response {
    /// Its number in the flow, from 0.
    pub ordinal: u32,
    /// Its bytes in the server's stream.
    pub span: Span,
    /// The segments it fills: its bytes divided by the largest payload of a segment, rounded up.
    pub segments: u64,
    /// When its first byte was first sent. `None` if it never was.
    pub first_sent_at: Option<Instant>,
    /// When the ACK of its last byte arrived at the server. `None` if it never did.
    pub acknowledged_at: Option<Instant>,
    /// Retransmissions of its bytes by the server, spurious ones and probes with old data included; copies not.
    pub retransmissions: u32,
    /// Its segments whose first transmission the network dropped or damaged.
    pub lost: u32,
    /// The least RTT that the server had measured on the connection when the ACK of the last byte arrived: the paper's
    /// ideal response time. `None` before, or without a sample.
    pub min_rtt: Option<Duration>,
}

impl Response {
    /// Its bytes.
    pub const fn bytes(&self) -> u64 {
        self.span.len()
    }

    /// The TCP latency: from when the server sent the first byte until the ACK of the last byte arrived there. `None` if
    /// it did not arrive.
    pub fn latency(&self) -> Option<Duration> {
        let sent = self.first_sent_at?;
        self.acknowledged_at.map(|at| at.since(sent))
    }

    /// Whether a byte of it was retransmitted. Table 9 of the paper counts the responses for which this holds.
    pub const fn is_retransmitted(&self) -> bool {
        self.retransmissions > 0
    }

    /// Whether it lost a segment and has more than one. Table 11 of the paper counts the responses for which this holds.
    pub const fn lost_one_of_several(&self) -> bool {
        self.lost > 0 && self.segments > 1
    }
}

/// The responses of a flow, in the order in which the server wrote them.
#[derive(Clone, Debug)]
pub struct Responses {
    all: Vec<Response>,
    /// The number of responses of which a byte was sent.
    begun: usize,
    /// The number of responses that are acknowledged.
    acknowledged: usize,
    /// The next response begins to be sent when SND.NXT is above this.
    next_start: Offset,
    /// The next response is acknowledged when SND.UNA reaches this.
    next_end: Offset,
}

impl Default for Responses {
    fn default() -> Self {
        Self { all: Vec::new(), begun: 0, acknowledged: 0, next_start: NONE, next_end: NONE }
    }
}

/// No offset is above.
const NONE: Offset = Offset(u64::MAX);

impl Responses {
    /// Starts again for another flow, and keeps the memory.
    pub fn clear(&mut self) {
        self.all.clear();
        self.update(0, 0);
    }

    /// All responses written so far.
    pub fn all(&self) -> &[Response] {
        &self.all
    }

    /// The server wrote `span`, and its segments have a payload of at most `mss` bytes.
    pub fn on_write(&mut self, span: Span, mss: u32) {
        if span.is_empty() {
            return;
        }
        // Most flows have one response.
        self.all.reserve_exact(usize::from(self.all.capacity() == 0));
        self.all.push(Response {
            ordinal: u32::try_from(self.all.len()).unwrap_or(u32::MAX),
            span,
            segments: span.len().div_ceil(u64::from(mss.max(1))),
            first_sent_at: None,
            acknowledged_at: None,
            retransmissions: 0,
            lost: 0,
            min_rtt: None,
        });
        self.update(self.begun, self.acknowledged);
    }

    /// The server has nothing more to send at `now`. To be called whenever it could send or received an ACK.
    #[inline]
    pub fn on_settled(&mut self, now: Instant, server: &Sender) {
        if server.nxt() > self.next_start || server.una() >= self.next_end {
            self.advance(now, server);
        }
    }

    #[inline(never)]
    fn advance(&mut self, now: Instant, server: &Sender) {
        let (mut begun, mut acknowledged) = (self.begun, self.acknowledged);
        while let Some(response) = self.all.get_mut(begun)
            && server.nxt() > response.span.start
        {
            response.first_sent_at = Some(now);
            begun += 1;
        }
        while let Some(response) = self.all.get_mut(acknowledged)
            && server.una() >= response.span.end
        {
            response.acknowledged_at = Some(now);
            response.min_rtt = server.rtt().min();
            acknowledged += 1;
        }
        self.update(begun, acknowledged);
    }

    fn update(&mut self, begun: usize, acknowledged: usize) {
        self.begun = begun;
        self.acknowledged = acknowledged;
        self.next_start = self.all.get(begun).map_or(NONE, |next| next.span.start);
        self.next_end = self.all.get(acknowledged).map_or(NONE, |next| next.span.end);
    }

    /// The server retransmitted `span`.
    pub fn on_retransmission(&mut self, span: Span) {
        self.each_in(span, |response| response.retransmissions += 1);
    }

    /// The network dropped or damaged `span` when it was sent for the first time.
    pub fn on_loss(&mut self, span: Span) {
        self.each_in(span, |response| response.lost += 1);
    }

    fn each_in(&mut self, span: Span, act: impl Fn(&mut Response)) {
        let is_below = |response: &Response| response.span.end <= span.start;
        let first = self.all.partition_point(is_below);
        let from = self.all[first..].iter_mut();
        from.take_while(|response| response.span.start < span.end).for_each(act);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(from: u64, to: u64) -> Span {
        Span::new(Offset(from), Offset(to))
    }

    #[test]
    fn a_segment_belongs_to_each_response_of_which_it_carries_a_byte() {
        let mut responses = Responses::default();
        for (from, to) in [(1, 2001), (2001, 2101), (2101, 9101)] {
            responses.on_write(span(from, to), 1000);
        }
        responses.on_write(span(9101, 9101), 1000);
        let segments: Vec<u64> = responses.all().iter().map(|r| r.segments).collect();
        assert_eq!(segments, [2, 1, 7]);
        responses.on_retransmission(span(1001, 2001));
        responses.on_retransmission(span(2000, 2102));
        responses.on_loss(span(2001, 2101));
        responses.on_loss(span(9101, 9102)); // a FIN
        let counts = responses.all().iter().map(|r| (r.retransmissions, r.lost));
        assert_eq!(counts.collect::<Vec<_>>(), [(2, 0), (1, 1), (1, 0)]);
    }

    #[test]
    fn the_filters_are_those_of_tables_9_and_11() {
        let of = |bytes: u64, retransmissions, lost| {
            let mut responses = Responses::default();
            responses.on_write(span(1, 1 + bytes), 1000);
            (0..retransmissions).for_each(|_| responses.on_retransmission(span(1, 2)));
            (0..lost).for_each(|_| responses.on_loss(span(1, 2)));
            let response = responses.all()[0];
            (response.is_retransmitted(), response.lost_one_of_several())
        };
        assert_eq!(of(1001, 0, 0), (false, false));
        assert_eq!(of(1001, 1, 0), (true, false)); // spurious
        assert_eq!(of(1001, 1, 1), (true, true));
        assert_eq!(of(1000, 1, 1), (true, false)); // one segment
    }
}
