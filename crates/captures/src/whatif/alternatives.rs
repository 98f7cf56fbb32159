//! The mechanisms to try instead of those that a sender has.

use recoup_recovery::detect::EarlyRetransmit;
use recoup_recovery::profile::{BASES, Mechanism};
use recoup_recovery::{Mechanisms, Profile};
use recoup_support::profile::parse_profile;
use recoup_support::suggest::did_you_mean;

/// Loss recovery that a sender runs in place of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Alternative {
    /// All mechanisms of a profile.
    Profile(Box<Profile>),
    /// Mechanisms on top of those that each sender has.
    Added {
        /// As on the command line: `+tlpr+rtor`.
        name: String,
        /// The mechanisms, in order.
        mechanisms: Vec<Mechanism>,
    },
}

impl Alternative {
    /// Reads `PROFILE`, or `+MECHANISM+…`.
    ///
    /// # Errors
    /// An unknown word. The error names the word it resembles; failing that, all known words.
    pub fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
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
            Self::Profile(profile) => profile.name(),
            Self::Added { name, .. } => name,
        }
    }

    /// The mechanisms of a sender that has those of `base` today.
    pub fn on(&self, base: &Mechanisms) -> Mechanisms {
        match self {
            Self::Profile(profile) => *profile.mechanisms(),
            Self::Added { mechanisms, .. } => {
                let mut all = *base;
                mechanisms.iter().for_each(|one| one.apply(&mut all));
                all
            }
        }
    }

    /// The alternatives if the user names none: what today's senders have or could have, as far as one of
    /// these bases lacks it.
    pub fn defaults<'a>(bases: impl Iterator<Item = &'a Mechanisms> + Clone) -> Vec<Self> {
        let lacks = |lacking: fn(&Mechanisms) -> bool| bases.clone().any(lacking);
        let offered = [
            ("linux-6", true),
            ("+tlp", lacks(|base| base.probe.is_none())),
            ("+tlpr", lacks(|base| base.probe.is_none_or(|p| !p.restart))),
            // RFC 7765 is what an implementation would follow; the paper's form is for its experiments.
            ("+rtorrfc", lacks(|base| base.rto_restart.is_none())),
            ("+er", lacks(|base| base.early_retransmit == EarlyRetransmit::Off)),
            ("+slp", lacks(|base| base.slp.is_none())),
        ];
        let offered = offered.into_iter().filter(|(_, is_new)| *is_new);
        let all = offered.filter_map(|(name, _)| Self::parse(name).ok());
        all.filter(|one| bases.clone().any(|base| one.on(base) != *base)).collect()
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

    #[test]
    fn mechanisms_stand_on_the_profile_of_each_sender() {
        let added = Alternative::parse("+tlpr+rtor").unwrap();
        assert_eq!(added.name(), "+tlpr+rtor");
        let base = Mechanisms::LINUX_6;
        let tried = added.on(&base);
        assert!(tried.rto_restart.is_some() && tried.probe.is_some_and(|probe| probe.restart));
        assert_eq!(tried.detection, base.detection);
        let profile = Alternative::parse("rfc6675").unwrap();
        assert_eq!(profile.on(&base), Mechanisms::RFC_6675);
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
        let names = |bases: &[Mechanisms]| {
            let all = Alternative::defaults(bases.iter());
            all.iter().map(|one| one.name().to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(names(&[Mechanisms::LINUX_6]), ["+tlpr", "+rtorrfc", "+er", "+slp"]);
        assert_eq!(names(&[Mechanisms::LINUX_3_17]), ["linux-6", "+tlp", "+tlpr", "+rtorrfc", "+slp"]);
        assert!(names(&[]).is_empty());
    }
}
