//! What size the buffers should have, measured as the connection goes.
//!
//! The receive buffer should hold twice what the application reads in a round trip: lost data is repaired in one more
//! round trip, while new data keeps coming. While that still grows, the sender is in slow start, and more is needed. One
//! budget serves all connections of a host, so the endpoint tells only what it would like to have.
//!
//! The receiver measures round trips by the timestamps echoed to it, or else by how long a full window takes to arrive.
//! The latter is never too short, so its minimum counts.
//!
//! Source: Linux 6.12 `tcp_rcv_rtt_measure`, `tcp_rcv_rtt_measure_ts`, `tcp_rcv_rtt_update`, `tcp_rcv_space_adjust`,
//! `tcp_sndbuf_expand`.
//!
//! Deviations: before the first measurement, the sender's smoothed round trip counts; Linux waits. A buffer that is less
//! than twice what was read is reported in each round trip, since the host may not have given what was wanted before, or
//! have taken some of it back. Sizes count payload alone, where Linux adds what its packets take.

use super::*;

/// Segments that the buffer holds beyond what was read in a round trip.
const CUSHION: u64 = 16;

/// Segments that a send buffer holds at least twice (Linux TCP_INIT_CWND).
const LEAST_SEGMENTS: u64 = 10;

/// The measurements, in 32 bytes. Offsets are kept by their low bits.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReceiveTuning {
    /// When the present round began.
    since: Instant,
    /// When the window began that ends at `mark`.
    window_since: Instant,
    /// Eight times the round-trip time, in microseconds; 0 before the first measurement.
    rtt8: u32,
    /// The most bytes read in a round so far; 0: nothing is measured.
    space: u32,
    /// Up to where the application had read when the round began.
    read_to: u32,
    /// The timestamp that was echoed last, or else where the present window ends.
    mark: u32,
}

const _: () = assert!(size_of::<ReceiveTuning>() == 32);

fn low(offset: Offset) -> u32 {
    offset.0 as u32
}

fn narrow(n: u64) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

impl ReceiveTuning {
    pub fn new(on: bool) -> Self {
        let space = u32::from(on);
        Self { since: Instant::ZERO, window_since: Instant::ZERO, rtt8: 0, space, read_to: 1, mark: 0 }
    }

    #[inline]
    fn is_on(&self) -> bool {
        self.space > 0
    }

    /// The connection opens. `space`: what the first round is compared to.
    pub fn begin(&mut self, now: Instant, space: u64) {
        if self.is_on() {
            self.space = narrow(space).max(1);
            self.since = now;
        }
    }

    /// Data arrived, with the timestamp `echo` sent `age` ago. `full`: at least one full segment.
    fn on_echo(&mut self, echo: u32, age: Duration, full: bool) {
        if echo == self.mark {
            return;
        }
        self.mark = echo;
        if full {
            // The clock ticks once a millisecond.
            let sample = narrow(age.as_micros() as u64).clamp(1000, u32::MAX / 8);
            self.rtt8 = match self.rtt8 {
                0 => sample * 8,
                rtt8 => rtt8 - rtt8 / 8 + sample,
            };
        }
    }

    /// Data arrived up to `next`, and the window ends at `edge`.
    fn on_window(&mut self, now: Instant, next: Offset, edge: Offset) {
        if self.window_since > Instant::ZERO {
            if (low(next).wrapping_sub(self.mark) as i32) < 0 {
                return;
            }
            let micros = now.nanos_since(self.window_since) / 1000;
            let sample = narrow(micros).clamp(1, u32::MAX / 8) * 8;
            self.rtt8 = if self.rtt8 == 0 { sample } else { self.rtt8.min(sample) };
        }
        self.window_since = now;
        self.mark = low(edge);
    }

    /// The application has read up to `read`. Returns the bytes read in the round that ends now, if it ends, and the
    /// most that were read in a round before.
    fn end_round(&mut self, now: Instant, read: Offset, srtt: Option<Duration>) -> Option<[u64; 2]> {
        let nanos = now.nanos_since(self.since);
        let rtt = match self.rtt8 {
            0 => srtt?.as_nanos() as u64,
            rtt8 => u64::from(rtt8) * 125,
        };
        if nanos < rtt.max(1) {
            return None;
        }
        let copied = low(read).wrapping_sub(self.read_to);
        let before = self.space;
        self.space = before.max(copied);
        (self.since, self.read_to) = (now, low(read));
        Some([copied, before].map(u64::from))
    }
}

impl Endpoint {
    /// Measures the round trip by a segment with data that was taken.
    #[inline]
    pub(super) fn measure_receive_rtt(&mut self, now: Instant, segment: &Segment) {
        if self.tuning.is_on() && segment.payload_len > 0 {
            self.measure_rtt_by(now, segment);
        }
    }

    #[inline(never)]
    fn measure_rtt_by(&mut self, now: Instant, segment: &Segment) {
        let echo = segment.options.timestamps.filter(|_| self.timestamps).map(|t| t.echo);
        match echo {
            Some(echo) => {
                let clock = SeqNumber(timestamp(now));
                if echo != 0 && !SeqNumber(echo).after(clock) {
                    let age = Duration::from_millis(u64::from(clock.since(SeqNumber(echo))));
                    let full = segment.payload_len >= self.received_full_segment();
                    self.tuning.on_echo(echo, age, full);
                }
            }
            None => self.tuning.on_window(now, self.receiver.next(), self.receiver.edge()),
        }
    }

    /// The size in bytes that the receive buffer should have, if it should be larger than it is. Cheap: ask after each
    /// read. Then [`set_receive_buffer`](Self::set_receive_buffer) sets what the connection may have.
    ///
    /// Always `None` without [`Config::tune_receive_buffer`].
    pub fn wanted_receive_buffer(&mut self, now: Instant) -> Option<u64> {
        if !self.tuning.is_on() || !self.synchronized() {
            return None;
        }
        let [copied, before] = self.tuning.end_round(now, self.receiver.read_to(), self.sender.rtt().srtt())?;
        let buffer = self.receiver.buffer();
        if copied <= before && 2 * copied <= buffer {
            return None;
        }
        let steady = 2 * copied + CUSHION * u64::from(self.announced_mss);
        // Growth by half doubles the buffer; doubling triples it.
        let growth = steady.saturating_mul(copied.saturating_sub(before)) / before.max(1);
        let most = 0xffff << self.scale;
        let wanted = steady.saturating_add(growth.saturating_mul(2)).min(most);
        (wanted > buffer).then_some(wanted)
    }

    /// Sets the size of the receive buffer, in bytes. The window follows: a larger buffer opens it with the next ACK,
    /// at once if it is closed; a smaller one takes effect as data arrives, since the right edge of the window never
    /// moves back (RFC 9293 §3.8.6.2.2).
    pub fn set_receive_buffer(&mut self, now: Instant, bytes: u64) {
        self.receiver.set_buffer(bytes);
        if self.synchronized() && self.receiver.window_update_due() {
            self.acks.on_segment(now, crate::acks::Urgency::AtOnce);
        }
    }

    /// The size in bytes that the send buffer should have: twice the congestion window, so that the application has
    /// time to write the next while one is outstanding; three times if the congestion control models the path (Linux
    /// `bbr_sndbuf_expand`).
    pub fn wanted_send_buffer(&self) -> u64 {
        let segments = u64::from(self.sender.cwnd().0).max(u64::from(self.sender.reordering().0) + 1);
        let factor = if self.sender.paces() { 3 } else { 2 };
        factor * segments.max(LEAST_SEGMENTS) * u64::from(self.full_segment)
    }
}
