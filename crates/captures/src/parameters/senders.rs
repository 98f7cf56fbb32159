//! Which senders are studied, from the first reading of their capture.

use crate::analysis::{Collector, Vantages, view};
use crate::merge_fields;
use crate::reread::Sought;
use crate::study::best_case;
use crate::whatif::{
    Bases, Listener, MOST, REPAIRED, Reason, Reasons, RepairedConnections, identified, is_at_sender, is_whole,
    listener, mixed,
};
use recoup_recovery::{Mechanisms, Profile, Trigger};
use recoup_tcp::flow::Host;
use recoup_trace::analyze::Findings;
use recoup_trace::finding::{
    Connection, Direction, HeldConnections, Identification, Retransmission, Revision, Verdict,
};
use recoup_trace::read::Counts;
use std::mem::take;
use std::net::IpAddr;
use std::time::Duration;

/// A sender that may be studied.
#[derive(Clone, Debug)]
pub(super) struct Candidate {
    pub sought: Sought,
    pub sender: Host,
    /// The profile that explains its retransmissions, or why none is known.
    pub profile: Result<Profile, Reason>,
    /// The profiles that its retransmissions show, the best first, and the number that each explains.
    pub identified: Vec<(String, u64)>,
    /// Its own retransmissions, ordered by time.
    pub retransmissions: Vec<Retransmission>,
    /// The time that ideal loss detection would have saved.
    pub best_case: Duration,
    /// How long the connection lasts.
    pub duration: Duration,
}

impl Candidate {
    /// Where it sends from.
    pub fn listener(&self) -> Listener {
        listener(&self.sought.endpoints, self.sender)
    }

    /// The address of the other end.
    pub fn peer_address(&self) -> IpAddr {
        match self.sender {
            Host::Client => self.sought.endpoints.dst.ip(),
            Host::Server => self.sought.endpoints.src.ip(),
        }
    }

    /// The profile that the connections of its listener voted for. Without a vote, the one that its own retransmissions
    /// show.
    ///
    /// # Errors
    /// Why its profile is not known.
    pub fn profile(&self, bases: &Bases) -> Result<Profile, Reason> {
        let voted = bases.voted(&self.listener());
        let voted: Vec<&Profile> = voted.into_iter().map(|number| &bases.known()[number]).collect();
        let Some(first) = voted.first() else {
            return self.profile.clone();
        };
        let are_alike = |one: &Profile, other: &Profile| detect_alike(one.mechanisms(), other.mechanisms());
        if voted.iter().all(|other| are_alike(first, other)) {
            let own = self.profile.as_ref().ok().filter(|own| differ_in_control(own, first));
            return Ok(own.unwrap_or(first).clone());
        }
        // The listener has senders of several kinds. Its own retransmissions say which this one is.
        let own = self.profile.as_ref().map_err(|why| *why)?;
        if voted.iter().any(|voted| are_alike(voted, own)) { Ok(own.clone()) } else { Err(AMBIGUOUS) }
    }
}

/// Collects the senders that may be studied, and counts the others by reason.
#[derive(Debug, Default)]
pub(super) struct Senders {
    pub rows: Vec<Candidate>,
    /// Ends of connections that sent data.
    pub count: u64,
    pub refused: Reasons,
    connections: u64,
    eligible: u64,
    vantages: Vantages,
    held: HeldConnections,
    /// The profile of all senders, if the user names it.
    given: Option<Profile>,
}

impl Senders {
    /// `given`: the user says that all senders run it.
    pub fn new(given: Option<Profile>) -> Self {
        Self { given, ..Self::default() }
    }

    /// Senders that may be studied, and are not in the sample.
    pub fn left_out(&self) -> u64 {
        self.eligible - self.rows.len() as u64
    }

    /// Leaves out, and counts, the senders of connections in which a copy of a segment may have replaced it.
    pub fn leave_out_repaired(&mut self, counts: &Counts) {
        let Some(repaired) = RepairedConnections::of(counts) else {
            return;
        };
        let before = self.rows.len();
        self.rows.retain(|row| !repaired.contains(&row.sought));
        let left_out = (before - self.rows.len()) as u64;
        self.refused.add_all(REPAIRED.0, REPAIRED.1, left_out);
        self.eligible -= left_out;
    }

    /// Adds a connection whose verdicts are final.
    fn add(&mut self, connection: &Connection, rows: &[Retransmission]) {
        // A merged file shows the connection at several points.
        self.connections += u64::from(connection.capture_point.number == 0);
        for (way, direction) in connection.directions.iter().enumerate() {
            let is_shown = connection.capture_point.is_nearest_to_sender(way);
            if direction.bytes == 0 || !is_shown {
                continue;
            }
            self.count += 1;
            match self.suits(connection, direction) {
                Ok(()) => self.take(connection, way, rows),
                Err((name, about)) => self.refused.add(name, about),
            }
        }
    }

    /// Whether a sender may be studied, if its profile is known.
    fn suits(&self, connection: &Connection, direction: &Direction) -> Result<(), Reason> {
        const NO_LOSS: Reason = ("no_needed_loss", "no needed retransmission of data");
        if direction.retransmissions.total() == 0 {
            return Err(NO_LOSS);
        }
        is_whole(connection)?;
        is_at_sender(direction)?;
        if !has_needed_loss(direction) {
            return Err(NO_LOSS);
        }
        Ok(())
    }

    fn take(&mut self, connection: &Connection, way: usize, rows: &[Retransmission]) {
        let direction = &connection.directions[way];
        let profile = match &self.given {
            Some(profile) => Ok(profile.clone()),
            None => of_retransmissions(&direction.profile),
        };
        let (sender, source) = match way {
            0 => (Host::Client, connection.endpoints.src),
            _ => (Host::Server, connection.endpoints.dst),
        };
        let own = rows.iter().filter(|row| row.endpoints.src == source);
        let mut own: Vec<Retransmission> = own.copied().collect();
        own.sort_by_key(|row| row.at);
        self.eligible += 1;
        self.rows.push(Candidate {
            sought: Sought::of(connection),
            sender,
            profile,
            identified: identified(&direction.profile),
            best_case: best_case(connection, direction, &own),
            retransmissions: own,
            duration: connection.duration(),
        });
        // Sorting once per doubling costs little per sender.
        if self.rows.len() >= 2 * MOST {
            self.keep_sample();
        }
    }

    /// Keeps those of the smallest hashes, so that neither the order nor the number of threads matters.
    fn keep_sample(&mut self) {
        let key = |row: &Candidate| (row.sought.id, row.sought.point.number, row.sender == Host::Server);
        if self.rows.len() > MOST {
            self.rows.sort_unstable_by_key(|row| (mixed(row.sought.id), key(row)));
            self.rows.truncate(MOST);
        }
        self.rows.sort_unstable_by_key(key);
    }
}

/// Whether data was lost, as far as is known.
fn has_needed_loss(direction: &Direction) -> bool {
    let all = &direction.retransmissions;
    let of = |trigger| all.count(Some(trigger), Verdict::Needed);
    all.of_verdict(Verdict::Needed) > of(Trigger::Syn) + of(Trigger::SynAck)
}

/// The profile that a sender's own retransmissions show. Of several profiles that detect losses alike, the best.
fn of_retransmissions(profile: &Identification) -> Result<Profile, Reason> {
    const UNKNOWN: Reason = ("sender_not_identified", "no profile explains the retransmissions");
    let parsed = |name: &str| name.parse::<Profile>().map_err(|_| UNKNOWN);
    match profile {
        Identification::Nothing | Identification::None(_) => Err(UNKNOWN),
        Identification::Profile(one) => parsed(&one.profile),
        Identification::Several(several) => {
            let all: Vec<Profile> = several.iter().map(|one| parsed(&one.profile)).collect::<Result<_, _>>()?;
            let first = all.first().ok_or(UNKNOWN)?;
            let alike = |other: &Profile| detect_alike(first.mechanisms(), other.mechanisms());
            match all.iter().all(alike) {
                true => Ok(first.clone()),
                false => Err(AMBIGUOUS),
            }
        }
    }
}

const AMBIGUOUS: Reason =
    ("sender_ambiguous", "several profiles explain the retransmissions, and detect losses differently");

/// Whether two senders have the same estimator and RTO, and the same rule for duplicate ACKs. Where they differ
/// in tail loss probes or RTO restart, the capture decides: a timer that it does not show is not reproduced.
fn detect_alike(one: &Mechanisms, other: &Mechanisms) -> bool {
    one.rto == other.rto && one.detection == other.detection
}

/// Whether two profiles differ in nothing but congestion control, which the study does not follow.
fn differ_in_control(one: &Profile, other: &Profile) -> bool {
    one.mechanisms().with(|m| m.congestion = other.mechanisms().congestion) == *other.mechanisms()
}

impl Findings for Senders {
    fn connection(&mut self, connection: Connection, rows: &[Retransmission]) {
        self.vantages.add(&connection);
        let mut held = take(&mut self.held);
        held.add(connection, rows, |connection, rows| {
            self.add(&connection, rows);
        });
        self.held = held;
    }

    fn revision(&mut self, revision: &Revision) {
        self.vantages.revised += u64::from(self.held.revise(revision));
    }
}

view!(Senders: connections, vantages);

impl Collector for Senders {
    fn merge(&mut self, other: Self) {
        self.rows.extend(other.rows);
        merge_fields!(self, other: count, connections, eligible, vantages);
        self.refused.merge(other.refused);
        self.held.merge(other.held);
        self.keep_sample();
    }

    fn order(&mut self) {
        let held = take(&mut self.held);
        held.release_all(|connection, rows| self.add(&connection, rows));
        self.keep_sample();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use recoup_trace::finding::{CapturePoint, Closing, Explanation, Opening, Tally, Triggers, Vantage};
    use recoup_units::Instant;
    use recoup_wire::Endpoints;

    fn explained(names: &[&str]) -> Identification {
        let named = names.iter().map(|name| Explanation { profile: (*name).into(), explained: 1, of: 1 });
        Identification::Several(named.collect())
    }

    fn direction(trigger: Trigger, verdict: Verdict, vantage: Vantage) -> Direction {
        let mut retransmissions = Tally::default();
        retransmissions.add(Triggers::from(trigger), verdict);
        Direction {
            vantage,
            bytes: 20_000,
            retransmissions,
            profile: explained(&["linux-2.4"]),
            ..Direction::default()
        }
    }

    fn lossy() -> Direction {
        direction(Trigger::Rto, Verdict::Needed, Vantage::Sender)
    }

    fn connection(directions: [Direction; 2]) -> Connection {
        Connection {
            id: 4,
            endpoints: Endpoints { src: "198.51.100.7:40000".parse().unwrap(), dst: "192.0.2.1:80".parse().unwrap() },
            opening: Opening::Handshake,
            closing: Closing::Closed,
            frames: 1..=10,
            begun: Instant::ZERO,
            ended: Instant::from_millis(900),
            packets: 10,
            handshake_rtt: None,
            sack: Some(true),
            ecn: None,
            capture_point: CapturePoint::default(),
            tunnels: Default::default(),
            quic: None,
            directions,
        }
    }

    #[test]
    fn senders_with_a_needed_loss_and_known_timers_are_studied() {
        let several = |names: &[&str]| Direction { profile: explained(names), ..lossy() };
        for (down, refused) in [
            (lossy(), None),
            (direction(Trigger::Rto, Verdict::Spurious, Vantage::Sender), Some("no_needed_loss")),
            (direction(Trigger::SynAck, Verdict::Needed, Vantage::Sender), Some("no_needed_loss")),
            (direction(Trigger::Fast, Verdict::Needed, Vantage::Receiver), Some("captured_at_receiver")),
            (several(&[]), Some("sender_not_identified")),
            (several(&["linux-3.17+tlp", "linux-3.17"]), None),
            (several(&["linux-2.4", "windows-xp"]), Some("sender_ambiguous")),
        ] {
            let mut all = Senders::default();
            all.connection(connection([Direction::default(), down]), &[]);
            let reasons = all.refused.by_count();
            let found = reasons.first().map(|reason| reason.name);
            let bases = Bases::identified(std::iter::empty(), None);
            let unknown = all.rows.first().and_then(|row| Some(row.profile(&bases).err()?.0));
            assert_eq!((found.or(unknown), all.count), (refused, 1));
            assert_eq!(all.rows.len(), usize::from(refused.is_none() || unknown.is_some()));
        }
    }

    /// The profile of a sender whose retransmissions show `shown`, if the voters of its listener are reproduced by `voted`.
    fn profile_with_votes(shown: &[&str], voted: &[&str]) -> Result<String, &'static str> {
        let mut all = Senders::default();
        let down = Direction { profile: explained(shown), ..lossy() };
        all.connection(connection([Direction::default(), down]), &[]);
        let mut bases = Bases::identified(std::iter::empty(), None);
        let listener = all.rows[0].listener();
        let ballot = |name: &&str| bases.known().iter().map(|known| known.name() == *name).collect::<Vec<bool>>();
        let ballots: Vec<_> = voted.iter().map(|name| (listener, ballot(name))).collect();
        bases.take_votes(ballots.into_iter());
        all.rows[0].profile(&bases).map(|profile| profile.name().into()).map_err(|(name, _)| name)
    }

    #[test]
    fn the_profile_that_the_listener_voted_for_counts() {
        let several = ["linux-2.4", "windows-xp"];
        assert_eq!(profile_with_votes(&several, &[]), Err("sender_ambiguous"));
        assert_eq!(profile_with_votes(&several, &["rfc6675"; 3]), Ok("rfc6675".into()));
        // Its own retransmissions fit another one by chance.
        assert_eq!(profile_with_votes(&["freebsd-5"], &["reno"; 3]), Ok("reno".into()));
        assert_eq!(profile_with_votes(&[], &["reno"; 3]), Ok("reno".into()));
        // The study does not follow congestion control.
        assert_eq!(profile_with_votes(&["linux-6"], &["linux-6+reno"; 3]), Ok("linux-6".into()));
        // Two groups of connections: its own retransmissions say to which it belongs.
        let groups = ["reno", "linux-6", "reno", "linux-6", "reno", "linux-6"];
        assert_eq!(profile_with_votes(&["linux-6"], &groups), Ok("linux-6".into()));
        assert_eq!(profile_with_votes(&["windows-xp"], &groups), Err("sender_ambiguous"));
    }

    #[test]
    fn both_ends_may_be_studied_and_a_given_profile_is_that_of_all() {
        let mut all = Senders::new(Some("rfc6675".parse().unwrap()));
        all.connection(connection([lossy(), lossy()]), &[]);
        let ends: Vec<_> = all.rows.iter().map(|row| (row.sender, row.profile.as_ref().unwrap().name())).collect();
        assert_eq!(ends, [(Host::Client, "rfc6675"), (Host::Server, "rfc6675")]);
        let mut one_way = connection([Direction::default(), lossy()]);
        one_way.directions[0].absent = true;
        let mut middle = connection([Direction::default(), lossy()]);
        middle.opening = Opening::MidConnection;
        for (other, reason) in [(one_way, "one_way"), (middle, "no_handshake")] {
            let mut all = Senders::default();
            all.connection(other, &[]);
            assert_eq!(all.refused.by_count()[0].name, reason);
        }
    }
}
