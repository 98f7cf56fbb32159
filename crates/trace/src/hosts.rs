//! Facts about hosts, from all their connections.
//!
//! - **In**: [`HostFacts`] of each connection, as it ends.
//! - **Out**: [`Hosts`], the facts by IP address. An analysis starts from the facts that its caller
//!   knows beforehand, and returns those that it learned itself. So the facts of several captures,
//!   or of several parts of one, can be stored, merged and used by a later analysis.

use crate::attribute::identify::{Candidates, HostProfiles};
use serde::{Deserialize, Serialize};
use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet, HashMap},
    net::IpAddr,
    sync::Arc,
    time::Duration,
};

/// The most hosts remembered.
const MOST_HOSTS: usize = 1 << 16;

/// The most profiles remembered of one host.
const MOST_PROFILES: usize = 16;

/// Missing DSACKs from which on a host that has sent none is believed to send none: RFC 2883 has no
/// option of its own, and Linux's `tcp_dsack` turns it off. Of a host that sends DSACKs each goes
/// missing with a probability of a few percent: the duplicate or the ACK is lost. So three in a row
/// are no chance.
const ENOUGH_MISSING: u32 = 3;

/// Recoveries that contradict a reduced window, from which on the window is taken not to fall.
const ENOUGH_UNREDUCED: u32 = 2;

/// At most this many recoveries for each that contradicts: BBR contradicts at every third one if losses are frequent,
/// more rarely if the window could have grown in between. An error may contradict now and then.
const MOST_PER_UNREDUCED: u32 = 20;

/// Timeouts that show another least RTO than the usual one.
const ENOUGH_TIMEOUTS: u32 = 3;

/// Of a host with a shorter least RTO, at most this many timeouts come as with the usual one for each that comes sooner:
/// where the RTT varies, RTTVAR sets the RTO. Of one with a longer least RTO, this many come later for each that does not.
const MOST_PER_EARLY: u32 = 4;

/// Packets of new data that show whether a sender paces.
const ENOUGH_CLOCKED: u32 = 20;

/// At most this many segments for each that followed no ACK, if a sender paces.
const MOST_PER_PACED: u32 = 8;

/// The facts about each host, by IP address. At most 65,536 hosts are kept; what would add more is
/// ignored.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Hosts(BTreeMap<IpAddr, HostFacts>);

/// Facts about one host.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct HostFacts {
    /// How well each profile explains the retransmissions that the host sent, by the profile's name.
    pub profiles: BTreeMap<Arc<str>, Score>,
    /// Whether the host sends tail loss probes.
    pub probes: ProbeEvidence,
    /// Whether losses reduce its congestion window.
    pub window: WindowEvidence,
    /// When its timers fired.
    pub timeouts: TimeoutEvidence,
    /// The duplicates that the host received, and which of them it reported.
    pub duplicates: DuplicateReports,
}

/// Retransmissions that a profile explains, of those sent and those that it would have sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Score {
    /// Retransmissions that the profile would have sent at that time and for that reason.
    pub explained: u32,
    /// Retransmissions that were replayed, and those that the profile would have sent besides.
    pub of: u32,
}

/// Evidence whether a host sends tail loss probes (RFC 8985 §7).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ProbeEvidence {
    /// Retransmissions that a profile explains as a probe, and does not explain if it has no
    /// probes.
    pub sent: u32,
    /// Retransmissions that a profile explains as a timeout, and does not explain if it has probes:
    /// one was due before.
    pub left_out: u32,
}

/// When the timers of a host fired that its least RTO sets, by the RTO of Linux (SRTT + max(4·RTTVAR, 200 ms)). A route,
/// `net.ipv4.tcp_rto_min_us` or a socket option sets another minimum than 200 ms.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct TimeoutEvidence {
    /// First timeouts that came when they were due.
    pub on_time: u32,
    /// Timers that fired much sooner.
    pub early: Timeouts,
    /// First timeouts that came much later.
    pub late: Timeouts,
}

/// A number of timeouts, and the term added to SRTT that would explain each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct Timeouts {
    /// How many.
    pub count: u32,
    /// The least term, in µs.
    pub least: u32,
}

impl Timeouts {
    /// Counts one that this term explains.
    pub(crate) fn add(&mut self, term: Duration) {
        let micros = u32::try_from(term.as_micros()).unwrap_or(u32::MAX);
        self.merge(Self { count: 1, least: micros });
    }

    fn merge(&mut self, other: Self) {
        self.least = match (self.count, other.count) {
            (0, _) => other.least,
            (_, 0) => self.least,
            _ => self.least.min(other.least),
        };
        self.count = self.count.saturating_add(other.count);
    }
}

impl TimeoutEvidence {
    /// The least RTO that was set, if these show another than the usual one. A few may have other reasons. Host timers fire
    /// up to two ticks late, so this is a little more than what was set.
    pub fn least_rto(self) -> Option<Duration> {
        let Self { on_time, early, late } = self;
        let shown = if early.count >= ENOUGH_TIMEOUTS && early.count >= on_time / MOST_PER_EARLY {
            early
        } else if late.count >= ENOUGH_TIMEOUTS && late.count / MOST_PER_EARLY >= on_time {
            late
        } else {
            return None;
        };
        Some(Duration::from_micros(shown.least.into()))
    }

    /// How many another least RTO would explain.
    pub(crate) fn differ(self) -> u32 {
        self.early.count.saturating_add(self.late.count)
    }

    /// Adds the evidence of other connections.
    pub fn merge(&mut self, other: Self) {
        self.on_time = self.on_time.saturating_add(other.on_time);
        self.early.merge(other.early);
        self.late.merge(other.late);
    }
}

/// Evidence whether a host's congestion window falls at losses, and whether the host paces.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct WindowEvidence {
    /// Recoveries that earlier ones of the same connection bear on.
    pub recoveries: u32,
    /// Those at which more was in flight than a window could have held that earlier recoveries had reduced.
    pub unreduced: u32,
    /// Packets of new data that followed an ACK at once, around recoveries.
    pub at_once: u32,
    /// Those that left later, between ACKs.
    pub paced: u32,
}

impl WindowEvidence {
    /// Whether this shows BBR: the window does not fall at losses, and the sender paces. Once may be chance.
    pub fn shows_bbr(self) -> bool {
        self.unreduced >= ENOUGH_UNREDUCED
            && self.unreduced >= self.recoveries / MOST_PER_UNREDUCED
            && !self.is_clocked()
            && self.paced > 0
    }

    /// Whether ACKs make the sender send, rather than a clock of its own.
    pub fn is_clocked(self) -> bool {
        let all = self.at_once.saturating_add(self.paced);
        all >= ENOUGH_CLOCKED && self.paced < all / MOST_PER_PACED
    }

    /// Adds the evidence of other connections.
    pub fn merge(&mut self, other: Self) {
        self.recoveries = self.recoveries.saturating_add(other.recoveries);
        self.unreduced = self.unreduced.saturating_add(other.unreduced);
        self.at_once = self.at_once.saturating_add(other.at_once);
        self.paced = self.paced.saturating_add(other.paced);
    }
}

impl ProbeEvidence {
    /// Adds the evidence of other connections.
    pub fn merge(&mut self, other: Self) {
        self.sent = self.sent.saturating_add(other.sent);
        self.left_out = self.left_out.saturating_add(other.left_out);
    }
}

/// How often a receiver reported a duplicate by a DSACK (RFC 2883).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct DuplicateReports {
    /// DSACKs that the capture holds.
    pub seen: u32,
    /// Retransmissions that were proven spurious otherwise, and of which no DSACK came although
    /// later ACKs did.
    pub missing: u32,
}

/// Whether a host reports the duplicates that it receives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum ReportsDuplicates {
    /// It sends a DSACK for each.
    Yes,
    /// It sends none.
    No,
}

impl Hosts {
    /// The facts about `host`; `None` if nothing is known of it.
    pub fn get(&self, host: IpAddr) -> Option<&HostFacts> {
        self.0.get(&host)
    }

    /// All hosts, ordered by address.
    pub fn iter(&self) -> impl Iterator<Item = (IpAddr, &HostFacts)> {
        self.0.iter().map(|(&host, facts)| (host, facts))
    }

    /// Whether nothing is known of any host.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds facts about `host`.
    pub fn add(&mut self, host: IpAddr, facts: &HostFacts) {
        if self.0.len() < MOST_HOSTS || self.0.contains_key(&host) {
            self.0.entry(host).or_default().merge(facts);
        }
    }

    /// Adds all facts of `other`. The facts that both share are counted twice.
    pub fn merge(&mut self, other: &Self) {
        for (host, facts) in other.iter() {
            self.add(host, facts);
        }
    }
}

impl HostFacts {
    /// Adds other facts about the same host.
    pub fn merge(&mut self, other: &Self) {
        for (profile, &score) in &other.profiles {
            if let Some(known) = self.profiles.get_mut(profile) {
                *known = known.plus(score);
            } else if self.profiles.len() < MOST_PROFILES {
                self.profiles.insert(Arc::clone(profile), score);
            }
        }
        self.probes.merge(other.probes);
        self.window.merge(other.window);
        self.timeouts.merge(other.timeouts);
        self.duplicates.merge(other.duplicates);
    }

    /// Whether this says nothing.
    pub fn is_empty(&self) -> bool {
        self.profiles.is_empty()
            && self.probes == ProbeEvidence::default()
            && self.window == WindowEvidence::default()
            && self.timeouts == TimeoutEvidence::default()
            && self.duplicates == DuplicateReports::default()
    }
}

impl Score {
    /// The sum of both.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self { explained: self.explained.saturating_add(other.explained), of: self.of.saturating_add(other.of) }
    }

    /// The share explained, 0 to 1.
    pub fn share(self) -> f64 {
        f64::from(self.explained) / f64::from(self.of.max(1))
    }

    /// Whether every retransmission is explained.
    pub(crate) fn is_full(self) -> bool {
        self.explained == self.of
    }

    /// By how much chance may change the share: two standard deviations. Laplace's rule (one more
    /// of either kind) keeps it above 0 where all are explained.
    pub(crate) fn chance(self) -> f64 {
        let of = f64::from(self.of) + 2.0;
        let share = (f64::from(self.explained) + 1.0) / of;
        2.0 * (share * (1.0 - share).max(0.0) / of).sqrt()
    }
}

impl DuplicateReports {
    /// Adds the reports of other connections.
    pub fn merge(&mut self, other: Self) {
        self.seen = self.seen.saturating_add(other.seen);
        self.missing = self.missing.saturating_add(other.missing);
    }

    /// Proof by these reports; `None` if the host may or may not report duplicates.
    pub fn proof(self) -> Option<ReportsDuplicates> {
        match self {
            Self { seen: 1.., .. } => Some(ReportsDuplicates::Yes),
            Self { missing, .. } if missing >= ENOUGH_MISSING => Some(ReportsDuplicates::No),
            _ => None,
        }
    }

    /// Assumption about the host. Without proof it reports duplicates, as Linux, FreeBSD, macOS
    /// and Windows do if SACK was negotiated.
    pub fn belief(self) -> ReportsDuplicates {
        self.proof().unwrap_or(ReportsDuplicates::Yes)
    }
}

/// The facts that an analysis uses: those known beforehand, and those it has learned so far.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct KnownHosts {
    pub before: Arc<Hosts>,
    pub learned: Hosts,
    /// The profiles of the hosts of which retransmissions were learned.
    #[serde(skip)]
    profiles: HashMap<IpAddr, HostProfiles>,
    /// The hosts among them whose profiles changed lately.
    #[serde(skip)]
    changed: BTreeSet<IpAddr>,
}

impl KnownHosts {
    /// Adds what another analysis has learned; both knew the same before. Returns the hosts of which
    /// more is known now than one of them knew.
    pub fn merge(&mut self, other: &Self) -> BTreeSet<IpAddr> {
        let proof = |known: &Self, host: IpAddr| known.duplicates_of(host).proof();
        let hosts = self.learned.iter().chain(other.learned.iter());
        let before: BTreeMap<IpAddr, _> =
            hosts.map(|(host, _)| (host, [proof(self, host), proof(other, host)])).collect();
        self.learned.merge(&other.learned);
        self.profiles.clear();
        self.changed.clear();
        let changed = before.into_iter().filter(|&(host, before)| {
            let now = proof(self, host);
            before.iter().any(|before| *before != now)
        });
        changed.map(|(host, _)| host).collect()
    }

    /// Knows `before`, and has learned nothing.
    pub fn new(before: Arc<Hosts>) -> Self {
        Self { before, ..Self::default() }
    }

    /// All facts about `host`.
    pub fn of(&self, host: IpAddr) -> Cow<'_, HostFacts> {
        match (self.before.get(host), self.learned.get(host)) {
            (Some(before), Some(learned)) => {
                let mut all = before.clone();
                all.merge(learned);
                Cow::Owned(all)
            }
            (Some(facts), None) | (None, Some(facts)) => Cow::Borrowed(facts),
            (None, None) => Cow::Owned(HostFacts::default()),
        }
    }

    /// Which duplicates `host` reported.
    pub fn duplicates_of(&self, host: IpAddr) -> DuplicateReports {
        let mut all = DuplicateReports::default();
        (self.facts_of(host)).for_each(|facts| all.merge(facts.duplicates));
        all
    }

    /// Evidence whether `host` sends tail loss probes.
    pub fn probes_of(&self, host: IpAddr) -> ProbeEvidence {
        let mut all = ProbeEvidence::default();
        (self.facts_of(host)).for_each(|facts| all.merge(facts.probes));
        all
    }

    /// Facts about `host` from before the analysis, and from the analysis.
    fn facts_of(&self, host: IpAddr) -> impl Iterator<Item = &HostFacts> {
        let facts = [self.before.get(host), self.learned.get(host)];
        facts.into_iter().flatten()
    }

    /// The profiles that `host` may run. An analysis always asks for the same `candidates`.
    pub fn profiles_of(&self, host: IpAddr, candidates: &Candidates) -> HostProfiles {
        let known = self.profiles.get(&host).copied();
        known.unwrap_or_else(|| candidates.profiles_on(&self.of(host)))
    }

    /// Adds facts about `host`.
    pub fn learn(&mut self, host: IpAddr, facts: &HostFacts, candidates: &Candidates) {
        self.learned.add(host, facts);
        let of_sender = !facts.profiles.is_empty()
            || facts.probes != ProbeEvidence::default()
            || facts.window != WindowEvidence::default()
            || facts.timeouts != TimeoutEvidence::default();
        if of_sender && self.learned.get(host).is_some() {
            let now = candidates.profiles_on(&self.of(host));
            if self.profiles.insert(host, now) != Some(now) {
                self.changed.insert(host);
            }
        }
    }

    /// The hosts whose profiles changed since [`forget_changes`](Self::forget_changes).
    pub fn changed_profiles(&self) -> impl Iterator<Item = IpAddr> {
        self.changed.iter().copied()
    }

    /// All shards know of the changes.
    pub fn forget_changes(&mut self) {
        self.changed.clear();
    }
}

#[cfg(test)]
mod tests;
