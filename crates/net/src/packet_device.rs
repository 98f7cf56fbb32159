//! An ordinary interface as a stack's device: IP packets of the stack's own addresses over a packet socket (packet(7)).
//!
//! The stack has addresses that the kernel does not have. The device answers ARP and neighbour discovery for them, and
//! finds out the link addresses of neighbours and of the gateway. A filter in the kernel lets nothing else reach it.
//!
//! Checksums and TCP segmentation are always left to the kernel, and the other way round (PACKET_VNET_HDR): the kernel
//! does itself what the interface cannot.
//!
//! With the interface's own link address, the kernel sees the same packets. It ignores them, because they are for an
//! address that it does not have, unless it forwards packets (net.ipv4.ip_forward). A machine that does needs a link
//! address of its own for the stack ([`PacketOptions::mac`]). Wireless networks and many clouds allow no other.
//!
//! Deviations: the groups of solicited-node addresses are joined at the interface, without multicast listener reports
//! (RFC 3810); no duplicate address detection (RFC 5227, RFC 4862).
//!
//! | module | contents |
//! | --- | --- |
//! | `filter` | the program in the kernel that chooses frames |
//! | `messages` | ARP and neighbour discovery: formats |
//! | `neighbors` | the neighbour cache, and packets that wait |

mod filter;
mod messages;
mod neighbors;

use crate::{
    LONGEST_SUPER_PACKET, NetError, VNET_HEADER_LEN, VnetHeader, interface,
    link_state::LinkState,
    netlink::Netlink,
    packet_socket::{open_socket, options},
    waiting::Waiting,
};
use messages::{ARP, Arp, Discovery, ETHERNET, IPV4, IPV6, Mac, ethernet, group, is_discovery, solicited_node};
use neighbors::{Neighbors, NextHop, Outgoing};
use recoup_stack::device::{Batch, Device, Properties, Wait};
use recoup_wire::bpf::Framing;
use rustix::{
    event::PollFlags,
    io::Errno,
    net::{SocketType, sockopt},
};
use std::{
    collections::VecDeque,
    io::{self, IoSlice, IoSliceMut},
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    task::{Context, Poll, Waker},
    time::{Duration, Instant},
};

/// The socket's buffers in bytes: as much as a connection has in flight.
const BUFFER: usize = 4 << 20;

/// Frames that wait for room in the socket's send buffer. Connections send no more from the first one on.
const MOST_BLOCKED: usize = 512;

/// Frames that are not for the stack, read at once.
const MOST_ASIDE: u32 = 64;

/// How often a device that is down is looked at.
const LOOK: Duration = Duration::from_millis(100);

/// Options of a [`PacketDevice`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PacketOptions {
    /// The interface's name. It must have Ethernet headers.
    pub interface: String,
    /// The stack's addresses, which the kernel must not have, each with the length of its network's prefix.
    pub addresses: Vec<(IpAddr, u8)>,
    /// Where packets to other networks go: at most one address of each IP version, of a network of the stack.
    pub gateways: Vec<IpAddr>,
    /// The stack's link address. `None`: the interface's.
    pub mac: Option<[u8; 6]>,
}

/// An interface of the calling thread's network namespace, with a stack on it.
///
/// While the interface is down, what is sent is lost, and its user gets [`io::ErrorKind::NetworkDown`]. Once the interface
/// was removed, its user gets [`io::ErrorKind::BrokenPipe`].
///
/// A thread waits for it by [`Wait`], which also asks silent neighbours again. It wakes no tasks by itself: with tokio,
/// put it into an `AsyncDevice` (feature `tokio`). Silent neighbours are then asked again when something is sent or
/// received.
#[derive(Debug)]
pub struct PacketDevice {
    socket: OwnedFd,
    name: String,
    mac: Mac,
    addresses: Vec<IpAddr>,
    link: LinkState,
    waiting: Waiting,
    neighbors: Neighbors,
    /// Frames for which the send buffer had no room, with their headers.
    blocked: VecDeque<Vec<u8>>,
    /// The interface was found to be down.
    down: bool,
    /// The last [`receive`](Device::receive) got packets, so that there may be more.
    more: bool,
    lost: u64,
}

impl PacketDevice {
    /// Opens a socket on an interface.
    ///
    /// # Errors
    /// When the process may not (CAP_NET_RAW), there is no such interface, or the options do not fit it or each other.
    pub fn open(options: &PacketOptions) -> Result<Self, NetError> {
        let name = &options.interface;
        let purpose = format!("use {name} for a stack");
        let failed = || NetError::system(purpose.clone());
        let (socket, index) = open_socket(SocketType::RAW, name, &purpose)?;
        options::bind(&socket, index, 0).map_err(failed())?;
        let link = options::bound_to(&socket).map_err(failed())?;
        if interface::framing(link.sll_hatype) != Framing::Ethernet || link.sll_hatype == libc::ARPHRD_LOOPBACK {
            return Err(refused(format!("interface {name}: expected one with Ethernet headers")));
        }
        check(options)?;
        let [a, b, c, d, e, f, ..] = link.sll_addr;
        let own_mac = [a, b, c, d, e, f];
        let mac = options.mac.unwrap_or(own_mac);
        let addresses: Vec<IpAddr> = options.addresses.iter().map(|(address, _)| *address).collect();
        let program = filter::filter(mac, &addresses);
        let program = program
            .ok_or_else(|| refused(format!("{} addresses: the kernel takes no filter for as many", addresses.len())))?;
        options::set(&socket, options::PACKET_VNET_HDR, 1).map_err(failed())?;
        options::attach_filter(&socket, &program).map_err(failed())?;
        // Frames that this host sends are not for the stack. Kernels before 4.20 show them, and the filter drops most.
        let _ = options::set(&socket, options::PACKET_IGNORE_OUTGOING, 1);
        let groups = addresses.iter().filter_map(|address| match address {
            IpAddr::V4(_) => None,
            IpAddr::V6(ip) => Some((options::PACKET_MR_MULTICAST, group(solicited_node(*ip).into()))),
        });
        let unicast = (mac != own_mac).then_some((options::PACKET_MR_UNICAST, mac));
        for (kind, mac) in groups.chain(unicast) {
            join(&socket, index, kind, mac).map_err(failed())?;
        }
        grow_buffers(&socket);
        options::bind(&socket, index, options::ETH_P_ALL).map_err(failed())?;
        Ok(Self {
            link: LinkState::new(index).map_err(failed())?,
            waiting: Waiting::new().map_err(failed())?,
            neighbors: Neighbors::new(mac, &options.addresses, &options.gateways),
            socket,
            name: name.clone(),
            mac,
            addresses,
            blocked: VecDeque::new(),
            down: false,
            more: false,
            lost: 0,
        })
    }

    /// The stack's addresses.
    pub fn addresses(&self) -> &[IpAddr] {
        &self.addresses
    }

    /// The stack's link address.
    pub const fn mac(&self) -> [u8; 6] {
        self.mac
    }

    /// The interface's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Reads the next packet for the stack. Messages of ARP and neighbour discovery go to the neighbour cache.
    fn read_packet(&mut self, buffer: &mut [u8]) -> io::Result<Option<(VnetHeader, usize)>> {
        for _ in 0..MOST_ASIDE {
            let (mut vnet, mut link) = ([0; VNET_HEADER_LEN], [0; ETHERNET]);
            let mut parts = [IoSliceMut::new(&mut vnet), IoSliceMut::new(&mut link), IoSliceMut::new(buffer)];
            let len = match rustix::io::readv(&self.socket, &mut parts) {
                Ok(len) => len,
                Err(Errno::AGAIN | Errno::INTR) => return Ok(None),
                // A super-packet of a kind that the header cannot name. It is gone.
                Err(Errno::INVAL) => continue,
                Err(Errno::NETDOWN) => {
                    self.down = true;
                    return Ok(None);
                }
                Err(e) => return Err(e.into()),
            };
            self.down = false;
            let Some(len) = len.checked_sub(VNET_HEADER_LEN + ETHERNET) else {
                continue;
            };
            let header = without_link_header(VnetHeader::from_bytes(vnet));
            let packet = &buffer[..len.min(buffer.len())];
            match u16::from_be_bytes([link[12], link[13]]) {
                ARP => {
                    if let Some(arp) = Arp::parse(packet) {
                        self.neighbors.on_arp(Instant::now(), &arp);
                    }
                }
                IPV6 if is_discovery(packet) => {
                    if let Some(message) = Discovery::parse(packet, header.vouches_for_checksum()) {
                        self.neighbors.on_discovery(Instant::now(), &message);
                    }
                }
                IPV4 | IPV6 => return Ok(Some((header, packet.len()))),
                _ => {}
            }
            self.send_outgoing();
        }
        self.more = true;
        Ok(None)
    }

    /// Sends what the neighbour cache has to send.
    fn send_outgoing(&mut self) {
        while let Some(outgoing) = self.neighbors.next_outgoing() {
            match outgoing {
                Outgoing::Frame(frame) => self.write(&VnetHeader::default(), [&frame, &[], &[], &[]]),
                Outgoing::Packet(mac, (header, packet)) => self.write_packet(mac, &header, [&packet, &[], &[]]),
            }
        }
        self.lost += self.neighbors.take_lost();
    }

    fn write_packet(&mut self, mac: Mac, header: &VnetHeader, [first, second, third]: [&[u8]; 3]) {
        let ether_type = if first.first().is_some_and(|first| first >> 4 == 6) { IPV6 } else { IPV4 };
        let link = ethernet(mac, self.mac, ether_type);
        self.write(&with_link_header(*header), [&link, first, second, third]);
    }

    /// Sends a frame in parts, or keeps it until there is room.
    fn write(&mut self, header: &VnetHeader, frame: [&[u8]; 4]) {
        let header = header.to_bytes();
        if self.blocked.is_empty() {
            let [a, b, c, d] = frame.map(IoSlice::new);
            match rustix::io::writev(&self.socket, &[IoSlice::new(&header), a, b, c, d]) {
                Ok(_) => return self.down = false,
                Err(Errno::AGAIN) => {}
                Err(e) => {
                    self.down |= matches!(e, Errno::NETDOWN | Errno::NXIO);
                    return self.lost += 1;
                }
            }
        }
        if self.blocked.len() < MOST_BLOCKED {
            self.blocked.push_back([&header[..], &frame.concat()].concat());
        } else {
            self.lost += 1;
        }
    }

    /// Sends frames that waited for room.
    fn send_blocked(&mut self) {
        while let Some(frame) = self.blocked.front() {
            match rustix::io::write(&self.socket, frame) {
                Ok(_) => {}
                Err(Errno::AGAIN) => return,
                Err(_) => self.lost += 1,
            }
            self.blocked.pop_front();
        }
    }

    fn run_timers(&mut self) {
        if self.neighbors.next_timer().is_some() {
            self.neighbors.on_timer(Instant::now());
            self.send_outgoing();
        }
    }

    /// An error if the interface is down, or was removed. The kernel says the latter, and that it is up again, only to
    /// those who ask.
    fn check(&mut self) -> io::Result<()> {
        if !self.down {
            return Ok(());
        }
        if options::bound_to(&self.socket)?.sll_ifindex < 0 {
            let gone = format!("the interface {} was removed", self.name);
            return Err(io::Error::new(io::ErrorKind::BrokenPipe, gone));
        }
        self.link.look();
        self.link.check(&self.name)?;
        self.down = false;
        Ok(())
    }
}

/// Whether addresses, prefixes and gateways fit together, and the kernel has none of the addresses.
fn check(options: &PacketOptions) -> Result<(), NetError> {
    if options.addresses.is_empty() {
        return Err(refused(format!("interface {}: expected an address for the stack", options.interface)));
    }
    let mut netlink = Netlink::open()?;
    for (address, len) in &options.addresses {
        let longest = if address.is_ipv4() { 32 } else { 128 };
        if *len > longest {
            return Err(refused(format!("{address}/{len}: expected a prefix of at most {longest} bits")));
        }
        if address.is_unspecified() || address.is_loopback() || address.is_multicast() {
            return Err(refused(format!("address {address}: expected one of a host")));
        }
        if netlink.has_address(*address)? {
            return Err(refused(format!("address {address}: the kernel has it, expected one for the stack alone")));
        }
    }
    let neighbors = Neighbors::new([0; 6], &options.addresses, &[]);
    for (place, gateway) in options.gateways.iter().enumerate() {
        if options.gateways[..place].iter().any(|other| other.is_ipv4() == gateway.is_ipv4()) {
            return Err(refused(format!("gateway {gateway}: another one of its IP version comes before it")));
        }
        if !neighbors.is_on_link(*gateway) {
            return Err(refused(format!("gateway {gateway}: expected one in a network of the stack's addresses")));
        }
    }
    if options.mac.is_some_and(messages::is_group) {
        return Err(refused(
            "the link address of the stack: expected that of one host, whose first byte is even".into(),
        ));
    }
    Ok(())
}

fn refused(line: String) -> NetError {
    NetError::Unsuitable(line)
}

/// Has the interface take frames to a link address.
fn join(socket: &OwnedFd, index: u32, kind: u16, mac: Mac) -> io::Result<()> {
    let [a, b, c, d, e, f] = mac;
    let address = [a, b, c, d, e, f, 0, 0];
    let membership = options::Membership { interface: index as i32, kind, address_len: 6, address };
    options::set(socket, options::PACKET_ADD_MEMBERSHIP, membership)
}

/// Buffers as large as possible. The usual ones hold three super-packets.
fn grow_buffers(socket: &OwnedFd) {
    // Beyond the system's bounds only with CAP_NET_ADMIN.
    if sockopt::set_socket_recv_buffer_size_force(socket, BUFFER).is_err() {
        let _ = sockopt::set_socket_recv_buffer_size(socket, BUFFER);
    }
    if sockopt::set_socket_send_buffer_size_force(socket, BUFFER).is_err() {
        let _ = sockopt::set_socket_send_buffer_size(socket, BUFFER);
    }
}

/// The header of a packet, from that of its frame.
const fn without_link_header(header: VnetHeader) -> VnetHeader {
    VnetHeader {
        hdr_len: header.hdr_len.saturating_sub(ETHERNET as u16),
        csum_start: header.csum_start.saturating_sub(ETHERNET as u16),
        ..header
    }
}

/// The header of a frame, from that of its packet.
const fn with_link_header(header: VnetHeader) -> VnetHeader {
    let needs_checksum = header.flags & VnetHeader::NEEDS_CSUM != 0;
    VnetHeader {
        hdr_len: if header.hdr_len > 0 { header.hdr_len.saturating_add(ETHERNET as u16) } else { 0 },
        csum_start: if needs_checksum { header.csum_start.saturating_add(ETHERNET as u16) } else { 0 },
        ..header
    }
}

/// Source and destination of a packet, whose IP header is in one piece.
fn addresses(packet: &[u8]) -> Option<(IpAddr, IpAddr)> {
    let v4 = |at: usize| packet.get(at..)?.first_chunk::<4>().map(|ip| Ipv4Addr::from(*ip).into());
    let v6 = |at: usize| packet.get(at..)?.first_chunk::<16>().map(|ip| Ipv6Addr::from(*ip).into());
    match packet.first()? >> 4 {
        4 => v4(12).zip(v4(16)),
        6 => v6(8).zip(v6(24)),
        _ => None,
    }
}

impl AsFd for PacketDevice {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Device for PacketDevice {
    fn properties(&mut self) -> Properties {
        Properties { mtu: self.link.mtu(), offloads: true }
    }

    fn receive(&mut self, batch: &mut Batch) -> io::Result<()> {
        self.more = false;
        self.run_timers();
        while !batch.is_full()
            && let Some(error) = self.neighbors.next_error()
        {
            batch.push(VnetHeader::default(), &error);
            self.more = true;
        }
        while !batch.is_full() && batch.read(LONGEST_SUPER_PACKET, |buffer| self.read_packet(buffer))? {
            self.more = true;
        }
        self.check()
    }

    fn send(&mut self, header: &VnetHeader, packet: [&[u8]; 3]) -> u64 {
        let Some((source, destination)) = addresses(packet[0]) else {
            return 1;
        };
        let now = Instant::now();
        match self.neighbors.next_hop(now, destination) {
            NextHop::Known(mac) => self.write_packet(mac, header, packet),
            NextHop::Unknown(hop) => self.neighbors.hold(now, source, hop, (*header, packet.concat())),
            NextHop::None => self.neighbors.refuse(&packet.concat()),
        }
        self.send_outgoing();
        std::mem::take(&mut self.lost)
    }

    fn flush(&mut self) -> u64 {
        self.send_blocked();
        self.run_timers();
        std::mem::take(&mut self.lost)
    }

    fn room(&self) -> usize {
        if self.blocked.is_empty() { usize::MAX } else { 0 }
    }

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<()> {
        if self.more { Poll::Ready(()) } else { Poll::Pending }
    }
}

impl Wait for PacketDevice {
    fn wait(&mut self, timeout: Option<Duration>) -> io::Result<()> {
        if self.more {
            return Ok(());
        }
        let timer = self.neighbors.next_timer().map(|at| at.saturating_duration_since(Instant::now()));
        let look = self.down.then_some(LOOK);
        let timeout = timeout.into_iter().chain(timer).chain(look).min();
        let room = if self.blocked.is_empty() { PollFlags::empty() } else { PollFlags::OUT };
        self.waiting.wait(&self.socket, PollFlags::IN | room, timeout)
    }

    fn waker(&self) -> Waker {
        self.waiting.waker()
    }
}

#[cfg(test)]
mod tests;
