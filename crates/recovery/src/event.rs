//! The events that a sender logs, and the words of all reports: triggers, states, timers, loss detectors.
//!
//! The simulator, real packets and replays log the same events. Tables, plots, captures and JSON lines are
//! views of them.

use crate::undo::Proof;
use alloc::vec::Vec;
use core::time::Duration;
use recoup_units::{Instant, Offset, Segments, Span};

/// The trigger of a retransmission.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum Trigger {
    /// Fast recovery: marked lost by the loss detector, or a hole below the highest SACK.
    Fast,
    /// Early retransmit (RFC 5827).
    Early,
    /// The segment the retransmission timer itself sends.
    Rto,
    /// A further retransmission after a timeout, as slow start opens the window.
    SlowStart,
    /// A tail loss probe that repeats the last segment.
    Tlp,
    /// The path MTU fell, and the segment is larger (RFC 1191 §6.4; RFC 8201 §5.4).
    Pmtu,
    /// A larger segment that probed for a larger path MTU was lost (RFC 4821 §7.6).
    MtuProbe,
    /// A SYN retransmitted.
    Syn,
    /// A SYN-ACK retransmitted.
    SynAck,
}

impl Trigger {
    /// Every trigger, in the order of reports.
    pub const ALL: [Self; 9] = [
        Self::Fast,
        Self::Early,
        Self::Rto,
        Self::SlowStart,
        Self::Tlp,
        Self::Pmtu,
        Self::MtuProbe,
        Self::Syn,
        Self::SynAck,
    ];

    /// The name in reports and settings.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fast => "fast",
            Self::Early => "early",
            Self::Rto => "rto",
            Self::SlowStart => "slow_start",
            Self::Tlp => "tlp",
            Self::Pmtu => "pmtu",
            Self::MtuProbe => "mtu_probe",
            Self::Syn => "syn",
            Self::SynAck => "syn_ack",
        }
    }
}

/// One segment or packet that is to be sent, or was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Transmission {
    /// Data (or SYN, or FIN) for the first time.
    New(Span),
    /// New data as a tail loss probe. It ignores the congestion window. Where packets are numbered, it may be due although
    /// nothing was written: the packet then carries contents that are still unacknowledged.
    NewProbe(Span),
    /// A retransmission.
    Again(Span, Trigger),
    /// An extra copy of outstanding data, before any sign of loss (selective loss prevention).
    Copy(Span),
    /// An empty segment outside the window. It makes the peer send an ACK with its window
    /// (RFC 9293 §3.8.6.1).
    WindowProbe,
}

impl Transmission {
    /// The offsets that the transmission carries.
    pub fn span(self) -> Option<Span> {
        match self {
            Self::New(span) | Self::NewProbe(span) | Self::Again(span, _) | Self::Copy(span) => Some(span),
            Self::WindowProbe => None,
        }
    }

    /// Whether it carries offsets that were never sent before.
    pub fn is_new(self) -> bool {
        matches!(self, Self::New(_) | Self::NewProbe(_))
    }
}

/// The sender's state, by Linux's names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum State {
    /// No SACK, duplicate ACK or loss is outstanding.
    Open,
    /// SACKs or duplicate ACKs arrived, too few to mark a segment lost.
    Disorder,
    /// The congestion window is being reduced, and nothing is to be repaired (for example after an ECN
    /// echo).
    Cwr,
    /// Fast recovery.
    Recovery,
    /// After a retransmission timeout.
    Loss,
}

impl State {
    /// Every state, in Linux's order.
    pub const ALL: [Self; 5] = [Self::Open, Self::Disorder, Self::Cwr, Self::Recovery, Self::Loss];

    /// The name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Disorder => "disorder",
            Self::Cwr => "cwr",
            Self::Recovery => "recovery",
            Self::Loss => "loss",
        }
    }
}

/// The timers: what makes the sender act without an ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum Timer {
    /// Delayed early retransmit.
    Early,
    /// RACK's reordering window, or RFC 9002's time threshold.
    Reorder,
    /// Tail loss probe, or RFC 9002's probe timeout (PTO).
    Probe,
    /// Retransmission timeout (RTO).
    Rto,
    /// Zero-window probe.
    Persist,
    /// The gap between a segment and its copy is over.
    Copy,
    /// The user timeout: give up.
    User,
    /// The next burst of a sender that paces by itself may leave. Hosts should not round this one up.
    Pacing,
}

impl Timer {
    /// The name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Early => "early",
            Self::Reorder => "reorder",
            Self::Probe => "probe",
            Self::Rto => "rto",
            Self::Persist => "persist",
            Self::Copy => "copy",
            Self::User => "user",
            Self::Pacing => "pacing",
        }
    }
}

/// The detector that marked a segment lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum LossDetector {
    /// Counting: duplicate ACKs, SACKed segments, or FACK.
    Threshold,
    /// RACK, by time.
    Rack,
    /// RFC 9002's packet threshold.
    PacketThreshold,
    /// RFC 9002's time threshold.
    TimeThreshold,
    /// A segment sent after a retransmission was delivered before it.
    LostRetransmission,
    /// Early retransmit.
    Early,
    /// A retransmission timeout. It marks every segment not SACKed; with RACK, not those sent recently.
    Timeout,
    /// The segment is larger than the path takes.
    PathMtu,
}

impl LossDetector {
    /// The name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Threshold => "threshold",
            Self::Rack => "rack",
            Self::PacketThreshold => "packet_threshold",
            Self::TimeThreshold => "time_threshold",
            Self::LostRetransmission => "lost_retransmission",
            Self::Early => "early",
            Self::Timeout => "timeout",
            Self::PathMtu => "path_mtu",
        }
    }
}

/// One thing the sender did or learned.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum Event {
    /// A segment was sent.
    Sent {
        /// The segment, and why it was sent.
        what: Transmission,
        /// Segments in flight afterwards.
        pipe: Segments,
        /// The congestion window.
        cwnd: Segments,
    },
    /// An ACK arrived.
    Acked {
        /// The new `snd_una`.
        una: Offset,
        /// Segments newly acknowledged by the ACK number.
        newly_acked: Segments,
        /// Segments newly SACKed.
        newly_sacked: Segments,
        /// The duplicate that a DSACK reported.
        dsack: Option<Span>,
        /// The duplicate is that of a copy, which says nothing about retransmissions.
        copy_reported: bool,
    },
    /// A round-trip time was measured.
    RttSample {
        /// The sample.
        rtt: Duration,
        /// The smoothed RTT after it.
        srtt: Duration,
        /// The RTO after it.
        rto: Duration,
    },
    /// A segment was marked lost.
    MarkedLost {
        /// The segment.
        span: Span,
        /// The detector that marked it.
        by: LossDetector,
    },
    /// A timer was set, moved or (`None`) stopped.
    TimerSet {
        /// The timer.
        timer: Timer,
        /// Its deadline.
        at: Option<Instant>,
    },
    /// A timer fired.
    TimerFired {
        /// The timer.
        timer: Timer,
    },
    /// The state changed.
    StateChanged {
        /// The state before.
        from: State,
        /// The state after.
        to: State,
        /// The congestion window after the change.
        cwnd: Segments,
        /// The slow-start threshold after the change.
        ssthresh: Segments,
        /// Segments in flight.
        pipe: Segments,
    },
    /// A tail loss probe turned out to have repaired a loss. The sender reduced its window.
    ProbeRepairedLoss,
    /// A window reduction turned out to be needless and was undone.
    Undone {
        /// The proof.
        by: Proof,
        /// The congestion window after the undo.
        cwnd: Segments,
        /// The slow-start threshold after the undo.
        ssthresh: Segments,
    },
    /// Reordering was seen: a segment arrived after others that were sent later.
    Reordering {
        /// How many segments overtook it.
        distance: Segments,
        /// The dupthresh that follows.
        dupthresh: Segments,
    },
    /// A copy was worth sending, and was not sent: a window has no room, or an earlier copy is not
    /// acknowledged yet.
    CopyWithheld {
        /// The segment.
        span: Span,
        /// `true`: an earlier copy is not acknowledged yet. `false`: a window has no room.
        another_out: bool,
    },
    /// The receiver dropped data that it had SACKed (RFC 2018 §8).
    Reneged,
    /// The user timeout passed: the connection is given up.
    GaveUp,
}

impl Event {
    /// The name in reports.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Sent { .. } => "sent",
            Self::Acked { .. } => "acked",
            Self::RttSample { .. } => "rtt_sample",
            Self::MarkedLost { .. } => "marked_lost",
            Self::TimerSet { .. } => "timer_set",
            Self::TimerFired { .. } => "timer_fired",
            Self::StateChanged { .. } => "state_changed",
            Self::ProbeRepairedLoss => "probe_repaired_loss",
            Self::Undone { .. } => "undone",
            Self::Reordering { .. } => "reordering",
            Self::CopyWithheld { .. } => "copy_withheld",
            Self::Reneged => "reneged",
            Self::GaveUp => "gave_up",
        }
    }
}

/// The events in the order in which they happened, at most [`MOST`](Self::MOST) until they are taken out.
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(crate) struct EventLog {
    events: Vec<(Instant, Event)>,
    missed: u64,
}

impl EventLog {
    /// The most events kept. Those that follow are counted instead.
    pub const MOST: usize = 1 << 16;

    /// The bytes it takes on the heap.
    pub fn memory(&self) -> usize {
        self.events.capacity() * size_of::<(Instant, Event)>()
    }

    pub fn push(&mut self, now: Instant, event: Event) {
        match self.events.len() < Self::MOST {
            true => self.events.push((now, event)),
            false => self.missed += 1,
        }
    }

    /// The events that happened while the log was full, since the connection began.
    pub fn missed(&self) -> u64 {
        self.missed
    }

    /// Takes out the events logged so far.
    pub fn drain(&mut self) -> impl Iterator<Item = (Instant, Event)> + '_ {
        self.events.drain(..)
    }
}
