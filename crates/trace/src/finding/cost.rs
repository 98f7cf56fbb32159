//! Where a direction's time went, and how much of it was lost to what.

use serde::{Deserialize, Serialize};
use std::time::Duration;

/// State of a sender: its activity, or the reason it waits. Where two apply, the one that comes first here takes the
/// time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum SenderState {
    /// The handshake was not complete.
    Connecting,
    /// It recovered from a loss, real or not.
    Recovering,
    /// The receiver's window was 0, and data waited.
    ZeroWindow,
    /// The receiver's window had no room for the next segment.
    ReceiverWindow,
    /// The send buffer was full of data in flight, and the application waited for room in it.
    SenderBuffer,
    /// Data was in flight: the congestion window or the path's rate set the pace.
    Network,
    /// The application had nothing to send.
    Application,
    /// It had sent its FIN, and at most that was in flight.
    Closing,
    /// The capture does not show it.
    Unknown,
}

impl SenderState {
    /// All states, in the order of precedence.
    pub const ALL: [Self; 9] = [
        Self::Connecting,
        Self::Recovering,
        Self::ZeroWindow,
        Self::ReceiverWindow,
        Self::SenderBuffer,
        Self::Network,
        Self::Application,
        Self::Closing,
        Self::Unknown,
    ];

    /// The name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Connecting => "connecting",
            Self::Recovering => "recovering",
            Self::ZeroWindow => "zero_window",
            Self::ReceiverWindow => "receiver_window",
            Self::SenderBuffer => "sender_buffer",
            Self::Network => "network",
            Self::Application => "application",
            Self::Closing => "closing",
            Self::Unknown => "unknown",
        }
    }
}

/// Why a sender's state is unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum WhyUnknown {
    /// The capture begins within the connection: what was in flight before is not known.
    CaptureBegins,
    /// The capture holds no packet of one direction.
    OneDirection,
    /// Packets are missing from the capture.
    PacketsMissing,
}

impl WhyUnknown {
    /// All reasons, in the order of reports.
    pub const ALL: [Self; 3] = [Self::CaptureBegins, Self::OneDirection, Self::PacketsMissing];

    /// The name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::CaptureBegins => "capture_begins",
            Self::OneDirection => "one_direction",
            Self::PacketsMissing => "packets_missing",
        }
    }
}

/// The life of a direction, divided by the sender's state. The parts add up to the whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimeByState {
    nanos: [u64; SenderState::ALL.len()],
    /// The unknown time, by reason.
    unknown: [u64; WhyUnknown::ALL.len()],
}

impl TimeByState {
    /// Adds time in a state other than [`Unknown`](SenderState::Unknown).
    pub fn add(&mut self, state: SenderState, nanos: u64) {
        self.nanos[state as usize] += nanos;
    }

    /// Adds time in an unknown state.
    pub fn add_unknown(&mut self, why: WhyUnknown, nanos: u64) {
        self.nanos[SenderState::Unknown as usize] += nanos;
        self.unknown[why as usize] += nanos;
    }

    /// Time taken for recovery was the network's.
    pub(crate) fn withdraw_recovery(&mut self, time: Duration) {
        let recovering = &mut self.nanos[SenderState::Recovering as usize];
        let nanos = (time.as_nanos() as u64).min(*recovering);
        *recovering -= nanos;
        self.add(SenderState::Network, nanos);
    }

    /// Adds the time of another direction.
    pub fn merge(&mut self, other: &Self) {
        let mine = self.nanos.iter_mut().chain(&mut self.unknown);
        for (mine, theirs) in mine.zip(other.nanos.iter().chain(&other.unknown)) {
            *mine += theirs;
        }
    }

    /// The time in a state.
    pub fn of(&self, state: SenderState) -> Duration {
        Duration::from_nanos(self.nanos[state as usize])
    }

    /// The time in unknown states for this reason.
    pub fn unknown(&self, why: WhyUnknown) -> Duration {
        Duration::from_nanos(self.unknown[why as usize])
    }

    /// All of it.
    pub fn total(&self) -> Duration {
        Duration::from_nanos(self.nanos.iter().sum())
    }
}

/// Cause of lost time. The rules are in `cost::lost::causes`, and in docs/explain.md.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Cause {
    /// The SYN was lost.
    LostSyn,
    /// The SYN-ACK was lost.
    LostSynAck,
    /// The SYN or the SYN-ACK was lost: the capture does not show which.
    LostSynOrSynAck,
    /// The SYN arrived, and the host did not answer it until it came again.
    UnansweredSyn,
    /// One segment was lost, and ACKs of later ones reported it.
    LostSegment,
    /// Several segments of one flight were lost, and ACKs reported them.
    Burst,
    /// The end of a flight was lost, and a tail loss probe found it.
    TailByProbe,
    /// The end of a flight was lost, and the retransmission timeout found it.
    TailByTimeout,
    /// A segment was lost, something sent later arrived, and only the retransmission timeout found it.
    LossByTimeout,
    /// A retransmission was lost.
    LostRetransmission,
    /// Nothing was lost: packets arrived out of order.
    Reordering,
    /// Nothing was lost: the path or a host delayed packets.
    DelaySpike,
    /// Only ACKs were lost.
    LostAcks,
    /// No data was lost: ACKs came late or were lost, and the capture does not show which.
    LateOrLostAcks,
    /// A segment was too large for the path.
    PathMtu,
    /// The receiver's window was closed, and data waited.
    ZeroWindow,
    /// The trigger or the verdict is unknown.
    Unknown,
}

impl Cause {
    /// All causes, in the order of reports.
    pub const ALL: [Self; 17] = [
        Self::LostSyn,
        Self::LostSynAck,
        Self::LostSynOrSynAck,
        Self::UnansweredSyn,
        Self::LostSegment,
        Self::Burst,
        Self::TailByProbe,
        Self::TailByTimeout,
        Self::LossByTimeout,
        Self::LostRetransmission,
        Self::Reordering,
        Self::DelaySpike,
        Self::LostAcks,
        Self::LateOrLostAcks,
        Self::PathMtu,
        Self::ZeroWindow,
        Self::Unknown,
    ];

    /// The name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::LostSyn => "lost_syn",
            Self::LostSynAck => "lost_syn_ack",
            Self::LostSynOrSynAck => "lost_syn_or_syn_ack",
            Self::UnansweredSyn => "unanswered_syn",
            Self::LostSegment => "lost_segment",
            Self::Burst => "burst",
            Self::TailByProbe => "tail_by_probe",
            Self::TailByTimeout => "tail_by_timeout",
            Self::LossByTimeout => "loss_by_timeout",
            Self::LostRetransmission => "lost_retransmission",
            Self::Reordering => "reordering",
            Self::DelaySpike => "delay_spike",
            Self::LostAcks => "lost_acks",
            Self::LateOrLostAcks => "late_or_lost_acks",
            Self::PathMtu => "path_mtu",
            Self::ZeroWindow => "zero_window",
            Self::Unknown => "unknown",
        }
    }
}

/// The time that a direction lost, by cause. No time counts twice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LostTime([(u32, u64); Cause::ALL.len()]);

impl LostTime {
    /// Adds one occurrence that lost this much.
    pub fn add(&mut self, cause: Cause, lost: Duration) {
        self.add_several(cause, 1, lost);
    }

    /// Adds `occurrences`, which together lost `lost`.
    pub fn add_several(&mut self, cause: Cause, occurrences: u32, lost: Duration) {
        let (times, nanos) = &mut self.0[cause as usize];
        *times = times.saturating_add(occurrences);
        *nanos = nanos.saturating_add(saturating_nanos(lost));
    }

    /// An occurrence has another cause than was thought.
    pub fn change(&mut self, lost: Duration, from: Cause, to: Cause) {
        let (times, nanos) = &mut self.0[from as usize];
        *times = times.saturating_sub(1);
        *nanos = nanos.saturating_sub(saturating_nanos(lost));
        self.add(to, lost);
    }

    /// How often this was the cause.
    pub fn times(&self, cause: Cause) -> u32 {
        self.0[cause as usize].0
    }

    /// The time lost to this cause.
    pub fn of(&self, cause: Cause) -> Duration {
        Duration::from_nanos(self.0[cause as usize].1)
    }

    /// All time lost.
    pub fn total(&self) -> Duration {
        let nanos = self.0.iter().map(|(_, nanos)| *nanos);
        Duration::from_nanos(nanos.fold(0, u64::saturating_add))
    }

    /// Adds what another direction lost.
    pub fn merge(&mut self, other: &Self) {
        for (mine, theirs) in self.0.iter_mut().zip(&other.0) {
            mine.0 = mine.0.saturating_add(theirs.0);
            mine.1 = mine.1.saturating_add(theirs.1);
        }
    }
}

fn saturating_nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// Cost of an episode of recovery, or of a handshake whose SYN or SYN-ACK was retransmitted. The episode's first
/// retransmission carries it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EpisodeCost {
    /// Time [recovering](SenderState::Recovering); 0 for a handshake.
    pub recovering: Duration,
    /// How much later the data was acknowledged than without the loss.
    pub lost: Duration,
    /// Segments retransmitted in the episode.
    pub segments: u32,
    /// Cause of the lost time. It depends on the verdicts on all retransmissions of the episode, and a
    /// [`Revision`](crate::finding::Revision) may change it.
    pub cause: Cause,
}
