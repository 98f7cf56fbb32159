//! Timers that a path bears, by what its connections show.
//!
//! # First timeouts of SYN and SYN-ACK
//! RFC 8961 §4 says what any such timer has to fulfil:
//!
//! - (1) "In the absence of any knowledge about the latency of a path, the initial RTO MUST be conservatively set to no less than
//!   1 second." So a network keeps the kernel's 1 s unless it has [`FEWEST`] round-trip times of handshakes. The next round trip of
//!   a path exceeds the largest of `n` with the probability `1 / (n + 1)` if they come in random order, which is 5 % for 20;
//!   the margin below covers it.
//! - (2) The timeout follows from several observations and their variance: SRTT + 4 · RTTVAR of RFC 6298 §2, over the round trips
//!   in the order of time; and no less than the largest round trip times [`MARGIN`], because a single SYN is no steady flow.
//!   Of [`ONE_IN`] round trips and more, one in so many may be larger. The data of the same connections shows more of the path: no
//!   timeout is shorter than the 99th percentile of the round trips of data. Those include the delays of the peer's ACKs.
//! - (2)(d) "An RTO mechanism MUST NOT use ambiguous FT samples": handshakes with a retransmission give none (Karn). That hides
//!   round trips that were longer than the timer. So a network keeps the kernel's timer if the answer to a retransmission came
//!   too soon or too late to be explained by a loss; of [`ONE_IN`] handshakes and more, one in so many may have.
//! - (4) "Each time the RTO is used to detect a loss, the value of the RTO MUST be exponentially backed off". Linux doubles the
//!   timer of SYN-ACKs each time, but that of SYNs only after `net.ipv4.tcp_syn_linear_timeouts` (4 since Linux 6.5) timeouts.
//!
//! # The least RTO
//! Linux's RTO is SRTT plus at least this term (`tcp_rto_min`), 200 ms, which is to cover ACKs that the peer delays. It has to
//! cover what the round trips of data exceed the median of their connection by: the 99th percentile of this excess times [`MARGIN`],
//! and the excess that one in [`ONE_IN`] exceeds.
//!
//! - Connections in which this host retransmitted data show none of that: an ACK that came after a lost one looks like a long round
//!   trip. But where a timer was too early for an ACK that was late, the kernel's own stays.
//! - A delay that no connection happened to show is at least that of Linux's receivers (`TCP_DELACK_MIN`, include/net/tcp.h: 40 ms,
//!   which may be 8 ms late), so the term is never shorter.
//! - It needs [`FEWEST_DATA`] round trips, as a 99th percentile does, of [`FEWEST_CONNECTIONS`] connections.
//!
//! # The longest delay of ACKs
//! It is lowered only where peers lost time because a small segment waited (RFC 896) for an ACK that this host delayed. What
//! such a peer has still to send cannot come before the ACK, so waiting longer than the shortest timer gains nothing there.
//!
//! # Ticks
//! The kernel counts timers in ticks, never fires one early (`recoup_kernel::Timers` has measurements), and takes none of less than
//! 2 (`TCP_TIMEOUT_MIN`, include/net/tcp.h). A suggestion is rounded up to ticks of 4 ms, which suit HZ=250 and HZ=1000, because
//! the host that takes it may be another.

use super::samples::{HandshakeFacts, PathFacts};
use crate::plan::Timer;
use recoup_kernel::SocketTimers;
use recoup_trace::finding::RttQuantiles;
use std::time::Duration;

/// Round-trip times of handshakes without which nothing is suggested.
pub const FEWEST: usize = 20;

/// Round-trip times of data without which no least RTO is suggested, and connections that they come from.
pub const FEWEST_DATA: u64 = 100;
pub const FEWEST_CONNECTIONS: usize = 5;

/// What a timeout is times the largest round trip. It is a choice: round trips that the capture does not hold may be longer.
pub const MARGIN: f64 = 1.5;

/// Of so many round trips, one may exceed what a timer is derived from; of so many connections, one may have been disturbed.
pub const ONE_IN: usize = 1_000;

/// Of so many round trips of data, one may exceed what stands beside other bounds.
pub const SOME_IN: u64 = 100;

/// No SYN timer is shorter. It is a choice: hosts pause for longer than the shortest path's round trip.
const SHORTEST_TIMEOUT: Duration = Duration::from_millis(40);

/// The shortest delay of ACKs of Linux's receivers (`TCP_DELACK_MIN`), 40 ms, and the 8 ms by which their timers may be late.
const LEAST_ACK_DELAY: Duration = Duration::from_millis(48);

/// A tick of 4 ms.
pub const TICK: Duration = Duration::from_millis(4);

/// A timer that is lowered by less is left alone: 1/n of the kernel's own.
const LEAST_GAIN: u32 = 10;

/// What is suggested for one timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Suggestion {
    /// The capture shows too little.
    Unknown(Unknown),
    /// The kernel's own timer is right.
    Usual(Usual),
    /// A lower one.
    Lower(Duration),
}

/// What the capture shows too little of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unknown {
    /// Round trips of handshakes: fewer than [`FEWEST`].
    Handshakes,
    /// Round trips of data.
    Data,
    /// Peers that lost time.
    Waiters,
}

/// Why the kernel's own timer is right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Usual {
    /// It was too short already: packets were retransmitted whose answer was late, and not lost.
    TooEarly,
    /// The paths demand as much, or nearly.
    Needed,
}

/// The suggestions for a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Suggestions {
    pub syn: Suggestion,
    pub syn_ack: Suggestion,
    pub least_rto: Suggestion,
    pub most_ack_delay: Suggestion,
}

impl Suggestions {
    /// By what its connections show.
    pub fn of(facts: &PathFacts) -> Self {
        let data = of_data(facts, SOME_IN, |rtt, _| rtt);
        Self {
            syn: first_timeout(&facts.opened, data),
            syn_ack: first_timeout(&facts.accepted, data),
            least_rto: least_rto(facts),
            most_ack_delay: match facts.waiters {
                0 => Suggestion::Unknown(Unknown::Waiters),
                _ => Suggestion::Lower(rounded(TICK * 2)),
            },
        }
    }

    /// All of them, where the network around has these timers.
    pub fn within(&self, around: &SocketTimers) -> SocketTimers {
        SocketTimers {
            syn: self.syn.within(around.syn),
            syn_ack: self.syn_ack.within(around.syn_ack),
            least_rto: self.least_rto.within(around.least_rto),
            most_ack_delay: self.most_ack_delay.within(around.most_ack_delay),
        }
    }
}

impl Suggestion {
    /// The timer, where the network around has this one. A timer that is lower by less than a fifth says nothing new.
    fn within(self, around: Option<Duration>) -> Option<Duration> {
        match (self, around) {
            (Self::Unknown(_), around) => around,
            (Self::Usual(_), _) => None,
            (Self::Lower(own), Some(around)) if own <= around && own * 5 > around * 4 => Some(around),
            (Self::Lower(own), _) => Some(own),
        }
    }
}

fn first_timeout(facts: &HandshakeFacts, data: Option<Duration>) -> Suggestion {
    if facts.rtts.len() < FEWEST {
        return Suggestion::Unknown(Unknown::Handshakes);
    }
    if facts.unexplained(MARGIN) * ONE_IN as u64 > facts.count() {
        return Suggestion::Usual(Usual::TooEarly);
    }
    let largest = quantile(facts.rtts.clone()).unwrap_or_default().mul_f64(MARGIN);
    let timeout = largest.max(smoothed(&facts.rtts)).max(data.unwrap_or_default()).max(SHORTEST_TIMEOUT);
    lower(rounded(timeout), Timer::Syn.usual())
}

fn least_rto(facts: &PathFacts) -> Suggestion {
    if facts.too_early * ONE_IN as u64 > facts.connections {
        return Suggestion::Usual(Usual::TooEarly);
    }
    let samples: u64 = facts.data.iter().map(|rtt| rtt.samples).sum();
    if samples < FEWEST_DATA || facts.data.len() < FEWEST_CONNECTIONS {
        return Suggestion::Unknown(Unknown::Data);
    }
    let excess = |one_in| {
        let excess = of_data(facts, one_in, |rtt, of| rtt.saturating_sub(of.p50));
        excess.unwrap_or_default()
    };
    let term = excess(ONE_IN as u64).max(excess(SOME_IN).mul_f64(MARGIN));
    lower(rounded(term.max(LEAST_ACK_DELAY)), Timer::LeastRto.usual())
}

fn lower(timer: Duration, usual: Duration) -> Suggestion {
    match timer <= usual - usual / LEAST_GAIN {
        true => Suggestion::Lower(timer),
        false => Suggestion::Usual(Usual::Needed),
    }
}

/// Rounded up to ticks, and 2 at least.
fn rounded(time: Duration) -> Duration {
    let ticks = time.as_nanos().div_ceil(TICK.as_nanos());
    TICK.saturating_mul(u32::try_from(ticks).unwrap_or(u32::MAX).max(2))
}

/// The largest value; of [`ONE_IN`] and more, one in so many may be larger.
fn quantile(mut values: Vec<Duration>) -> Option<Duration> {
    values.sort_unstable();
    let left_out = values.len() / ONE_IN;
    values.iter().rev().nth(left_out).copied()
}

/// What `of` makes of the round trips of data: the largest value, where one in so many may be larger. A connection shows its
/// largest round trip, and of the others that one tenth is no longer than its 99th percentile, and the rest than its 90th.
fn of_data(facts: &PathFacts, one_in: u64, of: impl Fn(Duration, &RttQuantiles) -> Duration) -> Option<Duration> {
    let values = facts.data.iter().flat_map(|rtt| {
        let long = rtt.samples.div_ceil(10).max(1);
        [(rtt.max, 1), (rtt.p99, long - 1), (rtt.p90, rtt.samples.saturating_sub(long))]
            .map(|(value, samples)| (of(value, rtt), samples))
    });
    let mut values: Vec<(Duration, u64)> = values.collect();
    values.sort_unstable();
    let mut left_out = values.iter().map(|(_, samples)| samples).sum::<u64>() / one_in;
    values.iter().rev().find_map(|(value, samples)| match left_out.checked_sub(*samples) {
        Some(left) => {
            left_out = left;
            None
        }
        None => Some(*value),
    })
}

/// SRTT + 4 · RTTVAR (RFC 6298 §2.2 and §2.3) after these round-trip times.
fn smoothed(rtts: &[Duration]) -> Duration {
    let mut state: Option<(f64, f64)> = None;
    for rtt in rtts {
        let rtt = rtt.as_secs_f64();
        state = Some(match state {
            None => (rtt, rtt / 2.0),
            Some((srtt, rttvar)) => (0.875 * srtt + 0.125 * rtt, 0.75 * rttvar + 0.25 * (srtt - rtt).abs()),
        });
    }
    let (srtt, rttvar) = state.unwrap_or_default();
    Duration::try_from_secs_f64(srtt + 4.0 * rttvar).unwrap_or(Duration::MAX)
}

#[cfg(test)]
mod tests;
