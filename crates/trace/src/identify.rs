//! Whose behaviour a sender's retransmissions are: each candidate replays the same steps, and what it
//! explains is counted (the 2007 study §IV-A).

use crate::finding::{Explanation, Identification};
use crate::replay::Score;
use crate::stock::Stock;
use recoup_recovery::{Mechanisms, Profile};
use std::collections::HashMap;
use std::net::IpAddr;

/// The profiles tried, the likeliest of today first: of those that explain as much, the first gives the
/// triggers.
const NAMES: [&str; 6] = [
    "linux-6",
    "linux-3.17",
    "linux-2.4",
    "windows-xp",
    "freebsd-5",
    "solaris-10",
];

/// What explains less than this share explains nothing.
const LEAST: f64 = 0.5;

/// Scores nearer to each other than this are alike.
const ALIKE: f64 = 0.02;

/// The profiles a sender is compared with.
#[derive(Clone, Debug)]
pub(crate) struct Candidates(Vec<(String, Mechanisms)>);

impl Candidates {
    /// All that are known.
    pub fn known() -> Self {
        let known = NAMES.iter().filter_map(|name| name.parse::<Profile>().ok());
        Self(known.map(Self::entry).collect())
    }

    /// One that is given.
    pub fn only(profile: &Profile) -> Self {
        Self(vec![Self::entry(profile.clone())])
    }

    fn entry(profile: Profile) -> (String, Mechanisms) {
        (profile.name().to_owned(), *profile.mechanisms())
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// What the `i`-th does.
    pub fn mechanisms(&self, i: usize) -> &Mechanisms {
        &self.0[i].1
    }

    /// Their places, the best first, of those alike with the best: by what they explain, then by what
    /// they explain of the same host's other connections, then as they stand.
    pub fn best(&self, scores: &[Score], host: &[Score]) -> Vec<usize> {
        let share = |scores: &[Score], i: usize| scores.get(i).map_or(0.0, |score| score.share());
        let first = (scores.iter()).fold(0.0, |best: f64, score| best.max(score.share()));
        let mut alike: Vec<usize> = (0..scores.len())
            .filter(|&i| share(scores, i) > first - ALIKE)
            .collect();
        alike.sort_by(|&a, &b| share(host, b).total_cmp(&share(host, a)));
        alike
    }

    /// What is to be said of the sender; `best` as [`best`](Self::best) has it.
    pub fn judge(&self, scores: &[Score], best: &[usize]) -> Identification {
        let explanation = |&i: &usize| Explanation {
            profile: self.0[i].0.clone(),
            explained: scores[i].explained.into(),
            of: scores[i].of.into(),
        };
        match best {
            [first, ..] if scores[*first].of == 0 => Identification::Nothing,
            [first, ..] if scores[*first].share() < LEAST => {
                Identification::None(explanation(first))
            }
            [one] => Identification::Profile(explanation(one)),
            several => Identification::Ambiguous(several.iter().map(explanation).collect()),
        }
    }
}

/// The profiles a sender may be of, what is known of each host, and what their replays are made with.
#[derive(Debug)]
pub(crate) struct Lineup {
    pub candidates: Candidates,
    pub hosts: Hosts,
    pub stock: Stock,
}

/// What each candidate explains of each host that sent something again.
#[derive(Debug, Default)]
pub(crate) struct Hosts(HashMap<IpAddr, Vec<Score>>);

/// Retransmissions after which a host is known.
const ENOUGH: u32 = 20;

/// Candidates that explain so much less than the best are not thought of.
const AHEAD: f64 = 0.1;

/// Hosts remembered.
const MOST_HOSTS: usize = 1 << 16;

impl Hosts {
    /// What is known of `host`.
    pub fn of(&self, host: IpAddr) -> &[Score] {
        self.0.get(&host).map_or(&[], Vec::as_slice)
    }

    /// What `host` may run: once [`ENOUGH`] of its retransmissions were explained by one candidate, that
    /// one and all that are not [`AHEAD`] behind it. Till then none is put before others.
    pub fn contenders(&self, host: IpAddr) -> impl Iterator<Item = usize> + use<'_> {
        let scores = self.of(host);
        let share = |i: &usize| scores[*i].share();
        let best = (0..scores.len()).max_by(|a, b| share(a).total_cmp(&share(b)));
        let known = best.filter(|best| scores[*best].explained >= ENOUGH);
        (0..scores.len()).filter(move |i| known.is_some_and(|best| share(i) > share(&best) - AHEAD))
    }

    /// A connection of `host` scored so.
    pub fn note(&mut self, host: IpAddr, scores: &[Score]) {
        if self.0.len() >= MOST_HOSTS && !self.0.contains_key(&host) {
            return;
        }
        let known = self.0.entry(host).or_default();
        known.resize(scores.len(), Score::default());
        for (known, score) in known.iter_mut().zip(scores) {
            known.explained = known.explained.saturating_add(score.explained);
            known.of = known.of.saturating_add(score.of);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scores(explained: [u32; 6], of: u32) -> Vec<Score> {
        explained.map(|explained| Score { explained, of }).to_vec()
    }

    #[test]
    fn all_that_explain_as_much_are_named() {
        let candidates = Candidates::known();
        // (explained of ten by each, of the host's other connections, who is named)
        let cases = [
            ([10, 9, 3, 3, 3, 3], [0; 6], "linux-6"),
            ([10, 10, 3, 3, 3, 3], [0; 6], "linux-6 linux-3.17"),
            (
                [10, 10, 3, 3, 3, 3],
                [5, 9, 9, 9, 9, 9],
                "linux-3.17 linux-6",
            ),
            ([3, 3, 3, 4, 3, 3], [0; 6], "none, windows-xp"),
        ];
        for (explained, host, expected) in cases {
            let scores_of = scores(explained, 10);
            let best = candidates.best(&scores_of, &scores(host, 10));
            let named = match candidates.judge(&scores_of, &best) {
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
    fn of_a_known_host_those_far_behind_are_not_thought_of() {
        let host: IpAddr = "192.0.2.1".parse().unwrap();
        // (explained by each, of how many, what it may run)
        let cases = [
            ([19, 10, 0, 0, 0, 0], 19, &[] as &[_]),
            ([20, 10, 0, 0, 0, 0], 20, &[0]),
            ([20, 19, 0, 0, 18, 0], 20, &[0, 1]),
            ([40, 20, 20, 90, 20, 20], 100, &[3]),
        ];
        for (explained, of, may_run) in cases {
            let mut hosts = Hosts::default();
            assert_eq!(hosts.contenders(host).count(), 0);
            hosts.note(host, &scores(explained, of));
            let contenders: Vec<_> = hosts.contenders(host).collect();
            assert_eq!(contenders, may_run, "{explained:?}");
        }
    }

    #[test]
    fn every_candidate_is_a_profile() {
        assert_eq!(Candidates::known().len(), NAMES.len());
    }
}
