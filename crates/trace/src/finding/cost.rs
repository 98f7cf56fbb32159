//! Where a direction's time went, and how much of it was lost to what.

use serde::{Deserialize, Serialize};
use std::time::Duration;

recoup_units::named! {
    /// State of a sender: its activity, or the reason it waits. Where two apply, the one that comes first here takes the
    /// time.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
    pub enum SenderState {
        /// The handshake was not complete.
        Connecting = "connecting",
        /// It recovered from a loss, real or not.
        Recovering = "recovering",
        /// The receiver's window was 0, and data waited.
        ZeroWindow = "zero_window",
        /// The receiver's window had no room for the next segment.
        ReceiverWindow = "receiver_window",
        /// The send buffer was full of data in flight, and the application waited for room in it.
        SenderBuffer = "sender_buffer",
        /// Data was in flight: the congestion window or the path's rate set the pace.
        Network = "network",
        /// The application had nothing to send.
        Application = "application",
        /// It had sent its FIN, and at most that was in flight.
        Closing = "closing",
        /// The capture does not show it.
        Unknown = "unknown",
    }
}

recoup_units::named! {
    /// Why a sender's state is unknown.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
    pub enum WhyUnknown {
        /// The capture begins within the connection: what was in flight before is not known.
        CaptureBegins = "capture_begins",
        /// The capture holds no packet of one direction.
        OneDirection = "one_direction",
        /// Packets are missing from the capture.
        PacketsMissing = "packets_missing",
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

    /// Time taken for recovery belongs to another state.
    pub(crate) fn withdraw_recovery(&mut self, time: Duration, to: SenderState) {
        let recovering = &mut self.nanos[SenderState::Recovering as usize];
        let nanos = (time.as_nanos() as u64).min(*recovering);
        *recovering -= nanos;
        self.add(to, nanos);
    }

    /// Adds the time of another direction.
    pub fn merge(&mut self, other: &Self) {
        let mine = self.nanos.iter_mut().chain(&mut self.unknown);
        for (mine, theirs) in mine.zip(other.nanos.iter().chain(&other.unknown)) {
            *mine += theirs;
        }
    }

    /// Takes away an earlier state of the same sums.
    pub(super) fn subtract(&mut self, earlier: &Self) {
        let mine = self.nanos.iter_mut().chain(&mut self.unknown);
        for (mine, earlier) in mine.zip(earlier.nanos.iter().chain(&earlier.unknown)) {
            *mine = mine.saturating_sub(*earlier);
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

recoup_units::named! {
    /// Cause of lost time. The rules are in `cost::lost::causes`, and in docs/explain.md.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
    pub enum Cause {
        /// The SYN was lost.
        LostSyn = "lost_syn",
        /// The SYN-ACK was lost.
        LostSynAck = "lost_syn_ack",
        /// The SYN or the SYN-ACK was lost: the capture does not show which.
        LostSynOrSynAck = "lost_syn_or_syn_ack",
        /// A packet of a QUIC handshake was lost.
        LostHandshakePacket = "lost_handshake_packet",
        /// The SYN arrived, and the host did not answer it until it came again.
        UnansweredSyn = "unanswered_syn",
        /// The ACK that completes the handshake arrived, and the host ignored it: its accept queue was full.
        IgnoredAck = "ignored_ack",
        /// One segment was lost, and ACKs of later ones reported it.
        LostSegment = "lost_segment",
        /// Several segments of one flight were lost, and ACKs reported them.
        Burst = "burst",
        /// The end of a flight was lost, and a tail loss probe found it.
        TailByProbe = "tail_by_probe",
        /// The end of a flight was lost, and the retransmission timeout found it.
        TailByTimeout = "tail_by_timeout",
        /// A segment was lost, something sent later arrived, and only the retransmission timeout found it.
        LossByTimeout = "loss_by_timeout",
        /// A retransmission was lost.
        LostRetransmission = "lost_retransmission",
        /// Nothing was lost: packets arrived out of order.
        Reordering = "reordering",
        /// Nothing was lost: the path or a host delayed packets.
        DelaySpike = "delay_spike",
        /// Only ACKs were lost.
        LostAcks = "lost_acks",
        /// No data was lost: ACKs came late or were lost, and the capture does not show which.
        LateOrLostAcks = "late_or_lost_acks",
        /// A segment was too large for the path.
        PathMtu = "path_mtu",
        /// The SYN carried data (TCP Fast Open), and the SYN-ACK acknowledged the SYN alone.
        RefusedFastOpen = "refused_fast_open",
        /// Segments of full size never arrived, and a smaller one did: a path MTU black hole (RFC 2923 §2.1).
        MtuBlackHole = "mtu_black_hole",
        /// The peer or the path no longer answered.
        Unanswered = "unanswered",
        /// A small segment waited for the ACK of the one before (RFC 896), which the receiver delayed.
        NagleDelayedAck = "nagle_delayed_ack",
        /// The receiver's window was closed, and data waited.
        ZeroWindow = "zero_window",
        /// The trigger or the verdict is unknown.
        Unknown = "unknown",
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

    /// Adds `occurrences`, which together lost `lost`. What lost nothing does not count.
    pub fn add_several(&mut self, cause: Cause, occurrences: u32, lost: Duration) {
        let occurrences = if lost.is_zero() { 0 } else { occurrences };
        let (times, nanos) = &mut self.0[cause as usize];
        *times = times.saturating_add(occurrences);
        *nanos = nanos.saturating_add(saturating_nanos(lost));
    }

    /// An occurrence has another cause than was thought.
    pub fn change(&mut self, lost: Duration, from: Cause, to: Cause) {
        self.take_back(from, (!lost.is_zero()).into(), lost);
        self.add(to, lost);
    }

    /// Takes time back, and `occurrences` that are left without any.
    pub(crate) fn take_back(&mut self, cause: Cause, occurrences: u32, lost: Duration) {
        let (times, nanos) = &mut self.0[cause as usize];
        *times = times.saturating_sub(occurrences);
        *nanos = nanos.saturating_sub(saturating_nanos(lost));
    }

    /// How often this was the cause of lost time.
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

    /// Takes away an earlier state of the same sums.
    pub(super) fn subtract(&mut self, earlier: &Self) {
        for (mine, earlier) in self.0.iter_mut().zip(&earlier.0) {
            mine.0 = mine.0.saturating_sub(earlier.0);
            mine.1 = mine.1.saturating_sub(earlier.1);
        }
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

/// A token bucket that drops what exceeds its rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Policer {
    /// Its rate, in bits of payload per second.
    pub bits_per_second: u64,
    /// Payload that passed at a higher rate before the first loss, in bytes: the bucket holds at least as much.
    pub burst: u64,
}

/// Cost of an episode of recovery, or of a handshake whose SYN or SYN-ACK was retransmitted. The episode's first
/// retransmission carries it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EpisodeCost {
    /// Time [recovering](SenderState::Recovering); 0 for a handshake.
    pub recovering: Duration,
    /// How much later the data was acknowledged than without the loss.
    pub lost: Duration,
    /// From the first transmission of the segment that names the cause to its retransmission.
    pub detection: Option<Duration>,
    /// Segments retransmitted in the episode.
    pub segments: u32,
    /// Cause of the lost time. It depends on the verdicts on all retransmissions of the episode, and a
    /// [`Revision`](crate::finding::Revision) may change it.
    pub cause: Cause,
}
