//! Mechanisms that can be added to a profile.

use super::describe::{
    AFTER_IDLE, CONGESTION_CONTROL, COPIES, DOUBTFUL_ACKS, EARLY_RETRANSMIT, FRTO, LIMITED_TRANSMIT, LOSS_DETECTION,
    RATE, RECOVERY_FILL, RTO, RTO_RESTART, SACK, TAIL_LOSS_PROBE, THRESHOLDS, UNDO,
};
use super::{LINUX_DETECTION, LimitedTransmit, Mechanisms, RecoveryFill};
use crate::congestion::Algorithm;
use crate::detect::{EarlyRetransmit, EarlyThreshold, LossRule, RackVersion, Rules};
use crate::parameters::MinimumOf;
use crate::rate::{Bound, RateControl, RecoverFs};
use crate::rto::RtoRestart;
use crate::slp::SlpRules;
use crate::tlp::ProbeRules;
use crate::undo::UndoRules;

/// One row per mechanism: its name in profiles, the setting it changes, its description with source, and
/// the change.
macro_rules! mechanisms {
    ($($variant:ident, $name:literal, $setting:expr, $about:literal, $apply:expr;)*) => {
        /// A mechanism that can be added to a profile.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum Mechanism {
            $(#[doc = $about] $variant,)*
        }

        impl Mechanism {
            /// Every mechanism.
            pub const ALL: [Self; [$($name),*].len()] = [$(Self::$variant),*];

            /// The name used in profiles.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// The description and the source, in one line.
            pub const fn about(self) -> &'static str {
                match self { $(Self::$variant => $about,)* }
            }

            /// The setting it changes, by its name in [`Mechanisms::describe`].
            pub const fn setting(self) -> &'static str {
                match self { $(Self::$variant => $setting,)* }
            }

            /// Applies the mechanism to `to`.
            pub fn apply(self, to: &mut Mechanisms) {
                let apply: fn(&mut Mechanisms) = match self { $(Self::$variant => $apply,)* };
                apply(to);
            }
        }
    };
}

mechanisms! {
    Rtor, "rtor", RTO_RESTART,
        "RTO restart: with fewer than four outstanding segments, count the RTO from the earliest one's transmission (tail-loss paper §2.1)",
        |m| m.rto_restart = Some(RtoRestart::Outstanding);
    RtorRfc, "rtorrfc", RTO_RESTART,
        "RTO restart (RFC 7765 §4): unsent segments count like outstanding ones",
        |m| m.rto_restart = Some(RtoRestart::OutstandingAndUnsent);
    MinRto, "minrto", RTO,
        "Linux's minimum RTO applies to the whole RTO (2007 paper §II)",
        |m| MinimumOf::Rto.apply(&mut m.rto);
    MinRttvar, "minrttvar", RTO,
        "Linux's minimum RTO applies to 4·RTTVAR, the term that is added to SRTT (Linux tcp_rtt_estimator)",
        |m| MinimumOf::Rttvar.apply(&mut m.rto);
    Tlp, "tlp", TAIL_LOSS_PROBE,
        "tail loss probe: retransmit the last segment after a probe timeout (draft-dukkipati-tcpm-tcp-loss-probe-01)",
        |m| m.probe = Some(ProbeRules::DRAFT_01);
    Tlpr, "tlpr", TAIL_LOSS_PROBE,
        "tail loss probe with restart: count the probe timeout from the last transmission (tail-loss paper §2.3); uses the version added before it, by default the draft's",
        |m| m.probe = Some(ProbeRules { restart: true, ..m.probe.unwrap_or(ProbeRules::DRAFT_01) });
    TlprFull, "tlprfull", TAIL_LOSS_PROBE,
        "tail loss probe with restart, which waits for a full probe timeout if the probe is overdue as an ACK arrives; uses the version added before it, by default the draft's",
        |m| m.probe = Some(ProbeRules { restart: true, full_if_overdue: true, ..m.probe.unwrap_or(ProbeRules::DRAFT_01) });
    TlpRfc, "tlprfc", TAIL_LOSS_PROBE,
        "tail loss probe as in RFC 8985 §7",
        |m| m.probe = Some(ProbeRules::RFC_8985);
    TlpLinux, "tlplinux", TAIL_LOSS_PROBE,
        "tail loss probe with Linux 6's probe timeout",
        |m| m.probe = Some(ProbeRules::LINUX_6);
    Pto, "pto", TAIL_LOSS_PROBE,
        "probe timeout in place of the retransmission timeout: two probes, nothing is marked lost (RFC 9002 §6.2)",
        |m| m.probe = Some(ProbeRules::RFC_9002);
    NoTlp, "notlp", TAIL_LOSS_PROBE,
        "no tail loss probe",
        |m| m.probe = None;
    Slp, "slp", COPIES,
        "selective loss prevention: an extra copy of segments whose loss would cause a timeout (2021 paper §II-C; a SYN-ACK counts like a SYN)",
        |m| m.slp = Some(SlpRules::PAPER);
    NoSlp, "noslp", COPIES,
        "no extra copies",
        |m| m.slp = None;
    Rack, "rack", LOSS_DETECTION,
        "loss detection by time: RACK (RFC 8985 §6)",
        |m| m.detection = Rules { rule: LossRule::Rack(RackVersion::Rfc8985), ..Mechanisms::LINUX_6.detection };
    RackLinux, "racklinux", LOSS_DETECTION,
        "loss detection by time: RACK as in Linux 6",
        |m| m.detection = Mechanisms::LINUX_6.detection;
    PacketTime, "packettime", LOSS_DETECTION,
        "loss detection by packet and time threshold, in the order of transmission (RFC 9002 §6.1)",
        |m| m.detection = Mechanisms::RFC_9002.detection;
    Adaptive, "adaptive", THRESHOLDS,
        "adaptive reordering thresholds: those of RACK and of RFC 9002 follow segments that were judged lost and arrived late, and their reductions are undone (RFC 9002 §6.1; RFC 8985 §6.2)",
        |m| m.adaptive = true;
    Fack, "fack", LOSS_DETECTION,
        "loss detection by distance to the highest SACK: FACK, which also finds lost retransmissions (Linux before 4.15)",
        |m| m.detection = LINUX_DETECTION;
    Sacked, "nofack", LOSS_DETECTION,
        "loss detection when dupthresh segments above are SACKed; reordering raises dupthresh (Linux without FACK)",
        |m| m.detection = Rules { rule: LossRule::Sacked, ..LINUX_DETECTION };
    IsLost, "islost", LOSS_DETECTION,
        "loss detection by RFC 6675's IsLost, fixed dupthresh",
        |m| m.detection = Mechanisms::RFC_6675.detection;
    Sack, "sack", SACK,
        "selective acknowledgments (RFC 2018)",
        |m| m.sack = true;
    NoSack, "nosack", SACK,
        "no selective acknowledgments: NewReno's partial ACKs (RFC 6582)",
        |m| m.sack = false;
    NoEarly, "noer", EARLY_RETRANSMIT,
        "no early retransmit",
        |m| m.early_retransmit = EarlyRetransmit::Off;
    EarlyNaive, "ernaive", EARLY_RETRANSMIT,
        "early retransmit at once when all but one segment are SACKed (2011 paper §6, naive; RFC 5827 §3.2)",
        |m| m.early_retransmit = EarlyRetransmit::Naive(EarlyThreshold::AllButOne);
    EarlyAware, "erfirst", EARLY_RETRANSMIT,
        "early retransmit at once when all but one segment are SACKed, off after reordering (2011 paper §6, first mitigation)",
        |m| m.early_retransmit = EarlyRetransmit::ReorderAware(EarlyThreshold::AllButOne);
    EarlyBoth, "er", EARLY_RETRANSMIT,
        "early retransmit after a delay: SRTT/4 (25 to 500 ms) after all but one segment are SACKed, off after reordering (2011 paper §6, both mitigations)",
        |m| m.early_retransmit = EarlyRetransmit::PAPER;
    EarlyLinux, "erlinux", EARLY_RETRANSMIT,
        "early retransmit after a delay: SRTT/4 (at least 2 ms) after one segment is SACKed, off after reordering (Linux 3.10 to 4.11)",
        |m| m.early_retransmit = EarlyRetransmit::LINUX;
    NoLimited, "nolt", LIMITED_TRANSMIT,
        "no limited transmit: duplicate ACKs release nothing before recovery",
        |m| m.limited_transmit = LimitedTransmit::Off;
    LimitedTwo, "lt", LIMITED_TRANSMIT,
        "limited transmit: two segments at most (RFC 3042)",
        |m| m.limited_transmit = LimitedTransmit::Two;
    LimitedPipe, "ltpipe", LIMITED_TRANSMIT,
        "limited transmit: as much as fits in the window (RFC 6675 §5 step 3; Linux)",
        |m| m.limited_transmit = LimitedTransmit::Pipe;
    RateStandard, "std", RATE,
        "in recovery cwnd = ssthresh at once (RFC 3517, RFC 6675; the 2011 paper's algorithm 1)",
        |m| m.rate = RateControl::Standard;
    Halving, "halving", RATE,
        "in recovery Linux 2.6's rate halving",
        |m| m.rate = RateControl::Halving;
    PrrUb, "prrub", RATE,
        "in recovery PRR with the unlimited bound (the draft the 2011 paper cites)",
        |m| m.rate = RateControl::prr(Bound::Unlimited, RecoverFs::FlightSize);
    PrrCrb, "prrcrb", RATE,
        "in recovery PRR with the conservative reduction bound (RFC 6937 §3)",
        |m| m.rate = RateControl::prr(Bound::Conservative, RecoverFs::FlightSize);
    PrrSsrb, "prr", RATE,
        "in recovery PRR with the slow-start reduction bound (RFC 6937 §3; the 2011 paper's algorithm 2)",
        |m| m.rate = RateControl::prr(Bound::SlowStart, RecoverFs::FlightSize);
    PrrSafe, "prrsafe", RATE,
        "in recovery PRR with SafeACK; RecoverFS leaves out data that had arrived before (RFC 9937 §6.1, §6.2)",
        |m| m.rate = RateControl::prr(Bound::SafeAck, RecoverFs::Undelivered);
    PrrLinux, "prrlinux", RATE,
        "in recovery PRR with SafeACK; RecoverFS is the congestion window (Linux 6 tcp_cwnd_reduction)",
        |m| m.rate = RateControl::LINUX_6;
    PrrLinux3, "prrlinux3", RATE,
        "in recovery PRR with the slow-start reduction bound; RecoverFS is the congestion window (Linux 3.2 to 3.17)",
        |m| m.rate = RateControl::LINUX_3_2;
    NoHoles, "noholes", RECOVERY_FILL,
        "in recovery only lost segments and new data (Linux since 4.13)",
        |m| m.recovery_fill = RecoveryFill::Nothing;
    Holes, "holes", RECOVERY_FILL,
        "in recovery also holes not marked lost (RFC 6675 §4 NextSeg rule 3)",
        |m| m.recovery_fill = RecoveryFill::Holes;
    Rescue, "rescue", RECOVERY_FILL,
        "in recovery also holes not marked lost and one rescue retransmission (RFC 6675 §4 NextSeg rules 3 and 4)",
        |m| m.recovery_fill = RecoveryFill::HolesAndRescue;
    Frto, "frto", FRTO,
        "F-RTO: new data after a timeout, to find out whether it was spurious (RFC 5682)",
        |m| m.frto = true;
    NoFrto, "nofrto", FRTO,
        "no F-RTO",
        |m| m.frto = false;
    Undo, "undo", UNDO,
        "undo reductions that DSACKs or timestamps prove unnecessary (RFC 3708, RFC 3522)",
        |m| m.undo = UndoRules::ALL;
    UndoDsack, "dsack", UNDO,
        "undo reductions that DSACKs prove unnecessary (RFC 3708)",
        |m| m.undo = UndoRules { dsack: true, timestamps: false };
    UndoEifel, "eifel", UNDO,
        "undo reductions that timestamps prove unnecessary (RFC 3522)",
        |m| m.undo = UndoRules { dsack: false, timestamps: true };
    NoUndo, "noundo", UNDO,
        "no undo, except by F-RTO",
        |m| m.undo = UndoRules::NONE;
    NoIdle, "noidle", AFTER_IDLE,
        "idle time does not shrink the window (Linux tcp_slow_start_after_idle=0)",
        |m| m.restart_after_idle = false;
    Idle, "idle", AFTER_IDLE,
        "idle time shrinks the window (RFC 5681 §4.1)",
        |m| m.restart_after_idle = true;
    Moderate, "moderate", DOUBTFUL_ACKS,
        "each ACK in Disorder lets cwnd fall to three segments more than are in flight (Linux 2.6 tcp_moderate_cwnd)",
        |m| m.moderate_window = true;
    Cubic, "cubic", CONGESTION_CONTROL,
        "CUBIC congestion control (RFC 9438)",
        |m| m.congestion = Algorithm::Cubic;
    Reno, "reno", CONGESTION_CONTROL,
        "Reno congestion control (RFC 5681)",
        |m| m.congestion = Algorithm::Reno;
    Bbr1, "bbr1", CONGESTION_CONTROL,
        "BBR congestion control, version 1: a model of the path sets window and pacing rate, in recovery as well (Linux tcp_bbr.c)",
        |m| m.congestion = Algorithm::Bbr1;
}

impl Mechanism {
    /// The mechanism with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|m| m.name() == name)
    }

    /// Whether the mechanism changes Linux's RTT estimator and no other.
    pub const fn needs_linux_rto(self) -> bool {
        matches!(self, Self::MinRto | Self::MinRttvar)
    }

    /// Whether the mechanism works from SACKs and does nothing without them.
    pub const fn needs_sack(self) -> bool {
        matches!(
            self,
            Self::Tlp
                | Self::Tlpr
                | Self::TlprFull
                | Self::TlpRfc
                | Self::TlpLinux
                | Self::Pto
                | Self::PacketTime
                | Self::Adaptive
                | Self::Rack
                | Self::RackLinux
                | Self::Fack
                | Self::Sacked
                | Self::IsLost
                | Self::Rescue
                | Self::UndoDsack
        )
    }
}
