//! What a lever changes in a rerun.

use super::Lever;
use recoup_recovery::parameters::Parameters;
use recoup_recovery::profile::Mechanism;
use recoup_recovery::rtt::Smoothing;
use recoup_recovery::tlp::ProbeRules;
use recoup_recovery::{Mechanisms, Profile};
use recoup_support::profile::parse_profile;
use recoup_support::quantity::parse_duration;
use recoup_units::Segments;
use recoup_whatif::{PeerAcks, Trial};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::time::Duration;

/// What the values of a lever change in a rerun.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Effect {
    /// Mechanisms of the sender by value, as after the name of a profile.
    Mechanisms(BTreeMap<String, String>),
    /// The sender's profile by value. Its congestion control and other settings stay.
    Profile(BTreeMap<String, String>),
    /// Whether both ends use timestamps, by value.
    Timestamps(BTreeMap<String, bool>),
    /// The values with which the receiver acknowledges every segment at once.
    QuickAcks(Vec<String>),
    /// Whether the sender probes: 3 or 0. The version of the probes follows its loss detection.
    TailLossProbe,
    /// The initial window: segments.
    InitialWindow,
    /// Duplicate ACKs that mean a loss: segments.
    Dupthresh,
    /// The least RTO; on Linux, the least of the term that is added to SRTT.
    LeastRto,
    /// The RTO before the first sample, and so of SYN and SYN-ACK.
    InitialRto,
    /// The longest delay of an ACK.
    MostAckDelay,
    /// The receiver's window no longer limits the sender.
    WideWindow,
}

/// The unit of a lever's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Unit {
    Us,
    Ms,
    /// Of 4 ms, as with HZ=250.
    Jiffies,
}

impl Unit {
    fn duration(self) -> Duration {
        match self {
            Self::Us => Duration::from_micros(1),
            Self::Ms => Duration::from_millis(1),
            Self::Jiffies => Duration::from_millis(4),
        }
    }
}

/// What a value of a lever changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Change {
    Mechanisms(Vec<Mechanism>),
    Profile(Box<Profile>),
    Timestamps(bool),
    Acks(PeerAcks),
    TailLossProbe(bool),
    InitialWindow(Segments),
    Dupthresh(Segments),
    LeastRto(Duration),
    InitialRto(Duration),
    WideWindow,
}

impl Effect {
    /// What this value changes.
    ///
    /// # Errors
    /// The values that the lever takes, in words.
    pub fn change(&self, lever: &Lever, value: &str) -> Result<Change, String> {
        let duration = || duration(value, lever.unit).ok_or_else(|| expected_duration(lever));
        let segments =
            || segments(value).ok_or_else(|| "expected a number of segments from 1 to 65535, such as 20".to_owned());
        Ok(match self {
            Self::Mechanisms(values) => Change::Mechanisms(mechanisms(of_value(values, value)?)?),
            Self::Profile(values) => Change::Profile(Box::new(parse_profile(of_value(values, value)?)?)),
            Self::Timestamps(values) => Change::Timestamps(*of_value(values, value)?),
            Self::QuickAcks(values) => match values.iter().any(|known| known == value) {
                true => Change::Acks(PeerAcks::Quick),
                false => return Err(format!("expected {}", values.join(" or "))),
            },
            Self::TailLossProbe => match value {
                "3" => Change::TailLossProbe(true),
                "0" => Change::TailLossProbe(false),
                _ => return Err("expected 3 or 0".into()),
            },
            Self::InitialWindow => Change::InitialWindow(segments()?),
            Self::Dupthresh => Change::Dupthresh(segments()?),
            Self::LeastRto => Change::LeastRto(duration()?),
            Self::InitialRto => Change::InitialRto(duration()?),
            Self::MostAckDelay => Change::Acks(PeerAcks::Within(duration()?)),
            Self::WideWindow => match ascending(value) {
                true => Change::WideWindow,
                false => {
                    return Err(format!(
                        "expected three ascending numbers of bytes, such as {}",
                        lever.offers.join("")
                    ));
                }
            },
        })
    }
}

impl Change {
    /// What is tried at a sender that has the mechanisms of `base` today.
    pub fn on(&self, base: &Mechanisms) -> Trial {
        let unchanged = Trial::of(*base);
        let with = |change: &dyn Fn(&mut Mechanisms)| Trial::of(base.with(|m| change(m)));
        match self {
            Self::Mechanisms(all) => with(&|m| all.iter().for_each(|one| one.apply(m))),
            // Somebody's settings stay.
            Self::Profile(profile) => Trial::of(profile.mechanisms().with(|m| {
                m.congestion = base.congestion;
                m.restart_after_idle = base.restart_after_idle;
                m.sack = base.sack;
                m.rto.min_variance = base.rto.min_variance;
            })),
            Self::Timestamps(timestamps) => Trial { timestamps: *timestamps, ..unchanged },
            Self::Acks(acks) => Trial { acks: *acks, ..unchanged },
            Self::TailLossProbe(false) => with(&|m| m.probe = None),
            Self::TailLossProbe(true) if base.probe.is_some() => unchanged,
            // Linux took the probe timeout of RFC 8985 over with RACK.
            Self::TailLossProbe(true) => with(&|m| {
                let rack = Mechanisms::LINUX_6.detection.rule == m.detection.rule;
                m.probe = Some(if rack { ProbeRules::LINUX_6 } else { ProbeRules::DRAFT_01 });
            }),
            Self::InitialWindow(window) => Trial { initial_window: Some(*window), ..unchanged },
            Self::Dupthresh(dupthresh) => {
                with(&|m| Parameters { dupthresh: Some(*dupthresh), ..Parameters::default() }.apply(m))
            }
            Self::LeastRto(least) => with(&|m| set_least_rto(m, *least)),
            Self::InitialRto(initial) => with(&|m| m.rto.initial = *initial),
            Self::WideWindow => Trial { wide_window: true, ..unchanged },
        }
    }
}

/// Sets the least RTO; on Linux, the least of the term that is added to SRTT, and what a probe adds for a delayed ACK.
pub(crate) fn set_least_rto(mechanisms: &mut Mechanisms, least: Duration) {
    mechanisms.follow_least_rto(least);
    match mechanisms.rto.smoothing {
        Smoothing::Linux => mechanisms.rto.min_variance = least,
        _ => mechanisms.rto.min = least,
    }
}

fn of_value<'a, T>(values: &'a BTreeMap<String, T>, value: &str) -> Result<&'a T, String> {
    let known: Vec<&str> = values.keys().map(String::as_str).collect();
    values.get(value).ok_or_else(|| format!("expected {}", known.join(" or ")))
}

fn mechanisms(text: &str) -> Result<Vec<Mechanism>, String> {
    // The profile only serves to read the mechanisms.
    let base = Profile::default();
    parse_profile(&format!("{base}{text}")).map(|with| with.added().to_vec())
}

/// Whether these are three numbers, each at least as large as the one before.
fn ascending(value: &str) -> bool {
    let numbers: Option<Vec<u64>> = value.split_whitespace().map(|number| number.parse().ok()).collect();
    numbers.is_some_and(|numbers| numbers.len() == 3 && numbers.is_sorted())
}

fn segments(value: &str) -> Option<Segments> {
    value.parse().ok().filter(|segments| (1..=65_535).contains(segments)).map(Segments)
}

/// The command of a lever with a unit takes a number alone.
fn duration(value: &str, unit: Option<Unit>) -> Option<Duration> {
    let parsed = match unit {
        Some(unit) => unit.duration().checked_mul(value.parse().ok()?),
        None => parse_duration(value).ok(),
    };
    parsed.filter(|duration| !duration.is_zero())
}

fn expected_duration(lever: &Lever) -> String {
    let such_as = lever.offers.first().or(lever.values.first()).map_or("", String::as_str);
    let unit = match lever.unit {
        Some(Unit::Us) => "a number of microseconds",
        Some(Unit::Ms) => "a number of milliseconds",
        Some(Unit::Jiffies) => "a number of jiffies of 4 ms",
        None => "a time",
    };
    format!("expected {unit}, such as {such_as}")
}
