//! Which senders are studied, from the first reading of their capture.

use crate::analysis::{Collector, Vantages, view};
use crate::merge_fields;
use crate::reread::Sought;
use crate::study::best_case;
use crate::whatif::{MOST, Reason, Reasons, is_at_sender, is_whole, mixed};
use recoup_recovery::{Mechanisms, Profile, Trigger};
use recoup_tcp::flow::Host;
use recoup_trace::analyze::Findings;
use recoup_trace::finding::{
    Connection, Direction, HeldConnections, Identification, Retransmission, Revision, Verdict,
};
use std::mem::take;
use std::time::Duration;

/// A sender that may be studied.
#[derive(Clone, Debug)]
pub(super) struct Candidate {
    pub sought: Sought,
    pub sender: Host,
    /// The profile that explains its retransmissions.
    pub profile: Profile,
    /// Its own retransmissions, ordered by time.
    pub retransmissions: Vec<Retransmission>,
    /// The time that ideal loss detection would have saved.
    pub best_case: Duration,
    /// How long the connection lasts.
    pub duration: Duration,
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
                Ok(profile) => self.take(connection, way, profile, rows),
                Err((name, about)) => self.refused.add(name, about),
            }
        }
    }

    /// The profile of a sender that may be studied.
    fn suits(&self, connection: &Connection, direction: &Direction) -> Result<Profile, Reason> {
        const NO_LOSS: Reason = ("no_needed_loss", "no needed retransmission of data");
        if direction.retransmissions.total() == 0 {
            return Err(NO_LOSS);
        }
        is_whole(connection)?;
        is_at_sender(direction)?;
        if !has_needed_loss(direction) {
            return Err(NO_LOSS);
        }
        match &self.given {
            Some(profile) => Ok(profile.clone()),
            None => identified(&direction.profile),
        }
    }

    fn take(&mut self, connection: &Connection, way: usize, profile: Profile, rows: &[Retransmission]) {
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
            best_case: best_case(connection, &connection.directions[way], &own),
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

/// The profile of a sender. Of several profiles that detect losses alike, the best.
fn identified(profile: &Identification) -> Result<Profile, Reason> {
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
                false => Err((
                    "sender_ambiguous",
                    "several profiles explain the retransmissions, and detect losses differently",
                )),
            }
        }
    }
}

/// Whether two senders have the same estimator and RTO, and the same rule for duplicate ACKs. Where they differ
/// in tail loss probes or RTO restart, the capture decides: a timer that it does not show is not reproduced.
fn detect_alike(one: &Mechanisms, other: &Mechanisms) -> bool {
    one.rto == other.rto && one.detection == other.detection
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
            assert_eq!((found, all.count), (refused, 1));
            assert_eq!(all.rows.len(), usize::from(refused.is_none()));
        }
    }

    #[test]
    fn both_ends_may_be_studied_and_a_given_profile_is_that_of_all() {
        let mut all = Senders::new(Some("rfc6675".parse().unwrap()));
        all.connection(connection([lossy(), lossy()]), &[]);
        let ends: Vec<_> = all.rows.iter().map(|row| (row.sender, row.profile.name())).collect();
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
