//! Whose behaviour a sender's retransmissions are: each candidate replays the same steps, and what it
//! explains is counted (the 2007 study §IV-A).

use crate::finding::{Explanation, Identification};
use crate::replay::Score;
use crate::stock::Stock;
use recoup_recovery::{Mechanisms, Profile};
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, RwLock};

/// The profiles tried, the likeliest of today first: of those that explain as much, the first gives the
/// triggers.
const NAMES: [&str; 7] = [
    "linux-6",
    // As its sysctl tcp_early_retrans=0 has it.
    "linux-6+notlp",
    "linux-3.17",
    "linux-2.4",
    "windows-xp",
    "freebsd-5",
    "solaris-10",
];

/// No more than so many are tried.
pub(crate) const MOST_CANDIDATES: usize = 8;

const _: () = assert!(NAMES.len() <= MOST_CANDIDATES);

/// What explains less than this share explains nothing.
const LEAST: f64 = 0.5;

/// Shares nearer to each other than this are alike.
const ALIKE: f64 = 0.02;

/// And so are candidates of which one explains fewer than so many retransmissions more: that may be chance.
const FEW: f64 = 3.0;

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

    /// The places of those that are as good as the best for all that can be told, the best first. Of those
    /// alike, where it is known what the `host` may run, only such are left; the host's other connections
    /// tell the best of them, else this one; of equals the first is the likeliest.
    pub fn best(&self, scores: &[Score], host: &Host) -> Vec<usize> {
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
        let alike = |i: &usize| behind(*i) < ALIKE || behind(*i) * of < FEW;
        let mut alike: Vec<usize> = places.filter(alike).collect();
        let may_run: Vec<usize> = host.contenders().filter(|i| alike.contains(i)).collect();
        if may_run.is_empty() {
            alike.sort_by(|&a, &b| share(b).total_cmp(&share(a)));
            return alike;
        }
        alike = may_run;
        alike.sort_by(|&a, &b| host.share(b).total_cmp(&host.share(a)));
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
    /// Shared with others: nothing is written while any of them reads.
    pub hosts: Arc<RwLock<Hosts>>,
    pub stock: Stock,
}

/// What is known of each host that sent something again.
#[derive(Debug, Default)]
pub(crate) struct Hosts(HashMap<IpAddr, Host>);

/// What each candidate explains of what a host sent again.
#[derive(Debug, Default)]
pub(crate) struct Host(Vec<Score>);

/// Retransmissions after which there is something known of a host.
const ENOUGH: u32 = 20;

/// Hosts remembered.
const MOST_HOSTS: usize = 1 << 16;

impl Hosts {
    /// What is known of `host`.
    pub fn of(&self, host: IpAddr) -> &Host {
        const STRANGER: &Host = &Host(Vec::new());
        self.0.get(&host).unwrap_or(STRANGER)
    }

    /// A connection of `host` scored so.
    pub fn note(&mut self, host: IpAddr, scores: &[Score]) {
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

    /// What it may run: once [`ENOUGH`] of its retransmissions were explained by one candidate, that one
    /// and all that are not behind it by more than chance explains. Till then none is put before others.
    pub fn contenders(&self) -> impl Iterator<Item = usize> + use<'_> {
        let places = 0..self.0.len();
        let best = (places.clone()).max_by(|&a, &b| self.share(a).total_cmp(&self.share(b)));
        let known = best.filter(|best| self.0[*best].explained >= ENOUGH);
        let least = known.map_or(f64::INFINITY, |best| {
            self.share(best) - self.0[best].chance().max(ALIKE)
        });
        places.filter(move |&i| self.share(i) > least)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    const HOST: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));

    /// Of linux-6, linux-3.17, linux-2.4, windows-xp, freebsd-5 and solaris-10; without probes nothing.
    fn scores([linux, rest @ ..]: [u32; 6], of: u32) -> Vec<Score> {
        let explained = [linux, 0].into_iter().chain(rest);
        explained.map(|explained| Score { explained, of }).collect()
    }

    #[test]
    fn all_that_explain_as_much_are_named() {
        let candidates = Candidates::known();
        // (explained of ten by each, of a hundred of the host's other connections, who is named)
        let cases = [
            ([10, 7, 3, 3, 3, 3], [0; 6], "linux-6"),
            ([10, 8, 3, 3, 3, 3], [0; 6], "linux-6 linux-3.17"),
            ([10, 10, 3, 3, 3, 3], [0; 6], "linux-6 linux-3.17"),
            // The host's other connections tell.
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
            hosts.note(HOST, &scores(host, 100));
            let best = candidates.best(&scores_of, hosts.of(HOST));
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
        // (explained by each, of how many, what it may run)
        let cases = [
            ([19, 10, 0, 0, 0, 0], 19, &[] as &[_]),
            ([20, 10, 0, 0, 0, 0], 20, &[0]),
            ([20, 19, 0, 0, 15, 0], 20, &[0, 2]),
            ([40, 20, 20, 90, 20, 82], 100, &[4]),
            ([40, 20, 20, 90, 20, 85], 100, &[4, 6]),
            ([4000, 20, 20, 9000, 20, 8700], 10_000, &[4]),
            ([4000, 20, 20, 9000, 20, 8900], 10_000, &[4, 6]),
        ];
        for (explained, of, may_run) in cases {
            let mut hosts = Hosts::default();
            assert_eq!(hosts.of(HOST).contenders().count(), 0);
            hosts.note(HOST, &scores(explained, of));
            let contenders: Vec<_> = hosts.of(HOST).contenders().collect();
            assert_eq!(contenders, may_run, "{explained:?}");
        }
    }

    #[test]
    fn every_candidate_is_a_profile() {
        assert_eq!(Candidates::known().len(), NAMES.len());
    }
}
