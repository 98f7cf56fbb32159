//! Which profile a sender behaves like.
//!
//! Each candidate profile replays the same steps, and the retransmissions that it explains are
//! counted (the 2007 study §IV-A).

use super::replay::Score;
use crate::finding::{Explanation, Identification};
use recoup_recovery::{Mechanisms, Profile};
use std::collections::HashMap;
use std::net::IpAddr;

/// The profiles tried, the most widespread today first. Where several explain as much, the first of
/// them names the triggers.
const NAMES: [&str; 7] = [
    "linux-6",
    // Linux with the sysctl tcp_early_retrans=0.
    "linux-6+notlp",
    "linux-3.17",
    "linux-2.4",
    "windows-xp",
    "freebsd-5",
    "solaris-10",
];

/// The most profiles that are tried.
pub(crate) const MOST_CANDIDATES: usize = 8;

const _: () = assert!(NAMES.len() <= MOST_CANDIDATES);

/// A profile that explains a smaller share identifies nobody.
const LEAST_SHARE: f64 = 0.5;

/// Shares that differ by less count as equal.
const SIMILAR_SHARE: f64 = 0.02;

/// Profiles also count as equal if one explains fewer than this many retransmissions more: that may
/// be chance.
const FEW_RETRANSMISSIONS: f64 = 3.0;

/// The profiles that a sender is compared with.
#[derive(Clone, Debug)]
pub(crate) struct Candidates(Vec<(String, Mechanisms)>);

impl Candidates {
    /// All known profiles.
    pub fn known() -> Self {
        let known = NAMES.iter().filter_map(|name| name.parse::<Profile>().ok());
        Self(known.map(Self::entry).collect())
    }

    /// The profile that the user chose.
    pub fn only(profile: &Profile) -> Self {
        Self(vec![Self::entry(profile.clone())])
    }

    fn entry(profile: Profile) -> (String, Mechanisms) {
        (profile.name().to_owned(), *profile.mechanisms())
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
    /// other connections. Otherwise this connection's scores decide if it was captured at its sender
    /// (`exact`). Elsewhere losses before the capture point blur the scores, so all similar profiles
    /// count as equal. Equals keep the order of the list.
    pub fn best(&self, scores: &[Score], host: &Host, exact: bool) -> Vec<usize> {
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
        let plausible: Vec<usize> = host
            .plausible_profiles()
            .filter(|i| similar.contains(i))
            .collect();
        if plausible.is_empty() && !exact {
            return similar;
        }
        if plausible.is_empty() {
            similar.sort_by(|&a, &b| share(b).total_cmp(&share(a)));
            return similar;
        }
        similar = plausible;
        if !exact {
            return similar;
        }
        similar.sort_by(|&a, &b| host.share(b).total_cmp(&host.share(a)));
        similar
    }

    /// Who the sender is; `best` comes from [`best`](Self::best).
    pub fn identification(&self, scores: &[Score], best: &[usize]) -> Identification {
        let explanation = |&i: &usize| Explanation {
            profile: self.0[i].0.clone(),
            explained: scores[i].explained.into(),
            of: scores[i].of.into(),
        };
        match best {
            [first, ..] if scores[*first].of == 0 => Identification::Nothing,
            [first, ..] if scores[*first].share() < LEAST_SHARE => {
                Identification::None(explanation(first))
            }
            [one] => Identification::Profile(explanation(one)),
            several => Identification::Ambiguous(several.iter().map(explanation).collect()),
        }
    }
}

/// The scores of each host that retransmitted something.
#[derive(Debug, Default)]
pub(crate) struct Hosts(HashMap<IpAddr, Host>);

/// What each candidate explains of a host's retransmissions.
#[derive(Debug, Default)]
pub(crate) struct Host(Vec<Score>);

/// Explained retransmissions from which on a host counts as known.
const LEAST_EXPLAINED: u32 = 20;

/// The most hosts remembered.
const MOST_HOSTS: usize = 1 << 16;

impl Hosts {
    /// The scores of `host`, none if it is unknown.
    pub fn of(&self, host: IpAddr) -> &Host {
        const UNKNOWN_HOST: &Host = &Host(Vec::new());
        self.0.get(&host).unwrap_or(UNKNOWN_HOST)
    }

    /// Adds the scores of a connection of `host`.
    pub fn add_scores(&mut self, host: IpAddr, scores: &[Score]) {
        if self.0.len() >= MOST_HOSTS && !self.0.contains_key(&host) {
            return;
        }
        let Host(known) = self.0.entry(host).or_default();
        known.resize(scores.len(), Score::default());
        for (known, score) in known.iter_mut().zip(scores) {
            known.explained = known.explained.saturating_add(score.explained);
            known.of = known.of.saturating_add(score.of);
        }
    }
}

impl Host {
    fn share(&self, i: usize) -> f64 {
        self.0.get(i).map_or(0.0, |score| score.share())
    }

    /// The profiles that the host may run: the best one, once it explains [`LEAST_EXPLAINED`]
    /// retransmissions, and those that are behind it by no more than chance. Before that, none.
    pub fn plausible_profiles(&self) -> impl Iterator<Item = usize> + use<'_> {
        let places = 0..self.0.len();
        let best = (places.clone()).max_by(|&a, &b| self.share(a).total_cmp(&self.share(b)));
        let known = best.filter(|best| self.0[*best].explained >= LEAST_EXPLAINED);
        let least = known.map_or(f64::INFINITY, |best| {
            self.share(best) - self.0[best].chance().max(SIMILAR_SHARE)
        });
        places.filter(move |&i| self.share(i) > least)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    const HOST: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));

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
            let mut hosts = Hosts::default();
            hosts.add_scores(HOST, &scores(host, 100));
            let best = candidates.best(&scores_of, hosts.of(HOST), true);
            let named = match candidates.identification(&scores_of, &best) {
                Identification::Nothing => "nothing".into(),
                Identification::Profile(one) => one.profile,
                Identification::None(one) => format!("none, {}", one.profile),
                Identification::Ambiguous(several) => {
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
            let mut hosts = Hosts::default();
            assert_eq!(hosts.of(HOST).plausible_profiles().count(), 0);
            hosts.add_scores(HOST, &scores(explained, of));
            let plausible_profiles: Vec<_> = hosts.of(HOST).plausible_profiles().collect();
            assert_eq!(plausible_profiles, plausible, "{explained:?}");
        }
    }

    #[test]
    fn every_candidate_is_a_profile() {
        assert_eq!(Candidates::known().len(), NAMES.len());
    }
}
