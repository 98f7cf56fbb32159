//! Which profile a sender behaves like.
//!
//! Each candidate profile replays the same steps, and the retransmissions that it explains are
//! counted (the 2007 study §IV-A).

use crate::finding::{Explanation, Identification};
use crate::hosts::{HostFacts, Score};
use recoup_recovery::{Mechanisms, Profile};
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

/// The profiles that a sender is compared with.
#[derive(Clone, Debug)]
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

    /// The indices of all profiles that explain as much as the best, best first. If profiles are
    /// plausible for the `host`, only those remain, ordered by what they explain of the host's
    /// other connections. Otherwise this connection's scores decide. Equals keep the order of the
    /// list.
    pub fn best(&self, scores: &[Score], host: &HostFacts) -> Vec<usize> {
        let share = |i: usize| scores[i].share();
        let places = 0..scores.len();
        let Some(first) = places
            .clone()
            .max_by(|&a, &b| share(a).total_cmp(&share(b)))
        else {
            return Vec::new();
        };
        let of = f64::from(scores[first].of);
        let behind = |i: usize| share(first) - share(i);
        let similar =
            |i: &usize| behind(*i) < SIMILAR_SHARE || behind(*i) * of < FEW_RETRANSMISSIONS;
        let mut similar: Vec<usize> = places.filter(similar).collect();
        let mut plausible = self.plausible(host);
        plausible.retain(|i| similar.contains(i));
        if plausible.is_empty() {
            similar.sort_by(|&a, &b| share(b).total_cmp(&share(a)));
            return similar;
        }
        let on_host = self.scores_on(host);
        plausible.sort_by(|&a, &b| on_host[b].share().total_cmp(&on_host[a].share()));
        plausible
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

    /// What the `scores` of a connection say of its sender.
    pub fn facts(&self, scores: &[Score]) -> HostFacts {
        let names = self.0.iter().map(|(name, _)| Arc::clone(name));
        let replayed = scores.iter().any(|score| score.of > 0);
        let profiles = names.zip(scores.iter().copied()).filter(|_| replayed);
        HostFacts {
            profiles: profiles.collect(),
            ..HostFacts::default()
        }
    }

    /// Who the sender is; `best` comes from [`best`](Self::best).
    pub fn identification(&self, scores: &[Score], best: &[usize]) -> Identification {
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Scores of linux-6, linux-3.17, linux-2.4, windows-xp, freebsd-5 and solaris-10;
    /// linux-6+notlp explains nothing.
    fn scores([linux, rest @ ..]: [u32; 6], of: u32) -> Vec<Score> {
        let explained = [linux, 0].into_iter().chain(rest);
        explained.map(|explained| Score { explained, of }).collect()
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
            let scores_of = scores(explained, 10);
            let host = candidates.facts(&scores(host, 100));
            let best = candidates.best(&scores_of, &host);
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
            ([20, 19, 0, 0, 15, 0], 20, &[0, 2]),
            ([40, 20, 20, 90, 20, 82], 100, &[4]),
            ([40, 20, 20, 90, 20, 85], 100, &[4, 6]),
            ([4000, 20, 20, 9000, 20, 8700], 10_000, &[4]),
            ([4000, 20, 20, 9000, 20, 8900], 10_000, &[4, 6]),
        ];
        for (explained, of, plausible) in cases {
            let candidates = Candidates::known();
            assert!(candidates.plausible(&HostFacts::default()).is_empty());
            let host = candidates.facts(&scores(explained, of));
            assert_eq!(candidates.plausible(&host), plausible, "{explained:?}");
        }
    }

    #[test]
    fn every_candidate_is_a_profile() {
        assert_eq!(Candidates::known().len(), PROFILES.len());
    }
}
