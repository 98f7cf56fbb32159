//! Which profile a sender behaves like.
//!
//! Each candidate profile replays the same steps, and the retransmissions that it explains are
//! counted (the 2007 study §IV-A). A probe that shows itself at one connection of a host settles that
//! the host sends probes.

use super::replay::Explained;
use crate::finding::{Explanation, Identification};
use crate::hosts::{HostFacts, ProbeEvidence, Score};
use recoup_recovery::{Mechanisms, Profile, Trigger};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The profiles tried, and the systems that retransmit by these rules; the most widespread today
/// first. Where several explain as much, the first of them names the triggers.
///
/// Linux's rules changed in 3.5 (early retransmit), 3.10 (tail loss probes), 4.12 (RACK's timer takes
/// the place of early retransmit), 4.15 (no FACK) and 4.18 (RACK alone detects losses).
const PROFILES: [(&str, &str); 8] = [
    ("linux-6", "Linux since 4.18"),
    ("linux-6+notlp", "Linux since 4.18, tcp_early_retrans=0"),
    ("linux-3.17+tlp", "Linux 3.10 to 4.11"),
    ("linux-3.17", "Linux 3.5 to 3.9"),
    ("linux-2.4", "Linux 2.4"),
    ("windows-xp", "Windows 2000, XP"),
    ("freebsd-5", "FreeBSD 5, Mac OS X"),
    ("solaris-10", "Solaris 10"),
];

/// The systems that retransmit by the rules of a profile; `None` for profiles that no sender is
/// compared with.
pub fn systems_like(profile: &str) -> Option<&'static str> {
    let known = PROFILES.iter().find(|(name, _)| *name == profile);
    known.map(|(_, systems)| *systems)
}

/// Profiles of systems on which somebody must have changed a setting, and the profiles without that.
const CHANGED_SETTINGS: [(&str, &str); 1] = [("linux-6+notlp", "linux-6")];

/// Probes that a host left out before it counts as sending none. One may have been left out for
/// another reason.
const LEAST_LEFT_OUT: u32 = 2;

/// The most profiles that are tried.
pub(crate) const MOST_CANDIDATES: usize = 8;

const _: () = assert!(PROFILES.len() <= MOST_CANDIDATES);

/// A profile that explains a smaller share identifies nobody.
const LEAST_SHARE: f64 = 0.5;

/// Shares that differ by less count as equal.
const SIMILAR_SHARE: f64 = 0.02;

/// Profiles also count as equal if one explains fewer than this many retransmissions more: that may
/// be chance.
const FEW_RETRANSMISSIONS: f64 = 3.0;

/// Explained retransmissions from which on a host counts as known.
const LEAST_EXPLAINED: u32 = 20;

/// What the replays of a connection show of its sender.
#[derive(Clone, Debug, Default)]
pub(crate) struct Replayed {
    /// The score of each candidate.
    pub scores: Vec<Score>,
    pub probes: ProbeEvidence,
}

/// The profiles that a sender is compared with.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Candidates(Vec<(Arc<str>, Mechanisms)>);

impl Candidates {
    /// All known profiles.
    pub fn known() -> Self {
        let known = PROFILES
            .iter()
            .filter_map(|(name, _)| name.parse::<Profile>().ok());
        Self(known.map(Self::entry).collect())
    }

    /// The profile that the user chose.
    pub fn only(profile: &Profile) -> Self {
        Self(vec![Self::entry(profile.clone())])
    }

    fn entry(profile: Profile) -> (Arc<str>, Mechanisms) {
        (profile.name().into(), *profile.mechanisms())
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// The mechanisms of the `i`-th profile.
    pub fn mechanisms(&self, i: usize) -> &Mechanisms {
        &self.0[i].1
    }

    /// The pairs of profiles that differ in their probes alone: with probes, without.
    fn pairs(&self) -> impl Iterator<Item = (usize, usize)> {
        let without = |i: usize| Mechanisms {
            probe: None,
            ..*self.mechanisms(i)
        };
        let places = 0..self.len();
        let with = places
            .clone()
            .filter(|&i| self.mechanisms(i).probe.is_some());
        with.filter_map(move |with| {
            let same = places
                .clone()
                .find(|&i| *self.mechanisms(i) == without(with))?;
            Some((with, same))
        })
    }

    /// What the explanations of a connection's retransmissions say of probes. `replayed`: whether
    /// a candidate was replayed.
    pub fn probe_evidence<'a>(
        &self,
        rows: impl Iterator<Item = &'a [Explained; MOST_CANDIDATES]> + Clone,
        replayed: impl Fn(usize) -> bool,
    ) -> ProbeEvidence {
        let both = |&(with, without): &(usize, usize)| replayed(with) && replayed(without);
        let Some((with, without)) = self.pairs().find(both) else {
            return ProbeEvidence::default();
        };
        let count = |this: usize, other: usize, trigger: Trigger| {
            let rows = rows.clone().filter(|row| {
                let [this, other] = [row[this], row[other]];
                this.fits && this.triggers == trigger.into() && !other.fits
            });
            rows.count() as u32
        };
        ProbeEvidence {
            sent: count(with, without, Trigger::Tlp),
            left_out: count(without, with, Trigger::Rto),
        }
    }

    /// Leaves out the profiles without probes if the sender is seen to send them. If it is seen to
    /// leave them out, leaves out those that only differ from another by having them.
    fn settle_probes(&self, of: &mut Vec<usize>, evidence: ProbeEvidence) {
        let ProbeEvidence { sent, left_out } = evidence;
        let probes = |i: usize| self.mechanisms(i).probe.is_some();
        if sent > left_out && of.iter().any(|&i| probes(i)) {
            of.retain(|&i| probes(i));
        } else if left_out > sent && left_out >= LEAST_LEFT_OUT {
            for (with, without) in self.pairs() {
                if of.contains(&without) {
                    of.retain(|&i| i != with);
                }
            }
        }
    }

    /// The indices of all profiles that explain as much as the best, ordered by what they explain of
    /// the host's other connections or, if that is little, of this one. Away from the sender (not
    /// `exact`) losses blur the scores, so all of them count as equal. Those that explain less of
    /// the host's other connections are left out, unless that leaves none. Equals keep the order of
    /// the list.
    pub fn best(&self, replayed: &Replayed, host: &HostFacts, exact: bool) -> Vec<usize> {
        let mut best = similar(&replayed.scores);
        let mut probes = host.probes;
        probes.merge(replayed.probes);
        let known = !self.plausible(host).is_empty();
        let on_host = self.scores_on(host);
        let order = if known { &on_host } else { &replayed.scores };
        if exact {
            best.sort_by(|&a, &b| by_share(order, a, b));
        }
        self.narrow(&mut best, host, probes);
        best
    }

    /// Leaves out the profiles that the host's connections and `probes` speak against.
    fn narrow(&self, of: &mut Vec<usize>, host: &HostFacts, probes: ProbeEvidence) {
        for likely in [similar(&self.scores_on(host)), self.plausible(host)] {
            if of.iter().any(|i| likely.contains(i)) {
                of.retain(|i| likely.contains(i));
            }
        }
        self.settle_probes(of, probes);
    }

    /// The indices of the profiles that the host may run: the best one, once it explains
    /// [`LEAST_EXPLAINED`] retransmissions, and those that are behind it by no more than chance.
    /// Before that, none.
    pub fn plausible(&self, host: &HostFacts) -> Vec<usize> {
        let scores = self.scores_on(host);
        let best = (scores.iter()).max_by(|a, b| a.share().total_cmp(&b.share()));
        let known = best.filter(|best| best.explained >= LEAST_EXPLAINED);
        let least = known.map_or(f64::INFINITY, |best| {
            best.share() - best.chance().max(SIMILAR_SHARE)
        });
        let places = 0..scores.len();
        places.filter(|&i| scores[i].share() > least).collect()
    }

    /// The host's score of each profile.
    fn scores_on(&self, host: &HostFacts) -> Vec<Score> {
        let names = self.0.iter().map(|(name, _)| name);
        let score = |name| host.profiles.get(name).copied().unwrap_or_default();
        names.map(score).collect()
    }

    /// What a connection shows of its sender.
    pub fn facts(&self, replayed: &Replayed) -> HostFacts {
        let scores = &replayed.scores;
        let names = self.0.iter().map(|(name, _)| Arc::clone(name));
        let any = scores.iter().any(|score| score.of > 0);
        let profiles = names.zip(scores.iter().copied()).filter(|_| any);
        HostFacts {
            profiles: profiles.collect(),
            probes: replayed.probes,
            ..HostFacts::default()
        }
    }

    /// The index of the profile that explains most.
    pub fn first(&self, found: &Identification) -> Option<usize> {
        let best = found.best()?;
        self.0.iter().position(|(name, _)| **name == best.profile)
    }

    /// Decides between several profiles by what is known of the `host` by now.
    pub fn settle(&self, found: &mut Identification, host: &HostFacts) {
        let index = |one: &Explanation| self.0.iter().position(|(name, _)| **name == one.profile);
        if let Identification::Several(several) = found {
            let mut left: Vec<usize> = several.iter().filter_map(index).collect();
            self.narrow(&mut left, host, host.probes);
            several.retain(|one| index(one).is_some_and(|i| left.contains(&i)));
        }
        found.unwrap_single();
    }

    /// Who the sender is; `best` comes from [`best`](Self::best).
    pub fn identification(&self, replayed: &Replayed, best: &[usize]) -> Identification {
        let scores = &replayed.scores;
        let explanation = |&i: &usize| Explanation {
            profile: self.0[i].0.to_string(),
            explained: scores[i].explained.into(),
            of: scores[i].of.into(),
        };
        match best {
            [first, ..] if scores[*first].of == 0 => Identification::Nothing,
            [first, ..] if scores[*first].share() < LEAST_SHARE => {
                Identification::None(explanation(first))
            }
            [one] => Identification::Profile(explanation(one)),
            several => Identification::Several(several.iter().map(explanation).collect()),
        }
    }
}

/// Nothing more will be known of the sender: no setting counts as changed that need not be.
pub(crate) fn assume_defaults(found: &mut Identification) {
    if let Identification::Several(several) = found {
        for (changed, default) in CHANGED_SETTINGS {
            if several.iter().any(|one| one.profile == default) {
                several.retain(|one| one.profile != changed);
            }
        }
    }
    found.unwrap_single();
}

/// The indices of the scores that are as good as the best, or behind by what may be chance; none
/// if nothing was replayed.
fn similar(scores: &[Score]) -> Vec<usize> {
    let places = 0..scores.len();
    let Some(best) = places.clone().max_by(|&a, &b| by_share(scores, b, a)) else {
        return Vec::new();
    };
    let behind = |i: usize| scores[best].share() - scores[i].share();
    let few = |i: usize| behind(i) * f64::from(scores[best].of) < FEW_RETRANSMISSIONS;
    places
        .filter(|&i| behind(i) < SIMILAR_SHARE || few(i))
        .collect()
}

/// Puts the greater share first.
fn by_share(scores: &[Score], a: usize, b: usize) -> std::cmp::Ordering {
    scores[b].share().total_cmp(&scores[a].share())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Scores of linux-6, linux-3.17, linux-2.4, windows-xp, freebsd-5 and solaris-10;
    /// linux-6+notlp and linux-3.17+tlp explain nothing.
    fn replayed([linux, rest @ ..]: [u32; 6], of: u32) -> Replayed {
        let explained = [linux, 0, 0].into_iter().chain(rest);
        Replayed {
            scores: explained.map(|explained| Score { explained, of }).collect(),
            probes: ProbeEvidence::default(),
        }
    }

    #[test]
    fn all_profiles_that_explain_equally_many_are_named() {
        let candidates = Candidates::known();
        // (explained of 10 by each profile, explained of 100 on the host's other connections, the
        // result)
        let cases = [
            ([10, 7, 3, 3, 3, 3], [0; 6], "linux-6"),
            ([10, 8, 3, 3, 3, 3], [0; 6], "linux-6 linux-3.17"),
            ([10, 10, 3, 3, 3, 3], [0; 6], "linux-6 linux-3.17"),
            // The host's other connections decide.
            (
                [9, 10, 3, 3, 3, 3],
                [98, 96, 9, 9, 9, 9],
                "linux-6 linux-3.17",
            ),
            ([9, 10, 3, 3, 3, 3], [98, 88, 9, 9, 9, 9], "linux-6"),
            // Another host behind the same address.
            ([4, 10, 3, 3, 3, 3], [98, 60, 9, 9, 9, 9], "linux-3.17"),
            ([3, 3, 3, 4, 0, 0], [0; 6], "none, windows-xp"),
        ];
        for (explained, host, expected) in cases {
            let scores_of = replayed(explained, 10);
            let host = candidates.facts(&replayed(host, 100));
            let best = candidates.best(&scores_of, &host, true);
            let named = match candidates.identification(&scores_of, &best) {
                Identification::Nothing => "nothing".into(),
                Identification::Profile(one) => one.profile,
                Identification::None(one) => format!("none, {}", one.profile),
                Identification::Several(several) => {
                    let names: Vec<String> = several.into_iter().map(|e| e.profile).collect();
                    names.join(" ")
                }
            };
            assert_eq!(named, expected, "{explained:?}");
        }
    }

    #[test]
    fn on_a_known_host_profiles_far_behind_are_implausible() {
        // (explained by each profile, retransmissions, indices of plausible profiles)
        let cases = [
            ([19, 10, 0, 0, 0, 0], 19, &[] as &[_]),
            ([20, 10, 0, 0, 0, 0], 20, &[0]),
            ([20, 19, 0, 0, 15, 0], 20, &[0, 3]),
            ([40, 20, 20, 90, 20, 82], 100, &[5]),
            ([40, 20, 20, 90, 20, 85], 100, &[5, 7]),
            ([4000, 20, 20, 9000, 20, 8700], 10_000, &[5]),
            ([4000, 20, 20, 9000, 20, 8900], 10_000, &[5, 7]),
        ];
        for (explained, of, plausible) in cases {
            let candidates = Candidates::known();
            assert!(candidates.plausible(&HostFacts::default()).is_empty());
            let host = candidates.facts(&replayed(explained, of));
            assert_eq!(candidates.plausible(&host), plausible, "{explained:?}");
        }
    }

    #[test]
    fn every_candidate_is_a_profile() {
        assert_eq!(Candidates::known().len(), PROFILES.len());
    }
}
