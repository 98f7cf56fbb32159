//! Models of how hosts round the sender's timers. The engine's own timers are exact.
//!
//! ```text
//! exact:              at the deadline
//! granularity g:      at the first multiple of g at or after the deadline
//! Linux wheel at HZ:  the timeout is rounded up to n ticks; from the tick of arming, expiry lies
//!                     in level l of the wheel, 63·8^(l−1) ≤ n < 63·8^l, and goes off at
//!                     ((expiry >> 3l) + 1) << 3l ticks: never early, up to 8^l ticks late
//! Linux jiffies at HZ: at the first tick at or after the deadline
//! ```
//! With Linux jiffies the timer of delayed ACKs ticks, too: 200 ms are 50 ticks at 250 Hz, and the ACK leaves up to one
//! tick early. With the other models it is exact. Each host has its own phase of the clock.
//!
//! With both Linux models, a timeout that depends on a measured RTT is 1 µs longer. Real hosts take some
//! time to answer, so a timeout of exactly 70 ticks in the simulation takes 71 ticks on a real host.
//!
//! Sources: Linux 4.8 and later, `calc_wheel_index` in kernel/time/timer.c; Linux before 4.8, `internal_add_timer` and
//! `cascade` in kernel/timer.c (kernel/time/timer.c in 3.17), `tcp_send_delayed_ack` in net/ipv4/tcp_output.c.
//!
//! Deviation: Linux before 4.8 counts n whole ticks from the tick before a timer was armed, so that a timeout of no whole number
//! of ticks may end up to one tick early. Ours does not: the engine ignores a timer before its deadline.

use crate::host_random::{Purpose, random_bits};
use recoup_recovery::{Sender, Timer};
use recoup_tcp as tcp;
use recoup_units::{FlowId, Instant};
use std::time::Duration;

/// How a host rounds its timers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimerModel {
    /// Timers are not rounded.
    Exact,
    /// Timers are rounded up to a multiple of this duration, counted from the start of the flow.
    Granularity(Duration),
    /// Timers are rounded by Linux's timer wheel.
    LinuxWheel {
        /// Ticks per second, 1 to 1,000,000,000.
        hz: u32,
    },
    /// Timers expire at a tick, as in Linux before 4.8.
    LinuxJiffies {
        /// Ticks per second, 1 to 1,000,000,000.
        hz: u32,
    },
}

/// The time a host's processing adds to a measured RTT; any value under a tick has the same effect.
const PROCESSING: Duration = Duration::from_micros(1);
/// The wheel's levels (Linux: nine above HZ 100).
const LEVELS: u32 = 9;
/// Ticks of the first level; each level is eight times coarser than the one below.
const FIRST_LEVEL: u64 = 63;
/// Phases are drawn over this many ticks, enough to be uniform on the wheel's first four levels.
const PHASE_TICKS: u64 = 1 << 12;

impl TimerModel {
    /// When a timer due at `deadline` fires if it is armed at `now`. `phase` is the host's clock at
    /// instant zero.
    pub fn fires_at(self, phase: Duration, now: Instant, deadline: Instant) -> Instant {
        match self {
            Self::Exact => deadline,
            Self::Granularity(g) => {
                let g = (g.as_nanos() as u64).max(1);
                Instant::from_nanos(deadline.as_nanos().div_ceil(g).saturating_mul(g))
            }
            Self::LinuxWheel { hz } => {
                let (tick, phase) = (tick(hz), phase.as_nanos() as u64);
                let armed = (now.as_nanos() + phase) / tick;
                let n = (deadline.since(now).as_nanos() as u64).div_ceil(tick);
                let shift = 3 * level(n);
                let fires = (((armed + n) >> shift) + 1) << shift;
                Instant::from_nanos(fires.saturating_mul(tick).saturating_sub(phase))
            }
            Self::LinuxJiffies { hz } => {
                let (tick, phase) = (tick(hz), phase.as_nanos() as u64);
                let next = deadline.as_nanos().saturating_add(phase).div_ceil(tick);
                Instant::from_nanos(next.saturating_mul(tick).saturating_sub(phase))
            }
        }
    }

    /// When a delayed ACK that is due at `deadline` leaves.
    pub(crate) fn acknowledges_at(self, phase: Duration, now: Instant, deadline: Instant) -> Instant {
        match self {
            Self::LinuxJiffies { hz } => {
                let (tick, phase) = (tick(hz), phase.as_nanos() as u64);
                let last = (deadline.as_nanos() + phase) / tick * tick;
                Instant::from_nanos(last.saturating_sub(phase)).max(now)
            }
            _ => deadline,
        }
    }

    /// The phases of the hosts of a flow: the client's and the server's.
    pub(crate) fn phases(self, seed: u64, flow: FlowId) -> [Duration; 2] {
        let drawn = |hz, purpose| Duration::from_nanos(random_bits(seed, flow, purpose) % (PHASE_TICKS * tick(hz)));
        match self {
            Self::LinuxWheel { hz } => [drawn(hz, Purpose::WheelPhase); 2],
            Self::LinuxJiffies { hz } => [Purpose::WheelPhase, Purpose::ServerPhase].map(|purpose| drawn(hz, purpose)),
            Self::Exact | Self::Granularity(_) => [Duration::ZERO; 2],
        }
    }
}

/// The length of a tick in ns.
fn tick(hz: u32) -> u64 {
    (1_000_000_000 / u64::from(hz.max(1))).max(1)
}

/// The wheel level that holds a timer `n` ticks away.
fn level(n: u64) -> u32 {
    (0..LEVELS - 1).find(|&l| n < FIRST_LEVEL << (3 * l)).unwrap_or(LEVELS - 1)
}

/// The timers of one host. For each timer it keeps the deadline and the rounded time, because rounding
/// depends on when the timer was armed.
#[derive(Clone, Debug)]
pub(crate) struct HostTimers {
    model: TimerModel,
    phase: Duration,
    /// `None` while no flow needed it: exact timers do not.
    armed: Option<Box<Armed>>,
}

/// Deadline and rounded time of each timer that is armed.
type Armed = [Option<(Instant, Instant)>; Timer::ALL.len()];

impl HostTimers {
    /// Exact timers.
    pub const fn new() -> Self {
        Self { model: TimerModel::Exact, phase: Duration::ZERO, armed: None }
    }

    /// Begins a new connection, and keeps the memory.
    pub fn begin(&mut self, model: TimerModel, phase: Duration) {
        (self.model, self.phase) = (model, phase);
        if !self.exact() {
            **self.armed.get_or_insert_default() = Armed::default();
        }
    }

    /// Whether timers fire at their deadlines.
    #[inline]
    pub fn exact(&self) -> bool {
        self.model == TimerModel::Exact
    }

    /// When the host's own timer goes off: that of delayed ACKs has ticks with some models.
    pub fn own(&self, now: Instant, (at, timer): (Instant, tcp::Timer)) -> (Instant, tcp::Timer) {
        match timer {
            tcp::Timer::DelayedAck => (self.model.acknowledges_at(self.phase, now, at), timer),
            _ => (at, timer),
        }
    }

    /// The sender's next timer, with the rounded time at which it fires.
    pub fn next(&mut self, now: Instant, sender: &Sender) -> Option<(Instant, Timer)> {
        let Some(armed) = self.armed.as_deref_mut().filter(|_| self.model != TimerModel::Exact) else {
            return sender.next_timer();
        };
        if sender.gave_up() {
            return None;
        }
        let measured = match self.model {
            TimerModel::LinuxWheel { .. } | TimerModel::LinuxJiffies { .. } if sender.rtt().srtt().is_some() => {
                PROCESSING
            }
            _ => Duration::ZERO,
        };
        let mut next: Option<(Instant, Timer)> = None;
        for (slot, timer) in armed.iter_mut().zip(Timer::ALL) {
            let Some(deadline) = sender.deadline(timer) else {
                *slot = None;
                continue;
            };
            let fires = match *slot {
                _ if timer == Timer::Pacing => deadline, // Linux: a high-resolution timer
                Some((armed_for, fires)) if armed_for == deadline => fires,
                _ => self.model.fires_at(self.phase, now, deadline + measured),
            };
            *slot = Some((deadline, fires));
            if next.is_none_or(|(at, _)| fires < at) {
                next = Some((fires, timer));
            }
        }
        next
    }
}

#[cfg(test)]
mod tests;
