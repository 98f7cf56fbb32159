//! What a capture shows of the paths between this host and each of the others.

use recoup_captures::analysis::{Collector, Vantages, View};
use recoup_captures::whatif::captured_end;
use recoup_recovery::Trigger;
use recoup_tcp::flow::Host;
use recoup_trace::analyze::Findings;
use recoup_trace::finding::{
    Cause, Connection, HeldConnections, Opening, Retransmission, Revision, RttQuantiles, Verdict,
};
use recoup_units::Instant;
use std::mem::take;
use std::net::IpAddr;
use std::time::Duration;

/// How late a timer of 1 s may be: the kernel's timer wheel has steps of 8 ticks there (kernel/time/timer.c), with HZ=250.
const LATE: Duration = Duration::from_millis(32);

/// The end of a connection that this host is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// It opened the connection: its first packet is a SYN.
    Client,
    /// It accepted it: its first packet is a SYN-ACK.
    Server,
}

/// What one connection shows, captured at this host.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    /// When it began.
    pub at: Instant,
    /// The other host.
    pub peer: IpAddr,
    /// This host's end.
    pub side: Side,
    /// The round-trip time of its handshake, if each packet of it was sent once (RFC 6298 §3, Karn's algorithm).
    pub handshake: Option<Duration>,
    /// Retransmissions of this host's SYN or SYN-ACK that the handshake waited for. A server also sends a SYN-ACK whenever the
    /// SYN comes again: those that were not needed do not count.
    pub repeats: u32,
    /// From this host's first SYN or SYN-ACK to the last of them.
    pub waited: Duration,
    /// From the first and from the last retransmission of all to the answer.
    pub answered: Option<[Duration; 2]>,
    /// The shortest round-trip time of this host's data.
    pub least_rtt: Option<Duration>,
    /// The round-trip times of this host's data, if it retransmitted none. Otherwise an ACK may have come late because the one
    /// before was lost and a retransmission drew it.
    pub data: Option<RttQuantiles>,
    /// Whether a timeout of this host retransmitted data whose ACK was late, and not lost.
    pub was_too_early: bool,
    /// The time that both ends lost.
    pub lost: Duration,
    /// The time that the other host lost, because it waited for ACKs that this host delayed.
    pub nagle: Duration,
}

impl Sample {
    /// `None` if the connection was not captured at one of its ends from its beginning.
    fn of(connection: &Connection, rows: &[Retransmission]) -> Option<Self> {
        if connection.opening != Opening::Handshake {
            return None;
        }
        let ends = connection.endpoints;
        let (side, own) = match captured_end(connection)? {
            Host::Client => (Side::Client, 0),
            Host::Server => (Side::Server, 1),
        };
        // A merged file shows the connection at several points.
        if !connection.capture_point.is_nearest_to_sender(own) {
            return None;
        }
        let (here, peer) = if own == 0 { (ends.src, ends.dst) } else { (ends.dst, ends.src) };
        let repeats: Vec<&Retransmission> = rows.iter().filter(|row| row.syn && row.endpoints.src == here).collect();
        let is_needed = |row: &&Retransmission| row.verdict == Verdict::Needed;
        let has_needed = side == Side::Server && repeats.iter().any(is_needed);
        let awaited = repeats.iter().filter(|row| !has_needed || is_needed(row));
        let answered = |row: Option<&&Retransmission>| row.and_then(|row| row.recovery);
        let [mine, theirs] = [&connection.directions[own], &connection.directions[1 - own]];
        let of_handshake = [Trigger::Syn, Trigger::SynAck].map(|one| mine.retransmissions.of_trigger(Some(one)));
        let retransmitted_data = mine.retransmissions.total() - of_handshake.iter().sum::<u64>();
        Some(Self {
            at: connection.begun,
            peer: peer.ip(),
            side,
            handshake: connection.handshake_rtt,
            repeats: awaited.clone().count() as u32,
            waited: awaited.filter_map(|row| row.detection).max().unwrap_or_default(),
            answered: answered(repeats.first()).zip(answered(repeats.last())).map(|(first, last)| [first, last]),
            least_rtt: mine.rtt.map(|rtt| rtt.min),
            data: mine.rtt.filter(|rtt| rtt.samples > 0 && retransmitted_data == 0),
            was_too_early: rows.iter().any(|row| row.endpoints.src == here && is_too_early(row)),
            lost: connection.lost().total(),
            nagle: theirs.lost.of(Cause::NagleDelayedAck),
        })
    }
}

/// Whether a timer retransmitted data before its ACK came, which was late and not lost.
fn is_too_early(row: &Retransmission) -> bool {
    let is_by_timer = matches!(row.triggers.first(), Some(Trigger::Rto | Trigger::Tlp));
    is_by_timer && row.verdict == Verdict::Spurious && row.cost.is_some_and(|cost| cost.cause == Cause::DelaySpike)
}

/// Collects the samples of a capture.
#[derive(Debug, Default)]
pub struct Samples {
    /// In the order of time.
    pub all: Vec<Sample>,
    /// Connections of the capture.
    connections: u64,
    vantages: Vantages,
    held: HeldConnections,
}

impl Samples {
    fn add(&mut self, connection: &Connection, rows: &[Retransmission]) {
        self.connections += 1;
        self.all.extend(Sample::of(connection, rows));
    }
}

impl Findings for Samples {
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

impl View for Samples {
    fn connections(&self) -> u64 {
        self.connections
    }

    fn vantages(&self) -> &Vantages {
        &self.vantages
    }
}

impl Collector for Samples {
    fn merge(&mut self, other: Self) {
        self.all.extend(other.all);
        self.connections += other.connections;
        self.vantages.merge(&other.vantages);
        self.held.merge(other.held);
    }

    fn order(&mut self) {
        let held = take(&mut self.held);
        held.release_all(|connection, rows| self.add(&connection, rows));
        self.all.sort_by_key(|sample| (sample.at, sample.peer));
    }
}

/// What the connections with a network show.
#[derive(Clone, Debug, Default)]
pub struct PathFacts {
    /// Connections.
    pub connections: u64,
    /// Those that this host opened.
    pub opened: HandshakeFacts,
    /// Those that it accepted.
    pub accepted: HandshakeFacts,
    /// The round-trip times of this host's data: one value for each connection.
    pub data: Vec<RttQuantiles>,
    /// Connections with a timeout of this host that was too early.
    pub too_early: u64,
    /// Connections whose other host waited for ACKs that this host delayed.
    pub waiters: u64,
    /// The time that those lost by it.
    pub nagle: Duration,
}

/// What the handshakes show that this host began, or that it answered.
#[derive(Clone, Debug, Default)]
pub struct HandshakeFacts {
    /// The round-trip times of handshakes whose packets were sent once, in the order of time.
    pub rtts: Vec<Duration>,
    /// Handshakes with a retransmission of this host.
    pub repeated: u64,
    /// Of those that were answered: from the first and the last retransmission to the answer, and the shortest round-trip time of
    /// their data.
    pub answered: Vec<([Duration; 2], Option<Duration>)>,
}

impl HandshakeFacts {
    fn add(&mut self, sample: &Sample) {
        self.rtts.extend(sample.handshake);
        self.repeated += u64::from(sample.repeats > 0);
        self.answered.extend(sample.answered.map(|answered| (answered, sample.least_rtt)));
    }

    /// Handshakes whose answer came too soon after each retransmission, or too late, to be the answer to it: it may have been
    /// the answer to the first packet, after a round trip that was longer than the timer. The others are losses: the time to their
    /// answer is at least half of the shortest round trip, and at most `margin` times the largest. It may differ from that by
    /// [`LATE`]: if a SYN-ACK was lost, both ends retransmit after a second, and what the other one sent comes first.
    pub fn unexplained(&self, margin: f64) -> u64 {
        let (Some(least), Some(largest)) = (self.rtts.iter().min(), self.rtts.iter().max()) else {
            return self.answered.len() as u64;
        };
        let is_explained = |(answered, own): &&([Duration; 2], Option<Duration>)| {
            let soonest = (own.unwrap_or(*least) / 2).saturating_sub(LATE);
            let explained = soonest..=largest.mul_f64(margin) + LATE;
            answered.iter().any(|answered| explained.contains(answered))
        };
        (self.answered.len() - self.answered.iter().filter(is_explained).count()) as u64
    }

    /// Handshakes.
    pub fn count(&self) -> u64 {
        self.rtts.len() as u64 + self.repeated
    }
}

impl PathFacts {
    /// What these samples show. They come in the order of time.
    pub fn of<'a>(samples: impl Iterator<Item = &'a Sample>) -> Self {
        let mut facts = Self::default();
        for sample in samples {
            facts.connections += 1;
            match sample.side {
                Side::Client => facts.opened.add(sample),
                Side::Server => facts.accepted.add(sample),
            }
            facts.data.extend(sample.data);
            facts.too_early += u64::from(sample.was_too_early);
            facts.waiters += u64::from(!sample.nagle.is_zero());
            facts.nagle += sample.nagle;
        }
        facts
    }

    /// The round-trip times of all handshakes, ascending.
    pub fn handshake_rtts(&self) -> Vec<Duration> {
        let mut all: Vec<Duration> = self.opened.rtts.iter().chain(&self.accepted.rtts).copied().collect();
        all.sort_unstable();
        all
    }
}
