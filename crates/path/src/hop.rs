//! A hop at work: what it does to each packet, and the packets it holds.
//!
//! Every hop releases packets in the order of their arrival, and knows on arrival when it will release
//! each. (A reordering hop holds only the packets it chose, all for the same time.) So all hops share
//! the same first-in first-out [`HopQueue`] and differ only in their verdicts. A verdict may also drop a
//! packet the hop holds: where ACKs are thinned, an ACK replaces the one before it.

use std::time::Duration;

use recoup_units::{BitRate, Direction, Instant};

use crate::aqm::{CoDelQueue, Managed, RedState, Waiting};
use crate::hop_queue::HopQueue;
use crate::link::{LinkClock, Transit};
use crate::loss::{Bucket, Channels, OutageClock, RuleMatch};
use crate::packet_rng::{PacketId, PacketRng, Purpose};
use crate::packet_store::PacketKey;
use crate::probability::unit;
use crate::thin::Thinning;
use crate::{DropCause, HopSpec, LossKind, LossSpec, LossTrace, Packet, Probability, Queue};

/// A packet inside a chain.
#[derive(Clone, Debug)]
pub(crate) struct Carried<P> {
    pub packet: P,
    pub id: PacketId,
    pub slot: usize,
    pub matched: RuleMatch,
}

/// The decision of a hop on a packet that reaches it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum HopVerdict {
    /// Passes it on at once.
    Pass,
    /// Holds it until its transit ends.
    Hold(Transit),
    /// Holds it, and decides later what happens to it.
    Wait,
    /// Passes it on at once, with a copy whose copy number has this bit set.
    Copy(u64),
    /// Passes it on at once, and drops this packet, which the hop held, as replaced by it.
    Replace(PacketKey),
    /// Drops it.
    Drop(DropCause),
}

/// One hop of a chain.
#[derive(Debug)]
pub(crate) struct Hop {
    action: Action,
    /// Whether later packets find earlier ones waiting.
    queues: bool,
    rng: PacketRng,
    index: u32,
    store: HopQueue,
}

#[derive(Debug)]
enum Action {
    Nothing,
    /// In nanoseconds.
    Delay(u64),
    Rate {
        rate: BitRate,
        queue: Queue,
        free_at: Instant,
    },
    Red {
        rate: BitRate,
        state: RedState,
        free_at: Instant,
    },
    CoDel(Box<CoDelQueue>),
    Link {
        clock: LinkClock,
        queue: Queue,
    },
    Named,
    Bernoulli {
        probability: Probability,
        transmission: Option<u32>,
    },
    GilbertElliott {
        channels: Channels,
        transmission: Option<u32>,
    },
    Outages(OutageClock),
    Policer(Bucket),
    LossTrace(LossTrace),
    Reorder {
        probability: Probability,
        /// In nanoseconds.
        extra: u64,
    },
    Shortcut {
        probability: Probability,
        /// In nanoseconds.
        ahead: u64,
        below: u32,
    },
    Duplicate {
        probability: Probability,
        bit: u64,
    },
    Corrupt {
        probability: Probability,
    },
    ThinAcks(Thinning),
}

impl Action {
    /// `duplicating` is the number of duplicating hops before this one.
    fn new(spec: &HopSpec, duplicating: u32) -> Self {
        match *spec {
            HopSpec::Delay(delay) => Self::Delay(nanos(delay)),
            HopSpec::Rate { rate, queue: Queue::Red(spec) } => {
                Self::Red { rate, state: RedState::new(spec), free_at: Instant::ZERO }
            }
            HopSpec::Rate { rate, queue: Queue::CoDel(spec) } => Self::CoDel(Box::new(CoDelQueue::new(spec, rate))),
            HopSpec::Rate { rate, queue } => Self::Rate { rate, queue, free_at: Instant::ZERO },
            HopSpec::Link { ref trace, queue } => Self::Link { clock: LinkClock::new(trace.clone()), queue },
            HopSpec::Loss(LossSpec { kind, transmission }) => match kind {
                LossKind::None => Self::Nothing,
                LossKind::Bernoulli(probability) => Self::Bernoulli { probability, transmission },
                LossKind::GilbertElliott(spec) => Self::GilbertElliott { channels: Channels::new(spec), transmission },
                LossKind::Outages(spec) => Self::Outages(OutageClock::new(spec)),
                LossKind::Policer(spec) => Self::Policer(Bucket::new(spec)),
                _ => Self::Named,
            },
            HopSpec::LossTrace(ref trace) => Self::LossTrace(trace.clone()),
            HopSpec::Reorder { probability, extra } => Self::Reorder { probability, extra: nanos(extra) },
            HopSpec::Shortcut { probability, ahead, below } => {
                Self::Shortcut { probability, ahead: nanos(ahead), below }
            }
            HopSpec::Duplicate { probability } => Self::Duplicate { probability, bit: 1 << (duplicating % 64) },
            HopSpec::Corrupt { probability } => Self::Corrupt { probability },
            HopSpec::ThinAcks { hold } => Self::ThinAcks(Thinning::new(hold)),
        }
    }

    /// Whether later packets find earlier ones waiting, in a chain that keeps the order.
    const fn queues(&self) -> bool {
        matches!(self, Self::Rate { .. } | Self::Link { .. } | Self::Red { .. })
    }
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

impl Hop {
    pub fn new(spec: &HopSpec, index: u32, duplicating: u32, seed: u64, direction: Direction) -> Self {
        let action = Action::new(spec, duplicating);
        let (queues, rng) = (action.queues(), PacketRng::new(seed, direction, index));
        Self { action, queues, rng, index, store: HopQueue::default() }
    }

    /// Becomes another hop in the same place, keeping allocations.
    pub fn respecify(&mut self, spec: &HopSpec, duplicating: u32) {
        self.action = Action::new(spec, duplicating);
        self.queues = self.action.queues();
    }

    /// Returns to the state of a new hop.
    pub fn reset(&mut self, seed: u64, direction: Direction) {
        self.rng = PacketRng::new(seed, direction, self.index);
        self.store.clear();
        match &mut self.action {
            Action::Rate { free_at, .. } => *free_at = Instant::ZERO,
            Action::Red { state, free_at, .. } => {
                state.reset();
                *free_at = Instant::ZERO;
            }
            Action::CoDel(queue) => queue.reset(),
            Action::Link { clock, .. } => clock.reset(),
            Action::GilbertElliott { channels, .. } => channels.reset(),
            Action::Outages(clock) => clock.reset(),
            Action::Policer(bucket) => bucket.reset(),
            Action::ThinAcks(thinning) => thinning.reset(),
            _ => {}
        }
    }

    /// Decides what happens to a packet that arrives at `at`. Packets due by then must have been
    /// released.
    #[inline(always)] // for each packet and hop
    pub fn decide<P: Packet>(&mut self, at: Instant, carried: &mut Carried<P>) -> HopVerdict {
        // Most hops are delays, which need nothing of what follows.
        if let Action::Delay(delay) = self.action {
            return hold(at, at.plus_nanos(delay));
        }
        let (rng, id, matched) = (self.rng, carried.id, carried.matched);
        let happens = |p: Probability| p.happens(|| rng.draw(id, Purpose::Occurrence));
        let concerns = |t: Option<u32>| t.is_none_or(|t| t == matched.transmission);
        match self.action {
            Action::Nothing | Action::Delay(_) => HopVerdict::Pass,
            Action::Rate { .. } | Action::Link { .. } => {
                let verdict = self.serve(at, carried.packet.ip_len());
                if let HopVerdict::Hold(transit) = verdict {
                    carried.packet.waited(transit.starts.nanos_since(at));
                }
                verdict
            }
            Action::Red { .. } => self.serve_early(at, carried),
            Action::CoDel(ref queue) if queue.has_room() => HopVerdict::Wait,
            Action::CoDel(_) => HopVerdict::Drop(DropCause::QueueFull),
            Action::Named => lose(matched.dropped_by == Some(self.index)),
            Action::Bernoulli { probability, transmission } => lose(concerns(transmission) && happens(probability)),
            Action::GilbertElliott { ref mut channels, transmission } => {
                lose(concerns(transmission) && channels.lose(&rng, carried.slot, id))
            }
            Action::Outages(ref mut clock) => lose(clock.lose(at, &rng, id)),
            Action::Policer(ref mut bucket) => lose(bucket.drops(at, carried.packet.ip_len())),
            Action::LossTrace(ref trace) => lose(trace.loses(&rng, id)),
            Action::Reorder { probability, extra } if happens(probability) => hold(at, at.plus_nanos(extra)),
            Action::Shortcut { probability, ahead, below } => {
                let payload = carried.packet.tcp().map_or(0, |tcp| tcp.payload_len);
                if (1..below).contains(&payload) && happens(probability) {
                    HopVerdict::Pass
                } else {
                    hold(at, at.plus_nanos(ahead))
                }
            }
            Action::Duplicate { probability, bit } if happens(probability) => HopVerdict::Copy(bit),
            Action::Corrupt { probability } if happens(probability) => {
                carried.packet.corrupt(rng.draw(id, Purpose::DamagedBit));
                HopVerdict::Pass
            }
            Action::ThinAcks(ref mut thinning) => {
                thinning.decide(at, carried.slot, carried.packet.tcp(), &mut self.store)
            }
            Action::Reorder { .. } | Action::Duplicate { .. } | Action::Corrupt { .. } => HopVerdict::Pass,
        }
    }

    /// Queues a packet of `len` bytes for the transmitter or link if the queue has room.
    fn serve(&mut self, at: Instant, len: u32) -> HopVerdict {
        match &mut self.action {
            Action::Rate { rate, queue, free_at } => {
                // An idle transmitter takes the packet at once: it need not wait.
                if !self.store.is_empty() && !self.store.has_room(*queue, at, len) {
                    return HopVerdict::Drop(DropCause::QueueFull);
                }
                let starts = at.max(*free_at);
                *free_at = starts.plus_nanos(rate.nanos_for(len.into()));
                hold(starts, *free_at)
            }
            Action::Link { queue, .. } if !self.store.has_room(*queue, at, len) => {
                HopVerdict::Drop(DropCause::QueueFull)
            }
            Action::Link { clock, .. } => HopVerdict::Hold(clock.take(at, len)),
            _ => HopVerdict::Pass,
        }
    }

    /// As [`serve`](Self::serve) behind a RED queue.
    fn serve_early<P: Packet>(&mut self, at: Instant, carried: &mut Carried<P>) -> HopVerdict {
        let (rng, id) = (self.rng, carried.id);
        let Action::Red { rate, state, free_at } = &mut self.action else {
            return HopVerdict::Pass;
        };
        if self.store.is_empty() {
            state.note_idle(*free_at);
        }
        let waiting = self.store.waiting(at);
        let capable = carried.packet.is_ecn_capable();
        let draw = || unit(rng.draw(id, Purpose::Management));
        match state.decide(at, waiting, *rate, capable, draw) {
            Managed::Drop => return HopVerdict::Drop(DropCause::Managed),
            Managed::Mark => carried.packet.mark(),
            Managed::Keep => {}
        }
        let starts = at.max(*free_at);
        *free_at = starts + rate.time_for(carried.packet.ip_len().into());
        carried.packet.waited(starts.nanos_since(at));
        hold(starts, *free_at)
    }

    /// Whether packets leave the hop in the order in which they reached it, and what happens to one depends on
    /// none that reaches it later.
    pub const fn keeps_order(&self) -> bool {
        !matches!(
            self.action,
            Action::Reorder { .. } | Action::Shortcut { .. } | Action::ThinAcks(_) | Action::CoDel(_)
        )
    }

    /// Whether the hop keeps something for each flow.
    pub const fn knows_flows(&self) -> bool {
        matches!(
            self.action,
            Action::Named
                | Action::GilbertElliott { .. }
                | Action::ThinAcks(_)
                | Action::Bernoulli { transmission: Some(_), .. }
        )
    }

    /// As [`decide`](Self::decide) for packets that all come in order. The hop does not hold them: it keeps only
    /// what it must know of those that later packets find waiting.
    #[inline(always)] // one caller
    pub fn decide_in_order<P: Packet>(&mut self, at: Instant, carried: &mut Carried<P>) -> HopVerdict {
        if !self.queues {
            return self.decide(at, carried);
        }
        // Departures come before arrivals.
        while self.store.next_release().is_some_and(|leaves| leaves <= at) {
            self.store.release();
        }
        let len = carried.packet.ip_len();
        let verdict = self.decide(at, carried);
        if let HopVerdict::Hold(transit) = verdict {
            self.store.put(transit, PacketKey::NOWHERE, len);
        }
        verdict
    }

    /// Holds a packet of `len` bytes until its transit ends.
    pub fn hold(&mut self, transit: Transit, place: PacketKey, len: u32) {
        self.store.put(transit, place, len);
    }

    /// Holds a packet that arrives at `at`, and decides later what happens to it.
    pub fn wait<P: Packet>(&mut self, at: Instant, place: PacketKey, packet: &P) {
        if let Action::CoDel(queue) = &mut self.action {
            queue.put(Waiting { place, len: packet.ip_len(), arrived: at, capable: packet.is_ecn_capable() });
        }
    }

    /// When the next packet leaves.
    pub fn next_release(&self) -> Option<Instant> {
        match &self.action {
            Action::CoDel(queue) => queue.next_release(),
            _ => self.store.next_release(),
        }
    }

    /// The packet that leaves next.
    pub fn release(&mut self) -> Option<PacketKey> {
        match &mut self.action {
            Action::CoDel(queue) => queue.release(),
            _ => self.store.release(),
        }
    }

    /// The packet whose transmission began with the last release, and how long it had waited in
    /// nanoseconds, if that was not known when it arrived.
    pub fn take_served(&mut self) -> Option<(PacketKey, u64)> {
        match &mut self.action {
            Action::CoDel(queue) => queue.take_served(),
            _ => None,
        }
    }

    /// The next packet that the last release dropped or marked.
    pub fn take_judged(&mut self) -> Option<(PacketKey, Managed)> {
        match &mut self.action {
            Action::CoDel(queue) => queue.take_judged(),
            _ => None,
        }
    }
}

/// The verdict that a packet is served from `starts` on and leaves at `leaves`.
pub(crate) const fn hold(starts: Instant, leaves: Instant) -> HopVerdict {
    HopVerdict::Hold(Transit { starts, leaves })
}

const fn lose(lost: bool) -> HopVerdict {
    if lost { HopVerdict::Drop(DropCause::Loss) } else { HopVerdict::Pass }
}
