//! smoltcp's TCP, single-threaded as smoltcp is.
//!
//! Choices for throughput:
//! - The features are those that sending needs, and with offloads smoltcp's own segmentation offload. The length of its
//!   super-packets is a whole number of segments.
//! - Packets are made in one buffer that all share, so that none is allocated.
//! - A turn reads at most [`BATCH`] packets and then sends what can be sent, so that every SYN finds a listening
//!   socket. smoltcp's `Interface::poll` reads without a limit. Other limits, also on what is sent in a turn, made no
//!   difference to the throughput.
//! - Send buffers have [`BUFFER`] bytes, less what is no whole segment. Window scaling is always on.
//! - Nagle's algorithm is off, because it would hold back the last segment of an answer. ACKs are delayed, and
//!   timestamps are off, as by default.
//!
//! Limits of smoltcp:
//! - SACK as a sender, and a retransmission timeout below one second. After a loss of several segments it waits for
//!   timeouts, each twice as long as the one before.
//! - An initial window of more than 2 KiB with congestion control.
//! - A lookup table of connections. For every packet it walks over all sockets: idle connections slow down others.
//!
//! An idle connection holds a socket, [`RECEIVE_BUFFER`] bytes to receive, and a send buffer. The pages of buffers are
//! zero pages until they are written, which do not count as resident. A socket whose connection is over listens again,
//! with the pages it has written so far. It is over ten seconds after its end (TIME-WAIT).

use super::{BUFFER, Failed, Options, PORT, REQUEST, announce, open_device};
use recoup_net::{LONGEST_SUPER_PACKET, TunDevice, VnetHeader};
use recoup_wire::TCP_CHECKSUM_OFFSET;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use smoltcp::{
    iface::{Config, Interface, PollIngressSingleResult, PollResult, SocketHandle, SocketSet},
    phy::{self, Checksum, DeviceCapabilities, Medium, PacketMeta},
    socket::tcp::{self, CongestionControl, State},
    time::Instant,
    wire::{HardwareAddress, IpAddress, IpCidr, IpProtocol, Ipv4Packet, TcpPacket, checksum},
};
use std::{
    hash::{BuildHasher, RandomState},
    num::NonZeroUsize,
    os::fd::AsFd,
};

/// Packets read in a turn, and sockets that listen at its start: each of the packets may be a SYN.
const BATCH: usize = 64;

/// The receive buffer of a connection in bytes. Only a request arrives.
const RECEIVE_BUFFER: usize = 4 << 10;

/// Bytes of an IPv4 and a TCP header without options.
const HEADERS: usize = 40;

pub fn run(congestion_control: CongestionControl, options: &Options) -> Result<(), Failed> {
    let (device, address) = open_device(options)?;
    let mut device = Phy::new(device, options.mtu.into());
    let mut config = Config::new(HardwareAddress::Ip);
    config.random_seed = RandomState::new().hash_one(0);
    let mut interface = Interface::new(config, &mut device, Instant::now());
    interface.update_ip_addrs(|addresses| {
        // There is room for one.
        let _ = addresses.push(IpCidr::new(IpAddress::from(address), 30));
    });
    let mut server = Server::new(congestion_control, device.segment);
    server.serve()?;
    announce(address);
    loop {
        let now = Instant::now();
        let sockets = &mut server.sockets;
        let received = (0..BATCH)
            .take_while(|_| interface.poll_ingress_single(now, &mut device, sockets) != PollIngressSingleResult::None)
            .count();
        server.serve()?;
        let sockets = &mut server.sockets;
        while interface.poll_egress(now, &mut device, sockets) != PollResult::None {}
        if let Some(error) = device.error.take() {
            return Err(error.into());
        }
        if received < BATCH {
            let wait = interface.poll_delay(Instant::now(), sockets);
            device.wait(wait)?;
        }
    }
}

/// The sockets and how far their answers have come.
struct Server {
    congestion_control: CongestionControl,
    send_buffer: usize,
    sockets: SocketSet<'static>,
    answers: Vec<(SocketHandle, Answer)>,
}

/// How far the answer to a connection's request has come.
#[derive(Clone, Copy)]
enum Answer {
    NotAsked,
    Left(u64),
    Closed,
}

impl Server {
    fn new(congestion_control: CongestionControl, segment: usize) -> Self {
        Self {
            congestion_control,
            send_buffer: BUFFER / segment * segment,
            sockets: SocketSet::new(Vec::new()),
            answers: Vec::new(),
        }
    }

    /// Serves every connection, and keeps [`BATCH`] sockets listening.
    fn serve(&mut self) -> Result<(), Failed> {
        let mut listening = 0;
        let mut at = 0;
        while let Some((handle, answer)) = self.answers.get_mut(at) {
            let socket: &mut tcp::Socket<'_> = self.sockets.get_mut(*handle);
            answer.advance(socket)?;
            match socket.state() {
                State::Listen => listening += 1,
                State::Closed if listening < BATCH => {
                    *answer = Answer::NotAsked;
                    listen(socket, self.congestion_control)?;
                    listening += 1;
                }
                State::Closed => {
                    self.sockets.remove(*handle);
                    self.answers.swap_remove(at);
                    continue;
                }
                _ => {}
            }
            at += 1;
        }
        for _ in listening..BATCH {
            let receive = tcp::SocketBuffer::new(vec![0; RECEIVE_BUFFER]);
            let send = tcp::SocketBuffer::new(vec![0; self.send_buffer]);
            let mut socket = tcp::Socket::new(receive, send);
            listen(&mut socket, self.congestion_control)?;
            self.answers.push((self.sockets.add(socket), Answer::NotAsked));
        }
        Ok(())
    }
}

/// Makes a closed socket listen. The state of an earlier connection's congestion control is not kept.
fn listen(socket: &mut tcp::Socket<'_>, congestion_control: CongestionControl) -> Result<(), Failed> {
    socket.set_congestion_control(congestion_control);
    socket.set_nagle_enabled(false);
    Ok(socket.listen(PORT)?)
}

impl Answer {
    /// Reads requests and writes what the socket takes.
    fn advance(&mut self, socket: &mut tcp::Socket<'_>) -> Result<(), Failed> {
        loop {
            while let Self::Left(left) = self
                && *left > 0
                && socket.can_send()
            {
                *left -= socket.send(|room| {
                    let len = usize::try_from(*left).map_or(room.len(), |left| room.len().min(left));
                    room[..len].fill(7);
                    (len, len as u64)
                })?;
            }
            if matches!(self, Self::NotAsked | Self::Left(0)) && socket.recv_queue() >= REQUEST {
                let mut request = [0; REQUEST];
                socket.recv_slice(&mut request)?;
                *self = Self::Left(u64::from_be_bytes(request));
            } else {
                break;
            }
        }
        if matches!(self, Self::NotAsked | Self::Left(0)) && socket.state() == State::CloseWait {
            // The peer wants nothing more.
            socket.close();
            *self = Self::Closed;
        } else if matches!(self, Self::Left(_)) && !socket.may_send() {
            // It was reset.
            *self = Self::Closed;
        }
        Ok(())
    }
}

/// A TUN device as smoltcp wants it.
struct Phy {
    device: TunDevice,
    mtu: usize,
    /// Payload bytes of a full-sized segment.
    segment: usize,
    received: Vec<u8>,
    sent: Vec<u8>,
    /// Error of a call that cannot return it.
    error: Option<std::io::Error>,
}

impl Phy {
    fn new(device: TunDevice, mtu: usize) -> Self {
        let longest = device.tun().longest(mtu as u32);
        Self { device, mtu, segment: mtu - HEADERS, received: vec![0; longest], sent: vec![0; longest], error: None }
    }

    /// Waits until there is a packet to read, or for `wait`.
    fn wait(&self, wait: Option<smoltcp::time::Duration>) -> Result<(), Failed> {
        let wait = wait.map(|wait| Timespec::try_from(std::time::Duration::from(wait)));
        let wait = wait.transpose()?;
        let mut watched = [PollFd::from_borrowed_fd(self.device.as_fd(), PollFlags::IN)];
        match poll(&mut watched, wait.as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

impl phy::Device for Phy {
    type RxToken<'a> = Received<'a>;
    type TxToken<'a> = Room<'a>;

    fn receive(&mut self, _now: Instant) -> Option<(Received<'_>, Room<'_>)> {
        let read = self.device.tun().read_frame(&mut self.received);
        let (_, len) = read.unwrap_or_else(|error| {
            self.error = Some(error);
            None
        })?;
        let room = Room { device: &mut self.device, packet: &mut self.sent, segment: None };
        Some((Received(&self.received[..len]), room))
    }

    fn transmit(&mut self, _now: Instant) -> Option<Room<'_>> {
        Some(Room { device: &mut self.device, packet: &mut self.sent, segment: None })
    }

    fn capabilities(&self) -> DeviceCapabilities {
        let mut capabilities = DeviceCapabilities::default();
        capabilities.medium = Medium::Ip;
        capabilities.max_transmission_unit = self.mtu;
        if self.device.tun().offloads() {
            let segments = (LONGEST_SUPER_PACKET - HEADERS) / self.segment;
            capabilities.segmentation.tcpv4 = NonZeroUsize::new(HEADERS + segments * self.segment);
            capabilities.checksum.tcp = Checksum::None;
        }
        capabilities
    }
}

/// A packet that was read.
struct Received<'a>(&'a [u8]);

impl phy::RxToken for Received<'_> {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, f: F) -> R {
        f(self.0)
    }
}

/// Where a packet is made.
struct Room<'a> {
    device: &'a mut TunDevice,
    packet: &'a mut [u8],
    /// Payload bytes of the segments into which the packet is to be cut.
    segment: Option<u16>,
}

impl phy::TxToken for Room<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, len: usize, f: F) -> R {
        let packet = &mut self.packet[..len];
        let result = f(packet);
        let header =
            if self.device.tun().offloads() { leave_to_kernel(packet, self.segment) } else { VnetHeader::default() };
        // A packet that the device refuses is lost, as on any network.
        let _ = self.device.tun().write_frame(&header, [packet, &[], &[]]);
        result
    }

    fn set_meta(&mut self, meta: PacketMeta) {
        self.segment = meta.segmentation_offload_size.map(Into::into);
    }
}

/// Says what the kernel is to do about a packet, and writes the pseudo-header's sum, which it needs to complete the
/// checksum.
fn leave_to_kernel(packet: &mut [u8], segment: Option<u16>) -> VnetHeader {
    let mut ip = Ipv4Packet::new_unchecked(packet);
    if ip.next_header() != IpProtocol::Tcp {
        return VnetHeader::default();
    }
    let (from, to) = (ip.src_addr(), ip.dst_addr());
    let csum_start = ip.header_len().into();
    let payload = ip.payload_mut();
    let len = payload.len() as u32;
    let mut tcp = TcpPacket::new_unchecked(payload);
    tcp.set_checksum(checksum::pseudo_header_v4(&from, &to, IpProtocol::Tcp, len));
    VnetHeader {
        flags: VnetHeader::NEEDS_CSUM,
        gso_type: segment.map_or(VnetHeader::GSO_NONE, |_| VnetHeader::GSO_TCPV4),
        hdr_len: csum_start + u16::from(tcp.header_len()),
        gso_size: segment.unwrap_or(0),
        csum_start,
        csum_offset: TCP_CHECKSUM_OFFSET,
    }
}
