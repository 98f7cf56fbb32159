//! Keep-alives and window probes: segments that only draw an answer.

use super::DirectionState;
use recoup_units::{Instant, Offset, Span};
use recoup_wire::SeqNumber;
use std::time::Duration;

/// The shortest silence before a keep-alive: TCP_KEEPIDLE is set in seconds. Retransmissions of
/// acknowledged data come sooner.
pub(super) const LEAST_IDLE: Duration = Duration::from_secs(1);

impl DirectionState {
    /// A probe without payload: a keep-alive or window probe just below `snd_una`.
    pub fn is_bare_probe(&self, seq: SeqNumber, isn: SeqNumber, payload: u32) -> bool {
        payload == 0 && self.una > Offset::DATA && seq.unwrap(isn, self.nxt).is_some_and(|at| at + 1 == self.una)
    }

    /// A byte beyond a closed window, sent to draw an answer (RFC 9293 §3.8.6.1). When the window
    /// opens, the sender starts again from this byte.
    #[cold]
    pub fn is_beyond_closed_window(&self, span: Span) -> bool {
        let window_closed = self.window == 0 && self.advanced_at > Instant::ZERO;
        window_closed && span.len() == 1 && span.start == self.una && self.window_edge <= self.una
    }

    /// A byte that the peer has acknowledged, or has no window for, sent to draw an answer.
    pub fn is_probe(&self, payload: u32, span: Span, now: Instant) -> bool {
        let one = payload == 1 && span.len() == 1 && span.start > Offset::SYN;
        let is_fin = self.fin == span.end;
        let silent = self.una == self.nxt && now.since(self.advanced_at) >= LEAST_IDLE;
        let alive = span.end == self.una && silent;
        let window_closed = span.start == self.una && self.window_edge <= self.una;
        one && !is_fin && (alive || window_closed)
    }
}
