//! State that both directions of a connection share.

use super::{fields::TcpFields, rtts::ResponseTime, vantage};
use crate::{
    attribute::context::{EpisodeContext, ReplayContext},
    finding::Vantage,
    read::CapturedPacket,
};
use recoup_units::Instant;
use recoup_wire::{Endpoints, Flags};
use serde::{Deserialize, Serialize};
use std::{net::IpAddr, time::Duration};

/// A response time that is longer, in ns, is no distance without a handshake: hosts think as long, and few paths take it.
const LONGEST_DISTANCE: u64 = 1_000_000_000;

/// State that both directions of a connection share.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[repr(C)]
pub(crate) struct Shared {
    /// How fast each end responds.
    response_times: [ResponseTime; 2],
    /// When each end's last packet was captured.
    pub last_packet_at: [Instant; 2],
    /// Whether each end sent an ACK without data.
    pub has_bare: [bool; 2],
    /// The capture holds a SYN.
    has_syn: bool,
    /// Packets identical to one just before.
    pub identical_packets: u64,
    /// SACK was negotiated, or is in use.
    pub sack: bool,
    /// A SYN does not permit SACK.
    pub sack_refused: bool,
    /// Timestamps are in use.
    pub timestamps: bool,
    /// The capture holds the SYN twice before the SYN-ACK.
    pub syn_duplicated: bool,
    /// When each direction's last ACK passed from which [blocks may be missing](CapturedPacket::may_lack_blocks);
    /// [`Instant::ZERO`] without any.
    pub blocks_cut_at: [Instant; 2],
    /// Whether the capturing host sent each direction, where the capture says so.
    pub outgoing: [Option<bool>; 2],
    /// Whether each direction was captured [away](Self::is_away) from its sender.
    away: [bool; 2],
    /// The capture says both of one direction: it comes from a router or bridge, which receives and
    /// sends every packet.
    contradicted: bool,
    /// `src` sends direction 0.
    pub endpoints: Endpoints,
}

impl Shared {
    pub fn new(endpoints: Endpoints) -> Self {
        Self {
            endpoints,
            sack: false,
            sack_refused: false,
            timestamps: false,
            last_packet_at: [Instant::ZERO; 2],
            has_bare: [false; 2],
            has_syn: false,
            identical_packets: 0,
            syn_duplicated: false,
            response_times: Default::default(),
            outgoing: [None; 2],
            away: [false; 2],
            contradicted: false,
            blocks_cut_at: [Instant::ZERO; 2],
        }
    }

    /// Whether SACK is in use; `None` if the capture does not show it.
    pub fn sack_in_use(&self) -> Option<bool> {
        match (self.sack, self.sack_refused) {
            (true, _) => Some(true),
            (false, true) => Some(false),
            (false, false) => None,
        }
    }

    /// Reads what a packet needs, to have it in the cache by then. The value has no meaning.
    #[inline]
    pub fn prefetch(&self) -> u64 {
        self.response_times[0].nanos() ^ self.last_packet_at[0].as_nanos()
    }

    /// The address that sends direction `side`.
    pub fn sender(&self, side: usize) -> IpAddr {
        match side {
            0 => self.endpoints.src.ip(),
            _ => self.endpoints.dst.ip(),
        }
    }

    /// Whether direction `side` was captured away from its sender, as far as known. Where
    /// [`vantage`] says so, this does, too.
    #[inline]
    pub fn is_away(&self, side: usize) -> bool {
        self.away[side]
    }

    /// The shortest time in which end `side` responded, in ns; 0 without one.
    #[inline]
    pub fn response_time(&self, side: usize) -> u64 {
        self.response_times[side].nanos()
    }

    /// The least response time; `None` without a response.
    pub fn least_response_time(&self, side: usize) -> Option<Duration> {
        self.response_times[side].least()
    }

    /// The round trip between the capture point and end `side`, in ns; `None` if unknown. Who only sends data answers
    /// nothing at once: without a handshake, a long response time is the time in which it thought.
    fn distance(&self, side: usize) -> Option<u64> {
        let least = self.response_times[side].least_nanos();
        least.filter(|least| self.has_syn || *least <= LONGEST_DISTANCE)
    }

    /// End `side` responded within `time` ns.
    #[inline]
    pub fn on_response(&mut self, time: u64, side: usize) {
        if self.response_times[side].on_response(time) {
            self.locate();
        }
    }

    /// A response time or the origin of a direction has changed: finds out which directions were captured
    /// away from their senders. Response times rarely become shorter, but each packet asks for this.
    #[cold]
    fn locate(&mut self) {
        self.away = [0, 1].map(|side| {
            let [near, far] = [side, 1 - side].map(|side| self.distance(side));
            let Some(near) = near.filter(|near| *near > 0) else {
                return false;
            };
            match self.outgoing[side] {
                Some(outgoing) => !outgoing,
                None => far.is_some_and(|far| near.saturating_mul(9) >= far),
            }
        });
    }

    /// Whether both ends are on one host.
    fn within_a_host(&self) -> bool {
        let [src, dst] = [self.endpoints.src.ip(), self.endpoints.dst.ip()];
        src == dst || (src.is_loopback() && dst.is_loopback())
    }

    /// Whether what the capture says of a packet's sender is nothing new: `outgoing`, where direction `side` is concerned.
    #[inline]
    pub fn knows_origin(&self, outgoing: Option<bool>, side: usize) -> bool {
        outgoing.is_none_or(|outgoing| self.outgoing[side] == Some(outgoing))
    }

    /// Takes a packet of direction `side` that takes `len` of the sequence space.
    #[inline(always)]
    pub fn on_packet(&mut self, packet: &CapturedPacket, len: u32, now: Instant, side: usize) {
        if !self.knows_origin(packet.outgoing, side) {
            self.on_new_origin(packet.outgoing, side);
        }
        self.has_syn |= packet.segment.flags.contains(Flags::SYN);
        self.on_fields(&TcpFields::of(packet), len, now, side);
        self.sack |= !packet.segment.options.sack.is_empty();
        if packet.may_lack_blocks() {
            self.blocks_cut_at[side] = now;
        }
    }

    /// Takes the fields of a packet of direction `side` that takes `len` of the sequence space.
    #[inline(always)]
    pub fn on_fields(&mut self, fields: &TcpFields, len: u32, now: Instant, side: usize) {
        self.last_packet_at[side] = now;
        self.has_bare[side] |= len == 0;
        if let Some(ts) = fields.timestamps {
            // The peer may decline timestamps that a SYN offers (RFC 7323 §3.2).
            self.timestamps |= !fields.flags.contains(Flags::SYN) || fields.flags.contains(Flags::ACK);
            self.response_times[1 - side].on_timestamp(now, ts.value);
            if ts.echo != 0
                && let Some(took) = self.response_times[side].on_echo(now, ts.echo)
            {
                self.on_response(took, side);
            }
        }
    }

    /// The capture says something new about who sends direction `side`.
    #[cold]
    fn on_new_origin(&mut self, outgoing: Option<bool>, side: usize) {
        self.contradicted |= self.outgoing[side].is_some();
        let outgoing = outgoing.filter(|_| !self.contradicted);
        self.outgoing[side] = outgoing;
        self.outgoing[1 - side] = outgoing.map(|outgoing| !outgoing);
        self.locate();
    }
}

/// State that a direction may use besides its own.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DirectionContext<'a> {
    pub shared: &'a Shared,
    pub replay_context: &'a ReplayContext,
    pub side: usize,
}

impl<'a> DirectionContext<'a> {
    /// Where the direction was captured.
    pub fn vantage(&self) -> Vantage {
        let shared = self.shared;
        let [near, far] = [self.side, 1 - self.side].map(|side| shared.distance(side));
        let within_a_host = || shared.within_a_host();
        vantage::of(near, far, shared.outgoing[self.side], within_a_host)
    }

    /// Facts about an episode's connection. `mss`, `min_rtt` and `most_work` are the
    /// direction's.
    pub fn episode_context(self, mss: u32, min_rtt: Option<Duration>, most_work: u64) -> EpisodeContext<'a> {
        let (shared, replay_context) = (self.shared, self.replay_context);
        let vantage = self.vantage();
        EpisodeContext {
            candidates: &replay_context.candidates,
            hosts: &replay_context.hosts,
            pools: &replay_context.pools,
            sender: shared.sender(self.side),
            receiver: shared.sender(1 - self.side),
            sack: shared.sack,
            may_sack: shared.sack || !shared.sack_refused,
            timestamps: shared.timestamps,
            reports_usable: true,
            blocks_cut_at: shared.blocks_cut_at[1 - self.side],
            mss,
            min_rtt,
            vantage,
            lag: match vantage {
                Vantage::Sender | Vantage::Unknown => Duration::ZERO,
                Vantage::Between | Vantage::Receiver => Duration::from_nanos(shared.response_times[self.side].nanos()),
            },
            most_work,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shared() -> Shared {
        let end = "192.0.2.1:80".parse().unwrap();
        Shared::new(Endpoints { src: end, dst: end })
    }

    #[test]
    fn the_shortest_response_times_tell_the_directions_captured_away_from_their_senders() {
        let mut shared = shared();
        let steps = [
            // (time in ns, end, which directions are away)
            (9_000, 1, [false, false]),
            (900, 0, [false, true]),
            // No shorter.
            (5_000, 0, [false, true]),
            (8_000, 1, [true, true]),
            (90, 0, [false, true]),
            (800, 1, [true, true]),
        ];
        for (time, side, expected) in steps {
            shared.on_response(time, side);
            assert_eq!([0, 1].map(|side| shared.is_away(side)), expected, "{time} {side}");
        }
    }

    #[test]
    fn a_long_response_time_is_no_distance_without_a_handshake() {
        for (has_syn, expected) in [(false, None), (true, Some(9_980_000_000))] {
            let mut shared = Shared { has_syn, ..shared() };
            shared.on_response(9_980_000_000, 0);
            shared.on_response(20_000_000, 1);
            assert_eq!(shared.distance(0), expected);
            assert_eq!(shared.distance(1), Some(20_000_000));
        }
    }

    #[test]
    fn a_capture_that_names_the_sender_decides() {
        let mut shared = shared();
        shared.on_response(100, 0);
        shared.on_response(100, 1);
        shared.on_new_origin(Some(true), 0);
        assert_eq!([0, 1].map(|side| shared.is_away(side)), [false, true]);
        // A router sends every packet.
        shared.on_new_origin(Some(false), 0);
        assert_eq!([0, 1].map(|side| shared.is_away(side)), [true, true]);
    }
}
