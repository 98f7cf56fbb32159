//! Passes on the ACKs that the receiver of the capture sent.
//!
//! The receiver of a rerun acknowledges each arrival at once, so each ACK is newer than the one before, and at
//! most one has to be held. Data in order is acknowledged as in the capture, or as
//! [`AckHabit`](crate::receiver::AckHabit) says. Anything else is acknowledged at once (RFC 5681 §4.2), unless the
//! capture shows that the ACK was lost.

use super::{Matched, Peer};
use crate::{recorded::Recorded, transmission::Arrival, trial::PeerAcks};
use recoup_sim::Packet;
use recoup_units::{Instant, Offset};
use recoup_wire::{Flags, SeqNumber};
use std::{collections::VecDeque, time::Duration};

/// The ACKs of the receiver.
#[derive(Debug, Default)]
pub(super) struct AckGate {
    /// The arrival that the next ACK answers.
    arrival: Option<Matched>,
    /// The end of the last data that arrived. Without SACK, only this shows that a hole is left.
    beyond: Offset,
    /// An ACK that is not sent yet, and when the receiver's timer sends it.
    held: Option<(Box<Packet>, Option<Instant>)>,
    /// Full segments in order since the last ACK.
    unacknowledged: u32,
    /// ACKs and other packets to pass on.
    ready: VecDeque<(Instant, Box<Packet>)>,
    /// The highest cumulative ACK of the receiver, sent or not.
    highest: Offset,
    /// The packet that was passed on last, and the edge that it announced.
    last: Option<(Packet, Offset)>,
    /// Window updates to come: when, and the edge.
    updates: VecDeque<(Instant, Offset)>,
}

/// When an ACK is passed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Passing {
    Now,
    After(Duration),
    /// With the next one, or when the receiver's timer expires.
    Held,
    /// With the next one.
    Lost,
}

impl AckGate {
    /// This packet arrives at the receiver now.
    pub fn on_arrival(&mut self, arrival: Option<Matched>) {
        self.beyond = self.beyond.max(arrival.map_or(Offset::SYN, |arrival| arrival.span.end));
        self.arrival = arrival;
    }

    /// The receiver answers.
    pub fn take(&mut self, now: Instant, packet: Box<Packet>, of: (&Recorded, Peer), isn: Option<SeqNumber>) {
        let (recorded, peer) = of;
        let arrival = self.arrival.take();
        let segment = &packet.segment;
        let ack = isn.and_then(|isn| segment.ack.unwrap(isn, self.highest));
        let advanced = ack.is_some_and(|ack| ack > self.highest);
        self.highest = self.highest.max(ack.unwrap_or_default());
        if !segment.is_pure_ack() {
            return self.pass_on(now, packet);
        }
        let Some(arrival) = arrival else {
            return self.pass_on(now, packet);
        };
        let is_in_order = advanced
            && segment.options.sack.is_empty()
            && ack.is_some_and(|ack| ack == arrival.span.end && ack >= self.beyond);
        let full = u64::from(recorded.agreed.segment_size);
        if is_in_order {
            self.unacknowledged += (arrival.span.len() / full.max(1)) as u32;
        }
        let most = match peer.acks {
            PeerAcks::Within(most) => most,
            PeerAcks::AsCaptured | PeerAcks::Quick => Duration::MAX,
        };
        match self.passing(arrival.recorded, is_in_order, recorded, peer.acks) {
            Passing::Now => self.pass_on(now, packet),
            Passing::After(delay) => self.held = Some((packet, Some(now + delay.min(most)))),
            Passing::Held => {
                // The timer runs since the first segment that it holds.
                let due = self.held.as_ref().and_then(|(_, due)| *due);
                let due = due.unwrap_or(now + recorded.habit.delay.min(most));
                self.held = Some((packet, Some(due)));
            }
            Passing::Lost => {
                let due = self.held.as_ref().and_then(|(_, due)| *due);
                self.held = Some((packet, due));
            }
        }
    }

    fn passing(&self, recorded: Option<Arrival>, in_order: bool, of: &Recorded, acks: PeerAcks) -> Passing {
        if acks == PeerAcks::Quick {
            return if recorded.is_some_and(|arrival| arrival.ack_lost) { Passing::Lost } else { Passing::Now };
        }
        let usual = || match of.habit.delays && self.unacknowledged < 2 {
            true => Passing::Held,
            false => Passing::Now,
        };
        match recorded {
            Some(arrival) if in_order == arrival.in_order => match arrival.ack {
                Some(Duration::ZERO) => Passing::Now,
                Some(delay) => Passing::After(delay),
                None if arrival.ack_lost => Passing::Lost,
                None => Passing::Held,
            },
            _ if in_order => usual(),
            _ => Passing::Now,
        }
    }

    fn pass_on(&mut self, now: Instant, packet: Box<Packet>) {
        self.held = None;
        self.unacknowledged = 0;
        self.ready.push_back((now, packet));
    }

    /// When something is to be passed on.
    pub fn due(&self) -> Option<Instant> {
        let ready = self.ready.front().map(|(at, _)| *at);
        let held = self.held.as_ref().and_then(|(_, due)| *due);
        let update = self.updates.front().map(|(at, _)| *at);
        [ready, held, update].into_iter().flatten().min()
    }

    /// The next packet that is due, with its time and the window that the capture shows.
    pub fn release(
        &mut self,
        now: Instant,
        of: (&Recorded, Peer),
        isn: Option<SeqNumber>,
    ) -> Option<(Instant, Box<Packet>)> {
        if let Some((packet, Some(due))) = self.held.take_if(|(_, due)| due.is_some_and(|due| due <= now)) {
            self.pass_on(due, packet);
        }
        if let Some((at, mut packet)) = self.ready.pop_front() {
            self.announce(at, &mut packet, of, isn);
            return Some((at, packet));
        }
        while let Some((at, edge)) = self.updates.front().copied().filter(|(at, _)| *at <= now) {
            self.updates.pop_front();
            if let Some((mut packet, announced)) = self.last
                && announced < edge
            {
                packet.segment.options.sack.clear();
                set_window(&mut packet, self.highest_sent(isn), edge, of);
                self.last = Some((packet, edge));
                return Some((at, Box::new(packet)));
            }
        }
        None
    }

    fn highest_sent(&self, isn: Option<SeqNumber>) -> Offset {
        let ack = self.last.and_then(|(packet, _)| packet.segment.ack.unwrap(isn?, self.highest));
        ack.unwrap_or_default()
    }

    /// Sets the window that the receiver of the capture announced with this ACK.
    fn announce(&mut self, at: Instant, packet: &mut Packet, of: (&Recorded, Peer), isn: Option<SeqNumber>) {
        let (recorded, peer) = of;
        let has_ack = packet.segment.flags.contains(Flags::ACK);
        let ack = isn.and_then(|isn| packet.segment.ack.unwrap(isn, self.highest));
        let Some(ack) = ack.filter(|_| has_ack) else { return };
        let before = self.last.map_or(Offset::SYN, |(_, edge)| edge);
        let is_first = self.last.is_none() || ack > self.highest_sent(isn);
        if let Some(edge) = recorded.windows.at(ack) {
            let edge = if peer.wide_window { ack + WIDE } else { edge.max(before) };
            set_window(packet, ack, edge, of);
            self.last = Some((*packet, edge));
        }
        if is_first {
            let updates = recorded.windows.updates(ack);
            self.updates.extend(updates.map(|update| (at + update.after, update.edge)));
        }
    }
}

/// A window that limits no sender, if both ends scale windows (RFC 7323 §2.2 permits 1 GiB).
const WIDE: u64 = 1 << 30;

/// Announces a window with its right edge at `edge`.
fn set_window(packet: &mut Packet, ack: Offset, edge: Offset, (recorded, peer): (&Recorded, Peer)) {
    let scale = recorded.agreed.peer_scale(peer.wide_window).unwrap_or(0);
    let shift = if packet.segment.flags.contains(Flags::SYN) { 0 } else { scale };
    let window = edge.since(ack) >> shift.min(14);
    packet.segment.window = u16::try_from(window).unwrap_or(u16::MAX);
}
