//! CUBIC.
//!
//! ```text
//! W(t) = C·(t − K)³ + W_max       K = ∛((W_max − cwnd_epoch)/C)          RFC 9438 §4.2
//! after a loss: ssthresh = max(β·cwnd, 2);
//!               W_max = cwnd, or cwnd·(1+β)/2 if cwnd is below the last W_max  (§4.7)
//! at least as fast as a Reno of the same average window                  (§4.3)
//! ```
//! C = 0.4 segments/s³; β = 717/1024 as in Linux (RFC 9438 §4.6: 0.7).
//!
//! Deviations from Linux 3.17: times in seconds as `f64` (Linux: integers scaled to 1/1024 s); the
//! target is at most 1.5 windows, as RFC 9438 §4.4 has it; no floor under the growth before the first
//! loss; what an ACK acknowledges counts in full, where Linux divides by an estimate of delayed ACKs;
//! no HyStart: slow start ends at ssthresh.

use super::MIN_SSTHRESH;
use recoup_units::{Instant, Segments};
use std::time::Duration;

const C: f64 = 0.4;
/// β in 1/1024 (Linux).
const BETA_1024: u64 = 717;
const BETA: f64 = BETA_1024 as f64 / 1024.0;

/// CUBIC's state.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cubic {
    /// The window before the last reduction, in segments.
    w_max: f64,
    epoch: Option<Epoch>,
    /// Acknowledged towards the next segment of window.
    acked: f64,
}

/// One growth curve, from a reduction to the next.
#[derive(Clone, Copy, Debug)]
struct Epoch {
    start: Instant,
    /// When the curve reaches `plateau`, in seconds after `start`.
    k: f64,
    plateau: f64,
    /// The window a Reno sender would have by now.
    reno: f64,
}

impl Cubic {
    /// The slow-start threshold after a loss; remembers the window of the loss.
    pub fn ssthresh(&mut self, cwnd: Segments) -> Segments {
        self.epoch = None;
        let w = f64::from(cwnd.0);
        self.w_max = if w < self.w_max {
            w * (1.0 + BETA) / 2.0
        } else {
            w
        };
        let reduced = (u64::from(cwnd.0) * BETA_1024 / 1024) as u32;
        Segments(reduced).max(MIN_SSTHRESH)
    }

    /// A timeout: forget the curve.
    pub fn on_timeout(&mut self) {
        *self = Self::default();
    }

    /// Congestion avoidance.
    pub fn grow(
        &mut self,
        now: Instant,
        acked: Segments,
        cwnd: Segments,
        min_rtt: Duration,
    ) -> Segments {
        let w = f64::from(cwnd.0);
        let epoch = self
            .epoch
            .get_or_insert_with(|| Epoch::begin(now, w, self.w_max));
        let t = (now.since(epoch.start) + min_rtt).as_secs_f64();
        let target = (epoch.plateau + C * (t - epoch.k).powi(3)).min(1.5 * w);
        // §4.3: the Reno-friendly estimate grows α = 3(1−β)/(1+β) segments a window.
        epoch.reno += 3.0 * (1.0 - BETA) / (1.0 + BETA) * f64::from(acked.0) / w;
        let target = target.max(epoch.reno);
        // One segment of growth takes w/(target − w) acknowledged segments; near the plateau
        // at most a hundred windows.
        let needed = if target > w {
            w / (target - w)
        } else {
            100.0 * w
        };
        self.acked += f64::from(acked.0);
        let growth = (self.acked / needed.max(2.0)).floor();
        self.acked -= growth * needed.max(2.0);
        cwnd + Segments(growth as u32)
    }
}

impl Epoch {
    fn begin(start: Instant, cwnd: f64, w_max: f64) -> Self {
        let (k, plateau) = if cwnd < w_max {
            (((w_max - cwnd) / C).cbrt(), w_max)
        } else {
            (0.0, cwnd)
        };
        Self {
            start,
            k,
            plateau,
            reno: cwnd,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seven_for_ten() {
        for (cwnd, ssthresh) in [(10, 7), (100, 70), (3, 2), (1, 2)] {
            assert_eq!(
                Cubic::default().ssthresh(Segments(cwnd)),
                Segments(ssthresh)
            );
        }
    }

    /// One window acknowledged every `rtt_ms` from a loss at `w_max` on; the window each round.
    fn rounds(w_max: u32, rtt_ms: u64, n: u64) -> Vec<u32> {
        let mut cubic = Cubic::default();
        let mut cwnd = cubic.ssthresh(Segments(w_max));
        let rtt = Duration::from_millis(rtt_ms);
        (0..n)
            .map(|i| {
                let now = Instant::from_millis(i * rtt_ms);
                for _ in 0..cwnd.0 {
                    cwnd = cubic.grow(now, Segments(1), cwnd, rtt);
                }
                cwnd.0
            })
            .collect()
    }

    #[test]
    fn the_curve_is_concave_then_convex_around_the_old_maximum() {
        // K = ∛(1000·(1−717/1024)/0.4) = 9.08 s: at a 100 ms RTT, round 91 is back at W_max.
        let w = rounds(1000, 100, 180);
        let at = |i: usize| i64::from(w[i]);
        assert!((at(90) - 1000).abs() <= 5, "{}", at(90));
        assert!(at(30) - at(20) > at(90) - at(80), "concave below");
        assert!(at(179) - at(169) > at(100) - at(90), "convex above");
        assert!(w.is_sorted());
    }

    #[test]
    fn short_paths_grow_as_reno_would() {
        // 10 ms and a small window: the cubic term is negligible for the first second; §4.3's
        // estimate gains 3(1−β)/(1+β) = 0.53 segments a round.
        let w = rounds(10, 10, 60);
        let reno = 7.0 + 0.529 * 60.0;
        assert!(
            (f64::from(w[59]) - reno).abs() < 5.0,
            "{} expected about {reno}",
            w[59]
        );
    }
}
