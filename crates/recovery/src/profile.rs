//! Profiles: a named base, and mechanisms added to it.
//!
//! The syntax is `base+mechanism+mechanism`, as in `linux-3.17+rtor+tlp`. Names of mechanisms contain no
//! hyphen. A later mechanism overrides an earlier one of the same kind.

mod describe;
mod mechanism;
mod study;

pub use crate::rto::RtoRestart;
pub use describe::Setting;
pub use mechanism::Mechanism;

use crate::congestion::Algorithm;
use crate::detect::{DUPTHRESH, EarlyRetransmit, LossRule, MAX_DUPTHRESH, RackVersion, Rules};
use crate::rate::RateControl;
use crate::rtt::{RtoRules, Sampling, Smoothing};
use crate::slp::SlpRules;
use crate::tlp::{AckDelay, ProbeRules, ProbeVersion};
use crate::undo::UndoRules;
use alloc::format;
use alloc::string::String;
use alloc::string::ToString;
use alloc::vec::Vec;
use core::fmt;
use core::str::FromStr;
use core::time::Duration;
use recoup_units::Segments;

/// All settings that determine a sender's behaviour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Mechanisms {
    /// Selective acknowledgments are offered and used (RFC 2018).
    pub sack: bool,
    /// How lost segments are detected.
    pub detection: Rules,
    /// Whether segments that were judged lost and arrived late change the detector's thresholds, and undo the
    /// reduction. For the detectors in the order of transmission: RACK and RFC 9002's.
    pub adaptive: bool,
    /// Loss detection with few segments outstanding.
    pub early_retransmit: EarlyRetransmit,
    /// Whether the first duplicate ACKs permit new data.
    pub limited_transmit: LimitedTransmit,
    /// The segments that recovery sends when there are neither lost segments nor new data to send.
    pub recovery_fill: RecoveryFill,
    /// How much may be sent in recovery.
    pub rate: RateControl,
    /// The kinds of proof that undo a reduction.
    pub undo: UndoRules,
    /// F-RTO: new data after a timeout, to find out whether it was spurious (RFC 5682).
    pub frto: bool,
    /// The RTT estimator and the RTO.
    pub rto: RtoRules,
    /// RTO restart: which segments it counts.
    pub rto_restart: Option<RtoRestart>,
    /// Tail loss probes.
    pub probe: Option<ProbeRules>,
    /// Selective loss prevention: extra copies of segments whose loss is expensive.
    pub slp: Option<SlpRules>,
    /// Congestion control.
    pub congestion: Algorithm,
    /// The quantity from which ssthresh is computed.
    pub reduction_base: ReductionBase,
    /// How an ACK is processed, by kernel generation.
    pub ack_processing: AckProcessing,
    /// The initial congestion window (RFC 6928). With RFC 9002's loss detection it is n segments, and at most
    /// n · 1,472 bytes or two segments (RFC 9002 §7.2).
    pub initial_window: Segments,
    /// Whether idle time shrinks the window (RFC 5681 §4.1; Linux tcp_slow_start_after_idle).
    pub restart_after_idle: bool,
    /// Whether every ACK in Disorder lets the window fall to three segments more than are in flight
    /// (Linux 2.6 `tcp_try_to_open`, `tcp_moderate_cwnd`).
    pub moderate_window: bool,
    /// How long data may stay unacknowledged before the connection is aborted (RFC 9293 §3.9.1).
    pub user_timeout: Duration,
}

/// Limited transmit: new data on duplicate ACKs too few to begin a recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum LimitedTransmit {
    /// No new data.
    Off,
    /// One segment on each of the first two duplicate ACKs (RFC 3042).
    Two,
    /// As much as fits in the window; each SACK shrinks the pipe (RFC 6675 §5 step 3; Linux).
    Pipe,
}

/// The segments that recovery sends when none is marked lost and no new data may be sent (RFC 6675 §4 NextSeg).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum RecoveryFill {
    /// Nothing.
    Nothing,
    /// Holes below the highest SACK that are not marked lost (rule 3; Linux's forward retransmission).
    Holes,
    /// Holes and, once per recovery, the last segment not SACKed (rule 4, the rescue retransmission).
    HolesAndRescue,
}

/// The quantity from which a loss computes ssthresh.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum ReductionBase {
    /// The congestion window (Linux).
    Cwnd,
    /// The flight size (RFC 5681 §3.1 equation 4).
    FlightSize,
}

/// How an ACK is processed, by the generation of the Linux kernel.
///
/// | | before 3.13 | 3.13 to 4.12 | since 4.13 |
/// | --- | --- | --- | --- |
/// | the window grows | before the state changes | before the state changes | after the state changed |
/// | in slow start by | one segment per ACK | segments acknowledged | segments delivered |
/// | the answer to a probe is judged | after the state changed | after the state changed | before the state changes |
/// | an ACK older than the last one | clocks out data | clocks out data | clocks out nothing |
/// | a DSACK | is not a delivery | is not a delivery | counts as delivered |
/// | the window counts as used | when more is outstanding than before in the round trip | the same | also as soon as it is full |
/// | an undo with no window to restore | raises the window to ssthresh | the same | leaves the window |
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum AckProcessing {
    /// Linux before 3.13. RFC 5681 §3.1 lets the window grow in the same way.
    Linux2_6,
    /// Linux 3.13 to 4.12.
    Linux3_13,
    /// Linux 4.13 and later.
    Linux4_13,
}

/// Linux's loss detection before RACK.
const LINUX_DETECTION: Rules = Rules { rule: LossRule::Fack, dupthresh: DUPTHRESH, max_dupthresh: MAX_DUPTHRESH };

const LINUX_RTO: RtoRules = RtoRules {
    smoothing: Smoothing::Linux,
    sampling: Sampling::Segment,
    srtt_factor: RtoRules::SRTT_FACTOR,
    rttvar_factor: RtoRules::RTTVAR_FACTOR,
    srtt_weight: RtoRules::SRTT_WEIGHT,
    rttvar_weight: RtoRules::RTTVAR_WEIGHT,
    granularity: Duration::ZERO,
    initial: Duration::from_secs(1),
    min_variance: Duration::from_millis(200),
    min: Duration::ZERO,
    max: Duration::from_secs(120),
};

impl Mechanisms {
    /// These mechanisms after `change`: `Mechanisms::LINUX_6.with(|m| m.frto = false)`.
    pub fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    /// What else follows the least RTO of Linux's estimator: in Linux 6 the probe's allowance for a delayed ACK
    /// (since 6.6: `tcp_schedule_loss_probe`).
    pub fn follow_least_rto(&mut self, least: Duration) {
        if let Some(rules) = &mut self.probe
            && rules.version == ProbeVersion::Linux6
            && self.rto.smoothing == Smoothing::Linux
        {
            rules.ack_delay = AckDelay::Fixed(u32::try_from(least.as_micros()).unwrap_or(u32::MAX));
        }
    }
}

impl Mechanisms {
    /// The papers' baseline: standard Linux recovery with early retransmit and without tail loss
    /// probes, as of Linux 3.17.
    pub const LINUX_3_17: Self = Self {
        sack: true,
        detection: LINUX_DETECTION,
        adaptive: false,
        early_retransmit: EarlyRetransmit::LINUX,
        limited_transmit: LimitedTransmit::Pipe,
        recovery_fill: RecoveryFill::Holes,
        rate: RateControl::LINUX_3_2,
        undo: UndoRules::ALL,
        frto: true,
        rto: LINUX_RTO,
        rto_restart: None,
        probe: None,
        slp: None,
        congestion: Algorithm::Cubic,
        reduction_base: ReductionBase::Cwnd,
        ack_processing: AckProcessing::Linux3_13,
        initial_window: Segments(10),
        restart_after_idle: true,
        moderate_window: false,
        user_timeout: Duration::from_secs(300),
    };

    /// The 2011 paper's Linux 2.6 servers (its Table 4): rate halving, no early retransmit, an
    /// initial RTO of 3 s.
    pub const LINUX_2_6: Self = Self {
        early_retransmit: EarlyRetransmit::Off,
        rate: RateControl::Halving,
        //= RFC 6298 §2.1 MAY: "A TCP implementation MAY still use this value (or any other value > 1 second)."
        rto: RtoRules { initial: Duration::from_secs(3), ..LINUX_RTO },
        ack_processing: AckProcessing::Linux2_6,
        ..Self::LINUX_3_17
    };

    /// Linux 6: RACK and TLP, PRR with SafeACK.
    pub const LINUX_6: Self = Self {
        detection: Rules {
            rule: LossRule::Rack(RackVersion::Linux6),
            dupthresh: DUPTHRESH,
            max_dupthresh: Segments(300),
        },
        early_retransmit: EarlyRetransmit::Off,
        recovery_fill: RecoveryFill::Nothing,
        //= RFC 9937 §5 SHOULD: "it is RECOMMENDED that PRR is implemented together with RACK-TLP loss recovery
        //=   [RFC8985]"
        rate: RateControl::LINUX_6,
        probe: Some(ProbeRules::LINUX_6),
        ack_processing: AckProcessing::Linux4_13,
        ..Self::LINUX_3_17
    };

    /// The standards of 2012: RFC 6675 on RFC 5681, RFC 6298.
    pub const RFC_6675: Self = Self {
        sack: true,
        detection: Rules { rule: LossRule::IsLost, dupthresh: DUPTHRESH, max_dupthresh: DUPTHRESH },
        adaptive: false,
        early_retransmit: EarlyRetransmit::Off,
        limited_transmit: LimitedTransmit::Pipe,
        recovery_fill: RecoveryFill::HolesAndRescue,
        rate: RateControl::Standard,
        undo: UndoRules::NONE,
        frto: false,
        rto: RtoRules {
            smoothing: Smoothing::Standard,
            //= RFC 6298 §2.1 SHOULD: "Until a round-trip time (RTT) measurement has been made for a segment sent
            //=   between the sender and receiver, the sender SHOULD set RTO <- 1 second"
            initial: Duration::from_secs(1),
            min_variance: Duration::from_millis(1),
            //= RFC 6298 §2.4 SHOULD: "Whenever RTO is computed, if it is less than 1 second, then the RTO SHOULD be
            //=   rounded up to 1 second."
            min: Duration::from_secs(1),
            //= RFC 6298 §2.5 MAY: "A maximum value MAY be placed on RTO provided it is at least 60 seconds."
            max: Duration::from_secs(60),
            ..LINUX_RTO
        },
        rto_restart: None,
        probe: None,
        slp: None,
        congestion: Algorithm::Reno,
        reduction_base: ReductionBase::FlightSize,
        ack_processing: AckProcessing::Linux2_6,
        //= RFC 5681 §3.1 MUST: "IW, the initial value of cwnd, MUST be set using the following guidelines as an upper
        //=   bound."
        //= deviation: ten segments, which RFC 6928 permits; it is a setting
        initial_window: Segments(10),
        restart_after_idle: true,
        moderate_window: false,
        user_timeout: Duration::from_secs(300),
    };

    /// QUIC's loss recovery: RFC 9002, with the congestion control of its appendix B.
    pub const RFC_9002: Self = Self {
        //= RFC 9002 §6.1.1 SHOULD: "The RECOMMENDED initial value for the packet reordering threshold
        //=   (kPacketThreshold) is 3, based on best practices for TCP loss detection [RFC5681] [RFC6675]."
        detection: Rules { rule: LossRule::PacketTime, dupthresh: DUPTHRESH, max_dupthresh: DUPTHRESH },
        recovery_fill: RecoveryFill::Nothing,
        rto: RtoRules {
            sampling: Sampling::Newest,
            //= RFC 9002 §5.3 step: "smoothed_rtt and rttvar are initialized as follows, where kInitialRtt contains the
            //=   initial RTT value: smoothed_rtt = kInitialRtt rttvar = kInitialRtt / 2"
            initial: Duration::from_millis(999),
            min: Duration::ZERO,
            ..Self::RFC_6675.rto
        },
        probe: Some(ProbeRules::RFC_9002),
        reduction_base: ReductionBase::Cwnd,
        ack_processing: AckProcessing::Linux4_13,
        restart_after_idle: false,
        moderate_window: false,
        ..Self::RFC_6675
    };

    /// NewReno without SACK: RFC 6582 on RFC 5681, RFC 3042, RFC 6298.
    pub const RENO: Self = Self {
        sack: false,
        detection: Rules { rule: LossRule::Sacked, dupthresh: DUPTHRESH, max_dupthresh: DUPTHRESH },
        limited_transmit: LimitedTransmit::Two,
        recovery_fill: RecoveryFill::Nothing,
        ..Self::RFC_6675
    };
}

impl Mechanisms {
    /// The mechanisms of the profile with this name, such as `linux-3.17+rtor`. It needs no memory from the heap, and
    /// does not say why a text is no name, as [`Profile`]'s parser does.
    pub fn of_profile(name: &str) -> Option<Self> {
        let mut words = name.split('+').map(str::trim);
        let mut mechanisms = base_named(words.next()?)?;
        for word in words {
            Mechanism::named(word)?.apply(&mut mechanisms);
        }
        Some(mechanisms)
    }
}

fn base_named(name: &str) -> Option<Mechanisms> {
    let found = BASES.iter().find(|(base, ..)| *base == name);
    found.map(|(_, mechanisms, _)| *mechanisms)
}

impl Mechanisms {
    /// The kinds of proof that undo a reduction: all of them with adaptive thresholds.
    pub(crate) fn undo_rules(&self) -> UndoRules {
        match self.adaptive {
            true => UndoRules::ALL,
            false => self.undo,
        }
    }

    /// Whether the newest transmission delivered matters: for the detection of losses or for the RTT.
    pub(crate) fn takes_newest(&self) -> bool {
        self.detection.rule == LossRule::PacketTime || self.rto.sampling == Sampling::Newest
    }
}

/// A named set of mechanisms.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Profile {
    name: String,
    base: Mechanisms,
    added: Vec<Mechanism>,
    mechanisms: Mechanisms,
}

/// The base profile of current Linux kernels.
pub const CURRENT_LINUX: &str = "linux-6";

/// The base profiles: name, mechanisms, description with source.
pub const BASES: [(&str, Mechanisms, &str); 10] = [
    (
        "linux-3.17",
        Mechanisms::LINUX_3_17,
        "Linux 3.17 with early retransmit and without tail loss probes: the baseline of the tail-loss paper (§3.1)",
    ),
    (
        "linux-2.6",
        Mechanisms::LINUX_2_6,
        "Linux 2.6 as the 2011 paper's servers ran it (§2, Table 4): FACK, rate halving, no early retransmit",
    ),
    ("linux-6", Mechanisms::LINUX_6, "Linux 6.12: RACK-TLP with Linux's probe timeout, PRR with SafeACK"),
    ("rfc6675", Mechanisms::RFC_6675, "the standards alone: RFC 5681, RFC 6675, RFC 6298"),
    (
        "rfc9002",
        Mechanisms::RFC_9002,
        "QUIC's loss recovery in TCP: packet and time threshold, probe timeout, NewReno (RFC 9002)",
    ),
    ("reno", Mechanisms::RENO, "NewReno without SACK: RFC 5681, RFC 6582, RFC 3042, RFC 6298"),
    (
        "linux-2.4",
        Mechanisms::LINUX_2_4,
        "Linux 2.4 with the RTO of the 2007 paper (§II, Table I): FACK, rate halving, Reno; the kernel's RTO is +minrttvar",
    ),
    (
        "windows-xp",
        Mechanisms::WINDOWS_XP,
        "Windows XP and 2000 with the RTO and the two duplicate ACKs of the 2007 paper (Table I)",
    ),
    (
        "solaris-10",
        Mechanisms::SOLARIS_10,
        "Solaris 10 with the RTO of the 2007 paper (Table I): SACK, limited transmit",
    ),
    (
        "freebsd-5",
        Mechanisms::FREEBSD_5,
        "FreeBSD 5.2, which Mac OS X shares, with the RTO of the 2007 paper (Table I): NewReno without SACK",
    ),
];

impl Profile {
    /// As the user wrote it, without white space.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The mechanisms of the profile.
    pub fn mechanisms(&self) -> &Mechanisms {
        &self.mechanisms
    }

    /// The mechanisms added to the base, as written.
    pub fn added(&self) -> &[Mechanism] {
        &self.added
    }

    /// The later mechanism that fully overrides the `i`-th added one, if there is one.
    pub fn replaced(&self, i: usize) -> Option<Mechanism> {
        let (before, rest) = self.added.split_at_checked(i)?;
        let (this, after) = rest.split_first()?;
        let later = after.iter().rfind(|m| m.setting() == this.setting())?;
        let mut without = self.base;
        for mechanism in before.iter().chain(after) {
            mechanism.apply(&mut without);
        }
        (without == self.mechanisms).then_some(*later)
    }
}

impl Default for Profile {
    fn default() -> Self {
        let (name, mechanisms, _) = BASES[0];
        Self { name: name.into(), base: mechanisms, added: Vec::new(), mechanisms }
    }
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

/// The most mechanisms that a profile adds to its base: several times as many as can have an effect.
pub const MOST_MECHANISMS: usize = 100;

impl FromStr for Profile {
    type Err = ProfileError;

    fn from_str(text: &str) -> Result<Self, ProfileError> {
        let mut parts = text.split('+').map(str::trim);
        let base = parts.next().unwrap_or_default();
        let base_mechanisms = base_named(base).ok_or_else(|| ProfileError::UnknownBase(base.into()))?;
        let mut name = base.to_string();
        let mut added = Vec::new();
        let mut mechanisms = base_mechanisms;
        for part in parts {
            if added.len() == MOST_MECHANISMS {
                return Err(ProfileError::TooMany);
            }
            let mechanism = Mechanism::named(part).ok_or_else(|| ProfileError::UnknownMechanism(part.into()))?;
            mechanism.apply(&mut mechanisms);
            added.push(mechanism);
            name = format!("{name}+{part}");
        }
        Ok(Self { name, base: base_mechanisms, added, mechanisms })
    }
}

/// Why a text could not be parsed as a profile.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ProfileError {
    /// The part before the first `+` names no profile.
    UnknownBase(String),
    /// A part after a `+` names no mechanism.
    UnknownMechanism(String),
    /// There are more than [`MOST_MECHANISMS`].
    TooMany,
}

impl ProfileError {
    /// The kind of the unknown word: profile or mechanism.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::UnknownBase(_) => "profile",
            Self::UnknownMechanism(_) | Self::TooMany => "mechanism",
        }
    }

    /// The unknown word, and the known words; without a word, none.
    pub fn unknown(&self) -> (&str, Vec<&'static str>) {
        match self {
            Self::UnknownBase(word) => (word, BASES.iter().map(|(name, ..)| *name).collect()),
            Self::UnknownMechanism(word) => (word, Mechanism::ALL.iter().map(|m| m.name()).collect()),
            Self::TooMany => ("", Vec::new()),
        }
    }
}

impl fmt::Display for ProfileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Self::TooMany {
            return write!(f, "expected at most {MOST_MECHANISMS} mechanisms in a profile");
        }
        let (word, known) = self.unknown();
        write!(f, "unknown {} '{word}', expected one of: {}", self.kind(), known.join(", "))
    }
}

impl core::error::Error for ProfileError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_parsed_and_printed() {
        const PAPER: Option<RtoRestart> = Some(RtoRestart::Outstanding);
        const RFC: Option<RtoRestart> = Some(RtoRestart::OutstandingAndUnsent);
        let cases = [
            ("linux-3.17", None, None, Algorithm::Cubic),
            ("linux-3.17+rtor", PAPER, None, Algorithm::Cubic),
            ("linux-3.17+rtor+tlp", PAPER, Some(false), Algorithm::Cubic),
            ("linux-3.17+rtor+rtorrfc", RFC, None, Algorithm::Cubic),
            ("linux-3.17+tlp+tlpr+reno", None, Some(true), Algorithm::Reno),
            ("linux-6", None, Some(false), Algorithm::Cubic),
            ("reno+cubic+rtor", PAPER, None, Algorithm::Cubic),
            ("linux-2.4+rtorrfc", RFC, None, Algorithm::Reno),
            ("windows-xp+tlp", None, Some(false), Algorithm::Reno),
            ("solaris-10", None, None, Algorithm::Reno),
            ("freebsd-5+cubic", None, None, Algorithm::Cubic),
        ];
        for (name, restart, probe, congestion) in cases {
            let profile: Profile = name.parse().unwrap();
            let m = profile.mechanisms();
            assert_eq!(profile.to_string(), name);
            assert_eq!(Mechanisms::of_profile(name), Some(*m), "{name}");
            assert_eq!((m.rto_restart, m.congestion), (restart, congestion), "{name}");
            assert_eq!(m.probe.map(|p| p.restart), probe, "{name}");
        }
    }

    #[test]
    fn every_mechanism_names_a_setting_that_is_described_and_changes_only_it() {
        for mechanism in Mechanism::ALL {
            for (base, before, _) in BASES {
                let mut after = before;
                mechanism.apply(&mut after);
                let changed = before.describe().into_iter().zip(after.describe());
                for (was, is) in changed.filter(|(was, is)| was.value != is.value) {
                    let name = mechanism.name();
                    assert_eq!(was.name, is.name);
                    assert_eq!(is.name, mechanism.setting(), "{base}+{name}");
                }
                let named = after.describe();
                let named = named.iter().filter(|s| s.name == mechanism.setting());
                assert_eq!(named.count(), 1, "{}", mechanism.name());
            }
        }
    }

    #[test]
    fn a_later_mechanism_may_leave_nothing_of_an_earlier_one() {
        // (profile, what replaces each mechanism added)
        use Mechanism as M;
        let cases: [(&str, &[Option<M>]); 4] = [
            ("linux-3.17+rtor+tlp", &[None, None]),
            ("linux-3.17+tlp+notlp", &[Some(M::NoTlp), None]),
            ("linux-3.17+tlplinux+tlpr", &[None, None]), // restart added to that version
            ("linux-3.17+tlp+reno+tlprfc", &[Some(M::TlpRfc), None, None]),
        ];
        for (name, replaced) in cases {
            let profile: Profile = name.parse().unwrap();
            let got: Vec<_> = (0..profile.added().len()).map(|i| profile.replaced(i)).collect();
            assert_eq!(got, replaced, "{name}");
            assert_eq!(profile.replaced(9), None);
        }
    }

    #[test]
    fn unknown_words_are_named() {
        let error = |text: &str| {
            assert_eq!(Mechanisms::of_profile(text), None, "{text}");
            text.parse::<Profile>().unwrap_err()
        };
        assert_eq!(error("linux-9"), ProfileError::UnknownBase("linux-9".into()));
        assert_eq!(error("linux-3.17+tplr"), ProfileError::UnknownMechanism("tplr".into()));
        let many = |count| format!("linux-6{}", "+tlp".repeat(count));
        assert!(Mechanism::ALL.len() < MOST_MECHANISMS && many(MOST_MECHANISMS).parse::<Profile>().is_ok());
        assert_eq!(many(MOST_MECHANISMS + 1).parse::<Profile>(), Err(ProfileError::TooMany));
        assert_eq!(error("linux-3.17+"), ProfileError::UnknownMechanism(String::new()));
        assert_eq!(
            error("").to_string(),
            "unknown profile '', expected one of: linux-3.17, linux-2.6, linux-6, rfc6675, rfc9002, reno, \
             linux-2.4, windows-xp, solaris-10, freebsd-5"
        );
    }
}
