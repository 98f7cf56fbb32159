//! The profile that a proxy before a server should try, and how long a trial of it takes.
//!
//! A proxy replaces the sender of the server's data, and nothing else. So only connections count whose data a server sent: the end
//! that accepted the connection sent more bytes than the end that opened it, and the capture was taken at it. Only whole profiles
//! are tried, which a stack beside the kernel can run. What the peer would have to change is not named.
//!
//! The named profile makes these connections end sooner beyond chance. Several profiles are tried, so each has to be beyond the
//! chance of 0.05 divided by their number (Dunn, "Multiple comparisons among means", 1961). Of those that are, the best is the
//! one with the largest sum. Another one with fewer mechanisms is named instead if its difference from the best is within the
//! 95 % interval of this difference.
//!
//! | module | what it does |
//! | --- | --- |
//! | `trial` | how many connections an A/B trial needs |
//! | `text`, `document` | the answer's forms |

pub(super) mod document;
pub(super) mod text;
mod trial;

use super::alternatives::Alternative;
use super::answer::Answer;
use super::candidates::{Candidate, Listener};
use super::changes::Changes;
use super::interval::{paired, paired_chance};
use super::prediction::Prediction;
use super::reruns::Rerun;
use recoup_tcp::flow::Host;
use std::collections::BTreeMap;
use std::net::SocketAddr;
pub use trial::{AbTrial, Arm};

/// The profiles tried unless the user names others, each with what it changes at a sender of Linux 6: RTO restart and probes
/// restarted (the tail of a flight), early retransmit, copies, idle time, congestion control.
pub const PROFILES: [&str; 9] = [
    TODAY,
    "linux-6+tlpr",
    "linux-6+rtorrfc",
    "linux-6+er",
    "linux-6+slp",
    "linux-6+noidle",
    "linux-6+bbr1",
    "linux-6+tlpr+rtorrfc",
    "linux-6+bbr1+tlpr",
];

/// What most servers run today.
const TODAY: &str = "linux-6";

/// The chance that a profile is named although none of those tried changes anything.
const CHANCE: f64 = 0.05;

/// The profile that would have helped a set of connections most.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ProfileToTry {
    /// The profiles tried. None: no sender retransmitted or lost time.
    pub tried: Vec<String>,
    /// Connections that were rerun, and whose data a server sent.
    pub connections: u64,
    /// Connections that were rerun, and whose data a client sent: a proxy before a server changes nothing for them.
    pub sent_by_clients: u64,
    /// The profile, and what it changes in these connections. `None`: no profile helps beyond chance.
    pub named: Option<(String, Changes)>,
    /// What gains more, but is set at the receiver.
    pub at_receiver: Option<(String, Changes)>,
}

/// The profile that would have helped the connections of a server most.
#[derive(Clone, Debug, PartialEq)]
pub struct ServerToTry {
    /// Where the server listens.
    pub address: SocketAddr,
    /// Its connections that were captured whole and at it, rerun or apart; where a sample was rerun, of the sample.
    pub connections: u64,
    /// New connections of this kind a second; `None` if the capture shows no time.
    pub per_second: Option<f64>,
    /// The mean flow completion time of those rerun, in ms.
    pub mean_fct_ms: f64,
    /// The profile.
    pub profile: ProfileToTry,
    /// A trial of the profile beside another one.
    pub trial: Option<AbTrial>,
}

impl ServerToTry {
    /// What the profile would have won in the capture: the sum, in ms.
    pub fn gain_ms(&self) -> f64 {
        self.profile.named.as_ref().map_or(0.0, |(_, changes)| -changes.sum_change_ms)
    }
}

/// The profiles to try where the user asks for these alternatives: the whole profiles among them, and mechanisms on top of
/// Linux 6.
pub(super) fn profiles_to_try(asked: &[Alternative]) -> Vec<Alternative> {
    if asked.is_empty() {
        return PROFILES.iter().filter_map(|name| Alternative::parse(name).ok()).collect();
    }
    let profiles = asked.iter().filter_map(|one| match one {
        Alternative::Profile(_) => Some(one.clone()),
        Alternative::Added { name, .. } => Alternative::parse(&format!("{TODAY}{name}")).ok(),
        Alternative::Lever(_) | Alternative::Timers(_) => None,
    });
    profiles.collect()
}

impl Answer {
    /// The profile that a proxy before the servers should try. `None`: the user did not ask for it, or tried no profile.
    pub fn profile_to_try(&self) -> Option<ProfileToTry> {
        let asked_for_none = self.profiles.is_empty() && self.shows_losses && self.troubled() > 0;
        (self.names_profile && !asked_for_none).then(|| self.profile_among(&self.server_reruns(|_| true)))
    }

    /// The same for each server, those with the largest gain first.
    pub fn servers_to_try(&self) -> Vec<ServerToTry> {
        let mut counts: BTreeMap<SocketAddr, u64> = BTreeMap::new();
        let servers = self.candidates.iter().filter_map(|one| server(&one.listener()));
        servers.for_each(|server| *counts.entry(server).or_default() += 1);
        let mut all: Vec<ServerToTry> =
            counts.into_iter().map(|(address, connections)| self.server(address, connections)).collect();
        all.sort_by(|a, b| {
            b.gain_ms().total_cmp(&a.gain_ms()).then(b.connections.cmp(&a.connections)).then(a.address.cmp(&b.address))
        });
        all
    }

    fn server(&self, address: SocketAddr, connections: u64) -> ServerToTry {
        let reruns = self.server_reruns(|one| server(&one.listener()) == Some(address));
        let sum = reruns.iter().fold(0.0, |sum, one| sum + one.base_fct_ms);
        let profile = self.profile_among(&reruns);
        let trial = profile.named.as_ref().and_then(|(name, _)| self.trial(&reruns, name));
        ServerToTry {
            address,
            connections,
            per_second: self.seconds().map(|seconds| self.scaled(connections) / seconds),
            mean_fct_ms: sum / (reruns.len() as f64).max(1.0),
            profile,
            trial,
        }
    }

    /// The time that the connections that could be rerun span, in seconds.
    fn seconds(&self) -> Option<f64> {
        let begun = self.candidates.iter().map(|one| one.time[0]).min()?;
        let ended = self.candidates.iter().map(|one| one.time[1]).max()?;
        let seconds = ended.since(begun).as_secs_f64();
        (seconds > 0.0).then_some(seconds)
    }

    /// A number of connections of the sample, as a number of all connections.
    fn scaled(&self, connections: u64) -> f64 {
        let sample = self.candidates.len() as f64;
        connections as f64 * (sample + self.left_out as f64) / sample.max(1.0)
    }

    /// The rerun connections whose data such a server sent.
    fn server_reruns(&self, is_meant: impl Fn(&Candidate) -> bool) -> Vec<&Rerun> {
        let of = |rerun: &Rerun| &self.candidates[rerun.candidate];
        let reruns = self.reruns.iter().map(|rerun| &**rerun);
        reruns.filter(|rerun| of(rerun).sender == Host::Server && is_meant(of(rerun))).collect()
    }

    fn profile_among(&self, reruns: &[&Rerun]) -> ProfileToTry {
        let mut helping: Vec<(usize, Changes)> = Vec::new();
        for number in 0..self.profiles.len() {
            let pairs = pairs(reruns, self.place(number));
            let changes = Changes::of(&pairs, self.place(number), self.model, self.are_chosen);
            let chance = paired_chance(&pairs, self.model).unwrap_or(1.0);
            // A profile under which a connection does not complete is no help.
            let completes = pairs.len() == reruns.len();
            if completes && changes.helps() && chance * (self.profiles.len() as f64) < CHANCE {
                helping.push((number, changes));
            }
        }
        let best = helping.iter().min_by(|a, b| a.1.sum_change_ms.total_cmp(&b.1.sum_change_ms)).map(|(best, _)| *best);
        let mechanisms = |number: usize| self.profiles[number].matches('+').count();
        helping.sort_by(|a, b| {
            mechanisms(a.0).cmp(&mechanisms(b.0)).then(a.1.sum_change_ms.total_cmp(&b.1.sum_change_ms))
        });
        let named = best.and_then(|best| helping.into_iter().find(|(one, _)| !self.differs(reruns, [best, *one])));
        let named = named.map(|(number, changes)| (self.profiles[number].clone(), changes));
        let least = named.as_ref().map_or(0.0, |(_, changes)| changes.sum_change_ms);
        ProfileToTry {
            tried: self.profiles.clone(),
            connections: reruns.len() as u64,
            sent_by_clients: self.rerun - self.server_reruns(|_| true).len() as u64,
            at_receiver: self.at_receiver(reruns).filter(|(_, changes)| changes.sum_change_ms < least),
            named,
        }
    }

    /// The lever at the receiver that would have helped these connections most.
    fn at_receiver(&self, reruns: &[&Rerun]) -> Option<(String, Changes)> {
        let levers = self
            .results
            .iter()
            .enumerate()
            .filter(|(_, result)| result.lever.as_ref().is_some_and(crate::levers::LeverValue::is_at_receiver));
        let changes = levers.map(|(number, result)| {
            let changes = Changes::of(&pairs(reruns, number), number, self.model, self.are_chosen);
            (result.mechanism.clone(), changes)
        });
        changes.filter(|(_, changes)| changes.helps()).min_by(|a, b| a.1.sum_change_ms.total_cmp(&b.1.sum_change_ms))
    }

    /// Where the predictions of a profile are.
    fn place(&self, number: usize) -> usize {
        self.results.len() + number
    }

    /// Whether connections end at another time under the second profile than under the first, beyond chance.
    fn differs(&self, reruns: &[&Rerun], profiles: [usize; 2]) -> bool {
        self.difference(reruns, profiles).is_some_and(|(mean, half)| half.is_some_and(|half| mean.abs() > half))
    }

    /// How much later connections end under the second profile than under the first on average, in ms, and half the width of its
    /// 95 % interval.
    fn difference(&self, reruns: &[&Rerun], [first, second]: [usize; 2]) -> Option<(f64, Option<f64>)> {
        let both = reruns.iter().filter_map(|rerun| {
            let of = |number| rerun.predictions.get(self.place(number))?.as_ref();
            Some((*rerun, of(second)?.less(of(first)?)))
        });
        let both: Vec<(&Rerun, Prediction)> = both.collect();
        let pairs: Vec<(&Rerun, &Prediction)> = both.iter().map(|(rerun, one)| (*rerun, one)).collect();
        let sum = both.iter().fold(0.0, |sum, (_, one)| sum + one.change_ms);
        (!both.is_empty()).then(|| (sum / both.len() as f64, paired(&pairs, self.model)))
    }

    /// A trial of this profile beside what the server's own sender behaves like, if a stack runs that, or else beside Linux 6.
    fn trial(&self, reruns: &[&Rerun], profile: &str) -> Option<AbTrial> {
        let number = |name: &str| self.profiles.iter().position(|one| one == name);
        let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
        reruns.iter().for_each(|one| *counts.entry(&self.base_names[one.base]).or_default() += 1);
        let today = *counts.iter().max_by_key(|(_, count)| **count)?.0;
        let own = number(profile)?;
        let control = [today, TODAY].into_iter().filter_map(number).find(|one| *one != own);
        let under = |number: Option<usize>| {
            let fct = |rerun: &&Rerun| {
                let change = match number {
                    Some(number) => rerun.predictions.get(self.place(number))?.as_ref()?.change_ms,
                    None => 0.0,
                };
                Some(rerun.base_fct_ms + change)
            };
            Arm::of(reruns.iter().filter_map(fct))
        };
        let (effect_ms, half) = match control {
            Some(control) => self.difference(reruns, [control, own])?,
            None => {
                let changes = pairs(reruns, self.place(own));
                let sum = changes.iter().fold(0.0, |sum, (_, one)| sum + one.change_ms);
                (sum / (changes.len() as f64).max(1.0), paired(&changes, self.model))
            }
        };
        let control_name = control.map_or(today, |number| &self.profiles[number]);
        let arms = [under(control), under(Some(own))];
        Some(AbTrial { control: control_name.into(), is_todays: control_name == today, effect_ms, half_ms: half, arms })
    }
}

fn server((address, port): &Listener) -> Option<SocketAddr> {
    port.map(|port| SocketAddr::new(*address, port))
}

/// The connections that complete under the mechanism at this place, with its prediction.
fn pairs<'a>(reruns: &[&'a Rerun], place: usize) -> Vec<(&'a Rerun, &'a Prediction)> {
    reruns.iter().filter_map(|rerun| Some((*rerun, rerun.predictions.get(place)?.as_ref()?))).collect()
}

#[cfg(test)]
mod tests;
