//! Sockets of echoes: ICMP and ICMPv6 as far as ping needs them (RFC 792, RFC 4443 §4).
//!
//! Each has an identifier of its own, by which replies find it. What ICMP says about a request is not reported.

use std::net::{IpAddr, SocketAddr};

use recoup_wire::{DecodedIcmp, Ecn, Endpoints, IcmpMessage, IpFields, encode_icmp};

use super::{
    DatagramId, Host, HostError,
    datagrams::{Takes, unspecified},
    input::is_unicast,
    others::Outcome,
};

/// A reply to an echo request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EchoReply {
    /// Who replied.
    pub source: IpAddr,
    /// The sequence number of the request.
    pub sequence: u16,
    /// Its data.
    pub data: Vec<u8>,
}

impl Host {
    /// A socket for echo requests over both IP versions.
    ///
    /// # Errors
    /// When all 28,232 identifiers are taken.
    pub fn ping_open(&mut self) -> Result<DatagramId, HostError> {
        // Drawn as ephemeral ports are, so that others cannot guess them.
        let nowhere = SocketAddr::new(unspecified(IpAddr::from([0; 4])), 0);
        let mut identifiers = self.secret.ports(nowhere.ip(), nowhere);
        let free = identifiers.find(|identifier| self.datagrams.find_echoes(*identifier).is_none());
        let identifier = free.ok_or(HostError::Exhausted(nowhere))?;
        Ok(self.datagrams.add(Takes::Echoes(identifier)))
    }

    /// Sends an echo request, in fragments if it is long.
    ///
    /// # Errors
    /// As [`udp_send`](Self::udp_send).
    pub fn ping_send(&mut self, id: DatagramId, to: IpAddr, sequence: u16, data: &[u8]) -> Result<(), HostError> {
        let Takes::Echoes(identifier) = self.datagrams.get(id)?.takes else {
            return Err(HostError::Unknown);
        };
        let own = self.config.addresses.iter().find(|ip| ip.is_ipv4() == to.is_ipv4()).copied();
        let src = own.filter(|_| is_unicast(to)).ok_or(HostError::Unreachable(SocketAddr::new(to, 0)))?;
        self.send_icmp(src, to, IcmpMessage::EchoRequest { identifier, sequence }, data)
    }

    /// Takes out the oldest reply that a socket received; `None` if there is none.
    ///
    /// # Errors
    /// When no socket of echoes has this id.
    pub fn ping_receive(&mut self, id: DatagramId) -> Result<Option<EchoReply>, HostError> {
        let socket = self.datagrams.get_mut(id)?;
        if !matches!(socket.takes, Takes::Echoes(_)) {
            return Err(HostError::Unknown);
        }
        Ok(socket.take().map(|reply| EchoReply {
            source: reply.source.ip(),
            // Kept in place of a port.
            sequence: reply.source.port(),
            data: reply.bytes,
        }))
    }

    /// Ends a socket, and discards what it received.
    ///
    /// # Errors
    /// When no socket has this id.
    pub fn ping_close(&mut self, id: DatagramId) -> Result<(), HostError> {
        self.datagrams.remove(id)
    }

    /// An echo reply arrived.
    pub(super) fn on_echo_reply(&mut self, icmp: &DecodedIcmp, identifier: u16, sequence: u16, data: &[u8]) -> Outcome {
        let Some(index) = self.datagrams.find_echoes(identifier) else {
            return Outcome::NotTaken;
        };
        let ends = Endpoints { src: SocketAddr::new(icmp.src, sequence), dst: SocketAddr::new(icmp.dst, identifier) };
        let room = self.datagrams.put(index, &ends, data, Ecn::NONE);
        self.stats.datagrams_dropped += u64::from(!room);
        Outcome::Taken
    }

    /// Sends a message of ICMP with its data.
    pub(super) fn send_icmp(
        &mut self,
        src: IpAddr,
        dst: IpAddr,
        message: IcmpMessage,
        data: &[u8],
    ) -> Result<(), HostError> {
        let ip = IpFields::from(self.next_ip_id(src, dst) as u16).fragmentable();
        self.outbox.put(self.mtu, |out| encode_icmp(src, dst, ip, message, data, out))
    }
}
