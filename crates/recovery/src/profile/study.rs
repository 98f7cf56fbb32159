//! The senders of the 2007 loss detection study, by its Table I:
//!
//! ```text
//!                      Linux 2.4      Windows XP, 2000   FreeBSD 5.2      Solaris 10
//! timer granularity    10 ms          100 ms             10 ms            10 ms
//! initial RTO          3 s            3 s                3 s              3.375 s
//! least RTO            200 ms         200 ms             1200 ms          400 ms
//! dupthresh            3              2                  3                3
//! RTO                  SRTT + varRTT  SRTT + 4·RTTVAR    SRTT + 4·RTTVAR  1.25·SRTT + 4·RTTVAR
//! RTT samples          each segment   each flight        each flight¹     each segment
//! ```
//! Weights of a sample: a = 1/4 in RTTVAR, b = 1/8 in SRTT everywhere; Linux's varRTT is its 4·RTTVAR.
//! ¹ and each segment where timestamps are in use.
//!
//! ```text
//! RTO = m·SRTT + k·RTTVAR, at least minRTO (§II, Table I)
//! ```
//! No formula of the study uses the timer granularity. Here a sender times its RTO in whole ticks, rounded up,
//! because a timer with that granularity can time no less.
//!
//! Sources: the 2007 paper §II, §IV-A, Table I; §V-A2 for the samples of Linux and Windows. For what it
//! omits, each system's own source: Linux 2.4.27 `net/ipv4`; Sun's `tcp.c` 1.506 of 2006; FreeBSD's
//! `netinet` of early 2006, without changes after 5.2; Microsoft's article 224829 and its registry
//! reference. Each value names its source. The other values are those of the profile it extends.
//!
//! Deviations: where the table and the systems differ, the table applies.
//!
//! - The study has the minimum RTO of Linux on the RTO (§II); the kernel has it on 4·RTTVAR
//!   (`tcp_rtt_estimator`). `linux-2.4` follows the study and `linux-2.4+minrttvar` the kernel, so captures
//!   are compared with the latter.
//! - The study has no clock granularity G in the RTO (RFC 2988 §2.3), and neither have these profiles. When
//!   the RTT is steady, the RTO of Windows and FreeBSD becomes SRTT in whole ticks.
//! - Solaris starts from SRTT = 1.5 s and RTTVAR = 375 ms, which give 3.375 s, and smooths samples into
//!   them. Here the first sample replaces them. Solaris also keeps 4·RTTVAR at 400 ms or more
//!   (`TCP_SD_MIN`).
//! - FreeBSD's 1200 ms are 1 s plus 200 ms, which it adds to every RTO (`tcp_rexmit_slop`), backed off or
//!   not.
//! - Systems with a coarse clock also measure the RTT with it, and their timers expire on its ticks.
//!
//! Not implemented: Linux 2.4's cache of metrics from earlier connections; FreeBSD's undo of a timeout whose
//! ACK arrives within SRTT/2 (`t_badrxtwin`); the window of Solaris and FreeBSD after idle time, which falls
//! to its initial size after one RTO (here it is halved per RTO).
//!
//! Windows XP's behaviour in recovery was never published. Its profile follows the standard, which is
//! documented for its successor (RFC 2582, RFC 3517), without limited transmit, which is documented for
//! neither.

use super::{LimitedTransmit, Mechanisms, RecoveryFill, ReductionBase};
use crate::congestion::Algorithm;
use crate::detect::{LossRule, Rules};
use crate::rtt::{Factor, RtoRules, Sampling};
use core::time::Duration;
use recoup_units::Segments;

const TICK: Duration = Duration::from_millis(10);
const WINDOWS_TICK: Duration = Duration::from_millis(100);

impl Mechanisms {
    /// The 2007 study's Linux 2.4 (Table I), with the minimum of §II.
    pub const LINUX_2_4: Self = Self {
        frto: false, // sysctl_tcp_frto = 0
        rto: RtoRules {
            granularity: TICK,
            min_variance: Duration::ZERO,
            min: Duration::from_millis(200),
            ..Self::LINUX_2_6.rto
        },
        congestion: Algorithm::Reno, // tcp_recalc_ssthresh, tcp_cong_avoid
        // tcp_init_cwnd: two if the handshake took longer than 20 ms, otherwise three or four.
        initial_window: Segments(2),
        ..Self::LINUX_2_6
    };

    /// The 2007 study's Windows XP and 2000 (Table I).
    pub const WINDOWS_XP: Self = Self {
        detection: Rules {
            rule: LossRule::IsLost, // TcpMaxDupAcks = 2 duplicate ACKs
            dupthresh: Segments(2),
            max_dupthresh: Segments(2),
        },
        limited_transmit: LimitedTransmit::Off,
        recovery_fill: RecoveryFill::Nothing,
        rto: RtoRules {
            sampling: Sampling::Flight,
            granularity: WINDOWS_TICK,
            initial: Duration::from_secs(3), // TcpInitialRtt
            min_variance: Duration::ZERO,
            min: Duration::from_millis(200),
            max: Duration::from_secs(240), // RFC 1122 §4.2.3.1: two MSL
            ..Self::RFC_6675.rto
        },
        initial_window: Segments(2), // RFC 2581 §3.1
        ..Self::RFC_6675
    };

    /// The 2007 study's Solaris 10 (Table I).
    pub const SOLARIS_10: Self = Self {
        limited_transmit: LimitedTransmit::Two, // RFC 3042, a segment a duplicate ACK
        recovery_fill: RecoveryFill::Nothing,   // tcp_sack_rxmit: three SACKs above, then new data
        rto: RtoRules {
            sampling: Sampling::Segment, // tcp_set_rto, on every ACK of new data
            srtt_factor: Factor(1_250_000),
            granularity: TICK,
            initial: Duration::from_millis(3375),
            min_variance: Duration::ZERO,
            min: Duration::from_millis(400), // tcp_rexmit_interval_min
            max: Duration::from_secs(60),    // tcp_rexmit_interval_max
            ..Self::RFC_6675.rto
        },
        reduction_base: ReductionBase::FlightSize, // (tcp_snxt − tcp_suna)/2
        initial_window: Segments(3),               // RFC 3390 with an MSS of 1460 bytes
        user_timeout: Duration::from_secs(480),    // tcp_ip_abort_interval
        ..Self::RFC_6675
    };

    /// The 2007 study's FreeBSD 5.2 (Table I). SACK came with 5.3, which also switched RFC 3042 and
    /// RFC 3390 on.
    pub const FREEBSD_5: Self = Self {
        limited_transmit: LimitedTransmit::Off,
        rto: RtoRules {
            sampling: Sampling::FlightOrTimestamps, // tcp_input: t_rtttime, ts_ecr
            granularity: TICK,                      // hz = 100
            initial: Duration::from_secs(3),        // TCPTV_RTOBASE
            min_variance: Duration::ZERO,
            min: Duration::from_millis(1200),
            max: Duration::from_secs(64), // TCPTV_REXMTMAX
            ..Self::RFC_6675.rto
        },
        reduction_base: ReductionBase::Cwnd, // min(snd_wnd, snd_cwnd)/2
        initial_window: Segments::ONE,       // slowstart_flightsize
        ..Self::RENO
    };
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::Profile;
    use crate::rtt::RttEstimator;
    use recoup_units::Offset;

    fn rules(profile: &str) -> RtoRules {
        profile.parse::<Profile>().unwrap().mechanisms().rto
    }

    /// The RTO in ms after each of the samples, in ms, which are of one flight.
    fn timeouts(profile: &str, samples: &[u64]) -> Vec<u128> {
        let mut rtt = RttEstimator::new(rules(profile));
        let after = |&sample: &u64| {
            rtt.on_sample(Duration::from_millis(sample), Offset(1), Offset(9));
            rtt.rto().as_millis()
        };
        samples.iter().map(after).collect()
    }

    #[test]
    fn before_any_sample_it_is_the_tables_initial_rto() {
        let cases = [("linux-2.4", 3000), ("windows-xp", 3000), ("solaris-10", 3375), ("freebsd-5", 3000)];
        for (profile, initial) in cases {
            let rto = RttEstimator::new(rules(profile)).rto();
            assert_eq!(rto, Duration::from_millis(initial), "{profile}");
        }
    }

    #[test]
    fn the_first_sample_r_gives_m_r_and_2_r() {
        // (R, Linux, Windows, Solaris, FreeBSD), in ms: least RTO, ticks and m in turn
        let cases = [
            (20, 200, 200, 400, 1200),
            (80, 240, 300, 400, 1200),
            (123, 370, 400, 400, 1200), // 369 ms; on Solaris 399.75
            (200, 600, 600, 650, 1200),
            (323, 970, 1000, 1050, 1200), // 969 ms; on Solaris 1049.75
            (403, 1210, 1300, 1310, 1210),
        ];
        for (sample, linux, windows, solaris, freebsd) in cases {
            for (profile, rto) in
                [("linux-2.4", linux), ("windows-xp", windows), ("solaris-10", solaris), ("freebsd-5", freebsd)]
            {
                assert_eq!(timeouts(profile, &[sample]), [rto], "{profile}, {sample}");
            }
        }
    }

    #[test]
    fn later_samples_weigh_an_eighth_and_a_quarter() {
        // SRTT 400, 400, 450, 450 and 4·RTTVAR 800, 600, 850, 637.5 ms; Linux's does not fall within
        // a flight.
        let samples = [400, 400, 800, 450];
        let cases = [
            ("linux-2.4", [1200, 1200, 1300, 1300]),
            ("windows-xp", [1200, 1000, 1300, 1100]),
            ("solaris-10", [1300, 1100, 1420, 1200]),
            ("freebsd-5", [1200, 1200, 1300, 1200]),
        ];
        for (profile, expected) in cases {
            assert_eq!(timeouts(profile, &samples), expected, "{profile}");
        }
    }

    #[test]
    fn a_steady_round_trip_wears_the_deviation_away() {
        let steady = [450; 60];
        // SRTT stays, on Solaris m times: 562.5 ms.
        for (profile, rto) in [("windows-xp", 500), ("solaris-10", 570)] {
            assert_eq!(timeouts(profile, &steady).last(), Some(&rto), "{profile}");
        }
        let steady = [1445; 60];
        assert_eq!(timeouts("freebsd-5", &steady).last(), Some(&1450));
    }

    /// §II in ms: RTO = m·srtt + k·rttvar, at least minRTO. `srtt` and `rttvar` follow a sample.
    fn of_the_study(sample: f64, before: Option<(f64, f64)>) -> (f64, f64) {
        before.map_or((sample, sample / 2.0), |(srtt, rttvar)| {
            let deviation = (srtt - sample).abs();
            (srtt - srtt / 8.0 + sample / 8.0, rttvar - rttvar / 4.0 + deviation / 4.0)
        })
    }

    #[test]
    fn every_rto_is_the_formula_of_the_study_in_whole_ticks() {
        // Jitter, steady round trips, and a rise; in ms.
        let samples = (0..900_u64).map(|i| match i % 300 {
            0..100 => 20 + i * 7919 % 400,
            100..200 => 90 + i / 300 * 700,
            _ => 90 + i % 100 * 11,
        });
        let samples: Vec<u64> = samples.collect();
        for (profile, m, min, tick) in
            [("windows-xp", 1.0, 200.0, 100), ("solaris-10", 1.25, 400.0, 10), ("freebsd-5", 1.0, 1200.0, 10)]
        {
            let mut state = None;
            for (i, (rto, &sample)) in timeouts(profile, &samples).iter().zip(&samples).enumerate() {
                let (srtt, rttvar) = *state.insert(of_the_study(sample as f64, state));
                let exact = (m * srtt + 4.0 * rttvar).max(min);
                let ticks = *rto as f64 - exact;
                let is_next_tick = rto % tick == 0 && (-1e-3..tick as f64).contains(&ticks);
                assert!(is_next_tick, "{profile}, sample {i}: {rto} for {exact}");
            }
        }
        // varRTT is Linux's own, and its minimum is one of the sum.
        let mut linux = RttEstimator::new(rules("linux-2.4"));
        for (i, &sample) in (1..).zip(&samples) {
            let flight = Offset(10 * i);
            linux.on_sample(Duration::from_millis(sample), flight, flight + 10);
            let sum = linux.srtt().unwrap() + 4 * linux.rttvar();
            let least = sum.max(Duration::from_millis(200));
            let (rto, nanosecond) = (linux.rto(), Duration::from_nanos(4));
            assert!(rto + nanosecond >= least && rto < least + TICK, "{i}: {rto:?}, {sum:?}");
        }
    }
}
