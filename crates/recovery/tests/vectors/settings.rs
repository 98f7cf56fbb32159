//! The settings that a case names, by the word that the vectors use for each choice.

use recoup_recovery::Mechanisms;
use recoup_recovery::detect::{EarlyRetransmit, EarlyThreshold, LossRule, RackVersion};
use recoup_recovery::profile::{AckProcessing, LimitedTransmit, RecoveryFill, ReductionBase, RtoRestart};
use recoup_recovery::rate::{Bound, RateControl, RecoverFs};
use recoup_recovery::rtt::Smoothing;
use recoup_recovery::slp::{Kind, LossRate};
use recoup_recovery::tlp::ProbeVersion;
use serde_json::Value;

/// The value of the setting `name`.
pub fn setting(m: &Mechanisms, name: &str) -> Value {
    let nanos = |d: std::time::Duration| u64::try_from(d.as_nanos()).unwrap_or(u64::MAX).into();
    match name {
        "smoothing" => word(m.rto.smoothing, &[(Smoothing::Linux, "linux"), (Smoothing::Standard, "rfc6298")]),
        "rttvar_floor_ns" => nanos(m.rto.min_variance),
        "min_rto_ns" => nanos(m.rto.min),
        "max_rto_ns" => nanos(m.rto.max),
        "rto_restart" => m.rto_restart.is_some().into(),
        "rto_restart_counts_unsent" => (m.rto_restart == Some(RtoRestart::OutstandingAndUnsent)).into(),
        "probe_restart" => m.probe.map(|probe| probe.restart).into(),
        "probe_version" => {
            let words = [
                (ProbeVersion::Draft01, "draft-01"),
                (ProbeVersion::Rfc8985, "rfc8985"),
                (ProbeVersion::Linux6, "linux-6"),
                (ProbeVersion::Rfc9002, "rfc9002"),
            ];
            m.probe.map_or(Value::Null, |probe| word(probe.version, &words))
        }
        "loss_rule" => word(
            m.detection.rule,
            &[
                (LossRule::Fack, "fack"),
                (LossRule::Sacked, "sacked"),
                (LossRule::IsLost, "is_lost"),
                (LossRule::PacketTime, "packet_and_time_threshold"),
                (LossRule::Rack(RackVersion::Rfc8985), "rack-rfc8985"),
                (LossRule::Rack(RackVersion::Linux6), "rack-linux-6"),
            ],
        ),
        "dupthresh" => m.detection.dupthresh.0.into(),
        "adaptive" => m.adaptive.into(),
        "max_dupthresh" => m.detection.max_dupthresh.0.into(),
        "early_retransmit" => word(
            m.early_retransmit,
            &[
                (EarlyRetransmit::Off, "off"),
                (EarlyRetransmit::Naive(EarlyThreshold::AllButOne), "at_once"),
                (EarlyRetransmit::ReorderAware(EarlyThreshold::AllButOne), "at_once_unless_reordering"),
                (EarlyRetransmit::PAPER, "delayed_25_to_500_ms_unless_reordering"),
                (EarlyRetransmit::LINUX, "delayed_2_ms_or_more_unless_reordering"),
            ],
        ),
        "early_retransmit_sacked" => word(
            m.early_retransmit.threshold(),
            &[(None, "off"), (Some(EarlyThreshold::AllButOne), "all_but_one"), (Some(EarlyThreshold::One), "one")],
        ),
        "limited_transmit" => word(
            m.limited_transmit,
            &[(LimitedTransmit::Off, "off"), (LimitedTransmit::Two, "two"), (LimitedTransmit::Pipe, "pipe")],
        ),
        "recovery_fill" => word(
            m.recovery_fill,
            &[
                (RecoveryFill::Nothing, "nothing"),
                (RecoveryFill::Holes, "holes"),
                (RecoveryFill::HolesAndRescue, "holes_and_rescue"),
            ],
        ),
        "rate_control" => match m.rate {
            RateControl::Standard => "standard".into(),
            RateControl::Halving => "halving".into(),
            RateControl::Prr { bound, .. } => word(
                bound,
                &[
                    (Bound::Unlimited, "prr-ub"),
                    (Bound::Conservative, "prr-crb"),
                    (Bound::SlowStart, "prr-ssrb"),
                    (Bound::SafeAck, "prr-safeack"),
                ],
            ),
            other => panic!("no word for {other:?}"),
        },
        "recover_fs" => match m.rate {
            RateControl::Prr { recover_fs, .. } => word(
                recover_fs,
                &[
                    (RecoverFs::FlightSize, "flight_size"),
                    (RecoverFs::Undelivered, "undelivered"),
                    (RecoverFs::Cwnd, "cwnd"),
                ],
            ),
            _ => Value::Null,
        },
        "undo_by_dsack" => m.undo.dsack.into(),
        "undo_by_timestamps" => m.undo.timestamps.into(),
        "f_rto" => m.frto.into(),
        "congestion_control" => m.congestion.name().into(),
        "ssthresh_from" => {
            word(m.reduction_base, &[(ReductionBase::Cwnd, "cwnd"), (ReductionBase::FlightSize, "flight_size")])
        }
        "slow_start_by" => word(
            m.ack_processing,
            &[
                (AckProcessing::Linux2_6, "one_per_ack"),
                (AckProcessing::Linux3_13, "newly_acked"),
                (AckProcessing::Linux4_13, "delivered"),
            ],
        ),
        "initial_window" => m.initial_window.0.into(),
        _ => slp_setting(m, name),
    }
}

fn slp_setting(m: &Mechanisms, name: &str) -> Value {
    let Some(rules) = m.slp else {
        panic!("no setting \"{name}\"");
    };
    match (name, rules.loss) {
        ("loss_ppm", LossRate::Fixed(p)) => p.millionths().into(),
        ("push_ppm", _) => rules.likelihoods.of(Kind::Psh).millionths().into(),
        ("bandwidth_bits_per_s", _) => rules.bandwidth.bits_per_second().into(),
        ("gap_ppm", _) => rules.gap.millionths().into(),
        _ => panic!("no setting \"{name}\""),
    }
}

/// The word for `value`.
fn word<T: PartialEq + std::fmt::Debug>(value: T, words: &[(T, &str)]) -> Value {
    let found = words.iter().find(|(choice, _)| *choice == value);
    found.unwrap_or_else(|| panic!("no word for {value:?}")).1.into()
}
