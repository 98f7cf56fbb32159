//! One side of a connection.
//!
//! Sources: RFC 9293 §3.10 (states and their events), RFC 7323 (window scale, timestamps, PAWS),
//! RFC 5961 §3–§5 (challenge ACKs for blind resets, SYNs and ACKs).
//!
//! Deviations: a listening endpoint takes one connection, there is no simultaneous open; TIME-WAIT
//! lasts [`TIME_WAIT`], Linux's 60 s rather than 2 MSL of 2 minutes; urgent data is ignored; a
//! segment without the timestamps agreed on is taken all the same, as Linux does (RFC 7323 §3.2 would
//! drop it).
//!
//! Challenge ACKs are not rate-limited here: RFC 5961 §7 limits those of a host. A host with many
//! connections asks [`Endpoint::owes_challenge_ack`] before it transmits, and withholds the challenge ACK
//! when its budget is spent.

mod half_open;
mod input;
mod liveness;
mod output;
mod path_mtu;
mod state;
mod time_wait;
mod tuning;

use crate::acks::AckSchedule;
use crate::ecn::EcnState;
use crate::info::Traffic;
use crate::push::Pusher;
use crate::{Config, Receiver};
use liveness::Liveness;
use path_mtu::PathMtu;
use recoup_recovery::{self as recovery, Event, Sender, Transmission, Trigger};
use recoup_units::{Instant, Offset, Span};
use recoup_wire::{Flags, IpVersion, Options, SackBlocks, Segment, SeqNumber, Timestamps};
use std::time::Duration;
use tuning::ReceiveTuning;

pub use path_mtu::MtuProbing;

pub use half_open::HalfOpen;
pub use liveness::KeepAlive;
pub use recoup_wire::Unreachable;
pub use state::{Closed, State};
pub use time_wait::{TimeWait, TimeWaitAnswer};

/// How long the side that closed first remembers the connection.
pub const TIME_WAIT: Duration = Duration::from_secs(60);

/// The timers of an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Timer {
    /// A timer of the sender.
    Recovery(recovery::Timer),
    /// A held ACK.
    DelayedAck,
    /// The end of TIME-WAIT.
    TimeWait,
    /// The peer was silent: it is probed, or given up.
    KeepAlive,
}

/// The kind of a segment to transmit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transmit {
    /// The sender's: its payload is the send stream's data from the span on.
    Stream(Transmission),
    /// A pure ACK or a reset.
    Control,
}

impl Transmit {
    /// Whether it is sequence space sent for the first time.
    #[inline]
    pub fn is_new(self) -> bool {
        matches!(self, Self::Stream(what) if what.is_new())
    }

    /// Whether the endpoint has nothing more to transmit after `segment`, which was transmitted as this, until something
    /// else happens to it.
    #[inline]
    pub fn is_last(self, segment: &Segment) -> bool {
        // An ACK goes when nothing of the stream may go. After a reset, a SYN may follow.
        self == Self::Control && !segment.flags.contains(Flags::RST)
    }

    /// Where in the send stream the payload of `segment` stands, which was transmitted as this.
    pub fn payload_span(self, segment: &Segment) -> Span {
        let span = match self {
            Self::Stream(what) => what.span(),
            Self::Control => None,
        };
        let start = span.map_or(Offset::DATA, |span| span.start.max(Offset::DATA));
        Span::at(start, u64::from(segment.payload_len))
    }
}

/// A reset that is to be sent.
#[derive(Clone, Copy, Debug)]
struct Reset {
    seq: SeqNumber,
    ack: Option<SeqNumber>,
    /// The timestamp that it echoes, if it has timestamps.
    echo: Option<u32>,
}

impl Reset {
    /// A reset for whoever sent an ACK of `at`: it stands exactly where they expect (RFC 9293 §3.10.7.1).
    const fn at(at: SeqNumber) -> Self {
        Self { seq: at, ack: None, echo: None }
    }

    fn segment(self, now: Instant) -> Segment {
        let timestamps = self.echo.map(|echo| Timestamps { value: timestamp(now), echo });
        Segment {
            seq: self.seq,
            ack: self.ack.unwrap_or_default(),
            flags: if self.ack.is_some() { Flags::RST | Flags::ACK } else { Flags::RST },
            options: Options { timestamps, ..Options::NONE },
            ..Segment::default()
        }
    }
}

/// One side of a connection.
#[derive(Clone, Debug)]
pub struct Endpoint {
    isn: SeqNumber,
    /// The MSS that our SYN announces.
    pub(crate) announced_mss: u16,
    /// The window scale that our SYN offers.
    offered_scale: Option<u8>,
    ip_version: IpVersion,
    state: State,
    sender: Sender,
    receiver: Receiver,
    pub(crate) acks: AckSchedule,
    peer_isn: SeqNumber,
    /// Shift of the windows the peer offers; 0 until agreed.
    pub(crate) peer_scale: u8,
    /// Shift of the windows offered to the peer; 0 until agreed.
    pub(crate) scale: u8,
    pub(crate) timestamps: bool,
    pub(crate) sack: bool,
    /// Payload bytes of a full-size segment, ours or the peer's.
    pub(crate) full_segment: u16,
    path_mtu: PathMtu,
    tuning: ReceiveTuning,
    /// The peer's timestamp to echo (TS.Recent), and up to where ACKs were sent (Last.ACK.sent).
    ts_recent: u32,
    ts_recent_at: Instant,
    last_ack_sent: Offset,
    pub(crate) traffic: Traffic,
    pusher: Pusher,
    ecn: EcnState,
    strange: StrangeAcks,
    /// Whether the SYN-ACK must be retransmitted, because the peer repeated its SYN.
    syn_ack_due: bool,
    /// The segment copied last carried PSH.
    copy_pushed: bool,
    reset_due: Option<Reset>,
    time_wait_until: Option<Instant>,
    /// The application has let go of the connection.
    released: bool,
    /// What only few connections need.
    liveness: Option<Box<Liveness>>,
}

/// How many unacceptable segments without data were answered in the present second. Two ends that disagree about where the
/// connection stands would answer each other's answers for ever (Linux `tcp_oow_rate_limited` answers one in
/// `tcp_invalid_ratelimit`, 500 ms).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct StrangeAcks {
    /// Modulo 256.
    second: u8,
    answered: u8,
}

impl StrangeAcks {
    /// Answers in a second at most: probes of a closed window, which must be answered, are 200 ms apart at least.
    const MOST: u8 = 5;

    /// Whether one more is answered.
    fn take(&mut self, now: Instant) -> bool {
        let second = (now.as_nanos() / 1_000_000_000) as u8;
        if self.second != second {
            *self = Self { second, answered: 0 };
        }
        let answers = self.answered < Self::MOST;
        self.answered += u8::from(answers);
        answers
    }
}

impl Endpoint {
    /// An endpoint that connects: its first segment is a SYN.
    pub fn connect(config: &Config) -> Self {
        Self::new(config, State::SynSent, Trigger::Syn)
    }

    /// An endpoint that waits for a SYN.
    pub fn listen(config: &Config) -> Self {
        Self::new(config, State::Listen, Trigger::SynAck)
    }

    fn new(config: &Config, state: State, syn: Trigger) -> Self {
        let mss = u32::from(config.mss);
        let mut sender = Sender::new(&config.mechanisms, mss, syn, config.log);
        sender.set_nagle(config.nagle);
        sender.set_random_seed(u64::from(config.isn.0));
        let mut receiver = Receiver::new(config.receive_buffer, config.mss);
        receiver.report_duplicates(config.dsack);
        Self {
            isn: config.isn,
            announced_mss: config.announced_mss(),
            offered_scale: config.window_scale(),
            ip_version: config.ip_version,
            state,
            sender,
            receiver,
            acks: AckSchedule::new(config.acks),
            peer_isn: SeqNumber(0),
            peer_scale: 0,
            scale: 0,
            timestamps: config.timestamps,
            sack: config.sack,
            full_segment: config.mss,
            path_mtu: PathMtu::new(config),
            tuning: ReceiveTuning::new(config.tune_receive_buffer),
            ts_recent: 0,
            ts_recent_at: Instant::ZERO,
            last_ack_sent: Offset::SYN,
            traffic: Traffic::default(),
            pusher: Pusher::new(config.push),
            ecn: EcnState::new(config.ecn),
            strange: StrangeAcks::default(),
            syn_ack_due: false,
            copy_pushed: false,
            reset_due: None,
            time_wait_until: None,
            released: false,
            liveness: None,
        }
    }

    /// Resets to a new connection, as by [`connect`](Self::connect) or [`listen`](Self::listen), and keeps the
    /// memory.
    pub fn reset(&mut self, config: &Config, connects: bool) {
        let (state, syn) = match connects {
            true => (State::SynSent, Trigger::Syn),
            false => (State::Listen, Trigger::SynAck),
        };
        self.isn = config.isn;
        self.announced_mss = config.announced_mss();
        self.offered_scale = config.window_scale();
        self.ip_version = config.ip_version;
        self.state = state;
        self.sender.reset(&config.mechanisms, u32::from(config.mss), syn, config.log);
        self.sender.set_nagle(config.nagle);
        self.receiver.reset(config.receive_buffer, config.mss);
        self.receiver.report_duplicates(config.dsack);
        self.acks = AckSchedule::new(config.acks);
        self.peer_isn = SeqNumber(0);
        self.peer_scale = 0;
        self.scale = 0;
        self.timestamps = config.timestamps;
        self.sack = config.sack;
        self.full_segment = config.mss;
        self.path_mtu = PathMtu::new(config);
        self.tuning = ReceiveTuning::new(config.tune_receive_buffer);
        self.ts_recent = 0;
        self.ts_recent_at = Instant::ZERO;
        self.last_ack_sent = Offset::SYN;
        self.traffic = Traffic::default();
        self.pusher.reset(config.push);
        self.ecn = EcnState::new(config.ecn);
        self.strange = StrangeAcks::default();
        self.syn_ack_due = false;
        self.copy_pushed = false;
        self.reset_due = None;
        self.time_wait_until = None;
        self.released = false;
        self.liveness = None;
    }

    /// In-order bytes that the application has not read yet.
    pub fn readable(&self) -> u64 {
        self.receiver.readable()
    }

    /// The application read `bytes`. If that opens a closed window, an ACK reports it to the peer.
    pub fn read(&mut self, now: Instant, bytes: u64) {
        self.receiver.read(bytes);
        if self.synchronized() && self.receiver.window_update_due() {
            self.acks.on_segment(now, crate::acks::Urgency::AtOnce);
        }
    }

    /// The application is done sending: a FIN follows the data.
    pub fn close(&mut self, now: Instant) {
        match self.state {
            State::Listen => self.end(Closed::Gracefully),
            State::Closed(_) => {}
            State::CloseWait => {
                self.state = State::LastAck;
                self.sender.close(now);
            }
            State::SynSent | State::SynReceived | State::Established => {
                // Before the handshake is done the FIN waits behind it.
                if self.state == State::Established {
                    self.state = State::FinWait1;
                }
                self.sender.close(now);
            }
            _ => {}
        }
    }

    /// The application releases the connection, as by Linux's `close`: it will neither write nor read any more.
    /// If data is unread (RFC 1122 §4.2.2.13) or `reset` is set, the endpoint sends a reset. Otherwise a FIN
    /// follows the written data, and the endpoint resets the connection if data arrives later. An unanswered
    /// SYN is abandoned.
    pub fn release(&mut self, now: Instant, reset: bool) {
        self.released = true;
        if reset || self.readable() > 0 || self.state == State::SynSent {
            self.abort();
        } else {
            self.close(now);
        }
    }

    /// The application aborts the connection: the peer is reset, unless both sides have closed already
    /// (RFC 9293 §3.10.5). Ignored once the connection is over.
    pub fn abort(&mut self) {
        if self.is_closed() {
            return;
        }
        let both_closed = matches!(self.state, State::Closing | State::LastAck | State::TimeWait);
        if self.synchronized() && !both_closed {
            self.reset_due = Some(self.own_reset());
        }
        self.end(Closed::ByAbort);
    }

    /// A reset that nothing of the peer's asked for.
    fn own_reset(&self) -> Reset {
        let seq = self.isn.at(self.sender.nxt());
        let echo = self.timestamps.then_some(self.ts_recent);
        Reset { seq, ack: Some(self.ack_number()), echo }
    }

    fn end(&mut self, how: Closed) {
        self.state = State::Closed(how);
        self.acks.on_ack_sent();
        self.time_wait_until = None;
    }

    /// The timer with the earliest deadline, and the deadline.
    pub fn next_timer(&self) -> Option<(Instant, Timer)> {
        if self.is_closed() {
            return None;
        }
        let sender = self.sender.next_timer().map(|(at, timer)| (at, Timer::Recovery(timer)));
        [sender, self.next_own_timer()].into_iter().flatten().min_by_key(|(at, _)| *at)
    }

    /// The earliest timer of the endpoint itself, for hosts that round the sender's deadlines.
    pub fn next_own_timer(&self) -> Option<(Instant, Timer)> {
        let ack = self.acks.deadline().map(|at| (at, Timer::DelayedAck));
        let wait = self.time_wait_until.map(|at| (at, Timer::TimeWait));
        let silence = self.keep_alive_deadline().map(|at| (at, Timer::KeepAlive));
        [ack, wait, silence].into_iter().flatten().min_by_key(|(at, _)| *at)
    }

    /// `timer` fired.
    pub fn on_timer(&mut self, now: Instant, timer: Timer) {
        match timer {
            Timer::Recovery(timer) => {
                let before = self.sender.state();
                self.sender.on_timer(now, timer);
                self.ecn.on_state(before, self.sender.state());
                if self.sender.gave_up() {
                    self.end_by_timeout();
                } else if timer == recovery::Timer::Rto {
                    self.on_mtu_timeout(now);
                } else {
                    self.judge_probe(now);
                }
            }
            Timer::DelayedAck => self.acks.on_timer(),
            Timer::TimeWait => self.end(Closed::Gracefully),
            Timer::KeepAlive => self.on_silence(now),
        }
    }

    /// Whether a challenge ACK (RFC 5961 §3.2, §4.2, §5.2) is the only ACK to be sent now.
    pub fn owes_challenge_ack(&self) -> bool {
        self.acks.only_challenge_is_due()
    }

    /// Whether an ACK is to be sent now.
    pub fn owes_ack(&self) -> bool {
        self.acks.is_due()
    }

    /// Does not send the challenge ACK (RFC 5961 §7).
    pub fn withhold_challenge_ack(&mut self) {
        self.acks.withhold_challenge();
    }

    /// The peer's SYN has arrived.
    #[inline]
    fn synchronized(&self) -> bool {
        !self.is_closed() && self.state != State::Listen && self.state != State::SynSent
    }

    /// The connection is over.
    // Asked for each segment. One pattern that unites this variant with others costs several times as much.
    #[inline]
    fn is_closed(&self) -> bool {
        matches!(self.state, State::Closed(_))
    }

    /// The state.
    pub fn state(&self) -> State {
        self.state
    }

    /// Whether packets with new data are to carry ECT(0): routers may mark them instead of dropping them
    /// (RFC 3168 §6.1.2).
    pub fn is_ecn_capable(&self) -> bool {
        self.ecn.is_agreed()
    }

    /// The packet of the next segment delivered was marked "congestion experienced".
    pub fn on_congestion_experienced(&mut self) {
        self.ecn.on_mark();
    }

    /// The handshake is done and the connection has not ended.
    pub fn is_open(&self) -> bool {
        self.synchronized() && self.state != State::SynReceived && self.state != State::TimeWait
    }

    /// The sequence number of the lowest offset the peer has not acknowledged (SND.UNA).
    pub fn send_unacknowledged(&self) -> SeqNumber {
        self.isn.at(self.sender.una())
    }

    /// Whether `seq` is the number of something sent and not acknowledged.
    pub fn is_outstanding(&self, seq: SeqNumber) -> bool {
        let (una, nxt) = (self.sender.una(), self.sender.nxt());
        let offset = seq.unwrap(self.isn, una);
        offset.is_some_and(|at| at >= una && at < nxt)
    }

    /// The sequence number expected next from the peer (RCV.NXT), once its SYN has arrived.
    pub fn receive_next(&self) -> SeqNumber {
        self.ack_number()
    }

    /// Where in the receive stream `seq` lies, once the peer's SYN has arrived.
    pub(crate) fn receive_offset(&self, seq: SeqNumber) -> Option<Offset> {
        let next = self.receiver.next();
        let offset = seq.unwrap(self.peer_isn, next);
        offset.filter(|_| next > Offset::SYN)
    }

    /// Whether data is outstanding in segments that may be too large for the path by now.
    pub fn has_larger_segments(&self) -> bool {
        self.path_mtu.has_larger(self.sender.una())
    }

    /// Lets the sender take at most `more` bytes of memory in addition (see
    /// [`Sender::limit_memory`](recovery::Sender::limit_memory)).
    pub fn limit_memory(&mut self, more: usize) {
        self.sender.limit_memory(more);
    }

    /// Frees memory that an idle connection does not need.
    pub(crate) fn free_unused(&mut self) {
        self.sender.free_unused();
        self.receiver.free_unused();
        self.pusher.free_unused();
    }

    /// The send side.
    pub fn sender(&self) -> &Sender {
        &self.sender
    }

    /// The receive side.
    pub fn receiver(&self) -> &Receiver {
        &self.receiver
    }

    /// Takes out the events logged since the last call.
    pub fn drain_events(&mut self) -> impl Iterator<Item = (Instant, Event)> + '_ {
        self.sender.drain_events()
    }
}

/// The timestamp clock: 1 ms, starting at 1 so that an echo of 0 means none (RFC 7323 §4.1).
fn timestamp(now: Instant) -> u32 {
    (now.as_nanos() / 1_000_000 + 1) as u32
}

/// The end of the timestamp clock's tick that `now` lies in.
fn end_of_tick(now: Instant) -> Instant {
    Instant::from_millis(now.as_nanos() / 1_000_000 + 1)
}

#[cfg(test)]
mod tests;
