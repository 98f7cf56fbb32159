//! The tunnels that a connection was captured in.

use super::ConnectionState;
use crate::{
    follow::TimedPacket,
    memory::{HeapSize, allocated},
    read::{CapturedPacket, Tunnel},
};
use recoup_wire::Flags;
use serde::{Deserialize, Serialize};

/// Tunnels remembered of each direction.
const MOST_KNOWN: usize = 8;

/// The tunnels of a connection's packets.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Tunnels {
    /// As [`TimedPacket::network`].
    network: u8,
    /// Connections between the same ends in other networks were open at the same time.
    shares_ends: bool,
    /// Those of each direction.
    known: [Vec<Tunnel>; 2],
}

impl Tunnels {
    /// Its memory, in bytes.
    pub fn memory(&self) -> usize {
        allocated(size_of::<Self>()) + self.known.iter().map(HeapSize::heap_size).sum::<usize>()
    }

    fn add(&mut self, side: usize, tunnel: Tunnel) {
        let known = &mut self.known[side];
        if !known.contains(&tunnel) {
            if known.len() >= MOST_KNOWN {
                known.remove(0);
            }
            known.push(tunnel);
        }
    }
}

/// How well a packet fits a connection between its ends; more is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Fit {
    by_numbers: bool,
    by_tunnel: bool,
}

impl ConnectionState {
    /// The number of its network: 0 unless there are several with the same addresses.
    pub fn network(&self) -> u8 {
        self.tunnels.as_ref().map_or(0, |tunnels| tunnels.network)
    }

    /// Whether connections between the same ends in other networks were open at the same time.
    pub fn shares_ends(&self) -> bool {
        self.tunnels.as_ref().is_some_and(|tunnels| tunnels.shares_ends)
    }

    /// Other networks have connections between the same ends.
    pub fn share_ends(&mut self) {
        self.known_tunnels().shares_ends = true;
        self.in_pair = true;
    }

    /// It begins with this packet of direction `side`.
    pub fn begin_in_tunnel(&mut self, side: usize, timed: &TimedPacket) {
        if timed.network == 0 && timed.packet.tunnel.is_none() {
            return;
        }
        let mut tunnels = Tunnels { network: timed.network, ..Tunnels::default() };
        tunnels.add(side, timed.packet.tunnel);
        self.tunnels = Some(Box::new(tunnels));
    }

    /// A packet of direction `side` was captured in this tunnel.
    pub fn add_tunnel(&mut self, side: usize, tunnel: Tunnel) {
        self.known_tunnels().add(side, tunnel);
    }

    fn known_tunnels(&mut self) -> &mut Tunnels {
        let has_sent = self.has_sent;
        self.tunnels.get_or_insert_with(|| {
            let known = has_sent.map(|has_sent| if has_sent { vec![Tunnel::NONE] } else { Vec::new() });
            Box::new(Tunnels { known, ..Tunnels::default() })
        })
    }

    /// The tunnels of each direction, if connections in other networks have the same ends.
    pub(super) fn tunnels_if_ends_are_shared(&self) -> [Vec<Tunnel>; 2] {
        let tunnels = self.tunnels.as_ref().filter(|tunnels| tunnels.shares_ends);
        tunnels.map(|tunnels| tunnels.known.clone()).unwrap_or_default()
    }

    /// How well a packet of direction `side` fits; `None` if it belongs to another network.
    pub fn fit(&self, side: usize, packet: &CapturedPacket) -> Option<Fit> {
        let tunnel = packet.tunnel;
        let plain = [const { Vec::new() }; 2];
        let known = self.tunnels.as_ref().map_or(&plain, |tunnels| &tunnels.known);
        let is_message = packet.message.is_some();
        let by_tunnel = match self.tunnels {
            None => tunnel.is_none(),
            // A message travels against the segment that it quotes.
            Some(_) if is_message || tunnel.names_network() => known.iter().any(|known| known.contains(&tunnel)),
            Some(_) => known[side].contains(&tunnel),
        };
        let by_numbers = if is_message {
            self.directions[side].is_near(packet.segment.seq) == Some(true)
        } else {
            self.fits_numbers(side, packet)
        };
        let is_excluded = !by_tunnel && known[side].iter().any(|known| known.excludes(tunnel));
        (by_tunnel || (by_numbers && !is_excluded)).then_some(Fit { by_numbers, by_tunnel })
    }

    /// Whether the numbers of a segment of direction `side` are near those of the connection.
    fn fits_numbers(&self, side: usize, packet: &CapturedPacket) -> bool {
        let segment = &packet.segment;
        let own = &self.directions[side];
        let is_syn = segment.flags.contains(Flags::SYN);
        let seq = match own.syn() {
            Some(number) if is_syn => Some(number == segment.seq),
            _ => own.is_near(segment.seq),
        };
        let acknowledges = segment.flags.contains(Flags::ACK);
        let ack = if acknowledges { self.directions[1 - side].is_near(segment.ack) } else { None };
        // A SYN alone has one number.
        let suffices = acknowledges || !is_syn || own.syn().is_some();
        suffices && seq != Some(false) && ack != Some(false) && (seq.is_some() || ack.is_some())
    }
}
