//! The round-trip time estimator and the RTO it gives, as RFC 6298 §2 has them or as Linux does:
//!
//! ```text
//! first sample R:  SRTT = R          mdev = R/2
//! later:           e = R − SRTT      SRTT += e/8
//!                  mdev += (|e| − mdev)/4,  or /32 when the RTT fell by more than mdev
//! RTTVAR (×4):     rises to 4·mdev at once; once a round trip falls by a quarter of its distance
//!                  to the largest 4·mdev of that round trip, itself never under the floor
//! RTO = SRTT + 4·RTTVAR, at most the maximum
//! ```
//! Sources: RFC 6298 §2 (the estimator), Linux `tcp_rtt_estimator` (fall at most once a round trip,
//! damping when the RTT drops, the 200 ms floor on 4·RTTVAR rather than on the RTO).
//!
//! Deviations: the least RTT never ages (Linux forgets it after five minutes); a segment SACKed before
//! gives no sample when the ACK passes it, in any profile (Linux 3.17 still takes it; 2.6 takes none
//! from SACKs and prefers timestamps); Linux keeps µs and jiffies, this keeps nanoseconds; host timers round, not the
//! estimator.

use recoup_units::Offset;
use std::time::Duration;

/// The RTO when data transmission begins after a SYN was lost and nothing was measured
/// (RFC 6298 §5.7).
pub const FALLBACK: Duration = Duration::from_secs(3);

/// How RTTVAR follows the samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Smoothing {
    /// Linux: it rises at once and falls at most once a round trip.
    Linux,
    /// RFC 6298 §2.3: a quarter of the way to |SRTT − R| on each sample.
    Standard,
}

/// The rules of the retransmission timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RtoRules {
    /// How RTTVAR follows the samples.
    pub smoothing: Smoothing,
    /// Before any sample (RFC 6298 §2.1).
    pub initial: Duration,
    /// The floor of 4·RTTVAR, and so of what the RTO adds to SRTT (RFC 6298's clock granularity G;
    /// Linux's 200 ms).
    pub min_variance: Duration,
    /// The floor of the RTO itself (RFC 6298 §2.4).
    pub min: Duration,
    /// The ceiling, backed off or not (RFC 6298 §2.5).
    pub max: Duration,
}

/// SRTT, RTTVAR and the RTO before back-off.
#[derive(Clone, Copy, Debug)]
pub struct RttEstimator {
    rules: RtoRules,
    /// 8·SRTT in ns; 0 until the first sample.
    srtt8: u64,
    /// 4·mdev in ns.
    mdev4: u64,
    /// The largest 4·mdev seen in the current round trip, floor included.
    mdev4_max: u64,
    /// 4·RTTVAR in ns.
    rttvar4: u64,
    /// The current round trip ends when `snd_una` passes this.
    round_end: Offset,
    min: Option<Duration>,
    /// What follows from the above: asked for far more often than it changes.
    rto: Duration,
}

impl RttEstimator {
    /// No sample yet.
    pub fn new(rules: RtoRules) -> Self {
        let mut new = Self {
            rules,
            rto: Duration::ZERO,
            srtt8: 0,
            mdev4: 0,
            mdev4_max: 0,
            rttvar4: 0,
            round_end: Offset::SYN,
            min: None,
        };
        new.keep_rto();
        new
    }

    /// Takes a sample; `una` and `nxt` delimit the round trips (after the ACK was applied).
    pub fn on_sample(&mut self, rtt: Duration, una: Offset, nxt: Offset) {
        self.take_sample(rtt, una, nxt);
        self.keep_rto();
    }

    fn take_sample(&mut self, rtt: Duration, una: Offset, nxt: Offset) {
        // A sample of zero would read as "none yet"; no clock resolves less than this.
        let m = (rtt.as_nanos() as u64).clamp(1, 1 << 50);
        let floor = self.rules.min_variance.as_nanos() as u64;
        self.min = Some(self.min.map_or(rtt, |min| min.min(rtt)));
        if self.srtt8 == 0 {
            self.srtt8 = m << 3;
            self.mdev4 = m << 1;
            self.rttvar4 = self.mdev4.max(floor);
            self.mdev4_max = self.rttvar4;
            self.round_end = nxt;
            return;
        }
        if self.rules.smoothing == Smoothing::Standard {
            self.smooth(m, floor);
            return;
        }
        let srtt = self.srtt8 >> 3;
        let mdev = self.mdev4 >> 2;
        let error = m.abs_diff(srtt);
        if m < srtt {
            self.srtt8 -= error;
            // A falling RTT must not inflate the variance as fast as a rising one.
            self.mdev4 = if error > mdev {
                self.mdev4 + ((error - mdev) >> 3)
            } else {
                self.mdev4 - (mdev - error)
            };
        } else {
            self.srtt8 += error;
            self.mdev4 = self.mdev4 - mdev + error;
        }
        if self.mdev4 > self.mdev4_max {
            self.mdev4_max = self.mdev4;
            self.rttvar4 = self.rttvar4.max(self.mdev4_max);
        }
        if una > self.round_end {
            if self.mdev4_max < self.rttvar4 {
                self.rttvar4 -= (self.rttvar4 - self.mdev4_max) >> 2;
            }
            self.round_end = nxt;
            self.mdev4_max = floor;
        }
    }

    /// RFC 6298 §2.3, the variance first.
    fn smooth(&mut self, m: u64, floor: u64) {
        let error = m.abs_diff(self.srtt8 >> 3);
        self.mdev4 = self.mdev4 - (self.mdev4 >> 2) + error;
        self.rttvar4 = self.mdev4.max(floor);
        self.srtt8 = self.srtt8 - (self.srtt8 >> 3) + m;
    }

    /// A SYN had to be sent again and left no sample: until the first one the RTO is at least
    /// [`FALLBACK`] (RFC 6298 §5.7).
    pub fn distrust_initial(&mut self) {
        self.rules.initial = self.rules.initial.max(FALLBACK);
        self.keep_rto();
    }

    /// The smoothed RTT, once there is a sample.
    pub fn srtt(&self) -> Option<Duration> {
        (self.srtt8 > 0).then(|| Duration::from_nanos(self.srtt8 >> 3))
    }

    /// The smoothed RTT in nanoseconds, once there is a sample.
    pub(crate) fn srtt_nanos(&self) -> Option<u64> {
        (self.srtt8 > 0).then_some(self.srtt8 >> 3)
    }

    /// RTTVAR (not multiplied by 4).
    pub fn rttvar(&self) -> Duration {
        Duration::from_nanos(self.rttvar4 >> 2)
    }

    /// The smallest sample.
    pub fn min(&self) -> Option<Duration> {
        self.min
    }

    /// The RTO without back-off.
    pub fn rto(&self) -> Duration {
        self.rto
    }

    fn keep_rto(&mut self) {
        self.rto = match self.srtt8 {
            0 => self.rules.initial.min(self.rules.max),
            srtt8 => Duration::from_nanos((srtt8 >> 3) + self.rttvar4)
                .max(self.rules.min)
                .min(self.rules.max),
        };
    }

    /// The rules in force.
    pub fn rules(&self) -> RtoRules {
        self.rules
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINUX: RtoRules = RtoRules {
        smoothing: Smoothing::Linux,
        initial: Duration::from_secs(1),
        min_variance: Duration::from_millis(200),
        min: Duration::ZERO,
        max: Duration::from_secs(120),
    };

    fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    /// The handshake's sample and then `samples` in one flight: una stays below the round's end.
    fn one_flight(handshake: u64, samples: &[u64]) -> RttEstimator {
        let mut e = RttEstimator::new(LINUX);
        e.on_sample(ms(handshake), Offset(1), Offset(1));
        for (i, &s) in samples.iter().enumerate() {
            e.on_sample(ms(s), Offset(2 + i as u64), Offset(1000));
        }
        e
    }

    #[test]
    fn rto_of_a_short_flow() {
        // (RTT of the handshake, samples of the flow, RTO in ms): a constant RTT keeps the
        // handshake's R/2 through the whole flight; the floor rules below 100 ms.
        let cases: [(u64, &[u64], f64); 6] = [
            (20, &[20; 9], 220.0),
            (80, &[80; 9], 280.0),
            (160, &[160; 9], 480.0),
            (320, &[320; 9], 960.0),
            // Four delayed-ACK samples and one held for 200 ms: it raises both terms.
            (20, &[20, 20, 20, 20, 220], 45.0 + 209.492),
            (80, &[80, 80, 80, 80, 280], 105.0 + 237.969),
        ];
        for (handshake, samples, rto) in cases {
            let got = one_flight(handshake, samples).rto().as_secs_f64() * 1e3;
            assert!(
                (got - rto).abs() < 0.01,
                "{handshake} {samples:?}: {got} expected {rto}"
            );
        }
    }

    #[test]
    fn variance_falls_at_most_once_a_round_trip() {
        let mut e = RttEstimator::new(LINUX);
        e.on_sample(ms(800), Offset(1), Offset(1));
        assert_eq!(e.rto(), ms(800 + 1600));
        e.on_sample(ms(800), Offset(2), Offset(100)); // ends the handshake's round, starts one to 100
        for una in 3..=100 {
            e.on_sample(ms(800), Offset(una), Offset(200));
            assert_eq!(e.rto(), ms(2400), "una {una}");
        }
        // The round's largest deviation was 4·mdev = 1600·(3/4)² after its first sample.
        e.on_sample(ms(800), Offset(101), Offset(200));
        assert_eq!(e.rto(), ms(800 + 1600 - (1600 - 900) / 4));
    }

    #[test]
    fn a_falling_rtt_is_damped() {
        let rising = one_flight(100, &[400]);
        let falling = one_flight(400, &[100]);
        assert_eq!(rising.rttvar(), ms(450) / 4);
        assert_eq!(falling.srtt(), Some(ms(400) - ms(300) / 8));
        assert_eq!(falling.rttvar(), (ms(800) + ms(100) / 8) / 4);
    }

    #[test]
    fn the_standards_estimator() {
        let rules = RtoRules {
            smoothing: Smoothing::Standard,
            min_variance: ms(1),
            min: ms(1000),
            ..LINUX
        };
        let mut e = RttEstimator::new(rules);
        // RFC 6298 §2.2, §2.3: (sample, SRTT, 4·RTTVAR) in ms
        for (sample, srtt, rttvar4) in [
            (400, 400.0, 800.0),
            (400, 400.0, 600.0),
            (800, 450.0, 850.0),
            (450, 450.0, 637.5),
        ] {
            e.on_sample(ms(sample), Offset(1), Offset(9));
            assert_eq!(e.srtt().map(|d| d.as_secs_f64() * 1e3), Some(srtt));
            assert_eq!(e.rttvar().as_secs_f64() * 4e3, rttvar4);
            let rto = (srtt + rttvar4).max(1000.0);
            assert_eq!(e.rto().as_secs_f64() * 1e3, rto);
        }
    }

    #[test]
    fn rules_hold() {
        assert_eq!(RttEstimator::new(LINUX).rto(), ms(1000));
        let mut e = RttEstimator::new(LINUX);
        e.on_sample(Duration::from_secs(1_000_000), Offset(1), Offset(1));
        assert_eq!(e.rto(), LINUX.max);
        let mut e = RttEstimator::new(LINUX);
        e.on_sample(Duration::ZERO, Offset(1), Offset(1));
        e.on_sample(Duration::MAX, Offset(1), Offset(1));
        assert!(e.rto() <= LINUX.max);
    }
}
