//! Requests to rtnetlink (RFC 3549): interfaces, addresses and routes of the calling thread's network
//! namespace.

use std::{io, net::IpAddr, os::fd::OwnedFd};

use netlink_packet_core::{
    NLM_F_ACK, NLM_F_CREATE, NLM_F_DUMP, NLM_F_EXCL, NLM_F_REQUEST, NetlinkMessage, NetlinkPayload,
};
use netlink_packet_route::{
    AddressFamily, RouteNetlinkMessage,
    address::{AddressAttribute, AddressHeaderFlags, AddressMessage},
    link::{AfSpecInet6, AfSpecUnspec, In6AddrGenMode, LinkAttribute, LinkFlags, LinkMessage},
    route::{
        RouteAddress, RouteAttribute, RouteHeader, RouteMessage, RouteMetric, RouteProtocol, RouteScope, RouteType,
    },
};
use rustix::net::{
    AddressFamily as SocketFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netdevice::name_to_index, recv, send,
    socket_with,
};

use crate::{Interface, InterfaceAddress, NetError};

/// A netlink socket of the namespace it was opened in.
#[derive(Debug)]
pub(crate) struct Netlink {
    socket: OwnedFd,
    sequence: u32,
}

/// An address of an interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Assigned {
    pub interface: String,
    pub address: IpAddr,
    pub prefix_len: u8,
}

/// Brings the loopback interface of the calling thread's namespace up.
pub(crate) fn bring_up_loopback() -> Result<(), NetError> {
    let mut netlink = Netlink::open()?;
    let loopback = netlink.index_of("lo")?;
    netlink.bring_up(loopback, None)
}

impl Netlink {
    pub fn open() -> Result<Self, NetError> {
        let socket = socket_with(
            SocketFamily::NETLINK,
            SocketType::RAW,
            SocketFlags::CLOEXEC,
            // NETLINK_ROUTE is protocol 0.
            None,
        );
        Ok(Self { socket: socket.map_err(NetError::system("open a netlink socket"))?, sequence: 0 })
    }

    /// The index of the interface of this name.
    pub fn index_of(&self, name: &str) -> Result<u32, NetError> {
        name_to_index(&self.socket, name).map_err(NetError::system(format!("find the interface {name}")))
    }

    /// Brings an interface up. With `sizes`, an MTU in bytes and a queue length in packets, it also makes
    /// no IPv6 addresses of its own: their announcements would be on the path.
    pub fn bring_up(&mut self, index: u32, sizes: Option<(u32, u32)>) -> Result<(), NetError> {
        let what = "bring an interface up";
        if let Some((mtu, queue_len)) = sizes {
            let mut quiet = LinkMessage::default();
            quiet.header.index = index;
            let mode = AfSpecInet6::AddrGenMode(In6AddrGenMode::None);
            quiet.attributes = vec![LinkAttribute::AfSpecUnspec(vec![AfSpecUnspec::Inet6(vec![mode])])];
            // An error says that the system has no IPv6.
            let _ = self.ask("", RouteNetlinkMessage::SetLink(quiet), 0);
            let mut sized = LinkMessage::default();
            sized.header.index = index;
            sized.attributes = vec![LinkAttribute::Mtu(mtu), LinkAttribute::TxQueueLen(queue_len)];
            self.ask(what, RouteNetlinkMessage::SetLink(sized), 0)?;
        }
        let mut up = LinkMessage::default();
        up.header.index = index;
        up.header.flags = LinkFlags::Up;
        up.header.change_mask = LinkFlags::Up;
        self.ask(what, RouteNetlinkMessage::SetLink(up), 0)
    }

    /// Gives an interface an address with this prefix length. It is usable at once, without duplicate
    /// address detection: no other host is on the wire.
    pub fn add_address(&mut self, index: u32, address: IpAddr, len: u8) -> Result<(), NetError> {
        let mut message = AddressMessage::default();
        message.header.family = family(address);
        message.header.prefix_len = len;
        message.header.flags = AddressHeaderFlags::Nodad;
        message.header.index = index;
        message.attributes = vec![AddressAttribute::Local(address), AddressAttribute::Address(address)];
        self.ask(
            &format!("assign the address {address}"),
            RouteNetlinkMessage::NewAddress(message),
            NLM_F_CREATE | NLM_F_EXCL,
        )
    }

    /// Routes a network to an interface; prefix length 0 makes the default route. There must be no route
    /// to the same network.
    pub fn add_route(&mut self, network: IpAddr, len: u8, index: u32) -> Result<(), NetError> {
        self.add_route_with(network, len, index, Vec::new())
    }

    /// As [`add_route`](Self::add_route), with metrics for the kernel's TCP on this route.
    pub fn add_route_with(
        &mut self,
        network: IpAddr,
        len: u8,
        index: u32,
        metrics: Vec<RouteMetric>,
    ) -> Result<(), NetError> {
        let mut message = RouteMessage::default();
        message.header.address_family = family(network);
        message.header.destination_prefix_length = len;
        message.header.table = RouteHeader::RT_TABLE_MAIN;
        message.header.protocol = RouteProtocol::Static;
        message.header.scope = match network {
            IpAddr::V4(_) => RouteScope::Link,
            IpAddr::V6(_) => RouteScope::Universe,
        };
        message.header.kind = RouteType::Unicast;
        message.attributes = vec![RouteAttribute::Oif(index)];
        if len > 0 {
            let destination = RouteAttribute::Destination(network.into());
            message.attributes.push(destination);
        }
        if !metrics.is_empty() {
            message.attributes.push(RouteAttribute::Metrics(metrics));
        }
        self.ask(&format!("route {network}/{len}"), RouteNetlinkMessage::NewRoute(message), NLM_F_CREATE | NLM_F_EXCL)
    }

    /// Every IPv4 address of the namespace.
    pub fn addresses(&mut self) -> Result<Vec<Assigned>, NetError> {
        let mut request = AddressMessage::default();
        request.header.family = AddressFamily::Inet;
        let mut found = Vec::new();
        let request = RouteNetlinkMessage::GetAddress(request);
        self.dump("list addresses", request, |answer| {
            if let RouteNetlinkMessage::NewAddress(message) = answer {
                found.extend(assigned(message));
            }
        })?;
        Ok(found)
    }

    /// Every address of the namespace's interfaces.
    pub fn interface_addresses(&mut self) -> Result<Vec<InterfaceAddress>, NetError> {
        let mut found = Vec::new();
        // Of all families.
        let request = RouteNetlinkMessage::GetAddress(AddressMessage::default());
        self.dump("list addresses", request, |answer| {
            if let RouteNetlinkMessage::NewAddress(message) = answer {
                let index = message.header.index;
                found.extend(own_address(message).map(|address| InterfaceAddress { index, address }));
            }
        })?;
        Ok(found)
    }

    /// Whether an interface of the namespace has this address.
    pub fn has_address(&mut self, address: IpAddr) -> Result<bool, NetError> {
        Ok(self.interface_addresses()?.iter().any(|own| own.address == address))
    }

    /// Every IPv4 network to which the namespace has a route in any table, with its prefix length, without
    /// broadcast addresses.
    pub fn routes(&mut self) -> Result<Vec<(IpAddr, u8)>, NetError> {
        let mut request = RouteMessage::default();
        request.header.address_family = AddressFamily::Inet;
        let mut found = Vec::new();
        let request = RouteNetlinkMessage::GetRoute(request);
        self.dump("list routes", request, |answer| {
            let RouteNetlinkMessage::NewRoute(message) = answer else {
                return;
            };
            if message.header.kind == RouteType::Broadcast {
                return;
            }
            let network = message.attributes.iter().find_map(|a| match a {
                RouteAttribute::Destination(RouteAddress::Inet(network)) => Some(*network),
                _ => None,
            });
            let len = message.header.destination_prefix_length;
            found.extend(network.map(|network| (network.into(), len)));
        })?;
        Ok(found)
    }

    /// Every interface of the namespace.
    pub fn interfaces(&mut self) -> Result<Vec<Interface>, NetError> {
        let mut found = Vec::new();
        let request = RouteNetlinkMessage::GetLink(LinkMessage::default());
        self.dump("list interfaces", request, |answer| {
            if let RouteNetlinkMessage::NewLink(message) = answer {
                found.extend(interface(message));
            }
        })?;
        found.sort_by_key(|interface| interface.index);
        Ok(found)
    }

    /// Packets that the kernel dropped because the interface's queue was full.
    pub fn queue_drops(&mut self, index: u32) -> Result<u64, NetError> {
        let what = "read an interface's counters";
        let mut request = LinkMessage::default();
        request.header.index = index;
        self.send(what, RouteNetlinkMessage::GetLink(request), NLM_F_REQUEST)?;
        let mut drops = None;
        self.receive(what, |answer| {
            if let RouteNetlinkMessage::NewLink(message) = answer {
                drops = message.attributes.iter().find_map(|a| match a {
                    LinkAttribute::Stats64(stats) => Some(stats.tx_dropped),
                    _ => None,
                });
            }
            true
        })?;
        Ok(drops.unwrap_or_default())
    }

    /// Sends a request and waits for the kernel's acknowledgement.
    fn ask(&mut self, what: &str, message: RouteNetlinkMessage, flags: u16) -> Result<(), NetError> {
        self.send(what, message, NLM_F_REQUEST | NLM_F_ACK | flags)?;
        self.receive(what, |_| false)
    }

    fn dump(
        &mut self,
        what: &str,
        message: RouteNetlinkMessage,
        mut each: impl FnMut(&RouteNetlinkMessage),
    ) -> Result<(), NetError> {
        self.send(what, message, NLM_F_REQUEST | NLM_F_DUMP)?;
        self.receive(what, |answer| {
            each(answer);
            false
        })
    }

    fn send(&mut self, what: &str, message: RouteNetlinkMessage, flags: u16) -> Result<(), NetError> {
        self.sequence += 1;
        let mut message = NetlinkMessage::from(message);
        message.header.flags = flags;
        message.header.sequence_number = self.sequence;
        message.finalize();
        let mut bytes = vec![0; message.buffer_len()];
        message.serialize(&mut bytes);
        send(&self.socket, &bytes, SendFlags::empty()).map(drop).map_err(NetError::system(what))
    }

    /// Reads answers to the last request until one ends it: an acknowledgement, an error, the end of a
    /// list, or a message for which `each` returns true.
    fn receive(&mut self, what: &str, mut each: impl FnMut(&RouteNetlinkMessage) -> bool) -> Result<(), NetError> {
        // The kernel's answers are no longer than this.
        let mut buffer = vec![0; 1 << 16];
        loop {
            let (len, _) = recv(&self.socket, &mut buffer[..], RecvFlags::empty()).map_err(NetError::system(what))?;
            let mut rest = &buffer[..len];
            while let Some(length) = message_len(rest) {
                let (message, others) = rest.split_at(length);
                rest = others.get(length.next_multiple_of(4) - length..).unwrap_or_default();
                // A message that cannot be read is not one that was asked for.
                let Ok(message) = NetlinkMessage::<RouteNetlinkMessage>::deserialize(message) else {
                    continue;
                };
                if message.header.sequence_number != self.sequence {
                    continue;
                }
                match message.payload {
                    NetlinkPayload::Done(_) => return Ok(()),
                    NetlinkPayload::Error(error) => {
                        return match error.code {
                            None => Ok(()),
                            Some(code) => {
                                let errno = code.get().unsigned_abs() as i32;
                                Err(NetError::system(what)(io::Error::from_raw_os_error(errno)))
                            }
                        };
                    }
                    NetlinkPayload::InnerMessage(answer) if each(&answer) => return Ok(()),
                    _ => {}
                }
            }
        }
    }
}

/// The length of the message at the start of `bytes`, if it is complete.
fn message_len(bytes: &[u8]) -> Option<usize> {
    let length = u32::from_ne_bytes(*bytes.first_chunk()?) as usize;
    (16..=bytes.len()).contains(&length).then_some(length)
}

/// The interface's own address.
fn own_address(message: &AddressMessage) -> Option<IpAddr> {
    // At a point-to-point link, the other attribute has the peer's address.
    let local = message.attributes.iter().find_map(|a| match a {
        AddressAttribute::Local(local) => Some(*local),
        _ => None,
    });
    local.or_else(|| {
        message.attributes.iter().find_map(|a| match a {
            AddressAttribute::Address(own) => Some(*own),
            _ => None,
        })
    })
}

fn assigned(message: &AddressMessage) -> Option<Assigned> {
    let mut interface = String::new();
    let mut address = None;
    for attribute in &message.attributes {
        match attribute {
            AddressAttribute::Local(local) => address = Some(*local),
            AddressAttribute::Label(label) => interface.clone_from(label),
            _ => {}
        }
    }
    Some(Assigned { interface, address: address?, prefix_len: message.header.prefix_len })
}

fn interface(message: &LinkMessage) -> Option<Interface> {
    let header = &message.header;
    let name = message.attributes.iter().find_map(|a| match a {
        LinkAttribute::IfName(name) => Some(name.clone()),
        _ => None,
    })?;
    let dropped = message.attributes.iter().find_map(|a| match a {
        LinkAttribute::Stats64(stats) => Some(stats.rx_dropped.saturating_add(stats.rx_missed_errors)),
        _ => None,
    });
    let mtu = message.attributes.iter().find_map(|a| match a {
        LinkAttribute::Mtu(mtu) => Some(*mtu),
        _ => None,
    });
    Some(Interface {
        name,
        index: header.index,
        hardware: header.link_layer_type.into(),
        is_up: header.flags.contains(LinkFlags::Up),
        mtu: mtu.unwrap_or(0),
        dropped: dropped.unwrap_or(0),
    })
}

const fn family(address: IpAddr) -> AddressFamily {
    match address {
        IpAddr::V4(_) => AddressFamily::Inet,
        IpAddr::V6(_) => AddressFamily::Inet6,
    }
}

#[cfg(test)]
mod testing;
