//! Sockets of UDP (RFC 768, RFC 8085).
//!
//! Packets over IPv4 do not say "don't fragment", because a socket that is not connected learns of no path MTU. A
//! connected one does, and heeds it by smaller fragments (RFC 8201; RFC 8085 §3.2 advises applications to send less).
//! Broadcasts and multicasts are neither sent nor received, except that the socket that takes any receives them.

use std::net::{IpAddr, SocketAddr};

use recoup_units::Instant;
use recoup_wire::{Endpoints, IpFields, Unreachable, decode_udp, encode_udp};

use super::{
    Datagram, DatagramId, Host, HostError,
    datagrams::{Takes, unspecified},
    input::{is_peer, is_unicast},
    others::Outcome,
};

impl Host {
    /// A socket that takes UDP to `local`: at each of this host's addresses of the IP version if it is the unspecified
    /// one. Port 0 chooses an ephemeral port ([`udp_local`](Self::udp_local) says which).
    ///
    /// # Errors
    /// When the address is not this host's, or taken.
    pub fn udp_bind(&mut self, local: SocketAddr) -> Result<DatagramId, HostError> {
        let ip = local.ip();
        if !ip.is_unspecified() && !self.is_own(ip) {
            return Err(HostError::NotOurs(ip));
        }
        let local = match local.port() {
            0 => {
                let somewhere = SocketAddr::new(unspecified(ip), 0);
                let place = self.neighbours.place;
                let ports = self.secret.ports(ip, somewhere).filter(|port| place.has_port(*port));
                let places = ports.map(|port| SocketAddr::new(ip, port));
                let mut free = places.filter(|place| !self.datagrams.is_taken(*place));
                free.next().ok_or(HostError::InUse(local))?
            }
            _ if self.datagrams.is_taken(local) => return Err(HostError::InUse(local)),
            _ => local,
        };
        Ok(self.datagrams.add(Takes::Udp(local)))
    }

    /// A socket that takes every UDP datagram that no other socket takes, whatever its destination. It sends from any
    /// address.
    ///
    /// # Errors
    /// When another socket does that already.
    pub fn udp_bind_any(&mut self) -> Result<DatagramId, HostError> {
        match self.datagrams.takes_any() {
            true => Err(HostError::AnyInUse),
            false => Ok(self.datagrams.add(Takes::Any)),
        }
    }

    /// Takes out the oldest datagram of the socket that takes any, and opens a socket for its flow: what its sender sends to
    /// that destination, whoever's address it is. The new socket has the datagram and is connected to its sender, which is
    /// returned, too. Datagrams of flows that have a socket go there. `None` if no datagram begins a flow.
    ///
    /// # Errors
    /// When the socket does not take any.
    pub fn udp_accept(&mut self, id: DatagramId) -> Result<Option<(DatagramId, SocketAddr)>, HostError> {
        loop {
            let socket = self.datagrams.get_mut(id)?;
            if socket.takes != Takes::Any {
                return Err(HostError::NotAny);
            }
            let Some(datagram) = socket.take() else {
                return Ok(None);
            };
            let ends = Endpoints { src: datagram.source, dst: datagram.destination };
            let path = ends.reverse();
            let is_known = self.datagrams.find_connected(&path).is_some();
            let opened = (!is_known).then(|| self.datagrams.open_flow(&path));
            if let Some((index, _)) = self.datagrams.find_connected(&path) {
                let room = self.datagrams.put(index, &ends, &datagram.bytes, datagram.ecn);
                self.stats.datagrams_dropped += u64::from(!room);
            }
            if let Some(opened) = opened {
                return Ok(Some((opened, ends.src)));
            }
        }
    }

    /// Connects a socket to `peer`: it takes datagrams only from there from now on, and learns what ICMP says of them.
    /// What waits already stays. A socket that is bound to every address is bound to one by this.
    ///
    /// # Errors
    /// When the peer cannot be reached, or the socket takes any.
    pub fn udp_connect(&mut self, id: DatagramId, peer: SocketAddr) -> Result<(), HostError> {
        let local = self.datagrams.get(id)?.local().ok_or(HostError::Unreachable(peer))?;
        let ip = self.source_for(local.ip(), peer)?;
        self.datagrams.connect(id, SocketAddr::new(ip, local.port()), peer)
    }

    /// The address to send from to `peer`, bound as said.
    fn source_for(&self, bound: IpAddr, peer: SocketAddr) -> Result<IpAddr, HostError> {
        let reachable = is_peer(peer) && bound.is_ipv4() == peer.is_ipv4();
        let own = self.config.addresses.iter().find(|ip| ip.is_ipv4() == peer.is_ipv4()).copied();
        let ip = if bound.is_unspecified() { own } else { Some(bound) };
        ip.filter(|_| reachable).ok_or(HostError::Unreachable(peer))
    }

    /// Where a socket is bound; `None` of one that takes any.
    ///
    /// # Errors
    /// When no socket has this id.
    pub fn udp_local(&self, id: DatagramId) -> Result<Option<SocketAddr>, HostError> {
        Ok(self.datagrams.get(id)?.local())
    }

    /// Where a socket is connected to.
    ///
    /// # Errors
    /// When no socket has this id.
    pub fn udp_peer(&self, id: DatagramId) -> Result<Option<SocketAddr>, HostError> {
        Ok(self.datagrams.get(id)?.peer)
    }

    /// Sends a datagram: to the peer of a connected socket if `to` is `None`. `from` is for the socket that takes any,
    /// which needs it. It leaves with the next [`poll_transmit`](Self::poll_transmit), in fragments if it is long.
    ///
    /// # Errors
    /// When ICMP said since the last call that the peer refuses; when the destination cannot be reached; when there is
    /// no destination or source; when it is too long for a packet; and when too much waits to be sent
    /// ([`HostError::Full`]): then there is room again after `poll_transmit`.
    pub fn udp_send(
        &mut self,
        id: DatagramId,
        from: Option<SocketAddr>,
        to: Option<SocketAddr>,
        bytes: &[u8],
    ) -> Result<(), HostError> {
        let socket = self.datagrams.get_mut(id)?;
        if let Some(error) = socket.error.take() {
            return Err(error);
        }
        let (takes, peer) = (socket.takes, socket.peer);
        let dst = to.or(peer).ok_or(HostError::NotConnected)?;
        let path_mtu = socket.path_mtu.filter(|_| peer == Some(dst));
        let src = match (takes, from) {
            (Takes::Udp(local), None) => SocketAddr::new(self.source_for(local.ip(), dst)?, local.port()),
            (Takes::Any, Some(from)) if is_unicast(from.ip()) => {
                SocketAddr::new(self.source_for(from.ip(), dst)?, from.port())
            }
            (Takes::Flow(local), None) if is_unicast(local.ip()) => {
                SocketAddr::new(self.source_for(local.ip(), dst)?, local.port())
            }
            (Takes::Udp(_) | Takes::Flow(_) | Takes::Any, Some(from)) => return Err(HostError::NotOurs(from.ip())),
            (Takes::Flow(local), None) => return Err(HostError::NotOurs(local.ip())),
            (Takes::Any, None) => return Err(HostError::NotConnected),
            (Takes::Echoes(_), _) => return Err(HostError::Unknown),
        };
        let path = Endpoints { src, dst };
        let ip = IpFields::from(self.next_ip_id(src.ip(), dst.ip()) as u16).fragmentable();
        let mtu = path_mtu.map_or(self.mtu, |path_mtu| path_mtu.min(self.mtu));
        self.outbox.put(mtu, |out| encode_udp(&path, ip, bytes, out))
    }

    /// Takes out the oldest datagram that a socket received; `None` if there is none.
    ///
    /// # Errors
    /// When ICMP said since the last call that the peer refuses what is sent.
    pub fn udp_receive(&mut self, id: DatagramId) -> Result<Option<Datagram>, HostError> {
        let socket = self.datagrams.get_mut(id)?;
        match (socket.takes, socket.error.take()) {
            (Takes::Echoes(_), _) => Err(HostError::Unknown),
            (_, Some(error)) => Err(error),
            (_, None) => Ok(socket.take()),
        }
    }

    /// Ends a socket, and discards what it received. What was sent still leaves.
    ///
    /// # Errors
    /// When no socket has this id.
    pub fn udp_close(&mut self, id: DatagramId) -> Result<(), HostError> {
        self.datagrams.remove(id)
    }

    /// A packet of UDP arrived. `vouched`: its checksum is right.
    pub(super) fn on_udp(&mut self, now: Instant, vouched: bool, packet: &[u8]) -> Outcome {
        let Ok(udp) = decode_udp(packet) else {
            return Outcome::Ignored;
        };
        let vouched = vouched && udp.ip_checksum_ok && udp.payload.len() == udp.payload_len;
        let ends = &udp.endpoints;
        if !(udp.is_sound() || vouched) || ends.dst.port() == 0 {
            return Outcome::Ignored;
        }
        if !self.is_from_peer(ends.src.ip()) {
            return Outcome::NotTaken;
        }
        let own = self.is_own(ends.dst.ip());
        match self.datagrams.find(&ends.reverse(), own) {
            Some(index) => {
                let bytes = packet.get(udp.payload.clone()).unwrap_or_default();
                let room = self.datagrams.put(index, ends, bytes, udp.ecn);
                self.stats.datagrams_dropped += u64::from(!room);
                Outcome::Taken
            }
            None if self.refuses_at(ends.dst.ip()) && !self.has_others_to_ask() => {
                self.send_unreachable(now, Unreachable::Port, packet, ends.dst.ip(), ends.src.ip());
                Outcome::Taken
            }
            None => Outcome::NotTaken,
        }
    }
}
