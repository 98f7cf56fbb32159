//! BBR, version 1: a model of the path in place of a reaction to losses.
//!
//! ```text
//! BtlBw  = the largest delivery rate of the last 10 round trips        RTprop = the smallest RTT of 10 s
//! pacing rate = 0.99 · pacing_gain · BtlBw
//! cwnd        = cwnd_gain · BtlBw · RTprop + max. excess of ACKs + 3 bursts, even, at least 4
//!
//! state     pacing gain, cwnd gain              ends
//! Startup   2.89, 2.89                          BtlBw grew by less than 25 % in each of 3 round trips
//! Drain     1/2.89, 2.89                        in flight ≤ BtlBw·RTprop
//! ProbeBW   5/4, 3/4, 1, 1, 1, 1, 1, 1;  2      a gain lasts RTprop (see `cycle_ends`)
//! ProbeRTT  1; cwnd ≤ 4                         after 200 ms and a round trip. Begins when RTprop is 10 s old
//!
//! in recovery: the segments just marked lost leave cwnd; for one round trip cwnd = pipe + delivered (packet
//! conservation), then slow start up to the target. The cwnd before is restored at the end.
//! ```
//! Where losses and delivery rates look like those of a policer, the model uses the policed rate ([`policer`]).
//! How far ACKs run ahead of BtlBw is measured in [`aggregation`].
//!
//! Source: N. Cardwell et al., "BBR: Congestion-Based Congestion Control", ACM Queue 14(5), 2016;
//! draft-cardwell-iccrg-bbr-congestion-control-00; the rest is that of Linux's `tcp_bbr.c` (6.12), in its integer
//! arithmetic.
//!
//! Deviations:
//!
//! - ProbeRTT and the age of RTprop are timed exactly, where Linux counts jiffies.
//! - An RTT is that of the newest original segment that an ACK delivers, where Linux takes the highest one in the
//!   stream.
//! - The gain with which ProbeBW begins is drawn from the sender's random seed
//!   ([`Sender::set_random_seed`](crate::Sender::set_random_seed)).
//! - The congestion window has no upper limit of its own.

mod aggregation;
mod bandwidth;
mod policer;

use super::path::{PathSample, PathTotals, PathVerdict, Start};
use crate::event::State;
use crate::pacing;
use aggregation::Aggregation;
use bandwidth::{Bandwidth, MaxFilter};
use core::time::Duration;
use policer::Policer;
use recoup_units::{BitRate, Instant, Segments};

/// A gain, in 1/256.
type Gain = u64;

/// A gain of 1.
const UNIT: Gain = 256;
/// 2/ln 2: the smallest gain that doubles the rate in each round trip.
const HIGH_GAIN: Gain = UNIT * 2885 / 1000 + 1;
/// Drains in one round trip the queue that Startup built.
const DRAIN_GAIN: Gain = UNIT * 1000 / 2885;
const CWND_GAIN: Gain = 2 * UNIT;
/// ProbeBW's pacing gains, in turn.
const CYCLE: [Gain; 8] = [UNIT * 5 / 4, UNIT * 3 / 4, UNIT, UNIT, UNIT, UNIT, UNIT, UNIT];
/// ProbeBW begins with one of this many gains: any but 3/4.
const FIRST_GAINS: u64 = 7;
/// The round trips over which BtlBw is the maximum.
const BANDWIDTH_ROUNDS: u32 = CYCLE.len() as u32 + 2;
/// Growth of BtlBw that counts as growth.
const GROWTH: Gain = UNIT * 5 / 4;
/// Round trips without growth, after which the path is full.
const FULL_ROUNDS: u8 = 3;
const MIN_CWND: Segments = Segments(4);
/// The window before RTprop is known (RFC 6928).
const INITIAL_WINDOW: Segments = Segments(10);
/// How long a minimum RTT stays valid.
const MIN_RTT_AGE: Duration = Duration::from_secs(10);
/// How long ProbeRTT holds the window down.
const PROBE_RTT_TIME: Duration = Duration::from_millis(200);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
enum Mode {
    Startup,
    Drain,
    ProbeBw,
    ProbeRtt,
}

/// BBR's state.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Bbr {
    mode: Mode,
    /// Samples of the delivery rate.
    bandwidth: MaxFilter,
    /// Round trips so far, counted by deliveries.
    rounds: u32,
    /// The round trip ends when a segment is delivered that was sent after this many deliveries.
    round_end: u64,
    round_started: bool,
    /// RTprop.
    min_rtt: Option<Duration>,
    min_rtt_at: Instant,
    /// When ProbeRTT may end, once the window is down.
    probe_rtt_until: Option<Instant>,
    probe_rtt_round_done: bool,
    /// The sender was idle, and nothing was delivered since.
    idle_restart: bool,
    /// The sender's state at the last ACK.
    last_state: State,
    /// The first round trip of a recovery sends no more than was delivered.
    conserves: bool,
    /// The window to which a recovery or ProbeRTT returns.
    prior_cwnd: Segments,
    /// The place in [`CYCLE`], and since when.
    phase: u8,
    phase_since: Instant,
    full: FullPipe,
    policer: Policer,
    aggregation: Aggregation,
    pacing_gain: Gain,
    cwnd_gain: Gain,
    /// The pacing rate, in bytes per second; 0 before the connection is established.
    pacing_rate: u64,
    /// The pacing rate comes from a measured RTT.
    has_seen_rtt: bool,
    /// Set when Startup ends; nothing is decided by it.
    ssthresh: Segments,
    draws: u64,
}

/// Whether Startup has filled the path.
#[derive(Clone, Copy, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
struct FullPipe {
    reached: bool,
    /// The last BtlBw that had grown.
    bandwidth: Bandwidth,
    /// Round trips since.
    rounds: u8,
}

impl Default for Bbr {
    fn default() -> Self {
        Self {
            mode: Mode::Startup,
            bandwidth: MaxFilter::default(),
            rounds: 0,
            round_end: 0,
            round_started: false,
            min_rtt: None,
            min_rtt_at: Instant::ZERO,
            probe_rtt_until: None,
            probe_rtt_round_done: false,
            idle_restart: false,
            last_state: State::Open,
            conserves: false,
            prior_cwnd: Segments::ZERO,
            phase: 0,
            phase_since: Instant::ZERO,
            full: FullPipe::default(),
            policer: Policer::default(),
            aggregation: Aggregation::default(),
            pacing_gain: HIGH_GAIN,
            cwnd_gain: HIGH_GAIN,
            pacing_rate: 0,
            has_seen_rtt: false,
            ssthresh: Segments::MAX,
            draws: 0,
        }
    }
}

impl Bbr {
    pub fn set_random_seed(&mut self, seed: u64) {
        self.draws = seed;
    }

    /// The connection is established.
    pub fn on_established(&mut self, start: &Start, min_rtt: Option<Duration>) {
        *self = Self { min_rtt, min_rtt_at: start.now, draws: self.draws, ..Self::default() };
        self.set_first_pacing_rate(start);
        self.aggregation.restart(start.now);
        self.policer.stop(&PathTotals { at: start.now, ..PathTotals::default() });
    }

    pub fn pacing_rate(&self) -> Option<BitRate> {
        BitRate::from_bits_per_second(self.pacing_rate.saturating_mul(8))
    }

    /// Before the first loss of a recovery or a timeout is repaired. Returns ssthresh, which stays.
    pub fn ssthresh_after_loss(&mut self, cwnd: Segments) -> Segments {
        self.save_cwnd(cwnd);
        self.ssthresh
    }

    /// A retransmission timeout: it ends a round trip, and is a loss to the policer's detection.
    pub fn on_loss_state(&mut self, totals: &PathTotals, mss: u32) {
        self.last_state = State::Loss;
        self.full.bandwidth = Bandwidth::default();
        self.round_started = true;
        self.detect_policer(totals, true, false, mss);
    }

    /// The reduction is undone: the path may be faster than the model knows.
    pub fn on_undone(&mut self, totals: &PathTotals) {
        self.full.bandwidth = Bandwidth::default();
        self.full.rounds = 0;
        self.policer.stop(totals);
    }

    /// Nothing is in flight, and the sender sends again after the application limited it. Returns the window.
    pub fn on_restart(&mut self, start: &Start) -> Segments {
        self.idle_restart = true;
        self.aggregation.restart(start.now);
        match self.mode {
            Mode::ProbeBw => {
                self.set_pacing_rate(start, UNIT);
                start.cwnd
            }
            Mode::ProbeRtt => self.end_probe_rtt(start.now, start.cwnd),
            Mode::Startup | Mode::Drain => start.cwnd,
        }
    }

    /// Takes an ACK's sample of the path into the model, and sets window and pacing rate.
    pub fn on_ack(&mut self, ack: &PathSample) -> PathVerdict {
        self.update_bandwidth(ack);
        let btl_bw = self.btl_bw();
        self.aggregation.update(ack, btl_bw, self.round_started);
        if self.mode == Mode::ProbeBw && self.cycle_ends(ack) {
            self.next_phase(ack.totals.at);
        }
        self.check_full_pipe(ack);
        self.check_drained(ack);
        let mut cwnd = ack.cwnd;
        let discounts_flight = self.update_min_rtt(ack, &mut cwnd);
        self.set_gains();
        let start = Start { cwnd, ..ack.start() };
        self.set_pacing_rate(&start, self.pacing_gain);
        PathVerdict { cwnd: self.window(ack, cwnd), ssthresh: self.ssthresh, discounts_flight }
    }

    /// The estimated bandwidth of the path.
    fn btl_bw(&self) -> Bandwidth {
        self.policer.rate().unwrap_or(self.bandwidth.max())
    }

    fn update_bandwidth(&mut self, ack: &PathSample) {
        self.round_started = false;
        let Some(rate) = ack.rate.filter(|rate| rate.interval.is_some()) else {
            return;
        };
        if rate.prior_delivered >= self.round_end {
            self.round_end = ack.totals.delivered;
            self.rounds = self.rounds.wrapping_add(1);
            self.round_started = true;
            self.conserves = false;
        }
        let losses = ack.lost > Segments::ZERO;
        self.detect_policer(&ack.totals, losses, rate.app_limited, ack.mss);
        let interval = rate.interval.unwrap_or_default();
        let Some(sample) = Bandwidth::of(rate.delivered, interval) else {
            return;
        };
        if !rate.app_limited || sample >= self.bandwidth.max() {
            self.bandwidth.update(BANDWIDTH_ROUNDS, self.rounds, sample);
        }
    }

    fn detect_policer(&mut self, totals: &PathTotals, losses: bool, app_limited: bool, mss: u32) {
        let was_policed = self.policer.rate().is_some();
        if was_policed {
            let is_round = self.mode == Mode::ProbeBw && self.round_started;
            self.policer.count_use(totals, is_round);
        } else {
            let rounds = u8::from(self.round_started);
            self.policer.sample(totals, rounds, losses, app_limited, mss);
        }
        match (was_policed, self.policer.rate().is_some()) {
            (true, false) => self.begin_probe_bw(totals.at),
            (false, true) => self.pacing_gain = UNIT,
            _ => {}
        }
    }

    /// Whether the present gain has lasted long enough: RTprop for 1; for 5/4 also until so much is in flight, or lost;
    /// for 3/4 only until the queue is gone.
    fn cycle_ends(&self, ack: &PathSample) -> bool {
        let lasted = ack.totals.at.since(self.phase_since);
        let is_full_length = self.min_rtt.is_some_and(|rtt| lasted > rtt);
        if self.pacing_gain == UNIT {
            return is_full_length;
        }
        let in_flight = self.in_network(ack, ack.prior_in_flight);
        let max = self.bandwidth.max();
        if self.pacing_gain > UNIT {
            let target = self.inflight(max, self.pacing_gain, ack.mss);
            return is_full_length && (ack.lost > Segments::ZERO || in_flight >= target);
        }
        is_full_length || in_flight <= self.inflight(max, UNIT, ack.mss)
    }

    fn next_phase(&mut self, now: Instant) {
        self.phase = (self.phase + 1) % CYCLE.len() as u8;
        self.phase_since = now;
    }

    fn begin_probe_bw(&mut self, now: Instant) {
        self.mode = Mode::ProbeBw;
        self.phase = CYCLE.len() as u8 - 1 - self.draw(FIRST_GAINS) as u8;
        self.next_phase(now);
    }

    /// A random number below `end` (SplitMix64).
    fn draw(&mut self, end: u64) -> u64 {
        self.draws = self.draws.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.draws;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (bits ^ (bits >> 31)) % end
    }

    fn check_full_pipe(&mut self, ack: &PathSample) {
        let app_limited = ack.rate.is_some_and(|rate| rate.app_limited);
        if self.full.reached || !self.round_started || app_limited {
            return;
        }
        let max = self.bandwidth.max();
        if max >= self.full.bandwidth.times(GROWTH) {
            self.full.bandwidth = max;
            self.full.rounds = 0;
            return;
        }
        self.full.rounds += 1;
        self.full.reached = self.full.rounds >= FULL_ROUNDS;
    }

    fn check_drained(&mut self, ack: &PathSample) {
        let target = |bbr: &Self| bbr.inflight(bbr.bandwidth.max(), UNIT, ack.mss);
        if self.mode == Mode::Startup && self.full.reached {
            self.mode = Mode::Drain;
            self.ssthresh = target(self);
        }
        if self.mode == Mode::Drain && self.in_network(ack, ack.in_flight) <= target(self) {
            self.begin_probe_bw(ack.totals.at);
        }
    }

    /// Returns whether ProbeRTT limits the flight, so that its samples of the delivery rate count as limited by the
    /// application.
    fn update_min_rtt(&mut self, ack: &PathSample, cwnd: &mut Segments) -> bool {
        let expired = ack.now > self.min_rtt_at + MIN_RTT_AGE;
        if let Some(rtt) = ack.rtt
            && (self.min_rtt.is_none_or(|min| rtt <= min) || (expired && !ack.may_be_delayed))
        {
            self.min_rtt = Some(rtt);
            self.min_rtt_at = ack.now;
        }
        if expired && !self.idle_restart && self.mode != Mode::ProbeRtt {
            self.mode = Mode::ProbeRtt;
            self.save_cwnd(*cwnd);
            self.probe_rtt_until = None;
        }
        let probes = self.mode == Mode::ProbeRtt;
        if probes {
            match self.probe_rtt_until {
                None if ack.in_flight <= MIN_CWND => {
                    self.probe_rtt_until = Some(ack.now + PROBE_RTT_TIME);
                    self.probe_rtt_round_done = false;
                    self.round_end = ack.totals.delivered;
                }
                None => {}
                Some(_) => {
                    self.probe_rtt_round_done |= self.round_started;
                    if self.probe_rtt_round_done {
                        *cwnd = self.end_probe_rtt(ack.now, *cwnd);
                    }
                }
            }
        }
        if ack.rate.is_some_and(|rate| rate.delivered > 0) {
            self.idle_restart = false;
        }
        probes
    }

    /// Ends ProbeRTT if it is over. Returns the window.
    fn end_probe_rtt(&mut self, now: Instant, cwnd: Segments) -> Segments {
        if self.probe_rtt_until.is_none_or(|until| now <= until) {
            return cwnd;
        }
        self.min_rtt_at = now;
        match self.full.reached {
            true => self.begin_probe_bw(now),
            false => self.mode = Mode::Startup,
        }
        cwnd.max(self.prior_cwnd)
    }

    fn set_gains(&mut self) {
        (self.pacing_gain, self.cwnd_gain) = match self.mode {
            Mode::Startup => (HIGH_GAIN, HIGH_GAIN),
            Mode::Drain => (DRAIN_GAIN, HIGH_GAIN),
            Mode::ProbeBw if self.policer.rate().is_some() => (UNIT, CWND_GAIN),
            Mode::ProbeBw => (CYCLE[usize::from(self.phase)], CWND_GAIN),
            Mode::ProbeRtt => (UNIT, UNIT),
        };
    }

    /// Until the path is full, the rate only grows.
    fn set_pacing_rate(&mut self, start: &Start, gain: Gain) {
        if !self.has_seen_rtt && start.srtt.is_some() {
            self.set_first_pacing_rate(start);
        }
        let rate = self.btl_bw().bytes_per_second(start.mss, gain);
        if self.full.reached || rate > self.pacing_rate {
            self.pacing_rate = rate;
        }
    }

    /// The window per RTT, with Startup's gain. Without an RTT, per millisecond.
    fn set_first_pacing_rate(&mut self, start: &Start) {
        self.has_seen_rtt |= start.srtt.is_some();
        let rtt = start.srtt.unwrap_or(Duration::from_millis(1));
        let rtt = rtt.max(Duration::from_micros(1));
        if let Some(bandwidth) = Bandwidth::of(u64::from(start.cwnd.0), rtt) {
            self.pacing_rate = bandwidth.bytes_per_second(start.mss, HIGH_GAIN);
        }
    }

    /// Keeps the window for the end of a recovery or of ProbeRTT.
    fn save_cwnd(&mut self, cwnd: Segments) {
        let is_whole = self.last_state < State::Recovery && self.mode != Mode::ProbeRtt;
        self.prior_cwnd = match is_whole {
            true => cwnd,
            false => self.prior_cwnd.max(cwnd),
        };
    }

    fn window(&mut self, ack: &PathSample, cwnd: Segments) -> Segments {
        let window = match ack.delivered {
            Segments::ZERO => cwnd,
            _ => self.window_after_delivery(ack, cwnd),
        };
        match self.mode {
            Mode::ProbeRtt => window.min(MIN_CWND),
            _ => window,
        }
    }

    fn window_after_delivery(&mut self, ack: &PathSample, cwnd: Segments) -> Segments {
        let cwnd = self.window_in_recovery(ack, cwnd);
        if self.conserves {
            return cwnd.max(ack.in_flight + ack.delivered);
        }
        let btl_bw = self.btl_bw();
        let excess = match self.full.reached {
            true => self.aggregation.excess(btl_bw),
            false => Segments::ZERO,
        };
        let target = self.bdp(btl_bw, self.cwnd_gain) + excess;
        let target = self.with_bursts(target, ack.mss);
        let grown = if self.full.reached {
            (cwnd + ack.delivered).min(target)
        } else if cwnd < target || ack.totals.delivered < u64::from(INITIAL_WINDOW.0) {
            cwnd + ack.delivered
        } else {
            cwnd
        };
        grown.max(MIN_CWND)
    }

    /// The window after what recovery takes from it, or gives back.
    fn window_in_recovery(&mut self, ack: &PathSample, cwnd: Segments) -> Segments {
        let was = core::mem::replace(&mut self.last_state, ack.state);
        if ack.state == State::Recovery && was != State::Recovery {
            self.conserves = true;
            self.round_end = ack.totals.delivered;
            return ack.in_flight + ack.delivered;
        }
        let cwnd = cwnd.saturating_sub(ack.lost);
        let cwnd = if ack.lost > Segments::ZERO { cwnd.max(Segments::ONE) } else { cwnd };
        if was >= State::Recovery && ack.state < State::Recovery {
            self.conserves = false;
            return cwnd.max(self.prior_cwnd);
        }
        cwnd
    }

    /// BtlBw·RTprop with a gain, rounded up.
    fn bdp(&self, bandwidth: Bandwidth, gain: Gain) -> Segments {
        match self.min_rtt {
            Some(rtt) => bandwidth.segments_in(rtt, gain),
            None => INITIAL_WINDOW,
        }
    }

    /// The target of segments in flight.
    fn inflight(&self, bandwidth: Bandwidth, gain: Gain, mss: u32) -> Segments {
        self.with_bursts(self.bdp(bandwidth, gain), mss)
    }

    /// Room for a burst at the sender, one at its device and one at the receiver; an even number, for receivers that
    /// acknowledge every second segment; and two more where the gain of 5/4 needs them.
    fn with_bursts(&self, window: Segments, mss: u32) -> Segments {
        let bursts = window.0.saturating_add(3 * self.burst_goal(mss));
        let even = bursts.saturating_add(1) & !1;
        match self.mode == Mode::ProbeBw && self.phase == 0 {
            true => Segments(even.saturating_add(2)),
            false => Segments(even),
        }
    }

    /// The segments of a burst (Linux `bbr_tso_segs_goal`).
    fn burst_goal(&self, mss: u32) -> u32 {
        const MOST: u32 = 127;
        let least = pacing::least_burst(self.pacing_rate);
        pacing::burst(self.pacing_rate, mss, None, least).min(MOST)
    }

    /// The segments in the network when the next one departs.
    fn in_network(&self, ack: &PathSample, in_flight: Segments) -> Segments {
        let delivered = self.btl_bw().segments_within(ack.departs_in);
        let burst = match self.pacing_gain > UNIT {
            true => Segments(self.burst_goal(ack.mss)),
            false => Segments::ZERO,
        };
        (in_flight + burst).saturating_sub(delivered)
    }
}

#[cfg(test)]
mod tests;
