//! Describes a profile's settings, for printing.

#![expect(clippy::float_arithmetic, reason = "printed, not computed with")]

use super::{AckProcessing, LimitedTransmit, Mechanisms, RecoveryFill, ReductionBase};
use crate::congestion::Algorithm;
use crate::detect::{EarlyRetransmit, EarlyThreshold, LossRule, RackVersion};
use crate::rto::RtoRestart;
use crate::rtt::{Factor, RtoRules, Sampling, Smoothing};
use crate::slp::Kind;
use crate::tlp::{MAX_ACK_DELAY, ProbeVersion, WORST_DELAYED_ACK};
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use core::time::Duration;
use recoup_units::{Ppm, Segments};

// Settings that mechanisms change.
pub(super) const SACK: &str = "SACK";
pub(super) const LOSS_DETECTION: &str = "loss detection";
pub(super) const THRESHOLDS: &str = "adaptive thresholds";
pub(super) const EARLY_RETRANSMIT: &str = "early retransmit";
pub(super) const LIMITED_TRANSMIT: &str = "limited transmit";
pub(super) const RECOVERY_FILL: &str = "recovery also sends";
pub(super) const RATE: &str = "rate in recovery";
pub(super) const UNDO: &str = "undo";
pub(super) const FRTO: &str = "F-RTO";
pub(super) const RTO: &str = "RTO";
pub(super) const RTO_RESTART: &str = "RTO restart";
pub(super) const TAIL_LOSS_PROBE: &str = "tail loss probe";
pub(super) const COPIES: &str = "extra copies";
pub(super) const AFTER_IDLE: &str = "after idle time";
pub(super) const DOUBTFUL_ACKS: &str = "doubtful ACKs";
pub(super) const CONGESTION_CONTROL: &str = "congestion control";

/// One setting of a profile, for printing.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Setting {
    /// The name of the setting.
    pub name: &'static str,
    /// Its value, units included.
    pub value: String,
    /// The source of the value.
    pub source: &'static str,
}

fn setting(name: &'static str, value: impl Into<String>, source: &'static str) -> Setting {
    Setting { name, value: value.into(), source }
}

fn ms(d: Duration) -> String {
    format!("{} ms", d.as_secs_f64() * 1e3)
}

impl Mechanisms {
    /// Each setting as name, value and source, for printing.
    pub fn describe(&self) -> Vec<Setting> {
        let mut all = vec![
            setting(
                SACK,
                if self.sack { "offered, and used if both sides offer it" } else { "off: duplicate and partial ACKs" },
                if self.sack { "RFC 2018, RFC 2883" } else { "RFC 6582" },
            ),
            self.detection_setting(),
            self.thresholds_setting(),
            self.early_setting(),
            self.limited_setting(),
            setting(RATE, self.rate.about(), self.rate.source()),
            self.recovery_fill_setting(),
            self.undo_setting(),
            setting(
                FRTO,
                if self.frto {
                    "new data after a timeout; the timeout was spurious if data never retransmitted arrives"
                } else {
                    "off"
                },
                "RFC 5682 §3.1; Linux tcp_process_loss",
            ),
        ];
        all.extend(self.timer_settings());
        all.extend(self.window_settings());
        all
    }

    fn detection_setting(&self) -> Setting {
        let rules = self.detection;
        let dupthresh = rules.dupthresh;
        let adapts = match rules.max_dupthresh > dupthresh {
            true => format!("reordering raises it to at most {}", rules.max_dupthresh),
            false => "fixed".into(),
        };
        let (value, source) = match rules.rule {
            LossRule::Fack => (
                format!(
                    "FACK: snd.fack − snd_una > dupthresh = {dupthresh} segments; {adapts} and disables FACK; a retransmission is lost when data sent later is SACKed"
                ),
                "Mathis & Mahdavi 1996; Linux tcp_time_to_recover",
            ),
            LossRule::Sacked => (
                format!("dupthresh = {dupthresh} segments SACKed above; {adapts}"),
                "RFC 5681 §3.2; Linux tcp_update_scoreboard",
            ),
            LossRule::IsLost => (
                format!(
                    "IsLost: dupthresh = {dupthresh} runs, or more than {} MSS, SACKed above; {adapts}",
                    dupthresh.0.saturating_sub(1)
                ),
                "RFC 6675 §4",
            ),
            LossRule::Rack(version) => (
                format!(
                    "RACK: lost RACK.rtt + reo_wnd after transmission, once a segment sent later is delivered; {}; dupthresh = {dupthresh}, {adapts}",
                    match version {
                        RackVersion::Rfc8985 => "DSACKs widen reo_wnd",
                        RackVersion::Linux6 => "DSACKs widen reo_wnd after reordering, the timer expires 2 ms late",
                    }
                ),
                "RFC 8985 §6; Linux tcp_rack_detect_loss",
            ),
            LossRule::PacketTime => (
                format!(
                    "lost when a segment sent {dupthresh} transmissions later is delivered, or one sent later and max(9/8·max(SRTT, latest RTT), 1 ms) have passed since the transmission; {adapts}"
                ),
                "RFC 9002 §6.1",
            ),
        };
        setting(LOSS_DETECTION, value, source)
    }

    fn thresholds_setting(&self) -> Setting {
        let (value, source) = match (self.adaptive, self.detection.rule) {
            (false, _) => ("off", "RFC 9002 §6.1; RFC 8985 §6.2 step 4"),
            (true, LossRule::PacketTime) => (
                "late segments end the packet threshold, and raise the time threshold to at most 2·max(SRTT, latest RTT), for 16 recoveries; their reduction is undone",
                "RFC 9002 §6.1; RFC 3708; RFC 3522",
            ),
            (true, LossRule::Rack(_)) => (
                "reo_wnd is at least the delay of late segments beyond the minimum RTT, at most SRTT, for 16 recoveries; their reduction is undone",
                "RFC 8985 §6.2 step 4; RFC 3708; RFC 3522",
            ),
            (true, _) => ("the detector stays as it is; needless reductions are undone", "RFC 3708; RFC 3522"),
        };
        setting(THRESHOLDS, value, source)
    }

    fn early_setting(&self) -> Setting {
        let paper = "RFC 5827 §3.2, A.3; 2011 paper §6";
        let (sacked, source) = match self.early_retransmit.threshold() {
            None => return setting(EARLY_RETRANSMIT, "off", paper),
            Some(EarlyThreshold::AllButOne) => ("all but one", paper),
            Some(EarlyThreshold::One) => {
                ("one or more", "RFC 5827 A.3; Linux 3.10 tcp_time_to_recover, tcp_pause_early_retransmit")
            }
        };
        let when = match self.early_retransmit {
            EarlyRetransmit::Delayed { srtt_divisor, min, max: Duration::MAX, .. } => {
                format!("delayed by max(SRTT/{srtt_divisor}, {}), off after reordering", ms(min))
            }
            EarlyRetransmit::Delayed { srtt_divisor, min, max, .. } => {
                format!("delayed by SRTT/{srtt_divisor} within {} to {}, off after reordering", ms(min), ms(max))
            }
            EarlyRetransmit::ReorderAware(_) => "at once, off after reordering".into(),
            EarlyRetransmit::Off | EarlyRetransmit::Naive(_) => "at once".into(),
        };
        let value = format!("below four outstanding segments, {sacked} of them SACKed, {when}");
        setting(EARLY_RETRANSMIT, value, source)
    }

    fn limited_setting(&self) -> Setting {
        match self.limited_transmit {
            LimitedTransmit::Off => setting(LIMITED_TRANSMIT, "off", "RFC 5681 before RFC 3042"),
            LimitedTransmit::Two => setting(LIMITED_TRANSMIT, "up to two segments beyond the window", "RFC 3042"),
            LimitedTransmit::Pipe => {
                setting(LIMITED_TRANSMIT, "each SACK permits new data", "RFC 3042; RFC 6675 §5 step 3; Linux")
            }
        }
    }

    fn recovery_fill_setting(&self) -> Setting {
        let value = match self.recovery_fill {
            RecoveryFill::Nothing => "nothing but lost segments and new data",
            RecoveryFill::Holes => "holes below the highest SACK that are not marked lost",
            RecoveryFill::HolesAndRescue => {
                "holes below the highest SACK that are not marked lost, then one rescue retransmission"
            }
        };
        setting(RECOVERY_FILL, value, "RFC 6675 §4 NextSeg")
    }

    fn undo_setting(&self) -> Setting {
        let value = match (self.undo.dsack, self.undo.timestamps) {
            (true, true) => "by DSACK or timestamps",
            (true, false) => "by DSACK",
            (false, true) => "by timestamps",
            (false, false) => "off",
        };
        setting(UNDO, value, "RFC 3708; RFC 3522; Linux tcp_undo_cwnd_reduction")
    }

    fn timer_settings(&self) -> [Setting; 6] {
        let rto = self.rto;
        let most = crate::rto::RESTART_THRESHOLD;
        let (restart, source) = match self.rto_restart {
            Some(RtoRestart::Outstanding) => (format!("below {most} outstanding segments"), "tail-loss paper §2.1"),
            Some(RtoRestart::OutstandingAndUnsent) => {
                (format!("below {most} outstanding + unsent segments"), "RFC 7765 §4")
            }
            None => ("off".into(), "RFC 7765 §4"),
        };
        [
            setting(
                "initial RTO",
                format!(
                    "{}; {} for data after a lost SYN without an RTT sample",
                    ms(rto.initial),
                    ms(crate::rtt::FALLBACK.max(rto.initial))
                ),
                "RFC 6298 §2.1, §5.7",
            ),
            self.samples_setting(),
            self.rto_setting(),
            setting(RTO_RESTART, restart, source),
            self.probe_setting(),
            self.copies_setting(),
        ]
    }

    fn samples_setting(&self) -> Setting {
        let flight = "one segment per flight, until it is acknowledged or anything is retransmitted";
        let (value, source) = match self.rto.sampling {
            Sampling::Segment => {
                ("every ACK of a segment sent once; else by timestamp".into(), "RFC 6298 §3; RFC 7323 §4.1")
            }
            Sampling::Flight => (flight.into(), "2007 paper §V-A2; RFC 6298 §3"),
            Sampling::Newest => {
                ("every ACK of a newer transmission than any before, of a segment sent once".into(), "RFC 9002 §5.1")
            }
            Sampling::FlightOrTimestamps => (
                format!("every ACK of new data by timestamp; without timestamps, {flight}"),
                "4.4BSD tcp_input; RFC 6298 §3",
            ),
        };
        setting("RTT samples", value, source)
    }

    fn rto_setting(&self) -> Setting {
        let rto = self.rto;
        let times = |factor: Factor, of: &str| match factor {
            Factor::ONE => String::from(of),
            factor => format!("{factor}·{of}"),
        };
        let srtt = times(rto.srtt_factor, "SRTT");
        let term = times(rto.rttvar_factor, "RTTVAR");
        let term = match rto.smoothing {
            _ if rto.min_variance.is_zero() => term,
            // Linux has the floor in RTTVAR, before k.
            Smoothing::Linux if rto.rttvar_factor != RtoRules::RTTVAR_FACTOR => {
                let quarter = rto.rttvar_factor.as_f64() / 4.0;
                format!("{quarter}·max(4·RTTVAR, {})", ms(rto.min_variance))
            }
            _ => format!("max({term}, {})", ms(rto.min_variance)),
        };
        let ticks = match rto.granularity {
            Duration::ZERO => String::new(),
            tick => format!(", rounded up to {}", ms(tick)),
        };
        let least = match rto.smoothing {
            Smoothing::Linux if rto.min.is_zero() => String::new(),
            _ => format!("at least {} and ", ms(rto.min)),
        };
        let most = ms(rto.max);
        let source = match (rto.smoothing, rto.granularity.is_zero()) {
            (Smoothing::Linux, _) if rto.min_variance.is_zero() => "2007 paper §II, Table I; Linux tcp_rtt_estimator",
            (Smoothing::Linux, true) => "RFC 6298 §2; Linux tcp_rtt_estimator",
            (Smoothing::Linux, false) => "2007 paper, Table I; Linux tcp_rtt_estimator",
            (Smoothing::Standard, true) => "RFC 6298 §2",
            (Smoothing::Standard, false) => "2007 paper, Table I; RFC 6298 §2",
        };
        setting(RTO, format!("{srtt} + {term}, {least}at most {most}{ticks}"), source)
    }

    fn probe_setting(&self) -> Setting {
        let Some(rules) = self.probe else {
            return setting(TAIL_LOSS_PROBE, "off", "RFC 8985 §7");
        };
        let delayed = ms(WORST_DELAYED_ACK);
        let (pto, source) = match rules.version {
            ProbeVersion::Draft01 => (
                format!("PTO = max(2·SRTT, 10 ms), or max(2·SRTT, 1.5·SRTT + {delayed}) with one segment out"),
                "draft-dukkipati-tcpm-tcp-loss-probe-01 §2; tail-loss paper §2.3",
            ),
            ProbeVersion::Rfc8985 => (format!("PTO = 2·SRTT, + {delayed} with one segment out"), "RFC 8985 §7.2"),
            ProbeVersion::Linux6 => (
                format!("PTO = 2·SRTT + 2 ms, or + {delayed} with one segment out"),
                "RFC 8985 §7.2; Linux tcp_schedule_loss_probe",
            ),
            ProbeVersion::Rfc9002 => {
                return setting(
                    TAIL_LOSS_PROBE,
                    format!(
                        "PTO = RTO + {}, doubled at each expiry; two probes, in place of the retransmission timeout; from the last transmission",
                        ms(Duration::from_nanos(MAX_ACK_DELAY))
                    ),
                    "RFC 9002 §6.2",
                );
            }
        };
        let from = match (rules.restart, rules.full_if_overdue) {
            (true, false) => "the last transmission (TLPR)",
            (true, true) => "the last transmission (TLPR); in full, as RFC 7765 §4, if overdue as an ACK arrives",
            (false, _) => "the last ACK",
        };
        setting(TAIL_LOSS_PROBE, format!("{pto}; from {from}"), source)
    }

    fn copies_setting(&self) -> Setting {
        let source = "selective loss prevention paper §II-C";
        let Some(rules) = self.slp else {
            return setting(COPIES, "off", source);
        };
        let likely = |kind: &Kind| rules.likelihoods.of(*kind) > Ppm::ZERO;
        let kinds = Kind::ALL.into_iter().filter(likely);
        let kinds = kinds.map(|kind| format!("{} {}", kind.name(), rules.likelihoods.of(kind)));
        let kinds: Vec<String> = kinds.collect();
        let value = format!(
            "one per window, if p·q·RTO ≥ (1 − p)·size/bw; p = {}; q = {}; bw = {} until measured; {}·SRTT after the original",
            rules.loss,
            if kinds.is_empty() { "0".into() } else { kinds.join(", ") },
            rules.bandwidth,
            rules.gap,
        );
        setting(COPIES, value, source)
    }

    fn window_settings(&self) -> [Setting; 8] {
        [
            setting(
                CONGESTION_CONTROL,
                self.congestion.name(),
                match self.congestion {
                    Algorithm::Cubic => "RFC 9438 with C = 0.4 and Linux's β = 717/1024",
                    Algorithm::Reno => "RFC 5681 §3.1",
                    Algorithm::Bbr1 => "Linux tcp_bbr.c; it also takes the place of rate control and idle restart",
                },
            ),
            match self.reduction_base {
                ReductionBase::Cwnd => setting("ssthresh from", "the congestion window", "Linux; 4.4BSD"),
                ReductionBase::FlightSize => setting("ssthresh from", "the flight size", "RFC 5681 §3.1 (4)"),
            },
            match self.ack_processing {
                AckProcessing::Linux2_6 => setting(
                    "ACK processing",
                    "before Linux 3.13: the window grows before the state changes, in slow start by one segment per ACK",
                    "RFC 5681 §3.1; Linux 2.6 tcp_slow_start",
                ),
                AckProcessing::Linux3_13 => setting(
                    "ACK processing",
                    "Linux 3.13 to 4.12: the window grows before the state changes, by the segments acknowledged",
                    "Linux 3.17 tcp_ack",
                ),
                AckProcessing::Linux4_13 => setting(
                    "ACK processing",
                    "since Linux 4.13: the window grows after the state changed, by the segments delivered",
                    "Linux 6.12 tcp_cong_control",
                ),
            },
            setting(
                "initial window",
                match self.initial_window {
                    Segments::ONE => "1 segment".into(),
                    window => format!("{window} segments"),
                },
                match self.initial_window.0 {
                    ..=2 => "RFC 2581 §3.1",
                    3 | 4 => "RFC 3390",
                    _ => "RFC 6928 §2",
                },
            ),
            setting("smallest ssthresh", format!("{} segments", crate::congestion::MIN_SSTHRESH), "RFC 5681 §3.1"),
            setting(
                AFTER_IDLE,
                match self.restart_after_idle {
                    true => "the window is halved for each RTO passed, not below the initial window",
                    false => "the window stays",
                },
                "RFC 5681 §4.1; RFC 2861 §2; Linux tcp_cwnd_restart",
            ),
            setting(
                DOUBTFUL_ACKS,
                match self.moderate_window {
                    true => "in Disorder the window falls to three segments more than are in flight",
                    false => "the window stays",
                },
                "Linux 2.6 tcp_moderate_cwnd",
            ),
            setting("user timeout", format!("{} s", self.user_timeout.as_secs_f64()), "RFC 9293 §3.9.1.1"),
        ]
    }
}
