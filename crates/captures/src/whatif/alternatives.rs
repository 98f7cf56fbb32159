//! What to try instead of what a sender has.

use super::timers::{Ends, PeerTimers};
use crate::levers::{Lever, LeverValue, Need, offered};
use recoup_recovery::detect::EarlyRetransmit;
use recoup_recovery::profile::{BASES, Mechanism};
use recoup_recovery::{Mechanisms, Profile};
use recoup_support::profile::parse_profile;
use recoup_support::suggest::did_you_mean;
use recoup_whatif::Trial;
use std::collections::BTreeMap;

/// What is tried at a sender.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Alternative {
    /// Something that an operator can switch on.
    Lever(Box<LeverValue>),
    /// All mechanisms of a profile.
    Profile(Box<Profile>),
    /// Mechanisms on top of those that each sender has.
    Added {
        /// As on the command line: `+tlpr+rtor`.
        name: String,
        /// The mechanisms, in order.
        mechanisms: Vec<Mechanism>,
    },
    /// Timers that differ by the network of the peer.
    Timers(PeerTimers),
}

impl Alternative {
    /// Reads `LEVER=VALUE`, `PROFILE`, or `+MECHANISM+…`.
    ///
    /// # Errors
    /// An unknown word. The error names the word it resembles; failing that, all known words.
    pub fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if text.contains('=') || Lever::named(text).is_ok() {
            return LeverValue::parse(text).map(|value| Self::Lever(Box::new(value)));
        }
        if !text.starts_with('+') {
            let profile = parse_profile(text).map(|profile| Self::Profile(Box::new(profile)));
            return profile.map_err(|error| mechanism_like(text).unwrap_or(error));
        }
        // The profile only serves to read the mechanisms.
        let base = Profile::default();
        let with = parse_profile(&format!("{base}{text}"))?;
        Ok(Self::Added { name: with.name()[base.name().len()..].into(), mechanisms: with.added().to_vec() })
    }

    /// As on the command line.
    pub fn name(&self) -> &str {
        match self {
            Self::Lever(value) => value.name(),
            Self::Profile(profile) => profile.name(),
            Self::Added { name, .. } => name,
            Self::Timers(timers) => timers.name(),
        }
    }

    /// What it is for a sender that has the mechanisms of `base` today, towards this peer.
    pub fn on(&self, base: &Mechanisms, ends: Ends) -> Trial {
        match self {
            Self::Lever(value) => value.on(base),
            Self::Profile(profile) => Trial::of(*profile.mechanisms()),
            Self::Added { mechanisms, .. } => {
                let mut all = *base;
                mechanisms.iter().for_each(|one| one.apply(&mut all));
                Trial::of(all)
            }
            Self::Timers(timers) => timers.on(base, ends),
        }
    }

    /// The lever, if it is one.
    pub fn lever(&self) -> Option<&LeverValue> {
        match self {
            Self::Lever(value) => Some(value),
            Self::Profile(_) | Self::Added { .. } | Self::Timers(_) => None,
        }
    }
}

/// The alternatives if the user names none.
#[derive(Debug, Default)]
pub(super) struct Defaults {
    pub alternatives: Vec<Alternative>,
    /// Levers that cannot matter, by what the capture does not show.
    pub without_effect: BTreeMap<Need, Vec<&'static str>>,
}

impl Defaults {
    /// The levers that senders with these bases have and that may matter, and what only another stack has, as far as one of the
    /// bases lacks it. Settings show in the reruns alone, so some of the levers may be what the senders have.
    pub fn of(bases: &[&Profile], shows: impl Fn(Need) -> bool) -> Self {
        let names: Vec<&str> = bases.iter().map(|base| base.name()).collect();
        let (levers, without_effect) = offered(&names, &shows);
        let levers = levers.into_iter().map(|value| Alternative::Lever(Box::new(value)));
        let lacks = |lacking: fn(&Mechanisms) -> bool| bases.iter().any(|base| lacking(base.mechanisms()));
        let is_linux = |base: &&Profile| base.name().starts_with("linux-");
        let stacks = [
            // Where it is a newer version of the sender's own system, it is a lever.
            ("linux-6", !bases.iter().all(is_linux)),
            ("+tlp", bases.iter().any(|base| !is_linux(base) && base.mechanisms().probe.is_none())),
            ("+tlpr", lacks(|base| base.probe.is_none_or(|p| !p.restart))),
            // RFC 7765 is what an implementation would follow; the paper's form is for its experiments.
            ("+rtorrfc", lacks(|base| base.rto_restart.is_none())),
            ("+er", lacks(|base| base.early_retransmit == EarlyRetransmit::Off)),
            ("+slp", lacks(|base| base.slp.is_none())),
        ];
        let stacks = stacks.into_iter().filter(|(_, is_new)| *is_new && shows(Need::Losses));
        let stacks = stacks.filter_map(|(name, _)| Alternative::parse(name).ok());
        Self { alternatives: levers.chain(stacks).collect(), without_effect }
    }
}

/// The error where a word that names no profile is a mechanism, or resembles one.
fn mechanism_like(word: &str) -> Option<String> {
    let names = Mechanism::ALL.iter().map(|mechanism| mechanism.name());
    let is_profile_like = !did_you_mean(word, BASES.iter().map(|(name, ..)| *name)).is_empty();
    let meant = did_you_mean(word, names);
    let meant = meant.split('`').nth(1).filter(|_| !is_profile_like)?;
    Some(format!("unknown profile '{word}', did you mean the mechanism `+{meant}`?"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use recoup_tcp::flow::Host;

    #[test]
    fn mechanisms_stand_on_the_profile_of_each_sender() {
        let added = Alternative::parse("+tlpr+rtor").unwrap();
        let ends = Ends { sender: Host::Server, peer: "192.0.2.1".parse().unwrap() };
        assert_eq!(added.name(), "+tlpr+rtor");
        let base = Mechanisms::LINUX_6;
        let tried = added.on(&base, ends).mechanisms;
        assert!(tried.rto_restart.is_some() && tried.probe.is_some_and(|probe| probe.restart));
        assert_eq!(tried.detection, base.detection);
        let profile = Alternative::parse("rfc6675").unwrap();
        assert_eq!(profile.on(&base, ends), Trial::of(Mechanisms::RFC_6675));
    }

    #[test]
    fn an_unknown_word_is_answered_by_the_nearest() {
        for (text, error) in [
            ("+tplr", "unknown mechanism 'tplr', did you mean `tlpr`?"),
            ("linux-7", "unknown profile 'linux-7', did you mean `linux-6`?"),
        ] {
            assert_eq!(Alternative::parse(text).unwrap_err(), error);
        }
        assert!(Alternative::parse("+").is_err());
        assert!(Alternative::parse("").is_err());
    }

    #[test]
    fn what_all_senders_have_is_not_tried() {
        let names = |bases: &[&str], needs: &[Need]| {
            let bases: Vec<Profile> = bases.iter().map(|name| name.parse().unwrap()).collect();
            let bases: Vec<&Profile> = bases.iter().collect();
            let all = Defaults::of(&bases, |need| needs.contains(&need)).alternatives;
            all.iter().map(|one| one.name().to_owned()).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(
            names(&["linux-6"], &[Need::Losses]),
            "congestion-control=cubic congestion-control=bbr tail-loss-probe=3 slow-start-after-idle=0 initial-window=20 \
             rto-min-route=50ms quickack-route=1 +tlpr +rtorrfc +er +slp"
        );
        assert_eq!(
            names(&["linux-3.17"], &[Need::Losses, Need::Spurious]),
            "kernel=6.12 reordering=10 slow-start-after-idle=0 initial-window=20 rto-min-route=50ms quickack-route=1 \
             +tlpr +rtorrfc +slp"
        );
        assert_eq!(names(&["rfc6675"], &[Need::Losses]), "quickack-route=1 linux-6 +tlp +tlpr +rtorrfc +er +slp");
        assert_eq!(names(&[], &[Need::Losses]), "");
    }

    #[test]
    fn a_lever_is_read_by_its_name() {
        let lever = Alternative::parse("congestion-control=bbr").unwrap();
        assert_eq!(
            lever.lever().map(LeverValue::command).as_deref(),
            Some("sysctl -w net.ipv4.tcp_congestion_control=bbr")
        );
        assert!(Alternative::parse("congestion-control").unwrap_err().contains("needs a value"));
    }
}
