//! The parts of a sender's state.

use super::*;
use crate::detect::EarlyRule;
use crate::profile::{AckProcessing, LimitedTransmit, RecoveryFill, ReductionBase, RtoRestart};
use crate::rate::RateControl;
use crate::slp::SlpRules;
use crate::tlp::ProbeRules;
use crate::undo::UndoRules;
use alloc::boxed::Box;

/// The limits of peer and path.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(super) struct Peer {
    /// The sequence space of a full segment: its bytes, or one where packets are numbered.
    pub full: u32,
    /// Largest payload of a segment, in bytes.
    pub mss: u32,
    pub window: PeerWindow,
}

/// The application's data, and the last transmission.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(super) struct Stream {
    /// End of what the application has written, SYN and FIN included.
    pub limit: Offset,
    /// The FIN's offset, once the application has closed; [`NO_FIN`](Self::NO_FIN) before.
    fin_at: Offset,
    /// The end of the last partial segment sent.
    pub partial_to: Offset,
    /// The end of the segment that probes for a larger path MTU; once acknowledged, it probes no more.
    pub mtu_probe_end: Offset,
    pub last_sent_at: Instant,
    pub last_heard_at: Instant,
    /// The time that segments sent now are taken to be sent at, if not the present. Linux reads its clock
    /// for ACKs, timers and writes, but not for an ICMP message.
    pub stopped_clock: Option<Instant>,
    pub pacer: Pacer,
}

/// The congestion window and what changes it.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(super) struct Window<C> {
    pub cwnd: Segments,
    pub ssthresh: Segments,
    pub usage: WindowUsage,
    pub reduction: Reduction,
    pub control: C,
}

/// Whether the congestion window was what limited sending (Linux `tcp_cwnd_validate`).
#[derive(Clone, Copy, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(super) struct WindowUsage {
    pub most_outstanding: Segments,
    pub round_end: Offset,
    pub limited: bool,
}

/// The loss detectors.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(super) struct Losses {
    pub threshold: Threshold,
    pub rack: Rack,
    pub packets: PacketTime,
    /// Empty unless thresholds are adaptive.
    pub suspects: Suspects,
    /// Duplicate ACKs since `snd_una` last moved.
    pub duplicates: u32,
}

/// The state, and what is known of the present episode or the last one. An episode is the time the
/// sender spends in CWR, Recovery or Loss.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(super) struct Episode {
    pub state: State,
    pub state_since: Instant,
    /// An ACK of this ends the episode (Linux's high_seq).
    pub recovery_point: Offset,
    /// The trigger of retransmissions in the present recovery.
    pub trigger: Trigger,
    /// The trigger of retransmissions in Loss, other than the timer's own.
    pub loss_trigger: Trigger,
    /// Where the last episode ended: without SACK, the next one needs an ACK of this.
    pub settled_to: Offset,
    /// The last episode was a recovery, and no DSACK of it has arrived yet.
    pub awaits_dsack: bool,
    pub release: Release,
    /// An ACK beyond this permits the rescue retransmission (RFC 6675 §4 NextSeg rule 4,
    /// RescueRxt).
    pub rescue_after: Offset,
    pub undo: Undo,
    pub frto: Frto,
    /// The retransmission timer went off, and its own retransmission has not been sent yet.
    pub timeout_due: bool,
    /// The retransmission timer went off, and no ACK has arrived since.
    pub timeout_unanswered: bool,
}

/// Whether retransmissions may go, until the next ACK or timer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(super) enum Release {
    /// They go as the pipe has room.
    #[default]
    ByPipe,
    /// One goes whatever the pipe.
    Forced,
    /// None goes: the last ACK hints that they are not needed.
    Held,
}

/// The timers.
#[derive(Clone, Copy, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(super) struct Timers {
    pub rto: RetransmissionTimer,
    pub early: Option<Instant>,
    pub reorder: Option<Instant>,
    /// Until then Linux 6 has the reordering timer pending, even if no segment waits for it any more.
    pub reorder_pending_until: Instant,
    pub probe: LossProbe,
    pub peer_ack_delay: PeerAckDelay,
    pub persist: Persist,
    /// Retransmission timeouts since the last ACK of new data.
    pub timeouts: u32,
    /// The last time the peer acknowledged something, or the first data of a flight was sent.
    pub progress_at: Instant,
    /// The user timeout has passed.
    pub gave_up: bool,
}

/// Zero-window probing.
#[derive(Clone, Copy, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(super) struct Persist {
    pub deadline: Option<Instant>,
    pub backoff: u8,
    pub due: bool,
    /// Probes sent since the peer was last heard.
    pub unanswered: u32,
}

/// Selective loss prevention, for a sender that sends copies.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(super) struct Copying {
    pub rules: SlpRules,
    pub copies: Copies,
    /// Counts of the connection (see [`Counters`]).
    pub sent: u64,
    pub sent_bytes: u64,
    pub withheld: u64,
    pub reported: u64,
}

/// Counts over the whole connection.
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(super) struct Totals {
    pub counters: Counts,
    pub recoveries: Recoveries,
    /// Since when something has been outstanding.
    pub busy_since: Option<Instant>,
}

/// An event log, which takes no memory unless it is on.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(super) struct Log(Option<Box<Logged>>);

#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
struct Logged {
    log: EventLog,
    last: LastLogged,
}

/// The timers as last logged, and a change of state that is not logged yet.
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(super) struct LastLogged {
    pub timers: [Option<Instant>; Timer::ALL.len()],
    pub state_change: Option<(State, State)>,
}

impl Log {
    pub fn new(on: bool) -> Self {
        Self(on.then(Box::default))
    }

    pub fn set_on(&mut self, on: bool) {
        if on != self.is_on() {
            *self = Self::new(on);
        }
    }

    pub fn is_on(&self) -> bool {
        self.0.is_some()
    }

    /// See [`EventLog::missed`].
    pub fn missed(&self) -> u64 {
        self.0.as_ref().map_or(0, |logged| logged.log.missed())
    }

    #[inline]
    pub fn push(&mut self, now: Instant, event: Event) {
        if let Some(logged) = &mut self.0 {
            logged.log.push(now, event);
        }
    }

    /// A function that logs each span it is called with as marked lost by `by`.
    pub fn losses(&mut self, now: Instant, by: LossDetector) -> impl FnMut(Span) + '_ {
        move |span| self.push(now, Event::MarkedLost { span, by })
    }

    pub fn drain(&mut self) -> impl Iterator<Item = (Instant, Event)> + '_ {
        self.0.iter_mut().flat_map(|logged| logged.log.drain())
    }

    /// The bytes it takes on the heap.
    pub fn memory(&self) -> usize {
        let logged = self.0.as_deref();
        logged.map_or(0, |logged| size_of::<Logged>() + logged.log.memory())
    }

    /// `None` unless it is on.
    pub fn last(&mut self) -> Option<&mut LastLogged> {
        self.0.as_mut().map(|logged| &mut logged.last)
    }
}

/// The settings of the profile and of the host that no other part of the sender keeps.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(super) struct Settings {
    pub early_retransmit: EarlyRule,
    pub user_timeout: UserTimeout,
    /// The application set it: a peer that answers with a closed window does not put it off.
    pub firm_timeout: bool,
    pub initial_window: Segments,
    pub sack: Sack,
    pub limited_transmit: LimitedTransmit,
    pub recovery_fill: RecoveryFill,
    pub rate: RateControl,
    pub undo: UndoRules,
    pub adaptive: bool,
    pub frto: bool,
    pub rto_restart: Option<RtoRestart>,
    pub probe: Option<ProbeRules>,
    pub reduction_base: ReductionBase,
    pub ack_processing: AckProcessing,
    pub restart_after_idle: bool,
    pub moderate_window: bool,
    /// The trigger of a retransmission of this side's SYN.
    pub syn_trigger: Trigger,
    /// A partial segment waits while another is unacknowledged (Nagle's rule).
    pub nagle: bool,
}

/// How long data may stay unacknowledged, in ms like Linux's TCP_USER_TIMEOUT; [`u32::MAX`]: for ever.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(super) struct UserTimeout(u32);

impl From<Duration> for UserTimeout {
    fn from(timeout: Duration) -> Self {
        let millis = timeout.as_nanos().div_ceil(1_000_000);
        Self(u32::try_from(millis).unwrap_or(u32::MAX))
    }
}

impl UserTimeout {
    /// When it ends, counted from `since`.
    pub fn end(self, since: Instant) -> Option<Instant> {
        (self.0 < u32::MAX).then(|| since.plus_nanos(u64::from(self.0) * 1_000_000))
    }
}

/// Whether the peer reports by SACK what it has received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(super) enum Sack {
    /// The profile never uses SACK.
    Never,
    /// The profile would use it, but the peer does not.
    Refused,
    /// It does.
    Used,
}

impl Settings {
    pub fn of(mechanisms: &Mechanisms, syn_trigger: Trigger) -> Self {
        // The detector, the RTT estimator, the congestion control and the copies keep the rest.
        let Mechanisms {
            early_retransmit,
            user_timeout,
            initial_window,
            sack,
            limited_transmit,
            recovery_fill,
            rate,
            undo: _,
            adaptive,
            frto,
            rto_restart,
            probe,
            reduction_base,
            ack_processing,
            restart_after_idle,
            moderate_window,
            detection: _,
            rto: _,
            congestion: _,
            slp: _,
        } = *mechanisms;
        Self {
            early_retransmit: early_retransmit.into(),
            user_timeout: user_timeout.into(),
            firm_timeout: false,
            initial_window,
            sack: if sack { Sack::Used } else { Sack::Never },
            limited_transmit,
            recovery_fill,
            rate,
            undo: mechanisms.undo_rules(),
            adaptive,
            frto,
            rto_restart,
            probe,
            reduction_base,
            ack_processing,
            restart_after_idle,
            moderate_window,
            syn_trigger,
            nagle: false,
        }
    }
}

impl Copying {
    /// Begins again with `rules`, in the memory of `old`.
    pub fn renewed(old: Option<Box<Self>>, rules: Option<SlpRules>) -> Option<Box<Self>> {
        let rules = rules?;
        let mut copying = old.unwrap_or_else(|| Box::new(Self::new(rules)));
        *copying = Self::new(rules);
        Some(copying)
    }

    pub fn new(rules: SlpRules) -> Self {
        Self { rules, copies: Copies::default(), sent: 0, sent_bytes: 0, withheld: 0, reported: 0 }
    }
}

impl Stream {
    const NO_FIN: Offset = Offset(u64::MAX);

    /// The FIN's offset, once the application has closed.
    #[inline]
    pub fn fin(&self) -> Option<Offset> {
        (self.fin_at != Self::NO_FIN).then_some(self.fin_at)
    }

    /// The application closes: the FIN follows what it has written.
    pub fn close(&mut self) {
        self.fin_at = self.limit;
        self.limit = self.limit + 1;
    }

    pub fn new() -> Self {
        Self {
            limit: Offset::DATA,
            fin_at: Self::NO_FIN,
            partial_to: Offset::SYN,
            mtu_probe_end: Offset::SYN,
            last_sent_at: Instant::ZERO,
            last_heard_at: Instant::ZERO,
            stopped_clock: None,
            pacer: Pacer::default(),
        }
    }
}

impl<C> Window<C> {
    pub fn new(control: C, initial: Segments) -> Self {
        Self {
            cwnd: initial,
            //= RFC 5681 §3.1 SHOULD: "The initial value of ssthresh SHOULD be set arbitrarily high"
            ssthresh: Segments::MAX,
            usage: WindowUsage::default(),
            reduction: Reduction::default(),
            control,
        }
    }
}

impl Losses {
    pub fn new(mechanisms: &Mechanisms) -> Self {
        let mut rules = mechanisms.detection;
        if mechanisms.adaptive && rules.rule == LossRule::PacketTime {
            rules.max_dupthresh = Segments::MAX;
        }
        Self {
            threshold: Threshold::new(rules),
            rack: Rack::default(),
            packets: PacketTime::new(mechanisms.takes_newest()),
            suspects: Suspects::default(),
            duplicates: 0,
        }
    }
}

impl Episode {
    pub fn new() -> Self {
        Self {
            state: State::Open,
            state_since: Instant::ZERO,
            recovery_point: Offset::SYN,
            trigger: Trigger::Fast,
            loss_trigger: Trigger::SlowStart,
            settled_to: Offset::SYN,
            awaits_dsack: false,
            release: Release::ByPipe,
            rescue_after: Offset::SYN,
            undo: Undo::default(),
            frto: Frto::Off,
            timeout_due: false,
            timeout_unanswered: false,
        }
    }
}
