//! Findings of an analysis: every retransmission with its trigger and verdict, and every connection.

mod cost;
mod ecn;
mod quic;
mod renumber;
mod revision;
mod since;

pub use cost::{Cause, EpisodeCost, LostTime, Policer, SenderState, TimeByState, WhyUnknown};
pub use ecn::{EcnCounts, EcnMode};
pub use quic::{QuicConnection, QuicTrigger};
pub use renumber::Renumbering;
pub use revision::{HeldConnections, Revision};
pub use since::Sums;

use crate::{
    follow::points::Mark,
    hosts::{TimeoutEvidence, WindowEvidence},
    read::{CapturedPacket, Tunnel},
    timeline::Timeline,
};
use recoup_recovery::Trigger;
use recoup_units::Instant;
use recoup_wire::{Endpoints, SeqNumber};
use serde::{Deserialize, Serialize};
use std::{fmt, ops::RangeInclusive, time::Duration};

/// Receives findings as connections end, in no particular order.
pub trait Findings: Send {
    /// A connection ended. Its retransmissions are ordered by frame.
    fn connection(&mut self, connection: Connection, retransmissions: &[Retransmission]);

    /// A verdict changes on a retransmission that came before with its connection. Only a
    /// [provisional](Retransmission::provisional) one is revised, perhaps more than once.
    fn revision(&mut self, revision: &Revision);

    /// A connection that is open, as it would be reported if the capture ended here. Only
    /// [`Analyzer::look`](crate::analyze::Analyzer::look) passes it on, and again whenever it looks.
    fn so_far(&mut self, connection: Connection, retransmissions: &[Retransmission]) {
        _ = (connection, retransmissions);
    }

    /// The connections over time, if [`Settings::timeline`](crate::analyze::Settings::timeline)
    /// asks for it. Retransmissions are not counted in it: their findings come one by one.
    fn timeline(&mut self, timeline: Timeline) {
        drop(timeline);
    }
}

recoup_units::named! {
    /// Where a direction was captured.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    pub enum Vantage {
        /// At its sender: the capture shows everything it sent, when it was sent.
        Sender = "sender",
        /// On the path.
        Between = "between",
        /// At its receiver: the capture shows what arrived.
        Receiver = "receiver",
        /// Unknown.
        #[default]
        Unknown = "unknown",
    }
}

recoup_units::named! {
    /// Whether a retransmission was needed. It was spurious if an earlier copy delivered every byte of
    /// it, even one that arrived later.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    pub enum Verdict {
        /// No earlier copy delivered some of its bytes.
        Needed = "needed",
        /// Earlier copies delivered all of its bytes.
        Spurious = "spurious",
        /// The capture does not show it.
        #[default]
        Unknowable = "unknowable",
    }
}

recoup_units::named! {
    /// Evidence for a verdict.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    pub enum Evidence {
        /// The receiver reported a duplicate (RFC 2883).
        Dsack = "dsack",
        /// The echoed timestamp shows which copy arrived (RFC 3522, RFC 7323).
        TimestampEcho = "timestamp_echo",
        /// It was acknowledged before it can have arrived.
        AckTooEarly = "ack_too_early",
        /// It was acknowledged when it can have arrived, and the receiver reported no duplicate. If the
        /// receiver never does, it filled a hole just when it was due.
        NoDuplicate = "no_duplicate",
        /// The capture shows another copy arriving.
        CopySeen = "copy_seen",
        /// The capture shows arrivals, and no earlier copy; or it carries bytes never sent before.
        NoCopySeen = "no_copy_seen",
        /// None: the capture holds no ACK of it.
        NotAcknowledged = "not_acknowledged",
        /// None: the receiver reports no duplicates, and no echo identifies the copy that arrived.
        NoReports = "no_reports",
        /// None: it looks like a first transmission.
        LooksFirst = "looks_first",
        /// None: the reports contradict each other, or have several explanations.
        #[default]
        Ambiguous = "ambiguous",
    }
}

impl Evidence {
    /// The evidence in words, beside a verdict.
    pub const fn reason(self) -> &'static str {
        match self {
            Self::Dsack => "the receiver reported a duplicate (DSACK)",
            Self::TimestampEcho => "the echoed timestamp shows which copy arrived",
            Self::AckTooEarly => "it was acknowledged before it can have arrived",
            Self::NoDuplicate => "it was acknowledged in time, and no duplicate was reported",
            Self::CopySeen => "the capture shows another copy arriving",
            Self::NoCopySeen => "the capture shows no earlier copy arriving",
            Self::NotAcknowledged => "the capture holds no ACK of it",
            Self::NoReports => "the receiver reports no duplicates",
            Self::LooksFirst => "it looks like a first transmission",
            Self::Ambiguous => "the receiver's reports have several explanations",
        }
    }
}

/// Why a segment was retransmitted: one trigger, two if nothing distinguishes two timers, or none if
/// unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Triggers {
    first: Option<Trigger>,
    second: Option<Trigger>,
    /// How a QUIC sender says it.
    #[serde(skip)]
    quic: Option<QuicTrigger>,
}

impl Triggers {
    /// Unknown.
    pub const UNKNOWN: Self = Self { first: None, second: None, quic: None };

    /// Two timers that nothing distinguishes.
    pub const fn either(first: Trigger, second: Trigger) -> Self {
        Self { first: Some(first), second: Some(second), quic: None }
    }

    /// Of a QUIC sender. A threshold stands for fast recovery, and a probe for a tail loss probe.
    pub(crate) const fn of_quic(quic: QuicTrigger) -> Self {
        let first = match quic {
            QuicTrigger::PacketThreshold | QuicTrigger::TimeThreshold => Some(Trigger::Fast),
            QuicTrigger::Probe => Some(Trigger::Tlp),
            QuicTrigger::Unknown => None,
        };
        Self { first, second: None, quic: Some(quic) }
    }

    /// The trigger, or the first of two; `None` if unknown.
    pub const fn first(self) -> Option<Trigger> {
        self.first
    }

    /// How a QUIC sender says it; `None` for TCP.
    pub const fn quic(self) -> Option<QuicTrigger> {
        self.quic
    }

    /// All of them.
    pub fn iter(self) -> impl Iterator<Item = Trigger> {
        self.first.into_iter().chain(self.second)
    }
}

impl From<Trigger> for Triggers {
    fn from(trigger: Trigger) -> Self {
        Self { first: Some(trigger), second: None, quic: None }
    }
}

impl fmt::Display for Triggers {
    /// For example `rto`, `tlp|rto` or `unknown`; of a QUIC sender, for example `time_threshold`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(quic) = self.quic {
            return f.write_str(quic.name());
        }
        match (self.first, self.second) {
            (None, _) => f.write_str("unknown"),
            (Some(one), None) => f.write_str(one.name()),
            (Some(one), Some(two)) => write!(f, "{}|{}", one.name(), two.name()),
        }
    }
}

/// A connection whose capture points cannot be told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Inseparable {
    /// A frame of it.
    pub frame: u64,
    /// Its ends.
    pub endpoints: Endpoints,
    /// Why the points cannot be told apart.
    pub why: WhyInseparable,
}

/// Why the capture points of a connection cannot be told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum WhyInseparable {
    /// Its packets have neither timestamps nor IP identifications.
    Unidentified,
    /// The capture does not hold its handshake.
    NoHandshake,
    /// The clocks of the captures differ by more than the path delay.
    Clocks,
}

impl fmt::Display for WhyInseparable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unidentified => {
                "their packets have neither timestamps nor IP identifications, so that copies and retransmissions look the same"
            }
            Self::NoHandshake => "the capture does not hold their handshake",
            Self::Clocks => "the clocks of the captures differ by more than the path delay",
        })
    }
}

/// Which of several captures, merged into one file, holds a connection.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CapturePoint {
    /// Its place on the path: 0 is nearest to the end that opened the connection, or that sent the
    /// first packet.
    pub number: u32,
    /// The number of capture points; 1 unless the file is merged.
    pub count: u32,
    /// The delay of the path between the first and the last point, if the file shows it.
    pub apart: Option<Duration>,
    /// The marks of each direction's packets, if the file is merged.
    pub(crate) marks: [Vec<Mark>; 2],
}

impl Default for CapturePoint {
    fn default() -> Self {
        Self { number: 0, count: 1, apart: None, marks: [const { Vec::new() }; 2] }
    }
}

impl CapturePoint {
    /// Whether it may hold a packet of its connection. `direction`: 0 for what `src` sends, 1 for
    /// what `dst` sends.
    pub fn holds(&self, direction: usize, packet: &CapturedPacket) -> bool {
        let marks = &self.marks[direction];
        marks.is_empty() || marks.contains(&Mark::of(packet))
    }

    /// Whether of all points it is the nearest to the sender of a direction: 0 for what `src` sends,
    /// 1 for what `dst` sends.
    pub fn is_nearest_to_sender(&self, direction: usize) -> bool {
        match direction {
            0 => self.number == 0,
            _ => self.number + 1 >= self.count,
        }
    }
}

/// A retransmitted segment.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Retransmission {
    /// Its frame in the capture, from 1.
    pub frame: u64,
    /// When it was captured: nanoseconds since 1970.
    pub at: Instant,
    /// Its [`Connection::id`].
    pub connection: u64,
    /// Its sender and receiver.
    pub endpoints: Endpoints,
    /// The sequence number in its header.
    pub seq: SeqNumber,
    /// Payload bytes.
    pub len: u32,
    /// It carries a SYN.
    pub syn: bool,
    /// It carries a FIN.
    pub fin: bool,
    /// Why it was sent.
    pub triggers: Triggers,
    /// Whether it was needed.
    pub verdict: Verdict,
    /// Evidence for the verdict.
    pub evidence: Evidence,
    /// 1 for the first retransmission of its first byte, 2 for the second.
    pub copy: u16,
    /// From the first transmission of its first byte to this one, if the capture holds that.
    pub detection: Option<Duration>,
    /// From this packet to the ACK of the highest byte sent before it, if the capture holds that.
    pub recovery: Option<Duration>,
    /// The moving average of the round-trip time when it was sent (weight 1/4 for each sample, as
    /// in the 2007 study). Times in RTTs are divided by it.
    pub rtt: Option<Duration>,
    /// Segments outstanding when it was sent.
    pub flight: u32,
    /// Where its direction was captured.
    pub vantage: Vantage,
    /// The verdict depends on whether the receiver reports duplicates, which is not proven yet. A
    /// [`Revision`] may follow.
    pub provisional: bool,
    /// The [`CapturePoint::number`] of its connection.
    pub capture_point: u32,
    /// Cost of its episode, if it is the first retransmission of one.
    pub cost: Option<EpisodeCost>,
}

impl Retransmission {
    /// The [`Connection::key`] of its connection.
    pub fn connection_key(&self) -> ConnectionKey {
        (self.connection, self.capture_point)
    }

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

/// Round-trip times between the capture point and the receiver of the data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RttQuantiles {
    /// The number of samples.
    pub samples: u64,
    /// The minimum.
    pub min: Duration,
    /// The median.
    pub p50: Duration,
    /// The 90th percentile.
    pub p90: Duration,
    /// The 99th percentile.
    pub p99: Duration,
    /// The maximum.
    pub max: Duration,
    /// The mean.
    pub mean: Duration,
}

/// Which profile a sender behaves like.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub enum Identification {
    /// Unknown: it retransmitted nothing that shows it, or was not captured at the sender.
    #[default]
    Nothing,
    /// One profile explains the most retransmissions.
    Profile(Explanation),
    /// Several profiles explain equally many, best first, the most widespread first among equals.
    Several(Vec<Explanation>),
    /// No profile explains even half of them. This one explains the most.
    None(Explanation),
}

impl Identification {
    /// Several profiles of which one is left are one profile.
    pub(crate) fn unwrap_single(&mut self) {
        if let Self::Several(several) = self
            && several.len() == 1
            && let Some(one) = several.pop()
        {
            *self = Self::Profile(one);
        }
    }

    /// The best explanation.
    pub fn best(&self) -> Option<&Explanation> {
        match self {
            Self::Nothing => None,
            Self::Profile(one) | Self::None(one) => Some(one),
            Self::Several(several) => several.first(),
        }
    }
}

/// How well a profile explains a sender's retransmissions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Explanation {
    /// The profile's name.
    pub profile: String,
    /// Retransmissions that the profile would have sent at that time and for that reason.
    pub explained: u64,
    /// Retransmissions that were replayed, and those that the profile would have sent besides.
    pub of: u64,
}

impl Explanation {
    /// The share explained, 0 to 1.
    pub fn score(&self) -> f64 {
        self.explained as f64 / self.of.max(1) as f64
    }
}

recoup_units::named! {
    /// How a connection begins in the capture.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
    pub enum Opening {
        /// With a SYN.
        Handshake = "handshake",
        /// Without one: the capture began later.
        MidConnection = "mid_connection",
    }
}

recoup_units::named! {
    /// How a connection ends in the capture.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
    pub enum Closing {
        /// Both FINs were acknowledged.
        Closed = "closed",
        /// One end sent a reset.
        Reset = "reset",
        /// It was silent for too long.
        Idle = "idle",
        /// Another connection began between the same ends.
        Replaced = "replaced",
        /// Too many connections were open.
        Evicted = "evicted",
        /// The capture ended first.
        CaptureEnd = "capture_end",
    }
}

/// A connection in a capture.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Connection {
    /// Connections are numbered from 0 in the order of their first packets. This equals Wireshark's
    /// `tcp.stream` as long as both separate successive connections at the same packets.
    pub id: u64,
    /// `src` opened the connection. Without a SYN, `src` sent the first packet.
    pub endpoints: Endpoints,
    /// How it begins.
    pub opening: Opening,
    /// How it ends.
    pub closing: Closing,
    /// Its first and last frame.
    pub frames: RangeInclusive<u64>,
    /// When its first packet was captured.
    pub begun: Instant,
    /// When its last packet was captured, by a clock that was not set in between.
    pub ended: Instant,
    /// Packets of both directions.
    pub packets: u64,
    /// From the SYN to the ACK that completes the handshake, if each of its packets was sent once.
    pub handshake_rtt: Option<Duration>,
    /// Whether SACK is in use: both SYNs permit it, or an ACK carries SACK blocks. `None` if the capture
    /// shows neither that nor a SYN that does not permit it.
    pub sack: Option<bool>,
    /// The explicit congestion notification that both ends agreed on, as far as the capture shows it.
    pub ecn: Option<EcnMode>,
    /// The capture point that the findings apply to. A merged file has a connection for each.
    pub capture_point: CapturePoint,
    /// The tunnels of the packets from `src`, and from `dst`, if connections between the same ends in other tunnels
    /// were open at the same time; otherwise empty.
    pub tunnels: [Vec<Tunnel>; 2],
    /// Data from `src`, and from `dst`.
    pub directions: [Direction; 2],
    /// What a trace of QUIC shows besides; `None`: it is a connection of TCP.
    #[serde(skip)]
    pub quic: Option<Box<QuicConnection>>,
}

/// A connection's number, and the number of the capture point. A merged file has one number for
/// several capture points.
pub type ConnectionKey = (u64, u32);

impl Connection {
    /// Key that is unique in the file.
    pub fn key(&self) -> ConnectionKey {
        (self.id, self.capture_point.number)
    }

    /// The tunnel that tells it from connections between the same ends, if there are several.
    pub fn tunnel(&self) -> Option<Tunnel> {
        self.tunnels.iter().flatten().copied().find(|tunnel| !tunnel.is_none())
    }

    /// Its ends, as in `192.0.2.1:40000 > 192.0.2.2:80`, and the [tunnel](Self::tunnel) if one tells it apart. A connection of
    /// QUIC also has its connection ID.
    pub fn name(&self) -> String {
        let about = match &self.quic {
            Some(quic) => Some(quic.name.clone()).filter(|name| !name.is_empty()),
            None => self.tunnel().map(|tunnel| tunnel.to_string()),
        };
        let ends = format!("{} > {}", self.end_name(0), self.end_name(1));
        match about {
            None => ends,
            Some(about) => format!("{ends} ({about})"),
        }
    }

    /// The name of an end: its address and port, or what it is if a trace does not have these. 0 for `src`, 1 for `dst`.
    pub fn end_name(&self, side: usize) -> String {
        match &self.quic {
            Some(quic) if !quic.has_addresses => QuicConnection::end(side).into(),
            _ if side == 0 => self.endpoints.src.to_string(),
            _ => self.endpoints.dst.to_string(),
        }
    }

    /// The end that sent a retransmission of it: 0 for `src`, 1 for `dst`.
    pub fn sender_of(&self, row: &Retransmission) -> usize {
        match &self.quic {
            Some(quic) => quic.traced,
            None => usize::from(row.endpoints.src != self.endpoints.src),
        }
    }

    /// From the first packet to the last.
    pub fn duration(&self) -> Duration {
        self.ended.since(self.begun)
    }

    /// The time that both directions lost. No moment counts twice.
    pub fn lost(&self) -> LostTime {
        let mut lost = self.directions[0].lost;
        lost.merge(&self.directions[1].lost);
        lost
    }
}

/// On which side of the capture point packets were lost, by retransmissions that were needed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlacedLosses {
    /// The capture holds no earlier copy: it was lost between the sender and the capture point.
    pub before: u64,
    /// The capture holds an earlier copy, which the receiver did not get: it was lost behind the capture point.
    pub behind: u64,
}

/// Lost segments by whether a queue on the path was full when they were sent, as the round trips beside them show. The rules are
/// in `cost::queue`, and in docs/explain.md.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueueLosses {
    /// Lost while round trips were longest: a full queue dropped them.
    pub full: u64,
    /// Lost while round trips were clearly shorter than that: something else dropped them.
    pub not_full: u64,
    /// The capture does not show it.
    pub unknown: u64,
    /// The median round trip beside the losses by a full queue; `None` without one.
    pub full_rtt: Option<Duration>,
}

/// Data sent by one end of a connection.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Direction {
    /// Where it was captured.
    pub vantage: Vantage,
    /// The capture holds none of its packets.
    pub absent: bool,
    /// Packets with payload, SYN or FIN.
    pub segments: u64,
    /// Payload bytes, including retransmissions.
    pub bytes: u64,
    /// Retransmissions by trigger and verdict.
    pub retransmissions: Tally,
    /// Packets that the network or the capture duplicated: the same in all TCP fields and in the IP
    /// identification, if there is one, and soon after each other. Also counted in `segments`.
    pub duplicates: u64,
    /// Keep-alives and window probes. They are no retransmissions.
    pub probes: u64,
    /// Away from its sender: needed retransmissions of what was lost on either side of the capture point.
    pub losses: PlacedLosses,
    /// Its losses by whether a queue was full.
    pub queue_losses: QueueLosses,
    /// Bytes of the sequence space that the capture does not hold.
    pub missing: u64,
    /// Packets that do not belong to the connection: sequence numbers far from its own, resets
    /// beyond the window.
    pub foreign: u64,
    /// How often its receiver discarded data that it had reported by SACK (RFC 2018 §8).
    pub reneged: u32,
    /// Most SACK blocks of its receiver report what was never sent: a middlebox changed the sequence numbers, and not the
    /// blocks. No verdict or trigger rests on them.
    pub unusable_sack: bool,
    /// Its receiver's window scale is unknown: the capture does not hold the handshake.
    pub unknown_window_scale: bool,
    /// Marks that stand for congestion.
    pub ecn: EcnCounts,
    /// The shortest round-trip time between the capture point and its sender, which includes the time
    /// the sender took to answer; `None` if it answered nothing.
    pub to_sender: Option<Duration>,
    /// Round-trip times of its data; `None` without samples.
    pub rtt: Option<RttQuantiles>,
    /// The profile its sender behaves like.
    pub profile: Identification,
    /// Evidence about its congestion window from its recoveries; none unless captured at the sender.
    pub window: WindowEvidence,
    /// When its timers fired, against the RTO of its profile; none unless captured at the sender.
    pub timeouts: TimeoutEvidence,
    /// The least RTO of its host (the term added to SRTT), where that seems to be set to another than 200 ms.
    pub least_rto: Option<Duration>,
    /// Recoveries: each lasts from a retransmission to the ACK of everything sent before it.
    pub episodes: u32,
    /// Time spent detecting losses, real or not, and recovering from them, as the 2007 study counts it: from the first
    /// transmission of what was lost to the ACK that ends the recovery. Most of it passes without a loss as well:
    /// [`lost`](Self::lost) is what a loss cost.
    pub detecting_and_recovering: Duration,
    /// Its life, from the connection's first packet to the last, divided by the sender's state.
    pub time: TimeByState,
    /// The time it lost, by cause.
    pub lost: LostTime,
    /// The late ACKs that lost most of it, at most 20, in order.
    pub late_acks: Vec<LateAckFound>,
    /// The policer that its losses show.
    pub policer: Option<Policer>,
    /// Explaining all of it would have cost too much time: some triggers are unknown, and some
    /// verdicts stay open.
    pub too_costly: bool,
}

/// An ACK that came late without a retransmission.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LateAckFound {
    /// Its frame in the capture.
    pub frame: u64,
    /// When it was captured.
    pub at: Instant,
    /// How much later it came than it was due. Where both directions lost the same time, this is more than what counts.
    pub lost: Duration,
    /// [`Cause::DelaySpike`] or [`Cause::LostAcks`].
    pub cause: Cause,
}

/// Retransmissions by trigger (the last row: unknown) and verdict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally([[u64; Verdict::ALL.len()]; Trigger::ALL.len() + 1]);

impl Tally {
    /// Counts one retransmission. Of two triggers, the first counts.
    pub fn add(&mut self, triggers: Triggers, verdict: Verdict) {
        self.0[Self::row(triggers.first())][verdict as usize] += 1;
    }

    /// The verdict on a retransmission that was counted is no longer `from`, but `to`.
    pub fn change(&mut self, triggers: Triggers, from: Verdict, to: Verdict) {
        let row = &mut self.0[Self::row(triggers.first())];
        if row[from as usize] > 0 {
            row[from as usize] -= 1;
            row[to as usize] += 1;
        }
    }

    /// Adds another tally.
    pub fn merge(&mut self, other: &Self) {
        for (mine, theirs) in self.0.iter_mut().zip(&other.0) {
            for (mine, theirs) in mine.iter_mut().zip(theirs) {
                *mine += theirs;
            }
        }
    }

    /// Takes away an earlier state of the same counts.
    fn subtract(&mut self, earlier: &Self) {
        for (mine, earlier) in self.0.iter_mut().flatten().zip(earlier.0.iter().flatten()) {
            *mine = mine.saturating_sub(*earlier);
        }
    }

    /// Retransmissions with this trigger (`None`: unknown) and verdict.
    pub fn count(&self, trigger: Option<Trigger>, verdict: Verdict) -> u64 {
        self.0[Self::row(trigger)][verdict as usize]
    }

    /// Retransmissions with this trigger; `None`: unknown.
    pub fn of_trigger(&self, trigger: Option<Trigger>) -> u64 {
        self.0[Self::row(trigger)].iter().sum()
    }

    /// Retransmissions with this verdict.
    pub fn of_verdict(&self, verdict: Verdict) -> u64 {
        self.0.iter().map(|row| row[verdict as usize]).sum()
    }

    /// All retransmissions.
    pub fn total(&self) -> u64 {
        self.0.iter().flatten().sum()
    }

    fn row(trigger: Option<Trigger>) -> usize {
        trigger.map_or(Trigger::ALL.len(), |trigger| trigger as usize)
    }
}
