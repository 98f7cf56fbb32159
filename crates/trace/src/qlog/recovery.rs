//! Loss declarations and probes, the episodes that they form, and when each was repaired.
//!
//! An episode begins with a loss declaration or a probe. It ends when everything is acknowledged that was sent before, and the
//! data of every packet that was lost. Losses that are declared meanwhile belong to it.
//!
//! The data of a lost packet comes in packets of other numbers. Where the trace has frames, they show which; where it does not,
//! the first packet that was sent after the declaration stands for them.

use super::{
    event::Space,
    sent::{DataRange, SentPacket},
};
use crate::finding::QuicTrigger;
use recoup_units::Instant;
use std::time::Duration;

/// Repairs of a connection that are kept; later ones are only counted.
const MOST_REPAIRS: usize = 1 << 18;

/// Lost packets whose data is followed at the same time.
const MOST_DEBTS: usize = 1 << 10;

/// Packets in flight that are remembered of a probe, from either end.
const MOST_PROBED: usize = 32;

/// A packet's number in its space.
pub(super) type PacketName = (Space, u64);

/// A loss declaration, or a probe.
#[derive(Clone, Debug)]
pub(super) struct Repair {
    /// The number of its event.
    pub event: u64,
    pub at: Instant,
    /// The packet that was declared lost, or the probe.
    pub packet: PacketName,
    /// When the lost packet was sent; for a probe, the last packet before it.
    pub sent: Option<Instant>,
    pub payload: u64,
    pub trigger: QuicTrigger,
    /// When the packet was acknowledged after all.
    pub acked: Option<Instant>,
    /// 1 for the first time that the data was lost.
    pub copy: u16,
    /// Packets in flight.
    pub flight: u32,
    pub rtt: Option<Duration>,
    /// It was sent before the episode began.
    pub of_flight: bool,
    /// The handshake was not complete.
    pub of_handshake: bool,
    /// Of a probe: packets that were in flight.
    pub probed: Vec<PacketName>,
}

/// An episode.
#[derive(Clone, Copy, Debug)]
pub(super) struct Episode {
    /// The place of its first repair.
    pub first: usize,
    /// Packets before this one in the order of sending belong to it.
    barrier: u64,
    /// When the last of them was sent.
    pub last_sent: Option<Instant>,
    /// The last ACK of something new before it.
    pub progress: Instant,
    pub rtt: Option<Duration>,
    /// When it was over; `None`: not before the trace ended.
    pub end: Option<Instant>,
}

/// A lost packet whose data is not acknowledged yet.
#[derive(Clone, Debug)]
struct Debt {
    repair: usize,
    space: Space,
    at: Instant,
    /// The order of the first packet that was sent after the declaration.
    order: u64,
    /// The data that was not sent again yet.
    data: Vec<DataRange>,
    /// The packets that carry the rest.
    carriers: Vec<u64>,
    /// Whether the trace shows its data.
    has_data: bool,
}

/// What is known at the moment of a repair.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moment {
    pub event: u64,
    pub at: Instant,
    /// The order of the next packet.
    pub order: u64,
    pub last_sent: Option<Instant>,
    pub progress: Instant,
    pub rtt: Option<Duration>,
    pub flight: usize,
    pub of_handshake: bool,
}

/// The repairs of a sender.
#[derive(Clone, Debug, Default)]
pub(super) struct Recovery {
    pub repairs: Vec<Repair>,
    pub episodes: Vec<Episode>,
    is_open: bool,
    debts: Vec<Debt>,
    /// Repairs that are not kept.
    pub left_out: u64,
}

impl Recovery {
    /// The episode that lasts.
    fn current(&mut self) -> Option<&mut Episode> {
        self.episodes.last_mut().filter(|_| self.is_open)
    }

    fn begin(&mut self, moment: &Moment) {
        if self.is_open {
            return;
        }
        self.is_open = true;
        self.episodes.push(Episode {
            first: self.repairs.len(),
            barrier: moment.order,
            last_sent: moment.last_sent,
            progress: moment.progress,
            rtt: moment.rtt,
            end: None,
        });
    }

    /// A packet was declared lost. Returns the place of the repair, if it is kept.
    pub fn lost(
        &mut self,
        moment: &Moment,
        packet: PacketName,
        sent: Option<&SentPacket>,
        trigger: QuicTrigger,
    ) -> Option<usize> {
        self.debts.iter_mut().filter(|debt| debt.space == packet.0).for_each(|debt| {
            debt.carriers.retain(|carrier| *carrier != packet.1);
        });
        if self.repairs.len() >= MOST_REPAIRS {
            self.left_out += 1;
            return None;
        }
        self.begin(moment);
        let barrier = self.current().map_or(0, |episode| episode.barrier);
        let repair = self.repairs.len();
        self.repairs.push(Repair {
            event: moment.event,
            at: moment.at,
            packet,
            sent: sent.map(|sent| sent.at),
            payload: sent.map_or(0, SentPacket::payload),
            trigger,
            acked: None,
            copy: sent.map_or(0, |sent| sent.copy).saturating_add(1),
            flight: u32::try_from(moment.flight).unwrap_or(u32::MAX),
            rtt: moment.rtt,
            of_flight: sent.is_none_or(|sent| sent.order < barrier),
            of_handshake: moment.of_handshake,
            probed: Vec::new(),
        });
        let data = sent.map(|sent| sent.data.clone()).unwrap_or_default();
        if self.debts.len() < MOST_DEBTS {
            let has_data = !data.is_empty();
            let (space, at, order) = (packet.0, moment.at, moment.order);
            self.debts.push(Debt { repair, space, at, order, data, carriers: Vec::new(), has_data });
        }
        Some(repair)
    }

    /// A probe was sent. `in_flight`: what was in flight before it.
    pub fn probe(
        &mut self,
        moment: &Moment,
        packet: PacketName,
        payload: u64,
        in_flight: impl DoubleEndedIterator<Item = PacketName> + Clone,
    ) {
        if self.repairs.len() >= MOST_REPAIRS {
            self.left_out += 1;
            return;
        }
        self.begin(moment);
        let mut probed: Vec<PacketName> = in_flight.clone().take(MOST_PROBED).collect();
        probed.extend(in_flight.rev().take(MOST_PROBED));
        self.repairs.push(Repair {
            event: moment.event,
            at: moment.at,
            packet,
            sent: moment.last_sent,
            payload,
            trigger: QuicTrigger::Probe,
            acked: None,
            copy: 1,
            flight: u32::try_from(moment.flight).unwrap_or(u32::MAX),
            rtt: moment.rtt,
            of_flight: true,
            of_handshake: moment.of_handshake,
            probed,
        });
    }

    /// When the latest probe was sent or declared.
    pub fn last_probe(&self) -> Option<Instant> {
        let latest = self.repairs.iter().rev().find(|repair| repair.trigger == QuicTrigger::Probe);
        latest.map(|repair| repair.at)
    }

    /// A packet with this data was sent. Returns how often the most repeated of it had been lost before.
    pub fn sent(&mut self, (space, number): PacketName, data: &[DataRange]) -> u16 {
        let mut copy = 0;
        for debt in self.debts.iter_mut().filter(|debt| debt.space == space && debt.has_data) {
            let carries = debt.data.iter().any(|owed| data.iter().any(|sent| sent.overlaps(owed)));
            if carries {
                data.iter().for_each(|sent| subtract(&mut debt.data, sent));
                debt.carriers.push(number);
                copy = copy.max(self.repairs.get(debt.repair).map_or(0, |repair| repair.copy));
            }
        }
        copy
    }

    /// A packet was acknowledged for the first time.
    pub fn acked(&mut self, at: Instant, (space, number): PacketName, order: u64, rtt: Option<Duration>) {
        let patience = rtt.unwrap_or(Duration::from_millis(333)).saturating_mul(3);
        self.debts.retain_mut(|debt| {
            if debt.space != space {
                return true;
            }
            debt.carriers.retain(|carrier| *carrier != number);
            let is_open = match debt.has_data {
                true => !debt.data.is_empty() || !debt.carriers.is_empty(),
                false => true,
            };
            let is_later = order >= debt.order;
            // What is never sent again belongs to a stream that was reset.
            let is_given_up = debt.has_data && debt.carriers.is_empty() && at > debt.at + patience;
            is_open && !(is_later && (!debt.has_data || is_given_up))
        });
    }

    /// A packet that was declared lost has arrived.
    pub fn not_lost(&mut self, at: Instant, repair: usize) {
        if let Some(repair) = self.repairs.get_mut(repair) {
            repair.acked.get_or_insert(at);
        }
        self.debts.retain(|debt| debt.repair != repair);
    }

    /// The keys of a space were discarded.
    pub fn discard(&mut self, space: Space) {
        self.debts.retain(|debt| debt.space != space);
    }

    /// Ends the episode if all is acknowledged that was sent before it. `oldest`: the order of the oldest packet in flight.
    pub fn settle(&mut self, at: Instant, oldest: Option<u64>) {
        let is_repaired = self.debts.is_empty();
        let Some(episode) = self.current() else {
            return;
        };
        if is_repaired && oldest.is_none_or(|oldest| oldest >= episode.barrier) {
            episode.end = Some(at);
            self.is_open = false;
        }
    }
}

/// Takes a range out of others.
fn subtract(from: &mut Vec<DataRange>, taken: &DataRange) {
    let mut rest = Vec::with_capacity(from.len());
    for range in from.drain(..) {
        if !range.overlaps(taken) {
            rest.push(range);
            continue;
        }
        let before = DataRange { to: taken.from.max(range.from), ..range };
        let after = DataRange { from: taken.to.min(range.to), ..range };
        rest.extend([before, after].into_iter().filter(|part| part.from < part.to));
    }
    *from = rest;
}
