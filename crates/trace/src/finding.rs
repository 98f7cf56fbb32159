//! What an analysis finds: every retransmission with its trigger and its necessity, and what every
//! connection was like.

use recoup_recovery::Trigger;
use recoup_units::Instant;
use recoup_wire::{Endpoints, SeqNumber};
use std::fmt;
use std::ops::RangeInclusive;
use std::time::Duration;

/// Where data going one way was captured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Vantage {
    /// At its sender: everything it sent is seen, when it was sent.
    Sender,
    /// Somewhere on the path.
    Between,
    /// At its receiver: what is seen has arrived.
    Receiver,
    /// Nothing tells.
    #[default]
    Unknown,
}

impl Vantage {
    /// Every vantage, in the order of reports.
    pub const ALL: [Self; 4] = [Self::Sender, Self::Between, Self::Receiver, Self::Unknown];

    /// The name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sender => "sender",
            Self::Between => "between",
            Self::Receiver => "receiver",
            Self::Unknown => "unknown",
        }
    }
}

/// Whether a retransmission was necessary: spurious if every byte of it had been delivered by an
/// earlier copy, even one that arrived after it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Verdict {
    /// Some of it was delivered by no earlier copy.
    Needed,
    /// All of it was.
    Spurious,
    /// The capture does not tell.
    #[default]
    Unknowable,
}

impl Verdict {
    /// Every verdict, in the order of reports.
    pub const ALL: [Self; 3] = [Self::Needed, Self::Spurious, Self::Unknowable];

    /// The name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Needed => "needed",
            Self::Spurious => "spurious",
            Self::Unknowable => "unknowable",
        }
    }
}

/// What a verdict rests on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Evidence {
    /// The receiver reported a duplicate arrival (RFC 2883).
    Dsack,
    /// The timestamp echoed tells which copy arrived (RFC 3522, RFC 7323).
    TimestampEcho,
    /// It was acknowledged sooner than its own arrival could be.
    AckTooEarly,
    /// It was acknowledged when its own arrival would be, by a receiver that reports duplicates and
    /// reported none.
    NoDuplicate,
    /// Another copy was seen arriving.
    CopySeen,
    /// No earlier copy arrived where arrivals are seen; or it carries bytes never sent before.
    NoCopySeen,
    /// Nothing: it was never acknowledged within the capture.
    NotAcknowledged,
    /// Nothing: the receiver reports no duplicates and echoes no timestamps.
    NoReports,
    /// Nothing: it looks like a first transmission.
    LooksFirst,
    /// Nothing: the reports contradict each other, or fit several stories.
    #[default]
    Ambiguous,
}

impl Evidence {
    /// Every kind of evidence, in the order of reports.
    pub const ALL: [Self; 10] = [
        Self::Dsack,
        Self::TimestampEcho,
        Self::AckTooEarly,
        Self::NoDuplicate,
        Self::CopySeen,
        Self::NoCopySeen,
        Self::NotAcknowledged,
        Self::NoReports,
        Self::LooksFirst,
        Self::Ambiguous,
    ];

    /// The name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Dsack => "dsack",
            Self::TimestampEcho => "timestamp_echo",
            Self::AckTooEarly => "ack_too_early",
            Self::NoDuplicate => "no_duplicate",
            Self::CopySeen => "copy_seen",
            Self::NoCopySeen => "no_copy_seen",
            Self::NotAcknowledged => "not_acknowledged",
            Self::NoReports => "no_reports",
            Self::LooksFirst => "looks_first",
            Self::Ambiguous => "ambiguous",
        }
    }
}

/// Why a segment was sent again: one trigger, two where two timers fire at one instant, or none that is
/// known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Triggers {
    first: Option<Trigger>,
    second: Option<Trigger>,
}

impl Triggers {
    /// Not known.
    pub const UNKNOWN: Self = Self {
        first: None,
        second: None,
    };

    /// Two timers fired at one instant.
    pub const fn either(first: Trigger, second: Trigger) -> Self {
        Self {
            first: Some(first),
            second: Some(second),
        }
    }

    /// The trigger, the first of two; `None` where it is not known.
    pub const fn first(self) -> Option<Trigger> {
        self.first
    }

    /// All of them.
    pub fn iter(self) -> impl Iterator<Item = Trigger> {
        self.first.into_iter().chain(self.second)
    }
}

impl From<Trigger> for Triggers {
    fn from(trigger: Trigger) -> Self {
        Self {
            first: Some(trigger),
            second: None,
        }
    }
}

impl fmt::Display for Triggers {
    /// `rto`, `tlp|rto`, `unknown`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.first, self.second) {
            (None, _) => f.write_str("unknown"),
            (Some(one), None) => f.write_str(one.name()),
            (Some(one), Some(two)) => write!(f, "{}|{}", one.name(), two.name()),
        }
    }
}

/// A segment sent again.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Retransmission {
    /// Its frame in the capture, from 1.
    pub frame: u64,
    /// When it was captured: nanoseconds since 1970.
    pub at: Instant,
    /// Its [`Connection::id`].
    pub connection: u64,
    /// Its sender and its receiver.
    pub endpoints: Endpoints,
    /// The sequence number in its header.
    pub seq: SeqNumber,
    /// Payload bytes.
    pub len: u32,
    /// It carries the SYN.
    pub syn: bool,
    /// It carries the FIN.
    pub fin: bool,
    /// Why it was sent.
    pub triggers: Triggers,
    /// Whether it was necessary.
    pub verdict: Verdict,
    /// What the verdict rests on.
    pub evidence: Evidence,
    /// 1 for the first retransmission of its first byte, 2 for the second.
    pub copy: u16,
    /// From the first transmission of its first byte to this one, where that is in the capture.
    pub detection: Option<Duration>,
    /// From here to the ACK of the highest byte sent before, where that is in the capture.
    pub recovery: Option<Duration>,
    /// The moving average of the round-trip time when it was sent (weight 1/4 for each sample, as in
    /// the 2007 study): what "in RTTs" divides by.
    pub rtt: Option<Duration>,
    /// Segments outstanding when it was sent.
    pub flight: u32,
    /// Where its direction was captured.
    pub vantage: Vantage,
}

impl Retransmission {
    /// [`detection`](Self::detection) in round-trip times.
    pub fn detection_rtts(&self) -> Option<f64> {
        in_rtts(self.detection, self.rtt)
    }

    /// [`recovery`](Self::recovery) in round-trip times.
    pub fn recovery_rtts(&self) -> Option<f64> {
        in_rtts(self.recovery, self.rtt)
    }
}

fn in_rtts(time: Option<Duration>, rtt: Option<Duration>) -> Option<f64> {
    let rtt = rtt.filter(|rtt| !rtt.is_zero())?;
    Some(time?.as_secs_f64() / rtt.as_secs_f64())
}

/// Round-trip times measured between the place of capture and the receiver of the data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RttQuantiles {
    /// Samples taken.
    pub samples: u64,
    /// The least.
    pub min: Duration,
    /// The median.
    pub p50: Duration,
    /// The 90th percentile.
    pub p90: Duration,
    /// The 99th percentile.
    pub p99: Duration,
    /// The largest.
    pub max: Duration,
    /// The mean.
    pub mean: Duration,
}

/// Whose behaviour a sender's retransmissions are.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Identification {
    /// It sent nothing again that could tell, or its vantage does not let its timing be seen.
    #[default]
    Nothing,
    /// One profile explains most.
    Profile(Explanation),
    /// Several explain as much, best first, the most likely one first among equals.
    Ambiguous(Vec<Explanation>),
    /// None explains even half.
    None(Explanation),
}

impl Identification {
    /// The best explanation, ambiguous or not.
    pub fn best(&self) -> Option<&Explanation> {
        match self {
            Self::Nothing => None,
            Self::Profile(one) | Self::None(one) => Some(one),
            Self::Ambiguous(several) => several.first(),
        }
    }
}

/// How well a profile explains what was sent again.
#[derive(Clone, Debug, PartialEq)]
pub struct Explanation {
    /// The profile's name.
    pub profile: String,
    /// Retransmissions sent when and because the profile would have.
    pub explained: u64,
    /// Retransmissions put to it, and those it would have sent besides.
    pub of: u64,
}

impl Explanation {
    /// The share explained, 0 to 1.
    pub fn score(&self) -> f64 {
        self.explained as f64 / self.of.max(1) as f64
    }
}

/// How a connection's packets begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Opening {
    /// With a SYN.
    Handshake,
    /// Later: the capture was begun after it.
    MidConnection,
}

impl Opening {
    /// The name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Handshake => "handshake",
            Self::MidConnection => "mid_connection",
        }
    }
}

/// How they end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Closing {
    /// Both FINs were acknowledged.
    Closed,
    /// A reset came.
    Reset,
    /// Nothing came for long, so that it was no longer waited for.
    Idle,
    /// Another connection began between the same ends.
    Replaced,
    /// Too many connections were open at once; this one was let go.
    Evicted,
    /// The capture ended first.
    CaptureEnd,
}

impl Closing {
    /// Every way, in the order of reports.
    pub const ALL: [Self; 6] = [
        Self::Closed,
        Self::Reset,
        Self::Idle,
        Self::Replaced,
        Self::Evicted,
        Self::CaptureEnd,
    ];

    /// The name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::Reset => "reset",
            Self::Idle => "idle",
            Self::Replaced => "replaced",
            Self::Evicted => "evicted",
            Self::CaptureEnd => "capture_end",
        }
    }
}

/// A connection as captured.
#[derive(Clone, Debug, PartialEq)]
pub struct Connection {
    /// Connections are numbered from 0 in the order of their first packets. Wireshark's `tcp.stream` is the
    /// same as long as both see one connection end and the next begin at the same packets.
    pub id: u64,
    /// `src` opened it, or, where no SYN was seen, sent the first packet seen.
    pub endpoints: Endpoints,
    /// How its packets begin.
    pub opening: Opening,
    /// How they end.
    pub closing: Closing,
    /// The frames of its packets: the first to the last.
    pub frames: RangeInclusive<u64>,
    /// The first packet.
    pub begun: Instant,
    /// The last one, by a clock that was not set in between.
    pub ended: Instant,
    /// Packets, both ways.
    pub packets: u64,
    /// From the SYN to the ACK that completes the handshake, where none of its packets was sent twice.
    pub handshake_rtt: Option<Duration>,
    /// What `src` sent, and what `dst` sent.
    pub directions: [Direction; 2],
}

impl Connection {
    /// First packet to last.
    pub fn duration(&self) -> Duration {
        self.ended.since(self.begun)
    }
}

/// What one end of a connection sent.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Direction {
    /// Where it was captured.
    pub vantage: Vantage,
    /// None of its packets is in the capture.
    pub absent: bool,
    /// Packets with payload, SYN or FIN.
    pub segments: u64,
    /// Payload bytes, retransmissions included.
    pub bytes: u64,
    /// Retransmissions, by trigger and verdict.
    pub retransmissions: Tally,
    /// Packets the network or the capture doubled: alike in everything TCP says and in the IP identification,
    /// where there is one, and soon after one another. Counted among `segments` as well.
    pub doubled: u64,
    /// Segments that probe whether the peer is alive or its window still shut; not retransmissions.
    pub probes: u64,
    /// Bytes of the sequence space that never were in the capture.
    pub missing: u64,
    /// Packets that cannot be of this connection: sequence numbers far from its own, resets beyond the
    /// window.
    pub foreign: u64,
    /// Round-trip times of its data; `None` without samples.
    pub rtt: Option<RttQuantiles>,
    /// Whose behaviour its retransmissions are.
    pub profile: Identification,
    /// Stretches of loss recovery: from a retransmission to the ACK of what was sent before it.
    pub episodes: u32,
    /// Time in which some loss, real or not, was being detected or recovered from.
    pub recovering: Duration,
}

/// Retransmissions by trigger (the last row: unknown) and verdict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally([[u64; Verdict::ALL.len()]; Trigger::ALL.len() + 1]);

impl Tally {
    /// Counts one. Of two triggers the first counts.
    pub fn add(&mut self, triggers: Triggers, verdict: Verdict) {
        self.0[Self::row(triggers.first())][verdict as usize] += 1;
    }

    /// Adds another tally to this.
    pub fn merge(&mut self, other: &Self) {
        for (mine, theirs) in self.0.iter_mut().zip(&other.0) {
            for (mine, theirs) in mine.iter_mut().zip(theirs) {
                *mine += theirs;
            }
        }
    }

    /// How many there are of one kind; `None`: unknown.
    pub fn count(&self, trigger: Option<Trigger>, verdict: Verdict) -> u64 {
        self.0[Self::row(trigger)][verdict as usize]
    }

    /// All of one trigger; `None`: unknown.
    pub fn of_trigger(&self, trigger: Option<Trigger>) -> u64 {
        self.0[Self::row(trigger)].iter().sum()
    }

    /// All of one verdict.
    pub fn of_verdict(&self, verdict: Verdict) -> u64 {
        self.0.iter().map(|row| row[verdict as usize]).sum()
    }

    /// All.
    pub fn total(&self) -> u64 {
        self.0.iter().flatten().sum()
    }

    fn row(trigger: Option<Trigger>) -> usize {
        trigger.map_or(Trigger::ALL.len(), |trigger| trigger as usize)
    }
}
