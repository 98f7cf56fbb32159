//! Which connections are rerun, from the first reading of their capture.

use super::reasons::Reasons;
use super::timers::Ends;
use crate::analysis::{Collector, Vantages, view};
use crate::explain::main_direction;
use crate::levers::Need;
use crate::merge_fields;
use crate::reread::Sought;
use crate::study::Merge;
use recoup_tcp::flow::Host;
use recoup_trace::analyze::Findings;
use recoup_trace::finding::{
    Cause, Connection, Direction, HeldConnections, Identification, LostTime, Opening, Retransmission, Revision,
    SenderState, TimeByState, Vantage, Verdict,
};
use recoup_trace::read::{CapturedCopy, Counts};
use recoup_units::Instant;
use recoup_wire::Endpoints;
use std::borrow::Cow;
use std::mem::take;
use std::net::IpAddr;
use std::time::Duration;

/// A capture point counts as near to the sender if the sender answers within this fraction (1/n) of the
/// median round-trip time. Then a capture point elsewhere on the path misjudges a time by 5 % of a round
/// trip at most.
const NEAR: u32 = 20;

/// The most connections, or senders, that are read again.
pub(crate) const MOST: usize = 200_000;

/// The address of a sender and, if it is a server, its port. The connections of one listener have the same loss recovery and
/// congestion control, unless somebody sets them by connection.
pub(crate) type Listener = (IpAddr, Option<u16>);

/// The listener that this end of a connection belongs to.
pub(crate) fn listener(ends: &Endpoints, sender: Host) -> Listener {
    match sender {
        Host::Client => (ends.src.ip(), None),
        Host::Server => (ends.dst.ip(), Some(ends.dst.port())),
    }
}

/// A connection that may be rerun.
#[derive(Clone, Debug)]
pub(super) struct Candidate {
    pub sought: Sought,
    /// The end whose loss recovery is replaced.
    pub sender: Host,
    /// The profiles that its retransmissions show, the best first, and the number that each explains.
    pub identified: Vec<(String, u64)>,
    /// The least RTO of its host, where that seems to be set to another than the usual one.
    pub least_rto: Option<Duration>,
    /// The cause that cost the sender most time.
    pub cause: Option<Cause>,
    /// The retransmissions of both ends, ordered by frame.
    pub retransmissions: Vec<Retransmission>,
    /// When its first packet was captured, and its last.
    pub time: [Instant; 2],
}

impl Candidate {
    /// The address of the sender.
    pub fn sender_address(&self) -> IpAddr {
        match self.sender {
            Host::Client => self.sought.endpoints.src.ip(),
            Host::Server => self.sought.endpoints.dst.ip(),
        }
    }

    /// Where it sends from.
    pub fn listener(&self) -> Listener {
        listener(&self.sought.endpoints, self.sender)
    }

    /// What timers depend on.
    pub fn ends(&self) -> Ends {
        Ends { sender: self.sender, peer: self.peer_address() }
    }

    /// The address of the other end.
    pub fn peer_address(&self) -> IpAddr {
        match self.sender {
            Host::Client => self.sought.endpoints.dst.ip(),
            Host::Server => self.sought.endpoints.src.ip(),
        }
    }
}

/// Chooses which connections are rerun, of those that may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// The most connections. Of more, a random sample is rerun, the same in each run.
    pub most: usize,
    /// Only those that retransmitted or lost time.
    pub only_troubled: bool,
    /// Only those with so many packets at most.
    pub most_packets: u64,
}

impl Sample {
    /// At most 150 of the connections that retransmitted, lost time or waited for the receiver, of at most 5,000 packets each:
    /// so many that their reruns take seconds.
    pub const SMALL: Self = Self { most: 150, only_troubled: true, most_packets: 5_000 };
}

impl Default for Sample {
    /// All of them, up to 200,000.
    fn default() -> Self {
        Self { most: MOST, only_troubled: false, most_packets: u64::MAX }
    }
}

/// What the main directions of connections show.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Shown {
    retransmissions: u64,
    spurious: u64,
    lost: LostTime,
    pub time: TimeByState,
}

impl Shown {
    fn add(&mut self, direction: &Direction) {
        self.retransmissions += direction.retransmissions.total();
        self.spurious += direction.retransmissions.of_verdict(Verdict::Spurious);
        self.lost.merge(&direction.lost);
        self.time.merge(&direction.time);
    }

    /// Whether a lever that needs this may matter.
    pub fn has(&self, need: Need) -> bool {
        match need {
            Need::Losses => self.retransmissions > 0 || !self.lost.total().is_zero(),
            Need::Spurious => self.spurious > 0,
            Need::LostHandshakes => [Cause::LostSyn, Cause::LostSynAck, Cause::LostSynOrSynAck]
                .iter()
                .any(|cause| self.lost.times(*cause) > 0),
            Need::ReceiverWindow => waits_for_receiver(&self.time),
        }
    }
}

/// Whether a sender waited a noticeable part of the time for the receiver's window.
fn waits_for_receiver(time: &TimeByState) -> bool {
    let waited = time.of(SenderState::ReceiverWindow) + time.of(SenderState::ZeroWindow);
    waited * 20 > time.total()
}

impl Merge for Shown {
    fn merge(&mut self, other: &Self) {
        self.retransmissions += other.retransmissions;
        self.spurious += other.spurious;
        self.lost.merge(&other.lost);
        self.time.merge(&other.time);
    }
}

/// Collects the connections that may be rerun, and counts the others by reason.
#[derive(Clone, Debug, Default)]
pub struct Candidates {
    pub(super) rows: Vec<Candidate>,
    pub(super) refused: Reasons,
    pub(super) connections: u64,
    sample: Sample,
    /// Connections that may be rerun, in the sample or not.
    eligible: u64,
    /// Connections that suit, whether they had trouble or not.
    pub(super) suited: u64,
    /// What those that may be rerun show.
    pub(super) shown: Shown,
    vantages: Vantages,
    held: HeldConnections,
}

impl Candidates {
    /// Collects a sample.
    pub fn new(sample: Sample) -> Self {
        Self { sample, ..Self::default() }
    }

    /// Whether only connections that had trouble are rerun.
    pub(super) fn only_troubled(&self) -> bool {
        self.sample.only_troubled
    }

    /// Connections that are to be rerun.
    pub(crate) fn count(&self) -> u64 {
        self.rows.len() as u64
    }

    /// Connections that may be rerun, but are not in the sample.
    pub(super) fn left_out(&self) -> u64 {
        self.eligible - self.rows.len() as u64
    }

    /// Adds a connection whose verdicts are final.
    pub(crate) fn add(&mut self, connection: &Connection, rows: &[Retransmission]) {
        let main = main_direction(connection);
        // A merged file shows the connection at several points.
        if !connection.capture_point.is_nearest_to_sender(main) {
            return;
        }
        self.connections += 1;
        let direction = &connection.directions[main];
        if let Err((name, about)) = suits(connection, direction) {
            return self.refused.add(name, about);
        }
        self.suited += 1;
        let has_trouble = direction.retransmissions.total() > 0
            || !direction.lost.total().is_zero()
            || waits_for_receiver(&direction.time);
        if self.sample.only_troubled && !has_trouble {
            return;
        }
        self.eligible += 1;
        self.shown.add(direction);
        if connection.packets > self.sample.most_packets {
            return;
        }
        self.rows.push(Candidate {
            sought: Sought::of(connection),
            sender: match main {
                0 => Host::Client,
                _ => Host::Server,
            },
            identified: identified(&direction.profile),
            least_rto: direction.least_rto,
            cause: main_cause(&direction.lost),
            retransmissions: rows.to_vec(),
            time: [connection.begun, connection.ended],
        });
        // Sorting once per doubling costs little per connection.
        if self.rows.len() >= 2 * self.sample.most.max(1) {
            self.keep_sample();
        }
    }

    /// The same without connections that cannot be rerun because a copy of a segment may have replaced it. Those are counted.
    pub(crate) fn without_repaired(&self, counts: &Counts) -> Cow<'_, Self> {
        let Some(repaired) = RepairedConnections::of(counts) else {
            return Cow::Borrowed(self);
        };
        let mut all = self.clone();
        all.rows.retain(|row| !repaired.contains(&row.sought));
        let left_out = (self.rows.len() - all.rows.len()) as u64;
        all.refused.add_all(REPAIRED.0, REPAIRED.1, left_out);
        all.eligible -= left_out;
        all.suited -= left_out;
        Cow::Owned(all)
    }

    /// Keeps those of the smallest hashes, so that neither the order nor the number of threads matters.
    pub(crate) fn keep_sample(&mut self) {
        if self.rows.len() > self.sample.most {
            self.rows.sort_unstable_by_key(|row| (mixed(row.sought.id), row.sought.point.number));
            self.rows.truncate(self.sample.most);
        }
        self.rows.sort_unstable_by_key(|row| (row.sought.id, row.sought.point.number));
    }
}

/// Connections in which a copy that another program sent may have taken the place of a lost segment.
#[derive(Debug)]
pub(crate) struct RepairedConnections<'a>(Vec<&'a CapturedCopy>);

impl<'a> RepairedConnections<'a> {
    /// Those of a capture. `None`: there are none.
    pub fn of(counts: &'a Counts) -> Option<Self> {
        let copies = counts.copies.as_ref()?;
        let repairs: Vec<_> = copies.packets.iter().filter(|copy| copy.may_have_repaired).collect();
        (!repairs.is_empty()).then_some(Self(repairs))
    }

    /// Whether a connection is one of them. A copy may be its last frame, or come after it.
    pub fn contains(&self, sought: &Sought) -> bool {
        let (ends, frames) = (sought.endpoints, &sought.frames);
        let first = self.0.partition_point(|copy| copy.frame < *frames.start());
        let copies = self.0[first..].iter().take_while(|copy| copy.frame <= *frames.end());
        copies.into_iter().any(|copy| copy.endpoints == ends || copy.endpoints == ends.reverse())
    }
}

/// A rerun takes the ACK of a segment for its arrival, and would find a delay where there was a loss.
pub(crate) const REPAIRED: Reason =
    ("repaired_by_copy", "a copy that recoup guard sent may have replaced a lost segment");

/// A bijection of 64-bit numbers that scatters neighbours (SplitMix64: Steele, Lea and Flood, "Fast
/// splittable pseudorandom number generators", 2014).
pub(crate) const fn mixed(number: u64) -> u64 {
    let x = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// Whether a connection may be rerun.
pub(crate) fn suits(connection: &Connection, main: &Direction) -> Result<(), Reason> {
    is_whole(connection)?;
    if main.bytes == 0 {
        return Err(("no_data", "no data was sent"));
    }
    is_at_sender(main)
}

/// A reason's name and its words.
pub(crate) type Reason = (&'static str, &'static str);

/// Whether the capture holds both directions of a connection, and its handshake.
pub(crate) fn is_whole(connection: &Connection) -> Result<(), Reason> {
    if connection.directions.iter().any(|way| way.absent) {
        return Err(("one_way", "captured in one direction only"));
    }
    if connection.opening == Opening::MidConnection {
        return Err(("no_handshake", "the capture begins within the connection"));
    }
    Ok(())
}

/// Whether a direction was captured at its sender, or near it.
pub(crate) fn is_at_sender(direction: &Direction) -> Result<(), Reason> {
    match direction.vantage {
        Vantage::Sender => Ok(()),
        _ if is_near(direction) => Ok(()),
        Vantage::Receiver => Err(("captured_at_receiver", "captured at the receiver of its data")),
        Vantage::Between => Err(("captured_on_path", "captured on the path, away from its sender")),
        Vantage::Unknown => Err(("capture_point_unknown", "the capture does not show where it was taken")),
    }
}

/// The end at which a connection was captured, or near it, by the direction that carries more data, or else by the other.
pub fn captured_end(connection: &Connection) -> Option<Host> {
    let main = main_direction(connection);
    [main, 1 - main].into_iter().find_map(|i| {
        let direction = &connection.directions[i];
        let [sender, receiver] = if i == 0 { [Host::Client, Host::Server] } else { [Host::Server, Host::Client] };
        match direction.vantage {
            Vantage::Receiver => Some(receiver),
            _ => is_at_sender(direction).is_ok().then_some(sender),
        }
    })
}

/// Whether a direction was captured so near to its sender that its times are those of the sender.
fn is_near(direction: &Direction) -> bool {
    let (Some(to_sender), Some(rtt)) = (direction.to_sender, direction.rtt) else {
        return false;
    };
    direction.vantage != Vantage::Receiver && to_sender <= rtt.p50 / NEAR
}

/// The profiles that a sender's retransmissions show, the best first, and the number that each explains.
pub(crate) fn identified(profile: &Identification) -> Vec<(String, u64)> {
    let several = match profile {
        Identification::Nothing => &[],
        Identification::Profile(one) | Identification::None(one) => std::slice::from_ref(one),
        Identification::Several(several) => several.as_slice(),
    };
    let named = several.iter().map(|one| (one.profile.clone(), one.explained));
    named.collect()
}

/// The cause that cost most time, or else the first that occurred.
fn main_cause(lost: &LostTime) -> Option<Cause> {
    let occurred = Cause::ALL.into_iter().filter(|cause| lost.times(*cause) > 0);
    occurred.reduce(|most, other| match lost.of(other) > lost.of(most) {
        true => other,
        false => most,
    })
}

impl Findings for Candidates {
    fn connection(&mut self, connection: Connection, rows: &[Retransmission]) {
        self.vantages.add(&connection);
        let mut held = take(&mut self.held);
        held.add(connection, rows, |connection, rows| self.add(&connection, rows));
        self.held = held;
    }

    fn revision(&mut self, revision: &Revision) {
        self.vantages.revised += u64::from(self.held.revise(revision));
    }
}

view!(Candidates: connections, vantages);

impl Collector for Candidates {
    fn merge(&mut self, other: Self) {
        self.rows.extend(other.rows);
        merge_fields!(self, other: connections, eligible, suited, shown, vantages);
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
pub(super) mod tests;
