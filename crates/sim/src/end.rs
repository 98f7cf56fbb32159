//! One host of a flow.

use crate::timers::HostTimers;
use crate::{Application, EcnField, Packet, TimerModel};
use recoup_tcp::flow::{Action, SpuriousRetransmissions};
use recoup_tcp::{self as tcp, Endpoint};
use recoup_units::{Instant, Offset, Span};
use recoup_wire::{Flags, SeqNumber};
use std::time::Duration;

/// A host: its endpoint, and what the simulator keeps about it.
#[derive(Debug)]
pub(crate) struct End {
    pub endpoint: Endpoint,
    pub timers: HostTimers,
    pub wake: Option<(Instant, tcp::Timer)>,
    pub isn: SeqNumber,
    pub packets: u64,
    pub last_ack_at: Option<Instant>,
    pub spurious: SpuriousRetransmissions,
    /// The end of the data that the peer's application writes.
    pub expected: Offset,
    /// When the connection was established here.
    pub established: Option<Instant>,
    /// When the application last did nothing although it wanted to be woken.
    pub idle_wake: Option<Instant>,
}

impl End {
    pub fn new(endpoint: Endpoint) -> Self {
        Self {
            endpoint,
            timers: HostTimers::new(),
            wake: None,
            isn: SeqNumber(0),
            packets: 0,
            last_ack_at: None,
            spurious: SpuriousRetransmissions::default(),
            expected: Offset::DATA,
            established: None,
            idle_wake: None,
        }
    }

    pub fn begin(&mut self, config: &tcp::Config, connects: bool, timers: TimerModel, phase: Duration) {
        self.endpoint.reset(config, connects);
        self.timers.begin(timers, phase);
        self.wake = None;
        self.isn = config.isn;
        self.packets = 0;
        self.last_ack_at = None;
        self.spurious.clear();
        self.established = None;
        self.idle_wake = None;
    }

    /// The bytes that the peer's application writes, if they are known.
    pub fn expect(&mut self, bytes: Option<u64>) {
        self.expected = bytes.map_or(Offset(u64::MAX), |bytes| Offset::DATA + bytes);
    }

    /// Whether the host is established and has received everything that the peer's application writes. The
    /// server is established last, so a flow without data is complete then.
    pub fn has_all(&self) -> bool {
        self.established.is_some() && self.endpoint.receiver().next() >= self.expected
    }

    /// When `application`, which runs here, wants to be woken.
    pub fn wake_of<A: Application>(&self, application: &A) -> Option<Instant> {
        let is_new = |at: &Instant| self.idle_wake.is_none_or(|idle| *at > idle);
        application.wake().filter(is_new)
    }

    /// A packet of the `far` host arrives. Returns whether both hosts have received everything with it.
    // Not inlined: the compiler would compute the address of every field for both hosts first.
    #[inline(never)]
    pub fn receive(&mut self, now: Instant, packet: &Packet, far: &mut Self) -> bool {
        let had_all = self.has_all();
        if packet.segment.flags.contains(Flags::ACK) {
            self.last_ack_at = Some(now);
        }
        let near = self.endpoint.receiver().next();
        if packet.ecn == EcnField::Ce {
            self.endpoint.on_congestion_experienced();
        }
        self.endpoint.on_segment(now, &packet.segment);
        if far.spurious.is_waiting() {
            let len = u64::from(packet.segment.sequence_len());
            let start = packet.segment.seq.unwrap(far.isn, near);
            let span = start.map_or(Span::default(), |start| Span::at(start, len));
            // Segments that the endpoint rejected, for an old timestamp, are not delivered.
            if far.spurious.awaits(span) && self.endpoint.receiver().holds(span) {
                far.spurious.on_arrival(packet.ordinal, span);
            }
        }
        // The application reads all data at once.
        let readable = self.endpoint.readable();
        if readable > 0 {
            self.endpoint.read(now, readable);
        }
        if self.established.is_none() && self.endpoint.is_open() {
            self.established = Some(now);
        }
        // This call does not change the data that the far host has received.
        !had_all && self.has_all() && far.has_all()
    }

    pub fn perform(&mut self, now: Instant, action: Action) {
        if let Action::Write(bytes) | Action::WriteAndClose(bytes) = action {
            self.endpoint.write(now, bytes);
        }
        if let Action::Close | Action::WriteAndClose(_) = action {
            self.endpoint.close(now);
        }
        if action == Action::Release {
            self.endpoint.release(now, false);
        }
    }

    pub fn update_wake(&mut self, now: Instant) {
        let sender = self.timers.next(now, self.endpoint.sender());
        let sender = sender.map(|(at, timer)| (at, tcp::Timer::Recovery(timer)));
        let own = self.endpoint.next_own_timer().map(|own| self.timers.own(now, own));
        self.wake = match self.endpoint.state() {
            tcp::State::Closed(_) => None,
            _ => [sender, own].into_iter().flatten().min_by_key(|(at, _)| *at),
        };
    }
}
