//! Profiles: named sets of mechanisms, and mechanisms switched on top of them.
//!
//! The syntax is `base+mechanism+mechanism`, as in `linux-3.17+rtor+tlp`; the names of mechanisms
//! contain no hyphen. A later mechanism overrides an earlier one of the same kind.

use crate::congestion::Algorithm;
use crate::detect::{EarlyRetransmit, Threshold};
use crate::rtt::RtoLimits;
use crate::tlp::ProbeRules;
use recoup_units::Segments;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// Everything a sender's behaviour depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mechanisms {
    /// Loss by counting SACKs.
    pub detection: Threshold,
    /// Loss with few segments outstanding.
    pub early_retransmit: EarlyRetransmit,
    /// The RTO's limits.
    pub rto: RtoLimits,
    /// RTO restart (RFC 7765).
    pub rto_restart: bool,
    /// Tail loss probes.
    pub probe: Option<ProbeRules>,
    /// Congestion control.
    pub congestion: Algorithm,
    /// The congestion window to begin with (RFC 6928).
    pub initial_window: Segments,
    /// How long data may stay unacknowledged before the connection is given up (RFC 9293 §3.9.1).
    pub user_timeout: Duration,
}

// Settings that mechanisms change.
const RTO_RESTART: &str = "RTO restart";
const TAIL_LOSS_PROBE: &str = "tail loss probe";
const CONGESTION_CONTROL: &str = "congestion control";

impl Mechanisms {
    /// The papers' baseline: standard Linux recovery with early retransmit and without tail loss
    /// probes, as of Linux 3.17.
    pub const LINUX_3_17: Self = Self {
        detection: Threshold::FACK,
        early_retransmit: EarlyRetransmit::LINUX,
        rto: RtoLimits {
            initial: Duration::from_secs(1),
            min_variance: Duration::from_millis(200),
            max: Duration::from_secs(120),
        },
        rto_restart: false,
        probe: None,
        congestion: Algorithm::Cubic,
        initial_window: Segments(10),
        user_timeout: Duration::from_secs(300),
    };

    /// Each setting as name, value and source, for printing.
    pub fn describe(&self) -> Vec<Setting> {
        let ms = |d: Duration| format!("{} ms", d.as_secs_f64() * 1e3);
        let setting = |name, value: String, source| Setting {
            name,
            value,
            source,
        };
        let early = match self.early_retransmit {
            EarlyRetransmit::Off => "off".into(),
            EarlyRetransmit::Delayed { min } => {
                format!(
                    "below four outstanding segments, delayed by max(SRTT/4, {}), off once reordering was seen",
                    ms(min)
                )
            }
        };
        let probe = match self.probe {
            None => "off".into(),
            Some(rules) => format!(
                "PTO = max(2·SRTT, {}), or max(2·SRTT, 1.5·SRTT + {}) with one segment out; from {}",
                ms(rules.min),
                ms(rules.worst_delayed_ack),
                if rules.restart {
                    "the last transmission (TLPR)"
                } else {
                    "the last ACK"
                },
            ),
        };
        let detection = format!(
            "{} > dupthresh = {} segments; reordering beyond it switches FACK off and raises it, to {} at most",
            if self.detection.uses_fack() {
                "FACK: snd.fack − snd_una"
            } else {
                "SACKed above"
            },
            self.detection.dupthresh(),
            crate::detect::MAX_DUPTHRESH,
        );
        let restart = match self.rto_restart {
            true => format!(
                "below {} outstanding + unsent segments",
                crate::rto::RESTART_THRESHOLD
            ),
            false => "off".into(),
        };
        vec![
            setting(
                "loss detection",
                detection,
                "Mathis & Mahdavi 1996; Linux tcp_time_to_recover",
            ),
            setting(
                "early retransmit",
                early,
                "RFC 5827 §3.2, A.3; Linux tcp_pause_early_retransmit",
            ),
            setting(
                "limited transmit",
                "each SACK frees room for new data".into(),
                "RFC 3042; Linux",
            ),
            setting(
                "initial RTO",
                format!(
                    "{}; {} for data after a lost SYN that left no sample",
                    ms(self.rto.initial),
                    ms(crate::rtt::FALLBACK)
                ),
                "RFC 6298 §2.1, §5.7",
            ),
            setting(
                "RTO",
                format!(
                    "SRTT + max(4·RTTVAR, {}), at most {}",
                    ms(self.rto.min_variance),
                    ms(self.rto.max)
                ),
                "RFC 6298 §2; Linux tcp_rtt_estimator",
            ),
            setting(RTO_RESTART, restart, "RFC 7765 §4"),
            setting(
                TAIL_LOSS_PROBE,
                probe,
                "draft-dukkipati-tcpm-tcp-loss-probe-01 §2; tail-loss paper §2.3",
            ),
            setting(
                "rate in recovery",
                "PRR, slow-start reduction bound".into(),
                "RFC 6937 §3",
            ),
            setting(
                CONGESTION_CONTROL,
                self.congestion.name().into(),
                match self.congestion {
                    Algorithm::Cubic => "RFC 9438 with C = 0.4 and Linux's β = 717/1024",
                    Algorithm::Reno => "RFC 5681 §3.1",
                },
            ),
            setting(
                "initial window",
                format!("{} segments", self.initial_window),
                "RFC 6928 §2",
            ),
            setting(
                "smallest ssthresh",
                format!("{} segments", crate::congestion::MIN_SSTHRESH),
                "RFC 5681 §3.1",
            ),
            setting(
                "after idle time",
                "the window is halved for each RTO passed, not below the initial window".into(),
                "RFC 5681 §4.1; RFC 2861 §2; Linux tcp_cwnd_restart",
            ),
            setting(
                "user timeout",
                format!("{} s", self.user_timeout.as_secs_f64()),
                "RFC 9293 §3.9.1.1",
            ),
        ]
    }
}

/// One setting of a profile, for printing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// What it is.
    pub name: &'static str,
    /// Its value, units included.
    pub value: String,
    /// Where it comes from.
    pub source: &'static str,
}

/// A mechanism that can be put on top of a profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mechanism {
    /// RTO restart.
    Rtor,
    /// Tail loss probe.
    Tlp,
    /// Tail loss probe with restart.
    Tlpr,
    /// CUBIC.
    Cubic,
    /// Reno.
    Reno,
}

impl Mechanism {
    /// Every mechanism.
    pub const ALL: [Self; 5] = [Self::Rtor, Self::Tlp, Self::Tlpr, Self::Cubic, Self::Reno];

    /// The name used in profiles.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Rtor => "rtor",
            Self::Tlp => "tlp",
            Self::Tlpr => "tlpr",
            Self::Cubic => Algorithm::Cubic.name(),
            Self::Reno => Algorithm::Reno.name(),
        }
    }

    /// What it does and where it comes from, in one line.
    pub const fn about(self) -> &'static str {
        match self {
            Self::Rtor => {
                "RTO restart: count the RTO from the earliest outstanding segment's transmission (RFC 7765)"
            }
            Self::Tlp => {
                "tail loss probe: repeat the last segment after a probe timeout (draft-dukkipati-tcpm-tcp-loss-probe-01)"
            }
            Self::Tlpr => {
                "tail loss probe with restart: count the probe timeout from the last transmission (tail-loss paper §2.3)"
            }
            Self::Cubic => "CUBIC congestion control (RFC 9438)",
            Self::Reno => "Reno congestion control (RFC 5681)",
        }
    }

    /// The setting it changes, by its name in [`Mechanisms::describe`].
    pub const fn setting(self) -> &'static str {
        match self {
            Self::Rtor => RTO_RESTART,
            Self::Tlp | Self::Tlpr => TAIL_LOSS_PROBE,
            Self::Cubic | Self::Reno => CONGESTION_CONTROL,
        }
    }

    /// Switches it on.
    pub fn apply(self, to: &mut Mechanisms) {
        match self {
            Self::Rtor => to.rto_restart = true,
            Self::Tlp => to.probe = Some(ProbeRules::DRAFT_01),
            Self::Tlpr => {
                to.probe = Some(ProbeRules {
                    restart: true,
                    ..ProbeRules::DRAFT_01
                })
            }
            Self::Cubic => to.congestion = Algorithm::Cubic,
            Self::Reno => to.congestion = Algorithm::Reno,
        }
    }
}

/// A named set of mechanisms.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Profile {
    name: String,
    mechanisms: Mechanisms,
}

/// The profiles that can stand first in a name, each with its source.
pub const BASES: [(&str, Mechanisms, &str); 1] = [(
    "linux-3.17",
    Mechanisms::LINUX_3_17,
    "Linux 3.17 with early retransmit and without tail loss probes: the baseline of the tail-loss paper (§3.1)",
)];

impl Profile {
    /// As the user wrote it, without white space.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it stands for.
    pub fn mechanisms(&self) -> &Mechanisms {
        &self.mechanisms
    }
}

impl Default for Profile {
    fn default() -> Self {
        let (name, mechanisms, _) = BASES[0];
        Self {
            name: name.into(),
            mechanisms,
        }
    }
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

impl FromStr for Profile {
    type Err = ProfileError;

    fn from_str(text: &str) -> Result<Self, ProfileError> {
        let mut parts = text.split('+').map(str::trim);
        let base = parts.next().unwrap_or_default();
        let (_, mut mechanisms, _) = *BASES
            .iter()
            .find(|(name, ..)| *name == base)
            .ok_or_else(|| ProfileError::UnknownBase(base.into()))?;
        let mut name = base.to_string();
        for part in parts {
            let mechanism = Mechanism::ALL
                .into_iter()
                .find(|m| m.name() == part)
                .ok_or_else(|| ProfileError::UnknownMechanism(part.into()))?;
            mechanism.apply(&mut mechanisms);
            name = format!("{name}+{part}");
        }
        Ok(Self { name, mechanisms })
    }
}

/// Why a text is no profile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProfileError {
    /// The part before the first `+` names no profile.
    UnknownBase(String),
    /// A part after a `+` names no mechanism.
    UnknownMechanism(String),
}

impl ProfileError {
    /// The word that is not known, and those that are.
    pub fn unknown(&self) -> (&str, Vec<&'static str>) {
        match self {
            Self::UnknownBase(word) => (word, BASES.iter().map(|(name, ..)| *name).collect()),
            Self::UnknownMechanism(word) => {
                (word, Mechanism::ALL.iter().map(|m| m.name()).collect())
            }
        }
    }
}

impl fmt::Display for ProfileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (word, known) = self.unknown();
        let what = match self {
            Self::UnknownBase(_) => "profile",
            Self::UnknownMechanism(_) => "mechanism",
        };
        write!(
            f,
            "unknown {what} '{word}', expected one of: {}",
            known.join(", ")
        )
    }
}

impl std::error::Error for ProfileError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_parsed_and_printed() {
        let cases = [
            ("linux-3.17", false, None, Algorithm::Cubic),
            ("linux-3.17+rtor", true, None, Algorithm::Cubic),
            ("linux-3.17+rtor+tlp", true, Some(false), Algorithm::Cubic),
            (
                "linux-3.17+tlp+tlpr+reno",
                false,
                Some(true),
                Algorithm::Reno,
            ),
        ];
        for (name, restart, probe, congestion) in cases {
            let profile: Profile = name.parse().unwrap();
            let m = profile.mechanisms();
            assert_eq!(profile.to_string(), name);
            assert_eq!(
                (m.rto_restart, m.congestion),
                (restart, congestion),
                "{name}"
            );
            assert_eq!(m.probe.map(|p| p.restart), probe, "{name}");
        }
    }

    #[test]
    fn every_mechanism_names_a_setting_that_is_described() {
        for mechanism in Mechanism::ALL {
            let described = Mechanisms::LINUX_3_17.describe();
            let named = described.iter().filter(|s| s.name == mechanism.setting());
            assert_eq!(named.count(), 1, "{}", mechanism.name());
        }
    }

    #[test]
    fn unknown_words_are_named() {
        let error = |text: &str| text.parse::<Profile>().unwrap_err();
        assert_eq!(
            error("linux-9"),
            ProfileError::UnknownBase("linux-9".into())
        );
        assert_eq!(
            error("linux-3.17+tplr"),
            ProfileError::UnknownMechanism("tplr".into())
        );
        assert_eq!(
            error("linux-3.17+"),
            ProfileError::UnknownMechanism(String::new())
        );
        assert_eq!(
            error("").to_string(),
            "unknown profile '', expected one of: linux-3.17"
        );
    }
}
