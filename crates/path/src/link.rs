//! Recorded links in mahimahi's format.
//!
//! Source: mahimahi's `mm-link` (Netravali et al., "Mahimahi: Accurate Record-and-Replay for HTTP",
//! USENIX ATC 2015, §4; behaviour as of its link queue). A trace is a text file of one millisecond
//! timestamp a line, non-decreasing; each is an opportunity to deliver one MTU of 1500 bytes. As
//! there:
//!
//! - The trace repeats, shifted by its last timestamp each time.
//! - An opportunity serves packets that were waiting before it. A packet that arrives at the instant of
//!   an opportunity is too late for it. An opportunity without a waiting packet is lost.
//! - Packets leave in order. One opportunity delivers several packets if they fit. The rest of its
//!   bytes go to the next waiting packet, which completes at later opportunities.
//! - The queue limit counts waiting packets, not the one whose first byte has been sent.
//!
//! Deviations:
//!
//! - Time is in nanoseconds, not milliseconds, so several packets may arrive between two ticks.
//! - A packet larger than the MTU uses as many opportunities as it needs; mahimahi exits.
//! - Lengths are of the IP packet; mahimahi counts 1504 bytes, 4 of them the tunnel device's header.
//! - A trace begins at [`Instant::ZERO`], not when a process starts.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use recoup_units::{BitRate, Instant};
use thiserror::Error;

/// The bytes of IP packets that one opportunity delivers.
pub(crate) const OPPORTUNITY: u32 = 1500;

/// When a recorded link could deliver. Clones share the recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkTrace {
    /// Non-decreasing; the last one, which is the period, is not zero.
    millis: Arc<[u64]>,
}

/// Text that is not a link trace. Lines count from 1.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum LinkTraceError {
    /// The text has no line.
    #[error("the link trace is empty: expected one timestamp in milliseconds a line")]
    Empty,
    /// A line is not a number.
    #[error("line {line} of the link trace: `{text}` is not a whole number of milliseconds")]
    NotANumber {
        /// The line's number.
        line: usize,
        /// Its text.
        text: String,
    },
    /// A timestamp lies before the one above it.
    #[error("line {line} of the link trace: {found} ms comes after {previous} ms, timestamps must not decrease")]
    Decreasing {
        /// The line's number.
        line: usize,
        /// The timestamp above.
        previous: u64,
        /// The timestamp on the line.
        found: u64,
    },
    /// The last timestamp, which is the trace's length, is zero.
    #[error(
        "line {line}, the last of the link trace, says 0 ms: a trace repeats from its last timestamp, which must not be zero"
    )]
    NoLength {
        /// The last line.
        line: usize,
    },
}

impl LinkTrace {
    /// Reads a trace: one non-decreasing timestamp in whole milliseconds a line, the last one not
    /// zero.
    pub fn parse(text: &str) -> Result<Self, LinkTraceError> {
        let number = |(index, text): (usize, &str)| {
            let number = text.trim().parse();
            number.map_err(|_| LinkTraceError::NotANumber { line: index + 1, text: text.to_owned() })
        };
        let millis: Result<Vec<u64>, _> = text.lines().enumerate().map(number).collect();
        Self::from_millis(millis?)
    }

    /// The trace with these timestamps in milliseconds: non-decreasing, the last one not zero. An error's
    /// line is the timestamp's position, from 1.
    pub fn from_millis(millis: Vec<u64>) -> Result<Self, LinkTraceError> {
        let decrease = millis.windows(2).position(|pair| pair[1] < pair[0]);
        if let Some(first) = decrease {
            return Err(LinkTraceError::Decreasing {
                line: first + 2,
                previous: millis[first],
                found: millis[first + 1],
            });
        }
        match millis.last() {
            None => Err(LinkTraceError::Empty),
            Some(0) => Err(LinkTraceError::NoLength { line: millis.len() }),
            Some(_) => Ok(Self { millis: millis.into() }),
        }
    }

    /// The number of opportunities in one round of the trace; at least 1.
    pub fn opportunities(&self) -> usize {
        self.millis.len()
    }

    /// The length of one round of the trace; never zero.
    pub fn period(&self) -> Duration {
        Duration::from_millis(self.period_millis())
    }

    fn period_millis(&self) -> u64 {
        self.millis.last().copied().unwrap_or(1)
    }

    /// The mean rate of the link in bits per second, rounded to 1 kbit/s.
    pub fn mean_bits_per_second(&self) -> u64 {
        // One bit a millisecond is 1 kbit/s.
        let bits = self.millis.len() as u128 * u128::from(OPPORTUNITY) * 8;
        let period = u128::from(self.period_millis());
        u64::try_from((bits + period / 2) / period * 1000).unwrap_or(u64::MAX)
    }
}

impl fmt::Display for LinkTrace {
    /// For reading: `12Mbit (4 opportunities in 4ms)`, the rate being the mean.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (count, period) = (self.opportunities(), self.period());
        match BitRate::from_bits_per_second(self.mean_bits_per_second()) {
            Some(mean) => write!(f, "{mean} ({count} opportunities in {period:?})"),
            None => write!(f, "below 1kbit ({count} opportunities in {period:?})"),
        }
    }
}

/// The state of a link: the opportunities used so far.
#[derive(Debug)]
pub(crate) struct LinkClock {
    trace: LinkTrace,
    /// The next unused opportunity: its round of the trace and its index there.
    next: (u64, usize),
    /// The latest opportunity in use: its instant, and the bytes it has left.
    newest: (Instant, u32),
}

/// When a packet's first byte is sent, and when its last one is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Transit {
    pub starts: Instant,
    pub leaves: Instant,
}

impl LinkClock {
    pub fn new(trace: LinkTrace) -> Self {
        Self { trace, next: (0, 0), newest: (Instant::ZERO, 0) }
    }

    pub fn reset(&mut self) {
        self.next = (0, 0);
        self.newest = (Instant::ZERO, 0);
    }

    /// Assigns opportunities to a packet of `len` bytes that joins the queue at `now`. Packets are served
    /// in order, so those before it already have theirs.
    pub fn take(&mut self, now: Instant, len: u32) -> Transit {
        let (mut when, mut left) = self.newest;
        if when <= now {
            // Every opportunity in use is over, and the rest of the last one is lost.
            left = 0;
            if self.at(self.next) <= now {
                self.next = self.first_after(now);
            }
        }
        // A packet of no bytes needs an opportunity, too.
        let mut missing = len.max(1);
        let mut starts = None;
        while missing > 0 {
            if left == 0 {
                when = self.at(self.next);
                left = OPPORTUNITY;
                self.next = self.following(self.next);
            }
            starts = starts.or(Some(when));
            let sent = missing.min(left);
            missing -= sent;
            left -= sent;
        }
        self.newest = (when, left);
        Transit { starts: starts.unwrap_or(when), leaves: when }
    }

    fn at(&self, (round, index): (u64, usize)) -> Instant {
        let base = round.saturating_mul(self.trace.period_millis());
        Instant::from_millis(base.saturating_add(self.trace.millis[index]))
    }

    fn following(&self, (round, index): (u64, usize)) -> (u64, usize) {
        if index + 1 < self.trace.millis.len() { (round, index + 1) } else { (round + 1, 0) }
    }

    /// The first opportunity later than `now`.
    fn first_after(&self, now: Instant) -> (u64, usize) {
        // A timestamp is later than `now` exactly if it is later than its whole milliseconds.
        let millis = now.as_nanos() / 1_000_000;
        let period = self.trace.period_millis();
        let (round, within) = (millis / period, millis % period);
        // The last timestamp is the period, so one is always later than the remainder.
        (round, self.trace.millis.partition_point(|&at| at <= within))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trace(text: &str) -> LinkTrace {
        LinkTrace::parse(text).unwrap()
    }

    #[test]
    fn traces_read_with_line_numbers_in_errors() {
        let ok = trace("0\n0\r\n1\n 140 ");
        assert_eq!((ok.opportunities(), ok.period()), (4, Duration::from_millis(140)));
        assert_eq!(ok.to_string(), "343kbit (4 opportunities in 140ms)");
        let cases = [
            ("", "the link trace is empty: expected one timestamp in milliseconds a line"),
            ("1\n\n2\n", "line 2 of the link trace: `` is not a whole number of milliseconds"),
            ("1\n2.5\n", "line 2 of the link trace: `2.5` is not a whole number of milliseconds"),
            ("-1\n", "line 1 of the link trace: `-1` is not a whole number of milliseconds"),
            ("1\n5\n4\n", "line 3 of the link trace: 4 ms comes after 5 ms, timestamps must not decrease"),
            (
                "0\n0\n",
                "line 2, the last of the link trace, says 0 ms: a trace repeats from its last \
                 timestamp, which must not be zero",
            ),
        ];
        for (text, message) in cases {
            assert_eq!(LinkTrace::parse(text).unwrap_err().to_string(), message);
        }
    }

    /// Feeds packets (arrival in µs, bytes) and expects (first byte, last byte) in ms.
    fn check(name: &str, text: &str, packets: &[(u64, u32, (u64, u64))]) {
        let mut clock = LinkClock::new(trace(text));
        for &(arrives, len, expected) in packets {
            let transit = clock.take(Instant::from_nanos(arrives * 1000), len);
            let expected =
                Transit { starts: Instant::from_millis(expected.0), leaves: Instant::from_millis(expected.1) };
            assert_eq!(transit, expected, "{name}: {len} bytes at {arrives} µs");
        }
    }

    #[test]
    fn opportunities_by_hand() {
        check("an MTU each", "2\n5\n9\n", &[(0, 1500, (2, 2)), (0, 1500, (5, 5)), (0, 1500, (9, 9))]);
        check(
            "repeats from its last timestamp",
            "2\n5\n",
            &[(0, 1500, (2, 2)), (0, 1500, (5, 5)), (0, 1500, (7, 7)), (0, 1500, (10, 10))],
        );
        check("far rounds are found", "2\n5\n", &[(51_000, 1500, (52, 52)), (999_999_500, 40, (1_000_000, 1_000_000))]);
        check(
            "one at a round's end and one at the next one's start",
            "0\n4\n",
            &[(1000, 1500, (4, 4)), (1000, 1500, (4, 4)), (1000, 1500, (8, 8))],
        );
        check("too late for the instant of arrival", "0\n2\n5\n", &[(0, 40, (2, 2)), (2000, 40, (5, 5))]);
        check("just in time", "2\n5\n", &[(1_999, 40, (2, 2)), (4_999, 40, (5, 5))]);
        check(
            "small packets share, the left-over begins the next one",
            "2\n5\n9\n",
            &[(0, 700, (2, 2)), (0, 700, (2, 2)), (0, 700, (2, 5)), (0, 900, (5, 5)), (0, 1, (9, 9))],
        );
        check(
            "a left-over is lost on who comes after",
            "2\n5\n9\n",
            &[(0, 700, (2, 2)), (2000, 700, (5, 5)), (2500, 700, (5, 5)), (6000, 700, (9, 9))],
        );
        check("larger than an MTU", "2\n5\n9\n", &[(0, 3001, (2, 9)), (0, 1499, (9, 9)), (0, 1, (11, 11))]);
    }
}
