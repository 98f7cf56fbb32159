//! The one vocabulary in which the engine tells what it does. Tables, plots, captures and JSON
//! lines are views of it; simulator, real packets and replay all speak it.

use crate::undo::Proof;
use recoup_units::{Instant, Offset, Segments, Span};
use std::time::Duration;

/// Why a segment was sent again. The names are used everywhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Trigger {
    /// Fast recovery: marked lost by the loss detector, or a hole below the highest SACK.
    Fast,
    /// Early retransmit (RFC 5827).
    Early,
    /// The segment the retransmission timer itself sends.
    Rto,
    /// Go-back after a timeout, as the window reopens.
    SlowStart,
    /// A tail loss probe that repeats the last segment.
    Tlp,
    /// A SYN sent again.
    Syn,
    /// A SYN-ACK sent again.
    SynAck,
}

impl Trigger {
    /// Every trigger, in the order of reports.
    pub const ALL: [Self; 7] = [
        Self::Fast,
        Self::Early,
        Self::Rto,
        Self::SlowStart,
        Self::Tlp,
        Self::Syn,
        Self::SynAck,
    ];

    /// The name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fast => "fast",
            Self::Early => "early",
            Self::Rto => "rto",
            Self::SlowStart => "slow_start",
            Self::Tlp => "tlp",
            Self::Syn => "syn",
            Self::SynAck => "syn_ack",
        }
    }
}

/// What is about to be sent, or was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Send {
    /// Data (or SYN, or FIN) for the first time.
    New(Span),
    /// New data as a tail loss probe, whatever the congestion window.
    NewProbe(Span),
    /// Data sent before.
    Again(Span, Trigger),
    /// An extra copy of data outstanding, in advance of any loss (selective loss prevention).
    Copy(Span),
    /// A segment that carries nothing and is out of window, to draw an ACK that tells the peer's
    /// window (RFC 9293 §3.8.6.1).
    WindowProbe,
}

impl Send {
    /// The sequence space carried.
    pub fn span(self) -> Option<Span> {
        match self {
            Self::New(span) | Self::NewProbe(span) | Self::Again(span, _) | Self::Copy(span) => {
                Some(span)
            }
            Self::WindowProbe => None,
        }
    }

    /// Whether it carries sequence space never sent before.
    pub fn is_new(self) -> bool {
        matches!(self, Self::New(_) | Self::NewProbe(_))
    }
}

/// The sender's state, by Linux's names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum State {
    /// Nothing suspicious.
    Open,
    /// SACKs or duplicate ACKs, not enough to call anything lost.
    Disorder,
    /// The window is being reduced for a reason other than a loss being repaired now.
    Cwr,
    /// Fast recovery.
    Recovery,
    /// After a retransmission timeout.
    Loss,
}

impl State {
    /// Every state, in Linux's order.
    pub const ALL: [Self; 5] = [
        Self::Open,
        Self::Disorder,
        Self::Cwr,
        Self::Recovery,
        Self::Loss,
    ];

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

/// What makes the sender act without an ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Timer {
    /// Delayed early retransmit.
    Early,
    /// RACK's reordering window.
    Reorder,
    /// Tail loss probe (PTO).
    Probe,
    /// Retransmission timeout.
    Rto,
    /// Zero-window probe.
    Persist,
    /// The gap between a segment and its copy is over.
    Copy,
    /// The user timeout: give up.
    User,
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
        }
    }
}

/// Who judged a segment lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LossDetector {
    /// Duplicate ACKs or SACK arithmetic: dupthresh or FACK.
    Threshold,
    /// RACK: time.
    Rack,
    /// What was sent after a retransmission arrived first.
    LostRetransmission,
    /// Early retransmit.
    Early,
    /// A timeout, which takes everything not SACKed as lost; under RACK what was sent recently is
    /// spared.
    Timeout,
}

impl LossDetector {
    /// The name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Threshold => "threshold",
            Self::Rack => "rack",
            Self::LostRetransmission => "lost_retransmission",
            Self::Early => "early",
            Self::Timeout => "timeout",
        }
    }
}

/// One thing the sender did or learned.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Event {
    /// A segment was sent.
    Sent {
        /// What and why.
        what: Send,
        /// Segments in flight afterwards.
        pipe: Segments,
        /// The congestion window.
        cwnd: Segments,
    },
    /// An ACK was taken in.
    Acked {
        /// The new `snd_una`.
        una: Offset,
        /// Segments newly covered by it.
        newly_acked: Segments,
        /// Segments newly SACKed.
        newly_sacked: Segments,
        /// The duplicate reported.
        dsack: Option<Span>,
        /// It is of a copy, and is no other news.
        copy_reported: bool,
    },
    /// A round-trip time was measured.
    RttSample {
        /// The sample.
        rtt: Duration,
        /// Smoothed.
        srtt: Duration,
        /// The RTO that follows.
        rto: Duration,
    },
    /// A segment was judged lost.
    MarkedLost {
        /// Which.
        span: Span,
        /// By whom.
        by: LossDetector,
    },
    /// A timer was set, moved or (`None`) stopped.
    TimerSet {
        /// Which.
        timer: Timer,
        /// When it will go off.
        at: Option<Instant>,
    },
    /// A timer went off.
    TimerFired {
        /// Which.
        timer: Timer,
    },
    /// The state changed.
    StateChanged {
        /// Before.
        from: State,
        /// After.
        to: State,
        /// The window after the change.
        cwnd: Segments,
        /// The slow-start threshold after the change.
        ssthresh: Segments,
        /// Segments in flight.
        pipe: Segments,
    },
    /// A tail loss probe's repair of the loss was detected and answered with a window reduction.
    ProbeRepairedLoss,
    /// A reduction was found needless and taken back.
    Undone {
        /// What proved it.
        by: Proof,
        /// The window after it.
        cwnd: Segments,
        /// The slow-start threshold after it.
        ssthresh: Segments,
    },
    /// The path reorders: a segment arrived after others sent later.
    Reordering {
        /// By how many segments.
        distance: Segments,
        /// dupthresh after it.
        dupthresh: Segments,
    },
    /// A copy would be worth its while, but the window has no room for it, or an earlier one is not
    /// acknowledged yet.
    CopyWithheld {
        /// Of which segment.
        span: Span,
        /// An earlier copy is not acknowledged; otherwise the window has no room.
        another_out: bool,
    },
    /// The receiver took back what it had SACKed.
    Reneged,
    /// The user timeout passed: the connection is given up.
    GaveUp,
}

/// Events in the order they happened, kept only when switched on; the driver drains it.
#[derive(Clone, Debug, Default)]
pub struct EventLog {
    on: bool,
    events: Vec<(Instant, Event)>,
}

impl EventLog {
    /// A log that keeps events, or one that drops them.
    pub fn new(on: bool) -> Self {
        Self {
            on,
            events: Vec::new(),
        }
    }

    /// Whether events are kept.
    pub fn is_on(&self) -> bool {
        self.on
    }

    /// Keeps `event` if the log is on.
    #[inline]
    pub fn push(&mut self, now: Instant, event: Event) {
        if self.on {
            self.events.push((now, event));
        }
    }

    /// What logs each span that `by` judges lost now.
    pub fn losses(&mut self, now: Instant, by: LossDetector) -> impl FnMut(Span) + '_ {
        move |span| self.push(now, Event::MarkedLost { span, by })
    }

    /// Takes out what has been logged.
    pub fn drain(&mut self) -> impl Iterator<Item = (Instant, Event)> + '_ {
        self.events.drain(..)
    }
}
