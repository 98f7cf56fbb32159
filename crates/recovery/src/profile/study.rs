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
mod tests;
