//! Ends a connection: the verdict on each loss declaration and probe, what each episode cost, and its cause.
//!
//! **Verdicts.** A packet number is never used twice (RFC 9000 §12.3), so ACKs show which copy of the data arrived. A packet that
//! was declared lost and acknowledged later was not lost: its declaration was spurious. A probe was spurious if everything was
//! acknowledged that was in flight when it was sent. Without ACKs, a loss declaration has no verdict, and the sender's silence
//! about losses stands for ACKs.
//!
//! **Cost.** As for TCP (docs/explain.md): how much later everything was acknowledged that was sent before the episode than it
//! was due.
//!
//! **Causes.** The rules of [`cost::lost::causes`](crate::cost::lost::causes). A probe timeout stands for a tail loss probe. A
//! loss before the handshake was complete is [`Cause::LostHandshakePacket`], whatever found it.

use super::{
    connection::Follower,
    event::Space,
    header::VantagePoint,
    recovery::{Episode, PacketName, Repair},
};
use crate::{
    attribute::provisional::ProvisionalRow,
    cost::lost::causes::{Clues, name_causes},
    finding::{
        CapturePoint, Cause, Closing, Connection, Direction, EpisodeCost, Evidence, LostTime, Opening, QuicConnection,
        QuicTrigger, Retransmission, Triggers, Vantage, Verdict,
    },
};
use recoup_units::{Instant, visible};
use recoup_wire::{Endpoints, SeqNumber};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

/// What became of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Arrived,
    Lost,
    Unknown,
}

impl Follower {
    /// Ends the connection, and returns what it shows; `None` if it has no packet.
    pub fn close(self, name: &str, vantage_point: VantagePoint) -> Option<(Connection, Vec<Retransmission>)> {
        let (is_first_sent, is_initial) = self.first?;
        let side = match vantage_point {
            VantagePoint::Client => 0,
            VantagePoint::Server => 1,
            // The client sends first.
            VantagePoint::Unknown => usize::from(!is_first_sent),
        };
        let ends = self.ends.each_ref().map(|end| end.as_ref().and_then(address));
        let has_addresses = ends.iter().all(Option::is_some);
        let [local, remote] = ends.map(|end| end.unwrap_or(SocketAddr::new(Ipv4Addr::UNSPECIFIED.into(), 0)));
        let own = Endpoints { src: local, dst: remote };
        let mut quic = QuicConnection {
            traced: side,
            name: visible(name).into_owned(),
            has_addresses,
            has_acks: self.has_acks,
            has_frames: self.has_frames,
            marked_spurious: self.marked_spurious.into(),
            persistent_congestion: self.persistent_congestion.into(),
            left_out: self.recovery.left_out,
            ..QuicConnection::default()
        };
        let mut direction = self.direction(0, Vantage::Sender);
        let rows = self.rows(own, &mut direction, &mut quic);
        let peer = self.direction(1, Vantage::Receiver);
        let connection = Connection {
            id: self.id,
            endpoints: if side == 0 { own } else { own.reverse() },
            opening: if is_initial { Opening::Handshake } else { Opening::MidConnection },
            closing: match self.closed {
                Some(true) => Closing::Idle,
                Some(false) => Closing::Closed,
                None => Closing::CaptureEnd,
            },
            frames: self.events.0..=self.events.1,
            begun: self.begun,
            ended: self.last,
            packets: self.packets,
            handshake_rtt: None,
            sack: None,
            ecn: None,
            capture_point: CapturePoint::default(),
            tunnels: Default::default(),
            directions: if side == 0 { [direction, peer] } else { [peer, direction] },
            quic: Some(Box::new(quic)),
        };
        Some((connection, rows))
    }

    fn direction(&self, side: usize, vantage: Vantage) -> Direction {
        let of = self.sides.get(side).copied().unwrap_or_default();
        Direction {
            vantage,
            absent: of.absent,
            segments: of.segments,
            bytes: of.bytes,
            rtt: self.rtts.quantiles().filter(|_| side == 0),
            ..Direction::default()
        }
    }

    fn fate(&self, (space, number): PacketName) -> Fate {
        match self.spaces.get(space as usize) {
            Some(of) if of.lost.contains_key(&number) => Fate::Lost,
            Some(of) if !of.is_unresolved(number) => Fate::Arrived,
            _ => Fate::Unknown,
        }
    }

    /// The verdict on a loss declaration or a probe.
    fn verdict(&self, repair: &Repair) -> Verdict {
        let is_declared = repair.probed.is_empty() && self.fate(repair.packet) == Fate::Lost;
        match () {
            () if repair.acked.is_some() => Verdict::Spurious,
            // An ACK of it could still have come.
            () if is_declared => {
                let due = repair.at + repair.rtt.unwrap_or_default();
                let heard_later = self.received.is_some_and(|(_, last)| last >= due);
                if self.has_acks && heard_later { Verdict::Needed } else { Verdict::Unknowable }
            }
            () => {
                let mut fates = repair.probed.iter().map(|packet| self.fate(*packet));
                match () {
                    () if repair.probed.is_empty() => Verdict::Unknowable,
                    () if fates.clone().any(|fate| fate == Fate::Lost) && self.has_acks => Verdict::Needed,
                    // Without ACKs: its sender declared none of them lost, and has nothing in flight.
                    () if fates.all(|fate| fate == Fate::Arrived) => Verdict::Spurious,
                    () => Verdict::Unknowable,
                }
            }
        }
    }

    /// The repairs as rows, and the time that they cost. Fills in the sums of the direction.
    fn rows(&self, endpoints: Endpoints, direction: &mut Direction, quic: &mut QuicConnection) -> Vec<Retransmission> {
        let mut rows = Vec::with_capacity(self.recovery.repairs.len());
        let mut recovering = Vec::new();
        for (i, episode) in self.recovery.episodes.iter().enumerate() {
            let next = self.recovery.episodes.get(i + 1).map(|next| next.first);
            let repairs = self.recovery.repairs.get(episode.first..next.unwrap_or(self.recovery.repairs.len()));
            let repairs = repairs.unwrap_or_default();
            let before = recovering.last().map_or(self.begun, |(_, over): &(Instant, Instant)| *over);
            let (cost, span) = self.cost(episode, repairs, before);
            direction.episodes += 1;
            direction.lost.add(cost.cause, cost.lost);
            recovering.push(span);
            let mut unanswered_probes = 0_u16;
            for (place, repair) in repairs.iter().enumerate() {
                let mut row = self.row(endpoints, repair);
                if repair.trigger == QuicTrigger::Probe && !repair.probed.is_empty() {
                    row.retransmission.copy = row.retransmission.copy.max(unanswered_probes.saturating_add(1));
                    let missed = u16::from(self.fate(repair.packet) != Fate::Arrived);
                    unanswered_probes = unanswered_probes.saturating_add(missed);
                }
                if place == 0 {
                    row.retransmission.cost = Some(cost);
                    row.retransmission.recovery = episode.end.map(|end| end.since(repair.at));
                }
                quic.add(repair.trigger, row.retransmission.verdict);
                direction.retransmissions.add(row.retransmission.triggers, row.retransmission.verdict);
                rows.push(row);
            }
        }
        name_by_triggers(&mut rows, &mut direction.lost);
        let mut rows: Vec<Retransmission> = rows.into_iter().map(|row| row.retransmission).collect();
        self.name_handshake(&mut rows, &mut direction.lost);
        // A packet may turn out to be a probe after a later event.
        rows.sort_by_key(|row| row.frame);
        let divided = self.division.divide(self.last, &recovering);
        direction.time = divided.time;
        let stops = u32::try_from(divided.stopped.len()).unwrap_or(u32::MAX);
        direction.lost.add_several(Cause::ZeroWindow, stops, divided.stopped.iter().sum());
        rows
    }

    /// What an episode cost, before its cause is known, and the time that the sender was recovering. No time before `after`
    /// counts: the episode before has it.
    fn cost(&self, episode: &Episode, repairs: &[Repair], after: Instant) -> (EpisodeCost, (Instant, Instant)) {
        // The first round trip may be measured later.
        let rtt = episode.rtt.or(self.rtts.least()).or(self.rtt()).unwrap_or_default();
        let first = repairs.first();
        let begin =
            |sent: Option<Instant>, or: Instant| sent.map_or(or, |sent| sent + rtt).max(episode.progress).max(after);
        let declared = first.map_or(self.last, |first| first.at);
        let end = episode.end.unwrap_or(self.last).max(after);
        let due = begin(episode.last_sent, declared);
        let recovering = begin(first.and_then(|first| first.sent), declared).min(due).min(end);
        let cost = EpisodeCost {
            recovering: end.since(recovering),
            lost: end.since(due.min(end)),
            detection: None,
            segments: u32::try_from(repairs.len()).unwrap_or(u32::MAX),
            cause: Cause::Unknown,
        };
        (cost, (recovering, end))
    }

    fn row(&self, endpoints: Endpoints, repair: &Repair) -> ProvisionalRow {
        let verdict = self.verdict(repair);
        let heard_later = self.received.is_some_and(|(_, last)| last > repair.at);
        let retransmission = Retransmission {
            frame: repair.event,
            at: repair.at,
            connection: self.id,
            endpoints,
            // Packet numbers have 62 bits; the lower ones tell the packets of an episode apart.
            seq: SeqNumber(repair.packet.1 as u32),
            len: u32::try_from(repair.payload).unwrap_or(u32::MAX),
            syn: false,
            fin: false,
            triggers: Triggers::of_quic(repair.trigger),
            verdict,
            // ACKs name the packets that arrived.
            evidence: match verdict {
                Verdict::Needed => Evidence::NoCopySeen,
                Verdict::Spurious => Evidence::CopySeen,
                Verdict::Unknowable => Evidence::NotAcknowledged,
            },
            copy: repair.copy,
            detection: repair.sent.map(|sent| repair.at.since(sent)),
            recovery: None,
            rtt: repair.rtt,
            flight: repair.flight,
            vantage: Vantage::Sender,
            provisional: false,
            capture_point: 0,
            cost: None,
        };
        let by_threshold = matches!(repair.trigger, QuicTrigger::PacketThreshold | QuicTrigger::TimeThreshold);
        let clues = Clues {
            reported_above: by_threshold,
            of_flight: repair.of_flight,
            unanswered: !heard_later && repair.acked.is_none(),
            ..Clues::default()
        };
        ProvisionalRow { retransmission, alternative: None, triggers: Default::default(), clues }
    }

    /// Names the cause of losses before the handshake was complete.
    fn name_handshake(&self, rows: &mut [Retransmission], lost: &mut LostTime) {
        let firsts = self.recovery.episodes.iter().map(|episode| episode.first);
        for first in firsts {
            let of_handshake = self.recovery.repairs.get(first).is_some_and(|repair| repair.of_handshake);
            let Some(cost) = rows.get_mut(first).and_then(|row| row.cost.as_mut()).filter(|_| of_handshake) else {
                continue;
            };
            let waited = cost.detection.unwrap_or_default();
            let cause = match cost.cause {
                Cause::Unanswered | Cause::Reordering | Cause::Unknown => continue,
                // The packet arrived. So its answer was lost, unless it came soon after the probe.
                Cause::LateOrLostAcks | Cause::DelaySpike if cost.lost < waited / 2 => Cause::DelaySpike,
                _ => Cause::LostHandshakePacket,
            };
            lost.change(cost.lost, cost.cause, cause);
            cost.cause = cause;
        }
    }
}

/// Names the cause of each episode. What no ACK decides counts as its sender took it: as lost.
fn name_by_triggers(rows: &mut [ProvisionalRow], lost: &mut LostTime) {
    let verdicts: Vec<Verdict> = rows.iter().map(|row| row.retransmission.verdict).collect();
    for row in rows.iter_mut().filter(|row| row.retransmission.verdict == Verdict::Unknowable) {
        row.retransmission.verdict = Verdict::Needed;
    }
    name_causes(rows.iter_mut(), lost);
    for (row, verdict) in rows.iter_mut().zip(verdicts) {
        row.retransmission.verdict = verdict;
    }
}

/// An address and a port as a trace has them.
fn address((ip, port): &(String, u64)) -> Option<SocketAddr> {
    let ip: IpAddr = ip.parse().ok()?;
    Some(SocketAddr::new(ip, u16::try_from(*port).ok()?))
}

// A number space is the place of its packets.
const _: () = assert!(Space::Initial as usize == 0 && Space::Data as usize == 2);
