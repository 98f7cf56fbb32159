//! The sender composes the policies. It is the one place that applies their verdicts.
//!
//! ```text
//! on_ack      scoreboard → RTT, timers → state machine, undo → rate control or growth → probe timer
//!             (the order of AckProcessing::Linux4_13; see there for the others)
//! on_timer    marks lost what the timer implies
//! next_send   what to send now, by priority:                            (RFC 6675 §4 NextSeg)
//!             a due probe; lost segments; new data; in recovery the holes below the highest SACK,
//!             then a rescue retransmission; a copy whose gap is over
//! on_sent     scoreboard, timers, rate control
//! offer_copy  plans a copy of the segment just sent, if it is worth one
//! reason_for  why a segment was retransmitted, for a replay
//! ```
//! The congestion window counts segments, as in Linux; the peer's window counts bytes.
//!
//! Source of these orders: Linux 3.17 and 6.12 `tcp_ack`, `tcp_fastretrans_alert`, `tcp_process_loss`,
//! `tcp_xmit_retransmit_queue`.
//!
//! Deviations from Linux. In each case the kernel's behaviour results from how its timers or queues are built, or
//! belongs to one version.
//!
//! - An RTT sample from a SACK does not move the retransmission timer.
//! - A FIN alone does not bypass the congestion window. In Linux 3.17 it does.
//! - Timers are separate. Linux shares one timer between RTO, probe, reordering and early retransmit, and
//!   computes the RTO from the head's send time after one of the others was pending. `linux-6` computes it in the same
//!   way, `linux-3.17` does not.
//! - `linux-2.6` leaves out three rules of Linux 2.6: a head older than the RTO is lost
//!   (`tcp_head_timedout`); Linux 2.6's form of F-RTO (3.17's form runs instead); on every doubtful ACK the window
//!   falls to three segments more than are in flight (`tcp_moderate_cwnd`; `+moderate` adds it in Disorder).
//! - Without SACK, each partial ACK restarts the retransmission timer, as in Linux. RFC 6582 §3.2 step 3
//!   restarts it at the first partial ACK alone.
//! - Congestion avoidance counts acknowledged segments in every profile. Linux 3.17 counts ACKs.
//! - A retransmission that is SACKed while it is only a hole leaves the pipe. Linux keeps it counted.
//! - The sender retransmits beyond the peer's window. Linux waits.
//! - A timeout can be undone while a retransmission is in flight. In Linux 3.17 it cannot.
//! - RFC 8985's RACK keeps reo_wnd over a timeout.
//! - With RFC 9002's loss detection, see `packet_time` for the states and [`tlp`](crate::tlp) for the timer.
//! - On a timeout every segment not SACKed is lost. With RACK, a segment sent less than RACK.rtt ago is not lost
//!   (Linux 6 `tcp_timeout_mark_lost`).

mod acks;
mod copies;
mod established;
mod given_up;
mod late;
mod packet_time;
mod packets;
mod parts;
mod path_model;
mod path_mtu;
mod reason;
mod reduce;
mod resume;
mod send;
mod states;
mod timers;

use crate::ack::Ack;
use crate::congestion::{self, Congestion, CongestionControl};
use crate::counters::{Counters, Counts, Recoveries, Recovery};
use crate::delivery::DeliveryRate;
use crate::detect::{LossRule, PacketTime, Rack, Suspects, Threshold};
use crate::event::{Event, EventLog, LossDetector, State, Timer, Transmission, Trigger};
use crate::frto::Frto;
use crate::pacing::{self, Departures, Pacer, PacingInput};
use crate::peer_window::PeerWindow;
use crate::profile::Mechanisms;
use crate::rate::Reduction;
use crate::rto::RetransmissionTimer;
use crate::rtt::RttEstimator;
use crate::scoreboard::{Scoreboard, Storage};
use crate::slp::Copies;
use crate::tlp::{LossProbe, PeerAckDelay};
use crate::undo::Undo;
use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use core::time::Duration;
use given_up::GivenUp;
use parts::*;
use recoup_units::{BitRate, Instant, Offset, Segments, Span};

pub use given_up::GivenUpPacket;
pub use packets::{Packet, Refused, packet_number, packet_numbers};
pub use path_mtu::MtuProbe;
pub use reason::Reason;
pub use resume::ResumeState;
pub use send::MoreSent;

/// The sender of one direction of a connection. `C`: its congestion control, Recoup's own unless the host brings
/// another.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Sender<C = Congestion> {
    mechanisms: Settings,
    peer: Peer,
    stream: Stream,
    board: Scoreboard,
    congestion: Window<C>,
    losses: Losses,
    episode: Episode,
    rtt: RttEstimator,
    timers: Timers,
    copying: Option<Box<Copying>>,
    /// For copies, and for a congestion control that models the path.
    delivery: Option<Box<DeliveryRate>>,
    /// Takes no memory of its own until a packet is given up.
    given_up: GivenUp,
    totals: Totals,
    log: Log,
}

impl Sender {
    /// A sender about to send its SYN, with the congestion control of the profile. `mss` in bytes of
    /// payload; `syn_trigger`: [`Trigger::Syn`] or [`Trigger::SynAck`]. `log`: keep events.
    pub fn new(mechanisms: &Mechanisms, mss: u32, syn_trigger: Trigger, log: bool) -> Self {
        let control = Congestion::new(mechanisms.congestion);
        Self::with_control(control, mechanisms, mss, syn_trigger, log)
    }

    /// Begins a new connection, as [`new`](Self::new) does, and keeps the memory.
    pub fn reset(&mut self, mechanisms: &Mechanisms, mss: u32, syn_trigger: Trigger, log: bool) {
        let mut board = core::mem::take(&mut self.board);
        let mut recoveries = core::mem::take(&mut self.totals.recoveries);
        let copying = Copying::renewed(self.copying.take(), mechanisms.slp);
        let delivery = self.delivery.take();
        let mut given_up = core::mem::take(&mut self.given_up);
        board.reset(Offset::SYN);
        recoveries.clear();
        given_up.clear();
        let without_copies;
        let renewed = match mechanisms.slp {
            Some(_) => {
                without_copies = mechanisms.with(|m| m.slp = None);
                &without_copies
            }
            None => mechanisms,
        };
        *self = Self::new(renewed, mss, syn_trigger, log);
        self.board = board;
        self.copying = copying;
        if self.delivery.is_some() || self.copying.is_some() {
            let mut delivery = delivery.unwrap_or_default();
            delivery.reset();
            self.delivery = Some(delivery);
        }
        self.given_up = given_up;
        self.totals.recoveries = recoveries;
    }
}

impl<C: CongestionControl> Sender<C> {
    /// The largest segment size. A larger one counts as this: a gibibyte.
    const MOST_MSS: u32 = 1 << 30;

    /// A sender with another congestion control than that of `mechanisms`. It is about to send a SYN, as with
    /// [`new`](Sender::new), unless [`establish`](Self::establish) or [`number_packets`](Self::number_packets) opens it;
    /// then `syn_trigger` does not matter.
    pub fn with_control(control: C, mechanisms: &Mechanisms, mss: u32, syn_trigger: Trigger, log: bool) -> Self {
        let models_path = control.models_path();
        let delivery = (models_path || mechanisms.slp.is_some()).then(Box::default);
        let mut settings = Settings::of(mechanisms, syn_trigger);
        settings.restart_after_idle &= !models_path;
        let mut stream = Stream::new();
        if models_path {
            stream.pacer = Pacer::Sender(Box::default());
        }
        Self {
            mechanisms: settings,
            peer: Peer {
                full: mss.clamp(1, Self::MOST_MSS),
                mss: mss.clamp(1, Self::MOST_MSS),
                window: PeerWindow::default(),
            },
            stream,
            board: Scoreboard::new(Offset::SYN),
            congestion: Window::new(control, mechanisms.initial_window),
            losses: Losses::new(mechanisms),
            episode: Episode::new(),
            rtt: RttEstimator::new(mechanisms.rto),
            timers: Timers::default(),
            copying: (mechanisms.slp).map(|rules| Box::new(Copying::new(rules))),
            delivery,
            given_up: GivenUp::default(),
            totals: Totals::default(),
            log: Log::new(log),
        }
    }

    /// Keeps the outstanding segments in `storage`, and keeps no finished recoveries. The sender then offers no new data
    /// while as many segments are outstanding as fit. It still allocates memory for events, for copies, for adaptive
    /// thresholds of byte streams, and for packets taken out as lost (unless [`remember_in`](Self::remember_in) gives
    /// it memory for them).
    ///
    /// # Errors
    /// Returns `storage` if more segments are outstanding than fit.
    pub fn keep_in(&mut self, storage: Storage) -> Result<(), Storage> {
        self.board.move_to(storage)?;
        self.totals.recoveries.forget_finished();
        Ok(())
    }

    /// The heap memory of the sender, in bytes. A new sender has none, unless it keeps events or sends copies.
    pub fn memory(&self) -> usize {
        let (copying, delivery) = (self.copying.as_deref(), self.delivery.as_deref());
        self.board.memory()
            + self.totals.recoveries.memory()
            + self.losses.suspects.memory()
            + self.log.memory()
            + self.given_up.memory()
            + self.stream.pacer.memory()
            + self.congestion.control.memory()
            + copying.map_or(0, size_of_val)
            + delivery.map_or(0, |delivery| size_of_val(delivery) + delivery.memory())
    }

    /// Lets what is kept of outstanding segments and of [recoveries](Self::recoveries) take at most `more` bytes of memory in
    /// addition, until this is called again. A few of each always fit. Where more segments do not, no new data is sent until some
    /// are acknowledged, and a segment that became too large for the path is cut later. A host with a bound on the memory of all
    /// its senders calls it before each transmission, [`limit_segments`](Self::limit_segments) and timer. For segments it changes
    /// nothing where the scoreboard has a [fixed size](Self::keep_in).
    pub fn limit_memory(&mut self, more: usize) {
        let beside = if self.delivery.is_some() { DeliveryRate::STAMP } else { 0 };
        let of_recoveries = more / 8;
        self.totals.recoveries.limit_growth(of_recoveries);
        self.board.limit_growth(more - of_recoveries, beside);
    }

    /// Frees memory beyond what most connections need.
    pub fn trim(&mut self) {
        self.board.trim();
    }

    /// Frees memory that no outstanding segment takes, for a connection that is idle. The next segments allocate it anew.
    pub fn free_unused(&mut self) {
        self.board.free_unused();
    }

    /// The application wrote `bytes` more bytes. Where packets are numbered: as many more packets wait to be sent,
    /// whether with new contents or with those of lost packets. Ignored after [`close`](Self::close).
    pub fn on_written(&mut self, now: Instant, bytes: u64) {
        if self.stream.fin().is_some() {
            return;
        }
        self.note_application_limit();
        self.stream.limit = self.stream.limit + bytes;
        self.update_persist(now);
        self.log_changes(now);
    }

    /// The application takes back the last `bytes` bytes (or packets) that it wrote and that were never sent, or all of
    /// them if there are fewer. Ignored after [`close`](Self::close).
    pub fn on_withdrawn(&mut self, now: Instant, bytes: u64) {
        if self.stream.fin().is_some() {
            return;
        }
        let unsent = self.stream.limit.since(self.board.nxt());
        let left = unsent.saturating_sub(bytes);
        self.stream.limit = self.board.nxt().max(Offset::DATA) + left;
        self.update_persist(now);
        self.log_changes(now);
    }

    /// The application is done sending: a FIN follows the data. Changes nothing when called again, or where packets are
    /// numbered.
    pub fn close(&mut self, now: Instant) {
        if self.stream.fin().is_none() && !self.board.numbers_packets() {
            self.stream.close();
            self.update_persist(now);
            self.log_changes(now);
        }
    }

    /// Sets whether the peer reports out-of-order data by SACK, as agreed in the handshake. Before this call, the sender
    /// assumes that it does. A profile without SACK never uses it. Ignored once data was sent, and where packets are
    /// numbered.
    pub fn set_sack(&mut self, sack: bool) {
        let settled = self.board.nxt() > Offset::DATA || self.board.numbers_packets();
        if !settled && self.mechanisms.sack != Sack::Never {
            self.mechanisms.sack = if sack { Sack::Used } else { Sack::Refused };
        }
    }

    /// Sets how long data may stay unacknowledged before the connection is given up (RFC 9293 §3.9.1), rounded up to
    /// a millisecond. With a timeout above 49.7 days (2^32 ms), the connection is never given up.
    ///
    /// It also limits how long a closed window may stay closed, although the peer answers (tcp(7), `TCP_USER_TIMEOUT`;
    /// Linux `tcp_probe_timer`, `tcp_rtx_probe0_timed_out`). The timeout of a profile does not: without a wish of the
    /// application, a peer that answers may keep its window closed (RFC 9293 §3.8.6.1).
    pub fn set_user_timeout(&mut self, timeout: Duration) {
        self.mechanisms.user_timeout = timeout.into();
        self.mechanisms.firm_timeout = true;
    }

    /// Switches Nagle's rule on or off. With it, a partial segment waits while an earlier partial segment is
    /// unacknowledged (RFC 9293 §3.7.4, in Minshall's form, as in Linux). It is off by default.
    pub fn set_nagle(&mut self, on: bool) {
        self.mechanisms.nagle = on;
    }

    /// Makes windows count bytes (`on`) or segments, which is the default. With bytes, a segment smaller than the others
    /// fills the congestion window, and makes it grow, by its own bytes (RFC 3465 §2, RFC 9002 §7). The unit of the
    /// windows is a full segment in both cases.
    pub fn count_bytes(&mut self, on: bool) {
        self.board.count_bytes(if on { self.peer.mss } else { 0 });
    }

    /// Sets the largest payload of new segments, in bytes. Outstanding segments keep their size.
    //= RFC 9002 §7.2 SHOULD: "If the maximum datagram size changes during the connection, the initial congestion window
    //=   SHOULD be recalculated with the new size."
    //= deviation: the window keeps its number of segments
    //= RFC 9002 §7.2 SHOULD: "If the maximum datagram size is decreased in order to complete the handshake, the
    //=   congestion window SHOULD be set to the new initial congestion window."
    //= deviation: the window keeps its number of segments
    pub fn set_mss(&mut self, now: Instant, mss: u32) {
        self.peer.mss = mss.clamp(1, Self::MOST_MSS);
        if !self.board.numbers_packets() {
            self.peer.full = self.peer.mss;
        }
        if self.board.counts_bytes() {
            self.board.count_bytes(self.peer.mss);
        }
        // The peer's window may have had room for a segment of the old size and have none for one of the new.
        self.update_persist(now);
        self.log_changes(now);
    }

    /// Changes the state. The change is logged once everything that belongs to it is done, or before the
    /// next change.
    fn set_state(&mut self, now: Instant, to: State) {
        let from = core::mem::replace(&mut self.episode.state, to);
        let spent = now.since(core::mem::replace(&mut self.episode.state_since, now));
        match from {
            State::Recovery => self.totals.counters.in_recovery += spent,
            State::Loss => self.totals.counters.in_loss += spent,
            State::Open | State::Disorder | State::Cwr => {}
        }
        if to == State::Open {
            self.totals.recoveries.note_open(now);
        }
        if from != to && self.log.is_on() {
            self.log_state(now);
            if let Some(last) = self.log.last() {
                last.state_change = Some((from, to));
            }
        }
    }

    fn log_state(&mut self, now: Instant) {
        let last = self.log.last();
        if let Some((from, to)) = last.and_then(|last| last.state_change.take()) {
            let (cwnd, ssthresh, pipe) = (self.congestion.cwnd, self.congestion.ssthresh, self.board.pipe());
            self.log.push(now, Event::StateChanged { from, to, cwnd, ssthresh, pipe });
        }
    }

    /// The lowest unacknowledged offset.
    pub fn una(&self) -> Offset {
        self.board.una()
    }

    /// The next offset to be sent for the first time.
    pub fn nxt(&self) -> Offset {
        self.board.nxt()
    }

    /// The end of the data that the application has written, SYN and FIN included.
    pub fn limit(&self) -> Offset {
        self.stream.limit
    }

    /// The SACK scoreboard: every outstanding segment.
    pub fn board(&self) -> &Scoreboard {
        &self.board
    }

    /// The state.
    pub fn state(&self) -> State {
        self.episode.state
    }

    /// The congestion window.
    pub fn cwnd(&self) -> Segments {
        self.congestion.cwnd
    }

    /// The slow-start threshold; [`Segments::MAX`] until the first reduction.
    pub fn ssthresh(&self) -> Segments {
        self.congestion.ssthresh
    }

    /// Largest payload of a segment, in bytes.
    pub fn mss(&self) -> u32 {
        self.peer.mss
    }

    /// The window the peer offers.
    pub fn peer_window(&self) -> PeerWindow {
        self.peer.window
    }

    /// The pacing rate: that of a congestion control that models the path, or else Linux's
    /// (`tcp_update_pacing_rate`), which [`next_send`](Self::next_send) does not wait for. `None` before the first RTT
    /// sample. Where windows count bytes, Linux's depends on the bytes in flight, not on the segments.
    pub fn pacing_rate(&self) -> Option<BitRate> {
        if self.congestion.control.models_path() {
            return self.congestion.control.pacing_rate();
        }
        // Where windows count bytes, the pipe is in full segments, and what is outstanding is not.
        let outstanding = match self.board.counts_bytes() {
            true => self.board.pipe(),
            false => self.board.outstanding(),
        };
        PacingInput {
            mss: self.peer.mss,
            cwnd: self.congestion.cwnd,
            ssthresh: self.congestion.ssthresh,
            outstanding,
            srtt: self.rtt.srtt(),
        }
        .rate()
    }

    /// Switches pacing by [`next_departure`](Self::next_departure) on or off. It is off by default. No effect with a
    /// congestion control that models the path: such a sender paces by itself, with [`Timer::Pacing`].
    //= RFC 9937 §6.4 SHOULD: "It is RECOMMENDED that implementations use pacing to reduce the burstiness of data
    //=   traffic."
    //= deviation: off unless the host switches it on
    //= RFC 9002 §7.7 SHOULD: "A sender SHOULD pace sending of all in-flight packets based on input from the congestion
    //=   controller."
    //= deviation: off unless the host switches it on
    //= RFC 9002 §7.7 MUST: "Senders MUST either use pacing or limit such bursts."
    //= deviation: the host must switch pacing on, or limit bursts itself
    pub fn set_paced(&mut self, on: bool) {
        self.stream.pacer.set_by_host(on);
    }

    /// When the pacing rate lets the next segment leave: `now` or later. It is `now` without pacing, before the first
    /// RTT sample, and for the first ten segments after a pause. Where [`set_paced`](Self::set_paced) switches pacing
    /// on, [`next_send`](Self::next_send) does not wait for it, and no timer fires at it: the host waits.
    pub fn next_departure(&self, now: Instant) -> Instant {
        match self.pacing_rate() {
            Some(rate) if self.stream.pacer.is_on() => self.stream.pacer.departure(now, self.peer.mss, rate),
            _ => now,
        }
    }

    /// The segments that leave together at the pacing rate, at least `least`: those of 1/1024 s, more on short paths
    /// (Linux `tcp_tso_autosize`).
    pub fn burst(&self, least: u32) -> u32 {
        let rate = self.pacing_rate().map(|rate| rate.bits_per_second() / 8);
        let rate = rate.unwrap_or(u64::MAX);
        pacing::burst(rate, self.peer.mss, self.rtt.min(), least)
    }

    /// Seeds what the sender draws at random: the phase in which BBR begins to probe. 0 by default.
    pub fn set_random_seed(&mut self, seed: u64) {
        self.congestion.control.set_random_seed(seed);
    }

    /// The congestion window in bytes: that many full segments.
    pub fn cwnd_bytes(&self) -> u64 {
        u64::from(self.congestion.cwnd.0) * u64::from(self.peer.mss)
    }

    /// Bytes in flight. Where windows count segments, each counts as a full one.
    pub fn bytes_in_flight(&self) -> u64 {
        let full = u64::from(self.board.pipe().0) * u64::from(self.peer.mss);
        self.board.bytes_in_flight().unwrap_or(full)
    }

    /// How many more segments the congestion window has room for.
    pub fn room(&self) -> Segments {
        self.less_copies(self.congestion.cwnd).saturating_sub(self.board.pipe())
    }

    /// Segments in flight.
    pub fn pipe(&self) -> Segments {
        self.board.pipe()
    }

    /// The round-trip time estimate.
    pub fn rtt(&self) -> &RttEstimator {
        &self.rtt
    }

    /// The RTO in force, back-off included.
    pub fn rto(&self) -> Duration {
        self.timers.rto.rto(&self.rtt)
    }

    /// How many times the RTO in force has doubled.
    pub fn backoff(&self) -> u32 {
        self.timers.rto.backoff()
    }

    /// Retransmission timeouts since the peer last acknowledged new data.
    pub fn timeouts(&self) -> u32 {
        self.timers.timeouts
    }

    /// Zero-window probes since the peer was last heard.
    pub fn unanswered_window_probes(&self) -> u32 {
        self.timers.persist.unanswered
    }

    /// The dupthresh in force: how many segments of reordering are tolerated.
    pub fn reordering(&self) -> Segments {
        self.losses.threshold.dupthresh()
    }

    /// Whether both sides use SACK.
    pub fn uses_sack(&self) -> bool {
        self.mechanisms.sack == Sack::Used
    }

    /// The counters since the connection began. The time spent in the present state is not included.
    pub fn counters(&self) -> Counters {
        let mut counters = Counters {
            lost_retransmissions: self.board.lost_retransmissions(),
            detected_lost_retransmissions: self.board.detected_lost_retransmissions(),
            impossible_blocks: self.board.impossible_blocks(),
            reordering_seen: self.losses.threshold.reorderings(),
            ..self.totals.counters.public()
        };
        if let Some(copying) = &self.copying {
            counters.copies = copying.sent;
            counters.copied_bytes = copying.sent_bytes;
            counters.copies_withheld = copying.withheld;
            counters.copies_reported = copying.reported;
        }
        counters
    }

    /// The latest finished recoveries, oldest first; 1,024 at most.
    pub fn recoveries(&self) -> impl ExactSizeIterator<Item = &Recovery> {
        self.totals.recoveries.finished()
    }

    /// Whether the user timeout has passed.
    pub fn gave_up(&self) -> bool {
        self.timers.gave_up
    }

    /// The FIN's offset, once the application has closed.
    pub fn fin(&self) -> Option<Offset> {
        self.stream.fin()
    }

    /// Takes out the events since the last call, if the sender [keeps](Self::keep_events) them.
    pub fn drain_events(&mut self) -> impl Iterator<Item = (Instant, Event)> + '_ {
        self.log.drain()
    }

    /// How many events were dropped because the log was full of 65,536 events.
    pub fn missed_events(&self) -> u64 {
        self.log.missed()
    }

    /// Checks the invariants that hold after every call: the oracle of the property tests.
    pub fn check(&self) -> Result<(), String> {
        self.board.check()?;
        let rules = [
            ("snd_nxt is past the data written", self.board.nxt() <= self.stream.limit.max(Offset::DATA)),
            ("cwnd is zero", self.congestion.cwnd > Segments::ZERO || self.reducing()),
            ("ssthresh is under two", self.congestion.ssthresh >= congestion::MIN_SSTHRESH),
            (
                "the retransmission timer runs if and only if something is outstanding",
                self.board.is_empty() == self.timers.rto.deadline().is_none(),
            ),
            (
                "with a probe timeout, neither it nor the time threshold's timer runs",
                !self.has_probe_timeout()
                    || self.board.is_empty()
                    || self.timers.reorder.is_some() != self.timers.probe.deadline().is_some(),
            ),
            (
                "in recovery although the recovery point is acknowledged",
                !matches!(self.episode.state, State::Recovery)
                    || self.una() < self.episode.recovery_point
                    || self.board.gives_up(),
            ),
            (
                "what is copied is not outstanding",
                (self.copying.as_ref())
                    .and_then(|copying| copying.copies.segment())
                    .is_none_or(|copied| self.una() <= copied.start && copied.end <= self.nxt()),
            ),
        ];
        match rules.iter().find(|(_, holds)| !holds) {
            Some((what, _)) => Err(format!("{what}: {self:?}")),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests;
