//! Tells connections between the same ends in different tunnels apart.
//!
//! Networks behind tunnels may use the same addresses. So the same ends in two tunnels may be two connections. But
//! one connection may also be captured in several tunnels:
//!
//! - its packets are captured twice, inside a tunnel and outside of it, or inside two tunnels on the way;
//! - each direction has an identifier of its own, always in GTP-U, PPTP and MPLS, sometimes in VXLAN and GRE;
//! - a telephone moves on, and its identifier changes.
//!
//! Connections between the same ends are in networks, numbered from 0. A packet belongs to the network of the open
//! connection between its ends that it fits best:
//!
//! 1. Its sequence and acknowledgement numbers are near those of the connection, and the connection was captured in
//!    this tunnel.
//! 2. Its numbers are near, and its direction was not captured in another tunnel of the same kind whose identifier
//!    names a network ([`Tunnel::excludes`](crate::read::Tunnel)): a VXLAN or GENEVE network, a GRE key, an ERSPAN
//!    session.
//! 3. The connection was captured in this tunnel: in this direction or, if the identifier names a network, in either.
//!
//! If it fits none, it opens the next network. So captures without tunnels, and those whose ends are unique, have
//! network 0 alone, whatever their tunnels are.

use super::{ConnectionTable, TableEntry};
use crate::follow::TimedPacket;
use recoup_wire::Endpoints;
use std::cmp::Reverse;

/// Networks with connections between the same ends. Those beyond count as the last one.
const MOST_NETWORKS: u8 = 64;

impl ConnectionTable {
    /// Whether tunnels may decide which connection between its ends a packet belongs to. `hit`: one of those.
    pub(super) fn tunnels_matter(&self, hit: Option<(u32, usize)>, timed: &TimedPacket) -> bool {
        let open = hit.and_then(|(slot, _)| self.get(slot));
        !timed.packet.tunnel.is_none() || open.is_some_and(|open| open.tunnels.is_some())
    }

    /// The network of a packet, and the first connection between its ends there.
    #[cold]
    pub(super) fn in_network(&mut self, hash: u64, timed: &TimedPacket) -> (u8, Option<(u32, usize)>) {
        let packet = &timed.packet;
        let open = self.between(hash, &packet.endpoints);
        let fits =
            open.iter().filter_map(|&(slot, side)| Some((self.get(slot)?.fit(side, packet)?, Reverse(slot), side)));
        let Some((_, Reverse(slot), side)) = fits.max() else {
            let networks: Vec<u8> = open.iter().filter_map(|(slot, _)| Some(self.get(*slot)?.network())).collect();
            let next = (0..MOST_NETWORKS).find(|network| !networks.contains(network));
            return (next.unwrap_or(MOST_NETWORKS - 1), None);
        };
        let mut network = 0;
        if let Some(best) = &mut self.slots[slot as usize] {
            network = best.network();
            if packet.message.is_none() {
                best.add_tunnel(side, packet.tunnel);
            }
        }
        let is_there = |(slot, _): &&(u32, usize)| self.get(*slot).is_some_and(|open| open.network() == network);
        (network, open.iter().find(is_there).copied())
    }

    /// A connection between these ends has begun. If others are in other networks, all are named by their tunnels.
    #[cold]
    pub(super) fn note_shared_ends(&mut self, hash: u64, ends: &Endpoints) {
        let open = self.between(hash, ends);
        let networks = open.iter().filter_map(|(slot, _)| Some(self.get(*slot)?.network()));
        if networks.clone().max() == networks.min() {
            return;
        }
        for (slot, _) in open {
            if let Some(connection) = &mut self.slots[slot as usize] {
                connection.share_ends();
            }
        }
    }

    /// The slots of all open connections between these ends, in order, with the direction of a packet.
    pub(super) fn between(&self, hash: u64, ends: &Endpoints) -> Vec<(u32, usize)> {
        let tag = TableEntry::tag(hash);
        let entries = self.entries.iter_hash(hash).filter(|entry| entry.tag == tag);
        let theirs = entries.filter_map(|entry| Some((entry.slot, self.get(entry.slot)?.side(ends)?)));
        let mut theirs: Vec<_> = theirs.collect();
        // The lookup table has no order that a resumed analysis would share.
        theirs.sort_unstable();
        theirs
    }
}
