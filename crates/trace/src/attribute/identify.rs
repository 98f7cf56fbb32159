//! Which profile a sender behaves like.
//!
//! Each candidate profile replays the same steps, and the retransmissions that it explains are
//! counted (the 2007 study §IV-A). A probe that shows itself at one connection of a host settles that
//! the host sends probes.

use super::replay::Explained;
use crate::{
    finding::{Explanation, Identification},
    hosts::{HostFacts, KnownHosts, ProbeEvidence, Score, TimeoutEvidence, WindowEvidence},
    systems::{CHANGED_SETTINGS, PROFILES, WITH_BBR},
};
use recoup_recovery::{Mechanisms, Profile, Trigger};
use serde::{Deserialize, Serialize};
use std::{net::IpAddr, sync::Arc, time::Duration};

/// Probes that a host left out before it counts as sending none. One may have been left out for
/// another reason.
const LEAST_LEFT_OUT: u32 = 2;

/// The most profiles that are tried.
pub(crate) const MOST_CANDIDATES: usize = 8;

const _: () = assert!(PROFILES.len() <= MOST_CANDIDATES && MOST_CANDIDATES <= u8::BITS as usize);

/// A profile that explains a smaller share identifies nobody.
const LEAST_SHARE: f64 = 0.5;

/// Shares that differ by less count as equal.
const SIMILAR_SHARE: f64 = 0.02;

/// Profiles also count as equal if one explains fewer than this many retransmissions more: that may
/// be chance.
const FEW_RETRANSMISSIONS: f64 = 3.0;

/// The least term that Linux adds to SRTT in the RTO, unless another one is set.
const USUAL_LEAST_RTO: Duration = Duration::from_millis(200);

/// Explained retransmissions from which on a host counts as known.
const LEAST_EXPLAINED: u32 = 20;

/// Results of the replays of a connection.
#[derive(Clone, Debug, Default)]
pub(crate) struct Replayed {
    /// The score of each candidate.
    pub scores: Vec<Score>,
    pub probes: ProbeEvidence,
    pub window: WindowEvidence,
    pub timeouts: TimeoutEvidence,
}

/// A set of candidates, one bit each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct ProfileSet(u8);

impl ProfileSet {
    fn contains(self, candidate: usize) -> bool {
        self.0 >> candidate & 1 == 1
    }

    fn is_empty(self) -> bool {
        self.0 == 0
    }
}

impl FromIterator<usize> for ProfileSet {
    fn from_iter<I: IntoIterator<Item = usize>>(candidates: I) -> Self {
        Self(candidates.into_iter().fold(0, |set, i| set | 1 << i))
    }
}

/// Whether a sender is seen to send tail loss probes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Probing {
    #[default]
    Unknown,
    Sends,
    LeavesOut,
}

impl From<ProbeEvidence> for Probing {
    fn from(ProbeEvidence { sent, left_out }: ProbeEvidence) -> Self {
        if sent > left_out {
            Self::Sends
        } else if left_out > sent && left_out >= LEAST_LEFT_OUT {
            Self::LeavesOut
        } else {
            Self::Unknown
        }
    }
}

/// The profiles that a host may run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct HostProfiles {
    /// Those that explain about as much as the best.
    similar: ProfileSet,
    /// The best one, once it explains enough, and those that are behind it by no more than chance.
    /// Before that, none.
    plausible: ProfileSet,
    probing: Probing,
    /// Its connections together show BBR.
    bbr: bool,
    /// The least RTO that its connections together show to be set.
    least_rto: Option<Duration>,
}

impl HostProfiles {
    /// Whether the host's connections together show BBR.
    pub fn shows_bbr(self) -> bool {
        self.bbr
    }

    /// The least RTO that its connections together show to be set.
    pub fn least_rto(self) -> Option<Duration> {
        self.least_rto
    }

    /// The best one, once it explains enough, and those that are behind it by no more than chance.
    /// Before that, none.
    pub fn plausible(self) -> impl Iterator<Item = usize> {
        (0..MOST_CANDIDATES).filter(move |&i| self.plausible.contains(i))
    }
}

/// The profiles that a sender is compared with.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Candidates {
    profiles: Vec<(Arc<str>, Mechanisms)>,
    /// Those that differ in their probes alone: with probes, without.
    pairs: Vec<(usize, usize)>,
}

impl Candidates {
    /// All known profiles.
    pub fn known() -> Self {
        let known = PROFILES.iter().filter_map(|(name, _)| name.parse::<Profile>().ok());
        Self::new(known.collect())
    }

    /// The profile that the user chose.
    pub fn only(profile: &Profile) -> Self {
        Self::new(vec![profile.clone()])
    }

    fn new(profiles: Vec<Profile>) -> Self {
        let entry = |profile: Profile| (profile.name().into(), *profile.mechanisms());
        let profiles: Vec<(Arc<str>, Mechanisms)> = profiles.into_iter().map(entry).collect();
        let pair = |with: usize| {
            let without = profiles[with].1.with(|m| m.probe = None);
            let same = profiles.iter().position(|(_, other)| *other == without);
            same.map(|without| (with, without))
        };
        let with = (0..profiles.len()).filter(|&i| profiles[i].1.probe.is_some());
        let pairs = with.filter_map(pair).collect();
        Self { profiles, pairs }
    }

    pub fn len(&self) -> usize {
        self.profiles.len()
    }

    /// The mechanisms of the `i`-th profile.
    pub fn mechanisms(&self, i: usize) -> &Mechanisms {
        &self.profiles[i].1
    }

    /// Whether the `i`-th has Linux's RTO, whose term besides SRTT has a minimum that can be set.
    pub fn has_linux_rto(&self, i: usize) -> bool {
        self.mechanisms(i).rto.min_variance == USUAL_LEAST_RTO
    }

    /// The profile that differs from the `i`-th only in that it sends the draft's tail loss probes.
    pub fn with_draft_probes(&self, i: usize) -> Option<usize> {
        let (with, _) = *self.pairs.iter().find(|(_, without)| *without == i)?;
        let probe = self.mechanisms(with).probe;
        probe.is_some_and(|probe| !probe.is_modern()).then_some(with)
    }

    /// Evidence about probes from the explanations of a connection's retransmissions. `replayed`: whether
    /// a candidate was replayed.
    pub fn probe_evidence<'a>(
        &self,
        rows: impl Iterator<Item = &'a [Explained; MOST_CANDIDATES]> + Clone,
        replayed: impl Fn(usize) -> bool,
    ) -> ProbeEvidence {
        let both = |&(with, without): &(usize, usize)| replayed(with) && replayed(without);
        let Some(&(with, without)) = self.pairs.iter().find(|pair| both(pair)) else {
            return ProbeEvidence::default();
        };
        let count = |this: usize, other: usize, trigger: Trigger| {
            let rows = rows.clone().filter(|row| {
                let [this, other] = [row[this], row[other]];
                this.fits && this.triggers == trigger.into() && !other.fits
            });
            rows.count() as u32
        };
        ProbeEvidence { sent: count(with, without, Trigger::Tlp), left_out: count(without, with, Trigger::Rto) }
    }

    /// Leaves out the profiles without probes if the sender is seen to send them. If it is seen to
    /// leave them out, leaves out those that only differ from another by having them.
    fn settle_probes(&self, of: &mut Vec<usize>, probing: Probing) {
        let probes = |i: usize| self.mechanisms(i).probe.is_some();
        match probing {
            Probing::Unknown => {}
            Probing::Sends => {
                if of.iter().any(|&i| probes(i)) {
                    of.retain(|&i| probes(i));
                }
            }
            Probing::LeavesOut => {
                for &(with, without) in &self.pairs {
                    if of.contains(&without) {
                        of.retain(|&i| i != with);
                    }
                }
            }
        }
    }

    /// The indices of all profiles that explain as much as the best, ordered by what they explain of
    /// the host's other connections or, if that is little, of this one. Away from the sender (not
    /// `exact`) losses blur the scores, so all of them count as equal. Those that explain less of
    /// the host's other connections are left out, unless that leaves none. Equals keep the order of
    /// the list.
    pub fn best(&self, replayed: &Replayed, known: &KnownHosts, host: IpAddr, exact: bool) -> Vec<usize> {
        let mut best: Vec<usize> = similar(&replayed.scores).collect();
        let mut probes = known.probes_of(host);
        probes.merge(replayed.probes);
        let on_host = HostProfiles { probing: probes.into(), ..known.profiles_of(host, self) };
        if exact && best.len() > 1 {
            let scores_on_host;
            let order = if on_host.plausible.is_empty() {
                &replayed.scores
            } else {
                scores_on_host = self.scores_on(&known.of(host));
                &scores_on_host
            };
            best.sort_by(|&a, &b| by_share(order, a, b));
        }
        self.narrow(&mut best, on_host);
        best
    }

    /// Leaves out the profiles that the host's connections and its probes speak against.
    fn narrow(&self, of: &mut Vec<usize>, on_host: HostProfiles) {
        for likely in [on_host.similar, on_host.plausible] {
            if of.iter().any(|&i| likely.contains(i)) {
                of.retain(|&i| likely.contains(i));
            }
        }
        self.settle_probes(of, on_host.probing);
    }

    /// The profiles that the host may run.
    pub fn profiles_on(&self, host: &HostFacts) -> HostProfiles {
        let scores = self.scores_on(host);
        HostProfiles {
            similar: similar(&scores).collect(),
            plausible: plausible(&scores),
            probing: host.probes.into(),
            bbr: host.window.shows_bbr(),
            least_rto: host.timeouts.least_rto(),
        }
    }

    /// The host's score of each profile.
    fn scores_on(&self, host: &HostFacts) -> Vec<Score> {
        let names = self.profiles.iter().map(|(name, _)| name);
        let score = |name| host.profiles.get(name).copied().unwrap_or_default();
        names.map(score).collect()
    }

    /// Facts about a connection's sender.
    pub fn facts(&self, scores: &[Score], probes: ProbeEvidence) -> HostFacts {
        let names = self.profiles.iter().map(|(name, _)| Arc::clone(name));
        let any = scores.iter().any(|score| score.of > 0);
        let profiles = names.zip(scores.iter().copied()).filter(|_| any);
        HostFacts { profiles: profiles.collect(), probes, ..HostFacts::default() }
    }

    /// The index of the profile that explains most.
    pub fn first(&self, found: &Identification) -> Option<usize> {
        self.index_of(found.best()?)
    }

    fn index_of(&self, one: &Explanation) -> Option<usize> {
        let mut profiles = self.profiles.iter();
        profiles.position(|(name, _)| **name == one.profile)
    }

    /// Decides between several profiles by what is known of the host by now.
    pub fn settle(&self, found: &mut Identification, on_host: HostProfiles) {
        if let Identification::Several(several) = found {
            let mut left: Vec<usize> = several.iter().filter_map(|s| self.index_of(s)).collect();
            self.narrow(&mut left, on_host);
            several.retain(|one| self.index_of(one).is_some_and(|i| left.contains(&i)));
        }
        found.unwrap_single();
    }

    /// Adds BBR to the profiles if this connection shows it, or its host does. `window`: what the connection shows.
    /// A profile that the user chose keeps its name.
    pub fn name_bbr(&self, found: &mut Identification, window: WindowEvidence, on_host: HostProfiles) {
        let shown = window.shows_bbr() || (on_host.bbr && !window.is_clocked());
        let with_bbr = |one: &Explanation| WITH_BBR.iter().find(|(base, ..)| *base == one.profile);
        // The best one names the triggers.
        let may_run_it = found.best().and_then(with_bbr).is_some();
        if !shown || !may_run_it || self.len() == 1 {
            return;
        }
        if let Identification::Several(several) = found {
            several.retain(|one| with_bbr(one).is_some());
            found.unwrap_single();
        }
        let named = match found {
            Identification::Profile(one) => std::slice::from_mut(one),
            Identification::Several(several) => several.as_mut_slice(),
            Identification::Nothing | Identification::None(_) => &mut [],
        };
        for one in named {
            if let Some((_, name, _)) = with_bbr(one) {
                one.profile = (*name).into();
            }
        }
    }

    /// The least RTO of the sender, if its profile has Linux's rule and this connection or its host show another than the
    /// usual one. Timeouts that come at that time speak no longer against the profile.
    pub fn settle_least_rto(
        &self,
        found: &mut Identification,
        timeouts: TimeoutEvidence,
        on_host: HostProfiles,
    ) -> Option<Duration> {
        let best = found.best()?;
        let shown = timeouts.least_rto().or(on_host.least_rto)?;
        if !self.has_linux_rto(self.index_of(best)?) {
            return None;
        }
        if let Identification::None(one) | Identification::Profile(one) = found {
            one.explained = one.of.min(one.explained + u64::from(timeouts.differ()));
            if one.explained as f64 >= LEAST_SHARE * one.of as f64 {
                *found = Identification::Profile(one.clone());
            }
        }
        Some(shown)
    }

    /// Who the sender is; `best` comes from [`best`](Self::best).
    pub fn identification(&self, replayed: &Replayed, best: &[usize]) -> Identification {
        let scores = &replayed.scores;
        let explanation = |&i: &usize| Explanation {
            profile: self.profiles[i].0.to_string(),
            explained: scores[i].explained.into(),
            of: scores[i].of.into(),
        };
        match best {
            [first, ..] if scores[*first].of == 0 => Identification::Nothing,
            [first, ..] if scores[*first].share() < LEAST_SHARE => Identification::None(explanation(first)),
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
fn similar(scores: &[Score]) -> impl Iterator<Item = usize> {
    let best = scores.iter().reduce(|best, one| if one.share() < best.share() { best } else { one });
    let best = best.copied().unwrap_or_default();
    (0..scores.len()).filter(move |&i| {
        let behind = best.share() - scores[i].share();
        behind < SIMILAR_SHARE || behind * f64::from(best.of) < FEW_RETRANSMISSIONS
    })
}

/// The profiles that a host with these scores may run: the best one, once it explains
/// [`LEAST_EXPLAINED`] retransmissions, and those that are behind it by no more than chance. Before
/// that, none.
fn plausible(scores: &[Score]) -> ProfileSet {
    let best = (scores.iter()).max_by(|a, b| a.share().total_cmp(&b.share()));
    let known = best.filter(|best| best.explained >= LEAST_EXPLAINED);
    let least = known.map_or(f64::INFINITY, |best| best.share() - best.chance().max(SIMILAR_SHARE));
    let places = 0..scores.len();
    places.filter(|&i| scores[i].share() > least).collect()
}

/// Puts the greater share first.
fn by_share(scores: &[Score], a: usize, b: usize) -> std::cmp::Ordering {
    scores[b].share().total_cmp(&scores[a].share())
}

#[cfg(test)]
mod tests;
