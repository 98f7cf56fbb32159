//! A TUN device as a stack's device.
//!
//! | module | what it does |
//! | --- | --- |
//! | `forwarding` | lets the kernel forward what the stack sends |

mod forwarding;

use crate::{
    LONGEST_SUPER_PACKET, NetError, Tun, VnetHeader,
    address::{self, INTERFACE},
    link_state::LinkState,
    netlink::Netlink,
    waiting::Waiting,
    write_batch::{SuperPackets, WriteBatch},
};
pub use forwarding::Forwarding;
use recoup_stack::device::{Batch, Device, Frame, Properties, Wait};
use rustix::event::PollFlags;
use std::{
    io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    os::fd::{AsFd, BorrowedFd},
    task::{Context, Poll, Waker},
    time::Duration,
};

/// A TUN device in the calling thread's network namespace with the kernel at the other end: the kernel
/// has one address of a point-to-point network, the stack the other. Or neither has one
/// ([`open_bare`](Self::open_bare)).
///
/// While the interface is down, what is sent is lost, and its user gets [`io::ErrorKind::NetworkDown`] once that is found
/// out: by a packet that was lost, or within a second. The kernel answers reads with EAGAIN then, and writes with EIO.
/// Once the interface was removed, both fail with EBADFD, and its user gets [`io::ErrorKind::BrokenPipe`].
///
/// A thread waits for it by [`Wait`]. It wakes no tasks by itself: with tokio, put it into an `AsyncDevice` (feature
/// `tokio`).
#[derive(Debug)]
pub struct TunDevice {
    tun: Tun,
    /// Without offloads.
    batch: Option<WriteBatch>,
    /// With offloads. They are not copied, so those alone go together that are handed over together.
    super_packets: Option<SuperPackets>,
    link: LinkState,
    waiting: Waiting,
    /// The last [`receive`](Device::receive) got packets, so that there may be more.
    more: bool,
    host: Vec<IpAddr>,
    kernel: Vec<IpAddr>,
}

/// The prefix length of the IPv4 network taken when no address is asked for.
const LEN: u8 = 30;

/// Options of a [`TunDevice`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TunOptions {
    /// The longest packet, IP header included, in bytes; with offloads, of what packets are cut into.
    pub mtu: u16,
    /// The stack's address; the kernel has the one that differs in the last bit. `None`: the first free
    /// ones of 100.64.0.0/10, and IPv6 ones where the system has IPv6.
    pub address: Option<IpAddr>,
    /// Whether stack and kernel leave checksums and TCP segmentation to each other, which costs neither
    /// anything. Without, every packet is as it would be on a wire.
    pub offloads: bool,
}

impl Default for TunOptions {
    /// 1500 bytes, free addresses, offloads.
    fn default() -> Self {
        Self { mtu: 1500, address: None, offloads: true }
    }
}

impl TunDevice {
    /// Makes one with addresses of its own and offloads, for packets of up to `mtu` bytes.
    ///
    /// # Errors
    /// When the system refuses, or when no addresses are free.
    pub fn open(mtu: u16) -> Result<Self, NetError> {
        Self::open_with(&TunOptions { mtu, ..TunOptions::default() })
    }

    /// Makes one.
    ///
    /// # Errors
    /// When the system refuses, or when no addresses are free.
    pub fn open_with(options: &TunOptions) -> Result<Self, NetError> {
        let create = if options.offloads { Tun::create_with_offloads } else { Tun::create };
        let mut device = Self::around(create_named(create)?, options)?;
        device.set_up(options)?;
        Ok(device)
    }

    /// Makes one with several queues, at least one, each of which is a device of its own with the same addresses. A group of
    /// stacks ([`recoup_stack::Stack::group_with_runners`]) has one of them each.
    ///
    /// The kernel gives the packets of a flow to the queue that sent some of it in the last three seconds, or else always to
    /// the same one. A connection that a stack begins may so have its packets at another queue once it was idle; the stacks
    /// pass them on to each other.
    ///
    /// # Errors
    /// As [`open_with`](Self::open_with), and when the kernel does not give a device so many queues.
    pub fn open_queues(options: &TunOptions, count: usize) -> Result<Vec<Self>, NetError> {
        let queues = create_named(|name| Tun::create_queues(name, options.offloads, count))?;
        let queues = queues.into_iter().map(|queue| Self::around(queue, options));
        let mut queues = queues.collect::<Result<Vec<Self>, NetError>>()?;
        if let Some((first, others)) = queues.split_first_mut() {
            first.set_up(options)?;
            for other in others {
                other.link.look();
                other.host.clone_from(&first.host);
                other.kernel.clone_from(&first.kernel);
            }
        }
        Ok(queues)
    }

    /// As [`open_queues`](Self::open_queues), but neither stack nor kernel get an address, and nothing is routed to the
    /// device: a program in the kernel or the user's routes say what comes. `name`: of the interface, at most 15 bytes,
    /// or else a free one. Of the options, the address does not matter.
    ///
    /// # Errors
    /// As [`open_queues`](Self::open_queues), and when the name is taken.
    pub fn open_bare(name: Option<&str>, options: &TunOptions, count: usize) -> Result<Vec<Self>, NetError> {
        let create = |name: &str| Tun::create_queues(name, options.offloads, count);
        let queues = match name {
            Some(name) => create(name)?,
            None => create_named(create)?,
        };
        let queues = queues.into_iter().map(|queue| Self::around(queue, options));
        let mut queues = queues.collect::<Result<Vec<Self>, NetError>>()?;
        if let Some(first) = queues.first() {
            first.tun.bring_up(&mut Netlink::open()?, options.mtu.into())?;
        }
        for queue in &mut queues {
            queue.link.look();
        }
        Ok(queues)
    }

    /// A device that is not set up.
    fn around(tun: Tun, options: &TunOptions) -> Result<Self, NetError> {
        let link = LinkState::new(tun.index());
        let link = link.map_err(NetError::system(format!("read the state of {}", tun.name())))?;
        Ok(Self {
            tun,
            super_packets: options.offloads.then(SuperPackets::new),
            batch: (!options.offloads).then(|| WriteBatch::new(options.mtu.into())),
            link,
            waiting: Waiting::new().map_err(NetError::system("make an eventfd"))?,
            more: false,
            host: Vec::new(),
            kernel: Vec::new(),
        })
    }

    /// Brings the interface up, with its addresses.
    fn set_up(&mut self, options: &TunOptions) -> Result<(), NetError> {
        let mut netlink = Netlink::open()?;
        self.tun.bring_up(&mut netlink, options.mtu.into())?;
        self.link.look();
        match options.address {
            Some(address) => self.take_address(&mut netlink, address),
            None => self.take_free_addresses(&mut netlink),
        }
    }

    fn take_free_addresses(&mut self, netlink: &mut Netlink) -> Result<(), NetError> {
        let (block, ipv6) = address::take(netlink, self.tun.index(), Some(LEN))?;
        let ends = block.ends_v4();
        self.kernel.push(ends.outside.into());
        self.host.push(ends.inside.into());
        if ipv6 {
            let ends = block.ends_v6();
            self.kernel.push(ends.outside.into());
            self.host.push(ends.inside.into());
        }
        Ok(())
    }

    fn take_address(&mut self, netlink: &mut Netlink, address: IpAddr) -> Result<(), NetError> {
        let (kernel, len): (IpAddr, u8) = match address {
            IpAddr::V4(ip) => (Ipv4Addr::from_bits(ip.to_bits() ^ 1).into(), 32),
            IpAddr::V6(ip) => (Ipv6Addr::from_bits(ip.to_bits() ^ 1).into(), 128),
        };
        let index = self.tun.index();
        netlink.add_address(index, kernel, len)?;
        netlink.add_route(address, len, index)?;
        self.kernel.push(kernel);
        self.host.push(address);
        Ok(())
    }

    /// If packets were lost and the interface is not known to be down, it may be.
    fn note_lost(&mut self, lost: u64) -> u64 {
        if lost > 0 && self.link.check("").is_ok() {
            self.link.look();
        }
        lost
    }

    /// The device itself.
    pub const fn tun(&self) -> &Tun {
        &self.tun
    }

    /// The addresses for the stack to have.
    pub fn host_addresses(&self) -> &[IpAddr] {
        &self.host
    }

    /// The kernel's addresses at the other end, in the same order.
    pub fn kernel_addresses(&self) -> &[IpAddr] {
        &self.kernel
    }

    /// The interface's name.
    pub fn name(&self) -> &str {
        self.tun.name()
    }
}

/// Makes a device, or its queues, with the first name of this process that is free.
fn create_named<T>(create: impl Fn(&str) -> Result<T, NetError>) -> Result<T, NetError> {
    let name = |number: &str| format!("{INTERFACE}{}h{number}", std::process::id());
    for number in ["", "1", "2", "3", "4", "5", "6", "7", "8"] {
        match create(&name(number)) {
            Err(NetError::System { source, .. }) if source.kind() == io::ErrorKind::ResourceBusy => {}
            result => return result,
        }
    }
    create(&name("9"))
}

/// A device that was removed never works again.
fn explain(error: io::Error, name: &str) -> io::Error {
    match error.raw_os_error() {
        Some(libc::EBADFD) => io::Error::new(io::ErrorKind::BrokenPipe, format!("the interface {name} was removed")),
        _ => error,
    }
}

impl AsFd for TunDevice {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.tun.as_fd()
    }
}

impl Device for TunDevice {
    fn properties(&mut self) -> Properties {
        let mtu = self.link.mtu();
        if let Some(batch) = &mut self.batch {
            // No packet waits between a flush and the next exchange.
            batch.grow(&self.tun, mtu.into());
        }
        Properties { mtu, offloads: self.tun.offloads() }
    }

    fn receive(&mut self, batch: &mut Batch) -> io::Result<()> {
        self.more = false;
        while !batch.is_full() {
            let read = batch.read(LONGEST_SUPER_PACKET, |buffer| self.tun.read_frame(buffer));
            if !read.map_err(|e| explain(e, self.tun.name()))? {
                break;
            }
            self.more = true;
        }
        match self.more {
            true => Ok(()),
            false => self.link.check(self.tun.name()),
        }
    }

    fn send(&mut self, header: &VnetHeader, packet: [&[u8]; 3]) -> u64 {
        let lost = match &mut self.batch {
            Some(batch) if *header == VnetHeader::default() => batch.push(&self.tun, packet),
            _ => self.tun.write_frame(header, packet).is_err().into(),
        };
        self.note_lost(lost)
    }

    fn send_all(&mut self, frames: &[Frame<'_>]) -> u64 {
        let lost = match &mut self.super_packets {
            Some(batch) if frames.len() > 1 => batch.write(&self.tun, frames),
            _ => return frames.iter().map(|frame| self.send(&frame.header, frame.packet)).sum(),
        };
        self.note_lost(lost)
    }

    fn flush(&mut self) -> u64 {
        let batch = self.batch.as_mut();
        let lost = batch.map_or(0, |batch| batch.submit(&self.tun));
        self.note_lost(lost)
    }

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<()> {
        if self.more { Poll::Ready(()) } else { Poll::Pending }
    }
}

impl Wait for TunDevice {
    fn wait(&mut self, timeout: Option<Duration>) -> io::Result<()> {
        if self.more {
            return Ok(());
        }
        self.waiting.wait(&self.tun, PollFlags::IN, timeout)
    }

    fn waker(&self) -> Waker {
        self.waiting.waker()
    }
}

#[cfg(test)]
mod tests;
