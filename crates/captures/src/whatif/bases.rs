//! The profiles that a sender may have run, the most likely first.

use super::candidates::{Candidate, Listener};
use recoup_recovery::profile::BASES;
use recoup_recovery::rtt::Smoothing;
use recoup_recovery::{Mechanisms, Profile};
use recoup_trace::systems::{identified_profiles, systems_like};
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::time::Duration;

/// Retransmissions explained, by the name of the profile.
type Explained = BTreeMap<String, u64>;

/// Explained retransmissions that may be chance.
const FEW: u64 = 3;

/// The profiles known, and those that the hosts of a capture behave like.
#[derive(Debug)]
pub(crate) struct Bases {
    /// All profiles, the most widespread first; or the only one, if the user names it.
    known: Vec<Profile>,
    is_given: bool,
    /// The names that explain most at each host.
    hosts: HashMap<IpAddr, Vec<String>>,
    /// The names that explain most in the capture.
    capture: Vec<String>,
    /// The least RTO of each host that has another than the usual one.
    least_rto: HashMap<IpAddr, Duration>,
    senders: BTreeMap<Listener, Sender>,
}

/// A profile that reproduces fewer of a listener's voters is not the base of the others.
const LEAST_VOTES: usize = 2;

/// So many voters that no other profile reproduces show that a listener has a further group of connections. Fewer may be those
/// that the rerun does not follow exactly.
const LEAST_OF_GROUP: usize = 3;

/// A rerun does not follow each connection exactly: of so many votes, one is chance.
const MANY: usize = 8;

/// What the connections of a listener show together.
#[derive(Clone, Debug, Default)]
struct Sender {
    /// Of each voter, whether each profile reproduces it by its own windows.
    ballots: Vec<Vec<bool>>,
    /// The bases, by the number of votes.
    groups: Vec<Group>,
}

/// A profile that reproduces connections of a listener, as the others do not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Group {
    profile: usize,
    votes: usize,
}

/// The profile of a listener's connections, with its evidence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SenderFact {
    /// The address of the sender.
    pub address: IpAddr,
    /// Its port, if it accepts connections.
    pub port: Option<u16>,
    /// The profiles that reproduce its connections, and how many of the voters each does. More than one: its connections have
    /// different senders.
    pub profiles: Vec<(String, u64)>,
    /// Connections that were rerun under all profiles.
    pub voters: u64,
}

impl Bases {
    /// `given`: the user says that all senders run it.
    pub(super) fn new(candidates: &[Candidate], given: Option<&Profile>) -> Self {
        let identified = candidates.iter().map(|one| (one.sender_address(), &one.identified[..]));
        let mut bases = Self::identified(identified, given);
        for candidate in candidates {
            if let Some(shown) = candidate.least_rto.map(as_set) {
                let least = bases.least_rto.entry(candidate.sender_address()).or_insert(shown);
                *least = shown.min(*least);
            }
        }
        bases
    }

    /// `identified`: for each connection, the address of its sender, and how many of its retransmissions each profile
    /// explains.
    pub fn identified<'a>(
        identified: impl Iterator<Item = (IpAddr, &'a [(String, u64)])>,
        given: Option<&Profile>,
    ) -> Self {
        let mut on_host: HashMap<IpAddr, Explained> = HashMap::new();
        let mut in_capture = Explained::new();
        for (host, identified) in identified {
            for (profile, explained) in identified {
                let on_host = on_host.entry(host).or_default();
                for all in [on_host, &mut in_capture] {
                    *all.entry(profile.clone()).or_default() += explained;
                }
            }
        }
        let known = match given {
            Some(profile) => vec![profile.clone()],
            None => known(),
        };
        let by_count = |explained| by_count(explained, &known);
        Self {
            hosts: on_host.into_iter().map(|(host, explained)| (host, by_count(explained))).collect(),
            capture: by_count(in_capture),
            least_rto: HashMap::new(),
            is_given: given.is_some(),
            known,
            senders: BTreeMap::new(),
        }
    }

    /// Whether connections of this listener shall vote.
    pub fn asks(&self, listener: &Listener) -> bool {
        // Too few voted in a batch before.
        !self.is_given && self.senders.get(listener).is_none_or(|sender| sender.ballots.len() < LEAST_VOTES)
    }

    /// Takes the votes of connections: which of the [known](Self::known) profiles reproduce each by its own windows.
    pub fn take_votes(&mut self, ballots: impl Iterator<Item = (Listener, Vec<bool>)>) {
        let mut voted: BTreeMap<Listener, Sender> = BTreeMap::new();
        for (listener, ballot) in ballots {
            voted.entry(listener).or_default().ballots.push(ballot);
        }
        for (listener, mut sender) in voted {
            if let Some(before) = self.senders.remove(&listener) {
                sender.ballots.extend(before.ballots);
            }
            sender.groups = sender.groups_in(&self.order_on(listener.0), &self.known);
            self.senders.insert(listener, sender);
        }
    }

    /// The profiles that reproduce the connections of a listener, the most frequent first. Empty: nothing is known.
    pub fn voted(&self, listener: &Listener) -> Vec<usize> {
        let sender = self.senders.get(listener);
        sender.map_or(Vec::new(), |sender| sender.groups.iter().map(|group| group.profile).collect())
    }

    /// The listeners whose profile is known, with the evidence.
    pub fn facts(&self) -> Vec<SenderFact> {
        let known = self.senders.iter().filter(|(_, sender)| !sender.groups.is_empty());
        let facts = known.map(|((address, port), sender)| SenderFact {
            address: *address,
            port: *port,
            profiles: sender
                .groups
                .iter()
                .map(|group| (self.known[group.profile].name().into(), group.votes as u64))
                .collect(),
            voters: sender.ballots.len() as u64,
        });
        facts.collect()
    }

    /// All profiles. The numbers of [`order`](Self::order) count in this list.
    pub fn known(&self) -> &[Profile] {
        &self.known
    }

    /// The mechanisms of a profile on a host, with the host's least RTO.
    pub fn mechanisms(&self, number: usize, host: IpAddr) -> Mechanisms {
        let own = *self.known[number].mechanisms();
        match self.least_rto.get(&host) {
            Some(least) if own.rto.smoothing == Smoothing::Linux => own.with(|m| m.rto.min_variance = *least),
            _ => own,
        }
    }

    /// The profiles that the sender of a connection may have run, the most likely first: those that its
    /// own retransmissions show, those of its host's other connections, those of the capture, all. Where its
    /// own are [`FEW`], those of its host come first: one or two may fit several profiles by chance.
    pub(super) fn order(&self, candidate: &Candidate) -> Vec<usize> {
        if self.is_given {
            return vec![0];
        }
        let own = candidate.identified.iter().map(|(name, _)| name);
        let on_host = self.order_on(candidate.sender_address());
        let explained = candidate.identified.iter().map(|(_, explained)| *explained);
        let named_on_host = self.hosts.get(&candidate.sender_address());
        let early = named_on_host.filter(|_| explained.max().is_none_or(|explained| explained < FEW));
        let names = early.into_iter().flatten().chain(own);
        without_repeats(names.flat_map(|name| self.numbers(name)).chain(on_host))
    }

    /// The profiles that a sender on this host may have run, the most likely first.
    fn order_on(&self, host: IpAddr) -> Vec<usize> {
        let names = self.hosts.get(&host).into_iter().flatten().chain(&self.capture);
        without_repeats(names.flat_map(|name| self.numbers(name)).chain(0..self.known.len()))
    }

    /// A profile, and the same with settings that its retransmissions do not tell from its own.
    fn numbers<'a>(&'a self, name: &'a str) -> impl Iterator<Item = usize> + 'a {
        let is_it = move |profile: &Profile| match profile.name().strip_prefix(name) {
            Some(rest) => rest.is_empty() || OTHER_SETTINGS.contains(&rest),
            None => false,
        };
        let known = self.known.iter().enumerate();
        known.filter(move |(_, profile)| is_it(profile)).map(|(number, _)| number)
    }
}

impl Sender {
    /// The profile with most votes, and then those with most votes of connections that those before do not reproduce. Of equals
    /// the first in this order. One vote of many [is chance](MANY), too, but not between the settings of one system.
    fn groups_in(&self, order: &[usize], known: &[Profile]) -> Vec<Group> {
        let mut groups = Vec::new();
        let mut left: Vec<&Vec<bool>> = self.ballots.iter().collect();
        loop {
            let votes = |profile: usize| left.iter().filter(|ballot| ballot[profile]).count();
            let least = if groups.is_empty() { LEAST_VOTES } else { LEAST_OF_GROUP };
            let all: Vec<Group> =
                order.iter().map(|profile| Group { profile: *profile, votes: votes(*profile) }).collect();
            let most = all.iter().map(|group| group.votes).max().filter(|most| *most >= least);
            let Some(most) = most else {
                return groups;
            };
            let enough = if most >= MANY { most - 1 } else { most };
            let Some(first) = all.iter().find(|group| group.votes >= enough) else {
                return groups;
            };
            let system = system(known[first.profile].name());
            let of_system = all.iter().filter(|group| self::system(known[group.profile].name()) == system);
            let Some(group) = of_system.copied().rev().max_by_key(|group| group.votes) else {
                return groups;
            };
            left.retain(|ballot| !ballot[group.profile]);
            groups.push(group);
        }
    }
}

/// The name of a profile without the settings that its retransmissions do not tell.
fn system(name: &str) -> &str {
    let without = OTHER_SETTINGS.iter().filter_map(|setting| name.strip_suffix(setting));
    without.min_by_key(|name| name.len()).unwrap_or(name)
}

/// The numbers, each where it comes first.
fn without_repeats(numbers: impl Iterator<Item = usize>) -> Vec<usize> {
    let mut found = Vec::new();
    for number in numbers {
        if !found.contains(&number) {
            found.push(number);
        }
    }
    found
}

/// The least RTO that was set where timeouts show this one. Timers fire late, and people set round numbers.
fn as_set(shown: Duration) -> Duration {
    const ROUND: u64 = 10;
    let ms = u64::try_from(shown.as_millis()).unwrap_or(u64::MAX);
    Duration::from_millis((ms / ROUND * ROUND).max(ms.min(ROUND)))
}

/// The names, those that explain most first; among equals the most widespread first.
fn by_count(explained: Explained, known: &[Profile]) -> Vec<String> {
    let mut names: Vec<(String, u64)> = explained.into_iter().collect();
    let rank = |name: &str| known.iter().position(|profile| profile.name() == name);
    names.sort_by_key(|(name, count)| (Reverse(*count), rank(name)));
    names.into_iter().map(|(name, _)| name).collect()
}

/// Settings with which Linux is tried besides its own, which retransmissions do not tell from them: the congestion control is
/// CUBIC, and idle time shrinks the window. Linux has BBR since 4.9.
const OTHER_SETTINGS: [&str; 4] = ["+bbr1", "+reno", "+noidle", "+reno+noidle"];

/// The profiles that senders are identified by, and then the other base profiles. Linux with other settings comes right
/// after the same Linux.
fn known() -> Vec<Profile> {
    let with_others = |name: &str| {
        let has_bbr = systems_like(&format!("{name}{}", OTHER_SETTINGS[0])).is_some();
        let names = OTHER_SETTINGS.map(|control| format!("{name}{control}"));
        names.into_iter().filter(move |_| has_bbr)
    };
    let identified = identified_profiles();
    let others = BASES.iter().map(|(name, ..)| *name);
    let names = identified.chain(others).flat_map(|name| std::iter::once(name.to_string()).chain(with_others(name)));
    let mut known: Vec<Profile> = Vec::new();
    for name in names {
        if let Ok(profile) = name.parse::<Profile>()
            && known.iter().all(|other| other.name() != name)
        {
            known.push(profile);
        }
    }
    known
}

#[cfg(test)]
mod tests;
