//! The profiles that a sender may have run, the most likely first.

use super::candidates::Candidate;
use recoup_recovery::Profile;
use recoup_recovery::profile::BASES;
use recoup_trace::systems::{identified_profiles, systems_like};
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;

/// Retransmissions explained, by the name of the profile.
type Explained = BTreeMap<String, u64>;

/// Explained retransmissions that may be chance.
const FEW: u64 = 3;

/// The profiles known, and those that the hosts of a capture behave like.
#[derive(Debug)]
pub(super) struct Bases {
    /// All profiles, the most widespread first; or the only one, if the user names it.
    known: Vec<Profile>,
    is_given: bool,
    /// The names that explain most at each host.
    hosts: HashMap<IpAddr, Vec<String>>,
    /// The names that explain most in the capture.
    capture: Vec<String>,
}

impl Bases {
    /// `given`: the user says that all senders run it.
    pub fn new(candidates: &[Candidate], given: Option<&Profile>) -> Self {
        let mut on_host: HashMap<IpAddr, Explained> = HashMap::new();
        let mut in_capture = Explained::new();
        for candidate in candidates {
            let host = candidate.sender_address();
            for (profile, explained) in &candidate.identified {
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
            is_given: given.is_some(),
            known,
        }
    }

    /// All profiles. The numbers of [`order`](Self::order) count in this list.
    pub fn known(&self) -> &[Profile] {
        &self.known
    }

    /// The profiles that the sender of a connection may have run, the most likely first: those that its
    /// own retransmissions show, those of its host's other connections, those of the capture, all. Where its
    /// own are [`FEW`], those of its host come first: one or two may fit several profiles by chance.
    pub fn order(&self, candidate: &Candidate) -> Vec<usize> {
        if self.is_given {
            return vec![0];
        }
        let own = || candidate.identified.iter().map(|(name, _)| name);
        let host = self.hosts.get(&candidate.sender_address());
        let explained = candidate.identified.iter().map(|(_, explained)| *explained);
        let early = host.filter(|_| explained.max().is_none_or(|explained| explained < FEW));
        let names = early.into_iter().flatten().chain(own()).chain(host.into_iter().flatten()).chain(&self.capture);
        let found = names.flat_map(|name| self.numbers(name));
        let mut order = Vec::with_capacity(self.known.len());
        for number in found.chain(0..self.known.len()) {
            if !order.contains(&number) {
                order.push(number);
            }
        }
        order
    }

    /// A profile, and the same with a congestion control that its retransmissions do not tell from its own.
    fn numbers<'a>(&'a self, name: &'a str) -> impl Iterator<Item = usize> + 'a {
        let is_it = move |profile: &Profile| match profile.name().strip_prefix(name) {
            Some(rest) => rest.is_empty() || rest == BBR,
            None => false,
        };
        let known = self.known.iter().enumerate();
        known.filter(move |(_, profile)| is_it(profile)).map(|(number, _)| number)
    }
}

/// The names, those that explain most first; among equals the most widespread first.
fn by_count(explained: Explained, known: &[Profile]) -> Vec<String> {
    let mut names: Vec<(String, u64)> = explained.into_iter().collect();
    let rank = |name: &str| known.iter().position(|profile| profile.name() == name);
    names.sort_by_key(|(name, count)| (Reverse(*count), rank(name)));
    names.into_iter().map(|(name, _)| name).collect()
}

/// The congestion control with which Linux's current loss recovery is tried besides its own.
const BBR: &str = "+bbr1";

/// The profiles that senders are identified by, and then the other base profiles. Linux with BBR comes right after the same Linux.
fn known() -> Vec<Profile> {
    let with_bbr = |name: &str| {
        let name = format!("{name}{BBR}");
        systems_like(&name).is_some().then_some(name)
    };
    let identified = identified_profiles();
    let others = BASES.iter().map(|(name, ..)| *name);
    let names = identified.chain(others).flat_map(|name| [Some(name.to_string()), with_bbr(name)]);
    let mut known: Vec<Profile> = Vec::new();
    for name in names.flatten() {
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
